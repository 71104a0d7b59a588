//! What belongs to one process: what its environment says, the namespace that this code lies in, and the cards that it has
//! started. A child of a fork has none of its parent's.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_int, c_void},
    mem::MaybeUninit,
    ptr,
};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire},
        },
    },
};

use lookaside_core::secure_variable;

use crate::{Refusal, Settings, card::Card};

/// A variable of the environment that has a value; none in a program with more rights than its user, since it may name
/// a library.
pub(crate) fn variable(name: &CStr) -> Option<String> {
    let value = secure_variable(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// Whether this code lies in the namespace of the program. What lies in another one may be there for a card's library (its
/// libcrypto, whose libz may be ours), and must not start the card once more.
pub(crate) fn is_the_programs() -> bool {
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    /// `RTLD_DL_LINKMAP` of `dlfcn.h`.
    const LINK_MAP: c_int = 2;
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let (mut map, mut namespace) = (ptr::null_mut(), -1_i64 as libc::Lmid_t);
    let here = is_the_programs as *const c_void;
    // SAFETY: an address of this code and places for the answers; a link map is what the linker calls a handle.
    unsafe {
        dladdr1(here, info.as_mut_ptr(), &raw mut map, LINK_MAP) != 0
            && !map.is_null()
            && libc::dlinfo(map, libc::RTLD_DI_LMID, (&raw mut namespace).cast()) == 0
            && namespace == libc::LM_ID_BASE
    }
}

/// What a card is started by: a library and a section.
type Key = (PathBuf, String);

/// The cards of one process. Whoever forks may hold the lock: a child has another one.
struct Cards {
    process: u32,
    started: Mutex<HashMap<Key, Result<Arc<Card>, Refusal>>>,
}

/// The cards of this process.
fn cards() -> &'static Cards {
    static CARDS: AtomicPtr<Cards> = AtomicPtr::new(ptr::null_mut());
    let process = std::process::id();
    loop {
        let known = CARDS.load(Acquire);
        // SAFETY: null, or out of a box that is never freed.
        if let Some(cards) = unsafe { known.as_ref() }
            && cards.process == process
        {
            return cards;
        }
        let fresh = Box::into_raw(Box::new(Cards { process, started: Mutex::default() }));
        if CARDS.compare_exchange(known, fresh, AcqRel, Acquire).is_err() {
            // SAFETY: made by `into_raw` above, and nobody else has it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

/// The card of these settings in this process, started at the first call. `again`: also where it was refused before.
pub(crate) fn card(settings: &Settings, again: bool) -> Result<Arc<Card>, Refusal> {
    let key = (settings.library.clone(), settings.section.clone());
    let mut started = cards().started.lock().unwrap_or_else(PoisonError::into_inner);
    match started.get(&key) {
        Some(Ok(card)) => return card.check(settings).map(|()| card.clone()),
        Some(Err(refusal)) if !again => return Err(refusal.clone()),
        _ => {}
    }
    let card = Card::start(settings).map(Arc::new);
    started.insert(key, card.clone());
    let card = card?;
    card.check(settings)?;
    Ok(card)
}
