//! Pieces of many texts at once: hashes under way go side by side, everything else one after the
//! other.

use lookaside_cipher_kernel::hash::{self as kernel, Message};
use lookaside_simd::Cpu;

use crate::single::hash::{HashState, Taken, Words};
use crate::{Engine, Hash, OpError, Running, Text};

/// The next piece of one text.
pub struct Piece<'a> {
    /// Its state.
    pub running: &'a mut Running,
    /// The piece.
    pub text: Text<'a>,
    /// What [`Running::update`] answers.
    pub result: Result<usize, OpError>,
}

impl Engine {
    /// As [`Running::update`] for each: the same hash of several texts, side by side.
    pub fn update(&mut self, pieces: &mut [Piece<'_>]) {
        let mut waiting: Vec<&mut Piece<'_>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece.running.hash() {
                Some(_) => waiting.push(piece),
                None => piece.result = piece.running.update(piece.text.reborrow()),
            }
        }
        while let Some(hash) = waiting.first().and_then(|lead| lead.running.hash()) {
            // In order: what is left keeps its place.
            let (group, rest): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|piece| piece.running.hash().map(family) == Some(family(hash)));
            waiting = rest;
            side_by_side(self.cpu(), hash, group);
        }
    }
}

/// The hash whose compression function is that of `hash`, too.
fn family(hash: Hash) -> Hash {
    match hash {
        Hash::Sha224 => Hash::Sha256,
        Hash::Sha384 => Hash::Sha512,
        other => other,
    }
}

fn side_by_side(cpu: &Cpu, hash: Hash, group: Vec<&mut Piece<'_>>) {
    let block = hash.block_len();
    let mut steps: Vec<(&mut HashState, Taken<'_>)> = Vec::with_capacity(group.len());
    for piece in group {
        let Piece { running, text, result } = piece;
        *result = Ok(0);
        if let Some(state) = running.hash_state() {
            let taken = state.take(text.source());
            steps.push((state, taken));
        }
    }
    macro_rules! compress {
        ($($variant:ident => $kernel:expr),*) => {
            match Words::initial(hash) {
                $(Some(Words::$variant(_)) => {
                    let mut messages: Vec<_> = steps
                        .iter_mut()
                        .filter_map(|(state, taken)| {
                            let HashState { words, buffer, .. } = &mut **state;
                            let head: &[u8] = if taken.head { &buffer[..block] } else { &[] };
                            match words {
                                Words::$variant(state) => {
                                    Some(Message { state, parts: [head, taken.whole] })
                                }
                                _ => None,
                            }
                        })
                        .collect();
                    $kernel(&mut messages);
                })*
                // Checksums have no blocks and do not come here.
                Some(Words::Crc32(_) | Words::Crc64(_)) | None => {}
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
    for (state, taken) in steps {
        state.keep(taken.head, taken.tail);
    }
}
