//! XML Schema 1.0 (second edition): documents validated while they arrive.
//!
//! A [`Schema`] is compiled once and shared. A [`Validator`] is told the elements and texts of a document, and collects what is not
//! valid: the rule's name in the standard, the path of the element or attribute, and its place. It continues behind an error. A
//! [`Stream`] is a parser with a validator behind it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lookaside_simd::Cpu;
//! use lookaside_xml::Session;
//! use lookaside_xml::xsd::{Rule, Schema, Stream};
//!
//! let schema = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
//!   <xs:element name="shop"><xs:complexType><xs:sequence>
//!     <xs:element name="item" maxOccurs="unbounded"><xs:complexType>
//!       <xs:attribute name="price" type="xs:decimal" use="required"/>
//!     </xs:complexType></xs:element>
//!   </xs:sequence></xs:complexType></xs:element>
//! </xs:schema>"#;
//! let schema = Arc::new(Schema::compile(schema, |_namespace, _location| None).unwrap());
//! let mut stream = Stream::new(&Session::new(Cpu::host()), &schema);
//! for (chunk, last) in [("<shop><item price='1.50'/><item pri", false), ("ce='two'/></shop>", true)] {
//!     stream.feed(chunk.as_bytes(), last).unwrap();
//! }
//! let error = &stream.errors()[0];
//! assert_eq!((error.rule, &*error.path), (Rule::CvcDatatypeValid121, "/shop/item[2]/@price"));
//! ```
//!
//! # How it works
//!
//! - `dom`, `compile`: schema documents become components; a schema that breaks a rule is refused with all its faults.
//! - `automaton`: a content model is a deterministic automaton, whose states are what may follow. Large bounds are counters.
//! - `value`, `simple`: literals are checked in place; bounds are compared without conversion; equal values have equal keys.
//! - `identity`, `tables`: paths of identity constraints are bits of a word; tables of keys live as long as their element.
//! - `validator`, `element`, `attributes`, `state`: names of the document become numbers of the schema once; an open element is a record of fixed size.
//!
//! # What is left out
//!
//! - `xsi:schemaLocation` is not followed: which schema a document must obey is not for the document to say.
//! - Defaults are not added to the document: the validator answers what is wrong, and has no output.
//! - Particle Valid (Restriction), 3.9.6, is decided on automata, as XML Schema 1.1 has it, in place of the table of 1.0, which
//!   refuses restrictions that allow nothing new. Contents with counters are not compared: whether a document is valid by its type
//!   does not depend on it.
//! - Years of more than 11 digits, durations of more than 2^60 seconds or 2^40 months, and fractions of seconds beyond 18 digits
//!   (which are not compared): minimal conformance asks for 4 and 3 digits.
//! - `\i` and `\c` in patterns, and names, are those of the fifth edition of XML 1.0, as the parser's.
//! - `xsi:schemaLocation` and `id` attributes of schema documents are not checked: nothing depends on their values.
//!
//! Limits: schema documents have at most 200 elements within each other, derivations 100, content models 20,000 particles, and a step
//! of an identity constraint is one of 64; [`SchemaRule`] has those of the compiler as `limit.*`, [`Limits`] those of documents.

mod attributes;
mod automaton;
mod compile;
mod components;
mod dom;
mod element;
mod error;
mod fast;
mod identity;
mod keys;
mod names;
mod plan;
mod simple;
mod state;
mod stream;
mod tables;
mod validator;
mod value;

use std::fmt;

use components::Components;
pub use error::{Invalid, Rule, SchemaError, SchemaRule};
pub use stream::Stream;
pub use validator::{Limits, QNames, Validator};

/// A compiled schema, which many validators share.
pub struct Schema {
    components: Components,
}

impl Schema {
    /// Compiles a schema from its root document. `resolver` is asked for those that it includes, redefines and imports: with their
    /// target namespace (empty: none) and location, relative to that of the root; `None` is an error, but for an import, whose
    /// components then are missing. The error has all faults that were found.
    pub fn compile(
        root: &[u8],
        mut resolver: impl FnMut(&str, &str) -> Option<Vec<u8>>,
    ) -> Result<Schema, Vec<SchemaError>> {
        compile::compile(root, &mut resolver).map(|components| Schema { components })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.components;
        write!(f, "Schema {{ types: {}, elements: {} }}", c.types.len(), c.elements.len())
    }
}
