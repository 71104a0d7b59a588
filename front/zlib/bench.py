#!/usr/bin/env python3
"""Python's zlib beside itself with our library: `bench.py LIBZ FOLDER [ROUNDS]`.

LIBZ is our libz.so.1, FOLDER holds the files to compress (the Calgary corpus, say), one after the
other as one text, repeated for 64 MB. In each round stock and ours take turns, each in a process of its
own; printed are medians: MB/s of uncompressed data in CPU time of all threads, the same in elapsed
time, and the size. Every result is decompressed by the other library and compared.
"""

import json
import os
import statistics
import subprocess
import sys
import time

SIZES = {"4 KB": 4 << 10, "64 KB": 64 << 10, "3 MB": 3 << 20, "64 MB": 64 << 20}
PYTHON = "/usr/bin/python3"


def text(folder):
    names = sorted(os.path.join(folder, n) for n in os.listdir(folder))
    return b"".join(open(n, "rb").read() for n in names if os.path.isfile(n))


def measure(folder, out):
    """One library, one round: prints what it measured, keeps results for the other to check."""
    import zlib

    corpus = text(folder)
    rows = {}

    def row(name, call, calls, size):
        call(calls[0])
        began, cpu = time.perf_counter(), time.process_time()
        results = [call(c) for c in calls]
        cpu, elapsed = time.process_time() - cpu, time.perf_counter() - began
        rows[name] = (size / 1e6 / cpu, size / 1e6 / elapsed, sum(map(len, results)))
        return results

    for label, length in SIZES.items():
        whole = corpus * (length // len(corpus) + 1) if length > len(corpus) else corpus
        pieces = [whole[i : i + length] for i in range(0, len(whole) - length + 1, length)][:200]
        size = sum(map(len, pieces))
        for level in (1, 6):
            if level == 6 and length > 32 << 20:
                continue
            packed = row(f"compress {level}, {label}", lambda p: zlib.compress(p, level), pieces, size)
            with open(f"{out}-{level}-{length}", "wb") as f:
                f.write(packed[-1])
            if level == 6 or length > 32 << 20:
                row(f"decompress, {label}", zlib.decompress, packed, size)
    print(json.dumps(rows))


def check(folder, out):
    """Decompresses what the other library made."""
    import zlib

    corpus = text(folder)
    for length in SIZES.values():
        whole = corpus * (length // len(corpus) + 1) if length > len(corpus) else corpus
        count = min(len(whole) // length, 200)
        for level in (1, 6):
            name = f"{out}-{level}-{length}"
            if os.path.exists(name):
                want = whole[(count - 1) * length : count * length]
                assert zlib.decompress(open(name, "rb").read()) == want, name


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    library, folder = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    import tempfile

    found = {"stock": [], "ours": []}
    # Behind what is there already, such as what scripts/cap-cpu puts there.
    preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), os.path.abspath(library)]))
    with tempfile.TemporaryDirectory() as scratch:
        environments = {"stock": {}, "ours": {"LD_PRELOAD": preload}}
        for _ in range(rounds):
            for who, extra in environments.items():
                command = [PYTHON, __file__, "--measure", folder, f"{scratch}/{who}"]
                env = {**os.environ, **extra}
                found[who].append(json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout))
        for who, other in (("stock", "ours"), ("ours", "stock")):
            command = [PYTHON, __file__, "--check", folder, f"{scratch}/{other}"]
            subprocess.run(command, env={**os.environ, **environments[who]}, check=True)
    print(f"{'':22}{'stock MB/s':>12}{'ours':>8}{'CPU':>8}{'elapsed':>9}{'size':>8}")
    for name in found["stock"][0]:
        median = {
            who: [statistics.median(one[name][i] for one in found[who]) for i in range(3)] for who in found
        }
        (cpu, elapsed, size), (cpu2, elapsed2, size2) = median["stock"], median["ours"]
        print(
            f"{name:22}{cpu:12.1f}{cpu2:8.1f}{cpu2 / cpu:7.2f}x{elapsed2 / elapsed:8.2f}x{size2 / size:8.3f}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    elif sys.argv[1:2] == ["--check"]:
        check(*sys.argv[2:])
    else:
        main()
