//! Files that documents refer to.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use lookaside::xml::{External, Resolver, Resource};

/// Reads external entities from files, for one document after the other.
#[derive(Clone, Default)]
pub(super) struct Files(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Where the document lies.
    folder: PathBuf,
    missing: Vec<String>,
}

impl Files {
    /// The next document is this file, or one that is no file.
    pub(super) fn document(&self, name: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
        state.missing.clear();
    }

    /// What the document asked for in vain.
    pub(super) fn missing(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).missing)
    }

    pub(super) fn resolver(&self) -> Resolver {
        let files = self.0.clone();
        Resolver::new(move |wanted: &External<'_>| {
            let mut state = files.lock().unwrap_or_else(PoisonError::into_inner);
            let path = match (wanted.system.strip_prefix("file://"), wanted.base) {
                (Some(path), _) => PathBuf::from(path),
                (None, _) if has_scheme(wanted.system) => {
                    state.missing.push(format!("{}: nothing is fetched", wanted.system));
                    return None;
                }
                (None, Some(base)) => {
                    Path::new(base).parent().unwrap_or(Path::new("")).join(wanted.system)
                }
                (None, None) => state.folder.join(wanted.system),
            };
            match fs::read(&path) {
                Ok(bytes) => {
                    let base = path.to_string_lossy().into();
                    Some(Resource { bytes: bytes.into(), base })
                }
                Err(e) => {
                    state.missing.push(format!("{}: {e}", path.display()));
                    None
                }
            }
        })
    }
}

/// Whether a URI is absolute ([RFC 3986, 3.1]).
fn has_scheme(uri: &str) -> bool {
    let scheme = uri.split_once(':').map_or("", |parts| parts.0);
    let fine = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fine)
}

#[cfg(test)]
mod tests {
    use super::has_scheme;

    #[test]
    fn schemes() {
        assert!(has_scheme("http://a/b") && has_scheme("urn:a"));
        assert!(!has_scheme("a/b:c") && !has_scheme("") && !has_scheme("1:a") && !has_scheme("a"));
    }
}
