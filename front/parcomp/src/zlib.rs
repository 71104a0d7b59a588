//! The provider `zlib`: stock zlib, one call per chunk (paper 1 section 8.3.1).

use crate::{
    error::{BadReason, Error},
    ffi::{Deflate, End, Inflate, ZlibError},
    params::{Format, Params},
    provider::{Direction, Lane, LaneSpec, Own, Provider, TaskError},
    serial::{Inflater, Piece},
    sync_lane::{Codec, SyncLane},
};

/// Stock zlib. Synchronous: `deflate` is called once for each chunk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Zlib;

impl Provider for Zlib {
    fn name(&self) -> &str {
        "zlib"
    }

    /// zlib's conservative `deflateBound`, plus a flush marker and alignment.
    fn bound(&self, _: &Params, len: usize) -> usize {
        len + len.div_ceil(8) + len.div_ceil(64) + 32
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        let failed = |e: ZlibError| Error::Provider {
            provider: "zlib".into(),
            what: format!("initialisation failed: {e:?}"),
        };
        if !spec.format.is_deflate() {
            let (provider, what) = ("zlib".into(), "this format");
            return Err(Error::Unsupported { provider, what });
        }
        let codec = match spec.direction {
            Direction::Compress => {
                if params.level > 9 {
                    let what = "compression level";
                    return Err(Error::Param { what, given: params.level.into(), min: 0, max: 9 });
                }
                Stock::Deflate(
                    Deflate::new(params.level, params.window_bits, params.static_huffman)
                        .map_err(failed)?,
                )
            }
            Direction::Decompress => Stock::Inflate(Inflate::new(-15).map_err(failed)?),
        };
        Ok(Box::new(SyncLane::new(codec, spec)))
    }

    fn borrows(&self, _: Own) -> bool {
        true
    }

    fn open_stream(&self, _: &Params, format: Format) -> Result<Option<Box<dyn Inflater>>, Error> {
        stream(format).map(Some)
    }
}

/// zlib's decompressor for one stream of any length.
pub(crate) fn stream(format: Format) -> Result<Box<dyn Inflater>, Error> {
    let bits = match format {
        Format::Gzip => 31,
        Format::Zlib => 15,
        Format::Raw | Format::Cf => -15,
        Format::Lz4 | Format::Zstd => {
            let (provider, what) = ("zlib".into(), "this format");
            return Err(Error::Unsupported { provider, what });
        }
    };
    let inflate = Inflate::new(bits).map_err(|e| Error::Provider {
        provider: "zlib".into(),
        what: format!("initialisation failed: {e:?}"),
    })?;
    Ok(Box::new(StockStream { inflate, consumed: 0, waiting: None }))
}

enum Stock {
    Deflate(Deflate),
    Inflate(Inflate),
}

impl Codec for Stock {
    fn compress(&mut self, src: &[u8], dst: &mut [u8], piece: bool) -> Result<usize, TaskError> {
        let Stock::Deflate(deflate) = self else {
            return Err(TaskError::Failed("this lane decompresses".into()));
        };
        let end = if piece { End::Full } else { End::Finish };
        let step = deflate.chunk(src, dst, end);
        step.end.then_some(step.produced).ok_or(TaskError::DstTooSmall)
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), TaskError> {
        let Stock::Inflate(inflate) = self else {
            return Err(TaskError::Failed("this lane compresses".into()));
        };
        inflate.reset();
        match inflate.step(src, dst) {
            Ok(s) if s.end => Ok((s.consumed, s.produced)),
            Ok(s) if s.produced == dst.len() => Err(TaskError::DstTooSmall),
            Ok(s) => bad(s.consumed, BadReason::Truncated),
            Err(_) => bad(0, BadReason::Block),
        }
    }
}

fn bad<T>(offset: usize, reason: BadReason) -> Result<T, TaskError> {
    Err(TaskError::BadData { offset: offset as u64, reason })
}

struct StockStream {
    inflate: Inflate,
    consumed: u64,
    waiting: Option<Piece>,
}

impl Inflater for StockStream {
    fn submit(&mut self, mut piece: Piece) -> Result<(), Error> {
        let mut dst = core::mem::take(&mut piece.dst);
        piece.outcome = match self.inflate.step(piece.rest(), &mut dst) {
            Ok(s) => Ok((s.consumed, s.produced, s.end)),
            Err(e) => {
                let reason = match (e, self.inflate.message()) {
                    (ZlibError::Dictionary, _) => BadReason::Dictionary,
                    (_, "incorrect data check") => BadReason::Checksum,
                    (_, "incorrect length check") => BadReason::Length,
                    (_, m) if m.contains("header") || m.contains("method") => BadReason::Header,
                    _ => BadReason::Block,
                };
                Err(TaskError::BadData { offset: self.consumed, reason })
            }
        };
        piece.dst = dst;
        if let Ok((consumed, ..)) = piece.outcome {
            self.consumed += consumed as u64;
        }
        self.waiting = Some(piece);
        Ok(())
    }

    fn wait(&mut self) -> Result<Piece, Error> {
        self.waiting.take().ok_or_else(|| Error::Provider {
            provider: "zlib".into(),
            what: "nothing was submitted".into(),
        })
    }

    fn restart(&mut self) -> Result<(), Error> {
        self.inflate.reset();
        self.consumed = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_for_incompressible_data_at_every_level() {
        let mut x = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 56) as u8
        })
        .take(100_000)
        .collect();
        for level in 0..=9 {
            for (fixed, bits) in [(false, 15), (true, 15), (false, 9)] {
                for end in [End::Finish, End::Full] {
                    for len in [0, 1, 100, 100_000] {
                        let mut deflate = Deflate::new(level, bits, fixed).unwrap();
                        let mut dst = vec![0; Zlib.bound(&Params::default(), len)];
                        let step = deflate.chunk(&noise[..len], &mut dst, end);
                        assert!(step.end, "level {level} fixed {fixed} bits {bits} len {len}");
                    }
                }
            }
        }
    }
}
