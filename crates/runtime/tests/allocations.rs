//! What is allocated between push and poll, by Rust and by the C libraries: the table in ARCHITECTURE.md,
//! "What a request allocates". One test in a process of its own: it counts calls of malloc.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::{
    ffi::{c_int, c_void},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use lookaside::{
    Aead, Arithmetic, Auth, Buf, ChainOrder, Checksum, Cipher, Compression, Curve, DhGroup,
    EdCurve, Format, Hash, HkdfMode, Huffman, InstanceConfig, Nonce, Packet, Request, Response,
    RsaCrt, RsaPrivateKey, RsaPublicKey, RsaScheme, Runtime, SaltLen, Span, XdhCurve,
};

static COUNTS: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn count() {
    if COUNTS.load(Relaxed) {
        COUNT.fetch_add(1, Relaxed);
    }
}

// In the place of glibc's own, for this program and for every library that it loads. Rust's standard allocator
// calls them too.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(n: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

/// # Safety
/// As malloc(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    count();
    // SAFETY: as for this function.
    unsafe { __libc_malloc(size) }
}

/// # Safety
/// As calloc(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: as for this function.
    unsafe { __libc_calloc(n, size) }
}

/// # Safety
/// As realloc(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    count();
    // SAFETY: as for this function.
    unsafe { __libc_realloc(old, size) }
}

/// # Safety
/// As aligned_alloc(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    count();
    // SAFETY: as for this function.
    unsafe { __libc_memalign(align, size) }
}

/// # Safety
/// As posix_memalign(3).
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: usize, size: usize) -> c_int {
    count();
    // SAFETY: as for this function; `to` is valid for writes.
    unsafe {
        *to = __libc_memalign(align, size);
        if (*to).is_null() { libc::ENOMEM } else { 0 }
    }
}

/// What the document says about a kind of request.
#[derive(Clone, Copy, PartialEq)]
enum Promise {
    Nothing,
    Allocates,
}

use Promise::{Allocates, Nothing};

/// Requests of one kind.
struct Kind {
    name: String,
    promise: Promise,
    make: Box<dyn Fn() -> Request>,
}

/// As many as lanes are filled with, and some more.
const REQUESTS: usize = 40;
const LONG: Duration = Duration::from_secs(120);

/// The allocations of [`REQUESTS`] requests, from the first push until the last response is taken: the least of
/// some rounds, since memory of kernels and queues grows in the first ones, and stays.
fn allocations(runtime: &Runtime, kind: &Kind) -> usize {
    let mut instance =
        runtime.instance(InstanceConfig { depth: 64, ..InstanceConfig::default() }).unwrap();
    let mut least = usize::MAX;
    // What is only printed needs no more than one round to warm up.
    for _ in 0..if kind.promise == Nothing { 6 } else { 2 } {
        let requests: Vec<Request> = (0..REQUESTS).map(|_| (kind.make)()).collect();
        let mut responses: Vec<Response> = Vec::with_capacity(REQUESTS);
        COUNT.store(0, Relaxed);
        COUNTS.store(true, Relaxed);
        for request in requests {
            assert!(instance.push(request).is_ok());
        }
        instance.doorbell();
        while responses.len() < REQUESTS {
            assert!(instance.wait(LONG));
            responses.extend(instance.poll());
        }
        COUNTS.store(false, Relaxed);
        least = least.min(COUNT.load(Relaxed));
        for response in responses {
            assert!(response.result.is_ok(), "{}: {:?}", kind.name, response.result);
        }
        if least == 0 {
            break;
        }
    }
    least
}

fn src(parts: &[&[u8]]) -> Buf {
    Buf::from(parts.concat())
}

fn call(runtime: &Runtime, request: Request) -> Vec<u8> {
    let response = runtime.handle().call(request).wait();
    let n = response.result.unwrap().produced;
    let mut dst = response.dst.into_vec();
    dst.truncate(n);
    dst
}

fn compression(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let text: Vec<u8> = (0..20_000u32).flat_map(|i| (i % 977 * 31).to_le_bytes()).collect();
    let level = |level| Compression { level, ..Compression::default() };
    let specs = [
        level(0),
        level(1),
        level(2),
        level(3),
        level(4),
        level(6),
        level(9),
        level(12),
        Compression { format: Format::Gzip, checksum: Checksum::Crc32, ..level(1) },
        Compression { huffman: Huffman::Static, ..level(1) },
    ];
    for spec in specs {
        let name = format!("{:?} {:?} level {}", spec.format, spec.huffman, spec.level);
        let session = runtime.compression(spec).unwrap();
        let bound = session.bound(text.len());
        let packed = call(runtime, session.compress(text.clone().into(), Buf::zeroed(bound)));
        let (s, t) = (session.clone(), text.clone());
        kinds.push(Kind {
            name: format!("compress {name}"),
            promise: Nothing,
            make: Box::new(move || s.compress(t.clone().into(), Buf::zeroed(bound))),
        });
        let len = text.len();
        kinds.push(Kind {
            name: format!("decompress {name}"),
            promise: Nothing,
            make: Box::new(move || session.decompress(packed.clone().into(), Buf::zeroed(len))),
        });
    }
}

fn moves(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let mover = runtime.mover().unwrap();
    let random = runtime.random().unwrap();
    let mut kind = |name: &str, promise, make: Box<dyn Fn() -> Request>| {
        kinds.push(Kind { name: name.into(), promise, make });
    };
    let m = mover.clone();
    kind("copy", Nothing, Box::new(move || m.copy(Buf::zeroed(5000), Buf::zeroed(5000))));
    let m = mover.clone();
    kind(
        "copy+CRC-32",
        Nothing,
        Box::new(move || m.copy_crc32(Buf::zeroed(500), Buf::zeroed(500))),
    );
    let m = mover.clone();
    kind(
        "copy+CRC-64",
        Nothing,
        Box::new(move || m.copy_crc64(Buf::zeroed(500), Buf::zeroed(500))),
    );
    let m = mover.clone();
    kind("compare", Nothing, Box::new(move || m.compare(Buf::zeroed(500), Buf::zeroed(500))));
    kind("fill", Allocates, Box::new(move || mover.fill(src(&[b"abc"]), Buf::zeroed(500))));
    kind("random", Nothing, Box::new(move || random.fill(Buf::zeroed(64))));
}

fn symmetric(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let packet = Packet {
        iv: [0; 12].into(),
        aad: Span::new(0, 16),
        cipher: Span::new(16, 1024),
        tag: 1040,
        ..Packet::default()
    };
    for (aead, key) in
        [(Aead::AesGcm, 16), (Aead::AesGcm, 32), (Aead::AesCcm, 16), (Aead::ChaCha20Poly1305, 32)]
    {
        let session = runtime.aead(aead, &[1; 32][..key], 16).unwrap();
        let sealed = runtime
            .handle()
            .call(session.seal(packet, Buf::empty(), Buf::zeroed(1056)))
            .wait()
            .dst
            .into_vec();
        for (name, packets) in [("one", vec![packet]), ("a burst", vec![packet; 5])] {
            let (s, p) = (session.clone(), packets.clone());
            let carried = move || -> Box<lookaside::Carried> {
                match &p[..] {
                    [one] => (*one).into(),
                    many => many.to_vec().into(),
                }
            };
            let again = carried.clone();
            kinds.push(Kind {
                name: format!("seal {aead:?}-{} {name}", key * 8),
                promise: Nothing,
                make: Box::new(move || s.seal(carried(), Buf::zeroed(1056), Buf::zeroed(1056))),
            });
            let (s, sealed) = (session.clone(), sealed.clone());
            kinds.push(Kind {
                name: format!("open {aead:?}-{} {name}", key * 8),
                promise: Nothing,
                make: Box::new(move || s.open(again(), sealed.clone().into(), Buf::zeroed(1056))),
            });
        }
    }
    let ciphers = [
        (Cipher::Arc4, 16, 0),
        (Cipher::AesEcb, 16, 0),
        (Cipher::AesCbc, 16, 16),
        (Cipher::AesCtr, 32, 16),
        (Cipher::AesXts, 32, 16),
        (Cipher::TripleDesCbc, 24, 8),
        (Cipher::KasumiF8, 16, 8),
        (Cipher::Snow3gUea2, 16, 16),
        (Cipher::ZucEea3, 16, 16),
        (Cipher::ChaCha20, 32, 16),
        (Cipher::Sm4Cbc, 16, 16),
    ];
    for (cipher, key, iv) in ciphers {
        let key: Vec<u8> = (0..key).collect();
        let session = runtime.cipher(cipher, &key).unwrap();
        let iv = lookaside::Iv::new(&[0; 16][..iv]).unwrap();
        let packet = Packet { iv, cipher: Span::new(0, 1024), ..Packet::default() };
        for decrypts in [false, true] {
            let s = session.clone();
            kinds.push(Kind {
                name: format!("{} {cipher:?}", if decrypts { "decrypt" } else { "encrypt" }),
                promise: Nothing,
                make: Box::new(move || match decrypts {
                    false => s.encrypt(packet, Buf::zeroed(1024), Buf::zeroed(1024)),
                    true => s.decrypt(packet, Buf::zeroed(1024), Buf::zeroed(1024)),
                }),
            });
        }
    }
    let auths = [
        (Auth::Plain(Hash::Sha256), 0, 32, 0),
        (Auth::Plain(Hash::Sha512), 0, 64, 0),
        (Auth::Plain(Hash::Sha3_256), 0, 32, 0),
        (Auth::Plain(Hash::Sm3), 0, 32, 0),
        (Auth::Hmac(Hash::Sha1), 20, 20, 0),
        (Auth::Hmac(Hash::Sha256), 32, 32, 0),
        (Auth::Hmac(Hash::Sha512), 64, 64, 0),
        (Auth::AesCmac, 16, 16, 0),
        (Auth::AesGmac, 16, 16, 12),
        (Auth::AesXcbc, 16, 12, 0),
        (Auth::Snow3gUia2, 16, 4, 16),
        (Auth::ZucEia3, 16, 4, 16),
    ];
    for (auth, key, tag, iv) in auths {
        let session = runtime.digest(auth, &[3; 64][..key], tag).unwrap();
        let iv = lookaside::Iv::new(&[0; 16][..iv]).unwrap();
        let packet = Packet { iv, auth: Span::new(0, 1024), ..Packet::default() };
        kinds.push(Kind {
            name: format!("digest {auth:?}"),
            promise: Nothing,
            make: Box::new(move || session.digest(packet, Buf::zeroed(1024), Buf::zeroed(tag))),
        });
    }
    let (cipher, auth) = ((Cipher::AesCbc, &[1; 16][..]), (Auth::Hmac(Hash::Sha1), &[2; 20][..]));
    let chain = runtime.chain(cipher, auth, 12, ChainOrder::CipherThenAuth).unwrap();
    let packet = Packet {
        iv: [0; 16].into(),
        cipher: Span::new(16, 1024),
        auth: Span::new(0, 1040),
        tag: 1040,
        ..Packet::default()
    };
    kinds.push(Kind {
        name: "chain AES-CBC and HMAC".into(),
        promise: Nothing,
        make: Box::new(move || chain.seal(packet, Buf::empty(), Buf::zeroed(1052))),
    });
    let tls = runtime.tls_cbc(&[1; 16], Hash::Sha256, &[2; 32]).unwrap();
    let packet = Packet {
        iv: [0; 16].into(),
        aad: Span::new(0, 13),
        cipher: Span::new(32, 1000),
        ..Packet::default()
    };
    kinds.push(Kind {
        name: "TLS record AES-CBC".into(),
        promise: Nothing,
        make: Box::new(move || tls.seal(packet, Buf::zeroed(1120), Buf::zeroed(1120))),
    });
}

fn rsa(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let made = call(
        runtime,
        runtime.rsa_generate(2048).unwrap().generate(src(&[&[1, 0, 1]]), Buf::zeroed(2048)),
    );
    let part = |at: usize, len: usize| made[at..at + len].to_vec();
    let (n, d, e) = (part(0, 256), part(256, 256), vec![1, 0, 1]);
    let crt = |i: usize| part(512 + i * 128, 128).into();
    let crt = RsaCrt { p: crt(0), q: crt(1), dp: crt(2), dq: crt(3), qinv: crt(4) };
    let public = runtime.rsa_public(RsaPublicKey { n: n.clone(), e: e.clone() }).unwrap();
    let private = runtime.rsa_private(RsaPrivateKey { n, e, d: d.into(), crt: Some(crt) }).unwrap();
    let pss = RsaScheme::Pss { hash: Hash::Sha256, mgf: Hash::Sha256, salt: SaltLen::Digest };
    for (name, scheme) in [("PKCS #1", RsaScheme::Pkcs1Sign(Some(Hash::Sha256))), ("PSS", pss)] {
        let signature = call(runtime, private.run(scheme, src(&[&[7; 32]]), Buf::zeroed(256)));
        let s = private.clone();
        kinds.push(Kind {
            name: format!("RSA-2048 sign {name}"),
            promise: Allocates,
            make: Box::new(move || s.run(scheme, src(&[&[7; 32]]), Buf::zeroed(256))),
        });
        let s = public.clone();
        kinds.push(Kind {
            name: format!("RSA-2048 verify {name}"),
            promise: Allocates,
            make: Box::new(move || s.run(scheme, src(&[&signature, &[7; 32]]), Buf::zeroed(0))),
        });
    }
}

fn curves(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let mut kind = |name: String, make: Box<dyn Fn() -> Request>| {
        kinds.push(Kind { name, promise: Allocates, make });
    };
    for curve in [Curve::P256, Curve::P384, Curve::P521] {
        let ec = runtime.ec(curve).unwrap();
        let (o, point) = (curve.order_len(), curve.point_len());
        let pair = call(runtime, ec.generate(Buf::zeroed(o + point)));
        let (key, public) = (pair[..o].to_vec(), pair[o..].to_vec());
        let sign = |key: &[u8]| src(&[key, &[7; 32]]);
        let signature = call(runtime, ec.sign(Nonce::Hedged, sign(&key), Buf::zeroed(2 * o)));
        let s = ec.clone();
        kind(format!("{curve:?} generate"), Box::new(move || s.generate(Buf::zeroed(o + point))));
        let (s, k) = (ec.clone(), key.clone());
        kind(
            format!("{curve:?} sign"),
            Box::new(move || s.sign(Nonce::Hedged, sign(&k), Buf::zeroed(2 * o))),
        );
        let (s, p) = (ec.clone(), public.clone());
        kind(
            format!("{curve:?} verify"),
            Box::new(move || s.verify(src(&[&p, &signature, &[7; 32]]))),
        );
        kind(
            format!("{curve:?} derive"),
            Box::new(move || {
                ec.derive(false, src(&[&key, &public]), Buf::zeroed(curve.field_len()))
            }),
        );
    }
    for curve in [XdhCurve::X25519, XdhCurve::X448] {
        let (xdh, n) = (runtime.xdh(curve).unwrap(), curve.key_len());
        let pair = call(runtime, xdh.generate(Buf::zeroed(2 * n)));
        let s = xdh.clone();
        kind(format!("{curve:?} generate"), Box::new(move || s.generate(Buf::zeroed(2 * n))));
        kind(
            format!("{curve:?} derive"),
            Box::new(move || xdh.derive(src(&[&pair]), Buf::zeroed(n))),
        );
    }
    for curve in [EdCurve::Ed25519, EdCurve::Ed448] {
        let (ed, n) = (runtime.eddsa(curve).unwrap(), curve.key_len());
        let pair = call(runtime, ed.generate(Buf::zeroed(2 * n)));
        let signature = call(runtime, ed.sign(src(&[&pair, b"text"]), Buf::zeroed(2 * n)));
        let (s, p) = (ed.clone(), pair.clone());
        kind(
            format!("{curve:?} sign"),
            Box::new(move || s.sign(src(&[&p, b"text"]), Buf::zeroed(2 * n))),
        );
        kind(
            format!("{curve:?} verify"),
            Box::new(move || ed.verify(src(&[&pair[n..], &signature, b"text"]))),
        );
    }
}

fn numbers(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let mut kind = |name: &str, make: Box<dyn Fn() -> Request>| {
        let promise = if name.starts_with("TLS") || name == "HKDF" { Nothing } else { Allocates };
        kinds.push(Kind { name: name.into(), promise, make });
    };
    // Any odd number will do.
    let mut p = vec![0xff; 256];
    p[100] = 0x5a;
    let modular = runtime.modular(&p).unwrap();
    kind(
        "modular power",
        Box::new(move || {
            let power = src(&[&[3; 256], &[1, 0, 1]]);
            modular.arithmetic(Arithmetic::Power, power, Buf::zeroed(256))
        }),
    );
    let dh = runtime.dh(DhGroup { p, g: vec![2], q: None });
    if let Ok(dh) = dh {
        kind("DH generate", Box::new(move || dh.generate(Buf::zeroed(512))));
    }
    let prf = runtime.tls_prf(Hash::Sha256).unwrap();
    kind("TLS PRF", Box::new(move || prf.derive(48, src(&[&[1; 100]]), Buf::zeroed(48))));
    let hkdf = runtime.hkdf(Hash::Sha256).unwrap();
    kind(
        "HKDF",
        Box::new(move || {
            hkdf.derive(HkdfMode::ExtractAndExpand, 32, 32, src(&[&[1; 80]]), Buf::zeroed(48))
        }),
    );
}

#[test]
fn between_push_and_poll() {
    let mut wrong = Vec::new();
    for engines in [0, 1] {
        let runtime =
            Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap();
        let mut kinds = Vec::new();
        compression(&runtime, &mut kinds);
        moves(&runtime, &mut kinds);
        symmetric(&runtime, &mut kinds);
        rsa(&runtime, &mut kinds);
        curves(&runtime, &mut kinds);
        numbers(&runtime, &mut kinds);
        for kind in &kinds {
            let n = allocations(&runtime, kind);
            let line = format!(
                "{engines} engines, {}: {:.2} allocations a request",
                kind.name,
                n as f64 / REQUESTS as f64
            );
            println!("{line}");
            if kind.promise == Nothing && n > 0 {
                wrong.push(line);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "ARCHITECTURE.md says that these allocate nothing:\n{}",
        wrong.join("\n")
    );
}
