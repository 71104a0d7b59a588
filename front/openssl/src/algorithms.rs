//! Everything that is offered: the one place that a new algorithm is added to.

use core::ffi::{CStr, c_int};

use crate::{
    bulk, choice,
    cipher::{rsa::RsaCipher, sm2::Sm2Cipher},
    dispatch::{cipher, exchange, kdf, keymgmt, signature},
    exchange::{dh::DhExchange, ecdh::EcdhExchange, xdh::XdhExchange},
    ffi::{
        Algorithm, Dispatch, OP_ASYM_CIPHER, OP_CIPHER, OP_DIGEST, OP_KDF, OP_KEYEXCH, OP_KEYMGMT,
        OP_MAC, OP_SIGNATURE,
    },
    hash,
    kdf::{
        hkdf::{HkdfDerivation, Tls13Derivation},
        tls_prf::TlsPrfDerivation,
    },
    key::{
        dh::{self, DhKey},
        dsa::DsaKey,
        ec::EcKey,
        ed::{self, EdKey},
        rsa::{self, RsaKey},
        sm2::Sm2Key,
        xdh::{self, XdhKey},
    },
    mac,
    settings::{Algorithms, Settings},
    signature::{
        dsa::DsaSignature, ecdsa::EcdsaSignature, ed::EdSignature, rsa::RsaSignature,
        sm2::Sm2Signature,
    },
};

/// One row: the operation, the names (the first is the one that the setting `algorithms` knows),
/// the functions, and what it is.
#[derive(Clone, Copy)]
struct Row(c_int, &'static CStr, &'static [Dispatch], &'static CStr);

/// The first of an algorithm's names.
pub fn first_name(names: &'static CStr) -> &'static str {
    names.to_str().unwrap_or_default().split(':').next().unwrap_or_default()
}

/// All rows.
fn rows() -> impl Iterator<Item = Row> {
    let ciphers = bulk::list::rows()
        .map(|(operation, spec, functions)| Row(operation, spec.names, functions, spec.what));
    let digests = hash::list::rows()
        .map(|(operation, spec, functions)| Row(operation, spec.names, functions, spec.what));
    let macs = mac::list::rows()
        .map(|(operation, row, functions)| Row(operation, row.names, functions, row.what));
    ROWS.iter().copied().chain(ciphers).chain(digests).chain(macs)
}

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
        OP_KEYMGMT,
        c"EC:id-ecPublicKey:1.2.840.10045.2.1",
        keymgmt::Table::<EcKey>::FUNCTIONS,
        c"Keys on named elliptic curves",
    ),
    Row(
        OP_KEYMGMT,
        c"X25519:1.3.101.110",
        keymgmt::Table::<XdhKey, { xdh::X25519 }>::FUNCTIONS,
        c"X25519 keys",
    ),
    Row(
        OP_KEYMGMT,
        c"X448:1.3.101.111",
        keymgmt::Table::<XdhKey, { xdh::X448 }>::FUNCTIONS,
        c"X448 keys",
    ),
    Row(
        OP_SIGNATURE,
        c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
        signature::Table::<RsaSignature>::FUNCTIONS,
        c"RSA signatures",
    ),
    Row(OP_SIGNATURE, c"ECDSA", signature::Table::<EcdsaSignature>::FUNCTIONS, c"ECDSA signatures"),
    Row(
        OP_ASYM_CIPHER,
        c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
        cipher::Table::<RsaCipher>::FUNCTIONS,
        c"RSA encryption",
    ),
    Row(OP_KEYEXCH, c"ECDH", exchange::Table::<EcdhExchange>::FUNCTIONS, c"ECDH"),
    Row(OP_KEYEXCH, c"X25519:1.3.101.110", exchange::Table::<XdhExchange>::FUNCTIONS, c"X25519"),
    Row(OP_KEYEXCH, c"X448:1.3.101.111", exchange::Table::<XdhExchange>::FUNCTIONS, c"X448"),
    Row(
        OP_KDF,
        c"TLS1-PRF",
        kdf::Table::<TlsPrfDerivation>::FUNCTIONS,
        c"The pseudorandom function of TLS 1.0 to 1.2",
    ),
    Row(OP_KDF, c"HKDF", kdf::Table::<HkdfDerivation>::FUNCTIONS, c"HKDF"),
    Row(
        OP_KDF,
        c"TLS13-KDF",
        kdf::Table::<Tls13Derivation>::FUNCTIONS,
        c"HKDF with the labels of TLS 1.3",
    ),
    Row(
        OP_KEYMGMT,
        c"DH:dhKeyAgreement:1.2.840.113549.1.3.1",
        keymgmt::Table::<DhKey, { dh::DH }>::FUNCTIONS,
        c"PKCS #3 Diffie-Hellman keys",
    ),
    Row(
        OP_KEYMGMT,
        c"DHX:X9.42 DH:dhpublicnumber:1.2.840.10046.2.1",
        keymgmt::Table::<DhKey, { dh::DHX }>::FUNCTIONS,
        c"X9.42 Diffie-Hellman keys",
    ),
    Row(
        OP_KEYEXCH,
        c"DH:dhKeyAgreement:1.2.840.113549.1.3.1",
        exchange::Table::<DhExchange>::FUNCTIONS,
        c"Diffie-Hellman",
    ),
    Row(
        OP_KEYMGMT,
        c"DSA:dsaEncryption:1.2.840.10040.4.1",
        keymgmt::Table::<DsaKey>::FUNCTIONS,
        c"DSA keys",
    ),
    Row(
        OP_SIGNATURE,
        c"DSA:dsaEncryption:1.2.840.10040.4.1",
        signature::Table::<DsaSignature>::FUNCTIONS,
        c"DSA signatures",
    ),
    Row(
        OP_KEYMGMT,
        c"ED25519:1.3.101.112",
        keymgmt::Table::<EdKey, { ed::ED25519 }>::FUNCTIONS,
        c"Ed25519 keys",
    ),
    Row(
        OP_SIGNATURE,
        c"ED25519:1.3.101.112",
        signature::Table::<EdSignature>::WHOLE_MESSAGES,
        c"Ed25519 signatures",
    ),
    Row(
        OP_KEYMGMT,
        c"ED448:1.3.101.113",
        keymgmt::Table::<EdKey, { ed::ED448 }>::FUNCTIONS,
        c"Ed448 keys",
    ),
    Row(
        OP_SIGNATURE,
        c"ED448:1.3.101.113",
        signature::Table::<EdSignature>::WHOLE_MESSAGES,
        c"Ed448 signatures",
    ),
    Row(OP_KEYMGMT, c"SM2:1.2.156.10197.1.301", keymgmt::Table::<Sm2Key>::FUNCTIONS, c"SM2 keys"),
    Row(
        OP_SIGNATURE,
        c"SM2:1.2.156.10197.1.301",
        signature::Table::<Sm2Signature>::FUNCTIONS,
        c"SM2 signatures",
    ),
    Row(
        OP_ASYM_CIPHER,
        c"SM2:1.2.156.10197.1.301",
        cipher::Table::<Sm2Cipher>::FUNCTIONS,
        c"SM2 encryption",
    ),
];

impl Row {
    /// The first of its names.
    fn name(&self) -> &'static str {
        first_name(self.1)
    }

    fn is(&self, name: &str) -> bool {
        let names = self.1.to_str().unwrap_or_default();
        names.split(':').any(|n| n.eq_ignore_ascii_case(name))
    }
}

/// Whether an algorithm of this name exists.
pub fn exists(name: &str) -> bool {
    rows().any(|row| row.is(name))
}

/// The lists that are given to OpenSSL, one per operation.
pub struct Offer {
    lists: Vec<(c_int, Vec<Algorithm>)>,
    algorithms: Algorithms,
    /// The algorithms that are left to the default provider, as it is faster on this CPU.
    left: Vec<&'static str>,
}

/// Whether a row is among those of the setting.
fn allowed(row: &Row, algorithms: &Algorithms) -> bool {
    match algorithms {
        Algorithms::Fast => !choice::is_left(lookaside_cpu::family(), row.0, row.name()),
        Algorithms::All => true,
        Algorithms::Named(names) => names.iter().any(|name| row.is(name)),
    }
}

/// Whether keys of this algorithm are offered.
pub fn offers_keys(offer: &Offer, name: &str) -> bool {
    ROWS.iter().any(|row| row.0 == OP_KEYMGMT && row.is(name) && allowed(row, &offer.algorithms))
}

impl Offer {
    /// What the settings allow. A signature or exchange goes with its keys: those of the default
    /// provider cannot be used by ours, nor ours by it.
    pub fn new(settings: &Settings) -> Offer {
        let list = |operation: c_int| {
            let rows =
                rows().filter(|row| row.0 == operation && allowed(row, &settings.algorithms));
            let mut list: Vec<_> = rows
                .map(|Row(_, names, functions, what)| Algorithm::new(names, functions, what))
                .collect();
            list.push(Algorithm::END);
            (operation, list)
        };
        let operations = [
            OP_DIGEST,
            OP_CIPHER,
            OP_MAC,
            OP_KDF,
            OP_KEYMGMT,
            OP_KEYEXCH,
            OP_SIGNATURE,
            OP_ASYM_CIPHER,
        ];
        let left = match settings.algorithms {
            Algorithms::Fast => rows()
                .filter(|row| !allowed(row, &Algorithms::Fast))
                .map(|row| row.name())
                .collect(),
            Algorithms::All | Algorithms::Named(_) => Vec::new(),
        };
        let algorithms = settings.algorithms.clone();
        Offer { lists: operations.map(list).into(), algorithms, left }
    }

    /// The algorithms that are left to the default provider, as it is faster on this CPU.
    pub fn left(&self) -> &[&'static str] {
        &self.left
    }
}

/// The list of one operation; null when there is none.
pub fn list(offer: &Offer, operation: c_int) -> *const Algorithm {
    let list = offer.lists.iter().find(|(op, list)| *op == operation && list.len() > 1);
    list.map_or(core::ptr::null(), |(_, list)| list.as_ptr())
}
