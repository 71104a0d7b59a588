//! `lookaside scan`: patterns in files, folders, standard input and packet captures.
//!
//! Each file, and each direction of a flow of a capture, is a stream: its pieces are requests one after the other, those
//! of others run beside them. What is printed is in the order of the command line, whoever answers first.

mod bench;
mod capture;
mod counters;
mod flows;
mod hyperscan;
mod input;
mod lines;
mod options;
mod packet;
mod report;
mod rules;
mod snort;
mod stream;

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use lookaside::{InstanceConfig, Op, Runtime, Scanner, SetupError, scan::Mode};

pub use options::Options;
pub(crate) use options::values_apart;

use capture::Capture;
use flows::{Event, Flows};
pub(crate) use input::{Input, Walk};
use report::Report;
pub(crate) use report::print;
use rules::{Listed, Rules};
pub(crate) use stream::Piece;
use stream::{Device, Stream};

/// What is printed of a file whose turn has not come, before the file has to wait.
const MOST_OUT: usize = 1 << 20;
/// Bytes and packets of a capture that are taken before their flows are scanned, side by side.
const ROUND: (usize, usize) = (1 << 20, 8192);

/// Exit statuses, as grep's.
const NONE: u8 = 1;
const TROUBLE: u8 = 2;

/// Scans. The exit status: 0 if something was found, 1 if not, 2 if something went wrong.
pub fn run(options: &Options) -> ExitCode {
    match scan(options) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("lookaside: {}", crate::plain(&message));
            ExitCode::from(TROUBLE)
        }
    }
}

fn scan(options: &Options) -> Result<u8, String> {
    let mut rules = Rules::read(&options.sources, options.reading)?;
    if !rules.wrong().is_empty() {
        return Err(rules.wrong().join("\nlookaside: "));
    }
    let runtime = Runtime::builder().device(lookaside_cpu::cpu());
    let runtime = match options.bench {
        true => runtime.engines(0),
        false => runtime,
    };
    let runtime = runtime.start().map_err(|e| e.to_string())?;
    let mode = if options.bench { Mode::Block } else { Mode::Stream };
    let begun = Instant::now();
    let (scanner, listed) = compile(&runtime, &mut rules, mode)?;
    let took = begun.elapsed();
    let ignored = rules.ignored();
    if options.explain {
        let mut out = explain(&scanner, &listed, took, &ignored).into_bytes();
        print(&mut out).map_err(|e| format!("standard output: {e}"))?;
        return Ok(0);
    }
    if !ignored.is_empty() {
        eprintln!("lookaside: of {} rules: {}", listed.rules(), ignored.join(", "));
    }
    let config = InstanceConfig::default();
    let instance = runtime.instance(config).map_err(|e| e.to_string())?;
    if options.bench {
        return bench::run(options, &runtime, &scanner, &listed.expressions, instance);
    }
    let device = Device { scanner: &scanner, instance, records: vec![] };
    let width = 2 * runtime.engines() + 2;
    let mut run = Run { options, device, width, sums: Sums::default() };
    let begun = Instant::now();
    match run.files() {
        // Who reads no further wants no more.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.map_err(|e| format!("standard output: {e}"))?,
    }
    if options.speed {
        eprint!("{}", run.sums.speed(&runtime, begun.elapsed()));
    }
    if options.counters {
        let counted = scanner.counters();
        match options.style.json {
            true => {
                let mut out = format!("{}\n", counters::object(&counted, &listed)).into_bytes();
                match print(&mut out) {
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
                    written => written.map_err(|e| format!("standard output: {e}"))?,
                }
            }
            false => eprint!("{}", counters::table(&counted, &listed)),
        }
    }
    Ok(match run.sums {
        Sums { trouble: true, .. } => TROUBLE,
        Sums { matched: true, .. } => 0,
        _ => NONE,
    })
}

/// Compiles the patterns, without what the engine refuses of rules.
fn compile(runtime: &Runtime, rules: &mut Rules, mode: Mode) -> Result<(Scanner, Listed), String> {
    loop {
        let listed = rules.list();
        if listed.expressions.is_empty() {
            return Err("there are no patterns".into());
        }
        match runtime.scan(listed.expressions.clone(), mode) {
            Ok(scanner) => return Ok((scanner, listed)),
            Err(SetupError::Patterns(bad)) if !bad.is_empty() => {
                let fatal = rules.refuse(&listed, &bad);
                if !fatal.is_empty() {
                    return Err(fatal.join("\nlookaside: "));
                }
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

fn explain(scanner: &Scanner, listed: &Listed, took: Duration, ignored: &[String]) -> String {
    let ms = took.as_secs_f64() * 1e3;
    let mut out = format!("{} patterns, compiled in {ms:.1} ms", listed.expressions.len());
    if listed.rules() > 0 {
        out += &format!(", for {} rules", listed.rules());
    }
    out.push('\n');
    for what in ignored {
        out += &format!("  {what}\n");
    }
    out += &scanner.explain().unwrap_or_else(|| "the device does not say more\n".into());
    out
}

/// What was done.
#[derive(Default)]
struct Sums {
    matched: bool,
    trouble: bool,
    files: u64,
    flows: u64,
    packets: u64,
}

impl Sums {
    fn complain(&mut self, message: &str) {
        self.trouble = true;
        eprintln!("lookaside: {message}");
    }

    /// The rate, and who served it by the device's own counters.
    fn speed(&self, runtime: &Runtime, took: Duration) -> String {
        let counters = runtime.counters();
        let rows = counters.ops.iter().filter(|row| row.op == Op::Scan.to_string());
        let rows: Vec<_> = rows.filter(|row| row.requests > 0).collect();
        let bytes: u64 = rows.iter().map(|row| row.src_bytes).sum();
        let rate = |seconds: f64| bytes as f64 * 8e-9 / seconds.max(1e-9);
        let seconds = took.as_secs_f64();
        let mut out = format!(
            "scanned {bytes} bytes in {seconds:.3} s: {:.2} Gbit/s; {} files",
            rate(seconds),
            self.files
        );
        if self.packets > 0 {
            let (packets, flows) = (self.packets, self.flows);
            out += &format!(", {packets} packets, {flows} directions of flows");
        }
        out.push('\n');
        for row in rows {
            let busy = row.busy_ns as f64 * 1e-9;
            let own = row.src_bytes as f64 * 8e-9 / busy.max(1e-9);
            out += &format!(
                "served by {}: {} requests, {} bytes, {own:.2} Gbit/s per engine, {} engines\n",
                row.device,
                row.requests,
                row.src_bytes,
                runtime.engines(),
            );
        }
        out
    }
}

/// A file in its turn, or one before.
struct Active {
    /// The capture, or the file.
    input: Input,
    stream: Option<Stream>,
    out: Vec<u8>,
}

impl Active {
    fn is_over(&self) -> bool {
        let Some(stream) = &self.stream else { return true };
        let left = self.input.has_ended() || stream.failed.is_some();
        left && !stream.is_in_flight() && !stream.is_ready()
    }

    /// Reads a piece, if none waits.
    fn read(&mut self, sums: &mut Sums) {
        let Some(stream) = &mut self.stream else { return };
        if !stream.pieces.is_empty() || self.input.has_ended() || stream.failed.is_some() {
            return;
        }
        match self.input.read() {
            Ok(piece) => stream.pieces.push_back(piece),
            Err(e) => {
                sums.complain(&format!("{}: {e}", self.input.name));
                self.input.end();
            }
        }
    }
}

struct Run<'a> {
    options: &'a Options,
    device: Device<'a>,
    /// How many files are open at once.
    width: usize,
    sums: Sums,
}

impl Run<'_> {
    /// Scans all files. Fails where the output cannot be written.
    fn files(&mut self) -> io::Result<()> {
        let mut walk = Walk::new(&self.options.paths);
        let mut active: VecDeque<Active> = VecDeque::new();
        // The tag of the first one.
        let mut first = 0;
        let mut more = true;
        while more || !active.is_empty() {
            while more && active.len() < self.width {
                match walk.next() {
                    None => more = false,
                    Some(Err(message)) => self.sums.complain(&message),
                    Some(Ok(input)) => active.push_back(self.open(input)),
                }
            }
            if let Some(front) = active.front_mut() {
                print(&mut front.out)?;
                if front.is_over()
                    && let Some(front) = active.pop_front()
                {
                    first += 1;
                    self.close(front, &mut active, first)?;
                    continue;
                }
            }
            for (tag, file) in (first..).zip(&mut active) {
                if tag == first || file.out.len() < MOST_OUT {
                    file.read(&mut self.sums);
                    if let Some(stream) = &mut file.stream {
                        stream.submit(&mut self.device, tag);
                    }
                }
            }
            self.device.instance.doorbell();
            // Who waits for more of a pipe would keep what was found from who reads.
            let ahead = active.iter_mut().filter(|file| file.input.is_regular());
            ahead.for_each(|file| file.read(&mut self.sums));
            self.answers(&mut active, first);
        }
        Ok(())
    }

    fn open(&mut self, input: Input) -> Active {
        self.sums.files += 1;
        let is_capture = input.is_capture() && !self.options.raw;
        let name = Arc::from(&*input.name);
        let stream =
            (!is_capture).then(|| Stream::new(Report::new(self.options.style, name, None)));
        Active { input, stream, out: vec![] }
    }

    /// Waits for answers, and takes them.
    fn answers(&mut self, active: &mut VecDeque<Active>, first: u64) {
        let Device { instance, .. } = &mut self.device;
        if instance.outstanding() > 0 {
            instance.wait(Duration::from_secs(1));
        }
        let responses: Vec<_> = instance.poll().collect();
        for response in responses {
            let Some(file) = active.get_mut((response.tag - first) as usize) else { continue };
            let Some(stream) = &mut file.stream else { continue };
            stream.answer(&mut self.device, response, &mut file.out);
            if self.options.style.files && stream.report.matched {
                stream.stop();
                file.input.end();
            }
        }
    }

    /// The file's turn has come, and it is done; or it is a capture, and is scanned now.
    fn close(
        &mut self,
        mut file: Active,
        others: &mut VecDeque<Active>,
        first: u64,
    ) -> io::Result<()> {
        let Some(mut stream) = file.stream else {
            // Answers of other files would be taken for those of flows.
            while self.device.instance.outstanding() > 0 {
                self.answers(others, first);
            }
            return self.capture(file.input);
        };
        if let Some(why) = stream.failed {
            self.sums.complain(&format!("{}: {why}", file.input.name));
        }
        self.sums.matched |= stream.report.matched;
        stream.report.end(&mut file.out);
        print(&mut file.out)
    }

    /// Scans a capture, flow by flow.
    fn capture(&mut self, input: Input) -> io::Result<()> {
        let file: Arc<str> = input.name.as_str().into();
        let mut capture = match Capture::new(input.into_reader()) {
            Ok(capture) => capture,
            Err(e) => {
                self.sums.complain(&format!("{file}: {e}"));
                return Ok(());
            }
        };
        let mut flows = Flows::default();
        let mut texts = Texts { style: self.options.style, file: file.clone(), ..Texts::default() };
        let mut over = false;
        while !over {
            let mut packets = 0;
            while !over && packets < ROUND.1 && texts.waiting < ROUND.0 {
                packets += 1;
                match capture.next() {
                    Ok(Some(packet)) => flows.packet(&packet, &mut |n, d, e| texts.take(n, d, e)),
                    Ok(None) => over = true,
                    Err(e) => {
                        self.sums.complain(&format!("{file}: {e}"));
                        over = true;
                    }
                }
            }
            if over {
                flows.end(&mut |n, d, e| texts.take(n, d, e));
            }
            self.round(&mut texts)?;
            // One match is enough to name the file.
            over |= self.options.style.files && texts.matched;
        }
        let mut report = Report::new(self.options.style, file.clone(), None);
        for stream in texts.streams {
            report.matched |= stream.report.matched;
            for (id, count) in stream.report.counts {
                *report.counts.entry(id).or_default() += count;
            }
        }
        self.sums.matched |= report.matched;
        self.sums.packets += flows.packets;
        self.sums.flows += texts.offsets.len() as u64;
        for (why, packets) in &flows.skipped {
            eprintln!("lookaside: {file}: {packets} packets skipped: {why}");
        }
        if flows.gaps > 0 {
            let gaps = flows.gaps;
            eprintln!("lookaside: {file}: {gaps} gaps in flows of TCP: segments are missing");
        }
        let mut out = Vec::new();
        report.end(&mut out);
        print(&mut out)
    }

    /// Scans what waits of all flows, side by side, and prints what was found.
    fn round(&mut self, texts: &mut Texts) -> io::Result<()> {
        let touched = std::mem::take(&mut texts.touched);
        texts.waiting = 0;
        let mut outs: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut ready: VecDeque<usize> = touched.iter().copied().collect();
        loop {
            while let Some(&n) = ready.front() {
                if self.device.instance.free() == 0 {
                    break;
                }
                ready.pop_front();
                texts.streams[n].submit(&mut self.device, n as u64);
            }
            let Device { instance, .. } = &mut self.device;
            instance.doorbell();
            if instance.outstanding() == 0 {
                break;
            }
            instance.wait(Duration::from_secs(1));
            let responses: Vec<_> = instance.poll().collect();
            for response in responses {
                let n = response.tag as usize;
                let stream = &mut texts.streams[n];
                stream.answer(&mut self.device, response, outs.entry(n).or_default());
                texts.matched |= stream.report.matched;
                if stream.is_ready() {
                    ready.push_back(n);
                }
            }
        }
        for n in touched {
            if let Some(out) = outs.get_mut(&n) {
                print(out)?;
            }
            if let Some(why) = texts.streams[n].failed.take() {
                self.sums.complain(&format!("{}: {why}", texts.file));
            }
        }
        Ok(())
    }
}

/// The texts of a capture's flows.
#[derive(Default)]
struct Texts {
    style: report::Style,
    file: Arc<str>,
    streams: Vec<Stream>,
    /// How far each text has come.
    offsets: Vec<u64>,
    /// Those that have something to be scanned, in the order in which it came.
    touched: Vec<usize>,
    /// Bytes of it.
    waiting: usize,
    matched: bool,
}

impl Texts {
    fn take(&mut self, number: usize, direction: flows::Direction, event: Event<'_>) {
        if number == self.streams.len() {
            let report = Report::new(self.style, self.file.clone(), Some(direction));
            self.streams.push(Stream::new(report));
            self.offsets.push(0);
        }
        let (stream, offset) = (&mut self.streams[number], &mut self.offsets[number]);
        // What has no bytes is no text.
        if event == Event::Data(&[])
            || *offset == 0 && stream.pieces.is_empty() && event == Event::End(None)
        {
            return;
        }
        if stream.pieces.is_empty() {
            self.touched.push(number);
        }
        if stream.pieces.back().is_none_or(|piece| piece.last) {
            stream.pieces.push_back(Piece::default());
        }
        let Some(piece) = stream.pieces.back_mut() else { return };
        match event {
            Event::Data(data) => {
                piece.data.extend_from_slice(data);
                *offset += data.len() as u64;
                self.waiting += data.len();
            }
            Event::End(lost) => {
                piece.last = true;
                *offset = lost.map_or(0, |lost| *offset + lost);
                stream.beginnings.push_back(*offset);
            }
        }
    }
}
