//! How many descriptors this process may have.

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

/// As many as the hard limit says; `None` without a limit. (Nothing here uses `select`, for which the soft limit is low.)
///
/// # Errors
/// The limit that stays, and why.
pub(crate) fn raise() -> Result<Option<u64>, (Option<u64>, Errno)> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let all = Rlimit { current: maximum, maximum };
    setrlimit(Resource::Nofile, all).map(|()| maximum).map_err(|e| (current, e))
}
