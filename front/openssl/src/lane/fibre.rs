//! The `ASYNC_JOB` that the caller runs in, and its `ASYNC_WAIT_CTX`.
//!
//! What an application waits on is one eventfd per wait context, made at the first pause and kept
//! there until the wait context goes, under the address of a static as key:
//!
//! * never shared: an event loop that finds one number in two connections aborts (HAProxy), as one
//!   does that is handed an fd without the job pausing, or loses one while it waits. So the fd is
//!   set last before the first pause, and never cleared;
//! * never one too many: the kernel refuses when the process has no more, and so do we before, at
//!   three quarters of the limit. The operation then runs at once;
//! * readable from the start and never read with 0 engines: it says "come back when you have
//!   served the others", and costs no system call per operation. With engines, it is readable when
//!   the result is there, and read by the job.
//!
//! An application that has set a callback (`ASYNC_WAIT_CTX_set_callback`) gets calls instead. Its wait
//! context has an entry of ours all the same, with the number -1 (`OSSL_BAD_ASYNC_FD`): the only way to
//! learn that a wait context goes.
#![allow(unsafe_code)]

use core::{
    cell::UnsafeCell,
    ffi::{c_int, c_void},
    ops::{Deref, DerefMut},
    ptr,
    time::Duration,
};
use std::{
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    task::Wake,
    thread,
};

use lookaside::fork_generation;

use crate::{
    dispatch::wall,
    ffi::{
        ASYNC_STATUS_OK, ASYNC_WAIT_CTX_get_callback, ASYNC_WAIT_CTX_get_fd,
        ASYNC_WAIT_CTX_set_status, ASYNC_WAIT_CTX_set_wait_fd, ASYNC_get_current_job,
        ASYNC_get_wait_ctx, ASYNC_pause_job, AsyncCallback, WaitCtx,
    },
    lane::Outstanding,
};

/// How the application is told to resume a job: by a call, or else by the fd, or not at all when the
/// wait context is gone.
#[derive(Default)]
struct Bell {
    fd: Option<OwnedFd>,
    call: Option<Callback>,
}

/// The application's callback with its argument.
#[derive(Clone, Copy)]
struct Callback(AsyncCallback, *mut c_void);

// SAFETY: an application that sets a callback allows the call from any thread.
unsafe impl Send for Callback {}

/// Rings from any thread: for engines.
///
/// Its lock is no `Mutex`: an engine that rings while another thread forks does not exist in the child, where
/// the job may be resumed and the wait context freed all the same. There the lock is taken over: an engine
/// only reads what it protects.
pub(super) struct Ringer {
    /// 0, or the [`fork_generation`] of the process whose thread is inside.
    holder: AtomicU32,
    bell: UnsafeCell<Bell>,
}

// SAFETY: the bell, which may be sent, is used by one thread of a process at a time (`bell`).
unsafe impl Sync for Ringer {}

impl Ringer {
    fn new(bell: Bell) -> Ringer {
        Ringer { holder: AtomicU32::new(0), bell: UnsafeCell::new(bell) }
    }

    /// The bell, locked for the length of a system call at most.
    fn bell(&self) -> LockedBell<'_> {
        let here = fork_generation();
        let mut turns = 0;
        loop {
            let holder = self.holder.load(Relaxed);
            if holder != here
                && self.holder.compare_exchange(holder, here, Acquire, Relaxed).is_ok()
            {
                return LockedBell(self);
            }
            turns += 1;
            match turns < 100 {
                true => thread::yield_now(),
                false => thread::sleep(Duration::from_micros(50)),
            }
        }
    }

    fn ring(&self) {
        let bell = self.bell();
        if let Some(Callback(callback, argument)) = bell.call {
            // Unlocked: it may free the wait context.
            drop(bell);
            // SAFETY: the application's callback with its argument.
            unsafe { callback(argument) };
        } else if let Some(fd) = &bell.fd {
            let one = 1u64;
            // SAFETY: eight bytes to an eventfd of ours. It cannot be full: it is read after each
            // pause.
            unsafe { libc::write(fd.as_raw_fd(), ptr::from_ref(&one).cast(), 8) };
        }
    }

    fn silence(&self) {
        let bell = self.bell();
        if let (None, Some(fd)) = (&bell.call, &bell.fd) {
            let mut count = 0u64;
            // SAFETY: eight bytes from an eventfd of ours, which does not block.
            unsafe { libc::read(fd.as_raw_fd(), ptr::from_mut(&mut count).cast(), 8) };
        }
    }
}

struct LockedBell<'a>(&'a Ringer);

impl Deref for LockedBell<'_> {
    type Target = Bell;

    fn deref(&self) -> &Bell {
        // SAFETY: this thread has the lock.
        unsafe { &*self.0.bell.get() }
    }
}

impl DerefMut for LockedBell<'_> {
    fn deref_mut(&mut self) -> &mut Bell {
        // SAFETY: this thread has the lock, and this is the one way to the bell.
        unsafe { &mut *self.0.bell.get() }
    }
}

impl Drop for LockedBell<'_> {
    fn drop(&mut self) {
        self.0.holder.store(0, Release);
    }
}

impl Wake for Ringer {
    fn wake(self: std::sync::Arc<Self>) {
        self.ring();
    }
}

/// What we keep in a wait context.
pub(super) struct Record {
    /// Whether the fd is readable from the start, and never read.
    always_ready: bool,
    ringer: std::sync::Arc<Ringer>,
    /// One for each job of the wait context that is paused, and those that were taken since.
    outstanding: Mutex<Vec<Outstanding>>,
}

static KEY: u8 = 0;

fn key() -> *const c_void {
    ptr::from_ref(&KEY).cast()
}

unsafe extern "C" fn cleanup(
    _ctx: *mut WaitCtx,
    _key: *const c_void,
    _fd: c_int,
    record: *mut c_void,
) {
    // SAFETY: the record of `attach`, which OpenSSL gives back once.
    let record = unsafe { Box::from_raw(record.cast::<Record>()) };
    wall(|| {
        // The fd is closed here, even if an engine still holds the ringer.
        *record.ringer.bell() = Bell::default();
        drop(record);
    });
}

/// The job that the caller runs in.
pub(super) struct Fibre {
    wait: *mut WaitCtx,
}

/// A wait context that is ready for a pause.
pub(super) struct Attached {
    record: *const Record,
    /// Whether its fd is one that the application has not seen yet.
    fresh: bool,
}

impl Fibre {
    /// The job that the caller runs in, if it runs in one.
    pub(super) fn current() -> Option<Fibre> {
        // SAFETY: no arguments.
        let job = unsafe { ASYNC_get_current_job() };
        if job.is_null() {
            return None;
        }
        // SAFETY: the current job has a wait context for as long as it runs.
        let wait = unsafe { ASYNC_get_wait_ctx(job) };
        (!wait.is_null()).then_some(Fibre { wait })
    }

    /// Prepares the wait context: the caller pauses next. `None` when there is no file descriptor
    /// to be had, or another provider of ours has prepared it otherwise.
    pub(super) fn attach(&self, always_ready: bool) -> Option<Attached> {
        let call = self.callback();
        let (mut fd, mut record) = (-1, ptr::null_mut());
        // SAFETY: the wait context of the running job; room for both results.
        let has = unsafe { ASYNC_WAIT_CTX_get_fd(self.wait, key(), &mut fd, &mut record) };
        if has == 1 {
            let record: *const Record = record.cast_const().cast();
            // SAFETY: what stands under our key is a record of ours.
            let ours = unsafe { &*record };
            let mut bell = ours.ringer.bell();
            bell.call = call;
            let suits = call.is_some() || bell.fd.is_some() && ours.always_ready == always_ready;
            return suits.then_some(Attached { record, fresh: false });
        }
        let fd = if call.is_some() { None } else { Some(event_fd(always_ready)?) };
        let number = fd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let record = Box::into_raw(Box::new(Record {
            always_ready,
            ringer: std::sync::Arc::new(Ringer::new(Bell { fd, call })),
            outstanding: Mutex::default(),
        }));
        // SAFETY: the wait context of the running job; the record lives until `cleanup`.
        let set = unsafe {
            ASYNC_WAIT_CTX_set_wait_fd(self.wait, key(), number, record.cast(), Some(cleanup))
        };
        if set != 1 {
            // SAFETY: not handed over.
            drop(unsafe { Box::from_raw(record) });
            return None;
        }
        Some(Attached { record, fresh: number >= 0 })
    }

    /// The callback that the application has set.
    fn callback(&self) -> Option<Callback> {
        let mut callback = None;
        let mut argument = ptr::null_mut();
        // SAFETY: the wait context of the running job; room for both results.
        let has = unsafe { ASYNC_WAIT_CTX_get_callback(self.wait, &mut callback, &mut argument) };
        callback.filter(|_| has == 1).map(|callback| Callback(callback, argument))
    }
}

impl Attached {
    fn record(&self) -> &Record {
        // SAFETY: the wait context, and with it the record, is there while its job runs; after a pause,
        // as long as something is left in it (`silence`).
        unsafe { &*self.record }
    }

    /// Leaves what is outstanding in the wait context: it is dropped with it, and so learns that its
    /// job is never resumed; when it is not awaited any more, with the next one that is left.
    pub(super) fn leave(&self, outstanding: Outstanding) {
        let place = &self.record().outstanding;
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let over: Vec<_> = place.extract_if(.., |other| !other.is_awaited()).collect();
        place.push(outstanding);
        drop(place);
        drop(over);
    }

    /// Takes back that the fd is readable, after a job was resumed whose operation is still left
    /// here; not as long as other jobs of the wait context wait, who may have been rung for. `own`
    /// is 1 while the job's own operation is awaited, or else 0.
    pub(super) fn silence(&self, own: usize) {
        // What is left here is there, and so is the record.
        let record = self.record();
        let place = record.outstanding.lock().unwrap_or_else(PoisonError::into_inner);
        if place.iter().filter(|operation| operation.is_awaited()).count() <= own {
            record.ringer.silence();
        }
    }

    /// Whether the application has not seen its fd yet: the job must pause, or the application's
    /// table of fds will lack one that the wait context has.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// What rings from another thread.
    pub(super) fn ringer(&self) -> std::sync::Arc<Ringer> {
        self.record().ringer.clone()
    }
}

/// Pauses the job. Returns when it is resumed, perhaps by another thread; `false` at once when it
/// cannot be paused. With `knock`, an application with a callback is called first: the job may be
/// resumed whenever the application has time for it.
///
/// Never inlined, and nothing of the thread's own is used here after the pause: the compiler may
/// know an address of it from before.
#[inline(never)]
pub(super) fn pause(knock: bool) -> bool {
    let Some(fibre) = Fibre::current() else { return false };
    let callback = fibre.callback();
    // SAFETY: the wait context of the running job, and the application's callback.
    unsafe {
        if let Some(Callback(callback, argument)) = callback {
            ASYNC_WAIT_CTX_set_status(fibre.wait, ASYNC_STATUS_OK);
            if knock {
                callback(argument);
            }
        }
        ASYNC_pause_job() == 1
    }
}

/// Has the application resume the job at once.
pub(super) fn ring(ringer: &Ringer) {
    ringer.ring();
}

/// A new eventfd, unless the process has almost as many files open as it may.
fn event_fd(ready: bool) -> Option<OwnedFd> {
    /// Three quarters of the limit; it may change, so it is asked for every 64th time.
    static MOST: AtomicU64 = AtomicU64::new(0);
    static MADE: AtomicU64 = AtomicU64::new(0);
    if MADE.fetch_add(1, Relaxed).is_multiple_of(64) {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: room for the answer.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
        MOST.store(if known { limit.rlim_cur / 4 * 3 } else { u64::MAX }, Relaxed);
    }
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::eventfd(u32::from(ready), libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new fd that nobody else has.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    ((fd.as_raw_fd() as u64) < MOST.load(Relaxed)).then_some(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_parents_thread_is_taken_over() {
        let ringer = Ringer::new(Bell::default());
        ringer.holder.store(fork_generation() + 1, Relaxed);
        drop(ringer.bell());
        assert_eq!(ringer.holder.load(Relaxed), 0);
    }

    #[test]
    fn one_thread_at_a_time() {
        let ringer = Ringer::new(Bell { fd: event_fd(false), call: None });
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let bell = ringer.bell();
                        assert_eq!(inside.swap(1, Relaxed), 0);
                        assert!(bell.fd.is_some());
                        inside.store(0, Relaxed);
                    }
                });
            }
        });
    }
}
