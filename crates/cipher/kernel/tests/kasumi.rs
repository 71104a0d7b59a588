//! KASUMI against the test sets of TS 35.203, and tier against tier.

use lookaside_cipher_kernel::{Text, kasumi};
use lookaside_simd::{Cpu, Tier};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|digit| (digit as char).to_digit(16).expect("a digit") as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().expect("the length")
}

/// Key, IV, plaintext, ciphertext, bits.
const F8: [(&str, &str, &str, &str, usize); 2] = [
    (
        "5ACB1D644C0D51204EA5F1451010D852",
        "FA556B261C000000",
        "AD9C441F890B38C457A49D421407E8",
        "9BC92CA803C67B28A11A4BEE5A0C25",
        120,
    ),
    (
        "D3C5D592327FB11C4035C6680AF8C6D1",
        "398A59B42C000000",
        "981BA6824C1BFB1AB485472029B71D808CE33E2CC3C0B5FC1F3DE8A6DC66B1F0",
        "5BB9431BB1E98BD11B93DB7C3D45136559BB86A295AA204ECBEBF6F7A5101510",
        253,
    ),
];

#[test]
fn standard_f8() {
    for tier in Tier::ALL {
        let cpu = Cpu::with_cap(tier);
        for (key, iv, plain, cipher, bits) in F8 {
            let key = kasumi::Key::new(&array(key));
            let (mut text, mut expected) = (hex(plain), hex(cipher));
            let spare_bits = (8 * text.len() - bits) as u8;
            // The spare bits stay the source's.
            let spare = !(0xFF << spare_bits);
            let last = text.len() - 1;
            expected[last] = expected[last] & !spare | text[last] & spare;
            let packet =
                kasumi::F8 { key: &key, iv: array(iv), text: Text::InPlace(&mut text), spare_bits };
            kasumi::f8(&cpu, &mut [packet]);
            assert_eq!(text, expected, "{tier}");
        }
    }
}
