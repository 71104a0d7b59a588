//! The digests that are offered, with the names that OpenSSL 3.0's default provider has.

use core::ffi::{CStr, c_int};

use lookaside::Hash;

use super::{aside::Pace, plain, text::Text};
use crate::{
    digest,
    dispatch::digest::Table,
    ffi::{Dispatch, OP_DIGEST},
    statistics::{DIGESTS, Tallied},
};

/// One algorithm.
#[derive(Debug)]
pub struct Spec {
    /// Its place in [`SPECS`].
    pub index: usize,
    /// Its names.
    pub names: &'static CStr,
    /// What it is.
    pub what: &'static CStr,
    /// What the runtime is asked for.
    pub hash: Hash,
    /// The digest's length in bytes.
    pub len: usize,
    /// The block's length.
    pub block_len: usize,
    /// Whether an algorithm identifier of it has no parameters, rather than NULL.
    pub bare: bool,
    /// When a message gains by company.
    pub pace: Pace,
    /// What computes a message at once; none: the runtime does.
    pub functions: Option<&'static plain::Functions>,
}

macro_rules! specs {
    ($($hash:ident $names:literal $what:literal $len:literal $block:literal $bare:literal
        $least:literal $fewest:literal;)*) => {
        #[derive(Clone, Copy)]
        enum Id { $($hash,)* }

        /// The digests. The last two columns are explained at [`Pace`].
        pub static SPECS: [Spec; [$($names),*].len()] = [$(Spec {
            index: Id::$hash as usize,
            names: $names,
            what: $what,
            hash: Hash::$hash,
            len: $len,
            block_len: $block,
            bare: $bare,
            pace: Pace { least: $least, fewest: $fewest },
            functions: plain::functions(Hash::$hash),
        },)*];

        static FUNCTIONS: [&[Dispatch]; SPECS.len()] =
            [$(Table::<Text, { Id::$hash as usize }>::FUNCTIONS,)*];
    };
}

specs! {
    Sha1 c"SHA1:SHA-1:SSL3-SHA1:1.3.14.3.2.26" c"SHA-1 (weak)" 20 64 true 4096 6;
    Sha224 c"SHA2-224:SHA-224:SHA224:2.16.840.1.101.3.4.2.4" c"SHA-224" 28 64 true 4096 12;
    Sha256 c"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1" c"SHA-256" 32 64 true 4096 12;
    Sha384 c"SHA2-384:SHA-384:SHA384:2.16.840.1.101.3.4.2.2" c"SHA-384" 48 128 true 2048 3;
    Sha512 c"SHA2-512:SHA-512:SHA512:2.16.840.1.101.3.4.2.3" c"SHA-512" 64 128 true 2048 3;
    Sha3_224 c"SHA3-224:2.16.840.1.101.3.4.2.7" c"SHA3-224" 28 144 true 1024 2;
    Sha3_256 c"SHA3-256:2.16.840.1.101.3.4.2.8" c"SHA3-256" 32 136 true 1024 2;
    Sha3_384 c"SHA3-384:2.16.840.1.101.3.4.2.9" c"SHA3-384" 48 104 true 1024 2;
    Sha3_512 c"SHA3-512:2.16.840.1.101.3.4.2.10" c"SHA3-512" 64 72 true 1024 2;
    Sm3 c"SM3:1.2.156.10197.1.401" c"SM3" 32 64 false 1024 2;
    Md5 c"MD5:SSL3-MD5:1.2.840.113549.2.5" c"MD5 (weak)" 16 64 false 1024 3;
}

impl Spec {
    /// The first of its names.
    pub fn name(&self) -> &'static str {
        crate::algorithms::first_name(self.names)
    }
}

impl Tallied for Spec {
    fn place(&self) -> usize {
        DIGESTS + self.index
    }
}

/// The digest of this name, if it is one of ours.
pub fn find(name: &str) -> Option<&'static Spec> {
    let hash = digest::hash(name).ok()?;
    SPECS.iter().find(|spec| spec.hash == hash)
}

/// For [`crate::algorithms`]: the operation and the algorithms with their functions.
pub fn rows() -> impl Iterator<Item = (c_int, &'static Spec, &'static [Dispatch])> {
    SPECS.iter().zip(FUNCTIONS).map(|(spec, functions)| (OP_DIGEST, spec, functions))
}
