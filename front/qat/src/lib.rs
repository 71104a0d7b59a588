//! `libqat.so.4`: Intel's QuickAssist interface, for programs that use it, served by the runtime.
//!
//! `include/` has the headers; each exported function does what the interface's documentation says, or answers
//! `CPA_STATUS_UNSUPPORTED` and prints why ([`unsupported`]). What this crate adds to the runtime:
//!
//! * [`abi`]: the interface's types, generated (`crates/quickassist`);
//! * [`process`], [`instance`], [`ring`]: handles, and who executes: the thread that polls, or engines;
//! * [`session`]: sessions in memory of the caller; [`buffers`]: its lists into buffers;
//! * [`dc`], [`cy`], [`sal`], [`discovery`]: the functions.
//!
//! The border is `unsafe` all along, so modules allow it. Bodies of exported functions rely on what the interface
//! asks of its callers: pointers are null or valid.
#![deny(unsafe_code)]
// "As the header has it" is the contract of every function here.
#![allow(clippy::missing_safety_doc)]
// Exported functions have the interface's names.
#![allow(non_snake_case)]

pub mod buffers;
pub mod checksum;
pub mod counters;
pub mod cy;
pub mod dc;
pub mod discovery;
pub mod events;
pub mod flights;
pub mod instance;
pub mod lock;
pub mod nodes;
pub mod notify;
pub mod process;
pub mod refusal;
pub mod ring;
pub mod sal;
pub mod session;
pub mod settings;
pub mod stack;
pub mod statistics;
pub mod unsupported;

pub use lookaside_quickassist as abi;
pub(crate) use refusal::api;
