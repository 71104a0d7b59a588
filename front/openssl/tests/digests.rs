//! Every digest beside OpenSSL's own: the same calls, the same bytes and answers.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::Random, digest::*, task::*, *};
use std::cell::RefCell;

const DIGESTS: [&str; 11] = [
    "MD5", "SHA1", "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512", "SHA3-224", "SHA3-256",
    "SHA3-384", "SHA3-512", "SM3",
];

/// Other names and numbers of these, as OpenSSL 3.0 has them.
const ALIASES: [&str; 22] = [
    "SSL3-MD5",
    "1.2.840.113549.2.5",
    "SHA-1",
    "SSL3-SHA1",
    "1.3.14.3.2.26",
    "SHA-224",
    "sha224",
    "2.16.840.1.101.3.4.2.4",
    "SHA-256",
    "SHA256",
    "2.16.840.1.101.3.4.2.1",
    "SHA-384",
    "SHA384",
    "2.16.840.1.101.3.4.2.2",
    "SHA-512",
    "SHA512",
    "2.16.840.1.101.3.4.2.3",
    "2.16.840.1.101.3.4.2.7",
    "2.16.840.1.101.3.4.2.8",
    "2.16.840.1.101.3.4.2.9",
    "2.16.840.1.101.3.4.2.10",
    "1.2.156.10197.1.401",
];

fn pair(ours: &Lib, plain: &Lib, name: &str) -> [Md; 2] {
    let pair = [ours, plain].map(|lib| Md::fetch(lib, name).unwrap_or_else(|| panic!("{name}")));
    assert_eq!(pair[0].provider(), "lookaside", "{name}");
    assert_eq!(pair[1].provider(), "default", "{name}");
    pair
}

/// A text in pieces: mostly short, some empty, around the blocks' lengths.
fn pieces(random: &mut Random) -> Vec<Vec<u8>> {
    let n = random.below(6);
    let piece = |random: &mut Random| {
        let most = [1, 65, 130, 300, 5000][random.below(5)];
        let len = random.below(most);
        random.bytes(len)
    };
    (0..n).map(|_| piece(random)).collect()
}

#[test]
fn the_library_is_told_the_same() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    for name in DIGESTS.iter().chain(&ALIASES) {
        let [a, b] = pair(&ours, &plain, name);
        assert_eq!(a.constants(), b.constants(), "{name}");
    }
    let some = Lib::ours(&[("algorithms", "sha-256 MD5")]);
    assert_eq!(Md::fetch(&some, "SHA256").unwrap().provider(), "lookaside");
    assert_eq!(Md::fetch(&some, "SHA1").unwrap().provider(), "default");
}

#[test]
fn every_length() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(1);
    for name in DIGESTS {
        let [a, b] = pair(&ours, &plain, name);
        for len in 0..600 {
            let text = random.bytes(len);
            assert_eq!(a.digest(&text), b.digest(&text), "{name} of {len}: {}", errors());
        }
    }
}

#[test]
fn pieces_copies_and_new_starts() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let mut random = Random(2);
    for name in DIGESTS {
        let pair = pair(&ours, &plain, name);
        let messages = [Message::new(), Message::new()];
        for round in 0..60 {
            let (before, after) = (pieces(&mut random), pieces(&mut random));
            let again = random.below(4) == 0;
            let [a, b] = [0, 1].map(|i| {
                let (message, md) = (&messages[i], &pair[i]);
                // The same object for all rounds, with its digest named or not.
                assert!(message.init((round % 2 == 0).then_some(md)), "{}", errors());
                if again {
                    assert!(message.update(b"forgotten") && message.init(None));
                }
                before.iter().for_each(|piece| assert!(message.update(piece)));
                let copy = message.copy();
                after.iter().for_each(|piece| assert!(message.update(piece)));
                let copies = copy.copy();
                drop(copy);
                assert!(copies.update(b"another end"));
                [message.finish(), copies.finish()]
            });
            assert!(a[0].as_ref().is_some_and(|digest| digest.len() == pair[0].len()));
            assert_eq!(a, b, "{name}, round {round}: {}", errors());
        }
    }
}

#[test]
fn what_ssl3_signs() {
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    for (len, good) in [(48, true), (47, false)] {
        let secret = vec![0x5a; len];
        let [a, b] = pair(&ours, &plain, "SHA1").map(|md| {
            let message = Message::new();
            assert!(message.init(Some(&md)) && message.update(b"handshake messages"));
            let set = message.set(&params(&[Setting::Bytes(c"ssl3-ms", &secret)]));
            assert_eq!(set, good, "{}", md.provider());
            good.then(|| message.finish().unwrap())
        });
        assert_eq!(a, b);
        errors();
    }
}

/// What one connection hashes: messages of many lengths, one of them going on all the time.
fn work(lib: &Lib, seed: u64, rounds: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    let long = Message::new();
    assert!(long.init(Some(&Md::fetch(lib, "SHA256").unwrap())), "{}", errors());
    for round in 0..rounds {
        for name in DIGESTS {
            let md = Md::fetch(lib, name).unwrap();
            let len = random.below(4000);
            let text = random.bytes(len);
            all.extend(md.digest(&text).unwrap());
            let message = Message::new();
            assert!(message.init(Some(&md)));
            let (first, rest) = text.split_at(random.below(len));
            assert!(message.update(first) && message.update(rest), "{}", errors());
            if round % 2 == 0 {
                assert!(message.copy().update(rest));
            }
            assert!(long.update(&text) && message.update(&text[..len / 2]), "{}", errors());
            all.extend(message.finish().unwrap());
        }
    }
    all.extend(long.finish().unwrap());
    all
}

/// Whether this CPU runs hashes side by side: otherwise no job pauses without engines.
fn side_by_side(lib: &Lib) -> bool {
    let md = Md::fetch(lib, "SM3").unwrap();
    let job = || Task::new(|| md.digest(&[1; 5000]).is_some());
    let mut all: Vec<Task> = (0..20).map(|_| job()).collect();
    all.retain_mut(|job| !job.go());
    run_all(&mut all);
    if all.is_empty() {
        eprintln!("SKIPPED: on this CPU, hashes run one at a time");
    }
    !all.is_empty()
}

#[test]
fn one_to_75_jobs() {
    let plain = Lib::plain();
    for settings in [
        &[("async-bytes", "100")][..],
        &[("async-bytes", "1000"), ("depth", "3")],
        &[("async-bytes", "100"), ("depth", "3"), ("policy", "fallback")],
        &[("engines", "2"), ("async-bytes", "700")],
    ] {
        let lib = Lib::ours(settings);
        for jobs in [1, 3, 20, 75] {
            let rounds = if jobs < 10 { 4 } else { 1 };
            let made: Vec<_> = (0..jobs).map(|_| RefCell::new(Vec::new())).collect();
            let mut all: Vec<Task> = (0..jobs)
                .map(|i| {
                    let (lib, made) = (&lib, &made[i]);
                    Task::new(move || {
                        *made.borrow_mut() = work(lib, i as u64, rounds);
                        true
                    })
                })
                .collect();
            run_all(&mut all);
            drop(all);
            for (i, made) in made.iter().enumerate() {
                let expect = work(&plain, i as u64, rounds);
                assert!(*made.borrow() == expect, "{settings:?}, {jobs} jobs: job {i}");
            }
        }
        // Most of them need more company than a ring of three has.
        let least = if settings.contains(&("depth", "3")) { 0 } else { 100 };
        let paused = lib.counter("asynchronous");
        assert!(paused > least || !side_by_side(&lib), "{settings:?}: {paused}");
    }
}

/// As many as gain run side by side; too few run at once, and hardly any of them pauses.
#[test]
fn company_decides() {
    let lib = Lib::ours(&[]);
    if !side_by_side(&lib) {
        return;
    }
    for (jobs, many) in [(32, true), (2, false)] {
        let before = lib.counter("asynchronous");
        let mut all: Vec<Task> = (0..jobs)
            .map(|_| {
                Task::new(|| {
                    let md = Md::fetch(&lib, "SHA256").unwrap();
                    (0..100).all(|_| md.digest(&[7; 16384]).is_some())
                })
            })
            .collect();
        run_all(&mut all);
        assert!(all.iter().all(|job| job.result == 1));
        let paused = lib.counter("asynchronous") - before;
        let share = paused as f64 / f64::from(jobs * 100);
        assert!(if many { share > 0.8 } else { share < 0.2 }, "{jobs} jobs: {share}");
    }
}

/// A job that is never resumed: what it hashed is freed, and its connection's next text is right.
#[test]
fn jobs_that_are_left() {
    let lib = Lib::ours(&[("async-bytes", "100")]);
    if !side_by_side(&lib) {
        return;
    }
    let md = Md::fetch(&lib, "SHA3-256").unwrap();
    let mut left: Vec<Task> =
        (0..5).map(|_| Task::new(|| md.digest(&[1; 2000]).is_some())).collect();
    left.iter_mut().for_each(|job| assert!(!job.go()));
    drop(left);
    let mut job = Task::new(|| md.digest(&[1; 2000]) == md.digest(&[1; 2000]));
    while !job.go() {}
    assert_eq!(job.result, 1);
}
