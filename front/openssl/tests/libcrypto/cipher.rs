//! EVP's symmetric ciphers.

use super::*;

#[link(name = "crypto")]
unsafe extern "C" {
    pub fn EVP_CIPHER_fetch(ctx: Ptr, name: *const c_char, propq: *const c_char) -> Ptr;
    pub fn EVP_CIPHER_free(cipher: Ptr);
    pub fn EVP_CIPHER_get0_provider(cipher: Ptr) -> Ptr;
    pub fn EVP_CIPHER_get_params(cipher: Ptr, params: *mut Param) -> c_int;
    pub fn EVP_CIPHER_get_flags(cipher: Ptr) -> std::ffi::c_ulong;
    pub fn EVP_CIPHER_get_mode(cipher: Ptr) -> c_int;
    pub fn EVP_CIPHER_get_block_size(cipher: Ptr) -> c_int;
    pub fn EVP_CIPHER_get_key_length(cipher: Ptr) -> c_int;
    pub fn EVP_CIPHER_get_iv_length(cipher: Ptr) -> c_int;
    pub fn EVP_CIPHER_CTX_new() -> Ptr;
    pub fn EVP_CIPHER_CTX_free(ctx: Ptr);
    pub fn EVP_CIPHER_CTX_copy(to: Ptr, from: Ptr) -> c_int;
    pub fn EVP_CIPHER_CTX_ctrl(ctx: Ptr, what: c_int, n: c_int, p: Ptr) -> c_int;
    pub fn EVP_CIPHER_CTX_set_padding(ctx: Ptr, pad: c_int) -> c_int;
    pub fn EVP_CIPHER_CTX_set_key_length(ctx: Ptr, len: c_int) -> c_int;
    pub fn EVP_CIPHER_CTX_get_params(ctx: Ptr, params: *mut Param) -> c_int;
    pub fn EVP_CIPHER_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    pub fn EVP_CIPHER_CTX_get_num(ctx: Ptr) -> c_int;
    pub fn EVP_CIPHER_CTX_rand_key(ctx: Ptr, key: *mut u8) -> c_int;
    pub fn EVP_CIPHER_CTX_get_updated_iv(ctx: Ptr, buf: Ptr, len: usize) -> c_int;
    pub fn EVP_CIPHER_CTX_get_original_iv(ctx: Ptr, buf: Ptr, len: usize) -> c_int;
    pub fn EVP_CipherInit_ex2(
        ctx: Ptr,
        cipher: Ptr,
        key: *const u8,
        iv: *const u8,
        enc: c_int,
        params: *const Param,
    ) -> c_int;
    pub fn EVP_CipherUpdate(
        ctx: Ptr,
        out: *mut u8,
        len: *mut c_int,
        input: *const u8,
        n: c_int,
    ) -> c_int;
    pub fn EVP_CipherFinal_ex(ctx: Ptr, out: *mut u8, len: *mut c_int) -> c_int;
    pub fn EVP_Cipher(ctx: Ptr, out: *mut u8, input: *const u8, n: c_uint) -> c_int;
}

/// `EVP_CTRL_...` of `evp.h`.
pub const SET_IV_LEN: c_int = 0x9;
pub const GET_TAG: c_int = 0x10;
pub const SET_TAG: c_int = 0x11;
pub const SET_IV_FIXED: c_int = 0x12;
pub const IV_GEN: c_int = 0x13;
pub const TLS1_AAD: c_int = 0x16;
pub const SET_MAC_KEY: c_int = 0x17;
pub const SET_IV_INV: c_int = 0x18;
pub const MULTIBLOCK_AAD: c_int = 0x19;
pub const MULTIBLOCK_ENCRYPT: c_int = 0x1a;
pub const MULTIBLOCK_MAX_BUFSIZE: c_int = 0x1c;

/// `EVP_CTRL_TLS1_1_MULTIBLOCK_PARAM`.
#[repr(C)]
pub struct MultiblockParam {
    pub out: *mut u8,
    pub inp: *const u8,
    pub len: usize,
    pub interleave: c_uint,
}

/// An algorithm.
pub struct Alg(pub Ptr);

impl Alg {
    pub fn fetch(lib: &Lib, name: &str) -> Option<Alg> {
        let name = c(name);
        let cipher = unsafe { EVP_CIPHER_fetch(lib.0, name.as_ptr(), null()) };
        (!cipher.is_null()).then_some(Alg(cipher))
    }

    pub fn provider(&self) -> String {
        unsafe {
            let name = OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(self.0));
            std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned()
        }
    }

    pub fn key_len(&self) -> usize {
        unsafe { EVP_CIPHER_get_key_length(self.0) as usize }
    }

    pub fn iv_len(&self) -> usize {
        unsafe { EVP_CIPHER_get_iv_length(self.0) as usize }
    }

    pub fn block(&self) -> usize {
        unsafe { EVP_CIPHER_get_block_size(self.0) as usize }
    }

    /// Everything that the library knows of it.
    pub fn constants(&self) -> [i64; 5] {
        unsafe {
            [
                EVP_CIPHER_get_flags(self.0) as i64,
                EVP_CIPHER_get_mode(self.0).into(),
                self.block() as i64,
                self.key_len() as i64,
                self.iv_len() as i64,
            ]
        }
    }
}

impl Drop for Alg {
    fn drop(&mut self) {
        unsafe { EVP_CIPHER_free(self.0) };
    }
}

/// A text.
pub struct Text(pub Ptr);

impl Text {
    pub fn new() -> Text {
        Text(unsafe { EVP_CIPHER_CTX_new() })
    }

    /// 1 or 0 to encrypt or decrypt, -1 to go on as before.
    pub fn init(&self, alg: Option<&Alg>, key: &[u8], iv: &[u8], enc: c_int) -> bool {
        let at = |b: &[u8]| if b.is_empty() { null() } else { b.as_ptr() };
        let alg = alg.map_or(null_mut(), |alg| alg.0);
        unsafe { EVP_CipherInit_ex2(self.0, alg, at(key), at(iv), enc, null()) == 1 }
    }

    pub fn copy(&self) -> Text {
        let copy = Text::new();
        assert_eq!(unsafe { EVP_CIPHER_CTX_copy(copy.0, self.0) }, 1, "{}", errors());
        copy
    }

    /// More text, apart.
    pub fn update(&self, input: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0xaa; input.len() + 32];
        let mut len = -1;
        let (i, n) = (input.as_ptr(), input.len() as c_int);
        let done = unsafe { EVP_CipherUpdate(self.0, out.as_mut_ptr(), &mut len, i, n) } == 1;
        done.then(|| {
            assert!(out[len as usize..].iter().all(|&b| b == 0xaa), "wrote more than it says");
            out.truncate(len as usize);
            out
        })
    }

    /// More text, in place: the buffer has room for more.
    pub fn update_in_place(&self, text: &mut [u8], len: usize) -> Option<usize> {
        let mut out = -1;
        let at = text.as_mut_ptr();
        let done = unsafe { EVP_CipherUpdate(self.0, at, &mut out, at, len as c_int) } == 1;
        done.then_some(out as usize)
    }

    pub fn aad(&self, aad: &[u8]) -> bool {
        let mut len = 0;
        let (i, n) = (aad.as_ptr(), aad.len() as c_int);
        unsafe { EVP_CipherUpdate(self.0, null_mut(), &mut len, i, n) == 1 }
    }

    pub fn length(&self, n: usize) -> bool {
        let mut len = 0;
        unsafe { EVP_CipherUpdate(self.0, null_mut(), &mut len, null(), n as c_int) == 1 }
    }

    pub fn finish(&self) -> Option<Vec<u8>> {
        let mut out = vec![0; 32];
        let mut len = -1;
        let done = unsafe { EVP_CipherFinal_ex(self.0, out.as_mut_ptr(), &mut len) } == 1;
        done.then(|| {
            out.truncate(len as usize);
            out
        })
    }

    pub fn ctrl(&self, what: c_int, n: usize, p: &mut [u8]) -> c_int {
        let at = if p.is_empty() { null_mut() } else { p.as_mut_ptr().cast() };
        unsafe { EVP_CIPHER_CTX_ctrl(self.0, what, n as c_int, at) }
    }

    pub fn tag(&self, n: usize) -> Option<Vec<u8>> {
        let mut tag = vec![0; n];
        (self.ctrl(GET_TAG, n, &mut tag) == 1).then_some(tag)
    }

    pub fn set_tag(&self, tag: &[u8]) -> bool {
        self.ctrl(SET_TAG, tag.len(), &mut tag.to_vec()) == 1
    }

    pub fn pad(&self, on: bool) {
        unsafe { EVP_CIPHER_CTX_set_padding(self.0, on.into()) };
    }

    /// IV as given, as it stands, and the number of bytes used.
    pub fn state(&self, iv_len: usize) -> (Vec<u8>, Vec<u8>, c_int) {
        let (mut given, mut now) = (vec![0; iv_len], vec![0; iv_len]);
        unsafe {
            EVP_CIPHER_CTX_get_original_iv(self.0, given.as_mut_ptr().cast(), iv_len);
            EVP_CIPHER_CTX_get_updated_iv(self.0, now.as_mut_ptr().cast(), iv_len);
            (given, now, EVP_CIPHER_CTX_get_num(self.0))
        }
    }

    /// A number about it.
    pub fn number(&self, name: &'static std::ffi::CStr) -> Option<usize> {
        let mut value = 0usize;
        let mut params = [
            Param {
                key: name.as_ptr(),
                data_type: 2,
                data: ptr::from_mut(&mut value).cast(),
                data_size: 8,
                return_size: usize::MAX,
            },
            END,
        ];
        (unsafe { EVP_CIPHER_CTX_get_params(self.0, params.as_mut_ptr()) } == 1).then_some(value)
    }

    pub fn set_number(&self, name: &'static std::ffi::CStr, mut value: usize) -> bool {
        let params = [
            Param {
                key: name.as_ptr(),
                data_type: 2,
                data: ptr::from_mut(&mut value).cast(),
                data_size: 8,
                return_size: usize::MAX,
            },
            END,
        ];
        unsafe { EVP_CIPHER_CTX_set_params(self.0, params.as_ptr()) == 1 }
    }

    /// What stands under `tls-mac`.
    pub fn tls_mac(&self, len: usize) -> Option<Vec<u8>> {
        let mut at: *const u8 = null();
        let mut params = [
            Param {
                key: c"tls-mac".as_ptr(),
                data_type: 7,
                data: ptr::from_mut(&mut at).cast(),
                data_size: len,
                return_size: usize::MAX,
            },
            END,
        ];
        let got = unsafe { EVP_CIPHER_CTX_get_params(self.0, params.as_mut_ptr()) } == 1;
        (got && !at.is_null()).then(|| unsafe { std::slice::from_raw_parts(at, len) }.to_vec())
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        unsafe { EVP_CIPHER_CTX_free(self.0) };
    }
}

/// Random numbers that come again with the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(256) as u8).collect()
    }
}
