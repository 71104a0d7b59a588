//! Manual pages and completions know every option of the help.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The options that a text names: `-c`, `--chunk`; not `-c64`, which has a value.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_option = |word: &&str| match word.strip_prefix("--") {
        Some(long) => long.starts_with(|c: char| c.is_ascii_alphabetic()),
        None => word.len() == 2 && word.starts_with('-') && *word != "--",
    };
    words.filter(is_option).map(str::to_owned).collect()
}

/// What the help of the command names, called so.
fn of_help(name: &str) -> BTreeSet<String> {
    let out = Command::new(env!("CARGO_BIN_EXE_parcomp")).arg0(name).arg("--help").output();
    let out = out.expect("runs");
    assert!(out.status.success());
    let help = String::from_utf8(out.stdout).expect("UTF-8");
    // That one is tar's, and this one is left out.
    options(&help.replace("tar -I ", "").replace("and --rsyncable", ""))
}

#[test]
fn every_option_of_the_help_is_in_the_pages() {
    for (name, least) in [("parcomp", 35), ("pargzip", 30)] {
        let wanted = of_help(name);
        assert!(wanted.len() >= least, "{wanted:?}");
        let read = |path: &str| fs::read_to_string(file(path)).expect(path);
        let page = options(&read(&format!("man/{name}.1")).replace("\\-", "-"));
        let bash = read("completions/parcomp.bash");
        let zsh = read("completions/_parcomp");
        // The part of the command in files that have both.
        let bash = bash.split("\n}\n").find(|part| part.contains(&format!("_{name}()")));
        let zsh = zsh.split("\n}\n").find(|part| part.contains(&format!("_{name}_options()")));
        let bash = options(bash.expect("a function"));
        let zsh = options(&zsh.expect("a function").replace("'{1,2,3,4,5,6,7,8,9}'", "1 -9"));
        let fish = read(&format!("completions/{name}.fish"));
        let fish = options(&fish.replace(" -l ", " --").replace(" -s ", " -"));
        for option in wanted {
            for (place, known) in [("man", &page), ("bash", &bash), ("zsh", &zsh), ("fish", &fish)]
            {
                assert!(known.contains(&option), "{option} of {name} is not in {place}");
            }
        }
    }
}

/// Each shell reads its file; the page makes no roff program complain. Where they are installed.
#[test]
fn shells_and_roff_read_them() {
    let checks: [(&str, &[&str], &str); 6] = [
        ("bash", &["-n"], "completions/parcomp.bash"),
        ("zsh", &["-n"], "completions/_parcomp"),
        ("fish", &["-n"], "completions/parcomp.fish"),
        ("fish", &["-n"], "completions/pargzip.fish"),
        ("groff", &["-man", "-ww", "-z", "-T", "ascii"], "man/parcomp.1"),
        ("groff", &["-man", "-ww", "-z", "-T", "ascii"], "man/pargzip.1"),
    ];
    for (program, args, path) in checks {
        match Command::new(program).args(args).arg(file(path)).output() {
            Ok(out) => {
                let said = String::from_utf8_lossy(&out.stderr);
                assert!(out.status.success() && said.is_empty(), "{program} {path}: {said}");
            }
            Err(e) => println!("SKIPPED: {program} {path}: {e}"),
        }
    }
}
