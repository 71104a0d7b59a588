//! A DEFLATE decoder that can stop anywhere and go on.
//!
//! Computes: RFC 1951, with zlib's idea of what is valid, bit by bit. Shapes: any lengths, no
//! alignment; `src` and `dst` may come in any pieces. Everything is decoded by two loops over
//! tables (`fast`), as long as a whole entry of the table has its input and room for its output;
//! what is left, at the ends of input and output and wherever something is wrong, by a machine
//! with one state for each field (`machine`), which takes a byte only when it needs one of its bits.
//! So `consumed` and all that zlib tells about a stream that stopped are zlib's.
//! CPU features: none needed; BMI2 and AVX2 from tier AVX2 on, AVX-512 for making tables. Own code;
//! what was tried is in `docs/deflate-decoder.md`.
//! Covered by the test `inflate` (against zlib), the fuzz target `decoder`; bench `decode`.
#![allow(unsafe_code)]

mod fast;
mod machine;
mod table;
mod window;

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use lookaside_simd::Cpu;

use self::machine::Io;
use self::table::{Canon, DISTANCE_ENTRIES, DISTANCES, LITLEN_ENTRIES, LITLENS, Simd};
use self::window::Window;
use super::symbols;

/// Where a step should stop even though there is more to decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Nowhere: the end of input, output, or the stream.
    #[default]
    Ends,
    /// Before the header of the next block (zlib's `Z_BLOCK`).
    Block,
    /// There, and after each header (zlib's `Z_TREES`).
    Header,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Block type 3.
    BlockType,
    /// LEN and NLEN of a stored block disagree.
    StoredLength,
    /// More than 286 litlen or 30 distance symbols.
    TooManySymbols,
    /// The lengths of the code length codes are no code.
    LengthsSet,
    /// A repetition of nothing, or past the end.
    Repeat,
    /// No code for the end of the block.
    NoEndOfBlock,
    /// The litlen code lengths are no code.
    LitlenSet,
    /// The distance code lengths are no code.
    DistanceSet,
    /// A code that means nothing.
    LitlenCode,
    /// The same of a distance.
    DistanceCode,
    /// A match from before all that is known.
    TooFar,
}

impl Fault {
    /// zlib's words for it.
    pub const fn message(self) -> &'static std::ffi::CStr {
        match self {
            Fault::BlockType => c"invalid block type",
            Fault::StoredLength => c"invalid stored block lengths",
            Fault::TooManySymbols => c"too many length or distance symbols",
            Fault::LengthsSet => c"invalid code lengths set",
            Fault::Repeat => c"invalid bit length repeat",
            Fault::NoEndOfBlock => c"invalid code -- missing end-of-block",
            Fault::LitlenSet => c"invalid literal/lengths set",
            Fault::DistanceSet => c"invalid distances set",
            Fault::LitlenCode => c"invalid literal/length code",
            Fault::DistanceCode => c"invalid distance code",
            Fault::TooFar => c"invalid distance too far back",
        }
    }
}

/// Where the decoder stands, as far as it can be told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the header of a block.
    BeforeBlock,
    /// After the header of a block, before its content.
    AfterHeader,
    /// Before the lengths of a stored block.
    Stored,
    /// In a stored block: what is left of it.
    Copy(u32),
    /// In a match: what of it is written.
    Match(u32),
    /// Anywhere else.
    Within,
    /// After the last block, at a byte boundary.
    End,
    /// Nothing more can be decoded.
    Failed,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of `src`.
    pub consumed: usize,
    /// Bytes of `dst`.
    pub produced: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Before a block, where a step may be asked to stop.
    Type,
    /// The same, where it may not.
    TypeGo,
    Stored,
    CopyStart,
    Copy,
    Table,
    LengthLengths,
    Lengths,
    CodesStart,
    Codes,
    LengthExtra,
    Distance,
    DistanceExtra,
    Match,
    Literal,
    End,
    Failed,
}

/// The tables of a block in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codes {
    Fixed,
    Own,
}

/// How far the tables of the last own block came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Nothing,
    /// That of the code length codes.
    Lengths,
    /// That of litlen codes, and no more: the distances were wrong.
    Litlen,
    All,
}

/// The tables of the fast loops.
#[repr(C)]
struct Tables {
    litlen: [u32; LITLEN_ENTRIES],
    /// See [`table::finish`].
    plain: [u8; LITLEN_ENTRIES],
    distance: [u32; DISTANCE_ENTRIES],
}

/// Both alphabets, in canonical order.
#[derive(Clone, Copy)]
struct Alphabets {
    litlen: Canon<LITLENS>,
    distance: Canon<DISTANCES>,
}

/// All but what need not be cleared.
#[derive(Clone)]
struct Head {
    /// Bits taken from the input and not used: the next one is the lowest.
    hold: u64,
    bits: u32,
    mode: Mode,
    last: bool,
    codes: Codes,
    /// What indexes the own litlen table.
    litlen_bits: u32,
    fault: Option<Fault>,
    simd: Simd,
    /// Of the literal, match or stored block.
    length: u32,
    offset: u32,
    extra: u32,
    /// The match's length when it began, and the bits of the symbols of a match so far: for
    /// zlib's `inflateMark`.
    was: u32,
    back: i32,
    litlens: u32,
    distances: u32,
    length_codes: u32,
    have: u32,
    /// `Inflate::sets` is initialised.
    has_sets: bool,
    window: Window,
}

/// What a block with codes of its own needs to make its tables. Cleared before the first one.
#[derive(Clone)]
struct Sets {
    made: Made,
    length_canon: Canon<19>,
    /// The fast table of code length codes.
    length_table: [u8; 128],
    lengths: [u8; 320],
    own: Alphabets,
}

/// A raw DEFLATE stream being decoded. About 58 KB, history included.
///
/// The history that matches reach into is the output of the current step, and before that what
/// [`keep`](Inflate::keep) was given after earlier ones.
#[repr(C)]
pub struct Inflate {
    head: Head,
    sets: MaybeUninit<Sets>,
    tables: MaybeUninit<Tables>,
    history: MaybeUninit<[u8; window::CAPACITY + window::SLACK]>,
}

/// The codes of fixed blocks and their tables.
struct Fixed {
    alphabets: Alphabets,
    tables: Tables,
}

impl Fixed {
    const EMPTY: Fixed = Fixed {
        alphabets: Alphabets { litlen: Canon::empty(), distance: Canon::empty() },
        tables: Tables {
            litlen: [0; LITLEN_ENTRIES],
            plain: [0; LITLEN_ENTRIES],
            distance: [0; DISTANCE_ENTRIES],
        },
    };

    fn fill(&mut self) {
        let (litlen, distance) = &symbols::FIXED;
        self.alphabets.litlen.set(litlen, true);
        self.alphabets.distance.set(distance, true);
        let bits = table::FIXED_LITLEN_BITS;
        table::litlen(&self.alphabets.litlen, &mut self.tables.litlen, bits);
        table::finish(&mut self.tables.litlen, &mut self.tables.plain, bits, false, Simd::None);
        table::distance(&self.alphabets.distance, &mut self.tables.distance);
    }
}

/// Memory of the library's for what is made once.
struct Shared(UnsafeCell<Fixed>);

// SAFETY: written by one thread before any other has a reference (see `fixed`).
unsafe impl Sync for Shared {}

/// What blocks with fixed codes are decoded with. Takes no memory from the heap: there is no answer
/// to its being used up. And waits for nobody: in a child of `fork`, who is at it may not exist. So
/// a thread that comes while another is at it makes one more, which is the exception to the first.
fn fixed() -> (&'static Alphabets, &'static Tables) {
    static READY: AtomicPtr<Fixed> = AtomicPtr::new(ptr::null_mut());
    static TAKEN: AtomicBool = AtomicBool::new(false);
    static MEMORY: Shared = Shared(UnsafeCell::new(Fixed::EMPTY));
    let mut ready = READY.load(Ordering::Acquire);
    if ready.is_null() {
        if TAKEN.swap(true, Ordering::Relaxed) {
            let mut more = Box::new(Fixed::EMPTY);
            more.fill();
            ready = Box::into_raw(more);
        } else {
            ready = MEMORY.0.get();
            // SAFETY: the only one to come here, and nobody else has a reference yet.
            unsafe { &mut *ready }.fill();
        }
        READY.store(ready, Ordering::Release);
    }
    // SAFETY: made above or by who published it, never freed and not written again.
    let fixed = unsafe { &*ready };
    (&fixed.alphabets, &fixed.tables)
}

impl Inflate {
    /// A decoder in memory of the caller's, at the start of a stream. `window_bits`: how far back
    /// matches may reach into the output of earlier steps; 8..=15.
    pub fn place<'a>(
        memory: &'a mut MaybeUninit<Inflate>,
        window_bits: u8,
        cpu: &Cpu,
    ) -> &'a mut Inflate {
        let head = Head {
            hold: 0,
            bits: 0,
            mode: Mode::TypeGo,
            last: false,
            codes: Codes::Fixed,
            litlen_bits: 0,
            fault: None,
            simd: Simd::of(cpu),
            length: 0,
            offset: 0,
            extra: 0,
            was: 0,
            back: -1,
            litlens: 0,
            distances: 0,
            length_codes: 0,
            have: 0,
            has_sets: false,
            window: Window::new(window_bits),
        };
        // SAFETY: the head is the only part that must be initialised.
        unsafe {
            (&raw mut (*memory.as_mut_ptr()).head).write(head);
            memory.assume_init_mut()
        }
    }

    /// A decoder on the heap.
    pub fn boxed(window_bits: u8, cpu: &Cpu) -> Box<Inflate> {
        let mut memory = Box::new_uninit();
        Inflate::place(&mut memory, window_bits, cpu);
        // SAFETY: `place` initialised it.
        unsafe { memory.assume_init() }
    }

    /// A copy in memory of the caller's.
    pub fn copy_to<'a>(&self, memory: &'a mut MaybeUninit<Inflate>) -> &'a mut Inflate {
        let to = memory.as_mut_ptr();
        // SAFETY: two decoders are disjoint; the tables are plain words, copied as they are.
        unsafe {
            (&raw mut (*to).head).write(self.head.clone());
            if let Some(sets) = self.sets() {
                (&raw mut (*to).sets).write(MaybeUninit::new(sets.clone()));
            }
            if self.made() == Made::All {
                (&raw const self.tables).copy_to_nonoverlapping(&raw mut (*to).tables, 1);
            }
            let from = (&raw const self.history).cast::<u8>();
            let filled = self.head.window.filled();
            from.copy_to_nonoverlapping((&raw mut (*to).history).cast(), filled);
            memory.assume_init_mut()
        }
    }

    /// Back to the start of a stream, with another window or the same. No history.
    pub fn reset(&mut self, window_bits: u8) {
        self.head.window = Window::new(window_bits);
        self.reset_keep();
    }

    /// The same on another CPU, or under another cap.
    pub fn reset_for(&mut self, window_bits: u8, cpu: &Cpu) {
        self.head.simd = Simd::of(cpu);
        self.reset(window_bits);
    }

    /// Back to the start of a stream that goes on with the history of this one.
    pub fn reset_keep(&mut self) {
        let head = &mut self.head;
        head.hold = 0;
        head.bits = 0;
        head.mode = Mode::TypeGo;
        head.last = false;
        head.fault = None;
        head.back = -1;
        if head.has_sets {
            self.sets_mut().made = Made::Nothing;
        }
    }

    /// What was made of an own block's code lengths, if there was such a block.
    fn sets(&self) -> Option<&Sets> {
        // SAFETY: initialised, as the flag says.
        self.head.has_sets.then(|| unsafe { self.sets.assume_init_ref() })
    }

    fn sets_mut(&mut self) -> &mut Sets {
        if !self.head.has_sets {
            self.head.has_sets = true;
            self.sets.write(Sets {
                made: Made::Nothing,
                length_canon: Canon::empty(),
                length_table: [0; 128],
                lengths: [0; 320],
                own: Alphabets { litlen: Canon::empty(), distance: Canon::empty() },
            });
        }
        // SAFETY: initialised, now or before.
        unsafe { self.sets.assume_init_mut() }
    }

    fn made(&self) -> Made {
        self.sets().map_or(Made::Nothing, |sets| sets.made)
    }

    /// Another window, before anything was [kept](Inflate::keep).
    pub fn set_window(&mut self, window_bits: u8) {
        self.head.window.resize(window_bits);
    }

    /// Matches reach no further back than the window, whatever is known: for output that is one
    /// window's after the other's.
    pub fn limit_reach(&mut self, window_bits: u8) {
        self.head.window.reach = 1 << window_bits.clamp(8, 15);
    }

    /// Is it room that the last step ran out of? (It may lack input, too.)
    pub fn wants_room(&self) -> bool {
        matches!(self.head.mode, Mode::Literal | Mode::Match)
    }

    /// The next step may be asked to stop before it has decoded anything: what came before the
    /// stream has just ended.
    pub fn at_block(&mut self) {
        self.head.mode = Mode::Type;
    }

    /// From the place before a block where the last step stopped, on: the next one need not stop
    /// there again. What [`step`](Inflate::step) begins with.
    pub fn go(&mut self) {
        if self.head.mode == Mode::Type {
            self.head.mode = Mode::TypeGo;
        }
    }

    /// Decodes from `src` into `dst` until one of them is used up, `until` says so, or the stream
    /// ends ([`Place::End`]). Also `dst` beyond what was produced may be written to.
    pub fn step(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        until: Until,
    ) -> Result<Taken, (Taken, Fault)> {
        self.step_after(src, dst, 0, until)
    }

    /// The same behind the first `before` bytes of `dst`, which are the output of the steps before
    /// that was not [kept](Inflate::keep).
    pub fn step_after(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
        before: usize,
        until: Until,
    ) -> Result<Taken, (Taken, Fault)> {
        self.go();
        let room = &mut dst[before..];
        let room = (room.as_mut_ptr(), room.len());
        // SAFETY: slices are valid for their lengths and, one being `&mut`, disjoint.
        let taken = unsafe { self.step_raw((src.as_ptr(), src.len()), before, room, until) };
        match self.head.fault {
            Some(fault) => Err((taken, fault)),
            None => Ok(taken),
        }
    }

    /// The same over bare memory; [`fault`](Inflate::fault) tells what was wrong. The history is
    /// what [`keep`](Inflate::keep) was given, and after it the `before` bytes before `dst`.
    ///
    /// # Safety
    ///
    /// `src` and `dst` are pointers to so many bytes, valid for reading and writing, or the length
    /// is 0. `before` bytes before `dst` are valid for reading.
    pub unsafe fn step_raw(
        &mut self,
        src: (*const u8, usize),
        before: usize,
        dst: (*mut u8, usize),
        until: Until,
    ) -> Taken {
        let mut io = Io::new(src, before, dst);
        // SAFETY: the caller's promise.
        unsafe { self.run(&mut io, until) };
        io.taken(before)
    }

    /// Adds the end of `output` to the history for later steps.
    pub fn keep(&mut self, output: &[u8]) {
        // SAFETY: a slice is valid for its length.
        unsafe { self.keep_raw(output.as_ptr().wrapping_add(output.len()), output.len()) }
    }

    /// The same for the `len` bytes before `end`.
    ///
    /// # Safety
    ///
    /// They are valid for reading.
    pub unsafe fn keep_raw(&mut self, end: *const u8, len: usize) {
        let history = self.history.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller's promise; the history is ours and has the capacity of any window.
        unsafe { self.head.window.keep(history, end, len) }
    }

    /// Is there a history, even an empty one: was [`keep`](Inflate::keep) called since the start?
    pub fn keeps(&self) -> bool {
        self.head.window.size != 0
    }

    /// The history, oldest byte first, in two parts.
    pub fn history(&self) -> (&[u8], &[u8]) {
        // SAFETY: what the window calls filled was written.
        unsafe { self.head.window.parts((&raw const self.history).cast()) }
    }

    /// Where it stands.
    pub fn at(&self) -> Place {
        match self.head.mode {
            Mode::Type => Place::BeforeBlock,
            Mode::CopyStart | Mode::CodesStart => Place::AfterHeader,
            Mode::Stored => Place::Stored,
            Mode::Copy => Place::Copy(self.head.length),
            Mode::Match => Place::Match(self.head.was - self.head.length),
            Mode::End => Place::End,
            Mode::Failed => Place::Failed,
            _ => Place::Within,
        }
    }

    /// Is the last block being decoded, or has it been?
    pub fn in_last_block(&self) -> bool {
        self.head.last
    }

    /// What was wrong.
    pub fn fault(&self) -> Option<Fault> {
        self.head.fault
    }

    /// How many bits back the symbol starts that is being decoded; -1 between blocks.
    pub fn back(&self) -> i32 {
        self.head.back
    }

    /// Bits taken from the input and not used, fewer than 8 unless a field is incomplete: the
    /// next one is the lowest. Whoever reads what stands before and after the blocks shares them.
    pub fn bits(&mut self) -> (&mut u64, &mut u32) {
        (&mut self.head.hold, &mut self.head.bits)
    }

    /// How many bits are taken and not used.
    pub fn unused_bits(&self) -> u32 {
        self.head.bits
    }

    /// Entries of the tables that zlib's decoder would have made of the last block's codes.
    pub fn zlib_codes_used(&self) -> u32 {
        let Some(Sets { made, length_canon, own, .. }) = self.sets() else { return 0 };
        match made {
            Made::Nothing => 0,
            Made::Lengths => table::zlib_entries(length_canon, 7),
            Made::Litlen => table::zlib_entries(&own.litlen, 9),
            Made::All => {
                table::zlib_entries(&own.litlen, 9) + table::zlib_entries(&own.distance, 6)
            }
        }
    }
}

impl std::fmt::Debug for Inflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflate").field("at", &self.at()).finish_non_exhaustive()
    }
}
