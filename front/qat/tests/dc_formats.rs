//! LZ4, LZ4s and Zstandard by the interface, judged by the tools `lz4` and `zstd`, and LZ4s by libzstd, which takes its
//! sequences as QATzip's program and the Zstandard plugin give them.

mod common;

use std::{
    ffi::{c_int, c_uint, c_void},
    io::{Read, Write},
    process::{Command, Stdio},
    ptr, thread,
};

use common::*;
use lookaside_qat::{
    abi::*,
    dc::{calls::*, capability::*, frame::*, plane::*, session::*},
};

/// Runs a tool on bytes; `None`, and said, where it is missing.
fn tool(name: &str, args: &[&str], input: &[u8]) -> Option<Result<Vec<u8>, String>> {
    let child = Command::new(name)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED: no {name} (the Debian package of that name)");
        return None;
    };
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut out = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || _ = stdin.write_all(input));
        stdout.read_to_end(&mut out).unwrap();
    });
    let ended = child.wait_with_output().unwrap();
    let why = String::from_utf8_lossy(&ended.stderr).into_owned();
    Some(if ended.status.success() { Ok(out) } else { Err(why) })
}

fn judged(name: &str, packed: &[u8], plain: &[u8]) {
    if let Some(out) = tool(name, &["-dc"], packed) {
        assert!(out.as_deref() == Ok(plain), "{name}: {:?}", out.err());
    }
}

fn lz4() -> CpaDcSessionSetupData {
    CpaDcSessionSetupData {
        compType: CPA_DC_LZ4,
        checksum: CPA_DC_XXHASH32,
        huffType: CPA_DC_HT_STATIC,
        ..setup()
    }
}

fn lz4s() -> CpaDcSessionSetupData {
    CpaDcSessionSetupData { compType: CPA_DC_LZ4S, sessDirection: CPA_DC_DIR_COMPRESS, ..lz4() }
}

fn zstd() -> CpaDcSessionSetupData {
    CpaDcSessionSetupData { compType: CPA_DC_ZSTD, checksum: CPA_DC_XXHASH64, ..lz4() }
}

type Bound = unsafe extern "C" fn(CpaInstanceHandle, Cpa32U, *mut Cpa32U) -> CpaStatus;

fn room(bound: Bound, len: usize) -> Box<List> {
    let mut size = 0;
    // SAFETY: a place of this function's.
    assert_eq!(unsafe { bound(DEFAULT, len as u32, &raw mut size) }, CPA_STATUS_SUCCESS);
    List::room(size as usize)
}

/// What a session makes of bytes, and its results.
fn packed(session: &mut Held, bound: Bound, plain: &[u8]) -> (Vec<u8>, CpaDcRqResults) {
    let (mut src, mut dst) = (List::new(plain.to_vec()), room(bound, plain.len()));
    let mut r = results();
    let status = session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r);
    assert_eq!((status, r.status), (CPA_STATUS_SUCCESS, CPA_DC_OK));
    assert_eq!((r.consumed as usize, r.endOfLastBlock), (plain.len(), CPA_TRUE));
    (dst.first(r.produced).to_vec(), r)
}

/// The header and the footer of a session's frame.
fn ends(session: &mut Held, r: &CpaDcRqResults) -> (Vec<u8>, Vec<u8>) {
    let mut place = [0xee; 32];
    let mut flat = CpaFlatBuffer { dataLenInBytes: 32, pData: place.as_mut_ptr() };
    let (mut count, mut r) = (99, *r);
    let before = r.produced;
    // SAFETY: places of this function's.
    unsafe {
        let handle = session.handle();
        assert_eq!(cpaDcGenerateHeader(handle, &raw mut flat, &raw mut count), CPA_STATUS_SUCCESS);
        let header = place[..count as usize].to_vec();
        flat.pData = place.as_mut_ptr();
        assert_eq!(cpaDcGenerateFooter(handle, &raw mut flat, &raw mut r), CPA_STATUS_SUCCESS);
        (header, place[..(r.produced - before) as usize].to_vec())
    }
}

fn inputs() -> Vec<Vec<u8>> {
    vec![
        text(0),
        text(1),
        text(13),
        text(70_000),
        noise(66_000),
        vec![7; 300_000],
        [noise(70_000), text(200_000), noise(70_000)].concat(),
    ]
}

#[test]
fn lz4_blocks_make_frames() {
    start();
    let sizes = [(0, 16), (1, 18), (2, 20), (3, 22), (0, 16)];
    for (n, (level, (size, bits))) in [1, 2, 3, 9, 12].into_iter().zip(sizes).enumerate() {
        for checksum in [CPA_DC_XXHASH32, CPA_DC_NONE] {
            let independent = CpaBoolean(n as i32 & 1);
            let mut session = Held::new(
                &CpaDcSessionSetupData {
                    compLevel: CpaDcCompLvl(level),
                    lz4BlockMaxSize: CpaDcCompLZ4BlockMaxSize(size),
                    lz4BlockIndependence: independent,
                    checksum,
                    ..lz4()
                },
                None,
            );
            let (mut frames, mut plains) = (Vec::new(), Vec::new());
            for input in &inputs() {
                let (blocks, r) = packed(&mut session, cpaDcLZ4CompressBound, input);
                let (header, footer) = ends(&mut session, &r);
                assert_eq!(
                    header[4],
                    0x40 | (independent.0 as u8) << 5 | {
                        if checksum == CPA_DC_NONE { 0 } else { 4 }
                    }
                );
                assert_eq!(header[5] >> 4, (bits - 8) / 2);
                let stored = !input.is_empty() && blocks[3] >> 7 == 1;
                assert_eq!(r.dataUncompressed == CPA_TRUE, stored);
                frames.extend([header, blocks.clone(), footer].concat());
                plains.extend_from_slice(input);
                // And back, with or without the end mark.
                for mark in [&[][..], &[0, 0, 0, 0]] {
                    let mut src = List::new([&blocks, mark].concat());
                    let (mut dst, mut back) = (List::room(input.len() + 3), results());
                    let final_ = &mut op(CPA_DC_FLUSH_FINAL);
                    assert_eq!(session.decompress(&mut src, &mut dst, final_, &mut back), 0);
                    assert_eq!(dst.first(back.produced), input);
                    assert_eq!(back.consumed as usize, src.bytes.len());
                    assert_eq!((back.status, back.checksum), (CPA_DC_OK, r.checksum));
                }
            }
            // The tool reads frames one after the other, and compares what they say of their content.
            judged("lz4", &frames, &plains);
        }
    }
}

#[test]
fn the_checksum_is_xxhash_of_each_request() {
    let mut session = Held::new(&lz4(), None);
    // Values of the reference implementation.
    for (bytes, hash) in [(&b""[..], 0x02cc_5d05), (b"123456789", 0x937b_ad67)] {
        let (_, r) = packed(&mut session, cpaDcLZ4CompressBound, bytes);
        assert_eq!(r.checksum, hash);
        let mut data = lz4s();
        data.sessDirection = CPA_DC_DIR_COMPRESS;
        let (_, r) = packed(&mut Held::new(&data, None), cpaDcLZ4SCompressBound, bytes);
        assert_eq!(r.checksum, hash);
    }
    // The lower half of xxHash-64, as in a frame.
    let (frame, r) = packed(&mut Held::new(&zstd(), None), cpaDcZstdCompressBound, &text(999));
    assert_eq!(frame[frame.len() - 4..], r.checksum.to_le_bytes());
    // The seed of DEFLATE's is none here.
    let (mut src, mut dst, mut r) = (List::new(b"123456789".to_vec()), List::room(99), results());
    for _ in 0..2 {
        r.checksum = 5;
        assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FULL), &mut r), 0);
        assert_eq!((r.checksum, r.endOfLastBlock), (0x937b_ad67, CPA_FALSE));
    }
}

#[test]
fn the_checksum_goes_on_where_it_is_asked_to() {
    let input = [text(150_000), noise(100_000)].concat();
    let data = CpaDcSessionSetupData { accumulateXXHash: CPA_TRUE, ..lz4() };
    let mut session = Held::new(&data, None);
    let handle = session.handle();
    // SAFETY: the session's memory.
    let reset = || unsafe { cpaDcResetXXHashState(DEFAULT, handle) };
    // The second time after the end of the first alone.
    for round in 0..4 {
        let (mut frame, mut at) = (Vec::new(), 0);
        if round == 2 {
            // A part that is given up leaves nothing behind.
            let (mut src, mut dst, mut r) = (List::new(text(99)), List::room(999), results());
            assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FULL), &mut r), 0);
            assert_eq!(reset(), CPA_STATUS_SUCCESS);
        }
        let mut r = results();
        while at < input.len() {
            let end = input.len().min(at + 70_000);
            let flush = match end == input.len() {
                true => CPA_DC_FLUSH_FINAL,
                false => CPA_DC_FLUSH_FULL,
            };
            let mut src = List::split(input[at..end].to_vec(), &[5, 1000]);
            // Some overflow, and go on from what was consumed.
            let mut dst = List::room(20_000);
            assert_eq!(session.compress(&mut src, &mut dst, &mut op(flush), &mut r), 0);
            assert!(r.consumed > 0);
            if round == 3 {
                // All at once, verified.
                assert_eq!(reset(), CPA_STATUS_SUCCESS);
                let (mut all, mut place) = (List::new(input.clone()), List::room(500_000));
                let mut verified = op(CPA_DC_FLUSH_FINAL);
                verified.compressAndVerify = CPA_TRUE;
                assert_eq!(session.compress(&mut all, &mut place, &mut verified, &mut r), 0);
                frame = place.first(r.produced).to_vec();
                break;
            }
            frame.extend_from_slice(dst.first(r.produced));
            at += r.consumed as usize;
        }
        let (header, footer) = ends(&mut session, &r);
        judged("lz4", &[header, frame, footer].concat(), &input);
    }
    // Requests outstanding come one at a time.
    let called = Called::default();
    let at = instance(2);
    let mut session = Held::on(at, &data, Some(note));
    let (mut src, mut dst, mut r) = (List::new(text(9000)), List::room(9999), results());
    let submit = |session: &mut Held, src: &mut List, dst: &mut List, r: &mut _| {
        let handle = session.handle();
        let mut op = op(CPA_DC_FLUSH_FULL);
        // SAFETY: all outlive the answer; the operation data are read at once.
        unsafe {
            cpaDcCompressData2(at, handle, src.get(), dst.get(), &raw mut op, r, called.tag())
        }
    };
    assert_eq!(submit(&mut session, &mut src, &mut dst, &mut r), CPA_STATUS_SUCCESS);
    let (mut src2, mut dst2, mut r2) = (List::new(text(9000)), List::room(9999), results());
    let second = submit(&mut session, &mut src2, &mut dst2, &mut r2);
    if second == CPA_STATUS_RETRY {
        // SAFETY: the session's memory.
        let status = unsafe { cpaDcResetXXHashState(at, session.handle()) };
        assert!([CPA_STATUS_RETRY, CPA_STATUS_SUCCESS].contains(&status));
    } else {
        // Engines were faster.
        assert_eq!(second, CPA_STATUS_SUCCESS);
        assert!(std::env::var_os("LOOKASIDE_QAT_ENGINES").is_some());
    }
    let all = if second == CPA_STATUS_RETRY { 1 } else { 2 };
    poll_until(at, || called.count() == all);
}

#[test]
fn an_overflow_of_lz4_can_be_gone_on_from() {
    let mut session = Held::new(&CpaDcSessionSetupData { checksum: CPA_DC_NONE, ..lz4() }, None);
    for input in [text(200_000), noise(100_000), vec![1; 300_000]] {
        for room in [1000, 5_000, 33_000] {
            let (mut at, mut blocks, mut calls) = (0, Vec::new(), 0);
            while at < input.len() {
                let mut src = List::new(input[at..].to_vec());
                let mut dst = List::split(vec![0; room], &[room / 3, room / 2]);
                let mut r = results();
                let flush = &mut op(CPA_DC_FLUSH_FINAL);
                flush.compressAndVerify = CpaBoolean(calls & 1);
                assert_eq!(session.compress(&mut src, &mut dst, flush, &mut r), CPA_STATUS_SUCCESS);
                assert!(r.consumed > 0 && r.produced as usize <= room);
                let all = at + r.consumed as usize == input.len();
                assert_eq!(r.status, if all { CPA_DC_OK } else { CPA_DC_OVERFLOW });
                blocks.extend_from_slice(dst.first(r.produced));
                at += r.consumed as usize;
                calls += 1;
            }
            let (header, footer) = ends(&mut session, &results());
            judged("lz4", &[header, blocks, footer].concat(), &input);
        }
        // What cannot be gone on from consumes nothing.
        for data in [lz4s(), zstd()] {
            let mut session = Held::new(&data, None);
            let (mut src, mut dst, mut r) = (List::new(input.clone()), List::room(9), results());
            let flush = &mut op(CPA_DC_FLUSH_FINAL);
            assert_eq!(session.compress(&mut src, &mut dst, flush, &mut r), CPA_STATUS_SUCCESS);
            assert_eq!((r.status, r.consumed, r.produced), (CPA_DC_OVERFLOW, 0, 0));
        }
    }
}

#[test]
fn lz4_without_lengths_is_one_block() {
    let mut session = Held::new(&lz4(), None);
    let handle = session.handle();
    let set =
        // SAFETY: the session's memory.
        |format| unsafe { cpaDcSetLZ4OutputFormat(DEFAULT, handle, CpaDcLZ4OutputFormat(format)) };
    assert_eq!(set(2), CPA_STATUS_INVALID_PARAM);
    assert_eq!(set(1), CPA_STATUS_SUCCESS);
    for input in [text(65_536), noise(60_000), text(0)] {
        let (block, r) = packed(&mut session, cpaDcLZ4CompressBound, &input);
        let (header, footer) = ends(&mut session, &r);
        let length = (block.len() as u32).to_le_bytes();
        let all = [&header[..], &length, &block, &footer].concat();
        judged("lz4", &all, &input);
        // Decompression has lengths before blocks, as before.
        let mut src = List::new([&length[..], &block].concat());
        let (mut dst, mut back) = (List::room(input.len()), results());
        let flush = &mut op(CPA_DC_FLUSH_FINAL);
        assert_eq!(session.decompress(&mut src, &mut dst, flush, &mut back), CPA_STATUS_SUCCESS);
        assert_eq!((dst.first(back.produced), back.checksum), (&input[..], r.checksum));
        let mut verified = op(CPA_DC_FLUSH_FINAL);
        verified.compressAndVerify = CPA_TRUE;
        let (mut src, mut dst) = (List::new(input), List::room(70_000));
        assert_eq!(session.compress(&mut src, &mut dst, &mut verified, &mut back), 0);
        assert_eq!(dst.first(back.produced), block);
    }
    // More than a block has no form without lengths.
    let (mut src, mut dst, mut r) = (List::new(text(65_537)), List::room(99_999), results());
    let status = session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r);
    assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    // An update keeps the form.
    let mut update = CpaDcSessionUpdateData {
        compLevel: CPA_DC_L9,
        huffType: CPA_DC_HT_STATIC,
        enableDmm: CPA_FALSE,
    };
    let before = packed(&mut session, cpaDcLZ4CompressBound, &text(60_000)).0;
    // SAFETY: the session's memory.
    assert_eq!(unsafe { cpaDcUpdateSession(DEFAULT, handle, &raw mut update) }, CPA_STATUS_SUCCESS);
    let after = packed(&mut session, cpaDcLZ4CompressBound, &text(60_000)).0;
    assert!(after.len() < before.len() && after[0] >> 4 > 0);
    assert_eq!(set(0), CPA_STATUS_SUCCESS);
    let lengths = packed(&mut session, cpaDcLZ4CompressBound, &text(60_000)).0;
    assert_eq!(lengths[4..], after);
}

#[test]
fn what_the_tool_makes_is_read() {
    let input = [text(200_000), noise(50_000)].concat();
    // Linked and independent blocks; with checksums.
    for (args, sums) in [
        (&["-B4", "-BD"][..], CPA_FALSE),
        (&["-B5", "-9"], CPA_FALSE),
        (&["-B4", "-BX"], CPA_TRUE),
        (&["-B4", "-BX", "-BD", "-9"], CPA_TRUE),
    ] {
        let Some(frame) = tool("lz4", &[&["-c", "--no-frame-crc"], args].concat(), &input) else {
            continue;
        };
        let frame = frame.unwrap();
        assert_eq!(frame[4] >> 4 & 1, sums.0 as u8, "{args:?}");
        let blocks = &frame[7..];
        let mut session =
            Held::new(&CpaDcSessionSetupData { lz4BlockChecksum: sums, ..lz4() }, None);
        // Without the end mark, with it, and with what is somebody else's.
        for (cut, after) in [(4, 0), (0, 0), (0, 20)] {
            let source = [&blocks[..blocks.len() - cut], &[9; 20][..after]].concat();
            let mut src = List::split(source, &[3, 900]);
            let (mut dst, mut r) = (List::room(input.len()), results());
            let flush = &mut op(CPA_DC_FLUSH_FINAL);
            assert_eq!(session.decompress(&mut src, &mut dst, flush, &mut r), CPA_STATUS_SUCCESS);
            assert_eq!((r.status, dst.first(r.produced)), (CPA_DC_OK, &input[..]));
            assert_eq!(r.consumed as usize, blocks.len() - cut);
            let (_, hash) = packed(&mut Held::new(&lz4(), None), cpaDcLZ4CompressBound, &input);
            assert_eq!(r.checksum, hash.checksum);
        }
        if sums == CPA_TRUE {
            // A checksum that is wrong is found, and one that is missing.
            for damaged in [blocks.len() - 5, 20_000] {
                let mut bytes = blocks.to_vec();
                bytes[damaged] ^= 1;
                let (mut src, mut dst, mut r) = (List::new(bytes), List::room(250_000), results());
                let flush = &mut op(CPA_DC_FLUSH_FINAL);
                let status = session.decompress(&mut src, &mut dst, flush, &mut r);
                assert_eq!(status, CPA_STATUS_FAIL);
                assert!(r.status.0 < 0 && r.status != CPA_DC_OVERFLOW);
            }
            for short in 5..12 {
                let bytes = blocks[..blocks.len() - short].to_vec();
                let (mut src, mut dst, mut r) = (List::new(bytes), List::room(250_000), results());
                let flush = &mut op(CPA_DC_FLUSH_FINAL);
                let status = session.decompress(&mut src, &mut dst, flush, &mut r);
                assert_eq!(status, CPA_STATUS_FAIL, "{short}");
            }
        }
    }
}

#[test]
fn bad_data_and_little_room_are_said() {
    let input = text(50_000);
    for (data, bound, bad) in [
        (lz4(), cpaDcLZ4CompressBound as Bound, CPA_DC_LZ4_INVALID_COMP_LEN),
        (zstd(), cpaDcZstdCompressBound, CPA_DC_INVALID_ZSTD_FRAME),
    ] {
        let mut session = Held::new(&data, None);
        let (small, _) = packed(&mut session, bound, &input);
        let mut ask = |bytes: &[u8], room: usize| {
            let (mut src, mut dst, mut r) =
                (List::new(bytes.to_vec()), List::room(room), results());
            let status =
                session.decompress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r);
            (status, r.status, r.produced)
        };
        assert_eq!(ask(&small, 50_000), (CPA_STATUS_SUCCESS, CPA_DC_OK, 50_000));
        assert_eq!(ask(&small, 49_999), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW, 0));
        assert_eq!(ask(&small[..small.len() - 1], 50_000), (CPA_STATUS_FAIL, bad, 0));
        for at in (0..small.len()).step_by(97) {
            let mut damaged = small.clone();
            damaged[at] ^= 0x55;
            let (status, code, produced) = ask(&damaged, 50_000);
            // LZ4 has no checksum of its own: some damage is another content.
            let good = (status, code) == (CPA_STATUS_SUCCESS, CPA_DC_OK);
            assert!(good || (status, produced) == (CPA_STATUS_FAIL, 0), "{at} {code:?}");
            assert!(!good || data.compType == CPA_DC_LZ4);
        }
    }
    // A match from before the data.
    let mut session = Held::new(&lz4(), None);
    let block = [5, 0, 0, 0, 0x10, b'a', 9, 0, 0];
    let (mut src, mut dst, mut r) = (List::new(block.to_vec()), List::room(100), results());
    let status = session.decompress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r);
    assert_eq!((status, r.status), (CPA_STATUS_FAIL, CPA_DC_LZ4_DISTANCE_OUT_OF_RANGE_ERR));
}

#[test]
fn zstandard_frames() {
    for level in [1, 3, 9, 12] {
        for checksum in [CPA_DC_NONE, CPA_DC_XXHASH32, CPA_DC_XXHASH64] {
            let data = CpaDcSessionSetupData { compLevel: CpaDcCompLvl(level), checksum, ..zstd() };
            let mut session = Held::new(&data, None);
            let (mut frames, mut plains) = (Vec::new(), Vec::new());
            for input in inputs() {
                let (frame, r) = packed(&mut session, cpaDcZstdCompressBound, &input);
                let (mut src, mut dst) = (List::new(frame.clone()), List::room(input.len()));
                let (mut back, flush) = (results(), &mut op(CPA_DC_FLUSH_FINAL));
                assert_eq!(session.decompress(&mut src, &mut dst, flush, &mut back), 0);
                assert_eq!((dst.first(back.produced), back.checksum), (&input[..], r.checksum));
                assert_eq!(ends(&mut session, &r), (vec![], vec![]));
                frames.extend(frame);
                plains.extend(input);
            }
            judged("zstd", &frames, &plains);
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sequence {
    offset: c_uint,
    literals: c_uint,
    len: c_uint,
    rep: c_uint,
}

unsafe extern "C" {
    // zstd.h, version 1.5, of its part for static linking.
    fn ZSTD_compressSequences(
        state: *mut c_void,
        dst: *mut c_void,
        room: usize,
        sequences: *const Sequence,
        count: usize,
        src: *const c_void,
        len: usize,
    ) -> usize;
}

/// The sequences of LZ4s as QATzip's program reads them: lengths in 16 bits, what code 0 has goes on to the next one.
fn sequences(lz4s: &[u8], more: usize) -> Vec<Sequence> {
    let mut at = 0;
    let number = |half: u8, at: &mut usize| {
        let mut number = usize::from(half);
        if half == 15 {
            let ends = lz4s[*at..].iter().position(|&byte| byte < 255).unwrap();
            number += 255 * ends + usize::from(lz4s[*at + ends]);
            *at += ends + 1;
        }
        number
    };
    let mut all = vec![Sequence::default()];
    while at < lz4s.len() {
        let token = lz4s[at];
        at += 1;
        let literals = number(token >> 4, &mut at);
        at += literals;
        let last = all.last_mut().unwrap();
        last.literals += c_uint::from(literals as u16);
        if at == lz4s.len() {
            break;
        }
        let offset = u16::from_le_bytes([lz4s[at], lz4s[at + 1]]);
        at += 2;
        let code = number(token & 15, &mut at);
        if code > 0 {
            (last.offset, last.len) = (offset.into(), c_uint::from((code + more) as u16));
            all.push(Sequence::default());
        }
    }
    all
}

#[test]
fn zstandard_is_made_of_lz4s() {
    let all = [text(400_000), noise(140_000), vec![7; 300_000], text(1000)].concat();
    for (min_match, more) in [(CPA_DC_MIN_3_BYTE_MATCH, 2), (CPA_DC_MIN_4_BYTE_MATCH, 3)] {
        for level in [1, 9] {
            let data = CpaDcSessionSetupData {
                minMatch: min_match,
                compLevel: CpaDcCompLvl(level),
                ..lz4s()
            };
            let mut session = Held::new(&data, None);
            let mut frames = Vec::new();
            // SAFETY: the library's own state, made and freed here; parameters by their numbers: the shortest match,
            // block delimiters, validation of sequences.
            let state = unsafe {
                let state = zstd_sys::ZSTD_createCCtx();
                for (parameter, value) in [(105, more as c_int + 1), (1008, 1), (1009, 1)] {
                    let parameter: zstd_sys::ZSTD_cParameter = std::mem::transmute(parameter);
                    let set = zstd_sys::ZSTD_CCtx_setParameter(state, parameter, value);
                    assert_eq!(zstd_sys::ZSTD_isError(set), 0);
                }
                state
            };
            for chunk in all.chunks(128 << 10) {
                let (small, _) = packed(&mut session, cpaDcLZ4SCompressBound, chunk);
                let found = sequences(&small, more);
                assert!(found.iter().all(|s| s.offset <= 32_768));
                let mut frame = vec![0; chunk.len() + 9999];
                // SAFETY: as many bytes and sequences as said.
                let size = unsafe {
                    let size = ZSTD_compressSequences(
                        state.cast(),
                        frame.as_mut_ptr().cast(),
                        frame.len(),
                        found.as_ptr(),
                        found.len(),
                        chunk.as_ptr().cast(),
                        chunk.len(),
                    );
                    assert_eq!(zstd_sys::ZSTD_isError(size), 0, "{}", chunk.len());
                    size
                };
                frames.extend_from_slice(&frame[..size]);
            }
            // SAFETY: made above.
            unsafe { zstd_sys::ZSTD_freeCCtx(state) };
            assert!(frames.len() < all.len() / 2, "{}", frames.len());
            judged("zstd", &frames, &all);
        }
    }
}

#[test]
fn other_formats_are_verified_and_recovered() {
    let inputs = [text(0), text(100), text(150_000), noise(70_000)];
    for (data, bound) in [
        (lz4(), cpaDcLZ4CompressBound as Bound),
        (lz4s(), cpaDcLZ4SCompressBound),
        (zstd(), cpaDcZstdCompressBound),
    ] {
        for input in &inputs {
            for (recover, fails) in [(false, false), (true, false), (true, true), (false, true)] {
                let mut session = Held::new(&data, None);
                if fails {
                    let handle = session.handle();
                    // SAFETY: the session's memory.
                    assert_eq!(unsafe { icp_sal_cnv_simulate_error(DEFAULT, handle) }, 0);
                }
                let (mut src, mut dst) = (List::new(input.clone()), room(bound, input.len()));
                // SAFETY: integers.
                let mut crcs = unsafe { std::mem::zeroed::<CpaCrcData>() };
                let mut r = results();
                let mut op = op(CPA_DC_FLUSH_FINAL);
                op.compressAndVerify = CPA_TRUE;
                op.compressAndVerifyAndRecover = CpaBoolean(recover.into());
                (op.integrityCrcCheck, op.verifyHwIntegrityCrcs) = (CPA_TRUE, CPA_TRUE);
                op.pCrcData = &raw mut crcs;
                let status = session.compress(&mut src, &mut dst, &mut op, &mut r);
                if fails && !recover {
                    assert_eq!((status, r.status), (CPA_STATUS_FAIL, CPA_DC_VERIFY_ERROR));
                    continue;
                }
                assert_eq!((status, r.status), (CPA_STATUS_SUCCESS, CPA_DC_OK));
                assert_eq!(r.consumed as usize, input.len());
                assert_eq!(crcs.integrityCrc.iCrc, crc32(input));
                assert_eq!(crcs.integrityCrc.oCrc, crc32(dst.first(r.produced)));
                let packed_before = packed(&mut Held::new(&data, None), bound, input);
                assert_eq!(r.checksum, packed_before.1.checksum);
                let bytes = dst.first(r.produced);
                if !fails {
                    assert!(*bytes == packed_before.0);
                } else if input.len() == 150_000 {
                    assert!(
                        bytes.len() > input.len()
                            && r.dataUncompressed.0 == (data.compType == CPA_DC_LZ4).into()
                    );
                }
                match data.compType {
                    CPA_DC_ZSTD => judged("zstd", bytes, input),
                    CPA_DC_LZ4 => {
                        let (header, footer) = ends(&mut session, &r);
                        judged("lz4", &[&header, bytes, &footer].concat(), input);
                    }
                    _ => {
                        let found = sequences(bytes, 2);
                        let len: u32 = found.iter().map(|s| s.literals + s.len).sum();
                        assert_eq!(len as usize, input.len());
                    }
                }
            }
        }
    }
}

#[test]
fn without_a_session_and_by_the_data_plane() {
    let input = text(100_000);
    let at = instance(3);
    for (data, bound) in [
        (lz4(), cpaDcLZ4CompressBound as Bound),
        (lz4s(), cpaDcLZ4SCompressBound),
        (zstd(), cpaDcZstdCompressBound),
    ] {
        let wanted = packed(&mut Held::new(&data, None), bound, &input);
        let mut data = data;
        // Of no effect here.
        data.accumulateXXHash = CPA_TRUE;
        let (mut src, mut dst, mut r) =
            (List::new(input.clone()), room(bound, input.len()), results());
        let (mut back, mut flush) = (List::room(input.len()), op(CPA_DC_FLUSH_FINAL));
        let (d, f, p, none) = (&raw mut data, &raw mut flush, &raw mut r, ptr::null_mut());
        // SAFETY: structures of this function's; without a callback the calls are synchronous.
        unsafe {
            for _ in 0..2 {
                let status = cpaDcNsCompressData(at, d, src.get(), dst.get(), f, p, None, none);
                assert_eq!((status, r.checksum), (CPA_STATUS_SUCCESS, wanted.1.checksum));
                assert_eq!(dst.first(r.produced), wanted.0);
            }
            let mut small = List::new(wanted.0.clone());
            if data.compType != CPA_DC_LZ4S {
                let status =
                    cpaDcNsDecompressData(at, d, small.get(), back.get(), f, p, None, none);
                assert_eq!((status, r.checksum), (CPA_STATUS_SUCCESS, wanted.1.checksum));
                assert_eq!(back.bytes, input);
            }
            if data.compType == CPA_DC_LZ4 {
                let mut place = [0; 16];
                let mut flat = CpaFlatBuffer { dataLenInBytes: 6, pData: place.as_mut_ptr() };
                let (mut count, flat) = (0, &raw mut flat);
                let status = cpaDcNsGenerateHeader(d, flat, &raw mut count);
                assert_eq!(status, CPA_STATUS_INVALID_PARAM);
                (*flat).dataLenInBytes = 16;
                assert_eq!(cpaDcNsGenerateHeader(d, flat, &raw mut count), CPA_STATUS_SUCCESS);
                let header = place[..count as usize].to_vec();
                r.produced = 0;
                assert_eq!(cpaDcNsGenerateFooter(d, 100_000, flat, p), CPA_STATUS_SUCCESS);
                let frame = [&header, &wanted.0[..], &place[..r.produced as usize]].concat();
                judged("lz4", &frame, &input);
            }

            let mut memory = [0_u64; 9];
            let session = memory.as_mut_ptr().cast();
            assert_eq!(cpaDcDpInitSession(at, session, d), CPA_STATUS_SUCCESS);
            assert_eq!(cpaDcDpRegCbFunc(at, Some(done)), CPA_STATUS_SUCCESS);
            for (way, src, dst, session) in [
                (CPA_DC_DIR_COMPRESS, &src, &dst, session),
                (CPA_DC_DIR_COMPRESS, &src, &dst, ptr::null_mut()),
                (CPA_DC_DIR_DECOMPRESS, &small, &back, session),
                (CPA_DC_DIR_DECOMPRESS, &small, &back, ptr::null_mut()),
            ] {
                if way == CPA_DC_DIR_DECOMPRESS && data.compType == CPA_DC_LZ4S {
                    continue;
                }
                let mut op: CpaDcDpOpData = std::mem::zeroed();
                (op.dcInstance, op.pSessionHandle, op.pSetupData) = (at, session, d);
                (op.sessDirection, op.responseStatus) = (way, 55);
                let (s, t) = (src.flats[0], dst.flats[0]);
                (op.srcBuffer, op.srcBufferLen) =
                    (s.pData.expose_provenance() as u64, s.dataLenInBytes);
                (op.destBuffer, op.destBufferLen) =
                    (t.pData.expose_provenance() as u64, t.dataLenInBytes);
                (op.bufferLenToCompress, op.bufferLenForData) = (op.srcBufferLen, op.destBufferLen);
                op.compressAndVerify = CpaBoolean((way == CPA_DC_DIR_COMPRESS).into());
                let mut called = false;
                op.pCallbackTag = (&raw mut called).cast();
                assert_eq!(cpaDcDpEnqueueOp(&raw mut op, CPA_TRUE), CPA_STATUS_SUCCESS);
                poll_until(at, || (&raw const called).read_volatile());
                assert_eq!((op.responseStatus, op.results.status), (CPA_STATUS_SUCCESS, CPA_DC_OK));
                assert_eq!(op.results.checksum, wanted.1.checksum);
                let made = dst.first(op.results.produced);
                assert_eq!(made, if way == CPA_DC_DIR_COMPRESS { &wanted.0 } else { &input });
            }
            // Little room is an error of the data plane.
            let mut op: CpaDcDpOpData = std::mem::zeroed();
            (op.dcInstance, op.pSessionHandle) = (at, session);
            let (s, t) = (src.flats[0], dst.flats[0]);
            (op.srcBuffer, op.srcBufferLen) =
                (s.pData.expose_provenance() as u64, s.dataLenInBytes);
            (op.destBuffer, op.destBufferLen) = (t.pData.expose_provenance() as u64, 100);
            (op.bufferLenToCompress, op.bufferLenForData) = (op.srcBufferLen, 100);
            let mut called = false;
            op.pCallbackTag = (&raw mut called).cast();
            assert_eq!(cpaDcDpEnqueueOp(&raw mut op, CPA_TRUE), CPA_STATUS_SUCCESS);
            poll_until(at, || (&raw const called).read_volatile());
            assert_eq!((op.responseStatus, op.results.status), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW));
            assert_eq!(cpaDcDpRemoveSession(at, session), CPA_STATUS_SUCCESS);
        }
    }
}

unsafe extern "C" fn done(op: *mut CpaDcDpOpData) {
    // SAFETY: the test's own operation, whose tag is a place of the test's.
    unsafe { (*op).pCallbackTag.cast::<bool>().write_volatile(true) };
}

#[test]
fn what_is_of_deflate_alone_is_refused() {
    for data in [lz4(), zstd()] {
        let mut session = Held::new(&data, None);
        let (mut src, mut dst, mut r) = (List::new(text(99)), List::room(999), results());
        let mut dictionary = List::new(text(50));
        // SAFETY: integers and null.
        let mut of: CpaDcDictionaryData = unsafe { std::mem::zeroed() };
        of.pDictionaryBuff = dictionary.get();
        let (handle, mut op) = (session.handle(), op(CPA_DC_FLUSH_FINAL));
        // SAFETY: structures of this function's.
        let status = unsafe {
            let (o, p, none) = (&raw mut op, &raw mut r, ptr::null_mut());
            cpaDcCompressDataWithDict(
                DEFAULT,
                handle,
                src.get(),
                dst.get(),
                &raw mut of,
                o,
                p,
                none,
            )
        };
        assert_eq!(status, CPA_STATUS_UNSUPPORTED);
    }
}

#[test]
fn the_same_with_engines() {
    again_with_engines("the_same_with_engines");
}
