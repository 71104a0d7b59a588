//! intel-ipsec-mb: many packets in the lanes of vectors.
//!
//! [`Lanes`] takes one step of many packets (a cipher, a MAC, an AEAD) and has finished all of them
//! when it returns: nothing is in flight between calls, not even when a request's filling in panics.
//! SNOW 3G and ZUC have functions for eight texts at once, which take less than requests do.

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

use self::ffi::{CipherBurst, Entry, State, Uea2Eight, ZucTags, ZucTexts};
use self::keys::{NONE, Owned};
use super::ipsec_mb_steps::{Algorithm, CipherStep, MacStep, Mode};
use crate::lanes::{Group, MOST, Tags};
use crate::{Direction, Packet, Parts, Span, Text};

pub(crate) use self::gcm::{Gcm, Scratch};
pub(crate) use self::keys::{Functions, Schedule};

/// The lanes of one thread, and room for the requests of one call.
pub(crate) struct Lanes {
    owned: Owned,
    cipher_burst: CipherBurst,
    next: unsafe extern "C" fn(*mut State) -> *mut Entry,
    submit: unsafe extern "C" fn(*mut State) -> *mut Entry,
    flush: unsafe extern "C" fn(*mut State) -> *mut Entry,
    /// Whether eight texts are as many as the lanes are.
    eights: bool,
    uea2: Uea2Eight,
    eea3: ZucTexts,
    eia3: ZucTags,
    /// Of a burst.
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
            eights: cpu.avx512bw().is_none(),
            uea2: functions.uea2_eight?,
            eea3: functions.eea3?,
            eia3: functions.eia3?,
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
        if step.mode == Mode::Cbc {
            return self.cbc(step, direction, packets, group);
        }
        let stream = self.eights && matches!(step.mode, Mode::Snow3gUea2 | Mode::ZucEea3);
        let group = if stream { self.keystreams(step.mode, packets, group) } else { group };
        let bits = if step.mode == Mode::Snow3gUea2 { 8 } else { 1 };
        let (mut requests, schedules) = self.requests();
        for (place, des) in group.zip(schedules) {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let (src, dst) = region(&mut packet.text, packet.parts.cipher);
            let entry = requests.next();
            (entry.enc_keys, entry.dec_keys) = match step.mode {
                Mode::Des => (schedule.des(0), schedule.des(0)),
                Mode::Des3 => {
                    *des = [0, 1, 2].map(|which| schedule.des(which));
                    (des.as_ptr().cast(), des.as_ptr().cast())
                }
                _ => (schedule.encrypt(), schedule.decrypt()),
            };
            entry.src = src;
            entry.dst = dst;
            entry.cipher_len = u64::from(packet.parts.cipher.len) * bits;
            entry.iv = packet.iv.as_ptr();
            entry.iv_len = packet.iv.len() as u64;
            entry.key_len = u64::from(step.key_len);
            entry.mode = step.mode as u32;
            entry.direction = direction;
            entry.algorithm = Algorithm::Null as u32;
            entry.order = ffi::CIPHER_HASH;
            // SAFETY: it points to a region and an IV of a packet, and to its session's keys; all of
            // them are borrowed for longer than `requests`.
            unsafe { requests.submit() };
        }
    }

    /// AES in CBC mode, which has a call for many requests.
    fn cbc(&mut self, step: CipherStep, direction: u32, packets: &mut [Packet<'_>], group: Group) {
        for (place, entry) in group.zip(&mut *self.entries) {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            (entry.src, entry.dst) = region(&mut packet.text, packet.parts.cipher);
            entry.enc_keys = schedule.encrypt();
            entry.dec_keys = schedule.decrypt();
            entry.cipher_len = u64::from(packet.parts.cipher.len);
            entry.iv = packet.iv.as_ptr();
            entry.iv_len = packet.iv.len() as u64;
        }
        let (state, entries) = (self.owned.pointer(), self.entries.as_mut_ptr());
        let (count, mode, key_len) = (group.len() as u32, step.mode as u32, step.key_len.into());
        // SAFETY: the state is ours and initialized; the first `count` entries point to regions of the
        // packets, which are borrowed for the whole call, and to keys of `key_len`.
        let done = unsafe { (self.cipher_burst)(state, entries, count, mode, direction, key_len) };
        assert_eq!(done, count, "the library left packets of a burst");
    }

    /// SNOW 3G and ZUC: takes the packets by eights of equal length, and returns those that are left.
    fn keystreams(&self, mode: Mode, packets: &mut [Packet<'_>], group: Group) -> Group {
        let most = if mode == Mode::ZucEea3 { MOST_EEA3 } else { u32::MAX };
        eights(packets, group, (|parts| parts.cipher.len, most), |packets, places, len| {
            let schedule = |place: usize| packets[place].session.schedule().encrypt();
            let (keys, ivs) =
                (places.map(schedule), places.map(|place| packets[place].iv.as_ptr()));
            let regions = places.map(|place| {
                let packet = &mut packets[place];
                region(&mut packet.text, packet.parts.cipher)
            });
            let (src, mut dst) = (regions.map(|region| region.0), regions.map(|region| region.1));
            let (keys, ivs, src) = (keys.as_ptr(), ivs.as_ptr(), src.as_ptr());
            let (dst, lens) = (dst.as_mut_ptr(), [len; EIGHT]);
            // SAFETY: eight of each: keys of sessions, IVs of 16 bytes as admission wants them, and
            // regions of packets, of this length.
            unsafe {
                match mode {
                    Mode::Snow3gUea2 => (self.uea2)(keys, ivs, src, dst, lens.as_ptr()),
                    _ => (self.eea3)(keys, ivs, src, dst, lens.as_ptr(), EIGHT as u32),
                }
            }
        })
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
        let place_of = |packet: &mut Packet<'_>| {
            let span = packet.parts.auth;
            if of_destination {
                region(&mut packet.text, span).1.cast_const()
            } else {
                source(&packet.text, span)
            }
        };
        let mut group = group;
        if self.eights && step.algorithm == Algorithm::ZucEia3 {
            group = eights(
                packets,
                group,
                (|parts| parts.auth.len, u32::MAX),
                |packets, places, len| {
                    let schedule = |place: usize| packets[place].session.schedule().auth()[0];
                    let keys = places.map(schedule);
                    let ivs = places.map(|place| packets[place].iv.as_ptr());
                    let src = places.map(|place| place_of(&mut packets[place]));
                    let mut out = places.map(|place| tags[place].as_mut_ptr().cast());
                    let (keys, ivs, src, bits) =
                        (keys.as_ptr(), ivs.as_ptr(), src.as_ptr(), [8 * len; EIGHT]);
                    // SAFETY: eight of each: keys of sessions, IVs of 16 bytes as admission wants them,
                    // regions of packets, of this length; tags are aligned and have room for four bytes.
                    unsafe {
                        (self.eia3)(keys, ivs, src, bits.as_ptr(), out.as_mut_ptr(), EIGHT as u32);
                    }
                },
            );
        }
        let (mut requests, _) = self.requests();
        for place in group {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let src = place_of(packet);
            let tag = tags[place].as_mut_ptr();
            let entry = requests.next();
            entry.src = src;
            entry.hash_len = u64::from(packet.parts.auth.len) * bits;
            entry.tag = tag;
            entry.tag_len = u64::from(step.len);
            entry.auth = schedule.auth();
            if with_iv {
                entry.auth[1] = packet.iv.as_ptr().cast();
            }
            entry.mode = Mode::Null as u32;
            entry.direction = ffi::ENCRYPT;
            entry.algorithm = step.algorithm as u32;
            entry.order = ffi::HASH_CIPHER;
            // SAFETY: it points to a region and perhaps an IV of a packet, to its session's keys, and to
            // one of the tags; all of them are borrowed for longer than `requests`.
            unsafe { requests.submit() };
        }
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
        let (mut requests, _) = self.requests();
        for place in group {
            let packet = &mut packets[place];
            let schedule = packet.session.schedule();
            let aad = source(&packet.text, packet.parts.aad);
            let (src, dst) = region(&mut packet.text, packet.parts.cipher);
            let entry = requests.next();
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
            // SAFETY: it points to regions and the IV of a packet, to its session's keys, and to one of
            // the tags; all of them are borrowed for longer than `requests`.
            unsafe { requests.submit() };
        }
    }

    /// Begins to submit up to [`MOST`] requests, for what has no call for many. With it goes room for
    /// schedules.
    fn requests(&mut self) -> (Requests, &mut [[*const c_void; 3]; MOST]) {
        const { assert!(MOST < ffi::RING) }
        let requests = Requests {
            state: self.owned.pointer(),
            next: self.next,
            submit: self.submit,
            flush: self.flush,
        };
        (requests, &mut self.schedules)
    }
}

/// Requests that are filled in where the library has them. When it is dropped all of them are
/// finished, also by a panic: so none outlives the packets that it points to.
struct Requests {
    state: *mut State,
    next: unsafe extern "C" fn(*mut State) -> *mut Entry,
    submit: unsafe extern "C" fn(*mut State) -> *mut Entry,
    flush: unsafe extern "C" fn(*mut State) -> *mut Entry,
}

impl Requests {
    /// The request that is submitted next. What it does not need of it may be an earlier one's.
    #[inline(always)]
    fn next(&mut self) -> &mut Entry {
        // SAFETY: the state is that of the `Lanes` which are borrowed; its ring is longer than `MOST`, so
        // that one is free.
        let entry = unsafe { &mut *(self.next)(self.state) };
        (entry.cipher_offset, entry.hash_offset) = (0, 0);
        entry
    }

    /// # Safety
    /// What the last [`next`](Requests::next) points to can be read and written until this is dropped.
    #[inline(always)]
    unsafe fn submit(&mut self) {
        // SAFETY: by the caller.
        unsafe { (self.submit)(self.state) };
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // SAFETY: the state is that of the `Lanes` which are borrowed.
        while !unsafe { (self.flush)(self.state) }.is_null() {}
    }
}

/// How many texts the functions of SNOW 3G and ZUC take.
const EIGHT: usize = 8;

/// The longest texts of ZUC's cipher for its function: from 8189 bytes on it gives other bytes (1.3), which
/// requests do not.
const MOST_EEA3: u32 = 8160;

/// Hands out packets by eights of equal length, of at most `most` bytes, and returns those that are
/// left.
#[inline(always)]
fn eights(
    packets: &mut [Packet<'_>],
    mut group: Group,
    (len, most): (impl Fn(&Parts) -> u32, u32),
    mut take: impl FnMut(&mut [Packet<'_>], [usize; EIGHT], u32),
) -> Group {
    let mut left = group;
    while group.len() >= EIGHT {
        let eight = [(); EIGHT].map(|()| group.next().unwrap_or(0));
        let first = len(&packets[eight[0]].parts);
        let alike = eight.iter().all(|&place| len(&packets[place].parts) == first);
        if alike && first <= most {
            take(packets, eight, first);
            for place in eight {
                left.remove(place);
            }
        }
    }
    left
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
