//! The algorithms of mobile networks: test sets of 3GPP, alone and in chains.

use lookaside_qat::abi::*;

mod sym_common;
use sym_common::*;

const PATHS: [Path; 3] = [Path::Callback, Path::Waiting, Path::DataPlane];

fn cipher(
    instance: CpaInstanceHandle,
    path: Path,
    algorithm: CpaCySymCipherAlgorithm,
    key: &[u8],
    iv: &[u8],
    text: &[u8],
) -> Vec<u8> {
    let session = Session::new(instance, path, &Spec::cipher(algorithm, key, true));
    let (memory, mut iv) = (Memory::new(text, &[], 3), iv.to_vec());
    let len = iv.len();
    let mut request = Request::new(&session).cipher(0, text.len()).iv(&mut iv, len);
    let right = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
    assert_eq!(request.run(&session, &memory, &memory), Ok(right));
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    memory.bytes()
}

/// Of a message; `iv` is `pAdditionalAuthData`.
fn mac(
    instance: CpaInstanceHandle,
    path: Path,
    algorithm: CpaCySymHashAlgorithm,
    key: &[u8],
    iv: &[u8],
    text: &[u8],
) -> Vec<u8> {
    let spec = Spec {
        aad_len: iv.len() as u32,
        ..Spec::hash(algorithm, CPA_CY_SYM_HASH_MODE_AUTH, key, 4)
    };
    let (memory, mut iv, mut place) = (Memory::new(text, &[], 3), iv.to_vec(), vec![0; 4]);
    let session = Session::new(instance, path, &spec);
    let mut request = Request::new(&session).hash(0, text.len()).aad(&mut iv).digest(&mut place);
    let right = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
    assert_eq!(request.run(&session, &memory, &memory), Ok(right));
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    // Compared, right and wrong.
    let session = Session::new(instance, path, &Spec { verify: true, ..spec });
    for damage in [0, 1] {
        let mut place = place.clone();
        place[3] ^= damage;
        let mut request =
            Request::new(&session).hash(0, text.len()).aad(&mut iv).digest(&mut place);
        let outcome = request.run(&session, &memory, &memory).unwrap();
        assert_eq!((outcome.status, outcome.verified), (CPA_STATUS_SUCCESS, damage == 0));
    }
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    place
}

/// TS 35.203 (UEA1), the implementors' test data of UEA2 and EEA3: the bytes of them that are whole.
#[test]
fn ciphers() {
    let instance = instance();
    let plain = "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0";
    for (algorithm, key, iv, plain, sealed, len) in [
        (
            CPA_CY_SYM_CIPHER_KASUMI_F8,
            "5acb1d644c0d51204ea5f1451010d852",
            "fa556b261c000000",
            "ad9c441f890b38c457a49d421407e8",
            "9bc92ca803c67b28a11a4bee5a0c25",
            15,
        ),
        (
            CPA_CY_SYM_CIPHER_SNOW3G_UEA2,
            "d3c5d592327fb11c4035c6680af8c6d1",
            "398a59b4ac000000398a59b4ac000000",
            plain,
            "5d5bfe75eb04f68ce0a12377ea00b37d47c6a0ba06309155086a859c4341b378",
            31,
        ),
        (
            CPA_CY_SYM_CIPHER_ZUC_EEA3,
            "173d14ba5003731d7a60049470f00a29",
            "66035492780000006603549278000000",
            "6cf65340735552ab0c9752fa6f9025fe0bd675d9005875b200",
            "a6c85fc66afb8533aafc2518dfe784940ee1e4b030238cc800",
            24,
        ),
    ] {
        for path in PATHS {
            let (plain, sealed) = (&hex(plain)[..len], &hex(sealed)[..len]);
            let done = cipher(instance, path, algorithm, &hex(key), &hex(iv), plain);
            assert_eq!(done, sealed, "{algorithm:?}");
        }
    }
}

/// TS 35.203 (UIA1), with what the interface wants around its message: COUNT and FRESH before it, DIRECTION, a 1
/// and zeros behind its 189 bits. The implementors' test data of UIA2.
#[test]
fn macs() {
    let instance = instance();
    let f9 = "38a6f05605d2ec49 6b227737296f393c8079353edc87e2e805d2ec49a4f2d8e2";
    for path in PATHS {
        let key = hex("2bd6459f82c5b300952c49104881ff48");
        let tag = mac(instance, path, CPA_CY_SYM_HASH_KASUMI_F9, &key, &[], &hex(f9));
        assert_eq!(tag, hex("f63bd72c"));
        let tag = mac(
            instance,
            path,
            CPA_CY_SYM_HASH_SNOW3G_UIA2,
            &hex("c736c6aab22bfff91e2698d2e22ad57e"),
            &hex("14793e410397e8fd94793e41039768fd"),
            &hex("d0a7d463df9fb2b278833fa02e235aa172bd970c1473e12907fb648b6599aaa0
                  b24a038665422b20a499276a50427009"),
        );
        assert_eq!(tag, hex("38b554c0"));
    }
}

/// TS 35.221, annex A: 128-EIA3 from the key stream of ZUC, which EEA3 of zeros is.
fn eia3(instance: CpaInstanceHandle, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let bits = text.len() * 8;
    let zeros = vec![0; (bits.div_ceil(32) + 2) * 4];
    let stream = cipher(instance, Path::Waiting, CPA_CY_SYM_CIPHER_ZUC_EEA3, key, iv, &zeros);
    let word = |at: usize| {
        let bit = |i: usize| u32::from(stream[(at + i) / 8] >> (7 - (at + i) % 8) & 1);
        (0..32).fold(0, |word, i| word << 1 | bit(i))
    };
    let ones = (0..bits).filter(|i| text[i / 8] >> (7 - i % 8) & 1 == 1);
    let sum = ones.fold(0, |sum, i| sum ^ word(i)) ^ word(bits);
    (sum ^ word(stream.len() * 8 - 32)).to_be_bytes().to_vec()
}

#[test]
fn eia3_is_made_of_the_key_stream() {
    let (mut random, instance) = (Random(8), instance());
    // The test set of one bit 0 is that of no bit: its first word XOR its second.
    for len in [1, 4, 31, 64, 201] {
        let (key, iv, text) = (random.bytes(16), random.bytes(16), random.bytes(len));
        for path in PATHS {
            let tag = mac(instance, path, CPA_CY_SYM_HASH_ZUC_EIA3, &key, &iv, &text);
            assert_eq!(tag, eia3(instance, &key, &iv, &text), "{len}");
        }
    }
}

/// Each cipher with each MAC, in both orders: what each makes alone, one after the other.
#[test]
fn chains() {
    let (mut random, instance) = (Random(9), instance());
    let ciphers = [
        (CPA_CY_SYM_CIPHER_SNOW3G_UEA2, 16),
        (CPA_CY_SYM_CIPHER_ZUC_EEA3, 16),
        (CPA_CY_SYM_CIPHER_AES_CTR, 16),
        (CPA_CY_SYM_CIPHER_AES_CBC, 16),
        (CPA_CY_SYM_CIPHER_NULL, 0),
    ];
    let macs = [CPA_CY_SYM_HASH_SNOW3G_UIA2, CPA_CY_SYM_HASH_ZUC_EIA3, CPA_CY_SYM_HASH_AES_CMAC];
    for n in 0..60 {
        let (cipher_algorithm, iv_len) = ciphers[n % 5];
        let hash = macs[n / 5 % 3];
        let (cipher_first, appended) = (n % 2 == 0, n / 2 % 2 == 0);
        let (mut iv, mut mac_iv) = (random.bytes(iv_len), random.bytes(16));
        let key_len = if iv_len == 0 { 0 } else { 16 };
        let (key, hash_key) = (random.bytes(key_len), random.bytes(16));
        let (head, len) = (random.below(9), 16 * (1 + random.below(6)));
        let text = random.bytes(head + len + 4);
        // MAC over the head too.
        let aad_len = if hash == CPA_CY_SYM_HASH_AES_CMAC { 0 } else { 16 };
        let aad = &mac_iv.clone()[..aad_len];
        let alone =
            |text: &[u8]| cipher(instance, Path::Waiting, cipher_algorithm, &key, &iv, text);
        let sealed = alone(&text[head..head + len]);
        let whole = [&text[..head], &sealed].concat();
        let hashed = if cipher_first { &whole } else { &text[..head + len] };
        let tag = mac(instance, Path::Waiting, hash, &hash_key, aad, hashed);
        let spec = Spec {
            appended,
            aad_len: aad_len as u32,
            ..Spec::chain(
                &Spec::cipher(cipher_algorithm, &key, true),
                &Spec::hash(hash, CPA_CY_SYM_HASH_MODE_AUTH, &hash_key, 4),
                cipher_first,
            )
        };
        for path in PATHS {
            for cuts in [&[][..], &[head + 3, head + 11]] {
                let memory = Memory::new(&text, cuts, 2);
                let apart = Memory::new(&random.bytes(text.len()), &[], 0);
                let dst = if cuts.is_empty() { &memory } else { &apart };
                let mut place = vec![0; 4];
                let session = Session::new(instance, path, &spec);
                let mut request = Request::new(&session)
                    .cipher(head, len)
                    .hash(0, head + len)
                    .iv(&mut iv, iv_len)
                    .aad(&mut mac_iv)
                    .digest(&mut place);
                let right = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
                assert_eq!(request.run(&session, &memory, dst), Ok(right), "{n}");
                assert_eq!(dst.bytes()[..head + len], whole, "{n}");
                let found = if appended { &dst.bytes()[head + len..] } else { &place[..] };
                assert_eq!(found, tag, "{n} {path:?}");
                assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
                // And back.
                let opens = Spec {
                    encrypt: false,
                    verify: true,
                    cipher_first: !cipher_first,
                    ..spec.clone()
                };
                let session = Session::new(instance, path, &opens);
                for damage in [0, 0x80] {
                    let mut bytes = [&whole[..], &tag].concat();
                    let mut place = tag.clone();
                    bytes[head + len] ^= damage;
                    place[0] ^= damage;
                    let memory = Memory::new(&bytes, cuts, 0);
                    let mut request = Request::new(&session)
                        .cipher(head, len)
                        .hash(0, head + len)
                        .iv(&mut iv, iv_len)
                        .aad(&mut mac_iv)
                        .digest(&mut place);
                    let outcome = request.run(&session, &memory, &memory).unwrap();
                    assert_eq!(outcome.status, CPA_STATUS_SUCCESS);
                    assert_eq!(outcome.verified, damage == 0, "{n}");
                    if damage == 0 {
                        assert_eq!(memory.bytes()[..head + len], text[..head + len], "{n}");
                    }
                }
                assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
            }
        }
    }
}

/// F8 and F9 of KASUMI: what is hashed has its padding in the clear.
#[test]
fn kasumi_chain() {
    let (mut random, instance) = (Random(10), instance());
    let (key, hash_key, mut iv) = (random.bytes(16), random.bytes(16), random.bytes(8));
    for len in [1, 7, 8, 40] {
        let mut text = random.bytes(8 + len);
        text.push(0x40);
        text.resize(text.len().next_multiple_of(8), 0);
        let hashed = text.len();
        let sealed = cipher(
            instance,
            Path::Waiting,
            CPA_CY_SYM_CIPHER_KASUMI_F8,
            &key,
            &iv,
            &text[8..8 + len],
        );
        let mut expected = text.clone();
        expected[8..8 + len].copy_from_slice(&sealed);
        let tag =
            mac(instance, Path::Waiting, CPA_CY_SYM_HASH_KASUMI_F9, &hash_key, &[], &expected);
        let spec = Spec::chain(
            &Spec::cipher(CPA_CY_SYM_CIPHER_KASUMI_F8, &key, true),
            &Spec::hash(CPA_CY_SYM_HASH_KASUMI_F9, CPA_CY_SYM_HASH_MODE_AUTH, &hash_key, 4),
            true,
        );
        for path in PATHS {
            let session = Session::new(instance, path, &spec);
            let (memory, mut place) = (Memory::new(&text, &[], 0), vec![0; 4]);
            let mut request = Request::new(&session)
                .cipher(8, len)
                .hash(0, hashed)
                .iv(&mut iv, 8)
                .digest(&mut place);
            let right = Outcome { status: CPA_STATUS_SUCCESS, verified: true };
            assert_eq!(request.run(&session, &memory, &memory), Ok(right));
            assert_eq!((memory.bytes(), place), (expected.clone(), tag.clone()), "{len}");
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        }
    }
}
