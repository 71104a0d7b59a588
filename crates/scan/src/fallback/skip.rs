//! A search for the few bytes on which a state is left.

/// The bytes, by the fastest way to find them.
#[derive(Clone, Debug)]
pub(super) enum Skip {
    /// Never left.
    Never,
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    /// Up to three ranges: the first byte and the length less 1. Without branches, so that compilers use vectors.
    Ranges([(u8, u8); 3]),
    /// Any set.
    Table(Box<[bool; 256]>),
    /// So many bytes before the next of a set (see `key.rs`).
    Before(Box<Skip>, usize),
}

/// The skipped bytes that pay for a search by the gate: of an automaton that runs alone, and of one of several side by side, whose
/// steps take a third of the time.
pub(super) const GATE_ALONE: u64 = 8;
pub(super) const GATE_BESIDE: u64 = 24;

/// Bytes looked at together.
const BLOCK: usize = 32;

impl Skip {
    /// Of the bytes for which `leaves` holds; `None` if they are so many that no search pays.
    pub(super) fn new(leaves: impl Fn(u8) -> bool) -> Option<Skip> {
        let bytes: Vec<u8> = (0..=255).filter(|&byte| leaves(byte)).collect();
        Some(match bytes[..] {
            [] => Skip::Never,
            [a] => Skip::One(a),
            [a, b] => Skip::Two(a, b),
            [a, b, c] => Skip::Three(a, b, c),
            _ if bytes.len() > 128 => return None,
            _ => {
                let mut ranges: Vec<(u8, u8)> = Vec::new();
                for &byte in &bytes {
                    match ranges.last_mut() {
                        Some((first, more)) if byte - *first == *more + 1 => *more += 1,
                        _ => ranges.push((byte, 0)),
                    }
                }
                match ranges[..] {
                    [a] => Skip::Ranges([a; 3]),
                    [a, b] => Skip::Ranges([a, b, b]),
                    [a, b, c] => Skip::Ranges([a, b, c]),
                    _ => {
                        let mut table = Box::new([false; 256]);
                        bytes.iter().for_each(|&byte| table[usize::from(byte)] = true);
                        Skip::Table(table)
                    }
                }
            }
        })
    }

    /// The first of the bytes in `chunk` from `at`, or its end.
    pub(super) fn find(&self, chunk: &[u8], at: usize) -> usize {
        let rest = &chunk[at..];
        let found = match *self {
            Skip::Never => None,
            Skip::One(a) => memchr::memchr(a, rest),
            Skip::Two(a, b) => memchr::memchr2(a, b, rest),
            Skip::Three(a, b, c) => memchr::memchr3(a, b, c, rest),
            Skip::Ranges(ref ranges) => find(rest, |byte| {
                ranges
                    .iter()
                    .fold(false, |any, &(first, more)| any | (byte.wrapping_sub(first) <= more))
            }),
            Skip::Before(ref skip, back) => {
                return at.max(skip.find(chunk, at).saturating_sub(back));
            }
            Skip::Table(ref table) => find(rest, |byte| table[usize::from(byte)]),
        };
        at + found.unwrap_or(rest.len())
    }
}

#[inline(always)]
fn find(rest: &[u8], is: impl Fn(u8) -> bool) -> Option<usize> {
    let (blocks, _) = rest.as_chunks::<BLOCK>();
    let skipped = blocks
        .iter()
        .take_while(|block| !block.iter().fold(false, |any, &byte| any | is(byte)))
        .count();
    let from = skipped * BLOCK;
    rest[from..].iter().position(|&byte| is(byte)).map(|at| from + at)
}

/// Whether a search has paid so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Worth {
    searches: u32,
    skipped: u64,
}

impl Worth {
    /// Counts a search by the gate, which pays if it skips `least` bytes; false: no more of them for a while.
    pub(super) fn passes(&mut self, skipped: usize, least: u64) -> bool {
        self.searches += 1;
        self.skipped += skipped as u64;
        if self.searches < 64 {
            return true;
        }
        let worth = self.skipped >= least * u64::from(self.searches);
        (self.searches, self.skipped) = (self.searches / 2, self.skipped / 2);
        if !worth {
            *self = Worth::default();
        }
        worth
    }

    /// Counts a search; false: no more of them.
    pub(super) fn add(&mut self, skipped: usize, skip: &Skip) -> bool {
        self.searches += 1;
        self.skipped += skipped as u64;
        if self.searches < 64 {
            return true;
        }
        let least = match skip {
            Skip::Never => return true,
            Skip::One(_) | Skip::Two(..) | Skip::Three(..) => 16,
            Skip::Ranges(_) | Skip::Table(_) => 24,
            Skip::Before(..) => 32,
        };
        let worth = self.skipped >= least * u64::from(self.searches);
        // Recent searches count more.
        self.searches /= 2;
        self.skipped /= 2;
        worth
    }
}
