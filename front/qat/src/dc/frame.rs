//! Headers and footers: around DEFLATE gzip's (RFC 1952) for sessions with CRC-32, zlib's (RFC 1950) for those with
//! Adler-32; around LZ4's blocks a frame's (lz4_Frame_format.md); none for others.
#![allow(unsafe_code)]

use lookaside::Format;
use once_cell::race::OnceBox;
use twox_hash::XxHash32;

use crate::{
    abi::*,
    refusal::{Refusal, given, wanted},
    session::Session,
};

use super::{
    session::DcSession,
    setup::{Setup, Sum, Way},
};

/// The header of an LZ4 frame (lz4_Frame_format.md): version 01, without the content's size.
pub(super) fn lz4_header(
    block_bits: u8,
    independent: bool,
    block_checksums: bool,
    content_checksum: bool,
) -> [u8; FRAME_HEADER] {
    let flg = 0x40
        | u8::from(independent) << 5
        | u8::from(block_checksums) << 4
        | u8::from(content_checksum) << 2;
    let bd = ((block_bits - 8) / 2) << 4;
    let check = XxHash32::oneshot(0, &[flg, bd]) >> 8;
    [0x04, 0x22, 0x4d, 0x18, flg, bd, check as u8]
}

/// The header and the end of a frame around blocks that have checksums, of any size; they may be linked.
static HEADER: OnceBox<[u8; FRAME_HEADER]> = OnceBox::new();
static END: [u8; 4] = [0; 4];
/// The length of the header of an LZ4 frame without the content's size.
pub(super) const FRAME_HEADER: usize = 7;

/// Blocks of LZ4 with checksums, as a frame: to be read alone.
pub(super) fn framed(blocks: &[CpaFlatBuffer]) -> Vec<CpaFlatBuffer> {
    let own = |bytes: &'static [u8]| CpaFlatBuffer {
        dataLenInBytes: bytes.len() as u32,
        pData: bytes.as_ptr().cast_mut(),
    };
    let header = HEADER.get_or_init(|| Box::new(lz4_header(22, false, true, false)));
    let mut pieces = Vec::with_capacity(blocks.len() + 2);
    pieces.push(own(header));
    pieces.extend_from_slice(blocks);
    pieces.push(own(&END));
    pieces
}

/// The header of a set-up at this level.
fn header(setup: &Setup, level: u8) -> Vec<u8> {
    if setup.spec.format == Format::Lz4Blocks {
        let (independent, content) = (setup.independent, setup.sum == Sum::Xxh32);
        return lz4_header(setup.spec.block_bits, independent, false, content).to_vec();
    }
    match setup.sum {
        Sum::Crc32 => {
            // XFL: 4 for the fastest level, 2 for the best (RFC 1952 section 2.3.1).
            let xfl = match level {
                1 => 4,
                9.. => 2,
                _ => 0,
            };
            // OS: 3 is Unix.
            vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, xfl, 3]
        }
        Sum::Adler32 => {
            // FLEVEL (RFC 1950 section 2.2).
            let flevel: u16 = match level {
                1 => 0,
                2..=5 => 1,
                6 => 2,
                _ => 3,
            };
            let head = 0x7800 | flevel << 6;
            (head + 31 - head % 31).to_be_bytes().to_vec()
        }
        Sum::None | Sum::Both | Sum::Xxh32 | Sum::Xxh64 => Vec::new(),
    }
}

/// The footer of a stream of `len` bytes with this checksum.
fn footer(setup: &Setup, checksum: u32, len: u64) -> Vec<u8> {
    if setup.spec.format == Format::Lz4Blocks {
        let mut end = vec![0; 4];
        if setup.sum == Sum::Xxh32 {
            end.extend_from_slice(&checksum.to_le_bytes());
        }
        return end;
    }
    match setup.sum {
        Sum::Crc32 => [checksum.to_le_bytes(), (len as u32).to_le_bytes()].concat(),
        Sum::Adler32 => checksum.to_be_bytes().to_vec(),
        Sum::None | Sum::Both | Sum::Xxh32 | Sum::Xxh64 => Vec::new(),
    }
}

/// Writes to the caller's buffer.
unsafe fn put(bytes: &[u8], place: *const CpaFlatBuffer) -> Result<u32, Refusal> {
    // SAFETY: the exported function's caller promises it.
    let place = unsafe { given(place, "no buffer") }?;
    if bytes.is_empty() {
        return Ok(0);
    }
    if place.pData.is_null() || (place.dataLenInBytes as usize) < bytes.len() {
        return Err(Refusal::invalid(
            "the buffer is too small: gzip takes 10 bytes and 8, zlib 2 and 4, LZ4 7 and 8",
        ));
    }
    // SAFETY: as above; long enough.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), place.pData, bytes.len()) };
    Ok(bytes.len() as u32)
}

const NO_COUNT: &str = "no place for the number of bytes";
const NO_RESULTS: &str = "no results";

crate::api! {
    fn cpaDcGenerateHeader(
        session: CpaDcSessionHandle,
        place: *mut CpaFlatBuffer,
        count: *mut Cpa32U,
    ) {
        let session = Session::<DcSession>::get(session)?;
        session.setup().check(Way::Compress)?;
        let level = session.codec().spec().level;
        *wanted(count, NO_COUNT)? = put(&header(session.setup(), level), place)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcGenerateFooter(
        session: CpaDcSessionHandle,
        place: *mut CpaFlatBuffer,
        results: *mut CpaDcRqResults,
    ) {
        let session = Session::<DcSession>::get(session)?;
        session.setup().check(Way::Compress)?;
        let results = wanted(results, NO_RESULTS)?;
        let footer = footer(session.setup(), results.checksum, session.total());
        results.produced = results.produced.saturating_add(put(&footer, place)?);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcNsGenerateHeader(
        data: *mut CpaDcNsSetupData,
        place: *mut CpaFlatBuffer,
        count: *mut Cpa32U,
    ) {
        let setup = Setup::new(given(data, "no set-up data")?)?;
        setup.check(Way::Compress)?;
        *wanted(count, NO_COUNT)? = put(&header(&setup, setup.spec.level), place)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcNsGenerateFooter(
        data: *mut CpaDcNsSetupData,
        total: Cpa64U,
        place: *mut CpaFlatBuffer,
        results: *mut CpaDcRqResults,
    ) {
        let setup = Setup::new(given(data, "no set-up data")?)?;
        setup.check(Way::Compress)?;
        let results = wanted(results, NO_RESULTS)?;
        let footer = footer(&setup, results.checksum, total);
        results.produced = results.produced.saturating_add(put(&footer, place)?);
        Ok(CPA_STATUS_SUCCESS)
    }
}
