"""Downloads over TLS by a client with plain OpenSSL, each byte checked."""

import hashlib
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import servers


@dataclass
class Kind:
    """A cipher suite: its name, and what `curl` is told for it. `client`: a line of the client's
    openssl.cnf. `served`: what the provider counts for its records."""

    name: str
    options: list[str]
    served: list[str]
    client: str = ""


def _tls12(suite: str) -> list[str]:
    return ["--tls-max", "1.2", "--ciphers", suite]


KINDS = [
    # Without encrypt-then-MAC, as clients of this suite's time: MAC and encryption in one pass.
    Kind("TLS 1.2 AES128-SHA", _tls12("AES128-SHA"), ["AES-128-CBC-HMAC-SHA1"],
         "Options = -EncryptThenMac\n"),
    Kind("TLS 1.2 AES128-SHA256", _tls12("AES128-SHA256"), ["AES-128-CBC-HMAC-SHA256"],
         "Options = -EncryptThenMac\n"),
    Kind("TLS 1.2 AES128-SHA, encrypt-then-MAC", _tls12("AES128-SHA"),
         ["AES-128-CBC", "HMAC-SHA1"]),
    Kind("TLS 1.2 AES128-GCM", _tls12("ECDHE-RSA-AES128-GCM-SHA256"), ["AES-128-GCM"]),
    Kind("TLS 1.3 AES128-GCM", ["--tlsv1.3", "--tls13-ciphers", "TLS_AES_128_GCM_SHA256"],
         ["AES-128-GCM"]),
    Kind("TLS 1.3 ChaCha20", ["--tlsv1.3", "--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"],
         ["ChaCha20-Poly1305"]),
]


def client_environment(provider, folder: Path, kind: Kind) -> dict[str, str]:
    """Plain OpenSSL's, with the line that the kind wants."""
    conf = folder / f"client-{kind.name.replace(' ', '-')}.cnf"
    env = provider.environment(conf)
    conf.write_text(conf.read_text().replace("NumTickets = 0\n", "NumTickets = 0\n" + kind.client))
    return env


def download(env, kind: Kind, port: int, length: int, connections: int, digest: bytes,
             cpu: int | None = None) -> None:
    """So many bytes over each of so many connections at a time; ends the program at a wrong one."""
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    command = [*pin, servers.program("curl"), "--silent", "--show-error", "--insecure",
               "--no-buffer", *kind.options, f"https://127.0.0.1:{port}/{length}"]
    wrong = []

    def one() -> None:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        state, got = hashlib.sha256(), 0
        while piece := process.stdout.read(1 << 18):
            state.update(piece)
            got += len(piece)
        said = process.stderr.read().decode(errors="replace")
        if process.wait() or state.digest() != digest:
            wrong.append(f"{kind.name}: {got} of {length} bytes, exit status "
                         f"{process.returncode}: {said}")

    threads = [threading.Thread(target=one) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise SystemExit("\n".join(wrong))
