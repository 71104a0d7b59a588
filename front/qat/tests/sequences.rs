//! Random sequences of calls: whatever a program does, each accepted request is answered once, results are right, and
//! what makes no sense is refused. `LOOKASIDE_QAT_SEEDS` runs more; a failure prints its seed.

mod common;

use std::{ffi::c_void, ptr};

use common::*;
use lookaside_qat::{abi::*, dc::calls::*, discovery::*, sal::*};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A request in flight.
struct Sent {
    compresses: bool,
    flush: CpaDcFlush,
    input: Vec<u8>,
    src: Box<List>,
    dst: Box<List>,
    op: CpaDcOpData,
    results: CpaDcRqResults,
    answers: Called,
}

impl Sent {
    fn check(&self) {
        let statuses = self.answers.0.lock().unwrap();
        assert_eq!(statuses.len(), 1);
        let (r, out) = (&self.results, self.dst.first(self.results.produced));
        match (self.compresses, r.status) {
            (true, CPA_DC_OK) => {
                assert_eq!(r.consumed as usize, self.input.len());
                let plain = match self.flush {
                    CPA_DC_FLUSH_FINAL => inflate(out, -15, None).unwrap(),
                    _ => inflate_pieces(out),
                };
                assert!(plain == self.input);
            }
            (true, CPA_DC_OVERFLOW) => {
                assert!(inflate_pieces(out) == self.input[..r.consumed as usize]);
            }
            (false, CPA_DC_OK) => assert!(out == self.input && r.endOfLastBlock == CPA_TRUE),
            (false, CPA_DC_OVERFLOW) => {
                assert_eq!(statuses[0], CPA_STATUS_FAIL);
                assert!(self.input.starts_with(out));
            }
            (_, other) => panic!("{other:?}"),
        }
    }
}

/// One session, its slot of memory, and what is in flight on it.
#[derive(Default)]
struct Slot {
    session: Option<Held>,
    #[expect(clippy::vec_box, reason = "the library has their addresses until they are answered")]
    sent: Vec<Box<Sent>>,
}

fn split(random: &mut Random, bytes: Vec<u8>) -> Box<List> {
    let len = bytes.len() + 1;
    let mut ends: Vec<usize> = (0..random.below(4)).map(|_| random.below(len)).collect();
    ends.sort_unstable();
    List::split(bytes, &ends)
}

fn input(random: &mut Random) -> Vec<u8> {
    let len = [0, 1, 100, 5000, 70_000][random.below(5)];
    match random.below(3) {
        0 => noise(len),
        1 => text(len),
        _ => vec![7; len],
    }
}

fn submit(random: &mut Random, slot: &mut Slot, small: &dyn Fn(&[u8]) -> Vec<u8>) {
    let Some(session) = &mut slot.session else { return };
    let (input, compresses) = (input(random), random.one_in(2));
    let flush = match compresses && random.one_in(3) {
        true => CPA_DC_FLUSH_FULL,
        false => CPA_DC_FLUSH_FINAL,
    };
    let (from, room) = match compresses {
        true => (input.clone(), bound(input.len())),
        false => (small(&input), input.len() + 1),
    };
    let room = if random.one_in(5) { room / 2 } else { room };
    let mut op = op(flush);
    if compresses && random.one_in(3) {
        op.compressAndVerify = CPA_TRUE;
        op.compressAndVerifyAndRecover = CpaBoolean(random.below(2) as i32);
    }
    let (src, dst) = (split(random, from), split(random, vec![0; room]));
    let (results, answers) = (results(), Called::default());
    let mut sent = Box::new(Sent { compresses, flush, input, src, dst, op, results, answers });
    let call = if compresses { cpaDcCompressData2 } else { cpaDcDecompressData2 };
    let (at, handle, tag) = (session.instance, session.handle(), sent.answers.tag());
    let (s, d) = (sent.src.get(), sent.dst.get());
    let (o, r) = (&raw mut sent.op, &raw mut sent.results);
    // SAFETY: kept in the slot until it is answered.
    match unsafe { call(at, handle, s, d, o, r, tag) } {
        CPA_STATUS_SUCCESS => slot.sent.push(sent),
        CPA_STATUS_RETRY => {}
        status => panic!("{status}"),
    }
}

/// Arguments that make no sense, in one place of a call.
fn nonsense(random: &mut Random, slot: &mut Slot) {
    let Some(session) = &mut slot.session else { return };
    let (mut src, mut dst, mut r) = (List::new(text(100)), List::room(200), results());
    let mut good = op(CPA_DC_FLUSH_FINAL);
    let mut stray = [0x55_u64; 16];
    let null = ptr::null_mut::<c_void>();
    let stray = stray.as_mut_ptr().cast::<c_void>();
    let (mut at, mut handle) = (session.instance, session.handle());
    let (mut s, mut d, mut o, mut p) = (src.get(), dst.get(), &raw mut good, &raw mut r);
    match random.below(10) {
        0 => at = stray,
        1 => at = at.wrapping_byte_add(1),
        2 => handle = [null, stray, handle.wrapping_byte_add(8)][random.below(3)],
        3 => s = [ptr::null_mut(), s.wrapping_byte_add(4)][random.below(2)],
        4 => d = [ptr::null_mut(), s][random.below(2)],
        5 => o = ptr::null_mut(),
        6 => p = [ptr::null_mut(), p.wrapping_byte_add(2)][random.below(2)],
        // SAFETY: `good`, which nobody else uses now.
        7 => unsafe { (*o).flushFlag = CpaDcFlush(random.below(1000) as i32 + 4) },
        8 => src.list.numBuffers = u32::MAX,
        _ => src.flats[0].pData = ptr::null_mut(),
    }
    let tag = ptr::null_mut();
    // SAFETY: nothing that is not refused before it is used.
    let status = unsafe { cpaDcCompressData2(at, handle, s, d, o, p, tag) };
    assert_eq!(status, CPA_STATUS_INVALID_PARAM);
}

fn sequence(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let encoder = std::cell::RefCell::new(Held::new(&setup(), None));
    let small = |input: &[u8]| {
        let (mut src, mut dst) = (List::new(input.to_vec()), List::room(bound(input.len())));
        let (mut op, mut r) = (op(CPA_DC_FLUSH_FINAL), results());
        assert_eq!(encoder.borrow_mut().compress(&mut src, &mut dst, &mut op, &mut r), 0);
        dst.first(r.produced).to_vec()
    };
    let instances = [instance(20), instance(21), instance(22)];
    let mut slots: Vec<Slot> = (0..6).map(|_| Slot::default()).collect();
    for _ in 0..300 {
        let n = random.below(slots.len());
        let slot = &mut slots[n];
        match random.below(12) {
            0 | 1 if slot.session.is_none() => {
                let mut data = setup();
                data.compLevel = CpaDcCompLvl(random.below(7) as i32 + 1);
                data.huffType = [CPA_DC_HT_STATIC, CPA_DC_HT_FULL_DYNAMIC][random.below(2)];
                slot.session = Some(Held::on(instances[random.below(3)], &data, Some(note)));
            }
            0 => {
                let idle = slot.sent.is_empty();
                let removed = slot.session.as_mut().map(Held::remove);
                let expected = if idle { CPA_STATUS_SUCCESS } else { CPA_STATUS_RETRY };
                assert!(removed.is_none_or(|status| status == expected));
                if idle {
                    slot.session = None;
                }
            }
            1 => {
                let at = instances[random.below(3)];
                // SAFETY: a handle.
                let status = unsafe { cpaDcStopInstance(at) };
                assert_eq!(status, CPA_STATUS_SUCCESS);
                let sent = slots
                    .iter()
                    .filter(|s| s.session.as_ref().is_some_and(|session| session.instance == at));
                assert!(sent.flat_map(|s| &s.sent).all(|sent| sent.answers.count() == 1));
                // SAFETY: a handle.
                assert_eq!(unsafe { cpaDcStartInstance(at, 0, ptr::null_mut()) }, 0);
            }
            2 => nonsense(&mut random, slot),
            3 | 4 => {
                let quota = random.below(4) as u32;
                // SAFETY: a handle.
                let status = unsafe { icp_sal_DcPollInstance(instances[random.below(3)], quota) };
                assert!([CPA_STATUS_SUCCESS, CPA_STATUS_RETRY].contains(&status));
            }
            _ => submit(&mut random, slot, &small),
        }
        for slot in &mut slots {
            slot.sent.retain(|sent| {
                let answered = sent.answers.count() > 0;
                if answered {
                    sent.check();
                }
                !answered
            });
        }
    }
    for slot in &mut slots {
        for sent in slot.sent.drain(..) {
            let at = slot.session.as_ref().map_or(DEFAULT, |session| session.instance);
            poll_until(at, || sent.answers.count() > 0);
            sent.check();
        }
    }
    // SAFETY: a place of this function's.
    unsafe {
        let mut stats: CpaDcStats = std::mem::zeroed();
        for at in instances {
            assert_eq!(cpaDcGetStats(at, &raw mut stats), CPA_STATUS_SUCCESS);
            let ended = stats.numCompCompleted + stats.numCompCompletedErrors;
            assert_eq!(stats.numCompRequests, ended);
            let ended = stats.numDecompCompleted + stats.numDecompCompletedErrors;
            assert_eq!(stats.numDecompRequests, ended);
        }
    }
}

#[test]
fn random_sequences() {
    start();
    let seeds = std::env::var("LOOKASIDE_QAT_SEEDS").ok().and_then(|n| n.parse().ok());
    for seed in 0..seeds.unwrap_or(40) {
        let run = std::panic::catch_unwind(|| sequence(seed));
        assert!(run.is_ok(), "seed {seed}");
    }
}

#[test]
fn the_same_with_engines() {
    again_with_engines("the_same_with_engines");
}
