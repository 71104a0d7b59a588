//! Whether the lanes are worth it: 32 packets at once against the same packets one at a time, for
//! every session that is served side by side. Below 1 a table in `src/choice` is wrong: `make tune`.
//!
//! `cargo bench -p lookaside-cipher --bench lanes [-- FILTER]`; a number instead of a name: so many
//! packets at once, for the floors in that table.

use lookaside_cipher::{
    Aead, Auth, Cipher, Direction, Engine, Hash, OpError, Packet, Parts, Session, Span, Sym, Text,
};
use lookaside_simd::Cpu;

fn main() {
    let mut filter: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let batch = filter.iter().find_map(|word| word.parse().ok()).unwrap_or(32);
    filter.retain(|word| word.parse::<usize>().is_err());
    println!("{:34} {:>6} {:>9} {:>9} {:>8}", "ns per packet", "bytes", "alone", "lanes", "ratio");
    for (name, spec, iv_len) in specs() {
        if filter.is_empty() || filter.iter().any(|part| name.contains(part)) {
            let session = Session::new(spec, Cpu::host()).expect("a session");
            if !session.side_by_side() {
                println!("{name:34} {}", session.served_by());
                continue;
            }
            for len in [64, 1408] {
                for direction in [Direction::Seal, Direction::Open] {
                    row(&name, &session, iv_len, (len, batch), direction);
                }
            }
        }
    }
}

fn specs() -> Vec<(String, Sym, usize)> {
    let key = |len: usize| (1..=len as u8).collect::<Vec<u8>>().into();
    let mut list = Vec::new();
    for (cipher, key_len, iv_len) in [
        (Cipher::Arc4, 16, 0),
        (Cipher::AesEcb, 16, 0),
        (Cipher::AesCbc, 16, 16),
        (Cipher::AesCbc, 32, 16),
        (Cipher::DesEcb, 8, 0),
        (Cipher::DesCbc, 8, 8),
        (Cipher::TripleDesEcb, 24, 0),
        (Cipher::TripleDesCbc, 24, 8),
        (Cipher::TripleDesCtr, 24, 8),
        (Cipher::KasumiF8, 16, 8),
        (Cipher::Snow3gUea2, 16, 16),
        (Cipher::ZucEea3, 16, 16),
        (Cipher::ChaCha20, 32, 16),
        (Cipher::Sm4Ecb, 16, 0),
        (Cipher::Sm4Cbc, 16, 16),
        (Cipher::Sm4Ctr, 16, 16),
    ] {
        let spec = Sym::Cipher { cipher, key: key(key_len) };
        list.push((format!("{cipher:?} {key_len}"), spec, iv_len));
    }
    for hash in [
        Hash::Md5,
        Hash::Sha1,
        Hash::Sha256,
        Hash::Sha512,
        Hash::Sha3_256,
        Hash::Sha3_512,
        Hash::Sm3,
    ] {
        for auth in [Auth::Plain(hash), Auth::Hmac(hash)] {
            let key = key(if auth == Auth::Plain(hash) { 0 } else { 20 });
            let spec = Sym::Auth { auth, key, tag_len: hash.len() };
            list.push((format!("{auth:?}"), spec, 0));
        }
    }
    for (auth, key_len, tag_len, iv_len) in [
        (Auth::AesXcbc, 16, 12, 0),
        (Auth::AesCmac, 16, 16, 0),
        (Auth::AesCmac, 32, 16, 0),
        (Auth::KasumiF9, 16, 4, 9),
        (Auth::Snow3gUia2, 16, 4, 16),
        (Auth::ZucEia3, 16, 4, 16),
        (Auth::AesCbcMac, 16, 16, 0),
        (Auth::Poly1305, 32, 16, 0),
    ] {
        let spec = Sym::Auth { auth, key: key(key_len), tag_len };
        list.push((format!("{auth:?} {key_len}"), spec, iv_len));
    }
    for (aead, key_len) in [(Aead::AesCcm, 16), (Aead::AesCcm, 32), (Aead::ChaCha20Poly1305, 32)] {
        let spec = Sym::Aead { aead, key: key(key_len), tag_len: 16 };
        list.push((format!("{aead:?} {key_len}"), spec, 12));
    }
    list
}

fn row(
    name: &str,
    session: &Session,
    iv_len: usize,
    (len, batch): (usize, usize),
    direction: Direction,
) {
    let turns = 128usize.div_ceil(batch);
    let iv = [0u8; 16];
    let span = Span { offset: 0, len: len as u32 };
    let parts = Parts { cipher: span, auth: span, tag: len as u32, ..Parts::default() };
    let mut texts = vec![vec![7u8; len + 64]; batch];
    let mut engine = Engine::new(Cpu::host());
    let (mut alone, mut lanes) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        for (side_by_side, times) in [(false, &mut alone), (true, &mut lanes)] {
            let mut packets: Vec<Packet<'_>> = texts
                .iter_mut()
                .map(|bytes| Packet {
                    session,
                    direction,
                    iv: &iv[..iv_len],
                    parts,
                    text: Text::InPlace(bytes),
                    result: Err(OpError::Cancelled),
                })
                .collect();
            let start = now();
            for _ in 0..turns {
                if side_by_side {
                    engine.run(&mut packets);
                } else {
                    packets.iter_mut().for_each(|packet| session.run_alone(packet));
                }
            }
            times.push((now() - start) as f64 / (turns * batch) as f64);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (alone, lanes) = (median(&mut alone), median(&mut lanes));
    let name = format!("{name} {direction:?}");
    println!("{name:34} {len:6} {alone:9.1} {lanes:9.1} {:8.2}", alone / lanes);
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
