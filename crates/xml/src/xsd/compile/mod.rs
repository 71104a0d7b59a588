//! From schema documents to components.
//!
//! 1. `load`: documents are read, checked against `grammar`, and their global components registered.
//! 2. `simple`, `complex`, `declaration`: components are built, types when something refers to them first.
//! 3. `finish`: what needs all of them: substitution groups, values, `particle`'s automata, restrictions, identity constraints.

mod builtin;
mod complex;
mod declaration;
mod finish;
mod grammar;
mod identity;
mod load;
pub(crate) mod particle;
mod restriction;
mod simple;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::components::*;
use super::dom::Node;
use super::error::{SchemaError, SchemaRule};
use super::names::{NONE, Names, SymbolMap, XS};
use super::value::{Primitive, qname};
pub(super) use load::Resolver;
use particle::{Particle, Term, UNBOUNDED};

/// Faults that are reported.
const MAX_ERRORS: usize = 100;
/// Derivations, groups and documents within each other.
const MAX_DEPTH: u32 = 100;
/// Components of one kind.
const MAX_COMPONENTS: usize = 1 << 20;

/// A node of a document, in the definition of a global component (`own`, or [`NONE`]).
#[derive(Clone, Copy, Debug)]
struct Source {
    document: usize,
    node: usize,
    own: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Element,
    Attribute,
    Type,
    Group,
    AttributeGroup,
    Notation,
}

/// A global component.
struct Decl {
    kind: Kind,
    symbol: u32,
    source: Source,
    /// The one that this one redefines, or [`NONE`].
    redefines: u32,
    /// Its number in the components.
    id: u32,
    group: Group,
}

enum Group {
    Open,
    Busy,
    Failed,
    Model(Rc<Particle>),
    Attributes(Rc<AttributeSet>),
}

/// Attributes of a type or a group.
#[derive(Clone, Default)]
struct AttributeSet {
    uses: Vec<AttributeUse>,
    /// Attributes that a restriction leaves out, by symbol.
    prohibited: Vec<u32>,
    wildcard: Option<Wildcard>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Busy,
    Done,
}

/// A type that is compiled.
struct Slot {
    state: State,
    source: Source,
    content: PreContent,
}

/// The content of a complex type before automata are made.
#[derive(Clone)]
enum PreContent {
    Empty,
    Simple(TypeId),
    Elements(Rc<Particle>, bool),
}

/// What is known of an element beside its component.
struct ElementInfo {
    source: Source,
    /// Its type is that of its head.
    has_type_of_head: bool,
    /// Default or fixed, as it was written.
    value: Option<(bool, String)>,
}

struct AttributeInfo {
    source: Source,
    value: Option<(bool, String)>,
}

pub(super) struct Compiler {
    c: Components,
    documents: Vec<load::Document>,
    declarations: Vec<Decl>,
    globals: HashMap<(Kind, u32), u32>,
    builtins: HashMap<u32, TypeId>,
    slots: Vec<Slot>,
    element_infos: Vec<ElementInfo>,
    attribute_infos: Vec<AttributeInfo>,
    /// Types that nothing has compiled yet.
    queue: Vec<TypeId>,
    depth: u32,
    errors: Vec<SchemaError>,
}

const NOWHERE: Source = Source { document: 0, node: 0, own: NONE };

pub(super) fn compile(root: &[u8], resolver: Resolver<'_>) -> Result<Components, Vec<SchemaError>> {
    let mut compiler = Compiler {
        c: Components {
            names: Names::new(),
            types: Vec::new(),
            elements: Vec::new(),
            attributes: Vec::new(),
            wildcards: Vec::new(),
            models: Vec::new(),
            constraints: Vec::new(),
            global_elements: SymbolMap::default(),
            global_attributes: SymbolMap::default(),
            global_types: SymbolMap::default(),
            notations: HashSet::new(),
        },
        documents: Vec::new(),
        declarations: Vec::new(),
        globals: HashMap::new(),
        builtins: HashMap::new(),
        slots: Vec::new(),
        element_infos: Vec::new(),
        attribute_infos: Vec::new(),
        queue: Vec::new(),
        depth: 0,
        errors: Vec::new(),
    };
    compiler.begin();
    compiler.load_all(root, resolver);
    compiler.globals();
    compiler.finish();
    if compiler.errors.is_empty() { Ok(compiler.c) } else { Err(compiler.errors) }
}

impl Compiler {
    /// The ur-types and the built-in types.
    fn begin(&mut self) {
        let xs = self.c.names.namespace(XS);
        self.c.wildcards.push(Wildcard { namespaces: Namespaces::Any, process: Process::Lax });
        let any = Rc::new(Particle::new(0, UNBOUNDED, Term::Wildcard(0)));
        let complex = ComplexType {
            is_abstract: false,
            block: 0,
            content: Content::Empty,
            uses: Vec::new(),
            by_symbol: SymbolMap::default(),
            expected: Vec::new(),
            expected_bits: 0,
            any_attribute: Some(0),
        };
        let definition = Definition::Complex(complex);
        let any_type =
            Type { symbol: NONE, base: ANY_TYPE, method: RESTRICTION, final_: 0, definition };
        let simple = SimpleType::new(Variety::Atomic(Primitive::AnySimple), White::Preserve);
        let definition = Definition::Simple(simple);
        let any_simple =
            Type { symbol: NONE, base: ANY_TYPE, method: RESTRICTION, final_: 0, definition };
        let mut all =
            vec![("anyType".to_owned(), any_type), ("anySimpleType".to_owned(), any_simple)];
        let mut next = 2;
        builtin::types(|name, one| {
            all.push((name.to_owned(), one));
            next += 1;
            next - 1
        });
        for (name, one) in all {
            let symbol = self.c.names.symbol(xs, &name);
            self.builtins.insert(symbol, self.c.types.len() as TypeId);
            self.c.types.push(Type { symbol, ..one });
            let content = PreContent::Empty;
            self.slots.push(Slot { state: State::Done, source: NOWHERE, content });
        }
        self.slots[ANY_TYPE as usize].content = PreContent::Elements(any, true);
    }

    /// Every global component.
    fn globals(&mut self) {
        for number in 0..self.declarations.len() {
            let Decl { kind, source, id, .. } = self.declarations[number];
            match kind {
                Kind::Element => self.fill_element(id, source),
                Kind::Attribute => self.fill_attribute(id, source),
                Kind::Type => self.ensure(id),
                Kind::Group => {
                    self.model_of(number as u32, source);
                }
                Kind::AttributeGroup => {
                    self.attributes_of(number as u32, source);
                }
                Kind::Notation => {
                    let node = self.node(source);
                    if node.attribute("public").is_none() && node.attribute("system").is_none() {
                        self.report(
                            source,
                            SchemaRule::NPropsCorrect,
                            "a notation without identifiers".to_owned(),
                        );
                    }
                    self.c.notations.insert(self.declarations[number].symbol);
                }
            }
        }
        while let Some(one) = self.queue.pop() {
            self.ensure(one);
        }
    }

    fn node(&self, source: Source) -> &Node {
        &self.documents[source.document].dom.nodes[source.node]
    }

    /// The children that are not annotations.
    fn children(&self, source: Source) -> Vec<Source> {
        let dom = &self.documents[source.document].dom;
        let all = dom.nodes[source.node].children.iter().copied();
        let wanted =
            all.filter(|it| dom.nodes[*it].uri == XS && dom.nodes[*it].local != "annotation");
        wanted.map(|node| Source { node, ..source }).collect()
    }

    fn child(&self, source: Source, local: &str) -> Option<Source> {
        self.children(source).into_iter().find(|it| self.node(*it).local == local)
    }

    fn local(&self, source: Source) -> String {
        self.node(source).local.clone()
    }

    fn report(&mut self, source: Source, rule: SchemaRule, message: String) {
        let (location, line) = match self.documents.get(source.document) {
            Some(document) => (document.location.clone(), document.dom.nodes[source.node].line),
            None => (String::new(), 0),
        };
        self.report_at(&location, line, rule, message);
    }

    fn report_at(&mut self, location: &str, line: u64, rule: SchemaRule, message: String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(SchemaError { rule, location: location.to_owned(), line, message });
        }
    }

    fn boolean(&mut self, source: Source, name: &str) -> Option<bool> {
        match self.node(source).attribute(name)? {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            other => {
                let message = format!("{name} is {other}");
                self.report(source, SchemaRule::S4sAttInvalidValue, message);
                None
            }
        }
    }

    fn one_of(
        &mut self,
        source: Source,
        name: &str,
        values: &[&'static str],
    ) -> Option<&'static str> {
        let value = self.node(source).attribute(name)?;
        let found = values.iter().copied().find(|it| *it == value);
        if found.is_none() {
            let message = format!("{name} is {value}");
            self.report(source, SchemaRule::S4sAttInvalidValue, message);
        }
        found
    }

    /// A set of derivations; `#all` are those of `all`.
    fn derivations(&mut self, source: Source, name: &str, all: u8) -> Option<u8> {
        let value = self.node(source).attribute(name)?.to_owned();
        if value == "#all" {
            return Some(all);
        }
        let mut set = 0;
        for word in value.split_ascii_whitespace() {
            let bit = match word {
                "extension" => EXTENSION,
                "restriction" => RESTRICTION,
                "substitution" => SUBSTITUTION,
                "list" => LIST,
                "union" => UNION,
                _ => 0,
            };
            if bit & all == 0 {
                self.report(source, SchemaRule::S4sAttInvalidValue, format!("{name} has {word}"));
            }
            set |= bit & all;
        }
        Some(set)
    }

    /// The symbol that a qualified name means at a node.
    fn resolve(&mut self, source: Source, text: &str) -> Option<u32> {
        let document = &self.documents[source.document];
        let scope = document.dom.scope(source.node);
        let Some((uri, local)) = qname(text.as_bytes(), &scope) else {
            self.report(
                source,
                SchemaRule::S4sAttInvalidValue,
                format!("{text} is no qualified name in scope"),
            );
            return None;
        };
        let (uri, local) = (
            String::from_utf8_lossy(uri).into_owned(),
            String::from_utf8_lossy(local).into_owned(),
        );
        let (target, is_chameleon) = (document.target, document.is_chameleon);
        let mut namespace = self.c.names.namespace(&uri);
        if uri.is_empty() && is_chameleon {
            namespace = target;
        }
        let imports = &self.documents[source.document].imports;
        if namespace != target && uri != XS && !imports.contains(&namespace) {
            let message = format!("{text}: the document does not import its namespace '{uri}'");
            self.report(source, SchemaRule::SrcResolve4, message);
            return None;
        }
        Some(self.c.names.symbol(namespace, &local))
    }

    /// The declaration that a reference means.
    fn find(&mut self, source: Source, kind: Kind, text: &str) -> Option<u32> {
        let symbol = self.resolve(source, text)?;
        let own = self.declarations.get(source.own as usize);
        let is_itself = |it: &&Decl| it.redefines != NONE && it.kind == kind && it.symbol == symbol;
        if let Some(own) = own.filter(is_itself) {
            return Some(own.redefines);
        }
        let found = self.globals.get(&(kind, symbol)).copied();
        if found.is_none() {
            let message = format!("{} is not declared", self.c.names.display(symbol));
            self.report(source, SchemaRule::SrcResolve, message);
        }
        found
    }

    /// The type that a reference means; it may not be compiled yet.
    fn find_type(&mut self, source: Source, text: &str) -> Option<TypeId> {
        let symbol = self.resolve(source, text)?;
        if let Some(known) = self.builtins.get(&symbol) {
            return Some(*known);
        }
        let number = self.find(source, Kind::Type, text)?;
        Some(self.declarations[number as usize].id)
    }

    fn new_type(&mut self, symbol: u32, source: Source) -> TypeId {
        let id = self.c.types.len() as TypeId;
        let simple = SimpleType::new(Variety::Atomic(Primitive::AnySimple), White::Preserve);
        let definition = Definition::Simple(simple);
        self.c.types.push(Type {
            symbol,
            base: ANY_SIMPLE_TYPE,
            method: RESTRICTION,
            final_: 0,
            definition,
        });
        self.slots.push(Slot { state: State::Open, source, content: PreContent::Empty });
        self.queue.push(id);
        id
    }

    fn new_element(&mut self, symbol: u32) -> u32 {
        let id = self.c.elements.len() as u32;
        self.c.elements.push(Element {
            symbol,
            type_: ANY_TYPE,
            is_nillable: false,
            is_abstract: false,
            is_global: false,
            block: 0,
            final_: 0,
            head: NONE,
            constraint: None,
            identity: Vec::new(),
        });
        self.element_infos.push(ElementInfo {
            source: NOWHERE,
            has_type_of_head: false,
            value: None,
        });
        id
    }

    fn new_attribute(&mut self, symbol: u32) -> u32 {
        let id = self.c.attributes.len() as u32;
        self.c.attributes.push(Attribute { symbol, type_: ANY_SIMPLE_TYPE, constraint: None });
        self.attribute_infos.push(AttributeInfo { source: NOWHERE, value: None });
        id
    }

    fn new_wildcard(&mut self, wildcard: Wildcard) -> u32 {
        if let Some(known) = self.c.wildcards.iter().position(|it| *it == wildcard) {
            return known as u32;
        }
        self.c.wildcards.push(wildcard);
        self.c.wildcards.len() as u32 - 1
    }

    /// Compiles a type, if that is not done.
    fn ensure(&mut self, id: TypeId) {
        let Slot { state, source, .. } = self.slots[id as usize];
        match state {
            State::Done => return,
            State::Busy => {
                let rule = match self.node(source).local == "simpleType" {
                    true => SchemaRule::StPropsCorrect2,
                    false => SchemaRule::CtPropsCorrect3,
                };
                self.report(source, rule, "a type is derived from itself".to_owned());
                return;
            }
            State::Open => {}
        }
        if self.depth >= MAX_DEPTH || self.c.types.len() > MAX_COMPONENTS {
            self.report(
                source,
                SchemaRule::LimitComponents,
                "too many or too deep derivations".to_owned(),
            );
            self.slots[id as usize].state = State::Done;
            return;
        }
        self.depth += 1;
        self.slots[id as usize].state = State::Busy;
        match self.node(source).local == "simpleType" {
            true => self.simple_type(id, source),
            false => self.complex_type(id, source),
        }
        self.slots[id as usize].state = State::Done;
        self.depth -= 1;
    }

    /// The type of an element or attribute: the attribute `type`, or a child. `None`: neither.
    fn type_of(&mut self, source: Source, both: SchemaRule) -> Option<TypeId> {
        let named = self.node(source).attribute("type").map(str::to_owned);
        let child = self.child(source, "simpleType").or_else(|| self.child(source, "complexType"));
        if named.is_some() && child.is_some() {
            self.report(source, both, "a type twice".to_owned());
        }
        match (named, child) {
            (Some(named), _) => Some(self.find_type(source, &named).unwrap_or(ANY_TYPE)),
            (None, Some(child)) => Some(self.new_type(NONE, child)),
            (None, None) => None,
        }
    }
}
