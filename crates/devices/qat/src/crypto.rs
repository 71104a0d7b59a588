//! The card's instances for cryptography: what they can do, each lent to one channel at a time.
#![allow(unsafe_code)]

use core::{ffi::c_void, mem::MaybeUninit, ptr};
use std::sync::{Mutex, PoisonError};

use lookaside_quickassist::*;

use crate::{
    card::{Card, answered, description},
    library::Cryptography,
    memory::Memory,
};

/// What instances for cryptography may differ in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// The algorithms of symmetric requests, a bit for each; none where there are no such requests.
    pub(crate) ciphers: u32,
    pub(crate) hashes: u32,
    pub(crate) rsa: bool,
    /// Multiplication of points.
    pub(crate) ec: bool,
    pub(crate) ecdsa: bool,
}

/// Which instances.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sym,
    Pke,
}

impl Traits {
    /// Whether instances of this kind are there.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Sym => self.ciphers != 0,
            Kind::Pke => self.rsa || self.ec || self.ecdsa,
        }
    }

    /// What belongs to instances of this kind.
    fn part(self, kind: Kind) -> Traits {
        match kind {
            Kind::Sym => Traits { rsa: false, ec: false, ecdsa: false, ..self },
            Kind::Pke => Traits { ciphers: 0, hashes: 0, ..self },
        }
    }

    /// Whether there is a cipher.
    pub(crate) fn cipher(&self, algorithm: CpaCySymCipherAlgorithm) -> bool {
        u32::try_from(algorithm.0).is_ok_and(|bit| self.ciphers >> bit.min(31) & 1 == 1)
    }

    /// Whether there is a hash or MAC.
    pub(crate) fn hash(&self, algorithm: CpaCySymHashAlgorithm) -> bool {
        u32::try_from(algorithm.0).is_ok_and(|bit| self.hashes >> bit.min(31) & 1 == 1)
    }
}

/// An instance, as a channel has it.
pub(crate) struct CyLent {
    pub(crate) handle: CpaInstanceHandle,
    pub(crate) node: u32,
}

// SAFETY: a handle may be used by any thread.
unsafe impl Send for CyLent {}

/// The instances.
pub(crate) struct Crypto {
    traits: Traits,
    /// Those for symmetric requests, and for public keys. One that does both is in both: the library's functions may be
    /// called by several threads, and answers come by the callback, whoever polls.
    sym: Mutex<Vec<CyLent>>,
    pke: Mutex<Vec<CyLent>>,
}

impl Crypto {
    /// What they can do.
    pub(crate) fn traits(&self) -> Traits {
        self.traits
    }

    fn free(&self, kind: Kind) -> &Mutex<Vec<CyLent>> {
        match kind {
            Kind::Sym => &self.sym,
            Kind::Pke => &self.pke,
        }
    }
}

impl Card {
    /// Looks for instances of cryptography, and starts them.
    pub(crate) fn find_crypto(&mut self) {
        let Some(library) = &self.library.cy else { return };
        let mut found = [Kind::Sym, Kind::Pke].map(|kind| (kind, None, Vec::new()));
        let (mut contiguous, mut says) = (false, None);
        for handle in handles(library).unwrap_or_default() {
            let Ok((info, there)) = ask(library, handle) else { continue };
            if info.isPolled != CPA_TRUE || info.operState != CPA_OPER_STATE_UP {
                continue;
            }
            if self.start_crypto(library, handle).is_err() {
                continue;
            }
            for (kind, traits, of) in &mut found {
                let part = there.part(*kind);
                // What one instance of a kind can do, all can; others are left alone.
                if !part.has(*kind) || *traits.get_or_insert(part) != part {
                    continue;
                }
                contiguous |= info.requiresPhysicallyContiguousMemory == CPA_TRUE;
                says.get_or_insert_with(|| description(&info));
                of.push(CyLent { handle, node: info.nodeAffinity });
            }
        }
        let Some(says) = says else { return };
        self.pinned |= contiguous;
        if self.description.is_empty() {
            self.description = says;
        }
        let [(_, sym_traits, sym), (_, pke_traits, pke)] = found;
        let Traits { ciphers, hashes, .. } = sym_traits.unwrap_or_default();
        let traits = Traits { ciphers, hashes, ..pke_traits.unwrap_or_default() };
        // The first one is lent first.
        let [sym, pke] = [sym, pke].map(|of| Mutex::new(of.into_iter().rev().collect()));
        self.crypto = Some(Crypto { traits, sym, pke });
    }

    fn start_crypto(&self, cy: &Cryptography, handle: CpaInstanceHandle) -> Result<(), String> {
        if let Some(pinned) = &self.library.pinned {
            let translate = Some(pinned.qaeVirtToPhysNUMA as _);
            // SAFETY: a handle of the library's and a function of its libusdm.
            let status = unsafe { (cy.cpaCySetAddressTranslation)(handle, translate) };
            answered("cpaCySetAddressTranslation", status)?;
        }
        // SAFETY: a handle of the library's.
        answered("cpaCyStartInstance", unsafe { (cy.cpaCyStartInstance)(handle) })
    }

    /// What the instances for cryptography can do.
    pub(crate) fn crypto_traits(&self) -> Traits {
        self.crypto.as_ref().map_or_else(Traits::default, Crypto::traits)
    }

    /// How many instances of a kind are free.
    pub(crate) fn crypto_instances(&self, kind: Kind) -> usize {
        let free = self.crypto.as_ref().filter(|_| self.is_ours()).map(|crypto| crypto.free(kind));
        free.map_or(0, |free| free.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    /// An instance of one's own; `None` where all are lent.
    pub(crate) fn lend_crypto(&self, kind: Kind) -> Option<CyLent> {
        let free = self.crypto.as_ref().filter(|_| self.is_ours())?.free(kind);
        free.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Takes an instance back that holds no request.
    pub(crate) fn give_crypto_back(&self, kind: Kind, lent: CyLent) {
        if let Some(crypto) = &self.crypto {
            crypto.free(kind).lock().unwrap_or_else(PoisonError::into_inner).push(lent);
        }
    }

    /// How much memory the library wants beside a list of one buffer.
    pub(crate) fn crypto_meta_size(&self, lent: &CyLent) -> Option<usize> {
        let cy = self.library.cy.as_ref()?;
        let mut size = 0;
        // SAFETY: a handle of the library's and a place for the answer.
        let status = unsafe { (cy.cpaCyBufferListGetMetaSize)(lent.handle, 1, &raw mut size) };
        (status == CPA_STATUS_SUCCESS).then_some(size as usize)
    }

    /// A session for symmetric requests, in memory of its own; `None` where the card does not take it.
    pub(crate) fn begin_sym(
        &self,
        lent: &CyLent,
        setup: &CpaCySymSessionSetupData,
        callback: CpaCySymCbFunc,
    ) -> Option<Memory> {
        let cy = self.library.cy.as_ref()?;
        let mut size = 0;
        // SAFETY: a handle of the library's, a set-up whose keys are there, a place for the answer.
        let status = unsafe { (cy.cpaCySymSessionCtxGetSize)(lent.handle, setup, &raw mut size) };
        if status != CPA_STATUS_SUCCESS {
            return None;
        }
        let memory = Memory::new(self, lent.node, size as usize)?;
        let place = memory.as_ptr().cast();
        // SAFETY: as much memory as it asked for.
        let status = unsafe { (cy.cpaCySymInitSession)(lent.handle, callback, setup, place) };
        (status == CPA_STATUS_SUCCESS).then_some(memory)
    }

    /// Ends a session of which no request is in flight.
    pub(crate) fn end_sym(&self, lent: &CyLent, session: &Memory) {
        if let Some(cy) = &self.library.cy {
            // SAFETY: a session of this instance.
            unsafe { (cy.cpaCySymRemoveSession)(lent.handle, session.as_ptr().cast()) };
        }
    }

    /// Lets the library call back for what is done.
    pub(crate) fn poll_crypto(&self, lent: &CyLent) -> CpaStatus {
        match &self.library.cy {
            // SAFETY: a handle of the library's; what is called back stays as long as its request.
            Some(cy) => unsafe { (cy.icp_sal_CyPollInstance)(lent.handle, 0) },
            None => CPA_STATUS_UNSUPPORTED,
        }
    }
}

fn handles(cy: &Cryptography) -> Option<Vec<CpaInstanceHandle>> {
    let mut count = 0;
    // SAFETY: a place for the answer.
    let status = unsafe { (cy.cpaCyGetNumInstances)(&raw mut count) };
    if status != CPA_STATUS_SUCCESS || count == 0 {
        return None;
    }
    let mut handles: Vec<*mut c_void> = vec![ptr::null_mut(); count.into()];
    // SAFETY: room for as many.
    let status = unsafe { (cy.cpaCyGetInstances)(count, handles.as_mut_ptr()) };
    (status == CPA_STATUS_SUCCESS).then_some(handles)
}

fn ask(cy: &Cryptography, handle: CpaInstanceHandle) -> Result<(CpaInstanceInfo2, Traits), String> {
    let mut info = MaybeUninit::<CpaInstanceInfo2>::zeroed();
    let mut there = MaybeUninit::<CpaCyCapabilitiesInfo>::zeroed();
    let mut sym = MaybeUninit::<CpaCySymCapabilitiesInfo>::zeroed();
    // SAFETY: a handle of the library's and places for the answers, of integers alone.
    let (info, there) = unsafe {
        let status = (cy.cpaCyInstanceGetInfo2)(handle, info.as_mut_ptr());
        answered("cpaCyInstanceGetInfo2", status)?;
        let status = (cy.cpaCyQueryCapabilities)(handle, there.as_mut_ptr());
        answered("cpaCyQueryCapabilities", status)?;
        (info.assume_init(), there.assume_init())
    };
    let mut traits = Traits {
        rsa: there.rsaSupported == CPA_TRUE,
        ec: there.ecSupported == CPA_TRUE,
        ecdsa: there.ecdsaSupported == CPA_TRUE,
        ..Traits::default()
    };
    if there.symSupported == CPA_TRUE {
        // SAFETY: as above.
        let sym = unsafe {
            let status = (cy.cpaCySymQueryCapabilities)(handle, sym.as_mut_ptr());
            answered("cpaCySymQueryCapabilities", status)?;
            sym.assume_init()
        };
        (traits.ciphers, traits.hashes) = (sym.ciphers[0], sym.hashes[0]);
    }
    Ok((info, traits))
}
