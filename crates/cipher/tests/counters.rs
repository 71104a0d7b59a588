//! AES-GCM where the 32 bits of its counter begin anew (SP 800-38D section 6.2): nonces that are made
//! for it, by every tier beside AWS-LC.

mod single_common;

use lookaside_cipher::{Aead, Cipher, Direction, Engine, OpError, Packet, Parts, Session, Text};
use lookaside_simd::{Cpu, Tier};
use single_common::*;

/// The product in GCM's field (SP 800-38D section 6.3, algorithm 1).
fn multiply(x: u128, mut v: u128) -> u128 {
    let mut z = 0;
    for bit in (0..128).rev() {
        z ^= if x >> bit & 1 == 1 { v } else { 0 };
        v = (v >> 1) ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
    }
    z
}

/// x^(2^128 - 2).
fn inverse(x: u128) -> u128 {
    let (mut power, mut all) = (x, 1 << 127);
    for _ in 1..128 {
        power = multiply(power, power);
        all = multiply(all, power);
    }
    all
}

/// The nonce of 16 bytes whose first counter block is `first`: GHASH of the nonce, and of its length
/// in bits, taken back.
fn nonce(key: &[u8], first: u128) -> [u8; 16] {
    let h = openssl_cipher(&format!("AES-{}-ECB", 8 * key.len()), key, &[], true, &[0; 16]);
    let h = inverse(u128::from_be_bytes(h[..16].try_into().unwrap()));
    multiply(multiply(first, h) ^ 128, h).to_be_bytes()
}

#[test]
fn gcm_counters_begin_anew() {
    let mut random = Random(1);
    for key_len in [16, 24, 32] {
        let key = random.bytes(key_len);
        for until in (0..70).chain([254, 255, 256, 257]) {
            let block = u128::from(random.next()) << 64 | u128::from(u32::MAX - until);
            let iv = nonce(&key, block);
            for len in [16 * (until as usize + 3) + 5, 1500, 40] {
                let text = random.bytes(len);
                let spec = aead_spec(Aead::AesGcm, &key, 16);
                let generic = prepare(&spec, &Cpu::with_cap(Tier::Generic)).unwrap();
                let sealed = generic.aead(Direction::Seal, &iv, b"aad", &text, &[]).unwrap();
                // The text begins with the counter after the first block's, of which 32 bits count.
                let ctr = (block & !0xffff_ffff) | u128::from((block as u32).wrapping_add(1));
                let stream = prepare(&cipher_spec(Cipher::AesCtr, &key), Cpu::host()).unwrap();
                let until_wrap = len.min(16 * until as usize);
                let start = stream
                    .cipher(Direction::Seal, &ctr.to_be_bytes(), &text[..until_wrap])
                    .unwrap();
                assert!(sealed.starts_with(&start), "the nonce is not what it should be");
                for tier in Tier::here() {
                    let cpu = Cpu::with_cap(tier);
                    let session = Session::new(spec.clone(), &cpu).unwrap();
                    let mut bytes = [b"aad", &text[..], &[0; 16]].concat();
                    for direction in [Direction::Seal, Direction::Open] {
                        let parts = Parts {
                            aad: span(0, 3),
                            cipher: span(3, len),
                            tag: 3 + len as u32,
                            ..Parts::default()
                        };
                        let result = Engine::new(&cpu).run_one(Packet {
                            session: &session,
                            direction,
                            iv: &iv,
                            parts,
                            text: Text::InPlace(&mut bytes),
                            result: Err(OpError::Cancelled),
                        });
                        assert_eq!(result, Ok(len));
                        if direction == Direction::Seal {
                            assert!(bytes[3..] == sealed[..], "{tier:?}, {until} blocks before");
                        }
                    }
                    assert!(bytes[3..3 + len] == text[..]);
                }
            }
        }
    }
}
