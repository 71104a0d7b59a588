//! Rates over time beside promises, as SVG: a panel for each function.

use std::fmt::Write;

/// A function's rate.
pub struct Series {
    pub name: String,
    /// In percent of an engine.
    pub committed: f64,
    pub peak: Option<f64>,
    /// When its client is here, in seconds.
    pub here: Vec<(f64, f64)>,
    pub points: Vec<(f64, f64)>,
}

pub struct Chart {
    /// Seconds.
    pub end: f64,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 26.0;
const RATE: &str = "#0072b2";
const COMMITTED: &str = "#d55e00";
const PEAK: &str = "#009e73";

impl Chart {
    pub fn svg(&self) -> String {
        let height = HEIGHT * self.series.len() as f64 + 24.0;
        let highest =
            self.series.iter().flat_map(|one| &one.points).map(|p| p.1).fold(0.0, f64::max);
        let top = (highest / 25.0).ceil().max(1.0) * 25.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (i, one) in self.series.iter().enumerate() {
            _ = writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * i as f64);
            self.panel(&mut out, one, top);
            out += "</g>\n";
        }
        let legend = format!(
            "<tspan fill=\"{RATE}\">&#9472;&#9472;</tspan> device time, percent of an engine   \
             <tspan fill=\"{COMMITTED}\">- -</tspan> committed while its client is here   \
             <tspan fill=\"{PEAK}\">- -</tspan> peak   seconds to the right"
        );
        text(&mut out, LEFT, height - 8.0, "start", &legend);
        out + "</svg>\n"
    }

    fn panel(&self, out: &mut String, one: &Series, top: f64) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let x = |s: f64| LEFT + s / self.end * (right - LEFT);
        let y = |percent: f64| bottom - percent / top * (bottom - TOP);
        for (from, to) in &one.here {
            _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#f2f2f2\"/>",
                x(*from),
                x(*to) - x(*from),
                bottom - TOP
            );
        }
        text(out, LEFT, TOP - 9.0, "start", &one.name);
        let mut line = |from: (f64, f64), to: (f64, f64), style: &str| {
            let ((x1, y1), (x2, y2)) = (from, to);
            _ = writeln!(
                out,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"
            );
        };
        line((LEFT, bottom), (right, bottom), "stroke=\"black\"");
        line((LEFT, TOP), (LEFT, bottom), "stroke=\"black\"");
        for (from, to) in &one.here {
            let levels = [(Some(one.committed), COMMITTED), (one.peak, PEAK)];
            for (level, colour) in levels.into_iter().filter_map(|(l, c)| Some((l?, c))) {
                let style =
                    format!("stroke=\"{colour}\" stroke-dasharray=\"5 4\" stroke-width=\"1.5\"");
                line((x(*from), y(level)), (x(*to), y(level)), &style);
            }
        }
        for percent in [0.0, top / 2.0, top] {
            text(out, LEFT - 6.0, y(percent) + 4.0, "end", &percent.to_string());
        }
        for s in (0..=self.end as u64).step_by(4) {
            text(out, x(s as f64), bottom + 15.0, "middle", &s.to_string());
        }
        let points: Vec<String> = one
            .points
            .iter()
            .map(|&(s, percent)| format!("{:.1},{:.1}", x(s), y(percent)))
            .collect();
        _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{RATE}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
    }
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>");
}
