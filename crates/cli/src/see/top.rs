//! `lookaside top`: the processes that keep counters, live or once.

use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use clap::{Args, builder::RangedU64ValueParser};
use lookaside_page::Reader;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr},
};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::descriptors;

use super::{
    functions::Server,
    gather::{Places, Seen},
    row,
    screen::{Before, Look, NARROWEST, Order, lines, screen},
};

/// Shows who is served what, live
///
/// Shows the processes that keep counters where others can read them: those of lookaside run, and all that were started
/// with LOOKASIDE_COUNTERS=1. A line for each operation of a device, and for what a library (libz.so.1, ...) served on
/// the caller's thread: requests, bytes IN and OUT; of devices the requests that WAIT on average, the time that 99 % wait
/// at most (Q99), the service times P50 and P99 (within a factor of 2), LANES filled in a batch, ERRors, and what FALLs
/// to the next device. Narrow terminals have fewer columns. Keys: r b l w e p sort by requests, bytes, latency, waiting,
/// errors, process; q quits.
#[derive(Debug, Default, PartialEq, Args)]
#[command(after_long_help = JSON)]
pub(crate) struct Top {
    /// Print one screen: sums since the processes began
    #[arg(long)]
    pub(crate) once: bool,
    /// With --once: print one JSON object
    #[arg(long, requires = "once", conflicts_with = "interval")]
    pub(crate) json: bool,
    /// Time between two readings (1); with --once: rates over it
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) interval: Option<Duration>,
    /// What comes first
    #[arg(
        long = "sort",
        value_name = "NAME",
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    pub(crate) order: Order,
    /// Show the virtual functions of the server, too, whose sockets lie in DIR
    ///
    /// As its user or root. A row for each service: requests, bytes IN and OUT; of the function the requests that are
    /// under way, CLIENTs, connections and sessions REFUSEd, and what it is PROMISED
    #[arg(long, value_name = "DIR")]
    pub(crate) server: Option<PathBuf>,
    /// At most so many columns, 40 to 1000
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(NARROWEST as u64..=1000))]
    pub(crate) width: Option<usize>,
    #[command(flatten)]
    pub(crate) places: Places,
}

const JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; processes[] {pid, program, created, not_run, resets,
  no_room, operations[] {device, op, requests, src_bytes,
  dst_bytes, batches, errors, busy, rerouted, busy_ns, lanes,
  queue_ns and service_ns {total, p50, p99}}, calls[] {library,
  call, calls or count, ...}}; notes[]; removed; with --server also
  functions[] as of lookaside stat --json, null if none answers";

pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.1..=3600.0).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or("a number from 0.1 to 3600 is wanted")
}

/// The width where there is no terminal to ask.
const WIDTH: usize = 100;

pub(crate) fn run(top: &Top) -> Result<(), Box<dyn std::error::Error>> {
    if !top.once {
        return live(top);
    }
    let mut server = top.server.clone().map(Server::new);
    let mut ask = || server.iter_mut().for_each(Server::read);
    ask();
    let (seen, rows, rates) = match top.interval {
        None => {
            let seen = top.places.read();
            let rows = lines(&seen, None);
            (seen, rows, false)
        }
        Some(interval) => {
            let (before, start) = (Before::of(&top.places.read()), Instant::now());
            thread::sleep(interval);
            ask();
            let seen = top.places.read();
            let rows = lines(&seen, Some((&before, start.elapsed().as_secs_f64())));
            (seen, rows, true)
        }
    };
    let out = io::stdout();
    let is_terminal = out.is_terminal();
    let width = top.width.or_else(|| size(&out).filter(|_| is_terminal).map(|(width, _)| width));
    let look = Look {
        width: width.unwrap_or(WIDTH),
        height: None,
        colour: has_colour(is_terminal),
        order: top.order,
        live: false,
    };
    let server = server.as_ref();
    let mut text = match top.json {
        true => json_of(&seen, server),
        false => screen(&seen, rows, server, &look, rates),
    };
    if top.places.clean && !top.json {
        text += &match seen.removed {
            1 => "1 page of a process that has ended was removed\n".to_owned(),
            n => format!("{n} pages of processes that have ended were removed\n"),
        };
    }
    match out.lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(()),
    }
}

fn has_colour(is_terminal: bool) -> bool {
    is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn json_of(seen: &Seen, server: Option<&Server>) -> String {
    let processes = seen.processes.iter().map(|process| {
        let calls = process.calls.iter().map(|call| {
            let mut object = json!({ "library": call.library, "call": call.name });
            for (column, count) in call.columns.iter().zip(call.counts) {
                if column != "-" {
                    object[column.replace(' ', "_")] = count.into();
                }
            }
            object
        });
        json!({
            "pid": process.process.pid,
            "program": process.program,
            "created": process.created,
            "not_run": process.not_run,
            "resets": process.resets,
            "no_room": process.no_room,
            "operations": process.operations.iter().map(row::json_of).collect::<Vec<_>>(),
            "calls": calls.collect::<Vec<_>>(),
        })
    });
    let processes: Vec<_> = processes.collect();
    let mut object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "processes": processes,
        "notes": seen.notes,
        "removed": seen.removed,
    });
    if let Some(server) = server {
        object["functions"] = server.json();
    }
    format!("{object}\n")
}

/// Columns and lines of a terminal.
fn size(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// A terminal that hands over each key as it is pressed, as long as this value is there.
struct Terminal {
    before: Termios,
}

impl Terminal {
    fn take() -> io::Result<Terminal> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        let terminal = Terminal { before };
        // The other screen, without a cursor.
        io::stdout().write_all(b"\x1b[?1049h\x1b[?25l")?;
        io::stdout().flush()?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = io::stdout().write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = io::stdout().flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

fn live(top: &Top) -> Result<(), Box<dyn std::error::Error>> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err("this is no terminal: --once prints one screen".into());
    }
    let interval = top.interval.unwrap_or(Duration::from_secs(1));
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP, SIGINT] {
        // The second one ends it at once: a terminal that takes nothing more keeps the first one waiting.
        signal_hook::flag::register_conditional_shutdown(signal, 1, ended.clone())?;
        signal_hook::flag::register(signal, ended.clone())?;
    }
    let _terminal = Terminal::take()?;
    let mut order = top.order;
    let (mut before, mut read_at) = (Before::default(), None::<Instant>);
    let (mut seen, mut rows, mut rates) = (Seen::default(), Vec::new(), false);
    let mut server = top.server.clone().map(Server::new);
    let (mut shown, mut reader) = (None, Reader::keeping(kept()));
    loop {
        let due = read_at.is_none_or(|at| at.elapsed() >= interval);
        if due {
            let now = Instant::now();
            seen = top.places.read_by(&mut reader);
            server.iter_mut().for_each(Server::read);
            let since = read_at.map(|at| (&before, (now - at).as_secs_f64()));
            rates = since.is_some();
            rows = lines(&seen, since);
            (before, read_at) = (Before::of(&seen), Some(now));
        }
        let (width, height) = size(io::stdout()).unwrap_or((WIDTH, 24));
        let width = top.width.map_or(width, |most| most.min(width));
        if due || shown != Some((order, width, height)) {
            let colour = has_colour(true);
            let look = Look { width, height: Some(height), colour, order, live: true };
            show(&screen(&seen, rows.clone(), server.as_ref(), &look, rates), width, height)?;
            shown = Some((order, width, height));
        }
        // A terminal that was resized is seen within this time.
        const TURN: Duration = Duration::from_millis(200);
        let left = read_at.map_or(TURN, |at| interval.saturating_sub(at.elapsed()).min(TURN));
        if !key(left, &mut order)? || ended.load(Relaxed) {
            return Ok(());
        }
    }
}

/// So many pages are kept open, with two descriptors each: as many as this process may have, less some for all else.
fn kept() -> usize {
    const OTHERS: u64 = 64;
    let limit = descriptors::raise().unwrap_or_else(|(limit, _)| limit);
    let pages = |limit: u64| usize::try_from(limit.saturating_sub(OTHERS) / 2).ok();
    limit.and_then(pages).unwrap_or(usize::MAX)
}

/// Writes a screen over the last one. A terminal that is narrower than a screen can be breaks no lines.
fn show(text: &str, width: usize, height: usize) -> io::Result<()> {
    let wrap = if width < NARROWEST { "\x1b[?7l" } else { "" };
    let mut out = format!("\x1b[H{wrap}");
    for (n, line) in text.lines().take(height).enumerate() {
        if n > 0 {
            out += "\r\n";
        }
        // The rest of the line, too.
        out += &format!("{line}\x1b[K");
    }
    out += "\x1b[J\x1b[?7h";
    let mut stdout = io::stdout().lock();
    stdout.write_all(out.as_bytes())?;
    stdout.flush()
}

/// Waits for a key for this long; `false` if it ends the command.
fn key(time: Duration, order: &mut Order) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    match poll(&mut fds, Some(&time)) {
        Ok(0) | Err(Errno::INTR) => return Ok(true),
        Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    let mut keys = [0; 64];
    let n = match rustix::io::read(&stdin, &mut keys) {
        // The terminal has gone.
        Ok(0) | Err(Errno::IO) => return Ok(false),
        Ok(n) => n,
        Err(Errno::INTR) => return Ok(true),
        Err(e) => return Err(e.into()),
    };
    // Arrows and other keys are sent as several bytes.
    if keys[0] == 0x1b {
        return Ok(true);
    }
    for key in &keys[..n] {
        const CONTROL_C: u8 = 3;
        if matches!(*key, b'q' | b'Q' | CONTROL_C) {
            return Ok(false);
        }
        if let Some((_, by, _)) = Order::ALL.iter().find(|(of, ..)| of == key) {
            *order = *by;
        }
    }
    Ok(true)
}
