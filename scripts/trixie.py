"""A Debian 13 tree (or one of another release), for programs that the release which runs here does not have: made by
debootstrap once, and kept.

Tests of several front ends share it, and may run at the same time: a lock is held while it is made and while packages
are installed in it.
"""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import patient


def skip(why: str) -> None:
    """Ends the program as one that cannot run here."""
    print(f"SKIPPED: {why}")
    sys.exit(77)


def emulated(arch: str) -> None:
    """Ends the program (`skip`) where the kernel runs no programs of this other architecture of Debian's."""
    cpu = {"arm64": "aarch64", "amd64": "x86_64"}.get(arch, arch)
    registered = Path(f"/proc/sys/fs/binfmt_misc/qemu-{cpu}")
    # By the flag F it is open already: within a tree its path says nothing.
    text = registered.read_text(encoding="ascii") if registered.exists() else ""
    if not text.startswith("enabled") or not re.search(r"^flags: .*F", text, re.M):
        skip(f"nothing runs programs of {arch}: no qemu-{cpu} with flag F in /proc/sys/fs/binfmt_misc (the Debian package "
             "qemu-user-static, and binfmt_misc mounted)")


def make_tree(tree: Path, packages: list[str], suite: str = "trixie", arch: str = "") -> None:
    """A minimal Debian with the packages, of this machine's architecture or another that the kernel can run
    (qemu-user-static, registered in binfmt_misc). Ends the program (`skip`) where that cannot be had."""
    if os.geteuid() != 0:
        skip("a Debian tree is made and entered by root")
    if arch:
        emulated(arch)
    tree.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{tree}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (tree / ".ready").exists():
            bootstrap(tree, suite, arch)
        # All of them: the tree may be from before one of them was.
        names = " ".join(packages)
        found = inside(tree, f"dpkg-query -W -f '${{db:Status-Status}}\\n' {names}")
        if found.stdout.split() == [b"installed"] * len(packages):
            return
        got = inside(tree, "export DEBIAN_FRONTEND=noninteractive; apt-get update -q && "
                           f"apt-get install -y --no-install-recommends {names}", timeout=3600)
        if got.returncode:
            skip(f"the packages {packages}: {(got.stdout + got.stderr)[-300:].decode(errors='replace')}")


def bootstrap(tree: Path, suite: str, arch: str) -> None:
    """The tree without packages of ours, from where the system has its own."""
    if not shutil.which("debootstrap"):
        skip("no debootstrap (the Debian package of that name)")
    sources = Path("/etc/apt").glob("sources.list*")
    lists = [p for s in sources for p in ([s] if s.is_file() else sorted(s.iterdir()))]
    text = "\n".join(p.read_text() for p in lists)
    mirror = re.search(r"^(?:URIs:|deb )[^\n]*?(https?://\S+)", text, re.M)
    subprocess.run(["rm", "-rf", "--one-file-system", tree], check=True)
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=ca-certificates", *([f"--arch={arch}"] if arch else []), suite, tree,
         *([mirror[1]] if mirror else [])], capture_output=True, text=True, check=False)
    if made.returncode:
        skip(f"debootstrap: {(made.stdout + made.stderr).splitlines()[-1:]}")
    for file in ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"]:
        if Path(file).exists():
            subprocess.run(["cp", "-L", file, f"{tree}{file}"], check=True)
    subprocess.run(f"cp -a /etc/apt/apt.conf.d/99* {tree}/etc/apt/apt.conf.d/ 2>/dev/null", shell=True,
                   check=False)
    (tree / ".ready").touch()


def inside(tree: Path, command: str, timeout: int = 600, **more) -> subprocess.CompletedProcess:
    """Runs a shell command in the tree, with mounts that end with it."""
    script = ('mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; mount --rbind /sys "$0/sys"; '
              'chroot "$0" /bin/bash -c "$1"; status=$?; umount -l "$0/proc" "$0/dev" "$0/sys"; exit $status')
    return patient.run([*unshare(), "sh", "-c", script, tree, command], capture_output=True, stdin=subprocess.DEVNULL,
                       timeout=timeout, **more)


@functools.cache
def unshare() -> list[str]:
    """What gives a command mounts of its own. In a chroot / is no mount point and cannot be made private."""
    private = ["unshare", "--mount"]
    if subprocess.run([*private, "true"], capture_output=True, check=False).returncode == 0:
        return private
    return [*private, "--propagation", "unchanged"]
