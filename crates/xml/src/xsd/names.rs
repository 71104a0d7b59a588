//! Names of a schema as numbers, and tables by them.

use std::collections::HashMap;

/// A name that no schema has, or none.
pub(crate) const NONE: u32 = u32::MAX;
/// No namespace.
pub(crate) const ABSENT: u32 = 0;

pub(crate) const XS: &str = "http://www.w3.org/2001/XMLSchema";
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Namespaces and expanded names.
#[derive(Debug)]
pub(crate) struct Names {
    namespaces: Vec<Box<str>>,
    namespace_ids: HashMap<Box<str>, u32>,
    /// For each namespace its local names.
    locals: Vec<HashMap<Box<str>, u32>>,
    /// Namespace and local part of each symbol.
    symbols: Vec<(u32, Box<str>)>,
}

impl Names {
    pub(crate) fn new() -> Names {
        let mut names = Names {
            namespaces: Vec::new(),
            namespace_ids: HashMap::new(),
            locals: Vec::new(),
            symbols: Vec::new(),
        };
        let absent = names.namespace("");
        debug_assert_eq!(absent, ABSENT);
        names
    }

    pub(crate) fn namespace(&mut self, uri: &str) -> u32 {
        if let Some(id) = self.namespace_ids.get(uri) {
            return *id;
        }
        let id = self.namespaces.len() as u32;
        self.namespaces.push(uri.into());
        self.namespace_ids.insert(uri.into(), id);
        self.locals.push(HashMap::new());
        id
    }

    pub(crate) fn symbol(&mut self, namespace: u32, local: &str) -> u32 {
        let locals = &mut self.locals[namespace as usize];
        if let Some(symbol) = locals.get(local) {
            return *symbol;
        }
        let symbol = self.symbols.len() as u32;
        locals.insert(local.into(), symbol);
        self.symbols.push((namespace, local.into()));
        symbol
    }

    /// Namespace and symbol, each [`NONE`] if the schema does not have it.
    pub(crate) fn find(&self, uri: &str, local: &str) -> (u32, u32) {
        match self.namespace_ids.get(uri) {
            None => (NONE, NONE),
            Some(namespace) => {
                let symbol = self.locals[*namespace as usize].get(local);
                (*namespace, symbol.copied().unwrap_or(NONE))
            }
        }
    }

    pub(crate) fn uri(&self, namespace: u32) -> &str {
        self.namespaces.get(namespace as usize).map_or("", |it| it)
    }

    pub(crate) fn namespace_of(&self, symbol: u32) -> u32 {
        self.symbols.get(symbol as usize).map_or(NONE, |it| it.0)
    }

    pub(crate) fn local(&self, symbol: u32) -> &str {
        self.symbols.get(symbol as usize).map_or("", |it| &it.1)
    }

    /// For messages: `{uri}local`.
    pub(crate) fn display(&self, symbol: u32) -> String {
        match (self.uri(self.namespace_of(symbol)), self.local(symbol)) {
            ("", local) => local.to_owned(),
            (uri, local) => format!("{{{uri}}}{local}"),
        }
    }
}

/// A fixed table from symbols to numbers: one probe.
///
/// `slot = symbol * multiplier >> shift`, with a multiplier without collisions, which is searched for when the table is made.
#[derive(Clone, Debug)]
pub(crate) struct SymbolMap {
    multiplier: u32,
    shift: u32,
    slots: Box<[(u32, u32)]>,
}

impl Default for SymbolMap {
    fn default() -> SymbolMap {
        SymbolMap::new(&[])
    }
}

impl SymbolMap {
    /// Of different symbols.
    pub(crate) fn new(entries: &[(u32, u32)]) -> SymbolMap {
        let mut bits = (entries.len().max(1) * 2).next_power_of_two().trailing_zeros().max(1);
        loop {
            let mut multiplier = 0x9e37_79b1_u32;
            // About so many attempts find one where there are few entries; where there are many, the table is probed in order.
            for _ in 0..if entries.len() <= 64 { 200 } else { 1 } {
                if let Some(map) = SymbolMap::place(entries, multiplier, bits) {
                    return map;
                }
                multiplier = multiplier.wrapping_mul(0x85eb_ca6b).wrapping_add(2) | 1;
            }
            if entries.len() > 64 {
                return SymbolMap::probed(entries, bits);
            }
            bits += 1;
        }
    }

    fn place(entries: &[(u32, u32)], multiplier: u32, bits: u32) -> Option<SymbolMap> {
        let shift = 32 - bits;
        let mut slots = vec![(NONE, NONE); 1 << bits].into_boxed_slice();
        for entry in entries {
            let slot = &mut slots[(entry.0.wrapping_mul(multiplier) >> shift) as usize];
            if slot.0 != NONE {
                return None;
            }
            *slot = *entry;
        }
        Some(SymbolMap { multiplier, shift, slots })
    }

    fn probed(entries: &[(u32, u32)], bits: u32) -> SymbolMap {
        let (multiplier, shift) = (0x9e37_79b1_u32, 32 - bits);
        let mut slots = vec![(NONE, NONE); 1 << bits].into_boxed_slice();
        let mask = slots.len() - 1;
        for entry in entries {
            let mut at = (entry.0.wrapping_mul(multiplier) >> shift) as usize;
            while slots[at].0 != NONE {
                at = (at + 1) & mask;
            }
            slots[at] = *entry;
        }
        SymbolMap { multiplier, shift, slots }
    }

    /// The number of a symbol, or [`NONE`].
    #[inline(always)]
    pub(crate) fn get(&self, symbol: u32) -> u32 {
        let mut at = (symbol.wrapping_mul(self.multiplier) >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot.0 == symbol || slot.0 == NONE {
                return if symbol == NONE { NONE } else { slot.1 };
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.slots.iter().copied().filter(|slot| slot.0 != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_has_its_number() {
        for count in [0, 1, 2, 20, 64, 65, 3000] {
            let entries: Vec<(u32, u32)> = (0..count).map(|n| (n * 7 + 3, n)).collect();
            let map = SymbolMap::new(&entries);
            for symbol in 0..count * 7 + 20 {
                let expected = entries.iter().find(|it| it.0 == symbol).map_or(NONE, |it| it.1);
                assert_eq!(map.get(symbol), expected);
            }
            assert_eq!(map.get(NONE), NONE);
            assert_eq!(map.entries().count(), count as usize);
        }
    }
}
