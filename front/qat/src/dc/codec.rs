//! The runtime's sessions, one for each set of parameters: sessions of programs share them, and requests without a
//! session find them at once.
#![allow(unsafe_code)]

use core::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use lookaside::{Checksum, CompressSession, Compression, Format, Huffman};

use crate::{process::Process, refusal::Refusal};

/// 0 to 12: the interface has no other level.
const LEVELS: usize = Compression::MAX_LEVEL as usize + 1;
const FORMATS: usize = Format::ALL.len();
/// Codes and windows of DEFLATE; the largest blocks of LZ4, and the shortest match of LZ4s.
const KINDS: usize = 2 * WINDOWS;
const WINDOWS: usize = 7;
const SUMS: usize = 5;

/// Made at the first need, and never freed: there are few.
static CODECS: [AtomicPtr<CompressSession>; FORMATS * LEVELS * KINDS * SUMS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; FORMATS * LEVELS * KINDS * SUMS];

fn place(spec: &Compression) -> usize {
    let sum = match spec.checksum {
        Checksum::None => 0,
        Checksum::Crc32 => 1,
        Checksum::Adler32 => 2,
        Checksum::Xxh32 => 3,
        Checksum::Xxh64 => 4,
    };
    let kind = if spec.format.is_deflate() {
        let huffman = usize::from(spec.huffman == Huffman::Static);
        huffman * WINDOWS + usize::from(spec.window_bits) - 9
    } else {
        (usize::from(spec.block_bits) - 16) + usize::from(spec.min_match) - 3
    };
    let format = spec.format as usize;
    ((format * LEVELS + usize::from(spec.level)) * KINDS + kind) * SUMS + sum
}

/// The runtime's session of these parameters.
///
/// # Errors
/// When no device has them.
#[inline]
pub fn of(process: &Process, spec: &Compression) -> Result<&'static CompressSession, Refusal> {
    let place = &CODECS[place(spec)];
    // SAFETY: null, or made below and never freed.
    match unsafe { place.load(Ordering::Acquire).as_ref() } {
        Some(codec) => Ok(codec),
        None => make(process, spec, place),
    }
}

#[cold]
fn make(
    process: &Process,
    spec: &Compression,
    place: &AtomicPtr<CompressSession>,
) -> Result<&'static CompressSession, Refusal> {
    let made = Box::into_raw(Box::new(process.runtime().compression(spec.clone())?));
    let known = place.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    match known {
        // SAFETY: made above, and from here on never freed.
        Ok(_) => Ok(unsafe { &*made }),
        Err(known) => {
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            // SAFETY: another thread's, which is never freed.
            Ok(unsafe { &*known })
        }
    }
}
