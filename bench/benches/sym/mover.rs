//! The data mover beside memcpy: 32 pairs of buffers in turn, as in the rest of this bench.

use std::{collections::VecDeque, fmt::Write, time::Duration};

use lookaside::{Buf, Instance, InstanceConfig, Mover, Op, Request, Runtime};

use crate::{Contender, Options, below::Below, compete, rivals::PACKETS, save};

/// Copies in flight: pairs of buffers.
const PAIRS: usize = PACKETS;

fn request(mover: &Mover, op: Op, src: Buf, dst: Buf) -> Request {
    match op {
        Op::CopyCrc32 => mover.copy_crc32(src, dst),
        Op::CopyCrc64 => mover.copy_crc64(src, dst),
        _ => mover.copy(src, dst),
    }
}

/// Copies this many times, all pairs in flight.
fn run(instance: &mut Instance, mover: &Mover, op: Op, spare: &mut VecDeque<(Buf, Buf)>, n: usize) {
    let mut left = n;
    while left > 0 || instance.outstanding() > 0 {
        while left > 0
            && let Some((src, dst)) = spare.pop_front()
        {
            instance.push(request(mover, op, src, dst)).expect("room");
            left -= 1;
        }
        instance.doorbell();
        for r in instance.poll() {
            r.result.expect("copied");
            spare.push_back((r.src, r.dst));
        }
        if instance.outstanding() > 0 {
            instance.wait(Duration::from_secs(10));
        }
    }
}

pub fn measure(o: &Options, runtime: &Runtime, below: &mut Below) {
    let mover = runtime.mover().expect("a mover");
    let mut csv = String::from("bytes,memcpy_ns,copy_ns,copy_crc32_ns,copy_crc64_ns\n");
    println!(
        "\nns a copy: memcpy, copy, copy with CRC-32, with CRC-64; then their rates by memcpy's"
    );
    for len in [4096, 65_536, 1 << 20] {
        let pairs = || -> VecDeque<(Buf, Buf)> {
            (0..PAIRS).map(|i| (Buf::from(vec![i as u8; len]), Buf::zeroed(len))).collect()
        };
        let mut plain: Vec<(Vec<u8>, Vec<u8>)> =
            (0..PAIRS).map(|i| (vec![i as u8; len], vec![0; len])).collect();
        let open = || {
            let config = InstanceConfig { depth: PAIRS, ..InstanceConfig::default() };
            runtime.instance(config).expect("an instance")
        };
        let ops = [Op::Copy, Op::CopyCrc32, Op::CopyCrc64];
        let mut ours = ops.map(|op| (op, open(), pairs()));
        let mut contenders: Vec<Option<Contender<'_>>> = vec![Some(Box::new(|n| {
            for k in 0..n {
                let (src, dst) = &mut plain[k % PAIRS];
                dst.copy_from_slice(std::hint::black_box(src));
            }
        }))];
        for (op, instance, spare) in &mut ours {
            let (op, mover) = (*op, &mover);
            contenders.push(Some(Box::new(move |n| run(instance, mover, op, spare, n))));
        }
        let ns: Vec<f64> =
            compete(&mut contenders, o).into_iter().map(Option::unwrap_or_default).collect();
        let rates: Vec<String> =
            ns[1..].iter().map(|ours| format!("{:.2}", ns[0] / ours)).collect();
        below.add("copy", len, Some(ns[0] / ns[1]), "memcpy");
        let shown: Vec<String> = ns.iter().map(|ns| format!("{ns:.0}")).collect();
        println!("  {len:>8}  {}  {}", shown.join("  "), rates.join("  "));
        _ = writeln!(csv, "{len},{}", shown.join(","));
    }
    save(o, "mover.csv", &csv);
}
