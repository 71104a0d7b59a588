//! A message in pieces: what a block lacks is kept until the next piece.

use core::arch::x86_64::_mm_set_epi64x;

use super::field::{Field, Products};
use super::{
    BLOCK, Key, Message, Next, absorb, all_steps, encrypted, first_counter, load, one, remainder,
    store,
};
use crate::aes::blocks::Blocks;

#[inline(always)]
pub(super) fn begin<V: Field>(key: &Key, message: &mut Message, iv: &[u8]) {
    let first = first_counter::<V>(key, iv);
    store(&mut message.mask, encrypted(key, first));
    store(&mut message.counter, first.add_32(1));
    message.hash = [0; BLOCK];
    (message.used, message.aad_len, message.text_len) = (0, 0, 0);
}

/// Hashes the pending block, filled up with zeros.
#[inline(always)]
fn complete(key: &Key, message: &mut Message) {
    message.pending[message.used..].fill(0);
    let block = load(&message.pending).swap_bytes().xor(load(&message.hash));
    store(&mut message.hash, one(key, block));
    message.used = 0;
}

#[inline(always)]
pub(super) fn more_aad<V: Field>(key: &Key, message: &mut Message, mut aad: &[u8]) {
    message.aad_len += aad.len() as u64;
    if message.used > 0 {
        let (now, later) = aad.split_at(aad.len().min(BLOCK - message.used));
        message.pending[message.used..message.used + now.len()].copy_from_slice(now);
        message.used += now.len();
        aad = later;
        if message.used < BLOCK {
            return;
        }
        complete(key, message);
    }
    let (blocks, rest) = aad.split_at(aad.len() & !(BLOCK - 1));
    let hash = absorb::<V>(key, load(&message.hash), blocks);
    store(&mut message.hash, hash);
    message.pending[..rest.len()].copy_from_slice(rest);
    message.used = rest.len();
}

/// Encrypts or decrypts what still goes into the pending block.
///
/// # Safety
/// `len` bytes are readable and writable, no more than the block has room for.
#[inline(always)]
unsafe fn part_of_block<const SEAL: bool>(
    message: &mut Message,
    src: *const u8,
    dst: *mut u8,
    len: usize,
) {
    let places = message.used..message.used + len;
    for (i, at) in places.enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let given = *src.wrapping_add(i);
            let made = given ^ message.keystream[at];
            *dst.wrapping_add(i) = made;
            message.pending[at] = if SEAL { made } else { given };
        }
    }
    message.used += len;
}

/// # Safety
/// `len` bytes are readable and writable, in place or apart.
#[inline(always)]
pub(super) unsafe fn more_text<V: Field, W: Field, const SEAL: bool>(
    key: &Key,
    message: &mut Message,
    mut src: *const u8,
    mut dst: *mut u8,
    mut len: usize,
) {
    if len == 0 {
        return;
    }
    if message.used > 0 {
        if message.text_len == 0 {
            // The end of the associated data.
            complete(key, message);
        } else {
            let now = len.min(BLOCK - message.used);
            message.text_len += now as u64;
            // SAFETY: the caller's.
            unsafe { part_of_block::<SEAL>(message, src, dst, now) };
            if message.used < BLOCK {
                return;
            }
            complete(key, message);
            (src, dst, len) = (src.wrapping_add(now), dst.wrapping_add(now), len - now);
        }
    }
    message.text_len += len as u64;
    let whole = len & !(BLOCK - 1);
    if whole > 0 {
        let counters = V::count_from(load(&message.counter));
        let mut next = Next { counters, src, dst };
        // SAFETY: so many bytes are there.
        unsafe {
            let (mut hash, left) =
                all_steps::<V, W, SEAL>(key, &mut next, load(&message.hash), whole);
            if left > 0 {
                let mut products = Products::<V>::none();
                let power = left / BLOCK;
                remainder::<V, SEAL>(key, &mut next, &mut products, hash, power, left);
                hash = products.reduced();
            }
            store(&mut message.hash, hash);
        }
        let blocks = (whole / BLOCK) as u32;
        let counter = load(&message.counter).add_32(blocks.cast_signed());
        store(&mut message.counter, counter);
    }
    if len > whole {
        let counter = load(&message.counter);
        store(&mut message.keystream, encrypted(key, counter));
        store(&mut message.counter, counter.add_32(1));
        let (src, dst) = (src.wrapping_add(whole), dst.wrapping_add(whole));
        // SAFETY: less than a block is left.
        unsafe { part_of_block::<SEAL>(message, src, dst, len - whole) };
    }
}

#[inline(always)]
pub(super) fn end(key: &Key, message: &mut Message) -> [u8; BLOCK] {
    if message.used > 0 {
        complete(key, message);
    }
    let (aad, text) = (8 * message.aad_len.cast_signed(), 8 * message.text_len.cast_signed());
    // SAFETY: as with all that is inlined into the entries.
    let lengths = unsafe { _mm_set_epi64x(aad, text) };
    let hash = one(key, load(&message.hash).xor(lengths));
    let mut tag = [0; BLOCK];
    store(&mut tag, hash.swap_bytes().xor(load(&message.mask)));
    tag
}
