//! What parsers are told beforehand.

use lookaside_simd::Cpu;
use lookaside_spec::xml::{Limits, Xml};

use crate::kernel::Isa;

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

    /// As a specification says.
    pub fn of(spec: &Xml, cpu: &Cpu) -> Session {
        let Xml { namespaces, encoding, limits } = spec;
        let session = Session::new(cpu).namespaces(*namespaces).limits(*limits);
        match encoding {
            Some(name) => session.encoding(name),
            None => session,
        }
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
