#!/usr/bin/env python3
"""Unmodified servers with the provider, treated badly: connections cut in mid-handshake, reloads,
too few files, processes forked after OpenSSL was initialised.

torture.py [PROVIDER] --load TLS_LOAD --lookaside COMMAND [--seconds S] [--setting NAME=VALUE]...
           [--conf FILE]

HAProxy never resumes the handshake of a connection that died while its operation was under way
(haproxy issue 3453): OpenSSL's job with its stack of 32 KiB stays allocated, whoever the provider
is. What is asked for is therefore that nothing else grows: no files, no memory over clean
handshakes, and over cut ones not more than those jobs.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import check
from check import Checks, Failed
import content
import downloads
import openssl_conf
import servers

# What a job that is never resumed holds: its stack, and what the handshake had allocated.
PAUSED_KB = 48
# What allocators keep beyond what is in use; plain HAProxy shows the like.
SLACK_KB = 6000


class Torture:
    """The servers' settings and the load."""

    def __init__(self, o, path: Path):
        self.o = o
        self.path = path
        self.certificates = {
            name: openssl_conf.certificate(path, name) for name in ("RSA-2048", "P-256")
        }
        self.plain = openssl_conf.Provider().environment(path / "plain.cnf")
        module = Path(o.provider).resolve(strict=True) if o.provider else None
        ours = openssl_conf.Provider(module, o.setting)
        self.env = ours.environment(path / "ours.cnf")
        if o.conf:
            self.env = openssl_conf.environment(Path(o.conf).resolve())
        elif module:
            openssl_conf.demand(self.env)
        self.module = module

    def haproxy(self, name: str, **how) -> servers.Server:
        """HAProxy, asynchronous with the provider."""
        return servers.haproxy(self.path, name, self.env, self.certificates, asynchronous=True,
                               **how)

    def waits_for_engines(self) -> bool:
        """Whether the settings have engines: operations are then asynchronous on every CPU."""
        return any(re.match(r"engines *= *[^0 ]", setting) for setting in self.o.setting)

    def start_load(self, port: int, tls: str, seconds: float, connections: int = 64, cut: int = 0):
        """tls-load, running."""
        return subprocess.Popen(
            [self.o.load, "--address", f"127.0.0.1:{port}", "--tls", tls, "--connections",
             str(connections), "--seconds", str(seconds), "--cut", str(cut)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def finish(self, running, server, tolerated: int = 0) -> dict:
        """What it saw. Connections that nobody cut have to succeed."""
        out, err = running.communicate(timeout=120)
        if not server.alive():
            raise Failed(f"the server ended with {server.process.returncode}:\n"
                         f"{server.log.read_text()[-2000:]}")
        if not out:
            raise Failed(f"tls-load: {err}")
        seen = json.loads(out)
        if seen["errors"] > tolerated or not seen["handshakes"]:
            raise Failed(f"{out}\n{server.log.read_text()[-2000:]}")
        return seen

    def load(self, server, seconds: float, tolerated: int = 0, **how) -> dict:
        """Load on every certificate and version in turn; the sums."""
        kinds = [(port, tls) for port in server.ports.values() for tls in ("1.2", "1.3")]
        total = {"handshakes": 0, "cut": 0, "reset_at_work": 0}
        for port, tls in kinds:
            running = self.start_load(port, tls, seconds / len(kinds), **how)
            seen = self.finish(running, server, tolerated)
            total = {name: total[name] + seen[name] for name in total}
        return total


def settle(pid: int) -> None:
    """Waits until the server has closed what the load left behind."""
    for _ in range(40):
        before = servers.fds(pid), servers.cpu_ns(pid)
        time.sleep(0.1)
        if servers.fds(pid) == before[0] and servers.cpu_ns(pid) - before[1] < 5_000_000:
            return


def event_fds(pid: int) -> int:
    """How many eventfds a process has."""
    found = 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += "eventfd" in os.readlink(fd)
        except OSError:
            pass
    return found


def side_by_side(lookaside: str, op: str) -> bool:
    """Whether this CPU runs several of an operation at once, by what `lookaside info` says."""
    ran = subprocess.run([lookaside, "info", "--json"], capture_output=True, check=True)
    rows = [row for device in json.loads(ran.stdout)["devices"] for row in device["capabilities"]]
    found = [row["best_batch"] for row in rows if row["op"].split(".")[-1] == op]
    if not found:
        raise SystemExit(f"lookaside info has no {op}")
    return max(found) > 1


def asynchronous(t: Torture, always: bool) -> str:
    """Under load, HAProxy waits for operations by their event files; with `async = all` on any CPU,
    otherwise on one that runs several operations at once."""
    expected = bool(t.module) and (
        always or side_by_side(t.o.lookaside, "rsa-private") or t.waits_for_engines())
    env = t.env
    if t.module and always:
        settings = [*t.o.setting, "async = all"]
        env = openssl_conf.Provider(t.module, settings).environment(t.path / "always.cnf")
    server = servers.haproxy(t.path, f"events-{always}", env, t.certificates, asynchronous=True)
    try:
        port = server.ports["RSA-2048"]
        running = t.start_load(port, "1.3", 1.0)
        most = 0
        while running.poll() is None:
            most = max(most, event_fds(server.pid))
            time.sleep(0.01)
        seen = t.finish(running, server)
        if expected and not most:
            raise Failed("no connection ever waited for an event: nothing was asynchronous")
        if not expected and most:
            raise Failed(f"{most} connections waited, and had nothing to gain by it on this CPU")
        return f"{seen['handshakes']} handshakes, at most {most} event files at a time"
    finally:
        server.stop()


def idle(server) -> None:
    """A server with nothing to do does nothing: no event is left that nobody takes."""
    before = servers.cpu_ns(server.pid)
    time.sleep(0.5)
    busy = (servers.cpu_ns(server.pid) - before) / 0.5e9
    if busy > 0.1:
        raise Failed(f"idle, but it takes {busy:.0%} of a core")


def growth(t: Torture, server, seconds: float, cut: int) -> dict:
    """How memory and files grow over several rounds of load, after one that fills the caches."""
    t.load(server, min(seconds / 4, 4), cut=cut)
    settle(server.pid)
    before = servers.rss_kb(server.pid), servers.fds(server.pid)
    done = {"handshakes": 0, "cut": 0, "reset_at_work": 0}
    for _ in range(2):
        seen = t.load(server, seconds / 2, cut=cut)
        done = {name: done[name] + seen[name] for name in done}
    settle(server.pid)
    done["kb"] = servers.rss_kb(server.pid) - before[0]
    done["fds"] = servers.fds(server.pid) - before[1]
    return done


def compared(t: Torture, cut: int) -> str:
    """HAProxy's growth with the provider, beside plain HAProxy's under the same load."""
    # The plain one shows what is HAProxy's own; it needs less of the time.
    plain = servers.haproxy(t.path, "plain", t.plain, t.certificates, asynchronous=False)
    try:
        theirs = growth(t, plain, t.o.seconds / 4, cut)
    finally:
        plain.stop()
    server = t.haproxy("cut")
    try:
        mine = growth(t, server, t.o.seconds, cut)
        idle(server)
        clean = t.load(server, 0.8)
        done = mine["handshakes"] + mine["cut"]
        # Memory per connection that plain HAProxy grows by as well, scaled to as many connections.
        scale = done / max(theirs["handshakes"] + theirs["cut"], 1)
        # Only a connection that is reset while its operation is under way is not resumed.
        paused = mine["reset_at_work"]
        allowed = SLACK_KB + max(theirs["kb"], 0) * scale + PAUSED_KB * paused
        said = (
            f"{mine['handshakes']} handshakes, {mine['cut']} cut: {mine['kb']:+} KB, "
            f"{mine['fds']:+} files (plain, {theirs['handshakes']} and {theirs['cut']}: "
            f"{theirs['kb']:+} KB, {theirs['fds']:+} files); then {clean['handshakes']} clean"
        )
        if mine["cut"]:
            said += f"; {mine['kb'] / max(paused, 1):.1f} KB for each of {paused} reset at work"
        if mine["fds"] > max(theirs["fds"], 0) + 8:
            raise Failed("files are left open: " + said)
        if mine["kb"] > allowed:
            raise Failed(f"memory grows by more than {allowed:.0f} KB: " + said)
        ends(server)
        return said
    finally:
        server.stop()


def ends(server) -> None:
    """Told to finish, it does, whatever became of the connections: libcrypto unloads us too."""
    server.process.send_signal(signal.SIGUSR1)
    try:
        status = server.process.wait(15)
    except subprocess.TimeoutExpired:
        raise Failed("told to finish, it does not end") from None
    if status:
        log = server.log.read_text()[-2000:]
        raise Failed(f"told to finish, it ends with {status}:\n{log}")


def threads(t: Torture) -> str:
    """Several threads with handshakes under way in each."""
    server = t.haproxy("threads", threads=4)
    try:
        seen = t.load(server, min(t.o.seconds / 4, 4), cut=3)
        clean = t.load(server, 0.8)
        idle(server)
        ends(server)
        return f"{seen['handshakes']} handshakes, {seen['cut']} cut; then {clean['handshakes']}"
    finally:
        server.stop()


def scarce(t: Torture) -> str:
    """Hardly a file is left for events: what cannot wait for one runs at once, and is served."""
    server = t.haproxy("scarce", maxconn=24)
    try:
        # Enough for 24 connections, and for events of some of them.
        files = servers.fds(server.pid) + 24 + 8
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (files, files))
        seen = t.load(server, min(t.o.seconds / 4, 4), connections=24)
        # Once it cannot accept, HAProxy does not try again for a while; then it has to.
        clean = t.load(server, 0.8, connections=4)
        return f"{seen['handshakes']} handshakes with {files} files; then {clean['handshakes']}"
    finally:
        server.stop()


def reload(t: Torture, sent: signal.Signals) -> str:
    """A new worker takes over under load, and the old one ends."""
    server = t.haproxy(f"reload-{sent.name}", master=True)
    try:
        port = server.ports["RSA-2048"]
        old = servers.workers(server)
        # A worker that takes over may reset what its predecessor had not accepted yet.
        running = t.start_load(port, "1.3", 2.5, connections=32, cut=3)
        time.sleep(1.0)
        server.process.send_signal(sent)
        seen = t.finish(running, server, tolerated=200)
        end = time.monotonic() + 15
        while set(old) & set(servers.children(server.pid)):
            if time.monotonic() > end:
                raise Failed(f"the old worker did not end:\n{server.log.read_text()[-2000:]}")
            time.sleep(0.1)
        new = servers.children(server.pid)
        if not new:
            raise Failed(f"no new worker:\n{server.log.read_text()[-2000:]}")
        clean = t.load(server, 0.8)
        return (f"{seen['handshakes']} handshakes, {seen['cut']} cut, {seen['errors']} reset by "
                f"the change; then {clean['handshakes']} clean")
    finally:
        server.stop()


def prefork(t: Torture) -> str:
    """nginx: the master reads the keys, the workers it forks use them; again after a reload."""
    server = servers.nginx(t.path, "prefork", t.env, t.certificates["RSA-2048"], 2)
    try:
        seen = t.load(server, 1.0)
        workers = servers.children(server.pid)
        if len(workers) < 2:
            raise Failed(f"{len(workers)} workers:\n{server.log.read_text()[-2000:]}")
        cpu = [servers.cpu_ns(worker) / 1e9 for worker in workers]
        # Both wait on one socket; on a quiet machine one may get most of it.
        running = t.start_load(server.ports["RSA-2048"], "1.3", 1.0)
        time.sleep(0.3)
        server.process.send_signal(signal.SIGHUP)
        t.finish(running, server, tolerated=200)
        clean = t.load(server, 1.0)
        if set(workers) & set(servers.children(server.pid)):
            raise Failed("a worker of before the reload is still there")
        return (f"{seen['handshakes']} handshakes, workers' CPU seconds "
                f"{', '.join(f'{c:.2f}' for c in cpu)}; after a reload {clean['handshakes']}")
    finally:
        server.stop()


def download(t: Torture, kind: downloads.Kind) -> str:
    """Right bytes, one connection after the other and several at a time, and the provider's counters
    say that it encrypted them."""
    counters = t.path / "statistics-download"
    counters.unlink(missing_ok=True)
    env = t.env
    if t.module:
        # What is looked for is ours, on CPUs too where OpenSSL is the faster one.
        settings = ["algorithms = all", *t.o.setting, f"statistics = {counters}"]
        env = openssl_conf.Provider(t.module, settings).environment(t.path / "download.cnf")
    port = servers.free_port()
    backend = servers.Server([sys.executable, content.__file__, port], dict(os.environ),
                             {"": port}, t.path / "content.log")
    server = servers.haproxy(t.path, "download", env, t.certificates, asynchronous=True,
                             backend=port)
    client = downloads.client_environment(openssl_conf.Provider(), t.path, kind)
    total = 0
    try:
        for length, connections in ((1, 1), (16_384, 1), (20_000_000, 1), (3_000_001, 8)):
            downloads.download(client, kind, server.ports["RSA-2048"], length, connections,
                               content.digest(length))
            total += length * connections
    finally:
        # In order, so that it prints the counters.
        status = server.stop(signal.SIGUSR1)
        backend.stop()
    if status:
        raise Failed(f"exit status {status}:\n{server.log.read_text()[-2000:]}")
    if not t.module:
        return f"{total} bytes"
    text = counters.read_text()
    for algorithm in kind.served:
        found = re.search(rf"^lookaside: {algorithm}: \d+ pieces, (\d+) bytes", text, re.MULTILINE)
        if not found or int(found.group(1)) < total:
            raise Failed(f"{algorithm} did not serve {total} bytes:\n{text}")
    return f"{total} bytes by {', '.join(kind.served)}"


def main() -> int:
    """All checks; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    a.add_argument("provider", nargs="?", default="", help="the module; empty: plain OpenSSL")
    a.add_argument("--load", type=Path, required=True, help="the program tls-load")
    a.add_argument("--lookaside", required=True, help="the program lookaside: what this CPU does")
    a.add_argument("--seconds", type=float, default=10, help="of connections that are cut")
    a.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    a.add_argument("--conf", help="an openssl.cnf to use in place of the provider's")
    o = a.parse_args()
    checks = Checks()
    with check.folder() as path:
        t = Torture(o, Path(path))
        checks.run("HAProxy, ssl-mode-async", asynchronous, t, False)
        if t.module and not o.conf:
            checks.run("HAProxy, ssl-mode-async, async = all", asynchronous, t, True)
        checks.run("HAProxy, a third of the connections cut", compared, t, 3)
        checks.run("HAProxy, no connection cut", compared, t, 0)
        checks.run("HAProxy, four threads", threads, t)
        checks.run("HAProxy, hardly any files", scarce, t)
        checks.run("HAProxy, SIGUSR2 reloads", reload, t, signal.SIGUSR2)
        checks.run("HAProxy, SIGHUP reloads", reload, t, signal.SIGHUP)
        for kind in downloads.KINDS:
            checks.run(f"HAProxy, downloads, {kind.name}", download, t, kind)
        checks.run("nginx, workers forked after the keys were read", prefork, t)
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
