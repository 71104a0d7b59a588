//! What is printed of matches.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    sync::Arc,
};

use lookaside::Match;
use serde_json::{Value, json};

use super::{
    lines::{Lines, Shown},
    packet::Direction,
};

/// What is wanted of matches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// A line for each match.
    pub rows: bool,
    /// With its line.
    pub text: bool,
    /// With its start.
    pub start: bool,
    /// How often each pattern matches, instead.
    pub count: bool,
    /// Which files have matches, instead.
    pub files: bool,
    /// As JSON.
    pub json: bool,
    /// With the escape sequences of a terminal.
    pub color: bool,
}

impl Style {
    /// Whether standard output is a terminal.
    pub(crate) fn terminal() -> bool {
        std::io::stdout().is_terminal()
    }

    fn painted(&self, sgr: &str, text: &str) -> String {
        match self.color {
            true => format!("\x1b[{sgr}m{text}\x1b[m"),
            false => text.to_owned(),
        }
    }
}

/// The matches of one file, or of one direction of a flow.
pub(crate) struct Report {
    style: Style,
    file: Arc<str>,
    flow: Option<Direction>,
    lines: Lines,
    /// Whether anything was found.
    pub matched: bool,
    /// How often, by pattern.
    pub counts: BTreeMap<u32, u64>,
}

impl Report {
    pub(crate) fn new(style: Style, file: Arc<str>, flow: Option<Direction>) -> Report {
        let (lines, counts) = (Lines::default(), BTreeMap::new());
        Report { style, file, flow, lines, matched: false, counts }
    }

    /// Takes a match in `piece`, which begins at `base`.
    pub(crate) fn found(&mut self, found: Match, piece: &[u8], base: u64, out: &mut Vec<u8>) {
        self.matched = true;
        if self.style.count {
            *self.counts.entry(found.id).or_default() += 1;
        }
        if !self.style.rows {
            return;
        }
        if !self.style.text {
            return self.row(found, None, out);
        }
        self.lines.found(found, piece, base);
        self.print_lines(out);
    }

    /// All matches of `piece` were taken; `last`: it is the stream's last piece.
    pub(crate) fn end_of_piece(&mut self, piece: &[u8], base: u64, last: bool, out: &mut Vec<u8>) {
        if self.style.rows && self.style.text {
            self.lines.end_of_piece(piece, base, last);
            self.print_lines(out);
        }
    }

    /// Bytes were lost, or the stream has ended: what follows is a new stream.
    pub(crate) fn cut(&mut self, out: &mut Vec<u8>) {
        self.lines.end_of_piece(&[], 0, true);
        self.print_lines(out);
        self.lines = Lines::default();
    }

    fn print_lines(&mut self, out: &mut Vec<u8>) {
        while let Some(shown) = self.lines.next() {
            self.row(shown.found, Some(&shown), out);
        }
    }

    /// What comes after all matches: the counts, or the name of the file.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if self.style.files && self.matched {
            self.file_row(out);
        } else if self.style.count {
            for (id, count) in std::mem::take(&mut self.counts) {
                self.count_row(id, count, out);
            }
        }
    }

    fn place(&self) -> String {
        let file = self.style.painted("35", &self.file);
        match &self.flow {
            Some(flow) => format!("{file}:{}", self.style.painted("34", &flow.to_string())),
            None => file,
        }
    }

    fn object(&self, fields: Value) -> Value {
        let mut object = json!({ "file": &*self.file });
        if let Some(flow) = &self.flow {
            object["flow"] = flow.to_string().into();
        }
        if let (Value::Object(all), Value::Object(fields)) = (&mut object, fields) {
            all.extend(fields);
        }
        object
    }

    fn row(&self, found: Match, shown: Option<&Shown>, out: &mut Vec<u8>) {
        let Match { end, id, start } = found;
        if self.style.json {
            let mut object = self.object(json!({ "offset": end, "id": id }));
            if self.style.start {
                object["start"] = start.into();
            }
            if let Some(shown) = shown {
                object["text"] = String::from_utf8_lossy(&shown.line).into();
            }
            return line(out, &object.to_string());
        }
        let offset = match self.style.start {
            true => format!("{start}-{end}"),
            false => end.to_string(),
        };
        let (place, offset) = (self.place(), self.style.painted("32", &offset));
        let mut row = format!("{place}:{offset}:{}", self.style.painted("36", &id.to_string()));
        if let Some(shown) = shown {
            row += ":";
            row += &self.line(shown);
        }
        line(out, &row);
    }

    /// The line, with the match in it in another colour where its start is known.
    fn line(&self, shown: &Shown) -> String {
        let within =
            |offset: u64| (offset.saturating_sub(shown.start) as usize).min(shown.line.len());
        if !self.style.start || !self.style.color {
            return printable(&shown.line);
        }
        let (from, until) = (within(shown.found.start), within(shown.found.end));
        let (before, rest) = shown.line.split_at(from.min(until));
        let (inside, after) = rest.split_at(until - from.min(until));
        let inside = self.style.painted("1;31", &printable(inside));
        printable(before) + &inside + &printable(after)
    }

    fn count_row(&self, id: u32, count: u64, out: &mut Vec<u8>) {
        if self.style.json {
            return line(out, &self.object(json!({ "id": id, "count": count })).to_string());
        }
        let id = self.style.painted("36", &id.to_string());
        line(out, &format!("{}:{id}:{count}", self.place()));
    }

    fn file_row(&self, out: &mut Vec<u8>) {
        match self.style.json {
            true => line(out, &json!({ "file": &*self.file }).to_string()),
            false => line(out, &self.style.painted("35", &self.file)),
        }
    }
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

/// Bytes as a terminal may get them: what is no UTF-8, and control characters but for the tab, as `\xNN`.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char.is_control() && char != '\t' {
                true => out.extend(char.escape_default()),
                false => out.push(char),
            }
        }
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out
}

/// Writes to standard output. Whether it still reads.
pub(crate) fn print(out: &mut Vec<u8>) -> Result<(), std::io::Error> {
    if out.is_empty() {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(out).and_then(|()| stdout.flush());
    out.clear();
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_gets() {
        assert_eq!(printable(b"a\tb\x1b[1mc\xff\xc3\xbc\r"), "a\tb\\u{1b}[1mc\\xff\u{fc}\\r");
    }
}
