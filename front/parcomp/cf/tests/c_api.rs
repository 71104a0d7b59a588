//! Compiles a C program against `cf.h` and `libcf.so`, and runs it.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Where Cargo put the shared library that this test was built with.
fn library() -> PathBuf {
    let me = env::current_exe().expect("a path");
    let deps = me.parent().expect("the deps folder");
    let found = [deps.parent().expect("the profile's folder"), deps].map(|d| d.join("libcf.so"));
    let newest = found
        .into_iter()
        .filter(|p| p.is_file())
        .max_by_key(|p| p.metadata().and_then(|m| m.modified()).expect("a time"));
    newest.expect("libcf.so beside the test")
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cf-{name}"));
    _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder");
    // As `make install` puts them.
    symlink(library(), dir.join("libcf.so.0")).expect("a link");
    symlink("libcf.so.0", dir.join("libcf.so")).expect("a link");
    dir
}

fn compile(dir: &Path, compiler: &str, options: &[&str], source: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = dir.join("program");
    let strict = ["-Wall", "-Wextra", "-Wno-write-strings", "-Werror", "-O1"];
    let compiler = env::var_os("CC").filter(|_| compiler == "cc").unwrap_or(compiler.into());
    run(Command::new(compiler)
        .args(strict)
        .args(options)
        .arg("-I")
        .arg(root.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(source)
        .arg("-L")
        .arg(dir)
        .arg("-lcf"));
    program
}

#[test]
fn a_c_program_sees_what_the_header_promises() {
    let dir = scratch("c");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.c");
    let program = compile(&dir, "cc", &["-std=c99", "-pedantic"], &source);
    let said = run(Command::new(&program).env("LD_LIBRARY_PATH", &dir));
    assert_eq!(said, "ok\n");
}

#[test]
fn the_program_asks_for_the_major_version() {
    let dir = scratch("soname");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program.c");
    let program = compile(&dir, "cc", &[], &source);
    let bytes = fs::read(program).expect("the program");
    assert!(bytes.windows(11).any(|w| w == b"libcf.so.0\0"));
}

#[test]
fn the_header_is_cpp_too() {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no C++ compiler");
        return;
    }
    let dir = scratch("cpp");
    let source = dir.join("x.cc");
    let text = "#include \"cf.h\"\nint main() { return cfStrError(CF_OK) == nullptr; }\n";
    fs::write(&source, text).expect("written");
    let program = compile(&dir, "c++", &["-x", "c++", "-std=c++17"], &source);
    run(Command::new(&program).env("LD_LIBRARY_PATH", &dir));
}
