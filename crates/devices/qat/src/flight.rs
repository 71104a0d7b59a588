//! One request at the card: its lists, results and memory, which stay where they are until it has answered.
#![allow(unsafe_code)]

use core::{ffi::c_void, ptr};

use lookaside_quickassist::*;

use crate::{
    call::{self, Call},
    card::{Card, Lent},
    memory::Memory,
};

/// What the library has pointers to.
struct Structures {
    flat: [CpaFlatBuffer; 2],
    lists: [CpaBufferList; 2],
    op: CpaDcOpData,
    results: CpaDcRqResults,
}

/// The library's callback.
pub(crate) unsafe extern "C" fn answered(tag: *mut c_void, status: CpaStatus) {
    // SAFETY: of a request of ours.
    unsafe { call::answer::<Structures>(tag, status, true) };
}

/// What the card is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Compress,
    Decompress,
}

/// Where a request lies that is at the card, or will be.
pub(crate) struct Flight {
    call: Call<Structures>,
    src: Memory,
    dst: Memory,
    meta: [Memory; 2],
}

impl Flight {
    /// `None` where there is no memory.
    pub(crate) fn new(card: &Card, lent: &Lent) -> Option<Flight> {
        let meta = || Memory::new(card, lent.node, card.meta_size(lent.handle)?);
        let (meta, src, dst) = (
            [meta()?, meta()?],
            Memory::new(card, lent.node, 64)?,
            Memory::new(card, lent.node, 64)?,
        );
        // SAFETY: integers, flags and pointers that may be null: zeros are values.
        let call = unsafe { Call::zeroed() };
        Some(Flight { call, src, dst, meta })
    }

    /// Makes room.
    pub(crate) fn reserve(&mut self, card: &Card, lent: &Lent, src: usize, dst: usize) -> bool {
        for (memory, len) in [(&mut self.src, src), (&mut self.dst, dst)] {
            if memory.len() < len {
                match Memory::new(card, lent.node, len.next_power_of_two()) {
                    Some(more) => *memory = more,
                    None => return false,
                }
            }
        }
        true
    }

    /// What the card reads. Not while it flies.
    pub(crate) fn src(&self) -> &[u8] {
        self.src.bytes()
    }

    /// The same, to fill.
    pub(crate) fn src_mut(&mut self) -> &mut [u8] {
        self.src.bytes_mut()
    }

    /// What the card has written. Not while it flies.
    pub(crate) fn dst(&self) -> &[u8] {
        self.dst.bytes()
    }

    /// Gives it to the card: these bytes of the source, this much room. It flies if the answer is success.
    pub(crate) fn submit(
        &mut self,
        card: &Card,
        lent: &Lent,
        (session, way, flush): (&Memory, Way, CpaDcFlush),
        src: core::ops::Range<usize>,
        room: usize,
        seed: u32,
    ) -> CpaStatus {
        let src = &self.src.bytes()[src];
        let room = room.min(self.dst.len());
        let verify = if way == Way::Compress && card.verifies { CPA_TRUE } else { CPA_FALSE };
        let (call, tag) = (self.call.structures(), self.call.tag());
        // SAFETY: the call is ours as long as it does not fly. What the library is given stays until it has
        // answered: the memory is this flight's, and a flight that flies is never freed.
        unsafe {
            (*call).flat = [
                CpaFlatBuffer { dataLenInBytes: src.len() as u32, pData: src.as_ptr().cast_mut() },
                CpaFlatBuffer { dataLenInBytes: room as u32, pData: self.dst.as_ptr() },
            ];
            let flat = (&raw mut (*call).flat).cast::<CpaFlatBuffer>();
            let list = |i: usize| CpaBufferList {
                numBuffers: 1,
                pBuffers: flat.add(i),
                pUserData: ptr::null_mut(),
                pPrivateMetaData: self.meta[i].as_ptr().cast(),
            };
            (*call).lists = [list(0), list(1)];
            (*call).op.flushFlag = flush;
            (*call).op.compressAndVerify = verify;
            (*call).results = core::mem::zeroed();
            (*call).results.checksum = seed;
            let submit = match way {
                Way::Compress => card.library.dc.cpaDcCompressData2,
                Way::Decompress => card.library.dc.cpaDcDecompressData2,
            };
            let lists = (&raw mut (*call).lists).cast::<CpaBufferList>();
            let status = submit(
                lent.handle,
                session.as_ptr().cast(),
                lists,
                lists.add(1),
                &raw mut (*call).op,
                &raw mut (*call).results,
                tag,
            );
            self.call.submitted(status)
        }
    }

    /// The status of its answer, once there is one.
    pub(crate) fn landed(&mut self) -> Option<CpaStatus> {
        self.call.landed()
    }

    /// What the card says, once it has answered.
    pub(crate) fn results(&self) -> CpaDcRqResults {
        // SAFETY: the library has written them before its callback.
        unsafe { (*self.call.structures()).results }
    }
}
