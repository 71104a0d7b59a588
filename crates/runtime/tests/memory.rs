//! A process whose memory is limited (`RLIMIT_AS`, `RLIMIT_DATA`): what does not fit is refused, and nothing ends the
//! process. One test in a process of its own, as in `fork.rs`: it forks.

mod child;

use std::{fs, time::Duration};

use child::in_child;
use lookaside::{
    Auth, Buf, Cipher, Compression, EdCurve, Hash, InstanceConfig, Op, OpError, Packet, Request,
    Runtime, SetupError, Span,
};
use lookaside_cpu::cpu;

const LONG: Duration = Duration::from_secs(30);

/// What a limit counts: address space (which glibc reserves for threads ahead of need), or memory that
/// can be written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Space,
    Data,
}

/// Lets this process have `more` bytes than it has.
fn limit(limit: Limit, more: usize) {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let (resource, column) = match limit {
        Limit::Space => (libc::RLIMIT_AS, 0),
        Limit::Data => (libc::RLIMIT_DATA, 5),
    };
    let pages: usize = statm.split_whitespace().nth(column).unwrap().parse().unwrap();
    let bytes = (pages * 4096 + more) as libc::rlim_t;
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

fn instances_that_do_not_fit_are_refused(engines: usize, kind: Limit) {
    let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
    let deep = InstanceConfig { depth: 65_536, ..InstanceConfig::default() };
    let (mut refused, mut opened) = (0, 0);
    for mib in (0..64).step_by(2) {
        let fits = in_child(|| {
            // The child's own engines are there, and one at least has come as far as to serve.
            let mover = runtime.mover().unwrap();
            let copied = runtime.handle().call(mover.copy(Buf::zeroed(9), Buf::zeroed(9))).wait();
            assert_eq!((copied.result.is_ok(), runtime.engines()), (true, engines));
            limit(kind, mib << 20);
            match runtime.instance(deep.clone()) {
                Ok(instance) => instance.free() == 65_536,
                Err(e) => {
                    assert!(matches!(e, SetupError::NoMemory { .. }), "{e}");
                    // SAFETY: a plain system call; what is in the buffers is nobody's.
                    unsafe { libc::_exit(1) }
                }
            }
        });
        *if fits { &mut opened } else { &mut refused } += 1;
    }
    let enough = kind == Limit::Space || refused > 0;
    assert!(enough && opened > 0, "{refused} refused, {opened} opened");
}

/// 64 MB in segments that share one MB.
fn scattered() -> Buf {
    let megabyte = std::sync::Arc::new(vec![7u8; 1 << 20]);
    Buf::list((0..64).map(|_| Buf::shared(megabyte.clone(), 0..1 << 20)).collect())
}

/// A destination of 64 MB in two segments.
fn scattered_dst() -> Buf {
    Buf::list(vec![Buf::zeroed(32 << 20), Buf::zeroed(32 << 20)])
}

fn lists_that_cannot_be_gathered_are_answered(engines: usize) {
    let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
    let compression = runtime.compression(Compression::default()).unwrap();
    let digest = runtime.digest(Auth::Hmac(Hash::Sha256), &[1; 16], 32).unwrap();
    let cipher = runtime.cipher(Cipher::AesCtr, &[1; 16]).unwrap();
    let eddsa = runtime.eddsa(EdCurve::Ed25519).unwrap();
    let all = Span { offset: 0, len: 64 << 20 };
    let hashed = || Packet { auth: all, ..Packet::default() };
    let encrypted = || Packet { iv: [0; 16].into(), cipher: all, ..Packet::default() };
    let requests: [&dyn Fn() -> Request; 7] = [
        &|| compression.compress(scattered(), Buf::zeroed(1 << 20)),
        &|| compression.decompress(Buf::from(vec![3, 0]), scattered_dst()),
        &|| digest.digest(hashed(), scattered(), Buf::zeroed(32)),
        &|| digest.digest(vec![hashed(), hashed()], scattered(), Buf::zeroed(64)),
        &|| cipher.encrypt(encrypted(), Buf::empty(), scattered_dst()),
        &|| {
            cipher.encrypt(
                cipher.start(Op::Encrypt, &[0; 16]).unwrap(),
                Buf::empty(),
                scattered_dst(),
            )
        },
        &|| eddsa.verify(scattered()),
    ];
    for (i, request) in requests.iter().enumerate() {
        let good = in_child(|| {
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            let small = || compression.compress(Buf::from(vec![7; 100]), Buf::zeroed(1000));
            let mut run = |request: Request| {
                instance.push(request).unwrap();
                assert!(instance.wait(LONG));
                instance.poll().next().unwrap()
            };
            assert!(run(small()).result.is_ok());
            let request = request();
            let src_len = request.src.len();
            limit(Limit::Space, 16 << 20);
            let answer = run(request);
            assert_eq!((answer.result, answer.src.len()), (Err(OpError::NoMemory), src_len));
            assert!(answer.packets().iter().all(|p| p.result == Err(OpError::NoMemory)));
            run(small()).result.is_ok()
        });
        assert!(good, "request {i}, {engines} engines");
    }
}

#[test]
fn too_little_memory_is_an_error() {
    for engines in [0, 1] {
        instances_that_do_not_fit_are_refused(engines, Limit::Space);
        instances_that_do_not_fit_are_refused(engines, Limit::Data);
        lists_that_cannot_be_gathered_are_answered(engines);
    }
}
