//! Pieces of many texts at once: hashes under way go side by side, everything else one after the
//! other.

use lookaside_cipher_kernel::hash::{self as kernel, Message};
use lookaside_simd::Cpu;

use crate::single::hash::{HashState, Words};
use crate::{Engine, Error, Hash, Running, Text};

/// The next piece of one text.
pub struct Piece<'a> {
    /// Its state.
    pub running: &'a mut Running,
    /// The piece.
    pub text: Text<'a>,
    /// What [`Running::update`] answers.
    pub result: Result<usize, Error>,
}

impl Engine {
    /// As [`Running::update`] for each: the same hash of several texts, side by side.
    pub fn update(&mut self, pieces: &mut [Piece<'_>]) {
        let mut waiting: Vec<&mut Piece<'_>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece.running.hash_state() {
                Some(state) if state.hash.block_len() > 1 => waiting.push(piece),
                _ => run(piece),
            }
        }
        while let Some(lead) = waiting.first_mut() {
            let Some(hash) = hash_of(lead) else { return };
            // In order: what is left keeps its place.
            let (group, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|piece| compresses_as(piece.running, hash));
            waiting = rest;
            side_by_side(self.cpu(), hash, group);
        }
    }
}

fn hash_of(piece: &mut Piece<'_>) -> Option<Hash> {
    piece.running.hash_state().map(|state| state.hash)
}

/// Whether the state's compression function is that of `hash`: SHA-224 and SHA-256 share one.
fn compresses_as(running: &Running, hash: Hash) -> bool {
    running.hash().is_some_and(|other| {
        core::mem::discriminant(&Words::initial(other))
            == core::mem::discriminant(&Words::initial(hash))
            && other.block_len() == hash.block_len()
    })
}

fn run(piece: &mut Piece<'_>) {
    let text = match &mut piece.text {
        Text::InPlace(bytes) => Text::InPlace(bytes),
        Text::Apart { src, dst } => Text::Apart { src, dst },
    };
    piece.result = piece.running.update(text);
}

fn source<'t>(text: &'t Text<'_>) -> &'t [u8] {
    match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { src, .. } => src,
    }
}

/// A hash under way, and the text that it takes in.
struct Step<'a> {
    state: &'a mut HashState,
    /// What is left of the text: whole blocks, then less than one.
    whole: &'a [u8],
    tail: &'a [u8],
    /// The state's buffer holds a whole block, to be compressed first.
    head: bool,
}

impl<'a> Step<'a> {
    fn new(state: &'a mut HashState, mut text: &'a [u8]) -> Step<'a> {
        let block = state.hash.block_len();
        state.length = state.length.wrapping_add(text.len() as u64);
        let mut head = false;
        if state.buffered > 0 {
            let (piece, rest) = text.split_at(text.len().min(block - state.buffered));
            state.buffer[state.buffered..][..piece.len()].copy_from_slice(piece);
            state.buffered += piece.len();
            text = rest;
            head = state.buffered == block;
        }
        let (whole, tail) = text.split_at(text.len() / block * block);
        Step { state, whole, tail, head }
    }

    /// Keeps what does not fill a block.
    fn end(self) {
        let HashState { buffer, buffered, .. } = self.state;
        if self.head {
            *buffered = 0;
        }
        if !self.tail.is_empty() {
            // Without a whole block, the text was taken into the buffer as far as it went.
            buffer[..self.tail.len()].copy_from_slice(self.tail);
            *buffered = self.tail.len();
        }
    }
}

fn side_by_side(cpu: &Cpu, hash: Hash, group: Vec<&mut Piece<'_>>) {
    let block = hash.block_len();
    let mut steps: Vec<Step<'_>> = Vec::with_capacity(group.len());
    for piece in group {
        let Piece { running, text, result } = piece;
        *result = Ok(0);
        if let Some(state) = running.hash_state() {
            steps.push(Step::new(state, source(text)));
        }
    }
    macro_rules! compress {
        ($($variant:ident => $kernel:expr),*) => {
            match Words::initial(hash) {
                $(Words::$variant(_) => {
                    let mut messages: Vec<_> = steps
                        .iter_mut()
                        .filter_map(|step| {
                            let HashState { words, buffer, .. } = &mut *step.state;
                            let head: &[u8] = if step.head { &buffer[..block] } else { &[] };
                            match words {
                                Words::$variant(state) => {
                                    Some(Message { state, parts: [head, step.whole] })
                                }
                                _ => None,
                            }
                        })
                        .collect();
                    $kernel(&mut messages);
                })*
                // Checksums have no blocks and do not come here.
                Words::Crc32(_) | Words::Crc64(_) => {}
            }
        };
    }
    compress!(
        Md5 => |m: &mut [Message<'_, _>]| kernel::md5(cpu, m),
        Sha1 => |m: &mut [Message<'_, _>]| kernel::sha1(cpu, m),
        Sha256 => |m: &mut [Message<'_, _>]| kernel::sha256(cpu, m),
        Sha512 => |m: &mut [Message<'_, _>]| kernel::sha512(cpu, m),
        Sm3 => |m: &mut [Message<'_, _>]| kernel::sm3(cpu, m),
        Keccak => |m: &mut [Message<'_, _>]| kernel::keccak(cpu, block, m)
    );
    steps.into_iter().for_each(Step::end);
}
