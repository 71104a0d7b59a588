//! The queue of blocks, whoever's they are: sixteen leave at a time.

use lookaside_simd::Cpu;

use super::portable;
use crate::wipe::wipe;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Blocks side by side.
pub(super) const LANES: usize = 16;

/// The input of a block: constants, key, counter, nonce (RFC 8439, 2.3).
pub(super) type Row = [u32; 16];

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// What is combined with the key stream where only the key stream is wanted.
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// Whose key stream: what its blocks have in common.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub key: &'a [u8; 32],
    pub nonce: &'a [u8; 12],
}

impl Source<'_> {
    /// Writes the input of block `counter`.
    #[inline]
    pub fn fill(&self, row: &mut Row, counter: u32) {
        row[..4].copy_from_slice(&CONSTANTS);
        for (word, bytes) in row[4..12].iter_mut().zip(self.key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        row[12] = counter;
        for (word, bytes) in row[13..].iter_mut().zip(self.nonce.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }
}

/// Where a key stream goes: `dst` becomes `src` combined with it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub src: *const u8,
    pub dst: *mut u8,
    pub len: usize,
}

impl Place {
    /// The key stream itself into `dst`, at most one block.
    pub fn key_stream(dst: &mut [u8]) -> Place {
        let len = dst.len().min(BLOCK);
        Place { src: ZEROS.as_ptr(), dst: dst.as_mut_ptr(), len }
    }

    const NOWHERE: Place = Place { src: ZEROS.as_ptr(), dst: std::ptr::dangling_mut(), len: 0 };
}

/// Which kernels to use.
#[derive(Clone, Copy)]
pub(super) enum Engine {
    #[cfg(target_arch = "x86_64")]
    Avx512(lookaside_simd::Avx512Bw),
    #[cfg(target_arch = "x86_64")]
    Avx2(lookaside_simd::Avx2),
    Portable,
}

impl Engine {
    pub fn of(cpu: &Cpu) -> Engine {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = cpu.avx512bw() {
                return Engine::Avx512(token);
            }
            if let Some(token) = cpu.avx2() {
                return Engine::Avx2(token);
            }
        }
        let _ = cpu;
        Engine::Portable
    }
}

/// Sixteen inputs, cache line by cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Rows(pub [Row; LANES]);

/// Blocks that wait for their fellows.
pub(super) struct Queue {
    engine: Engine,
    rows: Rows,
    places: [Place; LANES],
    used: usize,
}

impl Queue {
    pub fn new(engine: Engine) -> Queue {
        Queue { engine, rows: Rows([[0; 16]; LANES]), places: [Place::NOWHERE; LANES], used: 0 }
    }

    /// Adds one block, of which the first `place.len` bytes, at most a block, are used.
    ///
    /// # Safety
    /// Until the next [`flush`](Queue::flush) `place.src` and `place.dst` are valid for `place.len`
    /// bytes, apart from every other place's, and equal to or apart from each other.
    #[inline]
    pub unsafe fn push(&mut self, source: &Source<'_>, counter: u32, place: Place) {
        debug_assert!(place.len <= BLOCK);
        source.fill(&mut self.rows.0[self.used], counter);
        self.places[self.used] = place;
        self.used += 1;
        if self.used == LANES {
            self.flush();
        }
    }

    /// Adds the blocks of a text, the first of which has the number `counter`.
    ///
    /// # Safety
    /// As [`push`](Queue::push).
    #[inline]
    pub unsafe fn push_text(&mut self, source: &Source<'_>, mut counter: u32, mut place: Place) {
        #[cfg(target_arch = "x86_64")]
        if let Engine::Avx512(token) = self.engine {
            let done = place.len / (LANES * BLOCK) * (LANES * BLOCK);
            if done > 0 {
                let mut row = [0; 16];
                source.fill(&mut row, counter);
                // SAFETY: the caller's, for the first `done` bytes.
                unsafe { super::avx512::long(token, &row, place.src, place.dst, done) };
                wipe(&mut row);
                counter = counter.wrapping_add((done / BLOCK) as u32);
                // SAFETY: `done` is at most `place.len`.
                place = unsafe { place.beyond(done) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        if let Engine::Avx2(token) = self.engine {
            use super::avx2::{CHUNK, long};
            let done = place.len / CHUNK * CHUNK;
            if done > 0 {
                let mut row = [0; 16];
                source.fill(&mut row, counter);
                // SAFETY: the caller's, for the first `done` bytes.
                unsafe { long(token, &mut row, place.src, place.dst, done) };
                wipe(&mut row);
                counter = counter.wrapping_add((done / BLOCK) as u32);
                // SAFETY: `done` is at most `place.len`.
                place = unsafe { place.beyond(done) };
            }
        }
        while place.len > 0 {
            let len = place.len.min(BLOCK);
            // SAFETY: the caller's, for the next `len` bytes, which stay within the place.
            unsafe {
                self.push(source, counter, Place { len, ..place });
                place = place.beyond(len);
            }
            counter = counter.wrapping_add(1);
        }
    }

    /// Does what waits.
    pub fn flush(&mut self) {
        if self.used == 0 {
            return;
        }
        self.places[self.used..].fill(Place::NOWHERE);
        // SAFETY: the places are valid, as whoever pushed them promised, or empty.
        unsafe {
            match self.engine {
                #[cfg(target_arch = "x86_64")]
                Engine::Avx512(token) => super::avx512::mixed(token, &self.rows, &self.places),
                #[cfg(target_arch = "x86_64")]
                Engine::Avx2(token) => super::avx2::mixed(token, &self.rows, &self.places),
                Engine::Portable => portable::run(&self.rows, &self.places),
            }
        }
        self.used = 0;
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        wipe(self.rows.0.as_flattened_mut());
    }
}

impl Place {
    /// The same without its first `n` bytes.
    ///
    /// # Safety
    /// `n` is at most `self.len`.
    #[inline]
    unsafe fn beyond(self, n: usize) -> Place {
        // SAFETY: the caller's.
        unsafe { Place { src: self.src.add(n), dst: self.dst.add(n), len: self.len - n } }
    }
}
