//! The vocabulary of Lookaside: operations, requests and responses, buffers, sessions,
//! capabilities, the [`Device`] interface and the errors.
//!
//! A front end builds a [`Request`] from a session of the runtime (package `lookaside`); an engine
//! hands it to a [`Device`] through a [`Channel`]; the answer comes back as a [`Response`] with the
//! buffers in it. This crate moves no data and starts nothing: it is what both ends agree on.
#![deny(unsafe_code)]

mod buf;
mod chain;
mod class;
mod cost;
mod device;
mod error;
pub mod probes;
mod region;
mod request;
mod session;
mod shared;
mod shared_memory;
mod sym;

pub use buf::Buf;
pub use chain::{Chain, Feed, Step};
pub use class::SessionClass;
pub use cost::Costs;
pub use device::{
    Batch, Capability, Channel, Completed, Device, EngineId, Limits, Reach, Slot, Ticket, Wake,
    Work,
};
pub use error::SetupError;
pub use lookaside_secure::{ForkMutex, NoFork, plain_message, secure_variable, wipe_stack};
pub use lookaside_spec::{
    BadReason, Done, Hash, Lost, Op, OpError, Secret, Service, Status,
    dc::{Checksum, Compression, CompressionError, Flush, Format, Huffman, compress_bound},
    kdf::{HkdfMode, Kdf},
    pke::{
        Arithmetic, Curve, Detail, DhGroup, DsaDomain, EdCurve, Nonce, Pke, PointStep, RsaCrt,
        RsaPrivateKey, RsaPublicKey, RsaScheme, SaltLen, Sm2Role, WeierstrassParams, XdhCurve,
    },
    scan::{self, BadPattern, Match, Patterns},
    store_result,
    sym::{Aead, Auth, ChainOrder, Cipher, Iv, Packet, Span, Sym},
    xml::{self, Xml},
};
pub use region::{Memory, Region, Segment};
pub use request::{Args, Request, Response};
pub use session::{Admission, Class, Order, OrderKey, Prepared, Session, SessionSpec};
pub use shared::{Document, Shared, SharedDocument, SharedFlow};
pub use shared_memory::{SharedMemory, memory_file};
pub use sym::{Aside, Carried, Immediate, Running, SharedImmediate};
