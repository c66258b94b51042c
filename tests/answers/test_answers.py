#!/usr/bin/env python3
"""Tests of questions.py and answers.py: python3 tests/answers/test_answers.py"""
import sys
import unittest

sys.dont_write_bytecode = True
import answers
import questions


def kinds(old, new):
  return sorted(kind for kind, _, _ in answers.answers_differ({"exit": 0, "out": old}, {"exit": 0, "out": new}))


class Compare(unittest.TestCase):
  def test_numbers(self):
    self.assertEqual(kinds({"a": 1.0}, {"a": 1.0 + 1e-10}), [])
    self.assertEqual(kinds({"a": 1.0}, {"a": 1.0 + 1e-8}), ["number"])
    self.assertEqual(kinds({"a": 256}, {"a": 256.0}), [])
    self.assertEqual(kinds({"a": 0.0}, {"a": 1e-15}), [])
    self.assertEqual(kinds({"a": 0.0}, {"a": 1e-9}), ["number"])
    self.assertEqual(kinds({"a": None}, {"a": 1.0}), ["number"])

  def test_fields(self):
    self.assertEqual(kinds({"a": 1}, {"a": 1, "b": 2}), ["added"])
    self.assertEqual(kinds({"a": 1, "b": 2}, {"a": 1}), ["missing"])
    self.assertEqual(kinds({"feasible": True}, {"feasible": False}), ["value"])
    self.assertEqual(kinds({"strategy": "data"}, {"strategy": "filter"}), ["value"])
    self.assertEqual(kinds({"message": "is no file"}, {"message": "is not a file"}), ["prose"])

  def test_lists(self):
    a, b, c = ({"strategy": name, "epoch": i} for i, name in enumerate(("data", "layer", "filter")))
    self.assertEqual(kinds([a, b], [b, a]), ["order"])
    self.assertEqual(kinds([a, c], [a, b, c]), ["extra"])
    self.assertEqual(kinds([a, b, c], [b, c]), ["missing"])
    self.assertEqual(kinds({"notes": ["one"]}, {"notes": ["one", "two"]}), ["prose"])

  def test_text(self):
    self.assertEqual(kinds("takes 1.5 s", "lasts 1.5 s"), ["prose"])
    self.assertEqual(kinds("takes 1.5 s", "takes 1.6 s"), ["number", "prose"])
    self.assertEqual(kinds("takes 1.5 s", "takes 1.5 s of 2 s"), ["prose"])
    self.assertEqual(kinds("takes 1.5 s of 2 s", "takes 2 s"), ["number", "prose"])

  def test_exit(self):
    self.assertEqual([kind for kind, _, _ in answers.answers_differ({"exit": 0, "out": ""}, {"exit": 1, "out": ""})], ["exit"])


class Questions(unittest.TestCase):
  def test_many_and_each_once(self):
    names = [name for name, _ in questions.questions()]
    self.assertGreater(len(names), 2500)
    self.assertEqual(len(names), len(set(names)))
    self.assertEqual(names, [name for name, _ in questions.questions()])

  def test_what_is_slow_is_a_question(self):
    self.assertLessEqual(questions.slow(), {name for name, _ in questions.questions(with_slow=True)})


if __name__ == "__main__":
  unittest.main()
