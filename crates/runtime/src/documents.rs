//! The typed session of XML processing.

use std::sync::Arc;

use lookaside_core::{
    Args, Buf, Carried, Flush, Op, OpError, Prepared, Request, Session, SessionSpec, SetupError,
    SharedDocument, Xml,
};

use crate::Runtime;

/// Reads XML documents to events (service `xml`). Cheap to clone; usable from any thread.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use lookaside::{Buf, Runtime, Status, Xml, xml::{Events, Kind}};
///
/// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
/// let (documents, handle) = (runtime.xml(Xml::default())?, runtime.handle());
///
/// // A document in two pieces.
/// let (stream, mut names) = (documents.stream()?, vec![]);
/// for (piece, last) in [("<order id='7'>two po", false), ("nds</order>", true)] {
///     let src = Buf::from(piece.as_bytes().to_vec());
///     let response = handle.call(stream.parse(src, Buf::zeroed(4096), last)).wait();
///     let done = response.result?;
///     assert_eq!(done.status == Status::End, last);
///     let written = &response.dst.as_slice().unwrap()[..done.produced];
///     for (event, text) in Events::new(written, done.checksum, piece.as_bytes()) {
///         if event.kind == Kind::StartElement || event.kind == Kind::Attribute {
///             names.extend(stream.document().ask(|document| document.qname(event.name).to_vec())?);
///         }
///     }
/// }
/// assert_eq!(names, [b"order".as_slice(), b"id"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Documents(Arc<Session>);

impl Documents {
    /// The state of a document at its beginning, which also tells the names of its events and its error.
    ///
    /// # Errors
    /// `Unsupported` if no device of the session has one.
    pub fn document(&self) -> Result<SharedDocument, OpError> {
        let made = self.0.prepared.iter().flatten().find_map(Prepared::document);
        made.map(SharedDocument::new).ok_or(OpError::Unsupported)
    }

    /// Reads a whole document, after which `document` is its state; what was that of another document before is reused.
    /// One request works on it at a time: another one is answered `BadInput`.
    ///
    /// The destination receives the events, see [`Events`](crate::xml::Events): records, and behind them the texts that are
    /// not as in the source; `Done::checksum` is the number of records. If they do not fit, the answer is `DstTooSmall`: 16
    /// bytes for each 2 of the document always suffice where no entity is expanded, 4 for each 1 mostly.
    ///
    /// May be a step of a [chain](Request::then): decompress and parse; parse and scan.
    pub fn parse(&self, document: &SharedDocument, src: Buf, dst: Buf) -> Request {
        request(&self.0, document, src, dst, true)
    }

    /// A document that arrives in pieces.
    ///
    /// # Errors
    /// As [`document`](Documents::document).
    pub fn stream(&self) -> Result<DocumentStream, OpError> {
        Ok(DocumentStream(Arc::new(self.0.in_order()), self.document()?))
    }
}

/// A document that arrives in pieces. The runtime runs its requests one at a time in the order they were pushed, also when
/// several are outstanding, and answers them in that order; they must all go to one instance while any is.
///
/// After an overflow the requests that were pushed behind it are answered `Cancelled`: submit the unconsumed rest, then
/// those again.
#[derive(Debug)]
pub struct DocumentStream(Arc<Session>, SharedDocument);

impl DocumentStream {
    /// Reads the next piece, of which `last` says that none follows. Any size will do; it may end within anything.
    ///
    /// The destination receives events as of [`Documents::parse`]. On [`Overflow`](crate::Status::Overflow) more come: submit
    /// the rest of the source from `Done::consumed` on (it may be empty), with `last` as before. Only if nothing at all
    /// was written does the destination have to be larger: the longest value of the document must fit.
    /// [`End`](crate::Status::End): the document was complete and well-formed. Behind that, all are answered `StreamEnded`.
    ///
    /// # Errors
    /// `BadDocument`, again for each further piece. Of the events before the error those of this piece are not given.
    pub fn parse(&self, src: Buf, dst: Buf, last: bool) -> Request {
        request(&self.0, &self.1, src, dst, last)
    }

    /// The document: names of events, the error.
    pub fn document(&self) -> &SharedDocument {
        &self.1
    }

    /// Begins another document. True: names and strings keep their numbers; false: they are counted anew, from time to
    /// time. `None` while a piece is executed.
    ///
    /// # Errors
    /// `DeviceLost` if a piece failed half-way: make another stream.
    pub fn restart(&self) -> Result<Option<bool>, OpError> {
        self.1.restart(|document| document.restart())
    }
}

fn request(
    session: &Arc<Session>,
    document: &SharedDocument,
    src: Buf,
    dst: Buf,
    last: bool,
) -> Request {
    let mut args = Args::default();
    args.flush = if last { Flush::Finish } else { Flush::None };
    let mut request = Request::new(Op::Parse, session.clone(), args, src, dst);
    request.carried = Some(Box::new(Carried::Document(document.clone())));
    request
}

impl Runtime {
    /// A session that reads XML documents.
    ///
    /// # Errors
    /// [`SetupError::Unsupported`] where no device has the service.
    pub fn xml(&self, spec: Xml) -> Result<Documents, SetupError> {
        Ok(Documents(self.0.session(SessionSpec::Xml(spec))?))
    }
}
