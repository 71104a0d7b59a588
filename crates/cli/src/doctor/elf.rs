//! What a program or library says of itself: which libraries it needs, where they are looked for, which it has within.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use memchr::memmem;
use object::{
    Endianness,
    elf::{self, FileHeader32, FileHeader64},
    read::elf::{Dyn, FileHeader, ProgramHeader},
};

/// Larger files are not read.
const MOST: u64 = 1 << 30;

/// One file in ELF.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Elf {
    /// Of the loader: programs that it does not load are static.
    pub(super) interpreter: Option<PathBuf>,
    /// Whether there is anything for a loader to do.
    pub(super) dynamic: bool,
    /// The names of the libraries that it needs.
    pub(super) needed: Vec<String>,
    /// Where these are looked for before `LD_LIBRARY_PATH`.
    pub(super) rpath: Vec<String>,
    /// Where after it.
    pub(super) runpath: Vec<String>,
    /// Architecture and class: a library must have its program's.
    pub(super) machine: (u16, bool),
    /// Copies of libraries within, by [`COPIES`].
    pub(super) copies: Vec<&'static str>,
}

/// What only a copy of a library itself has: the library, and bytes of it.
const COPIES: [(&str, &[u8]); 5] = [
    ("zlib", b"Jean-loup Gailly and Mark Adler"),
    ("OpenSSL", b"crypto/evp/evp_enc.c"),
    // BoringSSL and AWS-LC.
    ("OpenSSL", b"crypto/fipsmodule/"),
    ("expat", b"expat_2."),
    ("Hyperscan", b"Expression has max_offset="),
];

/// Reads a file; `None`: it is something else than ELF.
pub(super) fn read(path: &Path) -> io::Result<Option<Elf>> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    if magic != elf::ELFMAG {
        return Ok(None);
    }
    if meta.len() > MOST {
        return Err(io::Error::other("it is larger than 1 GB"));
    }
    parse(&fs::read(path)?).map(Some)
}

/// Reads the bytes of such a file.
fn parse(bytes: &[u8]) -> io::Result<Elf> {
    let class = bytes.get(4);
    let read = match class {
        Some(&elf::ELFCLASS64) => of_class::<FileHeader64<Endianness>>(bytes, true),
        Some(&elf::ELFCLASS32) => of_class::<FileHeader32<Endianness>>(bytes, false),
        _ => return Err(io::Error::other("a damaged ELF file")),
    };
    let mut found = read.map_err(|e| io::Error::other(format!("a damaged ELF file: {e}")))?;
    for (library, mark) in COPIES {
        if !found.copies.contains(&library) && memmem::find(bytes, mark).is_some() {
            found.copies.push(library);
        }
    }
    Ok(found)
}

fn of_class<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    is_64: bool,
) -> object::read::Result<Elf> {
    let header = H::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let mut found = Elf { machine: (header.e_machine(endian), is_64), ..Elf::default() };
    for segment in segments {
        if let Some(path) = segment.interpreter(endian, bytes)? {
            found.interpreter = Some(String::from_utf8_lossy(path).into_owned().into());
        }
        let Some(entries) = segment.dynamic(endian, bytes)? else { continue };
        found.dynamic = true;
        let value = |tag: i64| {
            let entries = entries.iter();
            let mut of_tag = entries.filter(|entry| entry.tag(endian) == tag);
            of_tag.next().map(|entry| entry.d_val(endian).into())
        };
        let (Some(strings), Some(size)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
            continue;
        };
        let within = segments
            .iter()
            .find_map(|load| load.data_range(endian, bytes, strings, size).ok().flatten());
        let Some(strings) = within else { continue };
        let text = |at: u64| {
            let rest = strings.get(usize::try_from(at).ok()?..)?;
            let end = rest.iter().position(|&byte| byte == 0)?;
            Some(String::from_utf8_lossy(&rest[..end]).into_owned())
        };
        for entry in entries {
            let Some(name) = text(entry.d_val(endian).into()) else { continue };
            let folders = || name.split(':').filter(|f| !f.is_empty()).map(str::to_owned);
            match entry.tag(endian) {
                elf::DT_NEEDED => found.needed.push(name),
                elf::DT_RPATH => found.rpath.extend(folders()),
                elf::DT_RUNPATH => found.runpath.extend(folders()),
                elf::DT_NULL => break,
                _ => {}
            }
        }
    }
    // The loader ignores the older one where both are.
    if !found.runpath.is_empty() {
        found.rpath.clear();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let here = read(&std::env::current_exe().unwrap()).unwrap().expect("ELF");
        assert!(here.dynamic && here.interpreter.is_some(), "{here:?}");
        assert!(here.needed.iter().any(|name| name == "libc.so.6"), "{here:?}");
        assert!(here.machine.1);
        assert_eq!(read(Path::new("/etc/passwd")).unwrap(), None);
        assert!(read(Path::new("/nowhere")).is_err() && read(Path::new("/dev/null")).is_err());
    }

    /// Damage is an error or found out about, in bounded time; it never panics.
    #[test]
    fn damage_does_no_harm() {
        let bytes = fs::read("/bin/true").unwrap();
        let whole = parse(&bytes).unwrap();
        for cut in (0..bytes.len()).step_by(97) {
            let _ = parse(&bytes[..cut]);
        }
        let (mut state, mut differ) = (1_u32, 0);
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // The headers, and what they point to.
                let at = state as usize >> 8;
                let at = if at.is_multiple_of(2) { at % 1024 } else { at % bytes.len() };
                damaged[at] ^= (state >> 3) as u8;
            }
            differ += u32::from(parse(&damaged).map_or(true, |found| found != whole));
        }
        assert!(differ > 100, "{differ}");
    }
}
