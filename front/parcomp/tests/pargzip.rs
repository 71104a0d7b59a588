//! The command as `pargzip`, beside gzip: the same files, exit statuses, standard output and messages.

mod common;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Mutex,
};

use common::Scratch;

/// Command lines, `$G` the program, run in a folder of their own that [`FIXTURE`] has filled.
const TABLE: &[&str] = &[
    // Files in place.
    "$G text",
    "$G -k text",
    "$G -1 text && $G -d text.gz",
    "$G -9 -k text && $G -l text.gz >/dev/null",
    "$G -v text",
    "$G -kv text",
    "$G -vc text >/dev/null",
    "$G empty",
    "$G -v empty big",
    "$G -n text",
    "$G -nk text empty big nope",
    "$G --no-name text",
    "$G -N text",
    "$G -S .x text",
    "$G -S.x -k text && $G -d -S .x -f text.x",
    "$G --suffix=.y text",
    "$G -S '' text",
    "$G text.gz",
    "$G -q text.gz",
    "$G -f text.gz",
    "$G a.tgz",
    // What is there already.
    "$G -k both",
    "$G -k -f both",
    "$G -d both.gz",
    "$G -df both.gz",
    "$G -q both",
    // Links, folders, odd files.
    "$G link",
    "$G -f link",
    "$G -kf link",
    "$G -c link",
    "$G hard1",
    "$G -f hard1",
    "$G -c hard1",
    "$G folder",
    "$G -q folder",
    "$G -r folder",
    "$G -rv folder",
    "$G -r folder && $G -rd folder",
    "$G -rk folder; $G -rt folder",
    "$G fifo",
    "$G /dev/null",
    "$G -c /dev/null",
    "$G suid",
    "$G sticky",
    "$G -k 0444",
    "$G 0444 && $G -d 0444",
    "$G nope",
    "$G -d nope",
    "$G -dk named",
    "ln -s ../text folder/out.gz; cd folder; $G -fk out",
    // Decompression.
    "$G -d named.gz",
    "$G -dN named.gz",
    "$G -dv named.gz",
    "$G -dkv named.gz",
    "$G -dc named.gz",
    "$G -dvc named.gz",
    "$G -d text",
    "$G -dc text",
    "$G -dcf text",
    "$G -dk a.tgz",
    "$G -dk upper.GZ",
    "$G -dc many.gz",
    "$G -d many.gz",
    "$G -dc bgzf.gz",
    "$G -d zeros.gz",
    "$G -dk garbage.gz",
    "$G -dcv garbage.gz",
    "$G -dcq garbage.gz",
    "$G -d cut.gz",
    "$G -dv crc.gz",
    "$G -d length.gz",
    "$G -d method.gz",
    "$G -d flags.gz",
    "$G -d encrypted.gz",
    "$G -d nothing.gz",
    "$G -d onebyte.gz",
    "$G -dc named.gz many.gz nope.gz",
    // Tests and lists.
    "$G -t named.gz",
    "$G -tv named.gz many.gz",
    "$G -tv garbage.gz",
    "$G -tv cut.gz",
    "$G -tv crc.gz",
    "$G -t length.gz",
    "$G -t text",
    "$G -t zeros.gz",
    "$G -l named.gz",
    "$G -lv named.gz",
    "$G -lN named.gz",
    "$G -lNv named.gz",
    "$G -lq named.gz",
    "$G -l named.gz many.gz a.tgz",
    "$G -lv named.gz many.gz",
    "$G -lqv named.gz many.gz",
    "$G -l text",
    "$G -l folder",
    "cat named.gz | $G -l",
    "cat named.gz | $G -lv",
    "$G -l <named.gz",
    // Pipes.
    "$G <text",
    "cat text | $G",
    "cat text | $G -9n",
    "$G -v <text",
    "$G -d <named.gz",
    "cat many.gz | $G -dc",
    "cat named.gz | $G -dv",
    "$G -tv <named.gz",
    "$G -dc <text",
    "$G -dcf <text",
    "$G -c - <text",
    "$G -c text - empty <big",
    "$G -dc named.gz - <many.gz",
    "$G -c big >/dev/full",
    "$G -dc named.gz >/dev/full",
    "$G </dev/null",
    "$G -d </dev/null",
    // Uses by other programs.
    "tar -cf x.tar.gz -I $G --mtime=@0 text folder && $G -t x.tar.gz && tar -xOf x.tar.gz -I $G text",
    "tar -c -I \"$G -9n\" --mtime=@0 text | tar -tz",
    "cp -p text log.1 && $G --best log.1 && test -s log.1.gz && ! test -e log.1",
    "$G -9nf text both && $G -dc text.gz both.gz | cksum",
    "tar -c --mtime=@0 text | $G -9cn - >data.tar.gz && zcat data.tar.gz | tar -t",
    // Command lines.
    "$G --badopt text",
    "$G -X text",
    "$G -b",
    "$G -b x text",
    "$G -b 12 -k text",
    "$G --suffix",
    "$G --best=3 text",
    "$G --stdou text",
    "$G --decom -k named.gz",
    "$G -Z text",
    "$G -ak text",
    "$G -kc -- text",
    "$G -k text -9",
    "$G -d -k named.gz -q -v",
    "GZIP=-9 $G -k text",
    "GZIP='-n -v' $G -k text",
    "GZIP=-c $G -k text",
    "GZIP=text $G -k text",
    "GZIP=--keep $G text",
    "$G --to-stdout --fast text",
    "$G --synchronous text",
];

/// The files of each folder.
const FIXTURE: &str = r#"
    touch -d @1000000000 text empty big both
    ln text hard1x; rm hard1x; cp -p text hard1; ln hard1 hard2; ln -s text link
    mkdir -p folder/sub; cp -p text folder/a; cp -p empty folder/sub/b; gzip -c text >folder/c.gz
    cp -p text suid; chmod 4755 suid; cp -p text sticky; chmod 1644 sticky; cp -p text 0444; chmod 444 0444
    mkfifo fifo
    cp -p text original; touch -d @1100000000 original; gzip -k original; mv original.gz named.gz; rm original
    gzip -nc text >both.gz; tar -c --mtime=@0 text | gzip -n >a.tgz; cp -p named.gz upper.GZ
    gzip -nc text empty text >many.gz
    (cat named.gz; head -c 1000 /dev/zero) >zeros.gz
    (cat named.gz; echo garbage) >garbage.gz
    head -c 1000 named.gz >cut.gz
    : >nothing.gz; printf '\037' >onebyte.gz
    touch -d @1200000000 *.gz *.tgz folder/* folder/sub/* folder
"#;

/// A text of so many bytes: words, not all alike.
fn words(len: usize) -> Vec<u8> {
    let mut x = 7u32;
    let mut text = Vec::new();
    while text.len() < len {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend_from_slice(format!("word{} ", (x >> 20) % 700).as_bytes());
        if x.is_multiple_of(11) {
            text.push(b'\n');
        }
    }
    text.truncate(len);
    text
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let found = found.is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is not there");
    }
    found
}

fn shell(dir: &Path, program: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).stdin(Stdio::null());
    command.env_remove("GZIP").env("G", program).env("TZ", "UTC").env("LC_ALL", "C");
    command.output().unwrap()
}

/// A link to the command, of this name.
fn called(scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.path(name);
    symlink(env!("CARGO_BIN_EXE_parcomp"), &path).unwrap();
    path
}

fn fill(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    for (name, data) in [("text", words(60_000)), ("empty", vec![]), ("big", words(3_500_000))] {
        fs::write(dir.join(name), data).unwrap();
    }
    fs::write(dir.join("both"), words(9)).unwrap();
    let done = shell(dir, Path::new("gzip"), FIXTURE);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let named = fs::read(dir.join("named.gz")).unwrap();
    let (end, len) = (named.len(), named.len());
    for (name, at, bits) in [
        ("crc", end - 8, 1),
        ("length", end - 4, 1),
        ("method", 2, 15),
        ("flags", 3, 0x80),
        ("encrypted", 3, 0x20),
    ] {
        let mut bad = named.clone();
        bad[at] ^= bits;
        fs::write(dir.join(format!("{name}.gz")), bad).unwrap();
    }
    // As bgzip writes: members with their length in the extra field, an empty one at the end.
    let mut bgzf = Vec::new();
    for _ in 0..3 {
        let body = &named[10 + b"original\0".len()..];
        let total = 18 + body.len();
        bgzf.extend_from_slice(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0");
        bgzf.extend_from_slice(&((total - 1) as u16).to_le_bytes());
        bgzf.extend_from_slice(body);
    }
    bgzf.extend_from_slice(
        b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0",
    );
    assert!(len < 65_000);
    fs::write(dir.join("bgzf.gz"), bgzf).unwrap();
}

/// gzip's own view of compressed bytes: those of the header that tell name and time, and what is in it.
fn seen(bytes: &[u8]) -> Vec<u8> {
    // The same files come again and again.
    static KNOWN: Mutex<BTreeMap<Vec<u8>, Vec<u8>>> = Mutex::new(BTreeMap::new());
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes.to_vec();
    }
    if let Some(seen) = KNOWN.lock().unwrap().get(bytes) {
        return seen.clone();
    }
    let mut gzip = Command::new("gzip");
    let gzip = gzip.args(["-dcq"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut gzip = gzip.stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || _ = std::io::Write::write_all(&mut stdin, bytes));
        gzip.wait_with_output().unwrap()
    });
    let mut seen = bytes[..bytes.len().min(10)].to_vec();
    if bytes.get(3) == Some(&8) {
        seen.extend(bytes[10..].iter().take_while(|&&b| b != 0));
    }
    seen.extend(output.stdout);
    KNOWN.lock().unwrap().insert(bytes.to_vec(), seen.clone());
    seen
}

type Files = BTreeMap<PathBuf, (u32, i64, Vec<u8>)>;

/// Each file with mode, time and content.
fn files(dir: &Path, below: &Path, all: &mut Files) {
    for entry in fs::read_dir(dir.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        let content = match meta.is_file() {
            true => seen(&fs::read(entry.path()).unwrap()),
            false => Vec::new(),
        };
        // What is made now has the time of now, in both folders or in none.
        let time = if meta.mtime() > 1_300_000_000 || meta.is_dir() { 0 } else { meta.mtime() };
        all.insert(path.clone(), (meta.mode(), time, content));
        if meta.is_dir() {
            files(dir, &path, all);
        }
    }
}

/// Messages without the program's name and without ratios, which are the compressor's.
fn messages(stderr: &[u8], program: &str) -> String {
    let text = String::from_utf8_lossy(stderr).replace(program, "gzip");
    let mut out = String::new();
    for part in text.split_inclusive('%') {
        match part.strip_suffix('%') {
            Some(rest) => {
                out += rest.trim_end_matches(|c: char| c.is_ascii_digit() || ".- ".contains(c));
                out += " N%";
            }
            None => out += part,
        }
    }
    out
}

#[test]
fn gzips_command_lines() {
    if !is_there("gzip") {
        return;
    }
    let scratch = Scratch::new("pargzip-table");
    let own = called(&scratch, "pargzip");
    let model = scratch.path("model");
    fill(&model);
    let mut wrong = Vec::new();
    for (i, line) in TABLE.iter().enumerate() {
        let run = |program: &Path, name: &str| {
            let dir = scratch.path(&format!("{name}{i}"));
            let copied = Command::new("cp").arg("-a").args([&model, &dir]).status().unwrap();
            assert!(copied.success());
            let output = shell(&dir, program, line);
            let mut all = Files::new();
            files(&dir, Path::new(""), &mut all);
            fs::remove_dir_all(&dir).unwrap();
            (output, all)
        };
        let (theirs, their_files) = run(Path::new("gzip"), "a");
        let (ours, our_files) = run(&own, "b");
        let mut differ = |what: &str, theirs: String, ours: String| {
            if theirs != ours {
                wrong.push(format!("{line}\n  {what}\n  gzip: {theirs:?}\n  ours: {ours:?}"));
            }
        };
        differ("status", theirs.status.to_string(), ours.status.to_string());
        let stdout = |o: &Output| {
            let seen = seen(&o.stdout);
            let shown = String::from_utf8_lossy(&seen[..seen.len().min(300)]).into_owned();
            format!("{} {:x} {shown}", seen.len(), parcomp::crc32(0, &seen))
        };
        differ("stdout", stdout(&theirs), stdout(&ours));
        // The order of the names in a folder is nobody's.
        let sorted = |text: String| match line.contains("-rv") {
            true => {
                let mut lines: Vec<_> = text.lines().collect();
                lines.sort();
                lines.join("\n")
            }
            false => text,
        };
        differ(
            "stderr",
            sorted(messages(&theirs.stderr, "gzip")),
            sorted(messages(&ours.stderr, "pargzip")),
        );
        let list = |a: &Files, b: &Files| {
            let only = a.iter().filter(|(path, file)| b.get(*path) != Some(file));
            let shown = only.map(|(path, (mode, time, data))| {
                let head = &data[..data.len().min(20)];
                format!("{} {mode:o} {time} {} {head:?}", path.display(), data.len())
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let (a, b) = (list(&their_files, &our_files), list(&our_files, &their_files));
        differ("files", a, b);
    }
    assert!(
        TABLE.len() >= 60 && wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        TABLE.len(),
        wrong.join("\n")
    );
}

/// Chunks joined are one member, whoever reads it; neither cores nor how the input comes change a byte.
#[test]
fn one_member_and_the_same_bytes_always() {
    let scratch = Scratch::new("pargzip-bytes");
    let own = called(&scratch, "pargzip");
    let run = |line: &str| {
        let output = shell(&scratch.0, &own, line);
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
        output.stdout
    };
    let mut noise = words(2_500_000);
    let mut x = 1u32;
    noise[700_000..1_900_000].iter_mut().for_each(|b| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *b = (x >> 24) as u8;
    });
    for (name, data) in [("words", words(3_500_000)), ("noise", noise), ("zeros", vec![0; 2 << 20])]
    {
        let path = scratch.file(name, &data);
        for level in 1..=9 {
            let packed = run(&format!("$G -n{level} -p1 -c {name}"));
            for line in ["$G -nLEVEL -p3 <NAME", "cat NAME | $G -nLEVEL -p2", "$G -ncLEVEL NAME"] {
                // A name is stored without -n only.
                let line = line.replace("LEVEL", &level.to_string()).replace("NAME", name);
                assert!(run(&line) == packed, "{line}");
            }
            let file = scratch.file("packed.gz", &packed);
            if level % 4 == 1 && is_there("python3") {
                let check = "import sys, zlib\n\
                    d = zlib.decompressobj(31)\n\
                    data = d.decompress(open('packed.gz', 'rb').read()) + d.flush()\n\
                    assert d.eof and not d.unused_data\n\
                    assert data == open(sys.argv[1], 'rb').read()";
                fs::write(scratch.path("check.py"), check).unwrap();
                run(&format!("python3 check.py {name}"));
            }
            for program in ["gzip", "pigz"] {
                if (program == "gzip" || level == 6) && is_there(program) {
                    run(&format!(
                        "{program} -tv packed.gz 2>/dev/null && {program} -dc packed.gz | cmp - {name}"
                    ));
                }
            }
            run(&format!("$G -dc packed.gz | cmp - {name}"));
            // Members of their own: the same for every reader, and name and time are there.
            if level % 5 == 1 {
                run(&format!("touch -d @1000000000 {name}"));
                let many = run(&format!("$G -i{level} -p1 -c {name}"));
                assert!(many == run(&format!("$G -ci{level} -p3 {name}")), "{name} -{level}");
                assert!(many.windows(2).filter(|w| w == b"LA").count() >= data.len() >> 20);
                scratch.file("many.gz", &many);
                run(&format!("gzip -t many.gz && $G -dc many.gz | cmp - {name}"));
                run(&format!("gzip -dcN many.gz | cmp - {name} && mkdir d && cp many.gz d/x.gz"));
                run(&format!(
                    "$G -dN d/x.gz && cmp d/{name} {name} && test $(stat -c %Y d/{name}) = 1000000000"
                ));
                run("rm -r d many.gz");
            }
            let listed = String::from_utf8(run("$G -lq packed.gz")).unwrap();
            let lengths = format!("{:19} {:19} ", packed.len(), data.len());
            assert!(listed.starts_with(&lengths), "{listed}");
            fs::remove_file(file).unwrap();
        }
        fs::remove_file(path).unwrap();
    }
}

/// What others write: many members by bgzip, pieces by pigz.
#[test]
fn reads_what_others_write() {
    let scratch = Scratch::new("pargzip-others");
    let own = called(&scratch, "pargzip");
    scratch.file("data", &words(1_000_000));
    for (program, line) in [
        ("gzip", "gzip -c data"),
        ("pigz", "pigz -b 128 -c data"),
        ("pigz", "pigz -i -c data"),
        ("bgzip", "bgzip -c data"),
    ] {
        if is_there(program) {
            let line = format!("{line} >x.gz && $G -t x.gz && $G -dc x.gz | cmp - data");
            let output = shell(&scratch.0, &own, &line);
            assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
        }
    }
}

/// What ends the command early leaves no part of a file.
#[test]
fn a_signal_leaves_no_output() {
    let scratch = Scratch::new("pargzip-signal");
    let own = called(&scratch, "pargzip");
    let line = "$G -k9 big & pid=$!; sleep 0.2; kill -TERM $pid; wait $pid; echo $?; ls -A";
    scratch.file("big", &words(60_000_000));
    let output = shell(&scratch.0, &own, line);
    let seen = String::from_utf8(output.stdout).unwrap();
    // Unless it was done before that.
    assert!(seen == "143\nbig\npargzip\n" || seen.starts_with("0\n"), "{seen}");
}
