//! The typed session of pattern matching.

use std::sync::Arc;

use lookaside_core::{
    Args, Buf, Carried, Flush, Op, OpError, Patterns, Prepared, Request, Session, SessionSpec,
    SetupError, SharedFlow,
};

use crate::Runtime;

/// A set of patterns that is searched for at once (service `scan`). Cheap to clone; usable from any thread. To replace a
/// set while scans run, make another session: those that run keep theirs.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lookaside::{Buf, Match, Runtime, scan::{Expression, Mode}};
///
/// let pattern = |id, text: &str| Expression { id, text: text.into(), ..Expression::default() };
/// let patterns = [pattern(1, "GET /[a-z]+"), pattern(2, "secret.*key")];
/// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
/// let scanner = runtime.scan(patterns, Mode::Stream)?;
///
/// // A stream in two pieces. Its state moves with the request and comes back.
/// let (handle, mut flow, mut found) = (runtime.handle(), scanner.flow()?, vec![]);
/// for (piece, last) in [("a secret is no k", false), ("ey", true)] {
///     let request = scanner.scan_piece(flow, Buf::from(piece.as_bytes().to_vec()), Buf::zeroed(240), last);
///     let mut response = handle.call(request).wait();
///     let done = response.result?;
///     found.extend(Match::of_records(&response.dst.as_slice().unwrap()[..done.produced]));
///     flow = response.take_flow().unwrap();
/// }
/// assert_eq!(found, [Match { end: 18, id: 2, start: 0 }]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Scanner(Arc<Session>, Patterns);

impl Scanner {
    /// Scans a whole text. The destination receives the matches as records ([`Match::RECORD`](crate::Match::RECORD)
    /// bytes each), ordered by their ends; `Done::checksum` is the number of matches. If they are more than there is
    /// room for, the status is [`Overflow`](crate::Status::Overflow), and the first ones are there.
    pub fn scan(&self, src: Buf, dst: Buf) -> Request {
        Request::new(Op::Scan, self.0.clone(), Args::default(), src, dst)
    }

    /// Scans the next piece of a stream, whose state is that of [`flow`](Scanner::flow) or came back with the piece
    /// before ([`Response::take_flow`](crate::Response::take_flow)); `last` also finds what matches only at the end.
    /// On [`Overflow`](crate::Status::Overflow), submit the rest of the source from `Done::consumed` on (it may be empty)
    /// with the state that came back: no match is lost, none comes twice.
    pub fn scan_piece(&self, flow: Vec<u8>, src: Buf, dst: Buf, last: bool) -> Request {
        let mut args = Args::default();
        args.flush = if last { Flush::Finish } else { Flush::None };
        let mut request = Request::new(Op::Scan, self.0.clone(), args, src, dst);
        request.carried = Some(Box::new(Carried::Flow(flow)));
        request
    }

    /// The state of a stream at its beginning: plain bytes, always as many, which may be copied, stored, and continued in
    /// another process that has the same patterns.
    ///
    /// # Errors
    /// `Unsupported` if the set is for blocks alone.
    pub fn flow(&self) -> Result<Vec<u8>, OpError> {
        let beginning = self.0.prepared.iter().flatten().find_map(Prepared::beginning);
        beginning.map(<[u8]>::to_vec).ok_or(OpError::Unsupported)
    }

    /// A stream whose pieces may be submitted ahead. `state` is what [`ScanStream::state`] has returned, of a stream of the
    /// same patterns; `None` for the beginning.
    ///
    /// # Errors
    /// `Unsupported` if the set is for blocks alone; `BadInput` if the state has another length than this set's.
    pub fn stream(&self, state: Option<&[u8]>) -> Result<ScanStream, OpError> {
        let mut flow = self.flow()?;
        if let Some(state) = state {
            if state.len() != flow.len() {
                return Err(OpError::BadInput("the state of a flow of another set"));
            }
            flow.copy_from_slice(state);
        }
        Ok(ScanStream(Arc::new(self.0.in_order()), SharedFlow::new(flow)))
    }

    /// The patterns, to be saved ([`Patterns::to_bytes`]) and compiled elsewhere.
    pub fn patterns(&self) -> &Patterns {
        &self.1
    }

    /// What the scans of this set did, on all devices that count: scans, bytes, time, and of each pattern the matches
    /// and candidates. Clones share the counters. Allocates.
    pub fn counters(&self) -> lookaside_core::scan::Counters {
        let mut sum = lookaside_core::scan::Counters::default();
        let counted = self.0.prepared.iter().flatten().filter_map(Prepared::counters);
        counted.for_each(|counters| sum.add(&counters));
        sum
    }

    /// What the first device that has the set made of it, and what that is expected to cost: for people.
    pub fn explain(&self) -> Option<String> {
        self.0.prepared.iter().flatten().find_map(Prepared::explain)
    }
}

/// One stream that is scanned piece by piece. The runtime runs its requests one at a time in the order they were pushed, also
/// when several are outstanding, and answers them in that order; they must all go to one instance while any is.
///
/// After an overflow the requests that were pushed behind it are answered `Cancelled`: submit the unconsumed rest, then
/// those again.
#[derive(Debug)]
pub struct ScanStream(Arc<Session>, SharedFlow);

impl ScanStream {
    /// Scans the next piece. As [`Scanner::scan_piece`], but that the state stays here. Behind the last one, all are answered
    /// `StreamEnded`.
    pub fn scan(&self, src: Buf, dst: Buf, last: bool) -> Request {
        let mut args = Args::default();
        args.flush = if last { Flush::Finish } else { Flush::None };
        let mut request = Request::new(Op::Scan, self.0.clone(), args, src, dst);
        request.carried = Some(Box::new(Carried::SharedFlow(self.1.clone())));
        request
    }

    /// The state after the pieces that were executed, for [`Scanner::stream`]; plain bytes as those of [`Scanner::flow`].
    /// `None` while a piece is executed: ask when none is outstanding.
    ///
    /// # Errors
    /// `StreamEnded`; `DeviceLost` if a piece failed half-way.
    pub fn state(&self) -> Result<Option<Vec<u8>>, OpError> {
        self.1.state()
    }
}

impl Runtime {
    /// A session that searches for these patterns. Compiles them: milliseconds for thousands.
    ///
    /// # Errors
    /// [`SetupError::Patterns`] names all patterns that are refused.
    pub fn scan(
        &self,
        expressions: impl Into<Arc<[lookaside_core::scan::Expression]>>,
        mode: lookaside_core::scan::Mode,
    ) -> Result<Scanner, SetupError> {
        let patterns = Patterns { expressions: expressions.into(), mode };
        Ok(Scanner(self.0.session(SessionSpec::Scan(patterns.clone()))?, patterns))
    }
}
