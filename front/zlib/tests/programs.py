#!/usr/bin/env python3
"""Real users of zlib with our library in place of the system's, beside themselves with the system's.

programs.py LIBRARY [--only PART]... [--preload]

LIBRARY is our libz.so.1. Each check runs with stock zlib and with ours and fails where they differ;
what was compressed by one is read by the other. Each proves that our library was the one loaded.
"""

import argparse
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).resolve().parent / "programs"
sys.path[:0] = [str(ROOT / folder) for folder in ("bench/openssl", "scripts")]

import patient  # noqa: E402  (found by the line above)
import servers  # noqa: E402

PYTHON = "/usr/bin/python3"
SUITE = ["test_zlib", "test_gzip", "test_zipfile", "test_tarfile", "test_zipimport"]


class Failed(Exception):
    """A check did not hold; the text says how."""


class Skipped(Exception):
    """A check cannot be made on this machine; the text says why."""


class Side:
    """The system's zlib, or ours."""

    def __init__(self, name: str, variables: dict[str, str], library: Path | None):
        self.name = name
        # The system's programs and settings, whatever the caller's.
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
                    **variables}
        self.library = library

    def run(self, *args, cwd: Path | None = None, timeout: float = 200, **more):
        """Runs a program; whatever comes of it."""
        return patient.run([str(a) for a in args], env={**self.env, **more}, cwd=cwd, timeout=timeout,
                           stdin=subprocess.DEVNULL, capture_output=True)

    def ok(self, *args, **more) -> bytes:
        """Runs a program that has to succeed; its output."""
        ran = self.run(*args, **more)
        if ran.returncode:
            tail = (ran.stdout[-1500:] + b"\n" + ran.stderr[-1500:]).decode(errors="replace")
            raise Failed(f"({self.name}) {' '.join(map(str, args))}: exit status {ran.returncode}\n{tail}")
        return ran.stdout

    def check_loaded(self, libraries: list[str], who: str) -> None:
        """The libz that a program had in its memory: ours, and no other; for stock, not ours."""
        ours = [name for name in libraries if self.library and os.path.realpath(name) == str(self.library)]
        if not libraries or (bool(ours) != bool(self.library)) or (self.library and len(libraries) != 1):
            raise Failed(f"({self.name}) {who} has loaded {libraries}, not {self.library or 'the system library'}")

    def check_linked(self, program: str) -> None:
        """What the loader finds for a program that links libz."""
        said = self.ok("ldd", shutil.which(program, path=self.env["PATH"])).decode()
        self.check_loaded(re.findall(r"(/\S*libz\.so\S*) \(", said), program)


def mapped(pid: int) -> list[str]:
    """The libz in the memory of a process."""
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    return sorted({line.split()[-1] for line in maps.splitlines() if "libz.so" in line})


def same(stock, ours, what: str) -> None:
    """Fails where the two differ."""
    if stock != ours:
        raise Failed(f"{what}: stock\n{str(stock)[:1500]}\nours\n{str(ours)[:1500]}")


class Programs:
    """The two sides and a folder for files."""

    def __init__(self, path: Path, stock: Side, ours: Side):
        self.path = path
        self.stock, self.ours = stock, ours
        self.sides = [stock, ours]

    def both(self, action) -> list:
        """Does it with both sides at once: [stock's, ours]."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(action, self.sides))

    def folder(self, *names: str) -> Path:
        """A new folder."""
        folder = self.path.joinpath(*names)
        folder.mkdir(parents=True)
        return folder

    # CPython.

    def cpython(self) -> str:
        """The suites of the modules that use zlib: every test has the same outcome."""
        if self.stock.run(PYTHON, "-c", "import test.test_zlib").returncode:
            raise Skipped("this Python has no tests (Debian: libpython3.11-testsuite, or of your Python's version)")

        def run(side: Side) -> dict:
            out = self.folder("cpython", side.name) / "outcomes.json"
            side.ok(PYTHON, PROGRAMS / "cpython.py", out, *SUITE, cwd=out.parent)
            return json.loads(out.read_text(encoding="utf-8"))
        stock, ours = self.both(run)
        for side, said in zip(self.sides, (stock, ours)):
            side.check_loaded(said["libraries"], "python3")
        names = stock["outcomes"].keys() | ours["outcomes"].keys()
        other = [name for name in sorted(names) if stock["outcomes"].get(name) != ours["outcomes"].get(name)]
        if other:
            raise Failed("\n".join(f"{name}: stock {stock['outcomes'].get(name)}, ours "
                                   f"{ours['outcomes'].get(name)}\n{ours['why'].get(name, '')[-600:]}"
                                   for name in other))
        counts = {o: list(ours["outcomes"].values()).count(o) for o in sorted(set(ours["outcomes"].values()))}
        if counts.get("ok", 0) < 900:
            raise Failed(f"too few tests ran: {counts}")
        return ", ".join(f"{n} {o}" for o, n in counts.items())

    def sweep(self, name: str, command: list, least: int) -> str:
        """A program writes streams with both libraries, and reads both with both."""
        folders = {side.name: self.folder(name, side.name) for side in self.sides}
        self.both(lambda side: side.ok(*command, "write", folders[side.name]))
        said = []
        for side in self.sides:
            for writer in self.sides:
                ran = side.run(*command, "read", folders[writer.name])
                if ran.returncode:
                    raise Failed(f"({side.name}) reads {writer.name}'s: {ran.stdout[-800:].decode()}\n"
                                 f"{ran.stderr[-2000:].decode()}")
                side.check_loaded(re.findall(r"/\S*libz\.so\S*", ran.stderr.decode()), name)
                said.append(ran.stdout.decode().splitlines())
        for lines in said[1:]:
            other = [f"stock: {a}\nours:  {b}" for a, b in zip(said[0], lines) if a != b]
            if other or len(lines) != len(said[0]):
                raise Failed("\n".join(other[:12]) or "more lines of one")
        if len(said[0]) < least:
            raise Failed(f"only {len(said[0])} lines")
        return f"{len(said[0])} results, 4 ways round"

    def java(self) -> str:
        """Deflater, Inflater and their streams, in a JDK that uses the system's zlib."""
        compilers = sorted(Path("/usr/lib/jvm").glob("java-[0-9]*-openjdk-amd64/bin/javac"))
        if not compilers:
            raise Skipped("no JDK of Debian's (default-jdk-headless), which links the system's zlib")
        java = compilers[0].with_name("java")
        classes = self.folder("java", "classes")
        self.stock.ok(java.with_name("javac"), "-d", classes, PROGRAMS / "Sweep.java")
        return self.sweep("sweep-java", [java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, "Sweep"], 90)

    # git.

    def git(self) -> str:
        """Clone over a transport, loose objects, gc, fsck: the other side finds the same objects."""
        source = self.folder("git", "source")
        settings = ["-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "gc.auto=0"]
        # The repository of this tree, or its files where it has none.
        plain = self.stock
        if plain.run("git", "-C", ROOT, "-c", "safe.directory=*", "rev-parse", "HEAD").returncode == 0:
            plain.ok("git", "-c", "safe.directory=*", "clone", "-q", "--bare", ROOT, source / "repo")
        else:
            shutil.copytree(ROOT / "front", source / "work")
            plain.ok("git", "init", "-q", source / "work")
            plain.ok("git", *settings, "-C", source / "work", "add", "-A")
            plain.ok("git", *settings, "-C", source / "work", "commit", "-q", "-m", "files")
            plain.ok("git", "clone", "-q", "--bare", source / "work", source / "repo")
        for side in self.sides:
            side.check_linked("git")

        def run(side: Side) -> list[bytes]:
            at = self.path / "git" / side.name
            side.ok("git", "clone", "-q", "--no-local", f"file://{source}/repo", at)
            git = ["git", *settings, "-C", at]
            # New objects, loose: large and small.
            for n, size in enumerate((0, 10, 5000, 700_000, 5_000_000)):
                block = hashlib.sha512(bytes([n])).digest()
                (at / f"new-{n}").write_bytes((block + b"some text that is the same " * 9) * (size // 300 + 1))
            side.ok(*git, "add", "-A")
            side.ok(*git, "commit", "-q", "-m", "loose", GIT_AUTHOR_DATE="2020-01-01T00:00:00Z",
                    GIT_COMMITTER_DATE="2020-01-01T00:00:00Z")
            first = side.ok(*git, "fsck", "--full", "--strict")
            side.ok(*git, "repack", "-q", "-a", "-d", "-F", "--depth=10")
            side.ok(*git, "gc", "-q", "--prune=now")
            return [first, side.ok(*git, "fsck", "--full", "--strict")]
        self.both(run)
        said = []
        for reader in self.sides:
            for writer in self.sides:
                git = ["git", "-C", self.path / "git" / writer.name]
                reader.ok(*git, "fsck", "--full")
                said.append((reader.ok(*git, "cat-file", "--batch-all-objects",
                                       "--batch-check=%(objectname) %(objecttype) %(objectsize)"),
                             hashlib.sha256(reader.ok(*git, "archive", "HEAD")).hexdigest()))
        for other in said[1:]:
            same(said[0], other, "objects")
        sizes = [sum(f.stat().st_size for f in (self.path / "git" / s.name / ".git/objects/pack").glob("*.pack"))
                 for s in self.sides]
        return f"{len(said[0][0].splitlines())} objects; packs of {sizes[0]} and {sizes[1]} bytes"

    # nginx.

    def nginx(self, level: int) -> str:
        """Pages of many sizes, compressed on the fly, under load; curl decompresses with either side."""
        pages = self.folder("nginx", f"pages-{level}")
        text = (ROOT / "ARCHITECTURE.md").read_bytes()
        for size in (0, 1, 20, 500, 4000, 30000, 66000, 900_000):
            (pages / f"{size}.txt").write_bytes((text * (size // len(text) + 1))[:size])
        (pages / "noise.txt").write_bytes(os.urandom(100_000))
        notes = []
        for side in self.sides:
            home = self.folder("nginx", f"{side.name}-{level}")
            port = servers.free_port()
            (home / "conf").write_text(f"""
worker_processes 1; daemon off; pid {home}/pid; error_log {home}/error.log info;
events {{ worker_connections 200; }}
http {{
  access_log off; types {{ text/plain txt; }}
  client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  gzip on; gzip_comp_level {level}; gzip_types text/plain; gzip_min_length 1;
  server {{ listen 127.0.0.1:{port}; root {pages}; }}
}}
""")
            user = ["-g", "user root;"] if os.getuid() == 0 else []
            up = servers.Server(["/usr/sbin/nginx", "-p", home, "-c", home / "conf", *user], side.env,
                                {"http": port}, home / "log")
            try:
                workers = servers.workers(up)
                for pid in workers:
                    side.check_loaded(mapped(pid), "nginx")
                url = f"http://127.0.0.1:{port}"
                load = subprocess.Popen(["wrk", "-t1", "-c16", "-d3", "-H", "Accept-Encoding: gzip",
                                         f"{url}/30000.txt"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                size = 0
                for page in sorted(pages.iterdir()) * 2:
                    for client in self.sides:
                        got = client.ok("curl", "-sS", "--compressed", f"{url}/{page.name}")
                        same(page.read_bytes(), got, f"{page.name} by {client.name}'s curl")
                    raw = client.ok("curl", "-sS", "-H", "Accept-Encoding: gzip", f"{url}/{page.name}")
                    size += len(raw)
                    if page.stat().st_size > 400 and page.name != "noise.txt" and len(raw) > page.stat().st_size * 0.7:
                        raise Failed(f"{page.name}: {len(raw)} bytes: not compressed")
                said = load.communicate(timeout=60)[0].decode()
                rate = re.search(r"Requests/sec:\s*([\d.]+)", said)
                if load.returncode or not rate or re.search(r"Non-2xx|Socket errors", said):
                    raise Failed(f"wrk: {said}")
                if servers.children(up.pid) != workers:
                    raise Failed("a worker has died")
            finally:
                up.stop()
            log = (home / "error.log").read_text()
            # For example that what it keeps for zlib's memory was not enough.
            bad = [line for line in log.splitlines() if re.search(r"\[(warn|error|crit|alert|emerg)\]", line)]
            if bad:
                raise Failed(f"({side.name}) {len(bad)} lines of errors:\n" + "\n".join(bad[:4]))
            notes.append(f"{side.name} {float(rate.group(1)):.0f} pages/s, {size} bytes")
        return "; ".join(notes)

    # rsync.

    def rsync(self) -> str:
        """-z from each side to each side: new files and changed ones."""
        source = self.folder("rsync", "source")
        for n, folder in enumerate(("front", "scripts", "docs")):
            if (ROOT / folder).is_dir():
                shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("target"))
        (source / "large").write_bytes(b"".join(f"line {n * n}\n".encode() for n in range(300_000)) + os.urandom(90_000))
        for side in self.sides:
            side.check_linked("rsync")
        shell = self.path / "rsync" / "shell"
        # The other end, with the library that the variables name.
        shell.write_text('#!/bin/sh\nshift\nexec env $OTHER_END "$@"\n')
        shell.chmod(0o755)
        sent = []
        for sender in self.sides:
            for receiver in self.sides:
                for choice in ("zlib", "zlibx"):
                    to = self.path / "rsync" / f"{sender.name}-{receiver.name}-{choice}"
                    (to / "scripts").mkdir(parents=True)
                    large = (source / "large").read_bytes()
                    # An older version, from which blocks are taken over.
                    (to / "large").write_bytes(large[:1_000_000] + b"changed" + large[1_200_000:])
                    variables = [f"{k}={receiver.env.get(k, '')}" for k in ("LD_LIBRARY_PATH", "LD_PRELOAD")]
                    said = sender.ok("rsync", "-a", "-z", f"--compress-choice={choice}", "--stats", "-e", shell,
                                     f"{source}/", f"other:{to}/", OTHER_END=" ".join(variables)).decode()
                    check_equal(source, to)
                    sent.append(re.search(r"Total bytes sent: ([\d,]+)", said).group(1))
        return f"bytes sent {' '.join(sent)}"


def check_equal(a: Path, b: Path) -> None:
    """Two folders hold the same files."""
    found = filecmp.dircmp(a, b)
    if found.left_only or found.right_only or found.funny_files:
        raise Failed(f"{a} and {b}: {found.left_only} {found.right_only} {found.funny_files}")
    _, other, errors = filecmp.cmpfiles(a, b, found.common_files, shallow=False)
    if other or errors:
        raise Failed(f"{a} and {b}: {other} {errors} differ")
    for name in found.common_dirs:
        check_equal(a / name, b / name)


PARTS = {
    "cpython": [("CPython's test suites", lambda p: p.cpython())],
    "python": [("a sweep of Python's zlib", lambda p: p.sweep("python", [PYTHON, PROGRAMS / "sweep.py"], 100))],
    "perl": [("a sweep of Compress::Raw::Zlib and IO::Compress",
              lambda p: p.sweep("perl", ["/usr/bin/perl", PROGRAMS / "sweep.pl"], 1000))],
    "java": [("a sweep of Java's Deflater and Inflater", lambda p: p.java())],
    "git": [("git clone, add, repack, gc, fsck", lambda p: p.git())],
    "nginx": [(f"nginx, gzip level {level}, with curl and wrk", lambda p, level=level: p.nginx(level))
              for level in (1, 6)],
    "rsync": [("rsync -z", lambda p: p.rsync())],
}


def main() -> int:
    """All checks; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library", type=Path)
    a.add_argument("--only", choices=PARTS, action="append")
    a.add_argument("--preload", action="store_true", help="by LD_PRELOAD, not LD_LIBRARY_PATH")
    o = a.parse_args()
    library = o.library.resolve(strict=True)
    with tempfile.TemporaryDirectory(prefix="lookaside-zlib-") as path:
        # A folder with our library and nothing else.
        place = Path(path) / "library"
        place.mkdir()
        (place / "libz.so.1").symlink_to(library)
        variables = {"LD_PRELOAD": str(library)} if o.preload else {"LD_LIBRARY_PATH": str(place)}
        programs = Programs(Path(path), Side("stock", {}, None), Side("ours", variables, library))
        failed = []
        for part in o.only or PARTS:
            for name, check in PARTS[part]:
                begin = time.monotonic()
                try:
                    said = check(programs)
                except Skipped as why:
                    print(f"SKIPPED {name}: {why}", flush=True)
                except (Failed, subprocess.TimeoutExpired, OSError) as why:
                    failed.append(name)
                    print(f"FAILED  {name}\n        " + str(why).replace("\n", "\n        "), flush=True)
                else:
                    print(f"ok      {name}: {said} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"\n{len(failed)} failed" + "".join(f"\n  FAILED  {name}" for name in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
