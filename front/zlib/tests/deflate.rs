//! The deflate functions against the system's zlib: what is decoded, return codes, counters.

mod common;

use std::ffi::{c_int, c_uint, c_ulong};

use common::*;

const WRAPS: [c_int; 3] = [15, 31, -15];

/// Every flush, level, wrapper and many splits of input and output: after a flush everything is
/// there, at the end the same bytes, checksum and counters as stock has. (With less room than a
/// marker needs, it is repeated for ever, as zlib.h warns.)
#[test]
fn everything_flushed_can_be_decoded() {
    let data = text(90_000);
    for level in [0, 1, 2, 3, 4, 6, 9] {
        for bits in WRAPS {
            for flush in [NO_FLUSH, PARTIAL, SYNC, FULL, BLOCK] {
                for (take, room) in
                    [(1, 7), (100, 9), (3_000, 100), (20_000, 600), (70_000, 90_000)]
                {
                    let data = &data[..data.len().min(take * 40)];
                    let mut out = Vec::new();
                    let mut stream = Deflate::new(OURS, shape(level, bits));
                    for (i, chunk) in data.chunks(take).enumerate() {
                        let code = stream.feed(chunk, room, flush, &mut out);
                        // After a flush that ended with the room, the next one has nothing to do.
                        assert!(code == OK || code == BUF_ERROR, "{code}");
                        if matches!(flush, SYNC | FULL | PARTIAL) && (i % 7 == 0 || take > 1000) {
                            let (_, got) = inflate_all(&out, bits, None);
                            let done = data.len().min((i + 1) * take);
                            assert_eq!(got.len(), done, "{level} {bits} {flush} {take} {room}");
                        }
                    }
                    assert_eq!(stream.feed(&[], room, FINISH, &mut out), STREAM_END);
                    assert_eq!(stream.strm.total_in as usize, data.len());
                    assert_eq!(stream.strm.total_out as usize, out.len());
                    let (code, got) = inflate_all(&out, bits, None);
                    assert!(
                        code == STREAM_END && got == data,
                        "{level} {bits} {flush} {take} {room}"
                    );
                    let mut other = Deflate::new(stock(), shape(level, bits));
                    other.feed(data, 200_000, FINISH, &mut Vec::new());
                    assert_eq!(stream.strm.adler, other.strm.adler);
                    assert_eq!(stream.end(), OK);
                    other.end();
                }
            }
        }
    }
}

/// Calls of random kinds with all the room they want: both answer each the same.
#[test]
fn codes_and_counters_as_stock() {
    let data = [text(60_000), noise(20_000), vec![0; 50_000]].concat();
    for seed in 0..1500 {
        let mut rng = Rng(seed);
        let shape = Shape {
            level: rng.pick(&[-1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            bits: rng.pick(&[15, 15, 31, -15, -15, 9, 12, 25, -9, 8]),
            mem: rng.pick(&[8, 8, 8, 1, 9]),
            strategy: rng.pick(&[0, 0, 0, 1, 2, 3, 4]),
        };
        let mut pair = [OURS, stock()].map(|zlib| Deflate::new(zlib, shape));
        let mut outs = [Vec::new(), Vec::new()];
        let (mut dictionary, mut at, mut primed) = (None, 0, false);
        for step in 0..rng.below(12) + 1 {
            let n = rng.pick(&[0, 1, 50, 300, 5_000, 40_000]).min(data.len() - at);
            let chunk = &data[at..at + n];
            let what = rng.below(14);
            let flush = rng.pick(&[NO_FLUSH, NO_FLUSH, SYNC, FULL, PARTIAL, BLOCK, FINISH, 6, -1]);
            let (level, strategy) =
                (rng.pick(&[-1, 0, 1, 2, 3, 6, 9, 10]), rng.pick(&[0, 0, 1, 2, 3, 4, 5]));
            let many = rng.below(100);
            let results: Vec<_> = pair
                .iter_mut()
                .zip(&mut outs)
                .map(|(z, out)| {
                    let mut room = vec![0; 200_000];
                    let strm: *mut z_stream = &mut *z.strm;
                    // SAFETY: a stream of this library; slices and places to write to.
                    let code = unsafe {
                        match what {
                            0 => {
                                z.strm.next_in = std::ptr::null();
                                z.strm.avail_in = 0;
                                z.strm.next_out = room.as_mut_ptr();
                                z.strm.avail_out = 200_000;
                                let code = (z.zlib.deflateParams)(strm, level, strategy);
                                let made = 200_000 - z.strm.avail_out as usize;
                                out.extend_from_slice(&room[..made]);
                                code
                            }
                            1 => {
                                let d = &data[..many * 300];
                                (z.zlib.deflateSetDictionary)(strm, d.as_ptr(), d.len() as c_uint)
                            }
                            2 if many < 30 => {
                                out.clear();
                                (z.zlib.deflateReset)(strm)
                            }
                            3 if many < 20 => (z.zlib.deflateTune)(strm, 8, 16, 32, 64),
                            _ => {
                                let call = z.call(chunk, &mut room, flush);
                                out.extend_from_slice(&room[..call.made]);
                                assert_eq!(call.taken, if call.code >= 0 { n } else { 0 });
                                call.code
                            }
                        }
                    };
                    (code, z.strm.total_in, z.strm.adler, z.strm.msg.is_null())
                })
                .collect();
            let label =
                format!("seed {seed} step {step} what {what} flush {flush} {shape:?} n {n}");
            // Which input a library holds back is its own: deflateSetDictionary may differ in that.
            if what == 1 && results[0].0 != results[1].0 && at > 0 {
                primed = true;
                break;
            }
            assert_eq!(results[0], results[1], "{label}");
            match what {
                1 if results[0].0 == OK && shape.bits > 0 => dictionary = Some(many * 300),
                1 if results[0].0 == OK => primed = true,
                2 if many < 30 => (at, dictionary) = (0, None),
                0 | 1 => {}
                3 if many < 20 => {}
                _ if results[0].0 >= 0 => at += n,
                _ => {}
            }
            if primed {
                break;
            }
        }
        if primed {
            // Raw with a dictionary in the middle: the decoder needs it there too.
            pair.into_iter().for_each(|z| {
                z.end();
            });
            continue;
        }
        let ends: Vec<_> = pair
            .iter_mut()
            .zip(&mut outs)
            .map(|(z, out)| {
                let mut room = vec![0; 200_000];
                let call = z.call(&[], &mut room, FINISH);
                out.extend_from_slice(&room[..call.made]);
                (call.code, z.strm.total_in, z.strm.adler)
            })
            .collect();
        assert_eq!(ends[0], ends[1], "seed {seed} {shape:?}");
        let dictionary = dictionary.map(|n| &data[..n]);
        // A dictionary may have been set twice; the decoder then knows only the last.
        let (code, got) =
            inflate_all(&outs[0], if shape.bits == 8 { 15 } else { shape.bits }, dictionary);
        if code == STREAM_END {
            assert_eq!(got, &data[..at], "seed {seed} {shape:?}");
        } else {
            let bits = if shape.bits == 8 { 15 } else { shape.bits };
            let (theirs, _) = inflate_all(&outs[1], bits, dictionary);
            assert_eq!(code, theirs, "seed {seed} {shape:?}");
        }
        let [ours, theirs] = pair;
        assert_eq!(ours.end(), theirs.end());
    }
}

/// In one call, whatever the data: never more than the bound, which is stock's.
#[test]
fn bounds_hold_and_are_stocks() {
    let zlib = stock();
    let datas = [noise(300_000), text(300_000), [vec![0; 100_000], noise(100_000)].concat()];
    for level in 0..=9 {
        for bits in [15, 31, -15, 9, 10, 12, 14, 25, -9, -13] {
            for mem in [8, 1, 2, 6, 9] {
                for strategy in 0..=4 {
                    if strategy > 0 && (mem == 2 || mem == 6 || bits == 10 || bits == 14) {
                        continue;
                    }
                    let shape = Shape { level, bits, mem, strategy };
                    let mut theirs = Deflate::new(zlib, shape);
                    for (i, data) in datas.iter().enumerate() {
                        let lens = [0, 1, 5, 100, 16_384, 70_000, 300_000];
                        let len = lens[(level as usize + mem as usize + i + strategy as usize) % 7];
                        let data = &data[..len.min(data.len())];
                        let mut ours = Deflate::new(OURS, shape);
                        let len = data.len() as c_ulong;
                        // SAFETY: streams of their libraries.
                        let bounds = unsafe {
                            [
                                (OURS.deflateBound)(&mut *ours.strm, len),
                                (zlib.deflateBound)(&mut *theirs.strm, len),
                            ]
                        };
                        // At level 0 that of zlib 1.3, which is not too small.
                        let same = bounds[0] == bounds[1] || (level == 0 && bounds[0] > bounds[1]);
                        assert!(same, "{shape:?} {len} {bounds:?}");
                        let mut room = vec![0; bounds[0] as usize];
                        let call = ours.call(data, &mut room, FINISH);
                        assert_eq!(call.code, STREAM_END, "{shape:?} {len}");
                        let bits = if bits > 15 { 31 } else { bits };
                        assert!(inflate_all(&room[..call.made], bits, None).1 == data);
                        ours.end();
                    }
                    theirs.end();
                }
            }
        }
    }
    // SAFETY: no stream.
    unsafe {
        let null = std::ptr::null_mut();
        for len in [0, 1, 1000, 1 << 20, 1 << 33] {
            assert_eq!((OURS.deflateBound)(null, len), (zlib.deflateBound)(null, len));
        }
    }
}

/// Streams of what cannot be compressed, without flushes, stay within the bound too.
#[test]
fn streams_of_noise_stay_within_the_bound() {
    let noise = noise(3_000_000);
    for level in [0, 1, 6, 9] {
        for take in [4_000, 200_000, 1_000_000] {
            // Beyond what waits in any case, and several pieces where a call brings one.
            let data = &noise[..noise.len().min(700_000.max(take * 10))];
            let mut stream = Deflate::new(OURS, shape(level, 15));
            // SAFETY: a stream of ours.
            let bound = unsafe { (OURS.deflateBound)(&mut *stream.strm, data.len() as c_ulong) };
            let mut out = Vec::new();
            for chunk in data.chunks(take) {
                stream.feed(chunk, 1 << 20, NO_FLUSH, &mut out);
            }
            assert_eq!(stream.feed(&[], 1 << 20, FINISH, &mut out), STREAM_END);
            assert!(out.len() as c_ulong <= bound, "{level} {take}: {} > {bound}", out.len());
            stream.end();
        }
    }
}

/// The smallest inputs: within the tightest of stock's bounds, and never much larger than what
/// stock makes them.
#[test]
fn a_few_bytes() {
    let mut rng = Rng(3);
    for n in 0..6000 {
        let level = 1 + rng.below(9) as c_int;
        let letters = rng.pick(&[1, 2, 4, 256]);
        let data: Vec<u8> =
            (0..rng.below(140)).map(|_| (rng.below(letters) as u8).wrapping_mul(97)).collect();
        let shape = Shape { level, bits: -15, mem: 9, strategy: 0 };
        let sizes = [OURS, stock()].map(|zlib| {
            let mut stream = Deflate::new(zlib, shape);
            // SAFETY: a stream of this library.
            let bound = unsafe { (zlib.deflateBound)(&mut *stream.strm, data.len() as c_ulong) };
            let mut out = vec![0; bound as usize];
            let call = stream.call(&data, &mut out, FINISH);
            assert_eq!(call.code, STREAM_END, "{} {n} {level} {data:?} {call:?}", zlib.name);
            assert_eq!(inflate_all(&out[..call.made], -15, None), (STREAM_END, data.clone()));
            stream.end();
            call.made
        });
        assert!(sizes[0] <= sizes[1] + sizes[1] / 2 + 12, "{level} {sizes:?} {data:?}");
    }
}

/// The same header as stock writes, byte for byte, for all that it depends on.
#[test]
fn headers_as_stock() {
    for level in -1..=9 {
        for strategy in 0..=4 {
            for bits in [8, 9, 11, 15, 24, 25, 31] {
                if bits == 24 {
                    continue;
                }
                let shape = Shape { level, bits, mem: 8, strategy };
                let outs = [OURS, stock()].map(|zlib| {
                    let mut stream = Deflate::new(zlib, shape);
                    let mut out = [0; 100];
                    let call = stream.call(b"hello", &mut out, FINISH);
                    assert_eq!(call.code, STREAM_END);
                    stream.end();
                    out
                });
                let len = if bits > 15 { 10 } else { 2 };
                assert_eq!(outs[0][..len], outs[1][..len], "{shape:?}");
            }
        }
    }
}

/// deflateSetHeader's fields, also where there is little room, and deflateBound with them.
#[test]
fn gzip_headers_with_fields_as_stock() {
    let mut extra = *b"extra field";
    for fields in 0..32 {
        for room in [1, 3, 1000] {
            let outs = [OURS, stock()].map(|zlib| {
                let mut name = *b"a name\0";
                let mut comment = vec![b'c'; 300];
                comment.push(0);
                // SAFETY: all zeros is a header of nothing.
                let mut head: gz_header = unsafe { std::mem::zeroed() };
                head.text = fields & 1;
                head.time = 0x1234_5678;
                head.os = 255;
                head.hcrc = fields >> 1 & 1;
                if fields & 4 != 0 {
                    head.extra = extra.as_mut_ptr();
                    head.extra_len = extra.len() as c_uint;
                }
                if fields & 8 != 0 {
                    head.name = name.as_mut_ptr();
                }
                if fields & 16 != 0 {
                    head.comment = comment.as_mut_ptr();
                }
                let mut stream = Deflate::new(zlib, shape(1, 31));
                // SAFETY: a stream of this library; the header outlives it.
                let bound = unsafe {
                    assert_eq!((zlib.deflateSetHeader)(&mut *stream.strm, &mut head), OK);
                    (zlib.deflateBound)(&mut *stream.strm, 1000)
                };
                let mut out = Vec::new();
                stream.feed(b"hello", room, NO_FLUSH, &mut out);
                let header = out.clone();
                assert_eq!(stream.feed(b"", room, FINISH, &mut out), STREAM_END);
                assert_eq!(inflate_all(&out, 31, None).1, b"hello");
                stream.end();
                (bound, header)
            });
            assert_eq!(outs[0], outs[1], "{fields} {room}");
        }
    }
}

/// A dictionary is announced, referred to, and can be asked for.
#[test]
fn dictionaries() {
    let data = text(150_000);
    for level in 0..=9 {
        for bits in [15, -15, 9, -12] {
            for dictionary in [1, 3, 1000, 40_000] {
                let (dictionary, data) = (&data[..dictionary], &data[..dictionary * 3 + 5]);
                let mut sizes = Vec::new();
                for zlib in [OURS, stock()] {
                    let mut stream = Deflate::new(zlib, shape(level, bits));
                    let mut out = Vec::new();
                    // SAFETY: a stream of this library; slices; room for a window.
                    unsafe {
                        let len = dictionary.len() as c_uint;
                        let strm: *mut z_stream = &mut *stream.strm;
                        assert_eq!((zlib.deflateSetDictionary)(strm, dictionary.as_ptr(), len), OK);
                        let (mut back, mut len) = (vec![0; 32 << 10], 0);
                        assert_eq!(
                            (zlib.deflateGetDictionary)(strm, back.as_mut_ptr(), &mut len),
                            OK
                        );
                        let window = 1 << bits.abs();
                        let tail = &dictionary[dictionary.len().saturating_sub(window)..];
                        assert_eq!(&back[..len as usize], tail);
                    }
                    assert_eq!(stream.feed(data, 1 << 20, FINISH, &mut out), STREAM_END);
                    let (code, got) = inflate_all(&out, bits, Some(dictionary));
                    assert!(code == STREAM_END && got == data, "{level} {bits}");
                    if bits > 0 {
                        assert_eq!(out[1] & 0x20, 0x20);
                        assert_eq!(inflate_all(&out, bits, None).0, 2);
                    }
                    sizes.push(out.len());
                    stream.end();
                }
                assert!(sizes[0] < sizes[1] * 115 / 100 + 20, "{level} {bits} {sizes:?}");
            }
        }
    }
}

/// A copy goes on by itself, from any state.
#[test]
fn copies_go_on_alone() {
    let data = text(300_000);
    let tail = noise(5_000);
    for seed in 0..400 {
        let mut rng = Rng(seed);
        let bits = rng.pick(&[15, 31, -15, 10]);
        let mut stream = Deflate::new(OURS, shape(rng.pick(&[0, 1, 1, 2, 3, 5, 6]), bits));
        let (mut out, mut at) = (Vec::new(), 0);
        for _ in 0..rng.below(6) {
            let n = rng.pick(&[0, 1, 400, 30_000, 100_000]).min(data.len() - at);
            let flush = rng.pick(&[NO_FLUSH, NO_FLUSH, NO_FLUSH, SYNC, FULL, PARTIAL, BLOCK]);
            stream.feed(&data[at..at + n], rng.pick(&[10, 1000, 100_000]), flush, &mut out);
            at += n;
        }
        let mut copy = Deflate { zlib: OURS, strm: empty() };
        // SAFETY: a stream of ours, and one to write over.
        let code = unsafe { (OURS.deflateCopy)(&mut *copy.strm, &mut *stream.strm) };
        assert_eq!(code, OK);
        let mut copied = out.clone();
        for (stream, out, tail) in [(stream, &mut out, &data[at..]), (copy, &mut copied, &tail[..])]
        {
            let mut stream = stream;
            assert_eq!(stream.feed(tail, 777, FINISH, out), STREAM_END);
            let (code, got) = inflate_all(out, bits, None);
            assert_eq!(code, STREAM_END);
            assert!(got == [&data[..at], tail].concat(), "seed {seed}");
            assert_eq!(stream.end(), OK);
        }
    }
}

/// Up to 256 KB the output does not depend on how the input came: CPython's own tests count on it.
#[test]
fn short_streams_are_the_same_in_any_pieces() {
    let data = [text(200_000), noise(40_000)].concat();
    let mut rng = Rng(11);
    for level in 0..=9 {
        for bits in WRAPS {
            let mut at_once = Vec::new();
            let mut stream = Deflate::new(OURS, shape(level, bits));
            stream.feed(&data, 1 << 20, FINISH, &mut at_once);
            stream.end();
            for _ in 0..3 {
                let (mut out, mut rest) = (Vec::new(), &data[..]);
                let mut stream = Deflate::new(OURS, shape(level, bits));
                while !rest.is_empty() {
                    let n = rng.pick(&[1, 500, 20_000, 150_000, 240_000]).min(rest.len());
                    stream.feed(&rest[..n], 10_000, NO_FLUSH, &mut out);
                    rest = &rest[n..];
                }
                assert_eq!(stream.feed(&[], 10_000, FINISH, &mut out), STREAM_END);
                assert!(out == at_once, "{level} {bits}");
                stream.end();
            }
        }
    }
}

/// A stream that ends with output waiting leaves nothing behind for the next one.
#[test]
fn an_abandoned_stream_leaves_nothing_behind() {
    let data = [noise(30_000), text(60_000)].concat();
    for room in [1, 16, 300] {
        let fixed = Shape { level: 7, bits: -15, mem: 8, strategy: 4 };
        let mut stream = Deflate::new(OURS, fixed);
        stream.call(&data, &mut vec![0; room], FULL);
        assert_eq!(stream.end(), DATA_ERROR);
        let mut stream = Deflate::new(OURS, shape(0, -15));
        // SAFETY: a stream of ours.
        unsafe { (OURS.deflateTune)(&mut *stream.strm, 1, 2, 3, 4) };
        let mut out = Vec::new();
        assert_eq!(stream.feed(&data, 350, FINISH, &mut out), STREAM_END);
        assert!(inflate_all(&out, -15, None).1 == data);
        stream.end();
    }
}

/// Another full flush, after a refused lesser one and a dictionary: history is forgotten again.
#[test]
fn a_full_flush_after_a_dictionary() {
    let data = text(30_000);
    for zlib in [OURS, stock()] {
        let mut stream = Deflate::new(zlib, shape(6, -15));
        let (mut out, mut room) = (Vec::new(), vec![0; 100_000]);
        stream.feed(&data[..6_000], 100_000, BLOCK, &mut out);
        stream.feed(&data[6_000..10_000], 100_000, FULL, &mut out);
        // SAFETY: a stream of this library, a slice.
        let code = unsafe { (zlib.deflateSetDictionary)(&mut *stream.strm, data.as_ptr(), 400) };
        assert_eq!(code, OK);
        assert_eq!(stream.call(&[], &mut room, SYNC).code, BUF_ERROR);
        let call = stream.call(&[], &mut room, FULL);
        assert_eq!((call.code, call.made), (OK, 5), "{}", zlib.name);
        let call = stream.call(&data, &mut room, FINISH);
        assert_eq!(call.code, STREAM_END);
        assert_eq!(inflate_all(&room[..call.made], -15, None), (STREAM_END, data.clone()));
        stream.end();
    }
}

/// Bits in front, as stock puts them there.
#[test]
fn primed_bits_come_first() {
    for level in [1, 6] {
        let outs = [OURS, stock()].map(|zlib| {
            let mut stream = Deflate::new(zlib, shape(level, -15));
            let mut out = Vec::new();
            // SAFETY: a stream of this library.
            unsafe {
                assert_eq!((zlib.deflatePrime)(&mut *stream.strm, 5, 0x15), OK);
                let (mut pending, mut bits) = (0, 0);
                (zlib.deflatePending)(&mut *stream.strm, &mut pending, &mut bits);
                assert_eq!((pending, bits), (0, 5));
                assert_eq!((zlib.deflatePrime)(&mut *stream.strm, 17, 0), BUF_ERROR);
            }
            stream.feed(b"hello hello hello", 100, FINISH, &mut out);
            stream.end();
            out
        });
        assert_eq!(outs[0], outs[1]);
        assert_eq!(outs[0][0] & 31, 0x15);
    }
}

/// The places in a raw stream where `inflateSync` stops, by its rule.
fn sync_points(packed: &[u8]) -> usize {
    packed.windows(4).filter(|four| **four == [0, 0, 0xff, 0xff]).count()
}

/// One full flush is one place to go on from: input that waited, and pieces of large calls, do not
/// end with a marker of their own before it.
#[test]
fn a_full_flush_is_one_marker() {
    let text = text(1_700_000);
    for level in 1..=9 {
        for len in [1, 30, 2_000, 48_024, 90_000, 200_000, 700_000, 1_600_000] {
            for first in [0, len / 2, len] {
                let mut stream = Deflate::new(OURS, shape(level, -15));
                let mut packed = Vec::new();
                stream.feed(&text[..first], 2_000_000, NO_FLUSH, &mut packed);
                stream.feed(&text[first..len], 2_000_000, FULL, &mut packed);
                stream.end();
                assert!(packed.ends_with(&[0, 0, 0xff, 0xff]));
                let before = &packed[..packed.len() - 4];
                // A piece of an earlier call may end with a marker that is not this flush's.
                let earlier = first == len && len > 200_000;
                assert!(
                    earlier || !before.ends_with(&[0, 0, 0xff, 0xff, 0]),
                    "{level} {first} of {len}"
                );
                // In longer ones pieces end with one too.
                assert!(len > 200_000 || sync_points(&packed) == 1, "{level} {first} of {len}");
                if (2_000..=90_000).contains(&len) {
                    // The room is full before the flush is done: it is asked for once more.
                    let mut stream = Deflate::new(OURS, shape(level, -15));
                    let mut cut = Vec::new();
                    stream.feed(&text[..first], 2_000_000, NO_FLUSH, &mut cut);
                    stream.feed(&text[first..len], packed.len() - 50, FULL, &mut cut);
                    stream.end();
                    assert!(cut == packed, "{level} {first} of {len}: {} bytes", cut.len());
                }
            }
        }
    }
}

/// A flush that is asked for in a call of its own writes a marker, whatever the calls before it wrote: a
/// protocol may cut the marker off (RFC 7692, section 7.2.1).
#[test]
fn a_flush_of_its_own_writes_a_marker() {
    let text = text(1_700_000);
    for level in 1..=9 {
        for len in [30, 90_000, 600_000, 713_299, 1_500_002] {
            for flush in [SYNC, FULL] {
                let mut stream = Deflate::new(OURS, shape(level, -15));
                let mut before = Vec::new();
                stream.feed(&text[..len], 2_000_000, NO_FLUSH, &mut before);
                let mut own = Vec::new();
                stream.feed(&[], 2_000_000, flush, &mut own);
                stream.end();
                assert!(own.ends_with(&[0, 0, 0xff, 0xff]), "{level} {len}: {} bytes", own.len());
            }
        }
    }
}

/// Level 0 with each flush: as many bytes and bits as stock, so `deflateBound` is enough; then more
/// data, another level, primed bits.
#[test]
fn flushes_of_stored_blocks_are_as_long_as_stocks() {
    let data = noise(40_000);
    for flush in [PARTIAL, SYNC, FULL, BLOCK] {
        for len in [0, 1, 5, 300, 20_000] {
            for then in 0..6 {
                let mut packed = [Vec::new(), Vec::new()];
                for (zlib, packed) in [OURS, stock()].into_iter().zip(&mut packed) {
                    let mut stream = Deflate::new(zlib, shape(0, -15));
                    // SAFETY: a stream of this library.
                    let bound =
                        unsafe { (zlib.deflateBound)(&mut *stream.strm, len as c_ulong) } as usize;
                    let mut room = vec![0; if flush == PARTIAL { bound } else { bound + 9 }];
                    let call = stream.call(&data[..len], &mut room, flush);
                    assert_eq!((call.code, call.taken), (OK, len), "{flush} {len}");
                    packed.extend(&room[..call.made]);
                    let (mut pending, mut bits) = (0, 0);
                    // SAFETY: a stream of this library, two places to write to.
                    unsafe { (zlib.deflatePending)(&mut *stream.strm, &mut pending, &mut bits) };
                    // Stock keeps what was not flushed; so do we.
                    assert_eq!(bits, if flush == PARTIAL { 2 } else { 0 }, "{}", zlib.name);
                    let mut room = vec![0; 50_000];
                    let rest = &data[len..len + if then == 1 { 0 } else { 5_000 }];
                    if then == 2 {
                        // SAFETY: a stream of this library.
                        unsafe { (zlib.deflateParams)(&mut *stream.strm, 6, 0) };
                    }
                    let call = stream.call(
                        rest,
                        &mut room,
                        [FINISH, FINISH, SYNC, FULL, PARTIAL, NO_FLUSH][then],
                    );
                    packed.extend(&room[..call.made]);
                    if !(0..2).contains(&then) {
                        stream.feed(&[], 50_000, FINISH, packed);
                    }
                    assert_eq!(
                        inflate_all(packed, -15, None),
                        (STREAM_END, [&data[..len], rest].concat()),
                        "{flush} {len} {then} {}",
                        zlib.name
                    );
                    stream.end();
                }
                let [ours, stocks] = packed.map(|packed| packed.len());
                assert!(ours <= stocks + 5, "{flush} {len} {then}: {ours}, stock's {stocks}");
            }
        }
    }
}

/// Behind the end of a raw stream a program may put bits of its own, say the trailer of a format
/// that zlib does not know.
#[test]
fn bits_behind_the_end() {
    let data = text(3_000);
    for level in [0, 1, 6] {
        for first in [NO_FLUSH, SYNC, PARTIAL] {
            let trailers = [OURS, stock()].map(|zlib| {
                let mut stream = Deflate::new(zlib, shape(level, -15));
                let mut packed = Vec::new();
                stream.feed(&data[..1_000], 10_000, first, &mut packed);
                assert_eq!(stream.feed(&data[1_000..], 10_000, FINISH, &mut packed), STREAM_END);
                let end = packed.len();
                let strm: *mut z_stream = &mut *stream.strm;
                let (mut pending, mut bits) = (0, 0);
                // SAFETY: a stream of this library, two places to write to.
                unsafe {
                    assert_eq!((zlib.deflatePrime)(strm, 17, 0), BUF_ERROR);
                    assert_eq!((zlib.deflatePrime)(strm, 16, 0xfeed), OK, "{}", zlib.name);
                    assert_eq!((zlib.deflatePrime)(strm, 3, 5), OK);
                    assert_eq!((zlib.deflatePrime)(strm, 8, 0xc3), OK);
                    assert_eq!((zlib.deflatePending)(strm, &mut pending, &mut bits), OK);
                }
                assert_eq!((pending, bits), (3, 3), "{}", zlib.name);
                let mut room = [0; 2];
                let call = stream.call(&[], &mut room, FINISH);
                assert_eq!((call.code, call.made), (OK, 2));
                packed.extend(room);
                assert_eq!(stream.feed(&[], 100, FINISH, &mut packed), STREAM_END);
                assert_eq!(stream.end(), OK);
                assert_eq!(inflate_all(&packed, -15, None), (STREAM_END, data.clone()));
                packed.split_off(end)
            });
            assert_eq!(trailers[0], trailers[1]);
        }
    }
}
