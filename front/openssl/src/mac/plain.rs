//! HMAC by libcrypto's own digest functions (see [`crate::hash::plain`]): what serves a text that does not
//! run side by side.

use zeroize::Zeroizing;

use super::{keyed::Keyed, list::Place};
use crate::{
    error::{Error, Reason, Result},
    hash::{
        aside,
        list::Spec,
        plain::{Functions, State},
    },
    provider::Provider,
    statistics::Count,
};

/// The longest block: SHA-512's.
const MAX_BLOCK: usize = 128;
/// The longest digest, likewise.
const MAX_DIGEST: usize = 64;

/// Where the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// None was started, or it has ended.
    Nowhere,
    /// Started, and nothing came yet.
    Fresh,
    /// In libcrypto's state.
    Plain,
    /// In the runtime's: it has paused its job with its first piece.
    Aside,
}

/// A key, and the text in progress.
pub struct Plain {
    digest: &'static Spec,
    functions: &'static Functions,
    /// After the first block of the inner hash, and of the outer one (RFC 2104).
    inner: State,
    outer: State,
    now: State,
    stage: Stage,
    /// For texts that run side by side; made for the first one.
    aside: Option<Keyed>,
    count: Count,
}

impl Plain {
    /// A key; no text yet. `None` for a digest that libcrypto does not export.
    pub fn new(digest: &'static Spec, key: &[u8]) -> Option<Box<Plain>> {
        let functions = digest.functions?;
        // Where it stays: moving it would leave copies.
        let mut this = Box::new(Plain {
            digest,
            functions,
            inner: State::new(),
            outer: State::new(),
            now: State::new(),
            stage: Stage::Nowhere,
            aside: None,
            count: Count::default(),
        });
        let mut block = Zeroizing::new([0; MAX_BLOCK]);
        let block = &mut block[..digest.block_len];
        if key.len() > block.len() {
            this.now.start(functions);
            this.now.update(functions, key);
            this.now.finish(functions, block).ok()?;
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        block.iter_mut().for_each(|byte| *byte ^= 0x36);
        this.inner.start(functions);
        this.inner.update(functions, block);
        block.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
        this.outer.start(functions);
        this.outer.update(functions, block);
        Some(this)
    }

    /// Starts a text.
    #[inline]
    pub fn start(&mut self) {
        self.now.copy_from(self.functions, &self.inner);
        self.stage = Stage::Fresh;
    }

    /// More of the text. `key`: what it was made for.
    #[inline]
    pub fn update(&mut self, provider: &Provider, text: &[u8], key: &[u8]) -> Result<()> {
        let fresh = self.stage == Stage::Fresh;
        match self.stage {
            Stage::Nowhere => return Err(Reason::NotInitialised.into()),
            Stage::Aside => {
                let aside = self.aside.as_mut().ok_or(Reason::Internal)?;
                return aside.update(provider, text);
            }
            Stage::Fresh | Stage::Plain => self.stage = Stage::Plain,
        }
        if fresh
            && aside::pays(provider, self.digest.pace, text.len())
            && self.paused(provider, text, key)?
        {
            return Ok(());
        }
        self.count.add(provider, &Place::hmac(self.digest), text.len());
        self.now.update(self.functions, text);
        Ok(())
    }

    /// The first piece, while the job pauses; `false` when nothing was done.
    #[inline(never)]
    fn paused(&mut self, provider: &Provider, text: &[u8], key: &[u8]) -> Result<bool> {
        let aside = match &mut self.aside {
            Some(aside) => aside,
            none => none.insert(Keyed::hmac(provider, self.digest, key)?),
        };
        aside.start(&[])?;
        let done = aside.pause(provider, text)?;
        if done {
            self.stage = Stage::Aside;
        }
        Ok(done)
    }

    /// The end of the text. Returns the tag's length.
    #[inline]
    pub fn finish(&mut self, room: &mut [u8]) -> Result<usize> {
        match core::mem::replace(&mut self.stage, Stage::Nowhere) {
            Stage::Nowhere => Err(Reason::NotInitialised.into()),
            Stage::Aside => self.aside.as_mut().ok_or(Reason::Internal)?.finish(room),
            Stage::Fresh | Stage::Plain => {
                let len = self.digest.len;
                let tag = room.get_mut(..len).ok_or(Error::from(Reason::OutputTooSmall))?;
                let mut inner = Zeroizing::new([0; MAX_DIGEST]);
                self.now.finish(self.functions, &mut inner[..])?;
                self.now.copy_from(self.functions, &self.outer);
                self.now.update(self.functions, &inner[..len]);
                self.now.finish(self.functions, tag)?;
                Ok(len)
            }
        }
    }

    /// A copy that goes its own way.
    pub fn duplicate(&self) -> Box<Plain> {
        let mut copy = Box::new(Plain {
            inner: State::new(),
            outer: State::new(),
            now: State::new(),
            aside: None,
            count: Count::default(),
            ..*self
        });
        copy.inner.copy_from(self.functions, &self.inner);
        copy.outer.copy_from(self.functions, &self.outer);
        copy.now.copy_from(self.functions, &self.now);
        if self.stage == Stage::Aside {
            copy.aside = self.aside.as_ref().map(Keyed::duplicate);
        }
        copy
    }

    /// Counts what was counted in the value alone.
    pub fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, &Place::hmac(self.digest));
        if let Some(aside) = &mut self.aside {
            aside.settle(provider);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::list;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 4231, test cases 2 and 6: a short key, and one longer than a block.
    #[test]
    fn short_and_long_keys() {
        let sha256 = list::find("SHA2-256").unwrap();
        let mut tag = [0; 64];
        for (key, text, expected) in [
            (
                &b"Jefe"[..],
                &b"what do ya want for nothing?"[..],
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let mut mac = Plain::new(sha256, key).unwrap();
            for _ in 0..2 {
                mac.start();
                mac.now.update(mac.functions, text);
                let mut copy = mac.duplicate();
                assert_eq!(mac.finish(&mut tag).unwrap(), 32);
                assert_eq!(hex(&tag[..32]), expected);
                assert_eq!(copy.finish(&mut tag).unwrap(), 32);
                assert_eq!(hex(&tag[..32]), expected);
                assert!(mac.finish(&mut tag).is_err(), "there is no second tag");
            }
        }
        assert!(Plain::new(list::find("SM3").unwrap(), b"key").is_none());
    }
}
