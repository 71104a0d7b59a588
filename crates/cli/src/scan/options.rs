//! The command line of `lookaside scan`.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use super::{
    report::Style,
    rules::{Reading, Source},
};

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) sources: Vec<Source>,
    pub(super) paths: Vec<OsString>,
    pub(super) reading: Reading,
    pub(super) style: Style,
    /// Captures are files as any.
    pub(super) raw: bool,
    pub(super) speed: bool,
    pub(super) counters: bool,
    pub(super) explain: bool,
    pub(super) bench: bool,
}

/// Reads the arguments behind `scan`; `None` if they ask for help.
///
/// # Errors
/// What is wrong with them.
pub fn parse(args: &[OsString]) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut color = None;
    let mut operands = Vec::new();
    let mut args = args.iter();
    let mut only_operands = false;
    while let Some(arg) = args.next() {
        let bytes = arg.as_bytes();
        if only_operands || bytes == b"-" || !bytes.starts_with(b"-") {
            operands.push(arg.clone());
            continue;
        }
        let text = arg.to_string_lossy();
        // --file=RULES, -eREGEX.
        let (key, mut attached) = match bytes.strip_prefix(b"--") {
            Some(b"") => {
                only_operands = true;
                continue;
            }
            Some(long) => match long.iter().position(|&byte| byte == b'=') {
                Some(at) => (text.split('=').next().unwrap_or(&text), Some(&long[at + 1..])),
                None => (&*text, None),
            },
            None => (&*text, None),
        };
        let is_attached = attached.is_some();
        let mut value = || {
            let separate = || args.next().map(|value| value.as_bytes());
            let value = attached.take().or_else(separate);
            value.map(<[u8]>::to_vec).ok_or_else(|| format!("{key} wants a value"))
        };
        match key {
            "--regexp" => options.sources.push(Source::Expression(value()?)),
            "--file" => options.sources.push(file(&value()?)),
            "--color" | "--colour" if !is_attached => color = Some("always".to_owned()),
            "--color" | "--colour" => {
                color = Some(String::from_utf8_lossy(&value()?).into_owned());
            }
            _ if is_attached => return Err(format!("unknown option {text}")),
            "-h" | "--help" => return Ok(None),
            "--ignore-case" => options.reading.flags.caseless = true,
            "--fixed-strings" => options.reading.literal = true,
            "--count" => options.style.count = true,
            "--files-with-matches" => options.style.files = true,
            "--text" => options.style.text = true,
            "--start" => options.style.start = true,
            "--json" => options.style.json = true,
            "--raw" => options.raw = true,
            "--speed" => options.speed = true,
            "--counters" => options.counters = true,
            "--explain" => options.explain = true,
            "--bench" => options.bench = true,
            long if long.starts_with("--") => return Err(format!("unknown option {long}")),
            letters => {
                let mut rest = &bytes[1..];
                while let Some((letter, behind)) = rest.split_first() {
                    rest = behind;
                    match letter {
                        b'i' => options.reading.flags.caseless = true,
                        b'F' => options.reading.literal = true,
                        b'c' => options.style.count = true,
                        b'l' => options.style.files = true,
                        // -eREGEX, -e REGEX
                        b'e' | b'f' => {
                            let value = match std::mem::take(&mut rest) {
                                b"" => value()?,
                                attached => attached.to_vec(),
                            };
                            options.sources.push(match letter {
                                b'e' => Source::Expression(value),
                                _ => file(&value),
                            });
                        }
                        _ => return Err(format!("unknown option {letters}")),
                    }
                }
            }
        }
    }
    if options.sources.is_empty() {
        // As grep: the first operand.
        if operands.is_empty() {
            return Err("scan wants -e REGEX or -f RULES".into());
        }
        options.sources.push(Source::Expression(operands.remove(0).as_bytes().to_vec()));
    }
    options.paths = operands;
    let style = &mut options.style;
    options.reading.flags.som_leftmost = style.start;
    style.rows = !style.count && !style.files;
    style.color = match color.as_deref() {
        Some("always") => true,
        Some("never") => false,
        None | Some("auto") => Style::terminal() && !style.json,
        Some(other) => return Err(format!("--color={other}: always, never or auto is wanted")),
    };
    let together = [
        ("--count", style.count, "--files-with-matches", style.files),
        ("--explain", options.explain, "--bench", options.bench),
        ("--counters", options.counters, "--explain", options.explain),
        ("--counters", options.counters, "--bench", options.bench),
        ("--text", style.text, "--count", style.count),
        ("--text", style.text, "--files-with-matches", style.files),
        ("--start", style.start, "--count", style.count),
        ("--start", style.start, "--files-with-matches", style.files),
        ("--json", style.json, "--explain", options.explain),
        ("--json", style.json, "--bench", options.bench),
        ("--color", style.color && color.is_some(), "--json", style.json),
    ];
    for (one, is_one, other, is_other) in together {
        if is_one && is_other {
            return Err(format!("{one} and {other} do not go together"));
        }
    }
    Ok(Some(options))
}

fn file(path: &[u8]) -> Source {
    Source::File(OsString::from(std::ffi::OsStr::from_bytes(path)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map(|options| options.expect("no help"))
    }

    #[test]
    fn as_grep() {
        let options = parsed("-ic x a b").unwrap();
        assert_eq!(options.sources, [Source::Expression(b"x".into())]);
        assert_eq!(options.paths, ["a", "b"]);
        assert!(options.reading.flags.caseless && options.style.count && !options.style.rows);
        let options = parsed("-ex -e y -f r --file=s --regexp=a=b - -- -z").unwrap();
        let [file, text] =
            [|p: &str| Source::File(p.into()), |t: &str| Source::Expression(t.into())];
        assert_eq!(options.sources, [text("x"), text("y"), file("r"), file("s"), text("a=b")]);
        assert_eq!(options.paths, ["-", "-z"]);
        let style = parsed("x --color=always --start").unwrap().style;
        assert!(style.color && style.start && style.rows);
    }

    #[test]
    fn mistakes() {
        for line in [
            "",
            "-e",
            "-x y",
            "--nonsense y",
            "x --color=blue",
            "x --count=1",
            "x -cl",
            "x --explain --bench",
            "x --text -c",
            "x --json --color",
            "x --counters --bench",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(parse(&["--help".into()]).unwrap().is_none());
    }
}
