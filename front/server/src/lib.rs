//! The server of a device that all processes of a machine share.
//!
//! [`Server::start`] starts a runtime with the CPU device and its engines, and a thread for each *virtual
//! function* of a [`Config`]: a socket in the file system with the services that whoever opens it may use. A
//! virtual function is one tenant of the runtime, whatever the number of its processes. Requests of all of them go
//! through the one scheduler, so requests of different processes fill one batch.
//!
//! Nothing in shared memory is taken on trust: a record is copied once and then checked, and so are the bytes of a
//! source before a kernel reads them. Whoever writes what makes no sense is cut off.
//!
//! Clients are programs with the device `lookaside-shared`. The protocol is in `lookaside-wire`.
#![deny(unsafe_code)]

mod client;
mod config;
mod function;
mod gather;
mod log;
mod pool;
mod ring;
mod stepped;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use lookaside::{Capability, Counters, InstanceConfig, Runtime, SetupError};
use lookaside_shares::{Admission, Refused};
use lookaside_wire::{control::ToClient, passing};
use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
};

pub use config::{Config, ConfigError, FunctionConfig};
pub use stepped::{Stepped, Turn};

use crate::{function::Function, gather::Gathering, log::Level};

/// Why a server, or one of its virtual functions, did not start.
#[derive(Debug)]
pub enum StartError {
    /// The runtime's reason.
    Setup(SetupError),
    /// The operating system's, and for which file.
    Os(PathBuf, Errno),
    /// Another server listens there.
    Taken(PathBuf),
    /// The capabilities do not fit a message.
    Capabilities,
    /// Rates are named, and what requests cost here is not known ([`Config::capacity`]).
    Costs {
        /// Whose rates.
        name: String,
    },
    /// More is promised than there is.
    Refused(Refused),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Setup(e) => e.fmt(f),
            StartError::Os(path, e) => {
                write!(f, "{}: {}", path.display(), std::io::Error::from(*e))
            }
            StartError::Taken(path) => {
                write!(f, "{}: another server listens there", path.display())
            }
            StartError::Capabilities => f.write_str("more capabilities than a message holds"),
            StartError::Costs { name } => {
                write!(f, "{name} has rates, and what requests cost here is not known")
            }
            StartError::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl From<SetupError> for StartError {
    fn from(e: SetupError) -> StartError {
        StartError::Setup(e)
    }
}

/// What ends a virtual function's thread.
pub(crate) struct Stop {
    wanted: AtomicBool,
    pub(crate) event: std::os::fd::OwnedFd,
}

impl Stop {
    fn new() -> Result<Stop, Errno> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Stop { wanted: AtomicBool::new(false), event })
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire)
    }

    fn stop(&self) {
        self.wanted.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
}

/// A virtual function and its thread.
struct Running {
    config: FunctionConfig,
    path: PathBuf,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    /// Answers what has been taken, then closes.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A server. Dropped, it answers what it has taken, closes, and leaves no socket behind.
pub struct Server {
    functions: Vec<Running>,
    folder: PathBuf,
    runtime: Arc<Runtime>,
    gathering: Arc<Gathering>,
    /// Whether functions have threads; otherwise, those that were opened and not taken.
    unstarted: Option<Vec<(String, Function)>>,
}

impl Server {
    /// Starts the engines and the virtual functions.
    ///
    /// # Errors
    /// What is refused; nothing is left behind then.
    pub fn start(config: &Config) -> Result<Server, StartError> {
        let mut builder = Runtime::builder()
            .device(lookaside_cpu::cpu())
            .batch_deadline(Duration::from_micros(config.batch_us));
        if let Some(engines) = config.engines {
            builder = builder.engines(engines);
        }
        let runtime = Arc::new(builder.start()?);
        if runtime.engines() == 0 {
            let refused = runtime.engines_refused();
            return Err(refused
                .unwrap_or(SetupError::Limit { what: "engines", given: 0, min: 1, max: 1024 })
                .into());
        }
        Server::on(config, runtime, None)
    }

    /// The virtual functions on this runtime.
    fn on(
        config: &Config,
        runtime: Arc<Runtime>,
        unstarted: Option<Vec<(String, Function)>>,
    ) -> Result<Server, StartError> {
        let made = std::fs::create_dir_all(&config.folder);
        made.map_err(|e| {
            let errno = Errno::from_io_error(&e).unwrap_or(Errno::IO);
            StartError::Os(config.folder.clone(), errno)
        })?;
        let (functions, gathering) = (Vec::new(), Arc::default());
        let folder = config.folder.clone();
        let mut server = Server { functions, folder, runtime, gathering, unstarted };
        let terms = server.terms(config)?;
        for (function, terms) in config.functions.iter().zip(terms) {
            server.open(function, terms)?;
        }
        Ok(server)
    }

    /// How the runtime keeps what each function is promised, if all of it can be kept.
    fn terms(&self, config: &Config) -> Result<Vec<InstanceConfig>, StartError> {
        let engines = u32::try_from(self.runtime.engines()).unwrap_or(u32::MAX);
        let mut admission = config.capacity.map(|all| Admission::new(all.with_engines(engines)));
        let terms = |function: &FunctionConfig| {
            let vf = function.promises();
            match &mut admission {
                Some(admission) => {
                    admission.admit(&vf).map_err(StartError::Refused)?;
                    Ok(admission.config(&vf))
                }
                None if function.has_rates() => Err(StartError::Costs { name: vf.name }),
                None => {
                    let (depth, weight) = (vf.depth, vf.weight);
                    Ok(InstanceConfig { depth, weight, ..InstanceConfig::default() })
                }
            }
        };
        config.functions.iter().map(terms).collect()
    }

    fn open(&mut self, config: &FunctionConfig, terms: InstanceConfig) -> Result<(), StartError> {
        let path = self.folder.join(format!("{}.sock", config.name));
        let os = |e| StartError::Os(path.clone(), e);
        if path.exists() {
            // What a server that was killed has left.
            match passing::connect(&path, Duration::from_secs(1)) {
                Ok(_) => return Err(StartError::Taken(path)),
                Err(Errno::CONNREFUSED) => rustix::fs::unlink(&path).map_err(os)?,
                Err(e) => return Err(os(e)),
            }
        }
        let stop = Arc::new(Stop::new().map_err(os)?);
        let capabilities = self.capabilities(config);
        // Whether it fits.
        let (token, name) = (Default::default(), config.name.clone());
        let welcome = ToClient::Welcome { token, name, capabilities: capabilities.clone() };
        welcome.encode().map_err(|_| StartError::Capabilities)?;
        let listener = passing::listen(&path, config.mode).map_err(os)?;
        let function = Function::new(
            config.clone(),
            terms,
            self.runtime.clone(),
            capabilities,
            listener,
            stop.clone(),
            self.gathering.clone(),
        );
        let function = function.inspect_err(|_| {
            let _ = rustix::fs::unlink(&path);
        })?;
        let thread = match &mut self.unstarted {
            Some(unstarted) => {
                unstarted.push((config.name.clone(), function));
                None
            }
            None => {
                let thread = thread::Builder::new().name(format!("vf-{}", config.name));
                Some(thread.spawn(move || function.serving().run()).map_err(|e| {
                    let _ = rustix::fs::unlink(&path);
                    os(Errno::from_io_error(&e).unwrap_or(Errno::AGAIN))
                })?)
            }
        };
        log::line(Level::Info, format_args!("{}: open at {}", config.name, path.display()));
        self.functions.push(Running { config: config.clone(), path, stop, thread });
        Ok(())
    }

    /// What a virtual function offers: its services, but for what is never sent.
    fn capabilities(&self, config: &FunctionConfig) -> Vec<Capability> {
        let all = self.runtime.capabilities().flat_map(|(_, rows)| rows);
        all.filter(|row| config.services.contains(&row.op.service())).cloned().collect()
    }

    /// Closes the virtual functions that `config` does not have or has otherwise, and opens those that are new. The
    /// others go on. Settings of the server as a whole stay as they are.
    ///
    /// # Errors
    /// Promises that cannot be kept: then all stays as it was. Or the first function that does not open; the others of
    /// the file are open, or are not any more.
    pub fn reload(&mut self, config: &Config) -> Result<(), StartError> {
        let terms = self.terms(config)?;
        self.functions.retain(|running| config.functions.contains(&running.config));
        let mut refused = Ok(());
        for (function, terms) in config.functions.iter().zip(terms) {
            if !self.functions.iter().any(|running| running.config == *function)
                && let Err(e) = self.open(function, terms)
                && refused.is_ok()
            {
                refused = Err(e);
            }
        }
        refused
    }

    /// The socket of a virtual function.
    pub fn socket(&self, name: &str) -> Option<&Path> {
        let running = self.functions.iter().find(|running| running.config.name == name)?;
        Some(&running.path)
    }

    /// What the engines have served.
    pub fn counters(&self) -> Counters {
        self.runtime.counters()
    }

    /// How many engines serve.
    pub fn engines(&self) -> usize {
        self.runtime.engines()
    }
}
