//! Patterns without a string, over all bytes: the fallback automaton beside Hyperscan, one core, CPU time, interleaved.
//! The numbers of matches are compared first.
//!
//! `cargo bench -p lookaside-scan --bench fallback [-- NAME]`
// The modules are compiled as they are, with more than a bench uses.
#![allow(dead_code, unused_imports, clippy::duplicate_mod)]

#[path = "../src/fallback/mod.rs"]
mod fallback;
#[path = "../src/isa.rs"]
mod isa;
#[path = "../src/node.rs"]
mod node;
#[path = "../src/fallback/tests/parse.rs"]
mod parse;
#[path = "../src/required.rs"]
mod required;
#[path = "../src/starts.rs"]
mod starts;
#[path = "../src/stretch.rs"]
mod stretch;
#[path = "../src/strings.rs"]
mod strings;
#[path = "../src/tail.rs"]
mod tail;
#[path = "../src/words.rs"]
mod words;

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ops::ControlFlow;

use fallback::{Automaton, Cache, Expression, Limits};
use node::Node;
use parse::parse;

/// Debian's libhs.so.5, by the functions that are used.
struct Hyperscan {
    scan: Scan,
    compile: Compile,
    scratch: Scratch,
}

type Scan = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    c_uint,
    c_uint,
    *mut c_void,
    OnMatch,
    *mut c_void,
) -> c_int;
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
type Scratch = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;
type OnMatch = unsafe extern "C" fn(c_uint, u64, u64, c_uint, *mut c_void) -> c_int;

unsafe extern "C" fn count(_: c_uint, _: u64, _: u64, _: c_uint, context: *mut c_void) -> c_int {
    // SAFETY: `Set::scan` passes its counter.
    unsafe { *context.cast::<u64>() += 1 };
    0
}

/// A compiled set of Hyperscan's, and its scratch.
struct Set<'a>(&'a Hyperscan, *mut c_void, *mut c_void);

impl Hyperscan {
    fn load() -> Option<Hyperscan> {
        // SAFETY: the library has no constructors that ask anything of us.
        let library = unsafe { libc::dlopen(c"libhs.so.5".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        // SAFETY: `library` is loaded.
        let symbol = |name: &std::ffi::CStr| unsafe { libc::dlsym(library, name.as_ptr()) };
        let all = [symbol(c"hs_scan"), symbol(c"hs_compile_multi"), symbol(c"hs_alloc_scratch")];
        if all.iter().any(|symbol| symbol.is_null()) {
            return None;
        }
        // SAFETY: the signatures are those of hs_runtime.h and hs_compile.h.
        unsafe {
            Some(Hyperscan {
                scan: std::mem::transmute::<*mut c_void, Scan>(all[0]),
                compile: std::mem::transmute::<*mut c_void, Compile>(all[1]),
                scratch: std::mem::transmute::<*mut c_void, Scratch>(all[2]),
            })
        }
    }

    fn compile(&self, patterns: &[&str], flags: c_uint) -> Set<'_> {
        let strings: Vec<CString> = patterns.iter().map(|it| CString::new(*it).unwrap()).collect();
        let pointers: Vec<*const c_char> = strings.iter().map(|it| it.as_ptr()).collect();
        let ids: Vec<c_uint> = (0..patterns.len() as c_uint).collect();
        let flags = vec![flags; patterns.len()];
        let (mut database, mut error, mut scratch) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the arrays have one element per pattern; mode 1 is HS_MODE_BLOCK.
        let code = unsafe {
            (self.compile)(
                pointers.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                patterns.len() as c_uint,
                1,
                std::ptr::null(),
                &raw mut database,
                &raw mut error,
            )
        };
        assert_eq!(code, 0, "hs_compile_multi");
        // SAFETY: the database was made above.
        assert_eq!(unsafe { (self.scratch)(database, &raw mut scratch) }, 0);
        Set(self, database, scratch)
    }
}

impl Set<'_> {
    fn scan(&self, text: &[u8], piece: usize) -> u64 {
        let mut matches = 0u64;
        for block in text.chunks(piece) {
            // SAFETY: database and scratch belong together, `block` is readable, `count` takes a counter.
            let code = unsafe {
                let context = (&raw mut matches).cast();
                (self.0.scan)(
                    self.1,
                    block.as_ptr(),
                    block.len() as c_uint,
                    0,
                    self.2,
                    count,
                    context,
                )
            };
            assert_eq!(code, 0, "hs_scan");
        }
        matches
    }
}

fn scan(it: &Automaton, cache: &mut Cache, text: &[u8], piece: usize) -> u64 {
    let mut matches = 0;
    let mut state = vec![0; it.state_len()];
    let mut hit = |_: u32, _: u64, _: u64| {
        matches += 1;
        ControlFlow::Continue(())
    };
    for block in text.chunks(piece) {
        it.begin(&mut state);
        let _ = it.scan(cache, &mut state, 0, block, &|_| false, &mut hit);
        let _ = it.end(cache, &state, block.len() as u64, &mut hit);
    }
    matches
}

fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Lines of a web server's log.
fn log(len: usize) -> Vec<u8> {
    use std::io::Write;
    let random = &mut Random(88172645463325252);
    let mut text = Vec::with_capacity(len + 300);
    while text.len() < len {
        let ip: [u64; 4] = std::array::from_fn(|_| random.below(256));
        let (minute, second, size) = (random.below(60), random.below(60), random.below(90_000));
        let method = random.pick(&["GET", "GET", "GET", "POST", "HEAD"]);
        let path = random.pick(&[
            "/",
            "/index.html",
            "/img/logo.png",
            "/api/v2/users",
            "/search",
            "/wp-login.php",
        ]);
        let query = match random.below(4) {
            0 => format!("?id={}&user=bob{}@example.com", random.below(100_000), random.below(100)),
            1 => format!(
                "?q={}",
                random.pick(&["lookaside+card", "a%20b", "555-0199", "regular+expressions"])
            ),
            _ => String::new(),
        };
        let status = random.pick(&["200", "200", "200", "304", "404", "500"]);
        let agent = random.pick(&[
            "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
            "curl/7.88.1",
        ]);
        writeln!(
            text,
            "{}.{}.{}.{} - - [25/Nov/2026:14:{minute:02}:{second:02} +0000] \"{method} {path}{query} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"",
            ip[0], ip[1], ip[2], ip[3]
        )
        .unwrap();
    }
    text.truncate(len);
    text
}

const TWENTY: [&str; 20] = [
    r"[a-z]+@[a-z]+\.com",
    r"\d{3}-\d{4}",
    r"(GET|POST) [^ ]+ HTTP",
    r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}",
    r"\[\d\d/[A-Z][a-z]{2}/\d{4}",
    r"[45]\d\d \d+",
    r"%[0-9a-f]{2}",
    r"(ab|c*d)+e",
    r"[?&][a-z]+=\d+",
    r"\b[A-Z]{5,}\b",
    r"[a-z]+\.(php|cgi|asp)",
    r"x\d\d_\d\d",
    r"[0-9a-f]{32}",
    r"(\w+)/\d+\.\d+",
    r"[^\n]{200}",
    r"\.\.[/\\]",
    r"[A-Za-z0-9+/]{40,60}=",
    r"\d\d:\d\d:5\d",
    r"[\x80-\xff]{3}",
    r"<[a-z]+>",
];

fn main() {
    let only = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let hyperscan = Hyperscan::load();
    if hyperscan.is_none() {
        println!("libhs.so.5 (package libhyperscan5) is missing: no rival");
    }
    let random = &mut Random(1);
    let texts = [
        ("log", log(1 << 20)),
        ("random", (0..1 << 20).map(|_| random.below(256) as u8).collect::<Vec<u8>>()),
    ];
    let sets: [(&str, &[&str]); 14] = [
        ("mail", &TWENTY[..1]),
        ("phone", &TWENTY[1..2]),
        ("request", &TWENTY[2..3]),
        ("address", &TWENTY[3..4]),
        ("abcd", &[r"(ab|c*d)+"]),
        ("repeat", &[r"a[^\n]{30}b"]),
        ("words", &[r"\b[a-z]{4,9}\b"]),
        ("five", &TWENTY[..5]),
        ("twenty", &TWENTY),
        ("long", &[r"a[^\n]{300}b"]),
        ("range", &[r"[0-9][^\n]{10,100}x"]),
        // With the start of each match.
        ("start-mail", &TWENTY[..1]),
        ("start-words", &[r"\b[a-z]{4,9}\b"]),
        ("start-five", &TWENTY[..5]),
    ];
    println!("Gbit/s of CPU time, median of rounds; {:>28}", "ours / Hyperscan = ratio");
    for (name, patterns) in sets {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let start_of_match = name.starts_with("start");
        let nodes: Vec<Node> = patterns.iter().map(|it| parse(it)).collect();
        let expressions: Vec<Expression> = nodes
            .iter()
            .enumerate()
            .map(|(report, node)| Expression {
                report: report as u32,
                node,
                start_of_match,
                empty: false,
                once: false,
            })
            .collect();
        let begin = cpu_time();
        let ours = Automaton::new(&expressions, &Limits::default()).unwrap();
        let compile = cpu_time() - begin;
        // The same without starts: what they cost.
        let ends_only: Vec<Expression> =
            expressions.iter().map(|it| Expression { start_of_match: false, ..*it }).collect();
        let plain = start_of_match.then(|| Automaton::new(&ends_only, &Limits::default()).unwrap());
        let set =
            hyperscan.as_ref().map(|it| it.compile(patterns, if start_of_match { 256 } else { 0 }));
        println!(
            "{name}: compiled in {:.1} ms, {} bytes of state",
            compile * 1e3,
            ours.state_len()
        );
        print!("{}", ours.describe());
        for (text_name, text) in &texts {
            for piece in [1000, 1 << 20] {
                let mut cache = Cache::default();
                let matches = scan(&ours, &mut cache, text, piece);
                if let Some(set) = &set {
                    assert_eq!(matches, set.scan(text, piece), "{name}, {text_name}");
                }
                let (mut times, mut rivals, mut plains) = (Vec::new(), Vec::new(), Vec::new());
                let mut plain_cache = Cache::default();
                for _ in 0..31 {
                    let begin = cpu_time();
                    std::hint::black_box(scan(&ours, &mut cache, text, piece));
                    times.push(cpu_time() - begin);
                    if let Some(set) = &set {
                        let begin = cpu_time();
                        std::hint::black_box(set.scan(text, piece));
                        rivals.push(cpu_time() - begin);
                    }
                    if let Some(plain) = &plain {
                        let begin = cpu_time();
                        std::hint::black_box(scan(plain, &mut plain_cache, text, piece));
                        plains.push(cpu_time() - begin);
                    }
                }
                let rate = |times: &mut Vec<f64>| {
                    times.sort_by(f64::total_cmp);
                    times
                        .get(times.len() / 2)
                        .map_or(f64::NAN, |time| text.len() as f64 * 8e-9 / time)
                };
                let (ours, theirs) = (rate(&mut times), rate(&mut rivals));
                print!(
                    "  {text_name:<7} {piece:>8} bytes {matches:>8} matches {ours:>8.2} / {theirs:>6.2} = {:.2}",
                    ours / theirs
                );
                match &plain {
                    Some(_) => {
                        println!(", {:.2} x the time without starts", rate(&mut plains) / ours)
                    }
                    None => println!(),
                }
            }
        }
    }
}
