//! The event format: records of 16 bytes.

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
    /// A start-tag. `name` is its [`Name`](crate::Name), `count` how many attributes and namespaces follow, `offset` its place.
    StartElement,
    /// An attribute of the element before: `name`, and the value.
    Attribute,
    /// A namespace declared by the element before: `name` is the string of the prefix (0: the default), the text the URI.
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
    /// A processing instruction: `name` is the string of the target, the text its data.
    Pi,
    /// The replacement text of an internal entity begins: `name` is its string.
    EntityStart,
    /// It ends.
    EntityEnd,
    /// A reference to an entity that was not read: `name` is its string, `count` 1 if it is declared.
    SkippedEntity,
}

/// The text lies in [`Output::bytes`], not in the chunk.
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

/// Where records go.
#[derive(Debug)]
pub struct Output<'a> {
    /// Places for records.
    pub records: &'a mut [Record],
    /// How many are filled.
    pub len: usize,
    /// Text that is not as in the chunk. It grows; the caller clears it together with the records.
    pub bytes: &'a mut Vec<u8>,
}

impl<'a> Output<'a> {
    /// An empty output.
    pub fn new(records: &'a mut [Record], bytes: &'a mut Vec<u8>) -> Output<'a> {
        Output { records, len: 0, bytes }
    }

    /// The records so far.
    pub fn filled(&self) -> &[Record] {
        &self.records[..self.len]
    }

    /// The text of a record; `chunk` is what [`Parser::feed`](crate::Parser::feed) had.
    pub fn text<'t>(&'t self, record: &Record, chunk: &'t [u8]) -> &'t [u8] {
        record.text(chunk, self.bytes)
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.records.len()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, record: Record) {
        self.records[self.len] = record;
        self.len += 1;
    }
}

impl Record {
    /// The text; empty for kinds without one.
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

pub(crate) fn pack(parts: &[&[u8]]) -> Vec<u8> {
    let mut text = vec![];
    for part in parts {
        text.extend((part.len() as u32).to_le_bytes());
        text.extend(*part);
    }
    text
}
