//! Execution.

use std::{cell::RefCell, sync::Arc};

use lookaside::{Buf, Counters, Instance, InstanceConfig, Request, Runtime};

use crate::{error::Result, settings::Settings, statistics::Tallies};

/// What an operation has written.
pub struct Answer {
    dst: Buf,
    len: usize,
}

impl core::ops::Deref for Answer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.dst.as_slice().and_then(|bytes| bytes.get(..self.len)).unwrap_or_default()
    }
}

/// Where requests are executed.
pub struct Lanes {
    local: Runtime,
}

thread_local! {
    static LOCAL: RefCell<Option<Instance>> = const { RefCell::new(None) };
}

impl Lanes {
    /// Starts the runtimes.
    pub fn start(_settings: &Settings, _tallies: &Arc<Tallies>) -> Result<Lanes> {
        let local = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
        Ok(Lanes { local })
    }

    /// The runtime that sessions are made with.
    pub fn runtime(&self) -> &Runtime {
        &self.local
    }

    /// The counters of all runtimes.
    pub fn counters(&self) -> Vec<Counters> {
        vec![self.local.counters()]
    }

    /// Executes a request.
    pub fn run(&self, request: Request) -> Result<Answer> {
        LOCAL.with_borrow_mut(|slot| {
            let instance = match slot {
                Some(instance) => instance,
                None => slot.insert(self.local.instance(InstanceConfig::default())?),
            };
            let _ = instance.push(request);
            let response = instance.poll().next();
            let response = response.ok_or(crate::error::Reason::DeviceFailed)?;
            let done = response.result?;
            Ok(Answer { dst: response.dst, len: done.produced })
        })
    }
}
