//! A QuickAssist card as a device: it drives whatever `libqat.so.4` it is given.
//!
//! Nothing is assumed of the card. Its library is loaded when a setting names it, never by default, into a linker namespace
//! of its own; what it can do is asked. README.md says how it is set and how it was tested.
//!
//! # What is served
//!
//! Stateless compression and decompression of raw DEFLATE, zlib and gzip, and pieces of raw DEFLATE, at the levels from 1 on
//! whose sessions the card takes, up to 1 MiB a request. Wrappers are made here; CRC-32 or Adler-32 of the card are
//! compared with ours. The rest goes to the next device: streams, windows below 32 KB, level 0, empty and larger
//! sources, other formats and services, zlib with a preset dictionary, gzip with a checksum of its header.
//!
//! # What goes wrong
//!
//! The card works on memory of its own: pinned memory of its `libusdm` where it wants contiguous memory, else plain memory.
//! A request is copied there and back, and its destination is written once the answer has been judged. So whatever the
//! card does (an error, a reset, no answer, a wrong one), the request is as it was, and the next device has it:
//! all that is lost is [`Lost::Untouched`](lookaside_core::Lost::Untouched). Data that the card calls bad are such a case: the next
//! device says where and why. What it has compressed is verified before anybody has it ([`Verify`]).
//!
//! `CPA_STATUS_RETRY` is back pressure; `CPA_STATUS_RESTARTING` and `CPA_STATUS_FATAL` let the card rest for 100 ms. A child of
//! a fork does not use its parent's card.
#![deny(unsafe_code)]

mod card;
mod channel;
mod flight;
mod frame;
mod library;
mod memory;
mod settings;

use core::fmt;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use lookaside_core::{
    Capability, Channel, Checksum, Compression, Device, EngineId, Huffman, Limits, Op, Prepared,
    Reach, SessionSpec, SetupError,
};

use card::Card;
use channel::{CardChannel, DEPTH, Key, LARGEST, Plan};
use flight::Way;
pub use settings::{LIBRARY_VARIABLE, Settings, Verify};

/// Why there is no card: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    library: PathBuf,
    why: String,
}

impl Refusal {
    fn new(library: &Path, why: String) -> Refusal {
        Refusal { library: library.to_owned(), why: why.replace('\n', " ") }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no QuickAssist card by {}: {}", self.library.display(), self.why)
    }
}

impl std::error::Error for Refusal {}

/// The device.
pub struct QatDevice {
    card: Arc<Card>,
    settings: Settings,
    capabilities: Vec<Capability>,
}

impl fmt::Debug for QatDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QatDevice").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl QatDevice {
    /// The card of this library, which is loaded and started once in a process.
    ///
    /// # Errors
    /// Why there is none.
    pub fn new(settings: Settings) -> Result<QatDevice, Refusal> {
        let card = Card::of(&settings)?;
        let verified = match (settings.verify, card.verifies) {
            (Verify::Card, _) => "verified by the card",
            (Verify::Software, true) => "verified by the card and the CPU",
            (Verify::Software, false) => "verified by the CPU",
        };
        let row = |op, algorithm: &str, how: &str| Capability {
            op,
            algorithm: format!("raw DEFLATE, zlib, gzip; {algorithm}"),
            served_by: format!("{}, {} instances{how}", card.description, card.instances()),
            best_batch: 1,
            max_src: LARGEST,
        };
        let codes = if card.dynamic { "dynamic or static" } else { "static" };
        let compress = format!("stateless, pieces; {codes}; its levels from 1 on");
        let capabilities = vec![
            row(Op::Compress, &compress, &format!("; {verified}")),
            row(Op::Decompress, "stateless", ""),
        ];
        Ok(QatDevice { card, settings, capabilities })
    }

    /// The card that the environment names ([`LIBRARY_VARIABLE`]); `None` where it names none.
    ///
    /// # Errors
    /// Why the named one is not there.
    pub fn of_environment() -> Result<Option<QatDevice>, Refusal> {
        Settings::of_environment()?.map(QatDevice::new).transpose()
    }

    /// What the card says of itself.
    pub fn description(&self) -> &str {
        &self.card.description
    }

    fn unsupported(&self, op: Op, what: &'static str) -> SetupError {
        SetupError::Unsupported { device: self.name().to_owned(), op, what }
    }

    /// Whether the card takes sessions of these parameters.
    fn check(&self, spec: &Compression) -> Result<(), SetupError> {
        spec.validate()?;
        let no = |what| Err(self.unsupported(Op::Compress, what));
        match spec {
            _ if !spec.format.is_deflate() => return no("DEFLATE alone"),
            Compression { level: 0, .. } => return no("stored blocks"),
            Compression { window_bits: ..15, .. } => return no("windows below 32 KB"),
            Compression { huffman: Huffman::Dynamic, .. } if !self.card.dynamic => {
                return no("dynamic Huffman codes");
            }
            _ => {}
        }
        let has = match spec.checksum_in_force() {
            Checksum::None | Checksum::Crc32 => self.card.crc32,
            Checksum::Adler32 => self.card.adler32,
            _ => false,
        };
        if !has {
            return no("the checksum");
        }
        // Where all instances are lent their channels find out.
        let Some(lent) = self.card.lend() else { return Ok(()) };
        let taken = [Way::Compress, Way::Decompress].into_iter().all(|way| {
            let setup = Key::new(spec, way).setup(&self.card);
            let session = self.card.session(&lent, &setup);
            session.inspect(|session| self.card.end_session(&lent, session)).is_some()
        });
        self.card.give_back(lent);
        if taken { Ok(()) } else { no("a session with this level") }
    }
}

impl Device for QatDevice {
    fn name(&self) -> &str {
        "qat"
    }

    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    fn limits(&self) -> Limits {
        Limits {
            max_batch: DEPTH,
            batch_deadline_ns: Some(0),
            timeout_ns: u64::try_from(self.settings.timeout.as_nanos()).ok(),
            reach: Reach::Process,
        }
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        match spec {
            SessionSpec::Compression(spec) => {
                self.check(spec)?;
                Ok(Prepared::new(Plan { spec: spec.clone() }))
            }
            SessionSpec::CompressStream { .. } => Err(self.unsupported(Op::Compress, "streams")),
            SessionSpec::DecompressStream { .. } => {
                Err(self.unsupported(Op::Decompress, "streams"))
            }
            other => {
                let op = other.ops().first().copied().unwrap_or(Op::Compress);
                Err(self.unsupported(op, "DEFLATE alone"))
            }
        }
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let timeout_ns = self.limits().timeout_ns.unwrap_or(u64::MAX / 2);
        Ok(Box::new(CardChannel::new(self.card.clone(), self.settings.verify, timeout_ns)))
    }
}
