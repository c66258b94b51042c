#!/usr/bin/env python3
"""Tests of budgets.py with made-up counts: python3 tests/speed/test_budgets.py"""
import contextlib
import io
import sys
import unittest

sys.dont_write_bytecode = True
import budgets

TEXT = "# two commands\n   100.0 M  paradl project --json\n    20.0 M  paradl_bench --filter=^a$\n"


class Budgets(unittest.TestCase):
  def check(self, project, bench):
    with contextlib.redirect_stdout(io.StringIO()) as out:
      result = budgets.main(TEXT, {"paradl project --json": project, "paradl_bench --filter=^a$": bench}.get)
    self.printed = out.getvalue()
    return result

  def test_up_to_ten_percent_more_is_allowed(self):
    self.assertEqual(self.check(109.9e6, 20e6)[1], 0)
    self.assertNotIn("ABOVE", self.printed)

  def test_more_is_an_error(self):
    self.assertEqual(self.check(110.1e6, 20e6)[1], 1)
    self.assertIn("110.1 M of 100.0 M (+10.1%)  paradl project --json: MORE THAN 10% ABOVE", self.printed)
    self.assertEqual(self.check(120e6, 30e6)[1], 2)

  def test_less_is_reported(self):
    self.assertEqual(self.check(50e6, 20e6)[1], 0)
    self.assertIn("can be lowered", self.printed)

  def test_an_update_keeps_comments_and_commands(self):
    updated, _ = self.check(1234.56e6, 20e6)
    self.assertEqual(updated, TEXT.replace("   100.0", "  1234.6"))

  def test_the_stored_budgets_can_be_read(self):
    entries = [entry for entry in map(budgets.read_line, budgets.FILE.read_text().splitlines()) if entry]
    self.assertEqual(len(entries), 4)
    self.assertEqual({command.split()[0] for _, command in entries}, {"paradl", "paradl_bench"})
    self.assertTrue(all(budget > 1e6 for budget, _ in entries))


if __name__ == "__main__":
  unittest.main()
