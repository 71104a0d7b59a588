//! What travels between the clients of a shared device and its server.
//!
//! A client and the server share memory that the server made ([`Area`]): a ring of requests, a ring of answers,
//! and an arena for the bytes that requests read and write. Records have a fixed size ([`Entry`], [`Answer`]).
//! A socket carries the rest: who connects, what is offered, sessions with their keys ([`control`],
//! [`session`]).
//!
//! Nothing here trusts the other side. Whoever reads a record copies it once out of shared memory, and decodes the
//! copy: each number is checked, and what is not one of ours is [`Malformed`]. Whoever reads a ring believes
//! no index that lies further ahead than the ring is deep.
//!
//! This crate executes nothing and starts nothing: the device `lookaside-shared` is the client, `lookaside-server`
//! the server.
#![deny(unsafe_code)]

mod answer;
mod area;
mod bytes;
pub mod control;
mod detail;
mod entry;
mod numbers;
pub mod passing;
mod patience;
mod peer;
mod pke;
pub mod session;
mod texts;

pub use answer::Answer;
pub use area::{Area, Bell, Consumer, Producer, Shape};
pub use bytes::Malformed;
pub use entry::{Entry, Piece};
pub use patience::Patience;
pub use peer::{Peer, passed, peer, watch};
pub use texts::intern;

/// Both sides have to speak the same version: it changes with every change of a record, a message or the
/// numbers of operations.
pub const VERSION: u32 = 3;

/// The most bytes of one message on the socket.
pub const MAX_MESSAGE: usize = 64 << 10;

/// Words of 8 bytes in a record: two cache lines.
pub const WORDS: usize = 16;

/// A record as it lies in a ring.
pub type Record = [u64; WORDS];
