//! What is allocated between push and poll, by Rust and by the C libraries: the table in ARCHITECTURE.md,
//! "What a request allocates". One test in a process of its own: it counts calls of malloc.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::{
    ffi::{c_int, c_void},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use lookaside::{
    Aead, Arithmetic, Aside, Auth, Buf, ChainOrder, Checksum, Cipher, Compression, Curve, DhGroup,
    DsaDomain, EdCurve, Format, Hash, HkdfMode, Huffman, InstanceConfig, Nonce, Op, Packet,
    Request, Response, RsaCrt, RsaPrivateKey, RsaPublicKey, RsaScheme, Runtime, SaltLen, Span,
    XdhCurve,
    scan::{Expression, Flags, Mode},
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

/// What the document says about a kind of request: the most allocations of one, on an average.
type Promise = f64;

const NOTHING: Promise = 0.0;

/// AWS-LC's key schedule and state of AES-GCM, on CPUs without AVX2.
const SCHEDULE: Promise = 2.0;

/// For what a library does inside, another one with each version of the system.
const LIBCRYPTO: Promise = f64::INFINITY;

/// Requests of one kind.
struct Kind {
    name: String,
    promise: Promise,
    make: Box<dyn Fn() -> Request>,
}

/// What kinds of public-key operations promise: side by side, and one by one.
struct PublicKey<'a> {
    runtime: &'a Runtime,
    kinds: &'a mut Vec<Kind>,
    side_by_side: bool,
}

impl PublicKey<'_> {
    fn kind(
        &mut self,
        name: impl Into<String>,
        [side_by_side, alone]: [Promise; 2],
        make: impl Fn() -> Request + 'static,
    ) {
        let promise = if self.side_by_side { side_by_side } else { alone };
        self.kinds.push(Kind { name: name.into(), promise, make: Box::new(make) });
    }
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
    for round in 0..6 {
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
        // Of two rounds the first one warms up; what is only printed needs no more.
        if least as f64 <= kind.promise * REQUESTS as f64 && round > 0 {
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
        Compression { format: Format::Lz4Raw, ..level(1) },
        Compression { format: Format::Lz4, ..level(1) },
        Compression { format: Format::Lz4, ..level(9) },
        Compression { format: Format::Lz4s, ..level(1) },
        Compression { format: Format::Zstd, ..level(1) },
        Compression { format: Format::Zstd, ..level(3) },
        Compression { format: Format::Zstd, ..level(9) },
        Compression { format: Format::Zstd, ..level(19) },
    ];
    for spec in specs {
        let name = format!("{:?} {:?} level {}", spec.format, spec.huffman, spec.level);
        let session = runtime.compression(spec).unwrap();
        let bound = session.bound(text.len());
        let packed = call(runtime, session.compress(text.clone().into(), Buf::zeroed(bound)));
        let (s, t) = (session.clone(), text.clone());
        kinds.push(Kind {
            name: format!("compress {name}"),
            promise: NOTHING,
            make: Box::new(move || s.compress(t.clone().into(), Buf::zeroed(bound))),
        });
        let len = text.len();
        kinds.push(Kind {
            name: format!("decompress {name}"),
            promise: NOTHING,
            make: Box::new(move || session.decompress(packed.clone().into(), Buf::zeroed(len))),
        });
    }
}

fn scans(runtime: &Runtime, kinds: &mut Vec<Kind>) {
    let text: Vec<u8> = b"a needle, 17 of them; xyz ".repeat(200);
    let sets = [
        ("strings", "needle|them", ""),
        ("an automaton", "[0-9]+ o", ""),
        ("starts", "[x-z]+ a", "L"),
        ("gaps", "needle.*them", ""),
    ];
    for (name, text_of, flags) in sets {
        let flags = Flags::from_letters(flags.as_bytes()).unwrap();
        let set = [Expression { text: text_of.into(), flags, ..Expression::default() }];
        let scanner = runtime.scan(set, Mode::Stream).unwrap();
        let (s, t) = (scanner.clone(), text.clone());
        kinds.push(Kind {
            name: format!("scan for {name}"),
            promise: NOTHING,
            make: Box::new(move || s.scan(t.clone().into(), Buf::zeroed(24_000))),
        });
        let text = text.clone();
        kinds.push(Kind {
            name: format!("scan of a piece for {name}"),
            promise: NOTHING,
            make: Box::new(move || {
                let flow = scanner.flow().unwrap();
                scanner.scan_piece(flow, text.clone().into(), Buf::zeroed(24_000), true)
            }),
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
    kind("copy", NOTHING, Box::new(move || m.copy(Buf::zeroed(5000), Buf::zeroed(5000))));
    let m = mover.clone();
    kind(
        "copy+CRC-32",
        NOTHING,
        Box::new(move || m.copy_crc32(Buf::zeroed(500), Buf::zeroed(500))),
    );
    let m = mover.clone();
    kind(
        "copy+CRC-64",
        NOTHING,
        Box::new(move || m.copy_crc64(Buf::zeroed(500), Buf::zeroed(500))),
    );
    let m = mover.clone();
    kind("compare", NOTHING, Box::new(move || m.compare(Buf::zeroed(500), Buf::zeroed(500))));
    kind("fill", 1.0, Box::new(move || mover.fill(src(&[b"abc"]), Buf::zeroed(500))));
    kind("random", NOTHING, Box::new(move || random.fill(Buf::zeroed(64))));
}

/// A packet whose associated data and tag lie in memory of their own.
fn aside(packet: Packet) -> Aside {
    Aside { packet, aad: Buf::zeroed(16), tag: Buf::zeroed(16) }
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
        let s = session.clone();
        kinds.push(Kind {
            name: format!("seal {aead:?}-{} aside", key * 8),
            promise: if aead == Aead::AesGcm { SCHEDULE } else { NOTHING },
            make: Box::new(move || s.seal(aside(packet), Buf::zeroed(1040), Buf::zeroed(1040))),
        });
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
                promise: NOTHING,
                make: Box::new(move || s.seal(carried(), Buf::zeroed(1056), Buf::zeroed(1056))),
            });
            let (s, sealed) = (session.clone(), sealed.clone());
            kinds.push(Kind {
                name: format!("open {aead:?}-{} {name}", key * 8),
                promise: NOTHING,
                make: Box::new(move || s.open(again(), sealed.clone().into(), Buf::zeroed(1056))),
            });
        }
    }
    let (cipher, auth) = ((Cipher::AesCbc, &[4; 16][..]), (Auth::Hmac(Hash::Sha256), &[5; 32][..]));
    let session = runtime.chain(cipher, auth, 16, ChainOrder::CipherThenAuth).unwrap();
    let spans = Packet { iv: [0; 16].into(), auth: packet.cipher, aad: Span::default(), ..packet };
    kinds.push(Kind {
        name: "seal a chain aside".into(),
        promise: 1.0,
        make: Box::new(move || {
            let aside = Aside { aad: Buf::empty(), ..aside(spans) };
            session.seal(aside, Buf::zeroed(1040), Buf::zeroed(1040))
        }),
    });
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
                promise: NOTHING,
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
            promise: NOTHING,
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
        promise: NOTHING,
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
        promise: NOTHING,
        make: Box::new(move || tls.seal(packet, Buf::zeroed(1120), Buf::zeroed(1120))),
    });
}

fn rsa(pke: &mut PublicKey<'_>) {
    let runtime = pke.runtime;
    let made = call(
        runtime,
        runtime.rsa_generate(2048).unwrap().generate(src(&[&[1, 0, 1]]), Buf::zeroed(2048)),
    );
    let part = |at: usize, len: usize| made[at..at + len].to_vec();
    let (n, d, e) = (part(0, 256), part(256, 256), vec![1, 0, 1]);
    let crt = |i: usize| part(512 + i * 128, 128).into();
    let crt = RsaCrt { p: crt(0), q: crt(1), dp: crt(2), dq: crt(3), qinv: crt(4) };
    let public = runtime.rsa_public(RsaPublicKey { n: n.clone(), e: e.clone() }).unwrap();
    let key = RsaPrivateKey { n, e, d: d.into(), crt: Some(crt) };
    let blinded = runtime.rsa_private_blinded(key.clone()).unwrap();
    let private = runtime.rsa_private(key).unwrap();
    let (hash, mgf) = (Hash::Sha256, Hash::Sha256);
    let pss = RsaScheme::Pss { hash, mgf, salt: SaltLen::Digest };
    for (name, scheme) in [("PKCS #1", RsaScheme::Pkcs1Sign(Some(hash))), ("PSS", pss)] {
        let signature = call(runtime, private.run(scheme, src(&[&[7; 32]]), Buf::zeroed(256)));
        for (key, what, side_by_side) in [(&private, "", NOTHING), (&blinded, " blinded", 26.0)] {
            let key = key.clone();
            pke.kind(format!("RSA-2048 sign {name}{what}"), [side_by_side, 32.0], move || {
                key.run(scheme, src(&[&[7; 32]]), Buf::zeroed(256))
            });
        }
        let public = public.clone();
        pke.kind(format!("RSA-2048 verify {name}"), [NOTHING, 16.0], move || {
            public.run(scheme, src(&[&signature, &[7; 32]]), Buf::zeroed(0))
        });
    }
    let oaep = RsaScheme::Oaep { hash, mgf, label_len: 0 };
    let tls = RsaScheme::Pkcs1Tls { client_version: 0x303, alternative: None };
    for (name, scheme) in [("PKCS #1", RsaScheme::Pkcs1Encrypt), ("TLS", tls), ("OAEP", oaep)] {
        let text = call(runtime, public.run(scheme, src(&[&[3; 48]]), Buf::zeroed(256)));
        let public = public.clone();
        pke.kind(format!("RSA-2048 encrypt {name}"), [NOTHING, 16.0], move || {
            public.run(scheme, src(&[&[3; 48]]), Buf::zeroed(256))
        });
        let private = private.clone();
        pke.kind(format!("RSA-2048 decrypt {name}"), [NOTHING, 32.0], move || {
            private.run(scheme, src(&[&text]), Buf::zeroed(256))
        });
    }
}

fn curves(pke: &mut PublicKey<'_>) {
    let runtime = pke.runtime;
    for curve in [Curve::P256, Curve::P384, Curve::P521, Curve::Secp256k1] {
        // The last has no kernel.
        let kernel = |side_by_side: Promise, alone: Promise| match curve {
            Curve::Secp256k1 => [alone; 2],
            _ => [side_by_side, alone],
        };
        let ec = runtime.ec(curve).unwrap();
        let (o, point) = (curve.order_len(), curve.point_len());
        let pair = call(runtime, ec.generate(Buf::zeroed(o + point)));
        let (key, public) = (pair[..o].to_vec(), pair[o..].to_vec());
        let sign = |key: &[u8]| src(&[key, &[7; 32]]);
        let signature = call(runtime, ec.sign(Nonce::Hedged, sign(&key), Buf::zeroed(2 * o)));
        let s = ec.clone();
        pke.kind(format!("{curve:?} generate"), kernel(NOTHING, 4.0), move || {
            s.generate(Buf::zeroed(o + point))
        });
        for nonce in [Nonce::Hedged, Nonce::Deterministic(Hash::Sha256)] {
            let (s, k) = (ec.clone(), key.clone());
            pke.kind(format!("{curve:?} sign {nonce:?}"), kernel(NOTHING, 9.0), move || {
                s.sign(nonce, sign(&k), Buf::zeroed(2 * o))
            });
        }
        let (s, p) = (ec.clone(), public.clone());
        pke.kind(format!("{curve:?} verify"), kernel(1.0, 10.0), move || {
            s.verify(src(&[&p, &signature, &[7; 32]]))
        });
        pke.kind(format!("{curve:?} derive"), kernel(1.0, 5.0), move || {
            ec.derive(false, src(&[&key, &public]), Buf::zeroed(curve.field_len()))
        });
    }
    for (curve, alone) in [(XdhCurve::X25519, NOTHING), (XdhCurve::X448, LIBCRYPTO)] {
        let (xdh, n) = (runtime.xdh(curve).unwrap(), curve.key_len());
        let pair = call(runtime, xdh.generate(Buf::zeroed(2 * n)));
        let s = xdh.clone();
        pke.kind(format!("{curve:?} generate"), [NOTHING, alone], move || {
            s.generate(Buf::zeroed(2 * n))
        });
        pke.kind(format!("{curve:?} derive"), [NOTHING, alone], move || {
            xdh.derive(src(&[&pair]), Buf::zeroed(n))
        });
    }
    for (curve, promise) in [(EdCurve::Ed25519, NOTHING), (EdCurve::Ed448, LIBCRYPTO)] {
        let (ed, n) = (runtime.eddsa(curve).unwrap(), curve.key_len());
        let pair = call(runtime, ed.generate(Buf::zeroed(2 * n)));
        let signature = call(runtime, ed.sign(src(&[&pair, b"text"]), Buf::zeroed(2 * n)));
        let (s, p) = (ed.clone(), pair.clone());
        pke.kind(format!("{curve:?} sign"), [promise; 2], move || {
            s.sign(src(&[&p, b"text"]), Buf::zeroed(2 * n))
        });
        pke.kind(format!("{curve:?} verify"), [promise; 2], move || {
            ed.verify(src(&[&pair[n..], &signature, b"text"]))
        });
    }
    let sm2 = runtime.sm2().unwrap();
    let pair = call(runtime, sm2.generate(Buf::zeroed(97)));
    let signature = call(runtime, sm2.sign(src(&[&pair[..32], &[7; 32]]), Buf::zeroed(64)));
    let (s, key) = (sm2.clone(), pair[..32].to_vec());
    pke.kind("SM2 sign", [NOTHING, 152.0], move || s.sign(src(&[&key, &[7; 32]]), Buf::zeroed(64)));
    pke.kind("SM2 verify", [6.0, 86.0], move || {
        sm2.verify(src(&[&pair[32..], &signature, &[7; 32]]))
    });
}

fn numbers(pke: &mut PublicKey<'_>) {
    let runtime = pke.runtime;
    // Any odd number will do.
    let mut p = vec![0xff; 256];
    p[100] = 0x5a;
    let modular = runtime.modular(&p).unwrap();
    for (step, promise) in [(Arithmetic::Power, [NOTHING, 14.0]), (Arithmetic::Multiply, [9.0; 2])]
    {
        let modular = modular.clone();
        pke.kind(format!("modular {step:?}"), promise, move || {
            modular.arithmetic(step, src(&[&[3; 256], &[5; 256]]), Buf::zeroed(256))
        });
    }
    let field = runtime.binary_field(&[1, 0x1b]).unwrap();
    pke.kind("GF(2^8) multiply", [NOTHING; 2], move || {
        field.arithmetic(Arithmetic::Multiply, src(&[&[3, 4]]), Buf::zeroed(1))
    });
    let dh = runtime.dh(DhGroup { p, g: vec![2], q: None }).unwrap();
    let pair = call(runtime, dh.generate(Buf::zeroed(512)));
    let group = dh.clone();
    pke.kind("DH generate", [NOTHING, 14.0], move || group.generate(Buf::zeroed(512)));
    pke.kind("DH derive", [NOTHING, 14.0], move || dh.derive(src(&[&pair]), Buf::zeroed(256)));
    let parameters = runtime.dsa_parameters(1024, 160).unwrap().generate(Buf::zeroed(276));
    let parameters = call(runtime, parameters);
    let (p, rest) = parameters.split_at(128);
    let (q, g) = rest.split_at(20);
    let domain = DsaDomain { p: p.to_vec(), q: q.to_vec(), g: g.to_vec() };
    let dsa = runtime.dsa(domain).unwrap();
    let pair = call(runtime, dsa.generate(Buf::zeroed(148)));
    let (private, public) = (pair[..20].to_vec(), pair[20..].to_vec());
    let sign = |key: &[u8]| src(&[key, &[7; 32]]);
    let signature = call(runtime, dsa.sign(Nonce::Hedged, sign(&private), Buf::zeroed(40)));
    let s = dsa.clone();
    pke.kind("DSA sign", [170.0, 190.0], move || {
        s.sign(Nonce::Hedged, sign(&private), Buf::zeroed(40))
    });
    pke.kind("DSA verify", [36.0, 70.0], move || dsa.verify(src(&[&public, &signature, &[7; 32]])));
    let prf = runtime.tls_prf(Hash::Sha256).unwrap();
    pke.kind("TLS PRF", [NOTHING; 2], move || prf.derive(48, src(&[&[1; 100]]), Buf::zeroed(48)));
    let hkdf = runtime.hkdf(Hash::Sha256).unwrap();
    pke.kind("HKDF", [NOTHING; 2], move || {
        hkdf.derive(HkdfMode::ExtractAndExpand, 32, 32, src(&[&[1; 80]]), Buf::zeroed(48))
    });
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
        scans(&runtime, &mut kinds);
        symmetric(&runtime, &mut kinds);
        let side_by_side = runtime.best_batch(Op::RsaPrivate) > 1;
        let mut pke = PublicKey { runtime: &runtime, kinds: &mut kinds, side_by_side };
        rsa(&mut pke);
        curves(&mut pke);
        numbers(&mut pke);
        for kind in &kinds {
            let n = allocations(&runtime, kind);
            let line = format!(
                "{engines} engines, {}: {:.2} allocations a request",
                kind.name,
                n as f64 / REQUESTS as f64
            );
            println!("{line}");
            if n as f64 > kind.promise * REQUESTS as f64 {
                wrong.push(format!("{line}, promised: {}", kind.promise));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "ARCHITECTURE.md says that these allocate less:\n{}",
        wrong.join("\n")
    );
}
