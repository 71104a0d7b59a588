//! A program in C, on the headers and the shared library, as others are built.

use std::{env, fs, path::Path, process::Command};

#[test]
fn a_program_in_c() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sym_c");
    fs::create_dir_all(&temporary).unwrap();
    let program = temporary.join("sym");
    // Beside this test's own program.
    let library = env::current_exe().unwrap().with_file_name("liblookaside_qat.so");
    assert!(library.exists(), "{} (cargo builds it for tests)", library.display());
    let named = temporary.join("libqat.so.4");
    let _ = fs::remove_file(&named);
    std::os::unix::fs::symlink(&library, &named).unwrap();
    let status = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/sym.c"))
        .arg("-o")
        .args([&program, &named])
        .status()
        .expect("a C compiler (package gcc)");
    assert!(status.success(), "compiled");
    let output = Command::new(&program).env("LD_LIBRARY_PATH", &temporary).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
    assert_eq!(output.stdout, b"sym.c: right\n");
}

/// Programs include them in any order.
#[test]
fn each_header_stands_alone() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let all = fs::read_dir(&include).unwrap().map(|entry| entry.unwrap().path());
    let headers: Vec<_> = all.filter(|path| path.extension().is_some_and(|e| e == "h")).collect();
    assert!(headers.len() > 20);
    for header in headers {
        let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
        let status = Command::new(compiler)
            .args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c"])
            .arg(&header)
            .status()
            .expect("a C compiler (package gcc)");
        assert!(status.success(), "{}", header.display());
    }
}
