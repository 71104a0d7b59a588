//! The documents beside what they list: steps, crates, fuzz targets, places of `unsafe`, variables of the
//! environment, targets of make. A message names the document, and what it lacks or has too much.

use std::{collections::BTreeSet, fs};

use super::{
    Layer, UNSAFE_ALLOWED, is_development, layer, packages, papers, relative, report, root, sources,
};

type Names = BTreeSet<String>;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn names<'a>(words: impl IntoIterator<Item = &'a str>) -> Names {
    words.into_iter().map(str::to_owned).collect()
}

/// What a list lacks of `real`, and what it has beyond.
fn differences(list: &str, listed: &Names, real: &Names, place: &str) -> Vec<String> {
    let lacks = real.difference(listed).map(|name| format!("{list} lacks {name}: see {place}"));
    let extra = listed.difference(real).map(|name| format!("{list} has {name}: not in {place}"));
    lacks.chain(extra).collect()
}

/// The text below a heading of the second level.
fn section<'a>(document: &str, text: &'a str, heading: &str) -> &'a str {
    let begin = text.find(&format!("\n## {heading}\n"));
    let begin = begin.unwrap_or_else(|| panic!("{document} has no section \"{heading}\""));
    let rest = &text[begin + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// The rows of all tables, cell by cell, without the heads.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        if line.chars().all(|c| "|-: ".contains(c)) {
            rows.pop();
        } else {
            rows.push(line.trim_matches('|').split('|').map(str::trim).collect());
        }
    }
    rows
}

/// What stands in code quotes, or in a block of code.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|code| !code.is_empty())
}

/// The code quotes in one column of all tables.
fn column(text: &str, column: usize) -> Names {
    let rows = rows(text);
    assert!(!rows.is_empty(), "a table is wanted");
    names(rows.iter().filter_map(|row| row.get(column)).flat_map(|cell| codes(cell)))
}

#[test]
fn contributing_has_the_steps_of_the_suite() {
    let script = read("scripts/test");
    let all = script.split("\nALL=(").nth(1).and_then(|rest| rest.split(')').next());
    let all = names(all.expect("scripts/test has ALL").split_whitespace());
    let functions = names(
        script
            .lines()
            .filter_map(|line| line.strip_prefix("step_")?.strip_suffix("() {"))
            .collect::<Vec<_>>(),
    );
    let contributing = read("CONTRIBUTING.md");
    let heading = "What the suite is made of";
    let table = column(section("CONTRIBUTING.md", &contributing, heading), 0);
    let list = format!("CONTRIBUTING.md, \"{heading}\",");
    let mut wrong = differences(&list, &table, &all, "scripts/test, ALL");
    wrong.extend(differences("scripts/test, ALL,", &all, &functions, "its functions step_..."));
    for path in papers() {
        let text = read(&path);
        for named in text.split("STEPS=").skip(1) {
            let value = match named.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next(),
                None => named.split(|c: char| !c.is_ascii_lowercase()).next(),
            };
            for step in value.unwrap_or_default().split_whitespace() {
                if !all.contains(step) {
                    wrong.push(format!("{path}: STEPS={step} is not in scripts/test, ALL"));
                }
            }
        }
    }
    report("steps of the suite", wrong);
}

#[test]
fn architecture_has_the_crates_and_front_ends() {
    const LIST: &str = "ARCHITECTURE.md, \"The picture\",";
    let text = read("ARCHITECTURE.md");
    let text = section("ARCHITECTURE.md", &text, "The picture");
    let (development, shipped): (Vec<_>, Vec<_>) =
        packages().into_iter().partition(|package| is_development(&package.folder));
    let mut folders = names(shipped.iter().map(|package| &*package.folder));
    for entry in fs::read_dir(root().join("front")).expect("a folder") {
        folders.insert(relative(&entry.expect("an entry").path()));
    }
    let real = "Cargo.toml, members, and the folders of front/";
    let table = column(text, 0);
    let mut wrong = differences(&format!("{LIST} the table"), &table, &folders, real);

    let drawing = text.split("```").nth(1).expect("a drawing");
    let drawn = drawing.split(|c: char| c.is_whitespace() || ",()<>".contains(c));
    let drawn =
        names(drawn.filter(|word| word.starts_with("crates/") || word.starts_with("front/")));
    wrong.extend(differences(&format!("{LIST} the drawing"), &drawn, &folders, real));

    for row in rows(text) {
        let folder = row[0].trim_matches('`');
        let package = shipped.iter().find(|package| package.folder == folder);
        if let Some(package) = package.filter(|package| row.get(1) != Some(&&*package.name)) {
            wrong.push(format!("{LIST} the table: the package of {folder} is {}", package.name));
        }
    }
    for package in development {
        if !text.contains(&format!("`{}", package.folder)) {
            wrong.push(format!("{LIST} lacks {}: for development", package.folder));
        }
    }
    report("crates and front ends", wrong);
}

#[test]
fn security_has_the_fuzz_targets() {
    const HEADING: &str = "Decoders and parsers of hostile input";
    let manifest = read("fuzz/Cargo.toml");
    let targets = manifest.split("[[bin]]").skip(1);
    let targets =
        names(targets.filter_map(|bin| bin.split("name = \"fuzz-").nth(1)?.split('"').next()));
    assert!(!targets.is_empty(), "no targets in fuzz/Cargo.toml?");
    let text = read("SECURITY.md");
    // A row without a target says "none" and why.
    let rows = rows(section("SECURITY.md", &text, HEADING));
    let cells = rows.iter().filter_map(|row| row.get(2)).filter(|cell| !cell.starts_with("none"));
    let table = names(cells.flat_map(|cell| codes(cell)));
    let list = format!("SECURITY.md, \"{HEADING}\",");
    let mut wrong = differences(&list, &table, &targets, "fuzz/Cargo.toml");
    let corpora = fs::read_dir(root().join("fuzz/corpus")).expect("a folder");
    let corpora: Names = corpora
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    wrong.extend(differences("fuzz/corpus", &corpora, &targets, "fuzz/Cargo.toml"));
    report("fuzz targets", wrong);
}

#[test]
fn architecture_has_the_places_of_unsafe() {
    const HEADING: &str = "Where unsafe stands";
    let text = read("ARCHITECTURE.md");
    let table = column(section("ARCHITECTURE.md", &text, HEADING), 0);
    let list = format!("ARCHITECTURE.md, \"{HEADING}\",");
    let allowed = names(UNSAFE_ALLOWED.iter().copied());
    report("places of unsafe", differences(&list, &table, &allowed, "tidy, UNSAFE_ALLOWED"));
}

#[test]
fn the_environment_is_listed() {
    const LIST: &str = "docs/environment.md";
    let mut read_by_code = Names::new();
    for (path, text) in sources() {
        let kind = path.rsplit('.').next().unwrap_or_default();
        let ships = path.split_once("/src/").map_or_else(
            || path.strip_suffix("/build.rs").unwrap_or_default(),
            |(folder, _)| folder,
        );
        let development = layer(ships).is_none_or(|layer| layer == Layer::Development);
        if development || !["rs", "c"].contains(&kind) {
            continue;
        }
        // Literals that are a variable's name; those that the compiler reads come from a build.rs.
        for (at, _) in text.match_indices("\"LOOKASIDE_") {
            let name = text[at + 1..].split('"').next().unwrap_or_default();
            let is_name =
                name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if is_name && !text[..at].ends_with("env!(") {
                read_by_code.insert(name.to_owned());
            }
        }
    }
    assert!(read_by_code.contains("LOOKASIDE_CPU"), "{read_by_code:?}");
    let table = column(&read(LIST), 0);
    report(
        "variables of the environment",
        differences(LIST, &table, &read_by_code, "the sources of crates/ and front/"),
    );
}

#[test]
fn documents_name_targets_of_make() {
    let makefile = read("Makefile");
    let phony = makefile.lines().find_map(|line| line.strip_prefix(".PHONY:"));
    let targets = names(phony.expect("the Makefile has .PHONY").split_whitespace());
    let rules = makefile.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        (is_name && !name.is_empty() && !rest.starts_with('=')).then_some(name)
    });
    let mut wrong = differences("Makefile, .PHONY,", &targets, &names(rules), "its rules");

    let helped = names(makefile.lines().filter_map(|line| {
        line.trim_start().strip_prefix("@echo 'make ")?.split_whitespace().next()
    }));
    let mut listed = targets.clone();
    // `make` alone is `make help`.
    listed.remove("help");
    wrong.extend(differences("Makefile, help,", &helped, &listed, ".PHONY"));

    let contributing = read("CONTRIBUTING.md");
    let heading = "Build and try";
    let rows = rows(section("CONTRIBUTING.md", &contributing, heading));
    let table = names(rows.iter().flat_map(|row| made(row[0])));
    let list = format!("CONTRIBUTING.md, \"{heading}\",");
    wrong.extend(differences(&list, &table, &listed, "the Makefile"));

    for path in papers() {
        for target in made(&read(&path)).filter(|target| !targets.contains(*target)) {
            wrong.push(format!("{path} has `make {target}`: not in the Makefile"));
        }
    }
    report("targets of make", wrong);
}

/// What code in a document has made: `make build && sudo make install`.
fn made(text: &str) -> impl Iterator<Item = &str> {
    let of_code = |code| {
        let words: Vec<&str> = str::split_whitespace(code).collect();
        let pairs = words.windows(2).filter(|pair| pair[0] == "make").map(|pair| pair[1]);
        pairs.collect::<Vec<_>>()
    };
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    codes(text).flat_map(of_code).filter(is_name)
}

#[test]
fn lists_are_read_from_documents() {
    let text = "# T\n\n## A\n\n| `x` | y |\n|---|---|\n| `a`, `b` | `c` |\n\n## B\n| `d` |\n";
    assert_eq!(column(section("T", text, "A"), 0), names(["a", "b"]));
    assert_eq!(column(section("T", text, "A"), 1), names(["c"]));
    let wrong = differences("T", &names(["a", "b"]), &names(["b", "c"]), "the code");
    assert_eq!(wrong, ["T lacks c: see the code", "T has a: not in the code"]);
    let text = "`make x A=1`, make no\n```sh\nmake build && sudo make install # make\n```\n`make`";
    assert_eq!(made(text).collect::<Vec<_>>(), ["x", "build", "install"]);
}
