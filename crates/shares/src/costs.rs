//! What requests take: measured once for a machine, and kept as a small text.
//!
//! ```text
//! lookaside costs 1
//! cpu AMD EPYC
//! tier avx512
//! dc.compress DEFLATE-1 65536 171000.0
//! ```

use core::fmt::{self, Write};

use lookaside::Op;

use crate::{admission::Capacity, measure::Measure};

/// The version of the text.
const VERSION: &str = "lookaside costs 1";

/// The largest text, and the most rows.
const MOST_BYTES: usize = 1 << 20;
const MOST_ROWS: usize = 10_000;

/// What one request takes of one engine that has many of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The algorithm and its parameters, without spaces: `DEFLATE-1`.
    pub algorithm: String,
    /// The bytes that a request works on.
    pub size: u64,
    /// Its device time in nanoseconds.
    pub ns: f64,
}

/// What requests take on one machine: by operation, algorithm and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The CPU's model, as the system names it.
    pub cpu: String,
    /// The tier of the kernels.
    pub tier: String,
    rows: Vec<Row>,
}

/// What is wrong with a text of costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostsError {
    /// Another version's, or no text of costs at all.
    Version,
    /// This line, from 1.
    Line(usize),
}

impl fmt::Display for CostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CostsError::Version => {
                write!(f, "not the costs of this version: they begin '{VERSION}'")
            }
            CostsError::Line(line) => write!(f, "line {line}: not a cost"),
        }
    }
}

impl std::error::Error for CostsError {}

impl Measure {
    /// The reference request whose rate it is: operation, algorithm, size. A [`Costs`] with that row
    /// has a capacity in this measure.
    pub fn reference(self) -> (Op, &'static str, u64) {
        match self {
            Measure::Rsa => (Op::RsaPrivate, "RSA-2048-CRT", 256),
            Measure::Chained => (Op::Seal, "AES-128-CBC-HMAC-SHA256", self.request_bytes()),
            Measure::Deflate => (Op::Compress, "DEFLATE-1", self.request_bytes()),
            Measure::Scan => (Op::Scan, "patterns", self.request_bytes()),
            Measure::Xml => (Op::Parse, "events", self.request_bytes()),
        }
    }
}

impl Costs {
    /// The costs of a machine, without any.
    pub fn new(cpu: impl Into<String>, tier: impl Into<String>) -> Costs {
        let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Costs { cpu: line(cpu.into()), tier: line(tier.into()), rows: Vec::new() }
    }

    /// Whether they were measured on such a machine.
    pub fn is_of(&self, cpu: &str, tier: &str) -> bool {
        let fresh = Costs::new(cpu, tier);
        self.cpu == fresh.cpu && self.tier == fresh.tier
    }

    /// Notes what a request takes, in place of what was known of it. A time that is none, and an algorithm
    /// that is no word, are not noted.
    pub fn set(&mut self, row: Row) {
        let is_word = row.algorithm.split_whitespace().count() == 1
            && !row.algorithm.contains(char::is_whitespace);
        let is_time = row.ns.is_finite() && row.ns > 0.0;
        if !is_word || !is_time || row.size == 0 {
            return;
        }
        let same = |r: &Row| (r.op, &r.algorithm, r.size) == (row.op, &row.algorithm, row.size);
        match self.rows.iter().position(same) {
            Some(at) => self.rows[at] = row,
            None if self.rows.len() < MOST_ROWS => self.rows.push(row),
            None => {}
        }
    }

    /// All of them.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What a request takes: between two measured sizes in proportion, beyond them as from the last two, and
    /// never less than the smallest that was measured. `None`: nothing of the kind was measured.
    pub fn ns(&self, op: Op, algorithm: &str, size: u64) -> Option<f64> {
        let mut known: Vec<(f64, f64)> = self
            .rows
            .iter()
            .filter(|r| r.op == op && r.algorithm == algorithm)
            .map(|r| (r.size as f64, r.ns))
            .collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (&(least, least_ns), &(most, most_ns)) = (known.first()?, known.last()?);
        let size = size as f64;
        if size <= least {
            return Some(least_ns);
        }
        if size > most {
            let slope = match known.len() {
                1 => most_ns / most,
                n => (most_ns - known[n - 2].1) / (most - known[n - 2].0),
            };
            return Some(most_ns + (size - most) * slope.max(0.0));
        }
        let above = known.iter().position(|&(s, _)| s >= size)?;
        let ((s0, n0), (s1, n1)) = (known[above - 1], known[above]);
        Some(n0 + (size - s0) / (s1 - s0) * (n1 - n0))
    }

    /// What so many engines can do by these costs.
    pub fn capacity(&self, engines: u32) -> Capacity {
        let fill = |capacity: Capacity, measure: Measure| {
            let (op, algorithm, size) = measure.reference();
            let units = if measure.is_operations() { 1.0 } else { 8.0 * size as f64 };
            match self.ns(op, algorithm, size) {
                Some(ns) => capacity.cost(measure, ns / units),
                None => capacity,
            }
        };
        Measure::ALL.into_iter().fold(Capacity::new(engines), fill)
    }

    /// The text, which [`Costs::parse`] reads.
    pub fn print(&self) -> String {
        let mut text = format!("{VERSION}\ncpu {}\ntier {}\n", self.cpu, self.tier);
        for Row { op, algorithm, size, ns } in &self.rows {
            _ = writeln!(text, "{op} {algorithm} {size} {ns:.1}");
        }
        text
    }

    /// The costs of a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Costs, CostsError> {
        let mut lines = text.lines().enumerate();
        if text.len() > MOST_BYTES || lines.next().is_none_or(|(_, line)| line != VERSION) {
            return Err(CostsError::Version);
        }
        let mut head = |key: &str, at| {
            let line = lines.next().and_then(|(_, line)| line.strip_prefix(key));
            line.map(str::to_owned).ok_or(CostsError::Line(at))
        };
        let mut costs = Costs::new(head("cpu ", 2)?, head("tier ", 3)?);
        for (i, line) in lines {
            let wrong = || CostsError::Line(i + 1);
            let words: Vec<&str> = line.split(' ').collect();
            let [op, algorithm, size, ns] = words[..] else { return Err(wrong()) };
            let op = Op::ALL.into_iter().find(|o| o.to_string() == op).ok_or_else(wrong)?;
            let size = size.parse().map_err(|_| wrong())?;
            let ns: f64 = ns.parse().map_err(|_| wrong())?;
            let before = costs.rows.len();
            costs.set(Row { op, algorithm: algorithm.to_owned(), size, ns });
            if costs.rows.len() == before {
                return Err(wrong());
            }
        }
        Ok(costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: u64, ns: f64) -> Row {
        Row { op: Op::Compress, algorithm: "DEFLATE-1".into(), size, ns }
    }

    #[test]
    fn sizes_between_and_beyond() {
        let mut costs = Costs::new("Some  CPU", "avx2");
        let ns = |costs: &Costs, size| costs.ns(Op::Compress, "DEFLATE-1", size);
        assert_eq!(ns(&costs, 1), None);
        costs.set(row(1000, 2000.0));
        assert_eq!([1, 1000, 3000].map(|s| ns(&costs, s)), [2000.0, 2000.0, 6000.0].map(Some));
        costs.set(row(65_000, 66_000.0));
        assert_eq!([33_000, 129_000].map(|s| ns(&costs, s)), [34_000.0, 130_000.0].map(Some));
        costs.set(row(1000, 4000.0));
        assert_eq!((ns(&costs, 0), costs.rows().len()), (Some(4000.0), 2));
        assert_eq!(costs.ns(Op::Compress, "DEFLATE-6", 1000), None);
        assert_eq!(costs.ns(Op::Decompress, "DEFLATE-1", 1000), None);
        for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            costs.set(row(7, wrong));
        }
        costs.set(Row { algorithm: "a b".into(), ..row(8, 1.0) });
        assert_eq!(costs.rows().len(), 2);
        assert!(costs.is_of("Some CPU", "avx2") && !costs.is_of("Some CPU", "avx512"));
    }

    #[test]
    fn there_and_back() {
        let mut costs = Costs::new("Some CPU\nof two lines", "generic");
        costs.set(row(65_536, 131_072.0));
        costs.set(Row { op: Op::RsaPrivate, algorithm: "RSA-2048-CRT".into(), size: 256, ns: 5e4 });
        let text = costs.print();
        assert_eq!(Costs::parse(&text), Ok(costs.clone()));
        let capacity = costs.capacity(3);
        let per_s = |m| capacity.total(m).map(|r| r.per_s);
        assert_eq!(per_s(Measure::Rsa), Some(60_000));
        // A bit takes a quarter of a nanosecond.
        assert_eq!(per_s(Measure::Deflate), Some(12_000_000_000));
        assert_eq!(per_s(Measure::Scan), None);
        let wrong = |text: &str| Costs::parse(text).unwrap_err();
        assert_eq!(wrong(""), CostsError::Version);
        assert_eq!(wrong(&text.replace("costs 1", "costs 2")), CostsError::Version);
        assert_eq!(wrong("lookaside costs 1\ntier x\n"), CostsError::Line(2));
        assert_eq!(wrong("lookaside costs 1\ncpu x\n"), CostsError::Line(3));
        for line in [
            "",
            "dc.compress DEFLATE-1 65536",
            "dc.compress DEFLATE-1 65536 1 1",
            "dc.x a 1 1",
            "dc.compress  65536 1",
            "dc.compress DEFLATE-1 -1 1",
            "dc.compress DEFLATE-1 0 1",
            "dc.compress DEFLATE-1 9 nan",
            "dc.compress DEFLATE-1 65536 3",
        ] {
            assert_eq!(wrong(&format!("{text}{line}\n")), CostsError::Line(6), "{line:?}");
        }
    }
}
