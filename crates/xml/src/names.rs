//! Names and strings as numbers: equal ones have equal numbers.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use lookaside_spec::xml::Name;

use crate::Rule;
use crate::chars;
use crate::hash::{Seeded, mix};
use crate::kernel::sixteen;

/// What a string is as a name.
const UNCHECKED: u8 = 0;
pub(crate) const PLAIN: u8 = 1;
pub(crate) const PREFIXED: u8 = 2;
pub(crate) const XMLNS: u8 = 3;
pub(crate) const XMLNS_PREFIX: u8 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    words: [u64; 2],
    len: u32,
    offset: u32,
    pub(crate) class: u8,
    pub(crate) prefix: u32,
    pub(crate) local: u32,
    /// The tag that had it last.
    pub(crate) stamp: u32,
    /// The list of attributes of the element, plus one.
    pub(crate) attlist: u32,
    /// That list has a default value, or a type other than CDATA.
    pub(crate) defaults: bool,
    /// The namespace that it is bound to, as a prefix.
    pub(crate) binding: u32,
    /// What it was resolved to last.
    cached_uri: u32,
    cached_name: u32,
    /// The same as an attribute without prefix.
    pub(crate) plain_name: u32,
}

pub(crate) const NONE: u32 = u32::MAX;
/// What the prefix `xml` is bound to.
pub(crate) const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
pub(crate) const XML_PREFIX: u32 = 1;
pub(crate) const XML_URI: u32 = 2;
pub(crate) const XMLNS_URI: u32 = 3;
pub(crate) const XMLNS_STRING: u32 = 4;

/// A name that is checked.
#[derive(Clone, Copy, Debug)]
struct Recent {
    words: [u64; 2],
    id: u32,
}

/// A name of 17 to 32 bytes that is checked.
#[derive(Clone, Copy, Debug)]
struct RecentLong {
    /// Its first 16 bytes, and its last.
    words: [[u64; 2]; 2],
    len: u32,
    id: u32,
}

#[derive(Debug)]
pub(crate) struct Names {
    namespaces: bool,
    limit: usize,
    seed: u64,
    /// Hash and number plus one.
    table: Vec<(u32, u32)>,
    pub(crate) entries: Vec<Entry>,
    /// Names of at most 16 bytes that were seen last, by [`slot`].
    recent: Box<[Recent; 512]>,
    /// Longer ones, by that of both their words.
    recent_long: Box<[RecentLong; 64]>,
    text: Vec<u8>,
    names: Vec<Name>,
    by_pair: HashMap<(u32, u32), u32, Seeded>,
    by_expanded: HashMap<(u32, u32), u32, Seeded>,
    /// The last element that had an expanded name among its attributes.
    pub(crate) stamps: Vec<u32>,
}

impl Names {
    pub(crate) fn new(namespaces: bool, limit: usize) -> Names {
        let mut names = Names {
            namespaces,
            limit,
            seed: RandomState::new().build_hasher().finish() | 1,
            table: vec![(0, 0); 256],
            entries: vec![],
            recent: Box::new([Recent { words: [u64::MAX; 2], id: 0 }; 512]),
            recent_long: Box::new([RecentLong { words: [[0; 2]; 2], len: 0, id: 0 }; 64]),
            text: vec![],
            names: vec![],
            by_pair: HashMap::default(),
            by_expanded: HashMap::default(),
            stamps: vec![],
        };
        let fixed = ["", "xml", XML_NAMESPACE, "http://www.w3.org/2000/xmlns/", "xmlns"];
        for text in fixed {
            names.string(text.as_bytes());
        }
        names.entries[XML_PREFIX as usize].binding = XML_URI;
        names.entries[XMLNS_STRING as usize].binding = XMLNS_URI;
        names
    }

    pub(crate) fn memory(&self) -> usize {
        self.text.len() + self.entries.len() * 96 + self.names.len() * 80
    }

    pub(crate) fn bytes(&self, id: u32) -> &[u8] {
        self.entries.get(id as usize).map_or(&[], |entry| {
            &self.text[entry.offset as usize..entry.offset as usize + entry.len as usize]
        })
    }

    pub(crate) fn name(&self, id: u32) -> Option<&Name> {
        self.names.get(id as usize)
    }

    /// Bytes of string `id`.
    #[inline(always)]
    pub(crate) fn len(&self, id: u32) -> usize {
        self.entries[id as usize].len as usize
    }

    /// Whether the text of string `id` is `bytes[from..end]`.
    #[inline(always)]
    pub(crate) fn is(&self, id: u32, bytes: &[u8], from: usize, end: usize) -> bool {
        let entry = &self.entries[id as usize];
        let len = end - from;
        if entry.len as usize != len {
            return false;
        }
        if len <= 16 {
            entry.words == load(bytes, from, len)
        } else {
            self.is_long(id, bytes, from, end)
        }
    }

    #[inline(always)]
    fn hash(&self, words: [u64; 2], bytes: &[u8]) -> u32 {
        let mut hash = mix(
            words[0] ^ self.seed,
            words[1] ^ 0x9e37_79b9_7f4a_7c15 ^ (bytes.len() as u64) << 56,
        );
        if bytes.len() > 16 {
            // What the last word has of the others changes nothing.
            let last = bytes.last_chunk().into_iter();
            for word in bytes[16..].as_chunks().0.iter().chain(last) {
                hash = mix(hash ^ u64::from_le_bytes(*word), self.seed ^ 0xd6e8_feb8_6659_fd93);
            }
        }
        (hash ^ hash >> 32) as u32
    }

    /// The number of a string.
    pub(crate) fn string(&mut self, bytes: &[u8]) -> u32 {
        self.find(bytes, 0, bytes.len())
    }

    #[inline(always)]
    fn find(&mut self, bytes: &[u8], from: usize, end: usize) -> u32 {
        let text = &bytes[from..end];
        let words = load(bytes, from, text.len().min(16));
        let hash = self.hash(words, text);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (known, id) = self.table[slot];
            if id == 0 {
                return self.insert(words, hash, text);
            }
            if known == hash {
                let entry = &self.entries[id as usize - 1];
                if entry.len as usize == text.len()
                    && entry.words == words
                    && (text.len() <= 16 || self.bytes(id - 1) == text)
                {
                    return id - 1;
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, words: [u64; 2], hash: u32, text: &[u8]) -> u32 {
        if self.entries.len() * 2 >= self.table.len() {
            let old = std::mem::take(&mut self.table);
            self.table = vec![(0, 0); old.len() * 2];
            for entry in old.into_iter().filter(|entry| entry.1 != 0) {
                self.place(entry);
            }
        }
        let id = self.entries.len() as u32;
        self.place((hash, id + 1));
        self.entries.push(Entry {
            words,
            len: text.len() as u32,
            offset: self.text.len() as u32,
            class: UNCHECKED,
            cached_uri: NONE,
            plain_name: NONE,
            ..Entry::default()
        });
        self.text.extend(text);
        id
    }

    fn place(&mut self, entry: (u32, u32)) {
        let mask = self.table.len() - 1;
        let mut slot = entry.0 as usize & mask;
        while self.table[slot].1 != 0 {
            slot = (slot + 1) & mask;
        }
        self.table[slot] = entry;
    }

    /// The number of the name `bytes[from..end]`: checked as [5] Name and, with namespaces, as QName. An error has its place.
    #[inline(always)]
    pub(crate) fn intern(
        &mut self,
        bytes: &[u8],
        from: usize,
        end: usize,
    ) -> Result<u32, (Rule, usize)> {
        // No name has a zero byte: equal words are equal lengths.
        let words = load(bytes, from, end - from);
        let recent = &self.recent[slot(words)];
        if recent.words == words { Ok(recent.id) } else { self.intern_new(bytes, from, end) }
    }

    /// As [`Names::intern`], with nothing for what is wrong.
    #[inline(always)]
    pub(crate) fn known(&mut self, bytes: &[u8], from: usize, end: usize) -> Option<u32> {
        let len = end - from;
        if let (Some([a, b]), Some([c, d])) = (sixteen(bytes, from), MASKS.get(len)) {
            let [a, b] = [a & c, b & d];
            let recent = &self.recent[slot([a, b])];
            if (recent.words[0] ^ a) | (recent.words[1] ^ b) == 0 {
                return Some(recent.id);
            }
        }
        self.intern_new(bytes, from, end).ok()
    }

    /// Where the end-tag of name `id` ends that begins at `from`, if that is so.
    #[inline(always)]
    pub(crate) fn ends(&self, id: u32, bytes: &[u8], from: usize) -> Option<usize> {
        let entry = self.entries.get(id as usize)?;
        let end = from + entry.len as usize;
        if *bytes.get(end)? != b'>' {
            return None;
        }
        let same = match (sixteen(bytes, from), MASKS.get(entry.len as usize)) {
            (Some([a, b]), Some([c, d])) => {
                (entry.words[0] ^ a & c) | (entry.words[1] ^ b & d) == 0
            }
            _ => self.is_long(id, bytes, from, end),
        };
        same.then_some(end)
    }

    /// Whether string `id` is `bytes[from..end]`. Both have the same length.
    #[inline(never)]
    fn is_long(&self, id: u32, bytes: &[u8], from: usize, end: usize) -> bool {
        let text = self.bytes(id);
        match (long(text, 0, text.len()), long(bytes, from, end)) {
            (Some(own), Some(other)) => own == other,
            _ => text == &bytes[from..end],
        }
    }

    #[inline(never)]
    fn intern_new(&mut self, bytes: &[u8], from: usize, end: usize) -> Result<u32, (Rule, usize)> {
        let len = (end - from) as u32;
        let long = long(bytes, from, end).map(|words| {
            let [[a, b], [c, d]] = words;
            (slot([a ^ c, b ^ d.rotate_left(17)]) / 8, words)
        });
        if let Some((place, words)) = long {
            let recent = &self.recent_long[place];
            if recent.words == words && recent.len == len {
                return Ok(recent.id);
            }
        }
        let id = self.find(bytes, from, end);
        if self.entries[id as usize].class == UNCHECKED {
            self.check(id).map_err(|(rule, at)| (rule, from + at))?;
        }
        if end - from <= 16 {
            let words = self.entries[id as usize].words;
            self.recent[slot(words)] = Recent { words, id };
        }
        if let Some((place, words)) = long {
            self.recent_long[place] = RecentLong { words, len, id };
        }
        Ok(id)
    }

    #[cold]
    fn check(&mut self, id: u32) -> Result<(), (Rule, usize)> {
        let text = self.bytes(id).to_vec();
        if !chars::is_name(&text) {
            return Err((Rule::Name, chars::name_fault(&text)));
        }
        if text.len() > self.limit {
            return Err((Rule::LimitName, self.limit));
        }
        let (mut class, mut prefix, mut local) = (PLAIN, 0, id);
        if self.namespaces {
            let len = chars::prefix_len(&text).map_err(|rule| (rule, 0))?;
            if len > 0 {
                prefix = self.string(&text[..len]);
                local = self.string(&text[len + 1..]);
                class = if prefix == XMLNS_STRING { XMLNS_PREFIX } else { PREFIXED };
            } else if id == XMLNS_STRING {
                class = XMLNS;
            }
        }
        let entry = &mut self.entries[id as usize];
        (entry.class, entry.prefix, entry.local) = (class, prefix, local);
        Ok(())
    }

    /// The name of an element or a prefixed attribute in namespace `uri`.
    #[inline(always)]
    pub(crate) fn resolve(&mut self, qname: u32, uri: u32) -> u32 {
        let entry = &self.entries[qname as usize];
        if entry.cached_uri == uri { entry.cached_name } else { self.resolve_new(qname, uri) }
    }

    /// The name of an attribute without prefix.
    #[inline(always)]
    pub(crate) fn plain(&mut self, qname: u32) -> u32 {
        let name = self.entries[qname as usize].plain_name;
        if name != NONE {
            return name;
        }
        let name = self.pair(qname, 0);
        self.entries[qname as usize].plain_name = name;
        name
    }

    #[cold]
    fn resolve_new(&mut self, qname: u32, uri: u32) -> u32 {
        let name = self.pair(qname, uri);
        let entry = &mut self.entries[qname as usize];
        (entry.cached_uri, entry.cached_name) = (uri, name);
        name
    }

    fn pair(&mut self, qname: u32, uri: u32) -> u32 {
        if let Some(&id) = self.by_pair.get(&(qname, uri)) {
            return id;
        }
        let Entry { prefix, local, .. } = self.entries[qname as usize];
        let next = self.stamps.len() as u32;
        let expanded = *self.by_expanded.entry((uri, local)).or_insert(next);
        if expanded == next {
            self.stamps.push(0);
        }
        let id = self.names.len() as u32;
        self.names.push(Name { qname, uri, prefix, local, expanded });
        self.by_pair.insert((qname, uri), id);
        id
    }

    /// For another document: no binding, no list of attributes.
    pub(crate) fn reset(&mut self, dtd: bool) {
        if dtd {
            self.entries.iter_mut().for_each(|entry| (entry.attlist, entry.defaults) = (0, false));
        }
    }
}

/// The first 16 bytes and the last of `bytes[from..end]`, if it has 17 to 32.
#[inline(always)]
fn long(bytes: &[u8], from: usize, end: usize) -> Option<[[u64; 2]; 2]> {
    match end - from {
        17..=32 => Some([sixteen(bytes, from)?, sixteen(bytes, end - 16)?]),
        _ => None,
    }
}

/// Where a name is kept in `recent`: a name that takes another one's place costs time, and no more.
#[inline(always)]
fn slot(words: [u64; 2]) -> usize {
    ((words[0] ^ words[1].rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// The bytes of a word that a string of so many bytes has.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut len = 1;
    while len <= 16 {
        masks[len] = if len <= 8 {
            [u64::MAX >> (64 - 8 * len), 0]
        } else {
            [u64::MAX, u64::MAX >> (128 - 8 * len)]
        };
        len += 1;
    }
    masks
};

/// The bytes of a string of `len` bytes, zeros behind it; only zeros if there are more than 16.
#[inline(always)]
fn load(bytes: &[u8], from: usize, len: usize) -> [u64; 2] {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    if let Some(near) = bytes.get(from..).and_then(|rest| rest.first_chunk::<16>()) {
        let [a, b] = MASKS.get(len).copied().unwrap_or_default();
        let words: [&[u8; 8]; 2] = [near.first_chunk().unwrap(), near.last_chunk().unwrap()];
        return [word(words[0]) & a, word(words[1]) & b];
    }
    load_near_end(bytes, from, len)
}

#[cold]
fn load_near_end(bytes: &[u8], from: usize, len: usize) -> [u64; 2] {
    let mut near = [0; 16];
    if len <= 16 {
        near[..len].copy_from_slice(&bytes[from..from + len]);
    }
    let word = |at: usize| u64::from_le_bytes(near[at..at + 8].try_into().unwrap());
    [word(0), word(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that differ in one byte or in their length alone, near the end of the window and before it: whoever finds a name finds the
    /// same number.
    #[test]
    fn names_of_every_length() {
        let mut texts = vec![];
        for len in 1..=40 {
            texts.push("a".repeat(len));
            texts.extend((0..len).map(|at| "a".repeat(at) + "b" + &"a".repeat(len - at - 1)));
        }
        let mut names = Names::new(true, 1000);
        let mut numbers: Vec<u32> = vec![];
        for round in 0..3 {
            for (n, text) in texts.iter().enumerate() {
                for behind in [1, 2, 15, 16, 40] {
                    let bytes = format!("<{text}{}", ">".repeat(behind));
                    let (bytes, end) = (bytes.as_bytes(), 1 + text.len());
                    let id = names.known(bytes, 1, end).expect("a name");
                    if numbers.len() == n {
                        assert!(round == 0 && !numbers.contains(&id), "{text}");
                        numbers.push(id);
                    }
                    assert_eq!(id, numbers[n], "{text}");
                    assert_eq!(names.intern(bytes, 1, end), Ok(id));
                    assert_eq!(names.bytes(id), text.as_bytes());
                    assert_eq!(names.ends(id, bytes, 1), Some(end));
                    let other = numbers[(n + numbers.len() / 2) % numbers.len()];
                    assert_eq!(names.ends(other, bytes, 1).is_some(), other == id, "{text}");
                }
            }
        }
    }
}
