#!/usr/bin/env python3
"""Paper 3's tables 2 to 4 and 6: `openssl speed` with plain OpenSSL, with our provider one operation at a
time, and with our provider and asynchronous jobs.

`openssl speed` divides by its user time: what it spends in select(), once for every turn of its
jobs, is system time and does not count there. Here an operation costs all CPU time, user and
system, that the kernel accounted to the process between the line that announces a measurement and
the line that reports it; the tool's own figure stands beside it. The modes take turns in short
rounds; the verdict is the median of the ratios of each round. `scripts/bench-openssl-speed --help`
tells the options.

`--table` is the quick way over all that the provider offers: the same loops over every cipher, digest and
MAC at the sizes of `openssl speed`, both libraries in turn within one process (`evp_speed.c`). `--starts`
measures what a program's start costs (`starts.c`). `--play CPU` plays a lesser CPU for all of it, OpenSSL
included (`scripts/cap-cpu`). Each way ends with the rows below 0.98.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import openssl_conf
from compare_tls import machine

# A figure below this is named at the end.
BAR = 0.98
ALGORITHMS = ["rsa2048", "rsa3072", "rsa4096", "ecdsap256", "ecdhp256", "ecdhx25519", "ed25519",
              "aes-128-gcm", "aes-128-cbc-hmac-sha1"]
# Those that `openssl speed` knows by this name; all others are ciphers and digests for its -evp.
PUBLIC_KEY = ("rsa", "dsa", "ecdsa", "ecdh", "ed", "sm2", "ffdh")

# The tags of the lines of `openssl speed -mr` that report a count, and what was counted.
COUNTED = {
    "+R1": "sign", "+R2": "verify",  # RSA
    "+R3": "sign", "+R4": "verify",  # DSA
    "+R5": "sign", "+R6": "verify",  # ECDSA
    "+R7": "derive",  # ECDH
    "+R8": "sign", "+R9": "verify",  # EdDSA
    "+R10": "sign", "+R11": "verify",  # SM2
    "+R12": "derive",  # FFDH
}


class Mode:
    """A line of a table."""

    def __init__(self, name: str, env: dict[str, str], jobs: int):
        self.name = name
        self.env = env
        self.jobs = jobs

    def options(self) -> list[str]:
        """What it adds to the command."""
        return ["-async_jobs", str(self.jobs)] if self.jobs else []


def arguments() -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(
        prog="scripts/bench-openssl-speed", description=__doc__.split("\n\n")[0])
    words = lambda text: text.split(",")
    p.add_argument("--provider", type=Path, help="the provider's module (plain OpenSSL only)")
    p.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
                   help="a line of the provider's section in openssl.cnf")
    p.add_argument("--out", type=Path, required=True, help="where the configurations go")
    p.add_argument("--algorithms", type=words, default=ALGORITHMS)
    p.add_argument("--jobs", type=lambda text: [int(n) for n in text.split(",")],
                   default=[1, 2, 4, 8, 36, 75])
    p.add_argument("--seconds", type=int, default=1, help="of each measurement")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--cpu", type=int, help="where openssl speed runs")
    p.add_argument("--play", metavar="CPU", help="a lesser CPU of scripts/cap-cpu, zen3 for example")
    p.add_argument("--bytes", type=int, help="one size of texts instead of all")
    p.add_argument("--table", nargs="*", metavar="NAME",
                   help="every cipher, digest and MAC (whose name has NAME in it), in one process")
    p.add_argument("--starts", type=int, metavar="N", help="N starts of programs with and without")
    return p.parse_args()


def process_cpu_ns(pid: int) -> int:
    """CPU time of a process so far; the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def what(algorithm: str) -> list[str]:
    """How `openssl speed` is given an algorithm; `decrypt:NAME` and `hmac:NAME` are ways to use one."""
    if algorithm.startswith("decrypt:"):
        return ["-decrypt", "-evp", algorithm.removeprefix("decrypt:")]
    if algorithm.startswith("hmac:"):
        return ["-hmac", algorithm.removeprefix("hmac:")]
    return [algorithm] if algorithm.startswith(PUBLIC_KEY) else ["-evp", algorithm]


def play(o) -> list[str]:
    """What a command begins with, to see the CPU that is played."""
    return [str(Path(__file__).parents[2] / "scripts/cap-cpu"), o.play] if o.play else []


def built(o, name: str) -> str:
    """A program of this folder."""
    program = o.out.resolve() / name
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-o", program, source, "-lcrypto"], check=True)
    return str(program)


def whole_table(o, listed: list[Mode]) -> int:
    """The loops of `openssl speed` in one process; its exit status."""
    conf = listed[1].env["OPENSSL_CONF"]
    command = ["taskset", "-c", str(o.cpu), built(o, "evp_speed"), "-b", str(BAR)]
    command += ["-r", str(max(3, 4 * o.rounds)), conf, *o.table]
    return subprocess.run([*play(o), *command], check=False).returncode


def starts(o, listed: list[Mode]) -> None:
    """What a program's start costs."""
    without, with_ours = (mode.env["OPENSSL_CONF"] for mode in listed[:2])
    program = built(o, "starts")
    for command in (["list", "-providers"], ["dgst", "-sha256", __file__]):
        print(f"\nopenssl {' '.join(command[:2])}", flush=True)
        subprocess.run([*play(o), "taskset", "-c", str(o.cpu), program, str(o.starts), without,
                        with_ours, "openssl", *command], check=True)


def speed(o, mode: Mode, algorithm: str) -> dict[str, tuple[float, float]]:
    """One run: for each operation the rate per CPU-second, and the tool's own."""
    command = ["openssl", "speed", "-mr", "-seconds", str(o.seconds), *mode.options()]
    command += ["-bytes", str(o.bytes)] if o.bytes else []
    command += what(algorithm)
    process = subprocess.Popen(
        [*play(o), "taskset", "-c", str(o.cpu), *command], env=mode.env, text=True, bufsize=1,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )
    rates, said, began, size = {}, [], None, ""
    for line in process.stderr:
        now = process_cpu_ns(process.pid)
        said.append(line)
        tag, *fields = line.strip().split(":")
        if tag in ("+DTP", "+DNTP"):
            began = now
        elif tag == "+DT":
            # The name, the seconds, the bytes of a text.
            began, size = now, fields[-1] + " B"
        elif tag == "+R" and began is not None:
            count, seconds = int(fields[0]), float(fields[-1])
            if count > 0:
                rates[size] = (count / ((now - began) / 1e9), count / max(seconds, 0.01))
            began = None
        elif tag in COUNTED and began is not None:
            count, seconds = int(fields[0]), float(fields[-1])
            if count > 0:
                rates[COUNTED[tag]] = (count / ((now - began) / 1e9), count / max(seconds, 0.01))
            began = None
    if process.wait() or not rates:
        raise SystemExit(f"{' '.join(command)} ({mode.name}):\n{''.join(said)}")
    return rates


def modes(o) -> list[Mode]:
    """Software first: it is what the others are compared with."""
    o.out.mkdir(parents=True, exist_ok=True)
    plain = openssl_conf.Provider().environment(o.out.resolve() / "software.cnf")
    listed = [Mode("software", plain, 0)]
    if not o.provider:
        # What the tool's own asynchronous loop costs when nothing ever pauses.
        return listed + [Mode("software", plain, jobs) for jobs in o.jobs]
    ours = openssl_conf.Provider(o.provider.resolve(strict=True), o.setting)
    env = ours.environment(o.out.resolve() / "lookaside.cnf")
    openssl_conf.demand(env)
    listed.append(Mode("sync", env, 0))
    return listed + [Mode("async", env, jobs) for jobs in o.jobs]


def table(algorithm: str, seconds: int, listed: list[Mode], rounds: list[list[dict]]) -> list[str]:
    """Prints the table of one algorithm; where ours is slower than software, for people to read."""
    missed = []
    operations = list(rounds[0][0])
    head = f"{'mode':9} {'command':66}"
    for operation in operations:
        head += f" {operation + '/s':>10} {'x':>6} {'least':>6} {'own/s':>10}"
    print(f"\n{algorithm}\n{head}")
    for at, mode in enumerate(listed):
        command = ["openssl speed -seconds", str(seconds), *mode.options(), *what(algorithm)]
        command = " ".join(command)
        line = f"{mode.name:9} {command:66}"
        for operation in operations:
            mine = [runs[at][operation] for runs in rounds]
            ratios = [runs[at][operation][0] / runs[0][operation][0] for runs in rounds]
            line += (
                f" {statistics.median(m[0] for m in mine):10.1f} {statistics.median(ratios):6.2f}"
                f" {min(ratios):6.2f} {statistics.median(m[1] for m in mine):10.1f}"
            )
            if mode.name != "software" and statistics.median(ratios) < BAR:
                missed.append(f"missed: {' '.join([mode.name, *mode.options()])}, {algorithm} "
                              f"{operation}: {statistics.median(ratios):.3f} times software, "
                              f"not {BAR}")
        print(line, flush=True)
    return missed


def main() -> int:
    """Measures and prints; the exit status."""
    o = arguments()
    cpus = sorted(os.sched_getaffinity(0))
    if o.cpu is None:
        o.cpu = cpus[0]
    # What reads the lines must not wait behind what writes them.
    os.sched_setaffinity(0, set(cpus) - {o.cpu} or set(cpus))
    if os.geteuid() == 0:
        os.nice(-10)
    listed = modes(o)
    print(f"{machine()}; {openssl_conf.version()}; {o.rounds} rounds of {o.seconds} s in turn")
    print("/s: medians, per second of user and system time; x: times software, median and least of")
    print("the rounds; own/s: the tool's own figure, per second of user time.")
    if o.starts:
        starts(o, listed)
        return 0
    if o.table is not None:
        return whole_table(o, listed)
    missed = []
    for algorithm in o.algorithms:
        rounds = []
        for _ in range(o.rounds):
            rounds.append([speed(o, mode, algorithm) for mode in listed])
        missed += table(algorithm, o.seconds, listed, rounds)
    print("\n" + "\n".join(missed or [f"goals: nothing below {BAR} times software"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
