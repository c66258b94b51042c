#!/usr/bin/env python3
"""Prints which folder includes which in paradl/ and calibrate/, and fails if an include points up or in a circle, or if
a printer includes an evaluator.

include_graph.py [ROOT]    ROOT: the source tree; without it, the one that holds this script

The lists below are the order, lowest first: a folder may include itself and what stands before it. A folder stands for
its subfolders as well; a file with a line of its own (`main.cpp`) does not belong to its folder. A line may name a
folder that does not exist yet; a folder without a line is an error.
"""
import collections
import graphlib
import os
import pathlib
import re
import sys

PARADL = """
core            units, text, errors
spec            files to structs
workload
machine
network         with algorithm/, topology/, flows/
mesh
strategy
plan
cost
paper
search
judge           limits, bottlenecks and what would help
query
paradl.hpp      the library in one header
report
console         what both programs share of the command line
cli
"""

CALIBRATE = """
backend         what back ends and ranks must offer
fit
kernels
files           what is read and written
measure
plain
onednn
cuda
mpi
rehearse
commands
main.cpp
"""

# The highest part of paradl/ that calibrate/ may include.
CALIBRATE_USES = "console"

# Headers of third parties that the library does without: the lowest part that may include them.
RESERVED = {"nlohmann/": "paradl/report", "CLI/": "paradl/console"}

# Printers format what was evaluated before: headers, or folders with a slash, that a folder must not include.
REFUSED = {"paradl/report": ["paradl/cost/evaluator.hpp", "paradl/cost/price_out_of_core.hpp", "paradl/paper/"]}


def entries(program, text):
  return [f"{program}/{line.split()[0]}" for line in text.strip().split("\n")]


def orders():
  """Of each program the parts that it may include, lowest first."""
  paradl, calibrate = entries("paradl", PARADL), entries("calibrate", CALIBRATE)
  shared = paradl[:paradl.index("paradl/" + CALIBRATE_USES) + 1]
  return {"paradl": paradl, "calibrate": shared + calibrate}


def part_of(path, parts):
  """The entry of a file: itself, or the nearest of the folders around it."""
  return next((str(p) for p in (path, *path.parents) if str(p) in parts), None)


def read_includes(root, programs):
  """Of each file, as a path below root: the files of these programs that it includes, and those of third parties."""
  includes, foreign = {}, {}
  for program in programs:
    for file in sorted((root / program).rglob("*.[hc]pp")):
      names = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', file.read_text(encoding="utf-8"), re.MULTILINE)
      beside = (pathlib.Path(os.path.normpath(file.parent / name)) for name in names)
      files = [b.relative_to(root) if b.is_file() else pathlib.PurePath(name) for b, name in zip(beside, names)]
      here = file.relative_to(root)
      includes[here] = [f for f in files if f.parts[0] in programs]
      foreign[here] = [str(f) for f in files if f.parts[0] not in programs]
  return includes, foreign


def cycle_of(graph):
  """The nodes of one cycle, the first one again at the end; none without a cycle. A node may point to itself."""
  try:
    graphlib.TopologicalSorter({node: set(to) - {node} for node, to in graph.items()}).prepare()
    return []
  except graphlib.CycleError as error:
    return [str(node) for node in reversed(error.args[1])]


def check(root, order):
  """The graph: included parts with their number of includes, by part; and a list of sentences, one per fault."""
  known = {part for parts in order.values() for part in parts}
  includes, foreign = read_includes(root, order)
  graph, faults = collections.defaultdict(collections.Counter), []
  lost = {"/".join(file.parts[:2]) for file in includes if not part_of(file, order[file.parts[0]])}
  faults += [f"{part} is not in the order of folders" for part in sorted(lost)]
  for file, included in includes.items():
    parts = order[file.parts[0]]
    here = part_of(file, parts)
    if not here:
      continue
    graph[here]  # also if it includes nothing
    for other in included:
      if any(str(other) == name or name.endswith("/") and str(other).startswith(name) for name in REFUSED.get(here, [])):
        faults.append(f"{file} includes {other}: {here} prints what was evaluated before")
      there = part_of(other, known)
      if not there:
        continue
      graph[here][there] += 1
      if there not in parts:
        faults.append(f"{file} includes {other}: {file.parts[0]}/ must not use {there}")
      elif parts.index(there) > parts.index(here):
        faults.append(f"{file} includes {other}: {there} is above {here}")
    for header in foreign[file]:
      lowest = next((part for prefix, part in RESERVED.items() if header.startswith(prefix)), here)
      if parts.index(here) < parts.index(lowest):
        faults.append(f"{file} includes <{header}>: only {lowest} and what is above it may")
  for what, cycle in ("folders", cycle_of(graph)), ("files", cycle_of(includes)):
    if cycle:
      faults.append(f"cycle of {what}: {' -> '.join(cycle)}")
  return graph, faults


def main(root, order):
  graph, faults = check(root, order)
  if not graph:
    faults.append(f"no source files below {root}")
  ranks = {part: i for i, part in enumerate(dict.fromkeys(part for parts in order.values() for part in parts))}
  for part in sorted(graph, key=ranks.get):
    used = (f"{other}({n})" for other, n in sorted(graph[part].items(), key=lambda e: ranks[e[0]]) if other != part)
    print(part, "->", ", ".join(used))
  for fault in faults:
    print("error:", fault, file=sys.stderr)
  return 1 if faults else 0


if __name__ == "__main__":
  here = pathlib.Path(__file__).resolve()
  sys.exit(main(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else here.parents[2], orders()))
