//! [`feed`]: messages of different lengths through the lanes of a vector.

use std::ptr;

use super::Message;

/// Compresses blocks of every lane, into its state.
pub(super) type Run<'a, const L: usize> = &'a dyn Fn(&[*mut u8; L], &Blocks<L>);

/// What a run compresses: of every lane as many blocks at one place, and then at another.
pub(super) struct Blocks<const L: usize> {
    data: [[*const u8; L]; 2],
    count: [usize; 2],
}

impl<const L: usize> Blocks<L> {
    /// How many of each lane.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.count[0] + self.count[1]
    }

    /// Where each lane's block number `block` is: so many blocks after these pointers.
    #[inline(always)]
    pub(super) fn at(&self, block: usize) -> (&[*const u8; L], usize) {
        match block.checked_sub(self.count[0]) {
            None => (&self.data[0], block),
            Some(block) => (&self.data[1], block),
        }
    }
}

/// Messages that are put in order at a time: there is no allocation here.
const GROUP: usize = 64;

/// Compresses messages `L` at a time for as long as at least `floor` lanes are busy, and returns
/// how many messages are left then. Their `parts` hold what remains; everyone else's are empty.
///
/// A lane whose message ends takes the next one, the longest first: what starts last then ends soon
/// after the others. Lanes without a message run on the blocks of another lane, for nothing.
///
/// `run` may read the blocks and write the states that it is handed.
pub(super) fn feed<W: Copy + Default, const N: usize, const L: usize>(
    messages: &mut [Message<'_, [W; N]>],
    block: usize,
    floor: usize,
    run: Run<'_, L>,
) -> usize {
    let done = alike(messages, block, floor.max(1), run);
    let messages = &mut messages[done..];
    if messages.len() < floor {
        return messages.len();
    }
    let mut queue = Queue::new(L > 1 && messages.len() > L);
    let mut unused = [W::default(); N];
    // Lanes 0 to `busy` work.
    let mut states = [ptr::from_mut(&mut unused).cast::<u8>(); L];
    let mut source = Blocks { data: [[ptr::null(); L]; 2], count: [0; 2] };
    let mut lanes = [Lane { message: 0, part: 0, left: 0 }; L];
    let mut busy = 0;
    while busy < L {
        let Some(message) = queue.next(messages, block) else { break };
        start(
            message,
            messages,
            block,
            &mut states[busy],
            &mut source.data[0][busy],
            &mut lanes[busy],
        );
        busy += 1;
    }
    while busy >= floor.max(1) {
        let blocks = lanes[..busy].iter().map(|lane| lane.left).min().unwrap_or(0);
        for lane in busy..L {
            source.data[0][lane] = source.data[0][0];
        }
        source.count[0] = blocks;
        run(&states, &source);
        for at in (0..busy).rev() {
            let lane = &mut lanes[at];
            source.data[0][at] = source.data[0][at].wrapping_add(blocks * block);
            lane.left -= blocks;
            if lane.left > 0 {
                continue;
            }
            let parts = &mut messages[lane.message].parts;
            if lane.part == 0 && parts[1].len() >= block {
                *lane = Lane { part: 1, left: parts[1].len() / block, ..*lane };
                source.data[0][at] = parts[1].as_ptr();
                continue;
            }
            *parts = [&[]; 2];
            if let Some(message) = queue.next(messages, block) {
                start(message, messages, block, &mut states[at], &mut source.data[0][at], lane);
                continue;
            }
            busy -= 1;
            lanes[at] = lanes[busy];
            source.data[0][at] = source.data[0][busy];
            states[at] = states[busy];
            states[busy] = ptr::from_mut(&mut unused).cast();
        }
    }
    for lane in &lanes[..busy] {
        let parts = &mut messages[lane.message].parts;
        let whole = parts[lane.part].len() / block * block;
        parts[lane.part] = &parts[lane.part][whole - lane.left * block..whole];
        if lane.part == 1 {
            parts[0] = &[];
        }
    }
    busy
}

/// Compresses messages from the first on, `L` at a time or what is left but at least `floor`, while
/// those of a run are alike: equally many blocks in each part. Returns how many are done. That is
/// the most frequent case, and both parts take one run.
fn alike<W: Copy + Default, const N: usize, const L: usize>(
    messages: &mut [Message<'_, [W; N]>],
    block: usize,
    floor: usize,
    run: Run<'_, L>,
) -> usize {
    let blocks = |message: &Message<'_, [W; N]>| message.parts.map(|part| part.len() / block);
    let mut unused = [W::default(); N];
    let mut done = 0;
    loop {
        while messages.get(done).is_some_and(|message| blocks(message) == [0; 2]) {
            messages[done].parts = [&[]; 2];
            done += 1;
        }
        let lanes = L.min(messages.len() - done);
        let group = &mut messages[done..][..lanes];
        if lanes < floor || group.iter().any(|message| blocks(message) != blocks(&group[0])) {
            return done;
        }
        let count = blocks(&group[0]);
        let first = group[0].parts.map(<[u8]>::as_ptr);
        let mut states = [ptr::from_mut(&mut unused).cast::<u8>(); L];
        let mut data = first.map(|first| [first; L]);
        for (lane, message) in group.iter_mut().enumerate() {
            debug_assert!(
                message.parts.iter().all(|part| part.len().is_multiple_of(block)),
                "whole blocks"
            );
            states[lane] = ptr::from_mut(&mut *message.state).cast();
            (data[0][lane], data[1][lane]) = (message.parts[0].as_ptr(), message.parts[1].as_ptr());
            message.parts = [&[]; 2];
        }
        run(&states, &Blocks { data, count });
        done += lanes;
    }
}

/// What a lane works on.
#[derive(Clone, Copy)]
struct Lane {
    message: usize,
    part: usize,
    /// Blocks left in this part, at least one.
    left: usize,
}

/// Gives a message, which has a block, to a lane.
fn start<W, const N: usize>(
    message: usize,
    messages: &mut [Message<'_, [W; N]>],
    block: usize,
    state: &mut *mut u8,
    data: &mut *const u8,
    lane: &mut Lane,
) {
    let Message { state: own, parts } = &mut messages[message];
    let part = usize::from(parts[0].len() < block);
    *state = ptr::from_mut(&mut **own).cast();
    *data = parts[part].as_ptr();
    *lane = Lane { message, part, left: parts[part].len() / block };
}

/// The messages that wait for a lane.
struct Queue {
    /// Of the messages of a group that have blocks: how many, above the lowest byte, and which
    /// message of the group.
    group: [u64; GROUP],
    at: usize,
    len: usize,
    /// The first message of the group, and of the next.
    first: usize,
    end: usize,
    sorted: bool,
}

impl Queue {
    fn new(sorted: bool) -> Queue {
        Queue { group: [0; GROUP], at: 0, len: 0, first: 0, end: 0, sorted }
    }

    fn next<S>(&mut self, messages: &[Message<'_, S>], block: usize) -> Option<usize> {
        while self.at == self.len {
            if self.end == messages.len() {
                return None;
            }
            self.load(messages, block);
        }
        self.at += 1;
        Some(self.first + (self.group[self.at - 1] & 0xff) as usize)
    }

    #[cold]
    fn load<S>(&mut self, messages: &[Message<'_, S>], block: usize) {
        self.first = self.end;
        self.end = messages.len().min(self.first + GROUP);
        (self.at, self.len) = (0, 0);
        for (i, message) in messages[self.first..self.end].iter().enumerate() {
            let parts = message.parts.map(<[u8]>::len);
            debug_assert!(
                parts.iter().all(|len| len.is_multiple_of(block)),
                "whole blocks: {parts:?}"
            );
            let blocks = parts[0] / block + parts[1] / block;
            if blocks > 0 {
                self.group[self.len] = (blocks as u64) << 8 | i as u64;
                self.len += 1;
            }
        }
        let group = &mut self.group[..self.len];
        if self.sorted && group.iter().any(|entry| entry >> 8 != group[0] >> 8) {
            group.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}
