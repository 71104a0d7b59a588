//! What the two halves of a split instance share, beside their rings.
//!
//! How far the submitter has published, whether the poller sleeps or waits, and which half has gone.
//! Two rules keep wake-ups from being lost, as in `doorbell.rs`: the submitter publishes, fences, and
//! looks for a sleeper; the poller announces itself, fences, and looks once more. The number is stored
//! behind the ring's tail, so whoever sees the number finds the requests.
//!
//! A half that goes leaves its part here. The last one finds it, and closes the whole instance.

use std::sync::PoisonError;

use crate::{
    doorbell::Doorbell,
    sync::{AtomicU64, AtomicUsize, Mutex, Ordering, Padded, fence},
};

/// `S` and `P` are the parts that submitter and poller leave.
pub(super) struct Seam<S, P> {
    /// Requests with a lower number are published; written by the submitter.
    published: Padded<AtomicU64>,
    /// 1 while the poller waits: nobody gains by a partial batch that waits for more requests.
    awaited: AtomicUsize,
    /// Which halves have gone, as bits.
    gone: AtomicUsize,
    left: Mutex<Left<S, P>>,
    /// Wakes a poller that executes the requests itself.
    pub(super) bell: Doorbell,
}

enum Left<S, P> {
    Nothing,
    Submitter(S),
    Poller(P),
}

const SUBMITTER: usize = 1;
const POLLER: usize = 2;

impl<S, P> Seam<S, P> {
    /// Of an instance that has published the requests below `published`.
    pub(super) fn new(published: u64) -> Seam<S, P> {
        Seam {
            published: Padded(AtomicU64::new(published)),
            awaited: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
            left: Mutex::new(Left::Nothing),
            bell: Doorbell::new(),
        }
    }

    /// The submitter has published the requests below `seq` in the ring.
    pub(super) fn publish(&self, seq: u64) {
        self.published.store(seq, Ordering::Release);
    }

    /// Requests with a lower number are in the ring, or have been taken from it.
    pub(super) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Whether the poller waits. Of a request that was published before this call and a wait that
    /// begins, one is seen by the other side.
    pub(super) fn is_awaited(&self) -> bool {
        fence(Ordering::SeqCst);
        self.awaited.load(Ordering::Relaxed) != 0
    }

    /// The poller waits from now on. It looks at [`Seam::published`] after this.
    pub(super) fn begin_wait(&self) {
        self.awaited.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The poller has something to do again.
    pub(super) fn end_wait(&self) {
        self.awaited.store(0, Ordering::Relaxed);
    }

    /// Whether no more will be published than is.
    pub(super) fn is_submitter_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire) & SUBMITTER != 0
    }

    /// Whether nobody takes responses any more.
    pub(super) fn is_poller_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire) & POLLER != 0
    }

    /// The submitter goes and leaves its part. Both parts come back where the poller has gone before.
    /// Otherwise the poller is to be woken.
    pub(super) fn leave_submitter(&self, part: S) -> Option<(S, P)> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.gone.fetch_or(SUBMITTER, Ordering::Release);
        match core::mem::replace(&mut *left, Left::Nothing) {
            Left::Poller(other) => Some((part, other)),
            _ => {
                *left = Left::Submitter(part);
                None
            }
        }
    }

    /// The poller goes and leaves its part. Both parts come back where the submitter has gone before.
    pub(super) fn leave_poller(&self, part: P) -> Option<(S, P)> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.gone.fetch_or(POLLER, Ordering::Release);
        match core::mem::replace(&mut *left, Left::Nothing) {
            Left::Submitter(other) => Some((other, part)),
            _ => {
                *left = Left::Poller(part);
                None
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::{doorbell::Notice, ring::request_ring};
    use core::time::Duration;
    use loom::{sync::Arc, thread};

    type Bare = Seam<Box<u8>, Box<u8>>;

    fn seam() -> (Arc<Bare>, Arc<Bare>) {
        let seam = Arc::new(Seam::new(0));
        (seam.clone(), seam)
    }

    /// One slot serves two requests: it has gone round, and no half sees the other's write late.
    #[test]
    fn slots_go_round() {
        const REQUESTS: u8 = 2;
        loom::model(|| {
            let (mut requests, mut taker) = request_ring(1);
            let (mut returns, mut returned) = request_ring(1);
            let poller = thread::spawn(move || {
                for expected in 0..REQUESTS {
                    let slot: Box<u8> = loop {
                        match taker.pop() {
                            Some(slot) => break slot,
                            None => thread::yield_now(),
                        }
                    };
                    assert_eq!(*slot, expected);
                    assert!(returns.push(slot).is_ok(), "room for every slot");
                    returns.publish();
                }
            });
            let mut free = Some(Box::new(0));
            for tag in 0..REQUESTS {
                let mut slot: Box<u8> = loop {
                    match free.take().or_else(|| returned.pop()) {
                        Some(slot) => break slot,
                        None => thread::yield_now(),
                    }
                };
                *slot = tag;
                assert!(requests.push(slot).is_ok(), "room for every slot");
                requests.publish();
            }
            poller.join().unwrap();
            assert_eq!(returned.len(), 1);
        });
    }

    /// A poller that executes by itself sleeps when it has found nothing in the ring. Were the doorbell
    /// lost, or rung before the request can be found, it would sleep forever.
    #[test]
    fn a_sleeping_poller_is_rung() {
        loom::model(|| {
            let (submitters, pollers) = seam();
            let (mut requests, mut taker) = request_ring(1);
            let poller = thread::spawn(move || {
                let mut known = pollers.published();
                while taker.pop().is_none() {
                    pollers.bell.announce();
                    match pollers.published() != known {
                        true => pollers.bell.stay_awake(),
                        false => pollers.bell.sleep(None),
                    }
                    known = pollers.published();
                }
            });
            assert!(requests.push(Box::new(1)).is_ok(), "room for every slot");
            requests.publish();
            submitters.publish(1);
            submitters.bell.ring();
            poller.join().unwrap();
        });
    }

    /// A poller with nothing outstanding sleeps without a limit: the submitter's end wakes it, and it
    /// has all that was published before.
    #[test]
    fn a_poller_learns_that_the_submitter_has_gone() {
        for executes in [true, false] {
            loom::model(move || {
                let (submitters, pollers) = seam();
                let notices = Arc::new(Notice::new());
                let notice = notices.clone();
                let poller = thread::spawn(move || {
                    while !pollers.is_submitter_gone() {
                        if executes {
                            pollers.bell.announce();
                            match pollers.is_submitter_gone() {
                                true => pollers.bell.stay_awake(),
                                false => pollers.bell.sleep(None),
                            }
                        } else {
                            let look = || usize::from(pollers.is_submitter_gone());
                            notice.wait(1, look, Duration::from_secs(3600));
                        }
                    }
                    assert_eq!(pollers.published(), 5);
                });
                submitters.publish(5);
                assert!(submitters.leave_submitter(Box::new(1)).is_none());
                match executes {
                    true => _ = submitters.bell.ring(),
                    false => notices.rouse(),
                }
                poller.join().unwrap();
            });
        }
    }

    /// What is published while the poller begins to wait is asked for by one of the two.
    #[test]
    fn a_wait_covers_what_is_published_meanwhile() {
        loom::model(|| {
            let (submitters, pollers) = seam();
            let wanted = Arc::new(AtomicU64::new(0));
            let want = wanted.clone();
            let poller = thread::spawn(move || {
                pollers.begin_wait();
                want.fetch_max(pollers.published(), Ordering::Release);
            });
            submitters.publish(1);
            if submitters.is_awaited() {
                wanted.fetch_max(1, Ordering::Release);
            }
            poller.join().unwrap();
            assert_eq!(wanted.load(Ordering::Acquire), 1);
        });
    }

    /// Whichever goes last gets both parts, and only that one.
    #[test]
    fn the_last_half_closes() {
        loom::model(|| {
            let (submitters, pollers) = seam();
            let poller = thread::spawn(move || pollers.leave_poller(Box::new(2)).is_some());
            let submitter = submitters.leave_submitter(Box::new(1)).is_some();
            assert_ne!(submitter, poller.join().unwrap());
            assert!(submitters.is_submitter_gone() && submitters.is_poller_gone());
        });
    }
}
