//! `parcomp bench --quick`: every file is made, whole and well-formed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const FIGURES: [&str; 10] = [
    "fig03-ratio-chunk",
    "fig05-zlib-threads",
    "fig07-software-device",
    "fig09-device-threads",
    "fig10-outstanding",
    "fig11-summary",
    "future-copy",
    "future-wait",
    "future-engines",
    "future-doorbell",
];

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        // Not the system's folder for temporary files: what lies beside this one counts, because
        // the command looks for corpora there.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("parcomp-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that fails leaves it, to be looked at.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn bench(dir: &Path, args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_parcomp");
    Command::new(program).arg("bench").args(args).current_dir(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn quick_run_makes_every_file() {
    let dir = Folder::new("bench-quick");
    let output = bench(&dir.0, &["--quick", "--size", "3"]);
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("generated corpus, seed "), "{stderr}");

    let page = text(&output.stdout).lines().last().unwrap();
    assert_eq!(page, "parcomp-bench/index.html");
    let html = fs::read_to_string(dir.0.join(page)).unwrap();
    let markup = html.strip_prefix("<!DOCTYPE html>").unwrap();
    well_formed(markup, &["meta"]).unwrap_or_else(|e| panic!("{page}: {e}"));
    assert!(html.contains("generated corpus, seed "));
    assert!(html.contains("parcomp bench --quick --size 3"));
    assert!(!html.contains("NaN") && !html.contains("inf "), "a number is missing in the page");

    let out = dir.0.join("parcomp-bench");
    for figure in FIGURES {
        let svg = fs::read_to_string(out.join(format!("{figure}.svg"))).unwrap();
        well_formed(&svg, &[]).unwrap_or_else(|e| panic!("{figure}.svg: {e}"));
        assert!(svg.contains("viewBox") && svg.contains("class=\"title\""), "{figure}.svg");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{figure}.svg");
        assert!(html.contains(&svg), "{figure}.svg is in the page");
        let csv = fs::read_to_string(out.join(format!("{figure}.csv"))).unwrap();
        complete(&csv, 3_000_000).unwrap_or_else(|e| panic!("{figure}.csv: {e}"));
        assert!(html.contains(&format!("href=\"{figure}.csv\"")), "{figure}.csv is linked");
    }
}

#[test]
fn corpus_of_a_folder_is_used_and_named() {
    let dir = Folder::new("bench-corpus");
    let corpus = dir.0.join("my corpus");
    fs::create_dir(&corpus).unwrap();
    fs::write(corpus.join("b"), b"beta & co ".repeat(3000)).unwrap();
    fs::write(corpus.join("a"), b"alpha <1> ".repeat(2000)).unwrap();
    let output = bench(
        &dir.0,
        &["--quick", "--size=1", "--corpus", "my corpus", "--corpus=my corpus", "--out", "o"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim_end(), "o/index.html");
    let html = fs::read_to_string(dir.0.join("o/index.html")).unwrap();
    assert!(html.contains("2 files of my corpus, 50000 bytes"));
    assert!(html.contains("--corpus 'my corpus'"), "the command can be typed again");
    assert!(dir.0.join("o/fig03-ratio-chunk-my-corpus-2.svg").exists(), "the second corpus");
}

#[test]
fn wrong_options_are_refused() {
    let dir = Folder::new("bench-options");
    for (args, says) in [
        (&["--sise", "3"][..], "--sise"),
        (&["--size", "0"], "--size"),
        (&["--size", "many"], "many"),
        (&["--rounds"], "--rounds needs a value"),
        (&["--corpus", "nowhere"], "nowhere"),
    ] {
        let output = bench(&dir.0, args);
        assert!(!output.status.success(), "{args:?}");
        assert!(text(&output.stderr).contains(says), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 0, "nothing was written");
}

/// Whether a CSV has rows, each with a value for every number that was measured.
fn complete(csv: &str, size: u64) -> Result<(), String> {
    let mut lines = csv.lines();
    let names: Vec<_> = lines.next().ok_or("empty")?.split(',').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).ok_or(format!("no {name}"));
    let mut rows = 0;
    for line in lines {
        let fields = fields(line);
        if fields.len() != names.len() {
            return Err(format!("{} fields for {} columns: {line}", fields.len(), names.len()));
        }
        for name in ["bytes_in", "bytes_out", "ratio_percent", "elapsed_s_median", "mb_per_s"] {
            let value: f64 = fields[column(name)?].parse().map_err(|e| format!("{name}: {e}"))?;
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} is {value}: {line}"));
            }
        }
        let [min, median, max] = ["cpu_s_min", "cpu_s_median", "cpu_s_max"].map(|name| {
            column(name).ok().and_then(|c| fields[c].parse::<f64>().ok()).unwrap_or(f64::NAN)
        });
        if !(0.0 < min && min <= median && median <= max) {
            return Err(format!("CPU time {min} {median} {max}: {line}"));
        }
        if fields[column("bytes_in")?] != size.to_string() {
            return Err(format!("not of {size} bytes: {line}"));
        }
        let device = fields[column("provider")?] == "lookaside";
        let blank = fields.iter().filter(|f| f.is_empty()).count();
        if blank != if device { 0 } else { 5 } {
            return Err(format!("{blank} empty fields: {line}"));
        }
        rows += 1;
    }
    if rows < 2 { Err(format!("{rows} rows")) } else { Ok(()) }
}

/// The fields of a CSV line.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all
}

/// Whether elements nest and close, attributes are quoted and none is there twice, and no bare `<`
/// or `&` is left. `void` elements need no end (HTML).
fn well_formed(markup: &str, void: &[&str]) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut roots = 0;
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        check_text(text)?;
        if open.is_empty() && !text.trim().is_empty() {
            return Err(format!("text outside the root: {text:?}"));
        }
        let end = rest[start..].find('>').ok_or("a tag does not end")? + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let top = open.pop().ok_or(format!("</{name}> closes nothing"))?;
            if top != name {
                return Err(format!("</{name}> closes <{top}>"));
            }
            continue;
        }
        let (tag, closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name = tag.split_whitespace().next().ok_or("a tag without a name")?;
        if name.contains(|c: char| !c.is_ascii_alphanumeric()) {
            return Err(format!("a tag named {name:?}"));
        }
        check_attributes(&tag[name.len()..]).map_err(|e| format!("<{tag}>: {e}"))?;
        roots += usize::from(open.is_empty());
        if !closed && !void.contains(&name) {
            open.push(name);
        }
    }
    match (open.last(), roots, rest.trim().is_empty()) {
        (Some(name), ..) => Err(format!("<{name}> is not closed")),
        (None, 1, true) => Ok(()),
        _ => Err(format!("{roots} roots, then {rest:?}")),
    }
}

fn check_text(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let name = part.split(';').next().unwrap_or_default();
        if !["amp", "lt", "gt", "quot"].contains(&name) {
            return Err(format!("a bare & before {part:?}"));
        }
    }
    Ok(())
}

fn check_attributes(mut rest: &str) -> Result<(), String> {
    let mut names = Vec::new();
    while !rest.trim_start().is_empty() {
        let (name, more) = rest.trim_start().split_once("=\"").ok_or("no value")?;
        let (value, more) = more.split_once('"').ok_or("no end of value")?;
        check_text(value)?;
        if names.contains(&name) {
            return Err(format!("{name} twice"));
        }
        names.push(name);
        rest = more;
    }
    Ok(())
}

#[test]
fn the_checks_can_fail() {
    for bad in ["<a><b></a></b>", "<a>", "<a/><b/>", "<a x=1/>", "<a>&</a>", "<a x=\"\" x=\"\"/>"] {
        assert!(well_formed(bad, &[]).is_err(), "{bad}");
    }
    assert_eq!(well_formed("<a x=\"1 &lt; 2\"><b/>&amp;</a>\n", &[]), Ok(()));
    assert!(complete("a,b\n1,2\n", 1).is_err());
    assert_eq!(fields("a,\"b,c\",\"\""), ["a", "b,c", ""]);
}
