//! The vocabulary of Lookaside: operations, requests and responses, buffers, sessions,
//! capabilities, the [`Device`] interface and the errors.
//!
//! A front end builds a [`Request`] from a session of the runtime (package `lookaside`); an engine
//! hands it to a [`Device`] through a [`Channel`]; the answer comes back as a [`Response`] with the
//! buffers in it. This crate moves no data and starts nothing: it is what both ends agree on.
#![deny(unsafe_code)]

mod buf;
mod cost;
mod device;
mod error;
mod op;
mod pke;
mod request;
mod session;
mod sym;

pub use buf::Buf;
pub use cost::Costs;
pub use device::{
    Batch, Capability, Channel, Completed, Device, EngineId, Limits, Slot, Ticket, Wake, Work,
};
pub use error::{BadReason, Lost, OpError, SetupError};
pub use op::{Op, Service};
pub use pke::{
    Arithmetic, Curve, Detail, DhGroup, DsaDomain, EdCurve, Hash, HkdfMode, Kdf, Nonce, Pke,
    PointStep, RsaCrt, RsaPrivateKey, RsaPublicKey, RsaScheme, SaltLen, Secret, Sm2Role,
    WeierstrassParams, XdhCurve,
};
pub use request::{Args, Done, Flush, Request, Response, Status};
pub use session::{
    Admission, Checksum, Class, Compression, CompressionError, Format, Huffman, Order, OrderKey,
    Prepared, Session, SessionClass, SessionSpec, compress_bound,
};
pub use sym::{
    Aead, Auth, Carried, ChainOrder, Cipher, Immediate, Iv, Packet, Running, SharedImmediate, Span,
    Sym,
};
