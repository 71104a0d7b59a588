//! The parser: chunks in, records out, suspended wherever a chunk or the output ends.

use std::collections::VecDeque;
use std::sync::Arc;

use lookaside_spec::xml::{Limits, Name, Resolver, Xml};

use crate::dtd::Dtd;
use crate::input::Input;
use crate::kernel::{self, Index, Isa};
use crate::names::Names;
use crate::record::{IN_BYTES, Kind, Output, Record};
use crate::session::Session;
use crate::token::TokenEnd;
use crate::{Error, Rule};

/// Bytes of a window: its bitmaps stay in the first cache.
const WINDOW: usize = 16 << 10;
/// So many bytes are thought to be a record, or fewer.
const MOST_PER_RECORD: usize = 32;

/// How far [`Parser::feed`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the chunk that were taken. The next call begins with the byte behind them.
    pub consumed: usize,
    /// Why it ended.
    pub status: Status,
}

/// Why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The chunk is consumed.
    NeedInput,
    /// The output is full; the call is to be repeated with room, and with the rest of the chunk.
    Full,
    /// The document was complete and well-formed.
    Finished,
    /// The document is not well-formed, or beyond a limit. Further calls say the same.
    Failed(Error),
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Start,
    Prolog,
    Subset,
    SubsetEnd,
    Content,
    Cdata,
    Epilog,
}

/// Why a window's walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The window ends within a token.
    More,
    Full,
    /// An entity was entered.
    Entered,
    /// The XML declaration was read: its encoding is in force behind it.
    Declared,
    Fail(Rule, usize),
}

pub(crate) type Step<T> = Result<T, Halt>;

impl Halt {
    /// With the place of what it was found in.
    pub(crate) fn at(self, at: usize) -> Halt {
        match self {
            Halt::Fail(rule, _) => Halt::Fail(rule, at),
            halt => halt,
        }
    }
}

pub(crate) fn fail<T>(rule: Rule, at: usize) -> Step<T> {
    Err(Halt::Fail(rule, at))
}

/// Bytes that are walked over.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) bytes: &'a [u8],
    /// The chunk's byte at which they begin.
    pub(crate) base: usize,
    /// The document's byte at which they begin; of an entity's text, that of the reference.
    pub(crate) at: u64,
    /// Nothing follows, and what that means where more is needed.
    pub(crate) end: Option<Rule>,
    /// They are not the caller's chunk.
    pub(crate) copy: bool,
    /// They are the text of an entity.
    pub(crate) entity: bool,
}

impl Window<'_> {
    #[inline(always)]
    pub(crate) fn place(&self, at: usize) -> u64 {
        if self.entity { self.at } else { self.at + at as u64 }
    }

    /// The byte, or [`Halt::More`].
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Step<u8> {
        self.bytes.get(at).copied().ok_or(Halt::More)
    }

    /// Whether `text` stands at `at`: with less than all of it, [`Halt::More`].
    pub(crate) fn starts(&self, at: usize, text: &[u8]) -> Step<bool> {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        match rest.len() < text.len() && text.starts_with(rest) {
            true => Err(Halt::More),
            false => Ok(rest.starts_with(text)),
        }
    }
}

/// An open element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) qname: u32,
    pub(crate) name: u32,
    /// Bindings of prefixes before it.
    pub(crate) bindings: u32,
}

/// The text of an entity that is being read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) text: Arc<[u8]>,
    pub(crate) pos: usize,
    pub(crate) entity: u32,
    /// Open elements when it began.
    pub(crate) depth: usize,
    /// The place of the reference in the document.
    pub(crate) at: u64,
}

/// Where a byte is: behind how many lines and characters.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: u64,
    lines: u64,
    columns: u64,
    after_return: bool,
}

/// One document's state; it can be used for another one after [`Parser::reset`].
pub struct Parser {
    pub(crate) isa: Isa,
    pub(crate) limits: Limits,
    pub(crate) namespaces: bool,
    encoding: Option<Arc<str>>,
    pub(crate) resolver: Option<Resolver>,
    pub(crate) names: Names,
    pub(crate) state: State,
    pub(crate) open: Vec<Open>,
    /// Prefixes and what they were bound to before.
    pub(crate) bindings: Vec<(u32, u32)>,
    pub(crate) attributes: Vec<Record>,
    pub(crate) scratch: Vec<u8>,
    /// A text with references becomes one record where it can; and memory for that.
    pub(crate) joins: bool,
    pub(crate) joint: Vec<u8>,
    pub(crate) tag: u32,
    pub(crate) frames: Vec<Frame>,
    pub(crate) dtd: Dtd,
    pub(crate) seen_doctype: bool,
    pub(crate) expanded: u64,
    /// Parameter entities within each other.
    pub(crate) parameter_depth: u32,
    /// The encoding that the XML declaration names.
    pub(crate) declared: Option<String>,
    /// Bytes above 127 are not in the encoding.
    pub(crate) ascii: bool,
    /// What the end of the input means where more is needed.
    pub(crate) end_rule: Rule,
    /// Where the bytes that are walked over begin in the caller's chunk.
    pub(crate) base: usize,
    /// The bytes of the document that were walked over.
    done: u64,
    /// Bytes of the last window for each of its records, about.
    per_record: usize,
    index: Index,
    carry: Vec<u8>,
    token: TokenEnd,
    pending: VecDeque<Record>,
    pending_bytes: Vec<u8>,
    place: Place,
    pub(crate) input: Input,
    failed: Option<Error>,
    finished: bool,
}

impl Parser {
    /// For one document after the other.
    pub fn new(session: &Session) -> Parser {
        let Xml { namespaces, encoding, limits, resolver } = &session.spec;
        Parser {
            isa: session.isa,
            limits: *limits,
            namespaces: *namespaces,
            encoding: encoding.clone(),
            resolver: resolver.clone(),
            names: Names::new(*namespaces, limits.name as usize),
            state: State::Start,
            open: vec![],
            bindings: vec![],
            attributes: vec![],
            scratch: vec![],
            joins: false,
            joint: vec![],
            tag: 0,
            frames: vec![],
            dtd: Dtd::default(),
            seen_doctype: false,
            expanded: 0,
            parameter_depth: 0,
            declared: None,
            ascii: false,
            end_rule: Rule::UnexpectedEnd,
            base: 0,
            done: 0,
            per_record: MOST_PER_RECORD,
            index: Index::default(),
            carry: vec![],
            token: TokenEnd::default(),
            pending: VecDeque::new(),
            pending_bytes: vec![],
            place: Place::default(),
            input: Input::new(encoding.as_deref()),
            failed: None,
            finished: false,
        }
    }

    /// Forgets the document; keeps memory, and names while they are few. False: the numbers of names and strings begin anew.
    pub fn reset(&mut self) -> bool {
        while let Some((prefix, before)) = self.bindings.pop() {
            self.names.entries[prefix as usize].binding = before;
        }
        let few = self.names.memory() <= 1 << 20;
        match few {
            true => self.names.reset(self.seen_doctype),
            false => self.names = Names::new(self.namespaces, self.limits.name as usize),
        }
        if self.seen_doctype {
            self.dtd = Dtd::default();
        }
        self.state = State::Start;
        self.open.clear();
        self.frames.clear();
        self.seen_doctype = false;
        self.expanded = 0;
        self.parameter_depth = 0;
        self.declared = None;
        self.ascii = false;
        self.end_rule = Rule::UnexpectedEnd;
        self.done = 0;
        self.per_record = MOST_PER_RECORD;
        self.carry.clear();
        self.token = TokenEnd::default();
        self.pending.clear();
        self.pending_bytes.clear();
        self.place = Place::default();
        self.input = Input::new(self.encoding.as_deref());
        self.failed = None;
        self.finished = false;
        few
    }

    /// Parses the next bytes of the document. `last`: none follow.
    ///
    /// Records are written behind those that `out` has. Their texts lie in `chunk` or, flagged [`IN_BYTES`], in
    /// `out.bytes`. Allocates for what is unfinished when the chunk ends, and for new names.
    pub fn feed(&mut self, chunk: &[u8], last: bool, out: &mut Output<'_>) -> Progress {
        if let Some(error) = self.failed {
            let status = if self.drain(out) { Status::Failed(error) } else { Status::Full };
            return Progress { consumed: 0, status };
        }
        if self.finished && self.pending.is_empty() {
            return Progress { consumed: 0, status: Status::Finished };
        }
        let mut input = std::mem::take(&mut self.input);
        let (consumed, halt) = input.feed(self, chunk, last, out);
        let status = match halt {
            Ok(()) => Status::Finished,
            Err(Halt::Full) => Status::Full,
            Err(Halt::Fail(rule, _)) => {
                let place = self.place;
                let error = Error {
                    rule,
                    offset: input.raw(place.at),
                    line: place.lines + 1,
                    column: place.columns + 1,
                };
                self.failed = Some(error);
                // What came before the error comes before it.
                if self.pending.is_empty() { Status::Failed(error) } else { Status::Full }
            }
            Err(_) => Status::NeedInput,
        };
        self.input = input;
        Progress { consumed, status }
    }

    /// What was wrong with the document.
    pub fn error(&self) -> Option<Error> {
        self.failed
    }

    /// The name with the number of a record.
    pub fn name(&self, id: u32) -> Option<&Name> {
        self.names.name(id)
    }

    /// The bytes of a string, UTF-8.
    pub fn string(&self, id: u32) -> &[u8] {
        self.names.bytes(id)
    }

    /// The qualified name with the number of a record, as it was written.
    pub fn qname(&self, id: u32) -> &[u8] {
        self.names.name(id).map_or(&[], |name| self.names.bytes(name.qname))
    }

    /// Bytes of the document, in UTF-8, that are behind.
    pub fn position(&self) -> u64 {
        self.done
    }

    /// Parses UTF-8. Returns how many bytes of `chunk` were taken, and why no more; `copy`: it is not the caller's.
    pub(crate) fn walk(
        &mut self,
        chunk: &[u8],
        last: bool,
        copy: bool,
        out: &mut Output<'_>,
    ) -> (usize, Step<()>) {
        let mut pos = 0;
        let mut size = WINDOW;
        // What the index describes, and whether a bad character follows.
        let mut index = std::mem::take(&mut self.index);
        let mut indexed = (0, 0);
        let mut poison = None;
        let halt = loop {
            if !self.drain(out) || out.is_full() {
                break Err(Halt::Full);
            }
            if self.finished {
                break Ok(());
            }
            if !self.frames.is_empty() {
                match self.walk_entity(out) {
                    Ok(()) => continue,
                    Err(Halt::Fail(rule, _)) => {
                        self.advance(&[], 0);
                        break fail(rule, 0);
                    }
                    Err(halt) => break Err(halt),
                }
            }
            if !self.carry.is_empty() {
                match self.walk_carry(chunk, &mut pos, last, out) {
                    Ok(()) => continue,
                    Err(halt) => break Err(halt),
                }
            }
            if pos >= indexed.1 || indexed.1 == 0 {
                // Not much more than what the output can take.
                let room = (out.records.len() - out.len).saturating_mul(self.per_record);
                let len = if size == WINDOW { size.min(room.max(512)) } else { size };
                let len = len.min(chunk.len() - pos);
                let mut end = pos + len;
                if !(last && end == chunk.len()) {
                    end = kernel::boundary(chunk, pos, end);
                }
                if end == pos && pos < chunk.len() {
                    self.keep(&chunk[pos..]);
                    pos = chunk.len();
                    break Err(Halt::More);
                }
                poison = self.look(&mut index, &chunk[pos..end], &mut end, pos);
                indexed = (pos, end);
            }
            let (from, end) = indexed;
            let is_last = last && end == chunk.len();
            let window = Window {
                bytes: &chunk[from..end],
                base: self.base + from,
                at: self.done - (pos - from) as u64,
                end: poison.or(is_last.then_some(self.end_rule)),
                copy,
                entity: false,
            };
            let filled = out.len;
            let (reached, halt) = self.run(&window, &index, pos - from, out);
            let taken = from + reached - pos;
            self.per_record = (taken / (out.len - filled).max(1)).clamp(4, MOST_PER_RECORD - 1) + 1;
            self.advance(&chunk[pos..], taken);
            pos += taken;
            match halt {
                Halt::More if window.end.is_some() => {
                    let rule = window.end.unwrap_or(Rule::UnexpectedEnd);
                    let left = end - pos;
                    let ended =
                        rule == Rule::UnexpectedEnd && left == 0 && self.state == State::Epilog;
                    if ended {
                        self.finished = true;
                        continue;
                    }
                    self.advance(&chunk[pos..], left);
                    break fail(rule, 0);
                }
                Halt::More if end < chunk.len() && taken > 0 => {
                    size = WINDOW;
                    indexed = (0, 0);
                }
                Halt::More
                    if last && end < chunk.len()
                        || kernel::boundary(chunk, pos, chunk.len()) > end =>
                {
                    size = (end - pos).max(WINDOW) * 2;
                    indexed = (0, 0);
                }
                Halt::More if pos < chunk.len() => {
                    self.keep(&chunk[pos..]);
                    pos = chunk.len();
                    if self.carry.len() > self.limits.memory {
                        break fail(Rule::LimitMemory, 0);
                    }
                    break Err(Halt::More);
                }
                Halt::Fail(rule, at) => {
                    let to = (from + at).max(pos);
                    self.advance(&chunk[pos..], to - pos);
                    break fail(rule, at);
                }
                Halt::Entered | Halt::Full => {}
                other => break Err(other),
            }
        };
        self.index = index;
        (pos, halt)
    }

    /// Fills the index. `end` becomes the end of what is valid; the rule that the byte there breaks is returned.
    fn look(&self, index: &mut Index, bytes: &[u8], end: &mut usize, from: usize) -> Option<Rule> {
        let mut valid = bytes.len();
        let mut rule = None;
        if !index.fill(self.isa, bytes) {
            valid = kernel::valid_up_to(bytes);
            let rest = &bytes[valid..];
            let control = rest[0] < 0x80
                || rest.starts_with(b"\xef\xbf\xbe")
                || rest.starts_with(b"\xef\xbf\xbf");
            rule = Some(if control { Rule::Char } else { Rule::MalformedEncoding });
        }
        if self.ascii
            && let Some(at) = bytes[..valid].iter().position(|byte| *byte > 127)
        {
            (valid, rule) = (at, Some(Rule::MalformedEncoding));
        }
        if valid < bytes.len() {
            *end = from + valid;
            index.cut(valid);
        }
        rule
    }

    /// Completes the token that an earlier chunk began.
    fn walk_carry(
        &mut self,
        chunk: &[u8],
        pos: &mut usize,
        last: bool,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let mut complete = false;
        while !complete && *pos < chunk.len() {
            complete = self.token.step(chunk[*pos]);
            self.carry.push(chunk[*pos]);
            *pos += 1;
        }
        if self.carry.len() > self.limits.memory {
            return fail(Rule::LimitMemory, 0);
        }
        if !complete && (!last || *pos < chunk.len()) {
            return Err(Halt::More);
        }
        loop {
            let at_end = last && *pos == chunk.len();
            let carry = std::mem::take(&mut self.carry);
            let mut index = std::mem::take(&mut self.index);
            let mut end =
                if at_end { carry.len() } else { kernel::boundary(&carry, 0, carry.len()) };
            let poison = self.look(&mut index, &carry[..end], &mut end, 0);
            let window = Window {
                bytes: &carry[..end],
                base: 0,
                at: self.done,
                end: poison.or(at_end.then_some(self.end_rule)),
                copy: true,
                entity: false,
            };
            let (reached, halt) = self.run(&window, &index, 0, out);
            let rule = window.end;
            self.index = index;
            self.advance(&carry, reached);
            if let Halt::Fail(_, at) = halt {
                self.advance(&carry[reached..], at.max(reached) - reached);
                return Err(halt);
            }
            let left = &carry[reached..];
            match (halt, rule) {
                (Halt::More, Some(rule)) => {
                    if left.is_empty() && rule == Rule::UnexpectedEnd && self.state == State::Epilog
                    {
                        self.finished = true;
                        return Ok(());
                    }
                    self.advance(left, end - reached);
                    return fail(rule, 0);
                }
                // One token and no more: what is left is of the next one.
                (Halt::More, None) if reached == 0 => {
                    self.carry = carry;
                    let Some(&byte) = chunk.get(*pos) else { return Err(Halt::More) };
                    self.token.step(byte);
                    self.carry.push(byte);
                    *pos += 1;
                    continue;
                }
                (Halt::Full | Halt::Entered | Halt::Declared | Halt::More, _) => {
                    let left = left.to_vec();
                    self.carry = carry;
                    self.carry.clear();
                    self.keep(&left);
                    return if halt == Halt::Declared { Err(halt) } else { Ok(()) };
                }
                (Halt::Fail(..), _) => return Err(halt),
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.token = TokenEnd::default();
        for byte in bytes {
            self.token.step(*byte);
        }
        self.carry.extend(bytes);
    }

    /// Takes the unfinished bytes back: the encoding behind them is another one.
    pub(crate) fn take_carry(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.carry)
    }

    /// Reads on in the innermost entity.
    fn walk_entity(&mut self, out: &mut Output<'_>) -> Step<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (text, pos, at, depth) = (frame.text.clone(), frame.pos, frame.at, frame.depth);
        let mut size = 256.max(out.records.len().min(512) * 32);
        let mut index = Index::default();
        loop {
            let end = kernel::boundary(&text, pos, text.len().min(pos + size));
            let whole = end == text.len();
            index.fill(self.isa, &text[pos..end]);
            let window = Window {
                bytes: &text[pos..end],
                base: 0,
                at,
                end: whole.then_some(Rule::EntityBalance),
                copy: true,
                entity: true,
            };
            let (reached, halt) = self.run(&window, &index, 0, out);
            let level = if halt == Halt::Entered { 2 } else { 1 };
            if let Some(position) = self.frames.len().checked_sub(level) {
                self.frames[position].pos = pos + reached;
            }
            match halt {
                Halt::Entered | Halt::Full => return Ok(()),
                Halt::More if whole && pos + reached == text.len() => {
                    if self.open.len() != depth || self.state != State::Content {
                        return fail(Rule::EntityBalance, 0);
                    }
                    let entity = self.frames.pop().map_or(0, |frame| frame.entity);
                    self.dtd.close(entity);
                    self.emit(
                        out,
                        Record { kind: Kind::EntityEnd, name: entity, ..Record::default() },
                    );
                    return Ok(());
                }
                Halt::More if whole => return fail(Rule::EntityBalance, 0),
                Halt::More if reached > 0 => return Ok(()),
                Halt::More => size *= 2,
                halt => return Err(halt),
            }
        }
    }

    /// Walks over a window from `pos` on.
    fn run(
        &mut self,
        w: &Window<'_>,
        index: &Index,
        mut pos: usize,
        out: &mut Output<'_>,
    ) -> (usize, Halt) {
        loop {
            if out.is_full() {
                return (pos, Halt::Full);
            }
            let step = match self.state {
                State::Content => {
                    let (reached, halt) = self.content(w, index, pos, out);
                    pos = reached;
                    if let Some(halt) = halt {
                        return (pos, halt);
                    }
                    continue;
                }
                State::Cdata => self.cdata(w, index, &mut pos, out),
                State::Start => self.start(w, &mut pos, out),
                State::Prolog | State::Epilog => self.misc(w, index, &mut pos, out),
                State::Subset | State::SubsetEnd => self.subset(w, &mut pos, out),
            };
            if let Err(halt) = step {
                return (pos, halt);
            }
        }
    }

    /// `len` bytes are behind.
    fn advance(&mut self, bytes: &[u8], len: usize) {
        let bytes = &bytes[..len];
        self.done += len as u64;
        let place = &mut self.place;
        place.at += len as u64;
        if bytes.is_empty() {
            return;
        }
        let (lines, last) = kernel::lines(self.isa, bytes, place.after_return);
        place.lines += lines;
        let characters = kernel::characters(self.isa, &bytes[last.map_or(0, |at| at + 1)..]);
        place.columns = if last.is_some() { characters } else { place.columns + characters };
        place.after_return = bytes.ends_with(b"\r");
    }

    // Output.

    /// Moves what did not fit before. False: it still does not.
    fn drain(&mut self, out: &mut Output<'_>) -> bool {
        while let Some(&record) = self.pending.front() {
            if out.is_full() {
                return false;
            }
            self.pending.pop_front();
            let from = record.offset as usize;
            if record.flags & IN_BYTES != 0 {
                let text = &self.pending_bytes[from..from + record.len as usize];
                let offset = out.bytes.len() as u32;
                out.bytes.extend(text);
                out.push(Record { offset, ..record });
            } else {
                out.push(record);
            }
        }
        self.pending_bytes.clear();
        true
    }

    /// Bytes that wait for room in the output.
    pub(crate) fn pending_memory(&self) -> usize {
        self.pending_bytes.len() + self.pending.len() * size_of::<Record>()
    }

    /// Whether a record goes to the output. What is pending came when it was full.
    #[inline(always)]
    fn fits(&self, out: &Output<'_>) -> bool {
        debug_assert!(out.is_full() || self.pending.is_empty());
        !out.is_full()
    }

    /// A record without text.
    #[inline(always)]
    pub(crate) fn emit(&mut self, out: &mut Output<'_>, record: Record) {
        if self.fits(out) {
            out.push(record);
        } else {
            self.emit_later(record);
        }
    }

    #[cold]
    fn emit_later(&mut self, record: Record) {
        self.pending.push_back(record);
    }

    /// A record with text that lies elsewhere.
    pub(crate) fn emit_bytes(&mut self, out: &mut Output<'_>, record: Record, text: &[u8]) {
        let fits = self.fits(out);
        let bytes = if fits { &mut *out.bytes } else { &mut self.pending_bytes };
        let flags = record.flags | IN_BYTES;
        let record = Record { flags, offset: bytes.len() as u32, len: text.len() as u32, ..record };
        bytes.extend(text);
        if fits {
            out.push(record);
        } else {
            self.pending.push_back(record);
        }
    }

    /// A record with text of the window.
    #[inline(always)]
    pub(crate) fn emit_text(
        &mut self,
        out: &mut Output<'_>,
        record: Record,
        w: &Window<'_>,
        from: usize,
        end: usize,
    ) {
        if !w.copy && self.fits(out) {
            let (offset, len) = ((w.base + from) as u32, (end - from) as u32);
            out.push(Record { offset, len, ..record });
        } else {
            self.emit_bytes(out, record, &w.bytes[from..end]);
        }
    }

    /// Counts what comes from entities.
    pub(crate) fn expand(&mut self, len: usize, at: usize) -> Step<()> {
        self.expanded += len as u64;
        let limits = &self.limits;
        if self.expanded > limits.expansion {
            return fail(Rule::LimitExpansion, at);
        }
        let direct = (self.done + at as u64).max(1);
        let most = direct.saturating_mul(limits.amplification);
        if self.expanded >= limits.amplification_from && self.expanded > most {
            return fail(Rule::LimitAmplification, at);
        }
        Ok(())
    }
}
