//! Headers and footers around DEFLATE: gzip (RFC 1952) for sessions with CRC-32, zlib (RFC 1950) for those with
//! Adler-32, none for others.
#![allow(unsafe_code)]

use crate::{
    abi::*,
    refusal::{Refusal, given, wanted},
    session::Session,
};

use super::{
    session::DcSession,
    setup::{Setup, Sum, Way},
};

/// The header of a set-up at this level.
fn header(setup: &Setup, level: u8) -> Vec<u8> {
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
        Sum::None | Sum::Both => Vec::new(),
    }
}

/// The footer of a stream of `len` bytes with this checksum.
fn footer(setup: &Setup, checksum: u32, len: u64) -> Vec<u8> {
    match setup.sum {
        Sum::Crc32 => [checksum.to_le_bytes(), (len as u32).to_le_bytes()].concat(),
        Sum::Adler32 => checksum.to_be_bytes().to_vec(),
        Sum::None | Sum::Both => Vec::new(),
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
            "the buffer is too small: gzip takes 10 bytes and 8, zlib 2 and 4",
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
