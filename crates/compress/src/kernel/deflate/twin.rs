//! The compressor again, in plain code: what its output is to be, byte for byte. (Whether numbers that it
//! takes from the compressor are right, other tests say.)

use lookaside_simd::Cpu;

use super::super::LOG2;
use super::super::symbols::{LENGTHS, ORDER};
use super::candidates::WINDOW;
use super::parse::{CURSORS, FAR, LEAST_GAIN, LEAST_SEGMENT, LONG, LONGEST, SEEN, TAIL};
use super::{BLOCK, Compressor, stored};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    Literal(u8),
    Match { len: usize, distance: usize },
}

/// What pass 1 finds, of every position.
struct Found {
    /// How far back its candidate is, 1 if there is none.
    distance: Vec<usize>,
    /// Whether that is looked at: it has the first two bytes in common as well as the hash.
    marked: Vec<bool>,
    /// Whether it is in a strip of 512 that repeats what is before it.
    in_repeat: Vec<bool>,
}

fn find(src: &[u8], effort: u8) -> Found {
    let most = if effort == 1 { 14 } else { 15 };
    let bits = (2 * src.len()).clamp(1 << 12, 1 << most).ilog2();
    // Position and two bytes.
    let mut table = vec![(0u16, [0; 2]); 1 << bits];
    let hash = |at: usize| {
        let four = u32::from_le_bytes(src[at..at + 4].try_into().expect("four"));
        (four.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
    };
    let entry = |at: usize| (at as u16, [src[at], src[at + 1]]);
    let back = |at: usize, candidate: u16| at.wrapping_sub(candidate.into()) & 0xffff;
    let mut found = Found {
        distance: vec![1; src.len()],
        marked: vec![false; src.len()],
        in_repeat: vec![false; src.len()],
    };
    for from in (0..src.len()).step_by(BLOCK) {
        let to = src.len().min(from + BLOCK);
        let (mut at, mut repeat) = (from, 0);
        if from > 0 && found.in_repeat[from - 1] {
            repeat = found.distance[from - 1];
        }
        while at < to {
            let whole = at + 512 <= to && at + 512 + 64 <= src.len();
            if whole {
                let distance = if repeat != 0 { repeat } else { back(at, table[hash(at)].0) };
                repeat = 0;
                if is_good(distance, at) && (at..at + 512).all(|at| src[at] == src[at - distance]) {
                    repeat = distance;
                    found.distance[at..at + 512].fill(distance);
                    found.marked[at..at + 512].fill(true);
                    found.in_repeat[at..at + 512].fill(true);
                    (at + 496..at + 512).for_each(|at| table[hash(at)] = entry(at));
                    at += 512;
                    continue;
                }
            }
            let end = if whole { at + 512 } else { to };
            for at in (at..end).take_while(|at| at + 4 <= src.len()) {
                let last = std::mem::replace(&mut table[hash(at)], entry(at));
                let distance = back(at, last.0);
                if is_good(distance, at) {
                    found.distance[at] = distance;
                    found.marked[at] = last.1 == entry(at).1;
                }
            }
            at = end;
        }
    }
    found
}

/// No candidate is the first byte.
fn is_good(distance: usize, at: usize) -> bool {
    (1..=WINDOW).contains(&distance) && distance < at
}

/// How many bytes are equal, at most so many.
fn length(src: &[u8], at: usize, distance: usize, most: usize) -> usize {
    (0..most.min(src.len() - at)).take_while(|i| src[at + i] == src[at + i - distance]).count()
}

/// Length and distance of the longest of so many candidates, of those the nearest.
fn best(
    src: &[u8],
    found: &Found,
    at: usize,
    to: usize,
    depth: usize,
    extend: bool,
) -> (usize, usize) {
    let compare = |distance: usize| match length(src, at, distance, SEEN) {
        SEEN if extend => length(src, at, distance, LONGEST.min(to - at)),
        len => len,
    };
    let first = found.distance[at];
    let mut best = (compare(first), first);
    let mut last = first;
    for _ in 1..depth {
        let next = last + found.distance[at - last];
        if next <= WINDOW.min(at) {
            last = next;
            let len = compare(last);
            if len > best.0 {
                best = (len, last);
            }
        }
    }
    best
}

fn zeros(distance: usize) -> i32 {
    (distance as u32).wrapping_sub(1).leading_zeros() as i32
}

fn step(src: &[u8], found: &Found, at: usize, to: usize, effort: u8) -> Token {
    if at < 2 || !found.marked[at] {
        return Token::Literal(src[at]);
    }
    let depth = [1, 2, 2, 4][usize::from(effort) - 1];
    let (len, distance) = best(src, found, at, to, depth, true);
    let far = distance.wrapping_sub(1) >= FAR;
    let wait = effort < 3 && found.marked[at + 1] && found.marked[at + 2];
    let mut take = len >= 4 + usize::from(far || wait);
    if effort >= 3 {
        let (next, next_distance) = best(src, found, at + 1, to, 1, false);
        let gain = 4 * (next as i32 - len as i32) + zeros(next_distance) - zeros(distance);
        take &= !(gain > LEAST_GAIN && next >= 4);
    }
    if take { Token::Match { len, distance } } else { Token::Literal(src[at]) }
}

fn parse(src: &[u8], found: &Found, from: usize, to: usize, effort: u8) -> Vec<Token> {
    let mut tokens = Vec::new();
    if to - from >= 4096 {
        let samples: Vec<usize> = (from + 32..to - 4).step_by(32).collect();
        let same = |&&at: &&usize| length(src, at, found.distance[at], 4) == 4;
        if samples.iter().filter(same).count() <= samples.len() / 512 {
            return src[from..to].iter().map(|&byte| Token::Literal(byte)).collect();
        }
    }
    let repeated = found.in_repeat[from..to].iter().filter(|&&repeats| repeats).count();
    let last = if to > from.max(2) + TAIL { to - TAIL } else { from };
    let all = last - from;
    let mut end = from;
    // A match may lead into the next segment, whose tokens then begin there.
    let mut reached = from;
    while end < last {
        let least = if all > LONG { LEAST_SEGMENT } else { all.div_ceil(CURSORS).max(128) };
        let left = last - end;
        let share = (left / (2 * CURSORS)).max(least).min(left);
        let mut at = end;
        end += if 16 * repeated > 15 * (to - from) { left } else { share };
        while at < end {
            let token = step(src, found, at, to, effort);
            let len = match token {
                Token::Literal(_) => 1,
                Token::Match { len, .. } => len,
            };
            let (start, left) = (at, (at + len).saturating_sub(at.max(reached)));
            at += len;
            tokens.extend(match token {
                _ if left == 0 => vec![],
                Token::Match { distance, .. } if left >= 3 => {
                    vec![Token::Match { len: left, distance }]
                }
                Token::Match { .. } => src[start + len - left..start + len]
                    .iter()
                    .map(|&byte| Token::Literal(byte))
                    .collect(),
                literal => vec![literal],
            });
        }
        reached = reached.max(at);
    }
    let mut at = reached;
    while at < to {
        let distance = found.distance[at];
        let look = at >= 2 && found.marked[at];
        let len = if look { length(&src[..to], at, distance, LONGEST) } else { 0 };
        let token = if len >= 4 { Token::Match { len, distance } } else { Token::Literal(src[at]) };
        at += if len >= 4 { len } else { 1 };
        tokens.push(token);
    }
    tokens
}

fn code_lengths(counts: &[u32], limit: u32) -> Vec<u32> {
    let mut lengths = vec![0; counts.len()];
    let present: Vec<usize> = (0..counts.len()).filter(|&symbol| counts[symbol] != 0).collect();
    if present.len() < 2 {
        let only = present.first().copied().unwrap_or(0);
        lengths[only] = 1;
        lengths[usize::from(only == 0)] = 1;
        return lengths;
    }
    let total = (counts.iter().sum::<u32>() as f32).log2() * 256.0;
    let logs: Vec<i32> = present
        .iter()
        .map(|&symbol| {
            let bits = (counts[symbol] as f32).to_bits();
            let exponent = (bits >> 23) as f32 - 127.0;
            let mantissa = f32::from_bits(bits & 0x7f_ffff | 0x3f80_0000);
            let [cubic, square, linear, constant] = LOG2;
            let log = mantissa.mul_add(cubic, square).mul_add(mantissa, linear);
            let log = exponent + log.mul_add(mantissa, constant);
            (-log).mul_add(256.0, total).round_ties_even() as i32
        })
        .collect();
    let round = |log: i32, threshold: i32| ((log + threshold) >> 8).clamp(1, limit as i32) as u32;
    let left = |threshold: i32| {
        let sum: i64 = logs.iter().map(|&log| 1 << (limit - round(log, threshold))).sum();
        (1 << limit) - sum
    };
    let threshold = (0..=1024).find(|&threshold| left(threshold) >= 0).expect("all fit at last");
    for (&symbol, &log) in present.iter().zip(&logs) {
        lengths[symbol] = round(log, threshold);
    }
    let mut left = left(threshold);
    while left > 0 {
        let length = (2..=limit)
            .find(|&length| 1 << (limit - length) <= left && lengths.contains(&length))
            .expect("a multiple of the longest");
        let same = |&symbol: &usize| lengths[symbol] == length;
        let most = (0..counts.len()).filter(same).map(|symbol| counts[symbol]).max();
        let symbol = (0..counts.len())
            .find(|&symbol| lengths[symbol] == length && Some(counts[symbol]) == most)
            .expect("there is one");
        lengths[symbol] -= 1;
        left -= 1 << (limit - length);
    }
    lengths
}

/// Bits, lowest first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: usize, count: u32) {
        (0..count).for_each(|bit| self.0.push(value >> bit & 1 == 1));
    }

    /// The code of a symbol: highest bit first.
    fn code(&mut self, lengths: &[u32], symbol: usize) {
        let length = lengths[symbol];
        assert_ne!(length, 0);
        let shorter: usize = (0..lengths.len())
            .filter(|&other| (1..length).contains(&lengths[other]))
            .map(|other| 1 << (length - lengths[other]))
            .sum();
        let before = (0..symbol).filter(|&other| lengths[other] == length).count();
        let code = shorter + before;
        (0..length).rev().for_each(|bit| self.0.push(code >> bit & 1 == 1));
    }
}

/// (symbol, extra bits, their value)
fn len_symbol(len: usize) -> (usize, u32, usize) {
    let symbol =
        LENGTHS.iter().rposition(|&(base, _)| usize::from(base) <= len).expect("from 3 on");
    let (base, extra) = LENGTHS[symbol];
    (257 + symbol, extra.into(), len - usize::from(base))
}

fn distance_symbol(distance: usize) -> (usize, u32, usize) {
    let less_one = distance - 1;
    if less_one < 4 {
        return (less_one, 0, 0);
    }
    let extra = less_one.ilog2() - 1;
    (2 * extra as usize + (less_one >> extra), extra, less_one & ((1 << extra) - 1))
}

/// What describes the codes. The codes that it is written with itself are of the least size, or these.
fn header(litlen: &[u32], distance: &[u32], code_codes: Option<[u32; 19]>) -> Bits {
    let litlens = litlen.iter().rposition(|&length| length != 0).map_or(257, |at| 257.max(at + 1));
    let distances = distance.iter().rposition(|&length| length != 0).map_or(1, |at| at + 1);
    let mut rest = [&litlen[..litlens], &distance[..distances]].concat();
    let mut items = Vec::new();
    while let Some(&length) = rest.first() {
        let mut run = rest.iter().take_while(|&&other| other == length).count();
        rest.drain(..run);
        if length != 0 {
            items.push((length as usize, 0, 0));
            run -= 1;
        }
        while run > 0 {
            let (symbol, least, most, bits) = match (length, run) {
                (0, 11..) => (18, 11, 138, 7),
                (0, 3..) => (17, 3, 10, 3),
                (1.., 3..) => (16, 3, 6, 2),
                _ => (length as usize, 1, 1, 0),
            };
            let part = run.min(most);
            items.push((symbol, bits, part - least));
            run -= part;
        }
    }
    let mut counts = [0; 19];
    items.iter().for_each(|item| counts[item.0] += 1);
    let lengths = code_codes.map_or_else(|| code_lengths(&counts, 7), |lengths| lengths.to_vec());
    let count =
        ORDER.iter().rposition(|&symbol| lengths[symbol] != 0).map_or(4, |at| 4.max(at + 1));
    let mut bits = Bits::default();
    bits.put(litlens - 257, 5);
    bits.put(distances - 1, 5);
    bits.put(count - 4, 4);
    ORDER[..count].iter().for_each(|&symbol| bits.put(lengths[symbol] as usize, 3));
    for (symbol, extra, value) in items {
        bits.code(&lengths, symbol);
        bits.put(value, extra);
    }
    bits
}

fn body(tokens: &[Token], litlen: &[u32], distance: &[u32]) -> Bits {
    let mut bits = Bits::default();
    for &token in tokens {
        match token {
            Token::Literal(byte) => bits.code(litlen, byte.into()),
            Token::Match { len, distance: back } => {
                let (symbol, extra, value) = len_symbol(len);
                bits.code(litlen, symbol);
                bits.put(value, extra);
                let (symbol, extra, value) = distance_symbol(back);
                bits.code(distance, symbol);
                bits.put(value, extra);
            }
        }
    }
    bits.code(litlen, 256);
    bits
}

/// A block of a text that is one byte over and over.
fn run(byte: u8, len: usize) -> Bits {
    let (matches, left) = ((len - 1) / LONGEST, (len - 1) % LONGEST);
    let mut tokens = vec![Token::Literal(byte)];
    tokens.resize(1 + matches, Token::Match { len: LONGEST, distance: 1 });
    let mut litlen = [0; 286];
    litlen[285] = 1;
    litlen[256] = 2;
    litlen[usize::from(byte)] = if left < 3 { 2 } else { 3 };
    if left < 3 {
        tokens.resize(tokens.len() + left, Token::Literal(byte));
    } else {
        tokens.push(Token::Match { len: left, distance: 1 });
        litlen[len_symbol(left).0] = 3;
    }
    let code_codes = [4, 2, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 2];
    let mut bits = header(&litlen, &[1], Some(code_codes));
    bits.0.append(&mut body(&tokens, &litlen, &[1]).0);
    bits
}

fn compress(effort: u8, src: &[u8]) -> Vec<u8> {
    let is_run = src.len() >= 512 && src.iter().all(|&byte| byte == src[0]);
    let found = find(src, effort);
    let mut bits = Bits::default();
    for from in (0..src.len().max(1)).step_by(BLOCK) {
        let to = src.len().min(from + BLOCK);
        let last = to == src.len();
        if is_run {
            bits.put(usize::from(last) | 4, 3);
            bits.0.append(&mut run(src[0], to - from).0);
            continue;
        }
        let tokens = parse(src, &found, from, to, effort);
        let (mut litlen, mut distance) = ([0; 286], [0; 30]);
        litlen[256] = 1;
        for &token in &tokens {
            match token {
                Token::Literal(byte) => litlen[usize::from(byte)] += 1,
                Token::Match { len, distance: back } => {
                    litlen[len_symbol(len).0] += 1;
                    distance[distance_symbol(back).0] += 1;
                }
            }
        }
        let (litlen, distance) = (code_lengths(&litlen, 12), code_lengths(&distance, 12));
        let mut dynamic = header(&litlen, &distance, None);
        dynamic.0.append(&mut body(&tokens, &litlen, &distance).0);
        let lengths = |symbol: usize| match symbol {
            ..144 | 280.. => 8,
            144..256 => 9,
            256..280 => 7,
        };
        let fixed_lengths: Vec<u32> = (0..288).map(lengths).collect();
        let fixed = body(&tokens, &fixed_lengths, &[5; 30]);
        let before = bits.0.len() % 8;
        let stored = 8 * (stored::size(to - from) + before.div_ceil(8)) - before;
        if stored <= 3 + fixed.0.len().min(dynamic.0.len()) {
            let mut out = vec![0; stored::size(to - from)];
            match last {
                true => stored::compress(&src[from..to], &mut out),
                false => stored::compress_piece(&src[from..to], &mut out),
            };
            // A block's three bits, and zeros up to the next byte.
            bits.put((out[0] & 1).into(), 3);
            bits.0.resize(bits.0.len().next_multiple_of(8), false);
            out[1..].iter().for_each(|&byte| bits.put(byte.into(), 8));
            continue;
        }
        let is_fixed = fixed.0.len() <= dynamic.0.len();
        bits.put(usize::from(last) | if is_fixed { 2 } else { 4 }, 3);
        bits.0.extend(if is_fixed { fixed.0 } else { dynamic.0 });
    }
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.0.chunks(8).map(byte).collect()
}

/// xorshift, seeded.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 20) as usize
}

/// Words, noise, runs and copies, in proportions that change.
fn varied(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut data = Vec::with_capacity(len + 3000);
    let kinds = 1 + random(&mut state) % 6;
    while data.len() < len {
        match random(&mut state) % kinds {
            0 => data.extend_from_slice(
                [&b"the "[..], b"request ", b"of ", b"ring\n", b"0123", b"{\"id\": "]
                    [random(&mut state) % 6],
            ),
            1 => (0..random(&mut state) % 40).for_each(|_| data.push(random(&mut state) as u8)),
            2 if !data.is_empty() => {
                let reach = [4, 300, 9000, 33_000, 70_000][random(&mut state) % 5];
                let distance = 1 + random(&mut state) % data.len().min(reach);
                let count = 3 + random(&mut state) % 300;
                (0..count).for_each(|_| data.push(data[data.len() - distance]));
            }
            3 => data.resize(data.len() + random(&mut state) % 2000, random(&mut state) as u8),
            4 => (0..random(&mut state) % 3000).for_each(|_| data.push(random(&mut state) as u8)),
            _ => data.push(b'a' + (random(&mut state) % 20) as u8),
        }
    }
    data.truncate(len);
    data
}

#[test]
fn the_same_bytes() {
    let Some(cpu) = Cpu::host().avx512() else {
        eprintln!("SKIPPED: no AVX-512");
        return;
    };
    let mut ours = Compressor::new(cpu);
    // Around: the tail, segments, strips, the kinds of segments, blocks.
    let mut lens = vec![0, 1, 3, 79, 80, 81, 200, 1000, 4096, 16_500, 140_000];
    lens.extend(
        [43, 170, 512, 576, 16_424, 65_536, 65_576, 65_600].iter().flat_map(|n| n - 3..n + 4),
    );
    for seed in 0..60 {
        for (at, &len) in lens.iter().enumerate() {
            // Every length with nine seeds; with the others short ones, in turn.
            if seed >= 9 && (len >= 10_000 || !(at as u64 + seed).is_multiple_of(7)) {
                continue;
            }
            let src = match seed {
                0 => vec![[0, 7, 137, 138, 245, 255][at % 6]; len],
                1 => varied(len, 99).iter().cycle().take(len).copied().collect(),
                2 => {
                    let mut state = 77;
                    (0..len).map(|_| random(&mut state) as u8).collect()
                }
                3 => varied(700, 5).into_iter().cycle().take(len).collect(),
                seed => varied(len, seed),
            };
            for effort in 1..=super::MOST_EFFORT {
                let mut dst = vec![0; 2 * len + 200];
                let size = ours.compress(effort, &src, &mut dst).expect("room");
                let twin = compress(effort, &src);
                assert!(dst[..size] == twin[..], "seed {seed} len {len} effort {effort}");
            }
        }
    }
}

#[test]
fn codes_are_complete() {
    let Some(_) = Cpu::host().avx512() else { return };
    let mut state = 5;
    for round in 0..2000 {
        let used = 1 + random(&mut state) % 286;
        let mut counts = [[0; 32]; 9];
        for _ in 0..used {
            let count = 1 + random(&mut state) as u32 % (1 << (random(&mut state) % 16));
            counts.as_flattened_mut()[random(&mut state) % 286] = count;
        }
        let mut lengths = [[0; 32]; 9];
        // SAFETY: the token was there.
        unsafe { super::huffman::lengths::<9, 12>(&counts, &mut lengths) };
        let ours: Vec<u32> = lengths.as_flattened().iter().map(|&length| length.into()).collect();
        assert_eq!(ours, code_lengths(counts.as_flattened(), 12), "round {round}");
        let sum: u32 = ours.iter().filter(|&&length| length != 0).map(|&l| 4096 >> l).sum();
        assert_eq!(sum, 4096, "round {round}");
    }
}

/// What was compressed before changes nothing, whatever it was: short texts share a table.
#[test]
fn texts_do_not_know_of_each_other() {
    let Some(cpu) = Cpu::host().avx512() else { return };
    let mut ours = Compressor::new(cpu);
    let mut state = 3;
    let mut dst = vec![0; 300_000];
    for round in 0..400 {
        let len = [4090, 1, 0, 517, 70_000, 4093, 33_001][round % 7] + random(&mut state) % 8;
        let mut src = varied(len, round as u64);
        // Zeros are what vectors read behind a text: here four of them come once, after the first
        // three of them, which is where a wrong candidate would show.
        src.iter_mut().for_each(|byte| *byte = (*byte).max(1));
        if len > 100 {
            src[20..25].copy_from_slice(&[7, 0, 0, 0, 9]);
            src[40..46].copy_from_slice(&[7, 0, 0, 0, 0, 9]);
        }
        let effort = 1 + (round % 4) as u8;
        let size = ours.compress(effort, &src, &mut dst).expect("room");
        let alone = compress(effort, &src);
        assert!(dst[..size] == alone[..], "round {round}, {len} bytes");
    }
}

/// A stored block after one that ends at any bit.
#[test]
fn stored_blocks_anywhere() {
    let Some(cpu) = Cpu::host().avx512() else { return };
    let mut ours = Compressor::new(cpu);
    let mut state = 11;
    for round in 0..20 {
        let mut src = varied(BLOCK - 4000, 3 * round + 5);
        src.resize(BLOCK, round as u8);
        let tail = 1 + random(&mut state) % 300;
        (0..tail).for_each(|_| src.push(random(&mut state) as u8));
        let mut dst = vec![0; 2 * src.len()];
        let size = ours.compress(1, &src, &mut dst).expect("room");
        assert!(dst[..size] == compress(1, &src)[..], "round {round}");
    }
}
