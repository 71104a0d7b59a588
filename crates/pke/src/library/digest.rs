//! AWS-LC's hash functions and its HMAC.

use std::ptr;

use aws_lc_sys as aws;

use crate::Hash;

/// The longest digest: SHA-512's.
pub(crate) const MAX_LEN: usize = aws::EVP_MAX_MD_SIZE as usize;

/// The method table of a hash function.
#[derive(Clone, Copy)]
pub(crate) struct Method(*const aws::EVP_MD);

impl Method {
    /// Its address, valid for as long as the process.
    pub(crate) fn as_ptr(self) -> *const aws::EVP_MD {
        self.0
    }
}

/// `None` for a hash function that AWS-LC does not have.
pub(crate) fn method(hash: Hash) -> Option<Method> {
    // SAFETY: these take nothing and return the address of a constant, initialised once.
    Some(Method(unsafe {
        match hash {
            Hash::Md5 => aws::EVP_md5(),
            Hash::Sha1 => aws::EVP_sha1(),
            Hash::Md5Sha1 => aws::EVP_md5_sha1(),
            Hash::Ripemd160 => aws::EVP_ripemd160(),
            Hash::Sha224 => aws::EVP_sha224(),
            Hash::Sha256 => aws::EVP_sha256(),
            Hash::Sha384 => aws::EVP_sha384(),
            Hash::Sha512 => aws::EVP_sha512(),
            Hash::Sha512_224 => aws::EVP_sha512_224(),
            Hash::Sha512_256 => aws::EVP_sha512_256(),
            Hash::Sha3_224 => aws::EVP_sha3_224(),
            Hash::Sha3_256 => aws::EVP_sha3_256(),
            Hash::Sha3_384 => aws::EVP_sha3_384(),
            Hash::Sha3_512 => aws::EVP_sha3_512(),
            Hash::Sm3 => return None,
        }
    }))
}

/// Hashes by a function's own interface: EVP's takes memory for each digest.
macro_rules! on_stack {
    ($parts:ident, $out:ident, $state:ident, $init:ident, $update:ident, $last:ident) => {
        // SAFETY: the structure is plain data that the first call sets up; each part is readable for
        // its length; `$out` has the length of a digest, which is what the last call writes.
        unsafe {
            let mut state: aws::$state = std::mem::zeroed();
            aws::$init(&mut state);
            for part in $parts {
                aws::$update(&mut state, part.as_ptr().cast(), part.len());
            }
            let done = aws::$last($out.as_mut_ptr(), &mut state) == 1;
            aws::OPENSSL_cleanse((&raw mut state).cast(), size_of_val(&state));
            done
        }
    };
}

/// `out` = H(parts\[0\] || parts\[1\] || ...), `out` being as long as a digest. `None` for a hash
/// function that AWS-LC does not have, `false` when memory ran out.
#[rustfmt::skip] // A table.
pub(crate) fn digest(hash: Hash, parts: &[&[u8]], out: &mut [u8]) -> Option<bool> {
    assert_eq!(out.len(), hash.len());
    Some(match hash {
        Hash::Md5 => on_stack!(parts, out, MD5_CTX, MD5_Init, MD5_Update, MD5_Final),
        Hash::Sha1 => on_stack!(parts, out, SHA_CTX, SHA1_Init, SHA1_Update, SHA1_Final),
        Hash::Sha224 => on_stack!(parts, out, SHA256_CTX, SHA224_Init, SHA224_Update, SHA224_Final),
        Hash::Sha256 => on_stack!(parts, out, SHA256_CTX, SHA256_Init, SHA256_Update, SHA256_Final),
        Hash::Sha384 => on_stack!(parts, out, SHA512_CTX, SHA384_Init, SHA384_Update, SHA384_Final),
        Hash::Sha512 => on_stack!(parts, out, SHA512_CTX, SHA512_Init, SHA512_Update, SHA512_Final),
        _ => by_evp(method(hash)?, parts, out),
    })
}

fn by_evp(method: Method, parts: &[&[u8]], out: &mut [u8]) -> bool {
    // SAFETY: the table of a hash function.
    assert_eq!(out.len(), unsafe { aws::EVP_MD_size(method.0) });
    // SAFETY: the structure is plain data, for which zero is valid until `EVP_MD_CTX_init` sets it
    // up; each part is readable for its length and `out` writable for the length of a digest, which
    // is all that `EVP_DigestFinal_ex` writes. `cleanup` frees what `init` took, whatever happened
    // in between.
    unsafe {
        let mut state: aws::EVP_MD_CTX = std::mem::zeroed();
        aws::EVP_MD_CTX_init(&mut state);
        let done = aws::EVP_DigestInit_ex(&mut state, method.0, ptr::null_mut()) == 1
            && parts.iter().all(|part| {
                aws::EVP_DigestUpdate(&mut state, part.as_ptr().cast(), part.len()) == 1
            })
            && aws::EVP_DigestFinal_ex(&mut state, out.as_mut_ptr(), ptr::null_mut()) == 1;
        aws::EVP_MD_CTX_cleanup(&mut state);
        done
    }
}

/// HMAC under one key, whose two first blocks are hashed once.
pub(crate) struct Hmac {
    state: aws::HMAC_CTX,
    len: usize,
}

impl Hmac {
    /// Runs `run` with the state for tags of `len` bytes, those of a digest. It stays where it is:
    /// moved, it would leave copies of the key behind. `None` where AWS-LC has no HMAC over the hash
    /// function, or memory ran out.
    pub(crate) fn keyed<R>(
        method: Method,
        len: usize,
        key: &[u8],
        run: impl FnOnce(&mut Hmac) -> R,
    ) -> Option<R> {
        // SAFETY: zero is valid for the plain data of the structure until `HMAC_CTX_init` sets it
        // up.
        let mut hmac = Hmac { state: unsafe { std::mem::zeroed() }, len };
        // SAFETY: a structure of the right type; `key` is readable for its length and, a slice,
        // never null (null would mean the previous key).
        let done = unsafe {
            aws::HMAC_CTX_init(&mut hmac.state);
            aws::HMAC_Init_ex(
                &mut hmac.state,
                key.as_ptr().cast(),
                key.len(),
                method.0,
                ptr::null_mut(),
            )
        };
        (done == 1).then(|| run(&mut hmac))
    }

    /// `out`, as long as a digest = HMAC(key, parts\[0\] || parts\[1\] || ...).
    pub(crate) fn tag(&mut self, parts: &[&[u8]], out: &mut [u8]) {
        assert_eq!(out.len(), self.len);
        let state = &mut self.state;
        // SAFETY: `keyed` set the structure up; a null key and method restart it under its key; each
        // part is readable for its length and `out` writable for the length of a digest.
        let done = unsafe {
            aws::HMAC_Init_ex(state, ptr::null(), 0, ptr::null(), ptr::null_mut()) == 1
                && parts.iter().all(|part| aws::HMAC_Update(state, part.as_ptr(), part.len()) == 1)
                && aws::HMAC_Final(state, out.as_mut_ptr(), ptr::null_mut()) == 1
        };
        // Nothing here allocates or depends on the data: only a structure that was not set up
        // fails.
        assert!(done, "HMAC over a keyed state");
    }
}

impl Drop for Hmac {
    fn drop(&mut self) {
        // SAFETY: `keyed` initialised the structure; this clears it.
        unsafe { aws::HMAC_CTX_cleanup(&mut self.state) };
    }
}
