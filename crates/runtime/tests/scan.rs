//! Pattern matching as requests: blocks, flows in pieces, their state, and sets that are replaced.

use std::{
    ops::Range,
    process::Command,
    sync::Arc,
    time::{Duration, SystemTime},
};

use lookaside::{
    Aead, Buf, Done, Feed, Handle, Instance, InstanceConfig, Match, Op, OpError, Packet, Response,
    Runtime, Scanner, SetupError, Span, Status,
    scan::{Expression, Flags, Mode},
};
use lookaside_testkit::Rng;

fn runtime(engines: usize) -> Runtime {
    Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap()
}

fn pattern(id: u32, text: &str) -> Expression {
    Expression { id, text: text.into(), ..Expression::default() }
}

/// Strings, a repeat, gaps of any length, anchors, starts of matches, a combination.
fn patterns() -> Vec<Expression> {
    let start = Flags { som_leftmost: true, ..Flags::default() };
    let combination = Flags { combination: true, ..Flags::default() };
    vec![
        pattern(1, "needle"),
        pattern(2, "ab+c"),
        pattern(3, "needle.*ab"),
        pattern(4, "^a"),
        Expression { flags: start, ..pattern(5, "[x-z]{2,4}") },
        pattern(6, "c$"),
        Expression { flags: combination, ..pattern(7, "1 & 2") },
    ]
}

/// Bytes in which the patterns occur.
fn text(rng: &mut Rng, len: usize) -> Vec<u8> {
    let parts = ["needle", "abbc", "ab", "c", "xyz", "\n", "n", "e", "  ", "lorem"];
    let mut text = Vec::new();
    while text.len() < len {
        text.extend(parts[rng.below(parts.len() as u64) as usize].bytes());
    }
    text.truncate(len);
    text
}

fn records(dst: &Buf, done: Done) -> Vec<Match> {
    let mut bytes = Vec::new();
    dst.gather(&mut bytes);
    Match::of_records(&bytes[..done.produced]).collect()
}

fn room(matches: usize) -> Buf {
    Buf::zeroed(matches * Match::RECORD)
}

/// The matches of a text, by one request.
fn whole(handle: &Handle, scanner: &Scanner, text: &[u8]) -> Vec<Match> {
    let response = handle.call(scanner.scan(text.into(), room(20 * text.len() + 20))).wait();
    let done = response.result.unwrap();
    assert_eq!((done.consumed, done.status), (text.len(), Status::Complete));
    let found = records(&response.dst, done);
    assert_eq!(done.checksum, found.len() as u64);
    found
}

/// Scans a piece, with room for so many matches in each request.
fn piece(
    handle: &Handle,
    scanner: &Scanner,
    mut flow: Vec<u8>,
    piece: &[u8],
    last: bool,
    most: usize,
    found: &mut Vec<Match>,
) -> Vec<u8> {
    let mut rest = piece;
    loop {
        let request = scanner.scan_piece(flow, rest.into(), room(most), last);
        let mut response = handle.call(request).wait();
        let done = response.result.unwrap();
        found.extend(records(&response.dst, done));
        flow = response.take_flow().unwrap();
        rest = &rest[done.consumed..];
        if done.status == Status::Complete {
            assert!(rest.is_empty());
            return flow;
        }
        assert_eq!(done.produced, most * Match::RECORD, "the room is used");
    }
}

#[test]
fn blocks() {
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let handle = runtime.handle();
        let scanner = runtime.scan(patterns(), Mode::Block).unwrap();
        let found = whole(&handle, &scanner, b"abc needle  xyz c");
        let ends: Vec<_> = found.iter().map(|m| (m.end, m.id, m.start)).collect();
        let expected =
            [(1, 4, 0), (3, 2, 0), (10, 1, 0), (10, 7, 0), (14, 5, 12), (15, 5, 12), (17, 6, 0)];
        assert_eq!(ends, expected);
        assert_eq!(scanner.flow(), Err(OpError::Unsupported));
        // Without room: the first ones, and how many there are.
        let src = || Buf::from(&b"abc needle  xyz c"[..]);
        for most in 0..7 {
            let response = handle.call(scanner.scan(src(), room(most))).wait();
            let done = response.result.unwrap();
            assert_eq!((done.status, done.checksum), (Status::Overflow, 7));
            assert_eq!(records(&response.dst, done), found[..most]);
        }
        let counted = scanner.counters();
        assert_eq!((counted.scans, counted.bytes, counted.matches()), (8, 8 * 17, 8 * 7));
        let of = |id: u32| counted.patterns.iter().find(|one| one.id == id).unwrap().matches;
        assert_eq!([1, 2, 3, 5].map(of), [8, 8, 0, 16]);
        // What is no whole record is not used.
        let response = handle.call(scanner.scan(src(), Buf::zeroed(2 * Match::RECORD - 1))).wait();
        assert_eq!(response.result.unwrap().produced, Match::RECORD);
        let row = runtime.counters().row("cpu", Op::Scan).unwrap().requests;
        assert_eq!(row, 9);
    }
}

#[test]
fn scattered_buffers() {
    let runtime = runtime(0);
    let handle = runtime.handle();
    let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
    let mut rng = Rng::new(3);
    let text = text(&mut rng, 5000);
    let expected = whole(&handle, &scanner, &text);
    let list = |len: usize| Buf::list(text.chunks(len).map(Buf::from).collect());
    for len in [1, 7, 1000] {
        let dst = (0..5000).map(|_| Buf::zeroed(20)).collect();
        let response = handle.call(scanner.scan(list(len), Buf::list(dst))).wait();
        assert_eq!(records(&response.dst, response.result.unwrap()), expected);
        let request = scanner.scan_piece(scanner.flow().unwrap(), list(len), room(5000), true);
        let response = handle.call(request).wait();
        assert_same(records(&response.dst, response.result.unwrap()), expected.clone());
    }
}

#[test]
fn flows_in_pieces_with_any_room() {
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let handle = runtime.handle();
        let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
        let mut rng = Rng::new(4);
        for case in 0..60 {
            let len = rng.below(if case % 10 == 0 { 80_000 } else { 400 }) as usize;
            let text = text(&mut rng, len);
            let expected = whole(&handle, &scanner, &text);
            let (mut flow, mut found) = (scanner.flow().unwrap(), vec![]);
            let size = flow.len();
            let most = 1 + rng.below(if len > 1000 { 500 } else { 6 }) as usize;
            let mut at = 0;
            while at < len {
                let next = (at + rng.below(1 + len as u64 / 3) as usize).min(len);
                // The end may come with the last bytes, or after them.
                let last = next == len && rng.chance(50);
                flow = piece(&handle, &scanner, flow, &text[at..next], last, most, &mut found);
                assert_eq!(flow.len(), size, "a state has a fixed size");
                if last {
                    flow.clear();
                }
                at = next;
            }
            if !flow.is_empty() {
                piece(&handle, &scanner, flow, b"", true, most, &mut found);
            }
            assert_same(found, expected);
        }
    }
}

/// Of one end, a pattern that matches only at the end of a text comes last in a flow.
fn assert_same(mut found: Vec<Match>, mut expected: Vec<Match>) {
    assert!(found.is_sorted_by_key(|found| found.end), "ordered by ends");
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// Where the child of a test finds what its parent has left, and leaves what it found.
const FOLDER: &str = "LOOKASIDE_TEST_SCAN_FOLDER";

#[test]
fn a_flow_goes_on_in_another_process() {
    let runtime = runtime(0);
    let handle = runtime.handle();
    let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
    let text = b"^ a needle, later (more than a state keeps)\n".repeat(30);
    let text = [&b"abbc nee"[..], b"dle ", &text, b"needle abbc"].concat();
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = std::path::Path::new(&folder);
        let state = std::fs::read(folder.join("state")).unwrap();
        let mut found = vec![];
        piece(&handle, &scanner, state, &text[8..], true, 3, &mut found);
        let bytes: Vec<u8> = found.iter().flat_map(|found| found.to_record()).collect();
        std::fs::write(folder.join("found"), bytes).unwrap();
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("scan-state");
    std::fs::create_dir_all(&folder).unwrap();
    let _ = std::fs::remove_file(folder.join("found"));
    let mut found = vec![];
    let flow = scanner.flow().unwrap();
    let state = piece(&handle, &scanner, flow, &text[..8], false, 3, &mut found);
    std::fs::write(folder.join("state"), state).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_flow_goes_on_in_another_process", "--nocapture"])
        .env(FOLDER, &folder)
        .status();
    assert!(child.unwrap().success());
    found.extend(Match::of_records(&std::fs::read(folder.join("found")).unwrap()));
    assert!(found.iter().any(|found| found.id == 3), "across the processes");
    assert_same(found, whole(&handle, &scanner, &text));
}

#[test]
fn a_thousand_sets_at_once() {
    let runtime = runtime(2);
    let mut instance =
        runtime.instance(InstanceConfig { depth: 1024, ..Default::default() }).unwrap();
    let scanners: Vec<Scanner> = (0..1000)
        .map(|id| runtime.scan([pattern(id, &format!("key{id:03}[0-9]"))], Mode::Block).unwrap())
        .collect();
    let text: String = (0..1000).map(|id| format!("key{id:03}7 ")).collect();
    let src: Arc<Vec<u8>> = Arc::new(text.into());
    for (tag, scanner) in (0..).zip(&scanners) {
        let src = Buf::shared(src.clone(), 0..src.len());
        instance.push(scanner.scan(src, room(2)).tag(tag)).unwrap();
    }
    instance.doorbell();
    let mut answered = 0;
    while instance.wait(Duration::from_secs(60)) {
        for response in instance.poll() {
            let found = records(&response.dst, response.result.unwrap());
            let end = 8 * response.tag + 7;
            assert_eq!(found, [Match { end, id: response.tag as u32, start: 0 }]);
            answered += 1;
        }
    }
    assert_eq!(answered, 1000);
}

#[test]
fn a_set_is_replaced_while_scans_run() {
    let runtime = runtime(2);
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let text: Arc<Vec<u8>> = Arc::new(b"a needle in hay; ".repeat(1000));
    let set = |id| runtime.scan([pattern(id, "needle")], Mode::Block).unwrap();
    let mut scanner = set(0);
    let mut answered = [0; 50];
    let mut take = |response: Response| {
        let found = records(&response.dst, response.result.unwrap());
        assert_eq!(found.len(), 1000);
        assert!(found.iter().all(|found| u64::from(found.id) == response.tag));
        answered[response.tag as usize] += 1;
    };
    for round in 0..50 {
        for _ in 0..4 {
            while instance.free() == 0 {
                instance.wait(Duration::from_secs(60));
                instance.poll().for_each(&mut take);
            }
            let src = Buf::shared(text.clone(), 0..text.len());
            instance.push(scanner.scan(src, room(1000)).tag(round)).unwrap();
        }
        instance.doorbell();
        // The old one ends when those that run with it do.
        scanner = set(round as u32 + 1);
    }
    while instance.wait(Duration::from_secs(60)) {
        instance.poll().for_each(&mut take);
    }
    assert_eq!(answered, [4; 50]);
}

#[test]
fn all_bad_patterns_are_named() {
    let runtime = runtime(0);
    let set = [pattern(1, "a(b"), pattern(2, "good"), pattern(3, "x(?=y)"), pattern(9, "[z")];
    let Err(SetupError::Patterns(bad)) = runtime.scan(set, Mode::Stream) else {
        panic!("a set of bad patterns")
    };
    let named: Vec<_> = bad.iter().map(|bad| (bad.index, bad.id)).collect();
    assert_eq!(named, [(0, 1), (2, 3), (3, 9)]);
    assert!(bad.iter().all(|bad| bad.offset.is_some() && !bad.what.is_empty()), "{bad:?}");
}

#[test]
fn a_state_that_is_none() {
    let runtime = runtime(0);
    let handle = runtime.handle();
    let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
    let other = runtime.scan([pattern(1, "x")], Mode::Stream).unwrap();
    let block = runtime.scan(patterns(), Mode::Block).unwrap();
    let flow = other.flow().unwrap();
    assert_ne!(flow.len(), scanner.flow().unwrap().len());
    for (scanner, flow) in [(&scanner, flow.clone()), (&scanner, vec![]), (&block, flow)] {
        let request = scanner.scan_piece(flow.clone(), b"needle".to_vec().into(), room(9), true);
        let mut response = handle.call(request).wait();
        assert!(matches!(response.result, Err(OpError::BadInput(_))), "{:?}", response.result);
        assert_eq!(response.take_flow(), Some(flow), "it comes back as it was");
    }
    // Any bytes of the right size: some answer, and no other flow is the worse for it.
    let mut rng = Rng::new(9);
    let text = text(&mut rng, 3000);
    let expected = whole(&handle, &scanner, &text);
    std::panic::set_hook(Box::new(|_| {}));
    for _ in 0..200 {
        let flow = scanner.flow().unwrap().iter().map(|_| rng.next_u64() as u8).collect();
        let request = scanner.scan_piece(flow, text[..100].into(), room(99), rng.chance(50));
        let _ = handle.call(request).wait();
        assert_eq!(whole(&handle, &scanner, &text), expected);
    }
    let _ = std::panic::take_hook();
}

#[test]
fn decrypted_then_scanned() {
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let handle = runtime.handle();
        let scanner = runtime.scan(patterns(), Mode::Block).unwrap();
        let gcm = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
        let text = b"abc needle  xyz c";
        let expected = whole(&handle, &scanner, text);
        let len = text.len() as u32;
        let packet =
            Packet { iv: [7; 12].into(), cipher: Span::new(0, len), tag: len, ..Packet::default() };
        let sealed = handle.call(gcm.seal(packet, text[..].into(), Buf::zeroed(33))).wait();
        let mut sealed = sealed.dst.into_vec();
        for good in [true, false] {
            if !good {
                sealed[0] ^= 1;
            }
            let open = gcm.open(packet, sealed.clone().into(), Buf::zeroed(text.len()));
            let chain = open.then(Feed::Written, scanner.scan(Buf::empty(), room(20))).unwrap();
            let mut response = handle.call(chain).wait();
            if good {
                let found = records(&response.dst, response.result.unwrap());
                assert_eq!(found, expected);
                let steps = response.take_chain().unwrap().into_steps();
                assert_eq!(steps[0].request.dst.as_slice(), Some(&text[..]));
            } else {
                assert_eq!(response.result, Err(OpError::AuthFailed));
            }
        }
    }
}

/// Flows side by side, each in its order, by engines that take turns with them.
#[test]
fn flows_side_by_side() {
    let runtime = runtime(2);
    let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
    let handle = runtime.handle();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let mut rng = Rng::new(5);
    let texts: Vec<Arc<Vec<u8>>> = (0..50).map(|_| Arc::new(text(&mut rng, 3000))).collect();
    let mut found = vec![vec![]; texts.len()];
    let mut at = vec![0; texts.len()];
    let mut push =
        |n: usize, flow: Vec<u8>, at: &mut [usize], instance: &mut lookaside::Instance| {
            let next = (at[n] + 1 + rng.below(300) as usize).min(3000);
            let range: Range<usize> = at[n]..next;
            at[n] = next;
            let src = Buf::shared(texts[n].clone(), range);
            let request = scanner.scan_piece(flow, src, room(3000), next == 3000);
            instance.push(request.tag(n as u64)).unwrap();
        };
    for n in 0..texts.len() {
        push(n, scanner.flow().unwrap(), &mut at, &mut instance);
    }
    instance.doorbell();
    let begun = SystemTime::now();
    while instance.outstanding() > 0 {
        instance.wait(Duration::from_secs(60));
        assert!(begun.elapsed().unwrap() < Duration::from_secs(120));
        let responses: Vec<Response> = instance.poll().collect();
        for mut response in responses {
            let n = response.tag as usize;
            found[n].extend(records(&response.dst, response.result.unwrap()));
            let flow = response.take_flow().unwrap();
            if at[n] < 3000 {
                push(n, flow, &mut at, &mut instance);
            }
        }
        instance.doorbell();
    }
    for (text, found) in texts.iter().zip(found) {
        assert_same(found, whole(&handle, &scanner, text));
    }
}

/// Pieces submitted ahead are scanned in their order; behind one that overflows, none runs until it has come again.
#[test]
fn pieces_ahead() {
    let mut rng = Rng::new(77);
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let handle = runtime.handle();
        let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
        let text = text(&mut rng, 20_000);
        let mut expected = vec![];
        piece(&handle, &scanner, scanner.flow().unwrap(), &text, true, 30_000, &mut expected);
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let stream = scanner.stream(None).unwrap();
        // What has no result yet, the oldest first.
        let mut left: Vec<Range<usize>> = (0..20).map(|n| 1000 * n..1000 * n + 1000).collect();
        let (mut found, mut overflows, mut cancelled) = (vec![], 0, 0);
        while !left.is_empty() {
            let most = 60;
            for range in &left {
                let src = Buf::from(text[range.clone()].to_vec());
                let request = stream.scan(src, room(most), range.end == text.len());
                instance.push(request.tag(range.end as u64)).unwrap();
            }
            instance.doorbell();
            let mut again = vec![];
            for range in std::mem::take(&mut left) {
                let response = loop {
                    if let Some(response) = instance.poll().next() {
                        break response;
                    }
                    instance.wait(Duration::from_secs(1));
                };
                assert_eq!(response.tag, range.end as u64, "in the order of the pushes");
                match response.result {
                    Ok(done) => {
                        assert!(again.is_empty(), "ran behind one that overflowed");
                        assert_eq!(done.checksum, (done.produced / Match::RECORD) as u64);
                        found.extend(records(&response.dst, done));
                        if done.status == Status::Overflow {
                            overflows += 1;
                            again.push(range.start + done.consumed..range.end);
                        }
                    }
                    Err(e) => {
                        assert_eq!(e, OpError::Cancelled);
                        cancelled += 1;
                        again.push(range);
                    }
                }
            }
            left = again;
        }
        assert_eq!(found, expected);
        assert!(overflows > 2 && cancelled > 2, "{overflows} {cancelled}");
        assert_eq!(stream.state(), Err(OpError::StreamEnded));
        let late = handle.call(stream.scan(Buf::empty(), room(1), false)).wait();
        assert_eq!(late.result, Err(OpError::StreamEnded));
    }
}

/// The state of a stream whose pieces are submitted ahead goes on in the other kind of request, and back.
#[test]
fn states_are_the_same_bytes() {
    let runtime = runtime(1);
    let handle = runtime.handle();
    let scanner = runtime.scan(patterns(), Mode::Stream).unwrap();
    let stream = scanner.stream(None).unwrap();
    assert_eq!(stream.state().unwrap(), scanner.flow().ok());
    assert!(handle.call(stream.scan(b"a nee"[..].into(), room(9), false)).wait().result.is_ok());
    let state = stream.state().unwrap().unwrap();
    let mut found = vec![];
    let state = piece(&handle, &scanner, state, b"dle", false, 9, &mut found);
    assert_eq!(found, [Match { end: 8, id: 1, start: 0 }]);
    let stream = scanner.stream(Some(&state)).unwrap();
    let response = handle.call(stream.scan(b" abc"[..].into(), room(9), true)).wait();
    let ids: Vec<_> =
        records(&response.dst, response.result.unwrap()).iter().map(|m| m.id).collect();
    assert!(ids.contains(&2) && ids.contains(&7) && ids.contains(&6), "{ids:?}");
    assert!(matches!(scanner.stream(Some(&state[1..])), Err(OpError::BadInput(_))));
    let blocks = runtime.scan(patterns(), Mode::Block).unwrap();
    assert_eq!(blocks.stream(None).err(), Some(OpError::Unsupported));
}

/// A piece that is cancelled leaves the state as it was; those behind it do not run either.
#[test]
fn a_piece_is_cancelled() {
    for engines in [0, 1] {
        let runtime = runtime(engines);
        let scanner = runtime.scan([pattern(1, "needle")], Mode::Stream).unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let answers = |instance: &mut Instance| {
            let mut all: Vec<(u64, Result<Vec<Match>, OpError>)> = vec![];
            while instance.outstanding() > 0 {
                instance.wait(Duration::from_secs(1));
                let found = |r: Response| (r.tag, r.result.map(|done| records(&r.dst, done)));
                all.extend(instance.poll().map(found));
            }
            all
        };
        let at = |end| vec![Match { end, id: 1, start: 0 }];
        let begun = |instance: &mut Instance| {
            let stream = scanner.stream(None).unwrap();
            for (tag, part) in [(1, &b"a nee"[..]), (2, b"dle, nee"), (3, b"dle")] {
                instance.push(stream.scan(part.into(), room(9), tag == 3).tag(tag)).unwrap();
            }
            stream
        };
        // None has been shown to an engine. One that does not sleep may begin with all of them as soon as they are seen.
        let mut stream = begun(&mut instance);
        let mut cancelled = instance.cancel(2);
        while engines > 0 && cancelled == 0 {
            assert_eq!(answers(&mut instance), [(1, Ok(vec![])), (2, Ok(at(8))), (3, Ok(at(16)))]);
            stream = begun(&mut instance);
            cancelled = instance.cancel(2);
        }
        assert_eq!(cancelled, 1);
        let push = |instance: &mut Instance, tag: u64, part: &[u8]| {
            instance.push(stream.scan(part.into(), room(9), tag == 3).tag(tag)).unwrap();
        };
        let all = answers(&mut instance);
        assert_eq!(
            all,
            [(1, Ok(vec![])), (2, Err(OpError::Cancelled)), (3, Err(OpError::Cancelled))]
        );
        push(&mut instance, 2, b"dle, nee");
        push(&mut instance, 3, b"dle");
        assert_eq!(answers(&mut instance), [(2, Ok(at(8))), (3, Ok(at(16)))]);
    }
}
