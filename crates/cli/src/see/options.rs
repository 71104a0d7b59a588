//! The options of `lookaside top` and `lookaside metrics`.

use std::{ffi::OsString, time::Duration};

use super::{
    gather::Places,
    metrics::{Metrics, To},
    screen::{NARROWEST, Order},
    top::Top,
};

/// The options one after the other, each with a value where it takes one.
struct Options<'a> {
    rest: std::slice::Iter<'a, OsString>,
    attached: Option<String>,
}

impl<'a> Options<'a> {
    fn new(args: &'a [OsString]) -> Options<'a> {
        Options { rest: args.iter(), attached: None }
    }

    fn next(&mut self) -> Result<Option<String>, String> {
        if self.attached.take().is_some() {
            return Err("an option that takes no value has one".into());
        }
        let Some(arg) = self.rest.next() else { return Ok(None) };
        let arg = arg.to_str().ok_or("an option is no text")?;
        // Both `--width 80` and `--width=80`.
        Ok(Some(match arg.split_once('=') {
            Some((name, value)) => {
                self.attached = Some(value.to_owned());
                name.to_owned()
            }
            None => arg.to_owned(),
        }))
    }

    fn value(&mut self, name: &str) -> Result<OsString, String> {
        let separate = || self.rest.next().cloned();
        let value = self.attached.take().map(OsString::from).or_else(separate);
        value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{name} wants a value"))
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        self.value(name)?.into_string().map_err(|_| format!("{name} wants a text"))
    }
}

fn place(places: &mut Places, name: &str, options: &mut Options) -> Result<bool, String> {
    match name {
        "--folder" => places.folders.push(options.value(name)?.into()),
        "--clean" => places.clean = true,
        _ => return Ok(false),
    }
    Ok(true)
}

/// What `lookaside top` is to do; `None`: help is wanted.
pub(crate) fn top(args: &[OsString]) -> Result<Option<Top>, String> {
    let mut top = Top::default();
    let mut options = Options::new(args);
    while let Some(name) = options.next()? {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--once" => top.once = true,
            "--json" => top.json = true,
            "--interval" => {
                let text = options.text(&name)?;
                let seconds = text.parse::<f64>().ok().filter(|s| (0.1..=3600.0).contains(s));
                let wrong = || format!("--interval {text}: a number from 0.1 to 3600 is wanted");
                top.interval = Some(Duration::from_secs_f64(seconds.ok_or_else(wrong)?));
            }
            "--width" => {
                let text = options.text(&name)?;
                let width = text.parse().ok().filter(|n| (NARROWEST..=1000).contains(n));
                let wrong = || format!("--width {text}: a number from 40 to 1000 is wanted");
                top.width = Some(width.ok_or_else(wrong)?);
            }
            "--sort" => {
                let text = options.text(&name)?;
                let known = Order::ALL.iter().find(|(_, _, name)| *name == text);
                let names = Order::ALL.map(|(_, _, name)| name).join(", ");
                let wrong = || format!("--sort {text}: one of {names} is wanted");
                top.order = known.ok_or_else(wrong)?.1;
            }
            _ if place(&mut top.places, &name, &mut options)? => {}
            _ => return Err(format!("unknown option {name}")),
        }
    }
    match top.json && !top.once {
        true => Err("--json goes with --once".into()),
        false if top.json && top.interval.is_some() => Err("--json has sums, and no rates".into()),
        false => Ok(Some(top)),
    }
}

/// What `lookaside metrics` is to do; `None`: help is wanted.
pub(crate) fn metrics(args: &[OsString]) -> Result<Option<Metrics>, String> {
    let mut metrics = Metrics::default();
    let mut options = Options::new(args);
    while let Some(name) = options.next()? {
        let to = match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--textfile" => To::File(options.value(&name)?.into()),
            "--listen" => To::Listen(options.text(&name)?),
            _ if place(&mut metrics.places, &name, &mut options)? => continue,
            _ => return Err(format!("unknown option {name}")),
        };
        if metrics.to != To::Output {
            return Err("--textfile and --listen are two ways: give one".into());
        }
        metrics.to = to;
    }
    Ok(Some(metrics))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn command_lines() {
        let top = |line: &str| super::top(&words(line));
        let metrics = |line: &str| super::metrics(&words(line));
        assert_eq!(top(""), Ok(Some(Top::default())));
        let Ok(Some(t)) =
            top("--once --width=60 --sort latency --interval 0.5 --folder /a --folder=/b")
        else {
            panic!("good options")
        };
        assert!(t.once && t.width == Some(60) && t.order == Order::Latency);
        assert_eq!(t.interval, Some(Duration::from_millis(500)));
        assert_eq!(t.places.folders.len(), 2);
        assert!(matches!(top("--once --json --clean"), Ok(Some(t)) if t.json && t.places.clean));
        assert_eq!((top("--help"), metrics("-h")), (Ok(None), Ok(None)));
        for bad in [
            "--json",
            "--once=1",
            "--width 39",
            "--width",
            "--interval 0",
            "--interval nan",
            "--sort size",
            "--once --json --interval 1",
            "x",
            "--folder=",
        ] {
            assert!(top(bad).is_err(), "{bad}");
        }
        assert_eq!(metrics(""), Ok(Some(Metrics::default())));
        assert!(matches!(metrics("--listen 9"), Ok(Some(m)) if m.to == To::Listen("9".into())));
        assert!(matches!(metrics("--textfile=/x"), Ok(Some(m)) if m.to == To::File("/x".into())));
        for bad in ["--listen 9 --textfile x", "--listen", "--once", "--clean=1"] {
            assert!(metrics(bad).is_err(), "{bad}");
        }
    }
}
