//! KASUMI (3GPP TS 35.202) in the modes of TS 35.201: F8, which is UEA1, and F9, which is UIA1.
//!
//! Both modes chain one block to the next, so packets work side by side: 64 in the bytes of AVX-512
//! vectors, elsewhere in the bits of words, each under its own key. No address and no branch
//! depends on a key or a text. The price: one packet alone takes as long as 64.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod batch;
mod bitslice;
#[cfg(target_arch = "x86_64")]
mod tables;

use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::Text;

/// A key of 128 bits, for F8 and for F9. Zeroized when dropped.
///
/// The subkeys are rotations of the key: they are made for the packets of a batch together.
#[derive(Clone)]
pub struct Key {
    /// The little-endian readings of its halves: in memory, the bytes in order.
    halves: [u64; 2],
}

impl Key {
    /// The key as TS 35.201 writes it: CK or IK, most significant byte first.
    pub fn new(key: &[u8; 16]) -> Key {
        let number = u128::from_le_bytes(*key);
        Key { halves: [number as u64, (number >> 64) as u64] }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.halves.zeroize();
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A packet to encrypt or decrypt with F8.
#[derive(Debug)]
pub struct F8<'a> {
    /// The key.
    pub key: &'a Key,
    /// COUNT, 32 bits; BEARER, five; DIRECTION, one; 26 zeros.
    pub iv: [u8; 8],
    /// What to encrypt or decrypt.
    pub text: Text<'a>,
    /// How many bits at the end of the last byte are not part of the message, 0 to 7. In the
    /// result they are as they were in the source.
    pub spare_bits: u8,
}

/// A message to authenticate with F9.
#[derive(Debug)]
pub struct F9<'a> {
    /// The key.
    pub key: &'a Key,
    /// COUNT, FRESH: 32 bits each.
    pub iv: [u8; 8],
    /// DIRECTION: 0 uplink, 1 downlink. Only the lowest bit counts.
    pub direction: u8,
    /// The message.
    pub data: &'a [u8],
    /// How many bits at the end of the last byte are not part of the message, 0 to 7.
    pub spare_bits: u8,
    /// Receives MAC-I.
    pub tag: [u8; 4],
}

/// Encrypts or decrypts packets with F8 (UEA1), of any number and any lengths.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn f8(cpu: &Cpu, packets: &mut [F8<'_>]) {
    f8_of(cpu, packets);
}

/// Makes the tags of messages with F9 (UIA1), of any number and any lengths.
pub fn f9(cpu: &Cpu, packets: &mut [F9<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return batch::f9(avx512::Vectors(proof), &mut avx512::Schedule::empty(), packets);
    }
    let _ = cpu;
    batch::f9(bitslice::Portable, &mut bitslice::Schedule::empty(), packets);
}

/// F8 over a text in pieces. Zeroized when dropped.
#[derive(Clone)]
pub struct Stream {
    key: Key,
    state: batch::State,
}

impl Stream {
    /// At the first byte of the packet that `iv` (see [`F8::iv`]) is of.
    pub fn new(cpu: &Cpu, key: &Key, iv: [u8; 8]) -> Stream {
        let mut stream = Stream { key: key.clone(), state: batch::State::default() };
        let first = [F8 { key, iv, text: Text::InPlace(&mut []), spare_bits: 0 }];
        stream.state.start = start(cpu, &first);
        stream
    }

    /// Encrypts or decrypts the next piece, of any length. Alone, it takes as long as a piece in
    /// each of 64 streams ([`f8_pieces`]).
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    pub fn apply(&mut self, cpu: &Cpu, text: Text<'_>) {
        f8_pieces(cpu, &mut [Piece { stream: self, text }]);
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Stream(..)")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.zeroize();
    }
}

/// The next piece of a text for a [`Stream`].
#[derive(Debug)]
pub struct Piece<'a> {
    /// The stream, which goes on behind the piece.
    pub stream: &'a mut Stream,
    /// What to encrypt or decrypt.
    pub text: Text<'a>,
}

/// Encrypts or decrypts the next pieces of streams, of any number and any lengths.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn f8_pieces(cpu: &Cpu, pieces: &mut [Piece<'_>]) {
    f8_of(cpu, pieces);
}

/// How many packets work side by side: a batch of fewer takes as long.
pub fn lanes(_cpu: &Cpu) -> usize {
    batch::LANES
}

fn f8_of<S: batch::Source>(cpu: &Cpu, packets: &mut [S]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return batch::f8(avx512::Vectors(proof), &mut avx512::Schedule::empty(), packets);
    }
    let _ = cpu;
    batch::f8(bitslice::Portable, &mut bitslice::Schedule::empty(), packets);
}

/// A (TS 35.201, clause 3.4) of one packet.
fn start(cpu: &Cpu, packet: &[F8<'_>; 1]) -> u64 {
    /// On one kernel.
    fn on<L: batch::Lanes>(lanes: L, schedule: &mut L::Schedule, packet: &[F8<'_>; 1]) -> u64 {
        let mut starts = [0; batch::LANES];
        batch::start(lanes, schedule, packet, &mut starts);
        schedule.zeroize();
        let start = starts[0];
        starts.zeroize();
        start
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return on(avx512::Vectors(proof), &mut avx512::Schedule::empty(), packet);
    }
    let _ = cpu;
    on(bitslice::Portable, &mut bitslice::Schedule::empty(), packet)
}
