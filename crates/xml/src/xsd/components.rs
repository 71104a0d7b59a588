//! The components of a compiled schema (Structures, chapter 3), by their numbers.

use std::collections::HashSet;

use super::automaton::Automaton;
use super::fast::Fast;
use super::identity::Constraint;
use super::names::{Names, SymbolMap};
use super::value::regex::Pattern;
use super::value::{Primitive, Value};
use crate::hash::Seeded;

pub(crate) type TypeId = u32;

/// The ur-type, the simple ur-type.
pub(crate) const ANY_TYPE: TypeId = 0;
pub(crate) const ANY_SIMPLE_TYPE: TypeId = 1;

/// Ways of derivation, as bits: of `final`, `block`, and of what a type did.
pub(crate) const EXTENSION: u8 = 1;
pub(crate) const RESTRICTION: u8 = 2;
pub(crate) const SUBSTITUTION: u8 = 4;
pub(crate) const LIST: u8 = 8;
pub(crate) const UNION: u8 = 16;

#[derive(Debug)]
pub(crate) struct Components {
    pub(crate) names: Names,
    pub(crate) types: Vec<Type>,
    pub(crate) elements: Vec<Element>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) wildcards: Vec<Wildcard>,
    pub(crate) models: Vec<Automaton>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) global_elements: SymbolMap,
    pub(crate) global_attributes: SymbolMap,
    pub(crate) global_types: SymbolMap,
    pub(crate) notations: HashSet<u32>,
}

#[derive(Debug)]
pub(crate) struct Type {
    /// [`NONE`](super::names::NONE) for an anonymous type.
    pub(crate) symbol: u32,
    pub(crate) base: TypeId,
    /// How it was derived from its base.
    pub(crate) method: u8,
    pub(crate) final_: u8,
    pub(crate) definition: Definition,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is what values are checked by")]
pub(crate) enum Definition {
    Simple(SimpleType),
    Complex(ComplexType),
}

impl Type {
    pub(crate) fn simple(&self) -> Option<&SimpleType> {
        match &self.definition {
            Definition::Simple(it) => Some(it),
            Definition::Complex(_) => None,
        }
    }

    pub(crate) fn complex(&self) -> Option<&ComplexType> {
        match &self.definition {
            Definition::Simple(_) => None,
            Definition::Complex(it) => Some(it),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum White {
    Preserve,
    Replace,
    Collapse,
}

/// What the derived built-in types add to literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lexical {
    Any,
    Integer,
    Language,
    Nmtoken,
    Name,
    NcName,
}

/// What a value means to the whole document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    None,
    Id,
    IdRef,
    Entity,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variety {
    Atomic(Primitive),
    List(TypeId),
    Union(Vec<TypeId>),
}

#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) value: Value,
    pub(crate) inclusive: bool,
    /// As it was written.
    pub(crate) text: Box<str>,
}

/// A simple type with the facets of all its derivation steps.
#[derive(Clone, Debug)]
pub(crate) struct SimpleType {
    pub(crate) variety: Variety,
    pub(crate) white: White,
    pub(crate) lexical: Lexical,
    pub(crate) role: Role,
    /// Every one must match.
    pub(crate) patterns: Vec<Pattern>,
    /// Keys of the values.
    pub(crate) enumeration: Option<HashSet<Box<[u8]>, Seeded>>,
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    pub(crate) total_digits: Option<u32>,
    pub(crate) fraction_digits: Option<u32>,
    pub(crate) length: Option<u64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    /// Facets that no derivation may change, as bits of the compiler's.
    pub(crate) fixed: u16,
    /// Whether values are to be looked at beyond literals and bounds; computed when all facets are known.
    pub(crate) is_plain: bool,
    /// What most texts are like; computed then, too.
    pub(crate) fast: Fast,
}

impl SimpleType {
    pub(crate) fn new(variety: Variety, white: White) -> SimpleType {
        SimpleType {
            variety,
            white,
            lexical: Lexical::Any,
            role: Role::None,
            patterns: Vec::new(),
            enumeration: None,
            min: None,
            max: None,
            total_digits: None,
            fraction_digits: None,
            length: None,
            min_length: None,
            max_length: None,
            fixed: 0,
            is_plain: true,
            fast: Fast::None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Empty,
    Simple(TypeId),
    /// The automaton, and whether characters are allowed.
    Elements(u32, bool),
}

#[derive(Debug)]
pub(crate) struct ComplexType {
    pub(crate) is_abstract: bool,
    pub(crate) block: u8,
    pub(crate) content: Content,
    pub(crate) uses: Vec<AttributeUse>,
    /// From symbols to `uses`.
    pub(crate) by_symbol: SymbolMap,
    /// Uses that an element may not leave out, or that have a default; those of the first 64 also as bits.
    pub(crate) expected: Vec<u32>,
    pub(crate) expected_bits: u64,
    pub(crate) any_attribute: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttributeUse {
    pub(crate) attribute: u32,
    pub(crate) is_required: bool,
    pub(crate) constraint: Option<ValueConstraint>,
}

/// A default or fixed value: its text, and the key of the value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueConstraint {
    pub(crate) is_fixed: bool,
    pub(crate) text: Box<str>,
    pub(crate) key: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) symbol: u32,
    pub(crate) type_: TypeId,
    pub(crate) constraint: Option<ValueConstraint>,
}

#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) symbol: u32,
    pub(crate) type_: TypeId,
    pub(crate) is_nillable: bool,
    pub(crate) is_abstract: bool,
    pub(crate) is_global: bool,
    pub(crate) block: u8,
    pub(crate) final_: u8,
    /// The head of its substitution group, or `NONE`.
    pub(crate) head: u32,
    pub(crate) constraint: Option<ValueConstraint>,
    pub(crate) identity: Vec<u32>,
}

/// The namespaces of a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces {
    Any,
    /// All but this one and no namespace.
    Not(u32),
    /// In order.
    Of(Vec<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Process {
    Skip,
    Lax,
    Strict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcard {
    pub(crate) namespaces: Namespaces,
    pub(crate) process: Process,
}

impl Namespaces {
    #[inline]
    pub(crate) fn allow(&self, namespace: u32) -> bool {
        match self {
            Namespaces::Any => true,
            Namespaces::Not(not) => namespace != *not && namespace != super::names::ABSENT,
            Namespaces::Of(all) => all.contains(&namespace),
        }
    }

    /// Whether all that this one allows the other allows (Structures, 3.10.6).
    pub(crate) fn is_subset(&self, other: &Namespaces) -> bool {
        match (self, other) {
            (_, Namespaces::Any) => true,
            (Namespaces::Not(a), Namespaces::Not(b)) => a == b,
            (Namespaces::Of(all), other) => all.iter().all(|it| other.allow(*it)),
            _ => false,
        }
    }

    /// Whether a namespace is allowed by both.
    pub(crate) fn overlaps(&self, other: &Namespaces) -> bool {
        match (self, other) {
            (Namespaces::Of(all), other) | (other, Namespaces::Of(all)) => {
                all.iter().any(|it| other.allow(*it))
            }
            _ => true,
        }
    }

    /// What both allow; `None`: not expressible.
    pub(crate) fn intersection(&self, other: &Namespaces) -> Option<Namespaces> {
        use Namespaces::*;
        Some(match (self, other) {
            (Any, it) | (it, Any) => it.clone(),
            (Of(all), it) | (it, Of(all)) => {
                Of(all.iter().copied().filter(|one| it.allow(*one)).collect())
            }
            (Not(a), Not(b)) if a == b => Not(*a),
            // Not(ABSENT) is "not no namespace".
            (Not(a), Not(b)) if *a == super::names::ABSENT => Not(*b),
            (Not(a), Not(b)) if *b == super::names::ABSENT => Not(*a),
            _ => return None,
        })
    }

    /// What either allows; `None`: not expressible (3.10.6, Attribute Wildcard Union).
    pub(crate) fn union(&self, other: &Namespaces) -> Option<Namespaces> {
        use Namespaces::*;
        let absent = super::names::ABSENT;
        Some(match (self, other) {
            (Any, _) | (_, Any) => Any,
            (Of(a), Of(b)) => {
                let mut all = [a.as_slice(), b].concat();
                all.sort_unstable();
                all.dedup();
                Of(all)
            }
            (Not(a), Not(b)) if a == b => Not(*a),
            (Not(_), Not(_)) => Not(absent),
            (Not(not), Of(all)) | (Of(all), Not(not)) => {
                match (all.contains(not), all.contains(&absent)) {
                    (true, true) => Any,
                    (true, false) => Not(absent),
                    (false, true) if *not == absent => Any,
                    (false, true) => return None,
                    (false, false) => Not(*not),
                }
            }
        })
    }
}

impl Components {
    /// Type Derivation OK (3.4.6, 3.14.6): whether no step from `derived` to `base` is one of `excluded`.
    pub(crate) fn is_derived(&self, derived: TypeId, base: TypeId, excluded: u8) -> bool {
        let mut one = derived;
        loop {
            if one == base {
                return true;
            }
            let type_ = &self.types[one as usize];
            if type_.method & excluded != 0 {
                return false;
            }
            if one == ANY_TYPE {
                break;
            }
            one = type_.base;
        }
        // A type derived from a member stands for the union, if that has no facets of its own.
        match self.types[base as usize].simple() {
            Some(SimpleType {
                variety: Variety::Union(members),
                patterns,
                enumeration: None,
                ..
            }) if patterns.is_empty() => {
                members.iter().any(|member| self.is_derived(derived, *member, excluded))
            }
            _ => false,
        }
    }
}
