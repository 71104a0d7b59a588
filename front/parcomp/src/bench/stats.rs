//! Medians and spreads of repeated measurements.

/// What several rounds of one measurement gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// Of at least one value; the median of an even number is the mean of the middle two.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Spread::exact(0.0);
        };
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
            _ => sorted[middle],
        };
        Spread { median, min, max }
    }

    /// A value without spread.
    pub fn exact(value: f64) -> Spread {
        Spread { median: value, min: value, max: value }
    }

    /// All three multiplied by `factor`, which is not negative.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Spread {
        Spread { median: self.median * factor, min: self.min * factor, max: self.max * factor }
    }

    /// Whether the ranges from min to max have a value in common: a difference of the medians then
    /// says nothing.
    pub fn overlaps(&self, other: &Spread) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0]).median, 2.5);
    }

    #[test]
    fn overlap_needs_a_common_value() {
        let spread = |min, max| Spread { median: min, min, max };
        assert!(spread(1.0, 2.0).overlaps(&spread(2.0, 3.0)));
        assert!(!spread(1.0, 2.0).overlaps(&spread(2.1, 3.0)));
    }
}
