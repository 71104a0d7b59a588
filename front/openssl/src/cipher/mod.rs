//! cipher.
