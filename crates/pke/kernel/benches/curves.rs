//! The Weierstrass kernels, eight lanes, against OpenSSL and AWS-LC in the same run: CPU time of
//! one thread, rounds that take turns, the fastest round of each. Prints operations per second and
//! ratios. Answers are checked.
//!
//! `cargo bench -p lookaside-pke --bench curves [CURVE]`

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("these kernels need AVX-512 IFMA");
}

#[cfg(target_arch = "x86_64")]
#[path = "curves/x86_64.rs"]
mod x86_64;

#[cfg(target_arch = "x86_64")]
fn main() {
    x86_64::main();
}
