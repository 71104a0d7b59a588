#!/usr/bin/env python3
"""Debian 13's QuickAssist programs, unmodified, with our libqat.so.4 in the place of Intel's.

packages.py LIBQAT LIBUSDM --tree FOLDER [--files FOLDER...] [--all]

In a Debian 13 tree, which is made by debootstrap at the first run and kept: qzip with every file in every format, all
levels, many processes at once; judged by gzip, zlib, the tool lz4 and a decoder of LZ4s. openssl with qatengine, whose
signatures and handshakes plain openssl judges. cpa_sample_code, which does not check what it computes. QATzip and
qatengine go to software in silence where a library does not serve: that ours did is shown by its counters, every time.
--all: what takes more than half a minute by itself, too. Exit status 77: cannot run here, and why.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from trixie import inside, make_tree, skip  # noqa: E402

PACKAGES = ["qatzip", "openssl", "qatengine", "qatlib-examples"]
FORMATS = ["gzip", "gzipext", "deflate_4B", "7z", "lz4"]
# qatengine has software of its own beside the card: on CPUs with AVX-512 IFMA it makes the ECDSA signatures of
# asynchronous jobs by itself, unless it is told not to.
OPENSSL_CONF = """openssl_conf = start
[start]
engines = engines
[engines]
qatengine = qatengine
[qatengine]
engine_id = qatengine
SW_ALGO_BITMAP = 0x0
"""
# Below this QATzip compresses by itself.
THRESHOLD = 1024
# qzip gives a file 5 times its size to decompress into. Beyond that it fails, with its own software too.
RATIO = 5


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
        (ours / "openssl.cnf").write_text(OPENSSL_CONF)

    def path(self, file: Path) -> str:
        return "/" + str(file.relative_to(self.tree))

    def run(self, command: str, served: bool = True) -> list[dict]:
        """Runs a command in the folder. Returns the counters of its processes."""
        counters = self.work / "counters"
        counters.unlink(missing_ok=True)
        ours = ("export LD_LIBRARY_PATH=/opt/lookaside-qat OPENSSL_CONF=/opt/lookaside-qat/openssl.cnf "
                f"LOOKASIDE_QAT_STATISTICS={self.path(counters)}")
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
    if fmt == "lz4":
        tool = subprocess.run(["lz4", "-dc"], input=packed, capture_output=True, check=False)
        check(tool.returncode == 0, f"lz4: {tool.stderr.decode(errors='replace')}")
        return tool.stdout
    if fmt == "lz4s":
        while packed:
            size = int.from_bytes(packed[:4], "little")
            plain += lz4s(packed[4:4 + size])
            packed = packed[4 + size:]
        return plain
    while packed:
        member = zlib.decompressobj(31)
        plain += member.decompress(packed)
        check(member.eof, "a gzip member without an end")
        packed = member.unused_data
    return plain


def lz4s(block: bytes) -> bytes:
    """A block of LZ4s: the code m of a match means m + 2 bytes, 0 no match."""
    out, at = bytearray(), 0

    def number(half: int) -> int:
        nonlocal at
        total = half
        while half == 15:
            total, at = total + block[at], at + 1
            if block[at - 1] < 255:
                break
        return total

    while at < len(block):
        token, at = block[at], at + 1
        literals = number(token >> 4)
        check(literals < 1 << 16, "more literals than readers of LZ4s keep")
        out += block[at:at + literals]
        at += literals
        if at == len(block):
            break
        offset, at = int.from_bytes(block[at:at + 2], "little"), at + 2
        code = number(token & 15)
        if code:
            check(0 < offset <= min(len(out), 1 << 15) and code + 2 < 1 << 16, f"a match of {code + 2} from {offset}")
            while code + 2 > 0:
                part = out[-offset:][:code + 2]
                out += part
                code -= len(part)
    return bytes(out)


def lz4s_alone(side: Side, file: Path) -> str:
    """LZ4s, which is compressed to alone: another program makes Zstandard from it."""
    plain = file.read_bytes()
    if len(plain) < THRESHOLD:
        return "QATzip's own software has no LZ4s"
    (side.work / "f").write_bytes(plain)
    counters = side.run("qzip -k -O lz4s -A lz4s -o packed f")
    packed = next(p for p in side.work.iterdir() if p.name.startswith("packed")).read_bytes()
    check(total(counters, "bytes into compression") == len(plain), f"{counters}")
    check(judge("lz4s", packed) == plain, "what LZ4s decodes to is not the file")
    return f"{len(packed)} bytes"


def there_and_back(side: Side, file: Path, fmt: str) -> str:
    plain = file.read_bytes()
    for old in side.work.iterdir():
        old.unlink()
    name = file.name
    (side.work / name).write_bytes(plain)
    algorithm = " -A lz4" if fmt == "lz4" else ""
    counters = side.run(f"qzip -k -O {fmt}{algorithm} -o packed '{name}'")
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
    # 7z keeps the name. QATzip 1.3.1 frees a pointer there that it has not set (valgrind says so), and ends by a signal
    # where malloc's memory happens to have something in it: so it gets zeros.
    output = "" if fmt == "7z" else f"-O {fmt} -o '{name}'"
    zeros = "MALLOC_PERTURB_=255 " if fmt == "7z" else ""
    counters = side.run(f"{zeros}qzip -d -k {output}{algorithm} '{packed_file.name}'")
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
    """QATzip's own test, which compares (not LZ4s, which it cannot read); with its software turned off (-B 0)."""
    compares = "" if "lz4s" in options else "-v"
    ran = side.run(f"qatzip-test -m 4 -B 0 -l 2 {compares} {options} >said 2>&1; status=$?; cat said; exit $status")
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


# openssl's name of an algorithm, its line in what `speed -mr` prints, and our counter.
SPEEDS = [("rsa2048", "+F2", "RSA private operations"), ("ecdsap256", "+F4", "ECDSA signatures")]


def speed(side: Side, algorithm: str, line: str, counter: str) -> str:
    """openssl speed's signatures in 36 jobs, a second of them and a second of verifications."""
    counters = side.run(f"timeout 60 openssl speed -engine qatengine -elapsed -async_jobs 36 -seconds 1 -mr {algorithm} "
                        ">speed 2>said || { cat said; false; }")
    # +F2:number:2048:signatures a second:verifications a second.
    found = [text.split(":") for text in (side.work / "speed").read_text().splitlines()]
    per = [float(fields[3]) for fields in found if fields[0] == line]
    check(len(per) == 1 and per[0] >= 1, f"no speed: {found}")
    # The engine's own software would be as many signatures that we have not counted.
    check(total(counters, counter) >= per[0] / 2, f"{per[0]:.0f} signatures a second, of ours only {counters}")
    return f"{per[0]:.0f} signatures a second; {counted(counters, counter)}"


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
    """A server with qatengine, and a client without.

    The curve is named: of X25519 with ML-KEM, the default, openssl makes nothing once an engine has taken X25519
    ("operation not supported for this keytype"), with any library.
    """
    make_key(side, kind)
    # A port of the system's choice, which it says before it listens there; the pipe keeps its input open until the
    # client has gone.
    os.mkfifo(side.work / "open")
    serve = (f"timeout 20 openssl s_server -engine qatengine {how} -accept 127.0.0.1:0 -cert cert -key key "
             f"-{version} -groups P-256 -naccept 1 <open >server 2>&1")
    ask = ("for n in $(seq 100); do sleep 0.05; port=$(sed -n 's/^ACCEPT.*:\\([0-9]\\)/\\1/p' server | head -1); "
           "[ -n \"$port\" ] || continue; (echo hello; sleep 0.5) | env -u LD_LIBRARY_PATH "
           f"timeout 20 openssl s_client -connect 127.0.0.1:$port -CAfile cert -verify_return_error -{version} "
           "-groups P-256 >client 2>&1; status=$?; grep -q 'Connection refused' client || break; done")
    counters = side.run(f"touch server client; {{ {serve}; }} & server=$!; exec 9>open; {ask}; exec 9>&-; "
                        "wait $server || status=$?; cat client server; exit $status")
    client, server = ((side.work / name).read_text(errors="replace") for name in ("client", "server"))
    spoken = "TLSv1.2" if version == "tls1_2" else "TLSv1.3"
    check(f"New, {spoken}, Cipher is" in client and "Verify return code: 0 (ok)" in client, client + server)
    check("hello" in server.splitlines(), f"the server has not read what the client wrote:\n{server}")
    return counted(counters, SIGNS[kind], "EC multiplications")


# The tests of cpa_sample_code, by the bits of runTests, and what each must have had us do. Not runStateful=1: it verifies
# compressions of stateful sessions, which README.md has among what is not there.
SAMPLES = {
    1: ["symmetric requests"],
    2: ["RSA private operations"],
    4: ["DSA signatures", "DSA verifications"],
    8: ["ECDSA signatures", "ECDSA verifications"],
    16: ["Diffie-Hellman public values", "Diffie-Hellman secrets"],
    32: ["compressions", "decompressions", "compressions verified"],
    # Not in the manual: chains of a hash and compression.
    128: ["compressions", "compressions verified"],
    1024: ["SM2 signatures", "SM2 verifications", "SM2 encryptions", "SM2 decryptions"],
    2048: ["symmetric requests"],
}
# It sleeps a second before each kind of request: these have so many kinds that they take longer than all the rest.
SLOW_SAMPLES = [1]


def samples(side: Side, masks: list[int]) -> str:
    """Tests of cpa_sample_code, all at once, since they mostly sleep; few requests of each kind."""
    # The file that it compresses is not in the package.
    corpus = side.tree / "usr/share/qat/calgary32"
    corpus.parent.mkdir(exist_ok=True)
    corpus.write_bytes("".join(f"line {n} of {n * n % 977}\n" for n in range(15_000)).encode())
    began = time.monotonic()
    # Each in a folder of its own, where it leaves files.
    one = ("mkdir $mask; cd $mask; LOOKASIDE_QAT_STATISTICS=$PWD/counters timeout 400 cpa_sample_code signOfLife=1 "
           "runTests=$mask >said 2>&1; echo $? >status")
    side.run(f"export LOOKASIDE_QAT_CY_INSTANCES=1 LOOKASIDE_QAT_DC_INSTANCES=1; "
             f"for mask in {' '.join(map(str, masks))}; do ({one}) & done; wait")
    return "; ".join(sample(side.work / str(mask), mask) for mask in masks) + f"; {time.monotonic() - began:.0f} s"


def sample(folder: Path, mask: int) -> str:
    said = (folder / "said").read_text(errors="replace")
    check((folder / "status").read_text().strip() == "0" and "Sample code completed successfully." in said,
          f"runTests={mask}:\n{said[-3000:]}")
    wrong = [line for line in said.splitlines() if "FAILED" in line or "Failed" in line or "allocation error" in line]
    check(not wrong, f"runTests={mask}: {wrong[:3]}")
    numbers = {kind: [int(n) for n in re.findall(rf"Total {kind}\s+(\d+)", said)]
               for kind in ("Submissions", "Responses")}
    check(bool(numbers["Responses"]) and min(numbers["Responses"]) > 0, f"runTests={mask} without answers: {numbers}")
    # Compression does not print submissions.
    check(mask in (32, 128) or numbers["Submissions"] == numbers["Responses"], f"runTests={mask}, answers lack: {numbers}")
    counters = [json.loads(line) for line in (folder / "counters").read_text().splitlines()]
    failures = [name for line in counters for name in line if "failed" in name]
    check(not failures, f"runTests={mask}: {counters}")
    return f"{mask}: {len(numbers['Responses'])} kinds, {counted(counters, *SAMPLES[mask])}"


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
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    if not shutil.which("lz4"):
        skip("no lz4, which judges (the Debian package of that name)")
    make_tree(args.tree.absolute(), PACKAGES)
    tree = args.tree.resolve()
    failures = count = 0
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory(dir=tree / "tmp") as work:
        files = [p for folder in args.files for p in sorted(folder.iterdir()) if p.is_file()]
        files = files or inputs(Path(made))
        side = Side(tree, args.libqat, args.libusdm, Path(work))
        checks = [(f"{fmt}, {p.name}", lambda p=p, fmt=fmt: there_and_back(side, p, fmt))
                  for fmt in FORMATS for p in files]
        checks += [(f"lz4s, {p.name}", lambda p=p: lz4s_alone(side, p)) for p in files]
        text = next((p for p in files if p.name in ("text", "book1")), files[0])
        checks += [("levels and codes", lambda: levels(side, text)),
                   ("without our library", lambda: without_us(side, text))]
        tests = [f"-t 2 -O {fmt} -D {way}" for fmt in ("gzip", "gzipext") for way in ("comp", "decomp", "both")]
        tests += [f"-t 2 -O zlib -b 65536 -C 65536 -D {way}" for way in ("comp", "decomp", "both")]
        tests += [f"-t 2 -A lz4 -O lz4 -D {way}" for way in ("comp", "decomp", "both")]
        tests += ["-t 2 -A lz4 -O lz4 -L 9 -C 131072", "-t 4 -A lz4 -O lz4 -P busy", "-t 2 -A lz4s -O lz4s -D comp"]
        tests += [f"-t 2 -T {codes} -L {level}" for codes in ("static", "dynamic") for level in (1, 6, 9)]
        tests += ["-t 8 -P busy", "-t 64", "-a", f"-t 2 -M svm -i {side.path(side.work)}/f", "-r 4 -C 131072"]
        checks += [(f"qatzip-test {test}", lambda t=test: qatzip_test(side, t)) for test in tests]
        checks += [(f"{n} processes at once", lambda n=n: together(side, text, n)) for n in (2, 64)]
        checks += [(f"openssl speed {row[0]}, qatengine", lambda r=row: speed(side, *r)) for row in SPEEDS]
        checks += [(f"openssl dgst, qatengine, {kind}", lambda k=kind: signature(side, k)) for kind in KEYS]
        checks += [(f"openssl s_server, qatengine, {kind} {version} {how}".rstrip(),
                    lambda k=kind, v=version, h=how: handshake(side, k, v, h))
                   for kind in KEYS for version in ("tls1_2", "tls1_3") for how in ("", "-async")]
        masks = [mask for mask in SAMPLES if args.all or mask not in SLOW_SAMPLES]
        checks += [("cpa_sample_code", lambda: samples(side, masks))]
        for name, one in checks:
            for old in side.work.iterdir():
                shutil.rmtree(old) if old.is_dir() else old.unlink()
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
