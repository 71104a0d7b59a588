//! Compiles the rivals of the symmetric bench, which are driven as C programs drive them.

fn main() {
    println!("cargo:rerun-if-changed=benches/sym/rivals.c");
    let x86 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let ipsec_mb = x86 && std::path::Path::new("/usr/include/intel-ipsec-mb.h").exists();
    let mut build = cc::Build::new();
    build.file("benches/sym/rivals.c").opt_level(2).cargo_metadata(false);
    if ipsec_mb {
        build.define("HAVE_IPSEC_MB", None);
    }
    build.compile("rivals");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    // Only the bench: the programs of this crate need none of it.
    for argument in [format!("-L{out}"), "-lrivals".into()] {
        println!("cargo:rustc-link-arg-benches={argument}");
    }
    if ipsec_mb {
        println!("cargo:rustc-link-arg-benches=-lIPSec_MB");
    }
    println!("cargo:rustc-link-arg-benches=-lcrypto");
}
