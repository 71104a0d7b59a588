//! `--format lz4` and `--format zstd`: files that the tools `lz4` and `zstd` read, theirs read here, and everything
//! that may be wrong with one.

mod common;

use std::{fs, process::Command};

use common::{Scratch, good, has, noise, parcomp, pipe, run_in, stderr, text};

const FORMATS: [(&str, &str); 2] = [("lz4", "lz4"), ("zstd", "zst")];

/// Our answer to a file: exit status, data (if there is an output file), message.
fn ours(
    dir: &Scratch,
    suffix: &str,
    packed: &[u8],
    options: &[&str],
) -> (Option<i32>, Option<Vec<u8>>, String) {
    let name = format!("f.{suffix}");
    dir.file(&name, packed);
    let all = [&["-d", "-q", "--force", &name, "-of"][..], options].concat();
    let output = run_in(&dir.0, &all);
    let data = fs::read(dir.path("f")).ok();
    _ = fs::remove_file(dir.path("f"));
    (output.status.code(), data, stderr(&output))
}

fn tool(name: &str, args: &[&str], data: &[u8]) -> Vec<u8> {
    let output = pipe(Command::new(name).args(["-c", "-q"]).args(args), data);
    assert!(output.status.success(), "{name} {args:?}: {}", stderr(&output));
    output.stdout
}

fn packed(format: &str, options: &[&str], data: &[u8]) -> Vec<u8> {
    let output = pipe(parcomp().args(["--format", format, "-q", "-", "-o-"]).args(options), data);
    assert!(output.status.success(), "{}", stderr(&output));
    output.stdout
}

#[test]
fn the_tools_read_ours_and_we_do() {
    let dir = Scratch::new("formats");
    let large = [text(3_000_000), noise(500_000), text(2_000_000)].concat();
    for (format, suffix) in FORMATS {
        let there = has(format);
        for (data, options) in [
            (&b""[..], &[][..]),
            (b"x", &[]),
            (&large[..65_535], &[]),
            (&large[..65_536], &[]),
            (&large[..65_537], &["-l9"]),
            (&large, &[]),
            (&large, &["-t2", "-c1000"]),
            (&large, &["-l12", "-c100", "--engines", "0"]),
            (&large, &["-c6000", "--engines", "2"]),
            (&large, &["-c1", "-t3"]),
            (&large, &["-p", format]),
            (&large, &["-p", format, "-t2", "-l5"]),
            (&large, &["-pmodel:chipset2019"]),
        ] {
            let file = packed(format, options, data);
            if there {
                assert!(tool(format, &["-d"], &file) == data, "{format} {options:?}");
            }
            for back in [&[][..], &["--engines", "0"], &["-t2"]] {
                let (code, ours, message) = ours(&dir, suffix, &file, back);
                assert_eq!(code, Some(0), "{format} {options:?} {back:?}: {message}");
                assert!(ours.as_deref() == Some(data), "{format} {options:?} {back:?}");
            }
            // From a pipe: recognised by its magic.
            let output = pipe(parcomp().args(["-dq", "-"]), &file);
            assert!(output.status.success() && output.stdout == data, "{format} {options:?}");
        }
    }
}

/// Damages that only the other side's tool could hide: the file has what the documents say.
#[test]
fn zstandard_has_its_seek_table_and_lz4_its_block_size() {
    let data = text(300_000);
    let file = packed("zstd", &["-c64"], &data);
    let footer = &file[file.len() - 9..];
    assert_eq!(footer, [5, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f]);
    let table = &file[file.len() - 9 - 5 * 8..file.len() - 9];
    let head = &file[file.len() - 9 - 5 * 8 - 8..][..8];
    assert_eq!(head, [0x5e, 0x2a, 0x4d, 0x18, 49, 0, 0, 0]);
    let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap()) as usize;
    let (mut at, mut len) = (0, 0);
    for entry in table.chunks(8) {
        assert_eq!(file[at..at + 4], [0x28, 0xb5, 0x2f, 0xfd]);
        (at, len) = (at + word(&entry[..4]), len + word(&entry[4..]));
    }
    assert_eq!((at, len), (file.len() - 9 - 5 * 8 - 8, data.len()));
    for (chunk, bd) in [("-c64", 0x40), ("-c65", 0x50), ("-c1024", 0x60), ("-c9000", 0x70)] {
        let file = packed("lz4", &[chunk], &data);
        assert_eq!(file[..6], [4, 0x22, 0x4d, 0x18, 0x64, bd], "{chunk}");
    }
}

#[test]
fn files_of_the_tools() {
    let dir = Scratch::new("tools");
    let (a, b) = ([text(1_500_000), noise(300_000)].concat(), text(70_000));
    let ways: [(&str, &str, &[&[&str]]); 2] = [
        (
            "lz4",
            "lz4",
            &[
                &[],
                &["-9"],
                &["-B4"],
                &["-B4", "-BD"],
                &["-BD", "-BX", "-9"],
                &["-B5", "-BX"],
                &["--no-frame-crc"],
                &["-BD", "--no-frame-crc"],
                &["--content-size"],
            ],
        ),
        ("zstd", "zst", &[&[], &["-19"], &["--no-check"], &["--long=27"], &["-T2", "-B64KB"]]),
    ];
    for (name, suffix, ways) in ways {
        if !has(name) {
            continue;
        }
        let own = packed(name, &[], &b);
        for way in ways {
            dir.file("a", &a);
            // From a file, so that the content size is known; and from a pipe.
            let mut command = Command::new(name);
            command.args(*way).args(["-c", "-q"]).arg(dir.path("a"));
            let known = command.output().unwrap().stdout;
            let piped = tool(name, way, &a);
            let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"12345"].concat();
            let cases: [(&str, Vec<u8>, Vec<u8>); 6] = [
                ("one", known.clone(), a.clone()),
                ("piped", piped.clone(), a.clone()),
                ("two", [&known[..], &piped].concat(), [&a[..], &a].concat()),
                ("with ours", [&own[..], &known, &own].concat(), [&b[..], &a, &b].concat()),
                ("skippable", [&piped[..], &skippable, &own].concat(), [&a[..], &b].concat()),
                ("zeros", [&known[..], &[0; 700]].concat(), a.clone()),
            ];
            for (case, file, data) in cases {
                for options in [&[][..], &["--engines", "0"]] {
                    let (code, ours, message) = ours(&dir, suffix, &file, options);
                    assert_eq!(code, Some(0), "{name} {way:?} {case}: {message}");
                    assert!(ours.as_ref() == Some(&data), "{name} {way:?} {case}");
                }
            }
        }
        // A skippable frame first: with the format given, since both have it.
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &own].concat();
        let (code, data, message) = ours(&dir, suffix, &skippable, &["--format", name]);
        assert_eq!((code, data.as_ref() == Some(&b)), (Some(0), true), "{message}");
    }
}

/// As gunzip does: damage is an error without output, garbage behind the end a warning with it.
#[test]
fn damage_is_found_and_leaves_nothing() {
    let dir = Scratch::new("bad-formats");
    let data = [text(500_000), noise(100_000)].concat();
    for (format, suffix) in FORMATS {
        let file = packed(format, &["-l3"], &data);
        let cut = |n: usize| file[..file.len() - n].to_vec();
        let flip = |at: usize| {
            let mut bad = file.clone();
            bad[at] ^= 0x41;
            bad
        };
        let table = 8 * 10 + 17;
        let end = if format == "zstd" { file.len() - table } else { file.len() };
        let cases: Vec<(&str, Vec<u8>, &str)> = vec![
            ("nothing", vec![], "unexpected end"),
            ("one byte", file[..1].to_vec(), "unexpected end"),
            ("magic", file[..4].to_vec(), "unexpected end"),
            ("header", file[..6].to_vec(), "unexpected end"),
            ("cut", cut(1), "unexpected end"),
            ("cut in the middle", cut(file.len() / 2), "unexpected end"),
            ("cut before the end", file[..end - 1].to_vec(), "unexpected end"),
            ("second cut", [&file[..], &file[..1000]].concat(), "unexpected end"),
            ("second magic cut", [&file[..], &file[..3]].concat(), "unexpected end"),
            ("checksum", flip(end - 1), "crc error"),
            ("content", flip(file.len() / 2), "invalid compressed data"),
            ("stored content", flip(end - 3000), "invalid compressed data"),
            ("the first block", flip(40), "invalid compressed data"),
            ("not this format", b"hello, world".to_vec(), "not in"),
            ("gzip", packed("gzip", &[], &data), "not in"),
        ];
        for (case, bad, wanted) in cases {
            for options in [&[][..], &["--engines", "0"], &["-t2"]] {
                let options = [options, &["--format", format]].concat();
                let (code, out, message) = ours(&dir, suffix, &bad, &options);
                assert_eq!((code, out.is_none()), (Some(1), true), "{format} {case}: {message}");
                assert!(message.contains(wanted), "{format} {case}: {message}");
            }
        }
        for (case, garbage) in [
            ("garbage", [&file[..], b"garbage"].concat()),
            ("a byte", [&file[..], b"g"].concat()),
            ("zeros, then garbage", [&file[..], &[0; 900], b"garbage"].concat()),
        ] {
            let (code, out, message) = ours(&dir, suffix, &garbage, &[]);
            assert_eq!((code, out.as_ref() == Some(&data)), (Some(2), true), "{format} {case}");
            assert!(message.is_empty(), "{message}");
        }
        let limit = format!("{}", data.len() - 1);
        let (code, out, message) = ours(&dir, suffix, &file, &["--limit", &limit]);
        assert_eq!((code, out), (Some(1), None));
        assert!(message.contains("limit"), "{message}");
        let name = format!("f.{suffix}");
        assert_eq!(dir.names(), [name.as_str()]);
        fs::remove_file(dir.path(&name)).unwrap();
    }
}

/// A frame that lies about its size, blocks that are larger than the header allows, a dictionary, a window.
#[test]
fn refusals_say_why() {
    let dir = Scratch::new("refusals");
    let zstd = [0x28, 0xb5, 0x2f, 0xfd];
    // RFC 8878: descriptor, fields, a last block.
    let frame = |rest: &[u8]| [&zstd[..], rest].concat();
    let lz4_dictionary = [4, 0x22, 0x4d, 0x18, 0x61, 0x40, 1, 2, 3, 4, 0x66, 0, 0, 0, 0];
    let large = [4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 1, 0, 1, 0x80];
    let cases: [(&str, Vec<u8>, &str); 6] = [
        // Says 7 bytes, has a stored block of 3.
        ("zst", frame(&[0x20, 7, 25, 0, 0, 1, 2, 3]), "format violated"),
        ("zst", frame(&[0x21, 9, 1, 9, 0, 0, 1]), "dictionary"),
        ("zst", frame(&[0, 21 << 3, 1, 0, 0]), "window"),
        ("zst", frame(&[0x28, 0, 1, 0, 0]), "bad header"),
        ("lz4", lz4_dictionary.to_vec(), ""),
        ("lz4", large.to_vec(), "format violated"),
    ];
    for (suffix, mut file, wanted) in cases {
        if suffix == "lz4" && file[4] == 0x61 {
            // Its header checksum, by the tool's own rule: of the six bytes between.
            let good = (0..=255u8).find(|&hc| {
                file[10] = hc;
                let (_, _, message) = ours(&dir, suffix, &file, &[]);
                message.contains("dictionary")
            });
            assert!(good.is_some());
            continue;
        }
        if suffix == "lz4" {
            let good = (0..=255u8).any(|hc| {
                file[6] = hc;
                ours(&dir, suffix, &file, &[]).2.contains(wanted)
            });
            assert!(good);
            continue;
        }
        let (code, out, message) = ours(&dir, suffix, &file, &[]);
        assert_eq!((code, out), (Some(1), None), "{wanted}: {message}");
        assert!(message.contains(wanted), "{wanted}: {message}");
    }
    if has("zstd") {
        // A dictionary of any bytes has no number: the frame looks like any other, and is damaged without it.
        dir.file("dictionary", &text(5000));
        let path = dir.path("dictionary").display().to_string();
        let file = tool("zstd", &["-D", &path], &text(9000));
        let (code, out, message) = ours(&dir, "zst", &file, &[]);
        assert_eq!((code, out), (Some(1), None), "{message}");
    }
}

#[test]
fn names_levels_and_providers() {
    let dir = Scratch::new("names");
    let data = text(200_000);
    for (format, suffix) in FORMATS {
        dir.file("f", &data);
        good(&dir.0, &["--format", format, "--verify", "-q", "f"]);
        let name = format!("f.{suffix}");
        fs::remove_file(dir.path("f")).unwrap();
        // The level of -d has no effect, also where the format has none such.
        good(&dir.0, &["-d", "-l0", "-q", &name]);
        assert!(fs::read(dir.path("f")).unwrap() == data);
        for provider in ["zlib", if format == "lz4" { "zstd" } else { "lz4" }] {
            let output = run_in(&dir.0, &["--format", format, "-p", provider, "f", "-ox"]);
            assert_eq!(output.status.code(), Some(1), "{provider}");
            let output = run_in(&dir.0, &["-d", "-p", provider, &name, "-ox"]);
            assert_eq!(output.status.code(), Some(1), "{provider}");
            assert!(stderr(&output).contains("does not support"), "{}", stderr(&output));
        }
        let sizes: Vec<u64> = ["-l1", "-l12"]
            .iter()
            .map(|level| {
                good(&dir.0, &["--format", format, level, "-q", "--force", "f"]);
                fs::metadata(dir.path(&name)).unwrap().len()
            })
            .collect();
        assert!(sizes[1] < sizes[0], "{format} {sizes:?}");
        fs::remove_file(dir.path(&name)).unwrap();
    }
    assert_eq!(dir.names(), ["f"]);
}

#[test]
fn compare_has_them_beside_their_libraries() {
    let dir = Scratch::new("compare-formats");
    dir.file("f", &text(1_000_000));
    for (format, suffix) in FORMATS {
        let output = good(&dir.0, &["compare", "--format", format, "-q", "f"]);
        let table = common::stdout(&output);
        assert!(table.contains(&format!("lookaside against {format}")), "{table}");
        assert_eq!(table.matches("  yes").count(), 2, "{table}");
        if has(format) {
            let file = fs::read(dir.path(&format!("f.{suffix}"))).unwrap();
            assert!(tool(format, &["-d"], &file) == text(1_000_000));
        }
    }
}
