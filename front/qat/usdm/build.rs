//! Names the shared library as the dynamic linker looks for it, whatever cargo calls the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libusdm.so.0");
        // Programs keep memory of it for as long as they run.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
