//! The grammar of schema documents: which attributes and children each element may have (the schema for schemas, in short).

use super::super::dom::{Dom, Node};
use super::super::error::SchemaRule;
use super::super::names::XS;

/// Where an element stands, its attributes, and its children: groups with `?`, `*` or nothing for exactly one, in order.
struct Rule {
    name: &'static str,
    /// The parents for which this rule is; empty: all.
    within: &'static [&'static str],
    attributes: &'static str,
    children: &'static [(&'static str, char)],
}

const PARTICLE: &str = "element group choice sequence any";
const ATTRIBUTES: [(&str, char); 2] = [("attribute attributeGroup", '*'), ("anyAttribute", '?')];
const NOTE: (&str, char) = ("annotation", '?');
const FACETS: (&str, char) = (
    "minExclusive minInclusive maxExclusive maxInclusive totalDigits fractionDigits length minLength maxLength enumeration whiteSpace pattern",
    '*',
);
const IDENTITY: (&str, char) = ("unique key keyref", '*');
const MODEL: (&str, char) = ("group all choice sequence", '?');
const GLOBAL: &str =
    "simpleType complexType group attributeGroup element attribute notation annotation";

const fn rule(
    name: &'static str,
    within: &'static [&'static str],
    attributes: &'static str,
    children: &'static [(&'static str, char)],
) -> Rule {
    Rule { name, within, attributes, children }
}

#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("schema", &[], "id targetNamespace version attributeFormDefault elementFormDefault blockDefault finalDefault",
        &[("include import redefine annotation", '*'), (GLOBAL, '*')]),
    rule("include", &[], "id schemaLocation", &[NOTE]),
    rule("import", &[], "id namespace schemaLocation", &[NOTE]),
    rule("redefine", &[], "id schemaLocation", &[("annotation simpleType complexType group attributeGroup", '*')]),
    rule("annotation", &[], "id", &[("appinfo documentation", '*')]),
    rule("appinfo", &[], "source", &[]),
    rule("documentation", &[], "source", &[]),
    rule("notation", &[], "id name public system", &[NOTE]),
    rule("element", &["schema"], "id name type substitutionGroup default fixed nillable abstract final block",
        &[NOTE, ("simpleType complexType", '?'), IDENTITY]),
    rule("element", &[], "id name ref type default fixed nillable block form minOccurs maxOccurs",
        &[NOTE, ("simpleType complexType", '?'), IDENTITY]),
    rule("attribute", &["schema"], "id name type default fixed", &[NOTE, ("simpleType", '?')]),
    rule("attribute", &[], "id name ref type use default fixed form", &[NOTE, ("simpleType", '?')]),
    rule("simpleType", &["schema", "redefine"], "id name final", &[NOTE, ("restriction list union", '1')]),
    rule("simpleType", &[], "id", &[NOTE, ("restriction list union", '1')]),
    rule("restriction", &["simpleType"], "id base", &[NOTE, ("simpleType", '?'), FACETS]),
    rule("restriction", &["simpleContent"], "id base",
        &[NOTE, ("simpleType", '?'), FACETS, ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("restriction", &[], "id base", &[NOTE, MODEL, ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("extension", &["simpleContent"], "id base", &[NOTE, ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("extension", &[], "id base", &[NOTE, MODEL, ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("list", &[], "id itemType", &[NOTE, ("simpleType", '?')]),
    rule("union", &[], "id memberTypes", &[NOTE, ("simpleType", '*')]),
    rule("complexType", &["schema", "redefine"], "id name mixed abstract final block",
        &[NOTE, ("simpleContent complexContent group all choice sequence", '?'), ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("complexType", &[], "id mixed",
        &[NOTE, ("simpleContent complexContent group all choice sequence", '?'), ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("simpleContent", &[], "id", &[NOTE, ("restriction extension", '1')]),
    rule("complexContent", &[], "id mixed", &[NOTE, ("restriction extension", '1')]),
    rule("group", &["schema", "redefine"], "id name", &[NOTE, ("all choice sequence", '1')]),
    rule("group", &[], "id ref minOccurs maxOccurs", &[NOTE]),
    rule("all", &["group"], "id", &[NOTE, ("element", '*')]),
    rule("all", &[], "id minOccurs maxOccurs", &[NOTE, ("element", '*')]),
    rule("choice", &["group"], "id", &[NOTE, (PARTICLE, '*')]),
    rule("sequence", &["group"], "id", &[NOTE, (PARTICLE, '*')]),
    rule("choice", &[], "id minOccurs maxOccurs", &[NOTE, (PARTICLE, '*')]),
    rule("sequence", &[], "id minOccurs maxOccurs", &[NOTE, (PARTICLE, '*')]),
    rule("any", &[], "id minOccurs maxOccurs namespace processContents", &[NOTE]),
    rule("anyAttribute", &[], "id namespace processContents", &[NOTE]),
    rule("attributeGroup", &["schema", "redefine"], "id name", &[NOTE, ATTRIBUTES[0], ATTRIBUTES[1]]),
    rule("attributeGroup", &[], "id ref", &[NOTE]),
    rule("unique", &[], "id name", &[NOTE, ("selector", '1'), ("field", '1'), ("field", '*')]),
    rule("key", &[], "id name", &[NOTE, ("selector", '1'), ("field", '1'), ("field", '*')]),
    rule("keyref", &[], "id name refer", &[NOTE, ("selector", '1'), ("field", '1'), ("field", '*')]),
    rule("selector", &[], "id xpath", &[NOTE]),
    rule("field", &[], "id xpath", &[NOTE]),
    rule("enumeration", &[], "id value", &[NOTE]),
    rule("pattern", &[], "id value", &[NOTE]),
];

/// Facets with `fixed`.
const FACET: Rule = rule("", &[], "id value fixed", &[NOTE]);

/// Attributes that must appear.
fn required(node: &Node, parent: &str) -> &'static [&'static str] {
    let is_global = matches!(parent, "schema" | "redefine");
    match &*node.local {
        "include" | "redefine" => &["schemaLocation"],
        "notation" | "unique" | "key" => &["name"],
        "keyref" => &["name", "refer"],
        "selector" | "field" => &["xpath"],
        "element" | "attribute" | "simpleType" | "complexType" | "group" | "attributeGroup"
            if is_global =>
        {
            &["name"]
        }
        "group" | "attributeGroup" => &["ref"],
        "restriction" | "extension" if parent != "simpleType" => &["base"],
        name if is_facet(name) => &["value"],
        _ => &[],
    }
}

pub(super) fn is_facet(name: &str) -> bool {
    FACETS.0.split(' ').any(|it| it == name)
}

/// Reports what the schema for schemas does not allow in a document.
pub(super) fn check(dom: &Dom, report: &mut dyn FnMut(usize, SchemaRule, String)) {
    for (number, node) in dom.nodes.iter().enumerate() {
        let parent = &*dom.nodes[node.parent].local;
        let parent = if number == 0 { "" } else { parent };
        let fitting = |it: &&Rule| {
            it.name == node.local && (it.within.is_empty() || it.within.contains(&parent))
        };
        let rule = match RULES.iter().find(fitting) {
            Some(rule) => rule,
            None if is_facet(&node.local) => &FACET,
            // The parent's rule has reported it.
            None => continue,
        };
        if node.uri != XS {
            continue;
        }
        for (uri, local, _) in &node.attributes {
            if uri == XS || uri.is_empty() && !rule.attributes.split(' ').any(|it| it == local) {
                let message = format!("{} has no attribute {local}", node.local);
                report(number, SchemaRule::S4sAttNotAllowed, message);
            }
        }
        for name in required(node, parent) {
            if node.attribute(name).is_none() {
                report(
                    number,
                    SchemaRule::S4sAttMustAppear,
                    format!("{} without {name}", node.local),
                );
            }
        }
        if node.has_text {
            report(number, SchemaRule::S4sEltInvalid, format!("characters in {}", node.local));
        }
        if matches!(&*node.local, "appinfo" | "documentation") {
            continue;
        }
        let mut slot = 0;
        let mut in_slot = 0;
        for child in &node.children {
            let child_node = &dom.nodes[*child];
            let fits = |slot: usize, count: u32| {
                rule.children.get(slot).is_some_and(|(names, quantity)| {
                    (*quantity == '*' || count == 0)
                        && names.split(' ').any(|it| it == child_node.local)
                })
            };
            while slot < rule.children.len() && !(child_node.uri == XS && fits(slot, in_slot)) {
                if rule.children[slot].1 == '1' && in_slot == 0 {
                    break;
                }
                slot += 1;
                in_slot = 0;
            }
            if !(child_node.uri == XS && fits(slot, in_slot)) {
                let message =
                    format!("{} is not allowed there in {}", child_node.local, node.local);
                report(*child, SchemaRule::S4sEltInvalid, message);
                slot = rule.children.len();
                break;
            }
            in_slot += 1;
        }
        let missing = rule.children.iter().skip(slot).enumerate();
        for (n, (names, quantity)) in missing {
            if *quantity == '1' && !(n == 0 && in_slot > 0) {
                let message = format!("{} without one of: {names}", node.local);
                report(number, SchemaRule::S4sEltMissing, message);
            }
        }
    }
}
