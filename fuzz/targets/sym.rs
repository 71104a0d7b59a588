//! The symmetric service on hostile offsets, lengths, IVs and tags.
//!
//! The input chooses algorithms and says where the parts of up to 40 packets lie, mostly outside of
//! their texts. They run on two CPU devices with 0 engines: as one burst and side by side by the best
//! kernels of this CPU, and one at a time by those of the lowest tier. Both must answer the same:
//! equal bytes, or the same kind of error, and then nothing of a plaintext.
//!
//! Input: algorithm, key length, tag length, direction and form; then for each packet nine bytes.
#![cfg_attr(fuzzing, no_main)]

use std::mem::discriminant;
use std::time::Duration;

use lookaside::{
    Aead, Auth, Buf, Carried, ChainOrder, Cipher, Hash, InstanceConfig, Iv, OpError, Packet,
    Request, Runtime, SetupError, Span,
};
use lookaside_cpu::CpuDevice;
use lookaside_fuzz::fuzz_target;
use lookaside_simd::{Cpu, Tier};

/// Far above what any request here takes.
const PATIENCE: Duration = Duration::from_secs(8);
const ROOM: usize = 600;
const MOST: usize = 40;

thread_local! {
    static DEVICES: [Runtime; 2] = [Cpu::host().clone(), Cpu::with_cap(Tier::Generic)].map(|cpu| {
        // The calling thread executes: a run depends on its input alone.
        Runtime::builder().device(CpuDevice::new(cpu)).engines(0).start().expect("a runtime")
    });
}

const CIPHERS: [Cipher; 18] = [
    Cipher::Null,
    Cipher::Arc4,
    Cipher::AesEcb,
    Cipher::AesCbc,
    Cipher::AesCtr,
    Cipher::AesXts,
    Cipher::DesEcb,
    Cipher::DesCbc,
    Cipher::TripleDesEcb,
    Cipher::TripleDesCbc,
    Cipher::TripleDesCtr,
    Cipher::KasumiF8,
    Cipher::Snow3gUea2,
    Cipher::ZucEea3,
    Cipher::ChaCha20,
    Cipher::Sm4Ecb,
    Cipher::Sm4Cbc,
    Cipher::Sm4Ctr,
];

const HASHES: [Hash; 11] = [
    Hash::Md5,
    Hash::Sha1,
    Hash::Sha224,
    Hash::Sha256,
    Hash::Sha384,
    Hash::Sha512,
    Hash::Sha3_224,
    Hash::Sha3_256,
    Hash::Sha3_384,
    Hash::Sha3_512,
    Hash::Sm3,
];

const MACS: [Auth; 10] = [
    Auth::Crc32,
    Auth::Crc64,
    Auth::AesXcbc,
    Auth::AesCbcMac,
    Auth::AesCmac,
    Auth::AesGmac,
    Auth::KasumiF9,
    Auth::Snow3gUia2,
    Auth::ZucEia3,
    Auth::Poly1305,
];

const AEADS: [Aead; 3] = [Aead::AesGcm, Aead::AesCcm, Aead::ChaCha20Poly1305];

fn pick<T: Copy>(all: &[T], n: u8) -> T {
    all[usize::from(n) % all.len()]
}

fn auth(n: u8) -> Auth {
    match n % 4 {
        0 => Auth::Plain(pick(&HASHES, n / 4)),
        1 => Auth::Hmac(pick(&HASHES, n / 4)),
        2 => Auth::Nested { inner: pick(&HASHES, n / 4), outer: pick(&HASHES, n / 8) },
        _ => pick(&MACS, n / 4),
    }
}

/// What makes a request of a session.
type Maker = Box<dyn Fn(Box<Carried>, Buf, Buf) -> Request>;

struct Choice {
    kind: u8,
    algorithm: u8,
    key: u8,
    tag: u8,
    open: bool,
}

fn maker(runtime: &Runtime, c: &Choice) -> Result<Maker, SetupError> {
    let key: Vec<u8> = (0..usize::from(c.key % 70)).map(|i| (i * 73 + 11) as u8).collect();
    let (tag, open) = (usize::from(c.tag % 70), c.open);
    macro_rules! requests {
        ($session:expr, $forth:ident, $back:ident) => {{
            let session = $session?;
            Box::new(move |carried: Box<Carried>, src, dst| match open {
                false => session.$forth(carried, src, dst),
                true => session.$back(carried, src, dst),
            })
        }};
    }
    Ok(match c.kind % 5 {
        0 => requests!(runtime.cipher(pick(&CIPHERS, c.algorithm), &key), encrypt, decrypt),
        1 => requests!(runtime.digest(auth(c.algorithm), &key, tag), digest, verify),
        2 => requests!(runtime.aead(pick(&AEADS, c.algorithm), &key, tag), seal, open),
        3 => {
            let order = match c.key % 2 {
                0 => ChainOrder::CipherThenAuth,
                _ => ChainOrder::AuthThenCipher,
            };
            let cipher = (pick(&CIPHERS, c.algorithm), &key[..key.len() & !1]);
            requests!(runtime.chain(cipher, (auth(c.tag), &key), tag, order), seal, open)
        }
        _ => requests!(runtime.tls_cbc(&key, pick(&HASHES, c.algorithm), &[5; 20]), seal, open),
    })
}

/// Mostly a few bytes, sometimes far outside.
fn offset(n: u8) -> u32 {
    match n {
        255 => u32::MAX,
        254 => u32::MAX - 16,
        253 => ROOM as u32,
        n => u32::from(n),
    }
}

fn len(n: u8) -> u32 {
    match n {
        255 => u32::MAX,
        254 => 500,
        n => u32::from(n),
    }
}

fn packet(bytes: &[u8]) -> Packet {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let iv = [at(0); 16];
    let iv = match at(1) {
        n if n > 200 => Iv::At(Span::new(offset(n), len(at(0)))),
        n => Iv::new(&iv[..usize::from(n % 17)]).expect("short"),
    };
    Packet {
        iv,
        aad: Span::new(offset(at(2)), len(at(3) / 4)),
        cipher: Span::new(offset(at(4)), len(at(5))),
        auth: Span::new(offset(at(6)), len(at(7))),
        tag: offset(at(8)),
        spare_bits: if at(0) == 77 { at(1) % 9 } else { 0 },
        ..Packet::default()
    }
}

fn text(i: usize, room: usize) -> Vec<u8> {
    (0..room).map(|k| ((k * 7 + i * 13) >> 1) as u8).collect()
}

/// What came of a packet: its result, and the bytes of its destination.
type Answer = (Result<u32, OpError>, Vec<u8>);

fn run(runtime: &Runtime, requests: Vec<Request>) -> Vec<Answer> {
    let config = InstanceConfig { depth: MOST, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).expect("an instance");
    let n = requests.len();
    let mut answers: Vec<Option<Answer>> = (0..n).map(|_| None).collect();
    for (i, request) in requests.into_iter().enumerate() {
        instance.push(request.tag(i as u64)).expect("room");
    }
    while instance.outstanding() > 0 {
        assert!(instance.wait(PATIENCE), "an answer");
        for r in instance.poll() {
            let i = r.tag as usize;
            let result = r.packets()[0].result;
            assert_eq!(r.result.is_ok(), result.is_ok());
            answers[i] = Some((result, r.dst.into_vec()));
        }
    }
    answers.into_iter().map(|a| a.expect("each is answered")).collect()
}

fuzz_target!(|input: &[u8]| {
    let &[kind, algorithm, key, tag, form, ref rest @ ..] = input else { return };
    let choice = Choice { kind, algorithm, key, tag, open: form & 1 != 0 };
    let packets: Vec<Packet> = rest.chunks(9).take(MOST).map(packet).collect();
    if packets.is_empty() {
        return;
    }
    let in_place = form & 2 != 0;
    let room = if form & 4 != 0 { 100 } else { ROOM };
    DEVICES.with(|devices| {
        let made = devices.each_ref().map(|runtime| maker(runtime, &choice));
        let [Ok(best), Ok(lowest)] = made else {
            assert!(made.iter().all(Result::is_err), "both devices take a session, or neither");
            return;
        };
        let src = |i: usize| if in_place { Buf::empty() } else { Buf::from(text(i, ROOM)) };
        let dst = |i: usize| Buf::from(text(i, room));
        let single = |make: &Maker| -> Vec<Request> {
            packets.iter().enumerate().map(|(i, &p)| make(p.into(), src(i), dst(i))).collect()
        };
        let one_by_one: Vec<Answer> = single(&lowest)
            .into_iter()
            .flat_map(|request| run(&devices[1], vec![request]))
            .collect();
        let together = run(&devices[0], single(&best));
        for (i, (a, b)) in together.iter().zip(&one_by_one).enumerate() {
            match (&a.0, &b.0) {
                (Ok(n), Ok(m)) => {
                    assert_eq!(n, m, "packet {i}");
                    assert!(a.1 == b.1, "packet {i}: {:?}", packets[i]);
                }
                (Err(e), Err(f)) => {
                    assert_eq!(discriminant(e), discriminant(f), "packet {i}: {e} or {f}");
                }
                _ => panic!("packet {i}: {:?} or {:?}; {:?}", a.0, b.0, packets[i]),
            }
        }
        // A burst with a segment for each is the same again, but for nonces in the source.
        if packets.len() > 1 && packets.iter().all(|p| matches!(p.iv, Iv::Here { .. })) {
            let list = |f: &dyn Fn(usize) -> Buf| Buf::list((0..packets.len()).map(f).collect());
            let src = if in_place { Buf::empty() } else { list(&src) };
            let request = best(packets.clone().into(), src, list(&dst));
            let r = devices[0].handle().call(request).wait();
            let results: Vec<_> = r.packets().iter().map(|p| p.result).collect();
            let bytes = r.dst.into_vec();
            for (i, (result, bytes)) in results.iter().zip(bytes.chunks(room)).enumerate() {
                assert_eq!(result.is_ok(), together[i].0.is_ok(), "packet {i} of the burst");
                assert!(result.is_err() || bytes == together[i].1, "packet {i} of the burst");
            }
        }
        // All packets in one piece of memory: whatever the offsets, an answer and no panic.
        let request = best(packets.clone().into(), Buf::empty(), dst(0));
        let _ = devices[0].handle().call(request).wait();
    });
});
