//! The functions of `cf.h`, and the calls of registered ones: all `unsafe` of this crate.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int, c_uchar, c_void},
    ptr, slice,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use parcomp::{Error, Params, Provider};

use crate::{params::CfParams, registered::Registered, status};

/// What `struct CfProvider` is. Never freed.
pub struct CfProvider(Arc<dyn Provider>);

/// The providers that were handed out, by name: the same name gives the same pointer, and no other
/// pointer is a provider.
static HANDED_OUT: Mutex<Vec<(String, &'static CfProvider)>> = Mutex::new(Vec::new());

type ChunkFunction = unsafe extern "C" fn(
    *mut c_void,
    *const CfParams,
    *const c_uchar,
    c_int,
    *mut c_uchar,
    c_int,
    *mut c_int,
) -> c_int;

/// As `struct CfProviderOps` in `cf.h`.
#[repr(C)]
pub struct CfProviderOps {
    compress: Option<ChunkFunction>,
    decompress: Option<ChunkFunction>,
    opaque: *mut c_void,
}

/// The functions of a registered provider.
#[derive(Clone, Copy)]
pub(crate) struct Functions {
    compress: ChunkFunction,
    decompress: ChunkFunction,
    opaque: *mut c_void,
}

// SAFETY: cf.h demands that the functions may be called from any thread with `opaque`, which is
// only handed through here.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Functions {
    pub(crate) fn compress(&self, p: &CfParams, src: &[u8], dst: &mut [u8]) -> Result<usize, i32> {
        self.call(self.compress, p, src, dst)
    }

    pub(crate) fn decompress(
        &self,
        p: &CfParams,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, i32> {
        self.call(self.decompress, p, src, dst)
    }

    fn call(
        &self,
        function: ChunkFunction,
        params: &CfParams,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, i32> {
        let int = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
        let room = int(dst.len());
        let mut produced = 0;
        // SAFETY: cf.h's contract of a chunk function: it reads src and writes dst within the
        // sizes given, both valid for the call.
        let code = unsafe {
            let (src, len) = (src.as_ptr(), int(src.len()));
            function(self.opaque, params, src, len, dst.as_mut_ptr(), room, &mut produced)
        };
        match (code, usize::try_from(produced)) {
            (status::OK, Ok(n)) if produced <= room => Ok(n),
            (status::OK, _) => Err(status::DEVICE),
            (code, _) => Err(code),
        }
    }
}

/// Runs `f`; a panic does not cross into C.
fn guarded(f: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(status::INTERNAL)
}

/// A C string as a name.
///
/// # Safety
/// `name` is null or a C string.
unsafe fn name_of<'a>(name: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?.to_str().ok()
}

/// `cfGetProvider` of `cf.h`.
///
/// # Safety
/// As `cf.h` says: `name` is null or a C string, `provider` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfGetProvider(name: *mut c_char, provider: *mut *mut CfProvider) -> c_int {
    guarded(|| {
        if provider.is_null() {
            return status::ARGUMENT;
        }
        // SAFETY: not null; valid by contract.
        unsafe { provider.write(ptr::null_mut()) };
        // SAFETY: the caller's promise.
        let Some(name) = (unsafe { name_of(name) }) else { return status::ARGUMENT };
        let found = match parcomp::provider(name) {
            Ok(found) => found,
            Err(e) => return status::of(&e),
        };
        let mut all = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(n, _)| n == found.name()).map(|(_, p)| *p);
        let one: &'static CfProvider = known.unwrap_or_else(|| {
            let one = Box::leak(Box::new(CfProvider(found.clone())));
            all.push((found.name().to_owned(), one));
            one
        });
        // SAFETY: as above.
        unsafe { provider.write(ptr::from_ref(one).cast_mut()) };
        status::OK
    })
}

/// `cfRegisterProvider` of `cf.h`.
///
/// # Safety
/// As `cf.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfRegisterProvider(
    name: *const c_char,
    ops: *const CfProviderOps,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let Some(name) = (unsafe { name_of(name) }).filter(|n| !n.is_empty()) else {
            return status::ARGUMENT;
        };
        // SAFETY: null or valid by contract.
        let Some(ops) = (unsafe { ops.as_ref() }) else { return status::ARGUMENT };
        let (Some(compress), Some(decompress)) = (ops.compress, ops.decompress) else {
            return status::ARGUMENT;
        };
        let functions = Functions { compress, decompress, opaque: ops.opaque };
        let provider = Registered { name: name.to_owned(), functions };
        parcomp::register(Arc::new(provider)).map_or_else(|e| status::of(&e), |()| status::OK)
    })
}

/// `cfStrError` of `cf.h`.
#[unsafe(no_mangle)]
pub extern "C" fn cfStrError(code: c_int) -> *const c_char {
    status::text(code).as_ptr()
}

/// `cfCompressBuffer` of `cf.h`.
///
/// # Safety
/// As `cf.h` says: the buffers are valid for their sizes, the structures valid or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfCompressBuffer(
    provider: *mut CfProvider,
    params: *mut CfParams,
    src: *mut c_uchar,
    src_size: c_int,
    dst: *mut c_uchar,
    dst_size: c_int,
    produced: *mut c_int,
) -> c_int {
    let call = Call { provider, params, src, src_size, dst, dst_size, produced };
    // SAFETY: the caller's promise.
    guarded(|| unsafe { call.run(parcomp::compress_buffer) })
}

/// `cfDecompressBuffer` of `cf.h`.
///
/// # Safety
/// As [`cfCompressBuffer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfDecompressBuffer(
    provider: *mut CfProvider,
    params: *mut CfParams,
    src: *mut c_uchar,
    src_size: c_int,
    dst: *mut c_uchar,
    dst_size: c_int,
    produced: *mut c_int,
) -> c_int {
    let call = Call { provider, params, src, src_size, dst, dst_size, produced };
    // SAFETY: the caller's promise.
    guarded(|| unsafe { call.run(parcomp::decompress_buffer) })
}

type Way = fn(&dyn Provider, &Params, &[u8], &mut [u8]) -> Result<usize, Error>;

/// The arguments that both ways have.
struct Call {
    provider: *mut CfProvider,
    params: *mut CfParams,
    src: *mut c_uchar,
    src_size: c_int,
    dst: *mut c_uchar,
    dst_size: c_int,
    produced: *mut c_int,
}

impl Call {
    /// Checks everything that can be checked, then runs.
    ///
    /// # Safety
    /// Buffers, structures and `produced` are valid for their sizes, or null.
    unsafe fn run(self, way: Way) -> c_int {
        let Call { provider, params, src, src_size, dst, dst_size, produced } = self;
        if produced.is_null() {
            return status::ARGUMENT;
        }
        // SAFETY: not null; valid by contract. An int needs no drop.
        unsafe { produced.write(0) };
        let (Ok(src_len), Ok(dst_len)) = (usize::try_from(src_size), usize::try_from(dst_size))
        else {
            return status::ARGUMENT;
        };
        let (from, to) = (src.addr(), dst.addr());
        let overlap = from < to.saturating_add(dst_len) && to < from.saturating_add(src_len);
        let nothing = src_len == 0 || dst_len == 0;
        if (src.is_null() && src_len > 0) || (dst.is_null() && dst_len > 0) || (overlap && !nothing)
        {
            return status::ARGUMENT;
        }
        // SAFETY: null or valid by contract; copied at once.
        let Some(params) = (unsafe { params.as_ref() }).copied() else { return status::ARGUMENT };
        let Some(params) = params.to_params() else { return status::PARAM };
        let known = {
            let all = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().map(|(_, p)| *p).find(|p| ptr::eq(*p, provider))
        };
        let Some(provider) = known else { return status::ARGUMENT };
        // An empty slice must not be null.
        let nowhere = ptr::NonNull::<u8>::dangling().as_ptr();
        let src = if src_len == 0 { nowhere } else { src };
        let dst = if dst_len == 0 { nowhere } else { dst };
        // SAFETY: valid for reads of `src_len` bytes by contract, and nobody writes meanwhile.
        let src = unsafe { slice::from_raw_parts(src, src_len) };
        // SAFETY: as above, for writes; it does not overlap `src`. The bytes may not have been
        // written before: they are only written here, never read before that.
        let dst = unsafe { slice::from_raw_parts_mut(dst, dst_len) };
        let (code, n) = match way(&*provider.0, &params, src, dst) {
            Ok(n) => (status::OK, n),
            Err(e @ Error::DstTooSmall { needed }) => (status::of(&e), needed.unwrap_or(0)),
            Err(e) => (status::of(&e), 0),
        };
        // SAFETY: as above.
        unsafe { produced.write(c_int::try_from(n).unwrap_or(0)) };
        code
    }
}
