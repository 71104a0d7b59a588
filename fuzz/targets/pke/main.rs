//! The public-key and key-derivation services on hostile keys, points, signatures and lengths.
//!
//! The input names an operation and edits a valid key and eight valid requests of it. They run on
//! two CPU devices with 0 engines, as one batch each: by the best kernels of this CPU, and by the
//! libraries that serve a CPU of the lowest tier one by one. Both must answer, and both the same:
//! equal bytes where the operation is deterministic, else both a result or both the same kind of
//! error. So no kernel accepts a signature that a library refuses. Four of the requests have the
//! key as it was, so that a hostile key meets good ones in its batch.
//!
//! Input: operation, variant (a scheme, curve, step or hash), room for the result; then edits of
//! four bytes: where, how, position, value.
#![cfg_attr(fuzzing, no_main)]

#[path = "../../../crates/pke/kernel/valgrind/keys.rs"]
mod keys;
mod operation;
mod valid;

use std::collections::HashMap;
use std::mem::discriminant;
use std::time::Duration;

use lookaside::{Buf, InstanceConfig, OpError, Request, Runtime};
use lookaside_cpu::CpuDevice;
use lookaside_fuzz::fuzz_target;
use lookaside_simd::{Cpu, Tier};
use operation::{Opened, Operation};

const LANES: usize = 8;
/// Far above what any request here takes.
const PATIENCE: Duration = Duration::from_secs(8);

/// What a request wrote, or why not.
type Answer = Result<Vec<u8>, OpError>;

/// Both devices, and valid requests that were made before.
struct Bench {
    best: Runtime,
    lowest: Runtime,
    valid: HashMap<(Operation, u8), [Vec<u8>; LANES]>,
}

thread_local! {
    static BENCH: std::cell::RefCell<Bench> = std::cell::RefCell::new(Bench {
        best: runtime(Cpu::host().clone()),
        lowest: runtime(Cpu::with_cap(Tier::Generic)),
        valid: HashMap::new(),
    });
}

fn runtime(cpu: Cpu) -> Runtime {
    // The calling thread executes: a run depends on its input alone.
    let builder = Runtime::builder().device(CpuDevice::new(cpu)).engines(0);
    builder.start().expect("a runtime")
}

fuzz_target!(|input: &[u8]| {
    let &[operation, variant, room, ref edits @ ..] = input else { return };
    let operation = Operation::ALL[usize::from(operation) % Operation::ALL.len()];
    let variant = variant % operation.variants();
    BENCH.with_borrow_mut(|bench| bench.run(operation, variant, room, edits));
});

impl Bench {
    fn run(&mut self, operation: Operation, variant: u8, room: u8, edits: &[u8]) {
        let parts = valid::key(operation.family());
        let served = [&self.best, &self.lowest].map(|runtime| {
            operation.open(runtime, variant, &parts).map(drop).map_err(|error| discriminant(&error))
        });
        assert_eq!(served[0], served[1], "{operation:?}, variant {variant}");
        if served[0].is_err() {
            // Not this hash.
            return;
        }
        let sources = self.valid.entry((operation, variant));
        let mut sources = sources
            .or_insert_with(|| {
                std::array::from_fn(|lane| {
                    valid::source(&self.lowest, operation, variant, lane as u8)
                })
            })
            .clone();
        let mut edited = parts.clone();
        for edit in edits.chunks_exact(4).map(|edit| <[u8; 4]>::try_from(edit).expect("four")) {
            match edit[0] {
                place @ 0..8 => change(&mut sources[usize::from(place)], edit),
                8..128 => sources.iter_mut().for_each(|source| change(source, edit)),
                place if !edited.is_empty() => {
                    let part = usize::from(place) % edited.len();
                    change(&mut edited[part], edit);
                }
                _ => {}
            }
        }
        let (most_key, most_source) = operation.most_bytes();
        edited.iter_mut().for_each(|part| part.truncate(most_key));
        sources.iter_mut().for_each(|source| source.truncate(most_source));
        let room = match room {
            0..64 => 1024,
            room => usize::from(room) - 64,
        };

        let answers = [&self.best, &self.lowest].map(|runtime| {
            let good = operation.open(runtime, variant, &parts).expect("a valid key");
            let hostile = operation.open(runtime, variant, &edited);
            let lanes = sources.iter().enumerate().map(|(lane, source)| {
                let session = match &hostile {
                    Ok(hostile) if lane % 2 == 0 => hostile,
                    _ => &good,
                };
                let src = Buf::secret(source.clone());
                operation.request(session, variant, src, Buf::zeroed(room))
            });
            (hostile.as_ref().err().map(discriminant), all(runtime, lanes.collect()))
        });
        let [(best_refused, best), (lowest_refused, lowest)] = answers;
        let what = format!("{operation:?}, variant {variant}");
        assert_eq!(best_refused, lowest_refused, "{what}: the key");
        for (lane, (best, lowest)) in best.into_iter().zip(lowest).enumerate() {
            let agree = match (&best, &lowest) {
                (Ok(best), Ok(lowest)) => best == lowest || !operation.deterministic(variant),
                (Err(best), Err(lowest)) => discriminant(best) == discriminant(lowest),
                _ => false,
            };
            assert!(agree, "{what}, lane {lane}: {best:02x?}, one by one {lowest:02x?}");
        }
    }
}

/// Runs requests as one batch.
fn all(runtime: &Runtime, requests: Vec<Request>) -> Vec<Answer> {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    let mut answers: Vec<Option<Answer>> = vec![None; requests.len()];
    for (tag, request) in requests.into_iter().enumerate() {
        instance.push(request.tag(tag as u64)).expect("a free slot");
    }
    while instance.outstanding() > 0 {
        assert!(instance.wait(PATIENCE), "no answer");
        for response in instance.poll() {
            let written = response.result.map(|done| {
                let mut bytes = Vec::new();
                response.dst.gather(&mut bytes);
                assert!(done.produced <= bytes.len());
                bytes.truncate(done.produced);
                bytes
            });
            let answer = answers[response.tag as usize].replace(written);
            assert!(answer.is_none(), "answered twice");
        }
    }
    answers.into_iter().map(|answer| answer.expect("an answer")).collect()
}

/// Runs one.
fn one(runtime: &Runtime, operation: Operation, variant: u8, src: Vec<u8>) -> Answer {
    let key = valid::key(operation.family());
    let session: Opened = operation.open(runtime, variant, &key).expect("a valid key");
    let request = operation.request(&session, variant, Buf::from(&src[..]), Buf::zeroed(1024));
    all(runtime, vec![request]).remove(0)
}

/// One edit of some bytes. Positions count from the beginning or the end, and wrap.
fn change(bytes: &mut Vec<u8>, [_, how, position, value]: [u8; 4]) {
    let position = usize::from(position) | usize::from(how >> 4 & 3) << 8;
    let len = bytes.len().max(1);
    let position = match how & 0x80 {
        0 => position % len,
        _ => len - 1 - position % len,
    };
    let end = (position + usize::from(value)).min(bytes.len());
    match how % 8 {
        0 => bytes.iter_mut().skip(position).take(1).for_each(|byte| *byte ^= value),
        1 => bytes.iter_mut().skip(position).take(1).for_each(|byte| *byte = value),
        2 => bytes.truncate(position),
        3 => bytes.resize(bytes.len() + usize::from(value), position as u8),
        4 => bytes[position.min(end)..end].fill(0),
        5 => bytes[position.min(end)..end].fill(0xff),
        // Longer by leading zeros.
        6 => drop(bytes.splice(position.min(end)..position.min(end), vec![0; value.into()])),
        // The big-endian number that ends here, a little more: n - 1, p + 1, and the like.
        _ => {
            let mut carry = i16::from(value.cast_signed());
            for byte in bytes.iter_mut().take(position + 1).rev() {
                let sum = i16::from(*byte) + carry;
                *byte = sum.rem_euclid(256) as u8;
                carry = sum.div_euclid(256);
            }
        }
    }
}
