"""Unmodified TLS servers, started for a measurement or a test, and what they cost."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path


def program(name: str) -> str:
    """Where a server's program is: not in everyone's PATH."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if not found:
        raise SystemExit(f"{name} is missing: apt-get install {name}")
    return found


# The ports that were given away: the kernel may offer one again before its server listens.
_given: set[int] = set()
_giving = threading.Lock()


def free_ports(count: int) -> list[int]:
    """As many different ports that nothing listens on; none is given twice."""
    ports: list[int] = []
    # All are held until the last is known, those that were given before too.
    with _giving, ExitStack() as held:
        while len(ports) < count:
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port not in _given:
                _given.add(port)
                ports.append(port)
    return ports


def free_port() -> int:
    """A port that nothing listens on."""
    return free_ports(1)[0]


def children(pid: int) -> list[int]:
    """The processes that `pid` started and that still run."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def workers(up: "Server") -> list[int]:
    """The processes that a server's master has forked, which may be after it listens."""
    end = time.monotonic() + 10
    while not (found := children(up.pid)):
        if not up.alive() or time.monotonic() > end:
            raise TimeoutError(f"{up.process.args} has no workers:\n{up.log.read_text()}")
        time.sleep(0.02)
    return found


def cpu_ns(pid: int) -> int:
    """CPU time of a process, user and system, of all its threads, in nanoseconds."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total


def in_turn(names, number: int) -> list:
    """The names in the order of this round: nobody is always the first after somebody."""
    names = list(names)
    shift = number % len(names)
    return names[shift:] + names[:shift]


def rss_kb(pid: int) -> int:
    """The memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ProcessLookupError(pid)


def fds(pid: int) -> int:
    """How many files it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


class Server:
    """A process that serves until it is stopped."""

    def __init__(self, command, env, ports, log: Path, cpu: int | None = None):
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.ports = ports
        self.log = log
        with log.open("w") as out:
            self.process = subprocess.Popen(
                pin + [str(word) for word in command], env=env, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL,
            )
        self.wait_until_it_listens()

    @property
    def pid(self) -> int:
        """Of the process that was started; with a master, not the one that serves."""
        return self.process.pid

    def wait_until_it_listens(self) -> None:
        """Returns when every port takes connections."""
        end = time.monotonic() + 10
        for port in self.ports.values():
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if self.process.poll() is not None or time.monotonic() > end:
                        self.stop()
                        raise SystemExit(
                            f"{self.process.args} does not listen:\n{self.log.read_text()}"
                        ) from None
                    time.sleep(0.02)

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int | None:
        """Ends it; its exit status. HAProxy exits in order, and so prints the provider's counters,
        by SIGUSR1."""
        if self.alive():
            self.process.send_signal(by)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


def haproxy(folder: Path, name: str, env, certificates: dict[str, Path], *, asynchronous: bool,
            cpu: int | None = None, master: bool = False, maxconn: int = 4000,
            threads: int = 1, backend: int | None = None) -> Server:
    """HAProxy with a port for each certificate; it answers with 200 and 0 bytes, or with what the
    server on the port `backend` says."""
    ports = dict(zip(certificates, free_ports(len(certificates))))
    binds = "".join(
        f"  bind 127.0.0.1:{ports[of]} ssl crt {path} no-tls-tickets backlog 1024\n"
        for of, path in certificates.items()
    )
    conf = folder / f"haproxy-{name}.cfg"
    conf.write_text(
        "global\n"
        f"  nbthread {threads}\n"
        f"  maxconn {maxconn}\n"
        # Full handshakes only.
        "  tune.ssl.cachesize 0\n"
        + ("  ssl-mode-async\n" if asynchronous else "")
        + "defaults\n"
        "  mode http\n"
        "  timeout client 10s\n"
        "  timeout http-request 10s\n"
        "frontend tls\n"
        f"{binds}"
        + ("  http-request return status 200\n" if backend is None else
           "  default_backend content\n"
           "backend content\n"
           "  timeout connect 5s\n"
           "  timeout server 60s\n"
           f"  server content 127.0.0.1:{backend}\n")
    )
    command = [program("haproxy"), "-W" if master else "-db", "-f", conf]
    return Server(command, env, ports, folder / f"haproxy-{name}.log", cpu)


def nginx(folder: Path, name: str, env, certificate: Path, workers: int,
          cpu: int | None = None) -> Server:
    """nginx with processes that are forked after OpenSSL was initialised."""
    port = free_port()
    conf = folder / f"nginx-{name}.conf"
    conf.write_text(
        "daemon off;\n"
        f"worker_processes {workers};\n"
        f"pid {folder}/nginx-{name}.pid;\n"
        f"error_log {folder}/nginx-{name}-error.log;\n"
        # The workers give up root, and the folder is not for everyone to read.
        + ("user root;\n" if os.geteuid() == 0 else "")
        # nginx clears the environment of its workers; what they need of it is named.
        + "env OPENSSL_CONF;\nenv LOOKASIDE_DEVICE;\n"
        "events { worker_connections 512; }\n"
        "http {\n"
        "  access_log off;\n"
        "  ssl_session_cache off;\n"
        "  ssl_session_tickets off;\n"
        "  server {\n"
        f"    listen 127.0.0.1:{port} ssl;\n"
        f"    ssl_certificate {certificate};\n"
        f"    ssl_certificate_key {certificate};\n"
        "    ssl_protocols TLSv1.2 TLSv1.3;\n"
        "    location / { return 200; }\n"
        "  }\n"
        "}\n"
    )
    command = [program("nginx"), "-e", folder / f"nginx-{name}-error.log", "-p", folder, "-c", conf]
    return Server(command, env, {"RSA-2048": port}, folder / f"nginx-{name}.log", cpu)
