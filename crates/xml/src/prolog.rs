//! Around the root element: the XML declaration, comments, processing instructions, the document type declaration.

use crate::Rule;
use crate::chars::is_space;
use crate::cursor::{Cursor, External};
use crate::kernel::Index;
use crate::parser::{Halt, Parser, State, Step, Window, fail};
use crate::record::{Kind, Output, Record, pack};

impl Parser {
    /// The first bytes of the document.
    pub(crate) fn start(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        if !w.starts(*pos, b"<?xml")? || !is_space(w.get(*pos + 5)?) {
            self.state = State::Prolog;
            return Ok(());
        }
        let mut c = Cursor { w, at: *pos + 5 };
        let it = declaration(&mut c, true)?;
        self.dtd.standalone = it.standalone == Some(true);
        self.state = State::Prolog;
        let record = Record { kind: Kind::XmlDecl, ..Record::default() };
        self.emit_text(out, record, w, *pos + 5, c.at - 2);
        *pos = c.at;
        match it.encoding {
            None => Ok(()),
            Some(name) => {
                self.declared = Some(name);
                Err(Halt::Declared)
            }
        }
    }

    /// [27] Misc, the document type declaration, and the root's start-tag.
    pub(crate) fn misc(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        while is_space(w.get(*pos)?) {
            *pos += 1;
        }
        if w.get(*pos)? != b'<' {
            return fail(Rule::Document, *pos);
        }
        match w.get(*pos + 1)? {
            b'?' => self.pi(w, pos, out),
            b'!' if w.get(*pos + 2)? == b'-' => self.comment(w, pos, out),
            b'!' => self.doctype(w, pos, out),
            _ if self.state == State::Epilog => fail(Rule::Document, *pos),
            b'/' => fail(Rule::Document, *pos),
            _ => self.start_tag(w, index, pos, out),
        }
    }

    /// [15] Comment; `<!-` stands at `pos`.
    pub(crate) fn comment(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        if w.get(*pos + 3)? != b'-' {
            return fail(Rule::Comment, *pos + 3);
        }
        let from = *pos + 4;
        let mut at = from;
        loop {
            let rest = w.bytes.get(at..).unwrap_or(&[]);
            at += memchr::memchr(b'-', rest).ok_or(Halt::More)?;
            if w.get(at + 1)? == b'-' {
                break;
            }
            at += 2;
        }
        if w.get(at + 2)? != b'>' {
            return fail(Rule::Comment, at);
        }
        let name = w.place(*pos) as u32;
        self.emit_lines(
            out,
            Record { kind: Kind::Comment, name, ..Record::default() },
            w,
            from,
            at,
        );
        *pos = at + 3;
        Ok(())
    }

    /// [16] PI; `<?` stands at `pos`.
    pub(crate) fn pi(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let mut c = Cursor { w, at: *pos + 2 };
        let start = c.at;
        let target = c.name(self.limits.name).map_err(|halt| match halt {
            Halt::Fail(Rule::Name | Rule::PesInInternalSubset, at) => Halt::Fail(Rule::Pi, at),
            halt => halt,
        })?;
        if target.eq_ignore_ascii_case(b"xml") {
            return fail(Rule::PiTarget, start);
        }
        if self.namespaces && target.contains(&b':') {
            return fail(Rule::NsColon, start);
        }
        let space = c.space()?;
        let from = c.at;
        let end = if w.starts(from, b"?>")? {
            from
        } else if !space {
            return fail(Rule::Pi, from);
        } else {
            let mut at = from;
            loop {
                at += memchr::memchr(b'?', w.bytes.get(at..).unwrap_or(&[])).ok_or(Halt::More)?;
                if w.get(at + 1)? == b'>' {
                    break at;
                }
                at += 1;
            }
        };
        let name = self.names.string(target);
        self.emit_lines(out, Record { kind: Kind::Pi, name, ..Record::default() }, w, from, end);
        *pos = end + 2;
        Ok(())
    }

    /// Text of a comment or an instruction: [2.11] ends of lines.
    fn emit_lines(
        &mut self,
        out: &mut Output<'_>,
        record: Record,
        w: &Window<'_>,
        from: usize,
        end: usize,
    ) {
        let text = &w.bytes[from..end];
        if w.entity || memchr::memchr(b'\r', text).is_none() {
            self.emit_text(out, record, w, from, end);
        } else {
            self.emit_bytes(out, record, &line_ends(text));
        }
    }

    /// [28] doctypedecl up to its internal subset; `<!` stands at `pos`.
    fn doctype(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        if !w.starts(*pos, b"<!DOCTYPE")? {
            return fail(Rule::Document, *pos);
        }
        if self.seen_doctype || self.state == State::Epilog {
            return fail(Rule::Document, *pos);
        }
        let mut c = Cursor { w, at: *pos + 9 };
        c.need_space()?;
        let name_at = c.at;
        let name = c.name(self.limits.name)?;
        if self.namespaces {
            crate::chars::prefix_len(name).map_err(|rule| Halt::Fail(rule, name_at))?;
        }
        let space = c.space()?;
        let byte = c.peek()?;
        let mut external = None;
        if byte != b'[' && byte != b'>' {
            if !space {
                return c.wrong(Rule::Doctype);
            }
            external = c.external(false)?;
            if external.is_none() {
                return c.wrong(Rule::Doctype);
            }
            c.space()?;
        }
        let subset = c.peek()? == b'[';
        if !subset && c.peek()? != b'>' {
            return c.wrong(Rule::Doctype);
        }
        self.seen_doctype = true;
        self.dtd.has_references |= external.is_some();
        let part = |part: fn(&External) -> Option<&Vec<u8>>| {
            external.as_ref().and_then(part).map_or(&b""[..], Vec::as_slice)
        };
        let text = pack(&[
            name,
            part(|it| it.public.as_ref()),
            part(|it| it.system.as_ref()),
            if subset { b"[" } else { b"" },
        ]);
        self.emit_bytes(out, Record { kind: Kind::DoctypeStart, ..Record::default() }, &text);
        self.dtd.external = external;
        if subset {
            *pos = c.at + 1;
            self.state = State::Subset;
        } else {
            self.external_subset(w.place(c.at), out).map_err(|halt| halt.at(c.at))?;
            *pos = c.at + 1;
            self.emit(out, Record { kind: Kind::DoctypeEnd, ..Record::default() });
        }
        Ok(())
    }
}

/// What an XML declaration or a text declaration says.
pub(crate) struct Declaration {
    pub(crate) encoding: Option<String>,
    pub(crate) standalone: Option<bool>,
}

/// [23] XMLDecl, or without a `version` [77] TextDecl, from behind `<?xml`; `c` is left behind `?>`.
pub(crate) fn declaration(c: &mut Cursor<'_, '_>, version: bool) -> Step<Declaration> {
    let quoted = |c: &mut Cursor<'_, '_>| -> Step<(Vec<u8>, usize)> {
        c.space()?;
        c.eat(b'=', Rule::XmlDecl)?;
        c.space()?;
        let (text, from) = c.literal(Rule::XmlDecl)?;
        Ok((text.to_vec(), from))
    };
    let mut space = c.space()?;
    if c.word(b"version")? {
        let (version, from) = quoted(c)?;
        match version.strip_prefix(b"1.") {
            Some(rest) if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {}
            _ => return fail(Rule::Version, from),
        }
        space = c.space()?;
    } else if version {
        return fail(Rule::XmlDecl, c.at);
    }
    let mut encoding = None;
    if space && c.word(b"encoding")? {
        let (name, from) = quoted(c)?;
        let fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        if !name.first().is_some_and(u8::is_ascii_alphabetic) || !name.iter().all(fine) {
            return fail(Rule::EncodingDecl, from);
        }
        encoding = Some(String::from_utf8_lossy(&name).to_ascii_lowercase());
        space = c.space()?;
    }
    let mut standalone = None;
    if space && c.word(b"standalone")? {
        let (text, from) = quoted(c)?;
        standalone = match &text[..] {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => return fail(Rule::Standalone, from),
        };
        c.space()?;
    }
    if !c.word(b"?>")? {
        return fail(Rule::XmlDecl, c.at);
    }
    Ok(Declaration { encoding, standalone })
}

/// [2.11]: `\r\n` and `\r` become `\n`.
pub(crate) fn line_ends(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'\r' if text.get(at + 1) == Some(&b'\n') => {}
            b'\r' => lines.push(b'\n'),
            byte => lines.push(byte),
        }
    }
    lines
}
