//! Reading: the same file, the same calls.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::api::{Api, Open, read_all, smallest_buffer};
use crate::{Folder, Random, seeds};

/// `data` in gzip's format, by gzip.
pub fn gzip(data: &[u8], level: u32) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .arg(format!("-{level}c"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    let mut stdin = child.stdin.take().unwrap();
    let data = data.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(&data));
    let packed = child.wait_with_output().expect("gzip's output").stdout;
    feeder.join().unwrap().expect("gzip reads");
    packed
}

/// A file of some kind, and whether it is sound.
fn content(random: &mut Random) -> (&'static str, Vec<u8>) {
    let len = random.length() * 2;
    let text = random.text(len);
    let level = 1 + random.below(9) as u32;
    let mut packed = gzip(&text, level);
    match random.below(14) {
        0..3 => ("one member", packed),
        3 | 4 => {
            for _ in 0..1 + random.below(3) {
                let len = random.length();
                packed.extend(gzip(&random.text(len), 1));
            }
            ("members", packed)
        }
        5 => {
            let len = random.length();
            packed.extend(random.text(len));
            ("garbage behind", packed)
        }
        6 => {
            packed.push(0x1f);
            ("half a magic behind", packed)
        }
        7 => {
            packed.extend(vec![0; random.length()]);
            ("zeros behind", packed)
        }
        8 | 9 => {
            packed.truncate(random.below(packed.len() + 1));
            ("truncated", packed)
        }
        10 => ("plain", text),
        11 => ("begins like gzip", [&[0x1f, 0x8b][..], &text].concat()),
        12 => ("small", text[..text.len().min(random.below(3))].to_vec()),
        _ => {
            let at = random.below(packed.len());
            packed[at] ^= 1 << random.below(8);
            ("damaged", packed)
        }
    }
}

/// One call, written down with all that can be seen of it.
fn step(open: &Open, op: usize, random: &mut Random, log: &mut String) {
    let api = &open.api;
    let file = open.file;
    let len = random.length();
    // SAFETY: the file is open; buffers are as long as is said.
    unsafe {
        match op {
            0..4 => {
                let (got, data) = open.read(len);
                write!(log, "gzread({len}) = {got} {:08x}", sum(&data)).unwrap();
            }
            4 => {
                let size = 1 + len % 7;
                let (got, data) = open.fread(size, len / 7);
                write!(log, "gzfread({size}, {}) = {got} {:08x}", len / 7, sum(&data)).unwrap();
            }
            5 | 6 => {
                for _ in 0..1 + len % 5 {
                    let by_macro = len.is_multiple_of(2);
                    let byte = if by_macro { open.getc_by_macro() } else { (api.gzgetc_)(file) };
                    write!(log, "gzgetc = {byte}; ").unwrap();
                }
            }
            7 | 8 => {
                let len = len % 300;
                match open.gets(len) {
                    None => write!(log, "gzgets({len}) = NULL").unwrap(),
                    Some(line) => {
                        let end = line.iter().position(|&b| b == 0).unwrap();
                        write!(log, "gzgets({len}) = {:08x}", sum(&line[..end])).unwrap();
                    }
                }
            }
            9 | 10 => {
                // zlib 1.2.13 crashes if nothing was read before.
                open.direct();
                for n in 0..random.pick(&[1, 1, 2, 3, 30]) {
                    let byte = random.pick(&[-1, 0, 65, 255, 65 + n]);
                    write!(log, "gzungetc({byte}) = {}; ", (api.gzungetc)(byte, file)).unwrap();
                }
            }
            11..14 => {
                let whence = random.pick(&[0, 1, 1, 1, 2, 7]);
                let offset = len as i64 * random.pick(&[1, 1, -1, 0]);
                let at = open.seek(offset, whence);
                write!(log, "gzseek({offset}, {whence}) = {at}").unwrap();
            }
            14 => write!(log, "gzrewind = {}", (api.gzrewind)(file)).unwrap(),
            15 => write!(log, "gzdirect = {}", open.direct()).unwrap(),
            16 => {
                (api.gzclearerr)(file);
                write!(log, "gzclearerr").unwrap();
            }
            17 => {
                let wrong = (
                    open.write(b"abc"),
                    (api.gzflush)(file, 2),
                    (api.gzputc)(file, 65),
                    (api.gzputs)(file, c"abc".as_ptr()),
                    (api.gzsetparams)(file, 1, 0),
                    (api.gzclose_w)(file),
                    (api.gzfwrite)(b"abc".as_ptr(), 1, 3, file),
                );
                write!(log, "writing = {wrong:?}").unwrap();
            }
            18 => {
                let size = len as u32 + 1;
                // Its result is known once something was read.
                open.direct();
                write!(log, "gzbuffer({size}) = {}", (api.gzbuffer)(file, size)).unwrap();
            }
            _ => {
                let got = (api.gzread)(file, std::ptr::null_mut(), u32::MAX);
                write!(log, "gzread(4 GB) = {got}").unwrap();
            }
        }
        let at = (open.tell(), (api.gztell64)(file));
        write!(log, " | tell {at:?} eof {} error {:?}", open.eof(), open.error()).unwrap();
    }
}

/// A checksum for logs (FNV-1a).
fn sum(data: &[u8]) -> u32 {
    data.iter().fold(0x811c_9dc5, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// What a seed's calls show.
fn run(api: &Api, path: &Path, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut log = Vec::new();
    let open = api.open(path, "rb").expect("a file");
    if random.below(3) == 0 {
        let size = random.pick(&[0, 1, 2, 3, 8, 100, 8192, 50_000]).max(smallest_buffer());
        // SAFETY: the file is open.
        let result = unsafe { (api.gzbuffer)(open.file, size) };
        log.push(format!("gzbuffer({size}) = {result}"));
    }
    for _ in 0..1 + random.below(40) {
        let op = if random.below(100) == 0 { 19 } else { random.below(19) };
        let mut line = String::new();
        step(&open, op, &mut random, &mut line);
        log.push(line);
    }
    // SAFETY: the file is open.
    log.push(format!("gzoffset at the end? {:?}", unsafe {
        let all =
            (open.eof() == 1).then(|| ((api.gzoffset)(open.file), (api.gzoffset64)(open.file)));
        (all, (api.gzclose)(open.file))
    }));
    log
}

#[test]
fn random_calls_show_what_zlib_shows() {
    let folder = Folder::new("reading");
    let path = folder.0.join("file");
    let (ours, stock) = (Api::ours(), Api::stock());
    for seed in 0..seeds(400) {
        let mut random = Random(seed ^ 0x5eed);
        let (kind, bytes) = content(&mut random);
        std::fs::write(&path, &bytes).unwrap();
        let expected = run(&stock, &path, seed);
        let found = run(&ours, &path, seed);
        for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, {kind} ({} bytes), call {n}", bytes.len());
        }
    }
}

#[test]
fn a_large_file_is_read_in_any_pieces() {
    let folder = Folder::new("large-reading");
    let path = folder.0.join("file");
    let mut random = Random(7);
    let text = random.text(6 << 20);
    let half = text.len() / 2;
    let packed = [gzip(&text[..half], 6), gzip(&text[half..], 1), b"and garbage".to_vec()].concat();
    std::fs::write(&path, &packed).unwrap();
    for piece in [1000, 8192, 65536, 1 << 20, 16 << 20] {
        assert!(read_all(&Api::ours(), &path, piece) == text, "pieces of {piece}");
    }
    let file = Api::ours().open(&path, "r").unwrap();
    for at in [5 << 20, 100, 3 << 20, (3 << 20) + 17] {
        assert_eq!(file.seek(at as i64, 0), at as i64);
        assert_eq!(file.read(50).1, &text[at..at + 50]);
    }
    // The last read beyond the end: the file is read, and its descriptor stands at its end.
    assert_eq!(file.seek(1 << 20, 1), (4 << 20) + 67);
    assert_eq!(file.read(16 << 20).0 as usize, text.len() - (4 << 20) - 67);
    // SAFETY: the file is open.
    assert_eq!(unsafe { (file.api.gzoffset)(file.file) }, packed.len() as i64);
    assert_eq!((file.eof(), file.close()), (1, 0));
}

/// A descriptor that the caller gave is read no further than zlib reads it.
#[test]
fn a_descriptor_is_not_read_ahead() {
    use std::io::Seek;
    use std::os::fd::AsRawFd;
    let folder = Folder::new("descriptor");
    let path = folder.0.join("file");
    let text = Random(3).text(4 << 20);
    std::fs::write(&path, gzip(&text, 1)).unwrap();
    let positions = [Api::ours(), Api::stock()].map(|api| {
        let mut file = std::fs::File::open(&path).unwrap();
        // SAFETY: the descriptor is a copy, which gzclose closes.
        let open = unsafe {
            let fd = libc::dup(file.as_raw_fd());
            Open { api, file: (api.gzdopen)(fd, c"rb".as_ptr()) }
        };
        let mut seen = Vec::new();
        for _ in 0..100 {
            assert_eq!(open.read(40_000).0, 40_000);
            seen.push(file.stream_position().unwrap());
        }
        assert_eq!(open.close(), 0);
        seen
    });
    assert_eq!(positions[0], positions[1]);
}
