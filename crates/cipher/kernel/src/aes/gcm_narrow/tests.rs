//! What `tests/aes_gcm.rs` cannot see: both units on one CPU, and the counter before it wraps around.

use super::*;

fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| ((i + seed) * 167 + ((i * i) >> 3) + seed * 31) as u8).collect()
}

/// The units of this CPU: with a `Cpu`'s token each.
fn units() -> Vec<Unit> {
    let (vaes, avx2) = (Cpu::host().vaes(), Cpu::host().avx2());
    [vaes.map(|_| Unit::Vaes256), avx2.map(|_| Unit::AesNi)].into_iter().flatten().collect()
}

#[test]
fn aes_ni_as_vaes() {
    let [vaes, aes_ni] = units()[..] else {
        println!("SKIPPED: this CPU has no VAES");
        return;
    };
    for (i, len) in (0..=530).chain([1408, 4096]).enumerate() {
        let key = bytes([16, 24, 32][i % 3], i);
        let [vaes, aes_ni] = [vaes, aes_ni].map(|unit| Key::on(unit, &key).unwrap());
        let (iv, text) = (bytes([12, 16, 5][i / 3 % 3], i), bytes(len, i));
        for aad in [0, 13, 48, 200] {
            let aad = bytes(aad, i + 3);
            let (mut a, mut b) = (text.clone(), text.clone());
            let tag = vaes.seal(&iv, &aad, Text::InPlace(&mut a));
            assert_eq!(tag, aes_ni.seal(&iv, &aad, Text::InPlace(&mut b)), "{len}");
            assert!(a == b, "{len}");
            let mut c = vec![0; len];
            assert_eq!(tag, aes_ni.open(&iv, &aad, Text::Apart { src: &a, dst: &mut c }));
            assert!(c == text, "{len}");
            let mut message = aes_ni.start(&iv);
            aes_ni.aad(&mut message, &aad);
            let (first, second) = b.split_at_mut(len / 3);
            aes_ni.decrypt(&mut message, Text::InPlace(first));
            aes_ni.decrypt(&mut message, Text::InPlace(second));
            assert_eq!(tag, aes_ni.tag(&mut message), "{len}");
            assert!(b == text, "{len}");
            assert_eq!(vaes.mac(&iv, &a), aes_ni.mac(&iv, &a), "{len}");
        }
    }
}

/// SP 800-38D section 6.2: the counter has 32 bits, and its carry is dropped. Nonces that come close
/// to the wrap are too rare to be found, so the counter is set.
#[test]
fn the_counter_wraps_around() {
    for unit in units() {
        let key = Key::on(unit, &bytes(16, 1)).unwrap();
        let upper = u128::from_le_bytes(bytes(16, 3).try_into().unwrap()) >> 32 << 32;
        for before in (0..20).chain([31, 32, 33, 100]) {
            let first = u32::MAX - before;
            for len in [16, 33, 64, 250, 256, 512, 1000, 2048] {
                let mut text = bytes(len, 2);
                let mut expected = text.clone();
                for (i, block) in expected.chunks_mut(BLOCK).enumerate() {
                    let counter = upper | u128::from(first.wrapping_add(i as u32));
                    let mut keystream = [0; BLOCK];
                    // SAFETY: there is a key only where the CPU has AES-NI and AVX2.
                    unsafe {
                        encrypted(&key, load(&counter.to_le_bytes())).store(keystream.as_mut_ptr());
                    }
                    block.iter_mut().zip(keystream).for_each(|(a, b)| *a ^= b);
                }
                let mut message = key.start(&[0; 12]);
                message.counter = (upper | u128::from(first)).to_le_bytes();
                key.encrypt(&mut message, Text::InPlace(&mut text));
                assert!(text == expected, "{first:x}, {len} bytes");
            }
        }
    }
}
