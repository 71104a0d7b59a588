//! The internal subset: [28a] and [29] to [83].

use crate::Rule;
use crate::chars::{self, is_space};
use crate::cursor::Cursor;
use crate::dtd::{Attribute, Entity};
use crate::external::{Asked, Outside};
use crate::parser::{Halt, Parser, State, Step, Window, fail};
use crate::record::{DEFAULTED, Kind, Output, Record, pack};
use crate::tag::collapse;

impl Parser {
    /// One declaration, comment, instruction or reference; white space; the end.
    pub(crate) fn subset(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        while is_space(w.get(*pos)?) {
            *pos += 1;
        }
        let byte = w.get(*pos)?;
        if self.state == State::SubsetEnd {
            if byte != b'>' {
                return fail(Rule::Doctype, *pos);
            }
            self.external_subset(w.place(*pos), out).map_err(|halt| halt.at(*pos))?;
            self.emit(out, Record { kind: Kind::DoctypeEnd, ..Record::default() });
            self.state = State::Prolog;
            *pos += 1;
            return Ok(());
        }
        match byte {
            b']' if !w.entity => {
                self.state = State::SubsetEnd;
                *pos += 1;
                Ok(())
            }
            b'%' => self.parameter_reference(w, pos, out),
            b'<' => match w.get(*pos + 1)? {
                b'?' => self.pi(w, pos, out),
                b'!' => match w.get(*pos + 2)? {
                    b'-' => self.comment(w, pos, out),
                    _ => self.declaration(w, pos, out),
                },
                _ => fail(Rule::MarkupDecl, *pos),
            },
            _ => fail(Rule::MarkupDecl, *pos),
        }
    }

    /// A declaration; `<!` stands at `pos`.
    pub(crate) fn declaration(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        match () {
            () if w.starts(*pos, b"<!ELEMENT")? => self.element_decl(w, pos, out),
            () if w.starts(*pos, b"<!ATTLIST")? => self.attlist_decl(w, pos, out),
            () if w.starts(*pos, b"<!ENTITY")? => self.entity_decl(w, pos, out),
            () if w.starts(*pos, b"<!NOTATION")? => self.notation_decl(w, pos, out),
            () => fail(Rule::MarkupDecl, *pos),
        }
    }

    /// [69] PEReference between declarations.
    fn parameter_reference(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let at = *pos;
        let mut c = Cursor { w, at: at + 1 };
        let name = c.name(self.limits.name).map_err(|halt| match halt {
            Halt::Fail(Rule::Name, at) => Halt::Fail(Rule::PeReference, at),
            halt => halt,
        })?;
        c.eat(b';', Rule::PeReference)?;
        if self.namespaces && name.contains(&b':') {
            return fail(Rule::NsColon, at);
        }
        let id = self.names.string(name);
        self.dtd.has_references = true;
        let end = c.at;
        let text = match self.dtd.parameters.get(&id) {
            None if self.dtd.standalone && !w.entity => return fail(Rule::EntityDeclared, at),
            Some(entity) if entity.open => return fail(Rule::NoRecursion, at),
            entity => entity.map(|entity| entity.text.clone()),
        };
        if let Some(None) = text
            && self.external_parameter(id, w.place(at), out).map_err(|halt| halt.at(at))?
        {
            *pos = end;
            return Ok(());
        }
        let Some(Some(text)) = text else {
            self.dtd.unread = !self.dtd.standalone;
            let record = Record {
                kind: Kind::SkippedEntity,
                name: id,
                count: text.is_some().into(),
                ..Record::default()
            };
            self.emit(out, record);
            *pos = end;
            return Ok(());
        };
        self.expand(text.len(), at)?;
        let open = |parser: &mut Parser, open| {
            if let Some(entity) = parser.dtd.parameters.get_mut(&id) {
                entity.open = open;
            }
        };
        // Each level is a few calls.
        if self.parameter_depth >= self.limits.depth.min(100) {
            return fail(Rule::LimitDepth, at);
        }
        self.parameter_depth += 1;
        open(self, true);
        let inner = Window {
            bytes: &text,
            base: 0,
            at: w.place(at),
            end: Some(Rule::PeBetweenDeclarations),
            copy: true,
            entity: true,
        };
        let mut from = 0;
        let result = loop {
            match self.subset(&inner, &mut from, out) {
                Ok(()) => {}
                Err(Halt::More) if from == text.len() => break Ok(()),
                Err(Halt::More) => break fail(Rule::PeBetweenDeclarations, at),
                Err(Halt::Fail(rule, _)) => break fail(rule, at),
                Err(halt) => break Err(halt),
            }
        };
        open(self, false);
        self.parameter_depth -= 1;
        result?;
        *pos = end;
        Ok(())
    }

    /// The qualified name of an element or an attribute.
    fn declared_qname<'a>(&self, c: &mut Cursor<'_, 'a>) -> Step<&'a [u8]> {
        let at = c.at;
        let name = c.name(self.limits.name)?;
        if self.namespaces {
            chars::prefix_len(name).map_err(|rule| Halt::Fail(rule, at))?;
        }
        Ok(name)
    }

    /// The name of an entity or a notation: without a colon.
    fn declared_ncname<'a>(&self, c: &mut Cursor<'_, 'a>) -> Step<&'a [u8]> {
        let at = c.at;
        let name = c.name(self.limits.name)?;
        if self.namespaces && name.contains(&b':') {
            return fail(Rule::NsColon, at);
        }
        Ok(name)
    }

    /// [45] elementdecl.
    fn element_decl(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let mut c = Cursor { w, at: *pos + 9 };
        c.need_space()?;
        let name = self.declared_qname(&mut c)?;
        c.need_space()?;
        let mut model = vec![];
        if c.peek()? == b'(' {
            self.content_model(&mut c, &mut model)?;
        } else if c.word(b"EMPTY")? {
            model.extend(b"EMPTY");
        } else if c.word(b"ANY")? {
            model.extend(b"ANY");
        } else {
            return c.wrong(Rule::ContentSpec);
        }
        c.space()?;
        c.eat(b'>', Rule::ElementDecl)?;
        let text = pack(&[name, &model]);
        self.emit_bytes(out, Record { kind: Kind::ElementDecl, ..Record::default() }, &text);
        *pos = c.at;
        Ok(())
    }

    /// [47] to [51].
    fn content_model(&mut self, c: &mut Cursor<'_, '_>, model: &mut Vec<u8>) -> Step<()> {
        let rule = Rule::ContentSpec;
        c.eat(b'(', rule)?;
        model.push(b'(');
        c.space()?;
        if c.word(b"#PCDATA")? {
            model.extend(b"#PCDATA");
            let mut names = false;
            loop {
                c.space()?;
                if c.peek()? == b')' {
                    break;
                }
                c.eat(b'|', rule)?;
                c.space()?;
                names = true;
                let name = self.declared_qname(c)?;
                model.push(b'|');
                model.extend(name);
            }
            c.at += 1;
            model.push(b')');
            if c.peek()? == b'*' {
                c.at += 1;
                model.push(b'*');
            } else if names {
                return c.wrong(rule);
            }
            return Ok(());
        }
        let mut separators = vec![0];
        while !separators.is_empty() {
            c.space()?;
            if c.peek()? == b'(' {
                if separators.len() >= self.limits.depth as usize {
                    return fail(Rule::LimitDepth, c.at);
                }
                c.at += 1;
                model.push(b'(');
                separators.push(0);
                continue;
            }
            let name = self.declared_qname(c)?;
            model.extend(name);
            loop {
                let byte = c.peek()?;
                if matches!(byte, b'?' | b'*' | b'+') {
                    c.at += 1;
                    model.push(byte);
                }
                if separators.is_empty() {
                    break;
                }
                c.space()?;
                let byte = c.peek()?;
                match (byte, separators.last_mut()) {
                    (b')', _) => {
                        separators.pop();
                    }
                    (b',' | b'|', Some(known)) if *known == 0 || *known == byte => *known = byte,
                    _ => return c.wrong(rule),
                }
                c.at += 1;
                model.push(byte);
                if byte != b')' {
                    break;
                }
            }
        }
        Ok(())
    }

    /// [52] AttlistDecl.
    fn attlist_decl(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let mut c = Cursor { w, at: *pos + 9 };
        c.need_space()?;
        let element = self.declared_qname(&mut c)?;
        let (mut found, mut texts) = (vec![], vec![]);
        loop {
            let space = c.space()?;
            if c.peek()? == b'>' {
                break;
            }
            if !space {
                return c.wrong(Rule::AttlistDecl);
            }
            let at = c.at;
            let name = self.declared_qname(&mut c)?;
            c.need_space()?;
            let kind = self.attribute_type(&mut c)?;
            c.need_space()?;
            let cdata = kind == b"CDATA";
            let (word, value): (&[u8], _) = if c.word(b"#REQUIRED")? {
                (b"#REQUIRED", None)
            } else if c.word(b"#IMPLIED")? {
                (b"#IMPLIED", None)
            } else {
                let fixed = c.word(b"#FIXED")?;
                if fixed {
                    c.need_space()?;
                }
                let (raw, from) = c.literal(Rule::AttValue)?;
                let mut value = vec![];
                self.normalise(raw, from, !w.entity, &mut value)?;
                let value = if cdata { value } else { collapse(&value) };
                (if fixed { b"#FIXED" } else { b"" }, Some(value))
            };
            texts.push(pack(&[element, name, &kind, word, value.as_deref().unwrap_or(b"")]));
            found.push((name, at, cdata, value));
        }
        let at = *pos;
        let mut size = 0;
        if !self.dtd.unread {
            let element = self
                .names
                .intern(element, 0, element.len())
                .map_err(|(rule, _)| Halt::Fail(rule, at))?;
            if self.names.entries[element as usize].attlist == 0 {
                self.dtd.lists.push(vec![]);
                self.names.entries[element as usize].attlist = self.dtd.lists.len() as u32;
            }
            let list = self.names.entries[element as usize].attlist as usize - 1;
            for (name, at, cdata, value) in found {
                let name = self
                    .names
                    .intern(name, 0, name.len())
                    .map_err(|(rule, _)| Halt::Fail(rule, at))?;
                size += value.as_ref().map_or(0, Vec::len) + 64;
                let list = &mut self.dtd.lists[list];
                // The first declaration counts.
                if self.limits.attributes as usize <= list.len() {
                    return fail(Rule::LimitAttributes, at);
                }
                if list.iter().all(|one| one.name != name) {
                    self.names.entries[element as usize].defaults |= !cdata || value.is_some();
                    list.push(Attribute { name, cdata, value });
                }
            }
        }
        self.keep_declaration(size, at)?;
        for text in texts {
            let flags = if fields_value(&text) { DEFAULTED } else { 0 };
            self.emit_bytes(
                out,
                Record { kind: Kind::AttributeDecl, flags, ..Record::default() },
                &text,
            );
        }
        *pos = c.at + 1;
        Ok(())
    }

    /// [54] AttType.
    fn attribute_type(&mut self, c: &mut Cursor<'_, '_>) -> Step<Vec<u8>> {
        let rule = Rule::AttlistDecl;
        const WORDS: [&[u8]; 8] =
            [b"CDATA", b"IDREFS", b"IDREF", b"ID", b"ENTITY", b"ENTITIES", b"NMTOKENS", b"NMTOKEN"];
        for word in WORDS {
            if c.word(word)? {
                return Ok(word.to_vec());
            }
        }
        let mut text = vec![];
        let notation = c.word(b"NOTATION")?;
        if notation {
            text.extend(b"NOTATION");
            c.need_space()?;
        }
        c.eat(b'(', rule)?;
        text.push(b'(');
        loop {
            c.space()?;
            if notation {
                text.extend(self.declared_ncname(c)?);
            } else {
                text.extend(c.nmtoken()?);
            }
            c.space()?;
            let byte = c.peek()?;
            if byte != b'|' && byte != b')' {
                return c.wrong(rule);
            }
            c.at += 1;
            text.push(byte);
            if byte == b')' {
                return Ok(text);
            }
        }
    }

    /// [70] EntityDecl.
    fn entity_decl(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let mut c = Cursor { w, at: *pos + 8 };
        c.need_space()?;
        let parameter = c.peek()? == b'%' && is_space(w.get(c.at + 1)?);
        if parameter {
            c.at += 1;
            c.need_space()?;
        }
        let name = self.declared_ncname(&mut c)?;
        c.need_space()?;
        let (mut text, mut outside, mut notation) = (None, None, None);
        if matches!(c.peek()?, b'"' | b'\'') {
            let (raw, from) = c.literal(Rule::EntityValue)?;
            text = self.entity_value(raw, from, !w.entity)?;
            c.space()?;
        } else {
            let Some(external) = c.external(false)? else { return c.wrong(Rule::EntityDecl) };
            outside = Some(external);
            let space = c.space()?;
            if c.peek()? != b'>' && !parameter {
                if !c.word(b"NDATA")? {
                    return c.wrong(Rule::EntityDecl);
                }
                if !space {
                    return fail(Rule::Space, c.at - 5);
                }
                c.need_space()?;
                let name = self.declared_ncname(&mut c)?;
                notation = Some(name);
                c.space()?;
            }
        }
        c.eat(b'>', Rule::EntityDecl)?;
        let record = pack(&[
            if parameter { b"%" } else { b"" },
            name,
            text.as_deref().unwrap_or(b""),
            outside.as_ref().and_then(|it| it.public.as_deref()).unwrap_or(b""),
            outside.as_ref().and_then(|it| it.system.as_deref()).unwrap_or(b""),
            notation.unwrap_or(b""),
        ]);
        let flags = if outside.is_none() { DEFAULTED } else { 0 };
        self.keep_declaration(record.len(), *pos)?;
        if !self.dtd.unread {
            let id = self.names.string(name);
            let entity = Entity {
                text: text.map(Into::into),
                outside: outside.filter(|_| notation.is_none()).map(|id| Outside {
                    id,
                    declared_in: self.dtd.base.clone(),
                    state: Asked::Not,
                }),
                unparsed: notation.is_some(),
                in_parameter: w.entity,
                open: false,
            };
            let known = if parameter { &mut self.dtd.parameters } else { &mut self.dtd.general };
            // The first declaration counts.
            known.entry(id).or_insert(entity);
        }
        self.emit_bytes(
            out,
            Record { kind: Kind::EntityDecl, flags, ..Record::default() },
            &record,
        );
        *pos = c.at;
        Ok(())
    }

    /// [82] NotationDecl.
    fn notation_decl(&mut self, w: &Window<'_>, pos: &mut usize, out: &mut Output<'_>) -> Step<()> {
        let mut c = Cursor { w, at: *pos + 10 };
        c.need_space()?;
        let name = self.declared_ncname(&mut c)?;
        c.need_space()?;
        let Some(external) = c.external(true)? else { return c.wrong(Rule::NotationDecl) };
        c.space()?;
        c.eat(b'>', Rule::NotationDecl)?;
        let text = pack(&[
            name,
            &external.public.unwrap_or_default(),
            &external.system.unwrap_or_default(),
        ]);
        self.emit_bytes(out, Record { kind: Kind::NotationDecl, ..Record::default() }, &text);
        *pos = c.at;
        Ok(())
    }
}

/// Whether the attribute of the packed declaration has a value.
fn fields_value(text: &[u8]) -> bool {
    let word = crate::record::fields(text)[3];
    word != b"#REQUIRED" && word != b"#IMPLIED"
}
