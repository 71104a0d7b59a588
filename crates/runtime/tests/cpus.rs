//! Where engines run, whichever thread starts them. One test in a process of its own: it looks at all
//! engine threads of the process.

use std::{collections::BTreeMap, fs, thread};

use lookaside::{Builder, Runtime, SetupError};
use lookaside_cpu::cpu;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

fn runtime() -> Builder {
    Runtime::builder().device(cpu())
}

/// The CPUs that this thread may use.
fn own() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).unwrap();
}

/// The engine threads of this process and the CPUs of each ("0-3"), once every engine has set its own.
fn engines(expected: impl Fn(&BTreeMap<String, String>) -> bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for _ in 0..10_000 {
        found.clear();
        for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
            let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
            let field = |name| {
                let line = status.lines().find_map(|l: &str| l.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            if field("Name:").starts_with("lookaside-") {
                found.insert(field("Name:"), field("Cpus_allowed_list:"));
            }
        }
        if expected(&found) {
            break;
        }
        thread::yield_now();
    }
    found
}

#[test]
fn engines_run_on_the_cpus_of_the_process_or_where_they_are_told_to() {
    let cpus = own();
    if cpus.len() < 2 {
        eprintln!("SKIPPED: this process has one CPU");
        return;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let all = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap().trim();

    // Started by a thread that is pinned, as those of servers with a thread for each CPU.
    let runtime_of_a_pinned_thread = |engines: Option<usize>| {
        let start = || {
            pin(cpus[1]);
            let builder = match engines {
                Some(n) => runtime().engines(n),
                None => runtime(),
            };
            let started = builder.start().unwrap();
            assert_eq!(own(), [cpus[1]], "the starting thread stays where it is");
            started
        };
        thread::scope(|s| s.spawn(start).join().unwrap())
    };
    let started = runtime_of_a_pinned_thread(Some(2));
    let found = engines(|e| e.len() == 2 && e.values().all(|cpus| cpus == all));
    assert!(found.len() == 2 && found.values().all(|cpus| cpus == all), "{found:?}");
    drop(started);
    // By default as many as the process has CPUs, or as its control group has time for.
    let many = thread::available_parallelism().unwrap().get();
    assert_eq!(runtime_of_a_pinned_thread(None).engines(), many);

    let started = runtime().engines(2).pin_to(&[cpus[0], cpus[1]]).start().unwrap();
    let pinned = BTreeMap::from([0, 1].map(|i| (format!("lookaside-{i}"), cpus[i].to_string())));
    assert_eq!(engines(|e| *e == pinned), pinned);
    drop(started);

    for absent in [9999, usize::MAX] {
        let refused = runtime().engines(1).pin_to(&[cpus[0], absent]).start().err();
        let Some(SetupError::Limit { given, max, .. }) = refused else { panic!("{refused:?}") };
        assert!(given == absent as u64 && max >= cpus[1] as u64 && max < 9999);
    }
}
