//! Files that are replaced as a whole.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Writes a file beside this one, and renames it: who reads never finds a part, and what fails leaves all as before. It has
/// these permissions, or without any those of a new file that all may read.
pub(crate) fn replace(path: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    // A collector of metrics reads files that end in `.prom`.
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut open = fs::OpenOptions::new();
    let mut file = open.write(true).create_new(true).mode(0o644).open(&beside)?;
    let permitted = permissions.map_or(Ok(()), |these| file.set_permissions(these));
    let written = permitted.and_then(|()| file.write_all(text.as_bytes()));
    let kept = written.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
    kept.inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
