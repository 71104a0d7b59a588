//! Content: text, references, CDATA sections, and the tags between them.
//!
//! The walk goes from stop to stop of the index; `usual` goes ahead as far as it can. A token that the window does not hold whole leaves no trace: the walk ends
//! before it, and begins there again when there is more.

use crate::Rule;
use crate::chars::{self, Reference};
use crate::kernel::{Index, TEXT};
use crate::parser::{Frame, Halt, Parser, State, Step, Window, fail};
use crate::record::{CDATA, Kind, Output, Record};

/// Bytes that [`copy`] may write behind what it copies.
const JOINT_PAD: usize = 32;

/// Copies `len` bytes; most texts between references are short.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8], len: usize) {
    match (to.first_chunk_mut::<JOINT_PAD>(), from.first_chunk()) {
        (Some(to), Some(from)) if len <= JOINT_PAD => *to = *from,
        _ => to[..len].copy_from_slice(&from[..len]),
    }
}

/// Where a text ends, as far as the window shows it: it has no stop from `from` on.
fn text_end(w: &Window<'_>, from: usize) -> usize {
    let rest = w.bytes[from..].iter().rev();
    // "]]>" may be about to come.
    let brackets = rest.take(2).take_while(|byte| **byte == b']').count();
    w.bytes.len() - if w.end.is_none() { brackets } else { 0 }
}

/// The five references of every document, before all others: the character and the length.
#[inline(always)]
pub(crate) fn common(rest: &[u8]) -> Option<(u8, usize)> {
    match rest {
        [_, b'l', b't', b';', ..] => Some((b'<', 4)),
        [_, b'g', b't', b';', ..] => Some((b'>', 4)),
        [_, b'a', b'm', b'p', b';', ..] => Some((b'&', 5)),
        [_, b'q', b'u', b'o', b't', b';', ..] => Some((b'"', 6)),
        [_, b'a', b'p', b'o', b's', b';', ..] => Some((b'\'', 6)),
        _ => None,
    }
}

impl Parser {
    /// Returns the reached byte, and why no more; nothing if the root element has ended or a CDATA section begun.
    pub(crate) fn content(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        mut pos: usize,
        out: &mut Output<'_>,
    ) -> (usize, Option<Halt>) {
        let bytes = w.bytes;
        loop {
            if !w.copy && self.frames.is_empty() {
                let (reached, filled) =
                    self.usual(w, index, pos, &mut out.records[out.len..], out.bytes);
                pos = reached;
                out.len += filled;
                if self.state != State::Content {
                    return (pos, None);
                }
            }
            if out.is_full() {
                return (pos, Some(Halt::Full));
            }
            let stop = index.next::<TEXT>(pos);
            if stop >= bytes.len() {
                let end = text_end(w, pos);
                self.characters(w, pos, end, 0, out);
                return (end, Some(Halt::More));
            }
            let byte = bytes[stop];
            if byte != b'>' {
                if byte != b'<'
                    && self.joins
                    && !w.entity
                    && self.joined(w, index, &mut pos, stop, out)
                {
                    continue;
                }
                self.characters(w, pos, stop, 0, out);
                pos = stop;
            }
            let step = match byte {
                b'<' => match bytes.get(pos + 1) {
                    None => Err(Halt::More),
                    Some(b'/') => self.end_tag(w, &mut pos, out),
                    Some(b'!') => self.exclamation(w, &mut pos, out),
                    Some(b'?') => self.pi(w, &mut pos, out),
                    Some(_) => self.start_tag(w, index, &mut pos, out),
                },
                b'&' => self.reference(w, &mut pos, out),
                b'\r' => self.carriage_return(w, &mut pos, 0, out),
                _ if stop - pos < 2 => {
                    // Brackets before `pos` are another token's.
                    self.characters(w, pos, stop + 1, 0, out);
                    pos = stop + 1;
                    Ok(())
                }
                _ => {
                    self.characters(w, pos, stop - 2, 0, out);
                    pos = stop - 2;
                    fail(Rule::CharData, pos)
                }
            };
            if let Err(halt) = step {
                return (pos, Some(halt));
            }
            if self.state != State::Content {
                return (pos, None);
            }
        }
    }

    #[inline(always)]
    fn characters(
        &mut self,
        w: &Window<'_>,
        from: usize,
        end: usize,
        flags: u8,
        out: &mut Output<'_>,
    ) {
        if end > from {
            let name = w.place(from) as u32;
            let record = Record { kind: Kind::Text, flags, name, ..Record::default() };
            self.emit_text(out, record, w, from, end);
        }
    }

    /// A text up to the next tag as one record, with its line ends and references to characters replaced. Stops before what
    /// it does not know. False: that is where it begins.
    #[inline(never)]
    fn joined(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        mut stop: usize,
        out: &mut Output<'_>,
    ) -> bool {
        let (bytes, start) = (w.bytes, *pos);
        let mut text = std::mem::take(&mut self.joint);
        // What replaces a reference is shorter; the pad is for copies of a fixed length.
        let most = bytes.len() - start + JOINT_PAD;
        if text.len() < most {
            text.resize(most.max(bytes.len() + JOINT_PAD), 0);
        }
        let (mut from, mut len) = (start, 0);
        loop {
            // The brackets of "]]>" are for `content`.
            if stop >= bytes.len() || bytes[stop] == b'>' {
                // In one piece with what comes before, a text goes on in the next window without a copy.
                if stop >= bytes.len() && len > 0 {
                    let end = text_end(w, from);
                    copy(&mut text[len..], &bytes[from..], end - from);
                    len += end - from;
                    from = end;
                }
                break;
            }
            copy(&mut text[len..], &bytes[from..], stop - from);
            len += stop - from;
            from = stop;
            if bytes[stop] == b'\r' {
                match bytes.get(stop + 1) {
                    None if w.end.is_none() => break,
                    Some(b'\n') => {}
                    _ => {
                        text[len] = b'\n';
                        len += 1;
                    }
                }
                from += 1;
            } else if bytes[stop] == b'&' {
                let (c, by) = match common(&bytes[stop..]) {
                    Some((byte, by)) => (char::from(byte), by),
                    None => match chars::reference(&bytes[stop..]) {
                        Ok(Reference::Char(c, by)) => (c, by),
                        _ => break,
                    },
                };
                len += c.encode_utf8(&mut text[len..]).len();
                from += by;
            } else {
                break;
            }
            stop = index.next::<TEXT>(from);
        }
        if len > 0 {
            let name = w.place(start) as u32;
            let record = Record { kind: Kind::Text, name, ..Record::default() };
            self.emit_bytes(out, record, &text[..len]);
        }
        self.joint = text;
        *pos = from;
        from > start
    }

    /// [2.11]: `\r\n` and `\r` become `\n`. In the text of an entity that has happened, and `\r` comes from a reference.
    fn carriage_return(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        flags: u8,
        out: &mut Output<'_>,
    ) -> Step<()> {
        if w.entity {
            self.characters(w, *pos, *pos + 1, flags, out);
        } else {
            match w.bytes.get(*pos + 1) {
                None if w.end.is_none() => return Err(Halt::More),
                Some(b'\n') => {}
                _ => {
                    let name = w.place(*pos) as u32;
                    let record = Record { kind: Kind::Text, flags, name, ..Record::default() };
                    self.emit_bytes(out, record, b"\n");
                }
            }
        }
        *pos += 1;
        Ok(())
    }

    /// `<!` in content.
    fn exclamation(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        match w.get(*pos + 2)? {
            b'-' => self.comment(w, pos, out),
            b'[' => {
                if !w.starts(*pos, b"<![CDATA[")? {
                    return fail(Rule::CdSect, *pos);
                }
                let offset = w.place(*pos) as u32;
                self.emit(
                    out,
                    Record { kind: Kind::CdataStart, name: offset, ..Record::default() },
                );
                *pos += 9;
                self.state = State::Cdata;
                Ok(())
            }
            _ => fail(Rule::Content, *pos),
        }
    }

    /// [20] CData, and its end.
    pub(crate) fn cdata(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let mut from = *pos;
        loop {
            let stop = index.next::<TEXT>(from);
            let bytes = w.bytes;
            if stop >= bytes.len() {
                let end = text_end(w, *pos);
                self.characters(w, *pos, end, CDATA, out);
                *pos = end;
                return Err(Halt::More);
            }
            match bytes[stop] {
                b'>' if stop - *pos >= 2 => {
                    self.characters(w, *pos, stop - 2, CDATA, out);
                    let name = w.place(stop - 2) as u32;
                    self.emit(out, Record { kind: Kind::CdataEnd, name, ..Record::default() });
                    *pos = stop + 1;
                    self.state = State::Content;
                    return Ok(());
                }
                b'\r' => {
                    self.characters(w, *pos, stop, CDATA, out);
                    *pos = stop;
                    return self.carriage_return(w, pos, CDATA, out);
                }
                _ => from = stop + 1,
            }
        }
    }

    /// [67] Reference in content.
    fn reference(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let at = *pos;
        let place = w.place(at);
        let text = Record { kind: Kind::Text, name: place as u32, ..Record::default() };
        let rest = &w.bytes[at..];
        if let Some((byte, len)) = common(rest) {
            self.emit_bytes(out, text, &[byte]);
            *pos = at + len;
            return Ok(());
        }
        match chars::reference(rest) {
            Err((rule, by)) => fail(rule, at + by),
            Ok(Reference::More) => Err(Halt::More),
            Ok(Reference::Char(c, len)) => {
                self.emit_bytes(out, text, c.encode_utf8(&mut [0; 4]).as_bytes());
                *pos = at + len;
                Ok(())
            }
            Ok(Reference::Entity(name, len)) => {
                let name = &w.bytes[at + 1..at + 1 + name];
                if let Some(byte) = chars::predefined(name) {
                    self.emit_bytes(out, text, &[byte]);
                    *pos = at + len;
                    return Ok(());
                }
                if self.namespaces && name.contains(&b':') {
                    return fail(Rule::NsColon, at + 1);
                }
                let id = self.names.string(name);
                let entity = self.content_entity(id, at)?;
                *pos = at + len;
                let record = Record { name: id, count: entity.is_some().into(), ..text };
                let Some(Some(text)) = entity else {
                    self.emit(out, Record { kind: Kind::SkippedEntity, ..record });
                    return Ok(());
                };
                if self.frames.len() >= self.limits.depth as usize {
                    return fail(Rule::LimitDepth, at);
                }
                self.expand(text.len(), at)?;
                self.dtd.open(id);
                self.emit(out, Record { kind: Kind::EntityStart, ..record });
                let depth = self.open.len();
                self.frames.push(Frame { text, pos: 0, entity: id, depth, at: place });
                Err(Halt::Entered)
            }
        }
    }
}
