//! Regular expressions over bytes, after parsing: flags and UTF-8 are already resolved.

/// A set of bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);

    /// The set of one byte.
    pub const fn one(byte: u8) -> ByteSet {
        let mut words = [0; 4];
        words[byte as usize >> 6] = 1 << (byte & 63);
        ByteSet(words)
    }

    /// The bytes from `first` to `last`, both included; empty if `first` is larger.
    pub fn range(first: u8, last: u8) -> ByteSet {
        (first..=last).collect()
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Whether `byte` is in the set.
    pub const fn contains(&self, byte: u8) -> bool {
        self.0[byte as usize >> 6] >> (byte & 63) & 1 != 0
    }

    /// The number of bytes in the set, 0 to 256.
    pub const fn len(&self) -> usize {
        let [a, b, c, d] = self.0;
        (a.count_ones() + b.count_ones() + c.count_ones() + d.count_ones()) as usize
    }

    /// Whether the set has no byte.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that are in either set.
    #[must_use]
    pub const fn union(self, other: ByteSet) -> ByteSet {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        ByteSet([a | e, b | f, c | g, d | h])
    }

    /// The bytes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: ByteSet) -> ByteSet {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        ByteSet([a & e, b & f, c & g, d & h])
    }

    /// The bytes that are not in the set.
    #[must_use]
    pub const fn complement(self) -> ByteSet {
        let [a, b, c, d] = self.0;
        ByteSet([!a, !b, !c, !d])
    }

    /// The set with the other case of each ASCII letter added.
    #[must_use]
    pub fn both_cases(self) -> ByteSet {
        self.iter()
            .flat_map(|byte| [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()])
            .collect()
    }

    /// The bytes of the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=255).filter(move |&byte| self.contains(byte))
    }

    /// The 256 bits, byte 0 first: for tables and saved sets.
    pub const fn words(&self) -> [u64; 4] {
        self.0
    }

    /// The inverse of [`words`](ByteSet::words).
    pub const fn from_words(words: [u64; 4]) -> ByteSet {
        ByteSet(words)
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<T: IntoIterator<Item = u8>>(bytes: T) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        bytes.into_iter().for_each(|byte| set.insert(byte));
        set
    }
}

impl std::fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes: Vec<u8> = self.iter().collect();
        write!(f, "[{}]", bytes.escape_ascii())
    }
}

/// A condition on a place between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Assertion {
    /// Before the first byte: `^` without multiline, `\A`.
    TextStart,
    /// After the last byte: `\z`.
    TextEnd,
    /// After the last byte, or before a newline that is the last byte: `$` without multiline, `\Z`.
    TextEndOrNewline,
    /// Before the first byte, or after a newline that is not the last byte: `^` with multiline.
    LineStart,
    /// After the last byte, or before a newline: `$` with multiline.
    LineEnd,
    /// Between a word byte (`[0-9A-Za-z_]`) and one that is not, or an end of the text: `\b`.
    WordBoundary,
    /// Every other place: `\B`.
    NotWordBoundary,
}

/// A regular expression over bytes. Whether a repeat is greedy makes no difference where all matches are reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The empty string.
    Empty,
    /// One byte of the set. With an empty set: nothing matches.
    Class(ByteSet),
    /// One after the other.
    Concat(Vec<Node>),
    /// One of them; of none, nothing matches.
    Alternate(Vec<Node>),
    /// `min` to `max` times; without `max`, any number from `min`.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// The least number of times.
        min: u32,
        /// The largest number of times, at least `min`; `None`: unbounded.
        max: Option<u32>,
    },
    /// The empty string where the condition holds.
    Assert(Assertion),
}

/// The least and the largest number of bytes of a match; `None`: unbounded.
pub(crate) fn width(node: &Node) -> (u64, Option<u64>) {
    match node {
        Node::Empty | Node::Assert(_) => (0, Some(0)),
        Node::Class(_) => (1, Some(1)),
        Node::Concat(nodes) => width_of(nodes),
        Node::Alternate(nodes) => {
            let widths = nodes.iter().map(width);
            let either = widths.reduce(|(min, max), (least, most)| {
                (min.min(least), max.zip(most).map(|(max, most)| max.max(most)))
            });
            either.unwrap_or((0, Some(0)))
        }
        Node::Repeat { node, min, max } => {
            let (least, most) = width(node);
            let all = match (most, max) {
                (Some(0), _) => Some(0),
                (Some(most), Some(max)) => Some(most.saturating_mul((*max).into())),
                _ => None,
            };
            (least.saturating_mul((*min).into()), all)
        }
    }
}

/// The same of nodes one after the other.
pub(crate) fn width_of(nodes: &[Node]) -> (u64, Option<u64>) {
    nodes.iter().map(width).fold((0, Some(0)), |(min, max), (least, most)| {
        (min.saturating_add(least), max.zip(most).map(|(max, most)| max.saturating_add(most)))
    })
}
