#!/usr/bin/env python3
"""Real documents with both libraries: `survey.py LIBEXPAT [--piece BYTES] [--show N] < FILES`.

LIBEXPAT is our libexpat.so.1; FILES names a file a line. Python parses each with it and with the system's, with
and without namespaces, at once and in pieces of BYTES (777): every call of every handler with its arguments and
its place, and the error, must be equal. Texts that follow each other count as one, as neither library says where
it cuts them. Says how many files differ, shows the first difference of N of them (10), and fails if there are any.

Python has to use the system's library: Debian's does.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import xml.parsers.expat as expat

HANDLERS = """StartElement EndElement CharacterData ProcessingInstruction Comment StartCdataSection EndCdataSection
StartDoctypeDecl EndDoctypeDecl ElementDecl AttlistDecl EntityDecl NotationDecl StartNamespaceDecl EndNamespaceDecl
XmlDecl UnparsedEntityDecl SkippedEntity""".split()
# XML_ERROR_AMPLIFICATION_LIMIT_BREACH: the libraries count what entities expand to by tokens and by pieces.
AMPLIFICATION = 43


def events(data, namespaces, piece):
    """The calls of the handlers for a document, a line each."""
    p = expat.ParserCreate(namespace_separator=" " if namespaces else None)
    told, text = [], []

    def flush():
        if text:
            told.append(f"CharacterData {''.join(text)!r}")
            text.clear()

    def handler(name):
        def call(*arguments):
            flush()
            place = p.CurrentLineNumber, p.CurrentColumnNumber, p.CurrentByteIndex
            told.append(f"{name} {arguments} at {place}")
        return call

    for name in HANDLERS:
        setattr(p, name + "Handler", handler(name))
    p.CharacterDataHandler = text.append
    try:
        for at in range(0, len(data), piece):
            p.Parse(data[at:at + piece], at + piece >= len(data))
    except expat.ExpatError as e:
        if e.code == AMPLIFICATION:
            return [f"error {e.code}"]
        told.append(f"error {e.code} at {e.lineno, e.offset}")
    except (ValueError, LookupError) as e:
        # An encoding that Python does not have.
        told.append(f"encoding: {e}")
    flush()
    return told


def read(name, namespaces, piece):
    """The same of a file."""
    with open(name, "rb") as f:
        data = f.read()
    return events(data, namespaces, piece or len(data) or 1)


def hashes(piece):
    """A hash of the calls for each file and each way to read it, a line each."""
    for name in sys.stdin.read().splitlines():
        for namespaces in (0, 1):
            for step in (0, piece):
                told = "\n".join(read(name, namespaces, step)).encode(errors="surrogatepass")
                print(hashlib.sha256(told).hexdigest(), namespaces, step, name)


def run(arguments, library, names=""):
    """This program with a library."""
    env = dict(os.environ, PYTHONIOENCODING="utf-8:surrogateescape")
    env.pop("LD_PRELOAD", None)
    if library:
        env["LD_PRELOAD"] = os.path.abspath(library)
    done = subprocess.run([sys.executable, __file__, library or "-", *arguments], input=names, env=env, text=True,
                          encoding="utf-8", errors="surrogateescape", capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"survey: {library or 'the system'}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def main():
    """Both libraries."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library")
    a.add_argument("--piece", type=int, default=777)
    a.add_argument("--show", type=int, default=10)
    a.add_argument("--hashes", action="store_true", help=argparse.SUPPRESS)
    a.add_argument("--events", nargs=3, help=argparse.SUPPRESS)
    o = a.parse_args()
    if o.hashes:
        return hashes(o.piece)
    if o.events:
        namespaces, step, name = o.events
        return print("\n".join(read(name, int(namespaces), int(step))))
    names = [name for name in sys.stdin.read().splitlines() if os.access(name, os.R_OK) and os.path.isfile(name)]
    given = "\n".join(names)
    ours, theirs = (run(["--hashes", f"--piece={o.piece}"], library, given) for library in (o.library, None))
    different = {}
    for mine, his in zip(ours, theirs, strict=True):
        if mine != his:
            _, namespaces, step, name = mine.split(" ", 3)
            different.setdefault(name, (namespaces, step))
    print(f"{len(names)} files, {len(different)} differ; expat {expat.EXPAT_VERSION}")
    for name, (namespaces, step) in list(different.items())[:o.show]:
        mine, his = (run(["--events", namespaces, step, name], library) for library in (o.library, None))
        at = next((n for n, pair in enumerate(zip(mine, his)) if pair[0] != pair[1]), min(len(mine), len(his)))
        print(f"{name}, namespaces {namespaces}, pieces of {step}, call {at}:")
        for who, told in (("ours", mine), ("theirs", his)):
            print(f"  {who:6} {(told[at:at + 1] or ['nothing'])[0][:300]}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
