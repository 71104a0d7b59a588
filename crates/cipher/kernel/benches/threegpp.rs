//! The ciphers of 3GPP beside intel-ipsec-mb 1.3, where its library is on the machine.
//!
//! ```sh
//! cargo bench -p lookaside-cipher-kernel --bench threegpp
//! ```
//!
//! Both sides must agree on every result before they are timed. Figures are bits of text per
//! second of this thread's CPU time, the best of interleaved rounds.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;

use lookaside_cipher_kernel::{Text, kasumi, snow3g, zuc};
use lookaside_simd::Cpu;

/// intel-ipsec-mb 1.3, loaded when it is there.
#[derive(Clone, Copy)]
struct IpsecMb {
    /// `IMB_MGR`.
    state: *mut u8,
}

/// Offsets of function pointers in `IMB_MGR`, from `intel-ipsec-mb.h` of 1.3.
mod at {
    pub const GET_NEXT: usize = 64;
    pub const SUBMIT: usize = 72;
    pub const ZUC_EEA3_1: usize = 472;
    pub const ZUC_EIA3_1: usize = 496;
    pub const KASUMI_F8_1_BIT: usize = 512;
    pub const KASUMI_F8_N: usize = 544;
    pub const KASUMI_F9_1_USER: usize = 560;
    pub const KASUMI_INIT_F8: usize = 568;
    pub const KASUMI_INIT_F9: usize = 576;
    pub const SNOW3G_F8_1_BIT: usize = 592;
    pub const SNOW3G_F9_1: usize = 656;
    pub const SNOW3G_INIT: usize = 664;
}

/// `IMB_JOB`, as far as it is used here.
#[repr(C)]
struct Request {
    enc_keys: *const c_void,
    dec_keys: *const c_void,
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
    hash_keys: [*const c_void; 3],
    status: c_int,
    cipher_mode: c_int,
    direction: c_int,
    hash: c_int,
    order: c_int,
}

/// `kasumi_key_sched_t`.
type Schedule = [u16; 128];

impl IpsecMb {
    fn load() -> Option<IpsecMb> {
        // SAFETY: signatures and structure are those of the header of version 1.3, which is asked
        // for first.
        unsafe {
            let library = libc::dlopen(c"libIPSec_MB.so.1".as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &CStr| libc::dlsym(library, name.as_ptr());
            let version: extern "C" fn() -> *const c_char =
                core::mem::transmute(symbol(c"imb_get_version_str"));
            let version = CStr::from_ptr(version()).to_string_lossy();
            if !version.trim_start_matches('v').starts_with("1.3") {
                println!("intel-ipsec-mb {version} is not 1.3: not compared");
                return None;
            }
            let alloc: extern "C" fn(u64) -> *mut u8 =
                core::mem::transmute(symbol(c"alloc_mb_mgr"));
            let init: extern "C" fn(*mut u8, *mut c_int) =
                core::mem::transmute(symbol(c"init_mb_mgr_auto"));
            let state = alloc(0);
            init(state, core::ptr::null_mut());
            Some(IpsecMb { state })
        }
    }

    fn function(self, at: usize) -> *const c_void {
        // SAFETY: a pointer of the structure.
        unsafe { self.state.add(at).cast::<*const c_void>().read() }
    }

    fn kasumi_schedule(self, init: usize, key: &[u8; 16]) -> Schedule {
        let mut schedule = [0; 128];
        // SAFETY: the header's signature.
        unsafe {
            let init: extern "C" fn(*const u8, *mut u16) -> c_int =
                core::mem::transmute(self.function(init));
            init(key.as_ptr(), schedule.as_mut_ptr());
        }
        schedule
    }

    fn f8_bits(self, key: &Schedule, iv: [u8; 8], text: &[u8], bits: u32) -> Vec<u8> {
        let mut out = padded(text);
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u16, u64, *const u8, *mut u8, u32, u32) =
                core::mem::transmute(self.function(at::KASUMI_F8_1_BIT));
            f(key.as_ptr(), u64::from_le_bytes(iv), text.as_ptr(), out.as_mut_ptr(), bits, 0);
        }
        out.truncate(text.len());
        out
    }

    fn f9(self, key: &Schedule, iv: [u8; 8], data: &[u8], bits: u32, direction: u32) -> [u8; 4] {
        let mut tag = [0; 4];
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u16, u64, *const u8, u32, *mut u8, u32) =
                core::mem::transmute(self.function(at::KASUMI_F9_1_USER));
            let iv = u64::from_le_bytes(iv);
            f(key.as_ptr(), iv, data.as_ptr(), bits, tag.as_mut_ptr(), direction);
        }
        tag
    }

    fn uea2(self, key: &[u8; 16], iv: &[u8; 16], text: &[u8], bits: u32) -> Vec<u8> {
        let mut out = padded(text);
        let schedule = self.snow3g_schedule(key);
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u32, *const u8, *const u8, *mut u8, u32, u32) =
                core::mem::transmute(self.function(at::SNOW3G_F8_1_BIT));
            f(schedule.as_ptr(), iv.as_ptr(), text.as_ptr(), out.as_mut_ptr(), bits, 0);
        }
        out.truncate(text.len());
        out
    }

    fn uia2(self, key: &[u8; 16], iv: &[u8; 16], data: &[u8], bits: u64) -> [u8; 4] {
        let mut tag = [0; 4];
        let schedule = self.snow3g_schedule(key);
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u32, *const u8, *const u8, u64, *mut u8) =
                core::mem::transmute(self.function(at::SNOW3G_F9_1));
            f(schedule.as_ptr(), iv.as_ptr(), data.as_ptr(), bits, tag.as_mut_ptr());
        }
        tag
    }

    fn snow3g_schedule(self, key: &[u8; 16]) -> [u32; 4] {
        let mut schedule = [0; 4];
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u8, *mut u32) -> c_int =
                core::mem::transmute(self.function(at::SNOW3G_INIT));
            f(key.as_ptr(), schedule.as_mut_ptr());
        }
        schedule
    }

    fn eea3(self, key: &[u8; 16], iv: &[u8; 16], text: &[u8]) -> Vec<u8> {
        let mut out = padded(text);
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u8, *const u8, *const u8, *mut u8, u32) =
                core::mem::transmute(self.function(at::ZUC_EEA3_1));
            let len = text.len() as u32;
            f(key.as_ptr(), iv.as_ptr(), text.as_ptr(), out.as_mut_ptr(), len);
        }
        out.truncate(text.len());
        out
    }

    fn eia3(self, key: &[u8; 16], iv: &[u8; 16], data: &[u8], bits: u32) -> [u8; 4] {
        let mut tag = [0; 4];
        // SAFETY: the header's signature.
        unsafe {
            let f: extern "C" fn(*const u8, *const u8, *const u8, u32, *mut u8) =
                core::mem::transmute(self.function(at::ZUC_EIA3_1));
            f(key.as_ptr(), iv.as_ptr(), data.as_ptr(), bits, tag.as_mut_ptr());
        }
        tag
    }

    /// F8 of many packets under one key, sixteen to a call.
    fn f8_n(self, key: &Schedule, ivs: &[u64], texts: &mut [Vec<u8>]) {
        for (ivs, texts) in ivs.chunks(16).zip(texts.chunks_mut(16)) {
            let mut dst: Vec<*mut u8> = texts.iter_mut().map(|text| text.as_mut_ptr()).collect();
            let src: Vec<*const u8> = dst.iter().map(|text| text.cast_const()).collect();
            let len: Vec<u32> = texts.iter().map(|text| text.len() as u32).collect();
            // SAFETY: the header's signature.
            unsafe {
                let f: extern "C" fn(
                    *const u16,
                    *const u64,
                    *const *const u8,
                    *mut *mut u8,
                    *const u32,
                    u32,
                ) = core::mem::transmute(self.function(at::KASUMI_F8_N));
                let count = texts.len() as u32;
                f(key.as_ptr(), ivs.as_ptr(), src.as_ptr(), dst.as_mut_ptr(), len.as_ptr(), count);
            }
        }
    }

    /// F8 of many packets through the interface of requests.
    fn f8_requests(self, key: &Schedule, ivs: &[u64], texts: &mut [Vec<u8>]) {
        // SAFETY: the header's signatures and structure.
        unsafe {
            let next: extern "C" fn(*mut u8) -> *mut Request =
                core::mem::transmute(self.function(at::GET_NEXT));
            let submit: extern "C" fn(*mut u8) -> *mut Request =
                core::mem::transmute(self.function(at::SUBMIT));
            for (iv, text) in ivs.iter().zip(texts) {
                let request = &mut *next(self.state);
                request.enc_keys = key.as_ptr().cast();
                request.dec_keys = key.as_ptr().cast();
                request.key_len = 16;
                request.src = text.as_ptr();
                request.dst = text.as_mut_ptr();
                request.cipher_offset = 0;
                request.cipher_len = 8 * text.len() as u64;
                request.iv = core::ptr::from_ref(iv).cast();
                request.iv_len = 8;
                // IMB_CIPHER_KASUMI_UEA1_BITLEN, IMB_DIR_ENCRYPT, IMB_AUTH_NULL,
                // IMB_ORDER_CIPHER_HASH.
                (request.cipher_mode, request.direction) = (16, 1);
                (request.hash, request.order) = (8, 1);
                let done = submit(self.state);
                assert!(!done.is_null() && (*done).status == 3, "completed at once");
            }
        }
    }
}

/// A copy with room behind it: some functions write whole words.
fn padded(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    out.resize(text.len() + 64, 0);
    out
}

fn cpu_seconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Bits per second of each contender, its best round. A round is a millisecond or one run: wide
/// vectors take their time to wake up after a rival that does without.
fn compare(bytes: usize, contenders: &mut [(&str, &mut dyn FnMut())]) {
    let mut best = vec![f64::MAX; contenders.len()];
    let begun = cpu_seconds();
    let mut rounds = 0;
    while rounds < 3 || (cpu_seconds() - begun < 0.25 && rounds < 50) {
        for (best, (_, run)) in best.iter_mut().zip(&mut *contenders) {
            let round = cpu_seconds();
            loop {
                let start = cpu_seconds();
                run();
                let end = cpu_seconds();
                *best = best.min(end - start);
                if end - round > 1e-3 {
                    break;
                }
            }
        }
        rounds += 1;
    }
    for (best, (name, _)) in best.iter().zip(contenders) {
        print!("  {name} {:.3} Gbit/s", bytes as f64 * 8.0 / best * 1e-9);
    }
    println!();
}

/// Bytes without a pattern.
fn noise(len: usize, seed: &mut u64) -> Vec<u8> {
    (0..len)
        .map(|_| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 56) as u8
        })
        .collect()
}

fn kasumi_agrees(cpu: &Cpu, rival: IpsecMb) {
    let mut seed = 1;
    for len in 1..300 {
        let bits: [u8; 16] = noise(16, &mut seed).try_into().unwrap();
        let iv: [u8; 8] = noise(8, &mut seed).try_into().unwrap();
        let data = noise(len, &mut seed);
        let spare_bits = (len % 8) as u8;
        let key = kasumi::Key::new(&bits);
        let mut text = data.clone();
        let text_bits = 8 * len - usize::from(spare_bits);
        let packet = kasumi::F8 { key: &key, iv, text: Text::InPlace(&mut text), spare_bits };
        kasumi::f8(cpu, &mut [packet]);
        let schedule = rival.kasumi_schedule(at::KASUMI_INIT_F8, &bits);
        let mut expected = rival.f8_bits(&schedule, iv, &data, text_bits as u32);
        let spare = !(0xFFu8 << spare_bits);
        expected[len - 1] = expected[len - 1] & !spare | data[len - 1] & spare;
        assert_eq!(text, expected, "F8 of {text_bits} bits");
        let direction = (len / 8 % 2) as u8;
        let mut packet =
            [kasumi::F9 { key: &key, iv, direction, data: &data, spare_bits, tag: [0; 4] }];
        kasumi::f9(cpu, &mut packet);
        let schedule = rival.kasumi_schedule(at::KASUMI_INIT_F9, &bits);
        let expected = rival.f9(&schedule, iv, &data, text_bits as u32, direction.into());
        assert_eq!(packet[0].tag, expected, "F9 of {text_bits} bits");
    }
}

fn words_agree(rival: IpsecMb) {
    let mut seed = 4;
    for len in 1..300 {
        let key: [u8; 16] = noise(16, &mut seed).try_into().unwrap();
        let iv: [u8; 16] = noise(16, &mut seed).try_into().unwrap();
        let data = noise(len, &mut seed);
        let spare_bits = (len % 8) as u8;
        let bits = 8 * len - usize::from(spare_bits);
        let mut text = data.clone();
        snow3g::uea2(&key, &iv, &mut Text::InPlace(&mut text), spare_bits);
        let mut expected = rival.uea2(&key, &iv, &data, bits as u32);
        let spare = !(0xFFu8 << spare_bits);
        expected[len - 1] = expected[len - 1] & !spare | data[len - 1] & spare;
        assert_eq!(text, expected, "UEA2 of {bits} bits");
        let tag = snow3g::uia2(&key, &iv, &data, spare_bits);
        assert_eq!(tag, rival.uia2(&key, &iv, &data, bits as u64), "UIA2 of {bits} bits");
        let mut text = data.clone();
        zuc::eea3(&key, &iv, &mut Text::InPlace(&mut text), 0);
        assert_eq!(text, rival.eea3(&key, &iv, &data), "EEA3 of {len} bytes");
        let tag = zuc::eia3(&key, &iv, &data, spare_bits);
        assert_eq!(tag, rival.eia3(&key, &iv, &data, bits as u32), "EIA3 of {bits} bits");
    }
}

/// One packet at a time, portable, beside the single-buffer functions of intel-ipsec-mb.
fn words(rival: Option<IpsecMb>) {
    let (key, iv) = ([1; 16], [2; 16]);
    let mut text = noise(1024, &mut 5);
    let data = text.clone();
    let mut ours = || snow3g::uea2(&key, &iv, &mut Text::InPlace(black_box(&mut text)), 0);
    let mut theirs = || {
        black_box(rival.map(|r| r.uea2(&key, &iv, black_box(&data), 8192)));
    };
    print!("UEA2, 1024:");
    compare(1024, &mut [("ours", &mut ours), ("ipsec-mb", &mut theirs)]);
    let mut ours = || {
        black_box(snow3g::uia2(&key, &iv, black_box(&data), 0));
    };
    let mut theirs = || {
        black_box(rival.map(|r| r.uia2(&key, &iv, black_box(&data), 8192)));
    };
    print!("UIA2, 1024:");
    compare(1024, &mut [("ours", &mut ours), ("ipsec-mb", &mut theirs)]);
    let mut ours = || zuc::eea3(&key, &iv, &mut Text::InPlace(black_box(&mut text)), 0);
    let mut theirs = || {
        black_box(rival.map(|r| r.eea3(&key, &iv, black_box(&data))));
    };
    print!("EEA3, 1024:");
    compare(1024, &mut [("ours", &mut ours), ("ipsec-mb", &mut theirs)]);
    let mut ours = || {
        black_box(zuc::eia3(&key, &iv, black_box(&data), 0));
    };
    let mut theirs = || {
        black_box(rival.map(|r| r.eia3(&key, &iv, black_box(&data), 8192)));
    };
    print!("EIA3, 1024:");
    compare(1024, &mut [("ours", &mut ours), ("ipsec-mb", &mut theirs)]);
}

fn kasumi_f8(cpu: &Cpu, rival: Option<IpsecMb>, lens: &[usize]) {
    let mut seed = 2;
    let bits: [u8; 16] = noise(16, &mut seed).try_into().unwrap();
    let key = kasumi::Key::new(&bits);
    let mut texts: Vec<Vec<u8>> = lens.iter().map(|len| noise(*len, &mut seed)).collect();
    let (mut theirs, mut requests) = (texts.clone(), texts.clone());
    let ivs: Vec<u64> =
        lens.iter().map(|_| u64::from_le_bytes(noise(8, &mut seed).try_into().unwrap())).collect();
    let mut ours = || {
        let mut packets: Vec<kasumi::F8<'_>> = texts
            .iter_mut()
            .zip(&ivs)
            .map(|(text, iv)| kasumi::F8 {
                key: &key,
                iv: iv.to_le_bytes(),
                text: Text::InPlace(text),
                spare_bits: 0,
            })
            .collect();
        kasumi::f8(cpu, black_box(&mut packets));
    };
    let bytes = lens.iter().sum();
    match rival {
        Some(rival) => {
            let schedule = rival.kasumi_schedule(at::KASUMI_INIT_F8, &bits);
            let mut n = || rival.f8_n(&schedule, &ivs, &mut theirs);
            let mut r = || rival.f8_requests(&schedule, &ivs, &mut requests);
            compare(
                bytes,
                &mut [("ours", &mut ours), ("ipsec-mb n", &mut n), ("one by one", &mut r)],
            );
        }
        None => compare(bytes, &mut [("ours", &mut ours)]),
    }
}

fn kasumi_f9(cpu: &Cpu, rival: Option<IpsecMb>, lens: &[usize]) {
    let mut seed = 3;
    let bits: [u8; 16] = noise(16, &mut seed).try_into().unwrap();
    let key = kasumi::Key::new(&bits);
    let texts: Vec<Vec<u8>> = lens.iter().map(|len| noise(*len, &mut seed)).collect();
    let mut ours = || {
        let mut packets: Vec<kasumi::F9<'_>> = texts
            .iter()
            .map(|data| kasumi::F9 {
                key: &key,
                iv: [7; 8],
                direction: 1,
                data,
                spare_bits: 0,
                tag: [0; 4],
            })
            .collect();
        kasumi::f9(cpu, black_box(&mut packets));
    };
    let bytes = lens.iter().sum();
    match rival {
        Some(rival) => {
            let schedule = rival.kasumi_schedule(at::KASUMI_INIT_F9, &bits);
            let mut theirs = || {
                for data in &texts {
                    black_box(rival.f9(&schedule, [7; 8], data, 8 * data.len() as u32, 1));
                }
            };
            compare(bytes, &mut [("ours", &mut ours), ("ipsec-mb", &mut theirs)]);
        }
        None => compare(bytes, &mut [("ours", &mut ours)]),
    }
}

fn main() {
    let cpu = Cpu::host();
    let rival = IpsecMb::load();
    println!(
        "tier {}, intel-ipsec-mb {}",
        cpu.tier(),
        if rival.is_some() { "1.3" } else { "none" }
    );
    if let Some(rival) = rival {
        kasumi_agrees(cpu, rival);
        words_agree(rival);
    }
    for (packets, len) in [(1, 1024), (8, 1024), (32, 1024), (64, 1024), (128, 1024), (32, 64)] {
        print!("F8, {packets} of {len}:");
        kasumi_f8(cpu, rival, &vec![len; packets]);
    }
    let mixed: Vec<usize> = (0..256).map(|i| 40 + i * 37 % 1460).collect();
    print!("F8, 256 of 40 to 1500:");
    kasumi_f8(cpu, rival, &mixed);
    for (packets, len) in [(32, 1024), (128, 1024)] {
        print!("F9, {packets} of {len}:");
        kasumi_f9(cpu, rival, &vec![len; packets]);
    }
    words(rival);
}
