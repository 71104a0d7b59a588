//! Particles to automata: positions and what may follow each (Glushkov 1961), then sets of positions.
//!
//! ```text
//! follow(x): edges from x, each with operations on counters
//! state: the set of edges that leave the positions reached, and whether the content may end
//! ```
//!
//! 1. Bounds are unrolled while that makes few positions: copies of one particle do not compete, so unique particle attribution
//!    (Structures, 3.8.6) is a question of the particles that a state's edges belong to.
//! 2. Where unrolling would make too many, a repetition has a counter (Kilpelainen and Tuhkanen 2007).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use super::super::automaton::{All, Automaton, BY_WILDCARD, Edge, Op, States, WildEdges};
use super::super::components::{Components, Element, Wildcard};
use super::super::error::SchemaRule;
use super::super::names::{NONE, SymbolMap};

pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// Positions with all bounds unrolled, below which no counters are needed.
const MAX_UNROLLED: u64 = 1024;
/// Positions, states times names, and edges at most.
const MAX_POSITIONS: u64 = 20_000;
const MAX_TABLE: usize = 4 << 20;

/// A tree whose branches may be shared: what depends on all of them is computed when it is made.
#[derive(Clone, Debug)]
pub(crate) struct Particle {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) term: Term,
    /// Whether no child at all satisfies it.
    pub(crate) is_nullable: bool,
    /// Whether it stands for no element.
    pub(crate) is_empty: bool,
    /// Particles in it, each as often as it is referred to.
    weight: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Term {
    Element(u32),
    Wildcard(u32),
    Sequence(Vec<Rc<Particle>>),
    Choice(Vec<Rc<Particle>>),
    All(Vec<Rc<Particle>>),
}

/// Elements that may stand for each: symbol and element, itself included.
pub(crate) type Substitutes = HashMap<u32, Vec<(u32, u32)>>;

pub(crate) type Fault = (SchemaRule, String);

#[derive(Clone, Debug)]
struct Reach {
    to: u32,
    ops: Vec<Op>,
}

struct Fragment {
    first: Vec<Reach>,
    /// `to`: the position that is left.
    last: Vec<Reach>,
    is_nullable: bool,
}

struct Position {
    /// The particle that it is a copy of.
    particle: u32,
    term: u32,
}

struct Builder {
    positions: Vec<Position>,
    follow: Vec<Vec<Reach>>,
    edges: usize,
    counters: u16,
    /// Bounds up to this one are unrolled.
    unroll: u32,
}

impl Particle {
    pub(crate) fn new(min: u32, max: u32, term: Term) -> Particle {
        let (is_nullable, is_empty) = match &term {
            Term::Element(_) | Term::Wildcard(_) => (false, false),
            Term::Sequence(all) | Term::All(all) => {
                (all.iter().all(|it| it.is_nullable), all.iter().all(|it| it.is_empty))
            }
            // A choice of nothing is never satisfied: it is no empty content.
            Term::Choice(all) => (
                all.iter().any(|it| it.is_nullable),
                !all.is_empty() && all.iter().all(|it| it.is_empty),
            ),
        };
        let weight = term.parts().iter().fold(1_u64, |sum, it| sum.saturating_add(it.weight));
        Particle {
            min,
            max,
            is_nullable: is_nullable || min == 0,
            is_empty: is_empty || max == 0,
            weight,
            term,
        }
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.weight > MAX_POSITIONS
    }

    /// Positions after unrolling of bounds up to a limit.
    fn size(&self, unroll: u32) -> u64 {
        let one = match &self.term {
            Term::Element(_) | Term::Wildcard(_) => 1,
            term => term.parts().iter().fold(0_u64, |sum, it| sum.saturating_add(it.size(unroll))),
        };
        let copies = if self.max == UNBOUNDED { self.min.max(1) } else { self.max };
        one.max(1).saturating_mul(u64::from(if copies > unroll { 1 } else { copies }))
    }

    fn leaves(&self, each: &mut dyn FnMut(&Term)) {
        match &self.term {
            leaf @ (Term::Element(_) | Term::Wildcard(_)) => each(leaf),
            term => term.parts().iter().for_each(|it| it.leaves(each)),
        }
    }
}

impl Term {
    pub(crate) fn parts(&self) -> &[Rc<Particle>] {
        match self {
            Term::Element(_) | Term::Wildcard(_) => &[],
            Term::Sequence(all) | Term::Choice(all) | Term::All(all) => all,
        }
    }
}

impl Builder {
    fn build(&mut self, particle: &Particle, number: &mut u32) -> Result<Fragment, Fault> {
        let from = *number;
        let max = particle.max;
        if particle.is_empty {
            particle.leaves(&mut |_| *number += 1);
            return Ok(Fragment { first: vec![], last: vec![], is_nullable: true });
        }
        let copies = if max == UNBOUNDED { particle.min.max(1) } else { max };
        if copies > self.unroll {
            return self.counted(particle, number);
        }
        let mut whole = Fragment { first: vec![], last: vec![], is_nullable: true };
        for copy in 1..=copies {
            *number = from;
            let mut one = self.term(&particle.term, number)?;
            if max == UNBOUNDED && copy == copies {
                self.connect(&one.last.clone(), &one.first.clone(), &[])?;
            }
            one.is_nullable |= copy > particle.min;
            whole = self.concat(whole, one)?;
        }
        Ok(whole)
    }

    fn counted(&mut self, particle: &Particle, number: &mut u32) -> Result<Fragment, Fault> {
        let counter = self.counters;
        self.counters = counter.checked_add(1).ok_or_else(too_large)?;
        let mut one = self.term(&particle.term, number)?;
        // The rest of the minimum may be nothing.
        let min = if one.is_nullable { 0 } else { particle.min };
        self.connect(&one.last.clone(), &one.first.clone(), &[Op::Again(counter, particle.max)])?;
        one.first.iter_mut().for_each(|it| it.ops.push(Op::Enter(counter)));
        one.last.iter_mut().for_each(|it| it.ops.push(Op::Leave(counter, min)));
        one.is_nullable |= min == 0;
        Ok(one)
    }

    fn term(&mut self, term: &Term, number: &mut u32) -> Result<Fragment, Fault> {
        match term {
            Term::Element(id) => self.leaf(*id, number),
            Term::Wildcard(id) => self.leaf(*id | BY_WILDCARD, number),
            Term::Sequence(all) | Term::All(all) => {
                let mut whole = Fragment { first: vec![], last: vec![], is_nullable: true };
                for particle in all {
                    let one = self.build(particle, number)?;
                    whole = self.concat(whole, one)?;
                }
                Ok(whole)
            }
            Term::Choice(all) => {
                let mut whole = Fragment { first: vec![], last: vec![], is_nullable: false };
                for particle in all {
                    let one = self.build(particle, number)?;
                    whole.first.extend(one.first);
                    whole.last.extend(one.last);
                    whole.is_nullable |= one.is_nullable;
                }
                Ok(whole)
            }
        }
    }

    fn leaf(&mut self, term: u32, number: &mut u32) -> Result<Fragment, Fault> {
        let to = self.positions.len() as u32;
        if u64::from(to) >= MAX_POSITIONS {
            return Err(too_large());
        }
        self.positions.push(Position { particle: *number, term });
        self.follow.push(Vec::new());
        *number += 1;
        let reach = vec![Reach { to, ops: vec![] }];
        Ok(Fragment { first: reach.clone(), last: reach, is_nullable: false })
    }

    fn concat(&mut self, mut a: Fragment, mut b: Fragment) -> Result<Fragment, Fault> {
        self.connect(&a.last, &b.first, &[])?;
        if a.is_nullable {
            a.first.append(&mut b.first);
        }
        if b.is_nullable {
            b.last.append(&mut a.last);
        }
        Ok(Fragment { first: a.first, last: b.last, is_nullable: a.is_nullable && b.is_nullable })
    }

    fn connect(&mut self, last: &[Reach], first: &[Reach], between: &[Op]) -> Result<(), Fault> {
        self.edges += last.len() * first.len();
        if self.edges > MAX_TABLE {
            return Err(too_large());
        }
        for from in last {
            for to in first {
                let ops = [&from.ops, between, &to.ops].concat();
                self.follow[from.to as usize].push(Reach { to: to.to, ops });
            }
        }
        Ok(())
    }
}

fn too_large() -> Fault {
    (SchemaRule::LimitAutomaton, "the content model is too large".to_owned())
}

/// What a child leads to: from the edges of one name.
struct Target {
    particle: u32,
    action: u32,
    /// By operations: positions.
    by_ops: Vec<(Vec<Op>, Vec<u32>)>,
}

/// The automaton of a content model.
pub(crate) fn compile(
    particle: &Particle,
    elements: &[Element],
    wildcards: &[Wildcard],
    substitutes: &Substitutes,
    components: &Components,
) -> Result<Automaton, Fault> {
    if particle.is_too_large() {
        return Err(too_large());
    }
    consistent(particle, elements, substitutes, components)?;
    if let Term::All(members) = &particle.term {
        return all(members, particle.min == 0, substitutes, components);
    }
    let mut unroll = u32::MAX;
    for next in [u32::MAX, 16, 4, 1] {
        unroll = next;
        if particle.size(unroll) <= MAX_UNROLLED {
            break;
        }
    }
    let mut builder = Builder { positions: vec![], follow: vec![], edges: 0, counters: 0, unroll };
    let root = builder.build(particle, &mut 0)?;
    let Builder { positions, follow, counters, .. } = builder;
    // With which operations the content may end behind a position.
    let mut ends: Vec<Vec<Vec<Op>>> = vec![vec![]; positions.len()];
    for reach in root.last {
        ends[reach.to as usize].push(reach.ops);
    }

    let mut symbols: HashMap<u32, u32> = HashMap::new();
    for position in positions.iter().filter(|it| it.term & BY_WILDCARD == 0) {
        for (symbol, _) in &substitutes[&position.term] {
            let fresh = symbols.len() as u32;
            symbols.entry(*symbol).or_insert(fresh);
        }
    }
    let width = symbols.len();
    let mut ops_ids: HashMap<Vec<Op>, u32> = HashMap::from([(vec![], 0)]);
    let mut ops: Vec<Vec<Op>> = vec![vec![]];
    let mut ops_id = |list: Vec<Op>| match ops_ids.entry(list) {
        Entry::Occupied(known) => *known.get(),
        Entry::Vacant(place) => {
            ops.push(place.key().clone());
            *place.insert(ops.len() as u32 - 1)
        }
    };

    type Key = (Vec<(u32, Vec<Op>)>, Vec<Vec<Op>>);
    let mut state_ids: HashMap<Key, u32> = HashMap::new();
    let mut queue: Vec<Key> = Vec::new();
    let mut state_of =
        |mut out: Vec<(u32, Vec<Op>)>, mut ends: Vec<Vec<Op>>, queue: &mut Vec<Key>| {
            out.sort_unstable();
            out.dedup();
            ends.sort_unstable();
            ends.dedup();
            let fresh = queue.len() as u32;
            let key = (out, ends);
            *state_ids.entry(key).or_insert_with_key(|key| {
                queue.push(key.clone());
                fresh
            })
        };
    let end = if root.is_nullable { vec![vec![]] } else { vec![] };
    state_of(root.first.into_iter().map(|it| (it.to, it.ops)).collect(), end, &mut queue);

    let (mut edges, mut more) = (Vec::new(), Vec::new());
    let mut wild: Vec<WildEdges> = Vec::new();
    let mut accept: Vec<Box<[u32]>> = Vec::new();
    let mut done = 0;
    while done < queue.len() {
        let (out, ends_here) = queue[done].clone();
        done += 1;
        if done * width.max(1) > MAX_TABLE || edges.len() + more.len() > MAX_TABLE {
            return Err(too_large());
        }
        accept.push(ends_here.into_iter().map(&mut ops_id).collect());
        let mut by_symbol: HashMap<u32, Target> = HashMap::new();
        let mut by_wildcard: Vec<Target> = Vec::new();
        for (to, list) in out {
            let Position { particle, term } = positions[to as usize];
            if term & BY_WILDCARD != 0 {
                match by_wildcard.iter_mut().find(|it| it.particle == particle) {
                    Some(target) => target.add(list, to),
                    None => by_wildcard.push(Target {
                        particle,
                        action: term,
                        by_ops: vec![(list, vec![to])],
                    }),
                }
                continue;
            }
            for (symbol, element) in &substitutes[&term] {
                match by_symbol.entry(*symbol) {
                    Entry::Vacant(place) => {
                        let by_ops = vec![(list.clone(), vec![to])];
                        place.insert(Target { particle, action: *element, by_ops });
                    }
                    Entry::Occupied(mut known) => {
                        let target = known.get_mut();
                        if target.particle != particle && !target.excludes(&list) {
                            return Err(ambiguous(&components.names.display(*symbol)));
                        }
                        target.add(list.clone(), to);
                    }
                }
            }
        }
        for (n, one) in by_wildcard.iter().enumerate() {
            let namespaces = &wildcards[(one.action & !BY_WILDCARD) as usize].namespaces;
            let overlaps = |other: &Target| {
                namespaces.overlaps(&wildcards[(other.action & !BY_WILDCARD) as usize].namespaces)
                    && other.by_ops.iter().any(|it| !one.excludes(&it.0))
            };
            if by_wildcard[..n].iter().any(overlaps) {
                return Err(ambiguous("a child of two wildcards"));
            }
            let named = by_symbol.iter().find(|(symbol, target)| {
                namespaces.allow(components.names.namespace_of(**symbol))
                    && target.by_ops.iter().any(|it| !one.excludes(&it.0))
            });
            if let Some((symbol, _)) = named {
                return Err(ambiguous(&components.names.display(*symbol)));
            }
        }
        let mut edge_of = |target: Target, more: &mut Vec<Edge>, queue: &mut Vec<Key>| {
            let mut chain = 0;
            let action = target.action;
            for (n, (list, to)) in target.by_ops.iter().enumerate() {
                // Two ways for the same child that counters do not tell apart.
                if target.by_ops[..n].iter().any(|it| !exclusive(&it.0, list)) {
                    let text = "repetitions within each other, too large to be unrolled";
                    return Err((SchemaRule::LimitAutomaton, text.to_owned()));
                }
                let out = to.iter().flat_map(|it| &follow[*it as usize]);
                let out = out.map(|it| (it.to, it.ops.clone())).collect();
                let ends = to.iter().flat_map(|it| &ends[*it as usize]).cloned().collect();
                let next = state_of(out, ends, queue);
                more.push(Edge { next, action, ops: ops_id(list.clone()), or: chain });
                chain = more.len() as u32;
            }
            let first = more[chain as usize - 1];
            if first.or == 0 {
                more.pop();
            }
            Ok(first)
        };
        let row = edges.len();
        edges.extend(States::no_edges(width));
        // In an order that does not depend on the hash.
        let mut by_symbol: Vec<(u32, Target)> = by_symbol.into_iter().collect();
        by_symbol.sort_by_key(|it| symbols[&it.0]);
        for (symbol, target) in by_symbol {
            edges[row + symbols[&symbol] as usize] = edge_of(target, &mut more, &mut queue)?;
        }
        let mut wild_here = Vec::new();
        for target in by_wildcard {
            let wildcard = target.action & !BY_WILDCARD;
            wild_here.push((wildcard, edge_of(target, &mut more, &mut queue)?));
        }
        wild.push(wild_here.into());
    }
    let columns: Vec<(u32, u32)> = symbols.into_iter().collect();
    Ok(Automaton::States(States {
        columns: SymbolMap::new(&columns),
        width,
        edges: edges.into(),
        more,
        wild: wild.into(),
        accept: accept.into(),
        ops,
        counters,
    }))
}

impl Target {
    fn add(&mut self, ops: Vec<Op>, to: u32) {
        match self.by_ops.iter_mut().find(|it| it.0 == ops) {
            Some((_, all)) => all.push(to),
            None => self.by_ops.push((ops, vec![to])),
        }
    }

    fn excludes(&self, ops: &[Op]) -> bool {
        self.by_ops.iter().all(|it| exclusive(&it.0, ops))
    }
}

/// Whether no values of counters satisfy both.
fn exclusive(one: &[Op], other: &[Op]) -> bool {
    let disjoint = |a: &Op, b: &Op| match (a, b) {
        (Op::Again(x, max), Op::Leave(y, min)) | (Op::Leave(y, min), Op::Again(x, max)) => {
            x == y && min >= max
        }
        _ => false,
    };
    one.iter().any(|a| other.iter().any(|b| disjoint(a, b)))
}

fn ambiguous(what: &str) -> Fault {
    (SchemaRule::CosNonambig, format!("{what} may belong to two particles of the content model"))
}

/// Element Declarations Consistent (3.8.6).
fn consistent(
    particle: &Particle,
    elements: &[Element],
    substitutes: &Substitutes,
    components: &Components,
) -> Result<(), Fault> {
    let mut types: HashMap<u32, u32> = HashMap::new();
    let mut wrong = None;
    particle.leaves(&mut |leaf| {
        let Term::Element(id) = leaf else { return };
        for (symbol, element) in &substitutes[id] {
            let type_ = elements[*element as usize].type_;
            if *types.entry(*symbol).or_insert(type_) != type_ {
                wrong = Some(*symbol);
            }
        }
    });
    match wrong {
        None => Ok(()),
        Some(symbol) => {
            let name = components.names.display(symbol);
            Err((
                SchemaRule::CosElementConsistent,
                format!("{name} has different types in one content model"),
            ))
        }
    }
}

fn all(
    members: &[Rc<Particle>],
    is_optional: bool,
    substitutes: &Substitutes,
    components: &Components,
) -> Result<Automaton, Fault> {
    let (mut actions, mut by_symbol, mut required) = (HashMap::new(), Vec::new(), Vec::new());
    for particle in members {
        let Term::Element(id) = particle.term else { continue };
        if particle.max == 0 {
            continue;
        }
        let member = required.len() as u32;
        for (symbol, element) in &substitutes[&id] {
            if actions.insert(*symbol, *element).is_some() {
                return Err(ambiguous(&components.names.display(*symbol)));
            }
            by_symbol.push((*symbol, member));
        }
        let symbol = substitutes[&id].first().map_or(NONE, |it| it.0);
        required.push(if particle.min == 0 { NONE } else { symbol });
    }
    let actions: Vec<(u32, u32)> = actions.into_iter().collect();
    Ok(Automaton::All(All {
        actions: SymbolMap::new(&actions),
        members: SymbolMap::new(&by_symbol),
        required,
        is_optional,
    }))
}
