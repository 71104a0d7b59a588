//! What QuickAssist's interface costs: requests through `cpaDcCompressData2` and the data plane, with polls, beside the same
//! requests by the runtime's own interface: DEFLATE, LZ4, LZ4s. CPU time of the one thread that does all, rounds in turn. Then
//! a chain of compression and encryption beside two requests ([`chain`]).
//!
//! `cargo bench -p lookaside-bench --bench quickassist [-- ROUNDS]`

mod chain;

use std::{
    ffi::c_void,
    hint::black_box,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use lookaside::{Buf, Checksum, Compression, Format, InstanceConfig, Runtime};
use lookaside_qat::{
    abi::*,
    dc::{calls::cpaDcCompressData2, plane::*, session::*},
    discovery::cpaDcGetInstances,
    sal::*,
};

/// Requests in flight.
const FLIGHT: usize = 16;

fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of one request, in nanoseconds.
fn time(requests: usize, mut batch: impl FnMut()) -> f64 {
    let begin = cpu_ns();
    for _ in 0..requests / FLIGHT {
        batch();
    }
    (cpu_ns() - begin) as f64 / (requests / FLIGHT * FLIGHT) as f64
}

unsafe extern "C" fn count(tag: *mut c_void, status: CpaStatus) {
    assert_eq!(status, CPA_STATUS_SUCCESS);
    // SAFETY: the tag is a count that lives.
    unsafe { *tag.cast::<usize>() += 1 };
}

static PLANE: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn plane(op: *mut CpaDcDpOpData) {
    // SAFETY: an operation of `main`.
    assert_eq!(unsafe { (*op).responseStatus }, CPA_STATUS_SUCCESS);
    PLANE.fetch_add(1, Ordering::Relaxed);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn text(len: usize) -> Vec<u8> {
    let lines = (0_u64..).flat_map(|n| format!("line {} of {n}\n", n * n % 977).into_bytes());
    lines.take(len).collect()
}

fn main() {
    let rounds: usize = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(15);
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let lz4 = |format| Compression::new(format).block_bits(16).checksum(Checksum::Xxh32);
    for (kind, sum, spec) in [
        (CPA_DC_DEFLATE, CPA_DC_NONE, Compression::default()),
        (CPA_DC_LZ4, CPA_DC_XXHASH32, lz4(Format::Lz4Blocks)),
        (CPA_DC_LZ4S, CPA_DC_XXHASH32, lz4(Format::Lz4s)),
    ] {
        println!("{}", spec.format);
        compare(&runtime, spec, kind, sum, rounds);
    }
    chain::compare(&text(64 << 10), rounds);
}

/// One format, both ways.
fn compare(
    runtime: &Runtime,
    spec: Compression,
    kind: CpaDcCompType,
    sum: CpaDcChecksum,
    rounds: usize,
) {
    let session = runtime.compression(spec).unwrap();
    let config = InstanceConfig { depth: 512, ..InstanceConfig::default() };
    let mut own = runtime.instance(config).unwrap();

    let mut setup = CpaDcSessionSetupData {
        compLevel: CPA_DC_L1,
        compType: kind,
        huffType: CPA_DC_HT_FULL_DYNAMIC,
        autoSelectBestHuffmanTree: CPA_DC_ASB_ENABLED,
        sessDirection: CPA_DC_DIR_COMPRESS,
        sessState: CPA_DC_STATELESS,
        windowSize: CPA_DC_WINSIZE_32K,
        minMatch: CPA_DC_MIN_3_BYTE_MATCH,
        lz4BlockMaxSize: CPA_DC_LZ4_MAX_BLOCK_SIZE_64K,
        lz4BlockChecksum: CPA_FALSE,
        lz4BlockIndependence: CPA_FALSE,
        checksum: sum,
        accumulateXXHash: CPA_FALSE,
    };
    let (mut memory, mut dp_memory) = ([0_u64; 8], [0_u64; 8]);
    let handle: *mut c_void = memory.as_mut_ptr().cast();
    let dp_handle: *mut c_void = dp_memory.as_mut_ptr().cast();
    let mut instances = [ptr::null_mut(); 2];
    let none = ptr::null_mut();
    // SAFETY: structures of this function's, here and below: they outlive their requests.
    unsafe {
        assert_eq!(cpaDcGetInstances(2, instances.as_mut_ptr()), 0);
        assert_eq!(cpaDcInitSession(instances[0], handle, &raw mut setup, none, Some(count)), 0);
        assert_eq!(cpaDcDpInitSession(instances[1], dp_handle, &raw mut setup), 0);
        assert_eq!(cpaDcDpRegCbFunc(instances[1], Some(plane)), 0);
    }

    for (len, requests) in [(1, 160_000), (4096, 32_000), (65_536, 3_200)] {
        let text = text(len);
        let mut room = vec![vec![0_u8; session.bound(len)]; FLIGHT];
        let mut flats: Vec<_> = room
            .iter_mut()
            .map(|r| CpaFlatBuffer { dataLenInBytes: r.len() as u32, pData: r.as_mut_ptr() })
            .collect();
        let mut from =
            CpaFlatBuffer { dataLenInBytes: len as u32, pData: text.as_ptr().cast_mut() };
        let list = |flat: *mut CpaFlatBuffer| CpaBufferList {
            numBuffers: 1,
            pBuffers: flat,
            pUserData: ptr::null_mut(),
            pPrivateMetaData: ptr::null_mut(),
        };
        let mut src = list(&raw mut from);
        let mut dst: Vec<_> = flats.iter_mut().map(|flat| list(flat)).collect();
        // SAFETY: integers and null pointers.
        let (mut op, mut results, mut ops): (CpaDcOpData, [CpaDcRqResults; FLIGHT], _) = unsafe {
            (std::mem::zeroed(), std::mem::zeroed(), [std::mem::zeroed::<CpaDcDpOpData>(); FLIGHT])
        };
        op.flushFlag = CPA_DC_FLUSH_FINAL;
        for (op, flat) in ops.iter_mut().zip(&flats) {
            (op.dcInstance, op.pSessionHandle) = (instances[1], dp_handle);
            (op.srcBuffer, op.srcBufferLen) = (text.as_ptr() as u64, len as u32);
            (op.destBuffer, op.destBufferLen) = (flat.pData as u64, flat.dataLenInBytes);
            (op.bufferLenToCompress, op.bufferLenForData) = (len as u32, flat.dataLenInBytes);
            op.sessDirection = CPA_DC_DIR_COMPRESS;
        }

        let mut times = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            times[0].push(time(requests, || {
                for flat in &flats {
                    // SAFETY: as above.
                    let (s, d) = unsafe {
                        (
                            Buf::foreign(text.as_ptr(), len),
                            Buf::foreign_mut(flat.pData, flat.dataLenInBytes as usize),
                        )
                    };
                    own.push(session.compress(s, d)).unwrap();
                }
                let answered = own.poll().inspect(|r| assert!(r.result.is_ok())).count();
                assert_eq!(answered, FLIGHT);
            }));
            times[1].push(time(requests, || {
                let mut called = 0_usize;
                let tag = (&raw mut called).cast();
                for (dst, results) in dst.iter_mut().zip(&mut results) {
                    // SAFETY: as above.
                    let status = unsafe {
                        let (s, o) = (&raw mut src, &raw mut op);
                        cpaDcCompressData2(instances[0], handle, s, dst, o, results, tag)
                    };
                    assert_eq!(status, CPA_STATUS_SUCCESS);
                }
                // SAFETY: a handle.
                unsafe { icp_sal_DcPollInstance(instances[0], 0) };
                assert_eq!(black_box(called), FLIGHT);
            }));
            times[2].push(time(requests, || {
                // SAFETY: as above.
                unsafe {
                    PLANE.store(0, Ordering::Relaxed);
                    for op in &mut ops {
                        assert_eq!(cpaDcDpEnqueueOp(op, CPA_FALSE), CPA_STATUS_SUCCESS);
                    }
                    cpaDcDpPerformOpNow(instances[1]);
                    icp_sal_DcPollDpInstance(instances[1], 0);
                    assert_eq!(PLANE.load(Ordering::Relaxed), FLIGHT);
                }
            }));
        }
        let [rust, calls, plane] = times.map(|mut times| median(&mut times));
        println!(
            "{len:>6} bytes, level 1: runtime {rust:9.0} ns, cpaDcCompressData2 {calls:9.0} ns ({:.3} x, {:+.0} ns), \
             data plane {plane:9.0} ns ({:.3} x, {:+.0} ns)",
            calls / rust,
            calls - rust,
            plane / rust,
            plane - rust,
        );
    }
    // SAFETY: sessions of this function, without requests.
    unsafe {
        assert_eq!(cpaDcRemoveSession(instances[0], handle), 0);
        assert_eq!(cpaDcDpRemoveSession(instances[1], dp_handle), 0);
    }
}
