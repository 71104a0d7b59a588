//! `lookaside model`: a modelled device on a virtual clock, beside what its source prints.

mod plot;
mod sweep;

use std::{error::Error, fmt::Write, fs, path::Path};

use lookaside::Op;
use lookaside_model::{Axis, Printed, Section, Spec};

use self::plot::{Curve, Panel};
use crate::table;

const SIZES: [usize; 3] = [1024, 8192, 65_536];
const OUTSTANDING: [usize; 6] = [1, 4, 9, 16, 24, 64];

/// For `*` in a model's text: more than its engines, and no more than its queue.
const SATURATING: usize = 256;

/// What stands on an axis where the source has a bandwidth, and where it has not.
const UNITS: [&str; 2] = ["Gbit/s", "operations/s"];

/// What of a section is run: the operation that stands for it, and the sizes of requests.
struct Run<'a> {
    spec: &'a Spec,
    section: &'a Section,
    op: Op,
}

impl Run<'_> {
    /// In the section's unit: Gbit/s where it has a bandwidth.
    fn figure(&self, size: usize, outstanding: usize) -> Result<f64, Box<dyn Error>> {
        let rate = sweep::rate(self.spec, self.op, size, outstanding)?;
        let bits = self.section.gbit_per_s.map(|_| size as f64 * 8.0 / 1e9);
        Ok(rate * bits.unwrap_or(1.0))
    }

    fn unit(&self) -> &'static str {
        UNITS[usize::from(self.section.gbit_per_s.is_none())]
    }

    /// Sizes for what has a bandwidth; `ops_per_s` alone knows none.
    fn sizes(&self) -> Vec<usize> {
        match self.section.gbit_per_s {
            Some(_) => SIZES.into(),
            None => vec![self.section.printed.first().map_or(256, |printed| printed.size)],
        }
    }

    fn names(&self) -> String {
        self.section.ops.iter().map(Op::to_string).collect::<Vec<_>>().join(" ")
    }

    /// Throughput by size and by requests outstanding.
    fn overview(&self) -> Result<String, Box<dyn Error>> {
        let mut rows = vec![vec!["bytes".to_owned()]];
        rows[0].extend(OUTSTANDING.map(|n| format!("{n} outst.")));
        for size in self.sizes() {
            let mut row = vec![size.to_string()];
            for outstanding in OUTSTANDING {
                row.push(digits(self.figure(size, outstanding)?));
            }
            rows.push(row);
        }
        Ok(table::columns(&rows))
    }

    /// Values that the source prints, beside the model's.
    fn beside(&self, title: &str, printed: &[Printed]) -> Result<String, Box<dyn Error>> {
        let head = ["bytes", "outstanding", "printed", "the model", "deviation"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for one in printed {
            let outstanding = one.outstanding.unwrap_or(SATURATING.min(self.spec.queue));
            let model = self.figure(one.size, outstanding)?;
            let (printed, model) = match one.as_seconds {
                true => (Printed::seconds(one.value), Printed::seconds(model)),
                false => (one.value, model),
            };
            let unit = if one.as_seconds { " s" } else { "" };
            rows.push(vec![
                one.size.to_string(),
                one.outstanding.map_or("many".to_owned(), |n| n.to_string()),
                format!("{}{unit}", digits(printed)),
                format!("{}{unit}", digits(model)),
                deviation(model, printed),
            ]);
        }
        Ok(format!("  {title}\n{}", table::columns(&rows)))
    }

    /// The drawing of a figure: over what its axis has.
    fn panel(&self, title: &str, axis: Axis, printed: &[Printed]) -> Result<Panel, Box<dyn Error>> {
        let in_seconds = printed.iter().any(|one| one.as_seconds);
        let shown = |value| if in_seconds { Printed::seconds(value) } else { value };
        let mut curves = Vec::new();
        match axis {
            Axis::Outstanding => {
                let mut sizes: Vec<usize> = printed.iter().map(|one| one.size).collect();
                sizes.dedup();
                if sizes.is_empty() {
                    sizes = self.sizes();
                }
                let most = printed.iter().filter_map(|one| one.outstanding).max();
                for size in sizes {
                    let points = (1..=most.unwrap_or(24)).map(|n| {
                        let value = self.figure(size, n)?;
                        Ok((n as f64, shown(value)))
                    });
                    let points = points.collect::<Result<_, Box<dyn Error>>>()?;
                    curves.push(Curve { name: format!("{size} bytes"), points });
                }
            }
            Axis::Size => {
                let mut outstanding =
                    [1, 4, 16, 64].map(|n: usize| n.min(self.spec.queue)).to_vec();
                outstanding.dedup();
                for outstanding in outstanding {
                    let points = (6..=16).map(|shift| {
                        let value = self.figure(1 << shift, outstanding)?;
                        Ok((f64::from(1 << shift), shown(value)))
                    });
                    let points = points.collect::<Result<_, Box<dyn Error>>>()?;
                    curves.push(Curve { name: format!("{outstanding} outstanding"), points });
                }
            }
        }
        let place = |one: &Printed| match axis {
            Axis::Outstanding => one.outstanding.map(|n| (n as f64, shown(one.value))),
            Axis::Size => Some((one.size as f64, shown(one.value))),
        };
        let many = printed.iter().find(|one| one.outstanding.is_none());
        Ok(Panel {
            title: title.to_owned(),
            x: match axis {
                Axis::Outstanding => "requests outstanding",
                Axis::Size => "bytes of a request",
            },
            y: if in_seconds { "seconds for 2^30 bytes" } else { self.unit() },
            by_doubling: axis == Axis::Size,
            curves,
            printed: printed.iter().filter_map(place).collect(),
            saturated: many.filter(|_| axis == Axis::Outstanding).map(|one| shown(one.value)),
        })
    }
}

/// In percent; what rounds to zero has no sign.
fn deviation(model: f64, printed: f64) -> String {
    match ((model / printed - 1.0) * 1000.0).round() / 10.0 {
        0.0 => "0.0 %".to_owned(),
        percent => format!("{percent:+.1} %"),
    }
}

/// Three digits that count, all of a number above.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The report on a built-in model or one of a file; `plot` receives its drawing.
pub fn run(name: &str, plot: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let spec = Spec::load(name)?;
    let mut out = format!("model  {}, a queue of {}\n", spec.name, spec.queue);
    let mut panels = Vec::new();
    for section in &spec.sections {
        let Some(op) = sweep::operation(section) else {
            let names = section.ops.iter().map(Op::to_string).collect::<Vec<_>>().join(" ");
            write!(out, "\n{names}: this command runs none of them\n")?;
            continue;
        };
        let run = Run { spec: &spec, section, op };
        write!(out, "\n{}, {}\n{}", run.names(), run.unit(), run.overview()?)?;
        let named = |title: &str| format!("{}, {}: {title}", spec.name, op);
        if !section.printed.is_empty() {
            out += &run.beside("beside the source's text", &section.printed)?;
        }
        if section.figures.is_empty() && plot.is_some() {
            panels.push(run.panel(
                &named("beside the source's text"),
                Axis::Outstanding,
                &section.printed,
            )?);
        }
        for figure in &section.figures {
            if figure.printed.is_empty() {
                writeln!(out, "  {}: its source prints no numbers to compare with", figure.title)?;
            } else {
                out += &run.beside(&figure.title, &figure.printed)?;
            }
            if plot.is_some() {
                panels.push(run.panel(&named(&figure.title), figure.axis, &figure.printed)?);
            }
        }
    }
    if let Some(path) = plot {
        fs::write(path, plot::svg(&panels)).map_err(|e| format!("{}: {e}", path.display()))?;
        writeln!(out, "\nplotted  {}", path.display())?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_stands_beside_the_model() {
        let report = run("card2015", None).unwrap();
        for line in [
            "figure 9: Hardware Offload from Multiple Threads Synchronously",
            "figure 10: Calling Hardware Asynchronously from a Single Thread",
            "  65536            1   6.40 s     6.30 s  -1.6 %",
            "  65536            1   6.30 s     6.30 s  0.0 %",
            "  65536           16   0.90 s     0.73 s  -18.4 %",
            "  65536           24   0.73 s     0.73 s  +0.6 %",
            "dc.decompress, Gbit/s",
            "pke.rsa-private, operations/s",
            "    256  many           41000      41000      0.0 %",
        ] {
            assert!(report.contains(line), "{line} in\n{report}");
        }
        let report = run("poweren", None).unwrap();
        assert!(report.contains("figure 11: Best-case throughputs with"), "{report}");
        assert!(report.contains("prints no numbers to compare with"), "{report}");
        let refused = run("no such model", None).unwrap_err().to_string();
        assert!(refused.contains("card2015, chipset2019"), "{refused}");
    }

    #[test]
    fn the_document_has_what_the_model_does() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let plot = std::env::temp_dir().join(format!("lookaside-model-{}.svg", std::process::id()));
        let report = run("card2015", Some(&plot)).unwrap();
        let document = fs::read_to_string(docs.join("models.md")).unwrap();
        let values = report.lines().filter(|line| line.contains(" s ") && line.ends_with('%'));
        for value in values {
            assert!(document.contains(value.trim()), "docs/models.md lacks: {value}");
        }
        let fresh = fs::read_to_string(&plot).unwrap();
        fs::remove_file(plot).unwrap();
        let drawn = fs::read_to_string(docs.join("model-card2015.svg")).unwrap();
        assert!(
            fresh == drawn,
            "draw again: lookaside model card2015 --plot docs/model-card2015.svg"
        );
    }

    #[test]
    fn every_built_in_model_is_run_whole() {
        for name in Spec::built_in_names() {
            let report = run(name, None).unwrap();
            assert!(!report.contains("runs none"), "{report}");
        }
    }
}
