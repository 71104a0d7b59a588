//! [`Engine`]: runs packets, side by side where that is faster.

use std::ptr;

use lookaside_simd::Cpu;

use crate::lanes::{Group, Kernel, MOST, Machine, alone};
use crate::{Direction, Error, Packet, single};

/// Runs packets of any sessions. One for each thread; nothing is in flight between calls.
///
/// ```
/// use lookaside_cipher::{Aead, Direction, Engine, Error, Packet, Parts, Session, Span, Spec, Text};
///
/// let cpu = lookaside_simd::Cpu::host();
/// let key = vec![7; 16].into();
/// let session = Session::new(Spec::Aead { aead: Aead::AesGcm, key, tag_len: 16 }, cpu)?;
/// let mut bytes = *b"hello, sixteen..0123456789abcdef";
/// let packet = Packet {
///     session: &session,
///     direction: Direction::Seal,
///     iv: &[1; 12],
///     parts: Parts { cipher: Span { offset: 0, len: 16 }, tag: 16, ..Parts::default() },
///     text: Text::InPlace(&mut bytes),
///     result: Err(Error::NotRun),
/// };
/// assert_eq!(Engine::new(cpu).run_one(packet), Ok(16));
/// assert_ne!(bytes[..5], *b"hello");
/// # Ok::<(), Error>(())
/// ```
pub struct Engine {
    machine: Machine,
}

impl Engine {
    /// An engine whose kernels use no more than `cpu` has. Cheap: what takes half a millisecond, the
    /// lanes of intel-ipsec-mb, is set up at the first packet that is served by them.
    pub fn new(cpu: &Cpu) -> Engine {
        Engine { machine: Machine::new(cpu) }
    }

    pub(crate) fn cpu(&self) -> &Cpu {
        &self.machine.cpu
    }

    /// Runs every packet, and sets its result. Sessions and directions may be mixed; packets whose
    /// sessions have the same algorithms go side by side, whatever their keys.
    pub fn run(&mut self, packets: &mut [Packet<'_>]) {
        for packets in packets.chunks_mut(MOST) {
            self.run_some(packets);
        }
    }

    /// Runs one packet: for sessions that gain nothing by
    /// [`side_by_side`](crate::Session::side_by_side).
    ///
    /// # Errors
    /// What [`Packet::result`] would say.
    #[inline]
    pub fn run_one(&mut self, mut packet: Packet<'_>) -> Result<usize, Error> {
        if !alone(&mut self.machine, &mut packet) {
            if packet.session.side_by_side() {
                self.run_some(std::slice::from_mut(&mut packet));
            } else {
                single::run(packet.session.keys(), &mut packet);
            }
        }
        packet.result
    }

    /// Up to [`MOST`] packets: those of the same kernel and direction together.
    fn run_some(&mut self, packets: &mut [Packet<'_>]) {
        let mut waiting = Group::EMPTY;
        for (place, packet) in packets.iter_mut().enumerate() {
            if alone(&mut self.machine, packet) {
                continue;
            }
            let plan = packet.session.plan();
            if plan.side_by_side() && plan.limits.admit(packet) {
                waiting.insert(place);
            } else {
                single::run(packet.session.keys(), packet);
            }
        }
        while let Some(lead) = { waiting }.next() {
            let (session, direction) = (packets[lead].session, packets[lead].direction);
            let mut group = waiting;
            for place in waiting {
                let packet = &packets[place];
                let same =
                    ptr::eq(packet.session, session) || packet.session.plan().same(session.plan());
                if !same || packet.direction != direction {
                    group.remove(place);
                }
            }
            waiting.remove_all(group);
            self.run_group(session.plan().kernel, direction, packets, group);
        }
    }

    fn run_group(
        &mut self,
        kernel: Kernel,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        let machine = &mut self.machine;
        let few = group.len() < kernel.floor();
        if few || (kernel.ipsec_mb() && !machine.has_lanes()) {
            for place in group {
                single::run(packets[place].session.keys(), &mut packets[place]);
            }
            return;
        }
        match kernel {
            Kernel::Aead(lane) => machine.aead(lane, direction, packets, group),
            Kernel::Steps { cipher, mac, order } => {
                machine.steps((cipher, mac, order), direction, packets, group);
            }
            Kernel::Single | Kernel::Gcm | Kernel::Gmac | Kernel::Ctr(_) => {
                // Served alone, or by `single` above the tier of this engine.
                for place in group {
                    single::run(packets[place].session.keys(), &mut packets[place]);
                }
            }
        }
    }
}
