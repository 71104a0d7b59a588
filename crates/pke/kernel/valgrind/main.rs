//! Proves under valgrind that no branch and no address of the kernels depends on a secret.
//!
//! Memcheck follows every bit that is not defined and complains where one decides a branch or an
//! address. So private keys, nonces and what else is secret are marked as undefined, each operation
//! runs once, and there must be no complaint. Valgrind knows no AVX-512: what runs is the twin over
//! arrays, which is the same source; the vector code is made of the same steps by instructions
//! that neither branch nor address by what lanes hold.
//!
//! That the marks are not lost on the way is checked too: a result must come out undefined. With
//! `--leaky` the same is done to code that leaks, where valgrind has to complain.
//!
//! Run by `scripts/secrets`.

mod keys;
mod memcheck;

use std::hint::black_box;
use std::process::exit;

use keys::Key;
use lookaside_pke_kernel::modexp::{
    CrtKey, Memory, Modulus, Outcome, Power, Private, power_portable, private_portable,
};
use lookaside_pke_kernel::weierstrass::{self, Curve};
use lookaside_pke_kernel::{curve448, curve25519};

/// How many requests each operation gets: two lanes, the others repeat one.
const WIDTH: usize = 2;

fn main() {
    if !memcheck::is_here() {
        eprintln!("secrets: proves nothing without valgrind: see scripts/secrets");
        exit(2);
    }
    if std::env::args().any(|argument| argument == "--leaky") {
        report("a branch on a secret", leaky_branch);
        report("an address by a secret", leaky_address);
    } else {
        exponentiations();
        private_operations();
        curves_25519_and_448();
        weierstrass_curves();
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

/// Bytes that are secret from here on.
fn secret(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    memcheck::make_undefined(&mut bytes);
    bytes
}

/// Looks at a result: it depends on secrets, and from here on it is none.
fn publish(result: &mut [u8]) {
    assert!(memcheck::is_undefined(result), "the result does not depend on a secret");
    memcheck::make_defined(result);
    assert!(result.iter().any(|byte| *byte != 0), "there is no result");
}

/// Some bytes: splitmix64.
fn bytes<const N: usize>(seed: u8) -> [u8; N] {
    let mut state = u64::from(seed) << 32;
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 40) as u8
    })
}

fn hex(text: &str) -> Vec<u8> {
    let byte = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn leaky_branch() {
    let key = secret(&bytes::<1>(1));
    if black_box(key[0]) & 1 == 1 {
        println!("secrets: the key is odd");
    }
}

fn leaky_address() {
    let key = secret(&bytes::<1>(2));
    let table = black_box(bytes::<256>(3));
    let mut found = [table[usize::from(key[0])]];
    memcheck::make_defined(&mut found);
}

/// Modular exponentiation of every class, with a base and an exponent that are secret.
fn exponentiations() {
    for len in [64, 96, 128, 192, 256, 384, 512] {
        report(&format!("a power modulo {} bits", 8 * len), || {
            let mut n = bytes::<512>(4)[..len].to_vec();
            (n[0], n[len - 1]) = (0x80 | n[0], 1 | n[len - 1]);
            let modulus = Modulus::new(&n).expect("an odd modulus");
            n[0] &= 0x7f;
            let bases = [secret(&n), secret(&n[1..])];
            let exponents: [_; WIDTH] = [5, 6].map(|seed| secret(&bytes::<16>(seed)));
            let mut results = [(); WIDTH].map(|()| vec![0; len]);
            let mut lanes: Vec<Power<'_>> = (bases.iter().zip(&exponents).zip(&mut results))
                .map(|((base, exponent), out)| Power {
                    modulus: &modulus,
                    base,
                    exponent,
                    out,
                    ok: false,
                })
                .collect();
            power_portable(&mut Memory::default(), &mut lanes);
            assert!(lanes.iter().all(|lane| lane.ok));
            results.iter_mut().for_each(|result| publish(result));
        });
    }
}

/// RSA's private operation, with the preparation of the key. What larger keys do otherwise, in
/// multiplication, the powers have.
fn private_operations() {
    report("RSA-1024, private", || {
        let key = crt_key(&keys::RSA_1024);
        let len = key.modulus_bits() / 8;
        let mut input = bytes::<128>(7);
        input[0] = 0;
        let input = secret(&input);
        let mut results = [(); WIDTH].map(|()| vec![0; len]);
        let mut lanes: Vec<Private<'_>> = results
            .iter_mut()
            .map(|out| Private { key: &key, input: &input, out, outcome: Outcome::Fault })
            .collect();
        private_portable(&mut Memory::default(), &mut lanes);
        assert!(lanes.iter().all(|lane| lane.outcome == Outcome::Done));
        results.iter_mut().for_each(|result| publish(result));
    });
}

/// The key with all of its private parts secret, but for what is public of a prime: its length,
/// which the first byte tells, and that it is odd.
fn crt_key(key: &Key) -> CrtKey {
    let [n, p, q, dp, dq, qinv] = key.map(hex);
    let [mut p, mut q, dp, dq, qinv] = [p, q, dp, dq, qinv].map(|part| secret(&part));
    for prime in [&mut p, &mut q] {
        memcheck::make_defined(&mut prime[..1]);
        memcheck::make_lowest_bit_defined(prime.last_mut().expect("a prime"));
    }
    CrtKey::new(&n, &[1, 0, 1], &p, &q, &dp, &dq, &qinv).expect("a key that the kernel serves")
}

/// Runs an operation whose requests have arrays of bytes.
macro_rules! arrays {
    ($name:literal, $kernel:path, $item:path { $($secret:ident: $len:literal),* }
        public { $($public:ident: $value:expr),* } result { $result:ident: $result_len:literal }
        $(verdict $ok:ident)?
    ) => {
        report($name, || {
            $(
                let mut $secret: [[u8; $len]; WIDTH] = [bytes(8), bytes(9)];
                $secret.iter_mut().for_each(|secret| memcheck::make_undefined(secret));
            )*
            let mut results = [[0; $result_len]; WIDTH];
            let mut i = 0..;
            let mut items = results.each_mut().map(|$result| {
                let i = i.next().expect("endless");
                $item { $($secret: &$secret[i],)* $($public: $value,)* $result, $($ok: false)? }
            });
            $kernel(&mut items);
            $(assert!(items.iter().all(|item| item.$ok));)?
            results.iter_mut().for_each(|result| publish(result));
        });
    };
}

fn curves_25519_and_448() {
    use curve448::{x448_portable, x448_public_portable};
    use curve25519::{
        ed25519_public_portable, ed25519_sign_portable, x25519_portable, x25519_public_portable,
    };

    let (peer_25519, peer_448) = (bytes(10), bytes(11));
    arrays!("X25519", x25519_portable, curve25519::Derive { private: 32 }
        public { peer: &peer_25519 } result { out: 32 } verdict ok);
    arrays!("X25519, public key", x25519_public_portable, curve25519::Public { private: 32 }
        public {} result { out: 32 });
    arrays!("Ed25519, public key", ed25519_public_portable, curve25519::Public { private: 32 }
        public {} result { out: 32 });
    // Any public key will do, as long as nobody sees the signature. The message takes two blocks.
    let message = secret(&bytes::<150>(12));
    arrays!("Ed25519, signature", ed25519_sign_portable, curve25519::Sign { seed: 32 }
        public { public: &peer_25519, message: &message } result { signature: 64 });
    arrays!("X448", x448_portable, curve448::Derive { private: 56 }
        public { peer: &peer_448 } result { out: 56 } verdict ok);
    arrays!("X448, public key", x448_public_portable, curve448::Public { private: 56 }
        public {} result { out: 56 });
}

fn weierstrass_curves() {
    for curve in Curve::ALL {
        weierstrass_curve(curve);
    }
}

fn weierstrass_curve(curve: Curve) {
    let len = curve.len();
    // Below the order: the first byte is 0.
    let scalar = |seed| {
        let mut scalar = bytes::<66>(seed)[..len].to_vec();
        scalar[0] = 0;
        secret(&scalar)
    };
    let (private, nonce) = ([13, 14].map(scalar), [15, 16].map(scalar));
    let digest = secret(&bytes::<66>(17)[..len]);
    let mut results = [(); WIDTH].map(|()| vec![0; 2 * len]);

    report(&format!("{curve:?}, public key"), || {
        let mut lanes: Vec<weierstrass::Public<'_>> = (private.iter().zip(&mut results))
            .map(|(private, out)| weierstrass::Public { private, out, ok: false })
            .collect();
        weierstrass::public_portable(curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        results.iter_mut().for_each(|result| publish(result));
    });

    report(&format!("{curve:?}, agreement"), || {
        // The public keys of just now, crosswise.
        let peers = results.clone();
        let mut lanes: Vec<weierstrass::Derive<'_>> =
            (private.iter().zip(peers.iter().rev()).zip(&mut results))
                .map(|((private, peer), out)| weierstrass::Derive { private, peer, out, ok: false })
                .collect();
        weierstrass::derive_portable(curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        results.iter_mut().for_each(|result| publish(result));
        assert!(results[0] == results[1]);
    });

    report(&format!("{curve:?}, signature"), || {
        let mut lanes: Vec<weierstrass::Sign<'_>> = (private.iter().zip(&nonce).zip(&mut results))
            .map(|((private, nonce), signature)| weierstrass::Sign {
                private,
                nonce,
                digest: &digest,
                signature,
                ok: false,
            })
            .collect();
        weierstrass::sign_portable(curve, &mut lanes);
        assert!(lanes.iter().all(|lane| lane.ok));
        results.iter_mut().for_each(|result| publish(result));
    });

    report(&format!("{curve:?}, keys out of range"), || {
        let (zero, most) = (secret(&vec![0; len]), secret(&vec![0xff; len]));
        let mut lanes: Vec<weierstrass::Public<'_>> = ([&zero, &most].into_iter())
            .zip(&mut results)
            .map(|(private, out)| weierstrass::Public { private, out, ok: true })
            .collect();
        weierstrass::public_portable(curve, &mut lanes);
        assert!(lanes.iter().all(|lane| !lane.ok));
    });
}
