//! The architecture as a test: which crate may know which, where `unsafe` may stand, and the small
//! rules of the house. ARCHITECTURE.md says why; a message here says what to do.

mod documents;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files and folders (these end in `/`) that may hold `unsafe`, besides tests, benches and examples. The table in
/// ARCHITECTURE.md says what for.
const UNSAFE_ALLOWED: &[&str] = &[
    "bench/",
    "crates/capi/",
    "crates/cipher/kernel/",
    "crates/cipher/src/library/",
    // Hyperscan's library.
    "crates/cli/src/scan/hyperscan.rs",
    "crates/compress/src/kernel/",
    "crates/core/src/buf.rs",
    "crates/core/src/region.rs",
    "crates/core/src/shared_memory.rs",
    // The library of a card.
    "crates/devices/qat/src/",
    // Mapped pages, what `atexit` calls.
    "crates/page/src/memory.rs",
    "crates/pke/kernel/",
    "crates/pke/src/library/",
    // Types of functions.
    "crates/quickassist/",
    "crates/runtime/src/fork.rs",
    "crates/runtime/src/ring.rs",
    "crates/runtime/src/signals.rs",
    "crates/runtime/src/tsc.rs",
    "crates/scan/src/fallback/gate/kernel/",
    "crates/scan/src/bitwise/kernel/",
    "crates/scan/src/literal/kernel/",
    // Memory of its own, and the stack below its caller.
    "crates/secure/src/",
    "crates/simd/",
    // Memory that another process writes to; who is at the other end of a socket.
    "crates/wire/src/area.rs",
    "crates/wire/src/peer.rs",
    "crates/xml/src/kernel/",
    "front/expat/",
    "front/hyperscan/",
    "front/openssl/",
    "front/parcomp/cf/src/ffi.rs",
    "front/parcomp/src/ffi.rs",
    "front/parcomp/src/libraries/ffi.rs",
    "front/qat/",
    "front/zlib/",
    "fuzz/",
];

/// Crates whose roots need no `deny(unsafe_code)`: `unsafe` is what they are for.
const UNSAFE_CRATES: &[&str] = &[
    "bench",
    "crates/cipher/kernel",
    "crates/pke/kernel",
    "front/expat",
    "front/hyperscan",
    "front/zlib",
];

const SERVICES: &[&str] =
    &["crates/compress", "crates/cipher", "crates/pke", "crates/scan", "crates/xml"];

/// Kernels that are crates of their own, each below one service.
const KERNELS: &[&str] = &["crates/cipher/kernel", "crates/pke/kernel"];

/// The device that makes nothing faster.
const MODEL: &str = "crates/devices/model";

/// The device that drives a card.
const CARD: &str = "crates/devices/qat";

/// The device that is the client of a server.
const SHARED: &str = "crates/devices/shared";

/// The server.
const SERVER: &str = "front/server";

/// A source file longer than this is two files.
const MAX_LINES: usize = 800;

/// Words that say nothing (the first six) or that mean something else here (`job`: a request).
const FORBIDDEN_WORDS: &[&str] =
    &["context", "manager", "handler", "factory", "helper", "util", "helpers", "utils", "job"];

/// Marks of unfinished work. Split, so that this file does not carry them.
const UNFINISHED: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("for ", "now"),
    concat!("todo", "!("),
    concat!("unimpl", "emented!("),
];

// The house: which crate may know which.

/// Where a crate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// The plain data that the core and the services share.
    Spec,
    Core,
    Runtime,
    /// Memory for keys.
    Secure,
    /// The types of somebody else's interface.
    Interface,
    /// What travels between a shared device's clients and its server.
    Wire,
    Simd,
    /// The kernels of the service in the folder above.
    Kernel,
    Service,
    Device,
    /// Counters in a file that is mapped.
    Page,
    /// What every drop-in library has.
    DropIn,
    /// A front end's library and command.
    Front,
    /// The C interface of the front end in the folder above.
    FrontC,
    Capi,
    /// Virtual functions: what is promised to whom.
    Shares,
    Cli,
    /// Development only: may know everything, and nothing that ships may know it.
    Development,
}

fn layer(folder: &str) -> Option<Layer> {
    Some(match folder {
        "crates/spec" => Layer::Spec,
        "crates/core" => Layer::Core,
        "crates/runtime" => Layer::Runtime,
        "crates/secure" => Layer::Secure,
        "crates/quickassist" => Layer::Interface,
        "crates/simd" => Layer::Simd,
        "crates/wire" => Layer::Wire,
        "crates/page" => Layer::Page,
        "crates/drop-in" => Layer::DropIn,
        "crates/capi" => Layer::Capi,
        "crates/shares" => Layer::Shares,
        "crates/cli" => Layer::Cli,
        "crates/testkit" | "bench" | "fuzz" => Layer::Development,
        _ if SERVICES.contains(&folder) => Layer::Service,
        _ if KERNELS.contains(&folder) => Layer::Kernel,
        _ if folder.starts_with("crates/devices/") => Layer::Device,
        _ => match folder.strip_prefix("front/")?.split('/').count() {
            1 => Layer::Front,
            _ => Layer::FrontC,
        },
    })
}

fn edge_allowed(from: (&str, Layer), to: (&str, Layer)) -> bool {
    use Layer::*;
    match (from.1, to.1) {
        (Development, _) => true,
        (Core | Service, Spec) => true,
        (Spec | Core | Service | Kernel | Page, Secure) => true,
        (Runtime | DropIn | Cli, Page) => true,
        (Runtime | Wire, Core) => true,
        (Device | Front, Wire) => matches!(from.0, SHARED | SERVER),
        (Cli, Front) => to.0 == SERVER,
        (Device, Core | Service | Simd) => true,
        (Device | Front, Interface) => matches!(from.0, "crates/devices/qat" | "front/qat"),
        (Service | Kernel, Simd) => true,
        (Service, Kernel) => to.0.starts_with(from.0),
        (Front | FrontC | Capi | Cli | DropIn | Shares, Runtime) => true,
        (Cli, Shares) => true,
        (Front, Shares) => from.0 == "front/server",
        (Front, DropIn) => true,
        // The timed model is for trying things out: drop-ins and the C interface start none.
        (_, Device) if to.0 == MODEL => matches!(from.0, "crates/cli" | "front/parcomp"),
        // Its library is named by whoever has a card. Our own libqat.so.4 may be the card, and has none; the C interface
        // starts the CPU device alone.
        (_, Device) if to.0 == CARD => {
            matches!(from.0, "crates/cli" | "front/openssl" | "front/parcomp" | "front/zlib")
        }
        (Front | FrontC | Capi | Cli, Device) => true,
        (Cli, Simd) => true,
        // Trees, XPath and schemas are no requests.
        (Cli, Service) => to.0 == "crates/xml",
        // A zlib call is synchronous and mostly small: it runs at once on the caller's thread, and
        // only what is large goes to a device. A scan's matches are reported on the caller's thread while it runs.
        (Front, Service | Simd) => matches!(
            (from.0, to.0),
            ("front/zlib", "crates/compress" | "crates/simd")
                | ("front/expat", "crates/xml" | "crates/simd")
                | ("front/hyperscan", "crates/scan" | "crates/simd")
        ),
        (FrontC, Front) => from.0.starts_with(to.0),
        _ => false,
    }
}

/// Whether the crate ships with nothing.
fn is_development(folder: &str) -> bool {
    layer(folder) == Some(Layer::Development)
}

/// One crate of the workspace, as `cargo metadata` tells it.
struct Package {
    name: String,
    /// Relative to the root, e.g. `crates/core`.
    folder: String,
    description: String,
    /// Folders of the crates of this repository that it depends on, for what ships: normal and
    /// build dependencies, optional and platform-specific ones too.
    needs: Vec<String>,
    /// Of its library: whether it is built for unit tests, and for those of its documentation.
    library: Option<[bool; 2]>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let list = |value: &serde_json::Value| value.as_array().expect("an array").clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    list(&all["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            folder: relative(Path::new(&text(&package["manifest_path"])).parent().unwrap()),
            description: text(&package["description"]),
            needs: list(&package["dependencies"])
                .iter()
                .filter(|needed| needed["kind"] != "dev" && needed["path"].is_string())
                .map(|needed| relative(Path::new(&text(&needed["path"]))))
                .collect(),
            library: list(&package["targets"])
                .iter()
                .find(|target| list(&target["kind"]).iter().any(|kind| text(kind).contains("lib")))
                .map(|library| ["test", "doctest"].map(|what| library[what] == true)),
        })
        .collect()
}

#[test]
fn crates_know_only_what_they_may() {
    let mut wrong = Vec::new();
    for package in packages() {
        let Some(from) = layer(&package.folder) else {
            wrong.push(format!(
                "{}: this test does not know its layer; add it to layer() or SERVICES",
                package.folder
            ));
            continue;
        };
        for needed in &package.needs {
            let allowed =
                layer(needed).is_some_and(|to| edge_allowed((&package.folder, from), (needed, to)));
            if !allowed {
                wrong.push(format!(
                    "{} ({from:?}) must not depend on {needed} ({:?})",
                    package.folder,
                    layer(needed)
                ));
            }
        }
    }
    report("edges between crates that ARCHITECTURE.md does not allow", wrong);
}

#[test]
fn the_rule_for_edges_itself() {
    let allowed =
        |from: &str, to: &str| edge_allowed((from, layer(from).unwrap()), (to, layer(to).unwrap()));
    assert!(allowed("crates/runtime", "crates/core"));
    assert!(allowed("crates/devices/cpu", "crates/compress"));
    assert!(allowed("crates/devices/model", "crates/core"));
    assert!(allowed("front/parcomp/cf", "front/parcomp"));
    assert!(allowed("crates/cli", "crates/simd"));
    assert!(allowed("crates/cli", "crates/xml"));
    assert!(allowed("crates/cli", "crates/shares"));
    assert!(allowed("front/server", "crates/shares"));
    assert!(!allowed("front/zlib", "crates/shares"));
    assert!(allowed("crates/capi", "crates/devices/cpu"));
    assert!(allowed("front/parcomp", "crates/devices/model"));
    assert!(allowed("front/expat", "crates/xml"));
    assert!(allowed("front/hyperscan", "crates/scan"));
    assert!(allowed("front/zlib", "crates/drop-in"));
    assert!(allowed("crates/runtime", "crates/page"));
    assert!(allowed("crates/wire", "crates/core") && allowed(SHARED, "crates/wire"));
    assert!(allowed(SERVER, "crates/wire") && allowed("crates/cli", SERVER));
    assert!(allowed("crates/capi", SHARED));
    for front in ["front/openssl", "front/parcomp", "front/zlib"] {
        assert!(allowed(front, "crates/devices/qat"));
    }
    assert!(allowed("crates/cipher/kernel", "crates/secure"));
    assert!(allowed("front/qat", "crates/quickassist"));
    assert!(allowed("crates/devices/qat", "crates/quickassist"));
    for (from, to) in [
        ("crates/core", "crates/simd"),
        ("crates/core", "crates/wire"),
        ("crates/devices/cpu", "crates/wire"),
        ("front/zlib", "crates/wire"),
        ("front/zlib", SERVER),
        ("crates/runtime", "crates/wire"),
        ("crates/drop-in", "crates/devices/cpu"),
        ("crates/capi", "crates/drop-in"),
        ("crates/cli", "crates/drop-in"),
        ("crates/shares", "crates/devices/cpu"),
        ("crates/runtime", "crates/shares"),
        ("crates/page", "crates/core"),
        ("crates/devices/cpu", "crates/page"),
        ("crates/secure", "crates/spec"),
        ("crates/runtime", "crates/secure"),
        ("crates/compress", "crates/core"),
        ("crates/runtime", "crates/devices/cpu"),
        ("crates/devices/cpu", "crates/runtime"),
        ("crates/devices/model", "crates/devices/cpu"),
        ("crates/devices/model", "crates/testkit"),
        ("front/parcomp", "crates/compress"),
        ("front/parcomp", "crates/core"),
        ("front/zlib", "front/parcomp"),
        ("front/zlib", "crates/scan"),
        ("crates/cli", "crates/scan"),
        ("front/expat", "crates/scan"),
        ("front/hyperscan", "crates/compress"),
        ("front/hyperscan", "crates/devices/qat"),
        ("front/zlib", "crates/devices/model"),
        ("crates/capi", "crates/devices/model"),
        ("front/qat", "crates/devices/qat"),
        ("crates/capi", "crates/devices/qat"),
        ("front/zlib/c", "front/parcomp"),
        ("crates/capi", "crates/testkit"),
        ("crates/devices/cpu", "crates/quickassist"),
    ] {
        assert!(!allowed(from, to), "{from} -> {to}");
    }
    assert_eq!(layer("crates/whatever"), None);
}

#[test]
fn every_crate_says_what_it_is() {
    let silent = packages().into_iter().filter(|package| package.description.is_empty());
    report("no `description` in Cargo.toml", silent.map(|package| package.name).collect());
}

// The sources.

#[test]
fn unsafe_stays_where_it_may() {
    let (mut wrong, mut unused) = (Vec::new(), UNSAFE_ALLOWED.to_vec());
    for (path, text) in rust_sources() {
        let code = code_only(&text);
        if unsafe_allowed(&path) {
            if words(&code).any(|word| word == "unsafe") {
                unused.retain(|entry| !path.starts_with(entry));
            }
            continue;
        }
        // Unit tests come last in a file; like other tests, they may.
        let shipped = code.find("#[cfg(test)]\nmod ").map_or(&code[..], |tests| &code[..tests]);
        for (number, line) in shipped.lines().enumerate() {
            if words(line).any(|word| word == "unsafe") {
                wrong.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    wrong.extend(unused.iter().map(|entry| format!("{entry}: allowed here, but holds none")));
    report("`unsafe` outside the places of ARCHITECTURE.md (a safe wrapper there?)", wrong);
}

fn unsafe_allowed(path: &str) -> bool {
    let listed = |entry: &&str| {
        if entry.ends_with('/') { path.starts_with(*entry) } else { path == *entry }
    };
    UNSAFE_ALLOWED.iter().any(listed)
        || path.split('/').any(|part| ["tests", "benches", "examples"].contains(&part))
}

/// Where cells may be that a thread waits for while another one fills them. A child of a fork in the middle of that
/// would wait for a thread that it does not have, so libraries that programs load have `once_cell::race`.
const WAITED_FOR: &[&str] = &[
    // A fork waits while one of these is filled.
    "crates/cipher/src/",
    "crates/pke/",
    "crates/secure/src/fork.rs",
    // Each belongs to one process, and no other one looks at it.
    "crates/runtime/src/doorbell.rs",
    "crates/runtime/src/runtime.rs",
    // Programs of ours, which do not fork.
    "bench/",
    "crates/cli/",
    "fuzz/",
    "front/parcomp/",
    "front/server/",
];

#[test]
fn no_child_of_a_fork_waits_for_a_cell() {
    let mut wrong = Vec::new();
    for (path, text) in rust_sources() {
        let listed = WAITED_FOR.iter().any(|entry| path.starts_with(entry));
        if listed || path.split('/').any(|part| ["tests", "benches", "examples"].contains(&part)) {
            continue;
        }
        for (number, line) in code_only(&text).lines().enumerate() {
            if words(line).any(|word| ["OnceLock", "LazyLock", "call_once"].contains(&word)) {
                wrong.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    report("cells that a child of a fork may wait for (`once_cell::race`?)", wrong);
}

/// A library without unit tests is not built for them (`test = false`), and one that has tests is.
#[test]
fn libraries_are_built_for_the_tests_that_they_have() {
    let mut wrong = Vec::new();
    for package in packages() {
        let Some([test, doctest]) = package.library else { continue };
        let folder = format!("{}/src/", package.folder);
        let sources: Vec<String> = rust_sources()
            .filter(|(path, _)| path.starts_with(&folder) && !path.ends_with("/main.rs"))
            .map(|(_, text)| text)
            .collect();
        let tests = sources.iter().any(|text| code_only(text).contains("#[test]"));
        if test != tests {
            wrong.push(format!(
                "{folder}: `test = {test}`, and there are {}",
                ["none", "some"][usize::from(tests)]
            ));
        }
        if !doctest && sources.iter().any(|text| has_doctest(text)) {
            wrong.push(format!("{folder}: `doctest = false`, and there are some"));
        }
    }
    report("libraries and their tests", wrong);
}

/// Whether a comment for documentation has code that rustdoc would run.
fn has_doctest(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let Some(info) = comment.and_then(|comment| comment.trim().strip_prefix("```")) else {
            continue;
        };
        inside = !inside;
        let language = info.split(',').next().unwrap_or_default();
        if inside && matches!(language, "" | "rust" | "no_run" | "should_panic" | "compile_fail") {
            return true;
        }
    }
    false
}

#[test]
fn crate_roots_deny_unsafe() {
    let mut wrong = Vec::new();
    for package in packages() {
        if UNSAFE_CRATES.contains(&package.folder.as_str()) {
            continue;
        }
        let source = root().join(&package.folder).join("src");
        let mut roots = vec![source.join("lib.rs"), source.join("main.rs")];
        if let Ok(entries) = fs::read_dir(source.join("bin")) {
            roots.extend(entries.map(|entry| entry.unwrap().path()));
        }
        for path in roots.iter().filter(|path| path.is_file()) {
            let code = code_only(&fs::read_to_string(path).unwrap());
            if !["#![deny(unsafe_code", "#![forbid(unsafe_code"].iter().any(|a| code.contains(a)) {
                wrong.push(relative(path));
            }
        }
    }
    report("crate roots without `#![deny(unsafe_code)]`", wrong);
}

#[test]
fn nothing_is_left_unfinished() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if let Some(mark) = UNFINISHED.iter().find(|mark| line.contains(**mark)) {
                wrong.push(format!("{path}:{}: {mark}", number + 1));
            }
        }
    }
    report("unfinished work: do it, or write down what is left out and why", wrong);
}

#[test]
fn files_hold_one_noun() {
    // What is generated has no nouns of its own.
    let written = sources().filter(|(path, _)| !path.starts_with("crates/quickassist/"));
    let long = written.filter(|(_, text)| text.lines().count() > MAX_LINES);
    report(
        &format!("files over {MAX_LINES} lines: split where the second noun begins"),
        long.map(|(path, text)| format!("{path}: {} lines", text.lines().count())).collect(),
    );
}

#[test]
fn names_say_something() {
    let mut wrong = Vec::new();
    // The types of somebody else's interface have its names.
    for (path, text) in rust_sources().filter(|(path, _)| !path.starts_with("crates/quickassist/"))
    {
        let stem = Path::new(&path).file_stem().unwrap().to_string_lossy().into_owned();
        if let Some(word) = forbidden_word(&stem) {
            wrong.push(format!("{path}: a file named `{word}`"));
        }
        let code = code_only(&text);
        let tokens: Vec<&str> = words(&code).collect();
        for pair in tokens.windows(2) {
            let defines = ["struct", "enum", "union", "trait", "type", "mod"].contains(&pair[0]);
            if let (true, Some(word)) = (defines, forbidden_word(pair[1])) {
                wrong.push(format!("{path}: {} {} (`{word}`)", pair[0], pair[1]));
            }
        }
    }
    report("names with words that are not ours: say what the thing is", wrong);
}

/// The forbidden word in a `CamelCase` or `snake_case` name.
fn forbidden_word(name: &str) -> Option<&'static str> {
    let mut parts = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter == '-' || letter.is_uppercase() {
            parts.push(String::new());
        }
        if letter.is_alphanumeric() {
            parts.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    FORBIDDEN_WORDS.iter().copied().find(|word| parts.iter().any(|part| part == word))
}

#[test]
fn the_papers_of_the_house_are_there() {
    let wanted = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "THIRD-PARTY-NOTICES",
        "docs/performance.md",
        "Cargo.lock",
    ];
    report(
        "missing at the root",
        wanted.into_iter().filter(|path| !root().join(path).is_file()).map(str::to_owned).collect(),
    );
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    assert!(!ignored.contains("Cargo.lock"), "Cargo.lock is committed, not ignored");
}

/// The longest README of the root: two screens.
const MAX_README_LINES: usize = 100;

#[test]
fn the_readme_is_short_and_papers_name_files_that_exist() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a paper");
    let lines = read("README.md").lines().count();
    assert!(
        lines <= MAX_README_LINES,
        "README.md has {lines} lines: docs/performance.md is the place"
    );
    let mut wrong = Vec::new();
    for path in papers() {
        let (text, folder) = (read(&path), root().join(&path).parent().unwrap().to_owned());
        let linked = links(&text).map(|link| (link, folder.join(link)));
        let named = named_paths(&text).map(|name| (name, root().join(name)));
        for (name, file) in linked.chain(named) {
            if !file.exists() {
                wrong.push(format!("{path}: {name}"));
            }
        }
    }
    report("a paper names a file that is not there", wrong);
}

/// The documents for people that lie at the root, in docs/ and beside the front ends.
fn papers() -> Vec<String> {
    let mut found = Vec::new();
    for folder in [
        ".",
        "crates/devices/model",
        "crates/devices/qat",
        "docs",
        "docs/guides",
        "front/expat",
        "front/hadoop",
        "front/hyperscan",
        "front/openssl",
        "front/parcomp",
        "front/qat",
        "front/server",
        "front/zlib",
    ] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|kind| kind == "md") {
                found.push(relative(&path));
            }
        }
    }
    found
}

/// Targets of links in Markdown, without addresses and places within a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(|link| link.split('#').next().unwrap_or_default())
        .filter(|link| !link.is_empty() && !link.contains(':'))
}

/// Paths from the root, in code quotes: `crates/spec/src/op.rs`.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: &[&str] = &["crates/", "front/", "docs/", "scripts/", "bench/", "fuzz/"];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_whitespace().next())
        .filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)))
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)))
}

// Reading.

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn relative(path: &Path) -> String {
    let path = path.canonicalize().expect("a path that exists");
    path.strip_prefix(root()).expect("inside the repository").display().to_string()
}

/// Every source and script of the repository: path from the root, text.
fn sources() -> impl Iterator<Item = (String, String)> {
    const SKIPPED: &[&str] = &["target", "corpus", "artifacts", "scratch", "vectors"];
    const KINDS: &[&str] = &["rs", "c", "h", "py", "sh", "toml", "in"];
    let mut folders = vec![root()];
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let script = folder.ends_with("scripts") || name == "Makefile";
            if path.is_dir() {
                // `.ci` is ours; `.git` is not.
                if !SKIPPED.contains(&name.as_str()) && (!name.starts_with('.') || name == ".ci") {
                    folders.push(path);
                }
            } else if script || path.extension().is_some_and(|e| KINDS.iter().any(|k| e == *k)) {
                let text = fs::read_to_string(&path).expect("text");
                found.insert(relative(&path), text);
            }
        }
    }
    assert!(found.len() > 20, "no sources under {}?", root().display());
    found.into_iter()
}

fn rust_sources() -> impl Iterator<Item = (String, String)> {
    sources().filter(|(path, _)| path.ends_with(".rs"))
}

/// Identifiers and keywords.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Rust without its comments and the content of its strings; lines stay lines.
fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let after_word =
            code.last().is_some_and(|&byte: &u8| byte == b'_' || byte.is_ascii_alphanumeric());
        let skipped = match rest[0] {
            b'/' if rest.starts_with(b"//") => {
                rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
            }
            b'/' if rest.starts_with(b"/*") => comment_len(rest),
            b'r' | b'b' | b'c' if !after_word && raw_string_start(rest).is_some() => {
                let (body, hashes) = raw_string_start(rest).unwrap();
                let end = format!("\"{}", "#".repeat(hashes));
                text[at + body..].find(&end).map_or(rest.len(), |len| body + len + end.len())
            }
            b'"' => quoted_len(rest, b'"'),
            // A lifetime has no closing quote where a character has one.
            b'\'' if rest.get(1) == Some(&b'\\') => quoted_len(rest, b'\''),
            b'\'' => {
                let letter = text[at + 1..].chars().next().map_or(1, char::len_utf8);
                if rest.get(1 + letter) == Some(&b'\'') { 2 + letter } else { 0 }
            }
            _ => 0,
        };
        if skipped == 0 {
            code.push(rest[0]);
            at += 1;
        } else {
            code.push(b' ');
            code.extend(rest[..skipped].iter().filter(|byte| **byte == b'\n'));
            at += skipped;
        }
    }
    String::from_utf8(code).expect("still text")
}

fn comment_len(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let step = match &text[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Where the content of a raw string begins (`r"`, `br##"`), and its number of hashes.
fn raw_string_start(text: &[u8]) -> Option<(usize, usize)> {
    let prefix = usize::from(text[0] != b'r');
    let after_r = text.get(prefix..)?.strip_prefix(b"r")?;
    let hashes = after_r.iter().take_while(|byte| **byte == b'#').count();
    (after_r.get(hashes) == Some(&b'"')).then_some((prefix + 1 + hashes + 1, hashes))
}

fn quoted_len(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

#[test]
fn code_is_told_from_text() {
    let code = code_only(
        "a /* unsafe /* nested */ unsafe */ b // unsafe\n\
         \"unsafe \\\" unsafe\" r#\"unsafe \" unsafe\"# 'u' '\\'' &'static c\nbr\"unsafe\" d",
    );
    assert!(!words(&code).any(|word| word == "unsafe"), "{code}");
    assert_eq!(code.lines().count(), 3);
    assert_eq!(words(&code).collect::<Vec<_>>(), ["a", "b", "static", "c", "d"]);
}

#[test]
fn forbidden_words_are_found_in_names() {
    assert_eq!(forbidden_word("RingManager"), Some("manager"));
    assert_eq!(forbidden_word("test_utils"), Some("utils"));
    assert_eq!(forbidden_word("Contextual"), None);
    assert_eq!(forbidden_word("Engine"), None);
}

fn report(what: &str, mut wrong: Vec<String>) {
    wrong.sort();
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}
