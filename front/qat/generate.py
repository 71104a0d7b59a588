#!/usr/bin/env python3
"""Writes all that describes the binary interface, from its data: `generate.py ABI.json`.

ABI.json holds facts alone: names, sizes, offsets, values. `functions.txt` says what each function is for, in our
words. Written, and committed: include/*.h, tests/layout.c, tests/layout.rs, exports.txt, usdm/exports.txt, and
crates/quickassist/src/, which a device that drives somebody's libqat.so.4 needs too.
The data itself is not part of the repository; whoever has a newer one runs this again and reads the difference.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = json.loads(Path(sys.argv[1]).read_text())
STRUCTS, ENUMS, TYPEDEFS = DATA["structs"], DATA["enums"], DATA["typedefs"]
CALLBACKS, FUNCTIONS, MACROS = DATA["callbacks"], DATA["functions"], DATA["macros"]
PURPOSES = dict(
    re.split(r"\s*\|\s*", line.strip(), maxsplit=1)
    for line in (HERE / "functions.txt").read_text().splitlines()
    if "|" in line and not line.startswith("#")
)

# What each header is about, what it includes, and the module of crates/quickassist that has its types.
HEADERS = {
    "cpa_types.h": ("integers, booleans, bit maps", [], "base"),
    "cpa.h": ("statuses, buffers, instances", ["cpa_types.h"], "base"),
    "cpa_dev.h": ("devices", ["cpa.h"], "base"),
    "cpa_dc.h": ("data compression", ["cpa.h"], "dc"),
    "cpa_dc_capabilities.h": ("capabilities of data compression, one at a time", ["cpa_dc.h"], "dc"),
    "cpa_dc_dp.h": ("data compression, data plane", ["cpa_dc.h"], "dc"),
    "cpa_cy_common.h": ("what all of cryptography shares", ["cpa.h"], "sym"),
    "cpa_cy_im.h": ("instances of cryptography", ["cpa_cy_common.h"], "sym"),
    "cpa_cy_sym.h": ("symmetric cryptography", ["cpa_cy_common.h"], "sym"),
    "cpa_cy_sym_dp.h": ("symmetric cryptography, data plane", ["cpa_cy_sym.h"], "sym"),
    "cpa_dc_chain.h": ("compression chained with cryptography", ["cpa_dc.h", "cpa_cy_sym.h"], "dc"),
    "cpa_cy_rsa.h": ("RSA", ["cpa_cy_common.h"], "pke"),
    "cpa_cy_dh.h": ("Diffie-Hellman", ["cpa_cy_common.h"], "pke"),
    "cpa_cy_dsa.h": ("DSA", ["cpa_cy_common.h"], "pke"),
    "cpa_cy_ln.h": ("large numbers", ["cpa_cy_common.h"], "pke"),
    "cpa_cy_prime.h": ("primality", ["cpa_cy_common.h"], "pke"),
    "cpa_cy_ec.h": ("elliptic curves", ["cpa_cy_common.h"], "ec"),
    "cpa_cy_ecdh.h": ("ECDH", ["cpa_cy_common.h", "cpa_cy_ec.h"], "ec"),
    "cpa_cy_ecdsa.h": ("ECDSA", ["cpa_cy_common.h", "cpa_cy_ec.h"], "ec"),
    "cpa_cy_ecsm2.h": ("SM2", ["cpa_cy_common.h", "cpa_cy_ec.h"], "ec"),
    "cpa_cy_key.h": ("key derivation", ["cpa_cy_common.h", "cpa_cy_sym.h"], "key"),
    "cpa_cy_kpt.h": ("wrapped keys", ["cpa_cy_common.h", "cpa_cy_rsa.h", "cpa_cy_ecdsa.h"], "key"),
    "cpa_cy_drbg.h": ("deterministic random bits", ["cpa_cy_common.h"], "key"),
    "cpa_cy_nrbg.h": ("random bits", ["cpa_cy_common.h"], "key"),
    "cpa_rl.h": ("rate limits", ["cpa.h"], "base"),
    "icp_sal.h": ("test aids", ["cpa.h"], "base"),
    "icp_sal_user.h": ("start, stop and health of a process's access", ["cpa_dc.h"], "base"),
    "icp_sal_poll.h": ("polling", ["cpa.h"], "base"),
    "qat_library_version.h": ("the library's version", [], "base"),
    "icp_sal_versions.h": ("versions", ["cpa.h", "qat_library_version.h"], "base"),
    "icp_sal_congestion_mgmt.h": ("requests in flight", ["cpa.h"], "base"),
    "icp_sal_iommu.h": ("IOMMU", ["cpa.h"], "base"),
    "qae_mem.h": ("memory that a device reaches", [], "base"),
}
assert set(HEADERS) == set(DATA["headers"])
MODULES = {
    "base": "What all services share: statuses, buffers, instances, devices, versions.",
    "dc": "Data compression.",
    "sym": "Cryptography in general, and symmetric cryptography.",
    "pke": "RSA, Diffie-Hellman, DSA, large numbers, primes.",
    "ec": "Elliptic curves.",
    "key": "Key derivation, wrapped keys, random bits.",
}

# Bodies of macros that are not plain values, worked out from what the interface documents of them.
def version_test(prefix, comparison):
    major, minor = f"{prefix}_API_VERSION_NUM_MAJOR", f"{prefix}_API_VERSION_NUM_MINOR"
    return f"(({major}) {comparison} (major) || \\\n     (({major}) == (major) && ({minor}) {{}} (minor)))"


FUNCTION_MACROS = {
    "CPA_BITMAP": ("(name, bits)", "Cpa32U name[((bits) + 31) / 32]"),
    "CPA_BITMAP_BIT_TEST": ("(bitmap, bit)", "((bitmap)[(bit) / 32] & ((Cpa32U)1 << ((bit) % 32)))"),
    "CPA_BITMAP_BIT_SET": ("(bitmap, bit)", "((bitmap)[(bit) / 32] |= ((Cpa32U)1 << ((bit) % 32)))"),
    "CPA_BITMAP_BIT_CLEAR": ("(bitmap, bit)", "((bitmap)[(bit) / 32] &= ~((Cpa32U)1 << ((bit) % 32)))"),
    "CPA_BITMASK": ("(bit)", "((Cpa32U)1 << (bit))"),
    "CPA_CY_SYM_CCM_SET_NONCE": (
        "(pOpData, pNonce, nonceLen)",
        "do { \\\n    memcpy(&(pOpData)->pIv[1], (pNonce), (nonceLen)); \\\n"
        "    memcpy(&(pOpData)->pAdditionalAuthData[1], (pNonce), (nonceLen)); \\\n} while (0)",
    ),
    "CPA_CY_SYM_CCM_SET_AAD": (
        "(pOpData, pAad, aadLen)",
        "do { \\\n    memcpy(&(pOpData)->pAdditionalAuthData[18], (pAad), (aadLen)); \\\n} while (0)",
    ),
    "VERSION_STRING": ("(version)", "#version"),
    "VERSION_CONCAT": ("(version, ...)", "VERSION_STRING(version) #__VA_ARGS__"),
    "QAT_SW_VERSION": ("(a, b, c, d)", "a b c d"),
}
for prefix in ("CPA", "CPA_DC", "CPA_CY", "ICP"):
    FUNCTION_MACROS[f"{prefix}_API_VERSION_AT_LEAST"] = (
        "(major, minor)", version_test(prefix, ">").format(">="))
    FUNCTION_MACROS[f"{prefix}_API_VERSION_LESS_THAN"] = (
        "(major, minor)", version_test(prefix, "<").format("<"))
STRINGS = {
    "CPA_STATUS_STR_SUCCESS": "The operation succeeded",
    "CPA_STATUS_STR_FAIL": "The operation failed",
    "CPA_STATUS_STR_RETRY": "No room at the moment: poll and try again",
    "CPA_STATUS_STR_RESOURCE": "Memory or another resource is lacking",
    "CPA_STATUS_STR_INVALID_PARAM": "An argument is not valid",
    "CPA_STATUS_STR_FATAL": "A fatal error",
    "CPA_STATUS_STR_UNSUPPORTED": "This function or algorithm is not supported",
}
# Texts between a header's macros and its types.
EXTRA = {
    "icp_sal_versions.h": "/* Programs' configure scripts tell by this which family of libraries it is. */\n"
    '#define SAL_INFO2_DRIVER_SW_VERSION_TYPE "in-tree"\n',
}
SYSTEM_INCLUDES = {
    "cpa_types.h": ["stddef.h", "stdint.h"],
    "cpa_cy_sym.h": ["string.h"],
    "icp_sal_iommu.h": ["stddef.h"],
    "qae_mem.h": ["stddef.h", "stdint.h"],
}
NOTICE = "Generated by generate.py from the interface's sizes, offsets and values."


# C.

def c_tag(name):
    return "_" + name


def c_declare(type_, name):
    """`T x`, with the parts of an array behind the name."""
    array = re.match(r"(.*?)((?:\[\d*\])+)$", type_)
    type_, suffix = (array[1].strip(), array[2]) if array else (type_, "")
    return f"{type_}{name}{suffix}" if type_.endswith("*") else f"{type_} {name}{suffix}"


def c_params(params):
    return ", ".join(c_declare(p["type"], p["name"]) for p in params) or "void"


def c_wrapped(head, params, indent="    "):
    text = f"{head}({params});"
    if len(text) <= 100:
        return text
    lines, line = [f"{head}("], indent
    for i, param in enumerate(parts := params.split(", ")):
        piece = param + ("," if i + 1 < len(parts) else ");")
        if len(line) + len(piece) > 98:
            lines.append(line.rstrip())
            line = indent
        line += piece + " "
    return "\n".join(lines + [line.rstrip()])


def c_fields(fields, indent="    "):
    lines = []
    for field in fields:
        if field["type"] == "anonymous union":
            inner = c_fields(field["fields"], indent + "    ")
            lines.append(f"{indent}union {{\n{inner}\n{indent}}};")
        else:
            lines.append(f"{indent}{c_declare(field['type'], field['name'])};")
    return "\n".join(lines)


def c_type(name):
    """One type's definition."""
    if name in ENUMS:
        values = ",\n".join(f"    {k} = {v}" for k, v in ENUMS[name]["values"].items())
        return f"typedef enum {c_tag(name)} {{\n{values}\n}} {name};\n"
    if name in CALLBACKS:
        callback = CALLBACKS[name]
        returns = "CpaPhysicalAddr" if callback["returns"] == "unsigned long" else callback["returns"]
        return c_wrapped(f"typedef {returns} (*{name})", c_params(callback["params"])) + "\n"
    target = TYPEDEFS[name]["target"] if name in TYPEDEFS else ""
    struct = target.split()[1] if target.startswith(("struct ", "union ")) else name
    if struct in STRUCTS:
        data = STRUCTS[struct]
        tag = struct if struct != name else c_tag(struct)
        return f"typedef {data['kind']} {tag} {{\n{c_fields(data['fields'])}\n}} {name};\n"
    return f"typedef {c_declare(target, name)};\n"


def words(type_):
    return set(re.findall(r"\w+", type_))


def needed(name):
    """Types that must stand before this one, in the same header."""
    def of_fields(fields):
        for field in fields:
            if "fields" in field:
                yield from of_fields(field["fields"])
            else:
                yield from words(field["type"])
    if name in CALLBACKS:
        return {w for p in CALLBACKS[name]["params"] for w in words(p["type"])} | {"CpaPhysicalAddr"}
    target = TYPEDEFS[name]["target"] if name in TYPEDEFS else ""
    struct = target.split()[1] if target.startswith(("struct ", "union ")) else name
    if struct in STRUCTS:
        return set(of_fields(STRUCTS[struct]["fields"]))
    return words(target)


def types_of(header):
    """All types of a header in an order in which each is known before it is used."""
    names = [n for n in TYPEDEFS if TYPEDEFS[n]["header"] == header]
    names += [n for n in ENUMS if ENUMS[n]["header"] == header and n not in names]
    names += [n for n in CALLBACKS if CALLBACKS[n]["header"] == header and n not in names]
    defined = {t["target"].split()[1] for t in TYPEDEFS.values() if t["target"].startswith("struct ")}
    names += [n for n in STRUCTS
              if STRUCTS[n]["header"] == header and n not in names and n not in defined]
    ordered = []
    def visit(name):
        if name in ordered:
            return
        for other in names:
            if other != name and other in needed(name):
                visit(other)
        ordered.append(name)
    for name in sorted(names, key=lambda n: n not in ENUMS):
        visit(name)
    return ordered


def c_value(value):
    return f"({value})" if value < 0 else f"{value}u" if value > 0x7FFFFFFF else str(value)


def c_macro(name, macro):
    if name == "CPA_INSTANCE_HANDLE_SINGLE":
        return f"#define {name} ((CpaInstanceHandle)0)"
    if name == "CPA_DP_BUFLIST":
        return f"#define {name} ((Cpa32U)-1)"
    if name in FUNCTION_MACROS:
        params, body = FUNCTION_MACROS[name]
        separator = " " if len(name + params + body) < 80 or body.startswith("do") else " \\\n    "
        return f"#define {name}{params}{separator}{body}"
    if name in STRINGS:
        return f'#define {name} ("{STRINGS[name]}")'
    if "value" in macro:
        return f"#define {name} {c_value(macro['value'])}"
    if macro["n_tokens"] == 0:
        return f"#define {name}"
    raise SystemExit(f"{name}: what is it?")


def header(name):
    about, includes, _ = HEADERS[name]
    macros = {k: m for k, m in MACROS.items() if m["header"] == name}
    guard = next((k for k in macros if re.fullmatch(r"_*\w+_H_*", k)), None)
    guard = guard or "LOOKASIDE_" + name.upper().replace(".", "_")
    lines = [f"/* {name}: {about}. {NOTICE} */", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#include <{i}>" for i in SYSTEM_INCLUDES.get(name, [])]
    lines += [f'#include "{i}"' for i in includes]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [c_macro(k, m) for k, m in macros.items() if k != guard and not k.endswith("BIT_IS")]
    lines += ["", EXTRA.get(name, "")]
    lines += [c_type(t) for t in types_of(name)]
    for function, f in FUNCTIONS.items():
        if f["header"] == name and f.get("exported_by"):
            lines.append(f"/* {PURPOSES[function]} */")
            head = f"{f['returns']}{'' if f['returns'].endswith('*') else ' '}{function}"
            lines += [c_wrapped(head, c_params(f["params"])), ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "#endif"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


# Rust.

RUST = {
    "void": "c_void", "char": "c_char", "int": "c_int", "size_t": "usize", "uint64_t": "u64", "int32_t": "i32",
    "uint8_t": "u8", "int8_t": "i8", "uint16_t": "u16", "int16_t": "i16", "uint32_t": "u32", "int64_t": "i64",
    "unsigned long": "u64",
}
RUST_WORDS = {"type", "in", "fn", "mod", "use", "ref", "match", "move"}


def rust_type(type_):
    type_ = type_.strip()
    if array := re.match(r"(.*?)\[(\d*)\]$", type_):
        inner, count = array[1], array[2]
        return f"[{rust_type(inner)}; {count}]" if count else f"[{rust_type(inner)}; 0]"
    if type_.endswith("*"):
        inner = type_[:-1].strip()
        const = inner.startswith("const ") and not inner.endswith("*")
        return f"*{'const' if const else 'mut'} {rust_type(inner.removeprefix('const ') if const else inner)}"
    type_ = type_.removeprefix("const ")
    return RUST.get(type_, type_)


def rust_param(type_):
    return "*mut " + rust_type(type_[:-2]) if type_.endswith("[]") else rust_type(type_)


def rust_name(name):
    return "r#" + name if name in RUST_WORDS else name


def rust_struct(name, data, more):
    lines = []
    for field in data["fields"]:
        type_ = field["type"]
        if type_ == "anonymous union":
            union = name + "Union"
            more.append(rust_struct(union, {"kind": "union", "fields": field["fields"]}, more))
            lines.append(f"    pub u: {union},")
        else:
            lines.append(f"    pub {rust_name(field['name'])}: {rust_type(type_)},")
    fields = "\n".join(lines)
    return f"#[repr(C)]\n#[derive(Clone, Copy)]\npub {data['kind']} {name} {{\n{fields}\n}}\n"


def rust_item(name):
    if name in ENUMS:
        data = ENUMS[name]
        consts = "".join(f"pub const {k}: {name} = {name}({v});\n" for k, v in data["values"].items())
        return (f"#[repr(transparent)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n"
                f"pub struct {name}(pub i32);\n{consts}")
    if name in CALLBACKS:
        callback = CALLBACKS[name]
        params = ", ".join(rust_param(p["type"]) for p in callback["params"])
        returns = "" if callback["returns"] == "void" else f" -> {rust_type(callback['returns'])}"
        return f"pub type {name} = Option<unsafe extern \"C\" fn({params}){returns}>;\n"
    target = TYPEDEFS[name]["target"] if name in TYPEDEFS else ""
    struct = target.split()[1] if target.startswith(("struct ", "union ")) else name
    if struct in STRUCTS:
        more = []
        item = rust_struct(name, STRUCTS[struct], more)
        return "\n".join(more + [item])
    return f"pub type {name} = {rust_type(target)};\n"


def rust_constants(header):
    for name, macro in MACROS.items():
        if macro["header"] != header or "value" not in macro or name == "CPA_INSTANCE_HANDLE_SINGLE":
            continue
        value = macro["value"]
        kind = "CpaStatus" if re.match(r"CPA_STATUS_[A-Z]+(_[A-Z]+)?$", name) else "u32" if value >= 0 else "i32"
        yield f"pub const {name}: {kind} = {value};\n"


def rust_module(module):
    headers = [h for h, (_, _, m) in HEADERS.items() if m == module]
    body = "\n".join(
        "".join(rust_constants(h)) + "\n" + "\n".join(rust_item(t) for t in types_of(h)) for h in headers)
    imports = ""
    if module != "base":
        imports = "use super::*;\n"
    c = sorted(k for k in ("c_char", "c_int", "c_void") if re.search(rf"\b{k}\b", body))
    if c:
        imports = f"use core::ffi::{{{', '.join(c)}}};\n\n" + imports
    return f"//! {MODULES[module]} {NOTICE}\n\n{imports}\n{body}"


def rust_functions():
    """Their types, for whoever looks functions up by name."""
    items = []
    for name, f in FUNCTIONS.items():
        params = ", ".join(rust_param(p["type"]) for p in f["params"])
        returns = "" if f["returns"] == "void" else f" -> {rust_type(f['returns'])}"
        items.append(f"pub type {name} = unsafe extern \"C\" fn({params}){returns};\n")
    body = "\n".join(items)
    c = sorted(k for k in ("c_char", "c_int", "c_void") if re.search(rf"\b{k}\b", body))
    return (f"//! The types of the interface's functions, each under its function's name. {NOTICE}\n\n"
            f"use core::ffi::{{{', '.join(c)}}};\n\nuse super::*;\n\n{body}")


def rust_root():
    modules = "".join(f"mod {m};\n" for m in sorted(MODULES))
    uses = "".join(f"pub use {m}::*;\n" for m in sorted(MODULES))
    return f"""//! The types and constants of the interface, named as in the headers. {NOTICE}
//!
//! An enumeration is its integer: a caller in C may pass any value.
#![deny(unsafe_code)]
#![allow(missing_docs, non_camel_case_types, non_snake_case)]
#![allow(unused_imports)]

{modules}pub mod functions;

{uses}"""


# Layout.

def rust_layout():
    lines = []
    for name, data in STRUCTS.items():
        rust = next((t for t, d in TYPEDEFS.items() if d["target"] == f"struct {name}"), name)
        fields = []
        for f in data["fields"]:
            if f["type"] == "anonymous union":
                fields += [f"u.{g['name']} {f['offset'] + g['offset']} {g['size']}" for g in f["fields"]]
            else:
                fields.append(f"{rust_name(f['name'])} {f['offset']} {f['size']}")
        lines.append(("    ", f"{rust} {data['size']} {data['align']}: {', '.join(fields)};"))
    layouts = "\n".join(fold(text, indent) for indent, text in lines)
    values = [f"{k} {v};" for e in ENUMS.values() for k, v in e["values"].items()]
    sizes = [f"{name} {e['size']};" for name, e in ENUMS.items()]
    sizes += [f"{name} {t['size']};" for name, t in TYPEDEFS.items()]
    macros = [f"{k} {m['value']};" for k, m in MACROS.items()
              if "value" in m and k != "CPA_INSTANCE_HANDLE_SINGLE"]
    return f"""//! Every size, offset and value of the interface, in the Rust types. {NOTICE}
#![allow(clippy::items_after_test_module)]

use core::mem::{{MaybeUninit, offset_of}};

use lookaside_qat::abi::*;

const fn size_at<F>(_: *const F) -> usize {{
    size_of::<F>()
}}

macro_rules! layouts {{
    ($($name:ident $size:literal $align:literal:
       $($($field:ident).+ $offset:literal $bytes:literal),*;)*) => {{
        #[test]
        fn structures() {{
            $(
                assert_eq!((size_of::<$name>(), align_of::<$name>()), ($size, $align), stringify!($name));
                let place = MaybeUninit::<$name>::uninit();
                $(
                    // SAFETY: no byte is read.
                    let bytes = size_at(unsafe {{ &raw const (*place.as_ptr()).$($field).+ }});
                    let found = (offset_of!($name, $($field).+), bytes);
                    assert_eq!(found, ($offset, $bytes), stringify!($name $($field).+));
                )*
            )*
        }}
    }};
}}

macro_rules! sizes {{
    ($($name:ident $size:literal;)*) => {{
        #[test]
        fn sizes() {{
            $(assert_eq!(size_of::<$name>(), $size, stringify!($name));)*
        }}
    }};
}}

macro_rules! values {{
    ($($name:ident $value:expr;)*) => {{
        #[test]
        fn values() {{
            $(assert_eq!($name.0, $value, stringify!($name));)*
        }}
    }};
}}

macro_rules! constants {{
    ($($name:ident $value:expr;)*) => {{
        #[test]
        fn constants() {{
            $(assert_eq!($name, $value, stringify!($name));)*
        }}
    }};
}}

layouts! {{
{layouts}
}}

sizes! {{
{fold(' '.join(sizes), '    ')}
}}

values! {{
{fold(' '.join(values), '    ')}
}}

constants! {{
{fold(' '.join(macros), '    ')}
}}
"""


def c_layout():
    lines = [f"/* Every size, offset and value of the interface, in the headers. {NOTICE} */"]
    lines += [f'#include "{h}"' for h in HEADERS]
    lines += [
        "#ifdef __cplusplus", "#define CHECK(what) static_assert(what, #what);", "#else",
        "#define CHECK(what) _Static_assert(what, #what);", "#endif",
        "#define S(t, size) CHECK(sizeof(t) == (size))",
        "#define A(t, align) CHECK(offsetof(struct { char c; t x; }, x) == (align))",
        "#define F(t, f, offset, size) CHECK(offsetof(t, f) == (offset)) CHECK(sizeof(((t *)0)->f) == (size))",
        "#define O(t, f, offset) CHECK(offsetof(t, f) == (offset))",
        "#define V(name, value) CHECK((name) == (value))",
    ]
    checks = []
    for name, e in ENUMS.items():
        checks.append(f"S({name}, {e['size']})")
        checks += [f"V({k}, {c_value(v)})" for k, v in e["values"].items()]
    checks += [f"S({name}, {t['size']})" for name, t in TYPEDEFS.items()]
    for name, data in STRUCTS.items():
        c = next((t for t, d in TYPEDEFS.items() if d["target"] == f"struct {name}"), name)
        checks.append(f"S({c}, {data['size']})")
        for f in data["fields"]:
            if f["type"] == "anonymous union":
                checks += [f"F({c}, {g['name']}, {f['offset'] + g['offset']}, {g['size']})" for g in f["fields"]]
            elif f["type"].endswith("[]"):
                checks.append(f"O({c}, {f['name']}, {f['offset']})")
            else:
                checks.append(f"F({c}, {f['name']}, {f['offset']}, {f['size']})")
    aligned = [f"A({next((t for t, d in TYPEDEFS.items() if d['target'] == f'struct {n}'), n)}, {s['align']})"
               for n, s in STRUCTS.items() if not any(f["type"].endswith("[]") for f in s["fields"])]
    values = [f"V({k}, {c_value(m['value'])})" for k, m in MACROS.items()
              if "value" in m and k not in ("CPA_INSTANCE_HANDLE_SINGLE", "NUMA_ANY_NODE")]
    lines.append(fold(" ".join(checks + values), ""))
    # C++ defines no types within offsetof.
    lines += ["#ifndef __cplusplus", fold(" ".join(aligned), ""), "#endif", "int main(void)", "{", "    return 0;", "}"]
    return "\n".join(lines) + "\n"


def fold(text, indent, width=150):
    lines, line = [], indent
    for word in re.findall(r"\w+\([^)]*\)|\S+", text):
        if len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    return "\n".join(lines + [line.rstrip()])


def main():
    for name in HEADERS:
        (HERE / "include" / name).write_text(header(name))
    types = HERE.parents[1] / "crates/quickassist/src"
    rust = [types / "lib.rs", HERE / "tests/layout.rs"]
    rust[0].write_text(rust_root())
    rust[1].write_text(rust_layout())
    for module in MODULES:
        rust.append(types / f"{module}.rs")
        rust[-1].write_text(rust_module(module))
    rust.append(types / "functions.rs")
    rust[-1].write_text(rust_functions())
    (HERE / "tests/layout.c").write_text(c_layout())
    (HERE / "exports.txt").write_text("\n".join(sorted(DATA["exports"]["libqat"])) + "\n")
    (HERE / "usdm/exports.txt").write_text("\n".join(sorted(DATA["exports"]["libusdm"])) + "\n")
    subprocess.run(["rustfmt", "--edition", "2024", "--config-path", HERE.parents[1], *rust], check=True)


main()
