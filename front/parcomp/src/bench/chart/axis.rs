//! Axes: where a value lies, and which ticks to write.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Equal steps for equal factors; values above 0.
    Log2,
}

/// A range of values mapped to a range of the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    scale: Scale,
    values: (f64, f64),
    picture: (f64, f64),
}

impl Range {
    pub(super) fn new(scale: Scale, values: (f64, f64), picture: (f64, f64)) -> Range {
        Range { scale, values, picture }
    }

    /// The coordinate of `value`.
    pub(super) fn at(&self, value: f64) -> f64 {
        let place = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Log2 => v.max(f64::MIN_POSITIVE).log2(),
        };
        let (low, high) = (place(self.values.0), place(self.values.1));
        let part = if high > low { (place(value) - low) / (high - low) } else { 0.5 };
        self.picture.0 + part * (self.picture.1 - self.picture.0)
    }
}

/// Round ticks that enclose `low..=high`, about `count` of them.
pub(super) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step + 1e-9).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    (first..=last.max(first + 1)).map(|n| n as f64 * step).collect()
}

/// `value` with as many decimals as `step` between ticks needs.
pub(super) fn tick_text(value: f64, step: f64) -> String {
    let decimals = (-(step.abs().log10() + 1e-9).floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

/// A measured value with three digits that count.
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.1 || v == 0.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::{Range, Scale, number, tick_text, ticks};

    #[test]
    fn ticks_enclose_and_are_round() {
        assert_eq!(ticks(0.0, 9.3, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(36.2, 48.9, 5), [35.0, 40.0, 45.0, 50.0]);
        for (low, high) in [(0.0, 0.0), (0.0, 1e-5), (3.0, 3.0), (0.0, 12345.6)] {
            let t = ticks(low, high, 5);
            let above = t[t.len() - 1] - high;
            assert!(t.len() >= 2 && t[0] <= low && above > -1e-9 * high, "{t:?}");
        }
    }

    #[test]
    fn texts() {
        assert_eq!(tick_text(0.15000000000000002, 0.05), "0.15");
        assert_eq!(tick_text(20.0, 10.0), "20");
        assert_eq!(number(123.4), "123");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(1.234), "1.23");
        assert_eq!(number(9.999), "10.0");
        assert_eq!(number(0.0123), "0.012");
    }

    #[test]
    fn log_scale_gives_equal_steps_for_equal_factors() {
        let r = Range::new(Scale::Log2, (1.0, 16.0), (0.0, 100.0));
        assert_eq!([1.0, 4.0, 16.0].map(|v| r.at(v)), [0.0, 50.0, 100.0]);
    }
}
