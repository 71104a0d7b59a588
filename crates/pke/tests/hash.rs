//! Hash functions and HMAC against OpenSSL.

use std::ffi::c_void;
use std::ptr;

use lookaside_pke::{Hash, OpError, hash};
use openssl_sys as ssl;

unsafe extern "C" {
    fn EVP_md5() -> *const ssl::EVP_MD;
    fn EVP_md5_sha1() -> *const ssl::EVP_MD;
    fn EVP_Digest(
        data: *const c_void,
        len: usize,
        out: *mut u8,
        out_len: *mut u32,
        method: *const ssl::EVP_MD,
        engine: *mut c_void,
    ) -> i32;
    fn HMAC(
        method: *const ssl::EVP_MD,
        key: *const c_void,
        key_len: i32,
        data: *const u8,
        len: usize,
        out: *mut u8,
        out_len: *mut u32,
    ) -> *mut u8;
}

#[test]
fn agrees_with_openssl() {
    for hash in Hash::ALL {
        // SAFETY: these take nothing, or a string that ends in zero.
        let method = unsafe {
            match hash {
                // OpenSSL keeps it in a provider that is not loaded.
                Hash::Ripemd160 => continue,
                // Ours lacks it.
                Hash::Sm3 => continue,
                Hash::Md5 => EVP_md5(),
                Hash::Sha1 => ssl::EVP_sha1(),
                Hash::Md5Sha1 => EVP_md5_sha1(),
                Hash::Sha224 => ssl::EVP_sha224(),
                Hash::Sha256 => ssl::EVP_sha256(),
                Hash::Sha384 => ssl::EVP_sha384(),
                Hash::Sha512 => ssl::EVP_sha512(),
                Hash::Sha512_224 => ssl::EVP_get_digestbyname(c"SHA512-224".as_ptr()),
                Hash::Sha512_256 => ssl::EVP_get_digestbyname(c"SHA512-256".as_ptr()),
                Hash::Sha3_224 => ssl::EVP_sha3_224(),
                Hash::Sha3_256 => ssl::EVP_sha3_256(),
                Hash::Sha3_384 => ssl::EVP_sha3_384(),
                Hash::Sha3_512 => ssl::EVP_sha3_512(),
            }
        };
        assert!(!method.is_null(), "{hash:?}");
        let data: Vec<u8> = (0..200u8).collect();
        for len in [0, 1, 63, 64, 137, 200] {
            let data = &data[..len];
            let (mut wanted, mut wanted_len) = ([0; 64], 0);
            // SAFETY: `data` is readable, `wanted` as long as the longest digest.
            let ok = unsafe {
                EVP_Digest(
                    data.as_ptr().cast(),
                    len,
                    wanted.as_mut_ptr(),
                    &mut wanted_len,
                    method,
                    ptr::null_mut(),
                )
            };
            assert_eq!(ok, 1);
            let digest = hash::digest(hash, &[&data[..len / 3], &data[len / 3..]]).unwrap();
            assert_eq!(*digest, wanted[..wanted_len as usize], "{hash:?} {len}");
            if hash == Hash::Md5Sha1 {
                continue;
            }
            // SAFETY: as above.
            let tag = unsafe {
                HMAC(
                    method,
                    data.as_ptr().cast(),
                    len as i32,
                    data.as_ptr(),
                    len,
                    wanted.as_mut_ptr(),
                    &mut wanted_len,
                )
            };
            assert!(!tag.is_null());
            let parts = [&data[..len / 2], &[], &data[len / 2..]];
            let tags = hash::hmac(hash, data, |hmac| [hmac.tag(&parts), hmac.tag(&parts)]);
            for tag in tags.unwrap() {
                assert_eq!(*tag, wanted[..wanted_len as usize], "{hash:?} {len}");
            }
        }
    }
    for hash in [Hash::Ripemd160, Hash::Md5Sha1, Hash::Sm3] {
        assert_eq!(hash::hmac(hash, b"key", |_| ()).err(), Some(OpError::Unsupported), "{hash:?}");
    }
    assert_eq!(hash::digest(Hash::Sm3, &[b"abc"]).err(), Some(OpError::Unsupported));
}
