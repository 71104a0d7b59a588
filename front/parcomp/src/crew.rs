//! Threads of the framework, each with its own lane; together they are one lane.

use std::{
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
                let alarm = Alarm { answer: &answer, name: provider.name() };
                pin(core);
                if let Err(e) = work(i, provider, params, spec, depth, &inbox, &answer) {
                    _ = answer.send(Err(e));
                }
                drop(alarm);
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

/// Says so when its thread panics: the tasks it held never come back.
struct Alarm<'s, 'a> {
    answer: &'s Sender<Answer<'a>>,
    name: &'s str,
}

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let what = "panicked".into();
            _ = self.answer.send(Err(Error::Provider { provider: self.name.into(), what }));
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
