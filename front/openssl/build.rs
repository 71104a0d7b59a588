//! Names the shared library, says how it may be unloaded, and makes its loading quick: each start of a
//! program that is configured to load the provider waits for that.

use std::{env, fs, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,lookaside.so");
        // Wait contexts, thread-local destructors and fork handlers call into this library after
        // OSSL_PROVIDER_unload: `dlclose` must not unmap it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // 9,000 relative relocations are 220 KB that the dynamic linker reads, packed 3 KB.
        if glibc().is_some_and(|version| version >= (2, 36)) {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,pack-relative-relocs");
        }
        if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
            own_unwinder();
        }
    }
}

/// Links GCC's unwinder as a static library: no panic leaves the provider, which needs no unwinder in common
/// with anybody. The shared one's constructor asks CPUID for everything, 0.2 ms on a virtual machine.
///
/// The standard library says `-lgcc_s`; the linker finds this one first.
fn own_unwinder() {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let said = Command::new(compiler).arg("-print-file-name=libgcc_eh.a").output();
    let Ok(said) = said else { return };
    // Without such a file the name alone comes back.
    if !Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute() {
        return;
    }
    let Some(folder) = env::var_os("OUT_DIR") else { return };
    let script = Path::new(&folder).join("libgcc_s.so");
    if fs::write(script, "INPUT(-lgcc_eh -lgcc)\n").is_ok() {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
}

/// The version of the C library that the program is linked with, where it is this machine's. Its dynamic
/// linker knows packed relocations since 2.36.
fn glibc() -> Option<(u32, u32)> {
    if env::var("HOST") != env::var("TARGET") {
        return None;
    }
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
