#!/usr/bin/env python3
"""Suricata as Debian 13 packages it, with its Hyperscan and with our libhs.so.5 in its place.

suricata.py LIBRARY --tree FOLDER [--megabytes N] [--rounds N] [--keep FILE]

A capture is made of traffic of this machine: curl and nginx over HTTP and TLS, DNS, SMTP and raw streams, in a network
of its own, with what trips each of some 4,000 rules. The rules are Suricata's own for events of protocols, and one for
each string in the lists of the package modsecurity-crs (files and commands that attacks ask for, errors that leak out),
in the buffer where it belongs, with every kind of Suricata's options of contents. Suricata reads the capture with either
library: all that it logs but times and memory must be equal. Then it runs as a daemon of another user who may start no
process, on live traffic. The counters show that ours served. CPU times are those of whole runs, and of runs with a
capture of one frame, which is what compiling the rules takes. Exit status 77: cannot run here, and why.
"""

import argparse
import base64
import collections
import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import shutil
import socket
import socketserver
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
from trixie import inside, make_tree, skip  # noqa: E402

PACKAGES = ["suricata", "modsecurity-crs"]
LISTS = "usr/share/modsecurity-crs/rules"
HTTP, HTTPS, RAW, DNS, SMTP = 80, 443, 5555, 53, 25
# The buffer that a list's strings are looked for in.
BUFFERS = {
    "lfi-os-files": "http.uri", "restricted-files": "http.uri", "scanners-urls": "http.uri",
    "php-function-names-933151": "http.request_body", "windows-powershell-commands": "http.request_body",
    "scanners-user-agents": "http.user_agent", "crawlers-user-agents": "http.user_agent",
    "scripting-user-agents": "http.user_agent", "sql-errors": "file.data", "php-errors": "file.data",
    "iis-errors": "file.data", "java-code-leakages": "file.data", "php-config-directives": "smtp",
    "unix-shell": "raw", "java-classes": "raw", "php-variables": "raw", "restricted-upload": "dns.query",
    "php-function-names-933150": "tls.sni",
}
# The largest file that is sent, in bytes: beyond 1 MB Suricata looks at no stream.
LARGEST = 200_000


def strings(tree: Path) -> list[tuple[str, bytes]]:
    """Each string with its buffer; a buffer has it once."""
    found: dict = {}
    for name, buffer in BUFFERS.items():
        for line in (tree / LISTS / f"{name}.data").read_bytes().splitlines():
            line = line.strip()
            if len(line) < 3 or line.startswith(b"#") or len(line) > 100:
                continue
            if buffer in ("dns.query", "tls.sni"):
                line = re.sub(rb"[^a-z0-9-]+", b"", line.lower())
            if line:
                found[buffer, line] = None
    return list(found)


def content(data: bytes) -> str:
    """In the words of a rule: what is no letter or digit as hexadecimal."""
    return re.sub(r"[^A-Za-z0-9 /._-]+", lambda m: "|" + m[0].encode("latin1").hex(" ") + "|", data.decode("latin1"))


def options(number: int, data: bytes) -> str:
    """A rule's contents for a string: the kinds of options in turn."""
    one, half = f'content:"{content(data)}";', len(data) // 2
    left, right = content(data[:half]), content(data[half:])
    return [
        one,
        one + " nocase;",
        f'content:"{left}"; content:"{right}"; distance:0; within:{len(data) - half};',
        one + f' content:"{right}"; nocase; pcre:"/{re.escape(data.decode("latin1")).replace("/", chr(92) + "/")}/i";'
        if re.fullmatch(rb"[\w ./-]+", data) else one,
        one + ' content:!"no such content"; nocase;',
        f'content:"{right}"; fast_pattern; content:"{left}"; nocase;',
        one + f" offset:0; depth:{8192 + len(data)};",
    ][number % 7]


def rules(found: list[tuple[str, bytes]]) -> str:
    heads = {"dns.query": "dns any any -> any any", "tls.sni": "tls any any -> any any",
             "raw": f"tcp any any -> any {RAW}", "smtp": f"tcp any any -> any {SMTP}"}
    lines = []
    for number, (buffer, data) in enumerate(found):
        head = heads.get(buffer, "http any any -> any any")
        sticky = "" if buffer in ("raw", "smtp") else f"{buffer}; "
        lines.append(f'alert {head} (msg:"{number}"; {sticky}{options(number, data)} sid:{9_000_000 + number};)')
    return "\n".join(lines) + "\n"


# What follows makes the traffic, in a network of its own (--capture).


class Sink(socketserver.StreamRequestHandler):
    """Reads what comes; speaks as an SMTP server where it is one."""

    def handle(self):
        if self.server.server_address[1] != SMTP:
            while self.rfile.read(65_536):
                pass
            return
        self.wfile.write(b"220 mx.example.org ESMTP\r\n")
        data = False
        for line in self.rfile:
            if data:
                data = line != b".\r\n"
                said = None if data else b"250 queued"
            elif line.upper().startswith(b"DATA"):
                data, said = True, b"354 go on"
            else:
                said = b"221 bye" if line.upper().startswith(b"QUIT") else b"250 ok"
            if said:
                self.wfile.write(said + b"\r\n")


class Names(socketserver.DatagramRequestHandler):
    """Answers each question with an address."""

    def handle(self):
        asked = self.rfile.read()
        self.wfile.write(asked[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + asked[12:]
                         + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1")


def network() -> None:
    """The loopback of this network, with frames as on a wire: no segments that a card would have cut or joined."""
    with socket.socket() as sock:
        # SIOCSIFMTU, and SIOCSIFFLAGS with IFF_UP and IFF_RUNNING.
        fcntl.ioctl(sock, 0x8922, struct.pack("16si20x", b"lo", 1500))
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh22x", b"lo", 0x41))
        # SIOCETHTOOL with ETHTOOL_STSO, SGSO and SGRO; where the loopback refuses, larger segments are in the capture.
        for command in (0x1F, 0x24, 0x2C):
            value = (ctypes.c_uint * 2)(command, 0)
            with contextlib.suppress(OSError):
                fcntl.ioctl(sock, 0x8946, struct.pack("16sP16x", b"lo", ctypes.addressof(value)))


def record(file: Path, stop: threading.Event) -> None:
    """Writes all frames of the loopback to a capture, as they leave."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock, open(file, "wb") as out:
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
        sock.bind(("lo", 3))
        sock.settimeout(0.2)
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        while True:
            try:
                frame, at = sock.recvfrom(65_535)
            except TimeoutError:
                if stop.is_set():
                    return
                continue
            if at[2] == socket.PACKET_OUTGOING:
                now = time.time_ns() // 1000
                out.write(struct.pack("<IIII", now // 1_000_000, now % 1_000_000, len(frame), len(frame)) + frame)


def nginx(folder: Path) -> subprocess.Popen:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key", "-out",
                    folder / "cert", "-subj", "/CN=example.org", "-days", "9"], check=True, capture_output=True)
    (folder / "nginx.conf").write_text(f"""
user root; worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; keepalive_requests 1000; gzip on; gzip_types *;
  server {{ listen {HTTP}; listen {HTTPS} ssl; ssl_certificate {folder}/cert; ssl_certificate_key {folder}/key;
    root {folder}/www; location /usr/ {{ root /; }} location /post {{ error_page 405 =200 /index.html; }} }}
}}
""")
    return subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "errors"])


def system_files(limit: int) -> list[Path]:
    """Texts, programs and pictures that every Debian has, to so many bytes in all: a part of each folder."""
    places = [Path("/usr") / name for name in ("share/doc", "lib/python3", "share/perl", "bin", "lib/x86_64-linux-gnu",
                                              "share/common-licenses", "include", "share/man")]
    found = []
    for place in places:
        size = 0
        for file in sorted(place.rglob("*")):
            if file.is_file() and not file.is_symlink() and 0 < file.stat().st_size <= LARGEST:
                size += file.stat().st_size
                found.append(file)
            if size > limit // len(places):
                break
    return found


def quoted(data: bytes) -> str:
    """A value in a configuration of curl."""
    return '"' + data.decode("latin1").replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def percent(data: bytes) -> str:
    return "".join(chr(b) if chr(b).isalnum() and b < 128 or b in b"/_-" else f"%{b:02x}" for b in data)


def http(found: list[tuple[str, bytes]], folder: Path, files: list[Path]) -> None:
    """All requests by two curls: one connection each, as browsers keep them."""
    www = folder / "www"
    www.mkdir()
    (www / "index.html").write_text("<html><body>It works</body></html>\n")
    base, requests = f"http://127.0.0.1:{HTTP}", []
    of = collections.defaultdict(list)
    for buffer, data in found:
        of[buffer].append(data)
    for data in of["http.uri"]:
        requests.append(f'url = "{base}/{percent(data.lstrip(b"/"))}"\npath-as-is\n'
                        if not data.startswith(b"/") else f'url = "{base}{percent(data)}"\npath-as-is\n')
    for data in of["http.user_agent"]:
        requests.append(f'url = "{base}/"\nuser-agent = {quoted(data)}\n')
    for data in of["http.request_body"]:
        requests.append(f'url = "{base}/post"\ndata-raw = {quoted(b"name=value&code=" + data + b"(1);")}\n')
    for number in range(0, len(of["file.data"]), 4):
        page = b"<p>" + b"</p>\n<p>".join(of["file.data"][number:number + 4]) + b"</p>\n"
        (www / f"{number}.html").write_bytes(page)
        requests.append(f'url = "{base}/{number}.html"\n' + ("compressed\n" if number % 8 else ""))
    for number, file in enumerate(files):
        requests.append(f'url = "{base}{percent(str(file).encode())}"\n' + ("compressed\n" if number % 2 else ""))
    for name in of["tls.sni"]:
        host = f"{name.decode()}.example.org"
        requests.append(f'url = "https://{host}/"\nresolve = "{host}:{HTTPS}:127.0.0.1"\ninsecure\n')
    for part in (0, 1):
        (folder / "curl").write_text("next\n".join(one + 'output = "/dev/null"\nsilent\n'
                                                   for one in requests[part::2]), encoding="latin1")
        subprocess.run(["curl", "-q", "-K", folder / "curl"], check=False)


def others(found: list[tuple[str, bytes]]) -> None:
    """Raw streams in pieces of odd sizes, mail, and questions for names."""
    raw = [data for buffer, data in found if buffer == "raw"]
    for number, data in enumerate(raw):
        with socket.create_connection(("127.0.0.1", RAW)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            text = b"x" * (number % 97) + data + b" y\n"
            for at in range(0, len(text), 1 + number % 13):
                sock.send(text[at:at + 1 + number % 13])
    mails = [data for buffer, data in found if buffer == "smtp"]
    for number in range(0, len(mails), 10):
        with socket.create_connection(("127.0.0.1", SMTP)) as sock, sock.makefile("rb") as answers:
            body = b"\r\n".join(mails[number:number + 10])
            mail = (b"Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n" + body
                    + b"\r\n--b\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=a.bin"
                    b"\r\n\r\n" + base64.encodebytes(body).replace(b"\n", b"\r\n") + b"--b--\r\n.")
            answers.readline()
            for line in (b"EHLO x", b"MAIL FROM:<a@example.org>", b"RCPT TO:<b@example.org>", b"DATA", mail, b"QUIT"):
                sock.sendall(line + b"\r\n")
                answers.readline()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        for number, (buffer, data) in enumerate(found):
            if buffer == "dns.query":
                name = b"".join(bytes([len(p)]) + p for p in (data[:60], b"example", b"org"))
                sock.sendto(struct.pack(">HHHHHH", number, 256, 1, 0, 0, 0) + name + b"\0\0\1\0\1", ("127.0.0.1", DNS))
                sock.recv(512)


def traffic(found: list[tuple[str, bytes]], megabytes: int) -> None:
    """All of it, once the network is there."""
    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer.request_queue_size = 128
    servers = [socketserver.ThreadingTCPServer(("127.0.0.1", port), Sink) for port in (RAW, SMTP)]
    servers.append(socketserver.ThreadingUDPServer(("127.0.0.1", DNS), Names))
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="lookaside-traffic-") as path, nginx(Path(path)) as web:
        try:
            for _ in range(100):
                with socket.socket() as sock:
                    if sock.connect_ex(("127.0.0.1", HTTP)) == 0:
                        break
                time.sleep(0.05)
            http(found, Path(path), system_files(megabytes << 20))
            others(found)
        finally:
            web.terminate()


def make_capture(found: list[tuple[str, bytes]], file: Path, megabytes: int) -> None:
    network()
    stop = threading.Event()
    thread = threading.Thread(target=record, args=(file, stop))
    thread.start()
    time.sleep(0.1)
    try:
        traffic(found, megabytes)
    finally:
        stop.set()
        thread.join()


# What follows runs Suricata.

# What Suricata draws at random: where it inspects the pieces of bodies and streams.
FIXED = ("--set app-layer.protocols.http.libhtp.default-config.randomize-inspection-sizes=no "
         "--set stream.reassembly.randomize-chunk-size=no "
         # Their rules are there, and the configuration as packaged has them off.
         "--set app-layer.protocols.modbus.enabled=yes --set app-layer.protocols.dnp3.enabled=yes")
# What differs from run to run: times, random numbers, memory, and how long the engine took.
VOLATILE = {"timestamp", "flow_id", "start", "end", "uptime", "last_reload", "age", "first", "last"}
# Statistics of flows that threads of their own keep, which look at them when they are scheduled.
MANAGED = tuple(f".flow.{name}" for name in ("mgr", "recycler", "spare", "active", "wrk"))


def stable(value):
    """An event without what differs from run to run."""
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in VOLATILE and "mem" not in k}
    return [stable(one) for one in value] if isinstance(value, list) else value


def numbers(value, path: str = "") -> list[dict]:
    """The numbers of a tree, with their places in it."""
    if path.endswith(MANAGED):
        return []
    if isinstance(value, (dict, list)):
        each = value.items() if isinstance(value, dict) else enumerate(value)
        return [found for name, one in each for found in numbers(one, f"{path}.{name}")]
    return [{"name": path, "value": value}]


class Suricata:
    """The tree, with a folder to work in and our library."""

    def __init__(self, tree: Path, work: Path, library: Path):
        self.tree, self.work = tree, work
        ours = tree / "opt/lookaside-hyperscan"
        ours.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, ours / "libhs.so.5")
        self.inner = Path("/") / work.relative_to(tree)

    def command(self, ours: bool, out: str, more: str) -> str:
        library = (f"export LD_LIBRARY_PATH=/opt/lookaside-hyperscan LOOKASIDE_STATS={self.inner}/{out}/counters; "
                   if ours else "")
        # The daemon, as another user, adds its counters to those of the process that has started it.
        return (f"mkdir -m 777 {self.inner}/{out}; touch {self.inner}/{out}/counters; "
                f"chmod 666 {self.inner}/{out}/counters; {library}suricata -c /etc/suricata/suricata.yaml -k none "
                f"-S {self.inner}/rules -l {self.inner}/{out} --set mpm-algo=hs --set spm-algo=hs {FIXED} {more}")

    def read(self, ours: bool, capture: str, out: str) -> tuple[list[str], str, float]:
        """The events of a capture, the counters, and the CPU time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = inside(self.tree, self.command(ours, out, f"-r {self.inner}/{capture} --runmode single"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if ran.returncode:
            raise RuntimeError(f"suricata: {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
        events, counters = self.results(out)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return events, counters, seconds

    def results(self, out: str) -> tuple[list[str], str]:
        folder = self.work / out
        events = [stable(json.loads(line)) for line in (folder / "eve.json").read_text().splitlines()]
        # Of the statistics, which are written every 8 seconds, the last; each number by itself.
        last = [{"event_type": "stats", **one} for one in numbers(
            [one["stats"] for one in events if one["event_type"] == "stats"][-1:])]
        events = [one for one in events if one["event_type"] != "stats"] + last
        counters = folder / "counters"
        text = counters.read_text() if counters.exists() else ""
        shutil.rmtree(folder)
        return sorted(json.dumps(one, sort_keys=True) for one in events), text

    def live(self, found: list[tuple[str, bytes]]) -> tuple[int, str]:
        """As the package's service starts it, and with all that its configuration can take away: the alerts."""
        user = "--user=nobody --group=nogroup --set security.limit-noproc=true"
        start = self.command(True, "live", f"-D --af-packet=lo --pidfile {self.inner}/pid {user}")
        script = (f'{start} && for n in $(seq 300); do grep -q "Engine started" {self.inner}/live/suricata.log && break; '
                  f"sleep 0.1; done; touch {self.inner}/ready; while [ ! -e {self.inner}/sent ]; do sleep 0.1; done; "
                  f"pid=$(cat {self.inner}/pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done")
        sender = threading.Thread(target=self.send, args=(found,))
        sender.start()
        ran = inside(self.tree, f"{script}")
        sender.join()
        if ran.returncode:
            raise RuntimeError(f"suricata -D: {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
        events, counters = self.results("live")
        return sum('"event_type": "alert"' in one for one in events), counters

    def send(self, found: list[tuple[str, bytes]]) -> None:
        end = time.monotonic() + 60
        while not (self.work / "ready").exists() and time.monotonic() < end:
            time.sleep(0.1)
        try:
            traffic(found, 0)
            time.sleep(1)
        finally:
            (self.work / "sent").touch()


def served(counters: str) -> tuple[int, int]:
    """Databases that ours compiled, and its scans."""
    return tuple(sum(map(int, re.findall(rf"^{re.escape(what)} +(\d+)", counters, re.M)))
                 for what in ("scan.compile, databases", "scan, block"))


def main() -> int:
    """Both sides; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library", type=Path)
    a.add_argument("--tree", type=Path, required=True)
    a.add_argument("--megabytes", type=int, default=8, help="how much of this system's files is in the traffic")
    a.add_argument("--rounds", type=int, default=1, help="with more, medians of the CPU times")
    a.add_argument("--keep", type=Path, help="where the capture is left")
    a.add_argument("--inside", choices=["capture", "live"], help=argparse.SUPPRESS)
    a.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    o = a.parse_args()
    tree = o.tree.absolute()
    if o.inside == "capture":
        make_capture(strings(tree), o.work / "traffic.pcap", o.megabytes)
        return 0
    if o.inside == "live":
        network()
        alerts, counters = Suricata(tree, o.work, o.library).live(strings(tree))
        print(json.dumps([alerts, served(counters)]))
        return 0
    missing = [name for name in ("nginx", "curl", "openssl") if not shutil.which(name)]
    if missing:
        skip(f"no {', '.join(missing)}, which make the traffic")
    make_tree(tree, PACKAGES)
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode:
        skip("no network of its own can be made here (unshare --net)")
    bad = 0

    def check(holds: bool, what: str) -> None:
        nonlocal bad
        if not holds:
            bad += 1
            print(f"FAILED  {what}")

    with tempfile.TemporaryDirectory(dir=tree / "tmp", prefix="suricata-") as path:
        work = Path(path)
        work.chmod(0o755)
        found = strings(tree)
        own = "".join(p.read_text() for p in sorted((tree / "etc/suricata/rules").glob("*.rules")))
        (work / "rules").write_text(own + rules(found), encoding="latin1")
        again = ["unshare", "--net", sys.executable, __file__, o.library.resolve(strict=True), "--tree", tree,
                 "--work", work, "--megabytes", str(o.megabytes), "--inside"]
        subprocess.run([*again, "capture"], check=True)
        # Suricata refuses a capture without a frame.
        frames = (work / "traffic.pcap").read_bytes()
        (work / "one-frame.pcap").write_bytes(frames[:40 + int.from_bytes(frames[32:36], "little")])
        if o.keep:
            shutil.copyfile(work / "traffic.pcap", o.keep)
        suricata = Suricata(tree, work, o.library)
        times = collections.defaultdict(list)
        for _ in range(o.rounds):
            for capture in ("traffic.pcap", "one-frame.pcap"):
                (stock, none, stock_s), (ours, counters, ours_s) = (
                    suricata.read(side, capture, "out") for side in (False, True))
                times[capture, "stock"].append(stock_s), times[capture, "ours"].append(ours_s)
                check(not none, "counters without our library")
                check(served(counters)[0] > 0, f"{capture}: we compiled nothing: {counters}")
                differ = collections.Counter(stock), collections.Counter(ours)
                for name, one in (("the original", differ[0] - differ[1]), ("ours", differ[1] - differ[0])):
                    for event in list(one)[:10]:
                        check(False, f"{capture}, only with {name}: {event[:600]}")
                if capture == "traffic.pcap":
                    events, scans = stock, served(counters)
        check(scans[1] > 0, "we scanned nothing")
        alerts = [json.loads(one)["alert"]["signature_id"] for one in events if '"event_type": "alert"' in one]
        tripped = {sid for sid in alerts if sid >= 9_000_000}
        kinds = collections.Counter(json.loads(one)["event_type"] for one in events)
        check(len(tripped) >= 0.9 * len(found), f"only {len(tripped)} of {len(found)} rules were tripped: "
              f"{[found[n] for n in range(len(found)) if 9_000_000 + n not in tripped][:20]}")
        refused, loaded = (next(one["value"] for one in map(json.loads, events) if one.get("name", "").endswith(name))
                           for name in (".rules_failed", ".rules_loaded"))
        check(refused == 0, f"Suricata refused {refused} rules")
        size = (work / "traffic.pcap").stat().st_size
        print(f"suricata: {size >> 20} MB of traffic, {loaded} rules, {len(tripped)} of {len(found)} of "
              f"ours tripped; {dict(kinds)}; ours: {scans[0]} databases, {scans[1]} scans")
        live = subprocess.run([*again, "live"], check=True, stdout=subprocess.PIPE, text=True).stdout
        alerts, scans = json.loads(live.splitlines()[-1])
        check(alerts > 0 and min(scans) > 0, f"the daemon: {alerts} alerts; ours: {scans}")
        print(f"suricata -D: {alerts} alerts; ours: {scans[0]} databases, {scans[1]} scans")
    middle = {key: statistics.median(values) for key, values in times.items()}
    for capture in ("one-frame.pcap", "traffic.pcap"):
        stock, ours = middle[capture, "stock"], middle[capture, "ours"]
        print(f"CPU time, {capture}: {stock:.2f} s with the original, {ours:.2f} s with ours: {stock / ours:.2f} x")
    stock, ours = (middle["traffic.pcap", side] - middle["one-frame.pcap", side] for side in ("stock", "ours"))
    print(f"CPU time, packets alone: {stock:.2f} s, {ours:.2f} s: {stock / ours:.2f} x")
    print(f"suricata: {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
