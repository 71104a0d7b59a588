//! [`Costs`]: how long a device needs for requests of one class, learned from those that ran.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::Op;

/// Sizes of a factor of four share an estimate, from 64 bytes to 16 MB.
const SIZES: usize = 10;

/// Operations of one class whose places in [`Op::ALL`] are equal modulo this would share an estimate: a
/// class has at most eight, which are neighbours there.
const OPS: usize = 8;

/// The least cost of a request in nanoseconds, so that empty ones are not free.
const LEAST_NS: u64 = 64;

/// The device time of the requests of one class, by operation and size: a moving average of what was
/// measured. Where nothing was, a byte costs a nanosecond.
///
/// An estimate decides only who is served next. Once a request has run, its instance is charged what it
/// took, so that content that is slower than its size lets expect costs its owner, not the others.
#[derive(Debug, Default)]
pub struct Costs([[AtomicU32; SIZES]; OPS]);

impl Costs {
    /// The nanoseconds that a request is expected to take.
    pub fn estimate(&self, op: Op, size: usize) -> u64 {
        let size = size.max(64) as u64;
        let rate = f32::from_bits(self.cell(op, size).load(Relaxed));
        match rate > 0.0 {
            true => ((size as f32 * rate) as u64).max(LEAST_NS),
            false => size,
        }
    }

    /// A request took this long. Not exact under contention: an update may be lost.
    pub fn learn(&self, op: Op, size: usize, ns: u64) {
        let size = size.max(64) as u64;
        let cell = self.cell(op, size);
        let (before, rate) = (f32::from_bits(cell.load(Relaxed)), ns.max(1) as f32 / size as f32);
        let after = if before > 0.0 { before + (rate - before) / 8.0 } else { rate };
        cell.store(after.to_bits(), Relaxed);
    }

    fn cell(&self, op: Op, size: u64) -> &AtomicU32 {
        let bits = (u64::BITS - size.leading_zeros()) as usize;
        &self.0[op.index() % OPS][(bits.saturating_sub(6) / 2).min(SIZES - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_what_was_measured() {
        let costs = Costs::default();
        assert_eq!(costs.estimate(Op::Compress, 0), 64);
        assert_eq!(costs.estimate(Op::Compress, 5000), 5000);
        costs.learn(Op::Compress, 5000, 50_000);
        assert_eq!(costs.estimate(Op::Compress, 5000), 50_000);
        // Others have their own: another operation, another size.
        assert_eq!(costs.estimate(Op::Decompress, 5000), 5000);
        assert_eq!(costs.estimate(Op::Compress, 100), 100);
        for _ in 0..100 {
            costs.learn(Op::Compress, 5000, 100_000);
        }
        assert!((99_000..=100_100).contains(&costs.estimate(Op::Compress, 5000)));
        costs.learn(Op::Compress, usize::MAX, u64::MAX);
        costs.estimate(Op::Compress, usize::MAX);
    }

    /// Operations of one session must not share a cell.
    #[test]
    fn the_operations_of_a_class_are_told_apart() {
        let sm2: Vec<_> = Op::ALL.into_iter().filter(|op| op.name().starts_with("sm2")).collect();
        let mv: Vec<_> = Op::ALL.into_iter().filter(|op| op.service().name() == "mv").collect();
        let ec: Vec<_> = Op::ALL.into_iter().filter(|op| op.name().starts_with("ec-")).collect();
        for ops in [sm2, mv, ec] {
            let mut cells: Vec<_> = ops.iter().map(|op| op.index() % OPS).collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len(), ops.len());
        }
    }
}
