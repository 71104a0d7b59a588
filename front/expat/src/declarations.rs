//! Declarations: what each token of one does, by its role.

use std::ffi::c_int;

use crate::abi::*;
use crate::content::Done;
use crate::dtd::{DefaultAtt, Entity, NONE, Part, Text, str_of, text};
use crate::parser::P;
use crate::prolog::{SUBSET, declare};
use crate::role::{Role, TYPES};
use crate::token::{is_space, predefined};

/// Whether a literal is a public identifier; where not, that place.
fn public_fault(literal: &[u8]) -> Option<usize> {
    let fine =
        |byte: u8| byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(&byte);
    let inner = &literal[1..literal.len() - 1];
    inner.iter().position(|byte| !fine(*byte)).map(|at| at + 1)
}

/// Spaces of a public identifier.
fn normal_public(literal: &[u8]) -> Text {
    let inner = &literal[1..literal.len() - 1];
    let words: Vec<&[u8]> =
        inner.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()).collect();
    text(&words.join(&b' '))
}

fn inside(literal: &[u8]) -> Text {
    text(&literal[1..literal.len() - 1])
}

impl P {
    #[allow(clippy::collapsible_match, reason = "what a role is stands before what it depends on")]
    #[allow(clippy::too_many_lines, reason = "one arm for each role")]
    /// What a token does; `report` becomes false if a handler took it.
    pub(crate) fn role(
        mut self,
        role: Role,
        raw: &[u8],
        inner: bool,
        at: usize,
        report: &mut bool,
    ) -> Done {
        let dtd = self.dtd();
        let keep = dtd.keep_processing;
        let attlist = keep && self.h.attlist_decl.is_some();
        let elements = self.h.element_decl.is_some();
        match role {
            Role::Pi => {
                self.report_pi(inner, raw);
                *report = false;
            }
            Role::Comment => {
                self.report_comment(inner, raw);
                *report = false;
            }
            Role::DoctypeNone => *report = self.h.start_doctype.is_none(),
            Role::EntityNone => *report = !keep || self.h.entity_decl.is_none(),
            Role::NotationNone => *report = self.h.notation.is_none(),
            Role::AttlistNone => *report = !attlist,
            Role::ElementNone => *report = !elements,
            Role::DoctypeName => {
                if self.h.start_doctype.is_some() {
                    self.doctype = (Some(text(raw)), None, None);
                    *report = false;
                }
                self.has_system = false;
            }
            Role::DoctypeSubset => {
                if let Some(handler) = self.h.start_doctype {
                    let (name, system, public) = std::mem::take(&mut self.doctype);
                    let strings = [&name, &system, &public].map(str_of);
                    // SAFETY: the program's function.
                    unsafe { handler(self.arg, strings[0], strings[1], strings[2], 1) };
                    *report = false;
                }
            }
            Role::DoctypePublic => {
                self.use_foreign = false;
                self.decl_entity = declare(&mut dtd.params, SUBSET).0;
                dtd.has_param_refs = true;
                if let Some(by) = public_fault(raw) {
                    self.event(inner, at + by);
                    return Err(PUBLICID);
                }
                if self.h.start_doctype.is_some() {
                    self.doctype.2 = Some(normal_public(raw));
                    *report = false;
                }
                self.entity_public(raw, false, report);
            }
            Role::EntityPublic => {
                if let Some(by) = public_fault(raw) {
                    self.event(inner, at + by);
                    return Err(PUBLICID);
                }
                self.entity_public(raw, true, report);
            }
            Role::DoctypeSystem => {
                self.use_foreign = false;
                dtd.has_param_refs = true;
                self.has_system = true;
                if self.h.start_doctype.is_some() {
                    self.doctype.1 = Some(inside(raw));
                    *report = false;
                }
                if self.param_parsing == 0 {
                    self.not_standalone()?;
                }
                if self.decl_entity.is_null() {
                    let dtd = self.dtd();
                    self.decl_entity = declare(&mut dtd.params, SUBSET).0;
                }
                self.entity_system(raw, false, report);
            }
            Role::EntitySystem => self.entity_system(raw, true, report),
            Role::DoctypeClose => {
                if self.doctype.0.is_some()
                    && let Some(handler) = self.h.start_doctype
                {
                    let (name, system, public) = std::mem::take(&mut self.doctype);
                    let strings = [&name, &system, &public].map(str_of);
                    // SAFETY: the program's function.
                    unsafe { handler(self.arg, strings[0], strings[1], strings[2], 0) };
                    *report = false;
                }
                self.foreign_subset(false)?;
                if let Some(handler) = self.h.end_doctype {
                    // SAFETY: the program's function.
                    unsafe { handler(self.arg) };
                    *report = false;
                }
            }
            Role::GeneralName | Role::ParamName => {
                let param = role == Role::ParamName;
                self.decl_entity = std::ptr::null_mut();
                if !param && predefined(raw).is_some() || !keep {
                    return Ok(());
                }
                let known = if param { &mut dtd.params } else { &mut dtd.general };
                let (entity, new) = declare(known, raw);
                if new {
                    // SAFETY: entities stay where they are.
                    let it = unsafe { &mut *entity };
                    it.is_param = param;
                    it.is_internal = self.parent.is_null() && self.open.is_empty();
                    self.decl_entity = entity;
                    *report = self.h.entity_decl.is_none();
                }
            }
            Role::EntityValue if keep => {
                let mut value = vec![];
                let inside = &raw[1..raw.len() - 1];
                let done = self.entity_value(inside, at + 1, !inner, &mut value);
                if !self.decl_entity.is_null() {
                    // SAFETY: entities stay where they are.
                    let it = unsafe { &mut *self.decl_entity };
                    let value: std::sync::Arc<[u8]> = value.into();
                    it.text = Some(value.clone());
                    if let Some(handler) = self.h.entity_decl {
                        self.event_end(inner, at);
                        let null = std::ptr::null();
                        let (name, len) = (it.name.as_ptr().cast(), value.len() as c_int);
                        let (value, base) = (value.as_ptr().cast(), str_of(&self.base));
                        let param = c_int::from(it.is_param);
                        // SAFETY: the program's function.
                        unsafe {
                            handler(self.arg, name, param, value, len, base, null, null, null);
                        }
                        *report = false;
                    }
                }
                done?;
            }
            Role::EntityComplete if keep && !self.decl_entity.is_null() => {
                self.report_entity(inner, at, false, report);
            }
            Role::EntityNotation if keep && !self.decl_entity.is_null() => {
                // SAFETY: entities stay where they are.
                let it = unsafe { &mut *self.decl_entity };
                it.notation = Some(text(raw));
                if let Some(handler) = self.h.unparsed {
                    self.event_end(inner, at);
                    let [base, system, public, notation] =
                        [&it.base, &it.system, &it.public, &it.notation].map(str_of);
                    let name = it.name.as_ptr().cast();
                    // SAFETY: the program's function.
                    unsafe { handler(self.arg, name, base, system, public, notation) };
                    *report = false;
                } else {
                    self.report_entity(inner, at, true, report);
                }
            }
            Role::NotationName => {
                self.notation = (None, None);
                if self.h.notation.is_some() {
                    self.notation.0 = Some(text(raw));
                    *report = false;
                }
            }
            Role::NotationPublic => {
                if let Some(by) = public_fault(raw) {
                    self.event(inner, at + by);
                    return Err(PUBLICID);
                }
                if self.notation.0.is_some() {
                    self.notation.1 = Some(normal_public(raw));
                    *report = false;
                }
            }
            Role::NotationSystem | Role::NotationNoSystem => {
                let (name, public) = std::mem::take(&mut self.notation);
                let system = (role == Role::NotationSystem).then(|| inside(raw));
                if let (Some(_), Some(handler), true) =
                    (&name, self.h.notation, system.is_some() || public.is_some())
                {
                    self.event_end(inner, at);
                    let [name, base, system, public] =
                        [&name, &self.base.clone(), &system, &public].map(str_of);
                    // SAFETY: the program's function.
                    unsafe { handler(self.arg, name, base, system, public) };
                    *report = false;
                }
            }
            Role::AttlistElement => {
                self.decl_element = dtd.names.intern(raw);
                *report = !attlist;
            }
            Role::AttributeName => {
                self.decl_att = dtd.names.intern(raw);
                (self.decl_cdata, self.decl_id, self.decl_type) = (false, false, None);
                *report = !attlist;
            }
            Role::AttributeType(kind) => {
                self.decl_cdata = kind == 0;
                self.decl_id = kind == 1;
                self.decl_type = Some(TYPES[usize::from(kind)].to_bytes().to_vec());
                *report = !attlist;
            }
            Role::EnumValue | Role::NotationValue if attlist => {
                let first: &[u8] = if role == Role::EnumValue { b"(" } else { b"NOTATION(" };
                let kind = match self.decl_type.take() {
                    Some(mut kind) => {
                        kind.push(b'|');
                        kind
                    }
                    None => first.to_vec(),
                };
                self.decl_type = Some([&kind, raw].concat());
                *report = false;
            }
            Role::Implied | Role::Required if keep => {
                self.define(self.decl_id, None);
                self.report_attribute(inner, at, None, role == Role::Required, report);
            }
            Role::DefaultValue | Role::FixedValue if keep => {
                let mut value = vec![];
                let inside = &raw[1..raw.len() - 1];
                self.value(inside, at + 1, !inner, self.decl_cdata, &mut value, 0, true)?;
                let value = text(&value);
                self.define(false, Some(value.clone()));
                self.report_attribute(inner, at, Some(value), role == Role::FixedValue, report);
            }
            Role::ParamRef | Role::InnerParamRef => self.param_ref(raw, role, report)?,
            Role::ElementName => {
                if elements {
                    self.decl_element = dtd.names.intern(raw);
                    dtd.parts.clear();
                    dtd.open_parts.clear();
                    dtd.in_element = true;
                    *report = false;
                }
            }
            Role::ContentAny | Role::ContentEmpty => {
                if dtd.in_element {
                    let kind = if role == Role::ContentAny { CTYPE_ANY } else { CTYPE_EMPTY };
                    dtd.parts.push(Part { kind, quant: 0, name: None, children: vec![] });
                    self.report_element(inner, at, report)?;
                    self.dtd().in_element = false;
                }
            }
            Role::ContentPcdata => {
                if dtd.in_element {
                    if let Some(&part) = dtd.open_parts.last() {
                        dtd.parts[part].kind = CTYPE_MIXED;
                    }
                    *report = !elements;
                }
            }
            Role::ContentElement(quant) => {
                if dtd.in_element {
                    let name = &raw[..raw.len() - usize::from(quant > 0)];
                    let name = Some(dtd.names.intern(name));
                    self.part_within(CTYPE_NAME, quant.into(), name);
                    *report = !elements;
                }
            }
            Role::GroupOpen => {
                let level = self.prolog.level as usize;
                if self.groups.len() <= level {
                    self.groups.resize(level + 1, 0);
                }
                self.groups[level] = 0;
                if dtd.in_element {
                    let part = self.part_within(CTYPE_SEQ, 0, None);
                    dtd.open_parts.push(part);
                    *report = !elements;
                }
            }
            Role::GroupSequence | Role::GroupChoice => {
                let level = self.prolog.level as usize;
                let (mine, other) =
                    if role == Role::GroupSequence { (b',', b'|') } else { (b'|', b',') };
                let Some(&known) = self.groups.get(level) else { return Err(SYNTAX) };
                if known == other {
                    return Err(SYNTAX);
                }
                if mine == b',' {
                    *report = !(dtd.in_element && elements);
                } else if dtd.in_element
                    && known == 0
                    && let Some(&part) = dtd.open_parts.last()
                    && dtd.parts[part].kind != CTYPE_MIXED
                {
                    dtd.parts[part].kind = CTYPE_CHOICE;
                    *report = !elements;
                }
                self.groups[level] = mine;
            }
            Role::GroupClose(quant) => {
                if dtd.in_element {
                    *report = !elements;
                    if let Some(part) = dtd.open_parts.pop() {
                        dtd.parts[part].quant = quant.into();
                    }
                    if dtd.open_parts.is_empty() {
                        self.report_element(inner, at, report)?;
                        self.dtd().in_element = false;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn part_within(self, kind: c_int, quant: c_int, name: Option<u32>) -> usize {
        let dtd = self.dtd();
        let part = dtd.parts.len();
        dtd.parts.push(Part { kind, quant, name, children: vec![] });
        if let Some(&parent) = dtd.open_parts.last() {
            dtd.parts[parent].children.push(part);
        }
        part
    }

    fn entity_public(self, raw: &[u8], alone: bool, report: &mut bool) {
        if self.dtd().keep_processing && !self.decl_entity.is_null() {
            let entity = self.decl_entity;
            // SAFETY: entities stay where they are.
            unsafe { (*entity).public = Some(normal_public(raw)) };
            *report &= !(alone && self.h.entity_decl.is_some());
        }
    }

    fn entity_system(self, raw: &[u8], alone: bool, report: &mut bool) {
        if self.dtd().keep_processing && !self.decl_entity.is_null() {
            let entity = self.decl_entity;
            // SAFETY: entities stay where they are.
            let it = unsafe { &mut *entity };
            it.system = Some(inside(raw));
            it.base = self.base.clone();
            *report &= !(alone && self.h.entity_decl.is_some());
        }
    }

    fn report_entity(self, inner: bool, at: usize, notation: bool, report: &mut bool) {
        let Some(handler) = self.h.entity_decl else { return };
        self.event_end(inner, at);
        // SAFETY: entities stay where they are.
        let it = unsafe { &*self.decl_entity };
        let [base, system, public] = [&it.base, &it.system, &it.public].map(str_of);
        let of = if notation { str_of(&it.notation) } else { std::ptr::null() };
        let param = c_int::from(it.is_param && !notation);
        let (name, null) = (it.name.as_ptr().cast(), std::ptr::null());
        // SAFETY: the program's function.
        unsafe { handler(self.arg, name, param, null, 0, base, system, public, of) };
        *report = false;
    }

    /// Adds the declared attribute to the list of its element.
    fn define(self, id: bool, value: Option<Text>) {
        let (element, name, cdata) = (self.decl_element, self.decl_att, self.decl_cdata);
        let names = &mut self.dtd().names;
        let namespace = names.entries[name as usize].xmlns;
        let entry = &mut names.entries[element as usize];
        if value.is_some() || id {
            if entry.defaults.iter().any(|one| one.name == name) {
                return;
            }
            if id && entry.id_att == NONE && !namespace {
                entry.id_att = name;
            }
        }
        entry.defaults.push(DefaultAtt { name, cdata, value });
        if !cdata {
            names.entries[name as usize].tokenized = true;
        }
    }

    fn report_attribute(
        mut self,
        inner: bool,
        at: usize,
        value: Option<Text>,
        required: bool,
        report: &mut bool,
    ) {
        let (Some(handler), Some(mut kind)) = (self.h.attlist_decl, self.decl_type.take()) else {
            return;
        };
        if kind[0] == b'(' || kind.starts_with(b"NO") {
            kind.push(b')');
        }
        let kind = text(&kind);
        self.event_end(inner, at);
        let names = &self.dtd().names;
        let element = names.entries[self.decl_element as usize].str();
        let name = names.entries[self.decl_att as usize].str();
        let (kind, value) = (kind.as_ptr().cast(), str_of(&value));
        // SAFETY: the program's function.
        unsafe { handler(self.arg, element, name, kind, value, required.into()) };
        *report = false;
    }

    fn param_ref(self, raw: &[u8], role: Role, report: &mut bool) -> Done {
        let dtd = self.dtd();
        dtd.has_param_refs = true;
        if self.param_parsing == 0 {
            dtd.keep_processing = dtd.standalone;
            return self.not_standalone();
        }
        let name = &raw[1..raw.len() - 1];
        let entity = dtd.params.get_mut(name).map(|entity| &raw mut **entity);
        let Some(entity) = entity else {
            if self.prolog.document && dtd.standalone && self.open.is_empty() {
                return Err(UNDEFINED_ENTITY);
            }
            dtd.keep_processing = dtd.standalone;
            if role == Role::ParamRef
                && let Some(handler) = self.h.skipped
            {
                let name = text(name);
                // SAFETY: the program's function.
                unsafe { handler(self.arg, name.as_ptr().cast(), 1) };
                *report = false;
            }
            return Ok(());
        };
        // SAFETY: entities stay where they are.
        let it = unsafe { &mut *entity };
        if self.prolog.document && dtd.standalone && self.open.is_empty() && !it.is_internal {
            return Err(ENTITY_DECLARED_IN_PE);
        }
        if it.open {
            return Err(RECURSIVE_ENTITY_REF);
        }
        if it.text.is_some() {
            self.enter(entity, role == Role::ParamRef)?;
            *report = false;
            return Ok(());
        }
        let Some(read) = self.external_param(it)? else { return Ok(()) };
        *report = false;
        if read { self.not_standalone() } else { Ok(()) }
    }

    /// Asks the program to read an external parameter entity. Returns whether it did; `None`: it has no handler for them.
    pub(crate) fn external_param(self, entity: &mut Entity) -> Done<Option<bool>> {
        let dtd = self.dtd();
        let Some(handler) = self.h.external else {
            dtd.keep_processing = dtd.standalone;
            return Ok(None);
        };
        dtd.param_read = false;
        entity.open = true;
        let [base, system, public] = [&entity.base, &entity.system, &entity.public].map(str_of);
        // SAFETY: the program's function.
        let fine = unsafe { handler(self.external_arg, std::ptr::null(), base, system, public) };
        entity.open = false;
        if fine == 0 {
            return Err(EXTERNAL_ENTITY_HANDLING);
        }
        let dtd = self.dtd();
        if !dtd.param_read {
            dtd.keep_processing = dtd.standalone;
        }
        Ok(Some(dtd.param_read))
    }

    /// Hands the content model over, in memory of the program's allocator: it frees it.
    fn report_element(self, inner: bool, at: usize, report: &mut bool) -> Done {
        let Some(handler) = self.h.element_decl else { return Ok(()) };
        let dtd = self.dtd();
        let parts = &dtd.parts;
        let name = |part: &Part| part.name.map(|name| &dtd.names.entries[name as usize].text);
        let names: usize = parts.iter().filter_map(name).map(|name| name.len()).sum();
        let size = parts.len() * size_of::<Content>() + names;
        // SAFETY: the program's allocator.
        let memory =
            self.suite.malloc.map_or(std::ptr::null_mut(), |malloc| unsafe { malloc(size) });
        if memory.is_null() {
            return Err(NO_MEMORY);
        }
        let nodes: *mut Content = memory.cast();
        // Breadth first: children lie side by side.
        let mut order = vec![0];
        let mut first = vec![0; parts.len()];
        let mut at_part = 0;
        while at_part < order.len() {
            first[at_part] = order.len();
            order.extend(&parts[order[at_part]].children);
            at_part += 1;
        }
        // SAFETY: `size` has room for all nodes, and the names behind them.
        unsafe {
            let mut text: *mut u8 = nodes.add(parts.len()).cast();
            for (place, &part) in order.iter().enumerate() {
                let part = &parts[part];
                let mut node = Content {
                    kind: part.kind,
                    quant: part.quant,
                    name: std::ptr::null_mut(),
                    numchildren: part.children.len() as u32,
                    children: std::ptr::null_mut(),
                };
                if let Some(name) = name(part) {
                    text.copy_from_nonoverlapping(name.as_ptr(), name.len());
                    node.name = text.cast();
                    text = text.add(name.len());
                }
                if !part.children.is_empty() {
                    node.children = nodes.add(first[place]);
                }
                nodes.add(place).write(node);
            }
        }
        self.event_end(inner, at);
        let element = dtd.names.entries[self.decl_element as usize].str();
        // SAFETY: the program's function.
        unsafe { handler(self.arg, element, nodes) };
        *report = false;
        Ok(())
    }
}
