//! EVP's digests and MACs.

use super::*;
use std::ffi::CStr;

#[link(name = "crypto")]
unsafe extern "C" {
    pub fn EVP_MD_fetch(ctx: Ptr, name: *const c_char, propq: *const c_char) -> Ptr;
    pub fn EVP_MD_free(md: Ptr);
    pub fn EVP_MD_get0_provider(md: Ptr) -> Ptr;
    pub fn EVP_MD_get_size(md: Ptr) -> c_int;
    pub fn EVP_MD_get_block_size(md: Ptr) -> c_int;
    pub fn EVP_MD_get_flags(md: Ptr) -> std::ffi::c_ulong;
    pub fn EVP_MD_get_type(md: Ptr) -> c_int;
    pub fn EVP_MD_CTX_copy_ex(to: Ptr, from: Ptr) -> c_int;
    pub fn EVP_MD_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    pub fn EVP_DigestInit_ex2(ctx: Ptr, md: Ptr, params: *const Param) -> c_int;
    pub fn EVP_DigestUpdate(ctx: Ptr, data: *const u8, len: usize) -> c_int;
    pub fn EVP_DigestFinal_ex(ctx: Ptr, out: *mut u8, len: *mut c_uint) -> c_int;
    pub fn EVP_Digest(
        data: *const u8,
        len: usize,
        out: *mut u8,
        out_len: *mut c_uint,
        md: Ptr,
        engine: Ptr,
    ) -> c_int;
    pub fn EVP_MAC_fetch(ctx: Ptr, name: *const c_char, propq: *const c_char) -> Ptr;
    pub fn EVP_MAC_free(mac: Ptr);
    pub fn EVP_MAC_get0_provider(mac: Ptr) -> Ptr;
    pub fn EVP_MAC_CTX_new(mac: Ptr) -> Ptr;
    pub fn EVP_MAC_CTX_free(ctx: Ptr);
    pub fn EVP_MAC_CTX_dup(ctx: Ptr) -> Ptr;
    pub fn EVP_MAC_CTX_set_params(ctx: Ptr, params: *const Param) -> c_int;
    pub fn EVP_MAC_CTX_get_mac_size(ctx: Ptr) -> usize;
    pub fn EVP_MAC_CTX_get_block_size(ctx: Ptr) -> usize;
    pub fn EVP_MAC_init(ctx: Ptr, key: *const u8, len: usize, params: *const Param) -> c_int;
    pub fn EVP_MAC_update(ctx: Ptr, data: *const u8, len: usize) -> c_int;
    pub fn EVP_MAC_final(ctx: Ptr, out: *mut u8, len: *mut usize, size: usize) -> c_int;
}

fn name_of(provider: Ptr) -> String {
    let name = unsafe { CStr::from_ptr(OSSL_PROVIDER_get0_name(provider)) };
    name.to_str().unwrap().to_owned()
}

/// A digest.
pub struct Md(pub Ptr);

impl Md {
    pub fn fetch(lib: &Lib, name: &str) -> Option<Md> {
        let md = unsafe { EVP_MD_fetch(lib.0, c(name).as_ptr(), null()) };
        (!md.is_null()).then_some(Md(md))
    }

    pub fn provider(&self) -> String {
        name_of(unsafe { EVP_MD_get0_provider(self.0) })
    }

    pub fn len(&self) -> usize {
        unsafe { EVP_MD_get_size(self.0) as usize }
    }

    /// Everything that the library knows of it.
    pub fn constants(&self) -> [i64; 4] {
        unsafe {
            [
                EVP_MD_get_size(self.0).into(),
                EVP_MD_get_block_size(self.0).into(),
                EVP_MD_get_flags(self.0) as i64,
                EVP_MD_get_type(self.0).into(),
            ]
        }
    }

    /// All at once.
    pub fn digest(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; 64];
        let mut len = 0;
        let at = out.as_mut_ptr();
        let good =
            unsafe { EVP_Digest(text.as_ptr(), text.len(), at, &mut len, self.0, null_mut()) == 1 };
        out.truncate(len as usize);
        good.then_some(out)
    }
}

impl Drop for Md {
    fn drop(&mut self) {
        unsafe { EVP_MD_free(self.0) };
    }
}

/// A message.
pub struct Message(pub Ptr);

impl Message {
    pub fn new() -> Message {
        Message(unsafe { EVP_MD_CTX_new() })
    }

    pub fn init(&self, md: Option<&Md>) -> bool {
        unsafe { EVP_DigestInit_ex2(self.0, md.map_or(null_mut(), |md| md.0), null()) == 1 }
    }

    pub fn update(&self, text: &[u8]) -> bool {
        unsafe { EVP_DigestUpdate(self.0, text.as_ptr(), text.len()) == 1 }
    }

    pub fn finish(&self) -> Option<Vec<u8>> {
        let mut out = vec![0; 64];
        let mut len = 0;
        let good = unsafe { EVP_DigestFinal_ex(self.0, out.as_mut_ptr(), &mut len) == 1 };
        out.truncate(len as usize);
        good.then_some(out)
    }

    pub fn copy(&self) -> Message {
        let copy = Message::new();
        assert_eq!(unsafe { EVP_MD_CTX_copy_ex(copy.0, self.0) }, 1, "{}", errors());
        copy
    }

    pub fn set(&self, params: &[Param]) -> bool {
        unsafe { EVP_MD_CTX_set_params(self.0, params.as_ptr()) == 1 }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        unsafe { EVP_MD_CTX_free(self.0) };
    }
}

/// A MAC, and who has it.
pub struct Mac {
    ctx: Ptr,
    pub provider: String,
}

/// What a MAC is told beside its key: names with texts or bytes.
#[derive(Clone, Copy)]
pub enum Setting<'a> {
    Text(&'static CStr, &'a CStr),
    Bytes(&'static CStr, &'a [u8]),
    Size(&'static CStr, &'a usize),
}

/// An array of parameters.
pub fn params(settings: &[Setting]) -> Vec<Param> {
    let row = |setting: &Setting| {
        let (key, data_type, data, data_size): (_, _, *const u8, _) = match setting {
            Setting::Text(key, text) => (key, 4, text.as_ptr().cast(), text.count_bytes()),
            Setting::Bytes(key, bytes) => (key, 5, bytes.as_ptr(), bytes.len()),
            Setting::Size(key, n) => (key, 2, ptr::from_ref(*n).cast(), size_of::<usize>()),
        };
        let data = data.cast_mut().cast();
        Param { key: key.as_ptr(), data_type, data, data_size, return_size: usize::MAX }
    };
    settings.iter().map(row).chain([END]).collect()
}

impl Mac {
    pub fn new(lib: &Lib, name: &str) -> Mac {
        unsafe {
            let mac = EVP_MAC_fetch(lib.0, c(name).as_ptr(), null());
            assert!(!mac.is_null(), "{name}: {}", errors());
            let provider = name_of(EVP_MAC_get0_provider(mac));
            let ctx = EVP_MAC_CTX_new(mac);
            EVP_MAC_free(mac);
            Mac { ctx, provider }
        }
    }

    pub fn init(&self, key: Option<&[u8]>, settings: &[Setting]) -> bool {
        let (at, len) = match key {
            Some([]) => (c"".as_ptr().cast(), 0),
            Some(key) => (key.as_ptr(), key.len()),
            None => (null(), 0),
        };
        unsafe { EVP_MAC_init(self.ctx, at, len, params(settings).as_ptr()) == 1 }
    }

    pub fn set(&self, settings: &[Setting]) -> bool {
        unsafe { EVP_MAC_CTX_set_params(self.ctx, params(settings).as_ptr()) == 1 }
    }

    pub fn update(&self, text: &[u8]) -> bool {
        unsafe { EVP_MAC_update(self.ctx, text.as_ptr(), text.len()) == 1 }
    }

    pub fn finish(&self) -> Option<Vec<u8>> {
        let mut out = vec![0; 64];
        let mut len = 0;
        let good = unsafe { EVP_MAC_final(self.ctx, out.as_mut_ptr(), &mut len, out.len()) == 1 };
        out.truncate(len);
        good.then_some(out)
    }

    pub fn sizes(&self) -> (usize, usize) {
        unsafe { (EVP_MAC_CTX_get_mac_size(self.ctx), EVP_MAC_CTX_get_block_size(self.ctx)) }
    }

    pub fn copy(&self) -> Mac {
        let ctx = unsafe { EVP_MAC_CTX_dup(self.ctx) };
        assert!(!ctx.is_null(), "{}", errors());
        Mac { ctx, provider: self.provider.clone() }
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        unsafe { EVP_MAC_CTX_free(self.ctx) };
    }
}
