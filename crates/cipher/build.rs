//! Looks for intel-ipsec-mb 1.3 or 2.0 (`libipsec-mb-dev` of Debian 12 and 13) and links its static
//! library. 2.0 is `cfg(ipsec_mb_2)` too.
//!
//! `LOOKASIDE_IPSEC_MB_DIR` names the folder to look in instead of the usual ones: with the header
//! in it or in its `include`, and `libIPSec_MB.a` in it or in its `lib`. Where nothing is found, or
//! another version, everything is built without the library and served by other code.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "LOOKASIDE_IPSEC_MB_DIR";
const HEADER: &str = "intel-ipsec-mb.h";
const ARCHIVE: &str = "libIPSec_MB.a";

/// The layouts in `src/library/ipsec_mb_ffi.rs` are those of these versions.
const VERSIONS: [&str; 2] = ["1.3.", "2.0."];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    println!("cargo:rustc-check-cfg=cfg(ipsec_mb)");
    println!("cargo:rustc-check-cfg=cfg(ipsec_mb_2)");
    let version = look().unwrap_or_default();
    println!("cargo:rustc-env=LOOKASIDE_IPSEC_MB_VERSION={version}");
}

/// Finds the library and links it; its version, where it is used.
fn look() -> Option<String> {
    if target("OS") != "linux" || target("ARCH") != "x86_64" || target("POINTER_WIDTH") != "64" {
        return None;
    }
    let (headers, archives) = folders();
    let header = find(&headers, HEADER)?;
    println!("cargo:rerun-if-changed={}", header.display());
    let version = version(&header);
    if !VERSIONS.iter().any(|known| version.starts_with(known)) {
        let wanted = VERSIONS.map(|known| format!("{known}x")).join(" or ");
        println!("cargo:warning=intel-ipsec-mb {version} is not used: {wanted} is wanted");
        return None;
    }
    let Some(archive) = find(&archives, ARCHIVE) else {
        println!("cargo:warning={} without {ARCHIVE}: not used", header.display());
        return None;
    };
    println!("cargo:rerun-if-changed={}", archive.display());
    println!("cargo:rustc-link-search=native={}", archive.parent().unwrap().display());
    println!("cargo:rustc-link-lib=static=IPSec_MB");
    println!("cargo:rustc-env=LOOKASIDE_IPSEC_MB_HEADER={}", header.display());
    println!("cargo:rustc-cfg=ipsec_mb");
    if !version.starts_with(VERSIONS[0]) {
        println!("cargo:rustc-cfg=ipsec_mb_2");
    }
    Some(version)
}

fn target(what: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default()
}

/// Where to look for the header, and for the archive.
fn folders() -> (Vec<PathBuf>, Vec<PathBuf>) {
    if let Some(folder) = env::var_os(VARIABLE) {
        let folder = PathBuf::from(folder);
        return (
            vec![folder.join("include"), folder.clone()],
            vec![folder.join("lib"), folder.clone()],
        );
    }
    // Another machine's libraries are not in this one's folders.
    if env::var("HOST").ok() != env::var("TARGET").ok() {
        return (Vec::new(), Vec::new());
    }
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
    (
        paths(&["/usr/include", "/usr/local/include"]),
        paths(&[
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib64",
            "/usr/lib",
            "/usr/local/lib64",
            "/usr/local/lib",
        ]),
    )
}

fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The text of the header's `IMB_VERSION_STR`.
fn version(header: &Path) -> String {
    let text = fs::read_to_string(header).unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("#define IMB_VERSION_STR"))
        .map(|rest| rest.trim().trim_matches('"').to_owned())
        .unwrap_or_else(|| "of an unknown version".to_owned())
}
