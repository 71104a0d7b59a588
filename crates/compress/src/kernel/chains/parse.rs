//! Pass 2: a strip's matches and literals.

use std::hint::select_unpredictable;
use std::ops::Range;

use lookaside_simd::Avx2;

use super::blocks::{Sequence, Tokens, distance_symbol};
use super::cursors::{self, Segments};
use super::links;
use super::{LONGEST, Look, NEAR, STRIP, WINDOW};

/// After this many candidates a search ends if one shares 8 bytes.
const EARLY: usize = 4;

/// How far an effort looks.
struct Limits {
    /// The candidates of a match of 8 bytes or more; half of that at the next position.
    depth: u32,
    /// A match of this length is good enough: no other candidate is compared.
    nice: usize,
    /// With a match of this length, the next position is not compared. At most 16: see `AHEAD`.
    lazy: usize,
}

/// What is parsed, and what is known of it.
pub(super) struct Strip<'a> {
    pub(super) links: &'a links::Links<4>,
    /// Of three bytes.
    pub(super) near: Option<&'a links::Links<3>>,
    pub(super) look: Look,
    /// The strip before had long matches only.
    pub(super) long_matches: bool,
    /// The positions where matches may begin.
    pub(super) range: Range<usize>,
    /// All positions up to this have their distances.
    pub(super) entered: usize,
}

/// The parse of a strip of `src`, to `tokens`. Returns where the next strip goes on: behind the last match,
/// or at the end of its range.
pub(super) fn strip(
    cpu: Option<Avx2>,
    effort: u8,
    strip: &Strip,
    src: &[u8],
    segments: &mut Segments,
    tokens: &mut Tokens,
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if cpu.is_some() {
        // SAFETY: the token proves the features.
        return unsafe { strip_avx2(effort, strip, src, segments, tokens) };
    }
    let _ = cpu;
    strip_any::<false>(effort, strip, src, segments, tokens)
}

/// With vectors in [`cursors`]; otherwise the same instructions as below, but those of one CPU more than
/// another that count bits and shift.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn strip_avx2(
    effort: u8,
    strip: &Strip,
    src: &[u8],
    segments: &mut Segments,
    tokens: &mut Tokens,
) -> usize {
    strip_any::<true>(effort, strip, src, segments, tokens)
}

#[inline(always)]
fn strip_any<const VECTORS: bool>(
    effort: u8,
    strip: &Strip,
    src: &[u8],
    segments: &mut Segments,
    tokens: &mut Tokens,
) -> usize {
    let Strip { links, near, look, long_matches, ref range, entered } = *strip;
    let mut rest = range.clone();
    let side_by_side = near.is_none() && look.least == 4 && !long_matches;
    let most = range.end.min(range.start + STRIP);
    let first = range.start..most.min(entered.saturating_sub(cursors::BEHIND));
    if side_by_side && first.len() >= cursors::LEAST {
        let mut out = tokens.open();
        rest.start = match (effort, look.is_text) {
            (..=3, _) => segments.parse::<VECTORS, 1, 1, 0>(links, src, first, &mut out),
            (4, _) => segments.parse::<VECTORS, 3, 1, 0>(links, src, first, &mut out),
            (_, false) => segments.parse::<VECTORS, 5, 2, 0>(links, src, first, &mut out),
            (_, true) => segments.parse::<VECTORS, 7, 3, 1>(links, src, first, &mut out),
        };
        let counts = out.counts;
        tokens.close(counts);
    }
    if rest.start >= rest.end {
        return rest.start;
    }
    match effort {
        ..=3 => {
            let limits = Limits { depth: 1, nice: 16, lazy: 6 };
            walk::<1, 1, 0>(&limits, strip, rest, src, tokens)
        }
        // Where short matches do not count, more candidates gain nothing.
        5.. if look.least == 4 => {
            let limits = Limits { depth: 8, nice: 30, lazy: 8 };
            walk::<8, 4, 2>(&limits, strip, rest, src, tokens)
        }
        _ => {
            let limits = Limits { depth: 4, nice: 16, lazy: 6 };
            walk::<3, 2, 0>(&limits, strip, rest, src, tokens)
        }
    }
}

#[inline(always)]
fn walk<const FIRST: usize, const NEXT: usize, const THIRD: usize>(
    limits: &Limits,
    strip: &Strip,
    range: Range<usize>,
    src: &[u8],
    tokens: &mut Tokens,
) -> usize {
    let Strip { links, near, look: Look { least, .. }, entered, .. } = *strip;
    // Three bytes must be near. Fewer: by their hashes, others pass too.
    let is_short = |found: Found| {
        found.length < least && (found.length != 3 || near.is_none() || found.distance > NEAR)
    };
    let mut at = range.start;
    // Copied, so that its fields are in registers.
    let mut out = tokens.open();
    while at < range.end {
        // The next position that has a distance.
        let mut marks = links.marks(at) >> (at % 64);
        if let Some(near) = near {
            marks |= near.marks(at) >> (at % 64);
        }
        if marks == 0 {
            at = range.end.min((at / 64 + 1) * 64);
            continue;
        }
        at += marks.trailing_zeros() as usize;
        if at >= range.end {
            break;
        }
        let mut found = match near {
            Some(near) if links.distance(at) == 0 => candidate(src, at, near.distance(at)),
            _ => best::<FIRST>(links, src, at),
        };
        if is_short(found) {
            at += 1;
            continue;
        }
        let mut depth = limits.depth;
        loop {
            if found.length == 8 {
                found = longest(links, src, at, found, depth, limits.nice);
                depth = limits.depth / 2;
            }
            if found.length >= limits.lazy || at + 1 >= entered {
                break;
            }
            let next = if found.length >= 8 {
                let least = Found { length: found.length, distance: 0 };
                longest(links, src, at + 1, least, limits.depth / 2, limits.nice)
            } else {
                best::<NEXT>(links, src, at + 1)
            };
            if next.distance == 0 || next.worth() - found.worth() <= 2 {
                if THIRD > 0 && at + 2 < entered && found.length < 8 {
                    let third = best::<THIRD>(links, src, at + 2);
                    if third.distance != 0 && third.worth() - found.worth() > 5 {
                        found = third;
                        at += 2;
                        continue;
                    }
                }
                break;
            }
            found = next;
            at += 1;
        }
        if is_short(found) {
            at += 1;
            continue;
        }
        let symbol = distance_symbol(found.distance);
        let (length, distance) = (found.length as u16, found.distance as u16);
        out.push(src, at, Sequence { literals: 0, length, distance, symbol });
        at += found.length;
    }
    let counts = out.counts;
    tokens.close(counts);
    at
}

/// A match, or a distance of 0 if there is none.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) length: usize,
    pub(super) distance: usize,
}

impl Found {
    /// Four for a byte, and one less for each bit of the distance.
    #[inline(always)]
    pub(super) fn worth(self) -> i32 {
        4 * self.length as i32 - (self.distance | 1).ilog2() as i32
    }
}

/// The bytes that are the same at a distance, at most 8. `at` is at least 8 before the end.
#[inline(always)]
fn candidate(src: &[u8], at: usize, distance: usize) -> Found {
    assert!(at + 8 <= src.len() && distance <= at);
    // SAFETY: eight bytes from `at` on are there, and those before.
    let different = unsafe { eight(src, at - distance) ^ eight(src, at) };
    Found { length: different.trailing_zeros() as usize / 8, distance }
}

/// The longest of the first `K` candidates, of those the nearest, by 8 bytes at most. No candidate
/// is distance 0; the end of a chain is a candidate again. `at` is at least 8 before the end.
#[inline(always)]
fn best<const K: usize>(links: &links::Links<4>, src: &[u8], at: usize) -> Found {
    let end = at + 8;
    assert!(end <= src.len());
    // Distances are at most the furthest, so none leads to before the input.
    let furthest = WINDOW.min(at);
    // SAFETY: 8 bytes that end at `end`, or before it.
    let here = unsafe { eight(src, at) };
    // Eight times the bytes that are the same.
    let same = |distance: usize| {
        // SAFETY: as above.
        (here ^ unsafe { eight(src, at - distance) }).trailing_zeros() & !7
    };
    let first = links.distance(at);
    let mut distance = select_unpredictable(first <= furthest, first, 0);
    let (mut found, mut most) = (distance, same(distance));
    for candidate in 1..K {
        if candidate == EARLY && most == 64 {
            break;
        }
        let further = distance + links.distance(at - distance);
        distance = select_unpredictable(further <= furthest, further, distance);
        let bits = same(distance);
        found = select_unpredictable(bits > most, distance, found);
        most = select_unpredictable(bits > most, bits, most);
    }
    Found { length: most as usize / 8, distance: found }
}

/// A match that is longer than `found`, which shares 8 bytes or more, or `found` with its full
/// length. At most `depth` candidates behind that of `found`, until one has the length `nice`.
#[inline(always)]
fn longest(
    links: &links::Links<4>,
    src: &[u8],
    at: usize,
    found: Found,
    depth: u32,
    nice: usize,
) -> Found {
    let most = LONGEST.min(src.len() - at);
    let nice = nice.min(most);
    let furthest = WINDOW.min(at);
    let mut longest = found;
    if found.distance > 0 {
        longest.length = length(src, found.distance, at, 8);
    }
    let mut distance = found.distance;
    for _ in 0..depth {
        if longest.length >= nice {
            break;
        }
        let step = links.distance(at - distance);
        distance += step;
        if step == 0 || distance > furthest {
            break;
        }
        // The last 8 bytes of what would be longer.
        let last = at + longest.length - 7;
        // SAFETY: they end within `nice` bytes from `at`, so within `src`, and those before no later.
        if unsafe { eight(src, last - distance) == eight(src, last) } {
            let length = length(src, distance, at, 0);
            if length > longest.length {
                longest = Found { length, distance };
            }
        }
    }
    longest
}

/// How many bytes from `at` on are the same as `distance` before, of which the first `same` are
/// known to be; at most [`LONGEST`]. `distance` is at most `at`.
#[inline(always)]
pub(super) fn length(src: &[u8], distance: usize, at: usize, mut same: usize) -> usize {
    assert!(at <= src.len() && distance <= at);
    let most = LONGEST.min(src.len() - at);
    while same + 8 <= most {
        let here = at + same;
        // SAFETY: eight bytes that end within `most` from `at`, so within `src`, and those before.
        let different = unsafe { eight(src, here - distance) ^ eight(src, here) };
        if different != 0 {
            return same + different.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    while same < most && src[at + same - distance] == src[at + same] {
        same += 1;
    }
    same
}

/// The eight bytes at a position.
///
/// # Safety
///
/// `src` has eight bytes from `at` on.
#[inline(always)]
pub(super) unsafe fn eight(src: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= src.len());
    // SAFETY: the caller's promise.
    u64::from_le(unsafe { src.as_ptr().add(at).cast::<u64>().read_unaligned() })
}
