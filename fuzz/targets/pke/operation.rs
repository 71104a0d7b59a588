//! Operations with all that they have variants of, as requests of typed sessions.

use lookaside::{
    Arithmetic, BinaryField, Buf, Curve, Dh, DhGroup, Dsa, DsaDomain, Ec, EdCurve, Eddsa, Hash,
    Hkdf, HkdfMode, Modular, Nonce, PointStep, Prime, Request, RsaCrt, RsaPrivate, RsaPrivateKey,
    RsaPublic, RsaPublicKey, RsaScheme, Runtime, SaltLen, SetupError, Sm2, Sm2Role, TlsPrf,
    Weierstrass, WeierstrassParams, Xdh, XdhCurve,
};

/// What needs the same kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    Rsa,
    Dh,
    Dsa,
    Ec,
    Weierstrass,
    Xdh,
    Eddsa,
    Sm2,
    Modular,
    BinaryField,
    Prime,
    Kdf,
}

macro_rules! operations {
    ($($name:ident: $family:ident, $variants:expr;)*) => {
        /// What a request does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation { $($name),* }

        impl Operation {
            pub const ALL: &[Operation] = &[$(Operation::$name),*];

            pub fn family(self) -> Family {
                match self { $(Operation::$name => Family::$family),* }
            }

            pub fn variants(self) -> u8 {
                match self { $(Operation::$name => $variants as u8),* }
            }
        }
    };
}

operations! {
    RsaPrivate: Rsa, 2 * SCHEMES.len();
    RsaPublic: Rsa, SCHEMES.len();
    RsaRecover: Rsa, SCHEMES.len();
    DhPublic: Dh, 1;
    DhDerive: Dh, 1;
    DsaSign: Dsa, 2;
    DsaVerify: Dsa, 1;
    EcPublic: Ec, Curve::ALL.len();
    EcDerive: Ec, 2 * Curve::ALL.len();
    EcSign: Ec, Curve::ALL.len();
    EcVerify: Ec, Curve::ALL.len();
    Point: Weierstrass, STEPS.len();
    XdhPublic: Xdh, 2;
    XdhDerive: Xdh, 2;
    EdPublic: Eddsa, 2;
    EdSign: Eddsa, 2;
    EdVerify: Eddsa, 2;
    Sm2Public: Sm2, 1;
    Sm2Sign: Sm2, 1;
    Sm2Verify: Sm2, 1;
    Sm2Encrypt: Sm2, 1;
    Sm2Decrypt: Sm2, 1;
    Sm2Exchange: Sm2, 2;
    Sm2Identity: Sm2, 1;
    Modular: Modular, ARITHMETIC.len();
    BinaryField: BinaryField, ARITHMETIC.len();
    PrimeCheck: Prime, 1;
    TlsPrf: Kdf, HASHES.len();
    Hkdf: Kdf, 4 * HASHES.len();
}

pub const SCHEMES: [RsaScheme; 9] = [
    RsaScheme::Raw,
    RsaScheme::Pkcs1Sign(Some(Hash::Sha256)),
    RsaScheme::Pkcs1Sign(Some(Hash::Md5Sha1)),
    RsaScheme::Pkcs1Sign(None),
    RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt: SaltLen::Exactly(0) },
    RsaScheme::Pss { hash: Hash::Sha1, mgf: Hash::Sha256, salt: SaltLen::Auto },
    RsaScheme::Pkcs1Encrypt,
    RsaScheme::Oaep { hash: Hash::Sha1, mgf: Hash::Sha256, label_len: 3 },
    RsaScheme::Pkcs1Tls { client_version: 0x303, alternative: Some(0x301) },
];

pub const STEPS: [PointStep; 5] = [
    PointStep::Multiply,
    PointStep::MultiplyGenerator,
    PointStep::Add,
    PointStep::Double,
    PointStep::Verify,
];

const ARITHMETIC: [Arithmetic; 7] = [
    Arithmetic::Power,
    Arithmetic::Add,
    Arithmetic::Subtract,
    Arithmetic::Multiply,
    Arithmetic::Square,
    Arithmetic::Reduce,
    Arithmetic::Invert,
];

const HASHES: [Hash; 6] =
    [Hash::Sha256, Hash::Sha384, Hash::Sha1, Hash::Md5Sha1, Hash::Sha3_256, Hash::Sm3];

const MODES: [HkdfMode; 4] =
    [HkdfMode::ExtractAndExpand, HkdfMode::Extract, HkdfMode::Expand, HkdfMode::ExpandLabel];

/// A session.
pub enum Opened {
    RsaPrivate(RsaPrivate),
    RsaPublic(RsaPublic),
    Dh(Dh),
    Dsa(Dsa),
    Ec(Ec),
    Weierstrass(Weierstrass),
    Xdh(Xdh),
    Eddsa(Eddsa),
    Sm2(Sm2),
    Modular(Modular),
    BinaryField(BinaryField),
    Prime(Prime),
    TlsPrf(TlsPrf),
    Hkdf(Hkdf),
}

/// One of these by its number.
fn nth<T: Copy>(all: &[T], number: u8) -> T {
    all[usize::from(number) % all.len()]
}

impl Operation {
    /// The curve of a variant.
    pub fn curve(variant: u8) -> Curve {
        nth(&Curve::ALL, variant)
    }

    pub fn xdh_curve(variant: u8) -> XdhCurve {
        nth(&[XdhCurve::X25519, XdhCurve::X448], variant)
    }

    pub fn ed_curve(variant: u8) -> EdCurve {
        nth(&[EdCurve::Ed25519, EdCurve::Ed448], variant)
    }

    /// The longest part of a key and the longest source: a run takes milliseconds.
    pub fn most_bytes(self) -> (usize, usize) {
        match self.family() {
            Family::Weierstrass | Family::BinaryField => (72, 200),
            Family::Prime => (0, 64),
            _ => (200, 600),
        }
    }

    /// Whether equal requests have equal results.
    pub fn deterministic(self, variant: u8) -> bool {
        match self {
            Operation::RsaPrivate => !matches!(
                nth(&SCHEMES, variant),
                RsaScheme::Pss { salt: SaltLen::Auto, .. } | RsaScheme::Pkcs1Tls { .. }
            ),
            // Encryption pads at random.
            Operation::RsaPublic => !matches!(
                nth(&SCHEMES, variant),
                RsaScheme::Pkcs1Encrypt | RsaScheme::Oaep { .. } | RsaScheme::Pkcs1Tls { .. }
            ),
            Operation::DsaSign => variant == 0,
            Operation::Sm2Sign | Operation::Sm2Encrypt => false,
            _ => true,
        }
    }

    /// A session with a key of these parts.
    pub fn open(
        self,
        runtime: &Runtime,
        variant: u8,
        parts: &[Vec<u8>],
    ) -> Result<Opened, SetupError> {
        let part = |i: usize| parts[i].clone();
        Ok(match self {
            Operation::RsaPrivate => {
                let secret = |i: usize| part(i).into();
                let crt = || RsaCrt {
                    p: secret(3),
                    q: secret(4),
                    dp: secret(5),
                    dq: secret(6),
                    qinv: secret(7),
                };
                // Variants of the second half have no primes.
                let crt = (usize::from(variant) < SCHEMES.len()).then(crt);
                let key = RsaPrivateKey { n: part(0), e: part(1), d: secret(2), crt };
                Opened::RsaPrivate(runtime.rsa_private(key)?)
            }
            Operation::RsaPublic | Operation::RsaRecover => {
                let key = RsaPublicKey { n: part(0), e: part(1) };
                Opened::RsaPublic(runtime.rsa_public(key)?)
            }
            Operation::TlsPrf => Opened::TlsPrf(runtime.tls_prf(nth(&HASHES, variant))?),
            Operation::Hkdf => Opened::Hkdf(runtime.hkdf(nth(&HASHES, variant / 4))?),
            _ => match self.family() {
                Family::Dh => {
                    let q = (!parts[2].is_empty()).then(|| part(2));
                    Opened::Dh(runtime.dh(DhGroup { p: part(0), g: part(1), q })?)
                }
                Family::Dsa => {
                    let domain = DsaDomain { p: part(0), q: part(1), g: part(2) };
                    Opened::Dsa(runtime.dsa(domain)?)
                }
                Family::Ec => Opened::Ec(runtime.ec(Operation::curve(variant))?),
                Family::Weierstrass => {
                    Opened::Weierstrass(runtime.weierstrass(WeierstrassParams {
                        p: part(0),
                        a: part(1),
                        b: part(2),
                        g: (part(3), part(4)),
                        order: part(5),
                        cofactor: part(6),
                        binary: !parts[7].is_empty(),
                    })?)
                }
                Family::Xdh => Opened::Xdh(runtime.xdh(Operation::xdh_curve(variant))?),
                Family::Eddsa => Opened::Eddsa(runtime.eddsa(Operation::ed_curve(variant))?),
                Family::Sm2 => Opened::Sm2(runtime.sm2()?),
                Family::Modular => Opened::Modular(runtime.modular(&parts[0])?),
                Family::BinaryField => Opened::BinaryField(runtime.binary_field(&parts[0])?),
                _ => Opened::Prime(runtime.prime()?),
            },
        })
    }

    /// A request of a session that [`Operation::open`] made.
    pub fn request(self, session: &Opened, variant: u8, src: Buf, dst: Buf) -> Request {
        let deterministic = Nonce::Deterministic(Hash::Sha256);
        match (self, session) {
            (_, Opened::RsaPrivate(key)) => key.run(nth(&SCHEMES, variant), src, dst),
            (Operation::RsaPublic, Opened::RsaPublic(key)) => {
                key.run(nth(&SCHEMES, variant), src, dst)
            }
            (_, Opened::RsaPublic(key)) => key.recover(nth(&SCHEMES, variant), src, dst),
            (Operation::DhPublic, Opened::Dh(dh)) => dh.public(src, dst),
            (_, Opened::Dh(dh)) => dh.derive(src, dst),
            (Operation::DsaSign, Opened::Dsa(dsa)) => {
                let nonce = if variant == 0 { deterministic } else { Nonce::Hedged };
                dsa.sign(nonce, src, dst)
            }
            (_, Opened::Dsa(dsa)) => dsa.verify(src),
            (Operation::EcPublic, Opened::Ec(ec)) => ec.public(src, dst),
            (Operation::EcDerive, Opened::Ec(ec)) => {
                ec.derive(usize::from(variant) >= Curve::ALL.len(), src, dst)
            }
            (Operation::EcSign, Opened::Ec(ec)) => ec.sign(deterministic, src, dst),
            (_, Opened::Ec(ec)) => ec.verify(src),
            (_, Opened::Weierstrass(curve)) => curve.point(nth(&STEPS, variant), src, dst),
            (Operation::XdhPublic, Opened::Xdh(xdh)) => xdh.public(src, dst),
            (_, Opened::Xdh(xdh)) => xdh.derive(src, dst),
            (Operation::EdPublic, Opened::Eddsa(ed)) => ed.public(src, dst),
            (Operation::EdSign, Opened::Eddsa(ed)) => ed.sign(src, dst),
            (_, Opened::Eddsa(ed)) => ed.verify(src),
            (Operation::Sm2Public, Opened::Sm2(sm2)) => sm2.public(src, dst),
            (Operation::Sm2Sign, Opened::Sm2(sm2)) => sm2.sign(src, dst),
            (Operation::Sm2Encrypt, Opened::Sm2(sm2)) => sm2.encrypt(src, dst),
            (Operation::Sm2Decrypt, Opened::Sm2(sm2)) => sm2.decrypt(src, dst),
            (Operation::Sm2Exchange, Opened::Sm2(sm2)) => {
                sm2.exchange(nth(&[Sm2Role::Initiator, Sm2Role::Responder], variant), src, dst)
            }
            (Operation::Sm2Identity, Opened::Sm2(sm2)) => sm2.identity(src, dst),
            (_, Opened::Sm2(sm2)) => sm2.verify(src),
            (_, Opened::Modular(modular)) => {
                modular.arithmetic(nth(&ARITHMETIC, variant), src, dst)
            }
            (_, Opened::BinaryField(field)) => {
                field.arithmetic(nth(&ARITHMETIC, variant), src, dst)
            }
            (_, Opened::Prime(prime)) => prime.check(src),
            // The lengths of the parts are hostile too: they come from the source's first bytes.
            (_, Opened::TlsPrf(prf)) => {
                let [first, ..] = lengths(&src);
                prf.derive(first, src, dst)
            }
            (_, Opened::Hkdf(hkdf)) => {
                let [first, second] = lengths(&src);
                hkdf.derive(nth(&MODES, variant), first, second, src, dst)
            }
        }
    }
}

/// Two lengths: the first bytes of a source, which at 255 stand for more than there can be.
fn lengths(src: &Buf) -> [u32; 2] {
    let bytes = src.as_slice().unwrap_or_default();
    [0, 1].map(|i| match bytes.get(i) {
        Some(255) => u32::MAX - 1,
        Some(byte) => u32::from(*byte) % 48,
        None => 0,
    })
}
