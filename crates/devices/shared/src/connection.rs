//! The connection of one process to the server, over which sessions are opened.

use std::{
    fmt,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use lookaside_core::{Capability, Op};
use lookaside_wire::{
    MAX_MESSAGE, Malformed, VERSION,
    control::{ToClient, ToServer, Token},
    passing,
};
use once_cell::race::OnceBox;
use rustix::io::Errno;

use crate::{Inner, Settings, World};

/// How long after a failure to connect the next attempt is made.
pub(crate) const REST: Duration = Duration::from_millis(100);
pub(crate) const REST_NS: u64 = REST.as_nanos() as u64;

/// Why the server did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A call of the operating system's.
    Os(Errno),
    /// The server said no: whether a key is wrong, and why.
    Refused(bool, String),
    /// What it said makes no sense.
    Malformed(Malformed),
    /// It was not there a moment ago.
    Absent,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Os(e) => std::io::Error::from(*e).fmt(f),
            Failure::Refused(_, why) => f.write_str(why),
            Failure::Malformed(e) => e.fmt(f),
            Failure::Absent => f.write_str("no server"),
        }
    }
}

impl From<Errno> for Failure {
    fn from(e: Errno) -> Failure {
        Failure::Os(e)
    }
}

impl From<Malformed> for Failure {
    fn from(e: Malformed) -> Failure {
        Failure::Malformed(e)
    }
}

/// A lock whose data is valid whenever it is free.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a message and receives the answer, with what descriptors come beside.
pub(crate) fn ask(
    socket: &OwnedFd,
    message: &[u8],
    world: &dyn World,
) -> Result<(ToClient, Vec<OwnedFd>), Failure> {
    passing::send(socket, message, &[])?;
    world.awaits();
    let mut buffer = vec![0; MAX_MESSAGE];
    let (n, fds) = passing::receive(socket, &mut buffer)?;
    if n == 0 {
        return Err(Failure::Os(Errno::CONNRESET));
    }
    match ToClient::decode(&buffer[..n])? {
        ToClient::Refused { key, what } => Err(Failure::Refused(key, what)),
        answer => Ok((answer, fds)),
    }
}

/// A process's connection.
pub(crate) struct Connection {
    /// Connections are counted from 1; a forked child counts on.
    pub(crate) epoch: u32,
    pub(crate) token: Token,
    control: Mutex<OwnedFd>,
    lost: AtomicBool,
    /// The number of the next session.
    next: AtomicU32,
}

/// What a server offers: the name of the virtual function, and the capabilities.
pub(crate) type Offer = (String, Vec<Capability>);

impl Connection {
    pub(crate) fn new(
        settings: &Settings,
        world: &dyn World,
    ) -> Result<(Arc<Connection>, Offer), Failure> {
        static EPOCHS: AtomicU32 = AtomicU32::new(1);
        let socket = passing::connect(&settings.path, settings.timeout)?;
        let hello = ToServer::Hello { version: VERSION, ops: Op::ALL.len() as u32 };
        let (ToClient::Welcome { token, name, capabilities }, _) =
            ask(&socket, &hello.encode()?, world)?
        else {
            return Err(Malformed::Number("message").into());
        };
        let connection = Connection {
            epoch: EPOCHS.fetch_add(1, Relaxed),
            token,
            control: Mutex::new(socket),
            lost: AtomicBool::new(false),
            next: AtomicU32::new(1),
        };
        Ok((Arc::new(connection), (name, capabilities)))
    }

    /// Whether the server has gone, as far as anybody has noticed.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Acquire)
    }

    /// The server has gone.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Release);
    }

    /// Opens a session: its number.
    pub(crate) fn open(&self, spec: &[u8], world: &dyn World) -> Result<u32, Failure> {
        let number = self.next.fetch_add(1, Relaxed);
        let message = ToServer::Open { number, spec }.encode()?;
        let control = lock(&self.control);
        if self.is_lost() {
            return Err(Failure::Absent);
        }
        match ask(&control, &message, world) {
            Ok((ToClient::Opened, _)) => Ok(number),
            Ok(_) => {
                self.lose();
                Err(Malformed::Number("message").into())
            }
            Err(refused @ Failure::Refused(..)) => Err(refused),
            Err(e) => {
                // An answer that comes later would be taken for that of the next question.
                self.lose();
                Err(e)
            }
        }
    }

    /// A session is not used again.
    pub(crate) fn close(&self, number: u32) {
        if let Ok(message) = (ToServer::Close { number }).encode()
            && !self.is_lost()
            && passing::send(&*lock(&self.control), &message, &[]).is_err()
        {
            self.lose();
        }
    }
}

/// The connections of this process and of the ones it was forked from, the oldest first. No process takes a
/// lock of another one's: whoever held it may not exist there.
pub(crate) struct Processes {
    process: u32,
    current: Mutex<Current>,
    next: OnceBox<Processes>,
}

#[derive(Default)]
struct Current {
    connection: Option<Arc<Connection>>,
    /// When the last attempt failed.
    failed_ns: Option<u64>,
}

impl Processes {
    pub(crate) fn new(connection: Arc<Connection>) -> Processes {
        let current = Current { connection: Some(connection), failed_ns: None };
        Processes {
            process: std::process::id(),
            current: Mutex::new(current),
            next: OnceBox::new(),
        }
    }

    fn of_this_process(&self) -> &Processes {
        let process = std::process::id();
        let mut node = self;
        while node.process != process {
            node = node.next.get_or_init(|| {
                Box::new(Processes { process, current: Mutex::default(), next: OnceBox::new() })
            });
        }
        node
    }
}

impl Inner {
    /// This process's connection, made anew where it was lost. Not tried again right after a failure.
    pub(crate) fn connection(&self) -> Result<Arc<Connection>, Failure> {
        let mut current = lock(&self.processes.of_this_process().current);
        if let Some(connection) = current.connection.as_ref().filter(|c| !c.is_lost()) {
            return Ok(connection.clone());
        }
        current.connection = None;
        let rests = |failed_ns: u64| self.world.now_ns().saturating_sub(failed_ns) < REST_NS;
        if current.failed_ns.is_some_and(rests) {
            return Err(Failure::Absent);
        }
        match Connection::new(&self.settings, &*self.world) {
            Ok((connection, _)) => {
                current.failed_ns = None;
                current.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(e) => {
                current.failed_ns = Some(self.world.now_ns());
                Err(e)
            }
        }
    }

    /// This process's connection, if it has one.
    pub(crate) fn known_connection(&self) -> Option<Arc<Connection>> {
        lock(&self.processes.of_this_process().current).connection.clone()
    }
}
