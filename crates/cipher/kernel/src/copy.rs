//! The data mover: copy, fill, compare.
