//! Symmetric requests: what is asked of the card, and what of its answers is believed.

mod flight;
mod parts;
mod setup;

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Weak},
};

use lookaside_core::{Aead, Carried, Done, Op, Status, Sym as Spec, Work, store_result};
use lookaside_pke::hash::equal;
use lookaside_quickassist::*;
use zeroize::Zeroize;

use self::{flight::Flight, parts::Parts};
pub(crate) use self::{
    parts::LARGEST,
    setup::{Plan, list},
};
use crate::{
    card::Card,
    crypto::{CyLent, Kind},
    memory::Memory,
    port::Unit,
};

/// What a session of the runtime's is for this device. Shared: the card's sessions end some time after it.
pub(crate) type Shared = Arc<Plan>;

/// Sessions of the card that one channel has before it ends those whose session of the runtime's has gone.
const FEW: usize = 64;

/// One session of the card: a key, a direction, a length of associated data.
type Key = (u64, Op, usize);

struct Session {
    memory: Memory,
    plan: Weak<Plan>,
    /// Requests of it that the card has.
    flying: usize,
}

/// A request at the card.
pub(crate) struct Sent {
    flight: Flight,
    key: Key,
}

/// A channel's instance for symmetric requests.
pub(crate) struct Sym {
    card: Arc<Card>,
    sessions: HashMap<Key, Session>,
    /// From this number of sessions on, those that nobody needs are ended.
    many: usize,
    idle: Vec<Flight>,
}

impl Sym {
    pub(crate) fn new(card: Arc<Card>) -> Sym {
        Sym { card, sessions: HashMap::new(), many: FEW, idle: Vec::new() }
    }

    /// Begins a session of the card, if there is none.
    fn begin(&mut self, lent: &CyLent, key: Key, plan: &Shared) -> Option<()> {
        if self.sessions.contains_key(&key) {
            return Some(());
        }
        if self.sessions.len() >= self.many {
            self.end_some(lent);
        }
        let memory = begin(&self.card, lent, plan, key.1, key.2)?;
        let session = Session { memory, plan: Arc::downgrade(plan), flying: 0 };
        self.sessions.insert(key, session);
        Some(())
    }

    /// Ends the sessions of the card whose session of the runtime's has gone.
    fn end_some(&mut self, lent: &CyLent) {
        let over = |session: &Session| session.flying == 0 && session.plan.strong_count() == 0;
        for (_, session) in self.sessions.extract_if(|_, session| over(session)) {
            end(&self.card, lent, session.memory);
        }
        self.many = FEW.max(2 * self.sessions.len());
    }
}

/// Whether the card takes sessions of this kind. Where all instances are lent, and in a child of its process, it is assumed
/// to: their channels find out.
pub(crate) fn is_taken(card: &Card, plan: &Plan, op: Op) -> bool {
    let Some(lent) = card.lend_crypto(Kind::Sym) else { return true };
    let session = begin(card, &lent, plan, op, 0);
    let taken = session.map(|session| end(card, &lent, session)).is_some();
    card.give_crypto_back(Kind::Sym, lent);
    taken
}

/// A session in memory of its own; `None` where the card does not take it.
pub(crate) fn begin(
    card: &Card,
    lent: &CyLent,
    plan: &Plan,
    op: Op,
    aad_len: usize,
) -> Option<Memory> {
    card.begin_sym(lent, &plan.setup(op, aad_len), Some(flight::answered))
}

/// Ends a session of which no request is in flight, and overwrites what it had of a key.
pub(crate) fn end(card: &Card, lent: &CyLent, mut session: Memory) {
    card.end_sym(lent, &session);
    session.bytes_mut().zeroize();
}

impl Unit for Sym {
    type Lent = CyLent;
    type Flight = Sent;

    fn lend(card: &Card) -> Option<CyLent> {
        card.lend_crypto(Kind::Sym)
    }

    fn send(&mut self, lent: &CyLent, work: &Work) -> Option<Result<Sent, CpaStatus>> {
        let plan = work.prepared::<Shared>()?;
        let parts = Parts::of(plan, work.request())?;
        let key = (plan.id, Plan::way(work.request().op), parts.aad.len());
        self.begin(lent, key, plan)?;
        let session = self.sessions.get_mut(&key)?;
        let mut flight = self.idle.pop().or_else(|| Flight::new(&self.card, lent))?;
        let ccm = matches!(plan.sym, Spec::Aead { aead: Aead::AesCcm, .. });
        if !flight.fill(&self.card, lent, &parts, ccm, plan.tag_len) {
            return None;
        }
        let status = flight.submit(&self.card, lent, &session.memory);
        if status == CPA_STATUS_SUCCESS {
            session.flying += 1;
            return Some(Ok(Sent { flight, key }));
        }
        flight.wipe();
        self.idle.push(flight);
        Some(Err(status))
    }

    fn poll(card: &Card, lent: &CyLent) -> CpaStatus {
        card.poll_crypto(lent)
    }

    fn landed(sent: &mut Sent) -> Option<CpaStatus> {
        sent.flight.landed()
    }

    fn judge(&mut self, work: &mut Work, sent: &mut Sent) -> Option<Done> {
        let plan = work.prepared::<Shared>()?.clone();
        let (text, tag) = sent.flight.made();
        let op = work.request().op;
        match op {
            // A wrong tag is said by the next device.
            Op::Open if !sent.flight.is_verified() => return None,
            Op::Verify if !equal(tag, Parts::of(&plan, work.request())?.tag) => return None,
            _ => {}
        }
        parts::write(&plan, work.request_mut(), text, tag)?;
        let carried = work.request_mut().carried.as_deref_mut();
        let packet = carried.and_then(|carried: &mut Carried| carried.packets_mut().first_mut())?;
        let produced = match plan.sym {
            Spec::Auth { .. } => plan.tag_len,
            _ => packet.cipher.len as usize,
        };
        store_result(&mut packet.result, Ok(produced as u32));
        let consumed = parts::consumed(packet);
        Some(Done { consumed, produced, checksum: 0, status: Status::Complete })
    }

    fn keep(&mut self, mut sent: Sent) {
        if let Some(session) = self.sessions.get_mut(&sent.key) {
            session.flying -= 1;
        }
        sent.flight.wipe();
        self.idle.push(sent.flight);
    }

    fn give_back(&mut self, lent: CyLent) {
        let sessions = mem::take(&mut self.sessions);
        sessions.into_values().for_each(|session| end(&self.card, &lent, session.memory));
        self.card.give_crypto_back(Kind::Sym, lent);
    }

    fn abandon(&mut self) {
        mem::forget(mem::take(&mut self.sessions));
    }
}
