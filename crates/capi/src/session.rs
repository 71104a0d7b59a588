//! Sessions and streams.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use lookaside::{
    Checksum, CompressSession, CompressStream, Compression, DecompressStream, DocumentStream,
    Documents, Format, Huffman, Mover, ScanStream, Scanner,
};

use crate::{
    pointer::{In, Kind, Lent, Out, Owned},
    runtime::la_runtime,
    settings::Settings,
    status::{LA_OK, Refusal, enter},
};

/// A session of independent requests, as C holds it.
#[expect(missing_docs, reason = "the header has them")]
pub enum la_session {
    Copy(Mover),
    Compression(CompressSession),
    Scan(Scanner),
    Xml(Documents),
}

impl Kind for la_session {
    const MARK: (u32, &'static str) = (u32::from_be_bytes(*b"LAse"), "la_session");
}

/// A stream, as C holds it.
#[expect(missing_docs, reason = "the header has them")]
pub enum la_stream {
    Compress(CompressStream),
    Decompress(DecompressStream),
    Scan(ScanStream),
    Document(DocumentStream),
}

impl Kind for la_stream {
    const MARK: (u32, &'static str) = (u32::from_be_bytes(*b"LAst"), "la_stream");
}

/// See the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header has them")]
pub struct la_compression {
    pub size: usize,
    pub format: i32,
    pub level: i32,
    pub huffman: i32,
    pub window_bits: i32,
    pub checksum: i32,
    pub block_bits: i32,
}

// SAFETY: repr(C), the size first, integers.
unsafe impl Settings for la_compression {
    const DEFAULT: Self = la_compression {
        size: size_of::<Self>(),
        format: 0,
        level: 1,
        huffman: 0,
        window_bits: 15,
        checksum: 0,
        block_bits: 0,
    };
}

fn format(number: i32) -> Result<Format, Refusal> {
    match number {
        0 => Ok(Format::Raw),
        1 => Ok(Format::Zlib),
        2 => Ok(Format::Gzip),
        3 => Ok(Format::Lz4Raw),
        4 => Ok(Format::Lz4Blocks),
        5 => Ok(Format::Lz4),
        6 => Ok(Format::Lz4s),
        7 => Ok(Format::Zstd),
        _ => Err(Refusal::Invalid("format")),
    }
}

impl la_compression {
    fn spec(&self) -> Result<Compression, Refusal> {
        let huffman = match self.huffman {
            0 => Huffman::Dynamic,
            1 => Huffman::Static,
            _ => return Err(Refusal::Invalid("huffman")),
        };
        let checksum = match self.checksum {
            0 => Checksum::None,
            1 => Checksum::Crc32,
            2 => Checksum::Adler32,
            3 => Checksum::Xxh32,
            4 => Checksum::Xxh64,
            _ => return Err(Refusal::Invalid("checksum")),
        };
        // What no byte holds is out of range: 255 is too.
        let byte = |n: i32| u8::try_from(n).unwrap_or(u8::MAX);
        let window_bits = if self.window_bits == 0 { 15 } else { byte(self.window_bits) };
        let block_bits = if self.block_bits == 0 { 22 } else { byte(self.block_bits) };
        let (format, level) = (format(self.format)?, byte(self.level));
        Ok(Compression {
            format,
            level,
            huffman,
            window_bits,
            block_bits,
            checksum,
            ..Compression::default()
        })
    }
}

/// Makes an object and writes its pointer: null first, so that it is null on every error.
pub(crate) unsafe fn make<T: Kind>(
    out: &Out<Owned<T>>,
    make: impl FnOnce() -> Result<T, Refusal>,
) -> Result<c_int, Refusal> {
    out.check(1)?;
    // SAFETY: checked; one pointer.
    unsafe { out.write(0, Owned::NULL) };
    let made = make()?;
    // SAFETY: as above.
    unsafe { out.write(0, Owned::new(made)) };
    Ok(LA_OK)
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_compression_session(
    runtime: Lent<la_runtime>,
    compression: In<la_compression>,
    session: Out<Owned<la_session>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives, and for null or a structure of the size
        // that it begins with.
        let (runtime, c) = unsafe { (runtime.lent()?, compression.settings()?) };
        Ok(la_session::Compression(runtime.0.compression(c.spec()?)?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&session, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_copy_session(
    runtime: Lent<la_runtime>,
    session: Out<Owned<la_session>>,
) -> c_int {
    // SAFETY: the header asks for an object that lives.
    let body = || Ok(la_session::Copy(unsafe { runtime.lent() }?.0.mover()?));
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&session, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_session_bound(session: Lent<la_session>, len: usize) -> usize {
    // SAFETY: the header asks for an object that lives.
    match unsafe { session.lent() } {
        Ok(la_session::Copy(_)) => len,
        Ok(la_session::Compression(s)) => s.bound(len),
        Ok(la_session::Scan(_) | la_session::Xml(_)) | Err(_) => 0,
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_session_free(session: Owned<la_session>) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives and that no other thread is using.
        drop(unsafe { session.take() }?);
        Ok(LA_OK)
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_compress_stream(
    runtime: Lent<la_runtime>,
    compression: In<la_compression>,
    dictionary: In<c_void>,
    dictionary_len: usize,
    stream: Out<Owned<la_stream>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives, and for null or a structure of the size
        // that it begins with.
        let (runtime, c) = unsafe { (runtime.lent()?, compression.settings()?) };
        let dictionary = In::raw(dictionary.pointer().cast::<u8>());
        // SAFETY: the header asks for as many bytes as it says.
        let dictionary = unsafe { dictionary.many(dictionary_len) }?;
        let dictionary = Some(dictionary).filter(|d| !d.is_empty());
        Ok(la_stream::Compress(runtime.0.compress_stream(c.spec()?, dictionary)?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&stream, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_decompress_stream(
    runtime: Lent<la_runtime>,
    format_number: i32,
    dictionary: In<c_void>,
    dictionary_len: usize,
    stream: Out<Owned<la_stream>>,
) -> c_int {
    let body = || {
        // SAFETY: the header asks for an object that lives.
        let runtime = unsafe { runtime.lent() }?;
        let dictionary = In::raw(dictionary.pointer().cast::<u8>());
        // SAFETY: the header asks for as many bytes as it says.
        let dictionary = unsafe { dictionary.many(dictionary_len) }?;
        let dictionary = Some(dictionary).filter(|d| !d.is_empty());
        let format = format(format_number)?;
        Ok(la_stream::Decompress(runtime.0.decompress_stream(format, dictionary)?))
    };
    // SAFETY: the header asks for a place for one pointer.
    enter(|| unsafe { make(&stream, body) })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_stream_free(stream: Owned<la_stream>) -> c_int {
    enter(|| {
        // SAFETY: the header asks for an object that lives and that no other thread is using.
        drop(unsafe { stream.take() }?);
        Ok(LA_OK)
    })
}
