//! AES-CCM (SP 800-38C): CBC-MAC of lengths, associated data and plaintext, counter mode.

use zeroize::Zeroize;

use crate::library::aws_lc::{Block, Counter};
use crate::{Direction, OpError, Text};

use super::aes::Aes;
use super::cbc_mac::Chain;
use super::check::ccm_len;
use super::cipher::slice;

/// A text under way, its lengths known.
#[derive(Clone)]
pub(crate) struct Ccm {
    chain: Chain,
    counter: Counter,
    /// What the tag is encrypted with.
    first: Block,
    aad_left: u64,
    text_left: u64,
}

impl Drop for Ccm {
    fn drop(&mut self) {
        self.first.zeroize();
    }
}

impl Ccm {
    /// A text of `text_len` bytes with `aad_len` of associated data (appendix A.2 and A.3).
    pub(crate) fn new(
        aes: &Aes,
        nonce: &[u8],
        tag_len: usize,
        aad_len: u64,
        text_len: u64,
    ) -> Result<Ccm, OpError> {
        ccm_len(nonce.len(), text_len)?;
        let length_len = 15 - nonce.len();
        let mut block = [0; 16];
        block[1..=nonce.len()].copy_from_slice(nonce);

        let mut head = block;
        let has_aad = u8::from(aad_len > 0);
        head[0] = has_aad * 0x40 + ((tag_len - 2) / 2) as u8 * 8 + (length_len - 1) as u8;
        let length = text_len.to_be_bytes();
        let kept = length_len.min(8);
        head[16 - kept..].copy_from_slice(&length[8 - kept..]);
        let mut chain = Chain::default();
        chain.absorb(aes, &head);
        match aad_len {
            0 => {}
            1..0xff00 => chain.absorb(aes, &(aad_len as u16).to_be_bytes()),
            0xff00..=0xffff_ffff => {
                chain.absorb(aes, &[0xff, 0xfe]);
                chain.absorb(aes, &(aad_len as u32).to_be_bytes());
            }
            _ => {
                chain.absorb(aes, &[0xff, 0xff]);
                chain.absorb(aes, &aad_len.to_be_bytes());
            }
        }

        block[0] = (length_len - 1) as u8;
        let mut first = block;
        aes.block(&mut first);
        block[15] = 1;
        let counter = Counter { next: block, ..Counter::default() };
        let mut ccm = Ccm { chain, counter, first, aad_left: aad_len, text_left: text_len };
        if aad_len == 0 {
            ccm.chain.pad(aes);
        }
        Ok(ccm)
    }

    /// Associated data.
    pub(crate) fn aad(&mut self, aes: &Aes, aad: &[u8]) -> Result<(), OpError> {
        self.aad_left = self.aad_left.checked_sub(aad.len() as u64).ok_or(LENGTHS)?;
        self.chain.absorb(aes, aad);
        if self.aad_left == 0 {
            self.chain.pad(aes);
        }
        Ok(())
    }

    /// Encrypts or decrypts a piece.
    pub(crate) fn update(
        &mut self,
        aes: &Aes,
        direction: Direction,
        text: &mut Text<'_>,
    ) -> Result<(), OpError> {
        if self.aad_left > 0 {
            return Err(LENGTHS);
        }
        self.text_left = self.text_left.checked_sub(text.len() as u64).ok_or(LENGTHS)?;
        // Pieces that stay in the nearest cache between the two passes.
        let len = text.len();
        for at in (0..len).step_by(PIECE) {
            let mut piece = slice(text, at, PIECE.min(len - at));
            if direction == Direction::Seal {
                self.chain.absorb(aes, piece.source());
                aes.ctr(&mut self.counter, &mut piece);
            } else {
                aes.ctr(&mut self.counter, &mut piece);
                self.chain.absorb(aes, piece.written());
            }
        }
        Ok(())
    }

    /// The full tag.
    pub(crate) fn tag(&mut self, aes: &Aes) -> Result<Block, OpError> {
        if self.aad_left > 0 || self.text_left > 0 {
            return Err(LENGTHS);
        }
        let mut tag = self.chain.pad(aes);
        tag.iter_mut().zip(self.first).for_each(|(a, b)| *a ^= b);
        Ok(tag)
    }
}

const PIECE: usize = 4096;

const LENGTHS: OpError = OpError::BadInput("not as long as announced");
