//! Events as records of 16 bytes.

/// What a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// The XML declaration: its text between `<?xml` and `?>`.
    #[default]
    XmlDecl,
    /// `<!DOCTYPE`: fields name, public and system identifier, `[` if there is an internal subset (see [`fields`]).
    DoctypeStart,
    /// The end of the document type declaration.
    DoctypeEnd,
    /// Fields: name, content model without white space.
    ElementDecl,
    /// One attribute of a list: fields element, attribute, type, `#REQUIRED`, `#IMPLIED`, `#FIXED` or nothing, value.
    AttributeDecl,
    /// Fields: `%` or nothing, name, value, public, system identifier, notation. Those that it lacks are empty;
    /// flags say which value is meant.
    EntityDecl,
    /// Fields: name, public, system identifier.
    NotationDecl,
    /// A start-tag. `name` is its [`Name`](super::Name), `count` how many attributes and namespaces follow, `offset` its place.
    StartElement,
    /// An attribute of the element before: `name`, and the value.
    Attribute,
    /// A namespace declared by the element before: `name` is the number of its prefix (a string; 0: the default namespace), its text
    /// the URI.
    Namespace,
    /// An end. `count` namespaces end with it, `offset` is its place.
    EndElement,
    /// Characters. A run of text may arrive in several records. `name` is its place.
    Text,
    /// `<![CDATA[`.
    CdataStart,
    /// `]]>`.
    CdataEnd,
    /// A comment.
    Comment,
    /// A processing instruction: `name` is the number of its target (a string), its text the data.
    Pi,
    /// The replacement text of an entity begins: `name` is its string.
    EntityStart,
    /// It ends.
    EntityEnd,
    /// A reference to an entity that was not read: `name` is its string, `count` 1 if it is declared.
    SkippedEntity,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: &[Kind] = &[
        Kind::XmlDecl,
        Kind::DoctypeStart,
        Kind::DoctypeEnd,
        Kind::ElementDecl,
        Kind::AttributeDecl,
        Kind::EntityDecl,
        Kind::NotationDecl,
        Kind::StartElement,
        Kind::Attribute,
        Kind::Namespace,
        Kind::EndElement,
        Kind::Text,
        Kind::CdataStart,
        Kind::CdataEnd,
        Kind::Comment,
        Kind::Pi,
        Kind::EntityStart,
        Kind::EntityEnd,
        Kind::SkippedEntity,
    ];
}

/// The text lies with the other texts that were changed (`Output::bytes`; in a destination behind the records), not in
/// what was parsed.
pub const IN_BYTES: u8 = 1;
/// The attribute comes from the DTD, or the entity has a value.
pub const DEFAULTED: u8 = 2;
/// The text stands in a CDATA section.
pub const CDATA: u8 = 4;
/// The element is empty (`<a/>`).
pub const EMPTY: u8 = 8;

/// One event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    /// What it is.
    pub kind: Kind,
    /// [`IN_BYTES`] and the others.
    pub flags: u8,
    /// See [`Kind`].
    pub count: u16,
    /// A number of a name or a string; of text the low 32 bits of its place in the parsed bytes.
    pub name: u32,
    /// Where the text lies; of elements the low 32 bits of their place.
    pub offset: u32,
    /// Bytes of text.
    pub len: u32,
}

impl Record {
    /// Bytes of a record in a destination: kind and flags, a byte each; the count, 16 bits; the name, the offset and the
    /// length, 32 bits each; all little-endian.
    pub const BYTES: usize = 16;

    /// The record as bytes.
    #[inline(always)]
    pub fn to_bytes(self) -> [u8; Record::BYTES] {
        let low = u64::from(self.kind as u8)
            | u64::from(self.flags) << 8
            | u64::from(self.count) << 16
            | u64::from(self.name) << 32;
        let high = u64::from(self.offset) | u64::from(self.len) << 32;
        (u128::from(low) | u128::from(high) << 64).to_le_bytes()
    }

    /// The record of these bytes; `None` for a kind that does not exist.
    pub fn from_bytes(bytes: &[u8; Record::BYTES]) -> Option<Record> {
        let all = u128::from_le_bytes(*bytes);
        let kind = *Kind::ALL.get(usize::from(all as u8))?;
        Some(Record {
            kind,
            flags: (all >> 8) as u8,
            count: (all >> 16) as u16,
            name: (all >> 32) as u32,
            offset: (all >> 64) as u32,
            len: (all >> 96) as u32,
        })
    }

    /// The text; empty for kinds without one. `chunk` is what was parsed, `bytes` the texts that lie elsewhere.
    pub fn text<'t>(&self, chunk: &'t [u8], bytes: &'t [u8]) -> &'t [u8] {
        if matches!(self.kind, Kind::StartElement | Kind::EndElement) {
            return &[];
        }
        let from = if self.flags & IN_BYTES != 0 { bytes } else { chunk };
        from.get(self.offset as usize..self.offset as usize + self.len as usize).unwrap_or(&[])
    }
}

/// The fields of a declaration's record: each follows its length in four bytes, little-endian.
pub fn fields(mut text: &[u8]) -> Vec<&[u8]> {
    let mut all = vec![];
    while let Some((len, rest)) = text.split_first_chunk::<4>() {
        let len = (u32::from_le_bytes(*len) as usize).min(rest.len());
        all.push(&rest[..len]);
        text = &rest[len..];
    }
    all
}

/// The events that a request has written: records, and behind them the texts that are not as in the source.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a> {
    records: &'a [[u8; Record::BYTES]],
    texts: &'a [u8],
    source: &'a [u8],
}

impl<'a> Events<'a> {
    /// `written` are the first [`Done::produced`](crate::Done::produced) bytes of the destination, `count` is
    /// [`Done::checksum`](crate::Done::checksum), and `source` what was parsed. A count that does not fit is cut.
    pub fn new(written: &'a [u8], count: u64, source: &'a [u8]) -> Events<'a> {
        let all = written.as_chunks().0;
        let count = usize::try_from(count).map_or(all.len(), |count| count.min(all.len()));
        Events { records: &all[..count], texts: &written[count * Record::BYTES..], source }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = (Record, &'a [u8]);

    /// The next event with its text.
    fn next(&mut self) -> Option<(Record, &'a [u8])> {
        let (first, rest) = self.records.split_first()?;
        self.records = rest;
        let record = Record::from_bytes(first)?;
        Some((record, record.text(self.source, self.texts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_their_record() {
        for (number, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
            let record = Record {
                kind,
                flags: IN_BYTES | CDATA,
                count: 0x1234,
                name: 0x5678_9abc,
                offset: 0xdef0_1234,
                len: u32::MAX - number as u32,
            };
            assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes(&[Kind::ALL.len() as u8; 16]), None);
    }
}
