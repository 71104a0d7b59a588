#!/usr/bin/env python3
"""Rules that programs of Debian come with, on real input: ours beside Hyperscan and Vectorscan.

  real.py --bench PROGRAM --out DIR [--rival LIBRARY]... [--input FOLDER] [--rounds N] [--cpu N] [--megabytes N]
          [--explain] [SET...]

Each set is what a package has, with every expression that all libraries take; a match ends an expression's search in a
block or stream, as in Suricata and rspamd (flag H).

crs-lists   the strings of the package modsecurity-crs in either case, as Suricata looks for contents
crs         its regular expressions
spam-body   SpamAssassin's for bodies; spam-header: for headers
rspamd      rspamd's, which its package has in Lua
logcheck    what logcheck leaves out of logs (package logcheck-database): long, anchored at lines
agents      user agents (package uap-core)

http is the packets of requests and answers as front/hyperscan/tests/suricata.py captures them (by root only); text is
documents and manual pages, system programs and libraries, logs are those of this system and of fail2ban's tests, agents
the user agents of uap-core's tests, xml the files of --input. Files come in pieces of 4,096 bytes.
Writes DIR/real.md."""

import argparse
import csv
import gzip
import importlib.machinery
import importlib.util
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("others_zlib", str(ROOT / "front/zlib/tests/others"))
others = importlib.util.module_from_spec(importlib.util.spec_from_loader("others_zlib", loader))
loader.exec_module(others)

PACKAGES = ["modsecurity-crs", "spamassassin", "rspamd", "logcheck-database", "uap-core", "fail2ban"]
# Each set with the inputs that it is for.
SETS = {
    "crs-lists": ["http", "system", "xml"], "crs": ["http", "text"], "spam-body": ["text", "xml"],
    "spam-header": ["text"], "rspamd": ["text"], "logcheck": ["logs"], "agents": ["agents"],
}
PIECE = 4096


def perl(text: str) -> "tuple[str, str] | None":
    """The expression and its flags of `/.../i`, `m{...}` and the like."""
    match = re.match(r"m?([/|%=@!#,~{])(.*)([/|%=@!#,~}])([a-zA-Z]*)(?:\{\w+\})?([a-z]*)", text)
    if not match or match[3] != match[1].replace("{", "}"):
        return None
    return match[2].replace("\\/", "/"), "".join(c for c in "ism" if c in match[4] + match[5])


def sa(root: Path, kinds: str):
    for file in sorted((root / "usr/share/spamassassin").glob("*.cf")):
        for line in file.read_text(errors="replace").splitlines():
            found = re.match(rf"\s*(?:{kinds})\s+(?:!?[\w:-]+\s+=~\s+|\w+\s+)+(.*)", line)
            if found and (one := perl(found[1])):
                yield one


def crs_lists(root: Path):
    for file in sorted((root / "usr/share/modsecurity-crs/rules").glob("*.data")):
        for line in file.read_text("latin1").splitlines():
            if len(line.strip()) > 2 and not line.startswith("#"):
                yield re.sub(r"[^A-Za-z0-9]", lambda m: f"\\x{ord(m[0]):02x}", line.strip()), "i"


def crs(root: Path):
    for file in sorted((root / "usr/share/modsecurity-crs/rules").glob("*.conf")):
        # The first files are about the rules themselves.
        if re.search(r"-90\d", file.name):
            continue
        for found in re.findall(r'"@rx ((?:[^"\\]|\\.)*)"', file.read_text()):
            yield found.replace('\\"', '"'), "s"


def rspamd(root: Path):
    for file in sorted((root / "usr/share/rspamd/rules").rglob("*.lua")):
        for found in re.findall(r"re\w* = \[\[(/.*?)\]\]|= '([\w-]*=?/(?:[^'\\]|\\.)+/\w*(?:\{\w+\})?\w*)'", file.read_text()):
            one = perl(re.sub(r"^[\w-]*=", "", found[0] or found[1].replace("\\\\", "\\")))
            if one:
                yield one


def logcheck(root: Path):
    for file in sorted((root / "etc/logcheck").rglob("*")):
        if file.is_file() and "ignore.d" in str(file):
            for line in file.read_text("latin1").splitlines():
                if line.startswith("^"):
                    yield line, "m"


def agents(root: Path):
    for found in re.findall(r"^ +- regex: '(.*)'", (root / "usr/share/uap-core/regexes.yaml").read_text(), re.M):
        yield found.replace("''", "'"), ""


EXPRESSIONS = {
    "crs-lists": crs_lists, "crs": crs, "spam-body": lambda root: sa(root, "body|rawbody|full|uri"),
    "spam-header": lambda root: sa(root, "header"), "rspamd": rspamd, "logcheck": logcheck,
    "agents": agents,
}


def write_patterns(root: Path, name: str, file: Path) -> None:
    """A pattern a line, each once; without those that have no place in a line."""
    found = dict.fromkeys((regex, flags) for regex, flags in EXPRESSIONS[name](root)
                          if regex and "\n" not in regex and regex.isascii())
    file.write_text("".join(f"{n}:/{regex}/{flags}H\n" for n, (regex, flags) in enumerate(found, 1)))


def pieces(files, limit: int):
    """Records of a flow for each file."""
    size = 0
    for flow, file in enumerate(files):
        try:
            data = gzip.open(file).read() if file.suffix == ".gz" else file.read_bytes()
        except OSError:
            continue
        for at in range(0, min(len(data), 1 << 19), PIECE):
            yield flow, data[at:at + PIECE]
        size += min(len(data), 1 << 19)
        if size > limit:
            return


def spread(folders, pattern="*"):
    """The files of folders, one of each in turn, so that a part of them is of all kinds."""
    lists = [[p for p in sorted(Path(folder).rglob(pattern)) if p.is_file() and not p.is_symlink()] for folder in folders]
    for number in range(max(map(len, lists), default=0)):
        yield from (one[number] for one in lists if number < len(one))


def packets(capture: Path, limit: int):
    """The payloads of TCP of a capture from the loopback, a flow for each direction of a connection."""
    data, at, flows, size = capture.read_bytes(), 24, {}, 0
    while at < len(data) and size < limit:
        length = int.from_bytes(data[at + 8:at + 12], "little")
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        if frame[12:14] != b"\x08\0" or frame[23] != 6:
            continue
        ip = frame[14:14 + int.from_bytes(frame[16:18], "big")]
        start = (ip[0] & 15) * 4
        payload = ip[start + (ip[start + 12] >> 4) * 4:]
        if payload:
            size += len(payload)
            yield flows.setdefault(ip[start:start + 4], len(flows)), payload


def http(root: Path, limit: int):
    if os.geteuid() != 0:
        raise others.Missing("a capture is made by root")
    with tempfile.TemporaryDirectory(prefix="lookaside-real-") as path:
        made = subprocess.run(
            ["unshare", "--net", sys.executable, ROOT / "front/hyperscan/tests/suricata.py", "-", "--tree", root,
             "--inside", "capture", "--work", path, "--megabytes", str(8 * limit >> 20)],
            capture_output=True, text=True, check=False)
        if made.returncode:
            raise others.Missing(f"no capture: {made.stderr[-300:]}")
        # The requests that trip rules come first: more than they, so that ordinary answers are there too.
        yield from packets(Path(path) / "traffic.pcap", 8 * limit)


def user_agents(root: Path, limit: int):
    size = 0
    for file in sorted((root / "usr/share/uap-core/tests").glob("*.yaml")):
        for flow, found in enumerate(re.findall(r"user_agent_string: ?['\"](.*)['\"]", file.read_text())):
            size += len(found)
            if size < limit:
                yield flow % 256, found.encode()


def records(root: Path, name: str, limit: int, given):
    if name == "http":
        return http(root, limit)
    if name == "agents":
        return user_agents(root, limit)
    if name == "xml":
        if given is None:
            raise others.Missing("no --input")
        return pieces(spread([given]), limit)
    folders = {
        "text": ["/usr/share/doc", "/usr/share/man/man1", "/usr/share/common-licenses", "/usr/share/perl"],
        "system": ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/python3", "/usr/share/perl", "/usr/include"],
        "logs": ["/var/log", root / "usr/lib/python3/dist-packages/fail2ban/tests/files/logs"],
    }[name]
    return pieces(spread(folders), limit)


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", required=True), p.add_argument("--out", type=Path, required=True)
    p.add_argument("--rival", action="append", default=[]), p.add_argument("--input", type=Path)
    p.add_argument("--rounds", type=int, default=7), p.add_argument("--cpu", type=int)
    p.add_argument("--megabytes", type=int, default=1), p.add_argument("--explain", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    folder = a.out / "real"
    folder.mkdir(parents=True, exist_ok=True)
    root = others.Archive((a.out / "archive").resolve()).unpacked(PACKAGES)
    sets = []
    for name in a.names or SETS:
        write_patterns(root, name, folder / f"{name}.pat")
        for input_name in SETS[name]:
            file, both = folder / f"{input_name}.input", f"{name}.{input_name}"
            try:
                if not file.exists():
                    made = b"".join(struct.pack("<II", flow, len(data)) + data
                                    for flow, data in records(root, input_name, a.megabytes << 20, a.input))
                    file.write_bytes(made)
            except others.Missing as why:
                print(f"{both}: {why}")
                continue
            for kind, target in (("pat", f"{name}.pat"), ("in", file.name)):
                (folder / f"{both}.{kind}").unlink(missing_ok=True)
                (folder / f"{both}.{kind}").symlink_to(target)
            sets.append(both)
    rows, failed = [], 0
    for name in sets:
        # A process for each, so that one that fails leaves the others.
        out = folder / f"{name}.csv"
        command = [a.bench, "--rounds", str(a.rounds), "--csv", str(out), "--skip-refused"]
        for rival in a.rival:
            command += ["--rival", rival]
        if a.explain:
            command.append("--explain")
        if a.cpu is not None:
            command = ["taskset", "-c", str(a.cpu), *command]
        failed += subprocess.run([*command, str(folder), name], check=False).returncode != 0
        with out.open() as lines:
            rows += csv.DictReader(lines)
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    rates = {(row["set"], row["mode"], row["library"]): float(row["gbit_per_s"]) for row in rows}
    lines = ["| set.input | mode | " + " | ".join(libraries) + " | ours beside the best |",
             "|---|---|" + "---|" * (len(libraries) + 1)]
    for name, mode in dict.fromkeys((row["set"], row["mode"]) for row in rows):
        # A rival with other matches has no rate.
        own, *rest = [rates.get((name, mode, library)) for library in libraries]
        best = max(filter(None, rest), default=None)
        cells = [f"{rate:.2f}" if rate else "" for rate in (own, *rest)] + [f"{own / best:.2f}" if best else ""]
        lines.append(f"| {name} | {mode} | " + " | ".join(cells) + " |")
    (a.out / "real.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
