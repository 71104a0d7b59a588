//! Ciphers in `ASYNC_JOB`s: the same bytes as outside, with one job and with many, and whatever
//! becomes of a job.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs)]

mod libcrypto;

use libcrypto::{cipher::*, task::*, *};
use std::cell::RefCell;

/// Whether this CPU runs these side by side: otherwise no job pauses without engines.
fn side_by_side(lib: &Lib) -> bool {
    let alg = Alg::fetch(lib, "AES-128-CBC-HMAC-SHA1").unwrap();
    let mut job = Task::new(|| {
        let text = Text::new();
        text.init(Some(&alg), &[1; 16], &[2; 16], 1) && text.update(&[3; 4096]).is_some()
    });
    let paused = !job.go();
    if paused {
        assert!(job.finish());
    } else {
        eprintln!("SKIPPED: on this CPU, these ciphers run one at a time");
    }
    paused
}

fn header(number: u64, len: usize) -> Vec<u8> {
    let mut header = number.to_be_bytes().to_vec();
    header.extend([23, 3, 3]);
    header.extend((len as u16).to_be_bytes());
    header
}

/// What one connection does: texts and records of its own, all pieces in one vector.
fn work(lib: &Lib, seed: u64, rounds: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    let cbc = Text::new();
    let alg = Alg::fetch(lib, "AES-256-CBC").unwrap();
    assert!(cbc.init(Some(&alg), &random.bytes(32), &random.bytes(16), 1), "{}", errors());
    let triple = Text::new();
    let alg = Alg::fetch(lib, "DES-EDE3-CBC").unwrap();
    assert!(triple.init(Some(&alg), &random.bytes(24), &random.bytes(8), 1));
    let gcm = Text::new();
    let alg = Alg::fetch(lib, "AES-128-GCM").unwrap();
    assert!(gcm.init(Some(&alg), &random.bytes(16), &random.bytes(12), 1));
    let alg = Alg::fetch(lib, "AES-128-CBC-HMAC-SHA1").unwrap();
    let (key, iv) = (random.bytes(16), random.bytes(16));
    let [seal, open, plain] = [1, 0, 1].map(|enc| {
        let text = Text::new();
        assert!(text.init(Some(&alg), &key, &iv, enc));
        assert_eq!(text.ctrl(SET_MAC_KEY, 20, &mut [7; 20]), 1);
        text
    });
    for number in 0..rounds {
        let len = random.below(3000);
        let text = random.bytes(len);
        all.extend(cbc.update(&text).unwrap());
        all.extend(triple.update(&text[..len.min(900)]).unwrap());
        all.extend(gcm.update(&text).unwrap());
        let whole = len & !15;
        all.extend(plain.update(&text[..whole]).unwrap());
        let mut record = random.bytes(16 + len);
        let said = record.len();
        let pad = seal.ctrl(TLS1_AAD, 13, &mut header(number, said));
        record.resize(said + pad as usize, 0);
        let n = record.len();
        assert_eq!(seal.update_in_place(&mut record, n), Some(n), "{}", errors());
        all.extend(&record);
        assert_eq!(open.ctrl(TLS1_AAD, 13, &mut header(number, n)), 20);
        assert_eq!(open.update_in_place(&mut record, n), Some(n), "{}", errors());
        all.extend(&record[16..16 + len]);
    }
    all.extend(cbc.finish().unwrap());
    all.extend(triple.finish().unwrap());
    all
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
        for jobs in [1, 2, 5, 8, 17, 75] {
            let rounds = if jobs < 10 { 6 } else { 3 };
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
            let mut live: Vec<usize> = (0..jobs).collect();
            let mut passes = 0;
            while !live.is_empty() {
                live.retain(|&i| {
                    if let [fd] = all[i].fds()[..] {
                        wait_readable(fd);
                    }
                    !all[i].go()
                });
                passes += 1;
                assert!(passes < 10_000, "a job is never done");
            }
            drop(all);
            for (i, made) in made.iter().enumerate() {
                let expect = work(&plain, i as u64, rounds);
                assert!(*made.borrow() == expect, "{settings:?}, {jobs} jobs: job {i}");
            }
        }
        // Where lanes gain nothing, nothing pauses.
        assert!(lib.counter("asynchronous") > 200 || !side_by_side(&lib));
    }
}

#[test]
fn what_gains_nothing_never_pauses() {
    let lib = Lib::ours(&[("async-bytes", "0")]);
    for name in ["AES-128-GCM", "AES-128-CTR", "ChaCha20-Poly1305", "AES-128-ECB"] {
        let alg = Alg::fetch(&lib, name).unwrap();
        let mut job = Task::new(|| {
            let text = Text::new();
            text.init(Some(&alg), &[1; 32][..alg.key_len()], &[2; 16][..alg.iv_len()], 1)
                && text.update(&[3; 16384]).is_some()
        });
        assert!(job.go() && job.result == 1, "{name}");
    }
    assert_eq!(lib.counter("asynchronous"), 0);
}

#[test]
fn small_pieces_and_settings() {
    for (settings, pauses) in [
        (&[][..], true),
        (&[("async-bytes", "5000")], false),
        (&[("async", "default -encrypt -seal")], false),
        (&[("async", "none")], false),
    ] {
        let lib = Lib::ours(settings);
        let alg = Alg::fetch(&lib, "AES-128-CBC").unwrap();
        let mut job = Task::new(|| {
            let text = Text::new();
            text.init(Some(&alg), &[1; 16], &[2; 16], 1)
                && text.update(&[3; 64]).is_some()
                && text.update(&[3; 4096]).is_some()
        });
        let paused = !job.go();
        assert_eq!(paused, pauses && side_by_side(&Lib::ours(&[])), "{settings:?}");
        assert!(!paused || job.finish());
    }
}

#[test]
fn a_lone_job_stops_pausing() {
    let lib = Lib::ours(&[]);
    if !side_by_side(&lib) {
        return;
    }
    let alg = Alg::fetch(&lib, "AES-128-CBC").unwrap();
    let mut job = Task::new(|| {
        let text = Text::new();
        text.init(Some(&alg), &[1; 16], &[2; 16], 1)
            && (0..200).all(|_| text.update(&[3; 4096]).is_some())
    });
    assert!(job.finish());
    let asynchronous = lib.counter("asynchronous");
    assert!((4..25).contains(&asynchronous), "{asynchronous}");
}

#[test]
fn jobs_that_are_never_resumed() {
    for settings in [&[("engines", "1")][..], &[]] {
        let lib = Lib::ours(settings);
        let alg = Alg::fetch(&lib, "AES-128-CBC-HMAC-SHA256").unwrap();
        let text = Text::new();
        assert!(text.init(Some(&alg), &[1; 16], &[2; 16], 1));
        for _ in 0..40 {
            // The text's buffers go with the job's stack, and its wait context with them.
            let buffer = RefCell::new(vec![3; 4096]);
            let mut job =
                Task::new(|| text.update_in_place(&mut buffer.borrow_mut(), 4096).is_some());
            job.go();
        }
        assert!(work(&lib, 1, 2) == work(&Lib::plain(), 1, 2));
    }
}

/// How deep a call goes below its caller's stack, found by what it overwrites there.
#[inline(never)]
fn depth(f: &mut dyn FnMut()) -> usize {
    const LOOKED_AT: usize = 27_000;
    const MARK: u8 = 0x5c;
    let here = 0u8;
    let top = std::hint::black_box(&raw const here).cast_mut();
    // Below what this function and the leaf functions of `f` use at once.
    for i in 512..LOOKED_AT {
        unsafe { top.sub(i).write_volatile(MARK) };
    }
    f();
    let untouched = |i: &usize| unsafe { top.sub(*i).read_volatile() } == MARK;
    LOOKED_AT - (512..LOOKED_AT).rev().take_while(untouched).count()
}

#[test]
fn jobs_have_small_stacks() {
    let lib = Lib::ours(&[]);
    for name in [
        "AES-128-ECB",
        "AES-128-CBC",
        "AES-128-CTR",
        "AES-128-XTS",
        "AES-128-GCM",
        "AES-128-CCM",
        "AES-128-CBC-HMAC-SHA1",
        "ChaCha20",
        "ChaCha20-Poly1305",
        "DES-EDE3-CBC",
        "DES-EDE3-ECB",
        "RC4",
        "SM4-ECB",
        "SM4-CBC",
        "SM4-CTR",
    ] {
        let alg = Alg::fetch(&lib, name).unwrap();
        let mut deepest = 0;
        let mut job = Task::new(|| {
            deepest = depth(&mut || {
                for enc in [1, 0] {
                    let text = Text::new();
                    let key: Vec<u8> = (0..alg.key_len() as u8).collect();
                    assert!(text.init(Some(&alg), &key, &[2; 16][..alg.iv_len()], enc));
                    for len in [16, 256, 1920] {
                        text.update(&[3; 2000][..len]);
                    }
                    errors();
                }
            });
            true
        });
        assert!(job.finish());
        drop(job);
        // A job has 32 KB, and a program something of it.
        assert!(deepest < 20_000, "{name}: {deepest} bytes");
    }
}
