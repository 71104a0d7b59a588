//! Where the dynamic loader finds a library (ld.so(8)), and all that a program loads so.

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::elf::{self, Elf};

/// More libraries than that are not followed.
const MOST: usize = 2000;

/// One file that is loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) path: PathBuf,
    pub(super) elf: Elf,
    /// Who needs it first; none: the program itself, or what it loads by itself.
    pub(super) by: Option<usize>,
}

/// What a program loads.
#[derive(Debug, Default)]
pub(super) struct Closure {
    /// In the order in which they are found, the program first.
    pub(super) loaded: Vec<Loaded>,
    /// Where each name leads to.
    pub(super) names: BTreeMap<String, usize>,
    /// Names that were not found.
    pub(super) missing: Vec<String>,
}

/// Where libraries are looked for.
pub(super) struct Search {
    /// `LD_LIBRARY_PATH`, as far as the program heeds it.
    pub(super) environment: Vec<PathBuf>,
    /// What the system has.
    system: Vec<PathBuf>,
}

impl Search {
    /// As in the environment of this process; `secure` programs do not look at it.
    pub(super) fn here(secure: bool) -> Search {
        let variable = env::var_os("LD_LIBRARY_PATH").filter(|_| !secure).unwrap_or_default();
        let environment = env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
        let mut system = Vec::new();
        configured(Path::new("/etc/ld.so.conf"), 4, &mut system);
        let triplet = format!("{}-linux-gnu", env::consts::ARCH);
        for folder in ["/lib", "/usr/lib"] {
            system.push(Path::new(folder).join(&triplet));
            system.push(format!("{folder}64").into());
            system.push(folder.into());
        }
        Search { environment: environment.collect(), system }
    }

    /// Finds what `needs` needs by this name, a library of the same machine.
    fn find(&self, name: &str, needs: &Loaded, rpath: &[PathBuf]) -> Option<(PathBuf, Elf)> {
        let fits = |path: PathBuf| {
            let elf = elf::read(&path).ok()??;
            (elf.machine == needs.elf.machine).then_some((path, elf))
        };
        if name.contains('/') {
            return fits(PathBuf::from(name));
        }
        let own = origins(&needs.elf.runpath, &needs.path);
        let folders = rpath.iter().chain(&self.environment).chain(&own).chain(&self.system);
        folders.map(|folder| folder.join(name)).filter(|path| path.exists()).find_map(fits)
    }

    /// All that the program at `path` loads, with `more` that it loads by itself.
    pub(super) fn closure(&self, path: &Path, elf: Elf, more: Vec<(PathBuf, Elf)>) -> Closure {
        let mut closure = Closure::default();
        closure.loaded.push(Loaded { path: path.to_owned(), elf, by: None });
        let more = more.into_iter().map(|(path, elf)| Loaded { path, elf, by: None });
        closure.loaded.extend(more);
        let mut open: VecDeque<usize> = (0..closure.loaded.len()).collect();
        while let Some(at) = open.pop_front() {
            let rpath = closure.rpath(at);
            for name in closure.loaded[at].elf.needed.clone() {
                if closure.names.contains_key(&name) || closure.loaded.len() >= MOST {
                    continue;
                }
                match self.find(&name, &closure.loaded[at], &rpath) {
                    Some((path, elf)) => {
                        let new = closure.loaded.len();
                        closure.loaded.push(Loaded { path, elf, by: Some(at) });
                        closure.names.insert(name, new);
                        open.push_back(new);
                    }
                    // What a module lacks the program may have loaded before it.
                    None if closure.root(at) == 0 && !closure.missing.contains(&name) => {
                        closure.missing.push(name);
                    }
                    None => {}
                }
            }
        }
        closure
    }
}

impl Closure {
    /// The folders that are looked at first for what `at` needs: its own, and those of who needs it.
    pub(super) fn rpath(&self, at: usize) -> Vec<PathBuf> {
        if !self.loaded[at].elf.runpath.is_empty() {
            return Vec::new();
        }
        let mut folders = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next {
            let loaded = &self.loaded[at];
            folders.extend(origins(&loaded.elf.rpath, &loaded.path));
            next = loaded.by;
        }
        folders
    }

    /// The program (0), or the module of its that leads to `at`.
    pub(super) fn root(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(by) = self.loaded[at].by {
            at = by;
        }
        at
    }

    /// The file names of those that need `at`, the program's last.
    pub(super) fn way(&self, at: usize) -> Vec<&OsStr> {
        let mut names = Vec::new();
        let mut next = self.loaded[at].by;
        while let Some(at) = next {
            names.push(self.loaded[at].path.file_name().unwrap_or_default());
            next = self.loaded[at].by;
        }
        names
    }
}

/// The folders, with `$ORIGIN` replaced by the folder of the file that names them.
fn origins(folders: &[String], of: &Path) -> Vec<PathBuf> {
    let whole = of.canonicalize().unwrap_or_else(|_| of.to_owned());
    let origin = whole.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let expand = |f: &String| f.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into();
    folders.iter().map(expand).collect()
}

/// The folders of the loader's configuration, with the files that it includes.
fn configured(file: &Path, depth: usize, folders: &mut Vec<PathBuf>) {
    let Ok(text) = fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include") {
            Some(pattern) if depth > 0 => {
                for file in matching(Path::new(pattern.trim())) {
                    configured(&file, depth - 1, folders);
                }
            }
            _ if line.starts_with('/') => folders.push(line.into()),
            _ => {}
        }
    }
}

/// The files that a pattern with a star in its last part names, by their names.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else { return vec![] };
    let name = name.to_string_lossy();
    let Some((head, tail)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(fits).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The loader itself finds the same files.
    #[test]
    fn as_the_loader() {
        let mut compared = 0;
        for program in ["/usr/bin/python3", "/usr/bin/git", "/usr/bin/curl", "/bin/sh"] {
            let path = Path::new(program);
            let Ok(Some(elf)) = elf::read(path) else { continue };
            let Some(loader) = elf.interpreter.clone() else { continue };
            let Ok(out) = Command::new(loader).arg("--list").arg(path).output() else { continue };
            let listed = String::from_utf8(out.stdout).unwrap();
            let closure = Search::here(false).closure(path, elf, vec![]);
            assert_eq!(closure.missing, [""; 0], "{program}");
            for line in listed.lines() {
                let Some((name, rest)) = line.trim().split_once(" => ") else { continue };
                let file = rest.split(" (").next().unwrap();
                let at = *closure.names.get(name).unwrap_or_else(|| panic!("{program}: {name}"));
                let ours = closure.loaded[at].path.canonicalize().unwrap();
                assert_eq!(ours, Path::new(file).canonicalize().unwrap(), "{program}");
                compared += 1;
            }
        }
        assert!(compared > 3, "{compared}");
    }

    #[test]
    fn patterns_and_origins() {
        let folders = ["$ORIGIN/../lib".to_owned(), "/x/${ORIGIN}".to_owned()];
        let found = origins(&folders, Path::new("/nowhere/bin/a"));
        assert_eq!(found, [Path::new("/nowhere/bin/../lib"), Path::new("/x//nowhere/bin")]);
        assert_eq!(matching(Path::new("/nowhere/x.conf")), [Path::new("/nowhere/x.conf")]);
        assert!(matching(Path::new("/etc/pass*d")).contains(&PathBuf::from("/etc/passwd")));
    }
}
