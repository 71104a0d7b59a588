//! Names, and what a document type declaration declares.

use std::collections::HashMap;
use std::sync::Arc;

use crate::abi::Str;

/// Bytes that end with a zero, as handlers get them.
pub(crate) type Text = Box<[u8]>;

/// With a zero behind.
pub(crate) fn text(bytes: &[u8]) -> Text {
    let mut text = Vec::with_capacity(bytes.len() + 1);
    text.extend_from_slice(bytes);
    text.push(0);
    text.into()
}

pub(crate) fn str_of(text: &Option<Text>) -> Str {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr().cast())
}

pub(crate) const NONE: u32 = u32::MAX;

/// An attribute of an element's list.
#[derive(Clone)]
pub(crate) struct DefaultAtt {
    pub(crate) name: u32,
    pub(crate) cdata: bool,
    pub(crate) value: Option<Text>,
}

/// A name of an element, an attribute or a prefix.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) text: Text,
    hash: u64,
    /// The prefix's entry.
    pub(crate) prefix: u32,
    /// Where the local part begins.
    pub(crate) local: u32,
    /// As an attribute it declares a namespace (for `prefix`).
    pub(crate) xmlns: bool,
    /// It is declared as an attribute of a type other than CDATA.
    pub(crate) tokenized: bool,
    pub(crate) defaults: Vec<DefaultAtt>,
    pub(crate) id_att: u32,
    /// The innermost binding of the prefix.
    pub(crate) binding: u32,
    /// The tag that had it last as an attribute.
    pub(crate) stamp: u32,
    /// The expanded name, for this number of a namespace.
    pub(crate) expanded: (u32, Text),
}

impl Entry {
    pub(crate) fn str(&self) -> Str {
        self.text.as_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[..self.text.len() - 1]
    }
}

/// The longest name that is compared as one word.
pub(crate) const SHORT: usize = 16;

/// Masks of the first bytes of a word.
const MASKS: [u128; SHORT + 1] = {
    let mut masks = [0; SHORT + 1];
    let mut len = 1;
    while len <= SHORT {
        masks[len] = u128::MAX >> (128 - 8 * len);
        len += 1;
    }
    masks
};

/// `bytes[from..end]` as a word with zeros behind; none if that is longer than [`SHORT`], empty, or too near the end of
/// `bytes`.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], from: usize, end: usize) -> Option<u128> {
    let len = end.wrapping_sub(from);
    if !(1..=SHORT).contains(&len) {
        return None;
    }
    let (bytes, _) = bytes.get(from..)?.split_first_chunk::<SHORT>()?;
    Some(u128::from_le_bytes(*bytes) & MASKS[len])
}

/// Slots of [`Names::recent`].
const RECENT: usize = 64;

/// Names by number.
#[derive(Clone)]
pub(crate) struct Names {
    /// Short names that were looked up last: the word ([`word`]; 0: free) and the number.
    recent: Box<[(u128, u32); RECENT]>,
    table: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
    /// Bytes of all expanded names.
    pub(crate) expanded: usize,
    namespaces: bool,
    pub(crate) seed: u64,
}

/// The entry of no prefix.
pub(crate) const DEFAULT: u32 = 0;

impl Names {
    pub(crate) fn new(namespaces: bool, seed: u64) -> Names {
        let mut names = Names {
            recent: Box::new([(0, 0); RECENT]),
            table: vec![NONE; 64],
            entries: vec![],
            expanded: 0,
            namespaces,
            seed,
        };
        names.intern(b"");
        names
    }

    #[cold]
    pub(crate) fn forget_expanded(&mut self) {
        for entry in &mut self.entries {
            entry.expanded = (NONE, Box::default());
        }
        self.expanded = 0;
    }

    #[inline(always)]
    fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hash = self.seed ^ bytes.len() as u64;
        let mut mix = |word: u64| {
            let product =
                u128::from(hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            hash = product as u64 ^ (product >> 64) as u64;
        };
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            mix(u64::from_le_bytes(*word));
        }
        let mut last = 0;
        for &byte in rest {
            last = last << 8 | u64::from(byte);
        }
        mix(last);
        hash
    }

    /// The number of the name `bytes[from..end]`, and its [`word`] or 0.
    #[inline(always)]
    pub(crate) fn intern_at(&mut self, bytes: &[u8], from: usize, end: usize) -> (u32, u128) {
        let Some(word) = word(bytes, from, end) else {
            return (self.intern(&bytes[from..end]), 0);
        };
        let folded = (word as u64) ^ (word >> 64) as u64;
        let slot = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % RECENT;
        let (known, id) = self.recent[slot];
        if known == word {
            return (id, word);
        }
        let id = self.intern(&bytes[from..end]);
        self.recent[slot] = (word, id);
        (id, word)
    }

    /// The number of a name.
    #[inline(never)]
    pub(crate) fn intern(&mut self, bytes: &[u8]) -> u32 {
        let hash = self.hash(bytes);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let id = self.table[slot];
            if id == NONE {
                return self.insert(bytes, hash);
            }
            let entry = &self.entries[id as usize];
            if entry.hash == hash && entry.bytes() == bytes {
                return id;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline(never)]
    fn insert(&mut self, bytes: &[u8], hash: u64) -> u32 {
        let id = self.entries.len() as u32;
        self.entries.push(Entry {
            text: text(bytes),
            hash,
            prefix: DEFAULT,
            local: 0,
            xmlns: false,
            tokenized: false,
            defaults: vec![],
            id_att: NONE,
            binding: NONE,
            stamp: 0,
            expanded: (NONE, Box::default()),
        });
        if self.entries.len() * 2 > self.table.len() {
            self.table = vec![NONE; self.table.len() * 2];
            for id in 0..self.entries.len() as u32 {
                self.place(id);
            }
        } else {
            self.place(id);
        }
        if self.namespaces
            && let Some(colon) = bytes.iter().position(|byte| *byte == b':')
        {
            let prefix = &bytes[..colon];
            let (prefix, local) = match prefix {
                b"xmlns" => (&bytes[colon + 1..], 0),
                prefix => (prefix, colon as u32 + 1),
            };
            let of = self.intern(prefix);
            let entry = &mut self.entries[id as usize];
            entry.xmlns = local == 0;
            (entry.prefix, entry.local) = (of, local);
        } else if self.namespaces && bytes == b"xmlns" {
            self.entries[id as usize].xmlns = true;
        }
        id
    }

    fn place(&mut self, id: u32) {
        let mask = self.table.len() - 1;
        let mut slot = self.entries[id as usize].hash as usize & mask;
        while self.table[slot] != NONE {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = id;
    }
}

/// An entity.
#[derive(Clone, Default)]
pub(crate) struct Entity {
    pub(crate) name: Text,
    pub(crate) text: Option<Arc<[u8]>>,
    pub(crate) base: Option<Text>,
    pub(crate) system: Option<Text>,
    pub(crate) public: Option<Text>,
    pub(crate) notation: Option<Text>,
    pub(crate) open: bool,
    pub(crate) is_param: bool,
    /// Declared in the document itself.
    pub(crate) is_internal: bool,
    /// Bytes of its text before the place where parsing was suspended.
    pub(crate) processed: usize,
}

// `Box`: pointers to entities stay valid as the map grows.
#[allow(clippy::vec_box, reason = "addresses are kept")]
pub(crate) type Entities = HashMap<Vec<u8>, Box<Entity>>;

/// One part of a content model that is being read.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) kind: i32,
    pub(crate) quant: i32,
    pub(crate) name: Option<u32>,
    pub(crate) children: Vec<usize>,
}

#[derive(Clone)]
pub(crate) struct Dtd {
    pub(crate) names: Names,
    pub(crate) general: Entities,
    pub(crate) params: Entities,
    pub(crate) keep_processing: bool,
    pub(crate) has_param_refs: bool,
    pub(crate) standalone: bool,
    pub(crate) param_read: bool,
    pub(crate) in_element: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) open_parts: Vec<usize>,
    /// Values of entities that wait for an external one within them.
    pub(crate) pending_value: Vec<Vec<u8>>,
}

impl Dtd {
    pub(crate) fn new(namespaces: bool, seed: u64) -> Dtd {
        Dtd {
            names: Names::new(namespaces, seed),
            general: HashMap::new(),
            params: HashMap::new(),
            keep_processing: true,
            has_param_refs: false,
            standalone: false,
            param_read: false,
            in_element: false,
            parts: vec![],
            open_parts: vec![],
            pending_value: vec![],
        }
    }

    /// For the parser of an external general entity.
    pub(crate) fn copy(&self) -> Dtd {
        let mut dtd = self.clone();
        for entry in &mut dtd.names.entries {
            (entry.binding, entry.stamp) = (NONE, 0);
        }
        dtd.names.forget_expanded();
        for entity in dtd.general.values_mut().chain(dtd.params.values_mut()) {
            entity.open = false;
        }
        dtd
    }
}
