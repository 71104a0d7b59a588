//! kdf.
