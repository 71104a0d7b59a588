//! Every kernel that the CPU has, beside the portable twin.

use lookaside_simd::{Cpu, Tier};

use super::{
    BLOCK, Index, Isa, LINE, NAME, TEXT, VALUE, characters, lines, portable, sixteen, valid_up_to,
};

fn isas() -> Vec<Isa> {
    Tier::here().map(|tier| Isa::new(&Cpu::with_cap(tier))).collect()
}

fn check(bytes: &[u8]) {
    let mut portable = Index::with_lines();
    let valid = portable.fill(Isa::Generic, bytes);
    let expected = portable.words();
    for isa in isas() {
        let (mut index, mut plain) = (Index::with_lines(), Index::default());
        for index in [&mut index, &mut plain] {
            assert_eq!(index.fill(isa, bytes), valid, "{isa:?} {bytes:x?}");
        }
        assert_eq!(index.words(), expected, "{isa:?} {bytes:x?}");
        let three = |words: Vec<[u64; 4]>| words.into_iter().map(|[a, b, c, _]| [a, b, c]);
        assert!(three(plain.words()).eq(three(index.words())), "{isa:?} {bytes:x?}");
        let last = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        for after_return in [false, true] {
            let expected = (portable::lines(bytes, after_return), last);
            assert_eq!(lines(isa, bytes, after_return), expected, "{isa:?} {bytes:x?}");
        }
        assert_eq!(characters(isa, bytes), portable::characters(bytes));
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn every_length_and_every_byte() {
    let text: Vec<u8> =
        (0..4 * BLOCK + 1).map(|at| b"<a b='x]]>' c=\"\">&amp;\r\n"[at % 24]).collect();
    for len in 0..text.len() {
        check(&text[..len]);
        check(&text[text.len() - len..]);
    }
    for byte in 0..=255 {
        for at in [0, 1, 31, 32, 62, 63, 64, 65, 127] {
            let mut bytes = [b'a'; 130];
            bytes[at] = byte;
            check(&bytes);
        }
    }
}

/// Every sequence of one to four bytes of a choice near all limits, across the ends of vectors.
#[test]
fn sequences_near_the_limits_of_utf8() {
    let near = [
        b'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
        0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
    ];
    let mut index = Index::default();
    let isas = isas();
    for n in 0..25_usize.pow(4) {
        let sequence = [near[n % 25], near[n / 25 % 25], near[n / 625 % 25], near[n / 15_625]];
        let at = [0, 29, 61, 62, 63, 64, 93][n % 7];
        let mut bytes = [b'a'; 128];
        bytes[at..at + 4].copy_from_slice(&sequence);
        let valid = valid_up_to(&bytes) == bytes.len();
        for isa in &isas {
            assert_eq!(index.fill(*isa, &bytes), valid, "{isa:?} {sequence:x?} at {at}");
        }
        // The end of the window in the middle of it.
        if n % 5 == 0 {
            check(&bytes[..at + 1 + n % 4]);
        }
    }
}

#[test]
fn random_bytes_of_the_syntax() {
    let mut seed = 7;
    for _ in 0..3000 {
        let len = random(&mut seed) as usize % 400;
        let chars: Vec<char> = "<>&]'\"=/ \n\r\tabc:é€\u{10000}\u{fffd}".chars().collect();
        let text: String =
            (0..len).map(|_| chars[random(&mut seed) as usize % chars.len()]).collect();
        check(text.as_bytes());
    }
}

/// More blocks than are looked at together, with what only some blocks need at any place of them.
#[test]
fn many_blocks() {
    let mut seed = 11;
    for at in (0..3 * 64 * BLOCK).step_by(61) {
        let len = 2 * 64 * BLOCK + random(&mut seed) as usize % (64 * BLOCK);
        let mut bytes = vec![b'a'; len];
        for piece in ["]]>", "\u{10000}", "\u{fffe}", "]", ">", "\n", "\r", "\u{1}"] {
            if random(&mut seed) & 1 == 0 {
                let at = (at + random(&mut seed) as usize % (2 * BLOCK)) % (len - 4);
                bytes[at..at + piece.len()].copy_from_slice(piece.as_bytes());
            }
        }
        check(&bytes);
    }
}

/// More ends of lines than a byte can count, with and without carriage returns.
#[test]
fn nothing_but_ends_of_lines() {
    for len in [254, 255, 256, 127 * BLOCK, 127 * BLOCK + 1, 40_000] {
        let mut bytes = vec![b'\n'; len];
        check(&bytes);
        for at in [len - 1, len / 2, 0] {
            bytes[at] = b'\r';
            check(&bytes);
        }
    }
}

#[test]
fn searches_from_every_byte() {
    let mut seed = 5;
    let mut index = Index::with_lines();
    assert_eq!((index.next::<TEXT>(0), index.next::<NAME>(7)), (0, 0));
    for round in 0..300 {
        let len = random(&mut seed) as usize % (4 * BLOCK);
        let rare = [1, 8, 100][round % 3];
        let bytes: Vec<u8> = (0..len)
            .map(|_| match random(&mut seed) as usize % rare {
                0 => b"<&]>\"= \n"[random(&mut seed) as usize % 8],
                _ => b'a',
            })
            .collect();
        for isa in isas() {
            index.fill(isa, &bytes);
            let mut end = len;
            for _ in 0..2 {
                let words = index.words();
                let expected = |map: usize, from: usize| {
                    let stop = |at: &usize| words[at / BLOCK][map] >> (at % BLOCK) & 1 == 1;
                    (from..end).find(stop).unwrap_or(end)
                };
                for from in 0..len + 9 {
                    assert_eq!(index.next::<NAME>(from), expected(NAME, from), "{isa:?}");
                    assert_eq!(index.next::<VALUE>(from), expected(VALUE, from), "{isa:?}");
                    assert_eq!(index.next::<TEXT>(from), expected(TEXT, from), "{isa:?}");
                    assert_eq!(index.next::<LINE>(from), expected(LINE, from), "{isa:?}");
                }
                end = random(&mut seed) as usize % (end + 1);
                index.cut(end);
            }
        }
    }
}

#[test]
fn sixteen_bytes_or_nothing() {
    let bytes: Vec<u8> = (0..40).collect();
    for len in 0..bytes.len() {
        for from in 0..len + 20 {
            let expected = bytes[..len].get(from..from + 16);
            let words = sixteen(&bytes[..len], from);
            assert_eq!(words.map(|it| it.map(u64::to_le_bytes).concat()).as_deref(), expected);
        }
    }
}
