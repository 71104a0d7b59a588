//! Values of attributes and entities.

use std::ffi::c_int;

use crate::abi::*;
use crate::content::Done;
use crate::dtd::Entity;
use crate::parser::P;
use crate::role::Tok;
use crate::token::{Stop, View, char_number, predefined};

impl P {
    /// An error, whose place is known in the document alone.
    fn fault(mut self, outer: bool, place: usize, error: c_int) -> Done {
        if outer {
            self.event = place;
        }
        Err(error)
    }

    /// All the bytes of an entity, or of a value, in which only references are looked for.
    pub(crate) fn part<'a>(
        self,
        bytes: &'a [u8],
        index: &'a lookaside_xml::kernel::Index,
    ) -> View<'a> {
        View {
            bytes,
            index,
            from: 0,
            stop: Stop::End,
            namespaces: self.namespaces,
            converted: false,
            entity: true,
            bad: 0,
        }
    }

    /// Appends the normalised value of an attribute to `out`, where it begins at `from`. `raw` is at `place` of the
    /// document, if `outer`. `prolog`: it is a default of a declaration.
    #[allow(clippy::too_many_arguments, reason = "one call for both kinds of values")]
    pub(crate) fn value(
        self,
        raw: &[u8],
        place: usize,
        outer: bool,
        cdata: bool,
        out: &mut Vec<u8>,
        from: usize,
        prolog: bool,
    ) -> Done {
        self.append_value(raw, place, outer, cdata, out, from, prolog)?;
        if !cdata && out.len() > from && out.last() == Some(&b' ') {
            out.pop();
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "as above")]
    fn append_value(
        mut self,
        raw: &[u8],
        place: usize,
        outer: bool,
        cdata: bool,
        out: &mut Vec<u8>,
        from: usize,
        prolog: bool,
    ) -> Done {
        let index = Default::default();
        let fail = |p: P, at: usize, error| p.fault(outer, place + at, error);
        let mut at = 0;
        while let Some(&byte) = raw.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    at += 1;
                    // In an entity's text a carriage return comes from a character reference, and is no end of a line.
                    if outer && byte == b'\r' && raw.get(at) == Some(&b'\n') {
                        at += 1;
                    }
                    if cdata || (out.len() > from && out.last() != Some(&b' ')) {
                        out.push(b' ');
                    }
                    continue;
                }
                b'<' => return fail(self, at, INVALID_TOKEN),
                b'&' => {}
                _ => {
                    let stop =
                        |byte: &u8| matches!(byte, b'&' | b'<' | b' ' | b'\t' | b'\n' | b'\r');
                    let len = raw[at..].iter().position(stop).unwrap_or(raw.len() - at);
                    out.extend_from_slice(&raw[at..at + len]);
                    at += len;
                    continue;
                }
            }
            let view = self.part(raw, &index);
            let (tok, next) = view.reference(at).unwrap_or_else(|found| found);
            match tok {
                Tok::CharRef => {
                    let Some(c) = char_number(&raw[at..next]) else {
                        return fail(self, at, BAD_CHAR_REF);
                    };
                    let skip =
                        !cdata && c == ' ' && (out.len() == from || out.last() == Some(&b' '));
                    if !skip {
                        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                Tok::EntityRef => {
                    let name = &raw[at + 1..next - 1];
                    match predefined(name) {
                        Some(byte) => out.push(byte),
                        None => {
                            let dtd = self.dtd();
                            let entity = dtd.general.get_mut(name);
                            let check = match prolog {
                                true if !self.prolog.document => false,
                                true if dtd.standalone => self.open.is_empty(),
                                true => !dtd.has_param_refs,
                                false => !dtd.has_param_refs || dtd.standalone,
                            };
                            let Some(entity) = entity else {
                                if check {
                                    return Err(UNDEFINED_ENTITY);
                                }
                                at = next;
                                continue;
                            };
                            if check && !entity.is_internal {
                                return Err(ENTITY_DECLARED_IN_PE);
                            }
                            if entity.open {
                                return fail(self, at, RECURSIVE_ENTITY_REF);
                            }
                            if entity.notation.is_some() {
                                return fail(self, at, BINARY_ENTITY_REF);
                            }
                            let Some(text) = entity.text.clone() else {
                                return fail(self, at, ATTRIBUTE_EXTERNAL_ENTITY_REF);
                            };
                            entity.open = true;
                            let entity: *mut Entity = &raw mut **entity;
                            let done = self.deeper(text.len()).and_then(|()| {
                                self.append_value(&text, 0, false, cdata, out, from, prolog)
                            });
                            self.depth -= 1;
                            // SAFETY: entities stay where they are.
                            unsafe { (*entity).open = false };
                            done?;
                        }
                    }
                }
                Tok::Invalid => return fail(self, next, INVALID_TOKEN),
                _ => return fail(self, at, INVALID_TOKEN),
            }
            at = next;
        }
        Ok(())
    }

    /// Appends the replacement text of an entity's value to `out`.
    pub(crate) fn entity_value(
        mut self,
        raw: &[u8],
        place: usize,
        outer: bool,
        out: &mut Vec<u8>,
    ) -> Done {
        let before = self.prolog.in_value;
        self.prolog.in_value = true;
        let done = self.append_entity_value(raw, place, outer, out);
        self.prolog.in_value = before;
        done
    }

    fn append_entity_value(self, raw: &[u8], place: usize, outer: bool, out: &mut Vec<u8>) -> Done {
        let index = Default::default();
        let fail = |p: P, at: usize, error| p.fault(outer, place + at, error);
        let mut at = 0;
        while let Some(&byte) = raw.get(at) {
            match byte {
                b'\r' if outer => {
                    at += 1 + usize::from(raw.get(at + 1) == Some(&b'\n'));
                    out.push(b'\n');
                }
                b'&' => {
                    let view = self.part(raw, &index);
                    let (tok, next) = view.reference(at).unwrap_or_else(|found| found);
                    match tok {
                        Tok::CharRef => {
                            let Some(c) = char_number(&raw[at..next]) else {
                                return fail(self, at, BAD_CHAR_REF);
                            };
                            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        Tok::EntityRef => out.extend_from_slice(&raw[at..next]),
                        Tok::Invalid => return fail(self, next, INVALID_TOKEN),
                        _ => return fail(self, at, INVALID_TOKEN),
                    }
                    at = next;
                }
                b'%' => {
                    let view = self.part(raw, &index);
                    let (tok, next, _) = view.prolog(at);
                    match tok {
                        Tok::ParamEntityRef => {}
                        Tok::Invalid => return fail(self, next, INVALID_TOKEN),
                        Tok::Percent => return fail(self, at + 1, INVALID_TOKEN),
                        _ => return fail(self, at, INVALID_TOKEN),
                    }
                    if !self.is_param && outer {
                        let mut p = self;
                        p.event = place + at;
                        return Err(PARAM_ENTITY_REF);
                    }
                    self.inner_param(&raw[at + 1..next - 1], out, outer, place + at)?;
                    at = next;
                }
                _ => {
                    let stop = |byte: &u8| matches!(byte, b'&' | b'%') || outer && *byte == b'\r';
                    let len = raw[at..].iter().position(stop).unwrap_or(raw.len() - at);
                    out.extend_from_slice(&raw[at..at + len]);
                    at += len;
                }
            }
        }
        Ok(())
    }

    /// A parameter entity within a value.
    fn inner_param(mut self, name: &[u8], out: &mut Vec<u8>, outer: bool, place: usize) -> Done {
        let dtd = self.dtd();
        let Some(entity) = dtd.params.get_mut(name).map(|entity| &raw mut **entity) else {
            dtd.keep_processing = dtd.standalone;
            return Ok(());
        };
        // SAFETY: entities stay where they are.
        let it = unsafe { &mut *entity };
        if it.open {
            if outer {
                self.event = place;
            }
            return Err(RECURSIVE_ENTITY_REF);
        }
        if it.system.is_none() {
            let text = it.text.clone().unwrap_or_default();
            it.open = true;
            let done =
                self.deeper(text.len()).and_then(|()| self.entity_value(&text, 0, false, out));
            self.depth -= 1;
            it.open = false;
            return done;
        }
        // What the parser of the entity reads goes behind the value so far.
        dtd.pending_value.push(std::mem::take(out));
        let read = self.external_param(it);
        *out = self.dtd().pending_value.pop().unwrap_or_default();
        read.map(|_| ())
    }
}
