//! Data compression, the traditional interface, judged by zlib.

mod common;

use std::ptr;

use common::*;
use lookaside_qat::{abi::*, dc::calls::*, dc::session::*, sal::*};

const NONE: CpaDcSkipMode = CPA_DC_SKIP_DISABLED;

#[test]
fn every_level_and_code_there_and_back() {
    start();
    let inputs = [text(0), text(1), text(70_000), noise(66_000), vec![7; 300_000]];
    for level in 1..=12 {
        for huff in [CPA_DC_HT_STATIC, CPA_DC_HT_FULL_DYNAMIC] {
            for (sum, judge) in [
                (CPA_DC_CRC32, crc32 as fn(&[u8]) -> u32),
                (CPA_DC_ADLER32, adler32),
                (CPA_DC_NONE, |_| 0),
            ] {
                let mut data = setup();
                (data.compLevel, data.huffType, data.checksum) = (CpaDcCompLvl(level), huff, sum);
                let mut session = Held::new(&data, None);
                for input in &inputs[..if level > 9 { 3 } else { 5 }] {
                    let mut src = List::new(input.clone());
                    let mut dst = List::room(bound(input.len()));
                    let (mut op, mut r) = (op(CPA_DC_FLUSH_FINAL), results());
                    assert_eq!(session.compress(&mut src, &mut dst, &mut op, &mut r), 0);
                    assert_eq!((r.status, r.consumed as usize), (CPA_DC_OK, input.len()));
                    assert_eq!((r.checksum, r.endOfLastBlock), (judge(input), CPA_TRUE));
                    let compressed = dst.first(r.produced).to_vec();
                    assert_eq!(inflate(&compressed, -15, None).as_ref(), Ok(input));
                    let stored = compressed[0] >> 1 & 3 == 0;
                    assert_eq!(r.dataUncompressed == CPA_TRUE, stored);

                    let mut back = List::room(input.len() + 3);
                    let mut src = List::new([&compressed[..], &[9, 9, 9]].concat());
                    assert_eq!(session.decompress(&mut src, &mut back, &mut op, &mut r), 0);
                    assert_eq!(back.first(r.produced), input);
                    // What follows the last block is somebody else's.
                    assert_eq!(r.consumed as usize, compressed.len());
                    assert_eq!((r.status, r.endOfLastBlock), (CPA_DC_OK, CPA_TRUE));
                    assert_eq!(r.checksum, judge(input));
                    assert_eq!(back.bytes[input.len()..], [0xee; 3]);
                }
            }
        }
    }
}

#[test]
fn checksums_go_on_after_full_and_sync_alone() {
    for (sum, judge) in [(CPA_DC_CRC32, crc32 as fn(&[u8]) -> u32), (CPA_DC_ADLER32, adler32)] {
        let mut data = setup();
        data.checksum = sum;
        let mut session = Held::new(&data, None);
        let input = text(150_000);
        let mut stream = Vec::new();
        let mut r = results();
        let pieces = [
            (0..50_000, CPA_DC_FLUSH_FULL),
            (50_000..50_000, CPA_DC_FLUSH_FULL),
            (50_000..120_000, CPA_DC_FLUSH_SYNC),
            (120_000..150_000, CPA_DC_FLUSH_FINAL),
        ];
        for (range, flush) in pieces {
            let end = range.end;
            let mut src = List::new(input[range].to_vec());
            let mut dst = List::room(bound(70_000));
            assert_eq!(session.compress(&mut src, &mut dst, &mut op(flush), &mut r), 0);
            assert_eq!(r.checksum, judge(&input[..end]));
            assert_eq!(r.endOfLastBlock == CPA_TRUE, flush == CPA_DC_FLUSH_FINAL);
            stream.extend_from_slice(dst.first(r.produced));
        }
        assert_eq!(inflate(&stream, -15, None).as_ref(), Ok(&input));
        // After FINAL a request begins afresh, whatever the results had.
        r.checksum = 0x1234_5678;
        let (mut src, mut dst) = (List::new(text(1000)), List::room(2000));
        assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r), 0);
        assert_eq!(r.checksum, judge(&text(1000)));
    }
}

#[test]
fn an_overflow_of_compression_can_be_gone_on_from() {
    let data = CpaDcSessionSetupData { checksum: CPA_DC_ADLER32, ..setup() };
    let mut session = Held::new(&data, None);
    for input in [text(200_000), noise(100_000), [text(50_000), noise(50_000)].concat()] {
        for room in [1000, 5_000, 33_000] {
            let (mut at, mut stream, mut calls) = (0, Vec::new(), 0);
            loop {
                let mut src = List::new(input[at..].to_vec());
                let mut dst = List::split(vec![0; room], &[room / 3, room / 2]);
                let mut r = results();
                let flush = &mut op(CPA_DC_FLUSH_FINAL);
                assert_eq!(session.compress(&mut src, &mut dst, flush, &mut r), CPA_STATUS_SUCCESS);
                let consumed = &input[at..at + r.consumed as usize];
                assert_eq!(r.checksum, adler32(consumed));
                assert!(r.produced as usize <= room);
                stream.extend_from_slice(dst.first(r.produced));
                at += consumed.len();
                calls += 1;
                if r.status == CPA_DC_OK {
                    break;
                }
                assert_eq!((r.status, r.endOfLastBlock), (CPA_DC_OVERFLOW, CPA_FALSE));
                assert!(r.consumed > 0 && at < input.len());
                assert_eq!(inflate_pieces(dst.first(r.produced)), consumed);
                // Most of the room is used.
                assert!(r.produced as usize > room / 2, "{} of {room}", r.produced);
            }
            assert_eq!(at, input.len());
            assert!(calls > 1);
            assert_eq!(inflate(&stream, -15, None).as_ref(), Ok(&input));
        }
        // No room for anything.
        let (mut src, mut dst, mut r) = (List::new(input.clone()), List::room(3), results());
        let flush = &mut op(CPA_DC_FLUSH_FINAL);
        assert_eq!(session.compress(&mut src, &mut dst, flush, &mut r), CPA_STATUS_SUCCESS);
        assert_eq!((r.status, r.consumed, r.produced), (CPA_DC_OVERFLOW, 0, 0));
        assert_eq!(r.checksum, 1);
    }
}

fn compressed(input: &[u8]) -> Vec<u8> {
    let mut session = Held::new(&setup(), None);
    let (mut src, mut dst) = (List::new(input.to_vec()), List::room(bound(input.len())));
    let mut r = results();
    assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r), 0);
    dst.first(r.produced).to_vec()
}

#[test]
fn decompression_says_how_far_it_came() {
    let input = text(100_000);
    let small = compressed(&input);
    let mut session = Held::new(&setup(), None);
    let mut flush = op(CPA_DC_FLUSH_FINAL);
    // What is of compression alone is not looked at.
    let (mut src, mut dst, mut r) = (List::new(small.clone()), List::room(100_000), results());
    let mut recover = op(CPA_DC_FLUSH_FINAL);
    recover.compressAndVerifyAndRecover = CPA_TRUE;
    assert_eq!(session.decompress(&mut src, &mut dst, &mut recover, &mut r), CPA_STATUS_SUCCESS);
    assert_eq!((r.status, &dst.bytes), (CPA_DC_OK, &input));
    // Too little room: it cannot be resumed.
    let (mut src, mut dst, mut r) = (List::new(small.clone()), List::room(60_000), results());
    assert_eq!(session.decompress(&mut src, &mut dst, &mut flush, &mut r), CPA_STATUS_FAIL);
    assert_eq!((r.status, r.produced), (CPA_DC_OVERFLOW, 60_000));
    assert!(r.consumed > 0 && (r.consumed as usize) < small.len());
    assert_eq!(dst.bytes, input[..60_000]);
    assert_eq!(r.checksum, crc32(&input[..60_000]));
    // No end: what there is.
    let (mut src, mut dst) = (List::new(small[..small.len() / 2].to_vec()), List::room(100_000));
    assert_eq!(session.decompress(&mut src, &mut dst, &mut flush, &mut r), CPA_STATUS_SUCCESS);
    assert_eq!((r.status, r.endOfLastBlock), (CPA_DC_OK, CPA_FALSE));
    let plain = dst.first(r.produced);
    assert!(plain.len() > 10_000 && input.starts_with(plain));
    assert_eq!((r.consumed as usize, r.checksum), (small.len() / 2, crc32(plain)));
    // Not DEFLATE.
    for (bytes, status) in [
        (vec![0x06, 0, 0, 0, 0, 0], CPA_DC_INVALID_BLOCK_TYPE),
        (vec![0x01, 5, 0, 5, 0, 1, 2, 3, 4, 5], CPA_DC_BAD_STORED_BLOCK_LEN),
        (noise(1000).into_iter().map(|b| b & 0xf8 | 4).collect(), CPA_DC_INVALID_CODE),
    ] {
        let (mut src, mut dst) = (List::new(bytes), List::room(1000));
        assert_eq!(session.decompress(&mut src, &mut dst, &mut flush, &mut r), CPA_STATUS_FAIL);
        assert_eq!((r.status, r.consumed, r.produced), (status, 0, 0));
        // SAFETY: no pointer.
        assert!(icp_sal_get_dc_error(status.0 as i8) > 0);
    }
}

#[test]
fn pieces_without_an_end_may_fill_their_destination() {
    let mut session = Held::new(&setup(), None);
    for input in [text(8192), noise(8192), text(0)] {
        for flush in [CPA_DC_FLUSH_FULL, CPA_DC_FLUSH_SYNC] {
            let (mut src, mut dst) = (List::new(input.clone()), List::room(bound(input.len())));
            let mut r = results();
            assert_eq!(session.compress(&mut src, &mut dst, &mut op(flush), &mut r), 0);
            assert_eq!((r.status, r.endOfLastBlock), (CPA_DC_OK, CPA_FALSE));
            let piece = dst.first(r.produced).to_vec();
            for split in [&[][..], &[10, piece.len().saturating_sub(3)]] {
                let mut src = List::split(piece.clone(), split);
                // The checksum goes on.
                let (mut back, mut r) = (List::room(input.len()), results());
                r.checksum = 0;
                assert_eq!(session.decompress(&mut src, &mut back, &mut op(flush), &mut r), 0);
                assert_eq!((r.status, r.endOfLastBlock), (CPA_DC_OK, CPA_FALSE));
                assert_eq!((r.consumed as usize, r.produced as usize), (piece.len(), input.len()));
                assert!(back.bytes == input && r.checksum == crc32(&input));
                // One byte less is too little.
                let Some(less) = input.len().checked_sub(1) else { continue };
                let (mut back, mut r) = (List::room(less), results());
                let status = session.decompress(&mut src, &mut back, &mut op(flush), &mut r);
                assert_eq!((status, r.status), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW));
                assert_eq!((r.produced as usize, &back.bytes[..]), (less, &input[..less]));
            }
            // Where all fits, and what follows is no block: 11 is a type that there is not.
            let mut src = List::new([&piece[..], &[6]].concat());
            let (mut back, mut r) = (List::room(input.len()), results());
            let status = session.decompress(&mut src, &mut back, &mut op(flush), &mut r);
            let what =
                if piece.is_empty() { CPA_DC_INVALID_BLOCK_TYPE } else { CPA_DC_INVALID_CODE };
            assert_eq!((status, r.status), (CPA_STATUS_FAIL, what));
        }
    }
}

#[test]
fn lists_of_any_split_and_alignment() {
    let input = text(100_001);
    let mut session = Held::new(&setup(), None);
    let splits: [&[usize]; 5] =
        [&[], &[0, 1, 2, 3], &[50_000], &[7, 7, 7, 99_999], &[1, 65_536, 65_537]];
    let expected = compressed(&input);
    for src_split in splits {
        for dst_split in splits {
            let mut src = List::split(input.clone(), src_split);
            let mut dst = List::split(vec![0; bound(input.len())], dst_split);
            let (mut flush, mut r) = (op(CPA_DC_FLUSH_FINAL), results());
            assert_eq!(session.compress(&mut src, &mut dst, &mut flush, &mut r), 0);
            assert_eq!(dst.first(r.produced), expected);
            let mut src = List::split(expected.clone(), src_split);
            let mut dst = List::split(vec![0; input.len()], dst_split);
            assert_eq!(session.decompress(&mut src, &mut dst, &mut flush, &mut r), 0);
            assert_eq!(dst.bytes, input);
        }
    }
    // Many pieces.
    let ends: Vec<usize> = (0..5000).map(|n| n * 20).collect();
    let (mut src, mut dst) = (List::split(input.clone(), &ends), List::room(bound(input.len())));
    let mut r = results();
    assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r), 0);
    assert_eq!(dst.first(r.produced), expected);
}

#[test]
fn what_is_not_valid_is_refused() {
    let mut session = Held::new(&setup(), None);
    let (mut src, mut dst, mut r) = (List::new(text(1000)), List::room(2000), results());
    let mut good = op(CPA_DC_FLUSH_FINAL);
    let handle = session.handle();
    let (s, d, o, p) = (src.get(), dst.get(), &raw mut good, &raw mut r);
    let (null, tag) = (ptr::null_mut(), ptr::null_mut());
    let call = |i, h, s, d, o, r| {
        // SAFETY: null, or structures of this test's.
        unsafe { cpaDcCompressData2(i, h, s, d, o, r, tag) }
    };
    assert_eq!(call(DEFAULT, handle, s, d, o, p), CPA_STATUS_SUCCESS);
    assert_eq!(call(DEFAULT, null, s, d, o, p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(call(DEFAULT, handle, ptr::null_mut(), d, o, p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(call(DEFAULT, handle, s, ptr::null_mut(), o, p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(call(DEFAULT, handle, s, d, ptr::null_mut(), p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(call(DEFAULT, handle, s, d, o, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
    // In place, and overlapping.
    assert_eq!(call(DEFAULT, handle, s, s, o, p), CPA_STATUS_INVALID_PARAM);
    let mut inside = List::new(vec![]);
    inside.flats[0] = CpaFlatBuffer { dataLenInBytes: 10, ..src.flats[0] };
    inside.flats[0].pData = inside.flats[0].pData.wrapping_add(990);
    inside.list.pBuffers = inside.flats.as_mut_ptr();
    assert_eq!(call(DEFAULT, handle, s, inside.get(), o, p), CPA_STATUS_INVALID_PARAM);
    // Handles.
    let stray = handle.wrapping_byte_add(8);
    assert_eq!(call(handle, handle, s, d, o, p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(
        call(instance(1).wrapping_byte_add(8), handle, s, d, o, p),
        CPA_STATUS_INVALID_PARAM
    );
    assert_eq!(call(DEFAULT, stray, s, d, o, p), CPA_STATUS_INVALID_PARAM);
    // Lists.
    let mut no_data = List::new(vec![1]);
    no_data.flats[0].pData = ptr::null_mut();
    assert_eq!(call(DEFAULT, handle, no_data.get(), d, o, p), CPA_STATUS_INVALID_PARAM);
    no_data.list.pBuffers = ptr::null_mut();
    assert_eq!(call(DEFAULT, handle, no_data.get(), d, o, p), CPA_STATUS_INVALID_PARAM);
    no_data.list.numBuffers = 0;
    assert_eq!(call(DEFAULT, handle, no_data.get(), d, o, p), CPA_STATUS_SUCCESS);
    // Which block that is depends on the CPU's kernels.
    assert_eq!(r.consumed, 0);
    assert_eq!(inflate(dst.first(r.produced), -15, None), Ok(vec![]));
    // Operation data.
    let wrong: [fn(&mut CpaDcOpData); 7] = [
        |o| o.flushFlag = CpaDcFlush(4),
        |o| o.compressAndVerify = CpaBoolean(2),
        |o| o.compressAndVerifyAndRecover = CPA_TRUE,
        |o| o.integrityCrcCheck = CPA_TRUE,
        |o| o.verifyHwIntegrityCrcs = CPA_TRUE,
        |o| o.inputSkipData.skipMode = CpaDcSkipMode(4),
        |o| (o.inputSkipData.skipMode, o.inputSkipData.skipLength) = (CPA_DC_SKIP_AT_END, 1001),
    ];
    for spoil in wrong {
        let mut spoiled = op(CPA_DC_FLUSH_FINAL);
        spoil(&mut spoiled);
        let status = call(DEFAULT, handle, s, d, &raw mut spoiled, p);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    }
    // A session that was removed.
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    assert_eq!(call(DEFAULT, handle, s, d, o, p), CPA_STATUS_INVALID_PARAM);
    assert_eq!(session.remove(), CPA_STATUS_INVALID_PARAM);
}

#[test]
fn set_ups_are_checked() {
    let status = |change: fn(&mut CpaDcSessionSetupData)| {
        let (mut data, mut memory) = (setup(), [0_u64; 9]);
        change(&mut data);
        let (place, none) = (memory.as_mut_ptr().cast(), ptr::null_mut());
        // SAFETY: structures of this function's.
        unsafe {
            let status = cpaDcInitSession(DEFAULT, place, &raw mut data, none, None);
            if status == CPA_STATUS_SUCCESS {
                assert_eq!(cpaDcRemoveSession(DEFAULT, place), CPA_STATUS_SUCCESS);
            }
            status
        }
    };
    assert_eq!(status(|_| {}), CPA_STATUS_SUCCESS);
    assert_eq!(status(|d| d.windowSize = CpaDcCompWindowSize(0)), CPA_STATUS_SUCCESS);
    assert_eq!(status(|d| d.windowSize = CpaDcCompWindowSize(7)), CPA_STATUS_SUCCESS);
    for unsupported in [
        (|d| d.huffType = CPA_DC_HT_PRECOMP) as fn(&mut CpaDcSessionSetupData),
        // It is compressed to alone.
        |d| (d.compType, d.checksum) = (CPA_DC_LZ4S, CPA_DC_XXHASH32),
        |d| {
            (d.compType, d.checksum) = (CPA_DC_LZ4, CPA_DC_XXHASH32);
            d.sessState = CPA_DC_STATEFUL;
        },
        |d| (d.compType, d.checksum, d.sessState) = (CPA_DC_ZSTD, CPA_DC_NONE, CPA_DC_STATEFUL),
    ] {
        assert_eq!(status(unsupported), CPA_STATUS_UNSUPPORTED);
    }
    for invalid in [
        (|d| d.compType = CpaDcCompType(0)) as fn(&mut CpaDcSessionSetupData),
        |d| d.compLevel = CpaDcCompLvl(0),
        |d| d.compLevel = CpaDcCompLvl(13),
        |d| d.huffType = CpaDcHuffType(3),
        |d| d.sessDirection = CpaDcSessionDir(3),
        |d| d.sessState = CpaDcSessionState(2),
        |d| d.checksum = CpaDcChecksum(6),
        |d| d.checksum = CPA_DC_XXHASH32,
        |d| d.compType = CPA_DC_LZ4,
        |d| d.compType = CPA_DC_ZSTD,
        |d| {
            (d.compType, d.checksum) = (CPA_DC_LZ4, CPA_DC_XXHASH32);
            d.lz4BlockMaxSize = CpaDcCompLZ4BlockMaxSize(4);
        },
        |d| {
            (d.compType, d.checksum) = (CPA_DC_LZ4, CPA_DC_XXHASH32);
            d.accumulateXXHash = CpaBoolean(2);
        },
        |d| {
            (d.compType, d.checksum) = (CPA_DC_LZ4S, CPA_DC_NONE);
            (d.sessDirection, d.minMatch) = (CPA_DC_DIR_COMPRESS, CpaDcCompMinMatch(2));
        },
        |d| d.autoSelectBestHuffmanTree = CpaDcAutoSelectBest(5),
        |d| d.windowSize = CPA_DC_WINSIZE_64K,
    ] {
        assert_eq!(status(invalid), CPA_STATUS_INVALID_PARAM);
    }
    // One way only.
    let mut one_way = setup();
    one_way.sessDirection = CPA_DC_DIR_DECOMPRESS;
    let mut session = Held::new(&one_way, None);
    let (mut src, mut dst, mut r) = (List::new(text(10)), List::room(100), results());
    let status = session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r);
    assert_eq!(status, CPA_STATUS_INVALID_PARAM);
}

#[test]
fn a_stateful_session_is_one_stream() {
    for sum in [CPA_DC_CRC32, CPA_DC_ADLER32] {
        let mut data = setup();
        (data.sessState, data.checksum, data.compLevel) = (CPA_DC_STATEFUL, sum, CPA_DC_L6);
        let judge = if sum == CPA_DC_CRC32 { crc32 } else { adler32 };
        let mut session = Held::new(&data, None);
        let input = text(300_000);
        for _stream in 0..2 {
            let (mut at, mut stream) = (0, Vec::new());
            while at < input.len() || stream.is_empty() {
                let end = (at + 30_000).min(input.len());
                let flush = match end == input.len() {
                    true => CPA_DC_FLUSH_FINAL,
                    false => {
                        [CPA_DC_FLUSH_NONE, CPA_DC_FLUSH_SYNC, CPA_DC_FLUSH_FULL][at / 30_000 % 3]
                    }
                };
                // Small destinations: it is gone on with until all is out.
                loop {
                    let mut src = List::new(input[at..end].to_vec());
                    let (mut dst, mut r) = (List::room(4000), results());
                    let status = session.compress(&mut src, &mut dst, &mut op(flush), &mut r);
                    assert_eq!(status, CPA_STATUS_SUCCESS);
                    stream.extend_from_slice(dst.first(r.produced));
                    at += r.consumed as usize;
                    assert_eq!(r.checksum, judge(&input[..at]));
                    if r.status == CPA_DC_OK {
                        assert_eq!(r.endOfLastBlock == CPA_TRUE, flush == CPA_DC_FLUSH_FINAL);
                        break;
                    }
                    assert_eq!(r.status, CPA_DC_OVERFLOW);
                }
            }
            assert_eq!(inflate(&stream, -15, None).as_ref(), Ok(&input));

            let (mut at, mut plain) = (0, Vec::new());
            loop {
                let end = (at + 5000).min(stream.len());
                let mut src = List::new(stream[at..end].to_vec());
                let (mut dst, mut r) = (List::room(9000), results());
                let flush = &mut op(CPA_DC_FLUSH_SYNC);
                assert_eq!(session.decompress(&mut src, &mut dst, flush, &mut r), 0);
                plain.extend_from_slice(dst.first(r.produced));
                at += r.consumed as usize;
                assert_eq!(r.checksum, judge(&plain));
                assert!([CPA_DC_OK, CPA_DC_OVERFLOW].contains(&r.status));
                if r.endOfLastBlock == CPA_TRUE {
                    break;
                }
            }
            assert!(plain == input && at == stream.len());
        }
        // A reset forgets a stream that was begun.
        let (mut src, mut dst, mut r) = (List::new(text(1000)), List::room(2000), results());
        let none = &mut op(CPA_DC_FLUSH_NONE);
        assert_eq!(session.compress(&mut src, &mut dst, none, &mut r), 0);
        let handle = session.handle();
        // SAFETY: a session.
        assert_eq!(unsafe { cpaDcResetSession(DEFAULT, handle) }, CPA_STATUS_SUCCESS);
        let last = &mut op(CPA_DC_FLUSH_FINAL);
        assert_eq!(session.compress(&mut src, &mut dst, last, &mut r), 0);
        assert_eq!(inflate(dst.first(r.produced), -15, None), Ok(text(1000)));
    }
}

#[test]
fn results_are_verified_and_recovered() {
    let mut session = Held::new(&setup(), None);
    let input = text(200_000);
    for flush in [CPA_DC_FLUSH_FINAL, CPA_DC_FLUSH_FULL] {
        for split in [&[][..], &[1000, 5000]] {
            let judge = |bytes: &[u8]| match flush {
                CPA_DC_FLUSH_FINAL => inflate(bytes, -15, None).unwrap(),
                _ => inflate_pieces(bytes),
            };
            let mut verified = op(flush);
            verified.compressAndVerify = CPA_TRUE;
            let mut run = |op: &mut CpaDcOpData, room: usize, fails: bool| {
                let handle = session.handle();
                if fails {
                    // SAFETY: a session.
                    assert_eq!(unsafe { icp_sal_cnv_simulate_error(DEFAULT, handle) }, 0);
                }
                // SAFETY: as above.
                assert_eq!(unsafe { cpaDcResetSession(DEFAULT, handle) }, 0);
                let mut src = List::split(input.clone(), split);
                let (mut dst, mut r) = (List::split(vec![0; room], split), results());
                let status = session.compress(&mut src, &mut dst, op, &mut r);
                (status, dst.first(r.produced).to_vec(), r)
            };
            let room = bound(input.len());
            let (status, bytes, r) = run(&mut verified, room, false);
            assert_eq!((status, r.status, judge(&bytes) == input), (0, CPA_DC_OK, true));
            assert!(bytes.len() < input.len() / 2 && r.dataUncompressed == CPA_FALSE);
            // A wrong result is withheld,
            let (status, _, r) = run(&mut verified, room, true);
            assert_eq!((status, r.status), (CPA_STATUS_FAIL, CPA_DC_VERIFY_ERROR));
            assert_eq!((r.consumed, r.produced), (0, 0));
            // or replaced, where that is asked for.
            verified.compressAndVerifyAndRecover = CPA_TRUE;
            let (status, bytes, r) = run(&mut verified, room, true);
            assert_eq!((status, r.status, r.dataUncompressed), (0, CPA_DC_OK, CPA_TRUE));
            assert_eq!((judge(&bytes) == input, r.checksum), (true, crc32(&input)));
            assert_eq!(r.consumed as usize, input.len());
            // The failure was for one.
            let (status, bytes, r) = run(&mut verified, room, false);
            assert_eq!((status, r.dataUncompressed), (0, CPA_FALSE));
            // What fits is verified as well,
            let half = bytes.len() / 2;
            let (status, part, r) = run(&mut verified, half, true);
            assert_eq!((status, r.status, r.dataUncompressed), (0, CPA_DC_OVERFLOW, CPA_TRUE));
            let consumed = r.consumed as usize;
            assert!(consumed > half / 8 * 7 && inflate_pieces(&part) == input[..consumed]);
            assert_eq!(r.checksum, crc32(&input[..consumed]));
            verified.compressAndVerifyAndRecover = CPA_FALSE;
            let (status, _, r) = run(&mut verified, half, true);
            assert_eq!((status, r.status, r.produced), (-1, CPA_DC_VERIFY_ERROR, 0));
            // and can be gone on from.
            let (status, part, r) = run(&mut verified, bytes.len() / 2, false);
            assert_eq!((status, r.status), (0, CPA_DC_OVERFLOW));
            assert_eq!(inflate_pieces(&part), input[..r.consumed as usize]);
        }
    }
    // SAFETY: a place of this function's.
    let recovered = unsafe {
        let mut stats = std::mem::zeroed();
        assert_eq!(cpaDcGetStats(DEFAULT, &raw mut stats), CPA_STATUS_SUCCESS);
        stats.numCompCnvErrorsRecovered
    };
    assert!(recovered >= 4);
}

#[test]
fn integrity_crcs_are_of_both_sides() {
    let data = CpaDcSessionSetupData { checksum: CPA_DC_CRC32_ADLER32, ..setup() };
    let mut session = Held::new(&data, None);
    let input = text(100_000);
    // SAFETY: integers.
    let mut crcs: CpaCrcData = unsafe { std::mem::zeroed() };
    let (mut op, mut r) = (op(CPA_DC_FLUSH_FINAL), results());
    (op.integrityCrcCheck, op.verifyHwIntegrityCrcs) = (CPA_TRUE, CPA_TRUE);
    op.pCrcData = &raw mut crcs;
    let (mut src, mut dst) = (List::new(input.clone()), List::split(vec![0; 110_000], &[3, 999]));
    assert_eq!(session.compress(&mut src, &mut dst, &mut op, &mut r), CPA_STATUS_SUCCESS);
    let small = dst.first(r.produced).to_vec();
    assert_eq!((crcs.crc32, crcs.adler32), (crc32(&input), adler32(&input)));
    assert_eq!((crcs.integrityCrc.iCrc, crcs.integrityCrc.oCrc), (crc32(&input), crc32(&small)));
    let (mut src, mut back) = (List::new(small.clone()), List::room(100_000));
    assert_eq!(session.decompress(&mut src, &mut back, &mut op, &mut r), CPA_STATUS_SUCCESS);
    assert_eq!((crcs.crc32, crcs.adler32), (crc32(&input), adler32(&input)));
    assert_eq!((crcs.integrityCrc.iCrc, crcs.integrityCrc.oCrc), (crc32(&small), crc32(&input)));
    // 64 bits, and parameters of the caller's: CRC-64/XZ.
    let mut control = CpaCrcControlData {
        polynomial: 0x42f0_e1eb_a9ea_3693,
        initialValue: u64::MAX,
        reflectIn: CPA_TRUE,
        reflectOut: CPA_TRUE,
        xorOut: u64::MAX,
    };
    op.integrityCrcSize = CPA_DC_INTEGRITY_CRC64;
    let check = b"123456789".to_vec();
    for expected in [0x6c40_df5f_0b49_7347, 0x995d_c9bb_df19_39fa] {
        let (mut src, mut dst) = (List::new(check.clone()), List::room(100));
        assert_eq!(session.compress(&mut src, &mut dst, &mut op, &mut r), CPA_STATUS_SUCCESS);
        assert_eq!(crcs.integrityCrc64b.iCrc, expected);
        let handle = session.handle();
        // SAFETY: a session, and a structure of this function's.
        let set = unsafe { cpaDcSetCrcControlData(DEFAULT, handle, &raw mut control) };
        assert_eq!(set, CPA_STATUS_SUCCESS);
    }
}

#[test]
fn regions_are_left_out() {
    let mut session = Held::new(&setup(), None);
    let input = text(10_000);
    let skip = |mode, len, stride, first| CpaDcSkipData {
        skipMode: mode,
        skipLength: len,
        strideLength: stride,
        firstSkipOffset: first,
    };
    let stride: Vec<u8> = input
        .iter()
        .enumerate()
        .filter(|(n, _)| *n < 100 || (n - 100) % 60 >= 10)
        .map(|p| *p.1)
        .collect();
    for (data, plain, consumed) in [
        (skip(CPA_DC_SKIP_AT_START, 30, 0, 0), &input[30..], 10_000),
        (skip(CPA_DC_SKIP_AT_END, 30, 0, 0), &input[..9970], 9970),
        (skip(CPA_DC_SKIP_STRIDE, 10, 50, 100), &stride[..], 10_000),
        (skip(NONE, 10, 50, 100), &input[..], 10_000),
    ] {
        let (mut src, mut dst) = (List::split(input.clone(), &[55, 5000]), List::room(11_000));
        let (mut op, mut r) = (op(CPA_DC_FLUSH_FINAL), results());
        op.inputSkipData = data;
        op.outputSkipData = skip(CPA_DC_SKIP_AT_START, 5, 0, 0);
        assert_eq!(session.compress(&mut src, &mut dst, &mut op, &mut r), CPA_STATUS_SUCCESS);
        assert_eq!((r.consumed, r.checksum), (consumed, crc32(plain)));
        assert_eq!(dst.bytes[..5], [0xee; 5]);
        assert_eq!(inflate(&dst.first(r.produced)[5..], -15, None).unwrap(), plain);
    }
}

#[test]
fn what_is_left_out_is_in_no_checksum() {
    let mut session = Held::new(&setup(), None);
    let input = text(10_000);
    let mut r = results();
    for (left_out, flush) in [(30, CPA_DC_FLUSH_FULL), (50, CPA_DC_FLUSH_FINAL)] {
        let (mut src, mut dst) = (List::new(input.clone()), List::room(11_000));
        let mut op = op(flush);
        op.inputSkipData.skipMode = CPA_DC_SKIP_AT_START;
        op.inputSkipData.skipLength = left_out;
        assert_eq!(session.compress(&mut src, &mut dst, &mut op, &mut r), CPA_STATUS_SUCCESS);
        assert_eq!(r.consumed, 10_000);
    }
    let plain = [&input[30..], &input[50..]].concat();
    assert_eq!(r.checksum, crc32(&plain));
    // The length in gzip's footer.
    let mut footer = List::room(8);
    // SAFETY: a session, and a buffer of 8 bytes.
    unsafe {
        let handle = session.handle();
        let status = lookaside_qat::dc::frame::cpaDcGenerateFooter(
            handle,
            footer.flats.as_mut_ptr(),
            &raw mut r,
        );
        assert_eq!(status, CPA_STATUS_SUCCESS);
    }
    assert_eq!(footer.bytes[4..], (plain.len() as u32).to_le_bytes());
}

#[test]
fn dictionaries_are_zlibs() {
    let mut session = Held::new(&CpaDcSessionSetupData { compLevel: CPA_DC_L6, ..setup() }, None);
    let (dictionary, input) = (text(20_000), text(20_000)[5000..15_000].to_vec());
    let mut buffers = List::split(dictionary.clone(), &[7000]);
    let mut data = CpaDcDictionaryData {
        pDictionaryBuff: buffers.get(),
        dictionaryType: CPA_DC_UNCOMPRESSED_DICT,
        calcDictionaryIntegCrc: CPA_TRUE,
        dictionaryIntegCrc64b: CpaIntegrityCrc64b { iCrc: 0, oCrc: 0 },
        dictId: 0,
        pExtDictionaryData: ptr::null_mut(),
    };
    let handle = session.handle();
    let (mut src, mut dst) = (List::new(input.clone()), List::room(bound(input.len())));
    let (mut op, mut r, tag) = (op(CPA_DC_FLUSH_FINAL), results(), ptr::null_mut());
    let (o, p, d) = (&raw mut op, &raw mut r, &raw mut data);
    // SAFETY: structures of this test's; the session is synchronous.
    unsafe {
        let (s, t) = (src.get(), dst.get());
        assert_eq!(cpaDcCompressDataWithDict(DEFAULT, handle, s, t, d, o, p, tag), 0);
        assert_eq!(
            (r.status, r.checksum, data.dictId),
            (CPA_DC_OK, crc32(&input), adler32(&dictionary))
        );
        let small = dst.first(r.produced).to_vec();
        assert!(small.len() < compressed(&input).len() / 2);
        assert_eq!(inflate(&small, -15, Some(&dictionary)).as_ref(), Ok(&input));
        let (mut src, mut back) = (List::new(small), List::room(input.len()));
        let (s, t) = (src.get(), back.get());
        assert_eq!(cpaDcDecompressDataWithDict(DEFAULT, handle, s, t, d, o, p, tag), 0);
        assert_eq!((r.endOfLastBlock, r.checksum), (CPA_TRUE, crc32(&input)));
        assert_eq!(back.bytes, input);
        // Too little room.
        let mut back = List::room(input.len() - 1);
        let status = cpaDcDecompressDataWithDict(DEFAULT, handle, s, back.get(), d, o, p, tag);
        assert_eq!((status, r.status, r.produced), (CPA_STATUS_FAIL, CPA_DC_OVERFLOW, 0));
        (*d).dictionaryType = CPA_DC_COMPRESSED_DICT;
        let status = cpaDcDecompressDataWithDict(DEFAULT, handle, s, t, d, o, p, tag);
        assert_eq!(status, CPA_STATUS_UNSUPPORTED);
    }
}

#[test]
fn an_update_changes_level_and_codes() {
    let mut session = Held::new(&setup(), None);
    let input = text(100_000);
    let mut size = |level, huff| {
        let mut data =
            CpaDcSessionUpdateData { compLevel: level, huffType: huff, enableDmm: CPA_FALSE };
        let handle = session.handle();
        // SAFETY: a session, and a structure of this function's.
        assert_eq!(unsafe { cpaDcUpdateSession(DEFAULT, handle, &raw mut data) }, 0);
        let (mut src, mut dst, mut r) = (List::new(input.clone()), List::room(110_000), results());
        assert_eq!(session.compress(&mut src, &mut dst, &mut op(CPA_DC_FLUSH_FINAL), &mut r), 0);
        assert_eq!(inflate(dst.first(r.produced), -15, None).as_ref(), Ok(&input));
        r.produced
    };
    let fast = size(CPA_DC_L1, CPA_DC_HT_FULL_DYNAMIC);
    let best = size(CPA_DC_L12, CPA_DC_HT_FULL_DYNAMIC);
    let fixed = size(CPA_DC_L1, CPA_DC_HT_STATIC);
    assert!(best < fast && fast < fixed, "{best} {fast} {fixed}");
}

/// The calls without operation data.
#[test]
fn the_older_calls_there_and_back() {
    let mut session = Held::new(&setup(), None);
    let handle = session.handle();
    let input = text(20_000);
    let (mut src, mut dst) = (List::new(input.clone()), List::room(bound(input.len())));
    let (mut r, mut back) = (results(), List::room(input.len()));
    let (flush, odd, none) = (CPA_DC_FLUSH_FINAL, CpaDcFlush(99), ptr::null_mut());
    let (from, to) = (src.get(), dst.get());
    // SAFETY: all lives until each call's end.
    unsafe {
        let compress = |src, dst, results, flush| {
            cpaDcCompressData(DEFAULT, handle, src, dst, results, flush, none)
        };
        assert_eq!(compress(from, to, &raw mut r, flush), CPA_STATUS_SUCCESS);
        assert_eq!((r.status, r.consumed), (CPA_DC_OK, 20_000));
        assert_eq!(inflate(dst.first(r.produced), -15, None).as_ref(), Ok(&input));
        // What does not end can be gone on from.
        let whole = r.produced;
        assert_eq!(compress(from, to, &raw mut r, CPA_DC_FLUSH_SYNC), CPA_STATUS_SUCCESS);
        assert_eq!((r.endOfLastBlock, inflate_pieces(dst.first(r.produced))), (CPA_FALSE, input));
        assert_eq!(compress(from, to, &raw mut r, odd), CPA_STATUS_INVALID_PARAM);
        assert_eq!(compress(ptr::null_mut(), to, &raw mut r, flush), CPA_STATUS_INVALID_PARAM);
        assert_eq!(compress(from, ptr::null_mut(), &raw mut r, flush), CPA_STATUS_INVALID_PARAM);
        assert_eq!(compress(from, to, ptr::null_mut(), flush), CPA_STATUS_INVALID_PARAM);

        assert_eq!(compress(from, to, &raw mut r, flush), CPA_STATUS_SUCCESS);
        assert_eq!(r.produced, whole);
        let mut packed = List::new(dst.first(whole).to_vec());
        let (packed, to) = (packed.get(), back.get());
        let decompress = |src, dst, results, flush| {
            cpaDcDecompressData(DEFAULT, handle, src, dst, results, flush, none)
        };
        assert_eq!(decompress(packed, to, &raw mut r, flush), CPA_STATUS_SUCCESS);
        assert_eq!((r.status, r.consumed, &back.bytes), (CPA_DC_OK, whole, &src.bytes));
        assert_eq!(decompress(packed, to, &raw mut r, odd), CPA_STATUS_INVALID_PARAM);
        assert_eq!(decompress(ptr::null_mut(), to, &raw mut r, flush), CPA_STATUS_INVALID_PARAM);
        assert_eq!(decompress(packed, to, ptr::null_mut(), flush), CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn requests_without_a_session() {
    let input = text(100_000);
    let mut data = setup();
    let (mut src, mut dst, mut back) =
        (List::new(input.clone()), List::room(110_000), List::room(100_000));
    let (mut op, mut r, tag) = (op(CPA_DC_FLUSH_FINAL), results(), ptr::null_mut());
    // SAFETY: structures of this test's.
    unsafe {
        let (d, s, t, o, p) = (&raw mut data, src.get(), dst.get(), &raw mut op, &raw mut r);
        assert_eq!(cpaDcNsCompressData(DEFAULT, d, s, t, o, p, None, tag), 0);
        assert_eq!((r.status, r.checksum), (CPA_DC_OK, crc32(&input)));
        let mut small = List::new(dst.first(r.produced).to_vec());
        assert_eq!(inflate(&small.bytes, -15, None).as_ref(), Ok(&input));
        let (s, t) = (small.get(), back.get());
        assert_eq!(cpaDcNsDecompressData(DEFAULT, d, s, t, o, p, None, tag), 0);
        assert!(back.bytes == input && r.endOfLastBlock == CPA_TRUE);
        // With a callback, and a verification that fails.
        let called = Called::default();
        ((*o).compressAndVerify, back) = (CPA_TRUE, List::room(110_000));
        let (s, t) = (src.get(), back.get());
        assert_eq!(icp_sal_ns_cnv_simulate_error(instance(7)), 0);
        let at = instance(7);
        assert_eq!(cpaDcNsCompressData(at, d, s, t, o, p, Some(note), called.tag()), 0);
        poll_until(at, || called.count() == 1);
        assert_eq!(*called.0.lock().unwrap(), [CPA_STATUS_FAIL]);
        assert_eq!(r.status, CPA_DC_VERIFY_ERROR);
        assert_eq!(icp_sal_ns_cnv_simulate_error(at), 0);
        assert_eq!(icp_sal_ns_cnv_reset_error(at), 0);
        assert_eq!(cpaDcNsCompressData(at, d, s, t, o, p, Some(note), called.tag()), 0);
        poll_until(at, || called.count() == 2);
        assert_eq!(r.status, CPA_DC_OK);
        (*d).sessState = CPA_DC_STATEFUL;
        let status = cpaDcNsCompressData(DEFAULT, d, s, t, o, p, None, tag);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn the_same_with_engines() {
    again_with_engines("the_same_with_engines");
}
