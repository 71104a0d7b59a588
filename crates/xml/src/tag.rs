//! Start-tags, end-tags, attributes and namespaces.

use crate::chars::is_space;
use crate::error::Rule;
use crate::kernel::{Index, NAME, VALUE};
use crate::names::{
    PLAIN, PREFIXED, XML_PREFIX, XML_URI, XMLNS, XMLNS_PREFIX, XMLNS_STRING, XMLNS_URI,
};
use crate::parser::{Halt, Open, Parser, State, Step, Window, fail};
use crate::record::{DEFAULTED, EMPTY, IN_BYTES, Kind, Output, Record};

fn at<T>(result: Result<T, (Rule, usize)>) -> Step<T> {
    result.map_err(|(rule, at)| Halt::Fail(rule, at))
}

impl Parser {
    /// [40] STag, [44] EmptyElemTag.
    #[inline(always)]
    pub(crate) fn start_tag(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let bytes = w.bytes;
        let from = *pos + 1;
        let mut end = index.next::<NAME>(from);
        if end >= bytes.len() {
            return self.unfinished_name(w, from);
        }
        if end == from {
            return fail(Rule::Content, from);
        }
        let qname = at(self.names.intern(bytes, from, end))?;
        self.attributes.clear();
        self.scratch.clear();
        self.tag = self.tag.wrapping_add(1).max(1);
        let tag = self.tag;
        let mut special = false;
        let mut byte = bytes[end];
        let empty = loop {
            if byte == b'>' {
                break false;
            }
            let name = skip_space(w, end)?;
            match bytes[name] {
                b'>' => {
                    end = name;
                    break false;
                }
                b'/' => {
                    end = name + 1;
                    match w.get(end)? {
                        b'>' => break true,
                        _ => return fail(Rule::StartTag, end),
                    }
                }
                _ if name == end => return fail(Rule::StartTag, end),
                _ => {}
            }
            let name_end = index.next::<NAME>(name);
            if name_end >= bytes.len() {
                return self.unfinished_name(w, name);
            }
            if name_end == name {
                return fail(Rule::StartTag, name);
            }
            let attribute = at(self.names.intern(bytes, name, name_end))?;
            let mut quote = name_end;
            if bytes[quote] != b'=' {
                quote = skip_space(w, quote)?;
                if bytes[quote] != b'=' {
                    return fail(Rule::Attribute, quote);
                }
            }
            quote += 1;
            let mut mark = w.get(quote)?;
            if mark != b'"' && mark != b'\'' {
                quote = skip_space(w, quote)?;
                mark = bytes[quote];
                if mark != b'"' && mark != b'\'' {
                    return fail(Rule::AttValue, quote);
                }
            }
            let entry = &mut self.names.entries[attribute as usize];
            if entry.stamp == tag {
                return fail(Rule::UniqueAttSpec, name);
            }
            special |= entry.class != PLAIN;
            entry.stamp = tag;
            let mut record = Record {
                kind: Kind::Attribute,
                name: attribute,
                offset: (quote + 1) as u32,
                ..Record::default()
            };
            end = index.next::<VALUE>(quote + 1);
            if end < bytes.len() && bytes[end] == mark {
                record.len = (end - quote - 1) as u32;
            } else {
                end = self.value(w, index, quote + 1, mark, &mut record)?;
            }
            self.attributes.push(record);
            end += 1;
            byte = w.get(end)?;
        };
        if self.attributes.len() > self.limits.attributes as usize {
            return fail(Rule::LimitAttributes, *pos);
        }
        if self.open.len() >= self.limits.depth as usize {
            return fail(Rule::LimitDepth, *pos);
        }
        let attlist = self.names.entries[qname as usize].attlist;
        if attlist != 0 {
            special |= self.defaults(w, attlist - 1, *pos)?;
        }
        let bindings = self.bindings.len() as u32;
        let mut name = 0;
        if !self.namespaces {
            name = self.names.resolve(qname, 0);
            for record in &mut self.attributes {
                record.name = self.names.plain(record.name);
            }
        } else {
            let resolved = self.resolve_tag(w, qname, special);
            match resolved {
                Ok(it) => name = it,
                Err(rule) => {
                    // Nothing of the tag remains.
                    self.unbind(bindings);
                    fail(rule, *pos)?;
                }
            }
        }
        let place = w.place(*pos) as u32;
        let declared = self.bindings.len() as u32 - bindings;
        let start = Record {
            kind: Kind::StartElement,
            flags: if empty { EMPTY } else { 0 },
            count: self.attributes.len() as u16,
            name,
            offset: place,
            len: 0,
        };
        if self.attributes.is_empty() {
            self.emit(out, start);
        } else {
            self.emit_tag(w, start, out);
        }
        if empty {
            self.unbind(bindings);
            let count = declared.min(65_535) as u16;
            let end = Record { kind: Kind::EndElement, flags: EMPTY, count, ..start };
            self.emit(out, end);
            if self.open.is_empty() {
                self.state = State::Epilog;
            }
        } else {
            self.open.push(Open { qname, name, bindings });
            self.state = State::Content;
        }
        *pos = end + 1;
        Ok(())
    }

    /// The window ends in a name: what it has of it may be wrong already.
    #[cold]
    fn unfinished_name(&self, w: &Window<'_>, from: usize) -> Step<()> {
        let name = &w.bytes[from.min(w.bytes.len())..];
        if name.len() > self.limits.name as usize {
            return fail(Rule::LimitName, from);
        }
        let fault = crate::chars::name_fault(name);
        if w.end.is_some() && fault < name.len() {
            return fail(Rule::Name, from + fault);
        }
        Err(Halt::More)
    }

    fn emit_tag(&mut self, w: &Window<'_>, start: Record, out: &mut Output<'_>) {
        let attributes = std::mem::take(&mut self.attributes);
        if !w.copy && self.fits(out, 1 + attributes.len()) {
            out.push(start);
            let shift = if self.scratch.is_empty() {
                0
            } else {
                let shift = out.bytes.len() as u32;
                out.bytes.extend(&self.scratch);
                shift
            };
            for &record in &attributes {
                let by = if record.flags & IN_BYTES != 0 { shift } else { w.base as u32 };
                out.push(Record { offset: record.offset + by, ..record });
            }
        } else {
            self.emit(out, start);
            let scratch = std::mem::take(&mut self.scratch);
            for &record in &attributes {
                let from = record.offset as usize;
                if record.flags & IN_BYTES != 0 {
                    self.emit_bytes(out, record, &scratch[from..from + record.len as usize]);
                } else {
                    self.emit_text(out, record, w, from, from + record.len as usize);
                }
            }
            self.scratch = scratch;
        }
        self.attributes = attributes;
    }

    /// A value with something in it that is to be changed, or with the other quote. Returns where it ends.
    fn value(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        from: usize,
        mark: u8,
        record: &mut Record,
    ) -> Step<usize> {
        let mut end = from;
        let mut plain = true;
        let stop = loop {
            end = index.next::<VALUE>(end).min(w.bytes.len());
            match w.bytes.get(end) {
                None => break None,
                Some(&byte) if byte == mark => break Some(byte),
                Some(b'<') => break Some(b'<'),
                Some(b'"' | b'\'') => {}
                Some(_) => plain = false,
            }
            end += 1;
        };
        if stop.is_none() && w.end.is_none() {
            return Err(Halt::More);
        }
        if !plain {
            let mut scratch = std::mem::take(&mut self.scratch);
            let start = scratch.len();
            let done = self.normalise(&w.bytes[from..end], from, !w.entity, &mut scratch);
            record.flags |= IN_BYTES;
            record.offset = start as u32;
            record.len = (scratch.len() - start) as u32;
            self.scratch = scratch;
            done?;
        } else {
            record.len = (end - from) as u32;
        }
        match stop {
            None => Err(Halt::More),
            Some(b'<') => fail(Rule::NoLessThanInAttributes, end),
            Some(_) => Ok(end),
        }
    }

    /// [3.3.2] and [3.3.3]: attributes that the DTD adds, and white space of those whose type is not CDATA. Returns whether
    /// one of those added has a prefix.
    #[cold]
    fn defaults(&mut self, w: &Window<'_>, list: u32, pos: usize) -> Step<bool> {
        let mut special = false;
        let dtd = std::mem::take(&mut self.dtd);
        for one in dtd.attlist(list) {
            let entry = &self.names.entries[one.name as usize];
            let class = entry.class;
            let present = entry.stamp == self.tag;
            let mut record = Record { kind: Kind::Attribute, name: one.name, ..Record::default() };
            if present {
                if one.cdata {
                    continue;
                }
                let same = |it: &Record| it.name == one.name;
                let Some(n) = self.attributes.iter().position(same) else { continue };
                let old = self.attributes[n];
                let range = old.offset as usize..(old.offset + old.len) as usize;
                let from = if old.flags & IN_BYTES != 0 { &self.scratch } else { w.bytes };
                let value = collapse(&from[range.clone()]);
                if value == from[range] {
                    continue;
                }
                record = old;
                self.place_value(&mut record, &value);
                self.attributes[n] = record;
            } else if let Some(value) = &one.value {
                record.flags = DEFAULTED;
                self.place_value(&mut record, value);
                self.names.entries[one.name as usize].stamp = self.tag;
                self.attributes.push(record);
                special |= class != PLAIN;
            }
        }
        self.dtd = dtd;
        if self.attributes.len() > self.limits.attributes as usize {
            return fail(Rule::LimitAttributes, pos);
        }
        Ok(special)
    }

    fn place_value(&mut self, record: &mut Record, value: &[u8]) {
        record.flags |= IN_BYTES;
        record.offset = self.scratch.len() as u32;
        record.len = value.len() as u32;
        self.scratch.extend(value);
    }

    /// The names of a tag in their namespaces. `special`: some attribute has a prefix or declares one.
    #[inline(always)]
    fn resolve_tag(&mut self, w: &Window<'_>, qname: u32, special: bool) -> Result<u32, Rule> {
        if special {
            self.resolve_attributes(w)?;
        } else {
            for record in &mut self.attributes {
                record.name = self.names.plain(record.name);
            }
        }
        let entry = &self.names.entries[qname as usize];
        let prefix = entry.prefix;
        let uri = self.names.entries[prefix as usize].binding;
        if prefix != 0 && (uri == 0 || prefix == XMLNS_STRING) {
            let declared = prefix == XMLNS_STRING;
            return Err(if declared { Rule::NsReserved } else { Rule::NsPrefixDeclared });
        }
        Ok(self.names.resolve(qname, uri))
    }

    fn resolve_attributes(&mut self, w: &Window<'_>) -> Result<(), Rule> {
        for n in 0..self.attributes.len() {
            let record = self.attributes[n];
            let entry = &self.names.entries[record.name as usize];
            let prefix = match entry.class {
                XMLNS => 0,
                XMLNS_PREFIX => entry.local,
                _ => continue,
            };
            let range = record.offset as usize..(record.offset + record.len) as usize;
            let from = if record.flags & IN_BYTES != 0 { &self.scratch } else { w.bytes };
            let uri = self.names.string(&from[range]);
            if prefix == XMLNS_STRING
                || uri == XMLNS_URI
                || (prefix == XML_PREFIX) != (uri == XML_URI)
            {
                return Err(Rule::NsReserved);
            }
            if uri == 0 && prefix != 0 {
                return Err(Rule::NsNoPrefixUndeclaring);
            }
            let binding = &mut self.names.entries[prefix as usize].binding;
            self.bindings.push((prefix, *binding));
            *binding = uri;
            self.attributes[n] = Record { kind: Kind::Namespace, name: prefix, ..record };
        }
        for n in 0..self.attributes.len() {
            let record = self.attributes[n];
            if record.kind == Kind::Namespace {
                continue;
            }
            let entry = &self.names.entries[record.name as usize];
            let name = if entry.class == PREFIXED {
                let uri = self.names.entries[entry.prefix as usize].binding;
                if uri == 0 {
                    return Err(Rule::NsPrefixDeclared);
                }
                let name = self.names.resolve(record.name, uri);
                let expanded = self.names.name(name).map_or(0, |name| name.expanded) as usize;
                if self.names.stamps[expanded] == self.tag {
                    return Err(Rule::NsAttributesUnique);
                }
                self.names.stamps[expanded] = self.tag;
                name
            } else {
                self.names.plain(record.name)
            };
            self.attributes[n].name = name;
        }
        Ok(())
    }

    /// Ends the bindings behind the first `to`.
    #[inline(always)]
    fn unbind(&mut self, to: u32) {
        while self.bindings.len() > to as usize {
            if let Some((prefix, before)) = self.bindings.pop() {
                self.names.entries[prefix as usize].binding = before;
            }
        }
    }

    /// [42] ETag.
    #[inline(always)]
    pub(crate) fn end_tag(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let bytes = w.bytes;
        let from = *pos + 2;
        let least = self.frames.last().map_or(0, |frame| frame.depth);
        if self.open.len() <= least {
            return fail(Rule::EntityBalance, *pos);
        }
        let Some(&open) = self.open.last() else { return fail(Rule::ElementTypeMatch, *pos) };
        let end = from + self.names.len(open.qname);
        if end >= bytes.len() || !self.names.is(open.qname, bytes, from, end) {
            return self.other_end(w, from, open.qname);
        }
        let mut close = end;
        if bytes[close] != b'>' {
            close = skip_space(w, end)?;
            if bytes[close] != b'>' {
                let rule = if close == end { Rule::ElementTypeMatch } else { Rule::EndTag };
                return match close == end {
                    true => self.other_end(w, from, open.qname),
                    false => fail(rule, close),
                };
            }
        }
        self.open.pop();
        let declared = (self.bindings.len() - open.bindings as usize).min(65_535);
        self.unbind(open.bindings);
        self.emit(
            out,
            Record {
                kind: Kind::EndElement,
                flags: 0,
                count: declared as u16,
                name: open.name,
                offset: w.place(*pos) as u32,
                len: 0,
            },
        );
        *pos = close + 1;
        if self.open.is_empty() && self.frames.is_empty() {
            self.state = State::Epilog;
        }
        Ok(())
    }

    /// An end-tag that is not that of the open element, or not there as a whole.
    #[cold]
    fn other_end(&self, w: &Window<'_>, from: usize, qname: u32) -> Step<()> {
        let rest = w.bytes.get(from..).unwrap_or(&[]);
        let len = rest.iter().position(|&byte| byte < 128 && !crate::chars::ascii_name(byte));
        match len {
            None if w.end.is_none() => Err(Halt::More),
            None if self.names.bytes(qname).starts_with(rest) => Err(Halt::More),
            Some(len) if !crate::chars::is_name(&rest[..len]) => {
                fail(Rule::Name, from + crate::chars::name_fault(&rest[..len]))
            }
            Some(len) if &rest[..len] == self.names.bytes(qname) => fail(Rule::EndTag, from + len),
            _ => fail(Rule::ElementTypeMatch, from),
        }
    }
}

/// The first byte from `from` on that is no white space.
#[inline(always)]
fn skip_space(w: &Window<'_>, mut from: usize) -> Step<usize> {
    while is_space(w.get(from)?) {
        from += 1;
    }
    Ok(from)
}

/// [3.3.3] for types other than CDATA: spaces at the ends go, series of them become one.
pub(crate) fn collapse(value: &[u8]) -> Vec<u8> {
    let words = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}
