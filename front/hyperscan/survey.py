#!/usr/bin/env python3
"""Expressions of real files with both libraries: `survey.py LIBHS ORIGINAL [--show N] [--variants N] < FILES`.

LIBHS is our libhs.so.5, ORIGINAL Hyperscan's; FILES names a file a line. What looks like a regular expression in a file
(between slashes, in re.compile(...) and the like, in strings, in files of rules) is compiled by both with the flags it
has there and with N others (2): whether it is refused, what hs_expression_info says, and all matches in blocks, streams
(pieces of 1, 7, 777 and 5,000 bytes, and of mixed sizes) and vectors must be equal. Data are parts of the file and of
the one before, and strings that the expression matches. What both accept is compiled once more as a set: that of each
file, and of each 150 expressions, and so are as many strings (hs_compile_lit_multi).

Each file has a process of its own: one that ends or stops is reported with its expression. Says how many comparisons
there were, counts differences that are known by their reason, shows N (10) of the others, and fails if there are any.
Messages that differ are shown as "texts", and are no failure; what compiles slower than ten times the original, or
takes 256 MiB, as "slow"; where the original itself ends or stops, as "original".
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import re
import select
import signal
import sys
import time
import warnings
import zlib
from collections import Counter

warnings.simplefilter("ignore")
import sre_constants as sre  # noqa: E402  (deprecated, and without a public successor)
import sre_parse  # noqa: E402

FLAGS = {"i": 1, "s": 2, "m": 4, "H": 8, "V": 16, "8": 32, "W": 64, "P": 128, "L": 256}
VARIANTS = """i s m im is sm 8 8i 8W 8iW W L iL sL mL 8L 8iWL H iH smH V smV P iP 8P e ie Le sme""".split()
BLOCK, STREAM, VECTORED, HORIZON_LARGE = 1, 2, 4, 1 << 24
MODES = {"block": BLOCK, "stream": STREAM | HORIZON_LARGE, "vectored": VECTORED}
PIECES = [1, 7, 777, 5000, 0]
SLOW, MEMORY = 10, 256
# Expressions of a set; with more than FEW it is compiled for one mode alone, as the original takes seconds.
SET, FEW = 150, 30
# Seconds without progress after which a process is stopped.
PATIENCE = 40

# What Hyperscan refuses and we compile (README.md, crates/scan/tests/against_libhs.rs): how its messages begin.
MORE = {
    "Pattern is too large": "its limits", "Pattern too large": "its limits", "Resource limit exceeded": "its limits",
    "Bounded repeat is too large": "its limits", "Unable to generate bytecode": "its limits",
    "Pattern was not compiled": "its limits", "Pattern length exceeds limit": "its limits",
    "Embedded": "embedded anchors",
    "Expression has": "parameters that nothing satisfies",
    "Expression is anchored": "parameters that nothing satisfies",
    "Extended parameter constraints": "parameters that nothing satisfies",
}


class CompileError(ctypes.Structure):
    """hs_compile_error_t."""
    _fields_ = [("message", ctypes.c_char_p), ("expression", ctypes.c_int)]


class Extended(ctypes.Structure):
    """hs_expr_ext_t."""
    _fields_ = [("flags", ctypes.c_ulonglong), ("min_offset", ctypes.c_ulonglong), ("max_offset", ctypes.c_ulonglong),
                ("min_length", ctypes.c_ulonglong),
                ("edit_distance", ctypes.c_uint), ("hamming_distance", ctypes.c_uint)]


class Info(ctypes.Structure):
    """hs_expr_info_t."""
    _fields_ = [("min_width", ctypes.c_uint), ("max_width", ctypes.c_uint), ("unordered", ctypes.c_char),
                ("at_eod", ctypes.c_char), ("only_at_eod", ctypes.c_char)]


ON_MATCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_ulonglong, ctypes.c_uint,
                            ctypes.c_void_p)
free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]


def cut(data, piece):
    """The data in pieces of a size; 0: of many."""
    if piece:
        return [data[at:at + piece] for at in range(0, len(data), piece)]
    chance, at, pieces = random.Random(len(data)), 0, []
    while at < len(data):
        pieces.append(data[at:at + chance.choice([0, 1, 2, 3, 5, 16, 31, 64, 130, 513, 2000])])
        at += len(pieces[-1])
    return pieces


class Refused(Exception):
    """An expression that is not compiled: the message, and which one it is."""


class Library:
    """One libhs.so.5."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        self.scratch = ctypes.c_void_p()

    def refusal(self, error):
        """The exception of a compile error, which is freed."""
        refused = Refused(error.contents.message.decode(errors="replace"), error.contents.expression)
        self.c.hs_free_compile_error(error)
        return refused

    def info(self, expression):
        """hs_expression_ext_info of (pattern, flags, parameters)."""
        text, flags, extended = expression
        info, error = ctypes.POINTER(Info)(), ctypes.POINTER(CompileError)()
        e = ctypes.byref(Extended(*extended)) if extended else None
        if self.c.hs_expression_ext_info(text, flags, e, ctypes.byref(info), ctypes.byref(error)):
            raise self.refusal(error)
        i = info.contents
        told = i.min_width, i.max_width, *(int(flag != b"\0") for flag in (i.unordered, i.at_eod, i.only_at_eod))
        free(ctypes.cast(info, ctypes.c_void_p))
        return told

    def compile(self, expressions, mode, literal=False):
        """A database of a list of (pattern, flags, parameters), numbered from 0; `literal`: of strings."""
        n = len(expressions)
        texts = (ctypes.c_char_p * n)(*(e[0] for e in expressions))
        flags = (ctypes.c_uint * n)(*(e[1] for e in expressions))
        ids = (ctypes.c_uint * n)(*range(n))
        parameters = [Extended(*e[2]) if e[2] else Extended() for e in expressions]
        extended = (ctypes.POINTER(Extended) * n)(*(ctypes.pointer(p) for p in parameters))
        database, error = ctypes.c_void_p(), ctypes.POINTER(CompileError)()
        out = ctypes.byref(database), ctypes.byref(error)
        if literal:
            lens = (ctypes.c_size_t * n)(*(len(e[0]) for e in expressions))
            code = self.c.hs_compile_lit_multi(texts, flags, ids, lens, n, mode, None, *out)
        else:
            code = self.c.hs_compile_ext_multi(texts, flags, ids, extended, n, mode, None, *out)
        if code:
            raise self.refusal(error)
        if self.c.hs_alloc_scratch(database, ctypes.byref(self.scratch)):
            raise Refused("no scratch", -1)
        return database

    def scan(self, database, mode, data, piece):
        """The matches as (id, from, to), in their order."""
        found = []

        def on_match(number, start, end, _flags, _context):
            found.append((number, start, end))
            return 0

        call = ON_MATCH(on_match)
        if mode == "block":
            self.check(self.c.hs_scan(database, data, len(data), 0, self.scratch, call, None))
            return found
        pieces = cut(data, piece)
        if mode == "vectored":
            texts = (ctypes.c_char_p * len(pieces))(*pieces)
            lens = (ctypes.c_uint * len(pieces))(*(len(one) for one in pieces))
            self.check(self.c.hs_scan_vector(database, texts, lens, len(pieces), 0, self.scratch, call, None))
            return found
        stream = ctypes.c_void_p()
        self.check(self.c.hs_open_stream(database, 0, ctypes.byref(stream)))
        for one in pieces:
            self.check(self.c.hs_scan_stream(stream, one, len(one), 0, self.scratch, call, None))
        self.check(self.c.hs_close_stream(stream, self.scratch, call, None))
        return found

    def free(self, database):
        """Gives a database back."""
        self.c.hs_free_database(database)

    @staticmethod
    def check(code):
        """A scan that fails ends the process, which is reported."""
        if code:
            raise RuntimeError(f"error {code}")


# Where expressions stand: what comes before, the expression, what ends it and its flags.
TEXT = r"(?:[^\\\n]|\\.)"
PLACES = [re.compile(place, re.M) for place in (
    # Perl, awk, JavaScript, SpamAssassin: /.../
    r"(?:[=!]?~|[(,=:;{!]|&&|\|\||\b\w+)\s*(?:m|qr)?"
    r"/(?![*/])((?:[^/\\\n]|\\.)+)/([a-z]*)",
    # Perl's and nmap's other delimiters.
    r"\b(?:m|qr)\{((?:[^{}\\]|\\.|\{[^{}\n]*\})+)\}([a-z]*)",
    r"\b(?:m|qr)(?P<delimiter>[|!%=#@])((?:(?!(?P=delimiter))[^\\\n]|\\.)+)(?P=delimiter)([a-z]*)",
    # Substitutions of Perl and sed.
    r"\bs(?P<delimiter>[/|!#,])((?:(?!(?P=delimiter))[^\\\n]|\\.)+)(?P=delimiter)[^\n]*?(?P=delimiter)([a-z]*)",
    # Functions of Python, PHP, Rust, Go, JavaScript and others.
    r"(?:\bre\.\w+|\bregex\.\w+|Regex(?:Builder|Set)?::new|RegExp|preg_\w+|MustCompile|re_compile)"
    r'''\(\s*[rbuRBU]*#*"((?:[^"\\]|\\.)+)"()''',
    r"""(?:\bre\.\w+|\bregex\.\w+|RegExp|preg_\w+)\(\s*[rbuRBU]*'((?:[^'\\]|\\.)+)'()""",
    r'''\b[rR][bB]?"""((?:[^"\\]|\\.|"(?!""))+)"""()''',
    # Shell.
    r"""\b(?:[ef]?grep|sed|ack|rg)\s+(?:-[-\w]+\s+)*'([^'\n]+)'()""",
    r'''\b(?:[ef]?grep|sed|ack|rg)\s+(?:-[-\w]+\s+)*"((?:[^"\\\n]|\\.)+)"()''',
    # ModSecurity, fail2ban, logcheck, uap-core.
    r'"!?@rx ((?:[^"\\\n]|\\.)+)"()',
    r"^[ \t]*\w*(?:regex|pattern|match|re)\w*[ \t]*[:=][ \t]*['\"]?([^\n]+?)['\"]?[ \t]*$()",
    r"^[ \t]*(\^[^\n]+)$()",
    # Any string.
    r"'((?:[^'\\\n]|\\.){3,300})'()",
    r'"((?:[^"\\\n]|\\.){3,300})"()',
)]
META = re.compile(r"\\[dwsbDWSBhRpPxQAzZ.]|\[[^\]]+\]|\(\?|\.[*+?{]|[\w)\]][*+?]|\w\|\w|^\^|\$$")


def extract(data):
    """The expressions of a file, each with its place and flags."""
    text = data.decode("latin-1")
    found = {}
    for kind, place in enumerate(PLACES):
        for m in place.finditer(text):
            *_, pattern, letters = m.groups()
            if kind >= len(PLACES) - 2 and not META.search(pattern):
                continue
            if not 2 <= len(pattern) <= 2000 or "\0" in pattern:
                continue
            letters = "".join(sorted(set(letters) & set("imsx")))
            if "x" in letters:
                pattern = "(?x)" + pattern
            key = pattern.encode("latin-1"), letters.replace("x", "")
            found.setdefault(key, m.start())
    return [(pattern, letters, at) for (pattern, letters), at in found.items()]


def sample(tree, chance, out, depth=0):
    """Appends what a parsed expression of Python matches."""
    if depth > 20 or len(out) > 400:
        return
    for op, arg in tree:
        if op is sre.LITERAL:
            letter = chr(arg & 0xff) if chance.random() < 0.95 else chr(arg & 0xff).swapcase()
            out.append(letter.encode("latin-1", "replace")[0])
        elif op is sre.NOT_LITERAL or op is sre.ANY:
            out.append(chance.choice(b"ab 0.-x\xc3"))
        elif op is sre.IN:
            members = [one for one in arg if one[0] is not sre.NEGATE]
            one = chance.choice(members) if members else (sre.LITERAL, 97)
            if len(members) < len(arg):
                out.append(chance.choice(b"aZ0 _~"))
            elif one[0] is sre.LITERAL:
                out.append(one[1] & 0xff)
            elif one[0] is sre.RANGE:
                out.append(chance.randint(one[1][0], one[1][1]) & 0xff)
            else:
                name = str(one[1])
                of = b"059" if "DIGIT" in name else b" \t\n" if "SPACE" in name else b"aZ_5"
                out.append(chance.choice(b"-x.") if "NOT" in name else chance.choice(of))
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT) or str(op) == "POSSESSIVE_REPEAT":
            least, most, inner = arg
            for _ in range(chance.randint(least, min(most, least + chance.choice([0, 1, 3])))):
                sample(inner, chance, out, depth + 1)
        elif op is sre.SUBPATTERN:
            sample(arg[3], chance, out, depth + 1)
        elif op is sre.BRANCH:
            sample(chance.choice(arg[1]), chance, out, depth + 1)
        elif str(op) == "ATOMIC_GROUP":
            sample(arg, chance, out, depth + 1)


def samples(pattern, chance):
    """Some strings that the expression matches, whole and cut, with something between."""
    try:
        tree = sre_parse.parse(pattern.decode("latin-1"))
    except (re.error, RecursionError, OverflowError, ValueError):
        return b""
    out = bytearray()
    while len(out) < 600:
        one = bytearray()
        sample(tree, chance, one)
        if chance.random() < 0.3 and one:
            del one[chance.randrange(len(one))]
        out += one[:300] + chance.choice([b"", b"\n", b" ", b"x", b"\n\n", b"\xe9"])
        if len(one) == 0:
            out += b"-"
    return bytes(out)


def parameters(chance):
    """Extended parameters."""
    flags = chance.randint(1, 7)
    values = [chance.choice(some) for some in ([0, 1, 5, 40], [30, 200, 900], [1, 2, 5, 12])]
    return flags, *(value if flags >> bit & 1 else 0 for bit, value in enumerate(values)), 0, 0


class Job:
    """Compares; what it finds goes to `tell`."""

    def __init__(self, ours, theirs, tell, step):
        self.ours, self.theirs, self.tell, self.step = ours, theirs, tell, step

    def timed(self, library, expressions, mode, literal):
        """A database or a refusal, with the seconds and the MiB that it took."""
        self.step(f"{'ours' if library is self.ours else 'theirs'} compiles for {mode}")
        before, began = resident(), time.thread_time()
        try:
            made = library.compile(expressions, MODES[mode], literal)
        except Refused as refused:
            made = refused
        return made, time.thread_time() - began, resident() - before

    def both(self, expressions, mode, shown, literal=False):
        """A database of each library, or nothing."""
        mine, my_time, memory = self.timed(self.ours, expressions, mode, literal)
        his, his_time, _ = self.timed(self.theirs, expressions, mode, literal)
        if my_time > 0.1 and my_time > SLOW * his_time:
            self.tell("slow", f"{shown} for {mode}: {my_time:.2f} s, the original {his_time:.2f} s")
        if memory > MEMORY:
            self.tell("slow", f"{shown} for {mode}: {memory} MiB")
        refused = [isinstance(made, Refused) for made in (mine, his)]
        if not any(refused):
            return mine, his
        self.verdict(mine, his, shown, mode)
        for library, made in ((self.ours, mine), (self.theirs, his)):
            if not isinstance(made, Refused):
                library.free(made)
        return mine, his if all(refused) else None

    def verdict(self, mine, his, shown, what):
        """Compares refusals."""
        self.tell("count", "verdicts")
        if isinstance(mine, Refused) and isinstance(his, Refused):
            if mine.args != his.args:
                self.tell("texts", f"{shown} for {what}: {mine.args[0]} | {his.args[0]}")
            return
        if isinstance(his, Refused):
            reason = more(his.args[0], shown)
            if reason:
                self.tell("known", reason)
            else:
                self.tell("differs", f"{shown} for {what}: only theirs refuses: {his.args[0]}")
        elif mine.args[0] == "Pattern is too large." and re.search(" [A-Za-z8]*P", shown):
            self.tell("known", "the original makes large repeats of prefilters smaller")
        elif mine.args[0].startswith("Extended parameter constraints") and what == "information":
            # The original finds that when it compiles.
            self.tell("known", "alternatives of which none satisfies all parameters")
        else:
            self.tell("differs", f"{shown} for {what}: only ours refuses: {mine.args[0]}")

    def matches(self, expressions, mode, databases, texts, shown, exact=None):
        """Compares matches of both in all texts. Where `exact` is there, the expression is a prefilter."""
        for number, data in enumerate(texts):
            if not data:
                continue
            piece = PIECES[(number + (mode == "vectored") + len(expressions)) % len(PIECES)]
            if piece in (1, 7):
                data = data[:1500 * piece]
            self.step(f"ours scans for {mode}, pieces of {piece}: {data!r}")
            mine = self.ours.scan(databases[0], mode, data, piece)
            self.step(f"theirs scans for {mode}, pieces of {piece}: {data!r}")
            his = self.theirs.scan(databases[1], mode, data, piece)
            self.tell("count", "scans")
            self.tell("count", "matches", len(his))
            # In streams, what depends on the next byte may come later.
            late = mode != "block" and any(re.search(rb"[$]|\\[bBZ]", e[0]) for e in expressions)
            if not late and any(one[2] > two[2] for one, two in zip(mine, mine[1:])):
                self.tell("differs", f"{shown} for {mode}, pieces of {piece}: order in {data!r}")
            if len(set(mine)) < len(mine):
                self.tell("differs", f"{shown} for {mode}, pieces of {piece}: ours reports one twice in {data!r}")
            self.compare(expressions, set(mine), set(his), f"{shown} for {mode}, pieces of {piece}", data, exact)

    def compare(self, expressions, mine, his, shown, data, exact):
        """Compares two sets of matches."""
        single = {n for n, e in enumerate(expressions) if e[1] & FLAGS["H"]}
        loose = {n for n, e in enumerate(expressions) if e[1] & FLAGS["P"]}
        for n in single:
            # One of the matches, which may be another.
            one, two = ([m for m in of if m[0] == n] for of in (mine, his))
            if (len(one), len(two)) not in ((0, 0), (1, 1)) and n not in loose:
                self.tell("differs", f"{shown}: once: {one} | {two} in {data!r}")
        # In streams the original sometimes reports an end twice, with a later start than the leftmost too.
        starts = {(n, to): start for n, start, to in mine & his}
        again = {m for m in his - mine if m[1] > starts.get((m[0], m[2]), m[1])}
        if again:
            self.tell("known", "the original reports an end with a second start")
        other = {m for m in mine ^ (his - again) if m[0] not in single and m[0] not in loose}
        for n in sorted({m[0] for m in other}):
            one, two = (sorted(m[1:] for m in of - rest if m[0] == n)[:5] for of, rest in ((mine, his), (his, mine)))
            e = expressions[n]
            self.tell("differs", f"{shown}: {describe(*e)}: only ours {one}, only theirs {two} in {data!r}")
        if exact is not None:
            lost = exact(data) - {m[2] for m in mine}
            if lost:
                self.tell("differs", f"{shown}: a prefilter has not the ends {sorted(lost)[:5]} in {data!r}")

    def expression(self, expression, texts):
        """Compares an expression; how both refuse it, if they do."""
        pattern, flags, _ = expression
        shown = describe(*expression)
        told = []
        for who, library in (("ours", self.ours), ("theirs", self.theirs)):
            self.step(f"{who}: information")
            try:
                told.append(library.info(expression))
            except Refused as refused:
                told.append(refused)
        if any(isinstance(one, Refused) for one in told):
            self.verdict(*told, shown, "information")
        elif told[0] != told[1]:
            reason = widths(expression, *told)
            self.tell(*(("known", reason) if reason else ("differs", f"{shown}: information {told[0]} | {told[1]}")))
        self.tell("count", "expressions")
        exact = None
        if flags & FLAGS["P"]:
            exact = self.exact(expression)
        for mode in MODES:
            databases = self.both([expression], mode, shown)
            if isinstance(databases[0], Refused) or databases[1] is None:
                return databases[0] if databases[1] is not None else None
            self.matches([expression], mode, databases, texts, shown, exact)
            self.ours.free(databases[0])
            self.theirs.free(databases[1])
        return expression

    def exact(self, expression):
        """The ends that a prefilter must have: those of the expression itself, or of Python's."""
        pattern, flags, extended = expression
        try:
            database = self.ours.compile([(pattern, flags & ~FLAGS["P"], extended)], BLOCK)
        except Refused:
            if extended or flags & (FLAGS["8"] | FLAGS["H"]):
                return None
            try:
                letters = (("i", re.I), ("s", re.S), ("m", re.M))
                python = re.compile(pattern, sum(of for letter, of in letters if flags & FLAGS[letter]))
            except (re.error, RecursionError, OverflowError, ValueError):
                return None
            # Not where the data are cut.
            return lambda data: {m.end() for _, m in zip(range(200), python.finditer(data[:1000]))} - {0, 999, 1000}
        if flags & FLAGS["H"]:
            return None
        return lambda data: {m[2] for m in self.ours.scan(database, "block", data, 0)}

    def set(self, expressions, texts, shown, literal=False):
        """Compares a set."""
        if any(e[1] & FLAGS["8"] for e in expressions):
            texts = [text.decode(errors="ignore").encode() for text in texts]
        modes = list(MODES)
        for mode in modes if len(expressions) <= FEW else [modes[zlib.crc32(expressions[0][0]) % 3]]:
            databases = self.both(expressions, mode, shown, literal)
            if isinstance(databases[0], Refused) or databases[1] is None:
                return
            self.matches(expressions, mode, databases, texts, shown)
            self.ours.free(databases[0])
            self.theirs.free(databases[1])
        self.tell("count", "sets")


def widths(expression, mine, his):
    """Why what hs_expression_info says of an expression differs, if that is known."""
    pattern, flags, extended = expression
    if flags & FLAGS["P"]:
        return "what a prefilter becomes"
    newer = flags & FLAGS["8"] and flags & (FLAGS["i"] | FLAGS["W"]) and not pattern.isascii()
    if newer and (mine[0], mine[2:]) == (his[0], his[2:]):
        return "widths of characters that a newer Unicode knows"
    if extended and extended[0] & 2 and mine[0] == his[0] and mine[1] == his[1] + 1 == extended[2] + 1:
        return "a byte behind the largest offset, which not all matches need"
    if extended and {mine[0], his[0]} == {0, extended[3]} and mine[1:] == his[1:]:
        return "the least length that is asked for, where an empty match needs the byte behind it"
    return None


def resident():
    """MiB of memory in use."""
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * mmap.PAGESIZE >> 20


def describe(pattern, flags, extended):
    """An expression as it is shown."""
    letters = "".join(letter for letter, bit in FLAGS.items() if flags & bit)
    return f"{pattern!r} {letters or '-'}{f' {extended}' if extended else ''}"


def more(message, shown):
    """Why Hyperscan alone refuses something, if that is known."""
    if message.startswith("Invalid repeat") and re.search(r"\{0(,0)?\}", shown):
        return "nothing, repeated"
    if message.startswith("Unterminated comment"):
        return "a comment ends with the expression"
    return next((reason for begin, reason in MORE.items() if message.startswith(begin)), None)


def work(job, patterns, start, data, before, variants, tell):
    """All of a file from the pattern `start` on; its set comes last."""
    accepted, mixed = [], []
    for number in range(start, len(patterns)):
        pattern, letters, at = patterns[number]
        job.step("begins", number)
        chance = random.Random(zlib.crc32(pattern))
        texts = [data[max(at - 700, 0):at + 900], samples(pattern, chance), before[:2000] + data[:1500],
                 samples(pattern, chance)]
        flags = sum(FLAGS[letter] for letter in letters)
        base = (pattern, flags, None)
        always, usual = 0, job.expression(base, texts)
        if isinstance(usual, Refused) and "empty buffer" in usual.args[0]:
            always = FLAGS["V"]
            usual = job.expression((pattern, flags | always, None), texts)
        if isinstance(usual, Refused) and "not supported" in usual.args[0].lower():
            job.expression((pattern, flags | always | FLAGS["P"], None), texts)
        if isinstance(usual, tuple):
            accepted.append(usual)
        for letters in chance.sample(VARIANTS, variants):
            if isinstance(usual, Refused) and chance.random() < 0.8:
                continue
            extended = parameters(chance) if "e" in letters else None
            bits = always | sum(FLAGS.get(letter, 0) for letter in letters)
            use = texts
            if bits & FLAGS["8"]:
                try:
                    pattern.decode()
                except UnicodeDecodeError:
                    continue
                use = [text.decode(errors="ignore").encode() for text in texts]
            if isinstance(used := job.expression((pattern, bits, extended), use), tuple) and not bits & FLAGS["P"]:
                mixed.append(used)
    job.step("the set", len(patterns))
    half = random.Random(len(data)).sample(mixed, len(mixed) // 2)
    tell("accepted", [(e[0].decode("latin-1"), *e[1:]) for e in half + accepted])
    if len(accepted) > 1:
        accepted = accepted[:SET]
        likely = b"\n".join(samples(e[0], random.Random(1))[:80] for e in accepted)
        job.set(accepted, [data[:4000], likely[:8000], before[:4000]], f"set of {len(accepted)}")


def child(libraries, task, shared):
    """Runs a task in a process of its own: its answers by lines, and how it ended."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            out = os.fdopen(write, "w", encoding="utf-8", errors="surrogateescape")

            def step(text, number=None):
                if number is not None:
                    shared[0:4] = number.to_bytes(4, "little")
                line = text.encode(errors="replace")[:4000]
                shared[4:8] = len(line).to_bytes(4, "little")
                shared[8:8 + len(line)] = line
                shared[8192:8200] = (int.from_bytes(shared[8192:8200], "little") + 1).to_bytes(8, "little")

            counts = Counter()

            def tell(kind, *what):
                if kind == "count":
                    counts[what[0]] += what[1] if len(what) > 1 else 1
                else:
                    out.write(json.dumps([kind, *what]) + "\n")
                    out.flush()

            job = Job(*libraries, tell, step)
            try:
                task(job, tell)
            finally:
                tell("counts", counts)
                out.flush()
            status = 0
        except BaseException as e:  # noqa: BLE001
            print(f"survey: {type(e).__name__}: {e}", file=sys.stderr)
        os._exit(status)
    os.close(write)
    lines, buffered, last, since = [], b"", None, time.monotonic()
    while True:
        ready, _, _ = select.select([read], [], [], 1)
        if ready:
            some = os.read(read, 1 << 16)
            if not some:
                break
            buffered += some
            *whole, buffered = buffered.split(b"\n")
            lines += [json.loads(line) for line in whole]
        now = bytes(shared[8192:8200])
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.kill(pid, signal.SIGKILL)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    return lines, os.waitstatus_to_exitcode(status)


def main():
    """All files."""
    a = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    a.add_argument("library")
    a.add_argument("original")
    a.add_argument("--show", type=int, default=10)
    a.add_argument("--variants", type=int, default=2)
    a.add_argument("--most", type=int, default=300, help="expressions of a file")
    a.add_argument("--progress", type=int, default=0, help="say after each of so many files where it is")
    o = a.parse_args()
    libraries = Library(os.path.abspath(o.library)), Library(os.path.abspath(o.original))
    shared = mmap.mmap(-1, 16384)
    counts, known, shown = Counter(), Counter(), Counter()
    seen, pool, before, files, recent = set(), [], b"", 0, [b""] * 12

    def take(lines, name):
        for kind, what in lines:
            if kind == "counts":
                counts.update(what)
            elif kind == "known":
                known[what] += 1
            elif kind == "accepted":
                pool.extend((pattern.encode("latin-1"), flags, extended) for pattern, flags, extended in what)
            else:
                shown[kind] += 1
                if shown[kind] <= o.show:
                    print(f"{name}: {kind}: {what[:3000]}", flush=True)

    def ended(code, name, about):
        if code:
            length = int.from_bytes(shared[4:8], "little")
            where = shared[8:8 + length].decode(errors="replace")
            kind = "original" if where.startswith("theirs") else "differs"
            take([(kind, f"{about}: exit status {code} where {where}")], name)

    for name in sys.stdin.read().splitlines():
        try:
            with open(name, "rb") as f:
                data = f.read(200_000)
        except OSError:
            continue
        if b"\0" in data:
            continue
        patterns = [one for one in extract(data) if one[:2] not in seen][:o.most]
        seen.update(one[:2] for one in patterns)
        if not patterns:
            continue
        files += 1
        start = 0
        while start < len(patterns):
            def rest(job, tell, of=(patterns, start, data, before, o.variants)):
                work(job, *of, tell)

            lines, code = child(libraries, rest, shared)
            take(lines, name)
            number = int.from_bytes(shared[0:4], "little")
            ended(code, name, patterns[number][0] if number < len(patterns) else "set")
            start = number + 1 if code else len(patterns)
        if o.progress and files % o.progress == 0:
            print(f"{files} files, {counts['expressions']:,} expressions", file=sys.stderr, flush=True)
        before = data
        recent = recent[1:] + [data[:10000]]
        while len(pool) >= SET:
            some, pool[:SET] = pool[:SET], []
            text = b"".join(recent)
            mixed = b"\n".join(samples(e[0], random.Random(2))[:60] for e in some)
            words = sorted(set(re.findall(rb"[\w.<>/ -]{2,20}", text)))
            chance = random.Random(len(text))
            words = chance.sample(words, min(len(words), chance.choice([3, 30, 300, 3000])))
            words += [e[0][:100] for e in some[:20]]
            words = [(word, chance.choice([0, 1, 8, 256, 257]), None) for word in words]

            def sets(job, _tell):
                job.set(some, [text, mixed, text[:1000] + mixed[:5000], mixed[-9000:], mixed], "a set of many files")
                job.set(words, [text[:5000], text, mixed, text[-9000:], mixed], "strings of many files", True)

            lines, code = child(libraries, sets, shared)
            take(lines, name)
            ended(code, name, "a set of many files")
    print(f"{files} files, " + ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items())))
    for reason, number in known.most_common():
        print(f"known, {number} times: {reason}")
    for kind, number in shown.most_common():
        print(f"{kind}: {number}")
    return 1 if shown["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
