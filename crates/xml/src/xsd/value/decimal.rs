//! Decimal numbers of any length, compared without conversion.

use std::cmp::Ordering;

/// A literal's number: digits without leading and trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecimalRef<'a> {
    /// Never of zero.
    pub(crate) negative: bool,
    pub(crate) whole: &'a [u8],
    pub(crate) fraction: &'a [u8],
    /// The whole part as a number, modulo 2^64.
    low: u64,
}

/// Digits that a number of 64 bits always holds.
const SHORT: usize = 19;

/// The same, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    whole: Box<[u8]>,
    fraction: Box<[u8]>,
    low: u64,
}

impl<'a> DecimalRef<'a> {
    /// `[+-]? (digits ('.' digits?)? | '.' digits)`.
    #[inline]
    pub(crate) fn parse(text: &'a [u8]) -> Option<DecimalRef<'a>> {
        let (negative, digits) = match text.first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mut point, mut low) = (0, 0_u64);
        while let Some(digit) =
            digits.get(point).map(|byte| byte.wrapping_sub(b'0')).filter(|it| *it <= 9)
        {
            low = low.wrapping_mul(10).wrapping_add(u64::from(digit));
            point += 1;
        }
        let mut whole = &digits[..point];
        let mut fraction = match digits.get(point) {
            None => &[],
            Some(b'.') => &digits[point + 1..],
            Some(_) => return None,
        };
        if !fraction.iter().all(u8::is_ascii_digit) || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        while let [b'0', rest @ ..] = whole {
            whole = rest;
        }
        while let [rest @ .., b'0'] = fraction {
            fraction = rest;
        }
        let negative = negative && !(whole.is_empty() && fraction.is_empty());
        Some(DecimalRef { negative, whole, fraction, low })
    }

    #[inline]
    pub(crate) fn compare(&self, other: &DecimalRef<'_>) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
        }
    }

    #[inline]
    fn magnitude(&self, other: &DecimalRef<'_>) -> Ordering {
        let by_whole = match self.whole.len().max(other.whole.len()) <= SHORT {
            true => self.low.cmp(&other.low),
            false => {
                self.whole.len().cmp(&other.whole.len()).then_with(|| self.whole.cmp(other.whole))
            }
        };
        // A fraction that continues another one is greater: it does not end with zeros.
        by_whole.then_with(|| self.fraction.cmp(other.fraction))
    }

    pub(crate) fn to_owned(self) -> Decimal {
        Decimal {
            negative: self.negative,
            whole: self.whole.into(),
            fraction: self.fraction.into(),
            low: self.low,
        }
    }

    /// A canonical form that is another one for each number.
    pub(crate) fn key(&self, key: &mut Vec<u8>) {
        key.push(u8::from(self.negative));
        key.extend(self.whole);
        key.push(b'.');
        key.extend(self.fraction);
    }
}

impl Decimal {
    pub(crate) fn as_ref(&self) -> DecimalRef<'_> {
        DecimalRef {
            negative: self.negative,
            whole: &self.whole,
            fraction: &self.fraction,
            low: self.low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        let sorted = [
            "-100", "-99.5", "-1.01", "-1", "-0.5", "0", ".05", "0.5", "0.51", "1", "9", "10",
            "10.00001",
        ];
        for (a, one) in sorted.iter().enumerate() {
            for (b, other) in sorted.iter().enumerate() {
                let [one, other] =
                    [one, other].map(|text| DecimalRef::parse(text.as_bytes()).unwrap());
                assert_eq!(one.compare(&other), a.cmp(&b));
            }
        }
        let same =
            ["+1", "1.", "01.00", "1"].map(|text| DecimalRef::parse(text.as_bytes()).unwrap());
        assert!(same.iter().all(|one| *one == same[0]));
        assert_eq!(DecimalRef::parse(b"-0.0"), DecimalRef::parse(b"0"));
        for text in ["", "+", ".", "1.2.3", "1e5", " 1", "--1", "+-1"] {
            assert_eq!(DecimalRef::parse(text.as_bytes()), None);
        }
    }
}
