//! Entities that lie outside of a document.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a document type declaration or an entity declaration refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct External<'a> {
    /// The public identifier, its white space normalised.
    pub public: Option<&'a str>,
    /// The system identifier: a URI as it was written, mostly relative.
    pub system: &'a str,
    /// The URI of the resource in which it was declared, as [`Resource::base`] told it; `None`: the document.
    pub base: Option<&'a str>,
}

/// The bytes of an external entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// All of them, in the encoding that they name.
    pub bytes: Arc<[u8]>,
    /// Its URI: the base of identifiers that are declared in it.
    pub base: Arc<str>,
}

/// Where the bytes of external entities come from.
///
/// ```
/// use lookaside_spec::xml::{External, Resolver, Resource, Xml};
///
/// let resolver = Resolver::new(|wanted: &External<'_>| {
///     let bytes: &[u8] = (wanted.system == "greetings.dtd").then_some(b"<!ENTITY hello 'Good day'>")?;
///     Some(Resource { bytes: bytes.into(), base: wanted.system.into() })
/// });
/// let spec = Xml { resolver: Some(resolver), ..Xml::default() };
/// ```
#[derive(Clone)]
pub struct Resolver(Arc<Function>);

type Function = dyn Fn(&External<'_>) -> Option<Resource> + Send + Sync;

impl Resolver {
    /// Asks `resolve` for each entity when a document first refers to it. `None`: it is not read, as if there were no
    /// resolver.
    ///
    /// It is called in the middle of the parse, on the thread that parses, an engine's too: it must not wait for answers
    /// of the runtime. What a document may ask for is for it to decide: a name from a hostile document may be any file's.
    pub fn new(
        resolve: impl Fn(&External<'_>) -> Option<Resource> + Send + Sync + 'static,
    ) -> Resolver {
        Resolver(Arc::new(resolve))
    }

    /// The entity, if it is to be read.
    pub fn resolve(&self, wanted: &External<'_>) -> Option<Resource> {
        (self.0)(wanted)
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver(..)")
    }
}

/// The same function, not one that answers alike.
impl PartialEq for Resolver {
    fn eq(&self, other: &Resolver) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Resolver {}

impl Hash for Resolver {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).cast::<()>().hash(state);
    }
}
