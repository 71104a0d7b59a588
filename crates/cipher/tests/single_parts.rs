//! Packets of random shapes: an error or a result, never a panic; and nothing outside of the regions
//! is written.

mod single_common;

use lookaside_cipher::{Aead, Auth, Cipher, Direction, Hash, OpError, Parts, Span, Sym, Text};
use lookaside_simd::Cpu;
use single_common::*;

/// A number near an edge of `len`, or anything.
fn edge(random: &mut Random, len: usize) -> u32 {
    match random.below(8) {
        0 => 0,
        1 => random.below(4) as u32,
        2 => (len + random.below(5)).saturating_sub(2) as u32,
        3 => u32::MAX - random.below(3) as u32,
        4 => 16 * random.below(len / 16 + 2) as u32,
        5 => random.next() as u32,
        _ => random.below(len + 1) as u32,
    }
}

fn any_span(random: &mut Random, len: usize) -> Span {
    Span { offset: edge(random, len), len: edge(random, len) }
}

fn inside(span: Span, len: usize) -> bool {
    u64::from(span.offset) + u64::from(span.len) <= len as u64
}

#[test]
fn random_parts_never_panic() {
    let cpu = Cpu::host();
    let mut random = Random(21);
    let mut cases = every_case(&mut random);
    let spec =
        Sym::TlsCbc { key: secret(&[1; 16]), hash: Hash::Sha256, auth_key: secret(&[2; 32]) };
    cases.push(Case { spec, iv: vec![3; 16], block: 16, least: 0 });
    let mut good = 0;
    for case in &cases {
        let prepared = prepare(&case.spec, cpu).unwrap();
        let tag_len = prepared.keys.tag_len();
        for _ in 0..600 {
            let src_len = random.below(300);
            let dst_len = if random.below(3) == 0 { random.below(300) } else { src_len };
            let parts = Parts {
                aad: if random.below(2) == 0 {
                    span(0, 13)
                } else {
                    any_span(&mut random, src_len)
                },
                cipher: any_span(&mut random, src_len),
                auth: any_span(&mut random, src_len),
                tag: edge(&mut random, src_len),
                spare_bits: if random.below(4) == 0 { random.next() as u8 } else { 0 },
            };
            let iv = if random.below(5) == 0 {
                let len = random.below(70);
                random.bytes(len)
            } else {
                case.iv.clone()
            };
            let direction = [Direction::Seal, Direction::Open][random.below(2)];
            let src = random.bytes(src_len);
            let what = format!("{:?} {direction:?} {parts:?} {src_len} {dst_len}", case.spec);
            if random.below(2) == 0 {
                let mut bytes = src.clone();
                let text = Text::InPlace(&mut bytes);
                let result = prepared.run(direction, &iv, parts, text);
                if let Err(OpError::BadInput(_) | OpError::DstTooSmall) = result {
                    assert_eq!(bytes, src, "never touched: {what}");
                } else {
                    good += 1;
                }
                continue;
            }
            let mut dst = vec![0xee; dst_len];
            let text = Text::Apart { src: &src, dst: &mut dst };
            let result = prepared.run(direction, &iv, parts, text);
            if let Err(OpError::BadInput(_) | OpError::DstTooSmall) = result {
                assert!(dst.iter().all(|byte| *byte == 0xee), "never touched: {what}");
                continue;
            }
            good += 1;
            let mut may = vec![false; dst_len];
            let mut allow = |span: Span| {
                assert!(inside(span, dst_len), "{what}");
                may[span.offset as usize..(span.offset + span.len) as usize].fill(true);
            };
            let is_auth = matches!(case.spec, Sym::Auth { .. });
            if !is_auth {
                allow(parts.cipher);
            }
            if matches!(case.spec, Sym::Chain { .. }) {
                allow(parts.auth);
            }
            match case.spec {
                Sym::TlsCbc { .. } if direction == Direction::Seal => {
                    allow(Span { len: result.unwrap() as u32, ..parts.cipher });
                }
                Sym::TlsCbc { .. } => {}
                _ if direction == Direction::Seal => {
                    allow(Span { offset: parts.tag, len: tag_len as u32 }.or_nothing());
                }
                _ => {}
            }
            for (at, (byte, may)) in dst.iter().zip(may).enumerate() {
                assert!(may || *byte == 0xee, "byte {at}: {what}");
            }
        }
    }
    assert!(good > 2000, "only {good} packets were run");
}

trait OrNothing {
    fn or_nothing(self) -> Span;
}

impl OrNothing for Span {
    /// A tag that there is not lies anywhere.
    fn or_nothing(self) -> Span {
        if self.len == 0 { Span::default() } else { self }
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let cpu = Cpu::host();
    let run = |spec: &Sym, direction, iv: &[u8], parts, src: &[u8], dst_len: usize| {
        let prepared = prepare(spec, cpu).unwrap();
        let mut dst = vec![0; dst_len];
        prepared.run(direction, iv, parts, Text::Apart { src, dst: &mut dst })
    };
    let bad = |result: Result<usize, OpError>| {
        assert!(matches!(result, Err(OpError::BadInput(_))), "{result:?}");
    };
    let (seal, open) = (Direction::Seal, Direction::Open);
    let cipher = |offset, len| Parts { cipher: span(offset, len), ..Parts::default() };

    let cbc = cipher_spec(Cipher::AesCbc, &[0; 16]);
    assert_eq!(run(&cbc, seal, &[0; 16], cipher(0, 32), &[0; 32], 32), Ok(32));
    assert_eq!(run(&cbc, seal, &[0; 16], cipher(0, 32), &[0; 32], 31), Err(OpError::DstTooSmall));
    bad(run(&cbc, seal, &[0; 16], cipher(1, 32), &[0; 32], 64));
    bad(run(&cbc, seal, &[0; 16], cipher(0, 31), &[0; 32], 32));
    bad(run(&cbc, seal, &[0; 12], cipher(0, 32), &[0; 32], 32));
    bad(run(&cbc, seal, &[0; 16], Parts { spare_bits: 1, ..cipher(0, 32) }, &[0; 32], 32));
    let huge = Span { offset: u32::MAX, len: u32::MAX };
    bad(run(&cbc, seal, &[0; 16], Parts { cipher: huge, ..Parts::default() }, &[0; 32], 32));

    // OpenSSL refuses two equal keys when it encrypts, and takes them when it decrypts.
    let xts = cipher_spec(Cipher::AesXts, &[7; 32]);
    bad(run(&xts, seal, &[0; 16], cipher(0, 16), &[0; 16], 16));
    assert_eq!(run(&xts, open, &[0; 16], cipher(0, 16), &[0; 16], 16), Ok(16));

    let kasumi = cipher_spec(Cipher::KasumiF8, &[7; 16]);
    let bits = |spare_bits, len| Parts { spare_bits, ..cipher(0, len) };
    assert_eq!(run(&kasumi, seal, &[0; 8], bits(7, 5), &[0; 5], 5), Ok(5));
    bad(run(&kasumi, seal, &[0; 8], bits(8, 5), &[0; 5], 5));
    bad(run(&kasumi, seal, &[0; 8], bits(1, 0), &[0; 5], 5));
    let f9 = auth_spec(Auth::KasumiF9, &[7; 16], 4);
    bad(run(&f9, seal, &[2; 9], Parts::default(), &[], 4));
    assert_eq!(run(&f9, seal, &[1; 9], Parts::default(), &[], 4), Ok(4));
    assert_eq!(run(&f9, seal, &[1; 9], Parts::default(), &[], 3), Err(OpError::DstTooSmall));
    bad(run(&f9, open, &[1; 9], Parts::default(), &[0; 3], 0));

    let ccm = aead_spec(Aead::AesCcm, &[7; 16], 8);
    let text = vec![0; (1 << 16) + 8];
    bad(run(&ccm, seal, &[0; 13], cipher(8, 1 << 16), &text, text.len()));
    let parts = cipher(8, (1 << 16) - 1);
    assert_eq!(run(&ccm, seal, &[0; 13], parts, &text, text.len()), Ok((1 << 16) - 1));
    assert_eq!(run(&ccm, seal, &[0; 12], cipher(8, 1 << 16), &text, text.len()), Ok(1 << 16));
    bad(run(&ccm, seal, &[0; 14], cipher(8, 1), &text, text.len()));

    let mac = auth_spec(Auth::AesCbcMac, &[7; 16], 16);
    let auth = |len| Parts { auth: span(0, len), ..Parts::default() };
    bad(run(&mac, seal, &[], auth(0), &[0; 16], 16));
    bad(run(&mac, seal, &[], auth(15), &[0; 16], 16));
    assert_eq!(run(&mac, seal, &[], auth(16), &[0; 16], 16), Ok(16));
}
