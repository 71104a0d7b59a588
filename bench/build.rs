//! Compiles the rivals of the symmetric bench, which are driven as C programs drive them.

fn main() {
    println!("cargo:rerun-if-changed=benches/sym/rivals.c");
    let x86 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    // As crates/cipher looks for it.
    println!("cargo:rerun-if-env-changed=LOOKASIDE_IPSEC_MB_DIR");
    let folder = std::env::var_os("LOOKASIDE_IPSEC_MB_DIR").map(std::path::PathBuf::from);
    let find = |name: &str, under: &str| {
        let folder = folder.as_ref()?;
        [folder.join(under), folder.clone()].into_iter().find(|at| at.join(name).exists())
    };
    let (headers, archives) = (find("intel-ipsec-mb.h", "include"), find("libIPSec_MB.a", "lib"));
    let ipsec_mb = x86
        && match folder {
            Some(_) => headers.is_some() && archives.is_some(),
            None => std::path::Path::new("/usr/include/intel-ipsec-mb.h").exists(),
        };
    let mut build = cc::Build::new();
    build.file("benches/sym/rivals.c").opt_level(2).cargo_metadata(false);
    if ipsec_mb {
        build.define("HAVE_IPSEC_MB", None).includes(headers);
    }
    build.compile("rivals");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    // Only the bench: the programs of this crate need none of it.
    for argument in [format!("-L{out}"), "-lrivals".into()] {
        println!("cargo:rustc-link-arg-benches={argument}");
    }
    if ipsec_mb {
        if let Some(archives) = archives {
            println!("cargo:rustc-link-arg-benches=-L{}", archives.display());
        }
        println!("cargo:rustc-link-arg-benches=-lIPSec_MB");
    }
    println!("cargo:rustc-link-arg-benches=-lcrypto");
}
