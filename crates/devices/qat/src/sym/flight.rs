//! One symmetric request at the card: its structures and memory, which stay where they are until it has answered.
#![allow(unsafe_code)]

use core::{ffi::c_void, ptr};

use lookaside_quickassist::*;
use zeroize::Zeroize;

use crate::{
    call::{self, Call},
    card::Card,
    crypto::CyLent,
    memory::Memory,
};

use super::{parts::Parts, setup::AAD};

// Where the parts lie, each at its own cache line: CCM wants 18 bytes before the associated data, and zeros behind it.
const IV_AT: usize = 0;
const AAD_AT: usize = 64;
const AAD_ROOM: usize = (18 + AAD).next_multiple_of(64);
const TAG_AT: usize = AAD_AT + AAD_ROOM;
const TEXT_AT: usize = TAG_AT + 64;

/// What the library has pointers to.
struct Structures {
    flat: CpaFlatBuffer,
    list: CpaBufferList,
    op: CpaCySymOpData,
}

/// The library's callback. The answer is good if the tag was the right one.
pub(crate) unsafe extern "C" fn answered(
    tag: *mut c_void,
    status: CpaStatus,
    _operation: CpaCySymOp,
    _data: *mut c_void,
    _dst: *mut CpaBufferList,
    verified: CpaBoolean,
) {
    // SAFETY: of a request of ours.
    unsafe { call::answer::<Structures>(tag, status, verified == CPA_TRUE) };
}

/// Where a request lies that is at the card, or will be.
pub(crate) struct Flight {
    call: Call<Structures>,
    data: Memory,
    meta: Memory,
    text_len: usize,
    tag_len: usize,
    /// Where the tag is: that of CCM directly follows the message.
    tag_at: usize,
}

impl Flight {
    /// `None` where there is no memory.
    pub(crate) fn new(card: &Card, lent: &CyLent) -> Option<Flight> {
        let meta = Memory::new(card, lent.node, card.crypto_meta_size(lent)?)?;
        let data = Memory::new(card, lent.node, TEXT_AT)?;
        // SAFETY: integers and pointers that may be null: zeros are values.
        let call = unsafe { Call::zeroed() };
        Some(Flight { call, data, meta, text_len: 0, tag_len: 0, tag_at: TAG_AT })
    }

    /// Copies the parts; `false` where there is no room. `ccm`: as CCM wants them.
    pub(crate) fn fill(
        &mut self,
        card: &Card,
        lent: &CyLent,
        parts: &Parts<'_>,
        ccm: bool,
        tag_len: usize,
    ) -> bool {
        let all = TEXT_AT + parts.text.len() + tag_len;
        if self.data.len() < all {
            match Memory::new(card, lent.node, all.next_power_of_two()) {
                Some(more) => self.data = more,
                None => return false,
            }
        }
        let data = self.data.bytes_mut();
        data[..TEXT_AT].fill(0);
        let (nonce, before) = if ccm { (1, 18) } else { (0, 0) };
        self.tag_at = if ccm { TEXT_AT + parts.text.len() } else { TAG_AT };
        for (at, part) in [
            (IV_AT + nonce, parts.iv),
            (AAD_AT + before, parts.aad),
            (TEXT_AT, parts.text),
            (self.tag_at, parts.tag),
        ] {
            data[at..at + part.len()].copy_from_slice(part);
        }
        (self.text_len, self.tag_len) = (parts.text.len(), tag_len);
        let at = |offset: usize| data[offset..].as_ptr().cast_mut();
        // SAFETY: the call is ours as long as it does not fly.
        let op = unsafe { &mut (*self.call.structures()).op };
        *op = CpaCySymOpData {
            sessionCtx: ptr::null_mut(),
            packetType: CPA_CY_SYM_PACKET_TYPE_FULL,
            pIv: at(IV_AT),
            ivLenInBytes: parts.iv.len() as u32,
            cryptoStartSrcOffsetInBytes: parts.cipher.offset,
            messageLenToCipherInBytes: parts.cipher.len,
            hashStartSrcOffsetInBytes: parts.auth.offset,
            messageLenToHashInBytes: parts.auth.len,
            pDigestResult: at(self.tag_at),
            pAdditionalAuthData: at(AAD_AT),
        };
        true
    }

    /// Gives it to the card. It flies if the answer is success.
    pub(crate) fn submit(&mut self, card: &Card, lent: &CyLent, session: &Memory) -> CpaStatus {
        let Some(cy) = &card.library.cy else { return CPA_STATUS_UNSUPPORTED };
        let call = self.call.structures();
        let text = self.data.bytes()[TEXT_AT..].as_ptr().cast_mut();
        // SAFETY: the call is ours as long as it does not fly. What the library is given stays until it has answered: the
        // memory is this flight's, and a flight that flies is never freed.
        unsafe {
            let behind = if self.tag_at == TAG_AT { 0 } else { self.tag_len };
            let len = (self.text_len + behind) as u32;
            (*call).flat = CpaFlatBuffer { dataLenInBytes: len, pData: text };
            (*call).list = CpaBufferList {
                numBuffers: 1,
                pBuffers: &raw mut (*call).flat,
                pUserData: ptr::null_mut(),
                pPrivateMetaData: self.meta.as_ptr().cast(),
            };
            (*call).op.sessionCtx = session.as_ptr().cast();
            let list = &raw mut (*call).list;
            let status = (cy.cpaCySymPerformOp)(
                lent.handle,
                self.call.tag(),
                &raw const (*call).op,
                list,
                list,
                ptr::null_mut(),
            );
            self.call.submitted(status)
        }
    }

    /// The status of its answer, once there is one.
    pub(crate) fn landed(&mut self) -> Option<CpaStatus> {
        self.call.landed()
    }

    /// Whether the card says that the tag was right. Once it has answered.
    pub(crate) fn is_verified(&self) -> bool {
        self.call.is_good()
    }

    /// The message after the operation, and the tag. Not while it flies.
    pub(crate) fn made(&self) -> (&[u8], &[u8]) {
        let data = self.data.bytes();
        let tag = &data[self.tag_at..self.tag_at + self.tag_len];
        (&data[TEXT_AT..TEXT_AT + self.text_len], tag)
    }

    /// Overwrites what it holds. Not while it flies.
    pub(crate) fn wipe(&mut self) {
        let all = TEXT_AT + self.text_len + self.tag_len;
        self.data.bytes_mut()[..all].zeroize();
        (self.text_len, self.tag_len) = (0, 0);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.call.is_flying() {
            self.wipe();
        }
    }
}
