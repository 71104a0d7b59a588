//! Elliptic curves, ECDH and ECDSA, through the exported functions, against OpenSSL and RFC 6979.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::ptr;

use lookaside_qat::{
    abi::*,
    cy::pke::{ec::*, ecdsa::*, stats::*},
};
use pke_common::{
    Answer, Flat, NONE, both, flag, hex, noise, one,
    ssl::{Curve, Number, digest},
    two,
};

/// OpenSSL's names, and whether the field is binary.
const CURVES: [(&str, bool); 19] = [
    ("prime192v1", false),
    ("secp224r1", false),
    ("prime256v1", false),
    ("secp384r1", false),
    ("secp521r1", false),
    ("secp256k1", false),
    ("brainpoolP256r1", false),
    ("brainpoolP384r1", false),
    ("brainpoolP512r1", false),
    ("sect163r2", true),
    ("sect233r1", true),
    ("sect283r1", true),
    ("sect409r1", true),
    ("sect571r1", true),
    ("sect163k1", true),
    ("sect233k1", true),
    ("sect283k1", true),
    ("sect409k1", true),
    ("sect571k1", true),
];

/// A curve as requests have it.
struct Setup {
    curve: Curve,
    field: CpaCyEcFieldType,
    kind: CpaCyEcCurveType,
    len: usize,
    order: Number,
    p: Flat,
    a: Flat,
    b: Flat,
    n: Flat,
    g: [Flat; 2],
}

fn setup(name: &str, binary: bool) -> Setup {
    let curve = Curve::named(name);
    let len = curve.len();
    let [p, a, b] = curve.parameters();
    let order = curve.order();
    let g = curve.multiply(&Number::word(1), None).unwrap();
    let (field, kind) = match binary {
        true => (CPA_CY_EC_FIELD_TYPE_BINARY, CPA_CY_EC_CURVE_TYPE_WEIERSTRASS_BINARY),
        false => (CPA_CY_EC_FIELD_TYPE_PRIME, CPA_CY_EC_CURVE_TYPE_WEIERSTRASS_PRIME),
    };
    let wide = len.max(p.bits().div_ceil(8));
    Setup {
        p: Flat::new(&p.bytes(wide)),
        a: Flat::new(&a.bytes(len)),
        b: Flat::new(&b.bytes(len)),
        n: Flat::new(&order.bytes(len)),
        g: g.map(|c| Flat::new(&c.bytes(len))),
        curve,
        field,
        kind,
        len,
        order,
    }
}

impl Setup {
    #[track_caller]
    fn multiply(&self, k: &[u8], point: [&[u8]; 2], h: CpaFlatBuffer) -> Answer {
        let [k, x, y] = [k, point[0], point[1]].map(Flat::new);
        let op = CpaCyEcPointMultiplyOpData {
            k: k.flat,
            xg: x.flat,
            yg: y.flat,
            a: self.a.flat,
            b: self.b.flat,
            q: self.p.flat,
            h,
            fieldType: self.field,
        };
        both(&[self.len; 2], |ask| unsafe {
            let [x, y] = ask.outs[..] else { panic!() };
            cpaCyEcPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
        })
    }

    fn generic(&self, h: CpaFlatBuffer) -> CpaCyEcCurve {
        CpaCyEcCurve {
            curveType: self.kind,
            parameters: CpaCyEcCurveParameters {
                weierstrassParameters: CpaCyEcCurveParametersWeierstrass {
                    fieldType: self.field,
                    p: self.p.flat,
                    a: self.a.flat,
                    b: self.b.flat,
                    h,
                },
            },
        }
    }

    #[track_caller]
    fn multiply_generic(&self, k: &[u8], point: Option<[&[u8]; 2]>) -> Answer {
        let mut curve = self.generic(NONE);
        let k = Flat::new(k);
        let [x, y] = point.unwrap_or_default().map(Flat::new);
        let op = CpaCyEcGenericPointMultiplyOpData {
            k: k.flat,
            xP: if point.is_some() { x.flat } else { NONE },
            yP: if point.is_some() { y.flat } else { NONE },
            pCurve: &mut curve,
            generator: if point.is_some() { CPA_FALSE } else { CPA_TRUE },
        };
        let plain = both(&[self.len; 2], |ask| unsafe {
            let [x, y] = ask.outs[..] else { panic!() };
            cpaCyEcGenericPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
        });
        let hardened = both(&[self.len; 2], |ask| unsafe {
            let [x, y] = ask.outs[..] else { panic!() };
            cpaCyEcDpaGenericPointMultiply(
                ask.handle,
                ask.by(two),
                ask.tag,
                &op,
                ptr::null(),
                CPA_TRUE,
                ask.valid,
                x,
                y,
            )
        });
        assert_eq!(plain, hardened);
        plain
    }

    #[track_caller]
    fn verify(&self, point: [&[u8]; 2]) -> Answer {
        let [x, y] = point.map(Flat::new);
        let op = CpaCyEcPointVerifyOpData {
            xq: x.flat,
            yq: y.flat,
            q: self.p.flat,
            a: self.a.flat,
            b: self.b.flat,
            fieldType: self.field,
        };
        let older = both(&[], |ask| unsafe {
            cpaCyEcPointVerify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid)
        });
        let mut curve = self.generic(NONE);
        let op = CpaCyEcGenericPointVerifyOpData { xP: x.flat, yP: y.flat, pCurve: &mut curve };
        let newer = both(&[], |ask| unsafe {
            cpaCyEcGenericPointVerify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid)
        });
        assert_eq!(older, newer);
        newer
    }

    #[track_caller]
    fn sign(&self, d: &[u8], k: &[u8], m: &[u8]) -> Answer {
        let [d, k, m] = [d, k, m].map(Flat::new);
        let op = CpaCyEcdsaSignRSOpData {
            xg: self.g[0].flat,
            yg: self.g[1].flat,
            n: self.n.flat,
            q: self.p.flat,
            a: self.a.flat,
            b: self.b.flat,
            k: k.flat,
            m: m.flat,
            d: d.flat,
            fieldType: self.field,
        };
        let plain = both(&[self.len; 2], |ask| unsafe {
            let [r, s] = ask.outs[..] else { panic!() };
            cpaCyEcdsaSignRS(ask.handle, ask.by(two), ask.tag, &op, ask.valid, r, s)
        });
        let hardened = both(&[self.len; 2], |ask| unsafe {
            let [r, s] = ask.outs[..] else { panic!() };
            cpaCyEcdsaDpaSignRS(
                ask.handle,
                ask.by(two),
                ask.tag,
                &op,
                ptr::null(),
                CPA_TRUE,
                ask.valid,
                r,
                s,
            )
        });
        assert_eq!(plain, hardened);
        plain
    }

    #[track_caller]
    fn sign_apart(&self, d: &[u8], k: &[u8], m: &[u8]) -> [Answer; 2] {
        let [d, k, m] = [d, k, m].map(Flat::new);
        let op = CpaCyEcdsaSignROpData {
            xg: self.g[0].flat,
            yg: self.g[1].flat,
            n: self.n.flat,
            q: self.p.flat,
            a: self.a.flat,
            b: self.b.flat,
            k: k.flat,
            fieldType: self.field,
        };
        let r = both(&[self.len], |ask| unsafe {
            cpaCyEcdsaSignR(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        });
        let half = Flat::new(&r.outs[0]);
        let op = CpaCyEcdsaSignSOpData {
            m: m.flat,
            d: d.flat,
            r: half.flat,
            k: k.flat,
            n: self.n.flat,
            fieldType: self.field,
        };
        let s = both(&[self.len], |ask| unsafe {
            cpaCyEcdsaSignS(ask.handle, ask.by(one), ask.tag, &op, ask.valid, ask.outs[0])
        });
        [r, s]
    }

    #[track_caller]
    fn check(&self, point: [&[u8]; 2], m: &[u8], r: &[u8], s: &[u8]) -> Answer {
        let [x, y] = point.map(Flat::new);
        let [m, r, s] = [m, r, s].map(Flat::new);
        let op = CpaCyEcdsaVerifyOpData {
            xg: self.g[0].flat,
            yg: self.g[1].flat,
            n: self.n.flat,
            q: self.p.flat,
            a: self.a.flat,
            b: self.b.flat,
            m: m.flat,
            r: r.flat,
            s: s.flat,
            xp: x.flat,
            yp: y.flat,
            fieldType: self.field,
        };
        both(&[], |ask| unsafe {
            cpaCyEcdsaVerify(ask.handle, ask.by(flag), ask.tag, &op, ask.valid)
        })
    }
}

#[test]
fn multiples_agree_with_openssl() {
    for (index, (name, binary)) in CURVES.into_iter().enumerate() {
        let it = setup(name, binary);
        let (_, point) = it.curve.pair(index as u64);
        let (k, own) = it.curve.pair(1000 + index as u64);
        let wanted = it.curve.multiply(&k, Some(point.each_ref())).unwrap();
        let wanted = wanted.map(|c| c.bytes(it.len)).to_vec();
        let [x, y] = point.each_ref().map(|c| c.bytes(it.len));
        let k = k.bytes(it.len);
        assert_eq!(it.multiply(&k, [&x, &y], NONE).good(), wanted, "{name}");
        assert_eq!(it.multiply_generic(&k, Some([&x, &y])).good(), wanted, "{name}");
        let own = own.map(|c| c.bytes(it.len)).to_vec();
        assert_eq!(it.multiply_generic(&k, None).good(), own, "{name}");
        let [gx, gy] = &it.g;
        assert_eq!(it.multiply(&k, [&gx.bytes, &gy.bytes], NONE).good(), own, "{name}");
        // The cofactor, where one is given.
        let h = it.curve.cofactor();
        let with = Number::new(&k).times(&h);
        let wanted = it.curve.multiply(&with, Some(point.each_ref())).unwrap();
        let wanted = wanted.map(|c| c.bytes(it.len)).to_vec();
        let h = Flat::new(&h.bytes(3));
        assert_eq!(it.multiply(&k, [&x, &y], h.flat).good(), wanted, "{name}");
        assert!(it.multiply(&k, [&x, &y], Flat::new(&[9]).flat).is_refused());
        // Off the curve, infinite, out of range.
        let mut off = y.clone();
        off[it.len - 1] ^= 1;
        assert!(it.multiply(&k, [&x, &off], NONE).is_invalid(), "{name}");
        assert!(it.multiply(&vec![0; it.len], [&x, &y], NONE).is_refused());
        assert!(it.multiply(&it.n.bytes, [&x, &y], NONE).status != CPA_STATUS_SUCCESS);
        if !binary {
            let more = Number::new(&k).plus(&it.order).bytes(it.len + 1);
            let wanted = it.multiply(&k, [&x, &y], NONE);
            assert_eq!(it.multiply(&more, [&x, &y], NONE), wanted, "{name}");
        }
        assert!(it.verify([&x, &y]).status == CPA_STATUS_SUCCESS);
        assert!(it.verify([&x, &y]).valid, "{name}");
        assert!(it.verify([&x, &off]).is_invalid(), "{name}");
        assert!(it.verify([&[0], &[0]]).is_invalid(), "{name}");
        assert!(it.verify([&it.p.bytes, &y]).is_invalid(), "{name}");
    }
}

#[test]
fn points_of_any_curve_are_verified() {
    // Four curves that the runtime has no name for; points by OpenSSL.
    for name in ["brainpoolP160r1", "brainpoolP320t1", "secp112r2", "brainpoolP224r1"] {
        let it = setup(name, false);
        let (_, point) = it.curve.pair(5);
        let [x, mut y] = point.map(|c| c.bytes(it.len));
        assert!(it.verify([&x, &y]).valid, "{name}");
        // Nobody multiplies there.
        assert_eq!(it.multiply(&[5], [&x, &y], NONE).status, CPA_STATUS_UNSUPPORTED);
        y[0] ^= 1;
        assert!(!it.verify([&x, &y]).valid, "{name}");
    }
}

#[test]
fn curves_that_are_none_are_refused() {
    let it = setup("prime256v1", false);
    let point = [&it.g[0].bytes[..], &it.g[1].bytes];
    let wrong = |change: fn(&mut Setup)| {
        let mut other = setup("prime256v1", false);
        change(&mut other);
        other.multiply(&[5], point, NONE).status
    };
    assert_eq!(wrong(|it| it.a.bytes[31] ^= 1), CPA_STATUS_UNSUPPORTED);
    assert_eq!(wrong(|it| it.p.bytes[0] ^= 1), CPA_STATUS_UNSUPPORTED);
    assert_eq!(wrong(|it| it.p.bytes[31] ^= 1), CPA_STATUS_INVALID_PARAM);
    assert_eq!(wrong(|it| it.p.flat = NONE), CPA_STATUS_INVALID_PARAM);
    assert_eq!(wrong(|it| it.field = CpaCyEcFieldType(3)), CPA_STATUS_INVALID_PARAM);
    assert_eq!(wrong(|it| it.field = CPA_CY_EC_FIELD_TYPE_BINARY), CPA_STATUS_UNSUPPORTED);
    // Buffers: lengths off by one, null.
    let [k, x, y] = [&[5][..], point[0], point[1]].map(Flat::new);
    let op = CpaCyEcPointMultiplyOpData {
        k: k.flat,
        xg: x.flat,
        yg: y.flat,
        a: it.a.flat,
        b: it.b.flat,
        q: it.p.flat,
        h: NONE,
        fieldType: it.field,
    };
    let asked = |op: CpaCyEcPointMultiplyOpData, lens: [usize; 2]| {
        both(&lens, |ask| unsafe {
            let [x, y] = ask.outs[..] else { panic!() };
            cpaCyEcPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
        })
    };
    let whole = asked(op, [32, 32]).good();
    let wide = asked(op, [33, 40]).good();
    assert_eq!((&wide[0][1..], &wide[1][8..]), (&whole[0][..], &whole[1][..]));
    assert_eq!((wide[0][0], &wide[1][..8]), (0, &[0; 8][..]));
    assert!(asked(op, [31, 32]).is_refused() && asked(op, [32, 31]).is_refused());
    assert!(asked(CpaCyEcPointMultiplyOpData { k: NONE, ..op }, [32, 32]).is_refused());
    assert!(asked(CpaCyEcPointMultiplyOpData { xg: NONE, ..op }, [32, 32]).is_refused());
    let long = Flat::new(&[1; 33]);
    assert!(asked(CpaCyEcPointMultiplyOpData { xg: long.flat, ..op }, [32, 32]).is_refused());
    let nowhere = both(&[32, 32], |ask| unsafe {
        let [x, y] = ask.outs[..] else { panic!() };
        cpaCyEcPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ptr::null_mut(), x, y)
    });
    assert!(nowhere.is_refused());
}

#[test]
fn ecdh_agrees_on_both_sides() {
    for name in ["prime256v1", "secp521r1"] {
        let it = setup(name, false);
        let shared = |k: &Number, peer: &[Number; 2]| {
            let k = Flat::new(&k.bytes(it.len));
            let [x, y] = peer.each_ref().map(|c| Flat::new(&c.bytes(it.len)));
            let op = CpaCyEcdhPointMultiplyOpData {
                k: k.flat,
                xg: x.flat,
                yg: y.flat,
                a: it.a.flat,
                b: it.b.flat,
                q: it.p.flat,
                h: NONE,
                fieldType: it.field,
                pointVerify: CPA_TRUE,
            };
            both(&[it.len; 2], |ask| unsafe {
                let [x, y] = ask.outs[..] else { panic!() };
                cpaCyEcdhPointMultiply(ask.handle, ask.by(two), ask.tag, &op, ask.valid, x, y)
            })
        };
        let ((a, a_point), (b, b_point)) = (it.curve.pair(1), it.curve.pair(2));
        let wanted = it.curve.multiply(&a, Some(b_point.each_ref())).unwrap();
        let wanted = wanted.map(|c| c.bytes(it.len)).to_vec();
        assert_eq!(shared(&a, &b_point).good(), wanted);
        assert_eq!(shared(&b, &a_point).good(), wanted);
        let [x, y] = b_point;
        let off = [x, y.plus(&Number::word(1))];
        assert!(shared(&a, &off).is_invalid());
    }
}

#[test]
fn signatures_of_rfc_6979() {
    let it = setup("prime256v1", false);
    let d = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    let k = hex("a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60");
    let m = digest("SHA256", &[b"sample"]);
    let wanted = vec![
        hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"),
        hex("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"),
    ];
    assert_eq!(it.sign(&d, &k, &m).good(), wanted);
    let it = setup("secp521r1", false);
    let d = Number::hex(
        "0fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c7\
         0855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
    );
    let k = Number::hex(
        "0edf38afcaaecab4383358b34d67c9f2216c8382aaea44a3dad5fdc9c32575761793fef24eb0fc27\
         6dfc4f6e3ec476752f043cf01415387470bcbd8678ed2c7e1a0",
    );
    let wanted = Number::hex(
        "1511bb4d675114fe266fc4372b87682baecc01d3cc62cf2303c92b3526012659d16876e25c7c1e57\
         648f23b73564d67f61c6f14d527d54972810421e7d87589e1a7",
    );
    assert_eq!(it.sign(&d.bytes(66), &k.bytes(66), &m).good()[0], wanted.bytes(66));
}

#[test]
fn signatures_are_those_of_the_formula() {
    for (index, (name, binary)) in CURVES.into_iter().enumerate() {
        let it = setup(name, binary);
        let n = &it.order;
        let (d, point) = it.curve.pair(index as u64);
        let (k, kg) = it.curve.pair(500 + index as u64);
        let r = kg[0].modulo(n);
        let o = it.len;
        // Numbers: short, as long as the order, with all its bits, longer.
        let bits = n.bits();
        let full = Number::word(1).times(n).minus(&Number::word(1)).bytes(o);
        for m in [noise(7, 20), noise(8, bits / 8), full, vec![0xff; o], vec![0; 4]] {
            let z = Number::new(&m);
            let sum = z.plus(&r.times(&d));
            let s = sum.times(&k.inverse(n).unwrap()).modulo(n);
            let wanted = [&r, &s].map(|half| half.bytes(o)).to_vec();
            let (d, k) = (d.bytes(o), k.bytes(o));
            assert_eq!(it.sign(&d, &k, &m).good(), wanted, "{name} {}", m.len());
            let [r, s] = it.sign_apart(&d, &k, &m);
            assert_eq!([r.only(), s.only()].to_vec(), wanted, "{name}");
            let [x, y] = point.each_ref().map(|c| c.bytes(o));
            let [r, s] = &wanted[..] else { panic!() };
            assert!(it.check([&x, &y], &m, r, s).valid, "{name} {}", m.len());
            let mut wrong = s.clone();
            wrong[o - 1] ^= 1;
            assert!(it.check([&x, &y], &m, r, &wrong).is_invalid(), "{name}");
            assert!(it.check([&x, &y], &[1], r, s).is_invalid(), "{name}");
            assert!(it.check([&y, &x], &m, r, s).is_invalid(), "{name}");
        }
    }
}

#[test]
fn signatures_want_numbers_in_range() {
    let it = setup("prime256v1", false);
    let (d, point) = it.curve.pair(1);
    let (d, m) = (d.bytes(32), [7; 32]);
    for bad in [&[0; 32][..], &[0], &it.n.bytes, &[0xff; 32], &[1; 33]] {
        assert!(it.sign(&d, bad, &m).is_refused());
        assert!(it.sign(bad, &[5], &m).is_refused());
        let [x, y] = point.each_ref().map(|c| c.bytes(32));
        assert!(it.check([&x, &y], &m, bad, &[1]).is_invalid());
        assert!(it.check([&x, &y], &m, &[1], bad).is_invalid());
    }
    assert!(it.sign(&d, &[], &m).is_refused() && it.sign(&d, &[5], &[]).is_refused());
    // Another generator: the runtime's curves have their own.
    let mut other = setup("prime256v1", false);
    let double = it.curve.multiply(&Number::word(2), None).unwrap();
    other.g = double.map(|c| Flat::new(&c.bytes(32)));
    assert_eq!(other.sign(&d, &[5], &m).status, CPA_STATUS_UNSUPPORTED);
    other.g[0] = Flat::new(&it.g[0].bytes);
    other.g[1] = Flat::new(&it.g[1].bytes);
    other.n.bytes[31] ^= 2;
    assert_eq!(other.sign(&d, &[5], &m).status, CPA_STATUS_UNSUPPORTED);
}

#[test]
fn outcomes_are_counted() {
    let handle = *pke_common::instances().last().unwrap();
    let it = setup("prime256v1", false);
    let read = || unsafe {
        let mut stats = core::mem::zeroed::<CpaCyEcStats64>();
        assert_eq!(cpaCyEcQueryStats64(handle, &mut stats), CPA_STATUS_SUCCESS);
        [
            stats.numEcPointVerifyRequests,
            stats.numEcPointVerifyRequestErrors,
            stats.numEcPointVerifyCompleted,
            stats.numEcPointVerifyCompletedErrors,
            stats.numEcPointVerifyCompletedOutputInvalid,
        ]
    };
    let before = read();
    let mut valid = CPA_FALSE;
    let mut verify = |x: &Flat, y: &Flat| unsafe {
        let op = CpaCyEcPointVerifyOpData {
            xq: x.flat,
            yq: y.flat,
            q: it.p.flat,
            a: it.a.flat,
            b: it.b.flat,
            fieldType: it.field,
        };
        cpaCyEcPointVerify(handle, None, ptr::null_mut(), &op, &mut valid)
    };
    let [x, y] = &it.g;
    assert_eq!(verify(x, y), CPA_STATUS_SUCCESS);
    assert_eq!(verify(x, x), CPA_STATUS_SUCCESS);
    assert_eq!(verify(x, &Flat { bytes: Vec::new(), flat: NONE }), CPA_STATUS_INVALID_PARAM);
    let grown: Vec<u64> = read().iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [2, 1, 1, 0, 1]);
}

#[test]
fn exchanges_and_signatures_are_counted() {
    let handle = *pke_common::instances().last().unwrap();
    let it = setup("prime256v1", false);
    let read = || unsafe {
        let (mut exchange, mut signatures) = ([0_u64; 5], [0_u64; 25]);
        let place = exchange.as_mut_ptr().cast();
        assert_eq!(cpaCyEcdhQueryStats64(handle, place), CPA_STATUS_SUCCESS);
        let place = signatures.as_mut_ptr().cast();
        assert_eq!(cpaCyEcdsaQueryStats64(handle, place), CPA_STATUS_SUCCESS);
        [&exchange[..], &signatures].concat()
    };
    assert_eq!(size_of::<CpaCyEcdhStats64>() + size_of::<CpaCyEcdsaStats64>(), 30 * 8);
    let before = read();
    let (one, scalar, none) = (Flat::new(&[1]), Flat::new(&[5]), ptr::null_mut());
    let mut outs = [Flat::room(32), Flat::room(32)];
    let [a, b] = outs.each_mut().map(|out| &raw mut out.flat);
    let mut valid = CPA_FALSE;
    let [gx, gy] = it.g.each_ref().map(|c| c.flat);
    let mut exchange = CpaCyEcdhPointMultiplyOpData {
        k: scalar.flat,
        xg: gx,
        yg: gy,
        a: it.a.flat,
        b: it.b.flat,
        q: it.p.flat,
        h: NONE,
        fieldType: it.field,
        pointVerify: CPA_TRUE,
    };
    let signature = CpaCyEcdsaSignRSOpData {
        xg: gx,
        yg: gy,
        n: it.n.flat,
        q: it.p.flat,
        a: it.a.flat,
        b: it.b.flat,
        k: scalar.flat,
        m: one.flat,
        d: scalar.flat,
        fieldType: it.field,
    };
    unsafe {
        let multiply =
            |op: *const _, valid| cpaCyEcdhPointMultiply(handle, None, none, op, valid, a, b);
        assert_eq!(multiply(&exchange, &mut valid), CPA_STATUS_SUCCESS);
        assert_eq!(valid, CPA_TRUE);
        exchange.yg = gx;
        assert_eq!(multiply(&exchange, &mut valid), CPA_STATUS_SUCCESS);
        assert_eq!(valid, CPA_FALSE);
        assert_eq!(multiply(ptr::null(), &mut valid), CPA_STATUS_INVALID_PARAM);

        let sign =
            |op: *const _, valid: *mut _| cpaCyEcdsaSignRS(handle, None, none, op, valid, a, b);
        for _ in 0..3 {
            assert_eq!(sign(&signature, &mut valid), CPA_STATUS_SUCCESS);
            assert_eq!(valid, CPA_TRUE);
        }
        assert_eq!(sign(ptr::null(), &mut valid), CPA_STATUS_INVALID_PARAM);
        // d = 5: the public key is 5 G, which is what the exchange came to; r and s are here.
        let public = it.curve.multiply(&Number::word(5), None).unwrap().map(|c| c.bytes(32));
        let [xp, yp] = public.map(|c| Flat::new(&c));
        let mut verify = CpaCyEcdsaVerifyOpData {
            xg: gx,
            yg: gy,
            n: it.n.flat,
            q: it.p.flat,
            a: it.a.flat,
            b: it.b.flat,
            m: one.flat,
            r: *a,
            s: *b,
            xp: xp.flat,
            yp: yp.flat,
            fieldType: it.field,
        };
        let check = |op: *const _, valid: *mut _| cpaCyEcdsaVerify(handle, None, none, op, valid);
        assert_eq!(check(&verify, &mut valid), CPA_STATUS_SUCCESS);
        assert_eq!(valid, CPA_TRUE);
        verify.m = scalar.flat;
        assert_eq!(check(&verify, &mut valid), CPA_STATUS_SUCCESS);
        assert_eq!(valid, CPA_FALSE);
        assert_eq!(check(ptr::null(), &mut valid), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaCyEcdhQueryStats64(handle, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaCyEcdsaQueryStats64(handle, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
    }
    let grown: Vec<u64> = read().iter().zip(before).map(|(after, before)| after - before).collect();
    // Requests, those refused, completed, failed, and outputs that are not valid.
    assert_eq!(grown[..5], [2, 1, 1, 0, 1], "exchange");
    assert_eq!(grown[5..15], [0; 10], "halves of signatures");
    assert_eq!(grown[15..20], [3, 1, 3, 0, 0], "signatures");
    assert_eq!(grown[20..25], [2, 1, 1, 0, 1], "verifications");
    assert_eq!(grown[25..], [0; 5], "wrapped keys");
}
