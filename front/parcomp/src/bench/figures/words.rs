//! Sentences from numbers.

use crate::bench::{chart::number, stats::Spread};

/// Differences of the medians below this are not worth a word, whatever the spread.
const NOTICEABLE: f64 = 0.02;

/// "2.1×".
pub(super) fn times(factor: f64) -> String {
    format!("{}×", number(factor))
}

/// "12 %" of the difference between `a` and `b`, relative to `b`.
pub(super) fn percent(a: f64, b: f64) -> String {
    let difference = ((a - b) / b * 100.0).abs();
    match difference {
        d if d >= 9.95 => format!("{d:.0} %"),
        d => format!("{d:.1} %"),
    }
}

/// Whether `a` is less than, more than or about the same as `b`: the same when their spreads
/// overlap or the difference is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Less,
    Same,
    More,
}

pub(super) fn verdict(a: &Spread, b: &Spread) -> Verdict {
    let close = (a.median - b.median).abs() <= NOTICEABLE * b.median;
    match a.median < b.median {
        _ if close || a.overlaps(b) => Verdict::Same,
        true => Verdict::Less,
        false => Verdict::More,
    }
}

/// How `a` compares with `b` in `what`: "12 % less CPU time".
pub(super) fn against(a: &Spread, b: &Spread, what: &str) -> String {
    match verdict(a, b) {
        Verdict::Same => format!("the same {what} within the spread"),
        Verdict::Less => format!("{} less {what}", percent(a.median, b.median)),
        Verdict::More => format!("{} more {what}", percent(a.median, b.median)),
    }
}

/// How the subject's `a` compares with the object's `b`, as a sentence.
pub(super) fn claim(subject: &str, a: &Spread, what: &str, object: &str, b: &Spread) -> String {
    match verdict(a, b) {
        Verdict::Same => format!("{subject} takes as much {what} as {object}, within the spread"),
        _ => format!("{subject} takes {} than {object}", against(a, b, what)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, against, claim, percent, times, verdict};
    use crate::bench::stats::Spread;

    fn spread(min: f64, median: f64, max: f64) -> Spread {
        Spread { median, min, max }
    }

    #[test]
    fn a_difference_counts_when_it_is_beyond_the_spread() {
        let base = spread(0.95, 1.0, 1.05);
        assert_eq!(verdict(&spread(0.85, 0.9, 0.94), &base), Verdict::Less);
        assert_eq!(verdict(&spread(0.85, 0.9, 0.96), &base), Verdict::Same);
        assert_eq!(verdict(&spread(1.2, 1.3, 1.4), &base), Verdict::More);
        assert_eq!(verdict(&Spread::exact(1.01), &Spread::exact(1.0)), Verdict::Same);
    }

    #[test]
    fn sentences() {
        assert_eq!(times(2.123), "2.12×");
        assert_eq!(percent(0.8, 1.0), "20 %");
        let words = against(&Spread::exact(1.25), &Spread::exact(1.0), "CPU time");
        assert_eq!(words, "25 % more CPU time");
        let same = claim("A", &Spread::exact(1.0), "time", "B", &Spread::exact(1.0));
        assert_eq!(same, "A takes as much time as B, within the spread");
        let less = claim("A", &Spread::exact(0.5), "time", "B", &Spread::exact(1.0));
        assert_eq!(less, "A takes 50 % less time than B");
    }
}
