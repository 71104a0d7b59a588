#!/usr/bin/env python3
"""Decodes LZ4 and LZ4s, slowly, from the documents of the formats alone: the oracle of tests/formats.rs.

Standard input: any number of cases, each a byte (r raw block, b blocks with lengths, f frame, s LZ4s, t LZ4s with a
shortest match of 4), four bytes length (little endian), and so many bytes. Standard output: for each case a byte (0 good, 1 bad), four bytes
length, and the content (or why it is bad).
"""
import struct
import sys

P1, P2, P3, P4, P5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
M = 0xFFFFFFFF


def rotl(x, r):
    return ((x << r) | (x >> (32 - r))) & M


def xxh32(data, seed=0):
    n, at = len(data), 0
    if n >= 16:
        v = [(seed + P1 + P2) & M, (seed + P2) & M, seed, (seed - P1) & M]
        while at + 16 <= n:
            for i, lane in enumerate(struct.unpack_from("<4I", data, at)):
                v[i] = rotl((v[i] + lane * P2) & M, 13) * P1 & M
            at += 16
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)) & M
    else:
        h = (seed + P5) & M
    h = (h + n) & M
    while at + 4 <= n:
        h = rotl((h + struct.unpack_from("<I", data, at)[0] * P3) & M, 17) * P4 & M
        at += 4
    while at < n:
        h = rotl((h + data[at] * P5) & M, 11) * P1 & M
        at += 1
    h ^= h >> 15
    h = h * P2 & M
    h ^= h >> 13
    h = h * P3 & M
    return h ^ (h >> 16)


class Bad(Exception):
    pass


def want(condition, why):
    if not condition:
        raise Bad(why)


def number(half, src, at):
    total = half
    if half == 15:
        while True:
            want(at < len(src), "the end within a length")
            total += src[at]
            at += 1
            if src[at - 1] != 255:
                break
    return total, at


def block(src, out, start, more=4):
    """Appends the content of a block to `out`; matches may reach back to `out[start]`."""
    at = 0
    want(src, "an empty block")
    while True:
        if at == len(src):
            want(more < 4, "the end after a match")
            return
        token = src[at]
        literals, at = number(token >> 4, src, at + 1)
        want(at + literals <= len(src), "the end within literals")
        out += src[at:at + literals]
        at += literals
        if at == len(src):
            return
        want(at + 2 <= len(src), "the end within an offset")
        offset = src[at] | src[at + 1] << 8
        code, at = number(token & 15, src, at + 2)
        if more < 4 and code == 0:
            continue
        want(offset or more < 4, "an offset of 0")
        want(0 < offset <= len(out) - start, "an offset beyond the start")
        for _ in range(code + more):
            out.append(out[-offset])


def blocks(src, at, out, largest, independent, checksums, mark):
    start = len(out)
    while True:
        if at == len(src) and not mark:
            return at
        want(at + 4 <= len(src), "the end within a block's length")
        head, = struct.unpack_from("<I", src, at)
        at += 4
        if head == 0:
            return at
        size = head & 0x7FFFFFFF
        want(size <= largest, "a block that is too large")
        data = src[at:at + size]
        want(len(data) == size, "the end within a block")
        at += size
        if checksums:
            want(at + 4 <= len(src), "the end within a block's checksum")
            want(struct.unpack_from("<I", src, at)[0] == xxh32(data), "a block's checksum")
            at += 4
        before = len(out)
        if head >> 31:
            out += data
        else:
            block(data, out, before if independent else start)
        want(len(out) - before <= largest, "a block with too much in it")


def frame(src, out):
    want(len(src) >= 7 and src[:4] == b"\x04\x22\x4d\x18", "the magic")
    flg, bd = src[4], src[5]
    want(flg >> 6 == 1 and not flg & 2 and not bd & 0x8F and bd >> 4 >= 4, "the flags")
    want(not flg & 1, "a dictionary")
    at = 6
    size = None
    if flg & 8:
        size, = struct.unpack_from("<Q", src, at)
        at += 8
    want(src[at] == xxh32(src[4:at]) >> 8 & 0xFF, "the header's checksum")
    at = blocks(src, at + 1, out, 1 << (8 + 2 * (bd >> 4)), flg >> 5 & 1, flg >> 4 & 1, True)
    want(size is None or size == len(out), "the content size")
    if flg & 4:
        want(at + 4 <= len(src), "the end within the checksum")
        want(struct.unpack_from("<I", src, at)[0] == xxh32(out), "the content's checksum")
        at += 4
    want(at == len(src), "bytes after the end")


def main():
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = source.read(5)
        if not head:
            return
        kind, size = struct.unpack("<cI", head)
        src, out = source.read(size), bytearray()
        try:
            if kind == b"r":
                block(src, out, 0)
            elif kind in b"st":
                block(src, out, 0, more=2 if kind == b"s" else 3)
            elif kind == b"b":
                blocks(src, 0, out, 1 << 22, False, False, False)
            else:
                frame(src, out)
            sink.write(struct.pack("<BI", 0, len(out)) + out)
        except (Bad, IndexError, struct.error) as why:
            text = str(why).encode()
            sink.write(struct.pack("<BI", 1, len(text)) + text)


main()
