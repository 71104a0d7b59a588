//! `lookaside vf`: virtual functions of a server that runs.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, Subcommand};
use lookaside::Op;
use lookaside_server::{Ask, Config, ControlError, FunctionConfig, Listed, ask};
use lookaside_shared::{Settings, SharedDevice};
use serde_json::{Map, Value, json};

use crate::{replace::replace, serve};

/// Shows and changes the virtual functions of the machine's device
///
/// Functions of a server that runs are added, changed and removed by the socket `control` in its folder, as the server's
/// user or root, by the same rules as in its configuration: a promise beyond what is available is refused with the
/// figures. The server keeps no change over its end, or when it reads its configuration again, unless --save writes it
/// there.
#[derive(Debug, Args)]
pub(crate) struct Vf {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Add(Add),
    Set(Set),
    Rm(Remove),
}

/// Lists virtual functions
///
/// Those of the server that runs, for its user and root. Where nobody answers on its control socket, each one of the
/// configuration is asked what it offers.
#[derive(Debug, Args)]
#[command(after_long_help = LIST_JSON)]
struct List {
    #[command(flatten)]
    place: serve::Place,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const LIST_JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; source: server, configuration; functions[] {name, socket,
  settings {services[], folder, mode, users, depth, arena, memory,
  connections, sessions, weight, committed[], peak[]}, connections, device_seconds,
  committed_seconds, offers}: connections and seconds of a server, offers of
  a configuration (what it offers, or why nobody answers); others are null.
  users is null where all may connect";

/// Adds a virtual function
#[derive(Debug, Args)]
#[command(after_long_help = CHANGED_JSON)]
struct Add {
    /// Its name: letters, digits, '-', '_', '.'
    name: String,
    /// As in the configuration: services='dc pke', committed='5000 RSA/s, 1 Gbit/s DEFLATE'; defaults for all others
    #[arg(value_name = "SETTING=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    #[command(flatten)]
    how: How,
}

/// Changes settings of a virtual function
///
/// The others stay. Rates, weight, permissions and limits change while its clients go on; with other services, depth or
/// arena it is closed, which answers what was taken, and opened: its clients connect again. `none` takes rates away,
/// `users=all` the list of users.
#[derive(Debug, Args)]
#[command(after_long_help = CHANGED_JSON)]
struct Set {
    /// Which one
    name: String,
    /// As in the configuration: weight=3 peak='2 Gbit/s DEFLATE'
    #[arg(value_name = "SETTING=VALUE", value_parser = setting, required = true)]
    settings: Vec<(String, String)>,
    #[command(flatten)]
    how: How,
}

/// Removes a virtual function
///
/// What was taken is answered; then its clients are disconnected. Their further requests go where
/// LOOKASIDE_DEVICE_POLICY says: `fallback` to their own CPU device, `fail` to an error, `wait` until there is a function
/// again.
#[derive(Debug, Args)]
#[command(after_long_help = CHANGED_JSON)]
struct Remove {
    /// Which one
    name: String,
    #[command(flatten)]
    how: How,
}

const CHANGED_JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; done: added, changed, removed; saved; function: as in lookaside
  vf list --json, as it is now, or was";

// What changes have in common; no help of its own.
#[derive(Debug, Args)]
struct How {
    #[command(flatten)]
    place: serve::Place,
    /// Write the change to the configuration, too: its section is replaced, all other lines stay
    #[arg(long)]
    save: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// A setting of the command line.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("SETTING=VALUE is wanted")?;
    if text.contains('\n') {
        return Err("a setting is one line".into());
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Does what is asked.
pub(crate) fn run(vf: &Vf) -> Result<String, Box<dyn Error>> {
    match &vf.command {
        Command::List(List { place, json }) => list(place, *json),
        Command::Add(Add { name, settings, how }) => {
            let (name, settings) = (name.clone(), settings.clone());
            change(&Ask::Add { name, settings }, how, "added")
        }
        Command::Set(Set { name, settings, how }) => {
            let (name, settings) = (name.clone(), settings.clone());
            change(&Ask::Set { name, settings }, how, "changed")
        }
        Command::Rm(Remove { name, how }) => {
            change(&Ask::Remove { name: name.clone() }, how, "removed")
        }
    }
}

/// The folder of the server's sockets.
pub(crate) fn folder(place: &serve::Place) -> Result<PathBuf, Box<dyn Error>> {
    match &place.folder {
        Some(folder) => Ok(folder.clone()),
        None => Ok(serve::read(place)?.folder),
    }
}

fn change(what: &Ask, how: &How, done: &str) -> Result<String, Box<dyn Error>> {
    let folder = folder(&how.place)?;
    let mut text = String::new();
    if how.save {
        // Before anything changes: whether there is a file.
        let path = how.place.config.display();
        text = fs::read_to_string(&how.place.config).map_err(|e| format!("{path}: {e}"))?;
    }
    let mut listed = ask(&folder, what)?;
    let one = listed.pop().ok_or(ControlError::Version)?;
    if how.save {
        let kept = (done != "removed").then_some(&one.config);
        let text = Config::with_function(&text, &one.config.name, kept);
        let path = &how.place.config;
        let permissions = fs::metadata(path).map(|file| file.permissions());
        let saved = permissions.and_then(|these| replace(path, &text, Some(these)));
        saved.map_err(|e| {
            format!(
                "{}: {e}; the server has changed, and its configuration has not",
                path.display()
            )
        })?;
    }
    if how.json {
        let value = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "done": done,
            "saved": how.save,
            "function": object(&one.config, &one.socket, Some(&one), None),
        });
        return Ok(serde_json::to_string_pretty(&value)? + "\n");
    }
    let saved =
        if how.save { "" } else { ", until the server ends or reads its configuration again" };
    Ok(format!("{}: {done}{saved}\n", one.config.name))
}

fn list(place: &serve::Place, json: bool) -> Result<String, Box<dyn Error>> {
    let all = match ask(&folder(place)?, &Ask::List) {
        Ok(listed) => Ok(listed),
        Err(e @ ControlError::Os(..)) => {
            let config = serve::read(place)?;
            Err((e, config))
        }
        Err(e) => return Err(e.into()),
    };
    if json {
        return Ok(serde_json::to_string_pretty(&list_object(&all))? + "\n");
    }
    let mut text = String::new();
    match all {
        Ok(listed) => {
            for Listed { config, socket, connections, device_time, committed_time, .. } in &listed {
                let services: Vec<&str> = config.services.iter().map(|s| s.name()).collect();
                let (name, socket) = (&config.name, socket.display());
                text += &format!("{name:<16} {socket}: {}\n", services.join(" "));
                text += &rates(config);
                let weight = config.weight;
                let (time, committed) = (device_time.as_secs_f64(), committed_time.as_secs_f64());
                text += &format!(
                    "{:<16} weight {weight}, {connections} connections, {time:.1} s of engines, \
                     {committed:.1} as committed\n",
                    ""
                );
            }
        }
        Err((why, config)) => {
            for function in &config.functions {
                let offers = describe(&config.socket(function));
                text += &format!("{:<16} {offers}\n{}", function.name, rates(function));
            }
            text += &format!("as {} says: {why}\n", place.config.display());
        }
    }
    Ok(text)
}

pub(crate) fn rates(function: &FunctionConfig) -> String {
    let mut text = String::new();
    for (what, rates) in [("committed", &function.committed), ("at most", &function.peak)] {
        if !rates.is_empty() {
            text += &format!("{:<16} {what} {}\n", "", listed(rates));
        }
    }
    text
}

/// Rates in one line; empty without any.
pub(crate) fn listed(rates: &[impl ToString]) -> String {
    rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list_object(all: &Result<Vec<Listed>, (ControlError, Config)>) -> Value {
    let (source, functions): (_, Vec<Value>) = match all {
        Ok(listed) => {
            let one = |one: &Listed| object(&one.config, &one.socket, Some(one), None);
            ("server", listed.iter().map(one).collect())
        }
        Err((_, config)) => {
            let one = |function: &FunctionConfig| {
                let socket = config.socket(function);
                object(function, &socket, None, Some(describe(&socket)))
            };
            ("configuration", config.functions.iter().map(one).collect())
        }
    };
    json!({ "version": env!("CARGO_PKG_VERSION"), "source": source, "functions": functions })
}

pub(crate) fn object(
    config: &FunctionConfig,
    socket: &Path,
    listed: Option<&Listed>,
    offers: Option<String>,
) -> Value {
    let mut settings: Map<String, Value> = Map::new();
    for (name, value) in config.settings() {
        let list = |text: &str, by: &str| text.split(by).map(Value::from).collect();
        let number = || value.parse::<u64>().map_or(Value::Null, Value::from);
        let value = match name {
            "services" => list(&value, " "),
            "committed" | "peak" if value == "none" => Value::Array(Vec::new()),
            "committed" | "peak" => list(&value, ", "),
            "users" => json!(config.users),
            "folder" | "mode" => Value::from(&*value),
            _ => number(),
        };
        settings.insert(name.to_owned(), value);
    }
    json!({
        "name": config.name,
        "socket": socket,
        "settings": settings,
        "connections": listed.map(|one| one.connections),
        "device_seconds": listed.map(|one| one.device_time.as_secs_f64()),
        "committed_seconds": listed.map(|one| one.committed_time.as_secs_f64()),
        "offers": offers,
    })
}

/// What a function offers, as a client sees it.
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
