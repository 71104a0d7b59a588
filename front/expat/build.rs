//! Names the shared library as the dynamic linker looks for it, whatever cargo calls the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libexpat.so.1");
        // The process's last report runs code of this library: `dlclose` must not unmap it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Calls between our own functions stay here, although another library may export the same names.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
}
