//! What the scans of a set did.

/// The counters of a set of patterns.
///
/// They may be a scan behind one that runs. Scans, bytes and matches are exact. Time and candidates are what scans cost,
/// which is measured of all scans of 16 KB and more, of the first 32 shorter ones, and then of each 32nd of those, for which
/// it counts 32 times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Scans of whole texts and of pieces.
    pub scans: u64,
    /// Bytes that were scanned.
    pub bytes: u64,
    /// The time that scans took, in nanoseconds.
    pub time_ns: u64,
    /// Of each pattern, in the order of the set.
    pub patterns: Vec<PatternCounters>,
}

/// The counters of one pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternCounters {
    /// The pattern's id.
    pub id: u32,
    /// Matches that were reported. Of patterns with one id that match at one end, the first one counts.
    pub matches: u64,
    /// Occurrences of its strings, around which the rest of the pattern was checked. Patterns without a string have
    /// none: automata look for them.
    pub candidates: u64,
}

impl Counters {
    /// Matches that were reported.
    pub fn matches(&self) -> u64 {
        self.patterns.iter().map(|pattern| pattern.matches).sum()
    }

    /// Occurrences of strings around which patterns were checked.
    pub fn candidates(&self) -> u64 {
        self.patterns.iter().map(|pattern| pattern.candidates).sum()
    }

    /// The same for 1,000 bytes scanned.
    pub fn candidates_per_kb(&self) -> f64 {
        self.candidates() as f64 * 1e3 / self.bytes.max(1) as f64
    }

    /// Adds the counters of the same set elsewhere.
    pub fn add(&mut self, other: &Counters) {
        self.scans += other.scans;
        self.bytes += other.bytes;
        self.time_ns += other.time_ns;
        if self.patterns.is_empty() {
            self.patterns.clone_from(&other.patterns);
            return;
        }
        for (own, other) in self.patterns.iter_mut().zip(&other.patterns) {
            own.matches += other.matches;
            own.candidates += other.candidates;
        }
    }
}
