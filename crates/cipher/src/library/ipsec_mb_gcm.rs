//! AES-GCM and GMAC by intel-ipsec-mb: one message at a time, which is what it is fastest at; no
//! lanes, so any thread may use a key at any time.

use lookaside_simd::Cpu;
use zeroize::Zeroize;

use super::ffi::{GcmBegin, GcmEnd, GcmKey, GcmPrepare, GcmState, GcmUpdate, GcmWhole};
use super::keys::{Functions, by_key_len};
use crate::{Direction, Parts, Text};

/// A prepared key and the functions for it. Cleared when dropped.
pub(crate) struct Gcm {
    key: Box<GcmKey>,
    whole: [GcmWhole; 2],
    begin: GcmBegin,
    update: [GcmUpdate; 2],
    end: [GcmEnd; 2],
}

/// What a message leaves behind between calls: memory to work in.
#[derive(Default)]
pub(crate) struct Scratch(GcmState);

impl Drop for Scratch {
    fn drop(&mut self) {
        self.0.partial_block_enc_key.zeroize();
        self.0.aad_hash.zeroize();
    }
}

/// A tag of full length.
pub(crate) type Tag = [u8; 16];

impl Gcm {
    /// Expands a key of 16, 24 or 32 bytes; none where the library is not to be used.
    pub(crate) fn new(cpu: &Cpu, key: &[u8]) -> Option<Gcm> {
        let functions = &Functions::of(cpu)?.0;
        let size = by_key_len(key)?;
        let prepare: GcmPrepare = functions.gcm_prepare[size]?;
        let mut prepared = Box::new(GcmKey { bytes: [0; 1024] });
        // SAFETY: the key has the length this function is for.
        unsafe { prepare(key.as_ptr().cast(), &raw mut *prepared) };
        Some(Gcm {
            key: prepared,
            whole: [functions.gcm_enc[size]?, functions.gcm_dec[size]?],
            begin: functions.gcm_begin[size]?,
            update: [functions.gcm_enc_update[size]?, functions.gcm_dec_update[size]?],
            end: [functions.gcm_enc_end[size]?, functions.gcm_dec_end[size]?],
        })
    }

    /// Encrypts or decrypts the cipher region and gives the tag of the ciphertext. The regions must
    /// lie within the text, or this panics; the IV has at least one byte.
    #[inline]
    pub(crate) fn run(
        &self,
        scratch: &mut Scratch,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        text: &mut Text<'_>,
    ) -> Tag {
        let which = direction as usize;
        let aad = super::source(text, parts.aad);
        let (src, dst) = super::region(text, parts.cipher);
        let (aad_len, len) = (u64::from(parts.aad.len), u64::from(parts.cipher.len));
        let (key, state): (*const GcmKey, _) = (&raw const *self.key, &raw mut scratch.0);
        let mut tag = Tag::default();
        if iv.len() == 12 {
            let run = self.whole[which];
            // SAFETY: the pointers are to `len` and `aad_len` bytes within the text, `src` and `dst`
            // are equal or apart, the IV has 12 bytes and the tag 16.
            unsafe {
                run(key, state, dst, src, len, iv.as_ptr(), aad, aad_len, tag.as_mut_ptr(), 16);
            }
            return tag;
        }
        let (begin, update, end) = (self.begin, self.update[which], self.end[which]);
        // SAFETY: as above, with an IV of its own length.
        unsafe {
            begin(key, state, iv.as_ptr(), iv.len() as u64, aad, aad_len);
            update(key, state, dst, src, len);
            end(key, state, tag.as_mut_ptr(), 16);
        }
        tag
    }

    /// The tag of a text that is only authenticated: GMAC.
    pub(crate) fn mac(&self, scratch: &mut Scratch, iv: &[u8], text: &[u8]) -> Tag {
        let parts =
            Parts { aad: crate::Span { offset: 0, len: text.len() as u32 }, ..Parts::default() };
        let mut text = Text::Apart { src: text, dst: &mut [] };
        self.run(scratch, Direction::Seal, iv, &parts, &mut text)
    }
}

impl Drop for Gcm {
    fn drop(&mut self) {
        self.key.bytes.zeroize();
    }
}
