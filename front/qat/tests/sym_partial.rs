//! Partial packets: every text cut at every place is the whole text.
#![allow(unsafe_code)]

use lookaside_qat::abi::*;

mod sym_common;
use sym_common::*;

const PATHS: [Path; 2] = [Path::Callback, Path::Waiting];
const RIGHT: Outcome = Outcome { status: CPA_STATUS_SUCCESS, verified: true };

/// A text in pieces of these lengths, the same for cipher and hash: what comes out, and the digest.
fn pieces(
    session: &Session,
    spec: &Spec,
    (iv, iv_len): (&[u8], usize),
    aad: &[u8],
    text: &[u8],
    lengths: &[usize],
    expected: Option<&[u8]>,
) -> (Vec<u8>, Vec<u8>, Outcome) {
    let (mut iv, mut aad) = (iv.to_vec(), aad.to_vec());
    let tag_len = spec.digest_len as usize;
    let mut place = expected.map_or(vec![0; tag_len], <[u8]>::to_vec);
    let (mut out, mut at, mut outcome) = (Vec::new(), 0, RIGHT);
    for (i, &len) in lengths.iter().enumerate() {
        let last = i + 1 == lengths.len();
        let kind = match last {
            true => CPA_CY_SYM_PACKET_TYPE_LAST_PARTIAL,
            false => CPA_CY_SYM_PACKET_TYPE_PARTIAL,
        };
        let mut bytes = vec![0xee; 3];
        bytes.extend_from_slice(&text[at..at + len]);
        at += len;
        let memory = Memory::new(&bytes, &[3 + len / 2], 1);
        let mut request = Request::new(session)
            .cipher(3, len)
            .hash(3, len)
            .iv(&mut iv, iv_len)
            .aad(&mut aad)
            .packet(kind);
        if last {
            request = request.digest(&mut place);
        }
        outcome = request.run(session, &memory, &memory).unwrap();
        let found = memory.bytes();
        assert_eq!(found[..3], [0xee; 3]);
        out.extend_from_slice(&found[3..]);
        if !last {
            assert_eq!(outcome, RIGHT);
        }
    }
    (out, place, outcome)
}

/// All at once.
fn whole(
    instance: CpaInstanceHandle,
    spec: &Spec,
    (iv, iv_len): (&[u8], usize),
    aad: &[u8],
    text: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let session = Session::new(instance, Path::Waiting, spec);
    let memory = Memory::new(text, &[], 0);
    let (mut iv, mut aad) = (iv.to_vec(), aad.to_vec());
    let mut place = vec![0; spec.digest_len as usize];
    let mut request = Request::new(&session)
        .cipher(0, text.len())
        .hash(0, text.len())
        .iv(&mut iv, iv_len)
        .aad(&mut aad)
        .digest(&mut place);
    assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
    (memory.bytes(), place)
}

/// The specification, the IV's length, and the block that pieces have.
fn specs(random: &mut Random) -> Vec<(Spec, usize, usize)> {
    let auth = CPA_CY_SYM_HASH_MODE_AUTH;
    let plain = CPA_CY_SYM_HASH_MODE_PLAIN;
    let mut key = |n| random.bytes(n);
    let cbc = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &key(16), true);
    let hmac = Spec::hash(CPA_CY_SYM_HASH_SHA256, auth, &key(32), 32);
    let gcm = |key: &[u8], encrypt| Spec::cipher(CPA_CY_SYM_CIPHER_AES_GCM, key, encrypt);
    let gcm_tag = Spec { aad_len: 20, ..Spec::hash(CPA_CY_SYM_HASH_AES_GCM, auth, &[], 16) };
    let poly = Spec { aad_len: 20, ..Spec::hash(CPA_CY_SYM_HASH_POLY, auth, &[], 16) };
    let chacha = Spec::cipher(CPA_CY_SYM_CIPHER_CHACHA, &key(32), true);
    let gmac = Spec::hash(CPA_CY_SYM_HASH_AES_GMAC, auth, &[], 16);
    let uia2 = Spec { aad_len: 16, ..Spec::hash(CPA_CY_SYM_HASH_SNOW3G_UIA2, auth, &key(16), 4) };
    vec![
        (Spec::cipher(CPA_CY_SYM_CIPHER_NULL, &[], true), 0, 1),
        (Spec::cipher(CPA_CY_SYM_CIPHER_ARC4, &key(16), true), 0, 1),
        (Spec::cipher(CPA_CY_SYM_CIPHER_AES_ECB, &key(16), true), 0, 16),
        (cbc.clone(), 16, 16),
        (Spec { encrypt: false, ..cbc.clone() }, 16, 16),
        (Spec::cipher(CPA_CY_SYM_CIPHER_AES_CTR, &key(16), true), 16, 1),
        (Spec::cipher(CPA_CY_SYM_CIPHER_3DES_CBC, &key(24), false), 8, 8),
        (Spec::cipher(CPA_CY_SYM_CIPHER_3DES_CTR, &key(24), true), 8, 1),
        (Spec::cipher(CPA_CY_SYM_CIPHER_SM4_CBC, &key(16), true), 16, 16),
        (Spec::cipher(CPA_CY_SYM_CIPHER_SNOW3G_UEA2, &key(16), true), 16, 1),
        (Spec::cipher(CPA_CY_SYM_CIPHER_ZUC_EEA3, &key(16), true), 16, 1),
        (Spec::hash(CPA_CY_SYM_HASH_SHA1, plain, &[], 20), 0, 1),
        (Spec::hash(CPA_CY_SYM_HASH_SHA512, plain, &[], 64), 0, 1),
        (Spec::hash(CPA_CY_SYM_HASH_SHA3_256, plain, &[], 32), 0, 1),
        (Spec::hash(CPA_CY_SYM_HASH_SM3, auth, &key(9), 32), 0, 1),
        (hmac.clone(), 0, 1),
        (Spec::hash(CPA_CY_SYM_HASH_AES_CMAC, auth, &key(16), 16), 0, 1),
        (Spec::hash(CPA_CY_SYM_HASH_AES_XCBC, auth, &key(16), 12), 0, 1),
        (uia2.clone(), 0, 1),
        (Spec::chain(&cbc, &hmac, true), 16, 16),
        (Spec::chain(&cbc, &hmac, false), 16, 16),
        (Spec::chain(&Spec { encrypt: false, ..cbc.clone() }, &hmac, true), 16, 16),
        (
            Spec::chain(&Spec::cipher(CPA_CY_SYM_CIPHER_ZUC_EEA3, &key(16), true), &uia2, true),
            16,
            1,
        ),
        (Spec::chain(&gcm(&key(16), true), &gcm_tag, true), 12, 1),
        (Spec::chain(&gcm(&key(32), true), &gmac, true), 12, 1),
        (Spec::chain(&chacha, &poly, true), 12, 1),
    ]
}

#[test]
fn cut_at_every_place() {
    let (mut random, instance) = (Random(11), instance());
    for (spec, iv_len, block) in specs(&mut random) {
        let (iv, aad) = (random.bytes(16), random.bytes(20));
        let len = 80;
        let text = random.bytes(len);
        let (expected, tag) = whole(instance, &spec, (&iv, iv_len), &aad, &text);
        for path in PATHS {
            let session = Session::new(instance, path, &spec);
            let what = format!("{:?} {:?} {:?} {path:?}", spec.op, spec.cipher, spec.hash);
            for cut in (0..=len).step_by(block) {
                let second = (len - cut) / 2 / block * block;
                for lengths in [vec![cut, len - cut], vec![cut, second, len - cut - second]] {
                    let iv = (&iv[..], iv_len);
                    let found = pieces(&session, &spec, iv, &aad, &text, &lengths, None);
                    assert_eq!(found.0, expected, "{what} {lengths:?}");
                    assert_eq!((&found.1, found.2), (&tag, RIGHT), "{what} {lengths:?}");
                }
            }
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        }
    }
}

#[test]
fn digests_are_verified_with_the_last_piece() {
    let (mut random, instance) = (Random(12), instance());
    for (spec, iv_len, _) in specs(&mut random).into_iter().filter(|s| s.0.digest_len > 0) {
        let (iv, aad, text) = (random.bytes(16), random.bytes(20), random.bytes(80));
        let (sealed, tag) = whole(instance, &spec, (&iv, iv_len), &aad, &text);
        if !spec.encrypt {
            continue;
        }
        let opens =
            Spec { encrypt: false, cipher_first: !spec.cipher_first, verify: true, ..spec.clone() };
        let session = Session::new(instance, Path::Callback, &opens);
        for damage in [0, 4] {
            let mut place = tag.clone();
            place[1] ^= damage;
            let found =
                pieces(&session, &spec, (&iv, iv_len), &aad, &sealed, &[32, 32, 16], Some(&place));
            assert_eq!(found.2.verified, damage == 0, "{:?} {:?}", spec.cipher, spec.hash);
            if damage == 0 {
                assert_eq!(found.0, text, "{:?} {:?}", spec.cipher, spec.hash);
            }
        }
    }
}

/// `pIv` is the IV with which the rest is a text of its own.
#[test]
fn the_iv_is_updated() {
    let (mut random, instance) = (Random(13), instance());
    for (algorithm, key_len, iv_len, decrypts) in [
        (CPA_CY_SYM_CIPHER_AES_CBC, 16, 16, false),
        (CPA_CY_SYM_CIPHER_AES_CBC, 32, 16, true),
        (CPA_CY_SYM_CIPHER_AES_CTR, 16, 16, false),
        (CPA_CY_SYM_CIPHER_3DES_CBC, 24, 8, false),
        (CPA_CY_SYM_CIPHER_3DES_CBC, 24, 8, true),
        (CPA_CY_SYM_CIPHER_3DES_CTR, 24, 8, false),
    ] {
        let spec = Spec::cipher(algorithm, &random.bytes(key_len), !decrypts);
        let (mut iv, text) = (vec![0xff; iv_len], random.bytes(64));
        iv[0] = 1;
        let (expected, _) = whole(instance, &spec, (&iv, iv_len), &[], &text);
        let session = Session::new(instance, Path::Callback, &spec);
        let memory = Memory::new(&text[..32], &[], 0);
        let mut request = Request::new(&session)
            .cipher(0, 32)
            .iv(&mut iv, iv_len)
            .packet(CPA_CY_SYM_PACKET_TYPE_PARTIAL);
        assert_eq!(request.run(&session, &memory, &memory), Ok(RIGHT));
        assert_eq!(memory.bytes(), expected[..32]);
        let (rest, _) = whole(instance, &spec, (&iv, iv_len), &[], &text[32..]);
        assert_eq!(rest, expected[32..], "{algorithm:?}");
    }
}

#[test]
fn one_piece_at_a_time() {
    let (mut random, instance) = (Random(14), instance());
    let spec = Spec::hash(CPA_CY_SYM_HASH_SHA256, CPA_CY_SYM_HASH_MODE_PLAIN, &[], 32);
    let session = Session::new(instance, Path::Callback, &spec);
    let memory = Memory::new(&random.bytes(64), &[], 0);
    let mut place = vec![0; 32];
    let request = || Request::new(&session).hash(0, 64).packet(CPA_CY_SYM_PACKET_TYPE_PARTIAL);
    let mut first = request();
    assert_eq!(first.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
    assert_eq!(request().submit(&session, &memory, &memory), CPA_STATUS_RETRY);
    // Whole packets go their own way meanwhile.
    let mut full = Request::new(&session).hash(0, 64).digest(&mut place);
    assert_eq!(full.run(&session, &memory, &memory), Ok(RIGHT));
    assert_eq!(place, oracle::digest("SHA256", &memory.bytes()));
    first.wait(&session);
    assert_eq!(first.tag.outcome, Some(RIGHT));
    let mut last = request().packet(CPA_CY_SYM_PACKET_TYPE_LAST_PARTIAL).digest(&mut place);
    assert_eq!(last.run(&session, &memory, &memory), Ok(RIGHT));
    let twice = [memory.bytes(), memory.bytes()].concat();
    assert_eq!(place, oracle::digest("SHA256", &twice));
}

#[test]
fn what_has_no_pieces_is_refused() {
    let (mut random, instance) = (Random(15), instance());
    let auth = CPA_CY_SYM_HASH_MODE_AUTH;
    let ccm = Spec::chain(
        &Spec::cipher(CPA_CY_SYM_CIPHER_AES_CCM, &random.bytes(16), true),
        &Spec::hash(CPA_CY_SYM_HASH_AES_CCM, auth, &[], 16),
        true,
    );
    let xts = Spec::cipher(CPA_CY_SYM_CIPHER_AES_XTS, &random.bytes(32), true);
    let f9 = Spec::hash(CPA_CY_SYM_HASH_KASUMI_F9, auth, &random.bytes(16), 4);
    let cbc = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &random.bytes(16), true);
    for (spec, len, iv_len) in [(ccm, 32, 12), (xts, 32, 16), (f9, 32, 0), (cbc.clone(), 31, 16)] {
        for path in PATHS {
            let session = Session::new(instance, path, &spec);
            let (memory, mut iv) = (Memory::new(&[0; 64], &[], 0), vec![0; 16]);
            let mut place = vec![0; 16];
            let mut request = Request::new(&session)
                .cipher(0, len)
                .hash(0, len)
                .iv(&mut iv, iv_len)
                .digest(&mut place)
                .packet(CPA_CY_SYM_PACKET_TYPE_PARTIAL);
            let refused = request.run(&session, &memory, &memory);
            assert_eq!(refused, Err(CPA_STATUS_INVALID_PARAM), "{:?}", spec.cipher);
            assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
        }
    }
    // A session that was set up without.
    let mut data = cbc.data();
    data.partialsNotRequired = CPA_TRUE;
    let session = Session::with_data(instance, &cbc, &data);
    let (memory, mut iv) = (Memory::new(&[0; 64], &[], 0), vec![0; 16]);
    let request = Request::new(&session).cipher(0, 16).iv(&mut iv, 16);
    let mut request = request.packet(CPA_CY_SYM_PACKET_TYPE_PARTIAL);
    let refused = request.run(&session, &memory, &memory);
    assert_eq!(refused, Err(CPA_STATUS_INVALID_PARAM));
}

#[test]
fn a_fork_in_the_middle_of_a_packet_ends_the_text_in_the_child() {
    let instance = instance();
    let spec = Spec::cipher(CPA_CY_SYM_CIPHER_AES_CBC, &[1; 16], true);
    let session = Session::new(instance, Path::Callback, &spec);
    let memory = Memory::new(&[7; 64], &[], 0);
    let mut iv = [2; 16];
    let mut request =
        Request::new(&session).cipher(0, 64).iv(&mut iv, 16).packet(CPA_CY_SYM_PACKET_TYPE_PARTIAL);
    assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
    assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_RETRY);
    // SAFETY: the child calls the library alone, and ends without cleaning up.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let lost = request.submit(&session, &memory, &memory);
            let begun = request.submit(&session, &memory, &memory);
            let busy = request.submit(&session, &memory, &memory);
            let right = [CPA_STATUS_FAIL, CPA_STATUS_SUCCESS, CPA_STATUS_RETRY];
            request.wait(&session);
            libc::_exit(i32::from([lost, begun, busy] != right));
        }
        let mut ended = -1;
        assert_eq!(libc::waitpid(child, &mut ended, 0), child);
        assert_eq!(ended, 0);
    }
    request.wait(&session);
    request.tag = Tag::default();
    assert_eq!(request.submit(&session, &memory, &memory), CPA_STATUS_SUCCESS);
    request.wait(&session);
}
