//! Why there is no card, in one line.

mod common;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use lookaside_qat_card::{QatDevice, Settings};

fn refusal(library: &Path) -> String {
    let refusal = QatDevice::new(Settings::new(library)).unwrap_err().to_string();
    println!("{refusal}");
    assert!(!refusal.contains('\n') && refusal.contains(&*library.to_string_lossy()), "{refusal}");
    refusal
}

#[test]
fn what_is_no_library_is_refused() {
    assert!(refusal(Path::new("/nowhere/libqat.so.4")).ends_with("there is no such file"));
    let dir = common::loop_back("refused");
    let text = dir.with_file_name("text.so");
    fs::write(&text, "text").unwrap();
    assert!(refusal(&text).contains("file too short"), "the linker's reason");
    let other = dir.with_file_name("libusdm.so.0");
    assert!(refusal(&other).ends_with("it has no icp_sal_userStart"));
}

#[test]
fn a_card_without_libusdm_that_wants_contiguous_memory_is_refused() {
    let library = common::faulty("no-usdm", &["SEED=1", "CONTIGUOUS=1", "NO_USDM"]);
    assert!(refusal(&library).ends_with("its libusdm.so.0 is not beside it"));
}

#[test]
fn a_card_that_does_not_start_is_refused() {
    let library = common::faulty("no-start", &["SEED=1", "NO_START"]);
    let why = refusal(&library);
    assert!(why.contains("icp_sal_userStart(SSL) answered CPA_STATUS_FAIL: no card"), "{why}");
}

/// Intel's library of Debian 13, in the tree that front/qat/tests/packages.py makes, or named by a variable.
#[test]
fn intels_library_says_what_is_missing() {
    let tree = "../../../target/trixie/usr/lib/x86_64-linux-gnu/libqat.so.4";
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join(tree);
    let library = env::var_os("LOOKASIDE_TEST_LIBQAT").map_or(tree, PathBuf::from);
    if !library.exists() {
        eprintln!("skipped: LOOKASIDE_TEST_LIBQAT does not name Intel's libqat.so.4");
        return;
    }
    if Path::new("/dev/qat_adf_ctl").exists() {
        eprintln!("skipped: there is a card");
        return;
    }
    let why = refusal(&library);
    assert!(why.contains("icp_sal_userStart(SSL) answered") || why.contains("GLIBC_"), "{why}");
}

/// Two libraries of one name in one process: each has its own state.
#[test]
fn two_cards_are_apart() {
    let cards =
        ["one", "two"].map(|name| QatDevice::new(Settings::new(common::loop_back(name))).unwrap());
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let loaded =
        maps.lines().filter(|line| line.contains("liblookaside_qat.so") && line.contains("r-xp"));
    assert!(loaded.count() >= 2, "{maps}");
    assert!(!cards[0].description().is_empty());
    // Not ours, which this test is not linked with.
    let me = Command::new("nm").arg("-D").arg(env::current_exe().unwrap()).output().unwrap();
    assert!(!String::from_utf8_lossy(&me.stdout).contains("cpaDcCompressData2"));
}
