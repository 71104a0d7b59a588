#!/usr/bin/env python3
"""How fast single expressions of real files are: `speed.py LIBHS ORIGINAL [--text FILE] [--piece N] [--show N] < FILES`.

LIBHS is our libhs.so.5 (or any other), ORIGINAL the one beside it; FILES names a file a line. Expressions are found as survey.py
does, up to 12 of a file, each compiled alone and scanned for in FILE (128 KB of Python's library, a page of its manual, C
headers and /etc, if there is none) in blocks of N bytes (all at once). The first 16 KB must have the same matches. Times are CPU
time, the least of five in turn.

Prints how fast LIBHS is beside ORIGINAL (quantiles, geometric mean, all times together), and the N (20) that are slowest beside it."""

import argparse
import ctypes
import glob
import math
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import survey  # noqa: E402

LETTERS = {"i": 1, "s": 2, "m": 4}


def usual():
    """Some text that every system has."""
    parts = []
    for pattern in (os.path.dirname(os.__file__) + "/*.py", "/usr/include/*.h", "/usr/share/doc/*/*", "/etc/*"):
        part = b""
        for name in sorted(glob.glob(pattern)):
            if os.path.isfile(name) and os.access(name, os.R_OK) and len(part) < 1 << 15:
                with open(name, "rb") as f:
                    part += f.read(1 << 13)
        parts.append(part[:1 << 15])
    return b"".join(parts)


# A call from Python takes longer than the scan of a packet.
LOOP = """
#include <stddef.h>
int loop(int (*scan)(void *, const char *, unsigned, unsigned, void *, void *, void *), void *database, void *scratch,
         const char *text, size_t length, size_t piece)
{
    for (size_t at = 0; at < length; at += piece) {
        int status = scan(database, text + at, length - at < piece ? length - at : piece, 0, scratch, NULL, NULL);
        if (status)
            return status;
    }
    return 0;
}
"""


def loop():
    """The compiled loop."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "loop.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=LOOP.encode(), check=True)
        return ctypes.CDLL(library).loop


def scan(blocks, library, database, text, piece):
    """CPU seconds of a scan of the text, in blocks."""
    size = ctypes.c_size_t
    begun = time.thread_time()
    library.check(blocks(library.c.hs_scan, database, library.scratch, text, size(len(text)), size(piece)))
    return time.thread_time() - begun


def main():
    """All files."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library")
    a.add_argument("original")
    a.add_argument("--text")
    a.add_argument("--piece", type=int)
    a.add_argument("--most", type=int, default=3000, help="expressions")
    a.add_argument("--show", type=int, default=20)
    o = a.parse_args()
    both = [survey.Library(os.path.abspath(one)) for one in (o.library, o.original)]
    if o.text:
        with open(o.text, "rb") as f:
            text = f.read()
    else:
        text = usual()
    piece = o.piece or len(text)
    blocks = loop()
    names = sys.stdin.read().splitlines()
    random.Random(5).shuffle(names)
    seen, found = set(), []
    for name in names:
        try:
            with open(name, "rb") as f:
                expressions = survey.extract(f.read(400_000))
        except OSError:
            continue
        random.Random(1).shuffle(expressions)
        for pattern, letters, _ in expressions[:12]:
            flags = sum(LETTERS.get(letter, 0) for letter in letters)
            if (pattern, flags) in seen or len(found) >= o.most:
                continue
            seen.add((pattern, flags))
            try:
                databases = [one.compile([(pattern, flags, None)], survey.BLOCK) for one in both]
            except survey.Refused:
                continue
            one, other = (set(a.scan(b, "block", text[:1 << 14], 0)) for a, b in zip(both, databases))
            if one != other:
                sys.exit(f"speed: {pattern!r} {letters}: {len(one)} and {len(other)} matches")
            rounds = [[scan(blocks, a, b, text, piece) for a, b in zip(both, databases)] for _ in range(5)]
            ours, theirs = (max(min(times), 1e-7) for times in zip(*rounds))
            found.append((theirs / ours, ours, theirs, pattern, letters))
            for library, database in zip(both, databases):
                library.free(database)
    if not found:
        sys.exit("speed: no expressions")
    found.sort()
    mean = math.exp(sum(math.log(one[0]) for one in found) / len(found))
    print(f"{len(found)} expressions in {len(text):,} bytes by {piece:,}: geometric mean {mean:.2f} x; all together "
          f"{sum(one[2] for one in found) / sum(one[1] for one in found):.2f} x")
    parts = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    print("quantiles: " + ", ".join(f"{part:.0%} {found[int(part * len(found))][0]:.2f}" for part in parts))
    for ratio, ours, theirs, pattern, letters in found[:o.show]:
        rates = f"{len(text) / ours / 1e6:,.0f} and {len(text) / theirs / 1e6:,.0f} MB/s"
        print(f"{ratio:.2f} x: {rates}: {pattern[:100]!r} {letters}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
