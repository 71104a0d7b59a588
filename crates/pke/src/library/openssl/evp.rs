//! X448, Ed448 and SM3 by OpenSSL's EVP functions.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use super::{EVP_MD, EVP_MD_CTX, EVP_PKEY, EVP_PKEY_CTX, FAILED, OSSL_PARAM, Owned, Quiet, check};
use crate::OpError;

/// `EVP_PKEY_PUBLIC_KEY` and `EVP_PKEY_KEYPAIR`: what a key of EVP_PKEY_fromdata is made of.
const PUBLIC_KEY: c_int = 0x86;
const KEYPAIR: c_int = 0x87;

/// `OSSL_PARAM_OCTET_STRING` and `OSSL_PARAM_UNMODIFIED`.
const OCTET_STRING: u32 = 5;
const UNMODIFIED: usize = usize::MAX;

type Key = Owned<EVP_PKEY>;

fn octets(name: &'static CStr, bytes: &[u8]) -> OSSL_PARAM {
    OSSL_PARAM {
        key: name.as_ptr(),
        data_type: OCTET_STRING,
        // EVP_PKEY_fromdata only reads what it points to.
        data: bytes.as_ptr().cast_mut().cast(),
        data_size: bytes.len(),
        return_size: UNMODIFIED,
    }
}

const END: OSSL_PARAM = OSSL_PARAM {
    key: ptr::null(),
    data_type: 0,
    data: ptr::null_mut(),
    data_size: 0,
    return_size: 0,
};

const PRIVATE: &CStr = c"priv";
const PUBLIC: &CStr = c"pub";

/// One of the curves of RFC 7748 and RFC 8032 whose keys OpenSSL knows as strings of bytes.
#[derive(Clone, Copy)]
pub(crate) enum Ecx {
    X448,
    Ed448,
}

impl Ecx {
    fn name(self) -> *const c_char {
        match self {
            Ecx::X448 => c"X448".as_ptr(),
            Ecx::Ed448 => c"ED448".as_ptr(),
        }
    }

    fn key_len(self) -> usize {
        match self {
            Ecx::X448 => 56,
            Ecx::Ed448 => 57,
        }
    }

    fn key(self, openssl: &Quiet, what: c_int, params: &mut [OSSL_PARAM]) -> Result<Key, OpError> {
        let mut key = ptr::null_mut();
        // SAFETY: a valid library context, a name and parameters that end as they should; the
        // bytes that the parameters point to outlive the call, which copies them.
        unsafe {
            let maker = Owned::<EVP_PKEY_CTX>::new(
                (openssl.EVP_PKEY_CTX_new_from_name)(openssl.library, self.name(), ptr::null()),
                openssl.EVP_PKEY_CTX_free,
            )
            .map_err(|_| OpError::Unsupported)?;
            check((openssl.EVP_PKEY_fromdata_init)(maker.get()), FAILED)?;
            let made =
                (openssl.EVP_PKEY_fromdata)(maker.get(), &mut key, what, params.as_mut_ptr());
            check(made, OpError::BadInput("OpenSSL refuses the key"))?;
            Key::new(key, openssl.EVP_PKEY_free)
        }
    }

    /// A key pair. OpenSSL takes `public` as it is; without it, it computes it, which costs as
    /// much as an operation.
    fn pair(self, openssl: &Quiet, private: &[u8], public: Option<&[u8]>) -> Result<Key, OpError> {
        debug_assert!(private.len() == self.key_len());
        match public {
            Some(public) => {
                let mut params = [octets(PRIVATE, private), octets(PUBLIC, public), END];
                self.key(openssl, KEYPAIR, &mut params)
            }
            None => self.key(openssl, KEYPAIR, &mut [octets(PRIVATE, private), END]),
        }
    }

    fn peer(self, openssl: &Quiet, public: &[u8]) -> Result<Key, OpError> {
        debug_assert!(public.len() == self.key_len());
        self.key(openssl, PUBLIC_KEY, &mut [octets(PUBLIC, public), END])
    }

    /// The public key of `private`.
    pub(crate) fn public(self, private: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let key = self.pair(&openssl, private, None)?;
        let mut len = 0;
        // SAFETY: a valid key; pointer and length are those of a slice.
        let ok = unsafe {
            (openssl.EVP_PKEY_get_octet_string_param)(
                key.get(),
                PUBLIC.as_ptr(),
                out.as_mut_ptr(),
                out.len(),
                &mut len,
            )
        };
        check(ok, FAILED)?;
        if len == out.len() { Ok(()) } else { Err(FAILED) }
    }

    /// The shared secret of X448. An all-zero one, which a peer of small order gives, is refused.
    pub(crate) fn derive(self, private: &[u8], peer: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        // Our own public key has no part in the secret: the base point stands in for it.
        let mut base = [0; 56];
        base[0] = 5;
        let openssl = Quiet::new()?;
        let (own, peer) = (self.pair(&openssl, private, Some(&base))?, self.peer(&openssl, peer)?);
        let mut len = out.len();
        // SAFETY: valid keys; pointer and length are those of a slice.
        unsafe {
            let derivation = Owned::<EVP_PKEY_CTX>::new(
                (openssl.EVP_PKEY_CTX_new_from_pkey)(openssl.library, own.get(), ptr::null()),
                openssl.EVP_PKEY_CTX_free,
            )?;
            check((openssl.EVP_PKEY_derive_init)(derivation.get()), FAILED)?;
            let set = (openssl.EVP_PKEY_derive_set_peer)(derivation.get(), peer.get());
            check(set, FAILED)?;
            let ok = (openssl.EVP_PKEY_derive)(derivation.get(), out.as_mut_ptr(), &mut len);
            check(ok, super::super::curve25519::ZERO_SECRET)?;
        }
        if len == out.len() { Ok(()) } else { Err(FAILED) }
    }

    fn digest(openssl: &Quiet) -> Result<Owned<EVP_MD_CTX>, OpError> {
        // SAFETY: no preconditions.
        unsafe { Owned::new((openssl.EVP_MD_CTX_new)(), openssl.EVP_MD_CTX_free) }
    }

    /// The signature of `message` by the owner of `private`, whose public key is `public`.
    pub(crate) fn sign(
        self,
        private: &[u8],
        public: &[u8],
        message: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let key = self.pair(&openssl, private, Some(public))?;
        let digest = Ecx::digest(&openssl)?;
        let mut len = out.len();
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            let init = (openssl.EVP_DigestSignInit_ex)(
                digest.get(),
                ptr::null_mut(),
                ptr::null(),
                openssl.library,
                ptr::null(),
                key.get(),
                ptr::null(),
            );
            check(init, FAILED)?;
            let ok = (openssl.EVP_DigestSign)(
                digest.get(),
                out.as_mut_ptr(),
                &mut len,
                message.as_ptr(),
                message.len(),
            );
            check(ok, FAILED)?;
        }
        if len == out.len() { Ok(()) } else { Err(FAILED) }
    }

    /// Whether `signature` is that of `message` by the owner of `public`.
    pub(crate) fn verify(
        self,
        public: &[u8],
        signature: &[u8],
        message: &[u8],
    ) -> Result<(), OpError> {
        let openssl = Quiet::new()?;
        let key = self.peer(&openssl, public)?;
        let digest = Ecx::digest(&openssl)?;
        // SAFETY: valid objects; pointers and lengths are those of slices.
        unsafe {
            let init = (openssl.EVP_DigestVerifyInit_ex)(
                digest.get(),
                ptr::null_mut(),
                ptr::null(),
                openssl.library,
                ptr::null(),
                key.get(),
                ptr::null(),
            );
            check(init, FAILED)?;
            let ok = (openssl.EVP_DigestVerify)(
                digest.get(),
                signature.as_ptr(),
                signature.len(),
                message.as_ptr(),
                message.len(),
            );
            check(ok, OpError::AuthFailed)
        }
    }
}

/// The SM3 digest of the parts, one after the other.
pub(crate) fn sm3(parts: &[&[u8]]) -> Result<[u8; 32], OpError> {
    /// Fetched once, never freed.
    struct Sm3(*mut EVP_MD);
    // SAFETY: a fetched EVP_MD does not change, and any thread may use it.
    unsafe impl Send for Sm3 {}
    // SAFETY: as above.
    unsafe impl Sync for Sm3 {}
    static SM3: OnceLock<Sm3> = OnceLock::new();

    let openssl = Quiet::new()?;
    let sm3 = SM3.get_or_init(|| {
        // SAFETY: a valid library context, and a name that ends in a zero.
        Sm3(unsafe { (openssl.EVP_MD_fetch)(openssl.library, c"SM3".as_ptr(), ptr::null()) })
    });
    if sm3.0.is_null() {
        return Err(OpError::Unsupported);
    }
    let digest = Ecx::digest(&openssl)?;
    let mut out = [0; 32];
    // SAFETY: valid objects; pointers and lengths are those of slices; `out` has SM3's 32 bytes.
    unsafe {
        check((openssl.EVP_DigestInit_ex2)(digest.get(), sm3.0, ptr::null()), FAILED)?;
        for part in parts {
            let ok = (openssl.EVP_DigestUpdate)(digest.get(), part.as_ptr().cast(), part.len());
            check(ok, FAILED)?;
        }
        let ok = (openssl.EVP_DigestFinal_ex)(digest.get(), out.as_mut_ptr(), ptr::null_mut());
        check(ok, FAILED)?;
    }
    Ok(out)
}
