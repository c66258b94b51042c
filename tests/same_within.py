#!/usr/bin/env python3
"""same_within.py TOLERANCE EXPECTED ACTUAL: whether two outputs have the same words, and numbers that are close.

For examples that show fitted data: another fit changes their numbers slightly, but not their words. A time may differ
by TOLERANCE of the longest time on its line (some are differences of others), a percentage by 5 points more. Widths of
columns, which follow the numbers, do not matter. Prints the lines that differ.
"""
import re
import sys

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# Not the digits of a name (resnet50) or of a grid (32x2). Thousands are separated by a space: 21 600.
NUMBER = re.compile(r"(?<![\w.])[-+]?(\d{1,3}( \d{3})+|\d+(\.\d+)?(e[-+]?\d+)?)"
                    r"(?![\w.]\w)( ?(?P<unit>ns|us|ms|s|%))?(?!\w)")


def parts(line):
    """The words of a line without its numbers, and its numbers with their kind: `s`, `%` or None."""
    numbers = []

    def take(match):
        text = match[0].removesuffix(match["unit"] or "").replace(" ", "")
        kind = "s" if match["unit"] in SECONDS else match["unit"]
        numbers.append((float(text) * SECONDS.get(match["unit"], 1), kind))
        return f" N{kind or ''} "

    return NUMBER.sub(take, line).split(), numbers


def same(expected, actual, tolerance):
    words, wanted = parts(expected)
    other_words, found = parts(actual)
    if words != other_words:
        return False
    longest = max((abs(value) for value, kind in wanted if kind == "s"), default=0)
    for (value, kind), (other, _) in zip(wanted, found):
        scale = longest if kind == "s" else abs(value)
        if abs(other - value) > tolerance * scale + (5 if kind == "%" else 0):
            return False
    return True


def main():
    tolerance = float(sys.argv[1])
    expected, actual = ([*open(name, encoding="utf-8")] for name in sys.argv[2:4])
    different = [f"-{a}+{b}" for a, b in zip(expected, actual) if a != b and not same(a, b, tolerance)]
    if len(expected) != len(actual):
        different.append(f"{len(actual)} lines instead of {len(expected)}\n")
    sys.stdout.writelines(different)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
