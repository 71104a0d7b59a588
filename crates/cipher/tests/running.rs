//! Texts in pieces give what whole packets give.

mod single_common;

use std::sync::Arc;

use lookaside_cipher::single::Keys;
use lookaside_cipher::{
    Aead, Auth, ChainOrder, Cipher, Direction, Hash, OpError, Parts, Running, Sym, Text,
};
use lookaside_simd::{Cpu, Tier};
use single_common::*;

/// The whole text as one packet in place: associated data, text, tag.
fn whole(case: &Case, cpu: &Cpu, aad: &[u8], text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let prepared = prepare(&case.spec, cpu).unwrap();
    let mut bytes = [aad, text].concat();
    let at = bytes.len();
    bytes.resize(at + prepared.keys.tag_len(), 0);
    let region = span(aad.len(), text.len());
    let aad = span(0, aad.len());
    let parts = Parts { aad, cipher: region, auth: region, tag: at as u32, spare_bits: 0 };
    let text = Text::InPlace(&mut bytes);
    prepared.run(Direction::Seal, &case.iv, parts, text).unwrap();
    (bytes[aad.len as usize..at].to_vec(), bytes[at..].to_vec())
}

/// Pieces of a text, whole blocks each, some of them empty.
fn cut<'t>(random: &mut Random, case: &Case, mut text: &'t [u8]) -> Vec<&'t [u8]> {
    let mut pieces = vec![];
    // XTS has one piece.
    while text.len() > case.block && case.least == 0 {
        let most = [1, 6, 40, 700][random.below(4)];
        let len = (random.below(most) * case.block).min(text.len());
        let (piece, rest) = text.split_at(len);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// More of a text: the quick ways, if they are to be tried, and the one for all. Returns how many
/// bytes were written.
fn more(running: &mut Running, text: Text<'_>, quick: bool) -> usize {
    match text {
        Text::InPlace(bytes) if quick => {
            if running.quick(Text::InPlace(bytes)) || running.quick_chain(bytes) {
                return bytes.len();
            }
            running.update(Text::InPlace(bytes)).unwrap()
        }
        Text::Apart { src, dst } if quick => {
            if running.quick(Text::Apart { src, dst }) {
                return src.len();
            }
            if running.absorb(src) {
                return 0;
            }
            running.update(Text::Apart { src, dst }).unwrap()
        }
        text => running.update(text).unwrap(),
    }
}

fn feed(running: &mut Running, random: &mut Random, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        let mut dst = piece.to_vec();
        let text = if random.below(2) == 0 {
            Text::InPlace(&mut dst)
        } else {
            dst.fill(0xee);
            Text::Apart { src: piece, dst: &mut dst }
        };
        let len = more(running, text, random.below(4) > 0);
        assert!(len == piece.len() || len == 0);
        out.extend_from_slice(&dst[..len]);
    }
    out
}

#[test]
fn pieces_are_the_whole() {
    let mut random = Random(11);
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        for case in every_case(&mut random) {
            let keys = Arc::new(Keys::new(&case.spec, &cpu).unwrap());
            let mut running = Running::new(&keys, Direction::Open, &case.iv).unwrap();
            for round in 0..6 {
                let len = [0, 1, 17, 64, 130, 700][round] * case.block;
                let len = if case.spec_is_cbc_mac() { len.max(16) } else { len.max(case.least) };
                let text = random.bytes(len);
                let is_aead = matches!(case.spec, Sym::Aead { .. });
                let aad_len = if is_aead { random.below(50) } else { 0 };
                let aad = random.bytes(aad_len);
                let (sealed, tag) = whole(&case, &cpu, &aad, &text);
                let what = format!("{:?} {len} {aad_len}", case.spec);
                let is_auth = matches!(case.spec, Sym::Auth { .. });

                running.restart(Direction::Seal, &case.iv).unwrap();
                running.lengths(aad.len(), text.len()).unwrap();
                let (left, right) = aad.split_at(aad.len() / 3);
                if is_aead {
                    running.aad(left).unwrap();
                    running.aad(right).unwrap();
                }
                // A clone from the middle goes its own way.
                let pieces = cut(&mut random, &case, &text);
                let (first, second) = pieces.split_at(pieces.len() / 2);
                let mut out = feed(&mut running, &mut random, first);
                let mut other = running.clone();
                let mut other_out = out.clone();
                other_out.extend(feed(&mut other, &mut random, second));
                out.extend(feed(&mut running, &mut random, second));
                let expected = if is_auth { &[][..] } else { &sealed };
                assert_eq!((&out[..], &other_out[..]), (expected, expected), "{what}");
                let mut made = vec![0; tag.len()];
                if !tag.is_empty() {
                    running.finish(&mut made).unwrap();
                    assert_eq!(made, tag, "{what}");
                    assert!(running.finish(&mut made).is_err(), "{what}");
                    assert!(running.update(Text::InPlace(&mut [0; 16])).is_err(), "{what}");
                    made.fill(0);
                    other.finish(&mut made).unwrap();
                    assert_eq!(made, tag, "the clone, {what}");
                } else {
                    assert!(matches!(running.finish(&mut made), Err(OpError::BadInput(_))));
                }

                for wrong in [false, true] {
                    running.restart(Direction::Open, &case.iv).unwrap();
                    running.lengths(aad.len(), text.len()).unwrap();
                    if is_aead {
                        running.aad(&aad).unwrap();
                    }
                    let src = if is_auth { &text } else { &sealed };
                    let pieces = cut(&mut random, &case, src);
                    let out = feed(&mut running, &mut random, &pieces);
                    assert_eq!(out, if is_auth { &[][..] } else { &text }, "{what}");
                    if !tag.is_empty() {
                        let mut tag = tag.clone();
                        tag[len % 4] ^= u8::from(wrong);
                        let result = if wrong { Err(OpError::AuthFailed) } else { Ok(()) };
                        assert_eq!(running.verify(&tag), result, "{what}");
                    }
                }
            }
        }
    }
}

impl Case {
    fn spec_is_cbc_mac(&self) -> bool {
        matches!(self.spec, Sym::Auth { auth: Auth::AesCbcMac, .. })
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let cpu = Cpu::host();
    let keys = |spec: &Sym| Arc::new(Keys::new(spec, cpu).unwrap());
    let bad = |result: Result<usize, OpError>| {
        assert!(matches!(result, Err(OpError::BadInput(_))), "{result:?}");
    };
    let (seal, open) = (Direction::Seal, Direction::Open);

    let cbc = keys(&cipher_spec(Cipher::AesCbc, &[1; 16]));
    bad(Running::new(&cbc, seal, &[0; 15]).map(|_| 0));
    let mut running = Running::new(&cbc, seal, &[0; 16]).unwrap();
    bad(running.update(Text::InPlace(&mut [0; 17])));
    bad(running.aad(&[]).map(|()| 0));
    let short = Text::Apart { src: &[0; 32], dst: &mut [0; 16] };
    assert_eq!(running.update(short), Err(OpError::DstTooSmall));

    let xts = keys(&cipher_spec(Cipher::AesXts, &random_key(64)));
    let mut running = Running::new(&xts, seal, &[0; 16]).unwrap();
    bad(running.update(Text::InPlace(&mut [0; 15])));
    assert_eq!(running.update(Text::InPlace(&mut [0; 16])), Ok(16));
    bad(running.update(Text::InPlace(&mut [0; 16])));

    let chain = keys(&Sym::Chain {
        cipher: Cipher::AesXts,
        cipher_key: secret(&random_key(64)),
        auth: Auth::Hmac(Hash::Sha256),
        auth_key: secret(&[1; 16]),
        tag_len: 32,
        order: ChainOrder::AuthThenCipher,
    });
    for apart in [false, true] {
        let mut running = Running::new(&chain, seal, &[0; 16]).unwrap();
        let update = |running: &mut Running| match apart {
            false => running.update(Text::InPlace(&mut [0; 16])),
            true => running.update(Text::Apart { src: &[0; 16], dst: &mut [0; 16] }),
        };
        assert_eq!(update(&mut running), Ok(16));
        bad(update(&mut running));
        running.finish(&mut [0; 32]).unwrap();
    }

    let gcm = keys(&aead_spec(Aead::AesGcm, &[1; 16], 12));
    bad(Running::new(&gcm, seal, &[]).map(|_| 0));
    let mut running = Running::new(&gcm, seal, &[1]).unwrap();
    bad(running.finish(&mut [0; 16]).map(|()| 0));
    running.update(Text::InPlace(&mut [0; 1])).unwrap();
    bad(running.aad(&[1]).map(|()| 0));
    bad(running.verify(&[0; 12]).map(|()| 0));
    running.restart(open, &[1]).unwrap();
    bad(running.finish(&mut [0; 12]).map(|()| 0));

    let ccm = keys(&aead_spec(Aead::AesCcm, &[1; 16], 16));
    let mut running = Running::new(&ccm, seal, &[0; 13]).unwrap();
    bad(running.aad(&[1]).map(|()| 0));
    bad(running.update(Text::InPlace(&mut [0; 1])));
    bad(running.lengths(0, 1 << 16).map(|()| 0));
    running.lengths(1, 2).unwrap();
    bad(running.lengths(1, 2).map(|()| 0));
    bad(running.update(Text::InPlace(&mut [0; 2])));
    running.aad(&[1]).unwrap();
    bad(running.update(Text::InPlace(&mut [0; 3])));
    running.update(Text::InPlace(&mut [0; 1])).unwrap();
    bad(running.finish(&mut [0; 16]).map(|()| 0));

    let tls = Sym::TlsCbc { key: secret(&[0; 16]), hash: Hash::Sha1, auth_key: secret(&[0; 20]) };
    let result = Running::new(&keys(&tls), seal, &[0; 16]).map(|_| ());
    assert!(matches!(result, Err(OpError::Unsupported)));
}

/// Neither another tag nor more text after a tag that did not match.
#[test]
fn a_wrong_tag_is_the_end() {
    let keys = [
        (aead_spec(Aead::AesGcm, &[1; 16], 16), 12),
        (aead_spec(Aead::AesCcm, &[1; 16], 16), 12),
        (aead_spec(Aead::ChaCha20Poly1305, &[1; 32], 16), 12),
        (auth_spec(Auth::Hmac(Hash::Sha256), &[1; 16], 16), 0),
    ];
    for (spec, iv_len) in keys {
        let keys = Arc::new(Keys::new(&spec, Cpu::host()).unwrap());
        let mut sealing = Running::new(&keys, Direction::Seal, &vec![2; iv_len]).unwrap();
        let (mut text, mut tag) = ([7; 40], [0; 16]);
        sealing.lengths(0, 40).unwrap();
        sealing.update(Text::InPlace(&mut text)).unwrap();
        sealing.finish(&mut tag).unwrap();

        let mut opening = Running::new(&keys, Direction::Open, &vec![2; iv_len]).unwrap();
        opening.lengths(0, 40).unwrap();
        opening.update(Text::InPlace(&mut text)).unwrap();
        let wrong = tag.map(|byte| byte ^ 1);
        assert_eq!(opening.verify(&wrong), Err(OpError::AuthFailed));
        assert!(matches!(opening.verify(&tag), Err(OpError::BadInput(_))), "{spec:?}");
        let more = opening.update(Text::InPlace(&mut [0; 1]));
        assert!(matches!(more, Err(OpError::BadInput(_))));
    }
}

/// A tag that comes with its length must not choose how easily it is guessed.
#[test]
fn a_tag_is_not_cut_short_by_whoever_sends_it() {
    let cpu = Cpu::host();
    for (aead, key, shorter) in [
        (Aead::AesGcm, 16, &[4usize, 8, 12, 13, 14, 15][..]),
        (Aead::AesCcm, 16, &[]),
        (Aead::ChaCha20Poly1305, 32, &[]),
    ] {
        let spec = Sym::Aead { aead, key: random_key(key).into(), tag_len: 16 };
        let keys = Arc::new(Keys::new(&spec, cpu).unwrap());
        let begin = |direction| {
            let mut running = Running::new(&keys, direction, &[7; 12]).unwrap();
            running.lengths(0, 5).unwrap();
            running.update(Text::InPlace(&mut [1, 2, 3, 4, 5])).unwrap();
            running
        };
        let mut sealed = [1, 2, 3, 4, 5];
        let mut sealing = Running::new(&keys, Direction::Seal, &[7; 12]).unwrap();
        sealing.lengths(0, 5).unwrap();
        sealing.update(Text::InPlace(&mut sealed)).unwrap();
        let mut tag = [0; 16];
        sealing.finish(&mut tag).unwrap();
        for len in 0..16 {
            let mut opening = begin(Direction::Open);
            let wanted = match shorter.contains(&len) {
                true => Err(OpError::AuthFailed),
                false => Err(OpError::BadInput("the length of the tag")),
            };
            // The text is another one: a legal length is compared, others are refused.
            assert_eq!(opening.verify(&tag[..len]), wanted, "{aead:?} {len}");
        }
        let mut opening = Running::new(&keys, Direction::Open, &[7; 12]).unwrap();
        opening.lengths(0, 5).unwrap();
        opening.update(Text::InPlace(&mut sealed)).unwrap();
        assert_eq!(opening.verify_prefix(&tag[..1]), Ok(()), "{aead:?}: as its caller wishes");
    }
}

fn random_key(len: usize) -> Vec<u8> {
    Random(3).bytes(len)
}

fn is_send<T: Send + Clone>() {}

#[test]
fn it_may_move_between_threads() {
    is_send::<Running>();
}
