//! The provider interface: what an implementation of compression must be.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use lookaside_model::Spec;
use lookaside_qat_card::Settings;

use crate::{
    device::Lookaside,
    error::{BadReason, Error},
    libraries::{Liblz4, Libzstd},
    params::{Format, Params},
    zlib::Zlib,
};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To compressed data.
    Compress,
    /// Back.
    Decompress,
}

/// What the tasks of one lane have in common, beside [`Params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneSpec {
    /// Which way.
    pub direction: Direction,
    /// The layout that the chunks belong to:
    ///
    /// * compressing `Gzip`: each chunk becomes a whole DEFLATE stream; answered with its CRC-32;
    /// * compressing `Cf`: a whole DEFLATE stream; no checksum;
    /// * compressing `Zlib`, `Raw`: a byte-aligned, self-contained piece of a DEFLATE stream
    ///   without a final block; answered with its own Adler-32 (`Zlib`) or CRC-32 (`Raw`);
    /// * compressing `Lz4`: one or more blocks of a frame, of at most 4 MB and no more than the chunk's size
    ///   rounded up to 64 KB, 256 KB or 1 MB, each with its length before it; no checksum;
    /// * compressing `Zstd`: a whole frame with content size and checksum;
    /// * decompressing `Gzip`: each chunk is a whole member with its index; length and CRC-32 are
    ///   to be checked;
    /// * decompressing `Cf`: each chunk is a whole DEFLATE stream;
    /// * decompressing `Lz4`: each chunk is one block of a frame, with its length before it;
    /// * decompressing `Zstd`: each chunk is a whole frame with content size.
    ///
    /// `Zlib` and `Raw` are never decompressed in lanes.
    pub format: Format,
}

/// The source of a task: memory of the task's own, or lent by the caller.
#[derive(Debug)]
pub struct Chunk<'a>(pub(crate) Memory<'a>);

#[derive(Debug)]
pub(crate) enum Memory<'a> {
    Owned(Vec<u8>),
    /// Made by this crate's pipeline alone, for the lanes of this crate's providers alone, which
    /// it never forgets: see `ffi::Lending`.
    Lent(&'a [u8]),
}

impl Chunk<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Memory::Owned(v) => v,
            Memory::Lent(s) => s,
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Vec<u8>> for Chunk<'_> {
    fn from(v: Vec<u8>) -> Self {
        Chunk(Memory::Owned(v))
    }
}

/// How far a task came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes of the source that were consumed.
    pub consumed: usize,
    /// Bytes at the start of the destination that were written.
    pub produced: usize,
    /// The checksum that [`LaneSpec::format`] asks for.
    pub checksum: u32,
}

/// Why a task failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The destination is too small: to be submitted again with a larger one.
    DstTooSmall,
    /// The source is damaged.
    BadData {
        /// Where, in bytes from its start.
        offset: u64,
        /// Why.
        reason: BadReason,
    },
    /// The provider failed.
    Failed(String),
}

/// One chunk to compress or decompress; it comes back with its outcome.
#[derive(Debug)]
pub struct Task<'a> {
    /// Its number, in the order of the input. Providers leave it alone.
    pub seq: u64,
    /// The source.
    pub src: Chunk<'a>,
    /// The destination; its length is the room there is.
    pub dst: Vec<u8>,
    /// What happened.
    pub outcome: Result<Outcome, TaskError>,
}

/// One thread's way to a provider. Tasks may come back in any order.
pub trait Lane<'a> {
    /// Takes a task. At most [`Provider::depth`] are outstanding. May execute it at once, or only
    /// note it until [`Lane::ring`].
    ///
    /// # Errors
    /// When the provider can take no more tasks at all.
    fn submit(&mut self, task: Task<'a>) -> Result<(), Error>;

    /// All tasks submitted so far are to run.
    fn ring(&mut self) {}

    /// Waits until at least one task is finished (unless none is outstanding), and appends all that
    /// are finished to `done`.
    ///
    /// # Errors
    /// When the outstanding tasks are lost.
    fn complete(&mut self, done: &mut Vec<Task<'a>>) -> Result<(), Error>;
}

/// Has no name outside of this crate, so that [`Provider::borrows`] is implemented here only.
#[derive(Debug)]
pub struct Own;

/// An implementation of compression.
pub trait Provider: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// How many tasks one lane takes at a time; 1 for a synchronous provider.
    fn depth(&self, params: &Params) -> usize {
        let _ = params;
        1
    }

    /// A destination size for `len` bytes that compression usually fits into. Where it does not,
    /// the task is answered [`TaskError::DstTooSmall`] and submitted again.
    fn bound(&self, params: &Params, len: usize) -> usize;

    /// Opens a lane for the calling thread.
    ///
    /// # Errors
    /// Parameters that this provider does not support.
    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error>;

    /// Opens a decompressor for one stream of any length, which arrives in pieces: of `Gzip` (one
    /// member), `Zlib`, `Raw`, `Lz4` or `Zstd` (one frame). `None`: the provider has none; zlib does it
    /// where it is DEFLATE.
    ///
    /// # Errors
    /// Parameters that this provider does not support.
    fn open_stream(
        &self,
        params: &Params,
        format: Format,
    ) -> Result<Option<Box<dyn crate::serial::Inflater>>, Error> {
        let _ = (params, format);
        Ok(None)
    }

    /// Whether the caller's memory may be lent to its lanes, without a copy. A provider of another
    /// crate may wrap one of ours and forget a lane that is at work.
    #[doc(hidden)]
    fn borrows(&self, _: Own) -> bool {
        false
    }

    /// Whether it submits requests to a device, so that engines, jobs and how to wait mean something.
    fn has_device(&self) -> bool {
        false
    }

    /// The timed model that serves, if one does: answers come when the modelled device would give them.
    fn model(&self) -> Option<&Spec> {
        None
    }

    /// What has served the requests so far; `None` where nothing counts them.
    fn counters(&self) -> Option<lookaside::Counters> {
        None
    }
}

fn registry() -> &'static RwLock<Vec<Arc<dyn Provider>>> {
    static REGISTRY: OnceLock<RwLock<Vec<Arc<dyn Provider>>>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let own: [Arc<dyn Provider>; 4] =
            [Arc::new(Lookaside::new()), Arc::new(Zlib), Arc::new(Liblz4), Arc::new(Libzstd)];
        RwLock::new(own.into())
    })
}

/// `qat` is what the paper calls the device's provider.
fn canonical(name: &str) -> &str {
    match name {
        "qat" => "lookaside",
        other => other,
    }
}

/// The model without a name: the card of the paper.
const MODEL: &str = "card2015";

/// What `model` and `model:NAME` stand for.
fn model_of(name: &str) -> Option<&str> {
    match name.strip_prefix("model")? {
        "" => Some(MODEL),
        rest => rest.strip_prefix(':'),
    }
}

/// The card that `qat:FILE` names by its library, or `qat` where the environment names one
/// ([`LOOKASIDE_CARD_LIBRARY`](lookaside_qat_card::LIBRARY_VARIABLE)).
fn card_of(name: &str) -> Result<Option<Settings>, Error> {
    let card = match name.strip_prefix("qat") {
        Some("") => Settings::of_environment(),
        Some(rest) => match rest.strip_prefix(':') {
            Some(library) => Settings::new(library).with_environment().map(Some),
            None => Ok(None),
        },
        None => Ok(None),
    };
    card.map_err(Error::Card)
}

/// The provider of this name: `lookaside` (or `qat`), `zlib`, `lz4`, `zstd`, or a registered one; `model`, `model:NAME` or
/// `model:FILE` for a device of its own with the speed of [a model](lookaside_model); `qat:FILE` for the card that the library
/// FILE drives, and `qat` alone too, where the environment names one.
///
/// # Errors
/// [`Error::UnknownProvider`]; [`Error::Model`]; [`Error::Card`].
pub fn provider(name: &str) -> Result<Arc<dyn Provider>, Error> {
    if let Some(model) = model_of(name) {
        let spec = Spec::load(model).map_err(Error::Model)?;
        return Ok(Arc::new(Lookaside::modelled(format!("model:{model}"), spec)));
    }
    if let Some(card) = card_of(name)? {
        return Ok(Arc::new(Lookaside::by_card("qat", card)?));
    }
    let all = registry().read().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().find(|p| p.name() == canonical(name));
    found.cloned().ok_or_else(|| Error::UnknownProvider(name.to_owned()))
}

/// The names of all providers.
pub fn providers() -> Vec<String> {
    let all = registry().read().unwrap_or_else(PoisonError::into_inner);
    all.iter().map(|p| p.name().to_owned()).collect()
}

/// Adds a provider for [`provider`] to find.
///
/// # Errors
/// [`Error::ProviderExists`] when the name is taken.
pub fn register(provider: Arc<dyn Provider>) -> Result<(), Error> {
    let mut all = registry().write().unwrap_or_else(PoisonError::into_inner);
    let name = provider.name();
    if model_of(name).is_some() || all.iter().any(|p| p.name() == canonical(name)) {
        return Err(Error::ProviderExists(provider.name().to_owned()));
    }
    all.push(provider);
    Ok(())
}
