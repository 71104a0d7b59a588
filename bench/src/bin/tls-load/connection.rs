//! One connection: TCP, a full TLS handshake, one HTTP request and its answer.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use lookaside_bench::wall_ns;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt::set_socket_linger,
};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, SupportedProtocolVersion, pki_types::ServerName,
};

/// How a connection that is to be cut ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// After the server's first bytes; otherwise after the ClientHello is sent.
    pub after_flight: bool,
    /// With a reset; otherwise closed in order, as far as TCP goes.
    pub reset: bool,
    /// How long after that.
    pub delay_ns: u64,
}

/// How far a connection is.
#[derive(Debug)]
pub enum Progress {
    /// The socket has to become ready first, or the time to cut has to come.
    Waiting,
    /// The whole exchange took place.
    Answered,
    /// Something else did; said.
    Failed(String),
}

/// A connection under way.
pub struct Connection {
    /// The socket.
    pub stream: TcpStream,
    /// The TLS side; after the handshake it knows what was agreed on.
    pub tls: ClientConnection,
    /// When it began.
    pub began_ns: u64,
    /// When the handshake was complete on this side.
    pub handshake_ns: Option<u64>,
    /// When it has to be cut, once that is known.
    pub cut_ns: Option<u64>,
    cut: Option<Cut>,
    answer: Vec<u8>,
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

impl Connection {
    /// Starts to connect.
    pub fn start(
        address: SocketAddr,
        config: &Arc<ClientConfig>,
        cut: Option<Cut>,
    ) -> io::Result<Connection> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let began_ns = wall_ns();
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(address.ip().into());
        let tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let answer = Vec::new();
        Ok(Connection { stream, tls, began_ns, handshake_ns: None, cut_ns: None, cut, answer })
    }

    /// Goes on as far as the socket lets it.
    pub fn drive(&mut self, version: &'static SupportedProtocolVersion) -> Progress {
        match self.step(version) {
            Ok(true) => Progress::Answered,
            Ok(false) => Progress::Waiting,
            Err(error) => Progress::Failed(error.to_string()),
        }
    }

    /// Whether the whole exchange took place.
    fn step(&mut self, version: &'static SupportedProtocolVersion) -> io::Result<bool> {
        // One that only waits for its cut neither reads nor writes any more.
        while self.cut_ns.is_none() {
            while self.tls.wants_write() {
                match self.tls.write_tls(&mut self.stream) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            if self.cut.is_some_and(|cut| !cut.after_flight) && !self.tls.wants_write() {
                self.cut_soon();
                break;
            }
            match self.tls.read_tls(&mut self.stream) {
                // What a close without close_notify means is for the TLS side to say, below.
                Ok(0) if self.tls.is_handshaking() => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
            if self.cut.is_some() {
                self.cut_soon();
                break;
            }
            let received = self.tls.process_new_packets().map_err(io::Error::other)?;
            if self.handshake_ns.is_none() && !self.tls.is_handshaking() {
                self.check_handshake(version)?;
                self.handshake_ns = Some(wall_ns());
                self.tls.writer().write_all(REQUEST)?;
            }
            if self.handshake_ns.is_some()
                && (received.plaintext_bytes_to_read() > 0 || received.peer_has_closed())
                && self.read_answer()?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn cut_soon(&mut self) {
        self.cut_ns = self.cut.map(|cut| wall_ns() + cut.delay_ns);
    }

    /// Nothing but a full handshake in the version asked for counts.
    fn check_handshake(&self, version: &'static SupportedProtocolVersion) -> io::Result<()> {
        if self.tls.handshake_kind() != Some(HandshakeKind::Full) {
            let kind = self.tls.handshake_kind();
            return Err(io::Error::other(format!("not a full handshake: {kind:?}")));
        }
        if self.tls.protocol_version() != Some(version.version) {
            return Err(io::Error::other("not the version asked for"));
        }
        Ok(())
    }

    /// Whether the answer is complete: a status line of 200, the head, and an orderly end.
    fn read_answer(&mut self) -> io::Result<bool> {
        let mut part = [0; 4096];
        loop {
            match self.tls.reader().read(&mut part) {
                Ok(0) => break,
                Ok(read) => self.answer.extend_from_slice(&part[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // The end of the connection without TLS's own.
                Err(error) => return Err(error),
            }
        }
        let head = self.answer.windows(4).any(|end| end == b"\r\n\r\n");
        if head && self.answer.starts_with(b"HTTP/1.1 200 ") {
            return Ok(true);
        }
        let answer = String::from_utf8_lossy(&self.answer);
        Err(io::Error::other(format!("not the answer expected: {:.80}", answer.escape_debug())))
    }

    /// Ends it in mid-handshake, as planned. Whether that was a reset while the server may have
    /// been at work on its answer.
    pub fn cut(self) -> bool {
        let Some(cut) = self.cut.filter(|cut| cut.reset) else { return false };
        // A linger time of zero makes the close a reset. Where it cannot be set, it is a close.
        let _ = set_socket_linger(&self.stream, Some(Duration::ZERO));
        !cut.after_flight && cut.delay_ns > 0
    }
}
