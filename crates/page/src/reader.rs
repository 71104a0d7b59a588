//! The pages of folders: which there are, what they say, and whether their processes still are.

use std::{
    collections::HashMap,
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    folder::{Fault, Folder},
    layout::{ALIGN, MOST_BYTES, head},
    process::{Identity, State, namespace},
    read::Content,
};

/// A file of a folder.
#[derive(Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// What it says.
    pub content: Result<Content, Fault>,
    /// Whether its process still is; that of no page is not known.
    pub state: State,
    /// How long ago it was written to last, as the file system says, which may be when it was made; of a process that has
    /// not ended 0.
    pub age: Duration,
}

/// The most pages of a folder that are read, and the most bytes: whoever may write there keeps no reader busy.
const MOST_PAGES: usize = 65_536;
const MOST_OF_ALL: usize = 16 * MOST_BYTES;

/// Reads the pages of folders, again and again: of a thousand processes, each second, the system calls count. So it keeps
/// open what it has read, the file and a descriptor of the process, as far as it may.
#[derive(Debug, Default)]
pub struct Reader {
    /// The most pages that are kept open.
    most: usize,
    kept: usize,
    folders: HashMap<PathBuf, Pages>,
    /// What a page is read into.
    bytes: Vec<u8>,
}

/// What is kept of a folder: each page by its name.
#[derive(Debug, Default)]
struct Pages {
    kept: HashMap<String, Kept>,
    /// Whether it was read in this round.
    read: bool,
}

/// A page of a process that runs.
#[derive(Debug)]
struct Kept {
    page: Open,
    /// Ready to be read once the process has ended.
    process: OwnedFd,
}

/// A file that is a page.
#[derive(Debug)]
struct Open {
    file: OwnedFd,
    length: usize,
    /// The number of changes behind the last reading.
    changes: Option<u64>,
}

/// What a reading of a file gave.
type Reading = (Result<Content, Fault>, Open);

impl Reader {
    /// One that keeps up to `pages` open, two descriptors for each.
    pub fn keeping(pages: usize) -> Reader {
        Reader { most: pages, ..Reader::default() }
    }

    /// A new round over all folders begins: what is kept of those that the last round has not read is closed.
    pub fn begin(&mut self) {
        self.folders.retain(|_, pages| std::mem::take(&mut pages.read));
        self.kept = self.folders.values().map(|pages| pages.kept.len()).sum();
    }

    /// The pages of a folder, and how many more of them there are than are read. Other files are left alone.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn pages(&mut self, folder: &Folder) -> Result<(Vec<Found>, usize), Fault> {
        let mut names = folder.names()?;
        names.retain(|name| named(name).is_some());
        let more = names.len().saturating_sub(MOST_PAGES);
        names.truncate(MOST_PAGES);
        let (mut room, here) = (MOST_OF_ALL, namespace());
        let mut known = self.folders.remove(folder.path()).unwrap_or_default().kept;
        self.kept -= known.len();
        forget_ended(&mut known);
        let mut pages = Pages { kept: HashMap::with_capacity(known.len()), read: true };
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let (process, page) = match known.remove(&name) {
                Some(Kept { page, process }) => (Some(process), Ok(page)),
                None => (None, open(folder, &name)),
            };
            let read = page.and_then(|page| self.read(page, &name, here, &mut room));
            let (content, page) = match read {
                // It has ended meanwhile, and taken its page with it.
                Err(Fault::System(Errno::NOENT)) => continue,
                Err(fault) => (Err(fault), None),
                Ok((content, page)) => (content, Some(page)),
            };
            // A page that says something else than its name is not trusted to be of a process that has ended.
            let of_name = |content: &&Content| {
                named(&name) == Some((content.process.pid, content.process.start))
            };
            let (state, process) = match content.as_ref().ok().filter(of_name) {
                None => (State::Unknown, None),
                Some(_) if process.is_some() => (State::Running, process),
                Some(content) => self.look_at(&content.process, here),
            };
            let age = match &page {
                Some(page) if state == State::Ended => page.age(),
                _ => Duration::ZERO,
            };
            if let (Some(page), Some(process)) = (page, process) {
                self.kept += 1;
                pages.kept.insert(name.clone(), Kept { page, process });
            }
            found.push(Found { name, content, state, age });
        }
        if !pages.kept.is_empty() {
            self.folders.insert(folder.path().to_owned(), pages);
        }
        Ok((found, more))
    }

    /// Whether a process still is; its descriptor, where it runs and is to be kept.
    fn look_at(&self, process: &Identity, here: u64) -> (State, Option<OwnedFd>) {
        // Opened first: whoever is there afterwards with the same start was there before.
        let descriptor = || {
            let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        };
        let is_known = process.start != 0 && process.namespace == here;
        let kept = if is_known && self.kept < self.most { descriptor() } else { None };
        let state = process.state_in(here);
        (state, kept.filter(|_| state == State::Running))
    }

    /// What a file says. Takes its bytes of `room`.
    fn read(
        &mut self,
        mut page: Open,
        name: &str,
        here: u64,
        room: &mut usize,
    ) -> Result<Reading, Fault> {
        if page.length > MOST_BYTES.min(*room) {
            return Ok((Err(Fault::Large), page));
        }
        *room -= page.length;
        // Whatever is no page is not waited for.
        if page.changes.is_none() {
            self.fill(&page.file, page.length.min(ALIGN))?;
            if let Err(fault) = Content::of(&self.bytes) {
                return Ok((Err(fault), page));
            }
        }
        // Counts that move from one section to another would be there twice, or not at all. A process may be kept from its CPU
        // in the middle, and one that was killed there leaves an odd number for ever.
        const TURNS: usize = 200;
        for turn in 0..TURNS {
            let before = match page.changes.take() {
                Some(before) => before,
                None => changes(&page.file)?,
            };
            if self.fill(&page.file, page.length)? > page.length {
                let more = length(&page.file)?.saturating_sub(page.length);
                if more > *room || page.length + more > MOST_BYTES {
                    return Ok((Err(Fault::Large), page));
                }
                *room -= more;
                page.length += more;
                continue;
            }
            let after = changes(&page.file)?;
            let moves = before % 2 != 0 || before != after;
            let is_over = || {
                let (pid, start) = named(name)?;
                let process = Identity { pid, start, namespace: here };
                Some(process.state_in(here) != State::Running)
            };
            if !moves || (turn > 2 && is_over() == Some(true)) {
                page.changes = Some(after);
                break;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok((Content::of(&self.bytes), page))
    }

    /// Reads a file's first bytes into the buffer, one more than `length` where there are more; returns how many there are.
    fn fill(&mut self, file: &OwnedFd, length: usize) -> Result<usize, Fault> {
        self.bytes.resize(length + 1, 0);
        let mut done = 0;
        // What ends where it is expected to is not asked once more.
        while done < length {
            match rustix::io::pread(file, &mut self.bytes[done..], done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.bytes.truncate(done);
        Ok(done)
    }
}

impl Open {
    /// How long ago it was written to.
    fn age(&self) -> Duration {
        let about = rustix::fs::fstat(&self.file).map_or(0, |about| about.st_mtime);
        let written = Duration::from_secs(u64::try_from(about).unwrap_or(0));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(written)
    }
}

fn open(folder: &Folder, name: &str) -> Result<Open, Fault> {
    let (file, length) = folder.open_file(name)?;
    Ok(Open { file, length: usize::try_from(length).unwrap_or(usize::MAX), changes: None })
}

fn length(file: &OwnedFd) -> Result<usize, Fault> {
    Ok(usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(usize::MAX))
}

fn changes(file: &OwnedFd) -> Result<u64, Fault> {
    let mut number = [0; 8];
    rustix::io::pread(file, &mut number, 8 * head::CHANGES as u64)?;
    Ok(u64::from_ne_bytes(number))
}

/// Closes what is kept of processes that have ended; all of it where the system does not say which.
fn forget_ended(known: &mut HashMap<String, Kept>) {
    let mut fds: Vec<_> = known
        .values()
        .map(|kept| PollFd::from_borrowed_fd(kept.process.as_fd(), PollFlags::IN))
        .collect();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let asked = fds.is_empty() || poll(&mut fds, Some(&at_once)).is_ok();
    let runs: Vec<bool> = fds.iter().map(|fd| asked && fd.revents().is_empty()).collect();
    let mut runs = runs.into_iter();
    // In the order of `values`, as nothing has changed.
    known.retain(|_, _| runs.next() == Some(true));
}

/// The process whose page has this name; `None` where the name is not one of a page.
fn named(name: &str) -> Option<(u64, u64)> {
    let mut parts = name.split('-').map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| digits)
    });
    let (pid, start, _) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some((pid, start))
}
