//! Identity constraint definitions (Structures, 3.11).

use std::collections::HashMap;

use super::super::error::SchemaRule;
use super::super::identity::{Constraint, ConstraintKind, Path};
use super::{Compiler, Source};

impl Compiler {
    pub(super) fn identity_constraints(&mut self) {
        let mut by_name: HashMap<u32, u32> = HashMap::new();
        let mut references: Vec<(u32, Source)> = Vec::new();
        for id in 0..self.c.elements.len() {
            let source = self.element_infos[id].source;
            for child in self.children(source) {
                let kind = match &*self.local(child) {
                    "unique" => ConstraintKind::Unique,
                    "key" => ConstraintKind::Key,
                    "keyref" => ConstraintKind::KeyRef(u32::MAX),
                    _ => continue,
                };
                let number = self.c.constraints.len() as u32;
                let Some(constraint) = self.constraint_at(child, kind) else { continue };
                let target = self.documents[child.document].target;
                let symbol = self.c.names.symbol(target, &constraint.name);
                if by_name.insert(symbol, number).is_some() {
                    let text = format!("{} appears twice", constraint.name);
                    self.report(child, SchemaRule::SchPropsCorrect2, text);
                }
                if kind == ConstraintKind::KeyRef(u32::MAX) {
                    references.push((number, child));
                }
                self.c.constraints.push(constraint);
                self.c.elements[id].identity.push(number);
            }
        }
        for (number, source) in references {
            let Some(name) = self.node(source).attribute("refer").map(str::to_owned) else {
                continue;
            };
            let Some(symbol) = self.resolve(source, &name) else { continue };
            let key = by_name.get(&symbol).copied().filter(|it| {
                !matches!(self.c.constraints[*it as usize].kind, ConstraintKind::KeyRef(_))
            });
            let Some(key) = key else {
                self.report(source, SchemaRule::CPropsCorrect1, format!("{name} is no key"));
                continue;
            };
            let fields = |it: u32| self.c.constraints[it as usize].fields.len();
            if fields(key) != fields(number) {
                let text = format!("{name} has {} fields", fields(key));
                self.report(source, SchemaRule::CPropsCorrect2, text);
            }
            self.c.constraints[key as usize].is_referred = true;
            self.c.constraints[number as usize].kind = ConstraintKind::KeyRef(key);
        }
    }

    fn constraint_at(&mut self, source: Source, kind: ConstraintKind) -> Option<Constraint> {
        let name = self.node(source).attribute("name")?.into();
        let (mut selector, mut fields) = (None, Vec::new());
        for child in self.children(source) {
            let is_field = self.node(child).local == "field";
            let text = self.node(child).attribute("xpath")?.to_owned();
            let scope = self.documents[child.document].dom.scope(child.node);
            let names = &mut self.c.names;
            let mut symbols = |uri: &str, local: Option<&str>| {
                let namespace = names.namespace(uri);
                local.map_or(namespace, |local| names.symbol(namespace, local))
            };
            match Path::parse(&text, is_field, &scope, &mut symbols) {
                None => {
                    let rule = if is_field {
                        SchemaRule::CFieldsXpaths
                    } else {
                        SchemaRule::CSelectorXpath
                    };
                    self.report(child, rule, text);
                }
                Some(path) if is_field => fields.push(path),
                Some(path) => selector = Some(path),
            }
        }
        let direct: Option<Vec<u32>> = fields.iter().map(Path::own_attribute).collect();
        let (selector, direct) = (selector?, direct.unwrap_or_default());
        Some(Constraint { kind, name, selector, fields, direct, is_referred: false })
    }
}
