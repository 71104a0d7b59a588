//! Schema documents: the root, and what it includes, imports and redefines (Structures, chapter 4).

use std::collections::{HashMap, HashSet};

use super::super::components::{EXTENSION, LIST, RESTRICTION, SUBSTITUTION, UNION};
use super::super::dom::Dom;
use super::super::error::SchemaRule;
use super::super::names::{ABSENT, NONE, XS};
use super::super::value::is_ncname;
use super::{Compiler, Decl, Group, Kind, Source, grammar};
use crate::names::XML_NAMESPACE;

/// Documents of one schema.
const MAX_DOCUMENTS: usize = 10_000;

/// What an import of the namespace `xml` means where no document is found.
const XML_SCHEMA: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"
    targetNamespace="http://www.w3.org/XML/1998/namespace"><xs:attribute name="lang"><xs:simpleType>
    <xs:union memberTypes="xs:language"><xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value=""/>
    </xs:restriction></xs:simpleType></xs:union></xs:simpleType></xs:attribute><xs:attribute name="space"><xs:simpleType>
    <xs:restriction base="xs:NCName"><xs:enumeration value="default"/><xs:enumeration value="preserve"/></xs:restriction>
    </xs:simpleType></xs:attribute><xs:attribute name="base" type="xs:anyURI"/><xs:attribute name="id" type="xs:ID"/>
    <xs:attributeGroup name="specialAttrs"><xs:attribute ref="xml:base"/><xs:attribute ref="xml:lang"/>
    <xs:attribute ref="xml:space"/><xs:attribute ref="xml:id"/></xs:attributeGroup></xs:schema>"#;

pub(super) struct Document {
    pub(super) dom: Dom,
    pub(super) location: String,
    pub(super) target: u32,
    /// References without prefix in a document without target namespace that was included by one with.
    pub(super) is_chameleon: bool,
    pub(super) elements_qualified: bool,
    pub(super) attributes_qualified: bool,
    pub(super) block: u8,
    pub(super) final_: u8,
    pub(super) imports: HashSet<u32>,
}

/// Documents that were loaded, by location and target namespace.
struct Loaded<'r> {
    by_location: HashMap<(String, u32), usize>,
    root: &'r [u8],
}

/// Which components of a document another one replaces.
struct Include {
    document: usize,
    node: usize,
    is_redefine: bool,
}

pub(in super::super) type Resolver<'r> = &'r mut dyn FnMut(&str, &str) -> Option<Vec<u8>>;

/// `location` as seen from the document at `base` (RFC 3986, 5.2, for paths).
fn join(base: &str, location: &str) -> String {
    let has_scheme = location.find(':').is_some_and(|colon| !location[..colon].contains('/'));
    let Some(slash) = base.rfind('/').filter(|_| !has_scheme && !location.starts_with('/')) else {
        return location.strip_prefix("./").unwrap_or(location).to_owned();
    };
    let mut parts: Vec<&str> = base[..slash].split('/').collect();
    for part in location.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|it| !matches!(*it, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Compiler {
    pub(super) fn load_all(&mut self, root: &[u8], resolver: Resolver<'_>) {
        let mut loaded = Loaded { by_location: HashMap::new(), root };
        let Some(first) = self.open("", root, None) else { return };
        loaded.by_location.insert((String::new(), self.documents[first].target), first);
        let mut next = first;
        let mut includes: Vec<Include> = Vec::new();
        while next < self.documents.len() {
            self.follow(next, resolver, &mut loaded, &mut includes);
            next += 1;
        }
        for document in 0..self.documents.len() {
            self.register(document);
        }
        // Those that were loaded last are redefined first: a redefined document may redefine others.
        for include in includes.iter().rev().filter(|it| it.is_redefine) {
            self.redefine(include.document, include.node);
        }
    }

    /// Parses and checks a document; `includer`: the target namespace of the one that includes it.
    fn open(&mut self, location: &str, bytes: &[u8], includer: Option<u32>) -> Option<usize> {
        let dom = match Dom::parse(bytes) {
            Ok(dom) => dom,
            Err((line, message)) => {
                self.report_at(location, line, SchemaRule::S4sDocument, message);
                return None;
            }
        };
        let root = &dom.nodes[0];
        if root.uri != XS || root.local != "schema" {
            let message = format!("the root element is {}", root.local);
            self.report_at(location, root.line, SchemaRule::S4sDocument, message);
            return None;
        }
        let declared = root.attribute("targetNamespace").map(str::to_owned);
        let own = declared.as_ref().map_or(ABSENT, |uri| self.c.names.namespace(uri));
        let [elements, attributes] = ["elementFormDefault", "attributeFormDefault"]
            .map(|it| root.attribute(it) == Some("qualified"));
        let is_chameleon = declared.is_none() && includer.is_some_and(|it| it != ABSENT);
        let number = self.documents.len();
        self.documents.push(Document {
            target: if is_chameleon { includer.unwrap_or(own) } else { own },
            is_chameleon,
            elements_qualified: elements,
            attributes_qualified: attributes,
            block: 0,
            final_: 0,
            imports: HashSet::new(),
            location: location.to_owned(),
            dom,
        });
        let here = Source { document: number, node: 0, own: NONE };
        if declared.as_deref() == Some("") {
            self.report(
                here,
                SchemaRule::S4sAttInvalidValue,
                "targetNamespace is empty".to_owned(),
            );
        }
        for name in ["elementFormDefault", "attributeFormDefault"] {
            self.one_of(here, name, &["qualified", "unqualified"]);
        }
        let block = self.derivations(here, "blockDefault", EXTENSION | RESTRICTION | SUBSTITUTION);
        let final_ = self.derivations(here, "finalDefault", EXTENSION | RESTRICTION | LIST | UNION);
        self.documents[number].block = block.unwrap_or(0);
        self.documents[number].final_ = final_.unwrap_or(0);
        let mut faults = Vec::new();
        grammar::check(&self.documents[number].dom, &mut |node, rule, message| {
            faults.push((node, rule, message))
        });
        for (node, rule, message) in faults {
            self.report(Source { node, ..here }, rule, message);
        }
        Some(number)
    }

    fn follow(
        &mut self,
        document: usize,
        resolver: Resolver<'_>,
        loaded: &mut Loaded<'_>,
        includes: &mut Vec<Include>,
    ) {
        let children = self.documents[document].dom.nodes[0].children.clone();
        for node in children {
            let here = Source { document, node, own: NONE };
            let kind = self.node(here).local.clone();
            if !matches!(&*kind, "include" | "import" | "redefine") || self.node(here).uri != XS {
                continue;
            }
            if self.documents.len() >= MAX_DOCUMENTS {
                self.report(here, SchemaRule::LimitComponents, "too many documents".to_owned());
                return;
            }
            let location = self.node(here).attribute("schemaLocation").map(str::to_owned);
            let location = location.map(|it| join(&self.documents[document].location, &it));
            let target = self.documents[document].target;
            if kind == "import" {
                self.import(here, location, resolver, loaded);
                continue;
            }
            let Some(location) = location else { continue };
            let is_redefine = kind == "redefine";
            if !is_redefine && location == self.documents[document].location {
                continue;
            }
            let key = (location.clone(), target);
            let known = loaded.by_location.get(&key).copied();
            let uri = self.c.names.uri(target).to_owned();
            let number = match known {
                Some(number) => Some(number),
                None => match resolver(&uri, &location) {
                    None => {
                        let message = format!("{location} cannot be read");
                        self.report(here, SchemaRule::SrcInclude1, message);
                        None
                    }
                    // The root itself, whose location only the resolver knows.
                    Some(bytes) if bytes == loaded.root => Some(0),
                    Some(bytes) => self.open(&location, &bytes, Some(target)),
                },
            };
            let Some(number) = number else { continue };
            if self.documents[number].target != target {
                let message = format!("{location} has another target namespace");
                self.report(here, SchemaRule::SrcInclude21, message);
                continue;
            }
            loaded.by_location.insert(key, number);
            includes.push(Include { document, node, is_redefine });
        }
    }

    fn import(
        &mut self,
        here: Source,
        location: Option<String>,
        resolver: Resolver<'_>,
        loaded: &mut Loaded<'_>,
    ) {
        let uri = self.node(here).attribute("namespace").unwrap_or("").to_owned();
        let namespace = self.c.names.namespace(&uri);
        let target = self.documents[here.document].target;
        if namespace == target {
            self.report(
                here,
                SchemaRule::SrcImport1,
                "an import of the target namespace".to_owned(),
            );
            return;
        }
        self.documents[here.document].imports.insert(namespace);
        // One document for each namespace: the first one that is found.
        let key = (String::new(), namespace);
        if loaded.by_location.contains_key(&key) {
            return;
        }
        let location = location.unwrap_or_default();
        let found = resolver(&uri, &location);
        let (bytes, location) = match found {
            Some(bytes) => (bytes, location),
            None if uri == XML_NAMESPACE => {
                (XML_SCHEMA.as_bytes().to_vec(), XML_NAMESPACE.to_owned())
            }
            None => return,
        };
        let Some(number) = self.open(&location, &bytes, None) else { return };
        if self.documents[number].target != namespace {
            let message = format!("{location} has another target namespace");
            self.report(here, SchemaRule::SrcImport31, message);
            return;
        }
        loaded.by_location.insert((location, namespace), number);
        loaded.by_location.insert(key, number);
    }

    fn register(&mut self, document: usize) {
        let children = self.documents[document].dom.nodes[0].children.clone();
        for node in children {
            let here = Source { document, node, own: NONE };
            let Some((kind, symbol)) = self.named(here) else { continue };
            let number = self.declare(kind, symbol, here);
            if self.globals.insert((kind, symbol), number).is_some() {
                let message = format!("{} appears twice", self.c.names.display(symbol));
                self.report(here, SchemaRule::SchPropsCorrect2, message);
            }
        }
    }

    /// Kind and name of a global component.
    fn named(&mut self, here: Source) -> Option<(Kind, u32)> {
        let node = self.node(here);
        let kind = match &*node.local {
            "element" => Kind::Element,
            "attribute" => Kind::Attribute,
            "simpleType" | "complexType" => Kind::Type,
            "group" => Kind::Group,
            "attributeGroup" => Kind::AttributeGroup,
            "notation" => Kind::Notation,
            _ => return None,
        };
        let name = node.attribute("name")?.to_owned();
        if !is_ncname(name.as_bytes()) {
            self.report(here, SchemaRule::S4sAttInvalidValue, format!("{name} is no name"));
            return None;
        }
        let target = self.documents[here.document].target;
        Some((kind, self.c.names.symbol(target, &name)))
    }

    fn declare(&mut self, kind: Kind, symbol: u32, source: Source) -> u32 {
        let number = self.declarations.len() as u32;
        let source = Source { own: number, ..source };
        let id = match kind {
            Kind::Element => self.new_element(symbol),
            Kind::Attribute => self.new_attribute(symbol),
            Kind::Type => self.new_type(symbol, source),
            _ => NONE,
        };
        self.declarations.push(Decl {
            kind,
            symbol,
            source,
            redefines: NONE,
            id,
            group: Group::Open,
        });
        number
    }

    fn redefine(&mut self, document: usize, redefine: usize) {
        let children = self.documents[document].dom.nodes[redefine].children.clone();
        for node in children {
            let here = Source { document, node, own: NONE };
            let Some((kind, symbol)) = self.named(here) else { continue };
            let Some(original) = self.globals.get(&(kind, symbol)).copied() else {
                let message =
                    format!("{} is not there to be redefined", self.c.names.display(symbol));
                self.report(here, SchemaRule::SrcRedefine621, message);
                continue;
            };
            let number = self.declare(kind, symbol, here);
            self.declarations[number as usize].redefines = original;
            self.globals.insert((kind, symbol), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn locations() {
        assert_eq!(join("", "a.xsd"), "a.xsd");
        assert_eq!(join("b/c.xsd", "a.xsd"), "b/a.xsd");
        assert_eq!(join("b/c.xsd", "../a.xsd"), "a.xsd");
        assert_eq!(join("b/c.xsd", "../../a.xsd"), "../a.xsd");
        assert_eq!(join("b/c.xsd", "http://d/a.xsd"), "http://d/a.xsd");
        assert_eq!(join("http://d/e/c.xsd", "../a.xsd"), "http://d/a.xsd");
        assert_eq!(join("b/c.xsd", "/a.xsd"), "/a.xsd");
    }
}
