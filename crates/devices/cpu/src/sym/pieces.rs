//! Texts in pieces: the running state comes with the request and goes back with the response.

use lookaside_cipher::{Engine, Piece};
use lookaside_core::{Carried, OpError, Request, Work};

use super::{PerPacket, Pieces, at_once::CpuRunning, done};

/// The next pieces of these requests' texts, side by side where the service can.
#[inline(never)]
pub(super) fn run(engine: &mut Engine, works: &mut [Work]) {
    let mut copies: PerPacket<Pieces> = works
        .iter_mut()
        .map(|w| {
            let Request { src, dst, .. } = w.request_mut();
            Pieces::of(src, dst)
        })
        .collect();
    let mut results: PerPacket<Result<(usize, usize), OpError>> = PerPacket::new();
    {
        let mut pieces: PerPacket<Piece<'_>> = PerPacket::new();
        for (work, copies) in works.iter_mut().zip(&mut copies) {
            let Request { src, dst, carried, .. } = work.request_mut();
            let running = match carried.as_deref_mut() {
                Some(Carried::Running(running)) => running.as_any().downcast_mut::<CpuRunning>(),
                _ => None,
            };
            let Some(running) = running else {
                // Another device's state.
                results.push(Err(OpError::Unsupported));
                continue;
            };
            if let Err(e) = copies.check() {
                results.push(Err(e));
                continue;
            }
            let text = copies.text(src, dst);
            results.push(Ok((text.len(), 0)));
            let (running, result) = (&mut running.running, Err(OpError::Cancelled));
            pieces.push(Piece { running, text, result });
        }
        engine.update(&mut pieces);
        let mut ran = pieces.into_iter();
        for result in results.iter_mut() {
            if let Ok((consumed, _)) = *result
                && let Some(piece) = ran.next()
            {
                *result = piece.result.map(|n| (consumed, n));
            }
        }
    }
    for ((work, copies), result) in works.iter_mut().zip(&copies).zip(results) {
        copies.scatter(&mut work.request_mut().dst);
        work.finish(result.map(|(consumed, produced)| done(consumed, produced)));
    }
}
