//! ChaCha20.
