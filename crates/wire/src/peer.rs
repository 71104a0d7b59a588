//! Who is at the other end of a socket.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

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
