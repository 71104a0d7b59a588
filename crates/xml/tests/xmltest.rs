//! James Clark's `xmltest`, from the folder that `LOOKASIDE_XMLTEST` names; `scripts/xmltest` fetches it.
//!
//! `valid` and `invalid` are to be accepted, `not-wf` refused, each in every way of feeding; what needs an external entity to
//! be refused is listed. With a resolver nothing is, and `valid` becomes the canonical form that the suite has beside it.

mod events;

use std::path::{Path, PathBuf};

use events::{every_way, session};
use lookaside_xml::{
    DEFAULTED, External, Kind, Output, Parser, Record, Resolver, Resource, Session, Status, fields,
};

/// Only the text of an external entity is not well-formed, or needs the declarations of one.
const EXTERNAL: &[&str] = &["not-wf/ext-sa/", "not-wf/not-sa/"];

/// Their names are names since the fifth edition.
const FIFTH_EDITION: &[&str] = &["not-wf/sa/140.xml", "not-wf/sa/141.xml"];

/// WFC: PE Between Declarations is younger.
const SECOND_EDITION: &[&str] = &["invalid/001.xml", "invalid/003.xml", "invalid/004.xml"];

/// Entity Declared is a constraint of validity for what stands in the external subset.
const INVALID: &[&str] = &["not-wf/not-sa/005.xml"];

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if entry.is_dir() && name != "out" {
            documents(&entry, found);
        } else if name.ends_with(".xml") {
            found.push(entry);
        }
    }
}

#[test]
fn the_suite() {
    let Some(folder) = std::env::var_os("LOOKASIDE_XMLTEST").map(PathBuf::from) else {
        eprintln!("SKIPPED: LOOKASIDE_XMLTEST names no folder; scripts/xmltest fetches the suite");
        return;
    };
    let mut found = vec![];
    documents(&folder, &mut found);
    assert!(found.len() > 300, "{} documents", found.len());
    let (mut wrong, mut external) = (vec![], 0);
    for path in found {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        // The suite is older than namespaces.
        let session = session().namespaces(false);
        let (_, result) = every_way(&session, &std::fs::read(&path).unwrap());
        let refused = name.starts_with("not-wf") && !FIFTH_EDITION.contains(&&*name);
        if result.is_err() == refused {
            continue;
        }
        if refused && EXTERNAL.iter().any(|part| name.starts_with(part)) {
            external += 1;
            continue;
        }
        wrong.push(format!("{name}: {result:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{external} documents are wrong in an external entity only");
}

/// A session that reads the files beside a document.
fn with_files(folder: &Path) -> Session {
    let folder = folder.to_owned();
    session().namespaces(false).resolver(Resolver::new(move |wanted: &External<'_>| {
        let base = wanted.base.map_or(folder.clone(), |base| {
            Path::new(base).parent().unwrap_or(Path::new("")).to_owned()
        });
        let path = base.join(wanted.system);
        let bytes = std::fs::read(&path).ok()?;
        Some(Resource { bytes: bytes.into(), base: path.to_string_lossy().into() })
    }))
}

/// The suite's canonical form, of which `canonxml.html` tells: elements, text, instructions, and notations in front.
fn canonical(session: &Session, document: &[u8], with_notations: bool) -> Result<String, String> {
    let mut parser = Parser::new(session);
    let (mut records, mut bytes) = (vec![Record::default(); 64], vec![]);
    let (mut all, mut attributes, mut missing) = (String::new(), vec![], 0);
    let (mut root, mut notations) = (String::new(), vec![]);
    let escaped = |text: &str| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '&' => out += "&amp;",
                '<' => out += "&lt;",
                '>' => out += "&gt;",
                '"' => out += "&quot;",
                '\t' | '\n' | '\r' => out += &format!("&#{};", u32::from(c)),
                c => out.push(c),
            }
        }
        out
    };
    let mut at = 0;
    loop {
        let chunk = &document[at..];
        let mut out = Output::new(&mut records, &mut bytes);
        let progress = parser.feed(chunk, true, &mut out);
        let filled = out.filled().to_vec();
        for record in &filled {
            let raw = record.text(chunk, &bytes);
            let text = String::from_utf8(raw.to_vec()).unwrap();
            let name = |id| String::from_utf8(parser.qname(id).to_vec()).unwrap();
            match record.kind {
                Kind::DoctypeStart => root = String::from_utf8(fields(raw)[0].to_vec()).unwrap(),
                Kind::NotationDecl => {
                    let part = |n: usize| String::from_utf8(fields(raw)[n].to_vec()).unwrap();
                    notations.push((part(0), part(1), part(2)));
                }
                Kind::StartElement => {
                    all += &format!("<{}", name(record.name));
                    missing = record.count;
                    attributes.clear();
                }
                Kind::Attribute => {
                    attributes.push((name(record.name), escaped(&text)));
                    missing -= 1;
                }
                Kind::EndElement => all += &format!("</{}>", name(record.name)),
                Kind::Text => all += &escaped(&text),
                Kind::Pi => {
                    let target = String::from_utf8(parser.string(record.name).to_vec()).unwrap();
                    all += &format!("<?{target} {text}?>");
                }
                _ => {}
            }
            let tag = matches!(record.kind, Kind::StartElement | Kind::Attribute);
            if tag && missing == 0 {
                attributes.sort();
                for (name, value) in &attributes {
                    all += &format!(" {name}=\"{value}\"");
                }
                all.push('>');
            }
            assert!(record.flags & DEFAULTED == 0 || record.kind != Kind::Text);
        }
        bytes.clear();
        at += progress.consumed;
        match progress.status {
            Status::Full => {}
            Status::Finished => break,
            Status::Failed(error) => return Err(error.to_string()),
            Status::NeedInput => return Err("no end".into()),
        }
    }
    if with_notations && !notations.is_empty() {
        notations.sort();
        let mut front = format!("<!DOCTYPE {root} [\n");
        for (name, public, system) in notations {
            front += &match (public.is_empty(), system.is_empty()) {
                (false, true) => format!("<!NOTATION {name} PUBLIC '{public}'>\n"),
                (false, false) => format!("<!NOTATION {name} PUBLIC '{public}' '{system}'>\n"),
                (true, _) => format!("<!NOTATION {name} SYSTEM '{system}'>\n"),
            };
        }
        all = front + "]>\n" + &all;
    }
    Ok(all)
}

#[test]
fn the_suite_with_what_lies_outside() {
    let Some(folder) = std::env::var_os("LOOKASIDE_XMLTEST").map(PathBuf::from) else {
        eprintln!("SKIPPED: LOOKASIDE_XMLTEST names no folder; scripts/xmltest fetches the suite");
        return;
    };
    let mut found = vec![];
    documents(&folder, &mut found);
    let (mut wrong, mut forms) = (vec![], 0);
    for path in found {
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        let session = with_files(path.parent().unwrap());
        let document = std::fs::read(&path).unwrap();
        let (_, result) = every_way(&session, &document);
        let accepted = FIFTH_EDITION.contains(&&*name) || INVALID.contains(&&*name);
        let refused = name.starts_with("not-wf") || SECOND_EDITION.contains(&&*name);
        if result.is_err() != (refused && !accepted) {
            wrong.push(format!("{name}: {result:?}"));
            continue;
        }
        let out = path.parent().unwrap().join("out").join(path.file_name().unwrap());
        if let Ok(expected) = std::fs::read_to_string(out) {
            // Those of documents that stand alone have no notations.
            let form = canonical(&session, &document, !name.starts_with("valid/sa"));
            forms += 1;
            if form.as_deref() != Ok(&expected) {
                wrong.push(format!("{name}:\n{form:?}\n{expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{forms} canonical forms are equal");
    assert!(forms > 100);
}
