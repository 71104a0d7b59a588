//! A configuration of OpenSSL (config(5)): whether it leads to our provider, and what of it OpenSSL ignores without a word.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    settings::{PROVIDER, place, question},
    target::text_of,
};
use crate::plain;

/// Includes within includes that are followed.
const DEPTH: usize = 8;
/// Files that are included, at most.
const FILES: usize = 500;
/// Values of a section other than settings of ours.
const OPENSSLS: [&str; 4] = ["identity", "module", "activate", "soft_load"];
/// Where names before the first section are.
const FIRST: &str = "default";

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    value: String,
    place: String,
}

/// The sections of a file and of those that it includes; a name's last value counts.
#[derive(Debug, Default)]
struct Sections {
    sections: BTreeMap<String, Vec<Entry>>,
    /// Files that were included, however deep.
    included: usize,
}

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// The module of the provider.
    pub(super) module: Option<PathBuf>,
    /// What is wrong.
    pub(super) wrong: Vec<String>,
    /// The settings in force.
    pub(super) settings: Vec<String>,
}

/// Reads a configuration as OpenSSL does, and follows it to our provider.
///
/// # Errors
/// The file cannot be read.
pub(super) fn judge(path: &Path) -> Result<Judged, String> {
    let mut sections = Sections::default();
    let mut judged = Judged::default();
    let text = text_of(path);
    let text = text.map_err(|e| format!("{}: {}", path.display(), plain(&e)))?;
    sections.read(path, &text, DEPTH, &mut judged.wrong);
    sections.follow(&mut judged);
    Ok(judged)
}

impl Sections {
    fn read(&mut self, path: &Path, text: &str, depth: usize, wrong: &mut Vec<String>) {
        let mut section = FIRST.to_owned();
        let mut lines = text.lines().enumerate();
        while let Some((n, line)) = lines.next() {
            let mut line = line.split('#').next().unwrap_or_default().trim().to_owned();
            while line.ends_with('\\') {
                line.pop();
                let Some((_, more)) = lines.next() else { break };
                line += more.split('#').next().unwrap_or_default().trim();
            }
            let place = place(path, n + 1);
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                section = name.trim().to_owned();
                self.sections.entry(section.clone()).or_default();
                continue;
            }
            if let Some(included) = line.strip_prefix(".include") {
                let included = included.trim().trim_start_matches('=').trim();
                self.include(&path.with_file_name(included), depth, wrong);
                continue;
            }
            // .pragma, which is none of ours.
            if line.starts_with('.') {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                wrong.push(format!("{place}: neither [section] nor name = value"));
                continue;
            };
            let (name, value) = (name.trim(), value.trim().trim_matches(['"', '\'']));
            // `section::name`, wherever it stands.
            let (section, name) = name.split_once("::").unwrap_or((&section, name));
            let entry = Entry { name: name.to_owned(), value: value.to_owned(), place };
            self.sections.entry(section.to_owned()).or_default().push(entry);
        }
    }

    /// A file, or all of a folder's; one that is missing is no error, for OpenSSL either.
    fn include(&mut self, path: &Path, depth: usize, wrong: &mut Vec<String>) {
        if self.included > FILES {
            return;
        }
        if depth == 0 {
            let text = format!("{}: included too deep", path.display());
            // Said once of many.
            if wrong.last() != Some(&text) {
                wrong.push(text);
            }
            return;
        }
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let is_one = |path: &PathBuf| {
                path.extension().is_some_and(|ending| ending == "cnf" || ending == "conf")
            };
            files = entries.map(|entry| entry.path()).filter(is_one).collect();
            files.sort();
        }
        for file in files {
            self.included += 1;
            if self.included == FILES {
                wrong.push(format!("{}: more files than {FILES} are included", file.display()));
            }
            if self.included > FILES {
                return;
            }
            if let Ok(text) = text_of(&file) {
                self.read(&file, &text, depth - 1, wrong);
            }
        }
    }

    fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        // A name that a section lacks is looked up in the first one.
        [section, FIRST].iter().find_map(|section| {
            self.sections.get(*section)?.iter().rfind(|entry| entry.name == name)
        })
    }

    /// From `openssl_conf` to the provider's section.
    fn follow(&self, judged: &mut Judged) {
        let wrong = &mut judged.wrong;
        let Some(start) = self.entry(FIRST, "openssl_conf") else {
            wrong.push("openssl_conf is missing before the first section: nothing is read".into());
            return;
        };
        if !self.sections.contains_key(&start.value) {
            wrong.push(format!("{}: there is no section [{}]", start.place, start.value));
            return;
        }
        let Some(list) = self.entry(&start.value, "providers") else {
            wrong.push(format!("[{}] has no providers", start.value));
            return;
        };
        let Some(providers) = self.sections.get(&list.value) else {
            wrong.push(format!("{}: there is no section [{}]", list.place, list.value));
            return;
        };
        let (mut ours, mut has_default) = (None, false);
        for provider in providers {
            let Some(section) = self.sections.get(&provider.value) else {
                wrong.push(format!("{}: there is no section [{}]", provider.place, provider.value));
                continue;
            };
            let module = section.iter().rfind(|entry| entry.name == "module");
            let module_name = module.and_then(|module| Path::new(&module.value).file_name());
            if provider.name == "lookaside" || module_name.is_some_and(|n| n == "lookaside.so") {
                ours = Some((provider, section));
            }
            has_default |= provider.name == "default" && active(section);
        }
        let Some((provider, section)) = ours else {
            wrong.push(format!("[{}] does not list lookaside", list.value));
            return;
        };
        if !active(section) {
            wrong.push(format!("[{}] lacks activate = 1: it is not loaded", provider.value));
        }
        if !has_default {
            let what = "does not activate the default provider, which serves what ours has not";
            wrong.push(format!("[{}] {what}", list.value));
        }
        for entry in section {
            let name = entry.name.as_str();
            if PROVIDER.contains(&name) {
                judged.settings.push(format!("{name} = {}", entry.value));
            } else if name == "module" {
                judged.module = Some(entry.value.clone().into());
            } else if !OPENSSLS.contains(&name) {
                let right = question(name, PROVIDER.into_iter().chain(OPENSSLS));
                wrong.push(format!("{}: {name} is no setting of the provider{right}", entry.place));
            }
        }
        match &judged.module {
            None => wrong.push(format!("[{}] names no module", provider.value)),
            Some(path) if path.is_absolute() && !path.exists() => {
                wrong.push(format!("module = {}: there is no such file", path.display()));
            }
            Some(_) => {}
        }
        let preferred = self.entry(&start.value, "alg_section").and_then(|section| {
            self.sections.get(&section.value)?.iter().rfind(|e| e.name == "default_properties")
        });
        if preferred.is_none_or(|entry| !entry.value.contains("provider=lookaside")) {
            let what =
                "default_properties = ?provider=lookaside is missing: others may be preferred";
            wrong.push(what.into());
        }
    }
}

/// Whether a provider's section activates it.
fn active(section: &[Entry]) -> bool {
    let value = section.iter().rfind(|entry| entry.name == "activate").map(|e| &*e.value);
    // Before 3.2 any value did.
    value.is_some_and(|value| !matches!(value, "0" | "no" | "false" | "off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTALLED: &str = include_str!("../../../../front/openssl/openssl.cnf.in");

    fn judged(text: &str) -> Judged {
        let name = format!("lookaside-cnf-{}-{:x}.cnf", std::process::id(), text.len());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        let judged = judge(&path).unwrap();
        fs::remove_file(path).unwrap();
        judged
    }

    #[test]
    fn what_is_installed_is_good() {
        let good = INSTALLED.replace("@PREFIX@/lib/lookaside/openssl/lookaside.so", "/etc/passwd");
        assert_eq!(judged(&good).wrong, [""; 0]);
        for name in super::super::settings::PROVIDER {
            assert!(good.contains(&format!("\n# {name} = ")), "openssl.cnf does not say {name}");
        }
        assert_eq!(judged(&good).module.as_deref(), Some(Path::new("/etc/passwd")));
        let with = judged(&format!("{good}\nengines = 2\nenginess = 2\nactivat = 1\n"));
        assert_eq!(with.settings, ["engines = 2"]);
        assert_eq!(with.wrong.len(), 2, "{:?}", with.wrong);
        assert!(with.wrong[0].ends_with("enginess is no setting of the provider: is it engines?"));
        assert!(with.wrong[1].ends_with("is it activate?"));
        for (old, new, says) in [
            ("providers = ", "provider = ", "has no providers"),
            ("[lookaside_providers]", "[lookaside_provider_list]", "no section [lookaside_prov"),
            ("lookaside = lookaside_provider", "", "does not list lookaside"),
            ("module = /etc/passwd\nactivate = 1", "module = /etc/passwd", "lacks activate = 1"),
            ("module = /etc/passwd", "module = /nowhere/lookaside.so", "no such file"),
            ("default = lookaside_default_provider", "", "does not activate the default"),
            ("default_properties = ?provider", "default_property = ?provider", "others may be"),
        ] {
            let wrong = judged(&good.replace(old, new)).wrong;
            assert!(wrong.iter().any(|text| text.contains(says)), "{new}: {wrong:?}");
        }
    }

    #[test]
    fn includes_and_continued_lines() {
        let none = judged("openssl_cnf = a\n[a]\nproviders = b\n").wrong;
        assert!(none[0].starts_with("openssl_conf is missing"), "{none:?}");
        let deep = judged("openssl_conf = a\\\nb\n[ab]\nx = y # z\n");
        assert_eq!(deep.wrong, ["[ab] has no providers"]);
        let path = std::env::temp_dir().join(format!("lookaside-own-{}.cnf", std::process::id()));
        fs::write(&path, format!(".include {}\n", path.display())).unwrap();
        let own = judge(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(own.wrong[0].contains("included too deep"), "{own:?}");
        // Neither do many lines of that kind take forever.
        fs::write(&path, format!(".include {}\n", path.display()).repeat(100)).unwrap();
        let many = judge(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(many.wrong.len() < 1000, "{}", many.wrong.len());
        assert!(many.wrong.iter().any(|text| text.contains("more files than")), "{many:?}");
        assert!(judge(&path).unwrap_err().ends_with("No such file or directory"));
    }
}
