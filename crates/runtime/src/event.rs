//! The file descriptor that an application's event loop waits on.
//!
//! An eventfd, as long as somebody else says when there is something to do. An instance that executes
//! its own requests must also come back at a time, or when a device has finished something, if it has a
//! peak rate or an asynchronous device: its file descriptor is an epoll instance over the eventfd, a
//! timerfd and the devices' file descriptors, which is readable when one of them is.

use core::time::Duration;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd, poll},
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

/// A file descriptor that is readable when it was signalled, or at a time.
pub(crate) struct Event {
    signal: OwnedFd,
    timer: Option<Timer>,
}

struct Timer {
    timer: OwnedFd,
    /// Readable when the eventfd or the timer is.
    either: OwnedFd,
}

impl Event {
    /// A new one; with `sources`, it is readable at times too, and when one of them is.
    pub(crate) fn new<'a>(
        sources: Option<impl Iterator<Item = BorrowedFd<'a>>>,
    ) -> Result<Event, Errno> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let timer = sources.map(|sources| Timer::new(&signal, sources)).transpose()?;
        Ok(Event { signal, timer })
    }

    /// Makes it readable until it is cleared.
    pub(crate) fn signal(&self) {
        // An eventfd counter only refuses to count beyond 2^64 - 2.
        let _ = rustix::io::write(&self.signal, &1u64.to_ne_bytes());
    }

    /// Makes it readable after this time; `false` where it is not timed.
    pub(crate) fn signal_after(&self, delay: Duration) -> bool {
        let Some(timer) = &self.timer else { return false };
        // A delay of 0 would stop the timer.
        timer.set(delay.max(Duration::from_nanos(1))).is_ok()
    }

    /// Makes it unreadable, and stops the timer.
    pub(crate) fn clear(&self) {
        // EAGAIN: it was not signalled.
        let _ = rustix::io::read(&self.signal, &mut [0u8; 8]);
        if let Some(timer) = &self.timer {
            // Setting a timer also takes back that it has expired.
            let _ = timer.set(Duration::ZERO);
        }
    }
}

/// Waits until one of these file descriptors is readable, or `timeout` has passed. It may return early.
pub(crate) fn await_any<'a>(
    own: Option<BorrowedFd<'a>>,
    fds: impl Iterator<Item = BorrowedFd<'a>>,
    timeout: Option<Duration>,
) {
    let fds = own.into_iter().chain(fds);
    let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let timeout = timeout.map(|t| Timespec {
        tv_sec: t.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let _ = poll(&mut fds, timeout.as_ref());
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_ref().map_or(self.signal.as_fd(), |timer| timer.either.as_fd())
    }
}

impl Timer {
    fn new<'a>(
        signal: &OwnedFd,
        sources: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> Result<Timer, Errno> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let either = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let add = |fd: BorrowedFd<'_>| {
            epoll::add(&either, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
        };
        add(signal.as_fd())?;
        add(timer.as_fd())?;
        for fd in sources {
            add(fd)?;
        }
        Ok(Timer { timer, either })
    }

    fn set(&self, delay: Duration) -> Result<(), Errno> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec {
            tv_sec: delay.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: delay.subsec_nanos().into(),
        };
        let once = Itimerspec { it_interval: never, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).map(|_| ())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn readable(event: &Event, wait: Duration) -> bool {
        let timeout =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let mut fds = [PollFd::new(event, PollFlags::IN)];
        poll(&mut fds, Some(&timeout)).unwrap() == 1
    }

    #[test]
    fn readable_by_signal_or_by_time() {
        for timed in [false, true] {
            let event = Event::new(timed.then(core::iter::empty)).unwrap();
            assert!(!readable(&event, Duration::ZERO));
            event.signal();
            assert!(readable(&event, Duration::ZERO));
            event.clear();
            assert!(!readable(&event, Duration::ZERO));
            assert_eq!(event.signal_after(Duration::from_millis(20)), timed);
            assert_eq!(readable(&event, Duration::from_secs(u64::from(timed) * 10)), timed);
            event.clear();
            assert!(!readable(&event, Duration::ZERO));
            // A timer that is cleared before it is due says nothing.
            event.signal_after(Duration::from_millis(5));
            event.clear();
            assert!(!readable(&event, Duration::from_millis(20)));
        }
    }
}
