//! The folder of one `lookaside run`: the pages of all processes of a command, summed as they end, removed at the end.

use std::{
    collections::BTreeMap,
    env,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use lookaside_page::{Fault, Folder, Identity, Reader, State, read::Content};

/// What the processes of one command have counted.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    /// Everything together.
    pub(crate) content: Option<Content>,
    /// The pages that have rows of each library.
    pub(crate) libraries: BTreeMap<String, u64>,
    /// The pages that have rows of devices.
    pub(crate) devices: u64,
    /// Pages that could not be read, and why the last one.
    pub(crate) faults: Option<(u64, Fault)>,
}

impl Sum {
    fn add(&mut self, content: Content) {
        let mut names: Vec<_> = content.calls.iter().map(|call| call.library.clone()).collect();
        names.dedup();
        for name in names {
            *self.libraries.entry(name).or_default() += 1;
        }
        self.devices += u64::from(!content.operations.is_empty());
        if let Some(fault) = &content.fault {
            self.fault(fault.clone());
        }
        match &mut self.content {
            Some(sum) => sum.add(content),
            None => self.content = Some(content),
        }
    }

    fn fault(&mut self, fault: Fault) {
        let count = self.faults.take().map_or(0, |(count, _)| count);
        self.faults = Some((count + 1, fault));
    }
}

/// The folder. It is removed with all that is in it.
pub(crate) struct Own {
    folder: Folder,
    /// It within another one, where the user's folder can be had.
    within: Option<(Folder, String)>,
}

impl Own {
    /// Makes it: in the user's folder, where `lookaside top` looks, or else beside temporary files.
    pub(crate) fn new() -> Result<Own, String> {
        let Identity { pid, start, .. } = Identity::own();
        let name = format!("run-{pid}-{start}");
        if let Ok(parent) = Folder::make_default()
            && let Ok(folder) = Folder::make(&parent.path().join(&name))
        {
            return Ok(Own { folder, within: Some((parent, name)) });
        }
        let path = env::temp_dir().join(format!("lookaside-{name}"));
        // One that is there already could be anybody's.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = Folder::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Own { folder, within: None })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A name for another file of the run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Adds the pages of processes that have ended, or `all`, and removes them.
    pub(crate) fn gather(&self, sum: &mut Sum, all: bool) -> Result<(), Fault> {
        // More than are read at once come with the next turn.
        loop {
            let (found, more) = Reader::default().pages(&self.folder)?;
            for page in found.into_iter().filter(|page| all || page.state == State::Ended) {
                self.folder.remove(&page.name)?;
                match page.content {
                    Ok(content) => sum.add(content),
                    Err(fault) => sum.fault(fault),
                }
            }
            if !all || more == 0 {
                return Ok(());
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for name in self.folder.names().unwrap_or_default() {
            let _ = self.folder.remove(&name);
        }
        match &self.within {
            Some((parent, name)) => {
                let _ = parent.remove_folder(name);
            }
            None => {
                let _ = std::fs::remove_dir(self.path());
            }
        }
    }
}
