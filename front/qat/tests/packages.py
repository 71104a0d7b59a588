#!/usr/bin/env python3
"""Debian 13's QuickAssist programs, unmodified, with our libqat.so.4 in the place of Intel's.

packages.py LIBQAT LIBUSDM --tree FOLDER [--files FOLDER...]

In a Debian 13 tree, which is made by debootstrap at the first run and kept: every file in every format that DEFLATE
has, all levels, many processes at once; judged by gzip and zlib. QATzip goes to software in silence where a library
does not serve: that ours did is shown by its counters, for every file. So are those of openssl with qatengine, whose
signatures and handshakes plain openssl judges, and of cpa_sample_code, which does not check what it computes. Exit
status 77: cannot run here, and why.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

PACKAGES = ["qatzip", "openssl", "qatengine", "qatlib-examples"]
FORMATS = ["gzip", "gzipext", "deflate_4B", "7z"]
# Below this QATzip compresses by itself.
THRESHOLD = 1024
# qzip gives a file 5 times its size to decompress into. Beyond that it fails, with its own software too.
RATIO = 5


def skip(why: str) -> None:
    print(f"SKIPPED: {why}")
    sys.exit(77)


def make_tree(tree: Path) -> None:
    """A minimal Debian 13 with the packages."""
    if os.geteuid() != 0:
        skip("a Debian 13 tree is made and entered by root")
    if not (tree / ".ready").exists():
        if subprocess.run(["which", "debootstrap"], capture_output=True, check=False).returncode:
            skip("no debootstrap (the Debian package of that name)")
        sources = Path("/etc/apt").glob("sources.list*")
        lists = [p for s in sources for p in ([s] if s.is_file() else sorted(s.iterdir()))]
        text = "\n".join(p.read_text() for p in lists)
        mirror = re.search(r"^(?:URIs:|deb )[^\n]*?(https?://\S+)", text, re.M)
        subprocess.run(["rm", "-rf", "--one-file-system", tree], check=True)
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", "trixie", tree,
             *([mirror[1]] if mirror else [])], capture_output=True, text=True, check=False)
        if made.returncode:
            skip(f"debootstrap: {(made.stdout + made.stderr).splitlines()[-1:]}")
        for file in ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"]:
            if Path(file).exists():
                subprocess.run(["cp", "-L", file, f"{tree}{file}"], check=True)
        subprocess.run(f"cp -a /etc/apt/apt.conf.d/99* {tree}/etc/apt/apt.conf.d/ 2>/dev/null", shell=True,
                       check=False)
        (tree / ".ready").touch()
    install = "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends " + " ".join(PACKAGES)
    # All of them, in a tree that is from before one of them too.
    found = inside(tree, "dpkg -s " + " ".join(PACKAGES))
    if found.returncode:
        got = inside(tree, f"apt-get update -q && {install}")
        if got.returncode:
            skip(f"the packages {PACKAGES}: {(got.stdout + got.stderr)[-300:].decode(errors='replace')}")


def inside(tree: Path, command: str, **more) -> subprocess.CompletedProcess:
    """Runs a shell command in the tree, with mounts that end with it."""
    script = ('mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount --rbind /sys "$0/sys"; '
              'exec chroot "$0" /bin/bash -c "$1"')
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, tree, command], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=600, check=False, **more)


class Failed(Exception):
    pass


class Side:
    """The tree, with our libraries and a folder to work in."""

    def __init__(self, tree: Path, libqat: Path, libusdm: Path, work: Path):
        self.tree, self.work = tree, work
        ours = tree / "opt/lookaside-qat"
        ours.mkdir(parents=True, exist_ok=True)
        for source, name in [(libqat, "libqat.so.4"), (libusdm, "libusdm.so.0")]:
            subprocess.run(["cp", "-L", source, ours / name], check=True)

    def path(self, file: Path) -> str:
        return "/" + str(file.relative_to(self.tree))

    def run(self, command: str, served: bool = True) -> list[dict]:
        """Runs a command in the folder. Returns the counters of its processes."""
        counters = self.work / "counters"
        counters.unlink(missing_ok=True)
        ours = "export LD_LIBRARY_PATH=/opt/lookaside-qat LOOKASIDE_QAT_STATISTICS=" + self.path(counters)
        ran = inside(self.tree, f"{ours if served else ':'}; cd {self.path(self.work)} && {command}")
        said = (ran.stdout + ran.stderr).decode(errors="replace")
        if ran.returncode:
            raise Failed(f"{command}: exit status {ran.returncode}\n{said}")
        if not counters.exists():
            return []
        return [json.loads(line) for line in counters.read_text().splitlines()]


def total(counters: list[dict], name: str) -> int:
    return sum(line.get(name, 0) for line in counters)


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failed(what)


def judge(fmt: str, packed: bytes) -> bytes | None:
    """The plain bytes, by zlib; None where only QATzip knows the format."""
    plain = b""
    if fmt == "deflate_4B":
        while packed:
            size = int.from_bytes(packed[:4], "little")
            plain += zlib.decompress(packed[4:4 + size], -15)
            packed = packed[4 + size:]
        return plain
    if fmt == "7z":
        return None
    while packed:
        member = zlib.decompressobj(31)
        plain += member.decompress(packed)
        check(member.eof, "a gzip member without an end")
        packed = member.unused_data
    return plain


def there_and_back(side: Side, file: Path, fmt: str) -> str:
    plain = file.read_bytes()
    for old in side.work.iterdir():
        old.unlink()
    name = file.name
    (side.work / name).write_bytes(plain)
    counters = side.run(f"qzip -k -O {fmt} -o packed '{name}'")
    packed_file = next(p for p in side.work.iterdir() if p.name.startswith("packed"))
    packed = packed_file.read_bytes()
    served = len(plain) >= THRESHOLD
    if served:
        found = total(counters, "bytes into compression")
        check(found == len(plain), f"we compressed {found} of {len(plain)} bytes")
        check(total(counters, "compressions failed") == 0, f"failures: {counters}")
    judged = judge(fmt, packed)
    check(judged in (None, plain), "what zlib decodes is not the file")
    if len(plain) > RATIO * len(packed):
        return f"{len(packed)} bytes; qzip -d has too little room (by its own software too)"
    (side.work / name).unlink()
    # 7z keeps the name.
    output = "" if fmt == "7z" else f"-O {fmt} -o '{name}'"
    counters = side.run(f"qzip -d -k {output} '{packed_file.name}'")
    check((side.work / name).read_bytes() == plain, "qzip -d makes another file")
    if served and fmt != "7z":
        # QATzip reads 7z by its own software.
        found = total(counters, "bytes out of decompression")
        check(found >= len(plain), f"we decompressed {found} of {len(plain)} bytes: {counters}")
    return f"{len(packed)} bytes"


def levels(side: Side, file: Path) -> str:
    sizes = []
    plain = file.read_bytes()
    (side.work / "f").write_bytes(plain)
    for level in range(1, 10):
        for huffman in ["static", "dynamic"]:
            (side.work / "f.gz").unlink(missing_ok=True)
            counters = side.run(f"qzip -k -L {level} -H {huffman} f")
            check(total(counters, "bytes into compression") == len(plain), f"level {level}: {counters}")
            packed = (side.work / "f.gz").read_bytes()
            check(judge("gzip", packed) == plain, f"level {level}, {huffman}")
            sizes.append(len(packed))
    check(sizes[-1] < sizes[1] < sizes[0], f"levels and codes make no difference: {sizes}")
    return f"{sizes[1]} bytes at level 1, {sizes[-1]} at level 9"


def together(side: Side, file: Path, processes: int) -> str:
    plain = file.read_bytes()
    (side.work / "f").write_bytes(plain)
    many = f"for n in $(seq {processes}); do qzip -k -o many$n f & done; wait"
    counters = side.run(many)
    check(len(counters) == processes, f"counters of {len(counters)} processes")
    for n in range(1, processes + 1):
        check(judge("gzip", (side.work / f"many{n}.gz").read_bytes()) == plain, f"process {n}")
    check(total(counters, "bytes into compression") == processes * len(plain), f"{counters}")
    return f"{processes} processes"


def qatzip_test(side: Side, options: str) -> str:
    """QATzip's own test, which compares; with its software turned off (-B 0)."""
    ran = side.run(f"qatzip-test -m 4 -B 0 -l 2 -v {options} >said 2>&1; status=$?; cat said; exit $status")
    said = (side.work / "said").read_text(errors="replace")
    check("ERROR" not in said and "FAILED" not in said, said)
    into = total(ran, "bytes into compression")
    check(into > 0, f"nothing was compressed by us: {ran}")
    check(total(ran, "compressions failed") + total(ran, "decompressions failed") == 0, f"failures: {ran}")
    return f"{into} bytes into compression, {total(ran, 'bytes out of decompression')} out of decompression"


def without_us(side: Side, file: Path) -> str:
    """What shows that the counters can be missing."""
    (side.work / "f").write_bytes(file.read_bytes())
    counters = side.run("qzip -k f", served=False)
    check(counters == [], f"counters without our library: {counters}")
    return "QATzip's own software, and no counters"


def counted(counters: list[dict], *names: str) -> str:
    """What was counted under these names, each of which must have been."""
    for name in names:
        check(total(counters, name) > 0, f"none counted of {name}: {counters}")
    return ", ".join(f"{total(counters, name)} {name}" for name in names)


def speed(side: Side) -> str:
    """openssl speed's signatures in 36 jobs. It verifies one before it begins, by us too."""
    counters = side.run("timeout 60 openssl speed -engine qatengine -elapsed -async_jobs 36 -seconds 1 -mr "
                        "rsa2048 ecdsap256 >speed 2>said || { cat said; false; }")
    # +F2:number:2048:signatures a second:verifications a second, and +F4 of the curve.
    lines = [line.split(":") for line in (side.work / "speed").read_text().splitlines()]
    per = {line[0]: float(line[3]) for line in lines if line[0] in ("+F2", "+F4")}
    check(len(per) == 2 and min(per.values()) >= 1, f"no speed of both: {lines}")
    return (f"{per['+F2']:.0f} RSA-2048 and {per['+F4']:.0f} P-256 signatures a second; "
            + counted(counters, "RSA private operations", "ECDSA signatures"))


KEYS = {"rsa": "-newkey rsa:2048", "ec": "-newkey ec -pkeyopt ec_paramgen_curve:P-256"}
SIGNS = {"rsa": "RSA private operations", "ec": "ECDSA signatures"}


def make_key(side: Side, kind: str) -> None:
    side.run(f"openssl req -x509 {KEYS[kind]} -nodes -keyout key -out cert -subj /CN=x -days 9", served=False)


def signature(side: Side, kind: str) -> str:
    make_key(side, kind)
    counters = side.run("timeout 30 openssl dgst -engine qatengine -sha256 -sign key -out signed f")
    side.run("openssl x509 -in cert -pubkey -noout >pub && openssl dgst -sha256 -verify pub -signature signed f",
             served=False)
    return counted(counters, SIGNS[kind])


def handshake(side: Side, kind: str, version: str, how: str) -> str:
    """A server with qatengine, and a client without. The curve is named: of X25519 with ML-KEM, the default, openssl
    makes nothing once an engine has taken X25519 (\"operation not supported for this keytype\"), with any library."""
    make_key(side, kind)
    # A port of the system's choice, which it says before it listens there; the pipe keeps its input open until the
    # client has gone.
    serve = (f"sleep 3 | timeout 20 openssl s_server -engine qatengine {how} -accept 127.0.0.1:0 -cert cert -key key "
             f"-{version} -groups P-256 -naccept 1 >server 2>&1")
    ask = ("for n in $(seq 100); do sleep 0.1; port=$(sed -n 's/^ACCEPT.*:\\([0-9]\\)/\\1/p' server | head -1); "
           "[ -n \"$port\" ] || continue; (echo hello; sleep 0.5) | env -u LD_LIBRARY_PATH "
           f"timeout 20 openssl s_client -connect 127.0.0.1:$port -CAfile cert -verify_return_error -{version} "
           "-groups P-256 >client 2>&1; status=$?; grep -q 'Connection refused' client || break; done")
    counters = side.run(f"touch server; {{ {serve}; }} & server=$!; {ask}; wait $server || status=$?; "
                        "cat client server; exit $status")
    client, server = ((side.work / name).read_text(errors="replace") for name in ("client", "server"))
    spoken = "TLSv1.2" if version == "tls1_2" else "TLSv1.3"
    check(f"New, {spoken}, Cipher is" in client and "Verify return code: 0 (ok)" in client, client + server)
    check("hello" in server.splitlines(), f"the server has not read what the client wrote:\n{server}")
    return counted(counters, SIGNS[kind], "EC multiplications")


# The tests of cpa_sample_code in its manual, and what each must have had us do.
SAMPLES = {
    1: ["symmetric requests"],
    2: ["RSA private operations"],
    4: ["DSA signatures"],
    8: ["ECDSA signatures", "ECDSA verifications"],
    16: ["Diffie-Hellman secrets"],
    32: ["compressions", "decompressions"],
    1024: ["SM2 signatures"],
    2048: ["symmetric requests"],
}


def sample(tree: Path, work: Path, mask: int) -> str:
    """One test of cpa_sample_code, few operations of each kind. It sleeps a second before each kind."""
    began = time.monotonic()
    inner = "/" + str(work.relative_to(tree))
    counters = work / f"counters{mask}"
    ours = (f"export LD_LIBRARY_PATH=/opt/lookaside-qat LOOKASIDE_QAT_STATISTICS={inner}/counters{mask} "
            "LOOKASIDE_QAT_CY_INSTANCES=1 LOOKASIDE_QAT_DC_INSTANCES=1")
    ran = inside(tree, f"{ours}; cd {inner}; timeout 240 cpa_sample_code signOfLife=1 runTests={mask}")
    said = ran.stdout.decode(errors="replace")
    check(ran.returncode == 0 and "Sample code completed successfully." in said,
          f"exit status {ran.returncode}\n{said[-3000:]}{ran.stderr.decode(errors='replace')[-1000:]}")
    wrong = [line for line in said.splitlines() if "FAILED" in line or "allocation error" in line]
    check(not wrong, f"{wrong[:3]}")
    numbers = {kind: [int(n) for n in re.findall(rf"Total {kind}\s+(\d+)", said)]
               for kind in ("Submissions", "Responses")}
    check(bool(numbers["Responses"]) and min(numbers["Responses"]) > 0, f"tests without an answer: {numbers}")
    check(mask == 32 or numbers["Submissions"] == numbers["Responses"], f"answers are missing: {numbers}")
    lines = [json.loads(line) for line in counters.read_text().splitlines()]
    return (f"{len(numbers['Responses'])} kinds in {time.monotonic() - began:.0f} s, "
            f"{sum(numbers['Responses'])} answers; " + counted(lines, *SAMPLES[mask]))


def samples(pool: ThreadPoolExecutor, tree: Path, work: Path) -> dict[int, Future]:
    """Begins all tests of cpa_sample_code, which mostly sleep."""
    # The file that it compresses is not in the package.
    corpus = tree / "usr/share/qat/calgary32"
    corpus.parent.mkdir(exist_ok=True)
    corpus.write_bytes("".join(f"line {n} of {n * n % 977}\n" for n in range(150_000)).encode())
    return {mask: pool.submit(sample, tree, work, mask) for mask in SAMPLES}


def inputs(folder: Path) -> list[Path]:
    """Files of every kind, where none are given."""
    made = {
        "text": "".join(f"line {n} of {n * n % 977}\n" for n in range(60_000)).encode(),
        "noise": os.urandom(300_000),
        "zeros": bytes(400_000),
        "short": b"short",
        "odd": bytes(n * n // 1000 % 256 for n in range(65_537)),
    }
    for name, content in made.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in made]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libqat", type=Path)
    parser.add_argument("libusdm", type=Path)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    make_tree(args.tree.absolute())
    tree = args.tree.resolve()
    failures = count = 0
    with (tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory(dir=tree / "tmp") as work,
          tempfile.TemporaryDirectory(dir=tree / "tmp") as aside, ThreadPoolExecutor(len(SAMPLES)) as pool):
        files = [p for folder in args.files for p in sorted(folder.iterdir()) if p.is_file()]
        files = files or inputs(Path(made))
        side = Side(tree, args.libqat, args.libusdm, Path(work))
        begun = samples(pool, tree, Path(aside))
        checks = [(f"{fmt}, {p.name}", lambda p=p, fmt=fmt: there_and_back(side, p, fmt))
                  for fmt in FORMATS for p in files]
        text = next((p for p in files if p.name in ("text", "book1")), files[0])
        checks += [("levels and codes", lambda: levels(side, text)),
                   ("without our library", lambda: without_us(side, text))]
        tests = [f"-t 2 -O {fmt} -D {way}" for fmt in ("gzip", "gzipext") for way in ("comp", "decomp", "both")]
        tests += [f"-t 2 -O zlib -b 65536 -C 65536 -D {way}" for way in ("comp", "decomp", "both")]
        tests += [f"-t 2 -T {codes} -L {level}" for codes in ("static", "dynamic") for level in (1, 6, 9)]
        tests += ["-t 8 -P busy", "-t 64", "-a", f"-t 2 -M svm -i {side.path(side.work)}/f", "-r 4 -C 131072"]
        checks += [(f"qatzip-test {test}", lambda t=test: qatzip_test(side, t)) for test in tests]
        checks += [(f"{n} processes at once", lambda n=n: together(side, text, n)) for n in (2, 64)]
        checks += [("openssl speed, qatengine", lambda: speed(side))]
        checks += [(f"openssl dgst, qatengine, {kind}", lambda k=kind: signature(side, k)) for kind in KEYS]
        checks += [(f"openssl s_server, qatengine, {kind} {version} {how}".rstrip(),
                    lambda k=kind, v=version, h=how: handshake(side, k, v, h))
                   for kind in KEYS for version in ("tls1_2", "tls1_3") for how in ("", "-async")]
        checks += [(f"cpa_sample_code runTests={mask}", answer.result) for mask, answer in begun.items()]
        for name, one in checks:
            for old in side.work.iterdir():
                old.unlink()
            (side.work / "f").write_bytes(text.read_bytes())
            count += 1
            try:
                print(f"{name}: {one()}")
            except (Failed, StopIteration, zlib.error, subprocess.TimeoutExpired) as e:
                failures += 1
                print(f"FAILED: {name}: {e!r}" if not isinstance(e, Failed) else f"FAILED: {name}: {e}")
    print(f"{count} checks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
