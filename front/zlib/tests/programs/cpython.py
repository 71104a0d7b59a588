"""CPython's own tests of its zlib users, run in this process: the outcome of each as JSON.

cpython.py OUT MODULE...
"""

import json
import sys
import unittest

import test.support


class Outcomes(unittest.TestResult):
    """What became of each test."""

    def __init__(self):
        super().__init__()
        self.outcomes = {}
        self.why = {}

    def note(self, test, outcome, why=""):
        """A subtest that fails makes its test fail, whatever comes after."""
        if self.outcomes.get(test.id()) not in ("FAIL", "ERROR"):
            self.outcomes[test.id()] = outcome
            self.why[test.id()] = why

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addFailure(self, test, err):
        self.note(test, "FAIL", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note(test, "ERROR", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "FAIL", self._exc_info_to_string(err, test))


def main():
    """Runs the modules."""
    out, *modules = sys.argv[1:]
    # As the suite's own driver does: nothing that takes minutes or gigabytes.
    test.support.use_resources = []
    test.support.verbose = False
    result = Outcomes()
    unittest.defaultTestLoader.loadTestsFromNames([f"test.{m}" for m in modules]).run(result)
    with open("/proc/self/maps", encoding="ascii") as maps:
        libraries = sorted({line.split()[-1] for line in maps if "libz.so" in line})
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"outcomes": result.outcomes, "why": result.why, "libraries": libraries}, file)


if __name__ == "__main__":
    main()
