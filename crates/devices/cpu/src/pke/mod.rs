//! Public-key cryptography and key derivation: stages the requests of a batch as the service's
//! items.

mod capability;
mod session;
mod table;

use arrayvec::ArrayVec;
use lookaside_core::{Buf, Detail, Done, Lost, NoFork, OpError, Request, Status, Work};
use lookaside_pke::{Engine, Item};
use zeroize::Zeroizing;

pub(crate) use self::{
    capability::{best_batch, capabilities},
    session::{Session, prepare},
};

/// The most requests that a kernel runs side by side.
pub(crate) const LANES: usize = 8;

/// For each of a batch's requests, one of these.
type PerLane<T> = ArrayVec<T, LANES>;

/// What one request asks for beside its buffers.
#[derive(Clone, Copy)]
struct Ask<'a> {
    session: &'a Session,
    detail: Detail,
}

/// Copies of scattered buffers in one piece: kernels take nothing else.
struct Pieces {
    src: Option<Zeroizing<Vec<u8>>>,
    dst: Option<Zeroizing<Vec<u8>>>,
}

impl Pieces {
    /// # Errors
    /// [`OpError::NoMemory`] where there is none for a copy.
    fn of(request: &mut Request) -> Result<Pieces, OpError> {
        let room = |len| {
            let mut piece = Zeroizing::new(Vec::new());
            piece.try_reserve_exact(len).map_err(|_| OpError::NoMemory)?;
            Ok(piece)
        };
        let (mut src, mut dst) = (None, None);
        if request.src.as_slice().is_none() {
            let piece = src.insert(room(request.src.len())?);
            request.src.gather(piece);
        }
        if request.dst.as_mut_slice().is_none() && request.dst.is_writable() {
            let len = request.dst.len();
            dst.insert(room(len)?).resize(len, 0);
        }
        Ok(Pieces { src, dst })
    }
}

/// Executes requests of one operation and class, at most [`LANES`], and sets their results.
pub(crate) fn execute(engine: &mut Engine, works: &mut [Work]) {
    let Some(op) = works.first_mut().map(|work| work.request_mut().op) else { return };
    let mut pieces: PerLane<Result<Pieces, OpError>> =
        works.iter_mut().map(|work| Pieces::of(work.request_mut())).collect();
    let results: PerLane<_> = {
        let mut items = PerLane::new();
        for (work, pieces) in works.iter_mut().zip(&mut pieces) {
            let Ok(pieces) = pieces else { continue };
            let device = usize::from(work.device);
            let request = work.request_mut();
            let prepared = request.session.prepared.get(device).and_then(Option::as_ref);
            // The runtime routes a request only to a device that prepared its session.
            let session = prepared.and_then(|p| p.get::<Session>()).unwrap_or(&Session::Foreign);
            let src = match &pieces.src {
                Some(piece) => &piece[..],
                None => request.src.as_slice().unwrap_or_default(),
            };
            let dst = match &mut pieces.dst {
                Some(piece) => &mut piece[..],
                // What cannot be written counts as no room at all.
                None => request.dst.as_mut_slice().unwrap_or_default(),
            };
            items.push(Item::new(src, dst).with(Ask { session, detail: request.args.detail }));
        }
        // Almost all of them draw random bytes, be it for blinding.
        let _no_fork = NoFork::begin();
        table::run(engine, op, &mut items);
        items.iter().map(|item| item.result).collect()
    };
    let mut results = results.iter();
    for (work, pieces) in works.iter_mut().zip(&pieces) {
        let request = work.request_mut();
        // Those without memory for a copy did not run.
        let ran = |_| *results.next().unwrap_or(&Err(OpError::DeviceLost(Lost::Touched)));
        let result = pieces.as_ref().map_err(|e| *e).and_then(ran);
        if let (Ok(Pieces { dst: Some(piece), .. }), Ok(n)) = (pieces, result) {
            request.dst.scatter(&piece[..n]);
        }
        let consumed = Buf::len(&request.src);
        let done = |produced| Done { consumed, produced, checksum: 0, status: Status::Complete };
        work.finish(result.map(done));
    }
}
