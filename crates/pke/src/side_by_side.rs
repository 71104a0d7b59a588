//! How a batch goes through a kernel: groups of up to eight items, one per lane.

use crate::{Error, Item};

/// Lanes of a kernel.
pub(crate) const LANES: usize = 8;

/// An operation that a kernel runs side by side and a library one by one. Which of them an item
/// goes to makes no difference to its answer.
pub(crate) trait Kernel {
    /// What the kernel takes for an item.
    type Request<'a>;

    /// From how many items on the kernel takes less time than one by one: its time does not depend
    /// on how many of its lanes are in use.
    fn threshold(&self) -> usize;

    /// The item as a lane; an error is the item's answer.
    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, Error>;

    /// Runs up to eight requests.
    fn run(&self, requests: &mut [Self::Request<'_>]);

    /// The answer to a request that has been run. Nothing secret is in its `dst` after an error.
    fn answer(request: &Self::Request<'_>) -> Result<usize, Error>;

    /// Runs an item by a library.
    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, Error>;
}

/// Runs the batch: by the kernel, down to fewer items than it pays for, and those one by one.
pub(crate) fn run<K: Kernel>(kernel: &K, items: &mut [Item<'_>]) {
    for group in items.chunks_mut(LANES) {
        if group.len() >= kernel.threshold() && by_kernel(kernel, group) {
            continue;
        }
        for item in group {
            item.run(|src, dst| kernel.one(src, dst));
        }
    }
}

/// `false`: too many of the items are malformed for the kernel to pay, and nothing was run.
fn by_kernel<K: Kernel>(kernel: &K, group: &mut [Item<'_>]) -> bool {
    let mut requests = Vec::with_capacity(LANES);
    let mut results = Vec::with_capacity(LANES);
    for item in group {
        match kernel.request(item.src, item.dst) {
            Ok(request) => {
                requests.push(request);
                results.push(&mut item.result);
            }
            // It takes no lane.
            Err(error) => item.result = Err(error),
        }
    }
    if requests.is_empty() || requests.len() < kernel.threshold() {
        return false;
    }
    kernel.run(&mut requests);
    for (request, result) in requests.iter().zip(results) {
        *result = K::answer(request);
    }
    true
}
