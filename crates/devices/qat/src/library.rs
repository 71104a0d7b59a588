//! The card's library, loaded into a namespace of its own: its symbols, its libc and its allocator are apart from
//! ours, so that `libqat.so.4` of whoever made it never meets another one in this process.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};
use std::{ffi::CString, os::unix::ffi::OsStrExt, path::Path};

use lookaside_quickassist::functions;

use crate::Refusal;

/// What `dlmopen` opened. Once started it is never closed: libraries of drivers leave threads and handlers behind.
struct Handle(NonNull<c_void>);

/// What the linker says went wrong last.
fn reason() -> String {
    // SAFETY: no arguments; the message is valid until the thread's next call of the linker.
    let message = unsafe { libc::dlerror() };
    match NonNull::new(message) {
        // SAFETY: a string that ends in zero.
        Some(message) => unsafe { CStr::from_ptr(message.as_ptr()) }.to_string_lossy().into_owned(),
        None => "no reason given".to_owned(),
    }
}

fn open(namespace: libc::Lmid_t, path: &Path) -> Result<Handle, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a zero byte".to_owned())?;
    // SAFETY: a text that ends in zero; what the library's constructors do is its own affair.
    let handle = unsafe { libc::dlmopen(namespace, name.as_ptr(), libc::RTLD_NOW) };
    NonNull::new(handle).map(Handle).ok_or_else(reason)
}

impl Handle {
    fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a library that is open, and a text that ends in zero.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Of a library that was not started.
    fn close(&self) {
        // SAFETY: opened once, and nothing of it is used from here on.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }

    fn namespace(&self) -> Result<libc::Lmid_t, String> {
        let mut id: libc::Lmid_t = 0;
        let place = (&raw mut id).cast();
        // SAFETY: a library that is open, and a place for the answer.
        match unsafe { libc::dlinfo(self.0.as_ptr(), libc::RTLD_DI_LMID, place) } {
            0 => Ok(id),
            _ => Err(reason()),
        }
    }
}

macro_rules! library {
    ($($name:ident)*; $($optional:ident)*) => {
        /// The functions of the card's library.
        #[allow(non_snake_case)]
        pub(crate) struct Library {
            $(pub(crate) $name: functions::$name,)*
            $(pub(crate) $optional: Option<functions::$optional>,)*
        }

        impl Library {
            fn resolve(qat: &Handle, usdm: Option<&Handle>) -> Result<Library, String> {
                Ok(Library {
                    $($name: match qat.symbol(stringify!($name)) {
                        // SAFETY: the interface's function of this name has this type.
                        Some(f) => unsafe {
                            core::mem::transmute::<*mut c_void, functions::$name>(f.as_ptr())
                        },
                        None => return Err(concat!("it has no ", stringify!($name)).to_owned()),
                    },)*
                    $($optional: qat
                        .symbol(stringify!($optional))
                        .or_else(|| usdm?.symbol(stringify!($optional)))
                        // SAFETY: as above.
                        .map(|f| unsafe {
                            core::mem::transmute::<*mut c_void, functions::$optional>(f.as_ptr())
                        }),)*
                })
            }
        }
    };
}

library! {
    icp_sal_userStart icp_sal_DcPollInstance
    cpaDcGetNumInstances cpaDcGetInstances cpaDcInstanceGetInfo2 cpaDcQueryCapabilities
    cpaDcSetAddressTranslation cpaDcGetNumIntermediateBuffers cpaDcStartInstance
    cpaDcBufferListGetMetaSize cpaDcDeflateCompressBound
    cpaDcGetSessionSize cpaDcInitSession cpaDcRemoveSession
    cpaDcCompressData2 cpaDcDecompressData2;
    qaeMemAllocNUMA qaeMemFreeNUMA qaeVirtToPhysNUMA
}

impl Library {
    /// Loads a library, with its `libusdm.so.0`: the one beside it, if there is one, before it asks for any.
    pub(crate) fn load(path: &Path) -> Result<Library, Refusal> {
        Library::open(path).map_err(|why| Refusal::new(path, why))
    }

    fn open(path: &Path) -> Result<Library, String> {
        let beside = path.parent().map(|folder| folder.join("libusdm.so.0"));
        let usdm = beside.filter(|usdm| usdm.exists());
        let usdm = usdm.map(|usdm| open(libc::LM_ID_NEWLM, &usdm)).transpose()?;
        let namespace = usdm.as_ref().map_or(Ok(libc::LM_ID_NEWLM), Handle::namespace);
        let opened = namespace.and_then(|namespace| open(namespace, path));
        let resolved = opened
            .and_then(|qat| Library::resolve(&qat, usdm.as_ref()).inspect_err(|_| qat.close()));
        // There are sixteen namespaces.
        resolved.inspect_err(|_| usdm.iter().for_each(Handle::close))
    }
}
