#!/usr/bin/env python3
"""OpenSSL's own programs with our provider first in openssl.cnf; plain OpenSSL checks each result.

programs.py [PROVIDER] [--setting NAME=VALUE]... [--only TEXT]

PROVIDER is the path of the module; without it both sides are plain OpenSSL (to test this file).
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import bulk
import check
from check import AT_A_TIME, Checks, Failed, Side, equal
import openssl_conf
import servers

MESSAGE = b"The quick brown fox jumps over the lazy dog. " * 40

# What `openssl genpkey` is told for each key; the first word names it.
KEYS = {
    "RSA-1024": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
    "RSA-2048": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    "RSA-3072": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
    "RSA-4096": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"],
    "RSA-three-primes": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                         "-pkeyopt", "rsa_keygen_primes:3"],
    "RSA-PSS": ["-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048",
                "-pkeyopt", "rsa_pss_keygen_md:sha256"],
    "P-224": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-224"],
    "P-256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "P-384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "P-521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
    "secp256k1": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
    "P-256-explicit": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                       "-pkeyopt", "ec_param_enc:explicit"],
    "B-283": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:B-283"],
    "K-283": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:K-283"],
    "X25519": ["-algorithm", "X25519"],
    "X448": ["-algorithm", "X448"],
    "ED25519": ["-algorithm", "ED25519"],
    "ED448": ["-algorithm", "ED448"],
    "DH-ffdhe2048": ["-algorithm", "DH", "-pkeyopt", "group:ffdhe2048"],
    "DH-ffdhe3072": ["-algorithm", "DH", "-pkeyopt", "group:ffdhe3072"],
    # With parameters of their own, made before (PARAMETERS).
    "DH-custom": [],
    "DSA-1024": [],
    "DSA-2048": [],
    "SM2": ["-algorithm", "SM2"],
}

PARAMETERS = {
    # X9.42's generation with a subgroup: the search for a safe prime takes too long.
    "DH-custom": ["-algorithm", "DHX", "-pkeyopt", "dh_paramgen_prime_len:1024",
                  "-pkeyopt", "dh_paramgen_subprime_len:160", "-pkeyopt", "dh_paramgen_type:1"],
    "DSA-1024": ["-algorithm", "DSA", "-pkeyopt", "dsa_paramgen_bits:1024",
                 "-pkeyopt", "dsa_paramgen_q_bits:160"],
    "DSA-2048": ["-algorithm", "DSA", "-pkeyopt", "dsa_paramgen_bits:2048",
                 "-pkeyopt", "dsa_paramgen_q_bits:256"],
}

# What the provider serves: the kind that `openssl list` knows, and the names.
SERVED = {
    "key-managers": ["RSA", "RSA-PSS", "DSA", "DH", "EC", "X25519", "X448", "ED25519", "ED448",
                     "SM2"],
    "signature-algorithms": ["RSA", "DSA", "ECDSA", "ED25519", "ED448", "SM2"],
    "asymcipher-algorithms": ["RSA", "SM2"],
    "key-exchange-algorithms": ["DH", "ECDH", "X25519", "X448"],
    "kdf-algorithms": ["TLS1-PRF", "HKDF"],
    "cipher-algorithms": [*bulk.CIPHERS, "AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "AES-128-CCM",
                          "AES-192-CCM", "AES-256-CCM", "AES-128-XTS", "AES-256-XTS",
                          "ChaCha20-Poly1305", "AES-128-CBC-HMAC-SHA1", "AES-256-CBC-HMAC-SHA1",
                          "AES-128-CBC-HMAC-SHA256", "AES-256-CBC-HMAC-SHA256"],
    "digest-algorithms": bulk.DIGESTS,
    "mac-algorithms": ["HMAC", "CMAC", "GMAC", "POLY1305"],
}


PARTS = ["keys", "documents", "tls", "bulk", "speed"]


class Programs:
    """The keys of a run and the two sides."""

    def __init__(self, path: Path, ours: Side, plain: Side):
        self.path = path
        self.ours, self.plain = ours, plain
        # Who makes, who checks. Plain against plain would say nothing.
        self.ways = [(ours, plain), (plain, ours), (ours, ours)]
        self.message = path / "message"
        self.message.write_bytes(MESSAGE)

    def key(self, name: str, by: Side) -> Path:
        """A private key that this side made (once)."""
        key = self.path / f"{name}-{by.name}.key"
        if not key.exists():
            args = ["-paramfile", self.parameters(name)] if name in PARAMETERS else KEYS[name]
            by.ok("genpkey", *args, "-out", key)
        return key

    def parameters(self, name: str) -> Path:
        """Its parameters, made by ours (once)."""
        file = self.path / f"{name}.params"
        if not file.exists():
            self.ours.ok("genpkey", "-genparam", *PARAMETERS[name], "-out", file, timeout=120)
        return file

    def public(self, name: str, by: Side) -> Path:
        """Its public key."""
        public = self.path / f"{name}-{by.name}.pub"
        if not public.exists():
            by.ok("pkey", "-in", self.key(name, by), "-pubout", "-out", public)
        return public

    def served(self, kind: str, name: str) -> None:
        """The provider offers it."""
        lines = self.ours.ok("list", f"-{kind}").decode().splitlines()
        if not any(openssl_conf.NAME in line.split("@")[-1]
                   and name.lower() in re.split(r"[{}, ]+", line.split("@")[0].lower())
                   for line in lines):
            raise Failed(f"no {name} @ {openssl_conf.NAME} in openssl list -{kind}")

    def generated(self, name: str) -> None:
        """Keys of each side are keys to the other, and say the same."""
        if name in PARAMETERS:
            file = self.parameters(name)
            texts = [s.ok("pkeyparam", "-in", file, "-text", "-noout") for s in self.ways[0]]
            equal(*texts, "parameters as text")
        for maker in (self.ours, self.plain):
            key, public = self.key(name, maker), self.public(name, maker)
            for args in (["-in", key, "-text"], ["-in", key, "-pubout"],
                         ["-in", public, "-pubin", "-text"],
                         ["-in", key, "-outform", "DER"],
                         ["-in", public, "-pubin", "-outform", "DER"]):
                texts = [side.ok("pkey", *args) for side in (self.ours, self.plain)]
                equal(*texts, f"pkey {args[2:]}")
            # DH has no check that likes every group; SM2's text says enough.
            if not name.startswith(("DH", "SM2", "DSA")):
                for side in (self.ours, self.plain):
                    side.ok("pkey", "-in", key, "-check", "-noout")
            locked = self.path / "locked.pem"
            self.ours.ok("pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked)
            opened = self.plain.ok("pkey", "-in", locked, "-passin", "pass:secret")
            equal(opened, self.plain.ok("pkey", "-in", key), "a key after encryption")

    def signed(self, name: str, sign: list[str], verify: list[str], input: Path) -> None:
        """Signatures of each side are valid to the other; altered ones to neither."""
        signature = self.path / "signature"
        for signer, verifier in self.ways:
            key, public = self.key(name, signer), self.public(name, signer)
            signer.ok("pkeyutl", "-sign", "-inkey", key, "-in", input, "-out", signature, *sign)
            check_it = ["pkeyutl", "-verify", "-pubin", "-inkey", public, "-in", input,
                        "-sigfile", signature, *verify]
            verifier.ok(*check_it)
            altered = bytearray(signature.read_bytes())
            altered[len(altered) // 2] ^= 4
            signature.write_bytes(altered)
            verifier.refuses(*check_it)

    def digested(self, name: str, digest: str, options: list[str]) -> None:
        """`dgst -sign` and `-verify`."""
        signature = self.path / "signature"
        sigopts = [word for option in options for word in ("-sigopt", option)]
        for signer, verifier in self.ways:
            signer.ok("dgst", f"-{digest}", "-sign", self.key(name, signer), *sigopts,
                      "-out", signature, self.message)
            check_it = ["dgst", f"-{digest}", "-verify", self.public(name, signer), *sigopts,
                        "-signature", signature]
            verifier.ok(*check_it, self.message)
            other = self.path / "other"
            other.write_bytes(MESSAGE + b".")
            verifier.refuses(*check_it, other)

    def encrypted(self, name: str, options: list[str], length: int) -> None:
        """What one side encrypts, the other decrypts."""
        secret, sealed = self.path / "secret", self.path / "sealed"
        secret.write_bytes(MESSAGE[:length])
        pkeyopts = [word for option in options for word in ("-pkeyopt", option)]
        for sender, receiver in self.ways:
            key, public = self.key(name, receiver), self.public(name, receiver)
            sender.ok("pkeyutl", "-encrypt", "-pubin", "-inkey", public, "-in", secret,
                      "-out", sealed, *pkeyopts)
            decrypt = ["pkeyutl", "-decrypt", "-inkey", key, "-in", sealed, *pkeyopts]
            equal(receiver.ok(*decrypt), secret.read_bytes(), "the decrypted and the encrypted")
            # PKCS#1's implicit rejection may give a random answer instead of an error.
            altered = bytearray(sealed.read_bytes())
            altered[len(altered) // 2] ^= 4
            sealed.write_bytes(altered)
            ran = receiver.run(*decrypt)
            if ran.returncode < 0 or ran.stdout == secret.read_bytes():
                raise Failed("altered: " + receiver.said(decrypt, ran))

    def recovered(self, name: str, program: str, options: list[str], message: bytes) -> None:
        """A signature gives back what was signed."""
        short, signature = self.path / "short", self.path / "signature"
        short.write_bytes(message)
        verify = "-verifyrecover" if program == "pkeyutl" else "-verify"
        for signer, verifier in self.ways:
            signer.ok(program, "-sign", "-inkey", self.key(name, signer), "-in", short,
                      "-out", signature, *options)
            got = verifier.ok(program, verify, "-pubin", "-inkey",
                              self.public(name, signer), "-in", signature, *options)
            equal(got, short.read_bytes(), "the recovered and the signed")

    def derived(self, name: str) -> None:
        """Both ends agree on a secret, whoever computes."""
        # With keys of both sides; DH's are of the same group.
        ours, plain = self.key(name, self.ours), self.key(name, self.plain)
        publics = []
        for key in (ours, plain):
            publics.append(self.path / f"peer-{len(publics)}.pub")
            self.plain.ok("pkey", "-in", key, "-pubout", "-out", publics[-1])
        secrets = []
        for key, peer in ((ours, publics[1]), (plain, publics[0])):
            for side in (self.ours, self.plain):
                secrets.append(side.ok("pkeyutl", "-derive", "-inkey", key, "-peerkey", peer))
        if not secrets[0] or any(secret != secrets[0] for secret in secrets):
            raise Failed(f"the secrets differ: {[s.hex()[:32] for s in secrets]}")

    def certified(self, name: str) -> None:
        """A CA, a request, a certificate, a chain: made by one side, verified by the other."""
        at = lambda file: self.path / f"{name}-{file}"
        # SM2 is signed with SM3 and the default identity on both sides.
        extra = ["-sm3"] if name == "SM2" else []
        extra += ["-sigopt", "distid:1234567812345678"] if name == "SM2" else []
        check_extra = ["-vfyopt", "distid:1234567812345678"] if name == "SM2" else []
        for maker, verifier in self.ways:
            key = self.key(name, maker)
            maker.ok("req", "-x509", "-new", "-key", key, "-subj", "/CN=CA", "-days", "9",
                     "-addext", "keyUsage=critical,keyCertSign,digitalSignature",
                     *extra, "-out", at("ca.crt"))
            maker.ok("req", "-new", "-key", key, "-subj", "/CN=leaf", *extra,
                     "-out", at("leaf.csr"))
            verifier.ok("req", "-in", at("leaf.csr"), "-verify", "-noout", *check_extra)
            maker.ok("x509", "-req", "-in", at("leaf.csr"), "-CA", at("ca.crt"), "-CAkey", key,
                     "-set_serial", "7", "-days", "9", *extra, *check_extra, "-out", at("leaf.crt"))
            verifier.ok("verify", *check_extra, "-CAfile", at("ca.crt"), at("leaf.crt"))

    def cms(self, name: str, encrypts: bool) -> None:
        """Signed, and where the key can, enveloped messages."""
        at = lambda file: self.path / f"{name}-cms-{file}"
        for maker, verifier in self.ways:
            key = self.key(name, maker)
            maker.ok("req", "-x509", "-new", "-key", key, "-subj", "/CN=mail", "-days", "9",
                     "-addext", "keyUsage=digitalSignature,keyEncipherment,keyAgreement",
                     "-out", at("crt"))
            maker.ok("cms", "-sign", "-binary", "-nodetach", "-in", self.message,
                     "-signer", at("crt"), "-inkey", key, "-outform", "DER", "-out", at("signed"))
            got = verifier.ok("cms", "-verify", "-binary", "-in", at("signed"), "-inform", "DER",
                              "-CAfile", at("crt"), "-purpose", "any")
            equal(got, MESSAGE, "the message and what came with the signature")
            if encrypts:
                maker.ok("cms", "-encrypt", "-binary", "-aes128", "-in", self.message,
                         "-outform", "DER", "-out", at("sealed"), at("crt"))
                got = verifier.ok("cms", "-decrypt", "-binary", "-in", at("sealed"), "-inform",
                                  "DER", "-inkey", key, "-recip", at("crt"))
                equal(got, MESSAGE, "the message and what was decrypted")

    def key_derivation(self, args: list[str]) -> None:
        """`openssl kdf` says the same on both sides."""
        got = [side.ok("kdf", *args) for side in (self.ours, self.plain)]
        equal(*got, "derived keys")

    def speed(self, algorithm: str, jobs: int) -> str:
        """`openssl speed` runs to its end and has done something."""
        options = ["-async_jobs", str(jobs)] if jobs else []
        ran = self.ours.run("speed", "-mr", "-seconds", "1", *options, algorithm)
        counts = re.findall(rb"^\+R\d+:(\d+):", ran.stderr, re.MULTILINE)
        if ran.returncode or not counts or b"0" in counts or b"rror" in ran.stderr:
            raise Failed(self.ours.said(["speed", *options, algorithm], ran))
        return ", ".join(count.decode() for count in counts)

    def speed_evp(self, algorithm: str, jobs: int) -> str:
        """The same for what is measured in bytes."""
        options = ["-async_jobs", str(jobs)] if jobs else []
        ran = self.ours.run("speed", "-mr", "-seconds", "1", "-bytes", "16384", *options,
                            "-evp", algorithm)
        rates = re.findall(rb"^\+F:\d+:[^:]+:([\d.]+)", ran.stdout, re.MULTILINE)
        if ran.returncode or not rates or float(rates[0]) <= 0 or b"rror" in ran.stderr:
            raise Failed(self.ours.said(["speed", *options, "-evp", algorithm], ran))
        return f"{float(rates[0]) / 1e9:.2f} GB/s"


class Tls:
    """`openssl s_server` and `s_client`."""

    def __init__(self, programs: Programs, certificate: str):
        self.programs = programs
        self.name = certificate
        plain = programs.plain
        self.key = programs.key(certificate, plain)
        self.crt = programs.path / f"{certificate}-tls.crt"
        if not self.crt.exists():
            plain.ok("req", "-x509", "-new", "-key", self.key, "-subj", "/CN=localhost",
                     "-days", "9", "-out", self.crt)

    def handshakes(self, server: Side, client: Side, asynchronous: bool,
                   tries: list[list[str]], mutual: bool = False) -> str:
        """One server; a client for each list of options. Every handshake has to complete, with
        the certificate verified."""
        port = servers.free_port()
        command = ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", self.crt,
                   "-key", self.key, "-www", "-no_ticket"]
        command += ["-async"] if asynchronous else []
        command += ["-Verify", "1", "-CAfile", self.crt, "-verify_return_error"] if mutual else []
        log = Path(tempfile.mkdtemp(dir=self.programs.path)) / "s_server.log"
        up = servers.Server(command, server.env, {self.name: port}, log)
        agreed = []
        try:
            for options in tries:
                args = ["s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", self.crt,
                        "-verify_return_error", "-ign_eof", *options]
                args += ["-async"] if asynchronous else []
                args += ["-cert", self.crt, "-key", self.key] if mutual else []
                request = b"GET / HTTP/1.0\r\n\r\n"
                said = client.ok(*args, data=request, timeout=20).decode(errors="replace")
                if "Verify return code: 0 (ok)" not in said or "HTTP/1.0 200 ok" not in said:
                    raise Failed(f"openssl {' '.join(map(str, args))}\n{said[-1500:]}\n"
                                 f"{log.read_text()[-800:]}")
                version = "TLSv1.3" if "-tls1_3" in options else "TLSv1.2"
                if f"New, {version}, " not in said:
                    raise Failed(f"not a new {version}:\n{said[-1500:]}")
                agreed.append(self.group(options, said))
            if not up.alive():
                raise Failed(f"s_server ended: {log.read_text()[-800:]}")
        finally:
            up.stop()
        return " ".join(agreed)


    def group(self, options: list[str], said: str) -> str:
        """The group that was agreed on, which has to be the one asked for."""
        # "Server" until OpenSSL 3.4, "Peer" since 3.5.
        found = re.search(r"(?:Server|Peer) Temp Key: (?:ECDH, )?(\S+?),", said)
        group = found.group(1) if found else "-"
        if "-groups" in options:
            wanted = options[options.index("-groups") + 1]
            names = {"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1"}
            if group != "DH" and group != names.get(wanted, wanted):
                raise Failed(f"asked for {wanted}, got {group}")
        return group


def key_checks(checks: Checks, p: Programs) -> None:
    """Keys, signatures, encryption, agreement."""
    for name in KEYS:
        checks.run(f"genpkey, pkey: {name}", p.generated, name)
    for name in KEYS:
        digests = ["sha256", "sha512"] if name != "RSA-1024" else ["sha1", "sha256"]
        if name.startswith(("RSA-1", "RSA-2", "RSA-3", "RSA-4", "RSA-t", "DSA", "P-", "secp256k1",
                            "B-", "K-")):
            for digest in digests:
                checks.run(f"dgst -{digest}: {name}", p.digested, name, digest, [])
        if name.startswith("RSA"):
            pss = ["rsa_padding_mode:pss", "rsa_pss_saltlen:digest"]
            checks.run(f"dgst -sha256, PSS: {name}", p.digested, name, "sha256", pss)
    digest = p.path / "digest"
    digest.write_bytes(bytes(range(32)))
    with_digest = ["-pkeyopt", "digest:sha256"]
    pss = [*with_digest, "-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_mgf1_md:sha256"]
    checks.run("pkeyutl -sign, PKCS#1: RSA-2048", p.signed, "RSA-2048", with_digest, with_digest,
               digest)
    checks.run("pkeyutl -sign, PSS: RSA-2048", p.signed, "RSA-2048", pss, pss, digest)
    checks.run("rsautl -sign -raw: RSA-2048", p.recovered, "RSA-2048", "rsautl", ["-raw"],
               b"\0" + bytes(range(1, 256)))
    x931 = [*with_digest, "-pkeyopt", "rsa_padding_mode:x931"]
    checks.run("pkeyutl -sign, X9.31: RSA-2048", p.signed, "RSA-2048", x931, x931, digest)
    for name in ("P-224", "P-256", "P-384", "P-521", "secp256k1", "DSA-2048"):
        checks.run(f"pkeyutl -sign: {name}", p.signed, name, [], [], digest)
    for name in ("ED25519", "ED448"):
        checks.run(f"pkeyutl -sign -rawin: {name}", p.signed, name, ["-rawin"], ["-rawin"],
                   p.message)
    sm2 = ["-rawin", "-digest", "sm3", "-pkeyopt", "distid:1234567812345678"]
    checks.run("pkeyutl -sign, SM3: SM2", p.signed, "SM2", sm2, sm2, p.message)
    checks.run("pkeyutl -verifyrecover: RSA-2048", p.recovered, "RSA-2048", "pkeyutl", [],
               MESSAGE[:32])
    for name, length in (("RSA-1024", 20), ("RSA-2048", 190), ("RSA-4096", 100)):
        checks.run(f"pkeyutl -encrypt, PKCS#1: {name}", p.encrypted, name, [], length)
        oaep = ["rsa_padding_mode:oaep"]
        checks.run(f"pkeyutl -encrypt, OAEP: {name}", p.encrypted, name, oaep, min(length, 80))
    oaep = ["rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha1",
            "rsa_oaep_label:6c6162656c"]
    checks.run("pkeyutl -encrypt, OAEP with a label: RSA-2048", p.encrypted, "RSA-2048", oaep, 100)
    none = ["rsa_padding_mode:none"]
    raw_length = 256
    checks.run("pkeyutl -encrypt, no padding: RSA-2048", raw_encrypted, p, none, raw_length)
    checks.run("pkeyutl -encrypt: SM2", p.encrypted, "SM2", [], 100)
    for name in ("P-224", "P-256", "P-384", "P-521", "secp256k1", "B-283", "K-283", "X25519",
                 "X448", "DH-ffdhe2048", "DH-ffdhe3072", "DH-custom"):
        checks.run(f"pkeyutl -derive: {name}", p.derived, name)


def raw_encrypted(p: Programs, options: list[str], length: int) -> None:
    """The bare RSA function needs a message below the modulus: one that begins with a zero."""
    secret, sealed = p.path / "secret", p.path / "sealed"
    secret.write_bytes(b"\0" + MESSAGE[: length - 1])
    pkeyopts = [word for option in options for word in ("-pkeyopt", option)]
    for sender, receiver in p.ways:
        key, public = p.key("RSA-2048", receiver), p.public("RSA-2048", receiver)
        sender.ok("pkeyutl", "-encrypt", "-pubin", "-inkey", public, "-in", secret,
                  "-out", sealed, *pkeyopts)
        got = receiver.ok("pkeyutl", "-decrypt", "-inkey", key, "-in", sealed, *pkeyopts)
        equal(got, secret.read_bytes(), "the decrypted and the encrypted")


def document_checks(checks: Checks, p: Programs) -> None:
    """Certificates, CMS, key derivation."""
    for name in ("RSA-2048", "RSA-PSS", "P-256", "P-384", "P-521", "ED25519", "ED448", "DSA-2048",
                 "SM2"):
        checks.run(f"req, x509, verify: {name}", p.certified, name)
    for name, encrypts in (("RSA-2048", True), ("P-256", True), ("P-384", True),
                           ("DSA-2048", False)):
        checks.run(f"cms: {name}", p.cms, name, encrypts)
    for digest in ("SHA256", "SHA384"):
        checks.run(f"kdf TLS1-PRF, {digest}", p.key_derivation, [
            "-keylen", "48", "-kdfopt", f"digest:{digest}",
            "-kdfopt", "secret:01234567890123456789", "-kdfopt", "seed:master secretabcdefgh",
            "TLS1-PRF"])
        for mode in ("EXTRACT_AND_EXPAND", "EXTRACT_ONLY", "EXPAND_ONLY"):
            length = {"SHA256": 32, "SHA384": 48}[digest]
            checks.run(f"kdf HKDF, {digest}, {mode}", p.key_derivation, [
                "-keylen", str(length), "-kdfopt", f"digest:{digest}", "-kdfopt", f"mode:{mode}",
                "-kdfopt", "key:0123456789012345678901234567890123456789012345678",
                "-kdfopt", "salt:salt", "-kdfopt", "info:label", "HKDF"])
    checks.run("kdf TLS1-PRF, MD5-SHA1", p.key_derivation, [
        "-keylen", "48", "-kdfopt", "digest:MD5-SHA1", "-kdfopt", "secret:0123456789",
        "-kdfopt", "seed:key expansion0123456789", "TLS1-PRF"])


def tls_checks(checks: Checks, p: Programs) -> None:
    """Handshakes: each certificate's key type, each group, each way round."""
    both = [["-tls1_2"], ["-tls1_3"]]
    names = ["RSA-2048", "RSA-PSS", "P-256", "P-384", "P-521", "ED25519", "ED448"]
    # Their certificates are made now: the checks run side by side.
    certified = {name: Tls(p, name) for name in names}
    several = []
    groups = ["X25519", "P-256", "P-384", "P-521", "X448", "ffdhe2048", "ffdhe3072"]
    tries = [["-tls1_3", "-groups", group] for group in groups]
    # In TLS 1.2 finite fields come with cipher suites of their own, and the static RSA ones
    # decrypt.
    tries += [["-tls1_2", "-groups", group] for group in groups[:5]]
    tries += [["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"],
              ["-tls1_2", "-cipher", "AES128-GCM-SHA256"]]
    # What takes longest is first.
    for asynchronous in (True, False):
        for server, client in p.ways:
            title = (f"every group, s_server {server.name}, s_client {client.name}"
                     f"{', -async' if asynchronous else ''}")
            several.append((title, certified["RSA-2048"].handshakes, server, client, asynchronous,
                            tries))
    for asynchronous in (True, False):
        for server, client in p.ways:
            title = (f"s_server {server.name}, s_client {client.name}"
                     f"{', -async' if asynchronous else ''}")
            several += [(f"{title}: {name}", certified[name].handshakes, server, client,
                         asynchronous, both) for name in names]
            several += [(f"client certificate, {title}: {name}", certified[name].handshakes, server,
                         client, asynchronous, both, True) for name in ("RSA-2048", "P-256")]
    checks.side_by_side(AT_A_TIME, several)


def main() -> int:
    """All checks; the exit status."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    a.add_argument("provider", nargs="?", default="", help="the module; empty: plain OpenSSL")
    a.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    a.add_argument("--only", choices=PARTS, action="append")
    o = a.parse_args()
    module = Path(o.provider).resolve(strict=True) if o.provider else None
    wanted = o.only or PARTS
    checks = Checks()
    with check.folder() as path:
        statistics = Path(path) / "statistics" if module else None
        # What is tried is ours, on CPUs too where OpenSSL is the faster one.
        settings = ["algorithms = all", *o.setting, f"statistics = {statistics}"]
        ours, plain = check.sides(Path(path), openssl_conf.Provider(module, settings))
        p = Programs(Path(path), ours, plain)
        if module:
            for kind, names in SERVED.items():
                for name in names:
                    checks.run(f"list -{kind}: {name}", p.served, kind, name)
        else:
            print("no provider given: plain OpenSSL against itself")
        if "keys" in wanted:
            key_checks(checks, p)
        if "documents" in wanted:
            document_checks(checks, p)
        if "tls" in wanted:
            tls_checks(checks, p)
        if "bulk" in wanted:
            everything = openssl_conf.Provider(module, ["algorithms = all", *o.setting])
            b = bulk.Bulk(Path(path), everything, plain)
            tls = Tls(p, "RSA-2048")
            bulk.checks(checks, b, (tls.key, tls.crt))
        if "speed" in wanted:
            several = [(f"speed, {jobs} jobs: {algorithm}", p.speed, algorithm, jobs)
                       for algorithm in ("rsa2048", "ecdsap256", "ecdhx25519") for jobs in (0, 8)]
            several += [(f"speed -evp, {jobs} jobs: {algorithm}", p.speed_evp, algorithm, jobs)
                        for algorithm in ("sha1", "sha3-256", "aes-128-cbc", "aes-128-gcm")
                        for jobs in (0, 20)]
            checks.side_by_side(2, several)
    return checks.summary()


if __name__ == "__main__":
    sys.exit(main())
