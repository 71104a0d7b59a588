//! Our functions and the system's zlib behind one table, so that a test runs against both.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(non_snake_case, reason = "the names are zlib's")]

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

pub use libz_rs_sys::{gz_header, z_stream};

pub const NO_FLUSH: c_int = 0;
pub const PARTIAL: c_int = 1;
pub const SYNC: c_int = 2;
pub const FULL: c_int = 3;
pub const FINISH: c_int = 4;
pub const BLOCK: c_int = 5;
pub const OK: c_int = 0;
pub const STREAM_END: c_int = 1;
pub const STREAM_ERROR: c_int = -2;
pub const DATA_ERROR: c_int = -3;
pub const MEM_ERROR: c_int = -4;
pub const BUF_ERROR: c_int = -5;

macro_rules! table {
    ($($module:ident: $name:ident($($arg:ty),*) -> $result:ty;)*) => {
        /// A zlib.
        #[derive(Clone, Copy)]
        pub struct Zlib {
            pub name: &'static str,
            $(pub $name: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        pub static OURS: Zlib = Zlib {
            name: "ours",
            $($name: lookaside_z::$module::$name,)*
        };

        /// The system's, opened apart from our symbols.
        pub fn stock() -> Zlib {
            // SAFETY: a C library without initialisers of note; the signatures are zlib.h's.
            unsafe {
                let name = c"/lib/x86_64-linux-gnu/libz.so.1";
                let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                assert!(!library.is_null(), "the system's zlib: install zlib1g");
                let find = |name: &str| {
                    let name = std::ffi::CString::new(name).unwrap();
                    let found = libc::dlsym(library, name.as_ptr());
                    assert!(!found.is_null(), "{name:?}");
                    found
                };
                Zlib {
                    name: "stock",
                    $($name: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn($($arg),*) -> $result,
                    >(find(stringify!($name))),)*
                }
            }
        }
    };
}

type Strm = *mut z_stream;

table! {
    deflate: deflateInit2_(Strm, c_int, c_int, c_int, c_int, c_int, *const c_char, c_int) -> c_int;
    deflate: deflate(Strm, c_int) -> c_int;
    deflate: deflateEnd(Strm) -> c_int;
    deflate: deflateReset(Strm) -> c_int;
    deflate: deflateBound(Strm, c_ulong) -> c_ulong;
    deflate: deflateCopy(Strm, Strm) -> c_int;
    deflate: deflateParams(Strm, c_int, c_int) -> c_int;
    deflate: deflatePending(Strm, *mut c_uint, *mut c_int) -> c_int;
    deflate: deflatePrime(Strm, c_int, c_int) -> c_int;
    deflate: deflateTune(Strm, c_int, c_int, c_int, c_int) -> c_int;
    deflate: deflateSetHeader(Strm, *mut gz_header) -> c_int;
    deflate: deflateSetDictionary(Strm, *const u8, c_uint) -> c_int;
    deflate: deflateGetDictionary(*const z_stream, *mut u8, *mut c_uint) -> c_int;
    inflate: inflateInit2_(Strm, c_int, *const c_char, c_int) -> c_int;
    inflate: inflate(Strm, c_int) -> c_int;
    inflate: inflateEnd(Strm) -> c_int;
    inflate: inflateSetDictionary(Strm, *const u8, c_uint) -> c_int;
    whole: compress2(*mut u8, *mut c_ulong, *const u8, c_ulong, c_int) -> c_int;
    whole: uncompress2(*mut u8, *mut c_ulong, *const u8, *mut c_ulong) -> c_int;
}

pub fn empty() -> Box<z_stream> {
    let mut strm = Box::new(z_stream::default());
    strm.zalloc = None;
    strm.zfree = None;
    strm
}

/// Parameters of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub level: c_int,
    pub bits: c_int,
    pub mem: c_int,
    pub strategy: c_int,
}

pub const fn shape(level: c_int, bits: c_int) -> Shape {
    Shape { level, bits, mem: 8, strategy: 0 }
}

/// A deflate stream of either library.
pub struct Deflate {
    pub zlib: Zlib,
    pub strm: Box<z_stream>,
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub code: c_int,
    pub taken: usize,
    pub made: usize,
}

impl Deflate {
    pub fn new(zlib: Zlib, shape: Shape) -> Deflate {
        let mut strm = empty();
        assert_eq!(init(zlib, &mut strm, shape), OK, "{} {shape:?}", zlib.name);
        Deflate { zlib, strm }
    }

    pub fn call(&mut self, src: &[u8], dst: &mut [u8], flush: c_int) -> Call {
        self.strm.next_in = src.as_ptr();
        self.strm.avail_in = src.len() as c_uint;
        self.strm.next_out = dst.as_mut_ptr();
        self.strm.avail_out = dst.len() as c_uint;
        // SAFETY: a stream of this library, two slices.
        let code = unsafe { (self.zlib.deflate)(&mut *self.strm, flush) };
        Call {
            code,
            taken: src.len() - self.strm.avail_in as usize,
            made: dst.len() - self.strm.avail_out as usize,
        }
    }

    /// All of `src` with this flush at its end, in as many calls as output of `step` bytes takes.
    pub fn feed(&mut self, src: &[u8], step: usize, flush: c_int, out: &mut Vec<u8>) -> c_int {
        let mut rest = src;
        loop {
            let at = out.len();
            out.resize(at + step, 0xa5);
            let call = self.call(rest, &mut out[at..], flush);
            out.truncate(at + call.made);
            rest = &rest[call.taken..];
            assert!(
                call.made == step || call.code != OK || rest.is_empty(),
                "room left, input left: {call:?}, {flush}"
            );
            if call.code != OK || call.made < step {
                assert!(rest.is_empty() || call.code < 0);
                return call.code;
            }
        }
    }

    pub fn end(mut self) -> c_int {
        // SAFETY: a stream of this library.
        unsafe { (self.zlib.deflateEnd)(&mut *self.strm) }
    }
}

pub fn init(zlib: Zlib, strm: &mut z_stream, shape: Shape) -> c_int {
    let Shape { level, bits, mem, strategy } = shape;
    // SAFETY: a z_stream with its allocator set.
    unsafe {
        (zlib.deflateInit2_)(
            strm,
            level,
            8,
            bits,
            mem,
            strategy,
            c"1.2.13".as_ptr(),
            size_of::<z_stream>() as c_int,
        )
    }
}

/// Decodes with the system's zlib as far as there is something; the code of the last call.
pub fn inflate_all(packed: &[u8], bits: c_int, dictionary: Option<&[u8]>) -> (c_int, Vec<u8>) {
    let zlib = stock();
    let mut strm = empty();
    let mut out = Vec::new();
    // SAFETY: a stream of the system's zlib, between slices.
    unsafe {
        let size = size_of::<z_stream>() as c_int;
        assert_eq!((zlib.inflateInit2_)(&mut *strm, bits, c"1.2.13".as_ptr(), size), OK);
        if let Some(d) = dictionary.filter(|_| bits < 0) {
            assert_eq!((zlib.inflateSetDictionary)(&mut *strm, d.as_ptr(), d.len() as c_uint), OK);
        }
        strm.next_in = packed.as_ptr();
        strm.avail_in = packed.len() as c_uint;
        loop {
            let at = out.len();
            out.resize(at + (64 << 10), 0);
            strm.next_out = out[at..].as_mut_ptr();
            strm.avail_out = 64 << 10;
            let mut code = (zlib.inflate)(&mut *strm, NO_FLUSH);
            if let (2, Some(d)) = (code, dictionary) {
                code = (zlib.inflateSetDictionary)(&mut *strm, d.as_ptr(), d.len() as c_uint);
            }
            out.truncate(out.len() - strm.avail_out as usize);
            if code != OK || (strm.avail_in == 0 && strm.avail_out > 0) {
                (zlib.inflateEnd)(&mut *strm);
                return (code, out);
            }
        }
    }
}

/// Seeded numbers.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ self.0 >> 29;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Words in random order: compressible like text.
pub fn text(len: usize) -> Vec<u8> {
    let mut rng = Rng(len as u64 + 1);
    let words: Vec<Vec<u8>> = (0..500)
        .map(|_| (0..2 + rng.below(8)).map(|_| b'a' + rng.below(26) as u8).collect())
        .collect();
    let mut text = Vec::with_capacity(len + 10);
    while text.len() < len {
        let squared = rng.below(500) * rng.below(500) / 500;
        text.extend_from_slice(&words[squared]);
        text.push(if rng.below(12) == 0 { b'\n' } else { b' ' });
    }
    text.truncate(len);
    text
}

/// Nothing to be won.
pub fn noise(len: usize) -> Vec<u8> {
    let mut rng = Rng(len as u64 + 7);
    (0..len).map(|_| rng.next() as u8).collect()
}

/// Whether all is tried that otherwise takes turns: by `LOOKASIDE_SIZES=all`.
pub fn all() -> bool {
    std::env::var("LOOKASIDE_SIZES").is_ok_and(|sizes| sizes == "all")
}
