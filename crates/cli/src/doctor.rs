//! `lookaside doctor`: whether a program is served by our libraries, and what keeps it from being served.

mod cnf;
mod elf;
mod libraries;
mod load;
mod settings;
mod target;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::Args;
use lookaside_simd::Cpu;
use serde::Serialize;

pub(crate) use settings::in_force;

use crate::{
    expect::{Expected, expected},
    run::beside,
    table::paragraph,
};
use libraries::{Closure, Search};
use target::{Program, Target};

/// Says whether a program is served, and why not
///
/// Follows the libraries that a program loads, or a script's interpreter: whether zlib, libcrypto, expat, Hyperscan and
/// QuickAssist are the system's, which ours can stand for, or copies of its own, which nothing replaces; whether ours
/// load; whether variables are known, and heeded by a program with more rights than its user; what is faster on this CPU.
/// Of a configuration (openssl.cnf, lookaside.conf, lookaside-qat.conf): whether it leads to our provider, and which of
/// its settings nobody knows.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 all is well, 1 nothing would be served or something is wrong,\n\
                        2 there is no such program or file."
)]
pub(crate) struct Doctor {
    /// A command, the path of a program, or a configuration
    #[arg(value_name = "PROGRAM|CONFIG", value_hint = clap::ValueHint::ExecutablePath)]
    target: OsString,
    /// Print one JSON object; its schema is json/doctor.json in the documentation
    #[arg(long)]
    json: bool,
}

/// A library that we have.
struct Library {
    name: &'static str,
    /// The names that programs need.
    names: &'static [&'static str],
    /// Its folder beside others of ours.
    folder: &'static str,
    /// Our file.
    file: &'static str,
}

const LIBRARIES: [Library; 5] = [
    Library { name: "zlib", names: &["libz.so.1"], folder: "zlib", file: "libz.so.1" },
    Library {
        name: "OpenSSL",
        names: &["libcrypto.so.3"],
        folder: "openssl",
        file: "lookaside.so",
    },
    Library { name: "expat", names: &["libexpat.so.1"], folder: "expat", file: "libexpat.so.1" },
    Library {
        name: "Hyperscan",
        names: &["libhs.so.5", "libhs_runtime.so.5"],
        folder: "hyperscan",
        file: "libhs.so.5",
    },
    Library { name: "QuickAssist", names: &["libqat.so.4"], folder: "qat", file: "libqat.so.4" },
];

/// How a program has a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Not at all, as far as can be seen.
    Unused,
    /// As a copy of its own, which nothing replaces.
    Copy,
    /// Ours is loaded already.
    Ours,
    /// Ours takes its place with `lookaside run`.
    Ready,
    /// Something keeps ours from being loaded.
    Kept,
}

/// What was found out of one library.
#[derive(Debug, Serialize)]
struct Found {
    library: &'static str,
    state: State,
    /// The file that is loaded today.
    file: Option<PathBuf>,
    /// What needs it, from near to far; empty: the program itself.
    by: Vec<String>,
    /// For people.
    says: String,
}

/// All that was found out.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    target: String,
    kind: &'static str,
    file: PathBuf,
    /// Scripts that led to the program.
    scripts: Vec<PathBuf>,
    libraries: Vec<Found>,
    /// Settings in force.
    settings: Vec<String>,
    /// What is wrong.
    wrong: Vec<String>,
    /// What is worth knowing.
    notes: Vec<String>,
    tier: &'static str,
    expect: Vec<Expected>,
    /// A command to try.
    run: Option<String>,
    well: bool,
}

/// What is printed, and whether all is well.
///
/// # Errors
/// There is no such program or file, or it cannot be read.
pub(crate) fn run(doctor: &Doctor) -> Result<(String, bool), Box<dyn std::error::Error>> {
    let report = match target::find(&doctor.target)? {
        Target::Program(program) => Report::of_program(&doctor.target, program),
        Target::OpenSsl(path) => Report::of_openssl(&doctor.target, path)?,
        Target::Settings(path, reader) => {
            let mut report = Report::new(&doctor.target, "settings", path.clone());
            report.wrong = settings::file(&path, reader)?;
            report
        }
    };
    let report = report.judged();
    let text = match doctor.json {
        true => serde_json::to_string_pretty(&report)? + "\n",
        false => report.text(),
    };
    Ok((text, report.well))
}

impl Report {
    fn new(target: &OsString, kind: &'static str, file: PathBuf) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION"),
            target: target.to_string_lossy().into_owned(),
            kind,
            file,
            scripts: vec![],
            libraries: vec![],
            settings: vec![],
            wrong: vec![],
            notes: vec![],
            tier: Cpu::host().tier().name(),
            expect: vec![],
            run: None,
            well: false,
        }
    }

    fn judged(mut self) -> Report {
        let served = |state| matches!(state, State::Ours | State::Ready);
        let serves = self.libraries.iter().any(|found| served(found.state));
        self.well = self.wrong.is_empty() && (self.kind != "program" || serves);
        if self.kind != "program" && !self.well {
            self.run = None;
        }
        let tier = Cpu::host().tier();
        self.expect = expected(tier, |library| match self.kind {
            "program" => self.libraries.iter().any(|f| f.library == library && served(f.state)),
            "openssl" => self.well && library == "OpenSSL",
            _ => false,
        });
        self
    }

    fn of_openssl(target: &OsString, path: PathBuf) -> Result<Report, String> {
        let mut report = Report::new(target, "openssl", path.clone());
        let judged = cnf::judge(&path)?;
        (report.settings, report.wrong) = (judged.settings, judged.wrong);
        match load::provider(&path) {
            Ok(()) => report.notes.push("OpenSSL loads the provider by it".into()),
            Err(why) => report.wrong.push(format!("OpenSSL does not load the provider: {why}")),
        }
        report.run = Some(format!("OPENSSL_CONF={} PROGRAM", target::shown(&path.into())));
        Ok(report)
    }

    fn of_program(target: &OsString, program: Program) -> Report {
        let mut report = Report::new(target, "program", program.path.clone());
        let Program { path, elf, scripts, secure, modules } = program;
        report.scripts = scripts;
        report.wrong = settings::environment(env::vars_os(), secure);
        let is_script = !report.scripts.is_empty();
        if is_script {
            let what = "a script: what it starts counts too; ask for those programs by name";
            report.notes.push(what.into());
        }
        let (loader, is_static) =
            (elf.interpreter.clone(), !elf.dynamic || elf.interpreter.is_none());
        let closure = Search::here(secure.is_some()).closure(&path, elf, modules);
        let tried = Tried { closure: &closure, loader: loader.as_deref(), secure, is_static };
        report.libraries = LIBRARIES.iter().map(|library| tried.find(library)).collect();
        for name in &closure.missing {
            report.notes.push(format!("{name} is needed and not found"));
        }
        if let Some(path) = env::var_os("OPENSSL_CONF").filter(|_| secure.is_none())
            && report.libraries[1].state != State::Unused
        {
            match cnf::judge(Path::new(&path)) {
                Ok(judged) => report.wrong.extend(judged.wrong),
                Err(why) => report.wrong.push(format!("OPENSSL_CONF: {why}")),
            }
        }
        let ready = |at: usize| report.libraries[at].state == State::Ready;
        if (0..LIBRARIES.len()).any(ready) {
            let openssl = if ready(1) { "--openssl " } else { "" };
            report.run = Some(format!("lookaside run {openssl}-- {}", target::shown(target)));
        }
        report
    }

    /// A page for people.
    fn text(&self) -> String {
        const INDENT: usize = 13;
        let mut out = String::new();
        let mut rows = |label: &str, texts: &[String]| {
            for (n, text) in texts.iter().enumerate() {
                out += &paragraph(if n == 0 { label } else { "" }, INDENT, text);
            }
        };
        let shown = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        rows("script", &shown(&self.scripts));
        let label = if self.kind == "program" { "program" } else { "file" };
        rows(label, &shown(std::slice::from_ref(&self.file)));
        for found in &self.libraries {
            rows(found.library, std::slice::from_ref(&found.says));
        }
        rows("settings", &self.settings);
        rows("note", &self.notes);
        rows("WRONG", &self.wrong);
        let expect = self.expect.iter().map(|one| one.row().join(": ")).collect::<Vec<_>>();
        rows(&format!("on {}", self.tier), &expect);
        if let Some(run) = &self.run {
            rows("try", std::slice::from_ref(run));
        }
        let verdict = match (self.well, self.kind) {
            (true, "program") => "it can be served",
            (true, _) => "all is well",
            (false, "program") if self.wrong.is_empty() => "nothing of it would be served",
            (false, _) => "something is wrong",
        };
        rows("verdict", &[verdict.to_owned()]);
        // Names within a program are anybody's: none moves the cursor.
        out.replace(|c: char| c.is_control() && c != '\n', "?")
    }
}

/// A program whose libraries are looked at one by one.
struct Tried<'a> {
    closure: &'a Closure,
    loader: Option<&'a Path>,
    secure: Option<&'static str>,
    is_static: bool,
}

impl Tried<'_> {
    fn find(&self, library: &Library) -> Found {
        let mut found = Found {
            library: library.name,
            state: State::Unused,
            file: None,
            by: vec![],
            says: "not used".into(),
        };
        let at =
            library.names.iter().find_map(|name| Some((*name, *self.closure.names.get(*name)?)));
        let Some((name, at)) = at else {
            // The file of the library itself has its marks, too.
            let copy = self.closure.loaded.iter().find(|l| l.elf.copies.contains(&library.name));
            if let Some(copy) = copy {
                let file = copy.path.display();
                let kind = if self.is_static { "static program: " } else { "" };
                found.says = format!("{kind}a copy of its own in {file}, which nothing replaces");
                found.state = State::Copy;
                found.file = Some(copy.path.clone());
            } else if let Some(old) = self.old(library) {
                found.says = old;
                found.state = State::Kept;
            }
            return found;
        };
        let file = self.closure.loaded[at].path.clone();
        let way = self.closure.way(at);
        found.by = way.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let through = match (&found.by[..], self.closure.root(at)) {
            ([_], 0) => String::new(),
            ([first, ..], 0) => format!(" (through {first})"),
            ([.., module], _) => format!(" (through {module})"),
            ([], _) => String::new(),
        };
        (found.state, found.says) = match self.judge(library, name, at) {
            Ok((state, how)) => (state, format!("{how} {}{through}", file.display())),
            Err(why) => (State::Kept, format!("kept from it: {why}{through}")),
        };
        found.file = Some(file);
        found
    }

    /// Another version, which ours does not stand for.
    fn old(&self, library: &Library) -> Option<String> {
        let stem = library.names[0].split_once(".so").map(|(stem, _)| format!("{stem}.so"))?;
        let name = self.closure.names.keys().find(|name| name.starts_with(&stem))?;
        Some(format!("{name} is another version than {}", library.names[0]))
    }

    fn judge(&self, library: &Library, name: &str, at: usize) -> Result<(State, String), String> {
        let file = &self.closure.loaded[at].path;
        let is_openssl = library.name == "OpenSSL";
        let folder = beside(library.folder, library.file);
        let here = folder.as_ref().and_then(|folder| folder.join(library.file).canonicalize().ok());
        if !is_openssl && here.is_some() && file.canonicalize().ok() == here {
            return Ok((State::Ours, "served by ours:".into()));
        }
        if let Some(why) = self.secure {
            return Err(format!(
                "a program with more rights than its user ({why}) takes the system's"
            ));
        }
        if is_openssl {
            if !crate::openssl::is_there() {
                return Err("our provider is not installed beside this command (the package \
                            lookaside-openssl)"
                    .into());
            }
            load::own_provider().map_err(|why| format!("the provider does not load: {why}"))?;
            return Ok((State::Ready, "ready: the provider loads beside".into()));
        }
        let Some(folder) = folder else {
            return Err(format!(
                "our {} is not installed beside this command (the package lookaside-{})",
                library.file, library.folder
            ));
        };
        let needs = self.closure.loaded[at].by.unwrap_or(0);
        let first = self.closure.rpath(needs);
        if first.iter().any(|folder| folder.join(name).exists()) {
            let by = match library.folder {
                "zlib" => "lookaside run --preload".to_owned(),
                _ => format!("LD_PRELOAD={}", folder.join(library.file).display()),
            };
            return Err(format!("its own search path comes first; {by}"));
        }
        let loader = self.loader.ok_or("there is no loader")?;
        let root = &self.closure.loaded[self.closure.root(at)].path;
        load::library(loader, root, &folder, name)?;
        Ok((State::Ready, "ready: ours takes the place of".into()))
    }
}
