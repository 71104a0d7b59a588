#!/usr/bin/env python3
"""Programs without asynchronous jobs that share one device: nginx with many workers, and many `openssl speed` at once.

What counts is operations per second of CPU time, user and system, of all processes that serve together: nginx's workers
or the `openssl speed`s, and `lookaside serve`. Each contender runs on one core and the load of nginx on another; the
contenders take turns in short rounds; the verdict is the median of the ratios of each round.
`scripts/bench-shared --help` tells the options.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

import openssl_conf
import servers
from compare_tls import load, machine, per_cpu

SOFTWARE, OWN, SHARED = "software", "in process", "shared"


def arguments() -> argparse.Namespace:
    """The options."""
    p = argparse.ArgumentParser(prog="scripts/bench-shared", description=__doc__)
    numbers = lambda text: [int(n) for n in text.split(",")]
    words = lambda text: text.split(",")
    p.add_argument("--provider", type=Path, required=True, help="the provider's module")
    p.add_argument("--lookaside", type=Path, required=True, help="the program lookaside")
    p.add_argument("--load", type=Path, required=True, help="the program tls-load")
    p.add_argument("--out", type=Path, required=True, help="where logs and figures go")
    p.add_argument("--serve", action="append", default=[], metavar="NAME=VALUE",
                   help="a line of the server's configuration")
    p.add_argument("--only", choices=["nginx", "speed"])
    p.add_argument("--workers", type=int, default=16, help="processes of nginx")
    p.add_argument("--connections", type=numbers, default=[1, 2, 4, 8, 16, 32, 64])
    p.add_argument("--tls", type=words, default=["1.2", "1.3"])
    p.add_argument("--groups", default="x25519,p256",
                   help="offered by the client, in this order; as OpenSSL's own client by default")
    p.add_argument("--processes", type=numbers, default=[1, 8], help="of openssl speed, at once")
    p.add_argument("--seconds", type=float, default=2.0, help="of a round")
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    for name in ["provider", "lookaside", "load"]:
        setattr(o, name, getattr(o, name).resolve(strict=True))
    cpus = sorted(os.sched_getaffinity(0))
    o.server_cpu, o.client_cpu = cpus[0], cpus[-1]
    return o


def serve(o, folder: Path) -> tuple[servers.Server, Path]:
    """`lookaside serve` with one function, and the function's socket."""
    conf, place = folder / "server.conf", folder / "device"
    lines = o.serve or ["engines=1"]
    conf.write_text("\n".join(lines) + "\n[web]\nservices = pke\nmode = 666\n")
    up = servers.Server([o.lookaside, "serve", "--config", conf, "--folder", place], None, {},
                        folder / "serve.log", o.server_cpu)
    end = time.monotonic() + 10
    while not (place / "web.sock").exists():
        if not up.alive() or time.monotonic() > end:
            raise SystemExit(f"lookaside serve does not start:\n{up.log.read_text()}")
        time.sleep(0.02)
    return up, place / "web.sock"


def environments(o, folder: Path, device: Path) -> dict[str, dict[str, str]]:
    """How each contender's processes are started."""
    ours = openssl_conf.Provider(o.provider).environment(folder / "lookaside.cnf")
    openssl_conf.demand(ours)
    return {
        SOFTWARE: openssl_conf.Provider().environment(folder / "software.cnf"),
        OWN: ours,
        SHARED: ours | {"LOOKASIDE_DEVICE": str(device)},
    }


def show(what: str, rounds: dict[str, list[dict]]) -> None:
    """A line for each contender."""
    for name, mine in rounds.items():
        ratio = statistics.median(
            a["rate"] / b["rate"] for a, b in zip(mine, rounds[SOFTWARE]))
        texts = [f"{what:32}", f"{name:10}", f"{statistics.median(r['rate'] for r in mine):8.0f}",
                 f"{ratio:5.2f} x"]
        if "answer_us" in mine[0]:
            texts += [f"{statistics.median(r['answer_us'][p] for r in mine):8.0f}"
                      for p in ["p50", "p99"]]
            texts.append(f"{statistics.median(r['server_busy'] for r in mine):4.0%}")
        print("  ".join(texts), flush=True)


def nginx(o, folder: Path, envs, device_pid: int) -> list[dict]:
    """Handshakes of nginx: each point with all its rounds. Each round has servers of its own: where their memory lies
    makes a difference of a tenth."""
    certificate = openssl_conf.certificate(folder, "RSA-2048")
    points = [{"tls": tls, "connections": connections, "rounds": {name: [] for name in envs}}
              for tls in o.tls for connections in o.connections]
    for number in range(o.rounds):
        up = {}
        try:
            for name, env in envs.items():
                up[name] = servers.nginx(folder, name.replace(" ", "-"), env, certificate,
                                         o.workers, cpu=o.server_cpu)
            pids = {name: servers.workers(one) for name, one in up.items()}
            pids[SHARED] = [*pids[SHARED], device_pid]
            rounds = [(o.tls[0], o.workers, None)]
            rounds += [(point["tls"], point["connections"], point) for point in points]
            for tls, connections, point in rounds:
                for name in servers.in_turn(up, number):
                    seen = load(o, up[name], "RSA-2048", tls, connections, o.seconds, pids[name])
                    # The first was to warm up.
                    if point:
                        point["rounds"][name].append(seen | {"rate": per_cpu(seen)})
        finally:
            for one in up.values():
                one.stop()
    for point in points:
        show(f"nginx, TLS {point['tls']}, {point['connections']} connections", point["rounds"])
    return points


def speed(o, folder: Path, envs, device_pid: int) -> list[dict]:
    """Private RSA-2048 operations of several `openssl speed` at once."""
    points = []
    for processes in o.processes:
        rounds = {name: [] for name in envs}
        for name in (name for number in range(o.rounds) for name in servers.in_turn(envs, number)):
            before = servers.cpu_ns(device_pid)
            running = [subprocess.Popen(
                ["taskset", "-c", str(o.server_cpu), "openssl", "speed", "-elapsed", "-mr", "-seconds",
                 str(max(1, round(o.seconds))), "rsa2048"], env=envs[name], text=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder) for _ in range(processes)]
            count = cpu = 0
            for one in running:
                # Ends its private operations with a line, and goes on with public ones.
                for line in one.stderr:
                    if line.startswith("+R1:"):
                        count += int(line.split(":")[1])
                        cpu += servers.cpu_ns(one.pid)
                        break
            # Public operations are not the device's.
            if name == SHARED:
                cpu += servers.cpu_ns(device_pid) - before
            for one in running:
                one.stderr.close()
                one.kill()
                one.wait()
            rounds[name].append({"rate": count / cpu * 1e9})
        points.append({"processes": processes, "rounds": rounds})
        show(f"openssl speed rsa2048, {processes} at once", rounds)
    return points


def main() -> None:
    """Measures and prints."""
    o = arguments()
    folder = o.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{machine()}; {openssl_conf.version()}")
    print("Operations per second of CPU time of all processes that serve; beside plain OpenSSL;")
    print("of nginx: from connect to the whole answer at the client, p50 and p99 in us; CPU in use.")
    device, path = serve(o, folder)
    try:
        envs = environments(o, folder, path)
        figures = {"machine": machine()}
        if o.only != "speed":
            figures["nginx"] = nginx(o, folder, envs, device.pid)
        if o.only != "nginx":
            figures["speed"] = speed(o, folder, envs, device.pid)
        stat = [o.lookaside, "stat", "--folder", folder / "device"]
        print(subprocess.run(stat, capture_output=True, text=True, check=True).stdout)
    finally:
        device.stop()
    (folder / "figures.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
