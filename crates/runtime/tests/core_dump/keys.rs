//! The keys of the test: both processes can make them, and making one leaves no copy of it behind.

/// A key's place in the test's list, and its length in bytes.
#[derive(Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    pub len: usize,
}

const fn key(name: &'static str, len: usize) -> Key {
    Key { name, len }
}

/// Those of symmetric sessions.
pub const SYM: &[Key] = &[
    key("AES-CBC", 32),
    key("AES-128-CBC", 16),
    key("AES-192-CBC", 24),
    key("AES-CTR", 24),
    key("AES-256-CTR", 32),
    key("AES-ECB", 16),
    key("AES-256-ECB", 32),
    key("AES-XTS", 64),
    key("AES-128-XTS", 32),
    key("triple DES", 24),
    key("triple DES, ECB", 24),
    key("triple DES, CTR", 24),
    key("DES", 8),
    key("DES, ECB", 8),
    key("SM4", 16),
    key("SM4, ECB", 16),
    key("SM4, CTR", 16),
    key("ChaCha20", 32),
    key("ARC4", 32),
    key("KASUMI F8", 16),
    key("SNOW 3G UEA2", 16),
    key("ZUC EEA3", 16),
    key("HMAC-SHA-256", 32),
    key("HMAC-SHA-512", 64),
    key("HMAC-SHA-1 of a long key", 200),
    key("HMAC-SM3", 32),
    key("HMAC-MD5", 32),
    key("HMAC-SHA3-256", 32),
    key("CMAC", 16),
    key("CMAC, 256 bits", 32),
    key("XCBC", 16),
    key("CBC-MAC", 32),
    key("CBC-MAC, 128 bits", 16),
    key("GMAC", 16),
    key("GMAC, 256 bits", 32),
    key("KASUMI F9", 16),
    key("SNOW 3G UIA2", 16),
    key("ZUC EIA3", 16),
    key("Poly1305", 32),
    key("AES-128-GCM", 16),
    key("AES-192-GCM", 24),
    key("AES-256-GCM", 32),
    key("AES-CCM", 16),
    key("AES-256-CCM", 32),
    key("ChaCha20-Poly1305", 32),
    key("chain: AES-CBC", 16),
    key("chain: HMAC", 32),
    key("chain: AES-CTR", 32),
    key("chain: HMAC-SHA-1", 32),
    key("chain: triple DES", 24),
    key("chain: HMAC-SHA-512", 32),
    key("chain: SM4", 16),
    key("chain: CMAC", 16),
    key("TLS record: AES-CBC", 32),
    key("TLS record: HMAC", 32),
];

/// Those that requests of public-key sessions carry.
pub const PKE: &[Key] = &[
    key("X25519", 32),
    key("X448", 56),
    key("Ed25519", 32),
    key("Ed448", 57),
    key("P-256", 32),
    key("P-384", 48),
    key("SM2", 32),
    key("DH", 32),
    key("TLS PRF", 48),
];

/// The parts of the RSA key.
pub const RSA: [&str; 6] = ["d", "p", "q", "dp", "dq", "qinv"];

/// Bytes that are overwritten when dropped.
pub struct Wiped(pub Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        for byte in &mut self.0 {
            // SAFETY: a byte of ours.
            unsafe { core::ptr::write_volatile(byte, 0) };
        }
    }
}

/// One byte of a key. A whole key stands nowhere but where the caller puts it: no variable of this
/// function has more of it than this.
fn byte(name: &str, at: usize) -> u8 {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mut mixed = seed ^ (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 40) as u8
}

/// The key of this name. The first byte of a scalar is small enough for every order.
pub fn bytes(name: &str) -> Wiped {
    let key = SYM.iter().chain(PKE).find(|key| key.name == name).expect("a key of the list");
    let mut made = Wiped(Vec::with_capacity(key.len));
    for at in 0..key.len {
        made.0.push(byte(name, at) & if at == 0 { 0x7f } else { 0xff });
    }
    made
}

/// A number of `numbers.txt`: an RSA key made for this test, and the prime of RFC 7919, A.1. Without leading zeros.
pub fn number(name: &str) -> Wiped {
    let lines = include_str!("numbers.txt").lines();
    let hex = lines.filter_map(|line| line.split_once(' ')).find(|(of, _)| *of == name);
    let hex = hex.expect("a number of the list").1.as_bytes();
    let mut made = Wiped(Vec::with_capacity(hex.len() / 2));
    for pair in hex.chunks_exact(2) {
        let digit = |at: usize| (pair[at] as char).to_digit(16).expect("a digit") as u8;
        made.0.push(16 * digit(0) + digit(1));
    }
    made
}

/// The AES keys, whose round keys are looked for too. XTS has two.
pub const AES: &[&str] = &[
    "AES-CBC",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-CTR",
    "AES-256-CTR",
    "AES-ECB",
    "AES-256-ECB",
    "AES-XTS",
    "AES-128-XTS",
    "CMAC",
    "CMAC, 256 bits",
    "CBC-MAC",
    "CBC-MAC, 128 bits",
    "GMAC",
    "GMAC, 256 bits",
    "AES-128-GCM",
    "AES-192-GCM",
    "AES-256-GCM",
    "AES-CCM",
    "AES-256-CCM",
    "chain: AES-CBC",
    "chain: AES-CTR",
    "chain: CMAC",
    "TLS record: AES-CBC",
];

/// The round keys of AES (FIPS 197 section 5.2), as one piece.
pub fn aes_schedule(key: &[u8]) -> Vec<u8> {
    let words = key.len() / 4;
    let mut schedule = key.to_vec();
    let mut constant = 1u8;
    for i in words..4 * (words + 7) {
        let mut word: [u8; 4] = schedule[4 * i - 4..].try_into().expect("a word");
        if i % words == 0 {
            word.rotate_left(1);
            word = word.map(aes_substitute);
            word[0] ^= constant;
            constant = (constant << 1) ^ if constant & 0x80 != 0 { 0x1b } else { 0 };
        } else if words == 8 && i % 8 == 4 {
            word = word.map(aes_substitute);
        }
        for (j, byte) in word.into_iter().enumerate() {
            schedule.push(schedule[4 * (i - words) + j] ^ byte);
        }
    }
    schedule
}

/// The round keys of the equivalent inverse cipher (section 5.3.5) that the others do not have: the inner ones,
/// through InvMixColumns.
pub fn aes_inverse_schedule(key: &[u8]) -> Vec<u8> {
    let schedule = aes_schedule(key);
    let inner = &schedule[16..schedule.len() - 16];
    let mix = |column: &[u8]| -> [u8; 4] {
        std::array::from_fn(|row| {
            let of = |i: usize, by| times(column[(row + i) % 4], by);
            of(0, 14) ^ of(1, 11) ^ of(2, 13) ^ of(3, 9)
        })
    };
    inner.chunks_exact(4).flat_map(mix).collect()
}

/// The product in GF(2^8), FIPS 197 section 4.2.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        product ^= if b & 1 != 0 { a } else { 0 };
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1b } else { 0 };
        b >>= 1;
    }
    product
}

/// The S-box, FIPS 197 section 5.1.1: the inverse in GF(2^8), then an affine map.
fn aes_substitute(byte: u8) -> u8 {
    // x^254.
    let inverse = (0..253).fold(byte, |power, _| times(power, byte));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// The states of HMAC-SHA-256 after its first blocks, inner and outer: RFC 2104, FIPS 180-4.
pub fn hmac_sha256_states(key: &[u8]) -> [[u32; 8]; 2] {
    [0x36, 0x5c].map(|pad| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        sha256_block(&block)
    })
}

fn sha256_block(block: &[u8; 64]) -> [u32; 8] {
    // The first 32 bits of the fractional parts of square and cube roots of the first primes.
    let primes: Vec<u32> = (2u32..).filter(|n| (2..*n).all(|d| n % d != 0)).take(64).collect();
    let fraction = |root: f64| ((root - root.floor()) * 4_294_967_296.0) as u32;
    let start: Vec<u32> = primes[..8].iter().map(|p| fraction(f64::from(*p).sqrt())).collect();
    let constants: Vec<u32> = primes.iter().map(|p| fraction(f64::from(*p).cbrt())).collect();
    let mut w: Vec<u32> =
        block.chunks(4).map(|b| u32::from_be_bytes(b.try_into().expect("a word"))).collect();
    for i in 16..64 {
        let (a, b) = (w[i - 15], w[i - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
    }
    let mut state: [u32; 8] = start[..].try_into().expect("eight words");
    for i in 0..64 {
        let [a, b, c, d, e, f, g, h] = state;
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let one = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(constants[i]);
        let one = one.wrapping_add(w[i]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        state =
            [one.wrapping_add(s0.wrapping_add(majority)), a, b, c, d.wrapping_add(one), e, f, g];
    }
    for (word, start) in state.iter_mut().zip(start) {
        *word = word.wrapping_add(start);
    }
    state
}

#[test]
fn expansions_are_right() {
    // FIPS 197, A.1.
    let key: Vec<u8> = (0..16)
        .map(|i| {
            [
                0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf,
                0x4f, 0x3c,
            ][i]
        })
        .collect();
    assert_eq!(aes_schedule(&key)[172..], [0xb6, 0x63, 0x0c, 0xa6]);
    // Appendix C.1, the equivalent inverse cipher: round 1's key of the decryption.
    let key: Vec<u8> = (0..16).collect();
    let inverse = aes_inverse_schedule(&key);
    assert_eq!(inverse[inverse.len() - 16..][..4], [0x13, 0xaa, 0x29, 0xbe]);
    // FIPS 180-2, B.1: "abc".
    let mut block = [0; 64];
    block[..4].copy_from_slice(b"abc\x80");
    block[63] = 24;
    assert_eq!(sha256_block(&block)[..2], [0xba78_16bf, 0x8f01_cfea]);
}
