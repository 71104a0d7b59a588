//! Instances, and the synchronous call.
#![allow(unsafe_code)]

use core::{ffi::c_int, mem, time::Duration};
use std::os::fd::AsRawFd;

use lookaside::{Instance, InstanceConfig, Priority, Sla, Unit};

use crate::{
    pointer::{Entered, Exclusive, In, Kind, Lent, Out, Owned, Shut},
    request::{la_request, la_response},
    runtime::la_runtime,
    settings::Settings,
    status::{LA_OK, NoWayBack, Refusal, enter},
};

/// An instance, as C holds it.
pub struct la_instance(Exclusive<Instance>);

impl Kind for la_instance {
    const MARK: (u32, &'static str) = (u32::from_be_bytes(*b"LAin"), "la_instance");
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_instance_options {
    pub size: usize,
    pub depth: u32,
    pub weight: u32,
    pub committed_per_s: u64,
    pub peak_per_s: u64,
    pub burst: u64,
    pub max_request: u64,
    pub unit: c_int,
    pub priority: c_int,
    pub spill: u32,
    pub reserved: u32,
}

// SAFETY: repr(C), the size first, integers.
unsafe impl Settings for la_instance_options {
    const DEFAULT: Self = la_instance_options {
        size: size_of::<Self>(),
        depth: 0,
        weight: 0,
        committed_per_s: 0,
        peak_per_s: 0,
        burst: 0,
        max_request: 0,
        unit: 0,
        priority: 0,
        spill: 0,
        reserved: 0,
    };
}

impl la_instance_options {
    fn config(&self) -> Result<InstanceConfig, Refusal> {
        let mut config = InstanceConfig::default();
        if self.depth != 0 {
            config.depth = self.depth as usize;
        }
        if self.weight != 0 {
            config.weight = self.weight;
        }
        config.spill = self.spill as usize;
        if self.reserved != 0 {
            return Err(Refusal::Invalid("the reserved field"));
        }
        config.priority = match self.priority {
            0 => Priority::Normal,
            1 => Priority::High,
            2 => Priority::Background,
            _ => return Err(Refusal::Invalid("the priority")),
        };
        let (unit, largest) = match self.unit {
            0 => (Unit::Bytes, 65_536),
            1 => (Unit::Operations, 1),
            2 => (Unit::DeviceTime, 1_000_000),
            _ => return Err(Refusal::Invalid("the unit of a rate")),
        };
        if self.committed_per_s != 0 || self.peak_per_s != 0 {
            let largest = if self.max_request == 0 { largest } else { self.max_request };
            let mut sla = Sla::of(unit, self.committed_per_s, self.peak_per_s, largest);
            if self.burst != 0 {
                sla.burst = self.burst;
            }
            config.slas.push(sla);
        } else if self.burst != 0 {
            return Err(Refusal::Invalid("a burst without a rate"));
        }
        Ok(config)
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_open(
    runtime: Lent<la_runtime>,
    options: In<la_instance_options>,
    instance: Out<Owned<la_instance>>,
) -> c_int {
    enter(|| {
        instance.check(1)?;
        // SAFETY: checked; one pointer.
        unsafe { instance.write(0, Owned::NULL) };
        // SAFETY: the header asks for an object that lives, and for null or a structure of the size
        // that it begins with.
        let (runtime, options) = unsafe { (runtime.lent()?, options.settings()?) };
        let opened = runtime.0.instance(options.config()?)?;
        // SAFETY: checked above.
        unsafe { instance.write(0, Owned::new(la_instance(Exclusive::new(opened)))) };
        Ok(LA_OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_open_another(
    of: Lent<la_instance>,
    instance: Out<Owned<la_instance>>,
) -> c_int {
    if let Err(refusal) = instance.check(1) {
        return enter(|| Err(refusal));
    }
    // SAFETY: checked; one pointer.
    unsafe { instance.write(0, Owned::NULL) };
    let body = |i: &mut Entered<'_, Instance>| {
        let opened = la_instance(Exclusive::new(i.another()?));
        // SAFETY: checked above.
        unsafe { instance.write(0, Owned::new(opened)) };
        Ok(LA_OK)
    };
    // SAFETY: as the header has it.
    unsafe { inside(&of, body) }
}

/// Runs `body` as the only thread inside an instance.
unsafe fn inside(
    instance: &Lent<la_instance>,
    body: impl FnOnce(&mut Entered<'_, Instance>) -> Result<c_int, Refusal>,
) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let cell = unsafe { &instance.lent()?.0 };
        // SAFETY: `another` uses the runtime and the settings, which never change.
        body(&mut unsafe { cell.enter_or(|orphan| Ok(orphan.another()?)) }?)
    })
}

/// A count of requests: at most the greatest depth and what spills.
fn count(n: usize) -> Result<c_int, Refusal> {
    Ok(c_int::try_from(n).unwrap_or(c_int::MAX))
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_free_slots(instance: Lent<la_instance>) -> c_int {
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| count(i.free())) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_outstanding(instance: Lent<la_instance>) -> c_int {
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| count(i.outstanding())) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_push(
    instance: Lent<la_instance>,
    request: In<la_request>,
) -> c_int {
    let body = |i: &mut Entered<'_, Instance>| {
        // SAFETY: the header asks for a request, and for what `request` relies on.
        let request = unsafe { request.one()?.request() }?;
        i.push(request).map_err(|_| Refusal::Full)?;
        Ok(LA_OK)
    };
    // SAFETY: as the header has it.
    unsafe { inside(&instance, body) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_push_within(
    instance: Lent<la_instance>,
    request: In<la_request>,
    time_ns: u64,
) -> c_int {
    let body = |i: &mut Entered<'_, Instance>| {
        // SAFETY: the header asks for a request, and for what `request` relies on.
        let request = unsafe { request.one()?.request() }?;
        i.push_within(Duration::from_nanos(time_ns), request).map_err(|_| Refusal::Full)?;
        Ok(LA_OK)
    };
    // SAFETY: as the header has it.
    unsafe { inside(&instance, body) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_cancel(instance: Lent<la_instance>, tag: u64) -> c_int {
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| count(i.cancel(tag))) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_doorbell(instance: Lent<la_instance>) -> c_int {
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| count(i.doorbell())) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_poll(
    instance: Lent<la_instance>,
    responses: Out<la_response>,
    n: usize,
) -> c_int {
    let body = |i: &mut Entered<'_, Instance>| {
        responses.check(n)?;
        let mut taken = 0;
        for response in i.poll().take(n) {
            // SAFETY: checked, and `taken` is less than `n`.
            unsafe { responses.write(taken, response.into()) };
            taken += 1;
        }
        count(taken)
    };
    // SAFETY: as the header has it.
    unsafe { inside(&instance, body) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_wait(
    instance: Lent<la_instance>,
    count: usize,
    timeout_ns: u64,
) -> c_int {
    let timeout = Duration::from_nanos(timeout_ns);
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| Ok(c_int::from(i.wait_many(count.max(1), timeout)))) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_event_fd(instance: Lent<la_instance>) -> c_int {
    // SAFETY: as the header has it.
    unsafe { inside(&instance, |i| Ok(i.event_fd()?.as_raw_fd())) }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_instance_close(instance: Owned<la_instance>) -> c_int {
    enter(|| {
        let lent = instance.lend();
        // SAFETY: the header asks for an object that lives.
        let cell = unsafe { &lent.lent()?.0 };
        match cell.enter() {
            // Left shut: nobody comes in any more.
            Ok(inside) => mem::forget(inside),
            Err(Shut::Broken) => {}
            Err(Shut::Busy) => return Err(Refusal::Busy),
            Err(Shut::Orphaned) => {
                // SAFETY: it lives, and no thread of this process is inside.
                unsafe { instance.leave() };
                return Ok(LA_OK);
            }
        }
        // Were this to panic, lent memory might stay in use after the caller has it back.
        let no_way_back = NoWayBack;
        // SAFETY: it lives, and no other thread is inside.
        drop(unsafe { instance.take() }?);
        mem::forget(no_way_back);
        Ok(LA_OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_call(
    runtime: Lent<la_runtime>,
    request: In<la_request>,
    response: Out<la_response>,
) -> c_int {
    enter(|| {
        response.check(1)?;
        // SAFETY: the header asks for an object that lives.
        let handle = unsafe { runtime.lent() }?.0.handle();
        // SAFETY: the header asks for a request, and for what `request` relies on; the memory is
        // ours until this function returns, which is after the response.
        let request = unsafe { request.one()?.request() }?;
        let no_way_back = NoWayBack;
        let answer = handle.call(request).wait();
        mem::forget(no_way_back);
        // SAFETY: checked above.
        unsafe { response.write(0, answer.into()) };
        Ok(LA_OK)
    })
}
