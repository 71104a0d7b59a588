//! `lookaside doctor` on programs as they are, and on some made for it.

mod schema;

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The command in a prefix, with a zlib library that is none of the system's beside it.
struct Prefix {
    folder: PathBuf,
}

impl Prefix {
    fn new(name: &str) -> Prefix {
        let folder = env::temp_dir().join(format!("lookaside-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        let command = folder.join("bin/lookaside");
        if fs::hard_link(env!("CARGO_BIN_EXE_lookaside"), &command).is_err() {
            fs::copy(env!("CARGO_BIN_EXE_lookaside"), &command).unwrap();
        }
        Prefix { folder: folder.canonicalize().unwrap() }
    }

    /// Puts a copy of the system's own library where ours is: it has all that programs need.
    fn with(self, name: &str, file: &str) -> Prefix {
        let folder = self.folder.join("lib/lookaside").join(name);
        fs::create_dir_all(&folder).unwrap();
        let from = system(file).unwrap_or_else(|| panic!("{file} is not installed"));
        fs::copy(from, folder.join(file)).unwrap();
        self
    }

    fn doctor(&self, target: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin/lookaside"));
        command.args(["doctor", target]).current_dir(&self.folder);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("LOOKASIDE_") {
                command.env_remove(name);
            }
        }
        command.env_remove("OPENSSL_CONF").env_remove("LD_LIBRARY_PATH");
        command
    }

    /// The exit status, and the object.
    fn json(&self, target: &str) -> (i32, Value) {
        object(self.doctor(target).arg("--json"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn object(command: &mut Command) -> (i32, Value) {
    let out = command.output().unwrap();
    let status = out.status.code().unwrap();
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = serde_json::from_slice(&out.stdout).expect("one JSON object");
    schema::fits(&report, "doctor.json", &[]);
    (status, report)
}

/// A library of the system.
fn system(file: &str) -> Option<PathBuf> {
    let triplet = format!("{}-linux-gnu", env::consts::ARCH);
    ["/lib", "/usr/lib", "/usr/lib64"]
        .iter()
        .flat_map(|folder| [Path::new(folder).join(&triplet), folder.into()])
        .map(|folder| folder.join(file))
        .find(|path| path.exists())
}

fn state<'a>(report: &'a Value, library: &str) -> &'a str {
    let all = report["libraries"].as_array().unwrap();
    let found = all.iter().find(|one| one["library"] == library).expect(library);
    found["state"].as_str().unwrap()
}

/// What the loader says that a program loads.
fn loads(program: &str, library: &str) -> bool {
    let listed = Command::new("ldd").arg(program).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).contains(library)
}

#[test]
fn programs_as_packaged() {
    let prefix = Prefix::new("doctor").with("zlib", "libz.so.1").with("expat", "libexpat.so.1");
    let mut seen = 0;
    for (program, always) in [
        ("/usr/bin/python3", &["zlib", "expat", "OpenSSL"][..]),
        ("/usr/bin/git", &["zlib"]),
        ("/usr/bin/curl", &["zlib", "OpenSSL"]),
        ("/usr/sbin/nginx", &["zlib", "OpenSSL"]),
        ("/usr/sbin/haproxy", &["OpenSSL"]),
        ("/usr/bin/java", &["zlib"]),
        ("/bin/true", &[]),
    ] {
        if !Path::new(program).exists() {
            println!("SKIPPED: {program} is not installed");
            continue;
        }
        let (status, report) = prefix.json(program);
        for (library, file) in [("zlib", "libz.so.1"), ("expat", "libexpat.so.1")] {
            let wanted =
                if always.contains(&library) || loads(program, file) { "ready" } else { "unused" };
            // Modules that a program loads by itself may need more than it does.
            let found = state(&report, library);
            assert!(
                found == wanted || (found == "ready" && wanted == "unused"),
                "{program}: {report:#}"
            );
        }
        let openssl = state(&report, "OpenSSL");
        if always.contains(&"OpenSSL") || loads(program, "libcrypto.so.3") {
            assert_ne!(openssl, "unused", "{report:#}");
        }
        let served = |one: &Value| one["state"] == "ready";
        let well = report["libraries"].as_array().unwrap().iter().any(served);
        assert_eq!(status, i32::from(!well), "{report:#}");
        assert_eq!(report["well"], status == 0);
        seen += 1;

        let text = prefix.doctor(program).output().unwrap();
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    assert!(seen > 2);
}

#[test]
fn who_cannot_be_served() {
    let prefix = Prefix::new("doctor-not").with("zlib", "libz.so.1");
    // A static program, with a copy of zlib or without.
    let source = prefix
        .file("a.c", "#include <zlib.h>\nint main(void) { return zlibVersion()[0] != '1'; }\n");
    let linked = |output: &str, flags: &[&str]| {
        let path = prefix.folder.join(output);
        let mut cc = Command::new("cc");
        cc.arg(&source).arg("-o").arg(&path).args(flags);
        cc.output().is_ok_and(|out| out.status.success()).then(|| path.to_str().unwrap().to_owned())
    };
    match linked("static", &["-static", "-Wl,--whole-archive", "-lz", "-Wl,--no-whole-archive"]) {
        Some(path) => {
            let (status, report) = prefix.json(&path);
            assert_eq!((status, state(&report, "zlib")), (1, "copy"), "{report:#}");
            let says = report["libraries"][0]["says"].as_str().unwrap();
            assert!(says.starts_with("static program: "), "{says}");
        }
        None => println!("SKIPPED: no static zlib to link with"),
    }
    // One with a search path of its own, which comes before ours.
    let own = prefix.folder.join("own");
    fs::create_dir(&own).unwrap();
    fs::copy(system("libz.so.1").unwrap(), own.join("libz.so.1")).unwrap();
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", own.display());
    match linked("rpath", &["-lz", &rpath]) {
        Some(path) => {
            let (status, report) = prefix.json(&path);
            assert_eq!((status, state(&report, "zlib")), (1, "kept"), "{report:#}");
            assert!(report["libraries"][0]["says"].as_str().unwrap().contains("--preload"));
            assert!(
                report["libraries"][0]["file"].as_str().unwrap().starts_with(own.to_str().unwrap())
            );
            // One that may do more than its user.
            let nobody = (rustix::process::geteuid().is_root()).then_some(65_534);
            if chown(&path, nobody, None).is_ok() && nobody.is_some() {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
                let mut command = prefix.doctor(&path);
                command.arg("--json").env("LOOKASIDE_STATS", "1");
                let (status, report) = object(&mut command);
                assert_eq!((status, state(&report, "zlib")), (1, "kept"), "{report:#}");
                assert!(report["libraries"][0]["says"].as_str().unwrap().contains("setuid"));
                assert!(
                    report["wrong"][0].as_str().unwrap().contains("LOOKASIDE_STATS is ignored")
                );
            } else {
                println!("SKIPPED: a setuid program of another user can only be made by root");
            }
        }
        None => println!("SKIPPED: no zlib to link with"),
    }
    // One that has ours already; and a library of ours that lacks what the program needs.
    let ours = prefix.folder.join("lib/lookaside/zlib/libz.so.1");
    if Path::new("/usr/bin/git").exists() {
        let mut command = prefix.doctor("/usr/bin/git");
        command.arg("--json").env("LD_LIBRARY_PATH", ours.parent().unwrap());
        let (status, report) = object(&mut command);
        assert_eq!((status, state(&report, "zlib")), (0, "ours"), "{report:#}");
    }
    let empty = Command::new("cc")
        .args(["-shared", "-xc", "/dev/null", "-Wl,-soname,libz.so.1", "-o"])
        .arg(&ours)
        .output()
        .unwrap();
    assert!(empty.status.success());
    if Path::new("/usr/bin/git").exists() {
        let (status, report) = prefix.json("/usr/bin/git");
        assert_eq!((status, state(&report, "zlib")), (1, "kept"), "{report:#}");
    }
}

#[test]
fn scripts_links_and_what_is_none() {
    let prefix = Prefix::new("doctor-scripts").with("zlib", "libz.so.1");
    let script = prefix.file("script", "#!/bin/sh\nexit 0\n");
    let (status, report) = prefix.json(&script);
    assert_eq!((status, state(&report, "zlib")), (1, "unused"), "{report:#}");
    assert_eq!(report["scripts"], Value::from(vec![script.clone()]));
    assert!(report["notes"][0].as_str().unwrap().starts_with("a script: "));
    let link = prefix.folder.join("link");
    symlink(&script, &link).unwrap();
    let second = prefix.file("second", &format!("#! {}\n", link.display()));
    assert_eq!(prefix.json(&second).1["scripts"].as_array().unwrap().len(), 2);
    let pipe = prefix.folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let round = prefix.folder.join("round");
    let round = prefix.file("round", &format!("#!{}\n", round.display()));
    for (target, says) in [
        (&*round, "scripts that interpret each other"),
        (pipe.to_str().unwrap(), "no regular file"),
        ("/nowhere/at/all", "/nowhere/at/all: No such file or directory\n"),
        ("no-such-command", "no such command, and no such file here"),
        ("/etc/passwd", "neither a program nor a configuration"),
        ("/dev/null", "no regular file"),
    ] {
        let out = prefix.doctor(target).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{target}");
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(said.contains(says) && !said.contains("os error"), "{target}: {said}");
    }
}

#[test]
fn settings_that_nobody_knows() {
    let prefix = Prefix::new("doctor-settings").with("zlib", "libz.so.1");
    let mut command = prefix.doctor("/usr/bin/git");
    command.arg("--json").env("LOOKASIDE_ENGINE", "4").env("LOOKASIDE_POLICY", "hope");
    let (status, report) = object(&mut command);
    assert_eq!(status, 1);
    let wrong = report["wrong"].as_array().unwrap();
    assert!(wrong[0].as_str().unwrap().contains("is it LOOKASIDE_ENGINES?"), "{report:#}");
    assert!(wrong[1].as_str().unwrap().contains("wait, fallback, fail"), "{report:#}");

    let installed = include_str!("../../../front/openssl/openssl.cnf.in");
    let module = prefix.file("lookaside.so", "no library");
    let text = installed.replace("@PREFIX@/lib/lookaside/openssl/lookaside.so", &module);
    let good = prefix.file("good.cnf", &text);
    let (status, report) = prefix.json(&good);
    // The module does not load: it is none. That is all that is wrong.
    assert_eq!((status, report["kind"].as_str()), (1, Some("openssl")));
    let wrong = report["wrong"].as_array().unwrap();
    assert_eq!(wrong.len(), 1, "{report:#}");
    assert!(wrong[0].as_str().unwrap().starts_with("OpenSSL does not load the provider"));
    let bad = prefix.file("bad.cnf", &(text + "\nenginess = 2\n"));
    let out = prefix.doctor(&bad).output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(1));
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!said.contains("\ntry "), "{said}");
    assert!(words.contains("enginess is no setting of the provider: is it engines?"), "{said}");
    let own = prefix.file("lookaside.conf", "engines = 2\nthreshhold = 9\n");
    let (status, report) = prefix.json(&own);
    assert_eq!(status, 1);
    assert!(report["wrong"][0].as_str().unwrap().ends_with("is it threshold?"), "{report:#}");
    let own = prefix.file("lookaside.conf", "engines = 2\n");
    assert_eq!(prefix.json(&own).0, 0);
}
