//! How a batch goes through a kernel: groups of up to eight items, one per lane.

use zeroize::Zeroize;

use crate::batch::{LANES, PerLane};
use crate::{Item, OpError};

/// An operation that a kernel runs side by side. Whether an item goes to it or to a library makes no
/// difference to its answer.
pub(crate) trait Kernel {
    /// What the kernel takes for an item.
    type Request<'a>;

    /// The item as a lane; an error is the item's answer.
    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError>;

    /// Runs up to eight requests.
    fn run(&self, requests: &mut [Self::Request<'_>]);

    /// The answer to a request that has been run. After an error its `dst` is cleared.
    fn answer(request: &Self::Request<'_>) -> Result<usize, OpError>;
}

/// Runs the batch: by the kernel where `threshold` items or more come together, since it takes as long
/// for one lane as for all, and the others by `one`.
pub(crate) fn run<K: Kernel>(
    kernel: &K,
    threshold: usize,
    items: &mut [Item<'_>],
    one: impl Fn(&[u8], &mut [u8]) -> Result<usize, OpError>,
) {
    for group in items.chunks_mut(LANES) {
        if group.len() < threshold || !by_kernel(kernel, threshold, group) {
            group.iter_mut().for_each(|item| item.run(&one));
        }
    }
}

/// `false`: too many of the items are malformed for the kernel to pay, and nothing was run.
fn by_kernel<K: Kernel>(kernel: &K, threshold: usize, group: &mut [Item<'_>]) -> bool {
    let mut requests = PerLane::new();
    let mut results: PerLane<&mut Result<usize, OpError>> = PerLane::new();
    for item in &mut *group {
        match kernel.request(item.src, item.dst) {
            Ok(request) => {
                requests.push(request);
                results.push(&mut item.result);
            }
            // It takes no lane.
            Err(error) => item.result = Err(error),
        }
    }
    if requests.is_empty() || requests.len() < threshold {
        return false;
    }
    kernel.run(&mut requests);
    for (request, result) in requests.iter().zip(results) {
        *result = K::answer(request);
    }
    drop(requests);
    // As of single items: nothing of what was written remains after an error.
    for item in group.iter_mut().filter(|item| item.result.is_err()) {
        item.dst.zeroize();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes its source to its destination, and fails where that is 0.
    struct Copies;

    impl Kernel for Copies {
        type Request<'a> = (&'a [u8], &'a mut [u8]);

        fn request<'a>(
            &self,
            src: &'a [u8],
            dst: &'a mut [u8],
        ) -> Result<Self::Request<'a>, OpError> {
            dst[0] = 0xee;
            if src.len() == dst.len() { Ok((src, dst)) } else { Err(OpError::DstTooSmall) }
        }

        fn run(&self, requests: &mut [Self::Request<'_>]) {
            requests.iter_mut().for_each(|(src, dst)| dst.copy_from_slice(src));
        }

        fn answer((src, _): &Self::Request<'_>) -> Result<usize, OpError> {
            if src[0] == 0 { Err(OpError::Fault) } else { Ok(src.len()) }
        }
    }

    #[test]
    fn nothing_is_left_after_an_error() {
        let (mut good, mut failed, mut refused) = ([0; 2], [0; 2], [0; 3]);
        let mut items = [
            Item::new(&[1, 2], &mut good),
            Item::new(&[0, 2], &mut failed),
            Item::new(&[1, 2], &mut refused),
        ];
        run(&Copies, 2, &mut items, |_, _| Err(OpError::Cancelled));
        let results = items.map(|item| item.result);
        assert_eq!(results, [Ok(2), Err(OpError::Fault), Err(OpError::DstTooSmall)]);
        assert_eq!((good, failed, refused), ([1, 2], [0; 2], [0; 3]));
    }
}
