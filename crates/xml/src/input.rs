//! The document's bytes: which encoding they are in, and UTF-8 of those in another one.

use encoding_rs::{Decoder, DecoderResult, Encoding};

use crate::Rule;
use crate::parser::{Halt, Parser, Step, fail};
use crate::record::Output;

/// Bytes that are decoded together.
const PIECE: usize = 8 << 10;

#[derive(Default)]
enum Form {
    /// The first four bytes are not all there.
    #[default]
    Detect,
    Utf8,
    Utf16 {
        big: bool,
    },
    Latin1,
    Other(Box<Decoder>),
}

/// The state of the input.
#[derive(Default)]
pub(crate) struct Input {
    form: Form,
    /// The transport named the encoding.
    forced: Option<String>,
    /// Bytes before the chunk's.
    prefix: Vec<u8>,
    /// UTF-8 that was decoded and not parsed, from `walked` on.
    decoded: Vec<u8>,
    walked: usize,
    /// What follows is not in the encoding.
    bad: bool,
    /// The decoder has seen the end.
    flushed: bool,
    /// Bytes of the document before those of `prefix` and the chunk.
    raw: u64,
    /// Bytes of UTF-8 that were decoded.
    utf8: u64,
    /// Where characters begin: in UTF-8, in the document. Ordered.
    marks: Vec<(u64, u64)>,
    byte_order_mark: bool,
    /// The document begins so far behind its first byte.
    skipped: u64,
}

impl Input {
    pub(crate) fn new(forced: Option<&str>) -> Input {
        Input { forced: forced.map(str::to_ascii_lowercase), ..Input::default() }
    }

    /// Whether the document's bytes are UTF-8, and parsed where they are.
    pub(crate) fn is_utf8(&self) -> bool {
        matches!(self.form, Form::Utf8)
    }

    /// The document's byte of a byte of UTF-8.
    pub(crate) fn raw(&self, at: u64) -> u64 {
        let place = self.marks.partition_point(|mark| mark.0 <= at);
        match place.checked_sub(1).map(|place| self.marks[place]) {
            Some((utf8, raw)) => raw + (at - utf8),
            None => at + self.skipped,
        }
    }

    /// Parses a chunk.
    pub(crate) fn feed(
        &mut self,
        parser: &mut Parser,
        chunk: &[u8],
        last: bool,
        out: &mut Output<'_>,
    ) -> (usize, Step<()>) {
        // Offsets have 32 bits.
        let most = chunk.len().min(1 << 30);
        let (cut, last) = (most < chunk.len(), last && most == chunk.len());
        let chunk = &chunk[..most];
        let mut consumed = 0;
        loop {
            let halt = match self.form {
                Form::Detect => {
                    let take = (4 - self.prefix.len()).min(chunk.len() - consumed);
                    if self.prefix.is_empty() && take == 4 {
                        let skip = match self.detect(parser, &chunk[..4]) {
                            Ok(skip) => skip,
                            Err(halt) => return (0, Err(halt)),
                        };
                        consumed = skip;
                        continue;
                    }
                    self.prefix.extend(&chunk[consumed..consumed + take]);
                    consumed += take;
                    if self.prefix.len() < 4 && !last {
                        return (consumed, Err(Halt::More));
                    }
                    let head = self.prefix.clone();
                    match self.detect(parser, &head) {
                        Ok(skip) => self.prefix.drain(..skip),
                        Err(halt) => return (consumed, Err(halt)),
                    };
                    continue;
                }
                Form::Utf8 if !self.prefix.is_empty() => {
                    let end = last && consumed == chunk.len();
                    let (taken, halt) = parser.walk(&self.prefix, end, true, out);
                    self.prefix.drain(..taken);
                    match halt {
                        Err(Halt::More) if self.prefix.is_empty() => {
                            if consumed == chunk.len() {
                                return (consumed, halt);
                            }
                            continue;
                        }
                        halt => halt,
                    }
                }
                Form::Utf8 => {
                    parser.base = consumed;
                    let (taken, halt) = parser.walk(&chunk[consumed..], last, false, out);
                    parser.base = 0;
                    consumed += taken;
                    halt
                }
                _ => match self.transcoded(parser, chunk, &mut consumed, last, out) {
                    Ok(true) => Ok(()),
                    Ok(false) => continue,
                    Err(halt) => Err(halt),
                },
            };
            match halt {
                Err(Halt::Declared) => {
                    if let Err(halt) = self.declared(parser) {
                        return (consumed, Err(halt));
                    }
                }
                Err(Halt::More) if cut => return (consumed, Err(Halt::Full)),
                halt => return (consumed, halt),
            }
        }
    }

    /// Decodes and parses a piece. True: the document has ended.
    fn transcoded(
        &mut self,
        parser: &mut Parser,
        chunk: &[u8],
        consumed: &mut usize,
        last: bool,
        out: &mut Output<'_>,
    ) -> Step<bool> {
        let mut ended = self.flushed;
        if self.walked == self.decoded.len() && !self.bad && !self.flushed {
            if *consumed == chunk.len() && self.prefix.len() < 4 && !last {
                // Unfinished units of UTF-16 wait in `prefix`.
                if self.prefix.is_empty() || matches!(self.form, Form::Utf16 { .. }) {
                    return Err(Halt::More);
                }
            }
            self.decoded.clear();
            self.walked = 0;
            let keep = self.marks.partition_point(|mark| mark.0 <= parser.position());
            self.marks.drain(..keep.saturating_sub(1));
            if self.marks.len() * 16 > parser.limits.memory {
                return fail(Rule::LimitMemory, 0);
            }
            let take = PIECE.min(chunk.len() - *consumed);
            let mut raw = std::mem::take(&mut self.prefix);
            raw.extend(&chunk[*consumed..*consumed + take]);
            *consumed += take;
            ended = last && *consumed == chunk.len();
            let used = self.decode(&raw, ended);
            self.raw += used as u64;
            self.marks.push((self.utf8, self.raw));
            self.prefix = raw[used..].to_vec();
            ended &= self.prefix.is_empty();
            self.flushed = ended;
            if self.decoded.is_empty() && !ended && !self.bad {
                return Ok(false);
            }
        }
        if self.bad {
            parser.end_rule = Rule::MalformedEncoding;
        }
        let rest = &self.decoded[self.walked..];
        let (taken, halt) = parser.walk(rest, ended || self.bad, true, out);
        self.walked += taken;
        match halt {
            Err(Halt::More) if self.walked == self.decoded.len() => Ok(false),
            Err(halt) => Err(halt),
            Ok(()) => Ok(true),
        }
    }

    /// Decodes into `decoded`; returns how many bytes were used.
    fn decode(&mut self, raw: &[u8], last: bool) -> usize {
        let Input { form, decoded, marks, utf8, bad, .. } = self;
        let begin = self.raw;
        let mut used = 0;
        let mut push = |c: char, at: usize| {
            marks.push((*utf8, begin + at as u64));
            *utf8 += c.len_utf8() as u64;
            decoded.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        };
        match form {
            Form::Latin1 => {
                raw.iter().enumerate().for_each(|(at, byte)| push(char::from(*byte), at));
                used = raw.len();
            }
            Form::Utf16 { big } => {
                let unit = |at: usize| {
                    let bytes = *raw.get(at..)?.first_chunk::<2>()?;
                    Some(if *big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
                };
                while let Some(first) = unit(used) {
                    let second = unit(used + 2);
                    if first & 0xfc00 == 0xd800 && second.is_none() && !last {
                        break;
                    }
                    let pair = [Some(first), second].into_iter().flatten();
                    match char::decode_utf16(pair).next() {
                        Some(Ok(c)) => {
                            push(c, used);
                            used += 2 * c.len_utf16();
                        }
                        _ => {
                            *bad = true;
                            return used;
                        }
                    }
                }
                if last && used < raw.len() {
                    *bad = true;
                }
            }
            Form::Other(decoder) => {
                let mut buffer = [0; 64];
                let mut start = 0;
                for at in 0..raw.len() + usize::from(last) {
                    let bytes = raw.get(at..at + 1).unwrap_or(&[]);
                    let (result, _, written) = decoder.decode_to_utf8_without_replacement(
                        bytes,
                        &mut buffer,
                        bytes.is_empty(),
                    );
                    for c in String::from_utf8_lossy(&buffer[..written]).chars() {
                        push(c, start);
                        start = at + 1;
                    }
                    used = raw.len().min(at + 1);
                    if !matches!(result, DecoderResult::InputEmpty) {
                        *bad = true;
                        break;
                    }
                }
            }
            Form::Detect | Form::Utf8 => {}
        }
        used
    }

    /// [F] of the specification: what the first bytes say. Returns the length of the byte order mark.
    fn detect(&mut self, parser: &mut Parser, head: &[u8]) -> Step<usize> {
        let (form, skip) = match head {
            [0xef, 0xbb, 0xbf, ..] => (Form::Utf8, 3),
            [0xfe, 0xff, ..] => (Form::Utf16 { big: true }, 2),
            [0xff, 0xfe, ..] => (Form::Utf16 { big: false }, 2),
            [0, b'<', 0, _, ..] => (Form::Utf16 { big: true }, 0),
            [b'<', 0, _, 0, ..] => (Form::Utf16 { big: false }, 0),
            _ => (Form::Utf8, 0),
        };
        self.byte_order_mark = skip > 0;
        self.form = form;
        if let Some(name) = self.forced.clone() {
            let utf16 = matches!(self.form, Form::Utf16 { .. });
            match &name[..] {
                "utf-16" if utf16 => {}
                "utf-16" | "utf-16be" => self.form = Form::Utf16 { big: true },
                "utf-16le" => self.form = Form::Utf16 { big: false },
                name => {
                    self.form = Form::Utf8;
                    self.switch(parser, name)?;
                }
            }
        }
        let marked = match (&self.form, head) {
            (Form::Utf8, [0xef, 0xbb, 0xbf, ..]) => 3,
            (Form::Utf16 { big: true }, [0xfe, 0xff, ..]) => 2,
            (Form::Utf16 { big: false }, [0xff, 0xfe, ..]) => 2,
            _ => 0,
        };
        self.skipped = marked;
        self.raw = marked;
        Ok(marked as usize)
    }

    /// The XML declaration names an encoding.
    fn declared(&mut self, parser: &mut Parser) -> Step<()> {
        let name = parser.declared.take().unwrap_or_default();
        if self.forced.is_some() {
            return Ok(());
        }
        let sixteen = name.starts_with("utf-16") || name == "iso-10646-ucs-2";
        match self.form {
            Form::Utf16 { .. } if sixteen => Ok(()),
            Form::Utf8 if sixteen => fail(Rule::EncodingMismatch, 0),
            Form::Utf8 if name == "utf-8" => Ok(()),
            Form::Utf8 if self.byte_order_mark => fail(Rule::EncodingMismatch, 0),
            Form::Utf8 => {
                // What was taken as UTF-8 begins with the declaration, which is ASCII.
                let position = parser.position();
                self.switch(parser, &name)?;
                if !matches!(self.form, Form::Utf8) {
                    let mut carry = parser.take_carry();
                    carry.append(&mut self.prefix);
                    self.prefix = carry;
                    (self.raw, self.utf8) = (position, position);
                }
                Ok(())
            }
            _ => fail(Rule::EncodingMismatch, 0),
        }
    }

    fn switch(&mut self, parser: &mut Parser, name: &str) -> Step<()> {
        match name {
            "utf-8" | "utf8" => {}
            "us-ascii" | "ascii" | "iso646-us" | "ansi_x3.4-1968" => parser.ascii = true,
            "iso-8859-1" | "iso_8859-1" | "latin1" | "l1" => self.form = Form::Latin1,
            name => match Encoding::for_label(name.as_bytes()) {
                Some(it) if it == encoding_rs::UTF_8 => {}
                Some(it) if it.is_ascii_compatible() || self.forced.is_some() => {
                    self.form = Form::Other(Box::new(it.new_decoder_without_bom_handling()));
                }
                Some(it) if it == encoding_rs::ISO_2022_JP => {
                    self.form = Form::Other(Box::new(it.new_decoder_without_bom_handling()));
                }
                _ => return fail(Rule::UnknownEncoding, 0),
            },
        }
        Ok(())
    }
}
