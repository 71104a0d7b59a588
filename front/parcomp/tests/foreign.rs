//! Files of other programs, decompressed as gunzip does it.

mod common;

use std::{fs, process::Command};

use common::{Scratch, good, has, pipe, run_in, stderr, text};

fn gzip(args: &[&str], data: &[u8]) -> Vec<u8> {
    let output = pipe(Command::new("gzip").arg("-c").args(args), data);
    assert!(output.status.success());
    output.stdout
}

/// As `bgzip` writes: members of at most 60,000 bytes with their length in the header, an empty one at the end.
fn bgzf(data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for part in data.chunks(60_000).chain([&[][..]]) {
        let body = &gzip(&["-n"], part)[10..];
        file.extend_from_slice(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0");
        file.extend_from_slice(&(17 + body.len() as u16).to_le_bytes());
        file.extend_from_slice(body);
    }
    file
}

/// Our answer to a file: exit status, data (if there is an output file), message.
fn ours(dir: &Scratch, packed: &[u8], provider: &str) -> (Option<i32>, Option<Vec<u8>>, String) {
    dir.file("f.gz", packed);
    let output = run_in(&dir.0, &["-d", "-q", "--force", "-p", provider, "f.gz", "-of"]);
    let data = fs::read(dir.path("f")).ok();
    _ = fs::remove_file(dir.path("f"));
    (output.status.code(), data, stderr(&output))
}

/// gunzip's: exit status and data.
fn theirs(packed: &[u8]) -> (Option<i32>, Vec<u8>) {
    let output = pipe(Command::new("gunzip").arg("-c"), packed);
    (output.status.code(), output.stdout)
}

#[test]
fn as_gunzip_does() {
    if !has("gzip") {
        return;
    }
    let dir = Scratch::new("gunzip");
    let (a, b) = (text(400_000), text(70_000));
    let (ga, gb) = (gzip(&["-9"], &a), gzip(&["-1"], &b));
    dir.file("named.txt", &a);
    let named = Command::new("gzip").arg("-c").arg(dir.path("named.txt")).output().unwrap().stdout;
    let own = |data: &[u8], options: &[&str]| {
        dir.file("own", data);
        good(&dir.0, &[&["-q", "--force", "own"], options].concat());
        fs::read(dir.path("own.gz")).unwrap()
    };
    let (oa, ob) = (own(&a, &[]), own(&b, &["-c16"]));
    let large = own(&a, &["-c1000"]);
    let bg = bgzf(&a);
    let with = |at: usize, byte: u8| {
        let mut other = bg.clone();
        other[at] ^= byte;
        other
    };
    let first = 1 + usize::from(u16::from_le_bytes([bg[16], bg[17]]));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("-9", ga.clone()),
        ("with a name", named.clone()),
        ("two members", [&ga[..], &gb].concat()),
        ("three members", [&ga[..], &gb, &named].concat()),
        ("ours, then theirs", [&oa[..], &ga].concat()),
        ("theirs, then ours", [&gb[..], &oa].concat()),
        ("mixed", [&oa[..], &gb, &ob, &ga, &large].concat()),
        ("an empty member", [&gzip(&[], b"")[..], &gb].concat()),
        ("only an empty member", gzip(&[], b"")),
        ("trailing zeros", [&ga[..], &[0; 1000]].concat()),
        ("one trailing zero", [&oa[..], &[0]].concat()),
        ("many trailing zeros", [&ga[..], &vec![0; 1_000_000]].concat()),
        ("trailing garbage", [&ga[..], b"garbage"].concat()),
        ("one byte of garbage", [&oa[..], b"g"].concat()),
        ("half a magic number", [&oa[..], b"\x1f"].concat()),
        ("zeros, then garbage", [&ga[..], &[0; 512], b"garbage"].concat()),
        ("garbage after two", [&ga[..], &oa, b"garbage"].concat()),
        ("truncated", ga[..ga.len() - 1].to_vec()),
        ("second truncated", [&ga[..], &gb[..100]].concat()),
        ("ours, second truncated", [&oa[..], &ob[..100]].concat()),
        ("second without a trailer", [&oa[..], &gb[..gb.len() - 8]].concat()),
        ("bgzf", bg.clone()),
        ("bgzf between others", [&oa[..], &bg, &ga, &bg, &ob].concat()),
        ("bgzf without its end", bg[..bg.len() - 28].to_vec()),
        ("bgzf truncated", bg[..bg.len() / 2].to_vec()),
        ("bgzf and garbage", [&bg[..], b"garbage"].concat()),
        // What its own field says of a member does not count: the data do.
        ("bgzf, a wrong length", with(16, 0x21)),
        ("bgzf, a length beyond the file", [&bg[..16], b"\xff\xff", &bg[18..first]].concat()),
        ("bgzf, a wrong checksum", with(first - 8, 1)),
        ("bgzf, a wrong size", with(first - 4, 1)),
        ("bgzf, a later wrong size", with(bg.len() - 28 - 3, 0x80)),
        ("not gzip", b"hello, world".to_vec()),
        ("nothing", Vec::new()),
        ("one byte", vec![0x1f]),
        ("only magic", vec![0x1f, 0x8b]),
    ];
    for (name, packed) in cases {
        let (code, expected) = theirs(&packed);
        for provider in ["zlib", "lookaside", "model:chipset2019"] {
            let (our_code, data, message) = ours(&dir, &packed, provider);
            assert_eq!(our_code, code, "{name} ({provider}): {message}");
            match code {
                Some(0 | 2) => assert!(data.as_ref() == Some(&expected), "{name} ({provider})"),
                _ => assert!(data.is_none() && !message.is_empty(), "{name} ({provider})"),
            }
        }
    }
}

#[test]
fn the_warning_says_what_gunzip_says() {
    let dir = Scratch::new("warning");
    dir.file("f", &text(100_000));
    good(&dir.0, &["-q", "f"]);
    let packed = [fs::read(dir.path("f.gz")).unwrap(), b"garbage".to_vec()].concat();
    dir.file("g.gz", &packed);
    let output = run_in(&dir.0, &["-d", "g.gz"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("decompression OK, trailing garbage ignored"));
    assert!(fs::read(dir.path("g")).unwrap() == text(100_000));
}

#[test]
fn pigz_and_zlib_files() {
    if !has("pigz") {
        return;
    }
    let dir = Scratch::new("pigz");
    let data = text(1_500_000);
    for (options, name) in
        [(&["-c"][..], "f.gz"), (&["-c", "-9", "-b", "128"], "f.gz"), (&["-cz"], "f.zz")]
    {
        let packed = pipe(Command::new("pigz").args(options), &data);
        dir.file(name, &packed.stdout);
        for provider in ["zlib", "lookaside"] {
            // gzip and zlib are recognised.
            good(&dir.0, &["-dq", "--force", "-p", provider, name, "-of"]);
            assert!(fs::read(dir.path("f")).unwrap() == data, "{options:?}");
        }
    }
}

#[test]
fn header_fields_are_skipped() {
    // FTEXT, FHCRC, FEXTRA, FNAME, FCOMMENT; the body is "hello" in a stored block.
    let body = b"\x01\x05\x00\xfa\xffhello\x86\xa6\x10\x36\x05\x00\x00\x00";
    let header = b"\x1f\x8b\x08\x1d\x01\x02\x03\x04\x00\x03\x06\x00LA\x02\x00xyname\0comment\0";
    let dir = Scratch::new("header");
    let packed = [&header[..], body].concat();
    for provider in ["zlib", "lookaside"] {
        let (code, data, message) = ours(&dir, &packed, provider);
        assert_eq!((code, data.as_deref()), (Some(0), Some(&b"hello"[..])), "{message}");
    }
}
