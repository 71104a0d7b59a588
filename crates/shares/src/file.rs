//! The text of virtual functions: small and strict.
//!
//! ```text
//! # One section for each function. All keys but `services` may be left out.
//! [web]
//! services = pke sym
//! weight = 4
//! committed = 5000 RSA/s, 2 Gbit/s AES-SHA256
//! peak = 8000 RSA/s
//! depth = 256
//! memory = 64 MiB
//! mode = 0660
//! user = www-data
//! group = www-data
//! ```

use core::fmt;

use lookaside::Service;

use crate::measure::{Measure, Rate};

/// A virtual function: a part of the device that a process, container or pod is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vf {
    /// Its name, unique in a file: letters, digits, `-`, `_` and `.`, which does not come first. At most 64
    /// bytes.
    pub name: String,
    /// The services that it may use.
    pub services: Vec<Service>,
    /// Its share of what nobody is promised, 1 to 1,000.
    pub weight: u32,
    /// What it gets before all others; at most one rate for each measure.
    pub committed: Vec<Rate>,
    /// What it never gets more than; none for a measure that is not here.
    pub peak: Vec<Rate>,
    /// How many requests it may have outstanding, 1 to 65,536.
    pub depth: usize,
    /// How much memory of the device's side it may occupy, in bytes: 64 KiB to 1 TiB.
    pub memory: u64,
    /// Permissions of its place in the file system, as `chmod` has them.
    pub mode: u32,
    /// Its owner there, by name or number.
    pub user: Option<String>,
    /// Its group there, by name or number.
    pub group: Option<String>,
}

impl Vf {
    /// A function of this name, for these services, without promises.
    pub fn new(name: impl Into<String>, services: impl IntoIterator<Item = Service>) -> Vf {
        Vf {
            name: name.into(),
            services: services.into_iter().collect(),
            weight: 1,
            committed: Vec::new(),
            peak: Vec::new(),
            depth: 64,
            memory: 16 << 20,
            mode: 0o600,
            user: None,
            group: None,
        }
    }

    /// What is committed to it in this measure, a second.
    pub fn committed(&self, measure: Measure) -> Option<u64> {
        of(&self.committed, measure)
    }

    /// Its limit in this measure.
    pub fn peak(&self, measure: Measure) -> Option<u64> {
        of(&self.peak, measure)
    }

    /// What it is promised or held to in any way: the measures.
    pub fn measures(&self) -> impl Iterator<Item = Measure> {
        let has = |m: &Measure| self.committed(*m).is_some() || self.peak(*m).is_some();
        Measure::ALL.into_iter().filter(has)
    }

    /// What is wrong with it, if anything: for one that was not parsed.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        check_name(&self.name).map_err(|e| ("name", e))?;
        if self.services.is_empty() {
            return Err(("services", "a function without services is of no use".into()));
        }
        let twice = |(i, s): (usize, &Service)| self.services[..i].contains(s);
        if let Some((_, s)) = self.services.iter().enumerate().find(|&(i, s)| twice((i, s))) {
            return Err(("services", format!("{} occurs twice", s.name())));
        }
        within("weight", u64::from(self.weight), 1, 1000)?;
        within("depth", self.depth as u64, 1, 65_536)?;
        within("memory", self.memory, 64 << 10, 1 << 40)?;
        within("mode", u64::from(self.mode), 0, 0o777)?;
        for (key, name) in [("user", &self.user), ("group", &self.group)] {
            if let Some(name) = name {
                check_name(name).map_err(|e| (key, e))?;
            }
        }
        for (key, rates) in [("committed", &self.committed), ("peak", &self.peak)] {
            for (i, rate) in rates.iter().enumerate() {
                let name = rate.measure.name();
                if rates[..i].iter().any(|r| r.measure == rate.measure) {
                    return Err((key, format!("{name} occurs twice")));
                }
                if rate.per_s == 0 {
                    return Err((key, format!("{rate} is no rate")));
                }
                if !self.services.contains(&rate.measure.service()) {
                    let service = rate.measure.service().name();
                    return Err((key, format!("{rate} needs the service {service}")));
                }
            }
        }
        for peak in &self.peak {
            let committed = self.committed(peak.measure).unwrap_or(0);
            if committed > peak.per_s {
                let committed = Rate { per_s: committed, ..*peak };
                return Err((
                    "peak",
                    format!("{peak} is less than {committed}, which is committed"),
                ));
            }
        }
        Ok(())
    }
}

fn of(rates: &[Rate], measure: Measure) -> Option<u64> {
    rates.iter().find(|rate| rate.measure == measure).map(|rate| rate.per_s)
}

fn within(key: &'static str, n: u64, least: u64, most: u64) -> Result<(), (&'static str, String)> {
    match (least..=most).contains(&n) {
        true => Ok(()),
        false => Err((key, format!("{n} is not within {least} to {most}"))),
    }
}

/// Names become names of files.
fn check_name(name: &str) -> Result<(), String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    match name.bytes().all(good) && !name.starts_with('.') && (1..=64).contains(&name.len()) {
        true => Ok(()),
        false => Err(format!("{name:?} is no name: 1 to 64 of a-z, A-Z, 0-9, -, _ and .")),
    }
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ParseError {}

/// The largest text, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// The most functions.
const MOST_FUNCTIONS: usize = 4096;

/// The keys, in the order in which they are printed.
const KEYS: [&str; 9] =
    ["services", "weight", "committed", "peak", "depth", "memory", "mode", "user", "group"];

/// A function that is being read, and the lines of its keys.
struct Draft {
    vf: Vf,
    line: usize,
    lines: [usize; KEYS.len()],
}

impl Draft {
    fn finish(self) -> Result<Vf, ParseError> {
        let Draft { vf, line, lines } = self;
        let services = lines[0];
        let checked = match services {
            0 => Err(("services", "the key services is missing".to_owned())),
            _ => vf.check(),
        };
        checked.map_err(|(key, what)| {
            let at = KEYS.iter().position(|k| *k == key).map_or(0, |i| lines[i]);
            ParseError { line: if at > 0 { at } else { line }, what }
        })?;
        Ok(vf)
    }
}

/// The virtual functions of a text.
///
/// # Errors
/// What is wrong, and in which line: also keys that nobody knows.
pub fn parse(text: &str) -> Result<Vec<Vf>, ParseError> {
    let error = |line, what: &str| ParseError { line, what: what.to_owned() };
    if text.len() > MOST_BYTES {
        return Err(error(1, "more than 1 MiB"));
    }
    let mut functions: Vec<Vf> = Vec::new();
    let mut names = std::collections::HashSet::new();
    let mut draft: Option<Draft> = None;
    for (i, line) in text.lines().enumerate() {
        let (at, line) = (i + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| error(at, "a ] is missing"))?;
            check_name(name).map_err(|what| ParseError { line: at, what })?;
            functions.extend(draft.take().map(Draft::finish).transpose()?);
            if !names.insert(name.to_owned()) {
                return Err(error(at, &format!("{name} occurs twice")));
            }
            if functions.len() == MOST_FUNCTIONS {
                return Err(error(at, "more than 4096 virtual functions"));
            }
            draft = Some(Draft { vf: Vf::new(name, []), line: at, lines: [0; KEYS.len()] });
            continue;
        }
        let (key, value) =
            line.split_once('=').ok_or_else(|| error(at, "neither [name] nor key = value"))?;
        let (key, value) = (key.trim(), value.trim());
        let Some(draft) = &mut draft else {
            return Err(error(at, "a key before the first [name]"));
        };
        let Some(k) = KEYS.iter().position(|k| *k == key) else {
            let what = format!("{key:?} is no key; there are {}", KEYS.join(", "));
            return Err(ParseError { line: at, what });
        };
        if core::mem::replace(&mut draft.lines[k], at) > 0 {
            return Err(error(at, &format!("{key} occurs twice")));
        }
        set(&mut draft.vf, key, value).map_err(|what| ParseError { line: at, what })?;
    }
    functions.extend(draft.map(Draft::finish).transpose()?);
    Ok(functions)
}

fn set(vf: &mut Vf, key: &str, value: &str) -> Result<(), String> {
    let whole = || match value.bytes().all(|b| b.is_ascii_digit()) {
        true => value.parse::<u32>().map_err(|_| format!("{value:?} is no number for {key}")),
        false => Err(format!("{value:?} is no number for {key}")),
    };
    match key {
        "services" => {
            let service = |name| {
                let found = SERVICES.into_iter().find(|s| s.name() == name);
                let names = SERVICES.map(Service::name).join(", ");
                found.ok_or_else(|| format!("{name:?} is no service; there are {names}"))
            };
            vf.services = value.split_whitespace().map(service).collect::<Result<_, _>>()?;
        }
        "weight" => vf.weight = whole()?,
        "depth" => vf.depth = whole()? as usize,
        "committed" => vf.committed = rates(value)?,
        "peak" => vf.peak = rates(value)?,
        "memory" => vf.memory = bytes(value)?,
        "mode" => {
            let octal = value.len() <= 4 && value.bytes().all(|b| (b'0'..=b'7').contains(&b));
            vf.mode = u32::from_str_radix(value, 8)
                .ok()
                .filter(|_| octal)
                .ok_or_else(|| format!("{value:?} is no mode such as 0660"))?;
        }
        "user" => vf.user = Some(value.to_owned()),
        _ => vf.group = Some(value.to_owned()),
    }
    Ok(())
}

const SERVICES: [Service; 8] = [
    Service::Dc,
    Service::Sym,
    Service::Pke,
    Service::Kdf,
    Service::Scan,
    Service::Xml,
    Service::Mv,
    Service::Rng,
];

fn rates(value: &str) -> Result<Vec<Rate>, String> {
    let rate = |text: &str| Rate::parse(text).map_err(|why| format!("{:?}: {why}", text.trim()));
    value.split(',').map(rate).collect()
}

const MEMORY: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

fn bytes(value: &str) -> Result<u64, String> {
    let wrong = || format!("{value:?} is no size such as 64 MiB");
    let (number, unit) = value.split_once(char::is_whitespace).ok_or_else(wrong)?;
    let (_, factor) = MEMORY.into_iter().find(|(u, _)| *u == unit.trim()).ok_or_else(wrong)?;
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(wrong)
}

/// The text of these virtual functions: [`parse`] reads it. Sizes of memory are written in whole KiB,
/// rounded up.
pub fn print(functions: &[Vf]) -> String {
    use fmt::Write;
    let mut text = String::new();
    let joined = |rates: &[Rate]| rates.iter().map(Rate::to_string).collect::<Vec<_>>().join(", ");
    for vf in functions {
        if !text.is_empty() {
            text.push('\n');
        }
        let services: Vec<_> = vf.services.iter().map(|s| s.name()).collect();
        _ = writeln!(text, "[{}]\nservices = {}", vf.name, services.join(" "));
        _ = writeln!(text, "weight = {}", vf.weight);
        if !vf.committed.is_empty() {
            _ = writeln!(text, "committed = {}", joined(&vf.committed));
        }
        if !vf.peak.is_empty() {
            _ = writeln!(text, "peak = {}", joined(&vf.peak));
        }
        _ = writeln!(text, "depth = {}", vf.depth);
        let memory = vf.memory.div_ceil(1024);
        let exact = MEMORY.into_iter().find(|(_, f)| (memory << 10).is_multiple_of(*f));
        let (unit, factor) = exact.unwrap_or(("KiB", 1 << 10));
        _ = writeln!(text, "memory = {} {unit}", (memory << 10) / factor);
        _ = writeln!(text, "mode = {:04o}", vf.mode);
        for (key, name) in [("user", &vf.user), ("group", &vf.group)] {
            if let Some(name) = name {
                _ = writeln!(text, "{key} = {name}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_function() {
        let text = "# comment\r\n\n [not.this] \n";
        assert_eq!(parse(text).unwrap_err().line, 3, "it has no services");
        let text = "[a]\n services=pke   sym\ncommitted = 5000 RSA/s,2 Gbit/s AES-SHA256\n\
                    peak = 5000 RSA/s\nweight = 4\ndepth = 65536\nmemory = 1 TiB\nmode = 0660\n\
                    user = www-data\ngroup = 33\n[b]\nservices = xml\n";
        let functions = parse(text).unwrap();
        assert_eq!(functions.len(), 2);
        let a = &functions[0];
        assert_eq!((a.weight, a.depth, a.memory, a.mode), (4, 65_536, 1 << 40, 0o660));
        assert_eq!(a.committed(Measure::Chained), Some(2_000_000_000));
        assert_eq!((a.peak(Measure::Rsa), a.peak(Measure::Chained)), (Some(5000), None));
        assert_eq!((a.user.as_deref(), a.group.as_deref()), (Some("www-data"), Some("33")));
        assert_eq!(a.measures().collect::<Vec<_>>(), [Measure::Rsa, Measure::Chained]);
        assert_eq!(functions[1], Vf::new("b", [Service::Xml]));
        assert_eq!(parse(&print(&functions)).unwrap(), functions);
    }

    #[test]
    fn errors_say_where() {
        let line = |text: &str| parse(text).map_err(|e| e.line);
        let vf = "[a]\nservices = pke dc\n";
        for (more, at) in [
            ("wieght = 3\n", 3),
            ("weight = 3\nweight = 3\n", 4),
            ("weight = 0\n", 3),
            ("\nweight = 1001\n", 4),
            ("weight = +3\n", 3),
            ("depth = 0\n", 3),
            ("memory = 64 MB\n", 3),
            ("memory = 1 KiB\n", 3),
            ("memory = 99999999999999 TiB\n", 3),
            ("mode = 0o660\n", 3),
            ("mode = 1777\n", 3),
            ("user = a b\n", 3),
            ("user =\n", 3),
            ("group = ../x\n", 3),
            ("committed = 5 RSA/s, 6 RSA/s\n", 3),
            ("committed = 0 RSA/s\n", 3),
            ("committed = 1 Gbit/s XML\n", 3),
            ("committed =\n", 3),
            ("committed = 5 RSA/s,\n", 3),
            ("peak = 4 RSA/s\ncommitted = 5 RSA/s\n", 3),
            ("services = dc\n", 3),
            ("hello\n", 3),
            ("[b\n", 3),
            ("[b]\n", 3),
            ("[b]\nservices =\n", 4),
            ("[b]\nservices = dc dc\n", 4),
            ("[b]\nservices = gzip\n", 4),
            ("[a]\nservices = dc\n", 3),
            ("[.b]\nservices = dc\n", 3),
            ("[b/c]\nservices = dc\n", 3),
            ("[]\nservices = dc\n", 3),
        ] {
            assert_eq!(line(&format!("{vf}{more}")), Err(at), "{more:?}");
        }
        assert_eq!(line("weight = 1\n"), Err(1));
        assert_eq!(line(&"#".repeat(MOST_BYTES + 1)), Err(1));
        assert_eq!(line("\0"), Err(1));
        let many: String = (0..4097).map(|i| format!("[f{i}]\nservices = dc\n")).collect();
        assert_eq!(line(&many), Err(2 * 4096 + 1));
        let said = parse("[a]\nspeed = 1\n").unwrap_err().to_string();
        assert!(said.starts_with("line 2: \"speed\" is no key; there are services, "), "{said}");
    }
}
