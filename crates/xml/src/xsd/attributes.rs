//! Attributes: Attribute Locally Valid, and those of schema instances (Structures, 3.2.4, 3.4.4).

use super::components::*;
use super::error::Rule;
use super::names::NONE;
use super::simple::{Fault, shown, trim};
use super::state::*;
use super::value::qname;

impl State {
    /// `xsi:type` and `xsi:nil`. Returns the value of the latter.
    pub(super) fn instance<'a>(
        &mut self,
        c: &Components,
        assessed: &mut Assessed,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
    ) -> Option<bool> {
        let mut nil = None;
        for (name, value) in attributes {
            match self.names[name as usize].xsi {
                XSI_NIL => match trim(value) {
                    b"true" | b"1" => nil = Some(true),
                    b"false" | b"0" => nil = Some(false),
                    _ => self.at_attribute(
                        name,
                        Rule::CvcAttribute3,
                        format!("{} is no boolean", shown(value)),
                    ),
                },
                XSI_TYPE => {
                    let Some((uri, local)) = qname(trim(value), &self.bindings) else {
                        let text = format!("{} is no QName in scope", shown(value));
                        self.at_attribute(name, Rule::CvcElt41, text);
                        assessed.needs = None;
                        continue;
                    };
                    let text = |it| std::str::from_utf8(it).unwrap_or("");
                    let symbol = c.names.find(text(uri), text(local)).1;
                    let type_ = c.global_types.get(symbol);
                    if type_ == NONE {
                        self.at_attribute(
                            name,
                            Rule::CvcElt42,
                            format!("{} names no type", shown(value)),
                        );
                        continue;
                    }
                    assessed.needs = None;
                    let excluded = match c.elements.get(assessed.element as usize) {
                        None => 0,
                        Some(element) => {
                            let of_type =
                                c.types[element.type_ as usize].complex().map_or(0, |it| it.block);
                            (element.block | of_type) & (EXTENSION | RESTRICTION)
                        }
                    };
                    if !c.is_derived(type_, assessed.type_, excluded) {
                        let text = format!(
                            "{} is not derived from {}",
                            shown(value),
                            c.type_name(assessed.type_)
                        );
                        self.at_attribute(name, Rule::CvcElt43, text);
                        continue;
                    }
                    assessed.type_ = type_;
                }
                _ => {}
            }
        }
        nil
    }

    #[inline]
    pub(super) fn attributes<'a>(
        &mut self,
        c: &Components,
        complex: &ComplexType,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
        wants_fields: bool,
    ) {
        let is_long = complex.uses.len() > 64;
        if is_long {
            self.seen.clear();
            self.seen.resize(complex.uses.len(), false);
        }
        let mut seen = 0_u64;
        let mut wild_id = false;
        for (name, value) in attributes {
            let known = self.names[name as usize];
            if known.xsi != 0 {
                continue;
            }
            let index = complex.by_symbol.get(known.symbol);
            let (type_, constraint) = if index != NONE {
                let one = &complex.uses[index as usize];
                match is_long {
                    true => self.seen[index as usize] = true,
                    false => seen |= 1 << index,
                }
                (c.attributes[one.attribute as usize].type_, &one.constraint)
            } else {
                match self.wild_attribute(c, complex, name, known, &mut wild_id) {
                    Some(attribute) => (attribute.type_, &attribute.constraint),
                    None => continue,
                }
            };
            let State { bindings, roles, .. } = self;
            let mut tell = |role, text: &[u8]| roles.push((role, text.into()));
            let result = c.check(type_, value, bindings, &mut tell);
            if let Err(Fault { rule, message }) = result {
                self.at_attribute(name, rule, message);
                continue;
            }
            if let Some(fixed) = constraint.as_ref().filter(|it| it.is_fixed) {
                let mut key = Vec::new();
                c.key(type_, value, &self.bindings, &mut key);
                if *key != *fixed.key {
                    let text =
                        format!("{} where {} is fixed", shown(value), shown(fixed.text.as_bytes()));
                    self.at_attribute(name, Rule::CvcAu, text);
                }
            }
            if !self.roles.is_empty() {
                self.take_roles(Some(name));
            }
            if wants_fields {
                let bindings = &self.bindings;
                self.tables.attribute(c, known.symbol, known.namespace, &mut |key| {
                    c.key(type_, value, bindings, key);
                    true
                });
            }
        }
        if is_long || complex.expected_bits & !seen != 0 {
            self.missing(c, complex, seen, wants_fields);
        }
    }

    /// Attributes that are missing, or have their defaults.
    #[cold]
    pub(super) fn missing(
        &mut self,
        c: &Components,
        complex: &ComplexType,
        seen: u64,
        wants_fields: bool,
    ) {
        let is_long = complex.uses.len() > 64;
        for index in &complex.expected {
            if if is_long { self.seen[*index as usize] } else { seen >> index & 1 != 0 } {
                continue;
            }
            let one = &complex.uses[*index as usize];
            let attribute = &c.attributes[one.attribute as usize];
            match &one.constraint {
                _ if one.is_required => {
                    let text = format!("{} is missing", c.names.display(attribute.symbol));
                    self.report(Rule::CvcComplexType4, text);
                }
                Some(default) if wants_fields => {
                    let namespace = c.names.namespace_of(attribute.symbol);
                    self.tables.attribute(c, attribute.symbol, namespace, &mut |key| {
                        key.extend(&default.key);
                        true
                    });
                }
                _ => {}
            }
        }
    }

    /// The declaration of an attribute that only a wildcard allows.
    pub(super) fn wild_attribute<'c>(
        &mut self,
        c: &'c Components,
        complex: &ComplexType,
        name: u32,
        known: Known,
        wild_id: &mut bool,
    ) -> Option<&'c Attribute> {
        let Some(wildcard) = complex.any_attribute.map(|it| &c.wildcards[it as usize]) else {
            self.at_attribute(
                name,
                Rule::CvcComplexType321,
                "the type has no such attribute".to_owned(),
            );
            return None;
        };
        if !wildcard.namespaces.allow(known.namespace) {
            self.at_attribute(
                name,
                Rule::CvcComplexType322,
                "the wildcard does not allow it".to_owned(),
            );
            return None;
        }
        if wildcard.process == Process::Skip {
            return None;
        }
        let Some(attribute) = c.attributes.get(c.global_attributes.get(known.symbol) as usize)
        else {
            if wildcard.process == Process::Strict {
                self.at_attribute(name, Rule::CvcAssessAttr, "there is no declaration".to_owned());
            }
            return None;
        };
        if c.simple(attribute.type_).role == Role::Id {
            let has_id = |it: &AttributeUse| {
                c.simple(c.attributes[it.attribute as usize].type_).role == Role::Id
            };
            if std::mem::replace(wild_id, true) {
                self.at_attribute(
                    name,
                    Rule::CvcComplexType51,
                    "another attribute of type ID".to_owned(),
                );
            } else if complex.uses.iter().any(has_id) {
                self.at_attribute(
                    name,
                    Rule::CvcComplexType52,
                    "an attribute of type ID beside the type's".to_owned(),
                );
            }
        }
        Some(attribute)
    }

    /// IDs, references and entities of the value that was checked last.
    pub(super) fn take_roles(&mut self, attribute: Option<u32>) {
        for (role, text) in std::mem::take(&mut self.roles) {
            let mut fault = None;
            match role {
                Role::None => {}
                Role::Entity if self.entities.contains(&text) => {}
                Role::Entity => fault = Some((Rule::CvcSimpleType2, "names no unparsed entity")),
                Role::Id => {
                    self.role_memory += text.len() + 48;
                    self.references.remove(&text);
                    if !self.ids.insert(text.clone()) {
                        fault = Some((Rule::CvcId2, "is the ID of two elements"));
                    }
                }
                Role::IdRef => {
                    if !self.ids.contains(&text) && !self.references.contains_key(&text) {
                        let path = self.path(attribute);
                        self.role_memory += text.len() + path.len() + 96;
                        let offset = self.frames.last().map_or(0, |it| it.offset);
                        self.references.insert(text.clone(), (path, offset));
                    }
                }
            }
            if let Some((rule, message)) = fault {
                let message = format!("{} {message}", shown(&text));
                match attribute {
                    Some(name) => self.at_attribute(name, rule, message),
                    None => self.report(rule, message),
                }
            }
            if self.role_memory > self.limits.memory {
                self.beyond_memory();
                return;
            }
        }
    }
}
