//! A child of a fork does without its parent's card; the parent keeps it.

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

#[test]
fn a_child_does_without_the_card() {
    let card = QatDevice::new(Settings::new(common::loop_back("fork"))).unwrap();
    let runtime = Runtime::builder().device(card).device(cpu()).engines(0).start().unwrap();
    assert_eq!(compress(&runtime), Some(16));
    // SAFETY: the child calls what is ours alone, and ends without handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let served = compress(&runtime);
        let code = i32::from(served.is_none()) * 2 + i32::from(served.is_some_and(|n| n > 16));
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: a child of this process, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "right results, and none of them the card's");
    assert_eq!(compress(&runtime), Some(32));
}
