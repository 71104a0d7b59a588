//! The client of a device that is shared by all processes of a machine.
//!
//! A server (`lookaside serve`) owns the engines. It is divided into virtual functions: sockets in the file
//! system. [`SharedDevice`] connects to one of them, and is then a device as any other: sessions are opened once over
//! the socket, requests travel as records of a ring in shared memory, with their bytes in an arena beside it.
//! Requests of different processes fill one batch in the server.
//!
//! Each channel has a ring of its own, from its first request on, as an engine or, with 0 engines, an instance has a
//! channel. A child of
//! `fork` opens channels of its own and so never uses its parent's.
//!
//! The bytes of a request are copied to the arena and back. So a request is as it was until its answer has been
//! judged, and a server that dies costs speed, not answers: the request goes to the next device of its route,
//! or waits for the next server ([`Policy`]).
//!
//! What is not offered: streams and messages in pieces (their state would die with the server), scanning and
//! XML, bursts, and whatever the server's configuration leaves out. Such requests go to the next device.
#![deny(unsafe_code)]

mod arena;
mod channel;
mod connection;
mod drop_in;
mod link;
mod session;
mod world;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use lookaside_core::{
    Capability, Channel, Device, EngineId, Limits, Op, Prepared, Reach, SessionSpec, SetupError,
    plain_message,
};

use crate::{
    channel::SharedChannel,
    connection::{Connection, Processes},
    session::SharedSession,
    world::System,
};

pub use world::World;

/// The variable of the environment that names the socket of a virtual function.
pub const VARIABLE: &str = "LOOKASIDE_DEVICE";

/// What becomes of requests when the server is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// They wait for the next server.
    Wait,
    /// They go to the next device of their route, and new ones with them until there is a server again.
    #[default]
    Fallback,
    /// They are answered with an error.
    Fail,
}

/// Where the device is, and how it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The socket of a virtual function.
    pub path: PathBuf,
    /// What becomes of requests when the server is gone.
    pub policy: Policy,
    /// How long the server may take for a session; and after how long without any answer a ring is taken for dead
    /// (not with [`Policy::Wait`]).
    pub timeout: Duration,
}

impl Settings {
    /// This socket, with fallback, and 10 seconds.
    pub fn new(path: impl Into<PathBuf>) -> Settings {
        let timeout = Duration::from_secs(10);
        Settings { path: path.into(), policy: Policy::default(), timeout }
    }
}

/// Why there is no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    path: PathBuf,
    why: String,
}

impl Refusal {
    pub(crate) fn new(path: &Path, why: impl Into<String>) -> Refusal {
        Refusal { path: path.to_owned(), why: why.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no shared device at {}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for Refusal {}

/// The device. A clone is the same one.
#[derive(Clone)]
pub struct SharedDevice(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    /// The virtual function's name.
    function: String,
    capabilities: Vec<Capability>,
    /// What is quicker in the server side by side with what others ask for.
    gaining: Vec<Op>,
    /// Requests of those that would be alone there go to the next device.
    keeps_lone: bool,
    pub(crate) processes: Arc<Processes>,
    pub(crate) world: Arc<dyn World>,
}

impl SharedDevice {
    /// Connects to the virtual function.
    ///
    /// # Errors
    /// In one line: nobody listens there, access is denied, or the server is of another version.
    pub fn new(settings: Settings) -> Result<SharedDevice, Refusal> {
        SharedDevice::within(settings, Arc::new(System))
    }

    /// The same in another world than the operating system's: for simulation.
    ///
    /// # Errors
    /// As [`SharedDevice::new`].
    pub fn within(settings: Settings, world: Arc<dyn World>) -> Result<SharedDevice, Refusal> {
        let (connection, offer) = Connection::new(&settings, &*world)
            .map_err(|why| Refusal::new(&settings.path, plain_message(&why)))?;
        let processes = Arc::new(Processes::new(connection));
        let (function, mut capabilities) = offer;
        let gaining = capabilities.iter().filter(|row| row.best_batch > 1).map(|row| row.op);
        let gaining = gaining.collect();
        // Requests of many clients fill a batch in the server: nothing is gained by waiting in a client.
        capabilities.iter_mut().for_each(|row| row.best_batch = 1);
        let inner = Inner {
            settings,
            function,
            capabilities,
            gaining,
            keeps_lone: false,
            processes,
            world,
        };
        Ok(SharedDevice(Arc::new(inner)))
    }

    /// The same device for what pays for a program that has a device of its own too: private RSA keys where those
    /// of other processes run beside them; and, as far as the virtual function offers it, whole buffers to
    /// compress.
    ///
    /// With [`Policy::Fallback`] private keys go to the next device of their route while they come one at a time, and count as
    /// rerouted. The server says whether they do; now and then one goes there all the same.
    #[must_use]
    pub fn worthwhile(&self) -> SharedDevice {
        let keys = self.0.gaining.contains(&Op::RsaPrivate).then_some(Op::RsaPrivate);
        let ops: Vec<Op> = keys.into_iter().chain([Op::Compress, Op::Decompress]).collect();
        self.with(&ops, self.0.settings.policy == Policy::Fallback)
    }

    /// The same device for these operations alone, as far as they are offered: sessions of others are not opened at
    /// the server.
    #[must_use]
    pub fn only(&self, ops: &[Op]) -> SharedDevice {
        self.with(ops, self.0.keeps_lone)
    }

    fn with(&self, ops: &[Op], keeps_lone: bool) -> SharedDevice {
        let rows = self.0.capabilities.iter().filter(|row| ops.contains(&row.op));
        SharedDevice(Arc::new(Inner {
            settings: self.0.settings.clone(),
            function: self.0.function.clone(),
            capabilities: rows.cloned().collect(),
            gaining: self.0.gaining.clone(),
            keeps_lone,
            processes: self.0.processes.clone(),
            world: self.0.world.clone(),
        }))
    }

    /// The name of the virtual function.
    pub fn function(&self) -> &str {
        &self.0.function
    }
}

impl Device for SharedDevice {
    fn name(&self) -> &str {
        "shared"
    }

    fn capabilities(&self) -> &[Capability] {
        &self.0.capabilities
    }

    fn limits(&self) -> Limits {
        let timeout = u64::try_from(self.0.settings.timeout.as_nanos()).unwrap_or(u64::MAX);
        let waits = self.0.settings.policy == Policy::Wait;
        Limits {
            // Others wait in the server: a batch here only costs time.
            max_batch: 64,
            batch_deadline_ns: Some(0),
            timeout_ns: (!waits).then_some(timeout),
            reach: Reach::Process,
        }
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        SharedSession::new(&self.0, spec).map(|session| Prepared::new(session).best_batch(1))
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        SharedChannel::new(self.0.clone()).map(|channel| Box::new(channel) as Box<dyn Channel>)
    }
}
