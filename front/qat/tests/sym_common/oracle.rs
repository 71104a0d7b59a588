//! The other implementation: OpenSSL's ciphers and digests, and what the papers make of them.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Once;

use lookaside_qat::abi::*;
use openssl_sys as ossl;

fn providers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for name in [c"default", c"legacy"] {
            // SAFETY: the default library, and a name that ends in zero.
            let loaded = unsafe { ossl::OSSL_PROVIDER_load(ptr::null_mut(), name.as_ptr()) };
            assert!(!loaded.is_null(), "OpenSSL's {name:?} provider (package libssl3)");
        }
    });
}

/// OpenSSL's cipher `name` without padding.
pub fn openssl(name: &str, key: &[u8], iv: &[u8], seal: bool, text: &[u8]) -> Vec<u8> {
    providers();
    let c_name = CString::new(name).unwrap();
    let mut out = vec![0; text.len() + 32];
    // SAFETY: keys and IVs are as long as the cipher reads, `out` has room for more than a block above the text.
    unsafe {
        let cipher = ossl::EVP_CIPHER_fetch(ptr::null_mut(), c_name.as_ptr(), ptr::null());
        assert!(!cipher.is_null(), "OpenSSL has no {name}");
        let state = ossl::EVP_CIPHER_CTX_new();
        let (enc, none) = (c_int::from(seal), ptr::null_mut());
        assert_eq!(ossl::EVP_CipherInit_ex(state, cipher, none, ptr::null(), ptr::null(), enc), 1);
        assert_eq!(ossl::EVP_CIPHER_CTX_set_key_length(state, key.len() as c_int), 1);
        let iv = if iv.is_empty() { ptr::null() } else { iv.as_ptr() };
        assert_eq!(
            ossl::EVP_CipherInit_ex(state, ptr::null(), none, key.as_ptr(), iv, enc),
            1,
            "{name}"
        );
        ossl::EVP_CIPHER_CTX_set_padding(state, 0);
        let (mut len, mut last) = (0, 0);
        let text_len = text.len() as c_int;
        let done =
            ossl::EVP_CipherUpdate(state, out.as_mut_ptr(), &mut len, text.as_ptr(), text_len);
        assert!(done == 1 || text.is_empty(), "{name}");
        let rest = out.as_mut_ptr().add(len as usize);
        assert_eq!(ossl::EVP_CipherFinal(state, rest, &mut last), 1, "{name}");
        ossl::EVP_CIPHER_CTX_free(state);
        ossl::EVP_CIPHER_free(cipher);
        out.truncate((len + last) as usize);
    }
    out
}

/// OpenSSL's AEAD `name`: the ciphertext, and the tag.
pub fn seal(
    name: &str,
    key: &[u8],
    iv: &[u8],
    aad: &[u8],
    text: &[u8],
    tag_len: usize,
) -> (Vec<u8>, Vec<u8>) {
    providers();
    let c_name = CString::new(name).unwrap();
    let (mut out, mut tag) = (vec![0; text.len() + 32], vec![0; 16]);
    let is_ccm = name.ends_with("CCM");
    // SAFETY: as above; `tag` has the longest tag's length.
    unsafe {
        let cipher = ossl::EVP_CIPHER_fetch(ptr::null_mut(), c_name.as_ptr(), ptr::null());
        assert!(!cipher.is_null(), "OpenSSL has no {name}");
        let state = ossl::EVP_CIPHER_CTX_new();
        let none = ptr::null_mut();
        assert_eq!(ossl::EVP_CipherInit_ex(state, cipher, none, ptr::null(), ptr::null(), 1), 1);
        let control = |what, n: usize, at: *mut c_void| {
            assert_eq!(ossl::EVP_CIPHER_CTX_ctrl(state, what, n as c_int, at), 1, "{name}");
        };
        control(ossl::EVP_CTRL_GCM_SET_IVLEN, iv.len(), none.cast());
        if is_ccm {
            control(ossl::EVP_CTRL_GCM_SET_TAG, tag_len, none.cast());
        }
        let set = ossl::EVP_CipherInit_ex(state, ptr::null(), none, key.as_ptr(), iv.as_ptr(), 1);
        assert_eq!(set, 1);
        let mut len = 0;
        let no_text = ptr::null();
        if is_ccm {
            let done = ossl::EVP_CipherUpdate(
                state,
                ptr::null_mut(),
                &mut len,
                no_text,
                text.len() as c_int,
            );
            assert_eq!(done, 1);
        }
        if !aad.is_empty() {
            let aad_len = aad.len() as c_int;
            let done =
                ossl::EVP_CipherUpdate(state, ptr::null_mut(), &mut len, aad.as_ptr(), aad_len);
            assert_eq!(done, 1);
        }
        len = 0;
        // CCM makes its tag with the text, also with none.
        if is_ccm || !text.is_empty() {
            let from = if text.is_empty() { [0].as_ptr() } else { text.as_ptr() };
            let done = ossl::EVP_CipherUpdate(
                state,
                out.as_mut_ptr(),
                &mut len,
                from,
                text.len() as c_int,
            );
            assert_eq!(done, 1);
        }
        let mut last = 0;
        let rest = out.as_mut_ptr().add(len as usize);
        assert_eq!(ossl::EVP_CipherFinal(state, rest, &mut last), 1);
        let wanted = if is_ccm { tag_len } else { 16 };
        control(ossl::EVP_CTRL_GCM_GET_TAG, wanted, tag.as_mut_ptr().cast());
        ossl::EVP_CIPHER_CTX_free(state);
        ossl::EVP_CIPHER_free(cipher);
    }
    out.truncate(text.len());
    tag.truncate(tag_len);
    (out, tag)
}

/// OpenSSL's digest `name`.
pub fn digest(name: &str, text: &[u8]) -> Vec<u8> {
    providers();
    let c_name = CString::new(name).unwrap();
    let (mut out, mut len) = (vec![0; 64], 0);
    // SAFETY: 64 bytes are the longest digest; the text is readable for its length.
    let done = unsafe {
        let (data, null, name) = (text.as_ptr().cast(), ptr::null_mut(), c_name.as_ptr());
        ossl::EVP_Q_digest(null, name, ptr::null(), data, text.len(), out.as_mut_ptr(), &mut len)
    };
    assert_eq!(done, 1, "OpenSSL has no {name}");
    out.truncate(len);
    out
}

/// OpenSSL's name of a hash, and its block.
pub fn hash_name(algorithm: CpaCySymHashAlgorithm) -> Option<(&'static str, usize)> {
    Some(match algorithm {
        CPA_CY_SYM_HASH_MD5 => ("MD5", 64),
        CPA_CY_SYM_HASH_SHA1 => ("SHA1", 64),
        CPA_CY_SYM_HASH_SHA224 => ("SHA224", 64),
        CPA_CY_SYM_HASH_SHA256 => ("SHA256", 64),
        CPA_CY_SYM_HASH_SHA384 => ("SHA384", 128),
        CPA_CY_SYM_HASH_SHA512 => ("SHA512", 128),
        CPA_CY_SYM_HASH_SHA3_224 => ("SHA3-224", 144),
        CPA_CY_SYM_HASH_SHA3_256 => ("SHA3-256", 136),
        CPA_CY_SYM_HASH_SHA3_384 => ("SHA3-384", 104),
        CPA_CY_SYM_HASH_SHA3_512 => ("SHA3-512", 72),
        CPA_CY_SYM_HASH_SM3 => ("SM3", 64),
        _ => return None,
    })
}

/// RFC 2104.
pub fn hmac((name, block_len): (&str, usize), key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = key.to_vec();
    block.resize(block_len, 0);
    let mut inner: Vec<u8> = block.iter().map(|byte| byte ^ 0x36).collect();
    inner.extend_from_slice(text);
    let mut outer: Vec<u8> = block.iter().map(|byte| byte ^ 0x5c).collect();
    outer.extend(digest(name, &inner));
    digest(name, &outer)
}

fn aes(key: &[u8], block: &[u8]) -> Vec<u8> {
    openssl(&format!("AES-{}-ECB", key.len() * 8), key, &[], true, block)
}

fn xor(a: &mut [u8], b: &[u8]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
}

fn chained(key: &[u8], text: &[u8], last: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let whole = text.len().saturating_sub(1) / 16 * 16;
    let mut state = vec![0; 16];
    for block in text[..whole].chunks(16) {
        xor(&mut state, block);
        state = aes(key, &state);
    }
    xor(&mut state, &last(&text[whole..]));
    aes(key, &state)
}

fn doubled(block: &[u8]) -> Vec<u8> {
    let n = u128::from_be_bytes(block.try_into().unwrap());
    (n << 1 ^ if n >> 127 == 1 { 0x87 } else { 0 }).to_be_bytes().to_vec()
}

fn padded(last: &[u8], full: &[u8], cut: &[u8]) -> Vec<u8> {
    let mut block = last.to_vec();
    if block.len() < 16 {
        block.push(0x80);
        block.resize(16, 0);
        xor(&mut block, cut);
    } else {
        xor(&mut block, full);
    }
    block
}

/// SP 800-38B.
pub fn cmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let full = doubled(&aes(key, &[0; 16]));
    let cut = doubled(&full);
    chained(key, text, |last| padded(last, &full, &cut))
}

/// RFC 3566.
pub fn xcbc(key: &[u8], text: &[u8]) -> Vec<u8> {
    let derived = |n| aes(key, &[n; 16]);
    chained(&derived(1), text, |last| padded(last, &derived(2), &derived(3)))
}

/// AES-CBC-MAC.
pub fn cbc_mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    chained(key, text, <[u8]>::to_vec)
}

/// Triple DES in counter mode, of 64 bits.
pub fn triple_des_ctr(key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut counter = u64::from_be_bytes(iv.try_into().unwrap());
    for block in out.chunks_mut(8) {
        xor(block, &openssl("DES-EDE3", key, &[], true, &counter.to_be_bytes()));
        counter = counter.wrapping_add(1);
    }
    out
}

/// J0 of SP 800-38D section 7.1 for a nonce of any length but 12.
pub fn first_block(key: &[u8], nonce: &[u8]) -> Vec<u8> {
    let h = u128::from_be_bytes(aes(key, &[0; 16]).try_into().unwrap());
    let times = |x: u128| {
        let (mut z, mut v) = (0, h);
        for i in 0..128 {
            if x >> (127 - i) & 1 == 1 {
                z ^= v;
            }
            v = v >> 1 ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
        }
        z
    };
    let mut text = nonce.to_vec();
    text.resize(nonce.len().next_multiple_of(16), 0);
    text.extend((nonce.len() as u128 * 8).to_be_bytes());
    let hash = |y, block: &[u8]| times(y ^ u128::from_be_bytes(block.try_into().unwrap()));
    text.chunks(16).fold(0, hash).to_be_bytes().to_vec()
}
