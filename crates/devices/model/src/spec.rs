//! The text of a model: sections of `key = value`, parsed by hand.

use core::fmt;
use std::{fs, io, ops::RangeInclusive};

use lookaside_core::{Op, Reach};

/// What a modelled device can do, and how fast. [The crate](crate) has the format of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The device's name.
    pub name: String,
    /// How many requests the device holds, of all channels together. Beyond that it is busy.
    pub queue: usize,
    /// After how long without an answer the runtime resets a channel, in nanoseconds.
    pub timeout_ns: u64,
    /// What memory it reaches: a card without shared virtual memory, only what it was told of.
    pub reach: Reach,
    /// The operations that it offers.
    pub sections: Vec<Section>,
}

/// Operations that share engines.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The operations; each of them is in one section.
    pub ops: Vec<Op>,
    /// How many requests are served side by side.
    pub engines: usize,
    /// What passes between the end of service and the answer, in nanoseconds. It occupies no engine.
    pub latency_ns: u64,
    /// Bandwidth of all engines together, in Gbit/s of [uncompressed](crate#what-is-counted) data.
    pub gbit_per_s: Option<f64>,
    /// Requests per second of all engines together.
    pub ops_per_s: Option<f64>,
    /// What the source of the model prints, to compare with, beside its figures.
    pub printed: Vec<Printed>,
    /// The source's figures.
    pub figures: Vec<Figure>,
}

/// A figure of the source of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its number and title.
    pub title: String,
    /// What its x-axis has.
    pub axis: Axis,
    /// The values that the source's text prints; none where the figure is a drawing without numbers.
    pub printed: Vec<Printed>,
}

/// What a figure follows throughput over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Requests outstanding.
    Outstanding,
    /// Bytes of a request.
    Size,
}

/// A measured value that the source of a model prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Bytes of one request.
    pub size: usize,
    /// Requests outstanding; `None`: as many as saturate the device.
    pub outstanding: Option<usize>,
    /// Gbit/s where the section has a bandwidth, otherwise operations per second.
    pub value: f64,
    /// Whether the source prints it as [seconds](Printed::seconds).
    pub as_seconds: bool,
}

impl Printed {
    /// The seconds that 2^30 bytes take at a bandwidth in Gbit/s; and the bandwidth, from the seconds.
    pub fn seconds(gbit_per_s: f64) -> f64 {
        (1u64 << 30) as f64 * 8.0 / 1e9 / gbit_per_s
    }
}

impl Section {
    /// The least time for so many requests with so many bytes in all, in nanoseconds: enough of them are
    /// outstanding, and whoever executes them is fast enough.
    pub fn least_ns(&self, requests: u64, bytes: u64) -> u64 {
        if requests == 0 {
            return 0;
        }
        let by_bits = self.gbit_per_s.map_or(0.0, |rate| bytes as f64 * 8.0 / rate);
        let by_ops = self.ops_per_s.map_or(0.0, |rate| requests as f64 * 1e9 / rate);
        by_bits.max(by_ops).round() as u64 + self.latency_ns
    }

    /// How long one engine is occupied by a request of so many bytes, in nanoseconds: by its bandwidth or by
    /// its operations per second, whichever takes longer.
    pub fn service_ns(&self, bytes: usize) -> u64 {
        // Bits / (Gbit/s) = nanoseconds.
        let by_bits = self.gbit_per_s.map_or(0.0, |rate| bytes as f64 * 8.0 / rate);
        let by_ops = self.ops_per_s.map_or(0.0, |rate| 1e9 / rate);
        (by_bits.max(by_ops) * self.engines as f64).round() as u64
    }
}

/// What is wrong with the text of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl core::error::Error for SpecError {}

/// Why there is no such model.
#[derive(Debug)]
pub enum LoadError {
    /// No built-in model has this name, and no file could be read.
    Read {
        /// What was asked for.
        name: String,
        /// Why it is no file.
        source: io::Error,
    },
    /// The file is not the text of a model.
    Text {
        /// The file.
        name: String,
        /// What is wrong with it.
        source: SpecError,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Read { name, source } => {
                let known = Spec::built_in_names().collect::<Vec<_>>().join(", ");
                write!(f, "{name} is none of the models {known}, and no file: {source}")
            }
            LoadError::Text { name, source } => write!(f, "{name}: {source}"),
        }
    }
}

impl core::error::Error for LoadError {}

const DEFAULT_TIMEOUT_MS: f64 = 60_000.0;

/// The models that are built in: name and text.
const BUILT_IN: [(&str, &str); 3] = [
    ("card2015", include_str!("../models/card2015.txt")),
    ("chipset2019", include_str!("../models/chipset2019.txt")),
    ("poweren", include_str!("../models/poweren.txt")),
];

impl Spec {
    /// The names of the models that are built in.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The text of a built-in model.
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// A built-in model.
    pub fn built_in(name: &str) -> Option<Spec> {
        Spec::built_in_text(name).map(|text| Spec::parse(text).expect("a test parses it"))
    }

    /// The built-in model of this name, or else that of the file.
    ///
    /// # Errors
    /// There is neither, or the file is wrong.
    pub fn load(name: &str) -> Result<Spec, LoadError> {
        if let Some(spec) = Spec::built_in(name) {
            return Ok(spec);
        }
        let text = fs::read_to_string(name)
            .map_err(|source| LoadError::Read { name: name.to_owned(), source })?;
        Spec::parse(&text).map_err(|source| LoadError::Text { name: name.to_owned(), source })
    }

    /// Reads the text of a model.
    ///
    /// # Errors
    /// The first line that is wrong; for what is missing, the line of the section that lacks it.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        let mut parser = Parser::default();
        let mut last = 1;
        for (line, content) in (1..).zip(text.lines()) {
            last = line;
            let content = content.split('#').next().unwrap_or_default().trim();
            if !content.is_empty() {
                parser.line(line, content)?;
            }
        }
        parser.finish(last)
    }

    /// The section that has the operation.
    pub fn section(&self, op: Op) -> Option<&Section> {
        self.place(op).map(|i| &self.sections[i])
    }

    /// The section that has the operation, by its place.
    pub(crate) fn place(&self, op: Op) -> Option<usize> {
        self.sections.iter().position(|section| section.ops.contains(&op))
    }
}

#[derive(Default)]
struct Parser {
    name: Option<String>,
    queue: Option<usize>,
    timeout_ms: Option<f64>,
    reach: Option<Reach>,
    open: Option<Open>,
    sections: Vec<Section>,
}

/// The section that is being read.
struct Open {
    line: usize,
    ops: Vec<Op>,
    engines: Option<usize>,
    latency_us: Option<f64>,
    gbit_per_s: Option<f64>,
    ops_per_s: Option<f64>,
    printed: Vec<Printed>,
    figures: Vec<Figure>,
}

impl Parser {
    fn line(&mut self, line: usize, content: &str) -> Result<(), SpecError> {
        if content.starts_with('[') {
            self.close()?;
        }
        self.entry(line, content).map_err(|what| SpecError { line, what })
    }

    /// A key with its value, or the first line of a section.
    fn entry(&mut self, line: usize, content: &str) -> Result<(), String> {
        if let Some(rest) = content.strip_prefix('[') {
            return self.begin(line, rest.strip_suffix(']').ok_or("a section ends with ]")?);
        }
        let (key, value) =
            content.split_once('=').ok_or("`key = value` or `[operation]` is wanted")?;
        let (key, value) = (key.trim(), value.trim());
        match &mut self.open {
            Some(open) => open.set(key, value),
            None => self.set(key, value),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "name" => {
                let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if value.is_empty() || !value.chars().all(good) {
                    return Err("a name has letters, digits, and - _ . between them".into());
                }
                once(&mut self.name, key, value.to_owned())
            }
            "queue" => once(&mut self.queue, key, whole(key, value, 1..=1 << 20)?),
            "timeout_ms" => once(&mut self.timeout_ms, key, number(key, value, 1e-3..=1e9)?),
            "memory" => {
                let reach = match value {
                    "process" => Reach::Process,
                    "regions" => Reach::Regions,
                    _ => return Err("memory is process or regions".into()),
                };
                once(&mut self.reach, key, reach)
            }
            _ => {
                Err(format!("unknown key {key}: name, queue, timeout_ms and memory are known here"))
            }
        }
    }

    fn begin(&mut self, line: usize, names: &str) -> Result<(), String> {
        let mut ops = Vec::new();
        for name in names.split_whitespace() {
            let named = |op: &Op| op.to_string() == name || op.service().name() == name;
            let before = ops.len();
            ops.extend(Op::ALL.into_iter().filter(named));
            if ops.len() == before {
                return Err(format!("unknown operation or service {name}"));
            }
        }
        let taken = |op: &&Op| self.sections.iter().any(|section| section.ops.contains(op));
        let twice = |i: usize| ops[..i].contains(&ops[i]);
        let again = ops.iter().find(taken).or((0..ops.len()).find(|&i| twice(i)).map(|i| &ops[i]));
        if let Some(op) = again {
            return Err(format!("{op} has a section already"));
        }
        if ops.is_empty() {
            return Err("a section names an operation".into());
        }
        self.open = Some(Open {
            line,
            ops,
            engines: None,
            latency_us: None,
            gbit_per_s: None,
            ops_per_s: None,
            printed: Vec::new(),
            figures: Vec::new(),
        });
        Ok(())
    }

    /// Ends the section that is being read.
    fn close(&mut self) -> Result<(), SpecError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let missing = |what: &str| SpecError { line: open.line, what: what.into() };
        if open.gbit_per_s.is_none() && open.ops_per_s.is_none() {
            return Err(missing("this section lacks gbit_per_s or ops_per_s"));
        }
        let all = open.figures.iter().flat_map(|figure| &figure.printed).chain(&open.printed);
        if open.gbit_per_s.is_none() && all.clone().any(|printed| printed.as_seconds) {
            return Err(missing("this section prints seconds for bytes and lacks gbit_per_s"));
        }
        self.sections.push(Section {
            engines: open.engines.ok_or_else(|| missing("this section lacks engines"))?,
            latency_ns: (open.latency_us.unwrap_or(0.0) * 1e3).round() as u64,
            ops: open.ops,
            gbit_per_s: open.gbit_per_s,
            ops_per_s: open.ops_per_s,
            printed: open.printed,
            figures: open.figures,
        });
        Ok(())
    }

    fn finish(mut self, last: usize) -> Result<Spec, SpecError> {
        self.close()?;
        let missing = |what: &str| SpecError { line: last, what: what.into() };
        if self.sections.is_empty() {
            return Err(missing("the model has no section"));
        }
        Ok(Spec {
            name: self.name.ok_or_else(|| missing("the model lacks name"))?,
            queue: self.queue.ok_or_else(|| missing("the model lacks queue"))?,
            timeout_ns: (self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS) * 1e6).round() as u64,
            reach: self.reach.unwrap_or_default(),
            sections: self.sections,
        })
    }
}

impl Open {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "engines" => once(&mut self.engines, key, whole(key, value, 1..=4096)?),
            "latency_us" => once(&mut self.latency_us, key, number(key, value, 0.0..=1e9)?),
            "gbit_per_s" => once(&mut self.gbit_per_s, key, number(key, value, 1e-6..=1e6)?),
            "ops_per_s" => once(&mut self.ops_per_s, key, number(key, value, 1e-3..=1e9)?),
            "printed" => {
                let printed = printed(value)?;
                match self.figures.last_mut() {
                    Some(figure) => figure.printed.push(printed),
                    None => self.printed.push(printed),
                }
                Ok(())
            }
            "figure" => {
                self.figures.push(figure(value)?);
                Ok(())
            }
            _ => Err(format!(
                "unknown key {key}: engines, latency_us, gbit_per_s, ops_per_s, printed and figure are known here"
            )),
        }
    }
}

/// `NUMBER outstanding|size TITLE`.
fn figure(value: &str) -> Result<Figure, String> {
    let mut words = value.split_whitespace();
    let (Some(number), Some(axis)) = (words.next(), words.next()) else {
        return Err("a figure has a number, outstanding or size, and a title".into());
    };
    let axis = match axis {
        "outstanding" => Axis::Outstanding,
        "size" => Axis::Size,
        _ => return Err(format!("the x-axis has outstanding or size, not {axis}")),
    };
    let title = words.collect::<Vec<_>>().join(" ");
    Ok(Figure { title: format!("figure {number}: {title}"), axis, printed: Vec::new() })
}

/// `SIZE OUTSTANDING VALUE`.
fn printed(value: &str) -> Result<Printed, String> {
    let [size, outstanding, figure] = value.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err("printed has a size, the requests outstanding or *, and a value".into());
    };
    let outstanding = match outstanding {
        "*" => None,
        n => Some(whole("the number outstanding", n, 1..=1 << 20)?),
    };
    let size = whole("the size", size, 1..=1 << 30)?;
    let seconds = figure.strip_suffix('s');
    let value = number("the value", seconds.unwrap_or(figure), 1e-9..=1e12)?;
    let as_seconds = seconds.is_some();
    let value = if as_seconds { Printed::seconds(value) } else { value };
    Ok(Printed { size, outstanding, value, as_seconds })
}

fn once<T>(place: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} is here twice")),
    }
}

fn whole(key: &str, value: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    value.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
        format!("{key} is a whole number from {} to {}, not {value}", range.start(), range.end())
    })
}

fn number(key: &str, value: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    value.parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
        format!("{key} is a number from {} to {}, not {value}", range.start(), range.end())
    })
}
