//! `lookaside serve`: one device for the whole machine.

use std::{error::Error, fs, path::PathBuf};

use clap::Args;
use lookaside_server::{Config, FunctionConfig, Server, StartError};
use rustix::process::{Resource, Rlimit};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use crate::costs;

/// Where the configuration is, unless an option says otherwise.
const CONFIG: &str = "/etc/lookaside-server.conf";

/// Runs one device for all processes of the machine
///
/// As any user: engines, and a socket for each virtual function of the configuration. A program uses one by
/// LOOKASIDE_DEVICE=SOCKET. Requests of different processes fill one batch. SIGTERM answers what was taken and ends;
/// SIGHUP reads the file again. Sockets that systemd passes (LISTEN_FDS) are used in place of its own. Rates are promised
/// by what `lookaside capacity --stored` has measured. `lookaside vf` changes functions while it runs.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
}

// Where a server's functions are. No help of its own: it would be that of the commands that have it.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The virtual functions; the format is in front/server/README.md
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    pub(crate) config: PathBuf,
    /// Where the sockets lie, whatever the file says
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// The configuration.
pub(crate) fn read(options: &Place) -> Result<Config, Box<dyn Error>> {
    let path = options.config.display();
    let text = fs::read_to_string(&options.config).map_err(|e| format!("{path}: {e}"))?;
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

/// Each client takes five descriptors: this process may have as many as its hard limit says. (Nothing here uses
/// `select`, for which the soft limit is low.)
fn raise_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let all = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(e) = rustix::process::setrlimit(Resource::Nofile, all) {
        eprintln!("lookaside serve: the limit of descriptors stays {:?}: {e}", limit.current);
    }
}

/// Serves until a signal says to end. SIGHUP has the configuration read again.
pub(crate) fn serve(options: &Options) -> Result<String, Box<dyn Error>> {
    // Before the engines start: a signal in between is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    raise_descriptors();
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
