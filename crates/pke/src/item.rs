//! What goes in and what comes back.

use std::fmt;

use crate::OpError;

/// One request of a batch.
///
/// Layouts of `src` and `dst` are those that each operation documents: big-endian fixed-length
/// integers unless it says otherwise, one after the other, nothing between them.
///
/// `K` is what an operation takes beside bytes, where each item of a batch has its own: a key, a
/// scheme.
pub struct Item<'a, K = ()> {
    /// The key.
    pub key: K,
    /// What the operation reads.
    pub src: &'a [u8],
    /// Where it writes, from the start. After an error its content is without meaning and never
    /// holds part of a secret.
    pub dst: &'a mut [u8],
    /// How many bytes of `dst` were written, or why none. Whatever it held before is ignored.
    pub result: Result<usize, OpError>,
}

impl<'a> Item<'a> {
    /// An item that has not been run.
    pub fn new(src: &'a [u8], dst: &'a mut [u8]) -> Item<'a> {
        Item { key: (), src, dst, result: Err(OpError::Cancelled) }
    }
}

impl<'a, K> Item<'a, K> {
    /// The item with another key.
    pub fn with<L>(self, key: L) -> Item<'a, L> {
        let Item { src, dst, result, .. } = self;
        Item { key, src, dst, result }
    }
}

impl<K> fmt::Debug for Item<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may be secret.
        let (src, dst) = (self.src.len(), self.dst.len());
        write!(f, "Item({src} to {dst} bytes, {:?})", self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_item_keeps_its_bytes_to_itself() {
        let mut dst = [201; 3];
        let shown = format!("{:?}", Item::new(&[200; 2], &mut dst));
        assert_eq!(shown, "Item(2 to 3 bytes, Err(Cancelled))");
    }
}
