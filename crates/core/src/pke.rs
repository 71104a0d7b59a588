//! Public-key and key-derivation parameters: what sessions are made for and what single requests
//! choose. Layouts of sources and destinations stand with the typed sessions of the runtime.

use core::fmt;
use std::sync::Arc;

use zeroize::{Zeroize, Zeroizing};

/// Bytes that are overwritten when dropped and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A copy of these bytes.
    pub fn new(bytes: &[u8]) -> Secret {
        Secret(Zeroizing::new(bytes.to_vec()))
    }
}

impl core::ops::Deref for Secret {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Secret {
        Secret(Zeroizing::new(bytes))
    }
}

impl core::hash::Hash for Secret {
    /// The length alone: equal secrets hash equally, and no secret reaches a hash table.
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// A hash function. The first four are too weak for signatures and there for compatibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Hash {
    Md5,
    Sha1,
    /// MD5 and SHA-1 one after the other, as TLS before 1.2 signs.
    Md5Sha1,
    Ripemd160,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha512_224,
    Sha512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Sm3,
}

/// A named elliptic curve over a prime or binary field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Curve {
    P192,
    P224,
    P256,
    P384,
    P521,
    Secp256k1,
    B163,
    B233,
    B283,
    B409,
    B571,
    K163,
    K233,
    K283,
    K409,
    K571,
    BrainpoolP256r1,
    BrainpoolP384r1,
    BrainpoolP512r1,
}

impl Curve {
    /// Every named curve.
    pub const ALL: [Curve; 19] = [
        Curve::P192,
        Curve::P224,
        Curve::P256,
        Curve::P384,
        Curve::P521,
        Curve::Secp256k1,
        Curve::B163,
        Curve::B233,
        Curve::B283,
        Curve::B409,
        Curve::B571,
        Curve::K163,
        Curve::K233,
        Curve::K283,
        Curve::K409,
        Curve::K571,
        Curve::BrainpoolP256r1,
        Curve::BrainpoolP384r1,
        Curve::BrainpoolP512r1,
    ];

    /// Bits of a coordinate and of the group's order.
    fn bits(self) -> (usize, usize) {
        match self {
            Curve::P192 => (192, 192),
            Curve::P224 => (224, 224),
            Curve::P256 | Curve::Secp256k1 | Curve::BrainpoolP256r1 => (256, 256),
            Curve::P384 | Curve::BrainpoolP384r1 => (384, 384),
            Curve::P521 => (521, 521),
            Curve::B163 | Curve::K163 => (163, 163),
            Curve::B233 => (233, 233),
            Curve::K233 => (233, 232),
            Curve::B283 => (283, 282),
            Curve::K283 => (283, 281),
            Curve::B409 => (409, 409),
            Curve::K409 => (409, 407),
            Curve::B571 => (571, 570),
            Curve::K571 => (571, 570),
            Curve::BrainpoolP512r1 => (512, 512),
        }
    }

    /// Bytes of a coordinate.
    pub fn field_len(self) -> usize {
        self.bits().0.div_ceil(8)
    }

    /// Bytes of a private key and of each half of a signature.
    pub fn order_len(self) -> usize {
        self.bits().1.div_ceil(8)
    }

    /// Bytes of an uncompressed point: 04, X, Y.
    pub fn point_len(self) -> usize {
        1 + 2 * self.field_len()
    }
}

/// A curve of RFC 7748.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XdhCurve {
    /// Keys and shared secrets of 32 bytes.
    X25519,
    /// Keys and shared secrets of 56 bytes.
    X448,
}

impl XdhCurve {
    /// Bytes of a private key, a public key and a shared secret.
    pub fn key_len(self) -> usize {
        match self {
            XdhCurve::X25519 => 32,
            XdhCurve::X448 => 56,
        }
    }
}

/// A signature scheme of RFC 8032.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdCurve {
    /// Keys of 32 bytes, signatures of 64.
    Ed25519,
    /// Keys of 57 bytes, signatures of 114.
    Ed448,
}

impl EdCurve {
    /// Bytes of a seed (private key) and of a public key.
    pub fn key_len(self) -> usize {
        match self {
            EdCurve::Ed25519 => 32,
            EdCurve::Ed448 => 57,
        }
    }

    /// Bytes of a signature.
    pub fn signature_len(self) -> usize {
        2 * self.key_len()
    }
}

/// An RSA private key: big-endian numbers of any length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RsaPrivateKey {
    /// The modulus.
    pub n: Vec<u8>,
    /// The public exponent: every result is verified with it.
    pub e: Vec<u8>,
    /// The private exponent.
    pub d: Secret,
    /// The parts for the Chinese remainder theorem, when there are.
    pub crt: Option<RsaCrt>,
}

/// The parts of an RSA private key of two primes (RFC 8017 section 3.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RsaCrt {
    /// The first prime.
    pub p: Secret,
    /// The second prime.
    pub q: Secret,
    /// d mod p-1.
    pub dp: Secret,
    /// d mod q-1.
    pub dq: Secret,
    /// The inverse of q mod p.
    pub qinv: Secret,
}

/// An RSA public key: big-endian numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RsaPublicKey {
    /// The modulus.
    pub n: Vec<u8>,
    /// The exponent.
    pub e: Vec<u8>,
}

/// A group for Diffie-Hellman: big-endian numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DhGroup {
    /// The prime.
    pub p: Vec<u8>,
    /// The generator.
    pub g: Vec<u8>,
    /// The order of the generator, where known.
    pub q: Option<Vec<u8>>,
}

/// DSA domain parameters (FIPS 186-4 section 4.1): big-endian numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DsaDomain {
    /// The prime modulus.
    pub p: Vec<u8>,
    /// The prime divisor of p-1.
    pub q: Vec<u8>,
    /// The generator.
    pub g: Vec<u8>,
}

/// A short Weierstrass curve by its parameters: big-endian numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeierstrassParams {
    /// The prime, or for a binary field its polynomial.
    pub p: Vec<u8>,
    /// The coefficient a.
    pub a: Vec<u8>,
    /// The coefficient b.
    pub b: Vec<u8>,
    /// The generator's coordinates.
    pub g: (Vec<u8>, Vec<u8>),
    /// The generator's order.
    pub order: Vec<u8>,
    /// The cofactor.
    pub cofactor: Vec<u8>,
    /// Whether the field is GF(2^m).
    pub binary: bool,
}

/// What a public-key session is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pke {
    /// Operations with an RSA private key.
    RsaPrivate(Arc<RsaPrivateKey>),
    /// The same, whose operations are blinded also where they run side by side.
    RsaPrivateBlinded(Arc<RsaPrivateKey>),
    /// Operations with an RSA public key.
    RsaPublic(Arc<RsaPublicKey>),
    /// Generation of RSA keys.
    RsaGenerate {
        /// The modulus' length, 512 to 8192.
        bits: u32,
    },
    /// Diffie-Hellman in one group.
    Dh(Arc<DhGroup>),
    /// DSA with one set of domain parameters.
    Dsa(Arc<DsaDomain>),
    /// Generation of DSA domain parameters.
    DsaParameters {
        /// Bits of p: 1024, 2048 or 3072.
        l: u32,
        /// Bits of q: 160, 224 or 256.
        n: u32,
    },
    /// ECDH and ECDSA on a named curve.
    Ec(Curve),
    /// Point arithmetic on a curve by parameters.
    Weierstrass(Arc<WeierstrassParams>),
    /// X25519 or X448.
    Xdh(XdhCurve),
    /// Ed25519 or Ed448. Who signs names the seed and its public key; that they belong together is
    /// not checked, and a signature under another public key gives the seed's scalar away.
    Eddsa(EdCurve),
    /// SM2 (GB/T 32918).
    Sm2,
    /// Arithmetic modulo a number (big-endian, 1 to 4096 bits).
    Modular(Arc<[u8]>),
    /// Arithmetic in GF(2^m) given by its polynomial (big-endian).
    BinaryField(Arc<[u8]>),
    /// Primes.
    Prime,
}

/// The kind and size of a keyed session, without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SizeClass {
    RsaPrivate { bytes: usize, crt: bool },
    RsaPublic { bytes: usize },
    Dh { bytes: usize },
    Dsa { bytes: usize, order: usize },
    Modular { bytes: usize, odd: bool },
}

impl Pke {
    pub(crate) fn size_class(&self) -> Option<SizeClass> {
        Some(match self {
            Pke::RsaPrivate(k) | Pke::RsaPrivateBlinded(k) => {
                SizeClass::RsaPrivate { bytes: significant(&k.n), crt: k.crt.is_some() }
            }
            Pke::RsaPublic(k) => SizeClass::RsaPublic { bytes: significant(&k.n) },
            Pke::Dh(g) => SizeClass::Dh { bytes: significant(&g.p) },
            Pke::Dsa(d) => SizeClass::Dsa { bytes: significant(&d.p), order: significant(&d.q) },
            Pke::Modular(n) => SizeClass::Modular {
                bytes: significant(n),
                odd: n.last().is_some_and(|b| b & 1 == 1),
            },
            _ => return None,
        })
    }
}

/// The length without leading zeros.
fn significant(number: &[u8]) -> usize {
    number.iter().position(|&b| b != 0).map_or(0, |zeros| number.len() - zeros)
}

/// Where an ECDSA or DSA nonce comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Nonce {
    /// Hashed from the private key, the digest and fresh random bytes: neither a weak random
    /// generator nor a fault repeats it.
    #[default]
    Hedged,
    /// RFC 6979 with this hash.
    Deterministic(Hash),
}

/// How long the salt of an RSA-PSS signature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaltLen {
    /// As long as the hash.
    Digest,
    /// As long as fits.
    Max,
    /// Whatever the signature has. Verification only.
    Auto,
    /// This many bytes.
    Exactly(u16),
}

/// What surrounds the raw RSA operation (RFC 8017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RsaScheme {
    /// Nothing: the source is a number as long as the modulus and smaller.
    Raw,
    /// Signatures, PKCS#1 v1.5. With a hash, the source is its digest; without, the bytes to pad.
    Pkcs1Sign(Option<Hash>),
    /// Signatures, PSS. The source is the digest.
    Pss {
        /// The digest's hash.
        hash: Hash,
        /// The mask generation's hash.
        mgf: Hash,
        /// The salt's length.
        salt: SaltLen,
    },
    /// Encryption, PKCS#1 v1.5. Decryption rejects implicitly: bad padding gives random-looking
    /// bytes that depend on key and ciphertext, in constant time, never an error.
    Pkcs1Encrypt,
    /// Decryption of a TLS premaster secret of 48 bytes: where padding or version is wrong,
    /// random bytes, in constant time.
    Pkcs1Tls {
        /// The version in the client's hello.
        client_version: u16,
        /// The negotiated version, accepted too, for clients that send that one.
        alternative: Option<u16>,
    },
    /// Encryption, OAEP.
    Oaep {
        /// The label's hash.
        hash: Hash,
        /// The mask generation's hash.
        mgf: Hash,
        /// How many bytes at the start of the source are the label.
        label_len: u16,
    },
}

/// A single step of modular or field arithmetic (paper 5, section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arithmetic {
    /// a + b; the source is a, then b.
    Add,
    /// a - b; the source is a, then b.
    Subtract,
    /// a b; the source is a, then b.
    Multiply,
    /// a^2.
    Square,
    /// The source, up to twice as long as the modulus, reduced.
    Reduce,
    /// 1 / a.
    Invert,
    /// a^e; the source is a, as long as the modulus, then e of any length.
    Power,
}

/// A step on points of a Weierstrass curve. Points are X, Y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointStep {
    /// k P; the source is k, then P.
    Multiply,
    /// k G; the source is k.
    MultiplyGenerator,
    /// P + Q; the source is P, then Q.
    Add,
    /// 2 P.
    Double,
    /// Whether P is on the curve: `BadInput` when it is not.
    Verify,
}

/// Which half of HKDF (RFC 5869).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HkdfMode {
    /// Both.
    #[default]
    ExtractAndExpand,
    /// The first: the destination gets the pseudorandom key.
    Extract,
    /// The second: the key is a pseudorandom key, there is no salt.
    Expand,
    /// HKDF-Expand-Label of TLS 1.3 (RFC 8446 section 7.1): the salt is the label without its
    /// `tls13 `, the info the transcript hash.
    ExpandLabel,
}

/// Which side of an SM2 key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Sm2Role {
    Initiator,
    Responder,
}

/// What a key-derivation session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kdf {
    /// The TLS pseudorandom function (RFC 2246, RFC 5246); [`Hash::Md5Sha1`] for 1.0 and 1.1.
    TlsPrf(Hash),
    /// HKDF (RFC 5869).
    Hkdf(Hash),
}

/// What one request chooses beside its session and buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// For RSA.
    Rsa(RsaScheme),
    /// For RSA public: return what the signature holds instead of comparing it.
    RsaRecover(RsaScheme),
    /// For ECDSA and DSA signatures.
    Nonce(Nonce),
    /// For ECDH: multiply by the cofactor.
    Cofactor(bool),
    /// For modular and field arithmetic.
    Arithmetic(Arithmetic),
    /// For point arithmetic.
    Point(PointStep),
    /// For primes: the bits of the prime to make; whether (p-1)/2 is one too.
    Prime {
        /// Bits.
        bits: u32,
        /// Whether (p-1)/2 is a prime too.
        safe: bool,
    },
    /// For SM2 key exchange: the side.
    Sm2Exchange(Sm2Role),
    /// For the TLS PRF: how many bytes at the start of the source are the secret.
    TlsPrf {
        /// Bytes of the secret.
        secret_len: u32,
    },
    /// For HKDF: source is key, salt, info.
    Hkdf {
        /// Which half.
        mode: HkdfMode,
        /// Bytes of the key.
        key_len: u32,
        /// Bytes of the salt.
        salt_len: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let text = format!("{:?}", Secret::new(b"hunter2"));
        assert_eq!(text, "Secret(7 bytes)");
    }

    #[test]
    fn keys_of_one_size_share_a_class() {
        let key = |n: &[u8]| Pke::RsaPublic(Arc::new(RsaPublicKey { n: n.to_vec(), e: vec![3] }));
        assert_eq!(key(&[0, 7, 1]).size_class(), key(&[9, 3]).size_class());
        assert_ne!(key(&[7, 1]).size_class(), key(&[9, 3, 5]).size_class());
    }
}
