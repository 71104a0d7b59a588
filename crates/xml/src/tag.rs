//! Start-tags, end-tags, attributes and namespaces.

use crate::Rule;
use crate::chars::is_space;
use crate::kernel::{Index, NAME, VALUE};
use crate::names::{
    NONE, PREFIXED, XML_PREFIX, XML_URI, XMLNS, XMLNS_PREFIX, XMLNS_STRING, XMLNS_URI,
};
use crate::parser::{Halt, Open, Parser, State, Step, Window, fail};
use crate::record::{DEFAULTED, EMPTY, IN_BYTES, Kind, Output, Record};

fn at<T>(result: Result<T, (Rule, usize)>) -> Step<T> {
    result.map_err(|(rule, at)| Halt::Fail(rule, at))
}

/// A start-tag as it was read, without its attributes.
struct Tag {
    qname: u32,
    /// Behind its last byte.
    end: usize,
    empty: bool,
    attributes: usize,
    /// Some attribute has a prefix, declares one, or has no name in the output yet.
    special: bool,
}

/// The value of an attribute.
pub(crate) struct Value {
    /// Where its closing quote is.
    pub(crate) end: usize,
    pub(crate) flags: u8,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

impl Parser {
    /// [40] STag, [44] EmptyElemTag. Its attributes are collected before they go to the output.
    #[inline(never)]
    pub(crate) fn start_tag(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let mut attributes = std::mem::take(&mut self.attributes);
        let done = self.start_tag_in(w, index, pos, out, &mut attributes);
        self.attributes = attributes;
        done
    }

    fn start_tag_in(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: &mut usize,
        out: &mut Output<'_>,
        list: &mut Vec<Record>,
    ) -> Step<()> {
        let mut tag = loop {
            match self.read_tag(w, index, *pos, list)? {
                Some(tag) => break tag,
                None => list.resize(list.len() * 2 + 16, Record::default()),
            }
        };
        if self.names.entries[tag.qname as usize].defaults {
            list.truncate(tag.attributes);
            tag.special |= self.defaults(w, list, tag.qname, *pos)?;
            tag.attributes = list.len();
        }
        let list = &mut list[..tag.attributes];
        let bindings = self.bindings.len() as u32;
        let name = self.resolve_tag(w, *pos, &tag, list)?;
        self.emit(out, start_record(w, *pos, &tag, name));
        let scratch = std::mem::take(&mut self.scratch);
        for &mut record in list {
            let from = record.offset as usize;
            if record.flags & IN_BYTES != 0 {
                self.emit_bytes(out, record, &scratch[from..from + record.len as usize]);
            } else {
                self.emit_text(out, record, w, from, from + record.len as usize);
            }
        }
        self.scratch = scratch;
        self.opened(w, pos, &tag, name, bindings, out);
        Ok(())
    }

    /// Reads a start-tag and its attributes into `list`; nothing if they do not fit. Attributes that wait for their name in the
    /// output have their class as `count`.
    fn read_tag(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        pos: usize,
        list: &mut [Record],
    ) -> Step<Option<Tag>> {
        let bytes = w.bytes;
        let from = pos + 1;
        let mut end = index.next::<NAME>(from);
        if end >= bytes.len() {
            return self.unfinished_name(w, from);
        }
        if end == from {
            return fail(Rule::Content, from);
        }
        let qname = at(self.names.intern(bytes, from, end))?;
        self.scratch.clear();
        self.tag = self.tag.wrapping_add(1).max(1);
        let tag = self.tag;
        let later = self.names.entries[qname as usize].defaults;
        let (mut attributes, mut special) = (0, later);
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
            entry.stamp = tag;
            let (mut written, mut class) = (entry.plain_name, 0);
            if later || written == NONE {
                (written, class) = (attribute, entry.class);
                special = true;
            }
            end = index.next::<VALUE>(quote + 1);
            let value = if end < bytes.len() && bytes[end] == mark {
                let (offset, len) = ((quote + 1) as u32, (end - quote - 1) as u32);
                Value { end, flags: 0, offset, len }
            } else {
                self.value(w, index, quote + 1, mark, 0)?
            };
            let Some(place) = list.get_mut(attributes) else { return Ok(None) };
            *place = Record {
                kind: Kind::Attribute,
                flags: value.flags,
                count: class.into(),
                name: written,
                offset: value.offset,
                len: value.len,
            };
            attributes += 1;
            end = value.end + 1;
            byte = w.get(end)?;
        };
        if attributes > self.limits.attributes as usize {
            return fail(Rule::LimitAttributes, pos);
        }
        if self.open.len() >= self.limits.depth as usize {
            return fail(Rule::LimitDepth, pos);
        }
        Ok(Some(Tag { qname, end: end + 1, empty, attributes, special }))
    }

    /// The start-tag is in the output: what follows from it.
    fn opened(
        &mut self,
        w: &Window<'_>,
        pos: &mut usize,
        tag: &Tag,
        name: u32,
        bindings: u32,
        out: &mut Output<'_>,
    ) {
        if tag.empty {
            let declared = self.bindings.len() as u32 - bindings;
            self.unbind(bindings);
            let end = Record {
                kind: Kind::EndElement,
                flags: EMPTY,
                count: declared.min(65_535) as u16,
                name,
                offset: w.place(*pos) as u32,
                len: 0,
            };
            self.emit(out, end);
            if self.open.is_empty() {
                self.state = State::Epilog;
            }
        } else {
            self.open.push(Open { qname: tag.qname, name, bindings });
            self.state = State::Content;
        }
        *pos = tag.end;
    }

    /// The window ends in a name: what it has of it may be wrong already.
    #[cold]
    fn unfinished_name<T>(&self, w: &Window<'_>, from: usize) -> Step<T> {
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

    /// A value with something in it that is to be changed, or with the other quote.
    #[cold]
    pub(crate) fn value(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        from: usize,
        mark: u8,
        base: u32,
    ) -> Step<Value> {
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
        let mut value =
            Value { end, flags: 0, offset: from as u32 + base, len: (end - from) as u32 };
        if !plain {
            let mut scratch = std::mem::take(&mut self.scratch);
            let start = scratch.len();
            let done = self.normalise(&w.bytes[from..end], from, !w.entity, &mut scratch);
            value.flags = IN_BYTES;
            value.offset = start as u32;
            value.len = (scratch.len() - start) as u32;
            self.scratch = scratch;
            done?;
        }
        match stop {
            None => Err(Halt::More),
            Some(b'<') => fail(Rule::NoLessThanInAttributes, end),
            Some(_) => Ok(value),
        }
    }

    /// [3.3.2] and [3.3.3]: attributes that the DTD adds, and white space of those whose type is not CDATA. Returns whether
    /// one was added.
    fn defaults(
        &mut self,
        w: &Window<'_>,
        list: &mut Vec<Record>,
        qname: u32,
        pos: usize,
    ) -> Step<bool> {
        let mut special = false;
        let dtd = std::mem::take(&mut self.dtd);
        let declared = self.names.entries[qname as usize].attlist - 1;
        for one in dtd.attlist(declared) {
            let entry = &self.names.entries[one.name as usize];
            let class = entry.class.into();
            let present = entry.stamp == self.tag;
            if present {
                if one.cdata {
                    continue;
                }
                let same = |it: &&mut Record| it.name == one.name;
                let Some(record) = list.iter_mut().find(same) else { continue };
                let range = record.offset as usize..(record.offset + record.len) as usize;
                let from = if record.flags & IN_BYTES != 0 { &self.scratch } else { w.bytes };
                let value = &from[range];
                if !value.contains(&b' ') {
                    continue;
                }
                let collapsed = collapse(value);
                if collapsed != value {
                    self.place_value(record, &collapsed);
                }
            } else if let Some(value) = &one.value {
                let (kind, flags) = (Kind::Attribute, DEFAULTED);
                let mut record =
                    Record { kind, flags, count: class, name: one.name, ..Record::default() };
                self.place_value(&mut record, value);
                self.names.entries[one.name as usize].stamp = self.tag;
                list.push(record);
                special = true;
            }
        }
        self.dtd = dtd;
        if list.len() > self.limits.attributes as usize {
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

    /// The names of a tag in their namespaces: its attributes get theirs, the element's is returned.
    fn resolve_tag(
        &mut self,
        w: &Window<'_>,
        pos: usize,
        tag: &Tag,
        list: &mut [Record],
    ) -> Step<u32> {
        if tag.special {
            let bindings = self.bindings.len() as u32;
            let done = self.resolve_attributes(w, 0, list);
            if let Err(rule) = done.and_then(|()| self.prefix_declared(tag.qname)) {
                // Nothing of the tag remains.
                self.unbind(bindings);
                return fail(rule, pos);
            }
        } else if let Err(rule) = self.prefix_declared(tag.qname) {
            return fail(rule, pos);
        }
        let prefix = self.names.entries[tag.qname as usize].prefix;
        let uri = self.names.entries[prefix as usize].binding;
        Ok(self.names.resolve(tag.qname, uri))
    }

    fn prefix_declared(&self, qname: u32) -> Result<(), Rule> {
        let prefix = self.names.entries[qname as usize].prefix;
        if prefix == 0 {
            return Ok(());
        }
        match self.names.entries[prefix as usize].binding {
            _ if prefix == XMLNS_STRING => Err(Rule::NsReserved),
            0 => Err(Rule::NsPrefixDeclared),
            _ => Ok(()),
        }
    }

    pub(crate) fn resolve_attributes(
        &mut self,
        w: &Window<'_>,
        base: u32,
        list: &mut [Record],
    ) -> Result<(), Rule> {
        let mut others = false;
        for record in list.iter_mut().filter(|record| record.count != 0) {
            let prefix = match record.count as u8 {
                XMLNS => 0,
                XMLNS_PREFIX => self.names.entries[record.name as usize].local,
                _ => {
                    others = true;
                    continue;
                }
            };
            let in_bytes = record.flags & IN_BYTES != 0;
            let (text, base) = if in_bytes { (&self.scratch[..], 0) } else { (w.bytes, base) };
            let from = (record.offset - base) as usize;
            let uri = self.names.string(&text[from..from + record.len as usize]);
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
            (record.kind, record.count, record.name) = (Kind::Namespace, 0, prefix);
        }
        if !others {
            return Ok(());
        }
        for record in list.iter_mut().filter(|record| record.count != 0) {
            let name = if record.count == PREFIXED.into() {
                let entry = &self.names.entries[record.name as usize];
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
                // The prefix `xml` is bound to nothing else, and nothing else to what it is bound to: the name is known
                // before the tag's bindings are, and no other one is the same.
                let entry = &mut self.names.entries[record.name as usize];
                if entry.prefix == XML_PREFIX {
                    entry.plain_name = name;
                }
                name
            } else {
                self.names.plain(record.name)
            };
            (record.count, record.name) = (0, name);
        }
        Ok(())
    }

    /// Ends the bindings behind the first `to`.
    #[inline(always)]
    pub(crate) fn unbind(&mut self, to: u32) {
        while self.bindings.len() > to as usize {
            if let Some((prefix, before)) = self.bindings.pop() {
                self.names.entries[prefix as usize].binding = before;
            }
        }
    }

    /// [42] ETag.
    #[inline(never)]
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

fn start_record(w: &Window<'_>, pos: usize, tag: &Tag, name: u32) -> Record {
    Record {
        kind: Kind::StartElement,
        flags: if tag.empty { EMPTY } else { 0 },
        count: tag.attributes as u16,
        name,
        offset: w.place(pos) as u32,
        len: 0,
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
