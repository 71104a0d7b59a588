//! [`Secret`].

use core::{fmt, hash, ops::Deref};

use lookaside_secure::SecureBytes;
use zeroize::{Zeroize, Zeroizing};

/// Bytes that are overwritten when dropped and never printed, in memory that core dumps leave out. Made
/// and dropped under a lock: for what sessions are made of, not for requests.
#[derive(Clone)]
pub struct Secret(SecureBytes);

impl Secret {
    /// A copy of these bytes.
    pub fn new(bytes: &[u8]) -> Secret {
        Secret(SecureBytes::new(bytes))
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        **self == **other
    }
}

impl Eq for Secret {}

impl Deref for Secret {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Secret {
    /// Copies them, and overwrites where they were.
    fn from(bytes: Vec<u8>) -> Secret {
        Secret::new(&Zeroizing::new(bytes))
    }
}

impl hash::Hash for Secret {
    /// The length alone: equal secrets hash equally, and no secret reaches a hash table.
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let text = format!("{:?}", Secret::new(b"hunter2"));
        assert_eq!(text, "Secret(7 bytes)");
    }
}
