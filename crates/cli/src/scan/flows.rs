//! Flows of a capture: TCP's segments in their order, UDP's datagrams as they come.

use std::collections::{BTreeMap, HashMap};

use super::{
    capture::Packet,
    packet::{self, Segment, Skipped},
};

pub(crate) use super::packet::Direction;

/// The most bytes of a direction that wait for ones before them. Beyond that, these are taken as lost.
const MOST_WAITING: usize = 1 << 20;
/// What a segment that waits takes beside its bytes.
const OVERHEAD: usize = 64;

/// What happens in a direction of a flow.
#[derive(Debug, PartialEq)]
pub(crate) enum Event<'a> {
    /// The next bytes.
    Data(&'a [u8]),
    /// The stream ends. `Some`: so many bytes were lost, and what follows them is scanned as a new stream. `None`: the
    /// connection begins anew.
    End(Option<u64>),
}

/// Receives each event, with the number of its direction and the direction.
pub(crate) type Sink<'a> = dyn FnMut(usize, Direction, Event<'_>) + 'a;

/// The directions of all flows.
#[derive(Default)]
pub(crate) struct Flows {
    numbers: HashMap<Direction, usize>,
    states: Vec<State>,
    /// Packets that are not scanned.
    pub skipped: BTreeMap<Skipped, u64>,
    /// Packets.
    pub packets: u64,
    /// Places where bytes are missing.
    pub gaps: u64,
}

/// A direction.
struct State {
    direction: Direction,
    tcp: Tcp,
}

/// How far a direction of a connection has come.
#[derive(Default)]
struct Tcp {
    /// The sequence number that is next.
    next: Option<u32>,
    /// Segments that came early, by the distance from the first byte of all.
    waiting: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
    /// Bytes so far, with those that are lost.
    offset: u64,
    /// Nothing comes after this offset.
    end: Option<u64>,
    over: bool,
}

impl Flows {
    /// Takes a packet. `event` is called with the number of a direction; numbers begin with 0, and a new direction has the
    /// next: it begins with no bytes.
    pub(crate) fn packet(&mut self, packet: &Packet<'_>, event: &mut Sink<'_>) {
        self.packets += 1;
        let segment = match packet::parse(packet.link, packet.data) {
            Ok(segment) => segment,
            Err(why) => return *self.skipped.entry(why).or_default() += 1,
        };
        if segment.reset
            && let Some(&other) = self.numbers.get(&segment.direction.reverse())
        {
            let State { direction, tcp } = &mut self.states[other];
            tcp.finish(&mut |e| event(other, *direction, e));
        }
        if segment.data.is_empty() && !segment.syn && !segment.fin && !segment.reset {
            return;
        }
        let number = *self.numbers.entry(segment.direction).or_insert_with(|| {
            self.states.push(State { direction: segment.direction, tcp: Tcp::default() });
            event(self.states.len() - 1, segment.direction, Event::Data(&[]));
            self.states.len() - 1
        });
        let State { direction, tcp } = &mut self.states[number];
        match direction.tcp {
            true => self.gaps += tcp.segment(&segment, &mut |e| event(number, *direction, e)),
            false => event(number, *direction, Event::Data(segment.data)),
        }
    }

    /// No more packets come.
    pub(crate) fn end(&mut self, event: &mut Sink<'_>) {
        for (number, State { direction, tcp }) in self.states.iter_mut().enumerate() {
            let mut event = |e: Event<'_>| event(number, *direction, e);
            match direction.tcp {
                true => {
                    while tcp.skip(&mut event) {
                        self.gaps += 1;
                    }
                    tcp.finish(&mut event);
                }
                false => event(Event::End(None)),
            }
        }
    }
}

impl Tcp {
    /// Takes a segment. How many gaps were given up.
    fn segment(&mut self, segment: &Segment<'_>, event: &mut dyn FnMut(Event<'_>)) -> u64 {
        let mut sequence = segment.sequence;
        if segment.syn {
            sequence = sequence.wrapping_add(1);
            // Unless it is the same again.
            if self.next.is_some() && (self.over || self.next != Some(sequence)) {
                self.finish(event);
                *self = Tcp::default();
            }
        }
        if self.over {
            return 0;
        }
        let next = *self.next.get_or_insert(sequence);
        // Sequence numbers wrap: what is less than half of them ahead comes later.
        let ahead = sequence.wrapping_sub(next) as i32;
        let mut data = segment.data;
        if ahead < 0 {
            data = data.get(ahead.unsigned_abs() as usize..).unwrap_or_default();
        }
        let at = self.offset + ahead.max(0) as u64;
        if segment.fin {
            self.end = Some(at + data.len() as u64);
        }
        let mut gaps = 0;
        if ahead <= 0 {
            self.deliver(data, event);
        } else if !data.is_empty() {
            let before = self.waiting.get(&at).map_or(0, |there| there.len() + OVERHEAD);
            if data.len() + OVERHEAD > before {
                self.waiting_bytes += data.len() + OVERHEAD - before;
                self.waiting.insert(at, data.to_vec());
            }
        }
        self.drain(event);
        while self.waiting_bytes > MOST_WAITING && self.skip(event) {
            gaps += 1;
        }
        if segment.reset || self.end == Some(self.offset) {
            self.finish(event);
        }
        gaps
    }

    fn deliver(&mut self, data: &[u8], event: &mut dyn FnMut(Event<'_>)) {
        if data.is_empty() {
            return;
        }
        event(Event::Data(data));
        self.offset += data.len() as u64;
        self.next = self.next.map(|next| next.wrapping_add(data.len() as u32));
    }

    /// Delivers what has become next.
    fn drain(&mut self, event: &mut dyn FnMut(Event<'_>)) {
        while let Some(entry) = self.waiting.first_entry()
            && *entry.key() <= self.offset
        {
            let (at, data) = entry.remove_entry();
            self.waiting_bytes -= data.len() + OVERHEAD;
            let known = usize::try_from(self.offset - at).unwrap_or(usize::MAX);
            self.deliver(data.get(known..).unwrap_or_default(), event);
        }
    }

    /// Gives up the bytes before the first that wait. Whether any do.
    fn skip(&mut self, event: &mut dyn FnMut(Event<'_>)) -> bool {
        let Some((&at, _)) = self.waiting.first_key_value() else { return false };
        let lost = at - self.offset;
        event(Event::End(Some(lost)));
        self.offset = at;
        self.next = self.next.map(|next| next.wrapping_add(lost as u32));
        self.drain(event);
        true
    }

    fn finish(&mut self, event: &mut dyn FnMut(Event<'_>)) {
        if !self.over && self.next.is_some() {
            self.over = true;
            (self.waiting, self.waiting_bytes) = (BTreeMap::new(), 0);
            event(Event::End(None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of a direction whose segments have these sequence numbers, flags and data.
    fn texts(segments: &[(u32, &str, &str)]) -> Vec<String> {
        let mut tcp = Tcp::default();
        let mut texts = vec![String::new()];
        let mut event = |event: Event<'_>| match event {
            Event::Data(data) => *texts.last_mut().unwrap() += str::from_utf8(data).unwrap(),
            Event::End(lost) => {
                if let Some(lost) = lost {
                    *texts.last_mut().unwrap() += &format!("-{lost}-");
                }
                texts.push(String::new());
            }
        };
        let address = ([0, 0, 0, 0].into(), 0);
        let direction = Direction { tcp: true, source: address, destination: address };
        for &(sequence, flags, data) in segments {
            let [syn, fin, reset] = ['s', 'f', 'r'].map(|flag| flags.contains(flag));
            let data = data.as_bytes();
            tcp.segment(&Segment { direction, sequence, syn, fin, reset, data }, &mut event);
        }
        while tcp.skip(&mut event) {}
        tcp.finish(&mut event);
        texts.pop();
        texts
    }

    #[test]
    fn segments_in_order_and_not() {
        let late = u32::MAX - 2;
        assert_eq!(
            texts(&[(late, "s", ""), (2, "", "ef"), (late + 1, "", "ab"), (0, "", "cd")]),
            ["abcdef"]
        );
        // The same again, overlapping, and after the end.
        assert_eq!(
            texts(&[
                (5, "", "ab"),
                (5, "", "ab"),
                (6, "f", "bcd"),
                (4, "", "xabcde"),
                (9, "", "z")
            ]),
            ["abcd"]
        );
        // The end comes before what it ends.
        assert_eq!(texts(&[(5, "", "ab"), (9, "f", "e"), (7, "", "cd")]), ["abcde"]);
        // A longer one in the place of a shorter one.
        assert_eq!(texts(&[(1, "", "a"), (3, "", "c"), (3, "", "cd"), (2, "", "b")]), ["abcd"]);
    }

    #[test]
    fn what_is_lost_ends_a_text() {
        assert_eq!(texts(&[(1, "", "ab"), (5, "", "ef"), (10, "", "x")]), ["ab-2-", "ef-3-", "x"]);
        let long = "x".repeat(MOST_WAITING);
        let texts = texts(&[(1, "", "ab"), (5, "", &long), (5 + MOST_WAITING as u32, "", "y")]);
        assert_eq!((texts.len(), &texts[0][..], texts[1].len()), (2, "ab-2-", MOST_WAITING + 1));
    }

    #[test]
    fn a_connection_begins_again() {
        assert_eq!(
            texts(&[
                (0, "s", ""),
                (0, "s", ""),
                (1, "r", "a"),
                (2, "", "b"),
                (90, "s", ""),
                (91, "", "c")
            ]),
            ["a", "c"]
        );
    }
}
