//! Keys of thread-specific data (POSIX `pthread_key_create`), which two copies of the C library must not share.
//!
//! Each copy numbers its keys from 0 on, but the values of a thread lie in its descriptor, of which there is one, whichever
//! copy looks at it: glibc 2.34 and later (measured with 2.36 and 2.41). So a library in a namespace of its own overwrote
//! what OpenSSL kept by the key of the same number.
//!
//! A namespace therefore gets keys of its own, 32 of them from the last ones downwards: all below are taken there, and stay
//! so. In the program the first one is taken too, which says that they are.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

/// Keys of a block, and blocks: `PTHREAD_KEY_2NDLEVEL_SIZE` and `PTHREAD_KEY_1STLEVEL_SIZE` of glibc, which says how many there
/// are at most.
const BLOCK: u32 = 32;
const BLOCKS: u32 = 32;

/// How often a block is looked for, a millisecond apart.
const TRIES: u32 = 50;

/// Creates a key; a function of one copy of the C library.
pub(crate) type Create =
    unsafe extern "C" fn(*mut u32, Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;

/// The key of a namespace's block that the program has.
pub(crate) struct Keys {
    first: libc::pthread_key_t,
}

/// Takes keys up to this one. Returns all that it has got: the last is the wanted one, unless somebody else has that.
fn take_up_to(create: Create, wanted: u32) -> Vec<u32> {
    let mut taken = Vec::with_capacity(wanted as usize + 1);
    while taken.last().is_none_or(|last| *last < wanted) {
        let mut key = 0;
        // SAFETY: a place for the key; it has no destructor.
        if unsafe { create(&raw mut key, None) } != 0 {
            break;
        }
        taken.push(key);
    }
    taken
}

impl Keys {
    /// Sets a fresh namespace apart, by its `pthread_key_create`.
    pub(crate) fn new(create: Create) -> Result<Keys, String> {
        // Somebody else may be at the same: another of our libraries in this process.
        let claimed = (0..TRIES).find_map(|n| {
            if n > 0 {
                std::thread::sleep(core::time::Duration::from_millis(1));
            }
            (BLOCKS / 2..BLOCKS).rev().find_map(|block| Keys::claim(BLOCK * block))
        });
        let none = "no block of keys of thread-specific data is free: too many namespaces or keys";
        let keys = claimed.ok_or(none)?;
        if take_up_to(create, keys.first).last() != Some(&keys.first) {
            keys.give_back();
            return Err("its C library has fewer keys than ours".to_owned());
        }
        Ok(keys)
    }

    /// Takes the key of a block, which whoever has it claims.
    fn claim(first: u32) -> Option<Keys> {
        let mut here = take_up_to(libc::pthread_key_create, first);
        let ours = here.pop_if(|last| *last == first);
        here.into_iter().for_each(|first| Keys { first }.give_back());
        ours.map(|first| Keys { first })
    }

    /// The namespace is gone.
    pub(crate) fn give_back(self) {
        // SAFETY: created above, and nobody else has it.
        unsafe { libc::pthread_key_delete(self.first) };
    }
}
