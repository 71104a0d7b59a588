//! The way of requests to one kind of instance and back: what waits, what flies, what is late, what goes on to the next
//! device.

use std::{collections::VecDeque, mem, sync::Arc};

use lookaside_core::{Batch, Completed, Done, Lost, OpError, Wake, Work};
use lookaside_quickassist::*;

use crate::card::Card;

/// The most requests of a port that are at the card.
pub(crate) const DEPTH: usize = 32;

/// How long a card that failed is left alone.
const REST_NS: u64 = 100_000_000;

/// Between two polls of a card that had nothing.
const PAUSE_NS: u64 = 10_000;

/// What one kind of instance is given, and how its answers are judged.
pub(crate) trait Unit: Send {
    /// An instance, as a channel has it.
    type Lent: Send;
    /// A request at the card, or the memory for one.
    type Flight: Send;

    /// An instance of one's own; `None` where all are lent.
    fn lend(card: &Card) -> Option<Self::Lent>;

    /// Tries to give a request to the card; `None` for what is not for this card. The request stays as it is.
    fn send(&mut self, lent: &Self::Lent, work: &Work) -> Option<Result<Self::Flight, CpaStatus>>;

    /// Lets the library call back for what is done.
    fn poll(card: &Card, lent: &Self::Lent) -> CpaStatus;

    /// The status of the answer, once there is one.
    fn landed(flight: &mut Self::Flight) -> Option<CpaStatus>;

    /// Judges the answer of a call that succeeded, and writes it. `None`: it is not one to give to anybody, the request is
    /// as it was, and the next device has it.
    fn judge(&mut self, work: &mut Work, flight: &mut Self::Flight) -> Option<Done>;

    /// Keeps the memory of what has landed for the next one.
    fn keep(&mut self, flight: Self::Flight);

    /// The channel ends, and the card has nothing of it: the instance goes back, without sessions.
    fn give_back(&mut self, lent: Self::Lent);

    /// The channel ends, and the card has pointers to some of its requests: the memory of their sessions is never freed.
    fn abandon(&mut self) {}
}

/// A port, whatever its instance is for: as a channel is.
pub(crate) trait Way: Send {
    /// As a channel does.
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize;
    /// As a channel does.
    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize;
    /// As a channel does.
    fn in_flight(&self) -> usize;
    /// As a channel does.
    fn wake(&self) -> Wake;
    /// As a channel does.
    fn reset(&mut self, done: &mut Completed);
}

/// A request at the card.
struct Airborne<F> {
    work: Work,
    flight: F,
    since_ns: u64,
}

/// A channel's access to one kind of instance.
pub(crate) struct Port<U: Unit> {
    unit: U,
    card: Arc<Card>,
    lent: Option<U::Lent>,
    timeout_ns: u64,
    airborne: VecDeque<Airborne<U::Flight>>,
    /// What the card did not answer in time; it still may.
    stuck: Vec<U::Flight>,
    /// Taken, and the ring was full.
    waiting: Option<Work>,
    /// Not for this card.
    refused: VecDeque<Work>,
    /// Until when the card is left alone.
    rests_until_ns: u64,
    now_ns: u64,
    /// The last poll brought nothing.
    silent: bool,
}

impl<U: Unit> Port<U> {
    pub(crate) fn new(unit: U, card: &Arc<Card>, timeout_ns: u64) -> Port<U> {
        Port {
            unit,
            card: card.clone(),
            lent: None,
            timeout_ns,
            airborne: VecDeque::with_capacity(DEPTH),
            stuck: Vec::new(),
            waiting: None,
            refused: VecDeque::new(),
            rests_until_ns: 0,
            now_ns: 0,
            silent: false,
        }
    }

    /// Whether the card takes requests now. An instance is taken with the first request: many channels never have one.
    fn works(&mut self) -> bool {
        if self.now_ns < self.rests_until_ns || self.stuck.len() >= DEPTH {
            return false;
        }
        if self.lent.is_none() {
            self.lent = U::lend(&self.card);
        }
        let ready = self.lent.is_some() && self.card.is_ours();
        if !ready {
            self.rest();
        }
        ready
    }

    fn rest(&mut self) {
        self.rests_until_ns = self.now_ns + REST_NS;
    }

    /// A card that restarts, or failed altogether, is asked again later.
    fn heed(&mut self, status: CpaStatus) {
        if matches!(status, CPA_STATUS_RESTARTING | CPA_STATUS_FATAL) {
            self.rest();
        }
    }

    /// Gives it to the card, or puts it where it waits or goes on from.
    fn accept(&mut self, work: Work) {
        if !self.works() {
            return self.refused.push_back(work);
        }
        let sent = self.lent.as_ref().and_then(|lent| self.unit.send(lent, &work));
        match sent.unwrap_or(Err(CPA_STATUS_UNSUPPORTED)) {
            Ok(flight) => {
                let since_ns = self.now_ns;
                self.silent = false;
                self.airborne.push_back(Airborne { work, flight, since_ns });
            }
            Err(CPA_STATUS_RETRY) => self.waiting = Some(work),
            Err(status) => {
                self.heed(status);
                self.refused.push_back(work);
            }
        }
    }

    fn retry(&mut self) {
        if self.airborne.len() + self.stuck.len() < DEPTH
            && let Some(work) = self.waiting.take()
        {
            self.accept(work);
        }
    }

    /// Hands back what has landed.
    fn collect(&mut self, done: &mut Completed) -> usize {
        let mut n = 0;
        for _ in 0..self.airborne.len() {
            let Some(mut one) = self.airborne.pop_front() else { break };
            match U::landed(&mut one.flight) {
                // The runtime resets a channel that answers nothing; this one may answer others.
                None if self.now_ns.saturating_sub(one.since_ns) >= self.timeout_ns => {
                    n += 1;
                    self.rest();
                    hand_on(done, one.work);
                    self.stuck.push(one.flight);
                }
                None => self.airborne.push_back(one),
                Some(status) => {
                    n += 1;
                    self.heed(status);
                    let answer = match status {
                        CPA_STATUS_SUCCESS => self.unit.judge(&mut one.work, &mut one.flight),
                        _ => None,
                    };
                    match answer {
                        Some(answer) => done.push(one.work, Ok(answer)),
                        None => hand_on(done, one.work),
                    }
                    self.unit.keep(one.flight);
                }
            }
        }
        self.release();
        n
    }

    /// Keeps what was late and has landed.
    fn release(&mut self) {
        for mut flight in mem::take(&mut self.stuck) {
            match U::landed(&mut flight) {
                Some(_) => self.unit.keep(flight),
                None => self.stuck.push(flight),
            }
        }
    }

    fn poll_card(&mut self) {
        if self.airborne.is_empty() && self.stuck.is_empty() {
            return;
        }
        let Some(lent) = self.lent.as_ref().filter(|_| self.card.is_ours()) else { return };
        match U::poll(&self.card, lent) {
            CPA_STATUS_SUCCESS | CPA_STATUS_RETRY => {}
            // What it holds it may still answer; the time-out decides.
            _ => self.rest(),
        }
    }
}

impl<U: Unit> Way for Port<U> {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        self.now_ns = now_ns;
        self.retry();
        let mut taken = 0;
        while self.waiting.is_none() && self.airborne.len() + self.stuck.len() < DEPTH {
            let Some(work) = batch.take() else { break };
            taken += 1;
            self.accept(work);
        }
        // A card that holds nothing but what it never answered takes nothing more: then others have it.
        while self.airborne.is_empty() && self.stuck.len() >= DEPTH {
            let Some(work) = batch.take() else { break };
            taken += 1;
            self.refused.push_back(work);
        }
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.now_ns = now_ns;
        self.poll_card();
        let mut n = self.collect(done);
        self.silent = n == 0;
        self.retry();
        n += self.refused.len();
        self.refused.drain(..).for_each(|work| hand_on(done, work));
        n
    }

    fn in_flight(&self) -> usize {
        self.airborne.len() + self.refused.len() + usize::from(self.waiting.is_some())
    }

    fn wake(&self) -> Wake {
        match (self.refused.is_empty(), self.in_flight()) {
            (_, 0) => Wake::Never,
            (true, _) if self.silent => Wake::At(self.now_ns + PAUSE_NS),
            _ => Wake::Now,
        }
    }

    fn reset(&mut self, done: &mut Completed) {
        self.poll_card();
        self.collect(done);
        // The card's memory is its own: whatever it still writes, the request has not seen it.
        for one in mem::take(&mut self.airborne) {
            hand_on(done, one.work);
            self.stuck.push(one.flight);
        }
        let left = self.waiting.take().into_iter().chain(mem::take(&mut self.refused));
        left.for_each(|work| hand_on(done, work));
        self.rests_until_ns = self.now_ns + self.timeout_ns;
    }
}

impl<U: Unit> Drop for Port<U> {
    fn drop(&mut self) {
        self.stuck.extend(mem::take(&mut self.airborne).into_iter().map(|one| one.flight));
        for _ in 0..1000 {
            if self.stuck.is_empty() {
                break;
            }
            self.poll_card();
            self.release();
        }
        let Some(lent) = self.lent.take() else { return };
        if self.stuck.is_empty() && self.card.is_ours() {
            self.unit.give_back(lent);
        } else {
            // The card has pointers to these; nobody else may have the instance, either.
            mem::forget((lent, mem::take(&mut self.stuck)));
            self.unit.abandon();
        }
    }
}

/// The request as it was, for the next device.
fn hand_on(done: &mut Completed, mut work: Work) {
    work.lose(Lost::Untouched);
    done.push(work, Err(OpError::DeviceLost(Lost::Untouched)));
}
