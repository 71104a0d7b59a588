//! Where what lies in a page.

/// What a page begins with; the last byte is the version.
pub(crate) const MAGIC: [u8; 16] = *b"lookaside page 1";
/// What a section begins with.
pub(crate) const SECTION: u64 = u64::from_ne_bytes(*b"section1");
/// The same number on every machine, whose bytes are in another order where the byte order is another one: then no page is read.
pub(crate) const ORDER: u64 = 0x0102_0304_0506_0708;
/// Everything begins at a multiple of this.
pub(crate) const ALIGN: usize = 4096;
/// No page becomes larger, and none is read that is.
pub const MOST_BYTES: usize = 64 << 20;

/// Words of the head.
pub(crate) mod head {
    pub(crate) const ORDER: usize = 2;
    pub(crate) const PID: usize = 3;
    pub(crate) const START: usize = 4;
    pub(crate) const CHANGES: usize = 5;
    pub(crate) const NO_ROOM: usize = 6;
    pub(crate) const CREATED: usize = 7;
    pub(crate) const NAMESPACE: usize = 8;
    /// In bytes.
    pub(crate) const PROGRAM: std::ops::Range<usize> = 128..192;
}

/// Words of a section's head.
pub(crate) mod section {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const LENGTH: usize = 1;
    pub(crate) const KIND: usize = 2;
    pub(crate) const ROWS: usize = 3;
    pub(crate) const WORDS: usize = 4;
    pub(crate) const TAIL: usize = 5;
    pub(crate) const COUNTS: usize = 6;
    /// In bytes.
    pub(crate) const LABEL: std::ops::Range<usize> = 64..80;
    pub(crate) const COLUMNS: usize = 80;
    pub(crate) const NAMES: usize = 128;
}

/// The bytes of a device's name, a column's, a label.
pub(crate) const SHORT: usize = 16;
/// The bytes of a row's name.
pub const LONG: usize = 48;
/// The bytes of both names of a row.
pub(crate) const NAME: usize = SHORT + LONG;

pub(crate) const OPERATIONS: u64 = 1;
pub(crate) const CALLS: u64 = 2;

/// Power-of-two buckets of a histogram: bucket 0 counts zeros, bucket `i` values from 2^(i-1) to 2^i - 1, the last one
/// everything above.
pub const BUCKETS: usize = 40;

/// The words of a row that counts an operation of a device.
pub mod operation {
    use super::BUCKETS;

    /// Requests answered, errors included.
    pub const REQUESTS: usize = 0;
    /// Bytes consumed from sources.
    pub const SRC_BYTES: usize = 1;
    /// Bytes produced in destinations.
    pub const DST_BYTES: usize = 2;
    /// Batches submitted.
    pub const BATCHES: usize = 3;
    /// Requests answered with an error.
    pub const ERRORS: usize = 4;
    /// How often the device took fewer requests than it was offered.
    pub const BUSY: usize = 5;
    /// Requests that left the device for the next one of the route.
    pub const REROUTED: usize = 6;
    /// Time that engines had requests in the device, in nanoseconds.
    pub const BUSY_NS: usize = 7;
    /// From push until an engine took the request, in nanoseconds: the sum over requests.
    pub const QUEUE_TOTAL_NS: usize = 8;
    /// From then until it was finished: the sum over requests.
    pub const SERVICE_TOTAL_NS: usize = 9;
    /// Requests of each batch, a histogram.
    pub const LANES: usize = 10;
    /// From push until an engine took the request, a histogram.
    pub const QUEUE_NS: usize = LANES + BUCKETS;
    /// From then until it was finished, a histogram.
    pub const SERVICE_NS: usize = QUEUE_NS + BUCKETS;
    /// How many words there are.
    pub const WORDS: usize = SERVICE_NS + BUCKETS;
}

/// The rows of a bank: their names, and what is counted in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) kind: u64,
    pub(crate) label: String,
    pub(crate) columns: [&'static str; 3],
    pub(crate) names: Vec<(String, String)>,
    pub(crate) row: usize,
    pub(crate) tail: usize,
}

impl Shape {
    /// Rows of [`operation::WORDS`] words for these devices and operations, and behind them two words: requests that
    /// reached no device, and resets of channels.
    pub fn operations(names: impl IntoIterator<Item = (String, String)>) -> Shape {
        Shape {
            kind: OPERATIONS,
            label: "runtime".to_owned(),
            columns: [""; 3],
            names: names.into_iter().collect(),
            row: operation::WORDS,
            tail: 2,
        }
    }

    /// Rows of three words that a library counts: how often, and two more by their names.
    pub fn calls<'a>(
        library: &str,
        columns: [&'static str; 3],
        names: impl IntoIterator<Item = &'a str>,
    ) -> Shape {
        Shape {
            kind: CALLS,
            label: library.to_owned(),
            columns,
            names: names.into_iter().map(|name| (String::new(), name.to_owned())).collect(),
            row: 3,
            tail: 0,
        }
    }

    /// How many words that is.
    pub fn words(&self) -> usize {
        self.names.len() * self.row + self.tail
    }

    /// Where the counts begin in a section, in bytes.
    pub(crate) fn counts_at(&self) -> usize {
        section::NAMES + self.names.len() * NAME
    }

    /// The length of a section, in bytes.
    pub(crate) fn section_bytes(&self) -> usize {
        (self.counts_at() + 8 * self.words()).next_multiple_of(ALIGN)
    }

    /// A section before anything is counted, as far as the counts, without the magic.
    pub(crate) fn section(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.counts_at()];
        let mut word = |place: usize, value: usize| {
            bytes[8 * place..8 * place + 8].copy_from_slice(&(value as u64).to_ne_bytes());
        };
        word(section::LENGTH, self.section_bytes());
        word(section::KIND, self.kind as usize);
        word(section::ROWS, self.names.len());
        word(section::WORDS, self.row);
        word(section::TAIL, self.tail);
        word(section::COUNTS, self.counts_at());
        put(&mut bytes[section::LABEL], &self.label);
        for (n, column) in self.columns.iter().enumerate() {
            put(&mut bytes[section::COLUMNS + n * SHORT..][..SHORT], column);
        }
        for (n, (device, name)) in self.names.iter().enumerate() {
            let place = &mut bytes[section::NAMES + n * NAME..][..NAME];
            put(&mut place[..SHORT], device);
            put(&mut place[SHORT..], name);
        }
        bytes
    }
}

/// Puts a text into its place, cut where it is too long.
pub(crate) fn put(place: &mut [u8], text: &str) {
    let length = text.len().min(place.len());
    place[..length].copy_from_slice(&text.as_bytes()[..length]);
}
