//! The paper's figures 3, 5, 7, 9, 10 and 11.

use super::{
    Answer, Drawing, Figure, Point, SECONDS, Scene, point,
    sweep::{core_mark, cores, fastest, sweep_title, sweep_words, times_line},
    words::{against, times},
};
use crate::bench::{
    chart::{Bars, Line, Mark, Scale, Series, Stroke, number},
    setting::{CHUNK, JOBS, Setting, Who, size_text},
    stats::Spread,
};

const THREADS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
const OUTSTANDING: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const CHUNKS: [usize; 11] = [
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];

pub(super) fn figures(scene: &Scene) -> Vec<Figure> {
    let mut all: Vec<_> = (0..scene.corpora.len()).map(|c| ratio(scene, c)).collect();
    all.extend([
        software_threads(),
        software_device(scene),
        device_threads(scene),
        outstanding(scene),
        summary(scene),
    ]);
    all
}

/// Figure 3.
fn ratio(scene: &Scene, corpus: usize) -> Figure {
    let device = Setting::device(JOBS, scene.cores);
    let zlib = Setting { jobs: 1, who: Who::Zlib, ..device };
    let line = |setting: Setting| {
        CHUNKS.map(|chunk| {
            let series = match setting.who {
                Who::Zlib => "zlib".to_owned(),
                Who::Lookaside => "Lookaside".to_owned(),
            };
            Point { series, x: chunk as f64, corpus, setting: Setting { chunk, ..setting } }
        })
    };
    let name = &scene.corpora[corpus];
    Figure {
        id: match corpus {
            0 => "fig03-ratio-chunk".into(),
            _ => format!("fig03-ratio-chunk-{name}"),
        },
        heading: match corpus {
            0 => "Figure 3: compression ratio against chunk size".into(),
            _ => format!("Figure 3 again, with the {name} corpus"),
        },
        shows:
            "How much compression is lost by cutting the data into independent chunks, which is \
                what makes it parallel."
                .into(),
        paper: "A chunk of 64 KB is best for the card; for zlib larger chunks gain little beyond \
                64 KB (38.1 % in one chunk); chunks above 128 KB made the card's Huffman trees \
                worse.",
        points: [line(zlib), line(device)].into_iter().flatten().collect(),
        draw: draw_ratio,
    }
}

fn draw_ratio(scene: &Scene, answers: &[Answer<'_>]) -> Drawing {
    let of = |who: Who, chunk: usize| {
        let found = |a: &&Answer<'_>| (a.point.setting.who, a.point.setting.chunk) == (who, chunk);
        answers.iter().find(found).map_or(0.0, |a| a.outcome.ratio_percent())
    };
    let largest = CHUNKS[CHUNKS.len() - 1];
    let [small, chosen, whole] = [CHUNKS[0], CHUNK, largest].map(|chunk| of(Who::Lookaside, chunk));
    let best = CHUNKS.map(|chunk| of(Who::Lookaside, chunk)).into_iter().fold(chosen, f64::min);
    let (zlib_chosen, zlib_whole) = (of(Who::Zlib, CHUNK), of(Who::Zlib, largest));
    let points = |a: f64, b: f64| format!("{:.1}", (a - b).abs());
    let compared = |a: f64, b: f64| if a > b { "more" } else { "less" };
    let corpus = answers.first().map_or(0, |a| a.point.corpus);
    let ticks = CHUNKS.map(|c| (c as f64, (c >> 10).to_string()));
    let line = Line {
        title: match chosen - best < 0.05 {
            true => format!(
                "In Lookaside chunks of 64 KB give the best ratio, chunks of 4 KB miss it by {} points",
                points(small, best)
            ),
            false => format!(
                "In Lookaside chunks of 64 KB miss the best ratio by {} points, chunks of 4 KB by {}",
                points(chosen, best),
                points(small, best)
            ),
        },
        subtitle: format!("zlib and Lookaside; {}.", scene.data(corpus)),
        x_title: "chunk size in KB (each chunk is compressed by itself)".into(),
        x_scale: Scale::Log2,
        x_ticks: ticks.to_vec(),
        y_title: "compressed size, % of the original (lower is better)".into(),
        from_zero: false,
        unit: " %",
        series: by_series(answers, |a| Spread::exact(a.outcome.ratio_percent()), Stroke::Solid),
        marks: vec![Mark { x: CHUNK as f64, text: "64 KB".into() }],
    };
    Drawing {
        headline: line.title.clone(),
        svg: line.svg(),
        measured: format!(
            "At 64 KB Lookaside leaves {chosen:.1} % and zlib {zlib_chosen:.1} %: {} points {} for \
             Lookaside. From 64 KB to {} Lookaside goes to {whole:.1} %, zlib to {zlib_whole:.1} %.",
            points(chosen, zlib_chosen),
            compared(chosen, zlib_chosen),
            size_text(largest),
        ),
    }
}

/// One line for each name of a series, in the order of first appearance.
fn by_series(
    answers: &[Answer<'_>],
    value: impl Fn(&Answer<'_>) -> Spread,
    stroke: Stroke,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for answer in answers {
        let point = (answer.point.x, value(answer));
        match all.iter_mut().find(|s| s.name == answer.point.series) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                name: answer.point.series.clone(),
                tone: answer.tone(),
                stroke,
                points: vec![point],
            }),
        }
    }
    all
}

/// Figure 5.
fn software_threads() -> Figure {
    Figure {
        id: "fig05-zlib-threads".into(),
        heading: "Figure 5: zlib against threads".into(),
        shows: "How far plain software gets with more threads: each compresses its share as one \
                chunk."
            .into(),
        paper: "On 16 cores, 16 threads cut 19.18 s per GB to 1.41 s; the CPU time stays almost \
                constant.",
        points: THREADS.map(|t| point("zlib", t as f64, Setting::zlib(t))).into(),
        draw: |scene, answers| {
            let (one, best) = (&answers[0], fastest(answers));
            let title = format!(
                "On {}, threads make zlib {} as fast at most, for {} the CPU time",
                cores(scene),
                times(one.elapsed().median / best.elapsed().median),
                times(best.cpu().median / one.cpu().median),
            );
            let subtitle = format!("zlib, one chunk per thread; {}.", scene.data(0));
            let marks = core_mark(scene, 16);
            let line = times_line(answers, title, subtitle, "threads", &THREADS, marks);
            Drawing {
                headline: line.title.clone(),
                svg: line.svg(),
                measured: sweep_words(answers, "thread"),
            }
        },
    }
}

/// Figure 7.
fn software_device(scene: &Scene) -> Figure {
    Figure {
        id: "fig07-software-device".into(),
        heading: "Figure 7: software against device, one calling thread".into(),
        shows: "What one thread gains by giving its work to the device, one request at a time and \
                with many outstanding."
            .into(),
        paper: "The card, called synchronously, takes 6.3 s per GB where zlib takes 19.6 s, at \
                38.5 % against 38.1 %. The card does the work there; here the device is the same \
                CPU, so the CPU time below includes the compression itself.",
        points: vec![
            point("zlib, 1 thread", 0.0, Setting::zlib(0)),
            point("Lookaside, synchronous", 1.0, Setting::device(1, scene.cores)),
            point("Lookaside, asynchronous", 2.0, Setting::device(JOBS, scene.cores)),
        ],
        draw: |scene, answers| {
            let [zlib, sync, wide] = answers else { return Drawing::default() };
            let gain = |a: &Answer<'_>| times(zlib.elapsed().median / a.elapsed().median);
            let cpu = |a: &Answer<'_>| times(zlib.cpu().median / a.cpu().median);
            let rows = answers.iter().map(|a| a.row(setting_words(a), a.tone()));
            let bars = Bars {
                title: format!(
                    "The device is {} as fast as zlib when called synchronously, {} with {JOBS} \
                     requests outstanding",
                    gain(sync),
                    gain(wide)
                ),
                subtitle: format!("{} engines; {}.", scene.cores, scene.data(0)),
                x_title: SECONDS.into(),
                unit: " s",
                rows: rows.collect(),
            };
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "zlib takes {} s per GB; the device {} s synchronously ({}) and {} s with \
                     {JOBS} requests outstanding ({}), for {} and {} less CPU time.",
                    number(zlib.elapsed().median),
                    number(sync.elapsed().median),
                    gain(sync),
                    number(wide.elapsed().median),
                    gain(wide),
                    cpu(sync),
                    cpu(wide),
                ),
            }
        },
    }
}

/// Figure 9.
fn device_threads(scene: &Scene) -> Figure {
    let setting = |threads| Setting { threads, ..Setting::device(1, scene.cores) };
    Figure {
        id: "fig09-device-threads".into(),
        heading: "Figure 9: the device called by many threads, each synchronously".into(),
        shows: "How the time falls when more threads each keep one request outstanding.".into(),
        paper: "16 threads cut 6.4 s per GB to 0.9 s, but the CPU time grows from 6.9 s to nearly \
                10 s (at 11 threads) with the context switches.",
        points: THREADS.map(|t| point("Lookaside", t as f64, setting(t))).into(),
        draw: |scene, answers| {
            let title = sweep_title(answers, "threads that call synchronously");
            let subtitle = format!(
                "64 KB chunks, one request outstanding per thread, {} engines; {}.",
                scene.cores,
                scene.data(0)
            );
            let marks = core_mark(scene, 16);
            let line = times_line(answers, title, subtitle, "threads", &THREADS, marks);
            Drawing {
                headline: line.title.clone(),
                svg: line.svg(),
                measured: sweep_words(answers, "thread"),
            }
        },
    }
}

/// Figure 10.
fn outstanding(scene: &Scene) -> Figure {
    let setting = |jobs| Setting::device(jobs, scene.cores);
    Figure {
        id: "fig10-outstanding".into(),
        heading: "Figure 10: the device called asynchronously from one thread".into(),
        shows: "How the time falls when one thread keeps more requests outstanding.".into(),
        paper: "24 outstanding requests cut 6.3 s per GB to 0.73 s and the CPU time from 6.8 s to \
                1.7 s; the gain ends at 18, three for each of the card's six engines.",
        points: OUTSTANDING.map(|j| point("Lookaside", j as f64, setting(j))).into(),
        draw: |scene, answers| {
            let title = sweep_title(answers, "requests outstanding from one thread");
            let subtitle = format!(
                "64 KB chunks, one calling thread, {} engines; {}.",
                scene.cores,
                scene.data(0)
            );
            let x = "requests outstanding";
            let mut line = times_line(answers, title, subtitle, x, &OUTSTANDING, Vec::new());
            let (at, text) = (scene.cores as f64, format!("{} engines", scene.cores));
            line.marks.push(Mark { x: at, text });
            Drawing {
                headline: line.title.clone(),
                svg: line.svg(),
                measured: sweep_words(answers, "request"),
            }
        },
    }
}

/// Figure 11.
fn summary(scene: &Scene) -> Figure {
    let sync = Setting::device(1, scene.cores);
    let many = format!("zlib, {} threads", scene.cores);
    Figure {
        id: "fig11-summary".into(),
        heading: "Figure 11: the programming models side by side".into(),
        shows: "Elapsed and CPU time of each way to compress the same data.".into(),
        paper: "The asynchronous card takes less than a twentieth of zlib's elapsed and CPU time; \
                16 synchronous threads come close in elapsed time, at several times the CPU time.",
        points: vec![
            point("zlib, 1 thread", 0.0, Setting::zlib(0)),
            point(&many, 1.0, Setting::zlib(scene.cores)),
            point("Lookaside, synchronous", 2.0, sync),
            point("Lookaside, 16 threads", 3.0, Setting { threads: 16, ..sync }),
            point("Lookaside, asynchronous", 4.0, Setting::device(JOBS, scene.cores)),
        ],
        draw: |scene, answers| {
            let [zlib, zlib_many, _, threads, wide] = answers else { return Drawing::default() };
            let rows = answers.iter().map(|a| a.row(setting_words(a), a.tone()));
            let all = times(zlib_many.elapsed().median / wide.elapsed().median);
            let cpu = times(zlib.cpu().median / wide.cpu().median);
            let bars = Bars {
                title: format!(
                    "On {} the device is {all} as fast as zlib, and a CPU-second goes {cpu} as far",
                    cores(scene)
                ),
                subtitle: format!("{} engines; {}.", scene.cores, scene.data(0)),
                x_title: SECONDS.into(),
                unit: " s",
                rows: rows.collect(),
            };
            Drawing {
                headline: bars.title.clone(),
                svg: bars.svg(),
                measured: format!(
                    "Asynchronous Lookaside takes {} s per GB and {} CPU-seconds; zlib on {} \
                     threads {} s and {}. 16 synchronous threads take {} s, and {} compared \
                     with one asynchronous thread.",
                    number(wide.elapsed().median),
                    number(wide.cpu().median),
                    scene.cores,
                    number(zlib_many.elapsed().median),
                    number(zlib_many.cpu().median),
                    number(threads.elapsed().median),
                    against(&threads.cpu(), &wide.cpu(), "CPU time"),
                ),
            }
        },
    }
}

/// "1 thread, 24 requests; ratio 38.3 %".
fn setting_words(answer: &Answer<'_>) -> String {
    let s = &answer.point.setting;
    let ratio = answer.outcome.ratio_percent();
    match (s.who, s.jobs) {
        (Who::Zlib, _) if s.threads < 2 => format!("one chunk; ratio {ratio:.1} %"),
        (Who::Zlib, _) => format!("one chunk per thread; ratio {ratio:.1} %"),
        (_, 1) => format!("1 request at a time; ratio {ratio:.1} %"),
        (_, jobs) => format!("1 thread, {jobs} requests; ratio {ratio:.1} %"),
    }
}
