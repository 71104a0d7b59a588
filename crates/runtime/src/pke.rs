//! Typed sessions of the public-key (`pke`) and key-derivation (`kdf`) services.
//!
//! Numbers are big-endian and of fixed length, one after the other in a source or destination,
//! nothing between them; X25519, X448, Ed25519 and Ed448 have their RFCs' encodings. `k` is the
//! modulus' length in bytes, `f` [`Curve::field_len`], `o` [`Curve::order_len`]. A destination may
//! be longer than the result; `Done::produced` says how much is written.
//!
//! Every operation answers `BadInput` for a source of the wrong length or content, `DstTooSmall`,
//! `AuthFailed` where something is verified, and `Fault` when a result was withheld. Buffers with
//! secrets are best made by [`Buf::secret`].

use std::sync::Arc;

use lookaside_core::{
    Arithmetic, Buf, Curve, Detail, DhGroup, DsaDomain, EdCurve, Hash, HkdfMode, Kdf, Nonce, Op,
    Pke, PointStep, Request, RsaPrivateKey, RsaPublicKey, RsaScheme, Session, SessionSpec,
    SetupError, Sm2Role, WeierstrassParams, XdhCurve,
};

use crate::Runtime;

/// Declares typed sessions: a newtype around the session, cheap to clone.
macro_rules! sessions {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])* #[derive(Clone, Debug)] pub struct $name(Arc<Session>);

        impl $name {
            fn request(&self, op: Op, detail: Detail, src: Buf, dst: Buf) -> Request {
                Request::new(op, self.0.clone(), detail.into(), src, dst)
            }
        })*
    };
}

sessions! {
    /// One RSA private key. Requests of different keys of one size share a batch.
    RsaPrivate
    /// One RSA public key.
    RsaPublic
    /// Generation of RSA keys of one size.
    RsaGenerate
    /// Diffie-Hellman in one group.
    Dh
    /// DSA with one set of domain parameters.
    Dsa
    /// Generation of DSA domain parameters of one size.
    DsaParameters
    /// ECDH and ECDSA on one named curve; the keys come with the requests.
    Ec
    /// Point arithmetic on one curve given by its parameters.
    Weierstrass
    /// X25519 or X448.
    Xdh
    /// Ed25519 or Ed448.
    Eddsa
    /// SM2 (GB/T 32918).
    Sm2
    /// Arithmetic modulo one number.
    Modular
    /// Arithmetic in one GF(2^m).
    BinaryField
    /// Primes.
    Prime
    /// The TLS pseudorandom function with one hash.
    TlsPrf
    /// HKDF with one hash.
    Hkdf
}

impl RsaPrivate {
    /// Signs or decrypts, as the scheme says. A signature or raw result has k bytes, a plaintext
    /// at most k. Signing: `src` is the digest (or what the scheme pads). Decrypting: `src` is the
    /// ciphertext, k bytes, behind the label for OAEP. The result is verified with the public
    /// exponent before it is released.
    pub fn run(&self, scheme: RsaScheme, src: Buf, dst: Buf) -> Request {
        self.request(Op::RsaPrivate, Detail::Rsa(scheme), src, dst)
    }
}

impl RsaPublic {
    /// For a signature scheme, verifies: `src` is the signature (k bytes), then the digest;
    /// nothing is written. For an encryption scheme, encrypts: `src` is the plaintext (behind the
    /// label for OAEP), `dst` gets k bytes. Raw: k bytes to k bytes.
    pub fn run(&self, scheme: RsaScheme, src: Buf, dst: Buf) -> Request {
        self.request(Op::RsaPublic, Detail::Rsa(scheme), src, dst)
    }

    /// Returns what a signature holds: `src` is the signature, `dst` gets the digest or the bytes
    /// that were padded. Not for PSS.
    pub fn recover(&self, scheme: RsaScheme, src: Buf, dst: Buf) -> Request {
        self.request(Op::RsaPublic, Detail::RsaRecover(scheme), src, dst)
    }
}

impl RsaGenerate {
    /// Makes a key: `src` is the public exponent; `dst` gets n, d (k bytes each), p, q, d mod p-1,
    /// d mod q-1, 1/q mod p (half of the bits, rounded up to bytes, each).
    pub fn generate(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::RsaGenerate, Detail::None, src, dst)
    }
}

impl Dh {
    /// Makes a key pair: `dst` gets the private value, as long as the group's order or its
    /// recommended exponents are (at most k bytes), and the public value: the last k bytes.
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::DhGenerate, Detail::None, Buf::empty(), dst)
    }

    /// The public value (k bytes) of the private one in `src`, of any length up to k.
    pub fn public(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::DhPublic, Detail::None, src, dst)
    }

    /// The shared secret (k bytes). `src` is our private value, of any length up to k, then the
    /// peer's public one, k bytes. The peer's value is validated.
    pub fn derive(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::DhDerive, Detail::None, src, dst)
    }
}

impl Dsa {
    /// Makes a key pair: `dst` gets x (the length of q), then y (k bytes).
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::DsaGenerate, Detail::None, Buf::empty(), dst)
    }

    /// Signs: `src` is x (the length of q), then the digest; `dst` gets r, s.
    pub fn sign(&self, nonce: Nonce, src: Buf, dst: Buf) -> Request {
        self.request(Op::DsaSign, Detail::Nonce(nonce), src, dst)
    }

    /// Verifies: `src` is y (k bytes), r, s, then the digest. Nothing is written.
    pub fn verify(&self, src: Buf) -> Request {
        self.request(Op::DsaVerify, Detail::None, src, Buf::empty())
    }
}

impl DsaParameters {
    /// Makes domain parameters: `dst` gets p, q, g (FIPS 186-4 appendix A).
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::DsaParameters, Detail::None, Buf::empty(), dst)
    }
}

impl Ec {
    /// Makes a key pair: `dst` gets the private key (o bytes), then the point (04, X, Y).
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::EcGenerate, Detail::None, Buf::empty(), dst)
    }

    /// The point (04, X, Y) of the private key in `src`.
    pub fn public(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::EcPublic, Detail::None, src, dst)
    }

    /// The shared secret: X (f bytes). `src` is our private key (o bytes), then the peer's point,
    /// which is validated. `cofactor` multiplies by the curve's cofactor too.
    pub fn derive(&self, cofactor: bool, src: Buf, dst: Buf) -> Request {
        self.request(Op::EcDerive, Detail::Cofactor(cofactor), src, dst)
    }

    /// A scalar times a point: `src` is the scalar (o bytes, from 1 to the order - 1), then the point,
    /// which has to be on the curve; `dst` gets the product (04, X, Y).
    pub fn multiply(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::EcDerive, Detail::Point(PointStep::Multiply), src, dst)
    }

    /// Signs: `src` is the private key (o bytes), then the digest; `dst` gets r, s (o bytes each).
    pub fn sign(&self, nonce: Nonce, src: Buf, dst: Buf) -> Request {
        self.request(Op::EcSign, Detail::Nonce(nonce), src, dst)
    }

    /// Verifies: `src` is the point (04, X, Y), r, s, then the digest. Nothing is written.
    pub fn verify(&self, src: Buf) -> Request {
        self.request(Op::EcVerify, Detail::None, src, Buf::empty())
    }
}

impl Weierstrass {
    /// Point arithmetic. A coordinate is as long as p, a scalar as long as the order.
    pub fn point(&self, step: PointStep, src: Buf, dst: Buf) -> Request {
        self.request(Op::Point, Detail::Point(step), src, dst)
    }
}

impl Xdh {
    /// Makes a key pair: `dst` gets the private and the public key.
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::XdhGenerate, Detail::None, Buf::empty(), dst)
    }

    /// The public key of the private one in `src`.
    pub fn public(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::XdhPublic, Detail::None, src, dst)
    }

    /// The shared secret. `src` is our private key, then the peer's public one. A secret of zeros
    /// alone is refused.
    pub fn derive(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::XdhDerive, Detail::None, src, dst)
    }
}

impl Eddsa {
    /// Makes a key pair: `dst` gets the seed, then the public key.
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::EdGenerate, Detail::None, Buf::empty(), dst)
    }

    /// The public key of the seed in `src`.
    pub fn public(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::EdPublic, Detail::None, src, dst)
    }

    /// Signs: `src` is seed, public key, message.
    pub fn sign(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::EdSign, Detail::None, src, dst)
    }

    /// Verifies: `src` is public key, signature, message. Nothing is written.
    pub fn verify(&self, src: Buf) -> Request {
        self.request(Op::EdVerify, Detail::None, src, Buf::empty())
    }
}

impl Sm2 {
    /// Makes a key pair: `dst` gets the private key (32 bytes), then the point (04, X, Y).
    pub fn generate(&self, dst: Buf) -> Request {
        self.request(Op::Sm2Generate, Detail::None, Buf::empty(), dst)
    }

    /// The point of the private key in `src`.
    pub fn public(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Public, Detail::None, src, dst)
    }

    /// Signs: `src` is the private key, then e, the SM3 digest of Z and the message; `dst` gets
    /// r, s.
    pub fn sign(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Sign, Detail::None, src, dst)
    }

    /// The same with another kind of nonce.
    pub fn sign_with(&self, nonce: Nonce, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Sign, Detail::Nonce(nonce), src, dst)
    }

    /// Verifies: `src` is the point, r, s, e. Nothing is written.
    pub fn verify(&self, src: Buf) -> Request {
        self.request(Op::Sm2Verify, Detail::None, src, Buf::empty())
    }

    /// Encrypts: `src` is the point, then the message; `dst` gets the ciphertext in DER and has to
    /// have room for the longest that there can be: 117 bytes more than the message serve up to
    /// 4 GiB.
    pub fn encrypt(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Encrypt, Detail::None, src, dst)
    }

    /// Decrypts: `src` is the private key, then the ciphertext in DER.
    pub fn decrypt(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Decrypt, Detail::None, src, dst)
    }

    /// The second phase of a key exchange with confirmation (GB/T 32918.3); the ephemeral pair of
    /// the first is made by [`Sm2::generate`]. `src`: our private key, our ephemeral private key,
    /// our ephemeral point, the peer's point, the peer's ephemeral point, our Z, the peer's Z (32
    /// bytes each, `Sm2::identity`). `dst` gets the key, as long as what is left of `dst`, then the
    /// confirmations S1 and S2 (32 bytes each).
    pub fn exchange(&self, role: Sm2Role, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Exchange, Detail::Sm2Exchange(role), src, dst)
    }

    /// The identity digest Z: `src` is the point, then the identity; `dst` gets 32 bytes. Sign and
    /// verify want e, the SM3 digest of Z and the message.
    pub fn identity(&self, src: Buf, dst: Buf) -> Request {
        self.request(Op::Sm2Identity, Detail::None, src, dst)
    }
}

impl Modular {
    /// One step of arithmetic; numbers are as long as the modulus.
    pub fn arithmetic(&self, step: Arithmetic, src: Buf, dst: Buf) -> Request {
        self.request(Op::Modular, Detail::Arithmetic(step), src, dst)
    }
}

impl BinaryField {
    /// One step of arithmetic; numbers are as long as m bits need.
    pub fn arithmetic(&self, step: Arithmetic, src: Buf, dst: Buf) -> Request {
        self.request(Op::BinaryField, Detail::Arithmetic(step), src, dst)
    }
}

impl Prime {
    /// Makes a prime with its two highest bits set.
    pub fn generate(&self, bits: u32, safe: bool, dst: Buf) -> Request {
        let detail = Detail::Prime { bits, safe };
        self.request(Op::PrimeGenerate, detail, Buf::empty(), dst)
    }

    /// Whether the number in `src` is a prime, wrong with a probability below 2^-80: answers
    /// `AuthFailed` when it is not.
    pub fn check(&self, src: Buf) -> Request {
        self.request(Op::PrimeCheck, Detail::None, src, Buf::empty())
    }
}

impl TlsPrf {
    /// Fills all of `dst`. `src` is the secret (`secret_len` bytes), then label and seed.
    pub fn derive(&self, secret_len: u32, src: Buf, dst: Buf) -> Request {
        self.request(Op::TlsPrf, Detail::TlsPrf { secret_len }, src, dst)
    }
}

impl Hkdf {
    /// Fills all of `dst` (extraction: as many bytes as the hash has). `src` is the key, the salt,
    /// the info; the lengths of the first two are given.
    pub fn derive(
        &self,
        mode: HkdfMode,
        key_len: u32,
        salt_len: u32,
        src: Buf,
        dst: Buf,
    ) -> Request {
        self.request(Op::Hkdf, Detail::Hkdf { mode, key_len, salt_len }, src, dst)
    }
}

/// Sessions of the public-key and key-derivation services. All of these allocate; each answers an
/// error when the key or the parameters are not valid, or no device supports them.
#[allow(clippy::missing_errors_doc)]
impl Runtime {
    fn pke(&self, spec: Pke) -> Result<Arc<Session>, SetupError> {
        self.0.session(SessionSpec::Pke(spec))
    }

    /// A session for one RSA private key of 512 to 8192 bits.
    pub fn rsa_private(&self, key: RsaPrivateKey) -> Result<RsaPrivate, SetupError> {
        Ok(RsaPrivate(self.pke(Pke::RsaPrivate(Arc::new(key)))?))
    }

    /// The same, whose operations are blinded: what is computed with is unknown to whoever chose the
    /// input. Operations that run one at a time are so anyway.
    pub fn rsa_private_blinded(&self, key: RsaPrivateKey) -> Result<RsaPrivate, SetupError> {
        Ok(RsaPrivate(self.pke(Pke::RsaPrivateBlinded(Arc::new(key)))?))
    }

    /// A session for one RSA public key of 512 to 8192 bits.
    pub fn rsa_public(&self, key: RsaPublicKey) -> Result<RsaPublic, SetupError> {
        Ok(RsaPublic(self.pke(Pke::RsaPublic(Arc::new(key)))?))
    }

    /// A session that makes RSA keys.
    pub fn rsa_generate(&self, bits: u32) -> Result<RsaGenerate, SetupError> {
        SetupError::check("RSA modulus in bits", u64::from(bits), 512..=8192)?;
        Ok(RsaGenerate(self.pke(Pke::RsaGenerate { bits })?))
    }

    /// A session for Diffie-Hellman.
    pub fn dh(&self, group: DhGroup) -> Result<Dh, SetupError> {
        Ok(Dh(self.pke(Pke::Dh(Arc::new(group)))?))
    }

    /// A session for DSA.
    pub fn dsa(&self, domain: DsaDomain) -> Result<Dsa, SetupError> {
        Ok(Dsa(self.pke(Pke::Dsa(Arc::new(domain)))?))
    }

    /// A session that makes DSA domain parameters with p of `l` and q of `n` bits.
    pub fn dsa_parameters(&self, l: u32, n: u32) -> Result<DsaParameters, SetupError> {
        Ok(DsaParameters(self.pke(Pke::DsaParameters { l, n })?))
    }

    /// A session for a named curve.
    pub fn ec(&self, curve: Curve) -> Result<Ec, SetupError> {
        Ok(Ec(self.pke(Pke::Ec(curve))?))
    }

    /// A session for a curve given by its parameters.
    pub fn weierstrass(&self, params: WeierstrassParams) -> Result<Weierstrass, SetupError> {
        Ok(Weierstrass(self.pke(Pke::Weierstrass(Arc::new(params)))?))
    }

    /// A session for X25519 or X448.
    pub fn xdh(&self, curve: XdhCurve) -> Result<Xdh, SetupError> {
        Ok(Xdh(self.pke(Pke::Xdh(curve))?))
    }

    /// A session for Ed25519 or Ed448.
    pub fn eddsa(&self, curve: EdCurve) -> Result<Eddsa, SetupError> {
        Ok(Eddsa(self.pke(Pke::Eddsa(curve))?))
    }

    /// A session for SM2.
    pub fn sm2(&self) -> Result<Sm2, SetupError> {
        Ok(Sm2(self.pke(Pke::Sm2)?))
    }

    /// A session for arithmetic modulo a big-endian number of 1 to 4096 bits.
    pub fn modular(&self, modulus: &[u8]) -> Result<Modular, SetupError> {
        Ok(Modular(self.pke(Pke::Modular(modulus.into()))?))
    }

    /// A session for arithmetic in GF(2^m), given by its polynomial.
    pub fn binary_field(&self, polynomial: &[u8]) -> Result<BinaryField, SetupError> {
        Ok(BinaryField(self.pke(Pke::BinaryField(polynomial.into()))?))
    }

    /// A session for primes.
    pub fn prime(&self) -> Result<Prime, SetupError> {
        Ok(Prime(self.pke(Pke::Prime)?))
    }

    /// A session for the TLS pseudorandom function; [`Hash::Md5Sha1`] for TLS 1.0 and 1.1.
    pub fn tls_prf(&self, hash: Hash) -> Result<TlsPrf, SetupError> {
        Ok(TlsPrf(self.0.session(SessionSpec::Kdf(Kdf::TlsPrf(hash)))?))
    }

    /// A session for HKDF.
    pub fn hkdf(&self, hash: Hash) -> Result<Hkdf, SetupError> {
        Ok(Hkdf(self.0.session(SessionSpec::Kdf(Kdf::Hkdf(hash)))?))
    }
}
