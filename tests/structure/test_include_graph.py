#!/usr/bin/env python3
"""Tests of include_graph.py on made-up trees: python3 tests/structure/test_include_graph.py"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import include_graph

ORDER = {
    "paradl": ["paradl/core", "paradl/cost", "paradl/report", "paradl/console", "paradl/cli"],
    "calibrate": ["paradl/core", "paradl/cost", "paradl/report", "paradl/console",
                  "calibrate/measure", "calibrate/commands", "calibrate/main.cpp"],
}
GOOD = {
    "paradl/core/text.hpp": [],
    "paradl/cost/price.hpp": ["paradl/core/text.hpp"],
    "paradl/cost/parts/part.cpp": ["paradl/cost/price.hpp"],
    "paradl/cli/advise.cpp": ["paradl/cost/price.hpp", "paradl/core/text.hpp"],
    "calibrate/measure/job.hpp": ["paradl/cost/price.hpp"],
    "calibrate/commands/links.cpp": ["calibrate/measure/job.hpp"],
    "calibrate/main.cpp": ["calibrate/commands/links.cpp"],
}


class IncludeGraph(unittest.TestCase):
  def faults(self, files):
    """Writes the files into a new tree; returns the sentences, and checks the exit code and the printed graph."""
    with tempfile.TemporaryDirectory() as folder:
      root = pathlib.Path(folder)
      for name, included in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        words = (other if other.startswith("<") else f'"{other}"' for other in included)
        (root / name).write_text("#include <vector>\n" + "".join(f"#include {word}\n" for word in words))
      _, faults = include_graph.check(root, ORDER)
      out, err = io.StringIO(), io.StringIO()
      with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = include_graph.main(root, ORDER)
    self.assertEqual(code, 1 if faults else 0)
    self.assertEqual(err.getvalue(), "".join(f"error: {fault}\n" for fault in faults))
    self.assertIn("paradl/cli -> paradl/core(1), paradl/cost(1)", out.getvalue())
    return faults

  def test_downward_includes_pass(self):
    self.assertEqual(self.faults(GOOD), [])

  def test_an_upward_include_fails(self):
    faults = self.faults(GOOD | {"paradl/core/units.cpp": ["paradl/cost/missing.hpp"]})
    self.assertIn("paradl/core/units.cpp includes paradl/cost/missing.hpp: paradl/cost is above paradl/core", faults)

  def test_an_upward_include_from_a_subfolder_fails(self):
    faults = self.faults(GOOD | {"paradl/cost/parts/whole.cpp": ["paradl/cli/ask.hpp"]})
    self.assertIn("paradl/cost/parts/whole.cpp includes paradl/cli/ask.hpp: paradl/cli is above paradl/cost", faults)

  def test_an_include_beside_the_file_counts(self):
    faults = self.faults(GOOD | {"paradl/core/units.cpp": ["../cost/price.hpp"]})
    self.assertIn("paradl/core/units.cpp includes paradl/cost/price.hpp: paradl/cost is above paradl/core", faults)

  def test_a_cycle_of_folders_fails(self):
    faults = self.faults(GOOD | {"paradl/core/units.cpp": ["paradl/cost/price.hpp"]})
    cycles = [fault for fault in faults if fault.startswith("cycle")]
    self.assertIn(cycles, (["cycle of folders: paradl/core -> paradl/cost -> paradl/core"],
                           ["cycle of folders: paradl/cost -> paradl/core -> paradl/cost"]))

  def test_a_cycle_of_files_in_one_folder_fails(self):
    names = [f"paradl/core/{letter}.hpp" for letter in "abc"]
    faults = self.faults(GOOD | {name: [names[(i + 1) % 3]] for i, name in enumerate(names)})
    ways = [" -> ".join(names[(start + i) % 3] for i in range(4)) for start in range(3)]
    self.assertIn(faults, [["cycle of files: " + way] for way in ways])

  def test_calibrate_does_not_include_commands_of_paradl(self):
    faults = self.faults(GOOD | {"calibrate/measure/a.cpp": ["paradl/cli/ask.hpp"]})
    self.assertEqual(faults, ["calibrate/measure/a.cpp includes paradl/cli/ask.hpp: calibrate/ must not use paradl/cli"])

  def test_paradl_does_not_include_calibrate(self):
    faults = self.faults(GOOD | {"paradl/cli/a.cpp": ["<calibrate/measure/job.hpp>"]})
    self.assertEqual(faults, ["paradl/cli/a.cpp includes calibrate/measure/job.hpp: paradl/ must not use calibrate/measure"])

  def test_json_and_options_are_for_the_programs(self):
    allowed = {"paradl/report/json.cpp": ["<nlohmann/json.hpp>"], "paradl/cli/options.cpp": ["<CLI/CLI.hpp>"],
               "calibrate/measure/points.cpp": ["<nlohmann/json.hpp>"]}
    self.assertEqual(self.faults(GOOD | allowed), [])
    refused = {"paradl/cost/json.cpp": ["<nlohmann/json.hpp>"], "paradl/report/a.cpp": ["<CLI/CLI.hpp>"]}
    faults = self.faults(GOOD | refused)
    self.assertEqual(faults, [
        "paradl/cost/json.cpp includes <nlohmann/json.hpp>: only paradl/report and what is above it may",
        "paradl/report/a.cpp includes <CLI/CLI.hpp>: only paradl/console and what is above it may"])

  def test_printers_do_not_evaluate(self):
    allowed = {"paradl/cost/evaluator.hpp": [], "paradl/report/timeline.cpp": ["paradl/cost/price.hpp"]}
    self.assertEqual(self.faults(GOOD | allowed), [])
    for header in "paradl/cost/evaluator.hpp", "paradl/paper/row.hpp":
      faults = self.faults(GOOD | {"paradl/report/a.cpp": [header]})
      self.assertEqual(faults, [f"paradl/report/a.cpp includes {header}: paradl/report prints what was evaluated before"])

  def test_a_folder_that_nobody_ordered_fails(self):
    faults = self.faults(GOOD | {"calibrate/cuda/kernels/add.cpp": [], "paradl/paradl.hpp": []})
    self.assertEqual(faults, ["calibrate/cuda is not in the order of folders",
                              "paradl/paradl.hpp is not in the order of folders"])


class Order(unittest.TestCase):
  def test_each_part_once(self):
    for parts in include_graph.orders().values():
      self.assertEqual(len(parts), len(set(parts)))
      self.assertEqual(parts[0], "paradl/core")


if __name__ == "__main__":
  unittest.main()
