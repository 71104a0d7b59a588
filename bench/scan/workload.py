#!/usr/bin/env python3
"""Makes the pattern sets and inputs of paper 5, section 5.3, from a seed.

  workload.py OUT_DIR [--seed N] [--blocks 4000] [--block 1000] [--flows 256]

Pattern files: one `id:/regex/flags` a line (flags i: caseless, s: dot matches all).
Input files: records of u32 flow, u32 length, bytes (little endian): the packets of interleaved flows.

simpleN   N strings of 10 letters and digits, case sensitive, unanchored (figure 8)
multi0-7  eight contexts of 1000 such strings, with one common input
complexN  strings of 4-14; 35 % of them with classes, alternatives, optional parts or bounded
          repeats; 20 % of the patterns join several by . .* [^"]*" [^\\n\\r]*; 50 % caseless, 20 %
          anchored at the start (figure 9, table II)
longN     the same with strings of 8-14: fewer chance matches
The paper leaves open how long the strings of the complex sets are and how many parts they have: those
choices are ours. Input: random letters and digits, and beginnings of patterns (length exponential with mean 2,
distance exponential with mean 100), cut in scans of 1000 bytes."""
import argparse, os, random, struct

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
SEPARATORS = [(".", "x"), (".*", ""), ('[^"]*"', '"'), ("[^\\n\\r]*", "")]
CLASSES = {"[0-9]": "7", "[a-f]": "c", "[A-Za-z]": "k", "\\d": "3", "\\w": "w"}


def text(r, n):
    return "".join(r.choice(ALPHABET) for _ in range(n))


def simple(n, seed):
    r = random.Random(seed)
    return [(s, "", s) for s in (text(r, 10) for _ in range(n))]


def element(r, shortest):
    """A string element: its regular expression and a text that it matches."""
    s = text(r, r.randint(shortest, 14))
    if r.random() >= 0.35:
        return s, s
    special = set(r.sample(range(len(s)), min(len(s), r.randint(1, 3))))
    regex, sample = [], []
    for i, c in enumerate(s):
        kind = r.random()
        if i not in special:
            regex.append(c), sample.append(c)
        elif kind < 0.4:
            named = r.choice(list(CLASSES))
            own = "[" + "".join(sorted(set(c + text(r, r.randint(1, 4))))) + "]"
            pick = named if r.random() < 0.5 else own
            regex.append(pick), sample.append(CLASSES.get(pick, c))
        elif kind < 0.7:
            a, b = text(r, r.randint(1, 4)), text(r, r.randint(1, 4))
            regex.append(f"(?:{a}|{b})"), sample.append(a)
        elif r.random() < 0.5:
            regex.append(c + "?"), sample.append(c)
        else:
            low = r.randint(1, 3)
            regex.append(f"{c}{{{low},{low + r.randint(1, 4)}}}"), sample.append(c * low)
    return "".join(regex), "".join(sample)


def complex_set(n, seed, shortest):
    r = random.Random(seed)
    patterns = []
    for _ in range(n):
        regex, sample = element(r, shortest)
        if r.random() < 0.20:
            for _ in range(r.randint(1, 2)):
                (sep, s), (e, t) = r.choice(SEPARATORS), element(r, shortest)
                regex, sample = regex + sep + e, sample + s + t
        flags = "is" if r.random() < 0.5 else "s"
        patterns.append(("^" + regex if r.random() < 0.2 else regex, flags, sample))
    return patterns


def packets(patterns, seed, a):
    r = random.Random(seed)
    total, parts, n = a.blocks * a.block, [], 0
    while n < total:
        sample = r.choice(patterns)[2]
        for piece in (text(r, int(r.expovariate(1 / 100))), sample[: round(r.expovariate(0.5))]):
            parts.append(piece)
            n += len(piece)
    data = "".join(parts)[:total].encode("latin1")
    return b"".join(
        struct.pack("<II", r.randrange(a.flows), a.block) + data[i * a.block : (i + 1) * a.block]
        for i in range(a.blocks)
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out"), p.add_argument("--seed", type=int, default=1)
    p.add_argument("--blocks", type=int, default=4000), p.add_argument("--block", type=int, default=1000)
    p.add_argument("--flows", type=int, default=256)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)

    def write(name, patterns, seed):
        rows(name, patterns)
        with open(f"{a.out}/{name}.in", "wb") as f:
            f.write(packets(patterns, seed, a))

    def rows(name, patterns):
        with open(f"{a.out}/{name}.pat", "w") as f:
            f.writelines(f"{i}:/{regex}/{flags}\n" for i, (regex, flags, _) in enumerate(patterns, 1))

    for n in (100, 200, 300, 600, 1000, 1500, 2000, 3500):
        write(f"simple{n}", simple(n, a.seed * 10**6 + n), a.seed * 10**6 + n + 7)
    many = simple(8000, a.seed * 10**6 + 8000)
    for k in range(8):
        rows(f"multi{k}", many[k * 1000 : (k + 1) * 1000])
    with open(f"{a.out}/multi.in", "wb") as f:
        f.write(packets(many, a.seed * 10**6 + 8007, a))
    for kind, shortest, base in (("complex", 4, 500000), ("long", 8, 900000)):
        for n in (50, 100, 200, 500, 1000, 2000):
            write(f"{kind}{n}", complex_set(n, a.seed * 10**6 + n + base, shortest), a.seed * 10**6 + n + base + 7)


main()
