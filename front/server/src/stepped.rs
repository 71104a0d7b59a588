//! Virtual functions without threads: whoever has them says when they go on, and what time it is then.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use lookaside::Runtime;

use crate::{
    Config, Functions, Server, StartError,
    function::{Function, Next, Serving},
};

/// A virtual function of a server that [`Server::start_stepped`] made. It owns the connections of its clients: dropped
/// before it has ended, it is to them as a server that was killed.
pub struct Stepped {
    name: String,
    /// `None` when it is over.
    serving: Option<Box<Serving>>,
    /// It sleeps: until an event, or this time.
    asleep: Option<Option<u64>>,
}

/// What one [`Stepped::step`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It moved, or looks for a while: call again soon.
    Awake,
    /// It sleeps until a client or an engine wakes it, or until this time of the clock.
    Asleep(Option<u64>),
    /// Its server stops, and it has answered what it had taken.
    Over,
}

impl Stepped {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One turn of what its thread would do, at `now_ns` of any clock that does not go back. While it sleeps, it only looks
    /// whether anybody has woken it. Never waits.
    pub fn step(&mut self, now_ns: u64) -> Turn {
        let Some(serving) = &mut self.serving else { return Turn::Over };
        if let Some(until_ns) = self.asleep {
            let woken = serving.events(Some(Duration::ZERO));
            if !woken && until_ns.is_none_or(|until_ns| now_ns < until_ns) {
                return Turn::Asleep(until_ns);
            }
            self.asleep = None;
        }
        match serving.step(now_ns) {
            Next::Again | Next::Look => Turn::Awake,
            Next::Sleep(timeout) => {
                let until_ns = timeout.map(|time| now_ns + time.as_nanos() as u64);
                self.asleep = Some(until_ns);
                Turn::Asleep(until_ns)
            }
            Next::End => {
                self.serving = None;
                Turn::Over
            }
        }
    }
}

impl Server {
    /// Starts the virtual functions on a runtime of the caller's, without threads, for simulation with a virtual clock
    /// ([`lookaside::Builder::start_stepped`] does the same for engines). Step what [`Server::take_stepped`] returns;
    /// `engines` and `batch_us` of the configuration are the runtime's business.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_stepped(config: &Config, runtime: Runtime) -> Result<Server, StartError> {
        let functions = Functions::new(config, Arc::new(runtime), Vec::new(), Some(Vec::new()))?;
        Ok(Server { _control: None, functions: Arc::new(Mutex::new(functions)) })
    }

    /// The virtual functions that were opened since the last call, if the caller steps them. Those that a dropped or
    /// reloaded server closes have to be stepped until they are over.
    pub fn take_stepped(&mut self) -> Vec<Stepped> {
        let unstarted = self.functions().unstarted.as_mut().map(std::mem::take).unwrap_or_default();
        let stepped = |(name, function): (String, Function)| Stepped {
            name,
            serving: Some(Box::new(function.serving())),
            asleep: None,
        };
        unstarted.into_iter().map(stepped).collect()
    }
}
