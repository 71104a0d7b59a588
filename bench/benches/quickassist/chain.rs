//! Compression chained with AES-256-GCM, beside the same as two requests: CPU time and elapsed time of each, with one
//! piece in flight and with 16. The two requests go through memory of the program's; the chain through the
//! library's, and through the program's too.

use std::{ffi::c_void, ptr, time::Instant};

use lookaside_qat::{
    abi::*,
    cy::sym::{cpaCySymInitSession, cpaCySymPerformOp, cpaCySymRemoveSession},
    dc::{calls::cpaDcCompressData2, chain::*, session::*},
    discovery::{cpaCyGetInstances, cpaDcGetInstances},
    sal::*,
};

use crate::{FLIGHT, count, cpu_ns, median};

/// What is compressed.
const LEN: usize = 64 << 10;
const TAG: usize = 16;

unsafe extern "C" fn sealed(
    tag: *mut c_void,
    status: CpaStatus,
    _: CpaCySymOp,
    _: *mut c_void,
    _: *mut CpaBufferList,
    _: CpaBoolean,
) {
    // SAFETY: the tag is a count that lives.
    unsafe { count(tag, status) };
}

/// A buffer, and the list that it is alone in.
struct Place {
    bytes: Vec<u8>,
    flat: Box<CpaFlatBuffer>,
    list: Box<CpaBufferList>,
}

impl Place {
    fn new(mut bytes: Vec<u8>) -> Place {
        let len = bytes.len() as u32;
        let mut flat = Box::new(CpaFlatBuffer { dataLenInBytes: len, pData: bytes.as_mut_ptr() });
        let list = Box::new(CpaBufferList {
            numBuffers: 1,
            pBuffers: &raw mut *flat,
            pUserData: ptr::null_mut(),
            pPrivateMetaData: ptr::null_mut(),
        });
        Place { bytes, flat, list }
    }

    fn list(&mut self) -> *mut CpaBufferList {
        &raw mut *self.list
    }
}

/// Of one piece: where its compressed bytes and its ciphertext go.
struct Piece {
    between: Place,
    out: Place,
    tag: Box<[u8; TAG]>,
    results: Box<CpaDcRqResults>,
    cy: Box<CpaCySymOpData>,
    first: Box<CpaDcChainRqResults>,
    more: Box<CpaDcChainRqVResults>,
}

struct Bench {
    dc: CpaInstanceHandle,
    cy: CpaInstanceHandle,
    compress: Box<[u64; 8]>,
    seal: Box<[u64; 8]>,
    chain: Box<[u64; 8]>,
    src: Place,
    op: Box<CpaDcOpData>,
    pieces: Vec<Piece>,
}

const OPERATION: CpaDcChainOperations = CPA_DC_CHAIN_COMPRESS_THEN_AEAD;

impl Bench {
    fn new(text: Vec<u8>) -> Bench {
        let (mut dc, mut cy) = (ptr::null_mut(), ptr::null_mut());
        let (mut compress, mut seal, mut chain) =
            (Box::new([0; 8]), Box::new([0; 8]), Box::new([0; 8]));
        let (mut key, nonce) = ([7_u8; 32], Box::leak(Box::new([9_u8; 12])));
        // SAFETY: integers and null pointers; functions get structures of this one, which they copy.
        let op = unsafe {
            let mut setup: CpaDcSessionSetupData = std::mem::zeroed();
            setup.compLevel = CPA_DC_L1;
            setup.compType = CPA_DC_DEFLATE;
            setup.huffType = CPA_DC_HT_FULL_DYNAMIC;
            setup.autoSelectBestHuffmanTree = CPA_DC_ASB_ENABLED;
            setup.sessDirection = CPA_DC_DIR_COMPRESS;
            setup.sessState = CPA_DC_STATELESS;
            setup.checksum = CPA_DC_CRC32;
            let mut sym: CpaCySymSessionSetupData = std::mem::zeroed();
            sym.sessionPriority = CPA_CY_PRIORITY_NORMAL;
            sym.symOperation = CPA_CY_SYM_OP_ALGORITHM_CHAINING;
            sym.cipherSetupData.cipherAlgorithm = CPA_CY_SYM_CIPHER_AES_GCM;
            sym.cipherSetupData.cipherDirection = CPA_CY_SYM_CIPHER_DIRECTION_ENCRYPT;
            sym.cipherSetupData.cipherKeyLenInBytes = 32;
            sym.cipherSetupData.pCipherKey = key.as_mut_ptr();
            sym.hashSetupData.hashAlgorithm = CPA_CY_SYM_HASH_AES_GCM;
            sym.hashSetupData.hashMode = CPA_CY_SYM_HASH_MODE_AUTH;
            sym.hashSetupData.digestResultLenInBytes = TAG as u32;
            sym.algChainOrder = CPA_CY_SYM_ALG_CHAIN_ORDER_CIPHER_THEN_HASH;
            let mut steps = [
                CpaDcChainSessionSetupData {
                    sessType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
                    u: CpaDcChainSessionSetupDataUnion { pDcSetupData: &raw mut setup },
                },
                CpaDcChainSessionSetupData {
                    sessType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
                    u: CpaDcChainSessionSetupDataUnion { pCySetupData: &raw mut sym },
                },
            ];
            let none = ptr::null_mut();
            assert_eq!(cpaDcGetInstances(1, &raw mut dc), 0);
            assert_eq!(cpaCyGetInstances(1, &raw mut cy), 0);
            let at = compress.as_mut_ptr().cast();
            assert_eq!(cpaDcInitSession(dc, at, &raw mut setup, none, Some(count)), 0);
            assert_eq!(cpaCySymInitSession(cy, Some(sealed), &sym, seal.as_mut_ptr().cast()), 0);
            let (at, steps) = (chain.as_mut_ptr().cast(), steps.as_mut_ptr());
            assert_eq!(cpaDcChainInitSession(dc, at, OPERATION, 2, steps, Some(count)), 0);
            let mut op: CpaDcOpData = std::mem::zeroed();
            op.flushFlag = CPA_DC_FLUSH_FINAL;
            Box::new(op)
        };
        let room = LEN + LEN / 4 + 1024;
        let piece = |_| {
            let mut tag = Box::new([0; TAG]);
            // SAFETY: integers and null pointers.
            let (mut cy, results, first, more): (CpaCySymOpData, _, _, _) = unsafe {
                (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed())
            };
            cy.sessionCtx = seal.as_mut_ptr().cast();
            cy.packetType = CPA_CY_SYM_PACKET_TYPE_FULL;
            (cy.pIv, cy.ivLenInBytes) = (nonce.as_mut_ptr(), 12);
            cy.pDigestResult = tag.as_mut_ptr();
            Piece {
                between: Place::new(vec![0; room]),
                out: Place::new(vec![0; room]),
                tag,
                results: Box::new(results),
                cy: Box::new(cy),
                first: Box::new(first),
                more: Box::new(more),
            }
        };
        let pieces = (0..FLIGHT).map(piece).collect();
        Bench { dc, cy, compress, seal, chain, src: Place::new(text), op, pieces }
    }

    /// Compresses so many pieces, then seals what they have become.
    fn apart(&mut self, flight: usize) {
        let (mut called, src) = (0_usize, self.src.list());
        let tag = (&raw mut called).cast();
        for piece in &mut self.pieces[..flight] {
            let (between, results) = (piece.between.list(), &raw mut *piece.results);
            let (handle, op) = (self.compress.as_mut_ptr().cast(), &raw mut *self.op);
            // SAFETY: structures that outlive the poll below, here and in the other two.
            let status =
                unsafe { cpaDcCompressData2(self.dc, handle, src, between, op, results, tag) };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        // SAFETY: a handle.
        unsafe { icp_sal_DcPollInstance(self.dc, 0) };
        assert_eq!(called, flight);
        for piece in &mut self.pieces[..flight] {
            piece.cy.messageLenToCipherInBytes = piece.results.produced;
            let (between, out) = (piece.between.list(), piece.out.list());
            let none = ptr::null_mut();
            // SAFETY: as above.
            let status = unsafe { cpaCySymPerformOp(self.cy, tag, &*piece.cy, between, out, none) };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        // SAFETY: a handle.
        unsafe { icp_sal_CyPollInstance(self.cy, 0) };
        assert_eq!(called, 2 * flight);
    }

    /// The same as chains, the piece between the steps in the library's memory.
    fn chained(&mut self, flight: usize) {
        let (mut called, src) = (0_usize, self.src.list());
        let tag = (&raw mut called).cast();
        for piece in &mut self.pieces[..flight] {
            piece.cy.messageLenToCipherInBytes = 0;
            let mut steps = [
                CpaDcChainOpData {
                    opType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
                    u: CpaDcChainOpDataUnion { pDcOp: &raw mut *self.op },
                },
                CpaDcChainOpData {
                    opType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
                    u: CpaDcChainOpDataUnion { pCySymOp: &raw mut *piece.cy },
                },
            ];
            let (handle, steps) = (self.chain.as_mut_ptr().cast(), steps.as_mut_ptr());
            let (out, first) = (piece.out.list(), &raw mut *piece.first);
            // SAFETY: as above.
            let status = unsafe {
                cpaDcChainPerformOp(self.dc, handle, src, out, OPERATION, 2, steps, first, tag)
            };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        // SAFETY: a handle.
        unsafe { icp_sal_DcPollInstance(self.dc, 0) };
        assert_eq!(called, flight);
    }

    /// The same, the piece between the steps in the program's memory.
    fn chained_through(&mut self, flight: usize) {
        let (mut called, src) = (0_usize, self.src.list());
        let tag = (&raw mut called).cast();
        for piece in &mut self.pieces[..flight] {
            piece.cy.messageLenToCipherInBytes = 0;
            // SAFETY: integers and null pointers.
            let (mut dc, mut cy): (CpaDcOpData2, CpaCySymOpData2) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            (dc.dcOpData, cy.symOpData) = (*self.op, *piece.cy);
            let mut steps = [
                CpaDcChainSubOpData2 {
                    opType: CPA_DC_CHAIN_COMPRESS_DECOMPRESS,
                    u: CpaDcChainSubOpData2Union { pDcOp2: &raw mut dc },
                },
                CpaDcChainSubOpData2 {
                    opType: CPA_DC_CHAIN_SYMMETRIC_CRYPTO,
                    u: CpaDcChainSubOpData2Union { pCySymOp2: &raw mut cy },
                },
            ];
            let data = CpaDcChainOpData2 {
                testIntegrity: CPA_FALSE,
                operation: OPERATION,
                numOpDatas: 2,
                pChainOpData: steps.as_mut_ptr(),
            };
            let (handle, more) = (self.chain.as_mut_ptr().cast(), &raw mut *piece.more);
            let (between, out) = (piece.between.list(), piece.out.list());
            // SAFETY: as above; operation data are read within the call.
            let status = unsafe {
                cpaDcChainPerformOp2(self.dc, handle, src, out, between, data, more, tag)
            };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        // SAFETY: a handle.
        unsafe { icp_sal_DcPollInstance(self.dc, 0) };
        assert_eq!(called, flight);
    }

    /// The ciphertext and the tag of the last piece that was in flight.
    fn answer(&mut self, flight: usize, len: usize) -> (Vec<u8>, [u8; TAG]) {
        let piece = &mut self.pieces[flight - 1];
        assert!(len > 0 && len < piece.flat_len());
        let answer = (piece.out.bytes[..len].to_vec(), *piece.tag);
        piece.out.bytes[..len].fill(0);
        piece.tag.fill(0);
        answer
    }
}

impl Piece {
    fn flat_len(&self) -> usize {
        self.out.flat.dataLenInBytes as usize
    }
}

/// What is compared, and its rounds' CPU time and elapsed time.
type Way = (&'static str, fn(&mut Bench, usize), Vec<f64>, Vec<f64>);

pub fn compare(text: &[u8], rounds: usize) {
    assert_eq!(text.len(), LEN);
    let mut bench = Bench::new(text.to_vec());
    for flight in [1, FLIGHT] {
        bench.apart(flight);
        let len = bench.pieces[flight - 1].results.produced as usize;
        let expected = bench.answer(flight, len);
        bench.chained(flight);
        assert!(bench.answer(flight, len) == expected, "the chain's answer");
        bench.chained_through(flight);
        assert!(bench.answer(flight, len) == expected, "the chain's answer");
        let mut ways: [Way; 3] = [
            ("two requests", Bench::apart, Vec::new(), Vec::new()),
            ("chain", Bench::chained, Vec::new(), Vec::new()),
            ("chain through the program's memory", Bench::chained_through, Vec::new(), Vec::new()),
        ];
        let times = 1024 / flight;
        for _ in 0..rounds {
            for (_, run, cpu, elapsed) in &mut ways {
                let (start, begin) = (cpu_ns(), Instant::now());
                for _ in 0..times {
                    run(&mut bench, flight);
                }
                let requests = (times * flight) as f64;
                elapsed.push(begin.elapsed().as_nanos() as f64 / requests);
                cpu.push((cpu_ns() - start) as f64 / requests);
            }
        }
        println!("{LEN} bytes to {len}, level 1, then AES-256-GCM, {flight} in flight");
        let [first, ..] = &ways;
        let (cpu_apart, elapsed_apart) = (first.2.clone(), first.3.clone());
        for (name, _, cpu, elapsed) in &mut ways {
            let ratio = |one: &[f64], two: &[f64]| {
                median(&mut one.iter().zip(two).map(|(one, two)| one / two).collect::<Vec<_>>())
            };
            println!(
                "  {name:<36} CPU {:8.0} ns ({:.3} x), elapsed {:8.0} ns ({:.3} x)",
                median(&mut cpu.clone()),
                ratio(cpu, &cpu_apart),
                median(&mut elapsed.clone()),
                ratio(elapsed, &elapsed_apart),
            );
        }
    }
    // SAFETY: sessions of this function, without requests.
    unsafe {
        assert_eq!(cpaDcRemoveSession(bench.dc, bench.compress.as_mut_ptr().cast()), 0);
        assert_eq!(cpaCySymRemoveSession(bench.cy, bench.seal.as_mut_ptr().cast()), 0);
        assert_eq!(cpaDcChainRemoveSession(bench.dc, bench.chain.as_mut_ptr().cast()), 0);
    }
}
