//! One descriptor for several rings.
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use lookaside::fork_generation;

use crate::{lock::Lock, process::Process, refusal::Refusal, ring::Ring};

/// An epoll descriptor over the descriptors of rings, made at the first need, and afresh in a child process.
pub struct Joined(Lock<Option<(u32, OwnedFd)>>);

impl Joined {
    /// None yet.
    pub const fn new() -> Joined {
        Joined(Lock::new(None))
    }

    /// Readable when one of the rings' is.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn of(&self, rings: &[&Ring], process: &Process) -> Result<RawFd, Refusal> {
        let here = fork_generation();
        let mut known = self.0.lock();
        if let Some((generation, fd)) = &*known
            && *generation == here
        {
            return Ok(fd.as_raw_fd());
        }
        let failed = || Refusal::resource(format!("no descriptor: {}", io::Error::last_os_error()));
        // SAFETY: no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(failed());
        }
        // SAFETY: just opened, and nobody else's.
        let joined = unsafe { OwnedFd::from_raw_fd(fd) };
        for ring in rings {
            let one = ring.descriptor(process)?;
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: an event of this function's, which the kernel copies.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, one, &raw mut event) } != 0 {
                return Err(failed());
            }
        }
        *known = Some((here, joined));
        Ok(fd)
    }
}

impl Default for Joined {
    fn default() -> Joined {
        Joined::new()
    }
}
