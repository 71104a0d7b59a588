#!/usr/bin/env python3
"""HAProxy, nginx and sshd as Debian's packages start them: their own configuration and command line,
their users, chroots, limits and forks; each checked by clients with plain OpenSSL.

packages.py [PROVIDER] --load TLS_LOAD [--only TEXT]

HAProxy's workers give up root, go into an empty folder and forbid themselves processes
(RLIMIT_NPROC is 0): no engine can start there. nginx's workers are forked by a master that has read
the keys. sshd handles a connection in a process without rights, behind a seccomp filter.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import check
from check import Checks, Failed, Side, equal
import openssl_conf
import servers

HAPROXY = Path("/etc/haproxy/haproxy.cfg")
NGINX = Path("/etc/nginx/nginx.conf")
SSHD = Path("/etc/ssh/sshd_config")

# Key exchanges, host keys, ciphers with their MACs that both sides have to agree on.
EXCHANGES = ["curve25519-sha256", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521",
             "diffie-hellman-group14-sha256", "diffie-hellman-group16-sha512",
             "diffie-hellman-group-exchange-sha256"]
HOST_KEYS = {"rsa": "rsa-sha2-512", "ecdsa": "ecdsa-sha2-nistp256", "ed25519": "ssh-ed25519"}
CIPHERS = [("aes128-gcm@openssh.com", ""), ("aes256-gcm@openssh.com", ""),
           ("aes128-ctr", "hmac-sha2-256-etm@openssh.com"), ("aes256-ctr", "hmac-sha2-512"),
           ("aes256-cbc", "hmac-sha1"), ("chacha20-poly1305@openssh.com", "")]


def await_that(what: str, holds) -> None:
    """Returns when something holds that a process brings about."""
    end = time.monotonic() + 30
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"not so: {what}")
        time.sleep(0.02)


class Daemon:
    """A server that goes into the background, and says where by a file with its number."""

    def __init__(self, command: list, env: dict[str, str], pid_file: Path):
        self.pid_file = pid_file
        ran = subprocess.run([str(word) for word in command], env=env, capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=30, check=False)
        self.said = (ran.stdout + ran.stderr).decode(errors="replace")
        if ran.returncode:
            raise Failed(f"{command} ends with {ran.returncode}:\n{self.said}")
        await_that(f"{pid_file} has a number\n{self.said}",
                   lambda: pid_file.exists() and pid_file.read_text().strip())
        # HAProxy names each of its processes.
        self.pids = [int(pid) for pid in pid_file.read_text().split()]

    @property
    def pid(self) -> int:
        """The first process."""
        return self.pids[0]

    def alive(self) -> bool:
        """Whether it runs."""
        # What has ended stays as a zombie, where nobody takes the children of the dead.
        try:
            status = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return status.rsplit(")", 1)[1].split()[0] != "Z"

    def stop(self) -> None:
        """Ends it."""
        for pid in self.pids:
            try:
                os.kill(pid, 15)
            except ProcessLookupError:
                pass
        end = time.monotonic() + 10
        while self.alive() and time.monotonic() < end:
            time.sleep(0.02)
        if self.alive():
            os.kill(self.pid, 9)


class Packages:
    """What all checks share."""

    def __init__(self, o, path: Path):
        self.o = o
        self.path = path
        self.certificates = {
            name: openssl_conf.certificate(path, name) for name in ("RSA-2048", "P-256")
        }
        self.module = Path(o.provider).resolve(strict=True) if o.provider else None
        self.plain = Side("plain", openssl_conf.Provider().environment(path / "plain.cnf"))

    def environment(self, settings: list[str]) -> dict[str, str]:
        """Where a server runs."""
        ours = openssl_conf.Provider(self.module, settings)
        env = ours.environment(self.path / f"ours-{'-'.join(settings)}.cnf".replace(" ", ""))
        if self.module:
            openssl_conf.demand(env)
        return env

    def in_use(self, pid: int) -> None:
        """The process has our library in its memory."""
        if self.module and str(self.module) not in Path(f"/proc/{pid}/maps").read_text():
            raise Failed(f"process {pid} has not loaded {self.module}")

    def handshakes(self, ports: dict[str, int]) -> str:
        """A client of plain OpenSSL for each certificate and version, then many at once."""
        for name, port in ports.items():
            for version in ("-tls1_2", "-tls1_3"):
                args = ["s_client", "-connect", f"127.0.0.1:{port}", version, "-CAfile",
                        self.certificates[name], "-verify_return_error", "-ign_eof"]
                said = self.plain.ok(*args, data=b"GET / HTTP/1.0\r\n\r\n", timeout=20).decode()
                if "Verify return code: 0 (ok)" not in said or "200 OK" not in said:
                    raise Failed(f"{name} {version}: {said[-1500:]}")
        total = 0
        for port in ports.values():
            load = [self.o.load, "--address", f"127.0.0.1:{port}", "--tls", "1.3", "--connections",
                    "16", "--seconds", "0.7", "--cut", "0"]
            ran = subprocess.run(load, capture_output=True, timeout=60, check=False)
            seen = json.loads(ran.stdout or b'{"errors": 1, "handshakes": 0}')
            if seen["errors"] or not seen["handshakes"]:
                raise Failed(f"{ran.stdout.decode()}\n{ran.stderr.decode()[-1500:]}")
            total += seen["handshakes"]
        return f"{total} handshakes"


def gives_up_root(pid: int) -> None:
    """Returns when a worker, which is forked as root, runs as another user."""
    await_that(f"process {pid} is root no more", lambda: os.stat(f"/proc/{pid}").st_uid != 0)


def has_no_processes(pid: int) -> bool:
    """Whether a process has forbidden itself to start others, threads included."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    return re.search(r"^Max processes +0 ", limits, re.MULTILINE) is not None


def haproxy(p: Packages, settings: list[str], mode: str) -> str:
    """HAProxy with Debian's haproxy.cfg, asynchronous, with a frontend of ours."""
    name = f"haproxy{mode}-{'-'.join(settings)}".replace(" ", "")
    ports = dict(zip(p.certificates, servers.free_ports(len(p.certificates))))
    text = HAPROXY.read_text().replace("/run/haproxy/admin.sock", f"{p.path}/{name}.sock")
    if not all(word in text for word in ("chroot /", "user haproxy", "daemon")):
        raise Failed(f"{HAPROXY} is not as Debian's package has it:\n{text[:800]}")
    text = text.replace("global\n", "global\n\tssl-mode-async\n\ttune.ssl.cachesize 0\n", 1)
    text += "\nfrontend tls\n\thttp-request return status 200\n"
    text += "".join(f"\tbind 127.0.0.1:{ports[of]} ssl crt {file}\n"
                    for of, file in p.certificates.items())
    conf, pid_file = p.path / f"{name}.cfg", p.path / f"{name}.pid"
    conf.write_text(text)
    env = p.environment(settings)
    command = [servers.program("haproxy"), mode, "-f", conf, "-p", pid_file]
    if mode == "-Ws":
        # As the service file has it: in the foreground, whatever the configuration says.
        command += ["-S", f"{p.path}/{name}-master.sock"]
        server = servers.Server(command, env, ports, p.path / f"{name}.log")
        working = servers.workers(server)[0]
    else:
        server = Daemon(command, env, pid_file)
        working = server.pid
    try:
        if mode == "-W":
            # A master, whose number is written before it forks.
            await_that("there is a worker", lambda: servers.children(server.pid))
            working = servers.children(server.pid)[0]
        gives_up_root(working)
        await_that("the worker may have no processes", lambda: has_no_processes(working))
        p.in_use(working)
        said = p.handshakes(ports)
        if not server.alive():
            raise Failed("it ended")
        engines = int(re.search(r"engines = (\d+)", settings[0]).group(1))
        log = server.log.read_text() if mode == "-Ws" else ""
        told = log.count(f"0 of {engines} engines run")
        # As a daemon, it has closed its standard error output.
        if p.module and mode == "-Ws" and told != (engines > 0):
            raise Failed(f"the worker says {told} times that it has no engines:\n{log[-1500:]}")
        return said
    finally:
        server.stop()


def nginx(p: Packages, settings: list[str]) -> str:
    """nginx with Debian's nginx.conf, as a daemon, and a server of ours."""
    name = f"nginx-{'-'.join(settings)}".replace(" ", "")
    ports = dict(zip(p.certificates, servers.free_ports(len(p.certificates))))
    pid_file = p.path / f"{name}.pid"
    ours = "".join(
        f"server {{ listen 127.0.0.1:{ports[of]} ssl; ssl_certificate {file};"
        f" ssl_certificate_key {file}; location / {{ return 200; }} }}\n"
        for of, file in p.certificates.items())
    text = NGINX.read_text()
    for theirs, own in (("/run/nginx.pid", str(pid_file)), ("/var/log/nginx", str(p.path)),
                        ("worker_processes auto", "worker_processes 2"),
                        ("include /etc/nginx/conf.d/*.conf;", ours),
                        ("include /etc/nginx/sites-enabled/*;", "")):
        if theirs not in text:
            raise Failed(f"{NGINX} is not as Debian's package has it: {theirs}")
        text = text.replace(theirs, own)
    conf = p.path / f"{name}.conf"
    conf.write_text(text)
    env = p.environment(settings)
    command = [servers.program("nginx"), "-e", p.path / "error.log", "-c", conf,
               "-g", "daemon on; master_process on;"]
    tried = subprocess.run([str(word) for word in [*command, "-t", "-q"]], env=env,
                           capture_output=True, timeout=30, check=False)
    if tried.returncode:
        raise Failed(f"nginx -t: {tried.stderr.decode()}")
    server = Daemon(command, env, pid_file)
    try:
        # Their master's number is written before they are forked.
        await_that("there are two workers", lambda: len(servers.children(server.pid)) == 2)
        workers = servers.children(server.pid)
        for worker in workers:
            gives_up_root(worker)
            p.in_use(worker)
        said = p.handshakes(ports)
        os.kill(server.pid, 1)
        time.sleep(0.5)
        said += ", after a reload " + p.handshakes(ports)
        errors = (p.path / "error.log").read_text()
        if "[alert]" in errors or "[crit]" in errors or "signal" in errors:
            raise Failed(errors[-1500:])
        return said
    finally:
        server.stop()


def sshd(p: Packages, settings: list[str]) -> str:
    """sshd with Debian's sshd_config and keys of its own: logins with each exchange, host key and
    cipher; commands whose input comes back."""
    path = p.path / f"sshd-{'-'.join(settings)}".replace(" ", "")
    path.mkdir()
    made = Path("/run/sshd")
    if not made.exists():
        made.mkdir(mode=0o755)
    for kind in HOST_KEYS:
        keygen = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path / f"host_{kind}"]
        subprocess.run(keygen, env=p.plain.env, check=True, capture_output=True)
    for kind in HOST_KEYS:
        keygen = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path / f"user_{kind}"]
        subprocess.run(keygen, env=p.plain.env, check=True, capture_output=True)
    keys = "".join((path / f"user_{kind}.pub").read_text() for kind in HOST_KEYS)
    (path / "authorized_keys").write_text(keys)
    port = servers.free_port()
    text = SSHD.read_text()
    # The first value of each option holds: ours stand ahead.
    ours = (f"Port {port}\nListenAddress 127.0.0.1\nPidFile {path}/sshd.pid\n"
            f"AuthorizedKeysFile {path}/authorized_keys\nStrictModes no\n"
            "PermitRootLogin prohibit-password\n"
            # OpenSSH 10 (Debian 13) has to be told the older ones.
            "KexAlgorithms " + ",".join(EXCHANGES) + "\n"
            "Ciphers " + ",".join(cipher for cipher, _ in CIPHERS) + "\n"
            "MACs hmac-sha2-256-etm@openssh.com,hmac-sha2-512,hmac-sha1\n"
            + "".join(f"HostKey {path}/host_{kind}\n" for kind in HOST_KEYS))
    conf = path / "sshd_config"
    conf.write_text(ours + text)
    known = path / "known_hosts"
    known.write_text("".join(f"[127.0.0.1]:{port} " + (path / f"host_{kind}.pub").read_text()
                             for kind in HOST_KEYS))
    env = p.environment(settings)
    program = servers.program("sshd")
    tried = subprocess.run([program, "-t", "-f", str(conf)], env=env, capture_output=True,
                           timeout=30, check=False)
    if tried.returncode:
        raise Failed(f"sshd -t: {tried.stderr.decode()}")
    log = path / "sshd.log"
    server = servers.Server([program, "-D", "-e", "-f", conf], env, {"": port}, log)
    data = os.urandom(300_000)
    logins = 0

    def login(exchange: str, kind: str, cipher: str, mac: str) -> None:
        command = ["ssh", "-F", "none", "-T", "-p", str(port), "-i", str(path / f"user_{kind}"),
                   "-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=none",
                   "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes",
                   "-o", "BatchMode=yes", "-o", f"KexAlgorithms={exchange}",
                   "-o", f"HostKeyAlgorithms={HOST_KEYS[kind]}", "-o", f"Ciphers={cipher}",
                   *(["-o", f"MACs={mac}"] if mac else []), "root@127.0.0.1", "cat"]
        plain = {name: value for name, value in p.plain.env.items() if name != "SSH_AUTH_SOCK"}
        ran = subprocess.run(command, env=plain, input=data, capture_output=True, timeout=30,
                             check=False)
        if ran.returncode:
            raise Failed(f"{' '.join(command)}\n{ran.stderr.decode()}\n{log.read_text()[-2000:]}")
        equal(ran.stdout, data, "what was sent and what came back")

    try:
        p.in_use(server.pid)
        first, kinds = CIPHERS[0], list(HOST_KEYS)
        tries = [(exchange, kinds[n % 3], *first) for n, exchange in enumerate(EXCHANGES)]
        tries += [(EXCHANGES[0], kinds[n % 3], *cipher) for n, cipher in enumerate(CIPHERS)]
        for one in tries:
            login(*one)
            logins += 1
        if not server.alive():
            raise Failed(f"it ended:\n{log.read_text()[-2000:]}")
        if "fatal" in log.read_text():
            raise Failed(log.read_text()[-2000:])
        return f"{logins} logins"
    finally:
        server.stop()


def main() -> int:
    """All checks; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    a.add_argument("provider", nargs="?", default="", help="the module; empty: plain OpenSSL")
    a.add_argument("--load", type=Path, required=True, help="the program tls-load")
    a.add_argument("--only", default="", metavar="TEXT", help="checks with this in their names")
    o = a.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: services start as root")
        return 0
    checks = Checks()
    with check.folder() as path:
        # Users that are not root read the provider's configuration, as in /etc.
        os.chmod(path, 0o755)
        p = Packages(o, Path(path))
        wanted = []
        for engines in (0, 2):
            settings = [f"engines = {engines}"]
            for mode in ("-Ws", "-W", "-D"):
                wanted.append((f"HAProxy {mode}, {settings[0]}", HAPROXY, haproxy, settings, mode))
            wanted.append((f"nginx, {settings[0]}", NGINX, nginx, settings))
            wanted.append((f"sshd, {settings[0]}", SSHD, sshd, settings))
        for name, conf, function, *args in wanted:
            if o.only not in name:
                continue
            if not conf.exists():
                print(f"SKIPPED {name}: {conf} is not there (scripts/setup test)")
                continue
            checks.run(name, function, p, *args)
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
