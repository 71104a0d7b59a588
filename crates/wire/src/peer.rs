//! Who is at the other end of a socket, and which sockets the process was started with.
#![allow(unsafe_code)]

use std::{
    io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd},
    sync::atomic::{AtomicBool, Ordering::AcqRel},
};

/// A process, as the kernel saw it when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number; 0 for one that is in another namespace.
    pub process: i32,
    /// Its user.
    pub user: u32,
}

/// The process at the other end.
///
/// # Errors
/// For a socket that has none.
pub fn peer(socket: impl AsFd) -> std::io::Result<Peer> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: a descriptor, and room for the answer of the length that is given.
    let failed = unsafe {
        let place = (&raw mut found).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &raw mut len)
    };
    match failed {
        0 => Ok(Peer { process: found.pid, user: found.uid }),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The first descriptor that a service manager passes, and the most of them.
const FIRST: RawFd = 3;
const MOST: RawFd = 1024;

/// The descriptors that a service manager has passed to this process, as sd_listen_fds(3) defines: `LISTEN_FDS` of them,
/// where `LISTEN_PID` is this process. They are closed on `exec`. Only the first call returns them.
///
/// # Errors
/// The variables are no numbers, or name what is not open.
pub fn passed() -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let number = |name: &str| match std::env::var(name) {
        Ok(value) => value.parse::<RawFd>().map(Some).map_err(io::Error::other),
        Err(_) => Ok(None),
    };
    let (Some(process), Some(n)) = (number("LISTEN_PID")?, number("LISTEN_FDS")?) else {
        return Ok(Vec::new());
    };
    if process.cast_unsigned() != std::process::id() || TAKEN.swap(true, AcqRel) {
        return Ok(Vec::new());
    }
    if !(0..=MOST).contains(&n) {
        return Err(io::Error::other("LISTEN_FDS is out of range"));
    }
    (FIRST..FIRST + n)
        .map(|fd| {
            // SAFETY: a call without memory; it fails for a descriptor that is not open.
            if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: open, and passed to this process to be its own: the service manager's protocol. Nothing else
            // takes it, since this happens once.
            Ok(unsafe { OwnedFd::from_raw_fd(fd) })
        })
        .collect()
}

/// A descriptor that is readable once the process at the other end has ended, whoever holds its socket then:
/// children that were forked with it keep the socket itself from ending. `None` where the kernel has none to give:
/// before Linux 6.5 for a process of a PID namespace that is not below this process's.
///
/// # Errors
/// The process has ended already (`ESRCH`), or there are no more descriptors.
pub fn watch(socket: impl AsFd) -> std::io::Result<Option<OwnedFd>> {
    /// Linux 6.5; not in the crate `libc` for all of its targets.
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut found: libc::c_int = -1;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: a descriptor, and room for the answer of the length that is given.
    let failed = unsafe {
        let place = (&raw mut found).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, SO_PEERPIDFD, place, &raw mut len)
    };
    if failed != 0 {
        let e = std::io::Error::last_os_error();
        if e.raw_os_error() != Some(libc::ENOPROTOOPT) {
            return Err(e);
        }
        found = match peer(socket)?.process {
            0 => return Ok(None),
            // SAFETY: a call without memory.
            process => unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) as libc::c_int },
        };
        if found < 0 {
            let e = std::io::Error::last_os_error();
            return match e.raw_os_error() {
                Some(libc::ENOSYS | libc::EPERM) => Ok(None),
                _ => Err(e),
            };
        }
    }
    // SAFETY: a descriptor just made, nobody else's.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(found) }))
}
