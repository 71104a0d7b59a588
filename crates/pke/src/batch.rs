//! How the single operations walk through a batch.

use arrayvec::ArrayVec;
use zeroize::Zeroize;

use crate::{Item, OpError};

impl<K> Item<'_, K> {
    /// Runs the item. After an error nothing of what was written to `dst` remains.
    pub(crate) fn run(
        &mut self,
        operation: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, OpError>,
    ) {
        self.result = operation(self.src, self.dst);
        if self.result.is_err() {
            self.dst.zeroize();
        }
    }

    /// Ends the item with an error.
    pub(crate) fn fail(&mut self, error: OpError) {
        self.run(|_, _| Err(error));
    }
}

/// The first `len` bytes of a destination.
pub(crate) fn room(dst: &mut [u8], len: usize) -> Result<&mut [u8], OpError> {
    dst.get_mut(..len).ok_or(OpError::DstTooSmall)
}

/// `src` cut into parts of these lengths, which it has to have exactly.
pub(crate) fn cut<const N: usize>(mut src: &[u8], lens: [usize; N]) -> Result<[&[u8]; N], OpError> {
    let mut parts = [&src[..0]; N];
    for (part, len) in parts.iter_mut().zip(lens) {
        (*part, src) = src.split_at_checked(len).ok_or(OpError::BadInput("too short"))?;
    }
    if src.is_empty() { Ok(parts) } else { Err(OpError::BadInput("too long")) }
}

/// The lanes of a kernel. A longer batch is run in parts of so many items.
pub(crate) const LANES: usize = 8;

/// For each lane, one of these.
pub(crate) type PerLane<T> = ArrayVec<T, LANES>;

/// The most that [`side_by_side`] takes: two for each item of a part.
pub(crate) const MOST: usize = 2 * LANES;

/// Runs items that may share a kernel's lanes, those with equal keys, side by side, and the others
/// one by one; [`MOST`] at most. `pays` says whether so many lanes, of which an item is one, cost less than that many
/// single operations: the kernel takes as long for one lane as for all.
pub(crate) fn side_by_side<T, K: Ord>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
    pays: impl Fn(usize, &T) -> bool,
    mut kernel: impl FnMut(&mut [T]),
    mut single: impl FnMut(&mut T),
) {
    let mut order: ArrayVec<(K, T), MOST> = ArrayVec::new();
    for mut item in items {
        match key(&item) {
            Some(key) => order.push((key, item)),
            None => single(&mut item),
        }
    }
    order.sort_unstable_by(|(one, _), (two, _)| one.cmp(two));
    let (keys, mut items): (ArrayVec<K, MOST>, ArrayVec<T, MOST>) = order.into_iter().unzip();
    let mut rest = &mut items[..];
    for group in keys.chunk_by(|one, two| one == two) {
        let (group, others) = rest.split_at_mut(group.len());
        rest = others;
        for lanes in group.chunks_mut(LANES) {
            if pays(lanes.len(), &lanes[0]) {
                kernel(lanes);
            } else {
                lanes.iter_mut().for_each(&mut single);
            }
        }
    }
}

/// Whether `lanes` lanes of a kernel cost less than that many single operations, for a modulus of
/// `bits` bits in a kernel of `digits` digits of 52 bits. `cost` is what the kernel costs, in
/// hundredths of a single operation, at the length for which the number of digits was chosen: 512
/// bits for 10 digits.
///
/// A shorter modulus pays for digits it does not use. The kernel's multiplications grow with the
/// square of the digits; so do single ones with their words, but what comes with them does not: at
/// half the length the kernel was measured to cost 1.8 times as much, in single operations.
pub(crate) fn pays(lanes: usize, cost: usize, bits: usize, digits: usize) -> bool {
    let nominal = digits * 512 / 10;
    lanes > 1 && 100 * lanes * bits > cost * nominal.max(bits)
}

/// A number without its leading zeros.
pub(crate) fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_share_lanes() {
        let mut seen = Vec::new();
        let mut single = Vec::new();
        // 0 has no key; 2 of key 2; 9 of key 1, of which the last is alone.
        let items = [0, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1];
        side_by_side(
            items.iter(),
            |item| (**item > 0).then_some(**item),
            |lanes, _| lanes > 1,
            |lanes| seen.push(lanes.iter().map(|item| **item).collect::<Vec<_>>()),
            |item| single.push(**item),
        );
        assert_eq!(seen, [vec![1; 8], vec![2, 2]]);
        assert_eq!(single, [0, 1]);
    }

    #[test]
    fn short_moduli_need_more_lanes() {
        assert!(pays(2, 160, 1024, 20) && !pays(1, 50, 1024, 20));
        assert!(!pays(2, 160, 800, 20) && pays(3, 160, 800, 20) && !pays(3, 160, 500, 20));
    }

    #[test]
    fn cut_wants_everything_used() {
        assert_eq!(cut(b"abc", [1, 2]), Ok([&b"a"[..], b"bc"]));
        assert!(cut(b"abc", [1, 1]).is_err() && cut(b"abc", [1, 3]).is_err());
        assert!(cut(b"abc", [usize::MAX, 3]).is_err());
    }
}
