//! Sleeping and waking. [`Doorbell`] wakes engines that sleep; [`Notice`] wakes the thread that
//! waits for replies of one instance. Both cost a fence and a load when nobody sleeps.
//!
//! Lost wake-ups are excluded the same way in both: the sleeper announces itself, fences, and
//! looks once more before it sleeps; the waker publishes, fences, and looks for an announcement.
//! Of two sequentially consistent fences one comes first, so at least one side sees the other.

use core::time::Duration;
use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::OnceLock,
};

use crate::{
    event::{self, Event},
    sync::{AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, fence},
};

/// Wakes engines.
pub(crate) struct Doorbell {
    /// Announced sleepers that no ring has claimed yet.
    sleepers: AtomicUsize,
    /// Wake-ups granted and not yet taken.
    granted: Mutex<usize>,
    bell: Condvar,
    /// Signalled with the bell, for sleepers that wait for file descriptors too.
    event: OnceLock<Event>,
}

impl Doorbell {
    pub(crate) fn new() -> Doorbell {
        Doorbell {
            sleepers: AtomicUsize::new(0),
            granted: Mutex::new(0),
            bell: Condvar::new(),
            event: OnceLock::new(),
        }
    }

    /// Wakes one engine, if any sleeps: returns whether one does. Whatever it is to see was published
    /// before this call.
    pub(crate) fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        self.sleepers.load(Ordering::Relaxed) > 0 && self.grant()
    }

    #[cold]
    fn grant(&self) -> bool {
        let Ok(mut granted) = self.granted.lock() else { return false };
        // Under the lock only announcements can change `sleepers`, and they only add.
        let sleeps = self.sleepers.load(Ordering::Relaxed) > 0;
        if sleeps {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            *granted += 1;
            self.bell.notify_one();
            if let Some(event) = self.event.get() {
                event.signal();
            }
        }
        sleeps
    }

    /// Wakes all engines that sleep.
    pub(crate) fn ring_all(&self) {
        fence(Ordering::SeqCst);
        while self.sleepers.load(Ordering::Relaxed) > 0 && self.grant() {
            core::hint::spin_loop();
        }
    }

    /// Announces a sleeper. It must look for work once more, then call [`Doorbell::sleep`] or
    /// [`Doorbell::stay_awake`].
    pub(crate) fn announce(&self) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Takes an announcement back.
    pub(crate) fn stay_awake(&self) {
        if let Ok(mut granted) = self.granted.lock() {
            self.retract(&mut granted);
        }
    }

    /// Sleeps until rung, or until `timeout` has passed.
    pub(crate) fn sleep(&self, timeout: Option<Duration>) {
        let Ok(mut granted) = self.granted.lock() else { return };
        while *granted == 0 {
            granted = match timeout {
                None => match self.bell.wait(granted) {
                    Ok(g) => g,
                    Err(_) => return,
                },
                Some(t) => match self.bell.wait_timeout(granted, t) {
                    Ok((g, late)) if late.timed_out() => {
                        let mut g = g;
                        return self.retract(&mut g);
                    }
                    Ok((g, _)) => g,
                    Err(_) => return,
                },
            };
        }
        *granted -= 1;
    }

    /// As [`Doorbell::sleep`], or until one of these file descriptors is readable.
    pub(crate) fn sleep_with<'a>(
        &'a self,
        fds: impl Iterator<Item = BorrowedFd<'a>>,
        timeout: Option<Duration>,
    ) {
        if self.event.get().is_none()
            && let Ok(event) = Event::new(None::<core::iter::Empty<_>>)
        {
            let _ = self.event.set(event);
        }
        let Some(event) = self.event.get() else {
            // No file descriptor is left: look again soon.
            return self.sleep(Some(Duration::from_micros(50)));
        };
        // A grant before the event was made, or one that another sleeper cleared, is seen here; one
        // behind this look signals the event.
        let granted = || self.granted.lock().map_or(1, |granted| *granted);
        if granted() == 0 {
            event::await_any(Some(event.as_fd()), fds, timeout);
        }
        let Ok(mut granted) = self.granted.lock() else { return };
        self.retract(&mut granted);
        if *granted == 0 {
            event.clear();
        }
    }

    /// Announced = claimed by nobody (`sleepers`) + granted; take one of either.
    fn retract(&self, granted: &mut usize) {
        if *granted > 0 {
            *granted -= 1;
        } else {
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Tells the owner of an instance that replies are there: a blocked thread, or an event fd.
pub(crate) struct Notice {
    /// The position of the reply ring that the waiting thread wants to see reached, plus 1; 0 when
    /// nobody waits.
    wanted: AtomicU64,
    told: Mutex<bool>,
    bell: Condvar,
    /// 1 when the event fd is to be signalled at the next reply.
    fd_armed: AtomicU64,
    fd: OnceLock<Event>,
}

impl Notice {
    pub(crate) fn new() -> Notice {
        Notice {
            wanted: AtomicU64::new(0),
            told: Mutex::new(false),
            bell: Condvar::new(),
            fd_armed: AtomicU64::new(0),
            fd: OnceLock::new(),
        }
    }

    /// Replies were sent, and this is the position behind the last.
    pub(crate) fn replies_sent(&self, sent: impl Fn() -> usize) {
        fence(Ordering::SeqCst);
        let wanted = self.wanted.load(Ordering::Relaxed);
        if wanted != 0 && reached(sent(), wanted) {
            self.wake(wanted);
        }
        self.signal_fd();
    }

    /// Wakes the owner, whichever position it waits for: something else has happened than a reply. It
    /// was published before this call, and the `sent` of [`Notice::wait`] looks at it too.
    pub(crate) fn rouse(&self) {
        fence(Ordering::SeqCst);
        let wanted = self.wanted.load(Ordering::Relaxed);
        if wanted != 0 {
            self.wake(wanted);
        }
        self.signal_fd();
    }

    /// Wakes the thread that waits for this, if it still does.
    fn wake(&self, wanted: u64) {
        if self.wanted.compare_exchange(wanted, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            && let Ok(mut told) = self.told.lock()
        {
            *told = true;
            self.bell.notify_one();
        }
    }

    /// Signals the event fd if it is armed.
    pub(crate) fn signal_fd(&self) {
        if self.fd_armed.load(Ordering::Relaxed) != 0
            && self.fd_armed.swap(0, Ordering::AcqRel) != 0
            && let Some(fd) = self.fd.get()
        {
            fd.signal();
        }
    }

    /// Signals the event fd, if it is armed, after this time; at once where it knows no times.
    pub(crate) fn signal_fd_after(&self, delay: Duration) {
        // It stays armed: what comes before that time signals it too.
        let timed = self.fd_armed.load(Ordering::Relaxed) != 0
            && self.fd.get().is_some_and(|fd| fd.signal_after(delay));
        if !timed {
            self.signal_fd();
        }
    }

    /// Waits until the reply ring has reached `position`, or until `timeout` has passed.
    pub(crate) fn wait(&self, position: usize, sent: impl Fn() -> usize, timeout: Duration) {
        let wanted = (position as u64).wrapping_add(1).max(1);
        if let Ok(mut told) = self.told.lock() {
            *told = false;
        }
        self.wanted.store(wanted, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !reached(sent(), wanted)
            && let Ok(mut told) = self.told.lock()
        {
            while !*told {
                match self.bell.wait_timeout(told, timeout) {
                    Ok((g, late)) => {
                        told = g;
                        if late.timed_out() {
                            break;
                        }
                    }
                    Err(_) => break,
                }
            }
        }
        self.wanted.store(0, Ordering::Relaxed);
    }

    /// The event fd, made at the first call; with `sources`, it can be signalled at times, and is
    /// readable when one of them is.
    pub(crate) fn fd<'a>(
        &self,
        sources: Option<impl Iterator<Item = BorrowedFd<'a>>>,
    ) -> Result<&Event, rustix::io::Errno> {
        if self.fd.get().is_none() {
            let _ = self.fd.set(Event::new(sources)?);
        }
        self.fd.get().ok_or(rustix::io::Errno::BADF)
    }

    /// Whether the event fd is in use.
    pub(crate) fn has_fd(&self) -> bool {
        self.fd.get().is_some()
    }

    /// Nobody listens any more: the event fd stays silent.
    pub(crate) fn disarm_fd(&self) {
        self.fd_armed.store(0, Ordering::SeqCst);
        if let Some(fd) = self.fd.get() {
            fd.clear();
        }
    }

    /// Empties the event fd and has it signalled at the next reply. Look for replies once more
    /// after this.
    pub(crate) fn arm_fd(&self) {
        if let Some(fd) = self.fd.get() {
            // Emptied before it is armed: afterwards, this could take away the signal for a reply
            // that the look below does not see yet (one behind a reply that is still being sent).
            fd.clear();
            self.fd_armed.store(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }
}

/// Whether `sent` is at or past the position that `wanted` stands for. Positions wrap.
fn reached(sent: usize, wanted: u64) -> bool {
    (sent as u64).wrapping_sub(wanted - 1).cast_signed() >= 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{sync::Arc, thread, time::Instant};

    #[test]
    fn a_ring_wakes_a_sleeper_and_a_ring_before_the_sleep_is_not_lost() {
        let bell = Arc::new(Doorbell::new());
        bell.announce();
        bell.ring();
        bell.sleep(None);

        let b = bell.clone();
        let t = thread::spawn(move || {
            b.announce();
            b.sleep(None);
        });
        while !t.is_finished() {
            bell.ring();
            thread::yield_now();
        }
        t.join().unwrap();
        bell.announce();
        bell.stay_awake();
        bell.announce();
        let start = Instant::now();
        bell.sleep(Some(Duration::from_millis(5)));
        assert!(start.elapsed() >= Duration::from_millis(4));
        assert_eq!(bell.sleepers.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn positions_wrap() {
        assert!(reached(5, 6) && reached(6, 6) && !reached(4, 6));
        assert!(reached(0, (usize::MAX as u64).wrapping_add(1).max(1)));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};

    /// Were a wake-up lost, the sleeper would block forever and loom would report the deadlock.
    #[test]
    fn no_ring_is_lost() {
        loom::model(|| {
            let shared = Arc::new((Doorbell::new(), AtomicUsize::new(0)));
            let s = shared.clone();
            let t = thread::spawn(move || {
                let (bell, work) = &*s;
                bell.announce();
                if work.load(Ordering::Relaxed) == 0 {
                    bell.sleep(None);
                    assert_eq!(work.load(Ordering::Relaxed), 1);
                } else {
                    bell.stay_awake();
                }
            });
            shared.1.store(1, Ordering::Relaxed);
            shared.0.ring();
            t.join().unwrap();
            assert_eq!(shared.0.sleepers.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn no_notice_is_lost() {
        loom::model(|| {
            let shared = Arc::new((Notice::new(), AtomicUsize::new(0)));
            let s = shared.clone();
            let t = thread::spawn(move || {
                let (notice, sent) = &*s;
                sent.store(1, Ordering::Relaxed);
                notice.replies_sent(|| sent.load(Ordering::Relaxed));
            });
            let (notice, sent) = &*shared;
            notice.wait(1, || sent.load(Ordering::Relaxed), Duration::from_secs(3600));
            t.join().unwrap();
        });
    }
}
