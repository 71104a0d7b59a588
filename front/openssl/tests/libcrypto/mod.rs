//! As much of libcrypto as the tests call, and the provider in library contexts of their own.
#![allow(non_snake_case, dead_code, missing_docs, clippy::missing_safety_doc)]

use std::{
    ffi::{CString, c_char, c_int, c_long, c_uint, c_void},
    path::PathBuf,
    ptr::{self, null, null_mut},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

pub mod cipher;
pub mod digest;
pub mod task;

pub type Ptr = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: Ptr,
    pub data_size: usize,
    pub return_size: usize,
}

#[link(name = "crypto")]
unsafe extern "C" {
    pub fn OSSL_LIB_CTX_new() -> Ptr;
    pub fn OSSL_LIB_CTX_free(ctx: Ptr);
    pub fn OSSL_LIB_CTX_load_config(ctx: Ptr, file: *const c_char) -> c_int;
    pub fn OSSL_PROVIDER_load(ctx: Ptr, name: *const c_char) -> Ptr;
    pub fn OSSL_PROVIDER_unload(provider: Ptr) -> c_int;
    pub fn OSSL_PROVIDER_get_params(provider: Ptr, params: *mut Param) -> c_int;
    pub fn EVP_PKEY_CTX_new_from_name(ctx: Ptr, name: *const c_char, propq: *const c_char) -> Ptr;
    pub fn EVP_PKEY_CTX_new_from_pkey(ctx: Ptr, key: Ptr, propq: *const c_char) -> Ptr;
    pub fn EVP_PKEY_CTX_free(ctx: Ptr);
    pub fn EVP_PKEY_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    pub fn EVP_PKEY_keygen_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_generate(ctx: Ptr, key: *mut Ptr) -> c_int;
    pub fn EVP_PKEY_fromdata_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_fromdata(
        ctx: Ptr,
        key: *mut Ptr,
        selection: c_int,
        params: *mut Param,
    ) -> c_int;
    pub fn EVP_PKEY_todata(key: Ptr, selection: c_int, params: *mut *mut Param) -> c_int;
    pub fn OSSL_PARAM_free(params: *mut Param);
    pub fn EVP_PKEY_free(key: Ptr);
    pub fn EVP_PKEY_eq(a: Ptr, b: Ptr) -> c_int;
    pub fn EVP_PKEY_get0_provider(key: Ptr) -> Ptr;
    pub fn OSSL_PROVIDER_get0_name(provider: Ptr) -> *const c_char;
    pub fn EVP_PKEY_get_bits(key: Ptr) -> c_int;
    pub fn EVP_PKEY_get_size(key: Ptr) -> c_int;
    pub fn EVP_PKEY_get_security_bits(key: Ptr) -> c_int;
    pub fn EVP_PKEY_pairwise_check(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_check(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_sign_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_sign(ctx: Ptr, sig: *mut u8, len: *mut usize, t: *const u8, n: usize) -> c_int;
    pub fn EVP_PKEY_verify_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_verify(ctx: Ptr, sig: *const u8, len: usize, t: *const u8, n: usize) -> c_int;
    pub fn EVP_PKEY_verify_recover_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_verify_recover(
        ctx: Ptr,
        out: *mut u8,
        len: *mut usize,
        sig: *const u8,
        n: usize,
    ) -> c_int;
    pub fn EVP_PKEY_encrypt_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_encrypt(ctx: Ptr, o: *mut u8, l: *mut usize, i: *const u8, n: usize) -> c_int;
    pub fn EVP_PKEY_decrypt_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_decrypt(ctx: Ptr, o: *mut u8, l: *mut usize, i: *const u8, n: usize) -> c_int;
    pub fn EVP_PKEY_derive_init(ctx: Ptr) -> c_int;
    pub fn EVP_PKEY_derive_set_peer(ctx: Ptr, peer: Ptr) -> c_int;
    pub fn EVP_PKEY_set_utf8_string_param(
        key: Ptr,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub fn EVP_PKEY_derive(ctx: Ptr, out: *mut u8, len: *mut usize) -> c_int;
    pub fn EVP_PKEY_CTX_ctrl_str(ctx: Ptr, name: *const c_char, value: *const c_char) -> c_int;
    pub fn EVP_MD_CTX_new() -> Ptr;
    pub fn EVP_MD_CTX_free(ctx: Ptr);
    pub fn EVP_DigestSignInit_ex(
        ctx: Ptr,
        pctx: *mut Ptr,
        md: *const c_char,
        libctx: Ptr,
        propq: *const c_char,
        key: Ptr,
        params: *const Param,
    ) -> c_int;
    pub fn EVP_DigestSign(ctx: Ptr, s: *mut u8, l: *mut usize, t: *const u8, n: usize) -> c_int;
    pub fn EVP_DigestVerifyInit_ex(
        ctx: Ptr,
        pctx: *mut Ptr,
        md: *const c_char,
        libctx: Ptr,
        propq: *const c_char,
        key: Ptr,
        params: *const Param,
    ) -> c_int;
    pub fn EVP_DigestVerify(ctx: Ptr, s: *const u8, l: usize, t: *const u8, n: usize) -> c_int;
    pub fn EVP_KDF_fetch(ctx: Ptr, name: *const c_char, propq: *const c_char) -> Ptr;
    pub fn EVP_KDF_free(kdf: Ptr);
    pub fn EVP_KDF_CTX_new(kdf: Ptr) -> Ptr;
    pub fn EVP_KDF_CTX_free(ctx: Ptr);
    pub fn EVP_KDF_CTX_get_params(ctx: Ptr, params: *mut Param) -> c_int;
    pub fn EVP_KDF_CTX_get_kdf_size(ctx: Ptr) -> usize;
    pub fn OSSL_PROVIDER_get_capabilities(
        provider: Ptr,
        capability: *const c_char,
        callback: unsafe extern "C" fn(*const Param, Ptr) -> c_int,
        arg: Ptr,
    ) -> c_int;
    pub fn EVP_KDF_derive(ctx: Ptr, key: *mut u8, len: usize, params: *const Param) -> c_int;
    pub fn ERR_get_error() -> std::ffi::c_ulong;
    pub fn ERR_get_error_all(
        file: *mut *const c_char,
        line: *mut c_int,
        func: *mut *const c_char,
        data: *mut *const c_char,
        flags: *mut c_int,
    ) -> std::ffi::c_ulong;
    pub fn ERR_reason_error_string(e: std::ffi::c_ulong) -> *const c_char;
    pub fn ERR_clear_error();
    pub fn ASYNC_start_job(
        job: *mut Ptr,
        ctx: Ptr,
        ret: *mut c_int,
        f: unsafe extern "C" fn(Ptr) -> c_int,
        args: Ptr,
        size: usize,
    ) -> c_int;
    pub fn ASYNC_WAIT_CTX_new() -> Ptr;
    pub fn ASYNC_WAIT_CTX_free(ctx: Ptr);
    pub fn ASYNC_WAIT_CTX_get_all_fds(ctx: Ptr, fds: *mut c_int, n: *mut usize) -> c_int;
    pub fn ASYNC_WAIT_CTX_set_callback(
        ctx: Ptr,
        callback: Option<unsafe extern "C" fn(Ptr) -> c_int>,
        arg: Ptr,
    ) -> c_int;
    pub fn ASYNC_block_pause();
    pub fn ASYNC_unblock_pause();
    pub fn ASYNC_cleanup_thread();
    pub fn OpenSSL_version_num() -> c_long;
}

pub fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// The provider's file: cargo builds it beside the test.
pub fn module() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    let file = folder.join("liblookaside_provider.so");
    assert!(file.exists(), "{} is built with the tests", file.display());
    file
}

/// A configuration file with our provider, preferred, and these settings of it.
pub fn config(settings: &[(&str, &str)]) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mut text = format!(
        "openssl_conf = init\n[init]\nproviders = providers\nalg_section = algs\n\
         [algs]\ndefault_properties = ?provider=lookaside\n\
         [providers]\ndefault = plain_one\nlookaside = our_one\n\
         [plain_one]\nactivate = 1\n[our_one]\nactivate = 1\nmodule = {}\n",
        module().display()
    );
    // What a test is about is ours, on CPUs too where another provider is the faster one.
    if !settings.iter().any(|(name, _)| *name == "algorithms") {
        text += "algorithms = all\n";
    }
    for (name, value) in settings {
        text += &format!("{name} = {value}\n");
    }
    let number = NUMBER.fetch_add(1, Relaxed);
    let file = std::env::temp_dir().join(format!("lookaside-{}-{number}.cnf", std::process::id()));
    std::fs::write(&file, text).unwrap();
    file
}

/// A library context.
pub struct Lib(pub Ptr);

unsafe impl Send for Lib {}
unsafe impl Sync for Lib {}

impl Lib {
    /// OpenSSL's own provider alone.
    pub fn plain() -> Lib {
        unsafe {
            let ctx = OSSL_LIB_CTX_new();
            assert!(!OSSL_PROVIDER_load(ctx, c"default".as_ptr()).is_null());
            Lib(ctx)
        }
    }

    /// Ours, preferred, by a configuration with these settings.
    pub fn ours(settings: &[(&str, &str)]) -> Lib {
        Lib::try_ours(settings).unwrap_or_else(|| panic!("loads: {}", errors()))
    }

    pub fn try_ours(settings: &[(&str, &str)]) -> Option<Lib> {
        let file = config(settings);
        let path = c(file.to_str().unwrap());
        unsafe {
            let ctx = OSSL_LIB_CTX_new();
            let loaded = OSSL_LIB_CTX_load_config(ctx, path.as_ptr()) == 1
                && !OSSL_PROVIDER_load(ctx, c"lookaside".as_ptr()).is_null();
            std::fs::remove_file(&file).unwrap();
            if loaded {
                return Some(Lib(ctx));
            }
            OSSL_LIB_CTX_free(ctx);
            None
        }
    }

    /// A number that the provider answers about itself.
    pub fn counter(&self, name: &str) -> usize {
        let key = c(name);
        let mut value = 0usize;
        unsafe {
            let provider = OSSL_PROVIDER_load(self.0, c"lookaside".as_ptr());
            let mut params = [
                Param {
                    key: key.as_ptr(),
                    data_type: 2,
                    data: ptr::from_mut(&mut value).cast(),
                    data_size: 8,
                    return_size: usize::MAX,
                },
                END,
            ];
            assert_eq!(OSSL_PROVIDER_get_params(provider, params.as_mut_ptr()), 1, "{name}");
            OSSL_PROVIDER_unload(provider);
        }
        value
    }

    /// The table of everything that the provider has counted.
    pub fn statistics(&self) -> String {
        self.text("statistics")
    }

    /// A text that the provider answers about itself.
    pub fn text(&self, name: &str) -> String {
        let key = c(name);
        let mut text = vec![0u8; 1 << 16];
        unsafe {
            let provider = OSSL_PROVIDER_load(self.0, c"lookaside".as_ptr());
            let mut params = [
                Param {
                    key: key.as_ptr(),
                    data_type: 4,
                    data: text.as_mut_ptr().cast(),
                    data_size: text.len(),
                    return_size: usize::MAX,
                },
                END,
            ];
            assert_eq!(OSSL_PROVIDER_get_params(provider, params.as_mut_ptr()), 1);
            text.truncate(params[0].return_size);
            OSSL_PROVIDER_unload(provider);
        }
        String::from_utf8(text).unwrap()
    }

    /// A new key: an algorithm, then settings by name.
    pub fn generate(&self, algorithm: &str, settings: &[(&str, &str)]) -> Key {
        self.try_generate(algorithm, settings)
            .unwrap_or_else(|| panic!("{algorithm}: {}", errors()))
    }

    pub fn try_generate(&self, algorithm: &str, settings: &[(&str, &str)]) -> Option<Key> {
        unsafe {
            let name = c(algorithm);
            let ctx = EVP_PKEY_CTX_new_from_name(self.0, name.as_ptr(), null());
            let mut good = EVP_PKEY_keygen_init(ctx) == 1;
            for (name, value) in settings {
                let (name, value) = (c(name), c(value));
                good &= EVP_PKEY_CTX_ctrl_str(ctx, name.as_ptr(), value.as_ptr()) > 0;
            }
            let mut key = null_mut();
            good = good && EVP_PKEY_generate(ctx, &mut key) == 1;
            EVP_PKEY_CTX_free(ctx);
            good.then_some(Key(key))
        }
    }

    /// The same key here.
    pub fn import(&self, algorithm: &str, key: &Key) -> Key {
        unsafe {
            let mut params = null_mut();
            assert_eq!(EVP_PKEY_todata(key.0, 0x87, &mut params), 1, "{}", errors());
            let name = c(algorithm);
            let ctx = EVP_PKEY_CTX_new_from_name(self.0, name.as_ptr(), null());
            assert_eq!(EVP_PKEY_fromdata_init(ctx), 1, "{}", errors());
            let mut copy = null_mut();
            let made = EVP_PKEY_fromdata(ctx, &mut copy, 0x87, params);
            assert_eq!(made, 1, "{algorithm}: {}", errors());
            OSSL_PARAM_free(params);
            EVP_PKEY_CTX_free(ctx);
            Key(copy)
        }
    }

    /// An operation's context with its settings.
    pub fn start(
        &self,
        key: &Key,
        init: unsafe extern "C" fn(Ptr) -> c_int,
        settings: &[(&str, &str)],
    ) -> Operation {
        unsafe {
            let ctx = EVP_PKEY_CTX_new_from_pkey(self.0, key.0, null());
            assert_eq!(init(ctx), 1, "{}", errors());
            for (name, value) in settings {
                let (n, v) = (c(name), c(value));
                let set = EVP_PKEY_CTX_ctrl_str(ctx, n.as_ptr(), v.as_ptr());
                assert!(set > 0, "{name} = {value}: {}", errors());
            }
            Operation(ctx)
        }
    }

    /// Signs a digest.
    pub fn sign(&self, key: &Key, settings: &[(&str, &str)], digest: &[u8]) -> Option<Vec<u8>> {
        self.start(key, EVP_PKEY_sign_init, settings).sign(digest)
    }

    /// Verifies the signature of a digest.
    pub fn verify(&self, key: &Key, settings: &[(&str, &str)], digest: &[u8], sig: &[u8]) -> bool {
        let operation = self.start(key, EVP_PKEY_verify_init, settings);
        let (s, d) = (sig.as_ptr(), digest.as_ptr());
        unsafe { EVP_PKEY_verify(operation.0, s, sig.len(), d, digest.len()) == 1 }
    }

    /// The secret that two keys share.
    pub fn derive(&self, key: &Key, peer: &Key) -> Option<Vec<u8>> {
        let operation = self.start(key, EVP_PKEY_derive_init, &[]);
        unsafe {
            if EVP_PKEY_derive_set_peer(operation.0, peer.0) != 1 {
                return None;
            }
        }
        operation.collect(|out, len| unsafe { EVP_PKEY_derive(operation.0, out, len) })
    }
}

impl Drop for Lib {
    fn drop(&mut self) {
        unsafe { OSSL_LIB_CTX_free(self.0) };
    }
}

pub struct Key(pub Ptr);

unsafe impl Send for Key {}
unsafe impl Sync for Key {}

impl Key {
    /// The provider that holds it.
    pub fn provider(&self) -> String {
        unsafe {
            let name = OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(self.0));
            std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned()
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_free(self.0) };
    }
}

pub struct Operation(pub Ptr);

impl Operation {
    pub fn sign(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let (d, n) = (digest.as_ptr(), digest.len());
        self.collect(|out, len| unsafe { EVP_PKEY_sign(self.0, out, len, d, n) })
    }

    /// Asks a function for the length of its result, then for the result.
    pub fn collect(&self, f: impl Fn(*mut u8, *mut usize) -> c_int) -> Option<Vec<u8>> {
        collect(f)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_CTX_free(self.0) };
    }
}

pub fn collect(f: impl Fn(*mut u8, *mut usize) -> c_int) -> Option<Vec<u8>> {
    let mut len = 0;
    if f(null_mut(), &mut len) != 1 {
        return None;
    }
    let mut out = vec![0; len];
    if f(out.as_mut_ptr(), &mut len) != 1 {
        return None;
    }
    out.truncate(len);
    Some(out)
}

pub const END: Param =
    Param { key: null(), data_type: 0, data: null_mut(), data_size: 0, return_size: 0 };

/// Text (which ends with NUL) or bytes as a parameter.
pub fn param(key: &'static std::ffi::CStr, text: bool, value: &[u8]) -> Param {
    Param {
        key: key.as_ptr(),
        data_type: if text { 4 } else { 5 },
        data: value.as_ptr().cast_mut().cast(),
        data_size: value.len() - usize::from(text),
        return_size: usize::MAX,
    }
}

/// What is in the error queue, as text; it is empty then.
pub fn errors() -> String {
    let mut text = String::new();
    loop {
        let mut data = null();
        let e =
            unsafe { ERR_get_error_all(null_mut(), null_mut(), null_mut(), &mut data, null_mut()) };
        if e == 0 {
            return text;
        }
        for part in [unsafe { ERR_reason_error_string(e) }, data] {
            if !part.is_null() {
                text += &unsafe { std::ffi::CStr::from_ptr(part) }.to_string_lossy();
                text += "; ";
            }
        }
    }
}
