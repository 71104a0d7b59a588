//! What an unusual user does: huge chunks, odd targets, full devices, options out of place.

mod common;

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use common::{Scratch, good, noise, parcomp, run_in, stderr, stdout, text};
use parcomp::{Codec, Error, Lane, LaneSpec, Params, Provider, SyncLane, Task, TaskError};

/// Runs the command with this much address space, in KB.
fn limited(dir: &Scratch, kb: usize, options: &str) -> Output {
    let script = format!("ulimit -v {kb} && exec \"$0\" {options}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_parcomp")]).current_dir(&dir.0);
    command.stdin(File::open(dir.path("f")).unwrap()).output().unwrap()
}

#[test]
fn a_huge_chunk_takes_memory_for_what_is_there() {
    let dir = Scratch::new("huge");
    let data = text(3_000_000);
    dir.file("f", &data);
    // A chunk of the size asked for does not fit.
    for options in ["-i f", "-", "-i f -pzlib", "- -pzlib -t2", "-i f -t2 -j256"] {
        let engines = if options.contains("zlib") { "" } else { "--engines 1" };
        let options = format!("{options} {engines} -q -c1000000 --force -o f.gz");
        let output = limited(&dir, 900_000, &options);
        assert!(output.status.success(), "{options}: {}", stderr(&output));
        good(&dir.0, &["-dq", "--force", "f.gz", "-og"]);
        assert!(fs::read(dir.path("g")).unwrap() == data, "{options}");
    }
    // The whole interface, from slice to slice.
    let device = parcomp::provider("lookaside").unwrap();
    let params = Params { chunk_size: 1 << 30, ..Params::default() };
    let mut packed = vec![0; 3_000_000];
    parcomp::compress_buffer(&*device, &params, &data, &mut packed).unwrap();
}

#[test]
fn too_little_memory_is_an_error() {
    let dir = Scratch::new("nomem");
    File::create(dir.path("f")).unwrap().set_len(3_000_000_000).unwrap();
    let output = limited(&dir, 900_000, "-q -c1000000 --engines 0 -l0 f -o f.gz");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("memory"), "{}", stderr(&output));
    assert_eq!(dir.names(), ["f"]);
}

/// Files of /proc have no length before they are read.
#[test]
fn a_file_that_is_longer_than_it_says() {
    let dir = Scratch::new("proc");
    for options in [&["-t4"][..], &["-c1000"]] {
        good(&dir.0, &[&["-q", "--force", "/proc/filesystems", "-of.gz"], options].concat());
        good(&dir.0, &["-dq", "--force", "f.gz"]);
        assert_eq!(fs::read(dir.path("f")).unwrap(), fs::read("/proc/filesystems").unwrap());
    }
}

#[test]
fn targets_that_cannot_be_read_back_or_written_again() {
    let dir = Scratch::new("targets");
    dir.file("f", &noise(100_000));
    let refused = run_in(&dir.0, &["f", "--verify", "-o/dev/null"]);
    assert!(stderr(&refused).contains("--verify needs an output file"), "{}", stderr(&refused));
    let refused = run_in(&dir.0, &["compare", "f", "-o/dev/null"]);
    assert!(stderr(&refused).contains("is not a file"), "{}", stderr(&refused));
    // Nothing is lost by writing to this one twice.
    good(&dir.0, &["-q", "f", "-n2", "-o/dev/null"]);
    // But its reader would get the file twice.
    let pipe = dir.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let write = |options: &[&str]| {
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut got = Vec::new();
                File::open(&pipe).unwrap().read_to_end(&mut got).unwrap();
                got
            });
            let output = run_in(&dir.0, &[&["-q", "f", "-opipe"], options].concat());
            (output, reader.join().unwrap())
        })
    };
    let (refused, got) = write(&["-n2"]);
    assert!(stderr(&refused).contains("-n needs files") && got.is_empty());
    let (written, got) = write(&[]);
    assert!(written.status.success() && got.len() > 100_000);
}

#[test]
fn output_that_cannot_be_told() {
    let dir = Scratch::new("untold");
    dir.file("f", &text(100_000));
    let run = |args: &[&str], full_out: bool| {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = parcomp();
        command.current_dir(&dir.0).args(args).stdin(Stdio::null());
        match full_out {
            true => command.stdout(full).stderr(Stdio::piped()),
            false => command.stderr(full).stdout(Stdio::piped()),
        };
        command.output().unwrap()
    };
    // The file is done; its report is lost.
    let lost = run(&["f", "--json"], true);
    assert_eq!(lost.status.code(), Some(2));
    assert!(stderr(&lost).contains("No space left"), "{}", stderr(&lost));
    good(&dir.0, &["-dq", "f.gz", "-og"]);
    assert_eq!(run(&["-h"], true).status.code(), Some(2));
    #[cfg(feature = "bench")]
    assert_eq!(run(&["bench", "-h"], true).status.code(), Some(1));
    // Messages are no reason to fail.
    assert_eq!(run(&["-v", "f", "--force"], false).status.code(), Some(0));
    #[cfg(feature = "bench")]
    assert_eq!(run(&["bench", "--nonsense"], false).status.code(), Some(1));
    #[cfg(not(feature = "bench"))]
    assert_eq!(run(&["bench"], false).status.code(), Some(2));
}

#[test]
fn options_out_of_place() {
    let dir = Scratch::new("place");
    dir.file("f", &text(100_000));
    // The paper's: a note.
    let noted = good(&dir.0, &["-pzlib", "-j24", "f"]);
    assert!(stderr(&noted).contains("no effect here: -j"), "{}", stderr(&noted));
    let noted = good(&dir.0, &["-d", "-l9", "-s", "f.gz", "-og"]);
    assert!(stderr(&noted).contains("no effect here: -l, -s"), "{}", stderr(&noted));
    assert!(good(&dir.0, &["-d", "-q", "-l9", "f.gz", "-oh"]).stderr.is_empty());
    // Others: refused.
    for args in [
        &["-pzlib", "--wait", "poll", "f"][..],
        &["compare", "f", "-t4"],
        &["compare", "f", "--json"],
        &["compare", "f", "--format", "zlib"],
        &["compare", "f", "-o-"],
        &["--copy", "f"],
    ] {
        let refused = run_in(&dir.0, args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        assert!(stderr(&refused).contains("see -h"), "{args:?}: {}", stderr(&refused));
    }
    // A CSV file stays one.
    let csv = good(&dir.0, &["--force", "f", "-x2", "--stats"]);
    assert_eq!(stdout(&csv).lines().count(), 2);
    assert!(stderr(&csv).contains("dc.compress"));
    assert!(!Path::new(&dir.path("-")).exists());
}

/// Its compressor is zlib's; its decompressor always fails.
struct HalfBroken;

struct Broken;

impl Codec for Broken {
    fn compress(&mut self, _: &[u8], _: &mut [u8], _: bool) -> Result<usize, TaskError> {
        Err(TaskError::Failed("out of order".into()))
    }

    fn decompress(&mut self, _: &[u8], _: &mut [u8]) -> Result<(usize, usize), TaskError> {
        Err(TaskError::Failed("out of order".into()))
    }
}

impl Provider for HalfBroken {
    fn name(&self) -> &str {
        "half"
    }

    fn bound(&self, params: &Params, len: usize) -> usize {
        parcomp::Zlib.bound(params, len)
    }

    fn open<'a>(&self, _: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        Ok(Box::new(SyncLane::new(Broken, spec)))
    }
}

#[test]
fn a_provider_that_fails_is_no_damaged_file() {
    let data = text(100_000);
    let mut packed = vec![0; 100_000];
    for num_threads in [0, 2] {
        let params = Params { num_threads, ..Params::default() };
        let n = parcomp::compress_buffer(&parcomp::Zlib, &params, &data, &mut packed[..]).unwrap();
        let mut back = vec![0; data.len()];
        // Not silently by another way.
        let result = parcomp::decompress_buffer(&HalfBroken, &params, &packed[..n], &mut back);
        assert!(matches!(result, Err(Error::Provider { .. })), "{result:?}");
    }
}

/// Ours, wrapped; its lanes forget ours while they are at work.
struct Forgetful;

struct ForgetfulLane<'a>(Option<Box<dyn Lane<'a> + 'a>>);

impl Provider for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn bound(&self, params: &Params, len: usize) -> usize {
        parcomp::Zlib.bound(params, len)
    }

    fn open<'a>(&self, params: &Params, spec: LaneSpec) -> Result<Box<dyn Lane<'a> + 'a>, Error> {
        let ours = parcomp::provider("lookaside")?.open(params, spec)?;
        Ok(Box::new(ForgetfulLane(Some(ours))))
    }
}

impl<'a> Lane<'a> for ForgetfulLane<'a> {
    fn submit(&mut self, task: Task<'a>) -> Result<(), Error> {
        self.0.as_mut().expect("not forgotten yet").submit(task)
    }

    fn complete(&mut self, _: &mut Vec<Task<'a>>) -> Result<(), Error> {
        let mut ours = self.0.take().expect("not forgotten yet");
        ours.ring();
        std::mem::forget(ours);
        Err(Error::Provider { provider: "forgetful".into(), what: "forgot".into() })
    }
}

/// Memory that was lent would be unmapped while the engines read it: a crash.
#[test]
fn a_lane_that_is_forgotten_holds_no_memory_of_the_caller() {
    for _ in 0..20 {
        let data = text(1 << 20);
        let params = Params { level: 9, chunk_size: 1 << 20, ..Params::default() };
        let mut packed = vec![0; 2 << 20];
        let result = parcomp::compress_buffer(&Forgetful, &params, &data, &mut packed);
        assert!(matches!(result, Err(Error::Provider { .. })), "{result:?}");
        // Unmapped here, while an engine may be at work.
        drop(data);
    }
}
