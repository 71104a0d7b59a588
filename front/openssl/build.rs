//! Names the shared library and says how it may be unloaded.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,lookaside.so");
        // Wait contexts, thread-local destructors and fork handlers call into this library after
        // OSSL_PROVIDER_unload: `dlclose` must not unmap it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
