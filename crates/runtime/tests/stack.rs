//! How much stack a thread needs that executes requests itself: with 0 engines. Each service runs on a
//! thread whose stack was painted before; what is not painted any more was used.
//!
//! `cargo test --release -p lookaside --test stack -- --nocapture` prints the figures behind the
//! documentation of `Builder::engines`.

use std::{ffi::c_void, time::Duration};

use lookaside::{
    Aead, Auth, Buf, Cipher, Compression, Curve, EdCurve, Flush, Format, Hash, Instance,
    InstanceConfig, Nonce, Op, OpError, Packet, Request, RsaCrt, RsaPrivateKey, RsaScheme, Runtime,
    Span, XdhCurve,
};
use lookaside_cpu::cpu;

/// What `Builder::engines` documents: of compression, of one request at a time, of batches.
const DOCUMENTED: [usize; 3] = [32 << 10, 64 << 10, 192 << 10];
/// Without optimisation frames are larger.
const FACTOR: usize = if cfg!(debug_assertions) { 4 } else { 1 };

const STACK: usize = 2 << 20;
const PAINT: u8 = 0xa5;

/// Memory for a stack, aligned to pages.
#[repr(align(4096))]
struct Stack([u8; STACK]);

/// Runs `f` on a thread and returns how much of its stack was used, thread-local storage included.
fn used(f: impl FnOnce() + Send) -> usize {
    type Body<'a> = Box<dyn FnOnce() + Send + 'a>;
    extern "C" fn body(f: *mut c_void) -> *mut c_void {
        // SAFETY: from `Box::into_raw` below, once.
        let f = unsafe { Box::from_raw(f.cast::<Body<'static>>()) };
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_ok();
        core::ptr::without_provenance_mut(usize::from(good))
    }
    let mut stack: Box<Stack> = unsafe {
        // SAFETY: bytes of any value are a `Stack`, and all of them are written before it is used.
        let mut stack = Box::<Stack>::new_uninit();
        stack.as_mut_ptr().cast::<u8>().write_bytes(PAINT, STACK);
        stack.assume_init()
    };
    let f: Box<Body<'_>> = Box::new(Box::new(f));
    let mut good = core::ptr::null_mut();
    // SAFETY: the attributes are initialised; the stack outlives the thread, which is joined here, as
    // does what `f` borrows.
    unsafe {
        let mut attributes = core::mem::MaybeUninit::uninit();
        assert_eq!(libc::pthread_attr_init(attributes.as_mut_ptr()), 0);
        let mut attributes = attributes.assume_init();
        let start = stack.0.as_mut_ptr().cast();
        assert_eq!(libc::pthread_attr_setstack(&mut attributes, start, STACK), 0);
        let mut thread = 0;
        let f = Box::into_raw(f).cast();
        assert_eq!(libc::pthread_create(&mut thread, &attributes, body, f), 0);
        assert_eq!(libc::pthread_join(thread, &mut good), 0);
        libc::pthread_attr_destroy(&mut attributes);
    }
    assert!(!good.is_null(), "the thread panicked");
    let painted = stack.0.iter().take_while(|&&b| b == PAINT).count();
    assert!(painted > 0, "the stack overflowed");
    STACK - painted
}

/// Pushes the requests, has them executed here, and takes the responses.
fn run(instance: &mut Instance, requests: Vec<Request>) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for request in requests {
        instance.push(request).unwrap();
    }
    while instance.wait(Duration::from_secs(60)) {
        for mut r in instance.poll() {
            // Data or a key that is not one costs no less stack.
            let fine = matches!(
                r.result,
                Ok(_)
                    | Err(OpError::BadInput { .. } | OpError::AuthFailed | OpError::BadData { .. })
            );
            assert!(fine, "{:?}", r.result);
            let produced = r.result.map_or(0, |done| done.produced);
            out.push(r.dst.as_mut_slice().map(|s| s[..produced].to_vec()).unwrap_or_default());
        }
    }
    out
}

/// Names, and requests that run side by side.
fn everything(runtime: &Runtime) -> Vec<(String, Vec<Request>)> {
    let mut all = Vec::new();
    let data = lookaside_testkit::mixed(1, 200_000);
    for format in [Format::Raw, Format::Gzip, Format::Lz4, Format::Lz4s, Format::Zstd] {
        for level in format.levels() {
            let spec = Compression { level, format, ..Compression::default() };
            let session = runtime.compression(spec.clone()).unwrap();
            let request = session.compress(Buf::from(&*data), Buf::zeroed(300_000));
            all.push((format!("compress, {format:?}, level {level}"), vec![request]));
            if !format.has_streams() {
                continue;
            }
            let stream = runtime.compress_stream(spec, None).unwrap();
            let request = stream.compress(Buf::from(&*data), Buf::zeroed(300_000), Flush::Finish);
            all.push((format!("compress stream, {format:?}, level {level}"), vec![request]));
        }
        let session =
            runtime.compression(Compression { format, ..Compression::default() }).unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let request = session.compress(Buf::from(&*data), Buf::zeroed(300_000));
        let packed = run(&mut instance, vec![request]).remove(0);
        let request = session.decompress(Buf::from(&*packed), Buf::zeroed(200_000));
        all.push((format!("decompress, {format:?}"), vec![request]));
        if !format.has_streams() {
            continue;
        }
        let stream = runtime.decompress_stream(format, None).unwrap();
        let request = stream.decompress(Buf::from(&*packed), Buf::zeroed(200_000));
        all.push((format!("decompress stream, {format:?}"), vec![request]));
    }

    let mover = runtime.mover().unwrap();
    let copies = (0..32).map(|_| mover.copy(Buf::zeroed(5000), Buf::zeroed(5000)));
    all.push(("copy".into(), copies.collect()));

    let whole = Span { offset: 0, len: 4096 };
    for n in [1, 32] {
        for cipher in [Cipher::AesCbc, Cipher::AesCtr, Cipher::TripleDesCbc, Cipher::ZucEea3] {
            let key = vec![3; if cipher == Cipher::TripleDesCbc { 24 } else { 16 }];
            let session = runtime.cipher(cipher, &key).unwrap();
            let iv = || match cipher {
                Cipher::TripleDesCbc => [0; 8].into(),
                _ => [0; 16].into(),
            };
            let packet = || Packet { iv: iv(), cipher: whole, ..Packet::default() };
            let one = |_| session.encrypt(packet(), Buf::empty(), Buf::zeroed(4096));
            all.push((format!("{cipher:?} x {n}"), (0..n).map(one).collect()));
        }
        for auth in [Auth::Hmac(Hash::Sha256), Auth::Hmac(Hash::Sha512), Auth::AesCmac] {
            let session = runtime.digest(auth, &[3; 16], 16).unwrap();
            let packet = || Packet { auth: whole, ..Packet::default() };
            let one = |_| session.digest(packet(), Buf::zeroed(4096), Buf::zeroed(16));
            all.push((format!("{auth:?} x {n}"), (0..n).map(one).collect()));
        }
        for aead in [Aead::AesGcm, Aead::AesCcm, Aead::ChaCha20Poly1305] {
            let key = vec![3; if aead == Aead::ChaCha20Poly1305 { 32 } else { 16 }];
            let session = runtime.aead(aead, &key, 16).unwrap();
            let packet =
                || Packet { iv: [0; 12].into(), cipher: whole, tag: 4096, ..Packet::default() };
            let one = |_| session.seal(packet(), Buf::empty(), Buf::zeroed(4112));
            all.push((format!("{aead:?} x {n}"), (0..n).map(one).collect()));
            let running = || session.start(Op::Seal, &[0; 12]).unwrap();
            let one = |_| session.seal(running(), Buf::empty(), Buf::zeroed(4096));
            all.push((format!("{aead:?} in pieces x {n}"), (0..n).map(one).collect()));
        }
    }

    for n in [1, 8] {
        let dst = || Buf::zeroed(512);
        for curve in Curve::ALL {
            let ec = runtime.ec(curve).unwrap();
            let generate = (0..n).map(|_| ec.generate(dst())).collect();
            all.push((format!("{curve:?} generate x {n}"), generate));
            let sign =
                |_| ec.sign(Nonce::Hedged, Buf::from(vec![1; curve.order_len() + 32]), dst());
            all.push((format!("{curve:?} sign x {n}"), (0..n).map(sign).collect()));
        }
        for curve in [XdhCurve::X25519, XdhCurve::X448] {
            let xdh = runtime.xdh(curve).unwrap();
            all.push((format!("{curve:?} x {n}"), (0..n).map(|_| xdh.generate(dst())).collect()));
        }
        for (curve, len) in [(EdCurve::Ed25519, 32), (EdCurve::Ed448, 57)] {
            let ed = runtime.eddsa(curve).unwrap();
            let sign = |_| ed.sign(Buf::from(vec![1; len + 100]), dst());
            all.push((format!("{curve:?} sign x {n}"), (0..n).map(sign).collect()));
        }
        let sm2 = runtime.sm2().unwrap();
        all.push((format!("SM2 generate x {n}"), (0..n).map(|_| sm2.generate(dst())).collect()));
        for bits in [1024, 2048, 4096] {
            // Slow to make without optimisation.
            if bits == 4096 && cfg!(debug_assertions) {
                continue;
            }
            let private = runtime.rsa_private(rsa_key(runtime, bits)).unwrap();
            let sign = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
            let one = |_| private.run(sign, Buf::from(vec![7; 32]), Buf::zeroed(bits / 8));
            all.push((format!("RSA-{bits} x {n}"), (0..n).map(one).collect()));
        }
    }
    let generate = runtime.rsa_generate(1024).unwrap();
    let request = generate.generate(Buf::from(vec![1, 0, 1]), Buf::zeroed(1024));
    all.push(("RSA-1024 generate".into(), vec![request]));
    let prime = runtime.prime().unwrap();
    all.push(("prime".into(), vec![prime.generate(512, false, Buf::zeroed(64))]));
    let prf = runtime.tls_prf(Hash::Sha256).unwrap();
    all.push(("TLS PRF".into(), vec![prf.derive(48, Buf::from(vec![1; 120]), Buf::zeroed(104))]));
    all
}

/// A key made by the device, cut into its parts.
fn rsa_key(runtime: &Runtime, bits: usize) -> RsaPrivateKey {
    let e = vec![1, 0, 1];
    let session = runtime.rsa_generate(bits as u32).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let request = session.generate(Buf::from(&e[..]), Buf::zeroed(bits));
    let made = run(&mut instance, vec![request]).remove(0);
    let (k, half) = (bits / 8, bits / 16);
    let crt = |i: usize| made[2 * k + i * half..][..half].to_vec().into();
    let crt = RsaCrt { p: crt(0), q: crt(1), dp: crt(2), dq: crt(3), qinv: crt(4) };
    RsaPrivateKey { n: made[..k].to_vec(), e, d: made[k..2 * k].to_vec().into(), crt: Some(crt) }
}

#[test]
fn every_service_fits_the_documented_stack() {
    let runtime = Runtime::builder().device(cpu()).engines(0).start().unwrap();
    let mut too_much = Vec::new();
    let nothing = used(|| {});
    for (name, requests) in everything(&runtime) {
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let n = used(|| drop(run(&mut instance, requests))) - nothing;
        println!("{n:8} {name}");
        let [compression, lone, batch] = DOCUMENTED;
        let bound = match () {
            () if name.contains("compress") => compression,
            () if name.ends_with(" x 8") || name.ends_with(" x 32") => batch,
            () => lone,
        };
        if n > FACTOR * bound {
            too_much.push((n, bound, name));
        }
    }
    assert!(too_much.is_empty(), "more than the documentation says: {too_much:?}");
}
