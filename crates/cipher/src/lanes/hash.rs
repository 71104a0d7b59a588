//! Hashes and HMACs of many packets by our own kernels.
//!
//! The whole blocks of a text are hashed where they lie; the padded rest is built in memory of ours.
//! HMAC is two rounds: the inner hashes of all packets, then the outer ones, whose text is one block.

use arrayvec::ArrayVec;
use lookaside_cipher_kernel::hash::{self, Message};
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use super::{Group, MOST, Tags};
use crate::{Hash, Packet, Span, Text};

/// A hash or HMAC in the lanes of our kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashLane {
    pub hash: Hash,
    pub hmac: bool,
}

/// The chaining values that a session's texts begin with, and those of HMAC's outer hash. Each is one
/// word of the algorithm's. Cleared when dropped.
pub(crate) struct HashKey {
    inner: [u64; 25],
    outer: [u64; 25],
}

impl Drop for HashKey {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

/// Room for the padded ends of texts: up to two blocks each. Cleared when dropped.
#[repr(align(64))]
pub(crate) struct Tails(pub(super) [[u8; 256]; MOST]);

impl Tails {
    pub(crate) fn new() -> Box<Tails> {
        Box::new(Tails([[0; 256]; MOST]))
    }
}

impl Drop for Tails {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

/// A family of hash functions, to the generic code here.
trait Family {
    type State: Copy;
    /// Bytes of the text's length at the end of the padding; 0 for Keccak's padding.
    const LENGTH: usize;
    /// Of the state, as far as it can be a digest: at most 64.
    const BYTES: usize;
    const LITTLE_ENDIAN: bool;
    /// Words of the state, as `HashKey` has them.
    fn load(words: &[u64; 25]) -> Self::State;
    fn store(state: &Self::State) -> [u64; 25];
    fn compress(cpu: &Cpu, block: usize, messages: &mut [Message<'_, Self::State>]);
    fn digest(state: &Self::State, out: &mut [u8; 64]);
}

macro_rules! family {
    ($name:ident, $state:ty, $word:ty, $length:literal, $little:literal, $bytes:ident,
        $cpu:ident, $block:ident, $messages:ident => $compress:expr) => {
        struct $name;

        impl Family for $name {
            type State = $state;
            const LENGTH: usize = $length;
            const BYTES: usize = if size_of::<$state>() > 64 { 64 } else { size_of::<$state>() };
            const LITTLE_ENDIAN: bool = $little;

            #[inline(always)]
            fn load(words: &[u64; 25]) -> $state {
                std::array::from_fn(|i| words[i] as $word)
            }

            fn store(state: &$state) -> [u64; 25] {
                std::array::from_fn(|i| state.get(i).map_or(0, |word| u64::from(*word)))
            }

            #[inline(always)]
            fn compress($cpu: &Cpu, $block: usize, $messages: &mut [Message<'_, $state>]) {
                $compress
            }

            #[inline(always)]
            fn digest(state: &$state, out: &mut [u8; 64]) {
                const LEN: usize = size_of::<$word>();
                for (bytes, word) in out.chunks_exact_mut(LEN).zip(state) {
                    bytes.copy_from_slice(&word.$bytes());
                }
            }
        }
    };
}

family!(Md5, [u32; 4], u32, 8, true, to_le_bytes, cpu, _block, messages => hash::md5(cpu, messages));
family!(Sha1, [u32; 5], u32, 8, false, to_be_bytes, cpu, _block, messages => hash::sha1(cpu, messages));
family!(Sha256, [u32; 8], u32, 8, false, to_be_bytes, cpu, _block, messages => hash::sha256(cpu, messages));
family!(Sha512, [u64; 8], u64, 16, false, to_be_bytes, cpu, _block, messages => hash::sha512(cpu, messages));
family!(Sm3, [u32; 8], u32, 8, false, to_be_bytes, cpu, _block, messages => hash::sm3(cpu, messages));
family!(Keccak, [u64; 25], u64, 0, true, to_le_bytes, cpu, block, messages => hash::keccak(cpu, block, messages));

/// Calls the function for the family of a hash; nothing for one without.
macro_rules! dispatch {
    ($hash:expr, $name:ident($($argument:expr),*)) => {
        match $hash {
            Hash::Md5 => $name::<Md5>($($argument),*),
            Hash::Sha1 => $name::<Sha1>($($argument),*),
            Hash::Sha224 | Hash::Sha256 => $name::<Sha256>($($argument),*),
            Hash::Sha384 | Hash::Sha512 => $name::<Sha512>($($argument),*),
            Hash::Sm3 => $name::<Sm3>($($argument),*),
            Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => {
                $name::<Keccak>($($argument),*)
            }
            Hash::Md5Sha1 | Hash::Ripemd160 | Hash::Sha512_224 | Hash::Sha512_256 => {}
        }
    };
}

fn start(hash: Hash) -> Option<[u64; 25]> {
    fn widen<W: Copy + Into<u64>, const N: usize>(words: &[W; N]) -> [u64; 25] {
        std::array::from_fn(|i| words.get(i).map_or(0, |word| (*word).into()))
    }
    Some(match hash {
        Hash::Md5 => widen(&hash::MD5_START),
        Hash::Sha1 => widen(&hash::SHA1_START),
        Hash::Sha224 => widen(&hash::SHA224_START),
        Hash::Sha256 => widen(&hash::SHA256_START),
        Hash::Sha384 => widen(&hash::SHA384_START),
        Hash::Sha512 => widen(&hash::SHA512_START),
        Hash::Sm3 => widen(&hash::SM3_START),
        Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => hash::KECCAK_START,
        Hash::Md5Sha1 | Hash::Ripemd160 | Hash::Sha512_224 | Hash::Sha512_256 => return None,
    })
}

impl HashKey {
    /// For a hash alone, or for HMAC with a key.
    pub(crate) fn new(cpu: &Cpu, lane: HashLane, key: &[u8]) -> Option<HashKey> {
        let start = start(lane.hash)?;
        let mut prepared = HashKey { inner: start, outer: start };
        if lane.hmac {
            // RFC 2104: a key longer than a block is hashed first.
            let mut block = [0; 144];
            if key.len() > lane.hash.block_len() {
                digest(cpu, lane.hash, key, &mut block)?;
            } else {
                block[..key.len()].copy_from_slice(key);
            }
            let words = [(0x36, &mut prepared.inner), (0x5c, &mut prepared.outer)];
            for (pad, words) in words {
                let mut padded = block.map(|byte| byte ^ pad);
                dispatch!(lane.hash, absorb(cpu, lane.hash, words, &padded));
                padded.zeroize();
            }
            block.zeroize();
        }
        Some(prepared)
    }
}

/// Takes in one block.
fn absorb<F: Family>(cpu: &Cpu, hash: Hash, words: &mut [u64; 25], block: &[u8; 144]) {
    let mut state = F::load(words);
    let len = hash.block_len();
    F::compress(cpu, len, &mut [Message { state: &mut state, parts: [&block[..len], &[]] }]);
    *words = F::store(&state);
}

/// The digest of a long key.
fn digest(cpu: &Cpu, hash: Hash, text: &[u8], out: &mut [u8; 144]) -> Option<()> {
    fn whole<F: Family>(cpu: &Cpu, hash: Hash, text: &[u8], start: &[u64; 25], out: &mut [u8; 64]) {
        let (block, mut state, mut tail) = (hash.block_len(), F::load(start), [0; 256]);
        let (blocks, rest) = text.split_at(text.len() / block * block);
        let len = pad::<F>(&mut tail, rest, block, text.len());
        let parts = [blocks, &tail[..len]];
        F::compress(cpu, block, &mut [Message { state: &mut state, parts }]);
        F::digest(&state, out);
        tail.zeroize();
    }
    let (mut full, start) = ([0; 64], start(hash)?);
    dispatch!(hash, whole(cpu, hash, text, &start, &mut full));
    out[..hash.len()].copy_from_slice(&full[..hash.len()]);
    full.zeroize();
    Some(())
}

/// Writes the end of a text of `total` bytes and its padding, and returns how many bytes that is.
#[inline(always)]
fn pad<F: Family>(tail: &mut [u8; 256], rest: &[u8], block: usize, total: usize) -> usize {
    let len = if rest.len() + 1 + F::LENGTH > block { 2 * block } else { block };
    // Fills of a length that the compiler knows are a store or two.
    if len <= 64 {
        tail[..64].fill(0);
    } else if len <= 128 {
        tail[..128].fill(0);
    } else {
        tail.fill(0);
    }
    if !rest.is_empty() {
        tail[..rest.len()].copy_from_slice(rest);
    }
    close::<F>(tail, rest.len(), len, total);
    len
}

/// The padding after `used` bytes.
#[inline(always)]
fn close<F: Family>(tail: &mut [u8; 256], used: usize, len: usize, total: usize) {
    if F::LENGTH == 0 {
        // FIPS 202 section B.2, with SHA-3's two bits.
        tail[used] = 0x06;
        tail[len - 1] |= 0x80;
        return;
    }
    tail[used] = 0x80;
    // The upper half of SHA-512's 16 bytes stays zero: texts are shorter than 2^61 bytes.
    let bits = (total as u64) << 3;
    let bits = if F::LITTLE_ENDIAN { bits.to_le_bytes() } else { bits.to_be_bytes() };
    tail[len - 8..len].copy_from_slice(&bits);
}

/// The one block of HMAC's outer hash: the inner digest, and padding.
#[inline(always)]
fn outer<F: Family>(tail: &mut [u8; 256], inner: &F::State, block: usize, digest_len: usize) {
    if let Some(first) = tail.first_chunk_mut() {
        F::digest(inner, first);
    }
    if block <= 64 {
        tail[F::BYTES..64].fill(0);
    } else if block <= 128 {
        tail[F::BYTES..128].fill(0);
    } else {
        tail[F::BYTES..].fill(0);
    }
    if digest_len < F::BYTES {
        tail[digest_len..F::BYTES].fill(0);
    }
    close::<F>(tail, digest_len, block, block + digest_len);
}

/// Makes the digests or HMACs of the authenticated regions of a group of packets, of their sources or
/// their destinations.
pub(crate) fn run(
    cpu: &Cpu,
    lane: HashLane,
    of_destination: bool,
    packets: &[Packet<'_>],
    group: Group,
    (tails, tags): (&mut Tails, &mut Tags),
) {
    dispatch!(lane.hash, run_family(cpu, lane, of_destination, packets, group, (tails, tags)));
}

#[inline(always)]
fn run_family<F: Family>(
    cpu: &Cpu,
    lane: HashLane,
    of_destination: bool,
    packets: &[Packet<'_>],
    group: Group,
    (tails, tags): (&mut Tails, &mut Tags),
) {
    let block = lane.hash.block_len();
    let before = if lane.hmac { block } else { 0 };
    let key = |place: usize| packets[place].session.hash_key();
    // Filled where they lie: moved, they would be loaded before they have left the core.
    let mut states: ArrayVec<F::State, MOST> = ArrayVec::new();
    for place in group {
        states.push(F::load(&key(place).inner));
    }
    let mut messages: ArrayVec<Message<'_, F::State>, MOST> = ArrayVec::new();
    // Whole blocks leave nothing for the tail but padding: one serves texts that are equally long.
    let mut padding: Option<(usize, &[u8])> = None;
    for ((place, state), tail) in group.zip(&mut states).zip(&mut tails.0) {
        let text = text(&packets[place].text, packets[place].parts.auth, of_destination);
        let (blocks, rest) = text.split_at(text.len() / block * block);
        let tail = match padding {
            Some((len, tail)) if len == text.len() => tail,
            _ => {
                let len = pad::<F>(tail, rest, block, before + text.len());
                let tail = &tail[..len];
                if rest.is_empty() {
                    padding = Some((text.len(), tail));
                }
                tail
            }
        };
        messages.push(Message { state, parts: [blocks, tail] });
    }
    F::compress(cpu, block, &mut messages);
    drop(messages);
    if lane.hmac {
        let mut messages: ArrayVec<Message<'_, F::State>, MOST> = ArrayVec::new();
        for ((place, state), tail) in group.zip(&mut states).zip(&mut tails.0) {
            outer::<F>(tail, state, block, lane.hash.len());
            *state = F::load(&key(place).outer);
            messages.push(Message { state, parts: [&tail[..block], &[]] });
        }
        F::compress(cpu, block, &mut messages);
    }
    for (place, state) in group.zip(&states) {
        F::digest(state, &mut tags[place]);
    }
}

/// A region of what was, or of what is now.
#[inline(always)]
pub(super) fn text<'a>(text: &'a Text<'_>, span: Span, of_destination: bool) -> &'a [u8] {
    let bytes: &[u8] = match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { dst, .. } if of_destination => dst,
        Text::Apart { src, .. } => src,
    };
    &bytes[span.offset as usize..][..span.len as usize]
}
