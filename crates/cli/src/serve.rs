//! `lookaside serve`: one device for the whole machine.

use std::{error::Error, fs, io::ErrorKind, path::PathBuf};

use clap::Args;
use lookaside_server::{Config, FunctionConfig, Server, StartError};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::{costs, descriptors};

/// Where the configuration is, unless an option says otherwise.
const CONFIG: &str = "/etc/lookaside-server.conf";

/// The settings, as front/server/README.md has them.
const FORMAT: &str = "\
The configuration: lines NAME = VALUE; # begins a comment. Settings before the
first [NAME] are the server's:
  folder       where the sockets lie (/run/lookaside)
  engines      engine threads (one for each CPU)
  batch        microseconds that a request of a public key waits at most for
               those of other clients (4000)
Those behind it are the virtual function NAME's, whose socket is NAME.sock:
  services     of dc (compression), mv (copies), pke (public keys), kdf (key
               derivation), sym (ciphers, digests), rng (random numbers); or all
               (all)
  folder       where its socket lies, in the server's folder or by an absolute
               path: what a container is given (the server's folder)
  mode         permissions of the socket, octal: who may write may connect (600)
  users        numbers of the users who may connect, of those; or all (all)
  depth        requests in a ring, a power of two up to 4096 (64)
  arena        bytes of a ring's requests with their data; K, M, G may follow
               (4M)
  memory       bytes that all its clients together take of the server (1G)
  connections  one for each process and one for each of its rings (1024)
  sessions     of all its clients together (4096)
  weight       share of the engines beside others, 1 to 1000 (1)
  committed    rates that it gets before all others: 5000 RSA/s, 2 Gbit/s
               DEFLATE, 1 Gbit/s AES-SHA256; or none (none)
  peak         rates that it never exceeds; or none (none)

For example:
  engines = 4
  [web]
  services = pke
  mode = 660
  committed = 5000 RSA/s";

/// Runs one device for all processes of the machine
///
/// As any user: engines, and a socket for each virtual function of the configuration. A program uses one by
/// LOOKASIDE_DEVICE=SOCKET. Requests of different processes fill one batch. SIGTERM answers what was taken and ends;
/// SIGHUP reads the file again. Sockets that systemd passes (LISTEN_FDS) are used in place of its own. Rates are promised
/// by what `lookaside capacity --stored` has measured. `lookaside vf` changes functions while it runs.
#[derive(Debug, Args)]
#[command(after_long_help = FORMAT)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

// Where a server's functions are. No help of its own: it would be that of the commands that have it.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The configuration; lookaside serve --help has its format
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    pub(crate) config: PathBuf,
    /// Where the sockets lie, whatever the file says
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// The configuration.
pub(crate) fn read(options: &Place) -> Result<Config, Box<dyn Error>> {
    let path = options.config.display();
    let text = fs::read_to_string(&options.config).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            format!("{path}: {e}; --config names another, lookaside serve --help has its format")
        }
        _ => format!("{path}: {e}"),
    })?;
    let mut config = Config::parse(&text).map_err(|e| format!("{path}: {e}"))?;
    if let Some(folder) = &options.folder {
        config.folder.clone_from(folder);
    }
    Ok(config)
}

/// The configuration, and what requests cost here where rates are promised.
fn with_costs(options: &Place) -> Result<Config, Box<dyn Error>> {
    let mut config = read(options)?;
    let stored = match costs::place() {
        Some(place) => costs::stored(&place),
        None => Err("no folder for costs: HOME is not set".into()),
    };
    match (stored, config.functions.iter().find(|function| function.has_rates())) {
        // The server knows how many engines there are.
        (Ok(costs), _) => config.capacity = Some(costs.capacity(1)),
        (Err(why), Some(FunctionConfig { name, .. })) => {
            return Err(format!(
                "{name} has rates; lookaside capacity --stored measures what they take: {why}"
            )
            .into());
        }
        // Functions with rates that are to be added later are refused.
        (Err(_), None) => {}
    }
    Ok(config)
}

/// Serves until a signal says to end. SIGHUP has the configuration read again.
pub(crate) fn serve(options: &Options) -> Result<String, Box<dyn Error>> {
    // Before the engines start: a signal in between is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    // Each client takes five.
    if let Err((limit, e)) = descriptors::raise() {
        eprintln!("lookaside serve: the limit of descriptors stays {limit:?}: {e}");
    }
    let config = with_costs(&options.place)?;
    let sockets =
        lookaside_server::passed().map_err(|e| format!("sockets that were passed: {e}"))?;
    let server = Server::start_with(&config, sockets)?;
    eprintln!(
        "lookaside serve: {} engines, {} virtual functions in {}",
        server.engines(),
        config.functions.len(),
        config.folder.display()
    );
    for signal in signals.forever() {
        if signal != SIGHUP {
            break;
        }
        match with_costs(&options.place) {
            Ok(config) => match server.reload(&config) {
                Ok(()) => eprintln!("lookaside serve: the configuration was read again"),
                Err(e @ (StartError::Refused(_) | StartError::Costs { .. })) => {
                    eprintln!("lookaside serve: {e}; all stays as it was");
                }
                Err(e) => eprintln!("lookaside serve: {e}"),
            },
            Err(e) => eprintln!("lookaside serve: {e}; all stays as it was"),
        }
    }
    let counters = server.counters();
    drop(server);
    let answered: u64 = counters.ops.iter().map(|row| row.requests).sum();
    eprintln!("lookaside serve: ended, {answered} requests answered");
    Ok(String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_has_every_setting() {
        let (server, rest) = FORMAT.split_once("Those behind it").unwrap();
        let (function, example) = rest.split_once("For example:\n").unwrap();
        let names = |text: &str| -> Vec<String> {
            let rows = text.lines().filter_map(|line| line.strip_prefix("  "));
            let rows = rows.filter(|row| !row.starts_with(' '));
            rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect()
        };
        assert_eq!(names(server), ["folder", "engines", "batch"]);
        let settings = FunctionConfig::new("a").settings();
        assert_eq!(names(function), settings.each_ref().map(|(name, _)| *name));
        // Its defaults, where both have them as the same number or word.
        let function = function.replace("\n    ", " ");
        for (name, value) in settings.iter().filter(|(_, value)| (1..=4).contains(&value.len())) {
            let row = function.split("\n  ").find(|row| row.starts_with(name)).unwrap();
            assert!(row.trim_end().ends_with(&format!("({value})")), "{name} is {value}: {row}");
        }
        let config = Config::parse(example).unwrap();
        assert_eq!((config.engines, config.functions.len()), (Some(4), 1));
        assert!(config.functions[0].has_rates());
    }
}
