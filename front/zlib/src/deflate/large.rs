//! Large input: pieces, compressed side by side by the device's engines, joined in order.
//!
//! The caller's memory is lent to the engines for the time of the call. What they made and has no
//! room at the caller's waits in the outbox; how much input may be ahead of the output is bounded.

use std::{collections::VecDeque, ffi::c_int};

use libz_rs_sys::{Z_MEM_ERROR, z_stream};
use lookaside::{Buf, Call, Checksum, CompressSession, Compression};
use lookaside_compress::{adler32_combine, crc32_combine};

use super::{
    body::{Ask, LAST, Part, Reach, compress, is_marked, room},
    content::{Content, thick},
    levels, outbox,
    state::{FAILED, State, Status, Wrap, skip, src},
};
use crate::{
    device::{self, Device, device},
    settings::{Policy, settings},
    stats::{self, Path},
};

/// Input in one piece. What it costs that a piece does without the history before it (about 500
/// bytes) counts more where blocks are better compressed, and slower.
fn piece_of(level: u8) -> usize {
    if level <= 3 { 512 << 10 } else { 1 << 20 }
}

/// The smallest one, where little input is shared among many engines.
fn smallest_piece_of(level: u8) -> usize {
    match level {
        0..=3 => 128 << 10,
        4..=6 => 256 << 10,
        _ => 512 << 10,
    }
}

/// Input that may be ahead of the output, at least.
const WINDOW: usize = 8 << 20;

/// A piece that an engine has.
struct Sent {
    call: Call,
    len: usize,
}

/// Pieces that engines have, oldest first. They work on the caller's memory: whatever happens,
/// nobody leaves before the last of them is answered.
#[derive(Default)]
struct Outstanding(VecDeque<Sent>);

impl Drop for Outstanding {
    fn drop(&mut self) {
        for sent in self.0.drain(..) {
            sent.call.wait();
            device::answered();
        }
    }
}

/// The sessions of a call: one for each kind of content that came.
#[derive(Default)]
struct Sessions(Vec<(Compression, CompressSession)>);

impl Sessions {
    fn of(&mut self, device: &Device, spec: Compression) -> Option<&CompressSession> {
        let at = match self.0.iter().position(|(of, _)| *of == spec) {
            Some(at) => at,
            None => {
                let session = device.session(spec.clone())?;
                self.0.push((spec, session));
                self.0.len() - 1
            }
        };
        self.0.get(at).map(|(_, session)| session)
    }
}

/// What became of a piece.
struct Piece {
    memory: outbox::Memory,
    produced: usize,
    checksum: Option<u32>,
}

/// Bytes taken and made, for the statistics.
#[derive(Default)]
struct Tally {
    taken: usize,
    made: usize,
}

impl Tally {
    fn add(&mut self, taken: usize, made: usize) {
        self.taken += taken;
        self.made += made;
    }

    fn count(&self, path: Path) {
        if self.taken > 0 {
            stats::count(path, self.taken, self.made);
        }
    }
}

impl State {
    /// Compresses the caller's input in pieces, as far as the window goes. The body is
    /// [`super::state::Body::Deferred`]. `None`: there was room for everything so far.
    pub(crate) fn large(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Option<Reach>, c_int> {
        if !self.input.waiting().is_empty() {
            self.piece_of_any(strm)?;
        }
        self.count();
        let all = src(strm);
        let content = self.content(all);
        if let Some(level) = levels::as_one(self.level, content, all.len()) {
            return self.start_one(level);
        }
        self.guess(strm, all);
        let mut device = device().map(|device| (device, Sessions::default()));
        let engines = device.as_ref().map_or(1, |(device, _)| device.engines());
        let share = all.len().div_ceil(engines);
        let piece = share.clamp(smallest_piece_of(self.level), piece_of(self.level));
        let pieces = all.len().div_ceil(piece);
        // Equal ones: no small one at the end that an engine waits for.
        let piece = all.len().div_ceil(pieces);
        let window = WINDOW.max(2 * engines * piece);

        let mut out = Outstanding::default();
        let (mut by_device, mut by_self) = (Tally::default(), Tally::default());
        // Input that has been sent or compressed; of that, what is ahead of the caller's output.
        let (mut sent, mut ahead) = (0, 0);
        let mut ready = VecDeque::new();
        let result = loop {
            // What is done, in order, as far as there is room.
            if self.drain(strm) {
                ahead -= ready.drain(..).sum::<usize>();
            }
            let rest = &all[sent..];
            let next = &rest[..rest.len().min(piece)];
            let wants = !next.is_empty() && ahead < window;
            if wants
                && let Some((device, sessions)) = &mut device
                && (device.has_room() || (out.0.is_empty() && settings().policy == Policy::Wait))
                && let Some(session) = sessions.of(device, self.piece_spec(next, content))
                && let Some(memory) = outbox::memory(room(Part::Piece, next.len()))
            {
                out.0.push_back(send(device, session, next, memory));
                sent += next.len();
                ahead += next.len();
                skip(strm, next.len());
                continue;
            }
            if let Some(oldest) = out.0.pop_front() {
                let len = oldest.len;
                let data = &all[sent - ahead_of(&out) - len..][..len];
                let (piece, served) = self.collect(oldest, data, content)?;
                self.may_repeat = !thick(len, piece.produced);
                let tally = if served { &mut by_device } else { &mut by_self };
                tally.add(len, piece.produced);
                self.join(strm, piece, data);
                ready.push_back(len);
                continue;
            }
            if !wants {
                break Ok(());
            }
            if device.is_some() && settings().policy == Policy::Fail {
                break if sent == 0 { Err(Z_MEM_ERROR) } else { Ok(()) };
            }
            // No device, or one full of others' work.
            let made = match self.compress_piece(next, content) {
                Ok(made) => made,
                Err(code) => break if sent == 0 { Err(code) } else { Ok(()) },
            };
            self.may_repeat = !thick(next.len(), made.produced);
            by_self.add(next.len(), made.produced);
            sent += next.len();
            ahead += next.len();
            skip(strm, next.len());
            self.join(strm, made, next);
            ready.push_back(next.len());
        };
        self.input.passed(&all[..sent]);
        self.refers = false;
        self.path = None;
        by_device.count(Path::CompressDevice);
        by_self.count(Path::CompressPiece);
        result?;
        if sent < all.len() {
            return Ok(Some(Reach::Blocked));
        }
        match ask {
            Ask::Finish => {
                self.outbox.put(&LAST);
                self.status = Status::Finish;
                self.ended = true;
            }
            Ask::Sync | Ask::Full if self.is_full(strm) => return Ok(Some(Reach::Blocked)),
            Ask::Sync | Ask::Full => self.mark(),
            _ => {}
        }
        if ask == Ask::Full {
            self.forget();
        }
        self.drain(strm);
        Ok(Some(Reach::Done))
    }

    /// How a piece is compressed, of input of this kind: what is mixed is looked at piece by piece.
    fn spec_of(&self, data: &[u8], all: Content) -> Compression {
        let content = match all {
            Content::Repeats => all,
            _ => levels::content(self.level, self.window_bits, data, false),
        };
        levels::whole(self.level, self.window_bits, content)
    }

    fn piece_spec(&self, data: &[u8], all: Content) -> Compression {
        self.spec_of(data, all).checksum(match self.wrap {
            Wrap::Raw => Checksum::None,
            Wrap::Zlib => Checksum::Adler32,
            Wrap::Gzip => Checksum::Crc32,
        })
    }

    /// Waits for a piece. One that the device could not do is done here; returns whether it could.
    fn collect(&self, sent: Sent, data: &[u8], content: Content) -> Result<(Piece, bool), c_int> {
        let response = sent.call.wait();
        device::answered();
        let memory = response.dst.into_vec();
        match response.result {
            Ok(done) if done.consumed == data.len() && done.produced <= memory.len() => {
                let checksum = Some(done.checksum as u32);
                Ok((Piece { memory, produced: done.produced, checksum }, true))
            }
            // It has been taken: without memory for it there is no way on.
            _ => match self.compress_piece(data, content) {
                Ok(piece) => Ok((piece, false)),
                Err(_) => Err(FAILED),
            },
        }
    }

    /// Compresses a piece on this thread.
    fn compress_piece(&self, data: &[u8], all: Content) -> Result<Piece, c_int> {
        let spec = self.spec_of(data, all);
        let mut memory = outbox::memory(room(Part::Piece, data.len())).ok_or(Z_MEM_ERROR)?;
        let produced = compress(Part::Piece, &spec, data, &mut memory)?;
        Ok(Piece { memory, produced, checksum: None })
    }

    /// Adds a piece, the compressed `data`, to the output.
    fn join(&mut self, strm: &mut z_stream, piece: Piece, data: &[u8]) {
        let (before, len) = (strm.adler as u32, data.len() as u64);
        strm.adler = match (self.wrap, piece.checksum) {
            (Wrap::Raw, _) => before,
            (Wrap::Zlib, Some(checksum)) => adler32_combine(before, checksum, len),
            (Wrap::Gzip, Some(checksum)) => crc32_combine(before, checksum, len),
            (Wrap::Zlib, None) => lookaside_compress::adler32(before, data),
            (Wrap::Gzip, None) => lookaside_compress::crc32(before, data),
        }
        .into();
        self.marked = is_marked(&piece.memory[..piece.produced]);
        self.outbox.push(piece.memory, piece.produced);
    }
}

/// Input of the pieces that engines have.
fn ahead_of(out: &Outstanding) -> usize {
    out.0.iter().map(|sent| sent.len).sum()
}

fn send(device: &Device, session: &CompressSession, data: &[u8], memory: outbox::Memory) -> Sent {
    // SAFETY: the caller's input stays where it is until the call of `deflate` ends, and nobody
    // writes to it; `Outstanding` waits for the answer before that, whatever happens.
    let lent = unsafe { Buf::foreign(data.as_ptr(), data.len()) };
    let call = device.submit(session.compress_piece(lent, Buf::from(memory)));
    Sent { call, len: data.len() }
}
