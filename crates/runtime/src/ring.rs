//! The two rings of an instance.
//!
//! *Requests*: one producer (the instance), one consumer (whoever holds the scheduler). Filling
//! and publishing are separate: [`Producer::push`] writes a slot, [`Producer::publish`] makes all
//! written slots visible at once.
//!
//! *Replies*: many producers (the engines), one consumer (the instance). An instance never has
//! more requests outstanding than the ring has slots, so a reply always finds room.
//!
//! A split instance has a ring of the first kind more, in which its slots return to the submitter.
//!
//! Both carry values, not indices: a slot is a fixed-size record, and the buffers move through it.
//! Checked by loom (the `loom` module at the end) and by Miri.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use crate::sync::{Arc, AtomicUsize, Ordering, Padded, UnsafeCell, spin_loop};

struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// The next slot to publish; written by the producer.
    tail: Padded<AtomicUsize>,
    /// The next slot to take; written by the consumer.
    head: Padded<AtomicUsize>,
}

// SAFETY: a slot is accessed by the producer alone while it lies in [tail, head + capacity), and
// by the consumer alone while it lies in [head, tail); the Release stores and Acquire loads of
// `tail` and `head` order the two.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    fn slot(&self, position: usize) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[position & (self.slots.len() - 1)]
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let (mut head, tail) =
            (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Relaxed));
        while head != tail {
            // SAFETY: [head, tail) is published and not taken, and both ends are gone.
            self.slot(head).with_mut(|s| unsafe { (*s).assume_init_drop() });
            head = head.wrapping_add(1);
        }
    }
}

/// The filling end of a request ring.
pub(crate) struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// Filled up to here, perhaps not published.
    filled: usize,
    /// `tail` as this end last wrote it.
    published: usize,
    /// `head` as this end last read it.
    head: usize,
}

/// The taking end of a request ring.
pub(crate) struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
    /// `tail` as this end last read it.
    tail: usize,
}

/// A request ring with at least `depth` slots.
pub(crate) fn request_ring<T>(depth: usize) -> (Producer<T>, Consumer<T>) {
    let capacity = depth.max(1).next_power_of_two();
    let ring = Arc::new(Ring {
        slots: (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
        tail: Padded(AtomicUsize::new(0)),
        head: Padded(AtomicUsize::new(0)),
    });
    (
        Producer { ring: ring.clone(), filled: 0, published: 0, head: 0 },
        Consumer { ring, head: 0, tail: 0 },
    )
}

impl<T> Producer<T> {
    /// Fills the next slot. It is not visible to the other end before [`Producer::publish`].
    pub(crate) fn push(&mut self, value: T) -> Result<(), T> {
        if self.filled.wrapping_sub(self.head) == self.ring.slots.len() {
            self.head = self.ring.head.load(Ordering::Acquire);
            if self.filled.wrapping_sub(self.head) == self.ring.slots.len() {
                return Err(value);
            }
        }
        // SAFETY: the slot lies in [tail, head + capacity): it is this end's.
        self.ring.slot(self.filled).with_mut(|s| unsafe { (*s).write(value) });
        self.filled = self.filled.wrapping_add(1);
        Ok(())
    }

    /// How many slots are filled and not published.
    pub(crate) fn unpublished(&self) -> usize {
        self.filled.wrapping_sub(self.published)
    }

    /// Publishes what was filled. Returns how many slots that was.
    pub(crate) fn publish(&mut self) -> usize {
        let n = self.unpublished();
        if n > 0 {
            self.ring.tail.store(self.filled, Ordering::Release);
            self.published = self.filled;
        }
        n
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // What was filled is owned by the ring: it drops it, or the other end takes it.
        self.publish();
    }
}

impl<T> Consumer<T> {
    /// The oldest published value, left in its slot.
    pub(crate) fn peek(&mut self) -> Option<&T> {
        if self.head == self.tail {
            self.tail = self.ring.tail.load(Ordering::Acquire);
            if self.head == self.tail {
                return None;
            }
        }
        // SAFETY: the slot lies in [head, tail): published, and this end's. The reference lives
        // no longer than the borrow of `self`, and only `pop`, which needs `&mut self`, ends that.
        Some(self.ring.slot(self.head).with(|s| unsafe { (*s).assume_init_ref() }))
    }

    /// How many values are published and not taken.
    pub(crate) fn len(&self) -> usize {
        self.ring.tail.load(Ordering::Acquire).wrapping_sub(self.head)
    }

    /// Whether the oldest published value is the only one.
    pub(crate) fn is_last(&mut self) -> bool {
        self.tail = self.ring.tail.load(Ordering::Acquire);
        self.tail.wrapping_sub(self.head) == 1
    }

    /// Visits all published values where they are, the oldest first.
    pub(crate) fn each(&mut self, mut visit: impl FnMut(&mut T)) {
        self.tail = self.ring.tail.load(Ordering::Acquire);
        let mut at = self.head;
        while at != self.tail {
            // SAFETY: the slot lies in [head, tail): published, and this end's.
            self.ring.slot(at).with_mut(|s| visit(unsafe { (*s).assume_init_mut() }));
            at = at.wrapping_add(1);
        }
    }

    /// Takes the oldest published value.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.peek()?;
        // SAFETY: `peek` found the slot published; moving `head` on gives it to the producer.
        let value = self.ring.slot(self.head).with(|s| unsafe { (*s).assume_init_read() });
        self.head = self.head.wrapping_add(1);
        self.ring.head.store(self.head, Ordering::Release);
        Some(value)
    }
}

/// A ring of replies: the engines' end. D. Vyukov's bounded queue, without its "full" case.
pub(crate) struct Replies<T> {
    slots: Box<[ReplySlot<T>]>,
    tail: Padded<AtomicUsize>,
}

struct ReplySlot<T> {
    /// The position `p` that may be written here next; `p + 1` once position `p` is readable.
    turn: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: `turn` gives a slot to exactly one thread: to the producer that claimed position `p`
// while it equals `p`, to the one consumer while it equals `p + 1`.
unsafe impl<T: Send> Send for Replies<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Replies<T> {}

/// The taking end of a reply ring.
pub(crate) struct ReplyReceiver<T> {
    replies: Arc<Replies<T>>,
    head: usize,
}

/// A reply ring with at least `depth` slots.
pub(crate) fn reply_ring<T>(depth: usize) -> (Arc<Replies<T>>, ReplyReceiver<T>) {
    let capacity = depth.max(2).next_power_of_two();
    let slot =
        |i| ReplySlot { turn: AtomicUsize::new(i), value: UnsafeCell::new(MaybeUninit::uninit()) };
    let replies = Arc::new(Replies {
        slots: (0..capacity).map(slot).collect(),
        tail: Padded(AtomicUsize::new(0)),
    });
    (replies.clone(), ReplyReceiver { replies, head: 0 })
}

impl<T> Replies<T> {
    /// Appends replies, in order. Each answers a request that is outstanding, so that its slot is
    /// free; otherwise this would spin until it is.
    pub(crate) fn send(&self, values: impl ExactSizeIterator<Item = T>) {
        let count = values.len();
        let start = self.tail.fetch_add(count, Ordering::Relaxed);
        let mut written = 0;
        for value in values {
            // An iterator that yields more than it said must not write where others do.
            assert!(written < count, "more replies than claimed");
            let position = start.wrapping_add(written);
            let slot = self.slot(position);
            while slot.turn.load(Ordering::Acquire) != position {
                spin_loop();
            }
            // SAFETY: `fetch_add` gave this position to this thread, and `turn` says that the
            // slot's value of the lap before has been taken.
            slot.value.with_mut(|s| unsafe { (*s).write(value) });
            written += 1;
        }
        // The last one first: a receiver that polls sees none until it sees all, and does not
        // fight for the cache lines meanwhile.
        for i in (0..written).rev() {
            let position = start.wrapping_add(i);
            self.slot(position).turn.store(position.wrapping_add(1), Ordering::Release);
        }
    }

    fn slot(&self, position: usize) -> &ReplySlot<T> {
        &self.slots[position & (self.slots.len() - 1)]
    }

    /// The position behind the last reply that was sent or is being sent.
    pub(crate) fn sent(&self) -> usize {
        self.tail.load(Ordering::Acquire)
    }
}

impl<T> ReplyReceiver<T> {
    /// Takes the oldest reply.
    pub(crate) fn recv(&mut self) -> Option<T> {
        let slot = self.replies.slot(self.head);
        if slot.turn.load(Ordering::Acquire) != self.head.wrapping_add(1) {
            return None;
        }
        // SAFETY: `turn` says that the slot holds the value of position `head`, and this is the
        // only receiver.
        let value = slot.value.with(|s| unsafe { (*s).assume_init_read() });
        slot.turn.store(self.head.wrapping_add(self.replies.slots.len()), Ordering::Release);
        self.head = self.head.wrapping_add(1);
        Some(value)
    }

    /// Whether [`ReplyReceiver::recv`] would find this many replies one after another.
    pub(crate) fn are_ready(&self, count: usize) -> bool {
        (0..count).all(|i| {
            let position = self.head.wrapping_add(i);
            self.replies.slot(position).turn.load(Ordering::Acquire) == position.wrapping_add(1)
        })
    }

    /// The position of the next reply.
    pub(crate) fn position(&self) -> usize {
        self.head
    }
}

impl<T> Drop for Replies<T> {
    fn drop(&mut self) {
        let mask = self.slots.len() - 1;
        for (i, slot) in self.slots.iter().enumerate() {
            // Writable next: turn = i (mod capacity). Readable: turn = i + 1. The capacity is at
            // least 2, so the two differ.
            if slot.turn.load(Ordering::Relaxed) & mask == (i + 1) & mask {
                // SAFETY: the slot holds a value that was not taken, and both ends are gone.
                slot.value.with_mut(|s| unsafe { (*s).assume_init_drop() });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{rc::Rc, thread};

    #[test]
    fn a_push_is_invisible_until_published() {
        let (mut p, mut c) = request_ring(3);
        p.push(1).unwrap();
        p.push(2).unwrap();
        assert!(c.pop().is_none());
        assert_eq!((p.unpublished(), p.publish(), p.publish()), (2, 2, 0));
        assert_eq!(
            (c.pop(), c.peek().copied(), c.pop(), c.pop()),
            (Some(1), Some(2), Some(2), None)
        );
    }

    #[test]
    fn a_full_ring_hands_the_value_back() {
        let (mut p, mut c) = request_ring(2);
        p.push(1).unwrap();
        p.push(2).unwrap();
        assert_eq!(p.push(3), Err(3));
        p.publish();
        assert_eq!(c.pop(), Some(1));
        p.push(3).unwrap();
    }

    #[test]
    fn what_is_left_is_dropped_once() {
        let value = Rc::new(());
        let (mut p, mut c) = request_ring(4);
        for _ in 0..3 {
            p.push(value.clone()).unwrap();
        }
        p.publish();
        p.push(value.clone()).unwrap();
        drop(c.pop());
        drop((p, c));
        assert_eq!(Rc::strong_count(&value), 1);

        let (replies, mut r) = reply_ring(2);
        for _ in 0..5 {
            replies.send([value.clone()].into_iter());
            drop(r.recv());
        }
        replies.send([value.clone()].into_iter());
        drop((replies, r));
        assert_eq!(Rc::strong_count(&value), 1);
    }

    #[test]
    fn both_rings_across_threads() {
        const N: usize = if cfg!(miri) { 200 } else { 100_000 };
        let (mut p, mut c) = request_ring(8);
        let (replies, mut r) = reply_ring(8);
        let echo = thread::spawn(move || {
            let mut n = 0;
            while n < N {
                match c.pop() {
                    Some(v) => {
                        replies.send([v].into_iter());
                        n += 1;
                    }
                    None => thread::yield_now(),
                }
            }
        });
        let (mut sent, mut got) = (0, 0);
        while got < N {
            while sent < N && sent - got < 8 && p.push(Box::new(sent)).is_ok() {
                sent += 1;
            }
            p.publish();
            match r.recv() {
                Some(v) => {
                    assert_eq!(*v, got);
                    got += 1;
                }
                None => thread::yield_now(),
            }
        }
        echo.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::thread;

    #[test]
    fn requests_arrive_in_order_and_whole() {
        loom::model(|| {
            let (mut p, mut c) = request_ring(2);
            let t = thread::spawn(move || {
                let mut next = 0;
                for _ in 0..3 {
                    while next < 3 && p.push(Box::new(next)).is_ok() {
                        next += 1;
                    }
                    p.publish();
                    thread::yield_now();
                }
                next
            });
            let mut got = 0;
            for _ in 0..3 {
                while let Some(v) = c.pop() {
                    assert_eq!(*v, got);
                    got += 1;
                }
                thread::yield_now();
            }
            let sent = t.join().unwrap();
            while let Some(v) = c.pop() {
                assert_eq!(*v, got);
                got += 1;
            }
            assert_eq!(got, sent);
        });
    }

    #[test]
    fn replies_of_two_engines_all_arrive() {
        loom::model(|| {
            let (replies, mut r) = reply_ring(4);
            let other = replies.clone();
            let t = thread::spawn(move || other.send([Box::new(1), Box::new(3)].into_iter()));
            replies.send([Box::new(2)].into_iter());
            let mut sum = 0;
            while sum < 6 {
                match r.recv() {
                    Some(v) => sum += *v,
                    None => thread::yield_now(),
                }
            }
            t.join().unwrap();
            assert!(r.recv().is_none());
        });
    }
}
