//! Nothing is read or written beyond the ends of what a packet lends: its texts, in place and apart,
//! associated data, IVs and tags end at a page that may not be touched, or begin behind one.
#![allow(unsafe_code)]

mod lanes_common;

use std::ptr;

use lanes_common::sessions::{block, iv_len, tag_len};
use lanes_common::{Random, candidates, kind};
use lookaside_cipher::choice::By;
use lookaside_cipher::{Auth, Direction, Engine, OpError, Packet, Parts, Session, Span, Sym, Text};
use lookaside_simd::{Cpu, Tier};

const PAGE: usize = 4096;

/// Bytes between two pages that may not be touched, at the end of the room between them or at its
/// beginning.
struct Guarded {
    mapping: *mut libc::c_void,
    pages: usize,
    start: *mut u8,
    len: usize,
}

impl Guarded {
    fn new(bytes: &[u8], at_end: bool) -> Guarded {
        let len = bytes.len();
        let pages = len.next_multiple_of(PAGE) + 2 * PAGE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping, of which all but the first page and the last is opened.
        let (mapping, start) = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let mapping = libc::mmap(ptr::null_mut(), pages, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(mapping.byte_add(PAGE), pages - 2 * PAGE, access), 0);
            let skip = if at_end { pages - PAGE - len } else { PAGE };
            (mapping, mapping.cast::<u8>().add(skip))
        };
        let mut guarded = Guarded { mapping, pages, start, len };
        guarded.bytes().copy_from_slice(bytes);
        guarded
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes of the mapping, which lives as long as this.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping as it was made; nobody borrows from it any more.
        unsafe { libc::munmap(self.mapping, self.pages) };
    }
}

/// Which part of the text comes last (first, where the memory begins behind the locked page).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Edge {
    Text,
    Aad,
    Tag,
}

#[derive(Clone, Copy, Debug)]
struct Layout {
    edge: Edge,
    at_end: bool,
    apart: bool,
    direction: Direction,
}

/// The parts, and how long source and destination are.
fn lay_out(spec: &Sym, layout: Layout, len: usize) -> (Parts, usize, usize) {
    let tls = matches!(spec, Sym::TlsCbc { .. });
    let aad_len = if tls { 13 } else { [20, 13, 7, 33][len % 4] };
    let tag_len = tag_len(spec);
    let mut order = match layout.edge {
        Edge::Text => [(0, tag_len), (1, aad_len), (2, len)],
        Edge::Aad => [(0, tag_len), (2, len), (1, aad_len)],
        Edge::Tag => [(1, aad_len), (2, len), (0, tag_len)],
    };
    if !layout.at_end {
        order.reverse();
    }
    let (mut places, mut at) = ([0; 3], 0);
    for (part, len) in order {
        places[part] = at;
        at += len;
    }
    let span = |offset: usize, len: usize| Span { offset: offset as u32, len: len as u32 };
    let (aad, text) = (span(places[1], aad_len), span(places[2], len));
    let cipher = if matches!(spec, Sym::Auth { .. }) { Span::default() } else { text };
    let auth = match spec {
        // Both parts, where one follows the other.
        Sym::Chain { auth: Auth::AesCbcMac, .. } => span(places[2], len / 16 * 16),
        Sym::Chain { .. } if places[1] + aad_len == places[2] => span(places[1], aad_len + len),
        _ => text,
    };
    let parts = Parts { aad, cipher, auth, tag: places[0] as u32, spare_bits: 0 };
    let grown = if tls && layout.direction == Direction::Seal { at + 80 } else { at };
    (parts, if layout.apart { at } else { grown }, grown)
}

/// Runs `count` packets, each in memory of its own, side by side or one after the other.
fn run(
    engine: Option<&mut Engine>,
    session: &Session,
    layout: Layout,
    count: usize,
    random: &mut Random,
) {
    let spec = session.spec();
    let mut memory: Vec<_> = (0..count)
        .map(|_| {
            // From 80 bytes on a MAC goes to the lanes, from 112 on CCM does.
            let len = [random.below(80), 80 + random.below(300)][random.below(4).min(1)];
            let (parts, src, dst) = lay_out(spec, layout, len / block(spec) * block(spec));
            let mut iv = vec![0; iv_len(spec, random)];
            iv.fill_with(|| random.next() as u8);
            if iv.len() == 9 {
                // The direction of KASUMI F9.
                iv[8] &= 1;
            }
            let guarded = |bytes: &[u8]| Guarded::new(bytes, layout.at_end);
            let dst = if layout.apart { dst } else { 0 };
            (parts, guarded(&random.bytes(src)), guarded(&vec![0; dst]), guarded(&iv))
        })
        .collect();
    let mut packets: Vec<_> = memory
        .iter_mut()
        .map(|(parts, src, dst, iv)| Packet {
            session,
            direction: layout.direction,
            iv: iv.bytes(),
            parts: *parts,
            text: match layout.apart {
                true => Text::Apart { src: src.bytes(), dst: dst.bytes() },
                false => Text::InPlace(src.bytes()),
            },
            result: Err(OpError::Cancelled),
        })
        .collect();
    match engine {
        Some(engine) => engine.run(&mut packets),
        None => packets.iter_mut().for_each(|packet| session.run_alone(packet)),
    }
    // Nobody was refused for how it lies.
    for packet in packets {
        let fine = matches!(packet.result, Ok(_) | Err(OpError::AuthFailed | OpError::BadInput(_)));
        assert!(fine, "{:?}, {layout:?}", packet.result);
    }
}

/// What reads beyond an end is killed here: run with `--nocapture` to see which session it was.
#[test]
fn ends_at_a_page() {
    let edges = [Edge::Text, Edge::Aad, Edge::Tag];
    let directions = [Direction::Seal, Direction::Open];
    for tier in Tier::here() {
        let cpu = Cpu::with_cap(tier);
        let mut engine = Engine::new(&cpu);
        let mut random = Random(5);
        let sessions = By::ALL.into_iter().flat_map(|by| candidates(&cpu, by));
        for session in &sessions.collect::<Vec<_>>() {
            eprintln!("{tier:?}: {} by {}", kind(session.spec()), session.served_by());
            for edge in edges {
                for at_end in [true, false] {
                    let apart = random.below(2) == 0;
                    let direction = directions[random.below(2)];
                    let layout = Layout { edge, at_end, apart, direction };
                    run(Some(&mut engine), session, layout, 1 + random.below(20), &mut random);
                    run(None, session, layout, 5, &mut random);
                }
            }
        }
    }
}
