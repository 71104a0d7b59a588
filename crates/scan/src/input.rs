//! What one step of a scan looks at: the bytes to scan now, and those before them that a match may begin in.

use std::ops::ControlFlow;

use crate::literal::Finder;

/// Pieces of a stream of fewer bytes than this, for each part of the finder, are copied behind their past first: to search the
/// bytes around their begin by themselves would take longer. Measured on Zen 4: pieces of 1,000 bytes take 1 to 6 % less time than with
/// 512 (AVX2: the same); for those of 1,460 a copy does not pay.
pub(crate) const SHORT: usize = 1024;

/// The bytes of a step, side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// The bytes seen before that are still needed, then the new ones.
    pub data: &'a [u8],
    /// Where the new ones begin.
    pub fresh: usize,
    /// The offset of `data[0]` in the text.
    pub base: u64,
    /// Nothing follows.
    pub last: bool,
}

/// The bytes of a step, which lie side by side only when somebody asks for that: most pieces of a stream have nothing in them
/// for which it takes more than the search for strings, and that looks at them where they are.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    text: Text<'a>,
    fresh: usize,
    base: u64,
    last: bool,
}

#[derive(Debug)]
enum Text<'a> {
    Whole(&'a [u8]),
    Apart {
        /// The past, then the first of the new bytes: not all of them yet.
        joined: &'a mut Vec<u8>,
        new: &'a [u8],
    },
}

impl<'a> Input<'a> {
    /// A part of a text that is there as a whole.
    pub(crate) fn whole(window: Window<'a>) -> Input<'a> {
        let Window { data, fresh, base, last } = window;
        Input { text: Text::Whole(data), fresh, base, last }
    }

    /// A piece of a stream, `offset` bytes behind its beginning, which is not the last one. `joined` is memory to use.
    pub(crate) fn piece(
        kept: &[u8],
        new: &'a [u8],
        offset: u64,
        joined: &'a mut Vec<u8>,
    ) -> Input<'a> {
        let (fresh, base) = (kept.len(), offset - kept.len() as u64);
        if kept.is_empty() {
            return Input { text: Text::Whole(new), fresh, base, last: false };
        }
        joined.clear();
        joined.extend_from_slice(kept);
        if new.len() < SHORT {
            joined.extend_from_slice(new);
            return Input { text: Text::Whole(joined), fresh, base, last: false };
        }
        Input { text: Text::Apart { joined, new }, fresh, base, last: false }
    }

    /// The offset of the first byte that is there.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// That of the first new one.
    pub(crate) fn offset(&self) -> u64 {
        self.base.wrapping_add(self.fresh as u64)
    }

    /// Whether nothing came before, and nothing follows.
    pub(crate) fn is_whole(&self) -> bool {
        self.base == 0 && self.fresh == 0 && self.last
    }

    /// The offset of the byte after the last one.
    pub(crate) fn end(&self) -> u64 {
        self.base.wrapping_add((self.fresh + self.new_bytes().len()) as u64)
    }

    pub(crate) fn is_last(&self) -> bool {
        self.last
    }

    /// The bytes seen before that are still needed.
    pub(crate) fn kept(&self) -> &[u8] {
        match &self.text {
            Text::Whole(data) => &data[..self.fresh],
            Text::Apart { joined, .. } => &joined[..self.fresh],
        }
    }

    /// The new bytes.
    pub(crate) fn new_bytes(&self) -> &'a [u8] {
        match self.text {
            Text::Whole(data) => &data[self.fresh..],
            Text::Apart { new, .. } => new,
        }
    }

    /// All bytes side by side.
    #[inline]
    pub(crate) fn window(&mut self) -> Window<'a> {
        let data = match self.text {
            Text::Whole(data) => data,
            Text::Apart { .. } => self.join(),
        };
        Window { data, fresh: self.fresh, base: self.base, last: self.last }
    }

    #[cold]
    fn join(&mut self) -> &'a [u8] {
        let data = match std::mem::replace(&mut self.text, Text::Whole(&[])) {
            Text::Whole(data) => data,
            Text::Apart { joined, new } => {
                let done = joined.len() - self.fresh;
                joined.extend_from_slice(&new[done..]);
                joined
            }
        };
        self.text = Text::Whole(data);
        data
    }

    /// Searches for strings that end among the new bytes, or the last `again` before them. `hit` gets each with a window in which
    /// all is that it may be a part of, which takes `history` bytes at most; with the place of this window in the whole one,
    /// and with the string's end in it.
    ///
    /// Of a piece that lies apart from its past, the first bytes are searched behind the past, and all of them where they
    /// are: for strings near the past, and the others.
    #[inline]
    pub(crate) fn find(
        &mut self,
        finder: &Finder,
        (history, again): (usize, usize),
        hit: &mut impl FnMut(Window<'_>, usize, u32, usize),
    ) {
        let (fresh, from) = (self.fresh, self.fresh.saturating_sub(again));
        let reach = finder.reach();
        // Further in, all that a string may be a part of is among the new bytes.
        let near = history.max(reach.before);
        let first_bytes = near + (history + 1).max(reach.behind);
        let (one, two);
        let searches: &[Search<'_>] = match &mut self.text {
            Text::Apart { joined, new } if new.len() >= first_bytes.max(SHORT * finder.parts()) => {
                joined.extend_from_slice(&new[..first_bytes]);
                let until = fresh + reach.before;
                let first = Window { data: joined, fresh, base: self.base, last: false };
                let hay = &joined[..until + reach.behind];
                let first = Search { hay, window: first, place: 0, from, until };
                let base = self.base.wrapping_add(fresh as u64);
                let window = Window { data: new, fresh: 0, base, last: false };
                let (place, from, until) = (fresh, reach.before, usize::MAX);
                two = [first, Search { hay: new, window, place, from, until }];
                &two
            }
            _ => {
                let window = self.window();
                one = [Search { hay: window.data, window, place: 0, from, until: usize::MAX }];
                &one
            }
        };
        for search in searches {
            let _ = finder.find(search.hay, search.from, &mut |number, end| {
                if end <= search.until {
                    match search.place > 0 && end <= near {
                        true => hit(searches[0].window, 0, number, search.place + end),
                        false => hit(search.window, search.place, number, end),
                    }
                }
                ControlFlow::Continue(())
            });
        }
    }
}

/// One of the searches for strings.
#[derive(Clone, Copy)]
struct Search<'a> {
    hay: &'a [u8],
    window: Window<'a>,
    /// Where the window begins in the whole one.
    place: usize,
    /// Strings count that end behind this place, up to that one.
    from: usize,
    until: usize,
}
