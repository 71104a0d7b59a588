//! What a public-key request costs through QuickAssist's functions, beside the same request through the Rust
//! interface: CPU time, 36 outstanding, in rounds that alternate; medians.
//! `cargo bench -p lookaside-qat --bench pke [-- name]`.
// Each block calls a function of the interface with what that asks for.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::{
    env,
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use lookaside::{
    Buf, Curve, Ec, Instance, InstanceConfig, Nonce, Request, RsaCrt, RsaPrivate, RsaPrivateKey,
    RsaScheme, Runtime, Secret, Xdh, XdhCurve,
};
use lookaside_qat::{
    abi::*,
    cy::pke::{curves::CURVES, ec::*, ecdsa::*, edwards::*, rsa::*},
    sal::*,
};

const ROUNDS: usize = 21;
const OUTSTANDING: usize = 36;

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

static ANSWERS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn flat(_: *mut c_void, s: CpaStatus, _: *mut c_void, _: *mut CpaFlatBuffer) {
    assert_eq!(s, CPA_STATUS_SUCCESS);
    ANSWERS.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn two(
    _: *mut c_void,
    status: CpaStatus,
    _: *mut c_void,
    valid: CpaBoolean,
    _: *mut CpaFlatBuffer,
    _: *mut CpaFlatBuffer,
) {
    assert_eq!((status, valid), (CPA_STATUS_SUCCESS, CPA_TRUE));
    ANSWERS.fetch_add(1, Ordering::Relaxed);
}

/// A buffer that stays for good.
fn leak(bytes: &[u8]) -> CpaFlatBuffer {
    let bytes = bytes.to_vec().leak();
    CpaFlatBuffer { dataLenInBytes: bytes.len() as u32, pData: bytes.as_mut_ptr() }
}

fn read(flat: &CpaFlatBuffer) -> Vec<u8> {
    // SAFETY: of `leak`.
    unsafe { std::slice::from_raw_parts(flat.pData, flat.dataLenInBytes as usize) }.to_vec()
}

type Submit = Box<dyn Fn(&mut [CpaFlatBuffer; 2]) -> CpaStatus>;
type Make = Box<dyn Fn() -> Request>;

/// A request by both interfaces.
struct Case {
    name: &'static str,
    submit: Submit,
    make: Make,
    /// Bytes of each output.
    lens: [usize; 2],
}

fn generated(runtime: &Runtime, request: Request) -> Vec<u8> {
    let response = runtime.handle().call(request).wait();
    let produced = response.result.expect("a generated key").produced;
    response.dst.into_vec()[..produced].to_vec()
}

fn rsa(runtime: &Runtime) -> Case {
    let generate = runtime.rsa_generate(2048).expect("a session");
    let request = generate.generate(vec![1, 0, 1].into(), Buf::zeroed(2 * 256 + 5 * 128));
    let made = generated(runtime, request);
    let part = |at: usize, len: usize| made[at..at + len].to_vec();
    let half = |index: usize| part(512 + 128 * index, 128);
    let secret = |bytes: Vec<u8>| Secret::from(bytes);
    let key = RsaPrivateKey {
        n: part(0, 256),
        e: vec![1, 0, 1],
        d: secret(part(256, 256)),
        crt: Some(RsaCrt {
            p: secret(half(0)),
            q: secret(half(1)),
            dp: secret(half(2)),
            dq: secret(half(3)),
            qinv: secret(half(4)),
        }),
    };
    let session: RsaPrivate = runtime.rsa_private(key).expect("a session");
    let mut input = vec![0x55; 256];
    input[0] = 0;
    let none = leak(&[]);
    let private = Box::leak(Box::new(CpaCyRsaPrivateKey {
        version: CPA_CY_RSA_VERSION_TWO_PRIME,
        privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2,
        privateKeyRep1: CpaCyRsaPrivateKeyRep1 { modulusN: none, privateExponentD: none },
        privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
            prime1P: leak(&half(0)),
            prime2Q: leak(&half(1)),
            exponent1Dp: leak(&half(2)),
            exponent2Dq: leak(&half(3)),
            coefficientQInv: leak(&half(4)),
        },
    }));
    let op = CpaCyRsaDecryptOpData { pRecipientPrivateKey: private, inputData: leak(&input) };
    Case {
        name: "RSA-2048 private",
        submit: Box::new(move |outs| unsafe {
            cpaCyRsaDecrypt(ptr::null_mut(), Some(flat), ptr::null_mut(), &op, &mut outs[0])
        }),
        make: Box::new(move || {
            session.run(RsaScheme::Raw, Buf::secret(input.clone()), Buf::zeroed(256))
        }),
        lens: [256, 1],
    }
}

fn ecdsa(runtime: &Runtime) -> Case {
    let session: Ec = runtime.ec(Curve::P256).expect("a session");
    let made = generated(runtime, session.generate(Buf::zeroed(97)));
    let (d, k, m) = (made[..32].to_vec(), made[40..72].to_vec(), [0x77; 32]);
    let it = &CURVES[0];
    let op = CpaCyEcdsaSignRSOpData {
        xg: leak(it.g[0]),
        yg: leak(it.g[1]),
        n: leak(it.n),
        q: leak(it.p),
        a: leak(it.a),
        b: leak(it.b),
        k: leak(&k),
        m: leak(&m),
        d: leak(&d),
        fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
    };
    let src = [&d[..], &k, &m].concat();
    Case {
        name: "P-256 sign",
        submit: Box::new(move |[r, s]| unsafe {
            let (null, mut valid) = (ptr::null_mut(), CPA_FALSE);
            cpaCyEcdsaSignRS(null, Some(two), null, &op, &mut valid, r, s)
        }),
        make: Box::new(move || {
            session.sign(Nonce::Given, Buf::secret(src.clone()), Buf::zeroed(64))
        }),
        lens: [32, 32],
    }
}

fn ecdh(runtime: &Runtime) -> Case {
    let session: Ec = runtime.ec(Curve::P256).expect("a session");
    let made = generated(runtime, session.generate(Buf::zeroed(97)));
    let (k, point) = (made[..32].to_vec(), made[32..].to_vec());
    let it = &CURVES[0];
    let op = CpaCyEcPointMultiplyOpData {
        k: leak(&k),
        xg: leak(&point[1..33]),
        yg: leak(&point[33..]),
        a: leak(it.a),
        b: leak(it.b),
        q: leak(it.p),
        h: CpaFlatBuffer { dataLenInBytes: 0, pData: ptr::null_mut() },
        fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
    };
    Case {
        name: "P-256 multiply",
        submit: Box::new(move |[x, y]| unsafe {
            let (null, mut valid) = (ptr::null_mut(), CPA_FALSE);
            cpaCyEcPointMultiply(null, Some(two), null, &op, &mut valid, x, y)
        }),
        make: Box::new(move || session.multiply(Buf::secret(made.clone()), Buf::zeroed(65))),
        lens: [32, 32],
    }
}

fn x25519(runtime: &Runtime) -> Case {
    let session: Xdh = runtime.xdh(XdhCurve::X25519).expect("a session");
    let made = generated(runtime, session.generate(Buf::zeroed(64)));
    let turned = |bytes: &[u8]| leak(&bytes.iter().rev().copied().collect::<Vec<u8>>());
    let op = CpaCyEcMontEdwdsPointMultiplyOpData {
        curveType: CPA_CY_EC_MONTEDWDS_CURVE25519_TYPE,
        generator: CPA_FALSE,
        k: turned(&made[..32]),
        x: turned(&made[32..]),
        y: CpaFlatBuffer { dataLenInBytes: 0, pData: ptr::null_mut() },
    };
    Case {
        name: "X25519",
        submit: Box::new(move |[x, _]| unsafe {
            let (null, mut valid) = (ptr::null_mut(), CPA_FALSE);
            cpaCyEcMontEdwdsPointMultiply(null, Some(two), null, &op, &mut valid, x, null.cast())
        }),
        make: Box::new(move || session.derive(Buf::secret(made.clone()), Buf::zeroed(32))),
        lens: [32, 1],
    }
}

/// So many requests through QuickAssist's functions; nanoseconds each, and the first output.
fn by_qat(case: &Case, count: usize) -> (u64, Vec<u8>) {
    let mut outs: Vec<_> = (0..count).map(|_| case.lens.map(|len| leak(&vec![0; len]))).collect();
    ANSWERS.store(0, Ordering::Relaxed);
    let start = cpu_ns();
    for outs in &mut outs {
        assert_eq!((case.submit)(outs), CPA_STATUS_SUCCESS);
    }
    while ANSWERS.load(Ordering::Relaxed) < count {
        // SAFETY: the first instance.
        unsafe { icp_sal_CyPollInstance(ptr::null_mut(), 0) };
    }
    let each = (cpu_ns() - start) / count as u64;
    (each, read(&outs[0][0]))
}

/// The same through an instance of the runtime.
fn by_runtime(case: &Case, instance: &mut Instance, count: usize) -> (u64, Vec<u8>) {
    let start = cpu_ns();
    for _ in 0..count {
        assert!(instance.push((case.make)()).is_ok());
    }
    instance.doorbell();
    let mut first = Vec::new();
    let mut answered = 0;
    while answered < count {
        for response in instance.poll() {
            assert!(response.result.is_ok());
            if answered == 0 {
                first = response.dst.as_slice().unwrap_or_default().to_vec();
            }
            answered += 1;
        }
    }
    ((cpu_ns() - start) / count as u64, first)
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let runtime =
        Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().expect("a runtime");
    let config = InstanceConfig { depth: 512, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).expect("an instance");
    println!(
        "CPU time of a request, us, {OUTSTANDING} outstanding and 1; medians of {ROUNDS} rounds"
    );
    println!("{:18} {:>10} {:>10} {:>7}", "", "libqat", "Rust", "ratio");
    for make in [rsa, ecdsa, ecdh, x25519] {
        let case = make(&runtime);
        if !wanted.is_empty() && !wanted.iter().any(|name| case.name.contains(name)) {
            continue;
        }
        for count in [OUTSTANDING, 1] {
            let (mut qat, mut own) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let (ours, out) = by_qat(&case, count);
                let (theirs, same) = by_runtime(&case, &mut instance, count);
                // The point's own first byte is no coordinate's.
                let at = if same.first() == Some(&4) && same.len() == 65 { 1 } else { 0 };
                let same = &same[at..at + out.len()];
                let turned: Vec<u8> = out.iter().rev().copied().collect();
                assert!(same == out || same == turned, "{}: results differ", case.name);
                qat.push(ours);
                own.push(theirs);
            }
            let (qat, own) = (median(qat) as f64 / 1000.0, median(own) as f64 / 1000.0);
            println!("{:14} {count:3} {qat:10.2} {own:10.2} {:7.3}", case.name, qat / own);
        }
    }
}
