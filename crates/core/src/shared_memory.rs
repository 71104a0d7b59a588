//! Memory that processes share.
#![allow(unsafe_code)]

use core::{
    ffi::CStr,
    ptr::{self, NonNull},
};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use crate::{Memory, SetupError};

/// Zeroed memory that another process maps by its file descriptor (memfd_create(2)), which travels over a
/// Unix socket or a fork. It can neither grow nor shrink.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
    fd: OwnedFd,
}

// SAFETY: plain memory; who may access it when is the business of `Region::buf`.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

fn refused(what: &'static str) -> SetupError {
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    SetupError::Os { what, errno }
}

/// An empty file that lies in memory alone and may be sealed (memfd_create(2)). Nobody executes it, as some systems demand of such files
/// (sysctl `vm.memfd_noexec`); before Linux 6.3 that cannot be said.
///
/// # Errors
/// Those of the system.
pub fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    const NOT_EXECUTABLE: libc::c_uint = 8;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    for flags in [flags | NOT_EXECUTABLE, flags] {
        // SAFETY: a name that ends with a zero.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
        if fd >= 0 {
            // SAFETY: a descriptor just made, nobody else's.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            break;
        }
    }
    Err(io::Error::last_os_error())
}

impl SharedMemory {
    /// Fresh memory of `len` bytes, at least 1.
    ///
    /// # Errors
    /// [`SetupError::Limit`], or [`SetupError::Os`] when the system has no more memory or descriptors.
    pub fn new(len: usize) -> Result<SharedMemory, SetupError> {
        SetupError::check("bytes of shared memory", len as u64, 1..=isize::MAX as u64)?;
        let fd = memory_file(c"lookaside").map_err(|_| refused("memfd_create"))?;
        // SAFETY: a valid descriptor.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), len as libc::off_t) } != 0 {
            return Err(refused("size of shared memory"));
        }
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: as above.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
            return Err(refused("seal shared memory"));
        }
        SharedMemory::map(fd)
    }

    /// Memory that another process made. It must be sealed against shrinking, or that process could have
    /// this one killed at any access.
    ///
    /// # Errors
    /// [`SetupError::Os`] for a file that is not such memory.
    pub fn map(fd: OwnedFd) -> Result<SharedMemory, SetupError> {
        // SAFETY: a valid descriptor.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return Err(SetupError::Os { what: "memory without a seal", errno: libc::EPERM });
        }
        // SAFETY: zeros are a valid `stat`.
        let mut stat: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: a valid descriptor, and room for the answer.
        if unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) } != 0 {
            return Err(refused("size of shared memory"));
        }
        let len = usize::try_from(stat.st_size).unwrap_or(0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping wherever the kernel likes; a length of 0 is an error.
        let base = unsafe {
            libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        match NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED) {
            Some(base) => Ok(SharedMemory { base, len, fd }),
            None => Err(refused("map shared memory")),
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; no buffer in it lives.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

// SAFETY: a mapping of so many bytes that cannot shrink, until it is dropped.
unsafe impl Memory for SharedMemory {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
}
