//! Reading pages. Nothing that one says is trusted: what is no page is a [`Fault`], what is no section ends a page.

use crate::{
    folder::Fault,
    layout::{
        ALIGN, CALLS, LONG, MAGIC, NAME, OPERATIONS, ORDER, SECTION, SHORT, head, operation,
        section,
    },
    process::Identity,
};

/// An operation of a device, summed over the threads of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The device's name.
    pub device: String,
    /// The operation's name, with its service: `dc.compress`.
    pub op: String,
    /// The words of [`operation`].
    pub words: [u64; operation::WORDS],
}

impl Operation {
    /// Adds what another thread or process has counted.
    pub fn add(&mut self, other: &[u64; operation::WORDS]) {
        for (sum, more) in self.words.iter_mut().zip(other) {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// What a library has counted in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The library: `zlib`.
    pub library: String,
    /// What the three counts are.
    pub columns: [String; 3],
    /// The row's name.
    pub name: String,
    /// The counts.
    pub counts: [u64; 3],
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Whose it is.
    pub process: Identity,
    /// The program's name.
    pub program: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Banks that found no room in it: what these count is not in the page.
    pub no_room: u64,
    /// Rows of devices that were counted in.
    pub operations: Vec<Operation>,
    /// Rows of libraries that were counted in.
    pub calls: Vec<Call>,
    /// Requests that reached no device.
    pub not_run: u64,
    /// Channels that were reset.
    pub resets: u64,
    /// Sections of a kind that a later version knows.
    pub unknown: u64,
    /// What ended the page before its end.
    pub fault: Option<Fault>,
}

/// The most rows of a page that are read: no library has as many.
const MOST_ROWS: usize = 4096;

fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// A text of somebody: what could steer a terminal is replaced.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    // What was cut within a character ends with this one.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl Content {
    /// Reads the bytes of a page.
    ///
    /// # Errors
    /// It does not begin as one.
    pub fn of(page: &[u8]) -> Result<Content, Fault> {
        let version = MAGIC.len() - 1;
        match page.get(..MAGIC.len()) {
            None => return Err(Fault::Short),
            Some(start) if start[..version] != MAGIC[..version] => return Err(Fault::NoPage),
            Some(start) if start[version] != MAGIC[version] => {
                return Err(Fault::Version(start[version]));
            }
            Some(_) => {}
        }
        if page.len() < ALIGN {
            return Err(Fault::Short);
        }
        if word(page, 8 * head::ORDER) != ORDER {
            return Err(Fault::ByteOrder);
        }
        let mut content = Content {
            process: Identity {
                pid: word(page, 8 * head::PID),
                start: word(page, 8 * head::START),
                namespace: word(page, 8 * head::NAMESPACE),
            },
            program: text(&page[head::PROGRAM]),
            created: word(page, 8 * head::CREATED),
            no_room: word(page, 8 * head::NO_ROOM),
            operations: Vec::new(),
            calls: Vec::new(),
            not_run: 0,
            resets: 0,
            unknown: 0,
            fault: None,
        };
        let mut at = ALIGN;
        while at < page.len() {
            match word(page, at) {
                // One is being made here, or was when its process ended.
                0 => at += ALIGN,
                SECTION => match content.section(&page[at..]) {
                    Some(length) => at += length,
                    None => {
                        content.fault = Some(Fault::Section(at));
                        break;
                    }
                },
                _ => {
                    content.fault = Some(Fault::Section(at));
                    break;
                }
            }
        }
        Ok(content)
    }

    /// Adds a section; returns its length, `None` where it is none.
    fn section(&mut self, bytes: &[u8]) -> Option<usize> {
        let number = |place: usize| usize::try_from(word(bytes, 8 * place)).ok();
        let length = number(section::LENGTH)?;
        let section = bytes.get(..length).filter(|_| length >= ALIGN && length % ALIGN == 0)?;
        let (rows, row, tail) =
            (number(section::ROWS)?, number(section::WORDS)?, number(section::TAIL)?);
        let at = number(section::COUNTS)?;
        let least = rows.checked_mul(NAME)?.checked_add(section::NAMES)?;
        let end = rows.checked_mul(row)?.checked_add(tail)?.checked_mul(8)?.checked_add(at)?;
        if at < least || end > length || (rows > 0 && row == 0) {
            return None;
        }
        let tail = &section[at + 8 * rows * row..];
        let names = section[section::NAMES..].chunks_exact(NAME);
        let counts = section[at..].chunks_exact(8 * row.max(1));
        let rows = names.zip(counts).take(rows);
        match word(section, 8 * section::KIND) {
            OPERATIONS => {
                for (name, counts) in rows {
                    // A later version may have more of them.
                    if row < operation::WORDS || self.is_full() {
                        return None;
                    }
                    let words = std::array::from_fn(|n| word(counts, 8 * n));
                    if words.iter().any(|word| *word != 0) {
                        self.operation(text(&name[..SHORT]), text(&name[SHORT..]), words);
                    }
                }
                self.not_run = self.not_run.saturating_add(word(tail, 0));
                self.resets = self.resets.saturating_add(word(tail, 8));
            }
            CALLS => {
                let column = |n: usize| text(&section[section::COLUMNS + n * SHORT..][..SHORT]);
                let (library, columns) = (text(&section[section::LABEL]), [0, 1, 2].map(column));
                for (name, counts) in rows {
                    let counts = [0, 1, 2].map(|n| word(counts, 8 * n));
                    if row < 3 || self.is_full() {
                        return None;
                    }
                    if counts != [0; 3] {
                        debug_assert_eq!(name.len(), SHORT + LONG);
                        self.call(&library, &columns, text(&name[SHORT..]), counts);
                    }
                }
            }
            _ => self.unknown += 1,
        }
        Some(length)
    }

    fn operation(&mut self, device: String, op: String, words: [u64; operation::WORDS]) {
        let known = self.operations.iter_mut().find(|o| o.device == device && o.op == op);
        match known {
            Some(known) => known.add(&words),
            None => self.operations.push(Operation { device, op, words }),
        }
    }

    fn is_full(&self) -> bool {
        self.operations.len() + self.calls.len() >= MOST_ROWS
    }

    fn call(&mut self, library: &str, columns: &[String; 3], name: String, counts: [u64; 3]) {
        let known = self.calls.iter_mut().find(|c| c.library == library && c.name == name);
        match known {
            Some(known) => {
                for (sum, more) in known.counts.iter_mut().zip(counts) {
                    *sum = sum.saturating_add(more);
                }
            }
            None => self.calls.push(Call {
                library: library.to_owned(),
                columns: columns.clone(),
                name,
                counts,
            }),
        }
    }

    /// Adds what another page of the same process, or of another one, has.
    pub fn add(&mut self, other: Content) {
        for Operation { device, op, words } in other.operations {
            self.operation(device, op, words);
        }
        for Call { library, columns, name, counts } in other.calls {
            self.call(&library, &columns, name, counts);
        }
        self.not_run = self.not_run.saturating_add(other.not_run);
        self.resets = self.resets.saturating_add(other.resets);
        self.no_room = self.no_room.saturating_add(other.no_room);
        self.unknown = self.unknown.saturating_add(other.unknown);
        self.created = self.created.min(other.created);
        self.fault = self.fault.take().or(other.fault);
    }
}
