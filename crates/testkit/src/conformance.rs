//! What every device must do, whatever it is: run by each device's own tests.

use core::time::Duration;
use std::collections::BTreeMap;

use lookaside::{InstanceConfig, Runtime};
use lookaside_core::{
    Buf, Checksum, Compression, Device, Flush, Format, Op, OpError, Response, Status,
};

use crate::mixed;

mod scan;
mod scatter;
mod symmetric;

/// Runs the conformance tests on a device, once with its requests executed by the caller and once
/// by engine threads. Panics at the first violation.
pub fn conformance<D: Device + 'static>(device: impl Fn() -> D) {
    best_batches(&device());
    for engines in [0, 2] {
        // A device that engines share refuses for as long as the thread of the engine that holds all of it is not run.
        let builder = Runtime::builder().device(device()).engines(engines);
        let runtime = builder.stall(Duration::from_secs(10)).start().expect("the runtime starts");
        let has = |op| device().capabilities().iter().any(|c| c.op == op);
        if has(Op::Copy) {
            copies(&runtime);
        }
        if has(Op::CopyCrc32) && has(Op::Fill) && has(Op::Compare) {
            symmetric::mover(&runtime);
        }
        if has(Op::Random) {
            symmetric::random(&runtime);
        }
        if has(Op::Seal) && has(Op::Digest) {
            symmetric::sealed(&runtime);
            symmetric::digests(&runtime);
            scatter::lists(&runtime);
            scatter::iv_in_the_text(&runtime);
        }
        if has(Op::Compress) && has(Op::Decompress) {
            stateless(&runtime);
            bounds(&runtime);
            scattered(&runtime);
            pieces(&runtime);
            streams(&runtime);
        }
        if has(Op::Scan) {
            scan::blocks(&runtime);
            scan::flows(&runtime);
            scan::refused(&runtime);
        }
    }
}

/// The same of data compression, for a device that does part of what its operations are, with another one behind it that
/// does all. Returns how many requests each device has answered, by its name.
pub fn conformance_before<D: Device + 'static, N: Device + 'static>(
    device: impl Fn() -> D,
    next: impl Fn() -> N,
) -> BTreeMap<String, u64> {
    best_batches(&device());
    before(device, next, |runtime| {
        stateless(runtime);
        bounds(runtime);
        scattered(runtime);
        pieces(runtime);
        streams(runtime);
    })
}

/// The same of symmetric cryptography.
pub fn symmetric_before<D: Device + 'static, N: Device + 'static>(
    device: impl Fn() -> D,
    next: impl Fn() -> N,
) -> BTreeMap<String, u64> {
    before(device, next, |runtime| {
        symmetric::sealed(runtime);
        symmetric::digests(runtime);
        scatter::lists(runtime);
        scatter::iv_in_the_text(runtime);
    })
}

fn before<D: Device + 'static, N: Device + 'static>(
    device: impl Fn() -> D,
    next: impl Fn() -> N,
    conforms: impl Fn(&Runtime),
) -> BTreeMap<String, u64> {
    let mut answered = BTreeMap::new();
    for engines in [0, 2] {
        let builder = Runtime::builder().device(device()).device(next());
        let runtime = builder.engines(engines).start().expect("the runtime starts");
        conforms(&runtime);
        for row in runtime.counters().ops {
            *answered.entry(row.device).or_default() += row.requests;
        }
    }
    answered
}

/// What the device says of an operation without its rows is what the rows say.
fn best_batches(device: &impl Device) {
    for op in Op::ALL {
        let rows = device.capabilities().iter().filter(|row| row.op == op);
        let best = rows.map(|row| row.best_batch.max(1)).max().unwrap_or(0);
        assert_eq!(device.best_batch(op), best, "the best batch of {}", op.name());
    }
}

/// A lone request: with 0 engines the device may execute it within [`lookaside_core::Channel::run_now`].
fn call(runtime: &Runtime, request: lookaside_core::Request) -> Response {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    instance.push(request).expect("room for one");
    assert!(instance.wait(Duration::from_secs(60)), "an answer");
    instance.poll().next().expect("the answer")
}

fn copies(runtime: &Runtime) {
    let mover = runtime.mover().expect("a mover");
    for len in [0, 1, 63, 64, 65, 4096, 100_000] {
        let data = mixed(len as u64, len);
        let r = call(runtime, mover.copy(Buf::from(&*data), Buf::zeroed(len + 3)).tag(7));
        let done = r.result.expect("a copy");
        assert_eq!((r.tag, done.consumed, done.produced), (7, len, len));
        assert_eq!(r.src.as_slice(), Some(&*data), "the source comes back unchanged");
        assert_eq!(&r.dst.as_slice().expect("one piece")[..len], &*data);
    }
    let r = call(runtime, mover.copy(Buf::zeroed(10), Buf::zeroed(9)));
    assert_eq!(r.result, Err(OpError::DstTooSmall));
    assert_eq!((r.src.len(), r.dst.len()), (10, 9), "buffers come back on error");
    let read_only = Buf::shared(std::sync::Arc::new(vec![0u8; 10]), 0..10);
    let r = call(runtime, mover.copy(Buf::zeroed(10), read_only));
    assert_eq!(r.result, Err(OpError::Unsupported));
}

fn stateless(runtime: &Runtime) {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    for format in Format::ALL {
        for level in format.levels().filter(|level| *level <= 12) {
            let spec =
                Compression { format, level, checksum: Checksum::Crc32, ..Compression::default() };
            let session = runtime.compression(spec).expect("a session");
            let data = mixed(u64::from(level), 70_000);
            for (i, len) in [0, 1, 100, 65_536, 70_000].into_iter().enumerate() {
                let src = Buf::from(&data[..len]);
                let dst = Buf::zeroed(session.bound(len));
                instance.push(session.compress(src, dst).tag(i as u64)).expect("room");
            }
            let mut packed = Vec::new();
            while instance.wait(Duration::from_secs(30)) {
                packed.extend(instance.poll());
            }
            assert_eq!(packed.len(), 5);
            for r in packed {
                let done = r.result.expect("compressed");
                assert_eq!(done.consumed, r.src.len());
                let mut packed = r.dst.into_vec();
                packed.truncate(done.produced);
                // Nothing in these says where they end.
                if !matches!(format, Format::Lz4Raw | Format::Lz4Blocks | Format::Lz4s) {
                    packed.extend_from_slice(b"what follows");
                }
                let len = r.src.len();
                let back = call(runtime, session.decompress(packed.into(), Buf::zeroed(len)));
                let undone = back.result.expect("decompressed");
                assert_eq!((undone.consumed, undone.produced), (done.produced, len));
                assert_eq!(undone.checksum, done.checksum);
                assert_eq!(back.dst.as_slice(), r.src.as_slice());
            }
        }
    }
}

fn bounds(runtime: &Runtime) {
    let spec = Compression { format: Format::Gzip, ..Compression::default() };
    let session = runtime.compression(spec).expect("a session");
    let data = mixed(1, 10_000);
    let r = call(runtime, session.compress(Buf::from(&*data), Buf::zeroed(100)));
    assert_eq!(r.result, Err(OpError::DstTooSmall));
    let garbage = call(runtime, session.decompress(Buf::from(&*data), Buf::zeroed(100)));
    assert!(matches!(garbage.result, Err(OpError::BadData { .. })), "{:?}", garbage.result);
    let packed = call(runtime, session.compress(Buf::from(&*data), Buf::zeroed(20_000)));
    let n = packed.result.expect("compressed").produced;
    let packed = &packed.dst.as_slice().expect("one piece")[..n];
    let bomb = call(runtime, session.decompress(Buf::from(packed), Buf::zeroed(9_999)));
    assert_eq!(bomb.result, Err(OpError::DstTooSmall), "the destination is the limit");
    let cut = call(runtime, session.decompress(Buf::from(&packed[..n - 1]), Buf::zeroed(10_000)));
    assert!(matches!(cut.result, Err(OpError::BadData { .. })), "{:?}", cut.result);
}

fn scattered(runtime: &Runtime) {
    let session = runtime.compression(Compression::default()).expect("a session");
    let data = mixed(2, 50_000);
    let pieces = |d: &[u8]| Buf::list(d.chunks(7_001).map(Buf::from).collect());
    let room = Buf::list((0..9).map(|_| Buf::zeroed(6_000)).collect());
    let r = call(runtime, session.compress(pieces(&data), room));
    let n = r.result.expect("compressed").produced;
    let mut packed = r.dst.into_vec();
    packed.truncate(n);
    let room = Buf::list((0..10).map(|_| Buf::zeroed(5_000)).collect());
    let back = call(runtime, session.decompress(pieces(&packed), room));
    assert_eq!(back.result.expect("decompressed").produced, data.len());
    assert_eq!(back.dst.into_vec(), data);
}

/// Pieces compressed on their own and joined are one stream.
fn pieces(runtime: &Runtime) {
    for level in [0, 1, 3, 6, 9, 12] {
        let spec = Compression { level, ..Compression::default() };
        let session = runtime.compression(spec).expect("a session");
        let mut data = mixed(3, 150_000);
        let mut rng = crate::Rng::new(level.into());
        data[50_000..100_000].fill_with(|| rng.next_u64() as u8);
        let mut joined = Vec::new();
        for piece in data.chunks(31_000).chain([&[][..]]) {
            let dst = Buf::zeroed(session.bound(piece.len()));
            let r = call(runtime, session.compress_piece(Buf::from(piece), dst));
            let done = r.result.expect("a piece");
            assert_eq!((done.consumed, done.status), (piece.len(), Status::Complete));
            joined.extend_from_slice(&r.dst.as_slice().expect("one")[..done.produced]);
        }
        joined.extend_from_slice(&[3, 0]);
        let r = call(runtime, session.decompress(joined.into(), Buf::zeroed(data.len())));
        assert_eq!(r.result.expect("one stream").consumed, r.src.len());
        assert!(r.dst.as_slice() == Some(&*data));
    }
    let zlib = Compression { format: Format::Zlib, ..Compression::default() };
    let session = runtime.compression(zlib).expect("a session");
    let r = call(runtime, session.compress_piece(Buf::zeroed(9), Buf::zeroed(100)));
    assert_eq!(r.result, Err(OpError::Unsupported));
}

/// Pieces pushed ahead, with overflows: order is kept, and what was cancelled is pushed again.
fn streams(runtime: &Runtime) {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    let spec = Compression { format: Format::Zlib, level: 6, ..Compression::default() };
    let dictionary = mixed(4, 5_000);
    let stream = runtime.compress_stream(spec, Some(&dictionary)).expect("a stream");
    let data = mixed(4, 100_000);
    let pieces: Vec<&[u8]> = data.chunks(9_000).collect();
    let mut packed = Vec::new();
    let mut todo: Vec<(Vec<u8>, Flush)> = pieces
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let flush = match i {
                i if i + 1 == pieces.len() => Flush::Finish,
                i if i % 3 == 0 => Flush::Sync,
                _ => Flush::None,
            };
            (p.to_vec(), flush)
        })
        .collect();
    while !todo.is_empty() {
        let mut again = Vec::new();
        for (i, (src, flush)) in todo.iter().enumerate() {
            let request = stream.compress(src.clone().into(), Buf::zeroed(2_000), *flush);
            instance.push(request.tag(i as u64)).expect("room");
        }
        let mut next = 0;
        while instance.wait(Duration::from_secs(30)) {
            for r in instance.poll() {
                assert_eq!(r.tag, next, "responses of a stream come in order");
                next += 1;
                let (src, flush) = &todo[r.tag as usize];
                match r.result {
                    Ok(done) => {
                        packed.extend_from_slice(&r.dst.as_slice().expect("one")[..done.produced]);
                        if done.status == Status::Overflow {
                            again.push((src[done.consumed..].to_vec(), *flush));
                        } else {
                            assert!(again.is_empty(), "nothing runs behind an overflow");
                        }
                    }
                    Err(OpError::Cancelled) => again.push((src.clone(), *flush)),
                    Err(e) => panic!("{e}"),
                }
            }
        }
        assert_eq!(next as usize, todo.len(), "each answered once");
        todo = again;
    }

    let stream = runtime.decompress_stream(Format::Zlib, Some(&dictionary)).expect("a stream");
    let mut out = Vec::new();
    let mut rest = &packed[..];
    loop {
        let piece = &rest[..rest.len().min(700)];
        let r = call(runtime, stream.decompress(Buf::from(piece), Buf::zeroed(1_000)));
        let done = r.result.expect("decompressed");
        out.extend_from_slice(&r.dst.as_slice().expect("one piece")[..done.produced]);
        rest = &rest[done.consumed..];
        if done.status == Status::End {
            break;
        }
        assert!(!rest.is_empty() || done.status == Status::Overflow, "the stream must end");
    }
    assert!(rest.is_empty());
    assert_eq!(out, data);
}
