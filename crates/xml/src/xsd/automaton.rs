//! Content models as deterministic automata.
//!
//! ```text
//! next: (state, name of the child) -> state, declaration of the child
//! ```
//!
//! A state is what may follow: positions of the content model that expect the same are one state. Large bounds are counters in
//! place of states: an edge has conditions on them. An `all` group is a set of members that were seen.

use super::components::{Components, Wildcard};
use super::names::{NONE, SymbolMap};

/// What a child is: an element's number, or that of a wildcard with [`BY_WILDCARD`].
pub(crate) type Action = u32;
pub(crate) const BY_WILDCARD: u32 = 1 << 31;

/// No state: the child is not allowed here.
const NO_STATE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    pub(crate) next: u32,
    pub(crate) action: Action,
    /// A list of `ops`; 0: none.
    pub(crate) ops: u32,
    /// Another edge, for other values of counters: its number plus one in `more`; 0: none.
    pub(crate) or: u32,
}

const NO_EDGE: Edge = Edge { next: NO_STATE, action: 0, ops: 0, or: 0 };

/// What an edge does with a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Op {
    /// The first time.
    Enter(u16),
    /// Once more, if that does not exceed the maximum.
    Again(u16, u32),
    /// Only after the minimum.
    Leave(u16, u32),
}

#[derive(Debug)]
pub(crate) enum Automaton {
    States(States),
    All(All),
}

/// Edges by wildcards.
pub(crate) type WildEdges = Box<[(u32, Edge)]>;

#[derive(Debug)]
pub(crate) struct States {
    /// From symbols to columns.
    pub(crate) columns: SymbolMap,
    pub(crate) width: usize,
    /// `width` edges for each state.
    pub(crate) edges: Box<[Edge]>,
    pub(crate) more: Vec<Edge>,
    /// For each state the wildcards.
    pub(crate) wild: Box<[WildEdges]>,
    /// For each state lists of `ops` with which the content may end.
    pub(crate) accept: Box<[Box<[u32]>]>,
    pub(crate) ops: Vec<Vec<Op>>,
    pub(crate) counters: u16,
}

/// Members in any order, each once at most.
#[derive(Debug)]
pub(crate) struct All {
    /// From symbols to actions.
    pub(crate) actions: SymbolMap,
    /// From symbols to members.
    pub(crate) members: SymbolMap,
    /// A symbol of each member that must appear, or [`NONE`].
    pub(crate) required: Vec<u32>,
    /// The group itself may be missing.
    pub(crate) is_optional: bool,
}

impl Automaton {
    /// Words of memory that an open element needs.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        match self {
            Automaton::States(it) => usize::from(it.counters),
            Automaton::All(it) => it.required.len().div_ceil(32),
        }
    }

    /// A child: advances the state, and returns what the child is. `None`: not allowed here; the state stays.
    #[inline]
    pub(crate) fn step(
        &self,
        state: &mut u32,
        memory: &mut [u32],
        symbol: u32,
        namespace: u32,
        wildcards: &[Wildcard],
    ) -> Option<Action> {
        match self {
            Automaton::States(it) => it.step(state, memory, symbol, namespace, wildcards),
            Automaton::All(it) => {
                let member = it.members.get(symbol);
                if member == NONE {
                    return None;
                }
                let (word, bit) = (&mut memory[member as usize / 32], 1 << (member % 32));
                if *word & bit != 0 {
                    return None;
                }
                *word |= bit;
                *state = 1;
                Some(it.actions.get(symbol))
            }
        }
    }

    /// Whether the content may end.
    #[inline]
    pub(crate) fn is_end(&self, state: u32, memory: &[u32]) -> bool {
        match self {
            Automaton::States(it) => {
                it.accept[state as usize].iter().any(|ops| *ops == 0 || it.holds(*ops, memory))
            }
            Automaton::All(it) => {
                it.is_optional && state == 0
                    || it.required.iter().enumerate().all(|(member, symbol)| {
                        *symbol == NONE || memory[member / 32] & 1 << (member % 32) != 0
                    })
            }
        }
    }

    /// What a child with this name is anywhere in the content.
    pub(crate) fn anywhere(&self, symbol: u32) -> Option<Action> {
        match self {
            Automaton::States(it) => {
                let column = it.columns.get(symbol);
                let rows = it.edges.chunks(it.width.max(1));
                let mut edges = rows.filter_map(|row| row.get(column as usize));
                edges.find(|edge| edge.next != NO_STATE).map(|edge| edge.action)
            }
            Automaton::All(it) => {
                let action = it.actions.get(symbol);
                (action != NONE).then_some(action)
            }
        }
    }

    /// Names that may come next, for messages.
    pub(crate) fn expected(&self, state: u32, memory: &[u32], components: &Components) -> String {
        const MOST: usize = 8;
        let mut all: Vec<String> = Vec::new();
        match self {
            Automaton::States(it) => {
                let row = &it.edges[state as usize * it.width..][..it.width];
                for (symbol, column) in it.columns.entries() {
                    if row[column as usize].next != NO_STATE {
                        all.push(components.names.display(symbol));
                    }
                }
                all.sort();
                if !it.wild[state as usize].is_empty() {
                    all.push("what a wildcard allows".to_owned());
                }
            }
            Automaton::All(it) => {
                for (symbol, member) in it.members.entries() {
                    if memory[member as usize / 32] & 1 << (member % 32) == 0 {
                        all.push(components.names.display(symbol));
                    }
                }
                all.sort();
            }
        }
        if all.is_empty() {
            return "nothing".to_owned();
        }
        let more = if all.len() > MOST { ", ..." } else { "" };
        all.truncate(MOST);
        all.join(", ") + more
    }
}

impl States {
    /// A step to a declaration by a name, without conditions; `None`: another one, or none.
    #[inline(always)]
    pub(crate) fn plain_step(&self, state: &mut u32, symbol: u32) -> Option<u32> {
        let column = self.columns.get(symbol);
        if column == NONE {
            return None;
        }
        let edge = self.edges[*state as usize * self.width + column as usize];
        if edge.next == NO_STATE || edge.ops | edge.or != 0 {
            return None;
        }
        *state = edge.next;
        Some(edge.action)
    }

    #[inline]
    fn step(
        &self,
        state: &mut u32,
        memory: &mut [u32],
        symbol: u32,
        namespace: u32,
        wildcards: &[Wildcard],
    ) -> Option<Action> {
        if let Some(action) = self.plain_step(state, symbol) {
            return Some(action);
        }
        let column = self.columns.get(symbol);
        if column != NONE {
            let edge = self.edges[*state as usize * self.width + column as usize];
            let chosen = if edge.next == NO_STATE { None } else { self.choose(edge, memory) };
            if let Some(edge) = chosen {
                *state = edge.next;
                return Some(edge.action);
            }
        }
        let allowed = |it: &&(u32, Edge)| wildcards[it.0 as usize].namespaces.allow(namespace);
        let found = self.wild[*state as usize].iter().filter(allowed);
        let edge = found.map(|it| it.1).find_map(|edge| self.choose(edge, memory))?;
        *state = edge.next;
        Some(edge.action)
    }

    /// The edge whose conditions hold; does what it does with counters.
    fn choose(&self, mut edge: Edge, memory: &mut [u32]) -> Option<Edge> {
        loop {
            if edge.ops == 0 || self.holds(edge.ops, memory) {
                for op in &self.ops[edge.ops as usize] {
                    match op {
                        Op::Enter(counter) => memory[usize::from(*counter)] = 1,
                        Op::Again(counter, _) => {
                            let count = &mut memory[usize::from(*counter)];
                            *count = count.saturating_add(1);
                        }
                        Op::Leave(..) => {}
                    }
                }
                return Some(edge);
            }
            match edge.or {
                0 => return None,
                or => edge = self.more[or as usize - 1],
            }
        }
    }

    fn holds(&self, ops: u32, memory: &[u32]) -> bool {
        self.ops[ops as usize].iter().all(|op| match op {
            Op::Enter(_) => true,
            Op::Again(counter, max) => memory[usize::from(*counter)] < *max,
            Op::Leave(counter, min) => memory[usize::from(*counter)] >= *min,
        })
    }

    pub(crate) fn no_edges(count: usize) -> Vec<Edge> {
        vec![NO_EDGE; count]
    }

    pub(crate) fn is_edge(edge: &Edge) -> bool {
        edge.next != NO_STATE
    }
}
