//! `OSSL_provider_init` and the provider's own functions (provider(7), provider-base(7)).
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    mem, ptr,
};
use std::{
    ffi::CString,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    algorithms, capability,
    dispatch::{kept, wall},
    error::{Error, Reason, Result},
    ffi::{
        Algorithm, CORE_GET_LIBCTX, CORE_GET_PARAMS, CORE_NEW_ERROR, CORE_SET_ERROR_DEBUG,
        CORE_VSET_ERROR, CRYPTO_MALLOC, CRYPTO_malloc, Callback, CoreGetLibctx, CoreGetParams,
        CoreHandle, CoreNewError, CoreSetErrorDebug, CoreVsetError, Dispatch, Item, LibCtx, Param,
    },
    param::{Answers, ask_texts},
    provider::Provider,
    settings::Settings,
    statistics,
};

/// The library that loaded a provider: its handle and its functions.
pub struct Core {
    handle: *const CoreHandle,
    libctx: *mut LibCtx,
    get_params: CoreGetParams,
    new_error: CoreNewError,
    set_error_debug: CoreSetErrorDebug,
    vset_error: CoreVsetError,
}

// SAFETY: the core's functions may be called from any thread, with a handle that is valid for as
// long as the provider is loaded.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    /// # Safety
    /// As OpenSSL calls `OSSL_provider_init`.
    unsafe fn new(handle: *const CoreHandle, functions: *const Dispatch) -> Option<Core> {
        let mut found = [ptr::null::<()>(); 32];
        let mut at = functions;
        // SAFETY: the array goes on until id 0.
        while let Dispatch { id: 1.., function } = unsafe { *at } {
            // SAFETY: as above.
            let id = unsafe { (*at).id } as usize;
            if let Some(place) = found.get_mut(id) {
                *place = function;
            }
            // SAFETY: that was not the end.
            at = unsafe { at.add(1) };
        }
        let get = |id: c_int| Some(found[id as usize]).filter(|f| !f.is_null());
        // The functions of the core work on its own libcrypto, and so must ours: a program that has
        // a second, static one runs jobs that we would not see.
        if !same_library(get(CRYPTO_MALLOC)?, CRYPTO_malloc as *const ()) {
            return None;
        }
        // SAFETY: core_dispatch.h says which type the function of each number has.
        unsafe {
            let get_libctx: CoreGetLibctx = mem::transmute(get(CORE_GET_LIBCTX)?);
            Some(Core {
                handle,
                libctx: get_libctx(handle),
                get_params: mem::transmute::<*const (), CoreGetParams>(get(CORE_GET_PARAMS)?),
                new_error: mem::transmute::<*const (), CoreNewError>(get(CORE_NEW_ERROR)?),
                set_error_debug: mem::transmute::<*const (), CoreSetErrorDebug>(get(
                    CORE_SET_ERROR_DEBUG,
                )?),
                vset_error: mem::transmute::<*const (), CoreVsetError>(get(CORE_VSET_ERROR)?),
            })
        }
    }

    /// The library context that the provider was loaded into.
    pub fn libctx(&self) -> *mut LibCtx {
        self.libctx
    }

    /// Puts an error into the calling thread's queue.
    #[cold]
    pub fn raise(&self, error: &Error) {
        // `vset_error` takes a format: no percent sign may reach it.
        let text = error.detail.replace(['\0', '%'], "?");
        let text = CString::new(text).unwrap_or_default();
        let detail = if text.is_empty() { ptr::null() } else { text.as_ptr() };
        // A `va_list` that nothing is taken from; 32 bytes are enough on x86-64 and aarch64.
        let mut arguments = [0u64; 4];
        // SAFETY: the core's functions with their handle; all strings end with NUL.
        unsafe {
            (self.new_error)(self.handle);
            (self.set_error_debug)(self.handle, c"lookaside".as_ptr(), 0, c"".as_ptr());
            (self.vset_error)(
                self.handle,
                error.reason.code(),
                detail,
                arguments.as_mut_ptr().cast(),
            );
        }
    }

    /// What openssl.cnf says under these names.
    fn configured(&self, keys: &[CString]) -> Vec<Option<String>> {
        // SAFETY: the core fills in an array of requests for pointers to text.
        ask_texts(keys, |array| unsafe { (self.get_params)(self.handle, array) })
    }
}

/// Whether two functions lie in the same shared object. `dladdr` walks all of its symbols, 0.3 ms of
/// libcrypto's: it is not called where they are one function.
fn same_library(a: *const (), b: *const ()) -> bool {
    if core::ptr::eq(a, b) {
        return true;
    }
    let base = |f: *const ()| {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut info: libc::Dl_info = unsafe { mem::zeroed() };
        // SAFETY: `dladdr` only looks the address up.
        let known = unsafe { libc::dladdr(f.cast(), &mut info) };
        (known != 0).then_some(info.dli_fbase)
    };
    base(a) == base(b)
}

static REASONS: [Item; Reason::ALL.len() + 1] = {
    let mut items = [Item { id: 0, text: ptr::null() }; Reason::ALL.len() + 1];
    let mut i = 0;
    while i < Reason::ALL.len() {
        items[i] = Item { id: Reason::ALL[i].0 as u32, text: Reason::ALL[i].1.as_ptr() };
        i += 1;
    }
    items
};

static FUNCTIONS: [Dispatch; 7] = [
    Dispatch::new(1024, teardown as *const ()),
    Dispatch::new(1025, gettable_params as *const ()),
    Dispatch::new(1026, get_params as *const ()),
    Dispatch::new(1027, query_operation as *const ()),
    Dispatch::new(1029, get_reason_strings as *const ()),
    Dispatch::new(1030, get_capabilities as *const ()),
    Dispatch::END,
];

/// The entry point.
///
/// # Safety
/// As OpenSSL calls it: provider(7).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const CoreHandle,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    provctx: *mut *mut c_void,
) -> c_int {
    // SAFETY: OpenSSL's arguments.
    let Some(core) = (unsafe { Core::new(handle, functions) }) else {
        wall(|| {
            eprintln!(
                "lookaside: the program has its own libcrypto; the provider needs the shared one"
            );
        });
        return 0;
    };
    let made = wall(|| {
        let settings = Settings::read(|keys| core.configured(keys));
        // Loading by configuration, OpenSSL drops our error and goes on without us: so that nobody
        // wonders, it is printed too.
        let refuse = |e: &Error| {
            eprintln!("lookaside: not loaded: {}", e.detail);
            core.raise(e);
        };
        settings.inspect_err(refuse).ok()
    });
    let Some(settings) = made.flatten() else { return 0 };
    let Some(provider) = wall(|| Provider::new(core, settings)) else { return 0 };
    match provider {
        Ok(provider) => {
            wall(|| report_at_exit(&provider));
            // SAFETY: OpenSSL lends room for both results.
            unsafe {
                *out = FUNCTIONS.as_ptr();
                *provctx = Arc::into_raw(provider).cast_mut().cast();
            }
            1
        }
        Err(e) => {
            wall(|| eprintln!("lookaside: {:?} {}", e.reason, e.detail));
            0
        }
    }
}

/// The provider behind a `provctx`.
///
/// # Safety
/// `provctx` is what `OSSL_provider_init` gave, and not torn down yet.
pub(crate) unsafe fn provider<'a>(provctx: *mut c_void) -> &'a Provider {
    // SAFETY: as required here.
    unsafe { &*provctx.cast::<Provider>() }
}

/// As [`provider`], and keeps it.
///
/// # Safety
/// As [`provider`].
pub(crate) unsafe fn keep(provctx: *mut c_void) -> Arc<Provider> {
    let provider: *const Provider = provctx.cast();
    // SAFETY: it came from `Arc::into_raw`, and the provider's own reference is still there.
    unsafe {
        Arc::increment_strong_count(provider);
        Arc::from_raw(provider)
    }
}

unsafe extern "C" fn teardown(provctx: *mut c_void) {
    // SAFETY: OpenSSL gives back what init made, once.
    let provider = unsafe { Arc::from_raw(provctx.cast_const().cast::<Provider>()) };
    wall(kept::unload);
    wall(|| statistics::report(&provider));
    wall(|| forget_at_exit(&provider));
    wall(|| drop(provider));
}

/// The providers that are loaded. A program that exits with objects of ours left (`openssl speed`)
/// never tears us down, and its statistics are wanted all the same.
static LOADED: Mutex<Vec<Weak<Provider>>> = Mutex::new(Vec::new());

fn loaded() -> MutexGuard<'static, Vec<Weak<Provider>>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn report_at_exit(provider: &Arc<Provider>) {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    loaded().push(Arc::downgrade(provider));
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: a static function, in a library that is never unmapped (`-z nodelete`).
        unsafe { libc::atexit(at_exit) };
    }
}

fn forget_at_exit(provider: &Arc<Provider>) {
    loaded().retain(|other| !ptr::eq(other.as_ptr(), Arc::as_ptr(provider)));
}

extern "C" fn at_exit() {
    wall(|| {
        let providers = mem::take(&mut *loaded());
        providers.iter().filter_map(Weak::upgrade).for_each(|p| statistics::report(&p));
    });
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    statistics::GETTABLE.as_ptr()
}

unsafe extern "C" fn get_params(provctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: OpenSSL's arguments.
    let (provider, mut answers) = unsafe { (provider(provctx), Answers::new(params)) };
    let answer = wall(|| -> Result<()> {
        answers.text(c"name", c"Lookaside provider")?;
        answers.text(c"version", VERSION)?;
        answers.text(c"buildinfo", BUILD)?;
        answers.int(c"status", 1)?;
        statistics::answer(provider, &mut answers)
    });
    match answer {
        Some(Ok(())) => 1,
        Some(Err(e)) => {
            provider.core.raise(&e);
            0
        }
        None => 0,
    }
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };
const BUILD: &CStr = match CStr::from_bytes_with_nul(
    concat!("lookaside-openssl ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => c"",
};

unsafe extern "C" fn query_operation(
    provctx: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const Algorithm {
    // SAFETY: OpenSSL's arguments.
    let provider = unsafe {
        *no_cache = 0;
        provider(provctx)
    };
    algorithms::list(&provider.offer, operation)
}

unsafe extern "C" fn get_reason_strings(_provctx: *mut c_void) -> *const Item {
    REASONS.as_ptr()
}

unsafe extern "C" fn get_capabilities(
    provctx: *mut c_void,
    capability: *const c_char,
    callback: Option<Callback>,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: OpenSSL's arguments.
    let (provider, name) = unsafe { (provider(provctx), CStr::from_ptr(capability)) };
    let Some(callback) = callback.filter(|_| name == c"TLS-GROUP") else { return 0 };
    let told = wall(|| {
        // SAFETY: OpenSSL's callback with its argument.
        capability::tls_groups(&provider.offer)
            .all(|mut group| unsafe { group.deliver(callback, arg) })
    });
    c_int::from(told == Some(true))
}
