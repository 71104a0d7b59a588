//! One step of a scan: what the strings and the places before them say.

use std::ops::ControlFlow;

use crate::counters::Tally;
use crate::fallback::Occurrence;
use crate::input::{Input, Window};
use crate::plan::End;
use crate::program::{Chain, Gap, Program, Segment, Sweep};
use crate::report::{Rule, View};
use crate::starts::Start;
use crate::stretch::Stretch;

/// The patterns whose one match was reported in an earlier window: what they match is of no use any more.
#[derive(Clone, Copy)]
pub(crate) struct Spent<'a> {
    pub rules: &'a [Rule],
    pub view: &'a View<'a>,
}

impl Spent<'_> {
    #[inline]
    fn is(&self, pattern: u32) -> bool {
        self.rules[pattern as usize].is_spent(self.view)
    }
}

/// A match before it is reported. Ordered as reports are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub end: u64,
    /// The pattern's place in the set.
    pub pattern: u32,
    pub start: u64,
}

/// A string of a segment of a sequence with gaps. Offsets are those of the window. What stands around it is looked at only
/// when the gap before it is known to be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    chain: u32,
    /// The segment's place in the sequence.
    index: u32,
    start: u32,
    end: u32,
    /// The segment, or [`WHOLE`]: all of it is at this place.
    segment: u32,
}

const WHOLE: u32 = u32::MAX;

/// Which gaps are open.
#[derive(Default)]
pub(crate) struct Open<'a> {
    /// A bit for each gap.
    pub live: &'a mut [u64],
    /// Two bytes for each that is bounded.
    pub ages: &'a mut [u8],
}

impl Open<'_> {
    /// How many bytes ago a gap began, if it is open; 0 if that does not matter.
    fn get(&self, number: u32, gap: &Gap) -> Option<i32> {
        let open = self.live[number as usize / 64] >> (number % 64) & 1 != 0;
        open.then(|| match gap.bounded {
            None => 0,
            Some(it) => {
                let at = 2 * it.number as usize;
                i32::from(u16::from_le_bytes([self.ages[at], self.ages[at + 1]]))
            }
        })
    }

    fn set(&mut self, number: u32, gap: &Gap, age: Option<i32>) {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        let age = age.filter(|&age| gap.allows(age));
        self.live[word] = self.live[word] & !bit | if age.is_some() { bit } else { 0 };
        if let (Some(age), Some(it)) = (age, gap.bounded) {
            let age = (age as u16).to_le_bytes();
            self.ages[2 * it.number as usize..][..2].copy_from_slice(&age);
        }
    }
}

/// Memory for windows, kept between calls.
#[derive(Debug, Default)]
pub(crate) struct Work {
    starts: Vec<usize>,
    events: Vec<Event>,
    /// Chains without events whose gaps may end in this window.
    idle: Vec<u32>,
    /// Chains without events that have an open gap before a segment that is swept for.
    swept: Vec<u32>,
    /// Where the segments begin and end that follow a gap.
    spans: Vec<(i32, i32)>,
    ends: [Vec<i32>; 2],
    /// Of each class of gaps: the last byte of the window that is not in it.
    breaks: Vec<Option<Option<usize>>>,
    /// Of each segment that is looked for backwards: the last new byte that opens or closes the gap behind it, and which.
    latest: Vec<Option<Option<Latest>>>,
    /// Where strings occur that automata run around.
    pub occurrences: Vec<Occurrence>,
    /// What was found, unordered.
    pub found: Vec<Found>,
    /// The ids of the matches with one end, for combinations.
    pub counted: Vec<u32>,
    /// Where candidates and matches are counted.
    pub tally: Tally,
}

impl Program {
    /// Scans for everything but the patterns of automata: of those that run around strings, for the strings.
    pub(crate) fn scan(
        &self,
        input: &mut Input<'_>,
        spent: Option<Spent<'_>>,
        open: Open<'_>,
        work: &mut Work,
    ) {
        work.events.clear();
        work.occurrences.clear();
        if input.base() == 0 && !self.starts.is_empty() {
            self.starts(input.window(), work);
        }
        // Nothing has begun, and nothing will.
        if self.anchored && work.events.is_empty() && open.live.iter().all(|live| *live == 0) {
            return;
        }
        if let Some(finder) = &self.finder {
            input.find(finder, (self.history, self.again), &mut |window, place, number, end| {
                self.hit((window, place), spent, number, end, work);
            });
        }
        if !self.gaps.is_empty() {
            self.gaps(input, spent, open, work);
        }
    }

    /// A string ends at `end` of a window that begins at `place` of the whole one.
    #[inline]
    fn hit(
        &self,
        (window, place): (Window<'_>, usize),
        spent: Option<Spent<'_>>,
        number: u32,
        end: usize,
        work: &mut Work,
    ) {
        let start = end - usize::from(self.lengths[number as usize]);
        let sieves = &self.sieves[number as usize];
        sieves.each(window.data, start, end, self.users(number), |user| {
            let Some(segment) = self.segments.get(user as usize) else {
                if end > window.fresh
                    && let Some((number, pattern)) = self.announced(user)
                    && spent.is_none_or(|spent| !spent.is(pattern))
                {
                    work.tally.candidate(pattern);
                    let (start, end) = ((place + start) as u32, (place + end) as u32);
                    work.occurrences.push(Occurrence { number, start, end });
                }
                return;
            };
            let chain = &self.chains[segment.chain as usize];
            if spent.is_none_or(|spent| !spent.is(chain.pattern)) {
                work.tally.candidate(chain.pattern);
                if chain.gap_count == 0 {
                    self.occurrence(window, segment, chain, start, end, work);
                } else {
                    let (start, end) = ((place + start) as u32, (place + end) as u32);
                    let (chain, index) = (segment.chain, segment.index);
                    work.events.push(Event { chain, index, start, end, segment: user });
                }
            }
        });
    }

    /// The string that announces a segment is at `start..end`.
    #[inline]
    fn occurrence(
        &self,
        window: Window<'_>,
        segment: &Segment,
        chain: &Chain,
        start: usize,
        end: usize,
        work: &mut Work,
    ) {
        let data = window.data;
        let found = &mut work.found;
        let mut leftmost = None;
        let back = |i: usize| start.checked_sub(i + 1).map(|at| data[at]);
        // Lengths ascend: the last start is the leftmost.
        segment.before.run(back, |length| {
            leftmost = Some(start - length);
            if chain.starts { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let Some(leftmost) = leftmost else { return };
        let ahead = |i: usize| data.get(end + i).copied();
        segment.after.run(ahead, |length| {
            let end = end + length;
            if chain.ends_at(window, end) {
                found.push(window.found(chain.pattern, leftmost, end));
                if chain.once {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
    }

    /// Where the segment of an event begins and ends.
    fn spans(
        &self,
        data: &[u8],
        event: &Event,
        starts: &mut Vec<usize>,
        spans: &mut Vec<(i32, i32)>,
    ) {
        let (start, end) = (event.start as usize, event.end as usize);
        let Some(segment) = self.segments.get(event.segment as usize) else {
            spans.push((start as i32, end as i32));
            return;
        };
        starts.clear();
        let back = |i: usize| start.checked_sub(i + 1).map(|at| data[at]);
        segment.before.run(back, |length| {
            starts.push(start - length);
            // Of the first segment, ends alone are asked for.
            if event.index == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if starts.is_empty() {
            return;
        }
        let ahead = |i: usize| data.get(end + i).copied();
        segment.after.run(ahead, |length| {
            let end = (end + length) as i32;
            spans.extend(starts.iter().map(|&start| (start as i32, end)));
            ControlFlow::Continue(())
        });
    }

    /// Segments at the start of the text.
    fn starts(&self, window: Window<'_>, work: &mut Work) {
        self.starts.each(window.data, |start| self.start(window, start, work));
    }

    fn start(&self, window: Window<'_>, start: &Start, work: &mut Work) {
        let number = start.chain;
        let chain = &self.chains[number as usize];
        let Work { events, found, .. } = work;
        start.whole.run(
            |i| window.data.get(i).copied(),
            |end| {
                if chain.gap_count > 0 {
                    let end = end as u32;
                    events.push(Event { chain: number, index: 0, start: 0, end, segment: WHOLE });
                } else if chain.ends_at(window, end) {
                    found.push(window.found(chain.pattern, 0, end));
                }
                ControlFlow::Continue(())
            },
        );
    }

    /// Joins the segments of sequences with gaps.
    fn gaps(
        &self,
        input: &mut Input<'_>,
        spent: Option<Spent<'_>>,
        mut open: Open<'_>,
        work: &mut Work,
    ) {
        work.events.sort_unstable();
        work.idle.clear();
        work.swept.clear();
        let is_spent = |chain: u32| {
            let pattern = self.chains[chain as usize].pattern;
            spent.is_some_and(|spent| spent.is(pattern))
        };
        for (word, live) in open.live.iter_mut().enumerate() {
            let mut bits = *live & self.watched[word];
            while bits != 0 {
                let number = word * 64 + bits.trailing_zeros() as usize;
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                let gap = &self.gaps[number];
                if is_spent(gap.chain) {
                    *live &= !bit;
                    continue;
                }
                let list = if gap.sweep.is_some() { &mut work.swept } else { &mut work.idle };
                if list.last() != Some(&gap.chain) {
                    list.push(gap.chain);
                }
            }
        }
        // Behind the last window nobody asks which gaps are open.
        if input.is_last() {
            work.idle.clear();
        } else if !self.behind.is_empty() {
            work.swept.extend(self.behind.iter().filter(|chain| !is_spent(**chain)));
            work.swept.sort_unstable();
            work.swept.dedup();
        }
        if work.events.is_empty() && work.idle.is_empty() && work.swept.is_empty() {
            return;
        }
        work.breaks.clear();
        work.breaks.resize(self.stretches.len(), None);
        work.latest.clear();
        if !self.behind.is_empty() {
            work.latest.resize(self.sweeps.len(), None);
        }
        let events = std::mem::take(&mut work.events);
        let (mut idle, mut swept) =
            (std::mem::take(&mut work.idle), std::mem::take(&mut work.swept));
        let has_events =
            |chain: &u32| events.binary_search_by_key(chain, |event| event.chain).is_ok();
        swept.retain(|chain| !has_events(chain));
        idle.retain(|chain| !has_events(chain) && swept.binary_search(chain).is_err());
        let whole = input.is_whole();
        for of_chain in events.chunk_by(|a, b| a.chain == b.chain) {
            let chain = &self.chains[of_chain[0].chain as usize];
            // Where nothing came before and nothing follows, each of the strings must be there.
            if whole && !chain.has_all(of_chain) {
                continue;
            }
            self.chain(input.window(), chain, of_chain, &mut open, work);
        }
        for &chain in &swept {
            let chain = &self.chains[chain as usize];
            if !self.only_begins(input.window(), chain, &mut open, work) {
                self.chain(input.window(), chain, &[], &mut open, work);
            }
        }
        for &chain in &idle {
            self.keep(input, &self.chains[chain as usize], &mut open, work);
        }
        (work.events, work.idle, work.swept) = (events, idle, swept);
    }

    /// One sequence with the strings of its segments in this window, ordered by segment and start.
    ///
    /// Segment g + 1 counts if it begins at or after an end e of segment g that counts, with nothing but bytes of the gap
    /// between, and not too many. Of all ends before a place, the latest decides. The gap's bit says this for all ends up to
    /// the place `delay` bytes before the window's new part, and for that place; a bounded gap's age how far before it the
    /// latest end was. Segments that begin before that place were judged in earlier windows.
    fn chain(
        &self,
        window: Window<'_>,
        chain: &Chain,
        mut events: &[Event],
        open: &mut Open<'_>,
        work: &mut Work,
    ) {
        let data = window.data;
        let Work { starts, spans, ends: [ends, next], latest, found, .. } = work;
        spans.clear();
        for event in take(&mut events, 0) {
            self.spans(data, event, starts, spans);
        }
        ends.clear();
        ends.extend(spans.iter().map(|span| span.1));
        for (index, number) in (chain.first_gap..chain.first_gap + chain.gap_count).enumerate() {
            let gap = &self.gaps[number as usize];
            let stretch = &self.stretches[usize::from(gap.class)];
            let from = window.fresh.saturating_sub(gap.delay as usize);
            let place = data.len().saturating_sub(gap.delay as usize);
            let of_segment = take(&mut events, index as u32 + 1);
            let was_open = open.get(number, gap);
            if let Some(sweep) = gap.behind {
                // The first gap: its segment has no events, and the next one has a string.
                let at_place = self.look_back(window, sweep, from, was_open.is_some());
                let mut back = at_place;
                spans.clear();
                for event in of_segment {
                    self.spans(data, event, starts, spans);
                }
                spans.sort_unstable();
                let reached = spans.iter().filter(|span| back.reaches(span.0 as usize));
                ends.extend(reached.map(|span| span.1));
                if !window.last {
                    let is_open =
                        at_place.reaches_last(window.fresh, place, &mut latest[sweep as usize]);
                    open.set(number, gap, is_open.then_some(0));
                }
                continue;
            }
            ends.extend(was_open.map(|age| from as i32 - age));
            next.clear();
            if ends.is_empty() {
                continue;
            }
            if window.last && gap.sweep.is_none() && of_segment.is_empty() {
                ends.clear();
                continue;
            }
            ends.sort_unstable();
            ends.dedup();
            let mut reached = Reached { ends, gap, stretch, data, outside: -1 };
            match gap.sweep {
                None if of_segment.is_empty() => {}
                None => {
                    spans.clear();
                    for event in of_segment.iter().filter(|it| it.start as i32 >= ends[0]) {
                        self.spans(data, event, starts, spans);
                    }
                    spans.sort_unstable();
                    let mut now = reached.next();
                    for &(start, end) in spans.iter() {
                        while now.is_some_and(|(_, last)| last < start) {
                            now = reached.next();
                        }
                        let Some((first, _)) = now else { break };
                        if first <= start {
                            next.push(end);
                        }
                    }
                }
                Some(sweep) => {
                    let sweep = &self.sweeps[sweep as usize];
                    let behind = match number + 1 < chain.first_gap + chain.gap_count {
                        true => Some(&self.gaps[number as usize + 1]),
                        false => None,
                    };
                    // Whether no later end adds anything to this one.
                    let suffices = |end: i32| match behind {
                        None => {
                            chain.once && chain.end == End::Anywhere && end as usize > window.fresh
                        }
                        Some(gap) => {
                            let stretch = &self.stretches[usize::from(gap.class)];
                            gap.bounded.is_none()
                                && stretch.first_outside(&data[end as usize..]).is_none()
                        }
                    };
                    let ranges =
                        reached.map(|(first, last)| (first.max(0) as usize, last as usize));
                    sweep.whole.sweep(data, ranges, &sweep.others, |end| {
                        next.push(end as i32);
                        // Ends ascend.
                        match suffices(end as i32) {
                            true => ControlFlow::Break(()),
                            false => ControlFlow::Continue(()),
                        }
                    });
                }
            }
            if !window.last {
                let latest = ends[..ends.partition_point(|&end| end <= place as i32)].last();
                let age = latest.and_then(|&end| {
                    let outside = stretch.last_outside(&data[end.max(0) as usize..place]);
                    outside.is_none().then_some(place as i32 - end)
                });
                open.set(number, gap, age);
            }
            std::mem::swap(ends, next);
        }
        ends.sort_unstable();
        ends.dedup();
        for &end in ends.iter() {
            if chain.ends_at(window, end as usize) {
                found.push(window.found(chain.pattern, 0, end as usize));
            }
        }
    }

    /// A sequence without a string in this step, whose first segment is looked for backwards: where no other gap is open, it is only asked
    /// whether that one is. Returns whether this is all.
    fn only_begins(
        &self,
        window: Window<'_>,
        chain: &Chain,
        open: &mut Open<'_>,
        work: &mut Work,
    ) -> bool {
        let first = &self.gaps[chain.first_gap as usize];
        let mut others = chain.first_gap + 1..chain.first_gap + chain.gap_count;
        let is_open = |number| open.get(number, &self.gaps[number as usize]).is_some();
        let (Some(sweep), false) = (first.behind, window.last || others.any(is_open)) else {
            return false;
        };
        let delay = first.delay as usize;
        let (from, place) =
            (window.fresh.saturating_sub(delay), window.data.len().saturating_sub(delay));
        let back = self.look_back(window, sweep, from, is_open(chain.first_gap));
        let is_open = back.reaches_last(window.fresh, place, &mut work.latest[sweep as usize]);
        open.set(chain.first_gap, first, is_open.then_some(0));
        true
    }

    /// What looks backwards for a sweep.
    fn look_back<'a>(
        &'a self,
        window: Window<'a>,
        sweep: u32,
        from: usize,
        open: bool,
    ) -> Behind<'a> {
        Behind { sweep: &self.sweeps[sweep as usize], data: window.data, from, open }
    }

    /// A sequence none of whose segments is in this step: its gaps stay open if no byte closes them.
    fn keep(&self, input: &Input<'_>, chain: &Chain, open: &mut Open<'_>, work: &mut Work) {
        let (kept, new) = (input.kept(), input.new_bytes());
        for number in chain.first_gap..chain.first_gap + chain.gap_count {
            let gap = &self.gaps[number as usize];
            let Some(age) = open.get(number, gap) else { continue };
            let stretch = &self.stretches[usize::from(gap.class)];
            // The place that the gap was judged for, and the next one.
            let from = kept.len().saturating_sub(gap.delay as usize);
            let to = (kept.len() + new.len()).saturating_sub(gap.delay as usize);
            let (before, behind) =
                (&kept[from..to.min(kept.len())], &new[..to.saturating_sub(kept.len())]);
            let last = *work.breaks[usize::from(gap.class)]
                .get_or_insert_with(|| stretch.last_outside(new));
            let closed = stretch.last_outside(before).is_some()
                || match last {
                    None => false,
                    Some(at) => at < behind.len() || stretch.last_outside(behind).is_some(),
                };
            open.set(number, gap, (!closed).then_some(age + (to - from) as i32));
        }
    }
}

/// The places that a gap reaches from the ends before it, which ascend: ranges, from an end to the last place. They ascend, and
/// may overlap.
struct Reached<'a> {
    ends: &'a [i32],
    gap: &'a Gap,
    stretch: &'a Stretch,
    data: &'a [u8],
    /// The first byte outside of the gap's class at the latest end or behind it.
    outside: i32,
}

impl Iterator for Reached<'_> {
    type Item = (i32, i32);

    fn next(&mut self) -> Option<(i32, i32)> {
        let (&end, mut rest) = self.ends.split_first()?;
        let from = end.max(0);
        if self.outside < from {
            let behind = &self.data[from as usize..];
            self.outside = from + self.stretch.first_outside(behind).unwrap_or(behind.len()) as i32;
        }
        let mut last = self.outside;
        match self.gap.bounded {
            Some(it) => last = last.min(end + i32::from(it.most)),
            // From later ends it reaches no farther.
            None => rest = &rest[rest.partition_point(|&other| other <= last)..],
        }
        self.ends = rest;
        Some((end, last))
    }
}

/// A byte at which it is decided whether a gap is open.
#[derive(Clone, Copy, Debug)]
struct Latest {
    at: usize,
    opens: bool,
}

/// Looks backwards for the segment before a gap.
#[derive(Clone, Copy)]
struct Behind<'a> {
    sweep: &'a Sweep,
    data: &'a [u8],
    /// Up to here it is known whether the gap is open at this place.
    from: usize,
    open: bool,
}

impl Behind<'_> {
    /// Whether the gap is open at `place`. Places ascend.
    fn reaches(&mut self, place: usize) -> bool {
        if place < self.from {
            return false;
        }
        if let Some(latest) = self.latest(place) {
            self.open = latest.opens;
        }
        self.from = place;
        self.open
    }

    /// Whether the gap is open at the last place that is asked for. `latest` is what [`Behind::latest`] finds among all new bytes, for all
    /// sequences with this segment and gap.
    fn reaches_last(
        mut self,
        fresh: usize,
        place: usize,
        latest: &mut Option<Option<Latest>>,
    ) -> bool {
        let among_new = || Behind { from: fresh, ..self }.latest(self.data.len());
        match *latest.get_or_insert_with(among_new) {
            None => self.reaches(place.min(fresh)),
            Some(latest) if latest.at < place => latest.opens,
            Some(_) => self.reaches(place),
        }
    }

    /// The last byte before `place` that decides whether the gap is open, of those from which it is not known.
    fn latest(&self, place: usize) -> Option<Latest> {
        let data = self.data;
        let mut upto = place;
        while let Some(at) = self.sweep.others.last_outside(&data[self.from..upto]) {
            upto = self.from + at;
            let (end, last) = (upto + 1, data[upto]);
            let mut opens = false;
            if self.sweep.first.contains(last) {
                let back = |i: usize| end.checked_sub(i + 1).map(|at| data[at]);
                self.sweep.whole.run(back, |_| {
                    opens = true;
                    ControlFlow::Break(())
                });
            }
            // A byte that closes the gap.
            if opens || self.sweep.gap.is_some_and(|gap| !gap.contains(last)) {
                return Some(Latest { at: upto, opens });
            }
        }
        None
    }
}

/// Takes the events of a segment from the front.
fn take<'a>(events: &mut &'a [Event], index: u32) -> &'a [Event] {
    let (now, later) = events.split_at(events.partition_point(|event| event.index <= index));
    *events = later;
    now
}

impl Chain {
    /// Whether the strings of all segments are among the events, one behind the other.
    fn has_all(&self, events: &[Event]) -> bool {
        let (mut count, mut from) = (0, 0);
        for of_segment in events.chunk_by(|a, b| a.index == b.index) {
            let behind = of_segment.iter().filter(|event| event.start >= from);
            let Some(end) = behind.map(|event| event.end).min() else { return false };
            (count, from) = (count + 1, end);
        }
        count == self.events
    }

    /// Whether a match that ends at `end` of the window's data is one to report now.
    fn ends_at(&self, window: Window<'_>, end: usize) -> bool {
        let rest = &window.data[end..];
        match self.end {
            End::Anywhere => end > window.fresh,
            End::Text => window.last && rest.is_empty(),
            End::TextOrNewline => window.last && (rest.is_empty() || rest == b"\n"),
            // With the byte behind it, which may be the first new one.
            End::Before { next, text_end } => match rest.first() {
                Some(&byte) => end >= window.fresh && next.contains(byte),
                None => window.last && text_end,
            },
        }
    }
}

impl Window<'_> {
    fn found(&self, pattern: u32, start: usize, end: usize) -> Found {
        let at = |place: usize| self.base.wrapping_add(place as u64);
        Found { end: at(end), pattern, start: at(start) }
    }
}
