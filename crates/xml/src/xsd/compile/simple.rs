//! Simple type definitions and their facets (Structures, 3.14; Datatypes, 4.3).

use std::cmp::Ordering;
use std::collections::HashSet;

use super::super::components::*;
use super::super::error::SchemaRule;
use super::super::fast::Fast;
use super::super::names::NONE;
use super::super::value::regex::{Pattern, PatternError};
use super::super::value::{Primitive, is_integer};
use super::{Compiler, Source, grammar};
use crate::hash::Seeded;

const FIXED_LENGTH: u16 = 1;
const FIXED_MIN_LENGTH: u16 = 2;
const FIXED_MAX_LENGTH: u16 = 4;
const FIXED_WHITE: u16 = 8;
const FIXED_MIN: u16 = 16;
const FIXED_MAX: u16 = 32;
const FIXED_TOTAL_DIGITS: u16 = 64;
pub(super) const FIXED_FRACTION_DIGITS: u16 = 128;

/// What follows from all facets.
pub(super) fn complete(simple: &mut SimpleType) {
    simple.is_plain = simple.patterns.is_empty()
        && simple.enumeration.is_none()
        && simple.length.is_none()
        && simple.min_length.is_none()
        && simple.max_length.is_none()
        && simple.role == Role::None;
    simple.fast = Fast::of(simple);
}

/// Whether a type of this variety has the facet (4.1.5).
fn applies(facet: &str, variety: &Variety) -> bool {
    match (facet, variety) {
        ("pattern", _) => true,
        ("enumeration", Variety::Atomic(primitive)) => *primitive != Primitive::Boolean,
        ("enumeration", _) => true,
        ("whiteSpace", variety) => !matches!(variety, Variety::Union(_)),
        ("length" | "minLength" | "maxLength", Variety::Atomic(primitive)) => {
            primitive.has_length()
        }
        ("length" | "minLength" | "maxLength", variety) => matches!(variety, Variety::List(_)),
        ("totalDigits" | "fractionDigits", variety) => {
            *variety == Variety::Atomic(Primitive::Decimal)
        }
        (_, Variety::Atomic(primitive)) => primitive.is_ordered(),
        _ => false,
    }
}

impl Compiler {
    pub(super) fn simple_type(&mut self, id: TypeId, source: Source) {
        let default = self.documents[source.document].final_;
        let final_ = self.derivations(source, "final", RESTRICTION | LIST | UNION);
        let Some(child) = self.children(source).first().copied() else { return };
        let (base, method, simple) = match &*self.local(child) {
            "restriction" => match self.restriction(child) {
                Some((base, simple)) => (base, RESTRICTION, simple),
                None => return,
            },
            "list" => match self.list(child) {
                Some(item) => {
                    let mut list = SimpleType::new(Variety::List(item), White::Collapse);
                    list.fast = Fast::of_list(&list, self.c.simple(item));
                    (ANY_SIMPLE_TYPE, LIST, list)
                }
                None => return,
            },
            "union" => {
                let members = self.union(child);
                (ANY_SIMPLE_TYPE, UNION, SimpleType::new(Variety::Union(members), White::Collapse))
            }
            _ => return,
        };
        let one = &mut self.c.types[id as usize];
        one.base = base;
        one.method = method;
        one.final_ = final_.unwrap_or(default);
        one.definition = Definition::Simple(simple);
    }

    /// The type that the attribute or the only `simpleType` child names, compiled.
    fn simple_reference(
        &mut self,
        source: Source,
        attribute: &str,
        rule: SchemaRule,
    ) -> Option<TypeId> {
        let named = self.node(source).attribute(attribute).map(str::to_owned);
        let child = self.child(source, "simpleType");
        let id = match (named, child) {
            (Some(named), None) => self.find_type(source, &named)?,
            (None, Some(child)) => self.new_type(NONE, child),
            _ => {
                self.report(source, rule, format!("either {attribute} or a simpleType"));
                return None;
            }
        };
        self.ensure(id);
        if self.c.types[id as usize].simple().is_none() {
            let message = format!("{} is no simple type", self.c.type_name(id));
            self.report(source, SchemaRule::SrcSimpleType, message);
            return None;
        }
        Some(id)
    }

    fn restriction(&mut self, source: Source) -> Option<(TypeId, SimpleType)> {
        let base = self.simple_reference(source, "base", SchemaRule::SrcSimpleType2)?;
        if base == ANY_SIMPLE_TYPE {
            let message = "anySimpleType cannot be restricted".to_owned();
            self.report(source, SchemaRule::CosStRestricts1, message);
            return None;
        }
        if self.c.types[base as usize].final_ & RESTRICTION != 0 {
            let message = format!("{} is final", self.c.type_name(base));
            self.report(source, SchemaRule::StPropsCorrect3, message);
        }
        Some((base, self.facets(source, base)))
    }

    fn list(&mut self, source: Source) -> Option<TypeId> {
        let item = self.simple_reference(source, "itemType", SchemaRule::SrcSimpleType3)?;
        self.check_final(source, item, LIST);
        let has_list = match &self.c.simple(item).variety {
            Variety::Atomic(_) => false,
            Variety::List(_) => true,
            Variety::Union(members) => self.flat_has_list(&members.clone()),
        };
        if has_list {
            self.report(source, SchemaRule::CosStRestricts21, "a list of lists".to_owned());
            return None;
        }
        Some(item)
    }

    fn flat_has_list(&self, members: &[TypeId]) -> bool {
        members.iter().any(|it| match &self.c.simple(*it).variety {
            Variety::Atomic(_) => false,
            Variety::List(_) => true,
            Variety::Union(more) => self.flat_has_list(more),
        })
    }

    fn check_final(&mut self, source: Source, one: TypeId, method: u8) {
        if self.c.types[one as usize].final_ & method != 0 {
            let message = format!("{} is final", self.c.type_name(one));
            self.report(source, SchemaRule::CosStRestricts23, message);
        }
    }

    fn union(&mut self, source: Source) -> Vec<TypeId> {
        let mut members = Vec::new();
        let named = self.node(source).attribute("memberTypes").unwrap_or("").to_owned();
        for word in named.split_ascii_whitespace() {
            members.extend(self.find_type(source, word));
        }
        for child in self.children(source) {
            members.push(self.new_type(NONE, child));
        }
        if members.is_empty() && self.errors.is_empty() {
            self.report(source, SchemaRule::SrcSimpleType4, "a union without members".to_owned());
        }
        for member in &members {
            self.ensure(*member);
            self.check_final(source, *member, UNION);
        }
        let total = members.len();
        members.retain(|it| self.c.types[*it as usize].simple().is_some());
        if members.len() < total {
            self.report(
                source,
                SchemaRule::SrcSimpleType,
                "a member that is no simple type".to_owned(),
            );
        }
        members
    }

    /// A simple type as it is after the facets of a `restriction`.
    pub(super) fn facets(&mut self, source: Source, base: TypeId) -> SimpleType {
        let parent = self.c.simple(base).clone();
        let mut simple = parent.clone();
        let (mut patterns, mut values) = (Vec::new(), None::<HashSet<Box<[u8]>, Seeded>>);
        let mut seen: Vec<String> = Vec::new();
        for facet in self.children(source) {
            let name = self.local(facet);
            if !grammar::is_facet(&name) {
                continue;
            }
            let is_multiple = matches!(&*name, "pattern" | "enumeration");
            if !is_multiple && seen.contains(&name) {
                self.report(
                    facet,
                    SchemaRule::SrcMultipleEnumerations,
                    format!("{name} appears twice"),
                );
            }
            seen.push(name.clone());
            if !applies(&name, &simple.variety) {
                let message = format!("{} has no facet {name}", self.c.type_name(base));
                self.report(facet, SchemaRule::CosApplicableFacets, message);
                continue;
            }
            let is_fixed = self.boolean(facet, "fixed").unwrap_or(false);
            let Some(value) = self.node(facet).raw_attribute("value").map(str::to_owned) else {
                continue;
            };
            match &*name {
                "pattern" => patterns.push(value),
                "enumeration" => {
                    let key = self.facet_value(facet, base, &value);
                    values.get_or_insert_default().extend(key);
                }
                _ => self.facet(facet, &name, value.trim(), is_fixed, base, &parent, &mut simple),
            }
        }
        if !patterns.is_empty() {
            match Pattern::compile(&patterns) {
                Ok(pattern) => simple.patterns.push(pattern),
                Err(PatternError::TooLarge) => {
                    self.report(source, SchemaRule::LimitPattern, patterns.join("|"));
                }
                Err(PatternError::Syntax(text)) => {
                    let message = format!("{}: {text}", patterns.join("|"));
                    self.report(source, SchemaRule::PatternValue, message);
                }
            }
        }
        if values.is_some() {
            simple.enumeration = values;
        }
        self.consistent(source, &seen, &parent, &simple);
        complete(&mut simple);
        simple
    }

    /// The key of a value of the base type.
    fn facet_value(&mut self, facet: Source, base: TypeId, value: &str) -> Option<Box<[u8]>> {
        let scope = self.documents[facet.document].dom.scope(facet.node);
        let mut key = Vec::new();
        match self.c.check(base, value.as_bytes(), &scope, &mut |_, _| {}) {
            Ok(()) => {
                self.c.key(base, value.as_bytes(), &scope, &mut key);
                Some(key.into())
            }
            Err(fault) => {
                let message = format!("{}: {}", fault.rule.name(), fault.message);
                self.report(facet, SchemaRule::FacetValue, message);
                None
            }
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a facet of a derivation step, and the types before and after it"
    )]
    fn facet(
        &mut self,
        facet: Source,
        name: &str,
        text: &str,
        is_fixed: bool,
        base: TypeId,
        parent: &SimpleType,
        simple: &mut SimpleType,
    ) {
        let restrict = |compiler: &mut Compiler, text: String| {
            compiler.report(facet, SchemaRule::StRestrictFacets, text);
        };
        let number = || {
            is_integer(text.as_bytes())
                .then(|| text.trim_start_matches('+').parse::<u64>().ok())
                .flatten()
        };
        let bit = match name {
            "length" | "minLength" | "maxLength" | "totalDigits" | "fractionDigits" => {
                let Some(number) = number() else {
                    self.report(facet, SchemaRule::FacetValue, format!("{name} is {text}"));
                    return;
                };
                let narrow = u32::try_from(number).unwrap_or(u32::MAX);
                let (bit, before, is_restriction) = match name {
                    "length" => {
                        let before = simple.length.replace(number);
                        (FIXED_LENGTH, before, before.is_none_or(|it| it == number))
                    }
                    "minLength" => {
                        let before = simple.min_length.replace(number);
                        (FIXED_MIN_LENGTH, before, before.is_none_or(|it| it <= number))
                    }
                    "maxLength" => {
                        let before = simple.max_length.replace(number);
                        (FIXED_MAX_LENGTH, before, before.is_none_or(|it| it >= number))
                    }
                    "totalDigits" => {
                        if number == 0 {
                            self.report(
                                facet,
                                SchemaRule::FacetValue,
                                "totalDigits is 0".to_owned(),
                            );
                        }
                        let before = simple.total_digits.replace(narrow).map(u64::from);
                        (FIXED_TOTAL_DIGITS, before, before.is_none_or(|it| it >= number))
                    }
                    _ => {
                        let before = simple.fraction_digits.replace(narrow).map(u64::from);
                        (FIXED_FRACTION_DIGITS, before, before.is_none_or(|it| it >= number))
                    }
                };
                if !is_restriction || parent.fixed & bit != 0 && before != Some(number) {
                    restrict(self, format!("{name} {text} is no restriction"));
                }
                bit
            }
            "whiteSpace" => {
                let white = match text {
                    "preserve" => White::Preserve,
                    "replace" => White::Replace,
                    "collapse" => White::Collapse,
                    _ => {
                        self.report(facet, SchemaRule::FacetValue, format!("{name} is {text}"));
                        return;
                    }
                };
                let is_fixed_before = parent.fixed & FIXED_WHITE != 0 && white != parent.white;
                if (white as u8) < parent.white as u8 || is_fixed_before {
                    restrict(self, format!("whiteSpace {text} is no restriction"));
                }
                simple.white = white;
                FIXED_WHITE
            }
            _ => {
                let is_min = name.starts_with("min");
                let inclusive = name.ends_with("Inclusive");
                let Variety::Atomic(primitive) = simple.variety else { return };
                let is_literal = simple.lexical != Lexical::Integer || is_integer(text.as_bytes());
                let Some(value) = primitive.value(text.as_bytes()).filter(|_| is_literal) else {
                    let message =
                        format!("{name} is {text}, no literal of {}", self.c.type_name(base));
                    self.report(facet, SchemaRule::FacetValue, message);
                    return;
                };
                let bound = Bound { value, inclusive, text: text.into() };
                let order = |other: &Option<Bound>| {
                    other
                        .as_ref()
                        .map(|it| (primitive.compare(text.as_bytes(), &it.value), it.inclusive))
                };
                let too_small = |order: Option<(Option<Ordering>, bool)>| match order {
                    Some((Some(Ordering::Less), _)) => true,
                    Some((Some(Ordering::Equal), its)) => !its && inclusive,
                    _ => false,
                };
                let too_large = |order: Option<(Option<Ordering>, bool)>| match order {
                    Some((Some(Ordering::Greater), _)) => true,
                    Some((Some(Ordering::Equal), its)) => !its && inclusive,
                    _ => false,
                };
                if too_small(order(&parent.min)) || too_large(order(&parent.max)) {
                    restrict(self, format!("{name} {text} is no restriction"));
                }
                let bit = if is_min { FIXED_MIN } else { FIXED_MAX };
                let place = if is_min { &mut simple.min } else { &mut simple.max };
                let before = if is_min { &parent.min } else { &parent.max };
                let same = before
                    .as_ref()
                    .is_some_and(|it| it.value == bound.value && it.inclusive == inclusive);
                *place = Some(bound);
                if parent.fixed & bit != 0 && !same {
                    restrict(self, format!("{name} is fixed in the base type"));
                }
                bit
            }
        };
        if is_fixed {
            simple.fixed |= bit;
        }
    }

    /// Facets beside each other.
    fn consistent(
        &mut self,
        source: Source,
        seen: &[String],
        parent: &SimpleType,
        simple: &SimpleType,
    ) {
        let has = |name: &str| seen.iter().any(|it| it == name);
        let mut wrong =
            |text: &str| self.report(source, SchemaRule::StRestrictFacets, text.to_owned());
        if has("minInclusive") && has("minExclusive") || has("maxInclusive") && has("maxExclusive")
        {
            wrong("an inclusive and an exclusive bound");
        }
        if let (Some(min), Some(max), Variety::Atomic(primitive)) =
            (&simple.min, &simple.max, &simple.variety)
        {
            let is_new = seen.iter().any(|it| it.ends_with("clusive"));
            match primitive.compare(min.text.as_bytes(), &max.value) {
                Some(Ordering::Greater) if is_new => {
                    wrong("the lower bound is above the upper one")
                }
                Some(Ordering::Equal) if is_new && min.inclusive != max.inclusive => {
                    wrong("bounds that exclude all")
                }
                _ => {}
            }
        }
        if simple.fraction_digits.zip(simple.total_digits).is_some_and(|it| it.0 > it.1) {
            wrong("fractionDigits is greater than totalDigits");
        }
        if simple.min_length.zip(simple.max_length).is_some_and(|it| it.0 > it.1) {
            wrong("minLength is greater than maxLength");
        }
        if let Some(length) = simple.length {
            let outside = simple.min_length.is_some_and(|it| it > length)
                || simple.max_length.is_some_and(|it| it < length);
            let beside = has("length") && (has("minLength") || has("maxLength"))
                || parent.length.is_none() && has("length") && outside
                || parent.length.is_some() && outside;
            if beside {
                let text = "length beside minLength or maxLength".to_owned();
                self.report(source, SchemaRule::LengthMinLengthMaxLength, text);
            }
        }
    }
}
