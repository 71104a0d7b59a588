//! `lookaside run --openssl`: the configuration that makes OpenSSL programs prefer our provider.

use std::{
    env, fs, io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The configuration that `make install` installs, with the installed path of the provider.
const TEMPLATE: &str = include_str!("../../../front/openssl/openssl.cnf.in");
/// That path in the template.
const INSTALLED: &str = "@PREFIX@/lib/lookaside/openssl/lookaside.so";

/// A configuration file for one run, and the file of the provider's counters. Both are removed at the
/// end.
pub(crate) struct Configuration {
    /// What `OPENSSL_CONF` is set to.
    pub(crate) path: PathBuf,
    counters: PathBuf,
}

impl Configuration {
    /// Writes the files beside `name`, a path that no other process uses.
    pub(crate) fn new(name: &Path) -> Result<Configuration, Box<dyn std::error::Error>> {
        let provider = beside_us()?;
        let with = |ending: &str| {
            let mut path = name.as_os_str().to_owned();
            path.push(ending);
            PathBuf::from(path)
        };
        let (path, counters) = (with(".cnf"), with(".openssl"));
        let mut open = fs::OpenOptions::new();
        open.write(true).create_new(true).mode(0o600);
        // From here on they are removed: not before, when they could be another's.
        open.open(&counters)?;
        let files = Configuration { path, counters };
        io::Write::write_all(
            &mut open.open(&files.path)?,
            text(&provider, &files.counters)?.as_bytes(),
        )?;
        Ok(files)
    }

    /// What the providers of all processes have printed.
    pub(crate) fn report(&self) -> io::Result<String> {
        let text = String::from_utf8_lossy(&fs::read(&self.counters)?).into_owned();
        Ok(match text.is_empty() {
            true => "lookaside: no process loaded the OpenSSL provider\n".to_owned(),
            false => text,
        })
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.counters);
    }
}

/// The template with the provider's path, and with its counters printed to a file.
fn text(provider: &Path, counters: &Path) -> Result<String, String> {
    let known = |path: &Path| {
        // OpenSSL's configuration has no way to write the others: $ begins a variable, # a comment.
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        match path.to_str().filter(|path| path.chars().all(plain)) {
            Some(path) => Ok(path.to_owned()),
            None => Err(format!("{}: not a path for an OpenSSL configuration", path.display())),
        }
    };
    let text = TEMPLATE.replace(INSTALLED, &known(provider)?);
    Ok(text + "statistics = " + &known(counters)? + "\n")
}

/// Whether there is a provider beside this command.
pub(crate) fn is_there() -> bool {
    beside_us().is_ok()
}

/// Where `make install` puts the provider, or cargo, as seen from this command.
fn beside_us() -> Result<PathBuf, String> {
    let here = env::current_exe().and_then(fs::canonicalize).map_err(|e| e.to_string())?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    ["../lib/lookaside/openssl/lookaside.so", "liblookaside_provider.so"]
        .into_iter()
        .find_map(|place| folder.join(place).canonicalize().ok())
        .ok_or_else(|| {
            format!(
                "there is no OpenSSL provider of ours in {0}/../lib/lookaside/openssl nor in {0} \
                 (make install, or the package lookaside-openssl)",
                folder.display()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_names_provider_and_counters() {
        let text = text(Path::new("/opt/la/lookaside.so"), Path::new("/tmp/run.openssl")).unwrap();
        let active: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(active.contains(&"module = /opt/la/lookaside.so"), "{text}");
        // The last section is the provider's, to which the settings belong.
        let section = active.iter().rposition(|line| line.starts_with('[')).unwrap();
        assert_eq!(active[section], "[lookaside_provider]");
        assert_eq!(active.last(), Some(&"statistics = /tmp/run.openssl"));
        assert!(active.iter().all(|line| !line.contains('@')), "{text}");
    }

    #[test]
    fn paths_that_a_configuration_cannot_say_are_refused() {
        for path in ["/a b", "/a$b", "/a#b", "/a\\b", "/a\nb", "/\u{e9}"] {
            assert!(text(Path::new(path), Path::new("/x")).is_err(), "{path}");
        }
    }
}
