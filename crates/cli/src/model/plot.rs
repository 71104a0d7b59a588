//! Panels of curves and points, one below the other, as SVG.

use std::fmt::Write;

/// One curve of the model.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// One coordinate system.
pub struct Panel {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    /// Whether equal steps along x are equal factors.
    pub by_doubling: bool,
    pub curves: Vec<Curve>,
    /// What the source prints.
    pub printed: Vec<(f64, f64)>,
    /// What the source prints for a saturated device.
    pub saturated: Option<f64>,
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 50.0;
/// Dark enough on white, and apart for those who do not see red and green.
const COLOURS: [&str; 4] = ["#0072b2", "#009e73", "#cc79a7", "#e69f00"];
const PRINTED: &str = "#d55e00";

/// The whole picture.
pub fn svg(panels: &[Panel]) -> String {
    let height = HEIGHT * panels.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (i, panel) in panels.iter().enumerate() {
        _ = writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * i as f64);
        panel.draw(&mut out);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

impl Panel {
    fn draw(&self, out: &mut String) {
        let all = || self.curves.iter().flat_map(|curve| &curve.points).chain(&self.printed);
        let scale = |x: f64| if self.by_doubling { x.log2() } else { x };
        let first = all().map(|p| scale(p.0)).fold(f64::INFINITY, f64::min);
        let last = all().map(|p| scale(p.0)).fold(f64::NEG_INFINITY, f64::max);
        let highest = all().map(|p| p.1).chain(self.saturated).fold(0.0, f64::max);
        let step = round_step(highest / 5.0);
        let top = (highest / step).ceil().max(1.0) * step;
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let at_x = |x: f64| LEFT + (scale(x) - first) / (last - first).max(1e-9) * (right - LEFT);
        let at_y = |y: f64| bottom - y / top * (bottom - TOP);

        text(
            out,
            LEFT,
            20.0,
            "start",
            &format!("<tspan font-weight=\"bold\">{}</tspan>", escaped(&self.title)),
        );
        let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, style: &str| {
            _ = writeln!(
                out,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"
            );
        };
        let ticks = (0..=(top / step).round() as usize).map(|i| i as f64 * step);
        for y in ticks.clone() {
            line(LEFT, at_y(y), right, at_y(y), "stroke=\"#ddd\"");
        }
        line(LEFT, bottom, right, bottom, "stroke=\"black\"");
        line(LEFT, TOP, LEFT, bottom, "stroke=\"black\"");
        if let Some(y) = self.saturated {
            let style = format!("stroke=\"{PRINTED}\" stroke-dasharray=\"5 4\"");
            line(LEFT, at_y(y), right, at_y(y), &style);
        }
        for y in ticks {
            text(out, LEFT - 6.0, at_y(y) + 4.0, "end", &number(y));
        }
        for x in self.x_ticks(first, last) {
            text(out, at_x(x), bottom + 16.0, "middle", &number(x));
        }
        text(out, (LEFT + right) / 2.0, bottom + 36.0, "middle", self.x);
        text(out, LEFT, TOP - 12.0, "middle", self.y);
        for (i, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let points: Vec<String> = curve
                .points
                .iter()
                .map(|&(x, y)| format!("{:.1},{:.1}", at_x(x), at_y(y)))
                .collect();
            _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
            let y = TOP + 10.0 + 18.0 * i as f64;
            let sample = format!("<tspan fill=\"{colour}\">&#9472;&#9472;</tspan> {}", curve.name);
            text(out, right + 12.0, y, "start", &sample);
        }
        for &(x, y) in &self.printed {
            _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\" fill=\"{PRINTED}\"/>",
                at_x(x),
                at_y(y)
            );
        }
        let y = TOP + 10.0 + 18.0 * self.curves.len() as f64;
        let key = match (self.printed.is_empty(), self.saturated) {
            (false, _) => format!("<tspan fill=\"{PRINTED}\">&#9679;</tspan> printed"),
            (true, Some(_)) => format!("<tspan fill=\"{PRINTED}\">- -</tspan> printed, for many"),
            (true, None) => "no numbers printed".to_owned(),
        };
        text(out, right + 12.0, y, "start", &key);
    }

    /// Places along x that have a number: powers of 4, or round numbers besides 1.
    fn x_ticks(&self, first: f64, last: f64) -> Vec<f64> {
        if self.by_doubling {
            return (first as i32..=last as i32).step_by(2).map(|n| f64::from(n).exp2()).collect();
        }
        let step = round_step((last - first) / 6.0).max(1.0);
        let round = (1..).map(|i| f64::from(i) * step).take_while(|x| *x <= last);
        std::iter::once(first).chain(round.filter(|x| *x > first)).collect()
    }
}

/// The next of 1, 2, 5, 10, 20, ...
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(10.0 * power)
}

fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    rounded.to_string()
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_on_their_curve() {
        let panel = |printed| Panel {
            title: "a < b".into(),
            x: "x",
            y: "y",
            by_doubling: false,
            curves: vec![Curve { name: "c".into(), points: vec![(1.0, 10.0), (3.0, 40.0)] }],
            printed,
            saturated: None,
        };
        let picture = svg(&[panel(vec![(1.0, 10.0)]), panel(vec![])]);
        let (first, second) = picture.split_once("translate(0 340)").unwrap();
        assert!(first.contains("a &lt; b") && second.contains("no numbers printed"));
        // 0 to 40 from 290 up to 50, 1 to 3 from 70 to 610.
        assert!(first.contains("points=\"70.0,230.0 610.0,50.0\""), "{first}");
        assert!(first.contains("<circle cx=\"70.0\" cy=\"230.0\""), "{first}");
        assert!(!second.contains("<circle"));
    }

    #[test]
    fn steps_are_round() {
        for (rough, step) in [(0.3, 0.5), (1.0, 1.0), (1.3, 2.0), (4.6, 5.0), (8200.0, 10_000.0)] {
            assert!((round_step(rough) - step).abs() < 1e-9, "{rough}");
        }
    }
}
