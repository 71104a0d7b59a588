//! What is encoded is decoded again, every operation with every kind of arguments; what is not ours is refused.

use lookaside_core::{
    Aead, Args, Arithmetic, Auth, BadReason, ChainOrder, Checksum, Cipher, Compression, Curve,
    Detail, DhGroup, Done, DsaDomain, EdCurve, Flush, Format, Hash, HkdfMode, Huffman, Iv, Kdf,
    Lost, Nonce, Op, OpError, Packet, Pke, PointStep, RsaCrt, RsaPrivateKey, RsaPublicKey,
    RsaScheme, SaltLen, Secret, SessionSpec, Sm2Role, Span, Status, Sym, WeierstrassParams,
    XdhCurve, scan, xml,
};
use lookaside_wire::{
    Answer, Entry, Malformed, Piece, Shape, WORDS,
    control::{ToClient, ToServer},
    session,
};

fn schemes() -> Vec<RsaScheme> {
    let mut schemes = vec![RsaScheme::Raw, RsaScheme::Pkcs1Sign(None), RsaScheme::Pkcs1Encrypt];
    schemes.extend(Hash::ALL.map(|hash| RsaScheme::Pkcs1Sign(Some(hash))));
    let salts =
        [SaltLen::Digest, SaltLen::Max, SaltLen::UpToDigest, SaltLen::Auto, SaltLen::Exactly(513)];
    for salt in salts {
        schemes.push(RsaScheme::Pss { hash: Hash::Sha384, mgf: Hash::Sm3, salt });
    }
    for alternative in [None, Some(0x0301)] {
        schemes.push(RsaScheme::Pkcs1Tls { client_version: 0xfefd, alternative });
    }
    schemes.push(RsaScheme::Oaep { hash: Hash::Sha1, mgf: Hash::Sha512, label_len: 65_535 });
    schemes
}

fn details() -> Vec<Detail> {
    let mut details = vec![
        Detail::None,
        Detail::Nonce(Nonce::Hedged),
        Detail::Nonce(Nonce::Given),
        Detail::Cofactor(true),
        Detail::Cofactor(false),
        Detail::Prime { bits: u32::MAX, safe: true },
        Detail::Sm2Exchange(Sm2Role::Responder),
        Detail::TlsPrf { secret_len: 48 },
        Detail::Hkdf { mode: HkdfMode::ExpandLabel, key_len: u32::MAX, salt_len: 3 },
    ];
    details.extend(schemes().into_iter().flat_map(|s| [Detail::Rsa(s), Detail::RsaRecover(s)]));
    details.extend(Hash::ALL.map(|hash| Detail::Nonce(Nonce::Deterministic(hash))));
    let steps = [
        PointStep::Multiply,
        PointStep::MultiplyGenerator,
        PointStep::Add,
        PointStep::Double,
        PointStep::Verify,
    ];
    details.extend(steps.map(Detail::Point));
    details.extend(
        [
            Arithmetic::Add,
            Arithmetic::Subtract,
            Arithmetic::Multiply,
            Arithmetic::Square,
            Arithmetic::Reduce,
            Arithmetic::Invert,
            Arithmetic::Power,
        ]
        .map(Detail::Arithmetic),
    );
    details
}

fn entry(op: Op, detail: Detail, flush: Flush, packet: Option<Packet>) -> Entry {
    let mut args = Args::from(detail);
    args.flush = flush;
    Entry {
        number: u64::MAX - 3,
        session: 0x8000_0001,
        op,
        args,
        src: Piece { offset: 1 << 40, len: u32::MAX },
        dst: Piece { offset: 7, len: 9 },
        packet,
    }
}

#[test]
fn requests_of_every_operation_come_back() {
    let packets = [
        None,
        Some(Packet::default()),
        Some(Packet {
            iv: Iv::new(&[9; 16]).unwrap(),
            aad: Span::new(1, 2),
            cipher: Span::new(u32::MAX, 4),
            auth: Span::new(5, u32::MAX),
            tag: u32::MAX,
            spare_bits: 7,
            ..Packet::default()
        }),
        Some(Packet { iv: Iv::At(Span::new(u32::MAX, 300)), ..Packet::default() }),
    ];
    for op in Op::ALL {
        for detail in details() {
            for flush in [Flush::None, Flush::Sync, Flush::Full, Flush::Finish] {
                for packet in packets {
                    let entry = entry(op, detail, flush, packet);
                    let record = entry.encode().unwrap();
                    assert_eq!(Entry::decode(&record), Ok(entry));
                }
            }
        }
    }
}

/// Whatever decodes is what encodes to the same record: there is one form of each request.
#[test]
fn a_record_with_any_other_bit_is_another_request_or_none() {
    let rich = Packet { iv: Iv::from([3; 12]), spare_bits: 5, ..Packet::default() };
    for (detail, packet) in [(Detail::None, Some(rich)), (Detail::Rsa(schemes()[20]), None)] {
        let record = entry(Op::Seal, detail, Flush::Finish, packet).encode().unwrap();
        for bit in 0..WORDS * 64 {
            let mut other = record;
            other[bit / 64] ^= 1 << (bit % 64);
            if let Ok(entry) = Entry::decode(&other) {
                assert_eq!(entry.encode().unwrap(), other, "bit {bit}");
            }
        }
    }
    let record = entry(Op::Copy, Detail::None, Flush::Finish, None).encode().unwrap();
    for word in 8..WORDS {
        let mut other = record;
        other[word] = 1;
        assert_eq!(Entry::decode(&other), Err(Malformed::Long));
    }
}

#[test]
fn answers_come_back() {
    let done = Done { consumed: 1 << 40, produced: 3, checksum: u64::MAX, status: Status::End };
    let reasons = [
        BadReason::Truncated,
        BadReason::Header,
        BadReason::Block,
        BadReason::Checksum,
        BadReason::Length,
        BadReason::Dictionary,
        BadReason::Window,
    ];
    let mut results = vec![
        Ok(done),
        Ok(Done { status: Status::Overflow, ..Done::default() }),
        Err(OpError::DstTooSmall),
        Err(OpError::AuthFailed),
        Err(OpError::BadInput("a text")),
        Err(OpError::BadInput("")),
        Err(OpError::Fault),
        Err(OpError::Unsupported),
        Err(OpError::StreamEnded),
        Err(OpError::Library("another, which is as long as there is room for: sixty-four bytes")),
        Err(OpError::NoMemory),
        Err(OpError::DeviceLost(Lost::Untouched)),
        Err(OpError::DeviceLost(Lost::Touched)),
        Err(OpError::Cancelled),
        Err(OpError::Expired),
    ];
    results.extend(reasons.map(|reason| Err(reason.at(77))));
    results
        .extend(xml::Rule::ALL.iter().map(|&rule| Err(OpError::BadDocument { offset: 5, rule })));
    for result in results {
        for packet in [None, Some(0), Some(u32::MAX)] {
            let answer = Answer { number: 1 << 63 | 5, result, packet };
            assert_eq!(Answer::decode(&answer.encode().unwrap()), Ok(answer));
        }
    }
    let long = "ä".repeat(40);
    let long = lookaside_wire::intern(&long);
    let answer = Answer { number: 0, result: Err(OpError::BadInput(long)), packet: None };
    let cut = Answer::decode(&answer.encode().unwrap()).unwrap().result;
    assert_eq!(cut, Err(OpError::BadInput(&long[..64])), "cut between characters");
    let mut record = answer.encode().unwrap();
    record[1] = (record[1] & !0xff) | 99;
    assert_eq!(Answer::decode(&record), Err(Malformed::Number("error")));
    record = answer.encode().unwrap();
    record[1] |= 0xff << 24;
    assert_eq!(Answer::decode(&record), Err(Malformed::Short));
}

fn sessions() -> Vec<SessionSpec> {
    let n = |x: u8| vec![x; 7];
    let s = |x: u8| Secret::new(&[x; 9]);
    let crt = RsaCrt { p: s(1), q: s(2), dp: s(3), dq: s(4), qinv: s(5) };
    let key = |crt| RsaPrivateKey { n: n(1), e: n(2), d: s(3), crt };
    let mut pke = vec![
        Pke::RsaPrivate(key(Some(crt.clone())).into()),
        Pke::RsaPrivate(key(None).into()),
        Pke::RsaPrivateBlinded(key(Some(crt)).into()),
        Pke::RsaPublic(RsaPublicKey { n: n(1), e: vec![] }.into()),
        Pke::RsaGenerate { bits: 2048 },
        Pke::Dh(DhGroup { p: n(1), g: n(2), q: None }.into()),
        Pke::Dh(DhGroup { p: n(1), g: n(2), q: Some(n(3)) }.into()),
        Pke::Dsa(DsaDomain { p: n(1), q: n(2), g: n(3) }.into()),
        Pke::DsaParameters { l: 2048, n: 256 },
        Pke::Weierstrass(
            WeierstrassParams {
                p: n(1),
                a: n(2),
                b: n(3),
                g: (n(4), n(5)),
                order: n(6),
                cofactor: n(7),
                binary: true,
            }
            .into(),
        ),
        Pke::Sm2,
        Pke::Modular(n(1).into()),
        Pke::BinaryField(n(2).into()),
        Pke::Prime,
    ];
    pke.extend(Curve::ALL.map(Pke::Ec));
    pke.extend(XdhCurve::ALL.map(Pke::Xdh));
    pke.extend(EdCurve::ALL.map(Pke::Eddsa));
    let mut all = vec![
        SessionSpec::Mover,
        SessionSpec::Rng,
        SessionSpec::DecompressStream { format: Format::Gzip, dictionary: None },
    ];
    all.extend(pke.into_iter().map(SessionSpec::Pke));
    for format in Format::ALL {
        let mut spec = Compression::new(format).level(3).checksum(Checksum::Xxh64);
        spec = spec.huffman(Huffman::Static).window_bits(9).block_bits(16).min_match(4);
        all.push(SessionSpec::Compression(spec.clone()));
        let dictionary = Some(n(9).into());
        all.push(SessionSpec::CompressStream { spec, dictionary: dictionary.clone() });
        all.push(SessionSpec::DecompressStream { format, dictionary });
    }
    for hash in Hash::ALL {
        all.push(SessionSpec::Kdf(Kdf::TlsPrf(hash)));
        all.push(SessionSpec::Kdf(Kdf::Hkdf(hash)));
    }
    let auths = [
        Auth::Plain(Hash::Md5),
        Auth::Crc32,
        Auth::Crc64,
        Auth::Hmac(Hash::Sha3_512),
        Auth::Nested { inner: Hash::Sha1, outer: Hash::Sm3 },
        Auth::AesXcbc,
        Auth::AesCbcMac,
        Auth::AesCmac,
        Auth::AesGmac,
        Auth::KasumiF9,
        Auth::Snow3gUia2,
        Auth::ZucEia3,
        Auth::Poly1305,
    ];
    let ciphers = [Cipher::Null, Cipher::AesXts, Cipher::ChaCha20, Cipher::Sm4Ctr];
    let mut sym = Vec::new();
    for cipher in ciphers {
        sym.push(Sym::Cipher { cipher, key: s(1) });
        let (order, auth) = (ChainOrder::AuthThenCipher, auths[3]);
        sym.push(Sym::Chain { cipher, cipher_key: s(1), auth, auth_key: s(2), tag_len: 12, order });
    }
    sym.extend(auths.map(|auth| Sym::Auth { auth, key: s(3), tag_len: 16 }));
    for aead in [Aead::AesGcm, Aead::AesCcm, Aead::ChaCha20Poly1305] {
        sym.push(Sym::Aead { aead, key: s(3), tag_len: 16 });
    }
    sym.push(Sym::TlsCbc { key: s(1), hash: Hash::Sha384, auth_key: s(2) });
    all.extend(sym.into_iter().map(SessionSpec::Sym));
    all
}

#[test]
fn sessions_come_back_and_cut_ones_are_refused() {
    for spec in sessions() {
        let bytes = session::encode(&spec).unwrap();
        assert_eq!(session::decode(&bytes), Ok(spec.clone()));
        for cut in 0..bytes.len() {
            assert!(session::decode(&bytes[..cut]).is_err(), "{spec:?}, {cut} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(session::decode(&longer), Err(Malformed::Long));
    }
    for unsendable in
        [SessionSpec::Scan(scan::Patterns::default()), SessionSpec::Xml(Default::default())]
    {
        assert!(matches!(session::encode(&unsendable), Err(Malformed::Unsendable(_))));
    }
    let large =
        SessionSpec::Sym(Sym::Cipher { cipher: Cipher::Arc4, key: Secret::new(&[0; 70_000]) });
    assert!(matches!(session::encode(&large), Err(Malformed::Unsendable(_))));
}

#[test]
fn messages_come_back() {
    for message in [
        ToServer::Hello { version: 1, ops: 2 },
        ToServer::Ring { token: [7; 16] },
        ToServer::Open { number: 9, spec: b"a specification" },
        ToServer::Close { number: u32::MAX },
    ] {
        let bytes = message.encode().unwrap();
        assert_eq!(ToServer::decode(&bytes), Ok(message));
    }
    let capabilities = vec![lookaside_core::Capability {
        op: Op::Compress,
        algorithm: "all".into(),
        served_by: "a kernel".into(),
        best_batch: 8,
        max_src: usize::MAX,
    }];
    for message in [
        ToClient::Welcome { token: [1; 16], name: "web".into(), capabilities },
        ToClient::Ring(Shape::new(64, 1 << 20).unwrap()),
        ToClient::Opened,
        ToClient::Refused { key: true, what: "why".into() },
    ] {
        let bytes = message.encode().unwrap();
        assert_eq!(ToClient::decode(&bytes), Ok(message));
        for cut in 0..bytes.len() {
            assert!(ToClient::decode(&bytes[..cut]).is_err());
        }
    }
    assert!(
        Shape::new(3, 4096).is_err() && Shape::new(4, 4097).is_err() && Shape::new(4, 0).is_err()
    );
    assert!(Shape::new(8192, 4096).is_err());
}
