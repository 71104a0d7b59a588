"""What programs.py asks of bulk operations: `openssl enc`, `dgst` and `mac`, and megabytes through
`s_server` and `s_client`. The provider's counters have to show that it served."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from check import AT_A_TIME, Checks, Failed, Side, counted_side, equal
import openssl_conf
import servers

KEY = "00112233445566778899aabbccddeeff102132435465768798a9bacbdcedfe0f"
IV = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
# Texts around the blocks' lengths, and one that takes many calls.
LENGTHS = [0, 1, 15, 16, 17, 1000, 100_000]

# The ciphers of `openssl enc`: lengths of key, block and IV. Those marked are in OpenSSL's legacy
# provider.
CIPHERS = {
    **{f"AES-{8 * n}-{mode}": (n, block, iv) for n in (16, 24, 32)
       for mode, block, iv in (("ECB", 16, 0), ("CBC", 16, 16), ("CTR", 1, 16))},
    "DES-EDE3": (24, 8, 0),
    "DES-EDE3-CBC": (24, 8, 8),
    "SM4-ECB": (16, 16, 0),
    "SM4-CBC": (16, 16, 16),
    "SM4-CTR": (16, 1, 16),
    "ChaCha20": (32, 1, 16),
    "DES-ECB": (8, 8, 0),
    "DES-CBC": (8, 8, 8),
    "RC4": (16, 1, 0),
}
LEGACY = ["DES-ECB", "DES-CBC", "RC4"]

DIGESTS = ["MD5", "SHA1", "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512", "SHA3-224", "SHA3-256",
           "SHA3-384", "SHA3-512", "SM3"]

# MACs of `openssl mac`: the name that is counted, the algorithm, and its options.
MACS = {
    **{f"HMAC-{digest}": ["-macopt", f"digest:{digest}", "-macopt", f"hexkey:{KEY}", "HMAC"]
       for digest in DIGESTS},
    **{f"CMAC, {8 * n} bits": ["-macopt", f"cipher:AES-{8 * n}-CBC", "-macopt",
                               f"hexkey:{KEY[:2 * n]}", "CMAC"] for n in (16, 24, 32)},
    **{f"GMAC, {8 * n} bits": ["-macopt", f"cipher:AES-{8 * n}-GCM", "-macopt",
                               f"hexkey:{KEY[:2 * n]}", "-macopt", f"hexiv:{IV[:24]}", "GMAC"]
       for n in (16, 24, 32)},
    "POLY1305": ["-macopt", f"hexkey:{KEY}", "Poly1305"],
    # With a digest or cipher that is not ours, another provider's.
    "": ["-macopt", "digest:BLAKE2S-256", "-macopt", f"hexkey:{KEY}", "HMAC"],
    " ": ["-macopt", "cipher:CAMELLIA-128-CBC", "-macopt", f"hexkey:{KEY[:32]}", "CMAC"],
}

# Cipher suites, options of both programs, and what the provider counts for their records.
SUITES = {
    "AES128-SHA": (["-tls1_2", "-no_etm"], ["AES-128-CBC-HMAC-SHA1"]),
    "AES256-SHA": (["-tls1_2", "-no_etm"], ["AES-256-CBC-HMAC-SHA1"]),
    "AES128-SHA256": (["-tls1_2", "-no_etm"], ["AES-128-CBC-HMAC-SHA256"]),
    "AES256-SHA256": (["-tls1_2", "-no_etm"], ["AES-256-CBC-HMAC-SHA256"]),
    # Encrypt-then-MAC: the cipher and the MAC are apart.
    "AES128-SHA, etm": (["-tls1_2"], ["AES-128-CBC", "HMAC-SHA1"]),
    "AES128-SHA256, etm": (["-tls1_2"], ["AES-128-CBC", "HMAC-SHA2-256"]),
    # The MAC of what comes in is the default provider's: its time must not tell the padding.
    "ECDHE-RSA-AES256-SHA384": (["-tls1_2", "-no_etm"], ["AES-256-CBC"]),
    "ECDHE-RSA-AES256-SHA384, etm": (["-tls1_2"], ["AES-256-CBC", "HMAC-SHA2-384"]),
    "ECDHE-RSA-AES128-GCM-SHA256": (["-tls1_2"], ["AES-128-GCM"]),
    "ECDHE-RSA-AES256-GCM-SHA384": (["-tls1_2"], ["AES-256-GCM"]),
    "ECDHE-RSA-CHACHA20-POLY1305": (["-tls1_2"], ["ChaCha20-Poly1305"]),
    "AES128-CCM": (["-tls1_2"], ["AES-128-CCM"]),
    "AES256-CCM": (["-tls1_2"], ["AES-256-CCM"]),
    "TLS_AES_128_GCM_SHA256": (["-tls1_3"], ["AES-128-GCM"]),
    "TLS_AES_256_GCM_SHA384": (["-tls1_3"], ["AES-256-GCM"]),
    "TLS_CHACHA20_POLY1305_SHA256": (["-tls1_3"], ["ChaCha20-Poly1305"]),
    "TLS_AES_128_CCM_SHA256": (["-tls1_3"], ["AES-128-CCM"]),
}

# How much goes through a connection: every record length from short to full, and then some MB.
DOWNLOAD = 3_000_000


class Counters:
    """What the provider has printed into its file of statistics."""

    def __init__(self, file: Path | None):
        self.file = file
        if file:
            file.unlink(missing_ok=True)

    def bytes(self) -> dict[str, int]:
        """Bytes for each algorithm, of all programs that have ended since this was made."""
        # A provider of somebody else's counts elsewhere.
        text = self.file.read_text() if self.file and self.file.exists() else ""
        total: dict[str, int] = {}
        for name, n in re.findall(r"^lookaside: (\S+): \d+ pieces, (\d+) bytes", text, re.MULTILINE):
            total[name] = total.get(name, 0) + int(n)
        return total

    def demand(self, name: str, least: int) -> str:
        """So many bytes must have been served."""
        if not self.file:
            return ""
        served = self.bytes()
        if served.get(name, 0) < least:
            raise Failed(f"{name}: {served.get(name, 0)} bytes served, not {least}; {served}")
        return f"{name} {served[name]} bytes"


class Bulk:
    """The files of the checks and the two sides."""

    def __init__(self, path: Path, provider: openssl_conf.Provider, plain: Side):
        self.path = path / "bulk"
        self.provider = provider
        self.ours, self.statistics = counted_side(self.path, provider)
        self.plain = plain
        ours = self.ours
        self.ways = [(ours, plain), (plain, ours), (ours, ours)]
        self.texts = []
        for length in LENGTHS:
            text = self.path / f"text-{length}"
            text.write_bytes(os.urandom(length))
            self.texts.append(text)

    def encrypted(self, name: str) -> str:
        """`openssl enc`: both sides encrypt alike, and decrypt what the other one encrypted."""
        key_len, block, iv_len = CIPHERS[name]
        counters = Counters(self.statistics)
        args = [f"-{name.lower()}", "-K", KEY[: 2 * key_len]]
        args += ["-iv", IV[: 2 * iv_len]] if iv_len else []

        def enc(side: Side, *more) -> bytes:
            legacy = name in LEGACY and side is self.plain
            providers = ["-provider", "legacy", "-provider", "default"] if legacy else []
            return side.ok("enc", *args, *more, *providers)

        total = 0
        for text in self.texts:
            clear = text.read_bytes()
            total += len(clear)
            sealed = self.path / "sealed"
            for padding in ([], ["-nopad"]):
                if padding and len(clear) % block:
                    continue
                made = [enc(side, "-e", *padding, "-in", text) for side in (self.ours, self.plain)]
                equal(*made, f"{len(clear)} bytes encrypted")
                sealed.write_bytes(made[0])
                for side in (self.ours, self.plain):
                    equal(enc(side, "-d", *padding, "-in", sealed), clear, "decrypted")
        if block > 1:
            # No padding where there must be some.
            sealed.write_bytes(b"\0" * (block + 1))
            self.ours.refuses("enc", *args, "-d", "-in", sealed)
        return counters.demand(name, 2 * total)

    def by_password(self) -> None:
        """A key from a password."""
        text, sealed = self.texts[-1], self.path / "sealed"
        for maker, reader in self.ways:
            for how in (["-pbkdf2"], ["-md", "sha256"]):
                options = ["-aes-256-cbc", *how, "-k", "secret"]
                maker.ok("enc", *options, "-e", "-in", text, "-out", sealed)
                equal(reader.ok("enc", *options, "-d", "-in", sealed), text.read_bytes(), "texts")

    def digested(self, name: str) -> str:
        """`openssl dgst`, and with a key."""
        counters = Counters(self.statistics)
        option = "-" + name.lower().replace("sha2-", "sha")
        for args in ([option], [option, "-hmac", "key of some length"]):
            made = [side.ok("dgst", "-r", *args, *self.texts) for side in (self.ours, self.plain)]
            equal(*made, f"dgst {args}")
        counters.demand(f"HMAC-{name}", sum(LENGTHS))
        return counters.demand(name, sum(LENGTHS))

    def authenticated(self, name: str) -> str:
        """`openssl mac`."""
        counters = Counters(self.statistics)
        for text in self.texts[1:]:
            args = ["mac", *MACS[name][:-1], "-in", text, MACS[name][-1]]
            equal(*[side.ok(*args) for side in (self.ours, self.plain)], f"mac {args}")
        name = name.split(",")[0].strip()
        return counters.demand(name, sum(LENGTHS)) if name else "another provider's"

    def transferred(self, name: str, we_serve: bool, asynchronous: bool,
                    certificate: tuple[Path, Path]) -> str:
        """A download over TLS between ours and plain, in a folder of its own."""
        path = Path(tempfile.mkdtemp(dir=self.path))
        ours, statistics = counted_side(path / "ours", self.provider)
        server, client = (ours, self.plain) if we_serve else (self.plain, ours)
        options, counted = SUITES[name]
        suite = name.split(",")[0]
        options = [*options, "-ciphersuites" if suite.startswith("TLS_") else "-cipher", suite]
        options += ["-async"] if asynchronous else []
        counters = Counters(statistics)
        content = os.urandom(DOWNLOAD)
        (path / "download").write_bytes(content)
        key, crt = certificate
        port = servers.free_port()
        command = ["env", "-C", path, "openssl", "s_server", "-accept", f"127.0.0.1:{port}",
                   "-cert", crt, "-key", key, "-HTTP", "-no_ticket",
                   # The first connection finds out whether it listens. It ends by itself: a
                   # program that is killed prints no counters.
                   "-naccept", "2", *options]
        log = path / "s_server.log"
        up = servers.Server(command, server.env, {"": port}, log)
        connect = ["s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", crt, "-quiet",
                   "-verify_return_error", *options]
        try:
            got = client.ok(*connect, "-ign_eof", data=b"GET /download HTTP/1.0\r\n\r\n", timeout=60)
            up.process.wait(20)
        finally:
            up.stop()
        if hashlib.sha256(got).digest() != hashlib.sha256(content).digest():
            raise Failed(f"{len(got)} bytes came, not the {len(content)} that were sent\n"
                         f"{log.read_text()[-800:]}")
        # What one program of ours seals or opens, at least.
        notes = [counters.demand(cipher, DOWNLOAD) for cipher in counted]
        return ", ".join(notes)


def checks(checks: Checks, b: Bulk, certificate: tuple[Path, Path]) -> None:
    """All of them."""
    legacy = b"legacy" in b.plain.run("list", "-providers", "-provider", "legacy").stdout
    for name in CIPHERS:
        if name in LEGACY and not legacy:
            print(f"SKIPPED enc: {name}: OpenSSL's legacy provider is not installed")
        else:
            checks.run(f"enc: {name}", b.encrypted, name)
    checks.run("enc: passwords", b.by_password)
    for name in DIGESTS:
        checks.run(f"dgst: {name}", b.digested, name)
    for name in MACS:
        checks.run(f"mac: {name.strip() or ' '.join(MACS[name][1::2])}", b.authenticated, name)
    downloads = []
    for name in SUITES:
        for asynchronous in (False, True):
            for server, client in b.ways[:2]:
                title = (f"download, s_server {server.name}, s_client {client.name}"
                         f"{', -async' if asynchronous else ''}: {name}")
                downloads.append((title, b.transferred, name, server is b.ours, asynchronous,
                                  certificate))
    checks.side_by_side(AT_A_TIME, downloads)
