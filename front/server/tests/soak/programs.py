"""The programs of the soak: each runs with a virtual function, and what it made is checked without Lookaside."""

import gzip
import hashlib
import hmac
import os
import random
import shutil
import signal
import ssl
import socket
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

from machine import Failed

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "bench" / "openssl"))

import openssl_conf  # noqa: E402  (found by the line above)

# How long a program may take on a busy machine before it counts as hung.
HUNG = 180

# Python with our libz.so.1: buffers above the threshold compressed and decompressed, in two children at once too.
ZLIB_USER = """
import os, sys, zlib
data = open(sys.argv[1], "rb").read()
level, out = int(sys.argv[2]), sys.argv[3]
def work(name, data):
    packed = zlib.compress(data, level)
    if zlib.decompress(packed) != data:
        sys.exit("decompressed to other bytes")
    with open(out + name, "wb") as file:
        file.write(packed)
work(".0", data)
children = []
for name in (".1", ".2"):
    pid = os.fork()
    if pid == 0:
        work(name, data[int(name[1:]) * 1000:])
        os._exit(0)
    children.append(pid)
work(".3", data[::-1])
for pid in children:
    if os.waitpid(pid, 0)[1]:
        sys.exit("a child failed")
"""


class Built:
    """What the soak is made of: our libraries and programs."""

    def __init__(self, folder: Path, work: Path):
        self.lookaside = folder / "lookaside"
        self.parcomp = folder / "parcomp"
        self.libz = folder / "zlib"
        self.provider = folder / "liblookaside_provider.so"
        self.capi = folder / "capi"
        self.client = folder / "examples" / "soak_client"
        for path in (self.lookaside, self.parcomp, self.libz / "libz.so.1", self.provider, self.client,
                     self.capi / "liblookaside.so.0"):
            if not path.exists():
                raise SystemExit(f"{path} is missing: scripts/test shared builds all that is needed")
        self.c_client = work / "compress"
        subprocess.run(["cc", "-O1", "-I", ROOT / "crates/capi/include", ROOT / "crates/capi/examples/compress.c",
                        "-o", self.c_client, f"-L{self.capi}", "-l:liblookaside.so.0", f"-Wl,-rpath,{self.capi}"],
                       check=True)


class Files:
    """Inputs: bytes that a seed decides, some of which compress."""

    def __init__(self, folder: Path, rng: random.Random):
        folder.mkdir()
        words = [rng.randbytes(rng.randrange(2, 12)) for _ in range(400)]
        self.paths = []
        for n, size in enumerate((0, 1, 70_000, 600_000, 1_500_000, 3_000_000)):
            data = b"".join(rng.choices(words, k=size // 6 + 1))[:size]
            # A part that does not compress.
            data = data[:size * 3 // 4] + rng.randbytes(size - size * 3 // 4)
            path = folder / f"input-{n}"
            path.write_bytes(data)
            self.paths.append(path)

    def any(self, rng: random.Random, least: int = 0) -> Path:
        """One of them, of at least so many bytes."""
        return rng.choice([path for path in self.paths if path.stat().st_size >= least])


class Place:
    """Where a program runs: its virtual function, its folder, and when it is killed."""

    def __init__(self, soak, rng: random.Random, function: Path, policy: str, folder: Path):
        self.soak, self.rng, self.function, self.folder = soak, rng, function, folder
        self.policy = policy
        self.env = {**soak.env, "LOOKASIDE_DEVICE": str(function), "LOOKASIDE_DEVICE_POLICY": policy}
        self.kill_after = rng.uniform(0.0, 0.4) if rng.random() < 0.3 else None
        self.killed = False
        # The server of this function is never killed.
        self.lasting = soak.lasting.folder in function.parents

    def run(self, *command, **env) -> bytes | None:
        """Runs a program; what it wrote. `None`: it was killed, and nothing is asked of what it did."""
        out, err = self.folder / "out", self.folder / "err"
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen([str(word) for word in command], env={**self.env, **env}, stdout=to,
                                       stderr=errors, stdin=subprocess.DEVNULL, cwd=self.folder)
        try:
            process.wait(HUNG if self.kill_after is None else self.kill_after)
        except subprocess.TimeoutExpired:
            hung = self.kill_after is None
            if hung and shutil.which("gdb"):
                subprocess.run(["gdb", "-p", str(process.pid), "-batch", "-ex", "thread apply all bt"], check=False)
            process.kill()
            process.wait()
            if hung:
                raise Failed(f"{command}: no end within {HUNG} s; its server: {self.function}") from None
            self.killed = True
        self.soak.count("killed" if self.killed else "ran", 1)
        said = err.read_text(errors="replace")
        if not self.killed and process.returncode:
            raise Failed(f"{command} with {self.function}, {self.policy}: exit status {process.returncode}\n"
                         f"{said[-3000:]}")
        if "no shared device" in said and self.lasting:
            raise Failed(f"{command}: {said[-1000:]}\nbut the server of {self.function} is there")
        return None if self.killed else out.read_bytes()


def judge(command: list, data: bytes) -> bytes:
    """What a program of the system makes of these bytes."""
    ran = subprocess.run(command, input=data, capture_output=True, check=False)
    if ran.returncode:
        raise Failed(f"{command} refuses what was made: {ran.stderr[-500:]}")
    return ran.stdout


def same(what: str, made: bytes, expected: bytes) -> None:
    """Fails where bytes differ."""
    if made != expected:
        at = next((i for i, (a, b) in enumerate(zip(made, expected)) if a != b), min(len(made), len(expected)))
        raise Failed(f"{what}: {len(made)} bytes, not the {len(expected)} expected; the first that differs: {at}")


FORMATS = {"gzip": (["gzip", "-dc"], ["gzip", "-c"]), "zstd": (["zstd", "-dcq"], ["zstd", "-cq"]),
           "lz4": (["lz4", "-dcq"], ["lz4", "-cq"])}


def parcomp_compresses(place: Place) -> None:
    """parcomp, and gzip, zstd, lz4 read it."""
    name = place.rng.choice(list(FORMATS))
    source = place.soak.files.any(place.rng)
    packed = place.folder / "packed"
    engines = str(place.rng.randrange(3))
    if place.run(place.soak.built.parcomp, "--format", name, "--force", "--engines", engines, source, "-o",
                 packed) is not None:
        same(f"parcomp --format {name} {source}", judge(FORMATS[name][0], packed.read_bytes()), source.read_bytes())


def parcomp_decompresses(place: Place) -> None:
    """What gzip, zstd, lz4 made, parcomp reads."""
    name = place.rng.choice(list(FORMATS))
    source = place.soak.files.any(place.rng)
    suffix = {"gzip": "gz", "zstd": "zst", "lz4": "lz4"}[name]
    packed, made = place.folder / f"packed.{suffix}", place.folder / "made"
    packed.write_bytes(judge(FORMATS[name][1], source.read_bytes()))
    if place.run(place.soak.built.parcomp, "-d", "--force", packed, "-o", made) is not None:
        same(f"parcomp -d, {name}", made.read_bytes(), source.read_bytes())


def python_with_libz(place: Place) -> None:
    """Python's zlib with our libz.so.1, which forks; zlib reads it."""
    source = place.soak.files.any(place.rng, 600_000)
    made = place.folder / "z"
    level = place.rng.randrange(1, 10)
    if place.run("/usr/bin/python3", "-c", ZLIB_USER, source, level, made,
                 LD_LIBRARY_PATH=str(place.soak.built.libz), LOOKASIDE_THRESHOLD="131072") is not None:
        data = source.read_bytes()
        for n, expected in enumerate((data, data[1000:], data[2000:], data[::-1])):
            same(f"zlib.compress, level {level}", zlib.decompress(Path(f"{made}.{n}").read_bytes()), expected)


def pigz_with_libz(place: Place) -> None:
    """pigz with our libz.so.1; zlib reads it."""
    source = place.soak.files.any(place.rng, 600_000)
    made = place.run("pigz", "-c", "-p", "2", "-b", "512", source, LD_LIBRARY_PATH=str(place.soak.built.libz),
                     LOOKASIDE_THRESHOLD="131072")
    if made is not None:
        same("pigz", gzip.decompress(made), source.read_bytes())


def c_program(place: Place) -> None:
    """The example of the C interface; zlib reads it."""
    source = place.soak.files.any(place.rng)
    made = place.run(place.soak.built.c_client, source)
    if made is not None:
        same("compress.c", gzip.decompress(made), source.read_bytes())


def rust_program(place: Place) -> None:
    """The client of all services, which forks; Python and OpenSSL say whether it is right, killed or not."""
    if place.policy != "wait" and place.rng.random() < 0.2:
        place.env["LOOKASIDE_DEVICE_POLICY"] = "fail"
    requests = place.rng.randrange(30, 150)
    seed, engines = place.rng.randrange(1 << 40), place.rng.randrange(3)
    place.run(place.soak.built.client, seed, requests, engines)
    lines = (place.folder / "out").read_bytes().split(b"\n")[:-1]
    key = 0
    randoms = set()
    for line in lines:
        fields = line.decode().split(" ")
        if fields[0] == "key":
            key = int(fields[1], 16)
        elif fields[0] != "end":
            check_line(fields, key, randoms)
    place.soak.count("requests", len(lines))
    if not place.killed and lines[-1:] != [b"end"]:
        raise Failed("the Rust program did not come to its end")


def check_line(fields: list[str], key: int, randoms: set) -> None:
    """One result of the Rust program."""
    what, *parameters = fields[0].split(":")
    source, made = bytes.fromhex(fields[1]), bytes.fromhex(fields[2])
    if what == "gzip":
        same(what, gzip.decompress(made), source)
    elif what == "sha256":
        same(what, made, hashlib.sha256(source).digest())
    elif what == "hmac":
        same(what, made, hmac.digest(bytes.fromhex(parameters[0]), source, "sha256"))
    elif what == "cbc":
        same(what, made, judge(["openssl", "enc", "-aes-128-cbc", "-nopad", "-K", parameters[0], "-iv",
                                parameters[1]], source))
    elif what == "hkdf":
        same(what, made, hkdf(source[:32], source[32:48], source[48:], 80))
    elif what == "copy":
        same(what, made, source)
    elif what == "rsa":
        # EMSA-PKCS1-v1_5 of SHA-256 (RFC 8017 section 9.2).
        info = bytes.fromhex("3031300d060960864801650304020105000420") + source
        padded = b"\0\1" + b"\xff" * (256 - 3 - len(info)) + b"\0" + info
        same(what, pow(int.from_bytes(made, "big"), 65537, key).to_bytes(256, "big"), padded)
    elif what == "random":
        if made[:16] in randoms or len(set(made)) < 10:
            raise Failed(f"random numbers that are none: {made.hex()}")
        randoms.add(made[:16])
    else:
        raise Failed(f"a line that says {what}")


def hkdf(key: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869 with SHA-256."""
    pseudorandom = hmac.digest(salt, key, "sha256")
    made = block = b""
    while len(made) < length:
        block = hmac.digest(pseudorandom, block + info + bytes([len(made) // 32 + 1]), "sha256")
        made += block
    return made[:length]


def openssl_signs(place: Place) -> None:
    """openssl with the provider signs; openssl without it verifies."""
    soak = place.soak
    source = soak.files.any(place.rng)
    signature = place.folder / "signature"
    if place.run("openssl", "dgst", "-sha256", "-sign", soak.certificate, "-out", signature, source,
                 OPENSSL_CONF=soak.conf) is not None:
        ran = subprocess.run(["openssl", "dgst", "-sha256", "-verify", soak.public, "-signature", signature, source],
                             env=soak.plain, capture_output=True, check=False)
        if ran.returncode:
            raise Failed(f"a signature of the provider is not right: {ran.stdout} {ran.stderr}")


def openssl_speed(place: Place) -> None:
    """openssl speed with the provider, two processes at once. It checks no result; it has to end well."""
    place.run("openssl", "speed", "-multi", "2", "-seconds", "1", "rsa2048", OPENSSL_CONF=place.soak.conf)


def tls_client(place: Place) -> None:
    """Python, without Lookaside, downloads from the servers that have the provider."""
    context = ssl.create_default_context(cafile=str(place.soak.certificate))
    if place.rng.random() < 0.5:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    source = place.soak.files.any(place.rng)
    for server in place.soak.tls:
        with server.lock:
            try:
                made = download(context, server.port, source.name)
            except OSError as e:
                raise Failed(f"{server.name}: {e}\n{server.log.read_text()[-1000:]}") from e
        same(f"{source.name} of {server.name}", made, source.read_bytes())
        place.soak.count("downloads", 1)


def download(context: ssl.SSLContext, port: int, name: str) -> bytes:
    """The body of one answer."""
    with socket.create_connection(("127.0.0.1", port), 60) as plain, \
            context.wrap_socket(plain, server_hostname="localhost") as tls:
        tls.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
        parts = []
        # openssl s_server closes without saying so.
        tls.suppress_ragged_eofs = True
        while part := tls.recv(1 << 16):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise Failed(f"the server answers {head[:200]}")
    return body


class TlsServer:
    """nginx or openssl s_server with the provider, whose device is killed again and again."""

    def __init__(self, soak, name: str, port: int, function: Path):
        self.soak, self.name, self.port = soak, name, port
        self.lock = threading.Lock()
        self.log = soak.work / f"{name}.log"
        self.env = {**soak.env, "LOOKASIDE_DEVICE": str(function), "OPENSSL_CONF": soak.conf}
        self.process = None
        self.start()

    def command(self) -> list:
        """Of each: a port, the certificate, the folder of the inputs."""
        soak = self.soak
        if self.name == "s_server":
            return ["openssl", "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", soak.certificate,
                    "-key", soak.certificate, "-WWW", "-quiet"]
        conf = soak.work / "nginx.conf"
        conf.write_text(
            "daemon off;\nworker_processes 2;\n"
            f"pid {soak.work}/nginx.pid;\nerror_log {self.log};\n"
            + ("user root;\n" if os.geteuid() == 0 else "")
            # nginx clears the environment of its workers; what they need of it is named.
            + "env OPENSSL_CONF;\nenv LOOKASIDE_DEVICE;\n"
            "events { worker_connections 128; }\nhttp {\n"
            + "".join(f"  {name}_temp_path {soak.work}/{name};\n" for name in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + "  access_log off; ssl_session_cache off; ssl_session_tickets off;\n"
            f"  server {{ listen 127.0.0.1:{self.port} ssl; root {soak.inputs};\n"
            f"    ssl_certificate {soak.certificate}; ssl_certificate_key {soak.certificate};\n"
            "    ssl_protocols TLSv1.2 TLSv1.3; }\n}\n")
        return ["nginx", "-e", self.log, "-p", soak.work, "-c", conf]

    def start(self) -> None:
        """Returns when it listens."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen([str(word) for word in self.command()], env=self.env, stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL, cwd=self.soak.inputs)
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise Failed(f"{self.name} does not listen:\n{self.log.read_text()[-2000:]}") from None
                time.sleep(0.02)

    def disturb(self, rng: random.Random) -> None:
        """`kill -9`: of s_server, which is started again; of one of nginx's workers, whom nginx replaces."""
        with self.lock:
            if self.process.poll() is not None:
                raise Failed(f"{self.name} ended:\n{self.log.read_text()[-2000:]}")
            if self.name == "s_server":
                self.process.kill()
                self.process.wait()
                self.start()
            else:
                text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
                if workers := text.split():
                    os.kill(int(rng.choice(workers)), signal.SIGKILL)

    def stop(self) -> None:
        """Ends it."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# What runs, how often beside the others, and by which virtual functions.
JOBS = [
    (parcomp_compresses, 3, ("all", "files", "extra")),
    (parcomp_decompresses, 3, ("all", "files", "extra")),
    (python_with_libz, 3, ("all", "files", "extra")),
    (pigz_with_libz, 1, ("all", "files")),
    (c_program, 3, ("all", "files", "extra")),
    (rust_program, 6, ("all", "keys", "extra")),
    (openssl_signs, 2, ("all", "keys")),
    (openssl_speed, 0.3, ("all", "keys")),
    (tls_client, 2, ("all",)),
]

__all__ = ["Built", "Files", "JOBS", "Place", "TlsServer", "openssl_conf"]
