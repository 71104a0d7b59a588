#!/usr/bin/env python3
"""The promise of the levels, file by file: `survey.py LIBZ [--levels 1,2,3] [--most BYTES] [--list N] < FILES`.

LIBZ is our libz.so.1; FILES names a file a line. Each is compressed by the system's zlib and by ours with
compress2, at each level; said is how many are larger than zlib's result by more than 2 % and 64 bytes, the
worst of them, and the speed over all in times of zlib's, in CPU time. Files below 4 KB are left out; of longer
ones the first BYTES count (262144). On another CPU's kernels: LOOKASIDE_CPU, scripts/cap-cpu.
"""

import argparse
import ctypes
import os
import sys
import time

STOCK = "/lib/x86_64-linux-gnu/libz.so.1"


class Zlib:
    """compress2 of one library."""

    def __init__(self, path):
        # Names within the library bind to the library: RTLD_DEEPBIND.
        self.lib = ctypes.CDLL(os.path.abspath(path), mode=os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        self.room = ctypes.create_string_buffer(2 << 20)

    def size(self, data, level):
        """The size of the result, and the CPU time."""
        length = ctypes.c_ulong(len(self.room))
        begin = time.thread_time()
        code = self.lib.compress2(self.room, ctypes.byref(length), data, ctypes.c_ulong(len(data)), level)
        took = time.thread_time() - begin
        if code:
            raise RuntimeError(f"compress2: {code}")
        return length.value, took


def main():
    """All levels; prints a line for each."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library")
    a.add_argument("--levels", default="1,2,3")
    a.add_argument("--most", type=int, default=256 << 10)
    a.add_argument("--list", type=int, default=0, help="print the N worst files of each level")
    o = a.parse_args()
    levels = [int(level) for level in o.levels.split(",")]
    ours, stock = Zlib(o.library), Zlib(STOCK)
    found = {level: [] for level in levels}
    for name in sys.stdin.read().splitlines():
        try:
            with open(name, "rb") as f:
                data = f.read(o.most)
        except OSError:
            continue
        if len(data) < 4096:
            continue
        for level in levels:
            size, took = ours.size(data, level)
            theirs, slow = stock.size(data, level)
            found[level].append((size / theirs, size > theirs * 1.02 + 64, took, slow, size, theirs, len(data), name))
    for level, rows in found.items():
        beyond = sorted((row for row in rows if row[1]), reverse=True)
        worst = max((row[0] for row in beyond), default=1)
        sizes = sum(row[4] for row in rows) / sum(row[5] for row in rows)
        speed = sum(row[3] for row in rows) / sum(row[2] for row in rows)
        slower = sum(row[2] > 1.1 * row[3] + 20e-6 for row in rows)
        print(f"level {level}: {len(beyond)} of {len(rows)} files beyond 2 % and 64 bytes, the worst {worst:.3f}; "
              f"size {sizes:.3f}, speed {speed:.2f} x zlib; {slower} slower than zlib")
        for row in beyond[:o.list]:
            print(f"  {row[0]:.3f} {row[6]:8} {row[7]}")


if __name__ == "__main__":
    main()
