//! `lookaside scan` as people and programs meet it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn scan(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    command.env_remove("LOOKASIDE_CPU").current_dir(folder).arg("scan").args(args);
    command
}

/// The exit status, standard output and standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    told(scan(folder, args).stdin(Stdio::null()).output().expect("runs"))
}

fn told(out: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code().expect("no signal"), text(out.stdout), text(out.stderr))
}

/// What is printed where all went well and something was found.
#[track_caller]
fn rows(folder: &Path, args: &[&str]) -> Vec<String> {
    let (code, out, err) = run(folder, args);
    assert_eq!((code, &*err), (0, ""), "{args:?}: {out}");
    out.lines().map(str::to_owned).collect()
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scan-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn files_folders_and_standard_input() {
    let dir = folder("files");
    fs::create_dir_all(dir.join("d/e")).unwrap();
    fs::write(dir.join("a"), "one\nfoo bar\n").unwrap();
    fs::write(dir.join("d/b"), "no\nfoobar").unwrap();
    fs::write(dir.join("d/e/c"), "nothing").unwrap();
    fs::write(dir.join("d/z"), "").unwrap();
    assert_eq!(
        rows(&dir, &["-e", "foo", "-e", "ba[rz]$", "a", "d"]),
        ["a:7:1", "a:11:2", "d/b:6:1", "d/b:9:2"]
    );
    assert_eq!(rows(&dir, &["foo", "a"]), ["a:7:1"]);
    assert_eq!(
        rows(&dir, &["--text", "--start", "foo", "a", "d"]),
        ["a:4-7:1:foo bar", "d/b:3-6:1:foobar"]
    );
    assert_eq!(rows(&dir, &["-l", "foo", "d", "a"]), ["d/b", "a"]);
    assert_eq!(rows(&dir, &["-c", "-e", "o", "-e", "foo", "a"]), ["a:1:3", "a:2:1"]);
    assert_eq!(rows(&dir, &["-iF", "FOO ", "a"]), ["a:8:1"]);
    assert_eq!(run(&dir, &["none of it", "a"]), (1, String::new(), String::new()));

    let mut child =
        scan(&dir, &["foo"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in ["x f", "o", "o"] {
        stdin.write_all(piece.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
    drop(stdin);
    let (code, out, _) = told(child.wait_with_output().unwrap());
    assert_eq!((code, &*out), (0, "(standard input):5:1\n"));
}

/// Matches come while the other side of a pipe is still there.
#[test]
fn a_pipe_that_stays_open() {
    let dir = folder("pipe");
    let mut child =
        scan(&dir, &["foo"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for end in ["7:1", "15:1"] {
        stdin.write_all(b"xx\nxfoo\n").unwrap();
        stdin.flush().unwrap();
        let mut row = String::new();
        stdout.read_line(&mut row).unwrap();
        assert_eq!(row, format!("(standard input):{end}\n"));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn json_has_the_keys_of_the_help() {
    let dir = folder("json");
    fs::write(dir.join("a"), "foo\n").unwrap();
    let objects = |args: &[&str]| -> Vec<Value> {
        rows(&dir, args).iter().map(|row| serde_json::from_str(row).expect("JSON")).collect()
    };
    let all = objects(&["--json", "--text", "--start", "fo+", "a"]);
    let expected = r#"[{"file":"a","id":1,"offset":2,"start":0,"text":"foo"}]"#;
    assert_eq!(all, serde_json::from_str::<Vec<Value>>(expected).unwrap());
    assert_eq!(objects(&["--json", "fo+", "a"]).len(), 2);
    let counts = objects(&["--json", "-c", "fo+", "a"]);
    assert_eq!(counts, [serde_json::json!({ "file": "a", "id": 1, "count": 2 })]);
    let help = told(scan(&dir, &["--help"]).output().unwrap()).1;
    for key in ["file", "flow", "offset", "start", "id", "text", "count"] {
        assert!(help.contains(key), "{key}");
    }
}

#[test]
fn large_files_and_huge_lines() {
    let dir = folder("large");
    // Three pieces; a match across each border, and one line.
    let mut data = vec![b'.'; 700_000];
    let places = [262_140, 262_144, 524_285, 699_995];
    for at in places {
        data[at..at + 5].copy_from_slice(b"match");
    }
    data[262_144..262_149].copy_from_slice(b"match");
    data[262_140..262_144].copy_from_slice(b"....");
    fs::write(dir.join("a"), &data).unwrap();
    let expected = ["a:262149:1", "a:524290:1", "a:700000:1"];
    assert_eq!(rows(&dir, &["match", "a"]), expected);
    let text = rows(&dir, &["--text", "match", "a"]);
    assert_eq!(text.len(), 3);
    assert!(text.iter().all(|row| row.len() < 9000 && row.contains("match")));
    // All ends, more than a request has room for: none is lost, none comes twice.
    let ends = rows(&dir, &[".", "a"]);
    assert_eq!(ends.len(), data.len());
    for (end, row) in (1..).zip(&ends) {
        assert_eq!(*row, format!("a:{end}:1"));
    }
    // Many files at once, in their order, though the later ones are done first.
    for n in 0..40 {
        let data = [vec![b'x'; (39 - n) * 20_000], b"needle".to_vec()].concat();
        fs::write(dir.join(format!("f{n:02}")), data).unwrap();
    }
    let names: Vec<String> = (0..40).map(|n| format!("f{n:02}")).collect();
    let args: Vec<&str> = ["needle"].into_iter().chain(names.iter().map(|n| &**n)).collect();
    let expected: Vec<String> =
        (0..40).map(|n| format!("f{n:02}:{}:1", (39 - n) * 20_000 + 6)).collect();
    assert_eq!(rows(&dir, &args), expected);
}

#[test]
fn binary_data_does_not_reach_the_terminal() {
    let dir = folder("binary");
    fs::write(dir.join("a"), b"\x00\x1b[31m\xffneedle\x07\nrest").unwrap();
    assert_eq!(rows(&dir, &["--text", "needle", "a"]), [r"a:13:1:\u{0}\u{1b}[31m\xffneedle\u{7}"]);
    let painted = rows(&dir, &["--color=always", "--start", "--text", "needle", "a"]);
    assert!(painted[0].contains("\x1b[1;31mneedle\x1b[m"), "{painted:?}");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_scanned() {
    let dir = folder("missing");
    fs::write(dir.join("a"), "foo").unwrap();
    let (code, out, err) = run(&dir, &["foo", "missing", "a"]);
    assert_eq!((code, &*out), (2, "a:3:1\n"));
    assert!(err.starts_with("lookaside: missing: No such file or directory\n"), "{err}");
    for args in [&["-f", "missing", "a"][..], &["--nonsense"], &[], &["-f", "a.rules"]] {
        assert_eq!(run(&dir, args).0, 2, "{args:?}");
    }
}

#[test]
fn rule_files() {
    let dir = folder("rules");
    fs::write(dir.join("a"), "GET /evil?x=7C|\r\nHost: b\r\n").unwrap();
    let head = "alert tcp any any -> any 80";
    let rules = format!(
        "# a comment\n\
         17:/EVIL/i\n\
         x=[0-9]\n\
         {head} (msg:\"x; y\"; content:\"GET\"; content:\"hOST|3a 20|\"; nocase; sid:100;)\n\
         {head} (content:\"GET\"; content:\"never\"; sid:101;)\n\
         {head} (content:\"GET\"; pcre:\"/\\/e(?=v)vil/\"; depth:3; sid:102;)\n\
         {head} (content:\"7C\\|\"; sid:103;)\n\
         {head} (content:!\"no\"; sid:104;)\n\
         {head} (content:\"no sid\";)\n"
    );
    fs::write(dir.join("r"), rules).unwrap();
    let (code, out, err) = run(&dir, &["-f", "r", "a"]);
    assert_eq!(code, 0);
    let mut found: Vec<&str> = out.lines().collect();
    found.sort_unstable();
    assert_eq!(found, ["a:13:3", "a:15:103", "a:23:100", "a:3:102", "a:9:17"], "{err}");
    for named in [
        "1 x content:! ignored",
        "1 x depth ignored",
        "1 x pcre left out: ",
        "1 x rule left out: no sid",
        "1 x rule left out: nothing to search for",
    ] {
        assert!(err.contains(named), "{named}: {err}");
    }
    let text = rows(&dir, &["--explain", "-f", "r"]).join("\n");
    assert!(text.contains("for 4 rules\n  1 x content:! ignored\n"), "{text}");
    assert!(text.contains("\n100: a combination of other patterns"), "{text}");
}

#[test]
fn all_bad_patterns_are_named_with_their_place() {
    let dir = folder("bad");
    fs::write(dir.join("r"), "1:/good/\n2:/b(ad/\n3:/x*[z/\n").unwrap();
    let (code, out, err) = run(&dir, &["-f", "r", "-e", "(?<!a)b", "-"]);
    assert_eq!((code, &*out), (2, ""));
    for place in ["r:2: pattern 2", "r:3: pattern 3", "-e: pattern 1", "\n  b(ad\n", "\n  x*[z\n"] {
        assert!(err.contains(place), "{place}: {err}");
    }
    let carets = err.lines().filter(|line| line.trim_start() == "^").count();
    assert_eq!(carets, 3, "{err}");
    fs::write(dir.join("r"), "1:/good/Y\n2:x/\n3:/y/{min=1}\n").unwrap();
    let (code, _, err) = run(&dir, &["-f", "r", "-"]);
    assert_eq!(code, 2);
    assert!(err.contains("r:1: unknown flag Y") && err.contains("r:3: "), "{err}");
}

#[test]
fn explanation_speed_and_bench() {
    let dir = folder("bench");
    fs::write(dir.join("a"), "needle in hay ".repeat(1000)).unwrap();
    let text = rows(&dir, &["--explain", "-e", "need(le|s)", "-e", "[a-z]+$"]).join("\n");
    assert!(text.starts_with("2 patterns, compiled in ") && text.contains("state"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("1: ")), "{text}");
    let (code, _, err) = run(&dir, &["--speed", "-c", "needle", "a"]);
    assert_eq!(code, 0);
    assert!(err.contains("scanned 14000 bytes") && err.contains("served by cpu: "), "{err}");
    let counted = ["--counters", "-c", "-e", "needle", "-e", "hay [a-m]", "-e", "absent", "a"];
    let (code, _, err) = run(&dir, &counted);
    assert_eq!(code, 0);
    assert!(err.contains(" 14000 bytes, ") && err.contains(" 1000 matches, "), "{err}");
    let rows: Vec<Vec<&str>> = err.lines().map(|l| l.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["1000", "1000", "1", "-e:", "needle"]), "{err}");
    assert!(rows.iter().any(|row| row.len() > 2 && row[0] == "0" && row[2] == "2"), "{err}");
    assert!(!err.contains("absent"), "{err}");
    let (_, out, _) = run(&dir, &["--json", "--counters", "-c", "needle", "a"]);
    let last: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(last["patterns"][0]["matches"], 1000);
    assert_eq!((&last["bytes"], &last["matches"]), (&14_000.into(), &1000.into()));
    let (code, out, err) = run(&dir, &["--bench", "-e", "needle", "-Fe", "in hay", "a"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.contains("lookaside") && out.contains(", 2000 matches"), "{out}");
    if out.contains("hyperscan   none") {
        eprintln!("SKIPPED: libhs.so.5 (Debian: libhyperscan5) is not installed");
    } else {
        assert!(out.contains("ratio"), "{out}");
    }
}

// Captures, byte by byte.

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &ether_type.to_be_bytes(), payload].concat()
}

fn vlan(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(0x8100, &[&[0, 7][..], &ether_type.to_be_bytes(), payload].concat())
}

fn ipv4(protocol: u8, from: u8, to: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let len = 20 + payload.len() as u16;
    let mut head = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 0]].concat();
    head.extend(fragment.to_be_bytes());
    head.extend([64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    [head, payload.to_vec()].concat()
}

fn ipv6(next: u8, from: u8, to: u8, payload: &[u8]) -> Vec<u8> {
    let mut head =
        [&[0x60, 0, 0, 0][..], &(payload.len() as u16).to_be_bytes(), &[next, 64]].concat();
    for last in [from, to] {
        head.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [head, payload.to_vec()].concat()
}

fn tcp(from: u16, to: u16, sequence: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut head = [from.to_be_bytes(), to.to_be_bytes()].concat();
    head.extend(sequence.to_be_bytes());
    head.extend([0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    [head, data.to_vec()].concat()
}

fn udp(from: u16, to: u16, data: &[u8]) -> Vec<u8> {
    let len = 8 + data.len() as u16;
    [&from.to_be_bytes()[..], &to.to_be_bytes(), &len.to_be_bytes(), &[0, 0], data].concat()
}

fn pcap(big: bool, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let u32 = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut file = u32(0xa1b2_c3d4).to_vec();
    file.extend(if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    file.extend([u32(0), u32(0), u32(65535), u32(link)].concat());
    for packet in packets {
        let len = u32(packet.len() as u32);
        file.extend([u32(1), u32(2), len, len].concat());
        file.extend(packet);
    }
    file
}

fn pcapng(packets: &[Vec<u8>]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &len, &body, &len].concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[255; 8]].concat();
    let mut file = block(0x0a0d_0d0a, &section);
    file.extend(block(1, &[1, 0, 0, 0, 0, 0, 1, 0]));
    // A block of another kind, and a packet of the simple kind among enhanced ones.
    file.extend(block(5, &[0; 12]));
    for (n, packet) in packets.iter().enumerate() {
        let len = (packet.len() as u32).to_le_bytes();
        file.extend(match n % 2 {
            0 => block(6, &[&[0; 12][..], &len, &len, packet].concat()),
            _ => block(3, &[&len[..], packet].concat()),
        });
    }
    file
}

const SYN: u8 = 2;
const FIN: u8 = 1;

/// Two connections, a datagram, and what is none of them.
fn packets() -> Vec<Vec<u8>> {
    let (client, server) = (1000, 80);
    let to_server = |sequence, flags, data: &str| {
        ethernet(0x0800, &ipv4(6, 1, 2, 0, &tcp(client, server, sequence, flags, data.as_bytes())))
    };
    let to_client = |sequence, flags, data: &str| {
        vlan(0x0800, &ipv4(6, 2, 1, 0, &tcp(server, client, sequence, flags, data.as_bytes())))
    };
    let six = |sequence, data: &str| {
        ethernet(0x86dd, &ipv6(6, 1, 2, &tcp(5, 6, sequence, 0, data.as_bytes())))
    };
    vec![
        to_server(u32::MAX - 2, SYN, ""),
        to_client(500, SYN, ""),
        // In the wrong order, twice, and across the end of the numbers.
        to_server(2, 0, "cret"),
        to_client(501, 0, "se"),
        to_server(u32::MAX - 1, 0, "a se"),
        to_server(u32::MAX - 1, 0, "a se"),
        six(7, "sec"),
        ethernet(0x0800, &ipv4(17, 1, 2, 0, &udp(53, 53, b"secret"))),
        to_client(503, FIN, "cre"),
        to_client(506, 0, "t"),
        six(10, "ret"),
        // A fragment, ARP, ICMP.
        ethernet(0x0800, &ipv4(17, 1, 2, 0x2000, &udp(53, 53, b"secret"))),
        ethernet(0x0806, &[0; 28]),
        ethernet(0x0800, &ipv4(1, 1, 2, 0, &[8; 30])),
    ]
}

const FOUND: [&str; 3] = [
    "tcp/10.0.0.1.1000>10.0.0.2.80:8:1",
    "tcp/fd00::1.5>fd00::2.6:6:1",
    "udp/10.0.0.1.53>10.0.0.2.53:6:1",
];

#[test]
fn captures_by_flow() {
    let dir = folder("captures");
    let raw = |packets: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        let bare = |p: &Vec<u8>| p[if p[12] == 0x81 { 18 } else { 14 }..].to_vec();
        packets.iter().map(bare).collect()
    };
    let cooked = |packets: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        packets.iter().map(|p| [&[0; 14][..], &p[12..]].concat()).collect()
    };
    let files = [
        ("little", pcap(false, 1, &packets())),
        ("big", pcap(true, 1, &packets())),
        ("next", pcapng(&packets())),
        ("raw", pcap(false, 101, &raw(packets()))),
        ("cooked", pcap(false, 113, &cooked(packets()))),
    ];
    for (name, file) in files {
        fs::write(dir.join(name), file).unwrap();
        let (code, out, err) = run(&dir, &["secret", name]);
        let mut found: Vec<&str> = out.lines().collect();
        found.sort_unstable();
        let expected = FOUND.map(|row| format!("{name}:{row}"));
        assert_eq!((code, found), (0, expected.iter().map(|row| &**row).collect()), "{err}");
        for skipped in ["1 packets skipped: fragments", "1 packets skipped: neither TCP nor UDP"] {
            assert!(err.contains(skipped), "{err}");
        }
    }
    let (_, out, _) = run(&dir, &["--json", "--text", "--start", "s.cret", "little"]);
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let expected = serde_json::json!({ "file": "little", "flow": "tcp/10.0.0.1.1000>10.0.0.2.80",
        "offset": 8, "start": 2, "id": 1, "text": "a secret" });
    assert_eq!(first, expected);
    assert_eq!(run(&dir, &["-c", "secret", "little"]).1, "little:1:3\n");
    assert_eq!(run(&dir, &["-l", "secret", "little", "big"]).1, "little\nbig\n");
    // As any file, which has the text once: in the packet that is not cut, and in the fragment.
    assert_eq!(run(&dir, &["--raw", "-c", "secret", "little"]).1, "little:1:2\n");
    // By standard input too.
    let file = fs::File::open(dir.join("next")).unwrap();
    let (code, out, _) = told(scan(&dir, &["secret", "-"]).stdin(file).output().unwrap());
    assert_eq!((code, out.lines().count()), (0, 3));
}

#[test]
fn missing_segments_end_a_text() {
    let dir = folder("gaps");
    let packet = |sequence, data: &str| {
        ethernet(0x0800, &ipv4(6, 1, 2, 0, &tcp(1, 2, sequence, 0, data.as_bytes())))
    };
    let packets = [packet(1, "needle nee"), packet(20, "dle needle")];
    fs::write(dir.join("a"), pcap(false, 1, &packets)).unwrap();
    let (code, out, err) = run(&dir, &["--text", "needle", "a"]);
    let flow = "a:tcp/10.0.0.1.1>10.0.0.2.2";
    assert_eq!((code, out), (0, format!("{flow}:6:1:needle nee\n{flow}:29:1:dle needle\n")));
    assert!(err.contains("1 gaps"), "{err}");
}

#[test]
fn hostile_captures() {
    let dir = folder("hostile");
    let good = pcap(false, 1, &packets());
    let next = pcapng(&packets());
    // Cut anywhere: what was there is scanned, and no panic.
    for (name, file) in [("pcap", &good), ("pcapng", &next)] {
        for len in (4..file.len()).step_by(41) {
            fs::write(dir.join("a"), &file[..len]).unwrap();
            let (code, _, err) = run(&dir, &["secret", "a"]);
            assert!(matches!(code, 0..=2) && !err.contains("panicked"), "{name} {len}: {err}");
        }
        fs::write(dir.join("a"), &file[..file.len() - 1]).unwrap();
        let (code, out, err) = run(&dir, &["secret", "a"]);
        assert_eq!((code, out.lines().count()), (2, 3), "{err}");
        assert!(err.contains("cut off"), "{err}");
    }
    // Lengths that cannot be.
    let mut long = good.clone();
    long[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut block = next.clone();
    block[32..36].copy_from_slice(&7u32.to_le_bytes());
    for file in [&long, &block] {
        fs::write(dir.join("a"), file).unwrap();
        let (code, _, err) = run(&dir, &["secret", "a"]);
        assert!(code == 2 && err.contains("impossible length"), "{err}");
    }
    // Each byte of the first packets other than it is, in one file: no panic, and the last flow is found.
    let mut broken = Vec::new();
    for packet in &packets()[..8] {
        for at in 12..packet.len().min(60) {
            for value in [0, 0x4f, 0xff] {
                let mut packet = packet.clone();
                packet[at] = value;
                broken.push(packet);
            }
        }
        broken.extend((0..packet.len()).map(|len| packet[..len].to_vec()));
    }
    let last = udp(99, 99, b"a secret");
    broken.push(ethernet(0x0800, &ipv4(17, 9, 9, 0, &last)));
    fs::write(dir.join("a"), pcap(true, 1, &broken)).unwrap();
    let (code, out, err) = run(&dir, &["secret", "a"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("a:udp/10.0.0.9.99>10.0.0.9.99:8:1\n") && err.contains("malformed"),
        "{err}"
    );
}

/// A capture by somebody else's hands: this machine's own traffic, by tcpdump.
#[test]
fn a_capture_of_tcpdump() {
    let dir = folder("tcpdump");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let filter = format!("tcp port {port}");
    let tcpdump = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "-Z", "root", "-w", "a", &filter])
        .current_dir(&dir)
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tcpdump) = tcpdump else {
        eprintln!("SKIPPED: tcpdump (Debian: tcpdump) is not installed");
        return;
    };
    let mut said = BufReader::new(tcpdump.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        if said.read_line(&mut line).unwrap() == 0 {
            eprintln!("SKIPPED: tcpdump may not capture here");
            return;
        }
    }
    let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_nodelay(true).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for piece in ["one se", "cret, and ano", "ther secret"] {
        client.write_all(piece.as_bytes()).unwrap();
        let mut got = vec![0; piece.len()];
        server.read_exact(&mut got).unwrap();
    }
    server.write_all(b"secret").unwrap();
    client.read_exact(&mut [0; 6]).unwrap();
    drop((client, server));
    // What tcpdump has not yet written it writes when it ends.
    let wanted = [format!(".{port}:10:1"), format!(".{port}:30:1"), format!(".{port}>127.0.0.1.")];
    for attempt in 0.. {
        let (_, out, err) = run(&dir, &["secret", "a"]);
        if wanted.iter().all(|part| out.contains(part)) {
            assert_eq!(out.lines().count(), 3, "{out}");
            break;
        }
        assert!(attempt < 100, "{out}{err}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    tcpdump.kill().unwrap();
    tcpdump.wait().unwrap();
}
