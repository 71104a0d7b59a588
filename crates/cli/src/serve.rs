//! `lookaside serve` and `lookaside vf list`: one device for the whole machine.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use lookaside::Op;
use lookaside_server::{Config, Server, StartError};
use lookaside_shared::{Settings, SharedDevice};
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
/// SIGHUP reads the file again. Rates are promised by what `lookaside
/// capacity --stored` has measured.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The virtual functions; the format is in front/server/README.md
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Where the sockets lie, whatever the file says
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

fn read(options: &Options) -> Result<Config, Box<dyn Error>> {
    let path = options.config.display();
    let text = fs::read_to_string(&options.config).map_err(|e| format!("{path}: {e}"))?;
    let mut config = Config::parse(&text).map_err(|e| format!("{path}: {e}"))?;
    if let Some(folder) = &options.folder {
        config.folder.clone_from(folder);
    }
    if config.functions.is_empty() {
        return Err(format!("{path} has no virtual function ([NAME])").into());
    }
    Ok(config)
}

/// The configuration, and what requests cost here where rates are promised.
fn with_costs(options: &Options) -> Result<Config, Box<dyn Error>> {
    let mut config = read(options)?;
    if let Some(function) = config.functions.iter().find(|function| function.has_rates()) {
        let place = costs::place().ok_or("no folder for costs: HOME is not set")?;
        let costs = costs::stored(&place).map_err(|why| {
            let name = &function.name;
            format!("{name} has rates; lookaside capacity --stored measures what they take: {why}")
        })?;
        // The server knows how many engines there are.
        config.capacity = Some(costs.capacity(1));
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
    let config = with_costs(options)?;
    let mut server = Server::start(&config)?;
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
        match with_costs(options) {
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

/// Asks each virtual function of the configuration what it offers.
pub(crate) fn list(options: &Options) -> Result<String, Box<dyn Error>> {
    let config = read(options)?;
    let mut text = String::new();
    for function in &config.functions {
        let path = config.socket(function);
        text += &format!("{:<16} {}\n", function.name, describe(&path));
        for (what, rates) in [("committed", &function.committed), ("at most", &function.peak)] {
            let rates: Vec<String> = rates.iter().map(ToString::to_string).collect();
            if !rates.is_empty() {
                text += &format!("{:<16} {what} {}\n", "", rates.join(", "));
            }
        }
    }
    Ok(text)
}

fn describe(path: &Path) -> String {
    use lookaside::Device as _;
    let settings = Settings { timeout: Duration::from_secs(2), ..Settings::new(path) };
    match SharedDevice::new(settings) {
        Ok(device) => {
            let offered = |op: &Op| device.best_batch(*op) > 0;
            let mut services: Vec<&str> =
                Op::ALL.into_iter().filter(offered).map(|op| op.service().name()).collect();
            services.dedup();
            format!("{}: {}", path.display(), services.join(" "))
        }
        Err(refusal) => refusal.to_string(),
    }
}
