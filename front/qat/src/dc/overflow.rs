//! What fits: partial results where a destination is too small, or a source has no end.
#![allow(unsafe_code)]

use lookaside::{Buf, Checksum, CompressSession, Done, Format, OpError};

use crate::process::Process;

/// Compresses as much of `src` as `dst` has room for, as a piece without an end that can be gone on from. Returns
/// what was consumed and produced, with the checksum of that.
pub fn compress(process: &Process, codec: &CompressSession, src: &Buf, dst: &mut Buf) -> Done {
    /// How close to full the first guesses may be: a prefix compresses differently from the whole.
    const TRIALS: usize = 4;
    let mut gathered = Vec::new();
    let plain = match src.as_slice() {
        Some(plain) => plain,
        None => {
            src.gather(&mut gathered);
            &gathered
        }
    };
    let room = dst.len();
    let mut best: Option<(Done, Vec<u8>)> = None;
    // What fits whatever it is: the bound of stored blocks.
    let sure = room.saturating_sub((room / 65_535 + 1) * 5).min(plain.len());
    let mut next = (plain.len() / 2).max(sure);
    for trial in 0..=TRIALS {
        if trial == TRIALS && best.is_none() {
            next = sure;
        }
        if next == 0 || best.as_ref().is_some_and(|(done, _)| next <= done.consumed) {
            break;
        }
        // SAFETY: the source outlives the call below.
        let prefix = unsafe { Buf::foreign(plain.as_ptr(), next) };
        let response = process.call(codec.compress_piece(prefix, Buf::zeroed(codec.bound(next))));
        let Ok(done) = response.result else { break };
        if done.produced <= room {
            let mut written = response.dst.into_vec();
            written.truncate(done.produced);
            best = Some((done, written));
        }
        // By the rate so far, and a little less.
        let guess = next as u128 * room as u128 * 63 / (done.produced.max(1) as u128 * 64);
        next = (guess as usize).clamp(sure, plain.len().saturating_sub(1).max(sure));
    }
    match best {
        Some((done, written)) => {
            dst.scatter(&written);
            done
        }
        None => {
            let nothing = u64::from(codec.spec().checksum == Checksum::Adler32);
            Done { checksum: nothing, ..Done::default() }
        }
    }
}

/// What a decompression got as far as.
pub struct Partial {
    /// The source and the destination, back.
    pub src: Buf,
    /// The destination.
    pub dst: Buf,
    /// How far.
    pub result: Result<Done, OpError>,
}

/// Decompresses what is there of `src` into what there is of `dst`: a source without an end, or a destination that
/// is too small. The checksum is not made.
pub fn decompress(process: &Process, src: Buf, dst: Buf) -> Partial {
    match process.runtime().decompress_stream(Format::Raw, None) {
        Ok(stream) => {
            let response = process.call(stream.decompress(src, dst));
            Partial { src: response.src, dst: response.dst, result: response.result }
        }
        Err(_) => Partial { src, dst, result: Err(OpError::NoMemory) },
    }
}
