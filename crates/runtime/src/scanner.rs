//! The typed session of pattern matching.

use std::sync::Arc;

use lookaside_core::{
    Args, Buf, Carried, Flush, Op, OpError, Patterns, Prepared, Request, Session, SessionSpec,
    SetupError,
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
pub struct Scanner(Arc<Session>);

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

    /// What the first device that has the set made of it, and what that is expected to cost: for people.
    pub fn explain(&self) -> Option<String> {
        self.0.prepared.iter().flatten().find_map(Prepared::explain)
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
        Ok(Scanner(self.0.session(SessionSpec::Scan(patterns))?))
    }
}
