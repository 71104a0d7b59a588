//! A child of a fork starts the card anew; the parent keeps its own.

mod common;

use lookaside::{Buf, Compression, Runtime};
use lookaside_cpu::cpu;
use lookaside_qat_card::{QatDevice, Settings};
use lookaside_testkit::mixed;

/// Compresses some, and returns how many requests the card has answered.
fn compress(runtime: &Runtime) -> Option<u64> {
    let session = runtime.compression(Compression::default()).ok()?;
    let data = mixed(1, 20_000);
    for _ in 0..8 {
        let request = session.compress(Buf::from(&*data), Buf::zeroed(session.bound(data.len())));
        let r = runtime.handle().call(request).wait();
        let mut packed = r.dst.into_vec();
        packed.truncate(r.result.ok()?.produced);
        let back = session.decompress(packed.into(), Buf::zeroed(data.len()));
        if runtime.handle().call(back).wait().dst.into_vec() != data {
            return None;
        }
    }
    let rows = runtime.counters().ops;
    Some(rows.iter().filter(|row| row.device == "qat").map(|row| row.requests).sum())
}

/// What a function answers in a child: 0 to 255.
fn in_a_child(f: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child calls what is ours alone, and ends without handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(255);
        // SAFETY: ends the child.
        unsafe { libc::_exit(code.into()) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "{status}");
    libc::WEXITSTATUS(status)
}

#[test]
fn a_child_starts_the_card_anew() {
    let card = QatDevice::new(Settings::new(common::loop_back("fork"))).unwrap();
    let runtime = Runtime::builder().device(card).device(cpu()).engines(0).start().unwrap();
    assert_eq!(compress(&runtime), Some(16));
    // Its own child likewise, and a runtime that the parent had not started.
    let served = in_a_child(|| {
        let fresh = QatDevice::new(Settings::new(common::loop_back("fork-child"))).unwrap();
        let fresh = Runtime::builder().device(fresh).device(cpu()).engines(1).start().unwrap();
        let all = [compress(&runtime), compress(&fresh)];
        let grandchild = in_a_child(|| compress(&runtime).unwrap_or(200) as u8);
        if grandchild == 16 && all == [Some(16); 2] { 16 } else { 1 }
    });
    assert_eq!(served, 16, "right results, all of them by a card of the child's");
    assert_eq!(compress(&runtime), Some(32));
}

/// The library goes away before the child needs it.
#[test]
fn a_child_that_gets_no_card_does_without() {
    let library = common::loop_back("fork-gone");
    let card = QatDevice::new(Settings::new(&library)).unwrap();
    let runtime = Runtime::builder().device(card).device(cpu()).engines(0).start().unwrap();
    assert_eq!(compress(&runtime), Some(16));
    std::fs::remove_file(library).unwrap();
    let served = in_a_child(|| compress(&runtime).map_or(1, |n| if n == 0 { 0 } else { 2 }));
    assert_eq!(served, 0, "right results, and none of them the card's");
    assert_eq!(compress(&runtime), Some(32));
}
