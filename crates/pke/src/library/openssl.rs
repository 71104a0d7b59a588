//! OpenSSL 3's libcrypto, for what AWS-LC lacks: binary curves, curves with a cofactor, X448, Ed448
//! and SM3.
//!
//! It is not linked: the first operation that needs it opens `libcrypto.so.3` and looks its
//! functions up, and where that fails the operation answers [`OpError::Unsupported`]. A process that
//! never asks for such an operation never loads it.
//!
//! Everything runs in a library context of its own, with the built-in default provider and no
//! configuration file. So what the host process has set up in OpenSSL's default one is neither
//! used nor disturbed; above all, a provider of that configuration that hands its work to this
//! crate does not get it handed back. The queue of errors of the calling thread, which all of the
//! process shares, is left as it was found ([`Quiet`]).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use crate::OpError;

mod ec;
mod evp;

pub(crate) use ec::AnyGroup;
pub use ec::Field;
pub(crate) use evp::{Ecx, sm3};

const MISSING: OpError = OpError::Unsupported;
const FAILED: OpError = OpError::Library("OpenSSL");

/// Opaque objects of OpenSSL.
macro_rules! opaque {
    ($($name:ident)*) => { $(#[allow(clippy::upper_case_acronyms)] #[repr(C)] pub(crate) struct $name { _opaque: [u8; 0] })* };
}
opaque! {
    OSSL_LIB_CTX OSSL_PROVIDER BIGNUM BN_CTX EC_GROUP EC_POINT EVP_PKEY EVP_PKEY_CTX EVP_MD EVP_MD_CTX
}

/// `OSSL_PARAM` of `<openssl/core.h>`: part of the ABI that providers are built on.
#[repr(C)]
struct OSSL_PARAM {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_size: usize,
    return_size: usize,
}

/// Declares [`Libcrypto`], one field per function, and how it is resolved. What some distributions
/// leave out is optional: the others do without it.
macro_rules! libcrypto {
    ($(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*
     optional $(fn $optional:ident($($optional_argument:ty),*) -> $optional_result:ty;)*) => {
        #[allow(non_snake_case)] // OpenSSL's own names.
        struct Libcrypto {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            $($optional:
                Option<unsafe extern "C" fn($($optional_argument),*) -> $optional_result>,)*
            /// Set last, by `open`.
            library: *mut OSSL_LIB_CTX,
        }

        impl Libcrypto {
            /// Looks every function up.
            ///
            /// # Safety
            ///
            /// `handle` is that of OpenSSL's libcrypto, ABI 3.
            unsafe fn resolve(handle: *mut c_void) -> Option<Libcrypto> {
                Some(Libcrypto {
                    $($name: {
                        // SAFETY: the caller's handle; the name ends in a zero.
                        let address = unsafe {
                            libc::dlsym(handle, concat!(stringify!($name), "\0").as_ptr().cast())
                        };
                        if address.is_null() {
                            return None;
                        }
                        // SAFETY: the type is that of the function in OpenSSL 3's headers, and
                        // stays so as long as the library is called libcrypto.so.3.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(address)
                        }
                    },)*
                    $($optional: {
                        // SAFETY: the caller's handle; the name ends in a zero. A null address is
                        // `None`; another is that of a function of this type, as above.
                        unsafe {
                            let address = libc::dlsym(
                                handle,
                                concat!(stringify!($optional), "\0").as_ptr().cast(),
                            );
                            std::mem::transmute::<
                                *mut c_void,
                                Option<
                                    unsafe extern "C" fn($($optional_argument),*)
                                        -> $optional_result,
                                >,
                            >(address)
                        }
                    },)*
                    library: ptr::null_mut(),
                })
            }
        }
    };
}

libcrypto! {
    fn OSSL_LIB_CTX_new() -> *mut OSSL_LIB_CTX;
    fn OSSL_PROVIDER_load(*mut OSSL_LIB_CTX, *const c_char) -> *mut OSSL_PROVIDER;
    fn ERR_set_mark() -> c_int;
    fn ERR_pop_to_mark() -> c_int;
    fn OBJ_sn2nid(*const c_char) -> c_int;

    fn BN_bin2bn(*const u8, c_int, *mut BIGNUM) -> *mut BIGNUM;
    fn BN_bn2binpad(*const BIGNUM, *mut u8, c_int) -> c_int;
    fn BN_num_bits(*const BIGNUM) -> c_int;
    fn BN_set_flags(*mut BIGNUM, c_int);
    fn BN_clear_free(*mut BIGNUM);
    fn BN_CTX_new_ex(*mut OSSL_LIB_CTX) -> *mut BN_CTX;
    fn BN_CTX_free(*mut BN_CTX);

    fn EC_GROUP_new_by_curve_name_ex(*mut OSSL_LIB_CTX, *const c_char, c_int) -> *mut EC_GROUP;
    fn EC_GROUP_new_curve_GFp(
        *const BIGNUM, *const BIGNUM, *const BIGNUM, *mut BN_CTX) -> *mut EC_GROUP;
    fn EC_GROUP_set_generator(
        *mut EC_GROUP, *const EC_POINT, *const BIGNUM, *const BIGNUM) -> c_int;
    fn EC_GROUP_check_discriminant(*const EC_GROUP, *mut BN_CTX) -> c_int;
    fn EC_GROUP_get0_order(*const EC_GROUP) -> *const BIGNUM;
    fn EC_GROUP_get0_cofactor(*const EC_GROUP) -> *const BIGNUM;
    fn EC_GROUP_get_degree(*const EC_GROUP) -> c_int;
    fn EC_GROUP_free(*mut EC_GROUP);
    fn EC_POINT_new(*const EC_GROUP) -> *mut EC_POINT;
    fn EC_POINT_clear_free(*mut EC_POINT);
    fn EC_POINT_set_affine_coordinates(
        *const EC_GROUP, *mut EC_POINT, *const BIGNUM, *const BIGNUM, *mut BN_CTX) -> c_int;
    fn EC_POINT_oct2point(*const EC_GROUP, *mut EC_POINT, *const u8, usize, *mut BN_CTX) -> c_int;
    fn EC_POINT_point2oct(
        *const EC_GROUP, *const EC_POINT, c_uint, *mut u8, usize, *mut BN_CTX) -> usize;
    fn EC_POINT_mul(
        *const EC_GROUP, *mut EC_POINT, *const BIGNUM, *const EC_POINT, *const BIGNUM, *mut BN_CTX)
        -> c_int;
    fn EC_POINT_add(
        *const EC_GROUP, *mut EC_POINT, *const EC_POINT, *const EC_POINT, *mut BN_CTX) -> c_int;
    fn EC_POINT_dbl(*const EC_GROUP, *mut EC_POINT, *const EC_POINT, *mut BN_CTX) -> c_int;

    fn EVP_PKEY_CTX_new_from_name(
        *mut OSSL_LIB_CTX, *const c_char, *const c_char) -> *mut EVP_PKEY_CTX;
    fn EVP_PKEY_CTX_new_from_pkey(
        *mut OSSL_LIB_CTX, *mut EVP_PKEY, *const c_char) -> *mut EVP_PKEY_CTX;
    fn EVP_PKEY_CTX_free(*mut EVP_PKEY_CTX);
    fn EVP_PKEY_free(*mut EVP_PKEY);
    fn EVP_PKEY_fromdata_init(*mut EVP_PKEY_CTX) -> c_int;
    fn EVP_PKEY_fromdata(
        *mut EVP_PKEY_CTX, *mut *mut EVP_PKEY, c_int, *mut OSSL_PARAM) -> c_int;
    fn EVP_PKEY_get_octet_string_param(
        *const EVP_PKEY, *const c_char, *mut u8, usize, *mut usize) -> c_int;
    fn EVP_PKEY_derive_init(*mut EVP_PKEY_CTX) -> c_int;
    fn EVP_PKEY_derive_set_peer(*mut EVP_PKEY_CTX, *mut EVP_PKEY) -> c_int;
    fn EVP_PKEY_derive(*mut EVP_PKEY_CTX, *mut u8, *mut usize) -> c_int;
    fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
    fn EVP_MD_CTX_free(*mut EVP_MD_CTX);
    fn EVP_MD_fetch(*mut OSSL_LIB_CTX, *const c_char, *const c_char) -> *mut EVP_MD;
    fn EVP_DigestInit_ex2(*mut EVP_MD_CTX, *const EVP_MD, *const OSSL_PARAM) -> c_int;
    fn EVP_DigestUpdate(*mut EVP_MD_CTX, *const c_void, usize) -> c_int;
    fn EVP_DigestFinal_ex(*mut EVP_MD_CTX, *mut u8, *mut c_uint) -> c_int;
    fn EVP_DigestSignInit_ex(
        *mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const c_char, *mut OSSL_LIB_CTX, *const c_char,
        *mut EVP_PKEY, *const OSSL_PARAM) -> c_int;
    fn EVP_DigestSign(*mut EVP_MD_CTX, *mut u8, *mut usize, *const u8, usize) -> c_int;
    fn EVP_DigestVerifyInit_ex(
        *mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const c_char, *mut OSSL_LIB_CTX, *const c_char,
        *mut EVP_PKEY, *const OSSL_PARAM) -> c_int;
    fn EVP_DigestVerify(*mut EVP_MD_CTX, *const u8, usize, *const u8, usize) -> c_int;

    optional
    // Absent where OpenSSL was configured with no-ec2m, as Fedora's is.
    fn EC_GROUP_new_curve_GF2m(
        *const BIGNUM, *const BIGNUM, *const BIGNUM, *mut BN_CTX) -> *mut EC_GROUP;
}

// SAFETY: function pointers, and a library context, which OpenSSL lets any thread use.
unsafe impl Send for Libcrypto {}
// SAFETY: as above.
unsafe impl Sync for Libcrypto {}

/// The library, opened by the first call.
fn libcrypto() -> Result<&'static Libcrypto, OpError> {
    static LIBRARY: OnceLock<Option<Libcrypto>> = OnceLock::new();
    LIBRARY.get_or_init(|| open(c"libcrypto.so.3")).as_ref().ok_or(MISSING)
}

fn open(name: &CStr) -> Option<Libcrypto> {
    // SAFETY: a name that ends in a zero. The library's constructors run; it is never closed. Every
    // library that goes by this name has OpenSSL 3's ABI.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            return None;
        }
        let mut resolved = Libcrypto::resolve(handle)?;
        resolved.library = (resolved.OSSL_LIB_CTX_new)();
        let usable = !resolved.library.is_null()
            && !(resolved.OSSL_PROVIDER_load)(resolved.library, c"default".as_ptr()).is_null();
        usable.then_some(resolved)
    }
}

/// While it lives, what OpenSSL reports in this thread goes on top of a mark; then it is dropped.
struct Quiet(&'static Libcrypto);

impl Quiet {
    fn new() -> Result<Quiet, OpError> {
        let library = libcrypto()?;
        // SAFETY: no preconditions.
        unsafe { (library.ERR_set_mark)() };
        Ok(Quiet(library))
    }
}

impl std::ops::Deref for Quiet {
    type Target = Libcrypto;

    fn deref(&self) -> &Libcrypto {
        self.0
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: the mark was set by `new`, and marks nest.
        unsafe { (self.0.ERR_pop_to_mark)() };
    }
}

/// A C object and how to free it.
struct Owned<T> {
    raw: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes `raw` over; null is a failed allocation.
    ///
    /// # Safety
    ///
    /// `raw` is null or an object that nobody else owns and that `free` frees.
    unsafe fn new(raw: *mut T, free: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, OpError> {
        Ok(Owned { raw: NonNull::new(raw).ok_or(FAILED)?, free })
    }

    fn get(&self) -> *mut T {
        self.raw.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: owned, and `free` is its function (`new`).
        unsafe { (self.free)(self.raw.as_ptr()) }
    }
}

fn check(ok: c_int, error: OpError) -> Result<(), OpError> {
    if ok == 1 { Ok(()) } else { Err(error) }
}

/// A length as OpenSSL's older functions take it.
fn int(len: usize) -> Result<c_int, OpError> {
    c_int::try_from(len).map_err(|_| OpError::BadInput("longer than the library takes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_answer() {
        assert!(open(c"libcrypto.so.none").is_none());
        // A library without the functions.
        assert!(open(c"libc.so.6").is_none());
    }

    #[allow(dead_code)] // Looked up, not called.
    mod some {
        use super::*;

        libcrypto! {
            fn ERR_set_mark() -> c_int;
            optional
            fn OBJ_sn2nid(*const c_char) -> c_int;
            fn OBJ_no_such_function() -> c_int;
        }

        /// Whether the optional functions are there.
        pub(super) fn found(handle: *mut c_void) -> Option<[bool; 2]> {
            // SAFETY: a handle of libcrypto.
            let found = unsafe { Libcrypto::resolve(handle) }?;
            Some([found.OBJ_sn2nid.is_some(), found.OBJ_no_such_function.is_some()])
        }
    }

    #[allow(dead_code)] // Looked up, not called.
    mod all {
        use super::*;

        libcrypto! {
            fn ERR_set_mark() -> c_int;
            fn OBJ_no_such_function() -> c_int;
            optional
        }

        pub(super) fn found(handle: *mut c_void) -> bool {
            // SAFETY: a handle of libcrypto.
            unsafe { Libcrypto::resolve(handle) }.is_some()
        }
    }

    #[test]
    fn only_what_is_optional_may_be_missing() {
        // SAFETY: as in `open`.
        let handle = unsafe { libc::dlopen(c"libcrypto.so.3".as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null());
        assert_eq!(some::found(handle), Some([true, false]));
        assert!(!all::found(handle));
    }
}
