//! What parsers are told beforehand.

use lookaside_simd::Cpu;
use lookaside_spec::xml::{Limits, Resolver, Xml};

use crate::kernel::Isa;

/// Prepared parameters, which many parsers share.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) isa: Isa,
    pub(crate) spec: Xml,
}

impl Session {
    /// With namespaces and the usual limits.
    pub fn new(cpu: &Cpu) -> Session {
        Session::of(&Xml::default(), cpu)
    }

    /// As a specification says.
    pub fn of(spec: &Xml, cpu: &Cpu) -> Session {
        Session { isa: Isa::new(cpu), spec: spec.clone() }.limits(spec.limits)
    }

    /// With the instructions of another CPU.
    pub fn cpu(mut self, cpu: &Cpu) -> Session {
        self.isa = Isa::new(cpu);
        self
    }

    /// With other limits.
    pub fn limits(mut self, limits: Limits) -> Session {
        self.spec.limits = Limits { attributes: limits.attributes.min(65_535), ..limits };
        self
    }

    /// Without namespaces colons are characters of names, and `xmlns` is an attribute.
    pub fn namespaces(mut self, on: bool) -> Session {
        self.spec.namespaces = on;
        self
    }

    /// The encoding that the transport names, which goes before what the document says.
    pub fn encoding(mut self, name: &str) -> Session {
        self.spec.encoding = Some(name.into());
        self
    }

    /// With the external subset and external entities.
    pub fn resolver(mut self, resolver: Resolver) -> Session {
        self.spec.resolver = Some(resolver);
        self
    }
}
