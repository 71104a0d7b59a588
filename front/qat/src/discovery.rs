//! Finding instances and devices: `cpa.h`, `cpa_dev.h`, and what compression and cryptography have in common.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::Op;

use crate::{
    abi::*,
    instance::{QatInstance, Service},
    process::Process,
    refusal::{Refusal, put_text, status_text, wanted},
};

const NO_PLACE: &str = "no place for the answer";

/// The software's version, as this interface writes one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

fn service(kind: CpaAccelerationServiceType) -> Result<Option<Service>, Refusal> {
    match kind {
        CPA_ACC_SVC_TYPE_DATA_COMPRESSION | CPA_ACC_SVC_TYPE_DATA_DECOMPRESSION => {
            Ok(Some(Service::Dc))
        }
        CPA_ACC_SVC_TYPE_CRYPTO | CPA_ACC_SVC_TYPE_CRYPTO_ASYM | CPA_ACC_SVC_TYPE_CRYPTO_SYM => {
            Ok(Some(Service::Cy))
        }
        // Services of the interface that no library has.
        CPA_ACC_SVC_TYPE_RAID | CPA_ACC_SVC_TYPE_XML | CPA_ACC_SVC_TYPE_PATTERN_MATCH => Ok(None),
        _ => Err(Refusal::invalid("not a type of service")),
    }
}

/// The number of instances of a service.
unsafe fn count(service: Option<Service>, number: *mut Cpa16U) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises it.
    let number = unsafe { wanted(number, NO_PLACE) }?;
    let process = Process::get()?;
    *number = service.map_or(0, |service| process.instances(service).len() as u16);
    Ok(CPA_STATUS_SUCCESS)
}

/// Their handles, the first `n`.
unsafe fn list(
    service: Option<Service>,
    n: Cpa16U,
    handles: *mut CpaInstanceHandle,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let all = service.map_or(&[][..], |service| process.instances(service));
    if n == 0 || usize::from(n) > all.len() {
        return Err(Refusal::invalid("not so many instances: ask for their number first"));
    }
    // SAFETY: the exported function's caller promises room for `n`.
    unsafe { wanted(handles, NO_PLACE) }?;
    for (i, instance) in all[..n.into()].iter().enumerate() {
        // SAFETY: as above.
        unsafe { handles.add(i).write(instance.handle()) };
    }
    Ok(CPA_STATUS_SUCCESS)
}

fn describe(process: &Process, instance: &QatInstance, info: &mut CpaInstanceInfo2) {
    // SAFETY: integers and arrays of them, for which zeros are values.
    *info = unsafe { core::mem::zeroed() };
    let (kind, name) = match instance.service() {
        Service::Dc => (CPA_ACC_SVC_TYPE_DATA_COMPRESSION, "Dc"),
        Service::Cy => (CPA_ACC_SVC_TYPE_CRYPTO, "Cy"),
    };
    info.accelerationServiceType = kind;
    put_text(&mut info.vendorName, "Lookaside");
    put_text(&mut info.partName, "software");
    put_text(&mut info.swVersion, VERSION);
    put_text(&mut info.instName, &format!("Lookaside{name}{}", instance.number()));
    put_text(&mut info.instID, &format!("{name}_{}_{}", instance.node(), instance.number()));
    info.physInstId.packageId = instance.node();
    info.physInstId.acceleratorId = instance.number();
    let node = &process.nodes().all()[usize::from(instance.node())];
    for cpu in node.cpus.iter().filter(|cpu| **cpu < CPA_MAX_CORES) {
        info.coreAffinity[*cpu as usize / 32] |= 1 << (cpu % 32);
    }
    info.nodeAffinity = node.number.into();
    info.operState = if instance.is_up() { CPA_OPER_STATE_UP } else { CPA_OPER_STATE_DOWN };
    info.requiresPhysicallyContiguousMemory = CPA_FALSE;
    info.isPolled = if instance.has_events() { CPA_FALSE } else { CPA_TRUE };
    info.isOffloaded = if process.settings().engines > 0 { CPA_TRUE } else { CPA_FALSE };
}

/// The instance that a typed function means.
fn typed(
    handle: CpaInstanceHandle,
    kind: CpaAccelerationServiceType,
) -> Result<&'static QatInstance, Refusal> {
    let service = service(kind)?.ok_or_else(|| Refusal::invalid("no instance of this service"))?;
    Process::get()?.instance(handle, service)
}

crate::api! {
    fn cpaGetNumInstances(kind: CpaAccelerationServiceType, number: *mut Cpa16U) {
        count(service(kind)?, number)
    }

    fn cpaGetInstances(kind: CpaAccelerationServiceType, n: Cpa16U, handles: *mut CpaInstanceHandle) {
        list(service(kind)?, n, handles)
    }

    fn cpaDcGetNumInstances(number: *mut Cpa16U) {
        count(Some(Service::Dc), number)
    }

    fn cpaDcGetInstances(n: Cpa16U, handles: *mut CpaInstanceHandle) {
        list(Some(Service::Dc), n, handles)
    }

    fn cpaCyGetNumInstances(number: *mut Cpa16U) {
        count(Some(Service::Cy), number)
    }

    fn cpaCyGetInstances(n: Cpa16U, handles: *mut CpaInstanceHandle) {
        list(Some(Service::Cy), n, handles)
    }

    fn cpaDcInstanceGetInfo2(handle: CpaInstanceHandle, info: *mut CpaInstanceInfo2) {
        let (process, info) = (Process::get()?, wanted(info, NO_PLACE)?);
        describe(process, process.instance(handle, Service::Dc)?, info);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCyInstanceGetInfo2(handle: CpaInstanceHandle, info: *mut CpaInstanceInfo2) {
        let (process, info) = (Process::get()?, wanted(info, NO_PLACE)?);
        describe(process, process.instance(handle, Service::Cy)?, info);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCyInstanceGetInfo(handle: CpaInstanceHandle, info: *mut CpaInstanceInfo) {
        let (process, info) = (Process::get()?, wanted(info, NO_PLACE)?);
        let instance = process.instance(handle, Service::Cy)?;
        info.r#type = CPA_INSTANCE_TYPE_CRYPTO;
        info.state = match instance.is_up() {
            true => CPA_INSTANCE_STATE_INITIALISED,
            false => CPA_INSTANCE_STATE_SHUTDOWN,
        };
        put_text(&mut info.name, &format!("LookasideCy{}", instance.number()));
        put_text(&mut info.version, VERSION);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcStartInstance(
        handle: CpaInstanceHandle,
        buffers: Cpa16U,
        _intermediate: *mut *mut CpaBufferList,
    ) {
        // Intermediate buffers are not used; programs bring as many as cpaDcGetNumIntermediateBuffers says, or
        // more.
        let _ = buffers;
        Process::get()?.instance(handle, Service::Dc)?.start();
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcStopInstance(handle: CpaInstanceHandle) {
        let process = Process::get()?;
        process.instance(handle, Service::Dc)?.stop(process)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCyStartInstance(handle: CpaInstanceHandle) {
        Process::get()?.instance(handle, Service::Cy)?.start();
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCyStopInstance(handle: CpaInstanceHandle) {
        let process = Process::get()?;
        process.instance(handle, Service::Cy)?.stop(process)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcGetNumIntermediateBuffers(handle: CpaInstanceHandle, number: *mut Cpa16U) {
        Process::get()?.instance(handle, Service::Dc)?;
        *wanted(number, NO_PLACE)? = 0;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcSetAddressTranslation(handle: CpaInstanceHandle, translate: CpaVirtualToPhysical) {
        Process::get()?.instance(handle, Service::Dc)?;
        translation(translate)
    }

    fn cpaCySetAddressTranslation(handle: CpaInstanceHandle, translate: CpaVirtualToPhysical) {
        Process::get()?.instance(handle, Service::Cy)?;
        translation(translate)
    }

    fn cpaDcBufferListGetMetaSize(handle: CpaInstanceHandle, buffers: Cpa32U, size: *mut Cpa32U) {
        Process::get()?.instance(handle, Service::Dc)?;
        meta_size(buffers, size)
    }

    fn cpaCyBufferListGetMetaSize(handle: CpaInstanceHandle, buffers: Cpa32U, size: *mut Cpa32U) {
        Process::get()?.instance(handle, Service::Cy)?;
        meta_size(buffers, size)
    }

    fn cpaDcGetMetaSizeForSrcBuffWithDict(
        handle: CpaInstanceHandle,
        dictionary: Cpa32U,
        source: Cpa32U,
        size: *mut Cpa32U,
    ) {
        Process::get()?.instance(handle, Service::Dc)?;
        meta_size(dictionary.max(source), size)
    }

    fn cpaDcGetStatusText(handle: CpaInstanceHandle, status: CpaStatus, text: *mut Cpa8S) {
        Process::get()?.instance(handle, Service::Dc)?;
        status_text(status, text.cast())
    }

    fn cpaCyGetStatusText(handle: CpaInstanceHandle, status: CpaStatus, text: *mut Cpa8S) {
        Process::get()?.instance(handle, Service::Cy)?;
        status_text(status, text.cast())
    }

    fn cpaDcInstanceSetNotificationCb(
        handle: CpaInstanceHandle,
        callback: CpaDcInstanceNotificationCbFunc,
        tag: *mut c_void,
    ) {
        Process::get()?.instance(handle, Service::Dc)?.notices.set(callback, tag);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCyInstanceSetNotificationCb(
        handle: CpaInstanceHandle,
        callback: CpaCyInstanceNotificationCbFunc,
        tag: *mut c_void,
    ) {
        Process::get()?.instance(handle, Service::Cy)?.notices.set(callback, tag);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaInstanceSetResponseMode(
        handle: CpaInstanceHandle,
        kind: CpaAccelerationServiceType,
        mode: CpaInstanceResponseMode,
    ) {
        let instance = typed(handle, kind)?;
        match mode {
            CPA_INST_RX_NOTIFY_NONE => instance.set_events(false),
            CPA_INST_RX_NOTIFY_BY_EVENT => instance.set_events(true),
            _ => return Err(Refusal::invalid("not a mode of responses")),
        }
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaInstanceGetResponseMode(
        handle: CpaInstanceHandle,
        kind: CpaAccelerationServiceType,
        mode: *mut CpaInstanceResponseMode,
    ) {
        let instance = typed(handle, kind)?;
        *wanted(mode, NO_PLACE)? = match instance.has_events() {
            true => CPA_INST_RX_NOTIFY_BY_EVENT,
            false => CPA_INST_RX_NOTIFY_NONE,
        };
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaInstanceGetRxInterruptMetaData(
        handle: CpaInstanceHandle,
        kind: CpaAccelerationServiceType,
        data: *mut CpaRxInterruptMetaData,
    ) {
        typed(handle, kind)?;
        *wanted(data, NO_PLACE)? = CpaRxInterruptMetaData {
            coalescingTimerInNs: 0,
            // Events are not delayed: only 0 is accepted.
            coalescingTimerMaxInNs: 0,
            coalescingTimerGranularityInNs: 1,
            reserved1: 0,
            reserved2: 0,
        };
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaInstanceSetIntCoalescingTimer(
        handle: CpaInstanceHandle,
        kind: CpaAccelerationServiceType,
        nanoseconds: Cpa32U,
    ) {
        typed(handle, kind)?;
        match nanoseconds {
            0 => Ok(CPA_STATUS_SUCCESS),
            _ => Err(Refusal::unsupported("events are delivered at once: only 0 ns is possible")),
        }
    }

    fn cpaGetNumDevices(number: *mut Cpa16U) {
        *wanted(number, NO_PLACE)? = Process::get()?.nodes().all().len() as u16;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaGetDeviceInfo(device: Cpa16U, info: *mut CpaDeviceInfo) {
        let process = Process::get()?;
        let info = wanted(info, NO_PLACE)?;
        let node = process.nodes().all().get(usize::from(device));
        let node = node.ok_or_else(|| Refusal::invalid("no device of this number"))?;
        let flag = |on| if on { CPA_TRUE } else { CPA_FALSE };
        let (dc, cy) = (!process.instances(Service::Dc).is_empty(), !process.instances(Service::Cy).is_empty());
        *info = CpaDeviceInfo {
            sku: 0,
            bdf: 0,
            // No PCI device has this number.
            deviceId: 0,
            numaNode: node.number.into(),
            isVf: CPA_FALSE,
            dcEnabled: flag(dc),
            cySymEnabled: flag(cy),
            cyAsymEnabled: flag(cy),
            inlineEnabled: CPA_FALSE,
            deviceMemorySizeAvailable: 0,
        };
        Ok(CPA_STATUS_SUCCESS)
    }
}

/// Addresses are the process's own whatever the program says: nothing but the CPU reads them.
fn translation(translate: CpaVirtualToPhysical) -> Result<CpaStatus, Refusal> {
    match translate {
        Some(_) => Ok(CPA_STATUS_SUCCESS),
        None => Err(Refusal::invalid("no function to translate addresses")),
    }
}

/// The library writes no descriptors; a few bytes keep programs from asking `malloc` for none.
unsafe fn meta_size(buffers: Cpa32U, size: *mut Cpa32U) -> Result<CpaStatus, Refusal> {
    if buffers == 0 || buffers > crate::buffers::MOST_PIECES {
        return Err(Refusal::invalid("a list has 1 to 65,536 buffers"));
    }
    // SAFETY: the exported function's caller promises it.
    *unsafe { wanted(size, NO_PLACE) }? = 64;
    Ok(CPA_STATUS_SUCCESS)
}

/// Whether the runtime has a device for an operation.
pub fn serves(op: Op) -> Result<bool, Refusal> {
    let mut devices = Process::get()?.runtime().capabilities();
    Ok(devices.any(|(_, capabilities)| capabilities.iter().any(|c| c.op == op)))
}
