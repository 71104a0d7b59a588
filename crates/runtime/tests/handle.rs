//! Handles: blocking and as futures, with and without engine threads.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use lookaside::{Buf, Compression, Op, Runtime};
use lookaside_cpu::cpu;
use lookaside_testkit::mixed;

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(f: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut f = pin!(f);
    loop {
        match f.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(v) => return v,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_call_from_many_threads_and_as_a_future() {
    for engines in [0, 2] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let session = runtime.compression(Compression::default()).unwrap();
        let handle = runtime.handle();
        let answered = AtomicUsize::new(0);
        thread::scope(|s| {
            for t in 0..4 {
                let (handle, session, answered) = (handle.clone(), &session, &answered);
                s.spawn(move || {
                    for i in 0..50 {
                        let data = mixed(i, 3000);
                        let request = || {
                            let dst = Buf::zeroed(session.bound(3000));
                            session.compress(Buf::from(&*data), dst).tag(t * 1000 + i)
                        };
                        let (a, b) = (handle.call(request()), handle.call(request()));
                        let a = a.wait();
                        let b = block_on(b);
                        assert_eq!((a.tag, b.tag), (t * 1000 + i, t * 1000 + i));
                        assert_eq!(a.result.unwrap().consumed, 3000);
                        assert_eq!(a.result, b.result);
                        answered.fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(answered.into_inner(), 400);
        assert_eq!(runtime.counters().row("cpu", Op::Compress).unwrap().requests, 400);
    }
}

/// More calls than there are slots: the rest is submitted as others end, abandoned ones too.
#[test]
fn more_calls_than_room() {
    for engines in [0, 1] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let handle = runtime.handle();
        let memory: Arc<Vec<u8>> = Arc::new(vec![1; 100]);
        let mut calls: Vec<_> = (0..3000)
            .map(|tag| {
                let src = Buf::shared(memory.clone(), 0..100);
                handle.call(mover.copy(src, Buf::zeroed(100)).tag(tag))
            })
            .collect();
        let rest = calls.split_off(10);
        drop(calls);
        for (i, call) in rest.into_iter().enumerate() {
            let r = call.wait();
            assert_eq!((r.tag, r.result.unwrap().produced), (i as u64 + 10, 100));
        }
        // The last one first, and all others still live.
        let calls: Vec<_> = (0..3000)
            .map(|tag| handle.call(mover.copy(Buf::empty(), Buf::empty()).tag(tag)))
            .collect();
        for call in calls.into_iter().rev() {
            assert!(call.wait().result.is_ok());
        }
        assert_eq!(Arc::strong_count(&memory), 1);
    }
}
