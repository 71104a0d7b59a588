//! The data plane of compression, headers and footers, capabilities.

mod common;

use std::{ffi::c_void, ptr, sync::Mutex};

use common::*;
use lookaside_qat::{
    abi::*,
    dc::{calls::*, capability::*, frame::*, plane::*, session::*},
    sal::*,
};

static DONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

unsafe extern "C" fn done(op: *mut CpaDcDpOpData) {
    DONE.lock().unwrap().push(op.addr());
}

fn physical<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

/// A list in the form of the data plane.
#[repr(C, align(8))]
struct PhysicalList {
    head: CpaPhysBufferList,
    flats: [CpaPhysFlatBuffer; 3],
}

impl PhysicalList {
    fn new(list: &List) -> Box<PhysicalList> {
        let flat = |f: &CpaFlatBuffer| CpaPhysFlatBuffer {
            dataLenInBytes: f.dataLenInBytes,
            reserved: 0,
            bufferPhysAddr: physical(f.pData),
        };
        let flats = [0, 1, 2].map(|n| flat(&list.flats[n]));
        let head = CpaPhysBufferList { reserved0: 0, numBuffers: 3, reserved1: 0, flatBuffers: [] };
        Box::new(PhysicalList { head, flats })
    }
}

fn operation(at: CpaInstanceHandle, session: *mut c_void, way: CpaDcSessionDir) -> CpaDcDpOpData {
    CpaDcDpOpData {
        reserved0: 0,
        bufferLenToCompress: 0,
        bufferLenForData: 0,
        reserved1: 0,
        reserved2: 0,
        reserved3: 0,
        results: results(),
        dcInstance: at,
        pSessionHandle: session,
        srcBuffer: 0,
        srcBufferLen: 0,
        destBuffer: 0,
        destBufferLen: 0,
        sessDirection: way,
        compressAndVerify: CPA_FALSE,
        compressAndVerifyAndRecover: CPA_FALSE,
        responseStatus: 55,
        thisPhys: 0,
        pCallbackTag: ptr::null_mut(),
        pSetupData: ptr::null_mut(),
    }
}

fn flat(op: &mut CpaDcDpOpData, src: &List, dst: &List) {
    let (s, d) = (src.flats[0], dst.flats[0]);
    (op.srcBuffer, op.srcBufferLen) = (physical(s.pData), s.dataLenInBytes);
    (op.destBuffer, op.destBufferLen) = (physical(d.pData), d.dataLenInBytes);
    (op.bufferLenToCompress, op.bufferLenForData) = (op.srcBufferLen, op.destBufferLen);
}

#[test]
fn the_data_plane() {
    start();
    let at = instance(1);
    let (mut data, mut memory, mut size) = (setup(), [0_u64; 9], 0);
    let session: *mut c_void = memory.as_mut_ptr().cast();
    let input = text(60_000);
    let (src, dst) = (List::new(input.clone()), List::room(bound(60_000)));
    // SAFETY: structures of this test's, which outlive their answers.
    unsafe {
        assert_eq!(cpaDcDpGetSessionSize(at, &raw mut data, &raw mut size), CPA_STATUS_SUCCESS);
        assert!(size <= 72);
        assert_eq!(cpaDcDpInitSession(at, session, &raw mut data), CPA_STATUS_SUCCESS);
        let mut op = operation(at, session, CPA_DC_DIR_COMPRESS);
        flat(&mut op, &src, &dst);
        // A callback comes first.
        assert_eq!(cpaDcDpEnqueueOp(&raw mut op, CPA_TRUE), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcDpRegCbFunc(at, None), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcDpRegCbFunc(at, Some(done)), CPA_STATUS_SUCCESS);
        for at_once in [CPA_TRUE, CPA_FALSE] {
            assert_eq!(cpaDcDpEnqueueOp(&raw mut op, at_once), CPA_STATUS_SUCCESS);
            assert_eq!(cpaDcDpRemoveSession(at, session), CPA_STATUS_RETRY);
            assert_eq!(cpaDcDpPerformOpNow(at), CPA_STATUS_SUCCESS);
            poll_until(at, || !DONE.lock().unwrap().is_empty());
            assert_eq!(std::mem::take(&mut *DONE.lock().unwrap()), [(&raw mut op).addr()]);
            assert_eq!((op.responseStatus, op.results.status), (CPA_STATUS_SUCCESS, CPA_DC_OK));
            assert_eq!(op.results.checksum, crc32(&input));
            let small = dst.first(op.results.produced);
            assert_eq!(inflate(small, -15, None).as_ref(), Ok(&input));
        }
        let small = List::new(dst.first(op.results.produced).to_vec());

        // A batch: lists, a part of a source, decompression, one without a session, one that is verified.
        let ends = [10, 30_000];
        let (pieces, room) =
            (List::split(input.clone(), &ends), List::split(vec![0; bound(60_000)], &ends));
        let (mut from, mut to) = (PhysicalList::new(&pieces), PhysicalList::new(&room));
        let mut list = operation(at, session, CPA_DC_DIR_COMPRESS);
        (list.srcBuffer, list.srcBufferLen) = (physical(&raw mut *from), CPA_DP_BUFLIST);
        (list.destBuffer, list.destBufferLen) = (physical(&raw mut *to), CPA_DP_BUFLIST);
        (list.bufferLenToCompress, list.bufferLenForData) = (45_000, 60_000);
        let back = List::room(60_000);
        let mut decompress = operation(at, session, CPA_DC_DIR_DECOMPRESS);
        flat(&mut decompress, &small, &back);
        let own_room = List::room(bound(60_000));
        let mut own = operation(at, ptr::null_mut(), CPA_DC_DIR_COMPRESS);
        flat(&mut own, &src, &own_room);
        own.pSetupData = &raw mut data;
        let verified_room = List::room(bound(60_000));
        let mut verified = operation(at, session, CPA_DC_DIR_COMPRESS);
        flat(&mut verified, &src, &verified_room);
        (verified.compressAndVerify, verified.compressAndVerifyAndRecover) = (CPA_TRUE, CPA_TRUE);
        assert_eq!(icp_sal_cnv_simulate_error(at, session), CPA_STATUS_SUCCESS);
        let small_room = List::room(100);
        let mut overflow = operation(at, session, CPA_DC_DIR_COMPRESS);
        flat(&mut overflow, &src, &small_room);

        let mut batch = [
            &raw mut list,
            &raw mut decompress,
            &raw mut own,
            &raw mut verified,
            &raw mut overflow,
        ];
        assert_eq!(cpaDcDpEnqueueOpBatch(5, batch.as_mut_ptr(), CPA_TRUE), CPA_STATUS_SUCCESS);
        while icp_sal_DcPollDpInstance(at, 2) == CPA_STATUS_RETRY {}
        assert!((1..=2).contains(&DONE.lock().unwrap().len()));
        poll_until(at, || DONE.lock().unwrap().len() == 5);
        let mut called = std::mem::take(&mut *DONE.lock().unwrap());
        called.sort_unstable();
        let mut all = batch.map(|op| op.addr());
        all.sort_unstable();
        assert_eq!(called, all);
        let plain = inflate(room.first(list.results.produced), -15, None).unwrap();
        assert_eq!((plain.as_slice(), list.results.consumed), (&input[..45_000], 45_000));
        assert_eq!((back.bytes == input, decompress.results.endOfLastBlock), (true, CPA_TRUE));
        let plain = inflate(own_room.first(own.results.produced), -15, None);
        assert_eq!(plain.as_ref(), Ok(&input));
        let plain = inflate(verified_room.first(verified.results.produced), -15, None);
        assert_eq!((plain.as_ref(), verified.results.dataUncompressed), (Ok(&input), CPA_TRUE));
        // An overflow is an error here.
        assert_eq!((overflow.responseStatus, overflow.results.status), (-1, CPA_DC_OVERFLOW));

        // So is one of stored blocks.
        let more = List::new(input.clone());
        let less_room = List::room(40_000);
        flat(&mut verified, &more, &less_room);
        assert_eq!(icp_sal_cnv_simulate_error(at, session), CPA_STATUS_SUCCESS);
        assert_eq!(cpaDcDpEnqueueOp(&raw mut verified, CPA_TRUE), CPA_STATUS_SUCCESS);
        poll_until(at, || !DONE.lock().unwrap().is_empty());
        DONE.lock().unwrap().clear();
        assert_eq!((verified.responseStatus, verified.results.status), (-1, CPA_DC_OVERFLOW));
        assert_eq!((verified.results.consumed, verified.results.produced), (0, 0));

        // Refused: lengths beyond the buffers, a way that is none, a batch of two instances, null.
        let mut wrong = operation(at, session, CPA_DC_DIR_COMPRESS);
        flat(&mut wrong, &src, &dst);
        wrong.bufferLenToCompress += 1;
        assert_eq!(cpaDcDpEnqueueOp(&raw mut wrong, CPA_TRUE), CPA_STATUS_INVALID_PARAM);
        flat(&mut wrong, &src, &dst);
        wrong.sessDirection = CPA_DC_DIR_COMBINED;
        assert_eq!(cpaDcDpEnqueueOp(&raw mut wrong, CPA_TRUE), CPA_STATUS_INVALID_PARAM);
        wrong.dcInstance = instance(2);
        let mut two = [&raw mut list, &raw mut wrong];
        let status = cpaDcDpEnqueueOpBatch(2, two.as_mut_ptr(), CPA_TRUE);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcDpEnqueueOp(ptr::null_mut(), CPA_TRUE), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcDpEnqueueOpBatch(0, two.as_mut_ptr(), CPA_TRUE), CPA_STATUS_INVALID_PARAM);
        // Nor is a part of a batch taken where a later operation is wrong.
        let mut spoilt = operation(at, session, CPA_DC_DIR_COMPRESS);
        flat(&mut spoilt, &src, &dst);
        spoilt.bufferLenToCompress += 1;
        let mut three = [&raw mut list, &raw mut own, &raw mut spoilt];
        let status = cpaDcDpEnqueueOpBatch(3, three.as_mut_ptr(), CPA_TRUE);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
        // So the ring of 512 has room for 511 still; and a full one takes no part of a batch.
        let mut many: Vec<_> =
            (0..511).map(|_| operation(at, session, CPA_DC_DIR_COMPRESS)).collect();
        let rooms: Vec<_> = (0..511).map(|_| List::room(100)).collect();
        let tiny = List::new(vec![1]);
        for (op, room) in many.iter_mut().zip(&rooms) {
            flat(op, &tiny, room);
        }
        let mut ops: Vec<_> = many.iter_mut().map(ptr::from_mut).collect();
        let status = cpaDcDpEnqueueOpBatch(511, ops.as_mut_ptr(), CPA_FALSE);
        assert_eq!(status, CPA_STATUS_SUCCESS);
        assert_eq!(cpaDcDpEnqueueOpBatch(2, ops.as_mut_ptr(), CPA_FALSE), CPA_STATUS_RETRY);
        poll_until(at, || DONE.lock().unwrap().len() == 511);
        DONE.lock().unwrap().clear();
        assert!(many.iter().all(|op| op.responseStatus == CPA_STATUS_SUCCESS));

        let mut update = CpaDcSessionUpdateData {
            compLevel: CPA_DC_L9,
            huffType: CPA_DC_HT_FULL_DYNAMIC,
            enableDmm: CPA_TRUE,
        };
        let status = cpaDcDpUpdateSession(at, session, &raw mut update);
        assert_eq!(status, CPA_STATUS_UNSUPPORTED);
        update.enableDmm = CPA_FALSE;
        assert_eq!(cpaDcDpUpdateSession(at, session, &raw mut update), CPA_STATUS_SUCCESS);
        assert_eq!(cpaDcDpRemoveSession(at, session), CPA_STATUS_SUCCESS);
        assert_eq!(cpaDcDpRemoveSession(at, session), CPA_STATUS_INVALID_PARAM);
        data.sessState = CPA_DC_STATEFUL;
        let status = cpaDcDpInitSession(at, session, &raw mut data);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn headers_and_footers_make_files() {
    let input = text(120_000);
    for (sum, bits, sizes) in [(CPA_DC_CRC32, 31, (10, 8)), (CPA_DC_ADLER32, 15, (2, 4))] {
        for level in 1..=12 {
            let mut data =
                CpaDcSessionSetupData { checksum: sum, compLevel: CpaDcCompLvl(level), ..setup() };
            let mut session = Held::new(&data, None);
            let handle = session.handle();
            // Two files of two pieces in one session: the second one's length is its own.
            for _ in 0..2 {
                let (mut file, mut r) = (Vec::new(), results());
                let (mut place, mut count) = (List::room(10), 0);
                // SAFETY: a session, and places of this function's.
                let status = unsafe {
                    cpaDcGenerateHeader(handle, place.flats.as_mut_ptr(), &raw mut count)
                };
                assert_eq!((status, count), (CPA_STATUS_SUCCESS, sizes.0));
                file.extend_from_slice(place.first(count));
                for (range, flush) in
                    [(0..70_000, CPA_DC_FLUSH_FULL), (70_000..120_000, CPA_DC_FLUSH_FINAL)]
                {
                    let mut src = List::new(input[range].to_vec());
                    let mut dst = List::room(bound(70_000));
                    assert_eq!(session.compress(&mut src, &mut dst, &mut op(flush), &mut r), 0);
                    file.extend_from_slice(dst.first(r.produced));
                }
                let produced = r.produced;
                // SAFETY: as above.
                let status =
                    unsafe { cpaDcGenerateFooter(handle, place.flats.as_mut_ptr(), &raw mut r) };
                assert_eq!((status, r.produced - produced), (CPA_STATUS_SUCCESS, sizes.1));
                file.extend_from_slice(place.first(sizes.1));
                assert_eq!(inflate(&file, bits, None).as_ref(), Ok(&input));
            }
            // Without a session.
            let (mut src, mut dst, mut r) =
                (List::new(input.clone()), List::room(bound(120_000)), results());
            let (mut place, mut count, mut op) = (List::room(10), 0, op(CPA_DC_FLUSH_FINAL));
            let (d, o, p, tag) = (&raw mut data, &raw mut op, &raw mut r, ptr::null_mut());
            // SAFETY: as above.
            unsafe {
                let (s, t, f) = (src.get(), dst.get(), place.flats.as_mut_ptr());
                assert_eq!(cpaDcNsGenerateHeader(d, f, &raw mut count), CPA_STATUS_SUCCESS);
                let mut file = place.first(count).to_vec();
                assert_eq!(cpaDcNsCompressData(DEFAULT, d, s, t, o, p, None, tag), 0);
                file.extend_from_slice(dst.first(r.produced));
                assert_eq!(cpaDcNsGenerateFooter(d, 120_000, f, p), CPA_STATUS_SUCCESS);
                file.extend_from_slice(place.first(sizes.1));
                assert_eq!(inflate(&file, bits, None).as_ref(), Ok(&input));
                // Too small.
                (*f).dataLenInBytes = 1;
                assert_eq!(cpaDcNsGenerateHeader(d, f, &raw mut count), CPA_STATUS_INVALID_PARAM);
                assert_eq!(cpaDcGenerateFooter(handle, f, p), CPA_STATUS_INVALID_PARAM);
                assert_eq!(cpaDcGenerateHeader(tag, f, &raw mut count), CPA_STATUS_INVALID_PARAM);
            }
        }
    }
}

#[test]
fn capabilities_say_what_a_session_may_ask_for() {
    // SAFETY: integers and places of this function's.
    unsafe {
        let mut all: CpaDcInstanceCapabilities = std::mem::zeroed();
        assert_eq!(cpaDcQueryCapabilities(DEFAULT, &raw mut all), CPA_STATUS_SUCCESS);
        let ask = |algo, dir, id: i32| {
            let mut answer = CpaDcCapabilityResp { u64Status: u64::MAX };
            let request = CpaDcCapabilityReq { algo, dir, capId: CpaDcCapabilityId(id) };
            let status = cpaDcQueryCapabilityByType(DEFAULT, request, &raw mut answer);
            (status, if status == 0 { answer.u64Status } else { 0 })
        };
        // Whatever is not served is said so, and a session with it is refused.
        for (algo, old) in [
            (CPA_DC_LZ4, all.statelessLZ4Compression),
            (CPA_DC_LZ4S, all.statelessLZ4SCompression),
            (CPA_DC_DEFLATE, all.statelessDeflateCompression),
        ] {
            let said = ask(algo, CPA_DC_DIR_COMPRESS, CPA_DC_CAP_BOOL_STATELESS.0);
            assert_eq!(said, (0, old.0 as u64));
            let (mut data, mut memory, none) = (setup(), [0_u64; 9], ptr::null_mut());
            (data.compType, data.sessDirection) = (algo, CPA_DC_DIR_COMPRESS);
            if algo != CPA_DC_DEFLATE {
                data.checksum = CPA_DC_XXHASH32;
            }
            let place = memory.as_mut_ptr().cast();
            let status = cpaDcInitSession(DEFAULT, place, &raw mut data, none, None);
            assert_eq!(status == CPA_STATUS_SUCCESS, said.1 == 1);
        }
        // Every number has an answer, and no other one.
        for id in 0..42 {
            for algo in [CPA_DC_DEFLATE, CPA_DC_LZ4, CPA_DC_LZ4S, CPA_DC_ZSTD] {
                for dir in [CPA_DC_DIR_COMPRESS, CPA_DC_DIR_DECOMPRESS] {
                    assert_eq!(ask(algo, dir, id).0, CPA_STATUS_SUCCESS);
                }
                assert_eq!(ask(algo, CPA_DC_DIR_COMPRESS, 42).0, CPA_STATUS_INVALID_PARAM);
            }
        }
        let yes = |algo, dir, id: CpaDcCapabilityId| ask(algo, dir, id.0).1 == 1;
        let (pack, unpack) = (CPA_DC_DIR_COMPRESS, CPA_DC_DIR_DECOMPRESS);
        assert!(yes(CPA_DC_LZ4, pack, CPA_DC_CAP_BOOL_ACCUMULATE_XXHASH));
        assert!(yes(CPA_DC_LZ4, unpack, CPA_DC_CAP_BOOL_BLOCK_CHECKSUM));
        assert!(!yes(CPA_DC_LZ4, pack, CPA_DC_CAP_BOOL_BLOCK_CHECKSUM));
        assert!(yes(CPA_DC_LZ4, unpack, CPA_DC_CAP_BOOL_STATELESS));
        assert!(!yes(CPA_DC_LZ4S, unpack, CPA_DC_CAP_BOOL_STATELESS));
        assert!(!yes(CPA_DC_LZ4, pack, CPA_DC_CAP_BOOL_STATEFUL));
        assert!(yes(CPA_DC_ZSTD, unpack, CPA_DC_CAP_BOOL_CHECKSUM_XXHASH64));
        assert_eq!(ask(CPA_DC_LZ4, pack, CPA_DC_CAP_U32_BLOCK_SIZE_BITMASK.0), (0, 15));
        assert_eq!(all.checksumXXHash32, CPA_TRUE);
        assert_eq!(all.statelessLZ4Decompression, CPA_TRUE);
        assert_eq!(all.statefulLZ4Decompression, CPA_FALSE);
        let deflate = |id: CpaDcCapabilityId| ask(CPA_DC_DEFLATE, CPA_DC_DIR_COMPRESS, id.0).1;
        assert_eq!(deflate(CPA_DC_CAP_U32_DEFAULT_WINDOW_SIZE), CPA_DC_WINSIZE_32K.0 as u64);
        assert_eq!(deflate(CPA_DC_CAP_BOOL_COMPRESS_N_VERIFY), all.compressAndVerify.0 as u64);
        assert_eq!(deflate(CPA_DC_CAP_BOOL_INTEGRITY_CRC64), all.integrityCrcs64b.0 as u64);
        assert_eq!(ask(CPA_DC_DEFLATE, CPA_DC_DIR_COMPRESS, 42).0, CPA_STATUS_INVALID_PARAM);
        assert_eq!(ask(CpaDcCompType(2), CPA_DC_DIR_COMPRESS, 0).0, CPA_STATUS_INVALID_PARAM);
        assert_eq!(ask(CPA_DC_DEFLATE, CpaDcSessionDir(3), 0).0, CPA_STATUS_INVALID_PARAM);

        let mut size = 0;
        // Not less than hardware's, which programs have as formulas, too.
        for (bound, least) in [
            (cpaDcLZ4CompressBound as unsafe extern "C" fn(_, _, _) -> _, 131_072 + 87 * 13 + 1024),
            (cpaDcLZ4SCompressBound, 131_072 + 66 * 11 + 1024),
            (cpaDcZstdCompressBound, 131_072 + 512),
        ] {
            assert_eq!(bound(DEFAULT, 131_072, &raw mut size), CPA_STATUS_SUCCESS);
            assert!(size >= least && size < least + least / 50, "{size} {least}");
            assert_eq!(bound(DEFAULT, u32::MAX, &raw mut size), CPA_STATUS_INVALID_PARAM);
            assert_eq!(bound(DEFAULT, 1, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
        }
        let (full, huff) = (u32::MAX, CPA_DC_HT_STATIC);
        let status = cpaDcDeflateCompressBound(DEFAULT, huff, full, &raw mut size);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
        let mut session = Held::new(&setup(), None);
        let handle = session.handle();
        let status = cpaDcSetLZ4OutputFormat(DEFAULT, handle, CPA_DC_LZ4_OUTPUT_WITH_HEADER);
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
        let refused = [
            cpaDcResetXXHashState(DEFAULT, handle),
            cpaDcSetAsbThreshold(DEFAULT, handle, CPA_DC_ASB_THRESHOLD_256),
            cpaDcSetAsbRatio(DEFAULT, handle, CPA_DC_ASB_RATIO_1_SIXTEENTH),
        ];
        assert_eq!(refused, [CPA_STATUS_UNSUPPORTED; 3]);
    }
}

#[test]
fn the_same_with_engines() {
    again_with_engines("the_same_with_engines");
}
