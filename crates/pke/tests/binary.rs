//! GF(2^m) against OpenSSL's.

use std::ffi::c_int;

mod openssl;

use lookaside_pke::binary::{Field, arithmetic};
use lookaside_pke::{Arithmetic, Item, OpError, random};
use openssl::{Number, modular};
use openssl_sys as ssl;

unsafe extern "C" {
    fn BN_GF2m_mod_mul(
        r: *mut ssl::BIGNUM,
        a: *const ssl::BIGNUM,
        b: *const ssl::BIGNUM,
        p: *const ssl::BIGNUM,
        scratch: *mut ssl::BN_CTX,
    ) -> c_int;
    fn BN_GF2m_mod_inv(
        r: *mut ssl::BIGNUM,
        a: *const ssl::BIGNUM,
        p: *const ssl::BIGNUM,
        scratch: *mut ssl::BN_CTX,
    ) -> c_int;
    fn BN_GF2m_mod(r: *mut ssl::BIGNUM, a: *const ssl::BIGNUM, p: *const ssl::BIGNUM) -> c_int;
}

fn polynomial(terms: &[usize]) -> Vec<u8> {
    let len = terms[0] / 8 + 1;
    let mut bytes = vec![0; len];
    terms.iter().for_each(|term| bytes[len - 1 - term / 8] |= 1 << (term % 8));
    bytes
}

fn run(field: &Field, operation: Arithmetic, src: &[u8]) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; field.len() + 1];
    let mut items = [Item::new(src, &mut dst).with((field, operation))];
    arithmetic(&mut items);
    let len = items[0].result?;
    assert_eq!(len, field.len());
    dst.truncate(len);
    Ok(dst)
}

fn element(field: &Field) -> Vec<u8> {
    let mut bytes = vec![0; field.len()];
    random::fill(&mut bytes).unwrap();
    bytes[0] &= 0xff >> (8 * field.len() - field.degree());
    bytes
}

/// Irreducible polynomials: of AES, of the curves of SEC 2, one with its second term close to the
/// first, one of more than two words' worth of terms, one of a whole number of words.
const FIELDS: &[&[usize]] = &[
    &[2, 1, 0],
    &[8, 4, 3, 1, 0],
    &[113, 9, 0],
    &[128, 7, 2, 1, 0],
    &[131, 8, 3, 2, 0],
    &[163, 7, 6, 3, 0],
    &[193, 15, 0],
    &[233, 74, 0],
    &[239, 158, 0],
    &[283, 12, 7, 5, 0],
    &[409, 87, 0],
    &[571, 10, 5, 2, 0],
    &[7, 6, 0],
];

#[test]
fn agrees_with_openssl() {
    for terms in FIELDS {
        let bytes = polynomial(terms);
        let field = Field::new(&[&[0], &bytes[..]].concat()).unwrap();
        assert_eq!(field.degree(), terms[0]);
        let modulus = Number::new(&bytes);
        for round in 0..20 {
            let (mut a, b) = (element(&field), element(&field));
            if round == 0 {
                a = vec![0xff; field.len()];
                a[0] >>= 8 * field.len() - field.degree();
            }
            let ab = [&a[..], &b[..]].concat();
            let sum: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
            assert_eq!(run(&field, Arithmetic::Add, &ab).unwrap(), sum);
            let wanted = |a: &[u8], b: &[u8]| {
                // `modular` pads to the length of the polynomial.
                let product = modular(BN_GF2m_mod_mul, a, b, &bytes);
                product[product.len() - field.len()..].to_vec()
            };
            assert_eq!(
                run(&field, Arithmetic::Multiply, &ab).unwrap(),
                wanted(&a, &b),
                "{field:?}"
            );
            assert_eq!(run(&field, Arithmetic::Square, &a).unwrap(), wanted(&a, &a), "{field:?}");
            if a.iter().any(|&byte| byte != 0) {
                let out = Number::new(&[]);
                // SAFETY: valid numbers.
                unsafe {
                    let scratch = ssl::BN_CTX_new();
                    let a = Number::new(&a);
                    assert_eq!(BN_GF2m_mod_inv(out.0, a.0, modulus.0, scratch), 1);
                    ssl::BN_CTX_free(scratch);
                }
                let wanted = out.bytes(field.len());
                assert_eq!(run(&field, Arithmetic::Invert, &a).unwrap(), wanted, "{field:?}");
            }
            let mut long = vec![0xff; (2 * field.len()).saturating_sub(round)];
            if round > 0 {
                random::fill(&mut long).unwrap();
            }
            let out = Number::new(&[]);
            // SAFETY: valid numbers.
            unsafe { BN_GF2m_mod(out.0, Number::new(&long).0, modulus.0) };
            let wanted = out.bytes(field.len());
            assert_eq!(run(&field, Arithmetic::Reduce, &long).unwrap(), wanted, "{field:?}");
        }
        let zero = vec![0; field.len()];
        assert!(matches!(run(&field, Arithmetic::Invert, &zero), Err(OpError::BadInput(_))));
    }
}

/// The product, bit by bit.
fn naive(a: &[u8], b: &[u8], polynomial: &[u8]) -> Vec<u8> {
    let bits = |bytes: &[u8]| -> Vec<bool> {
        bytes.iter().rev().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect()
    };
    let (len, a, b, mut polynomial) = (a.len(), bits(a), bits(b), bits(polynomial));
    while polynomial.last() == Some(&false) {
        polynomial.pop();
    }
    let mut product = vec![false; a.len() + b.len()];
    for (i, a) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, b)| product[i + j] ^= a & b);
    }
    let degree = polynomial.len() - 1;
    for i in (degree..product.len()).rev() {
        if product[i] {
            polynomial.iter().enumerate().for_each(|(j, bit)| product[i - degree + j] ^= bit);
        }
    }
    let byte = |i: usize| (0..8).fold(0, |byte, bit| byte | u8::from(product[8 * i + bit]) << bit);
    (0..len).rev().map(byte).collect()
}

/// OpenSSL knows no degree above 661. Products are right whether or not a polynomial is
/// irreducible.
#[test]
fn agrees_with_long_multiplication() {
    let full = |degree: usize| (0..=degree).rev().collect::<Vec<usize>>();
    let fields =
        [vec![1024, 19, 6, 1, 0], vec![1023, 1022, 0], full(64), full(100), full(1023), full(1024)];
    for terms in fields {
        let bytes = polynomial(&terms);
        let field = Field::new(&bytes).unwrap();
        let (a, b) = (element(&field), element(&field));
        let wanted = naive(&a, &b, &bytes);
        assert_eq!(run(&field, Arithmetic::Multiply, &[&a[..], &b].concat()).unwrap(), wanted);
        assert_eq!(run(&field, Arithmetic::Square, &a).unwrap(), naive(&a, &a, &bytes));
        if terms.len() == 5 {
            let inverse = run(&field, Arithmetic::Invert, &a).unwrap();
            let one = naive(&a, &inverse, &bytes);
            assert!(one[..127].iter().all(|&byte| byte == 0) && one[127] == 1);
        }
    }
}

#[test]
fn refuses_what_is_out_of_range() {
    for bad in [&[][..], &[0], &[1], &[2], &[3], &[4], &[6], &[1; 130], &[2, 0, 1, 0]] {
        assert!(matches!(Field::new(bad), Err(OpError::BadInput(_))), "{bad:?}");
    }
    let field = Field::new(&polynomial(&[113, 9, 0])).unwrap();
    let mut high = vec![0; 15];
    high[0] = 2;
    assert!(matches!(run(&field, Arithmetic::Square, &high), Err(OpError::BadInput(_))));
    assert!(matches!(run(&field, Arithmetic::Square, &high[1..]), Err(OpError::BadInput(_))));
    assert!(matches!(run(&field, Arithmetic::Reduce, &[0; 31]), Err(OpError::BadInput(_))));
    assert!(matches!(run(&field, Arithmetic::Add, &[0; 29]), Err(OpError::BadInput(_))));
    let mut dst = [0; 14];
    let mut items = [Item::new(&[0; 15], &mut dst).with((&field, Arithmetic::Square))];
    arithmetic(&mut items);
    assert_eq!(items[0].result, Err(OpError::DstTooSmall));
}
