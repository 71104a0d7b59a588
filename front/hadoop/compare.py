#!/usr/bin/env python3
"""TextSort with the system's zlib and with Lookaside's, on the same input, round by round.

scripts/hadoop builds what this runs; README.md says what it measures and why these settings. Each
run is a cluster of its own: a Java machine (`TextSort`) with resource manager, node manager and job
history, which starts the containers as processes: the application master and the tasks.

CPU time is what the kernel has counted for processes that ended. This script is the subreaper of
what it starts, so every process of a run, also one whose parent was killed before it, is waited for
here or by a parent that is; its children's times are in its own record. The counter
CPU_MILLISECONDS of the tasks stands beside it: it leaves out the application master, and the end of
each task.
"""

import argparse
import collections
import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
TICK = os.sysconf("SC_CLK_TCK")

# One run's settings: for every variant the same. README.md has the reasons.
SETTINGS = {
    "fs.defaultFS": "file:///",
    # HDFS's, not the 32 MB that local files pretend to: a splittable codec's files are cut there.
    "fs.local.block.size": 128 << 20,
    "io.file.buffer.size": 131072,
    "zlib.compress.level": "BEST_SPEED",
    "mapreduce.map.output.compress": "true",
    "mapreduce.output.fileoutputformat.compress": "true",
    "mapreduce.output.fileoutputformat.compress.codec": "org.apache.hadoop.io.compress.GzipCodec",
    "mapreduce.job.reduce.slowstart.completedmaps": "1.0",
    "mapreduce.map.speculative": "false",
    "mapreduce.reduce.speculative": "false",
    "mapreduce.map.memory.mb": 2048,
    "mapreduce.reduce.memory.mb": 2048,
    "mapreduce.map.java.opts": "-Xmx1600m",
    "mapreduce.reduce.java.opts": "-Xmx1600m",
    "mapreduce.task.io.sort.mb": 512,
    "yarn.app.mapreduce.am.resource.mb": 1024,
    "yarn.app.mapreduce.am.command-opts": "-Xmx768m",
    "yarn.minicluster.yarn.nodemanager.resource.memory-mb": 5120,
    "yarn.nodemanager.vmem-check-enabled": "false",
    # A full disk elsewhere on the machine is no reason to refuse.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
}

GZIP_CODEC = "org.lookaside.hadoop.LookasideCodec"
ZLIB_CODEC = "org.lookaside.hadoop.LookasideDeflateCodec"


class Failed(Exception):
    """A run or its verification went wrong; the message says what."""


def process(pid):
    """Name, parent, own CPU seconds and its waited-for children's, of a process or zombie."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
    fields = rest.split()
    own, children = (sum(map(int, fields[at : at + 2])) / TICK for at in (11, 13))
    return name, int(fields[1]), own, children


def libraries(pid):
    """The zlib libraries that a process has mapped."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            return {line.split()[-1] for line in maps if "/libz.so" in line or "lookaside" in line}
    except OSError:
        return set()


def descendants(root):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = process(int(name))[1]
            except (OSError, ValueError):
                pass
    found, added = {root}, True
    while added:
        added = {pid for pid, parent in parents.items() if parent in found} - found
        found |= added
    return found - {root}


def run(command, environment, folder, limit):
    """Runs to the end and returns what it printed, the CPU seconds of all its processes, those of
    `perf` alone, and which zlib each Java machine had mapped."""
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=err, start_new_session=True
        )
    started, looked = time.monotonic(), 0.0
    total = perf = 0.0
    mapped, code = {}, None
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            break
        if ended is not None:
            name, _, own, children = process(ended.si_pid)
            total += own + children
            if name == "perf":
                perf += own
            _, status = os.waitpid(ended.si_pid, 0)
            if ended.si_pid == child.pid:
                code = os.waitstatus_to_exitcode(status)
                child.returncode = code
            continue
        now = time.monotonic()
        if now - started > limit:
            for pid in descendants(os.getpid()):
                os.kill(pid, signal.SIGKILL)
            raise Failed(f"not at its end after {limit} s; see {folder}")
        if now - looked > 2:
            looked = now
            for pid in descendants(os.getpid()):
                libs = libraries(pid)
                if libs:
                    mapped[pid] = mapped.get(pid, set()) | libs
        time.sleep(0.05)
    if code != 0:
        tail = (folder / "err").read_text()[-3000:]
        raise Failed(f"exit status {code}; see {folder}\n{tail}")
    return (folder / "out").read_text(), total, perf, mapped


def shares(data):
    """Of each library's samples in containers, the share: from `perf script`."""
    script = ["perf", "script", "-i", str(data), "-F", "pid,ip,dso"]
    text = subprocess.run(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    counts = collections.Counter()
    cluster = None
    for line in text.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+[0-9a-f]+\s+\((.*)\)", line)
        if not match:
            continue
        pid, dso = int(match[1]), match[2]
        # The first process that perf saw is the cluster, not a container.
        cluster = cluster or pid
        if pid == cluster:
            continue
        name = os.path.basename(dso)
        if name.startswith("libz.so") or "lookaside" in name:
            counts["zlib"] += 1
        elif name.startswith("libjvm"):
            counts["jvm"] += 1
        elif "kernel" in dso or dso.startswith("["):
            counts["kernel" if "kernel" in dso else "java"] += 1
        elif name.startswith("perf-") or "anon" in dso or "jsa" in dso:
            counts["java"] += 1
        else:
            counts["other"] += 1
    whole = sum(counts.values())
    return {name: count / whole for name, count in counts.items()} if whole else {}


def digest(command):
    """SHA-256 of what a shell command prints."""
    with subprocess.Popen(["bash", "-c", "set -o pipefail; " + command], stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C"}) as shell:
        sha = hashlib.sha256()
        while block := shell.stdout.read(1 << 20):
            sha.update(block)
    if shell.returncode != 0:
        raise Failed(f"status {shell.returncode}: {command}")
    return sha.hexdigest()


class Comparison:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work).resolve()
        self.input = pathlib.Path(options.input).resolve()
        self.java = pathlib.Path(os.environ["JAVA_HOME"]) / "bin" / "java"
        self.perf = None if options.no_perf else shutil.which("perf")
        self.expected = self.sorted_digest()
        self.ran = collections.defaultdict(list)

    def sorted_digest(self):
        """What the job has to print, by sort(1) and gzip(1); kept beside the input."""
        kept = self.input.with_suffix(".sorted.sha256")
        if not kept.exists():
            scratch = self.input.parent
            text = digest(f"gzip -dc '{self.input}'/*.gz | sort -S 1G -T '{scratch}'")
            kept.write_text(text + "\n")
        return kept.read_text().strip()

    def variant(self, name, stats):
        """The settings that make a variant: how a user of it writes them."""
        if name == "stock":
            return {}
        library = self.options.library
        if name == "library":
            env = f"LD_LIBRARY_PATH={library},LOOKASIDE_STATS={stats}"
            return {"mapreduce.map.env": env, "mapreduce.reduce.env": env}
        if name == "codec":
            return {
                "io.compression.codecs": GZIP_CODEC,
                "mapreduce.map.output.compress.codec": ZLIB_CODEC,
                "mapreduce.output.fileoutputformat.compress.codec": GZIP_CODEC,
            }
        raise Failed(f"no variant {name}")

    def measure(self, name, number):
        folder = self.work / f"{number}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stats = folder / "stats"
        settings = {**SETTINGS, **dict(self.options.set), **self.variant(name, stats)}
        # MiniYARNCluster keeps its folders in ./target and YARN's in hadoop.tmp.dir.
        settings["hadoop.tmp.dir"] = folder / "tmp"
        settings["yarn.app.mapreduce.am.staging-dir"] = folder / "staging"
        command = [self.java, "-Xmx1g", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
        command += ["-cp", self.options.classpath]
        command += [f"-Dtest.build.data={folder}/data", "org.lookaside.textsort.TextSort"]
        command += [f"-D{key}={value}" for key, value in settings.items()]
        command += [f"--input={self.input}", f"--output={folder}/output"]
        command += [f"--reduces={self.options.reduces}"]
        if self.perf:
            record = [self.perf, "record", "-q", "-B", "-N", "-F", "99", "-e", "cpu-clock"]
            command = record + ["-o", str(folder / "perf.data"), "--"] + command
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOOKASIDE_")}
        environment.pop("LD_LIBRARY_PATH", None)
        environment.pop("LD_PRELOAD", None)
        text, total, perf, mapped = run(
            [str(part) for part in command], environment, folder, self.options.limit
        )
        found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        result = {key: int(value) for key, value in found.items() if value.isdigit()}
        result["all_cpu_s"] = total - perf
        result["containers_cpu_s"] = total - perf - result["process_cpu_ms"] / 1000
        result["shares"] = shares(folder / "perf.data") if self.perf else {}
        result["mapped"] = mapped
        result["stats"] = stats.read_text() if stats.exists() else ""
        self.verify(name, folder, mapped)
        self.ran[name].append(result)
        print(f"  {number} {name:8} {line_of(result)}", flush=True)
        if not self.options.keep:
            for part in ["output", "target", "tmp", "staging", "data", "perf.data"]:
                path = folder / part
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(True)

    def verify(self, name, folder, mapped):
        if digest(f"gzip -dc '{folder}'/output/part-r-*.gz") != self.expected:
            raise Failed(f"{name}: the output is not the sorted input; see {folder}")
        ours = {pid for pid, libs in mapped.items()
                if any(path.startswith(self.options.library or "//") for path in libs)}
        if name == "library" and not ours:
            raise Failed("no task had our library mapped")
        if name == "stock" and ours:
            raise Failed("a task of the stock run had our library mapped")


def line_of(result):
    return (
        f"containers {result['containers_cpu_s']:7.1f} s CPU   "
        f"tasks' counter {(result['map_cpu_ms'] + result['reduce_cpu_ms']) / 1000:7.1f}   "
        f"elapsed {result['elapsed_ms'] / 1000:6.1f} s   output {result['output_bytes']}"
    )


def table(ran):
    """The best of each variant's rounds, beside stock's."""
    rows = [
        ("containers' CPU s (kernel)", lambda r: r["containers_cpu_s"], "{:.1f}"),
        ("  of it maps (counter)", lambda r: r["map_cpu_ms"] / 1000, "{:.1f}"),
        ("  of it reduces (counter)", lambda r: r["reduce_cpu_ms"] / 1000, "{:.1f}"),
        ("all processes' CPU s", lambda r: r["all_cpu_s"], "{:.1f}"),
        ("elapsed s", lambda r: r["elapsed_ms"] / 1000, "{:.1f}"),
        ("map output, bytes", lambda r: r["map_materialized_bytes"], "{:.0f}"),
        ("output, bytes", lambda r: r["output_bytes"], "{:.0f}"),
    ]
    names = list(ran)
    print("\n" + " " * 28 + "".join(f"{name:>24}" for name in names))
    for title, value, form in rows:
        cells, base = [], None
        for name in names:
            best = min(value(result) for result in ran[name])
            base = best if base is None else base
            change = "" if name == names[0] else f" ({100 * (best / base - 1):+.1f} %)"
            cells.append(form.format(best) + change)
        print(f"{title:28}" + "".join(f"{cell:>24}" for cell in cells))
    for part in ["zlib", "java", "jvm", "kernel", "other"]:
        cells = []
        for name in names:
            found = [result["shares"].get(part, 0) for result in ran[name] if result["shares"]]
            cells.append(f"{100 * sum(found) / len(found):.1f} %" if found else "not measured")
        print(f"{'share of ' + part:28}" + "".join(f"{cell:>24}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--input", required=True, help="a folder of .gz text files")
    parser.add_argument("--work", required=True, help="a folder for the runs")
    parser.add_argument("--library", help="the folder of our libz.so.1")
    parser.add_argument("--variants", default="stock,library")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--reduces", type=int, default=2)
    parser.add_argument("--limit", type=int, default=1200, help="seconds for one run")
    parser.add_argument("--no-perf", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep outputs and logs")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        type=lambda text: tuple(text.split("=", 1)))
    options = parser.parse_args()
    if options.library:
        options.library = str(pathlib.Path(options.library).resolve())
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl(PR_SET_CHILD_SUBREAPER) failed")
    variants = options.variants.split(",")
    try:
        comparison = Comparison(options)
        for number in range(1, options.rounds + 1):
            # Every other round backwards: whatever drifts is the same for all.
            for name in variants if number % 2 else variants[::-1]:
                comparison.measure(name, number)
        table({name: comparison.ran[name] for name in variants})
        for name in variants:
            stats = comparison.ran[name][-1]["stats"]
            if stats:
                print(f"\nCounters of the last round, {name}:\n{stats}")
    except Failed as failure:
        sys.exit(f"hadoop: {failure}")


main()
