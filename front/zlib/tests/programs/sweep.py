"""Every way to use Python's zlib: `sweep.py write FOLDER` writes streams, `sweep.py read FOLDER` decodes
those that any library wrote, in all ways, and prints what must not depend on the library.

What depends on the library, the compressed bytes, is only ever written.
"""

import hashlib
import pickle
import random
import sys
import zlib
from pathlib import Path

WINDOWS = [9, 12, 15, -9, -12, -15, 25, 31]
STRATEGIES = [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED]
FLUSHES = [zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK]


def texts(r: random.Random) -> list[bytes]:
    """What is compressed: small and large, compressible and not."""
    words = [bytes(r.choices(b"abcdefghij \n", k=r.randint(1, 9))) for _ in range(400)]
    prose = b"".join(r.choices(words, k=60000))
    return [b"", b"a", b"a" * 300, prose[:100], prose[:5000], prose[:66000], r.randbytes(3000),
            r.randbytes(500) * 40, prose + r.randbytes(70000) + prose]


def write(folder: Path) -> None:
    """One file for each text; in it (how, stream) for all ways to compress it."""
    r = random.Random(5)
    for number, text in enumerate(texts(r)):
        large = len(text) > 100_000
        streams = []
        for level in (-1, *range(10)):
            streams.append((("whole", level), zlib.compress(text, level)))
            for wbits in WINDOWS if not large else (15, -15, 31):
                for strategy in STRATEGIES if level in (1, 6) and not large else (0,):
                    c = zlib.compressobj(level, zlib.DEFLATED, wbits, r.randint(1, 9), strategy)
                    out = [c.compress(text), c.flush()]
                    streams.append((("object", level, wbits, strategy), b"".join(out)))
        for wbits in WINDOWS:
            for _ in range(2 if large else 8):
                level, zdict = r.randint(0, 9), None
                if wbits < 16 and r.random() < 0.3:
                    zdict = text[len(text) // 3:][:30000] or b"x"
                args = [level, zlib.DEFLATED, wbits, r.randint(1, 9), r.choice(STRATEGIES)]
                c = zlib.compressobj(*args, *([zdict] if zdict else []))
                out, at = [], 0
                while at < len(text):
                    step = r.choice((1, 10, 1000, 30000, 300000))
                    out.append(c.compress(text[at:at + step]))
                    at += step
                    if r.random() < 0.2:
                        out.append(c.flush(r.choice(FLUSHES)))
                    if r.random() < 0.1:
                        # The copy ends first and must decode too; then the original goes on.
                        copy = c.copy()
                        whole = b"".join(out) + copy.compress(text[at:]) + copy.flush()
                        streams.append((("copied", *args, zdict), whole))
                out.append(c.flush())
                streams.append((("split", *args, zdict), b"".join(out)))
        (folder / f"{number}.streams").write_bytes(pickle.dumps((text, streams)))


def decoder(how: tuple):
    """An object for a stream that was made so."""
    wbits = 15 if how[0] == "whole" else how[2] if how[0] == "object" else how[3]
    zdict = how[-1] if how[0] in ("split", "copied") else None
    return zlib.decompressobj(wbits, *([zdict] if zdict else []))


def outcome(action) -> str:
    """What an action gives, or its error in words."""
    try:
        return hashlib.sha256(action()).hexdigest()
    except (zlib.error, EOFError, ValueError) as why:
        return f"{type(why).__name__}: {why}"


def read(folder: Path) -> None:
    """Decodes all: at once, in pieces, with little room, cut short, with something behind."""
    count = 0
    for file in sorted(folder.glob("*.streams")):
        text, streams = pickle.loads(file.read_bytes())
        r = random.Random(len(text))
        for how, stream in streams:
            count += 1
            d = decoder(how)
            if d.decompress(stream) + d.flush() != text or not d.eof or d.unused_data:
                raise SystemExit(f"{file.name} {how[:6]}: decodes to something else")
            d, out, rest = decoder(how), [], stream + b"behind"
            step = r.choice((1, 7, 300, 5000)) if len(stream) < 20000 else 20000
            room = r.choice((1, 100, 40000)) if len(text) < 20000 else 40000
            while not d.eof:
                out.append(d.decompress(rest[:step], room))
                rest = d.unconsumed_tail + rest[step:]
            if b"".join(out) != text or d.unused_data + rest[len(d.unconsumed_tail):] == b"":
                raise SystemExit(f"{file.name} {how[:6]}: decodes to something else in pieces")
            if how[0] == "whole":
                if zlib.decompress(stream) != text or zlib.decompress(stream, bufsize=1) != text:
                    raise SystemExit(f"{file.name} {how[:6]}: zlib.decompress differs")
    # Errors in words: of streams that are the same whatever the library.
    fixed = bytes.fromhex("789c4b4c4a4e494d4bcfc8cccacec9cdcb2f282c2a2e292d2bafa8ac32303432363135"
                          "33b7b00400") + b"\0\0\0\1"
    for n in range(len(fixed) + 1):
        for kind in (fixed[:n], fixed[:n] + b"\xff" + fixed[n + 1:], fixed[:n] + bytes(3)):
            print(n, outcome(lambda: zlib.decompress(kind)))
            d = zlib.decompressobj()
            print(n, outcome(lambda: d.decompress(kind)), d.eof, d.unused_data, d.unconsumed_tail)
    for n in (0, 1, 100, 70000):
        data = bytes(i * i % 251 for i in range(n))
        print(n, zlib.crc32(data), zlib.crc32(data, 7), zlib.adler32(data))
    with open("/proc/self/maps", encoding="ascii") as maps:
        libraries = sorted({line.split()[-1] for line in maps if "libz.so" in line})
    print(count, "streams")
    print(*libraries, file=sys.stderr)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
