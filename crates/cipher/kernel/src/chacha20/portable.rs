//! Blocks side by side in arrays, four lanes, which compilers turn into vectors of 128 bits.

use super::queue::{BLOCK, LANES, Place, Row, Rows};

/// Does the queue's blocks four at a time.
///
/// # Safety
/// As [`Queue::push`](super::queue::Queue::push) says of every place.
pub(super) unsafe fn run(rows: &Rows, places: &[Place; LANES]) {
    // SAFETY: the caller's.
    unsafe { run_by::<4>(rows, places) }
}

/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn run_by<const N: usize>(rows: &Rows, places: &[Place; LANES]) {
    for (rows, places) in rows.0.as_chunks::<N>().0.iter().zip(places.as_chunks::<N>().0) {
        if places.iter().all(|place| place.len == 0) {
            continue;
        }
        let blocks = blocks(rows);
        for (block, place) in blocks.iter().zip(places) {
            // SAFETY: the caller's.
            unsafe { xor(block, place) };
        }
    }
}

/// RFC 8439, 2.3: ten double rounds, and the input added.
#[inline(always)]
fn blocks<const N: usize>(rows: &[Row; N]) -> [Row; N] {
    let mut v = [[0u32; N]; 16];
    for (w, v) in v.iter_mut().enumerate() {
        for (lane, row) in v.iter_mut().zip(rows) {
            *lane = row[w];
        }
    }
    for _ in 0..10 {
        quarter(&mut v, 0, 4, 8, 12);
        quarter(&mut v, 1, 5, 9, 13);
        quarter(&mut v, 2, 6, 10, 14);
        quarter(&mut v, 3, 7, 11, 15);
        quarter(&mut v, 0, 5, 10, 15);
        quarter(&mut v, 1, 6, 11, 12);
        quarter(&mut v, 2, 7, 8, 13);
        quarter(&mut v, 3, 4, 9, 14);
    }
    let mut out = [[0u32; 16]; N];
    for (j, (out, row)) in out.iter_mut().zip(rows).enumerate() {
        for w in 0..16 {
            out[w] = v[w][j].wrapping_add(row[w]);
        }
    }
    out
}

/// RFC 8439, 2.1.
#[inline(always)]
fn quarter<const N: usize>(v: &mut [[u32; N]; 16], a: usize, b: usize, c: usize, d: usize) {
    half::<N, 16, 12>(v, a, b, c, d);
    half::<N, 8, 7>(v, a, b, c, d);
}

// Indices, because two elements of `v` meet in every line.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn half<const N: usize, const D: u32, const B: u32>(
    v: &mut [[u32; N]; 16],
    a: usize,
    b: usize,
    c: usize,
    d: usize,
) {
    for j in 0..N {
        v[a][j] = v[a][j].wrapping_add(v[b][j]);
    }
    for j in 0..N {
        v[d][j] = (v[d][j] ^ v[a][j]).rotate_left(D);
    }
    for j in 0..N {
        v[c][j] = v[c][j].wrapping_add(v[d][j]);
    }
    for j in 0..N {
        v[b][j] = (v[b][j] ^ v[c][j]).rotate_left(B);
    }
}

/// # Safety
/// The place is valid.
#[inline(always)]
unsafe fn xor(block: &Row, place: &Place) {
    let words = block.map(u32::to_le);
    if place.len == BLOCK {
        // SAFETY: the caller's, for the whole block: it is read before it is written.
        unsafe {
            let mut text = place.src.cast::<[u32; 16]>().read_unaligned();
            for (text, word) in text.iter_mut().zip(words) {
                *text ^= word;
            }
            place.dst.cast::<[u32; 16]>().write_unaligned(text);
        }
    } else {
        for i in 0..place.len {
            let key = words[i / 4].to_ne_bytes()[i % 4];
            // SAFETY: the caller's, `i` being less than the length.
            unsafe { place.dst.add(i).write(place.src.add(i).read() ^ key) };
        }
    }
}
