//! The bytes that may stand in a gap.

use crate::node::ByteSet;

/// A class of bytes, with the quickest way to find the last and the first byte that is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stretch {
    class: ByteSet,
    others: Others,
}

/// The bytes outside of a class. `[^"]`, `[^\r\n]` and `.` leave out one, two or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Others {
    None,
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    Many,
}

impl Stretch {
    pub(crate) fn new(class: ByteSet) -> Stretch {
        let mut outside = class.complement().iter();
        let others = match [(); 4].map(|()| outside.next()) {
            [None, ..] => Others::None,
            [Some(a), None, ..] => Others::One(a),
            [Some(a), Some(b), None, _] => Others::Two(a, b),
            [Some(a), Some(b), Some(c), None] => Others::Three(a, b, c),
            _ => Others::Many,
        };
        Stretch { class, others }
    }

    pub(crate) fn class(&self) -> ByteSet {
        self.class
    }

    /// Whether any byte is in the class.
    pub(crate) fn is_any(&self) -> bool {
        matches!(self.others, Others::None)
    }

    /// The index of the last byte that is not in the class.
    pub(crate) fn last_outside(&self, data: &[u8]) -> Option<usize> {
        match self.others {
            Others::None => None,
            Others::One(a) => memchr::memrchr(a, data),
            Others::Two(a, b) => memchr::memrchr2(a, b, data),
            Others::Three(a, b, c) => memchr::memrchr3(a, b, c, data),
            Others::Many => data.iter().rposition(|&byte| !self.class.contains(byte)),
        }
    }

    /// The index of the first byte that is not in the class.
    pub(crate) fn first_outside(&self, data: &[u8]) -> Option<usize> {
        match self.others {
            Others::None => None,
            Others::One(a) => memchr::memchr(a, data),
            Others::Two(a, b) => memchr::memchr2(a, b, data),
            Others::Three(a, b, c) => memchr::memchr3(a, b, c, data),
            Others::Many => data.iter().position(|&byte| !self.class.contains(byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_outside_are_found_in_each_way() {
        let data = b"abcd abcd";
        for outside in ["", "c", "bd", "abc", "abcd"] {
            let stretch = Stretch::new(outside.bytes().collect::<ByteSet>().complement());
            let last = data.iter().rposition(|&byte| outside.as_bytes().contains(&byte));
            assert_eq!(stretch.last_outside(data), last, "{outside:?}");
            assert_eq!(stretch.last_outside(b"...."), None);
            let first = data.iter().position(|&byte| outside.as_bytes().contains(&byte));
            assert_eq!(stretch.first_outside(data), first, "{outside:?}");
        }
    }
}
