//! Proves under valgrind that no branch and no address of inverting a nonce depends on it.
//!
//! How is said in `crates/pke/kernel/valgrind/main.rs`, which does the same for public-key kernels. Here
//! it is AWS-LC's arithmetic that is watched, as DSA, ECDSA on the rarer curves and SM2 call it. With
//! `--leaky` the same is done to the Euclidean algorithm, where memcheck has to complain.
//!
//! Run by `scripts/secrets`.

// What marks and asks is that of the other program.
#[allow(dead_code)]
#[path = "../kernel/valgrind/memcheck.rs"]
mod memcheck;

use std::process::exit;

use lookaside_pke::secrets::{inverse, inverse_leaky};

fn main() {
    if !memcheck::is_here() {
        eprintln!("secrets: proves nothing without valgrind: see scripts/secrets");
        exit(2);
    }
    if std::env::args().any(|argument| argument == "--leaky") {
        report("an inverse by the Euclidean algorithm", || invert(32, inverse_leaky));
    } else {
        for bytes in [32, 48, 64] {
            report(&format!("inverse of a nonce, {} bits", 8 * bytes), || invert(bytes, inverse));
        }
    }
    exit(i32::from(memcheck::errors() > 0));
}

/// Runs one operation, and says whether valgrind complained. With a text as argument, only those
/// with it in their names.
fn report(name: &str, operation: impl FnOnce()) {
    if std::env::args().skip(1).any(|text| !text.starts_with("--") && !name.contains(&text)) {
        return;
    }
    let before = memcheck::errors();
    operation();
    match memcheck::errors() - before {
        0 => println!("secrets: {name}: no branch, no address"),
        errors => println!("secrets: {name}: LEAKS in {errors} places"),
    }
}

/// Inverts a secret modulo an odd number; whether that is a prime makes no difference to the way.
fn invert(bytes: usize, invert: fn(&[u8], &[u8], &mut [u8])) {
    let modulus: Vec<u8> = (0..bytes).map(|i| 0xff - (i as u8 & !1)).collect();
    let mut nonce: Vec<u8> = (0..bytes).map(|i| 0x5a ^ i as u8).collect();
    memcheck::make_undefined(&mut nonce);
    let mut out = vec![0; bytes];
    invert(&modulus, &nonce, &mut out);
    assert!(memcheck::is_undefined(&mut out), "the inverse depends on no secret");
}
