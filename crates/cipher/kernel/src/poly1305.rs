//! Poly1305.
