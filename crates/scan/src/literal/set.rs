//! The distinct literals of a set, and the comparison of one of them with a place in the haystack.

use std::ops::Range;

use super::bytes::members;
use super::gram::fold_of;
use super::{Around, Bytes, Literal};

/// 0x20 in every byte: what ORs an ASCII letter to lower case.
pub(super) const FOLD: u64 = 0x2020_2020_2020_2020;

/// One distinct literal. Literals of the caller that are equal share it.
#[derive(Clone, Copy, Debug)]
struct Distinct {
    /// Its bytes in [`Literals::bytes`].
    at: u32,
    len: u32,
    /// Its first index in [`Literals::owners`]; the last is before the next one's.
    owners: u32,
    caseless: bool,
    /// Bytes of the longest window that it has: all of it, or up to [`LONGEST_AROUND`] with what stands around.
    window: u8,
    /// Its last 8 bytes, or all with zeros before them, and the bits of them that count.
    tail: u64,
    mask: u64,
}

/// The distinct literals, in the order of their longest windows.
#[derive(Debug, Default)]
pub(super) struct Literals {
    /// All bytes; those of caseless literals in lower case.
    bytes: Vec<u8>,
    distinct: Vec<Distinct>,
    /// The caller's indices.
    owners: Vec<u32>,
    /// What stands around each that is shorter than [`LONGEST_AROUND`]. They come first.
    around: Vec<Around>,
}

/// The longest window that has more than the literal.
pub(super) const LONGEST_AROUND: usize = 10;

/// More spellings of the bytes around a literal than this are no window.
const MOST_SPELLINGS: usize = 256;

/// More than this are none that makes all windows of a group longer.
const FEW_SPELLINGS: usize = 64;

impl Literals {
    pub(super) fn new(literals: &[Literal]) -> Literals {
        // Whether case matters to none of its bytes: then a caseless literal is an exact one.
        let keyed = |index: usize| {
            let literal = &literals[index];
            let caseless = literal.caseless && literal.bytes.iter().any(u8::is_ascii_alphabetic);
            let bytes: std::borrow::Cow<[u8]> = match caseless {
                true => literal.bytes.to_ascii_lowercase().into(),
                false => (&*literal.bytes).into(),
            };
            (bytes.len(), caseless, bytes, index as u32)
        };
        let mut keyed: Vec<_> =
            (0..literals.len()).map(keyed).filter(|(len, ..)| *len != 0).collect();
        keyed.sort_unstable();
        // Equal ones, what stands around all of them, and their window.
        let mut distinct: Vec<(Range<usize>, Around)> = Vec::new();
        for (place, (len, caseless, bytes, index)) in keyed.iter().enumerate() {
            let around = &literals[*index as usize].around;
            match distinct.last_mut() {
                Some((range, known))
                    if {
                        let first = &keyed[range.start];
                        (first.1, &first.2) == (*caseless, bytes)
                    } =>
                {
                    range.end = place + 1;
                    known.either(around);
                }
                _ if *len < LONGEST_AROUND => distinct.push((place..place + 1, around.clone())),
                _ => distinct.push((place..place + 1, Around::default())),
            }
        }
        let mut distinct: Vec<_> = distinct
            .into_iter()
            .map(|(range, around)| {
                let (_, caseless, bytes, _) = &keyed[range.start];
                (longest_window(bytes, *caseless, &around), range, around)
            })
            .collect();
        distinct.sort_by_key(|(window, ..)| *window);
        let mut set = Literals::default();
        for (window, range, around) in distinct {
            let (len, caseless, bytes, _) = &keyed[range.start];
            let (tail, mask) = tail(bytes, *caseless);
            set.distinct.push(Distinct {
                at: set.bytes.len().try_into().expect("literals of less than 4 GB"),
                len: *len as u32,
                owners: set.owners.len() as u32,
                caseless: *caseless,
                window,
                tail,
                mask,
            });
            set.bytes.extend_from_slice(bytes);
            if *len < LONGEST_AROUND {
                set.around.push(around);
            }
            set.owners.extend(keyed[range].iter().map(|(.., index)| index));
        }
        set
    }

    /// Windows are chosen: what stands around literals is not needed any more.
    pub(super) fn forget_around(&mut self) {
        self.around = Vec::new();
    }

    /// The bytes at each place of the window of `len` bytes that begins at `offset` of the distinct literal `index`, and
    /// in how many ways what is outside of the literal can be spelled. `None`: it is not known what stands there.
    pub(super) fn window(
        &self,
        index: usize,
        offset: i32,
        len: usize,
    ) -> Option<(Vec<Bytes>, usize)> {
        let known = (self.bytes(index), self.caseless(index), self.around.get(index));
        window(known, offset, len)
    }

    /// The windows of `len` bytes around a literal that is shorter: each has all of it.
    pub(super) fn windows_around(
        &self,
        index: usize,
        len: usize,
    ) -> impl Iterator<Item = (i32, Vec<Bytes>)> {
        let first = self.bytes(index).len() as i32 - len as i32;
        (first..=0).filter_map(move |offset| {
            let (window, spellings) = self.window(index, offset, len)?;
            (spellings <= MOST_SPELLINGS).then_some((offset, window))
        })
    }

    /// Bytes of the longest window that the distinct literal `index` has.
    pub(super) fn longest_window(&self, index: usize) -> usize {
        usize::from(self.distinct[index].window)
    }

    pub(super) fn len(&self) -> usize {
        self.distinct.len()
    }

    /// The bytes of the distinct literal `index`: lower case if it is caseless.
    pub(super) fn bytes(&self, index: usize) -> &[u8] {
        let Distinct { at, len, .. } = self.distinct[index];
        &self.bytes[at as usize..][..len as usize]
    }

    pub(super) fn caseless(&self, index: usize) -> bool {
        self.distinct[index].caseless
    }

    /// The caller's indices of the distinct literal `index`.
    pub(super) fn owners(&self, index: usize) -> &[u32] {
        let next = self.distinct.get(index + 1);
        let end = next.map_or(self.owners.len(), |next| next.owners as usize);
        &self.owners[self.distinct[index].owners as usize..end]
    }

    /// Where the distinct literal `index` ends if it begins at `start` of `hay`.
    #[inline(always)]
    pub(super) fn end_at(&self, index: usize, hay: &[u8], start: usize) -> Option<usize> {
        let distinct = &self.distinct[index];
        let end = start + distinct.len as usize;
        match hay.get(..end)?.last_chunk() {
            Some(bytes) if (u64::from_le_bytes(*bytes) ^ distinct.tail) & distinct.mask != 0 => {
                None
            }
            Some(_) if distinct.len <= 8 => Some(end),
            _ => self.equals(index, &hay[start..end]).then_some(end),
        }
    }

    fn equals(&self, index: usize, found: &[u8]) -> bool {
        match self.caseless(index) {
            true => found.eq_ignore_ascii_case(self.bytes(index)),
            false => found == self.bytes(index),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.distinct) + size_of_val(&*self.owners)
    }
}

/// [`Literals::window`] of a literal: its bytes, whether it is caseless, and what stands around.
fn window(
    (bytes, caseless, around): (&[u8], bool, Option<&Around>),
    offset: i32,
    len: usize,
) -> Option<(Vec<Bytes>, usize)> {
    let mut spellings = 1_usize;
    let mut at = |place: i32| {
        if let Some(&byte) = usize::try_from(place).ok().and_then(|place| bytes.get(place)) {
            let mut set = [0; 4];
            for byte in [byte, if caseless { byte.to_ascii_uppercase() } else { byte }] {
                set[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
            return Some(set);
        }
        let set = *match place {
            ..0 => around?.before.get((-1 - place) as usize)?,
            _ => around?.after.get(place as usize - bytes.len())?,
        };
        spellings = spellings.saturating_mul(spelled(&set, fold_of(caseless)));
        Some(set)
    };
    let window = (offset..offset + len as i32).map(&mut at).collect::<Option<_>>()?;
    Some((window, spellings))
}

/// How many bytes of a set differ in more than what is folded.
pub(super) fn spelled(set: &Bytes, fold: u64) -> usize {
    let mut all = [0_u64; 4];
    for byte in members(set).map(|byte| byte | fold as u8) {
        all[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    all.iter().map(|word| word.count_ones() as usize).sum()
}

/// [`Distinct::window`].
fn longest_window(bytes: &[u8], caseless: bool, around: &Around) -> u8 {
    let known = (bytes, caseless, Some(around));
    let mut longest = bytes.len();
    for len in bytes.len() + 1..=LONGEST_AROUND {
        let mut offsets = bytes.len() as i32 - len as i32..=0;
        let few = |offset| window(known, offset, len).is_some_and(|it| it.1 <= FEW_SPELLINGS);
        if !offsets.any(few) {
            break;
        }
        longest = len;
    }
    longest.min(u8::MAX.into()) as u8
}

/// [`Distinct::tail`] and [`Distinct::mask`].
fn tail(bytes: &[u8], caseless: bool) -> (u64, u64) {
    let of_byte = |(tail, mask): (u64, u64), (i, &byte): (usize, &u8)| {
        let at = 56 - 8 * i as u32;
        let counts: u8 = if caseless && byte.is_ascii_alphabetic() { !0x20 } else { !0 };
        (tail | u64::from(byte) << at, mask | u64::from(counts) << at)
    };
    bytes.iter().rev().take(8).enumerate().fold((0, 0), of_byte)
}
