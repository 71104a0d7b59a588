//! XML: documents that arrive in chunks become records, checked as XML 1.0 (fifth edition) and Namespaces in XML 1.0 ask.
//!
//! ```
//! use lookaside_simd::Cpu;
//! use lookaside_xml::{Kind, Output, Parser, Record, Session, Status};
//!
//! let session = Session::new(Cpu::host());
//! let mut parser = Parser::new(&session); // one for each document; `reset` makes it ready for another one
//! let (mut records, mut bytes) = ([Record::default(); 64], vec![]);
//! let mut seen = vec![];
//! for (chunk, last) in [("<a b='1'>te", false), ("xt</a>", true)] {
//!     let mut chunk = chunk.as_bytes();
//!     loop {
//!         let mut out = Output::new(&mut records, &mut bytes);
//!         let progress = parser.feed(chunk, last, &mut out);
//!         for record in out.filled() {
//!             let text = String::from_utf8_lossy(out.text(record, chunk)).into_owned();
//!             seen.push((record.kind, text));
//!         }
//!         bytes.clear();
//!         chunk = &chunk[progress.consumed..];
//!         match progress.status {
//!             Status::Full => {} // room again: the same call with the rest
//!             Status::NeedInput | Status::Finished => break,
//!             Status::Failed(error) => panic!("{error}"),
//!         }
//!     }
//! }
//! let kinds = [Kind::StartElement, Kind::Attribute, Kind::Text, Kind::Text, Kind::EndElement];
//! assert!(seen.iter().map(|it| it.0).eq(kinds));
//! assert_eq!((&*seen[1].1, &*seen[2].1, &*seen[3].1), ("1", "te", "xt"));
//! ```
//!
//! The crate knows nothing of rings, devices or threads. Who wants a tree, or Rust types from a document, is better served
//! by the crates `roxmltree` and `quick-xml`.
//!
//! # How it works
//!
//! - `kernel`: stage one. Vectors find where names, values and text may end, a bit for each byte, and check in the same pass
//!   that the bytes are UTF-8 and characters of XML.
//! - `usual`, `content`, `tag`: stage two walks from bit to bit. The first is for what documents mostly consist of, and leaves
//!   the rest to the others. A token that the window does not hold whole leaves no trace, and is parsed again when there is
//!   more.
//! - `token`: a token that the chunk does not hold whole is completed in a buffer.
//! - `names`: names are numbers; a name is checked once. `hash`: the hash of their maps.
//! - `prolog`, `subset`, `dtd`, `cursor`: declarations; entities, defaults of attributes. `external`: what a [`Resolver`]
//!   gives: the external subset with its conditional sections, external entities.
//! - `feed`: a parser with memory for its records, for selections and schemas.
//! - `input`: UTF-16, ISO-8859-1 and others are decoded to UTF-8 first.
//! - [`tree`]: a whole document as flat records; [`xpath`]: XPath 1.0 on it. [`select`]: any number of XPath expressions side
//!   by side while the document arrives. [`xsd`]: XML Schema 1.0, validated while the document arrives.
//!
//! # What is left out
//!
//! - XML 1.1: a document that says so is read as XML 1.0 (fifth edition, 2.8).
//! - UTF-32 and EBCDIC: refused as [`Rule::UnknownEncoding`] or [`Rule::MalformedEncoding`].
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod chars;
mod content;
mod cursor;
mod dtd;
mod external;
mod feed;
mod hash;
mod input;
#[doc(hidden)]
pub mod kernel;
mod names;
mod parser;
mod prolog;
mod record;
pub mod select;
mod session;
mod subset;
mod tag;
mod token;
pub mod tree;
mod usual;
pub mod xpath;
pub mod xsd;

pub use lookaside_spec::xml::{Error, External, Limits, Name, Resolver, Resource, Rule, Xml};
pub use parser::{Parser, Progress, Status};
pub use record::{CDATA, DEFAULTED, EMPTY, IN_BYTES, Kind, Output, Record, fields};
pub use session::Session;
