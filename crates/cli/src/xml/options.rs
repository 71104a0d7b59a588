//! The command line of `lookaside xml`.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

/// What is done with each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    Check,
    Validate { schema: PathBuf },
    Select { expressions: Vec<String>, stream: bool },
    Events,
    Tree,
    Format,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) task: Task,
    pub(super) paths: Vec<OsString>,
    /// Prefixes of expressions.
    pub(super) namespaces: Vec<(String, String)>,
    /// Whether external entities are read.
    pub(super) external: bool,
    pub(super) json: bool,
    pub(super) speed: bool,
}

/// Reads the arguments behind `xml`; `None` if they ask for help.
///
/// # Errors
/// What is wrong with them.
pub fn parse(args: &[OsString]) -> Result<Option<Options>, String> {
    let (mut expressions, mut namespaces, mut paths) = (vec![], vec![], vec![]);
    let (mut schema, mut external) = (None, false);
    let (mut json, mut speed, mut stream) = (false, false, false);
    let mut args = args.iter();
    let task = match args.next().map(|name| name.to_string_lossy()) {
        None => return Err("xml wants check, validate, select, events, tree or format".into()),
        Some(name) => name.into_owned(),
    };
    if task == "--help" || task == "-h" {
        return Ok(None);
    }
    let mut only_operands = false;
    while let Some(arg) = args.next() {
        let bytes = arg.as_bytes();
        if only_operands || bytes == b"-" || !bytes.starts_with(b"-") {
            // As grep: the first operand is what is looked for, if no option said it.
            match task == "select" && expressions.is_empty() && paths.is_empty() {
                true => expressions.push(arg.to_string_lossy().into_owned()),
                false => paths.push(arg.clone()),
            }
            continue;
        }
        let text = arg.to_string_lossy();
        let (key, mut attached) = match text.split_once('=') {
            Some((key, value)) if key.starts_with("--") => (key.to_owned(), Some(value.to_owned())),
            _ => (text.clone().into_owned(), None),
        };
        let is_attached = attached.is_some();
        let mut value = || {
            let separate = || args.next().map(|value| value.to_string_lossy().into_owned());
            attached.take().or_else(separate).ok_or_else(|| format!("{key} wants a value"))
        };
        match (&*key, &*task) {
            ("--schema", "validate") => schema = Some(PathBuf::from(value()?)),
            ("--expression" | "-e", "select") => expressions.push(value()?),
            ("--namespace" | "-n", "select") => {
                let pair = value()?;
                let (prefix, uri) = pair.split_once('=').ok_or("-n wants PREFIX=URI")?;
                namespaces.push((prefix.to_owned(), uri.to_owned()));
            }
            _ if is_attached => return Err(format!("unknown option {text}")),
            ("-h" | "--help", _) => return Ok(None),
            ("--", _) => only_operands = true,
            ("--stream", "select") => stream = true,
            ("--external", _) => external = true,
            ("--json", task) if task != "format" => json = true,
            ("--speed", _) => speed = true,
            _ => return Err(format!("unknown option {text} of xml {task}")),
        }
    }
    let task = match &*task {
        "check" => Task::Check,
        "validate" => Task::Validate { schema: schema.ok_or("xml validate wants --schema FILE")? },
        "select" if expressions.is_empty() => return Err("xml select wants an expression".into()),
        "select" => Task::Select { expressions, stream },
        "events" => Task::Events,
        "tree" => Task::Tree,
        "format" => Task::Format,
        other => return Err(format!("unknown command xml {other}")),
    };
    Ok(Some(Options { task, paths, namespaces, external, json, speed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Options>, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        let options = parsed("select -n a=urn:a=b //a:x f g --json").unwrap().unwrap();
        let expressions = vec!["//a:x".to_owned()];
        assert_eq!(options.task, Task::Select { expressions, stream: false });
        assert_eq!((options.paths.len(), options.json), (2, true));
        assert_eq!(options.namespaces, [("a".to_owned(), "urn:a=b".to_owned())]);
        let options = parsed("select -e //a -e=x --expression=b --stream f").unwrap_err();
        assert!(options.contains("-e=x"), "{options}");
        let options = parsed("select -e //a --expression=b --stream f").unwrap().unwrap();
        let expressions = vec!["//a".to_owned(), "b".to_owned()];
        assert_eq!(options.task, Task::Select { expressions, stream: true });
        let options = parsed("validate --schema s.xsd -- -f").unwrap().unwrap();
        assert_eq!(options.task, Task::Validate { schema: "s.xsd".into() });
        assert_eq!(options.paths, ["-f"]);
        assert!(parsed("check --help").unwrap().is_none());
        for line in [
            "",
            "chek",
            "validate f",
            "select",
            "select --stream",
            "check --schema s",
            "check --stream",
            "format --json",
            "select -n a //a",
            "check --json=1",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
