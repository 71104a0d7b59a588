//! How the single operations walk through a batch.

use zeroize::Zeroize;

use crate::{Error, Item};

impl Item<'_> {
    /// Runs the item. After an error nothing of what was written to `dst` remains.
    pub(crate) fn run(&mut self, operation: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, Error>) {
        self.result = operation(self.src, self.dst);
        if self.result.is_err() {
            self.dst.zeroize();
        }
    }

    /// Ends the item with an error.
    pub(crate) fn fail(&mut self, error: Error) {
        self.run(|_, _| Err(error));
    }
}

/// The first `len` bytes of a destination.
pub(crate) fn room(dst: &mut [u8], len: usize) -> Result<&mut [u8], Error> {
    dst.get_mut(..len).ok_or(Error::DstTooSmall)
}

/// `src` cut into parts of these lengths, which it has to have exactly.
pub(crate) fn cut<'a, const N: usize>(
    mut src: &'a [u8],
    lens: [usize; N],
) -> Result<[&'a [u8]; N], Error> {
    let mut parts = [&src[..0]; N];
    for (part, len) in parts.iter_mut().zip(lens) {
        (*part, src) = src.split_at_checked(len).ok_or(Error::BadInput("too short"))?;
    }
    if src.is_empty() { Ok(parts) } else { Err(Error::BadInput("too long")) }
}

/// A number without its leading zeros.
pub(crate) fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    &number[zeros..]
}
