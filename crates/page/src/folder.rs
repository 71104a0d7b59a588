//! The folder of a user's pages: its own and closed to others, or refused.

use std::{
    fmt,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use lookaside_secure::{plain_message, secure_variable};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

/// Why a folder or a page is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The system refuses it.
    System(Errno),
    /// The folder has to be named from the root.
    Relative,
    /// It belongs to another user.
    Foreign,
    /// Others may read it or write to it.
    Open,
    /// It is no regular file.
    NotAFile,
    /// It is larger than [`crate::MOST_BYTES`], or the files before it were so large that it is not read.
    Large,
    /// It ends within its head.
    Short,
    /// It does not begin as a page does.
    NoPage,
    /// It is a page of another version.
    Version(u8),
    /// It was written by a machine of the other byte order.
    ByteOrder,
    /// The section at this offset is none.
    Section(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::System(e) => f.write_str(&plain_message(&std::io::Error::from(*e))),
            Fault::Relative => f.write_str("an absolute path is wanted"),
            Fault::Foreign => f.write_str("it belongs to another user"),
            Fault::Open => f.write_str("it is open to other users: chmod 700"),
            Fault::NotAFile => f.write_str("it is no regular file"),
            Fault::Large => f.write_str("it is too large, or all files of the folder together"),
            Fault::Short => f.write_str("it ends within its head"),
            Fault::NoPage => f.write_str("it is no page of counters"),
            Fault::Version(version) => {
                write!(f, "it is a page of another version: {:?}", char::from(*version))
            }
            Fault::ByteOrder => f.write_str("its bytes are in another order"),
            Fault::Section(at) => write!(f, "the section at {at} is none"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        Fault::System(errno)
    }
}

/// A folder that was looked at.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Where a user's pages are, without a setting: the first place that can be used is used.
    pub fn defaults() -> Vec<PathBuf> {
        let user = rustix::process::geteuid();
        let mut places = Vec::new();
        if let Some(place) = secure_variable(c"XDG_RUNTIME_DIR") {
            let place = PathBuf::from(place.to_string_lossy().into_owned());
            if place.is_absolute() {
                places.push(place.join("lookaside"));
            }
        }
        if user.is_root() {
            places.push("/run/lookaside".into());
        }
        places.push(format!("/tmp/lookaside-{}", user.as_raw()).into());
        places
    }

    /// Opens the first of [`Folder::defaults`] that can be used, made where it is not there.
    ///
    /// # Errors
    /// That of the last one.
    pub fn make_default() -> Result<Folder, Fault> {
        let places = Folder::defaults();
        let (last, first) = places.split_last().ok_or(Fault::Relative)?;
        first
            .iter()
            .find_map(|place| Folder::make(place).ok())
            .map_or_else(|| Folder::make(last), Ok)
    }

    /// Opens a folder, which is made where it is not there.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn make(path: &Path) -> Result<Folder, Fault> {
        if !path.is_absolute() {
            return Err(Fault::Relative);
        }
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Folder::open(path),
            Err(e) => Err(e.into()),
        }
    }

    /// Opens a folder that is there.
    ///
    /// # Errors
    /// It is a link, not this user's (root takes those of others), or open to others.
    pub fn open(path: &Path) -> Result<Folder, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Folder::checked(fd, path.to_owned())
    }

    /// Opens a folder within this one.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn within(&self, name: &str) -> Result<Folder, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        Folder::checked(fd, self.path.join(name))
    }

    fn checked(fd: OwnedFd, path: PathBuf) -> Result<Folder, Fault> {
        let about = rustix::fs::fstat(&fd)?;
        let user = rustix::process::geteuid();
        if about.st_uid != user.as_raw() && !user.is_root() {
            return Err(Fault::Foreign);
        }
        match about.st_mode & 0o077 {
            0 => Ok(Folder { fd, path }),
            _ => Err(Fault::Open),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> Result<Vec<String>, Fault> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Makes a file that is new, readable and writable for its user alone.
    pub(crate) fn make_file(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Opens a regular file of this folder's user. Returns its length, too.
    pub(crate) fn open_file(&self, name: &str) -> Result<(OwnedFd, u64), Fault> {
        // A pipe of that name would keep the reader waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        let about = rustix::fs::fstat(&fd)?;
        if rustix::fs::FileType::from_raw_mode(about.st_mode) != rustix::fs::FileType::RegularFile {
            return Err(Fault::NotAFile);
        }
        Ok((fd, u64::try_from(about.st_size).unwrap_or(0)))
    }

    /// Removes a file. That it is gone already is no fault.
    ///
    /// # Errors
    /// The system's.
    pub fn remove(&self, name: &str) -> Result<(), Fault> {
        match rustix::fs::unlinkat(&self.fd, name, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes a folder within this one, if it is empty.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_folder(&self, name: &str) -> Result<(), Fault> {
        match rustix::fs::unlinkat(&self.fd, name, rustix::fs::AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
