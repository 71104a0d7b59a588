//! Sessions: immutable prepared parameters shared by many requests, and the order that streams ask
//! for.

use core::{any::Any, fmt};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{
    Compression, Costs, Document, ForkMutex, Format, Immediate, Kdf, Op, Patterns, Pke,
    SharedImmediate, Sym, Work, Xml, scan,
};

/// What a session is for; what [`crate::Device::prepare`] turns into prepared parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionSpec {
    /// The data mover.
    Mover,
    /// Stateless compression and decompression: each request a whole stream or member.
    Compression(Compression),
    /// One compression stream, submitted piece by piece.
    CompressStream {
        /// Its parameters.
        spec: Compression,
        /// A preset dictionary (RFC 1950 section 2.2).
        dictionary: Option<Arc<[u8]>>,
    },
    /// One decompression stream, submitted piece by piece.
    DecompressStream {
        /// The wrapper to expect.
        format: Format,
        /// A preset dictionary.
        dictionary: Option<Arc<[u8]>>,
    },
    /// Public-key operations.
    Pke(Pke),
    /// Key derivation.
    Kdf(Kdf),
    /// Symmetric cryptography.
    Sym(Sym),
    /// Random numbers.
    Rng,
    /// Pattern matching.
    Scan(Patterns),
    /// XML processing.
    Xml(Xml),
}

impl SessionSpec {
    /// The operations that a session of this kind can request.
    pub fn ops(&self) -> &'static [Op] {
        match self {
            SessionSpec::Mover => &[Op::Copy, Op::CopyCrc32, Op::CopyCrc64, Op::Fill, Op::Compare],
            SessionSpec::Sym(sym) => sym.ops(),
            SessionSpec::Rng => &[Op::Random],
            SessionSpec::Scan(_) => &[Op::Scan],
            SessionSpec::Xml(_) => &[Op::Parse],
            SessionSpec::Compression(_) => &[Op::Compress, Op::Decompress],
            SessionSpec::CompressStream { .. } => &[Op::Compress],
            SessionSpec::DecompressStream { .. } => &[Op::Decompress],
            SessionSpec::Pke(pke) => pke.ops(),
            SessionSpec::Kdf(kdf) => kdf.ops(),
        }
    }

    /// Whether requests of one session run one at a time in the order they were pushed.
    pub fn ordered(&self) -> bool {
        matches!(self, SessionSpec::CompressStream { .. } | SessionSpec::DecompressStream { .. })
    }
}

/// Makes the state of a document of such a session.
type MakeDocument = fn(&Prepared) -> Option<Box<dyn Document>>;

/// What one device made of a [`SessionSpec`]: its own type, behind `Any`.
#[derive(Clone)]
pub struct Prepared {
    value: Arc<dyn Any + Send + Sync>,
    best_batch: usize,
    immediate: Option<SharedImmediate>,
    flow: Option<Arc<[u8]>>,
    document: Option<MakeDocument>,
    explain: Option<fn(&Prepared) -> Option<String>>,
    counted: Option<fn(&Prepared) -> Option<scan::Counters>>,
}

impl Prepared {
    /// Wraps a device's own prepared parameters.
    pub fn new<T: Any + Send + Sync>(value: T) -> Prepared {
        Prepared {
            value: Arc::new(value),
            best_batch: 0,
            immediate: None,
            flow: None,
            document: None,
            explain: None,
            counted: None,
        }
    }

    /// How many requests of this class side by side serve the device best, where that differs from
    /// what its [`crate::Capability`] says of the whole operation.
    #[must_use]
    pub fn best_batch(mut self, n: usize) -> Prepared {
        self.best_batch = n;
        self
    }

    /// The state of a [flow](crate::Carried::Flow) at its beginning. Devices that prepare the same patterns agree on it.
    #[must_use]
    pub fn flow(mut self, beginning: impl Into<Arc<[u8]>>) -> Prepared {
        self.flow = Some(beginning.into());
        self
    }

    /// A function that makes the state of an XML document at its beginning.
    #[must_use]
    pub fn document_by(mut self, make: MakeDocument) -> Prepared {
        self.document = Some(make);
        self
    }

    /// What the function given to [`Prepared::document_by`] makes.
    pub fn document(&self) -> Option<Box<dyn Document>> {
        self.document.and_then(|make| make(self))
    }

    /// A function that says, for people, what the device has made of the specification and what that costs.
    #[must_use]
    pub fn explained_by(mut self, explain: fn(&Prepared) -> Option<String>) -> Prepared {
        self.explain = Some(explain);
        self
    }

    /// What the function given to [`Prepared::explained_by`] says.
    pub fn explain(&self) -> Option<String> {
        self.explain.and_then(|explain| explain(self))
    }

    /// A function that reads the counters of a set of patterns.
    #[must_use]
    pub fn counted_by(mut self, counters: fn(&Prepared) -> Option<scan::Counters>) -> Prepared {
        self.counted = Some(counters);
        self
    }

    /// What the function given to [`Prepared::counted_by`] reads.
    pub fn counters(&self) -> Option<scan::Counters> {
        self.counted.and_then(|counted| counted(self))
    }

    /// What was given to [`Prepared::flow`].
    pub fn beginning(&self) -> Option<&[u8]> {
        self.flow.as_deref()
    }

    /// Whether many requests at once are quicker than one after the other: worth the wait of a caller
    /// who could have one done [at once](crate::Immediate::side_by_side).
    #[inline]
    pub fn is_side_by_side(&self) -> bool {
        self.immediate.as_ref().is_some_and(|immediate| immediate.side_by_side())
    }

    /// Wraps a device's own prepared parameters, which also tell what the device can do for this
    /// session at once, on the caller's thread.
    pub fn with_immediate<T: Any + Immediate>(value: T) -> Prepared {
        let value = Arc::new(value);
        Prepared {
            value: value.clone(),
            best_batch: 0,
            immediate: Some(value),
            flow: None,
            document: None,
            explain: None,
            counted: None,
        }
    }

    /// What was given to [`Prepared::with_immediate`].
    #[inline]
    pub fn immediate(&self) -> Option<&SharedImmediate> {
        self.immediate.as_ref()
    }

    /// The number given to [`Prepared::best_batch`].
    #[inline]
    pub fn own_best_batch(&self) -> Option<usize> {
        (self.best_batch > 0).then_some(self.best_batch)
    }

    /// The device's own type, shared; `None` when another device prepared this.
    pub fn get_shared<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.value.clone().downcast().ok()
    }

    /// The device's own type back; `None` when another device prepared this.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

/// The number of a [`crate::SessionClass`] within a runtime, and what its requests cost.
#[derive(Clone, Debug)]
pub struct Class {
    id: u32,
    costs: Arc<Costs>,
}

impl Class {
    /// A class with this number.
    pub fn new(id: u32) -> Class {
        Class { id, costs: Arc::default() }
    }

    /// Its number.
    #[inline]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether it is the same class of the same runtime.
    pub fn is(&self, other: &Class) -> bool {
        Arc::ptr_eq(&self.costs, &other.costs)
    }

    /// Whether a session, or anybody but the caller, has it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.costs) > 1
    }

    /// What its requests cost.
    #[inline]
    pub fn costs(&self) -> &Costs {
        &self.costs
    }
}

/// A session as requests carry it. The runtime makes it; its typed sessions wrap it.
///
/// On cache lines of its own, not with the counts of the [`Arc`](std::sync::Arc) that it lies in: its owner
/// changes these with each request, while engines read this.
#[derive(Debug)]
#[repr(align(128))]
pub struct Session {
    /// The operations that it can request.
    pub ops: &'static [Op],
    /// Requests with the same operation and class may share a batch.
    pub class: Class,
    /// The prepared parameters, by the device's position in the runtime; `None` where a device
    /// does not support the session.
    pub prepared: Box<[Option<Prepared>]>,
    /// For an ordered session, its order.
    pub order: Option<Order>,
}

impl Session {
    /// The same session for the pieces of one stream: they run one at a time in their order.
    pub fn in_order(&self) -> Session {
        /// Requests that wait for their turn before the line grows.
        const ROOM: usize = 4;
        let Session { ops, class, prepared, .. } = self;
        let (class, prepared) = (class.clone(), prepared.clone());
        Session { ops, class, prepared, order: Some(Order::new(ROOM)) }
    }
}

/// Names the scheduler that runs an ordered session's requests at the moment.
pub type OrderKey = u64;

/// What [`Order::admit`] decided.
#[derive(Debug)]
pub enum Admission {
    /// It is its turn.
    Runs(Work),
    /// It waits; [`Order::next`] after the one before it returns it.
    Waits,
    /// To be answered [`crate::OpError::Cancelled`]; where it [holds the turn](crate::Slot),
    /// [`Order::next`] must follow.
    Refused(Work),
}

/// Keeps the requests of one ordered session in order: at most one runs, the others wait here.
///
/// After a request that overflowed or failed, the ones that were pushed behind it would run on the
/// wrong state. They are answered [`crate::OpError::Cancelled`]. What tells them from later ones
/// is the *epoch*: it is stamped at push, it advances on overflow or failure, and the one who
/// pushes sees the new epoch only once the response that advanced it has been taken.
#[derive(Debug)]
pub struct Order {
    seen: AtomicU32,
    /// Held for some instructions.
    line: ForkMutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    epoch: u32,
    running: Option<OrderKey>,
    waiting: VecDeque<Work>,
}

impl Order {
    /// A fresh order with room for this many waiting requests before it allocates.
    pub fn new(room: usize) -> Order {
        let line = Line { waiting: VecDeque::with_capacity(room), ..Line::default() };
        Order { seen: AtomicU32::new(0), line: ForkMutex::new(line) }
    }

    /// The epoch to stamp on a request at push.
    pub fn epoch(&self) -> u32 {
        self.seen.load(Ordering::Acquire)
    }

    /// The response that carried this epoch was taken by its owner.
    pub fn see(&self, epoch: u32) {
        // Epochs wrap.
        let newer = |s: u32| (epoch.wrapping_sub(s).cast_signed() > 0).then_some(epoch);
        let _ = self.seen.fetch_update(Ordering::AcqRel, Ordering::Acquire, newer);
    }

    /// Asks for the turn of `work`. A request is refused when its epoch has passed or when another
    /// scheduler is running this session.
    pub fn admit(&self, key: OrderKey, mut work: Work) -> Admission {
        let Some(mut line) = self.line.lock() else { return Admission::Refused(work) };
        match line.running {
            Some(k) if k != key => return Admission::Refused(work),
            // Its epoch is judged when its turn comes: so it is answered in order in any case.
            Some(_) => {
                line.waiting.push_back(work);
                return Admission::Waits;
            }
            None => line.running = Some(key),
        }
        work.holds_turn = true;
        match work.epoch == line.epoch {
            true => Admission::Runs(work),
            false => Admission::Refused(work),
        }
    }

    /// The request of this epoch whose turn it is overflowed, failed or did not run: the ones behind it
    /// must not run. Returns the epoch to hand out with its response; `None` if a request before it
    /// had broken the stream off. The turn is still its own.
    pub fn break_off(&self, epoch: u32) -> Option<u32> {
        let mut line = self.line.lock().filter(|line| line.epoch == epoch)?;
        line.epoch = line.epoch.wrapping_add(1);
        Some(line.epoch)
    }

    /// Shows each waiting request to this closure. Returns how often it said yes.
    pub fn each_waiting(&self, mut visit: impl FnMut(&mut Work) -> bool) -> usize {
        let Some(mut line) = self.line.lock() else { return 0 };
        line.waiting.iter_mut().map(|work| usize::from(visit(work))).sum()
    }

    /// The one whose turn it was has been answered. Returns the next one, with whether it may run
    /// (`true`) or is to be answered `Cancelled`; call again after that.
    pub fn next(&self) -> Option<(Work, bool)> {
        let mut line = self.line.lock()?;
        let Some(mut work) = line.waiting.pop_front() else {
            line.running = None;
            return None;
        };
        work.holds_turn = true;
        let runs = work.epoch == line.epoch;
        Some((work, runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, thread, time::Duration};

    /// The thread that holds the lock was preempted: that is no reason to refuse.
    #[test]
    fn a_holder_of_the_line_is_waited_for() {
        let order = Arc::new(Order::new(4));
        let (held, is_held) = mpsc::channel();
        let holder = thread::spawn({
            let order = order.clone();
            move || {
                let _line = order.line.lock().unwrap();
                held.send(()).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        is_held.recv().unwrap();
        assert!(matches!(order.admit(1, Work::empty()), Admission::Runs(_)));
        holder.join().unwrap();
    }
}
