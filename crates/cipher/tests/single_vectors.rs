//! Vectors of the standards, for what neither Wycheproof, NIST nor OpenSSL cover here: at every tier
//! that the CPU has, alone and among others in an engine.

mod single_common;

use lookaside_cipher::{Aead, Auth, Cipher, Direction, Hash, Parts};
use single_common::*;

fn tag(auth: Auth, key: &str, iv: &str, text: &[u8], expected: &str) {
    let expected = hex(expected);
    for prepared in prepare_all(&auth_spec(auth, &hex(key), expected.len())).unwrap() {
        assert_eq!(prepared.tag(&hex(iv), text), Ok(expected.clone()), "{auth:?}");
        assert_eq!(prepared.compare(&hex(iv), text, &expected), Ok(expected.len()));
    }
}

#[test]
fn xcbc_of_rfc_3566() {
    let key = "000102030405060708090a0b0c0d0e0f";
    let text: Vec<u8> = (0..34).collect();
    for (text, expected) in [
        (&text[..0], "75f0251d528ac01c4573dfd584d79f29"),
        (&text[..3], "5b376580ae2f19afe7219ceef172756f"),
        (&text[..16], "d2a246fa349b68a79998a4394ff7a263"),
        (&text[..20], "47f51b4564966215b8985c63055ed308"),
        (&text[..32], "f54f0ec8d2b9f3d36807734bd5283fd4"),
        (&text[..34], "becbb3bccdb518a30677d5481fb6b4d8"),
        (&[0; 1000], "f0dafee895db30253761103b5d84528f"),
    ] {
        tag(Auth::AesXcbc, key, "", text, expected);
        // AES-XCBC-MAC-96: intel-ipsec-mb's lanes make no longer tags.
        tag(Auth::AesXcbc, key, "", text, &expected[..24]);
    }
}

#[test]
fn cbc_mac_is_the_last_block_of_cbc() {
    let mut random = Random(41);
    for key_len in [16, 24, 32] {
        let key = random.bytes(key_len);
        for prepared in prepare_all(&auth_spec(Auth::AesCbcMac, &key, 16)).unwrap() {
            for blocks in [1, 2, 3, 32, 33, 100] {
                let text = random.bytes(16 * blocks);
                let name = format!("AES-{}-CBC", 8 * key_len);
                let sealed = openssl_cipher(&name, &key, &[0; 16], true, &text);
                assert_eq!(prepared.tag(&[], &text).unwrap(), sealed[16 * blocks - 16..]);
            }
        }
    }
}

/// Of texts longer than NIST's and Wycheproof's: intel-ipsec-mb's lanes take 80 bytes and more.
#[test]
fn cmac_is_made_of_cbc() {
    let mut random = Random(42);
    for key_len in [16, 24, 32] {
        let key = random.bytes(key_len);
        let name = format!("AES-{}-CBC", 8 * key_len);
        // SP 800-38B section 6.1.
        let zero = openssl_cipher(&name, &key, &[0; 16], true, &[0; 16]);
        let double = |block: u128| (block << 1) ^ if block >> 127 == 1 { 0x87 } else { 0 };
        let whole = double(u128::from_be_bytes(zero.try_into().unwrap()));
        let tiers = prepare_all(&auth_spec(Auth::AesCmac, &key, 16)).unwrap();
        for len in (60..100).chain([127, 128, 129, 255, 256, 257, 1000, 4096]) {
            let text = random.bytes(len);
            let (mut padded, mut mask) = (text.clone(), whole);
            if !len.is_multiple_of(16) {
                mask = double(whole);
                padded.push(0x80);
                padded.resize(len.next_multiple_of(16), 0);
            }
            let last = padded.len() - 16;
            for (byte, mask) in padded[last..].iter_mut().zip(mask.to_be_bytes()) {
                *byte ^= mask;
            }
            let sealed = openssl_cipher(&name, &key, &[0; 16], true, &padded);
            for prepared in &tiers {
                assert_eq!(prepared.tag(&[], &text).as_deref(), Ok(&sealed[last..]), "{len}");
            }
        }
    }
}

#[test]
fn poly1305_of_rfc_8439() {
    let key = "85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b";
    let text = b"Cryptographic Forum Research Group";
    tag(Auth::Poly1305, key, "", text, "a8061dc1305136c6c22b8baf0c0127a9");
}

#[test]
fn checksums() {
    tag(Auth::Crc32, "", "", b"123456789", "cbf43926");
    tag(Auth::Crc64, "", "", b"123456789", "995dc9bbdf1939fa");
}

#[test]
fn hmac_of_rfc_2202_and_4231() {
    let text = b"what do ya want for nothing?";
    let key = "4a656665";
    tag(Auth::Hmac(Hash::Md5), key, "", text, "750c783e6ab0b503eaa86e310a5db738");
    tag(Auth::Hmac(Hash::Sha1), key, "", text, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    let sha256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    tag(Auth::Hmac(Hash::Sha256), key, "", text, sha256);
    // Cut to 128 bits: RFC 4231 test case 5.
    let key = "0c".repeat(20);
    let cut = "a3b6167473100ee06e0c796c2955552b";
    tag(Auth::Hmac(Hash::Sha256), &key, "", b"Test With Truncation", cut);
}

/// Test sets of 3GPP TS 35.203 (UEA1, UIA1), of the UEA2 and UIA2 and of the EEA3 and EIA3
/// implementors' test data; lengths in bits.
#[test]
fn mobile_ciphers() {
    let plain = "981ba6824c1bfb1ab485472029b71d808ce33e2cc3c0b5fc1f3de8a6dc66b1f0";
    for (cipher, key, iv, plain, sealed, bits) in [
        (
            Cipher::KasumiF8,
            "5acb1d644c0d51204ea5f1451010d852",
            "fa556b261c000000",
            "ad9c441f890b38c457a49d421407e8",
            "9bc92ca803c67b28a11a4bee5a0c25",
            120,
        ),
        (
            Cipher::Snow3gUea2,
            "d3c5d592327fb11c4035c6680af8c6d1",
            "398a59b4ac000000398a59b4ac000000",
            plain,
            "5d5bfe75eb04f68ce0a12377ea00b37d47c6a0ba06309155086a859c4341b378",
            253,
        ),
        (
            Cipher::ZucEea3,
            "173d14ba5003731d7a60049470f00a29",
            "66035492780000006603549278000000",
            "6cf65340735552ab0c9752fa6f9025fe0bd675d9005875b200",
            "a6c85fc66afb8533aafc2518dfe784940ee1e4b030238cc800",
            193,
        ),
    ] {
        for prepared in prepare_all(&cipher_spec(cipher, &hex(key))).unwrap() {
            // The bytes that are whole: some lanes take no bits.
            let (plain_bytes, sealed_bytes) = (&hex(plain)[..bits / 8], &hex(sealed)[..bits / 8]);
            let done = prepared.cipher(Direction::Seal, &hex(iv), plain_bytes);
            assert_eq!(done.as_deref(), Ok(sealed_bytes), "{cipher:?}");
            let done = prepared.cipher(Direction::Open, &hex(iv), sealed_bytes);
            assert_eq!(done.as_deref(), Ok(plain_bytes), "{cipher:?}");
            let (iv, mut bytes) = (&hex(iv)[..], hex(plain));
            let spare_bits = (8 * bytes.len() - bits) as u8;
            let parts = Parts { cipher: span(0, bytes.len()), spare_bits, ..Parts::default() };
            for (direction, expected) in [(Direction::Seal, sealed), (Direction::Open, plain)] {
                let before = vec![0xee; bytes.len()];
                let sample = Sample { direction, iv, parts, src: &bytes, dst: Some(&before) };
                let apart = prepared.check(&sample);
                let in_place = prepared.check(&Sample { dst: None, ..sample });
                let mut expected = hex(expected);
                // Bits that do not count stay the source's.
                let (last, kept) = (expected.len() - 1, (1 << spare_bits) - 1);
                expected[last] = (expected[last] & !kept) | (hex(plain)[last] & kept);
                assert_eq!(in_place, (Ok(bytes.len()), expected), "{cipher:?} {direction:?}");
                assert_eq!(apart, in_place, "{cipher:?} {direction:?}");
                bytes = in_place.1;
            }
        }
    }
}

#[test]
fn mobile_macs() {
    let text = "6b227737296f393c8079353edc87e2e805d2ec49a4f2d8e0";
    for (auth, key, iv, text, bits, expected) in [
        (
            Auth::KasumiF9,
            "2bd6459f82c5b300952c49104881ff48",
            "38a6f05605d2ec4900",
            text,
            189,
            "f63bd72c",
        ),
        (
            Auth::Snow3gUia2,
            "2bd6459f82c5b300952c49104881ff48",
            "38a6f05605d2ec4938a6f05605d2ec49",
            text,
            189,
            "2bce1820",
        ),
        // Whole bytes: the lanes of UIA2 take no bits.
        (
            Auth::Snow3gUia2,
            "c736c6aab22bfff91e2698d2e22ad57e",
            "14793e410397e8fd94793e41039768fd",
            "d0a7d463df9fb2b278833fa02e235aa172bd970c1473e12907fb648b6599aaa0
            b24a038665422b20a499276a50427009",
            384,
            "38b554c0",
        ),
        (
            Auth::ZucEia3,
            "00000000000000000000000000000000",
            "00000000000000000000000000000000",
            "00",
            1,
            "c8a9595e",
        ),
    ] {
        for prepared in prepare_all(&auth_spec(auth, &hex(key), 4)).unwrap() {
            let tag = prepared.tag_of_bits(&hex(iv), &hex(text), bits);
            assert_eq!(tag, Ok(hex(expected)), "{auth:?}");
        }
    }
}

#[test]
fn gcm_of_the_specification() {
    // McGrew and Viega, test case 4.
    let key = hex("feffe9928665731c6d6a8f9467308308");
    let text = hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    );
    let sealed = hex(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47",
    );
    let aad = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    let iv = hex("cafebabefacedbaddecaf888");
    for prepared in prepare_all(&aead_spec(Aead::AesGcm, &key, 16)).unwrap() {
        assert_eq!(prepared.aead(Direction::Seal, &iv, &aad, &text, &[]).unwrap(), sealed);
    }
}

#[test]
fn ccm_of_sp_800_38c() {
    // Example 1.
    let key = hex("404142434445464748494a4b4c4d4e4f");
    let (iv, aad) = (hex("10111213141516"), hex("0001020304050607"));
    for prepared in prepare_all(&aead_spec(Aead::AesCcm, &key, 4)).unwrap() {
        let sealed = prepared.aead(Direction::Seal, &iv, &aad, &hex("20212223"), &[]);
        assert_eq!(sealed.unwrap(), hex("7162015b4dac255d"));
    }
    // Example 4: 65,536 bytes of associated data.
    let (iv, aad) = (hex("101112131415161718191a1b1c"), (0..1 << 16).map(|i| i as u8));
    let (aad, text) = (aad.collect::<Vec<u8>>(), (0x20..0x40).collect::<Vec<u8>>());
    for prepared in prepare_all(&aead_spec(Aead::AesCcm, &key, 14)).unwrap() {
        let sealed = prepared.aead(Direction::Seal, &iv, &aad, &text, &[]);
        let expected = "69915dad1e84c6376a68c2967e4dab615ae0fd1faec44cc484828529463ccf72
            b4ac6bec93e8598e7f0dadbcea5b";
        assert_eq!(sealed.unwrap(), hex(expected));
    }
}

#[test]
fn aes_ctr_of_sp_800_38a() {
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
    let iv = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    let text = hex("6bc1bee22e409f96e93d7e117393172a");
    for prepared in prepare_all(&cipher_spec(Cipher::AesCtr, &key)).unwrap() {
        let sealed = prepared.cipher(Direction::Seal, &iv, &text).unwrap();
        assert_eq!(sealed, hex("874d6191b620e3261bef6864990db6ce"));
    }
}
