//! MACs that chain AES (CMAC, XCBC, CBC-MAC), and CCM, of many packets by our own kernels.
//!
//! The whole blocks of a text are read where they lie; what comes before them and behind them is
//! built in memory of ours.

use arrayvec::ArrayVec;
use lookaside_cipher_kernel::aes::{self, lanes::Mac};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use super::alone::part;
use super::hash::{Tails, text};
use super::own::OwnKey;
use super::steps::source;
use super::{Group, MOST, Tags};
use crate::single::cbc_mac::{cmac_masks, xcbc_keys};
use crate::{Auth, Direction, Packet, Text};

/// A block as a number, its first byte the lowest.
type Block = u128;

const BLOCK: usize = 16;

/// What comes before CCM's text: the first block, and the associated data with their length.
const HEAD: usize = 240;

/// The most associated data of CCM that fit there.
pub(crate) const MOST_CCM_AAD: u32 = (HEAD - BLOCK - 2) as u32;

/// The key of a MAC that chains AES. Cleared when dropped.
pub(crate) struct MacKey {
    aes: aes::Key,
    /// What is added to a last block that is whole, and to one that is padded. Without them, all
    /// blocks are whole.
    masks: Option<[Block; 2]>,
}

impl Drop for MacKey {
    fn drop(&mut self) {
        if let Some(masks) = &mut self.masks {
            masks.zeroize();
        }
    }
}

/// Whether the kernel has lanes.
pub(crate) fn has_lanes(cpu: &Cpu) -> bool {
    cpu.avx2().is_some()
}

impl MacKey {
    /// None for another MAC, and where the kernel has no lanes.
    pub(crate) fn new(cpu: &Cpu, auth: Auth, key: &[u8]) -> Option<SecureBox<MacKey>> {
        has_lanes(cpu).then_some(())?;
        let new = |key: &[u8]| {
            SecureBox::try_make(|| Some(MacKey { aes: aes::Key::new(cpu, key)?, masks: None }))
        };
        let block = |key: &MacKey, block: &mut [u8; BLOCK]| {
            aes::ecb_encrypt(&key.aes, Text::InPlace(block));
        };
        match auth {
            Auth::AesCbcMac => new(key),
            Auth::AesCmac => {
                let mut made = new(key)?;
                let mut masks = cmac_masks(|bytes| block(&made, bytes));
                made.masks = Some(masks.map(Block::from_le_bytes));
                masks.zeroize();
                Some(made)
            }
            Auth::AesXcbc if key.len() == 16 => {
                let given = new(key)?;
                let mut keys = xcbc_keys(|bytes| block(&given, bytes));
                let mut made = new(&keys[0])?;
                made.masks = Some([keys[1], keys[2]].map(Block::from_le_bytes));
                keys.zeroize();
                Some(made)
            }
            _ => None,
        }
    }
}

/// The last bytes of a text, `len` of at most a block of them: the first of them is the lowest.
#[inline(always)]
fn last(text: &[u8], len: usize) -> Block {
    match text.last_chunk::<BLOCK>() {
        Some(_) if len == 0 => 0,
        // The bytes before are shifted out: no copy of a length that only the text has.
        Some(block) => Block::from_le_bytes(*block) >> (8 * (BLOCK - len)),
        None => {
            let mut block = [0; BLOCK];
            block[..len].copy_from_slice(&text[text.len() - len..]);
            Block::from_le_bytes(block)
        }
    }
}

/// Makes the tags of the authenticated regions of a group of packets, of their sources or their
/// destinations. Their sessions have the key.
pub(crate) fn run(
    of_destination: bool,
    packets: &[Packet<'_>],
    group: Group,
    (tails, tags): (&mut Tails, &mut Tags),
) {
    let mut list: ArrayVec<Mac<'_>, MOST> = ArrayVec::new();
    for (place, tail) in group.zip(&mut tails.0) {
        let packet = &packets[place];
        let Some(key) = &packet.session.plan().mac else { continue };
        let text = text(&packet.text, packet.parts.auth, of_destination);
        let mut parts = [text, &[], &[]];
        if let Some([whole, padded]) = key.masks {
            // The last block is apart even when it is whole.
            let len = text.len() - text.len().saturating_sub(1) / BLOCK * BLOCK;
            let block = match len {
                BLOCK => last(text, BLOCK) ^ whole,
                _ => last(text, len) ^ (0x80 << (8 * len)) ^ padded,
            };
            tail[..BLOCK].copy_from_slice(&block.to_le_bytes());
            parts = [&text[..text.len() - len], &tail[..BLOCK], &[]];
        }
        list.push(Mac { key: &key.aes, parts, state: [0; BLOCK] });
    }
    aes::lanes::cbc_mac(&mut list);
    for (place, mac) in group.zip(&list) {
        tags[place][..BLOCK].copy_from_slice(&mac.state);
    }
}

/// AES-CCM (SP 800-38C). The tags are whole.
pub(crate) fn ccm(
    direction: Direction,
    packets: &mut [Packet<'_>],
    group: Group,
    (tails, tags): (&mut Tails, &mut Tags),
) {
    let mut counters: ArrayVec<[u8; BLOCK], MOST> = ArrayVec::new();
    let mut heads: ArrayVec<usize, MOST> = ArrayVec::new();
    for (place, tail) in group.zip(&mut tails.0) {
        let packet = &packets[place];
        let counter = counter(packet.iv);
        heads.push(head(packet, counter, tail));
        counters.push(counter);
    }
    // What is authenticated is the plaintext.
    if direction == Direction::Open {
        counter_mode(packets, group, &counters);
    }
    let mut list: ArrayVec<Mac<'_>, MOST> = ArrayVec::new();
    for ((place, tail), head) in group.zip(&mut tails.0).zip(heads) {
        let packet = &packets[place];
        let Some(OwnKey::Aes(key)) = &packet.session.plan().own_key else { continue };
        let text = text(&packet.text, packet.parts.cipher, direction == Direction::Open);
        let len = text.len() % BLOCK;
        tail[HEAD..].copy_from_slice(&last(text, len).to_le_bytes());
        let end = if len == 0 { HEAD } else { HEAD + BLOCK };
        let parts = [&tail[..head], &text[..text.len() - len], &tail[HEAD..end]];
        list.push(Mac { key, parts, state: [0; BLOCK] });
    }
    aes::lanes::cbc_mac(&mut list);
    // The tags are encrypted with the first counters: together, as far as keys are the same.
    let (mut places, mut rest) = (group, &counters[..]);
    for macs in list.chunk_by(|a, b| std::ptr::eq(a.key, b.key)) {
        let (now, after) = rest.split_at(macs.len());
        rest = after;
        let mut masks: ArrayVec<[u8; BLOCK], MOST> = now.iter().copied().collect();
        aes::ecb_encrypt(macs[0].key, Text::InPlace(masks.as_flattened_mut()));
        for (mac, mask) in macs.iter().zip(&masks) {
            let tag = Block::from_le_bytes(mac.state) ^ Block::from_le_bytes(*mask);
            if let Some(place) = places.next() {
                tags[place][..BLOCK].copy_from_slice(&tag.to_le_bytes());
            }
        }
        masks.as_flattened_mut().zeroize();
    }
    drop(list);
    if direction == Direction::Seal {
        counter_mode(packets, group, &counters);
    }
}

/// The first counter block (appendix A.3): the length of lengths, less one, and the nonce.
#[inline(always)]
fn counter(nonce: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[0] = (BLOCK - 2 - nonce.len()) as u8;
    match nonce.len() {
        12 => block[1..13].copy_from_slice(&nonce[..12]),
        13 => block[1..14].copy_from_slice(&nonce[..13]),
        len => block[1..=len].copy_from_slice(nonce),
    }
    block
}

/// Writes what comes before the text (appendix A.2), and says how long it is.
#[inline(always)]
fn head(packet: &Packet<'_>, counter: [u8; BLOCK], out: &mut [u8; 256]) -> usize {
    let aad = source(&packet.text, packet.parts.aad);
    let tag_len = packet.session.plan().tag_len as u8;
    let mut block = counter;
    block[0] += u8::from(!aad.is_empty()) << 6 | ((tag_len - 2) / 2) << 3;
    // The text's length, which admission has kept below what the nonce leaves room for.
    let len = u128::from(packet.parts.cipher.len);
    let block = u128::from_be_bytes(block) | len;
    out[..BLOCK].copy_from_slice(&block.to_be_bytes());
    if aad.is_empty() {
        return BLOCK;
    }
    let (start, used) = (BLOCK + 2, BLOCK + 2 + aad.len());
    out[BLOCK..start].copy_from_slice(&(aad.len() as u16).to_be_bytes());
    out[start..used].copy_from_slice(aad);
    let end = used.next_multiple_of(BLOCK);
    out[used..end].fill(0);
    end
}

/// Encrypts or decrypts the cipher regions.
#[inline(always)]
fn counter_mode(packets: &mut [Packet<'_>], group: Group, counters: &[[u8; BLOCK]]) {
    for (place, counter) in group.zip(counters) {
        let packet = &mut packets[place];
        if let Some(OwnKey::Aes(key)) = &packet.session.plan().own_key {
            let text = part(&mut packet.text, packet.parts.cipher);
            aes::ctr_from(key, u128::from_be_bytes(*counter) + 1, text);
        }
    }
}
