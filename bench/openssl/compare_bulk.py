#!/usr/bin/env python3
"""Downloads over TLS through an unmodified HAProxy: plain OpenSSL, and our provider.

HAProxy runs with one thread on one core, in front of a server on another; the client, curl with
plain OpenSSL, checks every byte. What counts is gigabits for each second of HAProxy's CPU time,
user and system: a good part of it is the kernel's, the same for everybody. The configurations take
turns, one HAProxy each; the verdict is the median of the ratios of each round. The provider's own
counters have to show that it served. HAProxy takes no part in asynchronous bulk operations: with
`ssl-mode-async` too, it leaves that mode after the handshake. `scripts/bench-bulk --help` tells the options.
"""

import argparse
import json
import os
import re
import signal
import statistics
import sys
import time
from pathlib import Path

import content
import downloads
import openssl_conf
import servers
from compare_tls import SOFTWARE, haproxy_version, machine

OURS = "lookaside"


def arguments() -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="scripts/bench-bulk", description=__doc__.split("\n\n")[1])
    p.add_argument("--provider", type=Path, help="the provider's module (plain OpenSSL only)")
    p.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
                   help="a line of the provider's section in openssl.cnf")
    p.add_argument("--out", type=Path, required=True, help="where the figures go")
    p.add_argument("--connections", type=lambda text: [int(n) for n in text.split(",")],
                   default=[1, 16], help="downloads at a time")
    p.add_argument("--kinds", default="", help="only suites with this in their names")
    p.add_argument("--megabytes", type=int, default=1000, help="of a round, over all connections")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--server-cpu", type=int)
    p.add_argument("--client-cpu", type=int)
    o = p.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    o.server_cpu = cpus[0] if o.server_cpu is None else o.server_cpu
    o.client_cpu = cpus[-1] if o.client_cpu is None else o.client_cpu
    return o


def contenders(o, folder: Path, backend: int) -> dict[str, servers.Server]:
    """A HAProxy for each configuration."""
    certificates = {"RSA-2048": openssl_conf.certificate(folder, "RSA-2048")}
    up = {SOFTWARE: openssl_conf.Provider()}
    if o.provider:
        module = o.provider.resolve(strict=True)
        settings = [*o.setting, f"statistics = {folder / 'statistics'}"]
        up[OURS] = openssl_conf.Provider(module, settings)
    started = {}
    for name, provider in up.items():
        env = provider.environment(folder / f"{name}.cnf")
        if provider.module:
            openssl_conf.demand(env)
            (folder / "statistics").unlink(missing_ok=True)
        started[name] = servers.haproxy(folder, name, env, certificates, cpu=o.server_cpu,
                                        asynchronous=False, backend=backend)
    return started


def measure(o, folder: Path, up) -> list[dict]:
    """Every point, its contenders in turn."""
    points = []
    plain = openssl_conf.Provider()
    for kind in downloads.KINDS:
        if o.kinds not in kind.name:
            continue
        client = downloads.client_environment(plain, folder, kind)
        for connections in o.connections:
            length = o.megabytes * 1_000_000 // connections
            digest = content.digest(length)
            rounds = {name: [] for name in up}
            for number in range(o.rounds):
                for name in servers.in_turn(up, number):
                    before, began = servers.cpu_ns(up[name].pid), time.monotonic()
                    downloads.download(client, kind, up[name].ports["RSA-2048"], length,
                                       connections, digest, o.client_cpu)
                    cpu = (servers.cpu_ns(up[name].pid) - before) / 1e9
                    gigabits = 8 * length * connections / 1e9
                    rounds[name].append({"gigabits_per_cpu_s": gigabits / cpu,
                                         "gigabits_per_s": gigabits / (time.monotonic() - began)})
            point = {"kind": kind.name, "served": kind.served, "connections": connections,
                     "bytes": length * connections * o.rounds, "rounds": rounds}
            points.append(point)
            for name in up:
                print(row(point, name), flush=True)
    return points


HEAD = f"{'suite':38} {'conns':>5} {'configuration':14} {'Gbit/CPU-s':>10} {'x software':>10}" \
       f" {'Gbit/s':>7}"


def row(point: dict, name: str) -> str:
    """A line of the table."""
    def median(key: str) -> float:
        return statistics.median(r[key] for r in point["rounds"][name])

    pairs = zip(point["rounds"][name], point["rounds"][SOFTWARE])
    ratio = statistics.median(
        a["gigabits_per_cpu_s"] / b["gigabits_per_cpu_s"] for a, b in pairs)
    return (f"{point['kind']:38} {point['connections']:5} {name:14} "
            f"{median('gigabits_per_cpu_s'):10.2f} {ratio:10.2f} {median('gigabits_per_s'):7.2f}")


def served(folder: Path, points: list[dict]) -> list[str]:
    """Prints what the provider has counted; what it should have and did not."""
    file = folder / "statistics"
    text = file.read_text() if file.exists() else ""
    total = {algorithm: int(n) for algorithm, n in
             re.findall(r"^lookaside: (\S+): \d+ pieces, (\d+) bytes", text, re.MULTILINE)}
    # What OpenSSL does faster on this CPU is its own: `algorithms = all` has it too.
    line = re.search(r"left to the default provider: (.*)", text)
    left = set(line[1].split()) if line else set()
    wanted: dict[str, int] = {}
    for point in points:
        for algorithm in point["served"]:
            if algorithm in left:
                continue
            wanted[algorithm] = wanted.get(algorithm, 0) + point["bytes"]
    print("served: " + ", ".join(f"{algorithm} {total.get(algorithm, 0) / 1e9:.2f} GB"
                                 for algorithm in wanted))
    of_openssl = sorted({algorithm for point in points for algorithm in point["served"]} & left)
    if of_openssl:
        print("left to OpenSSL on this CPU: " + ", ".join(of_openssl))
    return [f"{algorithm}: {total.get(algorithm, 0)} bytes counted, {least} downloaded"
            for algorithm, least in wanted.items() if total.get(algorithm, 0) < least]


def main() -> None:
    """Measures and prints."""
    o = arguments()
    folder = o.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}; {haproxy_version()}, one thread, one core; "
          f"{openssl_conf.version()}")
    port = servers.free_port()
    backend = servers.Server(
        [sys.executable, Path(content.__file__).resolve(), port], dict(os.environ), {"": port},
        folder / "content.log", o.client_cpu)
    up = {}
    try:
        up = contenders(o, folder, port)
        print(f"{o.megabytes} MB a round, median of {o.rounds}; CPU-s: seconds of HAProxy's CPU "
              f"time.\n{HEAD}")
        points = measure(o, folder, up)
    finally:
        for server in up.values():
            server.stop(signal.SIGUSR1)
        backend.stop()
    missing = served(folder, points) if o.provider else []
    command = "scripts/bench-bulk " + " ".join(sys.argv[1:])
    (folder / "figures.json").write_text(json.dumps(
        {"machine": machine(), "command": command, "points": points}, indent=1))
    print(f"{folder}/figures.json")
    if missing:
        raise SystemExit("\n".join(missing))


if __name__ == "__main__":
    main()
