//! Services and operations.

use core::{ffi::CStr, fmt};

/// A family of operations. The short names are those of the field (`dc` is what QuickAssist calls
/// data compression).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Service {
    /// Data compression: DEFLATE, zlib, gzip.
    Dc,
    /// Data mover: copies, fills, compares buffers.
    Mv,
    /// Public-key cryptography.
    Pke,
    /// Key derivation.
    Kdf,
    /// Symmetric cryptography: ciphers, hashes, MACs, AEADs.
    Sym,
    /// Random numbers.
    Rng,
    /// Pattern matching.
    Scan,
    /// XML processing.
    Xml,
}

/// A service's short name as a literal, for `concat!`.
macro_rules! service_name {
    (Dc) => {
        "dc"
    };
    (Mv) => {
        "mv"
    };
    (Pke) => {
        "pke"
    };
    (Kdf) => {
        "kdf"
    };
    (Sym) => {
        "sym"
    };
    (Rng) => {
        "rng"
    };
    (Scan) => {
        "scan"
    };
    (Xml) => {
        "xml"
    };
}

impl Service {
    /// The service's short name: `dc`, `mv`, `pke`, `kdf`, `sym`, `rng`, `scan`, `xml`.
    pub fn name(self) -> &'static str {
        match self {
            Service::Dc => service_name!(Dc),
            Service::Mv => service_name!(Mv),
            Service::Pke => service_name!(Pke),
            Service::Kdf => service_name!(Kdf),
            Service::Sym => service_name!(Sym),
            Service::Rng => service_name!(Rng),
            Service::Scan => service_name!(Scan),
            Service::Xml => service_name!(Xml),
        }
    }
}

/// Declares [`Op`] from one row per operation: variant, service, name, what it does.
macro_rules! ops {
    ($($variant:ident $service:ident $name:literal $doc:literal)*) => {
        /// One operation that a device can execute.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Op {
            $(#[doc = $doc] $variant,)*
        }

        impl Op {
            /// Every operation, in the order of [`Op::index`].
            pub const ALL: [Op; [$($name),*].len()] = [$(Op::$variant),*];

            /// The operation's name, in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Op::$variant => $name,)*
                }
            }

            /// Service and name, as [`fmt::Display`] writes them (`dc.compress`), with a NUL at the end: for C.
            pub fn full_name(self) -> &'static CStr {
                match self {
                    $(Op::$variant => const {
                        let name = concat!(service_name!($service), ".", $name, "\0");
                        match CStr::from_bytes_with_nul(name.as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a NUL in a name"),
                        }
                    },)*
                }
            }

            /// The service that the operation belongs to.
            pub fn service(self) -> Service {
                match self {
                    $(Op::$variant => Service::$service,)*
                }
            }
        }
    };
}

ops! {
    Copy Mv "copy" "Copy the source to the destination."
    CopyCrc32 Mv "copy-crc32" "Copy, and make the CRC-32 of what is copied."
    CopyCrc64 Mv "copy-crc64" "Copy, and make the CRC-64 of what is copied."
    Fill Mv "fill" "Fill the destination with a pattern."
    Compare Mv "compare" "Compare two buffers."
    Compress Dc "compress" "Compress."
    Decompress Dc "decompress" "Decompress."
    RsaPrivate Pke "rsa-private" "RSA with the private key: signatures, decryption."
    RsaPublic Pke "rsa-public" "RSA with the public key: verification, encryption."
    RsaGenerate Pke "rsa-generate" "Make an RSA key."
    DhGenerate Pke "dh-generate" "Make a Diffie-Hellman key pair."
    DhPublic Pke "dh-public" "The public value of a Diffie-Hellman private one."
    DhDerive Pke "dh-derive" "A Diffie-Hellman shared secret."
    DsaParameters Pke "dsa-parameters" "Make DSA domain parameters."
    DsaGenerate Pke "dsa-generate" "Make a DSA key pair."
    DsaSign Pke "dsa-sign" "Sign with DSA."
    DsaVerify Pke "dsa-verify" "Verify a DSA signature."
    EcGenerate Pke "ec-generate" "Make a key pair on a named curve."
    EcPublic Pke "ec-public" "The public point of a private key."
    EcDerive Pke "ec-derive" "An ECDH shared secret."
    EcSign Pke "ec-sign" "Sign with ECDSA."
    EcVerify Pke "ec-verify" "Verify an ECDSA signature."
    Point Pke "point" "Point arithmetic on any Weierstrass curve."
    XdhGenerate Pke "xdh-generate" "Make an X25519 or X448 key pair."
    XdhPublic Pke "xdh-public" "The public value of an X25519 or X448 private key."
    XdhDerive Pke "xdh-derive" "An X25519 or X448 shared secret."
    EdGenerate Pke "ed-generate" "Make an Ed25519 or Ed448 key pair."
    EdPublic Pke "ed-public" "The public key of an Ed25519 or Ed448 seed."
    EdSign Pke "ed-sign" "Sign with Ed25519 or Ed448."
    EdVerify Pke "ed-verify" "Verify an Ed25519 or Ed448 signature."
    Sm2Generate Pke "sm2-generate" "Make an SM2 key pair."
    Sm2Public Pke "sm2-public" "The public point of an SM2 private key."
    Sm2Sign Pke "sm2-sign" "Sign with SM2."
    Sm2Verify Pke "sm2-verify" "Verify an SM2 signature."
    Sm2Encrypt Pke "sm2-encrypt" "Encrypt with SM2."
    Sm2Decrypt Pke "sm2-decrypt" "Decrypt with SM2."
    Sm2Exchange Pke "sm2-exchange" "An SM2 key exchange."
    Sm2Identity Pke "sm2-identity" "The digest of an SM2 identity."
    Modular Pke "modular" "Arithmetic modulo a number."
    BinaryField Pke "binary-field" "Arithmetic in GF(2^m)."
    PrimeGenerate Pke "prime-generate" "Make a prime."
    PrimeCheck Pke "prime-check" "Test whether a number is a prime."
    TlsPrf Kdf "tls-prf" "The TLS pseudorandom function."
    Hkdf Kdf "hkdf" "HKDF."
    Encrypt Sym "encrypt" "Encrypt."
    Decrypt Sym "decrypt" "Decrypt."
    Digest Sym "digest" "Make a digest or a MAC."
    Verify Sym "verify" "Verify a digest or a MAC."
    Seal Sym "seal" "Encrypt and authenticate."
    Open Sym "open" "Verify and decrypt."
    Random Rng "random" "Fill the destination with random bytes."
    Scan Scan "scan" "Find the matches of a set of patterns."
    Parse Xml "parse" "Read an XML document, or its next piece, to events."
}

impl Op {
    /// Position in [`Op::ALL`]; for tables with a row per operation.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.service().name(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(op.index(), i);
        }
    }

    #[test]
    fn the_full_name_is_what_is_displayed() {
        for op in Op::ALL {
            assert_eq!(op.full_name().to_str(), Ok(&*op.to_string()));
        }
    }
}
