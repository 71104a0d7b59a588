//! KASUMI (3GPP TS 35.202) in the modes of TS 35.201: F8, which is UEA1, and F9, which is UIA1.
//!
//! Both modes chain one block to the next, so packets work side by side: 64 in the bytes of AVX-512
//! vectors, or twice 64, each under its own key; elsewhere 64 in the bits of words. No address and
//! no branch depends on a key or a text.

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
    bytes: [u8; 16],
}

impl Key {
    /// The key as TS 35.201 writes it: CK or IK, most significant byte first.
    pub fn new(key: &[u8; 16]) -> Key {
        Key { bytes: *key }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.bytes.zeroize();
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
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        let lanes = avx512::Vectors(proof);
        if packets.len() > 64 {
            return batch::f8::<128, _>(
                lanes,
                &mut [const { avx512::Schedule::empty() }; 2],
                packets,
            );
        }
        return batch::f8::<64, _>(lanes, &mut [const { avx512::Schedule::empty() }], packets);
    }
    let _ = cpu;
    batch::f8::<64, _>(bitslice::Portable, &mut bitslice::Schedule::empty(), packets);
}

/// Makes the tags of messages with F9 (UIA1), of any number and any lengths.
pub fn f9(cpu: &Cpu, packets: &mut [F9<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        let lanes = avx512::Vectors(proof);
        if packets.len() > 64 {
            return batch::f9::<128, _>(
                lanes,
                &mut [const { avx512::Schedule::empty() }; 2],
                packets,
            );
        }
        return batch::f9::<64, _>(lanes, &mut [const { avx512::Schedule::empty() }], packets);
    }
    let _ = cpu;
    batch::f9::<64, _>(bitslice::Portable, &mut bitslice::Schedule::empty(), packets);
}

/// How many packets work side by side: a batch of fewer takes as long.
pub fn lanes(cpu: &Cpu) -> usize {
    if cpu.avx512().is_some() { 128 } else { 64 }
}
