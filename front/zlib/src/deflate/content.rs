//! What kind of data it is: some of zlib's levels are best served by one kernel for text, another
//! for programs and tables of numbers, a third for what repeats itself all over.

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text, or nobody has asked.
    Text,
    /// Text and a tenth or more of zeros, but not little else: catalogues of messages, sparse tables.
    Sparse,
    /// Text, of a length at which all kernels are faster than zlib.
    Short,
    /// Text among other things, or in other scripts than ours.
    Mixed,
    /// Machine code, what is compressed already.
    Code,
    /// The same, or numbers, with many short matches at short distances: offsets, counters.
    Numbers,
    /// Repeats itself so much that it matters, at this level.
    Repeats,
}

/// So many places are looked at, evenly spread.
const PLACES: usize = 16;
/// So many bytes at each.
const PLACE: usize = 128;

fn places(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let places = data.chunks((data.len() / PLACES).max(PLACE)).take(PLACES);
    places.map(|place| &place[..place.len().min(PLACE)])
}

/// All but what repeats itself. By the share of bytes that are neither zeros nor text in ASCII:
/// text has less than a fifth, machine code about half. UTF-8 is text of some kind whatever it
/// says. A guess from 2 KB, in some hundred nanoseconds for text.
pub(crate) fn kind_of(data: &[u8]) -> Content {
    let is_other = |byte: u8| {
        let is_text = byte.wrapping_sub(32) < 96 || byte.wrapping_sub(9) < 5;
        u8::from(!is_text && byte != 0)
    };
    let (mut seen, mut others, mut zeros) = (0, 0, 0);
    for place in places(data) {
        seen += place.len();
        zeros += usize::from(place.iter().map(|&byte| u8::from(byte == 0)).sum::<u8>());
        // In bytes, since that is what a vector holds most of: there is room for a place's.
        others += usize::from(place.iter().map(|&byte| is_other(byte)).sum::<u8>());
    }
    match 100 * others {
        few if few < 20 * seen && (10 * seen..85 * seen).contains(&(100 * zeros)) => {
            Content::Sparse
        }
        few if few < 20 * seen => Content::Text,
        _ if is_utf8(data) => Content::Mixed,
        _ if has_numbers(data) => Content::Numbers,
        some if some < 45 * seen => Content::Mixed,
        _ => Content::Code,
    }
}

/// No zeros, and letters of more than a byte are whole.
fn is_utf8(data: &[u8]) -> bool {
    // A letter that a place cuts in front: what follows its first byte.
    let goes_on = |byte: &&u8| **byte & 0xc0 == 0x80;
    places(data).all(|place| {
        let cut = place.iter().take_while(goes_on).take(3).count();
        let whole = match std::str::from_utf8(&place[cut..]) {
            Ok(_) => true,
            // One that is cut at the end is none of its fault.
            Err(error) => error.error_len().is_none(),
        };
        whole && !place.contains(&0)
    })
}

/// Are many of the matches three bytes long, to the number before? zlib takes those, and nobody
/// does who looks for four bytes at once. A guess from 2 KB, in some microseconds.
fn has_numbers(data: &[u8]) -> bool {
    /// In bytes.
    const DISTANCES: [usize; 5] = [4, 8, 12, 16, 24];
    const FIRST: usize = 24;
    let (mut seen, mut found) = (0, 0);
    for place in places(data) {
        seen += place.len().saturating_sub(FIRST);
        let mut at = FIRST;
        while at + 3 < place.len() {
            let longest = DISTANCES.map(|distance| {
                let pairs = place[at..].iter().zip(&place[at - distance..]).take(8);
                pairs.take_while(|(a, b)| a == b).count()
            });
            let longest = longest.into_iter().max().unwrap_or(0);
            found += usize::from(longest == 3);
            at += if longest < 3 { 1 } else { longest };
        }
    }
    // One for 25 bytes; counters have six. Machine code has one for 50 at most.
    seen > 0 && 25 * found >= seen
}

/// Can this data, wherever one looks, be made about so many times smaller? A guess that takes 2 to
/// 14 us where the answer is no, three times as much where it is yes.
pub(crate) fn repeats(data: &[u8], ratio: usize) -> bool {
    let len = (data.len() / 4).min(PLACE_OF_MATCHES);
    let last = data.len() - len;
    [last / 2, last / 8, last].into_iter().all(|at| ratio_of(&data[at..at + len]) >= ratio)
}

/// What a match may reach over, as well as its place fits in 16 bits.
const PLACE_OF_MATCHES: usize = 32 << 10;

/// How many times smaller the last eighth of `data` becomes with all of it before, roughly: words
/// of eight bytes of every fourth place are remembered, matches made as long as they are, and
/// priced as they cost on average.
fn ratio_of(data: &[u8]) -> usize {
    const BITS: u32 = 12;
    /// In hundredths of a byte.
    const LITERAL: usize = 75;
    const MATCH: usize = 250;
    let word = |at: usize| {
        data.get(at..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let slot = |word: u64| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS)) as usize;
    let Some(end) = data.len().checked_sub(8) else { return 0 };
    let mut places = [0_u16; 1 << BITS];
    let start = data.len() / 8 * 7;
    for at in (4..start).step_by(4) {
        places[slot(word(at))] = at as u16;
    }
    // `done`: up to where matches cover it.
    let (mut at, mut done, mut cost) = (start, start, 1);
    while at < end {
        let here = word(at);
        let slot = slot(here);
        let there = usize::from(places[slot]);
        if at.is_multiple_of(4) {
            places[slot] = at as u16;
        }
        if there == 0 || word(there) != here {
            at += 1;
            continue;
        }
        let pairs = |(a, b): &(&u8, &u8)| a == b;
        let behind = data[..there].iter().rev().zip(data[done..at].iter().rev()).take_while(pairs);
        let ahead = data[there..].iter().zip(&data[at..]).take_while(pairs);
        cost += (at - done - behind.count()) * LITERAL + MATCH;
        at += ahead.count();
        done = at;
    }
    cost += data.len().saturating_sub(done) * LITERAL;
    100 * (data.len() - start) / cost
}

/// Watches how well a stream is compressed that was said to repeat itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct Meter {
    taken: usize,
    made: usize,
    faded: bool,
}

impl Meter {
    pub(crate) fn add(&mut self, taken: usize, made: usize) {
        const SPAN: usize = 256 << 10;
        self.taken += taken;
        self.made += made;
        if self.taken >= SPAN {
            self.faded = thick(self.taken, self.made);
            (self.taken, self.made) = (0, 0);
        }
    }

    /// It does so no more.
    pub(crate) fn has_faded(&self) -> bool {
        self.faded
    }
}

/// Whether so much input and output are a ratio at which nothing repeats itself all over.
pub(crate) fn thick(taken: usize, made: usize) -> bool {
    const RATIO: usize = 6;
    made * RATIO > taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_text() {
        let greek: String = (0..3000).map(|i| ['\u{3b1}', '\u{3c9}', ' '][i % 3]).collect();
        let chinese: String = (0..9000).map(|i| ['\u{4e2d}', '\u{6587}'][i % 2]).collect();
        let texts = [
            (greek.as_bytes(), Content::Mixed),
            (chinese.as_bytes(), Content::Mixed),
            (&[b'a'; 100], Content::Text),
            (&[0; 5000], Content::Text),
            (&[b'a', 0, b'b', 0].repeat(999), Content::Sparse),
        ];
        for (text, kind) in texts {
            for at in 0..4 {
                assert_eq!(kind_of(&text[at..]), kind);
                assert_eq!(kind_of(&text[..text.len().min(70 + at)]), kind);
            }
        }
        assert_eq!(kind_of(&[0xc3, 0x28, 0xc3, 0x28]), Content::Code);
    }

    #[test]
    fn all_places_count() {
        let noise: Vec<u8> =
            (0..1_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(kind_of(&noise), Content::Code);
        for part in 0..4 {
            let mut data = noise.clone();
            // Half of it, wherever that lies.
            data[part << 18..][..1 << 18].fill(b'a');
            data[((part + 2) % 4) << 18..][..1 << 18].fill(b'a');
            assert_eq!(kind_of(&data), Content::Mixed, "{part}");
            // A quarter.
            data[((part + 1) % 4) << 18..][..1 << 18].fill(b'a');
            assert_eq!(kind_of(&data), Content::Text, "{part}");
        }
    }

    #[test]
    fn numbers_are_told_by_their_matches() {
        let table = |number: fn(u64) -> u64, len: usize| -> Vec<u8> {
            (0..9000).flat_map(|i| number(i).to_le_bytes()[..len].to_vec()).collect()
        };
        let numbers = table(|i| 7 * i, 4);
        assert!(
            has_numbers(&numbers) && has_numbers(&numbers[1..]) && has_numbers(&numbers[..300])
        );
        // Two offsets each.
        assert!(has_numbers(&table(|i| (0x0054_3210 + 40 * i) << 32 | (0x00ab_cdef + 24 * i), 8)));
        // Noise, and numbers that make long matches.
        assert!(!has_numbers(&table(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15), 8)));
        assert!(!has_numbers(&table(|i| i, 8)) && !has_numbers(&[0; 9000]) && !has_numbers(&[]));
    }

    #[test]
    fn repetition_is_seen_wherever_it_is() {
        let mut state = 1_u32;
        let mut letters = |n: usize| -> Vec<u8> {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b'a' + (state >> 24) as u8 % 26
            };
            std::iter::repeat_with(next).take(n).collect()
        };
        let line = letters(80);
        let lines: Vec<u8> = (0..5000).flat_map(|_| [&line[..], &letters(2)].concat()).collect();
        let noise = letters(lines.len());
        for len in [16 << 10, 100_000, lines.len()] {
            assert!(repeats(&lines[..len], 11), "{len}: {}", ratio_of(&lines[..len.min(32 << 10)]));
            assert!(!repeats(&noise[..len], 2), "{len}");
        }
        // A part of it is not enough.
        assert!(!repeats(&[&lines[..], &noise, &lines].concat(), 7));
        assert!(!repeats(&[&noise[..], &lines, &lines].concat(), 7));
        assert!(!repeats(&[&lines[..], &lines, &noise].concat(), 7));
        // One line again and again, and less than a word.
        assert!(repeats(&line.repeat(1000), 100) && repeats(&[0; 1 << 20], 300));
        assert_eq!((ratio_of(&[]), ratio_of(&[0; 7])), (0, 0));
    }

    #[test]
    fn a_meter_notices_the_end() {
        let mut meter = Meter::default();
        for _ in 0..100 {
            meter.add(10_000, 500);
            assert!(!meter.has_faded());
        }
        for _ in 0..60 {
            meter.add(10_000, 3000);
        }
        assert!(meter.has_faded());
    }
}
