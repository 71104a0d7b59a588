//! Literals by simple types: String Valid (Structures, 3.14.4; Datatypes, 4.1.4 and 4.3).

use std::borrow::Cow;
use std::cmp::Ordering;

use super::components::*;
use super::error::Rule;
use super::value::decimal::DecimalRef;
use super::value::{Prefixes, Primitive, Value, is_integer, is_ncname};
use crate::chars;

/// Why a literal is not valid.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    pub(crate) message: String,
}

/// Who is told of IDs, references and names of entities.
pub(crate) type Roles<'a> = &'a mut dyn FnMut(Role, &[u8]);

/// Characters of a value in a message.
const SHOWN: usize = 60;

/// Values whose keys need no memory of their own.
const SHORT: usize = 64;

pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN) {
        None => format!("'{text}'"),
        Some((end, _)) => format!("'{}...'", &text[..end]),
    }
}

impl White {
    pub(crate) fn apply(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            White::Preserve => Cow::Borrowed(text),
            White::Replace if !text.iter().any(|byte| matches!(byte, b'\t' | b'\n' | b'\r')) => {
                Cow::Borrowed(text)
            }
            White::Replace => Cow::Owned(
                text.iter().map(|byte| if chars::is_space(*byte) { b' ' } else { *byte }).collect(),
            ),
            White::Collapse if !has_space(text) => Cow::Borrowed(text),
            White::Collapse => {
                let text = trim(text);
                let mut after_space = false;
                let collapsed = text.iter().all(|byte| {
                    let is_space = *byte == b' ';
                    let is_other = matches!(byte, b'\t' | b'\n' | b'\r') || is_space && after_space;
                    after_space = is_space;
                    !is_other
                });
                if collapsed {
                    return Cow::Borrowed(text);
                }
                let mut all = Vec::with_capacity(text.len());
                for word in words(text) {
                    if !all.is_empty() {
                        all.push(b' ');
                    }
                    all.extend(word);
                }
                Cow::Owned(all)
            }
        }
    }
}

/// Whether there is a space, or a control character.
#[inline]
pub(crate) fn has_space(text: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    // The highest bit of each byte below 0x21 is set by the difference; that of bytes above 127 does not count.
    let below = |word: u64| word.wrapping_sub(ONES * 0x21) & !word & ONES << 7 != 0;
    let (words, rest) = text.as_chunks::<8>();
    words.iter().any(|word| below(u64::from_le_bytes(*word))) || rest.iter().any(|it| *it < 0x21)
}

#[inline]
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text {
        if !chars::is_space(*first) {
            break;
        }
        text = rest;
    }
    while let [rest @ .., last] = text {
        if !chars::is_space(*last) {
            break;
        }
        text = rest;
    }
    text
}

pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| chars::is_space(*byte)).filter(|word| !word.is_empty())
}

impl Lexical {
    #[inline]
    fn accepts(self, text: &[u8]) -> bool {
        match self {
            Lexical::Any => true,
            Lexical::Integer => is_integer(text),
            Lexical::Nmtoken => chars::is_nmtoken(text),
            Lexical::Name => chars::is_name(text),
            Lexical::NcName => is_ncname(text),
            Lexical::Language => {
                // [a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*
                text.split(|byte| *byte == b'-').enumerate().all(|(n, part)| {
                    (1..=8).contains(&part.len())
                        && part
                            .iter()
                            .all(|it| it.is_ascii_alphabetic() || n > 0 && it.is_ascii_digit())
                })
            }
        }
    }
}

impl SimpleType {
    /// The text with white space as the type has it.
    #[inline]
    pub(crate) fn normal<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match (self.white, &self.variety) {
            (White::Preserve, _) => Cow::Borrowed(text),
            // No literal of other types has white space within: trimming suffices.
            (White::Collapse, Variety::Atomic(it))
                if !matches!(
                    it,
                    Primitive::String | Primitive::AnyUri | Primitive::Base64Binary
                ) =>
            {
                Cow::Borrowed(trim(text))
            }
            (white, _) => white.apply(text),
        }
    }

    /// Whether a literal is one of the primitive type, and facets that compare with bounds and count digits. `None`: no literal.
    #[inline]
    fn check_order(
        &self,
        primitive: Primitive,
        text: &[u8],
        prefixes: &dyn Prefixes,
    ) -> Option<Result<(), Fault>> {
        if primitive == Primitive::Decimal {
            let value = DecimalRef::parse(text)?;
            if self.lexical == Lexical::Integer && !is_integer(text) {
                return None;
            }
            let order = |bound: &Bound| match &bound.value {
                Value::Decimal(it) => Some(value.compare(&it.as_ref())),
                _ => None,
            };
            return Some(
                self.check_bounds(text, order).and_then(|()| self.check_digits(text, &value)),
            );
        }
        if !primitive.accepts(text, prefixes) {
            return None;
        }
        if self.min.is_none() && self.max.is_none() {
            return Some(Ok(()));
        }
        Some(self.check_bounds(text, |bound| primitive.compare(text, &bound.value)))
    }

    #[inline]
    fn check_bounds(
        &self,
        text: &[u8],
        order: impl Fn(&Bound) -> Option<Ordering>,
    ) -> Result<(), Fault> {
        let fault = |rule, bound: &str| {
            Err(Fault { rule, message: format!("{} where the bound is {bound}", shown(text)) })
        };
        if let Some(bound) = &self.min {
            match (order(bound), bound.inclusive) {
                (Some(Ordering::Greater), _) | (Some(Ordering::Equal), true) => {}
                (_, true) => return fault(Rule::CvcMinInclusiveValid, &bound.text),
                (_, false) => return fault(Rule::CvcMinExclusiveValid, &bound.text),
            }
        }
        if let Some(bound) = &self.max {
            match (order(bound), bound.inclusive) {
                (Some(Ordering::Less), _) | (Some(Ordering::Equal), true) => {}
                (_, true) => return fault(Rule::CvcMaxInclusiveValid, &bound.text),
                (_, false) => return fault(Rule::CvcMaxExclusiveValid, &bound.text),
            }
        }
        Ok(())
    }

    #[inline]
    fn check_digits(&self, text: &[u8], value: &DecimalRef<'_>) -> Result<(), Fault> {
        let fault = |rule, limit: u32| {
            Err(Fault {
                rule,
                message: format!("{} where {limit} digits are the limit", shown(text)),
            })
        };
        let fraction = value.fraction.len();
        // i / 10^n with n no more than the limit: 0.01 counts two digits (4.3.11).
        let total = value.whole.len() + fraction;
        match (self.total_digits, self.fraction_digits) {
            (Some(limit), _) if total > limit as usize => fault(Rule::CvcTotalDigitsValid, limit),
            (_, Some(limit)) if fraction > limit as usize => {
                fault(Rule::CvcFractionDigitsValid, limit)
            }
            _ => Ok(()),
        }
    }

    fn check_length(&self, length: u64) -> Result<(), Fault> {
        let fault = |rule, limit: u64| {
            Err(Fault { rule, message: format!("a length of {length} where {limit} is the limit") })
        };
        match (self.length, self.min_length, self.max_length) {
            (Some(limit), _, _) if length != limit => fault(Rule::CvcLengthValid, limit),
            (_, Some(limit), _) if length < limit => fault(Rule::CvcMinLengthValid, limit),
            (_, _, Some(limit)) if length > limit => fault(Rule::CvcMaxLengthValid, limit),
            _ => Ok(()),
        }
    }

    fn has_length(&self) -> bool {
        self.length.is_some() || self.min_length.is_some() || self.max_length.is_some()
    }

    fn check_patterns(&self, text: &[u8]) -> Result<(), Fault> {
        match self.patterns.iter().find(|pattern| !pattern.matches(text)) {
            None => Ok(()),
            Some(pattern) => Err(Fault {
                rule: Rule::CvcPatternValid,
                message: format!("{} does not match {}", shown(text), pattern.text),
            }),
        }
    }
}

impl Components {
    pub(crate) fn simple(&self, type_: TypeId) -> &SimpleType {
        match &self.types[type_ as usize].definition {
            Definition::Simple(it) => it,
            // The compiler refers to simple types only where these functions are called.
            Definition::Complex(_) => unreachable!("a complex type where a simple one was checked"),
        }
    }

    /// Whether `text` is valid by the simple type.
    #[inline(always)]
    pub(crate) fn check(
        &self,
        type_: TypeId,
        text: &[u8],
        prefixes: &dyn Prefixes,
        roles: Roles<'_>,
    ) -> Result<(), Fault> {
        let simple = self.simple(type_);
        match simple.fast.accepts(simple, text) {
            true => Ok(()),
            false => self.check_whole(type_, text, prefixes, roles),
        }
    }

    /// The same, however likely the text is.
    #[inline(never)]
    pub(crate) fn check_whole(
        &self,
        type_: TypeId,
        text: &[u8],
        prefixes: &dyn Prefixes,
        roles: Roles<'_>,
    ) -> Result<(), Fault> {
        let simple = self.simple(type_);
        if let Variety::Atomic(primitive) = simple.variety {
            let normal = simple.normal(text);
            if simple.is_plain && primitive == Primitive::String && simple.lexical == Lexical::Any {
                return Ok(());
            }
            let is_literal = primitive != Primitive::String || simple.lexical.accepts(&normal);
            let order =
                is_literal.then(|| simple.check_order(primitive, &normal, prefixes)).flatten();
            let Some(order) = order else {
                let message =
                    format!("{} is no literal of {}", shown(&normal), self.type_name(type_));
                return Err(Fault { rule: Rule::CvcDatatypeValid121, message });
            };
            if simple.is_plain {
                return order;
            }
            simple.check_patterns(&normal)?;
            if simple.has_length() && !matches!(primitive, Primitive::QName | Primitive::Notation) {
                simple.check_length(primitive.length(&normal))?;
            }
            order?;
            self.check_enumeration(type_, &normal, prefixes)?;
            if simple.role != Role::None {
                roles(simple.role, &normal);
            }
            return Ok(());
        }
        self.check_composed(type_, text, prefixes, roles)
    }

    fn check_composed(
        &self,
        type_: TypeId,
        text: &[u8],
        prefixes: &dyn Prefixes,
        roles: Roles<'_>,
    ) -> Result<(), Fault> {
        let simple = self.simple(type_);
        match &simple.variety {
            Variety::Atomic(_) => {}
            Variety::List(item) => {
                let normal = White::Collapse.apply(text);
                let mut count = 0;
                for word in words(&normal) {
                    count += 1;
                    if let Err(fault) = self.check(*item, word, prefixes, roles) {
                        let rule = Rule::CvcDatatypeValid122;
                        return Err(Fault {
                            rule,
                            message: format!("item {count}: {}", fault.message),
                        });
                    }
                }
                simple.check_patterns(&normal)?;
                simple.check_length(count)?;
                self.check_enumeration(type_, &normal, prefixes)?;
            }
            Variety::Union(members) => {
                let mut told: Vec<(Role, Vec<u8>)> = Vec::new();
                let member = members.iter().find(|member| {
                    told.clear();
                    let mut tell = |role, text: &[u8]| told.push((role, text.to_vec()));
                    self.check(**member, text, prefixes, &mut tell).is_ok()
                });
                let Some(member) = member else {
                    let message =
                        format!("{} is no literal of {}", shown(text), self.type_name(type_));
                    return Err(Fault { rule: Rule::CvcDatatypeValid123, message });
                };
                let normal = self.simple(*member).normal(text);
                simple.check_patterns(&normal)?;
                self.check_enumeration(type_, &normal, prefixes)?;
                for (role, text) in told {
                    roles(role, &text);
                }
            }
        }
        Ok(())
    }

    fn check_enumeration(
        &self,
        type_: TypeId,
        text: &[u8],
        prefixes: &dyn Prefixes,
    ) -> Result<(), Fault> {
        let simple = self.simple(type_);
        let Some(all) = &simple.enumeration else { return Ok(()) };
        let is_member = match simple.variety {
            Variety::Atomic(primitive) if primitive.is_text() && text.len() < SHORT => {
                let mut key = [0; SHORT];
                key[0] = primitive.tag();
                key[1..=text.len()].copy_from_slice(text);
                all.contains(&key[..=text.len()])
            }
            _ => {
                let mut key = Vec::with_capacity(64);
                self.key(type_, text, prefixes, &mut key);
                all.contains(&*key)
            }
        };
        match is_member {
            true => Ok(()),
            false => Err(Fault {
                rule: Rule::CvcEnumerationValid,
                message: format!(
                    "{} is none of the values of {}",
                    shown(text),
                    self.type_name(type_)
                ),
            }),
        }
    }

    /// Appends the key of a valid value: equal for equal values only, whatever their types.
    #[inline]
    pub(crate) fn key(
        &self,
        type_: TypeId,
        text: &[u8],
        prefixes: &dyn Prefixes,
        key: &mut Vec<u8>,
    ) {
        match self.simple(type_).variety {
            Variety::Atomic(primitive) if primitive.is_text() && !has_space(text) => {
                key.push(primitive.tag());
                key.extend_from_slice(text);
            }
            _ => self.key_of(type_, text, prefixes, key),
        }
    }

    fn key_of(&self, type_: TypeId, text: &[u8], prefixes: &dyn Prefixes, key: &mut Vec<u8>) {
        const LIST_TAG: u8 = 0xff;
        let simple = self.simple(type_);
        match &simple.variety {
            Variety::Atomic(primitive) => primitive.key(&simple.normal(text), prefixes, key),
            Variety::List(item) => {
                key.push(LIST_TAG);
                for word in words(text) {
                    let from = key.len();
                    key.extend([0; 4]);
                    self.key(*item, word, prefixes, key);
                    let len = (key.len() - from - 4) as u32;
                    key[from..from + 4].copy_from_slice(&len.to_be_bytes());
                }
            }
            Variety::Union(members) => {
                let valid =
                    |member: &&TypeId| self.check(**member, text, prefixes, &mut |_, _| {}).is_ok();
                if let Some(member) = members.iter().find(valid) {
                    self.key(*member, text, prefixes, key);
                }
            }
        }
    }

    /// For messages.
    pub(crate) fn type_name(&self, type_: TypeId) -> String {
        let one = &self.types[type_ as usize];
        match one.symbol {
            super::names::NONE if type_ != one.base => {
                format!("a type derived from {}", self.type_name(one.base))
            }
            symbol => self.names.display(symbol),
        }
    }
}
