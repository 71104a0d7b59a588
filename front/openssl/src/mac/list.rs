//! The MACs that are offered, with the names that OpenSSL 3.0's default provider has.

use core::ffi::{CStr, c_int};

use super::{cmac::Cmac, gmac::Gmac, hmac::Hmac, poly1305::Poly1305};
use crate::{
    dispatch::mac::Table,
    ffi::{Dispatch, OP_MAC},
    hash::list::{SPECS, Spec},
    statistics::{MACS, Tallied},
};

/// One algorithm.
pub struct Row {
    /// Its names.
    pub names: &'static CStr,
    /// What it is.
    pub what: &'static CStr,
    functions: &'static [Dispatch],
}

impl Row {
    /// The first of its names.
    pub fn name(&self) -> &'static str {
        crate::algorithms::first_name(self.names)
    }
}

static ROWS: [Row; 4] = [
    Row { names: c"HMAC", what: c"HMAC", functions: Table::<Hmac>::FUNCTIONS },
    Row { names: c"CMAC", what: c"CMAC", functions: Table::<Cmac>::FUNCTIONS },
    Row { names: c"GMAC:1.0.9797.3.4", what: c"GMAC", functions: Table::<Gmac>::OF_16_BYTES },
    Row { names: c"POLY1305", what: c"Poly1305", functions: Table::<Poly1305>::OF_16_BYTES },
];

/// For [`crate::algorithms`]: the operation and the algorithms with their functions.
pub fn rows() -> impl Iterator<Item = (c_int, &'static Row, &'static [Dispatch])> {
    ROWS.iter().map(|row| (OP_MAC, row, row.functions))
}

/// What is counted: HMAC by its digest, in the order of [`SPECS`], then the others.
pub static NAMES: [&str; SPECS.len() + 3] = [
    "HMAC-SHA1",
    "HMAC-SHA2-224",
    "HMAC-SHA2-256",
    "HMAC-SHA2-384",
    "HMAC-SHA2-512",
    "HMAC-SHA3-224",
    "HMAC-SHA3-256",
    "HMAC-SHA3-384",
    "HMAC-SHA3-512",
    "HMAC-SM3",
    "HMAC-MD5",
    "CMAC",
    "GMAC",
    "POLY1305",
];

/// A MAC's place in [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

impl Place {
    /// CMAC's.
    pub const CMAC: Place = Place(SPECS.len());
    /// GMAC's.
    pub const GMAC: Place = Place(SPECS.len() + 1);
    /// Poly1305's.
    pub const POLY1305: Place = Place(SPECS.len() + 2);

    /// HMAC's with this digest.
    pub fn hmac(spec: &Spec) -> Place {
        Place(spec.index)
    }
}

impl Tallied for Place {
    fn place(&self) -> usize {
        MACS + self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digest_has_its_counter() {
        for spec in &SPECS {
            assert_eq!(NAMES[Place::hmac(spec).0], format!("HMAC-{}", spec.name()));
        }
    }
}
