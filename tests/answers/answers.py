#!/usr/bin/env python3
"""Saves a program's answers to the questions of questions.py, and compares two such files.

  answers.py save PROGRAM FILE.jsonl        [--tree FOLDER] [--slow]
  answers.py compare OLD.jsonl NEW.jsonl    [--most N] [--differences FILE]
"""
import argparse
import concurrent.futures
import difflib
import fnmatch
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # nothing is left behind in the tree
import questions

FILES = os.path.join(questions.HERE, "files")
TIMEOUT = 60  # seconds
SLOW = 1.5  # seconds of processor time


# ---------------------------------------------------------------------------------------------------------- save

IGNORED = {"inputs", "command", "version", "commit", "file", "files", "sha256"}  # say nothing about an answer


def stripped(value):
  if isinstance(value, dict):
    return {key: stripped(item) for key, item in value.items() if key not in IGNORED}
  if isinstance(value, list):
    return [stripped(item) for item in value]
  return value


def parsed(text):
  """Values of JSON or of JSON lines; any other text unchanged."""
  text = text.replace(FILES + "/", "@")
  for attempt in (lambda: json.loads(text), lambda: [json.loads(line) for line in text.splitlines()]):
    try:
      value = attempt()
    except ValueError:
      continue
    if value and isinstance(value, (dict, list)):
      return stripped(value)
  return text


def ask(program, tree, home, question):
  """Exit code, answer, errors, and seconds of CPU time."""
  words = [re.sub("@(?=[a-z-]+\\.)", FILES + "/", word) for word in question]
  environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": home}
  with tempfile.TemporaryFile(dir=home) as out, tempfile.TemporaryFile(dir=home) as err:
    process = subprocess.Popen([program, *words], cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=err)
    late = threading.Timer(TIMEOUT, process.kill)
    late.start()
    _, status, usage = os.wait4(process.pid, 0)
    late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    texts = []
    for stream in (out, err):
      stream.seek(0)
      texts.append(parsed(stream.read().decode(errors="replace")))
  return process.returncode, *texts, usage.ru_utime + usage.ru_stime


def save(options):
  program = os.path.abspath(options.program)
  tree = os.path.abspath(options.tree or os.path.join(os.path.dirname(program), ".."))
  begin = time.monotonic()
  codes, slow = {}, []
  with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(2) as pool, \
      open(options.file, "w") as file:
    listed = list(questions.questions(options.slow))
    answers = pool.map(lambda each: ask(program, tree, home, each[1]), listed)
    for (name, question), (code, out, err, seconds) in zip(listed, answers):
      codes[code] = codes.get(code, 0) + 1
      if seconds > SLOW:
        slow.append(f"{name} {json.dumps(question)}")
      line = {"id": name, "ask": question, "exit": code, "out": out}
      if err:
        line["err"] = err
      file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
  print(f"{len(listed)} questions in {time.monotonic() - begin:.0f} s; exit codes:",
        ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
  if slow:
    print(f"{len(slow)} took more than {SLOW} s (for slow.txt):", *slow, sep="\n")


# ------------------------------------------------------------------------------------------------------- compare

RELATIVE, ZERO = 1e-9, 1e-12

# Fields with prose, which may change. All other strings are names, which must not.
PROSE = {"text", "message", "help", "remedy", "reason", "notes", "summary", "source", "formula", "unknown", "remark",
         "cause", "rule", "rules", "meaning", "refused", "wrong", "based_on", "parameter"}
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

# Fields that identify an item of a list. With them, a new or moved item does not make all later items differ.
NAMES = ("name", "model", "system", "strategy", "grid", "cut", "gpus", "term", "kind", "option", "path", "operation",
         "algorithm", "bytes", "topology", "exchange", "axis", "layer", "level", "measure", "batch", "micro_batches")

# Kinds of differences, the serious ones first.
KINDS = {"exit": "exit code", "number": "number", "value": "name, or true and false", "missing": "missing",
         "extra": "more items in a list",
         "order": "another order", "unasked": "asked once only", "prose": "prose", "added": "new field"}
HARMLESS = ("prose", "added")


def same_number(a, b):
  if math.isnan(a) or math.isnan(b):
    return math.isnan(a) and math.isnan(b)
  return a == b or abs(a - b) <= RELATIVE * max(abs(a), abs(b)) or max(abs(a), abs(b)) <= ZERO


def is_number(value):
  return isinstance(value, (int, float)) and not isinstance(value, bool)


def short(value, most=70):
  text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
  text = text.replace("\n", "\\n")
  return text if len(text) <= most else text[:most - 3] + "..."


def keys_of(items):
  """A key for each item; None if the items are not objects or two keys are equal."""
  if not items or not all(isinstance(item, dict) for item in items):
    return None
  keys = [json.dumps([item.get(name) for name in NAMES], sort_keys=True) for item in items]
  return keys if len(set(keys)) == len(keys) else None


def texts_differ(old, new, path):
  """Compares plain text: its numbers must stay, its words may change, and numbers may be added."""
  if old == new:
    return
  before, after = ([float(number) for number in NUMBER.findall(text)] for text in (old, new))
  if len(before) == len(after):
    changes = [([a], [b]) for a, b in zip(before, after) if not same_number(a, b)]
  else:
    rounded = ([f"{number:.10g}" for number in numbers] for numbers in (before, after))
    matcher = difflib.SequenceMatcher(None, *rounded, autojunk=False)
    changes = [(before[a:b], after[c:d]) for tag, a, b, c, d in matcher.get_opcodes() if tag in ("replace", "delete")]
  if changes:
    gone, come = changes[0]
    count = sum(len(numbers) for numbers, _ in changes)
    yield "number", path, f"{count} of {len(before)} numbers of the text, the first: {short(gone)} -> {short(come)}"
  lines = itertools.zip_longest(old.splitlines(), new.splitlines(), fillvalue="")
  a, b = next((pair for pair in lines if pair[0] != pair[1]), ("", ""))
  yield "prose", path, f"{short(a)} -> {short(b)}"


def differ(old, new, path="", key=""):
  """Yields each difference as (kind, path, description)."""
  if is_number(old) and is_number(new):
    if not same_number(old, new):
      change = f" ({new / old - 1:+.3g})" if old else ""
      yield "number", path, f"{old!r} -> {new!r}{change}"
  elif isinstance(old, dict) and isinstance(new, dict):
    for name, value in old.items():
      below = f"{path}.{name}" if path else name
      if name in new:
        yield from differ(value, new[name], below, name)
      else:
        yield "missing", below, f"was {short(value)}"
    for name in new:
      if name not in old:
        yield "added", f"{path}.{name}" if path else name, short(new[name])
  elif isinstance(old, list) and isinstance(new, list):
    yield from lists_differ(old, new, path, key)
  elif isinstance(old, str) and isinstance(new, str):
    if old != new:
      yield "prose" if key in PROSE else "value", path, f"{short(old)} -> {short(new)}"
  elif type(old) is not type(new) or old != new:
    yield "number" if is_number(old) or is_number(new) else "value", path, f"{short(old)} -> {short(new)}"


def lists_differ(old, new, path, key):
  before, after = keys_of(old), keys_of(new)
  if before and after and before != after and set(before) & set(after):
    place = {name: i for i, name in enumerate(after)}
    kept = [place[name] for name in before if name in place]
    if kept != sorted(kept):
      yield "order", path, f"{len(kept)} items are in another order"
    for i, name in enumerate(before):
      if name in place:
        yield from differ(old[i], new[place[name]], f"{path}.{i}", key)
      else:
        yield "missing", f"{path}.{i}", f"was {short(old[i])}"
    for i, name in enumerate(after):
      if name not in before:
        yield "extra", f"{path}.{i}", short(new[i])
    return
  for i, (a, b) in enumerate(zip(old, new)):
    yield from differ(a, b, f"{path}.{i}", key)
  prose = key in PROSE
  for i in range(len(new), len(old)):
    yield "prose" if prose else "missing", f"{path}.{i}", f"was {short(old[i])}"
  for i in range(len(old), len(new)):
    yield "prose" if prose else "extra", f"{path}.{i}", short(new[i])


def answers_differ(old, new):
  if old["exit"] != new["exit"]:
    yield "exit", "exit", f"{old['exit']} -> {new['exit']}"
  if isinstance(old["out"], str) and isinstance(new["out"], str):
    yield from texts_differ(old["out"], new["out"], "out")
  else:
    yield from differ(old["out"], new["out"], "out")
  before, after = old.get("err", ""), new.get("err", "")
  if isinstance(before, dict) and isinstance(after, dict):
    yield from differ(before, after, "err")
  elif before != after:
    yield "prose", "err", f"{short(before)} -> {short(after)}"


def allowed_differences(path):
  """Lines of `QUESTION FIELD REASON`, the first two being patterns in which `*` stands for anything."""
  rules = []
  with open(path) as lines:
    for number, line in enumerate(lines, 1):
      if line.strip() and not line.startswith("#"):
        words = line.split(maxsplit=2)
        if len(words) < 3:
          sys.exit(f"error: this line gives no reason\n --> {path}:{number}\nhelp: write `QUESTION FIELD REASON`")
        rules.append(words)
  return rules


def matches(rule, question, path):
  return fnmatch.fnmatchcase(question, rule[0]) and fnmatch.fnmatchcase(path, rule[1])


def paired(old, new):
  """Answers to the same question, in the order of the old file; either may lack some questions."""
  with open(new) as lines:
    left = {line.split('"', 4)[3]: line for line in lines}  # {"id":"...
  with open(old) as lines:
    for line in lines:
      before = json.loads(line)
      after = left.pop(before["id"], None)
      yield before, after and json.loads(after)
  for line in left.values():
    yield None, json.loads(line)


def compare(options):
  rules = allowed_differences(options.differences)
  found = {kind: [] for kind in KINDS}
  permitted = {}
  asked = equal = worded = broken = 0
  for old, new in paired(options.old, options.new):
    asked += 1
    line = old or new
    kinds = set()
    if old is None or new is None:
      differences = [("unasked", "", "only in " + (options.old if old else options.new))]
    else:
      differences = answers_differ(old, new)
    for kind, path, what in differences:
      rule = next((rule for rule in rules if matches(rule, line["id"], path)), None)
      if rule and kind not in HARMLESS:
        entry = permitted.setdefault((line["id"], rule[2]), [line["ask"], path, what, 0])
        entry[3] += 1
        continue
      kinds.add(kind)
      found[kind].append((line["id"], path, what, line["ask"]))
    if not kinds - {"added"}:
      equal += 1
    elif kinds <= set(HARMLESS):
      worded += 1
    else:
      broken += 1

  for kind, heading in KINDS.items():
    if found[kind]:
      print(f"{heading}: {len(found[kind])} in {len({entry[0] for entry in found[kind]})} questions")
      if kind == "added":  # the names are enough
        names = {re.sub(r"\.\d+", ".*", path) for _, path, _, _ in found[kind]}
        for name in sorted(names)[:options.most]:
          print(f"  {name}")
        continue
      for name, path, what, question in found[kind][:options.most]:
        print(f"  {name} {path}: {what}   [{' '.join(question)}]")
      if len(found[kind]) > options.most:
        print(f"  ... and {len(found[kind]) - options.most} more (--most N)")
  if permitted:
    print(f"allowed: {len(permitted)}")
    for (name, reason), (question, path, what, count) in permitted.items():
      more = f" and {count - 1} more" if count > 1 else ""
      print(f"  {name} {path}: {what}{more}   [{' '.join(question)}]   because: {reason}")
  differ_in = [f"{len({e[0] for e in found[kind]})} by {heading}" for kind, heading in KINDS.items() if found[kind]]
  print(f"{asked} questions: {equal} equal, {worded} in words only, {broken} different" +
        (f" ({'; '.join(differ_in)})" if differ_in else ""))
  return 1 if broken else 0


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  commands = parser.add_subparsers(dest="command", required=True)
  one = commands.add_parser("save", help="ask all questions and save the answers")
  one.add_argument("program")
  one.add_argument("file", metavar="FILE.jsonl")
  one.add_argument("--tree", metavar="FOLDER",
                   help="source tree of the program, in which it runs; default: the parent of PROGRAM's folder")
  one.add_argument("--slow", action="store_true", help="ask those in slow.txt, too")
  two = commands.add_parser("compare", help="exit with 1 if answers differ in more than words and new fields")
  two.add_argument("old", metavar="OLD.jsonl")
  two.add_argument("new", metavar="NEW.jsonl")
  two.add_argument("--most", type=int, default=20, metavar="N", help="differences of each kind to print; default 20")
  two.add_argument("--differences", metavar="FILE", default=os.path.join(questions.HERE, "differences.txt"),
                   help="those that are allowed; default: differences.txt")
  options = parser.parse_args()
  sys.exit(save(options) if options.command == "save" else compare(options))


if __name__ == "__main__":
  main()
