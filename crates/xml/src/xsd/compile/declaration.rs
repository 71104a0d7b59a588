//! Elements, attributes and wildcards (Structures, 3.2, 3.3, 3.10).

use super::super::components::*;
use super::super::error::SchemaRule;
use super::super::names::{ABSENT, NONE, XSI};
use super::super::value::is_ncname;
use super::particle::UNBOUNDED;
use super::{AttributeSet, Compiler, Decl, Group, Kind, Source};

impl Compiler {
    /// The default or fixed value of a declaration.
    fn value(&mut self, source: Source, both: SchemaRule) -> Option<(bool, String)> {
        let node = self.node(source);
        let (default, fixed) = (node.raw_attribute("default"), node.raw_attribute("fixed"));
        let is_both = default.is_some() && fixed.is_some();
        let value =
            fixed.map(|it| (true, it.to_owned())).or(default.map(|it| (false, it.to_owned())));
        if is_both {
            self.report(source, both, "default and fixed".to_owned());
        }
        value
    }

    pub(super) fn fill_element(&mut self, id: u32, source: Source) {
        let is_global = self.node(source).parent == 0;
        let document = &self.documents[source.document];
        let (block_default, final_default) = (document.block, document.final_);
        let named = self.type_of(source, SchemaRule::SrcElement3);
        let nillable = self.boolean(source, "nillable");
        let is_abstract = self.boolean(source, "abstract");
        let block = self.derivations(source, "block", EXTENSION | RESTRICTION | SUBSTITUTION);
        let final_ = self.derivations(source, "final", EXTENSION | RESTRICTION);
        let head = self.node(source).attribute("substitutionGroup").map(str::to_owned);
        let head = head.and_then(|head| self.find(source, Kind::Element, &head));
        let head = head.map_or(NONE, |head| self.declarations[head as usize].id);
        let value = self.value(source, SchemaRule::SrcElement1);
        let element = &mut self.c.elements[id as usize];
        element.is_global = is_global;
        element.type_ = named.unwrap_or(ANY_TYPE);
        element.is_nillable = nillable.unwrap_or(false);
        element.is_abstract = is_abstract.unwrap_or(false);
        element.block = block.unwrap_or(block_default);
        element.final_ = final_.unwrap_or(final_default) & (EXTENSION | RESTRICTION);
        element.head = head;
        let info = &mut self.element_infos[id as usize];
        info.source = source;
        info.has_type_of_head = named.is_none() && head != NONE;
        info.value = value;
    }

    /// The name of a declaration within a type.
    fn local_name(&mut self, source: Source, is_qualified: bool) -> Option<u32> {
        let name = self.node(source).attribute("name")?.to_owned();
        if !is_ncname(name.as_bytes()) {
            self.report(source, SchemaRule::S4sAttInvalidValue, format!("{name} is no name"));
        }
        let form = self.one_of(source, "form", &["qualified", "unqualified"]);
        let is_qualified = form.map_or(is_qualified, |form| form == "qualified");
        let target = self.documents[source.document].target;
        Some(self.c.names.symbol(if is_qualified { target } else { ABSENT }, &name))
    }

    /// An element of a content model.
    pub(super) fn local_element(&mut self, source: Source) -> Option<u32> {
        let node = self.node(source);
        let (name, reference) = (node.attribute("name"), node.attribute("ref").map(str::to_owned));
        if name.is_some() == reference.is_some() {
            self.report(source, SchemaRule::SrcElement21, "either name or ref".to_owned());
            return None;
        }
        if let Some(reference) = reference {
            let not_beside = ["type", "default", "fixed", "nillable", "block", "form"];
            let beside =
                not_beside.into_iter().find(|it| self.node(source).attribute(it).is_some());
            if beside.is_some() || !self.children(source).is_empty() {
                let text = format!("ref beside {}", beside.unwrap_or("children"));
                self.report(source, SchemaRule::SrcElement22, text);
            }
            let number = self.find(source, Kind::Element, &reference)?;
            return Some(self.declarations[number as usize].id);
        }
        let is_qualified = self.documents[source.document].elements_qualified;
        let symbol = self.local_name(source, is_qualified)?;
        let id = self.new_element(symbol);
        self.fill_element(id, source);
        Some(id)
    }

    /// `minOccurs` and `maxOccurs`.
    pub(super) fn occurs(&mut self, source: Source) -> (u32, u32) {
        let mut number = |name: &str| {
            let text = self.node(source).attribute(name)?.to_owned();
            if name == "maxOccurs" && text == "unbounded" {
                return Some(UNBOUNDED);
            }
            let digits = text.trim_start_matches('+').trim_start_matches('0');
            let is_number = !text.is_empty()
                && text.trim_start_matches('+').bytes().all(|it| it.is_ascii_digit());
            if !is_number {
                self.report(source, SchemaRule::S4sAttInvalidValue, format!("{name} is {text}"));
                return None;
            }
            // Beyond that no document has so many children.
            Some(if digits.is_empty() { 0 } else { digits.parse().unwrap_or(UNBOUNDED - 1) })
        };
        let (min, max) = (number("minOccurs").unwrap_or(1), number("maxOccurs").unwrap_or(1));
        if min > max {
            self.report(
                source,
                SchemaRule::PPropsCorrect,
                format!("minOccurs {min}, maxOccurs {max}"),
            );
        }
        (min.min(max), max)
    }

    pub(super) fn wildcard(&mut self, source: Source) -> Wildcard {
        let target = self.documents[source.document].target;
        let process = match self.one_of(source, "processContents", &["strict", "lax", "skip"]) {
            Some("lax") => Process::Lax,
            Some("skip") => Process::Skip,
            _ => Process::Strict,
        };
        let text = self.node(source).attribute("namespace").unwrap_or("##any").to_owned();
        let namespaces = match &*text {
            "##any" => Namespaces::Any,
            "##other" => Namespaces::Not(target),
            list => {
                let mut all = Vec::new();
                for word in list.split_ascii_whitespace() {
                    all.push(match word {
                        "##targetNamespace" => target,
                        "##local" => ABSENT,
                        "##any" | "##other" => {
                            let text = format!("{word} beside others");
                            self.report(source, SchemaRule::S4sAttInvalidValue, text);
                            continue;
                        }
                        uri => self.c.names.namespace(uri),
                    });
                }
                all.sort_unstable();
                all.dedup();
                Namespaces::Of(all)
            }
        };
        Wildcard { namespaces, process }
    }

    pub(super) fn fill_attribute(&mut self, id: u32, source: Source) {
        let type_ = self.type_of(source, SchemaRule::SrcAttribute4).unwrap_or(ANY_SIMPLE_TYPE);
        let value = self.value(source, SchemaRule::SrcAttribute1);
        self.c.attributes[id as usize].type_ = type_;
        let info = &mut self.attribute_infos[id as usize];
        info.source = source;
        info.value = value;
        let symbol = self.c.attributes[id as usize].symbol;
        if self.c.names.local(symbol) == "xmlns" {
            self.report(source, SchemaRule::NoXmlns, "an attribute named xmlns".to_owned());
        }
        if self.c.names.uri(self.c.names.namespace_of(symbol)) == XSI {
            self.report(
                source,
                SchemaRule::NoXsi,
                "an attribute of the namespace of schema instances".to_owned(),
            );
        }
    }

    /// The attributes of a type or a group: its own, and those of groups that it refers to.
    pub(super) fn attribute_set(&mut self, source: Source) -> AttributeSet {
        let mut set = AttributeSet::default();
        let mut groups = Vec::new();
        let mut own = None;
        for child in self.children(source) {
            match &*self.local(child) {
                "attribute" => self.attribute_use(child, &mut set),
                "anyAttribute" => own = Some(self.wildcard(child)),
                "attributeGroup" => {
                    let Some(name) = self.node(child).attribute("ref").map(str::to_owned) else {
                        continue;
                    };
                    let Some(number) = self.find(child, Kind::AttributeGroup, &name) else {
                        continue;
                    };
                    let Some(group) = self.attributes_of(number, child) else { continue };
                    for one in &group.uses {
                        self.add_use(child, one.clone(), &mut set);
                    }
                    set.prohibited.extend(&group.prohibited);
                    groups.extend(group.wildcard.clone());
                }
                _ => {}
            }
        }
        // 3.4.2: what all of them allow; how it is processed is the type's own, or the first group's.
        for wildcard in groups {
            own = Some(match own {
                None => wildcard,
                Some(before) => match before.namespaces.intersection(&wildcard.namespaces) {
                    Some(namespaces) => Wildcard { namespaces, ..before },
                    None => {
                        let text = "an intersection of wildcards that is none".to_owned();
                        self.report(source, SchemaRule::SrcCt4, text);
                        before
                    }
                },
            });
        }
        set.wildcard = own;
        set
    }

    fn add_use(&mut self, source: Source, one: AttributeUse, set: &mut AttributeSet) {
        let symbol = |it: &AttributeUse| self.c.attributes[it.attribute as usize].symbol;
        let new = symbol(&one);
        if set.uses.iter().any(|it| symbol(it) == new) {
            let message = format!("{} appears twice", self.c.names.display(new));
            self.report(source, SchemaRule::CtPropsCorrect4, message);
            return;
        }
        set.uses.push(one);
    }

    fn attribute_use(&mut self, source: Source, set: &mut AttributeSet) {
        let node = self.node(source);
        let (name, reference) = (node.attribute("name"), node.attribute("ref").map(str::to_owned));
        if name.is_some() == reference.is_some() {
            self.report(source, SchemaRule::SrcAttribute31, "either name or ref".to_owned());
            return;
        }
        let use_ = self.one_of(source, "use", &["optional", "required", "prohibited"]);
        let has_default = self.node(source).attribute("default").is_some();
        if has_default && !matches!(use_, None | Some("optional")) {
            self.report(source, SchemaRule::SrcAttribute2, "a default and use".to_owned());
        }
        let mut constraint = None;
        let attribute = if let Some(reference) = reference {
            let beside =
                ["type", "form"].into_iter().find(|it| self.node(source).attribute(it).is_some());
            if beside.is_some() || self.child(source, "simpleType").is_some() {
                self.report(
                    source,
                    SchemaRule::SrcAttribute32,
                    "ref beside a type or form".to_owned(),
                );
            }
            let Some(number) = self.find(source, Kind::Attribute, &reference) else { return };
            constraint = self.value(source, SchemaRule::SrcAttribute1);
            self.declarations[number as usize].id
        } else {
            let is_qualified = self.documents[source.document].attributes_qualified;
            let Some(symbol) = self.local_name(source, is_qualified) else { return };
            let id = self.new_attribute(symbol);
            self.fill_attribute(id, source);
            id
        };
        if use_ == Some("prohibited") {
            let symbol = self.c.attributes[attribute as usize].symbol;
            set.prohibited.push(symbol);
            return;
        }
        let constraint = constraint.map(|(is_fixed, text)| ValueConstraint {
            is_fixed,
            text: text.into(),
            // Known when all types are.
            key: Box::default(),
        });
        self.add_use(
            source,
            AttributeUse { attribute, is_required: use_ == Some("required"), constraint },
            set,
        );
    }

    /// The attributes of a global group.
    pub(super) fn attributes_of(
        &mut self,
        number: u32,
        from: Source,
    ) -> Option<std::rc::Rc<AttributeSet>> {
        let Decl { source, ref group, .. } = self.declarations[number as usize];
        match group {
            Group::Attributes(set) => return Some(set.clone()),
            Group::Busy => {
                let text = "an attribute group refers to itself".to_owned();
                self.report(from, SchemaRule::SrcAttributeGroup3, text);
                return None;
            }
            Group::Open => {}
            _ => return None,
        }
        if !self.deeper(from) {
            return None;
        }
        self.declarations[number as usize].group = Group::Busy;
        let set = std::rc::Rc::new(self.attribute_set(source));
        self.depth -= 1;
        self.declarations[number as usize].group = Group::Attributes(set.clone());
        Some(set)
    }
}
