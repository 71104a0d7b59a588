//! The units of promises: those in which orchestrators account for accelerators (paper 4 section 4.1.2),
//! and two of the same kind for pattern matching and XML.

use core::fmt;

use lookaside::Service;

/// What a promise counts. Each is the rate of one request, the reference; a request of another
/// algorithm or size counts as the device time that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// RSA-2048 private operations with the Chinese remainder theorem.
    Rsa,
    /// AES-128-CBC with HMAC-SHA256, of packets of 1 KB.
    Chained,
    /// DEFLATE level 1, stateless, dynamic Huffman codes, of 64 KB.
    Deflate,
    /// Pattern matching, of packets of 1 KB.
    Scan,
    /// XML documents to events.
    Xml,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 5] =
        [Measure::Rsa, Measure::Chained, Measure::Deflate, Measure::Scan, Measure::Xml];

    /// Its name in rates: `RSA`, `AES-SHA256`, `DEFLATE`, `SCAN`, `XML`.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Rsa => "RSA",
            Measure::Chained => "AES-SHA256",
            Measure::Deflate => "DEFLATE",
            Measure::Scan => "SCAN",
            Measure::Xml => "XML",
        }
    }

    /// The service whose requests it counts.
    pub fn service(self) -> Service {
        match self {
            Measure::Rsa => Service::Pke,
            Measure::Chained => Service::Sym,
            Measure::Deflate => Service::Dc,
            Measure::Scan => Service::Scan,
            Measure::Xml => Service::Xml,
        }
    }

    /// Whether it counts operations; otherwise bits.
    pub fn is_operations(self) -> bool {
        self == Measure::Rsa
    }

    /// The bytes of the reference request; 0 for operations.
    pub fn request_bytes(self) -> u64 {
        match self {
            Measure::Rsa => 0,
            Measure::Chained | Measure::Scan => 1024,
            Measure::Deflate => 65_536,
            Measure::Xml => 16_384,
        }
    }
}

/// An amount a second: operations or bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// What is counted.
    pub measure: Measure,
    /// How many operations, or bits, a second.
    pub per_s: u64,
}

/// The prefixes of bits, the largest first.
const BITS: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];

impl Rate {
    /// The rate in words such as `5000 RSA/s` and `2.5 Gbit/s DEFLATE`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Rate, &'static str> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let named = |name: &str| Measure::ALL.into_iter().find(|m| m.name() == name);
        const FORM: &str = "a rate is written as '5000 RSA/s' or '2 Gbit/s DEFLATE'";
        match words[..] {
            [number, unit] => {
                let measure = unit.strip_suffix("/s").and_then(named).ok_or(FORM)?;
                if !measure.is_operations() {
                    return Err(FORM);
                }
                Ok(Rate { measure, per_s: decimal(number, 1)? })
            }
            [number, unit, name] => {
                let measure = named(name).filter(|m| !m.is_operations()).ok_or(FORM)?;
                let (_, factor) = BITS.into_iter().find(|(u, _)| *u == unit).ok_or(FORM)?;
                Ok(Rate { measure, per_s: decimal(number, factor)? })
            }
            _ => Err(FORM),
        }
    }

    /// Rates with commas between them.
    ///
    /// # Errors
    /// What is wrong with one, and which.
    pub fn parse_list(text: &str) -> Result<Vec<Rate>, String> {
        let rate = |one: &str| Rate::parse(one).map_err(|why| format!("{:?}: {why}", one.trim()));
        text.split(',').map(rate).collect()
    }
}

/// A number with decimals, times a power of ten: exact.
fn decimal(text: &str, factor: u64) -> Result<u64, &'static str> {
    const WRONG: &str = "not a number of whole operations or bits";
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.len() <= 18 && s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || text.ends_with('.') {
        return Err(WRONG);
    }
    let number = |s: &str| if s.is_empty() { Ok(0) } else { s.parse::<u64>().map_err(|_| WRONG) };
    let scale = 10u64.pow(part.len() as u32);
    let part = u128::from(number(part)?) * u128::from(factor);
    if part % u128::from(scale) != 0 {
        return Err(WRONG);
    }
    let whole = u128::from(number(whole)?) * u128::from(factor);
    u64::try_from(whole + part / u128::from(scale)).map_err(|_| WRONG)
}

impl Rate {
    /// Three digits of it, rounded down: for people.
    pub fn short(&self) -> String {
        let name = self.measure.name();
        let (per, factor) = match self.measure.is_operations() {
            true => ("", 1),
            false => BITS.into_iter().find(|&(_, factor)| self.per_s >= factor).unwrap_or(BITS[3]),
        };
        let (whole, rest) = (self.per_s / factor, self.per_s % factor);
        let decimals = match whole {
            _ if factor == 1 => 0,
            0..=9 => 2,
            10..=99 => 1,
            _ => 0,
        };
        let part = u128::from(rest) * 10u128.pow(decimals) / u128::from(factor);
        let number = match decimals {
            0 => whole.to_string(),
            n => format!("{whole}.{part:0width$}", width = n as usize),
        };
        if self.measure.is_operations() {
            format!("{number} {name}/s")
        } else {
            format!("{number} {per} {name}")
        }
    }
}

impl fmt::Display for Rate {
    /// In the largest unit that needs no decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.measure.name();
        if self.measure.is_operations() {
            return write!(f, "{} {name}/s", self.per_s);
        }
        let exact = BITS.into_iter().find(|(_, factor)| self.per_s.is_multiple_of(*factor));
        let (unit, factor) = exact.unwrap_or(BITS[3]);
        write!(f, "{} {unit} {name}", self.per_s / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        let rate = |text: &str| Rate::parse(text).map(|r| (r.measure, r.per_s));
        assert_eq!(rate("5000 RSA/s"), Ok((Measure::Rsa, 5000)));
        assert_eq!(rate("2 Gbit/s DEFLATE"), Ok((Measure::Deflate, 2_000_000_000)));
        assert_eq!(rate(" 0.125  kbit/s AES-SHA256"), Ok((Measure::Chained, 125)));
        assert_eq!(rate("1.000000001 Gbit/s XML"), Ok((Measure::Xml, 1_000_000_001)));
        for wrong in [
            "",
            "5000",
            "5000 RSA",
            "5000 DEFLATE/s",
            "2 Gbit/s",
            "2 Gbit/s RSA",
            "2 Tbit/s XML",
            "-1 RSA/s",
            "1.5 RSA/s",
            "0.1 bit/s XML",
            "1e3 RSA/s",
            ". Gbit/s XML",
            "1. Gbit/s XML",
            "99999999999999999999 RSA/s",
            "999999999999999999 Gbit/s SCAN",
            "2 Gbit/s DEFLATE x",
            "2 gbit/s DEFLATE",
            "+1 RSA/s",
        ] {
            assert!(Rate::parse(wrong).is_err(), "{wrong:?}");
        }
        let shown = |measure, per_s| Rate { measure, per_s }.to_string();
        assert_eq!(shown(Measure::Rsa, 7), "7 RSA/s");
        assert_eq!(shown(Measure::Scan, 1_500_000_000), "1500 Mbit/s SCAN");
        assert_eq!(shown(Measure::Scan, 1_000_001), "1000001 bit/s SCAN");
        let short = |measure, per_s| Rate { measure, per_s }.short();
        assert_eq!(short(Measure::Rsa, 12_345), "12345 RSA/s");
        assert_eq!(short(Measure::Deflate, 1_664_705_880), "1.66 Gbit/s DEFLATE");
        assert_eq!(short(Measure::Deflate, 1_009_999_999), "1.00 Gbit/s DEFLATE");
        assert_eq!(short(Measure::Xml, 12_399_999_999), "12.3 Gbit/s XML");
        assert_eq!(short(Measure::Xml, 999), "999 bit/s XML");
        assert_eq!(short(Measure::Xml, 123_456_789), "123 Mbit/s XML");
    }
}
