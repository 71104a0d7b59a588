//! Sockets, and descriptors that travel over them.
//!
//! A message is a packet (`SOCK_SEQPACKET`): it arrives whole or not at all.

use core::mem::MaybeUninit;
use std::{
    ffi::OsStr,
    io::{IoSlice, IoSliceMut},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, Result, retry_on_intr},
    net::{
        self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
        SocketType,
        sockopt::{Timeout, set_socket_timeout, socket_acceptconn, socket_type},
    },
};

/// The most descriptors beside a message. More are closed as they arrive.
const DESCRIPTORS: usize = 4;

fn socket() -> Result<OwnedFd> {
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// A connection to whoever listens there. No call of it takes longer than `timeout`, this one included.
///
/// # Errors
/// Nobody does, or access is denied.
pub fn connect(path: &Path, timeout: Duration) -> Result<OwnedFd> {
    let socket = socket()?;
    for id in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&socket, id, Some(timeout.max(Duration::from_millis(1))))?;
    }
    net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Listens at a path where nothing is. `mode`: who may connect, by the permissions of the file.
///
/// # Errors
/// Something is there, or access is denied.
pub fn listen(path: &Path, mode: u32) -> Result<OwnedFd> {
    let socket = net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    // Before anybody can connect.
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
    net::listen(&socket, 128)?;
    Ok(socket)
}

/// The path of a socket that somebody else has made as [`listen`] does. It waits for nobody from now on.
///
/// # Errors
/// `PROTOTYPE` or `INVAL` for another kind of socket, one that does not listen, or one without a path.
pub fn listens_at(socket: impl AsFd) -> Result<PathBuf> {
    if socket_type(&socket)? != SocketType::SEQPACKET {
        return Err(Errno::PROTOTYPE);
    }
    let address = SocketAddrUnix::try_from(net::getsockname(&socket)?)?;
    let path = address.path_bytes().filter(|path| !path.is_empty());
    if !socket_acceptconn(&socket)? || path.is_none() {
        return Err(Errno::INVAL);
    }
    fcntl_setfl(&socket, fcntl_getfl(&socket)? | OFlags::NONBLOCK)?;
    Ok(PathBuf::from(OsStr::from_bytes(path.unwrap_or_default())))
}

/// Takes the next connection that waits; `None` where none does.
///
/// # Errors
/// No more descriptors, or the socket does not listen.
pub fn accept(listener: impl AsFd) -> Result<Option<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match net::accept_with(listener, flags) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Sends one message. A socket that others write to as well never raises a signal.
///
/// # Errors
/// The other side is gone, or (`AGAIN`) reads nothing and the socket does not wait.
pub fn send(socket: impl AsFd, message: &[u8], fds: &[BorrowedFd<'_>]) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::INVAL);
    }
    let parts = [IoSlice::new(message)];
    retry_on_intr(|| net::sendmsg(&socket, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one message into `buffer`: its length (0 at the end of the connection) and what came beside it.
///
/// # Errors
/// `MSGSIZE` for a message that does not fit; otherwise those of the socket.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(buffer)];
    let received =
        retry_on_intr(|| net::recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            fds.extend(passed);
        }
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    Ok((received.bytes, fds))
}

/// Rings: wakes who waits for the socket. Never waits; a bell that has been rung so often that no message fits
/// has been heard.
pub fn ring(socket: impl AsFd) {
    let _ = net::send(socket, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// What a look at a bell has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It has been rung.
    Ring,
    /// Nothing.
    Silence,
    /// The other side is gone.
    End,
}

/// Takes a ring, if there is one: the other side sends one for each time that this side slept. Never waits.
pub fn hear(socket: impl AsFd) -> Heard {
    loop {
        let mut byte = [0; 8];
        return match net::recv(&socket, &mut byte[..], RecvFlags::DONTWAIT) {
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Heard::Silence,
            Ok((0, _)) | Err(_) => Heard::End,
            Ok(_) => Heard::Ring,
        };
    }
}
