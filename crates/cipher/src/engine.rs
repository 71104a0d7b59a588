//! [`Engine`]: runs packets, side by side where that is faster.

use std::{ptr, slice};

use lookaside_simd::Cpu;

use crate::lanes::alone::{self, alone};
use crate::lanes::{Group, Kernel, MOST, Machine, Shape, SideBySide, Turn};
use crate::{Direction, OpError, Packet, Parts, Session, Text, single};

/// Runs packets of any sessions. One for each thread; nothing is in flight between calls.
///
/// ```
/// use lookaside_cipher::{Aead, Direction, Engine, OpError, Packet, Parts, Session, Span, Sym, Text};
///
/// let cpu = lookaside_simd::Cpu::host();
/// let key = vec![7; 16].into();
/// let session = Session::new(Sym::Aead { aead: Aead::AesGcm, key, tag_len: 16 }, cpu)?;
/// let mut bytes = *b"hello, sixteen..0123456789abcdef";
/// let packet = Packet {
///     session: &session,
///     direction: Direction::Seal,
///     iv: &[1; 12],
///     parts: Parts { cipher: Span { offset: 0, len: 16 }, tag: 16, ..Parts::default() },
///     text: Text::InPlace(&mut bytes),
///     result: Err(OpError::Cancelled),
/// };
/// assert_eq!(Engine::new(cpu).run_one(packet), Ok(16));
/// assert_ne!(bytes[..5], *b"hello");
/// # Ok::<(), OpError>(())
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
    pub fn run_one(&mut self, mut packet: Packet<'_>) -> Result<usize, OpError> {
        self.run_some(slice::from_mut(&mut packet));
        packet.result
    }

    /// Runs packets of one session one after the other, each somewhere in the same text: the
    /// quickest way for sessions that gain nothing by
    /// [`side_by_side`](crate::Session::side_by_side). Of each packet come its IV, its parts, and
    /// who is told its result, as [`Packet::result`] says it.
    #[inline]
    pub fn run_in_turn<'p>(
        &mut self,
        session: &Session,
        direction: Direction,
        text: &mut Text<'_>,
        packets: impl Iterator<Item = (&'p [u8], Parts, impl FnOnce(Result<usize, OpError>))>,
    ) {
        let packets = packets.map(|(iv, parts, tell)| (session, iv, parts, tell));
        self.run_in_turn_of(session, direction, text, packets);
    }

    /// The same for packets of many sessions, which are like this one in all but their keys; of each
    /// comes its own too.
    #[inline]
    pub fn run_in_turn_of<'p, 's>(
        &mut self,
        like: &Session,
        direction: Direction,
        text: &mut Text<'_>,
        packets: impl Iterator<
            Item = (&'s Session, &'p [u8], Parts, impl FnOnce(Result<usize, OpError>)),
        >,
    ) {
        // A loop for each kernel: what differs is looked at once.
        macro_rules! each {
            ($turn:pat, |$machine:ident, $plan:ident, $iv:ident, $parts:ident, $text:ident| $run:expr) => {
                for (session, $iv, $parts, tell) in packets {
                    let ($machine, $plan, $text) = (&mut self.machine, session.plan(), &mut *text);
                    let done = if matches!($plan.turn, $turn) { $run } else { None };
                    match done {
                        Some(result) => tell(result),
                        None => tell(self.run_apart(session, direction, $iv, $parts, text)),
                    }
                }
            };
        }
        match like.plan().turn {
            Some(Turn::Ctr) => each!(Some(Turn::Ctr), |_machine, plan, iv, parts, text| {
                alone::ctr(plan, iv, parts, text)
            }),
            Some(Turn::Ecb) => each!(Some(Turn::Ecb), |_machine, plan, iv, parts, text| {
                alone::ecb(plan, direction, iv, parts, text)
            }),
            Some(Turn::Gcm) => each!(Some(Turn::Gcm), |machine, plan, iv, parts, text| {
                alone::gcm(machine, plan, direction, iv, parts, text)
            }),
            _ => each!(_, |machine, plan, iv, parts, text| {
                alone(machine, plan, direction, iv, parts, text)
            }),
        }
    }

    /// What [`run_in_turn`](Engine::run_in_turn) does seldom.
    #[cold]
    fn run_apart(
        &mut self,
        session: &Session,
        direction: Direction,
        iv: &[u8],
        parts: Parts,
        text: &mut Text<'_>,
    ) -> Result<usize, OpError> {
        let text = match text {
            Text::InPlace(bytes) => Text::InPlace(bytes),
            Text::Apart { src, dst } => Text::Apart { src, dst },
        };
        self.run_one(Packet {
            session,
            direction,
            iv,
            parts,
            text,
            result: Err(OpError::Cancelled),
        })
    }

    /// Up to [`MOST`] packets: those of the same kernel and direction together.
    fn run_some(&mut self, packets: &mut [Packet<'_>]) {
        let Some(first) = packets.first() else { return };
        // Most often all packets are of one kind of session and one direction.
        let (session, form, direction) =
            (first.session, first.session.plan().form(), first.direction);
        let mut waiting = Group::EMPTY;
        // Where those that wait go, unless they are not alike.
        let (mut lanes, mut alike): (Option<(&SideBySide, u8)>, bool) = (None, true);
        // The shape of the last packet that a session like the first one's admitted, where nothing else counts.
        let mut admitted = None;
        for (place, packet) in packets.iter_mut().enumerate() {
            let Packet { iv, parts, text, result, .. } = packet;
            let plan = packet.session.plan();
            if plan.side_by_side() {
                let like = ptr::eq(packet.session, session) || plan.form() == form;
                let first_alike = like && packet.direction == direction;
                let shape = Shape::of(iv, parts, text);
                if first_alike && admitted == Some(shape) {
                    waiting.insert(place);
                    continue;
                }
                if let Some(found @ (side, _)) = plan.lanes(packet.direction, parts)
                    && side.limits.admit(packet.direction, iv, parts, text)
                {
                    waiting.insert(place);
                    alike &= first_alike && lanes.is_none_or(|(other, _)| other.code == side.code);
                    if first_alike && side.limits.by_shape() {
                        admitted = Some(shape);
                    }
                    lanes = lanes.or(Some(found));
                    continue;
                }
            } else if let Some(done) =
                alone(&mut self.machine, plan, packet.direction, iv, *parts, text)
            {
                *result = done;
                continue;
            }
            single::run(packet.session.keys(), packet);
        }
        let Some(found) = lanes else { return };
        if alike {
            self.run_group(found, direction, packets, waiting);
            return;
        }
        while let Some(lead) = { waiting }.next() {
            let (session, direction) = (packets[lead].session, packets[lead].direction);
            let Some(found) = session.plan().lanes(direction, &packets[lead].parts) else { return };
            let mut group = waiting;
            for place in waiting {
                let packet = &packets[place];
                let same = packet.session.plan().lanes(packet.direction, &packet.parts);
                if packet.direction != direction
                    || same.is_none_or(|(side, _)| side.code != found.0.code)
                {
                    group.remove(place);
                }
            }
            waiting.remove_all(group);
            self.run_group(found, direction, packets, group);
        }
    }

    /// Packets that their sessions' lanes have admitted, all of the same kernel and direction.
    fn run_group(
        &mut self,
        (side, floor): (&SideBySide, u8),
        direction: Direction,
        packets: &mut [Packet<'_>],
        group: Group,
    ) {
        let machine = &mut self.machine;
        let (kernel, few) = (side.kernel, group.len() < usize::from(floor));
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
        }
    }
}
