//! What benches are given to measure with.

use std::fs;
use std::path::{Path, PathBuf};

/// The file at `path`, or the files of that folder, by name.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match path.is_file() {
        true => vec![path.to_owned()],
        false => fs::read_dir(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file())
            .collect(),
    };
    paths.sort();
    paths
}
