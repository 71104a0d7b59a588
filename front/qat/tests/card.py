#!/usr/bin/env python3
"""libz.so.1 and the OpenSSL provider with a QuickAssist card: here our own libqat.so.4 plays it, also one that fails.

card.py LIBQAT LIBUSDM PROVIDER LIBZ

Programs as they are, with LOOKASIDE_CARD_LIBRARY: what they make is judged by the system's zlib and OpenSSL, and counters
prove who served. Faults are injected by crates/devices/qat/tests/faults.c.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import patient  # noqa: E402

# Built against the system's zlib and OpenSSL.
PYTHON = "/usr/bin/python3"
FAULTS = ["BUSY=20", "REFUSE=5", "LATE=30", "ERROR=5", "RESTART=1"]


class Failed(Exception):
    """A check did not hold; the text says how."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failed(what)


def text(length: int) -> bytes:
    """What compresses to about a third."""
    lines = (f"line {n} of {n * n % 977}: {n * 2654435761 % 4294967291:x}\n" for n in range(length // 20))
    return "".join(lines).encode()[:length]


class Cards:
    """The libraries, and cards made of them."""

    def __init__(self, args: argparse.Namespace, work: Path):
        self.args, self.work = args, work
        self.zlib = work / "zlib"
        self.zlib.mkdir()
        (self.zlib / "libz.so.1").symlink_to(args.libz.resolve())

    def sound(self) -> Path:
        """Our library, as it is."""
        folder = self.work / "card"
        if not folder.exists():
            folder.mkdir()
            (folder / "libqat.so.4").symlink_to(self.args.libqat.resolve())
            (folder / "libusdm.so.0").symlink_to(self.args.libusdm.resolve())
        return folder / "libqat.so.4"

    def built(self, name: str, source: Path, *options: str) -> Path:
        folder = self.work / name
        folder.mkdir()
        library = folder / "libqat.so.4"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "front/qat/include",
             f'-DREAL="{self.args.libqat.resolve()}"', source, *options, "-o", library], check=True)
        return library

    def faulty(self, seed: int, *faults: str) -> Path:
        """A wrapper that fails at random."""
        options = [f"-D{fault}" for fault in (f"SEED={seed}", *faults)]
        return self.built(f"faulty-{seed}", ROOT / "crates/devices/qat/tests/faults.c", *options)

    def run(self, card: Path | None, *command, **more) -> subprocess.CompletedProcess:
        """Runs a program with this card; whatever comes of it."""
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
        if card:
            variables["LOOKASIDE_CARD_LIBRARY"] = str(card)
        variables.update(more.pop("env", {}))
        return patient.run([str(c) for c in command], env=variables, capture_output=True, timeout=120, cwd=self.work,
                           **more)


# What a Python program does with zlib: whole buffers and streams of every wrapper, on several threads, and in a child.
COMPRESS = """
import os, sys, threading, zlib
data = open("data", "rb").read()
def one(n):
    made = zlib.compressobj(1 + n % 9, zlib.DEFLATED, [15, -15, 31][n % 3])
    with open(f"out{n}", "wb") as out:
        out.write(made.compress(data) + made.flush())
# While one thread starts the device, others would compress by themselves.
one(0)
threads = [threading.Thread(target=one, args=(n,)) for n in range(1, 6)]
[t.start() for t in threads]
[t.join() for t in threads]
if os.fork() == 0:
    one(6)
    sys.exit(0)
os.wait()
"""


def rows(report: str) -> dict[str, int]:
    """Bytes in of each row, summed over processes."""
    found: dict[str, int] = {}
    for name, taken in re.findall(r"^(\S.*?) +\d+ +(\d+) +\d+$", report, re.M):
        found[name.split(" (")[0]] = found.get(name.split(" (")[0], 0) + int(taken)
    return found


def libz(cards: Cards, card: Path | None, least: float, says: str = "", others: bool = False,
         preload: Path | None = None) -> str:
    """Compresses with our libz.so.1 and this card, which has to serve this share. Others compress beside us?"""
    data = text(3 << 20)
    (cards.work / "data").write_bytes(data)
    env = {"LD_LIBRARY_PATH": str(cards.zlib), "LOOKASIDE_STATS": str(cards.work / "stats"), "LOOKASIDE_ENGINES": "3",
           "LOOKASIDE_POLICY": "wait", "LOOKASIDE_CARD_TIMEOUT_MS": "200"}
    if preload:
        env["LD_PRELOAD"] = str(preload)
    (cards.work / "stats").unlink(missing_ok=True)
    ran = cards.run(card, PYTHON, "-c", COMPRESS, env=env)
    said = ran.stderr.decode()
    check(ran.returncode == 0 and (said == "" if not says else says in said and said.count("\n") == 1),
          f"exit status {ran.returncode}, {said!r}")
    for n in range(7):
        packed = (cards.work / f"out{n}").read_bytes()
        check(zlib.decompress(packed, [15, -15, 31][n % 3]) == data, f"stream {n} is another text")
    report = (cards.work / "stats").read_text()
    found = rows(report)
    by_card, by_cpu = (found.get(f"device {name}, dc.compress", 0) for name in ("qat", "cpu"))
    all_bytes = found.get("compress, pieces: device", 0)
    ours = 7 * len(data)
    check(others or by_card + by_cpu == all_bytes == ours, f"not all are counted:\n{report}")
    check(by_card >= least * ours if least else by_card == 0, f"the card did not serve:\n{report}")
    return f"{by_card} bytes by the card, {by_cpu} by the CPU"


# A card whose library uses a libz that is ours, as Intel's may by its libcrypto: that one must not start the card again.
NESTED = """
#include <stdio.h>
#include <stdlib.h>
#define icp_sal_userStart inner_start
#include "faults.c"
#undef icp_sal_userStart

int compress2(unsigned char *, unsigned long *, const unsigned char *, unsigned long, int);

CpaStatus icp_sal_userStart(const char *section)
{
    unsigned long len = 3 << 20, room = len + (len >> 3) + 64;
    unsigned char *from = calloc(1, len), *to = malloc(room);
    for (unsigned long i = 0; i < len; i++)
        from[i] = (unsigned char)(i * i >> 7);
    if (compress2(to, &room, from, len, 1))
        abort();
    FILE *seen = fopen("nested", "a");
    fprintf(seen, "started\\n");
    fclose(seen);
    free(from);
    free(to);
    return inner_start(section);
}
"""


# An allocator of the program's, in whose memory no other one finds its way: each piece has a head of its own.
ALLOCATOR = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void __libc_free(void *);

struct head { void *start; size_t len; uint64_t live; };
enum { LIVE = 0x11feb10c };

static struct head *head_of(void *p)
{
    struct head *head = (struct head *)p - 1;
    if (head->live != LIVE)
        abort();
    return head;
}

void *memalign(size_t align, size_t len)
{
    if (align < 16)
        align = 16;
    if (len > SIZE_MAX / 2)
        return NULL;
    char *start = __libc_malloc(sizeof(struct head) + align + len);
    if (!start)
        return NULL;
    uintptr_t at = ((uintptr_t)start + sizeof(struct head) + align - 1) & -align;
    ((struct head *)at)[-1] = (struct head){start, len, LIVE};
    return (void *)at;
}

void *malloc(size_t len) { return memalign(16, len); }
void *aligned_alloc(size_t align, size_t len) { return memalign(align, len); }
size_t malloc_usable_size(void *p) { return p ? head_of(p)->len : 0; }

int posix_memalign(void **to, size_t align, size_t len)
{
    *to = memalign(align, len);
    return *to ? 0 : 12;
}

void free(void *p)
{
    if (!p)
        return;
    struct head *head = head_of(p);
    head->live = 0;
    __libc_free(head->start);
}

void *calloc(size_t n, size_t each)
{
    size_t len;
    void *p = __builtin_mul_overflow(n, each, &len) ? NULL : malloc(len);
    return p ? memset(p, 0, len) : NULL;
}

void *realloc(void *old, size_t len)
{
    void *p = malloc(len);
    if (p && old) {
        size_t had = head_of(old)->len;
        memcpy(p, old, had < len ? had : len);
        free(old);
    }
    return p;
}
"""


def nested(cards: Cards, preload: Path | None = None) -> str:
    source = cards.work / "nested.c"
    source.write_text(NESTED)
    faults = ["-I", str(ROOT / "crates/devices/qat/tests"), "-DSEED=3"]
    card = cards.built(f"nested-card{'-allocator' if preload else ''}", source, *faults, str(cards.zlib / "libz.so.1"))
    said = libz(cards, card, 1.0, others=True, preload=preload)
    seen = cards.work / "nested"
    started = seen.read_text().count("started")
    seen.unlink()
    check(started == 2, f"the library was started {started} times, not once for the process and once for its child")
    return said


def allocator(cards: Cards) -> str:
    source, library = cards.work / "allocator.c", cards.work / "allocator.so"
    source.write_text(ALLOCATOR)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-fno-builtin", source, "-o", library], check=True)
    return nested(cards, library)


CONF = """openssl_conf = openssl_init
[openssl_init]
providers = providers
alg_section = algorithms
random = random
[algorithms]
default_properties = ?provider=lookaside
[random]
properties = provider=default
[providers]
default = default_provider
lookaside = lookaside_provider
[default_provider]
activate = 1
[lookaside_provider]
module = {module}
activate = 1
algorithms = all
statistics = {statistics}
"""


class Tls:
    """OpenSSL's program, by itself and with our provider."""

    def __init__(self, cards: Cards):
        self.cards, self.work = cards, cards.work
        (self.work / "lookaside.so").symlink_to(cards.args.provider.resolve())
        self.statistics = self.work / "statistics"
        text_of = CONF.format(module=self.work / "lookaside.so", statistics=self.statistics)
        (self.work / "ours.cnf").write_text(text_of)
        self.env = {"OPENSSL_CONF": str(self.work / "ours.cnf"), "LOOKASIDE_CARD_TIMEOUT_MS": "200"}
        for name, how in [("rsa", ["rsa:2048"]), ("ec", ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])]:
            self.stock("req", "-x509", "-newkey", *how, "-nodes", "-subj", "/CN=localhost", "-keyout", f"{name}.pem",
                       "-out", f"{name}.crt")
            self.stock("pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub")
        self.stock("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "peer.pem")
        self.stock("pkey", "-in", "peer.pem", "-pubout", "-out", "peer.pub")

    def stock(self, *args) -> bytes:
        ran = self.cards.run(None, "openssl", *args)
        check(ran.returncode == 0, f"openssl {' '.join(args)}: {ran.stderr.decode()}")
        return ran.stdout

    def ours(self, card: Path | None, *args) -> bytes:
        ran = self.cards.run(card, "openssl", *args, env=self.env)
        check(ran.returncode == 0, f"openssl {' '.join(args)}: {ran.stderr.decode()}")
        check(b"lookaside:" not in ran.stderr, ran.stderr.decode())
        return ran.stdout

    def served(self) -> dict[str, int]:
        """Requests by device and operation, since it was asked last."""
        found: dict[str, int] = {}
        for row, n in re.findall(r"^lookaside: (\w+ [\w.-]+): (\d+) requests", self.statistics.read_text(), re.M):
            found[row] = found.get(row, 0) + int(n)
        self.statistics.unlink()
        return found


def has(found: dict[str, int], *rows: str) -> str:
    for row in rows:
        check(found.get(row, 0) > 0, f"no {row}: {found}")
    return ", ".join(f"{row} {n}" for row, n in sorted(found.items()) if row.startswith("qat"))


def signatures(tls: Tls, card: Path) -> str:
    (tls.work / "text").write_bytes(b"what is signed")
    pss = ["-sigopt", "rsa_padding_mode:pss"]
    for name, options in [("rsa", []), ("rsa", pss), ("ec", [])]:
        tls.ours(card, "dgst", "-sha256", *options, "-sign", f"{name}.pem", "-out", "signature", "text")
        said = tls.stock("dgst", "-sha256", *options, "-verify", f"{name}.pub", "-signature", "signature", "text")
        check(b"Verified OK" in said, said.decode())
    derive = ["pkeyutl", "-derive", "-inkey", "ec.pem", "-peerkey", "peer.pub"]
    check(tls.ours(card, *derive) == tls.stock(*derive), "another secret")
    return has(tls.served(), "qat pke.rsa-private", "qat pke.ec-sign", "qat pke.ec-derive")


SUITES = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"]
CBC_SUITES = ["ECDHE-RSA-AES128-SHA256"]


def handshakes(tls: Tls, card: Path, number: int, suites: list[str], *options: str) -> str:
    """Our server, the system's client: a file comes through whole."""
    data = text(150_000)
    (tls.work / "file").write_bytes(data)
    port = free_port()
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **tls.env, "LOOKASIDE_CARD_LIBRARY": str(card)}
    command = ["openssl", "s_server", "-accept", str(port), "-WWW", "-quiet", "-naccept", str(number), "-key", "rsa.pem",
               "-cert", "rsa.crt", "-dkey", "ec.pem", "-dcert", "ec.crt", *options]
    with subprocess.Popen(command, env=env, cwd=tls.work, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as server:
        try:
            await_port(server, port)
            # What has found the port was a connection.
            for n in range(number - 1):
                client = patient.run(
                    ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2", "-cipher",
                     suites[n % len(suites)], "-no_etm", "-curves", "P-256", "-quiet", "-ign_eof"],
                    input=b"GET /file HTTP/1.0\r\n\r\n", capture_output=True, env={"PATH": env["PATH"]}, timeout=60,
                    beside=[server])
                check(client.stdout.endswith(data), f"connection {n}: {client.stderr.decode()[-500:]}")
            said = server.stderr.read().decode()
            check(patient.wait(server, 30) == 0 and "lookaside:" not in said, said)
        finally:
            server.kill()
    rows = ["pke.rsa-private", "pke.ec-derive", "sym.seal", *(["pke.ec-sign"] if suites == SUITES else [])]
    return has(tls.served(), *(f"qat {row}" for row in rows))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(server: subprocess.Popen, port: int) -> None:
    for _ in range(200):
        check(server.poll() is None, "the server does not start")
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return
        except OSError:
            time.sleep(0.05)
    raise Failed("nobody answers at the server's port")


def speed(tls: Tls, card: Path) -> str:
    """Jobs that pause."""
    said = tls.ours(card, "speed", "-seconds", "1", "-async_jobs", "12", "-mr", "rsa2048")
    check(b"+F2:" in said, said.decode())
    tls.ours(card, "speed", "-seconds", "1", "-async_jobs", "12", "-bytes", "8192", "-evp", "aes-128-cbc")
    return has(tls.served(), "qat pke.rsa-private", "qat sym.encrypt")


# Handshakes within one process, beside compression: both of our libraries have the card. Then the same in a child.
BOTH = """
import os, ssl, sys, zlib

def context(protocol):
    made = ssl.SSLContext(protocol)
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
    made.set_ecdh_curve("prime256v1")
    return made

server, client = context(ssl.PROTOCOL_TLS_SERVER), context(ssl.PROTOCOL_TLS_CLIENT)
server.load_cert_chain("rsa.crt", "rsa.pem")
client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
data = open("data", "rb").read()

def handshake():
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [server.wrap_bio(a, b, server_side=True), client.wrap_bio(b, a)]
    left = list(ends)
    for _ in range(20):
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not left, "no handshake"
    ends[0].write(data[:16000])
    assert ends[1].read(16000) == data[:16000]

def all_of_it():
    for n in range(3):
        handshake()
        assert zlib.decompress(zlib.compress(data, 1)) == data

all_of_it()
if os.fork() == 0:
    all_of_it()
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def both(tls: Tls, card: Path) -> str:
    cards = tls.cards
    data = text(3 << 20)
    (cards.work / "data").write_bytes(data)
    (cards.work / "stats").unlink(missing_ok=True)
    env = {**tls.env, "LD_LIBRARY_PATH": str(cards.zlib), "LOOKASIDE_STATS": str(cards.work / "stats")}
    ran = cards.run(card, PYTHON, "-c", BOTH, env=env)
    check(ran.returncode == 0 and not ran.stderr, f"exit status {ran.returncode}, {ran.stderr.decode()}")
    found = rows((cards.work / "stats").read_text())
    check(found.get("device qat, dc.compress") == 6 * len(data), f"{found}")
    served = tls.served()
    # Of the process and of its child.
    check(served.get("qat pke.rsa-private", 0) == 6, f"{served}")
    return has(served, "qat pke.rsa-private", "qat sym.seal", "qat sym.open")


def no_card(tls: Tls) -> str:
    ran = tls.cards.run(Path("/nowhere/libqat.so.4"), "openssl", "dgst", "-sha256", "-sign", "rsa.pem", "-out",
                        "signature", "text", env=tls.env)
    said = ran.stderr.decode()
    check(ran.returncode == 0 and said.count("\n") == 1 and "there is no such file" in said, said)
    tls.stock("dgst", "-sha256", "-verify", "rsa.pub", "-signature", "signature", "text")
    found = tls.served()
    check(found.get("cpu pke.rsa-private") == 1 and not any(row.startswith("qat") for row in found), f"{found}")
    return "one line, and the CPU"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("libqat", "libusdm", "provider", "libz"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    if not os.access(PYTHON, os.X_OK) or not shutil.which("openssl"):
        print("SKIPPED: no python3 or openssl of the system's")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory() as work:
        cards = Cards(args, Path(work))
        missing = Path("/nowhere/libqat.so.4")
        checks = [
            ("libz.so.1, a sound card", lambda: libz(cards, cards.sound(), 1.0)),
            ("libz.so.1, no card", lambda: libz(cards, None, 0)),
            ("libz.so.1, a card that is not there", lambda: libz(cards, missing, 0, "there is no such file")),
            ("libz.so.1, a card that fails", lambda: libz(cards, cards.faulty(1, *FAULTS, "FLIP=5"), 0.2)),
            ("libz.so.1, a card that hangs", lambda: libz(cards, cards.faulty(2, *FAULTS, "HANG=2"), 0.01)),
            ("libz.so.1 within a card's library", lambda: nested(cards)),
            ("libz.so.1, an allocator of the program's", lambda: allocator(cards)),
        ]
        tls, all_faults = Tls(cards), [*FAULTS, "FLIP=10"]
        checks += [
            ("the provider signs and derives", lambda: signatures(tls, cards.sound())),
            ("the provider with a card that is not there", lambda: no_card(tls)),
            ("both, and a child of a fork", lambda: both(tls, cards.sound())),
            ("a TLS server", lambda: handshakes(tls, cards.sound(), 5, SUITES)),
            ("a TLS server that pauses", lambda: handshakes(tls, cards.sound(), 5, SUITES, "-async")),
            ("a TLS server of CBC suites", lambda: handshakes(tls, cards.sound(), 3, CBC_SUITES, "-async")),
            ("a TLS server, a card that fails", lambda: handshakes(tls, cards.faulty(4, *all_faults), 13, SUITES)),
            ("jobs that pause", lambda: speed(tls, cards.sound())),
        ]
        for name, one in checks:
            try:
                print(f"{name}: {one()}")
            except (Failed, OSError, subprocess.SubprocessError) as e:
                failures += 1
                print(f"FAILED {name}: {e}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
