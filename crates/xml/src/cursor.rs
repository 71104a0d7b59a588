//! A place in a declaration.

use crate::Rule;
use crate::chars::{self, is_space};
use crate::parser::{Halt, Step, Window, fail};

/// Walks over a declaration. Where the window ends, every call says [`Halt::More`].
pub(crate) struct Cursor<'w, 'a> {
    pub(crate) w: &'w Window<'a>,
    pub(crate) at: usize,
}

impl<'w, 'a> Cursor<'w, 'a> {
    pub(crate) fn peek(&self) -> Step<u8> {
        self.w.get(self.at)
    }

    /// Skips white space; whether there was any.
    pub(crate) fn space(&mut self) -> Step<bool> {
        let from = self.at;
        while is_space(self.peek()?) {
            self.at += 1;
        }
        Ok(self.at > from)
    }

    /// White space that must be there.
    pub(crate) fn need_space(&mut self) -> Step<()> {
        match self.space()? {
            true => Ok(()),
            false => self.wrong(Rule::Space),
        }
    }

    /// Breaks `rule`, or stands at a reference to a parameter entity.
    pub(crate) fn wrong<T>(&self, rule: Rule) -> Step<T> {
        if self.w.end.is_none() && self.peek()? == b'%' {
            self.w.get(self.at + 1)?;
        }
        let name =
            |at| self.w.bytes.get(at).is_some_and(|&byte| byte > 127 || chars::ascii_name(byte));
        let reference = self.peek() == Ok(b'%') && name(self.at + 1);
        fail(if reference { Rule::PesInInternalSubset } else { rule }, self.at)
    }

    pub(crate) fn eat(&mut self, byte: u8, rule: Rule) -> Step<()> {
        if self.peek()? != byte {
            return self.wrong(rule);
        }
        self.at += 1;
        Ok(())
    }

    /// Takes `text` if it stands here.
    pub(crate) fn word(&mut self, text: &[u8]) -> Step<bool> {
        let here = self.w.starts(self.at, text)?;
        if here {
            self.at += text.len();
        }
        Ok(here)
    }

    fn token(&mut self) -> Step<(usize, usize)> {
        let from = self.at;
        let mut end = from;
        loop {
            let Some(&byte) = self.w.bytes.get(end) else {
                let fault = from + chars::name_fault(&self.w.bytes[from..end]);
                return match self.w.end {
                    Some(_) if fault < end => fail(Rule::Name, fault),
                    _ => Err(Halt::More),
                };
            };
            if byte < 128 && !chars::ascii_name(byte) {
                break;
            }
            end += 1;
        }
        Ok((from, end))
    }

    /// [5] Name.
    pub(crate) fn name(&mut self, limit: u32) -> Step<&'a [u8]> {
        let (from, end) = self.token()?;
        let name = &self.w.bytes[from..end];
        if !chars::is_name(name) {
            self.at = from + chars::name_fault(name);
            return self.wrong(Rule::Name);
        }
        if name.len() > limit as usize {
            return fail(Rule::LimitName, from);
        }
        self.at = end;
        Ok(name)
    }

    /// [7] Nmtoken.
    pub(crate) fn nmtoken(&mut self) -> Step<&'a [u8]> {
        let (from, end) = self.token()?;
        if !chars::is_nmtoken(&self.w.bytes[from..end]) {
            return self.wrong(Rule::Nmtoken);
        }
        self.at = end;
        Ok(&self.w.bytes[from..end])
    }

    /// What stands between quotes, and where it begins.
    pub(crate) fn literal(&mut self, rule: Rule) -> Step<(&'a [u8], usize)> {
        let mark = self.peek()?;
        if mark != b'"' && mark != b'\'' {
            return self.wrong(rule);
        }
        let from = self.at + 1;
        let len = memchr::memchr(mark, &self.w.bytes[from..]).ok_or(Halt::More)?;
        self.at = from + len + 1;
        Ok((&self.w.bytes[from..from + len], from))
    }

    /// [12] PubidLiteral, with white space as 4.2.2 says.
    pub(crate) fn public(&mut self) -> Step<Vec<u8>> {
        let (text, from) = self.literal(Rule::PubidLiteral)?;
        let allowed =
            |byte: &u8| byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(byte);
        if let Some(at) = text.iter().position(|byte| !allowed(byte)) {
            return fail(Rule::PubidLiteral, from + at);
        }
        let spaces: Vec<u8> =
            text.iter().map(|byte| if is_space(*byte) { b' ' } else { *byte }).collect();
        Ok(crate::tag::collapse(&spaces))
    }

    /// [75] ExternalID; for a notation the system identifier may be missing. Nothing if it stands not here.
    pub(crate) fn external(&mut self, notation: bool) -> Step<Option<External>> {
        if self.word(b"SYSTEM")? {
            self.need_space()?;
            let system = self.literal(Rule::SystemLiteral)?.0.to_vec();
            return Ok(Some(External { public: None, system: Some(system) }));
        }
        if !self.word(b"PUBLIC")? {
            return Ok(None);
        }
        self.need_space()?;
        let public = Some(self.public()?);
        let space = self.space()?;
        if notation && self.peek()? == b'>' {
            return Ok(Some(External { public, system: None }));
        }
        if !space {
            return self.wrong(Rule::Space);
        }
        let system = self.literal(Rule::SystemLiteral)?.0.to_vec();
        Ok(Some(External { public, system: Some(system) }))
    }
}

/// Identifiers of what lies outside the document.
#[derive(Clone, Debug)]
pub(crate) struct External {
    pub(crate) public: Option<Vec<u8>>,
    pub(crate) system: Option<Vec<u8>>,
}
