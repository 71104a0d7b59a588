//! How long one side looks for news of the other before it sleeps.

/// Learns whether looking pays: it does where news come before a wake-up would.
#[derive(Debug)]
pub struct Patience {
    look_ns: u64,
    /// Sleeps since looking for longer was last tried.
    sleeps: u32,
}

const MOST_NS: u64 = 30_000;
const LEAST_NS: u64 = 500;
/// After so many sleeps, looking is tried again.
const AGAIN: u32 = 64;

impl Patience {
    /// Looks at first.
    pub fn new() -> Patience {
        Patience { look_ns: MOST_NS, sleeps: 0 }
    }

    /// For how long to look, in nanoseconds.
    pub fn look_ns(&self) -> u64 {
        self.look_ns
    }

    /// News came after so long.
    pub fn found(&mut self, after_ns: u64) {
        if after_ns <= MOST_NS {
            (self.look_ns, self.sleeps) = (MOST_NS, 0);
            return;
        }
        self.sleeps += 1;
        self.look_ns = match self.sleeps % AGAIN {
            0 => MOST_NS,
            _ => (self.look_ns / 2).max(LEAST_NS),
        };
    }
}

impl Default for Patience {
    fn default() -> Patience {
        Patience::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_while_that_pays() {
        let mut patience = Patience::new();
        (0..10).for_each(|_| patience.found(200_000));
        assert_eq!(patience.look_ns(), LEAST_NS);
        patience.found(2_000);
        assert_eq!(patience.look_ns(), MOST_NS);
        let looked = (0..AGAIN).filter(|_| {
            patience.found(200_000);
            patience.look_ns() == MOST_NS
        });
        assert_eq!(looked.count(), 1, "and is tried again now and then");
    }
}
