//! What the tests of SNOW 3G and of ZUC share.

use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::zuc::{Message, Packet};
use lookaside_simd::{Cpu, Tier};

#[path = "../numbers/mod.rs"]
mod numbers;
#[path = "../texts/mod.rs"]
mod texts;
use numbers::Numbers;

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).expect("a digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub fn array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().expect("the length")
}

/// The tag of a message under a key, with an IV, and without that many bits at its end.
pub type Tag = fn(&[u8; 16], &[u8; 16], &[u8], u8) -> [u8; 4];

/// The kernels of an algorithm: one text at a time, and many.
pub struct Kernels {
    pub apply: fn(&[u8; 16], &[u8; 16], &mut Text<'_>, u8),
    pub apply_many: fn(&Cpu, &mut [Packet<'_>]),
    pub tag: Tag,
    pub tag_many: fn(&Cpu, &mut [Message<'_>]),
}

fn check(kernels: &Kernels, cpu: &Cpu, lens: &[usize], numbers: &mut Numbers) {
    let keys: Vec<[u8; 16]> = lens.iter().map(|_| numbers.array()).collect();
    let ivs: Vec<[u8; 16]> = lens.iter().map(|_| numbers.array()).collect();
    let texts: Vec<Vec<u8>> = lens.iter().map(|len| numbers.bytes(*len)).collect();
    // Every other text goes elsewhere, to a destination that is longer.
    let mut in_place = texts.clone();
    let mut apart: Vec<Vec<u8>> = texts.iter().map(|text| vec![0xee; text.len() + 3]).collect();
    let mut packets: Vec<Packet<'_>> = texts::in_turn(&mut in_place, &mut apart)
        .enumerate()
        .map(|(i, text)| Packet { key: &keys[i], iv: ivs[i], text })
        .collect();
    (kernels.apply_many)(cpu, &mut packets);
    drop(packets);
    let mut messages: Vec<Message<'_>> = (0..lens.len())
        .map(|i| Message { key: &keys[i], iv: ivs[i], data: &texts[i], tag: [0; 4] })
        .collect();
    (kernels.tag_many)(cpu, &mut messages);
    for (i, message) in messages.iter().enumerate() {
        let mut expected = texts[i].clone();
        (kernels.apply)(&keys[i], &ivs[i], &mut Text::InPlace(&mut expected), 0);
        if i % 2 == 0 {
            assert!(in_place[i] == expected, "text {i} of {lens:?}");
        } else {
            expected.extend([0xee; 3]);
            assert!(apart[i] == expected, "text {i} of {lens:?}");
        }
        let tag = (kernels.tag)(&keys[i], &ivs[i], &texts[i], 0);
        assert_eq!(message.tag, tag, "tag {i} of {lens:?}");
    }
}

/// Checks batches of every size and mixture of lengths, at every tier.
pub fn many_as_one_by_one(kernels: &Kernels) {
    let numbers = &mut Numbers(88_172_645_463_325_252);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for count in (1..70).chain([130]) {
            let mixed: Vec<usize> = (0..count).map(|i| (i * 37 + count) % 300).collect();
            check(kernels, &cpu, &vec![64; count], numbers);
            check(kernels, &cpu, &mixed, numbers);
        }
        for len in 0..300 {
            check(kernels, &cpu, &[len, len + 1], numbers);
        }
    }
}
