//! Engine.

use lookaside_simd::Cpu;

use crate::{Error, Packet, single};

/// Runs packets.
pub struct Engine {}

impl Engine {
    /// An engine.
    pub fn new(_cpu: &Cpu) -> Engine {
        Engine {}
    }

    /// Runs every packet, and sets its result.
    pub fn run(&mut self, packets: &mut [Packet<'_>]) {
        for p in packets {
            single::run(p.session.keys(), p);
        }
    }

    /// Runs one packet.
    ///
    /// # Errors
    /// What [`Packet::result`] would say.
    pub fn run_one(&mut self, mut packet: Packet<'_>) -> Result<usize, Error> {
        single::run(packet.session.keys(), &mut packet);
        packet.result
    }
}
