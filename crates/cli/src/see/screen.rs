//! One screen of `lookaside top`.

use std::{collections::HashMap, fmt::Write as _};

use lookaside_page::{BUCKETS, Identity, operation, read::Content};

use super::{
    functions::Server,
    gather::Seen,
    row::{self, Words},
};

/// What the rows are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Order {
    /// Requests, most first.
    #[default]
    Requests,
    /// Bytes in and out, most first.
    Bytes,
    /// The service time that 99 % stay below, longest first.
    Latency,
    /// Requests that wait on average, most first.
    Waiting,
    /// Errors, then what was rerouted, most first.
    Errors,
    /// Processes by their numbers.
    Process,
}

impl Order {
    /// The key of a terminal, the name in the head.
    pub(crate) const ALL: [(u8, Order, &str); 6] = [
        (b'r', Order::Requests, "requests"),
        (b'b', Order::Bytes, "bytes"),
        (b'l', Order::Latency, "latency"),
        (b'w', Order::Waiting, "waiting"),
        (b'e', Order::Errors, "errors"),
        (b'p', Order::Process, "process"),
    ];

    fn name(self) -> &'static str {
        Order::ALL.iter().find(|(_, order, _)| *order == self).map_or("", |(_, _, name)| name)
    }
}

/// How a screen is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) width: usize,
    /// The lines that fit; `None`: all there are.
    pub(crate) height: Option<usize>,
    pub(crate) colour: bool,
    pub(crate) order: Order,
    /// The keys are named in the first line.
    pub(crate) live: bool,
}

/// The narrowest screen.
pub(crate) const NARROWEST: usize = 40;

/// A row of the screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pid: u64,
    program: String,
    what: String,
    requests: f64,
    bytes_in: Option<f64>,
    bytes_out: Option<f64>,
    of_device: Option<OfDevice>,
}

/// What only devices have.
#[derive(Clone, Debug, PartialEq)]
struct OfDevice {
    waiting: Option<f64>,
    queue_p99: u64,
    p50: u64,
    p99: u64,
    lanes: f64,
    errors: u64,
    rerouted: u64,
}

/// What a reading has for each row, to tell the next one apart from.
#[derive(Debug, Default)]
pub(crate) struct Before {
    operations: HashMap<(Identity, String, String), Words>,
    calls: HashMap<(Identity, String, String), [u64; 3]>,
}

impl Before {
    pub(crate) fn of(seen: &Seen) -> Before {
        let mut before = Before::default();
        for process in &seen.processes {
            for op in &process.operations {
                let key = (process.process, op.device.clone(), op.op.clone());
                before.operations.insert(key, op.words);
            }
            for call in &process.calls {
                let key = (process.process, call.library.clone(), call.name.clone());
                before.calls.insert(key, call.counts);
            }
        }
        before
    }
}

/// The rows of what was seen: what was added since `before`, by the second, or everything since the processes began.
pub(crate) fn lines(seen: &Seen, since: Option<(&Before, f64)>) -> Vec<Line> {
    let seconds = since.map_or(1.0, |(_, seconds)| seconds.max(1e-3));
    seen.processes.iter().flat_map(|process| of_process(process, since, seconds)).collect()
}

fn of_process(content: &Content, since: Option<(&Before, f64)>, seconds: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    let line = |what: String, requests: u64| Line {
        pid: content.process.pid,
        program: content.program.clone(),
        what,
        requests: requests as f64 / seconds,
        bytes_in: None,
        bytes_out: None,
        of_device: None,
    };
    for op in &content.operations {
        let mut words = op.words;
        if let Some((before, _)) = since {
            let key = (content.process, op.device.clone(), op.op.clone());
            for (word, old) in
                words.iter_mut().zip(before.operations.get(&key).into_iter().flatten())
            {
                *word = word.saturating_sub(*old);
            }
        }
        let per_second = |word: usize| Some(words[word] as f64 / seconds);
        lines.push(Line {
            bytes_in: per_second(operation::SRC_BYTES),
            bytes_out: per_second(operation::DST_BYTES),
            of_device: Some(OfDevice {
                // Little's law; over the whole life of a process it would say nothing.
                waiting: since.map(|_| words[operation::QUEUE_TOTAL_NS] as f64 / 1e9 / seconds),
                queue_p99: row::quantile(&words, operation::QUEUE_NS, 0.99),
                p50: row::quantile(&words, operation::SERVICE_NS, 0.5),
                p99: row::quantile(&words, operation::SERVICE_NS, 0.99),
                lanes: row::lanes(&words),
                errors: words[operation::ERRORS],
                rerouted: words[operation::REROUTED],
            }),
            ..line(format!("{} {}", op.device, op.op), words[operation::REQUESTS])
        });
    }
    for call in &content.calls {
        let mut counts = call.counts;
        if let Some((before, _)) = since {
            let key = (content.process, call.library.clone(), call.name.clone());
            for (count, old) in counts.iter_mut().zip(before.calls.get(&key).into_iter().flatten())
            {
                *count = count.saturating_sub(*old);
            }
        }
        let bytes = |n: usize, name: &str| {
            (call.columns[n].starts_with(name)).then_some(counts[n] as f64 / seconds)
        };
        lines.push(Line {
            bytes_in: bytes(1, "bytes"),
            bytes_out: bytes(2, "bytes"),
            ..line(format!("{} {}", call.library, call.name), counts[0])
        });
    }
    lines
}

fn sort(lines: &mut [Line], order: Order) {
    let bytes = |line: &Line| line.bytes_in.unwrap_or(0.0) + line.bytes_out.unwrap_or(0.0);
    let of = |line: &Line, what: fn(&OfDevice) -> f64| line.of_device.as_ref().map_or(-1.0, what);
    lines.sort_by(|a, b| {
        let most = |what: &dyn Fn(&Line) -> f64| what(b).total_cmp(&what(a));
        let first = match order {
            Order::Requests => most(&|line| line.requests),
            Order::Bytes => most(&bytes),
            Order::Latency => most(&|line| of(line, |d| d.p99 as f64)),
            Order::Waiting => most(&|line| of(line, |d| d.waiting.unwrap_or(0.0))),
            Order::Errors => most(&|line| of(line, |d| d.errors as f64 * 1e9 + d.rerouted as f64)),
            Order::Process => std::cmp::Ordering::Equal,
        };
        first.then(a.pid.cmp(&b.pid)).then_with(|| a.what.cmp(&b.what))
    });
}

/// A column: its head, how wide it is, what stands in it. The later ones are left out first where the screen is narrow.
type Column = (&'static str, usize, fn(&Line) -> String);

fn of_device(line: &Line, what: impl Fn(&OfDevice) -> String) -> String {
    line.of_device.as_ref().map_or_else(String::new, what)
}

/// In the order of their places; the number says which goes first: the highest.
const COLUMNS: [(usize, Column); 10] = [
    (0, ("REQ", 6, |line| number(line.requests))),
    (2, ("IN", 6, |line| line.bytes_in.map_or_else(String::new, number))),
    (6, ("OUT", 6, |line| line.bytes_out.map_or_else(String::new, number))),
    (
        5,
        ("WAIT", 6, |line| {
            of_device(line, |d| {
                d.waiting.map_or_else(String::new, |waiting| format!("{waiting:.1}"))
            })
        }),
    ),
    (8, ("Q99", 6, |line| of_device(line, |d| time(d.queue_p99)))),
    (7, ("P50", 6, |line| of_device(line, |d| time(d.p50)))),
    (1, ("P99", 6, |line| of_device(line, |d| time(d.p99)))),
    (3, ("LANES", 6, |line| of_device(line, |d| format!("{:.1}", d.lanes)))),
    (4, ("ERR", 6, |line| of_device(line, |d| number(d.errors as f64)))),
    (9, ("FALL", 6, |line| of_device(line, |d| number(d.rerouted as f64)))),
];

const PID: usize = 7;
/// The room that the name of a row has at least on a screen of this width.
fn name_of(width: usize) -> usize {
    (width / 3).clamp(16, 36)
}

/// Where there is as much, the program has a column of its own.
const WIDE_NAME: usize = 30;
const PROGRAM: usize = 12;

/// The screen, line by line. None is wider than the look says.
pub(crate) fn screen(
    seen: &Seen,
    mut lines: Vec<Line>,
    server: Option<&Server>,
    look: &Look,
    rates: bool,
) -> String {
    let width = look.width.max(NARROWEST);
    sort(&mut lines, look.order);
    let mut shown: Vec<_> = COLUMNS.iter().collect();
    let fixed = |shown: &[&(usize, Column)], program: bool| {
        PID + usize::from(program) * (1 + PROGRAM)
            + shown.iter().map(|(_, (_, width, _))| 1 + width).sum::<usize>()
    };
    while fixed(&shown, false) + 1 + name_of(width) > width {
        let Some(last) = (0..shown.len()).max_by_key(|&n| shown[n].0) else { break };
        shown.remove(last);
    }
    let program = fixed(&shown, true) + 1 + WIDE_NAME <= width;
    let name = width - fixed(&shown, program) - 1;

    let requests = number(lines.iter().map(|line| line.requests).sum());
    let per = if rates { "/s" } else { "" };
    let processes = match seen.processes.len() {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    };
    let order = look.order.name();
    let mut head = format!("lookaside by {order}: {processes}, {requests}{per}");
    if look.live {
        let keys: Vec<_> = Order::ALL.iter().map(|(key, ..)| char::from(*key)).collect();
        let _ = write!(head, "  ({} sort, q quits)", String::from_iter(keys));
    }
    let mut out = Out { text: String::new(), width, colour: look.colour, lines: 0 };
    out.line(&head, Some(BOLD));
    for note in seen.notes.iter().take(NOTES) {
        out.line(note, Some(RED));
    }
    let mut heads = format!("{:>PID$}", "PID");
    if program {
        let _ = write!(heads, " {:PROGRAM$}", "PROGRAM");
    }
    let _ = write!(
        heads,
        " {:name$}",
        if name < WIDE_NAME && !program { "PROGRAM: WHAT" } else { "WHAT" }
    );
    for (_, (head, width, _)) in &shown {
        let head = if rates && matches!(*head, "REQ" | "IN" | "OUT") {
            format!("{head}/s")
        } else {
            (*head).to_owned()
        };
        let _ = write!(heads, " {head:>width$}");
    }
    out.line(&heads, Some(INVERSE));
    let room = look.height.map_or(usize::MAX, |height| height.saturating_sub(out.lines));
    let server = server.map(Server::rows);
    // Of functions at most half of the room, with their head.
    let of_server = server.as_ref().map_or(0, |(_, rows)| 1 + rows.len());
    let of_server = of_server.min((room / 2).max(room.saturating_sub(lines.len().max(1))));
    // A head alone says nothing.
    let of_server = if of_server < 2 { 0 } else { of_server };
    let room = room - of_server;
    let rows = lines.iter().map(|line| {
        let mut text = format!("{:>PID$}", line.pid);
        if program {
            let _ = write!(text, " {}", cut(&line.program, PROGRAM));
            let _ = write!(text, " {}", cut(&line.what, name));
        } else {
            let _ = write!(text, " {}", cut(&format!("{}: {}", line.program, line.what), name));
        }
        for (_, (_, width, cell)) in &shown {
            let _ = write!(text, " {:>width$}", cell(line));
        }
        let failed = line.of_device.as_ref().is_some_and(|d| d.errors + d.rerouted > 0);
        (text, failed)
    });
    out.rows(rows, room);
    if lines.is_empty() {
        out.line("no process has counters: use lookaside run, or set LOOKASIDE_COUNTERS=1", None);
    }
    if let Some((head, rows)) = server
        && of_server > 0
    {
        out.line(&head, Some(INVERSE));
        out.rows(rows.into_iter(), of_server - 1);
    }
    out.text
}

/// Notes that a screen has room for.
const NOTES: usize = 3;

const BOLD: &str = "\x1b[1m";
const INVERSE: &str = "\x1b[7m";
const RED: &str = "\x1b[31m";

struct Out {
    text: String,
    width: usize,
    colour: bool,
    lines: usize,
}

impl Out {
    /// A line, cut at the width.
    fn line(&mut self, text: &str, colour: Option<&str>) {
        let text: String = text.chars().take(self.width).collect();
        let text = text.trim_end();
        match colour.filter(|_| self.colour) {
            Some(colour) => self.text += &format!("{colour}{text}\x1b[0m\n"),
            None => self.text += &format!("{text}\n"),
        }
        self.lines += 1;
    }

    /// The rows that `room` lines hold, in red those that tell of a failure; of others how many there are.
    fn rows(&mut self, rows: impl ExactSizeIterator<Item = (String, bool)>, room: usize) {
        let count = rows.len();
        let fits = if count <= room { count } else { room.saturating_sub(1) };
        for (text, failed) in rows.take(fits) {
            self.line(&text, failed.then_some(RED));
        }
        if fits < count {
            self.line(&format!("{} more", count - fits), None);
        }
    }
}

/// A text of exactly this many characters; what is cut ends with a dot.
pub(crate) fn cut(text: &str, width: usize) -> String {
    match text.chars().count() {
        n if n <= width => format!("{text:width$}"),
        _ => text.chars().take(width.saturating_sub(1)).chain(['.']).collect(),
    }
}

/// A number in at most five characters: `999`, `12.3k`, `4.56G`.
pub(crate) fn number(n: f64) -> String {
    if n <= 0.0 {
        return "0".to_owned();
    }
    if n < 9.95 && n.fract() != 0.0 {
        return format!("{n:.1}");
    }
    let mut n = n;
    for unit in ["", "k", "M", "G", "T", "P"] {
        if n < 999.5 {
            return match (unit, n) {
                ("", _) => format!("{n:.0}"),
                (_, n) if n < 9.995 => format!("{n:.2}{unit}"),
                (_, n) if n < 99.95 => format!("{n:.1}{unit}"),
                _ => format!("{n:.0}{unit}"),
            };
        }
        n /= 1000.0;
    }
    format!("{n:.0}E")
}

/// A time in nanoseconds, in at most five characters.
pub(crate) fn time(ns: u64) -> String {
    if ns >= (1 << (BUCKETS - 1)) - 1 {
        // The last bucket has no upper bound.
        return "long".to_owned();
    }
    let mut n = ns as f64;
    for unit in ["ns", "us", "ms"] {
        if n < 999.5 {
            return match n {
                n if unit != "ns" && n < 9.95 => format!("{n:.1}{unit}"),
                n => format!("{n:.0}{unit}"),
            };
        }
        n /= 1000.0;
    }
    if n < 9.95 { format!("{n:.1}s") } else { format!("{n:.0}s") }
}

#[cfg(test)]
mod tests {
    use lookaside_page::read::{Call, Operation};

    use super::*;

    fn content(pid: u64, requests: u64) -> Content {
        let mut words = [0; operation::WORDS];
        words[operation::REQUESTS] = requests;
        words[operation::SRC_BYTES] = 1000 * requests;
        words[operation::BATCHES] = requests / 4;
        words[operation::QUEUE_TOTAL_NS] = 2_000_000_000;
        words[operation::SERVICE_NS + 10] = requests;
        Content {
            process: Identity { pid, start: 1, namespace: 1 },
            program: "a-program-with-a-long-name".into(),
            created: 0,
            no_room: 0,
            operations: vec![Operation { device: "cpu".into(), op: "dc.compress".into(), words }],
            calls: vec![Call {
                library: "hyperscan".into(),
                columns: ["count", "bytes", "matches"].map(String::from),
                name: "scan, block".into(),
                counts: [requests / 10, 77, 5],
            }],
            not_run: 0,
            resets: 0,
            unknown: 0,
            fault: None,
        }
    }

    fn seen() -> Seen {
        Seen {
            processes: vec![content(7, 100), content(4_194_304, 4000)],
            notes: vec!["/run/x: it is open to other users: chmod 700".into()],
            removed: 0,
        }
    }

    fn look(width: usize) -> Look {
        Look { width, height: None, colour: false, order: Order::Requests, live: true }
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for width in (NARROWEST..200).chain([1000]) {
            let text = screen(&seen(), lines(&seen(), None), None, &look(width), false);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(text.contains("REQ") && text.contains("4194304"), "{width}: {text}");
            assert_eq!(text.contains("FALL"), width >= 114, "{width}: {text}");
        }
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let before = Before::of(&seen());
        let mut after = seen();
        after.processes[0] = content(7, 300);
        let lines = lines(&after, Some((&before, 2.0)));
        assert_eq!((lines[0].requests, lines[0].bytes_in), (100.0, Some(100_000.0)));
        let device = lines[0].of_device.as_ref().unwrap();
        assert_eq!((device.waiting, device.lanes, device.p99), (Some(0.0), 4.0, 1023));
        assert_eq!((lines[1].requests, lines[1].bytes_out), (10.0, None));
        // A process that is new has no reading before.
        let lines = super::lines(&seen(), Some((&Before::default(), 4.0)));
        assert_eq!(lines[0].of_device.as_ref().unwrap().waiting, Some(0.5));
    }

    #[test]
    fn rows_are_sorted_and_cut_at_the_height() {
        let short = Look { height: Some(5), ..look(100) };
        let text = screen(&seen(), lines(&seen(), None), None, &short, false);
        assert_eq!(text.lines().count(), 5);
        assert!(text.lines().nth(3).unwrap().contains("4194304"), "{text}");
        assert!(text.ends_with("3 more\n"));
        let by = |order| {
            let look = Look { order, ..look(120) };
            let text = screen(&seen(), lines(&seen(), None), None, &look, false);
            let row = text.lines().nth(3).unwrap().to_owned();
            row.split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!((by(Order::Bytes), by(Order::Process)), ("4194304".into(), "7".into()));
        let none = screen(&Seen::default(), Vec::new(), None, &look(80), true);
        assert!(none.contains("LOOKASIDE_COUNTERS=1"));
        let colour = Look { colour: true, ..look(80) };
        let text = screen(&seen(), lines(&seen(), None), None, &colour, true);
        assert!(text.starts_with(BOLD) && text.contains(INVERSE) && text.contains("REQ/s"));
    }

    #[test]
    fn a_server_has_its_rows_below() {
        let server = Server::new("/nowhere".into());
        let with = |height| {
            let look = Look { height, ..look(80) };
            screen(&seen(), lines(&seen(), None), Some(&server), &look, false)
        };
        // The head, a note, the heads, four rows; then two lines of the server.
        let text = with(None);
        assert_eq!(text.lines().count(), 9);
        assert!(text.lines().nth(7).unwrap().starts_with("virtual functions"), "{text}");
        for height in 4..12 {
            let text = with(Some(height));
            assert!(text.lines().count() <= height, "{height}: {text}");
            assert_eq!(text.contains("virtual functions"), height >= 7, "{height}: {text}");
            assert_eq!(text.contains("more"), (4..9).contains(&height), "{height}: {text}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let number = |n: f64, text: &str| assert_eq!(super::number(n), text);
        for (n, text) in [(0.0, "0"), (0.25, "0.2"), (7.0, "7"), (12.6, "13"), (999.4, "999")] {
            number(n, text);
        }
        for (n, text) in
            [(999.6, "1.00k"), (12_345.0, "12.3k"), (4.56e9, "4.56G"), (1e30, "1000000000000E")]
        {
            number(n, text);
        }
        for (ns, text) in [
            (0, "0ns"),
            (1023, "1.0us"),
            (999_999, "1.0ms"),
            (65_535, "66us"),
            (8_589_934_591, "8.6s"),
        ] {
            assert_eq!(time(ns), text);
        }
        assert_eq!(time((1 << 39) - 1), "long");
    }
}
