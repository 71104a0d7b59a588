//! Names the shared library: programs linked against it ask for `liblookaside.so.0`, whatever
//! cargo calls the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblookaside.so.0");
        // Engine threads and fork handlers run code of this library: `dlclose` must not unmap it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
