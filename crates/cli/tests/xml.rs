//! `lookaside xml` as people and programs meet it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn xml(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    command.env_remove("LOOKASIDE_CPU").current_dir(folder).arg("xml").args(args);
    command
}

/// The exit status, standard output and standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    told(xml(folder, args).stdin(Stdio::null()).output().expect("runs"))
}

fn told(out: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code().expect("no signal"), text(out.stdout), text(out.stderr))
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("xml-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(path.join("d")).unwrap();
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let gzip = gzip.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().expect("gzip runs");
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let out = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    out
}

#[test]
fn documents_are_checked_in_their_order() {
    let dir = folder("check");
    fs::write(dir.join("good"), "<a><b/></a>").unwrap();
    fs::write(dir.join("d/bad"), "<a>\n <b></a>").unwrap();
    fs::write(dir.join("d/worse"), "").unwrap();
    assert_eq!(run(&dir, &["check", "good"]), (0, String::new(), String::new()));
    let (code, out, err) = run(&dir, &["check", "d", "good", "none"]);
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!((code, &*out, lines.len()), (1, "", 3), "{err}");
    assert!(lines[0].starts_with("d/bad:2:7: error: WFC: Element Type Match"), "{err}");
    assert!(lines[1].starts_with("d/worse:1:1: error: "), "{err}");
    assert!(lines[2].starts_with("lookaside: none: No such file"), "{err}");
    let (code, out, err) = run(&dir, &["check", "--json", "d/bad"]);
    let fault: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &*err), (1, ""));
    assert_eq!(
        (&fault["line"], &fault["column"], &fault["byte"]),
        (&2.into(), &7.into(), &10.into())
    );
    assert_eq!((&fault["file"], &fault["rule"]), (&"d/bad".into(), &"ElementTypeMatch".into()));
}

#[test]
fn a_gzipped_document_is_decompressed_by_the_device() {
    let dir = folder("gzip");
    let text = format!("<a>{}</a>", "<b c='d'>text</b>".repeat(50_000));
    // Two members are one file.
    let (first, second) = text.as_bytes().split_at(333_333);
    let packed = [gzip(first), gzip(second)].concat();
    fs::write(dir.join("a.gz"), &packed).unwrap();
    let (code, out, err) = run(&dir, &["check", "--speed", "a.gz"]);
    assert_eq!((code, &*out), (0, ""), "{err}");
    assert!(err.contains(&format!("1 documents, {} bytes", text.len())), "{err}");
    assert!(err.contains("dc.decompress served by cpu"), "{err}");
    assert!(err.contains("xml.parse served by cpu"), "{err}");
    fs::write(dir.join("cut"), &packed[..packed.len() - 9]).unwrap();
    let (code, _, err) = run(&dir, &["check", "cut"]);
    assert_eq!((code, err.contains("cut: gzip: unexpected end of data")), (1, true), "{err}");
    let mut child = xml(&dir, &["select", "count(//b)"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&packed).unwrap();
    assert_eq!(told(child.wait_with_output().unwrap()), (0, "50000\n".into(), String::new()));
}

#[test]
fn nodes_are_selected() {
    let dir = folder("select");
    let text = "<s xmlns='urn:s'><i n='1'>one</i><i n='2'>t<b/>wo</i></s>";
    fs::write(dir.join("f"), text).unwrap();
    let select = |args: &[&str]| run(&dir, &[&["select", "-n", "s=urn:s"], args].concat());
    let printed = |text: &str| (0, text.to_owned(), String::new());
    assert_eq!(select(&["//s:i[2]", "f"]), printed("<i xmlns=\"urn:s\" n=\"2\">t<b/>wo</i>\n"));
    assert_eq!(select(&["-e", "//@n", "-e", "string(//s:i)", "f"]), printed("1\n2\none\n"));
    assert_eq!(select(&["--stream", "//s:i[@n>1]/text()", "f"]), printed("t\nwo\n"));
    assert_eq!(select(&["--stream", "//s:b", "f"]), printed("b\n"));
    assert_eq!(select(&["//s:none", "f"]), (11, String::new(), String::new()));
    let (code, _, err) = select(&["//s:i[", "f"]);
    assert_eq!((code, err.contains("byte 6")), (10, true), "{err}");
    let (code, _, err) = select(&["--stream", "//s:i[2]", "f"]);
    assert_eq!((code, err.contains("counts positions")), (10, true), "{err}");
    let (_, out, _) = select(&["--json", "//s:i[1]/@n", "f"]);
    let node: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&node["kind"], &node["name"], &node["value"]),
        (&"attribute".into(), &"n".into(), &"1".into())
    );
}

#[test]
fn documents_are_validated() {
    let dir = folder("validate");
    let schema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:include schemaLocation='types.xsd'/>\
        <xs:element name='a'><xs:complexType><xs:sequence>\
        <xs:element name='n' type='small' maxOccurs='3'/></xs:sequence></xs:complexType></xs:element></xs:schema>";
    let types = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:simpleType name='small'>\
        <xs:restriction base='xs:int'><xs:maxInclusive value='9'/></xs:restriction></xs:simpleType></xs:schema>";
    fs::write(dir.join("d/s.xsd"), schema).unwrap();
    fs::write(dir.join("d/types.xsd"), types).unwrap();
    fs::write(dir.join("good"), "<a><n>1</n><n>9</n></a>").unwrap();
    fs::write(dir.join("bad"), "<a>\n<n>1</n>\n<n>10</n></a>").unwrap();
    let validate = |file: &str| run(&dir, &["validate", "--schema", "d/s.xsd", file]);
    assert_eq!(validate("good"), (0, String::new(), String::new()));
    let (code, out, err) = validate("bad");
    assert_eq!((code, &*out), (3, ""), "{err}");
    assert!(err.starts_with("bad:3: error: /a/n[2]: cvc-maxInclusive-valid: "), "{err}");
    let (code, out, _) = run(&dir, &["validate", "--json", "--schema=d/s.xsd", "bad", "good"]);
    let fault: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &fault["line"], &fault["path"]), (3, &3.into(), &"/a/n[2]".into()));
    fs::write(dir.join("d/types.xsd"), "<xs:schema").unwrap();
    let (code, _, err) = validate("good");
    assert_eq!((code, err.contains("types.xsd")), (5, true), "{err}");
}

#[test]
fn events_trees_and_layouts() {
    let dir = folder("show");
    fs::write(
        dir.join("f"),
        "<?xml version='1.0'?><p:a xmlns:p='urn:p' b='c'>x&amp;y<!--z--></p:a>",
    )
    .unwrap();
    let (code, out, err) = run(&dir, &["events", "f"]);
    assert_eq!((code, &*err), (0, ""));
    assert!(out.starts_with("xml-declaration "), "{out}");
    for line in [
        "element p:a\n",
        "attribute b \"c\"\n",
        "namespace p \"urn:p\"\n",
        "comment \"z\"\nend p:a\n",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    let (_, out, _) = run(&dir, &["events", "--json", "f"]);
    let events: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["uri"], "urn:p");
    let (_, out, _) = run(&dir, &["tree", "f"]);
    let tree = "element p:a\n  namespace p \"urn:p\"\n  attribute b \"c\"\n  text \"x&y\"\n  comment \"z\"\n";
    assert_eq!(out, tree);
    fs::write(dir.join("g"), "<a><b>&lt;</b><c/></a>").unwrap();
    assert_eq!(run(&dir, &["format", "g"]).1, "<a>\n  <b>&lt;</b>\n  <c/>\n</a>\n");
    let wide: Vec<u8> = "\u{feff}<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(dir.join("wide"), wide).unwrap();
    assert_eq!(run(&dir, &["check", "wide"]).0, 0);
    let (code, _, err) = run(&dir, &["format", "wide"]);
    assert_eq!((code, err.contains("format wants")), (1, true), "{err}");
}

/// Many documents on all threads: what is printed is in the order of the command line.
#[test]
fn many_documents_are_printed_in_order() {
    let dir = folder("many");
    let mut expected = String::new();
    for n in 0..500 {
        let length = n * 7919 % 3000;
        let text = format!("<a n='{n}'>{}</a>", "x".repeat(length));
        fs::write(dir.join(format!("d/{n:03}")), text).unwrap();
        expected += &format!("{n}\n{length}\n");
    }
    let (code, out, err) = run(&dir, &["select", "-e", "/a/@n", "-e", "string-length(/a)", "d"]);
    assert_eq!((code, &*err), (0, ""));
    assert!(out == expected, "{}", &out[..200]);
}

#[test]
fn mistakes_of_the_command_line() {
    let dir = folder("mistakes");
    for args in [&["chek"][..], &["validate", "f"], &["select"], &["check", "--what"]] {
        let (code, out, err) = run(&dir, args);
        assert_eq!((code, &*out), (2, ""), "{args:?}");
        assert!(err.starts_with("error: ") && err.contains("Usage: lookaside xml"), "{err}");
    }
    assert!(run(&dir, &["--help"]).1.contains("Usage: lookaside xml <COMMAND>"));
}

#[test]
fn external_entities_are_read_when_asked_for() {
    let dir = folder("external");
    let document = "<!DOCTYPE a SYSTEM 'a.dtd' [<!ENTITY t SYSTEM 'text'>]>\n<a>&t;&u;&web;</a>";
    fs::write(dir.join("d/a.xml"), document).unwrap();
    let declared = "<!ENTITY u SYSTEM 'text'><!ENTITY web SYSTEM 'http://localhost/w'>\
        <!ATTLIST a b CDATA 'c'>";
    fs::write(dir.join("d/a.dtd"), declared).unwrap();
    fs::write(dir.join("d/text"), "<?xml encoding='ISO-8859-1'?>sch\u{f6}n").unwrap();
    let (code, out, err) = run(&dir, &["select", "/a", "d/a.xml"]);
    assert_eq!((code, &*out, &*err), (0, "<a/>\n", ""));
    for name in ["d/a.xml", "d"] {
        let only = ["select", "--external", "string(/a[@b='c'])", name];
        let (code, out, err) = run(&dir, &only);
        let lines: Vec<&str> = err.lines().filter(|line| line.contains("a.xml")).collect();
        assert!(out.starts_with("sch\u{c3}\u{b6}nsch\u{c3}\u{b6}n\n"), "{out}");
        assert_eq!(code, i32::from(name == "d"), "{err}");
        let warning = "d/a.xml: warning: not read: http://localhost/w: nothing is fetched";
        assert_eq!(lines, [warning]);
    }
    let (code, out, err) = run(&dir, &["events", "--external", "d/a.xml"]);
    assert_eq!((code, out.matches("\nend-entity ").count()), (0, 2), "{out} {err}");
    fs::write(dir.join("d/text"), "&").unwrap();
    let (code, _, err) = run(&dir, &["check", "--external", "d/a.xml"]);
    assert!(code == 1 && err.contains("d/a.xml:2:7: error: 4.3.2"), "{err}");
}
