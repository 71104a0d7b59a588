//! What an engine costs over the bare library: 32 packets per call, against a loop over
//! intel-ipsec-mb that fills and submits one request after the other and never waits for all.
//!
//! Both encrypt the same bytes; the first round compares the answers. Rounds of both alternate; the
//! figures are the medians of CPU time per packet, in nanoseconds.
//!
//! `cargo bench -p lookaside-cipher --bench engine [-- FILTER]`

#[cfg(ipsec_mb)]
#[allow(dead_code)]
#[path = "../src/library/ipsec_mb_ffi.rs"]
mod ffi;

#[cfg(ipsec_mb)]
mod bare;

#[cfg(not(ipsec_mb))]
fn main() {
    eprintln!("SKIPPED: built without intel-ipsec-mb, there is nothing to compare with");
}

#[cfg(ipsec_mb)]
fn main() {
    measure::all();
}

#[cfg(ipsec_mb)]
mod measure {
    use lookaside_cipher::{
        Aead, Auth, ChainOrder, Cipher, Direction, Engine, Hash, OpError, Packet, Parts, Secret,
        Session, Span, Sym, Text,
    };
    use lookaside_simd::Cpu;

    use super::bare::{Bare, What};

    const BATCH: usize = 32;

    pub fn all() {
        let filter: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
        println!("{:14} {:>6} {:>9} {:>9} {:>9}", "", "bytes", "bare", "engine", "bare/engine");
        for what in What::ALL {
            if filter.is_empty() || filter.iter().any(|part| what.name().contains(part)) {
                for len in lens() {
                    row(what, len);
                }
            }
        }
    }

    /// The texts' lengths; the environment's `LENS` in place of the usual ones, for a profiler.
    fn lens() -> Vec<usize> {
        match std::env::var("LENS") {
            Ok(list) => list.split(',').map(|len| len.parse().expect("a number")).collect(),
            Err(_) => vec![64, 256, 1024, 1408, 16384],
        }
    }

    fn key(len: usize) -> Secret {
        (1..=len as u8).collect::<Vec<u8>>().into()
    }

    fn session(what: What) -> Session {
        let chain = |hash, tag_len| Sym::Chain {
            cipher: Cipher::AesCbc,
            cipher_key: key(16),
            auth: Auth::Hmac(hash),
            auth_key: key(20),
            tag_len,
            order: ChainOrder::CipherThenAuth,
        };
        let spec = match what {
            What::Gcm => Sym::Aead { aead: Aead::AesGcm, key: key(16), tag_len: 16 },
            What::CbcSha1 => chain(Hash::Sha1, 12),
            What::CbcSha256 => chain(Hash::Sha256, 16),
            What::Ctr => Sym::Cipher { cipher: Cipher::AesCtr, key: key(16) },
        };
        Session::new(spec, Cpu::host()).expect("a session")
    }

    fn row(what: What, len: usize) {
        let session = session(what);
        let iv = [9u8; 16];
        let iv = &iv[..what.iv_len()];
        let tag_len = what.tag_len();
        let parts = Parts {
            cipher: Span { offset: 0, len: len as u32 },
            auth: Span { offset: 0, len: len as u32 },
            tag: len as u32,
            ..Parts::default()
        };
        let mut engine = Engine::new(Cpu::host());
        let mut bare = Bare::new(what, &key(16), &key(20));
        // Both rewrite the same bytes again and again.
        let fresh =
            || -> Vec<Vec<u8>> { (0..BATCH).map(|i| vec![i as u8; len + tag_len]).collect() };
        let (mut ours, mut theirs) = (fresh(), fresh());

        let rounds = 41;
        let repeats = (200_000 / (40 * BATCH + len * BATCH / 8)).max(1);
        let mut times = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let start = now();
            for _ in 0..repeats {
                for bytes in &mut theirs {
                    bare.submit(bytes, len, iv);
                }
            }
            let middle = now();
            for _ in 0..repeats {
                let mut packets: [Packet<'_>; BATCH] = packets(&session, iv, parts, &mut ours);
                engine.run(&mut packets);
                assert!(packets[BATCH - 1].result.is_ok());
            }
            let end = now();
            times.0.push(middle - start);
            times.1.push(end - middle);
            if round == 0 {
                bare.flush();
                assert!(ours == theirs, "{} {len}: the answers differ", what.name());
            }
        }
        bare.flush();
        let per = |times: &mut Vec<u64>| {
            times.sort_unstable();
            times[rounds / 2] as f64 / (repeats * BATCH) as f64
        };
        let (theirs, ours) = (per(&mut times.0), per(&mut times.1));
        println!("{:14} {len:6} {theirs:9.1} {ours:9.1} {:9.2}", what.name(), theirs / ours);
    }

    fn packets<'a>(
        session: &'a Session,
        iv: &'a [u8],
        parts: Parts,
        texts: &'a mut [Vec<u8>],
    ) -> [Packet<'a>; BATCH] {
        let mut texts = texts.iter_mut();
        std::array::from_fn(|_| Packet {
            session,
            direction: Direction::Seal,
            iv,
            parts,
            text: Text::InPlace(texts.next().expect("a text for each")),
            result: Err(OpError::Cancelled),
        })
    }

    fn now() -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one `timespec`.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}
