//! What `tests/aes_gcm.rs` cannot see: both units on one CPU, and the counter before it wraps around.

use super::*;

fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| ((i + seed) * 167 + ((i * i) >> 3) + seed * 31) as u8).collect()
}

/// The units of this CPU: with a `Cpu`'s token each.
fn units() -> Vec<Unit> {
    let cpu = Cpu::host();
    let (avx512, vaes, avx2) = (cpu.avx512(), cpu.vaes(), cpu.avx2());
    let units =
        [avx512.map(|_| Unit::Vaes), vaes.map(|_| Unit::Vaes256), avx2.map(|_| Unit::AesNi)];
    units.into_iter().flatten().collect()
}

#[test]
fn units_agree() {
    let units = units();
    let Some((&narrowest, wider)) = units.split_last() else {
        println!("SKIPPED: this CPU has no AVX2");
        return;
    };
    for (i, len) in (0..=530).chain([1023, 1024, 1408, 1536, 1777, 2048, 4096, 4700]).enumerate() {
        let key = bytes([16, 24, 32][i % 3], i);
        let aes_ni = Key::on(narrowest, &key).unwrap();
        let wider: Vec<_> = wider.iter().map(|&unit| Key::on(unit, &key).unwrap()).collect();
        let (iv, text) = (bytes([12, 16, 5][i / 3 % 3], i), bytes(len, i));
        for aad in [0, 13, 48, 200] {
            let aad = bytes(aad, i + 3);
            let mut expected = text.clone();
            let tag = aes_ni.seal(&iv, &aad, Text::InPlace(&mut expected));
            let mut c = vec![0; len];
            assert_eq!(tag, aes_ni.open(&iv, &aad, Text::Apart { src: &expected, dst: &mut c }));
            assert!(c == text, "{len}");
            for key in &wider {
                let mut a = text.clone();
                assert_eq!(tag, key.seal(&iv, &aad, Text::InPlace(&mut a)), "{len}");
                assert!(a == expected, "{len}");
                assert_eq!(tag, key.open(&iv, &aad, Text::Apart { src: &a, dst: &mut c }));
                assert!(c == text, "{len}");
                assert_eq!(key.mac(&iv, &a), aes_ni.mac(&iv, &a), "{len}");
            }
            for key in wider.iter().chain([&aes_ni]) {
                let mut b = expected.clone();
                let mut message = key.start(&iv);
                key.aad(&mut message, &aad);
                let (first, second) = b.split_at_mut(len / 3);
                key.decrypt(&mut message, Text::InPlace(first));
                key.decrypt(&mut message, Text::InPlace(second));
                assert_eq!(tag, key.tag(&mut message), "{len}");
                assert!(b == text, "{len}");
            }
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
