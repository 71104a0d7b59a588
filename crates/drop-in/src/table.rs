//! A table of counters in a file that any number of processes map and add to.
//!
//! ```text
//!   0  "lookaside table2"
//!  16  u64 x 6    processes that have counted, for each library
//!  64  rows of 72 bytes: the name in 48 bytes, padded with zeros; three counts (u64). 28 rows for each library
//! ```
//!
//! All numbers are in the machine's byte order, and are added to atomically.
#![allow(unsafe_code)]

use std::{
    ffi::CStr,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::fork_generation;

const MAGIC: [u8; 16] = *b"lookaside table2";

/// The length of a table in bytes: two pages.
pub const SIZE: usize = 8192;

const HEAD: usize = 64;
const ROW: usize = size_of::<Row>();
const NAME: usize = 48;
/// The rows of one library.
const PER_LIBRARY: usize = 28;

/// Whose rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// `libz.so.1`
    Zlib,
    /// `libhs.so.5`
    Hyperscan,
    /// `libexpat.so.1`
    Expat,
}

#[repr(C)]
struct Table {
    magic: [u64; 2],
    processes: [AtomicU64; 6],
    rows: [Row; (SIZE - HEAD) / ROW],
}

#[repr(C)]
struct Row {
    name: [AtomicU64; NAME / 8],
    counts: [AtomicU64; 3],
}

/// A table without counts.
pub fn empty() -> Vec<u8> {
    let mut table = MAGIC.to_vec();
    table.resize(SIZE, 0);
    table
}

/// What the processes of one command have counted for one library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many have counted.
    pub processes: u64,
    /// The rows that were counted in: name, and what the library counts there.
    pub rows: Vec<(String, [u64; 3])>,
}

/// Reads a library's part of a table. What a shorter table lacks is zero.
pub fn read(table: &[u8], library: Library) -> Counts {
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    let rows = table.get(HEAD..).unwrap_or_default().chunks_exact(ROW);
    let rows = rows.skip(library as usize * PER_LIBRARY).take(PER_LIBRARY);
    let rows = rows.filter(|row| row[0] != 0).map(|row| {
        let name = row[..NAME].split(|byte| *byte == 0).next().unwrap_or_default();
        let counts = [0, 1, 2].map(|n| number(row, NAME + 8 * n));
        (String::from_utf8_lossy(name).into_owned(), counts)
    });
    Counts { processes: number(table, MAGIC.len() + 8 * library as usize), rows: rows.collect() }
}

/// One library's part of a table that this process maps, once it does.
pub(crate) struct Mapped {
    library: Library,
    table: AtomicPtr<Table>,
    /// The generation of the process that has counted last. A child of a fork is a process of its own; it has the
    /// mapping.
    counted: AtomicU32,
}

impl Mapped {
    pub(crate) const fn new(library: Library) -> Mapped {
        Mapped { library, table: AtomicPtr::new(ptr::null_mut()), counted: AtomicU32::new(0) }
    }

    /// Maps the file, if it is a table. Returns whether it is.
    pub(crate) fn begin(&self, path: &CStr) -> bool {
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
            let first = self.table.compare_exchange(
                ptr::null_mut(),
                memory.cast::<Table>(),
                Release,
                Acquire,
            );
            if first.is_err() {
                // Another thread was first.
                libc::munmap(memory, SIZE);
            }
        }
        true
    }

    /// Counts in row `index` of the library; `false` where there is no table.
    pub(crate) fn count(&self, index: usize, name: &str, counts: [u64; 3]) -> bool {
        // SAFETY: null, or a mapping of a table that stays; all values of it are atomic.
        let Some(table) = (unsafe { self.table.load(Acquire).as_ref() }) else { return false };
        let here = fork_generation();
        if self.counted.swap(here, Relaxed) != here {
            table.processes[self.library as usize].fetch_add(1, Relaxed);
        }
        debug_assert!(index < PER_LIBRARY && name.len() < NAME, "{name}");
        let Some(row) = table.rows.get(self.library as usize * PER_LIBRARY + index) else {
            return true;
        };
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

    /// Whether a library may have this many rows with names this long.
    pub(crate) const fn has_room(rows: usize, name: usize) -> bool {
        rows <= PER_LIBRARY && name < NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_in_its_pages() {
        assert_eq!((ROW, std::mem::offset_of!(Table, rows)), (72, HEAD));
        assert!(size_of::<Table>() <= SIZE);
        assert!(MAGIC.len() + 8 * 6 == HEAD && 4 * PER_LIBRARY <= (SIZE - HEAD) / ROW);
    }

    #[test]
    fn what_is_counted_is_read() {
        let path = std::env::temp_dir().join(format!("lookaside-table2-{}", std::process::id()));
        std::fs::write(&path, empty()).unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let (zlib, hyperscan) = (Mapped::new(Library::Zlib), Mapped::new(Library::Hyperscan));
        assert!(!zlib.count(0, "no table yet", [1; 3]));
        assert!(zlib.begin(&name) && hyperscan.begin(&name));
        assert!(zlib.count(27, "the last row", [1, 2, 3]));
        assert!(hyperscan.count(0, "the first row", [4, 5, 6]));
        assert!(hyperscan.count(0, "the first row", [1, 1, 1]));
        let table = std::fs::read(&path).unwrap();
        std::fs::write(&path, b"lookaside table1").unwrap();
        assert!(!Mapped::new(Library::Zlib).begin(&name));
        std::fs::remove_file(&path).unwrap();
        assert!(!Mapped::new(Library::Zlib).begin(&name));
        let of =
            |name: &str, counts| Counts { processes: 1, rows: vec![(name.to_owned(), counts)] };
        assert_eq!(read(&table, Library::Zlib), of("the last row", [1, 2, 3]));
        assert_eq!(read(&table, Library::Hyperscan), of("the first row", [5, 6, 7]));
        assert_eq!(read(&empty(), Library::Zlib), Counts::default());
        assert_eq!(read(&[], Library::Hyperscan), Counts::default());
    }
}
