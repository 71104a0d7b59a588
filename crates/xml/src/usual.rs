//! The usual content: text with the five references of every document, tags, attributes.
//!
//! This walk does what `content` and `tag` do, as long as nothing else is needed: whatever it does not know it leaves to them,
//! with no trace of the token. Few values are alive at a time, so that they stay in registers.

use crate::chars::is_space;
use crate::content::common;
use crate::kernel::{Index, NAME, TEXT, VALUE};
use crate::names::{NONE, XMLNS_STRING};
use crate::parser::{Open, Parser, State, Window};
use crate::record::{EMPTY, IN_BYTES, Kind, Record};
use crate::tag::Value;

/// What follows the name in a start-tag.
struct Attributes {
    /// Where its `>` is.
    end: usize,
    count: usize,
    empty: bool,
    /// Some attribute has a prefix, declares one, has no name in the output yet, or a value that is not as in the document.
    unusual: bool,
}

impl Parser {
    /// Walks from `pos` on in a window of the caller's chunk, outside of entities. Returns the reached byte and how many of
    /// `records` are filled. The state is another one if the root element has ended.
    #[inline(never)]
    pub(crate) fn usual(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        mut pos: usize,
        records: &mut [Record],
        texts: &mut Vec<u8>,
    ) -> (usize, usize) {
        let bytes = w.bytes;
        let (base, place) = (w.base as u32, w.at as u32);
        let mut filled = 0;
        // A text, a start and an end.
        while filled + 3 <= records.len() {
            let stop = index.next::<TEXT>(pos);
            let Some(&[first, second]) = bytes.get(stop..).and_then(|rest| rest.first_chunk())
            else {
                break;
            };
            if first != b'<' && (self.joins || first == b'>') {
                break;
            }
            // Written in any case, so that no branch depends on it.
            records[filled] = Record {
                kind: Kind::Text,
                flags: 0,
                count: 0,
                name: place.wrapping_add(pos as u32),
                offset: base.wrapping_add(pos as u32),
                len: (stop - pos) as u32,
            };
            filled += usize::from(stop > pos);
            pos = stop;
            if first == b'\r' {
                if second != b'\n' {
                    break;
                }
                pos += 1;
                continue;
            }
            if first == b'&' {
                let Some((byte, len)) = common(&bytes[pos..]) else { break };
                records[filled] = Record {
                    kind: Kind::Text,
                    flags: IN_BYTES,
                    count: 0,
                    name: place.wrapping_add(pos as u32),
                    offset: texts.len() as u32,
                    len: 1,
                };
                filled += 1;
                texts.push(byte);
                pos += len;
                continue;
            }
            if second == b'/' {
                let Some(&open) = self.open.last() else { break };
                let Some(end) = self.names.ends(open.qname, bytes, pos + 2) else { break };
                self.open.pop();
                let declared = (self.bindings.len() - open.bindings as usize).min(65_535);
                self.unbind(open.bindings);
                records[filled] = Record {
                    kind: Kind::EndElement,
                    flags: 0,
                    count: declared as u16,
                    name: open.name,
                    offset: place.wrapping_add(pos as u32),
                    len: 0,
                };
                filled += 1;
                pos = end + 1;
                if self.open.is_empty() {
                    self.state = State::Epilog;
                    break;
                }
                continue;
            }
            let at = index.next::<NAME>(pos + 1);
            if at == pos + 1 || at >= bytes.len() {
                break;
            }
            let Some(qname) = self.names.known(bytes, pos + 1, at) else { break };
            if self.names.entries[qname as usize].defaults {
                break;
            }
            let list = filled + 1;
            let mut tag = Attributes { end: at, count: 0, empty: false, unusual: false };
            if bytes[at] != b'>' {
                // With room for the end of an empty element.
                let room = records.len() - 1;
                let Some(read) = self.attributes(w, index, at, &mut records[list..room]) else {
                    break;
                };
                tag = read;
            }
            let bindings = self.bindings.len() as u32;
            if tag.unusual && !self.unusual(w, &mut records[list..list + tag.count], texts) {
                break;
            }
            let entry = &self.names.entries[qname as usize];
            let uri = self.names.entries[entry.prefix as usize].binding;
            if entry.prefix != 0 && (uri == 0 || entry.prefix == XMLNS_STRING) {
                self.unbind(bindings);
                break;
            }
            let name = self.names.resolve(qname, uri);
            if self.open.len() >= self.limits.depth as usize {
                self.unbind(bindings);
                break;
            }
            let offset = place.wrapping_add(pos as u32);
            records[filled] = Record {
                kind: Kind::StartElement,
                flags: if tag.empty { EMPTY } else { 0 },
                count: tag.count as u16,
                name,
                offset,
                len: 0,
            };
            filled = list + tag.count;
            pos = tag.end + 1;
            if !tag.empty {
                self.open.push(Open { qname, name, bindings });
                continue;
            }
            let declared = self.bindings.len() as u32 - bindings;
            self.unbind(bindings);
            records[filled] = Record {
                kind: Kind::EndElement,
                flags: EMPTY,
                count: declared as u16,
                name,
                offset,
                len: 0,
            };
            filled += 1;
            if self.open.is_empty() {
                self.state = State::Epilog;
                break;
            }
        }
        (pos, filled)
    }

    /// The attributes of a tag whose name ends at `at`; nothing if something is wrong or unknown, or does not fit.
    #[inline(always)]
    fn attributes(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        mut at: usize,
        list: &mut [Record],
    ) -> Option<Attributes> {
        let bytes = w.bytes;
        let base = w.base as u32;
        let stamp = self.tag.wrapping_add(1).max(1);
        self.tag = stamp;
        self.scratch.clear();
        let mut tag = Attributes { end: at, count: 0, empty: false, unusual: false };
        loop {
            let byte = *bytes.get(at)?;
            if byte == b'>' {
                tag.end = at;
                break;
            }
            if byte == b'/' {
                tag.empty = true;
                tag.end = at + 1;
                match bytes.get(at + 1) {
                    Some(b'>') => break,
                    _ => return None,
                }
            }
            if !is_space(byte) {
                return None;
            }
            let mut name = at + 1;
            let mut end = index.next::<NAME>(name);
            if end == name {
                while is_space(*bytes.get(name)?) {
                    name += 1;
                }
                if matches!(bytes[name], b'>' | b'/') {
                    at = name;
                    continue;
                }
                end = index.next::<NAME>(name);
                if end == name {
                    return None;
                }
            }
            let from = end + 2;
            let &[equals, mark] = bytes.get(end..)?.first_chunk()?;
            let attribute = self.names.known(bytes, name, end)?;
            if equals != b'=' || mark != b'"' && mark != b'\'' {
                return None;
            }
            let entry = &mut self.names.entries[attribute as usize];
            if entry.stamp == stamp {
                return None;
            }
            entry.stamp = stamp;
            let (mut name, mut class) = (entry.plain_name, 0);
            if name == NONE {
                (name, class) = (attribute, entry.class);
                tag.unusual = true;
            }
            let end = index.next::<VALUE>(from);
            let (offset, len) = (base.wrapping_add(from as u32), (end - from) as u32);
            let mut value = Value { end, flags: 0, offset, len };
            if *bytes.get(end)? != mark {
                value = self.value(w, index, from, mark, base).ok()?;
                tag.unusual |= value.flags != 0;
            }
            let Value { end, flags, offset, len } = value;
            *list.get_mut(tag.count)? =
                Record { kind: Kind::Attribute, flags, count: class.into(), name, offset, len };
            tag.count += 1;
            at = end + 1;
        }
        (tag.count <= self.limits.attributes as usize).then_some(tag)
    }

    /// Resolves the names of attributes, and puts the values that were changed in their place. False: something is wrong.
    #[inline(never)]
    fn unusual(&mut self, w: &Window<'_>, list: &mut [Record], texts: &mut Vec<u8>) -> bool {
        let bindings = self.bindings.len() as u32;
        if self.resolve_attributes(w, w.base as u32, list).is_err() {
            self.unbind(bindings);
            return false;
        }
        let shift = texts.len() as u32;
        let mut moved = false;
        for record in list.iter_mut().filter(|record| record.flags & IN_BYTES != 0) {
            record.offset += shift;
            moved = true;
        }
        if moved {
            texts.extend(&self.scratch);
        }
        true
    }
}
