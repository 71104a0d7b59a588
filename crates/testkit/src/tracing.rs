//! Probes (docs/tracing.md) as a tracer finds them: notes in an ELF file, and what gdb prints where they fire.

use object::{Object as _, ObjectSection as _, SectionKind};
use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

/// A note of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The probe's name.
    pub name: String,
    /// Its place in the file's memory.
    pub at: u64,
    /// Whether code is there. In a build without link-time optimisation, notes of functions that the linker has removed
    /// stay.
    pub is_live: bool,
    bytes: Range<usize>,
}

const SECTION: &str = ".note.stapsdt";

/// The notes in a file, and all bytes of their section.
fn read(file: &Path) -> (Vec<Note>, Vec<u8>) {
    let file_bytes = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let elf = object::File::parse(&*file_bytes).expect("an ELF file");
    let of_code = elf.sections().filter(|section| section.kind() == SectionKind::Text);
    let code: Vec<Range<u64>> =
        of_code.map(|section| section.address()..section.address() + section.size()).collect();
    let Some(section) = elf.section_by_name(SECTION) else { return (Vec::new(), Vec::new()) };
    let bytes = section.data().expect("a section").to_vec();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (mut notes, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        // Length of the owner's name, of what follows, the kind; the owner is `stapsdt` and a NUL.
        let (about, end) = (at + 20, at + 20 + word(at + 4).next_multiple_of(4));
        // Place, base and semaphore; then provider, name and arguments, each with a NUL.
        let mut strings = bytes[about + 24..end].split(|&byte| byte == 0);
        assert_eq!(strings.next(), Some(&b"lookaside"[..]), "a provider in {}", file.display());
        let name = String::from_utf8_lossy(strings.next().unwrap_or_default()).into_owned();
        let place = long(about);
        let is_live = code.iter().any(|range| range.contains(&place));
        notes.push(Note { name, at: place, is_live, bytes: at..end });
        at = end;
    }
    (notes, bytes)
}

/// The notes of probes in a file.
pub fn notes(file: &Path) -> Vec<Note> {
    read(file).0
}

/// How many notes with code each probe has.
pub fn live(notes: &[Note]) -> BTreeMap<&str, usize> {
    let mut count = BTreeMap::new();
    notes.iter().filter(|note| note.is_live).for_each(|note| {
        *count.entry(&*note.name).or_default() += 1;
    });
    count
}

/// A copy of a program without the notes that have no code: gdb sets breakpoints there, too.
fn without_dead_notes(program: &Path, scratch: &Path) -> PathBuf {
    let (notes, bytes) = read(program);
    let live = notes.iter().filter(|note| note.is_live);
    let kept: Vec<u8> = live.flat_map(|note| &bytes[note.bytes.clone()]).copied().collect();
    let (section, copy) = (scratch.join("kept"), scratch.join("program"));
    fs::write(&section, kept).expect("a file in the scratch folder");
    let update = format!("{SECTION}={}", section.display());
    let done =
        Command::new("objcopy").args(["--update-section", &update]).args([program, &copy]).status();
    assert!(done.expect("objcopy (Debian: binutils)").success(), "objcopy");
    copy
}

/// What gdb does at a probe.
pub struct Print<'a> {
    /// The probe.
    pub name: &'a str,
    /// Which of its arguments are printed, from 0; an `s` behind one says that it is a string.
    pub arguments: &'a [&'a str],
    /// What gdb does next.
    pub then: &'a str,
}

/// Runs a program under gdb, with a breakpoint at each of the probes. Returns a line for each time that one of them was
/// reached: its name, and what its format makes of its arguments. `None` where gdb cannot do it here, after having said
/// why.
pub fn trace(command: &Command, probes: &[Print<'_>], scratch: &Path) -> Option<Vec<String>> {
    const MARK: &str = "PROBE ";
    let program = without_dead_notes(Path::new(command.get_program()), scratch);
    let mut script =
        "set pagination off\nset confirm off\nset language c\nset startup-with-shell off\n\
                      set disable-randomization off\n"
            .to_owned();
    for Print { name, arguments, then } in probes {
        let (mut format, mut values) = (format!("{MARK}{name}"), String::new());
        for argument in *arguments {
            let (kind, cast, number) = match argument.strip_suffix('s') {
                Some(number) => (" %s", "(char *)", number),
                None => (" %ld", "(long)", *argument),
            };
            format.push_str(kind);
            values.push_str(&format!(", {cast}$_probe_arg{number}"));
        }
        script.push_str(&format!(
            "break -probe-stap lookaside:{name}\ncommands\nsilent\nprintf \"{format}\\n\"{values}\n{then}\nend\n"
        ));
    }
    script.push_str("run\n");
    let file = scratch.join("script");
    fs::write(&file, script).expect("a file in the scratch folder");
    if let Err(e) = Command::new("gdb").arg("--version").output() {
        eprintln!("SKIPPED: gdb (Debian: gdb): {e}");
        return None;
    }
    // A program that waits for what it missed ends all the same.
    let mut gdb = Command::new("timeout");
    gdb.args(["--signal=KILL", "60", "gdb", "-nx", "-batch", "-x"])
        .arg(file)
        .arg("--args")
        .arg(program)
        .args(command.get_args());
    gdb.env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => gdb.env(name, value),
            None => gdb.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        gdb.current_dir(folder);
    }
    let out = gdb.output().expect("timeout (Debian: coreutils)");
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let all = said.concat();
    if all.contains("ptrace: ") || all.contains("Couldn't get registers") {
        eprintln!("SKIPPED: gdb may not trace a program here: {all}");
        return None;
    }
    let lines: Vec<String> =
        all.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "gdb has seen no probe: {all}");
    Some(lines)
}
