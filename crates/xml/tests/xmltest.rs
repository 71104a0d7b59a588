//! James Clark's `xmltest`, from the folder that `LOOKASIDE_XMLTEST` names; `scripts/xmltest` fetches it.
//!
//! `valid` and `invalid` are to be accepted, `not-wf` refused, each in every way of feeding; what needs an external entity to
//! be refused is listed.

mod events;

use std::path::{Path, PathBuf};

use events::{every_way, session};

/// Only the text of an external entity is not well-formed, or needs the declarations of one.
const EXTERNAL: &[&str] = &["not-wf/ext-sa/", "not-wf/not-sa/"];

/// Their names are names since the fifth edition.
const FIFTH_EDITION: &[&str] = &["not-wf/sa/140.xml", "not-wf/sa/141.xml"];

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
