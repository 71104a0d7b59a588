//! `ASYNC_JOB`s as programs drive them.

use super::*;

pub const PAUSE: c_int = 2;
pub const FINISH: c_int = 3;

/// A job: a closure on a fibre, and its wait context.
pub struct Task<'a> {
    pub job: Ptr,
    pub wait: Ptr,
    pub work: Box<dyn FnMut() -> bool + 'a>,
    pub result: c_int,
}

pub unsafe extern "C" fn enter(args: Ptr) -> c_int {
    let work: *mut &mut dyn FnMut() -> bool = unsafe { *args.cast::<Ptr>() }.cast();
    c_int::from(unsafe { (*work)() })
}

impl<'a> Task<'a> {
    pub fn new(work: impl FnMut() -> bool + 'a) -> Task<'a> {
        let wait = unsafe { ASYNC_WAIT_CTX_new() };
        Task { job: null_mut(), wait, work: Box::new(work), result: -1 }
    }

    /// Starts or resumes it: whether it has finished.
    pub fn go(&mut self) -> bool {
        let mut work: &mut (dyn FnMut() -> bool + 'a) = &mut *self.work;
        let mut args: Ptr = ptr::from_mut(&mut work).cast();
        // While it is paused, the fibre's closure is the one of the box: a fresh reference to it
        // is only read at the start.
        let state = unsafe {
            ASYNC_start_job(
                &mut self.job,
                self.wait,
                &mut self.result,
                enter,
                ptr::from_mut(&mut args).cast(),
                size_of::<Ptr>(),
            )
        };
        assert!(state == PAUSE || state == FINISH, "{state}");
        state == FINISH
    }

    pub fn fds(&self) -> Vec<c_int> {
        let mut n = 0;
        unsafe { ASYNC_WAIT_CTX_get_all_fds(self.wait, null_mut(), &mut n) };
        let mut fds = vec![0; n];
        unsafe { ASYNC_WAIT_CTX_get_all_fds(self.wait, fds.as_mut_ptr(), &mut n) };
        fds
    }

    /// As programs do: waits until an fd is readable, and resumes.
    pub fn finish(&mut self) -> bool {
        while !self.go() {
            let fds = self.fds();
            assert_eq!(fds.len(), 1);
            wait_readable(fds[0]);
        }
        self.result == 1
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        unsafe { ASYNC_WAIT_CTX_free(self.wait) };
    }
}

pub fn wait_readable(fd: c_int) {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    assert_eq!(unsafe { libc::poll(&mut poll, 1, 10_000) }, 1, "never readable");
}

/// Resumes jobs in turn, as event loops do, until all are done.
pub fn run_all(jobs: &mut [Task]) {
    let mut live: Vec<usize> = (0..jobs.len()).collect();
    let mut passes = 0;
    while !live.is_empty() {
        live.retain(|&i| {
            if let [fd] = jobs[i].fds()[..] {
                wait_readable(fd);
            }
            !jobs[i].go()
        });
        passes += 1;
        assert!(passes < 10_000, "a job is never done");
    }
}
