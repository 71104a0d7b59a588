//! Diffie-Hellman: named primes and secrets against OpenSSL and AWS-LC.

mod openssl;

use lookaside_pke::dh::{Group, Name, derive, generate, public};
use lookaside_pke::{Engine, Item, OpError};
use lookaside_simd::Cpu;
use openssl::{Number, modular};
use openssl_sys as ssl;

unsafe extern "C" {
    fn DH_new_by_nid(nid: i32) -> *mut ssl::DH;
}

type Function = fn(&mut Engine, &mut [Item<'_, &Group>]);

fn run(function: Function, group: &Group, src: &[u8]) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; 2 * group.len() + 1];
    let mut items = [Item::new(src, &mut dst).with(group)];
    function(&mut Engine::new(Cpu::host()), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn agrees(group: &Group, p: &[u8], g: &[u8]) {
    let k = p.len();
    let pairs = [0, 1].map(|_| run(generate, group, &[]).unwrap());
    assert!(pairs[0] != pairs[1]);
    let [one, two] = pairs.each_ref().map(|pair| pair.split_at(group.private_len()));
    assert_eq!((one.0.len(), one.1.len()), (group.private_len(), k));
    assert!(modular(ssl::BN_mod_exp, g, one.0, p) == one.1);
    assert!(run(public, group, two.0).unwrap() == two.1);
    let secret = run(derive, group, &[one.0, two.1].concat()).unwrap();
    assert!(secret == run(derive, group, &[two.0, one.1].concat()).unwrap());
    assert!(secret == modular(ssl::BN_mod_exp, two.1, one.0, p));

    // 0, 1, p - 1, p and what is above.
    let small = |last| [&vec![0; k - 1][..], &[last]].concat();
    let less = |last: u8| [&p[..k - 1], &[p[k - 1] - last]].concat();
    for bad in [small(0), small(1), less(1), less(0), vec![0xff; k]] {
        let result = run(derive, group, &[one.0, &bad].concat());
        assert!(matches!(result, Err(OpError::BadInput(_))), "{result:?}");
    }
    let result = run(derive, group, &[&vec![0; one.0.len()], two.1].concat());
    assert!(matches!(result, Err(OpError::BadInput(_))), "a private key of 0: {result:?}");
    assert!(matches!(run(derive, group, &two.1[1..]), Err(OpError::BadInput(_))));
    assert!(matches!(run(public, group, &vec![1; k + 1]), Err(OpError::BadInput(_))));
    assert!(matches!(run(generate, group, &[1]), Err(OpError::BadInput(_))));
    let mut dst = vec![0; k - 1];
    let src = [one.0, two.1].concat();
    for (function, src) in
        [(derive as Function, &src[..]), (public as Function, one.0), (generate as Function, &[])]
    {
        let mut items = [Item::new(src, &mut dst).with(group)];
        function(&mut Engine::new(Cpu::host()), &mut items);
        assert_eq!(items[0].result, Err(OpError::DstTooSmall));
    }
}

#[test]
fn named_primes_are_openssls() {
    for name in Name::ALL {
        let nid = match name {
            Name::Ffdhe2048 => 1126,
            Name::Ffdhe3072 => 1127,
            Name::Ffdhe4096 => 1128,
            Name::Ffdhe6144 => 1129,
            Name::Ffdhe8192 => 1130,
            Name::Modp1536 => 1212,
            Name::Modp2048 => 1213,
            Name::Modp3072 => 1214,
            Name::Modp4096 => 1215,
            Name::Modp6144 => 1216,
            Name::Modp8192 => 1217,
            Name::Modp768 | Name::Modp1024 => {
                // SAFETY: null asks for a new number.
                let wanted = Number(unsafe {
                    match name {
                        Name::Modp768 => ssl::BN_get_rfc2409_prime_768(std::ptr::null_mut()),
                        _ => ssl::BN_get_rfc2409_prime_1024(std::ptr::null_mut()),
                    }
                });
                assert!(name.prime() == wanted.stripped(), "{name:?}");
                continue;
            }
        };
        // SAFETY: the number belongs to the group, which lives for as long as it is read.
        let wanted = unsafe {
            let group = DH_new_by_nid(nid);
            assert!(!group.is_null(), "{name:?}");
            let (mut p, mut q, mut g) = Default::default();
            let [p, q, g]: [&mut *const ssl::BIGNUM; 3] = [&mut p, &mut q, &mut g];
            ssl::DH_get0_pqg(group, p, q, g);
            let wanted = Number(ssl::BN_dup(*p)).stripped();
            ssl::DH_free(group);
            wanted
        };
        assert!(name.prime() == wanted, "{name:?}");
    }
}

#[test]
fn named_groups_agree_with_openssl() {
    for name in [Name::Ffdhe2048, Name::Modp1536, Name::Modp3072, Name::Ffdhe8192] {
        let group = Group::named(name).unwrap();
        agrees(&group, &name.prime(), &[2]);
    }
    assert_eq!(Group::named(Name::Ffdhe2048).unwrap().private_len(), 29);
}

/// RFC 5114, 2.1: p of 1024 bits, q of 160.
const P: &str = "B10B8F96A080E01DDE92DE5EAE5D54EC52C99FBCFB06A3C69A6A9DCA52D23B616073E28675A23D189838EF1E2EE652C013ECB4AEA906112324975C3CD49B83BFACCBDD7D90C4BD7098488E9C219A73724EFFD6FAE5644738FAA31A4FF55BCCC0A151AF5F0DC8B4BD45BF37DF365C1A65E68CFDA76D4DA708DF1FB2BC2E4A4371";
const G: &str = "A4D1CBD5C3FD34126765A442EFB99905F8104DD258AC507FD6406CFF14266D31266FEA1E5C41564B777E690F5504F213160217B4B01B886A5E91547F9E2749F4D7FBD7D3B9A92EE1909D0D2263F80A76A6A24C087A091F531DBF0A0169B6A28AD662A4D18E73AFA32D779D5918D08BC8858F4DCEF97C2A24855E6EEB22B3B2E5";
const Q: &str = "F518AA8781A8DF278ABA4E7D64B7CB9D49462353";

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn groups_of_ones_own() {
    let (p, g, q) = (hex(P), hex(G), hex(Q));
    let with_order = Group::new(&p, &g, Some(&q)).unwrap();
    assert_eq!(with_order.private_len(), 20);
    agrees(&with_order, &p, &g);
    let without = Group::new(&p, &g, None).unwrap();
    assert_eq!(without.private_len(), 128);
    agrees(&without, &p, &g);

    // 2 is not of order q: a secret with it would tell something of the private key.
    let two = [&[0; 127][..], &[2]].concat();
    let src = [&[5; 20][..], &two].concat();
    assert!(matches!(run(derive, &with_order, &src), Err(OpError::BadInput(_))));
    assert!(run(derive, &without, &src).is_ok());

    // p = 2 q + 1, with the order given.
    let p = Name::Modp1024.prime();
    let mut q = p.clone();
    let mut carry = 0;
    q.iter_mut().for_each(|byte| (*byte, carry) = (*byte >> 1 | carry, *byte << 7));
    let safe = Group::new(&p, &[4], Some(&q)).unwrap();
    agrees(&safe, &p, &[4]);
}

#[test]
fn refuses_bad_groups() {
    let (p, g, q) = (hex(P), hex(G), hex(Q));
    let mut even = p.clone();
    even[127] ^= 1;
    let mut other = q.clone();
    other[19] ^= 2;
    let mut last = p.clone();
    last[127] -= 1;
    for (p, g, q) in [
        (&even[..], &g[..], None),
        (&p, &[0], None),
        (&p, &[1], None),
        (&p, &last, None),
        (&p, &p, None),
        (&p, &[1; 129], None),
        (&p[..63], &[2], None),
        (&[0xff; 1025], &[2], None),
        (&p, &g, Some(&other[..])),
        (&p, &[2], Some(&q)),
        (&p, &g, Some(&[1])),
        (&p, &g, Some(&[])),
    ] {
        assert!(matches!(Group::new(p, g, q), Err(OpError::BadInput(_))));
    }
}
