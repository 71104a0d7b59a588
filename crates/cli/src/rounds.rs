//! Several rounds of one measurement: their median, and how far they lie apart.

/// How many rounds each measurement has at least. In each round every measurement has its turn, so that
/// what else the machine does for a while falls on all of them.
pub const ROUNDS: u32 = 5;

/// How many rounds there are at most: more than [`ROUNDS`] while these lie far apart.
pub const MOST: u32 = 15;

/// A spread from which on the rates say more of what else ran than of the device.
const WIDE: f64 = 0.1;

/// Whether so many rounds are enough: all rates are steady, or it is of no use to go on.
pub fn enough(rounds: u32, mut all: impl Iterator<Item = Rounds>) -> bool {
    rounds >= MOST || rounds >= ROUNDS && !all.any(|rates| rates.is_wide())
}

/// The rates of several rounds: of those [`ROUNDS`] that lie closest together, where there are more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// The rate in the middle.
    pub median: f64,
    /// The distance of the highest from the lowest, relative to the median.
    pub spread: f64,
}

impl Rounds {
    /// Of one rate for each round.
    pub fn of(rates: impl IntoIterator<Item = f64>) -> Rounds {
        let mut rates: Vec<f64> = rates.into_iter().collect();
        rates.sort_by(f64::total_cmp);
        let of = |rates: &[f64]| {
            let (Some(&least), Some(&most)) = (rates.first(), rates.last()) else {
                return Rounds { median: 0.0, spread: 0.0 };
            };
            let median = rates[rates.len() / 2];
            Rounds { median, spread: if median > 0.0 { (most - least) / median } else { 0.0 } }
        };
        let closest = rates.windows(ROUNDS as usize).map(of);
        closest.min_by(|a, b| a.spread.total_cmp(&b.spread)).unwrap_or_else(|| of(&rates))
    }

    /// Whether the rounds lie so far apart that the median is to be doubted.
    pub fn is_wide(&self) -> bool {
        self.spread > WIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread() {
        let steady = Rounds::of([100.0, 102.0, 101.0, 99.0, 100.5]);
        assert_eq!(steady.median, 100.5);
        assert!(!steady.is_wide());
        let disturbed = Rounds::of([1.84, 0.66, 1.8, 1.82, 1.79]);
        assert_eq!(disturbed.median, 1.8);
        assert!(disturbed.is_wide() && disturbed.spread > 0.6);
        assert_eq!(Rounds::of([]), Rounds { median: 0.0, spread: 0.0 });
        // A sixth round makes up for the one that was disturbed.
        let mended = Rounds::of([1.84, 0.66, 1.8, 1.82, 1.79, 1.81]);
        assert_eq!(mended.median, 1.81);
        assert!(!mended.is_wide());
        assert!(!enough(4, [steady].into_iter()) && enough(5, [steady].into_iter()));
        assert!(!enough(5, [steady, disturbed].into_iter()) && enough(15, [disturbed].into_iter()));
    }
}
