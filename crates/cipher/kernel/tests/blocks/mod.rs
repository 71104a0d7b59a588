//! What the tests of block ciphers share: batches of packets, and OpenSSL to compare with.
#![allow(dead_code)]

use std::ptr;
use std::sync::Once;

use lookaside_cipher_kernel::Text;

#[path = "../numbers/mod.rs"]
mod numbers;
pub use numbers::Numbers;

/// The ciphers of OpenSSL that need the legacy provider have it from here on.
pub fn load_legacy() {
    static LOAD: Once = Once::new();
    LOAD.call_once(|| {
        for name in [c"default", c"legacy"] {
            // SAFETY: a name; the default library context.
            let provider =
                unsafe { openssl_sys::OSSL_PROVIDER_load(ptr::null_mut(), name.as_ptr()) };
            assert!(!provider.is_null(), "OpenSSL's provider {name:?} does not load");
        }
    });
}

/// `text` through a cipher of OpenSSL, without padding.
pub fn openssl(
    cipher: *const openssl_sys::EVP_CIPHER,
    encrypt: bool,
    key: &[u8],
    iv: &[u8],
    text: &[u8],
) -> Vec<u8> {
    let mut out = vec![0; text.len() + 32];
    let mut n = 0;
    // SAFETY: key and IV have the cipher's lengths (the tests' business); `out` has a block of
    // room beyond the text.
    unsafe {
        let state = openssl_sys::EVP_CIPHER_CTX_new();
        let iv = if iv.is_empty() { ptr::null() } else { iv.as_ptr() };
        let init = openssl_sys::EVP_CipherInit_ex(
            state,
            cipher,
            ptr::null_mut(),
            key.as_ptr(),
            iv,
            encrypt.into(),
        );
        assert_eq!(init, 1, "OpenSSL lacks the cipher");
        openssl_sys::EVP_CIPHER_CTX_set_padding(state, 0);
        let len = text.len().try_into().expect("short");
        let done =
            openssl_sys::EVP_CipherUpdate(state, out.as_mut_ptr(), &mut n, text.as_ptr(), len);
        assert_eq!(done, 1);
        openssl_sys::EVP_CIPHER_CTX_free(state);
    }
    assert_eq!(n as usize, text.len());
    out.truncate(text.len());
    out
}

/// A packet of a test: its bytes lie at any alignment, and its result in place or apart.
pub struct Packet<const B: usize> {
    /// Which of the test's keys.
    pub key: usize,
    pub iv: [u8; B],
    pub text: Vec<u8>,
    memory: Vec<u8>,
    /// Where the text lies in the memory, and where the result.
    at: (usize, usize),
}

/// What surrounds a packet's memory and has to stay.
const FENCE: u8 = 0xa5;

impl<const B: usize> Packet<B> {
    pub fn new(numbers: &mut Numbers, keys: usize, len: usize) -> Self {
        let text = numbers.bytes(len);
        let from = numbers.below(64);
        let to = if numbers.below(2) == 0 { from } else { from + len + numbers.below(64) };
        let mut memory = vec![FENCE; to + len + 64];
        memory[from..from + len].copy_from_slice(&text);
        Packet { key: numbers.below(keys), iv: numbers.array(), text, memory, at: (from, to) }
    }

    /// The IV and the text, to hand to the kernel.
    pub fn lend(&mut self) -> (&mut [u8; B], Text<'_>) {
        let (from, to) = self.at;
        let len = self.text.len();
        let text = if from == to {
            Text::InPlace(&mut self.memory[from..from + len])
        } else {
            let (front, back) = self.memory.split_at_mut(to);
            Text::Apart { src: &front[from..from + len], dst: &mut back[..len] }
        };
        (&mut self.iv, text)
    }

    /// The kernel's result. Nothing else may have changed.
    pub fn result(&self) -> &[u8] {
        let (from, to) = self.at;
        let len = self.text.len();
        for (i, &byte) in self.memory.iter().enumerate() {
            let source = from != to && (from..from + len).contains(&i);
            if source {
                assert_eq!(byte, self.text[i - from], "the source has changed");
            } else if !(to..to + len).contains(&i) {
                assert_eq!(byte, FENCE, "written outside, at {i} of {from}, {to}, {len}");
            }
        }
        &self.memory[to..to + len]
    }
}

/// Batches that fill and refill lanes, share and do not share keys, of lengths in units of `unit`
/// bytes.
pub fn batches<const B: usize>(numbers: &mut Numbers, unit: usize) -> Vec<Vec<Packet<B>>> {
    let mut batches = Vec::new();
    // Each length alone.
    for units in (0..=2100 / unit).step_by((16 / unit).max(1) + 1) {
        batches.push(vec![Packet::new(numbers, 1, units * unit)]);
    }
    for count in 1..=40 {
        for (keys, longest) in [(1, 300), (7, 160), (1000, 200)] {
            let lengths: Vec<_> = (0..count).map(|_| numbers.below(longest / unit + 1)).collect();
            batches.push(lengths.iter().map(|n| Packet::new(numbers, keys, n * unit)).collect());
        }
    }
    // More packets than lanes, and lengths far apart.
    for keys in [1, 3, 1000] {
        let mut lengths: Vec<_> = (0..150).map(|_| numbers.below(80)).collect();
        lengths[3] = 1200;
        lengths[70] = 900;
        batches.push(lengths.iter().map(|n| Packet::new(numbers, keys, n / unit * unit)).collect());
    }
    batches
}
