//! intel-ipsec-mb: many packets in the lanes of vectors.
//!
//! [`Lanes`] takes one step of many packets (a cipher, a MAC, an AEAD) and has finished all of them
//! when it returns: nothing is in flight between calls. The requests are filled in first, which may
//! panic; submitting them cannot.

#[path = "ipsec_mb_ffi.rs"]
pub(super) mod ffi;
#[path = "ipsec_mb_gcm.rs"]
mod gcm;
#[path = "ipsec_mb_keys.rs"]
mod keys;
#[cfg(test)]
#[path = "ipsec_mb_layout.rs"]
mod layout;

use std::ffi::c_void;

use lookaside_simd::Cpu;

use self::ffi::{CipherBurst, Entry, State};
use self::keys::{NONE, Owned};
use super::ipsec_mb_steps::{Algorithm, CipherStep, MacStep, Mode};
use crate::lanes::{Group, MOST, Tags};
use crate::{Direction, Packet, Span, Text};

pub(crate) use self::gcm::{Gcm, Scratch};
pub(crate) use self::keys::{Functions, Schedule};

/// The lanes of one thread, and room for the requests of one call.
pub(crate) struct Lanes {
    owned: Owned,
    cipher_burst: CipherBurst,
    next: unsafe extern "C" fn(*mut State) -> *mut Entry,
    submit: unsafe extern "C" fn(*mut State) -> *mut Entry,
    flush: unsafe extern "C" fn(*mut State) -> *mut Entry,
    entries: Box<[Entry; MOST]>,
    /// Triple DES takes its schedules by pointers.
    schedules: Box<[[*const c_void; 3]; MOST]>,
}

// SAFETY: the pointers in its requests are read only during the call that wrote them.
unsafe impl Send for Lanes {}

impl Lanes {
    /// `None` where the library is not to be used. Half a millisecond.
    pub(crate) fn new(cpu: &Cpu) -> Option<Lanes> {
        let functions = &Functions::of(cpu)?.0;
        // SAFETY: all of an `Entry` is integers and pointers: zeros are valid.
        let entry: Entry = unsafe { std::mem::zeroed() };
        Some(Lanes {
            cipher_burst: functions.cipher_burst_nocheck?,
            next: functions.get_next?,
            submit: functions.submit_nocheck?,
            flush: functions.flush?,
            owned: Owned::new(cpu)?,
            entries: Box::new([entry; MOST]),
            schedules: Box::new([[NONE.cast_const(); 3]; MOST]),
        })
    }

    /// Encrypts or decrypts the cipher regions of a group of packets, none of them empty. Their
    /// sessions have schedules for the step.
    #[inline]
    pub(crate) fn cipher(
        &mut self,
        step: CipherStep,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        let direction = match direction {
            Direction::Seal => ffi::ENCRYPT,
            Direction::Open => ffi::DECRYPT,
        };
        let burst = step.mode == Mode::Cbc;
        let bits = if step.mode == Mode::Snow3gUea2 { 8 } else { 1 };
        let mut count = 0;
        for place in group {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let (src, dst) = region(&mut packet.text, packet.parts.cipher);
            let entry = &mut self.entries[count];
            entry.enc_keys = schedule.encrypt();
            entry.dec_keys = schedule.decrypt();
            entry.src = src;
            entry.dst = dst;
            entry.cipher_len = u64::from(packet.parts.cipher.len) * bits;
            entry.iv = packet.iv.as_ptr();
            entry.iv_len = packet.iv.len() as u64;
            if !burst {
                if matches!(step.mode, Mode::Des | Mode::Des3) {
                    self.schedules[count] = [0, 1, 2].map(|which| schedule.des(which));
                    let pointer = match step.mode {
                        Mode::Des => schedule.des(0),
                        _ => self.schedules[count].as_ptr().cast(),
                    };
                    (entry.enc_keys, entry.dec_keys) = (pointer, pointer);
                }
                entry.key_len = u64::from(step.key_len);
                entry.mode = step.mode as u32;
                entry.direction = direction;
                entry.algorithm = Algorithm::Null as u32;
                entry.order = ffi::CIPHER_HASH;
            }
            count += 1;
        }
        if burst {
            let (state, entries) = (self.owned.pointer(), self.entries.as_mut_ptr());
            let mode = step.mode as u32;
            // SAFETY: the state is ours and initialized; the first `count` entries point to regions
            // of the packets, which are borrowed for the whole call, and to keys of `key_len`.
            let done = unsafe {
                (self.cipher_burst)(
                    state,
                    entries,
                    count as u32,
                    mode,
                    direction,
                    u32::from(step.key_len),
                )
            };
            assert_eq!(done as usize, count, "the library left packets of a burst");
        } else {
            self.submit_all(count);
        }
    }

    /// Makes the tags of the authenticated regions of a group of packets, of their sources or their
    /// destinations.
    #[inline]
    pub(crate) fn mac(
        &mut self,
        step: MacStep,
        of_destination: bool,
        packets: &mut [Packet<'_>],
        group: Group,
        tags: &mut Tags,
    ) {
        let with_iv = matches!(step.algorithm, Algorithm::ZucEia3 | Algorithm::Snow3gUia2);
        let bits = if with_iv { 8 } else { 1 };
        let mut count = 0;
        for place in group {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let span = packet.parts.auth;
            let entry = &mut self.entries[count];
            entry.src = if of_destination {
                region(&mut packet.text, span).1
            } else {
                source(&packet.text, span)
            };
            entry.hash_len = u64::from(span.len) * bits;
            entry.tag = tags[place].as_mut_ptr();
            entry.tag_len = u64::from(step.len);
            entry.auth = schedule.auth();
            if with_iv {
                entry.auth[1] = packet.iv.as_ptr().cast();
            }
            entry.mode = Mode::Null as u32;
            entry.direction = ffi::ENCRYPT;
            entry.algorithm = step.algorithm as u32;
            entry.order = ffi::HASH_CIPHER;
            count += 1;
        }
        self.submit_all(count);
    }

    /// AES-CCM: the cipher and its MAC in one. The tags are as long as the sessions' are.
    pub(crate) fn ccm(
        &mut self,
        step: CipherStep,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
        tags: &mut Tags,
    ) {
        // What is authenticated is the plaintext.
        let (direction, order) = match direction {
            Direction::Seal => (ffi::ENCRYPT, ffi::HASH_CIPHER),
            Direction::Open => (ffi::DECRYPT, ffi::CIPHER_HASH),
        };
        let mut count = 0;
        for place in group {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let aad = source(&packet.text, packet.parts.aad);
            let (src, dst) = region(&mut packet.text, packet.parts.cipher);
            let entry = &mut self.entries[count];
            entry.enc_keys = schedule.encrypt();
            entry.dec_keys = schedule.encrypt();
            entry.key_len = u64::from(step.key_len);
            entry.src = src;
            entry.dst = dst;
            entry.cipher_len = u64::from(packet.parts.cipher.len);
            entry.hash_len = u64::from(packet.parts.cipher.len);
            entry.iv = packet.iv.as_ptr();
            entry.iv_len = packet.iv.len() as u64;
            entry.tag = tags[place].as_mut_ptr();
            entry.tag_len = packet.session.plan().tag_len as u64;
            // A pointer and a length, where others have three pointers.
            let aad_len = std::ptr::without_provenance(packet.parts.aad.len as usize);
            entry.auth = [aad.cast(), aad_len, NONE.cast_const()];
            entry.mode = step.mode as u32;
            entry.direction = direction;
            entry.algorithm = Algorithm::Ccm as u32;
            entry.order = order;
            count += 1;
        }
        self.submit_all(count);
    }

    /// Submits the first requests one by one, for what has no call for many, and waits for all.
    fn submit_all(&mut self, count: usize) {
        const { assert!(MOST < ffi::RING) }
        let state = self.owned.pointer();
        for entry in &self.entries[..count] {
            // SAFETY: the state is ours and its ring is longer than `MOST`; the entries point to
            // regions of packets that are borrowed for the whole call, and to their keys.
            unsafe {
                *(self.next)(state) = *entry;
                (self.submit)(state);
            }
        }
        // SAFETY: the state is ours.
        while !unsafe { (self.flush)(state) }.is_null() {}
    }
}

/// Where to read and where to write a region of a text: equal pointers, or two pieces of memory
/// apart. Panics when it is not within both.
#[inline(always)]
fn region(text: &mut Text<'_>, span: Span) -> (*const u8, *mut u8) {
    let range = span.offset as usize..span.offset as usize + span.len as usize;
    match text {
        Text::InPlace(bytes) => {
            let pointer = bytes[range].as_mut_ptr();
            (pointer.cast_const(), pointer)
        }
        Text::Apart { src, dst } => (src[range.clone()].as_ptr(), dst[range].as_mut_ptr()),
    }
}

/// Where to read a region of a text. Panics when it is not within it.
#[inline(always)]
fn source(text: &Text<'_>, span: Span) -> *const u8 {
    let range = span.offset as usize..span.offset as usize + span.len as usize;
    match text {
        Text::InPlace(bytes) => bytes[range].as_ptr(),
        Text::Apart { src, .. } => src[range].as_ptr(),
    }
}
