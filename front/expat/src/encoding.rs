//! The input: bytes in the document's encoding become UTF-8.

use std::ffi::{CStr, c_int};
use std::ops::Deref;
use std::ptr::NonNull;

use crate::abi::*;
use crate::parser::{NO_EVENT, P, Processor};
use crate::token::Stop;

/// Bytes before the current ones that are kept.
const CONTEXT: usize = 1024;

/// What the bytes are in.
pub(crate) enum Form {
    /// The first bytes are not all there.
    Detect,
    Utf8,
    Ascii,
    Latin1,
    Utf16 {
        big: bool,
    },
    Unknown(Box<Encoding>),
}

/// Bytes that are read: the parser's own, or the caller's for the time of a call.
#[derive(Default)]
pub(crate) struct Buffer {
    own: Vec<u8>,
    lent: Option<NonNull<[u8]>>,
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self.lent {
            // SAFETY: the caller's bytes, within its call: `P::give_back` ends that.
            Some(bytes) => unsafe { bytes.as_ref() },
            None => &self.own,
        }
    }
}

impl Buffer {
    /// The parser's own bytes are these.
    fn set(&mut self, bytes: Vec<u8>) {
        (self.own, self.lent) = (bytes, None);
    }

    fn lend(&mut self, bytes: &[u8]) {
        self.own.clear();
        self.lent = Some(NonNull::from(bytes));
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.drop_front(0);
        self.own.extend_from_slice(bytes);
    }

    /// Drops the first `len` bytes; what is left is the parser's own.
    fn drop_front(&mut self, len: usize) {
        match self.lent.take() {
            Some(bytes) => {
                self.own.clear();
                // SAFETY: as above.
                self.own.extend_from_slice(unsafe { &bytes.as_ref()[len..] });
            }
            None if len > 0 => drop(self.own.drain(..len)),
            None => {}
        }
    }
}

/// The state of the input.
pub(crate) struct Input {
    pub(crate) form: Form,
    /// What `XML_GetBuffer` gave.
    pub(crate) incoming: Vec<u8>,
    pub(crate) offered: bool,
    /// UTF-8; before `at` it is parsed.
    pub(crate) buffer: Buffer,
    pub(crate) at: usize,
    /// Bytes that are no whole character yet.
    raw: Vec<u8>,
    /// For each byte of `buffer`, how many of the document it stands for; empty if that is one.
    lens: Vec<u8>,
    /// The document's byte of the buffer's first.
    base: u64,
    /// What follows the buffer is no character.
    pub(crate) bad: bool,
    /// What the end of the buffer is, if it is the end of all.
    pub(crate) tail: Stop,
}

impl Default for Input {
    fn default() -> Input {
        Input {
            form: Form::Detect,
            incoming: vec![],
            offered: false,
            buffer: Buffer::default(),
            at: 0,
            raw: vec![],
            lens: vec![],
            base: 0,
            bad: false,
            tail: Stop::End,
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Form::Unknown(encoding) = &self.form
            && let Some(release) = encoding.release
        {
            // SAFETY: what the program gave for its data, called once.
            unsafe { release(encoding.data) };
        }
    }
}

/// The form with this name.
fn known(name: &[u8], form: &Form) -> Option<Form> {
    let upper = name.to_ascii_uppercase();
    Some(match &upper[..] {
        b"ISO-8859-1" => Form::Latin1,
        b"US-ASCII" => Form::Ascii,
        b"UTF-8" => Form::Utf8,
        b"UTF-16" => Form::Utf16 { big: !matches!(form, Form::Utf16 { big: false }) },
        b"UTF-16BE" => Form::Utf16 { big: true },
        b"UTF-16LE" => Form::Utf16 { big: false },
        _ => return None,
    })
}

impl Input {
    /// Whether text is converted before handlers get it.
    pub(crate) fn converts(&self) -> bool {
        !matches!(self.form, Form::Detect | Form::Utf8 | Form::Ascii)
    }

    /// The document's byte of a byte of the buffer.
    pub(crate) fn raw(&self, at: usize) -> u64 {
        match self.lens.is_empty() {
            true => self.base + at as u64,
            false => {
                let end = at.min(self.lens.len());
                self.base + self.lens[..end].iter().map(|len| u64::from(*len)).sum::<u64>()
            }
        }
    }

    fn push(&mut self, c: char, len: u8) {
        let mut bytes = [0; 4];
        let text = c.encode_utf8(&mut bytes).as_bytes();
        self.buffer.extend_from_slice(text);
        self.lens.push(len);
        self.lens.resize(self.buffer.len(), 0);
    }

    fn decode(&mut self, last: bool) {
        let raw = std::mem::take(&mut self.raw);
        let mut at = 0;
        while at < raw.len() && !self.bad {
            let rest = &raw[at..];
            let found = match &self.form {
                Form::Latin1 => Some((char::from(rest[0]), 1)),
                Form::Ascii if rest[0] < 128 => Some((char::from(rest[0]), 1)),
                Form::Utf16 { big } => {
                    let unit = |at: usize| {
                        let bytes = *rest.get(at..)?.first_chunk::<2>()?;
                        Some(match big {
                            true => u16::from_be_bytes(bytes),
                            false => u16::from_le_bytes(bytes),
                        })
                    };
                    let Some(first) = unit(0) else { break };
                    let pair = first & 0xfc00 == 0xd800;
                    if pair && unit(2).is_none() {
                        break;
                    }
                    let units = [Some(first), if pair { unit(2) } else { None }];
                    let c = char::decode_utf16(units.into_iter().flatten()).next();
                    c.and_then(Result::ok).map(|c| (c, 2 * c.len_utf16()))
                }
                Form::Unknown(encoding) => {
                    let value = encoding.map[usize::from(rest[0])];
                    match (value, encoding.convert) {
                        (0.., _) => {
                            u32::try_from(value).ok().and_then(char::from_u32).map(|c| (c, 1))
                        }
                        (-4..=-2, Some(convert)) => {
                            let len = -value as usize;
                            if rest.len() < len {
                                break;
                            }
                            // SAFETY: the program's function, with as many bytes as its map says.
                            let c = unsafe { convert(encoding.data, rest.as_ptr().cast()) };
                            let c = u32::try_from(c).ok().filter(|c| *c < 0x1_0000);
                            c.and_then(char::from_u32).map(|c| (c, len))
                        }
                        _ => None,
                    }
                }
                _ => None,
            };
            match found {
                Some((c, len)) => {
                    self.push(c, len as u8);
                    at += len;
                }
                None => self.bad = true,
            }
        }
        self.raw = raw[at..].to_vec();
        if last && !self.bad {
            self.tail = match (&self.form, self.raw.len()) {
                (_, 0) => Stop::End,
                (Form::Utf16 { .. }, 1) => Stop::Half,
                _ => Stop::Char,
            };
        }
    }
}

impl P {
    /// More bytes of the document have arrived. If nothing unfinished lies before them they are read where they are,
    /// until [`P::give_back`].
    ///
    /// # Safety
    /// `bytes` are not those of the buffer.
    pub(crate) fn arrive(mut self, bytes: &[u8], last: bool) {
        let at = self.input.at;
        let whole = at == self.input.buffer.len() && self.event >= at;
        let lend = whole && matches!(self.input.form, Form::Utf8);
        let drop = if lend { at } else { at.saturating_sub(CONTEXT) };
        if drop > 0 {
            self.count_lines(at);
            self.drop_front(drop);
        }
        let input = &mut self.input;
        match input.form {
            Form::Utf8 if lend => input.buffer.lend(bytes),
            Form::Utf8 => input.buffer.extend_from_slice(bytes),
            Form::Detect => self.detect(bytes, last),
            _ => {
                input.raw.extend_from_slice(bytes);
                input.decode(last);
            }
        }
        self.forget();
    }

    /// The caller's bytes are used no more: keeps what is unfinished, and some context.
    pub(crate) fn give_back(self) {
        if self.input.buffer.lent.is_none() {
            return;
        }
        let (at, event) = (self.input.at, self.event);
        let to = match (self.processor, event) {
            (_, NO_EVENT) => at,
            (Processor::Error, event) => event,
            (_, event) => at.min(event),
        };
        self.count_lines(to);
        self.drop_front(to.saturating_sub(CONTEXT));
        self.forget();
    }

    /// Drops the first `len` bytes of the buffer, whose lines are counted.
    fn drop_front(mut self, len: usize) {
        let input = &mut self.input;
        input.base = input.raw(len);
        input.buffer.drop_front(len);
        if !input.lens.is_empty() {
            input.lens.drain(..len);
        }
        input.at = input.at.saturating_sub(len);
        let shift = |place: usize| place.checked_sub(len).unwrap_or(NO_EVENT);
        (self.event, self.event_end) = match self.event {
            NO_EVENT => (NO_EVENT, NO_EVENT),
            event => (shift(event), shift(self.event_end)),
        };
        self.counted -= len.min(self.counted);
    }

    /// Appendix F: what the first bytes say.
    fn detect(&mut self, bytes: &[u8], last: bool) {
        let named = self.encoding.as_ref().map(|name| name[..name.len() - 1].to_vec());
        let content = self.processor == Processor::ExternalStart;
        let input = &mut self.input;
        let mut held = std::mem::take(&mut input.raw);
        let whole = held.is_empty();
        let raw = match whole {
            true => bytes,
            false => {
                held.extend_from_slice(bytes);
                &held
            }
        };
        let undecided = matches!(raw, [] | [0xef, 0xbb] | [0xef | 0xfe | 0xff | 0 | b'<']);
        if undecided && !last {
            input.raw = raw.to_vec();
            return;
        }
        let (form, skip) = match raw {
            [0xef, 0xbb, 0xbf, ..] => (Form::Utf8, 3),
            [0xfe, 0xff, ..] => (Form::Utf16 { big: true }, 2),
            [0xff, 0xfe, ..] => (Form::Utf16 { big: false }, 2),
            [0, ..] => (Form::Utf16 { big: true }, 0),
            [_, 0, ..] if !content => (Form::Utf16 { big: false }, 0),
            _ => (Form::Utf8, 0),
        };
        let form = match named.as_deref().and_then(|name| known(name, &form)) {
            Some(named) if !(skip > 0 && matches!(named, Form::Utf16 { .. })) => named,
            _ => form,
        };
        // One byte of a mark, and no more: half a unit.
        let form = match raw {
            [0xef | 0xfe | 0xff] if !content || !matches!(form, Form::Latin1) => {
                Form::Utf16 { big: true }
            }
            _ => form,
        };
        let skip = match form {
            Form::Utf8 if skip == 3 => 3,
            Form::Utf16 { .. } if skip == 2 => 2,
            _ => 0,
        };
        input.form = form;
        input.base = skip as u64;
        let raw = &raw[skip..];
        match input.form {
            Form::Utf8 if whole => input.buffer.lend(raw),
            Form::Utf8 => input.buffer.set(raw.to_vec()),
            _ => {
                input.raw = raw.to_vec();
                input.decode(last);
            }
        }
        // The byte order mark is a character of the first line.
        self.column += u64::from(skip > 0);
    }

    /// The protocol's encoding, if it is none of the known ones.
    pub(crate) fn protocol_encoding(self) -> Result<(), c_int> {
        match &self.encoding {
            Some(name) if known(&name[..name.len() - 1], &self.input.form).is_none() => {
                let name = name.clone();
                let mut p = self;
                let raw = p.input.buffer.to_vec();
                p.input.buffer.set(vec![]);
                p.unknown_encoding(&name)?;
                p.input.raw = raw;
                p.redecode();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn redecode(mut self) {
        let last = self.status.final_buffer != 0;
        self.input.decode(last);
        self.forget();
    }

    /// The declaration, which ends at `next`, names this encoding.
    pub(crate) fn declared_encoding(mut self, name: &[u8], next: usize) -> Result<(), c_int> {
        if self.encoding.is_some() {
            return Ok(());
        }
        let wide = matches!(self.input.form, Form::Utf16 { .. });
        match known(name, &self.input.form) {
            Some(Form::Utf16 { big }) => match self.input.form {
                Form::Utf16 { big: is } if is == big => Ok(()),
                _ => Err(INCORRECT_ENCODING),
            },
            Some(_) if wide => Err(INCORRECT_ENCODING),
            Some(Form::Utf8) => Ok(()),
            Some(form) => {
                self.switch(form, next);
                Ok(())
            }
            None => {
                let text = crate::dtd::text(name);
                let form = std::mem::replace(&mut self.input.form, Form::Utf8);
                let done = self.unknown_encoding(&text);
                let new = std::mem::replace(&mut self.input.form, form);
                done?;
                self.switch(new, next);
                Ok(())
            }
        }
    }

    /// What is behind `next` is in another encoding.
    fn switch(mut self, form: Form, next: usize) {
        if !matches!(self.input.form, Form::Utf8) {
            return;
        }
        let input = &mut self.input;
        input.raw = input.buffer[next..].to_vec();
        let before = input.buffer[..next].to_vec();
        input.buffer.set(before);
        input.lens = vec![1; next];
        input.form = form;
        self.redecode();
    }

    /// Asks the program.
    fn unknown_encoding(mut self, name: &[u8]) -> Result<(), c_int> {
        let Some(handler) = self.h.unknown_encoding else { return Err(UNKNOWN_ENCODING) };
        let null = std::ptr::null_mut();
        let mut encoding = Encoding { map: [-1; 256], data: null, convert: None, release: None };
        let data = self.unknown_data;
        // SAFETY: the program's function with a name that ends with zero.
        let taken = unsafe { handler(data, name.as_ptr().cast(), &raw mut encoding) };
        let fine = taken != 0 && valid(&encoding);
        if !fine {
            if let Some(release) = encoding.release {
                // SAFETY: the program's function.
                unsafe { release(encoding.data) };
            }
            return Err(UNKNOWN_ENCODING);
        }
        self.input.form = Form::Unknown(Box::new(encoding));
        Ok(())
    }
}

/// Whether a map can be used: ASCII is where XML needs it, and there is a function for long characters.
fn valid(encoding: &Encoding) -> bool {
    encoding.map.iter().enumerate().all(|(byte, &value)| match value {
        -1 => !needed(byte),
        -4..=-2 => encoding.convert.is_some() && !needed(byte),
        0..=0xffff => {
            let ascii = usize::try_from(value).is_ok_and(|value| value < 128 && value != byte);
            (!needed(byte) || value as usize == byte) && !(ascii && needed(value as usize))
        }
        _ => false,
    })
}

/// A character of ASCII that has a meaning in XML.
fn needed(byte: usize) -> bool {
    let byte = byte as u8;
    let other = matches!(byte, b'$' | b'@' | b'\\' | b'^' | b'`' | b'{' | b'}' | b'~' | 0x7f);
    byte < 128 && !other && (byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// Bytes of a C string, with the zero.
///
/// # Safety
/// A string that ends with zero.
pub(crate) unsafe fn copy(text: Str) -> Option<crate::dtd::Text> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes_with_nul().into())
}
