//! MACs that chain AES: CMAC (SP 800-38B), XCBC (RFC 3566), plain CBC-MAC; and the chain itself,
//! which CCM uses too.

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::OpError;
use crate::library::aws_lc::Block;

use super::aes::Aes;

/// CBC-MAC under way. A full block is encrypted only when more follows: CMAC and XCBC treat the last
/// one apart.
#[derive(Clone, Default)]
pub(crate) struct Chain {
    /// The last ciphertext, XORed with as much of the next block as there is.
    block: Block,
    /// How much that is, 0 to 16.
    fill: usize,
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

fn xor(block: &mut [u8], with: &[u8]) {
    block.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

impl Chain {
    /// More text.
    pub(crate) fn absorb(&mut self, aes: &Aes, mut text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if self.fill > 0 {
            let (piece, rest) = text.split_at(text.len().min(16 - self.fill));
            xor(&mut self.block[self.fill..], piece);
            self.fill += piece.len();
            text = rest;
            if text.is_empty() {
                return;
            }
            aes.block(&mut self.block);
        }
        // All but the last block.
        let (bulk, last) = text.split_at((text.len() - 1) / 16 * 16);
        if !bulk.is_empty() {
            aes.cbc_mac(&mut self.block, bulk);
        }
        xor(&mut self.block, last);
        self.fill = last.len();
    }

    /// Fills up the last block with zeros, and encrypts it.
    pub(crate) fn pad(&mut self, aes: &Aes) -> Block {
        if self.fill > 0 {
            aes.block(&mut self.block);
            self.fill = 0;
        }
        self.block
    }
}

/// What is XORed into the last block.
enum Last {
    /// One mask for a full block, another for a padded one.
    Masks(SecureBox<[Block; 2]>),
    /// Nothing: blocks must be full.
    Plain,
}

/// The key of a MAC that chains AES.
pub(crate) struct Key {
    aes: Aes,
    last: Last,
}

/// Multiplication by x in GF(2^128), SP 800-38B section 6.1; without a branch.
fn double(block: Block) -> Block {
    let number = u128::from_be_bytes(block);
    let carry = (number >> 127).wrapping_neg();
    ((number << 1) ^ (carry & 0x87)).to_be_bytes()
}

/// The masks of CMAC: 2L and 4L, L the encrypted zero block.
pub(crate) fn cmac_masks(encrypt: impl Fn(&mut Block)) -> [Block; 2] {
    let mut zero = [0; 16];
    encrypt(&mut zero);
    let full = double(zero);
    zero.zeroize();
    [full, double(full)]
}

/// The keys of XCBC: the encryptions of 01.., 02.. and 03..; the first is AES's, the others masks.
pub(crate) fn xcbc_keys(encrypt: impl Fn(&mut Block)) -> [Block; 3] {
    [1, 2, 3].map(|number| {
        let mut block = [number; 16];
        encrypt(&mut block);
        block
    })
}

impl Key {
    /// CMAC.
    pub(crate) fn cmac(cpu: &Cpu, key: &[u8]) -> Key {
        let aes = Aes::new(cpu, key);
        let masks = SecureBox::make(|| cmac_masks(|block| aes.block(block)));
        Key { aes, last: Last::Masks(masks) }
    }

    /// XCBC.
    pub(crate) fn xcbc(cpu: &Cpu, key: &[u8]) -> Key {
        let aes = Aes::new(cpu, key);
        let keys = SecureBox::make(|| xcbc_keys(|block| aes.block(block)));
        let mut masks = SecureBox::new([[0; 16]; 2]);
        masks.copy_from_slice(&keys[1..]);
        Key { aes: Aes::new(cpu, &keys[0]), last: Last::Masks(masks) }
    }

    /// CBC-MAC.
    pub(crate) fn plain(cpu: &Cpu, key: &[u8]) -> Key {
        Key { aes: Aes::new(cpu, key), last: Last::Plain }
    }

    /// More text.
    pub(crate) fn absorb(&self, chain: &mut Chain, text: &[u8]) {
        chain.absorb(&self.aes, text);
    }

    /// The tag.
    ///
    /// # Errors
    /// [`OpError::BadInput`] when CBC-MAC was given no whole blocks, or none.
    pub(crate) fn finish(&self, chain: &mut Chain) -> Result<Block, OpError> {
        match &self.last {
            Last::Plain if chain.fill != 16 => return Err(OpError::BadInput("whole blocks")),
            Last::Plain => {}
            Last::Masks(masks) if chain.fill == 16 => xor(&mut chain.block, &masks[0]),
            Last::Masks(masks) => {
                chain.block[chain.fill] ^= 0x80;
                xor(&mut chain.block, &masks[1]);
            }
        }
        self.aes.block(&mut chain.block);
        Ok(chain.block)
    }
}
