//! The capability `TLS-GROUP` (provider-base(7)): libssl takes a group only from the provider
//! that it finds the group's keys in, so whose keys are ours must be named here.

use core::ffi::{CStr, c_int};

use crate::{
    algorithms::{self, Offer},
    library,
    param::Export,
};

const TLS1: c_int = 0x0301;
const TLS1_2: c_int = 0x0303;
const TLS1_3: c_int = 0x0304;
const DTLS1: c_int = 0xfeff;
const DTLS1_2: c_int = 0xfefd;
/// Without a last version.
const ANY: c_int = 0;
/// Not at all.
const NONE: c_int = -1;

/// A group: IANA's number and name, other names, the name for keys, the keys' algorithm, bits of
/// security, and the first and last versions of TLS and DTLS.
struct Group {
    id: u16,
    names: &'static [&'static CStr],
    key_name: &'static CStr,
    algorithm: &'static CStr,
    security_bits: u16,
    versions: [c_int; 4],
}

const fn group(
    id: u16,
    names: &'static [&'static CStr],
    key_name: &'static CStr,
    algorithm: &'static CStr,
    security_bits: u16,
    versions: [c_int; 4],
) -> Group {
    Group { id, names, key_name, algorithm, security_bits, versions }
}

/// Curves that TLS 1.3 does not have (RFC 8446 section 4.2.7).
const OLD: [c_int; 4] = [TLS1, TLS1_2, DTLS1, DTLS1_2];
const ALL: [c_int; 4] = [TLS1, ANY, DTLS1, ANY];
/// Named groups of finite fields are negotiated in TLS 1.3 alone by libssl 3.
const NEW: [c_int; 4] = [TLS1_3, ANY, NONE, NONE];

/// As OpenSSL's default provider describes them.
static GROUPS: [Group; 35] = [
    group(0x01, &[c"sect163k1", c"K-163"], c"sect163k1", c"EC", 80, OLD),
    group(0x02, &[c"sect163r1"], c"sect163r1", c"EC", 80, OLD),
    group(0x03, &[c"sect163r2", c"B-163"], c"sect163r2", c"EC", 80, OLD),
    group(0x04, &[c"sect193r1"], c"sect193r1", c"EC", 80, OLD),
    group(0x05, &[c"sect193r2"], c"sect193r2", c"EC", 80, OLD),
    group(0x06, &[c"sect233k1", c"K-233"], c"sect233k1", c"EC", 112, OLD),
    group(0x07, &[c"sect233r1", c"B-233"], c"sect233r1", c"EC", 112, OLD),
    group(0x08, &[c"sect239k1"], c"sect239k1", c"EC", 112, OLD),
    group(0x09, &[c"sect283k1", c"K-283"], c"sect283k1", c"EC", 128, OLD),
    group(0x0a, &[c"sect283r1", c"B-283"], c"sect283r1", c"EC", 128, OLD),
    group(0x0b, &[c"sect409k1", c"K-409"], c"sect409k1", c"EC", 192, OLD),
    group(0x0c, &[c"sect409r1", c"B-409"], c"sect409r1", c"EC", 192, OLD),
    group(0x0d, &[c"sect571k1", c"K-571"], c"sect571k1", c"EC", 256, OLD),
    group(0x0e, &[c"sect571r1", c"B-571"], c"sect571r1", c"EC", 256, OLD),
    group(0x0f, &[c"secp160k1"], c"secp160k1", c"EC", 80, OLD),
    group(0x10, &[c"secp160r1"], c"secp160r1", c"EC", 80, OLD),
    group(0x11, &[c"secp160r2"], c"secp160r2", c"EC", 80, OLD),
    group(0x12, &[c"secp192k1"], c"secp192k1", c"EC", 80, OLD),
    group(0x13, &[c"secp192r1", c"P-192"], c"prime192v1", c"EC", 80, OLD),
    group(0x14, &[c"secp224k1"], c"secp224k1", c"EC", 112, OLD),
    group(0x15, &[c"secp224r1", c"P-224"], c"secp224r1", c"EC", 112, OLD),
    group(0x16, &[c"secp256k1"], c"secp256k1", c"EC", 128, OLD),
    group(0x17, &[c"secp256r1", c"P-256"], c"prime256v1", c"EC", 128, ALL),
    group(0x18, &[c"secp384r1", c"P-384"], c"secp384r1", c"EC", 192, ALL),
    group(0x19, &[c"secp521r1", c"P-521"], c"secp521r1", c"EC", 256, ALL),
    group(0x1a, &[c"brainpoolP256r1"], c"brainpoolP256r1", c"EC", 128, OLD),
    group(0x1b, &[c"brainpoolP384r1"], c"brainpoolP384r1", c"EC", 192, OLD),
    group(0x1c, &[c"brainpoolP512r1"], c"brainpoolP512r1", c"EC", 256, OLD),
    group(0x1d, &[c"x25519"], c"X25519", c"X25519", 128, ALL),
    group(0x1e, &[c"x448"], c"X448", c"X448", 224, ALL),
    group(0x100, &[c"ffdhe2048"], c"ffdhe2048", c"DH", 112, NEW),
    group(0x101, &[c"ffdhe3072"], c"ffdhe3072", c"DH", 128, NEW),
    group(0x102, &[c"ffdhe4096"], c"ffdhe4096", c"DH", 128, NEW),
    group(0x103, &[c"ffdhe6144"], c"ffdhe6144", c"DH", 128, NEW),
    group(0x104, &[c"ffdhe8192"], c"ffdhe8192", c"DH", 192, NEW),
];

/// Groups of TLS 1.3 that OpenSSL has since 3.2 (RFC 8734).
static GROUPS_3_2: [Group; 3] = [
    group(0x1f, &[c"brainpoolP256r1tls13"], c"brainpoolP256r1", c"EC", 128, NEW),
    group(0x20, &[c"brainpoolP384r1tls13"], c"brainpoolP384r1", c"EC", 192, NEW),
    group(0x21, &[c"brainpoolP512r1tls13"], c"brainpoolP512r1", c"EC", 256, NEW),
];

/// What is told of each group whose keys are offered, one array per name.
pub fn tls_groups(offer: &Offer) -> impl Iterator<Item = Export> {
    let offered = |group: &&Group| {
        let name = group.algorithm.to_str().unwrap_or_default();
        algorithms::offers_keys(offer, name)
    };
    let later: &[Group] = if library::version() >= 0x3020_0000 { &GROUPS_3_2 } else { &[] };
    GROUPS.iter().chain(later).filter(offered).flat_map(|group| {
        group.names.iter().map(move |name| {
            let mut export = Export::default();
            export.text(c"tls-group-name", name);
            export.text(c"tls-group-name-internal", group.key_name);
            export.uint(c"tls-group-id", u32::from(group.id));
            export.text(c"tls-group-alg", group.algorithm);
            export.uint(c"tls-group-sec-bits", u32::from(group.security_bits));
            for (key, version) in [c"tls-min-tls", c"tls-max-tls", c"tls-min-dtls", c"tls-max-dtls"]
                .into_iter()
                .zip(group.versions)
            {
                export.int(key, version);
            }
            export.uint(c"tls-group-is-kem", 0);
            export
        })
    })
}
