"""A real Prometheus (Debian: prometheus) that scrapes `lookaside metrics`, and the board of docs/grafana.json.

    prometheus.py LOOKASIDE PARCOMP

A program is served, with counters, and parcomp by a virtual function of the machine's device; promtool has nothing to say of what the exporter prints; Prometheus scrapes it without
an error; each metric that the board names is in the exporter's output, and each query of the board is one that Prometheus
answers. Those of what runs here have values. Exit status 77: there is no Prometheus.
"""

import gzip
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

BOARD = pathlib.Path(__file__).resolve().parents[3] / "docs/grafana.json"
SKIPPED = 77
# What the programs that are served here count, and what virtual functions have that are promised nothing; the others of
# the board belong to libraries and faults.
COUNTED = ["requests", "src_bytes", "queue_seconds", "service_seconds", "lanes", "busy_seconds", "server_up",
           *(f"function_{name}" for name in ("requests", "errors", "src_bytes", "dst_bytes", "device", "committed", "clients",
                                             "rings", "sessions", "queue", "memory", "refused", "cut_off"))]
SOURCE = 1 << 20
CONFIGURATION = """
engines = 1
[web]
weight = 3
[batch]
services = dc
"""


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def expressions(board):
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(found) > 10, found
    return found


def families(text):
    """The families of an output, as they are in its samples' names."""
    kinds = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE "))
    names = set()
    for name, kind in kinds.items():
        names.add(name)
        if kind == "histogram":
            names.update(f"{name}_{part}" for part in ("bucket", "sum", "count"))
    return names


def until(what, seconds, check):
    end = time.monotonic() + seconds
    while True:
        try:
            found = check()
        except OSError:
            found = None
        if found:
            return found
        if time.monotonic() > end:
            sys.exit(f"prometheus.py: {what} did not happen in {seconds} s")
        time.sleep(0.2)


def feed(pipe):
    """Keeps a program at work until it ends."""
    block = bytes(range(256)) * 256
    try:
        while True:
            pipe.write(block)
            time.sleep(0.01)
    except OSError:
        pass


def compress(parcomp, folder, environment, ended, runs):
    """Compresses one file after the other by a virtual function; the result is the file's."""
    source, packed = folder / "source", folder / "packed"
    source.write_bytes(bytes(range(256)) * (SOURCE // 256))
    environment = {**environment, "LOOKASIDE_DEVICE": str(folder / "server/web.sock")}
    while not ended.wait(0.05):
        subprocess.run([parcomp, "--force", source, "-o", packed], env=environment, check=True, capture_output=True)
        assert gzip.decompress(packed.read_bytes()) == source.read_bytes()
        runs.append(True)


def main(lookaside, parcomp):
    board = json.loads(BOARD.read_text())
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o700)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "LOOKASIDE_COUNTERS": "1"}
    started, runs, ended, compressing = [], [], threading.Event(), None

    def start(*command, **options):
        process = subprocess.Popen(command, env=environment, **options)
        started.append(process)
        return process

    try:
        served = start(lookaside, "scan", "abcd", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        threading.Thread(target=feed, args=(served.stdin,), daemon=True).start()
        port = free_port()
        environment.pop("LOOKASIDE_COUNTERS")
        server = folder / "server"
        start(lookaside, "metrics", "--listen", str(port), "--server", server, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}/metrics"
        until("a scrape without a server", 60, lambda: "\nlookaside_server_up 0\n" in get(url))
        (folder / "server.conf").write_text(CONFIGURATION)
        start(lookaside, "serve", "--config", folder / "server.conf", "--folder", server)
        until("a server", 60, (server / "web.sock").exists)
        compressing = threading.Thread(target=compress, args=(parcomp, folder, environment, ended, runs))
        compressing.start()
        counted = ['op="scan', 'lookaside_function_requests_total{function="web",service="dc"} ']
        text = until("a count", 60, lambda: all(one in page for one in counted) and page
                     if (page := get(url)) else None)
        assert "\nlookaside_server_up 1\n" in text

        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked
        print(f"promtool: {len(text.splitlines())} lines, nothing to say")

        named = set(re.findall(r"lookaside_\w+", BOARD.read_text()))
        missing = named - families(text)
        assert len(named) > 10 and not missing, f"the board names what there is not: {missing}"

        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
            f"scrape_configs: [{{job_name: lookaside, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
        )
        web = free_port()
        with open(folder / "log", "w") as log:
            start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                  f"--web.listen-address=127.0.0.1:{web}", stdout=log, stderr=log)
        api = f"http://127.0.0.1:{web}/api/v1"

        def scraped():
            targets = json.loads(get(f"{api}/targets"))["data"]["activeTargets"]
            assert all(not target["lastError"] for target in targets), targets
            return targets and all(target["health"] == "up" for target in targets)

        until("a scrape", 60, scraped)

        def query(expression):
            address = f"{api}/query?{urllib.parse.urlencode({'query': expression})}"
            answer = json.loads(get(address))
            assert answer["status"] == "success", answer
            return answer["data"]["result"]

        # Rates need two scrapes.
        until("a rate", 60, lambda: query("rate(lookaside_requests_total[10s]) > 0"))
        answered = 0
        for expression in expressions(board):
            asked = expression.replace("$__rate_interval", "10s").replace("$program", ".*").replace("$function", ".*")
            assert "$" not in asked, asked
            values = query(asked)
            answered += bool(values)
            assert values or not any(f"lookaside_{name}" in asked for name in COUNTED), f"no value: {asked}"
        assert not query("up == 0") and scraped()
        print(f"prometheus: scraped; {len(expressions(board))} queries of the board, {answered} with values")
        assert compressing.is_alive(), "parcomp failed: see above"
        ended.set()
        compressing.join()
        # All that was compressed, and nothing else.
        counted = re.search(r'lookaside_function_src_bytes_total{function="web",service="dc"} (\d+)', get(url))
        assert int(counted[1]) == len(runs) * SOURCE > 0, (counted, len(runs))
        print(f"server: {len(runs)} files of {SOURCE} bytes")
    finally:
        ended.set()
        if compressing:
            compressing.join()
        for process in reversed(started):
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    absent = [name for name in ("prometheus", "promtool") if not shutil.which(name)]
    if absent:
        print(f"SKIPPED: {' and '.join(absent)} (Debian: prometheus) not installed")
        sys.exit(SKIPPED)
    main(*map(os.path.abspath, sys.argv[1:]))
