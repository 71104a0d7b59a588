//! AES-GCM against AWS-LC.
#![cfg(target_arch = "x86_64")]

use aws_lc_sys as lc;
use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::aes::{gcm, gcm_burst};
use lookaside_simd::{Cpu, Tier};

/// What AWS-LC makes of a text: the ciphertext, then the tag.
fn sealed(key: &[u8], nonce: &[u8], aad: &[u8], text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; text.len() + 16];
    let mut len = 0;
    // SAFETY: the lengths are those of the slices; the key is freed after its only use.
    unsafe {
        let algorithm = match key.len() {
            16 => lc::EVP_aead_aes_128_gcm(),
            24 => lc::EVP_aead_aes_192_gcm(),
            _ => lc::EVP_aead_aes_256_gcm(),
        };
        let prepared = lc::EVP_AEAD_CTX_new(algorithm, key.as_ptr(), key.len(), 16);
        let ok = lc::EVP_AEAD_CTX_seal(
            prepared,
            out.as_mut_ptr(),
            &mut len,
            out.len(),
            nonce.as_ptr(),
            nonce.len(),
            text.as_ptr(),
            text.len(),
            aad.as_ptr(),
            aad.len(),
        );
        lc::EVP_AEAD_CTX_free(prepared);
        assert_eq!((ok, len), (1, out.len()));
    }
    out
}

fn bytes(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| ((i + seed) * 167 + ((i * i) >> 3) + seed * 31) as u8).collect()
}

#[test]
fn bursts_of_all_lengths() {
    let cpu = Cpu::host();
    let Some(_) = cpu.avx512() else { return };
    let lengths = (0..=330).chain([511, 512, 513, 767, 768, 769, 1408, 4000, 4096]);
    for (i, len) in lengths.enumerate() {
        let key = bytes([16, 24, 32][i % 3], i);
        let nonce: [u8; 12] = bytes(12, i + 5).try_into().unwrap();
        let prepared = gcm_burst::Key::new(cpu, &key).unwrap();
        let aads: &[usize] =
            if len % 16 < 2 { &[0, 1, 12, 16, 17, 32, 33, 48] } else { &[0, 12, 20] };
        for &aad in aads {
            let (aad, text) = (bytes(aad, i + 9), bytes(len, i));
            let expected = sealed(&key, &nonce, &aad, &text);
            // Bytes around it must stay.
            let shift = i % 7 + 1;
            let mut inside = vec![0xa5; len + 100];
            inside[shift..shift + len].copy_from_slice(&text);
            let tag = prepared.seal(&nonce, &aad, Text::InPlace(&mut inside[shift..shift + len]));
            assert_eq!(inside[shift..shift + len], expected[..len], "{len} bytes, {}", aad.len());
            assert_eq!(tag, expected[len..], "the tag of {len} bytes, {}", aad.len());
            assert!(inside[..shift].iter().chain(&inside[shift + len..]).all(|b| *b == 0xa5));
            let mut apart = vec![0xa5; len + 100];
            let tag = prepared.open(
                &nonce,
                &aad,
                Text::Apart { src: &expected[..len], dst: &mut apart[..len] },
            );
            assert_eq!((&apart[..len], &tag[..]), (&text[..], &expected[len..]), "{len} opened");
            assert!(apart[len..].iter().all(|b| *b == 0xa5));
        }
    }
}

#[test]
fn no_key_where_there_is_none() {
    assert!(gcm_burst::Key::new(&Cpu::with_cap(Tier::Avx2), &[0; 16]).is_none());
    assert!(gcm_burst::Key::new(Cpu::host(), &[0; 17]).is_none());
}

/// A message in pieces: `cuts` are the lengths of the first ones, of the associated data and of the
/// text. Returns the tag.
fn by_pieces(
    key: &gcm::Key,
    iv: &[u8],
    aad: &[u8],
    text: &mut [u8],
    seal: bool,
    cuts: &[usize],
) -> [u8; 16] {
    let mut message = key.start(&[1; 3]);
    key.restart(&mut message, iv);
    let mut rest = aad;
    for cut in cuts {
        let (now, later) = rest.split_at(rest.len().min(*cut));
        key.aad(&mut message, now);
        rest = later;
    }
    key.aad(&mut message, rest);
    let mut at = 0;
    for (i, cut) in cuts.iter().chain([&usize::MAX]).enumerate() {
        let end = at + (text.len() - at).min(*cut);
        let given = text[at..end].to_vec();
        let piece = &mut text[at..end];
        let piece = match i % 2 {
            0 => Text::InPlace(piece),
            _ => Text::Apart { src: &given, dst: piece },
        };
        match seal {
            true => key.encrypt(&mut message, piece),
            false => key.decrypt(&mut message, piece),
        }
        at = end;
    }
    key.tag(&mut message)
}

#[test]
fn messages_of_all_lengths() {
    let Some(_) = gcm::Key::boxed(Cpu::host(), &[0; 16]) else {
        println!("SKIPPED: this CPU has no AES instructions that the kernel knows");
        return;
    };
    // Two steps, and all that can remain of a third; some long ones.
    let lengths =
        (0..=790).chain([1023, 1024, 1025, 1280, 1408, 1535, 1553, 1793, 4096, 4099, 16384]);
    for (i, len) in lengths.enumerate() {
        let key = bytes([16, 24, 32][i % 3], i);
        let iv = bytes([12, 12, 12, 1, 8, 16, 17, 60][i % 8], i + 5);
        let prepared = gcm::Key::boxed(Cpu::host(), &key).unwrap();
        let aads: &[usize] =
            if len % 16 < 2 { &[0, 1, 13, 16, 17, 47, 48, 49, 300, 600] } else { &[0, 12, 20] };
        for &aad in aads {
            let (aad, text) = (bytes(aad, i + 9), bytes(len, i));
            let expected = sealed(&key, &iv, &aad, &text);
            let (sealed, tag) = expected.split_at(len);
            let what = format!("{len} bytes, {} before, nonce of {}", aad.len(), iv.len());
            // Bytes around it must stay.
            let shift = i % 7 + 1;
            let mut inside = vec![0xa5; len + 100];
            inside[shift..shift + len].copy_from_slice(&text);
            let made = prepared.seal(&iv, &aad, Text::InPlace(&mut inside[shift..shift + len]));
            assert_eq!(inside[shift..shift + len], *sealed, "{what}");
            assert_eq!(made, *tag, "the tag: {what}");
            assert!(inside[..shift].iter().chain(&inside[shift + len..]).all(|b| *b == 0xa5));
            let made = prepared.open(&iv, &aad, Text::InPlace(&mut inside[shift..shift + len]));
            assert_eq!((&inside[shift..shift + len], &made[..]), (&text[..], tag), "{what}");
            assert!(inside[..shift].iter().chain(&inside[shift + len..]).all(|b| *b == 0xa5));

            let mut apart = vec![0xa5; len + 100];
            let dst = &mut apart[..len];
            let made = prepared.open(&iv, &aad, Text::Apart { src: sealed, dst });
            assert_eq!((&apart[..len], &made[..]), (&text[..], tag), "{what}, opened");
            let dst = &mut apart[..len];
            let made = prepared.seal(&iv, &aad, Text::Apart { src: &text, dst });
            assert_eq!((&apart[..len], &made[..]), (sealed, tag), "{what}, apart");
            assert!(apart[len..].iter().all(|b| *b == 0xa5));

            for cuts in [&[][..], &[1, 15, 16, 17, 0, 31], &[256, 7, 256], &[5, 300, 5, 3]] {
                let mut piecewise = text.clone();
                let made = by_pieces(&prepared, &iv, &aad, &mut piecewise, true, cuts);
                assert_eq!((&piecewise[..], &made[..]), (sealed, tag), "{what}, {cuts:?}");
                let made = by_pieces(&prepared, &iv, &aad, &mut piecewise, false, cuts);
                assert_eq!((&piecewise[..], &made[..]), (&text[..], tag), "{what}, {cuts:?}");
            }
            if len == 0 {
                assert_eq!(prepared.mac(&iv, &aad), *tag, "GMAC: {what}");
            }
        }
    }
}

#[test]
fn keys_of_other_lengths() {
    assert!(gcm::Key::boxed(&Cpu::with_cap(Tier::Generic), &[0; 16]).is_none());
    for len in (0..40).filter(|len| ![16, 24, 32].contains(len)) {
        assert!(gcm::Key::boxed(Cpu::host(), &vec![0; len]).is_none());
    }
}
