//! Values beside the schemas of docs/json.

use std::{fs, path::Path};

use serde_json::Value;

/// A document of docs/json.
fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json").join(name);
    serde_json::from_slice(&fs::read(path).expect("a schema")).expect("JSON")
}

/// Where a value does not fit a schema: of JSON Schema what ours use, and nothing else.
fn misfits(value: &Value, schema: &Value, at: &str, found: &mut Vec<String>) {
    let rules = schema.as_object().expect("a schema");
    let mut wrong = |what: &str| found.push(format!("{at}: {what}: {value}"));
    for (rule, wanted) in rules {
        match rule.as_str() {
            "$schema" | "title" | "description" | "properties" | "items" => {}
            "type" => {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(n) if n.is_u64() => "integer",
                    Value::Number(_) => "number",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                let one = |one: &Value| one == kind || (one == "number" && kind == "integer");
                if !wanted.as_array().map_or(one(wanted), |kinds| kinds.iter().any(one)) {
                    wrong(&format!("{wanted} is wanted"));
                }
            }
            "enum" => {
                if !wanted.as_array().unwrap().contains(value) {
                    wrong(&format!("one of {wanted} is wanted"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        wrong(&format!("{name} is missing"));
                    }
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|n| n < wanted.as_f64().unwrap()) {
                    wrong(&format!("at least {wanted} is wanted"));
                }
            }
            "additionalProperties" => {
                assert_eq!(wanted, false);
                for name in value.as_object().into_iter().flat_map(|object| object.keys()) {
                    if rules["properties"].get(name).is_none() {
                        wrong(&format!("{name} is too much"));
                    }
                }
            }
            other => panic!("{at}: the rule {other} is not known here"),
        }
    }
    for (name, schema) in rules.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.get(name) {
            misfits(value, schema, &format!("{at}.{name}"), found);
        }
    }
    if let Some(schema) = rules.get("items") {
        for (n, value) in value.as_array().into_iter().flatten().enumerate() {
            misfits(value, schema, &format!("{at}[{n}]"), found);
        }
    }
}

/// The value fits the schema; one that lacks a member, but for those that are `optional`, or has one of another kind, does not.
pub fn fits(value: &Value, name: &str, optional: &[&str]) {
    let schema = schema(name);
    let all = |value: &Value| {
        let mut found = Vec::new();
        misfits(value, &schema, "", &mut found);
        found
    };
    assert_eq!(all(value), [""; 0], "{name}");
    for key in value.as_object().unwrap().keys() {
        let mut other = value.clone();
        other[key] = Value::from(-0.5);
        assert!(!all(&other).is_empty(), "{name}: {key}");
        other.as_object_mut().unwrap().remove(key);
        let may = optional.contains(&key.as_str());
        assert_eq!(all(&other).is_empty(), may, "{name} without {key}");
    }
}
