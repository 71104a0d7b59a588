#!/usr/bin/env python3
"""OpenSSL's own test programs with our provider preferred, beside plain OpenSSL.

run.py --source DIR --programs DIR --provider FILE [--known FILE] [--only TEXT]

Both sides run the same programs, which `build` has linked with the system's libcrypto and libssl.
A case that passes with plain OpenSSL and fails with our provider is a difference. Each must stand in
the list of known differences, with its reason; a line of the list that no longer is a difference is
an error as well.

A case of evp_test is a stanza of its data: named by the file and by a digest of the stanza, which
stays when lines move. A case of the other programs is a line of their TAP output.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

PLAIN_CONF = """\
config_diagnostics = 1
openssl_conf = openssl_init
[openssl_init]
providers = providers
[providers]
default = default_provider
legacy = legacy_provider
[default_provider]
activate = 1
[legacy_provider]
activate = 1
"""

OUR_CONF = """\
config_diagnostics = 1
openssl_conf = openssl_init
[openssl_init]
providers = providers
alg_section = algorithms
[algorithms]
default_properties = ?provider=lookaside
[providers]
default = default_provider
legacy = legacy_provider
lookaside = lookaside_provider
[default_provider]
activate = 1
[legacy_provider]
activate = 1
[lookaside_provider]
activate = 1
module = {provider}
# What is tried is ours, on CPUs too where OpenSSL is the faster one.
algorithms = all
"""

# A program that hangs ends with its failure.
TIMEOUT_S = 600


@dataclass
class Outcome:
    """What one side said: cases that passed, cases that failed with what was printed."""

    passed: set = field(default_factory=set)
    failed: dict = field(default_factory=dict)

    def add(self, other: "Outcome") -> None:
        self.passed |= other.passed
        self.failed |= other.failed


class Side:
    """Plain OpenSSL, or OpenSSL with our provider preferred."""

    def __init__(self, args, conf: Path):
        self.source = args.source / "test"
        self.programs = args.programs
        self.conf = conf
        env = {name: value for name, value in os.environ.items() if not name.startswith("OPENSSL")}
        self.env = env | {
            "OPENSSL_CONF": str(conf),
            "TEST_CERTS_DIR": str(self.source / "certs"),
            "CTLOG_FILE": str(self.source / "ct" / "log_list.cnf"),
        }

    def run(self, program: str, *args) -> tuple[int, str]:
        """The exit status and all that is printed."""
        command = [str(self.programs / program), *map(str, args)]
        try:
            ran = subprocess.run(
                command, env=self.env, cwd=self.source, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )
        except subprocess.TimeoutExpired as late:
            return 124, (late.stdout or b"").decode(errors="replace") + f"\n{TIMEOUT_S} s are over"
        return ran.returncode, ran.stdout.decode(errors="replace")

    def tap(self, name: str, program: str, *args) -> Outcome:
        """A program whose cases are lines of TAP."""
        status, said = self.run(program, *args)
        outcome, inside, since = Outcome(), "", []
        for line in said.splitlines():
            result = re.match(r"(\s*)(not )?ok \d+ - (.*?)( # skipped)?$", line)
            if subtest := re.match(r"\s+# Subtest: (\S+)", line):
                inside, since = subtest[1], []
            elif not result:
                since.append(line)
            else:
                title = result[3]
                case = f"{name} {inside} {title}" if title.startswith("iteration") else f"{name} {title}"
                if result[2]:
                    outcome.failed[case] = "\n".join(since)
                elif not result[4]:
                    outcome.passed.add(case)
                since = []
        # The sum of a set of iterations is no case of its own.
        sums = {case.rsplit(" iteration", 1)[0] for case in (*outcome.passed, *outcome.failed)
                if " iteration" in case}
        outcome.passed -= sums
        outcome.failed = {case: why for case, why in outcome.failed.items() if case not in sums}
        if status not in (0, 1) or not (outcome.passed or outcome.failed):
            outcome.failed[f"{name} ended"] = f"status {status}\n" + "\n".join(since[-20:])
        return outcome

    def data(self, path: Path) -> Outcome:
        """A file of evp_test's data. The program gives up at some failures: it runs again without the
        stanza until it comes to the end."""
        lines = path.read_text(encoding="latin-1").split("\n")
        outcome, counted = Outcome(), 0
        with tempfile.TemporaryDirectory() as folder:
            rest = Path(folder) / path.name
            while True:
                rest.write_text("\n".join(lines), encoding="latin-1")
                status, said = self.run("evp_test", "-config", self.conf, rest)
                end = re.search(r"Completed (\d+) tests with (\d+) errors", said)
                found = failures(said, rest, lines)
                fresh = {}
                for (start, last), why in found.items():
                    fresh[case_of(path.name, lines, start, last)] = why
                outcome.failed |= fresh
                if end and int(end[1]) > counted:
                    counted = int(end[1])
                gave_up = [place for place, why in found.items() if why.startswith("gave up")]
                if not gave_up:
                    if status not in (0, 1) or not end or (status and not fresh):
                        outcome.failed[f"evp_test {path.name} ended"] = f"status {status}\n{said[-2000:]}"
                    break
                for start, last in gave_up:
                    lines[start - 1:last] = ["#"] * (last - start + 1)
        outcome.passed = {f"evp_test {path.name} #{n}" for n in range(counted - len(outcome.failed))}
        return outcome


def stanza(lines: list[str], at: int) -> tuple[int, int]:
    """First and last line, from 1, of the stanza around a line."""
    start = last = min(at, len(lines))
    while start > 1 and lines[start - 2] != "":
        start -= 1
    while last < len(lines) and lines[last] != "":
        last += 1
    return start, last


def case_of(name: str, lines: list[str], start: int, last: int) -> str:
    """The name of a stanza."""
    content = [line for line in lines[start - 1:last] if not line.startswith(("#", "Title"))]
    digest = hashlib.sha256("\n".join(content).encode("latin-1")).hexdigest()[:8]
    return f"evp_test {name} {digest}"


def failures(said: str, path: Path, lines: list[str]) -> dict:
    """The stanzas that failed, with what was printed."""
    found, since = {}, []
    for line in said.splitlines():
        text = line.lstrip("# ")
        since.append(text)
        place = None
        if at := re.search(re.escape(str(path)) + r":(\d+)(:?) (.*)", text):
            # `skipping, ...: FILE:LINE` has nothing after it.
            why = at[3] if at[2] else "gave up: " + at[3]
            place = stanza(lines, int(at[1]))
        elif key := re.search(r"Can't read (private|public) key (.*)", text):
            kind = key[1].capitalize() + "Key"
            same = [n for n, l in enumerate(lines, 1) if re.fullmatch(rf"{kind}\s*=\s*{re.escape(key[2])}\s*", l)]
            why = "gave up: " + text
            place = stanza(lines, same[0]) if same else None
        elif at := re.search(r"Line (\d+): (error processing|unknown) keyword (.*)", text):
            why = "gave up: " + text
            place = stanza(lines, int(at[1]) - 1)
        if place:
            found[place] = why + "\n" + "\n".join(since[-30:])
            since = []
        elif re.search(r"Starting \"|Reading ", text):
            since = []
    return found


def work(args, side: Side):
    """What there is to run: names, and what runs it."""
    test = args.source / "test"
    data = sorted((test / "recipes" / "30-test_evp_data").glob("*.txt"), key=lambda f: -f.stat().st_size)
    for path in data:
        yield f"evp_test {path.name}", lambda path=path: side.data(path)
    yield "evp_kdf_test", lambda: side.tap("evp_kdf_test", "evp_kdf_test")
    yield "bad_dtls_test", lambda: side.tap("bad_dtls_test", "bad_dtls_test")
    yield "sslapitest", lambda: side.tap(
        "sslapitest", "sslapitest", test / "certs", test / "recipes/90-test_sslapi_data/passwd.txt",
        side.conf.with_suffix(".session"), "default", side.conf,
        test / "recipes/90-test_sslapi_data/dhparams.pem")
    for path in sorted((test / "ssl-tests").glob("*.cnf")):
        # In the default library context, then in one of its own.
        yield f"ssl_test {path.name}", lambda path=path: side.tap(
            f"ssl_test {path.name}", "ssl_test", path, "none")
        yield f"ssl_test {path.name} own", lambda path=path: side.tap(
            f"ssl_test {path.name} own", "ssl_test", path, "default", side.conf)


def known(path: Path) -> dict[str, str]:
    """The list: a case and its reason in each line."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            case, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{path}:{number}: CASE: REASON")
            rows[case.strip()] = reason.strip()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--provider", type=Path, required=True)
    parser.add_argument("--known", type=Path)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    args = parser.parse_args()
    for name in ("source", "programs", "provider"):
        setattr(args, name, getattr(args, name).resolve())
    with tempfile.TemporaryDirectory() as folder:
        outcomes = {}
        sides = {}
        for name, text in (("plain", PLAIN_CONF), ("ours", OUR_CONF.format(provider=args.provider))):
            conf = Path(folder) / f"{name}.cnf"
            conf.write_text(text)
            sides[name] = Side(args, conf)
            outcomes[name] = Outcome()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            tasks = [(side, pool.submit(task)) for side in sides for name, task in work(args, sides[side])
                     if args.only in name]
            for side, task in tasks:
                outcomes[side].add(task.result())
    plain, ours = outcomes["plain"], outcomes["ours"]
    differences = {case: why for case, why in sorted(ours.failed.items()) if case not in plain.failed}
    better = sorted(set(plain.failed) - set(ours.failed))
    listed = known(args.known) if args.known else {}
    fresh = {case: why for case, why in differences.items() if case not in listed}
    for case, why in fresh.items():
        print(f"--- {case}\n{why}")
    for name, side in outcomes.items():
        print(f"{name}: {len(side.passed)} passed, {len(side.failed)} failed")
    for case in better:
        print(f"fails with plain OpenSSL alone: {case}")
    ran = {case.rsplit(" ", 1)[0] for side in outcomes.values() for case in (*side.passed, *side.failed)}
    gone = [case for case in listed if case not in differences and case.rsplit(" ", 1)[0] in ran]
    for case in gone:
        print(f"listed, but no difference any more: {case}")
    print(f"{len(differences)} differences, {len(fresh)} of them not listed, {len(gone)} listed and gone")
    return 1 if fresh or gone or not ours.passed else 0


if __name__ == "__main__":
    sys.exit(main())
