//! Whether our libraries load: asked of the loader and of OpenSSL, in child processes.

use std::{
    env,
    ffi::OsString,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{plain, see::own::Own};

/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a command to its end: whether it succeeded, and what it printed to both of its outputs.
fn ran(command: &mut Command) -> Result<(bool, String, String), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| format!("{name}: {}", plain(&e));
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    fn all(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|pipe| pipe.take(1 << 20).read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }
    let (out, err) = (all(child.stdout.take()), all(child.stderr.take()));
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name}: no answer for {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    Ok((status.success(), text(out), text(err)))
}

/// Asks the loader to load `file` with our library ahead: the library that it takes for `name`.
pub(super) fn library(
    loader: &Path,
    file: &Path,
    folder: &Path,
    name: &str,
) -> Result<PathBuf, String> {
    let mut folders = OsString::from(folder);
    if let Some(more) = env::var_os("LD_LIBRARY_PATH").filter(|more| !more.is_empty()) {
        folders.push(":");
        folders.push(more);
    }
    let mut command = Command::new(loader);
    command.arg("--list").arg(file).env("LD_LIBRARY_PATH", folders).env_remove("LD_PRELOAD");
    let (_, out, err) = ran(&mut command)?;
    // The loader prints what is missing, and goes on.
    let wrong = |line: &&str| {
        line.contains(name)
            && (line.contains("not found") || line.contains("no version information"))
    };
    if let Some(line) = out.lines().chain(err.lines()).find(wrong) {
        return Err(line.trim().to_owned());
    }
    let found = out.lines().find_map(|line| {
        let (one, rest) = line.trim().split_once(" => ")?;
        (one == name).then(|| PathBuf::from(rest.split(" (").next().unwrap_or(rest)))
    });
    match found {
        Some(path) if path.starts_with(folder) => Ok(path),
        Some(path) => Err(format!("the loader prefers {}", path.display())),
        None => Err(err.lines().next().unwrap_or("the loader does not find it").to_owned()),
    }
}

/// Has OpenSSL load the provider by a configuration.
pub(super) fn provider(configuration: &Path) -> Result<(), String> {
    let mut command = Command::new("openssl");
    command.args(["list", "-providers"]).env("OPENSSL_CONF", configuration);
    let (good, out, err) = ran(&mut command).map_err(|e| format!("it could not be tried: {e}"))?;
    let ours = out.split_once("\n  lookaside\n").map(|(_, rest)| rest);
    // Up to the next provider.
    let active = ours.is_some_and(|rest| {
        rest.lines().take_while(|line| line.starts_with("    ")).any(|l| l.ends_with(": active"))
    });
    match good && active {
        true => Ok(()),
        false => {
            let said = err.lines().find(|line| line.contains("lookaside"));
            let said = said.or_else(|| err.lines().next());
            Err(said.unwrap_or("openssl list -providers does not have it").trim().to_owned())
        }
    }
}

/// The same by the configuration that `lookaside run --openssl` makes.
pub(super) fn own_provider() -> Result<(), String> {
    let own = Own::new()?;
    let made =
        crate::openssl::Configuration::new(&own.file("doctor")).map_err(|e| e.to_string())?;
    provider(&made.path)
}
