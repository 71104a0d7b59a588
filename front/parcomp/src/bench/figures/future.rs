//! What the paper leaves as future work (its section 10): each an A/B comparison.

use parcomp::{Doorbell, Wait};

use super::{
    Answer, Drawing, Figure, Point, SECONDS, Scene, point, time_row,
    words::{against, claim, percent, times},
};
use crate::bench::{
    chart::{Bars, Row, Tone, number},
    setting::{JOBS, Setting},
    stats::Spread,
};

/// Small requests, where the cost of a request shows.
const SMALL: usize = 4 << 10;

pub(super) fn figures(scene: &Scene) -> Vec<Figure> {
    vec![copy(scene), wait(scene), engines(scene), doorbell(scene)]
}

/// Copy against no copy.
fn copy(scene: &Scene) -> Figure {
    let base = Setting::device(JOBS, scene.cores);
    let setting = |copy| Setting { copy, ..base };
    Figure {
        id: "future-copy".into(),
        heading: "Future work: copy against no copy".into(),
        shows: "What it costs to copy the input into buffers of the device, as the paper had to, \
                instead of lending it the caller's memory. (The output is copied either way, when \
                it is put in order.)"
            .into(),
        paper: "Copying 1.385 GB took 0.2 to 0.25 s, little beside compression in software; the \
                alternative was not measured.",
        points: vec![
            point("input lent", 0.0, setting(false)),
            point("input copied", 1.0, setting(true)),
        ],
        draw: |scene, answers| {
            let [lent, copied] = answers else { return Drawing::default() };
            let bars = Bars {
                title: claim(
                    "Copying the input",
                    &copied.cpu(),
                    "CPU time",
                    "lending it",
                    &lent.cpu(),
                ),
                subtitle: conditions(scene, "64 KB chunks, 24 requests outstanding"),
                x_title: SECONDS.into(),
                unit: " s",
                rows: ab(answers),
            };
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "{} CPU-seconds per GB with copies, {} without: a difference of {}; elapsed \
                     time {} s and {} s.",
                    number(copied.cpu().median),
                    number(lent.cpu().median),
                    number(copied.cpu().median - lent.cpu().median),
                    number(copied.elapsed().median),
                    number(lent.elapsed().median),
                ),
            }
        },
    }
}

/// Polling against events.
fn wait(scene: &Scene) -> Figure {
    let setting = |jobs, wait| Setting { wait, ..Setting::device(jobs, scene.cores) };
    Figure {
        id: "future-wait".into(),
        heading: "Future work: polling against events".into(),
        shows: "What a caller pays for spinning on its response ring, and what for sleeping until \
                a response is there."
            .into(),
        paper: "Polls inline at a high frequency, yielding after each poll; interrupts were not \
                measured.",
        points: vec![
            point("1 request, polling", 0.0, setting(1, Wait::Poll)),
            point("1 request, event fd", 1.0, setting(1, Wait::Event)),
            point("1 request, blocking", 2.0, setting(1, Wait::Block)),
            point("24 requests, polling", 3.0, setting(JOBS, Wait::Poll)),
            point("24 requests, event fd", 4.0, setting(JOBS, Wait::Event)),
            point("24 requests, blocking", 5.0, setting(JOBS, Wait::Block)),
        ],
        draw: |scene, answers| {
            let [poll1, event1, _, poll, event, block] = answers else { return Drawing::default() };
            let rows = answers.iter().map(|a| {
                let polls = a.point.setting.wait == Wait::Poll;
                a.row(String::new(), if polls { Tone::Other } else { Tone::Device })
            });
            let bars = Bars {
                title: claim(
                    "Polling for 24 requests",
                    &poll.cpu(),
                    "CPU time",
                    "sleeping on an event fd",
                    &event.cpu(),
                ),
                subtitle: conditions(scene, "64 KB chunks"),
                x_title: SECONDS.into(),
                unit: " s",
                rows: rows.collect(),
            };
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "Polling compared with an event fd: with 24 requests outstanding {} and {}; \
                     with one at a time {} and {}. Blocking until half of the 24 are there: {} and \
                     {} compared with an event fd.",
                    against(&poll.elapsed(), &event.elapsed(), "elapsed time"),
                    against(&poll.cpu(), &event.cpu(), "CPU time"),
                    against(&poll1.elapsed(), &event1.elapsed(), "elapsed time"),
                    against(&poll1.cpu(), &event1.cpu(), "CPU time"),
                    against(&block.elapsed(), &event.elapsed(), "elapsed time"),
                    against(&block.cpu(), &event.cpu(), "CPU time"),
                ),
            }
        },
    }
}

/// Own thread against engine threads.
fn engines(scene: &Scene) -> Figure {
    let mut points = vec![
        point("1 request, own thread", 0.0, Setting::device(1, 0)),
        point("1 request, 1 engine", 1.0, Setting::device(1, 1)),
        point("24 requests, own thread", 2.0, Setting::device(JOBS, 0)),
        point("24 requests, 1 engine", 3.0, Setting::device(JOBS, 1)),
    ];
    if scene.cores > 1 {
        let name = format!("24 requests, {} engines", scene.cores);
        points.push(point(&name, 4.0, Setting::device(JOBS, scene.cores)));
    }
    Figure {
        id: "future-engines".into(),
        heading: "Future work: own thread against engine threads".into(),
        shows: "Whether the thread that asks should run the device itself (0 engines) or leave it \
                to engine threads."
            .into(),
        paper: "Polls from the thread that submits; a separate thread was not measured.",
        points,
        draw: |scene, answers| {
            let [own1, one1, own, .., most] = answers else { return Drawing::default() };
            let engines = most.point.setting.engines;
            let plural = if engines == 1 { "" } else { "s" };
            let bars = Bars {
                title: format!(
                    "{engines} engine thread{plural}: {} as fast as the caller's own thread, for \
                     {} the CPU time",
                    times(own.elapsed().median / most.elapsed().median),
                    times(most.cpu().median / own.cpu().median),
                ),
                subtitle: format!("64 KB chunks, one calling thread; {}.", scene.data(0)),
                x_title: SECONDS.into(),
                unit: " s",
                rows: answers
                    .iter()
                    .map(|a| {
                        let own = a.point.setting.engines == 0;
                        a.row(String::new(), if own { Tone::Other } else { Tone::Device })
                    })
                    .collect(),
            };
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "With 24 requests outstanding: {} s per GB on the own thread, {} s on \
                     {engines} engine{plural} ({}). One at a time, on the own thread rather than \
                     on one engine: {} and {}.",
                    number(own.elapsed().median),
                    number(most.elapsed().median),
                    against(&most.cpu(), &own.cpu(), "CPU time"),
                    against(&own1.elapsed(), &one1.elapsed(), "elapsed time"),
                    against(&own1.cpu(), &one1.cpu(), "CPU time"),
                ),
            }
        },
    }
}

/// One doorbell per request against one per batch.
fn doorbell(scene: &Scene) -> Figure {
    let setting =
        |jobs, doorbell| Setting { chunk: SMALL, doorbell, ..Setting::device(jobs, scene.cores) };
    let pair = |jobs: usize, x: f64| -> [Point; 2] {
        [
            point(
                &format!("{jobs} requests, doorbell per batch"),
                x,
                setting(jobs, Doorbell::Batch),
            ),
            point(
                &format!("{jobs} requests, one per request"),
                x + 1.0,
                setting(jobs, Doorbell::Request),
            ),
        ]
    };
    Figure {
        id: "future-doorbell".into(),
        heading: "Future work: one doorbell per batch against one per request".into(),
        shows: "What a doorbell costs each small request, and what is saved when one covers all \
                that were pushed."
            .into(),
        paper: "Names it as a way to spread the cost of writing the doorbell register over many \
                requests; not measured.",
        points: [pair(8, 0.0), pair(64, 2.0)].into_iter().flatten().collect(),
        draw: |scene, answers| {
            let [_, _, batch, each] = answers else { return Drawing::default() };
            let per_request = |total: Spread| total.scaled(SMALL as f64 / 1e9 * 1e6);
            let rows = answers.iter().map(|a| {
                let each = a.point.setting.doorbell == Doorbell::Request;
                let tone = if each { Tone::Other } else { Tone::Device };
                let (elapsed, cpu) = (per_request(a.elapsed()), per_request(a.cpu()));
                time_row(&a.point.series, String::new(), tone, elapsed, cpu)
            });
            let bars = Bars {
                title: claim(
                    "A doorbell for each request",
                    &each.cpu(),
                    "CPU time",
                    "one for the batch",
                    &batch.cpu(),
                ),
                subtitle: conditions(scene, "4 KB chunks, so that the cost of a request shows"),
                x_title: "microseconds per request of 4 KB (lower is better)".into(),
                unit: " µs",
                rows: rows.collect(),
            };
            let cost = per_request(each.cpu()).median - per_request(batch.cpu()).median;
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "With 64 requests outstanding, a doorbell each: {} µs CPU time per request {} \
                     ({}) and {}.",
                    number(cost.abs()),
                    if cost < 0.0 { "less" } else { "more" },
                    percent(each.cpu().median, batch.cpu().median),
                    against(&each.elapsed(), &batch.elapsed(), "elapsed time"),
                ),
            }
        },
    }
}

/// Rows in alternating colours: the paper's way, the alternative.
fn ab(answers: &[Answer<'_>]) -> Vec<Row> {
    let tone = |i: usize| if i.is_multiple_of(2) { Tone::Device } else { Tone::Other };
    answers.iter().enumerate().map(|(i, a)| a.row(String::new(), tone(i))).collect()
}

fn conditions(scene: &Scene, what: &str) -> String {
    format!("{what}, one calling thread, {} engines; {}.", scene.cores, scene.data(0))
}
