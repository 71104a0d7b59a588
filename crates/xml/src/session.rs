//! What parsers are told beforehand.

use lookaside_simd::Cpu;

use crate::kernel::Isa;

/// Beyond these a document is refused; the error names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open elements, and entities within entities.
    pub depth: u32,
    /// Attributes of one element, defaults included: at most 65,535.
    pub attributes: u32,
    /// Bytes of a name.
    pub name: u32,
    /// Bytes of all expansions of entities.
    pub expansion: u64,
    /// How many times more bytes than the document had so far may come from entities, ...
    pub amplification: u64,
    /// ... once there are so many of them.
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

/// Prepared parameters, which many parsers share.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) isa: Isa,
    pub(crate) limits: Limits,
    pub(crate) namespaces: bool,
    pub(crate) encoding: Option<String>,
}

impl Session {
    /// With namespaces and the usual limits.
    pub fn new(cpu: &Cpu) -> Session {
        let isa = Isa::new(cpu);
        Session { isa, limits: Limits::default(), namespaces: true, encoding: None }
    }

    /// With the instructions of another CPU.
    pub fn cpu(mut self, cpu: &Cpu) -> Session {
        self.isa = Isa::new(cpu);
        self
    }

    /// With other limits.
    pub fn limits(mut self, limits: Limits) -> Session {
        self.limits = Limits { attributes: limits.attributes.min(65_535), ..limits };
        self
    }

    /// Without namespaces colons are characters of names, and `xmlns` is an attribute.
    pub fn namespaces(mut self, on: bool) -> Session {
        self.namespaces = on;
        self
    }

    /// The encoding that the transport names, which goes before what the document says.
    pub fn encoding(mut self, name: &str) -> Session {
        self.encoding = Some(name.into());
        self
    }
}
