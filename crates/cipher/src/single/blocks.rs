//! DES and SM4, one packet of which the blocks go side by side where the mode allows it.

use lookaside_cipher_kernel::{des, sm4};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use crate::library::aws_lc::{self, Block, Counter};
use crate::{Direction, Text};

use super::aes::key_stream;
use super::cipher::{copy, slice};

/// A key of DES or triple DES. Texts too short for the lanes, and the chain of CBC encryption, are
/// AWS-LC's: its table look-ups depend on the key.
pub(crate) struct Des {
    few: aws_lc::Des,
    many: Many,
    /// The least length in bytes that is worth the lanes.
    least: usize,
}

enum Many {
    One(SecureBox<des::Key>),
    Three(SecureBox<des::TripleKey>),
}

/// Runs `$mode` of the kernel under either key.
macro_rules! lanes {
    ($des:ident, $mode:ident, $cpu:ident, $packet:ident, $text:ident $(, $field:ident: $value:expr)?) => {
        match &$des.many {
            Many::One(key) => des::$mode($cpu, &mut [des::$packet { key: &**key, $($field: $value,)? text: $text }]),
            Many::Three(key) => des::$mode($cpu, &mut [des::$packet { key: &**key, $($field: $value,)? text: $text }]),
        }
    };
}

impl Des {
    /// `key`: 8 bytes, or 24 for triple DES.
    pub(crate) fn new(cpu: &Cpu, key: &[u8]) -> Des {
        let few = aws_lc::Des::new(key);
        let many = match (key.first_chunk(), key.try_into()) {
            (_, Ok(three)) => Many::Three(SecureBox::make(|| des::TripleKey::new(three))),
            (Some(one), _) => Many::One(SecureBox::make(|| des::Key::new(one))),
            _ => unreachable!("the length has been checked"),
        };
        Des { few, many, least: 8 * des::lanes(cpu) / LEAST }
    }

    // None of these is inlined: the lanes take tens of KB of the stack, which nobody else should.

    /// ECB; whole blocks.
    #[inline(never)]
    pub(crate) fn ecb(&self, cpu: &Cpu, direction: Direction, text: &mut Text<'_>) {
        let len = text.len();
        if len < self.least {
            return each_block(text, |b| self.few.block(b, direction == Direction::Seal));
        }
        let text = slice(text, 0, len);
        match direction {
            Direction::Seal => lanes!(self, ecb_encrypt, cpu, Ecb, text),
            Direction::Open => lanes!(self, ecb_decrypt, cpu, Ecb, text),
        }
    }

    /// CBC; whole blocks. `iv` becomes the last block of ciphertext.
    #[inline(never)]
    pub(crate) fn cbc(
        &self,
        cpu: &Cpu,
        direction: Direction,
        iv: &mut [u8; 8],
        text: &mut Text<'_>,
    ) {
        let len = text.len();
        if direction == Direction::Seal || len < self.least {
            return self.few.cbc(iv, text, direction == Direction::Seal);
        }
        let text = slice(text, 0, len);
        lanes!(self, cbc_decrypt, cpu, Cbc, text, iv: iv);
    }

    /// Counter mode with a counter of 64 bits, in pieces.
    #[inline(never)]
    pub(crate) fn ctr(&self, cpu: &Cpu, counter: &mut Counter, text: &mut Text<'_>) {
        key_stream::<8>(counter, text, |next, mut text| {
            let Some(counter) = next.first_chunk_mut::<8>() else { return };
            if text.len() >= self.least {
                return lanes!(self, ctr, cpu, Ctr, text, counter: counter);
            }
            each_block(&mut text, |block: &mut [u8; 8]| {
                let mut pad = *counter;
                self.few.block(&mut pad, true);
                block.iter_mut().zip(pad).for_each(|(a, b)| *a ^= b);
                *counter = u64::from_be_bytes(*counter).wrapping_add(1).to_be_bytes();
            });
        });
    }
}

/// The lanes are worth it from this part of them on.
const LEAST: usize = 4;

/// Replaces each block of the text.
fn each_block<const N: usize>(text: &mut Text<'_>, mut block: impl FnMut(&mut [u8; N])) {
    copy(text).as_chunks_mut::<N>().0.iter_mut().for_each(&mut block);
}

/// SM4 in ECB mode; whole blocks.
pub(crate) fn sm4_ecb(cpu: &Cpu, key: &sm4::Key, direction: Direction, text: &mut Text<'_>) {
    let len = text.len();
    let packets = &mut [sm4::Ecb { key, text: slice(text, 0, len) }];
    match direction {
        Direction::Seal => sm4::ecb_encrypt(cpu, packets),
        Direction::Open => sm4::ecb_decrypt(cpu, packets),
    }
}

/// SM4 in CBC mode; whole blocks. `iv` becomes the last block of ciphertext.
pub(crate) fn sm4_cbc(
    cpu: &Cpu,
    key: &sm4::Key,
    direction: Direction,
    iv: &mut Block,
    text: &mut Text<'_>,
) {
    let len = text.len();
    let packets = &mut [sm4::Cbc { key, iv, text: slice(text, 0, len) }];
    match direction {
        Direction::Seal => sm4::cbc_encrypt(cpu, packets),
        Direction::Open => sm4::cbc_decrypt(cpu, packets),
    }
}

/// SM4 in counter mode, in pieces.
pub(crate) fn sm4_ctr(cpu: &Cpu, key: &sm4::Key, counter: &mut Counter, text: &mut Text<'_>) {
    key_stream::<16>(counter, text, |counter, text| {
        sm4::ctr(cpu, &mut [sm4::Ctr { key, counter, text }]);
    });
}
