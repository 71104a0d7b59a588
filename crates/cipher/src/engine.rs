//! [`Engine`]: runs packets, side by side where that is faster.

use std::ptr;

use lookaside_simd::Cpu;

use crate::lanes::{self, Group, Kernel, MOST, Tags};
use crate::library::ipsec_mb::{Lanes, Scratch};
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
    cpu: Cpu,
    /// Made at the first packet that needs them; `Some(None)` where there are none.
    lanes: Option<Option<Lanes>>,
    scratch: Scratch,
    tags: Box<Tags>,
}

impl Engine {
    /// An engine whose kernels use no more than `cpu` has. Cheap: what takes half a millisecond, the
    /// lanes of intel-ipsec-mb, is set up at the first packet that is served by them.
    pub fn new(cpu: &Cpu) -> Engine {
        Engine { cpu: cpu.clone(), lanes: None, scratch: Scratch::default(), tags: Tags::new() }
    }

    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
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
        let plan = packet.session.plan();
        match plan.kernel {
            Kernel::Gcm if plan.limits.admit(&packet) => {
                lanes::gcm_one(&mut self.scratch, &mut packet);
            }
            Kernel::Single => single::run(packet.session.keys(), &mut packet),
            _ => self.run_some(std::slice::from_mut(&mut packet)),
        }
        packet.result
    }

    /// Up to [`MOST`] packets: those of the same kernel and direction together.
    #[inline]
    fn run_some(&mut self, packets: &mut [Packet<'_>]) {
        let mut waiting = Group::first(packets.len());
        while let Some(lead) = waiting.clone().next() {
            let (session, direction) = (packets[lead].session, packets[lead].direction);
            let plan = session.plan();
            let mut group = Group::EMPTY;
            for place in waiting {
                let packet = &mut packets[place];
                let same = ptr::eq(packet.session, session) || packet.session.plan().same(plan);
                if !same || packet.direction != direction {
                    continue;
                }
                waiting.remove(place);
                if plan.kernel != Kernel::Single && packet.session.plan().limits.admit(packet) {
                    group.insert(place);
                } else {
                    single::run(packet.session.keys(), packet);
                }
            }
            if !group.is_empty() {
                self.run_group(plan.kernel, direction, packets, group);
            }
        }
    }

    #[inline]
    fn run_group(
        &mut self,
        kernel: Kernel,
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        match kernel {
            Kernel::Gcm => return lanes::gcm(&mut self.scratch, packets, group),
            Kernel::Gmac => return lanes::gmac(&mut self.scratch, packets, group),
            _ => {}
        }
        let lanes = self.lanes.get_or_insert_with(|| Lanes::new(&self.cpu));
        let (Some(lanes), tags) = (lanes, &mut *self.tags) else {
            // An engine of a lower tier than the session's, or no memory.
            for place in group {
                single::run(packets[place].session.keys(), &mut packets[place]);
            }
            return;
        };
        match kernel {
            Kernel::Aead(step) => lanes::aead(lanes, step, direction, packets, group, tags),
            Kernel::Steps { cipher, mac, order } => {
                lanes::steps(lanes, (cipher, mac, order), direction, packets, group, tags);
            }
            Kernel::Single | Kernel::Gcm | Kernel::Gmac => unreachable!("served above"),
        }
    }
}
