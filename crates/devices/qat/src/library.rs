//! The card's library, loaded into a namespace of its own: its symbols and its libc are apart from ours, so that `libqat.so.4`
//! of whoever made it never meets another one in this process. They have an [allocator] in common.
//!
//! [allocator]: crate::allocator
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};
use std::{ffi::CString, os::unix::ffi::OsStrExt, path::Path};

use lookaside_quickassist::functions;

use crate::{
    Refusal,
    allocator::Allocator,
    keys::{Create, Keys},
};

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

macro_rules! functions {
    ($(#[$doc:meta])* $set:ident: $($name:ident)*) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        pub(crate) struct $set {
            $(pub(crate) $name: functions::$name,)*
        }

        impl $set {
            fn resolve(qat: &Handle) -> Result<$set, String> {
                Ok($set {
                    $($name: match qat.symbol(stringify!($name)) {
                        // SAFETY: the interface's function of this name has this type.
                        Some(f) => unsafe {
                            core::mem::transmute::<*mut c_void, functions::$name>(f.as_ptr())
                        },
                        None => return Err(concat!("it has no ", stringify!($name)).to_owned()),
                    },)*
                })
            }
        }
    };
}

functions! {
    /// Those of compression.
    Compression:
    cpaDcGetNumInstances cpaDcGetInstances cpaDcInstanceGetInfo2 cpaDcQueryCapabilities
    cpaDcSetAddressTranslation cpaDcGetNumIntermediateBuffers cpaDcStartInstance
    cpaDcBufferListGetMetaSize cpaDcDeflateCompressBound
    cpaDcGetSessionSize cpaDcInitSession cpaDcRemoveSession
    cpaDcCompressData2 cpaDcDecompressData2 icp_sal_DcPollInstance
}

#[cfg(feature = "crypto")]
functions! {
    /// Those of cryptography.
    Cryptography:
    cpaCyGetNumInstances cpaCyGetInstances cpaCyInstanceGetInfo2 cpaCyQueryCapabilities
    cpaCySymQueryCapabilities cpaCySetAddressTranslation cpaCyStartInstance
    cpaCyBufferListGetMetaSize
    cpaCySymSessionCtxGetSize cpaCySymInitSession cpaCySymRemoveSession cpaCySymPerformOp
    cpaCyRsaDecrypt cpaCyEcdsaSignRS cpaCyEcPointMultiply icp_sal_CyPollInstance
}

functions! {
    /// Those that start it.
    Start:
    icp_sal_userStart
}

functions! {
    /// Those of memory, which may lie in `libusdm.so.0`.
    Pinned:
    qaeMemAllocNUMA qaeMemFreeNUMA qaeVirtToPhysNUMA
}

/// The functions of the card's library.
pub(crate) struct Library {
    pub(crate) start: Start,
    pub(crate) dc: Compression,
    /// A library may do without.
    #[cfg(feature = "crypto")]
    pub(crate) cy: Option<Cryptography>,
    pub(crate) pinned: Option<Pinned>,
}

impl Library {
    fn resolve(qat: &Handle, usdm: Option<&Handle>) -> Result<Library, String> {
        let pinned = Pinned::resolve(qat).ok();
        Ok(Library {
            start: Start::resolve(qat)?,
            dc: Compression::resolve(qat)?,
            #[cfg(feature = "crypto")]
            cy: Cryptography::resolve(qat).ok(),
            pinned: pinned.or_else(|| Pinned::resolve(usdm?).ok()),
        })
    }
}

impl Library {
    /// Loads a library, with its `libusdm.so.0`: the one beside it, if there is one, before it asks for any.
    pub(crate) fn load(path: &Path) -> Result<Library, Refusal> {
        Library::open(path).map_err(|why| Refusal::new(path, why))
    }

    fn open(path: &Path) -> Result<Library, String> {
        let beside = path.parent().map(|folder| folder.join("libusdm.so.0"));
        let beside = beside.filter(|usdm| usdm.exists());
        // First: what is opened first is what the others ask for their symbols before themselves.
        let allocator = Allocator::new()?;
        let allocator = open(libc::LM_ID_NEWLM, &allocator.path())?;
        let namespace = allocator.namespace()?;
        let opened = Library::open_in(namespace, path, beside.as_deref());
        // There are sixteen namespaces.
        opened.inspect_err(|_| allocator.close())
    }

    fn open_in(
        namespace: libc::Lmid_t,
        path: &Path,
        beside: Option<&Path>,
    ) -> Result<Library, String> {
        // Before the others: libraries may make keys as they are loaded.
        let libc = open(namespace, Path::new("libc.so.6"))?;
        let create = libc.symbol("pthread_key_create").ok_or("its C library has no keys")?;
        // SAFETY: the function of this name has this type.
        let create = unsafe { core::mem::transmute::<*mut c_void, Create>(create.as_ptr()) };
        let keys = Keys::new(create).inspect_err(|_| libc.close())?;
        let usdm = beside.map(|usdm| open(namespace, usdm)).transpose();
        let opened = usdm.and_then(|usdm| {
            let qat = open(namespace, path).inspect_err(|_| usdm.iter().for_each(Handle::close))?;
            Library::resolve(&qat, usdm.as_ref()).inspect_err(|_| {
                qat.close();
                usdm.iter().for_each(Handle::close);
            })
        });
        opened.inspect_err(|_| {
            libc.close();
            keys.give_back();
        })
    }
}
