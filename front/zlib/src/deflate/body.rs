//! The blocks: who compresses which input.

use std::ffi::{c_int, c_ulong};

use libz_rs_sys::{Z_MEM_ERROR, Z_STREAM_END, Z_UNKNOWN, z_stream};
use lookaside_compress::{Compression, Flush, Scratch, Status as StepStatus, adler32, crc32};

use super::{
    content::{Content, Meter, thick},
    frame,
    inner::{self, Inner},
    input::HELD,
    levels, outbox,
    state::{Body, FAILED, State, Status, Wrap, dst, gave, skip, src},
    tiny,
};
use crate::{
    pool::Pool,
    settings::{SMALLEST_THRESHOLD, settings},
    stats::Path,
};

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Nothing,
    Partial,
    Sync,
    Full,
    Finish,
    Block,
    /// All input so far is to be compressed with the parameters as they are: `deflateParams`.
    Settle,
}

/// How far the body came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The input is taken, and what was asked for has left the body.
    Done,
    /// There is no room.
    Blocked,
}

/// igzip is fed so much at a time, which the first levels of cache hold with its tables.
const FEED: usize = 64 << 10;

/// zlib-rs gets so much at a time of what repeats itself: then it is seen whether it still does.
const PART: usize = 512 << 10;

/// Input that is better copied to what waits than compressed where it lies.
const SMALL: usize = 16 << 10;

/// An empty stored block: what a flush ends with.
pub(crate) const MARKER: [u8; 5] = [0, 0, 0, 0xff, 0xff];

/// Whether blocks end as with [`MARKER`]: then a flush needs none behind them, and `inflateSync`,
/// which looks for those four bytes, finds one such place where one flush was asked for.
pub(crate) fn is_marked(blocks: &[u8]) -> bool {
    blocks.ends_with(&MARKER[1..])
}

/// An empty block with fixed codes, the last one.
pub(crate) const LAST: [u8; 2] = [3, 0];

/// Kernels' memory, and for what it has been used: a bit for each level, whole and in pieces.
#[derive(Default)]
struct Kept {
    scratch: Scratch,
    used: u64,
}

static SCRATCH: Pool<Kept> = Pool::new();

/// What the bit of decompression is.
const INFLATES: u32 = 63;

/// Runs with kernels' memory, which is kept. `None` if there is no memory for what `bit` stands
/// for: kernels that are used for the first time do not ask.
fn with_scratch<T>(bit: u32, run: impl FnOnce(&mut Scratch) -> T) -> Option<T> {
    /// More than any kernel takes.
    const MOST: usize = 1 << 20;
    let mut kept = match SCRATCH.take() {
        Some(kept) if kept.used >> bit & 1 == 1 => kept,
        kept => {
            // To be had now, it will be had again; or another thread was faster, and there is as
            // good as none.
            let mut memory = Vec::<u8>::new();
            let there = memory.try_reserve_exact(MOST).is_ok();
            // It is not used, and must not be left out for that.
            std::hint::black_box(&memory);
            drop(memory);
            if !there {
                kept.into_iter().for_each(|kept| SCRATCH.put(kept));
                return None;
            }
            kept.unwrap_or_default()
        }
    };
    let result = run(&mut kept.scratch);
    kept.used |= 1 << bit;
    SCRATCH.put(kept);
    Some(result)
}

/// Runs with memory for decompression. `None` if there is none.
pub(crate) fn with_inflate<T>(run: impl FnOnce(&mut Scratch) -> T) -> Option<T> {
    with_scratch(INFLATES, run)
}

/// A whole raw stream or a piece of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Piece,
}

/// Compresses to `dst`, at least [`room`] bytes.
pub(crate) fn compress(
    part: Part,
    spec: &Compression,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, c_int> {
    let codec = levels::codec(spec).ok_or(FAILED)?;
    let bit = 2 * u32::from(spec.level) + u32::from(part == Part::Piece);
    let done = with_scratch(bit, |scratch| match part {
        Part::Whole => codec.compress(scratch, src, dst),
        Part::Piece => codec.compress_piece(scratch, src, dst),
    });
    done.ok_or(Z_MEM_ERROR)?.map(|done| done.produced).map_err(|_| FAILED)
}

/// Room that is enough, and that kernels need not be careful in.
pub(crate) fn room(part: Part, len: usize) -> usize {
    let bound = lookaside_compress::compress_bound(lookaside_compress::Format::Raw, len);
    match part {
        Part::Whole => bound,
        Part::Piece => bound + 1024,
    }
}

impl State {
    /// Takes input, makes output, as far as there is room.
    pub(crate) fn advance(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Reach, c_int> {
        loop {
            if !self.outbox.is_empty() && !self.drain(strm) {
                return Ok(Reach::Blocked);
            }
            if self.ended {
                return Ok(Reach::Done);
            }
            let reach = match self.body {
                Body::Deferred => self.deferred(strm, ask)?,
                Body::Igzip(..) => self.igzip_step(strm, ask)?,
                Body::ZlibRs(..) => self.zlib_rs_step(strm, ask)?,
            };
            if let Some(reach) = reach {
                return Ok(reach);
            }
        }
    }

    /// Hands out what waits. Returns whether that is all gone.
    pub(crate) fn drain(&mut self, strm: &mut z_stream) -> bool {
        let count = self.outbox.drain(dst(strm));
        gave(strm, count);
        self.outbox.is_empty()
    }

    /// Counts input into the checksum, and takes it off the caller's.
    pub(crate) fn took(&mut self, strm: &mut z_stream, count: usize) {
        let taken = &src(strm)[..count];
        match self.wrap {
            Wrap::Raw => {}
            Wrap::Zlib => strm.adler = adler32(strm.adler as u32, taken).into(),
            Wrap::Gzip => strm.adler = crc32(strm.adler as u32, taken).into(),
        }
        skip(strm, count);
    }

    /// Guesses at the kind of data, once.
    pub(crate) fn guess(&self, strm: &mut z_stream, data: &[u8]) {
        if strm.data_type == Z_UNKNOWN && self.level != 0 {
            strm.data_type = frame::kind_of(data);
        }
    }

    /// Moves input of the caller to what waits, as much as fits.
    pub(crate) fn absorb(&mut self, strm: &mut z_stream) {
        let count = self.input.append(src(strm));
        self.took(strm, count);
    }

    /// Why only zlib-rs can serve what comes, if so.
    fn only_zlib_rs(&self, ask: Ask) -> Option<Path> {
        match ask {
            // Whatever else was said, the blocks are stored.
            _ if self.level == 0 => None,
            Ask::Partial | Ask::Block => Some(Path::CompressFlush),
            // Z_FILTERED and the default differ little; the others are something else.
            _ if self.strategy > 1 => Some(Path::CompressStrategy),
            _ if self.tuning.is_some() => Some(Path::CompressBits),
            _ => None,
        }
    }

    /// Whether input of this length goes to the device.
    pub(crate) fn is_large(&self, len: usize) -> bool {
        len >= SMALLEST_THRESHOLD && len >= settings().threshold && self.level > 0
    }

    fn deferred(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Option<Reach>, c_int> {
        if self.level > 0 && self.outbox.bit_count() > 0 {
            self.align();
            return Ok((!self.drain(strm)).then_some(Reach::Blocked));
        }
        let waiting = self.input.waiting().len();
        let fresh = strm.avail_in as usize;
        if let Some(why) = self.only_zlib_rs(ask) {
            return self.start_zlib_rs(why);
        }
        if ask == Ask::Nothing && waiting + fresh <= self.input.most() {
            self.absorb(strm);
            return Ok(Some(Reach::Done));
        }
        if self.level == 0 {
            return self.stored(strm, ask).map(Some);
        }
        if self.is_large(fresh) {
            return self.large(strm, ask);
        }
        let nothing_yet = waiting == 0 && !self.refers && self.input.history().is_empty();
        if ask == Ask::Nothing && nothing_yet && fresh <= HELD {
            let data = src(strm);
            if !self.input.hold(data) {
                return Err(Z_MEM_ERROR);
            }
            self.took(strm, fresh);
            return Ok(Some(Reach::Done));
        }
        let piecewise = !self.refers && fresh < SMALLEST_THRESHOLD.max(settings_threshold(fresh));
        match ask {
            Ask::Finish if piecewise => self.whole(strm),
            Ask::Sync | Ask::Full if waiting + fresh == 0 => {
                self.mark();
                if ask == Ask::Full {
                    self.forget();
                }
                self.drain(strm);
                Ok(Some(Reach::Done))
            }
            Ask::Settle if waiting + fresh == 0 => Ok(Some(Reach::Done)),
            Ask::Nothing if piecewise => {
                while self.input.waiting().len() + strm.avail_in as usize > self.input.most() {
                    let data = if waiting > 0 { self.input.waiting() } else { src(strm) };
                    let content = self.content(data);
                    if levels::streams(self.level, self.window_bits, content) {
                        return self.start_stream();
                    }
                    if let Some(level) = levels::as_one(self.level, content, data.len()) {
                        return self.start_one(level);
                    }
                    self.absorb(strm);
                    let count = self.input.waiting().len();
                    let produced = self.piece(strm, content)?;
                    self.input.wait_for_more(4 * produced < count);
                    if !self.drain(strm) {
                        return Ok(Some(Reach::Blocked));
                    }
                }
                self.absorb(strm);
                Ok(Some(Reach::Done))
            }
            Ask::Full | Ask::Settle if piecewise => {
                while self.holds_input() || strm.avail_in > 0 {
                    self.absorb(strm);
                    self.piece_of_any(strm)?;
                    if !self.drain(strm) && strm.avail_in > 0 {
                        return Ok(Some(Reach::Blocked));
                    }
                }
                if ask == Ask::Full {
                    if self.is_full(strm) {
                        return Ok(Some(Reach::Blocked));
                    }
                    self.mark();
                    self.forget();
                }
                self.drain(strm);
                Ok(Some(Reach::Done))
            }
            _ => self.start_stream(),
        }
    }

    /// Has the output go on at a byte, if it ended within one.
    pub(crate) fn align(&mut self) {
        if self.outbox.bit_count() > 0 {
            self.outbox.put_empty_stored(false);
        }
    }

    /// Whether the caller's room is full: then a flush ends in the next call, as stock's, since that
    /// call asks for a flush once more.
    pub(crate) fn is_full(&mut self, strm: &mut z_stream) -> bool {
        !self.drain(strm) || strm.avail_out == 0
    }

    /// The end of a flush, unless a piece was the last thing written and ends as a flush does.
    pub(crate) fn mark(&mut self) {
        if !std::mem::take(&mut self.marked) {
            self.outbox.put(&MARKER);
        }
    }

    /// After a full flush, nothing refers to what came before.
    pub(crate) fn forget(&mut self) {
        self.input.forget();
        self.refers = false;
    }

    /// Has the kernel for streams take over.
    fn start_stream(&mut self) -> Result<Option<Reach>, c_int> {
        if self.window_bits == 15
            && let Some(stream) = State::igzip(self.level, self.input.history())
        {
            self.body = Body::Igzip(stream, self.level);
            self.serve(Path::CompressStream);
            return Ok(None);
        }
        let why = match levels::stream(self.level) {
            Some(_) => Path::CompressWindow,
            None => Path::CompressLevel,
        };
        self.start_zlib_rs(why)
    }

    pub(crate) fn start_zlib_rs(&mut self, why: Path) -> Result<Option<Reach>, c_int> {
        self.start_zlib_rs_at(why, levels::zlib_rs(self.level))
    }

    /// Has zlib-rs take over what repeats itself, as long as it does.
    pub(crate) fn start_one(&mut self, level: u8) -> Result<Option<Reach>, c_int> {
        self.meter = Some(Meter::default());
        self.start_zlib_rs_at(Path::CompressLevel, level)
    }

    fn start_zlib_rs_at(&mut self, why: Path, level: u8) -> Result<Option<Reach>, c_int> {
        let shape = inner::Shape {
            level,
            window_bits: self.window_bits,
            mem_level: self.mem_level,
            strategy: self.strategy,
        };
        let mut inner = Inner::new(shape).ok_or(Z_MEM_ERROR)?;
        if let Some(tuning) = self.tuning {
            inner.tune(tuning);
        }
        let history = self.input.history();
        if !history.is_empty() && inner.set_dictionary(history) != libz_rs_sys::Z_OK {
            return Err(FAILED);
        }
        if self.input.waiting().is_empty() {
            self.input.give_up();
        }
        self.sticky = !matches!(why, Path::CompressLevel | Path::CompressWindow);
        self.serve(why);
        self.body = Body::ZlibRs(inner);
        Ok(None)
    }

    /// Who compresses from here on.
    fn serve(&mut self, path: Path) {
        self.count();
        self.path = Some(path);
    }

    /// Notes what a kernel has done.
    pub(crate) fn note(&mut self, taken: usize, made: usize) {
        self.tally.0 += taken;
        self.tally.1 += made;
    }

    /// What kind of data this is.
    pub(crate) fn content(&self, data: &[u8]) -> Content {
        levels::content(self.level, self.window_bits, data, self.may_repeat)
    }

    /// All that waits and all input, as the end of the stream. `None`: that is for another body.
    pub(crate) fn whole(&mut self, strm: &mut z_stream) -> Result<Option<Reach>, c_int> {
        if !self.input.waiting().is_empty() {
            self.absorb(strm);
            if strm.avail_in > 0 {
                self.piece_of_any(strm)?;
            }
        }
        let waits = !self.input.waiting().is_empty();
        let data = if waits { self.input.waiting() } else { src(strm) };
        let content = match data.len() {
            0..=tiny::MOST => Content::Text,
            _ => self.content(data),
        };
        if let Some(level) = levels::as_one(self.level, content, data.len()) {
            return self.start_one(level);
        }
        let spec = levels::whole(self.level, self.window_bits, content);
        self.serve(Path::CompressWhole);
        if waits {
            let input = std::mem::take(&mut self.input);
            let waiting = input.waiting();
            self.guess(strm, waiting);
            let result = self.emit(strm, Part::Whole, &spec, waiting);
            let count = waiting.len();
            self.input = input;
            result?;
            self.input.compressed(count);
        } else {
            let data = src(strm);
            self.guess(strm, data);
            self.emit(strm, Part::Whole, &spec, data)?;
            self.took(strm, data.len());
            self.input.passed(data);
        }
        self.status = Status::Finish;
        self.ended = true;
        self.refers = false;
        self.drain(strm);
        Ok(Some(Reach::Done))
    }

    /// All that waits, as a piece in the outbox. Returns how much came of it.
    pub(crate) fn piece(&mut self, strm: &mut z_stream, content: Content) -> Result<usize, c_int> {
        let input = std::mem::take(&mut self.input);
        let waiting = input.waiting();
        self.guess(strm, waiting);
        self.serve(Path::CompressPiece);
        let spec = levels::whole(self.level, self.window_bits, content);
        let result = self.emit(strm, Part::Piece, &spec, waiting);
        let count = waiting.len();
        self.input = input;
        let produced = result?;
        self.input.compressed(count);
        self.may_repeat = !thick(count, produced);
        Ok(produced)
    }

    /// The same, whatever it is.
    pub(crate) fn piece_of_any(&mut self, strm: &mut z_stream) -> Result<(), c_int> {
        let content = self.content(self.input.waiting());
        self.piece(strm, content).map(|_| ())
    }

    /// Compresses straight to the caller where there is room for whatever comes, else to the
    /// outbox. Returns how much came of it.
    fn emit(
        &mut self,
        strm: &mut z_stream,
        part: Part,
        spec: &Compression,
        data: &[u8],
    ) -> Result<usize, c_int> {
        if part == Part::Whole && self.level > 0 && data.len() <= tiny::MOST {
            let mut block = [0; tiny::ROOM];
            if let Some(len) = tiny::whole(data, &mut block) {
                self.outbox.put(&block[..len]);
                self.note(data.len(), len);
                return Ok(len);
            }
        }
        let room = room(part, data.len());
        if self.outbox.is_empty() && strm.avail_out as usize >= room {
            let out = &mut dst(strm)[..room];
            let produced = compress(part, spec, data, out)?;
            self.marked = is_marked(&out[..produced]);
            self.note(data.len(), produced);
            gave(strm, produced);
            return Ok(produced);
        }
        let mut memory = outbox::memory(room).ok_or(Z_MEM_ERROR)?;
        let produced = compress(part, spec, data, &mut memory)?;
        self.marked = is_marked(&memory[..produced]);
        self.note(data.len(), produced);
        self.outbox.push(memory, produced);
        Ok(produced)
    }

    fn igzip_step(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Option<Reach>, c_int> {
        let fresh = strm.avail_in as usize;
        let Body::Igzip(_, level) = &self.body else { return Err(FAILED) };
        let leaves = *level != self.level
            || matches!(ask, Ask::Partial | Ask::Block)
            || (ask == Ask::Nothing && self.becomes_other(strm));
        if leaves || self.strategy > 1 || self.tuning.is_some() || self.is_large(fresh) {
            // Everything so far first: the others go on at a byte, with this history.
            if !self.igzip_run(strm, Flush::Sync, false)? {
                return Ok(Some(Reach::Blocked));
            }
            self.settle_body();
            return Ok(None);
        }
        if self.input.waiting().len() + fresh <= FEED && fresh <= SMALL {
            self.absorb(strm);
            if ask == Ask::Nothing {
                return Ok(Some(Reach::Done));
            }
        }
        let flush = match ask {
            Ask::Nothing => Flush::None,
            Ask::Full => Flush::Full,
            Ask::Finish => Flush::Finish,
            _ => Flush::Sync,
        };
        let done = self.igzip_run(strm, flush, true)?;
        Ok(Some(if done { Reach::Done } else { Reach::Blocked }))
    }

    /// Looks now and then whether a stream has come to data that igzip's streams are not for.
    fn becomes_other(&mut self, strm: &z_stream) -> bool {
        /// Less tells nothing.
        const LOOK: usize = 4 << 10;
        const SPAN: c_ulong = 128 << 10;
        let data = src(strm);
        if data.len() < LOOK || strm.total_in < self.look_at {
            return false;
        }
        self.look_at = strm.total_in + SPAN;
        let content = self.content(data);
        !matches!(content, Content::Text | Content::Short)
            && !levels::streams(self.level, self.window_bits, content)
    }

    /// Feeds what waits (and with `fresh` the caller's input too), then flushes. Returns whether
    /// all of that is done.
    fn igzip_run(&mut self, strm: &mut z_stream, flush: Flush, fresh: bool) -> Result<bool, c_int> {
        loop {
            let direct = fresh && strm.avail_in > 0;
            let waits = !self.input.waiting().is_empty();
            let now = if waits && direct { Flush::None } else { flush };
            let data = if waits || !fresh { self.input.waiting() } else { src(strm) };
            self.guess_first(strm, data, now);
            let Body::Igzip(stream, _) = &mut self.body else { return Err(FAILED) };
            let done = stream.step(data, dst(strm), now).map_err(|_| FAILED)?;
            let given = data.len();
            gave(strm, done.produced);
            self.note(done.consumed, done.produced);
            if waits {
                self.input.compressed(done.consumed);
            } else if fresh {
                let data = src(strm);
                self.took(strm, done.consumed);
                self.input.passed(&data[..done.consumed]);
            }
            self.unflushed |= done.consumed > 0;
            if now == Flush::Finish && done.consumed == given {
                self.status = Status::Finish;
            }
            match done.status {
                StepStatus::Overflow => {
                    // Something is inside, whatever was taken now.
                    self.unflushed = true;
                    return Ok(false);
                }
                StepStatus::End => {
                    self.ended = true;
                    self.unflushed = false;
                    self.settle_body();
                    return Ok(true);
                }
                StepStatus::Complete if waits && direct => {}
                StepStatus::Complete => {
                    if now != Flush::None {
                        self.unflushed = false;
                    }
                    if now == Flush::Full {
                        self.forget();
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn guess_first(&self, strm: &mut z_stream, data: &[u8], flush: Flush) {
        if !data.is_empty() || flush == Flush::Finish {
            self.guess(strm, data);
        }
    }

    fn zlib_rs_step(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Option<Reach>, c_int> {
        let returns = matches!(ask, Ask::Nothing | Ask::Sync | Ask::Full | Ask::Finish);
        let flush = match ask {
            Ask::Nothing => libz_rs_sys::Z_NO_FLUSH,
            Ask::Partial => libz_rs_sys::Z_PARTIAL_FLUSH,
            Ask::Sync => libz_rs_sys::Z_SYNC_FLUSH,
            Ask::Full => libz_rs_sys::Z_FULL_FLUSH,
            Ask::Finish => libz_rs_sys::Z_FINISH,
            Ask::Block | Ask::Settle => libz_rs_sys::Z_BLOCK,
        };
        loop {
            let fresh = strm.avail_in as usize;
            let leaves = match self.meter {
                Some(meter) => meter.has_faded(),
                None => self.is_large(fresh),
            };
            if self.level == 0 || (leaves && returns && !self.sticky && self.strategy <= 1) {
                return self.leave_zlib_rs(strm);
            }
            let part = self.meter.is_some() && fresh > PART;
            let flush = if part { libz_rs_sys::Z_NO_FLUSH } else { flush };
            let most = if part { PART } else { usize::MAX };
            if !self.zlib_rs_run(strm, flush, most)? {
                return Ok(Some(Reach::Blocked));
            }
            if !part {
                return Ok(Some(Reach::Done));
            }
        }
    }

    /// Has zlib-rs write out all that it holds, and go.
    fn leave_zlib_rs(&mut self, strm: &mut z_stream) -> Result<Option<Reach>, c_int> {
        // Without room to spare nobody knows whether that was all.
        if !self.zlib_rs_run(strm, libz_rs_sys::Z_SYNC_FLUSH, 0)? || self.unflushed {
            return Ok(Some(Reach::Blocked));
        }
        let mut window = [0; 32 << 10];
        if let Body::ZlibRs(inner) = &self.body {
            let len = inner.dictionary(&mut window);
            self.input.forget();
            self.input.passed(&window[..len]);
        }
        self.may_repeat &= self.meter.is_none();
        self.settle_body();
        Ok(None)
    }

    /// As [`State::igzip_run`], by zlib-rs, in zlib's numbers; of the caller's input so much at most.
    fn zlib_rs_run(
        &mut self,
        strm: &mut z_stream,
        flush: c_int,
        most: usize,
    ) -> Result<bool, c_int> {
        let fresh = most > 0;
        loop {
            let direct = fresh && strm.avail_in > 0;
            let waits = !self.input.waiting().is_empty();
            let now = if waits && direct { libz_rs_sys::Z_NO_FLUSH } else { flush };
            let data = if waits || !fresh { self.input.waiting() } else { src(strm) };
            let data = &data[..data.len().min(if waits { usize::MAX } else { most })];
            let given = data.len();
            let Body::ZlibRs(inner) = &mut self.body else { return Err(FAILED) };
            let step = inner.step(data, dst(strm), now);
            let kind = inner.data_type();
            gave(strm, step.produced);
            self.note(step.consumed, step.produced);
            if let Some(meter) = &mut self.meter {
                meter.add(step.consumed, step.produced);
            }
            if waits {
                self.input.compressed(step.consumed);
                if step.consumed == given {
                    // zlib-rs has a window of its own.
                    self.input.give_up();
                }
            } else if fresh {
                self.took(strm, step.consumed);
            }
            if strm.data_type == Z_UNKNOWN {
                strm.data_type = kind;
            }
            self.unflushed = true;
            match step.code {
                Z_STREAM_END => {
                    self.ended = true;
                    self.unflushed = false;
                    self.status = Status::Finish;
                    return Ok(true);
                }
                libz_rs_sys::Z_BUF_ERROR
                    if now == libz_rs_sys::Z_FULL_FLUSH && given == 0 && strm.avail_out > 0 =>
                {
                    // It has done one, and calls that it does not know of came between: a lesser
                    // flush that was refused, perhaps a dictionary. Another begins, at this byte.
                    let (why, sticky) = (self.path.unwrap_or(Path::CompressFlush), self.sticky);
                    self.settle_body();
                    self.forget();
                    self.outbox.put(&MARKER);
                    self.start_zlib_rs(why)?;
                    self.sticky = sticky;
                    return Ok(self.drain(strm));
                }
                // Nothing to do is no failure: the flush was done before.
                libz_rs_sys::Z_OK | libz_rs_sys::Z_BUF_ERROR => {}
                code => return Err(code),
            }
            if now == libz_rs_sys::Z_FINISH && step.consumed == given {
                self.status = Status::Finish;
            }
            if step.consumed < given {
                return Ok(false);
            }
            if waits && direct {
                continue;
            }
            if now == libz_rs_sys::Z_NO_FLUSH {
                return Ok(true);
            }
            // A flush is over where room is left, and where nothing waits for it.
            if strm.avail_out == 0 && inner_pending(&mut self.body) > 0 {
                return Ok(false);
            }
            if now != libz_rs_sys::Z_FINISH {
                self.unflushed &= strm.avail_out == 0;
                return Ok(true);
            }
            // The room may have been just enough: zlib-rs says so to whoever has some left.
            let mut more = [0; 16];
            let Body::ZlibRs(inner) = &mut self.body else { return Err(FAILED) };
            let step = inner.step(&[], &mut more, now);
            self.outbox.put(&more[..step.produced]);
            self.note(0, step.produced);
            self.ended = step.code == Z_STREAM_END;
            self.unflushed = !self.ended;
            return Ok(self.ended);
        }
    }
}

/// Bytes that wait within zlib-rs.
fn inner_pending(body: &mut Body) -> usize {
    match body {
        Body::ZlibRs(inner) => inner.pending().0,
        _ => 0,
    }
}

/// The threshold, where the length makes it worth to ask.
fn settings_threshold(len: usize) -> usize {
    if len >= SMALLEST_THRESHOLD { settings().threshold } else { SMALLEST_THRESHOLD }
}

impl State {
    /// Has everything that was taken written out, to the outbox, up to a byte; history stays.
    pub(crate) fn flush_to_outbox(&mut self) -> Result<(), c_int> {
        /// More than a step needs to get on.
        const STEP: usize = 64 << 10;
        let content = self.content(self.input.waiting());
        let spec = levels::whole(self.level, self.window_bits, content);
        let input = std::mem::take(&mut self.input);
        let waiting = input.waiting();
        let result = match &mut self.body {
            Body::Deferred if !waiting.is_empty() => {
                match outbox::memory(room(Part::Piece, waiting.len())) {
                    Some(mut memory) => {
                        compress(Part::Piece, &spec, waiting, &mut memory).map(|produced| {
                            self.outbox.push(memory, produced);
                            self.tally.0 += waiting.len();
                            self.tally.1 += produced;
                        })
                    }
                    None => Err(Z_MEM_ERROR),
                }
            }
            Body::Igzip(stream, _) => {
                let mut rest = waiting;
                loop {
                    let Some(mut memory) = outbox::memory(STEP) else { break Err(Z_MEM_ERROR) };
                    let Ok(done) = stream.step(rest, &mut memory, Flush::Sync) else {
                        break Err(FAILED);
                    };
                    rest = &rest[done.consumed..];
                    self.tally.0 += done.consumed;
                    self.tally.1 += done.produced;
                    self.outbox.push(memory, done.produced);
                    if done.status != StepStatus::Overflow {
                        self.unflushed = false;
                        break Ok(());
                    }
                }
            }
            Body::Deferred | Body::ZlibRs(..) => Ok(()),
        };
        let count = waiting.len();
        self.input = input;
        if result.is_ok() && !matches!(self.body, Body::ZlibRs(..)) {
            self.input.compressed(count);
        }
        result
    }
}
