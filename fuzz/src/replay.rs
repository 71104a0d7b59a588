//! A target without libFuzzer: the corpus, and mutations of it for a while.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, abort};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::mutate::mutation;

/// As long as a single input may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// As much memory, in KB, as the process may ever have had: the targets bound what an input can ask for.
const MOST_MEMORY: u64 = 1 << 20;

/// The input that runs, and since when.
static RUNNING: Mutex<Option<(Vec<u8>, Instant)>> = Mutex::new(None);

struct Options {
    seconds: u64,
    seed: u64,
    /// Each input is written here before it runs: what kills the process is there afterwards.
    each: Option<PathBuf>,
    /// These only, in place of the corpus and its mutations.
    files: Vec<PathBuf>,
}

/// The program of target `name`: `fuzz-NAME [--seconds 2] [--seed 1] [--each FILE]` or `fuzz-NAME FILE...`.
///
/// An input for which `target` panics, or takes longer than 30 s, is written to `fuzz/artifacts/NAME`, and the process
/// aborts.
pub fn replay(name: &str, target: impl Fn(&[u8])) -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{name}: {wrong}");
            return ExitCode::from(2);
        }
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = if options.files.is_empty() {
        committed(&folder.join("corpus").join(name))
    } else {
        options.files
    };
    let corpus: Vec<Vec<u8>> = match files.iter().map(fs::read).collect() {
        Ok(corpus) => corpus,
        Err(error) => {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
    };
    if corpus.is_empty() {
        eprintln!("{name}: no corpus in {}", folder.display());
        return ExitCode::FAILURE;
    }
    watch(folder.join("artifacts").join(name));

    let one = |input: Vec<u8>| {
        if let Some(each) = &options.each {
            fs::write(each, &input).expect("a file that can be written");
        }
        *RUNNING.lock().expect("not poisoned") = Some((input.clone(), Instant::now()));
        target(&input);
    };
    let given = corpus.len();
    corpus.iter().cloned().for_each(&one);
    let mut mutations = 0;
    let end = Instant::now() + Duration::from_secs(options.seconds);
    while options.seconds > 0 && Instant::now() < end {
        one(mutation(&corpus, options.seed, mutations));
        mutations += 1;
    }
    *RUNNING.lock().expect("not poisoned") = None;

    println!("fuzz: {name}: {given} inputs, {mutations} mutations of them");
    let memory = most_memory();
    if memory > MOST_MEMORY {
        eprintln!("{name}: had {} MB, more than {}", memory >> 10, MOST_MEMORY >> 10);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn options(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { seconds: 2, seed: 1, each: None, files: vec![] };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} lacks its value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
        match argument.as_str() {
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--each" => options.each = Some(value()?.into()),
            _ if argument.starts_with("--") => return Err(format!("no option {argument}")),
            _ => options.files.push(argument.into()),
        }
    }
    if !options.files.is_empty() {
        options.seconds = 0;
    }
    Ok(options)
}

/// In the order of their names: the sequence of mutations depends on it.
fn committed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// From now on, a panic of whatever thread and an input that takes too long end the process.
fn watch(artifacts: PathBuf) {
    let usual = panic::take_hook();
    let folder = artifacts.clone();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        found(&folder, "panic");
    }));
    let watchdog = move || loop {
        thread::sleep(Duration::from_secs(1));
        let since = RUNNING.lock().expect("not poisoned").as_ref().map(|(_, since)| *since);
        if since.is_some_and(|since| since.elapsed() > PATIENCE) {
            eprintln!("an input took more than {} s", PATIENCE.as_secs());
            found(&artifacts, "timeout");
        }
    };
    thread::spawn(watchdog);
}

/// Keeps the input that runs and ends the process, as libFuzzer does.
fn found(folder: &Path, what: &str) -> ! {
    if let Some((input, _)) = RUNNING.lock().ok().as_deref().and_then(Option::as_ref) {
        let file = folder.join(format!("{what}-{}", std::process::id()));
        match fs::create_dir_all(folder).and_then(|()| fs::write(&file, input)) {
            Ok(()) => eprintln!("the input is in {}", file.display()),
            Err(error) => eprintln!("the input could not be kept: {error}: {input:?}"),
        }
    }
    abort()
}

/// In KB; 0 where the kernel does not say.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
