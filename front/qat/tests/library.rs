//! The shared libraries as programs meet them: their names, their symbols, C programs linked with them.

use std::{
    collections::BTreeSet,
    env,
    ffi::{CString, c_void},
    fs,
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use lookaside_qat::unsupported::UNSUPPORTED;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A library that cargo has built: beside this test, or one folder up.
fn built(name: &str) -> PathBuf {
    let exe = env::current_exe().unwrap();
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{name} is not near {}", exe.display()))
}

/// A fresh folder in which the libraries have their installed names.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    for (file, names) in [
        ("liblookaside_qat.so", ["libqat.so.4", "libqat.so"]),
        ("liblookaside_usdm.so", ["libusdm.so.0", "libusdm.so"]),
    ] {
        for name in names {
            symlink(built(file), dir.join(name)).unwrap();
        }
    }
    dir
}

fn good(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        out.status.success(),
        "{command:?}: {}\n{}{}",
        out.status,
        text(&out.stdout),
        text(&out.stderr)
    );
    out
}

fn compiler(name: &str, dir: &Path) -> Command {
    let mut cc = Command::new(name);
    cc.args(["-Wall", "-Wextra", "-Werror", "-g", "-I"]).arg(here().join("include"));
    cc.arg("-L").arg(dir).arg(format!("-Wl,-rpath,{}", dir.display()));
    cc
}

#[test]
fn every_export_is_there_and_no_other_symbol() {
    for (library, soname, list) in [
        ("liblookaside_qat.so", "libqat.so.4", "exports.txt"),
        ("liblookaside_usdm.so", "libusdm.so.0", "usdm/exports.txt"),
    ] {
        let path = built(library);
        let out = good(Command::new("nm").args(["-D", "--defined-only"]).arg(&path));
        let out = String::from_utf8(out.stdout).unwrap();
        let found: BTreeSet<_> = out.lines().filter_map(|l| l.split(' ').nth(2)).collect();
        let wanted = fs::read_to_string(here().join(list)).unwrap();
        let wanted: BTreeSet<_> = wanted.lines().collect();
        let missing: Vec<_> = wanted.difference(&found).collect();
        let more: Vec<_> = found.difference(&wanted).collect();
        assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
        let out = good(Command::new("readelf").arg("-d").arg(&path)).stdout;
        let name = format!("soname: [{soname}]");
        assert!(String::from_utf8_lossy(&out).contains(&name), "{soname}");
    }
}

#[test]
fn what_is_not_there_says_so() {
    let path = CString::new(built("liblookaside_qat.so").to_str().unwrap()).unwrap();
    // SAFETY: a library of this crate; its functions without arguments read none.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null());
        for name in UNSUPPORTED {
            let symbol = CString::new(*name).unwrap();
            let function = libc::dlsym(library, symbol.as_ptr());
            assert!(!function.is_null(), "{name}");
            let function: extern "C" fn() -> i32 =
                std::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(function);
            assert_eq!(function(), -6, "{name}");
        }
    }
    let readme = fs::read_to_string(here().join("README.md")).unwrap();
    let silent: Vec<_> = UNSUPPORTED.iter().filter(|name| !readme.contains(**name)).collect();
    assert!(silent.is_empty(), "README.md does not say why: {silent:?}");
    // And the other way round: what is served is not in the table.
    let (_, table) = readme.split_once("## What is not").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let named = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`'));
    let functions = named.filter(|name| name.starts_with("cpa") || name.starts_with("icp_"));
    let served: Vec<_> = functions.filter(|name| !UNSUPPORTED.contains(name)).collect();
    assert!(served.is_empty(), "README.md says that these are not served: {served:?}");
}

#[test]
fn headers_have_the_interfaces_layout_in_c_and_cpp() {
    let layout = here().join("tests/layout.c");
    let include = here().join("include");
    for (name, options) in
        [("cc", &["-std=c11", "-pedantic"][..]), ("c++", &["-x", "c++", "-std=c++11"])]
    {
        let mut cc = Command::new(name);
        cc.args(options).args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(&include);
        good(cc.arg(&layout));
    }
    // Each one alone.
    for header in fs::read_dir(&include).unwrap() {
        let mut cc = Command::new("cc");
        cc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-I"]);
        good(cc.arg(&include).arg(header.unwrap().path()));
    }
}

#[test]
fn a_program_in_c_with_our_headers_and_libraries() {
    let dir = folder("calls");
    let exe = dir.join("calls");
    let mut cc = compiler("cc", &dir);
    cc.arg("-std=c11").arg(here().join("tests/calls.c")).arg("-o").arg(&exe);
    good(cc.args(["-lqat", "-lusdm"]));
    let out = good(Command::new(&exe).env("LOOKASIDE_QAT_STATISTICS", "stderr"));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "all of it\n");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("lookaside: libqat in process"), "{said}");
    assert!(said.contains("compressions "), "{said}");
    // A refusal is said once.
    assert_eq!(said.matches("cpaDcInitSession: compType").count(), 1, "{said}");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_example_compresses_files() {
    let dir = folder("example");
    let exe = dir.join("gzip");
    let mut cc = compiler("cc", &dir);
    let source = here().join("examples/gzip.c");
    assert!(fs::read_to_string(&source).unwrap().lines().count() <= 80);
    cc.arg("-std=c11").arg(&source).arg("-o").arg(&exe);
    good(cc.args(["-lqat", "-lusdm"]));
    let line = |n: usize| format!("line {n} of {}\n", n * n % 977).into_bytes();
    let long: Vec<u8> = (0..40_000).flat_map(line).collect();
    let counters = dir.join("counters");
    for len in [0, 1, 65_535, 65_536, 65_537, long.len()] {
        let mut run = Command::new(&exe);
        run.env("LOOKASIDE_QAT_STATISTICS", &counters);
        let packed = filter(&mut run, &long[..len]);
        let plain = filter(Command::new("gzip").arg("-dc"), &packed);
        assert!(plain == long[..len], "{len} bytes");
    }
    // A line for each process, which says that we served.
    let counters = fs::read_to_string(&counters).unwrap();
    assert_eq!(counters.lines().count(), 6);
    assert!(counters.lines().all(|l| l.contains("\"program\": \"gzip\"")), "{counters}");
    let bytes = format!("\"bytes into compression\": {}", long.len());
    assert!(counters.lines().last().unwrap().contains(&bytes), "{counters}");
    fs::remove_dir_all(dir).unwrap();
}

/// What a command makes of its standard input.
fn filter(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{command:?}");
        out.stdout
    })
}
