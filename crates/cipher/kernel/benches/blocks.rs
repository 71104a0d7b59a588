//! SM4, DES, triple DES and ARC4 beside OpenSSL, AWS-LC and Intel's ipsec-mb in this run.
//!
//! ```sh
//! cargo bench -p lookaside-cipher-kernel --bench blocks -- [NAME...]
//! ```
//!
//! For each cipher and mode, number of packets in a call and length: Gbit/s of CPU time (the best
//! of interleaved short rounds) of ours and of each rival, and the ratios, ours to theirs. Every
//! packet has a key of its own unless the row says `one key`. Results are compared before anything is
//! timed. OpenSSL keeps a cipher's state for each key and takes a new IV for each packet; ipsec-mb
//! (Debian's libipsec-mb-dev) has all packets of a call in flight. NAME selects rows that contain it.

#[path = "../tests/blocks/mod.rs"]
mod blocks;
#[path = "blocks/rivals.rs"]
mod rivals;

use std::time::Duration;

use blocks::{Numbers, load_legacy};
use lookaside_cipher_kernel::{Text, arc4, des, sm4};
use lookaside_simd::Cpu;
use rivals::{AwsRc4, OpenSsl};

/// How long a round lasts.
const ROUND: Duration = Duration::from_micros(700);
const ROUNDS: usize = 7;

fn cpu_time() -> Duration {
    // SAFETY: the clock writes the structure.
    let now = unsafe {
        let mut now = std::mem::zeroed::<libc::timespec>();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now);
        now
    };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What works on the texts in place.
type Run<'a> = Box<dyn FnMut(&mut [Vec<u8>]) + 'a>;

/// Someone who encrypts (or decrypts) all packets of the row once.
pub struct Runner<'a> {
    name: &'static str,
    run: Run<'a>,
}

impl<'a> Runner<'a> {
    /// A name to print, and what to run.
    pub fn new(name: &'static str, run: impl FnMut(&mut [Vec<u8>]) + 'a) -> Self {
        Runner { name, run: Box::new(run) }
    }
}

/// Compares the answers, measures, prints.
fn row(title: &str, texts: &[Vec<u8>], mut runners: Vec<Runner<'_>>, same: bool) {
    let mut filters = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).peekable();
    if filters.peek().is_some() && !filters.any(|filter| title.contains(&filter)) {
        return;
    }
    let mut wanted: Option<Vec<Vec<u8>>> = None;
    for runner in &mut runners {
        let mut out = texts.to_vec();
        (runner.run)(&mut out);
        match &wanted {
            Some(wanted) if same => assert!(*wanted == out, "{title}: {} differs", runner.name),
            Some(_) => {}
            None => wanted = Some(out),
        }
    }
    let bytes: usize = texts.iter().map(Vec::len).sum();
    let mut best = vec![f64::MAX; runners.len()];
    let mut texts = texts.to_vec();
    for _ in 0..ROUNDS {
        for (runner, best) in runners.iter_mut().zip(&mut best) {
            let (start, mut calls) = (cpu_time(), 0);
            loop {
                (runner.run)(&mut texts);
                calls += 1;
                let spent = cpu_time() - start;
                if spent >= ROUND {
                    *best = best.min(spent.as_secs_f64() / f64::from(calls));
                    break;
                }
            }
        }
    }
    let rate = |seconds: &f64| bytes as f64 * 8e-9 / seconds;
    print!("{title:40} {:8.3}", rate(&best[0]));
    for (runner, best_of) in runners.iter().zip(&best).skip(1) {
        print!("   {} {:.3} ({:.2}x)", runner.name, rate(best_of), best_of / best[0]);
    }
    println!();
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    CbcEncrypt,
    CbcDecrypt,
    Ctr,
    Ecb,
}

const MODES: [(Mode, &str); 4] = [
    (Mode::CbcEncrypt, "cbc-encrypt"),
    (Mode::CbcDecrypt, "cbc-decrypt"),
    (Mode::Ctr, "ctr"),
    (Mode::Ecb, "ecb"),
];

const SHAPES: [(usize, usize); 8] =
    [(1, 64), (1, 256), (1, 1024), (1, 16384), (32, 64), (32, 256), (32, 1024), (32, 16384)];

fn main() {
    load_legacy();
    let cpu = Cpu::host();
    println!("Gbit/s, ours first; tier {}", cpu.tier());
    for one_key in [false, true] {
        sm4_rows(cpu, one_key);
        des_rows::<8, _>(cpu, "des", des::Key::new, one_key);
        des_rows::<24, _>(cpu, "3des", des::TripleKey::new, one_key);
    }
    arc4_rows();
}

/// The texts, and which key each packet has.
fn packets(numbers: &mut Numbers, (count, len): (usize, usize)) -> Vec<Vec<u8>> {
    (0..count).map(|_| numbers.bytes(len)).collect()
}

fn sm4_rows(cpu: &Cpu, one_key: bool) {
    let mut numbers = Numbers(1);
    for (mode, mode_name) in MODES {
        for shape in SHAPES {
            if one_key && shape.0 == 1 {
                continue;
            }
            let texts = packets(&mut numbers, shape);
            let mut raw: Vec<[u8; 16]> = texts.iter().map(|_| numbers.array()).collect();
            if one_key {
                raw = vec![raw[0]; raw.len()];
            }
            let iv: [u8; 16] = numbers.array();
            let keys: Vec<_> = raw.iter().map(sm4::Key::new).collect();
            let key = |i: usize| if one_key { &keys[0] } else { &keys[i] };
            let ours = Runner::new("ours", move |texts: &mut [Vec<u8>]| {
                let mut ivs = vec![iv; texts.len()];
                let each = texts.iter_mut().zip(&mut ivs).enumerate();
                match mode {
                    Mode::Ctr => sm4::ctr(
                        cpu,
                        &mut each
                            .map(|(i, (text, counter))| sm4::Ctr {
                                key: key(i),
                                counter,
                                text: Text::InPlace(text),
                            })
                            .collect::<Vec<_>>(),
                    ),
                    Mode::Ecb => sm4::ecb_encrypt(
                        cpu,
                        &mut each
                            .map(|(i, (text, _))| sm4::Ecb {
                                key: key(i),
                                text: Text::InPlace(text),
                            })
                            .collect::<Vec<_>>(),
                    ),
                    Mode::CbcEncrypt | Mode::CbcDecrypt => {
                        let mut packets: Vec<_> = each
                            .map(|(i, (text, iv))| sm4::Cbc {
                                key: key(i),
                                iv,
                                text: Text::InPlace(text),
                            })
                            .collect();
                        if mode == Mode::CbcEncrypt {
                            sm4::cbc_encrypt(cpu, &mut packets);
                        } else {
                            sm4::cbc_decrypt(cpu, &mut packets);
                        }
                    }
                }
            });
            let rival = OpenSsl::new(mode.sm4(), mode != Mode::CbcDecrypt, &raw, &iv);
            let title = title("sm4", mode_name, shape, one_key);
            row(&title, &texts, vec![ours, rival.runner()], true);
        }
    }
}

fn title(cipher: &str, mode: &str, (count, len): (usize, usize), one_key: bool) -> String {
    let keys = if one_key { " one key" } else { "" };
    format!("{cipher} {mode} {count} x {len}{keys}")
}

impl Mode {
    fn sm4(self) -> *const openssl_sys::EVP_CIPHER {
        // SAFETY: constants of the library.
        unsafe {
            match self {
                Mode::Ctr => openssl_sys::EVP_sm4_ctr(),
                Mode::Ecb => openssl_sys::EVP_sm4_ecb(),
                Mode::CbcEncrypt | Mode::CbcDecrypt => openssl_sys::EVP_sm4_cbc(),
            }
        }
    }

    /// OpenSSL has no counter mode of DES: ECB stands in, which does less.
    fn des(self, triple: bool) -> *const openssl_sys::EVP_CIPHER {
        // SAFETY: constants of the library.
        unsafe {
            match (self, triple) {
                (Mode::Ctr | Mode::Ecb, true) => openssl_sys::EVP_des_ede3_ecb(),
                (_, true) => openssl_sys::EVP_des_ede3_cbc(),
                (Mode::Ctr | Mode::Ecb, false) => openssl_sys::EVP_des_ecb(),
                (_, false) => openssl_sys::EVP_des_cbc(),
            }
        }
    }
}

fn des_rows<const N: usize, K: des::Cipher>(
    cpu: &Cpu,
    name: &str,
    new: impl Fn(&[u8; N]) -> K,
    one_key: bool,
) {
    let mut numbers = Numbers(1);
    for (mode, mode_name) in MODES {
        if mode == Mode::Ecb {
            continue;
        }
        for shape in SHAPES {
            if one_key && shape.0 == 1 {
                continue;
            }
            let texts = packets(&mut numbers, shape);
            let mut raw: Vec<[u8; N]> = texts.iter().map(|_| numbers.array()).collect();
            if one_key {
                raw = vec![raw[0]; raw.len()];
            }
            let iv: [u8; 8] = numbers.array();
            let keys: Vec<_> = raw.iter().map(&new).collect();
            let key = |i: usize| if one_key { &keys[0] } else { &keys[i] };
            let ours = Runner::new("ours", move |texts: &mut [Vec<u8>]| {
                let mut ivs = vec![iv; texts.len()];
                let each = texts.iter_mut().zip(&mut ivs).enumerate();
                if mode == Mode::Ctr {
                    let packets = each.map(|(i, (text, counter))| des::Ctr {
                        key: key(i),
                        counter,
                        text: Text::InPlace(text),
                    });
                    des::ctr(cpu, &mut packets.collect::<Vec<_>>());
                    return;
                }
                let mut packets: Vec<_> = each
                    .map(|(i, (text, iv))| des::Cbc { key: key(i), iv, text: Text::InPlace(text) })
                    .collect();
                if mode == Mode::CbcEncrypt {
                    des::cbc_encrypt(cpu, &mut packets);
                } else {
                    des::cbc_decrypt(cpu, &mut packets);
                }
            });
            let encrypt = mode != Mode::CbcDecrypt;
            let rival = OpenSsl::new(mode.des(N == 24), encrypt, &raw, &iv);
            let mut runners = vec![ours, rival.runner()];
            #[cfg(target_arch = "x86_64")]
            if mode != Mode::Ctr {
                runners.push(rivals::IpsecMb::new(encrypt, &raw, iv).runner());
            }
            let title = title(name, mode_name, shape, one_key);
            row(&title, &texts, runners, mode != Mode::Ctr);
        }
    }
}

fn arc4_rows() {
    let mut numbers = Numbers(1);
    for shape in SHAPES {
        let texts = packets(&mut numbers, shape);
        let raw: Vec<[u8; 16]> = texts.iter().map(|_| numbers.array()).collect();
        let mut streams: Vec<_> = raw.iter().map(|key| arc4::Stream::new(key)).collect();
        let ours = Runner::new("ours", move |texts: &mut [Vec<u8>]| {
            let mut packets: Vec<_> = streams
                .iter_mut()
                .zip(texts)
                .map(|(stream, text)| (stream, Text::InPlace(text)))
                .collect();
            arc4::apply_many(&mut packets);
        });
        // SAFETY: a constant of the library.
        let cipher = unsafe { openssl_sys::EVP_rc4() };
        let openssl = OpenSsl::new(cipher, true, &raw, &[]);
        let runners = vec![ours, openssl.runner(), AwsRc4::new(&raw).runner()];
        row(&title("arc4", "apply", shape, false), &texts, runners, true);
    }
}
