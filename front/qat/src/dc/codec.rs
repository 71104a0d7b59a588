//! The runtime's sessions, one for each set of parameters: sessions of programs share them, and requests without a
//! session find them at once.
#![allow(unsafe_code)]

use core::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use lookaside::{Checksum, CompressSession, Compression, Huffman};

use crate::{process::Process, refusal::Refusal};

const LEVELS: usize = Compression::MAX_LEVEL as usize + 1;
const WINDOWS: usize = 7;
const SUMS: usize = 5;

/// Made at the first need, and never freed: there are few.
static CODECS: [AtomicPtr<CompressSession>; LEVELS * 2 * WINDOWS * SUMS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; LEVELS * 2 * WINDOWS * SUMS];

fn place(spec: &Compression) -> usize {
    let huffman = usize::from(spec.huffman == Huffman::Static);
    let sum = match spec.checksum {
        Checksum::None => 0,
        Checksum::Crc32 => 1,
        Checksum::Adler32 => 2,
        Checksum::Xxh32 => 3,
        Checksum::Xxh64 => 4,
    };
    let window = usize::from(spec.window_bits) - 9;
    ((usize::from(spec.level) * 2 + huffman) * WINDOWS + window) * SUMS + sum
}

/// The runtime's session of these parameters (raw DEFLATE).
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
