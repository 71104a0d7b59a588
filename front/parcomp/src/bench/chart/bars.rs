//! Horizontal bar charts: long names stay readable.

use super::{
    Stroke, Tone,
    axis::{Range, Scale, number, tick_text, ticks},
    svg::{Anchor, BOLD, MARGIN, Svg, text_width},
};
use crate::bench::stats::Spread;

/// A bar chart.
pub struct Bars {
    /// The message.
    pub title: String,
    /// What is shown, how.
    pub subtitle: String,
    /// With the unit.
    pub x_title: String,
    /// Written after each value.
    pub unit: &'static str,
    pub rows: Vec<Row>,
}

/// What is compared: a name, and its bars.
pub struct Row {
    pub label: String,
    /// Smaller, below the label; may be empty.
    pub detail: String,
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    pub value: Spread,
    pub tone: Tone,
    pub stroke: Stroke,
    /// What it is, written behind the value.
    pub name: String,
}

const WIDTH: f64 = 760.0;
const BAR: f64 = 20.0;
const BAR_GAP: f64 = 4.0;
const ROW_GAP: f64 = 20.0;

impl Bars {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut head = Svg::new(WIDTH, 0.0, "", "");
        let top = head.head(WIDTH, &self.title, &self.subtitle) + 12.0;
        let height = |row: &Row| row.bars.len() as f64 * (BAR + BAR_GAP) + ROW_GAP;
        let bottom = top + self.rows.iter().map(height).sum::<f64>();
        let mut svg = Svg::new(WIDTH, bottom + 58.0, &self.title, &self.subtitle);
        svg.head(WIDTH, &self.title, &self.subtitle);

        let widest = |texts: &mut dyn Iterator<Item = f64>| texts.fold(0.0, f64::max);
        let labels = widest(&mut self.rows.iter().map(|r| text_width(&r.label, 14.0) * BOLD));
        let details = widest(&mut self.rows.iter().map(|r| text_width(&r.detail, 12.5)));
        let left = MARGIN + labels.max(details) + 14.0;
        let bars = || self.rows.iter().flat_map(|r| &r.bars);
        let texts = widest(&mut bars().map(|b| text_width(&self.bar_text(b), 13.5)));
        let right = (WIDTH - MARGIN - texts - 10.0).max(left + 80.0);
        let high = bars().map(|b| b.value.max).fold(0.0, f64::max);
        let marks = ticks(0.0, high, ((right - left) / 70.0) as usize);
        // Up to the largest value, not to the tick above it: the texts start there.
        let x = Range::new(Scale::Linear, (0.0, high), (left, right));

        let step = marks[1] - marks[0];
        for tick in marks.iter().filter(|t| **t <= high) {
            let at = x.at(*tick);
            svg.line((at, top), (at, bottom), if *tick == 0.0 { "axis" } else { "grid" });
            svg.text(at, bottom + 19.0, Anchor::Middle, "dim", &tick_text(*tick, step));
        }
        let middle = (left + right) / 2.0;
        svg.text(middle, bottom + 43.0, Anchor::Middle, "small strong dim", &self.x_title);

        let mut y = top + ROW_GAP / 2.0;
        for row in &self.rows {
            let block = row.bars.len() as f64 * (BAR + BAR_GAP) - BAR_GAP;
            let centre = y + block / 2.0;
            let label_y = if row.detail.is_empty() { centre + 5.0 } else { centre - 3.0 };
            svg.text(left - 10.0, label_y, Anchor::End, "strong", &row.label);
            if !row.detail.is_empty() {
                svg.text(left - 10.0, centre + 14.0, Anchor::End, "small dim", &row.detail);
            }
            for bar in &row.bars {
                self.bar(&mut svg, bar, &x, y);
                y += BAR + BAR_GAP;
            }
            y += ROW_GAP;
        }
        svg.finish()
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, x: &Range, y: f64) {
        let fill = match bar.stroke {
            Stroke::Solid => "fill",
            Stroke::Pale => "fill light",
        };
        let left = x.at(0.0);
        let class = format!("{fill} {}", bar.tone.class());
        svg.rect((left, y), (x.at(bar.value.median) - left, BAR), &class);
        let (low, high) = (x.at(bar.value.min), x.at(bar.value.max));
        if high - low > 3.0 {
            let middle = y + BAR / 2.0;
            svg.line((low, middle), (high, middle), "whisker ink");
            for end in [low, high] {
                svg.line((end, middle - 4.0), (end, middle + 4.0), "whisker ink");
            }
        }
        let class = format!("small {}", bar.tone.class());
        svg.text(high + 7.0, y + BAR / 2.0 + 4.5, Anchor::Start, &class, &self.bar_text(bar));
    }

    fn bar_text(&self, bar: &Bar) -> String {
        format!("{}{} {}", number(bar.value.median), self.unit, bar.name)
    }
}
