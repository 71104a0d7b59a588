//! Starting and stopping a runtime.
#![allow(unsafe_code)]

use core::{ffi::c_int, time::Duration};

use lookaside::{Builder, Device as _, Op, Route, RouteEntry, Runtime};
use lookaside_shared::SharedDevice;

use crate::{
    pointer::{In, Kind, Lent, Out, Owned},
    settings::{Settings, reserved},
    status::{LA_OK, Refusal, enter},
};

/// A runtime, as C holds it.
pub struct la_runtime(pub(crate) Runtime);

impl Kind for la_runtime {
    const MARK: (u32, &'static str) = (u32::from_be_bytes(*b"LArt"), "la_runtime");
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_runtime_options {
    pub size: usize,
    pub cpus: *const i32,
    pub cpu_count: usize,
    pub batch_deadline_ns: u64,
    pub engines: i32,
    pub reserved: u32,
}

/// `LA_DEFAULT_NS`.
const DEFAULT_NS: u64 = u64::MAX;
/// `LA_ENGINES_AUTO`.
const AUTO: i32 = -1;
const MOST_CPUS: usize = 1024;

// SAFETY: repr(C), the size first, integers and a pointer.
unsafe impl Settings for la_runtime_options {
    const DEFAULT: Self = la_runtime_options {
        size: size_of::<Self>(),
        cpus: core::ptr::null(),
        cpu_count: 0,
        batch_deadline_ns: DEFAULT_NS,
        engines: AUTO,
        reserved: 0,
    };
}

/// The devices: the machine's, where the environment names it, and the CPU.
fn builder() -> Builder {
    /// Below, what a compression takes is no more than the way to the server and back.
    const LEAST: usize = 16 << 10;
    let Some(shared) = SharedDevice::drop_in() else {
        return Runtime::builder().device(lookaside_cpu::cpu());
    };
    let offered =
        [Op::Compress, Op::Decompress].into_iter().filter(|op| shared.best_batch(*op) > 0);
    let offered: Vec<Op> = offered.collect();
    let entry = |device: &str, min_bytes, why: &str| RouteEntry {
        device: device.into(),
        min_bytes,
        why: why.into(),
    };
    let route = |op| Route {
        op,
        entries: vec![
            entry("shared", LEAST, "the device of the machine (LOOKASIDE_DEVICE)"),
            entry("cpu", 0, "takes what is small, and over when the one before fails"),
        ],
    };
    let builder = Runtime::builder().device(shared).device(lookaside_cpu::cpu());
    offered.into_iter().map(route).fold(builder, Builder::route)
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_runtime_start(
    options: In<la_runtime_options>,
    runtime: Out<Owned<la_runtime>>,
) -> c_int {
    enter(|| {
        runtime.check(1)?;
        // SAFETY: checked; one pointer.
        unsafe { runtime.write(0, Owned::NULL) };
        // SAFETY: the header asks for null or a structure of the size that it begins with.
        let o = unsafe { options.settings() }?;
        reserved(o.reserved == 0)?;
        let mut builder = builder();
        if o.engines != AUTO {
            let engines = usize::try_from(o.engines)
                .map_err(|_| Refusal::Limit("the number of engines is negative"))?;
            builder = builder.engines(engines);
        }
        if o.batch_deadline_ns != DEFAULT_NS {
            builder = builder.batch_deadline(Duration::from_nanos(o.batch_deadline_ns));
        }
        if o.cpu_count > MOST_CPUS {
            return Err(Refusal::Limit("more than 1024 CPUs"));
        }
        let cpus = In::raw(o.cpus);
        // SAFETY: the header asks for as many CPUs as it says.
        let cpus = unsafe { cpus.many(o.cpu_count) }?;
        let cpus: Vec<usize> = cpus.iter().filter_map(|&c| usize::try_from(c).ok()).collect();
        if cpus.len() < o.cpu_count {
            return Err(Refusal::Limit("the number of a CPU is negative"));
        }
        let started = builder.pin_to(&cpus).start()?;
        // SAFETY: checked above.
        unsafe { runtime.write(0, Owned::new(la_runtime(started))) };
        Ok(LA_OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_runtime_engines(runtime: Lent<la_runtime>) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives.
        let engines = unsafe { runtime.lent() }?.0.engines();
        Ok(engines as c_int)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_runtime_stop(runtime: Owned<la_runtime>) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives and that no other thread is using.
        drop(unsafe { runtime.take() }?);
        Ok(LA_OK)
    })
}
