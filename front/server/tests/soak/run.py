#!/usr/bin/env python3
"""All front ends by the device of a machine, for a while, with clients and servers that are killed at random instants.

run.py BUILT [--seconds S] [--seed N] [--workers N]

BUILT is the folder of our libraries and programs (scripts/test soak). Two servers run, each with several virtual
functions: one is killed, ended and started again every few seconds; the other lives through the whole run, with its
configuration read again and functions that come and go. Programs as users have them run by either, some are killed,
and what each of the others made is checked by Python, gzip, zstd, lz4 or OpenSSL without Lookaside. In between and at
the end all is quiet for a moment: then the server that lives has to hold what it held before: no area, as many
descriptors and threads, no more memory. At the end no process, socket or file is left.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import MARK, Failed, Machine, marked  # noqa: E402
from programs import JOBS, Built, Files, Place, TlsServer, openssl_conf  # noqa: E402

import servers  # noqa: E402  (programs.py has found bench/openssl)

# KB that engines and the allocator may keep of a loaded time, beyond what they held at the first quiet moment; and so much
# where that came within seconds, before there was a request of every kind (about 30 MB are held in the end).
SLACK = 12_000
SHORT_SLACK = 24_000


class Soak:
    """All of it."""

    def __init__(self, o, work: Path):
        self.o, self.work = o, work
        self.began = time.monotonic()
        self.counts: dict[str, int] = {}
        self.lock = threading.Lock()
        self.failure: str | None = None
        self.ends = threading.Event()
        # Set while programs may be started.
        self.open = threading.Event()
        self.busy = 0
        self.acts = threading.Lock()
        self.samples: list[tuple[float, dict[str, int]]] = []
        self.built = Built(Path(o.built).resolve(), work)
        self.token = f"{os.getpid()}-{o.seed}"
        for name in ("tmp", "run"):
            (work / name).mkdir(mode=0o700)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOOKASIDE_", "OPENSSL_"))}
        self.env = {**kept, MARK: self.token, "TMPDIR": str(work / "tmp"), "XDG_RUNTIME_DIR": str(work / "run")}
        self.files = Files(work / "inputs", random.Random(o.seed))
        self.inputs = work / "inputs"
        self.plain = {**self.env, **openssl_conf.Provider().environment(work / "plain.cnf")}
        openssl_conf.Provider(self.built.provider.resolve()).environment(work / "ours.cnf")
        self.conf = str(work / "ours.cnf")
        openssl_conf.demand({**self.env, "OPENSSL_CONF": self.conf})
        self.certificate = openssl_conf.certificate(work, "RSA-2048")
        self.public = work / "public.pem"
        subprocess.run(["openssl", "pkey", "-in", self.certificate, "-pubout", "-out", self.public], env=self.plain,
                       check=True)
        self.mortal = Machine(self.built.lookaside, work / "mortal", self.env)
        self.lasting = Machine(self.built.lookaside, work / "lasting", {**self.env, "LOOKASIDE_COUNTERS": "1"})
        self.tls: list[TlsServer] = []

    def say(self, text: str) -> None:
        """A line with the time."""
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)

    def count(self, what: str, n: int) -> None:
        """Counts what was done."""
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def guarded(self, work, *args) -> None:
        """Runs a thread's work; what fails there ends the soak."""
        try:
            work(*args)
        except Exception as e:  # noqa: BLE001  (whatever it is, it is reported)
            with self.lock:
                if self.failure is None:
                    self.failure = str(e) if isinstance(e, Failed) else traceback.format_exc()
            self.ends.set()

    def worker(self, n: int) -> None:
        """Runs one program after the other."""
        rng = random.Random(f"{self.o.seed} worker {n}")
        started = 0
        while not self.ends.is_set():
            if not self.open.wait(0.1):
                continue
            with self.lock:
                if not self.open.is_set():
                    continue
                self.busy += 1
            # Of its own: children of one that was killed may write on.
            folder = self.work / f"worker-{n}-{started}"
            started += 1
            try:
                folder.mkdir()
                job, _, functions = rng.choices(JOBS, [weight for _, weight, _ in JOBS])[0]
                machine = rng.choice((self.mortal, self.lasting))
                name = rng.choice(functions)
                # Who waits for a function that has gone for good waits for ever.
                policy = rng.choice(("wait", "fallback")) if name != "extra" else "fallback"
                place = Place(self, rng, machine.socket(name), policy, folder)
                # A function that comes and goes is no lasting one.
                place.lasting &= name != "extra"
                job(place)
                self.count(job.__name__, 1)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                with self.lock:
                    self.busy -= 1

    def mischief(self) -> None:
        """Kills, ends and starts the mortal server, has the lasting one reload, kills TLS servers."""
        rng = random.Random(f"{self.o.seed} mischief")
        extra = True
        while not self.ends.wait(rng.uniform(0.3, 4.0)):
            # Not while all is to be quiet.
            with self.acts:
                extra = self.act(rng, extra)

    def act(self, rng: random.Random, extra: bool) -> bool:
        """One of those deeds. `extra`: whether there is a function of that name; returned as it is then."""
        if self.open.is_set():
            what = rng.choice(("kill", "kill", "end", "reload", "reload", "tls"))
            if what == "tls":
                rng.choice(self.tls).disturb(rng)
            elif what == "reload":
                extra = not extra
                for machine in (self.mortal, self.lasting):
                    machine.reload(extra)
            else:
                self.mortal.end(signal.SIGKILL if what == "kill" else signal.SIGTERM)
                time.sleep(rng.choice((0, 0.05, 0.5)))
                self.mortal.start()
            self.count(f"server {what}", 1)
        return extra

    def sampler(self) -> None:
        """What the lasting server holds, every half second while programs run."""
        while not self.ends.wait(0.5):
            if self.open.is_set():
                self.samples.append((time.monotonic(), self.lasting.holds()))

    def load(self, seconds: float) -> None:
        """Programs run for so long."""
        self.open.set()
        self.ends.wait(seconds)
        with self.lock:
            self.open.clear()
        while self.busy and not self.ends.wait(0.05):
            pass

    def quiet(self) -> dict[str, int]:
        """No program runs: what the lasting server holds then, and that it does nothing."""
        with self.acts:
            self.lasting.reload(True)
        end = time.monotonic() + 60
        while left := self.clients():
            if time.monotonic() > end:
                raise Failed(f"programs that do not end: {left}")
            time.sleep(0.05)
        # A ring's memory for copies is kept for a second or two.
        time.sleep(3)
        before = self.lasting.cpu_ms()
        time.sleep(1)
        spent = self.lasting.cpu_ms() - before
        if spent > 20:
            raise Failed(f"the server takes {spent} ms of CPU time in an idle second")
        self.files_open.append(self.lasting.open_files())
        return self.lasting.holds()

    def clients(self) -> dict[int, str]:
        """Processes that are none of the servers."""
        ours = {self.mortal.pid, self.lasting.pid}
        for server in self.tls:
            ours |= {server.process.pid, *servers.children(server.process.pid)}
        return {pid: command for pid, command in marked(self.token).items() if pid not in ours}

    def run(self) -> None:
        """The soak."""
        others = set(os.listdir("/dev/shm"))
        self.mortal.start()
        self.lasting.start()
        fresh = self.lasting.holds()
        self.files_open = [self.lasting.open_files()]
        for name, port in zip(("nginx", "s_server"), servers.free_ports(2)):
            self.tls.append(TlsServer(self, name, port, self.mortal.socket("all")))
        threads = [threading.Thread(target=self.guarded, args=(self.worker, n)) for n in range(self.o.workers)]
        threads += [threading.Thread(target=self.guarded, args=(work,)) for work in (self.mischief, self.sampler)]
        for thread in threads:
            thread.start()
        first = last = None
        try:
            span = min(60.0, self.o.seconds / 3)
            self.load(span)
            if not self.ends.is_set():
                first = self.quiet()
                self.say(f"quiet: {first}")
                until = self.began + self.o.seconds
                while (left := until - time.monotonic()) > 0 and not self.ends.is_set():
                    self.load(min(left, 60))
                    self.say(f"{self.counts}")
                if not self.ends.is_set():
                    last = self.quiet()
                    self.say(f"quiet: {last}")
        finally:
            self.ends.set()
            for thread in threads:
                thread.join()
            for server in self.tls:
                server.stop()
        if self.failure:
            raise Failed(self.failure)
        for machine in (self.mortal, self.lasting):
            machine.end(signal.SIGTERM)
        self.judge(fresh, first, last, span)
        self.nothing_is_left(others)

    def judge(self, fresh: dict[str, int], first: dict[str, int], last: dict[str, int], span: float) -> None:
        """Whether the server that lived is as it was; prints the figures."""
        begin, end = self.samples[0][0], self.samples[-1][0]
        for name in ("rss", "own", "shared", "descriptors", "areas", "threads"):
            early = statistics.median(s[name] for at, s in self.samples if at - begin <= span)
            late = statistics.median(s[name] for at, s in self.samples if end - at <= span)
            most = max(s[name] for _, s in self.samples)
            print(f"  {name:<12} first {span:.0f} s {early:>9.0f}   last {span:.0f} s {late:>9.0f}   most {most:>9}   "
                  f"started {fresh[name]:>7}   first quiet {first[name]:>7}   last quiet {last[name]:>7}")
        wrong = [name for name in ("areas", "threads") if {last[name], first[name]} != {fresh[name]}]
        # A function whose own thread had to wait for a request has an event from then on.
        events = self.lasting.conf.read_text().count("[")
        wrong += ["descriptors"] if not 0 <= last["descriptors"] - fresh["descriptors"] <= events else []
        slack = SLACK if span == 60 else SHORT_SLACK
        wrong += ["own"] if last["own"] > first["own"] + slack else []
        if wrong:
            raise Failed(f"the server has grown: {wrong}; descriptors at first, then, at last: {self.files_open}")
        complaints = self.mortal.complaints() + self.lasting.complaints()
        if complaints:
            raise Failed("servers complain of honest clients:\n" + "\n".join(complaints[:20]))
        answered = self.lasting.answered()
        print(f"  the server that lived answered {answered} requests; the other was started {self.mortal.starts} times")
        if answered < self.counts["ran"]:
            raise Failed(f"{answered} requests of {self.counts['ran']} programs: they do not use the server")

    def nothing_is_left(self, others: set[str]) -> None:
        """No process and no file."""
        if left := marked(self.token):
            raise Failed(f"processes are left: {left}")
        files = [str(path) for name in ("tmp", "run") for path in (self.work / name).rglob("*") if not path.is_dir()]
        files += [name for name in set(os.listdir("/dev/shm")) - others if "lookaside" in name]
        if files:
            raise Failed(f"files are left: {files}")


def main() -> int:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("built", metavar="BUILT")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=5)
    o = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="lookaside-soak-"))
    # nginx's workers may be of another user.
    work.chmod(0o755)
    soak = Soak(o, work)
    try:
        soak.run()
    except (Failed, Exception) as e:  # noqa: BLE001
        print(str(e) if isinstance(e, Failed) else traceback.format_exc())
        for pid in marked(soak.token):
            os.kill(pid, signal.SIGKILL)
        print(f"FAILED with --seed {o.seed} after {soak.counts}; what it was is in {work}")
        return 1
    shutil.rmtree(work)
    soak.say(f"all results right: {soak.counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
