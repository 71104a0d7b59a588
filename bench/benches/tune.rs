//! Who serves each algorithm the quickest on this machine: `make tune`, which writes the table of the
//! CPU's family in `src/choice`.
//!
//! Each candidate is forced in turn with packets of six lengths, 32 at once; the fastest serves the
//! lengths around, unless the one of the table is as fast within 3 %. Then it meets
//! [`By::Single`] with fewer and fewer packets: the fewest that it wins with, and with all more, is the
//! class's floor. CPU time, medians, rounds of all candidates alternate.
//!
//! `--only NAME` measures rows whose name contains it, `--write NOTE` writes the file; without it, what
//! would change is printed only.

use std::fmt::Write as _;

use lookaside_bench::{cpu_ns, median};
use lookaside_cipher::choice::{ANY, Algorithm, By, Class, Row, table};
use lookaside_cipher::{
    Aead, Auth, ChainOrder, Cipher, Direction, Engine, Hash, OpError, Packet, Parts, Secret,
    Session, Span, Sym, Text,
};
use lookaside_simd::Cpu;

/// Lengths that are measured, and up to which length each speaks.
const LENGTHS: [(usize, u32); 6] =
    [(16, 32), (64, 128), (256, 512), (1024, 2048), (4096, 8192), (16_384, ANY)];

const BATCH: usize = 32;

/// Fewer packets, for floors.
const FEWER: [usize; 9] = [24, 16, 12, 8, 6, 4, 3, 2, 1];

/// How long a contender's rounds take at most, once there are three.
const LONG_NS: f64 = 20e6;

/// How many times slower than the fastest a candidate is that meets no longer texts.
const HOPELESS: f64 = 8.0;

/// How much faster another candidate must be than the table's.
const MARGIN: f64 = 1.03;

const ROUNDS: usize = 15;

/// How long a turn takes, about.
const TURN_NS: f64 = 250e3;

fn main() {
    let (mut only, mut note) = (None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--only" => only = args.next(),
            "--write" => note = args.next(),
            // What cargo adds.
            "--bench" => {}
            other => {
                eprintln!("tune: unknown option {other}");
                std::process::exit(2);
            }
        }
    }
    let family = Cpu::host().family();
    let old = table(family);
    println!("{family}: ns of a packet among 32, by each candidate; * serves");
    let mut rows: Vec<(Algorithm, [Vec<Class>; 2])> = Vec::new();
    let mut changes = Vec::new();
    for (algorithm, spec, iv_len) in specs() {
        let before = old.iter().find(|row| row.algorithm == algorithm);
        let name = format!("{algorithm:?}");
        if only.as_ref().is_some_and(|only| !name.contains(&**only)) {
            rows.extend(before.map(|row| (algorithm, [row.seal.to_vec(), row.open.to_vec()])));
            continue;
        }
        let seal = measure(&spec, iv_len, Direction::Seal, before.map(|row| row.seal));
        let open = match spec {
            // The same work.
            Sym::Auth { .. } => seal.clone(),
            _ => measure(&spec, iv_len, Direction::Open, before.map(|row| row.open)),
        };
        let of = |row: &Row| [row.seal.to_vec(), row.open.to_vec()];
        let (before, now) = (before.map(of), [seal, open]);
        if before.as_ref() != Some(&now) {
            changes.push(format!("{name}: {before:?} becomes {now:?}"));
        }
        rows.push((algorithm, now));
    }
    println!("{} rows change", changes.len());
    changes.iter().for_each(|change| println!("  {change}"));
    if let Some(note) = note {
        let file = format!("src/choice/{}.rs", family.name().replace('-', "_"));
        let path = format!("{}/../crates/cipher/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(&path, source(&note, &rows)).expect("the table is written");
        println!("written: {file}");
    }
}

/// The classes of an algorithm in one direction.
fn measure(spec: &Sym, iv_len: usize, direction: Direction, old: Option<&[Class]>) -> Vec<Class> {
    let cpu = Cpu::host();
    let mut sessions: Vec<(By, Session)> = By::ALL
        .into_iter()
        .filter_map(|by| Some((by, Session::only(spec.clone(), cpu, by).expect("a session")?)))
        .collect();
    let mut classes: Vec<Class> = Vec::new();
    for (len, most) in LENGTHS {
        let mut times = {
            let mut runs: Vec<_> = sessions
                .iter()
                .map(|(_, session)| Run::new(session, iv_len, direction, len))
                .collect();
            compete(&mut runs, BATCH)
        };
        // Whoever is as slow as this will not win with longer texts.
        let hopeless = HOPELESS * times.iter().copied().fold(f64::INFINITY, f64::min);
        let keep: Vec<bool> = sessions
            .iter()
            .zip(&times)
            .map(|((by, _), ns)| *by == By::Single || *ns < hopeless)
            .collect();
        let mut kept = keep.iter();
        sessions.retain(|_| *kept.next().expect("one for each"));
        let mut kept = keep.iter();
        times.retain(|_| *kept.next().expect("one for each"));
        let mut runs: Vec<_> =
            sessions.iter().map(|(_, session)| Run::new(session, iv_len, direction, len)).collect();
        let fastest = (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b]));
        let fastest = fastest.expect("there is always the single one");
        let wanted = old.and_then(|old| old.iter().find(|class| len as u32 <= class.0));
        let wanted = sessions.iter().position(|(by, _)| Some(*by) == wanted.map(|class| class.1));
        let as_fast = |place: &usize| times[*place] <= times[fastest] * MARGIN;
        let chosen = wanted.filter(as_fast).unwrap_or(fastest);
        let by = sessions[chosen].0;
        let mut floor = 1;
        // What goes one after the other needs no company.
        if sessions[chosen].1.side_by_side() {
            let (single, rest) = runs.split_at_mut(1);
            let mut both = [&mut single[0], &mut rest[chosen - 1]];
            let won = |count: &&usize| {
                let times = compete(&mut both, **count);
                times[1] <= times[0] * 1.01
            };
            let fewest = FEWER.iter().take_while(won).last();
            floor = *fewest.unwrap_or(&BATCH) as u8;
        }
        let figures: Vec<String> = sessions
            .iter()
            .zip(&times)
            .map(|((each, _), ns)| {
                format!("{each:?}{} {ns:.0}", if *each == by { "*" } else { "" })
            })
            .collect();
        println!(
            "{:34} {direction:?} {len:6}  {}  from {floor}",
            format!("{:?}", Algorithm::of(spec).expect("a row")),
            figures.join("  ")
        );
        match classes.last_mut() {
            Some(last) if (last.1, last.2) == (by, floor) => last.0 = most,
            _ => classes.push(Class(most, by, floor)),
        }
    }
    classes
}

/// Packets of one session, all of one length.
struct Run<'a> {
    session: &'a Session,
    direction: Direction,
    parts: Parts,
    iv: [u8; 16],
    iv_len: usize,
    engine: Engine,
    /// What is opened lies apart, so that it stays as it is.
    src: Vec<Vec<u8>>,
    dst: Vec<Vec<u8>>,
}

impl<'a> Run<'a> {
    fn new(session: &'a Session, iv_len: usize, direction: Direction, len: usize) -> Run<'a> {
        let span = Span { offset: 0, len: len as u32 };
        let parts = Parts { cipher: span, auth: span, tag: len as u32, ..Parts::default() };
        let texts: Vec<Vec<u8>> = (0..BATCH).map(|i| vec![i as u8; len + 64]).collect();
        let mut iv = [3; 16];
        // A bit, at the end of F9's; a counter far from its end.
        iv[8] = 1;
        let (src, dst) = (texts.clone(), texts);
        let engine = Engine::new(Cpu::host());
        let seal = Direction::Seal;
        let mut run = Run { session, direction: seal, parts, iv, iv_len, engine, src, dst };
        run.call(BATCH);
        run.src.clone_from(&run.dst);
        run.direction = direction;
        run.call(BATCH);
        run
    }

    /// Works on the first packets.
    fn call(&mut self, count: usize) {
        let Run { session, direction, parts, engine, src, dst, .. } = self;
        let iv = &self.iv[..self.iv_len];
        let mut packets: Vec<Packet<'_>> = src
            .iter()
            .zip(dst)
            .take(count)
            .map(|(src, dst)| Packet {
                session,
                direction: *direction,
                iv,
                parts: *parts,
                text: match direction {
                    Direction::Seal => Text::InPlace(dst),
                    Direction::Open => Text::Apart { src, dst },
                },
                result: Err(OpError::Cancelled),
            })
            .collect();
        engine.run(&mut packets);
        assert!(packets.iter().all(|packet| packet.result.is_ok()), "{:?}", packets[0].result);
    }
}

/// Median nanoseconds of CPU time for one packet of so many at once, of each contender.
fn compete<'a, R: AsRun<'a>>(runs: &mut [R], count: usize) -> Vec<f64> {
    let mut repeats = Vec::new();
    for run in runs.iter_mut() {
        let start = cpu_ns();
        run.run().call(count);
        let ns = (cpu_ns() - start).max(1) as f64;
        repeats.push(((TURN_NS / ns) as usize).max(1));
    }
    let mut times = vec![Vec::new(); runs.len()];
    for round in 0..ROUNDS {
        for ((run, repeats), times) in runs.iter_mut().zip(&repeats).zip(&mut times) {
            // What takes long needs no many rounds.
            if round >= 3 && times.iter().sum::<f64>() * *repeats as f64 * count as f64 > LONG_NS {
                continue;
            }
            let start = cpu_ns();
            for _ in 0..*repeats {
                run.run().call(count);
            }
            times.push((cpu_ns() - start) as f64 / (repeats * count) as f64);
        }
    }
    times.iter().map(|times| median(times)).collect()
}

/// A run, or a borrowed one.
trait AsRun<'a> {
    fn run(&mut self) -> &mut Run<'a>;
}

impl<'a> AsRun<'a> for Run<'a> {
    fn run(&mut self) -> &mut Run<'a> {
        self
    }
}

impl<'a> AsRun<'a> for &mut Run<'a> {
    fn run(&mut self) -> &mut Run<'a> {
        self
    }
}

/// All rows of a table, and the lengths of their IVs.
fn specs() -> Vec<(Algorithm, Sym, usize)> {
    let key = |len: usize| -> Secret { (1..=len as u8).collect::<Vec<u8>>().into() };
    let mut list = Vec::new();
    for (aead, key_len) in [(Aead::AesGcm, 16), (Aead::AesCcm, 16), (Aead::ChaCha20Poly1305, 32)] {
        list.push((Sym::Aead { aead, key: key(key_len), tag_len: 16 }, 12));
    }
    let ciphers = [
        (Cipher::AesEcb, 16, 0),
        (Cipher::AesCbc, 16, 16),
        (Cipher::AesCtr, 16, 16),
        (Cipher::DesEcb, 8, 0),
        (Cipher::DesCbc, 8, 8),
        (Cipher::TripleDesEcb, 24, 0),
        (Cipher::TripleDesCbc, 24, 8),
        (Cipher::TripleDesCtr, 24, 8),
        (Cipher::ChaCha20, 32, 16),
        (Cipher::Arc4, 16, 0),
        (Cipher::Sm4Ecb, 16, 0),
        (Cipher::Sm4Cbc, 16, 16),
        (Cipher::Sm4Ctr, 16, 16),
        (Cipher::KasumiF8, 16, 8),
        (Cipher::Snow3gUea2, 16, 16),
        (Cipher::ZucEea3, 16, 16),
    ];
    for (cipher, key_len, iv_len) in ciphers {
        list.push((Sym::Cipher { cipher, key: key(key_len) }, iv_len));
    }
    let hashes = [
        Hash::Md5,
        Hash::Sha1,
        Hash::Sha256,
        Hash::Sha512,
        Hash::Sha3_256,
        Hash::Sha3_512,
        Hash::Sm3,
    ];
    for hash in hashes {
        for (auth, key_len) in [(Auth::Plain(hash), 0), (Auth::Hmac(hash), 20)] {
            list.push((Sym::Auth { auth, key: key(key_len), tag_len: hash.len() }, 0));
        }
    }
    for (auth, key_len, tag_len, iv_len) in [
        (Auth::AesXcbc, 16, 12, 0),
        (Auth::AesCbcMac, 16, 16, 0),
        (Auth::AesCmac, 16, 16, 0),
        (Auth::AesGmac, 16, 16, 12),
        (Auth::Poly1305, 32, 16, 0),
        (Auth::KasumiF9, 16, 4, 9),
        (Auth::Snow3gUia2, 16, 4, 16),
        (Auth::ZucEia3, 16, 4, 16),
    ] {
        list.push((Sym::Auth { auth, key: key(key_len), tag_len }, iv_len));
    }
    for (cipher, key_len, iv_len) in
        [(Cipher::AesCbc, 16, 16), (Cipher::AesCtr, 16, 16), (Cipher::TripleDesCbc, 24, 8)]
    {
        for hash in [Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha512] {
            let spec = Sym::Chain {
                cipher,
                cipher_key: key(key_len),
                auth: Auth::Hmac(hash),
                auth_key: key(20),
                tag_len: 12,
                order: ChainOrder::CipherThenAuth,
            };
            list.push((spec, iv_len));
        }
    }
    let row = |(spec, iv_len)| (Algorithm::of(&spec).expect("a row"), spec, iv_len);
    list.into_iter().map(row).collect()
}

/// The file of a table.
fn source(note: &str, rows: &[(Algorithm, [Vec<Class>; 2])]) -> String {
    let auth = |auth: Auth| match auth {
        Auth::Plain(hash) => format!("Auth::Plain(Hash::{hash:?})"),
        Auth::Hmac(hash) => format!("Auth::Hmac(Hash::{hash:?})"),
        other => format!("Auth::{other:?}"),
    };
    let classes = |classes: &[Class]| {
        let each = |Class(most, by, floor): &Class| match *most {
            ANY => format!("Class(ANY, {by:?}, {floor})"),
            most => format!("Class({most}, {by:?}, {floor})"),
        };
        format!("&[{}]", classes.iter().map(each).collect::<Vec<_>>().join(", "))
    };
    let mut text = format!(
        "//! Written by `make tune`: {note}.\n\n\
         #[allow(unused_imports, reason = \"not every table names all\")]\n\
         use super::By::{{IpsecMb, Own, Single}};\nuse super::{{ANY, Algorithm, Class, Row}};\n\
         use crate::{{Aead, Auth, Cipher, Hash}};\n\npub(super) const TABLE: &[Row] = &[\n"
    );
    for (algorithm, [seal, open]) in rows {
        let algorithm = match algorithm {
            Algorithm::Cipher(cipher) => format!("Algorithm::Cipher(Cipher::{cipher:?})"),
            Algorithm::Auth(of) => format!("Algorithm::Auth({})", auth(*of)),
            Algorithm::Aead(aead) => format!("Algorithm::Aead(Aead::{aead:?})"),
            Algorithm::Chain(cipher, of) => {
                format!("Algorithm::Chain(Cipher::{cipher:?}, {})", auth(*of))
            }
        };
        let (seal, open) = (classes(seal), classes(open));
        _ = writeln!(text, "Row {{ algorithm: {algorithm}, seal: {seal}, open: {open} }},");
    }
    text + "];\n"
}
