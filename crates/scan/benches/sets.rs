//! Whole sets of patterns beside Hyperscan and its kin, in blocks and streams.
//!
//! ```text
//! cargo bench -p lookaside-scan --bench sets -- [--rival LIBRARY]... [--mode block|stream] [--rounds N] [--explain] [--skip-refused] [--csv FILE] FOLDER NAME...
//! ```
//!
//! With `--skip-refused`, an expression that one of the libraries does not take is left out for all, and counted.
//!
//! NAME `multi`: eight sets, multi0.pat to multi7.pat, of which each scan has one, in a random order; one input.
//!
//! For each other NAME, FOLDER has NAME.pat (a pattern a line, `id:/expression/flags`) and NAME.in (records of u32 flow, u32
//! length, bytes: little-endian). Shows Gbit/s of CPU time, medians of interleaved rounds over the whole input, with the
//! time to compile, the size of the tables and of a stream's state; leaves out a rival whose matches are others, and
//! fails if none has ours. A LIBRARY is a path or name of a libhs.so.5; without any, the one that is installed.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::io::Write;
use std::ops::ControlFlow;
use std::ptr;
use std::time::Duration;

use lookaside_scan::syntax::parse_line;
use lookaside_scan::{Expression, Mode, Patterns, Scratch, Set};
use lookaside_simd::Cpu;

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu_time();
    let result = run();
    (result, cpu_time() - start)
}

/// Matches, so that equal ones can be told: their number, and a sum over ids and ends. Of an expression that matches once
/// it is not specified at which end: the block or stream in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
    once: bool,
    place: u64,
}

impl Tally {
    fn new(patterns: &Patterns) -> Tally {
        Tally {
            once: patterns.expressions.iter().any(|one| one.flags.single_match),
            ..Tally::default()
        }
    }

    #[inline]
    fn add(&mut self, id: u32, end: u64) {
        let end = if self.once { self.place } else { end };
        self.count += 1;
        self.sum =
            self.sum.wrapping_add((u64::from(id) << 32 | end).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

type Handle = *mut c_void;
type Callback = unsafe extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, Handle) -> c_int;

/// A library with Hyperscan's interface.
struct Library {
    name: String,
    compile: unsafe extern "C" fn(
        *const *const c_char,
        *const c_uint,
        *const c_uint,
        c_uint,
        c_uint,
        *const c_void,
        *mut Handle,
        *mut *mut CompileError,
    ) -> c_int,
    alloc_scratch: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    scan: unsafe extern "C" fn(
        Handle,
        *const c_char,
        c_uint,
        c_uint,
        Handle,
        Callback,
        Handle,
    ) -> c_int,
    open: unsafe extern "C" fn(Handle, c_uint, *mut Handle) -> c_int,
    scan_stream: unsafe extern "C" fn(
        Handle,
        *const c_char,
        c_uint,
        c_uint,
        Handle,
        Callback,
        Handle,
    ) -> c_int,
    close: unsafe extern "C" fn(Handle, Handle, Callback, Handle) -> c_int,
    size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    stream_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
}

#[repr(C)]
struct CompileError {
    message: *const c_char,
    expression: c_int,
}

impl Library {
    #[allow(clippy::missing_transmute_annotations)]
    fn load(name: &str) -> Option<Library> {
        let path = CString::new(name).unwrap();
        // SAFETY: a library with this interface; names and types are those of its header.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() {
                return None;
            }
            macro_rules! symbol {
                ($name:literal) => {{
                    let at = libc::dlsym(library, $name.as_ptr());
                    assert!(!at.is_null(), "{:?}", $name);
                    std::mem::transmute(at)
                }};
            }
            let version: unsafe extern "C" fn() -> *const c_char = symbol!(c"hs_version");
            let version = CStr::from_ptr(version()).to_string_lossy();
            Some(Library {
                name: format!("hs {}", version.split(' ').next().unwrap_or_default()),
                compile: symbol!(c"hs_compile_multi"),
                alloc_scratch: symbol!(c"hs_alloc_scratch"),
                scan: symbol!(c"hs_scan"),
                open: symbol!(c"hs_open_stream"),
                scan_stream: symbol!(c"hs_scan_stream"),
                close: symbol!(c"hs_close_stream"),
                size: symbol!(c"hs_database_size"),
                stream_size: symbol!(c"hs_stream_size"),
            })
        }
    }
}

struct Rival<'a> {
    library: &'a Library,
    databases: Vec<Handle>,
    scratch: Handle,
    times: Vec<Duration>,
    compile: Duration,
}

unsafe extern "C" fn count(
    id: c_uint,
    _: c_ulonglong,
    end: c_ulonglong,
    _: c_uint,
    tally: Handle,
) -> c_int {
    // SAFETY: what the scans here pass.
    unsafe { (*tally.cast::<Tally>()).add(id, end) };
    0
}

impl<'a> Rival<'a> {
    fn new(library: &'a Library, sets: &[Patterns]) -> Rival<'a> {
        let mut scratch = ptr::null_mut();
        let (databases, compile) =
            timed(|| sets.iter().map(|patterns| Rival::compile(library, patterns)).collect());
        for &database in &databases {
            // SAFETY: a database; the scratch grows to fit each.
            let status = unsafe { (library.alloc_scratch)(database, &mut scratch) };
            assert_eq!(status, 0, "hs_alloc_scratch");
        }
        Rival { library, databases, scratch, times: vec![], compile }
    }

    fn compile(library: &Library, patterns: &Patterns) -> Handle {
        Rival::try_compile(library, patterns)
            .unwrap_or_else(|what| panic!("hs_compile_multi: {what}"))
    }

    fn try_compile(library: &Library, patterns: &Patterns) -> Result<Handle, String> {
        let all = &patterns.expressions;
        let texts: Vec<_> = all.iter().map(|one| CString::new(one.text.clone()).unwrap()).collect();
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let flags: Vec<_> = all.iter().map(|one| one.flags.bits()).collect();
        let ids: Vec<_> = all.iter().map(|one| one.id).collect();
        let som = all.iter().any(|one| one.flags.som_leftmost);
        let mode = match patterns.mode {
            Mode::Block => 1,
            Mode::Stream => 2 | if som { 1 << 24 } else { 0 },
        };
        let (mut database, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: arrays of the length that is passed.
        let status = unsafe {
            (library.compile)(
                pointers.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                ids.len() as c_uint,
                mode,
                ptr::null(),
                &mut database,
                &mut error,
            )
        };
        // SAFETY: an error comes with its message.
        let what = || unsafe { CStr::from_ptr((*error).message).to_string_lossy().into_owned() };
        if status == 0 { Ok(database) } else { Err(what()) }
    }

    fn block(&self, mut tally: Tally, input: &[(u32, &[u8])]) -> Tally {
        for (number, (_, data)) in input.iter().enumerate() {
            let database = self.databases[choice(number, self.databases.len())];
            let (data, len) = (data.as_ptr().cast(), data.len() as c_uint);
            tally.place = number as u64;
            let at = ptr::from_mut(&mut tally).cast();
            // SAFETY: database and scratch belong together; `count` gets a tally.
            let status =
                unsafe { (self.library.scan)(database, data, len, 0, self.scratch, count, at) };
            assert_eq!(status, 0, "hs_scan");
        }
        tally.place = 0;
        tally
    }

    fn stream(&self, mut tally: Tally, input: &[(u32, &[u8])], flows: usize) -> Tally {
        let mut streams = vec![ptr::null_mut(); flows];
        // SAFETY: as above; each stream is opened once and closed once.
        unsafe {
            for stream in &mut streams {
                assert_eq!((self.library.open)(self.databases[0], 0, stream), 0, "hs_open_stream");
            }
            for (flow, data) in input {
                let (stream, len) = (streams[*flow as usize], data.len() as c_uint);
                let data = data.as_ptr().cast();
                tally.place = u64::from(*flow);
                let at = ptr::from_mut(&mut tally).cast();
                let status =
                    (self.library.scan_stream)(stream, data, len, 0, self.scratch, count, at);
                assert_eq!(status, 0, "hs_scan_stream");
            }
            for (flow, stream) in streams.into_iter().enumerate() {
                tally.place = flow as u64;
                let at = ptr::from_mut(&mut tally).cast();
                assert_eq!(
                    (self.library.close)(stream, self.scratch, count, at),
                    0,
                    "hs_close_stream"
                );
            }
        }
        tally.place = 0;
        tally
    }

    fn sizes(&self) -> (usize, usize) {
        let (mut sum, mut state) = (0, 0);
        for &database in &self.databases {
            let mut size = 0;
            // SAFETY: a database.
            unsafe {
                (self.library.size)(database, &mut size);
                (self.library.stream_size)(database, &mut state);
            }
            sum += size;
        }
        (sum, state)
    }
}

/// Which of `count` sets a scan has.
fn choice(number: usize, count: usize) -> usize {
    ((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % count
}

type Input<'a> = [(u32, &'a [u8])];

fn ours_block(mut tally: Tally, sets: &[Set], scratch: &mut Scratch, input: &Input) -> Tally {
    for (number, (_, data)) in input.iter().enumerate() {
        let set = &sets[choice(number, sets.len())];
        tally.place = number as u64;
        let _ = set.scan(scratch, data, &mut |found| {
            tally.add(found.id, found.end);
            ControlFlow::Continue(())
        });
    }
    tally.place = 0;
    tally
}

fn ours_stream(
    mut tally: Tally,
    set: &Set,
    scratch: &mut Scratch,
    input: &Input,
    flows: usize,
) -> Tally {
    let len = set.state_len();
    let mut states = vec![0; flows * len];
    states.chunks_mut(len).for_each(|state| set.begin(state));
    for (flow, data) in input {
        let state = &mut states[*flow as usize * len..][..len];
        tally.place = u64::from(*flow);
        set.scan_piece(scratch, state, data, &mut |found| {
            tally.add(found.id, found.end);
            ControlFlow::Continue(())
        });
    }
    for (flow, state) in states.chunks_mut(len).enumerate() {
        tally.place = flow as u64;
        let _ = set.finish(scratch, state, &mut |found| {
            tally.add(found.id, found.end);
            ControlFlow::Continue(())
        });
    }
    tally.place = 0;
    tally
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}

#[allow(clippy::too_many_arguments)]
struct Options {
    folder: String,
    rounds: usize,
    explain: bool,
    skip_refused: bool,
    csv: Option<std::fs::File>,
}

/// The patterns that all take, one by one.
fn without_refused(patterns: Patterns, libraries: &[Library]) -> Patterns {
    let mode = patterns.mode;
    let mut refused = vec![0; 1 + libraries.len()];
    let taken = |one: &&Expression| {
        let alone = Patterns { expressions: vec![(*one).clone()].into(), mode };
        let ours = Set::compile(&alone, Cpu::host()).is_err();
        refused[0] += usize::from(ours);
        let mut all = !ours;
        for (library, refused) in libraries.iter().zip(&mut refused[1..]) {
            // What is compiled here stays until the end.
            let theirs = Rival::try_compile(library, &alone).is_err();
            *refused += usize::from(theirs);
            all &= !theirs;
        }
        all
    };
    let expressions: Vec<_> = patterns.expressions.iter().filter(taken).cloned().collect();
    println!(
        "{} of {} expressions; refused by us and the rivals: {refused:?}",
        expressions.len(),
        patterns.expressions.len()
    );
    Patterns { expressions: expressions.into(), mode }
}

fn read(file: &str, mode: Mode) -> Patterns {
    let text = std::fs::read(file).expect("NAME.pat");
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let expressions: Vec<_> = lines
        .filter_map(|line| {
            let line = parse_line(line).expect("id:/expression/flags")?;
            let (id, flags, extended) = (line.id, line.flags, line.extended);
            let text = line.expression.to_vec();
            Some(Expression { id, text, flags, extended, literal: false })
        })
        .collect();
    Patterns { expressions: expressions.into(), mode }
}

fn bench(options: &mut Options, name: &str, mode: Mode, libraries: &[Library]) {
    let Options { folder, rounds, explain, skip_refused, csv } = options;
    let files: Vec<String> = match name {
        "multi" => (0..8).map(|n| format!("{folder}/multi{n}.pat")).collect(),
        _ => vec![format!("{folder}/{name}.pat")],
    };
    let mut patterns: Vec<_> = files.iter().map(|file| read(file, mode)).collect();
    if *skip_refused {
        patterns = patterns.into_iter().map(|one| without_refused(one, libraries)).collect();
    }
    let data = std::fs::read(format!("{folder}/{name}.in")).expect("NAME.in");
    let (mut rest, mut input, mut numbers) = (&*data, vec![], BTreeMap::new());
    while let Some((head, after)) = rest.split_at_checked(8) {
        let [flow, len] = [0, 4].map(|at| u32::from_le_bytes(*head[at..].first_chunk().unwrap()));
        let (data, after) = after.split_at(len as usize);
        let next = numbers.len() as u32;
        input.push((*numbers.entry(flow).or_insert(next), data));
        rest = after;
    }
    let flows = numbers.len();
    let compile = |patterns| Set::compile(patterns, Cpu::host()).expect("patterns");
    let (sets, compile) = timed(|| patterns.iter().map(compile).collect::<Vec<_>>());
    if *explain {
        sets.iter().for_each(|set| print!("{}", set.explain()));
    }
    let mut scratch = Scratch::new();
    let mut rivals: Vec<_> =
        libraries.iter().map(|library| Rival::new(library, &patterns)).collect();
    let mut times = vec![];
    let none = Tally::new(&patterns[0]);
    let mut tally = none;
    for round in 0..=*rounds {
        let (mine, time) = timed(|| match mode {
            Mode::Block => ours_block(none, &sets, &mut scratch, &input),
            Mode::Stream => ours_stream(none, &sets[0], &mut scratch, &input, flows),
        });
        tally = mine;
        if round > 0 {
            times.push(time);
        }
        let count = rivals.len();
        rivals.retain_mut(|rival| {
            let (theirs, time) = timed(|| match mode {
                Mode::Block => rival.block(none, &input),
                Mode::Stream => rival.stream(none, &input, flows),
            });
            if round > 0 {
                rival.times.push(time);
            } else if theirs != mine {
                println!("{name}: {} has other matches, {theirs:?}: left out", rival.library.name);
            }
            round > 0 || theirs == mine
        });
        assert!(!rivals.is_empty() || count == 0, "{name}: no rival has these matches: {mine:?}");
    }
    let bits = 8.0 * input.iter().map(|(_, data)| data.len()).sum::<usize>() as f64;
    let rate = |time: Duration| bits / time.as_secs_f64() / 1e9;
    let kind = format!("{mode:?}").to_lowercase();
    let mut row = |library: &str, times: &[Duration], compile: Duration, sizes: (usize, usize)| {
        let (middle, ms) = (rate(median(times)), compile.as_secs_f64() * 1e3);
        let (size, state) = (sizes.0 >> 10, sizes.1);
        print!(" | {library} {middle:6.3}, {ms:6.1} ms, {size:5} KB, state {state:4}");
        if let Some(csv) = csv {
            let [least, most] = [times.iter().max(), times.iter().min()].map(|t| rate(*t.unwrap()));
            let (bytes, state) = sizes;
            writeln!(
                csv,
                "{name},{kind},{library},{middle:.5},{least:.5},{most:.5},{ms:.3},{bytes},{state}"
            )
            .expect("the file of --csv");
        }
        middle
    };
    print!("{name:<12} {kind:<6} {:7} matches", tally.count);
    let state = if mode == Mode::Stream { sets[0].state_len() } else { 0 };
    let ours = row("lookaside", &times, compile, (sets.iter().map(Set::memory).sum(), state));
    for rival in &rivals {
        let theirs = row(&rival.library.name, &rival.times, rival.compile, rival.sizes());
        print!(", {:.2} x", ours / theirs);
    }
    println!();
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut rivals, mut modes, mut rounds, mut names) = (vec![], vec![], 11, vec![]);
    let (mut explain, mut skip_refused, mut csv) = (false, false, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} wants a value"));
        match &*argument {
            "--bench" => {}
            "--explain" => explain = true,
            "--skip-refused" => skip_refused = true,
            "--csv" => {
                let mut file = std::fs::File::create(value()).expect("the file of --csv");
                let head = "set,mode,library,gbit_per_s,least,most,compile_ms,bytes,state_bytes";
                writeln!(file, "{head}").expect("the file of --csv");
                csv = Some(file);
            }
            "--rival" => rivals.push(value()),
            "--mode" => match &*value() {
                "block" => modes.push(Mode::Block),
                "stream" => modes.push(Mode::Stream),
                other => panic!("unknown mode {other}"),
            },
            "--rounds" => rounds = value().parse().expect("a number of rounds"),
            _ => names.push(argument),
        }
    }
    if rivals.is_empty() {
        rivals.push("libhs.so.5".into());
    }
    if modes.is_empty() {
        modes = vec![Mode::Block, Mode::Stream];
    }
    let mut libraries = vec![];
    for name in &rivals {
        match Library::load(name) {
            Some(library) => libraries.push(library),
            None => println!("{name} is not there (Debian: libhyperscan5): no rival"),
        }
    }
    println!("tier {}, Gbit/s of CPU time", Cpu::host().tier());
    let Some((folder, names)) = names.split_first() else {
        println!("no FOLDER: nothing to measure");
        return;
    };
    let mut options = Options { folder: folder.clone(), rounds, explain, skip_refused, csv };
    for name in names {
        for &mode in &modes {
            if name == "multi" && mode == Mode::Stream {
                continue;
            }
            bench(&mut options, name, mode, &libraries);
        }
    }
}
