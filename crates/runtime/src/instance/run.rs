//! A request that its instance executes at once, without its rings.

use lookaside_core::{Request, Response, Ticket, probes};

use super::{Executor, Full, Instance};
use crate::{doorbell::Notice, engine::Ran, fork};

impl Instance {
    /// As [`Instance::push`], for a caller that waits for the answer next: with 0 engines, a request that is the only
    /// one is executed within this call, and answered by it. `None`: it was pushed, and [`Instance::wait`] and
    /// [`Instance::poll`] answer it. An instance's first request, all of one with a promise or a rate, streams and
    /// chains are pushed.
    ///
    /// The rings, the arbiter and the batcher take twice the time of a short request; counters count it as any other.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{Buf, InstanceConfig, Runtime};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
    /// let mut instance = runtime.instance(InstanceConfig::default())?;
    /// let mover = runtime.mover()?;
    /// for _ in 0..2 {
    ///     let copy = mover.copy(Buf::from(vec![1_u8; 9]), Buf::zeroed(9));
    ///     let response = match instance.run(copy)? {
    ///         Some(response) => response,
    ///         None => instance.poll().next().ok_or("it was pushed")?,
    ///     };
    ///     assert_eq!(response.dst.as_slice(), Some(&[1; 9][..]));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Instance::push`].
    // Always inlined: see `push`.
    #[inline(always)]
    pub fn run(&mut self, request: Request) -> Result<Option<Response>, Full> {
        if self.outstanding > 0 || fork::generation() != self.generation || self.lost.is_some() {
            return self.push(request).map(|()| None);
        }
        let Some(mut work) = self.link.free.pop() else {
            return self.push(request).map(|()| None);
        };
        work.fill(request);
        let clock = &*self.tenant.inner().clock;
        let (outlet, Executor::Own(engine)) = (&mut self.link.outlet, &mut self.link.executor)
        else {
            return self.push_filled(work);
        };
        let now = clock.now_ns();
        work.epoch = 0;
        work.pushed_ns = now;
        work.ticket =
            Ticket { port: outlet.place(), generation: outlet.generation, seq: outlet.seq };
        match engine.run_only(work, now, clock) {
            Ran::Here(mut work) => {
                probes::polled(&work);
                let response = work.respond();
                self.link.free.push(work);
                Ok(response)
            }
            Ran::Not(work) => self.push_filled(work),
            Ran::Held => {
                outlet.seq += 1;
                self.outstanding += 1;
                // It is in no ring, so no doorbell says so to the caller's event loop.
                self.link.notice(Notice::signal_fd);
                Ok(None)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn push_filled(&mut self, work: lookaside_core::Work) -> Result<Option<Response>, Full> {
        match self.enqueue(work) {
            None => Ok(None),
            Some(work) => self.hand_back(work).map(|()| None),
        }
    }
}
