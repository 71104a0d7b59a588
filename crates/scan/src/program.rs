//! What a set of patterns becomes: strings to look for, and what to do where one occurs.

use std::collections::{HashMap, HashSet};

use lookaside_simd::Cpu;

use crate::bitwise::{self, Bitwise, Sets};
use crate::fallback::{self, Announced as AroundStrings, Automaton, Expression, Limits};
use crate::input::SHORT;
use crate::literal::{Around, Finder, Literal};
use crate::node::{ByteSet, Node};
use crate::openers::Openers;
use crate::plan::{self, Announced, End, Sequence, sequences};
use crate::required::Required;
use crate::sieve::Sieves;
use crate::starts::Starts;
use crate::stretch::Stretch;
use crate::strings::{Common, Text};
use crate::tail::Tail;

/// Bytes on each side of a string that the finder may look at.
const NEAREST: usize = 8;

/// The tables of a set.
#[derive(Debug)]
pub(crate) struct Program {
    /// Finds the strings of all segments. `None`: there are none.
    pub finder: Option<Finder>,
    /// The strings that the finder finds, by their numbers.
    texts: Box<[Text]>,
    /// Their lengths.
    pub lengths: Box<[u8]>,
    /// The segments that each string announces: `users[users_of[n]..users_of[n + 1]]`.
    users_of: Box<[u32]>,
    users: Box<[u32]>,
    /// Which of them may match, for each string.
    pub sieves: Box<[Sieves]>,
    /// All segments that strings announce.
    pub segments: Box<[Segment]>,
    /// All sequences.
    pub chains: Box<[Chain]>,
    /// The gaps of all sequences; each has a bit in a stream's state.
    pub gaps: Box<[Gap]>,
    /// How many of them are [bounded](Gap::bounded).
    pub bounded: usize,
    /// Sequences whose first segment is looked for backwards.
    pub behind: Box<[u32]>,
    /// The segments that are looked for byte by byte.
    pub sweeps: Box<[Sweep]>,
    /// The gaps that a byte, or a number of them, can close, and those before a segment that is looked for byte by byte, a bit each.
    /// All others stay as they are where no string is.
    pub watched: Box<[u64]>,
    /// The different classes of gaps.
    pub stretches: Box<[Stretch]>,
    /// Segments at the start of the text.
    pub starts: Starts,
    /// All patterns begin at the start of the text, and are sequences.
    pub anchored: bool,
    /// The patterns at the start of the text, if all are there that the finder has no strings of, but those that are looked for
    /// bit by bit. Whether they are all of the set.
    openers: Option<Openers>,
    only_openers: bool,
    /// How many bytes before the new ones a scan must see.
    pub history: usize,
    /// How many of these the finder must see again.
    pub again: usize,
    /// Patterns that are looked for bit by bit.
    pub bitwise: Option<Bitwise>,
    /// Patterns whose automata run around strings.
    pub around: Option<AroundStrings>,
    /// Everything else.
    pub fallback: Option<Automaton>,
}

/// One segment with a string.
#[derive(Debug)]
pub(crate) struct Segment {
    pub chain: u32,
    /// Its place in the sequence.
    pub index: u32,
    pub before: Tail,
    pub after: Tail,
}

/// One segment without a string. Sequences share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sweep {
    pub whole: Tail,
    /// The bytes that a match may begin with; of a segment that is read backwards, end with.
    pub first: ByteSet,
    /// All bytes but those, and but those that close the gap behind a segment that is read backwards.
    pub others: Stretch,
    /// The bytes of that gap.
    pub gap: Option<ByteSet>,
}

/// One sequence.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The pattern's place in the set.
    pub pattern: u32,
    pub end: End,
    /// Number of the first of its gaps; `gap_count` follow.
    pub first_gap: u32,
    pub gap_count: u32,
    /// Its segments that strings or the start of the text announce.
    pub events: u32,
    /// Its first match is enough.
    pub once: bool,
    /// Whether the least start is asked for.
    pub starts: bool,
}

/// One gap.
#[derive(Debug)]
pub(crate) struct Gap {
    pub chain: u32,
    /// Index in the classes of gaps.
    pub class: u16,
    /// Where it has a most of bytes.
    pub bounded: Option<Bounded>,
    /// The segment after it, where that is one of the sweeps.
    pub sweep: Option<u32>,
    /// The segment before it, where that is looked for backwards: one of the sweeps.
    pub behind: Option<u32>,
    /// The widths of all segments after it: its bit describes the place so many bytes before the end of what was
    /// scanned.
    pub delay: u32,
}

/// Of a gap that does not reach farther than some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded {
    pub most: u16,
    /// Its number among such gaps: where its age is in a stream's state.
    pub number: u32,
}

impl Gap {
    /// Whether `bytes` in it are not too many.
    #[inline]
    pub(crate) fn allows(&self, bytes: i32) -> bool {
        self.bounded.is_none_or(|it| bytes <= i32::from(it.most))
    }
}

/// One pattern, as the program needs it.
pub(crate) struct Source<'a> {
    pub node: &'a Node,
    pub start_of_match: bool,
    pub empty: bool,
    /// Its first match is enough.
    pub once: bool,
}

/// Sequences of a pattern that are few.
const FEW: usize = 3;
/// The bytes of its past that a scan of a block, and a piece of a stream, has for [`Program::around`].
const AROUND_BLOCK: usize = 4096;
/// In a stream: of few such patterns, and of many, whose own state is larger anyway.
const AROUND_STREAM: [usize; 2] = [128, 512];
const MANY_AROUND: usize = 64;

impl Program {
    /// Compiles. `width`: the most bytes of one sequence (what a stream keeps). On error: the places of the patterns
    /// that are too large for the fallback automaton.
    pub(crate) fn new(
        sources: &[Source<'_>],
        width: usize,
        stream: bool,
        cpu: &Cpu,
    ) -> Result<Program, Vec<u32>> {
        let mut builder = Builder::default();
        let (mut others, mut around, mut sets) = (vec![], vec![], Sets::default());
        let (mut openers, mut only_openers) = (Some(Openers::default()), true);
        let common = Common::new(sources.iter().map(|source| source.node));
        for (pattern, source) in sources.iter().enumerate() {
            let start_of_match = source.start_of_match;
            let limits = plan::Limits { total_width: width, start_of_match, common: &common };
            // Of a combination, nothing matches by itself.
            if *source.node == Node::Class(ByteSet::EMPTY) {
                continue;
            }
            let plan = if source.empty { None } else { sequences(source.node, limits) };
            let required = || match source.empty || start_of_match {
                true => None,
                false => fallback::required(source.node, stream, &common),
            };
            let weak =
                |plan: &Vec<Sequence>| plan.len() > FEW || plan.iter().any(Sequence::is_weak);
            let strings = |plan: &Vec<Sequence>| {
                plan.len() <= FEW && plan.iter().all(Sequence::begins_with_strings)
            };
            // Many parts, or weak ones, cost more than an automaton around one good string.
            let rare = plan.as_ref().is_some_and(|plan| weak(plan) && !strings(plan))
                && required().is_some_and(|it| it.is_rare());
            let required = if rare || plan.is_none() { required() } else { None };
            // What it costs to look at each occurrence of a short string, and of what an automaton around it takes as well.
            let cost = match (&plan, &required) {
                (_, Some(required)) => plan::cost_around(&required.strings),
                (Some(plan), None) => plan.iter().map(Sequence::cost_of_strings).sum(),
                (None, None) => 0.0,
            };
            let bitwise = cost > bitwise::CLASS && !source.empty && !start_of_match;
            if bitwise && sets.add(pattern as u32, source.node, source.once, cost) {
                only_openers = false;
                continue;
            }
            match plan.filter(|_| !rare) {
                Some(plan) => {
                    let (pattern, once) = (pattern as u32, source.once);
                    match plan.iter().any(Sequence::begins_the_text) {
                        true => drop(openers.take_if(|all| !all.add(source.node))),
                        false => only_openers = false,
                    }
                    plan.into_iter()
                        .for_each(|one| builder.add(pattern, once, start_of_match, one));
                }
                None => {
                    let expression = Expression {
                        report: pattern as u32,
                        node: source.node,
                        start_of_match: source.start_of_match,
                        empty: source.empty,
                        once: source.once && !source.start_of_match,
                    };
                    match required {
                        Some(required) => {
                            only_openers = false;
                            around.push((expression, required));
                        }
                        None => {
                            drop(openers.take_if(|all| !all.add(source.node)));
                            others.push(expression);
                        }
                    }
                }
            }
        }
        if !around.is_empty() {
            let least = match stream {
                true => AROUND_STREAM[usize::from(around.len() >= MANY_AROUND)],
                false => AROUND_BLOCK,
            };
            builder.history = builder.history.max(least);
        }
        let segments = builder.segments.len() as u32;
        for (number, (_, required)) in (segments..).zip(&around) {
            for text in &required.strings {
                builder.announce(text.clone(), &Around::default(), number);
            }
        }
        let around = around_strings(around, stream);
        match (around, everywhere(others, sets)) {
            (Ok(around), Ok((bitwise, fallback))) => {
                let bitwise = bitwise.map(|sets| Bitwise::new(sets, cpu));
                let only_openers = only_openers && openers.is_some();
                Ok(Program {
                    openers,
                    only_openers,
                    ..builder.finish(bitwise, around, fallback, cpu)
                })
            }
            (around, fallback) => {
                let mut bad = around.err().unwrap_or_default();
                bad.extend(fallback.err().unwrap_or_default());
                bad.sort_unstable();
                Err(bad)
            }
        }
    }

    /// The patterns whose matches are known with the byte behind them alone.
    pub(crate) fn late(&self) -> HashSet<u32> {
        let late = self.chains.iter().filter(|chain| matches!(chain.end, End::Before { .. }));
        let bitwise = self.bitwise.iter().flat_map(Bitwise::late);
        late.map(|chain| chain.pattern).chain(bitwise).collect()
    }

    /// Whether a whole text surely has no match of any pattern. Of most texts it is not said: it is worth a look if that is as good
    /// as the scan.
    #[inline]
    pub(crate) fn is_quiet(&self, text: &[u8]) -> bool {
        let begins = (self.fallback.is_some() || self.starts.has_any(text))
            && self.openers.as_ref().is_none_or(|openers| openers.has_any(text));
        !begins
            && (self.anchored
                || self.only_openers
                || self.bitwise.as_ref().is_none_or(|all| all.is_quiet(text))
                    && self.finder.as_ref().is_none_or(|finder| finder.is_quiet(text)))
    }

    /// Whether gaps stay as they are, of which these are open, where no string is.
    #[inline]
    pub(crate) fn holds(&self, live: &[u8]) -> bool {
        let watched = |at: usize| (self.watched[at / 8] >> (at % 8 * 8)) as u8;
        live.iter().enumerate().all(|(at, live)| live & watched(at) == 0)
    }

    /// Whether the `new` bytes of a stream, behind those that are `kept`, surely have no string and no beginning of the text that
    /// anything begins with. `begin`: nothing came before what is kept. `joined` is memory to use.
    #[inline]
    pub(crate) fn has_no_string(
        &self,
        (kept, new): (&[u8], &[u8]),
        begin: bool,
        joined: &mut Vec<u8>,
    ) -> bool {
        let Some(finder) = &self.finder else {
            return !begin || self.starts.is_empty();
        };
        let text = if kept.is_empty() {
            new
        } else {
            // Of a long piece, what may be part of an occurrence that began before it is looked at once more.
            let near = match new.len() {
                ..SHORT => new.len(),
                _ if !finder.is_quiet_piece(new) => return false,
                _ => new.len().min((finder.reach().before + finder.reach().behind).max(2)),
            };
            joined.clear();
            joined.extend_from_slice(kept);
            joined.extend_from_slice(&new[..near]);
            &joined[..]
        };
        finder.is_quiet_piece(text) && !(begin && self.starts.has_any(text))
    }

    /// The segments that string `number` announces.
    #[inline]
    pub(crate) fn users(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.users[self.users_of[number] as usize..self.users_of[number + 1] as usize]
    }

    /// The number and the pattern of a user of a string that is no segment.
    #[inline]
    pub(crate) fn announced(&self, user: u32) -> Option<(u32, u32)> {
        let number = user.checked_sub(self.segments.len() as u32)?;
        Some((number, self.around.as_ref()?.report(number)))
    }

    /// What serves the set, a line for each engine.
    pub(crate) fn explain(&self) -> String {
        let filters = self.finder.iter().flat_map(Finder::describe);
        let mut out: String = filters.map(|filter| format!("{filter}\n")).collect();
        out += &self.bitwise.as_ref().map_or_else(String::new, Bitwise::describe);
        out += &self.around.as_ref().map_or_else(String::new, AroundStrings::describe);
        out += &self.fallback.as_ref().map_or_else(String::new, Automaton::describe);
        out
    }

    /// What serves a pattern.
    pub(crate) fn explain_pattern(&self, pattern: u32) -> String {
        let mut parts = vec![];
        for (number, chain) in self.chains.iter().enumerate().filter(|(_, c)| c.pattern == pattern)
        {
            let of_chain = |user: &&u32| {
                self.segments.get(**user as usize).is_some_and(|it| it.chain == number as u32)
            };
            let mut strings = vec![];
            for (string, text) in self.texts.iter().enumerate() {
                if self.users(string as u32).iter().any(|segment| of_chain(&segment)) {
                    let case = if text.caseless { " in any case" } else { "" };
                    strings.push(format!("\"{}\"{case}", text.bytes.escape_ascii()));
                }
            }
            let gaps = &self.gaps[chain.first_gap as usize..][..chain.gap_count as usize];
            let swept = gaps.iter().filter(|gap| gap.sweep.is_some()).count();
            let mut about = vec![];
            if gaps.first().is_some_and(|gap| gap.behind.is_some()) {
                about.push("its beginning backwards from these".to_owned());
            } else if strings.is_empty() {
                about.push("at the start of the text".to_owned());
            }
            if swept > 0 {
                about.push(format!("{swept} parts byte by byte behind the part before"));
            }
            if !gaps.is_empty() {
                about.push(format!("{} gaps", gaps.len()));
            }
            strings.extend(about);
            parts.push(strings.join(", "));
        }
        let is_around = |user: &u32| self.announced(*user).is_some_and(|(_, it)| it == pattern);
        let around: Vec<String> = (0..self.texts.len() as u32)
            .filter(|text| self.users(*text).iter().any(is_around))
            .map(|text| format!("\"{}\"", self.texts[text as usize].bytes.escape_ascii()))
            .collect();
        if !around.is_empty() {
            parts.push(format!("an automaton around {}", around.join(", ")));
        }
        if self.bitwise.as_ref().is_some_and(|all| all.has(pattern)) {
            parts.push("bit by bit".to_owned());
        }
        match parts.is_empty() {
            true => "an automaton over all bytes".to_owned(),
            false => parts.join("; or "),
        }
    }

    /// Memory of the tables, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let tails = |s: &Segment| s.before.memory() + s.after.memory() + size_of::<Segment>();
        self.finder.as_ref().map_or(0, Finder::memory)
            + self.lengths.len()
            + 4 * (self.users_of.len() + self.users.len())
            + self.sieves.iter().map(|it| size_of::<Sieves>() + it.memory()).sum::<usize>()
            + self.segments.iter().map(tails).sum::<usize>()
            + size_of_val(&self.chains[..])
            + size_of_val(&self.gaps[..])
            + self.openers.as_ref().map_or(0, Openers::memory)
            + self.bitwise.as_ref().map_or(0, Bitwise::memory)
            + self.around.as_ref().map_or(0, AroundStrings::memory)
            + self.fallback.as_ref().map_or(0, Automaton::memory)
    }
}

/// What looks at all bytes for these: an automaton, and bit by bit, with what is among `sets`, for those for which that costs less.
/// Or the places of all that are too large.
fn everywhere(
    expressions: Vec<Expression<'_>>,
    sets: Sets,
) -> Result<(Option<Sets>, Option<Automaton>), Vec<u32>> {
    let some = |sets: Sets| if sets.is_empty() { None } else { Some(sets) };
    if expressions.is_empty() {
        return Ok((some(sets), None));
    }
    let mut more = sets.clone();
    let mut is_other = |it: &&Expression<'_>| {
        it.start_of_match || it.empty || !more.add(it.report, it.node, it.once, f64::INFINITY)
    };
    let others: Vec<_> = expressions.iter().filter(|it| is_other(it)).copied().collect();
    let count = expressions.len();
    let all = automaton(expressions)?;
    if others.len() == count {
        return Ok((some(sets), Some(all)));
    }
    let others = if others.is_empty() { None } else { Some(automaton(others)?) };
    let cost = more.cost() - sets.cost() + others.as_ref().map_or(0.0, Automaton::cost);
    match cost < all.cost() {
        true => Ok((Some(more), others)),
        false => Ok((some(sets), Some(all))),
    }
}

/// The automaton of all these, or the places of all that are too large.
fn automaton(mut expressions: Vec<Expression<'_>>) -> Result<Automaton, Vec<u32>> {
    let mut bad = vec![];
    loop {
        match Automaton::new(&expressions, &Limits::default()) {
            Ok(automaton) if bad.is_empty() => return Ok(automaton),
            Ok(_) => return Err(bad),
            Err(too_large) => {
                bad.push(too_large.report);
                expressions.retain(|expression| expression.report != too_large.report);
            }
        }
    }
}

/// The automata of all these, or the places of all that are too large.
fn around_strings(
    mut expressions: Vec<(Expression<'_>, Required)>,
    stream: bool,
) -> Result<Option<AroundStrings>, Vec<u32>> {
    let mut bad = vec![];
    while !expressions.is_empty() {
        match AroundStrings::new(&expressions, stream, &Limits::default()) {
            Ok(all) if bad.is_empty() => return Ok(Some(all)),
            Ok(_) => break,
            Err(too_large) => {
                bad.push(too_large.report);
                expressions.retain(|(expression, _)| expression.report != too_large.report);
            }
        }
    }
    if bad.is_empty() { Ok(None) } else { Err(bad) }
}

#[derive(Default)]
struct Builder {
    numbers: HashMap<Text, u32>,
    texts: Vec<Text>,
    /// What stands around each text wherever it announces a segment.
    beside: Vec<Around>,
    users: Vec<Vec<u32>>,
    segments: Vec<Segment>,
    chains: Vec<Chain>,
    gaps: Vec<Gap>,
    bounded: u32,
    behind: Vec<u32>,
    sweeps: Vec<Sweep>,
    sweep_numbers: HashMap<Sweep, u32>,
    stretches: Vec<Stretch>,
    starts: Starts,
    history: usize,
    again: usize,
}

impl Builder {
    /// The number of a sweep.
    fn sweep(&mut self, sweep: Sweep) -> u32 {
        let next = self.sweeps.len() as u32;
        let number = *self.sweep_numbers.entry(sweep.clone()).or_insert(next);
        if number == next {
            self.sweeps.push(sweep);
        }
        number
    }

    fn add(&mut self, pattern: u32, once: bool, starts: bool, sequence: Sequence) {
        let chain = self.chains.len() as u32;
        let total: usize = sequence.segments.iter().map(|segment| segment.width).sum();
        let newline = usize::from(sequence.end != End::Anywhere);
        self.history = self.history.max(total + newline);
        if !sequence.gaps.is_empty() || sequence.end != End::Anywhere {
            self.again = self.again.max(total + newline);
        }
        let first_gap = self.gaps.len() as u32;
        // A match is known one byte late where that byte matters.
        let mut delay = total + newline;
        for (gap, before) in sequence.gaps.iter().zip(&sequence.segments) {
            delay -= before.width;
            let class =
                self.stretches.iter().position(|one| one.class() == gap.class).unwrap_or_else(
                    || {
                        self.stretches.push(Stretch::new(gap.class));
                        self.stretches.len() - 1
                    },
                );
            let bounded = gap.most.map(|most| Bounded { most, number: self.bounded });
            self.bounded += u32::from(bounded.is_some());
            self.gaps.push(Gap {
                chain,
                class: class as u16,
                bounded,
                sweep: None,
                behind: None,
                delay: delay as u32,
            });
        }
        let gap_count = sequence.gaps.len() as u32;
        let announced = |it: &&plan::Segment| {
            matches!(it.announced, Announced::By { .. } | Announced::Start { .. })
        };
        let events = sequence.segments.iter().filter(announced).count() as u32;
        self.chains.push(Chain {
            pattern,
            end: sequence.end,
            first_gap,
            gap_count,
            events,
            once,
            starts,
        });
        for (index, segment) in sequence.segments.into_iter().enumerate() {
            match segment.announced {
                Announced::By { strings, before, after } => {
                    // What follows the string may still be to come when the string is there.
                    self.again = self.again.max(segment.width);
                    let number = self.segments.len() as u32;
                    let side =
                        |tail: &Tail| tail.nearest(NEAREST).iter().map(ByteSet::words).collect();
                    let around = Around { before: side(&before), after: side(&after) };
                    self.segments.push(Segment { chain, index: index as u32, before, after });
                    for text in strings {
                        self.announce(text, &around, number);
                    }
                }
                Announced::Swept { whole, first } => {
                    let others = Stretch::new(first.complement());
                    let sweep = self.sweep(Sweep { whole, first, others, gap: None });
                    self.gaps[first_gap as usize + index - 1].sweep = Some(sweep);
                }
                Announced::Behind { whole, last } => {
                    let gap = sequence.gaps[0].class;
                    let others = Stretch::new(gap.intersection(last.complement()));
                    let gap = Some(gap);
                    let sweep = self.sweep(Sweep { whole, first: last, others, gap });
                    self.gaps[first_gap as usize].behind = Some(sweep);
                    self.behind.push(chain);
                }
                Announced::Start { whole, beginning } => self.starts.add(chain, whole, beginning),
            }
        }
    }

    fn announce(&mut self, text: Text, around: &Around, segment: u32) {
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
            self.beside.push(around.clone());
            self.users.push(vec![]);
        }
        self.beside[number as usize].either(around);
        let users = &mut self.users[number as usize];
        if users.last() != Some(&segment) {
            users.push(segment);
        }
    }

    fn finish(
        self,
        bitwise: Option<Bitwise>,
        around: Option<AroundStrings>,
        fallback: Option<Automaton>,
        cpu: &Cpu,
    ) -> Program {
        let mut users_of = vec![0];
        let mut users = vec![];
        for of_one in &self.users {
            users.extend_from_slice(of_one);
            users_of.push(users.len() as u32);
        }
        let mut watched = vec![0; self.gaps.len().div_ceil(64)];
        for (number, gap) in self.gaps.iter().enumerate() {
            let closes = gap.bounded.is_some() || !self.stretches[usize::from(gap.class)].is_any();
            watched[number / 64] |= u64::from(closes || gap.sweep.is_some()) << (number % 64);
        }
        let literal = |(text, around): (&Text, Around)| Literal {
            bytes: text.bytes.clone(),
            caseless: text.caseless,
            around,
        };
        let literals: Vec<Literal> = self.texts.iter().zip(self.beside).map(literal).collect();
        let tails =
            |user: &u32| self.segments.get(*user as usize).map(|it| (&it.before, &it.after));
        let sieves = self.users.iter().map(|users| Sieves::new(users.iter().map(tails)));
        let sieves = sieves.collect();
        let chains = self.chains.len();
        Program {
            finder: (!literals.is_empty()).then(|| Finder::new(&literals, cpu)),
            lengths: self.texts.iter().map(|text| text.bytes.len() as u8).collect(),
            texts: self.texts.into(),
            users_of: users_of.into(),
            users: users.into(),
            sieves,
            segments: self.segments.into(),
            chains: self.chains.into(),
            gaps: self.gaps.into(),
            bounded: self.bounded as usize,
            behind: self.behind.into(),
            sweeps: self.sweeps.into(),
            watched: watched.into(),
            stretches: self.stretches.into(),
            anchored: self.starts.count() == chains
                && bitwise.is_none()
                && around.is_none()
                && fallback.is_none(),
            openers: None,
            only_openers: false,
            starts: self.starts,
            history: self.history,
            again: self.again,
            bitwise,
            around,
            fallback,
        }
    }
}
