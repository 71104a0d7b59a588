//! What an instance leaves that is dropped while engines still work for it: its end of the reply
//! ring. From then on whoever sends a reply takes it there, and drops it.
//!
//! No reply is left behind: an owner leaves its end, fences, and looks for replies; an engine sends,
//! fences, and looks whether an end was left (as in `doorbell.rs`).

use std::sync::PoisonError;

use crate::{
    ring::ReplyReceiver,
    sync::{AtomicUsize, Mutex, Ordering, fence},
};

pub(crate) struct Abandoned<T> {
    /// 1 once the owner has left its end.
    is: AtomicUsize,
    /// The end, and how many replies are still to come.
    left: Mutex<Option<(ReplyReceiver<T>, usize)>>,
}

impl<T> Abandoned<T> {
    pub(crate) fn new() -> Abandoned<T> {
        Abandoned { is: AtomicUsize::new(0), left: Mutex::new(None) }
    }

    /// The owner leaves its end; `count` replies, one or more, are still to be taken. Returns as
    /// [`Abandoned::clear`] does.
    pub(crate) fn leave(
        &self,
        replies: ReplyReceiver<T>,
        count: usize,
        free: impl FnMut(T),
    ) -> bool {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some((replies, count));
        self.is.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.clear(free)
    }

    /// An engine has sent replies, and executed a sequentially consistent fence. Whether there is
    /// something to [clear](Abandoned::clear).
    pub(crate) fn is(&self) -> bool {
        self.is.load(Ordering::Relaxed) != 0
    }

    /// Takes the replies that are there and gives them to `free`, without a lock. Returns `true`
    /// once: to whoever has taken the last.
    pub(crate) fn clear(&self, mut free: impl FnMut(T)) -> bool {
        loop {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((replies, count)) = &mut *left else { return false };
            let Some(reply) = replies.recv() else { return false };
            *count -= 1;
            let last = *count == 0;
            if last {
                *left = None;
            }
            drop(left);
            free(reply);
            if last {
                return true;
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::{doorbell::Notice, ring::reply_ring};
    use loom::{sync::Arc, thread};

    /// An owner leaves while an engine answers: every reply is dropped, and one of the two learns that
    /// it was the last.
    #[test]
    fn nothing_is_left_behind() {
        loom::model(|| {
            let (replies, receiver) = reply_ring(2);
            let shared = Arc::new((Notice::new(), Abandoned::new()));
            let engines = shared.clone();
            let value = Arc::new(());
            let sent = value.clone();
            let engine = thread::spawn(move || {
                let (notice, abandoned) = &*engines;
                replies.send([sent].into_iter());
                notice.replies_sent(|| replies.sent());
                abandoned.is() && abandoned.clear(drop)
            });
            let last = shared.1.leave(receiver, 1, drop);
            assert_ne!(engine.join().unwrap(), last);
            assert_eq!(Arc::strong_count(&value), 1);
        });
    }
}
