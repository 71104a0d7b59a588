//! The header says what the library does: numbers, layouts, functions, version; and the numbers
//! are the ones that programs in the field were compiled with.

mod common;

use core::mem::offset_of;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use common::{compiler, folder, good, here, library};
use lookaside_capi::{
    counters::{BUCKETS, la_counters},
    instance::la_instance_options,
    request::{IOV_MAX, la_request, la_response},
    runtime::la_runtime_options,
    scan::{la_bad_pattern, la_match, la_pattern},
    session::la_compression,
    status,
    xml::{la_bad_document, la_event, la_name, la_xml},
};

fn header() -> String {
    fs::read_to_string(here().join("include/lookaside.h")).expect("the header")
}

/// The constants of the header's enumerations.
fn enumerated() -> BTreeMap<String, i32> {
    let mut found = BTreeMap::new();
    for line in header().lines() {
        let Some((name, rest)) = line.trim().split_once(" = ") else { continue };
        let value: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
        if name.starts_with("LA_") && !value.is_empty() {
            found.insert(name.to_owned(), value.parse().expect("a number"));
        }
    }
    found
}

/// Never edit a number here: append.
#[test]
fn the_numbers_are_frozen() {
    let frozen = "
        LA_OK 0 LA_OVERFLOW 1 LA_END 2
        LA_E_INVALID -1 LA_E_INTERNAL -2 LA_E_FULL -3 LA_E_BUSY -4 LA_E_UNSUPPORTED -5 LA_E_LIMIT -6
        LA_E_SYSTEM -7 LA_E_NOMEM -8 LA_E_DST_TOO_SMALL -16 LA_E_BAD_DATA -17 LA_E_AUTH_FAILED -18
        LA_E_DEVICE_LOST -19 LA_E_CANCELLED -20 LA_E_STREAM_ENDED -21
        LA_E_BAD_INPUT -22 LA_E_FAULT -23 LA_E_LIBRARY -24 LA_E_EXPIRED -25 LA_E_BAD_PATTERN -26
        LA_E_BAD_DOCUMENT -27
        LA_BAD_TRUNCATED 1 LA_BAD_HEADER 2 LA_BAD_BLOCK 3 LA_BAD_CHECKSUM 4 LA_BAD_LENGTH 5
        LA_BAD_DICTIONARY 6 LA_BAD_WINDOW 7
        LA_OP_COPY 1 LA_OP_COMPRESS 2 LA_OP_DECOMPRESS 3 LA_OP_SCAN 4 LA_OP_PARSE 5
        LA_SCAN_CASELESS 1 LA_SCAN_DOT_ALL 2 LA_SCAN_MULTI_LINE 4 LA_SCAN_SINGLE_MATCH 8
        LA_SCAN_ALLOW_EMPTY 16 LA_SCAN_UTF8 32 LA_SCAN_UCP 64 LA_SCAN_PREFILTER 128 LA_SCAN_START 256
        LA_SCAN_COMBINATION 512 LA_SCAN_QUIET 1024
        LA_SCAN_BLOCK 0 LA_SCAN_STREAM 1
        LA_SCAN_MIN_OFFSET 1 LA_SCAN_MAX_OFFSET 2 LA_SCAN_MIN_LENGTH 4
        LA_XML_DECL 0 LA_XML_DOCTYPE_START 1 LA_XML_DOCTYPE_END 2 LA_XML_ELEMENT_DECL 3
        LA_XML_ATTRIBUTE_DECL 4 LA_XML_ENTITY_DECL 5 LA_XML_NOTATION_DECL 6 LA_XML_START_ELEMENT 7
        LA_XML_ATTRIBUTE 8 LA_XML_NAMESPACE 9 LA_XML_END_ELEMENT 10 LA_XML_TEXT 11
        LA_XML_CDATA_START 12 LA_XML_CDATA_END 13 LA_XML_COMMENT 14 LA_XML_PI 15
        LA_XML_ENTITY_START 16 LA_XML_ENTITY_END 17 LA_XML_SKIPPED_ENTITY 18
        LA_XML_IN_BYTES 1 LA_XML_DEFAULTED 2 LA_XML_CDATA 4 LA_XML_EMPTY 8
        LA_RAW 0 LA_ZLIB 1 LA_GZIP 2
        LA_LZ4_RAW 3 LA_LZ4_BLOCKS 4 LA_LZ4 5 LA_LZ4S 6 LA_ZSTD 7
        LA_DYNAMIC 0 LA_STATIC 1
        LA_CHECKSUM_NONE 0 LA_CHECKSUM_CRC32 1 LA_CHECKSUM_ADLER32 2
        LA_CHECKSUM_XXH32 3 LA_CHECKSUM_XXH64 4
        LA_BYTES 0 LA_OPERATIONS 1 LA_DEVICE_TIME 2
        LA_PRIORITY_NORMAL 0 LA_PRIORITY_HIGH 1 LA_PRIORITY_BACKGROUND 2
        LA_FLUSH_NONE 0 LA_FLUSH_SYNC 1 LA_FLUSH_FULL 2 LA_FLUSH_FINISH 3";
    let words: Vec<&str> = frozen.split_whitespace().collect();
    let frozen: BTreeMap<String, i32> =
        words.chunks(2).map(|w| (w[0].to_owned(), w[1].parse().unwrap())).collect();
    assert_eq!(enumerated(), frozen);
}

#[test]
fn the_library_uses_the_numbers_of_the_header() {
    let header = enumerated();
    for &(name, number, _) in status::ALL {
        assert_eq!(header.get(name), Some(&number), "{name}");
    }
    let is_status = |name: &&String| {
        name.starts_with("LA_E_") || ["LA_OK", "LA_OVERFLOW", "LA_END"].contains(&name.as_str())
    };
    assert_eq!(header.keys().filter(is_status).count(), status::ALL.len());
    let text = self::header();
    let version = concat!('"', env!("CARGO_PKG_VERSION"), '"');
    for (name, value) in [
        ("LA_IOV_MAX", IOV_MAX.to_string()),
        ("LA_HISTOGRAM_BUCKETS", BUCKETS.to_string()),
        ("LA_VERSION", version.to_owned()),
    ] {
        let defined = text.lines().find_map(|l| l.strip_prefix("#define ")?.strip_prefix(name));
        let value_there = defined.and_then(|l| l.split_whitespace().next());
        assert_eq!(value_there, Some(&*value), "{name}");
    }
}

macro_rules! layouts {
    ($($name:ident { $($field:ident),* })*) => {
        /// Lines "struct member offset", and "struct sizeof size", as Rust has them, and a C
        /// program that prints them as C has them.
        fn layouts() -> (String, String) {
            let (mut rust, mut c) = (String::new(), String::new());
            $(
                rust += &format!("{} sizeof {}\n", stringify!($name), size_of::<$name>());
                c += &format!("printf(\"{0} sizeof %zu\\n\", sizeof({0}));\n", stringify!($name));
                $(
                    let (s, f) = (stringify!($name), stringify!($field));
                    rust += &format!("{s} {f} {}\n", offset_of!($name, $field));
                    c += &format!("printf(\"{s} {f} %zu\\n\", offsetof({s}, {f}));\n");
                )*
            )*
            (rust, c)
        }
    };
}

layouts! {
    la_runtime_options { size, cpus, cpu_count, batch_deadline_ns, engines, reserved }
    la_compression { size, format, level, huffman, window_bits, checksum, block_bits }
    la_instance_options {
        size, depth, weight, committed_per_s, peak_per_s, burst, max_request, unit, priority,
        spill, reserved
    }
    la_request {
        tag, op, flush, session, stream, src, src_len, src_iov, src_iov_count,
        dst, dst_len, dst_iov, dst_iov_count, reserved
    }
    la_response {
        tag, consumed, produced, bad_offset, status, bad_reason, checksum,
        checksum_high, reserved
    }
    la_pattern {
        text, text_len, min_offset, max_offset, min_length, id, flags, literal, conditions, reserved
    }
    la_bad_pattern { index, offset, id, what }
    la_match { end, start, id, reserved }
    la_xml {
        size, encoding, expansion, amplification, amplification_from, memory, depth, attributes, name, namespaces
    }
    la_event { kind, flags, count, name, offset, len }
    la_name { qname, uri, prefix, local, expanded }
    la_bad_document { offset, line, column, rule }
    la_counters {
        device, op, requests, src_bytes, dst_bytes, batches, errors, busy, rerouted, busy_ns,
        lanes, queue_ns, service_ns
    }
}

#[test]
fn structures_lie_in_memory_as_the_header_says() {
    let dir = folder("layout");
    let (source, exe) = (dir.join("t.c"), dir.join("t"));
    let (rust, c) = layouts();
    let program = format!(
        "#include <lookaside.h>\n#include <stdio.h>\nint main(void) {{\n{c}return 0;\n}}\n"
    );
    fs::write(&source, program).unwrap();
    good(compiler("cc", &dir).arg("-std=c99").arg(source).arg("-o").arg(&exe));
    let printed = String::from_utf8(good(&mut Command::new(exe)).stdout).unwrap();
    assert_eq!(printed, rust);
    fs::remove_dir_all(dir).unwrap();
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let text = header();
    let code = text.split("*/").filter_map(|part| part.split("/*").next());
    let mut declared = BTreeSet::new();
    for word in code.flat_map(|c| c.split(|c: char| !c.is_alphanumeric() && !"_(".contains(c))) {
        if let Some((name, _)) = word.split_once('(')
            && name.starts_with("la_")
        {
            declared.insert(name.to_owned());
        }
    }
    assert!(declared.len() > 20, "{declared:?}");
    declared
}

/// The functions declared in the header are the functions exported, and nothing else is.
#[test]
fn the_library_exports_what_the_header_declares() {
    let out =
        good(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library()));
    let exported: BTreeSet<String> = String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|l| Some(l.split_whitespace().next()?.to_owned()))
        .collect();
    assert_eq!(exported, declared());
}

/// Each function has a symbol version (`scripts/build-capi`).
#[test]
fn each_function_has_a_version() {
    let map = fs::read_to_string(here().join("lookaside.map")).unwrap();
    let names = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let versioned: BTreeSet<String> =
        names.filter(|name| name.starts_with("la_")).map(str::to_owned).collect();
    assert_eq!(versioned, declared());
}

#[test]
fn the_library_has_its_installed_name_and_stays_loaded() {
    let out = good(Command::new("readelf").args(["-d", "-W"]).arg(library()));
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("soname: [liblookaside.so.0]"), "{text}");
    assert!(text.contains("NODELETE"), "{text}");
}

#[test]
fn the_pkg_config_file_is_one() {
    let template = fs::read_to_string(here().join("lookaside.pc.in")).unwrap();
    let filled = template
        .replace("@PREFIX@", "/opt/la")
        .replace("@LIBDIR@", "/opt/la/lib")
        .replace("@VERSION@", "1.2.3");
    assert!(!filled.contains('@'), "{filled}");
    let dir = folder("pc");
    fs::write(dir.join("lookaside.pc"), filled).unwrap();
    let ask = |what: &str| {
        let mut c = Command::new("pkg-config");
        c.env("PKG_CONFIG_LIBDIR", &dir).args([what, "lookaside"]);
        c
    };
    if ask("--modversion").output().is_err() {
        eprintln!("SKIPPED: no pkg-config (Debian package pkgconf)");
        return;
    }
    let answer = |what| String::from_utf8(good(&mut ask(what)).stdout).unwrap();
    assert_eq!(answer("--modversion").trim(), "1.2.3");
    assert_eq!(answer("--cflags").trim(), "-I/opt/la/include");
    assert_eq!(answer("--libs").trim(), "-L/opt/la/lib -llookaside");
    fs::remove_dir_all(dir).unwrap();
}
