//! The state machine: stops anywhere, takes no byte before it needs a bit of it.

use super::super::symbols::{LENGTHS, OFFSETS, ORDER};
use super::table::{self, Found};
use super::{Alphabets, Codes, Fault, Inflate, Made, Mode, Tables, Taken, Until, fast, fixed};

/// Input and output of a step.
pub(super) struct Io {
    pub(super) next: *const u8,
    pub(super) end: *const u8,
    pub(super) out: *mut u8,
    pub(super) out_start: *mut u8,
    pub(super) out_end: *mut u8,
    src_len: usize,
}

impl Io {
    pub(super) fn new(src: (*const u8, usize), before: usize, dst: (*mut u8, usize)) -> Io {
        Io {
            next: src.0,
            end: src.0.wrapping_add(src.1),
            out: dst.0,
            out_start: dst.0.wrapping_sub(before),
            out_end: dst.0.wrapping_add(dst.1),
            src_len: src.1,
        }
    }

    /// Input that is left.
    pub(super) fn have(&self) -> usize {
        self.end as usize - self.next as usize
    }

    /// Room that is left.
    pub(super) fn left(&self) -> usize {
        self.out_end as usize - self.out as usize
    }

    /// What was written before.
    pub(super) fn written(&self) -> usize {
        self.out as usize - self.out_start as usize
    }

    /// Input becomes output as it is. (An application may decode in place.)
    ///
    /// # Safety
    ///
    /// As much is left of both.
    unsafe fn copy(&mut self, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.next.copy_to(self.out, count) };
        self.next = self.next.wrapping_add(count);
        self.out = self.out.wrapping_add(count);
    }

    pub(super) fn taken(&self, before: usize) -> Taken {
        Taken { consumed: self.src_len - self.have(), produced: self.written() - before }
    }
}

impl Inflate {
    /// Takes bytes until there are `count` bits. `false` if the input ends first.
    ///
    /// # Safety
    ///
    /// `io` is valid, as everywhere here.
    unsafe fn need(&mut self, io: &mut Io, count: u32) -> bool {
        let held = self.head.bits;
        if held < count && io.have() >= 8 {
            let bytes = (count - held).div_ceil(8);
            // SAFETY: there are 8 bytes.
            let word = u64::from_le_bytes(unsafe { io.next.cast::<[u8; 8]>().read_unaligned() });
            self.head.hold |= (word & ((1 << (8 * bytes)) - 1)) << held;
            self.head.bits += 8 * bytes;
            io.next = io.next.wrapping_add(bytes as usize);
        }
        while self.head.bits < count {
            // SAFETY: the caller's promise.
            if !unsafe { self.pull(io) } {
                return false;
            }
        }
        true
    }

    unsafe fn pull(&mut self, io: &mut Io) -> bool {
        if io.next == io.end {
            return false;
        }
        // SAFETY: there is input left.
        let byte = unsafe { *io.next };
        io.next = io.next.wrapping_add(1);
        self.head.hold |= u64::from(byte) << self.head.bits;
        self.head.bits += 8;
        true
    }

    fn low(&self, count: u32) -> u32 {
        (self.head.hold & ((1 << count) - 1)) as u32
    }

    fn drop(&mut self, count: u32) {
        self.head.hold >>= count;
        self.head.bits -= count;
    }

    fn fail(&mut self, fault: Fault) {
        self.head.fault = Some(fault);
        self.head.mode = Mode::Failed;
    }

    pub(super) fn alphabets(&self) -> &Alphabets {
        match self.head.codes {
            Codes::Fixed => fixed().0,
            // Own codes are in force only after they were made.
            Codes::Own => self.sets().map_or_else(|| fixed().0, |sets| &sets.own),
        }
    }

    /// The tables in force, and what indexes that of litlen codes.
    pub(super) fn tables(&self) -> (*const Tables, u32) {
        match self.head.codes {
            Codes::Fixed => (fixed().1, table::FIXED_LITLEN_BITS as u32),
            Codes::Own => (self.tables.as_ptr(), self.head.litlen_bits),
        }
    }

    /// Takes bytes until `find` has what it looks for. `None` if the input ends first.
    unsafe fn symbol(
        &mut self,
        io: &mut Io,
        find: impl Fn(&Inflate, u64, u32) -> Found,
    ) -> Option<Option<(u16, u32)>> {
        loop {
            match find(self, self.head.hold, self.head.bits) {
                Found::Symbol(symbol, bits) => {
                    self.drop(bits);
                    self.head.back += bits as i32;
                    return Some(Some((symbol, bits)));
                }
                Found::Nothing => {
                    self.drop(1);
                    self.head.back += 1;
                    return Some(None);
                }
                // SAFETY: the caller's promise.
                Found::Short if unsafe { !self.pull(io) } => return None,
                Found::Short => {}
            }
        }
    }

    /// Decodes until something ends.
    ///
    /// # Safety
    ///
    /// `io` is valid.
    pub(super) unsafe fn run(&mut self, io: &mut Io, until: Until) {
        // SAFETY: the caller's promise.
        while unsafe { self.advance(io, until) } {}
    }

    /// One state. `false` if it has to wait, or nothing comes after it.
    unsafe fn advance(&mut self, io: &mut Io, until: Until) -> bool {
        // SAFETY (all of the function): the caller's promise about `io`; what is read from and
        // written to it is bounded by `have` and `left`.
        macro_rules! need {
            ($count:expr) => {
                // SAFETY: see above.
                if !unsafe { self.need(io, $count) } {
                    return false;
                }
            };
        }
        match self.head.mode {
            Mode::Type if until != Until::Ends => return false,
            // Where it waits for the header, zlib calls that before the block as well.
            Mode::Type | Mode::TypeGo => {
                if self.head.last {
                    self.drop(self.head.bits & 7);
                    self.head.mode = Mode::End;
                    return false;
                }
                need!(3);
                let header = self.low(3);
                self.drop(3);
                self.head.last = header & 1 == 1;
                match header >> 1 {
                    0 => self.head.mode = Mode::Stored,
                    1 => {
                        self.head.codes = Codes::Fixed;
                        self.head.mode = Mode::CodesStart;
                        return until != Until::Header;
                    }
                    2 => self.head.mode = Mode::Table,
                    _ => self.fail(Fault::BlockType),
                }
            }
            Mode::Stored => {
                self.drop(self.head.bits & 7);
                need!(32);
                let lengths = self.low(32);
                if lengths & 0xffff != !lengths >> 16 {
                    self.fail(Fault::StoredLength);
                    return true;
                }
                self.head.length = lengths & 0xffff;
                self.head.hold = 0;
                self.head.bits = 0;
                let count = self.head.length as usize;
                if until != Until::Header && count <= io.have() && count <= io.left() {
                    // SAFETY: as much is left of both.
                    unsafe { io.copy(count) };
                    self.head.length = 0;
                    self.head.mode = Mode::Type;
                    return true;
                }
                self.head.mode = Mode::CopyStart;
                return until != Until::Header;
            }
            Mode::CopyStart => self.head.mode = Mode::Copy,
            Mode::Copy => {
                if self.head.length == 0 {
                    self.head.mode = Mode::Type;
                    return true;
                }
                let count = (self.head.length as usize).min(io.have()).min(io.left());
                if count == 0 {
                    return false;
                }
                // SAFETY: as much is left of both.
                unsafe { io.copy(count) };
                self.head.length -= count as u32;
            }
            Mode::Table => {
                need!(14);
                self.head.litlens = self.low(5) + 257;
                self.drop(5);
                self.head.distances = self.low(5) + 1;
                self.drop(5);
                self.head.length_codes = self.low(4) + 4;
                self.drop(4);
                if self.head.litlens > 286 || self.head.distances > 30 {
                    self.fail(Fault::TooManySymbols);
                    return true;
                }
                self.head.have = 0;
                self.head.mode = Mode::LengthLengths;
            }
            Mode::LengthLengths => {
                while self.head.have < self.head.length_codes {
                    need!(3);
                    let at = ORDER[self.head.have as usize];
                    let length = self.low(3) as u8;
                    self.sets_mut().lengths[at] = length;
                    self.head.have += 1;
                    self.drop(3);
                }
                let given = self.head.length_codes as usize;
                let sets = self.sets_mut();
                for &at in &ORDER[given..] {
                    sets.lengths[at] = 0;
                }
                sets.made = Made::Nothing;
                if !sets.length_canon.set(&sets.lengths[..19], false) {
                    self.fail(Fault::LengthsSet);
                    return true;
                }
                sets.made = Made::Lengths;
                table::lengths(&sets.length_canon, &mut sets.length_table);
                self.head.have = 0;
                self.head.mode = Mode::Lengths;
            }
            // SAFETY: see above.
            Mode::Lengths => return unsafe { self.code_lengths(io, until) },
            Mode::CodesStart => self.head.mode = Mode::Codes,
            Mode::Codes => {
                // SAFETY: see above.
                unsafe { fast::codes(self, io) };
                self.head.back = 0;
                // SAFETY: see above.
                let found = unsafe {
                    self.symbol(io, |s, hold, bits| s.alphabets().litlen.find(hold, bits))
                };
                match found {
                    None => return false,
                    Some(Some((symbol @ 0..256, _))) => {
                        self.head.length = symbol.into();
                        self.head.mode = Mode::Literal;
                    }
                    Some(Some((256, _))) => {
                        self.head.back = -1;
                        self.head.mode = Mode::Type;
                    }
                    Some(Some((symbol @ 257..286, _))) => {
                        let (base, extra) = LENGTHS[usize::from(symbol) - 257];
                        self.head.length = base.into();
                        self.head.extra = extra.into();
                        self.head.mode = Mode::LengthExtra;
                    }
                    Some(_) => self.fail(Fault::LitlenCode),
                }
            }
            Mode::LengthExtra => {
                let extra = self.head.extra;
                need!(extra);
                self.head.length += self.low(extra);
                self.drop(extra);
                self.head.back += extra as i32;
                self.head.was = self.head.length;
                self.head.mode = Mode::Distance;
            }
            Mode::Distance => {
                // SAFETY: see above.
                let found = unsafe {
                    self.symbol(io, |s, hold, bits| s.alphabets().distance.find(hold, bits))
                };
                let Some(found) = found else { return false };
                let offset = found.and_then(|(symbol, _)| OFFSETS.get(usize::from(symbol)));
                let Some(&(base, extra)) = offset else {
                    self.fail(Fault::DistanceCode);
                    return true;
                };
                self.head.offset = base.into();
                self.head.extra = extra.into();
                self.head.mode = Mode::DistanceExtra;
            }
            Mode::DistanceExtra => {
                let extra = self.head.extra;
                need!(extra);
                self.head.offset += self.low(extra);
                self.drop(extra);
                self.head.back += extra as i32;
                self.head.mode = Mode::Match;
            }
            // SAFETY: see above.
            Mode::Match => return unsafe { self.copy_match(io) },
            Mode::Literal => {
                if io.left() == 0 {
                    return false;
                }
                // SAFETY: there is room.
                unsafe { *io.out = self.head.length as u8 };
                io.out = io.out.wrapping_add(1);
                self.head.mode = Mode::Codes;
            }
            Mode::End | Mode::Failed => return false,
        }
        true
    }

    /// The code lengths of both alphabets, and the tables.
    unsafe fn code_lengths(&mut self, io: &mut Io, until: Until) -> bool {
        let total = self.head.litlens + self.head.distances;
        // SAFETY: the caller's promise.
        unsafe { fast::lengths(self, io) };
        while self.head.have < total {
            // An empty code says 0 with one bit: so zlib.
            let (symbol, bits) = loop {
                let (hold, held) = (self.head.hold, self.head.bits);
                match self.sets_mut().length_canon.find(hold, held) {
                    Found::Symbol(symbol, bits) => break (symbol as u8, bits),
                    Found::Nothing if self.head.bits > 0 => break (0, 1),
                    // SAFETY: the caller's promise.
                    _ if unsafe { !self.pull(io) } => return false,
                    _ => {}
                }
            };
            let have = self.head.have as usize;
            if symbol < 16 {
                self.drop(bits);
                self.sets_mut().lengths[have] = symbol;
                self.head.have += 1;
                continue;
            }
            let (extra, least) = [(2, 3), (3, 3), (7, 11)][usize::from(symbol - 16)];
            // SAFETY: the caller's promise.
            if !unsafe { self.need(io, bits + extra) } {
                return false;
            }
            self.drop(bits);
            if symbol == 16 && have == 0 {
                self.fail(Fault::Repeat);
                return true;
            }
            let value = if symbol == 16 { self.sets_mut().lengths[have - 1] } else { 0 };
            let count = least + self.low(extra);
            self.drop(extra);
            if self.head.have + count > total {
                self.fail(Fault::Repeat);
                return true;
            }
            self.sets_mut().lengths[have..have + count as usize].fill(value);
            self.head.have += count;
        }
        let litlens = self.head.litlens as usize;
        let sets = self.sets_mut();
        let lengths = &sets.lengths[..total as usize];
        let Alphabets { litlen, distance } = &mut sets.own;
        if let Err(fault) = table::read_sets(lengths, litlens, litlen, distance) {
            sets.made = match fault {
                Fault::NoEndOfBlock => Made::Lengths,
                Fault::DistanceSet => Made::Litlen,
                _ => Made::Nothing,
            };
            self.fail(fault);
            return true;
        }
        sets.made = Made::All;
        let simd = self.head.simd;
        let long = self.head.window.have > 0;
        let have = io.have();
        let litlen = &self.sets_mut().own.litlen;
        let (bits, pairs) = fast::litlen_bits(have, long, litlen, simd.any());
        self.head.litlen_bits = bits as u32;
        self.head.codes = Codes::Own;
        let tables = self.tables.as_mut_ptr();
        let Alphabets { litlen, distance } = &self.sets_mut().own;
        // SAFETY: our own memory; entries are written before any is read (see `table::fill`).
        unsafe {
            table::litlen(litlen, &mut (*tables).litlen, bits);
            table::distance(distance, &mut (*tables).distance);
            let Tables { litlen, plain, .. } = &mut *tables;
            table::finish(litlen, plain, bits, pairs, simd);
        }
        self.head.mode = Mode::CodesStart;
        until != Until::Header
    }

    /// As much of a match as there is room for.
    unsafe fn copy_match(&mut self, io: &mut Io) -> bool {
        if io.left() == 0 {
            return false;
        }
        let distance = self.head.offset as usize;
        let written = io.written();
        let mut count = (self.head.length as usize).min(io.left());
        if distance > written {
            let back = distance - written;
            if self.head.window.lacks(distance, back) {
                self.fail(Fault::TooFar);
                return true;
            }
            let ring = self.history.as_ptr().cast();
            // SAFETY: `back` is within the history, `count` bytes fit.
            count = unsafe { self.head.window.copy(ring, back, io.out, count) };
        } else {
            // SAFETY: `distance` bytes were written before, `count` bytes fit.
            unsafe { fast::copy_exact(io.out, distance, count) };
        }
        io.out = io.out.wrapping_add(count);
        self.head.length -= count as u32;
        if self.head.length == 0 {
            self.head.mode = Mode::Codes;
        }
        true
    }
}
