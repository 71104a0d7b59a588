//! Cryptography: `cpa_cy*.h`.

pub mod capabilities;
pub mod pke;
pub mod sym;
