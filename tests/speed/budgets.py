#!/usr/bin/env python3
"""Counts the instructions of fixed commands and fails if one needs more than 10 % above its budget.

budgets.py BUILD             BUILD: the folder with the programs of a Release build
budgets.py BUILD --update    writes today's counts as the new budgets

budgets.txt has a line for each command: millions of instructions, then the command as one would type it. Instructions
(valgrind --tool=callgrind) stay the same from run to run and on a busy machine; seconds do not.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TOLERANCE = 0.10
FILE = pathlib.Path(__file__).resolve().parent / "budgets.txt"


def read_line(line):
  """Budget in instructions and command; None if the line is empty or a comment."""
  if not line.strip() or line.startswith("#"):
    return None
  match = re.fullmatch(r"\s*([\d.]+) M  +(\S.*)", line)
  if not match:
    sys.exit(f"error: {FILE}: cannot read `{line}`\nhelp: write `<number> M  <command>`")
  return float(match[1]) * 1e6, match[2]


def count(build, command):
  """Instructions of a command in an empty folder and environment: no settings of the user's count."""
  program, *arguments = shlex.split(command)
  with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", build / program, *arguments],
        cwd=folder, env={"HOME": folder, "LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
  collected = re.search(r"Collected : (\d+)", run.stderr)
  if run.returncode != 0 or not collected:
    sys.exit(f"error: `{command}` ended with code {run.returncode} under valgrind\n{run.stderr}")
  return int(collected[1])


def main(text, counter):
  """Prints a line per command. Returns the text with new budgets, and the number of commands above theirs."""
  lines, failures = [], 0
  for line in text.splitlines():
    entry = read_line(line)
    if entry:
      budget, command = entry
      counted = counter(command)
      above = counted / budget - 1
      verdict = "ok"
      if above > TOLERANCE:
        failures += 1
        verdict = f"MORE THAN {TOLERANCE:.0%} ABOVE"
      elif above < -TOLERANCE:
        verdict = "ok, the budget can be lowered"
      print(f"{counted / 1e6:10.1f} M of {budget / 1e6:.1f} M ({above:+.1%})  {command}: {verdict}", flush=True)
      line = f"{counted / 1e6:8.1f} M  {command}"
    lines.append(line + "\n")
  return "".join(lines), failures


if __name__ == "__main__":
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("build", type=pathlib.Path)
  parser.add_argument("--update", action="store_true")
  options = parser.parse_args()
  build = options.build.resolve()
  updated, failures = main(FILE.read_text(), lambda command: count(build, command))
  if options.update:
    FILE.write_text(updated)
  elif failures:
    sys.exit(f"error: {failures} of these commands became slower than its budget allows\n"
             f"help: make it faster again, or accept the cost: tests/speed/budgets.py {options.build} --update")
