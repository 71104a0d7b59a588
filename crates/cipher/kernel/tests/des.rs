//! DES and triple DES: the standards' examples, and every tier against OpenSSL.

mod blocks;

use blocks::{Numbers, Packet, batches, load_legacy, openssl};
use lookaside_cipher_kernel::{Text, des};
use lookaside_simd::{Cpu, Tier};

fn each_tier(test: impl Fn(&Cpu)) {
    for tier in Tier::here() {
        test(&Cpu::with_cap(tier));
    }
}

/// One block, and the same block in 70 packets, so that the vectors run too.
fn ecb<K: des::Cipher>(cpu: &Cpu, key: &K, plain: u64, cipher: u64) {
    for count in [1, 70] {
        let mut texts = vec![plain.to_be_bytes(); count];
        let mut packets: Vec<_> =
            texts.iter_mut().map(|text| des::Ecb { key, text: Text::InPlace(text) }).collect();
        des::ecb_encrypt(cpu, &mut packets);
        assert!(texts.iter().all(|text| *text == cipher.to_be_bytes()), "{:?}", cpu.tier());
        let mut packets: Vec<_> =
            texts.iter_mut().map(|text| des::Ecb { key, text: Text::InPlace(text) }).collect();
        des::ecb_decrypt(cpu, &mut packets);
        assert!(texts.iter().all(|text| *text == plain.to_be_bytes()), "{:?}", cpu.tier());
    }
}

/// NIST SP 800-20, tables A.1 to A.4 (some), and the worked example everyone knows.
#[test]
fn single_des_by_the_standard() {
    let cases = [
        (0x0101010101010101, 0x8000000000000000, 0x95f8a5e5dd31d900),
        (0x0101010101010101, 0x4000000000000000, 0xdd7f121ca5015619),
        (0x0101010101010101, 0x0000000000000001, 0x166b40b44aba4bd6),
        (0x8001010101010101, 0x0000000000000000, 0x95a8d72813daa94d),
        (0x133457799bbcdff1, 0x0123456789abcdef, 0x85e813540f0ab405u64),
    ];
    each_tier(|cpu| {
        for (key, plain, cipher) in cases {
            ecb(cpu, &des::Key::new(&u64::to_be_bytes(key)), plain, cipher);
        }
    });
}

/// NIST SP 800-67, appendix B.1.
#[test]
fn triple_des_by_the_standard() {
    let mut key = [0; 24];
    for (part, value) in
        key.chunks_exact_mut(8).zip([0x0123456789abcdef, 0x23456789abcdef01, 0x456789abcdef0123u64])
    {
        part.copy_from_slice(&value.to_be_bytes());
    }
    let key = des::TripleKey::new(&key);
    each_tier(|cpu| {
        ecb(cpu, &key, 0x5468652071756663, 0xa826fd8ce53b855f);
        ecb(cpu, &key, 0x6b2062726f776e20, 0xcce21c8112256fe6);
        ecb(cpu, &key, 0x666f78206a756d70, 0x68d5c05dd9b6b900);
    });
}

/// OpenSSL's ciphers of a kind of key.
struct Oracle {
    ecb: *const openssl_sys::EVP_CIPHER,
    cbc: *const openssl_sys::EVP_CIPHER,
}

impl Oracle {
    fn ctr(&self, key: &[u8], counter: [u8; 8], text: &[u8]) -> Vec<u8> {
        let first = u64::from_be_bytes(counter);
        let blocks = text.len().div_ceil(8) as u64;
        let counters: Vec<u8> =
            (0..blocks).flat_map(|i| first.wrapping_add(i).to_be_bytes()).collect();
        let stream = openssl(self.ecb, true, key, &[], &counters);
        text.iter().zip(stream).map(|(a, b)| a ^ b).collect()
    }
}

fn agrees<const N: usize, K: des::Cipher>(new: impl Fn(&[u8; N]) -> K, oracle: &Oracle) {
    let mut numbers = Numbers(0x9e3779b97f4a7c15);
    let raw: Vec<[u8; N]> = (0..1000).map(|_| numbers.array()).collect();
    let keys: Vec<K> = raw.iter().map(new).collect();
    each_tier(|cpu| {
        let mut numbers = Numbers(0xd1b54a32d192ed03);
        for encrypt in [true, false] {
            for mut batch in batches::<8>(&mut numbers, 8) {
                let ivs: Vec<_> = batch.iter().map(|packet| packet.iv).collect();
                let mut packets = lend(&mut batch, &keys);
                if encrypt {
                    des::cbc_encrypt(cpu, &mut packets);
                } else {
                    des::cbc_decrypt(cpu, &mut packets);
                }
                for (packet, iv) in batch.iter().zip(ivs) {
                    let wanted = openssl(oracle.cbc, encrypt, &raw[packet.key], &iv, &packet.text);
                    assert_eq!(packet.result(), wanted, "CBC {encrypt} {:?}", cpu.tier());
                    let cipher = if encrypt { &wanted } else { &packet.text };
                    let last = cipher.last_chunk::<8>().unwrap_or(&iv);
                    assert_eq!(&packet.iv, last, "the next IV");
                }
            }
            for mut batch in batches::<8>(&mut numbers, 8) {
                let mut packets: Vec<_> = batch
                    .iter_mut()
                    .map(|packet| {
                        let key = &keys[packet.key];
                        des::Ecb { key, text: packet.lend().1 }
                    })
                    .collect();
                if encrypt {
                    des::ecb_encrypt(cpu, &mut packets);
                } else {
                    des::ecb_decrypt(cpu, &mut packets);
                }
                for packet in &batch {
                    let wanted = openssl(oracle.ecb, encrypt, &raw[packet.key], &[], &packet.text);
                    assert_eq!(packet.result(), wanted, "ECB {encrypt} {:?}", cpu.tier());
                }
            }
        }
        for mut batch in batches::<8>(&mut numbers, 1) {
            for (i, packet) in batch.iter_mut().enumerate() {
                if i % 5 == 0 {
                    packet.iv = (u64::MAX - 3).to_be_bytes();
                }
            }
            let counters: Vec<_> = batch.iter().map(|packet| packet.iv).collect();
            let mut packets: Vec<_> = batch
                .iter_mut()
                .map(|packet| {
                    let key = &keys[packet.key];
                    let (counter, text) = packet.lend();
                    des::Ctr { key, counter, text }
                })
                .collect();
            des::ctr(cpu, &mut packets);
            for (packet, counter) in batch.iter().zip(counters) {
                let wanted = oracle.ctr(&raw[packet.key], counter, &packet.text);
                assert_eq!(packet.result(), wanted, "CTR {:?}", cpu.tier());
                let blocks = packet.text.len().div_ceil(8) as u64;
                let next = u64::from_be_bytes(counter).wrapping_add(blocks);
                assert_eq!(packet.iv, next.to_be_bytes(), "the next counter");
            }
        }
    });
}

fn lend<'a, K>(batch: &'a mut [Packet<8>], keys: &'a [K]) -> Vec<des::Cbc<'a, K>> {
    batch
        .iter_mut()
        .map(|packet| {
            let key = &keys[packet.key];
            let (iv, text) = packet.lend();
            des::Cbc { key, iv, text }
        })
        .collect()
}

#[test]
fn single_des_agrees_with_openssl() {
    load_legacy();
    // SAFETY: constants of the library.
    let oracle =
        unsafe { Oracle { ecb: openssl_sys::EVP_des_ecb(), cbc: openssl_sys::EVP_des_cbc() } };
    agrees(des::Key::new, &oracle);
}

#[test]
fn triple_des_agrees_with_openssl() {
    // SAFETY: constants of the library.
    let oracle = unsafe {
        Oracle { ecb: openssl_sys::EVP_des_ede3_ecb(), cbc: openssl_sys::EVP_des_ede3_cbc() }
    };
    agrees(des::TripleKey::new, &oracle);
}
