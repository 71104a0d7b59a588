//! Line charts.

use super::{
    Stroke, Tone,
    axis::{Range, Scale, number, tick_text, ticks},
    svg::{Anchor, BOLD, MARGIN, Svg, text_width},
};
use crate::bench::stats::Spread;

/// A line chart.
pub struct Line {
    /// The message.
    pub title: String,
    /// What is shown, how.
    pub subtitle: String,
    pub x_title: String,
    pub x_scale: Scale,
    /// Where the x axis has ticks, and what they say.
    pub x_ticks: Vec<(f64, String)>,
    /// With the unit.
    pub y_title: String,
    /// Whether the y axis starts at 0.
    pub from_zero: bool,
    /// Written after each value.
    pub unit: &'static str,
    pub series: Vec<Series>,
    pub marks: Vec<Mark>,
}

/// One line.
pub struct Series {
    pub name: String,
    pub tone: Tone,
    pub stroke: Stroke,
    pub points: Vec<(f64, Spread)>,
}

/// A place on the x axis that matters.
pub struct Mark {
    pub x: f64,
    pub text: String,
}

const WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 280.0;
const LABEL: f64 = 14.0;
/// The least distance of two labels' baselines.
const LABEL_STEP: f64 = 18.0;

impl Line {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut head = Svg::new(WIDTH, 0.0, "", "");
        let top = head.head(WIDTH, &self.title, &self.subtitle) + 48.0;
        let bottom = top + PLOT_HEIGHT;
        let mut svg = Svg::new(WIDTH, bottom + 60.0, &self.title, &self.subtitle);
        svg.head(WIDTH, &self.title, &self.subtitle);

        let y_ticks = self.y_ticks();
        let y_step = y_ticks[1] - y_ticks[0];
        let tick_texts: Vec<_> = y_ticks.iter().map(|t| tick_text(*t, y_step)).collect();
        let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
        let left = MARGIN + 10.0 + widest(&mut tick_texts.iter().map(|t| text_width(t, LABEL)));
        let ends: Vec<_> = self.series.iter().map(|s| self.end_label(s)).collect();
        let right = WIDTH - MARGIN - 14.0 - widest(&mut ends.iter().map(|t| bold_width(t)));
        let xs = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
        let (x_low, x_high) = bounds(xs);
        let x = Range::new(self.x_scale, (x_low, x_high), (left + 16.0, right - 16.0));
        let y_values = (y_ticks[0], y_ticks[y_ticks.len() - 1]);
        let y = Range::new(Scale::Linear, y_values, (bottom, top));

        svg.text(MARGIN, top - 28.0, Anchor::Start, "small strong dim", &self.y_title);
        for (tick, text) in y_ticks.iter().zip(&tick_texts) {
            let class = if *tick == y_ticks[0] { "axis" } else { "grid" };
            svg.line((left, y.at(*tick)), (right, y.at(*tick)), class);
            svg.text(left - 8.0, y.at(*tick) + 5.0, Anchor::End, "dim", text);
        }
        for (value, text) in &self.x_ticks {
            svg.line((x.at(*value), bottom), (x.at(*value), bottom + 5.0), "axis");
            svg.text(x.at(*value), bottom + 21.0, Anchor::Middle, "dim", text);
        }
        let middle = (left + right) / 2.0;
        svg.text(middle, bottom + 45.0, Anchor::Middle, "small strong dim", &self.x_title);

        for mark in &self.marks {
            let at = x.at(mark.x);
            svg.line((at, top - 16.0), (at, bottom), "mark");
            // On the side that has room.
            let width = text_width(&mark.text, 12.5) + 8.0;
            let (at, anchor) = match at + width < right {
                true => (at + 6.0, Anchor::Start),
                false => (at - 6.0, Anchor::End),
            };
            svg.text(at, top - 8.0, anchor, "small dim halo", &mark.text);
        }
        for series in &self.series {
            draw(&mut svg, series, &x, &y);
        }
        self.start_labels(&mut svg, &x, &y);
        self.end_labels(&mut svg, &ends, &x, &y);
        svg.finish()
    }

    fn y_ticks(&self) -> Vec<f64> {
        let spreads = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
        let (low, high) = bounds(spreads.flat_map(|s| [s.min, s.max]));
        ticks(if self.from_zero { 0.0 } else { low }, high, 5)
    }

    fn end_label(&self, series: &Series) -> String {
        let last = series.points.last().map_or(0.0, |p| p.1.median);
        format!("{} {}{}", series.name, number(last), self.unit)
    }

    /// The value of each line's first point, where it does not cover another's.
    fn start_labels(&self, svg: &mut Svg, x: &Range, y: &Range) {
        let mut taken: Vec<f64> = Vec::new();
        let firsts = self.series.iter().filter_map(|s| s.points.first().map(|p| (p, s)));
        for (nth, (&(at, spread), series)) in firsts.enumerate() {
            let up = y.at(spread.max) - 10.0;
            let down = y.at(spread.min) + 20.0;
            let free = |at: f64| taken.iter().all(|t| (t - at).abs() >= LABEL_STEP);
            let points = self.series.iter().filter_map(|s| s.points.first());
            let spots: Vec<_> = points.map(|p| y.at(p.1.median)).collect();
            // Not over another line's first point either.
            let clear = |at: f64| spots.iter().all(|s| (s - (at - 5.0)).abs() > 10.0);
            // Nor the same value twice.
            let told = spots.iter().take(nth).any(|s| (s - y.at(spread.median)).abs() < 8.0);
            let place = [up, down].into_iter().find(|at| free(*at) && clear(*at) && !told);
            let Some(place) = place else { continue };
            taken.push(place);
            let class = format!("small strong halo {}", series.tone.class());
            let text = format!("{}{}", number(spread.median), self.unit);
            let left = (x.at(at) - text_width(&text, 13.5) / 2.0).max(x.at(at) - 14.0);
            svg.text(left, place, Anchor::Start, &class, &text);
        }
    }

    /// Names at the lines' ends, moved apart where they would cover each other.
    fn end_labels(&self, svg: &mut Svg, texts: &[String], x: &Range, y: &Range) {
        let mut labels: Vec<_> = (self.series.iter().zip(texts))
            .filter_map(|(s, text)| s.points.last().map(|p| (y.at(p.1.median) + 5.0, p.0, s, text)))
            .collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut places: Vec<f64> = labels.iter().map(|l| l.0).collect();
        move_apart(&mut places, LABEL_STEP);
        for ((_, at, series, text), place) in labels.into_iter().zip(places) {
            let class = format!("strong {}", series.tone.class());
            svg.text(x.at(at) + 12.0, place, Anchor::Start, &class, text);
        }
    }
}

fn draw(svg: &mut Svg, series: &Series, x: &Range, y: &Range) {
    let tone = series.tone.class();
    let points: Vec<_> = series.points.iter().map(|(v, s)| (x.at(*v), y.at(s.median))).collect();
    let (curve, dot) = match series.stroke {
        Stroke::Solid => (tone.to_owned(), format!("fill {tone}")),
        Stroke::Pale => (format!("{tone} dash"), format!("hollow {tone}")),
    };
    svg.curve(&points, &curve);
    for ((value, spread), point) in series.points.iter().zip(points) {
        if y.at(spread.min) - y.at(spread.max) > 9.0 {
            let at = x.at(*value);
            svg.line((at, y.at(spread.min)), (at, y.at(spread.max)), &format!("whisker {tone}"));
        }
        svg.circle(point, 3.8, &dot);
    }
}

fn bold_width(text: &str) -> f64 {
    text_width(text, LABEL) * BOLD
}

/// The smallest and largest; (0, 1) when there is none.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let all = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if all.0.is_finite() && all.1.is_finite() { all } else { (0.0, 1.0) }
}

/// Moves sorted `places` at least `step` apart, each as little as possible: without the steps,
/// that is the closest sequence that never falls, which pooling neighbours that fall finds.
fn move_apart(places: &mut [f64], step: f64) {
    // Each pool: the sum and number of its members.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (i, place) in places.iter().enumerate() {
        let mut pool = (place - i as f64 * step, 1);
        while let Some((sum, n)) =
            pools.pop_if(|(sum, n)| *sum / *n as f64 > pool.0 / pool.1 as f64)
        {
            pool = (pool.0 + sum, pool.1 + n);
        }
        pools.push(pool);
    }
    let flat = pools.iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / *n as f64, *n));
    for (i, (place, flat)) in places.iter_mut().zip(flat).enumerate() {
        *place = flat + i as f64 * step;
    }
}

#[cfg(test)]
mod tests {
    use super::move_apart;

    #[test]
    fn labels_move_apart_as_little_as_needed() {
        let mut far = [0.0, 50.0];
        move_apart(&mut far, 10.0);
        assert_eq!(far, [0.0, 50.0]);
        let mut same = [20.0, 20.0, 100.0];
        move_apart(&mut same, 10.0);
        assert_eq!(same, [15.0, 25.0, 100.0]);
        let mut many = [0.0, 1.0, 2.0, 3.0];
        move_apart(&mut many, 10.0);
        assert!(many.windows(2).all(|w| w[1] - w[0] >= 9.999), "{many:?}");
    }
}
