//! One packet at a time, whole and in pieces, beside OpenSSL's EVP with one structure that is used
//! again and again. Prints nanoseconds of CPU time per packet (the least of interleaved rounds) and
//! the ratio to OpenSSL; before it measures, it compares the answers.

use std::ffi::c_int;
use std::hint::black_box;
use std::ptr;
use std::sync::Arc;

use lookaside_cipher::single::{Keys, run};
use lookaside_cipher::{
    Aead, Auth, ChainOrder, Cipher, Direction, Hash, OpError, Packet, Parts, Running, Session,
    Span, Sym, Text,
};
use lookaside_simd::Cpu;
use openssl_sys as ossl;

fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The least time of one call of each, over rounds that take turns.
fn measure(calls: &mut [&mut dyn FnMut()], size: usize) -> Vec<f64> {
    let repeat = (200_000 / (size + 200)).max(4);
    let mut least = vec![f64::MAX; calls.len()];
    for _ in 0..40 {
        for (call, least) in calls.iter_mut().zip(&mut least) {
            let start = cpu_ns();
            for _ in 0..repeat {
                call();
            }
            *least = least.min((cpu_ns() - start) / repeat as f64);
        }
    }
    least
}

/// What OpenSSL does to one packet.
enum Rival {
    Cipher(*mut ossl::EVP_CIPHER_CTX, usize),
    Digest(*mut ossl::EVP_MD_CTX),
    Both(*mut ossl::EVP_CIPHER_CTX, *mut ossl::EVP_MD_CTX),
}

fn cipher(name: &std::ffi::CStr, key: &[u8]) -> *mut ossl::EVP_CIPHER_CTX {
    // SAFETY: a name that ends in zero, a key as long as the cipher reads.
    unsafe {
        let method = ossl::EVP_CIPHER_fetch(ptr::null_mut(), name.as_ptr(), ptr::null());
        let state = ossl::EVP_CIPHER_CTX_new();
        let null = ptr::null_mut();
        assert_eq!(ossl::EVP_CipherInit_ex(state, method, null, key.as_ptr(), ptr::null(), 1), 1);
        ossl::EVP_CIPHER_CTX_set_padding(state, 0);
        state
    }
}

fn digest(name: &std::ffi::CStr) -> *mut ossl::EVP_MD_CTX {
    // SAFETY: a name that ends in zero.
    unsafe {
        let method = ossl::EVP_MD_fetch(ptr::null_mut(), name.as_ptr(), ptr::null());
        let state = ossl::EVP_MD_CTX_new();
        assert_eq!(ossl::EVP_DigestInit_ex(state, method, ptr::null_mut()), 1);
        state
    }
}

impl Rival {
    /// In place: text, then tag.
    fn run(&self, iv: &[u8], bytes: &mut [u8], len: usize) {
        let (at, mut done) = (bytes.as_mut_ptr(), 0);
        let null = ptr::null_mut();
        // SAFETY: `bytes` is `len` of text and room for a tag of 64 bytes; the structures are set up.
        unsafe {
            let crypt = |state: *mut ossl::EVP_CIPHER_CTX| {
                let (iv, none, mut done) = (iv.as_ptr(), ptr::null(), 0);
                ossl::EVP_CipherInit_ex(state, none, ptr::null_mut(), ptr::null(), iv, 1);
                ossl::EVP_CipherUpdate(state, at, &mut done, at, len as c_int);
                ossl::EVP_CipherFinal(state, at.add(len), &mut done);
            };
            let hash = |state: *mut ossl::EVP_MD_CTX| {
                let mut tag_len = 0;
                ossl::EVP_DigestInit_ex(state, ptr::null(), ptr::null_mut());
                ossl::EVP_DigestUpdate(state, at.cast(), len);
                ossl::EVP_DigestFinal_ex(state, at.add(len), &mut tag_len);
            };
            match *self {
                Rival::Cipher(state, 0) => crypt(state),
                Rival::Cipher(state, tag_len) => {
                    ossl::EVP_CipherInit_ex(state, ptr::null(), null, ptr::null(), iv.as_ptr(), 1);
                    ossl::EVP_CipherUpdate(state, null.cast(), &mut done, iv.as_ptr(), 12);
                    ossl::EVP_CipherUpdate(state, at, &mut done, at, len as c_int);
                    ossl::EVP_CipherFinal(state, at.add(len), &mut done);
                    let get = ossl::EVP_CTRL_GCM_GET_TAG;
                    ossl::EVP_CIPHER_CTX_ctrl(state, get, tag_len as c_int, at.add(len).cast());
                }
                Rival::Digest(state) => hash(state),
                Rival::Both(one, other) => {
                    crypt(one);
                    hash(other);
                }
            }
        }
    }
}

fn main() {
    let key: Vec<u8> = (0..64).collect();
    let secret = |len: usize| key[..len].to_vec().into();
    let aead = |aead, len| Sym::Aead { aead, key: secret(len), tag_len: 16 };
    let plain = |cipher, len| Sym::Cipher { cipher, key: secret(len) };
    let hash =
        |hash: Hash| Sym::Auth { auth: Auth::Plain(hash), key: secret(0), tag_len: hash.len() };
    let chain = |hash: Hash| Sym::Chain {
        cipher: Cipher::AesCbc,
        cipher_key: secret(16),
        auth: Auth::Plain(hash),
        auth_key: secret(0),
        tag_len: hash.len(),
        order: ChainOrder::CipherThenAuth,
    };
    let rows = [
        (
            "aes-128-gcm",
            aead(Aead::AesGcm, 16),
            12,
            Rival::Cipher(cipher(c"AES-128-GCM", &key), 16),
        ),
        (
            "chacha20-poly1305",
            aead(Aead::ChaCha20Poly1305, 32),
            12,
            Rival::Cipher(cipher(c"ChaCha20-Poly1305", &key), 16),
        ),
        (
            "aes-128-cbc",
            plain(Cipher::AesCbc, 16),
            16,
            Rival::Cipher(cipher(c"AES-128-CBC", &key), 0),
        ),
        (
            "aes-128-ctr",
            plain(Cipher::AesCtr, 16),
            16,
            Rival::Cipher(cipher(c"AES-128-CTR", &key), 0),
        ),
        (
            "aes-256-xts",
            plain(Cipher::AesXts, 64),
            16,
            Rival::Cipher(cipher(c"AES-256-XTS", &key), 0),
        ),
        ("chacha20", plain(Cipher::ChaCha20, 32), 16, Rival::Cipher(cipher(c"ChaCha20", &key), 0)),
        (
            "des-ede3-cbc",
            plain(Cipher::TripleDesCbc, 24),
            8,
            Rival::Cipher(cipher(c"DES-EDE3-CBC", &key), 0),
        ),
        ("sm4-cbc", plain(Cipher::Sm4Cbc, 16), 16, Rival::Cipher(cipher(c"SM4-CBC", &key), 0)),
        ("sm4-ctr", plain(Cipher::Sm4Ctr, 16), 16, Rival::Cipher(cipher(c"SM4-CTR", &key), 0)),
        ("md5", hash(Hash::Md5), 0, Rival::Digest(digest(c"MD5"))),
        ("sha1", hash(Hash::Sha1), 0, Rival::Digest(digest(c"SHA1"))),
        ("sha256", hash(Hash::Sha256), 0, Rival::Digest(digest(c"SHA256"))),
        ("sha512", hash(Hash::Sha512), 0, Rival::Digest(digest(c"SHA512"))),
        ("sha3-256", hash(Hash::Sha3_256), 0, Rival::Digest(digest(c"SHA3-256"))),
        ("sm3", hash(Hash::Sm3), 0, Rival::Digest(digest(c"SM3"))),
        (
            "cbc + sha1",
            chain(Hash::Sha1),
            16,
            Rival::Both(cipher(c"AES-128-CBC", &key), digest(c"SHA1")),
        ),
        (
            "cbc + sha256",
            chain(Hash::Sha256),
            16,
            Rival::Both(cipher(c"AES-128-CBC", &key), digest(c"SHA256")),
        ),
    ];
    println!("{:18} {:>6} {:>9} {:>9} {:>9}  openssl/", "", "bytes", "whole", "pieces", "openssl");
    let only = std::env::args().nth(1).filter(|name| !name.starts_with('-'));
    for (name, spec, iv_len, rival) in rows {
        if only.as_ref().is_some_and(|only| !name.contains(&**only)) {
            continue;
        }
        let cpu = Cpu::host();
        let session = Session::new(spec.clone(), cpu).unwrap();
        let keys = Arc::new(Keys::new(&spec, cpu).unwrap());
        let iv = vec![7; iv_len];
        let tag_len = keys.tag_len();
        for len in [64, 1408, 16384] {
            let mut bytes = [vec![1; len], vec![0; 64], iv.clone()].concat();
            let (mut expected, mut in_pieces) = (bytes.clone(), bytes.clone());
            let is_aead = matches!(spec, Sym::Aead { .. });
            // The associated data are the IV, at the end.
            let aad_len = if is_aead { 12 } else { 0 };
            let region = Span { offset: 0, len: len as u32 };
            let aad = Span { offset: len as u32 + 64, len: aad_len };
            let parts = Parts { aad, cipher: region, auth: region, tag: len as u32, spare_bits: 0 };
            let mut whole = || {
                let mut packet = Packet {
                    session: &session,
                    direction: Direction::Seal,
                    iv: &iv,
                    parts,
                    text: Text::InPlace(black_box(&mut bytes)),
                    result: Err(OpError::Cancelled),
                };
                run(&keys, &mut packet);
                packet.result.unwrap();
            };
            let mut running = Running::new(&keys, Direction::Seal, &iv).unwrap();
            let mut pieces = || {
                running.restart(Direction::Seal, &iv).unwrap();
                if is_aead {
                    running.aad(&iv).unwrap();
                }
                let (text, tag) = in_pieces.split_at_mut(len);
                running.update(Text::InPlace(black_box(text))).unwrap();
                if tag_len > 0 {
                    running.finish(&mut tag[..tag_len]).unwrap();
                }
            };
            let mut openssl = || rival.run(&iv, black_box(&mut expected), len);
            whole();
            pieces();
            openssl();
            let times = measure(&mut [&mut whole, &mut pieces, &mut openssl], len);
            // As often as each other: the answers are still the same.
            assert_eq!(bytes[..len + tag_len], expected[..len + tag_len], "{name}");
            assert_eq!(in_pieces[..len + tag_len], expected[..len + tag_len], "{name}");
            println!(
                "{name:18} {len:6} {:9.0} {:9.0} {:9.0}  {:.2} {:.2}",
                times[0],
                times[1],
                times[2],
                times[2] / times[0],
                times[2] / times[1],
            );
        }
    }
}
