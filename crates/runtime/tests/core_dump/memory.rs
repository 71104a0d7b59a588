//! The memory of another process, as a core dump would have it, and a search for secrets in it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// A mapping that is readable and of the process alone.
#[derive(Debug)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub name: String,
    /// `VmFlags` of /proc/PID/smaps: `dd` is left out of core dumps, `lo` is locked.
    pub flags: Vec<String>,
}

impl Mapping {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|one| one == flag)
    }
}

/// The readable private mappings of a process that can hold what the process has written.
pub fn mappings(pid: u32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps")).expect("smaps");
    let mut found: Vec<Mapping> = Vec::new();
    let mut skipping = true;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((start, end)) = words[0].split_once('-').filter(|_| !words[0].ends_with(':')) {
            let name = words.get(5).map_or("", |name| *name).to_owned();
            // Of files, the parts that cannot be written hold what is on the disk.
            let written = words[1].contains('w') || words[4] == "0";
            let kernel = ["[vvar]", "[vvar_vclock]", "[vdso]", "[vsyscall]"].contains(&&*name);
            skipping = !words[1].starts_with('r') || !written || kernel;
            if !skipping {
                let address = |hex| u64::from_str_radix(hex, 16).expect("an address");
                let (start, end) = (address(start), address(end));
                found.push(Mapping { start, end, name, flags: Vec::new() });
            }
        } else if words[0] == "VmFlags:" && !skipping {
            let flags = words[1..].iter().map(|flag| (*flag).to_owned()).collect();
            found.last_mut().expect("a mapping").flags = flags;
        }
    }
    found
}

/// Pieces of 8 bytes to look for.
pub struct Pieces {
    of: HashMap<u64, String>,
    /// A bit for each hash that occurs: the quick way past all else.
    bloom: Vec<u64>,
}

fn hash(piece: u64) -> usize {
    (piece.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42) as usize
}

impl Pieces {
    pub fn new() -> Pieces {
        Pieces { of: HashMap::new(), bloom: vec![0; 1 << 16] }
    }

    fn insert(&mut self, piece: u64, name: String) {
        self.bloom[hash(piece) / 64] |= 1 << (hash(piece) % 64);
        self.of.insert(piece, name);
    }

    /// All pieces of 8 bytes, in the order of the bytes and in reverse, as numbers of a little-endian
    /// library have them.
    pub fn add(&mut self, name: &str, secret: &[u8]) {
        for (at, piece) in secret.windows(8).enumerate() {
            let bytes: [u8; 8] = piece.try_into().expect("8 bytes");
            self.insert(u64::from_le_bytes(bytes), format!("{name} at {at}"));
            self.insert(u64::from_be_bytes(bytes), format!("{name} reversed at {at}"));
        }
    }

    /// Words of 32 bits, two by two.
    pub fn add_words(&mut self, name: &str, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.add(name, &bytes);
        // One word in eight bytes says too little: they are found two by two, or not at all.
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.add(name, &bytes);
    }

    /// The digits of 52 bits of a big-endian number, in words of 64: what the vector kernels work with.
    pub fn add_digits(&mut self, name: &str, number: &[u8]) {
        let bit = |at: usize| {
            number.iter().rev().nth(at / 8).map_or(0, |byte| u64::from(byte >> (at % 8) & 1))
        };
        for digit in 0..number.len() * 8 / 52 {
            let value = (0..52).fold(0, |value, i| value | bit(52 * digit + i) << i);
            self.insert(value, format!("{name}, digit {digit}"));
        }
    }

    /// What of it the mapping has, and where.
    pub fn find(&self, memory: &File, mapping: &Mapping) -> Vec<String> {
        const STEP: usize = 1 << 20;
        let mut buffer = vec![0; STEP + 7];
        let mut found = Vec::new();
        let mut at = mapping.start;
        while at < mapping.end {
            let len = ((mapping.end - at) as usize).min(STEP + 7);
            // A page that cannot be read holds nothing that a dump could.
            let Ok(len) = memory.read_at(&mut buffer[..len], at) else { break };
            let offset = (at - mapping.start) as usize;
            let place = |i| {
                let (at, size) = (offset + i, mapping.end - mapping.start);
                format!("{:#x} of {size:#x} at {:#x} {:?}", at, mapping.start, mapping.name)
            };
            found.extend(
                self.find_in(&buffer[..len]).map(|(i, name)| format!("{name}: {}", place(i))),
            );
            at += STEP as u64;
        }
        found
    }

    /// What the vector registers of the process's threads have, which is in a dump too. `None` where
    /// nobody may look at them.
    pub fn find_in_registers(&self, pid: u32) -> Option<Vec<String>> {
        let mut found = Vec::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task")).expect("its threads") {
            let thread = thread.expect("a thread").file_name();
            let state = registers(thread.to_string_lossy().parse().expect("a number"))?;
            let place = |(i, name)| format!("{name}: {i:#x} of the registers of {thread:?}");
            found.extend(self.find_in(&state).map(place));
        }
        Some(found)
    }

    fn find_in<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = (usize, &str)> + use<'_, 'b> {
        bytes.windows(8).enumerate().filter_map(|(i, piece)| {
            let piece = u64::from_le_bytes(piece.try_into().expect("8 bytes"));
            let perhaps = self.bloom[hash(piece) / 64] >> (hash(piece) % 64) & 1 != 0;
            let name = perhaps.then(|| self.of.get(&piece))??;
            Some((i, &**name))
        })
    }
}

/// The extended state of a thread, stopped for as long as it takes to read it.
fn registers(thread: i32) -> Option<Vec<u8>> {
    /// x86-64's XSAVE area; elsewhere the floating-point and vector registers.
    const SET: usize = if cfg!(target_arch = "x86_64") { 0x202 } else { 2 };
    let none = core::ptr::null_mut::<libc::c_void>();
    let mut state = vec![0u8; 16 << 10];
    let mut area = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    // SAFETY: a thread of our child's, which goes on afterwards; the area has the length that is passed.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, thread, none, none) != 0 {
            return None;
        }
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, thread, none, none), 0);
        assert_eq!(libc::waitpid(thread, core::ptr::null_mut(), libc::__WALL), thread);
        let got = libc::ptrace(libc::PTRACE_GETREGSET, thread, SET, &raw mut area);
        libc::ptrace(libc::PTRACE_DETACH, thread, none, none);
        assert_eq!(got, 0, "PTRACE_GETREGSET");
    }
    state.truncate(area.iov_len);
    Some(state)
}
