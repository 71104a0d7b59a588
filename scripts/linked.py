"""What is linked into the programs and libraries that `make install` installs: for the notices of third
parties (scripts/notices) and the bill of materials (scripts/sbom)."""
import functools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# What scripts/stage builds, for the architectures of deny.toml; or for the one that is built for, where that is another
# than this machine's.
SHIPPED = ["parcomp", "cf", "lookaside-capi", "lookaside-cli", "lookaside-openssl", "lookaside-zlib",
           "lookaside-expat", "lookaside-hyperscan", "lookaside-qat", "lookaside-usdm"]
OTHER = os.environ.get("CARGO_BUILD_TARGET")
TARGETS = [OTHER] if OTHER else ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]


class CSources(NamedTuple):
    """C sources in a package that are compiled."""

    # Where their notices are.
    notices: list[str]
    # The project, its licence and address.
    name: str
    licence: str
    address: str
    # The file that has the version, and where: one group, or three numbers.
    file: str
    version: str


C_SOURCES = {
    "aws-lc-sys": CSources(["LICENSE", "aws-lc/third_party/fiat/LICENSE"],
                           "AWS-LC", "Apache-2.0 AND ISC AND MIT AND BSD-3-Clause", "https://github.com/aws/aws-lc",
                           "aws-lc/include/openssl/base.h", r'AWSLC_VERSION_NUMBER_STRING "(.*)"'),
    "isal-sys": CSources(["LICENSE", "isa-l/LICENSE"],
                         "ISA-L", "BSD-3-Clause", "https://github.com/intel/isa-l",
                         "isa-l/configure.ac", r"AC_INIT\(\[libisal\],\s*\[(.*?)\]"),
    "libdeflate-sys": CSources(["LICENSE", "libdeflate/COPYING"],
                               "libdeflate", "MIT", "https://github.com/ebiggers/libdeflate",
                               "libdeflate/libdeflate.h", r'LIBDEFLATE_VERSION_STRING\s+"(.*)"'),
    "lz4-sys": CSources(["LICENSE", "liblz4/lib/LICENSE"],
                        "LZ4", "BSD-2-Clause", "https://github.com/lz4/lz4",
                        "liblz4/lib/lz4.h", r"define LZ4_VERSION_(?:MAJOR|MINOR|RELEASE)\s+(\d+)"),
    "zstd-sys": CSources(["LICENSE", "zstd/LICENSE"],
                         "Zstandard", "BSD-3-Clause", "https://github.com/facebook/zstd",
                         "zstd/lib/zstd.h", r"define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE)\s+(\d+)"),
}
# Packages whose C sources need no notice of their own: libz-sys takes the system's zlib, linked
# dynamically; the C file of signal-hook is its own.
NO_NOTICE_IN_C = {"libz-sys", "signal-hook"}


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments, "--locked"], cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


@functools.cache
def graph() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Name and version of each package that is linked into something, and those that it uses itself."""
    edges: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for target in TARGETS:
        for package in SHIPPED:
            tree = cargo("tree", "-p", package, "-e", "normal", "--prefix", "depth", "--no-dedupe",
                         "--target", target, "--format", " {p}")
            # The package of each depth on the way to a line; None within what only runs while others are built.
            path: list[tuple[str, str] | None] = []
            for line in tree.splitlines():
                depth, name, version = line.split()[:3]
                del path[int(depth):]
                if "(proc-macro)" in line or None in path:
                    path.append(None)
                    continue
                key = (name, version.removeprefix("v"))
                edges.setdefault(key, set())
                if path:
                    edges[path[-1]].add(key)
                path.append(key)
    return edges


@functools.cache
def metadata() -> dict[tuple[str, str], dict]:
    """What cargo knows of each package in `graph`, ours among them, in order."""
    found = {}
    for target in TARGETS:
        answer = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
        for package in answer["packages"]:
            key = (package["name"], package["version"])
            if key in graph():
                found[key] = package
    return dict(sorted(found.items()))


def ours(package: dict) -> bool:
    return package["source"] is None


def packages() -> list[dict]:
    """Those of others."""
    return [package for package in metadata().values() if not ours(package)]


def version_in_c(package: dict) -> str:
    """The version of the project whose sources a package brings."""
    c = C_SOURCES[package["name"]]
    text = (Path(package["manifest_path"]).parent / c.file).read_text(encoding="utf-8")
    found = re.findall(c.version, text)
    if not found:
        raise SystemExit(f"{package['name']}: {c.file} has no version")
    return ".".join(found)
