//! Contenders in turn: documents, CPU time, and the rows that `bench/xml/plot.py` draws.

use std::io::Write;

/// A turn of one contender takes about so long.
const TURN_NS: f64 = 8e6;
const ROUNDS: usize = 9;

/// The documents (whatever ends in `.xml`) of the folder `LOOKASIDE_XML_DOCUMENTS`, by their names.
#[allow(dead_code, reason = "one bench makes its documents")]
pub fn documents() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = std::env::var_os("LOOKASIDE_XML_DOCUMENTS") else {
        eprintln!("bench-xml: LOOKASIDE_XML_DOCUMENTS is to name a folder of documents");
        std::process::exit(2);
    };
    let paths = std::fs::read_dir(folder).expect("a folder").map(|it| it.unwrap().path());
    let mut all: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "xml"))
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a document"))
        })
        .collect();
    all.sort();
    all
}

/// A contender, and what runs it for one turn and returns the CPU time of one run in nanoseconds.
pub type Turn<'a> = (&'static str, Box<dyn FnMut() -> f64 + 'a>);

/// A contender that runs so.
pub fn turn<'a>(name: &'static str, mut run: impl FnMut() + 'a) -> Turn<'a> {
    let start = cpu_ns();
    run();
    let repeats = (TURN_NS / (cpu_ns() - start).max(100) as f64).ceil().max(1.0) as usize;
    let timed = move || {
        let start = cpu_ns();
        for _ in 0..repeats {
            run();
        }
        (cpu_ns() - start) as f64 / repeats as f64
    };
    (name, Box::new(timed))
}

/// Interleaved rounds: the median of each contender, in nanoseconds. Appends them to the file `LOOKASIDE_XML_CSV`, if there is one.
pub fn medians(bench: &str, document: &str, bytes: usize, turns: Vec<Turn<'_>>) -> Vec<f64> {
    let mut times = vec![vec![]; turns.len()];
    let (names, mut turns): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
    for _ in 0..ROUNDS {
        for (turn, times) in turns.iter_mut().zip(&mut times) {
            // The first one leaves caches and the allocator as this contender leaves them.
            turn();
            times.push(turn());
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    if let Some(path) = std::env::var_os("LOOKASIDE_XML_CSV") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let mut file = file.expect("the file of LOOKASIDE_XML_CSV");
        if file.metadata().is_ok_and(|it| it.len() == 0) {
            writeln!(file, "bench,document,bytes,contender,least_ns,median_ns,most_ns").unwrap();
        }
        for (name, times) in names.iter().zip(&times) {
            let [least, median, most] = [times[0], times[ROUNDS / 2], times[ROUNDS - 1]];
            writeln!(file, "{bench},{document},{bytes},{name},{least:.1},{median:.1},{most:.1}")
                .unwrap();
        }
    }
    times.iter().map(|times| times[ROUNDS / 2]).collect()
}

/// The geometric mean of each column.
#[allow(dead_code, reason = "one bench has no means")]
pub fn means(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    let mean = |n: usize| rows.iter().map(|row| row[n].ln()).sum::<f64>() / rows.len() as f64;
    (0..columns).map(|n| mean(n).exp()).collect()
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is this function's.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
