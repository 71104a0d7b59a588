//! Which expressions run together.
//!
//! One DFA for all is the fastest, unless its states multiply: `[^\n]{200}` has 200, and beside it each other expression
//! has its own states in each of them. So a trial run over data that resembles what the expressions look for counts the
//! states; expressions are joined while these stay few. Expressions with too many states of their own are run bit by bit
//! most of the time, which costs by the word: they are joined up to a few words.
use super::dfa::Dfa;
use super::fragment::{Entry, Fragment};
use super::passing::Spare;
use super::program::{self, Program};
use super::{Limits, Part};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Positions that an engine for starts has at most, unless an expression alone has more.
const STARTS_POSITIONS: usize = 1 << 12;
/// Positions of joined expressions that are run bit by bit.
const BIT_POSITIONS: usize = 256;
/// Expressions whose first match is enough that are apart from others.
const APART: usize = 128;
/// States of a trial, and positions, of such expressions joined. What has left multiplies their states, and more of them than
/// the nearest caches hold cost more than another automaton.
const LEAVING_STATES: usize = 400;
const LEAVING_POSITIONS: usize = 512;
/// Cycles for a byte: of a part that walks beside others, and of one more part, as pieces of streams are short.
const BESIDE: f64 = 2.5;
const OWN: f64 = 0.5;
/// Bytes of a trial for one expression, and at most.
const TRIAL_BYTES: usize = 1 << 10;
const TRIAL_BYTES_MAX: usize = 16 << 10;
/// Bytes of memory of a trial's states.
const TRIAL_MEMORY: usize = 8 << 20;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        if of.is_empty() { None } else { Some(of[self.below(of.len())]) }
    }
}

/// Data on which `fragment` has much to do: walks along its edges, broken off now and then, with noise between them.
fn sample(fragment: &Fragment, seed: u64) -> Vec<u8> {
    const TEXT: &[u8] =
        b"the quick GET /index.html?id=10&x=%20 HTTP/1.1\r\n<a href=\"//b.c\">0.99 _A</a>\n";
    let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut data = Vec::with_capacity(TRIAL_BYTES + 64);
    let mut bytes: Vec<Option<Vec<u8>>> = vec![None; fragment.positions.len()];
    while data.len() < TRIAL_BYTES {
        for _ in 0..random.below(16) {
            data.push(if random.below(4) == 0 {
                random.below(256) as u8
            } else {
                TEXT[random.below(TEXT.len())]
            });
        }
        let entry = &fragment.entries[random.below(4)];
        let mut next = random.pick(&entry.follow);
        while let Some(at) = next {
            let position = &fragment.positions[at as usize];
            let bytes = bytes[at as usize].get_or_insert_with(|| position.bytes.iter().collect());
            data.extend(random.pick(bytes));
            if random.below(64) == 0 || data.len() >= TRIAL_BYTES {
                break;
            }
            next = random.pick(&position.follow);
        }
    }
    data
}

/// The states that a DFA of `group` makes in a trial; more than `limits.joint_states`: too many.
fn trial(group: &[(&Fragment, &[u8])], limits: &Limits) -> usize {
    let fragments: Vec<&Fragment> = group.iter().map(|(fragment, _)| *fragment).collect();
    let program = Program::new(&fragments, false, false);
    let mut dfa = Dfa::new(&program, TRIAL_MEMORY);
    dfa.passing.spare = Spare::Never;
    let share = (TRIAL_BYTES_MAX / group.len()).min(TRIAL_BYTES);
    let mut bits = vec![0; program.words];
    bits[0] = 1;
    for turn in 0..2 {
        for (_, data) in group {
            let data =
                &data[(turn * share / 2).min(data.len())..((turn + 1) * share / 2).min(data.len())];
            let _ =
                dfa.scan(&program, &mut bits, 0, data, &mut |_, _, _| ControlFlow::Continue(()));
            if bits.iter().all(|&bits| bits == 0) {
                // An anchored set: from the start again.
                bits[0] = 1;
            }
            if dfa.states() > limits.joint_states || dfa.clears > 0 {
                return usize::MAX;
            }
        }
    }
    dfa.states()
}

/// Joins neighbours while `fits` holds; the number that is tried at once doubles while it does.
fn join<T: Copy>(items: &[T], mut fits: impl FnMut(&[T]) -> bool) -> Vec<Vec<T>> {
    let mut groups = Vec::new();
    let mut from = 0;
    while from < items.len() {
        let (mut len, mut more) = (1, 1);
        while more > 0 && from + len < items.len() {
            let tried = (len + more).min(items.len() - from);
            if fits(&items[from..from + tried]) {
                len = tried;
                more *= 2;
            } else {
                more /= 2;
            }
        }
        groups.push(items[from..from + len].to_vec());
        from += len;
    }
    groups
}

/// The parts of fragments whose first match is enough. Each of them leaves with its first match; a part is over when all have
/// left.
fn apart(fragments: Vec<&Fragment>, limits: &Limits) -> Vec<Part> {
    // What reports the empty match does so at a place that is no position of its own, and does not leave.
    let empty = |it: &Fragment| it.entries.iter().any(|entry| entry.accept || entry.accept_end);
    let (alone, joined): (Vec<&Fragment>, Vec<&Fragment>) =
        fragments.into_iter().partition(|it| empty(it));
    let (anchored, joined): (Vec<&Fragment>, Vec<&Fragment>) =
        joined.into_iter().partition(|it| it.entries[1..].iter().all(|it| *it == Entry::default()));
    let part = |group: &[&Fragment]| Part::new(group, false, limits.isa);
    let mut parts: Vec<Part> = alone.iter().map(|it| part(&[it])).collect();
    for pool in [anchored, joined] {
        let samples: Vec<Vec<u8>> =
            pool.iter().zip(1..).map(|(fragment, seed)| sample(fragment, seed)).collect();
        let cost = |group: &[&Fragment]| part(group).cost().min(BESIDE) + OWN;
        let mut sizes: Vec<Sized<'_>> = pool
            .iter()
            .zip(&samples)
            .map(|(it, data)| Sized {
                states: trial(&[(*it, data)], limits),
                cost: cost(&[*it]),
                with_data: (*it, data),
            })
            .collect();
        sizes.sort_by_key(|it| it.states);
        let fits = |group: &[Sized<'_>]| {
            let fragments: Vec<&Fragment> = group.iter().map(|it| it.with_data.0).collect();
            let all: Vec<(&Fragment, &[u8])> = group.iter().map(|it| it.with_data).collect();
            program::positions(&fragments) <= LEAVING_POSITIONS
                && cost(&fragments) <= group.iter().map(|it| it.cost).sum()
                && trial(&all, limits) <= limits.joint_states.min(LEAVING_STATES)
        };
        for group in join(&sizes, fits) {
            parts.push(part(&group.iter().map(|it| it.with_data.0).collect::<Vec<_>>()));
        }
    }
    parts
}

/// A fragment with data on which it has much to do.
#[derive(Clone, Copy)]
struct Sized<'a> {
    /// Of a trial with it alone.
    states: usize,
    /// Cycles for a byte, alone.
    cost: f64,
    with_data: (&'a Fragment, &'a [u8]),
}

/// The parts of an automaton of `fragments`.
pub(super) fn parts(fragments: &[Fragment], limits: &Limits) -> Vec<Part> {
    let (starts, mut plain): (Vec<&Fragment>, Vec<&Fragment>) =
        fragments.iter().partition(|it| it.start_of_match && !it.lengths_known());
    let mut parts = Vec::new();
    if plain.iter().filter(|it| it.once).count() <= APART {
        let once: Vec<&Fragment> = plain.extract_if(.., |it| it.once).collect();
        parts.extend(apart(once, limits));
    }
    let samples: Vec<Vec<u8>> =
        plain.iter().zip(1..).map(|(fragment, seed)| sample(fragment, seed)).collect();
    let plain: Vec<(&Fragment, &[u8])> =
        plain.into_iter().zip(samples.iter().map(Vec::as_slice)).collect();
    let cost = |group: &[&Fragment]| Part::new(group, false, limits.isa).cost();
    let alone: HashMap<*const Fragment, f64> =
        plain.iter().map(|it| (std::ptr::from_ref(it.0), cost(&[it.0]))).collect();
    // Together they must not cost more than each alone.
    let pays = |group: &[&Fragment]| {
        let each = group.iter().map(|it| alone[&std::ptr::from_ref(*it)]);
        group.len() == 1 || cost(group) <= each.sum()
    };
    // All together, if they fit.
    let together: Vec<&Fragment> = plain.iter().map(|it| it.0).collect();
    if !plain.is_empty() && trial(&plain, limits) <= limits.joint_states && pays(&together) {
        parts.push(Part::new(&together, false, limits.isa));
    } else {
        let mut sizes: Vec<(usize, (&Fragment, &[u8]))> =
            plain.into_iter().map(|it| (trial(&[it], limits), it)).collect();
        sizes.sort_by_key(|it| it.0);
        let small = sizes.partition_point(|it| it.0 <= limits.joint_states);
        let (small, large) = sizes.split_at(small);
        let plain = |group: &[(usize, (&Fragment, &[u8]))]| {
            Part::new(&group.iter().map(|it| it.1.0).collect::<Vec<_>>(), false, limits.isa)
        };
        let joint = |group: &[(usize, (&Fragment, &[u8]))]| {
            trial(&group.iter().map(|it| it.1).collect::<Vec<_>>(), limits) <= limits.joint_states
                && pays(&group.iter().map(|it| it.1.0).collect::<Vec<_>>())
        };
        parts.extend(join(small, joint).iter().map(|group| plain(group)));
        let few = |group: &[(usize, (&Fragment, &[u8]))]| {
            program::positions(&group.iter().map(|it| it.1.0).collect::<Vec<_>>()) <= BIT_POSITIONS
        };
        parts.extend(join(large, few).iter().map(|group| plain(group)));
    }
    let few = |group: &[&Fragment]| {
        group.iter().map(|it| it.positions.len()).sum::<usize>() <= STARTS_POSITIONS
    };
    parts.extend(join(&starts, few).iter().map(|group| Part::new(group, true, limits.isa)));
    parts
}
