//! SM4 on 64 blocks side by side: AVX-512 with GFNI.
//!
//! A group is sixteen blocks: four registers, one for each word of the state. Four groups take turns
//! in the rounds, because a round takes more than twelve cycles from its input to its result, and
//! its instructions about six. (Two groups were a fifth slower; three no better than four.)
//!
//! The S-box is `S(x) = A I(A x + C) + C` (see [`sliced`](super::sliced)); GF2P8AFFINEINVQB inverts in
//! the field of AES, so that the matrix before it is `F A`, with `F` an isomorphism of SM4's field to
//! that of AES, and the one after it `A F^-1`. The linear map is `L(x) = x + x<<<24 +
//! (x + x<<<8 + x<<<16)<<<2`, of which three rotations are shuffles of bytes.
//!
//! Constant time. Test: `tests/sm4.rs`; bench: `blocks`.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use lookaside_simd::Avx512;
use zeroize::Zeroize;

use super::{Direction, Key};
use crate::modes::Engine;

/// Blocks side by side.
pub(super) const LANES: usize = 64;

/// Groups of sixteen blocks.
const GROUPS: usize = LANES / 16;

/// When so few keys change, they are put in one by one.
const ONE_BY_ONE: usize = 6;

/// `F A`, row 7 first, and `F C`.
const BEFORE: (u64, u8) = (0x4c28_7db9_1a22_505d, 0x3e);
/// `A F^-1`, and `C`.
const AFTER: (u64, i32) = (0xf3ab_34a9_74a6_b589, 0xd3);

/// A round key of each lane, in the order that [`transposed`] leaves.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Row([[u32; 16]; GROUPS]);

/// Which keys the lanes have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    None,
    One,
    Lanes,
}

/// 64 blocks side by side.
pub(super) struct Wide<'k> {
    _token: Avx512,
    direction: Direction,
    keys: Keys,
    key: Option<&'k Key>,
    one: [u32; 32],
    /// With a key for each lane; written when `spread` says so.
    lanes: MaybeUninit<[Row; 32]>,
    spread: bool,
}

impl Wide<'_> {
    pub(super) fn new(token: Avx512, direction: Direction) -> Self {
        Wide {
            _token: token,
            direction,
            keys: Keys::None,
            key: None,
            one: [0; 32],
            lanes: MaybeUninit::uninit(),
            spread: false,
        }
    }
}

impl Drop for Wide<'_> {
    fn drop(&mut self) {
        self.one.zeroize();
        if self.spread {
            crate::wipe::wipe_memory(&mut self.lanes);
        }
    }
}

impl<'k> Engine<'k> for Wide<'k> {
    type Key = Key;
    const LANES: usize = LANES;
    const ALONE: usize = 32;

    fn one_key(&mut self, key: &'k Key) {
        if self.keys == Keys::One && self.key.is_some_and(|old| std::ptr::eq(old, key)) {
            return;
        }
        self.keys = Keys::One;
        self.key = Some(key);
        for (i, &word) in key.rounds.iter().enumerate() {
            self.one[self.direction.round(i)] = word;
        }
    }

    fn lane_keys(&mut self, keys: &[&'k Key], changed: &[usize]) {
        let current = self.keys == Keys::Lanes;
        self.keys = Keys::Lanes;
        if current && (1..=ONE_BY_ONE).contains(&changed.len()) {
            // SAFETY: written, as `Keys::Lanes` says.
            let rows = unsafe { self.lanes.assume_init_mut() };
            for &lane in changed {
                // Block 4z + l of a group is element 4l + z.
                let element = lane % 4 * 4 + lane % 16 / 4;
                for (i, &word) in keys[lane].rounds.iter().enumerate() {
                    rows[self.direction.round(i)].0[lane / 16][element] = word;
                }
            }
            return;
        }
        // SAFETY: the token.
        unsafe { self.spread_keys(keys) };
        self.spread = true;
    }

    unsafe fn crypt(&self, count: usize, input: *const u8, mask: *const u8, output: *mut u8) {
        let (lanes, one) = (self.lanes.as_ptr().cast(), self.one.as_ptr().cast());
        // SAFETY: the token; the caller's promise; the keys in force are written.
        unsafe {
            match (self.keys == Keys::Lanes, count.div_ceil(16)) {
                (true, 0 | 1) => rounds::<1, false>(lanes, input, mask, output),
                (true, 2) => rounds::<2, false>(lanes, input, mask, output),
                (true, _) => rounds::<GROUPS, false>(lanes, input, mask, output),
                (false, 0 | 1) => rounds::<1, true>(one, input, mask, output),
                (false, 2) => rounds::<2, true>(one, input, mask, output),
                (false, _) => rounds::<GROUPS, true>(one, input, mask, output),
            }
        }
    }
}

impl Wide<'_> {
    /// Brings the round keys of all lanes into their rows. Lanes without a key take the last one's.
    #[target_feature(enable = "avx512f")]
    fn spread_keys(&mut self, keys: &[&Key]) {
        let rows: *mut Row = self.lanes.as_mut_ptr().cast();
        for group in 0..GROUPS {
            for four in (0..32).step_by(4) {
                let mut quarters = [_mm512_setzero_si512(); 4];
                for (z, quarter) in quarters.iter_mut().enumerate() {
                    let of = |l: usize| {
                        let words = &keys[(16 * group + 4 * z + l).min(keys.len() - 1)].rounds;
                        words[four..four + 4].as_ptr()
                    };
                    // SAFETY: four words of each key.
                    *quarter = unsafe { quarter_of([of(0), of(1), of(2), of(3)]) };
                }
                for (i, row) in transposed(quarters).into_iter().enumerate() {
                    let to = self.direction.round(four + i);
                    // SAFETY: row `to` of 32, its piece of 64 bytes, aligned.
                    unsafe { _mm512_store_si512(rows.add(to).cast::<__m512i>().add(group), row) };
                }
            }
        }
    }
}

/// Four words from each of four places. One place four times over, as with a packet's blocks,
/// takes no shuffles.
///
/// # Safety
/// Four words can be read at each.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn quarter_of(at: [*const u32; 4]) -> __m512i {
    // SAFETY: the caller's promise.
    let piece = |l: usize| unsafe { _mm_loadu_si128(at[l].cast()) };
    if at.iter().all(|&other| other == at[0]) {
        return _mm512_broadcast_i32x4(piece(0));
    }
    let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(piece(0)), piece(1));
    let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(piece(2)), piece(3));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}

/// Transposes, in each quarter of 128 bits, the words as a matrix of 4 x 4: register `w` of the
/// result has word `w` of block `4z + l` of sixteen in element `4l + z`. Its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab2, cd2) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab2, cd2),
        _mm512_unpackhi_epi64(ab2, cd2),
    ]
}

/// A shuffle of the bytes of each word: byte `i` comes from byte `from[i]`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn shuffled(x: __m512i, from: [u8; 4]) -> __m512i {
    let mut index = [0; 16];
    let mut i = 0;
    while i < 16 {
        index[i] = from[i % 4] + (i / 4 * 4) as u8;
        i += 1;
    }
    // SAFETY: sixteen bytes.
    let index = unsafe { _mm_loadu_si128(index.as_ptr().cast()) };
    _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(index))
}

/// `L(S(x))`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn t(x: __m512i) -> [__m512i; 3] {
    const C: i32 = AFTER.1;
    let before = _mm512_set1_epi64(BEFORE.0.cast_signed());
    let after = _mm512_set1_epi64(AFTER.0.cast_signed());
    let x = _mm512_gf2p8affine_epi64_epi8::<{ BEFORE.1 as i32 }>(x, before);
    let x = _mm512_gf2p8affineinv_epi64_epi8::<C>(x, after);
    let by_8 = shuffled(x, [3, 0, 1, 2]);
    let by_16 = shuffled(x, [2, 3, 0, 1]);
    let by_24 = shuffled(x, [1, 2, 3, 0]);
    let three = _mm512_ternarylogic_epi32::<0x96>(x, by_8, by_16);
    [x, by_24, _mm512_rol_epi32::<2>(three)]
}

/// `output = cipher(input) ^ mask` for `G` groups.
///
/// # Safety
/// `256 * G` bytes each can be read at `input` and `mask` and written at `output`, which may be either
/// of them; at `keys` are 32 words, or 32 [`Row`]s.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn rounds<const G: usize, const ONE: bool>(
    keys: *const u8,
    input: *const u8,
    mask: *const u8,
    output: *mut u8,
) {
    let mut state = [[_mm512_setzero_si512(); 4]; G];
    for (g, words) in state.iter_mut().enumerate() {
        for (z, word) in words.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let blocks = unsafe { _mm512_loadu_si512(input.add(256 * g + 64 * z).cast()) };
            *word = shuffled(blocks, [3, 2, 1, 0]);
        }
        *words = transposed(*words);
    }
    for four in (0..32).step_by(4) {
        for i in 0..4 {
            for (g, x) in state.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                let key = unsafe {
                    if ONE {
                        _mm512_set1_epi32(keys.cast::<i32>().add(four + i).read())
                    } else {
                        _mm512_load_si512(keys.cast::<__m512i>().add((four + i) * GROUPS + g))
                    }
                };
                let (x1, x2, x3) = (x[(i + 1) % 4], x[(i + 2) % 4], x[(i + 3) % 4]);
                // The newest word last: it is what the round waits for.
                let sum = _mm512_xor_si512(_mm512_ternarylogic_epi32::<0x96>(x1, x2, key), x3);
                let [a, b, c] = t(sum);
                let old = _mm512_ternarylogic_epi32::<0x96>(x[i], a, b);
                x[i] = _mm512_xor_si512(old, c);
            }
        }
    }
    for (g, &[x0, x1, x2, x3]) in state.iter().enumerate() {
        for (z, blocks) in transposed([x3, x2, x1, x0]).into_iter().enumerate() {
            let blocks = shuffled(blocks, [3, 2, 1, 0]);
            let at = 256 * g + 64 * z;
            // SAFETY: the caller's promise; a mask that is the output is read before it is
            // overwritten.
            unsafe {
                let mask = _mm512_loadu_si512(mask.add(at).cast());
                _mm512_storeu_si512(output.add(at).cast(), _mm512_xor_si512(blocks, mask));
            }
        }
    }
}
