//! Pattern matching: sets of patterns as sessions, matches as records in the destination.

use std::ops::ControlFlow;

use lookaside_core::{
    Capability, Done, Flush, Match, Op, OpError, Patterns, Prepared, SetupError, Status,
};
use lookaside_scan::{Mode, Scratch, Set};
use lookaside_simd::Cpu;

/// Memory of one channel.
pub(crate) type Memory = Scratch;

pub(crate) fn capabilities(cpu: &Cpu) -> Option<Capability> {
    Some(Capability {
        op: Op::Scan,
        algorithm: "sets of regular expressions and strings; blocks, and flows of pieces".into(),
        served_by: format!("own engines, {}", cpu.tier()),
        best_batch: 1,
        max_src: isize::MAX as usize,
    })
}

pub(crate) fn prepare(patterns: &Patterns, cpu: &Cpu) -> Result<Prepared, SetupError> {
    let set = Set::compile(patterns, cpu).map_err(SetupError::Patterns)?.counted();
    let beginning = (set.mode() == Mode::Stream).then(|| {
        let mut state = vec![0; set.state_len()];
        set.begin(&mut state);
        state
    });
    let prepared = Prepared::new(set)
        .explained_by(|prepared| prepared.get::<Set>().map(Set::explain))
        .counted_by(|prepared| Some(prepared.get::<Set>()?.counter()?.read()));
    Ok(match beginning {
        Some(beginning) => prepared.flow(beginning),
        None => prepared,
    })
}

/// Scans the source. `flow` is the state of the stream of which it is a piece; `Flush::Finish` says that it is the last.
pub(crate) fn scan(
    prepared: &Prepared,
    scratch: &mut Scratch,
    flow: Option<&mut Vec<u8>>,
    src: &[u8],
    dst: &mut [u8],
    flush: Flush,
) -> Result<Done, OpError> {
    let set = prepared.get::<Set>().ok_or(OpError::Unsupported)?;
    let mut records = Records { free: dst.as_chunks_mut().0.iter_mut(), written: 0, found: 0 };
    let (consumed, status, matches) = match flow {
        None => {
            let _ = set.scan(scratch, src, &mut |found| {
                let _ = records.take(found);
                ControlFlow::Continue(())
            });
            let whole = records.found == records.written;
            (src.len(), if whole { Status::Complete } else { Status::Overflow }, records.found)
        }
        Some(state) => {
            if set.mode() != Mode::Stream || state.len() != set.state_len() {
                return Err(OpError::BadInput("the state of a flow of another set"));
            }
            let consumed = set.scan_piece(scratch, state, src, &mut |found| records.take(found));
            let mut whole = consumed == src.len();
            if whole && flush == Flush::Finish {
                whole = set.finish(scratch, state, &mut |found| records.take(found)).is_continue();
            }
            let status = if whole { Status::Complete } else { Status::Overflow };
            // A match without room comes again.
            (consumed, status, records.written)
        }
    };
    let produced = records.written as usize * Match::RECORD;
    Ok(Done { consumed, produced, checksum: matches, status })
}

/// The destination.
struct Records<'a> {
    free: std::slice::IterMut<'a, [u8; Match::RECORD]>,
    written: u64,
    found: u64,
}

impl Records<'_> {
    /// Writes a match; stops where there is no room.
    fn take(&mut self, found: Match) -> ControlFlow<()> {
        self.found += 1;
        match self.free.next() {
            None => ControlFlow::Break(()),
            Some(record) => {
                *record = found.to_record();
                self.written += 1;
                ControlFlow::Continue(())
            }
        }
    }
}
