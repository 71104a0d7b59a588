//! Expressions and sets made to cost much: each is compiled and scanned, or refused, in bounded time, and on a small stack.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use lookaside_scan::{Expression, Flags, Mode, Patterns, Scratch, Set};
use lookaside_simd::Cpu;

/// Of the thread that compiles and scans.
const STACK: usize = 256 << 10;

fn all() -> Vec<(String, Vec<(String, &'static str)>)> {
    let one = |text: &str, flags| vec![(text.to_owned(), flags)];
    let mut all = vec![];
    let mut add = |name: &str, set| all.push((name.to_owned(), set));
    for depth in [100, 10_000, 30_000] {
        add(
            &format!("{depth} groups"),
            one(&format!("{}a{}", "(".repeat(depth), ")".repeat(depth)), ""),
        );
        add(
            &format!("{depth} repeats"),
            one(&format!("{}a{}", "(".repeat(depth), ")+".repeat(depth)), ""),
        );
        add(
            &format!("{depth} optional"),
            one(&format!("{}a{}", "(?:b".repeat(depth / 2), ")?".repeat(depth / 2)), ""),
        );
        add(&format!("{depth} stars"), one(&format!("a{}", "*".repeat(depth)), ""));
        add(&format!("{depth} open"), one(&"(".repeat(depth), ""));
    }
    for text in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        ".{32767}",
        ".{32767}x",
        "x.{32767}",
        "(a|b|c|d|e|f){5000}",
        "(ab?){16000}",
        "a{32767}b{32767}",
        "(a?){32767}",
        "((a?){100}){100}",
        "(a*){30000}",
        "(.*a){1000}",
        "(a|aa)*b{1,2000}c",
        "((a*)*)*b",
        "(((a{0,9}){0,9}){0,9}){0,9}",
        "a{0,32767}",
        "[ab]*a[ab]{12}",
        "[ab]*a[ab]{200}",
        "(x+x+)+y",
        "(.*)(.*)(.*)(.*)(.*)[^a]{300}",
        "(a|b)*a(a|b){15}c(a|b)*b(a|b){15}",
        "(?:a{0,100}){0,100}z",
        "(?:){32767}",
        "(?:a{0}){32767}",
        "a{4294967296}",
        "a{99999999999999999999}",
    ] {
        for flags in ["s", "sL", "sV", "siH"] {
            add(text, one(text, flags));
        }
    }
    for (text, flags) in [
        (r"\w{1000}", "8W"),
        (r"\p{L}{500}", "8Wi"),
        (r"[\w\P{L}\p{Han}]{300}x", "8Wi"),
        (r"\X", "8W"),
        (r"[^\x{1}-\x{10fffe}]{900}", "8i"),
        ("\\w+\\W+\\w+\\W+\\d{40}", "8W"),
        (r"(\p{Lu}|\p{Ll}|\p{N}){1,300}k", "8Wi"),
        (r"\b\w{3,200}\b", "8W"),
        ("(ſ|k|ß|İ){4000}", "8Wi"),
        (r"[\x{100}-\x{10ffff}]{3000}", "8"),
    ] {
        add(text, one(text, flags));
    }
    add("64 KB of a", one(&"a".repeat(65_535), ""));
    add("64 KB caseless", one(&"ab".repeat(32_000), "i"));
    add(
        "64 KB of words",
        one(&(0..9000).map(|n| format!("{n:05x}")).collect::<Vec<_>>().join("|"), ""),
    );
    add("64 KB of classes", one(&"[a-c]".repeat(13_000), ""));
    add("64 KB of \\w", one(&r"\w".repeat(32_000), "8W"));
    add("64 KB of bars", one(&"|".repeat(65_000), "V"));
    add("64 KB of a?", one(&"a?".repeat(32_000), "V"));
    add("64 KB of a*", one(&"a*".repeat(15_000), "V"));
    add("64 KB of .*", one(&".*a".repeat(10_000), "s"));
    add(
        "one large class",
        one(
            &format!(
                "[{}]+",
                (0x100..0x2f00)
                    .map(|n| format!("\\x{{{:x}}}", n * 2))
                    .collect::<String>()
                    .get(..64_000)
                    .unwrap_or("a")
                    .rsplit_once('\\')
                    .map_or("a", |at| at.0)
            ),
            "8i",
        ),
    );
    add(
        "20,000 with one prefix",
        (0..20_000).map(|n| (format!("prefix/of/all/{n}"), "")).collect(),
    );
    add(
        "20,000 with one prefix and a gap",
        (0..20_000).map(|n| (format!("prefix.*{n}x"), "")).collect(),
    );
    add(
        "5,000 that differ in a class",
        (0..5_000).map(|n| (format!("same[a-f]string{{0,{}}}", n % 9), "i")).collect(),
    );
    add(
        "2,000 without a string",
        (0..2_000).map(|n| (format!("[a-z]+[0-9]{{{}}}", n % 40 + 1), "")).collect(),
    );
    add(
        "500 explosive",
        (0..500).map(|n| (format!("[ab]*a[ab]{{{}}}c", n % 60 + 1), "")).collect(),
    );
    add(
        "500 explosive with starts",
        (0..500).map(|n| (format!("[ab]+a[ab]{{{}}}", n % 60 + 1), "L")).collect(),
    );
    let combination = |n: usize| {
        let mut set: Vec<_> = (0..n).map(|n| (format!("word{n}"), "Q")).collect();
        set.push(((0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(" & "), "C"));
        set.push((format!("{}0 & 1{}", "(".repeat(n), ")".repeat(n)), "C"));
        set.push((format!("{}0 | 1", "!".repeat(n)), "C"));
        set.push((format!("{}0{}", "!(1|".repeat(n), ")".repeat(n)), "C"));
        set
    };
    add("a combination of 5,000", combination(5_000));
    add("a combination of 9,000", combination(9_000));
    add(
        "100,000 with one prefix",
        (0..100_000).map(|n| (format!("{}{n}", "p".repeat(40)), "")).collect(),
    );
    all
}

/// How long it took, and what came of it.
fn run(set: &[(String, &'static str)], mode: Mode, text: &[u8]) -> (Duration, Duration, String) {
    let expressions: Vec<_> = set
        .iter()
        .enumerate()
        .map(|(id, (text, letters))| Expression {
            id: id as u32,
            text: text.as_bytes().to_vec(),
            flags: Flags::from_letters(letters.as_bytes()).expect("flags"),
            ..Expression::default()
        })
        .collect();
    let patterns = Patterns { expressions: expressions.into(), mode };
    let start = Instant::now();
    let set = match Set::compile(&patterns, Cpu::host()) {
        Ok(set) => set,
        Err(bad) => {
            return (
                start.elapsed(),
                Duration::ZERO,
                format!("{} refused: {}", bad.len(), bad[0].what),
            );
        }
    };
    let compiled = start.elapsed();
    let (mut scratch, mut count) = (Scratch::new(), 0_u64);
    let mut hit = |_| {
        count += 1;
        ControlFlow::Continue(())
    };
    let start = Instant::now();
    match mode {
        Mode::Block => _ = set.scan(&mut scratch, text, &mut hit),
        Mode::Stream => {
            let mut state = vec![0; set.state_len()];
            set.begin(&mut state);
            for piece in text.chunks(1000) {
                set.scan_piece(&mut scratch, &mut state, piece, &mut hit);
            }
            let _ = set.finish(&mut scratch, &mut state, &mut hit);
        }
    }
    (compiled, start.elapsed(), format!("{count} matches, {} KB", set.memory() >> 10))
}

#[test]
fn costs_are_bounded() {
    let text: Vec<u8> =
        (0..4096_u32).map(|n| b"aabb"[(n.wrapping_mul(0x9e37_79b9) >> 13) as usize % 4]).collect();
    let mut slow = vec![];
    for (name, set) in all() {
        // Seconds each: once.
        let modes =
            if set.len() < 100_000 { &[Mode::Block, Mode::Stream][..] } else { &[Mode::Stream] };
        for &mode in modes {
            let (text, set) = (text.clone(), set.clone());
            let worker = std::thread::Builder::new().stack_size(STACK);
            eprint!("{name} {mode:?} {}", set[0].1);
            let worker = worker.spawn(move || run(&set, mode, &text)).unwrap();
            let (compiled, scanned, what) = worker.join().unwrap_or_else(|_| panic!("{name}"));
            eprintln!(": {compiled:?}, {scanned:?}, {what}");
            if compiled + scanned > Duration::from_secs(20) {
                slow.push(format!("{name} {mode:?}: {compiled:?}, {scanned:?}"));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// A state may be any bytes of its size, of an offset near the last one as well: matches are wrong then, nothing else.
#[test]
fn any_bytes_are_a_state() {
    let letters = ["", "L", "H", "sL", ""];
    let texts = ["ab+c", "x+y", "abc", "ab.*ca", r"\bab\b|c$"];
    let pattern = |(id, (text, letters)): (usize, (&str, &str))| Expression {
        id: id as u32,
        text: text.into(),
        flags: Flags::from_letters(letters.as_bytes()).expect("flags"),
        ..Expression::default()
    };
    let expressions = texts.into_iter().zip(letters).enumerate().map(pattern).collect();
    let set = Set::compile(&Patterns { expressions, mode: Mode::Stream }, Cpu::host()).unwrap();
    let (mut scratch, mut random) = (Scratch::new(), 1_u64);
    let text = b"ab xxyabbc ab ca xy\n".repeat(10);
    for round in 0..2_000 {
        let mut state: Vec<u8> = (0..set.state_len())
            .map(|_| {
                random =
                    random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (random >> 56) as u8
            })
            .collect();
        if round % 2 == 0 {
            state[..8].copy_from_slice(&(u64::MAX - round % 400).to_le_bytes());
        }
        let mut hit = |_| ControlFlow::Continue(());
        assert_eq!(set.scan_piece(&mut scratch, &mut state, &text, &mut hit), text.len());
        let _ = set.finish(&mut scratch, &mut state, &mut hit);
    }
}
