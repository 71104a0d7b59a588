//! Keystreams of sixteen packets side by side, laid over their texts: AVX-512.

use std::arch::x86_64::*;
use std::sync::atomic;

use super::Packet;
use crate::Text;
use crate::chacha20::avx512::transpose;

/// Packets whose words stand in one register.
pub(crate) const LANES: usize = 16;

/// Packets that are put in order at a time: there is no allocation here.
pub(crate) const MOST: usize = 64;

/// Bytes of a lane that sixteen words of the keystream are for.
const BLOCK: usize = 64;

/// What is left of a text.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    src: *const u8,
    dst: *mut u8,
    len: usize,
}

impl Rest {
    pub(crate) const EMPTY: Rest =
        Rest { src: std::ptr::null(), dst: std::ptr::null_mut(), len: 0 };

    /// All of a text.
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    pub(crate) fn new(text: &mut Text<'_>) -> Rest {
        let (src, dst, len) = text.pointers();
        Rest { src, dst, len }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Hands packets on, up to twice as many at a time as there are lanes, each together with those that
/// take as long, the longest first. Changes their order.
#[inline]
pub(crate) fn by_length(packets: &mut [Packet<'_>], mut take: impl FnMut(&mut [Packet<'_>])) {
    for packets in packets.chunks_mut(MOST) {
        if !packets.is_sorted_by(|a, b| a.text.len() >= b.text.len()) {
            packets.sort_unstable_by_key(|packet| std::cmp::Reverse(packet.text.len()));
        }
        packets.chunks_mut(2 * LANES).for_each(&mut take);
    }
}

/// Combines the next 64 bytes of each text, or what there is of them, with sixteen words of its
/// keystream, most significant byte first. `words` has a register for each of them, and in it a lane for
/// each text.
///
/// # Safety
/// The texts are readable and writable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn apply(words: &[__m512i; 16], texts: &mut [Rest]) {
    let swapped =
        _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    let mut rows = *words;
    for row in &mut rows {
        *row = _mm512_shuffle_epi8(*row, swapped);
    }
    for (text, stream) in texts.iter_mut().zip(transpose(&rows)) {
        // SAFETY: the caller's, and the masks cover `len` bytes.
        unsafe {
            if text.len >= BLOCK {
                let block = _mm512_loadu_si512(text.src.cast());
                _mm512_storeu_si512(text.dst.cast(), _mm512_xor_si512(block, stream));
                text.src = text.src.add(BLOCK);
                text.dst = text.dst.add(BLOCK);
                text.len -= BLOCK;
            } else if text.len > 0 {
                // Not with an empty mask: that is slow where the pointer is to nothing.
                let mask = !0 >> (BLOCK - text.len);
                let block = _mm512_maskz_loadu_epi8(mask, text.src.cast());
                let block = _mm512_xor_si512(block, stream);
                _mm512_mask_storeu_epi8(text.dst.cast(), mask, block);
                text.len = 0;
            }
        }
    }
}

/// Overwrites registers.
pub(crate) fn wipe(secret: &mut [__m512i]) {
    for register in &mut *secret {
        // SAFETY: it is there to be written; volatile writes are not optimised away.
        unsafe { std::ptr::write_volatile(register, std::mem::zeroed()) };
    }
    atomic::compiler_fence(atomic::Ordering::SeqCst);
}
