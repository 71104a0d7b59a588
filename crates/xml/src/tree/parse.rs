//! A tree from a document's bytes, and what is kept from one document to the next.
//!
//! The parser's records become nodes, a batch at a time. Texts that are not as in the document go where the tree keeps them at
//! once: the parser writes them there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::names::Names;
use super::{Kind as Type, Name, NameId, Node, OWN, Record as Entry, Tree, TreeError};
use crate::kernel::checked;
use crate::{Error, IN_BYTES, Kind, Output, Parser, Record, Session, Status, fields};

/// Records that become nodes together: they stay in the first cache.
const BATCH: usize = 1024;
/// With more names than this, a table that other trees have is not copied but begun anew.
const MANY_NAMES: usize = 1024;
/// No number of a name.
const UNKNOWN: u32 = u32::MAX;

/// Why a document has no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It is not well-formed, or beyond a limit of the session.
    Document(Error),
    /// It is too large for a tree.
    Tree(TreeError),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParseError::Document(e) => e.fmt(f),
            ParseError::Tree(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ParseError {}

impl From<TreeError> for ParseError {
    fn from(e: TreeError) -> ParseError {
        ParseError::Tree(e)
    }
}

impl From<Error> for ParseError {
    fn from(e: Error) -> ParseError {
        ParseError::Document(e)
    }
}

impl<'d> Tree<'d> {
    /// Parses a whole document. Entities outside of the document are not read; a reference to one that is declared leaves
    /// nothing. For many documents there is [`Trees`].
    pub fn parse(document: &'d [u8], session: &Session) -> Result<Tree<'d>, ParseError> {
        Trees::new(session).parse(document)
    }
}

/// Makes trees of one document after the other: keeps the parser with its names, and the memory of trees that are given back.
///
/// ```
/// use lookaside_simd::Cpu;
/// use lookaside_xml::Session;
/// use lookaside_xml::tree::{Node, Trees};
///
/// let mut trees = Trees::new(&Session::new(Cpu::host()));
/// for (document, nodes) in [("<a>1</a>", 3), ("<a x='2'/>", 3), ("<b/>", 2)] {
///     let tree = trees.parse(document.as_bytes())?;
///     assert_eq!(tree.subtree(Node::DOCUMENT).len(), nodes);
///     trees.give_back(tree);
/// }
/// # Ok::<(), lookaside_xml::tree::ParseError>(())
/// ```
pub struct Trees {
    parser: Parser,
    records: Box<[Record]>,
    names: Numbers,
    /// Memory of trees that were given back.
    nodes: Vec<Entry>,
    own: Vec<u8>,
    /// Memory for a text of several pieces.
    text: Vec<u8>,
}

/// The names of trees, and which of them are the parser's.
struct Numbers {
    table: Arc<Names>,
    /// Numbers in the table of the parser's names and strings.
    names: Vec<u32>,
    strings: Vec<u32>,
}

impl Trees {
    /// Before the first document.
    pub fn new(session: &Session) -> Trees {
        let mut parser = Parser::new(session);
        parser.joins = true;
        Trees {
            parser,
            records: vec![Record::default(); BATCH].into(),
            names: Numbers::new(),
            nodes: vec![],
            own: vec![],
            text: vec![],
        }
    }

    /// Parses a whole document, as [`Tree::parse`]. A tree shares its names with those made before and after it.
    pub fn parse<'d>(&mut self, document: &'d [u8]) -> Result<Tree<'d>, ParseError> {
        u32::try_from(document.len()).map_err(|_| TreeError::Bytes)?;
        let renewed = !self.parser.reset();
        self.names.begin(renewed);
        let mut nodes = std::mem::take(&mut self.nodes);
        let is_fresh = nodes.capacity() == 0;
        if is_fresh {
            // So that few copies are made while it grows: documents have a node for 8 bytes to 600. Memory that is not
            // touched costs nothing.
            nodes.reserve(16.max(document.len() / 16));
        }
        nodes.clear();
        nodes.push(Entry::new(Type::Document, NameId(0), 0, 1, 0));
        let mut reader = Reader {
            document,
            nodes,
            own: std::mem::take(&mut self.own),
            text: std::mem::take(&mut self.text),
            names: &mut self.names,
            last: Last::Other,
            element: 0,
            element_name: 0,
            is_mixed: false,
            in_doctype: false,
            id_types: HashSet::new(),
            ids: HashMap::new(),
        };
        reader.own.clear();
        let done = reader.read(&mut self.parser, &mut self.records);
        let Reader { mut nodes, own, text, ids, .. } = reader;
        self.text = text;
        if let Err(e) = done {
            (self.nodes, self.own) = (nodes, own);
            return Err(e);
        }
        if is_fresh && nodes.len() < nodes.capacity() / 2 {
            nodes.shrink_to_fit();
        }
        // Of a document in another encoding all values are its own.
        let document = if self.parser.input.is_utf8() { checked(document) } else { "" };
        let names = self.names.table.clone();
        Ok(Tree { document, own, records: nodes, names, ids })
    }

    /// Takes the memory of a tree for the next one.
    pub fn give_back(&mut self, tree: Tree<'_>) {
        let Tree { records, own, .. } = tree;
        if records.capacity() > self.nodes.capacity() {
            self.nodes = records;
        }
        if own.capacity() > self.own.capacity() {
            self.own = own;
        }
    }
}

impl Numbers {
    fn new() -> Numbers {
        Numbers { table: Arc::new(Names::new()), names: vec![], strings: vec![] }
    }

    /// Before a document. `renewed`: the parser's numbers begin anew.
    fn begin(&mut self, renewed: bool) {
        let is_copied = self.table.len() > MANY_NAMES && Arc::get_mut(&mut self.table).is_none();
        if renewed || is_copied {
            *self = Numbers::new();
        }
    }

    /// The number of the parser's name.
    #[inline(always)]
    fn name(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        match self.names.get(number as usize) {
            Some(known) if *known != UNKNOWN => Ok(NameId(*known)),
            _ => self.new_name(parser, number),
        }
    }

    #[cold]
    fn new_name(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        let text = |id: u32| std::str::from_utf8(parser.string(id)).unwrap_or("");
        let parts = parser.name(number).map(|name| Name {
            prefix: text(name.prefix),
            local: text(name.local),
            uri: text(name.uri),
        });
        let name = parts.unwrap_or(Name { prefix: "", local: "", uri: "" });
        let id = Arc::make_mut(&mut self.table).intern(name)?;
        set(&mut self.names, number, id);
        Ok(id)
    }

    /// The number of a name of a string of the parser: a target or a prefix.
    fn string(&mut self, parser: &Parser, number: u32) -> Result<NameId, TreeError> {
        if let Some(known) = self.strings.get(number as usize).filter(|known| **known != UNKNOWN) {
            return Ok(NameId(*known));
        }
        let local = std::str::from_utf8(parser.string(number)).unwrap_or("");
        let id = Arc::make_mut(&mut self.table).intern(Name { prefix: "", local, uri: "" })?;
        set(&mut self.strings, number, id);
        Ok(id)
    }
}

fn set(numbers: &mut Vec<u32>, number: u32, id: NameId) {
    let index = number as usize;
    if numbers.len() <= index {
        numbers.resize(index + 1, UNKNOWN);
    }
    numbers[index] = id.0;
}

/// What the last node is to characters that follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Other,
    /// A text, which they continue.
    Text,
    /// The same, of several pieces: its bytes are in `Reader::text` until it ends.
    Pieces,
}

/// One document on its way to a tree.
struct Reader<'a> {
    document: &'a [u8],
    nodes: Vec<Entry>,
    own: Vec<u8>,
    text: Vec<u8>,
    names: &'a mut Numbers,
    last: Last,
    /// The innermost open element.
    element: u32,
    /// The parser's number of the name of the element that began last.
    element_name: u32,
    /// It declares a namespace behind an attribute.
    is_mixed: bool,
    in_doctype: bool,
    /// Element and attribute of each attribute of type ID, by their names as written.
    id_types: HashSet<(Vec<u8>, Vec<u8>)>,
    ids: HashMap<String, Node>,
}

impl Reader<'_> {
    fn read(&mut self, parser: &mut Parser, records: &mut [Record]) -> Result<(), ParseError> {
        let mut chunk = self.document;
        loop {
            let mut out = Output::new(records, &mut self.own);
            let progress = parser.feed(chunk, true, &mut out);
            let filled = out.len;
            // Places in the tree's own memory have 32 bits.
            u32::try_from(self.own.len()).map_err(|_| TreeError::Bytes)?;
            let base = self.document.len() - chunk.len();
            self.records(parser, &records[..filled], base as u32)?;
            chunk = &chunk[progress.consumed..];
            match progress.status {
                Status::Full => {}
                Status::Finished => break,
                Status::NeedInput => unreachable!("the document is whole"),
                Status::Failed(error) => return Err(error.into()),
            }
        }
        self.nodes[0].start = self.nodes.len() as u32;
        Ok(())
    }

    fn records(&mut self, parser: &Parser, records: &[Record], base: u32) -> Result<(), TreeError> {
        let mut nodes = std::mem::take(&mut self.nodes);
        let mut at = nodes.len();
        // A node for each record at most. So that the number behind the last one is a number, too.
        if u32::try_from(at + records.len()).is_err() {
            return Err(TreeError::Nodes);
        }
        nodes.resize(at + records.len(), Entry::new(Type::Document, NameId(0), 0, 0, 0));
        let (mut element, mut lengths) = (self.element, 0);
        let place = |kind: Type, name: NameId, parent: u32, record: &Record| {
            let is_own = record.flags & IN_BYTES != 0;
            let start = record.offset.wrapping_add(if is_own { 0 } else { base });
            let len = record.len | if is_own { OWN } else { 0 };
            Entry::new(kind, name, parent, start, len)
        };
        for record in records {
            if self.is_mixed && !matches!(record.kind, Kind::Attribute | Kind::Namespace) {
                self.is_mixed = false;
                sort_owned(&mut nodes[element as usize + 1..at]);
            }
            lengths |= record.len;
            match record.kind {
                Kind::StartElement => {
                    self.end_text(&mut nodes[..at])?;
                    let name = self.names.name(parser, record.name)?;
                    nodes[at] = Entry::new(Type::Element, name, element, 0, record.count.into());
                    element = at as u32;
                    self.element_name = record.name;
                    at += 1;
                }
                Kind::Attribute => {
                    let name = self.names.name(parser, record.name)?;
                    nodes[at] = place(Type::Attribute, name, element, record);
                    at += 1;
                    if !self.id_types.is_empty() {
                        self.id(parser, &nodes[..at], record.name);
                    }
                }
                Kind::EndElement => {
                    self.end_text(&mut nodes[..at])?;
                    let ended = &mut nodes[element as usize];
                    ended.start = at as u32;
                    element = ended.parent;
                }
                Kind::Text if record.len == 0 => {}
                Kind::Text if self.last == Last::Other => {
                    nodes[at] = place(Type::Text, NameId(0), element, record);
                    at += 1;
                    self.last = Last::Text;
                }
                Kind::Text => {
                    let more = place(Type::Text, NameId(0), element, record);
                    self.append(&mut nodes[at - 1], more)?;
                }
                Kind::Namespace => {
                    let prefix = self.names.string(parser, record.name)?;
                    self.is_mixed |= nodes[at - 1].kind() == Type::Attribute;
                    nodes[at] = place(Type::Namespace, prefix, element, record);
                    at += 1;
                }
                Kind::Comment if !self.in_doctype => {
                    self.end_text(&mut nodes[..at])?;
                    nodes[at] = place(Type::Comment, NameId(0), element, record);
                    at += 1;
                }
                Kind::Pi if !self.in_doctype => {
                    self.end_text(&mut nodes[..at])?;
                    let target = self.names.string(parser, record.name)?;
                    nodes[at] = place(Type::Instruction, target, element, record);
                    at += 1;
                }
                Kind::DoctypeStart => self.in_doctype = true,
                Kind::DoctypeEnd => self.in_doctype = false,
                Kind::AttributeDecl => {
                    let from = record.text(&self.document[base as usize..], &self.own);
                    if let [element, attribute, b"ID", ..] = fields(from).as_slice() {
                        self.id_types.insert((element.to_vec(), attribute.to_vec()));
                    }
                }
                _ => {}
            }
        }
        if lengths & OWN != 0 {
            return Err(TreeError::Bytes);
        }
        nodes.truncate(at);
        (self.nodes, self.element) = (nodes, element);
        Ok(())
    }

    /// Notes the element of an attribute, the last node, if that is of type ID.
    #[cold]
    fn id(&mut self, parser: &Parser, nodes: &[Entry], attribute: u32) {
        let [.., last] = nodes else { return };
        let key = [self.element_name, attribute].map(|name| parser.qname(name).to_vec()).into();
        if self.id_types.contains(&key) {
            let value = String::from_utf8_lossy(self.value(last)).into_owned();
            // Of several, which only invalid documents have, the first.
            self.ids.entry(value).or_insert(Node(last.parent));
        }
    }

    fn value(&self, node: &Entry) -> &[u8] {
        let memory = if node.len & OWN != 0 { &self.own } else { self.document };
        &memory[node.start as usize..][..(node.len & !OWN) as usize]
    }

    /// More characters of the last text. Without a copy where they follow it in memory, too.
    #[inline(never)]
    fn append(&mut self, last: &mut Entry, more: Entry) -> Result<(), TreeError> {
        let (before, len) = (last.len & !OWN, more.len & !OWN);
        let whole = before.checked_add(len).filter(|len| len & OWN == 0).ok_or(TreeError::Bytes)?;
        let follows =
            (last.len ^ more.len) & OWN == 0 && last.start.checked_add(before) == Some(more.start);
        if self.last == Last::Text && !follows {
            self.last = Last::Pieces;
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            text.extend(self.value(last));
            self.text = text;
        }
        if self.last == Last::Pieces {
            let mut text = std::mem::take(&mut self.text);
            text.extend(self.value(&more));
            self.text = text;
        }
        last.len = whole | last.len & OWN;
        Ok(())
    }

    /// A text is whole when another node comes.
    #[inline(always)]
    fn end_text(&mut self, nodes: &mut [Entry]) -> Result<(), TreeError> {
        match std::mem::replace(&mut self.last, Last::Other) {
            Last::Pieces => self.end_pieces(nodes),
            _ => Ok(()),
        }
    }

    #[cold]
    fn end_pieces(&mut self, nodes: &mut [Entry]) -> Result<(), TreeError> {
        let [.., last] = nodes else { return Ok(()) };
        last.start = u32::try_from(self.own.len()).map_err(|_| TreeError::Bytes)?;
        last.len = self.text.len() as u32 | OWN;
        self.own.extend(&self.text);
        Ok(())
    }
}

/// Puts the namespaces of an element before its attributes; it has no children yet.
#[cold]
fn sort_owned(owned: &mut [Entry]) {
    owned.sort_by_key(|one| one.kind() == Type::Attribute);
}
