//! Threads of the framework, each with its own lane; together they are one lane.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel},
    thread::{self, Scope},
};

use crate::{
    error::Error,
    params::Params,
    provider::{Lane, LaneSpec, Provider, Task},
};

type Answer<'a> = Result<(usize, Task<'a>), Error>;

/// The threads. Dropping it ends them when they have done what they took.
pub(crate) struct Crew<'a> {
    workers: Vec<Worker<'a>>,
    answers: Receiver<Answer<'a>>,
    /// Tasks that one thread is given at a time.
    each: usize,
}

struct Worker<'a> {
    tasks: SyncSender<Task<'a>>,
    load: usize,
}

impl<'a> Crew<'a> {
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        provider: &'scope dyn Provider,
        params: &'scope Params,
        spec: LaneSpec,
    ) -> Result<Crew<'a>, Error>
    where
        'a: 'scope,
    {
        let depth = provider.depth(params).max(1);
        // One more than the lane holds: the next one is there when the thread looks for it.
        let each = depth + 1;
        let (answer, answers) = channel();
        let cores = params.cores();
        let mut workers = Vec::with_capacity(params.num_threads);
        for i in 0..params.num_threads {
            let (tasks, inbox) = sync_channel(each);
            let answer = answer.clone();
            let core = (!cores.is_empty()).then(|| cores[i % cores.len()]);
            let body = move || {
                pin(core);
                let work = || work(i, provider, params, spec, depth, &inbox, &answer);
                // The tasks that it holds never come back from a panic; that is an error, not a
                // panic of the calling thread.
                let ended = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                    let provider = provider.name().into();
                    Err(Error::Provider { provider, what: "panicked".into() })
                });
                if let Err(e) = ended {
                    _ = answer.send(Err(e));
                }
            };
            let name = format!("parcomp-{i}");
            thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, body)
                .map_err(|e| Error::io("start a thread", e))?;
            workers.push(Worker { tasks, load: 0 });
        }
        Ok(Crew { workers, answers, each })
    }

    /// How many tasks all threads together take.
    pub(crate) fn depth(&self) -> usize {
        self.workers.len() * self.each
    }
}

impl<'a> Lane<'a> for Crew<'a> {
    fn submit(&mut self, task: Task<'a>) -> Result<(), Error> {
        let least = self.workers.iter_mut().min_by_key(|w| w.load);
        let sent = least.map(|w| {
            w.load += 1;
            w.tasks.send(task).is_ok()
        });
        match sent {
            Some(true) => Ok(()),
            // The thread has ended, and said why.
            _ => Err(self.reason()),
        }
    }

    fn complete(&mut self, done: &mut Vec<Task<'a>>) -> Result<(), Error> {
        let mut next = self.answers.recv().map_err(|_| gone())?;
        loop {
            let (worker, task) = next?;
            self.workers[worker].load -= 1;
            done.push(task);
            match self.answers.try_recv() {
                Ok(more) => next = more,
                Err(_) => return Ok(()),
            }
        }
    }
}

impl Crew<'_> {
    fn reason(&self) -> Error {
        self.answers.iter().find_map(Result::err).unwrap_or_else(gone)
    }
}

fn gone() -> Error {
    Error::Provider { provider: "thread".into(), what: "ended early".into() }
}

/// What one thread does.
fn work<'a>(
    me: usize,
    provider: &dyn Provider,
    params: &Params,
    spec: LaneSpec,
    depth: usize,
    inbox: &Receiver<Task<'a>>,
    answer: &Sender<Answer<'a>>,
) -> Result<(), Error> {
    let mut lane = provider.open(params, spec)?;
    let (mut outstanding, mut done) = (0, Vec::with_capacity(depth));
    loop {
        while outstanding < depth {
            let task = match outstanding {
                0 => inbox.recv().map_err(|_| TryRecvError::Disconnected),
                _ => inbox.try_recv(),
            };
            match task {
                Ok(task) => lane.submit(task)?,
                Err(TryRecvError::Disconnected) if outstanding == 0 => return Ok(()),
                Err(_) => break,
            }
            outstanding += 1;
        }
        lane.ring();
        lane.complete(&mut done)?;
        outstanding -= done.len();
        for task in done.drain(..) {
            _ = answer.send(Ok((me, task)));
        }
    }
}

/// Binds the calling thread to a core.
fn pin(core: Option<usize>) {
    if let Some(core) = core {
        let mut set = rustix::thread::CpuSet::new();
        set.set(core);
        // Refused when the core went away this instant: then any will do.
        _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, provider::Outcome};

    /// After some tasks, each of its lanes does what it must not.
    struct Failing {
        panics: bool,
    }

    struct FailingLane {
        panics: bool,
        left: usize,
        held: Vec<Task<'static>>,
    }

    impl Provider for Failing {
        fn name(&self) -> &str {
            "failing"
        }

        fn depth(&self, _: &Params) -> usize {
            3
        }

        fn bound(&self, _: &Params, _: usize) -> usize {
            1
        }

        fn open<'a>(&self, _: &Params, _: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
            let (panics, left) = (self.panics, 5);
            Ok(Box::new(FailingLane { panics, left, held: Vec::new() }))
        }
    }

    impl<'a> Lane<'a> for FailingLane {
        fn submit(&mut self, task: Task<'a>) -> Result<(), Error> {
            let (seq, src) = (task.seq, task.src.bytes().to_vec().into());
            let outcome = Ok(Outcome { consumed: task.src.len(), produced: 1, checksum: 0 });
            self.held.push(Task { seq, src, dst: task.dst, outcome });
            Ok(())
        }

        fn complete(&mut self, done: &mut Vec<Task<'a>>) -> Result<(), Error> {
            self.left -= 1;
            match (self.left, self.panics) {
                (0, true) => panic!("as the test wants it"),
                (0, false) => Err(gone()),
                _ => {
                    done.extend(self.held.pop());
                    Ok(())
                }
            }
        }
    }

    /// With requests in flight everywhere: an error, no hang, no panic of the caller.
    #[test]
    fn a_thread_that_fails_or_panics_is_an_error() {
        for panics in [false, true] {
            for num_threads in 1..=4 {
                let provider = Failing { panics };
                let params = Params { num_threads, chunk_size: 1, ..Params::default() };
                let data = [0; 10_000];
                // A reader: its tasks own their memory.
                let source = Source::Reader { reader: &mut &data[..], len: None };
                let result =
                    crate::compress(&provider, &params, source, &mut Vec::new(), &mut |_, _| ());
                assert!(matches!(result, Err(Error::Provider { .. })), "{panics} {num_threads}");
            }
        }
    }

    /// The sink fails while every thread has work.
    #[test]
    fn an_error_of_the_caller_ends_the_threads() {
        let params = Params { num_threads: 4, chunk_size: 1000, ..Params::default() };
        let data = vec![1; 1_000_000];
        for provider in ["zlib", "lookaside"] {
            let provider = crate::provider(provider).unwrap();
            let mut sink = std::io::Cursor::new([0; 2000]);
            let source = Source::Slice(&data);
            let result =
                crate::compress(&*provider, &params, source, &mut &mut sink, &mut |_, _| ());
            assert!(matches!(result, Err(Error::Io { .. })));
        }
    }
}
