//! Complex type definitions and model groups (Structures, 3.4, 3.7, 3.8).

use std::rc::Rc;

use super::super::components::*;
use super::super::error::SchemaRule;
use super::super::names::{NONE, SymbolMap};
use super::particle::{Particle, Term};
use super::{AttributeSet, Compiler, Decl, Group, Kind, MAX_DEPTH, PreContent, Source, State};

impl Compiler {
    pub(super) fn deeper(&mut self, source: Source) -> bool {
        if self.depth >= MAX_DEPTH {
            self.report(
                source,
                SchemaRule::LimitComponents,
                "definitions within each other".to_owned(),
            );
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn complex_type(&mut self, id: TypeId, source: Source) {
        let document = &self.documents[source.document];
        let (block_default, final_default) = (document.block, document.final_);
        let is_abstract = self.boolean(source, "abstract").unwrap_or(false);
        let is_mixed = self.boolean(source, "mixed").unwrap_or(false);
        let block = self.derivations(source, "block", EXTENSION | RESTRICTION);
        let final_ = self.derivations(source, "final", EXTENSION | RESTRICTION);
        let one = &mut self.c.types[id as usize];
        one.final_ = final_.unwrap_or(final_default) & (EXTENSION | RESTRICTION);
        one.base = ANY_TYPE;
        // Until it is known: who refers to it meanwhile finds a complex type.
        one.definition = Definition::Complex(ComplexType {
            is_abstract,
            block: block.unwrap_or(block_default) & (EXTENSION | RESTRICTION),
            content: Content::Empty,
            uses: Vec::new(),
            by_symbol: SymbolMap::default(),
            expected: Vec::new(),
            expected_bits: 0,
            any_attribute: None,
        });
        let children = self.children(source);
        let first = children.first().copied();
        let (base, method, content, set) = match first.map(|it| self.local(it)).as_deref() {
            Some("simpleContent") => {
                let Some(derivation) = first.and_then(|it| self.children(it).first().copied())
                else {
                    return;
                };
                let Some((base, method)) = self.base(derivation) else { return };
                let Some(content) = self.simple_content(derivation, base, method) else { return };
                (base, method, content, self.attribute_set(derivation))
            }
            Some("complexContent") => {
                let Some(content) = first else { return };
                let is_mixed = self.boolean(content, "mixed").unwrap_or(is_mixed);
                let Some(derivation) = self.children(content).first().copied() else { return };
                let Some((base, method)) = self.base(derivation) else { return };
                if self.c.types[base as usize].complex().is_none() {
                    let text = format!("{} is no complex type", self.c.type_name(base));
                    self.report(derivation, SchemaRule::SrcCt1, text);
                    return;
                }
                let own = self.effective_content(derivation, is_mixed);
                let content = match method {
                    EXTENSION => self.extended(derivation, base, own, is_mixed),
                    _ => own,
                };
                (base, method, content, self.attribute_set(derivation))
            }
            _ => {
                let content = self.effective_content(source, is_mixed);
                (ANY_TYPE, RESTRICTION, content, self.attribute_set(source))
            }
        };
        self.c.types[id as usize].base = base;
        self.c.types[id as usize].method = method;
        self.slots[id as usize].content = content;
        self.inherit(id, source, base, method, set);
    }

    /// The base type, compiled, and the way of derivation.
    fn base(&mut self, source: Source) -> Option<(TypeId, u8)> {
        let name = self.node(source).attribute("base")?.to_owned();
        let base = self.find_type(source, &name)?;
        self.ensure(base);
        if self.slots[base as usize].state == State::Busy {
            return None;
        }
        let is_extension = self.node(source).local == "extension";
        let (method, rule) = match is_extension {
            true => (EXTENSION, SchemaRule::CosCtExtends11),
            false => (RESTRICTION, SchemaRule::DerivationOkRestriction1),
        };
        if self.c.types[base as usize].final_ & method != 0 {
            let text = format!("{} is final", self.c.type_name(base));
            self.report(source, rule, text);
        }
        Some((base, method))
    }

    fn simple_content(&mut self, source: Source, base: TypeId, method: u8) -> Option<PreContent> {
        let is_simple = self.c.types[base as usize].simple().is_some();
        let of_base = match &self.slots[base as usize].content {
            _ if is_simple => Some(base),
            PreContent::Simple(simple) => Some(*simple),
            _ => None,
        };
        let is_emptiable = matches!(&self.slots[base as usize].content, PreContent::Elements(it, true) if it.is_nullable);
        let wrong = |compiler: &mut Compiler| {
            let text =
                format!("{} has no simple content to derive from", compiler.c.type_name(base));
            compiler.report(source, SchemaRule::SrcCt2, text);
            None
        };
        if method == EXTENSION {
            return match of_base {
                Some(simple) => Some(PreContent::Simple(simple)),
                None => wrong(self),
            };
        }
        let inner = self.child(source, "simpleType").map(|child| self.new_type(NONE, child));
        if is_simple || of_base.is_none() && !(is_emptiable && inner.is_some()) {
            return wrong(self);
        }
        if let Some(inner) = inner {
            self.ensure(inner);
            let (Some(simple), Some(_)) = (of_base, self.c.types[inner as usize].simple()) else {
                return self.restricted(source, inner);
            };
            if !self.c.is_derived(inner, simple, 0) {
                let text = "the type within is not derived from the base's content".to_owned();
                self.report(source, SchemaRule::DerivationOkRestriction5, text);
            }
            return self.restricted(source, inner);
        }
        self.restricted(source, of_base?)
    }

    /// A simple type with the facets that stand in a restriction of simple content.
    fn restricted(&mut self, source: Source, base: TypeId) -> Option<PreContent> {
        self.c.types[base as usize].simple()?;
        let simple = self.facets(source, base);
        let id = self.new_type(NONE, source);
        self.slots[id as usize].state = State::Done;
        let one = &mut self.c.types[id as usize];
        one.base = base;
        one.definition = Definition::Simple(simple);
        Some(PreContent::Simple(id))
    }

    /// 3.4.2, effective content.
    fn effective_content(&mut self, source: Source, is_mixed: bool) -> PreContent {
        let is_model = |name: &str| matches!(name, "group" | "all" | "choice" | "sequence");
        let model = self.children(source).into_iter().find(|it| is_model(&self.node(*it).local));
        let particle = model.and_then(|model| {
            let is_bare = self.children(model).is_empty();
            let particle = self.particle(model, true)?;
            let is_empty = particle.max == 0
                || match &*self.local(model) {
                    "all" | "sequence" => is_bare,
                    "choice" => is_bare && particle.min == 0,
                    _ => false,
                };
            (!is_empty).then_some(particle)
        });
        match particle {
            Some(particle) => PreContent::Elements(particle, is_mixed),
            None if is_mixed => {
                PreContent::Elements(Rc::new(Particle::new(1, 1, Term::Sequence(Vec::new()))), true)
            }
            None => PreContent::Empty,
        }
    }

    fn extended(
        &mut self,
        source: Source,
        base: TypeId,
        own: PreContent,
        is_mixed: bool,
    ) -> PreContent {
        let of_base = self.slots[base as usize].content.clone();
        let has_model = match &own {
            PreContent::Elements(particle, _) => {
                !matches!(&particle.term, Term::Sequence(all) if all.is_empty())
            }
            _ => false,
        };
        match (of_base, own) {
            (PreContent::Empty, own) => own,
            (PreContent::Simple(simple), PreContent::Empty) => PreContent::Simple(simple),
            (PreContent::Simple(_), own) => {
                let text = "elements are added to simple content".to_owned();
                self.report(source, SchemaRule::CosCtExtends14, text);
                own
            }
            (PreContent::Elements(before, was_mixed), own) => {
                // Only what adds something says whether it is mixed.
                if !has_model {
                    if is_mixed && !was_mixed {
                        self.mixture(source);
                    }
                    return PreContent::Elements(before, was_mixed);
                }
                if is_mixed != was_mixed {
                    self.mixture(source);
                }
                let PreContent::Elements(own, _) = own else { return own };
                let is_all = |it: &Particle| matches!(it.term, Term::All(_));
                if !before.is_empty && (is_all(&before) || is_all(&own)) {
                    let text = "an all group is extended, or extends".to_owned();
                    self.report(source, SchemaRule::CosAllLimited1, text);
                }
                if before.is_empty {
                    return PreContent::Elements(own, was_mixed);
                }
                let both = Particle::new(1, 1, Term::Sequence(vec![before, own]));
                PreContent::Elements(Rc::new(both), was_mixed)
            }
        }
    }

    fn mixture(&mut self, source: Source) {
        let text = "mixed content extends element-only content, or the other way round".to_owned();
        self.report(source, SchemaRule::CosCtExtends14, text);
    }

    /// Attributes of the base type and own ones.
    fn inherit(&mut self, id: TypeId, source: Source, base: TypeId, method: u8, set: AttributeSet) {
        let symbol = |c: &Components, it: &AttributeUse| c.attributes[it.attribute as usize].symbol;
        let (mut uses, mut any) = (Vec::new(), None);
        if let Some(parent) = self.c.types[base as usize].complex() {
            uses = parent.uses.clone();
            any = parent.any_attribute;
        }
        let parent_any = any.map(|it| self.c.wildcards[it as usize].clone());
        let wildcard = match method {
            EXTENSION => match (parent_any, set.wildcard) {
                (Some(before), Some(own)) => match own.namespaces.union(&before.namespaces) {
                    Some(namespaces) => Some(Wildcard { namespaces, process: own.process }),
                    None => {
                        self.report(
                            source,
                            SchemaRule::SrcCt4,
                            "a union of wildcards that is none".to_owned(),
                        );
                        Some(before)
                    }
                },
                (before, own) => own.or(before),
            },
            _ => set.wildcard,
        };
        if method == EXTENSION {
            for one in set.uses {
                let new = symbol(&self.c, &one);
                if uses.iter().any(|it| symbol(&self.c, it) == new) {
                    let text = format!("{} is there in the base type", self.c.names.display(new));
                    self.report(source, SchemaRule::CtPropsCorrect4, text);
                    continue;
                }
                uses.push(one);
            }
        } else {
            let own: Vec<u32> = set.uses.iter().map(|it| symbol(&self.c, it)).collect();
            uses.retain(|it| {
                let symbol = symbol(&self.c, it);
                !own.contains(&symbol) && !set.prohibited.contains(&symbol)
            });
            uses.extend(set.uses);
        }
        let any_attribute = wildcard.map(|it| self.new_wildcard(it));
        if let Definition::Complex(complex) = &mut self.c.types[id as usize].definition {
            complex.uses = uses;
            complex.any_attribute = any_attribute;
        }
    }

    /// A particle of a content model; `None` if something in it is wrong. `is_top`: it is the whole content of a type.
    fn particle(&mut self, source: Source, is_top: bool) -> Option<Rc<Particle>> {
        let (min, max) = self.occurs(source);
        let term = match &*self.local(source) {
            "element" => Term::Element(self.local_element(source)?),
            "any" => {
                let wildcard = self.wildcard(source);
                Term::Wildcard(self.new_wildcard(wildcard))
            }
            "group" => {
                let name = self.node(source).attribute("ref")?.to_owned();
                let number = self.find(source, Kind::Group, &name)?;
                let group = self.model_of(number, source)?;
                if matches!(group.term, Term::All(_)) && (!is_top || max > 1) {
                    let text = "an all group within another group, or repeated".to_owned();
                    self.report(source, SchemaRule::CosAllLimited1, text);
                }
                group.term.clone()
            }
            name => {
                let mut parts = Vec::new();
                for child in self.children(source) {
                    parts.extend(self.particle(child, false));
                }
                match name {
                    "sequence" => Term::Sequence(parts),
                    "choice" => Term::Choice(parts),
                    _ => {
                        if !is_top || max > 1 {
                            let text = "an all group within another group, or repeated".to_owned();
                            self.report(source, SchemaRule::CosAllLimited1, text);
                        }
                        if parts.iter().any(|it| it.max > 1) {
                            let text =
                                "an element of an all group occurs more than once".to_owned();
                            self.report(source, SchemaRule::CosAllLimited2, text);
                        }
                        Term::All(parts)
                    }
                }
            }
        };
        Some(Rc::new(Particle::new(min, max, term)))
    }

    /// The model of a global group.
    pub(super) fn model_of(&mut self, number: u32, from: Source) -> Option<Rc<Particle>> {
        let Decl { source, ref group, .. } = self.declarations[number as usize];
        match group {
            Group::Model(model) => return Some(model.clone()),
            Group::Busy => {
                self.report(
                    from,
                    SchemaRule::MgPropsCorrect2,
                    "a group refers to itself".to_owned(),
                );
                return None;
            }
            Group::Open => {}
            _ => return None,
        }
        if !self.deeper(from) {
            return None;
        }
        self.declarations[number as usize].group = Group::Busy;
        let model = self.children(source).first().copied();
        let model = model.and_then(|model| self.particle(model, true));
        self.depth -= 1;
        self.declarations[number as usize].group = match &model {
            Some(model) => Group::Model(model.clone()),
            None => Group::Failed,
        };
        model
    }
}
