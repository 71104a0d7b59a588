//! What fits: partial results where a destination is too small, or a source has no end.
#![allow(unsafe_code)]

use lookaside::{Buf, CompressSession, Done, Format, OpError, Response, Status};

use crate::process::Process;

/// Compresses as much of `src` as `dst` has room for, as a piece without an end that can be gone on from. Returns
/// what was consumed and produced, with the checksum of that: `nothing` where nothing fits, or the format has no such
/// pieces (LZ4s, Zstandard, LZ4 without lengths). `None`, with nothing written, where `is_right` denies that the second
/// is what the first compresses to.
pub fn compress(
    process: &Process,
    codec: &CompressSession,
    src: &Buf,
    dst: &mut Buf,
    nothing: Done,
    is_right: impl FnOnce(&Buf, &[u8]) -> bool,
) -> Option<Done> {
    /// A prefix compresses differently from the whole: the rate is found by trials.
    const TRIALS: usize = 6;
    let mut gathered = Vec::new();
    let plain = match src.as_slice() {
        Some(plain) => plain,
        None => {
            src.gather(&mut gathered);
            &gathered
        }
    };
    let room = dst.len();
    // What a stored block holds at most, and takes beside that.
    let (most, cost) = match codec.spec().format {
        Format::Raw => (65_535, 5),
        Format::Lz4Blocks => (1 << codec.spec().block_bits, 4),
        _ => return Some(nothing),
    };
    let mut best: Option<(Done, Vec<u8>)> = None;
    // What fits whatever it is: the bound of stored blocks.
    let sure = room.saturating_sub((room / most + 1) * cost).min(plain.len());
    // The longest prefix that is known to fit and the shortest that is not, with their sizes.
    let (mut fits, mut exceeds) = ((0, 0), None);
    let mut next = room.saturating_mul(3).min(plain.len() / 2).max(sure);
    for trial in 0..=TRIALS {
        let (longest, used) = fits;
        if used >= room / 8 * 7 {
            break;
        }
        if trial == TRIALS {
            next = sure;
        }
        if next <= longest {
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
            fits = (next, done.produced);
        } else {
            exceeds = Some((next, done.produced));
        }
        next = guess(room, fits, exceeds, plain.len());
    }
    let Some((done, written)) = best else { return Some(nothing) };
    // SAFETY: the source outlives the call.
    let prefix = unsafe { Buf::foreign(plain.as_ptr(), fits.0) };
    is_right(&prefix, &written).then(|| {
        dst.scatter(&written);
        done
    })
}

/// The next prefix to try: by a straight line through what is known, and a little less.
fn guess(
    room: usize,
    (longest, used): (usize, usize),
    exceeds: Option<(usize, usize)>,
    len: usize,
) -> usize {
    let (dx, dy) = match exceeds {
        Some((shortest, size)) => (shortest - longest, size - used),
        None => (longest, used),
    };
    let more = (room - used) as u128 * dx as u128 * 63 / (dy.max(1) as u128 * 64);
    let most = exceeds.map_or(len, |(shortest, _)| shortest) - 1;
    longest.saturating_add(more as usize).min(most)
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
    let Ok(stream) = process.runtime().decompress_stream(Format::Raw, None) else {
        return Partial { src, dst, result: Err(OpError::NoMemory) };
    };
    let Response { src, dst, mut result, .. } = process.call(stream.decompress(src, dst));
    if let Ok(done) = &mut result
        && done.status == Status::Overflow
    {
        // A stream says so of each destination that is full. Pieces that end in FULL or SYNC may fill theirs exactly:
        // what follows is an empty block, and decodes to nothing.
        let mut gathered = Vec::new();
        let rest = match src.as_slice() {
            Some(bytes) => &bytes[done.consumed..],
            None => {
                src.gather(&mut gathered);
                &gathered[done.consumed..]
            }
        };
        // SAFETY: the source outlives the call.
        let rest = unsafe { Buf::foreign(rest.as_ptr(), rest.len()) };
        match process.call(stream.decompress(rest, Buf::zeroed(1))).result {
            Ok(Done { produced: 0, consumed, status, .. }) => {
                done.consumed += consumed;
                done.status = status;
            }
            Ok(_) => {}
            Err(error) => result = Err(error),
        }
    }
    Partial { src, dst, result }
}
