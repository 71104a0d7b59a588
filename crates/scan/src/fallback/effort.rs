//! Whether making states pays.

/// States between two decisions.
const STATES: usize = 1024;
/// States that serve for fewer bytes each than this are not worth making.
const BYTES_PER_STATE: u64 = 12;
/// After so many poor decisions in a row the program runs without.
const POOR: u32 = 3;
/// The number of bytes that run without: the first time, and at most; doubled each time.
const DIRECT_BYTES: u64 = 1 << 16;
const DIRECT_BYTES_MAX: u64 = 1 << 26;

/// Weighs bytes against states.
#[derive(Default, Debug)]
pub(super) struct Effort {
    /// Bytes and states at the last decision.
    bytes: u64,
    states: usize,
    poor: u32,
    /// How often the program ran without.
    times: u32,
}

impl Effort {
    /// Before another state is made: `bytes` were scanned and `states` made since the cache was empty; it may be `full`.
    /// Returns the number of bytes to run without states instead, if it is better.
    pub(super) fn direct(&mut self, bytes: u64, states: usize, full: bool) -> Option<u64> {
        if states < self.states + STATES && !full {
            return None;
        }
        let poor =
            bytes.saturating_sub(self.bytes) < BYTES_PER_STATE * (states - self.states) as u64;
        (self.bytes, self.states) = if full { (0, 0) } else { (bytes, states) };
        if !poor {
            (self.poor, self.times) = (0, 0);
            return None;
        }
        self.poor += 1;
        if self.poor < POOR {
            return None;
        }
        self.poor = 0;
        self.times = (self.times + 1).min(32);
        Some((DIRECT_BYTES << (self.times - 1)).min(DIRECT_BYTES_MAX))
    }

    /// The cache was emptied.
    pub(super) fn clear(&mut self) {
        (self.bytes, self.states) = (0, 0);
    }
}
