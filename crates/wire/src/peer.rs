//! Who is at the other end of a socket.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, FromRawFd as _, OwnedFd};

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
