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
mod control;
mod counts;
mod function;
mod gather;
mod log;
mod pool;
mod ring;
mod stat;
mod stepped;

use std::{
    ffi::CString,
    fmt,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lookaside::{Capability, Counters, InstanceConfig, Runtime, SetupError, Tenant};
use lookaside_shares::{Admission, Capacity, Refused};
use lookaside_wire::{control::ToClient, passing};
use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
};

pub use config::{Config, ConfigError, FunctionConfig};
pub use control::{Ask, ControlError, Listed, ask};
pub use counts::{Held, Served};
pub use lookaside_wire::passed;
pub use stat::{Stat, stat};
pub use stepped::{Stepped, Turn};

use crate::{control::Control, counts::Counts, function::Function, gather::Gathering, log::Level};

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
    /// A socket that was passed is of no function, or none that listens for packets at a path.
    Passed(PathBuf),
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
                write!(
                    f,
                    "{name} has rates, and what requests cost here is not known: lookaside capacity --stored \
                     measures it, for the next start or SIGHUP"
                )
            }
            StartError::Refused(refused) => refused.fmt(f),
            StartError::Passed(path) if path.as_os_str().is_empty() => {
                f.write_str("a socket was passed that does not listen for packets at a path")
            }
            StartError::Passed(path) => {
                write!(
                    f,
                    "{}: this socket was passed, and no virtual function has it",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for StartError {}

impl From<SetupError> for StartError {
    fn from(e: SetupError) -> StartError {
        StartError::Setup(e)
    }
}

/// Makes a folder of sockets, if it is not there: all may look into it, and a socket says who may connect.
fn make_folder(path: &Path) -> Result<(), StartError> {
    let made = || -> std::io::Result<()> {
        if !path.exists() {
            std::fs::create_dir_all(path)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    made()
        .map_err(|e| StartError::Os(path.to_owned(), Errno::from_io_error(&e).unwrap_or(Errno::IO)))
}

/// What ends a virtual function's thread.
pub(crate) struct Stop {
    wanted: AtomicBool,
    pub(crate) event: OwnedFd,
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

/// What a virtual function's thread shares with the server.
pub(crate) struct Live {
    /// The virtual function's name, for tracers.
    pub(crate) name: CString,
    config: Mutex<FunctionConfig>,
    /// Whether it is another one than the thread has seen.
    changed: AtomicBool,
    /// How many connections there are.
    pub(crate) connections: AtomicUsize,
    pub(crate) counts: Counts,
}

impl Live {
    /// The settings, if they have changed since the last call.
    pub(crate) fn changed(&self) -> Option<FunctionConfig> {
        self.changed.swap(false, Ordering::Acquire).then(|| self.config())
    }

    fn config(&self) -> FunctionConfig {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, config: FunctionConfig) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
        self.changed.store(true, Ordering::Release);
    }
}

/// A virtual function and its thread.
struct Running {
    config: FunctionConfig,
    terms: InstanceConfig,
    path: PathBuf,
    /// Whether the socket goes with it: one that was passed stays for the next server.
    own: bool,
    tenant: Tenant,
    live: Arc<Live>,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Other settings, which no client notices ([`FunctionConfig::offers_as`]).
    fn change(&mut self, config: &FunctionConfig, terms: InstanceConfig) -> Result<(), StartError> {
        if config.mode != self.config.mode {
            let mode = rustix::fs::Mode::from_raw_mode(config.mode);
            let changed = rustix::fs::chmod(&self.path, mode);
            changed.map_err(|e| StartError::Os(self.path.clone(), e))?;
        }
        if terms != self.terms {
            self.tenant.change(terms.clone())?;
            self.terms = terms;
        }
        self.config = config.clone();
        self.live.set(config.clone());
        Ok(())
    }

    fn listed(&self) -> Listed {
        Listed {
            config: self.config.clone(),
            socket: self.path.clone(),
            connections: self.live.connections.load(Ordering::Relaxed),
            device_time: self.tenant.device_time(),
            committed_time: self.tenant.committed_time(),
            held: self.live.counts.held(),
            served: self.live.counts.served(&self.config.services),
        }
    }
}

impl Drop for Running {
    /// Answers what has been taken, then closes.
    fn drop(&mut self) {
        if self.own {
            let _ = std::fs::remove_file(&self.path);
        }
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether two paths are of one file: their folders may be links, the file itself need not be there.
fn same(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| path.parent().and_then(|folder| folder.canonicalize().ok());
    a == b || a.file_name() == b.file_name() && folder(a).is_some() && folder(a) == folder(b)
}

/// Where sockets that were passed listen, if each is wanted.
fn wanted(config: &Config, sockets: Vec<OwnedFd>) -> Result<Vec<(PathBuf, OwnedFd)>, StartError> {
    let functions = config.functions.iter().map(|function| config.socket(function));
    let known: Vec<PathBuf> = functions.chain([config.folder.join(control::NAME)]).collect();
    let one = |socket: OwnedFd| {
        let path = passing::listens_at(&socket).map_err(|_| StartError::Passed(PathBuf::new()))?;
        match known.iter().any(|known| same(known, &path)) {
            true => Ok((path, socket)),
            false => Err(StartError::Passed(path)),
        }
    };
    sockets.into_iter().map(one).collect()
}

/// Removes what a server that was killed has left of a socket.
fn make_room(path: &Path) -> Result<(), StartError> {
    let os = |e| StartError::Os(path.to_owned(), e);
    if !path.exists() {
        return Ok(());
    }
    match passing::connect(path, Duration::from_secs(1)) {
        Ok(_) => Err(StartError::Taken(path.to_owned())),
        Err(Errno::CONNREFUSED) => rustix::fs::unlink(path).map_err(os),
        Err(e) => Err(os(e)),
    }
}

/// A server. Dropped, it answers what it has taken, closes, and leaves no socket behind.
pub struct Server {
    /// First to go: it has the functions, too. `None` without threads.
    _control: Option<Control>,
    functions: Arc<Mutex<Functions>>,
}

/// The virtual functions of a server, and what they have in common.
pub(crate) struct Functions {
    running: Vec<Running>,
    folder: PathBuf,
    runtime: Arc<Runtime>,
    gathering: Arc<Gathering>,
    capacity: Option<Capacity>,
    /// Sockets that were passed, and where they listen.
    passed: Vec<(PathBuf, OwnedFd)>,
    /// Whether functions have threads; otherwise, those that were opened and not taken.
    unstarted: Option<Vec<(String, Function)>>,
    since: Instant,
}

impl Server {
    /// Starts the engines, the virtual functions, and the socket by which they are changed ([`ask`]).
    ///
    /// # Errors
    /// What is refused; nothing is left behind then.
    pub fn start(config: &Config) -> Result<Server, StartError> {
        Server::start_with(config, Vec::new())
    }

    /// The same with sockets that somebody else has made, as a service manager does: each listens for packets at the
    /// path of a virtual function or of the control socket, and is used in place of one of the server's own. Who connects
    /// while no server runs waits for the next one: these sockets stay when the server ends.
    ///
    /// # Errors
    /// As [`Server::start`]; or a socket is of no function.
    pub fn start_with(config: &Config, sockets: Vec<OwnedFd>) -> Result<Server, StartError> {
        let passed = wanted(config, sockets)?;
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
        let functions = Functions::new(config, runtime, passed, None)?;
        let functions = Arc::new(Mutex::new(functions));
        let (socket, own) = functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .listen(&config.folder.join(control::NAME), 0o600)?;
        let control = Control::start(&config.folder, socket, own, &functions)?;
        Ok(Server { _control: Some(control), functions })
    }

    fn functions(&self) -> MutexGuard<'_, Functions> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the virtual functions those of `config`. Those that are as before go on undisturbed, and so do those whose
    /// offer and rings stay ([`FunctionConfig::services`], `depth`, `arena`): rates, weight and limits change under their
    /// clients' hands. Others are closed and opened. Settings of the server as a whole stay as they are.
    ///
    /// # Errors
    /// Promises that cannot be kept: then all stays as it was. Or the first function that does not open; the others of
    /// the file are open, or are not any more.
    pub fn reload(&self, config: &Config) -> Result<(), StartError> {
        self.functions().apply(&config.functions, config.capacity)
    }

    /// The socket of a virtual function.
    pub fn socket(&self, name: &str) -> Option<PathBuf> {
        self.functions().find(name).map(|running| running.path.clone())
    }

    /// The device time that the engines have given a virtual function while others had requests too
    /// ([`Tenant::device_time`]); `None`: there is no function of this name.
    pub fn device_time(&self, name: &str) -> Option<Duration> {
        self.functions().find(name).map(|running| running.tenant.device_time())
    }

    /// Of [`Server::device_time`], what was served by the function's commitments; the rest was by weight.
    pub fn committed_time(&self, name: &str) -> Option<Duration> {
        self.functions().find(name).map(|running| running.tenant.committed_time())
    }

    /// What the engines have served.
    pub fn counters(&self) -> Counters {
        self.functions().runtime.counters()
    }

    /// How many engines serve.
    pub fn engines(&self) -> usize {
        self.functions().runtime.engines()
    }
}

impl Functions {
    /// Those of a configuration, opened; with `unstarted`, without threads.
    fn new(
        config: &Config,
        runtime: Arc<Runtime>,
        passed: Vec<(PathBuf, OwnedFd)>,
        unstarted: Option<Vec<(String, Function)>>,
    ) -> Result<Functions, StartError> {
        make_folder(&config.folder)?;
        let mut functions = Functions {
            running: Vec::new(),
            folder: config.folder.clone(),
            runtime,
            gathering: Arc::new(Gathering::new()),
            capacity: config.capacity,
            passed,
            unstarted,
            since: Instant::now(),
        };
        functions.apply(&config.functions, config.capacity)?;
        Ok(functions)
    }

    fn find(&self, name: &str) -> Option<&Running> {
        self.running.iter().find(|running| running.config.name == name)
    }

    /// How the runtime keeps what each function is promised, if all of it can be kept.
    fn terms(
        &self,
        functions: &[FunctionConfig],
        capacity: Option<Capacity>,
    ) -> Result<Vec<InstanceConfig>, StartError> {
        let engines = u32::try_from(self.runtime.engines()).unwrap_or(u32::MAX);
        let mut admission = capacity.map(|all| Admission::new(all.with_engines(engines)));
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
        functions.iter().map(terms).collect()
    }

    /// [`Server::reload`].
    fn apply(
        &mut self,
        functions: &[FunctionConfig],
        capacity: Option<Capacity>,
    ) -> Result<(), StartError> {
        let terms = self.terms(functions, capacity)?;
        self.capacity = capacity;
        self.running.retain_mut(|running| {
            // One that is opened again keeps a socket that was passed; of one that goes none is left.
            running.own |= !functions.iter().any(|f| f.name == running.config.name);
            functions.iter().any(|f| f.offers_as(&running.config))
        });
        let mut refused = Ok(());
        for (function, terms) in functions.iter().zip(terms) {
            let running = self.running.iter_mut().find(|r| r.config.name == function.name);
            let done = match running {
                Some(running) => running.change(function, terms),
                None => self.open(function, terms),
            };
            refused = refused.and(done);
        }
        refused
    }

    /// Does what is asked on the control socket.
    fn answer(&mut self, ask: &Ask) -> Result<Vec<Listed>, String> {
        let mut functions: Vec<_> = self.running.iter().map(|r| r.config.clone()).collect();
        let place = |name: &str| self.running.iter().position(|r| r.config.name == name);
        let unknown = |name: &str| format!("there is no virtual function {name}");
        let change = |config: &mut FunctionConfig, settings: &[(String, String)]| {
            settings.iter().try_for_each(|(name, value)| config.set(name, value))?;
            let checked = config.promises().check();
            checked.map_err(|(key, why)| format!("{}: {key}: {why}", config.name))
        };
        let name = match ask {
            Ask::List => return Ok(self.running.iter().map(Running::listed).collect()),
            Ask::Add { name, settings } => {
                if !config::is_name(name) {
                    return Err(format!("not a name of a virtual function: {name}"));
                }
                if place(name).is_some() {
                    return Err(format!("there is a virtual function {name} already"));
                }
                let mut config = FunctionConfig::new(name);
                change(&mut config, settings)?;
                functions.push(config);
                name
            }
            Ask::Set { name, settings } => {
                let place = place(name).ok_or_else(|| unknown(name))?;
                // Behind all others: what is refused is what it asks for.
                let mut config = functions.remove(place);
                change(&mut config, settings)?;
                functions.push(config);
                name
            }
            Ask::Remove { name } => {
                let place = place(name).ok_or_else(|| unknown(name))?;
                let last = self.running[place].listed();
                functions.remove(place);
                self.apply(&functions, self.capacity).map_err(|e| e.to_string())?;
                log::line(Level::Info, format_args!("{name}: removed"));
                return Ok(vec![last]);
            }
        };
        self.apply(&functions, self.capacity).map_err(|e| e.to_string())?;
        Ok(self.find(name).map(Running::listed).into_iter().collect())
    }

    fn open(&mut self, config: &FunctionConfig, terms: InstanceConfig) -> Result<(), StartError> {
        if !config.folder.as_os_str().is_empty() {
            make_folder(&self.folder.join(&config.folder))?;
        }
        let path = config.socket(&self.folder);
        let os = |e| StartError::Os(path.clone(), e);
        let stop = Arc::new(Stop::new().map_err(os)?);
        let capabilities = self.capabilities(config);
        // Whether it fits.
        let (token, name) = (Default::default(), config.name.clone());
        let welcome = ToClient::Welcome { token, name, capabilities: capabilities.clone() };
        welcome.encode().map_err(|_| StartError::Capabilities)?;
        let tenant = self.runtime.tenant(terms.clone())?;
        let live = Arc::new(Live {
            // `is_name` allows none with a NUL.
            name: CString::new(config.name.as_str()).unwrap_or_default(),
            config: Mutex::new(config.clone()),
            changed: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            counts: Counts::default(),
        });
        let (listener, own) = self.listen(&path, config.mode)?;
        let unlink = || {
            if own {
                let _ = rustix::fs::unlink(&path);
            }
        };
        let function = Function::new(
            live.clone(),
            tenant.clone(),
            self.runtime.clone(),
            capabilities,
            listener,
            stop.clone(),
            self.gathering.clone(),
        );
        let function = function.inspect_err(|_| unlink())?;
        let thread = match &mut self.unstarted {
            Some(unstarted) => {
                unstarted.push((config.name.clone(), function));
                None
            }
            None => {
                let thread = thread::Builder::new().name(format!("vf-{}", config.name));
                Some(thread.spawn(move || function.serving().run()).map_err(|e| {
                    unlink();
                    os(Errno::from_io_error(&e).unwrap_or(Errno::AGAIN))
                })?)
            }
        };
        log::line(Level::Info, format_args!("{}: open at {}", config.name, path.display()));
        let config = config.clone();
        self.running.push(Running { config, terms, path, own, tenant, live, stop, thread });
        Ok(())
    }

    /// The socket of this path: one that was passed, or a new one. Returns whether it is new.
    fn listen(&self, path: &Path, mode: u32) -> Result<(OwnedFd, bool), StartError> {
        let os = |e| StartError::Os(path.to_owned(), e);
        if let Some((_, socket)) = self.passed.iter().find(|(at, _)| same(at, path)) {
            let socket = socket.try_clone();
            let errno = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
            return Ok((socket.map_err(|e| os(errno(e)))?, false));
        }
        make_room(path)?;
        Ok((passing::listen(path, mode).map_err(os)?, true))
    }

    /// What a virtual function offers: its services, but for what is never sent.
    fn capabilities(&self, config: &FunctionConfig) -> Vec<Capability> {
        let all = self.runtime.capabilities().flat_map(|(_, rows)| rows);
        all.filter(|row| config.services.contains(&row.op.service())).cloned().collect()
    }
}
