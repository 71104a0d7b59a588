//! Instances: discovery, rings, polling, back pressure, stopping, descriptors, forks.

mod common;

use std::{
    ffi::{CString, c_void},
    ptr,
    sync::{
        RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use common::*;
use lookaside_qat::{abi::*, dc::calls::*, discovery::*, sal::*};

/// Each test has instances of its own: they run side by side.
const RETRY: usize = 1;
const STOPPED: usize = 2;
const SHARED: usize = 3;
const EVENTS: usize = 4;
const FORKED: usize = 5;
const RESET: usize = 6;
const NESTED: usize = 7;
const BUSY: usize = 8;

/// Held to write by tests that poll instances which are not theirs.
static OTHERS: RwLock<()> = RwLock::new(());

/// A request with its buffers.
struct Request {
    src: Box<List>,
    dst: Box<List>,
    results: CpaDcRqResults,
    op: CpaDcOpData,
}

impl Request {
    fn new(input: Vec<u8>) -> Box<Request> {
        let room = bound(input.len());
        let (src, dst) = (List::new(input), List::room(room));
        Box::new(Request { src, dst, results: results(), op: op(CPA_DC_FLUSH_FINAL) })
    }

    fn submit(&mut self, session: &mut Held, tag: *mut c_void) -> CpaStatus {
        let (instance, handle) = (session.instance, session.handle());
        let (s, d) = (self.src.get(), self.dst.get());
        // SAFETY: the request outlives its answer in these tests.
        unsafe {
            cpaDcCompressData2(instance, handle, s, d, &raw mut self.op, &raw mut self.results, tag)
        }
    }

    fn check(&self) {
        assert_eq!(self.results.status, CPA_DC_OK);
        let small = self.dst.first(self.results.produced);
        assert_eq!(inflate(small, -15, None).as_ref(), Ok(&self.src.bytes));
    }
}

fn poll(instance: CpaInstanceHandle, quota: u32) -> CpaStatus {
    // SAFETY: any handle.
    unsafe { icp_sal_DcPollInstance(instance, quota) }
}

#[test]
fn instances_are_found_typed_and_untyped() {
    start();
    // SAFETY: places of this function's.
    unsafe {
        let (mut n, mut typed) = (0, 0);
        assert_eq!(cpaDcGetNumInstances(&raw mut n), CPA_STATUS_SUCCESS);
        for kind in [CPA_ACC_SVC_TYPE_DATA_COMPRESSION, CPA_ACC_SVC_TYPE_DATA_DECOMPRESSION] {
            assert_eq!(cpaGetNumInstances(kind, &raw mut typed), CPA_STATUS_SUCCESS);
            assert_eq!(typed, n);
        }
        assert!(n >= 8);
        assert_eq!(cpaCyGetNumInstances(&raw mut n), CPA_STATUS_SUCCESS);
        let cy =
            [CPA_ACC_SVC_TYPE_CRYPTO, CPA_ACC_SVC_TYPE_CRYPTO_SYM, CPA_ACC_SVC_TYPE_CRYPTO_ASYM];
        for kind in cy {
            assert_eq!(cpaGetNumInstances(kind, &raw mut typed), CPA_STATUS_SUCCESS);
            assert_eq!(typed, n);
        }
        assert_eq!(cpaGetNumInstances(CPA_ACC_SVC_TYPE_RAID, &raw mut typed), CPA_STATUS_SUCCESS);
        assert_eq!(typed, 0);
        let odd = CpaAccelerationServiceType(99);
        assert_eq!(cpaGetNumInstances(odd, &raw mut typed), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaGetNumInstances(cy[0], ptr::null_mut()), CPA_STATUS_INVALID_PARAM);

        let mut handles = vec![ptr::null_mut(); usize::from(n)];
        assert_eq!(cpaCyGetInstances(n, handles.as_mut_ptr()), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyGetInstances(n + 1, handles.as_mut_ptr()), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaCyGetInstances(1, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
        let mut typed = vec![ptr::null_mut(); usize::from(n)];
        for kind in cy {
            typed.fill(ptr::null_mut());
            assert_eq!(cpaGetInstances(kind, n, typed.as_mut_ptr()), CPA_STATUS_SUCCESS);
            assert_eq!(typed, handles);
            let more = cpaGetInstances(kind, n + 1, typed.as_mut_ptr());
            assert_eq!(more, CPA_STATUS_INVALID_PARAM);
            assert_eq!(cpaGetInstances(kind, 1, ptr::null_mut()), CPA_STATUS_INVALID_PARAM);
        }
        for kind in [CPA_ACC_SVC_TYPE_DATA_COMPRESSION, CPA_ACC_SVC_TYPE_DATA_DECOMPRESSION] {
            assert_eq!(cpaGetInstances(kind, 1, typed.as_mut_ptr()), CPA_STATUS_SUCCESS);
            assert_eq!(typed[0], instance(0));
        }
        for kind in [CPA_ACC_SVC_TYPE_RAID, odd] {
            let none = cpaGetInstances(kind, 1, typed.as_mut_ptr());
            assert_eq!(none, CPA_STATUS_INVALID_PARAM);
        }
        let mut info: CpaInstanceInfo2 = std::mem::zeroed();
        let dc = instance(0);
        // A handle of the other service is none.
        assert_eq!(cpaCyInstanceGetInfo2(dc, &raw mut info), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcInstanceGetInfo2(handles[0], &raw mut info), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaDcInstanceGetInfo2(dc, &raw mut info), CPA_STATUS_SUCCESS);
        assert_eq!(info.accelerationServiceType, CPA_ACC_SVC_TYPE_DATA_COMPRESSION);
        assert_eq!(info.requiresPhysicallyContiguousMemory, CPA_FALSE);
        assert_eq!((info.isPolled, info.operState), (CPA_TRUE, CPA_OPER_STATE_UP));
        assert!(info.coreAffinity.iter().any(|cpus| *cpus != 0));
        assert!(info.instName.starts_with(b"LookasideDc0\0"));
        assert_eq!(cpaCyInstanceGetInfo2(handles[1], &raw mut info), CPA_STATUS_SUCCESS);
        assert_eq!(info.accelerationServiceType, CPA_ACC_SVC_TYPE_CRYPTO);
        let mut old: CpaInstanceInfo = std::mem::zeroed();
        assert_eq!(cpaCyInstanceGetInfo(handles[1], &raw mut old), CPA_STATUS_SUCCESS);
        assert_eq!(old.state, CPA_INSTANCE_STATE_INITIALISED);

        let (mut devices, mut device) = (0, std::mem::zeroed::<CpaDeviceInfo>());
        assert_eq!(cpaGetNumDevices(&raw mut devices), CPA_STATUS_SUCCESS);
        assert!(devices > info.physInstId.packageId);
        assert_eq!(cpaGetDeviceInfo(0, &raw mut device), CPA_STATUS_SUCCESS);
        assert_eq!((device.dcEnabled, device.isVf), (CPA_TRUE, CPA_FALSE));
        assert_eq!(cpaGetDeviceInfo(devices, &raw mut device), CPA_STATUS_INVALID_PARAM);

        let mut number = 9;
        assert_eq!(cpaDcGetNumIntermediateBuffers(dc, &raw mut number), CPA_STATUS_SUCCESS);
        assert_eq!(number, 0);
        let mut size = 0;
        assert_eq!(cpaDcBufferListGetMetaSize(dc, 5, &raw mut size), CPA_STATUS_SUCCESS);
        assert!(size > 0);
        assert_eq!(cpaDcBufferListGetMetaSize(dc, 0, &raw mut size), CPA_STATUS_INVALID_PARAM);
        assert_eq!(cpaCyBufferListGetMetaSize(handles[0], 5, &raw mut size), CPA_STATUS_SUCCESS);
        let dictionary = cpaDcGetMetaSizeForSrcBuffWithDict(dc, 2, 3, &raw mut size);
        assert_eq!(dictionary, CPA_STATUS_SUCCESS);
        assert_eq!(cpaDcSetAddressTranslation(dc, None), CPA_STATUS_INVALID_PARAM);
        unsafe extern "C" fn same(address: *mut c_void) -> u64 {
            address.expose_provenance() as u64
        }
        assert_eq!(cpaDcSetAddressTranslation(dc, Some(same)), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCySetAddressTranslation(handles[0], Some(same)), CPA_STATUS_SUCCESS);

        let mut text = [1_i8; 255];
        for status in -7..=0 {
            assert_eq!(cpaDcGetStatusText(dc, status, text.as_mut_ptr()), CPA_STATUS_SUCCESS);
            assert!(text[0] > 32 && text.contains(&0));
        }
        let status = cpaCyGetStatusText(handles[0], 1, text.as_mut_ptr());
        assert_eq!(status, CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn starting_stopping_health_and_versions() {
    start();
    let name = CString::new("SHIM").unwrap();
    // SAFETY: C strings and places of this function's.
    unsafe {
        assert_eq!(icp_sal_userStartMultiProcess(name.as_ptr(), CPA_FALSE), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_userStart(ptr::null()), CPA_STATUS_INVALID_PARAM);
        assert_eq!(icp_sal_userIsQatAvailable(), CPA_TRUE);
        assert_eq!(icp_sal_userStop(), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_find_new_devices(), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_check_device(0), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_check_device(999), CPA_STATUS_INVALID_PARAM);
        assert_eq!(icp_sal_check_all_devices(), CPA_STATUS_SUCCESS);
        let mut version: icp_sal_dev_version_info_t = std::mem::zeroed();
        assert_eq!(icp_sal_getDevVersionInfo(0, &raw mut version), CPA_STATUS_SUCCESS);
        assert!(version.softwareVersion.starts_with(env!("CARGO_PKG_VERSION").as_bytes()));
        assert_eq!(icp_sal_getDevVersionInfo(999, &raw mut version), CPA_STATUS_INVALID_PARAM);
        let mut pfs = 0;
        assert_eq!(icp_sal_get_num_pfs(&raw mut pfs), CPA_STATUS_SUCCESS);
        let mut infos = vec![std::mem::zeroed::<CpaPfInfo>(); usize::from(pfs)];
        assert_eq!(icp_sal_get_pf_info(infos.as_mut_ptr()), CPA_STATUS_SUCCESS);
        assert_eq!(infos.last().unwrap().pkg_id + 1, pfs.into());
        assert_eq!(icp_sal_iommu_get_remap_size(4097), 8192);
        let (mut most, mut now) = (0, 9);
        let cy = DEFAULT;
        for ask in [
            icp_sal_SymGetInflightRequests,
            icp_sal_AsymGetInflightRequests,
            icp_sal_dp_SymGetInflightRequests,
        ] {
            assert_eq!(ask(cy, &raw mut most, &raw mut now), CPA_STATUS_SUCCESS);
            assert_eq!((most, now), (512, 0));
        }
    }
}

#[test]
fn a_full_ring_says_retry_and_a_quota_is_kept() {
    let _alone = OTHERS.read();
    let called = Called::default();
    let mut session = Held::on(instance(RETRY), &setup(), Some(note));
    let mut requests: Vec<_> = (0..513).map(|n| Request::new(text(n * 7))).collect();
    assert_eq!(poll(instance(RETRY), 0), CPA_STATUS_RETRY);
    for request in &mut requests[..512] {
        assert_eq!(request.submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
    }
    assert_eq!(requests[512].submit(&mut session, called.tag()), CPA_STATUS_RETRY);
    assert_eq!(called.count(), 0, "callbacks run in polls alone");
    // A session in use stays.
    assert_eq!(session.remove(), CPA_STATUS_RETRY);
    while poll(instance(RETRY), 100) == CPA_STATUS_RETRY {}
    assert!((1..=100).contains(&called.count()));
    assert_eq!(requests[512].submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
    poll_until(instance(RETRY), || called.count() == 513);
    assert_eq!(poll(instance(RETRY), 0), CPA_STATUS_RETRY);
    requests.iter().for_each(|r| r.check());
    assert_eq!(session.remove(), CPA_STATUS_SUCCESS);
    // SAFETY: a place of this function's.
    unsafe {
        let mut stats: CpaDcStats = std::mem::zeroed();
        assert_eq!(cpaDcGetStats(instance(RETRY), &raw mut stats), CPA_STATUS_SUCCESS);
        assert_eq!((stats.numCompRequests, stats.numCompCompleted), (513, 513));
        assert_eq!((stats.numCompRequestsErrors, stats.numCompCompletedErrors), (0, 0));
    }
}

#[test]
fn a_callback_submits_again_and_removes() {
    let _alone = OTHERS.read();
    /// What a callback goes on with.
    struct Chain {
        session: Held,
        request: Box<Request>,
        left: usize,
    }
    unsafe extern "C" fn again(tag: *mut c_void, status: CpaStatus) {
        assert_eq!(status, CPA_STATUS_SUCCESS);
        // SAFETY: the test's, which is polling.
        let chain = unsafe { &mut *tag.cast::<Chain>() };
        chain.request.check();
        chain.left -= 1;
        if chain.left > 0 {
            let submitted = chain.request.submit(&mut chain.session, tag);
            assert_eq!(submitted, CPA_STATUS_SUCCESS);
        } else {
            assert_eq!(chain.session.remove(), CPA_STATUS_SUCCESS);
        }
    }
    let session = Held::on(instance(NESTED), &setup(), Some(again));
    let mut chain = Chain { session, request: Request::new(text(5000)), left: 20 };
    let tag = (&raw mut chain).cast();
    assert_eq!(chain.request.submit(&mut chain.session, tag), CPA_STATUS_SUCCESS);
    // What callbacks submit is for the next poll.
    let mut polls = 0;
    let left = || {
        // SAFETY: this function's, which no callback is using now.
        unsafe { (*tag.cast::<Chain>()).left }
    };
    while left() > 0 {
        polls += usize::from(poll(instance(NESTED), 0) == CPA_STATUS_SUCCESS);
    }
    assert_eq!(polls, 20);
}

#[test]
fn a_stopped_instance_has_answered_all_and_takes_no_more() {
    let _alone = OTHERS.read();
    let called = Called::default();
    let at = instance(STOPPED);
    let mut session = Held::on(at, &setup(), Some(note));
    let mut requests: Vec<_> = (0..20).map(|_| Request::new(text(20_000))).collect();
    // SAFETY: handles.
    unsafe {
        assert_eq!(cpaDcStartInstance(at, 0, ptr::null_mut()), CPA_STATUS_SUCCESS);
        for request in &mut requests {
            assert_eq!(request.submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
        }
        assert_eq!(cpaDcStopInstance(at), CPA_STATUS_SUCCESS);
        assert_eq!(called.count(), 20);
        requests.iter().for_each(|r| r.check());
        assert_eq!(requests[0].submit(&mut session, called.tag()), CPA_STATUS_FAIL);
        let mut info: CpaInstanceInfo2 = std::mem::zeroed();
        assert_eq!(cpaDcInstanceGetInfo2(at, &raw mut info), CPA_STATUS_SUCCESS);
        assert_eq!(info.operState, CPA_OPER_STATE_DOWN);
        assert_eq!(cpaDcStartInstance(at, 0, ptr::null_mut()), CPA_STATUS_SUCCESS);
        assert_eq!(requests[0].submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
        poll_until(at, || called.count() == 21);
        let cy = DEFAULT;
        assert_eq!(cpaCyStartInstance(cy), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyStopInstance(cy), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyStartInstance(cy), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn threads_share_an_instance_and_poll_it_together() {
    let at = instance(SHARED).expose_provenance();
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for n in 0..8 {
            let answered = &answered;
            scope.spawn(move || {
                let at = ptr::with_exposed_provenance_mut(at);
                let called = Called::default();
                let mut session = Held::on(at, &setup(), Some(note));
                let mut waiting = Held::on(at, &setup(), None);
                let mut requests: Vec<_> =
                    (0..100).map(|i| Request::new(text(100 * i + n))).collect();
                for request in &mut requests {
                    while request.submit(&mut session, called.tag()) == CPA_STATUS_RETRY {
                        poll(at, 0);
                    }
                    // A call that waits, beside all the others.
                    let mut own = Request::new(text(3000));
                    assert_eq!(own.submit(&mut waiting, ptr::null_mut()), CPA_STATUS_SUCCESS);
                    own.check();
                }
                while called.count() < requests.len() {
                    poll(at, 3);
                    thread::yield_now();
                }
                requests.iter().for_each(|r| r.check());
                answered.fetch_add(called.count(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(answered.into_inner(), 800);
}

#[test]
fn a_descriptor_is_readable_when_a_poll_has_something_to_do() {
    let _alone = OTHERS.read();
    let at = instance(EVENTS);
    let kind = CPA_ACC_SVC_TYPE_DATA_COMPRESSION;
    let (mut fd, mut mode) = (-1, CPA_INST_RX_NOTIFY_NONE);
    // SAFETY: places of this function's.
    unsafe {
        assert_eq!(icp_sal_DcGetFileDescriptor(at, &raw mut fd), CPA_STATUS_UNSUPPORTED);
        let event = CPA_INST_RX_NOTIFY_BY_EVENT;
        assert_eq!(cpaInstanceSetResponseMode(at, kind, event), CPA_STATUS_SUCCESS);
        assert_eq!(cpaInstanceGetResponseMode(at, kind, &raw mut mode), CPA_STATUS_SUCCESS);
        assert_eq!(mode, event);
        assert_eq!(icp_sal_DcGetFileDescriptor(at, &raw mut fd), CPA_STATUS_SUCCESS);
        let mut again = -1;
        assert_eq!(icp_sal_DcGetFileDescriptor(at, &raw mut again), CPA_STATUS_SUCCESS);
        assert_eq!(fd, again);
        let mut data: CpaRxInterruptMetaData = std::mem::zeroed();
        let status = cpaInstanceGetRxInterruptMetaData(at, kind, &raw mut data);
        assert_eq!((status, data.coalescingTimerMaxInNs), (CPA_STATUS_SUCCESS, 0));
        assert_eq!(cpaInstanceSetIntCoalescingTimer(at, kind, 0), CPA_STATUS_SUCCESS);
        assert_eq!(cpaInstanceSetIntCoalescingTimer(at, kind, 9), CPA_STATUS_UNSUPPORTED);
    }
    let readable = |timeout| {
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure.
        unsafe { libc::poll(&raw mut poll, 1, timeout) == 1 }
    };
    let called = Called::default();
    let mut session = Held::on(at, &setup(), Some(note));
    for round in 0..5 {
        assert!(!readable(0), "round {round}");
        let mut requests: Vec<_> = (0..10).map(|_| Request::new(text(2000))).collect();
        for request in &mut requests {
            assert_eq!(request.submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
        }
        let before = called.count();
        while called.count() < before + 10 {
            assert!(readable(10_000), "{} in round {round}", called.count());
            let (seen, status) = (called.count(), poll(at, 3));
            assert_eq!(status == CPA_STATUS_SUCCESS, called.count() > seen);
            assert!(called.count() <= seen + 3);
        }
        requests.iter().for_each(|r| r.check());
        assert_eq!(poll(at, 0), CPA_STATUS_RETRY);
    }
    // SAFETY: as above; the descriptor is the library's.
    unsafe {
        assert_eq!(icp_sal_DcPutFileDescriptor(at, fd + 1000), CPA_STATUS_INVALID_PARAM);
        assert_eq!(icp_sal_DcPutFileDescriptor(at, fd), CPA_STATUS_SUCCESS);
        let none = CPA_INST_RX_NOTIFY_NONE;
        assert_eq!(cpaInstanceSetResponseMode(at, kind, none), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_DcPutFileDescriptor(at, fd), CPA_STATUS_UNSUPPORTED);
        // Of cryptography: one for both rings.
        assert_eq!(icp_sal_CyGetFileDescriptor(DEFAULT, &raw mut fd), CPA_STATUS_UNSUPPORTED);
        let (cy, event) = (CPA_ACC_SVC_TYPE_CRYPTO, CPA_INST_RX_NOTIFY_BY_EVENT);
        assert_eq!(cpaInstanceSetResponseMode(DEFAULT, cy, event), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_CyGetFileDescriptor(DEFAULT, &raw mut fd), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_CyPutFileDescriptor(DEFAULT, fd), CPA_STATUS_SUCCESS);
        assert_eq!(cpaInstanceSetResponseMode(DEFAULT, cy, none), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn a_reset_is_told_when_events_are_polled() {
    let _alone = OTHERS.write();
    static EVENTS_SEEN: std::sync::Mutex<Vec<(usize, i32)>> = std::sync::Mutex::new(Vec::new());
    unsafe extern "C" fn seen(at: CpaInstanceHandle, tag: *mut c_void, event: CpaInstanceEvent) {
        assert_eq!(tag.addr(), 5);
        EVENTS_SEEN.lock().unwrap().push((at.addr(), event.0));
    }
    let at = instance(RESET);
    let tag = ptr::without_provenance_mut(5);
    // SAFETY: handles, and functions of this test's.
    unsafe {
        assert_eq!(cpaDcInstanceSetNotificationCb(at, Some(seen), tag), CPA_STATUS_SUCCESS);
        assert_eq!(cpaCyInstanceSetNotificationCb(DEFAULT, None, tag), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_poll_device_events(), CPA_STATUS_SUCCESS);
        assert!(EVENTS_SEEN.lock().unwrap().is_empty());
        let mut info: CpaInstanceInfo2 = std::mem::zeroed();
        assert_eq!(cpaDcInstanceGetInfo2(at, &raw mut info), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_reset_device(999), CPA_STATUS_INVALID_PARAM);
        assert_eq!(icp_sal_reset_device(info.physInstId.packageId.into()), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_poll_device_events(), CPA_STATUS_SUCCESS);
        assert_eq!(*EVENTS_SEEN.lock().unwrap(), [(at.addr(), 0), (at.addr(), 1)]);
        assert_eq!(icp_sal_poll_device_events(), CPA_STATUS_SUCCESS);
        assert_eq!(EVENTS_SEEN.lock().unwrap().len(), 2);
        assert_eq!(cpaDcInstanceSetNotificationCb(at, None, tag), CPA_STATUS_SUCCESS);
    }
}

#[test]
fn a_child_goes_on_with_what_the_parent_has_begun() {
    let _alone = OTHERS.read();
    let called = Called::default();
    let at = instance(FORKED);
    let mut session = Held::on(at, &setup(), Some(note));
    let mut requests: Vec<_> = (0..10).map(|_| Request::new(text(20_000))).collect();
    for request in &mut requests {
        assert_eq!(request.submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
    }
    let before = called.count();
    // SAFETY: the child calls this library and `_exit`; other tests' threads do not exist there.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // What is in flight is the parent's; handles and sessions are this process's too.
        let mut good = poll(at, 0) == CPA_STATUS_RETRY;
        let mut own = Request::new(text(10_000));
        good &= own.submit(&mut session, called.tag()) == CPA_STATUS_SUCCESS;
        poll_until(at, || called.count() > before);
        good &= called.count() == before + 1;
        good &= own.results.status == CPA_DC_OK;
        let mut stats = std::mem::MaybeUninit::<CpaDcStats>::zeroed();
        // SAFETY: a place of this function's.
        unsafe {
            good &= cpaDcGetStats(at, stats.as_mut_ptr()) == CPA_STATUS_SUCCESS;
            good &= stats.assume_init().numCompRequests == 1;
            good &= session.remove() == CPA_STATUS_SUCCESS;
            libc::_exit(i32::from(!good));
        }
    }
    let mut status = 0;
    // SAFETY: a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    poll_until(at, || called.count() == 10);
    requests.iter().for_each(|r| r.check());
}

#[test]
fn children_of_a_parent_that_is_in_the_middle_of_calls() {
    let _alone = OTHERS.read();
    let stop = AtomicBool::new(false);
    let at = instance(BUSY).expose_provenance();
    thread::scope(|scope| {
        let stop = &stop;
        for _ in 0..2 {
            scope.spawn(move || {
                let at = ptr::with_exposed_provenance_mut(at);
                let called = Called::default();
                let mut session = Held::on(at, &setup(), Some(note));
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    let mut request = Request::new(text(3000));
                    while request.submit(&mut session, called.tag()) == CPA_STATUS_RETRY {}
                    n += 1;
                    poll_until(at, || called.count() == n);
                    request.check();
                }
            });
        }
        for _ in 0..40 {
            // SAFETY: the child calls this library and `_exit`; the other threads do not exist there.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let at = ptr::with_exposed_provenance_mut(at);
                let called = Called::default();
                let mut session = Held::on(at, &setup(), Some(note));
                let mut request = Request::new(text(10_000));
                let mut good = request.submit(&mut session, called.tag()) == CPA_STATUS_SUCCESS;
                poll_until(at, || called.count() == 1);
                let mut waiting = Held::on(at, &setup(), None);
                let mut own = Request::new(text(1000));
                good &= own.submit(&mut waiting, ptr::null_mut()) == CPA_STATUS_SUCCESS;
                good &= request.results.status == CPA_DC_OK && own.results.status == CPA_DC_OK;
                // SAFETY: ends this process.
                unsafe { libc::_exit(i32::from(!good)) };
            }
            let mut status = 0;
            // SAFETY: a child of this process.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn ten_thousand_sessions() {
    let mut sessions: Vec<_> = (0..10_000)
        .map(|n| {
            Held::new(
                &CpaDcSessionSetupData { compLevel: CpaDcCompLvl(n % 9 + 1), ..setup() },
                None,
            )
        })
        .collect();
    for n in [0, 4_999, 9_999] {
        let mut request = Request::new(text(1000));
        assert_eq!(request.submit(&mut sessions[n], ptr::null_mut()), CPA_STATUS_SUCCESS);
        request.check();
    }
    assert!(sessions.iter_mut().all(|s| s.remove() == CPA_STATUS_SUCCESS));
}

#[test]
fn packages_are_polled_as_a_whole() {
    let _alone = OTHERS.write();
    let called = Called::default();
    let mut session = Held::on(instance(0), &setup(), Some(note));
    let mut request = Request::new(text(1000));
    // SAFETY: handles.
    unsafe {
        assert_eq!(icp_sal_pollAllBanks(999, 0), CPA_STATUS_INVALID_PARAM);
        for poll in [
            (|| icp_sal_pollAllBanks(0, 0)) as unsafe fn() -> CpaStatus,
            || icp_sal_pollBank(0, 0, 0),
            || icp_sal_DcPollDpInstance(DEFAULT, 0),
        ] {
            let before = called.count();
            assert_eq!(request.submit(&mut session, called.tag()), CPA_STATUS_SUCCESS);
            while called.count() == before {
                poll();
            }
            request.check();
        }
        let cy = [
            icp_sal_CyPollInstance(DEFAULT, 0),
            icp_sal_CyPollSymRing(DEFAULT, 0),
            icp_sal_CyPollAsymRing(DEFAULT, 0),
            icp_sal_CyPollDpInstance(DEFAULT, 0),
        ];
        assert_eq!(cy, [CPA_STATUS_RETRY; 4]);
        assert_eq!(icp_sal_CyPollInstance(instance(0), 0), CPA_STATUS_INVALID_PARAM);
    }
}

#[test]
fn the_same_with_engines() {
    again_with_engines("the_same_with_engines");
}
