//! A process whose engine never rests: batches of all sizes and algorithms follow each other, so that what
//! one leaves on the engine's stack and in its registers is still there when the next one's results are
//! written. Slots and what requests carry are kept, as a program may.

use std::time::Duration;

use lookaside::{
    Aside, Buf, Carried, Feed, Instance, InstanceConfig, Mover, OpError, Packet, Request, Runtime,
    Span,
};
use lookaside_testkit::Rng;

use crate::child::{ROOM, Sym, TEXT, packet, stage, symmetric};

/// The largest batch: beyond the 32 packets that the device takes at once.
const MOST: usize = 40;
/// Bytes of text, around the blocks and vectors of kernels.
const LENS: [usize; 10] = [16, 32, 48, 64, 112, 128, 240, 256, 512, TEXT];

/// Runs the requests and keeps what they carried.
#[expect(clippy::vec_box, reason = "the boxes are what may hold a piece of a key")]
fn run(instance: &mut Instance, requests: Vec<Request>, kept: &mut Vec<Box<Carried>>) {
    requests.into_iter().for_each(|request| instance.push(request).unwrap());
    while instance.outstanding() > 0 {
        assert!(instance.wait(Duration::from_secs(60)), "no answer");
        for response in instance.poll() {
            // Lengths that the algorithm does not take, tags that are none.
            let result = response.result;
            let fine = matches!(
                result,
                Ok(_) | Err(OpError::BadInput(_) | OpError::AuthFailed | OpError::DstTooSmall)
            );
            assert!(fine, "{result:?}");
            kept.extend(response.carried);
        }
    }
}

/// Batches of `n` packets of this session.
fn batches(sym: &Sym, n: usize, mover: &Mover, rng: &mut Rng) -> Vec<Vec<Request>> {
    let session = &sym.0;
    let len = LENS[rng.below(LENS.len() as u64) as usize];
    let len = match rng.below(6) {
        0 => len - 1,
        1 => (len + 1).min(TEXT),
        _ => len,
    };
    let len = len as u32;
    let back = rng.chance(25);
    let request = |carried: Box<Carried>, room| match back {
        true => session.back(carried, Buf::zeroed(room)),
        false => session.request(carried, Buf::zeroed(room)),
    };
    let one = packet(sym);
    let one = Packet { cipher: Span { len, ..one.cipher }, auth: Span { len, ..one.auth }, ..one };
    let singles = (0..n).map(|_| request(one.into(), ROOM)).collect();
    let at = |i: usize| {
        let moved = |span: Span| Span { offset: span.offset + (i * ROOM) as u32, ..span };
        let (cipher, auth, aad) = (moved(one.cipher), moved(one.auth), moved(one.aad));
        Packet { cipher, auth, aad, tag: one.tag + (i * ROOM) as u32, ..one }
    };
    let burst = (0..n).map(at).collect::<Vec<_>>();
    let mut made = vec![singles, vec![request(burst.into(), n * ROOM)]];
    if rng.chance(20) {
        let aside = |_| {
            let (aad, tag) = (Buf::empty(), Buf::zeroed(64));
            request(Box::new(Carried::Aside(Aside { packet: one, aad, tag })), ROOM)
        };
        made.push((0..n).map(aside).collect());
        // Behind a copy: on its source, on what it wrote, or in its place.
        let chain = |i| {
            let feed = [Feed::Same, Feed::Written, Feed::InPlace][i % 3];
            let room = if feed == Feed::InPlace { 0 } else { ROOM };
            let next = session.on(one.into(), Buf::empty(), Buf::zeroed(room));
            mover.copy(Buf::zeroed(ROOM), Buf::zeroed(ROOM)).then(feed, next).unwrap()
        };
        made.push((0..n).map(chain).collect());
    }
    made
}

/// The process, with one engine.
pub fn live() {
    let spin = Duration::from_millis(50);
    let builder = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).spin(spin);
    let runtime = builder.start().unwrap();
    let mut all = symmetric(&runtime);
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    stage("alive");
    let (mut rng, mut kept) = (Rng::new(1), Vec::new());
    for n in 1..=MOST {
        for i in (1..all.len()).rev() {
            all.swap(i, rng.below(i as u64 + 1) as usize);
        }
        for sym in &all {
            for batch in batches(sym, n, &mover, &mut rng) {
                run(&mut instance, batch, &mut kept);
            }
        }
    }
    stage("used");
    drop(all);
    stage("sessions gone");
    drop((instance, runtime));
    stage("all gone");
    drop(kept);
}
