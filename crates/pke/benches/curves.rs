//! Batches over curves as callers run them against the same items one by one without kernels.
//!
//! ```sh
//! cargo bench -p lookaside-pke --bench curves -- [--rounds N] [NAME...]
//! ```
//!
//! Rows: CPU time of one item alone, and the ratio alone/batch for batches of 1 to 8: below 1 a
//! batch would cost more than its items. Eight divided by the last ratio is how many items one by
//! one a kernel costs. NAME selects rows that contain it.

mod rows;

use lookaside_pke::{Curve, Item, Nonce, XdhCurve, ec, sm2, xdh};
use lookaside_simd::Cpu;
use rows::Bench;

/// One item without kernels.
fn make(src: &[u8], len: usize, operation: impl FnOnce(&Cpu, &mut [Item<'_>])) -> Vec<u8> {
    let mut dst = vec![0; len];
    let mut items = [Item::new(src, &mut dst)];
    operation(Cpu::host(), &mut items);
    items[0].result.expect("an answer");
    dst
}

fn row(
    bench: &Bench,
    name: &str,
    src: &[u8],
    len: usize,
    operation: impl Fn(&Cpu, &mut [Item<'_>]),
) {
    if bench.wants(name) {
        bench.row(name, src, len, &|engine, items| {
            let mut items: Vec<Item<'_>> =
                items.iter_mut().map(|(src, dst)| Item::new(src, dst)).collect();
            operation(engine.cpu(), &mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        });
    }
}

fn main() {
    let bench = Bench::from_arguments();
    println!("{:<24} {:>12}   alone/batch for 1 to 8 items", "per item", "alone");
    let digest = [0x5a; 32];
    for curve in [Curve::P224, Curve::P256, Curve::P384, Curve::P521] {
        let o = curve.order_len();
        let pair_len = o + curve.point_len();
        let generate = |cpu: &Cpu, items: &mut [Item<'_>]| ec::generate(cpu, curve, items);
        let public = |cpu: &Cpu, items: &mut [Item<'_>]| ec::public(cpu, curve, items);
        let derive = |cpu: &Cpu, items: &mut [Item<'_>]| ec::derive(cpu, curve, false, items);
        let sign = |cpu: &Cpu, items: &mut [Item<'_>]| ec::sign(cpu, curve, Nonce::Hedged, items);
        let verify = |cpu: &Cpu, items: &mut [Item<'_>]| ec::verify(cpu, curve, items);
        let pair = make(&[], pair_len, generate);
        let (private, point) = pair.split_at(o);
        let signing = [private, &digest].concat();
        let signature = make(&signing, 2 * o, sign);
        let verifying = [point, &signature, &digest].concat();
        row(&bench, &format!("{curve} generate"), &[], pair_len, generate);
        row(&bench, &format!("{curve} public"), private, point.len(), public);
        row(&bench, &format!("{curve} derive"), &pair, curve.field_len(), derive);
        row(&bench, &format!("{curve} sign"), &signing, 2 * o, sign);
        row(&bench, &format!("{curve} verify"), &verifying, 0, verify);
    }
    let pair = make(&[], sm2::LEN + sm2::POINT_LEN, sm2::generate);
    let (private, point) = pair.split_at(sm2::LEN);
    let signing = [private, &digest].concat();
    let verifying = [point, &make(&signing, 64, sm2::sign), &digest].concat();
    row(&bench, "SM2 generate", &[], pair.len(), sm2::generate);
    row(&bench, "SM2 public", private, point.len(), sm2::public);
    row(&bench, "SM2 multiply", &pair, point.len(), sm2::multiply);
    row(&bench, "SM2 sign", &signing, 64, sm2::sign);
    row(&bench, "SM2 verify", &verifying, 0, sm2::verify);
    for curve in XdhCurve::ALL {
        let len = curve.key_len();
        let generate = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::generate(cpu, curve, items);
        let public = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::public(cpu, curve, items);
        let derive = |cpu: &Cpu, items: &mut [Item<'_>]| xdh::derive(cpu, curve, items);
        let pair = make(&[], 2 * len, generate);
        row(&bench, &format!("{} public", curve.name()), &pair[..len], len, public);
        row(&bench, &format!("{} derive", curve.name()), &pair, len, derive);
    }
}
