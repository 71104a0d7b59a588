//! The pipeline under everything: chunks in, many tasks outstanding, results out in order.

use std::{
    collections::VecDeque,
    io::{self, Write},
    thread,
};

use crate::{
    crew::Crew,
    error::Error,
    params::Params,
    provider::{Chunk, Lane, LaneSpec, Memory, Outcome, Provider, Task, TaskError},
};

/// One chunk, and how large a destination it gets.
pub(crate) struct Item<'a> {
    pub(crate) src: Chunk<'a>,
    /// At first.
    pub(crate) room: usize,
    /// At most, after `DstTooSmall`.
    pub(crate) max_room: usize,
}

/// Where chunks come from.
pub(crate) trait Feed<'a> {
    /// The next chunk; `None`: no more. `spare` may be recycled as its memory.
    fn next(&mut self, spare: Vec<u8>) -> Result<Option<Item<'a>>, Error>;
}

/// Receives results in order. `false`: this one is no good; stop.
pub(crate) type Emit<'e, 'a> = dyn FnMut(&Task<'a>) -> Result<bool, Error> + 'e;

/// Runs all chunks of `feed` through `provider`. Returns the chunks from the first one that `emit`
/// refused, in order; none if all went well.
///
/// At most `budget` bytes of buffers (and one chunk more) are alive at one time.
pub(crate) fn run<'a>(
    provider: &dyn Provider,
    params: &Params,
    spec: LaneSpec,
    budget: usize,
    feed: &mut dyn Feed<'a>,
    emit: &mut Emit<'_, 'a>,
) -> Result<Vec<Chunk<'a>>, Error> {
    let depth = provider.depth(params).max(1);
    if params.debug {
        let (name, threads) = (provider.name(), params.num_threads);
        let LaneSpec { direction, format } = spec;
        // There is nobody to tell when that fails.
        _ = writeln!(
            io::stderr(),
            "parcomp: {direction:?} {format} with {name}, depth {depth}, threads {threads}"
        );
    }
    if params.num_threads == 0 {
        let mut lane = provider.open(params, spec)?;
        return Drive::new(depth, budget).run(&mut *lane, feed, emit);
    }
    thread::scope(|scope| {
        let mut crew = Crew::start(scope, provider, params, spec)?;
        Drive::new(crew.depth(), budget).run(&mut crew, feed, emit)
    })
}

enum Place<'a> {
    /// Outstanding; with the largest destination it may get.
    Pending(usize),
    /// Finished, and an earlier one is not.
    Finished(Task<'a>),
}

struct Drive<'a> {
    depth: usize,
    budget: usize,
    /// The tasks from the next one to emit on.
    window: VecDeque<Place<'a>>,
    /// The number of the first task of the window.
    first: u64,
    outstanding: usize,
    /// Bytes of the buffers in the window.
    alive: usize,
    pool: Pool,
}

impl<'a> Drive<'a> {
    fn new(depth: usize, budget: usize) -> Drive<'a> {
        Drive {
            depth,
            budget,
            window: VecDeque::with_capacity(2 * depth),
            first: 0,
            outstanding: 0,
            alive: 0,
            pool: Pool { budget, bytes: 0, src: Vec::new(), dst: Vec::new() },
        }
    }

    fn run(
        mut self,
        lane: &mut dyn Lane<'a>,
        feed: &mut dyn Feed<'a>,
        emit: &mut Emit<'_, 'a>,
    ) -> Result<Vec<Chunk<'a>>, Error> {
        let mut done = Vec::with_capacity(self.depth);
        let mut more = true;
        loop {
            // Twice the depth, so that a slow chunk at the front does not idle the engines.
            while more
                && self.outstanding < self.depth
                && self.window.len() < 2 * self.depth
                && self.alive < self.budget
            {
                match feed.next(self.pool.src())? {
                    Some(item) => self.submit(lane, item)?,
                    None => more = false,
                }
            }
            lane.ring();
            if self.outstanding == 0 {
                return Ok(Vec::new());
            }
            lane.complete(&mut done)?;
            for task in done.drain(..) {
                self.finish(lane, task)?;
            }
            while let Some(Place::Finished(_)) = self.window.front() {
                let Some(Place::Finished(task)) = self.window.pop_front() else { break };
                if !emit(&task)? {
                    return self.stop(lane, task);
                }
                self.first += 1;
                self.alive = self.alive.saturating_sub(task.src.len() + task.dst.len());
                self.pool.put(task);
            }
        }
    }

    fn submit(&mut self, lane: &mut dyn Lane<'a>, item: Item<'a>) -> Result<(), Error> {
        let mut dst = self.pool.dst();
        if dst.len() < item.room {
            // A new one: what is in the old one is of no use, and zeros from the operating system
            // take no memory until they are written to.
            dst = zeros(item.room)?;
        }
        let seq = self.first + self.window.len() as u64;
        self.alive += item.src.len() + dst.len();
        self.window.push_back(Place::Pending(item.max_room));
        self.outstanding += 1;
        lane.submit(Task { seq, src: item.src, dst, outcome: Ok(Outcome::default()) })
    }

    /// Takes a finished task, or submits it again with a larger destination.
    fn finish(&mut self, lane: &mut dyn Lane<'a>, mut task: Task<'a>) -> Result<(), Error> {
        let place = task.seq.checked_sub(self.first);
        let place = place.and_then(|p| usize::try_from(p).ok()).unwrap_or(usize::MAX);
        let Some(Place::Pending(max_room)) = self.window.get(place) else { return Ok(()) };
        let (room, max_room) = (task.dst.len(), *max_room);
        let larger = room.saturating_mul(4).max(1024).min(max_room);
        let fits = self.alive.saturating_add(larger) <= self.budget;
        if task.outcome == Err(TaskError::DstTooSmall) && room < max_room && fits {
            task.dst = Vec::new();
            task.dst = zeros(larger)?;
            self.alive += larger - room;
            return lane.submit(task);
        }
        self.outstanding -= 1;
        self.window[place] = Place::Finished(task);
        Ok(())
    }

    /// `refused` was no good: takes back all that come after it.
    fn stop(mut self, lane: &mut dyn Lane<'a>, refused: Task<'a>) -> Result<Vec<Chunk<'a>>, Error> {
        self.first += 1;
        let mut done = Vec::new();
        while self.outstanding > 0 {
            lane.complete(&mut done)?;
            for mut task in done.drain(..) {
                if task.outcome == Err(TaskError::DstTooSmall) {
                    task.outcome = Ok(Outcome::default());
                }
                self.finish(lane, task)?;
            }
        }
        let rest = self.window.into_iter().filter_map(|place| match place {
            Place::Finished(task) => Some(task.src),
            Place::Pending(_) => None,
        });
        Ok(std::iter::once(refused.src).chain(rest).collect())
    }
}

fn zeros(len: usize) -> Result<Vec<u8>, Error> {
    // Asked first, because `vec!` ends the process when there is no such amount.
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| Error::memory(len))?;
    Ok(vec![0; len])
}

/// Buffers to use again.
struct Pool {
    budget: usize,
    /// Capacity of all that are here.
    bytes: usize,
    src: Vec<Vec<u8>>,
    dst: Vec<Vec<u8>>,
}

impl Pool {
    fn src(&mut self) -> Vec<u8> {
        let v = self.src.pop().unwrap_or_default();
        self.bytes -= v.capacity();
        v
    }

    fn dst(&mut self) -> Vec<u8> {
        let v = self.dst.pop().unwrap_or_default();
        self.bytes -= v.capacity();
        v
    }

    fn put(&mut self, task: Task<'_>) {
        let src = match task.src.0 {
            Memory::Owned(v) => v,
            Memory::Lent(_) => Vec::new(),
        };
        for (v, shelf) in [(src, &mut self.src), (task.dst, &mut self.dst)] {
            if v.capacity() > 0 && self.bytes.saturating_add(v.capacity()) <= self.budget {
                self.bytes += v.capacity();
                shelf.push(v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        params::Format,
        provider::{Direction, Provider},
    };

    /// Reverses each chunk; answers in an order of its own, with `DstTooSmall` at first.
    struct Reverse {
        held: Vec<Task<'static>>,
        most: usize,
    }

    impl Lane<'static> for Reverse {
        fn submit(&mut self, task: Task<'static>) -> Result<(), Error> {
            self.held.push(task);
            self.most = self.most.max(self.held.len());
            Ok(())
        }

        fn complete(&mut self, done: &mut Vec<Task<'static>>) -> Result<(), Error> {
            // The newest first, one at a time.
            let mut task = self.held.pop().expect("something is outstanding");
            let len = task.src.len();
            task.outcome = if task.dst.len() < len {
                Err(TaskError::DstTooSmall)
            } else {
                for (d, s) in task.dst.iter_mut().zip(task.src.bytes().iter().rev()) {
                    *d = *s;
                }
                Ok(Outcome { consumed: len, produced: len, checksum: 0 })
            };
            done.push(task);
            Ok(())
        }
    }

    struct Numbers(std::ops::Range<u32>);

    impl Feed<'static> for Numbers {
        fn next(&mut self, mut spare: Vec<u8>) -> Result<Option<Item<'static>>, Error> {
            let Some(n) = self.0.next() else { return Ok(None) };
            spare.clear();
            spare.extend_from_slice(&n.to_be_bytes());
            Ok(Some(Item { src: spare.into(), room: 0, max_room: 4096 }))
        }
    }

    #[test]
    fn results_come_in_order_and_small_destinations_grow() {
        for depth in [1, 2, 3, 16] {
            let mut lane = Reverse { held: Vec::new(), most: 0 };
            let mut next = 0;
            let mut emit = |t: &Task<'_>| {
                assert_eq!(t.dst[..4], (next as u32).to_le_bytes());
                next += 1;
                Ok(true)
            };
            let rest =
                Drive::new(depth, usize::MAX).run(&mut lane, &mut Numbers(0..1000), &mut emit);
            assert!(rest.unwrap().is_empty());
            assert_eq!((next, lane.most <= depth), (1000, true));
        }
    }

    #[test]
    fn a_refusal_gives_back_the_rest_in_order() {
        let mut lane = Reverse { held: Vec::new(), most: 0 };
        let mut emit = |t: &Task<'_>| Ok(t.src.bytes() != 7u32.to_be_bytes());
        let mut feed = Numbers(0..1000);
        let rest = Drive::new(8, usize::MAX).run(&mut lane, &mut feed, &mut emit).unwrap();
        let numbers: Vec<_> =
            rest.iter().map(|c| u32::from_be_bytes(c.bytes().try_into().unwrap())).collect();
        assert_eq!(numbers, (7..feed.0.start).collect::<Vec<_>>());
    }

    #[test]
    fn the_budget_bounds_what_is_alive() {
        let mut lane = Reverse { held: Vec::new(), most: 0 };
        let mut emit = |_: &Task<'_>| Ok(true);
        let drive = Drive::new(100, 3000);
        drive.run(&mut lane, &mut Numbers(0..100), &mut emit).unwrap();
        // Each task has 4 bytes at first; a grown one 1,024 more.
        assert!(lane.most >= 2, "{}", lane.most);
        let mut pool = Pool { budget: 100, bytes: 0, src: Vec::new(), dst: Vec::new() };
        for _ in 0..5 {
            let (src, dst) = (vec![0; 30].into(), vec![0; 30]);
            pool.put(Task { seq: 0, src, dst, outcome: Ok(Outcome::default()) });
        }
        assert!(pool.bytes <= 100 && pool.src.len() + pool.dst.len() == 3);
    }

    #[test]
    fn a_provider_that_cannot_open_is_an_error_in_threads_too() {
        for num_threads in [0, 3] {
            let params = Params { level: 12, num_threads, ..Params::default() };
            let spec = LaneSpec { direction: Direction::Compress, format: Format::Cf };
            let zlib: &dyn Provider = &crate::Zlib;
            let mut emit = |_: &Task<'_>| Ok(true);
            let result = run(zlib, &params, spec, usize::MAX, &mut Numbers(0..100), &mut emit);
            assert!(matches!(result, Err(Error::Param { .. })), "{num_threads}");
        }
    }
}
