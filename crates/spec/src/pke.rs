//! Public-key cryptography: what sessions are made for and what single requests choose. Layouts of
//! sources and destinations are documented at the typed sessions of the runtime.

use core::fmt;
use std::sync::Arc;

use crate::{Hash, Op, Secret, kdf::HkdfMode};

/// A named elliptic curve over a prime or binary field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// P-192 (FIPS 186-4), 80-bit security at most.
    P192,
    /// P-224 (SP 800-186).
    P224,
    /// P-256 (SP 800-186).
    P256,
    /// P-384 (SP 800-186).
    P384,
    /// P-521 (SP 800-186).
    P521,
    /// secp256k1 (SEC 2).
    Secp256k1,
    /// B-163 (FIPS 186-4), a binary curve, as are those that follow up to K-571.
    B163,
    /// B-233 (SP 800-186).
    B233,
    /// B-283 (SP 800-186).
    B283,
    /// B-409 (SP 800-186).
    B409,
    /// B-571 (SP 800-186).
    B571,
    /// K-163 (FIPS 186-4), a Koblitz curve, as are those that follow up to K-571.
    K163,
    /// K-233 (SP 800-186).
    K233,
    /// K-283 (SP 800-186).
    K283,
    /// K-409 (SP 800-186).
    K409,
    /// K-571 (SP 800-186).
    K571,
    /// brainpoolP256r1 (RFC 5639).
    BrainpoolP256r1,
    /// brainpoolP384r1 (RFC 5639).
    BrainpoolP384r1,
    /// brainpoolP512r1 (RFC 5639).
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

    /// Name of the standard, bits of the field and of the group's order.
    const fn facts(self) -> (&'static str, usize, usize) {
        match self {
            Curve::P192 => ("P-192", 192, 192),
            Curve::P224 => ("P-224", 224, 224),
            Curve::P256 => ("P-256", 256, 256),
            Curve::P384 => ("P-384", 384, 384),
            Curve::P521 => ("P-521", 521, 521),
            Curve::Secp256k1 => ("secp256k1", 256, 256),
            Curve::B163 => ("B-163", 163, 163),
            Curve::B233 => ("B-233", 233, 233),
            Curve::B283 => ("B-283", 283, 282),
            Curve::B409 => ("B-409", 409, 409),
            Curve::B571 => ("B-571", 571, 570),
            Curve::K163 => ("K-163", 163, 163),
            Curve::K233 => ("K-233", 233, 232),
            Curve::K283 => ("K-283", 283, 281),
            Curve::K409 => ("K-409", 409, 407),
            Curve::K571 => ("K-571", 571, 570),
            Curve::BrainpoolP256r1 => ("brainpoolP256r1", 256, 256),
            Curve::BrainpoolP384r1 => ("brainpoolP384r1", 384, 384),
            Curve::BrainpoolP512r1 => ("brainpoolP512r1", 512, 512),
        }
    }

    /// The name in the standard, e.g. `P-256`.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// Bytes of a field element: of X, Y and a shared secret.
    pub const fn field_len(self) -> usize {
        self.facts().1.div_ceil(8)
    }

    /// Bits of the group's order.
    pub const fn order_bits(self) -> usize {
        self.facts().2
    }

    /// Bytes of a private key and of each half of a signature.
    pub const fn order_len(self) -> usize {
        self.order_bits().div_ceil(8)
    }

    /// Bytes of an uncompressed point: 04, X, Y.
    pub const fn point_len(self) -> usize {
        1 + 2 * self.field_len()
    }
}

impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
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
    /// Both curves.
    pub const ALL: [XdhCurve; 2] = [XdhCurve::X25519, XdhCurve::X448];

    /// The name of the function, e.g. `X25519`.
    pub const fn name(self) -> &'static str {
        match self {
            XdhCurve::X25519 => "X25519",
            XdhCurve::X448 => "X448",
        }
    }

    /// Bytes of a private key, a public key and a shared secret.
    pub const fn key_len(self) -> usize {
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
    /// Both curves.
    pub const ALL: [EdCurve; 2] = [EdCurve::Ed25519, EdCurve::Ed448];

    /// The name of the signature scheme, e.g. `Ed25519`.
    pub const fn name(self) -> &'static str {
        match self {
            EdCurve::Ed25519 => "Ed25519",
            EdCurve::Ed448 => "Ed448",
        }
    }

    /// Bytes of a seed, which is the private key, and of a public key.
    pub const fn key_len(self) -> usize {
        match self {
            EdCurve::Ed25519 => 32,
            EdCurve::Ed448 => 57,
        }
    }

    /// Bytes of a signature.
    pub const fn signature_len(self) -> usize {
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

impl Pke {
    /// The operations of a session of this kind.
    pub fn ops(&self) -> &'static [Op] {
        match self {
            Pke::RsaPrivate(_) | Pke::RsaPrivateBlinded(_) => &[Op::RsaPrivate],
            Pke::RsaPublic(_) => &[Op::RsaPublic],
            Pke::RsaGenerate { .. } => &[Op::RsaGenerate],
            Pke::Dh(_) => &[Op::DhGenerate, Op::DhPublic, Op::DhDerive],
            Pke::Dsa(_) => &[Op::DsaGenerate, Op::DsaSign, Op::DsaVerify],
            Pke::DsaParameters { .. } => &[Op::DsaParameters],
            Pke::Ec(_) => &[Op::EcGenerate, Op::EcPublic, Op::EcDerive, Op::EcSign, Op::EcVerify],
            Pke::Weierstrass(_) => &[Op::Point],
            Pke::Xdh(_) => &[Op::XdhGenerate, Op::XdhPublic, Op::XdhDerive],
            Pke::Eddsa(_) => &[Op::EdGenerate, Op::EdPublic, Op::EdSign, Op::EdVerify],
            Pke::Sm2 => &[
                Op::Sm2Generate,
                Op::Sm2Public,
                Op::Sm2Sign,
                Op::Sm2Verify,
                Op::Sm2Encrypt,
                Op::Sm2Decrypt,
                Op::Sm2Exchange,
                Op::Sm2Identity,
            ],
            Pke::Modular(_) => &[Op::Modular],
            Pke::BinaryField(_) => &[Op::BinaryField],
            Pke::Prime => &[Op::PrimeGenerate, Op::PrimeCheck],
        }
    }
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
    /// The caller's, in the source in front of the digest, as long as the order. It has to be secret, from 1
    /// to the order - 1, and never used for two digests: else the private key is gone. `BadInput` where it is
    /// out of range, or makes no signature.
    Given,
}

/// How long the salt of an RSA-PSS signature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaltLen {
    /// As long as the hash.
    Digest,
    /// As long as fits.
    Max,
    /// As long as the hash, or as long as fits if that is less (FIPS 186-5 section 5.4). In verification as
    /// `Auto`.
    UpToDigest,
    /// Whatever the signature has. Verification only.
    Auto,
    /// This many bytes.
    Exactly(u16),
}

/// What surrounds the raw RSA operation (RFC 8017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Which side of an SM2 key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Sm2Role {
    Initiator,
    Responder,
}

/// What one request chooses beside its session and buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// For RSA.
    Rsa(RsaScheme),
    /// For RSA public: return what the signature holds instead of comparing it.
    RsaRecover(RsaScheme),
    /// For ECDSA, DSA and SM2 signatures.
    Nonce(Nonce),
    /// For ECDH: multiply by the cofactor.
    Cofactor(bool),
    /// For modular and field arithmetic.
    Arithmetic(Arithmetic),
    /// For point arithmetic; for ECDH, [`PointStep::Multiply`] asks for the point itself.
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
