//! ChaCha20, Poly1305 and both together: the vectors of RFC 8439, and AWS-LC on every tier.

use aws_lc_sys as aws;
use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::chacha20::{Packet, Sealed, Stream, apply, open, seal};
#[cfg(target_arch = "x86_64")]
use lookaside_cipher_kernel::chacha20::{open_piece, seal_piece};
use lookaside_cipher_kernel::poly1305::{Message, Running, many};
use lookaside_simd::{Cpu, Tier};

mod numbers;
use numbers::Numbers;

/// Key, nonce, additional data, text.
type AeadInput = ([u8; 32], [u8; 12], Vec<u8>, Vec<u8>);

/// Key, nonce, counter, text.
type Input = ([u8; 32], [u8; 12], u32, Vec<u8>);

fn tiers() -> impl Iterator<Item = Cpu> {
    Tier::here().map(Cpu::with_cap)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn aws_chacha20(key: &[u8; 32], counter: u32, nonce: &[u8; 12], text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; text.len()];
    // SAFETY: all are of the lengths that the function expects.
    unsafe {
        let (key, nonce) = (key.as_ptr(), nonce.as_ptr());
        aws::CRYPTO_chacha_20(out.as_mut_ptr(), text.as_ptr(), text.len(), key, nonce, counter);
    }
    out
}

fn aws_poly1305(key: &[u8; 32], data: &[u8]) -> [u8; 16] {
    #[repr(align(64))]
    struct State(aws::poly1305_state);
    let (mut state, mut tag) = (State([0; 512]), [0; 16]);
    // SAFETY: all are of the lengths that the functions expect.
    unsafe {
        aws::CRYPTO_poly1305_init(&mut state.0, key.as_ptr());
        aws::CRYPTO_poly1305_update(&mut state.0, data.as_ptr(), data.len());
        aws::CRYPTO_poly1305_finish(&mut state.0, tag.as_mut_ptr());
    }
    tag
}

/// Ciphertext and tag.
fn aws_seal(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], text: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let mut out = vec![0; text.len() + 16];
    let mut len = 0;
    // SAFETY: all are of the lengths given.
    unsafe {
        let aead = aws::EVP_aead_chacha20_poly1305();
        let ctx = aws::EVP_AEAD_CTX_new(aead, key.as_ptr(), 32, 16);
        let (aad_ptr, nonce) = (aad.as_ptr(), nonce.as_ptr());
        let (to, max) = (out.as_mut_ptr(), out.len());
        let (text_ptr, text_len) = (text.as_ptr(), text.len());
        let ok = aws::EVP_AEAD_CTX_seal(
            ctx,
            to,
            &mut len,
            max,
            nonce,
            12,
            text_ptr,
            text_len,
            aad_ptr,
            aad.len(),
        );
        assert_eq!((ok, len), (1, out.len()));
        aws::EVP_AEAD_CTX_free(ctx);
    }
    let tag = out.split_off(text.len());
    (out, tag.try_into().expect("16 bytes"))
}

const SUNSCREEN: &[u8] =
    b"Ladies and Gentlemen of the class of '99: If I could offer you only one \
    tip for the future, sunscreen would be it.";

/// RFC 8439, 2.4.2.
#[test]
fn the_rfcs_cipher() {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let nonce = [0, 0, 0, 0, 0, 0, 0, 0x4a, 0, 0, 0, 0];
    let expected = hex("6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b
         f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8
         07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736
         5af90bbf74a35be6b40b8eedf2785e42874d");
    for cpu in tiers() {
        let mut text = SUNSCREEN.to_vec();
        let packet =
            Packet { key: &key, counter: 1, nonce: &nonce, text: Text::InPlace(&mut text) };
        apply(&cpu, &mut [packet]);
        assert_eq!(text, expected);
    }
}

/// RFC 8439, 2.5.2.
#[test]
fn the_rfcs_authenticator() {
    let key: [u8; 32] =
        hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b").try_into().unwrap();
    let data = b"Cryptographic Forum Research Group";
    for cpu in tiers() {
        let mut messages = [Message { key: &key, data, tag: [0; 16] }];
        many(&cpu, &mut messages);
        assert_eq!(messages[0].tag[..], hex("a8061dc1305136c6c22b8baf0c0127a9"));
    }
}

/// RFC 8439, 2.8.2.
#[test]
fn the_rfcs_aead() {
    let key: [u8; 32] = std::array::from_fn(|i| 0x80 + i as u8);
    let nonce: [u8; 12] = hex("070000004041424344454647").try_into().unwrap();
    let aad = hex("50515253c0c1c2c3c4c5c6c7");
    let expected = hex("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
         3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
         92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
         3ff4def08e4b7a9de576d26586cec64b6116");
    for cpu in tiers() {
        let mut text = SUNSCREEN.to_vec();
        for (direction, result) in
            [(seal as fn(&Cpu, &mut [Sealed<'_>]), &expected[..]), (open, SUNSCREEN)]
        {
            let here = Text::InPlace(&mut text);
            let mut packets =
                [Sealed { key: &key, nonce: &nonce, aad: &aad, text: here, tag: [0; 16] }];
            direction(&cpu, &mut packets);
            assert_eq!(packets[0].tag[..], hex("1ae10b594f09e26a7e902ecbd0600691"));
            assert_eq!(text, result);
        }
    }
}

/// RFC 8439, A.3: values at the edges of the arithmetic.
#[test]
fn the_rfcs_edges_of_the_authenticator() {
    let r = |low: &str| hex(&format!("{low:0<32}{:0<32}", ""));
    let with_s = |r: &str, s: &str| hex(&format!("{r:0<32}{s:0<32}"));
    let f = "ffffffffffffffffffffffffffffffff";
    let lows = "e33594d7505e43b900000000000000003394d7505e4379cd01".to_owned() + &"0".repeat(46);
    let cases = [
        (r("02"), f.to_owned(), "03"),
        (with_s("02", f), "02".to_owned() + &"0".repeat(30), "03"),
        (r("01"), format!("{f}f0{}11{}", &f[2..], "0".repeat(30)), "05"),
        (r("01"), format!("{f}fb{}{}", "fe".repeat(15), "01".repeat(16)), ""),
        (r("02"), format!("fd{}", &f[2..]), "faffffffffffffffffffffffffffffff"),
        (
            r("0100000000000000040000"),
            format!("{lows}01{}", "0".repeat(30)),
            "14000000000000005500000000000000",
        ),
        (r("0100000000000000040000"), lows.clone(), "13"),
    ];
    for cpu in tiers() {
        for (key, data, tag) in &cases {
            let (key, data) = (key[..].try_into().expect("a key"), hex(data));
            let expected = hex(&format!("{tag:0<32}"));
            assert_eq!(aws_poly1305(key, &data)[..], expected, "{data:x?}");
            // Alone, and in company that makes it go side by side.
            for others in [0, 7] {
                let message = |_| Message { key, data: &data, tag: [0; 16] };
                let mut messages: Vec<Message<'_>> = (0..=others).map(message).collect();
                many(&cpu, &mut messages);
                assert!(messages.iter().all(|message| message.tag[..] == expected), "{data:x?}");
            }
        }
    }
}

#[test]
fn every_length_agrees_with_aws_lc() {
    let mut random = Numbers(1);
    let data = random.bytes(5000);
    let lengths = (0..=300).chain([511, 512, 1023, 1024, 1025, 1087, 1152, 2049, 4096, 4999]);
    for cpu in tiers() {
        for len in lengths.clone() {
            let (key, nonce) = (random.array(), random.array());
            let counter = random.next() as u32;
            let start = random.below(data.len() - len);
            let src = &data[start..start + len];
            let mut dst = vec![0xa5; len + 70];
            let text = Text::Apart { src, dst: &mut dst[3..] };
            apply(&cpu, &mut [Packet { key: &key, counter, nonce: &nonce, text }]);
            assert_eq!(dst[3..3 + len], aws_chacha20(&key, counter, &nonce, src), "{len}");
            assert!(dst[..3].iter().chain(&dst[3 + len..]).all(|byte| *byte == 0xa5), "{len}");
            let mut messages = [Message { key: &key, data: src, tag: [0; 16] }];
            many(&cpu, &mut messages);
            assert_eq!(messages[0].tag, aws_poly1305(&key, src), "{len}");
        }
    }
}

#[test]
fn the_counter_wraps() {
    let mut random = Numbers(2);
    let (key, nonce, data) = (random.array(), random.array(), random.bytes(3000));
    for cpu in tiers() {
        for back in 1..48 {
            let counter = 0u32.wrapping_sub(back);
            let head = 64 * back as usize;
            let (head, tail) = data.split_at(head.min(data.len()));
            let expected =
                [aws_chacha20(&key, counter, &nonce, head), aws_chacha20(&key, 0, &nonce, tail)]
                    .concat();
            let mut text = data.clone();
            let packet =
                Packet { key: &key, counter, nonce: &nonce, text: Text::InPlace(&mut text) };
            apply(&cpu, &mut [packet]);
            assert!(text == expected, "{back}");
            let mut text = data.clone();
            let mut stream = Stream::new(&key, counter, &nonce);
            for piece in text.chunks_mut(77) {
                stream.apply(&cpu, Text::InPlace(piece));
            }
            assert!(text == expected, "{back}");
        }
    }
}

/// Lengths as batches have them: short, around vectors, long, or all equal.
fn length(random: &mut Numbers, equal: Option<usize>) -> usize {
    match (equal, random.below(8)) {
        (Some(len), _) => len,
        (_, 0) => 0,
        (_, 1) => random.below(3000),
        (_, 2..=3) => random.below(700),
        _ => random.below(100),
    }
}

#[test]
fn batches_agree_with_aws_lc() {
    let mut random = Numbers(3);
    for cpu in tiers() {
        for count in 1..=40 {
            let equal = (count % 3 == 0).then(|| random.below(1500));
            let inputs: Vec<AeadInput> = (0..count)
                .map(|_| {
                    let aad_len = [0, 8, 12, 13, 16, 47, 48, 64, 65, 200, 600][random.below(11)];
                    let len = length(&mut random, equal);
                    (random.array(), random.array(), random.bytes(aad_len), random.bytes(len))
                })
                .collect();
            let mut texts: Vec<Vec<u8>> = inputs.iter().map(|input| input.3.clone()).collect();
            // Unaligned, with room that must be left alone.
            let mut apart: Vec<Vec<u8>> =
                texts.iter().map(|text| vec![0x5a; text.len() + 9]).collect();
            for sealing in [true, false] {
                let mut packets: Vec<Sealed<'_>> = (inputs.iter().zip(&mut texts))
                    .zip(&mut apart)
                    .enumerate()
                    .map(|(i, (((key, nonce, aad, _), text), apart))| {
                        let text = match i % 2 {
                            0 => Text::InPlace(text),
                            _ => Text::Apart { src: text, dst: &mut apart[5..] },
                        };
                        Sealed { key, nonce, aad, text, tag: [0; 16] }
                    })
                    .collect();
                match sealing {
                    true => seal(&cpu, &mut packets),
                    false => open(&cpu, &mut packets),
                }
                let tags: Vec<[u8; 16]> = packets.iter().map(|packet| packet.tag).collect();
                for (i, (key, nonce, aad, text)) in inputs.iter().enumerate() {
                    let (sealed, tag) = aws_seal(key, nonce, aad, text);
                    let expected = if sealing { &sealed } else { text };
                    assert_eq!(tags[i], tag, "packet {i} of {count}");
                    if i % 2 == 0 {
                        assert!(texts[i] == *expected, "packet {i} of {count}");
                    } else {
                        let (head, rest) = apart[i].split_at(5);
                        let (now, rest) = rest.split_at(text.len());
                        assert!(now == expected, "packet {i} of {count}");
                        assert!(head.iter().chain(rest).all(|byte| *byte == 0x5a));
                        texts[i].copy_from_slice(now);
                    }
                }
            }
        }
    }
}

#[test]
fn ciphers_of_batches_agree_with_aws_lc() {
    let mut random = Numbers(4);
    for cpu in tiers() {
        for count in 1..=40 {
            let inputs: Vec<Input> = (0..count)
                .map(|_| {
                    let len = length(&mut random, None);
                    (random.array(), random.array(), random.next() as u32 >> 1, random.bytes(len))
                })
                .collect();
            let mut texts: Vec<Vec<u8>> = inputs.iter().map(|input| input.3.clone()).collect();
            let mut packets: Vec<Packet<'_>> = (inputs.iter().zip(&mut texts))
                .map(|((key, nonce, counter, _), text)| Packet {
                    key,
                    counter: *counter,
                    nonce,
                    text: Text::InPlace(text),
                })
                .collect();
            apply(&cpu, &mut packets);
            let mut messages: Vec<Message<'_>> = (inputs.iter())
                .map(|(key, _, _, data)| Message { key, data, tag: [0; 16] })
                .collect();
            many(&cpu, &mut messages);
            for (i, (key, nonce, counter, text)) in inputs.iter().enumerate() {
                assert!(texts[i] == aws_chacha20(key, *counter, nonce, text), "{i} of {count}");
                assert_eq!(messages[i].tag, aws_poly1305(key, text), "{i} of {count}");
            }
        }
    }
}

/// Poly1305 by its definition, with products by doubling and adding. AWS-LC is no oracle at the edges:
/// under `r = 1` and `s = 0`, the tag of three blocks of ones and one of zeros is 2, as OpenSSL has it too.
fn naive_poly1305(key: &[u8; 32], data: &[u8]) -> [u8; 16] {
    const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
    /// `2^130 - 5` below its top two bits, which are 3.
    const LOW: u128 = 0u128.wrapping_sub(5);
    // Numbers as their bits from 128 on, and those below: sums of two below the modulus.
    let add = |a: (u128, u128), b: (u128, u128)| {
        let (low, carry) = a.1.overflowing_add(b.1);
        let sum = (a.0 + b.0 + u128::from(carry), low);
        match sum >= (3, LOW) {
            true => (sum.0 - 3 - u128::from(low < LOW), low.wrapping_sub(LOW)),
            false => sum,
        }
    };
    let half = |i: usize| u128::from_le_bytes(key[16 * i..][..16].try_into().expect("16 bytes"));
    let (r, s) = (half(0) & CLAMP, half(1));
    let mut value = (0, 0);
    for block in data.chunks(16) {
        let mut bytes = [0; 32];
        bytes[..block.len()].copy_from_slice(block);
        bytes[block.len()] = 1;
        let low = u128::from_le_bytes(bytes[..16].try_into().expect("16 bytes"));
        let h = add(value, (u128::from(bytes[16]), low));
        value = (0, 0);
        for bit in (0..124).rev() {
            value = add(value, value);
            if r >> bit & 1 == 1 {
                value = add(value, h);
            }
        }
    }
    value.1.wrapping_add(s).to_le_bytes()
}

/// Our own without vectors, message by message.
fn scalar_poly1305(key: &[u8; 32], data: &[u8]) -> [u8; 16] {
    let mut running = Running::new(key);
    running.update(&Cpu::with_cap(Tier::Generic), data);
    running.finish()
}

/// Keys and blocks that make limbs and sums as large as they get: all ones; `r` of 1, 2 and 4, under which
/// values come out just below and just above `2^130 - 5`; and random ones.
fn edge_message(random: &mut Numbers, len: usize) -> ([u8; 32], Vec<u8>) {
    let mut key: [u8; 32] = random.array();
    match random.below(4) {
        0 => key = [0xff; 32],
        1 => key[..16].copy_from_slice(&(1u128 << random.below(3)).to_le_bytes()),
        2 => key[16..].fill(0xff),
        _ => {}
    }
    let mut data = match random.below(3) {
        0 => random.bytes(len),
        _ => vec![0xff; len],
    };
    // A block near the modulus: its low bits are -7 to 0.
    if let Some(block) = data.chunks_exact_mut(16).last().filter(|_| random.below(2) == 0) {
        block.copy_from_slice(&0u128.wrapping_sub(random.below(8) as u128).to_le_bytes());
    }
    (key, data)
}

#[test]
fn unequal_messages_side_by_side_agree_with_aws_lc() {
    let mut random = Numbers(7);
    for count in 1..=32 {
        for kind in 0..12 {
            // Lengths anywhere, few, one for all, of whole blocks, and each once around.
            let most = [600, 600, 64, 17, 3000, 1][kind % 6];
            let inputs: Vec<([u8; 32], Vec<u8>)> = (0..count)
                .map(|i| match kind {
                    0..=5 => random.below(most + 1),
                    6 => (count * 37 + i) % 601,
                    7 => count * 16,
                    8 => random.below(38) * 16,
                    9 => 600 - count - i,
                    10 => [0, 600][random.below(2)],
                    _ => count * 18,
                })
                .collect::<Vec<usize>>()
                .into_iter()
                .map(|len| edge_message(&mut random, len))
                .collect();
            let expected: Vec<[u8; 16]> = inputs
                .iter()
                .map(|(key, data)| match kind + count {
                    // The naive one is slow: one group in eight, which judges the scalar one too.
                    sum if sum % 8 == 0 => naive_poly1305(key, data),
                    _ => scalar_poly1305(key, data),
                })
                .collect();
            for cpu in tiers() {
                let mut messages: Vec<Message<'_>> =
                    inputs.iter().map(|(key, data)| Message { key, data, tag: [0; 16] }).collect();
                many(&cpu, &mut messages);
                for (message, expected) in messages.iter().zip(&expected) {
                    assert_eq!(message.tag, *expected, "{} of {count}", message.data.len());
                }
            }
        }
    }
}

/// Values at the edge of the modulus in every lane: `r` is 1, so that a message is the sum of its blocks.
#[test]
fn values_around_the_modulus_in_every_lane() {
    let mut key = [0; 32];
    key[0] = 1;
    // 2^128 - 1 + 2^128 each: four are 2^131 - 4, and two of them and rests go around 2^130 - 5.
    let with_rest = |ones: usize, rest: u128| {
        let mut data = vec![0xff; 16 * ones];
        data.extend(rest.to_le_bytes());
        data
    };
    let texts: Vec<Vec<u8>> = (0..40u128)
        .flat_map(|i| [0u128.wrapping_sub(i), i])
        .flat_map(|rest| (0..4).map(move |ones| with_rest(ones, rest)))
        .collect();
    for cpu in tiers() {
        for first in 0..8 {
            for texts in texts[first..].chunks(8) {
                let mut messages: Vec<Message<'_>> =
                    (texts.iter()).map(|data| Message { key: &key, data, tag: [0; 16] }).collect();
                many(&cpu, &mut messages);
                for message in &messages {
                    assert_eq!(
                        message.tag,
                        naive_poly1305(&key, message.data),
                        "{:x?}",
                        message.data
                    );
                }
            }
        }
    }
}

#[test]
fn pieces_make_the_whole() {
    let mut random = Numbers(5);
    for cpu in tiers() {
        for _ in 0..40 {
            let (key, nonce, data) = (random.array(), random.array(), random.bytes(6000));
            let (mut text, mut rest) = (data.clone(), &data[..]);
            let mut stream = Stream::new(&key, 5, &nonce);
            let mut running = Running::new(&key);
            while !rest.is_empty() {
                let n = [random.below(40), random.below(2000)][random.below(2)].min(rest.len());
                let at = data.len() - rest.len();
                let (stream_now, running_now) = (stream.clone(), running.clone());
                (stream, running) = (stream_now, running_now);
                let dst = &mut text[at..at + n];
                if n % 2 == 0 {
                    stream.apply(&cpu, Text::InPlace(dst));
                } else {
                    stream.apply(&cpu, Text::Apart { src: &rest[..n], dst });
                }
                running.update(&cpu, &rest[..n]);
                rest = &rest[n..];
            }
            assert!(text == aws_chacha20(&key, 5, &nonce, &data));
            assert_eq!(running.finish(), aws_poly1305(&key, &data));
        }
    }
}

/// The part that cipher and authenticator do side by side, and the rest one after the other.
#[cfg(target_arch = "x86_64")]
#[test]
fn pieces_side_by_side_agree_with_aws_lc() {
    let mut random = Numbers(6);
    for cpu in tiers() {
        for len in (0..2100).step_by(67).chain([511, 512, 1023, 1024, 1025, 1535, 1536, 5000]) {
            let (key, nonce, text) = (random.array(), random.array(), random.bytes(len));
            let (sealed, tag) = aws_seal(&key, &nonce, &[], &text);
            for sealing in [true, false] {
                let (src, expected) = if sealing { (&text, &sealed) } else { (&sealed, &text) };
                let mut block = [0; 32];
                Stream::new(&key, 0, &nonce).apply(&cpu, Text::InPlace(&mut block));
                let mut mac = Running::new(&block);
                let mut dst = src.clone();
                let (mut room, of) = (vec![0x77; len + 9], (&key, &nonce, 1));
                let here = match len % 2 {
                    0 => Text::InPlace(&mut dst),
                    _ => Text::Apart { src, dst: &mut room[5..] },
                };
                let done = match sealing {
                    true => seal_piece(&cpu, of, here, &mut mac),
                    false => open_piece(&cpu, of, here, &mut mac),
                };
                if len % 2 == 1 {
                    dst[..done].copy_from_slice(&room[5..5 + done]);
                    let (head, tail) = (&room[..5], &room[5 + done..]);
                    assert!(head.iter().chain(tail).all(|byte| *byte == 0x77), "{len}");
                }
                let all = cpu.tier() == Tier::Avx2 && len >= 1024;
                assert_eq!(done, if all { len / 512 * 512 } else { 0 }, "{len}");
                let rest = Text::InPlace(&mut dst[done..]);
                Stream::new(&key, 1 + done as u32 / 64, &nonce).apply(&cpu, rest);
                assert!(dst == *expected, "{len} {:?}", cpu.tier());
                mac.update(&cpu, &sealed[done..]);
                mac.update(&cpu, &[0; 16][..(16 - len % 16) % 16]);
                mac.update(&cpu, &0u64.to_le_bytes());
                mac.update(&cpu, &(len as u64).to_le_bytes());
                assert_eq!(mac.finish(), tag, "{len} {:?}", cpu.tier());
            }
        }
        // Not inside a block, and not where the counter would wrap.
        let (key, mut text) = ([7; 32], [9; 4096]);
        let mut mac = Running::new(&key);
        let of = (&key, &[1; 12], u32::MAX - 62);
        assert_eq!(open_piece(&cpu, of, Text::InPlace(&mut text), &mut mac), 0);
        mac.update(&cpu, &[1]);
        let of = (&key, &[1; 12], 1);
        assert_eq!(open_piece(&cpu, of, Text::InPlace(&mut text), &mut mac), 0);
        assert!(text == [9; 4096]);
    }
}

/// Keys, texts and tags that a forger would like to know are not printed.
#[test]
fn debug_output_has_no_secrets() {
    let (key, mut text) = ([171; 32], [172; 50]);
    let packet = Packet { key: &key, counter: 0, nonce: &[0; 12], text: Text::InPlace(&mut text) };
    let printed = format!("{packet:?}");
    let text = Text::InPlace(&mut text);
    let sealed = Sealed { key: &key, nonce: &[0; 12], aad: &[], text, tag: [173; 16] };
    let printed = format!("{printed}{sealed:?}");
    let message = Message { key: &key, data: &[172; 50], tag: [173; 16] };
    let printed = format!("{printed}{message:?}");
    assert!(["171", "172", "173"].iter().all(|byte| !printed.contains(byte)), "{printed}");
}
