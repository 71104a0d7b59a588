//! Large and hostile expressions and states.
use super::super::{Limit, TooLarge};
use super::*;

fn error(node: &Node) -> TooLarge {
    Automaton::new(&[expression(7, node)], &Limits::default()).unwrap_err()
}

fn any_but_newline() -> Node {
    Node::Class(ByteSet::one(b'\n').complement())
}

#[test]
fn nested_repeats_are_refused_before_they_are_unrolled() {
    let a = repeat(repeat(repeat(class(b"a"), 1, Some(100)), 1, Some(100)), 1, Some(100));
    let a = Node::Concat(vec![class(b"b"), a]);
    assert_eq!(error(&a), TooLarge { report: 7, limit: Limit::Positions });
    let huge = (0..60).fold(class(b"a"), |node, _| repeat(node, u32::MAX, Some(u32::MAX)));
    assert_eq!(error(&huge), TooLarge { report: 7, limit: Limit::Positions });
    // n optional bytes have n * n / 2 edges.
    let optional = Node::Concat((0..20_000).map(|_| repeat(class(b"a"), 0, Some(1))).collect());
    assert_eq!(error(&optional), TooLarge { report: 7, limit: Limit::Edges });
    let wide = repeat(
        Node::Alternate((0..200).map(|_| repeat(class(b"a"), 0, None)).collect()),
        100,
        Some(100),
    );
    assert_eq!(error(&wide).report, 7);
}

#[test]
fn repeats_of_what_may_be_empty_have_few_edges() {
    let a = repeat(repeat(class(b"a"), 0, Some(1)), 3, Some(5_000));
    assert_eq!(block(&automaton(&a), &[b'a'; 100]).len(), 100);
    let nothing = repeat(
        repeat(Node::Assert(Assertion::WordBoundary), 1_000, Some(1_000)),
        1_000,
        Some(u32::MAX),
    );
    assert_eq!(block(&automaton(&Node::Concat(vec![nothing, class(b"a")])), b"aa a").len(), 2);
}

#[test]
fn deep_nesting_needs_no_stack() {
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(|| {
            let a = (0..20_000).fold(class(b"a"), |node, depth| match depth % 4 {
                0 => repeat(node, 0, None),
                1 => Node::Concat(vec![node, Node::Empty]),
                2 => Node::Alternate(vec![node, Node::Alternate(Vec::new())]),
                _ => repeat(node, 1, Some(1)),
            });
            // The node itself is dropped recursively: that needs the stack.
            assert_eq!(block(&automaton(&a), b"baab").len(), 2);
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn long_bounded_repeats() {
    // a[^\n]{300}b
    let node =
        Node::Concat(vec![class(b"a"), repeat(any_but_newline(), 300, Some(300)), class(b"b")]);
    let it = automaton(&node);
    assert!(it.state_len() <= 300 / 8 + 2, "{}", it.state_len());
    let random = &mut Random::new(3);
    let text: Vec<u8> = (0..200_000)
        .map(|_| if random.chance(500) { b'\n' } else { b"ab"[random.below(2)] })
        .collect();
    let expected: Vec<u64> = (301..text.len())
        .filter(|&at| {
            text[at] == b'b' && text[at - 301] == b'a' && !text[at - 300..at].contains(&b'\n')
        })
        .map(|at| at as u64 + 1)
        .collect();
    assert!(expected.len() > 1000);
    let mut caches = [Cache::with_bytes(100_000)];
    let found = stream(&it, &mut caches, &text, &[1000, 77_777]);
    assert!(found.keys().map(|(_, end)| *end).eq(expected));
    assert!(caches[0].memory() < 200_000, "{}", caches[0].memory());

    let zero = Node::Concat(vec![class(b"a"), repeat(class(b"x"), 0, Some(5_000)), class(b"b")]);
    let text = [&b"a"[..], &[b'x'; 5_000], b"bxa", &[b'x'; 5_001], b"b"].concat();
    assert_eq!(block(&automaton(&zero), &text).into_keys().collect::<Vec<_>>(), [(7, 5_002)]);
}

#[test]
fn ends_beyond_four_gigabytes() {
    let node = Node::Concat(vec![class(b"a"), repeat(class(b"b"), 1, None)]);
    let expressions =
        [Expression { report: 1, node: &node, start_of_match: true, empty: false, once: false }];
    let it = Automaton::new(&expressions, &Limits::default()).unwrap();
    let mut state = vec![0; it.state_len()];
    it.begin(&mut state);
    let mut hits = Vec::new();
    for (offset, chunk) in [(0, &b"xa"[..]), (1 << 40, b"xab"), ((1 << 40) + 3, b"b")] {
        let _ = it.scan(
            &mut Cache::default(),
            &mut state,
            offset,
            chunk,
            &|_| false,
            &mut |_, start, end| {
                hits.push((start, end));
                ControlFlow::Continue(())
            },
        );
    }
    let a = (1 << 40) + 1;
    assert_eq!(hits, [(a, a + 2), (a, a + 3)]);
}

#[test]
fn no_state_makes_it_panic() {
    let node = Node::Concat(vec![
        Node::Assert(Assertion::WordBoundary),
        repeat(class(b"ab"), 2, None),
        repeat(Node::Alternate(vec![class(b"c"), class(b"d\n")]), 0, Some(70)),
        Node::Assert(Assertion::TextEndOrNewline),
    ]);
    let other = Node::Concat(vec![class(b"a"), class(b"b")]);
    let mut expressions = [expression(1, &node), expression(2, &other), expression(3, &node)];
    expressions[2].start_of_match = true;
    let it = Automaton::new(&expressions, &Limits::default()).unwrap();
    let random = &mut Random::new(1);
    let mut cache = Cache::default();
    for _ in 0..20_000 {
        let mut state: Vec<u8> = (0..it.state_len()).map(|_| random.next() as u8).collect();
        let text = b"ab abccd\nabd\n\xff\0ab\n";
        for offset in [0, 3, u64::MAX - 2] {
            let mut hit = |_, _, _| ControlFlow::Continue(());
            let _ = it.scan(&mut cache, &mut state, offset, text, &|_| false, &mut hit);
            let _ = it.end(&mut cache, &state, offset, &mut hit);
        }
    }
}

#[test]
fn nothing_to_look_for() {
    let it = Automaton::new(&[], &Limits::default()).unwrap();
    assert_eq!((it.state_len(), block(&it, b"abc").len()), (0, 0));
    assert_eq!(it.describe(), "");
    let nothing = automaton(&Node::Alternate(Vec::new()));
    assert_eq!(block(&nothing, b"abc").len(), 0);
}

#[test]
fn a_repeat_with_too_many_states_runs_bit_by_bit() {
    for most in [30, 100, 200, 400, 700] {
        // [ab][^\n]{10,most}x
        let repeat = repeat(any_but_newline(), 10, Some(most));
        let node = Node::Concat(vec![class(b"ab"), repeat, class(b"x")]);
        let it = automaton(&node);
        let random = &mut Random::new(5);
        let byte = |random: &mut Random| match random.below(most as usize * 2) {
            0 => b'\n',
            1..10 => b'a',
            10..16 => b'x',
            _ => b'-',
        };
        let text: Vec<u8> = (0..100_000).map(|_| byte(random)).collect();
        let mut expected = Vec::new();
        for at in (0..text.len()).filter(|&at| text[at] == b'x') {
            let line =
                text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
            let (first, last) = (at.saturating_sub(most as usize + 1), at.saturating_sub(11) + 1);
            // The first byte of a match may follow the newline, but nothing between may be one.
            if (first.max(line)..last.max(first.max(line))).any(|at| text[at] == b'a') && at >= 11 {
                expected.push(at as u64 + 1);
            }
        }
        assert!(expected.len() > 50);
        let mut caches = [Cache::default()];
        let found = stream(&it, &mut caches, &text, &[10_000, 30_001]);
        assert!(found.keys().map(|(_, end)| *end).eq(expected), "{most}");
        assert!(caches[0].direct() > 10_000, "{most}");
    }
}

#[test]
fn what_is_short_of_memory_takes_what_others_leave() {
    const BYTES: usize = 400_000;
    // a[^\n]{20}b has many states, xy has three.
    let many =
        Node::Concat(vec![class(b"a"), repeat(any_but_newline(), 20, Some(20)), class(b"b")]);
    let few = Node::Concat(vec![class(b"x"), class(b"y")]);
    let few = Expression { once: true, ..expression(2, &few) };
    let it = Automaton::new(&[expression(1, &many), few], &Limits::default()).unwrap();
    assert_eq!(it.parts.len(), 2);
    let random = &mut Random::new(5);
    let text: Vec<u8> = (0..60_000).map(|_| b"abxy\n"[random.below(5)]).collect();
    let mut caches = [Cache::with_bytes(BYTES)];
    let cuts: Vec<usize> = (1..60).map(|piece| piece * 1000).collect();
    stream(&it, &mut caches, &text, &cuts[..1]);
    let (before, room) = caches[0].budgets();
    assert!(room > BYTES / 4, "{room}");
    stream(&it, &mut caches, &text, &cuts);
    let (after, left) = caches[0].budgets();
    let large = (0..2).max_by_key(|part| after[*part]).unwrap();
    assert!(after[large] > 2 * before[large] && left < room, "{before:?} to {after:?}");
    assert_eq!(after[1 - large], before[1 - large]);
    assert_eq!(after.iter().sum::<usize>() + left, before.iter().sum::<usize>() + room);
    assert!(after.iter().sum::<usize>() <= BYTES && caches[0].memory() < BYTES * 5 / 4);
}

/// Characters of UTF-8 are many positions. Amavisd-new has such an expression, which Hyperscan takes 18 seconds for.
#[test]
fn large_repeats_of_characters_are_not_too_large() {
    let name = r"(?:[a-z]*|\[(?:\\.|[^\]\\]){0,999}\])";
    let patterns = crate::Patterns {
        expressions: [crate::Expression {
            text: format!("^(@{name},)*@{name}:").into(),
            flags: crate::Flags { utf8: true, ..crate::Flags::default() },
            ..crate::Expression::default()
        }]
        .into(),
        mode: crate::Mode::Stream,
    };
    assert!(crate::Set::compile(&patterns, lookaside_simd::Cpu::host()).is_ok());
}
