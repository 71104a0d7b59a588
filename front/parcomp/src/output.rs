//! A file that appears under its name when it is whole, or not at all.

use std::{
    ffi::CString,
    fs::{self, File, FileType},
    io::{self, IoSlice, Seek, SeekFrom, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::{
            ffi::OsStrExt,
            fs::{FileTypeExt, PermissionsExt},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags},
    io::Errno,
};

use crate::{error::Error, ffi};

/// An output file. It has no name, or a temporary one, until [`Output::commit`]; dropped before
/// that, it leaves nothing. A signal that ends the process leaves nothing either, and a `kill -9`
/// nothing under the final name.
#[derive(Debug)]
pub struct Output {
    file: File,
    path: PathBuf,
    /// The name that it has meanwhile.
    temporary: Option<PathBuf>,
    /// A device, pipe or socket is written in place.
    special: Option<FileType>,
    force: bool,
}

impl Output {
    /// Opens an output for `path`. Unless `force`, nothing that is there is ever replaced, also if
    /// it appears only later. With `mode`, the file gets these permission bits.
    ///
    /// # Errors
    /// [`Error::Exists`], and operating-system errors.
    pub fn create(path: &Path, force: bool, mode: Option<u32>) -> Result<Output, Error> {
        Self::open(path, force, mode, true)
    }

    /// The same by force, but where a link has the name, that is replaced and not what it points to.
    ///
    /// # Errors
    /// Operating-system errors.
    pub fn create_over(path: &Path, mode: Option<u32>) -> Result<Output, Error> {
        Self::open(path, true, mode, false)
    }

    fn open(path: &Path, force: bool, mode: Option<u32>, follow: bool) -> Result<Output, Error> {
        let failed = |e: io::Error| Error::io(format!("create {}", path.display()), e);
        let mut path = path.to_owned();
        let found = if follow { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        match found {
            Ok(m) if m.is_symlink() => {}
            Ok(m) if m.is_dir() => return Err(failed(Errno::ISDIR.into())),
            Ok(m) if !m.is_file() => {
                let file = File::options().write(true).open(&path).map_err(failed)?;
                let special = Some(m.file_type());
                return Ok(Output { file, path, temporary: None, special, force });
            }
            Ok(_) if !force => return Err(Error::Exists(path)),
            // Replace what a link points to, not the link.
            Ok(_) if follow => path = fs::canonicalize(&path).map_err(failed)?,
            Ok(_) => {}
            // A link to nowhere is there, too.
            Err(e) if e.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(&path) {
                Ok(_) if !force => return Err(Error::Exists(path)),
                _ => {}
            },
            Err(e) => return Err(failed(e)),
        }
        // These would be found out at the end, after all the work.
        if path.as_os_str().is_empty() {
            return Err(failed(Errno::NOENT.into()));
        }
        if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(failed(Errno::ISDIR.into()));
        }
        // Until it is whole, a file with given permissions is the owner's alone.
        let bits = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        let (file, temporary) = open_unnamed(&path, bits).map_err(failed)?;
        let output = Output { file, path, temporary, special: None, force };
        if let Some(mode) = mode {
            let bits = fs::Permissions::from_mode(mode & 0o777);
            output.file.set_permissions(bits).map_err(failed)?;
        }
        Ok(output)
    }

    /// Whether what was written can be read back from [`Output::file`].
    pub fn keeps(&self) -> bool {
        self.special.is_none()
    }

    /// Whether [`Output::restart`] has a meaning: not where a reader has got the bytes already.
    pub fn restarts(&self) -> bool {
        self.special.is_none_or(|t| t.is_char_device())
    }

    /// The file, for reading back what was written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Forgets what was written.
    ///
    /// # Errors
    /// Operating-system errors.
    pub fn restart(&mut self) -> io::Result<()> {
        if self.special.is_some() {
            return Ok(());
        }
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0)).map(|_| ())
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`Error::Exists`] when another one has it by now, and operating-system errors; the file is
    /// then gone.
    pub fn commit(mut self) -> Result<(), Error> {
        if self.special.is_some() {
            return Ok(());
        }
        let result = match (self.temporary.clone(), self.force) {
            (None, false) => link(&self.file, &self.path),
            (None, true) => match link(&self.file, &self.path) {
                Err(Errno::EXIST) => self.name().and_then(|t| rustix::fs::rename(t, &self.path)),
                other => other,
            },
            (Some(t), true) => rustix::fs::rename(t, &self.path),
            (Some(t), false) => rename_new(&t, &self.path),
        };
        match result {
            Ok(()) => {
                self.temporary = None;
                ffi::unfinished(None);
                Ok(())
            }
            Err(Errno::EXIST) => Err(Error::Exists(self.path.clone())),
            Err(e) => Err(Error::io(format!("create {}", self.path.display()), e.into())),
        }
    }

    /// Gives a nameless file a temporary name, because a link cannot replace a file.
    fn name(&mut self) -> Result<PathBuf, Errno> {
        for attempt in 0..100 {
            let path = temporary_name(&self.path, attempt);
            match link(&self.file, &path) {
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e),
                Ok(()) => {
                    ffi::unfinished(absolute(&path));
                    self.temporary = Some(path.clone());
                    return Ok(path);
                }
            }
        }
        Err(Errno::EXIST)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            _ = fs::remove_file(temporary);
            ffi::unfinished(None);
        }
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The target's name is no part of it: that may be as long as names may be.
fn temporary_name(path: &Path, attempt: u32) -> PathBuf {
    directory(path).join(format!(".parcomp-{}-{attempt}.part", std::process::id()))
}

/// A nameless file in the directory of `path` where the file system has such; otherwise one with a
/// temporary name.
fn open_unnamed(path: &Path, bits: Mode) -> io::Result<(File, Option<PathBuf>)> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(fd) = rustix::fs::open(directory(path), flags | OFlags::TMPFILE, bits) {
        let file = File::from(fd);
        // Naming it later goes through /proc.
        if fs::symlink_metadata(proc_path(&file)).is_ok() {
            return Ok((file, None));
        }
    }
    for attempt in 0..100 {
        let name = temporary_name(path, attempt);
        match rustix::fs::open(&name, flags | OFlags::CREATE | OFlags::EXCL, bits) {
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e.into()),
            Ok(fd) => {
                ffi::unfinished(absolute(&name));
                return Ok((File::from(fd), Some(name)));
            }
        }
    }
    Err(Errno::EXIST.into())
}

/// For the signal, which may come after a change of the working directory.
fn absolute(path: &Path) -> Option<CString> {
    let path = std::path::absolute(path).ok()?;
    CString::new(path.as_os_str().as_bytes()).ok()
}

fn proc_path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}

/// Names a nameless file; never replaces one.
fn link(file: &File, path: &Path) -> Result<(), Errno> {
    rustix::fs::linkat(CWD, proc_path(file), CWD, path, AtFlags::SYMLINK_FOLLOW)
}

/// Renames; never replaces a file.
fn rename_new(from: &Path, to: &Path) -> Result<(), Errno> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system has it.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty())?;
            rustix::fs::unlink(from)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("parcomp-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        fn names(&self) -> Vec<String> {
            let names = fs::read_dir(&self.0).unwrap();
            names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    /// As `create` on a file system without nameless files.
    fn with_name(path: &Path, force: bool) -> Output {
        let name = temporary_name(path, 0);
        let file = File::options().write(true).create_new(true).open(&name).unwrap();
        let (path, temporary) = (path.to_owned(), Some(name));
        Output { file, path, temporary, special: None, force }
    }

    #[test]
    fn whole_or_not_at_all() {
        let scratch = Scratch::new("whole");
        let path = scratch.0.join("f");
        let open: [&dyn Fn(bool) -> Output; 2] =
            [&|force| Output::create(&path, force, Some(0o640)).unwrap(), &|force| {
                with_name(&path, force)
            }];
        for open in open {
            let mut o = open(false);
            o.write_all(b"half").unwrap();
            drop(o);
            assert!(scratch.names().is_empty());

            let mut o = open(false);
            o.write_all(b"wrong").unwrap();
            o.restart().unwrap();
            o.write_all(b"all").unwrap();
            assert!(!path.exists());
            o.commit().unwrap();
            assert_eq!(
                (fs::read(&path).unwrap(), scratch.names()),
                (b"all".to_vec(), vec!["f".to_owned()])
            );

            // Another file of that name appeared meanwhile.
            fs::remove_file(&path).unwrap();
            let mut late = open(false);
            late.write_all(b"late").unwrap();
            fs::write(&path, b"first").unwrap();
            assert!(matches!(late.commit(), Err(Error::Exists(_))));
            assert_eq!((fs::read(&path).unwrap(), scratch.names().len()), (b"first".to_vec(), 1));

            let mut o = open(true);
            o.write_all(b"new").unwrap();
            o.commit().unwrap();
            assert_eq!((fs::read(&path).unwrap(), scratch.names().len()), (b"new".to_vec(), 1));
            fs::remove_file(&path).unwrap();
        }
        fs::write(&path, b"x").unwrap();
        assert!(matches!(Output::create(&path, false, None), Err(Error::Exists(_))));
        let o = Output::create(&path, true, Some(0o640)).unwrap();
        o.commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    /// Runs itself as a child that has a file with a temporary name, and interrupts it.
    #[test]
    fn a_signal_removes_a_file_with_a_temporary_name() {
        const CHILD: &str = "PARCOMP_TEST_INTERRUPTED";
        if let Some(path) = std::env::var_os(CHILD) {
            let output = with_name(Path::new(&path), false);
            ffi::unfinished(absolute(output.temporary.as_deref().unwrap()));
            fs::write(Path::new(&path).with_extension("ready"), b"").unwrap();
            std::thread::sleep(std::time::Duration::from_secs(60));
            return;
        }
        let name = "output::tests::a_signal_removes_a_file_with_a_temporary_name";
        // What a shell's background has ignored, stays ignored in its children.
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        for (signal, number) in [("-TERM", 15), ("-INT", 2), ("-HUP", 1)] {
            if ignored >> (number - 1) & 1 != 0 {
                eprintln!("skipped: this process ignores {signal}");
                continue;
            }
            let scratch = Scratch::new(&format!("signal{number}"));
            let mut child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(CHILD, scratch.0.join("f"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            while !scratch.0.join("f.ready").exists() {
                assert!(child.try_wait().unwrap().is_none());
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert_eq!(scratch.names().len(), 2);
            let kill =
                std::process::Command::new("kill").arg(signal).arg(child.id().to_string()).status();
            assert!(kill.unwrap().success());
            let status = child.wait().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number));
            assert_eq!(scratch.names(), ["f.ready"]);
        }
    }

    #[test]
    fn what_could_never_be_is_refused_at_once() {
        let scratch = Scratch::new("never");
        let link = scratch.0.join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(matches!(Output::create(&link, false, None), Err(Error::Exists(_))));
        for path in [Path::new(""), Path::new("/"), Path::new(".."), &scratch.0.join("new/")] {
            assert!(matches!(Output::create(path, true, None), Err(Error::Io { .. })), "{path:?}");
        }
    }

    #[test]
    fn a_name_may_be_as_long_as_names_may_be() {
        let scratch = Scratch::new("long");
        let path = scratch.0.join("n".repeat(255));
        fs::write(&path, b"old").unwrap();
        let open: [&dyn Fn() -> Output; 2] =
            [&|| Output::create(&path, true, None).unwrap(), &|| with_name(&path, true)];
        for open in open {
            open().commit().unwrap();
            assert_eq!((fs::read(&path).unwrap().len(), scratch.names().len()), (0, 1));
        }
    }

    #[test]
    fn devices_are_written_in_place() {
        let mut o = Output::create(Path::new("/dev/full"), false, None).unwrap();
        let e = o.write_all(b"x").unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::StorageFull);
        assert!(o.restarts() && !o.keeps());
    }
}
