//! The data mover and random numbers. Lists are worked on segment by segment: nothing is gathered.

use lookaside_cipher::mover;
use lookaside_core::{Buf, Done, NoFork, OpError, Status};
use lookaside_simd::Cpu;

/// The longest pattern of a fill: a cache line.
const MAX_PATTERN: usize = 64;

fn done(consumed: usize, produced: usize, checksum: u64) -> Done {
    Done { consumed, produced, checksum, status: Status::Complete }
}

/// Calls `f` for each stretch that is contiguous in source and destination alike.
fn zip(src: &Buf, dst: &mut Buf, mut f: impl FnMut(&[u8], &mut [u8])) -> Result<(), OpError> {
    if dst.len() < src.len() {
        return Err(OpError::DstTooSmall);
    }
    if !dst.is_writable() {
        return Err(OpError::Unsupported);
    }
    let mut sources = src.segments().iter().filter_map(Buf::as_slice);
    let mut from: &[u8] = &[];
    for segment in dst.segments_mut() {
        let mut to = segment.as_mut_slice().unwrap_or_default();
        while !to.is_empty() {
            if from.is_empty() {
                match sources.find(|s| !s.is_empty()) {
                    Some(next) => from = next,
                    None => return Ok(()),
                }
            }
            let n = from.len().min(to.len());
            let (now, later) = from.split_at(n);
            let (here, there) = to.split_at_mut(n);
            f(now, here);
            (from, to) = (later, there);
        }
    }
    Ok(())
}

pub(crate) fn copy(cpu: &Cpu, src: &Buf, dst: &mut Buf) -> Result<Done, OpError> {
    let n = src.len();
    // The common case without a loop: what is measured against memcpy.
    if let (Some(from), Some(to)) = (src.as_slice(), dst.as_mut_slice()) {
        mover::copy(cpu, from, to.get_mut(..n).ok_or(OpError::DstTooSmall)?);
        return Ok(done(n, n, 0));
    }
    zip(src, dst, |from, to| mover::copy(cpu, from, to))?;
    Ok(done(n, n, 0))
}

pub(crate) fn copy_crc32(cpu: &Cpu, src: &Buf, dst: &mut Buf) -> Result<Done, OpError> {
    let mut crc = 0;
    zip(src, dst, |from, to| crc = mover::crc32_copy(cpu, crc, from, to))?;
    Ok(done(src.len(), src.len(), crc.into()))
}

pub(crate) fn copy_crc64(cpu: &Cpu, src: &Buf, dst: &mut Buf) -> Result<Done, OpError> {
    let mut crc = 0;
    zip(src, dst, |from, to| crc = mover::crc64_copy(cpu, crc, from, to))?;
    Ok(done(src.len(), src.len(), crc))
}

pub(crate) fn fill(cpu: &Cpu, pattern: &Buf, dst: &mut Buf) -> Result<Done, OpError> {
    let mut bytes = Vec::with_capacity(MAX_PATTERN);
    if pattern.is_empty() || pattern.len() > MAX_PATTERN {
        return Err(OpError::BadInput("a pattern has 1 to 64 bytes"));
    }
    if !dst.is_writable() {
        return Err(OpError::Unsupported);
    }
    pattern.gather(&mut bytes);
    for segment in dst.segments_mut() {
        let to = segment.as_mut_slice().unwrap_or_default();
        mover::fill(cpu, to, &bytes);
        // The next segment goes on where this one ends within the pattern.
        let n = to.len() % bytes.len();
        bytes.rotate_left(n);
    }
    Ok(done(pattern.len(), dst.len(), 0))
}

pub(crate) fn compare(cpu: &Cpu, a: &Buf, b: &Buf) -> Result<Done, OpError> {
    if a.len() != b.len() {
        return Err(OpError::BadInput("buffers of different lengths"));
    }
    let mut equal = 0;
    let mut others = b.segments().iter().filter_map(Buf::as_slice);
    let mut other: &[u8] = &[];
    for mut one in a.segments().iter().filter_map(Buf::as_slice) {
        while !one.is_empty() {
            if other.is_empty() {
                match others.find(|s| !s.is_empty()) {
                    Some(next) => other = next,
                    None => return Ok(done(equal, 0, 0)),
                }
            }
            let n = one.len().min(other.len());
            let (now, then) = (one.split_at(n), other.split_at(n));
            if let Some(at) = mover::compare(cpu, now.0, then.0) {
                return Ok(done(equal + at, 0, 0));
            }
            equal += n;
            (one, other) = (now.1, then.1);
        }
    }
    Ok(done(equal, 0, 0))
}

pub(crate) fn random(dst: &mut Buf) -> Result<Done, OpError> {
    if !dst.is_writable() {
        return Err(OpError::Unsupported);
    }
    let n = dst.len();
    let _no_fork = NoFork::begin();
    for segment in dst.segments_mut() {
        let to = segment.as_mut_slice().unwrap_or_default();
        if let Err(e) = lookaside_pke::random::fill(to) {
            // Nothing that looks random and is not.
            to.fill(0);
            return Err(e);
        }
    }
    Ok(done(0, n, 0))
}
