//! Elements: their names in namespaces, and their attributes.

use std::ffi::c_int;
use std::ops::Range;

use crate::abi::*;
use crate::content::Done;
use crate::dtd::{DEFAULT, NONE};
use crate::parser::{Binding, P, Tag};
use crate::token::{Att, View};

/// Bytes of expanded names that are kept from element to element.
const EXPANDED: usize = 1 << 20;

impl P {
    #[inline(always)]
    pub(crate) fn start_tag(
        mut self,
        v: View<'_>,
        inner: bool,
        tag: Range<usize>,
        empty: bool,
        name_end: usize,
        spans: &[Att],
    ) -> Done {
        let bytes = v.bytes;
        let Range { start: at, end: next } = tag;
        let from = at + 1;
        let dtd = self.dtd();
        if dtd.names.expanded > EXPANDED {
            dtd.names.forget_expanded();
        }
        let (name, word) = dtd.names.intern_at(bytes, from, name_end);
        let bindings = self.bindings.len() as u32;
        if !empty {
            self.tags.push(Tag { name, word, len: (name_end - from) as u32, bindings });
        }
        let stored = self.store_atts(v, inner, name, spans).and_then(|()| self.expanded(name));
        if empty && stored.is_err() {
            self.unbind(bindings);
        }
        let expanded = stored?;
        let atts = self.atts.as_mut_ptr().cast();
        let mut none = true;
        if let Some(handler) = self.h.start_element {
            // SAFETY: the program's function; names and values stay until the next tag.
            unsafe { handler(self.arg, expanded, atts) };
            none = false;
        }
        if empty && let Some(handler) = self.h.end_element {
            if !none {
                self.event(inner, next);
            }
            // SAFETY: the program's function.
            unsafe { handler(self.arg, expanded) };
            none = false;
        }
        if none {
            self.default(inner, &bytes[at..next]);
        }
        if empty {
            self.unbind(bindings);
        }
        Ok(())
    }

    pub(crate) fn end_tag(
        self,
        v: View<'_>,
        inner: bool,
        at: usize,
        next: usize,
        level: usize,
    ) -> Done {
        if self.level() == level {
            return Err(ASYNC_ENTITY);
        }
        let Some(&tag) = self.tags.last() else { return Err(ASYNC_ENTITY) };
        let from = at + 2;
        let end = name_end(v.bytes, from);
        if self.dtd().names.entries[tag.name as usize].bytes() != &v.bytes[from..end] {
            self.event(inner, from);
            return Err(TAG_MISMATCH);
        }
        self.close(tag, v, inner, at, next)
    }

    /// The end of the end-tag of the innermost element at `at`, if it is nothing but its short name; the other ends are
    /// for `View::content`.
    #[inline(always)]
    pub(crate) fn matching_end(self, v: View<'_>, at: usize, level: usize) -> Option<(Tag, usize)> {
        let tag = *self.tags.last()?;
        let (from, end) = (at + 2, at + 2 + tag.len as usize);
        let same = tag.word != 0 && crate::dtd::word(v.bytes, from, end) == Some(tag.word);
        (same && v.bytes[end] == b'>' && self.level() != level).then_some((tag, end + 1))
    }

    /// Ends the innermost element, `tag`.
    #[inline(always)]
    pub(crate) fn close(
        mut self,
        tag: Tag,
        v: View<'_>,
        inner: bool,
        at: usize,
        next: usize,
    ) -> Done {
        self.tags.pop();
        if let Some(handler) = self.h.end_element {
            let expanded = self.expanded(tag.name)?;
            // SAFETY: the program's function.
            unsafe { handler(self.arg, expanded) };
        } else {
            self.default(inner, &v.bytes[at..next]);
        }
        self.unbind(tag.bindings);
        Ok(())
    }

    /// Ends the bindings behind the first `to`.
    #[inline(always)]
    fn unbind(mut self, to: u32) {
        while self.bindings.len() > to as usize {
            let binding = self.bindings.len() - 1;
            if let Some(handler) = self.h.end_namespace {
                let prefix = self.bindings[binding].prefix;
                // SAFETY: the program's function.
                unsafe { handler(self.arg, self.prefix_str(prefix)) };
            }
            if let Some(binding) = self.bindings.pop() {
                self.dtd().names.entries[binding.prefix as usize].binding = binding.before;
            }
        }
    }

    fn prefix_str(self, prefix: u32) -> Str {
        match prefix {
            DEFAULT => std::ptr::null(),
            prefix => self.dtd().names.entries[prefix as usize].str(),
        }
    }

    /// The name of an element as handlers get it.
    #[inline(always)]
    fn expanded(self, name: u32) -> Done<Str> {
        let names = &mut self.dtd().names;
        if !self.namespaces {
            return Ok(names.entries[name as usize].str());
        }
        let entry = &names.entries[name as usize];
        let binding = match entry.prefix {
            _ if entry.xmlns && entry.local == 0 && entry.prefix != DEFAULT => {
                return Err(UNBOUND_PREFIX);
            }
            DEFAULT => names.entries[DEFAULT as usize].binding,
            prefix => match names.entries[prefix as usize].binding {
                NONE => return Err(UNBOUND_PREFIX),
                binding => binding,
            },
        };
        if binding == NONE {
            return Ok(entry.str());
        }
        self.in_namespace(name, binding)
    }

    /// A name with the namespace of a binding before it.
    #[inline(always)]
    fn in_namespace(self, name: u32, binding: u32) -> Done<Str> {
        let binding = &self.bindings[binding as usize];
        if self.dtd().names.entries[name as usize].expanded.0 != binding.id {
            self.expand(name, binding)?;
        }
        Ok(self.dtd().names.entries[name as usize].expanded.1.as_ptr().cast())
    }

    #[cold]
    #[inline(never)]
    fn expand(self, name: u32, binding: &Binding) -> Done {
        let names = &mut self.dtd().names;
        let mut text = binding.uri.to_vec();
        let entry = &names.entries[name as usize];
        text.extend_from_slice(&entry.bytes()[entry.local as usize..]);
        if self.triplets && entry.prefix != DEFAULT {
            text.push(self.separator);
            text.extend_from_slice(names.entries[binding.prefix as usize].bytes());
        }
        text.push(0);
        let entry = &mut names.entries[name as usize];
        names.expanded = names.expanded + text.len() - entry.expanded.1.len();
        entry.expanded = (binding.id, text.into());
        let root = self.root();
        if root.memory.is_breached(names.expanded as u64, root.direct) {
            return Err(NO_MEMORY);
        }
        Ok(())
    }

    /// Fills `atts`.
    #[inline(always)]
    fn store_atts(mut self, v: View<'_>, inner: bool, element: u32, spans: &[Att]) -> Done {
        self.atts.clear();
        self.id_index = -1;
        self.specified = 0;
        let has_defaults = !self.dtd().names.entries[element as usize].defaults.is_empty();
        if !spans.is_empty() || has_defaults {
            self.store_some(v, inner, element, spans)?;
        }
        self.atts.push(std::ptr::null_mut());
        Ok(())
    }

    fn store_some(mut self, v: View<'_>, inner: bool, element: u32, spans: &[Att]) -> Done {
        self.stamp = self.stamp.wrapping_add(1).max(1);
        let stamp = self.stamp;
        self.places.clear();
        self.values.clear();
        self.keep.clear();
        let mut prefixed = false;
        for span in spans {
            let names = &mut self.dtd().names;
            let (name, _) = names.intern_at(v.bytes, span.name.0, span.name.1);
            let entry = &mut names.entries[name as usize];
            if entry.stamp == stamp {
                if !inner {
                    self.event(false, span.name.0);
                }
                return Err(DUPLICATE_ATTRIBUTE);
            }
            entry.stamp = stamp;
            let (xmlns, prefix, tokenized) = (entry.xmlns, entry.prefix, entry.tokenized);
            let mut cdata = true;
            if tokenized {
                let defaults = &names.entries[element as usize].defaults;
                cdata = defaults.iter().find(|one| one.name == name).is_none_or(|one| one.cdata);
            }
            let from = self.values.len();
            let (start, end) = span.value;
            if span.plain && cdata {
                append(&mut self.values, v.bytes, start, end);
            } else {
                let mut values = std::mem::take(&mut self.values);
                let raw = &v.bytes[start..end];
                let done = self.value(raw, start, !inner, cdata, &mut values, from, false);
                values.push(0);
                self.values = values;
                done?;
            }
            if xmlns {
                let uri = self.values[from..self.values.len() - 1].to_vec();
                self.bind(prefix, &uri, true)?;
                continue;
            }
            prefixed |= self.namespaces && prefix != DEFAULT;
            self.places.push(name as usize);
            self.places.push(from);
        }
        self.specified = self.places.len() as c_int;
        let id = self.dtd().names.entries[element as usize].id_att;
        if id != NONE {
            let at = self.places.chunks(2).position(|pair| pair[0] == id as usize);
            self.id_index = at.map_or(-1, |at| at as c_int * 2);
        }
        // Defaults: their values lie behind the others, numbered by what is kept.
        let count = self.dtd().names.entries[element as usize].defaults.len();
        for at in 0..count {
            let names = &mut self.dtd().names;
            let one = &names.entries[element as usize].defaults[at];
            let Some(value) = &one.value else { continue };
            let (name, value) = (one.name, value.clone());
            let entry = &mut names.entries[name as usize];
            if entry.stamp == stamp {
                continue;
            }
            entry.stamp = stamp;
            if entry.xmlns {
                let prefix = entry.prefix;
                self.bind(prefix, &value[..value.len() - 1], true)?;
                continue;
            }
            prefixed |= self.namespaces && entry.prefix != DEFAULT;
            let from = self.values.len();
            self.values.extend_from_slice(&value);
            self.places.push(name as usize);
            self.places.push(from);
        }
        let values: *mut u8 = self.values.as_mut_ptr();
        for at in (0..self.places.len()).step_by(2) {
            let (name, from) = (self.places[at], self.places[at + 1]);
            let names = &self.dtd().names;
            let entry = &names.entries[name];
            let text = match entry.prefix {
                prefix if prefixed && prefix != DEFAULT => {
                    let binding = names.entries[prefix as usize].binding;
                    if binding == NONE {
                        return Err(UNBOUND_PREFIX);
                    }
                    self.in_namespace(name as u32, binding)?
                }
                _ => entry.str(),
            };
            self.atts.push(text.cast_mut());
            // SAFETY: within the values.
            self.atts.push(unsafe { values.add(from) }.cast());
        }
        if prefixed {
            self.unique()?;
        }
        Ok(())
    }

    /// Attributes with two prefixes of one namespace.
    fn unique(self) -> Done {
        let mut seen = std::collections::HashSet::new();
        let names = &self.dtd().names;
        for &name in self.places.iter().step_by(2) {
            let entry = &names.entries[name];
            if entry.prefix == DEFAULT {
                continue;
            }
            let binding = names.entries[entry.prefix as usize].binding;
            let uri = &self.bindings[binding as usize].uri;
            if !seen.insert((uri, &entry.bytes()[entry.local as usize..])) {
                return Err(DUPLICATE_ATTRIBUTE);
            }
        }
        Ok(())
    }

    /// Binds a prefix. `report`: to the handler.
    pub(crate) fn bind(mut self, prefix: u32, uri: &[u8], report: bool) -> Done {
        const XML: &[u8] = b"http://www.w3.org/XML/1998/namespace";
        const XMLNS: &[u8] = b"http://www.w3.org/2000/xmlns/";
        let name = self.dtd().names.entries[prefix as usize].bytes();
        if uri.is_empty() && prefix != DEFAULT {
            return Err(UNDECLARING_PREFIX);
        }
        if name == b"xmlns" {
            return Err(RESERVED_PREFIX_XMLNS);
        }
        let separator = self.separator;
        let harmless =
            separator.is_ascii_alphanumeric() || b"%-._~:/?#[]@!$&'()*+,;=".contains(&separator);
        if separator != 0 && !harmless && uri.contains(&separator) {
            return Err(SYNTAX);
        }
        match (name == b"xml", uri == XML) {
            (true, false) => return Err(RESERVED_PREFIX_XML),
            (false, true) => return Err(RESERVED_NAMESPACE_URI),
            _ if uri == XMLNS => return Err(RESERVED_NAMESPACE_URI),
            _ => {}
        }
        let next = self.uris.len() as u32 * 2;
        // A prefix is part of the name with triplets.
        let mut key = uri.to_vec();
        if self.triplets {
            key.push(0);
            key.extend_from_slice(name);
        }
        let id = *self.uris.entry(key).or_insert(next);
        let mut text = uri.to_vec();
        if separator != 0 {
            text.push(separator);
        }
        let entry = &mut self.dtd().names.entries[prefix as usize];
        let before = entry.binding;
        let binding = self.bindings.len() as u32;
        entry.binding = if prefix == DEFAULT && uri.is_empty() { NONE } else { binding };
        self.bindings.push(Binding { prefix, before, id, uri: text.into() });
        if report && let Some(handler) = self.h.start_namespace {
            let uri = crate::dtd::text(uri);
            let empty = entry.binding == NONE;
            let str = if empty { std::ptr::null() } else { uri.as_ptr().cast() };
            // SAFETY: the program's function.
            unsafe { handler(self.arg, self.prefix_str(prefix), str) };
        }
        Ok(())
    }

    /// What a parser of an external entity has to know: bindings, and open entities.
    pub(crate) fn context(self) -> Vec<u8> {
        const SEPARATOR: u8 = 0x0c;
        let mut text = vec![];
        let dtd = self.dtd();
        for (number, entry) in dtd.names.entries.iter().enumerate() {
            if entry.binding == NONE {
                continue;
            }
            if !text.is_empty() {
                text.push(SEPARATOR);
            }
            if number as u32 != DEFAULT {
                text.extend_from_slice(entry.bytes());
            }
            text.push(b'=');
            let uri = &self.bindings[entry.binding as usize].uri;
            let len = uri.len() - usize::from(self.separator != 0);
            text.extend_from_slice(&uri[..len]);
        }
        for entity in dtd.general.values().filter(|entity| entity.open) {
            if !text.is_empty() {
                text.push(SEPARATOR);
            }
            text.extend_from_slice(&entity.name[..entity.name.len() - 1]);
        }
        text.push(0);
        text
    }

    /// The other end of [`P::context`].
    pub(crate) fn set_context(self, context: &[u8]) {
        for part in context.split(|byte| *byte == 0x0c) {
            match part.iter().position(|byte| *byte == b'=') {
                Some(equals) => {
                    let prefix = self.dtd().names.intern(&part[..equals]);
                    let _ = self.bind(prefix, &part[equals + 1..], false);
                }
                None => {
                    if let Some(entity) = self.dtd().general.get_mut(part) {
                        entity.open = true;
                    }
                }
            }
        }
    }
}

/// Appends `bytes[from..end]` and a zero.
#[inline(always)]
fn append(values: &mut Vec<u8>, bytes: &[u8], from: usize, end: usize) {
    let len = values.len() + (end - from);
    match crate::dtd::word(bytes, from, end) {
        // 16 bytes of a register: a call to copy them takes longer.
        Some(word) => {
            values.extend_from_slice(&word.to_le_bytes());
            values.truncate(len);
        }
        None => values.extend_from_slice(&bytes[from..end]),
    }
    values.push(0);
}

/// The end of the name of a tag that is whole.
fn name_end(bytes: &[u8], from: usize) -> usize {
    let stop = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>');
    from + bytes[from..].iter().position(stop).unwrap_or(0)
}
