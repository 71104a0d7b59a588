//! `lookaside serve` and `lookaside vf list`: one device for the whole machine.

use std::{
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lookaside::Op;
use lookaside_server::{Config, Server};
use lookaside_shared::{Settings, SharedDevice};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// Where the configuration is, unless an option says otherwise.
const CONFIG: &str = "/etc/lookaside-server.conf";

/// The options of `lookaside serve`, and of `lookaside vf list`.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    config: PathBuf,
    folder: Option<PathBuf>,
}

/// Reads the options; `None`: help is wanted.
pub fn parse(args: &[OsString]) -> Result<Option<Options>, String> {
    let mut options = Options { config: CONFIG.into(), folder: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        let (key, attached) = match text.split_once('=') {
            Some((key, value)) => (key, Some(OsString::from(value))),
            None => (text, None),
        };
        let mut value = || {
            let value = attached.clone().or_else(|| args.next().cloned());
            value.map(PathBuf::from).ok_or_else(|| format!("{key} wants a value"))
        };
        match key {
            "--help" | "-h" => return Ok(None),
            "--config" => options.config = value()?,
            "--folder" => options.folder = Some(value()?),
            _ => return Err(format!("unknown option {}", arg.to_string_lossy())),
        }
    }
    Ok(Some(options))
}

/// The options of `lookaside vf`, of which `list` is the only command.
pub fn parse_vf(args: &[OsString]) -> Result<Option<Options>, String> {
    match args.split_first() {
        Some((command, rest)) if command == "list" => parse(rest),
        Some((help, _)) if help == "--help" || help == "-h" => Ok(None),
        _ => Err("vf wants a command: list".into()),
    }
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

/// Serves until a signal says to end. SIGHUP has the configuration read again.
pub fn serve(options: &Options) -> Result<String, Box<dyn Error>> {
    // Before the engines start: a signal in between is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let config = read(options)?;
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
        match read(options) {
            Ok(config) => match server.reload(&config) {
                Ok(()) => eprintln!("lookaside serve: the configuration was read again"),
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
pub fn list(options: &Options) -> Result<String, Box<dyn Error>> {
    let config = read(options)?;
    let mut text = String::new();
    for function in &config.functions {
        let path = config.folder.join(format!("{}.sock", function.name));
        text += &format!("{:<16} {}\n", function.name, describe(&path));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parsed =
            |line: &str| parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        let all = Options { config: "a".into(), folder: Some("b".into()) };
        assert_eq!(parsed("--config a --folder=b"), Ok(Some(all)));
        assert_eq!(parsed("--help"), Ok(None));
        assert!(parsed("--what").is_err() && parsed("--config").is_err());
        assert!(parse_vf(&[]).is_err() && parse_vf(&["add".into()]).is_err());
        assert!(matches!(parse_vf(&["list".into()]), Ok(Some(_))));
    }
}
