//! What needs no engine: single operations and texts in pieces, on the caller's thread.

use std::{any::Any, sync::Arc};

use lookaside_cipher::{Packet, Session, Text};
use lookaside_core::{Done, Immediate, Op, OpError, Running, store_result};

use super::{direction, done, iv, parts, size};

/// A session's keys, at the caller's disposal.
pub(super) struct AtOnce {
    pub(super) session: Session,
    /// The session's operations. Requests are asked by the scheduler; here nobody else asks.
    pub(super) ops: &'static [Op],
}

impl Immediate for AtOnce {
    fn run(
        &self,
        op: Op,
        packet: &mut lookaside_core::Packet,
        src: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<Done, OpError> {
        if !self.ops.contains(&op) {
            return Err(OpError::Unsupported);
        }
        // A nonce that lies in the text is copied: the text may be written before it is read.
        let long = match (&packet.iv, src) {
            (lookaside_core::Iv::At(_), Some(src)) => Some(iv(&packet.iv, src)?.to_vec()),
            (lookaside_core::Iv::At(_), None) => Some(iv(&packet.iv, dst)?.to_vec()),
            _ => None,
        };
        let iv = match &long {
            Some(long) => &long[..],
            None => iv(&packet.iv, &[])?,
        };
        let text = match src {
            Some(src) => Text::Apart { src, dst },
            None => Text::InPlace(dst),
        };
        let mut one = Packet {
            session: &self.session,
            direction: direction(op),
            iv,
            parts: parts(packet),
            text,
            result: Err(OpError::Cancelled),
        };
        self.session.run_alone(&mut one);
        let result = one.result;
        store_result(&mut packet.result, result.map(|n| n as u32));
        result.map(|produced| done(size(packet), produced))
    }

    fn start(&self, op: Op, iv: &[u8]) -> Result<Box<dyn Running>, OpError> {
        if !self.ops.contains(&op) {
            return Err(OpError::Unsupported);
        }
        let running = self.session.start(direction(op), iv);
        let running = running?;
        Ok(Box::new(CpuRunning { running, ops: self.ops, tag_len: self.session.tag_len() }))
    }

    fn side_by_side(&self) -> bool {
        self.session.side_by_side()
    }
}

/// The keys of many sessions of one class, for requests whose packets name theirs.
pub(super) struct Set(pub(super) Box<[Arc<AtOnce>]>);

impl Set {
    #[inline(always)]
    fn at(&self, session: u32) -> Result<&AtOnce, OpError> {
        match self.0.get(session as usize) {
            Some(one) => Ok(one),
            None => Err(OpError::BadInput("the set has no session with this number")),
        }
    }

    /// The keys with this number.
    #[inline(always)]
    pub(super) fn get(&self, session: u32) -> Result<&Session, OpError> {
        self.at(session).map(|one| &one.session)
    }

    /// A set is never empty.
    pub(super) fn first(&self) -> &Session {
        &self.0[0].session
    }
}

impl Immediate for Set {
    fn run(
        &self,
        op: Op,
        packet: &mut lookaside_core::Packet,
        src: Option<&[u8]>,
        dst: &mut [u8],
    ) -> Result<Done, OpError> {
        self.at(packet.session)?.run(op, packet, src, dst)
    }

    /// A message in pieces is of one session.
    fn start(&self, _op: Op, _iv: &[u8]) -> Result<Box<dyn Running>, OpError> {
        Err(OpError::Unsupported)
    }

    fn side_by_side(&self) -> bool {
        self.first().side_by_side()
    }
}

/// The service's running state, as core's.
#[derive(Clone)]
pub(super) struct CpuRunning {
    pub(super) running: lookaside_cipher::Running,
    ops: &'static [Op],
    tag_len: usize,
}

impl CpuRunning {
    // Apart from the quick way of a cipher, which then needs no room on the stack for them.
    #[inline(never)]
    fn update_any(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        if self.running.absorb(src) {
            return Ok(0);
        }
        self.running.update(Text::Apart { src, dst })
    }

    #[inline(never)]
    fn update_any_in_place(&mut self, text: &mut [u8]) -> Result<usize, OpError> {
        if self.running.quick_chain(text) {
            return Ok(text.len());
        }
        self.running.update(Text::InPlace(text))
    }
}

impl Running for CpuRunning {
    #[inline]
    fn restart(&mut self, op: Op, iv: &[u8]) -> Result<(), OpError> {
        if !self.ops.contains(&op) {
            return Err(OpError::Unsupported);
        }
        self.running.restart(direction(op), iv)
    }

    fn lengths(&mut self, aad: usize, text: usize) -> Result<(), OpError> {
        self.running.lengths(aad, text)
    }

    #[inline]
    fn aad(&mut self, aad: &[u8]) -> Result<(), OpError> {
        self.running.aad(aad)
    }

    #[inline]
    fn update(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        if self.running.quick(Text::Apart { src, dst: &mut *dst }) {
            return Ok(src.len());
        }
        self.update_any(src, dst)
    }

    #[inline]
    fn update_in_place(&mut self, text: &mut [u8]) -> Result<usize, OpError> {
        if self.running.quick(Text::InPlace(&mut *text)) {
            return Ok(text.len());
        }
        self.update_any_in_place(text)
    }

    #[inline]
    fn finish(&mut self, tag: &mut [u8]) -> Result<usize, OpError> {
        let len = self.tag_len;
        let tag = tag.get_mut(..len).ok_or(OpError::DstTooSmall)?;
        if !tag.is_empty() {
            self.running.finish(tag)?;
        }
        Ok(len)
    }

    #[inline]
    fn verify(&mut self, tag: &[u8]) -> Result<(), OpError> {
        self.running.verify(tag)
    }

    fn verify_prefix(&mut self, tag: &[u8]) -> Result<(), OpError> {
        self.running.verify_prefix(tag)
    }

    fn duplicate(&self) -> Box<dyn Running> {
        Box::new(self.clone())
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
