//! What OpenSSL's headers declare, as far as a provider needs it (`core.h`, `core_dispatch.h`,
//! `async.h`, `evp.h`; 3.0 and later).

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `OSSL_DISPATCH`: one function of a table; a table ends with id 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dispatch {
    /// Which function (`OSSL_FUNC_...`).
    pub id: c_int,
    /// The function, whatever its type.
    pub function: *const (),
}

// SAFETY: an immutable number and the address of a function.
unsafe impl Sync for Dispatch {}
// SAFETY: as above.
unsafe impl Send for Dispatch {}

impl Dispatch {
    /// The end of a table.
    pub const END: Dispatch = Dispatch { id: 0, function: core::ptr::null() };

    /// An entry.
    pub const fn new(id: c_int, function: *const ()) -> Dispatch {
        Dispatch { id, function }
    }
}

/// `OSSL_ALGORITHM`: a row of a list of implementations; a list ends with null names.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Names, separated by colons.
    pub names: *const c_char,
    /// Properties.
    pub properties: *const c_char,
    /// The functions.
    pub implementation: *const Dispatch,
    /// What it is, for lists.
    pub description: *const c_char,
}

// SAFETY: pointers to immutable static data.
unsafe impl Sync for Algorithm {}
// SAFETY: as above.
unsafe impl Send for Algorithm {}

impl Algorithm {
    /// The end of a list.
    pub const END: Algorithm = Algorithm {
        names: core::ptr::null(),
        properties: core::ptr::null(),
        implementation: core::ptr::null(),
        description: core::ptr::null(),
    };

    /// A row.
    pub const fn new(
        names: &'static CStr,
        implementation: &'static [Dispatch],
        description: &'static CStr,
    ) -> Algorithm {
        Algorithm {
            names: names.as_ptr(),
            properties: c"provider=lookaside".as_ptr(),
            implementation: implementation.as_ptr(),
            description: description.as_ptr(),
        }
    }
}

/// `OSSL_ITEM`: a reason code and its text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Item {
    /// The code.
    pub id: c_uint,
    /// The text.
    pub text: *const c_char,
}

// SAFETY: a number and a pointer to an immutable static string.
unsafe impl Sync for Item {}

/// `OSSL_PARAM`: a named value; an array ends with a null key.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    /// The name.
    pub key: *const c_char,
    /// One of the constants here.
    pub data_type: c_uint,
    /// The value.
    pub data: *mut c_void,
    /// The value's size, or how much room there is.
    pub data_size: usize,
    /// How much was written.
    pub return_size: usize,
}

// SAFETY: only descriptors, whose values are null, are shared between threads.
unsafe impl Sync for Param {}

/// A native integer of any size.
pub const INTEGER: c_uint = 1;
/// A native unsigned integer of any size.
pub const UNSIGNED_INTEGER: c_uint = 2;
/// Text, in place.
pub const UTF8_STRING: c_uint = 4;
/// Bytes, in place.
pub const OCTET_STRING: c_uint = 5;
/// A pointer to text.
pub const UTF8_PTR: c_uint = 6;
/// A pointer to bytes.
pub const OCTET_PTR: c_uint = 7;
/// `OSSL_PARAM_UNMODIFIED`.
pub const UNMODIFIED: usize = usize::MAX;

impl Param {
    /// The end of an array.
    pub const END: Param = Param {
        key: core::ptr::null(),
        data_type: 0,
        data: core::ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    };

    const fn descriptor(key: &'static CStr, data_type: c_uint, data_size: usize) -> Param {
        Param {
            key: key.as_ptr(),
            data_type,
            data: core::ptr::null_mut(),
            data_size,
            return_size: UNMODIFIED,
        }
    }

    /// Describes an `int`.
    pub const fn int(key: &'static CStr) -> Param {
        Param::descriptor(key, INTEGER, size_of::<c_int>())
    }

    /// Describes an `unsigned int`.
    pub const fn uint(key: &'static CStr) -> Param {
        Param::descriptor(key, UNSIGNED_INTEGER, size_of::<c_uint>())
    }

    /// Describes a `size_t`.
    pub const fn size(key: &'static CStr) -> Param {
        Param::descriptor(key, UNSIGNED_INTEGER, size_of::<usize>())
    }

    /// Describes an unsigned number of any length.
    pub const fn number(key: &'static CStr) -> Param {
        Param::descriptor(key, UNSIGNED_INTEGER, 0)
    }

    /// Describes text.
    pub const fn text(key: &'static CStr) -> Param {
        Param::descriptor(key, UTF8_STRING, 0)
    }

    /// Describes a pointer to text.
    pub const fn text_pointer(key: &'static CStr) -> Param {
        Param::descriptor(key, UTF8_PTR, 0)
    }

    /// Describes bytes.
    pub const fn octets(key: &'static CStr) -> Param {
        Param::descriptor(key, OCTET_STRING, 0)
    }

    /// Describes a pointer to bytes.
    pub const fn octets_pointer(key: &'static CStr) -> Param {
        Param::descriptor(key, OCTET_PTR, 0)
    }
}

/// `OSSL_CALLBACK`.
pub type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;
/// `ASYNC_callback_fn`.
pub type AsyncCallback = unsafe extern "C" fn(*mut c_void) -> c_int;
/// The cleanup function of a wait fd.
pub type WaitCleanup = unsafe extern "C" fn(*mut WaitCtx, *const c_void, c_int, *mut c_void);

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])* #[repr(C)] pub struct $name { _opaque: [u8; 0] })*
    };
}

opaque! {
    /// `OSSL_CORE_HANDLE`.
    CoreHandle
    /// `OSSL_LIB_CTX`.
    LibCtx
    /// `ASYNC_JOB`.
    Fibre
    /// `ASYNC_WAIT_CTX`.
    WaitCtx
    /// `EVP_MD`.
    EvpMd
    /// `EVP_MD_CTX`.
    EvpMdCtx
}

// OSSL_FUNC_CORE_...
/// `OSSL_FUNC_CORE_GET_PARAMS`.
pub const CORE_GET_PARAMS: c_int = 2;
/// `OSSL_FUNC_CORE_GET_LIBCTX`.
pub const CORE_GET_LIBCTX: c_int = 4;
/// `OSSL_FUNC_CORE_NEW_ERROR`.
pub const CORE_NEW_ERROR: c_int = 5;
/// `OSSL_FUNC_CORE_SET_ERROR_DEBUG`.
pub const CORE_SET_ERROR_DEBUG: c_int = 6;
/// `OSSL_FUNC_CORE_VSET_ERROR`.
pub const CORE_VSET_ERROR: c_int = 7;
/// `OSSL_FUNC_CORE_OBJ_ADD_SIGID`.
pub const CORE_OBJ_ADD_SIGID: c_int = 11;
/// `OSSL_FUNC_CRYPTO_MALLOC`.
pub const CRYPTO_MALLOC: c_int = 20;

/// `core_get_params`.
pub type CoreGetParams = unsafe extern "C" fn(*const CoreHandle, *mut Param) -> c_int;
/// `core_get_libctx`.
pub type CoreGetLibctx = unsafe extern "C" fn(*const CoreHandle) -> *mut LibCtx;
/// `core_new_error`.
pub type CoreNewError = unsafe extern "C" fn(*const CoreHandle);
/// `core_set_error_debug`.
pub type CoreSetErrorDebug =
    unsafe extern "C" fn(*const CoreHandle, *const c_char, c_int, *const c_char);
/// `core_vset_error`. A `va_list` argument is a pointer in the ABIs of x86-64 and aarch64.
pub type CoreVsetError = unsafe extern "C" fn(*const CoreHandle, u32, *const c_char, *mut c_void);

/// `OSSL_OP_DIGEST`.
pub const OP_DIGEST: c_int = 1;
/// `OSSL_OP_CIPHER`.
pub const OP_CIPHER: c_int = 2;
/// `OSSL_OP_MAC`.
pub const OP_MAC: c_int = 3;
/// `OSSL_OP_KDF`.
pub const OP_KDF: c_int = 4;
/// `OSSL_OP_KEYMGMT`.
pub const OP_KEYMGMT: c_int = 10;
/// `OSSL_OP_KEYEXCH`.
pub const OP_KEYEXCH: c_int = 11;
/// `OSSL_OP_SIGNATURE`.
pub const OP_SIGNATURE: c_int = 12;
/// `OSSL_OP_ASYM_CIPHER`.
pub const OP_ASYM_CIPHER: c_int = 13;

/// `ASYNC_STATUS_OK`.
pub const ASYNC_STATUS_OK: c_int = 2;

#[link(name = "crypto")]
unsafe extern "C" {
    /// Pauses the current job.
    pub fn ASYNC_pause_job() -> c_int;
    /// The current job, or null.
    pub fn ASYNC_get_current_job() -> *mut Fibre;
    /// The wait context of a job.
    pub fn ASYNC_get_wait_ctx(fibre: *mut Fibre) -> *mut WaitCtx;
    /// Adds an fd.
    pub fn ASYNC_WAIT_CTX_set_wait_fd(
        ctx: *mut WaitCtx,
        key: *const c_void,
        fd: c_int,
        custom: *mut c_void,
        cleanup: Option<WaitCleanup>,
    ) -> c_int;
    /// Finds an fd.
    pub fn ASYNC_WAIT_CTX_get_fd(
        ctx: *mut WaitCtx,
        key: *const c_void,
        fd: *mut c_int,
        custom: *mut *mut c_void,
    ) -> c_int;
    /// The application's callback, if it has set one.
    pub fn ASYNC_WAIT_CTX_get_callback(
        ctx: *mut WaitCtx,
        callback: *mut Option<AsyncCallback>,
        arg: *mut *mut c_void,
    ) -> c_int;
    /// Tells the application how the operation does.
    pub fn ASYNC_WAIT_CTX_set_status(ctx: *mut WaitCtx, status: c_int) -> c_int;

    /// Finds a digest.
    pub fn EVP_MD_fetch(ctx: *mut LibCtx, name: *const c_char, propq: *const c_char) -> *mut EvpMd;
    /// Releases a digest.
    pub fn EVP_MD_free(md: *mut EvpMd);
    /// Whether a digest has this name.
    pub fn EVP_MD_is_a(md: *const EvpMd, name: *const c_char) -> c_int;
    /// A new digest state.
    pub fn EVP_MD_CTX_new() -> *mut EvpMdCtx;
    /// Frees a digest state.
    pub fn EVP_MD_CTX_free(ctx: *mut EvpMdCtx);
    /// Copies a digest state.
    pub fn EVP_MD_CTX_copy_ex(to: *mut EvpMdCtx, from: *const EvpMdCtx) -> c_int;
    /// Starts a digest.
    pub fn EVP_DigestInit_ex2(ctx: *mut EvpMdCtx, md: *const EvpMd, params: *const Param) -> c_int;
    /// Goes on with a digest.
    pub fn EVP_DigestUpdate(ctx: *mut EvpMdCtx, data: *const c_void, len: usize) -> c_int;
    /// Ends a digest.
    pub fn EVP_DigestFinal_ex(ctx: *mut EvpMdCtx, out: *mut u8, len: *mut c_uint) -> c_int;
    /// A function that libcrypto gives to providers too: its address says where libcrypto is.
    pub fn CRYPTO_malloc(len: usize, file: *const c_char, line: c_int) -> *mut c_void;
}

opaque! {
    /// `EC_GROUP`.
    EcGroup
    /// `EC_POINT`.
    EcPoint
    /// `BIGNUM`.
    Bignum
}

#[link(name = "crypto")]
unsafe extern "C" {
    /// A named curve.
    pub fn EC_GROUP_new_by_curve_name(nid: c_int) -> *mut EcGroup;
    /// The order of a curve's generator.
    pub fn EC_GROUP_get0_order(group: *const EcGroup) -> *const Bignum;
    /// A new point.
    pub fn EC_POINT_new(group: *const EcGroup) -> *mut EcPoint;
    /// Frees a point.
    pub fn EC_POINT_free(point: *mut EcPoint);
    /// Reads a point, which must lie on the curve.
    pub fn EC_POINT_oct2point(
        group: *const EcGroup,
        point: *mut EcPoint,
        bytes: *const u8,
        len: usize,
        bn_ctx: *mut c_void,
    ) -> c_int;
    /// Writes a point.
    pub fn EC_POINT_point2oct(
        group: *const EcGroup,
        point: *const EcPoint,
        form: c_int,
        out: *mut u8,
        len: usize,
        bn_ctx: *mut c_void,
    ) -> usize;
    /// n G + m Q.
    pub fn EC_POINT_mul(
        group: *const EcGroup,
        out: *mut EcPoint,
        n: *const Bignum,
        q: *const EcPoint,
        m: *const Bignum,
        bn_ctx: *mut c_void,
    ) -> c_int;
    /// Whether a point is the neutral element.
    pub fn EC_POINT_is_at_infinity(group: *const EcGroup, point: *const EcPoint) -> c_int;
}
