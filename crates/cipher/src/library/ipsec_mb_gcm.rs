//! AES-GCM and GMAC by intel-ipsec-mb: one message at a time, which is what it is fastest at; no
//! lanes, so any thread may use a key at any time.

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use super::ffi::{
    GCM_KEY_LEN, GcmBegin, GcmEnd, GcmKey, GcmPrepare, GcmState, GcmUpdate, GcmWhole,
};
use super::keys::{Functions, by_key_len};
use crate::{Parts, Text};

/// A prepared key and the functions for it. Cleared when dropped.
pub(crate) struct Gcm {
    key: SecureBox<GcmKey>,
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

/// Room for a tag, of which 16 bytes are used.
pub(crate) type Tag = [u8; 64];

impl Gcm {
    /// Expands a key of 16, 24 or 32 bytes; none where the library is not to be used.
    pub(crate) fn new(cpu: &Cpu, key: &[u8]) -> Option<Gcm> {
        let functions = &Functions::of(cpu)?.0;
        let size = by_key_len(key)?;
        let prepare: GcmPrepare = functions.gcm_prepare[size]?;
        let mut prepared = SecureBox::new(GcmKey { bytes: [0; GCM_KEY_LEN] });
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

    /// Encrypts the cipher region and writes the tag of 1 to 16 bytes. The regions and the tag must
    /// lie within the text, or this panics; the IV has at least one byte.
    #[inline]
    pub(crate) fn seal(
        &self,
        scratch: &mut Scratch,
        iv: &[u8],
        parts: &Parts,
        tag_len: usize,
        text: &mut Text<'_>,
    ) {
        // In the destination alone: a source that lies apart may end with its text.
        let tag = parts.tag as usize;
        let tag = text.destination()[tag..tag + tag_len.min(16)].as_mut_ptr();
        let aad = super::source(text, parts.aad);
        let place = super::region(text, parts.cipher);
        self.run(scratch, 0, iv, (aad, parts.aad.len), place, parts.cipher.len, (tag, tag_len));
    }

    /// Decrypts the cipher region and gives the tag of the ciphertext. As [`seal`](Gcm::seal).
    #[inline]
    pub(crate) fn open(
        &self,
        scratch: &mut Scratch,
        iv: &[u8],
        parts: &Parts,
        text: &mut Text<'_>,
    ) -> Tag {
        let mut tag = [0; 64];
        let aad = (super::source(text, parts.aad), parts.aad.len);
        let place = super::region(text, parts.cipher);
        self.run(scratch, 1, iv, aad, place, parts.cipher.len, (tag.as_mut_ptr(), 16));
        tag
    }

    /// The tag of a text that is only authenticated: GMAC.
    pub(crate) fn mac(&self, scratch: &mut Scratch, iv: &[u8], text: &[u8]) -> Tag {
        let mut tag = [0; 64];
        let aad = (text.as_ptr(), text.len() as u32);
        let nothing = (text.as_ptr(), std::ptr::dangling_mut());
        self.run(scratch, 0, iv, aad, nothing, 0, (tag.as_mut_ptr(), 16));
        tag
    }

    /// All pointers are to as many bytes, which are the caller's; `src` and `dst` are equal or apart.
    #[expect(clippy::too_many_arguments, reason = "those of the library")]
    #[inline(always)]
    fn run(
        &self,
        scratch: &mut Scratch,
        which: usize,
        iv: &[u8],
        (aad, aad_len): (*const u8, u32),
        (src, dst): (*const u8, *mut u8),
        len: u32,
        (tag, tag_len): (*mut u8, usize),
    ) {
        let (aad_len, len, tag_len) = (u64::from(aad_len), u64::from(len), tag_len as u64);
        let (key, state): (*const GcmKey, _) = (&raw const *self.key, &raw mut scratch.0);
        if iv.len() == 12 {
            let run = self.whole[which];
            // SAFETY: the pointers are to so many bytes each, and the IV has 12.
            unsafe { run(key, state, dst, src, len, iv.as_ptr(), aad, aad_len, tag, tag_len) };
            return;
        }
        let (begin, update, end) = (self.begin, self.update[which], self.end[which]);
        // SAFETY: as above, with an IV of its own length.
        unsafe {
            begin(key, state, iv.as_ptr(), iv.len() as u64, aad, aad_len);
            update(key, state, dst, src, len);
            end(key, state, tag, tag_len);
        }
    }
}

impl Drop for Gcm {
    fn drop(&mut self) {
        self.key.bytes.zeroize();
    }
}
