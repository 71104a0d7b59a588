//! Our decoder in step with stock zlib: the same pieces to both, and after every call the same
//! counts, bytes, message, and all that zlib tells about where it stands.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::mem::{self, MaybeUninit};

use common::{CONTENTS, Content, Guarded, Rng, content, cpus};
use libz_sys as z;
use lookaside_compress::{Inflate, Place, Until};

unsafe extern "C" {
    fn inflateMark(stream: *mut z::z_stream) -> libc::c_long;
    fn inflateCodesUsed(stream: *mut z::z_stream) -> libc::c_ulong;
}

extern "C" fn alloc(_: *mut libc::c_void, items: u32, size: u32) -> *mut libc::c_void {
    // SAFETY: any sizes may be passed; zlib checks for null.
    unsafe { libc::calloc(items as usize, size as usize) }
}

extern "C" fn free(_: *mut libc::c_void, memory: *mut libc::c_void) {
    // SAFETY: zlib frees what `alloc` gave, once.
    unsafe { libc::free(memory) }
}

fn fresh() -> Box<z::z_stream> {
    // SAFETY: all zeros but for the two functions, which may not be null in Rust.
    unsafe {
        let mut stream = Box::new(MaybeUninit::<z::z_stream>::zeroed());
        let raw = stream.as_mut_ptr();
        (&raw mut (*raw).zalloc).write(alloc);
        (&raw mut (*raw).zfree).write(free);
        stream.assume_init()
    }
}

const SIZE: i32 = mem::size_of::<z::z_stream>() as i32;

/// Everything that can be told after a call.
#[derive(Debug, PartialEq)]
struct Seen {
    consumed: usize,
    produced: usize,
    output: Vec<u8>,
    ended: bool,
    message: Option<String>,
    data_type: i32,
    /// Not after an error: it is what the loop left that happened to find it.
    mark: Option<i64>,
    codes_used: u64,
}

struct Oracle(Box<z::z_stream>);

impl Oracle {
    fn new(window_bits: i32) -> Oracle {
        let mut stream = fresh();
        // SAFETY: a fresh stream; the version and size are those of these bindings.
        let result =
            unsafe { z::inflateInit2_(&mut *stream, -window_bits, z::zlibVersion(), SIZE) };
        assert_eq!(result, z::Z_OK);
        Oracle(stream)
    }

    fn step(&mut self, src: &[u8], room: usize, until: Until) -> Seen {
        let mut dst = vec![0; room];
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = src.len() as u32;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = room as u32;
        let flush = match until {
            Until::Ends => z::Z_NO_FLUSH,
            Until::Block => z::Z_BLOCK,
            Until::Header => z::Z_TREES,
        };
        // SAFETY: an initialized stream, slices valid for their lengths.
        let (code, mark, codes_used) = unsafe {
            let code = z::inflate(&mut *self.0, flush);
            (code, inflateMark(&mut *self.0), inflateCodesUsed(&mut *self.0))
        };
        let produced = room - self.0.avail_out as usize;
        dst.truncate(produced);
        // SAFETY: null or a constant string.
        let message = (code == z::Z_DATA_ERROR)
            .then(|| unsafe { CStr::from_ptr(self.0.msg) }.to_str().unwrap().to_owned());
        Seen {
            consumed: src.len() - self.0.avail_in as usize,
            produced,
            output: dst,
            ended: code == z::Z_STREAM_END,
            data_type: self.0.data_type,
            mark: message.is_none().then_some(mark),
            message,
            codes_used,
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // SAFETY: initialized in `new`, ended once.
        unsafe { z::inflateEnd(&mut *self.0) };
    }
}

/// One step of ours. Input and room end at pages that must not be touched.
fn step(inflate: &mut Inflate, src: &[u8], room: usize, until: Until) -> Seen {
    thread_local! {
        static PAGES: RefCell<[Guarded; 2]> = RefCell::new([0; 2].map(|_| Guarded::new(1 << 20)));
    }
    let (taken, fault, output) = PAGES.with_borrow_mut(|[input, output]| {
        let (from, to) = (input.len() - src.len(), output.len() - room);
        let input = &mut input[from..];
        input.copy_from_slice(src);
        let dst = &mut output[to..];
        let (taken, fault) = match inflate.step(input, dst, until) {
            Ok(taken) => (taken, None),
            Err((taken, fault)) => (taken, Some(fault)),
        };
        (taken, fault, dst[..taken.produced].to_vec())
    });
    if taken.produced > 0 {
        inflate.keep(&output);
    }
    let at = inflate.at();
    let (before, mark) = match at {
        Place::BeforeBlock => (128, 0),
        Place::AfterHeader => (256, 0),
        Place::Copy(left) => (0, left),
        Place::Match(written) => (0, written),
        _ => (0, 0),
    };
    let last = if inflate.in_last_block() { 64 } else { 0 };
    Seen {
        consumed: taken.consumed,
        produced: taken.produced,
        output,
        ended: at == Place::End,
        mark: fault.is_none().then_some((i64::from(inflate.back()) << 16) + i64::from(mark)),
        message: fault.map(|fault| fault.message().to_str().unwrap().to_owned()),
        data_type: inflate.unused_bits() as i32 + last + before,
        codes_used: inflate.zlib_codes_used().into(),
    }
}

/// Both, in the same pieces, until the end, an error, or nothing moves any more. What came out.
fn in_step(
    ours: &mut Inflate,
    zlib: &mut Oracle,
    src: &[u8],
    mut piece: impl FnMut() -> (usize, usize, Until),
) -> (Vec<u8>, bool) {
    let (mut at, mut output, mut idle) = (0, Vec::new(), 0);
    loop {
        let (take, room, until) = piece();
        let part = &src[at..(at + take).min(src.len())];
        let theirs = zlib.step(part, room, until);
        let our = step(ours, part, room, until);
        assert_eq!(our, theirs, "at {at} of {}, {take} in, {room} out, {until:?}", src.len());
        at += our.consumed;
        output.extend_from_slice(&our.output);
        if our.ended || our.message.is_some() {
            return (output, our.ended);
        }
        idle = if our.consumed + our.produced > 0 { 0 } else { idle + 1 };
        if idle > 50 {
            return (output, false);
        }
    }
}

/// A raw stream by zlib: any level, strategy, memory, window, with flushes.
fn packed(rng: &mut Rng, plain: &[u8], window_bits: i32) -> Vec<u8> {
    let mut stream = fresh();
    let level = rng.below(10) as i32;
    let strategy = rng.pick(&[0, 0, 0, 1, 2, 3, 4]);
    let memory = 1 + rng.below(9) as i32;
    let mut dst = vec![0; plain.len() * 2 + 5000];
    // SAFETY: a fresh stream; slices valid for their lengths; ended once.
    unsafe {
        let version = z::zlibVersion();
        let window_bits = -window_bits.max(9);
        let result =
            z::deflateInit2_(&mut *stream, level, 8, window_bits, memory, strategy, version, SIZE);
        assert_eq!(result, z::Z_OK);
        stream.next_out = dst.as_mut_ptr();
        stream.avail_out = dst.len() as u32;
        let mut at = 0;
        while at < plain.len() {
            let count = (1 + rng.below(plain.len())).min(plain.len() - at);
            stream.next_in = plain[at..].as_ptr().cast_mut();
            stream.avail_in = count as u32;
            let flush = rng.pick(&[0, 0, 0, 1, 2, 3, 5]);
            assert_eq!(z::deflate(&mut *stream, flush), z::Z_OK);
            assert_eq!(stream.avail_in, 0);
            at += count;
        }
        assert_eq!(z::deflate(&mut *stream, z::Z_FINISH), z::Z_STREAM_END);
        dst.truncate(dst.len() - stream.avail_out as usize);
        z::deflateEnd(&mut *stream);
    }
    dst
}

/// Fewer rounds where nothing is optimised.
const fn rounds(count: usize) -> usize {
    if cfg!(debug_assertions) { count.div_ceil(10) } else { count }
}

fn plain(rng: &mut Rng, most: usize) -> Vec<u8> {
    let len = rng.below(most);
    content(rng.pick(&CONTENTS), len, rng.next() >> 8)
}

const UNTIL: [Until; 6] =
    [Until::Ends, Until::Ends, Until::Ends, Until::Ends, Until::Block, Until::Header];

/// Random sizes of input and output, not so small that a stream of `len` bytes takes forever.
fn pieces(rng: &mut Rng, len: usize) -> impl FnMut() -> (usize, usize, Until) + use<> {
    let mut rng = Rng::new(rng.next());
    let sizes = [1, 7, 40, 500, 5000, 50_000, 500_000];
    let least = |size: usize, len: usize| size.max(len / 300);
    let take = least(rng.pick(&sizes), len);
    let room = least(rng.pick(&sizes), 4 * len);
    let stops = rng.below(2) == 0;
    move || {
        let until = if stops { rng.pick(&UNTIL) } else { Until::Ends };
        (rng.below(take + 1), rng.below(room + 1), until)
    }
}

#[test]
fn good_streams_in_random_pieces() {
    for cpu in cpus() {
        let mut rng = Rng::new(1);
        let mut ours = Inflate::boxed(15, &cpu);
        for _ in 0..rounds(200) {
            let most = rng.pick(&[50, 1000, 30_000, 300_000]);
            let plain = plain(&mut rng, most);
            let window_bits = rng.pick(&[15, 15, 15, 9, 12]);
            let src = packed(&mut rng, &plain, window_bits);
            ours.reset(window_bits as u8);
            let mut zlib = Oracle::new(window_bits);
            let (output, ended) = in_step(&mut ours, &mut zlib, &src, pieces(&mut rng, src.len()));
            assert!(ended && output == plain);
        }
    }
}

#[test]
fn whole_streams_with_room_and_without() {
    for cpu in cpus() {
        let mut rng = Rng::new(2);
        let mut ours = Inflate::boxed(15, &cpu);
        for _ in 0..rounds(30) {
            let plain = plain(&mut rng, 200_000);
            let src = packed(&mut rng, &plain, 15);
            for more in [0, 1, 5, 400] {
                ours.reset(15);
                let mut zlib = Oracle::new(15);
                let all = (src.len() + more, plain.len() + more, Until::Ends);
                let (output, ended) = in_step(&mut ours, &mut zlib, &src, || all);
                assert!(ended && output == plain);
            }
        }
    }
}

/// Small windows, streams that reach beyond them; the history of another stream.
#[test]
fn matches_out_of_the_window_are_refused_where_zlib_does() {
    let mut refused = 0;
    for cpu in cpus() {
        let mut rng = Rng::new(3);
        let mut ours = Inflate::boxed(15, &cpu);
        for _ in 0..rounds(200) {
            let plain = content(Content::Mixed, 40_000, rng.next() >> 8);
            let src = packed(&mut rng, &plain, 15);
            let window_bits = 8 + rng.below(7);
            ours.reset(window_bits as u8);
            let mut zlib = Oracle::new(window_bits as i32);
            let (_, ended) = in_step(&mut ours, &mut zlib, &src, pieces(&mut rng, src.len()));
            refused += usize::from(!ended);
        }
    }
    assert!(refused > rounds(20), "{refused}");
}

fn mutate(rng: &mut Rng, src: &mut Vec<u8>) {
    for _ in 0..1 + rng.below(3) {
        if src.is_empty() {
            src.push(0);
        }
        // Mostly near the start, where headers are.
        let reach = rng.pick(&[4, 20, 100, usize::MAX]).min(src.len());
        let at = rng.below(reach);
        match rng.below(5) {
            0 => src[at] = rng.next() as u8,
            1..=2 => src[at] ^= 1 << rng.below(8),
            3 => src.truncate(at),
            _ => src.insert(at, rng.next() as u8),
        }
    }
}

/// How many streams every tier is given. More on demand:
///
/// ```sh
/// LOOKASIDE_DAMAGED=10000000 cargo test --release -p lookaside-compress --test inflate damaged
/// ```
fn damaged_count() -> usize {
    let said = std::env::var("LOOKASIDE_DAMAGED").ok();
    said.map_or(4 * rounds(600), |text| text.parse().expect("LOOKASIDE_DAMAGED: a number"))
}

/// How many of `count` damaged streams ended all the same, and what was wrong with the others.
fn damaged(
    cpu: &lookaside_simd::Cpu,
    seed: u64,
    count: usize,
) -> (usize, BTreeMap<&'static CStr, usize>) {
    let (mut ended, mut messages) = (0, BTreeMap::new());
    let mut rng = Rng::new(seed);
    let mut ours = Inflate::boxed(15, cpu);
    let each = if count > 10_000 { 16 } else { 4 };
    for _ in 0..count.div_ceil(each) {
        let most = rng.pick(&[50, 1000, 20_000]);
        let plain = plain(&mut rng, most);
        let good = packed(&mut rng, &plain, 15);
        for _ in 0..each {
            let mut src = good.clone();
            mutate(&mut rng, &mut src);
            ours.reset(15);
            let mut zlib = Oracle::new(15);
            let (_, end) = in_step(&mut ours, &mut zlib, &src, pieces(&mut rng, src.len()));
            ended += usize::from(end);
            if let Some(fault) = ours.fault() {
                *messages.entry(fault.message()).or_insert(0) += 1;
            }
        }
    }
    (ended, messages)
}

#[test]
fn damaged_streams() {
    let count = damaged_count();
    let cpus = cpus();
    let found: Vec<_> = std::thread::scope(|scope| {
        let start = |(cpu, seed)| scope.spawn(move || damaged(cpu, seed, count));
        let runs: Vec<_> = cpus.iter().zip(4..).map(start).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for (cpu, (ended, messages)) in cpus.iter().zip(found) {
        println!("{}: {count} streams, {ended} ended, {messages:?}", cpu.tier());
        assert!(ended > count / 24, "{ended}");
        if !cfg!(debug_assertions) {
            assert_eq!(messages.len(), 11, "every fault: {messages:?}");
        }
    }
}

/// Code sets of every kind: too many, too few, one, none.
#[test]
fn made_up_headers() {
    let mut ended = 0;
    let mut messages = BTreeMap::new();
    for cpu in cpus() {
        let mut rng = Rng::new(5);
        let mut ours = Inflate::boxed(15, &cpu);
        for _ in 0..rounds(4000) {
            let src = header(&mut rng);
            ours.reset(15);
            let mut zlib = Oracle::new(15);
            let (_, end) = in_step(&mut ours, &mut zlib, &src, pieces(&mut rng, src.len()));
            ended += usize::from(end);
            if let Some(fault) = ours.fault() {
                *messages.entry(fault.message()).or_insert(0) += 1;
            }
        }
    }
    assert!(ended > rounds(500), "{ended}");
    // All but a wrong repetition, which takes damage.
    assert!(messages.len() >= 10, "{messages:?}");
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn put(&mut self, value: usize, bits: usize) {
        for bit in 0..bits {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            self.bytes[self.count / 8] |= ((value >> bit & 1) as u8) << (self.count % 8);
            self.count += 1;
        }
    }
}

/// Splits leaves at random until there are `symbols`: lengths of a complete code.
fn complete(rng: &mut Rng, symbols: usize, most: usize) -> Vec<usize> {
    let mut lengths = vec![0];
    while lengths.len() < symbols {
        // The deepest leaf, or any: long codes, or short ones.
        let at = if rng.below(3) == 0 { lengths.len() - 1 } else { rng.below(lengths.len()) };
        if lengths[at] == most {
            if lengths.iter().all(|&l| l == most) {
                break;
            }
            continue;
        }
        lengths[at] += 1;
        lengths.push(lengths[at]);
    }
    lengths
}

fn header(rng: &mut Rng) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(rng.below(2) | 2 << 1, 3);
    let litlens = 257 + rng.below(30);
    let distances = 1 + rng.below(30);
    let mut lengths = vec![0; litlens + distances];
    let used = rng.pick(&[1, 2, 3, 20, 200]);
    for (index, length) in complete(rng, used, 15).into_iter().enumerate() {
        // The end of the block first, mostly.
        let at = if index == 0 && rng.below(8) != 0 { 256 } else { rng.below(litlens) };
        lengths[at] = length.max(rng.below(2));
    }
    let used = rng.pick(&[0, 1, 1, 2, 10, 30]);
    for length in complete(rng, used, 15).into_iter().take(used) {
        let at = litlens + rng.below(distances);
        if lengths[at] == 0 {
            lengths[at] = length.max(rng.below(2));
        }
    }
    // Made complete again where symbols fell on each other: fill with the longest.
    for (part, all) in [(0..litlens, litlens), (litlens..litlens + distances, distances)] {
        if rng.below(4) != 0 {
            let kraft = |lengths: &[usize]| -> i64 {
                (1 << 15) - lengths.iter().filter(|&&l| l > 0).map(|&l| 1 << (15 - l)).sum::<i64>()
            };
            for _ in 0..4 * all {
                let left = kraft(&lengths[part.clone()]);
                let at = part.start + rng.below(all);
                if left > 0 && lengths[at] == 0 {
                    lengths[at] = 15 - left.ilog2() as usize;
                }
            }
        }
    }
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    // In parts of 32: 12 of 1, 4 of 2, 3 of 4. A complete code, mostly.
    let mut code = [5; 19];
    code[16..].fill(3);
    code[15] = if rng.below(40) == 0 { rng.below(8) } else { 4 };
    code[14] = 4;
    code[13] = 4;
    code[12] = 4;
    bits.put(litlens - 257, 5);
    bits.put(distances - 1, 5);
    bits.put(15, 4);
    order.iter().for_each(|&symbol| bits.put(code[symbol], 3));
    // Canonical codes.
    let mut codes = [0; 19];
    let mut next = 0;
    for length in 1..8 {
        for symbol in 0..19 {
            if code[symbol] == length {
                codes[symbol] = next;
                next += 1;
            }
        }
        next <<= 1;
    }
    let put = |bits: &mut Bits, symbol: usize| {
        let length = code[symbol];
        for bit in (0..length).rev() {
            bits.put(codes[symbol] >> bit & 1, 1);
        }
    };
    let mut at = 0;
    while at < lengths.len() {
        let run = lengths[at..].iter().take_while(|&&l| l == lengths[at]).count();
        if lengths[at] == 0 && run >= 3 && rng.below(5) != 0 {
            let count = run.min(138);
            if count > 10 {
                put(&mut bits, 18);
                bits.put(count - 11, 7);
            } else {
                put(&mut bits, 17);
                bits.put(count - 3, 3);
            }
            at += count;
        } else {
            put(&mut bits, lengths[at]);
            at += 1;
        }
    }
    for _ in 0..rng.pick(&[0, 10, 100, 2000]) {
        bits.put(rng.next() as usize & 0xff, 8);
    }
    bits.bytes
}

/// Every split of a small stream in two, and every stream byte by byte.
#[test]
fn every_split() {
    let mut rng = Rng::new(6);
    let cpu = &cpus()[0];
    let mut ours = Inflate::boxed(15, cpu);
    for kind in CONTENTS {
        let plain = content(kind, 700, 9);
        let src = packed(&mut rng, &plain, 15);
        for cut in 0..=src.len() {
            for room in [3, 64, 1100] {
                let mut first = true;
                ours.reset(15);
                let mut zlib = Oracle::new(15);
                let (output, ended) = in_step(&mut ours, &mut zlib, &src, || {
                    let take = if mem::take(&mut first) { cut } else { 5000 };
                    (take, room, Until::Ends)
                });
                assert!(ended && output == plain);
            }
        }
        for (take, room) in [(1, 1), (1, 1000), (1000, 1), (2, 3)] {
            ours.reset(15);
            let mut zlib = Oracle::new(15);
            let (output, ended) =
                in_step(&mut ours, &mut zlib, &src, || (take, room, Until::Header));
            assert!(ended && output == plain);
        }
    }
}

/// A dictionary, and a copy in the middle of a stream: both go on alike.
#[test]
fn dictionaries_and_copies() {
    let mut rng = Rng::new(7);
    for cpu in cpus() {
        for _ in 0..rounds(60) {
            let plain = plain(&mut rng, 60_000);
            let src = packed(&mut rng, &plain, 15);
            let dictionary = content(Content::Text, rng.below(40_000), 3);
            let mut ours = Inflate::boxed(15, &cpu);
            let mut zlib = Oracle::new(15);
            ours.keep(&dictionary);
            // SAFETY: an initialized stream and a valid slice.
            unsafe {
                let (bytes, len) = (dictionary.as_ptr(), dictionary.len() as u32);
                assert_eq!(z::inflateSetDictionary(&mut *zlib.0, bytes, len), z::Z_OK);
            }
            let cut = rng.below(src.len() + 1);
            let room = rng.below(70_000);
            let before = step(&mut ours, &src[..cut], room, Until::Ends);
            assert_eq!(before, zlib.step(&src[..cut], room, Until::Ends));
            let (old, new) = ours.history();
            let kept = [&dictionary[..], &before.output].concat();
            let kept = &kept[kept.len().saturating_sub(1 << 15)..];
            assert!([old, new].concat() == kept);

            let mut memory = Box::new_uninit();
            ours.copy_to(&mut memory);
            // SAFETY: just written.
            let mut copy = unsafe { memory.assume_init() };
            let rest = &src[before.consumed..];
            let mut random = pieces(&mut rng, rest.len());
            let mut sizes = Vec::new();
            let (output, _) = in_step(&mut ours, &mut zlib, rest, || {
                sizes.push(random());
                *sizes.last().unwrap()
            });
            let (mut at, mut again) = (0, Vec::new());
            for (take, room, until) in sizes {
                let seen = step(&mut copy, &rest[at..(at + take).min(rest.len())], room, until);
                at += seen.consumed;
                again.extend_from_slice(&seen.output);
            }
            assert!(again == output);
        }
    }
}
