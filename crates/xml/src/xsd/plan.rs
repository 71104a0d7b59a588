//! Elements with the same attributes as one before: what is known of their names is not looked up again.

use super::components::*;
use super::element::mode;
use super::names::NONE;
use super::simple::Fault;
use super::state::*;

/// What is known of elements of a declaration whose attributes have these names.
#[derive(Debug, Default)]
pub(super) struct Plan {
    is_made: bool,
    names: Vec<u32>,
    attributes: Vec<Planned>,
    mode: Mode,
    keeps_text: bool,
    /// Elements in a row that had others.
    misses: u32,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    type_: TypeId,
    symbol: u32,
    namespace: u32,
}

/// So many others in a row, and the plan is made anew, or it is seen again whether there is one.
const MAX_MISSES: u32 = 16;

impl State {
    #[inline]
    pub(super) fn has_plan<'a>(
        &self,
        assessed: &Assessed,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
    ) -> bool {
        let plan = self.plans.get(assessed.element as usize).filter(|it| it.is_made);
        !assessed.is_skipped
            && plan.is_some_and(|it| attributes.map(|it| it.0).eq(it.names.iter().copied()))
    }

    /// An element with attributes as planned begins.
    #[inline]
    pub(super) fn start_planned<'a>(
        &mut self,
        c: &Components,
        known: Known,
        element: u32,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
    ) {
        let declaration = &c.elements[element as usize];
        let plan = &mut self.plans[element as usize];
        plan.misses = 0;
        let (mode, keeps_text) = (plan.mode, plan.keeps_text);
        self.reserve(c, mode);
        if keeps_text {
            self.text.clear();
        }
        let depth = self.frames.len() as u32 - 1;
        let frame = &mut self.frames[depth as usize];
        (frame.element, frame.type_, frame.mode) = (element, declaration.type_, mode);
        frame.keeps_text = keeps_text;
        let wants_fields = (!declaration.identity.is_empty() || !self.tables.is_idle())
            && self.tables.enter(c, depth, known.symbol, known.namespace, &declaration.identity);
        for (index, (name, value)) in attributes.enumerate() {
            let Planned { type_, symbol, namespace } =
                self.plans[element as usize].attributes[index];
            let State { bindings, roles, .. } = self;
            let mut tell = |role, text: &[u8]| roles.push((role, text.into()));
            if let Err(Fault { rule, message }) = c.check(type_, value, bindings, &mut tell) {
                self.at_attribute(name, rule, message);
                continue;
            }
            if !self.roles.is_empty() {
                self.take_roles(Some(name));
            }
            if wants_fields {
                let bindings = &self.bindings;
                self.tables.attribute(c, symbol, namespace, &mut |key| {
                    c.key(type_, value, bindings, key);
                    true
                });
            }
        }
        if wants_fields && self.tables.has_direct() {
            self.attributes_complete(c);
        }
    }

    /// Makes the plan of an element, whose names are known by now, if it has one: all attributes are declared and none is fixed,
    /// missing or one of schema instances.
    pub(super) fn plan<'a>(
        &mut self,
        c: &Components,
        element: u32,
        type_: TypeId,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
    ) {
        let Some(declaration) = c.elements.get(element as usize) else { return };
        let index = element as usize;
        if self.plans.len() <= index {
            self.plans.resize_with(index + 1, Plan::default);
        }
        let plan = &mut self.plans[index];
        plan.misses = plan.misses.wrapping_add(1);
        if plan.misses % MAX_MISSES != u32::from(!plan.is_made) {
            return;
        }
        plan.is_made = false;
        let Some(complex) = c.types[type_ as usize].complex() else { return };
        if declaration.type_ != type_ || declaration.is_abstract || complex.is_abstract {
            return;
        }
        plan.names.clear();
        plan.attributes.clear();
        let mut seen = 0_u64;
        for (name, _) in attributes {
            let known = self.names[name as usize];
            let index = complex.by_symbol.get(known.symbol);
            if known.xsi != 0 || index == NONE || index >= 64 {
                return;
            }
            let one = &complex.uses[index as usize];
            if one.constraint.as_ref().is_some_and(|it| it.is_fixed) {
                return;
            }
            seen |= 1 << index;
            let Known { symbol, namespace, .. } = known;
            let type_ = c.attributes[one.attribute as usize].type_;
            plan.names.push(name);
            plan.attributes.push(Planned { type_, symbol, namespace });
        }
        if complex.uses.len() > 64 || complex.expected_bits & !seen != 0 {
            return;
        }
        plan.mode = mode(c, type_);
        plan.keeps_text = matches!(plan.mode, Mode::Simple(_)) || declaration.constraint.is_some();
        (plan.is_made, plan.misses) = (true, 0);
    }
}
