//! Pages of processes that end in every way, and files that are none.

use std::{
    fs,
    io::{BufRead, BufReader, Write as _},
    os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use lookaside_page::{
    Fault, Folder, Found, Identity, MOST_BYTES, Page, Reader, Shape, State, operation,
    read::{Call, Content},
};

/// A folder of this test's own, removed at the end, and a reader that keeps its pages open.
struct Temporary(PathBuf, Mutex<Reader>);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path = std::env::temp_dir().join(format!("lookaside-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        Temporary(path, Mutex::new(Reader::keeping(8)))
    }

    fn pages(&self) -> Vec<Found> {
        let mut reader = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        reader.begin();
        let (found, more) = reader.pages(&Folder::open(&self.0).unwrap()).unwrap();
        assert_eq!(more, 0);
        found
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn devices() -> Shape {
    let name = |device: &str, op: &str| (device.to_owned(), op.to_owned());
    Shape::operations([
        name("cpu", "dc.compress"),
        name("cpu", "dc.decompress"),
        name("qat", "dc.compress"),
    ])
}

fn library() -> Shape {
    Shape::calls(
        "zlib",
        ["calls", "bytes in", "bytes out"],
        ["compress, whole calls", "decompress, stream"],
    )
}

const DECOMPRESS: usize = operation::WORDS;

/// Not a test: what the processes of the tests do.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let Ok(role) = std::env::var("ROLE") else { return };
    let Some(page) = Page::of_process(7) else { std::process::exit(3) };
    let calls = page.bank(&library()).unwrap();
    let engine = page.bank(&devices()).unwrap();
    calls[3].fetch_add(5, Relaxed);
    calls[4].fetch_add(500, Relaxed);
    engine[DECOMPRESS + operation::REQUESTS].store(3, Relaxed);
    engine[DECOMPRESS + operation::SERVICE_NS + 39].store(3, Relaxed);
    engine[3 * operation::WORDS + 1].store(1, Relaxed);
    match role.as_str() {
        "waits" => {
            println!("\nready");
            std::io::stdout().flush().unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        "forks" => {
            // SAFETY: the child makes a page, counts and ends.
            match unsafe { libc::fork() } {
                0 => {
                    // What is the parent's stays the parent's.
                    drop(engine);
                    let page = Page::of_process(8).expect("a page of its own");
                    page.bank(&library()).unwrap()[0].fetch_add(1, Relaxed);
                    // SAFETY: as a worker of Python's multiprocessing ends.
                    unsafe { libc::_exit(0) };
                }
                pid => {
                    let mut status = 0;
                    // SAFETY: a child of ours.
                    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
                    assert_eq!(status, 0);
                    // SAFETY: nothing is left to do.
                    unsafe { libc::_exit(0) };
                }
            }
        }
        "banks" => {
            // What is given back is used again, and counted once.
            for _ in 0..10 {
                let bank = page.bank(&devices()).unwrap();
                assert!(bank.iter().all(|word| word.load(Relaxed) == 0));
                bank[operation::REQUESTS].store(1, Relaxed);
            }
            drop(engine);
            page.past(&devices()).unwrap()[operation::ERRORS].fetch_add(2, Relaxed);
        }
        _ => {}
    }
}

fn start(role: &str, counters: String) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--ignored", "--nocapture"])
        .env("ROLE", role)
        .env("LOOKASIDE_COUNTERS", counters)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn run(role: &str, counters: String) {
    assert!(start(role, counters).wait_with_output().unwrap().status.success());
}

/// What `child` has counted before it does what its role is.
fn check(content: &Content) {
    assert_eq!(
        content.calls,
        [Call {
            library: "zlib".into(),
            columns: ["calls", "bytes in", "bytes out"].map(String::from),
            name: "decompress, stream".into(),
            counts: [5, 500, 0],
        }]
    );
    let [op] = &content.operations[..] else { panic!("{content:?}") };
    assert_eq!((&*op.device, &*op.op), ("cpu", "dc.decompress"));
    assert_eq!(op.words[operation::REQUESTS], 3);
    assert_eq!(op.words[operation::SERVICE_NS + 39], 3);
    assert_eq!(op.words.iter().sum::<u64>(), 6);
    assert_eq!((content.resets, content.not_run, content.no_room, content.unknown), (1, 0, 0, 0));
    assert_eq!(content.fault, None);
    assert!(content.program.starts_with("page-"), "{}", content.program);
}

#[test]
fn a_page_is_read_while_its_process_runs_and_when_it_was_killed() {
    let folder = Temporary::new("page-killed");
    let mut two = [0, 1].map(|_| start("waits", folder.0.to_str().unwrap().into()));
    for child in &mut two {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    }
    let found = folder.pages();
    assert_eq!(found.len(), 2);
    for page in &found {
        assert_eq!(page.state, State::Running);
        check(page.content.as_ref().unwrap());
        assert!(two.iter().any(|child| page.name.starts_with(&format!("{}-", child.id()))));
    }
    two[0].kill().unwrap();
    two[0].wait().unwrap();
    let found = folder.pages();
    let state = |child: &Child| {
        let id = u64::from(child.id());
        let of = |page: &&Found| page.content.as_ref().unwrap().process.pid == id;
        let page = found.iter().find(of).unwrap();
        check(page.content.as_ref().unwrap());
        page.state
    };
    assert_eq!((state(&two[0]), state(&two[1])), (State::Ended, State::Running));
    two[1].kill().unwrap();
    two[1].wait().unwrap();
}

#[test]
fn a_page_goes_with_its_process_unless_it_is_kept() {
    let folder = Temporary::new("page-kept");
    let path = folder.0.join("made");
    run("ends", path.to_str().unwrap().into());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    run("ends", format!("keep:{}", folder.0.display()));
    let [page] = &folder.pages()[..] else { panic!("one page") };
    check(page.content.as_ref().unwrap());
    assert_eq!(page.state, State::Ended);
}

#[test]
fn a_child_of_a_fork_has_a_page_of_its_own() {
    let folder = Temporary::new("page-fork");
    run("forks", folder.0.to_str().unwrap().into());
    let found = folder.pages();
    assert_eq!(found.len(), 2);
    let contents: Vec<_> = found.iter().map(|page| page.content.as_ref().unwrap()).collect();
    let parent = contents.iter().position(|content| !content.operations.is_empty()).unwrap();
    check(contents[parent]);
    let [call] = &contents[1 - parent].calls[..] else { panic!("one row") };
    assert_eq!((&*call.name, call.counts), ("compress, whole calls", [1, 0, 0]));
}

#[test]
fn what_banks_have_counted_stays_once() {
    let folder = Temporary::new("page-banks");
    run("banks", format!("keep:{}", folder.0.display()));
    let [page] = &folder.pages()[..] else { panic!("one page") };
    let content = page.content.as_ref().unwrap();
    let requests: Vec<_> =
        content.operations.iter().map(|row| (&*row.op, row.words[operation::REQUESTS])).collect();
    assert_eq!(requests, [("dc.compress", 10), ("dc.decompress", 3)]);
    assert_eq!(content.operations[0].words[operation::ERRORS], 2);
    // One section for the past, one for each bank that was there at once.
    let bytes = fs::metadata(folder.0.join(&page.name)).unwrap().len();
    assert!(bytes < 6 * 8192, "{bytes}");
}

#[test]
fn folders_of_others_and_open_ones_are_refused() {
    let folder = Temporary::new("page-folder");
    let open = |path: &std::path::Path| Folder::make(path).map(|_| ()).unwrap_err();
    assert_eq!(open("relative".as_ref()), Fault::Relative);
    symlink(&folder.0, folder.0.join("link")).unwrap();
    assert!(matches!(open(&folder.0.join("link")), Fault::System(_)));
    let wide = folder.0.join("wide");
    fs::create_dir(&wide).unwrap();
    fs::set_permissions(&wide, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(open(&wide), Fault::Open);
    fs::write(folder.0.join("file"), "").unwrap();
    assert!(matches!(open(&folder.0.join("file")), Fault::System(_)));
    assert!(matches!(open(&folder.0.join("no/folder")), Fault::System(_)));
    // The setting's answer is one line, and the program goes on without a page.
    let out = start("ends", wide.to_str().unwrap().into()).wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(3));
}

#[test]
fn files_that_are_no_pages_are_said() {
    let folder = Temporary::new("page-garbage");
    run("ends", format!("keep:{}", folder.0.display()));
    let name = folder.pages()[0].name.clone();
    let good = fs::read(folder.0.join(&name)).unwrap();
    let fault = |bytes: &[u8]| {
        fs::write(folder.0.join("1-2-3"), bytes).unwrap();
        let found = folder.pages();
        assert_eq!(found.len(), 2);
        let found = found.into_iter().find(|page| page.name == "1-2-3").unwrap();
        // Its name is not that of its process: nobody may take it for an ended one.
        assert_eq!(found.state, State::Unknown);
        found.content.map(|content| content.fault)
    };
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(fault(&good), Ok(None));
    assert_eq!(fault(b""), Err(Fault::Short));
    assert_eq!(fault(&good[..4095]), Err(Fault::Short));
    assert_eq!(fault(&[7; 5000]), Err(Fault::NoPage));
    assert_eq!(fault(&changed(15, b'2')), Err(Fault::Version(b'2')));
    assert_eq!(fault(&changed(16, 0xff)), Err(Fault::ByteOrder));
    assert_eq!(fault(&changed(4096, b'S')), Ok(Some(Fault::Section(4096))));
    // A length, rows and places that are not there.
    for word in [1, 3, 4, 5, 6] {
        assert_eq!(fault(&changed(4096 + 8 * word + 7, 0x7f)), Ok(Some(Fault::Section(4096))));
    }
    // A kind of a later version.
    fs::write(folder.0.join("1-2-3"), changed(4096 + 16, 9)).unwrap();
    let found = folder.pages().remove(0);
    assert_eq!(found.content.map(|content| (content.unknown, content.calls.len())), Ok((1, 0)));
    // Cut anywhere and changed anywhere: an answer, and no panic.
    for cut in (0..good.len()).step_by(97) {
        let _ = Content::of(&good[..cut]);
    }
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The heads are what is believed most.
            let at = 4096 * (seed >> 60) as usize % bytes.len() + (seed >> 40) as usize % 192;
            bytes[at] = (seed >> 32) as u8;
        }
        let _ = Content::of(&bytes);
    }
    // What steers a terminal is not handed on.
    assert_eq!(Content::of(&changed(128, 0x1b)).unwrap().program.chars().next(), Some('?'));
    // Links, pipes and folders are not read.
    fs::remove_file(folder.0.join("1-2-3")).unwrap();
    symlink(folder.0.join(&name), folder.0.join("1-2-3")).unwrap();
    let found = folder.pages().remove(0);
    assert!(matches!(found.content, Err(Fault::System(_))), "{found:?}");
    fs::remove_file(folder.0.join("1-2-3")).unwrap();
    fs::create_dir(folder.0.join("1-2-3")).unwrap();
    assert_eq!(folder.pages().remove(0).content, Err(Fault::NotAFile));
    // Other names are none of ours.
    fs::write(folder.0.join("1-2"), "").unwrap();
    fs::write(folder.0.join("1-2-3-4"), "").unwrap();
    fs::write(folder.0.join("1-+2-3"), "").unwrap();
    assert_eq!(folder.pages().len(), 2);
}

#[test]
fn a_page_that_is_full_says_so() {
    let folder = Temporary::new("page-full");
    let page = Box::leak(Box::new(Page::make(&Folder::open(&folder.0).unwrap(), true).unwrap()));
    let names = (0..4000).map(|n| ("cpu".to_owned(), n.to_string()));
    let shape = Shape::operations(names);
    let banks: Vec<_> = std::iter::from_fn(|| page.bank(&shape)).collect();
    assert!(banks.len() > 5, "{}", banks.len());
    let content = folder.pages().remove(0).content.unwrap();
    assert_eq!(content.no_room, 1);
    assert_eq!(content.process, Identity::own());
    assert!(content.created > 1_700_000_000);
}

#[test]
fn large_files_keep_no_reader_busy() {
    let folder = Temporary::new("page-large");
    for n in 0..18 {
        let file = fs::File::create(folder.0.join(format!("1-1-{n:02}"))).unwrap();
        file.set_len(if n == 0 { MOST_BYTES + 1 } else { MOST_BYTES } as u64).unwrap();
    }
    let faults = folder.pages().into_iter().map(|page| page.content.unwrap_err());
    let large = faults.map(|fault| match fault {
        Fault::Large => true,
        Fault::NoPage => false,
        other => panic!("{other}"),
    });
    let expected: Vec<_> = (0..18).map(|n| n == 0 || n == 17).collect();
    assert_eq!(large.collect::<Vec<_>>(), expected);
}

/// What a reader keeps open says what the files say, grown ones too, and is closed with the process or beyond the bound.
#[test]
fn a_kept_page_is_as_a_new_one() {
    let folder = Temporary::new("page-again");
    let open = Folder::open(&folder.0).unwrap();
    let descriptors = || {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter(|fd| {
                let to = fd.as_ref().unwrap().path().read_link();
                to.is_ok_and(|to| to.starts_with(&folder.0) && to != folder.0)
            })
            .count()
    };
    let pages: Vec<_> = (0..3).map(|_| Page::make(&open, true).unwrap()).collect();
    let pages: &[Page] = Box::leak(pages.into());
    let before = descriptors();
    let mut reader = Reader::keeping(2);
    for turn in 0..5 {
        let banks: Vec<_> = pages.iter().map(|page| page.bank(&devices()).unwrap()).collect();
        for (n, bank) in banks.iter().enumerate() {
            bank[operation::REQUESTS].fetch_add(n as u64 + 1, Relaxed);
        }
        let (kept, 0) = reader.pages(&open).unwrap() else { panic!("more") };
        let (new, 0) = Reader::default().pages(&open).unwrap() else { panic!("more") };
        assert_eq!(kept.len(), 3);
        for (kept, new) in kept.iter().zip(&new) {
            assert_eq!((&kept.name, kept.state), (&new.name, State::Running));
            let content = kept.content.as_ref().unwrap();
            assert_eq!(content, new.content.as_ref().unwrap());
            let n: u64 = kept.name.rsplit('-').next().unwrap().parse().unwrap();
            assert_eq!(content.operations[0].words[operation::REQUESTS], (turn + 1) * (n + 1));
        }
        assert_eq!(descriptors(), before + 2);
        // Each turn has sections of its own.
        std::mem::forget(banks);
    }
    reader.begin();
    assert_eq!(descriptors(), before + 2);
    reader.begin();
    assert_eq!(descriptors(), before);
}

/// The words of a page's file, from outside.
fn word(path: &Path, place: usize) -> u64 {
    let bytes = fs::read(path).unwrap();
    u64::from_ne_bytes(bytes[8 * place..8 * place + 8].try_into().unwrap())
}

/// Who reads while counts move reads again; the number in the head says that they do.
#[test]
fn counts_that_move_are_read_once() {
    const CHANGES: usize = 5;
    let folder = Temporary::new("page-moves");
    let page = Box::leak(Box::new(Page::make(&Folder::open(&folder.0).unwrap(), true).unwrap()));
    let banks = [0, 1].map(|_| page.bank(&devices()).unwrap());
    assert_eq!(word(page.path(), CHANGES), 0);
    banks[0][operation::REQUESTS].store(3, Relaxed);
    drop(banks);
    assert_eq!(word(page.path(), CHANGES), 4);

    // As a reader sees it in the middle: the number is odd, and a count is neither here nor there.
    let at = page.path();
    let put = |file: &fs::File, place: usize, n: u64| {
        file.write_all_at(&n.to_ne_bytes(), 8 * place as u64).unwrap();
    };
    let past = (4096 + 128 + 3 * 64) / 8;
    assert_eq!(word(at, past), 3);
    let requests = || folder.pages().remove(0).content.unwrap().operations[0].words[0];
    let file = fs::OpenOptions::new().write(true).open(at).unwrap();
    put(&file, CHANGES, 5);
    put(&file, past, 2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            put(&file, past, 4);
            put(&file, CHANGES, 6);
        });
        assert_eq!(requests(), 4);
    });
    // Nobody waits for a process that has ended in the middle.
    put(&file, CHANGES, 7);
    put(&file, 4, 1);
    fs::rename(at, folder.0.join(format!("{}-1-0", std::process::id()))).unwrap();
    // A busy machine may stop this thread for as long.
    assert!((0..5).any(|_| {
        let start = Instant::now();
        assert_eq!(requests(), 4);
        start.elapsed() < Duration::from_millis(95)
    }));
}

/// A process goes on when its first thread has ended, which `/proc/PID/stat` calls a zombie.
#[test]
fn a_process_without_its_first_thread_still_is() {
    extern "C" fn wait(_: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: no preconditions.
        unsafe { libc::sleep(30) };
        std::ptr::null_mut()
    }
    // SAFETY: the child starts a thread and ends its first one.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a place for the thread's number, a static function; then this thread alone ends.
        unsafe {
            let mut thread = std::mem::zeroed();
            let null = std::ptr::null();
            libc::pthread_create(&mut thread, null, wait, std::ptr::null_mut());
            libc::syscall(libc::SYS_exit, 0);
        }
    }
    let own = Identity::own();
    let of = Identity { pid: child as u64, start: 0, namespace: own.namespace };
    let stat = || fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    while !stat().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(of.state(), State::Running);
    // SAFETY: a child of ours.
    unsafe { libc::kill(child, libc::SIGKILL) };
    while of.state() == State::Running {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(of.state(), State::Ended);
    // SAFETY: as above.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}
