//! The C interface called from Rust, where the allocator can be watched and nonsense made in bulk.
//! What is here is also how a fuzz target calls it.

use core::ffi::c_int;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use lookaside_capi::{
    instance::*,
    pointer::{In, Lent, Out, Owned},
    request::{la_request, la_response},
    runtime::*,
    session::*,
    status::*,
};

/// Counts this thread's allocations.
struct Watched;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator, and a count.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static WATCHED: Watched = Watched;

/// One runtime with 0 engines, so that this thread does everything; with one of each object.
struct Objects {
    runtime: Owned<la_runtime>,
    compression: Owned<la_session>,
    copy: Owned<la_session>,
    streams: [Owned<la_stream>; 2],
    instance: Owned<la_instance>,
}

fn objects() -> Objects {
    let mut o = Objects {
        runtime: Owned::NULL,
        compression: Owned::NULL,
        copy: Owned::NULL,
        streams: [Owned::NULL, Owned::NULL],
        instance: Owned::NULL,
    };
    // SAFETY: a local structure of its own size; local places for the objects, which live until
    // `end` takes them.
    unsafe {
        let options = la_runtime_options {
            size: size_of::<la_runtime_options>(),
            cpus: core::ptr::null(),
            cpu_count: 0,
            batch_deadline_ns: u64::MAX,
            engines: 0,
            reserved: 0,
        };
        assert_eq!(la_runtime_start(In::raw(&options), Out::new(&mut o.runtime)), LA_OK);
        let r = || o.runtime.lend();
        assert_eq!(la_compression_session(r(), In::NULL, Out::new(&mut o.compression)), LA_OK);
        assert_eq!(la_copy_session(r(), Out::new(&mut o.copy)), LA_OK);
        let [out, back] = &mut o.streams;
        assert_eq!(la_compress_stream(r(), In::NULL, In::NULL, 0, Out::new(out)), LA_OK);
        assert_eq!(la_decompress_stream(r(), 0, In::NULL, 0, Out::new(back)), LA_OK);
        assert_eq!(la_instance_open(r(), In::NULL, Out::new(&mut o.instance)), LA_OK);
    }
    o
}

fn end(o: Objects) {
    let [out, back] = o.streams;
    // SAFETY: made by `objects`, in use by nobody, and not used after this.
    let ended = unsafe {
        [
            la_instance_close(o.instance),
            la_stream_free(out),
            la_stream_free(back),
            la_session_free(o.compression),
            la_session_free(o.copy),
            la_runtime_stop(o.runtime),
        ]
    };
    assert_eq!(ended, [LA_OK; 6]);
}

#[test]
fn nothing_is_allocated_between_push_and_poll() {
    let o = objects();
    let src = vec![7u8; 4096];
    let mut dst = [vec![0u8; 5000], vec![0u8; 5000]];
    let mut request = la_request { op: 2, session: o.compression.lend(), ..la_request::default() };
    (request.src, request.src_len) = (src.as_ptr().cast(), src.len());
    let mut responses = [la_response::default(); 2];
    let mut round = || {
        for (tag, dst) in dst.iter_mut().enumerate() {
            request.tag = tag as u64;
            (request.dst, request.dst_len) = (dst.as_mut_ptr().cast(), dst.len());
            // SAFETY: the buffers outlive the requests, which are answered below.
            assert_eq!(unsafe { la_instance_push(o.instance.lend(), In::raw(&request)) }, LA_OK);
        }
        // SAFETY: two places.
        let n = unsafe { la_instance_poll(o.instance.lend(), Out::many(&mut responses), 2) };
        assert_eq!((n, responses[0].status, responses[1].status), (2, LA_END, LA_END));
    };
    round();
    round();
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..1000 {
        round();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    end(o);
}

/// SplitMix64; a failure is repeated by its seed.
struct Dice(u64);

impl Dice {
    fn roll<T: Clone>(&mut self, faces: &[T]) -> T {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        faces[((z ^ (z >> 31)) % faces.len() as u64) as usize].clone()
    }
}

/// Requests whose members are good and bad in any mixture are refused or answered, once; whatever
/// pointer is accepted lies in memory that is there.
#[test]
fn nonsense_is_refused_or_answered() {
    let o = objects();
    let mut memory = vec![0u8; 4 * 4096];
    for (i, b) in memory.iter_mut().enumerate() {
        *b = ((i * i) >> 7) as u8;
    }
    let base = memory.as_mut_ptr();
    let at = |page: usize| base.wrapping_add(page * 4096);
    let pages = [core::ptr::null_mut(), at(0), at(1), at(2), at(0)];
    let lists = [
        libc::iovec { iov_base: at(3).cast(), iov_len: 2048 },
        libc::iovec { iov_base: at(3).wrapping_add(2048).cast(), iov_len: 2000 },
        libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 },
        libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 1 },
    ];
    let (mut refused, mut good, mut bad) = (0, 0, 0);
    for seed in 0..20_000 {
        let mut d = Dice(seed);
        let src_list = d.roll(&[false, false, true]);
        let dst_list = d.roll(&[false, false, true]);
        let [out, back] = &o.streams;
        let request = la_request {
            tag: seed,
            op: d.roll(&[1, 2, 3, 0, -1, i32::MAX]),
            flush: d.roll(&[0, 1, 2, 3, 4, i32::MIN]),
            session: match d.roll(&[0, 1, 2, 2]) {
                0 => o.copy.lend(),
                1 => o.compression.lend(),
                _ => Lent::NULL,
            },
            stream: match d.roll(&[0, 1, 2, 2]) {
                0 => out.lend(),
                1 => back.lend(),
                _ => Lent::NULL,
            },
            src: d.roll(&pages).cast(),
            src_len: d.roll(&[0, 1, 100, 4096, usize::MAX, isize::MAX as usize + 1]),
            src_iov: if src_list { lists.as_ptr() } else { core::ptr::null() },
            src_iov_count: if src_list { d.roll(&[0, 1, 2, 3, 4, 1025]) } else { 0 },
            dst: d.roll(&pages).cast(),
            dst_len: d.roll(&[0, 1, 100, 4096, usize::MAX]),
            dst_iov: if dst_list { lists.as_ptr() } else { core::ptr::null() },
            dst_iov_count: if dst_list { d.roll(&[0, 1, 2, 3, 4, usize::MAX]) } else { 0 },
            reserved: [0, d.roll(&[0, 0, 0, 1])],
        };
        // SAFETY: what is refused need not be valid; what can be accepted lies within `memory`, to
        // which nobody else has access until the answer.
        let pushed = unsafe { la_instance_push(o.instance.lend(), In::raw(&request)) };
        if pushed != LA_OK {
            assert!([LA_E_INVALID, LA_E_LIMIT].contains(&pushed), "seed {seed}: {pushed}");
            refused += 1;
            continue;
        }
        let mut responses = [la_response::default(); 2];
        let mut n: c_int = 0;
        while n == 0 {
            // SAFETY: two places.
            n = unsafe { la_instance_poll(o.instance.lend(), Out::many(&mut responses), 2) };
        }
        assert_eq!((n, responses[0].tag), (1, seed), "seed {seed}");
        match responses[0].status {
            s if s >= 0 => good += 1,
            s if s <= LA_E_DST_TOO_SMALL || s == LA_E_UNSUPPORTED => bad += 1,
            s => panic!("seed {seed}: status {s}"),
        }
    }
    assert!(refused > 1000 && good > 50 && bad > 20, "{refused} {good} {bad}");
    end(o);
}
