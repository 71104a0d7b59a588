//! Polling, descriptors of event mode, and requests in flight.
#![allow(unsafe_code)]

use core::ffi::c_int;

use crate::{
    abi::*,
    instance::{QatInstance, Service},
    process::Process,
    refusal::{Refusal, wanted},
    ring::Ring,
};

/// Which rings of an instance.
#[derive(Clone, Copy)]
enum Which {
    All,
    Sym,
    Asym,
}

/// Completes what is there: success if something was.
#[inline]
fn poll(
    handle: CpaInstanceHandle,
    service: Service,
    which: Which,
    quota: Cpa32U,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, service)?;
    let mut count = 0;
    if !matches!(which, Which::Asym) {
        count = instance.ring.poll(process, quota)?;
    }
    if !matches!(which, Which::Sym) {
        // Each ring has the quota: what the first one has does not keep the other one waiting.
        count += instance.asym.poll(process, quota)?;
    }
    Ok(if count > 0 { CPA_STATUS_SUCCESS } else { CPA_STATUS_RETRY })
}

/// Completes what is there for all instances of a package.
fn poll_package(package: Cpa32U, quota: Cpa32U) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    if package as usize >= process.nodes().all().len() {
        return Err(Refusal::invalid("no device of this number"));
    }
    let mut found = false;
    for instance in process.all().filter(|i| u32::from(i.node()) == package) {
        for ring in [&instance.ring, &instance.asym] {
            found |= ring.poll(process, quota)? > 0;
        }
    }
    Ok(if found { CPA_STATUS_SUCCESS } else { CPA_STATUS_RETRY })
}

const POLLED: &str = "the instance is polled: it has a descriptor after cpaInstanceSetResponseMode, or with \
                      LOOKASIDE_QAT_MODE=events";

unsafe fn descriptor(
    handle: CpaInstanceHandle,
    service: Service,
    place: *mut c_int,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, service)?;
    // SAFETY: the exported function's caller promises it.
    let place = unsafe { wanted(place, "no place for the descriptor") }?;
    if !instance.has_events() {
        return Err(Refusal::unsupported(POLLED));
    }
    *place = instance.descriptor(process)?;
    Ok(CPA_STATUS_SUCCESS)
}

fn put_descriptor(
    handle: CpaInstanceHandle,
    service: Service,
    fd: c_int,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, service)?;
    if !instance.has_events() {
        return Err(Refusal::unsupported(POLLED));
    }
    match instance.descriptor(process)? == fd {
        // It stays the instance's, which gives the same one out again.
        true => Ok(CPA_STATUS_SUCCESS),
        false => Err(Refusal::invalid("not this instance's descriptor")),
    }
}

unsafe fn in_flight(
    handle: CpaInstanceHandle,
    ring: fn(&QatInstance) -> &Ring,
    most: *mut Cpa32U,
    now: *mut Cpa32U,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, Service::Cy)?;
    // SAFETY: the exported function's caller promises it.
    let (most, now) =
        unsafe { (wanted(most, "no place for a number")?, wanted(now, "no place for a number")?) };
    *most = process.settings().depth as u32;
    *now = ring(instance).in_flight();
    Ok(CPA_STATUS_SUCCESS)
}

crate::api! {
    fn icp_sal_DcPollInstance(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Dc, Which::Sym, quota)
    }

    fn icp_sal_DcPollDpInstance(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Dc, Which::Sym, quota)
    }

    fn icp_sal_CyPollInstance(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Cy, Which::All, quota)
    }

    fn icp_sal_CyPollSymRing(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Cy, Which::Sym, quota)
    }

    fn icp_sal_CyPollAsymRing(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Cy, Which::Asym, quota)
    }

    fn icp_sal_CyPollDpInstance(handle: CpaInstanceHandle, quota: Cpa32U) {
        poll(handle, Service::Cy, Which::Sym, quota)
    }

    fn icp_sal_pollBank(package: Cpa32U, _bank: Cpa32U, quota: Cpa32U) {
        // A package has one bank, whatever its number is on hardware.
        poll_package(package, quota)
    }

    fn icp_sal_pollAllBanks(package: Cpa32U, quota: Cpa32U) {
        poll_package(package, quota)
    }

    fn icp_sal_DcGetFileDescriptor(handle: CpaInstanceHandle, fd: *mut c_int) {
        descriptor(handle, Service::Dc, fd)
    }

    fn icp_sal_CyGetFileDescriptor(handle: CpaInstanceHandle, fd: *mut c_int) {
        descriptor(handle, Service::Cy, fd)
    }

    fn icp_sal_DcPutFileDescriptor(handle: CpaInstanceHandle, fd: c_int) {
        put_descriptor(handle, Service::Dc, fd)
    }

    fn icp_sal_CyPutFileDescriptor(handle: CpaInstanceHandle, fd: c_int) {
        put_descriptor(handle, Service::Cy, fd)
    }

    fn icp_sal_SymGetInflightRequests(
        handle: CpaInstanceHandle,
        most: *mut Cpa32U,
        now: *mut Cpa32U,
    ) {
        in_flight(handle, |i| &i.ring, most, now)
    }

    fn icp_sal_AsymGetInflightRequests(
        handle: CpaInstanceHandle,
        most: *mut Cpa32U,
        now: *mut Cpa32U,
    ) {
        in_flight(handle, |i| &i.asym, most, now)
    }

    fn icp_sal_dp_SymGetInflightRequests(
        handle: CpaInstanceHandle,
        most: *mut Cpa32U,
        now: *mut Cpa32U,
    ) {
        in_flight(handle, |i| &i.ring, most, now)
    }
}
