//! Virtual functions at run time: a socket of the server's own user, on which one message asks and some answer.
//!
//! ```text
//! lookaside control 1          ok                       refused
//! set web                      [web]                    web: 9000 RSA/s are asked for, ...
//! weight = 3                   services = pke
//! ```
//!
//! Settings are written as in the configuration file. What the server counts: `stat.rs`.

use std::{
    fmt,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use lookaside::Service;
use lookaside_wire::{MAX_MESSAGE, passing, peer};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{
    Functions, StartError, Stop,
    config::{FunctionConfig, SERVICES},
    counts::{Held, Served},
    log::{Level, line},
    stat::{self, Stat},
};

/// The name of the socket in the server's folder. Those of virtual functions end in `.sock`.
pub(crate) const NAME: &str = "control";

pub(crate) const VERSION: &str = "lookaside control 1";

/// How long either side waits for the other one's message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How long a server may take for what it is asked: functions that go answer what they have taken.
const DRAINING: Duration = Duration::from_secs(60);

/// What is asked of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its functions.
    List,
    /// A new one.
    Add {
        /// Its name.
        name: String,
        /// Settings of the configuration file, and their values; defaults for all others.
        settings: Vec<(String, String)>,
    },
    /// Other settings for one that there is.
    Set {
        /// Its name.
        name: String,
        /// Settings and their values; the others stay as they are.
        settings: Vec<(String, String)>,
    },
    /// One goes.
    Remove {
        /// Its name.
        name: String,
    },
}

/// A function of a server that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its settings.
    pub config: FunctionConfig,
    /// Its socket.
    pub socket: PathBuf,
    /// Connections of clients: one for each process, and one for each of its rings.
    pub connections: usize,
    /// What the engines have given it while others had requests too.
    pub device_time: Duration,
    /// Of that, what was served by its commitments.
    pub committed_time: Duration,
    /// What it has, and has refused.
    pub held: Held,
    /// What it has answered of each of its services.
    pub served: Vec<(Service, Served)>,
}

/// Why there is no answer, or none that says yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// Nobody listens there, access is denied, or the server does not answer.
    Os(PathBuf, Errno),
    /// The server refuses. Nothing has changed.
    Refused(String),
    /// An answer of another version.
    Version,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Os(path, e) => {
                write!(f, "no server at {}: {}", path.display(), std::io::Error::from(*e))
            }
            ControlError::Refused(why) => f.write_str(why),
            ControlError::Version => f.write_str("the server is of another version"),
        }
    }
}

impl std::error::Error for ControlError {}

impl Ask {
    fn text(&self) -> String {
        let with = |what: &str, name: &str, settings: &[(String, String)]| {
            let lines = settings.iter().map(|(name, value)| format!("{name} = {value}\n"));
            format!("{VERSION}\n{what} {name}\n{}", lines.collect::<String>())
        };
        match self {
            Ask::List => format!("{VERSION}\nlist\n"),
            Ask::Add { name, settings } => with("add", name, settings),
            Ask::Set { name, settings } => with("set", name, settings),
            Ask::Remove { name } => with("rm", name, &[]),
        }
    }

    fn parse(text: &str) -> Result<Ask, String> {
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return Err("client and server are of different versions".into());
        }
        let (what, name) = match lines.next() {
            Some("list") => ("list", ""),
            Some(command) => command.split_once(' ').ok_or("no command")?,
            None => return Err("no command".into()),
        };
        let setting = |line: &str| {
            let (name, value) =
                line.split_once('=').ok_or_else(|| format!("no setting: {line}"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        let settings = lines.map(setting).collect::<Result<Vec<_>, String>>()?;
        let name = name.to_owned();
        match what {
            "list" => Ok(Ask::List),
            "add" => Ok(Ask::Add { name, settings }),
            "set" => Ok(Ask::Set { name, settings }),
            "rm" if settings.is_empty() => Ok(Ask::Remove { name }),
            _ => Err(format!("no command: {what}")),
        }
    }
}

impl Listed {
    /// One that has done nothing.
    pub(crate) fn new(config: FunctionConfig) -> Listed {
        let (socket, connections) = Default::default();
        let (device_time, committed_time, held, served) = Default::default();
        Listed { config, socket, connections, device_time, committed_time, held, served }
    }

    /// As in an answer: a section of the configuration file, and what is known beside it.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{}:socket = {}\n:connections = {}\n:device_ns = {}\n:committed_ns = {}\n",
            self.config,
            self.socket.display(),
            self.connections,
            self.device_time.as_nanos(),
            self.committed_time.as_nanos()
        );
        for (name, value) in self.held.rows() {
            text += &format!(":{name} = {value}\n");
        }
        for (service, served) in &self.served {
            let values = served.rows().map(|(_, value)| value.to_string()).join(" ");
            text += &format!(":served {} = {values}\n", service.name());
        }
        text
    }

    pub(crate) fn parse_all(text: &str) -> Option<Vec<Listed>> {
        let mut all: Vec<Listed> = Vec::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                all.push(Listed::new(FunctionConfig::new(name)));
                continue;
            }
            let (listed, (name, value)) = (all.last_mut()?, line.split_once(" = ")?);
            match name {
                ":socket" => listed.socket = value.into(),
                ":connections" => listed.connections = value.parse().ok()?,
                ":device_ns" => listed.device_time = Duration::from_nanos(value.parse().ok()?),
                ":committed_ns" => {
                    listed.committed_time = Duration::from_nanos(value.parse().ok()?);
                }
                _ => match (name.strip_prefix(":served "), name.strip_prefix(':')) {
                    (Some(service), _) => listed.served.push(served(service, value)?),
                    (None, Some(name)) => listed.held.set(name, value.parse().ok()?)?,
                    (None, None) => listed.config.set(name, value).ok()?,
                },
            }
        }
        Some(all)
    }
}

/// What was answered of a service, as in an answer.
fn served(service: &str, values: &str) -> Option<(Service, Served)> {
    let service = SERVICES.into_iter().find(|one| one.name() == service)?;
    let values: Vec<u64> = values.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let [requests, errors, src_bytes, dst_bytes] = values[..] else { return None };
    Some((service, Served { requests, errors, src_bytes, dst_bytes }))
}

/// Asks the server whose sockets lie in `folder`. Returns the functions that there are for [`Ask::List`], otherwise the
/// one that it was about, as it is now or was at its end.
///
/// # Errors
/// There is no server, the user is neither the server's nor root, or the server refuses.
pub fn ask(folder: &Path, ask: &Ask) -> Result<Vec<Listed>, ControlError> {
    Listed::parse_all(&question(folder, &ask.text(), DRAINING)?).ok_or(ControlError::Version)
}

/// What the server in `folder` answers to a message, where it does not refuse.
pub(crate) fn question(
    folder: &Path,
    message: &str,
    time: Duration,
) -> Result<String, ControlError> {
    let path = folder.join(NAME);
    let os = |e| ControlError::Os(path.clone(), e);
    let socket = passing::connect(&path, time).map_err(os)?;
    passing::send(&socket, message.as_bytes(), &[]).map_err(os)?;
    let (mut buffer, mut text) = (vec![0; MAX_MESSAGE], Vec::new());
    loop {
        match passing::receive(&socket, &mut buffer).map_err(os)?.0 {
            0 => break,
            n => text.extend_from_slice(&buffer[..n]),
        }
    }
    let text = String::from_utf8(text).map_err(|_| ControlError::Version)?;
    match text.split_once('\n') {
        Some(("ok", rest)) => Ok(rest.to_owned()),
        Some(("refused", why)) => Err(ControlError::Refused(why.trim_end().to_owned())),
        _ => Err(ControlError::Version),
    }
}

/// The socket and its thread. Ends when it is dropped.
pub(crate) struct Control {
    path: PathBuf,
    /// Whether the socket goes with it.
    own: bool,
    stop: Arc<Stop>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Control {
    /// Listens in this folder, on this socket, which goes with it if it is its `own`.
    pub(crate) fn start(
        folder: &Path,
        listener: OwnedFd,
        own: bool,
        functions: &Arc<Mutex<Functions>>,
    ) -> Result<Control, StartError> {
        let path = folder.join(NAME);
        let os = |e| StartError::Os(path.clone(), e);
        let stop = Arc::new(Stop::new().map_err(os)?);
        let (functions, its) = (functions.clone(), stop.clone());
        let thread = thread::Builder::new().name("control".into());
        let thread = thread.spawn(move || serve(&listener, &its, &functions));
        let thread = thread.map_err(|e| os(Errno::from_io_error(&e).unwrap_or(Errno::AGAIN)))?;
        Ok(Control { path, own, stop, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.own {
            let _ = rustix::fs::unlink(&self.path);
        }
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until one of them is ready. Returns whether the first one is.
fn ready(fds: &[&OwnedFd], how: PollFlags, time: Option<Duration>) -> bool {
    let mut fds: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, how)).collect();
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    poll(&mut fds, time.as_ref()).is_ok_and(|n| n > 0)
        && fds.first().is_some_and(|fd| !fd.revents().is_empty())
}

fn serve(listener: &OwnedFd, stop: &Stop, functions: &Mutex<Functions>) {
    while !stop.is_wanted() {
        if !ready(&[listener, &stop.event], PollFlags::IN, None) {
            continue;
        }
        match passing::accept(listener) {
            Ok(Some(socket)) => answer(&socket, functions),
            Ok(None) => {}
            // Descriptors may be free again later.
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Deals with one connection.
fn answer(socket: &OwnedFd, functions: &Mutex<Functions>) {
    let own = rustix::process::geteuid().as_raw();
    // Read before anybody is refused: who closes a socket with a message in it takes its own answer back.
    let said = hear(socket).and_then(|text| match peer(socket) {
        Ok(who) if who.user == own || who.user == 0 => {
            if text.lines().eq([VERSION, stat::QUESTION]) {
                let functions = functions.lock().unwrap_or_else(PoisonError::into_inner);
                return Ok(Stat::of(&functions).text());
            }
            let ask = Ask::parse(&text)?;
            let mut functions = functions.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(functions.answer(&ask)?.iter().map(Listed::text).collect::<String>())
        }
        Ok(who) => Err(format!("user {} may not change virtual functions", who.user)),
        Err(e) => Err(e.to_string()),
    });
    let text = match said {
        Ok(answer) => format!("ok\n{answer}"),
        Err(why) => {
            line(Level::Warning, format_args!("control: refused: {why}"));
            format!("refused\n{why}\n")
        }
    };
    for part in text.as_bytes().chunks(MAX_MESSAGE / 2) {
        // Who does not read has no answer.
        if passing::send(socket, part, &[]) == Err(Errno::AGAIN) {
            ready(&[socket], PollFlags::OUT, Some(PATIENCE));
            if passing::send(socket, part, &[]).is_err() {
                return;
            }
        }
    }
}

/// The message of a connection.
fn hear(socket: &OwnedFd) -> Result<String, String> {
    if !ready(&[socket], PollFlags::IN, Some(PATIENCE)) {
        return Err("no message".into());
    }
    let mut buffer = vec![0; MAX_MESSAGE];
    let (n, _) = passing::receive(socket, &mut buffer).map_err(|e| e.to_string())?;
    buffer.truncate(n);
    String::from_utf8(buffer).map_err(|_| "no text".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_answered_is_read_back() {
        let settings = vec![("weight".to_owned(), "3".to_owned())];
        let name = || "a".to_owned();
        for ask in [
            Ask::List,
            Ask::Add { name: name(), settings: settings.clone() },
            Ask::Set { name: name(), settings },
            Ask::Remove { name: name() },
        ] {
            assert_eq!(Ask::parse(&ask.text()), Ok(ask));
        }
        for wrong in ["", "lookaside control 2\nlist", VERSION, "lookaside control 1\nadd"] {
            assert!(Ask::parse(wrong).is_err(), "{wrong}");
        }
        let wrong = format!("{VERSION}\nrm a\nweight = 3");
        assert!(Ask::parse(&wrong).is_err());
        let mut config = FunctionConfig::new("b");
        config.set("committed", "5 RSA/s, 1 Gbit/s DEFLATE").unwrap();
        config.set("users", "1 2").unwrap();
        config.set("mode", "660").unwrap();
        let (device_time, committed_time) = (Duration::from_nanos(7), Duration::from_nanos(5));
        let socket = "/x/b.sock".into();
        let held = Held {
            clients: 1,
            rings: 2,
            sessions: 3,
            memory_bytes: 4,
            queue: 5,
            ..Held::default()
        };
        let held = Held { refused: 6, cut_off: 7, ..held };
        let one = Served { requests: 8, errors: 9, src_bytes: 10, dst_bytes: u64::MAX };
        let served = vec![(Service::Dc, one), (Service::Rng, Served::default())];
        let connections = 2;
        let b = Listed { config, socket, connections, device_time, committed_time, held, served };
        let a = Listed { config: FunctionConfig::new("a"), ..b.clone() };
        let all = [a, b];
        let text: String = all.iter().map(Listed::text).collect();
        assert_eq!(Listed::parse_all(&text).as_deref(), Some(&all[..]));
    }
}
