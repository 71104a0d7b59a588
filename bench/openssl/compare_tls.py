#!/usr/bin/env python3
"""Full TLS handshakes of an unmodified HAProxy: plain OpenSSL, and our provider, synchronous and
asynchronous (paper 3, figures 7 to 10).

HAProxy runs with one thread on one core; the load comes from another. What counts is handshakes per
second of HAProxy's CPU time, user and system, as the kernel accounts it to HAProxy's threads. The
configurations take turns in short rounds, one HAProxy each, all of them up the whole time; the
verdict is the median of the ratios of each round. `scripts/bench-tls --help` tells the options.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import chart
import openssl_conf
import servers

SOFTWARE, SYNCHRONOUS, ASYNCHRONOUS = "software", "synchronous", "asynchronous"


def arguments() -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="scripts/bench-tls", description=__doc__.split("\n\n")[1])
    numbers = lambda text: [int(n) for n in text.split(",")]
    words = lambda text: text.split(",")
    p.add_argument("--provider", type=Path, help="the provider's module (plain OpenSSL only)")
    p.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
                   help="a line of the provider's section in openssl.cnf")
    p.add_argument("--also-async", type=Path, metavar="CONF",
                   help="the asynchronous contender is what this openssl.cnf loads instead")
    p.add_argument("--load", type=Path, required=True, help="the program tls-load")
    p.add_argument("--out", type=Path, required=True, help="where the figures go")
    p.add_argument("--connections", type=numbers, default=[1, 4, 8, 32, 64])
    p.add_argument("--certificates", type=words, default=["RSA-2048", "P-256"])
    p.add_argument("--tls", type=words, default=["1.2", "1.3"])
    p.add_argument("--groups", default="x25519,p256",
                   help="offered by the client, in this order; as OpenSSL's own client by default")
    p.add_argument("--seconds", type=float, default=2.0, help="of a round")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--server-cpu", type=int)
    p.add_argument("--client-cpu", type=int)
    o = p.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if o.server_cpu is None:
        o.server_cpu = cpus[0]
    if o.client_cpu is None:
        o.client_cpu = cpus[1] if len(cpus) > 1 else cpus[0]
    return o


def contenders(o, folder: Path, certificates) -> dict[str, servers.Server]:
    """A HAProxy for each configuration."""
    plain = openssl_conf.Provider()
    env = plain.environment(folder / "software.cnf")
    up = {SOFTWARE: (env, False)}
    if o.also_async:
        up[ASYNCHRONOUS] = (openssl_conf.environment(o.also_async.resolve()), True)
    elif o.provider:
        ours = openssl_conf.Provider(o.provider.resolve(strict=True), o.setting)
        env = ours.environment(folder / "lookaside.cnf")
        openssl_conf.demand(env)
        up |= {SYNCHRONOUS: (env, False), ASYNCHRONOUS: (env, True)}
    return {
        name: servers.haproxy(folder, name, env, certificates, asynchronous=asynchronous,
                              cpu=o.server_cpu)
        for name, (env, asynchronous) in up.items()
    }


def load(o, server, certificate: str, tls: str, connections: int, seconds: float,
         pids: list[int] | None = None) -> dict:
    """One round of one contender: what the client saw, and what it cost the server's process, or those
    processes that serve for it."""
    pids = pids or [server.pid]
    before = sum(map(servers.cpu_ns, pids))
    ran = subprocess.run(
        ["taskset", "-c", str(o.client_cpu), o.load,
         "--address", f"127.0.0.1:{server.ports[certificate]}", "--tls", tls,
         "--connections", str(connections), "--seconds", str(seconds), "--groups", o.groups],
        capture_output=True, text=True, check=False,
    )
    if ran.returncode:
        raise SystemExit(f"tls-load: {ran.stdout}{ran.stderr}\n{server.log.read_text()}")
    seen = json.loads(ran.stdout)
    cpu = (sum(map(servers.cpu_ns, pids)) - before) / 1e9
    seen["server_cpu_seconds"] = cpu
    seen["handshakes_per_cpu_s"] = seen["handshakes"] / cpu
    seen["server_busy"] = cpu / seen["seconds"]
    return seen


def measure(o, up) -> list[dict]:
    """Every point, its contenders in turn."""
    points = []
    for certificate in o.certificates:
        for tls in o.tls:
            for connections in o.connections:
                rounds = {name: [] for name in up}
                for server in up.values():
                    load(o, server, certificate, tls, connections, 0.2)
                for number in range(o.rounds):
                    for name in servers.in_turn(up, number):
                        seen = load(o, up[name], certificate, tls, connections, o.seconds)
                        rounds[name].append(seen)
                point = {"certificate": certificate, "tls": tls, "connections": connections,
                         "rounds": rounds}
                points.append(point)
                for name in up:
                    print("  ".join(row(point, name)), flush=True)
    return points


HEAD = ["certificate", "TLS ", "conns", "configuration", "hs/CPU-s", "x software", "    hs/s",
        "   p50 us", "   p99 us", "x p50", "busy"]


def per_cpu(seen: dict) -> float:
    """What is compared."""
    return seen["handshakes_per_cpu_s"]


def p50(seen: dict) -> float:
    """The median latency of a round."""
    return seen["answer_us"]["p50"]


def ratio(point: dict, name: str, of) -> float:
    """The median over the rounds of a contender relative to software."""
    rounds = point["rounds"]
    return statistics.median(of(a) / of(b) for a, b in zip(rounds[name], rounds[SOFTWARE]))


def goals(points: list[dict]) -> list[str]:
    """Where asynchronous handshakes miss what is asked of them; for people, not a test."""
    missed = []
    for point in points:
        if ASYNCHRONOUS not in point["rounds"]:
            return ["goals: nothing asynchronous was measured"]
        where = f"{point['certificate']}, TLS {point['tls']}, {point['connections']} connections"
        many = point["certificate"].startswith("RSA") and point["connections"] >= 32
        least, reached = 1.4 if many else 1.0, ratio(point, ASYNCHRONOUS, per_cpu)
        if reached < least:
            missed.append(f"missed: {where}: {reached:.3f} times software, not {least}")
        slower = ratio(point, ASYNCHRONOUS, p50)
        if point["connections"] == 1 and slower > 1.1:
            missed.append(f"missed: {where}: {slower:.2f} times the median latency, not 1.1")
    return missed or ["goals: all reached"]


def row(point: dict, name: str) -> list[str]:
    """A line of the table."""
    mine = point["rounds"][name]

    def median(of, rounds):
        return statistics.median(of(r) for r in rounds)

    texts = [
        point["certificate"], point["tls"], str(point["connections"]), name,
        f"{median(per_cpu, mine):.0f}", f"{ratio(point, name, per_cpu):.2f}",
        f"{median(lambda r: r['handshakes_per_s'], mine):.0f}",
        f"{median(p50, mine):.0f}", f"{median(lambda r: r['answer_us']['p99'], mine):.0f}",
        f"{ratio(point, name, p50):.2f}", f"{median(lambda r: r['server_busy'], mine):.0%}",
    ]
    return [t.ljust(len(h)) if i in (0, 3) else t.rjust(len(h))
            for i, (t, h) in enumerate(zip(texts, HEAD))]


def panels(o, points, names) -> list[chart.Panel]:
    """The picture's diagrams."""
    drawn = []
    for certificate in o.certificates:
        for tls in o.tls:
            mine = [p for p in points if (p["certificate"], p["tls"]) == (certificate, tls)]
            bars = {}
            for name in names:
                bars[name] = []
                for point in mine:
                    rates = [r["handshakes_per_cpu_s"] for r in point["rounds"][name]]
                    label = row(point, name)[5].strip() if name == ASYNCHRONOUS else ""
                    bars[name].append(chart.Value(
                        min(rates), statistics.median(rates), max(rates), label))
            drawn.append(chart.Panel(f"{certificate} certificate, TLS {tls}",
                                     [str(p["connections"]) for p in mine], bars))
    return drawn


def machine() -> str:
    """The CPU's name and how many there are."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(': ', 1)[1]}, {os.cpu_count()} cores"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def haproxy_version() -> str:
    """E.g. HAProxy 2.6.12."""
    command = [servers.program("haproxy"), "-v"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return " ".join(text.split()[0:3:2])


def main() -> None:
    """Measures, prints, draws."""
    o = arguments()
    folder = o.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    certificates = {name: openssl_conf.certificate(folder, name) for name in o.certificates}
    began = time.monotonic()
    print(f"{machine()}; {haproxy_version()}; {openssl_conf.version()}")
    if o.server_cpu == o.client_cpu:
        print("One core only: server and load share it, and latencies say little.")
    up = contenders(o, folder, certificates)
    try:
        print("hs: full handshakes with one request each; CPU-s: seconds of HAProxy's CPU time;")
        print("p50, p99: from connect to the whole answer, at the client; busy: of HAProxy's core.")
        print("  ".join(HEAD))
        points = measure(o, up)
    finally:
        for server in up.values():
            server.stop()
    print("\n".join(goals(points)))
    agreed = points[0]["rounds"][SOFTWARE][0]
    about = [
        f"{machine()}; {time.strftime('%Y-%m-%d')}; {haproxy_version()}, one thread, one core; "
        f"{openssl_conf.version()}.",
        f"Full handshakes, no tickets; client's groups {o.groups} (agreed: {agreed['group']}); "
        "TLS 1.2: ECDHE, AES-128-GCM.",
        f"Median of {o.rounds} rounds of {o.seconds:g} s in turn; whiskers: least and most; "
        "the number above a bar: times software.",
    ]
    picture = chart.svg(
        "HAProxy: connections per CPU-second", about,
        "connections per second of HAProxy's CPU time", "connections at a time",
        panels(o, points, list(up)),
    )
    rows = [[h.strip() for h in HEAD]]
    rows += [[t.strip() for t in row(p, name)] for p in points for name in up]
    command = "scripts/bench-tls " + " ".join(sys.argv[1:])
    (folder / "tls.svg").write_text(picture)
    (folder / "index.html").write_text(
        chart.page("TLS handshakes of HAProxy", [*about, f"Made by: {command}"], [picture], rows))
    (folder / "figures.json").write_text(json.dumps(
        {"machine": machine(), "command": command, "points": points}, indent=1))
    print(f"{time.monotonic() - began:.0f} s; {folder}/tls.svg, index.html, figures.json")


if __name__ == "__main__":
    main()
