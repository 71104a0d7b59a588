//! What requests cost on this machine: measured once, kept in the user's folder, and what follows for
//! capacity and for the promises of virtual functions.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use lookaside::{
    Auth, Buf, Carried, ChainOrder, Cipher, Compression, Hash, InstanceConfig, Op, Packet, Request,
    Response, RsaScheme, Runtime, Span, Xml,
    scan::{Expression, Mode},
};
use lookaside_shares::{Costs, Row};
use lookaside_simd::Cpu;

use crate::{
    data::Data,
    load::Failure,
    machine::{Machine, Usage},
    progress::Progress,
    replace::replace,
    rounds::{ROUNDS, Rounds, enough},
    rsa::Known,
};

/// One kind of request, at one size.
struct Probe {
    op: Op,
    algorithm: &'static str,
    size: u64,
    /// How many such requests one is worth: the packets of a burst.
    each: u64,
    make: Box<dyn Fn(Option<Response>) -> Request>,
}

/// Outstanding requests: enough for full batches.
const DEPTH: usize = 32;

impl Probe {
    /// Nanoseconds of one engine for a request, while there are many.
    fn measure(&self, runtime: &Runtime, time: Duration) -> Result<f64, Failure> {
        let config = InstanceConfig { depth: DEPTH, ..InstanceConfig::default() };
        let mut instance = runtime.instance(config).map_err(Failure::Setup)?;
        let counted = || runtime.counters().row("cpu", self.op).cloned().unwrap_or_default();
        let before = counted();
        let (start, mut spare, mut pushed) = (Instant::now(), Vec::new(), 0);
        while pushed == 0 || start.elapsed() < time || instance.outstanding() > 0 {
            let more = pushed == 0 || start.elapsed() < time;
            while more && instance.free() > 0 {
                let request = (self.make)(spare.pop());
                if instance.push(request).is_err() {
                    unreachable!("there is room");
                }
                pushed += 1;
            }
            instance.wait_many(DEPTH / 2, Duration::from_secs(1));
            for response in instance.poll() {
                response.result.map_err(|e| Failure::Answer(self.op, pushed, e))?;
                spare.push(response);
            }
        }
        let after = counted();
        let requests = (after.requests - before.requests).max(1) * self.each;
        Ok((after.busy_ns - before.busy_ns).max(1) as f64 / requests as f64)
    }
}

fn compress(runtime: &Runtime, data: &Data, level: u8, len: usize) -> Result<Probe, Failure> {
    let spec = Compression { level, ..Compression::default() };
    let session = runtime.compression(spec).map_err(Failure::Setup)?;
    let bytes = data.bytes.clone();
    let at = std::cell::Cell::new(0);
    let make = move |r: Option<Response>| {
        let begin = at.get();
        at.set(if begin + 2 * len <= bytes.len() { begin + len } else { 0 });
        let dst = r.map_or_else(|| Buf::zeroed(session.bound(len)), |r| r.dst);
        session.compress(Buf::shared(bytes.clone(), begin..begin + len), dst)
    };
    let algorithm = if level == 1 { "DEFLATE-1" } else { "DEFLATE-6" };
    Ok(Probe { op: Op::Compress, algorithm, size: len as u64, each: 1, make: Box::new(make) })
}

fn decompress(runtime: &Runtime, data: &Data, len: usize) -> Result<Probe, Failure> {
    let session = runtime.compression(Compression::default()).map_err(Failure::Setup)?;
    let src = Buf::shared(data.bytes.clone(), 0..len);
    let packed = session.compress(src, Buf::zeroed(session.bound(len)));
    let packed = runtime.handle().call(packed).wait();
    let done = packed.result.map_err(|e| Failure::Answer(Op::Compress, 0, e))?;
    let mut packed = packed.dst.into_vec();
    packed.truncate(done.produced);
    let packed = std::sync::Arc::new(packed);
    let make = move |r: Option<Response>| {
        let dst = r.map_or_else(|| Buf::zeroed(len), |r| r.dst);
        session.decompress(Buf::shared(packed.clone(), 0..packed.len()), dst)
    };
    let (op, algorithm) = (Op::Decompress, "DEFLATE");
    Ok(Probe { op, algorithm, size: len as u64, each: 1, make: Box::new(make) })
}

fn rsa(runtime: &Runtime) -> Result<Probe, Failure> {
    let session = Known::new(runtime)?.session(runtime)?;
    let make = move |_: Option<Response>| {
        session.run(RsaScheme::Raw, Buf::from(vec![1; 256]), Buf::zeroed(256))
    };
    let (op, algorithm) = (Op::RsaPrivate, "RSA-2048-CRT");
    Ok(Probe { op, algorithm, size: 256, each: 1, make: Box::new(make) })
}

fn chained(runtime: &Runtime, len: u32) -> Result<Probe, Failure> {
    const BURST: u32 = 32;
    let order = ChainOrder::CipherThenAuth;
    let session = runtime
        .chain((Cipher::AesCbc, &[7; 16]), (Auth::Hmac(Hash::Sha256), &[9; 32]), 16, order)
        .map_err(Failure::Setup)?;
    let make = move |r: Option<Response>| {
        let packet = |i: u32| {
            let text = Span::new(i * (len + 16), len);
            let tag = text.offset + text.len;
            Packet { iv: [1; 16].into(), cipher: text, auth: text, tag, ..Packet::default() }
        };
        let (packets, dst) = match r {
            Some(Response { carried: Some(carried), dst, .. }) => (carried, dst),
            _ => {
                let packets: Vec<_> = (0..BURST).map(packet).collect();
                (Box::<Carried>::from(packets), Buf::zeroed((BURST * (len + 16)) as usize))
            }
        };
        session.seal(packets, Buf::empty(), dst)
    };
    let (op, algorithm) = (Op::Seal, "AES-128-CBC-HMAC-SHA256");
    let (size, each) = (u64::from(len), u64::from(BURST));
    Ok(Probe { op, algorithm, size, each, make: Box::new(make) })
}

fn scan(runtime: &Runtime, data: &Data, len: usize) -> Result<Probe, Failure> {
    /// A thousand strings, half of them with more behind: as rules for traffic are.
    const PATTERNS: u32 = 1000;
    let pattern = |id: u32| {
        let tail = if id.is_multiple_of(2) { "" } else { "[0-9a-f]{4}" };
        Expression { id, text: format!("/{id:04}-attack{tail}").into(), ..Expression::default() }
    };
    let patterns: Vec<_> = (0..PATTERNS).map(pattern).collect();
    let scanner = runtime.scan(patterns, Mode::Block).map_err(Failure::Setup)?;
    let bytes = data.bytes.clone();
    let at = std::cell::Cell::new(0);
    let make = move |r: Option<Response>| {
        let begin = at.get();
        at.set(if begin + 2 * len <= bytes.len() { begin + len } else { 0 });
        let dst = r.map_or_else(|| Buf::zeroed(4096), |r| r.dst);
        scanner.scan(Buf::shared(bytes.clone(), begin..begin + len), dst)
    };
    let (op, algorithm) = (Op::Scan, "patterns");
    Ok(Probe { op, algorithm, size: len as u64, each: 1, make: Box::new(make) })
}

/// A document of this size, of elements, attributes and texts.
fn document(len: usize) -> Vec<u8> {
    let mut text = String::from("<orders>");
    let mut i = 0;
    while text.len() + 200 < len {
        text += &format!(
            "<order id='{i}' state=\"open\"><item count='{}'>some words of item {i}</item></order>\n",
            i % 97
        );
        i += 1;
    }
    let pad = len - text.len() - "</orders>".len();
    (text + &" ".repeat(pad) + "</orders>").into_bytes()
}

fn xml(runtime: &Runtime, len: usize) -> Result<Probe, Failure> {
    let documents = runtime.xml(Xml::default()).map_err(Failure::Setup)?;
    documents.document().map_err(|e| Failure::Answer(Op::Parse, 0, e))?;
    let text = std::sync::Arc::new(document(len));
    let make = move |r: Option<Response>| {
        let src = Buf::shared(text.clone(), 0..len);
        let (document, dst) = match r {
            Some(Response { carried: Some(carried), dst, .. }) => match *carried {
                Carried::Document(document) => (Some(document), dst),
                _ => (None, dst),
            },
            _ => (None, Buf::zeroed(16 * len)),
        };
        match document.map_or_else(|| documents.document(), Ok) {
            Ok(document) => documents.parse(&document, src, dst),
            Err(_) => unreachable!("there was one before"),
        }
    };
    let (op, algorithm) = (Op::Parse, "events");
    Ok(Probe { op, algorithm, size: len as u64, each: 1, make: Box::new(make) })
}

fn probes(runtime: &Runtime, data: &Data) -> Result<Vec<Probe>, Failure> {
    Ok(vec![
        compress(runtime, data, 1, 4096)?,
        compress(runtime, data, 1, 65_536)?,
        compress(runtime, data, 1, 1 << 20)?,
        compress(runtime, data, 6, 65_536)?,
        decompress(runtime, data, 4096)?,
        decompress(runtime, data, 65_536)?,
        rsa(runtime)?,
        chained(runtime, 64)?,
        chained(runtime, 1024)?,
        chained(runtime, 16_384)?,
        scan(runtime, data, 1024)?,
        scan(runtime, data, 16_384)?,
        xml(runtime, 1024)?,
        xml(runtime, 16_384)?,
    ])
}

/// Costs, and what is to be said of how they came about.
pub struct Measured {
    pub costs: Costs,
    /// What makes them doubtful.
    pub doubts: Vec<String>,
}

/// Measures all of them, `time` each for all rounds together: in rounds, until they agree or there were
/// enough.
pub fn measure(time: Duration) -> Result<Measured, Box<dyn std::error::Error>> {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start()?;
    let data = Data::generated();
    let probes = probes(&runtime, &data)?;
    let usage = Usage::now();
    let mut progress = Progress::new("costs");
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); probes.len()];
    for round in 0.. {
        // A short round first, of which nothing is kept: caches, tables, the clock of the CPU.
        let each = if round == 0 { time / 20 } else { time / ROUNDS };
        for (probe, times) in probes.iter().zip(&mut times) {
            progress.show(&format!(
                "round {round}, {} {} of {}",
                probe.op, probe.algorithm, probe.size
            ));
            times.push(probe.measure(&runtime, each)?);
        }
        if round == 0 {
            times.iter_mut().for_each(Vec::clear);
        } else if enough(round, times.iter().map(|t| Rounds::of(t.iter().copied()))) {
            break;
        }
    }
    progress.end();
    let machine = Machine::here();
    let mut costs = Costs::new(machine.cpu_model, Cpu::host().tier().name());
    let mut wide = Vec::new();
    for (probe, times) in probes.iter().zip(&times) {
        let rounds = Rounds::of(times.iter().copied());
        if rounds.is_wide() {
            let (name, spread) = (probe.algorithm, 100.0 * rounds.spread);
            wide.push(format!("{name} of {} by {spread:.0} %", probe.size));
        }
        let (op, algorithm, size) = (probe.op, probe.algorithm.to_owned(), probe.size);
        costs.set(Row { op, algorithm, size, ns: rounds.median });
    }
    let mut doubts = Vec::new();
    if !wide.is_empty() {
        doubts.push(format!("the rounds differ: {}", wide.join("; ")));
    }
    doubts.extend(usage.and_then(|before| before.busy()));
    Ok(Measured { costs, doubts })
}

/// The file in which they are kept: of the user's folder for such things.
pub fn place() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let folder = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(folder.join("lookaside").join("costs"))
}

/// Those that are kept, if they are of this CPU and tier; otherwise why not.
pub fn stored(place: &Path) -> Result<Costs, String> {
    let text = fs::read_to_string(place).map_err(|e| format!("{}: {e}", place.display()))?;
    let costs = Costs::parse(&text).map_err(|e| format!("{}: {e}", place.display()))?;
    let (cpu, tier) = (Machine::here().cpu_model, Cpu::host().tier().name());
    match costs.is_of(&cpu, tier) {
        true => Ok(costs),
        false => Err(format!(
            "{}: measured on {} with {}, which this is not",
            place.display(),
            costs.cpu,
            costs.tier
        )),
    }
}

/// Keeps them: whole, or as before.
pub fn store(place: &Path, costs: &Costs) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", place.display());
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(fail)?;
    }
    replace(place, &costs.print(), None).map_err(fail)
}
