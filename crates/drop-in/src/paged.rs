//! Counters that are in the page of a process alone.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use lookaside::fork_generation;
use lookaside_page::{Bank, Forever, Page, Shape};

/// The variable has not been read yet.
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Counters of a library that has reports of its own: a static value of it.
pub struct Paged {
    library: &'static str,
    columns: [&'static str; 3],
    rows: fn() -> Vec<&'static str>,
    state: AtomicU8,
    place: Place,
}

impl Paged {
    /// Counters of a library that pages call `library`. `columns` says what the three counts of a row are, `rows` names them.
    pub const fn new(
        library: &'static str,
        columns: [&'static str; 3],
        rows: fn() -> Vec<&'static str>,
    ) -> Paged {
        Paged { library, columns, rows, state: AtomicU8::new(UNKNOWN), place: Place::new() }
    }

    /// Adds to the counts of the row with this index, where there is a page. Without one, this costs a load.
    #[inline]
    pub fn count(&self, row: usize, counts: [u64; 3]) {
        if self.state.load(Relaxed) != OFF {
            self.add(row, counts);
        }
    }

    #[inline(never)]
    fn add(&self, row: usize, counts: [u64; 3]) {
        if self.state.load(Relaxed) == UNKNOWN {
            let on = Page::of_process(fork_generation()).is_some();
            self.state.store(if on { ON } else { OFF }, Relaxed);
            if !on {
                return;
            }
        }
        let shape = || Shape::calls(self.library, self.columns, (self.rows)());
        self.place.here(shape, || ()).add(row, counts);
    }
}

/// Where a process counts; that of a parent process is another one's.
pub(crate) struct Place(Forever<Counts>);

/// Three words for each row.
pub(crate) struct Counts {
    generation: u32,
    words: Bank,
}

impl Place {
    pub(crate) const fn new() -> Place {
        Place(Forever::new())
    }

    /// The counts of this process: in its page, if it has one. In a child of a fork they begin at zero, and `reset` is called.
    pub(crate) fn here(&self, shape: impl Fn() -> Shape, reset: impl Fn()) -> &'static Counts {
        let generation = fork_generation();
        loop {
            let known = self.0.get();
            if let Some(counts) = known.filter(|counts| counts.generation == generation) {
                return counts;
            }
            let shape = shape();
            let page = Page::of_process(generation);
            let words = page.and_then(|page| page.bank(&shape));
            let words = words.unwrap_or_else(|| Bank::owned(&shape));
            if self.0.set(known, Box::new(Counts { generation, words })).is_ok() && known.is_some()
            {
                reset();
            }
        }
    }
}

impl Counts {
    pub(crate) fn add(&self, row: usize, counts: [u64; 3]) {
        for (count, more) in self.words[3 * row..][..3].iter().zip(counts) {
            if more != 0 {
                count.fetch_add(more, Relaxed);
            }
        }
    }

    /// The counts of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = [u64; 3]> {
        self.words.chunks_exact(3).map(|row| [0, 1, 2].map(|n: usize| row[n].load(Relaxed)))
    }
}
