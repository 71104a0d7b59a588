//! Bytes from a file to a file: compression and decompression by the device.

use std::{
    fs::File,
    io::{self, Read, Write},
};

use parcomp::{
    BadReason, Error, Format, Params, Source, Summary, compress, compress_member, decompress,
};

use super::{
    Run,
    args::Task,
    member::{Header, Wrong, first_of_many},
};

/// Compression of one level of gzip: a level of the device and bytes per chunk.
///
/// Each chunk is a piece without reference to the one before, so larger ones cost fewer bytes. The device's level is the
/// lowest that gives no more than 1.005 x the bytes of pigz at the level of gzip, by the measurement in
/// docs/performance.md.
fn effort(level: u8) -> (u8, usize) {
    const SMALL: usize = 512 << 10;
    const LARGE: usize = 1 << 20;
    match level {
        1..=3 => (level, SMALL),
        4 | 5 => (level, LARGE),
        _ => (8, LARGE),
    }
}

/// A file that was looked into, and is read from the start.
pub(crate) struct Input {
    file: File,
    /// What was read ahead.
    head: Vec<u8>,
    at: usize,
    /// How long it is, of a regular file.
    pub(crate) len: Option<u64>,
    /// The last eight bytes that were read.
    pub(crate) tail: [u8; 8],
}

impl Input {
    pub(crate) fn new(file: File, len: Option<u64>) -> Input {
        Input { file, head: Vec::new(), at: 0, len, tail: [0; 8] }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Reads ahead what it takes to tell the header. [`Wrong::Short`]: there is no more.
    pub(crate) fn header(&mut self) -> io::Result<Result<Header, Wrong>> {
        /// No header is longer for us.
        const MOST: usize = 1 << 20;
        loop {
            let header = Header::read(&self.head);
            let len = self.head.len();
            if header != Err(Wrong::Short) || len >= MOST {
                return Ok(header);
            }
            self.head.resize(len.max(512) * 2, 0);
            let got = read(&mut self.file, &mut self.head[len..]);
            self.head.truncate(len + *got.as_ref().unwrap_or(&0));
            if got? == 0 {
                return Ok(header);
            }
        }
    }
}

fn read(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.head[self.at..];
        let n = if rest.is_empty() {
            read(&mut self.file, buffer)?
        } else {
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            self.at += n;
            n
        };
        let new = n.min(8);
        self.tail.copy_within(new.., 0);
        self.tail[8 - new..].copy_from_slice(&buffer[n - new..n]);
        Ok(n)
    }
}

/// Standard output without a buffer of its own.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(io::stdout(), bytes)?)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(io::stdout(), parts)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Run {
    /// The file as one member with this header, or as many, the first of which has it and is empty.
    pub(crate) fn compress(
        &self,
        input: &mut Input,
        header: &[u8],
        sink: &mut dyn Write,
    ) -> Result<Summary, Error> {
        let (level, chunk) = effort(self.o.level);
        let params = Params { level, ..self.params(input.len, chunk) };
        let len = input.len;
        let source = Source::Reader { reader: input, len };
        if self.o.independent {
            let first = first_of_many(header);
            let failed = |source| Error::Io { what: "write".into(), source };
            sink.write_all(&first).map_err(failed)?;
            let mut summary = compress(&*self.provider, &params, source, sink, &mut |_, _| {})?;
            summary.bytes_out += first.len() as u64;
            return Ok(summary);
        }
        compress_member(&*self.provider, &params, header, source, sink, &mut |_, _| {})
    }

    /// All its members, of which the first has this header.
    pub(crate) fn decompress(
        &self,
        header: &Header,
        input: &mut Input,
        sink: &mut dyn Write,
    ) -> Result<Summary, Error> {
        let mut params = Params { format: Format::Gzip, ..self.params(input.len, 64 << 10) };
        if !header.lengths {
            // One after the other: to hand each of them to another thread takes longer than it saves.
            params.engines = Some(0);
        }
        let len = input.len;
        let source = Source::Reader { reader: input, len };
        decompress(&*self.provider, &params, source, sink, &mut |_, _| {})
    }

    /// What is no gzip, as it is.
    pub(crate) fn copy(&self, input: &mut Input, sink: &mut dyn Write) -> Result<Summary, Error> {
        let mut buffer = vec![0; 128 << 10];
        let mut summary = Summary::default();
        loop {
            let failed = |what: &str, source| Error::Io { what: what.into(), source };
            let n = input.read(&mut buffer).map_err(|e| failed("read", e))?;
            if n == 0 {
                return Ok(summary);
            }
            sink.write_all(&buffer[..n]).map_err(|e| failed("write", e))?;
            summary.bytes_in += n as u64;
            summary.bytes_out += n as u64;
        }
    }

    /// Of the engines the result does not depend.
    fn params(&self, len: Option<u64>, chunk: usize) -> Params {
        let mut params =
            Params { chunk_size: chunk, engines: self.o.processes, ..Params::default() };
        // Nothing to do side by side: the calling thread does it, and none is started.
        if len.is_some_and(|len| len <= chunk as u64) || params.engines() == 1 {
            params.engines = Some(0);
        }
        // Enough to keep engines busy while the calling thread reads and writes; fewer buffers stay in the cache.
        params.max_jobs_outstanding = (2 * params.engines() + 2).min(Params::MAX_JOBS);
        params
    }

    /// Says what went wrong with the data of `name`, or with the file `target`.
    pub(crate) fn failed(
        &mut self,
        name: &str,
        target: &str,
        e: &Error,
    ) -> Result<(), super::Abort> {
        match e {
            Error::Io { what, source } if what == "write" => {
                self.broken(target, &super::words(source));
                return Err(super::Abort);
            }
            Error::Io { source, .. } => self.broken(name, &super::words(source)),
            Error::NotThisFormat(_) => self.broken(name, "not in gzip format"),
            Error::BadData { reason, .. } => self.broken(
                name,
                match reason {
                    BadReason::Truncated => "unexpected end of file",
                    BadReason::Checksum => "invalid compressed data--crc error",
                    BadReason::Length => "invalid compressed data--length error",
                    _ => "invalid compressed data--format violated",
                },
            ),
            other => self.broken(name, &other.to_string()),
        }
        Ok(())
    }

    /// Whether what is read is a file of this format, for tasks that want one; says if not.
    pub(crate) fn recognise(
        &mut self,
        name: &str,
        input: &mut Input,
    ) -> Result<Option<Header>, super::Abort> {
        let found = match input.header() {
            Ok(found) => found,
            Err(e) => {
                self.broken(name, &super::words(&e));
                return Ok(None);
            }
        };
        match found {
            Ok(header) => return Ok(Some(header)),
            Err(Wrong::Short) => self.broken(name, "unexpected end of file"),
            // As `zcat -f`: an empty header says that it is copied.
            Err(Wrong::Other)
                if self.o.force && self.o.stdout && self.o.task == Task::Decompress =>
            {
                return Ok(Some(Header::default()));
            }
            Err(Wrong::Other) => self.broken(name, "not in gzip format"),
            Err(Wrong::Method(m)) => {
                self.error(&format!("{name}: unknown method {m} -- not supported"));
            }
            Err(Wrong::Encrypted) => self.error(&format!("{name} is encrypted -- not supported")),
            Err(Wrong::Flags(flags)) => {
                self.error(&format!("{name} has flags 0x{flags:x} -- not supported"));
            }
        }
        Ok(None)
    }
}
