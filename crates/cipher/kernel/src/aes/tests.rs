//! Every unit on one CPU: what `tests/aes.rs` has of the widest of a tier, narrower ones do likewise.

use super::lanes::{self, Cbc, Mac};
use super::*;

fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| ((i + seed) * 167 + ((i * i) >> 3) + seed * 31) as u8).collect()
}

/// A key for each unit that this CPU has.
fn keys(key: &[u8]) -> Vec<Key> {
    let host = Cpu::host();
    let units = [
        host.avx512().map(|_| Unit::Vaes),
        host.vaes().map(|_| Unit::Vaes256),
        host.avx2().map(|_| Unit::AesNi),
    ];
    let with = |unit| Key { unit, ..Key::new(host, key).unwrap() };
    units.into_iter().flatten().map(with).collect()
}

#[test]
fn the_modes_on_every_unit() {
    type Mode = fn(&Key, &mut [u8; 16], Text<'_>);
    let modes: [(Mode, usize); 7] = [
        (|key, _, text| ecb_encrypt(key, text), 16),
        (|key, _, text| ecb_decrypt(key, text), 16),
        (cbc_encrypt, 16),
        (cbc_decrypt, 16),
        (ctr, 1),
        (|key, tweak, text| xts_encrypt(key, key, tweak, text), 1),
        (|key, tweak, text| xts_decrypt(key, key, tweak, text), 1),
    ];
    for (number, (mode, step)) in modes.into_iter().enumerate() {
        for len in (0..=560).step_by(step).chain([1408, 4096]) {
            let (key, text) = (bytes([16, 24, 32][len % 3], len), bytes(len, 5));
            let mut first = None;
            for key in keys(&key) {
                let (mut in_place, mut apart, mut iv) = (text.clone(), vec![0; len], [9; 16]);
                mode(&key, &mut iv, Text::InPlace(&mut in_place));
                let mut other_iv = [9; 16];
                mode(&key, &mut other_iv, Text::Apart { src: &text, dst: &mut apart });
                // XTS has no text of less than a block.
                assert!(in_place == apart || number > 4 && len < 16, "mode {number}, {len} bytes");
                assert_eq!(iv, other_iv, "mode {number}, {len} bytes");
                let made = (in_place, iv);
                assert_eq!(*first.get_or_insert_with(|| made.clone()), made, "{number}, {len}");
            }
        }
    }
}

#[test]
fn lanes_on_every_unit() {
    for count in [2, 3, 7, 8, 9, 16, 17, 33, 64] {
        for seed in 0..6 {
            // One key, or each its own; lengths that end together, or one by one.
            let len = |i: usize| 16 * if seed % 2 == 0 { 9 } else { 1 + (i * 7 + seed) % 40 };
            let key_len = [16, 24, 32][seed % 3];
            let mut first = None;
            let own: Vec<Vec<Key>> = (0..count).map(|i| keys(&bytes(key_len, i))).collect();
            // Each key is prepared once for each unit.
            let units = own[0].len();
            let of_unit = |unit: usize| own.iter().map(move |keys| &keys[unit]).collect::<Vec<_>>();
            for (unit, own) in (0..units).map(of_unit).enumerate() {
                let key = |i: usize| own[if seed < 3 { 0 } else { i }];
                let mut texts: Vec<Vec<u8>> = (0..count).map(|i| bytes(len(i), i)).collect();
                let ivs: Vec<[u8; 16]> = (0..count).map(|i| [i as u8; 16]).collect();
                let mut list: Vec<Mac<'_>> = texts
                    .iter()
                    .enumerate()
                    .map(|(i, text)| {
                        let (head, tail) = text.split_at(text.len() / 32 * 16);
                        Mac { key: key(i), parts: [head, &[], tail], state: ivs[i] }
                    })
                    .collect();
                lanes::cbc_mac(&mut list);
                let states: Vec<[u8; 16]> = list.iter().map(|mac| mac.state).collect();
                let mut list: Vec<Cbc<'_>> = texts
                    .iter_mut()
                    .enumerate()
                    .map(|(i, text)| Cbc { key: key(i), iv: &ivs[i], text: Text::InPlace(text) })
                    .collect();
                lanes::cbc_encrypt(&mut list);
                drop(list);
                for (text, state) in texts.iter().zip(&states) {
                    assert_eq!(text.last_chunk(), Some(state), "{count} texts, unit {unit}");
                }
                let made = (texts, states);
                assert!(*first.get_or_insert_with(|| made.clone()) == made, "{count}, {unit}");
            }
        }
    }
}
