//! ARC4.
