//! Writing: the same calls on two files, whose content must be the same to everybody.

use std::ffi::CString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::api::{Api, Open, read_all, smallest_buffer};
use crate::{Folder, Random, seeds};

/// What gzip makes of a file.
pub fn gunzip(path: &Path) -> Vec<u8> {
    let out = Command::new("gzip").arg("-dc").stdin(std::fs::File::open(path).unwrap()).output();
    let out = out.expect("gzip");
    assert!(out.status.success(), "{path:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// One call, written down with all that can be seen of it.
fn step(open: &Open, op: usize, small: bool, random: &mut Random, log: &mut String) {
    let api = &open.api;
    let file = open.file;
    let len = random.length();
    // SAFETY: the file is open; buffers are as long as is said.
    unsafe {
        match op {
            0..5 => {
                let data = random.text(len);
                write!(log, "gzwrite({len}) = {}", open.write(&data)).unwrap();
            }
            5 => {
                let data = random.text(len);
                let size = 1 + len % 5;
                let done = (api.gzfwrite)(data.as_ptr(), size, len / size, file);
                write!(log, "gzfwrite({size}, {}) = {done}", len / size).unwrap();
            }
            6 | 7 => {
                for n in 0..1 + len % 7 {
                    let byte = random.pick(&[0, 65, 255, 300, -1]);
                    write!(log, "gzputc({byte}, {n}) = {}; ", (api.gzputc)(file, byte)).unwrap();
                }
            }
            8 => {
                let text = CString::new(random.text(len % 20_000)).unwrap();
                write!(log, "gzputs = {}", (api.gzputs)(file, text.as_ptr())).unwrap();
            }
            9 | 10 => {
                // Into fewer than 7 bytes zlib 1.2.13 writes the end of a flush for ever.
                let most = if small { 3 } else { 8 };
                let flush = [-1, 0, 4, 1, 2, 3, 5, 6][random.below(most)];
                write!(log, "gzflush({flush}) = {}", (api.gzflush)(file, flush)).unwrap();
            }
            11 | 12 => {
                let whence = random.pick(&[0, 1, 1, 1, 2]);
                let offset = len as i64 * random.pick(&[1, 1, 1, 0, -1]);
                // zlib 1.2.13 writes memory without content for zeros where a file begins with them.
                (api.gzflush)(file, 0);
                let at = open.seek(offset, whence);
                write!(log, "gzseek({offset}, {whence}) = {at}").unwrap();
            }
            13 => {
                let (level, strategy) = (random.below(11) as i32 - 1, random.below(5) as i32);
                let result = (api.gzsetparams)(file, level, strategy);
                write!(log, "gzsetparams({level}, {strategy}) = {result}").unwrap();
            }
            14 => {
                (api.gzclearerr)(file);
                write!(log, "gzclearerr; gzdirect = {}", open.direct()).unwrap();
            }
            15 => {
                let mut line = [0; 20];
                let wrong = (
                    open.read(10).0,
                    open.fread(1, 10).0,
                    (api.gzgetc)(file),
                    (api.gzungetc)(65, file),
                    (api.gzgets)(file, line.as_mut_ptr(), 20).is_null(),
                    (api.gzrewind)(file),
                    (api.gzclose_r)(file),
                );
                write!(log, "reading = {wrong:?}").unwrap();
            }
            _ => {
                let wrong = (
                    (api.gzwrite)(file, std::ptr::null(), u32::MAX),
                    (api.gzfwrite)(std::ptr::null(), usize::MAX, 3, file),
                    open.error(),
                );
                (api.gzclearerr)(file);
                write!(log, "gzwrite(4 GB) = {wrong:?}").unwrap();
            }
        }
        let at = (open.tell(), (api.gztell64)(file));
        write!(log, " | tell {at:?} eof {} error {:?}", open.eof(), open.error()).unwrap();
    }
}

/// What a seed's calls show.
fn run(api: &Api, path: &Path, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut log = Vec::new();
    let transparent = if random.below(6) == 0 { "T" } else { "" };
    for _ in 0..random.pick(&[1, 1, 2]) {
        let mode =
            random.pick(&["w", "wb9", "w1", "wb0", "ab", "a6", "wf", "w3h", "wR", "wF", "wx"]);
        let mode = format!("{mode}{transparent}");
        let Some(open) = api.open(path, &mode) else {
            log.push(format!("{mode}: {}", std::io::Error::last_os_error()));
            continue;
        };
        let mut small = false;
        if random.below(3) == 0 {
            let sizes = [0, 1, 2, 3, 8, 100, 8192, 50_000, 1 << 31];
            let size = random.pick(&sizes).max(smallest_buffer());
            // SAFETY: the file is open.
            let result = unsafe { (api.gzbuffer)(open.file, size) };
            small = size < 8;
            log.push(format!("{mode}: gzbuffer({size}) = {result}"));
        }
        for _ in 0..random.below(30) {
            // zlib 1.2.13 uses memory that is not its own when it should change how to compress
            // what is not compressed.
            let op = match random.below(80) {
                0 => 16,
                n if n % 16 == 13 && !transparent.is_empty() => 14,
                n => n % 16,
            };
            let mut line = format!("{mode}: ");
            step(&open, op, small, &mut random, &mut line);
            log.push(line);
        }
        log.push(format!("gzclose = {}", open.close()));
    }
    log
}

#[test]
fn random_calls_show_what_zlib_shows() {
    let folder = Folder::new("writing");
    let (ours, stock) = (Api::ours(), Api::stock());
    for seed in 0..seeds(300) {
        let paths = ["ours", "stock"].map(|name| folder.0.join(name));
        for path in &paths {
            let _ = std::fs::remove_file(path);
        }
        let found = run(&ours, &paths[0], seed);
        let expected = run(&stock, &paths[1], seed);
        for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "seed {seed}, call {n}");
        }
        assert_eq!(paths[0].exists(), paths[1].exists(), "seed {seed}");
        if paths[0].exists() {
            let content = read_all(&stock, &paths[0], 10_000);
            let calls = found.join("\n");
            assert!(content == read_all(&ours, &paths[1], 100_000), "seed {seed}:\n{calls}");
            assert!(content == read_all(&ours, &paths[0], 10_000), "seed {seed}:\n{calls}");
        }
    }
}

/// Pieces of every size, of a file that grows large: what comes together grows with it.
#[test]
fn a_large_file_is_written_in_any_pieces() {
    let folder = Folder::new("large-writing");
    let path = folder.0.join("file");
    let text = Random(11).text(9 << 20);
    let ours = Api::ours();
    for (piece, mode) in
        [(700, "wb1"), (8192, "wb6"), (65536, "wb1"), (3 << 20, "wb6"), (5000, "wbT")]
    {
        let file = ours.open(&path, mode).unwrap();
        for part in text.chunks(piece) {
            assert_eq!(file.write(part), part.len() as i32);
        }
        assert_eq!(file.tell(), text.len() as i64);
        assert_eq!(file.close(), 0);
        let found = if mode == "wbT" { std::fs::read(&path).unwrap() } else { gunzip(&path) };
        assert!(found == text, "pieces of {piece}, {mode}");
    }
    // zlib's smallest buffer, in which zlib's own flush never ends.
    let file = ours.open(&path, "wb1").unwrap();
    // SAFETY: the file is open.
    unsafe {
        assert_eq!((ours.gzbuffer)(file.file, 2), 0);
        for part in text[..10_000].chunks(100) {
            assert_eq!(file.write(part), 100);
            assert_eq!((ours.gzflush)(file.file, 2), 0);
        }
    }
    assert_eq!(file.close(), 0);
    assert!(gunzip(&path) == text[..10_000]);
    // With flushes and changes of the level in between, and a member that ends.
    let file = ours.open(&path, "wb1").unwrap();
    for (n, part) in text.chunks(100_000).enumerate() {
        assert_eq!(file.write(part), part.len() as i32);
        // SAFETY: the file is open.
        let result = unsafe {
            match n % 7 {
                3 => (ours.gzflush)(file.file, [1, 2, 3, 4][n / 7 % 4]),
                5 => (ours.gzsetparams)(file.file, (n / 7 % 10) as i32, 0),
                _ => 0,
            }
        };
        assert_eq!(result, 0);
    }
    assert_eq!(file.close(), 0);
    assert!(gunzip(&path) == text);
}

/// What is flushed can be read by others at once.
#[test]
fn what_is_flushed_is_in_the_file() {
    let folder = Folder::new("flushing");
    let path = folder.0.join("file");
    let text = Random(5).text(3 << 20);
    let file = Api::ours().open(&path, "wb6").unwrap();
    let mut done = 0;
    for part in [10, 100_000, 2_000_000, 5] {
        assert_eq!(file.write(&text[done..done + part]), part as i32);
        done += part;
        // SAFETY: the file is open.
        assert_eq!(unsafe { (file.api.gzflush)(file.file, 2) }, 0);
        let reader = Api::stock().open(&path, "rb").unwrap();
        assert!(reader.read(text.len()).1 == text[..done], "after {done} bytes");
        reader.close();
    }
    assert_eq!(file.close(), 0);
}

#[test]
fn a_full_disk_is_an_error_with_its_name() {
    for api in [Api::ours(), Api::stock()] {
        let file = api.open(Path::new("/dev/full"), "wb1").unwrap();
        let mut random = Random(1);
        let noise: Vec<u8> = (0..1 << 17).flat_map(|_| random.number().to_ne_bytes()).collect();
        assert_eq!(file.write(&noise), 0);
        assert_eq!(file.error(), (-1, "No space left on device".to_owned()));
        assert_eq!(file.write(b"more"), 0);
        // SAFETY: the file is open.
        unsafe {
            assert_eq!((api.gzflush)(file.file, 2), -2);
            assert_eq!((api.gzputc)(file.file, 65), -1);
            (api.gzclearerr)(file.file);
        }
        assert_eq!(file.error(), (0, String::new()));
        assert_eq!(file.close(), -1, "{}", api.name);
        drop(noise); // zlib reads it again in gzclose.
    }
}

/// zlib keeps a pointer to the bytes of a failed `gzwrite` and tries them again in `gzclose`. We do
/// not: so `gzclose` has to say that they are missing, though it could write by then.
#[test]
fn bytes_that_were_lost_are_an_error_of_gzclose() {
    let api = Api::ours();
    for mode in [c"wbT", c"wb0"] {
        let mut ends = [0; 2];
        // SAFETY: two descriptors, of which the file gets one.
        let file = unsafe {
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK), 0);
            Open { api, file: (api.gzdopen)(ends[1], mode.as_ptr()) }
        };
        assert_eq!(file.write(&vec![7; 1 << 20]), 0, "a pipe holds less");
        let mut taken = vec![0; 2 << 20];
        // SAFETY: room for so many bytes.
        unsafe {
            assert!(libc::read(ends[0], taken.as_mut_ptr().cast(), taken.len()) > 0);
            (api.gzclearerr)(file.file);
        }
        assert_eq!(file.close(), -1, "{mode:?}");
        // SAFETY: ours.
        unsafe { libc::close(ends[0]) };
    }
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = Folder::new("opening");
    let there = folder.0.join("there");
    std::fs::write(&there, "text").unwrap();
    for api in [Api::ours(), Api::stock()] {
        for (path, mode, error) in [
            (there.as_path(), "wx", libc::EEXIST),
            (Path::new("/nowhere/at/all"), "r", libc::ENOENT),
            (Path::new("/"), "w", libc::EISDIR),
        ] {
            assert!(api.open(path, mode).is_none(), "{} {path:?}", api.name);
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(error));
        }
        for mode in ["", "b", "r+", "+w", "rT", "9"] {
            assert!(api.open(&there, mode).is_none(), "{} {mode}", api.name);
        }
        // SAFETY: nothing is a file.
        unsafe {
            assert!((api.gzdopen)(-1, c"r".as_ptr()).is_null());
            let null = std::ptr::null_mut();
            assert_eq!((api.gzclose)(null), -2);
            assert_eq!((api.gzread)(null, null.cast(), 0), -1);
            assert_eq!((api.gzwrite)(null, null.cast(), 0), 0);
            assert_eq!((api.gzbuffer)(null, 10), -1);
            assert_eq!(
                ((api.gztell)(null), (api.gzoffset)(null), (api.gzrewind)(null)),
                (-1, -1, -1)
            );
            assert!((api.gzerror)(null, null.cast()).is_null());
            assert_eq!(((api.gzeof)(null), (api.gzdirect)(null)), (0, 0));
            (api.gzclearerr)(null);
        }
        // The descriptor is closed on exec only where that was asked for.
        for (mode, flag) in [("r", 0), ("re", libc::FD_CLOEXEC)] {
            // SAFETY: no memory is involved.
            let fd = unsafe { libc::dup(0) };
            // SAFETY: the next one that is opened gets this number.
            unsafe { libc::close(fd) };
            let file = api.open(&there, mode).unwrap();
            let seen = (fd..fd + 40).find_map(|fd| {
                let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
                // SAFETY: no memory is involved.
                (link == there).then(|| unsafe { libc::fcntl(fd, libc::F_GETFD) })
            });
            assert_eq!(seen, Some(flag), "{}", api.name);
            file.close();
        }
    }
}
