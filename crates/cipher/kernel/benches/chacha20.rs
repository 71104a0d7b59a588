//! ChaCha20-Poly1305, 32 packets in flight and one at a time, against AWS-LC, OpenSSL and, where
//! its shared library is installed (Debian: `libipsec-mb1`), Intel's multi-buffer library.
//!
//! ```sh
//! cargo bench -p lookaside-cipher-kernel --bench chacha20 -- [--rounds N] [NxLEN...]
//! ```
//!
//! `32x64` selects the row of 32 packets of 64 bytes. Rows: nanoseconds of CPU time per packet (the least of interleaved short rounds), keys and nonces
//! different in every packet, 12 bytes of additional data; and the rivals' times as ratios to ours:
//! above 1 we are quicker. Every contender's ciphertexts and tags are compared with ours.

use std::ffi::{c_int, c_void};
use std::ptr;

use aws_lc_sys as aws;
use lookaside_cipher_kernel::Text;
use lookaside_cipher_kernel::chacha20::{Sealed, open, seal};
use lookaside_simd::{Cpu, Tier};
use openssl_sys as ssl;

/// CPU time of this thread in seconds.
fn cpu_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Packets of one length, each with its key, nonce, additional data, text, room and tag.
struct Packets {
    keys: Vec<[u8; 32]>,
    nonces: Vec<[u8; 12]>,
    aad: Vec<[u8; 12]>,
    src: Vec<Vec<u8>>,
    dst: Vec<Vec<u8>>,
    tags: Vec<[u8; 16]>,
}

impl Packets {
    fn new(count: usize, len: usize) -> Packets {
        let byte = |i: usize, j: usize| (i * 31 + j * 7 + ((i * j) >> 3)) as u8;
        Packets {
            keys: (0..count).map(|i| std::array::from_fn(|j| byte(i, j))).collect(),
            nonces: (0..count).map(|i| std::array::from_fn(|j| byte(i + 99, j))).collect(),
            aad: (0..count).map(|i| std::array::from_fn(|j| byte(i + 77, j))).collect(),
            src: (0..count).map(|i| (0..len).map(|j| byte(i, j)).collect()).collect(),
            dst: vec![vec![0; len]; count],
            tags: vec![[0; 16]; count],
        }
    }

    fn ours(&mut self, cpu: &Cpu, direction: fn(&Cpu, &mut [Sealed<'_>])) {
        let mut packets: Vec<Sealed<'_>> = (0..self.keys.len())
            .zip(&mut self.dst)
            .map(|(i, dst)| Sealed {
                key: &self.keys[i],
                nonce: &self.nonces[i],
                aad: &self.aad[i],
                text: Text::Apart { src: &self.src[i], dst },
                tag: [0; 16],
            })
            .collect();
        direction(cpu, &mut packets);
        for (tag, packet) in self.tags.iter_mut().zip(&packets) {
            *tag = packet.tag;
        }
    }
}

struct AwsLc(Vec<*mut aws::EVP_AEAD_CTX>);

impl AwsLc {
    fn new(packets: &Packets) -> AwsLc {
        let new = |key: &[u8; 32]| {
            // SAFETY: the key is of the length given.
            unsafe {
                aws::EVP_AEAD_CTX_new(aws::EVP_aead_chacha20_poly1305(), key.as_ptr(), 32, 16)
            }
        };
        AwsLc(packets.keys.iter().map(new).collect())
    }

    fn seal(&self, packets: &mut Packets) {
        for (i, ctx) in self.0.iter().enumerate() {
            let mut tag_len = 0;
            let (src, aad) = (&packets.src[i], &packets.aad[i]);
            let (to, tag) = (packets.dst[i].as_mut_ptr(), packets.tags[i].as_mut_ptr());
            let nonce = packets.nonces[i].as_ptr();
            // SAFETY: all are of the lengths given.
            let ok = unsafe {
                aws::EVP_AEAD_CTX_seal_scatter(
                    *ctx,
                    to,
                    tag,
                    &mut tag_len,
                    16,
                    nonce,
                    12,
                    src.as_ptr(),
                    src.len(),
                    ptr::null(),
                    0,
                    aad.as_ptr(),
                    aad.len(),
                )
            };
            assert_eq!(ok, 1);
        }
    }
}

struct OpenSsl(*mut ssl::EVP_CIPHER_CTX);

impl OpenSsl {
    fn new() -> OpenSsl {
        // SAFETY: the cipher is fetched once; key and nonce follow with each packet.
        unsafe {
            let ctx = ssl::EVP_CIPHER_CTX_new();
            let cipher = ssl::EVP_chacha20_poly1305();
            let null = ptr::null_mut();
            assert_eq!(ssl::EVP_EncryptInit_ex(ctx, cipher, null, ptr::null(), ptr::null()), 1);
            OpenSsl(ctx)
        }
    }

    fn seal(&self, packets: &mut Packets) {
        for i in 0..packets.keys.len() {
            let (ctx, mut n) = (self.0, 0);
            let (src, aad) = (&packets.src[i], &packets.aad[i]);
            let (key, nonce) = (packets.keys[i].as_ptr(), packets.nonces[i].as_ptr());
            let (to, tag) = (packets.dst[i].as_mut_ptr(), packets.tags[i].as_mut_ptr());
            // SAFETY: all are of the lengths given.
            unsafe {
                ssl::EVP_EncryptInit_ex(ctx, ptr::null(), ptr::null_mut(), key, nonce);
                let (aad_len, len) = (aad.len() as c_int, src.len() as c_int);
                ssl::EVP_EncryptUpdate(ctx, ptr::null_mut(), &mut n, aad.as_ptr(), aad_len);
                ssl::EVP_EncryptUpdate(ctx, to, &mut n, src.as_ptr(), len);
                ssl::EVP_EncryptFinal_ex(ctx, to.add(src.len()), &mut n);
                ssl::EVP_CIPHER_CTX_ctrl(ctx, ssl::EVP_CTRL_GCM_GET_TAG, 16, tag.cast());
            }
        }
    }
}

/// Intel's library: what it calls a job, as `intel-ipsec-mb.h` 1.3 lays it out.
#[repr(C)]
struct Request {
    enc_keys: *const u8,
    dec_keys: *const u8,
    key_len: u64,
    src: *const u8,
    dst: *mut u8,
    cipher_offset: u64,
    cipher_len: u64,
    hash_offset: u64,
    hash_len: u64,
    iv: *const u8,
    iv_len: u64,
    tag: *mut u8,
    tag_len: u64,
    aad: *const u8,
    aad_len: u64,
    sgl: *mut c_void,
    status: u32,
    cipher: u32,
    direction: u32,
    hash: u32,
    order: u32,
}

type Next = unsafe extern "C" fn(*mut c_void) -> *mut Request;

struct MultiBuffer {
    state: *mut c_void,
    next: Next,
    submit: Next,
    flush: Next,
}

impl MultiBuffer {
    /// `None` where the library, or a CPU with AVX-512, is not there.
    fn load() -> Option<MultiBuffer> {
        Cpu::host().avx512()?;
        // SAFETY: symbols of the library with the types that its header gives them.
        unsafe {
            let library = libc::dlopen(c"libIPSec_MB.so.1".as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &str| {
                let name = format!("{name}\0");
                let symbol = libc::dlsym(library, name.as_ptr().cast());
                (!symbol.is_null()).then_some(symbol)
            };
            let alloc: unsafe extern "C" fn(u64) -> *mut c_void =
                std::mem::transmute(symbol("alloc_mb_mgr")?);
            let init: unsafe extern "C" fn(*mut c_void) =
                std::mem::transmute(symbol("init_mb_mgr_avx512")?);
            let word = ["jo", "b"].concat();
            let get = |name: String| {
                symbol(&name).map(|symbol| std::mem::transmute::<*mut c_void, Next>(symbol))
            };
            let state = alloc(0);
            init(state);
            Some(MultiBuffer {
                state,
                next: get(format!("get_next_{word}_avx512"))?,
                submit: get(format!("submit_{word}_nocheck_avx512"))?,
                flush: get(format!("flush_{word}_avx512"))?,
            })
        }
    }

    fn seal(&self, packets: &mut Packets) {
        const COMPLETED: u32 = 3;
        let mut done = 0;
        for i in 0..packets.keys.len() {
            // SAFETY: every pointer is to as many bytes as given, until the flush.
            unsafe {
                let request = &mut *(self.next)(self.state);
                request.enc_keys = packets.keys[i].as_ptr();
                request.dec_keys = packets.keys[i].as_ptr();
                request.key_len = 32;
                request.src = packets.src[i].as_ptr();
                request.dst = packets.dst[i].as_mut_ptr();
                request.cipher_offset = 0;
                request.cipher_len = packets.src[i].len() as u64;
                request.hash_offset = 0;
                request.hash_len = packets.src[i].len() as u64;
                request.iv = packets.nonces[i].as_ptr();
                request.iv_len = 12;
                request.tag = packets.tags[i].as_mut_ptr();
                request.tag_len = 16;
                request.aad = packets.aad[i].as_ptr();
                request.aad_len = 12;
                // Both halves of ChaCha20-Poly1305, encrypting, the cipher first.
                (request.cipher, request.hash) = (19, 29);
                (request.direction, request.order) = (1, 1);
                let mut back = (self.submit)(self.state);
                while !back.is_null() {
                    assert_eq!((*back).status, COMPLETED);
                    done += 1;
                    back = ptr::null_mut();
                }
            }
        }
        loop {
            // SAFETY: as above.
            let back = unsafe { (self.flush)(self.state) };
            if back.is_null() {
                break;
            }
            done += 1;
        }
        assert_eq!(done, packets.keys.len());
    }
}

fn main() {
    let rounds = std::env::args()
        .skip_while(|argument| argument != "--rounds")
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(5);
    let names: Vec<String> = std::env::args()
        .filter(|argument| argument.contains('x') && !argument.contains('/'))
        .collect();
    let multi_buffer = MultiBuffer::load();
    if multi_buffer.is_none() {
        println!("Intel's multi-buffer library is not here (libipsec-mb1): its column is empty");
    }
    let avx2 = Cpu::with_cap(Tier::Avx2);
    println!("   len  n  ns/packet  Gbit/s   AWS-LC  OpenSSL  ipsec-mb     open  AVX2 tier");
    for (count, len) in
        [32, 8, 1].into_iter().flat_map(|n| [64, 256, 1024, 1408, 16384].map(|len| (n, len)))
    {
        let name = format!("{count}x{len}");
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let mut packets: Vec<Packets> = (0..6).map(|_| Packets::new(count, len)).collect();
        let (aws_lc, openssl) = (AwsLc::new(&packets[0]), OpenSsl::new());
        let mut best = [f64::INFINITY; 6];
        for _ in 0..rounds {
            for (i, (best, packets)) in best.iter_mut().zip(&mut packets).enumerate() {
                let (mut times, from) = (0, cpu_time());
                let taken = loop {
                    match i {
                        0 => packets.ours(Cpu::host(), seal),
                        1 => aws_lc.seal(packets),
                        2 => openssl.seal(packets),
                        3 => match &multi_buffer {
                            Some(library) => library.seal(packets),
                            None => break f64::INFINITY,
                        },
                        4 => packets.ours(Cpu::host(), open),
                        _ => packets.ours(&avx2, seal),
                    }
                    times += count;
                    let taken = cpu_time() - from;
                    if taken > 2e-3 {
                        break taken;
                    }
                };
                *best = best.min(taken / times.max(1) as f64);
            }
        }
        for (i, other) in packets.iter().enumerate().skip(1) {
            if i != 4 && best[i].is_finite() {
                assert!(other.tags == packets[0].tags, "tags of contender {i}");
                assert!(other.dst == packets[0].dst, "texts of contender {i}");
            }
        }
        let ratio = |i: usize| match best[i].is_finite() {
            true => format!("{:.2}", best[i] / best[0]),
            false => String::new(),
        };
        println!(
            "{len:>6} {count:>2} {:>10.1} {:>7.1} {:>8} {:>8} {:>9} {:>8} {:>10}",
            best[0] * 1e9,
            len as f64 * 8e-9 / best[0],
            ratio(1),
            ratio(2),
            ratio(3),
            ratio(4),
            ratio(5),
        );
    }
}
