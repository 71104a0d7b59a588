//! Batches of every length give what their items give one by one, with the kernels and without.

mod openssl;

use lookaside_pke::dh::{Group, Name};
use lookaside_pke::dsa::{self, Domain};
use lookaside_pke::modular::{Modulus, power};
use lookaside_pke::rsa::{Crt, PrivateKey, PrivateParts, PublicKey, private, public};
use lookaside_pke::{Engine, Hash, Item, Nonce, OpError, RsaScheme, dh, random};
use lookaside_simd::{Cpu, Tier};
use openssl::Rsa;

fn tiers() -> [Cpu; 2] {
    [Cpu::with_cap(Tier::Generic), Cpu::with_cap(Tier::Avx512)]
}

fn drawn(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random::fill(&mut bytes).unwrap();
    bytes
}

type Answer = Result<Vec<u8>, OpError>;

/// Runs a batch of `count` items, and each alone without kernels; both have to agree.
fn agrees<K>(
    what: &str,
    sources: &[Vec<u8>],
    dst_len: usize,
    key: impl Fn(usize) -> K,
    run: impl Fn(&mut Engine, &mut [Item<'_, K>]),
) {
    let answer = |cpu: &Cpu, indexes: &[usize]| -> Vec<Answer> {
        let mut buffers = vec![vec![0xaa; dst_len]; indexes.len()];
        let mut items: Vec<Item<'_, K>> = indexes
            .iter()
            .zip(&mut buffers)
            .map(|(&index, dst)| Item::new(&sources[index], dst).with(key(index)))
            .collect();
        run(&mut Engine::new(cpu), &mut items);
        let results: Vec<_> = items.iter().map(|item| item.result).collect();
        let given = buffers.into_iter().zip(results);
        given.map(|(buffer, result)| result.map(|len| buffer[..len].to_vec())).collect()
    };
    let [generic, best] = tiers();
    let alone: Vec<Answer> =
        (0..sources.len()).map(|index| answer(&generic, &[index]).remove(0)).collect();
    assert!(alone.iter().any(|answer| answer.is_ok()), "{what}");
    for count in [0, 1, 2, 3, 5, 8, 9, sources.len()] {
        let indexes: Vec<usize> = (0..count).collect();
        let together = answer(&best, &indexes);
        assert!(together == alone[..count], "{what}, {count} side by side");
    }
}

#[test]
fn rsa_keys_mixed() {
    let rivals = [512, 1024, 1024, 777, 2048].map(Rsa::generate);
    let numbers = rivals.each_ref().map(Rsa::parts);
    let keys: Vec<PrivateKey> = (0..6)
        .map(|index| {
            // The last has no factors, so no kernel.
            let [n, e, d, p, q, dp, dq, qinv] = &numbers[index % 5];
            let crt = (index < 5).then_some(Crt { p, q, dp, dq, qinv });
            PrivateKey::new(&PrivateParts { n, e, d, crt }).unwrap()
        })
        .collect();
    let sources: Vec<Vec<u8>> = (0..41)
        .map(|index| match index {
            // Not below n, and too short.
            13 => vec![0xff; keys[index % 6].len()],
            14 => vec![1; 5],
            15 => [&vec![0; keys[index % 6].len() - 1][..], &[1]].concat(),
            _ => [&[0], &drawn(keys[index % 6].len() - 1)[..]].concat(),
        })
        .collect();
    agrees("private", &sources, 256, |index| (&keys[index % 6], RsaScheme::Raw), private);
    let keys: Vec<PublicKey> = (0..6)
        .map(|index| {
            let e: &[u8] = if index == 5 { &[3] } else { &numbers[index][1] };
            PublicKey::new(&numbers[index % 5][0], e).unwrap()
        })
        .collect();
    agrees("public", &sources, 256, |index| (&keys[index % 6], RsaScheme::Raw, false), public);
}

#[test]
fn a_damaged_key_spoils_no_other() {
    let numbers = Rsa::generate(1024).parts();
    let [n, e, d, p, q, dp, dq, qinv] = &numbers;
    let mut damaged = dq.clone();
    *damaged.last_mut().unwrap() ^= 4;
    let [good, bad] = [dq, &damaged].map(|dq| {
        let crt = Some(Crt { p, q, dp, dq, qinv });
        PrivateKey::new(&PrivateParts { n, e, d, crt }).unwrap()
    });
    let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
    let digest = [9; 32];
    for cpu in tiers() {
        let mut buffers = vec![vec![0xaa; 128]; 8];
        let mut items: Vec<_> = buffers
            .iter_mut()
            .enumerate()
            .map(|(index, dst)| {
                let key = if index == 3 { &bad } else { &good };
                Item::new(&digest, dst).with((key, scheme))
            })
            .collect();
        private(&mut Engine::new(&cpu), &mut items);
        for (index, item) in items.iter().enumerate() {
            let wanted = if index == 3 { Err(OpError::Fault) } else { Ok(128) };
            assert_eq!(item.result, wanted);
            assert_eq!(item.dst.iter().all(|&byte| byte == 0), index == 3);
        }
    }
}

#[test]
fn powers_mixed() {
    let moduli: Vec<Modulus> = [512, 512, 1000, 1024, 64, 1024]
        .into_iter()
        .enumerate()
        .map(|(index, bits)| {
            let mut n = drawn(bits / 8);
            n[0] |= 0x80;
            // The fourth is even: no kernel.
            n[bits / 8 - 1] = n[bits / 8 - 1] & 0xfe | u8::from(index != 3);
            Modulus::new(&n).unwrap()
        })
        .collect();
    // Bases shorter than the modulus, as long, above it, longer; exponents of two lengths.
    let exponent_len = |index: usize| if index % 7 < 5 { 20 } else { 33 };
    let sources: Vec<Vec<u8>> = (0..50)
        .map(|index| {
            let k = moduli[index % 6].len();
            let base_len = [k, k, k, k - 1, 2 * k, 2 * k + 1, 0][index % 7];
            let mut src = drawn(base_len + exponent_len(index));
            if index % 5 == 0 && base_len > 0 {
                src[0] = 0xff;
            }
            src
        })
        .collect();
    agrees("power", &sources, 128, |index| (&moduli[index % 6], exponent_len(index)), power);
}

#[test]
fn dh_groups_mixed() {
    let groups = [Name::Modp1024, Name::Modp768].map(|name| Group::named(name).unwrap());
    let sources: Vec<Vec<u8>> = (0..20)
        .map(|index| {
            let group = &groups[usize::from(index % 3 == 0)];
            let mut src = drawn(20 + group.len());
            // Below p, or, once, above it.
            src[20] &= 0x7f;
            if index == 11 {
                src[20..].fill(0xff);
            }
            src
        })
        .collect();
    let group = |index: usize| &groups[usize::from(index.is_multiple_of(3))];
    agrees("derive", &sources, 128, group, dh::derive);
    let privates: Vec<Vec<u8>> = sources
        .iter()
        .enumerate()
        .map(|(index, src)| src[..if index == 5 { 0 } else { 20 }].to_vec())
        .collect();
    agrees("public", &privates, 128, group, dh::public);
}

#[test]
fn dsa_signs_and_verifies() {
    let generated = Domain::generate(1024, 160).unwrap();
    let domain = Domain::new(&generated.p, &generated.q, &generated.g).unwrap();
    let mut pair = [0; 148];
    let engine = &mut Engine::new(Cpu::host());
    let mut items = [Item::new(&[], &mut pair).with(&domain)];
    dsa::generate(engine, &mut items);
    assert_eq!(items[0].result, Ok(148));
    let (private, public) = pair.split_at(20);
    let sources: Vec<Vec<u8>> =
        (0..19).map(|index| [private, &vec![index; index.into()]].concat()).collect();
    let nonce = Nonce::Deterministic(Hash::Sha256);
    agrees("sign", &sources, 40, |_| (&domain, nonce), dsa::sign);
    let signed: Vec<Vec<u8>> = sources
        .iter()
        .enumerate()
        .map(|(index, src)| {
            let mut signature = [0; 40];
            dsa::sign(engine, &mut [Item::new(src, &mut signature).with((&domain, nonce))]);
            let damaged = usize::from(index % 5 == 4);
            signature[20 + index] ^= damaged as u8;
            [public, &signature, &src[20..]].concat()
        })
        .collect();
    agrees(
        "verify",
        &signed,
        0,
        |_| &domain,
        |engine, items| {
            dsa::verify(engine, items);
            for (index, item) in items.iter().enumerate() {
                if items.len() > 1 {
                    assert_eq!(item.result.is_ok(), index % 5 != 4, "{index}");
                }
            }
        },
    );
}
