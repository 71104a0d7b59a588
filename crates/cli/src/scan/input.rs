//! Files, folders and standard input, in pieces.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
};

use super::{capture, stream::Piece};

/// Bytes of a piece.
const PIECE: usize = 256 << 10;

/// What is to be scanned next. Folders are read when their turn comes.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The next one is the last.
    waiting: Vec<PathBuf>,
}

impl Walk {
    /// Of standard input where there are no paths.
    pub(crate) fn new(paths: &[OsString]) -> Walk {
        let mut waiting: Vec<PathBuf> = paths.iter().rev().map(PathBuf::from).collect();
        if waiting.is_empty() {
            waiting.push("-".into());
        }
        Walk { waiting }
    }

    /// Opens the next file; or says why it cannot be read.
    pub(crate) fn next(&mut self) -> Option<Result<Input, String>> {
        while let Some(path) = self.waiting.pop() {
            let failed = |e: io::Error| Some(Err(format!("{}: {e}", path.display())));
            if path.as_os_str() == "-" {
                let input = Input::new("(standard input)".into(), Box::new(io::stdin()), false);
                return Some(input.map_err(|e| format!("standard input: {e}")));
            }
            match fs::metadata(&path) {
                Err(e) => return failed(e),
                Ok(data) if data.is_dir() => match folder(&path) {
                    Ok(inside) => self.waiting.extend(inside.into_iter().rev()),
                    Err(e) => return failed(e),
                },
                Ok(data) => {
                    let name = path.display().to_string();
                    let file = File::open(&path);
                    return match file.and_then(|f| Input::new(name, Box::new(f), data.is_file())) {
                        Ok(input) => Some(Ok(input)),
                        Err(e) => failed(e),
                    };
                }
            }
        }
        None
    }
}

/// Files and folders in a folder, by name. Of links, pipes and devices in it nothing is read.
fn folder(path: &std::path::Path) -> io::Result<Vec<PathBuf>> {
    let mut inside = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || kind.is_file() {
            inside.push(entry.path());
        }
    }
    inside.sort();
    Ok(inside)
}

/// An open file.
pub(crate) struct Input {
    /// As it is printed.
    pub name: String,
    from: Box<dyn Read>,
    /// What was read to find out what it is.
    first: Vec<u8>,
    /// A piece is filled before it is scanned: no one waits for what is there.
    whole: bool,
    ended: bool,
}

impl Input {
    fn new(name: String, mut from: Box<dyn Read>, whole: bool) -> io::Result<Input> {
        let mut first = Vec::new();
        from.by_ref().take(capture::MAGIC as u64).read_to_end(&mut first)?;
        Ok(Input { name, from, first, whole, ended: false })
    }

    /// Whether it begins as a packet capture does.
    pub(crate) fn is_capture(&self) -> bool {
        capture::is_one(&self.first)
    }

    /// All of it, to be read.
    pub(crate) fn into_reader(self) -> impl Read {
        io::Cursor::new(self.first).chain(self.from)
    }

    /// Whether it is a file, whose bytes are there.
    pub(crate) fn is_regular(&self) -> bool {
        self.whole
    }

    /// Whether all of it was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads no more.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Reads the next piece.
    pub(crate) fn read(&mut self) -> io::Result<Piece> {
        let mut data = std::mem::take(&mut self.first);
        let mut len = data.len();
        data.resize(PIECE, 0);
        loop {
            match self.from.read(&mut data[len..]) {
                Ok(0) => self.ended = true,
                Ok(n) => len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            if self.ended || len == data.len() || !self.whole {
                break;
            }
        }
        data.truncate(len);
        Ok(Piece { data, last: self.ended })
    }
}
