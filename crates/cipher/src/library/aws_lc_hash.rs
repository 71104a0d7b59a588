//! AWS-LC's compression functions: chaining values and whole blocks in, chaining values out.

use aws_lc_sys as aws;

macro_rules! compress {
    ($(#[$doc:meta])* $name:ident, $word:ty, $words:literal, $block:literal, $state:ident, $update:ident) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name(words: &mut [$word; $words], blocks: &[u8]) {
            assert_eq!(blocks.len() % $block, 0, "whole blocks");
            // SAFETY: the structure is plain data, which zero is valid for: nothing buffered and
            // nothing counted. `blocks` is readable for its length; since it is whole blocks, all
            // of it goes into the chaining values.
            unsafe {
                let mut state: aws::$state = std::mem::zeroed();
                state.h = *words;
                aws::$update(&mut state, blocks.as_ptr().cast(), blocks.len());
                *words = state.h;
            }
        }
    };
}

compress! {
    /// MD5 (RFC 1321).
    md5, u32, 4, 64, MD5_CTX, MD5_Update
}
compress! {
    /// SHA-1 (FIPS 180-4).
    sha1, u32, 5, 64, SHA_CTX, SHA1_Update
}
compress! {
    /// SHA-512 and SHA-384 (FIPS 180-4).
    sha512, u64, 8, 128, SHA512_CTX, SHA512_Update
}

/// SHA-256 and SHA-224 (FIPS 180-4).
#[inline]
pub(crate) fn sha256(words: &mut [u32; 8], blocks: &[u8]) {
    assert_eq!(blocks.len() % 64, 0, "whole blocks");
    // SAFETY: eight words to read and write, and as many blocks to read.
    unsafe { aws::SHA256_TransformBlocks(words.as_mut_ptr(), blocks.as_ptr(), blocks.len() / 64) };
}
