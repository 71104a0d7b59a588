//! Dates, times and durations (Datatypes, 3.2.6 to 3.2.14).

use std::cmp::Ordering;

use super::Primitive;

/// A year of more digits would not fit the seconds.
const MAX_YEAR_DIGITS: usize = 11;
const DAY: i64 = 86_400;
/// Fractions of a second are counted in 10^-18 s; digits beyond are not compared.
const FRACTION_DIGITS: usize = 18;

/// A point in time, or a recurring one as its first point of a reference period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since the beginning of 1970, in UTC if there is a time zone.
    seconds: i64,
    fraction: u64,
    has_zone: bool,
}

/// Months and seconds, both with the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duration {
    months: i64,
    seconds: i64,
    fraction: i64,
}

struct Scanner<'a>(&'a [u8]);

impl<'a> Scanner<'a> {
    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                Some(())
            }
            _ => None,
        }
    }

    #[inline]
    fn digits(&mut self) -> &'a [u8] {
        let len = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        digits
    }

    #[inline]
    fn two(&mut self, from: u8, to: u8) -> Option<u8> {
        let [a, b, rest @ ..] = self.0 else { return None };
        let (a, b) = (a.wrapping_sub(b'0'), b.wrapping_sub(b'0'));
        if a > 9 || b > 9 {
            return None;
        }
        let value = a * 10 + b;
        self.0 = rest;
        (from..=to).contains(&value).then_some(value)
    }

    /// Digits behind a point, at least one, as a part of 10^18.
    fn fraction(&mut self) -> Option<u64> {
        let digits = self.digits();
        if digits.is_empty() {
            return None;
        }
        let padded = digits.iter().copied().chain(std::iter::repeat(b'0'));
        Some(
            padded
                .take(FRACTION_DIGITS)
                .fold(0, |value, digit| value * 10 + u64::from(digit - b'0')),
        )
    }

    fn year(&mut self) -> Option<i64> {
        let negative = self.take(b'-').is_some();
        let digits = self.digits();
        if !(4..=MAX_YEAR_DIGITS).contains(&digits.len()) || digits.len() > 4 && digits[0] == b'0' {
            return None;
        }
        let year = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        // 0000 is no year.
        (year != 0).then_some(if negative { -year } else { year })
    }

    /// Seconds to subtract for UTC.
    fn zone(&mut self) -> Option<Option<i64>> {
        let sign = match self.0.first() {
            None => return Some(None),
            Some(b'Z') => {
                self.0 = &self.0[1..];
                return Some(Some(0));
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.two(0, 14)?;
        self.take(b':')?;
        let minutes = self.two(0, if hours == 14 { 0 } else { 59 })?;
        Some(Some(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60)))
    }
}

/// Whether a text is a date or a date with a time as most are: of a year with four digits, a day that every month has, whole
/// seconds, no time zone or `Z`. Others may be literals too.
#[inline]
pub(crate) fn is_common(kind: Primitive, text: &[u8]) -> bool {
    let (date, rest) = match (kind, text.split_first_chunk::<10>()) {
        (Primitive::Date | Primitive::DateTime, Some(parts)) => parts,
        _ => return false,
    };
    let digit = |byte: u8| byte.wrapping_sub(b'0');
    let is_within = |tens: u8, ones: u8, from: u8, to: u8| {
        let (tens, ones) = (digit(tens), digit(ones));
        tens <= 9 && ones <= 9 && (from..=to).contains(&(tens * 10 + ones))
    };
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *date else { return false };
    let is_year =
        [y0, y1, y2, y3].iter().all(|byte| digit(*byte) <= 9) && [y0, y1, y2, y3] != *b"0000";
    if !is_year || !is_within(m0, m1, 1, 12) || !is_within(d0, d1, 1, 28) {
        return false;
    }
    match (kind, rest) {
        (Primitive::Date, [] | [b'Z']) => true,
        (
            Primitive::DateTime,
            [b'T', h0, h1, b':', m0, m1, b':', s0, s1]
            | [b'T', h0, h1, b':', m0, m1, b':', s0, s1, b'Z'],
        ) => is_within(*h0, *h1, 0, 23) && is_within(*m0, *m1, 0, 59) && is_within(*s0, *s1, 0, 59),
        _ => false,
    }
}

fn days_in_month(year: i64, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the beginning of 1970 in the Gregorian calendar, also before it; no year 0.
fn days(year: i64, month: u8, day: u8) -> i64 {
    // Years begin in March, so that a leap day is the last one.
    let (shifted, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * i64::from(month) + 2) / 5 + i64::from(day) - 1;
    let count = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    if year < 0 { count + 366 } else { count }
}

impl Moment {
    /// By the kind of the type.
    pub(crate) fn parse(kind: Primitive, text: &[u8]) -> Option<Moment> {
        use Primitive::*;
        let mut text = Scanner(text);
        // Parts that a type lacks are those of a leap year's month with 31 days.
        let (mut year, mut month, mut day) = (1972, 12, 1);
        let (mut seconds, mut fraction) = (0, 0);
        match kind {
            DateTime | Date | GYearMonth | GYear => {
                year = text.year()?;
                month = 1;
                if kind != GYear {
                    text.take(b'-')?;
                    month = text.two(1, 12)?;
                }
                if matches!(kind, DateTime | Date) {
                    text.take(b'-')?;
                    day = text.two(1, days_in_month(year, month))?;
                }
            }
            GMonthDay | GMonth => {
                text.take(b'-')?;
                text.take(b'-')?;
                month = text.two(1, 12)?;
                if kind == GMonthDay {
                    text.take(b'-')?;
                    day = text.two(1, days_in_month(year, month))?;
                }
            }
            GDay => {
                text.take(b'-')?;
                text.take(b'-')?;
                text.take(b'-')?;
                day = text.two(1, 31)?;
            }
            _ => {}
        }
        if kind == DateTime {
            text.take(b'T')?;
        }
        if matches!(kind, DateTime | Time) {
            let hours = text.two(0, 24)?;
            text.take(b':')?;
            let minutes = text.two(0, 59)?;
            text.take(b':')?;
            seconds = i64::from(text.two(0, 59)?);
            if text.take(b'.').is_some() {
                fraction = text.fraction()?;
            }
            if hours == 24 && (minutes != 0 || seconds != 0 || fraction != 0) {
                return None;
            }
            // As a time, 24:00:00 is 00:00:00.
            let hours = if hours == 24 && kind == Time { 0 } else { hours };
            seconds += i64::from(hours) * 3600 + i64::from(minutes) * 60;
        }
        let zone = text.zone()?;
        if !text.0.is_empty() {
            return None;
        }
        let seconds = days(year, month, day) * DAY + seconds - zone.unwrap_or(0);
        // Times recur: they are compared within one day.
        let seconds =
            if kind == Time && zone.is_some() { seconds.rem_euclid(DAY) } else { seconds };
        let seconds = if kind == Time { seconds.rem_euclid(DAY) } else { seconds };
        Some(Moment { seconds, fraction, has_zone: zone.is_some() })
    }

    /// Datatypes, 3.2.7.4. `None`: not determined.
    pub(crate) fn compare(&self, other: &Moment) -> Option<Ordering> {
        const HOURS_14: i64 = 14 * 3600;
        let exact = (self.seconds, self.fraction).cmp(&(other.seconds, other.fraction));
        if self.has_zone == other.has_zone {
            return Some(exact);
        }
        let distance = self.seconds - other.seconds;
        let beyond = distance.abs() > HOURS_14
            || distance == HOURS_14 && self.fraction > other.fraction
            || distance == -HOURS_14 && self.fraction < other.fraction;
        beyond.then_some(exact)
    }

    pub(crate) fn key(&self, key: &mut Vec<u8>) {
        key.push(u8::from(self.has_zone));
        key.extend(self.seconds.to_be_bytes());
        key.extend(self.fraction.to_be_bytes());
    }
}

impl Duration {
    /// `-?PnYnMnDTnHnMnS`. Numbers that the sums cannot hold are refused.
    pub(crate) fn parse(text: &[u8]) -> Option<Duration> {
        let mut text = Scanner(text);
        let sign = if text.take(b'-').is_some() { -1 } else { 1 };
        text.take(b'P')?;
        let (mut months, mut seconds, mut fraction) = (0_i64, 0_i64, 0);
        let mut designators: &[(u8, bool, i64)] =
            &[(b'Y', true, 12), (b'M', true, 1), (b'D', false, DAY), (b'T', false, 0)];
        let (mut is_time, mut count) = (false, 0);
        while !text.0.is_empty() {
            if !is_time && text.take(b'T').is_some() {
                (is_time, count) = (true, 0);
                designators = &[(b'H', false, 3600), (b'M', false, 60), (b'S', false, 1)];
                continue;
            }
            let digits = text.digits();
            if digits.is_empty() {
                return None;
            }
            let mut value = 0_i64;
            for digit in digits {
                value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            }
            let has_point = text.take(b'.').is_some();
            if has_point {
                fraction = text.fraction()? as i64;
            }
            let (designator, rest) = text.0.split_first()?;
            text.0 = rest;
            let place = designators.iter().position(|it| it.0 == *designator && it.2 != 0)?;
            let (_, is_months, unit) = designators[place];
            if has_point && *designator != b'S' {
                return None;
            }
            designators = &designators[place + 1..];
            let sum = if is_months { &mut months } else { &mut seconds };
            *sum = sum.checked_add(value.checked_mul(unit)?)?;
            count += 1;
        }
        let fits = months < 1 << 40 && seconds < 1 << 60;
        // At least one number, and at least one behind `T`.
        (count > 0 && fits).then_some(Duration {
            months: sign * months,
            seconds: sign * seconds,
            fraction: sign * fraction,
        })
    }

    /// Datatypes, 3.2.6.2: the order from four points in time.
    pub(crate) fn compare(&self, other: &Duration) -> Option<Ordering> {
        let points = [(1696, 9), (1697, 2), (1903, 3), (1903, 7)];
        let mut orders = points.map(|(year, month)| {
            let end = |it: &Duration| {
                let months = i64::from(month) - 1 + it.months;
                let days = civil(year + months.div_euclid(12), months.rem_euclid(12) as u8 + 1);
                (i128::from(days) * i128::from(DAY) + i128::from(it.seconds)) * 10_i128.pow(18)
                    + i128::from(it.fraction)
            };
            end(self).cmp(&end(other))
        });
        orders.sort();
        (orders[0] == orders[3]).then_some(orders[0])
    }

    pub(crate) fn key(&self, key: &mut Vec<u8>) {
        for part in [self.months, self.seconds, self.fraction] {
            key.extend(part.to_be_bytes());
        }
    }
}

/// Days as [`days`] has them, with a year 0: only distances matter.
fn civil(year: i64, month: u8) -> i64 {
    days(year, month, 1) - if year < 0 { 366 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(kind: Primitive, text: &str) -> Option<Moment> {
        Moment::parse(kind, text.as_bytes())
    }

    #[test]
    fn moments() {
        use Primitive::*;
        let is = |kind, text| moment(kind, text).is_some();
        assert!(
            is(DateTime, "2004-02-29T24:00:00-14:00") && is(DateTime, "-12004-12-31T23:59:59.5Z")
        );
        for text in [
            "2003-02-29T00:00:00",
            "0000-01-01T00:00:00",
            "2004-01-01T24:00:01",
            "2004-01-01T00:00:60",
            "2004-01-01T00:00:00+14:01",
            "02004-01-01T00:00:00",
            "2004-1-01T00:00:00",
            "2004-01-01",
            "2004-01-01T00:00:00.",
            "2004-01-01T00:00:00z",
            "+2004-01-01T00:00:00",
            "204-01-01T00:00:00",
        ] {
            assert!(!is(DateTime, text), "{text}");
        }
        assert!(is(GMonthDay, "--02-29") && !is(GMonthDay, "--02-30") && is(GDay, "---31+01:00"));
        assert!(
            is(GMonth, "--12Z")
                && !is(GMonth, "--13")
                && !is(GMonth, "--12--")
                && is(GYear, "2004")
        );
        assert!(is(GYearMonth, "2004-12") && is(Time, "24:00:00") && !is(Time, "24:00:00.1"));
        let same =
            |kind, one, other| moment(kind, one).unwrap().compare(&moment(kind, other).unwrap());
        assert_eq!(
            same(DateTime, "2000-01-01T24:00:00Z", "2000-01-02T01:00:00+01:00"),
            Some(Ordering::Equal)
        );
        assert_eq!(same(DateTime, "2000-01-01T00:00:00", "2000-01-01T13:00:00Z"), None);
        assert_eq!(
            same(DateTime, "2000-01-01T00:00:00", "2000-01-01T14:00:01Z"),
            Some(Ordering::Less)
        );
        assert_eq!(
            same(DateTime, "-0001-12-31T23:59:59Z", "0001-01-01T00:00:00Z"),
            Some(Ordering::Less)
        );
        assert_eq!(
            same(DateTime, "-0001-12-31T24:00:00Z", "0001-01-01T00:00:00Z"),
            Some(Ordering::Equal)
        );
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2026, 11, 26), 20_783);
    }

    #[test]
    fn common_moments_are_literals() {
        let texts = ["2024-02-28", "1999-12-01Z", "2024-02-28T23:59:59", "0001-01-01T00:00:00Z"];
        let mut accepted = 0;
        for text in texts {
            for at in 0..text.len() {
                for byte in 0..=255 {
                    let mut other = text.as_bytes().to_vec();
                    other[at] = byte;
                    for kind in [Primitive::Date, Primitive::DateTime, Primitive::Time] {
                        let is_common = is_common(kind, &other);
                        assert!(!is_common || Moment::parse(kind, &other).is_some(), "{other:?}");
                        accepted += usize::from(is_common);
                    }
                }
            }
        }
        assert!(accepted > 300);
    }

    #[test]
    fn durations() {
        let parse = |text: &str| Duration::parse(text.as_bytes());
        for text in [
            "P", "PT", "P1YT", "1Y", "P1S", "PT1Y", "P1M1Y", "P1.5D", "PT.5S", "PT1.S", "P-1D",
            "P1", "PT1S1S",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("P1Y"), parse("P12M"));
        assert_eq!(parse("P1DT1M"), parse("PT1441M"));
        let order = |one, other| parse(one).unwrap().compare(&parse(other).unwrap());
        // The table of 3.2.6.2.
        assert_eq!(order("P1Y", "P364D"), Some(Ordering::Greater));
        assert_eq!(order("P1Y", "P365D"), None);
        assert_eq!(order("P1Y", "P367D"), Some(Ordering::Less));
        assert_eq!(order("P1M", "P27D"), Some(Ordering::Greater));
        assert_eq!(order("P1M", "P30D"), None);
        assert_eq!(order("P1M", "P32D"), Some(Ordering::Less));
        assert_eq!(order("P5M", "P149D"), Some(Ordering::Greater));
        assert_eq!(order("P5M", "P153D"), None);
        assert_eq!(order("P5M", "P154D"), Some(Ordering::Less));
    }
}
