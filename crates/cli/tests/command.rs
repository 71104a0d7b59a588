//! The command as people and programs meet it.

mod schema;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn lookaside(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_lookaside"));
    c.env_remove("LOOKASIDE_CPU").env_remove("LOOKASIDE_CARD_LIBRARY").args(args);
    c
}

fn stdout(out: &Output) -> &str {
    std::str::from_utf8(&out.stdout).expect("UTF-8")
}

fn stderr(out: &Output) -> &str {
    std::str::from_utf8(&out.stderr).expect("UTF-8")
}

fn good(command: &mut Command) -> Output {
    let out = command.output().expect("runs");
    assert!(out.status.success(), "{command:?}: {}\n{}", out.status, stderr(&out));
    out
}

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&good(command).stdout).expect("one JSON object")
}

/// The names of all members, however deep.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                found.push(key.clone());
                keys(inner, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| keys(v, found)),
        _ => {}
    }
}

/// The part of the help that documents the JSON of `command`, as words.
fn documented(command: &str) -> Vec<String> {
    let help = good(&mut lookaside(&[command, "--help"]));
    let (_, text) = stdout(&help).split_once("The JSON object.").expect("a section on JSON");
    text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
}

fn fits_80_columns(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// No line is longer than 100, and the columns of the tables begin at the same place in every row, at
/// least two spaces after what is before them.
fn is_a_readable_table(text: &str) {
    let mut starts: Vec<usize> = Vec::new();
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(line.is_ascii() && !line.ends_with(' '), "{line:?}");
        if !line.starts_with("  ") || line.starts_with("            ") && starts.is_empty() {
            starts.clear();
            continue;
        }
        // The head of a table has one word or two in each cell.
        if starts.is_empty() {
            let mut at = 0;
            for cell in line.split("  ") {
                if !cell.is_empty() {
                    starts.push(at + cell.len() - cell.trim_start().len());
                }
                at += cell.len() + 2;
            }
            assert!(starts.len() >= 3, "a head: {line}");
        }
        for start in &starts {
            assert!(line.get(start - 2..*start).is_none_or(|gap| gap == "  "), "{start}: {line}");
        }
    }
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn info_for_people() {
    let out = good(&mut lookaside(&["info"]));
    let text = stdout(&out);
    fits_80_columns(text);
    // The prompt takes the last of 24.
    assert!(text.lines().count() < 24, "{} lines:\n{text}", text.lines().count());
    let first = format!("lookaside   {} on ", env!("CARGO_PKG_VERSION"));
    assert!(text.starts_with(&first), "{text}");
    for expected in [
        "\nkernels ",
        "\ndevices     cpu; ",
        ", family ",
        "served by cpu",
        "compression",
        "libdeflate",
        "--all",
        "not capped by LOOKASIDE_CPU",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    assert_eq!(stderr(&out), "");
    // What is expected depends on the tier, and says which; what is set is shown.
    let lower = good(lookaside(&["info"]).env("LOOKASIDE_CPU", "generic"));
    assert!(stdout(&lower).contains("tier generic nothing was measured"), "{}", stdout(&lower));
    assert!(stdout(&lower).contains("\nsettings    LOOKASIDE_CPU=generic\n"), "{}", stdout(&lower));
}

#[test]
fn info_with_every_row() {
    let out = good(&mut lookaside(&["info", "--all"]));
    let text = stdout(&out);
    is_a_readable_table(text);
    let v = json(&mut lookaside(&["info", "--json"]));
    let rows = v["devices"][0]["capabilities"].as_array().unwrap();
    // Of routes that are equal there is one row.
    let routes = text.lines().filter(|line| line.contains("default: the first")).count();
    assert_eq!(routes, 1, "{text}");
    for route in v["routes"].as_array().unwrap() {
        let op = route["op"].as_str().unwrap();
        assert!(text.split_whitespace().any(|word| word == op), "{op}");
    }
    for (rows, op) in [(rows, "dc.compress"), (rows, "sym.seal")] {
        let expected = rows.iter().filter(|row| row["op"] == op).count();
        let lines = text.lines().filter(|l| l.split_whitespace().next() == Some(op)).count();
        assert!(
            lines > expected / 2 && expected > 0,
            "{op}: {lines} lines, {expected} rows\n{text}"
        );
    }
    // The short form names whose code every implementation is.
    let short = good(&mut lookaside(&["info"]));
    assert!(!stdout(&short).contains("other code"), "{}", stdout(&short));
}

#[test]
fn info_for_programs() {
    let v = json(&mut lookaside(&["info", "--json"]));
    schema::fits(&v, "info.json", &[]);
    assert_eq!(v["version"], env!("CARGO_PKG_VERSION"));
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(
        (v["engines"].as_u64(), v["machine"]["cpus"].as_u64()),
        (Some(cpus as u64), Some(cpus as u64))
    );
    assert_eq!(v["machine"]["architecture"], std::env::consts::ARCH);
    assert_eq!(v["simd"]["tier"], v["simd"]["detected_tier"]);
    let (tier, family) = (v["simd"]["tier"].as_str(), v["simd"]["family"].as_str());
    assert!(family.unwrap().starts_with(tier.unwrap()), "{family:?} is of {tier:?}");
    assert!(v["simd"]["cap"].is_null() && v["simd"]["cap_ignored"].is_null());
    assert_eq!(v["devices"][0]["name"], "cpu");
    let rows = v["devices"][0]["capabilities"].as_array().unwrap();
    let compress = rows.iter().find(|c| c["op"] == "dc.compress").expect("compression");
    assert!(
        compress["best_batch"].as_u64() >= Some(1)
            && compress["max_src_bytes"].as_u64() > Some(1 << 20)
    );
    let routes = v["routes"].as_array().unwrap();
    let route = routes.iter().find(|r| r["op"] == "dc.compress").expect("a route");
    assert_eq!(route["entries"][0]["device"], "cpu");
    assert_ne!(route["entries"][0]["why"], "");
}

#[test]
fn a_cap_is_seen_and_an_unknown_one_warned_of() {
    let v = json(lookaside(&["info", "--json"]).env("LOOKASIDE_CPU", "generic"));
    assert_eq!((&v["simd"]["tier"], &v["simd"]["cap"]), (&"generic".into(), &"generic".into()));
    let text = good(lookaside(&["info"]).env("LOOKASIDE_CPU", "generic"));
    assert!(stdout(&text).contains("capped by LOOKASIDE_CPU=generic"));

    let out = good(lookaside(&["info", "--json"]).env("LOOKASIDE_CPU", "avx1024"));
    assert_eq!(
        stderr(&out),
        "lookaside: LOOKASIDE_CPU=avx1024 is ignored: generic, avx2, avx512bw, avx512 are known\n"
    );
    let v: Value = serde_json::from_str(stdout(&out)).unwrap();
    assert_eq!((&v["simd"]["cap_ignored"], &v["simd"]["cap"]), (&"avx1024".into(), &Value::Null));
}

#[test]
fn capacity_for_programs() {
    let v = json(&mut lookaside(&["capacity", "--json", "--seconds", "0.2"]));
    schema::fits(&v, "capacity.json", &[]);
    assert_eq!((&v["device"], &v["slas_available"]), (&"cpu".into(), &Value::Null));
    let packets = v["data"]["packets"].as_u64().unwrap();
    assert!(packets >= 16 && v["data"]["packet_bytes"] == 65_536 && v["seconds"] == 0.2);
    assert!(v["data"]["name"].as_str().unwrap().starts_with("generated"));
    let service = &v["services"][0];
    assert_eq!(service["service"], "dc");
    let operations = service["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 2);
    for (operation, name) in operations.iter().zip(["dc.compress", "dc.decompress"]) {
        let number =
            |key: &str| operation[key].as_f64().unwrap_or_else(|| panic!("{key}: {operation}"));
        assert_eq!(operation["op"], name);
        let total = number("total_gbit_s");
        assert!(total > 0.0 && number("one_engine_gbit_s") > 0.0);
        assert_eq!(number("available_gbit_s"), total);
        let share = total / v["engines"].as_f64().unwrap();
        assert!((number("per_engine_gbit_s") - share).abs() < 1e-3);
        assert!((0.30..0.50).contains(&number("ratio")), "like a corpus: {operation}");
        // The device's own counters say that it did the work.
        assert!(number("requests") > 0.0 && number("batches") > 0.0);
        assert_eq!(number("bytes"), number("requests") * 65_536.0);
        let rounds = v["rounds"].as_f64().unwrap();
        assert!((5.0..=15.0).contains(&rounds));
        let measured = number("bytes") * 8.0 / 1e9 / (0.2 * rounds / 5.0);
        // A median: half of the rounds were as fast, the others may have been disturbed.
        assert!(total <= measured * 2.02, "no faster than the counters: {total} {measured}");
        assert!((0.0..=1.0).contains(&number("busy_fraction")) && number("busy_fraction") > 0.0);
        assert_eq!(number("verified_packets"), packets as f64);
    }
    let service = &v["services"][1];
    assert_eq!(service["service"], "sym");
    let names = ["AES-128-CBC+HMAC-SHA256, 1 KB", "AES-128-GCM, 4 KB"];
    for (operation, name) in service["operations"].as_array().unwrap().iter().zip(names) {
        assert_eq!((&operation["op"], &operation["algorithm"]), (&"sym.seal".into(), &name.into()));
        let number = |key: &str| operation[key].as_f64().unwrap();
        assert!(number("total_gbit_s") > 0.0 && number("one_engine_gbit_s") > 0.0);
        // The device's own counters say that it did the work: bursts of 32.
        assert_eq!(number("packets"), number("requests") * 32.0);
    }
    let service = &v["services"][2];
    assert_eq!(service["service"], "pke");
    let rsa = &service["operations"][0];
    assert_eq!(rsa["op"], "pke.rsa-private");
    let number = |key: &str| rsa[key].as_f64().unwrap_or_else(|| panic!("{key}: {rsa}"));
    assert!(number("total_per_s") > 0.0 && number("one_engine_per_s") > 0.0);
    assert!(number("requests") >= number("batches") && number("batches") > 0.0);
}

#[test]
fn capacity_for_people_with_a_corpus() {
    let dir = folder("corpus");
    fs::write(dir.join("b"), "a line that comes again\n".repeat(10_000)).unwrap();
    fs::write(dir.join("a"), "x").unwrap();
    let run = || lookaside(&["capacity", "--seconds=0.05", "--corpus", dir.to_str().unwrap()]);
    let out = good(&mut run());
    let text = stdout(&out);
    assert!(text.contains("3 packets of 64 KB, 2 files of"), "{text}");
    for expected in
        ["checked   3 packets", "Gbit/s of uncompressed data", "total  available", "SLAs "]
    {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    // One packet is made of less.
    fs::remove_file(dir.join("b")).unwrap();
    assert!(stdout(&good(&mut run())).contains("1 packet of 64 KB"));
    fs::remove_file(dir.join("a")).unwrap();
    let empty = run().output().unwrap();
    assert_eq!(empty.status.code(), Some(2));
    assert!(stderr(&empty).contains("no files with data"));
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(run().output().unwrap().status.code(), Some(2));

    let out = good(&mut lookaside(&["capacity", "--seconds", "0.05"]));
    fits_80_columns(stdout(&out));
}

/// Costs are measured once, kept for this CPU, and say what may be promised.
#[test]
fn capacity_by_stored_costs() {
    let dir = folder("costs");
    let stored = |args: &[&str]| {
        let mut command = lookaside(&["capacity", "--stored", "--seconds", "0.01", "--engines=2"]);
        command.args(args).env("XDG_STATE_HOME", &dir);
        command
    };
    let first = json(&mut stored(&["--json"]));
    let file = dir.join("lookaside/costs");
    assert_eq!(first["stored"], file.to_str().unwrap());
    assert!(first["notes"][0].as_str().unwrap().contains("No such file"), "{first}");
    for service in first["services"].as_array().unwrap() {
        let figure = |name: &str| service[name].as_u64().unwrap() as f64;
        let (total, available) = (figure("total"), figure("available"));
        // Both are whole numbers, which are small where a build without optimisation is disturbed.
        let close = f64::max(1e-3, 1.0 / total);
        assert!((available / total - 16.0 / 17.0).abs() < close, "{service}");
    }
    // What is there is used as it is.
    let text = fs::read_to_string(&file).unwrap();
    let rsa = text.lines().find(|line| line.contains(" RSA-2048-CRT ")).unwrap();
    let slow = text.replace(rsa, "pke.rsa-private RSA-2048-CRT 256 1000000.0");
    fs::write(&file, &slow).unwrap();
    let again = json(&mut stored(&["--json"]));
    assert_eq!(
        (&again["services"][0]["total"], &again["notes"]),
        (&2000.into(), &Value::Array(vec![]))
    );
    let out = good(&mut stored(&[]));
    assert!(stdout(&out).contains("2000 RSA/s"), "{}", stdout(&out));
    // Promises, and one too many.
    let functions = dir.join("functions");
    let of = |rsa: u32| {
        format!(
            "[a]\nservices = pke\ncommitted = 1000 RSA/s\n[b]\nservices = pke\ncommitted = {rsa} RSA/s\n"
        )
    };
    fs::write(&functions, of(882)).unwrap();
    let functions_arg = format!("--functions={}", functions.display());
    let out = good(&mut stored(&[&functions_arg]));
    assert!(stdout(&out).contains("2 of 2 can have"), "{}", stdout(&out));
    fs::write(&functions, of(883)).unwrap();
    let out = stored(&[&functions_arg]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(
        stderr(&out),
        "lookaside: b: 883 RSA/s are asked for, 882 RSA/s of 2000 RSA/s are available\n"
    );
    fs::write(&functions, "[a]\nservices = pke\nspeed = 9\n").unwrap();
    let out = stored(&[&functions_arg]).output().unwrap();
    assert!(
        stderr(&out).contains("functions: line 3: no setting of a virtual function: speed"),
        "{}",
        stderr(&out)
    );
    // Another machine's, and none at all, are measured anew.
    for other in [slow.replace("\ntier ", "\ntier other"), "nonsense".to_owned()] {
        fs::write(&file, other).unwrap();
        let anew = json(&mut stored(&["--json"]));
        assert!(anew["notes"][0].as_str().is_some(), "{anew}");
        assert_ne!(fs::read_to_string(&file).unwrap(), slow);
    }
    fs::write(&file, &slow).unwrap();
    json(&mut stored(&["--json", "--measure"]));
    assert_ne!(fs::read_to_string(&file).unwrap(), slow);
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn info_says_why_there_is_no_card() {
    let card = |library: &str| {
        let mut info = lookaside(&["info", "--json"]);
        let told = json(info.env("LOOKASIDE_CARD_LIBRARY", library));
        assert_eq!(told["devices"].as_array().unwrap().len(), 1);
        told["card"].as_str().unwrap().to_owned()
    };
    assert_eq!(card(""), "none: LOOKASIDE_CARD_LIBRARY names no library");
    let why = card("/nowhere/libqat.so.4");
    assert_eq!(why, "no QuickAssist card by /nowhere/libqat.so.4: there is no such file");
}

#[test]
fn every_key_is_documented() {
    let dir = folder("documented");
    let stored = ["capacity", "--stored", "--json", "--seconds", "0.01"];
    for args in [&["info", "--json"][..], &["capacity", "--json", "--seconds", "0.01"], &stored] {
        let (mut found, words) = (Vec::new(), documented(args[0]));
        keys(&json(lookaside(args).env("XDG_STATE_HOME", &dir)), &mut found);
        assert!(found.len() > 15);
        for key in found {
            assert!(words.contains(&key), "{key} of {} is not in --help", args[0]);
        }
    }
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn mistakes_and_questions() {
    for (args, expected) in [
        (&["frobnicate"][..], "Usage: lookaside"),
        (&[], "Usage: lookaside"),
        (&["info", "--frob"], "Usage: lookaside info"),
        (&["capacity", "--seconds=-3"], "a number from 0.01 to 3600"),
        (&["capacity", "--engines", "3"], "--stored"),
        (&["capacity", "--stored", "--engines", "0"], "1..=1024"),
        (&["capacity", "--stored", "--corpus", "d"], "cannot be used with"),
        // What comes close is suggested.
        (&["inof"], "'info'"),
        (&["scan", "--ignore-cas", "x"], "'--ignore-case'"),
    ] {
        let out = lookaside(args).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(out.stdout.is_empty() && stderr(&out).contains(expected), "{}", stderr(&out));
    }
    let help = good(&mut lookaside(&["--help"]));
    let commands: Vec<&str> = stdout(&help)
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 8 && commands.contains(&"scan"), "{commands:?}");
    for command in commands.iter().filter(|name| **name != "help") {
        for option in ["--help", "-h"] {
            let help = good(&mut lookaside(&[command, option]));
            fits_80_columns(stdout(&help));
            assert!(stdout(&help).contains(&format!("lookaside {command}")), "{command}");
        }
    }
    fits_80_columns(stdout(&help));
    let version = good(&mut lookaside(&["--version"]));
    assert_eq!(stdout(&version), format!("lookaside {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn run_passes_everything_on() {
    // A folder with a library of the right name: the command itself uses no zlib.
    let folder = std::env::temp_dir().join(format!("lookaside-library-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("libz.so.1"), b"").expect("a file");
    let library = format!("--library={}", folder.display());
    let out = lookaside(&["run", &library, "sh", "-c", "echo $LD_LIBRARY_PATH; exit 7"])
        .env("LD_LIBRARY_PATH", "/elsewhere")
        .output()
        .expect("runs");
    assert_eq!(out.status.code(), Some(7));
    let path = fs::canonicalize(&folder).expect("the folder");
    assert_eq!(stdout(&out), format!("{}:/elsewhere\n", path.display()));
    assert_eq!(stderr(&out), "lookaside: no process used zlib\n");

    let out = lookaside(&["run", &library, "no-such-command"]).output().expect("runs");
    assert_eq!(out.status.code(), Some(127));
    assert!(stderr(&out).contains("no-such-command"), "{}", stderr(&out));
    // Our own command has a runtime; its processes are counted, also those of a shell that has ended.
    let us = env!("CARGO_BIN_EXE_lookaside");
    let twice = format!("for n in 1 2; do echo a | '{us}' scan -e a >/dev/null & done; wait");
    let runtime = folder.join("runtime");
    fs::create_dir(&runtime).expect("a folder");
    let out = lookaside(&["run", &library, "--json", "sh", "-c", &twice])
        .env("XDG_RUNTIME_DIR", &runtime)
        .current_dir(&folder)
        .output()
        .expect("runs");
    let said = stderr(&out);
    let object: Value = serde_json::from_str(said.lines().last().expect("a line")).expect(said);
    schema::fits(&object, "run.json", &["devices"]);
    assert_eq!(object["devices"]["processes"], 2, "{said}");
    let row = &object["devices"]["rows"][0];
    assert_eq!((&row["device"], &row["op"]), (&"cpu".into(), &"scan.scan".into()), "{said}");
    assert_eq!(row["src_bytes"], 4, "{said}");
    // Nothing is left: no page, no folder of the run.
    assert_eq!(fs::read_dir(runtime.join("lookaside")).expect("the user's").count(), 0);

    fs::remove_dir_all(&folder).expect("removed");
    let out = lookaside(&["run", &library, "true"]).output().expect("runs");
    assert!(stderr(&out).contains("libz.so.1"), "{}", stderr(&out));
}

/// Packages are installed one by one: what is there is used, and where nothing is, that is said.
#[test]
fn run_uses_the_libraries_that_are_installed() {
    let prefix = folder("some-libraries").canonicalize().unwrap();
    fs::create_dir_all(prefix.join("bin")).unwrap();
    let us = prefix.join("bin/lookaside");
    if fs::hard_link(env!("CARGO_BIN_EXE_lookaside"), &us).is_err() {
        fs::copy(env!("CARGO_BIN_EXE_lookaside"), &us).unwrap();
    }
    let run = |options: &[&str]| {
        let mut command = Command::new(&us);
        command.arg("run").args(options).args(["sh", "-c", "echo $LD_LIBRARY_PATH"]);
        command.env_remove("LD_LIBRARY_PATH").output().expect("runs")
    };
    let none = run(&[]);
    assert_eq!((none.status.code(), stdout(&none)), (Some(127), ""));
    assert!(stderr(&none).contains("lookaside-hyperscan"), "{}", stderr(&none));

    let hyperscan = prefix.join("lib/lookaside/hyperscan");
    fs::create_dir_all(&hyperscan).unwrap();
    fs::write(hyperscan.join("libhs.so.5"), b"").unwrap();
    let one = run(&[]);
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    assert_eq!(stdout(&one), format!("{}\n", hyperscan.display()));
    assert_eq!(stderr(&one), "lookaside: no process used a library of ours\n");
    let preload = run(&["--preload"]);
    assert_eq!(preload.status.code(), Some(127));
    assert!(stderr(&preload).contains("lookaside-zlib"), "{}", stderr(&preload));
    let openssl = run(&["--openssl"]);
    assert_eq!(openssl.status.code(), Some(127));
    assert!(stderr(&openssl).contains("lookaside-openssl"), "{}", stderr(&openssl));
    fs::remove_dir_all(&prefix).unwrap();
}

/// Each shell reads its completions, where it is installed, and they know every command; each command has a page.
#[test]
fn completions_and_manual_pages() {
    for (shell, check) in [("bash", "bash"), ("zsh", "zsh"), ("fish", "fish")] {
        let out = good(&mut lookaside(&["completions", shell]));
        let text = stdout(&out);
        for word in ["capacity", "metrics", "select", "--files-with-matches", "--interval"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(text.contains(word), "{shell} does not know {word}");
        }
        let path = std::env::temp_dir().join(format!("lookaside-{shell}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        match Command::new(check).arg("-n").arg(&path).output() {
            Ok(read) => assert!(read.status.success(), "{}", stderr(&read)),
            Err(e) => println!("SKIPPED: {check} is not installed ({e})"),
        }
        fs::remove_file(path).unwrap();
    }
    let dir = folder("man");
    good(&mut lookaside(&["manual-pages", dir.to_str().unwrap()]));
    for (page, words) in [
        ("lookaside.1", "lookaside\\-capacity(1)"),
        ("lookaside-scan.1", "files\\-with\\-matches"),
        ("lookaside-xml-select.1", "XPATH"),
        ("lookaside-run.1", "COMMAND"),
    ] {
        let text = fs::read_to_string(dir.join(page)).expect(page);
        assert!(text.contains(words), "{page}:\n{text}");
        let version = concat!("lookaside ", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(version) && !text.contains(".SH EXTRA"), "{page}:\n{text}");
    }
    let serve = fs::read_to_string(dir.join("lookaside-serve.1")).unwrap();
    assert!(serve.contains(".SH NOTES\n.nf\n") && serve.contains("RSA/s"), "{serve}");
    let every = fs::read_dir(&dir).unwrap().count();
    assert!(every >= 25 && !dir.join("lookaside-help.1").exists(), "{every}");
    fs::remove_dir_all(dir).unwrap();
    let nowhere = lookaside(&["manual-pages", "/nowhere"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
}
