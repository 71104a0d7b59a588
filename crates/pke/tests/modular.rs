//! Modular arithmetic against OpenSSL.

mod openssl;

use lookaside_pke::modular::{Modulus, arithmetic, power};
use lookaside_pke::{Arithmetic, Engine, Item, OpError, random};
use lookaside_simd::Cpu;
use openssl_sys as ssl;

fn random(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random::fill(&mut bytes).unwrap();
    bytes
}

/// A modulus of `bits` bits, even or odd.
fn modulus(bits: usize, odd: bool) -> Vec<u8> {
    let mut n = random(bits.div_ceil(8));
    let top = (bits - 1) % 8;
    n[0] &= 0xff >> (7 - top);
    n[0] |= 1 << top;
    *n.last_mut().unwrap() &= 0xfe;
    *n.last_mut().unwrap() |= odd as u8;
    n
}

/// A residue modulo n.
fn residue(n: &[u8]) -> Vec<u8> {
    loop {
        let mut a = random(n.len());
        a[0] &= n[0].checked_next_power_of_two().map_or(255, |top| 2 * (top - 1) + 1);
        if a[..] < *n {
            return a;
        }
    }
}

fn run_power(modulus: &Modulus, base: &[u8], exponent: &[u8]) -> Result<Vec<u8>, OpError> {
    let src = [base, exponent].concat();
    let mut dst = vec![0xaa; modulus.len()];
    let mut items = [Item::new(&src, &mut dst).with((modulus, exponent.len()))];
    power(&mut Engine::new(Cpu::host()), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn run(modulus: &Modulus, operation: Arithmetic, src: &[u8]) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; modulus.len() + 3];
    let mut items = [Item::new(src, &mut dst).with((modulus, operation))];
    arithmetic(&mut Engine::new(Cpu::host()), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

#[test]
fn agrees_with_openssl() {
    for bits in [1, 2, 3, 8, 9, 63, 64, 65, 127, 128, 160, 521, 1000, 1024, 1025, 2048, 4096] {
        for odd in [true, false] {
            if bits == 1 && !odd {
                continue;
            }
            let n = modulus(bits, odd);
            let m = Modulus::new(&[&[0, 0], &n[..]].concat()).unwrap();
            assert_eq!((m.bits(), m.len()), (bits, n.len()));
            let (a, b) = (residue(&n), residue(&n));
            let ab = [&a[..], &b[..]].concat();
            let wanted = |operation| openssl::modular(operation, &a, &b, &n);
            assert!(run(&m, Arithmetic::Add, &ab).unwrap() == wanted(ssl::BN_mod_add), "{bits}");
            assert!(run(&m, Arithmetic::Subtract, &ab).unwrap() == wanted(ssl::BN_mod_sub));
            let product = wanted(ssl::BN_mod_mul);
            assert!(run(&m, Arithmetic::Multiply, &ab).unwrap() == product, "{bits} {odd}");
            let square = openssl::modular(ssl::BN_mod_mul, &a, &a, &n);
            assert!(run(&m, Arithmetic::Square, &a).unwrap() == square);
            for len in 0..=2 * n.len() {
                if len % 37 == 0 || len + 2 > 2 * n.len() {
                    let long = random(len);
                    let wanted = openssl::modular(ssl::BN_mod_mul, &long, &[1], &n);
                    assert!(run(&m, Arithmetic::Reduce, &long).unwrap() == wanted, "{bits} {len}");
                }
            }
            // OpenSSL says that the inverse modulo 1 is 0; here there is none.
            if bits > 1 {
                let found = run(&m, Arithmetic::Invert, &a).ok();
                assert!(found == openssl::inverse(&a, &n), "{bits} {odd}");
            }
            for exponent_len in [0, 1, 5, n.len().min(128)] {
                let e = random(exponent_len);
                let wanted = openssl::modular(ssl::BN_mod_exp, &a, &e, &n);
                assert!(run_power(&m, &a, &e).unwrap() == wanted, "{bits} {odd} {exponent_len}");
                let long = random(2 * n.len());
                let wanted = openssl::modular(ssl::BN_mod_exp, &long, &e, &n);
                assert!(run_power(&m, &long, &e).unwrap() == wanted, "{bits} {odd}");
                let short = random(n.len() / 2);
                let wanted = openssl::modular(ssl::BN_mod_exp, &short, &e, &n);
                assert!(run_power(&m, &short, &e).unwrap() == wanted, "{bits} {odd}");
            }
        }
    }
}

#[test]
fn inverses_where_few_numbers_have_one() {
    // 3 5 7 11 13 17 19 23: 17 % of the residues have an inverse; and a power of 2 times that.
    for n in [111_546_435u64, 111_546_435 << 5] {
        let n = &n.to_be_bytes()[..];
        let m = Modulus::new(n).unwrap();
        let n = &n[8 - m.len()..];
        for a in 1..300u64 {
            let a = &a.to_be_bytes()[8 - n.len()..];
            let found = run(&m, Arithmetic::Invert, a);
            assert_eq!(found.clone().ok(), openssl::inverse(a, n), "{a:?} {found:?}");
        }
    }
}

#[test]
fn refuses_what_is_out_of_range() {
    assert!(Modulus::new(&[]).is_err() && Modulus::new(&[0, 0]).is_err());
    assert!(Modulus::new(&[0xff; 1025]).is_err());
    let m = Modulus::new(&[0xfb]).unwrap();
    for (operation, src) in [
        (Arithmetic::Add, &[1, 0xfb][..]),
        (Arithmetic::Add, &[0xfc, 1]),
        (Arithmetic::Multiply, &[1]),
        (Arithmetic::Square, &[1, 2]),
        (Arithmetic::Reduce, &[1, 2, 3]),
        (Arithmetic::Invert, &[0]),
        (Arithmetic::Invert, &[]),
    ] {
        assert!(matches!(run(&m, operation, src), Err(OpError::BadInput(_))), "{operation:?}");
    }
    assert!(matches!(run_power(&m, &[1, 2, 3], &[1]), Err(OpError::BadInput(_))));
    let mut dst = [];
    let engine = &mut Engine::new(Cpu::host());
    let mut items = [Item::new(&[1], &mut dst).with((&m, 2))];
    power(engine, &mut items);
    assert!(matches!(items[0].result, Err(OpError::BadInput(_))));
    items[0].key.1 = 1;
    power(engine, &mut items);
    assert_eq!(items[0].result, Err(OpError::DstTooSmall));
}
