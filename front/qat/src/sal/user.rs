//! Starting and stopping, health, versions.
#![allow(unsafe_code)]

use core::{
    ffi::c_char,
    sync::atomic::{AtomicU64, Ordering},
};

use lookaside::Buf;

use crate::{
    abi::*,
    discovery::VERSION,
    process::Process,
    refusal::{Refusal, enter, put_text, wanted},
};

/// How many errors of compression there were, by their codes from 0 down.
static DC_ERRORS: [AtomicU64; 128] = [const { AtomicU64::new(0) }; 128];

/// Counts an error of compression.
pub fn count_dc_error(status: CpaDcReqStatus) {
    let code = usize::try_from(status.0.unsigned_abs()).unwrap_or(usize::MAX);
    if status.0 < 0
        && let Some(count) = DC_ERRORS.get(code)
    {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Any name of a section is right: there is no configuration to look it up in.
unsafe fn start(name: *const c_char) -> Result<CpaStatus, Refusal> {
    if name.is_null() {
        return Err(Refusal::invalid("no name of a section; any will do"));
    }
    Process::get()?.start();
    Ok(CPA_STATUS_SUCCESS)
}

fn package(number: Cpa32U) -> Result<&'static Process, Refusal> {
    let process = Process::get()?;
    match (number as usize) < process.nodes().all().len() {
        true => Ok(process),
        false => Err(Refusal::invalid("no device of this number")),
    }
}

/// Has a request executed: what the heartbeat of hardware stands for.
fn check(process: &Process) -> Result<CpaStatus, Refusal> {
    let mover = process.runtime().mover()?;
    let request = mover.copy(Buf::from(vec![1_u8]), Buf::zeroed(1));
    match process.call(request).result {
        Ok(_) => Ok(CPA_STATUS_SUCCESS),
        Err(e) => Err(Refusal::fail(format!("the device does not answer: {e}"))),
    }
}

/// Completes all that is in flight on a package, and has its instances' owners told of a restart.
fn reset(process: &'static Process, number: Cpa32U) -> Result<CpaStatus, Refusal> {
    for instance in process.all().filter(|i| u32::from(i.node()) == number) {
        instance.drain(process)?;
        instance.notices.push(&[CPA_INSTANCE_EVENT_RESTARTING, CPA_INSTANCE_EVENT_RESTARTED]);
    }
    Ok(CPA_STATUS_SUCCESS)
}

crate::api! {
    fn icp_sal_userStart(name: *const c_char) {
        start(name)
    }

    fn icp_sal_userStartMultiProcess(name: *const c_char, _limit: CpaBoolean) {
        // Processes share no device, so there is nothing to limit.
        start(name)
    }

    fn icp_sal_userStop() {
        Process::get()?.stop()?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_find_new_devices() {
        // All that there is was found at the start.
        Process::get()?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_poll_device_events() {
        let process = Process::get()?;
        process.all().for_each(|instance| instance.notices.deliver(instance));
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_check_device(number: Cpa32U) {
        check(package(number)?)
    }

    fn icp_sal_check_all_devices() {
        check(Process::get()?)
    }

    fn icp_sal_reset_device(number: Cpa32U) {
        reset(package(number)?, number)
    }

    fn icp_sal_get_num_pfs(number: *mut Cpa16U) {
        *wanted(number, "no place for the number")? = Process::get()?.nodes().all().len() as u16;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_get_pf_info(info: *mut CpaPfInfo) {
        let process = Process::get()?;
        wanted(info, "no place for the description")?;
        for n in 0..process.nodes().all().len() {
            let mut pf = CpaPfInfo { pkg_id: n as u32, domain: 0, bdf: 0, device_gen: [0; 17] };
            for (place, byte) in pf.device_gen.iter_mut().zip(b"software") {
                *place = *byte as c_char;
            }
            // One for each of icp_sal_get_num_pfs.
            info.add(n).write(pf);
        }
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_getDevVersionInfo(number: Cpa32U, info: *mut icp_sal_dev_version_info_t) {
        package(number)?;
        let info = wanted(info, "no place for the versions")?;
        info.devId = number;
        put_text(&mut info.firmwareVersion, VERSION);
        put_text(&mut info.mmpVersion, VERSION);
        put_text(&mut info.softwareVersion, VERSION);
        put_text(&mut info.hardwareVersion, "0");
        Ok(CPA_STATUS_SUCCESS)
    }
}

/// Whether requests are executed: always, where the runtime starts.
#[unsafe(no_mangle)]
pub extern "C" fn icp_sal_userIsQatAvailable() -> CpaBoolean {
    let status = enter("icp_sal_userIsQatAvailable", || {
        Process::get()?;
        Ok(CPA_STATUS_SUCCESS)
    });
    if status == CPA_STATUS_SUCCESS { CPA_TRUE } else { CPA_FALSE }
}

/// How often compression answered this error.
#[unsafe(no_mangle)]
pub extern "C" fn icp_sal_get_dc_error(error: Cpa8S) -> Cpa64U {
    let code = usize::from(error.unsigned_abs());
    let count = DC_ERRORS.get(code).filter(|_| error < 0);
    count.map_or(0, |count| count.load(Ordering::Relaxed))
}

/// A size in pages, as an IOMMU would map it.
#[unsafe(no_mangle)]
pub extern "C" fn icp_sal_iommu_get_remap_size(size: usize) -> usize {
    const PAGE: usize = 4096;
    size.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX & !(PAGE - 1))
}
