//! Derivation Valid (Restriction, Complex) (Structures, 3.4.6).
//!
//! Contents are compared as automata: a restriction may have no sequence of children that its base does not have. That is what the
//! rules of 3.9.6 are for; those that look at how particles are written refuse some restrictions that this accepts.

use std::collections::HashSet;

use super::super::automaton::{All, Automaton, BY_WILDCARD, States};
use super::super::components::*;
use super::super::error::SchemaRule;
use super::super::names::NONE;
use super::Compiler;

const MAX_PAIRS: usize = 200_000;

impl Compiler {
    pub(super) fn restrictions(&mut self) {
        for id in 0..self.c.types.len() as TypeId {
            let Type { base, method, .. } = self.c.types[id as usize];
            if method != RESTRICTION || base == ANY_TYPE {
                continue;
            }
            let c = &self.c;
            let (Some(own), Some(parent)) =
                (c.types[id as usize].complex(), c.types[base as usize].complex())
            else {
                continue;
            };
            let source = self.slots[id as usize].source;
            let mut faults = Vec::new();
            attributes(c, own, parent, &mut faults);
            if !content(c, own, parent) {
                let text =
                    format!("the content is no restriction of that of {}", c.type_name(base));
                faults.push((SchemaRule::DerivationOkRestriction5, text));
            }
            for (rule, text) in faults {
                self.report(source, rule, text);
            }
        }
    }
}

fn attributes(
    c: &Components,
    own: &ComplexType,
    parent: &ComplexType,
    faults: &mut Vec<(SchemaRule, String)>,
) {
    let name = |it: &AttributeUse| c.names.display(c.attributes[it.attribute as usize].symbol);
    let any = |it: &ComplexType| it.any_attribute.map(|it| &c.wildcards[it as usize]);
    for one in &own.uses {
        let attribute = &c.attributes[one.attribute as usize];
        match parent.by_symbol.get(attribute.symbol) {
            NONE => {
                let namespace = c.names.namespace_of(attribute.symbol);
                if !any(parent).is_some_and(|it| it.namespaces.allow(namespace)) {
                    faults.push((SchemaRule::DerivationOkRestriction22, name(one)));
                }
            }
            index => {
                let before = &parent.uses[index as usize];
                let type_before = c.attributes[before.attribute as usize].type_;
                let is_fixed = before.constraint.as_ref().filter(|it| it.is_fixed);
                let is_same = is_fixed.is_none_or(|it| {
                    one.constraint.as_ref().is_some_and(|own| own.is_fixed && own.key == it.key)
                });
                let is_weaker = before.is_required && !one.is_required
                    || !c.is_derived(attribute.type_, type_before, 0)
                    || !is_same;
                if is_weaker {
                    faults.push((SchemaRule::DerivationOkRestriction21, name(one)));
                }
            }
        }
    }
    for before in parent.uses.iter().filter(|it| it.is_required) {
        if own.by_symbol.get(c.attributes[before.attribute as usize].symbol) == NONE {
            faults.push((SchemaRule::DerivationOkRestriction3, name(before)));
        }
    }
    if let Some(own) = any(own) {
        let fits = any(parent).is_some_and(|it| {
            own.namespaces.is_subset(&it.namespaces) && own.process >= it.process
        });
        if !fits {
            let text = "the attribute wildcard allows more than that of the base".to_owned();
            faults.push((SchemaRule::DerivationOkRestriction4, text));
        }
    }
}

fn content(c: &Components, own: &ComplexType, parent: &ComplexType) -> bool {
    let is_emptiable = |content: Content| match content {
        Content::Empty => true,
        Content::Simple(_) => false,
        Content::Elements(model, _) => match &c.models[model as usize] {
            Automaton::States(it) => it.accept[0].contains(&0),
            Automaton::All(it) => it.is_optional || it.required.iter().all(|it| *it == NONE),
        },
    };
    match (own.content, parent.content) {
        (Content::Empty, content) => is_emptiable(content),
        // Compared when the simple type was made.
        (Content::Simple(_), Content::Simple(_)) => true,
        (Content::Simple(_), Content::Elements(_, is_mixed)) => {
            is_mixed && is_emptiable(parent.content)
        }
        (Content::Elements(own, is_mixed), Content::Elements(parent, was_mixed)) => {
            (was_mixed || !is_mixed)
                && (own == parent
                    || included(c, &c.models[own as usize], &c.models[parent as usize]))
        }
        _ => false,
    }
}

/// Whether an element may stand where the base has `before` (3.9.6, NameAndTypeOK).
fn element(c: &Components, own: u32, before: u32) -> bool {
    let (own, before) = (&c.elements[own as usize], &c.elements[before as usize]);
    let is_fixed = before.constraint.as_ref().filter(|it| it.is_fixed);
    let is_same = is_fixed.is_none_or(|it| {
        own.constraint.as_ref().is_some_and(|own| own.is_fixed && own.key == it.key)
    });
    (before.is_nillable || !own.is_nillable)
        && is_same
        && own.block & before.block == before.block
        && c.is_derived(own.type_, before.type_, EXTENSION | LIST | UNION)
}

fn action(c: &Components, own: u32, before: u32) -> bool {
    match (own & BY_WILDCARD != 0, before & BY_WILDCARD != 0) {
        (false, false) => own == before || element(c, own, before),
        (false, true) => {
            let namespace = c.names.namespace_of(c.elements[own as usize].symbol);
            c.wildcards[(before & !BY_WILDCARD) as usize].namespaces.allow(namespace)
        }
        (true, true) => {
            let [own, before] = [own, before].map(|it| &c.wildcards[(it & !BY_WILDCARD) as usize]);
            own.namespaces.is_subset(&before.namespaces) && own.process >= before.process
        }
        (true, false) => false,
    }
}

fn included(c: &Components, own: &Automaton, parent: &Automaton) -> bool {
    match (own, parent) {
        (Automaton::States(own), _) if own.counters > 0 => true,
        (_, Automaton::States(parent)) if parent.counters > 0 => true,
        (Automaton::All(own), Automaton::All(parent)) => all_in_all(c, own, parent),
        (Automaton::States(own), parent) => states_in(c, own, parent),
        // An all group restricts nothing but an all group, unless it has one member.
        (Automaton::All(own), Automaton::States(_)) => own.required.is_empty(),
    }
}

fn all_in_all(c: &Components, own: &All, parent: &All) -> bool {
    let fits = own.actions.entries().all(|(symbol, mine)| {
        let before = parent.actions.get(symbol);
        before != NONE && action(c, mine, before)
    });
    let has = parent.required.iter().filter(|it| **it != NONE).all(|symbol| {
        let member = own.members.get(*symbol);
        member != NONE && own.required[member as usize] != NONE
    });
    fits && has && (parent.is_optional || !own.is_optional)
}

/// All pairs of states that the same children lead to.
fn states_in(c: &Components, own: &States, parent: &Automaton) -> bool {
    let start = (0_u32, 0_u32, vec![0_u32; parent.memory()]);
    let mut seen = HashSet::from([start.clone()]);
    let mut queue = vec![start];
    while let Some((mine, its, memory)) = queue.pop() {
        if !own.accept[mine as usize].is_empty() && !parent.is_end(its, &memory) {
            return false;
        }
        let row = &own.edges[mine as usize * own.width..][..own.width];
        let named = own.columns.entries().map(|(symbol, column)| (symbol, row[column as usize]));
        for (symbol, edge) in named.filter(|it| States::is_edge(&it.1)) {
            let (mut next, mut memory) = (its, memory.clone());
            let namespace = c.names.namespace_of(symbol);
            let Some(before) = parent.step(&mut next, &mut memory, symbol, namespace, &c.wildcards)
            else {
                return false;
            };
            if !action(c, edge.action, before) {
                return false;
            }
            let pair = (edge.next, next, memory);
            if seen.insert(pair.clone()) {
                queue.push(pair);
            }
        }
        for (_, edge) in &own.wild[mine as usize] {
            let Automaton::States(parent) = parent else { return false };
            let fits =
                parent.wild[its as usize].iter().find(|it| action(c, edge.action, it.1.action));
            let Some((_, before)) = fits else { return false };
            let pair = (edge.next, before.next, memory.clone());
            if seen.insert(pair.clone()) {
                queue.push(pair);
            }
        }
        // More pairs than that are taken to be fine: what is not compared makes no document valid that the type refuses.
        if seen.len() > MAX_PAIRS {
            return true;
        }
    }
    true
}
