//! The literal finder beside Hyperscan, on the same sets and scans.
//!
//! ```text
//! cargo bench -p lookaside-scan --bench literal [-- [--set FILE.pat --input FILE.in]... [--scan BYTES] [--scans N] [--rounds N] [NAME...]]
//! ```
//!
//! Shows Gbit/s of CPU time for scans of 1000 bytes, the medians of interleaved rounds over the whole input, and checks
//! that both report equally many matches. Without files, the sets are made here: `simpleN` of N strings of 10 letters and
//! digits, `mixedN` of strings of 4 to 14, half of them caseless; the input is random letters and digits with beginnings
//! of the strings. NAMEs choose some of them. A file has one `id:/expression/flags` a line, of which the longest plain
//! string counts; its input has records of u32 flow, u32 length and bytes.
//!
//! `--scan` cuts the inputs into scans of other lengths, `--scans` takes the first N of them: 300 scans stay in the second
//! level cache, 4000 do not. `--least` drops shorter literals. `--filter strided|vector|shift-or`, `--gram N`, `--bits N`,
//! `--step N` and `--rare BOOL` force the choice.
//!
//! Hyperscan is loaded from `libhs.so.5` (Debian: libhyperscan5) when it runs. Without it, our side runs alone.

#[path = "../src/isa.rs"]
mod isa;
#[path = "../src/literal/mod.rs"]
#[allow(dead_code)]
mod literal;

use std::collections::HashSet;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ops::ControlFlow;
use std::ptr;
use std::time::{Duration, Instant};

use literal::{Around, Finder, Forced, Literal};
use lookaside_simd::Cpu;

/// Bytes of a scan.
const SCAN: usize = 1000;
/// Scans of an input made here.
const SCANS: usize = 4000;

struct Set {
    name: String,
    literals: Vec<Literal>,
    input: Vec<Vec<u8>>,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - (self.next() >> 11) as f64 / (1u64 << 53) as f64).ln()
    }

    fn string(&mut self, len: usize) -> Vec<u8> {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..len).map(|_| ALPHABET[self.below(ALPHABET.len())]).collect()
    }
}

fn made(kind: &str, count: usize) -> Set {
    let random = &mut Random(count as u64);
    let mut seen = HashSet::new();
    let mut literals = Vec::new();
    while literals.len() < count {
        let (len, caseless) = match kind {
            "simple" => (10, false),
            _ => (4 + random.below(11), random.below(2) == 0),
        };
        let bytes: Box<[u8]> = random.string(len).into();
        if seen.insert(bytes.clone()) {
            literals.push(Literal { bytes, caseless, around: Around::default() });
        }
    }
    let mut all = Vec::new();
    while all.len() < SCAN * SCANS {
        let gap = random.exponential(100.0) as usize;
        all.extend(random.string(gap));
        let bytes = &literals[random.below(count)].bytes;
        let keep = random.exponential(2.0).round() as usize;
        all.extend_from_slice(&bytes[..keep.min(bytes.len())]);
    }
    all.truncate(SCAN * SCANS);
    let input = all.chunks(SCAN).map(<[u8]>::to_vec).collect();
    Set { name: format!("{kind}{count}"), literals, input }
}

/// The longest plain string of an expression, as far as the files of `scan-workload` use the syntax.
fn plain(expression: &[u8]) -> Vec<u8> {
    let (mut best, mut run, mut at) = (Vec::new(), Vec::new(), 0);
    while at < expression.len() {
        let end_of =
            |close| expression[at..].iter().position(|byte| *byte == close).unwrap() + at + 1;
        let (next, byte) = match expression[at] {
            b'(' => (end_of(b')'), None),
            b'[' => (end_of(b']'), None),
            b'{' => (end_of(b'}'), None),
            b'\\' => (at + 2, None),
            byte if byte.is_ascii_alphanumeric() => (at + 1, Some(byte)),
            _ => (at + 1, None),
        };
        let repeated = expression.get(next).is_some_and(|byte| b"?*+{".contains(byte));
        match byte.filter(|_| !repeated) {
            Some(byte) => run.push(byte),
            None => run.clear(),
        }
        if run.len() > best.len() {
            best.clone_from(&run);
        }
        at = next;
    }
    best
}

fn read(set: &str, input: &str) -> Set {
    let text = std::fs::read(set).expect("the file of --set");
    let mut literals = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let first = line.iter().position(|byte| *byte == b'/').expect("id:/expression/flags");
        let last = line.iter().rposition(|byte| *byte == b'/').expect("id:/expression/flags");
        let bytes = plain(&line[first + 1..last]);
        if !bytes.is_empty() {
            let caseless = line[last..].contains(&b'i');
            literals.push(Literal { bytes: bytes.into(), caseless, around: Around::default() });
        }
    }
    let data = std::fs::read(input).expect("the file of --input");
    let (mut rest, mut input) = (&*data, Vec::new());
    while let Some((head, after)) = rest.split_at_checked(8) {
        let len = u32::from_le_bytes(head[4..].try_into().unwrap()) as usize;
        input.push(after[..len].to_vec());
        rest = &after[len..];
    }
    let name = set.rsplit('/').next().unwrap().trim_end_matches(".pat").to_owned();
    Set { name, literals, input }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

type Callback =
    unsafe extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, *mut c_void) -> c_int;
type Compile = unsafe extern "C" fn(
    *const *const c_char,
    *const c_uint,
    *const c_uint,
    c_uint,
    c_uint,
    *const c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;
type AllocScratch = unsafe extern "C" fn(*const c_void, *mut *mut c_void) -> c_int;
type Scan = unsafe extern "C" fn(
    *const c_void,
    *const c_char,
    c_uint,
    c_uint,
    *mut c_void,
    Callback,
    *mut c_void,
) -> c_int;
type Size = unsafe extern "C" fn(*const c_void, *mut usize) -> c_int;

struct Hyperscan {
    compile: Compile,
    alloc_scratch: AllocScratch,
    scan: Scan,
    size: Size,
}

impl Hyperscan {
    fn load() -> Option<Hyperscan> {
        // SAFETY: the library of that name and version has these functions with these types.
        unsafe {
            let library = libc::dlopen(c"libhs.so.5".as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &std::ffi::CStr| {
                let at = libc::dlsym(library, name.as_ptr());
                (!at.is_null()).then_some(at)
            };
            Some(Hyperscan {
                compile: std::mem::transmute::<*mut c_void, Compile>(symbol(c"hs_compile_multi")?),
                alloc_scratch: std::mem::transmute::<*mut c_void, AllocScratch>(symbol(
                    c"hs_alloc_scratch",
                )?),
                scan: std::mem::transmute::<*mut c_void, Scan>(symbol(c"hs_scan")?),
                size: std::mem::transmute::<*mut c_void, Size>(symbol(c"hs_database_size")?),
            })
        }
    }
}

struct Database<'a> {
    library: &'a Hyperscan,
    database: *mut c_void,
    scratch: *mut c_void,
}

unsafe extern "C" fn count(
    _: c_uint,
    _: c_ulonglong,
    _: c_ulonglong,
    _: c_uint,
    count: *mut c_void,
) -> c_int {
    // SAFETY: what `Database::scan` passes.
    unsafe { *count.cast::<u64>() += 1 };
    0
}

impl Database<'_> {
    fn new<'a>(library: &'a Hyperscan, literals: &[Literal]) -> Database<'a> {
        const CASELESS: c_uint = 1;
        const BLOCK: c_uint = 1;
        let escaped = |literal: &Literal| {
            let hex: String = literal.bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            CString::new(hex).unwrap()
        };
        let expressions: Vec<_> = literals.iter().map(escaped).collect();
        let pointers: Vec<_> = expressions.iter().map(|expression| expression.as_ptr()).collect();
        let flags: Vec<_> =
            literals.iter().map(|literal| if literal.caseless { CASELESS } else { 0 }).collect();
        let ids: Vec<_> = (0..literals.len() as c_uint).collect();
        let (mut database, mut error, mut scratch) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: arrays of the length that is passed.
        unsafe {
            let status = (library.compile)(
                pointers.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                ids.len() as c_uint,
                BLOCK,
                ptr::null(),
                &mut database,
                &mut error,
            );
            assert_eq!(status, 0, "hs_compile_multi");
            assert_eq!((library.alloc_scratch)(database, &mut scratch), 0, "hs_alloc_scratch");
        }
        Database { library, database, scratch }
    }

    fn size(&self) -> usize {
        let mut size = 0;
        // SAFETY: a database.
        unsafe { (self.library.size)(self.database, &mut size) };
        size
    }

    fn scan(&self, bytes: &[u8], matches: &mut u64) {
        // SAFETY: a database with its scratch; `count` gets a u64.
        let status = unsafe {
            (self.library.scan)(
                self.database,
                bytes.as_ptr().cast(),
                bytes.len() as c_uint,
                0,
                self.scratch,
                count,
                ptr::from_mut(matches).cast(),
            )
        };
        assert_eq!(status, 0, "hs_scan");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu_time();
    let result = run();
    (result, cpu_time() - start)
}

fn bench(set: &Set, rival: Option<&Hyperscan>, rounds: usize, forced: Forced) {
    let (finder, build) = timed(|| Finder::forced(&set.literals, Cpu::host(), forced));
    let ours = || {
        let mut matches = 0_u64;
        for scan in &set.input {
            let _ = finder.find(scan, 0, &mut |_, _| {
                matches += 1;
                ControlFlow::Continue(())
            });
        }
        matches
    };
    let rival = rival.map(|library| timed(|| Database::new(library, &set.literals)));
    let theirs = || {
        let mut matches = 0_u64;
        let (database, _) = rival.as_ref().unwrap();
        set.input.iter().for_each(|scan| database.scan(scan, &mut matches));
        matches
    };
    let (mut times, mut rival_times, mut matches) = (Vec::new(), Vec::new(), 0);
    let begun = Instant::now();
    while times.len() < rounds && (times.len() < 3 || begun.elapsed().as_secs() < 10) {
        let (found, time) = timed(ours);
        times.push(time);
        matches = found;
        if rival.is_some() {
            let (rival_matches, time) = timed(theirs);
            rival_times.push(time);
            assert_eq!(matches, rival_matches, "{}: matches", set.name);
        }
    }
    let bits = 8.0 * set.input.iter().map(Vec::len).sum::<usize>() as f64;
    let rate = |times| bits / median(times).as_secs_f64() / 1e9;
    let (ours, megabyte) = (rate(times), (1 << 20) as f64);
    print!(
        "{:<14} ours {ours:6.1} Gbit/s, built in {:7.2} ms, {:7.3} MB",
        set.name,
        build.as_secs_f64() * 1e3,
        finder.memory() as f64 / megabyte
    );
    if let Some((database, build)) = &rival {
        let theirs = rate(rival_times);
        print!(
            " | Hyperscan {theirs:6.1}, {:8.2} ms, {:7.3} MB | {:5.2} x",
            build.as_secs_f64() * 1e3,
            database.size() as f64 / megabyte,
            ours / theirs
        );
    }
    println!();
    for group in finder.describe() {
        println!("               {group}");
    }
    let (bytes, matches) = (bits / 8.0, matches as f64);
    println!("               {:.2} matches per KB", matches / bytes * 1000.0);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut files, mut names, mut rounds, mut set) = (Vec::new(), Vec::new(), 21, None);
    let (mut scan, mut scans, mut least) = (None, usize::MAX, 1);
    let mut forced = Forced::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} wants a value"));
        match &*argument {
            "--bench" => {}
            "--set" => set = Some(value()),
            "--input" => files.push((set.take().expect("--set before --input"), value())),
            "--scan" => scan = Some(value().parse().expect("bytes of a scan")),
            "--scans" => scans = value().parse().expect("a number of scans"),
            "--least" => least = value().parse().expect("bytes of the shortest literal"),
            "--filter" => forced.filter = Some(value().leak()),
            "--gram" => forced.gram = Some(value().parse().expect("bytes of a gram")),
            "--sets" => forced.sets = Some(value().parse().expect("1 or 2 sets of tables")),
            "--bits" => {
                forced.bits = Some(value().parse().expect("logarithm of a number of words"))
            }
            "--step" => forced.step = Some(value().parse().expect("1, 2 or 4 bytes")),
            "--rare" => forced.rare = Some(value().parse().expect("true or false")),
            "--rounds" => rounds = value().parse().expect("a number of rounds"),
            name if !name.starts_with('-') => names.push(argument),
            _ => panic!("unknown option {argument}"),
        }
    }
    let cut = |mut set: Set| {
        if let Some(scan) = scan {
            set.input = set.input.concat().chunks(scan).map(<[u8]>::to_vec).collect();
        }
        set.input.truncate(scans);
        set.literals.retain(|literal| literal.bytes.len() >= least);
        set
    };
    let rival = Hyperscan::load();
    if rival.is_none() {
        println!("libhs.so.5 is not installed (Debian: libhyperscan5): no rival");
    }
    println!("tier {}, scans of {} bytes, CPU time", Cpu::host().tier(), scan.unwrap_or(SCAN));
    for (set, input) in &files {
        bench(&cut(read(set, input)), rival.as_ref(), rounds, forced);
    }
    if !files.is_empty() {
        return;
    }
    let sizes = [
        ("simple", &[100, 200, 300, 600, 1000, 2000, 3500, 10_000, 100_000][..]),
        ("mixed", &[50, 100, 200, 500, 1000, 2000]),
    ];
    for (kind, counts) in sizes {
        for &count in counts {
            let name = format!("{kind}{count}");
            if names.is_empty() || names.contains(&name) {
                bench(&cut(made(kind, count)), rival.as_ref(), rounds, forced);
            }
        }
    }
}
