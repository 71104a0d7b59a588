//! Not measured yet on such a machine: the table of AVX-512 without more units.

pub(super) use super::avx512::TABLE;
