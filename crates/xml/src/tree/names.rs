//! Names as numbers.

use std::collections::HashMap;

use super::TreeError;
use crate::hash::Seeded;

/// The number of a name in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(super) u32);

impl NameId {
    /// The number, less than that of names.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A name with its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// The prefix; empty without one.
    pub prefix: &'a str,
    /// The local part.
    pub local: &'a str,
    /// The URI of the namespace; empty for none.
    pub uri: &'a str,
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    prefix: u32,
    local: u32,
    uri: u32,
    /// The first name with this URI and local part.
    expanded: u32,
}

/// The names of a tree; 0 is the empty one.
#[derive(Clone, Debug)]
pub(super) struct Names {
    strings: Vec<String>,
    string_ids: HashMap<String, u32, Seeded>,
    names: Vec<Parts>,
    name_ids: HashMap<(u32, u32, u32), u32, Seeded>,
    expanded_ids: HashMap<(u32, u32), u32, Seeded>,
}

impl Names {
    pub(super) fn new() -> Names {
        let mut names = Names {
            strings: Vec::new(),
            string_ids: HashMap::default(),
            names: Vec::new(),
            name_ids: HashMap::default(),
            expanded_ids: HashMap::default(),
        };
        let empty = names.intern(Name { prefix: "", local: "", uri: "" });
        debug_assert_eq!(empty, Ok(NameId(0)));
        names
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    fn string(&mut self, text: &str) -> Result<u32, TreeError> {
        if let Some(id) = self.string_ids.get(text) {
            return Ok(*id);
        }
        let id = u32::try_from(self.strings.len()).map_err(|_| TreeError::Names)?;
        self.strings.push(text.to_owned());
        self.string_ids.insert(text.to_owned(), id);
        Ok(id)
    }

    pub(super) fn intern(&mut self, name: Name<'_>) -> Result<NameId, TreeError> {
        let (prefix, local, uri) =
            (self.string(name.prefix)?, self.string(name.local)?, self.string(name.uri)?);
        if let Some(id) = self.name_ids.get(&(prefix, local, uri)) {
            return Ok(NameId(*id));
        }
        let id = u32::try_from(self.names.len()).map_err(|_| TreeError::Names)?;
        if id >= 1 << super::NAME_BITS {
            return Err(TreeError::Names);
        }
        let expanded = *self.expanded_ids.entry((uri, local)).or_insert(id);
        self.names.push(Parts { prefix, local, uri, expanded });
        self.name_ids.insert((prefix, local, uri), id);
        Ok(NameId(id))
    }

    pub(super) fn name(&self, id: NameId) -> Name<'_> {
        let parts = &self.names[id.0 as usize];
        let text = |id: u32| self.strings[id as usize].as_str();
        Name { prefix: text(parts.prefix), local: text(parts.local), uri: text(parts.uri) }
    }

    pub(super) fn expanded(&self, id: NameId) -> NameId {
        NameId(self.names[id.0 as usize].expanded)
    }

    pub(super) fn find(&self, uri: &str, local: &str) -> Option<NameId> {
        let parts = (*self.string_ids.get(uri)?, *self.string_ids.get(local)?);
        self.expanded_ids.get(&parts).map(|id| NameId(*id))
    }

    pub(super) fn memory(&self) -> usize {
        let text: usize = self.strings.iter().map(String::capacity).sum();
        2 * text
            + self.strings.capacity() * 3 * size_of::<String>()
            + self.names.capacity() * 3 * size_of::<Parts>()
    }
}
