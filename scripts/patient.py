"""Programs that tests wait for, within a time that counts only while this machine runs: a virtual machine may stop for
minutes, and its clocks have gone on when it does. What is too late says what it was doing."""

import subprocess
import threading
from pathlib import Path

TICK_S = 0.1


class TooLate(subprocess.TimeoutExpired):
    """As its base, with what the processes were doing."""

    def __init__(self, command, seconds: float, doing: str):
        super().__init__(command, seconds)
        self.doing = doing

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.doing}"


def run(command, *, timeout: float, input=None, capture_output=False, beside=(), **more) -> subprocess.CompletedProcess:
    """`subprocess.run` without `check`. Should it be too late, also tells what the processes `beside` were doing."""
    if capture_output:
        more.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with subprocess.Popen(command, **more) as process:
        try:
            out, err = communicate(process, timeout, input, beside)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def communicate(process: subprocess.Popen, seconds: float, data=None, beside=()):
    """`process.communicate`."""
    said: list = []
    thread = threading.Thread(target=lambda: said.append(process.communicate(data)), daemon=True)
    thread.start()
    return in_time(process, seconds, lambda tick: thread.join(tick) or (said and said[0]), beside)


def wait(process: subprocess.Popen, seconds: float) -> int:
    """`process.wait`."""

    def ended(tick: float):
        try:
            process.wait(tick)
        except subprocess.TimeoutExpired:
            return None
        return (process.returncode,)

    return in_time(process, seconds, ended)[0]


def in_time(process: subprocess.Popen, seconds: float, result, beside=()):
    for _ in range(int(seconds / TICK_S)):
        if found := result(TICK_S):
            return found
    doing = "\n".join(text for one in (process, *beside) for text in what_it_does(one.pid))
    raise TooLate(process.args, seconds, doing)


def what_it_does(pid: int) -> list[str]:
    """A line for each thread: its state, its processor time in ticks, the system call that it is in."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            name, state = (task / "stat").read_text().rsplit(")", 1)
            fields = state.split()
            call = (task / "syscall").read_text().strip()
            stack = (task / "stack").read_text().replace("\n", " ")
        except OSError as why:
            call, stack = str(why), ""
        found.append(f"{name}) {fields[0]}, {fields[11]} + {fields[12]} ticks, in {call} {stack}".rstrip())
    return found or [f"{pid}: gone"]
