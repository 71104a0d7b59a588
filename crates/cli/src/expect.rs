//! What to expect on a CPU: the figures of README, by tier. docs/performance.md has machines, dates and commands.

use lookaside_simd::Tier;
use serde::Serialize;

/// Something measured beside what programs use otherwise.
pub(crate) struct Figure {
    /// Which of our libraries makes the difference.
    pub(crate) library: &'static str,
    /// What was measured.
    pub(crate) what: &'static str,
    avx512: &'static str,
    avx2: &'static str,
}

/// The figures: each is in docs/performance.md.
pub(crate) const FIGURES: [Figure; 6] = [
    Figure {
        library: "zlib",
        what: "Python's zlib, 64 KB: level 1; 6; decompress",
        avx512: "4.3; 2.75; 2.7 x",
        avx2: "2.9; 2.75; 2.1 x",
    },
    Figure {
        library: "pargzip",
        what: "pargzip -1, CPU time beside pigz -1",
        avx512: "2.3 to 3.1 x",
        avx2: "3.1 to 3.5 x",
    },
    Figure {
        library: "OpenSSL",
        what: "HAProxy, TLS 1.3 handshakes, RSA-2048, 32 side by side",
        avx512: "1.90 x",
        avx2: "0.98 x",
    },
    Figure {
        library: "OpenSSL",
        what: "HAProxy, TLS 1.3 download, AES-128-GCM",
        avx512: "1.27 to 1.43 x",
        avx2: "1.19 x",
    },
    Figure {
        library: "Hyperscan",
        what: "300; 1,000; 3,500 strings in blocks of 1,000 bytes",
        avx512: "2.0; 1.3; 2.4 x",
        avx2: "1.7; 1.2; 1.9 x",
    },
    Figure {
        library: "expat",
        what: "libexpat.so.1, 13 real documents",
        avx512: "3.6 x",
        avx2: "3.5 x",
    },
];

impl Figure {
    /// The ratio on a CPU of this tier; `None`: it was not measured.
    pub(crate) fn on(&self, tier: Tier) -> Option<&'static str> {
        match tier {
            Tier::Avx512 => Some(self.avx512),
            Tier::Avx2 | Tier::Avx512Bw => Some(self.avx2),
            Tier::Generic => None,
        }
    }
}

/// A figure for JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    library: &'static str,
    what: &'static str,
    ratio: &'static str,
}

/// What to expect at a tier of the libraries that `wanted` takes.
pub(crate) fn expected(tier: Tier, wanted: impl Fn(&str) -> bool) -> Vec<Expected> {
    let figures = FIGURES.iter().filter(|figure| wanted(figure.library));
    let of_tier =
        |f: &Figure| Some(Expected { library: f.library, what: f.what, ratio: f.on(tier)? });
    figures.filter_map(of_tier).collect()
}

impl Expected {
    /// Which library, what, how much.
    pub(crate) fn row(&self) -> [String; 2] {
        [self.what.to_owned(), self.ratio.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        std::fs::read_to_string(path).unwrap()
    }

    /// What a row begins with, and one of its cells.
    type Rows = &'static [(&'static str, &'static str)];

    /// The rows of docs/performance.md that a figure is taken from, for each tier, and what they have.
    const SOURCES: [(&str, [Rows; 2]); 6] = [
        (
            "zlib",
            [
                &[
                    ("| B: compress, level 1 |", "| 4.3 x |"),
                    ("| B: compress, level 6 |", "| 2.75 x |"),
                    ("| B: decompress |", "| 2.7 x |"),
                ],
                &[
                    ("| D, 2026-11-23 (not idle): compress, level 1 |", "| 2.9 x |"),
                    ("| D: compress, level 6 |", "| 2.75 x |"),
                    ("| D: decompress |", "| 2.1 x |"),
                ],
            ],
        ),
        (
            "pargzip",
            [
                &[
                    ("| Calgary: CPU time |", "| 3.1 x |"),
                    ("| Canterbury: CPU time |", "| 2.6 x |"),
                    ("| XML: CPU time |", "| 2.3 x |"),
                ],
                &[("With `LOOKASIDE_CPU=avx2` levels 1 to 3 are 3.1 to 3.5, ", "")],
            ],
        ),
        (
            "HAProxy, TLS 1.3 handshakes, RSA-2048, 32 side by side",
            [
                &[("| RSA-2048, TLS 1.3 |", "| 1.90 x |")],
                &[("| RSA-2048, TLS 1.3 |", "| 0.98 x |")],
            ],
        ),
        (
            "HAProxy, TLS 1.3 download, AES-128-GCM",
            [
                &[("| TLS 1.3, AES128-GCM | 1.43 x |", "| 1.27 x |")],
                &[("| TLS 1.3, AES128-GCM |", "| 1.19 x |")],
            ],
        ),
        (
            "Hyperscan",
            [
                &[
                    ("| simple300 | 41.4: 2.04 x |", ""),
                    ("| simple1000 | 35.6: 1.29 x |", ""),
                    ("| simple3500 | 19.4: 2.38 x |", ""),
                ],
                &[
                    ("| simple300 |", "| 35.3: 1.71 x |"),
                    ("| simple1000 |", "| 32.6: 1.16 x |"),
                    ("| simple3500 |", "| 23.3: 1.92 x |"),
                ],
            ],
        ),
        ("expat", [&[("| AVX-512 | 18.6 |", "| 3.6 x (")], &[("| AVX2 | 11.4 |", "| 3.5 x |")]]),
    ];

    #[test]
    fn every_figure_is_in_the_document() {
        let text = document("docs/performance.md");
        for (figure, (name, tiers)) in FIGURES.iter().zip(SOURCES) {
            assert!(figure.library == name || figure.what == name, "{name}");
            for (row, cell) in tiers.into_iter().flatten() {
                let found = text.lines().any(|line| line.starts_with(row) && line.contains(cell));
                assert!(found, "docs/performance.md has no {row} with {cell}");
            }
        }
    }

    /// README has the same figures in its table.
    #[test]
    fn readme_has_the_same() {
        let text = document("README.md");
        for figure in FIGURES.iter().filter(|figure| figure.library != "expat") {
            let numbers = |ratio: &str| {
                ratio.replace("; ", ", ").replace(" x", "").split(", ").map(str::to_owned).collect()
            };
            for wanted in [figure.avx512, figure.avx2] {
                let wanted: Vec<String> = numbers(wanted);
                assert!(wanted.iter().all(|number| text.contains(&**number)), "{wanted:?}");
            }
        }
    }
}
