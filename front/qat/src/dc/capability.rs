//! What there is: both forms of the question, and the bounds of sizes.
#![allow(unsafe_code)]

use lookaside::{Format, compress_bound};

use crate::{
    abi::*,
    instance::Service,
    process::Process,
    refusal::{Refusal, wanted},
};

use super::setup::huffman;

/// The windows of compression that can be asked for, as bits of 2^(n + 8) bytes: 8, 16 and 32 KB.
const WINDOWS: u8 = 1 << 5 | 1 << 6 | 1 << 7;
/// Decompression follows whatever the data say, up to 32 KB.
const ALL_WINDOWS: u8 = 0xff;

fn flag(on: bool) -> CpaBoolean {
    if on { CPA_TRUE } else { CPA_FALSE }
}

/// The old structure. What a field is not set for is not there.
fn all() -> CpaDcInstanceCapabilities {
    // SAFETY: integers, for which zeros are values.
    let mut there: CpaDcInstanceCapabilities = unsafe { core::mem::zeroed() };
    there.statefulDeflateCompression = CPA_TRUE;
    there.statefulDeflateDecompression = CPA_TRUE;
    there.statelessDeflateCompression = CPA_TRUE;
    there.statelessDeflateDecompression = CPA_TRUE;
    there.statelessLZ4Compression = CPA_TRUE;
    there.statelessLZ4Decompression = CPA_TRUE;
    there.statelessLZ4SCompression = CPA_TRUE;
    there.checksumXXHash32 = CPA_TRUE;
    there.checksumCRC32 = CPA_TRUE;
    there.checksumAdler32 = CPA_TRUE;
    there.dynamicHuffman = CPA_TRUE;
    there.autoSelectBestHuffmanTree = CPA_TRUE;
    there.validWindowSizeMaskCompression = WINDOWS;
    there.validWindowSizeMaskDecompression = ALL_WINDOWS;
    there.endOfLastBlock = CPA_TRUE;
    there.compressAndVerify = CPA_TRUE;
    // Strict: a result that was not verified is not given out.
    there.compressAndVerifyStrict = CPA_TRUE;
    there.compressAndVerifyAndRecover = CPA_TRUE;
    there.integrityCrcs = CPA_TRUE;
    there.integrityCrcs64b = CPA_TRUE;
    there.dcChainCapInfo = chains();
    there
}

/// The chains that are there, as bits of `CpaDcChainOperations`.
fn chains() -> [u32; 1] {
    [super::chain::CHAINS]
}

/// One capability.
fn one(request: CpaDcCapabilityReq) -> Result<CpaDcCapabilityResp, Refusal> {
    let compresses = match request.dir {
        CPA_DC_DIR_COMPRESS | CPA_DC_DIR_COMBINED => true,
        CPA_DC_DIR_DECOMPRESS => false,
        _ => return Err(Refusal::invalid("dir is none of the interface's")),
    };
    let deflate = match request.algo {
        CPA_DC_DEFLATE => true,
        CPA_DC_LZ4 | CPA_DC_LZ4S | CPA_DC_ZSTD => false,
        _ => return Err(Refusal::invalid("algo is none of the interface's")),
    };
    if !deflate {
        return other(request, compresses);
    }
    let chain = |operation: CpaDcChainOperations| chains()[0] >> operation.0 & 1 == 1;
    let there = match request.capId {
        CPA_DC_CAP_U32_DEFAULT_WINDOW_SIZE => {
            let size = if deflate { CPA_DC_WINSIZE_32K.0 as u32 } else { 0 };
            return Ok(number(size));
        }
        CPA_DC_CAP_U32_BLOCK_SIZE_BITMASK => return Ok(number(0)),
        CPA_DC_CAP_BOOL_STATELESS
        | CPA_DC_CAP_BOOL_STATEFUL
        | CPA_DC_CAP_BOOL_WINDOW_SIZE_32K
        | CPA_DC_CAP_BOOL_DYNAMIC_HUFFMAN
        | CPA_DC_CAP_BOOL_STATIC_HUFFMAN
        | CPA_DC_CAP_BOOL_CHECKSUM_CRC32
        | CPA_DC_CAP_BOOL_CHECKSUM_ADLER32
        | CPA_DC_CAP_BOOL_INTEGRITY_CRC32
        | CPA_DC_CAP_BOOL_INTEGRITY_CRC64
        | CPA_DC_CAP_BOOL_UNCOMPRESSED_DICT
        | CPA_DC_CAP_BOOL_ZERO_LENGTH_REQ
        | CPA_DC_CAP_BOOL_PROGRAMMABLE_CRC64
        | CPA_DC_CAP_BOOL_CHAIN_PROGRAMMABLE_CRC64
        // The number that zlib gives a dictionary.
        | CPA_DC_CAP_BOOL_DICT_ID
        // Equal input, equal output.
        | CPA_DC_CAP_BOOL_DETERMINISM => deflate,
        CPA_DC_CAP_BOOL_WINDOW_SIZE_8K | CPA_DC_CAP_BOOL_WINDOW_SIZE_16K => deflate,
        CPA_DC_CAP_BOOL_ASB
        | CPA_DC_CAP_BOOL_ASB_ENABLE_PREFERRED
        | CPA_DC_CAP_BOOL_COMPRESS_N_VERIFY
        | CPA_DC_CAP_BOOL_COMPRESS_N_VERIFY_N_RECOVER
        | CPA_DC_CAP_BOOL_OVERFLOW_RESUBMIT => deflate && compresses,
        CPA_DC_CAP_BOOL_CHAIN_HASH_THEN_COMPRESS => {
            deflate && compresses && chain(CPA_DC_CHAIN_HASH_THEN_COMPRESS)
        }
        CPA_DC_CAP_BOOL_CHAIN_COMPRESS_THEN_AEAD => {
            deflate && compresses && chain(CPA_DC_CHAIN_COMPRESS_THEN_AEAD)
        }
        CPA_DC_CAP_BOOL_CHAIN_AEAD_THEN_DECOMPRESS => {
            deflate && !compresses && chain(CPA_DC_CHAIN_AEAD_THEN_DECOMPRESS)
        }
        CPA_DC_CAP_BOOL_STATEFUL_LITE
        | CPA_DC_CAP_BOOL_WINDOW_SIZE_4K
        | CPA_DC_CAP_BOOL_WINDOW_SIZE_64K
        | CPA_DC_CAP_BOOL_BLOCK_CHECKSUM
        | CPA_DC_CAP_BOOL_ACCUMULATE_XXHASH
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_64K
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_256K
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_1M
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_4M
        | CPA_DC_CAP_BOOL_CHECKSUM_XXHASH32
        | CPA_DC_CAP_BOOL_CHECKSUM_XXHASH64
        | CPA_DC_CAP_BOOL_ASB_THRESHOLD
        | CPA_DC_CAP_BOOL_ASB_RATIO
        | CPA_DC_CAP_BOOL_COMPRESSED_DICT
        | CPA_DC_CAP_BOOL_E2E_CRC_OVER_COMP_BLOCK => false,
        _ => return Err(Refusal::invalid("capId is none of the interface's")),
    };
    // All bytes of the union are defined.
    let mut response = CpaDcCapabilityResp { u64Status: 0 };
    response.boolStatus = flag(there);
    Ok(response)
}

/// One capability of LZ4, LZ4s or Zstandard.
fn other(request: CpaDcCapabilityReq, compresses: bool) -> Result<CpaDcCapabilityResp, Refusal> {
    if !(0..=CPA_DC_CAP_BOOL_DICT_ID.0).contains(&request.capId.0) {
        return Err(Refusal::invalid("capId is none of the interface's"));
    }
    let (lz4, lz4s) = (request.algo == CPA_DC_LZ4, request.algo == CPA_DC_LZ4S);
    // LZ4s is compressed to alone.
    let served = !lz4s || request.dir == CPA_DC_DIR_COMPRESS;
    let there = match request.capId {
        CPA_DC_CAP_U32_BLOCK_SIZE_BITMASK => return Ok(number(if lz4 { 0xf } else { 0 })),
        CPA_DC_CAP_U32_DEFAULT_WINDOW_SIZE => {
            return Ok(number(match request.algo {
                CPA_DC_LZ4 => CPA_DC_WINSIZE_64K.0 as u32,
                CPA_DC_LZ4S if served => CPA_DC_WINSIZE_32K.0 as u32,
                _ => 0,
            }));
        }
        CPA_DC_CAP_BOOL_STATELESS
        | CPA_DC_CAP_BOOL_INTEGRITY_CRC32
        | CPA_DC_CAP_BOOL_INTEGRITY_CRC64
        | CPA_DC_CAP_BOOL_PROGRAMMABLE_CRC64
        | CPA_DC_CAP_BOOL_ZERO_LENGTH_REQ
        | CPA_DC_CAP_BOOL_DETERMINISM => true,
        CPA_DC_CAP_BOOL_COMPRESS_N_VERIFY | CPA_DC_CAP_BOOL_COMPRESS_N_VERIFY_N_RECOVER => {
            compresses
        }
        // Zstandard and LZ4s have no piece to go on from.
        CPA_DC_CAP_BOOL_OVERFLOW_RESUBMIT | CPA_DC_CAP_BOOL_ACCUMULATE_XXHASH => compresses && lz4,
        // Those that are made have none.
        CPA_DC_CAP_BOOL_BLOCK_CHECKSUM => request.dir == CPA_DC_DIR_DECOMPRESS && lz4,
        CPA_DC_CAP_BOOL_BLOCK_SIZE_64K
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_256K
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_1M
        | CPA_DC_CAP_BOOL_BLOCK_SIZE_4M
        | CPA_DC_CAP_BOOL_WINDOW_SIZE_64K => lz4,
        CPA_DC_CAP_BOOL_WINDOW_SIZE_32K => lz4s,
        CPA_DC_CAP_BOOL_CHECKSUM_XXHASH32 => true,
        CPA_DC_CAP_BOOL_CHECKSUM_XXHASH64 => !lz4 && !lz4s,
        _ => false,
    };
    let mut response = CpaDcCapabilityResp { u64Status: 0 };
    response.boolStatus = flag(served && there);
    Ok(response)
}

/// The size that compression never exceeds, as large as hardware's: an eighth more than the input, and some. The
/// service's own bound is 0.01 % more, but programs cut the input in pieces, and use what is left for the header and
/// the footer of each (QATzip does).
fn bound(input: usize) -> usize {
    let hardware = (input * 9).div_ceil(8) + 64;
    hardware.max(compress_bound(Format::Raw, input))
}

/// The largest of the formats' bounds, and hardware's for blocks of LZ4 and LZ4s: 13 bytes for each 1,520 and 11 for
/// each 2,000, and 1,024. Programs lay more beside the blocks, and some have its formula instead of the call.
fn most(input: u32, formats: &[Format], each: usize, more: usize) -> usize {
    let input = input as usize;
    let bounds = formats.iter().map(|&format| compress_bound(format, input));
    bounds.fold(input + input.div_ceil(each) * more + 1024, usize::max)
}

unsafe fn put_bound(
    handle: CpaInstanceHandle,
    bound: usize,
    output: *mut Cpa32U,
) -> Result<CpaStatus, Refusal> {
    Process::get()?.instance(handle, Service::Dc)?;
    let bound = u32::try_from(bound);
    // SAFETY: the exported function's caller promises it.
    *unsafe { wanted(output, NO_PLACE) }? =
        bound.map_err(|_| Refusal::invalid("the bound is more than 4 GiB"))?;
    Ok(CPA_STATUS_SUCCESS)
}

fn number(n: u32) -> CpaDcCapabilityResp {
    CpaDcCapabilityResp { u64Status: n.into() }
}

const NO_PLACE: &str = "no place for the answer";

crate::api! {
    fn cpaDcQueryCapabilities(
        handle: CpaInstanceHandle,
        there: *mut CpaDcInstanceCapabilities,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        *wanted(there, NO_PLACE)? = all();
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcQueryCapabilityByType(
        handle: CpaInstanceHandle,
        request: CpaDcCapabilityReq,
        response: *mut CpaDcCapabilityResp,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        *wanted(response, NO_PLACE)? = one(request)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcDeflateCompressBound(
        handle: CpaInstanceHandle,
        huff: CpaDcHuffType,
        input: Cpa32U,
        output: *mut Cpa32U,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        huffman(huff)?;
        put_bound(handle, bound(input as usize), output)
    }

    fn cpaDcLZ4CompressBound(handle: CpaInstanceHandle, input: Cpa32U, output: *mut Cpa32U) {
        // A block without its length may be larger than one with it.
        let bound = most(input, &[Format::Lz4Blocks, Format::Lz4Raw], 1520, 13);
        put_bound(handle, bound, output)
    }

    fn cpaDcLZ4SCompressBound(handle: CpaInstanceHandle, input: Cpa32U, output: *mut Cpa32U) {
        put_bound(handle, most(input, &[Format::Lz4s], 2000, 11), output)
    }

    fn cpaDcZstdCompressBound(handle: CpaInstanceHandle, input: Cpa32U, output: *mut Cpa32U) {
        put_bound(handle, most(input, &[Format::Zstd], 1520, 13), output)
    }
}
