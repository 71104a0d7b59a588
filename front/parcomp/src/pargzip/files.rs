//! Files: which of them are taken, where the result goes, what it inherits.

use std::{
    fs::{self, File, FileTimes, Metadata, Permissions},
    io::{self, IsTerminal},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use parcomp::{Error, Summary, output::Output};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
};

use super::{
    Abort, Run,
    args::Task,
    list, member,
    member::Header,
    names, words,
    work::{Input, Stdout},
};

impl Run {
    /// Standard input to standard output.
    pub(crate) fn stdin(&mut self) -> Result<(), Abort> {
        let compress = self.o.task == Task::Compress;
        let terminal =
            if compress { io::stdout().is_terminal() } else { io::stdin().is_terminal() };
        if terminal && !self.o.force && self.o.task != Task::List {
            let (done, de) = if compress { ("written to", "") } else { ("read from", "de") };
            let message =
                format!("compressed data not {done} a terminal. Use -f to force {de}compression.");
            self.error(&message);
            self.tell(&format!("For help, type: {} -h\n", self.program));
            return Err(Abort);
        }
        let file = match rustix::io::dup(io::stdin()) {
            Ok(fd) => File::from(fd),
            Err(e) => {
                self.broken("stdin", &words(&e.into()));
                return Ok(());
            }
        };
        let meta = file.metadata().ok().filter(Metadata::is_file);
        // Behind where the file is at, its length means nothing.
        let len = meta.as_ref().map(Metadata::len);
        let len = len.filter(|_| matches!(rustix::fs::tell(&file), Ok(0)));
        let mut input = Input::new(file, len);
        if compress {
            let time = meta.map_or(0, |m| m.mtime());
            let header = member::header(self.o.level, self.time(time), None);
            let result = self.compress(&mut input, &header, &mut Stdout);
            return match result {
                Ok(summary) => {
                    if self.o.verbose {
                        let frame = header.len() as u64 + member::TRAILER;
                        let ratio = list::ratio_of(summary.bytes_out, summary.bytes_in, frame);
                        self.tell(&format!("{ratio}\n"));
                    }
                    Ok(())
                }
                Err(e) => self.failed("stdin", "stdout", &e),
            };
        }
        let Some(header) = self.recognise("stdin", &mut input)? else { return Ok(()) };
        if self.o.task == Task::List {
            let time = if self.o.names() { header.time.into() } else { 0 };
            return self.list("stdin", "stdout", &mut input, &header, time);
        }
        if self.unpack("stdin", &header, &mut input, None)?.is_some()
            && self.o.verbose
            && self.o.task == Task::Test
        {
            self.tell(" OK\n");
        }
        Ok(())
    }

    /// Decompresses to a file, to standard output or to nothing. `None`: it failed, and that was said.
    fn unpack(
        &mut self,
        name: &str,
        header: &Header,
        input: &mut Input,
        file: Option<(&mut Output, &str)>,
    ) -> Result<Option<Summary>, Abort> {
        let (mut null, mut stdout) = (io::sink(), Stdout);
        let (sink, target): (&mut dyn io::Write, &str) = match (self.o.task, file) {
            (Task::Test, _) => (&mut null, "stdout"),
            (_, Some((file, target))) => (file, target),
            (_, None) => (&mut stdout, "stdout"),
        };
        let result = match header.len {
            0 => self.copy(input, sink),
            _ => self.decompress(header, input, sink),
        };
        match result {
            Ok(summary) => {
                if summary.trailing_garbage {
                    if !self.o.quiet {
                        self.tell("\n");
                    }
                    self.warn(&format!("{name}: decompression OK, trailing garbage ignored"));
                }
                Ok(Some(summary))
            }
            Err(e) => self.failed(name, target, &e).map(|()| None),
        }
    }

    /// A file or folder that was named, or found in a folder.
    pub(crate) fn path(&mut self, path: &Path) -> Result<(), Abort> {
        let Some((path, file, meta)) = self.open(path) else { return Ok(()) };
        let name = path.to_string_lossy().into_owned();
        if meta.is_dir() {
            if self.o.recursive {
                return self.folder(&path);
            }
            self.warn(&format!("{name} is a directory -- ignored"));
            return Ok(());
        }
        let replaces = !self.o.stdout && !self.o.only_reads();
        if replaces && !self.may_be_replaced(&name, &meta) {
            return Ok(());
        }
        let len = meta.is_file().then_some(meta.len());
        let mut input = Input::new(file, len);
        if self.o.task == Task::Compress {
            return self.pack_file(&path, &name, &meta, &mut input);
        }
        self.unpack_file(&path, &name, &meta, &mut input)
    }

    /// Opens it; to decompress, also under a name with a suffix.
    fn open(&mut self, path: &Path) -> Option<(PathBuf, File, Metadata)> {
        let follow = self.o.force || self.o.stdout || self.o.only_reads();
        let open = |path: &Path| -> io::Result<(File, Metadata)> {
            // What is no file is not waited for: only with -c it is read.
            let meta = fs::metadata(path);
            let waits = meta.is_ok_and(|m| m.is_file() || m.is_dir()) || self.o.stdout;
            let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
            flags.set(OFlags::NOFOLLOW, !follow);
            flags.set(OFlags::NONBLOCK, !waits);
            let file = File::from(openat(CWD, path, flags, Mode::empty())?);
            let meta = file.metadata()?;
            Ok((file, meta))
        };
        let mut shown = path.to_owned();
        let mut result = open(path);
        let missing =
            |r: &io::Result<_>| matches!(r, Err(e) if e.kind() == io::ErrorKind::NotFound);
        if missing(&result)
            && self.o.task != Task::Compress
            && names::suffix_of(path.as_os_str().as_bytes(), &self.o.suffix).is_none()
        {
            let candidates = names::candidates(path, &self.o.suffix);
            shown.clone_from(&candidates[0]);
            for candidate in candidates {
                let other = open(&candidate);
                if !missing(&other) {
                    (shown, result) = (candidate, other);
                    break;
                }
            }
        }
        match result {
            Ok((file, meta)) => Some((shown, file, meta)),
            Err(e) => {
                self.error(&format!("{}: {}", shown.display(), words(&e)));
                None
            }
        }
    }

    /// Files in it, and in folders in it.
    fn folder(&mut self, path: &Path) -> Result<(), Abort> {
        let entries = fs::read_dir(path).and_then(|entries| {
            entries.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()
        });
        match entries {
            Ok(entries) => entries.into_iter().try_for_each(|path| self.path(&path)),
            Err(e) => {
                self.error(&format!("{}: {}", path.display(), words(&e)));
                Ok(())
            }
        }
    }

    fn may_be_replaced(&mut self, name: &str, meta: &Metadata) -> bool {
        const SET_USER: u32 = 0o4000;
        const SET_GROUP: u32 = 0o2000;
        const STICKY: u32 = 0o1000;
        if !meta.is_file() {
            self.warn(&format!("{name} is not a directory or a regular file - ignored"));
            return false;
        }
        if self.o.force {
            return true;
        }
        let mode = meta.mode();
        let what = if mode & SET_USER != 0 {
            "is set-user-ID on execution - ignored".into()
        } else if mode & SET_GROUP != 0 {
            "is set-group-ID on execution - ignored".into()
        } else if mode & STICKY != 0 {
            "has the sticky bit set - file ignored".into()
        } else if meta.nlink() > 1 {
            let others = meta.nlink() - 1;
            let s = if others == 1 { "" } else { "s" };
            format!("has {others} other link{s} -- file ignored")
        } else {
            return true;
        };
        self.warn(&format!("{name} {what}"));
        false
    }

    /// A time for a header: 0 where none is to be there, or it does not fit.
    fn time(&self, seconds: i64) -> u32 {
        match self.o.names() {
            true => u32::try_from(seconds).unwrap_or(0),
            false => 0,
        }
    }

    fn pack_file(
        &mut self,
        path: &Path,
        name: &str,
        meta: &Metadata,
        input: &mut Input,
    ) -> Result<(), Abort> {
        let bytes = path.as_os_str().as_bytes();
        if !self.o.stdout
            && !self.o.force
            && let Some(suffix) = names::suffix_of(bytes, &self.o.suffix)
        {
            // Not worth a line for each file of a folder.
            if self.o.verbose || !(self.o.recursive || self.o.quiet) {
                let suffix = String::from_utf8_lossy(suffix);
                self.say(&format!("{name} already has {suffix} suffix -- unchanged"));
            }
            return Ok(());
        }
        let stored = path.file_name().filter(|_| self.o.names()).map(OsStrExt::as_bytes);
        let time = if meta.is_file() { meta.mtime() } else { 0 };
        let header = member::header(self.o.level, self.time(time), stored);
        let target = (!self.o.stdout).then(|| names::with_suffix(path, &self.o.suffix));
        let Some(mut output) = self.create(target.as_deref(), meta) else { return Ok(()) };
        if self.o.verbose {
            self.tell(&format!("{name}:\t"));
        }
        let result = match &mut output {
            Some(file) => self.compress(input, &header, file),
            None => self.compress(input, &header, &mut Stdout),
        };
        let target = target.unwrap_or_else(|| "stdout".into());
        match result {
            Ok(s) => {
                let frame = header.len() as u64 + member::TRAILER;
                self.done(path, meta, output, &target, (s.bytes_out, s.bytes_in, frame), None)
            }
            Err(e) => self.failed(name, &target.to_string_lossy(), &e),
        }
    }

    fn unpack_file(
        &mut self,
        path: &Path,
        name: &str,
        meta: &Metadata,
        input: &mut Input,
    ) -> Result<(), Abort> {
        let to_file = !self.o.stdout && !self.o.only_reads();
        let short = names::without_suffix(path, &self.o.suffix);
        // A folder may have files of any kind: those are passed over.
        let passes = self.o.recursive && self.o.only_reads();
        if short.is_none() && (to_file || passes) {
            if self.o.verbose || !self.o.recursive {
                self.warn(&format!("{name}: unknown suffix -- ignored"));
            }
            return Ok(());
        }
        let Some(header) = self.recognise(name, input)? else { return Ok(()) };
        let mut target = short.unwrap_or_else(|| path.to_owned());
        if self.o.names()
            && let Some(stored) = &header.name
        {
            // Of a stored path the last part: a file does not choose the folder.
            let last = stored.rsplit(|&b| b == b'/').next().unwrap_or_default();
            if !last.is_empty() && last != b"." && last != b".." {
                target.set_file_name(std::ffi::OsString::from_vec(last.to_vec()));
            }
        }
        if self.o.task == Task::List {
            let stored = self.o.names() && header.time != 0;
            let time = if stored { header.time.into() } else { meta.mtime() };
            return self.list(name, &target.to_string_lossy(), input, &header, time);
        }
        let Some(mut output) = self.create(to_file.then_some(&*target), meta) else {
            return Ok(());
        };
        if self.o.verbose {
            self.tell(&format!("{name}:\t"));
        }
        if !to_file {
            target = "stdout".into();
        }
        let shown = target.to_string_lossy().into_owned();
        let file = output.as_mut().map(|file| (file, &*shown));
        let Some(s) = self.unpack(name, &header, input, file)? else { return Ok(()) };
        let frame = header.len as u64 + member::TRAILER;
        let time = Some(header.time).filter(|&time| self.o.names() && time != 0);
        self.done(path, meta, output, &target, (s.bytes_in, s.bytes_out, frame), time)
    }

    /// The output for `target`, or for standard output. `None`: it is not to be written, and that was said.
    fn create(&mut self, target: Option<&Path>, meta: &Metadata) -> Option<Option<Output>> {
        let Some(target) = target else { return Some(None) };
        let name = target.to_string_lossy();
        let mut over = self.o.force;
        if !over && fs::symlink_metadata(target).is_ok() {
            self.tell(&format!("{}: {name} already exists;", self.program));
            over = io::stdin().is_terminal() && {
                self.tell(" do you wish to overwrite (y or n)? ");
                let mut answer = String::new();
                _ = io::stdin().read_line(&mut answer);
                answer.trim_start().starts_with(['y', 'Y'])
            };
            if !over {
                self.tell("\tnot overwritten\n");
                if self.status == 0 {
                    self.status = super::WARNING;
                }
                return None;
            }
        }
        let mode = Some(meta.mode() & 0o777);
        let output = match over {
            true => Output::create_over(target, mode),
            false => Output::create(target, false, mode),
        };
        match output {
            Ok(output) => Some(Some(output)),
            Err(e) => {
                let what = match &e {
                    Error::Io { source, .. } => words(source),
                    Error::Exists(_) => words(&Errno::EXIST.into()),
                    other => other.to_string(),
                };
                self.error(&format!("{name}: {what}"));
                None
            }
        }
    }

    /// The output gets its name and the owner, mode and times of the input, which goes.
    fn done(
        &mut self,
        path: &Path,
        meta: &Metadata,
        output: Option<Output>,
        target: &Path,
        (packed, data, frame): (u64, u64, u64),
        time: Option<u32>,
    ) -> Result<(), Abort> {
        let keeps = self.o.keep;
        if let Some(output) = output {
            if let Err(e) = self.inherit(&output, meta, time) {
                self.warn(&format!("{}: {}", target.display(), words(&e)));
            }
            let kept = match self.o.synchronous {
                true => output.file().sync_all(),
                false => Ok(()),
            };
            let named = kept.map_err(|e| words(&e)).and_then(|()| {
                output.commit().map_err(|e| match &e {
                    Error::Io { source, .. } => words(source),
                    other => other.to_string(),
                })
            });
            if let Err(what) = named {
                self.broken(&target.to_string_lossy(), &what);
                return Ok(());
            }
            if self.o.synchronous {
                let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
                let synced =
                    File::open(folder.unwrap_or(Path::new("."))).and_then(|f| f.sync_all());
                if let Err(e) = synced {
                    self.error(&format!("{}: {}", target.display(), words(&e)));
                    return Ok(());
                }
            }
            if !keeps && let Err(e) = fs::remove_file(path) {
                self.error(&format!("{}: {}", path.display(), words(&e)));
            }
        }
        if self.o.verbose {
            let text = if self.o.task == Task::Test {
                " OK\n".to_owned()
            } else {
                let ratio = list::ratio_of(packed, data, frame);
                let what = if keeps { "created" } else { "replaced with" };
                format!("{ratio} -- {what} {}\n", target.display())
            };
            self.tell(&text);
        }
        Ok(())
    }

    /// Owner, mode and times; an owner that cannot be given is none of ours to say, as with gzip.
    fn inherit(&self, output: &Output, meta: &Metadata, time: Option<u32>) -> io::Result<()> {
        let file = output.file();
        let mut mode = meta.mode() & 0o777;
        if fchown(file, None, Some(meta.gid())).is_err() {
            // What the group may do, another group may not.
            mode &= 0o707;
        }
        _ = fchown(file, Some(meta.uid()), None);
        file.set_permissions(Permissions::from_mode(mode))?;
        let mut times = FileTimes::new().set_accessed(meta.accessed()?);
        times = times.set_modified(match time {
            Some(time) => UNIX_EPOCH + Duration::from_secs(time.into()),
            None => meta.modified()?,
        });
        file.set_times(times)
    }
}
