//! What `lookaside doctor` is asked about: a program, behind however many scripts, or a configuration.

use std::{
    collections::HashSet,
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use super::elf::{self, Elf};
use crate::plain;

/// Interpreters of interpreters: the kernel follows four.
const SCRIPTS: usize = 5;
/// Files of a program's own folders that are looked at, at most.
const FILES: usize = 5000;

/// What was found.
pub(super) enum Target {
    Program(Program),
    /// A configuration of OpenSSL.
    OpenSsl(PathBuf),
    /// A file of `name = value` of ours.
    Settings(PathBuf, Reader),
}

/// Who reads a file of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Zlib,
    QuickAssist,
}

/// A program in ELF.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) elf: Elf,
    /// The scripts that it interprets.
    pub(super) scripts: Vec<PathBuf>,
    /// Why it does not trust its environment.
    pub(super) secure: Option<&'static str>,
    /// What it loads by itself: modules of an interpreter or a server.
    pub(super) modules: Vec<(PathBuf, Elf)>,
}

/// Finds what a name means: a path, a command, or a file of this folder.
pub(super) fn find(name: &OsStr) -> Result<Target, String> {
    let shown = name.to_string_lossy();
    let path = Path::new(name);
    let path = match name.as_bytes().contains(&b'/') {
        true => path.to_owned(),
        false => match in_path(name) {
            Some(path) => path,
            None if path.exists() => path.to_owned(),
            None => return Err(format!("{shown}: no such command, and no such file here")),
        },
    };
    let mut scripts = Vec::new();
    let mut at = path;
    loop {
        let failed = |e: io::Error| format!("{}: {}", at.display(), plain(&e));
        // The shell's links, such as those of alternatives.
        let whole = at.canonicalize().map_err(failed)?;
        if let Some(elf) = elf::read(&whole).map_err(failed)? {
            let modules = modules(&whole, elf.machine);
            let secure = secure(&whole);
            return Ok(Target::Program(Program { path: whole, elf, scripts, secure, modules }));
        }
        let begin = beginning(&whole).map_err(failed)?;
        let Some(line) = begin.strip_prefix(b"#!") else {
            return configuration(&at).ok_or_else(|| {
                format!(
                    "{}: neither a program nor a configuration that is known here \
                     (openssl.cnf, lookaside.conf, lookaside-qat.conf)",
                    at.display()
                )
            });
        };
        if scripts.len() == SCRIPTS {
            return Err(format!("{shown}: scripts that interpret each other"));
        }
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let next = interpreter(&String::from_utf8_lossy(line));
        let next = next.map_err(|what| format!("{}: {what}", at.display()))?;
        scripts.push(at);
        at = next;
    }
}

/// The program that a script's first line names.
fn interpreter(line: &str) -> Result<PathBuf, String> {
    let mut words = line.split_whitespace();
    let first = words.next().ok_or("a script without an interpreter")?;
    let is_env = Path::new(first).file_name().is_some_and(|name| name == "env");
    if !is_env {
        return Ok(first.into());
    }
    let mut names = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    let name = names.next().ok_or("a script whose interpreter env does not name")?;
    in_path(OsStr::new(name)).ok_or_else(|| format!("its interpreter {name} is no command here"))
}

/// Where a shell finds a command.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let is_program = |path: &PathBuf| {
        let meta = fs::metadata(path);
        meta.is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
    };
    env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    fs::File::open(path)?.take(256).read_to_end(&mut begin)?;
    Ok(begin)
}

/// The text of a configuration, which has to be a regular file of at most 1 MB.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() || meta.len() > 1 << 20 {
        return Err(io::Error::other("it is no regular file of 1 MB at most"));
    }
    fs::read_to_string(path)
}

/// What kind of a configuration a file is.
fn configuration(path: &Path) -> Option<Target> {
    match path.file_name()?.to_str()? {
        "lookaside.conf" => return Some(Target::Settings(path.to_owned(), Reader::Zlib)),
        "lookaside-qat.conf" => {
            return Some(Target::Settings(path.to_owned(), Reader::QuickAssist));
        }
        _ => {}
    }
    let text = text_of(path).ok()?;
    let is_section = |line: &str| line.starts_with('[') && line.ends_with(']');
    let is_openssl = path.extension().is_some_and(|ending| ending == "cnf")
        || text.lines().any(|line| line.trim().starts_with("openssl_conf"));
    let has_sections = text.lines().any(|line| is_section(line.trim()));
    (is_openssl && has_sections).then(|| Target::OpenSsl(path.to_owned()))
}

/// Why the loader and our libraries do not trust the environment of a program, if it is so.
fn secure(path: &Path) -> Option<&'static str> {
    let meta = fs::metadata(path).ok()?;
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if meta.mode() & 0o4000 != 0 && meta.uid() != user.as_raw() {
        return Some("setuid");
    }
    if meta.mode() & 0o2010 == 0o2010 && meta.gid() != group.as_raw() {
        return Some("setgid");
    }
    let mut value = [0; 64];
    let capabilities = rustix::fs::getxattr(path, "security.capability", &mut value);
    (capabilities.is_ok() && !user.is_root()).then_some("file capabilities")
}

/// The libraries of ours, and what begins the names of those that lead to them.
const OURS: [&str; 6] = ["libz.so", "libcrypto.so", "libssl.so", "libexpat.so", "libhs", "libqat"];

/// What a program is known to load by itself, as far as it needs a library that we have.
fn modules(program: &Path, machine: (u16, bool)) -> Vec<(PathBuf, Elf)> {
    let mut open: Vec<(PathBuf, usize)> =
        folders(program).into_iter().map(|folder| (folder, 6)).collect();
    let (mut found, mut seen) = (Vec::new(), 0);
    // Many of git's are one file.
    let mut files: HashSet<(u64, u64)> = HashSet::new();
    let mut is_new =
        |path: &Path| fs::metadata(path).is_ok_and(|meta| files.insert((meta.dev(), meta.ino())));
    is_new(program);
    while let Some((folder, depth)) = open.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<(PathBuf, fs::FileType)> =
            entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
        paths.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, kind) in paths {
            seen += 1;
            if seen > FILES {
                return found;
            }
            if kind.is_dir() && depth > 0 {
                open.push((path, depth - 1));
            } else if kind.is_file()
                && is_new(&path)
                && let Ok(Some(elf)) = elf::read(&path)
                && elf.machine == machine
                && (elf.needed.iter().any(|name| OURS.iter().any(|ours| name.starts_with(ours)))
                    || !elf.copies.is_empty())
            {
                found.push((path, elf));
            }
        }
    }
    found
}

/// Where the modules of known programs are.
fn folders(program: &Path) -> Vec<PathBuf> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr")).to_owned();
    let libraries = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
    let libraries = Path::new(&libraries);
    match &*name {
        "java" | "javac" | "jar" => vec![prefix.join("lib")],
        "nginx" => vec!["/usr/lib/nginx/modules".into()],
        "apache2" => vec!["/usr/lib/apache2/modules".into()],
        // Programs that it starts.
        "git" => vec!["/usr/lib/git-core".into()],
        name if name.starts_with("python3") => {
            vec![prefix.join("lib").join(name).join("lib-dynload")]
        }
        name if name.starts_with("perl") => {
            vec![libraries.join("perl"), libraries.join("perl-base"), libraries.join("perl5")]
        }
        name if name.starts_with("ruby") => vec![libraries.join("ruby")],
        name if name.starts_with("php") => vec!["/usr/lib/php".into()],
        _ => Vec::new(),
    }
}

/// How a shell would say a name.
pub(super) fn shown(name: &OsString) -> String {
    let text = name.to_string_lossy().into_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_lead_to_their_interpreters() {
        assert_eq!(interpreter(" /bin/sh -e").unwrap(), Path::new("/bin/sh"));
        let sh = interpreter("/usr/bin/env -S A=b sh -e").unwrap();
        assert!(sh.is_absolute() && sh.ends_with("sh"), "{sh:?}");
        assert!(interpreter("").is_err() && interpreter("/usr/bin/env").is_err());
        assert!(interpreter("/usr/bin/env no-such-command").unwrap_err().contains("no-such"));
    }

    #[test]
    fn names_for_a_shell() {
        assert_eq!(shown(&"/bin/x-1".into()), "/bin/x-1");
        assert_eq!(shown(&"it's".into()), "'it'\\''s'");
    }
}
