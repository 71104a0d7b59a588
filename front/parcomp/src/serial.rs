//! Decompression of one stream of any length, piece by piece.

use std::sync::Arc;

use crate::{
    error::{BadReason, Error},
    input::Input,
    provider::TaskError,
};

/// A piece of a stream.
#[derive(Debug)]
pub struct Piece {
    /// Memory with the source; in use until the piece comes back.
    pub src: Arc<Vec<u8>>,
    /// Where in it the source begins.
    pub start: usize,
    /// The destination.
    pub dst: Vec<u8>,
    /// The bytes consumed and produced, and whether the stream has ended.
    pub outcome: Result<(usize, usize, bool), TaskError>,
}

impl Piece {
    /// The source.
    pub fn rest(&self) -> &[u8] {
        self.src.get(self.start..).unwrap_or_default()
    }
}

/// Decompresses one stream. At most one piece is outstanding.
pub trait Inflater {
    /// Takes the next piece.
    ///
    /// # Errors
    /// When it cannot be taken.
    fn submit(&mut self, piece: Piece) -> Result<(), Error>;

    /// Waits for the piece that was submitted.
    ///
    /// # Errors
    /// When it is lost.
    fn wait(&mut self) -> Result<Piece, Error>;

    /// Begins another stream of the same format.
    ///
    /// # Errors
    /// When the provider fails.
    fn restart(&mut self) -> Result<(), Error>;
}

/// Receives what streams decompress to.
pub(crate) trait Drain {
    fn write(&mut self, bytes: &[u8], input: &Input<'_>) -> Result<(), Error>;
}

/// The buffers of serial decompression, used for one stream after the other.
pub(crate) struct Serial {
    src: Arc<Vec<u8>>,
    dst: [Vec<u8>; 2],
}

/// The first piece of a stream: small, because it may be a short one of many.
const FIRST: usize = 4 * 1024;
/// The largest piece.
const MOST: usize = 128 * 1024;
/// A destination.
const ROOM: usize = 256 * 1024;

impl Serial {
    pub(crate) fn new() -> Serial {
        Serial { src: Arc::new(Vec::new()), dst: [vec![0; ROOM], vec![0; ROOM]] }
    }

    /// Decompresses the stream that `input` is at, and consumes it. `limit`: how long it is, if
    /// that is known.
    pub(crate) fn run(
        &mut self,
        inflater: &mut dyn Inflater,
        input: &mut Input<'_>,
        limit: Option<usize>,
        drain: &mut dyn Drain,
    ) -> Result<(), Error> {
        let base = input.consumed;
        let mut size = FIRST;
        let [dst, mut other] = core::mem::take(&mut self.dst);
        let mut filled = 0;
        let src = core::mem::take(&mut self.src);
        let mut piece = Piece { src, start: 0, dst, outcome: Ok((0, 0, false)) };
        fill(&mut piece, input, size, limit, base)?;
        loop {
            inflater.submit(piece)?;
            // Meanwhile: write what the last piece gave, and read ahead.
            drain.write(&other[..filled], input)?;
            input.peek(size.min(MOST / 4) + MOST)?;
            piece = inflater.wait()?;
            let (consumed, produced, end) = match piece.outcome {
                Ok(outcome) => outcome,
                Err(TaskError::BadData { offset, reason }) => {
                    return Err(Error::BadData { offset: base + offset, reason });
                }
                Err(e) => return Err(stuck(format!("{e:?}"))),
            };
            let room = piece.dst.len();
            if produced > room || consumed > piece.rest().len() {
                return Err(stuck("impossible counts".into()));
            }
            piece.start += consumed;
            input.consume(consumed);
            core::mem::swap(&mut piece.dst, &mut other);
            filled = produced;
            if end {
                drain.write(&other[..filled], input)?;
                self.src = piece.src;
                self.dst = [piece.dst, other];
                return Ok(());
            }
            if piece.rest().is_empty() {
                size = (size * 4).min(MOST);
                let got = fill(&mut piece, input, size, limit, base)?;
                if got == 0 && produced < room {
                    let reason = BadReason::Truncated;
                    return Err(Error::BadData { offset: input.consumed, reason });
                }
            } else if consumed == 0 && produced == 0 {
                return Err(stuck("no progress".into()));
            }
        }
    }
}

fn stuck(what: String) -> Error {
    Error::Provider { provider: "decompression stream".into(), what }
}

/// Copies the next bytes of `input` (not consumed until they are used) to `piece`.
fn fill(
    piece: &mut Piece,
    input: &mut Input<'_>,
    size: usize,
    limit: Option<usize>,
    base: u64,
) -> Result<usize, Error> {
    let used = usize::try_from(input.consumed - base).unwrap_or(usize::MAX);
    let size = limit.map_or(size, |l| size.min(l.saturating_sub(used)));
    let bytes = input.peek(size)?;
    let bytes = &bytes[..size.min(bytes.len())];
    if Arc::get_mut(&mut piece.src).is_none() {
        piece.src = Arc::new(Vec::new());
    }
    if let Some(memory) = Arc::get_mut(&mut piece.src) {
        memory.clear();
        memory.extend_from_slice(bytes);
    }
    piece.start = 0;
    Ok(bytes.len())
}
