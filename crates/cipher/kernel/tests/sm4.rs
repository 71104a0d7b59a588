//! SM4: the standard's examples, and every tier against OpenSSL.

mod blocks;

use blocks::{Numbers, batches, openssl};
use lookaside_cipher_kernel::{Text, sm4};
use lookaside_simd::{Cpu, Tier};

fn each_tier(test: impl Fn(&Cpu)) {
    for tier in Tier::here() {
        test(&Cpu::with_cap(tier));
    }
}

/// GB/T 32907-2016, annex A.1: the block 0123456789abcdeffedcba9876543210 under itself.
const EXAMPLE: u128 = 0x0123456789abcdeffedcba9876543210;

#[test]
fn one_block_by_the_standard() {
    let cipher = 0x681edf34d206965e86b3e94f536e4246u128.to_be_bytes();
    let key = sm4::Key::new(&EXAMPLE.to_be_bytes());
    each_tier(|cpu| {
        let mut texts = [EXAMPLE.to_be_bytes(); 40];
        let mut packets: Vec<_> = texts
            .iter_mut()
            .map(|text| sm4::Ecb { key: &key, text: Text::InPlace(text) })
            .collect();
        sm4::ecb_encrypt(cpu, &mut packets);
        assert_eq!(texts, [cipher; 40], "{:?}", cpu.tier());
        let mut all = texts.concat();
        sm4::ecb_decrypt(cpu, &mut [sm4::Ecb { key: &key, text: Text::InPlace(&mut all) }]);
        assert_eq!(all, [EXAMPLE.to_be_bytes(); 40].concat(), "{:?}", cpu.tier());
    });
}

/// Annex A.2: a million times over, here through the chaining of zero blocks, in which block `n` is
/// the cipher applied `n + 1` times. Optimised builds only: the portable code takes seconds in others.
#[test]
#[cfg_attr(debug_assertions, ignore = "takes long unoptimised")]
fn a_million_times_by_the_standard() {
    let cipher = 0x595298c7c6fd271f0402f804c33d3f66u128.to_be_bytes();
    let key = sm4::Key::new(&EXAMPLE.to_be_bytes());
    let cpu = Cpu::host();
    let mut text = vec![0; 16_000_000];
    let mut iv = EXAMPLE.to_be_bytes();
    sm4::cbc_encrypt(
        cpu,
        &mut [sm4::Cbc { key: &key, iv: &mut iv, text: Text::InPlace(&mut text) }],
    );
    assert_eq!(iv, cipher);
}

#[test]
fn sm4_agrees_with_openssl() {
    // SAFETY: constants of the library.
    let (ecb, cbc, ctr) = unsafe {
        (openssl_sys::EVP_sm4_ecb(), openssl_sys::EVP_sm4_cbc(), openssl_sys::EVP_sm4_ctr())
    };
    let mut numbers = Numbers(0x9e3779b97f4a7c15);
    let raw: Vec<[u8; 16]> = (0..1000).map(|_| numbers.array()).collect();
    let keys: Vec<_> = raw.iter().map(sm4::Key::new).collect();
    each_tier(|cpu| {
        let mut numbers = Numbers(0xd1b54a32d192ed03);
        for encrypt in [true, false] {
            for mut batch in batches::<16>(&mut numbers, 16) {
                let ivs: Vec<_> = batch.iter().map(|packet| packet.iv).collect();
                let mut packets: Vec<_> = batch
                    .iter_mut()
                    .map(|packet| {
                        let key = &keys[packet.key];
                        let (iv, text) = packet.lend();
                        sm4::Cbc { key, iv, text }
                    })
                    .collect();
                if encrypt {
                    sm4::cbc_encrypt(cpu, &mut packets);
                } else {
                    sm4::cbc_decrypt(cpu, &mut packets);
                }
                for (packet, iv) in batch.iter().zip(ivs) {
                    let wanted = openssl(cbc, encrypt, &raw[packet.key], &iv, &packet.text);
                    assert_eq!(packet.result(), wanted, "CBC {encrypt} {:?}", cpu.tier());
                    let cipher = if encrypt { &wanted } else { &packet.text };
                    let last = cipher.last_chunk::<16>().unwrap_or(&iv);
                    assert_eq!(&packet.iv, last, "the next IV");
                }
            }
            for mut batch in batches::<16>(&mut numbers, 16) {
                let mut packets: Vec<_> = batch
                    .iter_mut()
                    .map(|packet| {
                        let key = &keys[packet.key];
                        sm4::Ecb { key, text: packet.lend().1 }
                    })
                    .collect();
                if encrypt {
                    sm4::ecb_encrypt(cpu, &mut packets);
                } else {
                    sm4::ecb_decrypt(cpu, &mut packets);
                }
                for packet in &batch {
                    let wanted = openssl(ecb, encrypt, &raw[packet.key], &[], &packet.text);
                    assert_eq!(packet.result(), wanted, "ECB {encrypt} {:?}", cpu.tier());
                }
            }
        }
        for mut batch in batches::<16>(&mut numbers, 1) {
            for (i, packet) in batch.iter_mut().enumerate() {
                if i % 5 == 0 {
                    packet.iv = (u128::MAX - 3).to_be_bytes();
                }
                if i % 5 == 1 {
                    packet.iv = u128::from(u64::MAX - 3).to_be_bytes();
                }
            }
            let counters: Vec<_> = batch.iter().map(|packet| packet.iv).collect();
            let mut packets: Vec<_> = batch
                .iter_mut()
                .map(|packet| {
                    let key = &keys[packet.key];
                    let (counter, text) = packet.lend();
                    sm4::Ctr { key, counter, text }
                })
                .collect();
            sm4::ctr(cpu, &mut packets);
            for (packet, counter) in batch.iter().zip(counters) {
                let wanted = openssl(ctr, true, &raw[packet.key], &counter, &packet.text);
                assert_eq!(packet.result(), wanted, "CTR {:?}", cpu.tier());
                let blocks = packet.text.len().div_ceil(16) as u128;
                let next = u128::from_be_bytes(counter).wrapping_add(blocks);
                assert_eq!(packet.iv, next.to_be_bytes(), "the next counter");
            }
        }
    });
}
