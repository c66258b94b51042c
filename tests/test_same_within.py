"""Tests of same_within.py."""
import unittest

from same_within import same


class SameWithin(unittest.TestCase):
    def check(self, expected, actual, wanted):
        self.assertEqual(same(expected, actual, 0.25), wanted, f"{expected} | {actual}")

    def test_numbers_may_be_close(self):
        self.check("data  64  59.2 s  3.04 GiB", "data  64  62.0 s  3.10 GiB", True)
        self.check("data  64  59.2 s  3.04 GiB", "data  64  99.0 s  3.04 GiB", False)
        self.check("21 600 samples", "9 990 samples", False)
        self.check("epoch 980 ms", "epoch 1.02 s", True)
        self.check("accuracy 3 %", "accuracy 7 %", True)
        self.check("accuracy 3 %", "accuracy 9 %", False)

    def test_a_difference_may_be_as_wrong_as_its_parts(self):
        self.check("225 ms  243 ms  -12.1 ms", "225 ms  250 ms  3.0 ms", True)
        self.check("225 ms  243 ms  -12.1 ms", "225 ms  250 ms  90 ms", False)

    def test_words_are_the_same(self):
        self.check("Use data: 59.2 s", "Use filter: 59.2 s", False)
        self.check("resnet50 32x2", "resnet50 16x4", False)
        self.check("resnet50 32x2", "resnet52 32x2", False)
        self.check("12 MB", "12 GB", False)
        self.check("data  99 s", "data  101 s  [1]", False)


if __name__ == "__main__":
    unittest.main()
