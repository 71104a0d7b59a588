//! A text in pieces, on the caller's thread.

use std::fmt;
use std::sync::Arc;

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use crate::library::aws_lc::equal;
use crate::single::hash::{HashState, MAX_DIGEST};
use crate::single::{Keys, Kind, aead, auth, cipher};
use crate::{ChainOrder, Direction, OpError, Text};

/// A text in pieces, on the caller's thread. A clone goes its own way from where the text stands.
///
/// AEADs take associated data first ([`aad`](Running::aad)), then the text; CCM before these the
/// lengths of both ([`lengths`](Running::lengths)). What opens has released plaintext before
/// [`verify`](Running::verify) says whether it is true: the caller must not act on it until then.
pub struct Running {
    keys: Arc<Keys>,
    direction: Direction,
    /// As good as a key, with HMAC and Poly1305.
    state: SecureBox<State>,
    /// How many bytes of an AEAD's or a chain's text have been given: no associated data may follow.
    text_len: u64,
    /// Whether the tag is made: nothing may follow.
    done: bool,
}

#[derive(Clone)]
enum State {
    Cipher(cipher::State),
    Auth(auth::State),
    Aead(aead::State),
    Chain(cipher::State, auth::State),
}

impl Clone for Running {
    fn clone(&self) -> Running {
        let state = SecureBox::new(State::clone(&self.state));
        Running { keys: Arc::clone(&self.keys), state, ..*self }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its state may be secret.
        write!(f, "Running({:?})", self.direction)
    }
}

const DONE: OpError = OpError::BadInput("the message is finished");
const NO_TAG: OpError = OpError::BadInput("a cipher alone has no tag");

impl Running {
    /// The beginning of a text.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for an IV of the wrong length; [`OpError::Unsupported`] for TLS records, which
    /// do not come in pieces.
    pub fn new(keys: &Arc<Keys>, direction: Direction, iv: &[u8]) -> Result<Running, OpError> {
        keys.limits().start(direction, iv)?;
        let state = SecureBox::new(match &keys.kind {
            Kind::Cipher(key) => State::Cipher(key.begin(iv)),
            Kind::Auth(key) => State::Auth(key.begin(iv)?),
            Kind::Aead(key) => State::Aead(key.begin(direction, iv)?),
            Kind::Chain { cipher, auth, .. } => State::Chain(cipher.begin(iv), auth.begin(&[])?),
            Kind::Tls(_) => return Err(OpError::Unsupported),
        });
        Ok(Running { keys: Arc::clone(keys), direction, state, text_len: 0, done: false })
    }

    /// The beginning of another text under the same keys, in the memory of this one.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for an IV of the wrong length.
    #[inline]
    pub fn restart(&mut self, direction: Direction, iv: &[u8]) -> Result<(), OpError> {
        // Most texts are short, and are hashed: they do not go the long way.
        if let (Kind::Auth(key), State::Auth(auth::State::Hash(state))) =
            (&self.keys.kind, &mut *self.state)
            && let Some(start) = match key.kind() {
                auth::Kind::Plain(hash) => Some(&**hash),
                auth::Kind::Nested(nested) => Some(&nested.inner),
                _ => None,
            }
            && iv.is_empty()
        {
            state.reset(start);
            (self.direction, self.text_len, self.done) = (direction, 0, false);
            return Ok(());
        }
        self.restart_any(direction, iv)
    }

    fn restart_any(&mut self, direction: Direction, iv: &[u8]) -> Result<(), OpError> {
        self.keys.limits().start(direction, iv)?;
        match (&self.keys.kind, &mut *self.state) {
            (Kind::Cipher(key), State::Cipher(state)) => key.restart(state, iv),
            (Kind::Auth(key), State::Auth(state)) => key.restart(state, iv)?,
            (Kind::Aead(key), State::Aead(state)) => key.restart(state, direction, iv)?,
            (Kind::Chain { cipher, auth, .. }, State::Chain(crypting, hashing)) => {
                cipher.restart(crypting, iv);
                auth.restart(hashing, &[])?;
            }
            _ => return Err(OpError::Unsupported),
        }
        (self.direction, self.text_len, self.done) = (direction, 0, false);
        Ok(())
    }

    /// CCM: the lengths of associated data and text to come, before all else. Others need none and
    /// ignore them.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a text too long for the nonce.
    pub fn lengths(&mut self, aad: usize, text: usize) -> Result<(), OpError> {
        match (&self.keys.kind, &mut *self.state) {
            (Kind::Aead(key), State::Aead(state)) => key.lengths(state, aad as u64, text as u64),
            _ => Ok(()),
        }
    }

    /// More associated data of an AEAD, before the text.
    ///
    /// # Errors
    /// [`OpError::BadInput`] after the text, and for what is no AEAD.
    pub fn aad(&mut self, aad: &[u8]) -> Result<(), OpError> {
        match (&self.keys.kind, &mut *self.state) {
            _ if self.done => Err(DONE),
            _ if self.text_len > 0 => {
                Err(OpError::BadInput("associated data after the plaintext or ciphertext"))
            }
            (Kind::Aead(key), State::Aead(state)) => key.aad(state, aad),
            _ => Err(OpError::BadInput("associated data is for AEADs")),
        }
    }

    /// More text. Returns how many bytes were written: all of its length, or none for a hash or MAC,
    /// whose destination is left alone. ECB and CBC take whole blocks, XTS all of its text at once.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a length that cannot be, [`OpError::DstTooSmall`].
    pub fn update(&mut self, mut text: Text<'_>) -> Result<usize, OpError> {
        if self.done {
            return Err(DONE);
        }
        let len = text.len();
        if let State::Auth(state) = &mut *self.state {
            let Kind::Auth(key) = &self.keys.kind else { return Err(NO_TAG) };
            key.update(state, text.source())?;
            return Ok(0);
        }
        if let Text::Apart { src, dst } = &text
            && dst.len() < src.len()
        {
            return Err(OpError::DstTooSmall);
        }
        self.keys.limits().text_len(len)?;
        let direction = self.direction;
        match (&self.keys.kind, &mut *self.state) {
            (Kind::Cipher(key), State::Cipher(state)) => {
                key.process(state, direction, &mut text);
                self.done = key.at_once();
            }
            (Kind::Aead(key), State::Aead(state)) => {
                if len > 0 {
                    if self.text_len + len as u64 > key.most_text() {
                        return Err(OpError::BadInput("a message too long for its nonce"));
                    }
                    key.update(state, direction, &mut text)?;
                }
            }
            (Kind::Chain { cipher, .. }, _) if self.text_len > 0 && cipher.at_once() => {
                return Err(OpError::BadInput("XTS takes its data unit in one piece"));
            }
            (Kind::Chain { cipher, auth, order }, State::Chain(crypting, hashing)) => {
                // What is hashed is what goes in, or what comes out.
                let hash_first =
                    (*order == ChainOrder::AuthThenCipher) == (direction == Direction::Seal);
                if hash_first
                    && direction == Direction::Seal
                    && let (Text::InPlace(bytes), auth::State::Hash(hash)) =
                        (&mut text, &mut *hashing)
                {
                    stitched(cipher, crypting, auth.cpu(), hash, bytes);
                    self.text_len += len as u64;
                    return Ok(len);
                }
                if hash_first {
                    auth.update(hashing, text.source())?;
                }
                cipher.process(crypting, direction, &mut text);
                if !hash_first {
                    auth.update(hashing, text.written())?;
                }
            }
            _ => return Err(OpError::Unsupported),
        }
        self.text_len += len as u64;
        Ok(len)
    }

    /// Whole blocks of AES-CBC and of AES in counter mode: what comes in short pieces, and whose
    /// kernels take no longer than [`update`](Running::update) with all that it asks. It is inlined
    /// whole, up to the kernels.
    ///
    /// `false`: nothing was done, the piece is `update`'s.
    #[inline(always)]
    pub fn quick(&mut self, text: Text<'_>) -> bool {
        let (Kind::Cipher(key), State::Cipher(state)) = (&self.keys.kind, &mut *self.state) else {
            return false;
        };
        let len = text.len();
        if let Text::Apart { src, dst } = &text
            && dst.len() < src.len()
        {
            return false;
        }
        !self.done && len > 0 && len.is_multiple_of(16) && key.quick(state, self.direction, text)
    }

    /// The same of AES-CBC behind a hash.
    #[inline(always)]
    pub fn quick_chain(&mut self, bytes: &mut [u8]) -> bool {
        let (
            Kind::Chain { cipher, auth, order: ChainOrder::AuthThenCipher },
            State::Chain(state, auth::State::Hash(hash)),
            Direction::Seal,
        ) = (&self.keys.kind, &mut *self.state, self.direction)
        else {
            return false;
        };
        let (len, block) = (bytes.len(), hash.hash.block_len());
        if self.done || len == 0 || !len.is_multiple_of(16) {
            return false;
        }
        let Some((aes, iv)) = cipher.aes_cbc(state) else { return false };
        if hash.buffered + len <= block && len < block {
            hash.append(bytes, |words, block| aes.compress(auth.cpu(), words, block));
            if !aes.quick_cbc(Direction::Seal, iv, Text::InPlace(bytes)) {
                aes.cbc(Direction::Seal, iv, &mut Text::InPlace(bytes));
            }
            return true;
        }
        if hash.buffered > 0 || len & (block - 1) != 0 {
            return false;
        }
        // All of the text, or nothing where there is no kernel for both.
        let both = aes.hash_and_encrypt(iv, bytes, 0, &mut hash.words);
        hash.length = hash.length.wrapping_add(both as u64);
        both == len
    }

    /// More text of a hash, plain or within HMAC, that does not go beyond the block under way: a copy.
    ///
    /// `false`: nothing was done, the piece is [`update`](Running::update)'s.
    #[inline(always)]
    pub fn absorb(&mut self, text: &[u8]) -> bool {
        let (Kind::Auth(key), State::Auth(auth::State::Hash(hash))) =
            (&self.keys.kind, &mut *self.state)
        else {
            return false;
        };
        if self.done || hash.buffered + text.len() > hash.hash.block_len() {
            return false;
        }
        let block_len = hash.hash.block_len();
        hash.append(text, |words, block| words.compress(key.cpu(), block_len, block));
        true
    }

    /// Makes the tag, of the session's length.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for another length, for a cipher alone, and for an AEAD that opens.
    #[inline]
    pub fn finish(&mut self, tag: &mut [u8]) -> Result<(), OpError> {
        // As in `restart`.
        if let (Kind::Auth(key), State::Auth(auth::State::Hash(state))) =
            (&self.keys.kind, &mut *self.state)
            && let auth::Kind::Plain(_) = key.kind()
            && !self.done
            && tag.len() == self.keys.tag_len()
        {
            state.finish(key.cpu(), tag);
            self.done = true;
            return Ok(());
        }
        self.finish_any(tag)
    }

    fn finish_any(&mut self, tag: &mut [u8]) -> Result<(), OpError> {
        self.ends(tag)?;
        if matches!(*self.state, State::Aead(_)) && self.direction == Direction::Open {
            return Err(OpError::BadInput("what opens compares a tag"));
        }
        self.tag(tag)
    }

    /// Compares the tag, of the session's length; of AES-GCM also a shorter one of 4, 8 or 12 bytes and
    /// more, for a caller that was given no more.
    ///
    /// # Errors
    /// [`OpError::AuthFailed`] when it is not this; [`OpError::BadInput`] for another length, for a
    /// cipher alone, and for an AEAD that seals.
    pub fn verify(&mut self, tag: &[u8]) -> Result<(), OpError> {
        if let Kind::Aead(key) = &self.keys.kind {
            if !key.takes_tag(tag.len()) {
                return Err(OpError::BadInput("the length of the tag"));
            }
            return self.verify_prefix(tag);
        }
        self.ends(tag)?;
        let mut computed = [0; MAX_DIGEST];
        let computed = &mut computed[..tag.len()];
        self.tag(computed)?;
        if equal(computed, tag) { Ok(()) } else { Err(OpError::AuthFailed) }
    }

    /// Compares the first bytes of an AEAD's tag, one and more: for callers whose protocol fixes the
    /// length. Each byte that is missing makes a forgery 256 times as likely.
    ///
    /// # Errors
    /// As [`Running::verify`]; [`OpError::BadInput`] for what is no AEAD.
    pub fn verify_prefix(&mut self, tag: &[u8]) -> Result<(), OpError> {
        let (Kind::Aead(key), State::Aead(state)) = (&self.keys.kind, &mut *self.state) else {
            return Err(OpError::BadInput("only tags of AEADs are cut short"));
        };
        if self.direction == Direction::Seal {
            return Err(OpError::BadInput("what seals makes a tag"));
        }
        if self.done {
            return Err(DONE);
        }
        if tag.is_empty() || tag.len() > self.keys.tag_len() {
            return Err(OpError::BadInput("the length of the tag"));
        }
        let result = key.verify(state, tag);
        // A wrong tag is the end too: a second guess is not answered.
        self.done = !matches!(result, Err(OpError::BadInput(_)));
        result
    }

    /// The hash under way, plain or within HMAC, for whoever continues many of them side by side.
    pub(crate) fn hash_state(&mut self) -> Option<&mut HashState> {
        match &mut *self.state {
            State::Auth(auth::State::Hash(state)) if !self.done => Some(state),
            _ => None,
        }
    }

    /// Which hash is under way.
    pub(crate) fn hash(&self) -> Option<crate::Hash> {
        match &*self.state {
            State::Auth(auth::State::Hash(state)) if !self.done => state.hash.digest(),
            _ => None,
        }
    }

    fn ends(&self, tag: &[u8]) -> Result<(), OpError> {
        if self.done {
            return Err(DONE);
        }
        if tag.len() != self.keys.tag_len() || tag.is_empty() {
            return Err(OpError::BadInput("the length of the tag"));
        }
        Ok(())
    }

    fn tag(&mut self, tag: &mut [u8]) -> Result<(), OpError> {
        match (&self.keys.kind, &mut *self.state) {
            (Kind::Auth(key), State::Auth(state)) => key.finish(state, tag)?,
            (Kind::Aead(key), State::Aead(state)) => key.tag(state, tag)?,
            (Kind::Chain { auth, .. }, State::Chain(_, state)) => auth.finish(state, tag)?,
            _ => return Err(NO_TAG),
        }
        self.done = true;
        Ok(())
    }
}

/// Hashes and encrypts in one go as far as there is a kernel for both: the hash is ahead by what fills
/// its block.
fn stitched(
    key: &cipher::Key,
    state: &mut cipher::State,
    cpu: &Cpu,
    hash: &mut HashState,
    bytes: &mut [u8],
) {
    let block = hash.hash.block_len();
    let first = ((block - hash.buffered) % block).min(bytes.len());
    hash.update(cpu, &bytes[..first]);
    let both = match state {
        cipher::State::Block(iv) => key.hash_and_encrypt(iv, bytes, first, &mut hash.words),
        _ => 0,
    };
    hash.length += both as u64;
    hash.update(cpu, &bytes[first + both..]);
    key.process(state, Direction::Seal, &mut Text::InPlace(&mut bytes[both..]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aead, Sym};

    /// Beyond the longest text, the block counter would begin again.
    #[test]
    fn a_text_ends_where_its_counter_does() {
        for (aead, most) in
            [(Aead::AesGcm, (1 << 36) - 32), (Aead::ChaCha20Poly1305, (1u64 << 38) - 64)]
        {
            let spec = Sym::Aead { aead, key: vec![7; 32].into(), tag_len: 16 };
            let keys = Arc::new(Keys::new(&spec, Cpu::host()).unwrap());
            let mut running = Running::new(&keys, Direction::Seal, &[1; 12]).unwrap();
            running.text_len = most - 3;
            let refused = running.update(Text::InPlace(&mut [0; 4]));
            assert!(matches!(refused, Err(OpError::BadInput(_))), "{aead:?}");
            assert_eq!(running.update(Text::InPlace(&mut [0; 3])), Ok(3), "{aead:?}");
            assert!(running.update(Text::InPlace(&mut [0; 1])).is_err(), "{aead:?}");
        }
    }
}
