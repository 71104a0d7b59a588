"""OpenSSL as a program's user meets it: configuration files, certificates, and what it says.

The provider is given by the path of its module, and only here is it known how a program is told to
load it. Without a path everything is plain OpenSSL.
"""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

NAME = "lookaside"


@dataclass
class Provider:
    """A provider's module, and its settings as in openssl.cnf; no module: plain OpenSSL."""

    module: Path | None = None
    settings: list[str] = field(default_factory=list)

    def conf(self) -> str:
        """The text of an openssl.cnf that loads it beside the default provider and prefers it."""
        # No TLS 1.3 tickets, as programs have no option for them: a handshake is then only that.
        text = (
            "openssl_conf = openssl_init\n\n"
            "[openssl_init]\n"
            "providers = provider_sect\n"
            "ssl_conf = ssl_sect\n"
            + ("alg_section = evp_properties\nrandom = random_sect\n" if self.module else "")
            + "\n[ssl_sect]\nsystem_default = system_default_sect\n"
            "\n[system_default_sect]\nNumTickets = 0\n"
            "\n[provider_sect]\ndefault = default_sect\n"
            + (f"{NAME} = {NAME}_sect\n" if self.module else "")
            + "\n[default_sect]\nactivate = 1\n"
        )
        if self.module:
            text += f"\n[{NAME}_sect]\nmodule = {self.module}\nactivate = 1\n"
            text += "".join(f"{line}\n" for line in self.settings)
            text += f"\n[evp_properties]\ndefault_properties = ?provider={NAME}\n"
            # As front/openssl/README.md has it.
            text += "\n[random_sect]\nproperties = provider=default\n"
        # What `openssl req` asks for; the subject is given on its command line.
        text += "\n[req]\ndistinguished_name = req_dn\n\n[req_dn]\n"
        return text

    def environment(self, conf: Path) -> dict[str, str]:
        """Writes the configuration to `conf`; the environment in which programs use it."""
        conf.write_text(self.conf())
        return environment(conf)


def environment(conf: Path) -> dict[str, str]:
    """The environment in which programs use this openssl.cnf."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENSSL_")}
    return kept | {"OPENSSL_CONF": str(conf)}


def loaded(env: dict[str, str]) -> str:
    """What `openssl list -providers` says."""
    listed = subprocess.run(
        ["openssl", "list", "-providers", "-verbose"],
        env=env, capture_output=True, text=True, check=False,
    )
    return listed.stdout + listed.stderr


def demand(env: dict[str, str]) -> None:
    """Ends the program with what OpenSSL said when the provider is not active."""
    text = loaded(env)
    if f"  {NAME}\n" not in text:
        raise SystemExit(f"OpenSSL does not load the provider:\n{text}")


def version() -> str:
    """E.g. OpenSSL 3.0.22 25 Aug 2026."""
    text = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=True).stdout
    return text.split(" (")[0].strip()


# A certificate's name and how `openssl req` makes its key.
CERTIFICATES = {
    "RSA-2048": ["rsa:2048"],
    "P-256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "P-384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "Ed25519": ["ed25519"],
}


def certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate with its key in one file, made by plain OpenSSL."""
    both = folder / f"{name}.pem"
    key, cert = folder / f"{name}.key", folder / f"{name}.crt"
    if not both.exists():
        env = Provider().environment(folder / "plain.cnf")
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-newkey", *CERTIFICATES[name], "-keyout", key, "-out", cert],
            env=env, check=True, capture_output=True,
        )
        both.write_text(cert.read_text() + key.read_text())
    return both
