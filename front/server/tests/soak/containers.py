#!/usr/bin/env python3
"""Two containers of runc, without root, each with the folder of its own virtual function, run programs as packaged.

containers.py BUILT

BUILT is as in run.py. The server runs as an ordinary user; so do the containers, each as another one where this program
runs as root. A container has the machine's /usr and /etc, read-only, namespaces of its own for users, processes,
network, mounts and System V IPC, and of the server nothing but one folder, read-only. In it Python compresses by our
libz.so.1 and openssl signs by our provider, while the server is killed and started again; the results are checked out
here, by Python and OpenSSL without Lookaside. A container that is given no function, or another user's, has no device.
Exit status 77: this machine cannot have such containers; the output says why.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import Failed  # noqa: E402
import patient  # noqa: E402  (machine.py has found scripts)
from programs import openssl_conf  # noqa: E402

SKIPPED = 77
# Users that own nothing.
USERS = (65533, 65534)

# Runs until the file `go` is gone: each round compresses and decompresses above libz's threshold.
PYTHON = """
import os, pathlib, zlib
data = pathlib.Path("/work/input").read_bytes()
rounds = 0
while rounds < 3 or os.path.exists("/work/go"):
    packed = zlib.compress(data, 1 + rounds % 9)
    assert zlib.decompress(packed) == data, "other bytes"
    pathlib.Path("/work/packed.new").write_bytes(packed)
    os.rename("/work/packed.new", "/work/packed")
    rounds += 1
    pathlib.Path("/work/rounds").write_text(str(rounds))
"""


def skip(why: str):
    """Ends the program: not on this machine."""
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def as_user(user: int) -> list[str]:
    """What runs a command as this user: nothing, where it is one's own."""
    if user == os.geteuid():
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


class Container:
    """A bundle of runc, and its run."""

    def __init__(self, work: Path, built: Path, name: str, user: int, function: Path | None):
        self.name, self.user = name, user
        self.bundle = work / name
        self.out = self.bundle / "work"
        root = self.bundle / "rootfs"
        for folder in ("usr", "etc", "tmp", "dev", "proc", "sys", "work", "run/lookaside", "opt/lookaside"):
            (root / folder).mkdir(parents=True)
        for link in ("bin", "sbin", "lib", "lib64"):
            (root / link).symlink_to(f"usr/{link}")
        self.out.mkdir()
        self.state = self.bundle / "state"
        self.state.mkdir()
        self.mounts = [self.mount("/usr", "/usr", "ro"), self.mount("/etc", "/etc", "ro"),
                       self.mount(built, "/opt/lookaside", "ro"), self.mount(self.out, "/work", "rw"),
                       {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev"]}]
        self.env = ["PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/opt/lookaside/zlib", "LOOKASIDE_THRESHOLD=131072",
                    "OPENSSL_CONF=/work/openssl.cnf", "LOOKASIDE_STATS=/work/stats"]
        if function:
            self.mounts.append(self.mount(function.parent, "/run/lookaside", "ro"))
            self.env.append(f"LOOKASIDE_DEVICE=/run/lookaside/{function.name}")
        openssl_conf.Provider(Path("/opt/lookaside/liblookaside_provider.so")).environment(self.out / "openssl.cnf")
        self.process: subprocess.Popen | None = None

    @staticmethod
    def mount(source, destination: str, how: str) -> dict:
        """A bind mount."""
        return {"destination": destination, "type": "none", "source": str(source),
                "options": ["rbind", how, "nosuid", "nodev"]}

    def run(self, *command: str) -> subprocess.Popen:
        """Starts a command in it."""
        spec = self.bundle / "config.json"
        spec.unlink(missing_ok=True)
        subprocess.run(["runc", "spec", "--rootless", "-b", self.bundle], check=True)
        config = json.loads(spec.read_text())
        config["process"] |= {"terminal": False, "args": list(command), "env": self.env, "cwd": "/work"}
        config["root"] = {"path": "rootfs", "readonly": True}
        config["mounts"] += self.mounts
        linux = config["linux"]
        for ids in ("uidMappings", "gidMappings"):
            linux[ids] = [{"containerID": 0, "hostID": self.user if ids[0] == "u" or os.geteuid() == 0 else os.getegid(),
                           "size": 1}]
        linux["namespaces"] = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "user", "network")]
        spec.write_text(json.dumps(config))
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{self.user}:{self.user}", self.bundle], check=True)
        self.process = subprocess.Popen(
            [*as_user(self.user), "runc", "--root", self.state, "run", "-b", self.bundle, f"lookaside-{os.getpid()}-"
             f"{self.name}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"] + ":/usr/sbin", "XDG_RUNTIME_DIR": str(self.state)})
        return self.process

    def ends(self, seconds: float = 120) -> str:
        """Waits for its end, which has to be a good one: what it said."""
        try:
            said = patient.communicate(self.process, seconds)[0].decode(errors="replace")
        except patient.TooLate as late:
            self.process.kill()
            raise Failed(f"container {self.name} does not end:\n{late.doing}") from None
        if self.process.returncode:
            raise Failed(f"container {self.name}: exit status {self.process.returncode}\n{said[-3000:]}")
        return said


def check_machine() -> None:
    """Skips where containers cannot be."""
    if not shutil.which("runc", path=os.environ["PATH"] + ":/usr/sbin"):
        skip("no runc (Debian: apt-get install runc)")
    user = USERS[0] if os.geteuid() == 0 else os.geteuid()
    ran = subprocess.run([*as_user(user), "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net",
                          "true"], capture_output=True, text=True, check=False)
    if ran.returncode:
        skip(f"no namespaces for a user without rights: {ran.stderr.strip()}")


def copied(built: Path, work: Path) -> Path:
    """What is needed, where every user may read it."""
    to = work / "built"
    (to / "zlib").mkdir(parents=True)
    for name in ("lookaside", "liblookaside_provider.so", "zlib/libz.so.1"):
        if not (built / name).exists():
            raise SystemExit(f"{built / name} is missing: scripts/test shared builds all that is needed")
        shutil.copy(built / name, to / name)
    return to


class Server:
    """The server, as user `user`, with a function for each container's user."""

    def __init__(self, built: Path, work: Path, user: int, users: tuple[int, int]):
        self.command = [*as_user(user), str(built / "lookaside"), "serve", "--config", str(work / "conf")]
        self.sockets, self.log, self.starts = work / "sockets", work / "log", 0
        self.sockets.mkdir()
        shutil.chown(self.sockets, user)
        (work / "conf").write_text(f"folder = {self.sockets}\nengines = 2\n" + "".join(
            f"[{name}]\nfolder = {name}\nmode = 666\nusers = {number}\n" for name, number in zip(("one", "two"), users)))
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Returns when it listens."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.starts += 1
        end = time.monotonic() + 30
        while self.log.read_text().count(" virtual functions in ") < self.starts:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"the server does not start:\n{self.log.read_text()}")
            time.sleep(0.02)

    def end(self, by: signal.Signals) -> int:
        """Ends it; how many requests it says it has answered."""
        self.process.send_signal(by)
        patient.wait(self.process, 60)
        last = self.log.read_text().strip().splitlines()[-1]
        return int(last.split()[-3]) if by == signal.SIGTERM else 0

    def function(self, name: str) -> Path:
        """The socket of one."""
        return self.sockets / name / f"{name}.sock"


def wait_for(what: str, holds) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 90
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"not within 90 s: {what}")
        time.sleep(0.05)


def rounds(container: Container) -> int:
    """How often its Python has compressed."""
    path = container.out / "rounds"
    text = path.read_text() if path.exists() else ""
    return int(text or 0)


def run(built: Path, work: Path) -> None:
    """The test."""
    root = os.geteuid() == 0
    users = USERS if root else (os.geteuid(), os.geteuid())
    server = Server(built, work, users[0], users)
    server.start()
    data = os.urandom(300_000) + b"the same bytes again and again, " * 20_000
    key = openssl_conf.certificate(work, "RSA-2048")
    containers = [Container(work, built, name, user, server.function(name)) for name, user in zip(("one", "two"), users)]
    for container in containers:
        (container.out / "input").write_bytes(data)
        (container.out / "go").touch()
        shutil.copy(key, container.out / "key.pem")
        container.run("/usr/bin/python3", "-c", PYTHON)
    for container in containers:
        wait_for(f"rounds of {container.name}\n", lambda c=container: rounds(c) >= 3 or c.process.poll() is not None)
    server.end(signal.SIGKILL)
    server.start()
    seen = [rounds(container) for container in containers]
    for container, before in zip(containers, seen):
        wait_for(f"more rounds of {container.name}", lambda c=container, n=before: rounds(c) >= n + 10
                 or c.process.poll() is not None)
        (container.out / "go").unlink()
        container.ends()
        if zlib.decompress((container.out / "packed").read_bytes()) != data:
            raise Failed(f"container {container.name} compressed to other bytes")
    answered = server.end(signal.SIGTERM)
    if answered < 4:
        raise Failed(f"the second server answered {answered} requests: the containers did not find it")
    server.start()
    for container in containers:
        container.run("/usr/bin/openssl", "dgst", "-sha256", "-sign", "key.pem", "-out", "signature", "input")
        container.ends()
        plain = openssl_conf.Provider().environment(work / "plain.cnf")
        public = work / "public.pem"
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], env=plain, check=True)
        subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", container.out / "signature",
                        container.out / "input"], env=plain, check=True, stdout=subprocess.DEVNULL)
    nothing_beyond_its_own(built, work, users, server)
    server.end(signal.SIGTERM)
    left = [str(path) for path in server.sockets.rglob("*.sock")]
    if left:
        raise Failed(f"sockets are left: {left}")
    print(f"two containers, users {users[0]} and {users[1]}: {answered} requests by the server that was started while "
          f"they ran; Python {sum(seen)} rounds before; signatures right")


def nothing_beyond_its_own(built: Path, work: Path, users: tuple[int, int], server: Server) -> None:
    """A container sees one socket; another user's function refuses it."""
    probe = ("import os, socket\n"
             "print('sees', sorted(os.listdir('/run/lookaside')))\n"
             "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
             "s.connect(os.environ['LOOKASIDE_DEVICE'])\n"
             "s.settimeout(10)\n"
             "print('answer', s.recv(1000) if os.environ.get('LISTEN') else 'connected')\n")
    own = Container(work, built, "own", users[0], server.function("one"))
    own.run("/usr/bin/python3", "-c", probe)
    said = own.ends()
    if "sees ['one.sock']" not in said or "connected" not in said:
        raise Failed(f"a container sees other than its own function: {said}")
    if users[0] != users[1]:
        stranger = Container(work, built, "stranger", users[0], server.function("two"))
        stranger.env.append("LISTEN=1")
        stranger.run("/usr/bin/python3", "-c", probe)
        if "may not use it" not in (said := stranger.ends()):
            raise Failed(f"a function lets another one's user in: {said}")


def main() -> int:
    """One folder, built."""
    built = Path(sys.argv[1]).resolve()
    check_machine()
    work = Path(tempfile.mkdtemp(prefix="lookaside-containers-"))
    work.chmod(0o755)
    try:
        run(copied(built, work), work)
    except Failed as e:
        print(f"{e}\nFAILED; what it was is in {work}")
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
