//! Figures that follow elapsed and CPU time over one parameter.

use super::{Answer, SECONDS, Scene, words::times};
use crate::bench::{
    chart::{Line, Mark, Scale, Series, Stroke, Tone, number},
    stats::Spread,
};

/// Elapsed and CPU time in seconds per GB as two lines.
pub(super) fn times_line(
    answers: &[Answer<'_>],
    title: String,
    subtitle: String,
    x_title: &str,
    ticks: &[usize],
    marks: Vec<Mark>,
) -> Line {
    let tone = answers.first().map_or(Tone::Device, Answer::tone);
    let line = |name: &str, stroke, value: fn(&Answer<'_>) -> Spread| Series {
        name: name.to_owned(),
        tone,
        stroke,
        points: answers.iter().map(|a| (a.point.x, value(a))).collect(),
    };
    Line {
        title,
        subtitle,
        x_title: x_title.to_owned(),
        x_scale: Scale::Log2,
        x_ticks: ticks.iter().map(|t| (*t as f64, t.to_string())).collect(),
        y_title: SECONDS.to_owned(),
        from_zero: true,
        unit: " s",
        series: vec![
            line("elapsed", Stroke::Solid, |a| a.elapsed()),
            line("CPU time", Stroke::Pale, |a| a.cpu()),
        ],
        marks,
    }
}

pub(super) fn core_mark(scene: &Scene, most: usize) -> Vec<Mark> {
    let inside = scene.cores > 1 && scene.cores <= most;
    inside.then(|| Mark { x: scene.cores as f64, text: cores(scene) }).into_iter().collect()
}

pub(super) fn cores(scene: &Scene) -> String {
    match scene.cores {
        1 => "1 core".into(),
        n => format!("{n} cores"),
    }
}

/// The first that is at most 5 % slower than the fastest: beyond it there is little to gain.
pub(super) fn fastest<'a, 'b>(answers: &'a [Answer<'b>]) -> &'a Answer<'b> {
    let best = answers.iter().map(|a| a.elapsed().median).fold(f64::INFINITY, f64::min);
    let near = |a: &&Answer<'_>| a.elapsed().median <= 1.05 * best;
    answers.iter().find(near).unwrap_or(&answers[0])
}

fn last<'a, 'b>(answers: &'a [Answer<'b>]) -> &'a Answer<'b> {
    answers.last().expect("a figure has points")
}

pub(super) fn sweep_title(answers: &[Answer<'_>], what: &str) -> String {
    let (one, best) = (&answers[0], fastest(answers));
    let gain = times(one.elapsed().median / best.elapsed().median);
    match best.point.x {
        1.0 => format!("More {what} gain nothing over 1"),
        x if x == last(answers).point.x => format!("{x} {what} are {gain} as fast as 1"),
        x => format!("{x} {what} are {gain} as fast as 1; more gain little"),
    }
}

pub(super) fn sweep_words(answers: &[Answer<'_>], what: &str) -> String {
    let (one, best, end) = (&answers[0], fastest(answers), last(answers));
    let words = |a: &Answer<'_>| {
        let plural = if a.point.x == 1.0 { "" } else { "s" };
        format!(
            "{} s per GB and {} CPU-seconds with {} {what}{plural}",
            number(a.elapsed().median),
            number(a.cpu().median),
            a.point.x
        )
    };
    match best.point.x {
        x if x == end.point.x => format!("{}; {}.", words(one), words(end)),
        1.0 => format!("{}, and no faster with more: {}.", words(one), words(end)),
        _ => format!("{}; {}, little to gain beyond; {}.", words(one), words(best), words(end)),
    }
}
