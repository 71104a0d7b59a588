//! QuickAssist's library for a command: where it is, and what the processes of the command say of it.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The folder of `libqat.so.4`, and the file to which each process appends its counters.
pub(crate) struct QuickAssist {
    pub(crate) folder: PathBuf,
    pub(crate) counters: PathBuf,
}

impl QuickAssist {
    /// Where `make install` puts the library, as seen from this command; `None` where it is not.
    pub(crate) fn beside_us(counters: &Path) -> Option<QuickAssist> {
        let here = env::current_exe().and_then(fs::canonicalize).ok()?;
        let folder = here.parent()?;
        let library = ["../lib/lookaside/qat", "qat"]
            .into_iter()
            .find_map(|place| folder.join(place).join("libqat.so.4").canonicalize().ok())?;
        let counters = counters.with_extension("qat");
        Some(QuickAssist { folder: library.parent()?.to_owned(), counters })
    }

    /// What the processes have counted; nothing where none used the library.
    pub(crate) fn report(&self) -> io::Result<Served> {
        match fs::read_to_string(&self.counters) {
            Ok(lines) => Ok(Served::of(&lines)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Served::default()),
            Err(e) => Err(e),
        }
    }
}

impl Drop for QuickAssist {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.counters);
    }
}

/// The sums of all processes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Served {
    processes: u64,
    counts: BTreeMap<String, u64>,
}

impl Served {
    /// Sums lines of JSON, one for each process.
    fn of(lines: &str) -> Served {
        let mut served = Served::default();
        for line in lines.lines() {
            let Ok(Value::Object(line)) = serde_json::from_str(line) else { continue };
            served.processes += 1;
            for (name, count) in line.iter().filter(|(name, _)| *name != "pid") {
                if let Some(count) = count.as_u64() {
                    *served.counts.entry(name.clone()).or_default() += count;
                }
            }
        }
        served
    }

    pub(crate) fn table(&self) -> String {
        let mut text = match self.processes {
            0 => return String::new(),
            1 => "lookaside: QuickAssist in 1 process\n".to_owned(),
            n => format!("lookaside: QuickAssist in {n} processes\n"),
        };
        for (name, count) in &self.counts {
            text += &format!("{name:42} {count:>10}\n");
        }
        text
    }

    /// `None` where no process used the library.
    pub(crate) fn json(&self) -> Option<Value> {
        (self.processes > 0)
            .then(|| serde_json::json!({ "processes": self.processes, "counters": &self.counts }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_summed() {
        let lines = "{\"pid\": 7, \"program\": \"qzip\", \"compressions\": 2}\n\
                     {\"pid\": 8, \"program\": \"qzip\", \"compressions\": 3, \"decompressions\": 1}\n{\"pid\"";
        let served = Served::of(lines);
        assert_eq!(served.processes, 2);
        assert!(served.table().starts_with("lookaside: QuickAssist in 2 processes\n"));
        let json = served.json().unwrap();
        assert_eq!((&json["counters"]["compressions"], &json["processes"]), (&5.into(), &2.into()));
        assert!(json["counters"].get("pid").is_none());
        assert_eq!((Served::of("").table().as_str(), Served::of("").json()), ("", None));
    }
}
