//! One engine's channel: a port to each kind of instance.

use std::sync::Arc;

use lookaside_core::{Batch, Channel, Completed, Service, Wake};

use crate::{
    Verify,
    card::Card,
    dc::Dc,
    port::{Port, Way},
};
#[cfg(feature = "crypto")]
use crate::{crypto::Kind, pke::Pke, sym::Sym};

/// The ports, each of which takes an instance of the card for itself with its first request.
pub(crate) struct CardChannel {
    ports: Vec<(Service, Box<dyn Way>)>,
}

impl CardChannel {
    pub(crate) fn new(card: &Arc<Card>, verify: Verify, timeout_ns: u64) -> CardChannel {
        let mut ports: Vec<(Service, Box<dyn Way>)> = Vec::new();
        if card.compresses {
            let dc = Port::new(Dc::new(card.clone(), verify), card, timeout_ns);
            ports.push((Service::Dc, Box::new(dc)));
        }
        #[cfg(feature = "crypto")]
        if card.crypto_traits().has(Kind::Sym) {
            let sym = Port::new(Sym::new(card.clone()), card, timeout_ns);
            ports.push((Service::Sym, Box::new(sym)));
        }
        #[cfg(feature = "crypto")]
        if card.crypto_traits().has(Kind::Pke) {
            let pke = Port::new(Pke::new(card.clone(), verify), card, timeout_ns);
            ports.push((Service::Pke, Box::new(pke)));
        }
        CardChannel { ports }
    }
}

impl Channel for CardChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let Some(service) = batch.op().map(|op| op.service()) else { return 0 };
        let port = self.ports.iter_mut().find(|(of, _)| *of == service);
        port.map_or(0, |(_, port)| port.submit(now_ns, batch))
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.ports.iter_mut().map(|(_, port)| port.poll(now_ns, done)).sum()
    }

    fn in_flight(&self) -> usize {
        self.ports.iter().map(|(_, port)| port.in_flight()).sum()
    }

    fn wake(&self) -> Wake {
        self.ports.iter().fold(Wake::Never, |first, (_, port)| match (first, port.wake()) {
            (Wake::At(a), Wake::At(b)) => Wake::At(a.min(b)),
            (Wake::Never, other) | (other, Wake::Never) => other,
            _ => Wake::Now,
        })
    }

    fn reset(&mut self, done: &mut Completed) {
        self.ports.iter_mut().for_each(|(_, port)| port.reset(done));
    }
}
