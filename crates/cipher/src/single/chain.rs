//! A cipher and a hash or MAC over one text, as if the source had been copied to the destination and
//! worked on there.

use crate::library::aws_lc::equal;
use crate::{ChainOrder, Direction, OpError, Parts, Span, Text};

use super::check::inside;
use super::hash::MAX_DIGEST;
use super::regions::{copy_outside, read, region, tag_done, write, written};
use super::{auth, cipher};

/// The two keys.
pub(crate) struct Chain<'k> {
    /// The cipher.
    pub(crate) cipher: &'k cipher::Key,
    /// The hash or MAC.
    pub(crate) auth: &'k auth::Key,
    /// Which comes first.
    pub(crate) order: ChainOrder,
}

impl Chain<'_> {
    fn crypt(&self, direction: Direction, iv: &[u8], text: &mut Text<'_>, parts: &Parts) {
        let mut text = region(text, parts.cipher);
        self.cipher.whole(iv, direction, &mut text, parts.spare_bits);
    }

    /// Encrypts and makes the tag.
    pub(crate) fn seal(
        &self,
        iv: &[u8],
        text: &mut Text<'_>,
        parts: &Parts,
        tag: Span,
    ) -> Result<(), OpError> {
        let mut bytes = [0; MAX_DIGEST];
        let computed = &mut bytes[..tag.len as usize];
        copy_outside(text, parts.auth, parts.cipher);
        match self.order {
            ChainOrder::CipherThenAuth => {
                self.crypt(Direction::Seal, iv, text, parts);
                self.auth.whole(&[], written(text, parts.auth), 0, computed)?;
                tag_done(Direction::Seal, text, tag, computed)
            }
            ChainOrder::AuthThenCipher => {
                self.auth.whole(&[], read(text, parts.auth), 0, computed)?;
                if inside(tag, parts.cipher) {
                    // The tag is encrypted with the text.
                    cipher::copy(&mut region(text, parts.cipher));
                    write(text, tag).copy_from_slice(computed);
                    let mut whole = Text::InPlace(write(text, parts.cipher));
                    self.cipher.whole(iv, Direction::Seal, &mut whole, parts.spare_bits);
                    Ok(())
                } else {
                    self.crypt(Direction::Seal, iv, text, parts);
                    tag_done(Direction::Seal, text, tag, computed)
                }
            }
        }
    }

    /// Verifies and decrypts. After an error the caller wipes the destination.
    pub(crate) fn open(
        &self,
        iv: &[u8],
        text: &mut Text<'_>,
        parts: &Parts,
        tag: Span,
    ) -> Result<(), OpError> {
        let mut bytes = [0; MAX_DIGEST];
        let computed = &mut bytes[..tag.len as usize];
        copy_outside(text, parts.auth, parts.cipher);
        match self.order {
            ChainOrder::CipherThenAuth => {
                self.auth.whole(&[], read(text, parts.auth), 0, computed)?;
                tag_done(Direction::Open, text, tag, computed)?;
                self.crypt(Direction::Open, iv, text, parts);
                Ok(())
            }
            ChainOrder::AuthThenCipher => {
                self.crypt(Direction::Open, iv, text, parts);
                self.auth.whole(&[], written(text, parts.auth), 0, computed)?;
                let decrypted = inside(tag, parts.cipher);
                let found = if decrypted { written(text, tag) } else { read(text, tag) };
                if equal(found, computed) { Ok(()) } else { Err(OpError::AuthFailed) }
            }
        }
    }

    /// Encrypts and makes a tag that lies elsewhere.
    pub(crate) fn seal_elsewhere(
        &self,
        iv: &[u8],
        text: &mut Text<'_>,
        parts: &Parts,
        tag: &mut [u8],
    ) -> Result<(), OpError> {
        copy_outside(text, parts.auth, parts.cipher);
        match self.order {
            ChainOrder::CipherThenAuth => {
                self.crypt(Direction::Seal, iv, text, parts);
                self.auth.whole(&[], written(text, parts.auth), 0, tag)
            }
            ChainOrder::AuthThenCipher => {
                self.auth.whole(&[], read(text, parts.auth), 0, tag)?;
                self.crypt(Direction::Seal, iv, text, parts);
                Ok(())
            }
        }
    }

    /// Verifies a tag that lies elsewhere, and decrypts. After an error the caller wipes the destination.
    pub(crate) fn open_elsewhere(
        &self,
        iv: &[u8],
        text: &mut Text<'_>,
        parts: &Parts,
        tag: &[u8],
    ) -> Result<(), OpError> {
        let mut bytes = [0; MAX_DIGEST];
        let computed = &mut bytes[..tag.len()];
        copy_outside(text, parts.auth, parts.cipher);
        let is_first = self.order == ChainOrder::CipherThenAuth;
        if is_first {
            self.auth.whole(&[], read(text, parts.auth), 0, computed)?;
        } else {
            self.crypt(Direction::Open, iv, text, parts);
            self.auth.whole(&[], written(text, parts.auth), 0, computed)?;
        }
        if !equal(tag, computed) {
            return Err(OpError::AuthFailed);
        }
        if is_first {
            self.crypt(Direction::Open, iv, text, parts);
        }
        Ok(())
    }
}
