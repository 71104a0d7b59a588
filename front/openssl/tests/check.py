"""What the tests with real programs share: running OpenSSL with and without the provider, and one
line for each check."""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / folder) for folder in ("bench/openssl", "scripts")]

import openssl_conf  # noqa: E402  (found by the line above)
import patient  # noqa: E402


# How many checks run at a time where they mostly wait: with -async, s_server's answers to requests
# sleep a second for each pause.
AT_A_TIME = 8


class Failed(Exception):
    """A check did not hold; the text says how."""


class Side:
    """An OpenSSL: ours, with the provider first, or plain."""

    def __init__(self, name: str, env: dict[str, str]):
        self.name = name
        self.env = env

    def run(self, *args, data: bytes | None = None, timeout: float = 60):
        """Runs `openssl`; whatever comes of it."""
        return patient.run(
            ["openssl", *map(str, args)], env=self.env, input=data if data is not None else b"",
            capture_output=True, timeout=timeout,
        )

    def ok(self, *args, data: bytes | None = None, timeout: float = 60) -> bytes:
        """Runs `openssl`; its output, or a failed check."""
        ran = self.run(*args, data=data, timeout=timeout)
        if ran.returncode:
            raise Failed(self.said(args, ran))
        return ran.stdout

    def refuses(self, *args, data: bytes | None = None) -> None:
        """Runs `openssl`, which has to end with an error and not by a signal."""
        ran = self.run(*args, data=data)
        if ran.returncode <= 0:
            raise Failed("should have failed: " + self.said(args, ran))

    def said(self, args, ran) -> str:
        """A command with its outcome."""
        command = " ".join(["openssl", *map(str, args)])
        tail = (ran.stdout[-300:] + b"\n" + ran.stderr[-1200:]).decode(errors="replace").strip()
        return f"({self.name}) {command}\nexit status {ran.returncode}\n{tail}"


class Checks:
    """The checks so far."""

    def __init__(self):
        self.passed = 0
        self.failed: list[str] = []

    def run(self, name: str, check, *args) -> None:
        """Makes one check and prints its line."""
        self.tell(name, *outcome(check, *args))

    def side_by_side(self, threads: int, several: list[tuple]) -> None:
        """Makes checks that share nothing, each the arguments of `run`, so many at a time; prints
        their lines in the order given."""
        with ThreadPoolExecutor(threads) as pool:
            outcomes = pool.map(lambda one: outcome(*one[1:]), several)
            for one, (good, said) in zip(several, outcomes, strict=True):
                self.tell(one[0], good, said)

    def tell(self, name: str, good: bool, said: str) -> None:
        """Counts a check and prints its line."""
        if good:
            self.passed += 1
            print(f"ok      {name}" + (f": {said}" if said else ""), flush=True)
        else:
            self.failed.append(name)
            print(f"FAILED  {name}\n        " + said.replace("\n", "\n        "), flush=True)

    def summary(self) -> int:
        """Prints it; the exit status."""
        print(f"\n{self.passed} passed, {len(self.failed)} failed")
        for name in self.failed:
            print(f"  FAILED  {name}")
        return 1 if self.failed else 0


def outcome(check, *args) -> tuple[bool, str]:
    """Makes a check: whether it held, and what there is to say."""
    try:
        return True, check(*args) or ""
    except (Failed, subprocess.TimeoutExpired, OSError, SystemExit) as why:
        return False, str(why)


def equal(ours: bytes, plain: bytes, what: str) -> None:
    """Fails where the two sides differ."""
    if ours != plain:
        raise Failed(f"{what} differ:\n{ours[:400]!r}\n{plain[:400]!r}")


def folder() -> tempfile.TemporaryDirectory:
    """A place for the files of a run."""
    return tempfile.TemporaryDirectory(prefix="lookaside-openssl-")


def counted_side(path: Path, provider: openssl_conf.Provider) -> tuple[Side, Path | None]:
    """Ours again, with a file of its own in a new folder for what its programs count; with plain
    OpenSSL there is none."""
    path.mkdir()
    statistics = path / "statistics" if provider.module else None
    settings = [*provider.settings, f"statistics = {statistics}"]
    counting = openssl_conf.Provider(provider.module, settings)
    return Side("ours", counting.environment(path / "ours.cnf")), statistics


def sides(path: Path, provider: openssl_conf.Provider) -> tuple[Side, Side]:
    """Ours and plain; without a module both are plain."""
    plain = openssl_conf.Provider().environment(path / "plain.cnf")
    ours = provider.environment(path / "ours.cnf")
    if provider.module:
        openssl_conf.demand(ours)
    return Side("ours", ours), Side("plain", plain)
