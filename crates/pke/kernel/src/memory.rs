//! Working memory that a caller keeps from batch to batch.

use std::ops::{Deref, DerefMut};

use zeroize::{DefaultIsZeroes, Zeroize};

/// Memory that grows to the most that a batch takes. Between batches it is all zeros; above 1 MiB
/// it does not stay.
#[derive(Debug, Default)]
pub struct Memory<T>(Vec<T>);

impl<T: DefaultIsZeroes> Memory<T> {
    const KEEP: usize = (1 << 20) / size_of::<T>();

    /// `len` zeros, wiped when they are given back.
    pub fn lend(&mut self, len: usize) -> Lent<'_, T> {
        if self.0.len() < len {
            self.0.resize(len, T::default());
        }
        Lent { memory: &mut self.0, len }
    }
}

/// A part of a [`Memory`].
#[derive(Debug)]
pub struct Lent<'a, T: DefaultIsZeroes> {
    memory: &'a mut Vec<T>,
    len: usize,
}

impl<T: DefaultIsZeroes> Deref for Lent<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.memory[..self.len]
    }
}

impl<T: DefaultIsZeroes> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[..self.len]
    }
}

impl<T: DefaultIsZeroes> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        self.zeroize();
        if self.memory.len() > Memory::<T>::KEEP {
            *self.memory = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_zeros() {
        let mut memory = Memory::<u64>::default();
        for len in [3, 9, 5, 9, Memory::<u64>::KEEP + 1, 9] {
            let mut lent = memory.lend(len);
            assert!(lent.len() == len && lent.iter().all(|&word| word == 0));
            lent.fill(7);
            drop(lent);
            assert!(memory.0.iter().all(|&word| word == 0));
            assert!(memory.0.len() <= Memory::<u64>::KEEP);
        }
    }
}
