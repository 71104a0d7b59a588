//! Everything that is offered: the one place that a new algorithm is added to.

use core::ffi::{CStr, c_int};

use crate::{
    dispatch::{keymgmt, signature},
    ffi::{Algorithm, Dispatch, OP_ASYM_CIPHER, OP_KDF, OP_KEYEXCH, OP_KEYMGMT, OP_SIGNATURE},
    key::rsa::{self, RsaKey},
    settings::Settings,
    signature::rsa::RsaSignature,
};

/// One row: the operation, the names (the first is the one that the setting `algorithms` knows),
/// the functions, and what it is.
struct Row(c_int, &'static CStr, &'static [Dispatch], &'static CStr);

/// The names are those of the default provider, so that one takes the other's place.
static ROWS: &[Row] = &[
    Row(
        OP_KEYMGMT,
        c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
        keymgmt::Table::<RsaKey, { rsa::RSA }>::FUNCTIONS,
        c"RSA keys",
    ),
    Row(
        OP_KEYMGMT,
        c"RSA-PSS:RSASSA-PSS:1.2.840.113549.1.1.10",
        keymgmt::Table::<RsaKey, { rsa::RSA_PSS }>::FUNCTIONS,
        c"RSA-PSS keys",
    ),
    Row(
        OP_SIGNATURE,
        c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
        signature::Table::<RsaSignature>::FUNCTIONS,
        c"RSA signatures",
    ),
];

impl Row {
    fn is(&self, name: &str) -> bool {
        let names = self.1.to_str().unwrap_or_default();
        names.split(':').any(|n| n.eq_ignore_ascii_case(name))
    }
}

/// Whether an algorithm of this name exists.
pub fn exists(name: &str) -> bool {
    ROWS.iter().any(|row| row.is(name))
}

/// The lists that are given to OpenSSL, one per operation.
pub struct Offer(Vec<(c_int, Vec<Algorithm>)>);

impl Offer {
    /// What the settings allow. A signature or exchange goes with its keys: those of the default
    /// provider cannot be used by ours, nor ours by it.
    pub fn new(settings: &Settings) -> Offer {
        let allowed = |row: &&Row| match &settings.algorithms {
            None => true,
            Some(names) => names.iter().any(|name| row.is(name)),
        };
        let list = |operation: c_int| {
            let rows = ROWS.iter().filter(|row| row.0 == operation).filter(allowed);
            let mut list: Vec<_> = rows
                .map(|Row(_, names, functions, what)| Algorithm::new(names, functions, what))
                .collect();
            list.push(Algorithm::END);
            (operation, list)
        };
        Offer([OP_KDF, OP_KEYMGMT, OP_KEYEXCH, OP_SIGNATURE, OP_ASYM_CIPHER].map(list).into())
    }
}

/// The list of one operation; null when there is none.
pub fn list(offer: &Offer, operation: c_int) -> *const Algorithm {
    let list = offer.0.iter().find(|(op, list)| *op == operation && list.len() > 1);
    list.map_or(core::ptr::null(), |(_, list)| list.as_ptr())
}
