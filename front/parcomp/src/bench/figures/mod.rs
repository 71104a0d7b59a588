//! The figures: which points each needs, and how the answers are drawn and told.

mod future;
mod paper;
mod sweep;
mod words;

use super::{
    chart::{Bar, Row, Stroke, Tone},
    measure::Outcome,
    setting::{Setting, Who},
    stats::Spread,
};

const SECONDS: &str = "seconds per GB (lower is better)";

/// What all figures share.
pub struct Scene {
    /// CPUs this process may use.
    pub cores: usize,
    /// Names of the corpora, the main one first.
    pub corpora: Vec<String>,
    /// How much of each is compressed, in words.
    pub amounts: Vec<String>,
}

/// One figure.
pub struct Figure {
    /// For file names and links.
    pub id: String,
    pub heading: String,
    /// What it shows, in one sentence.
    pub shows: String,
    /// What the paper found.
    pub paper: &'static str,
    pub points: Vec<Point>,
    draw: fn(&Scene, &[Answer<'_>]) -> Drawing,
}

/// A measurement and its place in a figure.
pub struct Point {
    /// The line or row that it belongs to.
    pub series: String,
    /// What the figure varies.
    pub x: f64,
    /// The index of the corpus.
    pub corpus: usize,
    pub setting: Setting,
}

/// A point with what was measured.
pub struct Answer<'a> {
    pub point: &'a Point,
    pub outcome: &'a Outcome,
}

/// A drawn figure; empty when its points are not those that it was declared with.
#[derive(Default)]
pub struct Drawing {
    /// The message.
    pub headline: String,
    pub svg: String,
    /// What was measured, in a sentence or two.
    pub measured: String,
}

impl Figure {
    /// Draws it from the answers to its points.
    pub fn draw(&self, scene: &Scene, answers: &[Answer<'_>]) -> Drawing {
        (self.draw)(scene, answers)
    }
}

/// Every figure: the paper's, then what it leaves as future work.
pub fn all(scene: &Scene) -> Vec<Figure> {
    let mut figures = paper::figures(scene);
    figures.extend(future::figures(scene));
    figures
}

fn point(series: &str, x: f64, setting: Setting) -> Point {
    Point { series: series.to_owned(), x, corpus: 0, setting }
}

impl Answer<'_> {
    fn elapsed(&self) -> Spread {
        self.outcome.elapsed_per_gb()
    }

    fn cpu(&self) -> Spread {
        self.outcome.cpu_per_gb()
    }

    fn tone(&self) -> Tone {
        match self.point.setting.who {
            Who::Zlib => Tone::Software,
            Who::Lookaside => Tone::Device,
        }
    }

    /// Elapsed and CPU time in seconds per GB as bars.
    fn row(&self, detail: String, tone: Tone) -> Row {
        time_row(&self.point.series, detail, tone, self.elapsed(), self.cpu())
    }
}

fn time_row(label: &str, detail: String, tone: Tone, elapsed: Spread, cpu: Spread) -> Row {
    let bar = |value, stroke, name: &str| Bar { value, tone, stroke, name: name.into() };
    Row {
        label: label.to_owned(),
        detail,
        bars: vec![bar(elapsed, Stroke::Solid, "elapsed"), bar(cpu, Stroke::Pale, "CPU time")],
    }
}

impl Scene {
    /// "calgary corpus 20 times, 65.0 MB; level 1": under which conditions.
    fn data(&self, corpus: usize) -> String {
        let amount = self.amounts.get(corpus).map_or("", String::as_str);
        format!("{amount}; level 1")
    }
}
