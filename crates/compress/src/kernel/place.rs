//! Memory for igzip's state at an address that does not change what igzip compresses.
//!
//! `isal_deflate_icf_body_hash_hist` of ISA-L 2.31 (levels 1 and 2) hashes, for the third byte of an
//! input, a register that holds the address of its state, shifted right by 16, in the place of the
//! data: `write_first_byte` in `igzip_icf_body_h1_gr_bt.asm` reads `tmp2`, which is `rcx`, where `tmp1`
//! has the data. The output is right all the same, but one slot of the hash table, chosen by the
//! address, then names position 2: one input in some thousands loses a match with its beginning, or
//! gains one, from one run of a program to the next, since addresses are random.
//!
//! Computes: addresses `a` with `crc32c(a >> 16) & 0x7fff == 0`, the slot that all states share then.
//! The CRC of 32 bits from zero is linear over GF(2), so those addresses form a linear space: any upper
//! bits, and lower ones that follow from them by exclusive or ([`LOWER`]).
//! Shapes: one mapping per state, 2 GB apart in address space, of the size of the state. Preconditions:
//! Linux, 47 bits of address space; where an address is taken, the next is tried; where none is
//! free, the memory comes from the allocator, and the output depends on the address as before.
//! CPU features: none. Source: ours. Covered by the tests here; `tests/repeat.rs`.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use isal_sys::igzip_lib::isal_zstream;

/// Bits of the largest hash table's index, that of level 2.
const SLOT_BITS: u32 = 15;

/// Bit `i` of the number of an address stands for bit `15 + i` of `address >> 16`; these are the lower
/// 15 bits that make its slot 0.
const LOWER: [usize; 16] = [
    0x56cb, 0x1b05, 0x360a, 0x6c14, 0x0ee3, 0x1dc6, 0x3b8c, 0x1740, 0x2e80, 0x3d58, 0x1ae8, 0x35d0,
    0x6ba0, 0x61d3, 0x7535, 0x5cf9,
];

/// The numbers that are used: from 16 to 80 TB, where Linux seldom puts anything by itself.
const NUMBERS: std::ops::Range<usize> = 0x2000..0xa000;

/// The address with this number.
const fn address(number: usize) -> usize {
    let (mut upper, mut bit) = (number << SLOT_BITS, 0);
    while bit < LOWER.len() {
        if number >> bit & 1 == 1 {
            upper ^= LOWER[bit];
        }
        bit += 1;
    }
    upper << 16
}

/// igzip's state, all zeros at first.
pub(crate) struct Place {
    state: NonNull<isal_zstream>,
    mapped: bool,
}

// SAFETY: the only owner of its memory, which nothing ties to a thread.
unsafe impl Send for Place {}

const SIZE: usize = size_of::<isal_zstream>();

impl Place {
    /// Maps fresh pages; allocates where no address is free.
    pub(crate) fn new() -> Place {
        /// Addresses that are tried: any that is taken is so by one of our own states, mostly.
        const TRIES: usize = 1000;
        /// Where the last search ended.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // The first is anywhere among them: a state holds the caller's input, and nobody is to know where.
        if NEXT.load(Relaxed) == 0 {
            let begin = RandomState::new().hash_one(0) as usize >> 1 | 1;
            // Where another thread was first, its number counts.
            let _ = NEXT.compare_exchange(0, begin, Relaxed, Relaxed);
        }
        for _ in 0..TRIES {
            let number = NUMBERS.start + NEXT.fetch_add(1, Relaxed) % NUMBERS.len();
            if let Some(state) = map(address(number)) {
                return Place { state, mapped: true };
            }
        }
        let layout = Layout::new::<isal_zstream>();
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(layout) }.cast();
        match NonNull::new(memory) {
            Some(state) => Place { state, mapped: false },
            None => handle_alloc_error(layout),
        }
    }
}

/// Maps a state at this address; `None` where that is not possible.
fn map(address: usize) -> Option<NonNull<isal_zstream>> {
    let wanted = ptr::without_provenance_mut(address);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none; kernels older than the flag take the address as a hint.
    let memory =
        unsafe { libc::mmap(wanted, SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    if memory != wanted {
        // SAFETY: the mapping just made, which nobody knows.
        unsafe { libc::munmap(memory, SIZE) };
        return None;
    }
    NonNull::new(memory.cast())
}

impl Deref for Place {
    type Target = isal_zstream;

    fn deref(&self) -> &isal_zstream {
        // SAFETY: ours alone, of this size; all-zero is a valid value of this C struct (integers,
        // integer arrays and nullable pointers).
        unsafe { self.state.as_ref() }
    }
}

impl DerefMut for Place {
    fn deref_mut(&mut self) -> &mut isal_zstream {
        // SAFETY: as `deref`.
        unsafe { self.state.as_mut() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let memory = self.state.as_ptr();
        // SAFETY: mapped or allocated in `new` with this size; a C struct without destructor.
        unsafe {
            if self.mapped {
                libc::munmap(memory.cast(), SIZE);
            } else {
                dealloc(memory.cast(), Layout::new::<isal_zstream>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instruction `crc32` from zero, bit by bit.
    fn slot(address: usize) -> u32 {
        let step = |crc: u32, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        (0..32).fold((address >> 16) as u32, step) & ((1 << SLOT_BITS) - 1)
    }

    #[test]
    fn all_states_share_a_slot() {
        for number in NUMBERS {
            assert_eq!(slot(address(number)), 0, "{number}");
        }
        let places: Vec<Place> = (0..300).map(|_| Place::new()).collect();
        for place in &places {
            assert!(place.mapped);
            assert_eq!(slot(place.state.addr().get()), 0);
        }
    }

    /// An address that is taken is left alone.
    #[test]
    fn what_is_there_stays() {
        let place = Place::new();
        assert!(map(place.state.addr().get()).is_none());
        assert_eq!(place.avail_in, 0);
    }
}
