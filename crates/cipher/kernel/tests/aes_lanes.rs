//! AES-CBC encryption and the CBC-MAC of many texts against the same texts one by one, which are
//! tested against other implementations.
#![cfg(target_arch = "x86_64")]

use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::aes::lanes::{Cbc, Mac};
use lookaside_cipher_kernel::aes::{Key, cbc_encrypt, cbc_mac, lanes};
use lookaside_simd::{Cpu, Tier};

mod numbers;
mod texts;
use numbers::Numbers;

fn check(cpu: &Cpu, key_lens: &[usize], lens: &[usize], one_key: bool, numbers: &mut Numbers) {
    let key = |numbers: &mut Numbers, i: usize| {
        Key::new(cpu, &numbers.bytes(key_lens[i % key_lens.len()])).unwrap()
    };
    let keys: Vec<Key> = (0..lens.len()).map(|i| key(numbers, i)).collect();
    let ivs: Vec<[u8; 16]> = lens.iter().map(|_| numbers.array()).collect();
    let texts: Vec<Vec<u8>> = lens.iter().map(|len| numbers.bytes(*len)).collect();
    let key_of = |i: usize| &keys[if one_key { 0 } else { i }];
    let expected: Vec<Vec<u8>> = (0..lens.len())
        .map(|i| {
            let mut text = texts[i].clone();
            cbc_encrypt(key_of(i), &mut ivs[i].clone(), Text::InPlace(&mut text));
            text
        })
        .collect();
    // Every other text goes elsewhere.
    let mut in_place = texts.clone();
    let mut apart = texts.clone();
    let mut packets: Vec<Cbc<'_>> = texts::in_turn(&mut in_place, &mut apart)
        .enumerate()
        .map(|(i, text)| Cbc { key: key_of(i), iv: &ivs[i], text })
        .collect();
    lanes::cbc_encrypt(&mut packets);
    drop(packets);
    for i in 0..lens.len() {
        let result = if i % 2 == 0 { &in_place[i] } else { &apart[i] };
        assert!(*result == expected[i], "text {i} of {lens:?}, one key: {one_key}");
    }
    check_mac(&keys, &ivs, &texts, one_key);
}

/// Texts in three parts, of which only whole blocks count.
fn check_mac(keys: &[Key], ivs: &[[u8; 16]], texts: &[Vec<u8>], one_key: bool) {
    let key_of = |i: usize| &keys[if one_key { 0 } else { i }];
    let parts_of = |i: usize| {
        let (first, rest) = texts[i].split_at(texts[i].len() * (i % 4) / 4);
        let (second, third) = rest.split_at(rest.len() * (i % 3) / 2);
        [first, second, third]
    };
    let mut packets: Vec<Mac<'_>> = (0..texts.len())
        .map(|i| Mac { key: key_of(i), parts: parts_of(i), state: ivs[i] })
        .collect();
    lanes::cbc_mac(&mut packets);
    for (i, packet) in packets.iter().enumerate() {
        // Encryption's last block, of whole blocks in one piece.
        let blocks: Vec<u8> =
            packet.parts.iter().flat_map(|p| &p[..p.len() & !15]).copied().collect();
        let (mut by_cbc, mut by_mac) = (ivs[i], ivs[i]);
        cbc_encrypt(key_of(i), &mut by_cbc, Text::InPlace(&mut blocks.clone()));
        cbc_mac(key_of(i), &mut by_mac, &blocks);
        assert_eq!(packet.state, by_cbc, "MAC {i}, one key: {one_key}");
        assert_eq!(packet.state, by_mac, "MAC {i}, one key: {one_key}");
    }
}

#[test]
fn many_texts_as_one_by_one() {
    let numbers = &mut Numbers(88_172_645_463_325_252);
    for tier in [Tier::Avx2, Tier::Avx512] {
        let cpu = Cpu::with_cap(tier);
        if cpu.tier() != tier {
            eprintln!("SKIPPED: no {tier}");
            continue;
        }
        for one_key in [true, false] {
            for count in (1..72).chain([130]) {
                // Shorter ones go one by one.
                let equal: Vec<usize> = vec![112; count];
                let mixed: Vec<usize> = (0..count).map(|i| i * 37 % 300).collect();
                for key_len in [16, 24, 32] {
                    check(&cpu, &[key_len], &equal, one_key, numbers);
                    check(&cpu, &[key_len], &mixed, one_key, numbers);
                }
                check(&cpu, &[16, 24, 32], &mixed, one_key, numbers);
            }
        }
    }
}
