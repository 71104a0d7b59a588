//! Requests with a dictionary of their own: a stream of one piece.
#![allow(unsafe_code)]

use lookaside::{Buf, Flush, Format, Request};

use crate::{abi::*, buffers, checksum::adler32, process::Process, refusal::Refusal};

use super::{request::DcRequest, session::stream_flush, setup::Way};

/// The bytes of a dictionary, and what the caller wants to know of them written.
///
/// # Errors
/// For a dictionary that is not served.
///
/// # Safety
/// As the interface asks for.
pub unsafe fn read(
    data: &mut CpaDcDictionaryData,
    crc64: crate::checksum::Crc64,
) -> Result<Vec<u8>, Refusal> {
    match data.dictionaryType {
        CPA_DC_UNCOMPRESSED_DICT => {}
        CPA_DC_COMPRESSED_DICT => {
            return Err(Refusal::unsupported(
                "dictionaryType CPA_DC_COMPRESSED_DICT is of Zstandard; DEFLATE has plain ones",
            ));
        }
        _ => return Err(Refusal::invalid("dictionaryType is none of the interface's")),
    }
    // SAFETY: the caller's promise.
    let pieces = unsafe { buffers::pieces(data.pDictionaryBuff) }?;
    let mut bytes = Vec::with_capacity(buffers::length(pieces));
    // SAFETY: as above; read within this function.
    unsafe { buffers::source(pieces) }.gather(&mut bytes);
    if bytes.is_empty() {
        return Err(Refusal::invalid("the dictionary is empty"));
    }
    if data.calcDictionaryIntegCrc != CPA_FALSE {
        data.dictionaryIntegCrc64b.iCrc = crc64.of([&bytes[..]]);
    }
    // As zlib names a dictionary (RFC 1950 section 2.2).
    data.dictId = adler32(1, &bytes);
    Ok(bytes)
}

/// The request of a stream that has this dictionary and one piece.
pub(super) fn request(
    process: &Process,
    of: &DcRequest,
    dictionary: &[u8],
    src: Buf,
    dst: Buf,
) -> Result<Request, Refusal> {
    if of.stateful {
        return Err(Refusal::unsupported("a dictionary is for stateless sessions"));
    }
    let runtime = process.runtime();
    match of.way {
        Way::Compress => {
            let stream = runtime.compress_stream(of.codec.spec().clone(), Some(dictionary))?;
            let flush = match stream_flush(of.flush) {
                // A request whose output is held back would lose it with its stream.
                Flush::None => Flush::Sync,
                flush => flush,
            };
            Ok(stream.compress(src, dst, flush))
        }
        Way::Decompress => {
            Ok(runtime.decompress_stream(Format::Raw, Some(dictionary))?.decompress(src, dst))
        }
    }
}
