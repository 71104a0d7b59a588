//! A lock whose holder a fork may have left behind.
//!
//! A child of a fork has one thread. A lock that another one held at that moment is held in the child for ever. Where a
//! fork is not to wait for its holder ([`NoFork`](crate::NoFork)), the child finds out.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// So many times a child of a fork lets others run, before it sleeps.
const YIELDS: u32 = 100;
/// And so many milliseconds it waits for a holder that may not be there.
const SLEEPS: u32 = 1000;

/// A [`Mutex`] for what is held for some instructions, which a child of a fork gives up where its holder is gone.
#[derive(Debug)]
pub struct ForkMutex<T> {
    value: Mutex<T>,
    /// A process all of whose holders are its own; 0: none is known.
    process: AtomicU32,
    /// The holder is gone.
    lost: AtomicBool,
}

impl<T> ForkMutex<T> {
    /// For a value of this process.
    pub fn new(value: T) -> ForkMutex<T> {
        let mutex = ForkMutex::of_any(value);
        mutex.process.store(std::process::id(), Relaxed);
        mutex
    }

    /// For a static, which no process has made: until it was waited for once, its holder may be another process's.
    pub const fn of_any(value: T) -> ForkMutex<T> {
        let (process, lost) = (AtomicU32::new(0), AtomicBool::new(false));
        ForkMutex { value: Mutex::new(value), process, lost }
    }

    /// The value; `None`, and from then on at once, if who held it is gone: a thread that a fork left behind, or one that
    /// panicked.
    ///
    /// Who holds it may be preempted, so in the process that made it only waiting is right. In a child of a fork a second
    /// is waited at most. Once that was enough, every later holder is one of the child's own.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if self.lost.load(Relaxed) {
            return None;
        }
        if let Ok(held) = self.value.try_lock() {
            return Some(held);
        }
        let own = std::process::id();
        let held = if self.process.load(Relaxed) == own {
            self.value.lock().ok()
        } else {
            (0..YIELDS + SLEEPS).find_map(|turn| {
                match turn < YIELDS {
                    true => thread::yield_now(),
                    false => thread::sleep(Duration::from_millis(1)),
                }
                self.value.try_lock().ok()
            })
        };
        match held {
            Some(_) => self.process.store(own, Relaxed),
            None => self.lost.store(true, Relaxed),
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    /// Holds `mutex` in another thread, for so long, while `run` runs.
    fn while_held<R>(mutex: &ForkMutex<u32>, ms: u64, run: impl FnOnce() -> R) -> R {
        let (held, is_held) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                let _held = mutex.lock().expect("nobody else");
                held.send(()).expect("somebody waits");
                thread::sleep(Duration::from_millis(ms));
            });
            is_held.recv().expect("it is held");
            run()
        })
    }

    #[test]
    fn a_holder_of_the_own_process_is_waited_for() {
        for mutex in [ForkMutex::new(1), ForkMutex::of_any(1)] {
            assert_eq!(while_held(&mutex, 30, || mutex.lock().map(|it| *it)), Some(1));
            // Who has waited for a static once knows whose it is.
            assert_eq!(mutex.process.load(Relaxed), std::process::id());
        }
    }

    #[test]
    fn no_time_is_too_long_in_the_process_that_made_it() {
        let mutex = ForkMutex::new(1);
        let begin = Instant::now();
        assert!(while_held(&mutex, 1300, || mutex.lock().is_some()));
        assert!(begin.elapsed() > Duration::from_millis(1200));
    }

    #[test]
    fn one_that_panicked_is_gone() {
        let mutex = ForkMutex::new(1);
        let holder = thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _held = mutex.lock();
                panic!("with the lock held: the test wants that");
            });
            holder.join()
        });
        assert!(holder.is_err() && mutex.lock().is_none());
    }

    /// What `run` says in a child of a fork.
    #[cfg(not(miri))]
    #[allow(unsafe_code)]
    fn in_child(run: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child has no lock of another thread but the one that it asks for, and leaves by `_exit`.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: a plain system call.
                unsafe { libc::alarm(60) };
                let good = run();
                // SAFETY: nothing is left to be done.
                unsafe { libc::_exit(i32::from(!good)) }
            }
            child => {
                let mut status = 1;
                // SAFETY: a child of this process.
                unsafe { libc::waitpid(child, &mut status, 0) };
                status == 0
            }
        }
    }

    #[cfg(not(miri))]
    #[test]
    fn a_child_gives_up_a_holder_that_it_does_not_have() {
        for mutex in [ForkMutex::new(1), ForkMutex::of_any(1)] {
            let found = while_held(&mutex, 10, || {
                in_child(|| {
                    let begin = Instant::now();
                    let lost = mutex.lock().is_none();
                    let waited = begin.elapsed();
                    let again = Instant::now();
                    let at_once =
                        mutex.lock().is_none() && again.elapsed() < Duration::from_millis(500);
                    lost && at_once && waited >= Duration::from_secs(1)
                })
            });
            assert!(found);
            assert!(mutex.lock().is_some(), "the child's loss is its own");
        }
    }

    /// The child has no threads at first, and the lock was free.
    #[cfg(not(miri))]
    #[test]
    fn a_child_waits_for_its_own_threads() {
        let mutex = ForkMutex::new(0);
        assert!(in_child(|| {
            // After the first wait it knows that holders are of this process, and waits for the second one as long as it takes.
            let first = while_held(&mutex, 20, || mutex.lock().is_some());
            first && while_held(&mutex, 1300, || mutex.lock().is_some())
        }));
    }
}
