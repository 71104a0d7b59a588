#!/usr/bin/env python3
"""The C programs beside this file, with Debian's zlib and with ours; each side's files are read by the other.

run.py [LIBRARY] [--only TEXT] [--list]

LIBRARY is the path of our libz.so.1 (target/release/zlib/libz.so.1 if it is not given). Needs cc, gzip,
zlib1g-dev and valgrind.
"""

import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import patient  # noqa: E402  (found by the line above)

STOCK = Path("/lib/x86_64-linux-gnu/libz.so.1")
PROGRAMS = ["functions", "minigzip", "threads", "prefork", "midfork", "reload"]
# valgrind knows no AVX-512: our choice of kernels is lowered, the C libraries ask the CPU, which is
# valgrind's. What is only possibly lost is memory that libdeflate aligns by itself.
VALGRIND = ["valgrind", "-q", "--error-exitcode=9", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"]


class Wrong(Exception):
    """A check that failed."""


class Side:
    """A library, and the programs with it."""

    def __init__(self, name, library, folder):
        self.name = name
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("LOOKASIDE_", "LD_"))}
        self.environment["LD_LIBRARY_PATH"] = str(library.parent)
        self.library = library
        # A folder with this library and no other.
        linked = subprocess.run(["ldd", folder / "functions"], env=self.environment, text=True,
                                capture_output=True, check=True).stdout
        if f"libz.so.1 => {library} " not in linked:
            raise Wrong(f"{name}: programs get another library:\n{linked}")

    def run(self, *command, stdin=b"", status=0, seconds=120, prefix=(), **environment):
        """What a program writes to the standard output."""
        done = patient.run([*prefix, self.folder / command[0], *command[1:]], input=stdin,
                           env=self.environment | environment, capture_output=True, timeout=seconds,
                           cwd=self.folder)
        said = done.stderr.decode(errors="replace")
        if done.returncode != status:
            raise Wrong(f"{self.name}: {command} ended with {done.returncode}:\n{said[-3000:]}")
        if status == 0 and said:
            raise Wrong(f"{self.name}: {command} said:\n{said[-3000:]}")
        return done.stdout


def content(seed, length, noise=False):
    """Bytes that compress like text, or not at all."""
    source = random.Random(seed)
    if noise:
        return source.randbytes(length)
    words = [source.randbytes(source.randrange(2, 9)).hex().encode() for _ in range(3000)]
    text = b" ".join(source.choices(words, [1 / n for n in range(1, 3001)], k=length // 8 + 1))
    return text[:length]


def functions(ours, stock):
    """Every function of zlib.h."""
    for side in (stock, ours):
        side.run("functions", side.folder / "functions.gz")


def minigzip(ours, stock):
    """minigzip: each side's output read by the other, by gzip and by Python."""
    for number, (length, noise) in enumerate([(0, False), (1, False), (70_000, False),
                                              (3_000_000, False), (300_000, True)]):
        data = content(number, length, noise)
        for options in ([], *([f"-{level}"] for level in range(1, 10)), ["-1", "-f"], ["-6", "-h"],
                        ["-6", "-r"], ["-6", "-b", "1000"], ["-1", "-b", "2000000"]):
            if length > 1_000_000 and options and options[-1] not in ("-1", "-6", "2000000"):
                continue
            packed = [side.run("minigzip", *options, stdin=data) for side in (stock, ours)]
            for side, other in ((stock, packed[1]), (ours, packed[0]), (ours, packed[1])):
                if side.run("minigzip", "-d", stdin=other) != data:
                    raise Wrong(f"{side.name} reads something else: {length} bytes, {options}")
            if gzip.decompress(packed[1]) != data:
                raise Wrong(f"Python reads something else: {length} bytes, {options}")
            # Strategies are not promised a size.
            if "-h" not in options and len(packed[1]) > len(packed[0]) * 1.02 + 24:
                sizes = [len(each) for each in packed]
                raise Wrong(f"too large: {length} bytes, {options}: zlib's and ours {sizes}")


def minigzip_files(ours, stock):
    """Files, members after one another, transparent reading, damage, and pipes that close."""
    data = content(50, 200_000)
    name = ours.folder / "file"
    for writer, reader in ((ours, stock), (stock, ours)):
        name.write_bytes(data)
        writer.run("minigzip", "-9", name)
        packed = Path(f"{name}.gz")
        if name.exists() or subprocess.run(["gzip", "-t", packed]).returncode != 0:
            raise Wrong(f"{writer.name}: minigzip FILE")
        if reader.run("minigzip", "-d", "-c", packed) != data:
            raise Wrong(f"{reader.name}: minigzip -d -c FILE")
        reader.run("minigzip", "-d", packed)
        if name.read_bytes() != data:
            raise Wrong(f"{reader.name}: minigzip -d FILE")
    packed = gzip.compress(data)
    outcomes = {}
    for side in (stock, ours):
        outcomes[side.name] = [
            side.run("minigzip", "-d", stdin=packed + gzip.compress(b"more") + b"garbage"),
            side.run("minigzip", "-d", stdin=data),
            side.run("minigzip", "-d", stdin=b""),
        ]
        for damaged in (packed[:-1], packed[:1000], packed[:-8] + b"wrong!!!",
                        packed[:20_000] + b"\xff" * 40 + packed[20_040:]):
            # What comes before the damage is written; how much, no program may rely on.
            side.run("minigzip", "-d", stdin=damaged, status=1)
    expected = [data + b"more", data, b""]
    if outcomes["zlib"] != expected or outcomes["ours"] != expected:
        raise Wrong("members, garbage or plain content are read differently")
    command = f"{ours.folder / 'minigzip'} -1 < {name} | head -c 100 > /dev/null"
    subprocess.run(["bash", "-c", command], env=ours.environment, timeout=60)


def threads(ours, _stock):
    """64 threads with files, streams and whole buffers."""
    folder = ours.folder / "threads.d"
    folder.mkdir(exist_ok=True)
    ours.run("threads", folder)
    for path in folder.iterdir():
        if subprocess.run(["gzip", "-t", path]).returncode != 0:
            raise Wrong(f"{path.name}: gzip does not read it")
        path.unlink()
    # Calls large enough for the device.
    ours.run("threads", folder, "1100000", LOOKASIDE_ENGINES="2", LOOKASIDE_THRESHOLD="131072")


def prefork(ours, stock):
    """A parent that compresses and 8 children that do, each with the device and without."""
    stock.run("prefork")
    for engines in ("0", "1", "3"):
        ours.run("prefork", LOOKASIDE_ENGINES=engines)
    ours.run("prefork", "100000")


def midfork(ours, stock):
    """A fork at any moment of another thread's first calls."""
    stock.run("midfork", "20000", "1000")
    chance = random.Random(1)
    for length in ("20000", "1000000"):
        for _ in range(150):
            ours.run("midfork", length, str(chance.randrange(140000)))


def reload(ours, stock):
    """dlopen and dlclose, a hundred times."""
    for side in (stock, ours):
        side.run("reload", side.library)
        side.run("reload", side.library, "10000")


def valgrind(ours, _stock):
    """valgrind finds nothing."""
    folder = ours.folder / "threads.d"
    folder.mkdir(exist_ok=True)
    lowered = {"LOOKASIDE_CPU": "avx2", "LOOKASIDE_ENGINES": "2", "seconds": 400}
    prefix = [*VALGRIND, "--leak-check=full"]
    ours.run("functions", ours.folder / "functions.gz", prefix=prefix, **lowered)
    ours.run("threads", folder, "5000", prefix=prefix, **lowered)
    ours.run("minigzip", "-6", stdin=content(1, 1_500_000), prefix=prefix, **lowered)
    ours.run("minigzip", "-d", stdin=gzip.compress(content(2, 1_500_000)), prefix=prefix, **lowered)
    # A child cannot free what belonged to threads that it does not have.
    ours.run("prefork", "600000", prefix=[*VALGRIND, "--leak-check=no"], **lowered)


CHECKS = [functions, minigzip, minigzip_files, threads, prefork, midfork, reload, valgrind]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/zlib/libz.so.1"
    arguments.add_argument("library", nargs="?", type=Path, default=default)
    arguments.add_argument("--only", default="", help="checks whose names contain this")
    arguments.add_argument("--list", action="store_true", help="say which there are")
    given = arguments.parse_args()
    if given.list:
        for check in CHECKS:
            print(f"{check.__name__}: {check.__doc__}")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="lookaside-zlib-") as name:
        folder = Path(name)
        for program in PROGRAMS:
            subprocess.run(["cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", HERE / f"{program}.c",
                            "-o", folder / program, "-lz", "-lpthread", "-ldl"], check=True)
        stock = Side("zlib", STOCK, folder)
        ours = Side("ours", given.library.absolute(), folder)
        for check in CHECKS:
            if given.only not in check.__name__:
                continue
            try:
                check(ours, stock)
                print(f"ok      {check.__name__}", flush=True)
            except (Wrong, subprocess.TimeoutExpired) as wrong:
                failed += 1
                print(f"FAILED  {check.__name__}: {wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
