//! Many packets side by side: which kernel serves which session, and the steps of a group of
//! packets that one kernel takes at once.

mod admit;
pub(crate) mod alone;
#[cfg_attr(not(target_arch = "x86_64"), path = "cbc_mac_absent.rs")]
mod cbc_mac;
pub(crate) mod hash;
mod own;
mod steps;
mod table;

use zeroize::Zeroize;

pub(crate) use admit::{Limits, Shape};
pub(crate) use steps::Machine;
pub(crate) use table::{AeadLane, CipherLane, Kernel, MacLane, Plan, SideBySide, Turn};

/// How many packets are taken at once.
pub(crate) const MOST: usize = 64;

/// Some of up to [`MOST`] packets, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(u64);

impl Group {
    pub(crate) const EMPTY: Group = Group(0);

    #[inline(always)]
    pub(crate) fn insert(&mut self, place: usize) {
        self.0 |= 1 << place;
    }

    #[inline(always)]
    pub(crate) fn remove_all(&mut self, others: Group) {
        self.0 &= !others.0;
    }

    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    #[inline(always)]
    pub(crate) fn contains(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, place: usize) {
        self.0 &= !(1 << place);
    }
}

impl Iterator for Group {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        if place == MOST {
            return None;
        }
        self.0 &= self.0 - 1;
        Some(place)
    }
}

/// Tags before they go where they belong, by the packets' places. A tag that does not match is
/// what a forger wants: they are cleared in the end.
#[repr(align(64))]
pub(crate) struct Tags([[u8; 64]; MOST]);

impl Tags {
    pub(crate) fn new() -> Box<Tags> {
        Box::new(Tags([[0; 64]; MOST]))
    }
}

impl std::ops::Index<usize> for Tags {
    type Output = [u8; 64];

    #[inline(always)]
    fn index(&self, place: usize) -> &[u8; 64] {
        &self.0[place]
    }
}

impl std::ops::IndexMut<usize> for Tags {
    #[inline(always)]
    fn index_mut(&mut self, place: usize) -> &mut [u8; 64] {
        &mut self.0[place]
    }
}

impl Drop for Tags {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_counts_its_places() {
        assert_eq!(Group::EMPTY.count(), 0);
        let mut group = Group::EMPTY;
        for place in [0, 1, 2, MOST - 1] {
            group.insert(place);
        }
        group.remove(1);
        assert_eq!(group.collect::<Vec<_>>(), [0, 2, 63]);
    }
}
