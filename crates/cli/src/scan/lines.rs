//! The lines around matches, in a text that arrives in pieces.

use std::collections::{BTreeSet, VecDeque};

use lookaside::Match;

/// The most bytes that are shown of a line on each side of a match.
const MOST: usize = 4096;

/// A match with its line, or the part of it that is shown.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown {
    /// The match.
    pub found: Match,
    /// Offset of the first byte of the line.
    pub start: u64,
    /// The line, without its end.
    pub line: Vec<u8>,
}

/// Collects lines. Of the matches of a pattern in a line, the first is shown.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The bytes before the next piece.
    tail: Vec<u8>,
    open: Option<Open>,
    shown: VecDeque<Shown>,
}

/// A line whose end has not come.
#[derive(Debug)]
struct Open {
    start: u64,
    line: Vec<u8>,
    /// How long it may become.
    most: usize,
    ids: BTreeSet<u32>,
    found: Vec<Match>,
}

impl Open {
    /// Takes bytes of the line up to its end. Whether that has come.
    fn extend(&mut self, bytes: &[u8]) -> bool {
        let room = self.most.saturating_sub(self.line.len());
        let bytes = &bytes[..bytes.len().min(room)];
        let end = bytes.iter().position(|&byte| byte == b'\n');
        self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        end.is_some() || self.line.len() >= self.most
    }
}

impl Lines {
    /// Takes a match in `piece`, which begins at the offset `base`. Matches come ordered by their ends.
    pub(crate) fn found(&mut self, found: Match, piece: &[u8], base: u64) {
        // The line is that of the last byte.
        let last = found.end.saturating_sub(1);
        if let Some(open) = &mut self.open {
            let end = open.start + open.line.len() as u64;
            // As far as the piece is known, the line ends behind the match.
            let until = (found.end.saturating_sub(base) as usize).min(piece.len());
            let from = (end.saturating_sub(base) as usize).min(until);
            let over = end >= base && open.extend(&piece[from..until]);
            if !over && last < open.start + open.most as u64 {
                if open.ids.insert(found.id) {
                    open.found.push(found);
                }
                return;
            }
            self.close();
        }
        let tail_base = base - self.tail.len() as u64;
        let at = (last.saturating_sub(tail_base) as usize).min(self.tail.len() + piece.len());
        let byte = |at: usize| match at.checked_sub(self.tail.len()) {
            Some(at) => piece[at],
            None => self.tail[at],
        };
        let from = at.saturating_sub(MOST);
        let start = (from..at).rev().find(|&at| byte(at) == b'\n').map_or(from, |at| at + 1);
        let line: Vec<u8> = (start..at).map(byte).collect();
        let most = line.len() + MOST;
        let ids = BTreeSet::from([found.id]);
        let start = tail_base + start as u64;
        self.open = Some(Open { start, line, most, ids, found: vec![found] });
    }

    /// All matches of the piece were taken.
    pub(crate) fn end_of_piece(&mut self, piece: &[u8], base: u64, last: bool) {
        if let Some(open) = &mut self.open {
            let end = open.start + open.line.len() as u64;
            let from = (end.saturating_sub(base) as usize).min(piece.len());
            if open.extend(&piece[from..]) || last {
                self.close();
            }
        }
        match piece.len().checked_sub(MOST) {
            Some(skip) => {
                self.tail.clear();
                self.tail.extend_from_slice(&piece[skip..]);
            }
            None => {
                self.tail.extend_from_slice(piece);
                let more = self.tail.len().saturating_sub(MOST);
                self.tail.drain(..more);
            }
        }
    }

    fn close(&mut self) {
        let Some(Open { start, line, found, .. }) = self.open.take() else { return };
        let shown = found.into_iter().map(|found| Shown { found, start, line: line.clone() });
        self.shown.extend(shown);
    }

    /// The next match whose line is there.
    pub(crate) fn next(&mut self) -> Option<Shown> {
        self.shown.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the matches that end at `ends` in a text cut into pieces of `size` bytes.
    fn lines(text: &[u8], ends: &[(u64, u32)], size: usize) -> Vec<(u64, u32, String)> {
        let (mut lines, mut all, mut base) = (Lines::default(), vec![], 0);
        let mut ends = ends.iter().copied().peekable();
        let pieces: Vec<&[u8]> = text.chunks(size).collect();
        for (n, piece) in pieces.iter().enumerate() {
            let until = base + piece.len() as u64;
            while let Some((end, id)) = ends.next_if(|(end, _)| *end <= until) {
                lines.found(Match { end, id, start: 0 }, piece, base);
            }
            lines.end_of_piece(piece, base, n + 1 == pieces.len());
            base = until;
            while let Some(Shown { found, start, line }) = lines.next() {
                let line = String::from_utf8_lossy(&line).into_owned();
                assert_eq!(text[start as usize..][..line.len()], *line.as_bytes());
                all.push((found.end, found.id, line));
            }
        }
        all
    }

    #[test]
    fn however_the_text_is_cut() {
        let text = b"one two\n\nthree four\nfive";
        let ends = [(3, 1), (3, 2), (7, 1), (8, 3), (9, 3), (12, 1), (18, 1), (18, 2), (24, 1)];
        let expected = [
            (3, 1, "one two"),
            (3, 2, "one two"),
            (8, 3, "one two"),
            (9, 3, ""),
            (12, 1, "three four"),
            (18, 2, "three four"),
            (24, 1, "five"),
        ]
        .map(|(end, id, line)| (end, id, line.to_owned()));
        for size in 1..=text.len() {
            assert_eq!(lines(text, &ends, size), expected, "{size}");
        }
    }

    #[test]
    fn of_a_huge_line_a_part() {
        let text = vec![b'x'; 50_000];
        for size in [100, 5_000, 50_000] {
            let shown = lines(&text, &[(20_000, 1), (20_001, 1), (40_000, 1)], size);
            let sizes: Vec<_> = shown.iter().map(|(end, _, line)| (*end, line.len())).collect();
            assert_eq!(sizes, [(20_000, 2 * MOST), (40_000, 2 * MOST)], "{size}");
        }
    }
}
