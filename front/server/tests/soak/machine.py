"""A server of the soak, and what it holds."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "scripts"))

import patient  # noqa: E402  (found by the line above)

# What every process of a soak has in its environment, with a token: so none is overlooked at the end.
MARK = "LOOKASIDE_SOAK"


class Failed(Exception):
    """A check did not hold; its message says which."""


def functions(extra: bool) -> str:
    """The configuration: functions of different services and sizes, and one that comes and goes."""
    text = (
        "engines = 2\n"
        "[all]\narena = 1M\n"
        "[files]\nservices = dc\narena = 8M\ndepth = 16\n"
        "[keys]\nservices = pke kdf sym rng\nweight = 3\n"
    )
    return text + ("[extra]\ndepth = 8\narena = 256K\n" if extra else "")


class Machine:
    """`lookaside serve` in a folder of its own."""

    def __init__(self, command: Path, folder: Path, env: dict[str, str]):
        folder.mkdir()
        self.command, self.folder, self.env = command, folder, env
        self.conf, self.log = folder / "conf", folder / "log"
        self.conf.write_text(functions(extra=True))
        self.process: subprocess.Popen | None = None
        self.starts = 0

    @property
    def pid(self) -> int:
        """Of the process that serves now."""
        return self.process.pid

    def socket(self, name: str) -> Path:
        """Of a virtual function."""
        return self.folder / "sockets" / f"{name}.sock"

    def start(self) -> None:
        """Starts it, whatever the one before has left; returns when it listens."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.command, "serve", "--config", self.conf, "--folder", self.folder / "sockets"],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.starts += 1
        end = time.monotonic() + 30
        while self.log.read_text().count(" virtual functions in ") < self.starts:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"the server does not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.01)

    def end(self, by: signal.Signals) -> None:
        """Ends it by a signal. After SIGTERM its exit status has to be 0, and no socket is left."""
        if (status := self.process.poll()) is not None:
            raise Failed(f"the server ended with {status}:\n{self.log.read_text()[-2000:]}")
        self.process.send_signal(by)
        try:
            status = patient.wait(self.process, 60)
        except patient.TooLate as late:
            raise Failed(f"the server does not end within a minute of {by.name}:\n{late.doing}") from None
        if by == signal.SIGTERM:
            left = [path.name for path in (self.folder / "sockets").iterdir()]
            if status or left:
                raise Failed(f"the server ended with {status}, and left {left}:\n{self.log.read_text()[-2000:]}")

    def reload(self, extra: bool) -> None:
        """Has it read its configuration again, with the function `extra` or without."""
        fresh = self.folder / "conf.new"
        fresh.write_text(functions(extra))
        fresh.rename(self.conf)
        self.process.send_signal(signal.SIGHUP)

    def complaints(self) -> list[str]:
        """Lines of its log that speak of clients that broke a rule, or of itself: honest clients cause none,
        whenever they are killed."""
        wrong = ("cut off", "refused", "panicked", "no ring", "no connection")
        return [line for line in self.log.read_text().splitlines() if any(word in line for word in wrong)]

    def answered(self) -> int:
        """How many requests the one that ended last says it has answered."""
        for line in reversed(self.log.read_text().splitlines()):
            if " requests answered" in line:
                return int(line.split()[-3])
        raise Failed(f"the server does not say what it has answered:\n{self.log.read_text()[-2000:]}")

    def holds(self) -> dict[str, int]:
        """Memory in KB (all of it; its own; shared, as far as it was touched), descriptors, areas, threads."""
        status = dict(line.split(":", 1) for line in
                      Path(f"/proc/{self.pid}/status").read_text().splitlines() if ":" in line)
        number = lambda name: int(status[name].split()[0])  # noqa: E731
        areas = blocks = descriptors = 0
        for fd in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                descriptors += 1
                if "/memfd:" in os.readlink(fd):
                    areas += 1
                    blocks += fd.stat().st_blocks
            except FileNotFoundError:
                pass
        return {"rss": number("VmRSS"), "own": number("RssAnon"), "shared": blocks // 2,
                "descriptors": descriptors, "areas": areas, "threads": number("Threads")}

    def open_files(self) -> dict[str, int]:
        """Its descriptors by what they are."""
        found: dict[str, int] = {}
        for fd in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                kind = os.readlink(fd).split(":[")[0]
                found[kind] = found.get(kind, 0) + 1
            except FileNotFoundError:
                pass
        return found

    def cpu_ms(self) -> float:
        """CPU time of all of its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def marked(token: str) -> dict[int, str]:
    """The processes of this soak that run: their commands."""
    found = {}
    mark = f"{MARK}={token}".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                pass
    return found
