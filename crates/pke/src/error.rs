//! What goes in and what comes back.

use std::fmt;

/// One request of a batch.
///
/// Layouts of `src` and `dst` are those that each operation documents: big-endian fixed-length
/// integers unless it says otherwise, one after the other, nothing between them.
pub struct Item<'a> {
    /// What the operation reads.
    pub src: &'a [u8],
    /// Where it writes, from the start. After an error its content is without meaning and never
    /// holds part of a secret.
    pub dst: &'a mut [u8],
    /// How many bytes of `dst` were written, or why none. Whatever it held before is ignored.
    pub result: Result<usize, Error>,
}

impl<'a> Item<'a> {
    /// An item that has not been run.
    pub fn new(src: &'a [u8], dst: &'a mut [u8]) -> Item<'a> {
        Item { src, dst, result: Err(Error::NotRun) }
    }
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may be secret.
        let (src, dst) = (self.src.len(), self.dst.len());
        write!(f, "Item({src} to {dst} bytes, {:?})", self.result)
    }
}

/// Why an operation failed. Never a panic, whatever the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The item has not been run.
    NotRun,
    /// The result does not fit in `dst`.
    DstTooSmall,
    /// `src` has the wrong length, or a number in it is out of its range.
    BadInput(&'static str),
    /// A key or a domain parameter is invalid: a point off its curve, an even modulus, ...
    BadKey(&'static str),
    /// A signature, a tag or a padding is wrong.
    AuthFailed,
    /// No library of this machine has the algorithm.
    Unsupported(&'static str),
    /// The result failed its verification and was withheld: a fault of the machine, or a key whose
    /// parts do not fit together.
    Fault,
    /// A library failed without a reason that concerns the input: memory or entropy ran out.
    Library(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotRun => f.write_str("not run"),
            Error::DstTooSmall => f.write_str("the result does not fit in the destination"),
            Error::BadInput(what) => write!(f, "bad input: {what}"),
            Error::BadKey(what) => write!(f, "bad key or parameters: {what}"),
            Error::AuthFailed => f.write_str("a signature or padding is wrong"),
            Error::Unsupported(what) => write!(f, "no library here has {what}"),
            Error::Fault => f.write_str("the result failed its verification and was withheld"),
            Error::Library(what) => write!(f, "{what} failed"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_item_keeps_its_bytes_to_itself() {
        let mut dst = [201; 3];
        let shown = format!("{:?}", Item::new(&[200; 2], &mut dst));
        assert_eq!(shown, "Item(2 to 3 bytes, Err(NotRun))");
    }
}
