//! The configuration file: which virtual functions there are.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use lookaside::Service;
use lookaside_shares::{Capacity, Rate, Vf};
use lookaside_wire::Shape;

/// The settings of a server.
///
/// As a file: lines `name = value`, `#` begins a comment. Settings before the first `[NAME]` are the server's,
/// those behind it the virtual function NAME's.
///
/// ```
/// use lookaside_server::Config;
///
/// let config = Config::parse("
///     folder = /run/lookaside     # of the sockets
///     engines = 4
///     [web]
///     services = pke kdf
///     users = 33
///     [backup]
///     services = dc
///     arena = 16M
///     committed = 2 Gbit/s DEFLATE
/// ").unwrap();
/// assert_eq!(config.functions[1].arena, 16 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the sockets lie (`folder`): `NAME.sock` for each function that has no folder of its own.
    pub folder: PathBuf,
    /// Engine threads (`engines`, 1 to 1,024); one for each CPU without it.
    pub engines: Option<usize>,
    /// How long a request of a public key waits for those of clients that had some a moment ago, at most, in
    /// microseconds (`batch`, 0 to 10,000). A lone client's never does.
    pub batch_us: u64,
    /// The virtual functions.
    pub functions: Vec<FunctionConfig>,
    /// What requests cost on this machine; no setting of a file. Without it nothing can be promised.
    pub capacity: Option<Capacity>,
}

/// The settings of a virtual function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConfig {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The services that may be used (`services`): dc mv pke kdf sym rng, or all.
    pub services: Vec<Service>,
    /// Where its socket lies (`folder`): a folder in the server's, or a path from the root; without it, in the
    /// server's itself. A container that is given a folder of the function's own sees the sockets of later servers too.
    pub folder: PathBuf,
    /// The permissions of its socket (`mode`, octal).
    pub mode: u32,
    /// The users who may connect (`users`, by number), beyond what the permissions say; without it, all.
    pub users: Option<Vec<u32>>,
    /// Requests in a ring (`depth`): a power of two.
    pub depth: u32,
    /// Bytes of a ring's arena (`arena`): whole pages.
    pub arena: u32,
    /// Bytes of shared memory, and of the server's copies of what is in it (`memory`), for all clients together.
    pub memory: u64,
    /// Connections (`connections`): one for each process, and one for each of its rings.
    pub connections: usize,
    /// Sessions of all clients together (`sessions`).
    pub sessions: usize,
    /// The share beside other functions (`weight`, 1 to 1,000).
    pub weight: u32,
    /// What it gets before all others (`committed`): rates such as `5000 RSA/s`, with commas between them.
    pub committed: Vec<Rate>,
    /// What it never gets more than (`peak`).
    pub peak: Vec<Rate>,
}

/// A mistake in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ConfigError {}

/// The services whose requests travel to a server.
pub(crate) const SERVICES: [Service; 6] =
    [Service::Dc, Service::Mv, Service::Pke, Service::Kdf, Service::Sym, Service::Rng];

impl FunctionConfig {
    /// The defaults: all services, mode 600, rings of 64 requests and 4 MiB, 1 GiB in all.
    pub fn new(name: impl Into<String>) -> FunctionConfig {
        FunctionConfig {
            name: name.into(),
            services: SERVICES.to_vec(),
            folder: PathBuf::new(),
            mode: 0o600,
            users: None,
            depth: 64,
            arena: 4 << 20,
            memory: 1 << 30,
            connections: 1024,
            sessions: 4096,
            weight: 1,
            committed: Vec::new(),
            peak: Vec::new(),
        }
    }

    /// What it is promised, and held to.
    pub fn promises(&self) -> Vf {
        Vf {
            weight: self.weight,
            committed: self.committed.clone(),
            peak: self.peak.clone(),
            depth: self.depth as usize,
            ..Vf::new(&*self.name, self.services.iter().copied())
        }
    }

    /// All settings by their names in a file, with their values.
    pub fn settings(&self) -> [(&'static str, String); 12] {
        let rates = |rates: &[Rate]| match rates {
            [] => "none".to_owned(),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        [
            ("services", words(self.services.iter().map(|service| service.name()))),
            ("folder", self.folder.display().to_string()),
            ("mode", format!("{:o}", self.mode)),
            ("users", self.users.as_ref().map_or("all".into(), words)),
            ("depth", self.depth.to_string()),
            ("arena", self.arena.to_string()),
            ("memory", self.memory.to_string()),
            ("connections", self.connections.to_string()),
            ("sessions", self.sessions.to_string()),
            ("weight", self.weight.to_string()),
            ("committed", rates(&self.committed)),
            ("peak", rates(&self.peak)),
        ]
    }

    /// Whether a client of one needs to notice nothing when it becomes the other: offer and rings are the same.
    pub(crate) fn offers_as(&self, other: &FunctionConfig) -> bool {
        let noticed = |config: &FunctionConfig| (config.depth, config.arena);
        (&self.name, &self.folder, &self.services) == (&other.name, &other.folder, &other.services)
            && noticed(self) == noticed(other)
    }

    /// Where its socket is, in this folder of the server's.
    pub(crate) fn socket(&self, folder: &Path) -> PathBuf {
        folder.join(&self.folder).join(format!("{}.sock", self.name))
    }

    /// Whether rates are named.
    pub fn has_rates(&self) -> bool {
        !self.committed.is_empty() || !self.peak.is_empty()
    }

    /// Changes a setting, as a line of the file does. `none` takes rates away, `all` the list of users.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "services" => self.services = services(value)?,
            "folder" if value.split('/').any(|part| part == "..") => {
                return Err("folder has .. in it".into());
            }
            "folder" => self.folder = value.into(),
            "mode" => {
                self.mode = u32::from_str_radix(value, 8)
                    .ok()
                    .filter(|mode| *mode <= 0o777)
                    .ok_or("mode is not 0 to 777 (octal)")?;
            }
            "users" if value == "all" => self.users = None,
            "users" => {
                let users = value.split_whitespace().map(str::parse).collect::<Result<_, _>>();
                self.users = Some(users.map_err(|_| "users are not numbers")?);
            }
            "depth" => self.depth = number(name, value, 1, u64::from(Shape::MAX_DEPTH))? as u32,
            "arena" => self.arena = number(name, value, 4096, Shape::MAX_ARENA.into())? as u32,
            "memory" => self.memory = number(name, value, 1 << 16, 1 << 44)?,
            "connections" => self.connections = number(name, value, 2, 1 << 20)? as usize,
            "sessions" => self.sessions = number(name, value, 1, 1 << 24)? as usize,
            "weight" => self.weight = number(name, value, 1, 1000)? as u32,
            "committed" => self.committed = rates(value)?,
            "peak" => self.peak = rates(value)?,
            _ => return Err(format!("no setting of a virtual function: {name}")),
        }
        match Shape::new(self.depth, self.arena) {
            Ok(_) => Ok(()),
            Err(_) if name == "depth" => Err("depth is not a power of two".into()),
            Err(_) => Err("arena is not a multiple of 4096 bytes".into()),
        }
    }
}

fn rates(value: &str) -> Result<Vec<Rate>, String> {
    if value == "none" { Ok(Vec::new()) } else { Rate::parse_list(value) }
}

/// Words with spaces between them.
fn words<T: ToString>(words: impl IntoIterator<Item = T>) -> String {
    words.into_iter().map(|word| word.to_string()).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for FunctionConfig {
    /// Its section of a file, with all settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "[{}]", self.name)?;
        self.settings().into_iter().try_for_each(|(name, value)| writeln!(f, "{name} = {value}"))
    }
}

fn services(value: &str) -> Result<Vec<Service>, String> {
    if value == "all" {
        return Ok(SERVICES.to_vec());
    }
    let one = |name: &str| {
        let known = SERVICES.into_iter().find(|service| service.name() == name);
        known.ok_or_else(|| format!("no service that can be shared: {name}"))
    };
    let found: Vec<_> = value.split_whitespace().map(one).collect::<Result<_, _>>()?;
    if found.is_empty() { Err("no service".into()) } else { Ok(found) }
}

/// A number, with K, M or G for powers of 1024.
fn number(name: &str, value: &str, min: u64, max: u64) -> Result<u64, String> {
    let (digits, shift) = match value.as_bytes().last() {
        Some(b'K') => (&value[..value.len() - 1], 10),
        Some(b'M') => (&value[..value.len() - 1], 20),
        Some(b'G') => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    let n = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    n.filter(|n| (min..=max).contains(n)).ok_or_else(|| format!("{name} is not {min} to {max}"))
}

pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits) && !name.starts_with('.')
}

impl Config {
    /// No function yet, and the defaults.
    pub fn new(folder: impl Into<PathBuf>) -> Config {
        let functions = Vec::new();
        Config { folder: folder.into(), engines: None, batch_us: 4000, functions, capacity: None }
    }

    /// Where the socket of a function is.
    pub fn socket(&self, function: &FunctionConfig) -> PathBuf {
        function.socket(&self.folder)
    }

    /// Reads a file's text. Without `folder`: `/run/lookaside`.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut config = Config::new("/run/lookaside");
        // Where each function begins.
        let mut begins = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            config.line(line).map_err(|what| ConfigError { line: i + 1, what })?;
            begins.resize(config.functions.len(), i + 1);
        }
        for (function, line) in config.functions.iter().zip(begins) {
            let checked = function.promises().check();
            let named =
                |(key, why)| ConfigError { line, what: format!("{}: {key}: {why}", function.name) };
            checked.map_err(named)?;
        }
        Ok(config)
    }

    /// A file's text in which the function `name` has these settings, or is no more: its section is replaced, or a new one
    /// put at the end. All other lines stay, comments included.
    pub fn with_function(text: &str, name: &str, function: Option<&FunctionConfig>) -> String {
        let header =
            |line: &&str| line.split('#').next().unwrap_or_default().trim().starts_with('[');
        let is_its =
            |line: &&str| line.split('#').next().unwrap_or_default().trim() == format!("[{name}]");
        let lines: Vec<&str> = text.lines().collect();
        let begin = lines.iter().position(is_its).unwrap_or(lines.len());
        let behind = lines.iter().skip(begin + 1).position(header);
        let mut end = behind.map_or(lines.len(), |n| begin + 1 + n);
        // Comments right above the next section are that one's.
        while end > begin + 1 && end < lines.len() && lines[end - 1].trim_start().starts_with('#') {
            end -= 1;
        }
        let mut out: String = lines[..begin].iter().map(|line| format!("{line}\n")).collect();
        if let Some(function) = function {
            if begin == lines.len() && !out.is_empty() && !out.ends_with("\n\n") {
                out.push('\n');
            }
            out += &format!("[{name}]\n");
            let default = FunctionConfig::new(name).settings();
            for (one, usual) in function.settings().iter().zip(&default) {
                if one != usual {
                    out += &format!("{} = {}\n", one.0, one.1);
                }
            }
            if end < lines.len() {
                out.push('\n');
            }
        }
        let rest = lines.get(end..).unwrap_or_default();
        out.extend(rest.iter().map(|line| format!("{line}\n")));
        out
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if !is_name(name) {
                return Err(format!("not a name of a virtual function: {name}"));
            }
            if self.functions.iter().any(|function| function.name == name) {
                return Err(format!("two virtual functions are named {name}"));
            }
            self.functions.push(FunctionConfig::new(name));
            return Ok(());
        }
        let (name, value) = line.split_once('=').ok_or("not a line NAME = VALUE or [NAME]")?;
        let (name, value) = (name.trim(), value.trim());
        match (self.functions.last_mut(), name) {
            (Some(function), _) => function.set(name, value),
            (None, "folder") if value.starts_with('/') => {
                self.folder = value.into();
                Ok(())
            }
            (None, "folder") => Err("folder is not a path from the root".into()),
            (None, "engines") => {
                self.engines = Some(number(name, value, 1, 1024)? as usize);
                Ok(())
            }
            (None, "batch") => {
                self.batch_us = number(name, value, 0, 10_000)?;
                Ok(())
            }
            (None, _) => Err(format!("no setting of the server: {name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_all() {
        let text = "folder = /x\nengines = 2\nbatch=100\n\n[a]\nservices = dc pke # two\nfolder = f\nmode = 660\n\
                    users = 1 2\ndepth = 16\narena = 1M\nmemory = 1G\nconnections = 9\nsessions = 7\n\
                    weight = 3\ncommitted = 5000 RSA/s, 1 Gbit/s DEFLATE\npeak = 9000 RSA/s\n[b.c]\n";
        let config = Config::parse(text).unwrap();
        assert_eq!((config.engines, config.batch_us), (Some(2), 100));
        let a = FunctionConfig {
            name: "a".into(),
            services: vec![Service::Dc, Service::Pke],
            folder: "f".into(),
            mode: 0o660,
            users: Some(vec![1, 2]),
            depth: 16,
            arena: 1 << 20,
            memory: 1 << 30,
            connections: 9,
            sessions: 7,
            weight: 3,
            committed: Rate::parse_list("5000 RSA/s, 1 Gbit/s DEFLATE").unwrap(),
            peak: Rate::parse_list("9000 RSA/s").unwrap(),
        };
        let sockets: Vec<_> = config.functions.iter().map(|f| config.socket(f)).collect();
        assert_eq!(sockets, [PathBuf::from("/x/f/a.sock"), PathBuf::from("/x/b.c.sock")]);
        assert_eq!(config.functions, [a, FunctionConfig::new("b.c")]);
    }

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let text = "engines = 2\n\n# the first\n[a]\nweight = 3 # three\n\n# the second\n[b]\nmode = 666\n";
        let mut a = FunctionConfig::new("a");
        a.set("committed", "5 RSA/s").unwrap();
        let changed = Config::with_function(text, "a", Some(&a));
        assert_eq!(
            changed,
            "engines = 2\n\n# the first\n[a]\ncommitted = 5 RSA/s\n\n# the second\n[b]\nmode = 666\n"
        );
        assert_eq!(Config::parse(&changed).unwrap().functions[0], a);
        let without = Config::with_function(&changed, "a", None);
        assert_eq!(without, "engines = 2\n\n# the first\n# the second\n[b]\nmode = 666\n");
        let c = FunctionConfig { weight: 9, ..FunctionConfig::new("c") };
        let more = Config::with_function(text, "c", Some(&c));
        assert_eq!(more, format!("{text}\n[c]\nweight = 9\n"));
        assert_eq!(Config::with_function(text, "d", None), text);
        let all = Config::parse(&more).unwrap().functions;
        let shown: String = all.iter().map(ToString::to_string).collect();
        assert_eq!(Config::parse(&shown).unwrap().functions, all, "{shown}");
    }

    #[test]
    fn mistakes_have_their_line() {
        for (text, line) in [
            ("folder = here", 1),
            ("\nwhat = 1", 2),
            ("[a]\ndepth = 3", 2),
            ("[a]\narena = 5000", 2),
            ("[a]\n[a]", 2),
            ("[../a]", 1),
            ("[]", 1),
            ("[a]\nservices = scan", 2),
            ("[a]\nservices =", 2),
            ("[a]\nfolder = a/../b", 2),
            ("[a]\nmode = 999", 2),
            ("[a]\nmemory = 99999999999999999999G", 2),
            ("[a]\nmemory = K", 2),
            ("engines = 0", 1),
            ("nothing", 1),
            ("[a]\nservices = dc dc", 1),
            ("[a]\ncommitted = 5 apples/s", 2),
            ("[a]\nservices = dc\ncommitted = 5 RSA/s\n[b]", 1),
            ("[b]\n[a]\ncommitted = 5 RSA/s\npeak = 4 RSA/s", 2),
        ] {
            assert_eq!(Config::parse(text).map_err(|e| e.line), Err(line), "{text}");
        }
    }
}
