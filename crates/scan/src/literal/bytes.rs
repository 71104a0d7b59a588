//! How likely each byte of a haystack is: what the choice of filters and windows is computed from.

use super::Bytes;
use super::gram::fold_of;
use super::set::Literals;

/// Bytes of English, HTML and HTTP headers in classes of about equal frequency, and the frequency of each byte of the
/// class in 10,000 bytes.
const COMMON: &[(&[u8], f32)] = &[
    (b" ", 1200.0),
    (b"e", 850.0),
    (b"t", 650.0),
    (b"aoin", 530.0),
    (b"srhl", 430.0),
    (b"dcu", 280.0),
    (b"pmg", 190.0),
    (b"fywb", 130.0),
    (b"vk", 70.0),
    (b"\n\r./-,:=\"<>", 90.0),
    (b"0123", 80.0),
    (b"456789", 50.0),
    (b"AEISTCMPH", 35.0),
    (b"BDFGLNORUWxjqz", 22.0),
    (b"JKQVXYZ;_()'&?%\t+*#@!$[]{}|\\~^`", 9.0),
];

/// What every byte has at least, in 10,000 bytes: binary data.
const LEAST: f32 = 2.0;

/// Letters of the alphabet.
const LETTERS: f32 = 26.0;

/// The probability of a gram in text is about the product of those of its bytes to this power: 4 letters of English have 3.3
/// bits each where one alone has 4.1.
pub(super) const TEXT_POWER: f32 = 0.8;

/// Probabilities of bytes and grams, in two kinds of haystacks that are equally likely: English with HTTP, and the bytes
/// that occur in the literals, each as often as the others.
#[derive(Debug)]
pub(super) struct ByteModel {
    /// Of a byte in text, and among the bytes of the literals.
    bytes: [[f32; 2]; 256],
    exact: Kinds,
    folded: Kinds,
}

/// By byte: the logarithm to base 2 of the probability in text, and the probability among the bytes of the literals.
#[derive(Debug)]
struct Kinds {
    text: [f32; 256],
    uniform: [f32; 256],
}

impl ByteModel {
    pub(super) fn new(literals: &Literals) -> ByteModel {
        let mut weights = [LEAST; 256];
        for (bytes, weight) in COMMON {
            for byte in *bytes {
                weights[usize::from(*byte)] += weight;
            }
        }
        let sum: f32 = weights.iter().sum();
        let mut occurs = [0.0_f32; 256];
        for index in 0..literals.len() {
            for &byte in literals.bytes(index) {
                occurs[usize::from(byte)] = 1.0;
                if literals.caseless(index) {
                    occurs[usize::from(byte.to_ascii_uppercase())] = 1.0;
                }
            }
        }
        let different = occurs.iter().sum::<f32>().max(1.0);
        let text = |byte: usize| weights[byte] / sum;
        let uniform = |byte: usize| occurs[byte] / different;
        ByteModel {
            bytes: std::array::from_fn(|byte| [text(byte), uniform(byte)]),
            exact: Kinds {
                text: std::array::from_fn(|byte| text(byte).log2()),
                uniform: std::array::from_fn(uniform),
            },
            folded: Kinds {
                text: std::array::from_fn(|byte| (text(byte) + text(byte ^ 0x20)).log2()),
                uniform: std::array::from_fn(|byte| uniform(byte) + uniform(byte ^ 0x20)),
            },
        }
    }

    /// The probabilities of `byte` in the two kinds.
    pub(super) fn of(&self, byte: u8) -> [f32; 2] {
        self.bytes[usize::from(byte)]
    }

    /// The probability of a gram, or of all that differ from it in bit 5 only.
    fn of_gram(&self, gram: &[u8], fold: bool) -> f32 {
        self.of_bytes(gram, fold, f32::INFINITY)
    }

    /// The probability of a literal, where the second kind of haystack has as many different bytes as there are letters at least.
    pub(super) fn of_literal(&self, bytes: &[u8], fold: bool) -> f32 {
        self.of_bytes(bytes, fold, if fold { 2.0 } else { 1.0 } / LETTERS)
    }

    /// The mean of both kinds; in the second one no byte has more than `most`.
    fn of_bytes(&self, bytes: &[u8], fold: bool, most: f32) -> f32 {
        let Kinds { text, uniform } = if fold { &self.folded } else { &self.exact };
        let bytes = || bytes.iter().map(|byte| usize::from(*byte));
        let in_text = bytes().map(|byte| text[byte]).sum::<f32>();
        let in_uniform = bytes().map(|byte| uniform[byte].min(most)).product::<f32>();
        0.5 * (TEXT_POWER * in_text).exp2() + 0.5 * in_uniform
    }

    /// The probability that a byte of each set stands there, one after another.
    pub(super) fn of_sets(&self, sets: &[Bytes]) -> f32 {
        let of_kind = |kind: usize| -> f32 {
            sets.iter()
                .map(|set| members(set).map(|byte| self.of(byte)[kind]).sum::<f32>())
                .product()
        };
        0.5 * of_kind(0).powf(TEXT_POWER) + 0.5 * of_kind(1)
    }

    /// The window of `len` bytes around the literal `index`, which is shorter, at which a probe of one of its grams is the
    /// least likely to succeed: its offset, and the expected number of its grams at a position.
    pub(super) fn best_around(
        &self,
        literals: &Literals,
        index: usize,
        (len, gram): (usize, usize),
    ) -> Option<(i32, f32)> {
        let of_grams = |sets: &[Bytes]| sets.windows(gram).map(|it| self.of_sets(it)).sum::<f32>();
        literals
            .windows_around(index, len)
            .map(|(offset, sets)| (offset, of_grams(&sets)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// The window of `len` bytes in `literal` at which a probe of one of its grams is the least likely to succeed, each
    /// weighed by `crowd`: its offset, and the expected number of its grams at a position, which is the sum over the grams.
    pub(super) fn best_window(
        &self,
        literal: &[u8],
        (len, gram): (usize, usize),
        fold: bool,
        mut crowd: impl FnMut(&[u8]) -> f32,
    ) -> (usize, f32) {
        let of_gram = |bytes: &[u8]| self.of_gram(bytes, fold);
        if literal.len() == len {
            return (0, literal.windows(gram).map(of_gram).sum());
        }
        let grams: Vec<f32> = literal.windows(gram).map(of_gram).collect();
        let mut best = (0, f32::INFINITY, f32::INFINITY);
        for (offset, grams) in grams.windows(len - gram + 1).enumerate() {
            let sum: f32 = grams.iter().sum();
            let weighed = sum * crowd(&literal[offset..][..len]);
            // Of equal ones the last: the beginnings of strings are more common than their ends.
            if weighed <= best.1 {
                best = (offset, weighed, sum);
            }
        }
        (best.0, best.2)
    }
}

/// The bytes of a set.
pub(super) fn members(set: &Bytes) -> impl Iterator<Item = u8> {
    (0..4_u8).flat_map(|word| {
        let mut bits = set[usize::from(word)];
        std::iter::from_fn(move || {
            let byte = (bits != 0).then(|| word << 6 | bits.trailing_zeros() as u8);
            bits &= bits.wrapping_sub(1);
            byte
        })
    })
}

/// Whether the distinct literals of a range are to be looked up without regard to case, as [`super::set::FOLD`] or 0.
pub(super) fn fold_of_range(literals: &Literals, range: std::ops::Range<usize>) -> u64 {
    fold_of(range.into_iter().any(|index| literals.caseless(index)))
}
