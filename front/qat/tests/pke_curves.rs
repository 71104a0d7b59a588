//! SM2, and the curves of Montgomery and Edwards, through the exported functions, against their standards' examples,
//! OpenSSL and plain formulas.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::ptr;

use lookaside_qat::{
    abi::*,
    cy::pke::{edwards::*, sm2::*, stats::*},
};
use pke_common::{
    Answer, Ask, Flat, NONE, both, flag, flat, hex, noise,
    ssl::{Curve, Number},
    two,
};

const PRIME: CpaCyEcFieldType = CPA_CY_EC_FIELD_TYPE_PRIME;
const ORDER: &str = "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123";

/// GB/T 32918.5, A.2: key, point, digest, nonce, signature.
const D: &str = "3945208f7b2144b13f36e38ac6d39f95889393692860b51a42fb81ef4df7c5b8";
const X: &str = "09f9df311e5421a150dd7d161e4bc5c672179fad1833fc076bb08ff356f35020";
const Y: &str = "ccea490ce26775a52dc6ea718cc1aa600aed05fbf35e084a6632f6072da9ad13";
const E: &str = "f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640";
const K: &str = "59276e27d506861a16680f3ad9c02dccef3cc1fa3cdbe4ce6d54b80deac1bc21";
const R: &str = "f5a03b0648d2c4630eeac513e1bb81a15944da3827d5b74143ac7eaceee720b3";
const S: &str = "b1b6aa29df212fd8763182bc0d421ca1bb9038fd1f7f42d4840b69c485bbc1aa";

fn sign(d: &[u8], k: &[u8], e: &[u8]) -> Answer {
    let [d, k, e] = [d, k, e].map(Flat::new);
    let op = CpaCyEcsm2SignOpData { k: k.flat, e: e.flat, d: d.flat, fieldType: PRIME };
    both(&[32, 32], |ask| unsafe {
        let [r, s] = ask.outs[..] else { panic!() };
        cpaCyEcsm2Sign(ask.handle, ask.by(two), ask.tag, &op, ask.valid, r, s)
    })
}

fn verify(point: [&[u8]; 2], e: &[u8], r: &[u8], s: &[u8]) -> Answer {
    let [x, y] = point.map(Flat::new);
    let [e, r, s] = [e, r, s].map(Flat::new);
    let op = CpaCyEcsm2VerifyOpData {
        e: e.flat,
        r: r.flat,
        s: s.flat,
        xP: x.flat,
        yP: y.flat,
        fieldType: PRIME,
    };
    both(&[], |ask| unsafe { cpaCyEcsm2Verify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid) })
}

#[test]
fn sm2_signatures_of_the_standard() {
    let [d, x, y, e, k, r, s] = [D, X, Y, E, K, R, S].map(hex);
    assert_eq!(sign(&d, &k, &e).good(), [r.clone(), s.clone()]);
    assert!(verify([&x, &y], &e, &r, &s).valid);
    for (e, r, s) in [(&r, &r, &s), (&e, &s, &s), (&e, &r, &r), (&e, &vec![0; 32], &s)] {
        assert!(verify([&x, &y], e, r, s).is_invalid());
    }
    assert!(verify([&y, &x], &e, &r, &s).is_invalid());
    assert!(verify([&x, &y], &e, &hex(ORDER), &s).is_invalid());
    let last = Number::hex(ORDER).minus(&Number::word(1)).bytes(32);
    for bad in [&[0; 32][..], &hex(ORDER), &[0xff; 32], &[]] {
        assert!(sign(&d, bad, &e).is_refused() && sign(bad, &k, &e).is_refused());
    }
    // d = n - 1 has no inverse of 1 + d.
    assert!(sign(&last, &k, &e).is_refused());
    assert!(sign(&d, &last, &e).good()[0] != r);
    assert!(sign(&d, &k, &[1; 33]).is_refused());
}

/// k P, or with no point k G.
fn multiply(k: &[u8], point: Option<[&[u8]; 2]>) -> Answer {
    let k = Flat::new(k);
    let run = |ask: &Ask| unsafe {
        let [x, y] = ask.outs[..] else { panic!() };
        match point {
            None => {
                let op = CpaCyEcsm2GeneratorMultiplyOpData { k: k.flat, fieldType: PRIME };
                // It is read while the request is made.
                cpaCyEcsm2GeneratorMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
            }
            Some(point) => {
                let [px, py] = point.map(Flat::new);
                let op = CpaCyEcsm2PointMultiplyOpData {
                    k: k.flat,
                    x: px.flat,
                    y: py.flat,
                    fieldType: PRIME,
                };
                cpaCyEcsm2PointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
            }
        }
    };
    both(&[32, 32], run)
}

#[test]
fn sm2_multiples_agree_with_openssl() {
    let curve = Curve::named("SM2");
    let bytes = |point: &[Number; 2]| point.each_ref().map(|c| c.bytes(32));
    let (k, own) = curve.pair(1);
    let (_, other) = curve.pair(2);
    let [x, y] = bytes(&other);
    assert_eq!(multiply(&k.bytes(32), None).good(), bytes(&own));
    assert_eq!(multiply(&hex(D), None).good(), [hex(X), hex(Y)]);
    let wanted = curve.multiply(&k, Some(other.each_ref())).unwrap();
    assert_eq!(multiply(&k.bytes(32), Some([&x, &y])).good(), bytes(&wanted));
    // The greatest scalar: the negative of the point.
    let last = Number::hex(ORDER).minus(&Number::word(1));
    let wanted = curve.multiply(&last, None).unwrap();
    assert_eq!(multiply(&last.bytes(32), None).good(), bytes(&wanted));
    let mut off = y.clone();
    off[31] ^= 1;
    assert!(multiply(&k.bytes(32), Some([&x, &off])).is_invalid());
    assert!(multiply(&hex(ORDER), None).is_refused() && multiply(&[0], None).is_refused());
    let point_verify = |x: &[u8], y: &[u8]| {
        let [x, y] = [x, y].map(Flat::new);
        let op = CpaCyEcsm2PointVerifyOpData { x: x.flat, y: y.flat, fieldType: PRIME };
        both(&[], |ask| unsafe {
            cpaCyEcsm2PointVerify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid)
        })
    };
    assert!(point_verify(&x, &y).valid && point_verify(&x, &off).is_invalid());
    assert!(point_verify(&[1; 33], &y).is_refused() && point_verify(&[], &y).is_refused());
}

#[test]
fn sm2_encryption_and_decryption_are_multiples() {
    let curve = Curve::named("SM2");
    let bytes = |point: &[Number; 2]| point.each_ref().map(|c| c.bytes(32));
    let ((k, c1), (d, point)) = (curve.pair(3), curve.pair(4));
    let shared = curve.multiply(&k, Some(point.each_ref())).unwrap();
    let [kb, db] = [&k, &d].map(|k| Flat::new(&k.bytes(32)));
    let [x, y] = bytes(&point).map(|c| Flat::new(&c));
    let encrypt = |op: CpaCyEcsm2EncryptOpData, len: usize| {
        both(&[32, 32, 32, len], |ask| unsafe {
            let at = |index: usize| *ask.outs[index];
            let out = CpaCyEcsm2EncryptOutputData { x1: at(0), y1: at(1), x2: at(2), y2: at(3) };
            let out = Box::leak(Box::new(out));
            cpaCyEcsm2Encrypt(ask.handle, ask.by(flat), ask.tag, &op, out)
        })
    };
    let op = CpaCyEcsm2EncryptOpData { k: kb.flat, xP: x.flat, yP: y.flat, fieldType: PRIME };
    let wanted = [bytes(&c1), bytes(&shared)].concat();
    assert_eq!(encrypt(op, 32).good(), wanted);
    assert!(encrypt(op, 31).is_refused());
    assert!(encrypt(CpaCyEcsm2EncryptOpData { k: NONE, ..op }, 32).is_refused());
    let off = CpaCyEcsm2EncryptOpData { xP: y.flat, ..op };
    assert_eq!(encrypt(off, 32).status, CPA_STATUS_FAIL);
    let [x, y] = bytes(&c1).map(|c| Flat::new(&c));
    let op = CpaCyEcsm2DecryptOpData { d: db.flat, x1: x.flat, y1: y.flat, fieldType: PRIME };
    let answer = both(&[32, 32], |ask| unsafe {
        let out = CpaCyEcsm2DecryptOutputData { x2: *ask.outs[0], y2: *ask.outs[1] };
        let out = Box::leak(Box::new(out));
        cpaCyEcsm2Decrypt(ask.handle, ask.by(flat), ask.tag, &op, out)
    });
    assert_eq!(answer.good(), bytes(&shared));
    let wrong = CpaCyEcsm2DecryptOpData { fieldType: CPA_CY_EC_FIELD_TYPE_BINARY, ..op };
    assert!(
        both(&[32, 32], |ask| unsafe {
            let mut out = CpaCyEcsm2DecryptOutputData { x2: *ask.outs[0], y2: *ask.outs[1] };
            cpaCyEcsm2Decrypt(ask.handle, ask.by(flat), ask.tag, &wrong, &mut out)
        })
        .is_refused()
    );
}

#[test]
fn sm2_key_exchanges_agree_on_both_sides() {
    let curve = Curve::named("SM2");
    let n = curve.order();
    let bytes = |point: &[Number; 2]| point.each_ref().map(|c| Flat::new(&c.bytes(32)));
    let ((da, pa), (db, pb)) = (curve.pair(5), curve.pair(6));
    let ((ra, big_ra), (rb, big_rb)) = (curve.pair(7), curve.pair(8));
    let first = |r: &Number| {
        let r = Flat::new(&r.bytes(32));
        let op = CpaCyEcsm2KeyExPhase1OpData { r: r.flat, fieldType: PRIME };
        both(&[32, 32], |ask| unsafe {
            let out = CpaCyEcsm2KeyExOutputData { x: *ask.outs[0], y: *ask.outs[1] };
            let out = Box::leak(Box::new(out));
            cpaCyEcsm2KeyExPhase1(ask.handle, ask.by(flat), ask.tag, &op, out)
        })
    };
    let wanted = big_ra.each_ref().map(|c| c.bytes(32));
    assert_eq!(first(&ra).good(), wanted);
    assert!(first(&n).is_refused());
    let second = |r: &Number, d: &Number, own: &Number, theirs: &[Number; 2], key: &[Number; 2]| {
        let [r, d, x1] = [r, d, own].map(|number| Flat::new(&number.bytes(32)));
        let ([x2, y2], [xp, yp]) = (bytes(theirs), bytes(key));
        let op = CpaCyEcsm2KeyExPhase2OpData {
            r: r.flat,
            d: d.flat,
            x1: x1.flat,
            x2: x2.flat,
            y2: y2.flat,
            xP: xp.flat,
            yP: yp.flat,
            fieldType: PRIME,
        };
        both(&[32, 32], |ask| unsafe {
            let out = CpaCyEcsm2KeyExOutputData { x: *ask.outs[0], y: *ask.outs[1] };
            let out = Box::leak(Box::new(out));
            cpaCyEcsm2KeyExPhase2(ask.handle, ask.by(flat), ask.tag, &op, out)
        })
    };
    let a = second(&ra, &da, &big_ra[0], &big_rb, &pb).good();
    assert_eq!(a, second(&rb, &db, &big_rb[0], &big_ra, &pa).good());
    // U = t (P + x2' R), by OpenSSL: t (d + x2' r) G with the peer's numbers.
    let bar = |x: &Number| {
        let low = x.modulo(&Number::hex(&format!("8{}", "0".repeat(31))));
        low.plus(&Number::hex(&format!("8{}", "0".repeat(31))))
    };
    let ta = da.plus(&bar(&big_ra[0]).times(&ra));
    let tb = db.plus(&bar(&big_rb[0]).times(&rb));
    let shared = curve.multiply(&ta.times(&tb).modulo(&n), None).unwrap();
    assert_eq!(a, shared.map(|c| c.bytes(32)));
    let off = [pb[1].plus(&Number::word(0)), pb[0].plus(&Number::word(0))];
    assert_eq!(second(&ra, &da, &big_ra[0], &big_rb, &off).status, CPA_STATUS_FAIL);
    let mut stats = unsafe { core::mem::zeroed::<CpaCyEcsm2Stats64>() };
    let handle = *pke_common::instances().last().unwrap();
    unsafe { assert_eq!(cpaCyEcsm2QueryStats64(handle, &mut stats), CPA_STATUS_SUCCESS) };
}

type Kind = CpaCyEcMontEdwdsCurveType;

/// k times a point, or the base point; all big-endian.
fn edwards(kind: Kind, k: &[u8], point: Option<[&[u8]; 2]>, lens: [usize; 2]) -> Answer {
    let k = Flat::new(k);
    let [x, y] = point.unwrap_or_default().map(Flat::new);
    let op = CpaCyEcMontEdwdsPointMultiplyOpData {
        curveType: kind,
        generator: if point.is_none() { CPA_TRUE } else { CPA_FALSE },
        k: k.flat,
        x: x.flat,
        y: y.flat,
    };
    let montgomery =
        matches!(kind, CPA_CY_EC_MONTEDWDS_CURVE25519_TYPE | CPA_CY_EC_MONTEDWDS_CURVE448_TYPE);
    both(&lens[..if montgomery { 1 } else { 2 }], |ask| unsafe {
        let y = if montgomery { ptr::null_mut() } else { ask.outs[1] };
        let (by, x) = (ask.by(two as _), ask.outs[0]);
        cpaCyEcMontEdwdsPointMultiply(ask.handle, by, ask.tag, &op, ask.valid, x, y)
    })
}

fn reversed(digits: &str) -> Vec<u8> {
    let mut bytes = hex(digits);
    bytes.reverse();
    bytes
}

fn wide(number: Vec<u8>) -> Vec<u8> {
    [vec![0; 64 - number.len()], number].concat()
}

/// RFC 7748, 5.2 and 6.
#[test]
fn montgomery_vectors() {
    let kind = CPA_CY_EC_MONTEDWDS_CURVE25519_TYPE;
    let k = reversed("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let u = reversed("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let wanted = reversed("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    let product = edwards(kind, &k, Some([&u, &[]]), [32, 32]);
    assert_eq!(product.only(), wanted);
    let k = reversed("77076d0a7318a57d3c16c17251b2664580cfdf2dbd8d6e2cbb2f1a0b3c4d5e6f");
    let own = edwards(kind, &k, None, [32, 32]).only();
    let mut nine = vec![0; 32];
    nine[31] = 9;
    assert_eq!(edwards(kind, &k, Some([&nine, &[]]), [32, 32]).only(), own);
    // A point of small order: a secret of zeros is none.
    assert!(edwards(kind, &k, Some([&[0; 32], &[]]), [32, 32]).is_invalid());
    for (k, u, len) in
        [(31, 32, 32), (33, 32, 32), (32, 31, 32), (32, 33, 32), (32, 32, 31), (32, 32, 33)]
    {
        let answer = edwards(kind, &vec![1; k], Some([&vec![2; u], &[]]), [len, len]);
        assert!(answer.is_refused());
    }
    let kind = CPA_CY_EC_MONTEDWDS_CURVE448_TYPE;
    let k = wide(reversed(
        "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
    ));
    let u = wide(reversed(
        "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
    ));
    let wanted = wide(reversed(
        "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f",
    ));
    assert_eq!(edwards(kind, &k, Some([&u, &[]]), [64, 64]).only(), wanted);
    let five = wide(vec![5]);
    let own = edwards(kind, &k, None, [64, 64]).only();
    assert_eq!(edwards(kind, &k, Some([&five, &[]]), [64, 64]).only(), own);
    assert!(edwards(kind, &[1; 56], None, [64, 64]).is_refused());
    assert!(edwards(kind, &[1; 64], None, [64, 64]).is_refused());
    assert!(edwards(CpaCyEcMontEdwdsCurveType(5), &[1; 32], None, [32, 32]).is_refused());
}

/// An Edwards curve by its formulas.
struct Edwards {
    kind: Kind,
    p: Number,
    a: Number,
    d: Number,
    order: Number,
    cofactor: u64,
    base: [Number; 2],
    len: usize,
}

impl Edwards {
    fn ed25519() -> Edwards {
        let p = Number::hex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed");
        let d = Number::hex("52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3");
        Edwards {
            kind: CPA_CY_EC_MONTEDWDS_ED25519_TYPE,
            a: p.minus(&Number::word(1)),
            p,
            d,
            order: Number::hex("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed"),
            cofactor: 8,
            base: [
                Number::hex("216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a"),
                Number::hex("6666666666666666666666666666666666666666666666666666666666666658"),
            ],
            len: 32,
        }
    }

    fn ed448() -> Edwards {
        let p = Number::hex(&format!("{}e{}", "f".repeat(55), "f".repeat(56)));
        Edwards {
            kind: CPA_CY_EC_MONTEDWDS_ED448_TYPE,
            a: Number::word(1),
            d: p.minus(&Number::word(39_081)),
            p,
            order: Number::hex(
                "3fffffffffffffffffffffffffffffffffffffffffffffffffffffff7cca23e9c44edb49aed63690\
                 216cc2728dc58f552378c292ab5844f3",
            ),
            cofactor: 4,
            base: [
                Number::hex(
                    "4f1970c66bed0ded221d15a622bf36da9e146570470f1767ea6de324a3d3a46412ae1af72ab66511\
                     433b80e18b00938e2626a82bc70cc05e",
                ),
                Number::hex(
                    "693f46716eb6bc248876203756c9c7624bea73736ca3984087789c1e05a0c2d73ad3ff1ce67c39c4\
                     fdbd132c4ed7c8ad9808795bf230fa14",
                ),
            ],
            len: 64,
        }
    }

    fn add(&self, [x1, y1]: [&Number; 2], [x2, y2]: [&Number; 2]) -> [Number; 2] {
        let p = &self.p;
        let m = self.d.times(x1).modulo(p).times(x2).modulo(p).times(y1).modulo(p).times(y2);
        let m = m.modulo(p);
        let one = Number::word(1);
        let x = x1.times(y2).plus(&x2.times(y1));
        let minus = p.minus(&self.a).times(x1).times(x2);
        let y = y1.times(y2).plus(&minus);
        let below = |n: Number| n.modulo(p).inverse(p).unwrap();
        let (up, down) = (one.plus(&m), one.plus(p).minus(&m));
        [x.times(&below(up)).modulo(p), y.times(&below(down)).modulo(p)]
    }

    fn multiply(&self, k: &Number, point: [&Number; 2]) -> [Number; 2] {
        let mut sum = [Number::word(0), Number::word(1)];
        for byte in k.bytes(k.bits().div_ceil(8)) {
            for bit in (0..8).rev() {
                sum = self.add(sum.each_ref(), sum.each_ref());
                if byte >> bit & 1 == 1 {
                    sum = self.add(sum.each_ref(), point);
                }
            }
        }
        sum
    }

    fn bytes(&self, point: &[Number; 2]) -> [Vec<u8>; 2] {
        point.each_ref().map(|c| c.bytes(self.len))
    }
}

#[test]
fn edwards_multiples_follow_the_formula() {
    for curve in [Edwards::ed25519(), Edwards::ed448()] {
        let (len, kind) = (curve.len, curve.kind);
        let base = curve.base.each_ref();
        let all = curve.order.times(&Number::word(curve.cofactor));
        let bits = curve.p.bits() / 8;
        let other = curve.multiply(&Number::word(12_345), base);
        let [ox, oy] = curve.bytes(&other);
        // Small, as EdDSA's clamped ones, and above the number of points.
        let clamped = [vec![0x40], noise(1, bits - 2), vec![0xf8]].concat();
        for k in [vec![7], noise(2, bits - 1), clamped, all.plus(&Number::word(3)).bytes(len)] {
            let number = Number::new(&k);
            let k = number.bytes(len);
            let wanted = curve.bytes(&curve.multiply(&number, base));
            assert_eq!(edwards(kind, &k, None, [len; 2]).good(), wanted, "{len}");
            let [bx, by] = curve.bytes(&curve.base);
            assert_eq!(edwards(kind, &k, Some([&bx, &by]), [len; 2]).good(), wanted);
            let wanted = curve.bytes(&curve.multiply(&number, other.each_ref()));
            assert_eq!(edwards(kind, &k, Some([&ox, &oy]), [len; 2]).good(), wanted);
        }
        // A point with a part of order 2: k counts modulo the number of points, and not modulo the order.
        let two = [Number::word(0), curve.p.minus(&Number::word(1))];
        let mixed = curve.add(base, two.each_ref());
        let [mx, my] = curve.bytes(&mixed);
        let k = curve.order.plus(&Number::word(5));
        let wanted = curve.bytes(&curve.multiply(&k, mixed.each_ref()));
        let answer = edwards(kind, &k.bytes(len), Some([&mx, &my]), [len; 2]);
        assert_eq!(answer.good(), wanted, "{len}");
        let k = Number::word(5).bytes(len);
        let mut off = oy.clone();
        off[len - 1] ^= 1;
        assert!(edwards(kind, &k, Some([&ox, &off]), [len; 2]).is_invalid());
        assert!(edwards(kind, &vec![0; len], None, [len; 2]).is_refused());
        assert!(edwards(kind, &all.bytes(len), None, [len; 2]).is_refused());
        assert!(edwards(kind, &k[1..], None, [len; 2]).is_refused());
        assert!(edwards(kind, &k, None, [len - 1, len]).is_refused());
        assert!(edwards(kind, &k, None, [len, len + 1]).is_refused());
        let p = curve.p.bytes(len);
        assert!(edwards(kind, &k, Some([&p, &oy]), [len; 2]).is_refused());
        let neutral = [Number::word(0), Number::word(1)].map(|c| c.bytes(len));
        let answer = edwards(kind, &k, Some([&neutral[0], &neutral[1]]), [len; 2]);
        assert_eq!(answer.status, CPA_STATUS_UNSUPPORTED);
    }
}
