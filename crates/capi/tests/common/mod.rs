//! Compiles C programs against the shared library that cargo has just built.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// This crate's folder.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shared library: beside this test, or one folder up.
pub fn library() -> PathBuf {
    let exe = env::current_exe().expect("a test has a path");
    let name = "liblookaside_capi.so";
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{name} is not near {}", exe.display()))
}

/// A fresh folder in which the library has its installed names.
pub fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a scratch folder");
    for installed in ["liblookaside.so", "liblookaside.so.0"] {
        let _ = fs::remove_file(dir.join(installed));
        symlink(library(), dir.join(installed)).expect("a link to the library");
    }
    dir
}

/// Runs a command to its end, which must be good.
pub fn good(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        out.status.success(),
        "{command:?}: {}\n{}{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    out
}

/// A compiler with our header and library.
pub fn compiler(name: &str, dir: &Path) -> Command {
    let mut c = Command::new(name);
    c.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-I"]).arg(here().join("include"));
    c.arg("-L").arg(dir).arg(format!("-Wl,-rpath,{}", dir.display()));
    c
}
