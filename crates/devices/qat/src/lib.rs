//! A QuickAssist card as a device: it drives whatever `libqat.so.4` it is given.
//!
//! Nothing is assumed of the card. Its library is loaded when a setting names it, never by default, into a linker namespace
//! of its own; what it can do is asked. README.md says how it is set and how it was tested.
//!
//! # What is served
//!
//! Stateless compression and decompression of raw DEFLATE, zlib and gzip, and pieces of raw DEFLATE, at the levels from 1 on
//! whose sessions the card takes, up to 1 MiB a request. Wrappers are made here; CRC-32 or Adler-32 of the card are
//! compared with ours. Symmetric requests of one packet; RSA private operations, ECDSA signatures, ECDH. The rest goes to
//! the next device: README.md has the table.
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
//! a fork does not use its parent's card, but starts it anew, by another copy of the library.
#![deny(unsafe_code)]

mod allocator;
mod call;
mod card;
mod channel;
#[cfg(feature = "crypto")]
mod crypto;
mod dc;
mod drop_in;
mod flight;
mod frame;
mod keys;
mod library;
mod memory;
#[cfg(feature = "crypto")]
mod pke;
mod port;
mod process;
mod settings;
#[cfg(feature = "crypto")]
mod sym;

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
use channel::CardChannel;
use dc::{Key, LARGEST, Plan};
use flight::Way;
use port::DEPTH;
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

/// The device. Its clones are the same card.
#[derive(Clone)]
pub struct QatDevice {
    /// As the process has it that made this.
    card: Arc<Card>,
    settings: Settings,
    capabilities: Arc<[Capability]>,
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
        let card = process::card(&settings, true)?;
        let capabilities = capabilities(&card, settings.verify).into();
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

    /// The card in this process. A child of a fork starts it anew; where that is refused, it has its parent's, which takes
    /// nothing there.
    fn here(&self) -> Arc<Card> {
        if self.card.is_ours() {
            return self.card.clone();
        }
        let card = process::card(&self.settings, false).and_then(|card| {
            let same = card.is_like(&self.card);
            let other = || "it is not the one that the process had before it forked".to_owned();
            same.then_some(card).ok_or_else(|| Refusal::new(&self.settings.library, other()))
        });
        card.unwrap_or_else(|refusal| {
            drop_in::say(&refusal);
            self.card.clone()
        })
    }

    fn unsupported(&self, op: Op, what: &'static str) -> SetupError {
        SetupError::Unsupported { device: self.name().to_owned(), op, what }
    }

    /// Whether the card takes sessions of these parameters.
    fn check(&self, spec: &Compression) -> Result<(), SetupError> {
        spec.validate()?;
        let no = |what| Err(self.unsupported(Op::Compress, what));
        if !self.card.compresses {
            return no("compression");
        }
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
        let card = self.here();
        let ways = [Way::Compress, Way::Decompress];
        match ways.into_iter().all(|way| card.takes(Key::new(spec, way))) {
            true => Ok(()),
            false => no("a session with this level"),
        }
    }
}

#[cfg(feature = "crypto")]
impl QatDevice {
    fn prepare_sym(&self, spec: &lookaside_core::Sym) -> Result<Prepared, SetupError> {
        let plan = sym::Plan::new(spec, self.card.crypto_traits());
        let no = || self.unsupported(spec.ops()[0], "this algorithm");
        let plan = plan.ok_or_else(no)?;
        match sym::is_taken(&self.here(), &plan, spec.ops()[0]) {
            true => Ok(Prepared::new(Arc::new(plan))),
            false => Err(self.unsupported(spec.ops()[0], "a session with this key or tag")),
        }
    }

    fn prepare_pke(&self, spec: &lookaside_core::Pke) -> Result<Prepared, SetupError> {
        let plan = pke::Plan::new(spec, self.card.crypto_traits());
        let no = || self.unsupported(spec.ops()[0], "this key or curve");
        Ok(Prepared::new(plan.ok_or_else(no)?).best_batch(pke::BATCH))
    }
}

/// What a card can do.
fn capabilities(card: &Card, verify: Verify) -> Vec<Capability> {
    let mut rows = Vec::new();
    let row = |op, algorithm: &str, max_src, instances: usize, how: &str| Capability {
        op,
        algorithm: algorithm.to_owned(),
        served_by: format!("{}, {instances} instances{how}", card.description),
        best_batch: 1,
        max_src,
    };
    if card.compresses {
        let verified = match (verify, card.verifies) {
            (Verify::Card, _) => "; verified by the card",
            (Verify::Software, true) => "; verified by the card and the CPU",
            (Verify::Software, false) => "; verified by the CPU",
        };
        let codes = if card.dynamic { "dynamic or static" } else { "static" };
        let formats = "raw DEFLATE, zlib, gzip; stateless";
        let compress = format!("{formats}, pieces; {codes}; its levels from 1 on");
        let instances = card.instances();
        rows.push(row(Op::Compress, &compress, LARGEST, instances, verified));
        rows.push(row(Op::Decompress, formats, LARGEST, instances, ""));
    }
    #[cfg(feature = "crypto")]
    for (op, algorithms) in sym::list(card.crypto_traits()) {
        let instances = card.crypto_instances(crypto::Kind::Sym);
        rows.push(row(op, &algorithms, sym::LARGEST, instances, ""));
    }
    #[cfg(feature = "crypto")]
    for (op, algorithms) in pke::list(card.crypto_traits()) {
        let instances = card.crypto_instances(crypto::Kind::Pke);
        let how = match (op, verify) {
            (Op::EcSign, Verify::Card) => "",
            _ => "; verified by the CPU",
        };
        let row = row(op, algorithms, u32::MAX as usize, instances, how);
        rows.push(Capability { best_batch: pke::BATCH, ..row });
    }
    rows
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
            #[cfg(feature = "crypto")]
            SessionSpec::Sym(spec) => self.prepare_sym(spec),
            #[cfg(feature = "crypto")]
            SessionSpec::Pke(spec) => self.prepare_pke(spec),
            other => {
                let op = other.ops().first().copied().unwrap_or(Op::Compress);
                Err(self.unsupported(op, "this service"))
            }
        }
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let timeout_ns = self.limits().timeout_ns.unwrap_or(u64::MAX / 2);
        Ok(Box::new(CardChannel::new(&self.here(), self.settings.verify, timeout_ns)))
    }
}
