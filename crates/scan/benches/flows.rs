//! Packets of 1,000 bytes of 1,000 to 1,000,000 flows in random order, beside Hyperscan's streams.
//!
//! ```text
//! cargo bench -p lookaside-scan --bench flows -- [PACKETS]
//! ```
//!
//! Gbit/s of CPU time, medians of interleaved rounds; the bar is that the rate of a million flows is within 20 % of that of
//! a thousand. The packets are from a ring: one of 1 MB, which a cache holds, and one of 256 MB, which none does.

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ops::ControlFlow;
use std::ptr::{self, null_mut};
use std::time::Duration;

use lookaside_scan::{Expression, Match, Mode, Patterns, Scratch, Set};
use lookaside_simd::Cpu;

const PACKET: usize = 1000;
const ROUNDS: usize = 5;
const FLOWS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const RINGS: [usize; 2] = [1 << 20, 256 << 20];

/// SplitMix64.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a clock that Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The flow and the packet of each scan.
struct Traffic<'a> {
    ring: &'a [u8],
    flows: usize,
    packets: usize,
}

impl<'a> Traffic<'a> {
    fn each(&self, mut scan: impl FnMut(usize, &'a [u8])) {
        let (mut state, places) = (7, self.ring.len() / PACKET);
        for _ in 0..self.packets {
            let random = mix(&mut state);
            let place = (random & 0xffff_ffff) as usize % places * PACKET;
            scan((random >> 32) as usize % self.flows, &self.ring[place..][..PACKET]);
        }
    }
}

/// The time of the scans, and the number of matches.
fn ours(
    set: &Set,
    scratch: &mut Scratch,
    states: &mut [u8],
    traffic: &Traffic<'_>,
) -> (Duration, u64) {
    let (len, mut count) = (set.state_len(), 0);
    states.chunks_mut(len).for_each(|state| set.begin(state));
    let mut hit = |_: Match| {
        count += 1;
        ControlFlow::Continue(())
    };
    let start = cpu_time();
    traffic.each(|flow, packet| {
        set.scan_piece(scratch, &mut states[flow * len..][..len], packet, &mut hit);
    });
    (cpu_time() - start, count)
}

type Handle = *mut c_void;
type Callback = unsafe extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, Handle) -> c_int;
type Compile = unsafe extern "C" fn(
    *const *const c_char,
    *const c_uint,
    *const c_uint,
    c_uint,
    c_uint,
    *const c_void,
    *mut Handle,
    *mut Handle,
) -> c_int;

unsafe extern "C" fn count(
    _: c_uint,
    _: c_ulonglong,
    _: c_ulonglong,
    _: c_uint,
    sum: Handle,
) -> c_int {
    // SAFETY: what the scans here pass.
    unsafe { *sum.cast::<u64>() += 1 };
    0
}

type Open = unsafe extern "C" fn(Handle, c_uint, *mut Handle) -> c_int;
type Scan =
    unsafe extern "C" fn(Handle, *const c_char, c_uint, c_uint, Handle, Callback, Handle) -> c_int;
type Close = unsafe extern "C" fn(Handle, Handle, Option<Callback>, Handle) -> c_int;

/// Hyperscan of this machine with the set.
struct Rival {
    open: Open,
    scan: Scan,
    close: Close,
    database: Handle,
    scratch: Handle,
    state: usize,
}

impl Rival {
    fn new(texts: &[String]) -> Option<Rival> {
        let texts: Vec<_> = texts.iter().map(|text| CString::new(text.as_str()).unwrap()).collect();
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let ids: Vec<c_uint> = (0..texts.len() as c_uint).collect();
        let (mut database, mut error, mut scratch, mut state) =
            (null_mut(), null_mut(), null_mut(), 0);
        // SAFETY: a library with this interface; types are those of its header, arrays of the length that is passed.
        unsafe {
            let library = libc::dlopen(c"libhs.so.5".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &std::ffi::CStr| libc::dlsym(library, name.as_ptr());
            let compile: Compile = std::mem::transmute(symbol(c"hs_compile_multi"));
            let alloc: unsafe extern "C" fn(Handle, *mut Handle) -> c_int =
                std::mem::transmute(symbol(c"hs_alloc_scratch"));
            let size: unsafe extern "C" fn(Handle, *mut usize) -> c_int =
                std::mem::transmute(symbol(c"hs_stream_size"));
            const STREAM: c_uint = 2;
            let (pointers, ids, count) = (pointers.as_ptr(), ids.as_ptr(), ids.len() as c_uint);
            let status = compile(
                pointers,
                ptr::null(),
                ids,
                count,
                STREAM,
                ptr::null(),
                &mut database,
                &mut error,
            );
            assert_eq!(
                (status, alloc(database, &mut scratch), size(database, &mut state)),
                (0, 0, 0)
            );
            Some(Rival {
                open: std::mem::transmute::<Handle, Open>(symbol(c"hs_open_stream")),
                scan: std::mem::transmute::<Handle, Scan>(symbol(c"hs_scan_stream")),
                close: std::mem::transmute::<Handle, Close>(symbol(c"hs_close_stream")),
                database,
                scratch,
                state,
            })
        }
    }

    fn run(&self, traffic: &Traffic<'_>) -> (Duration, u64) {
        let mut streams = vec![null_mut(); traffic.flows];
        let mut sum = 0_u64;
        // SAFETY: the streams of a database, with its scratch; each is opened once and closed once.
        unsafe {
            for stream in &mut streams {
                assert_eq!((self.open)(self.database, 0, stream), 0);
            }
            let start = cpu_time();
            traffic.each(|flow, packet| {
                let (data, len) = (packet.as_ptr().cast(), packet.len() as c_uint);
                let at = (&raw mut sum).cast();
                assert_eq!((self.scan)(streams[flow], data, len, 0, self.scratch, count, at), 0);
            });
            let time = cpu_time() - start;
            for stream in streams {
                assert_eq!((self.close)(stream, self.scratch, None, null_mut()), 0);
            }
            (time, sum)
        }
    }
}

fn main() {
    let packets = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(300_000);
    let mut state = 1;
    let mut letters = |n: usize| -> String {
        (0..n).map(|_| char::from(b'a' + (mix(&mut state) % 26) as u8)).collect()
    };
    let simple: Vec<String> = (0..1000).map(|_| letters(10)).collect();
    let gaps: Vec<String> = (0..1000)
        .map(|n| match n % 5 {
            0 => format!("{}.*{}", letters(6), letters(6)),
            1 => format!("{}[0-9a-f]{{1,4}}{}", letters(6), letters(3)),
            _ => letters(10),
        })
        .collect();
    let mut pool = vec![0; RINGS[1]];
    let mut state = 2;
    for eight in pool.chunks_mut(8) {
        let random = mix(&mut state).to_le_bytes();
        eight.iter_mut().zip(random).for_each(|(to, byte)| *to = b'a' + byte % 26);
    }
    println!(
        "tier {}, Gbit/s of CPU time, {packets} packets of {PACKET} bytes",
        Cpu::host().tier()
    );
    for (name, texts) in [("1,000 strings", simple), ("1,000 with gaps", gaps)] {
        let expression = |(id, text): (usize, &String)| Expression {
            id: id as u32,
            text: text.clone().into(),
            ..Expression::default()
        };
        let expressions = texts.iter().enumerate().map(expression).collect();
        let set = Set::compile(&Patterns { expressions, mode: Mode::Stream }, Cpu::host()).unwrap();
        let (rival, mut scratch) = (Rival::new(&texts), Scratch::new());
        let theirs = rival.as_ref().map_or(0, |rival| rival.state);
        println!("{name}: a state has {} bytes, Hyperscan's {theirs}", set.state_len());
        let cases: Vec<_> =
            RINGS.iter().flat_map(|ring| FLOWS.map(|flows| (*ring, flows))).collect();
        let mut times = vec![(vec![], vec![]); cases.len()];
        for _ in 0..ROUNDS {
            for ((ring, flows), times) in cases.iter().zip(&mut times) {
                let traffic = Traffic { ring: &pool[..*ring], flows: *flows, packets };
                let mut states = vec![0; flows * set.state_len()];
                let (time, found) = ours(&set, &mut scratch, &mut states, &traffic);
                times.0.push(time);
                if let Some(rival) = &rival {
                    let (time, also) = rival.run(&traffic);
                    assert_eq!(found, also, "matches");
                    times.1.push(time);
                }
            }
        }
        let bits = (8 * PACKET * packets) as f64;
        let rate = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times.get(times.len() / 2).map_or(f64::NAN, |time| bits / time.as_secs_f64() / 1e9)
        };
        let mut first = (0.0, 0.0);
        for ((ring, flows), times) in cases.iter().zip(&mut times) {
            let (mine, theirs) = (rate(&mut times.0), rate(&mut times.1));
            if *flows == FLOWS[0] {
                first = (mine, theirs);
            }
            println!(
                "  ring {:3} MB, {flows:7} flows: {mine:5.1} ({:3.0} %), Hyperscan {theirs:5.1} ({:3.0} %): {:.2} x",
                ring >> 20,
                100.0 * mine / first.0,
                100.0 * theirs / first.1,
                mine / theirs
            );
        }
    }
}
