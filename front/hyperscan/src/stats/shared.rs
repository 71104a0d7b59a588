//! A table of counters in a file that any number of processes map and add to.
//!
//! ```text
//!   0  "lookaside table1"
//!  16  u64        processes that have counted, of the zlib library
//!  24  u64        processes that have counted, of this one
//!  32  rows of 72 bytes: the name in 48 bytes, padded with zeros; three counts (u64)
//! ```
//!
//! The rows from [`FIRST`] on are this library's, those before are the zlib library's. All numbers are the machine's, and are added to atomically. Whoever makes the file writes the 16
//! bytes and zeros up to [`SIZE`]; `crates/cli/src/run.rs` does, and reads it.

use std::{
    ffi::CStr,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::fork_generation;

/// The first bytes of such a file.
const MAGIC: [u8; 16] = *b"lookaside table1";

/// Its length: a page.
const SIZE: usize = 4096;

/// The first row of this library.
const FIRST: usize = 32;

#[repr(C)]
struct Table {
    magic: [u64; 2],
    zlib_processes: AtomicU64,
    processes: AtomicU64,
    rows: [Row; (SIZE - 32) / size_of::<Row>()],
}

#[repr(C)]
struct Row {
    name: [AtomicU64; 6],
    counts: [AtomicU64; 3],
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

/// The generation of the process that has counted last. A child of a fork is a process of its own; it has
/// the mapping.
static COUNTED: AtomicU32 = AtomicU32::new(0);

/// Maps the file, if it is such a table. Returns whether it is.
pub(super) fn begin(path: &CStr) -> bool {
    // SAFETY: a C string; the file is closed again; a fresh mapping, whose length the file has.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK);
        if file < 0 {
            return false;
        }
        let mut start = [0; MAGIC.len()];
        let read = libc::pread(file, start.as_mut_ptr().cast(), start.len(), 0);
        let is_table = read == start.len() as isize
            && start == MAGIC
            && libc::lseek(file, 0, libc::SEEK_END) >= SIZE as libc::off_t;
        let memory = match is_table {
            true => libc::mmap(
                ptr::null_mut(),
                SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file,
                0,
            ),
            false => libc::MAP_FAILED,
        };
        libc::close(file);
        if memory == libc::MAP_FAILED {
            return false;
        }
        let first =
            TABLE.compare_exchange(ptr::null_mut(), memory.cast::<Table>(), Release, Acquire);
        if first.is_err() {
            // Another thread was first.
            libc::munmap(memory, SIZE);
        }
    }
    true
}

/// Counts in row `index`; `false` where there is no table.
pub(super) fn count(index: usize, name: &str, counts: [u64; 3]) -> bool {
    // SAFETY: null, or a mapping of a table that stays; all values of it are atomic.
    let Some(table) = (unsafe { TABLE.load(Acquire).as_ref() }) else { return false };
    let here = fork_generation();
    if COUNTED.swap(here, Relaxed) != here {
        table.processes.fetch_add(1, Relaxed);
    }
    let Some(row) = table.rows.get(FIRST + index) else { return true };
    if row.name[0].load(Relaxed) == 0 {
        // Several may write the same.
        for (word, bytes) in row.name.iter().zip(name.as_bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
    }
    for (count, more) in row.counts.iter().zip(counts) {
        count.fetch_add(more, Relaxed);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_in_its_page() {
        assert_eq!((size_of::<Row>(), std::mem::offset_of!(Table, rows)), (72, 32));
        assert!(size_of::<Table>() <= SIZE);
        let rows = (SIZE - 32) / size_of::<Row>();
        assert!(FIRST + super::super::NAMES.len() <= rows);
        for name in super::super::NAMES {
            assert!(name.len() < 48, "{name}");
        }
    }
}
