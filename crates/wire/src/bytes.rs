//! Bytes of messages, written and read.

use core::fmt;

use zeroize::Zeroizing;

use crate::MAX_MESSAGE;

/// What the other side has sent is none of our records or messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It ends too early.
    Short,
    /// It goes on behind its end.
    Long,
    /// A number is none of those that have a meaning.
    Number(&'static str),
    /// It cannot be sent: it is larger than a message, or has no form on the wire.
    Unsendable(&'static str),
    /// An index of a ring is further ahead than the ring is deep.
    Index,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Short => f.write_str("a message ends too early"),
            Malformed::Long => f.write_str("a message goes on behind its end"),
            Malformed::Number(what) => write!(f, "unknown {what}"),
            Malformed::Unsendable(what) => write!(f, "no form on the wire: {what}"),
            Malformed::Index => f.write_str("an index of a ring is beyond its end"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Bytes of a message. May contain keys: never moved by growing, overwritten when dropped.
pub(crate) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer(Zeroizing::new(Vec::with_capacity(MAX_MESSAGE)))
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if bytes.len() > MAX_MESSAGE - self.0.len() {
            return Err(Malformed::Unsendable("a message of more than 64 KB"));
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn u8(&mut self, n: u8) -> Result<(), Malformed> {
        self.raw(&[n])
    }

    pub(crate) fn u32(&mut self, n: u32) -> Result<(), Malformed> {
        self.raw(&n.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, n: u64) -> Result<(), Malformed> {
        self.raw(&n.to_le_bytes())
    }

    /// Bytes with their length before them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX))?;
        self.raw(bytes)
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), Malformed> {
        self.bytes(text.as_bytes())
    }

    /// Bytes that may be absent.
    pub(crate) fn optional(&mut self, bytes: Option<&[u8]>) -> Result<(), Malformed> {
        self.u8(bytes.is_some().into())?;
        bytes.map_or(Ok(()), |bytes| self.bytes(bytes))
    }

    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

/// Reads what a [`Writer`] wrote, or what somebody says is that.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(crate) fn raw(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (now, later) = self.0.split_at_checked(n).ok_or(Malformed::Short)?;
        self.0 = later;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (now, later) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = later;
        Ok(*now)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Number("truth value")),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let n = self.u32()?;
        self.raw(n as usize)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        core::str::from_utf8(self.bytes()?).map_err(|_| Malformed::Number("character"))
    }

    pub(crate) fn optional(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        self.bool()?.then(|| self.bytes()).transpose()
    }

    /// What is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}
