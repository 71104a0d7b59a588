#!/usr/bin/env python3
"""rspamd as packaged, with the system's Hyperscan and with ours: `rspamd.py LIBRARY`.

LIBRARY is our libhs.so.5. rspamd, with what it needs and is not here, comes from Debian's archive by an apt with settings of its
own (see `others`), is unpacked, not installed, and runs with the package's own rules, its state in a folder of its own. It compiles its maps
and rules when it starts, its helper writes databases that the other processes map, and each message must get the same
symbols with both libraries: two of ours, and all of rspamd's own functional tests. The counters show that ours served.
Exit status 77: the package cannot be had.
"""

import argparse
import importlib.machinery
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("others_zlib", str(ROOT / "front/zlib/tests/others"))
others = importlib.util.module_from_spec(importlib.util.spec_from_loader("others_zlib", loader))
loader.exec_module(others)

START_S = 90
# How many hours ago a message was written, or is to be, which changes while the test runs.
AGE = re.compile(r"^(DATE_IN_(?:PAST|FUTURE) \([^)]*\))\[\d+\]$")
# Symbols that say what the network has answered, and in which order.
NETWORK = re.compile(r"FAIL|DNS|NORES|URIBL|RBL|SPF|DMARC|ASN|DKIM|SURBL|timed out")

MESSAGES = {
    "spam": """\
Received: from mail.example.net (mail.example.net [192.0.2.10]) by mx.example.org; Tue, 24 Nov 2026 10:00:00 +0000
From: "Viagra Deals" <sales@example.net>
To: you@example.org
Subject: CHEAP VIAGRA and bitcoin wallet - act now!!!
Date: Tue, 24 Nov 2026 10:00:00 +0000
Message-ID: <abc@example.net>
MIME-Version: 1.0
Content-Type: text/html; charset=utf-8

<html><body><p>Dear friend, I recorded you through your webcam. Send $900 in bitcoin to
1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa within 48 hours. <a href="http://203.0.113.5/abc">click here</a>
unsubscribe Viagra Cialis lottery inheritance million dollars bank transfer</p>
<img src="http://203.0.113.6/1.gif" width="1" height="1"></body></html>
""",
    "plain": """\
From: Alice <alice@example.org>
To: Bob <bob@example.org>
Subject: Minutes of the meeting
Date: Tue, 24 Nov 2026 11:00:00 +0000
Message-ID: <min@example.org>
Content-Type: text/plain

Hi Bob,
the minutes are at https://wiki.example.org/minutes and call me at +1 555 0100.
Regards, Alice
""",
}


def free_ports(count: int) -> list:
    """Ports that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def text(file: Path) -> str:
    """What a file holds, which may not be there."""
    return file.read_text(errors="replace") if file.exists() else ""


def side(root: Path, folder: Path, library: list, messages: dict) -> tuple:
    """The symbols of each message, and what the counters say."""
    share = root / "usr/share/rspamd"
    local = folder / "local.d"
    for name in ("db", "run", "log", "local.d"):
        (folder / name).mkdir(parents=True)
    ports = dict(zip(("normal", "controller", "proxy"), free_ports(3)))
    for worker, port in ports.items():
        (local / f"worker-{worker}.inc").write_text(f'bind_socket = "127.0.0.1:{port}"; count = 1;\n')
    (local / "options.inc").write_text(
        f'dns {{ nameserver = "127.0.0.1:1"; timeout = 0.1s; retransmits = 1; }}\nhs_cache_dir = "{folder}/db";\n')
    log = folder / "log/rspamd.log"
    (local / "logging.inc").write_text(f'type = "file"; filename = "{log}"; level = "info";\n')
    places = {
        "CONFDIR": root / "etc/rspamd", "LOCAL_CONFDIR": folder, "RULESDIR": share / "rules", "SHAREDIR": share,
        "PLUGINSDIR": share / "plugins", "LUALIBDIR": share / "lualib", "DBDIR": folder / "db",
        "RUNDIR": folder / "run", "LOGDIR": folder / "log", "WWWDIR": share / "www",
    }
    own = ":".join(map(str, [root / "usr/lib/rspamd", *(root / "usr/lib").glob("*-linux-gnu")]))
    env = {**os.environ, "LD_LIBRARY_PATH": ":".join([*library, own]), "LOOKASIDE_STATS": str(folder / "stats")}
    command = [root / "usr/bin/rspamd", *(f"--var={name}={place}" for name, place in places.items()),
               "-f", "-i", "-c", root / "etc/rspamd/rspamd.conf"]
    if os.getuid() == 0:
        command[-2:-2] = ["-u", "root", "-g", "root"]
    with open(folder / "out", "wb") as out, \
            subprocess.Popen(command, env=env, stdout=out, stderr=out, start_new_session=True) as server:
        try:
            end = time.monotonic() + START_S
            # Until a worker has taken over what the helper has compiled.
            while not re.search(r"\(normal\).*hyperscan database of \d+ regexps has been loaded", text(log)):
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(text(folder / "out")[-2000:] + text(log)[-3000:])
                time.sleep(0.2)
            symbols = {}
            for name, message in messages.items():
                said = subprocess.run([root / "usr/bin/rspamc", "-h", f"127.0.0.1:{ports['normal']}", "symbols"],
                                      input=message, env={**env, "LD_LIBRARY_PATH": own}, timeout=60,
                                      stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
                found = re.findall(r"^Symbol: (.*)$", said, re.M)
                symbols[name] = sorted(AGE.sub(r"\1", one) for one in found if not NETWORK.search(one))
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
    return symbols, text(folder / "stats")


def main() -> int:
    """Both sides; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library", type=Path)
    o = a.parse_args()
    library = o.library.resolve(strict=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    try:
        archive = others.Archive((target / "others/hyperscan").resolve())
        root = archive.unpacked(archive.needed("rspamd"))
        messages = {name: text.encode() for name, text in MESSAGES.items()}
        for file in sorted((archive.source("rspamd") / "test/functional/messages").glob("*.eml")):
            messages[file.name] = file.read_bytes()
    except others.Missing as why:
        print(f"rspamd: {why}")
        return 77
    with tempfile.TemporaryDirectory(prefix="lookaside-rspamd-") as path:
        place = Path(path) / "library"
        place.mkdir()
        (place / "libhs.so.5").symlink_to(library)
        (stock, _), (ours, stats) = (side(root, Path(path) / name, with_library, messages)
                                     for name, with_library in (("stock", []), ("ours", [str(place)])))
    bad = 0
    for name in messages:
        for one in sorted(set(stock[name]) ^ set(ours[name])):
            print(f"FAILED  {name}: {one}: only with {'stock' if one in stock[name] else 'ours'}")
            bad += 1
    counts = {what: sum(map(int, re.findall(rf"^{re.escape(what)} +(\d+)", stats, re.M)))
              for what in ("scan.compile, databases", "scan.compile, patterns", "scan, block")}
    matches = sum(map(int, re.findall(r"^scan, block +\d+ +\d+ +(\d+)", stats, re.M)))
    if not all(counts.values()) or not matches:
        print(f"FAILED  the counters do not show that ours served: {counts}, {matches} matches\n{stats}")
        bad += 1
    symbols = sum(map(len, stock.values()))
    print(f"rspamd: {symbols} symbols of {len(messages)} messages, {bad} differences; ours: {counts}, {matches} matches")
    return 1 if bad or symbols < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
