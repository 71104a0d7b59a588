//! Symmetric sessions: what every form of a request promises.

use lookaside::{
    Aead, Auth, Buf, Carried, Cipher, Hash, Op, OpError, Packet, Request, Response, Runtime, Span,
};
use lookaside_cpu::cpu;

fn runtime() -> Runtime {
    Runtime::builder().device(cpu()).engines(0).start().unwrap()
}

fn call(runtime: &Runtime, request: Request) -> Response {
    runtime.handle().call(request).wait()
}

#[test]
fn operations_of_other_sessions_are_refused() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let digest = runtime.digest(Auth::Hmac(Hash::Sha256), &[1; 16], 32).unwrap();
    let aead = runtime.aead(Aead::AesGcm, &[1; 16], 16).unwrap();
    let p = || Packet { iv: [0; 12].into(), ..Packet::default() };
    let ops = [Op::Encrypt, Op::Decrypt, Op::Digest, Op::Verify, Op::Seal, Op::Open, Op::Copy];
    for (i, op) in ops.into_iter().enumerate() {
        let own = |kind: usize| i / 2 == kind && op != Op::Copy;
        let refused = |e: Option<OpError>| e == Some(OpError::Unsupported);
        let dst = &mut [0; 64];
        assert_eq!(refused(cipher.at_once(op, &mut p(), None, dst).err()), !own(0), "{op:?}");
        assert_eq!(refused(digest.at_once(op, &mut p(), None, dst).err()), !own(1), "{op:?}");
        assert_eq!(refused(aead.at_once(op, &mut p(), None, dst).err()), !own(2), "{op:?}");
        assert_eq!(refused(cipher.start(op, &[0; 12]).err()), !own(0), "{op:?}");
        assert_eq!(refused(digest.start(op, &[]).err()), !own(1), "{op:?}");
        assert_eq!(refused(aead.start(op, &[0; 12]).err()), !own(2), "{op:?}");
        let mut running = aead.start(Op::Seal, &[0; 12]).unwrap();
        assert_eq!(refused(running.restart(op, &[0; 12]).err()), !own(2), "{op:?}");
    }
}

/// An empty source means in place, also when it is a list.
#[test]
fn a_list_of_nothing_is_no_source() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let p = Packet { iv: [0; 16].into(), cipher: Span::new(0, 20), ..Packet::default() };
    let expected = call(&runtime, cipher.encrypt(p, Buf::empty(), Buf::zeroed(20)));
    let expected = expected.dst.into_vec();
    for segments in 0..3 {
        let src = Buf::list((0..segments).map(|_| Buf::empty()).collect());
        let r = call(&runtime, cipher.encrypt(p, src, Buf::zeroed(20)));
        assert_eq!(r.packets()[0].result, Ok(20), "{segments} segments");
        assert_eq!(r.dst.into_vec(), expected);
    }
}

/// A box that comes from an earlier response holds no results of that.
#[test]
fn packets_of_a_request_that_does_not_run_say_so() {
    let runtime = runtime();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let p = Packet { iv: [0; 16].into(), cipher: Span::new(0, 20), ..Packet::default() };
    for carried in [Box::<Carried>::from(p), vec![p; 1].into(), vec![p; 3].into()] {
        let first = cipher.encrypt(carried, Buf::empty(), Buf::zeroed(20));
        let r = call(&runtime, first);
        assert!(r.packets().iter().all(|p| p.result == Ok(20)));
        let mut second = cipher.encrypt(r.carried.unwrap(), Buf::empty(), Buf::zeroed(20));
        second.op = Op::Seal;
        let r = call(&runtime, second);
        assert_eq!(r.result, Err(OpError::Unsupported));
        assert!(r.packets().iter().all(|p| p.result == Err(OpError::Unsupported)));
    }
}
