//! The page of this process.

use std::{
    io::{Write as _, stderr},
    ops::Deref,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, Release, SeqCst},
        },
    },
    time::SystemTime,
};

use lookaside_secure::secure_variable;
use rustix::{fs::FallocateFlags, io::Errno};

use crate::{
    folder::{Fault, Folder},
    layout::{ALIGN, MAGIC, MOST_BYTES, ORDER, SECTION, Shape, head, put, section},
    memory::{Forever, Words, at_exit},
    process::{Identity, program},
};

/// The variable that asks for pages.
pub const VARIABLE: &str = "LOOKASIDE_COUNTERS";

/// The page of a process, for as long as it lives.
pub struct Page {
    file: OwnedFd,
    /// The words of the head.
    head: Words,
    path: PathBuf,
    /// The file stays behind at the end.
    keep: bool,
    pid: u32,
    inner: Mutex<Inner>,
}

struct Inner {
    end: usize,
    pools: Vec<Arc<Pool>>,
}

/// Sections with the same rows.
struct Pool {
    shape: Shape,
    /// What banks that are gone have counted.
    past: Words,
    free: Mutex<Vec<Words>>,
}

/// What the setting asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    No,
    Default,
    Folder { path: PathBuf, keep: bool },
}

impl Wanted {
    fn of(value: &str) -> Wanted {
        match value {
            "" | "0" => Wanted::No,
            "1" => Wanted::Default,
            value => match value.strip_prefix("keep:") {
                Some(path) => Wanted::Folder { path: path.into(), keep: true },
                None => Wanted::Folder { path: value.into(), keep: false },
            },
        }
    }
}

/// What a process knows of its page; the answer of a parent process is another one's.
struct Answer {
    generation: u32,
    page: Option<Page>,
}

static ANSWER: Forever<Answer> = Forever::new();

impl Page {
    /// The page of this process; `None` where the setting asks for none, or, which is said once on standard error, it cannot
    /// be. `generation` is a number that differs between this process and those that it was forked from.
    pub fn of_process(generation: u32) -> Option<&'static Page> {
        loop {
            let known = ANSWER.get();
            if let Some(answer) = known
                && answer.generation == generation
            {
                return answer.page.as_ref();
            }
            let page = match Page::asked_for() {
                Ok(page) => page,
                Err((value, fault)) => {
                    let _ = writeln!(stderr(), "lookaside: {VARIABLE}={value}: {fault}");
                    None
                }
            };
            match ANSWER.set(known, Box::new(Answer { generation, page })) {
                Ok(()) => at_exit(remove_at_exit),
                // Another thread was first.
                Err(answer) => answer.page.iter().for_each(Page::unmake),
            }
        }
    }

    fn asked_for() -> Result<Option<Page>, (String, Fault)> {
        let value = secure_variable(c"LOOKASIDE_COUNTERS").unwrap_or_default();
        let (folder, keep) = match Wanted::of(&value.to_string_lossy()) {
            Wanted::No => return Ok(None),
            Wanted::Default => (Folder::make_default(), false),
            Wanted::Folder { path, keep } => (Folder::make(&path), keep),
        };
        let say = |fault| (value.to_string_lossy().into_owned(), fault);
        folder.and_then(|folder| Page::make(&folder, keep)).map(Some).map_err(say)
    }

    /// Makes a page for this process in a folder; unless it is to be kept, it is removed when the process ends by `exit`.
    ///
    /// # Errors
    /// The system's, among them that there is no room for the file.
    pub fn make(folder: &Folder, keep: bool) -> Result<Page, Fault> {
        let own = Identity::own();
        let mut n = 0;
        let (file, name) = loop {
            let name = format!("{}-{}-{n}", own.pid, own.start);
            match folder.make_file(&name) {
                Ok(file) => break (file, name),
                // Another library's in this process.
                Err(Errno::EXIST) if n < 1000 => n += 1,
                Err(e) => return Err(e.into()),
            }
        };
        let created = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut bytes = vec![0; ALIGN];
        for (place, value) in [
            (head::ORDER, ORDER),
            (head::PID, own.pid),
            (head::START, own.start),
            (head::CREATED, created.as_secs()),
            (head::NAMESPACE, own.namespace),
        ] {
            bytes[8 * place..8 * place + 8].copy_from_slice(&value.to_ne_bytes());
        }
        put(&mut bytes[head::PROGRAM], &program());
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        let made = reserve(&file, 0, ALIGN)
            .and_then(|()| write_at(&file, &bytes, 0))
            .and_then(|()| Words::mapped(file.as_fd(), 0, ALIGN / 8));
        match made {
            Ok(head) => Ok(Page {
                file,
                head,
                path: folder.path().join(name),
                keep,
                pid: std::process::id(),
                inner: Mutex::new(Inner { end: ALIGN, pools: Vec::new() }),
            }),
            Err(e) => {
                let _ = folder.remove(&name);
                Err(e.into())
            }
        }
    }

    /// Words for one thread that counts, or for several that add atomically. `None` where the page has no room left; it says
    /// so.
    pub fn bank(&'static self, shape: &Shape) -> Option<Bank> {
        let pool = self.pool(shape)?;
        let free = lock(&pool.free).pop();
        let words = match free {
            Some(words) => words,
            None => self.section(shape)?,
        };
        Some(Bank { words, pool: Some((self, pool)) })
    }

    /// Where several threads may add, atomically, to what banks of this shape have counted. `None` as for [`Page::bank`].
    pub fn past(&self, shape: &Shape) -> Option<Words> {
        let pool = self.pool(shape)?;
        Some(pool.past.part(0, pool.past.len()))
    }

    fn pool(&self, shape: &Shape) -> Option<Arc<Pool>> {
        let known = |inner: &Inner| inner.pools.iter().find(|pool| pool.shape == *shape).cloned();
        if let Some(pool) = known(&self.inner()) {
            return Some(pool);
        }
        let past = self.section(shape)?;
        let mut inner = self.inner();
        Some(known(&inner).unwrap_or_else(|| {
            let pool = Arc::new(Pool { shape: shape.clone(), past, free: Mutex::default() });
            inner.pools.push(pool.clone());
            pool
        }))
    }

    /// Words of a section that stays, and that no bank gives back.
    pub fn section(&self, shape: &Shape) -> Option<Words> {
        let made = self.try_section(shape);
        if made.is_err() {
            self.head[head::NO_ROOM].fetch_add(1, Relaxed);
        }
        made.ok()
    }

    fn try_section(&self, shape: &Shape) -> Result<Words, Errno> {
        let bytes = shape.section_bytes();
        let at = {
            let mut inner = self.inner();
            let (at, end) = (inner.end, inner.end + bytes);
            if end > MOST_BYTES {
                return Err(Errno::FBIG);
            }
            // A hole that the file system could not fill later would end the process.
            reserve(&self.file, at, bytes)?;
            inner.end = end;
            at
        };
        let text = shape.section();
        write_at(&self.file, &text[8..], at + 8)?;
        let words = Words::mapped(self.file.as_fd(), at, bytes / 8)?;
        words[section::MAGIC].store(SECTION, Release);
        Ok(words.part(shape.counts_at() / 8, shape.words()))
    }

    /// Moves what was counted in `from` to `past`. A reader that sees the change begin or end reads again.
    fn fold(&self, from: &[AtomicU64], past: &[AtomicU64]) {
        let _alone = self.inner();
        self.head[head::CHANGES].fetch_add(1, SeqCst);
        for (from, past) in from.iter().zip(past) {
            if from.load(Relaxed) != 0 {
                past.fetch_add(from.swap(0, SeqCst), SeqCst);
            }
        }
        self.head[head::CHANGES].fetch_add(1, SeqCst);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    fn is_ours(&self) -> bool {
        std::process::id() == self.pid
    }

    fn unmake(&self) {
        if self.is_ours() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn remove_at_exit() {
    let _ = std::panic::catch_unwind(|| {
        if let Some(page) = ANSWER.get().and_then(|answer| answer.page.as_ref())
            && !page.keep
        {
            page.unmake();
        }
    });
}

/// Has the file system set bytes aside, which are zeros.
fn reserve(file: &OwnedFd, at: usize, bytes: usize) -> Result<(), Errno> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), at as u64, bytes as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_at(file, &vec![0; bytes], at),
        other => other,
    }
}

fn write_at(file: &OwnedFd, mut bytes: &[u8], mut at: usize) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at as u64) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(n) => (bytes, at) = (&bytes[n..], at + n),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Words that one thread counts in, or several atomically. What they have counted stays in the page when the bank is dropped.
pub struct Bank {
    words: Words,
    pool: Option<(&'static Page, Arc<Pool>)>,
}

impl Bank {
    /// Words of no page.
    pub fn owned(shape: &Shape) -> Bank {
        Bank { words: Words::owned(shape.words()), pool: None }
    }
}

impl Deref for Bank {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        &self.words
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        // A parent process's words stay as they are, and its locks are not ours to take.
        if let Some((page, pool)) = self.pool.take().filter(|(page, _)| page.is_ours()) {
            page.fold(&self.words, &pool.past);
            lock(&pool.free).push(self.words.part(0, self.words.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_setting_asks_for() {
        let folder = |path: &str, keep| Wanted::Folder { path: path.into(), keep };
        for (value, wanted) in [
            ("", Wanted::No),
            ("0", Wanted::No),
            ("1", Wanted::Default),
            ("/run/x", folder("/run/x", false)),
            ("keep:/run/x", folder("/run/x", true)),
        ] {
            assert_eq!(Wanted::of(value), wanted, "{value}");
        }
    }
}
