//! The processes of all pages that can be seen.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lookaside_page::{Fault, Folder, Found, Identity, Reader, State, read::Content};

/// Pages of processes that ended longer ago are removed by whoever reads them.
const OLD: Duration = Duration::from_secs(24 * 3600);

// Where pages are looked for, and what becomes of those of processes that have ended.
#[derive(Debug, Default, PartialEq, clap::Args)]
pub(crate) struct Places {
    /// Read the pages of DIR (any number of times), not the user's own, of root everybody's
    #[arg(long = "folder", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Remove pages that killed processes have left; without it, those older than a day
    #[arg(long)]
    pub(crate) clean: bool,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Processes that run, or of which it is not known, by their numbers: what all their pages say.
    pub(crate) processes: Vec<Content>,
    /// What could not be read, a line each.
    pub(crate) notes: Vec<String>,
    /// Pages that were removed.
    pub(crate) removed: usize,
}

impl Places {
    fn folders(&self) -> Vec<PathBuf> {
        if !self.folders.is_empty() {
            return self.folders.clone();
        }
        let mut folders = Folder::defaults();
        if rustix::process::geteuid().is_root() {
            let within = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
            folders.extend(within("/run/user").map(|user| user.path().join("lookaside")));
            let ours = |path: &PathBuf| {
                let name = path.file_name().and_then(|name| name.to_str());
                let user = name.and_then(|name| name.strip_prefix("lookaside-"));
                user.is_some_and(|user| user.parse::<u32>().is_ok())
            };
            folders.extend(within("/tmp").map(|entry| entry.path()).filter(ours));
        }
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Reads all pages.
    pub(crate) fn read(&self) -> Seen {
        self.read_by(&mut Reader::default())
    }

    /// Reads all pages by a reader that has read them before.
    pub(crate) fn read_by(&self, reader: &mut Reader) -> Seen {
        reader.begin();
        let mut seen = Seen::default();
        let mut processes = BTreeMap::new();
        for path in self.folders() {
            match Folder::open(&path) {
                Ok(folder) => {
                    self.read_folder(reader, &folder, true, &mut processes, &mut seen);
                    self.read_runs(reader, &folder, &mut processes, &mut seen);
                }
                // Nobody has made one yet.
                Err(Fault::System(rustix::io::Errno::NOENT)) if self.folders.is_empty() => {}
                Err(fault) => seen.note(&path, &fault),
            }
        }
        seen.processes = processes.into_values().collect();
        seen
    }

    /// The folders of `lookaside run`, which takes the pages of processes that have ended itself.
    fn read_runs(
        &self,
        reader: &mut Reader,
        folder: &Folder,
        processes: &mut Processes,
        seen: &mut Seen,
    ) {
        for name in folder.names().unwrap_or_default() {
            let Some(run) = run_of(&name) else { continue };
            let over = run.state() == State::Ended;
            match folder.within(&name) {
                Ok(inner) => {
                    self.read_folder(reader, &inner, over, processes, seen);
                    let left = inner.names().unwrap_or_default();
                    // Beside pages a run has these.
                    if over && left.iter().all(|name| name.starts_with("run.")) {
                        left.iter().for_each(|name| drop(inner.remove(name)));
                        let _ = folder.remove_folder(&name);
                    }
                }
                Err(Fault::System(rustix::io::Errno::NOENT)) => {}
                Err(fault) => seen.note(&folder.path().join(&name), &fault),
            }
        }
    }

    fn read_folder(
        &self,
        reader: &mut Reader,
        folder: &Folder,
        may_remove: bool,
        processes: &mut Processes,
        seen: &mut Seen,
    ) {
        let found = match reader.pages(folder) {
            Ok((found, 0)) => found,
            Ok((found, more)) => {
                seen.notes.push(format!("{}: {more} more pages", folder.path().display()));
                found
            }
            Err(fault) => return seen.note(folder.path(), &fault),
        };
        for Found { name, content, state, age } in found {
            if state == State::Ended {
                if may_remove && (self.clean || age > OLD) {
                    match folder.remove(&name) {
                        Ok(()) => seen.removed += 1,
                        Err(fault) => seen.note(&folder.path().join(name), &fault),
                    }
                }
                continue;
            }
            match content {
                Ok(content) => {
                    if let Some(fault) = &content.fault {
                        seen.note(&folder.path().join(&name), fault);
                    }
                    match processes.get_mut(&content.process) {
                        Some(known) => known.add(content),
                        None => drop(processes.insert(content.process, content)),
                    }
                }
                Err(fault) => seen.note(&folder.path().join(&name), &fault),
            }
        }
    }
}

type Processes = BTreeMap<Identity, Content>;

impl Seen {
    fn note(&mut self, path: &Path, fault: &Fault) {
        self.notes.push(format!("{}: {fault}", path.display()));
    }
}

/// The `lookaside run` whose folder has this name.
fn run_of(name: &str) -> Option<Identity> {
    let (pid, start) = name.strip_prefix("run-")?.split_once('-')?;
    let namespace = Identity::own().namespace;
    Some(Identity { pid: pid.parse().ok()?, start: start.parse().ok()?, namespace })
}
