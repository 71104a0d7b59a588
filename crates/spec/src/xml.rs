//! XML: how documents are read, and the records that they become.

mod error;
mod record;
mod resolve;

use std::sync::Arc;

pub use error::{Error, Rule};
pub use record::{CDATA, DEFAULTED, EMPTY, Events, IN_BYTES, Kind, Record, fields};
pub use resolve::{External, Resolver, Resource};

/// How the documents of a session are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Xml {
    /// Whether names with colons have prefixes (Namespaces in XML 1.0). Without, colons are characters of names, and `xmlns`
    /// is an attribute.
    pub namespaces: bool,
    /// The encoding that the transport names, which goes before what a document says.
    pub encoding: Option<Arc<str>>,
    /// What is refused beyond them.
    pub limits: Limits,
    /// Where external entities and the external subset come from. Without, they are not read: a reference to one is a
    /// [`Kind::SkippedEntity`].
    pub resolver: Option<Resolver>,
}

impl Default for Xml {
    /// With namespaces and the usual limits.
    fn default() -> Xml {
        Xml { namespaces: true, encoding: None, limits: Limits::default(), resolver: None }
    }
}

/// A name as it was resolved: what [`Record::name`] of elements and attributes means. All are numbers of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The string of the qualified name as it was written.
    pub qname: u32,
    /// The string of the namespace's name; 0: none.
    pub uri: u32,
    /// The string of the prefix; 0: none.
    pub prefix: u32,
    /// The string of the local part.
    pub local: u32,
    /// The same for all names with this namespace and this local part; no string.
    pub expanded: u32,
}

/// Beyond these a document is refused; the error names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Open elements, and entities within entities.
    pub depth: u32,
    /// Attributes of one element, defaults included: at most 65,535.
    pub attributes: u32,
    /// Bytes of a name.
    pub name: u32,
    /// Bytes of all expansions of entities.
    pub expansion: u64,
    /// How many bytes may come from entities for each byte of the document so far; see `amplification_from`.
    pub amplification: u64,
    /// `amplification` is not asked for before entities have given so many bytes.
    pub amplification_from: u64,
    /// Bytes of an unfinished token, of names, of declarations, and of pending output, each.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth: 4096,
            attributes: 10_000,
            name: 50_000,
            expansion: 1 << 30,
            amplification: 100,
            amplification_from: 8 << 20,
            memory: 64 << 20,
        }
    }
}
