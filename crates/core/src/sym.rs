//! What requests of the symmetric service carry, and what a device does for its sessions at once.

use core::any::Any;
use std::sync::Arc;

use crate::{Buf, Chain, Done, Op, OpError, Packet, SharedDocument, SharedFlow};

/// A text in pieces: what QuickAssist calls partial packets. The running state of a cipher, hash,
/// MAC or AEAD, of the device that made it.
///
/// Its methods run at once, on the caller's thread. A request can carry it too, and brings it back
/// in the response: so that pieces of many texts run side by side.
pub trait Running: Send {
    /// Starts a new text with the same key. Cheap: what a program does for each message.
    ///
    /// # Errors
    /// `BadInput` for an IV of the wrong length, `Unsupported` for another session's operation.
    fn restart(&mut self, op: Op, iv: &[u8]) -> Result<(), OpError>;

    /// AES-CCM wants to know the lengths in bytes before anything else; others ignore them.
    ///
    /// # Errors
    /// `BadInput` when the text is too long for the nonce.
    fn lengths(&mut self, aad: usize, text: usize) -> Result<(), OpError>;

    /// More of the associated data, before the text.
    ///
    /// # Errors
    /// `BadInput` when text came before, `Unsupported` where there is no associated data.
    fn aad(&mut self, aad: &[u8]) -> Result<(), OpError>;

    /// More of the text; what a cipher makes of it is as long and goes to the start of `dst`. Hashes
    /// and MACs write nothing. Block modes take whole blocks.
    ///
    /// # Errors
    /// `BadInput` for a length that the algorithm does not take, `DstTooSmall`.
    fn update(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError>;

    /// The same in place.
    ///
    /// # Errors
    /// As [`Running::update`].
    fn update_in_place(&mut self, text: &mut [u8]) -> Result<usize, OpError>;

    /// The end: the tag goes to the start of `tag`. Returns its length; 0 for ciphers.
    ///
    /// # Errors
    /// `DstTooSmall`.
    fn finish(&mut self, tag: &mut [u8]) -> Result<usize, OpError>;

    /// The end: whether this is the tag, of the session's length; of AES-GCM also one of another legal
    /// length that is shorter.
    ///
    /// # Errors
    /// `AuthFailed`. What was decrypted before must not be used then. `BadInput` for a length.
    fn verify(&mut self, tag: &[u8]) -> Result<(), OpError>;

    /// [`Running::verify`] for the first bytes of an AEAD's tag, one and more, as OpenSSL's interface
    /// allows. One forgery in 256 passes a tag of one byte: for callers whose protocol fixes the
    /// length, never for a tag that comes with its length.
    ///
    /// # Errors
    /// As [`Running::verify`].
    fn verify_prefix(&mut self, tag: &[u8]) -> Result<(), OpError>;

    /// A copy that goes its own way.
    fn duplicate(&self) -> Box<dyn Running>;

    /// For the device that made it.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// What a device does at once, on the caller's thread, for a session of its: for texts so short that
/// even a ring of one's own costs more than the work (paper 3 section 3.4).
pub trait Immediate: Send + Sync {
    /// Executes one operation. Without a source it works in place.
    ///
    /// # Errors
    /// As a request for it.
    fn run(
        &self,
        op: Op,
        packet: &mut Packet,
        src: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<Done, OpError>;

    /// Starts a text in pieces.
    ///
    /// # Errors
    /// As [`Running::restart`].
    fn start(&self, op: Op, iv: &[u8]) -> Result<Box<dyn Running>, OpError>;

    /// Whether many requests of this session at once are quicker than one after the other.
    fn side_by_side(&self) -> bool;
}

/// What a request of the symmetric service carries beside its buffers, and brings back.
///
/// Requests hold it in a box, so that those of other services do not carry the room for it; a
/// program that minds the allocation puts the box of a response into its next request.
pub enum Carried {
    /// Where the parts of its packet lie.
    Packet(Packet),
    /// A burst: many packets of one session. All of them in one piece of memory, with offsets from
    /// its start; or, where the destination is a list with as many segments as there are packets,
    /// and the source is one too or is empty, each in its segment, with offsets from the start of
    /// that. Packets run in no particular order: none may write what another reads or writes. Side
    /// by side run those whose parts lie behind those of the packet before. In place, a packet's IV
    /// is [`Iv::Here`](crate::Iv::Here): another is answered `BadInput`.
    Packets(Vec<Packet>),
    /// One packet whose associated data or tag lie in memory of their own.
    Aside(Aside),
    /// The state of a text in pieces: the source is the next piece.
    Running(Box<dyn Running>),
    /// The state of a stream that is scanned for patterns: plain bytes, as many as the set says. The source is the
    /// next piece.
    Flow(Vec<u8>),
    /// The same of a stream whose pieces may be submitted ahead: their session is ordered, each finds the state that the
    /// one before has left.
    SharedFlow(SharedFlow),
    /// The state of an XML document: the source is all of it or, in an ordered session, its next piece.
    Document(SharedDocument),
    /// The other steps of a [chain](crate::Request::then), around what this one carries. Devices never
    /// see it.
    Chain(Chain),
}

/// A packet, with what does not lie in its text.
#[derive(Debug)]
pub struct Aside {
    /// The packet.
    pub packet: Packet,
    /// The associated data, instead of [`Packet::aad`]; empty where that says it.
    pub aad: Buf,
    /// The place of the tag, instead of [`Packet::tag`]: written where one is made, read where one is
    /// verified; longer memory is used from its start. Empty where the packet says it.
    pub tag: Buf,
}

impl Carried {
    /// The packets.
    #[inline]
    pub fn packets(&self) -> &[Packet] {
        match self {
            Carried::Packet(packet) => core::slice::from_ref(packet),
            Carried::Packets(packets) => packets,
            Carried::Aside(aside) => core::slice::from_ref(&aside.packet),
            Carried::Running(_)
            | Carried::Flow(_)
            | Carried::SharedFlow(_)
            | Carried::Document(_) => &[],
            Carried::Chain(chain) => chain.carried.as_deref().map_or(&[], Carried::packets),
        }
    }

    /// Whether somebody else keeps some memory alive that is named here.
    #[inline]
    pub fn is_lent(&self) -> bool {
        match self {
            Carried::Packet(_)
            | Carried::Packets(_)
            | Carried::Running(_)
            | Carried::Flow(_)
            | Carried::SharedFlow(_)
            | Carried::Document(_) => false,
            Carried::Aside(aside) => aside.aad.is_lent() || aside.tag.is_lent(),
            Carried::Chain(chain) => chain.is_lent(),
        }
    }

    /// Whether the memory that is named here lies in regions.
    pub(crate) fn is_in_regions(&self) -> bool {
        match self {
            Carried::Aside(aside) => aside.aad.is_in_regions() && aside.tag.is_in_regions(),
            // Of the step that runs alone; a device is asked at each.
            _ => true,
        }
    }

    /// The packets, to change.
    #[inline]
    pub fn packets_mut(&mut self) -> &mut [Packet] {
        match self {
            Carried::Packet(packet) => core::slice::from_mut(packet),
            Carried::Packets(packets) => packets,
            Carried::Aside(aside) => core::slice::from_mut(&mut aside.packet),
            Carried::Running(_)
            | Carried::Flow(_)
            | Carried::SharedFlow(_)
            | Carried::Document(_) => &mut [],
            Carried::Chain(chain) => {
                chain.carried.as_deref_mut().map_or(&mut [], Carried::packets_mut)
            }
        }
    }
}

impl From<Packet> for Box<Carried> {
    #[inline]
    fn from(packet: Packet) -> Box<Carried> {
        Box::new(Carried::Packet(packet))
    }
}

impl From<Vec<Packet>> for Box<Carried> {
    #[inline]
    fn from(packets: Vec<Packet>) -> Box<Carried> {
        Box::new(Carried::Packets(packets))
    }
}

impl From<Aside> for Box<Carried> {
    #[inline]
    fn from(aside: Aside) -> Box<Carried> {
        Box::new(Carried::Aside(aside))
    }
}

impl From<Box<dyn Running>> for Box<Carried> {
    #[inline]
    fn from(running: Box<dyn Running>) -> Box<Carried> {
        Box::new(Carried::Running(running))
    }
}

impl core::fmt::Debug for Carried {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Carried::Packet(packet) => packet.fmt(f),
            Carried::Packets(packets) => write!(f, "{} packets", packets.len()),
            Carried::Aside(aside) => aside.fmt(f),
            Carried::Running(_) => f.write_str("Running"),
            Carried::SharedFlow(_) => f.write_str("a flow's state"),
            Carried::Document(_) => f.write_str("a document's state"),
            Carried::Flow(state) => write!(f, "a flow's {} bytes", state.len()),
            Carried::Chain(chain) => chain.fmt(f),
        }
    }
}

/// A device's [`Immediate`], as sessions hold it.
pub type SharedImmediate = Arc<dyn Immediate>;
