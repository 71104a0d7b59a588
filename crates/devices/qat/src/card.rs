//! The card: what it is, what it can do, and its instances, each lent to one channel at a time.
#![allow(unsafe_code)]

use core::{ffi::c_void, mem::MaybeUninit, ptr};
use std::{
    ffi::CString,
    sync::{Mutex, PoisonError},
};

use lookaside_quickassist::*;

#[cfg(feature = "crypto")]
use crate::crypto::Crypto;
use crate::{Refusal, Settings, Verify, dc::Key, library::Library, memory::Memory};

/// A card whose library is started.
pub(crate) struct Card {
    pub(crate) library: Library,
    /// What it says of itself.
    pub(crate) description: String,
    /// It asks for physically contiguous memory.
    pub(crate) pinned: bool,
    /// It has instances for compression, to which all that follows belongs.
    pub(crate) compresses: bool,
    pub(crate) dynamic: bool,
    /// It chooses the smallest of stored, static and dynamic blocks.
    pub(crate) best_tree: bool,
    pub(crate) crc32: bool,
    pub(crate) adler32: bool,
    /// It verifies what it compresses.
    pub(crate) verifies: bool,
    /// The process that started it.
    pub(crate) process: u32,
    free: Mutex<Vec<Lent>>,
    /// Whether it takes sessions of these, as far as it was asked.
    takes: Mutex<Vec<(Key, bool)>>,
    #[cfg(feature = "crypto")]
    pub(crate) crypto: Option<Crypto>,
}

/// An instance, as a channel has it.
pub(crate) struct Lent {
    pub(crate) handle: CpaInstanceHandle,
    pub(crate) node: u32,
    /// Memory of the instance itself, from its start on.
    intermediate: Vec<Memory>,
    started: bool,
}

// SAFETY: a handle may be used by any thread; whoever has this is the only one who uses it.
unsafe impl Send for Lent {}

/// The name of a status.
pub(crate) fn status_name(status: CpaStatus) -> &'static str {
    match status {
        CPA_STATUS_SUCCESS => "CPA_STATUS_SUCCESS",
        CPA_STATUS_RETRY => "CPA_STATUS_RETRY",
        CPA_STATUS_RESOURCE => "CPA_STATUS_RESOURCE",
        CPA_STATUS_INVALID_PARAM => "CPA_STATUS_INVALID_PARAM",
        CPA_STATUS_FATAL => "CPA_STATUS_FATAL",
        CPA_STATUS_UNSUPPORTED => "CPA_STATUS_UNSUPPORTED",
        CPA_STATUS_RESTARTING => "CPA_STATUS_RESTARTING",
        _ => "CPA_STATUS_FAIL",
    }
}

/// What a call answered, as a reason.
pub(crate) fn answered(what: &str, status: CpaStatus) -> Result<(), String> {
    match status {
        CPA_STATUS_SUCCESS => Ok(()),
        other => Err(format!("{what} answered {}", status_name(other))),
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// What a card says of itself.
pub(crate) fn description(info: &CpaInstanceInfo2) -> String {
    let names = [&info.vendorName[..], &info.partName, &info.swVersion].map(text);
    names.join(" ").trim().to_owned()
}

/// What instances may differ in: `pinned` to `verifies`.
type Traits = (bool, bool, bool, bool, bool, bool);

impl Card {
    /// Loads the library and starts it.
    pub(crate) fn start(settings: &Settings) -> Result<Card, Refusal> {
        let refused = |why| Refusal::new(&settings.library, why);
        if settings.library.file_name().is_none() || !settings.library.exists() {
            return Err(refused("there is no such file".to_owned()));
        }
        let library = Library::load(&settings.library)?;
        let section = CString::new(&*settings.section);
        let section = section.map_err(|_| refused("the section has a zero byte".to_owned()))?;
        // SAFETY: a text that ends in zero.
        let status = unsafe { (library.start.icp_sal_userStart)(section.as_ptr()) };
        answered(&format!("icp_sal_userStart({})", settings.section), status).map_err(|why| {
            refused(format!(
                "{why}: no card that this process may use (is there one in lspci, its driver, a running qatmgr, \
                 and the right to its devices in /dev/vfio?)"
            ))
        })?;
        let handles = handles(&library);
        let mut card = Card {
            library,
            description: String::new(),
            pinned: false,
            compresses: false,
            dynamic: false,
            best_tree: false,
            crc32: false,
            adler32: false,
            verifies: false,
            process: std::process::id(),
            free: Mutex::default(),
            takes: Mutex::default(),
            #[cfg(feature = "crypto")]
            crypto: None,
        };
        let mut useful = Vec::new();
        for &handle in handles.iter().flatten() {
            let Ok((info, there)) = ask(&card.library, handle) else { continue };
            let serves = there.statelessDeflateCompression == CPA_TRUE
                && there.statelessDeflateDecompression == CPA_TRUE;
            if !serves || info.isPolled != CPA_TRUE || info.operState != CPA_OPER_STATE_UP {
                continue;
            }
            let one = (
                info.requiresPhysicallyContiguousMemory == CPA_TRUE,
                there.dynamicHuffman == CPA_TRUE,
                there.autoSelectBestHuffmanTree == CPA_TRUE,
                there.checksumCRC32 == CPA_TRUE,
                there.checksumAdler32 == CPA_TRUE,
                there.compressAndVerify == CPA_TRUE,
            );
            if useful.is_empty() {
                card.take(one);
                card.description = description(&info);
            }
            // What one instance of a card can do, all can; another card's are left alone.
            if one == card.traits() {
                let node = info.nodeAffinity;
                useful.push(Lent { handle, node, intermediate: Vec::new(), started: false });
            }
        }
        #[cfg(feature = "crypto")]
        card.find_crypto();
        if useful.is_empty() && !card.has_crypto() {
            let none = "none of its instances is up, polled, and does stateless DEFLATE both ways";
            return Err(refused(handles.err().unwrap_or_else(|| none.to_owned())));
        }
        if card.pinned && card.library.pinned.is_none() {
            return Err(refused(
                "it wants contiguous memory, and its libusdm.so.0 is not beside it".into(),
            ));
        }
        // The first one is lent first.
        useful.reverse();
        card.compresses = !useful.is_empty();
        card.free = Mutex::new(useful);
        Ok(card)
    }

    /// Whether it has what these settings want of it.
    pub(crate) fn check(&self, settings: &Settings) -> Result<(), Refusal> {
        if settings.verify == Verify::Card && self.compresses && !self.verifies {
            let why = "it has no compress-and-verify: LOOKASIDE_CARD_VERIFY=software";
            return Err(Refusal::new(&settings.library, why.to_owned()));
        }
        Ok(())
    }

    /// Whether this is the process that has started it. In a child of that nothing of it may be used: whoever held one of
    /// its locks may not exist there.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    fn take(&mut self, traits: Traits) {
        (self.pinned, self.dynamic, self.best_tree, self.crc32, self.adler32, self.verifies) =
            traits;
    }

    /// Whether sessions that were prepared for one may be used with the other.
    pub(crate) fn is_like(&self, other: &Card) -> bool {
        #[cfg(feature = "crypto")]
        if self.crypto.as_ref().map(Crypto::traits) != other.crypto.as_ref().map(Crypto::traits) {
            return false;
        }
        self.compresses == other.compresses && self.traits() == other.traits()
    }

    /// Whether it has instances for cryptography.
    fn has_crypto(&self) -> bool {
        #[cfg(feature = "crypto")]
        return self.crypto.is_some();
        #[cfg(not(feature = "crypto"))]
        false
    }

    fn traits(&self) -> Traits {
        (self.pinned, self.dynamic, self.best_tree, self.crc32, self.adler32, self.verifies)
    }

    /// How many instances are free.
    pub(crate) fn instances(&self) -> usize {
        if !self.is_ours() {
            return 0;
        }
        self.free.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// An instance of one's own, started; `None` where all are lent, or this one does not start.
    pub(crate) fn lend(&self) -> Option<Lent> {
        if !self.is_ours() {
            return None;
        }
        let mut lent = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        if !lent.started && self.start_instance(&mut lent).is_err() {
            return None;
        }
        lent.started = true;
        Some(lent)
    }

    /// Takes an instance back that holds no request.
    pub(crate) fn give_back(&self, lent: Lent) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(lent);
    }

    /// Whether it takes sessions of this kind. Where all instances are lent, and in a child of its process, it is assumed
    /// to: their channels find out.
    pub(crate) fn takes(&self, key: Key) -> bool {
        if !self.is_ours() {
            return true;
        }
        let mut known = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, taken)) = known.iter().find(|(of, _)| *of == key) {
            return *taken;
        }
        let Some(lent) = self.lend() else { return true };
        let session = self.session(&lent, &key.setup(self));
        let taken = session.inspect(|session| self.end_session(&lent, session)).is_some();
        self.give_back(lent);
        known.push((key, taken));
        taken
    }

    fn start_instance(&self, lent: &mut Lent) -> Result<(), String> {
        let library = &self.library;
        if let Some(pinned) = &library.pinned {
            let translate = Some(pinned.qaeVirtToPhysNUMA as _);
            // SAFETY: a handle of the library's and a function of its libusdm.
            let status = unsafe { (library.dc.cpaDcSetAddressTranslation)(lent.handle, translate) };
            answered("cpaDcSetAddressTranslation", status)?;
        }
        let mut count = 0;
        // SAFETY: a handle of the library's and a place for the answer.
        let status =
            unsafe { (library.dc.cpaDcGetNumIntermediateBuffers)(lent.handle, &raw mut count) };
        answered("cpaDcGetNumIntermediateBuffers", status)?;
        let mut lists: Vec<*mut CpaBufferList> = Vec::new();
        for _ in 0..count {
            // Twice what is compressed at most, as the interface's documentation asks.
            let list = self.list(lent, 2 * crate::dc::LARGEST).ok_or("no memory")?;
            lists.push(list);
        }
        let lists = if lists.is_empty() { ptr::null_mut() } else { lists.leak().as_mut_ptr() };
        // SAFETY: a handle, and as many lists as it asked for, which stay.
        answered("cpaDcStartInstance", unsafe {
            (library.dc.cpaDcStartInstance)(lent.handle, count, lists)
        })
    }

    /// A list of one buffer in memory of the instance's.
    fn list(&self, lent: &mut Lent, len: usize) -> Option<*mut CpaBufferList> {
        let meta = Memory::new(self, lent.node, self.meta_size(lent.handle)?)?;
        let data = Memory::new(self, lent.node, len)?;
        let own = || {
            let size = size_of::<CpaBufferList>() + size_of::<CpaFlatBuffer>();
            Memory::new(self, lent.node, size)
        };
        let head = own()?;
        let list = head.as_ptr().cast::<CpaBufferList>();
        // SAFETY: there is room for both, at an alignment of 64 bytes.
        unsafe {
            let flat = list.add(1).cast::<CpaFlatBuffer>();
            flat.write(CpaFlatBuffer { dataLenInBytes: data.len() as u32, pData: data.as_ptr() });
            list.write(CpaBufferList {
                numBuffers: 1,
                pBuffers: flat,
                pUserData: ptr::null_mut(),
                pPrivateMetaData: meta.as_ptr().cast(),
            });
        }
        lent.intermediate.extend([meta, data, head]);
        Some(list)
    }

    /// How much memory the library wants beside a list of one buffer.
    pub(crate) fn meta_size(&self, handle: CpaInstanceHandle) -> Option<usize> {
        let mut size = 0;
        // SAFETY: a handle of the library's and a place for the answer.
        let status =
            unsafe { (self.library.dc.cpaDcBufferListGetMetaSize)(handle, 1, &raw mut size) };
        (status == CPA_STATUS_SUCCESS).then_some(size as usize)
    }

    /// How much room a result needs, by the library's own promise.
    pub(crate) fn bound(&self, lent: &Lent, huffman: CpaDcHuffType, len: usize) -> Option<usize> {
        let (mut bound, len) = (0, u32::try_from(len).ok()?);
        // SAFETY: a handle of the library's and a place for the answer.
        let status = unsafe {
            (self.library.dc.cpaDcDeflateCompressBound)(lent.handle, huffman, len, &raw mut bound)
        };
        (status == CPA_STATUS_SUCCESS).then_some(bound as usize)
    }

    /// A session in memory of its own; `None` where the card does not take it.
    pub(crate) fn session(&self, lent: &Lent, setup: &CpaDcSessionSetupData) -> Option<Memory> {
        let (mut setup, mut size, mut context) = (*setup, 0, 0);
        // SAFETY: a handle of the library's, a set-up, places for the answers.
        let status = unsafe {
            (self.library.dc.cpaDcGetSessionSize)(
                lent.handle,
                &raw mut setup,
                &raw mut size,
                &raw mut context,
            )
        };
        if status != CPA_STATUS_SUCCESS {
            return None;
        }
        let memory = Memory::new(self, lent.node, size as usize)?;
        // SAFETY: as much memory as it asked for; a stateless session has no context.
        let status = unsafe {
            (self.library.dc.cpaDcInitSession)(
                lent.handle,
                memory.as_ptr().cast(),
                &raw mut setup,
                ptr::null_mut(),
                Some(crate::flight::answered),
            )
        };
        (status == CPA_STATUS_SUCCESS).then_some(memory)
    }

    /// Ends a session of which no request is in flight.
    pub(crate) fn end_session(&self, lent: &Lent, session: &Memory) {
        // SAFETY: a session of this instance.
        unsafe { (self.library.dc.cpaDcRemoveSession)(lent.handle, session.as_ptr().cast()) };
    }

    /// Lets the library call back for what is done.
    pub(crate) fn poll(&self, lent: &Lent) -> CpaStatus {
        // SAFETY: a handle of the library's; what is called back stays as long as its request.
        unsafe { (self.library.dc.icp_sal_DcPollInstance)(lent.handle, 0) }
    }
}

fn handles(library: &Library) -> Result<Vec<CpaInstanceHandle>, String> {
    let mut count = 0;
    // SAFETY: a place for the answer.
    answered("cpaDcGetNumInstances", unsafe { (library.dc.cpaDcGetNumInstances)(&raw mut count) })?;
    if count == 0 {
        return Err("it has no instance for data compression (see ServicesEnabled)".to_owned());
    }
    let mut handles: Vec<*mut c_void> = vec![ptr::null_mut(); count.into()];
    // SAFETY: room for as many.
    let status = unsafe { (library.dc.cpaDcGetInstances)(count, handles.as_mut_ptr()) };
    answered("cpaDcGetInstances", status)?;
    Ok(handles)
}

fn ask(
    library: &Library,
    handle: CpaInstanceHandle,
) -> Result<(CpaInstanceInfo2, CpaDcInstanceCapabilities), String> {
    let mut info = MaybeUninit::<CpaInstanceInfo2>::zeroed();
    let mut there = MaybeUninit::<CpaDcInstanceCapabilities>::zeroed();
    // SAFETY: a handle of the library's and places for the answers, of integers alone.
    unsafe {
        let status = (library.dc.cpaDcInstanceGetInfo2)(handle, info.as_mut_ptr());
        answered("cpaDcInstanceGetInfo2", status)?;
        let status = (library.dc.cpaDcQueryCapabilities)(handle, there.as_mut_ptr());
        answered("cpaDcQueryCapabilities", status)?;
        Ok((info.assume_init(), there.assume_init()))
    }
}
