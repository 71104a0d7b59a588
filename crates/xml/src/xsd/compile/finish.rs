//! What needs all components: values, substitution groups, automata.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::components::*;
use super::super::error::SchemaRule;
use super::super::names::{NONE, SymbolMap};
use super::super::value::Primitive;
use super::particle::{self, Substitutes};
use super::{AttributeInfo, Compiler, Kind, PreContent, Source};

impl Compiler {
    pub(super) fn finish(&mut self) {
        // What follows relies on references that resolved.
        if !self.errors.is_empty() {
            return;
        }
        self.types_of_heads();
        self.attribute_values();
        self.element_values();
        if !self.errors.is_empty() {
            return;
        }
        let substitutes = self.substitutes();
        self.models(&substitutes);
        self.attribute_tables();
        if !self.errors.is_empty() {
            return;
        }
        self.restrictions();
        self.identity_constraints();
        let globals = |kind: Kind| {
            let of_kind = self.globals.iter().filter(|it| it.0.0 == kind);
            let all: Vec<(u32, u32)> = of_kind
                .map(|((_, symbol), number)| (*symbol, self.declarations[*number as usize].id))
                .collect();
            all
        };
        let mut types = globals(Kind::Type);
        types.extend(self.builtins.iter().map(|(symbol, id)| (*symbol, *id)));
        let (elements, attributes) = (globals(Kind::Element), globals(Kind::Attribute));
        self.c.global_types = SymbolMap::new(&types);
        self.c.global_elements = SymbolMap::new(&elements);
        self.c.global_attributes = SymbolMap::new(&attributes);
    }

    /// Elements without a type of their own have that of their heads.
    fn types_of_heads(&mut self) {
        for id in 0..self.c.elements.len() {
            let mut head = self.c.elements[id].head;
            let mut steps = 0;
            while head != NONE {
                if steps > self.c.elements.len() {
                    let source = self.element_infos[id].source;
                    let text = "a substitution group contains itself".to_owned();
                    self.report(source, SchemaRule::EPropsCorrect6, text);
                    self.c.elements[id].head = NONE;
                    break;
                }
                if self.element_infos[id].has_type_of_head
                    && !self.element_infos[head as usize].has_type_of_head
                {
                    self.c.elements[id].type_ = self.c.elements[head as usize].type_;
                    break;
                }
                head = self.c.elements[head as usize].head;
                steps += 1;
            }
        }
    }

    /// The value constraint of a declaration, checked.
    fn constraint(
        &mut self,
        source: Source,
        type_: TypeId,
        value: &(bool, String),
        rules: (SchemaRule, SchemaRule),
    ) -> Option<ValueConstraint> {
        let (is_fixed, text) = value;
        if self.c.simple(type_).role == Role::Id {
            self.report(source, rules.1, "a value of type ID".to_owned());
        }
        let scope = self.documents[source.document].dom.scope(source.node);
        let mut key = Vec::new();
        if let Err(fault) = self.c.check(type_, text.as_bytes(), &scope, &mut |_, _| {}) {
            let message = format!("{}: {}", fault.rule.name(), fault.message);
            self.report(source, rules.0, message);
            return None;
        }
        self.c.key(type_, text.as_bytes(), &scope, &mut key);
        Some(ValueConstraint { is_fixed: *is_fixed, text: text.as_str().into(), key: key.into() })
    }

    fn attribute_values(&mut self) {
        let rules = (SchemaRule::APropsCorrect2, SchemaRule::APropsCorrect3);
        for id in 0..self.c.attributes.len() {
            let type_ = self.c.attributes[id].type_;
            let AttributeInfo { source, value } = &mut self.attribute_infos[id];
            let (source, value) = (*source, value.take());
            if self.c.types[type_ as usize].simple().is_none() {
                let text = format!("{} is no simple type", self.c.type_name(type_));
                self.report(source, SchemaRule::SrcResolve, text);
                self.c.attributes[id].type_ = ANY_SIMPLE_TYPE;
                continue;
            }
            self.notation(source, type_);
            if let Some(value) = value {
                self.c.attributes[id].constraint = self.constraint(source, type_, &value, rules);
            }
        }
        for type_ in 0..self.c.types.len() {
            let Some(complex) = self.c.types[type_].complex() else { continue };
            let mut uses = complex.uses.clone();
            let source = self.slots[type_].source;
            for one in &mut uses {
                let attribute = self.c.attributes[one.attribute as usize].clone();
                let declared = attribute.constraint.filter(|it| it.is_fixed);
                if let Some(own) = one.constraint.take() {
                    let value = (own.is_fixed, own.text.into_string());
                    one.constraint = self.constraint(source, attribute.type_, &value, rules);
                }
                match (&one.constraint, declared) {
                    (Some(own), Some(declared)) if !own.is_fixed || own.key != declared.key => {
                        let text = "not the fixed value of the declaration".to_owned();
                        self.report(source, SchemaRule::AuPropsCorrect2, text);
                    }
                    (None, _) => {
                        one.constraint =
                            self.c.attributes[one.attribute as usize].constraint.clone()
                    }
                    _ => {}
                }
            }
            if let Definition::Complex(complex) = &mut self.c.types[type_].definition {
                complex.uses = uses;
            }
        }
    }

    fn element_values(&mut self) {
        let rules = (SchemaRule::EPropsCorrect2, SchemaRule::EPropsCorrect5);
        for id in 0..self.c.elements.len() {
            let type_ = self.c.elements[id].type_;
            let source = self.element_infos[id].source;
            let simple = match (
                &self.c.types[type_ as usize].definition,
                &self.slots[type_ as usize].content,
            ) {
                (Definition::Simple(_), _) => Some(type_),
                (_, PreContent::Simple(simple)) => Some(*simple),
                // Of mixed content that may be empty the value is a string.
                (_, PreContent::Elements(particle, true)) if particle.is_nullable => {
                    Some(ANY_SIMPLE_TYPE)
                }
                _ => None,
            };
            if let Some(simple) = simple {
                self.notation(source, simple);
            }
            let Some(value) = self.element_infos[id].value.take() else { continue };
            match simple {
                Some(simple) => {
                    self.c.elements[id].constraint = self.constraint(source, simple, &value, rules)
                }
                None => {
                    let text = "a value of an element whose content is elements".to_owned();
                    self.report(source, SchemaRule::EPropsCorrect2, text);
                }
            }
        }
    }

    /// NOTATION itself is for derivation only.
    fn notation(&mut self, source: Source, type_: TypeId) {
        let simple = self.c.simple(type_);
        if simple.variety == Variety::Atomic(Primitive::Notation) && simple.enumeration.is_none() {
            let text = "NOTATION without an enumeration".to_owned();
            self.report(source, SchemaRule::EnumerationRequiredNotation, text);
        }
    }

    /// Substitution groups (3.3.6), of every element that a content model may have.
    fn substitutes(&mut self) -> Substitutes {
        let mut members: HashMap<u32, Vec<u32>> = HashMap::new();
        for id in 0..self.c.elements.len() as u32 {
            let Element { head, type_, .. } = self.c.elements[id as usize];
            if head == NONE {
                continue;
            }
            members.entry(head).or_default().push(id);
            let of_head = &self.c.elements[head as usize];
            if !self.c.is_derived(type_, of_head.type_, of_head.final_) {
                let text = format!(
                    "the type of {} is not derived from that of its head, or the head is final",
                    self.c.names.display(self.c.elements[id as usize].symbol)
                );
                self.report(
                    self.element_infos[id as usize].source,
                    SchemaRule::EPropsCorrect4,
                    text,
                );
            }
        }
        let mut all = Substitutes::new();
        for id in 0..self.c.elements.len() as u32 {
            let head = &self.c.elements[id as usize];
            let mut found = vec![(head.symbol, id)];
            // An element of a type is no head, though it has the name of one.
            if head.is_global && head.block & SUBSTITUTION == 0 {
                let of_type = self.c.types[head.type_ as usize].complex().map_or(0, |it| it.block);
                let excluded = (head.block | of_type) & (EXTENSION | RESTRICTION);
                let mut queue = vec![id];
                while let Some(one) = queue.pop() {
                    for member in members.get(&one).into_iter().flatten() {
                        let element = &self.c.elements[*member as usize];
                        queue.push(*member);
                        if self.c.is_derived(element.type_, head.type_, excluded) {
                            found.push((element.symbol, *member));
                        }
                    }
                }
            }
            all.insert(id, found);
        }
        all
    }

    fn models(&mut self, substitutes: &Substitutes) {
        let mut known: HashMap<*const particle::Particle, u32> = HashMap::new();
        for id in 0..self.c.types.len() {
            if self.c.types[id].complex().is_none() {
                continue;
            }
            let content = match &self.slots[id].content {
                PreContent::Empty => Content::Empty,
                PreContent::Simple(simple) => Content::Simple(*simple),
                PreContent::Elements(particle, is_mixed) => {
                    let (particle, is_mixed) = (particle.clone(), *is_mixed);
                    let place = Rc::as_ptr(&particle);
                    let model = match known.get(&place) {
                        Some(model) => *model,
                        None => {
                            let c = &self.c;
                            let model = particle::compile(
                                &particle,
                                &c.elements,
                                &c.wildcards,
                                substitutes,
                                c,
                            );
                            match model {
                                Ok(model) => self.c.models.push(model),
                                Err((rule, text)) => {
                                    self.report(self.slots[id].source, rule, text);
                                    continue;
                                }
                            }
                            self.c.models.len() as u32 - 1
                        }
                    };
                    known.insert(place, model);
                    Content::Elements(model, is_mixed)
                }
            };
            if let Definition::Complex(complex) = &mut self.c.types[id].definition {
                complex.content = content;
            }
        }
    }

    fn attribute_tables(&mut self) {
        for id in 0..self.c.types.len() {
            let c = &self.c;
            let Some(complex) = c.types[id].complex() else { continue };
            let symbol = |it: &AttributeUse| c.attributes[it.attribute as usize].symbol;
            let entries: Vec<(u32, u32)> = complex.uses.iter().map(symbol).zip(0..).collect();
            let is_id = |it: &&AttributeUse| {
                let type_ = c.attributes[it.attribute as usize].type_;
                c.simple(type_).role == Role::Id
            };
            let ids = complex.uses.iter().filter(is_id).count();
            let is_expected =
                |it: &(&AttributeUse, u32)| it.0.is_required || it.0.constraint.is_some();
            let expected: Vec<u32> =
                complex.uses.iter().zip(0..).filter(is_expected).map(|it| it.1).collect();
            if ids > 1 {
                let source = self.slots[id].source;
                self.report(
                    source,
                    SchemaRule::CtPropsCorrect5,
                    "two attributes of type ID".to_owned(),
                );
            }
            if let Definition::Complex(complex) = &mut self.c.types[id].definition {
                complex.by_symbol = SymbolMap::new(&entries);
                complex.expected_bits =
                    expected.iter().filter(|it| **it < 64).fold(0, |bits, it| bits | 1 << it);
                complex.expected = expected;
            }
        }
    }
}
