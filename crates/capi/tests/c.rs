//! C programs that use the library as installed: the test of every function, the example, C++.

mod common;

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use common::{compiler, folder, good, here};

/// Compiles and runs a program of this folder, which ends with the line that it is whole.
fn whole(name: &str, last: &str) {
    let dir = folder(name);
    let exe = dir.join(name);
    let mut cc = compiler("cc", &dir);
    cc.args(["-std=c99", "-D_XOPEN_SOURCE=600", "-pthread"]);
    let source = here().join("tests").join(name).with_extension("c");
    good(cc.arg(source).arg("-o").arg(&exe).arg("-llookaside"));
    let out = good(&mut Command::new(&exe));
    assert!(String::from_utf8_lossy(&out.stdout).ends_with(last), "{out:?}");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn every_function_from_c() {
    whole("capi_test", "all of lookaside.h\n");
}

#[test]
fn pattern_matching_from_c() {
    whole("scan_test", "all of scans\n");
}

#[test]
fn documents_from_c() {
    whole("xml_test", "all of documents\n");
}

#[test]
fn the_header_is_cpp_too() {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no C++ compiler (Debian package g++)");
        return;
    }
    let dir = folder("cpp");
    let (source, exe) = (dir.join("t.cpp"), dir.join("t"));
    let program = r#"
        #include <lookaside.h>
        #include <cstring>
        int main() {
            la_runtime_options o = LA_RUNTIME_OPTIONS_INIT;
            la_compression c = LA_COMPRESSION_INIT;
            la_instance_options i = LA_INSTANCE_OPTIONS_INIT;
            la_xml x = LA_XML_INIT;
            return std::strcmp(la_version(), LA_VERSION) || !o.size || !c.size || !i.size || !x.size;
        }"#;
    fs::write(&source, program).unwrap();
    let mut cpp = compiler("c++", &dir);
    good(cpp.arg("-std=c++11").arg(source).arg("-o").arg(&exe).arg("-llookaside"));
    good(&mut Command::new(exe));
    fs::remove_dir_all(dir).unwrap();
}

/// The example, on input of every shape, read back by gunzip.
#[test]
fn the_example_compresses() {
    let dir = folder("example");
    let exe = dir.join("compress");
    let mut cc = compiler("cc", &dir);
    let source = here().join("examples/compress.c");
    good(cc.arg("-std=c99").arg(&source).arg("-o").arg(&exe).arg("-llookaside"));

    let line = |i: usize| format!("line {i} of {}\n", i * i % 977).into_bytes();
    let long: Vec<u8> = (0..60_000).flat_map(line).collect();
    for len in [0, 1, 65_535, 65_536, 65_537, long.len()] {
        let (file, packed) = (dir.join("in"), dir.join("out.gz"));
        fs::write(&file, &long[..len]).unwrap();
        let out = good(Command::new(&exe).arg(&file));
        let counted = String::from_utf8_lossy(&out.stderr).into_owned();
        let members = len.div_ceil(65_536).max(1);
        let start =
            format!("cpu dc.compress: {members} requests, {len} -> {} bytes, ", out.stdout.len());
        assert!(counted.starts_with(&start), "{counted}");
        fs::write(&packed, &out.stdout).unwrap();
        let back = good(Command::new("gunzip").arg("-c").arg(&packed));
        assert!(back.stdout == long[..len], "{len} bytes");
    }

    let mut child = Command::new(&exe)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&long[..1000]).unwrap();
    assert!(child.wait_with_output().unwrap().stdout.starts_with(&[0x1f, 0x8b]));
    let none = Command::new(&exe).arg(dir.join("no such file")).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    fs::remove_dir_all(dir).unwrap();
}
