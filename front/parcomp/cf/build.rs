//! Names the shared library: programs linked against it look for this major version.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcf.so.0");
    println!("cargo::rerun-if-changed=build.rs");
}
