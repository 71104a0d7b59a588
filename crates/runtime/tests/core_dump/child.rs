//! What the process does whose memory is searched: sessions of all kinds are made, used and dropped.

use std::io::Read;
use std::time::Duration;

use lookaside::{
    Aead, Auth, Buf, Carried, ChainOrder, Cipher, Curve, DhGroup, EdCurve, Hash, InstanceConfig,
    Nonce, Op, Packet, Request, RsaCrt, RsaPrivate, RsaPrivateKey, RsaScheme, Running, Runtime,
    Span, XdhCurve,
};

use crate::keys::{Wiped, bytes, number};

/// Says what has been done, and waits until the other process has looked.
pub fn stage(name: &str) {
    let line = format!("\nstage {name}\n");
    // SAFETY: the bytes of the line. Past the buffer of the standard library, which the harness has.
    unsafe { libc::write(1, line.as_ptr().cast(), line.len()) };
    let mut answer = [0];
    std::io::stdin().read_exact(&mut answer).expect("the other process");
}

/// Runs the requests side by side. Each must succeed.
fn run(runtime: &Runtime, requests: Vec<Request>) -> Vec<Vec<u8>> {
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let mut out = vec![Vec::new(); requests.len()];
    for (tag, request) in requests.into_iter().enumerate() {
        instance.push(request.tag(tag as u64)).unwrap();
    }
    while instance.outstanding() > 0 {
        assert!(instance.wait(Duration::from_secs(60)), "no answer");
        for mut response in instance.poll() {
            let done = response.result.unwrap();
            let dst = response.dst.as_mut_slice().unwrap_or_default();
            out[response.tag as usize] = dst[..done.produced.min(dst.len())].to_vec();
        }
    }
    clean();
    out
}

/// A symmetric session of any type, as far as this test uses it.
pub trait Session {
    fn ops(&self) -> Op;
    fn on(&self, carried: Box<Carried>, src: Buf, dst: Buf) -> Request;
    fn request(&self, carried: Box<Carried>, dst: Buf) -> Request {
        self.on(carried, Buf::empty(), dst)
    }
    /// The other way: decrypts, compares a tag.
    fn back(&self, carried: Box<Carried>, dst: Buf) -> Request;
    fn now(&self, packet: &mut Packet, dst: &mut [u8]);
    fn pieces(&self, iv: &[u8]) -> Box<dyn Running>;
}

macro_rules! session {
    ($($type:ty, $op:ident, $method:ident, $back:ident;)*) => { $(impl Session for $type {
        fn ops(&self) -> Op {
            Op::$op
        }

        fn on(&self, carried: Box<Carried>, src: Buf, dst: Buf) -> Request {
            self.$method(carried, src, dst)
        }

        fn back(&self, carried: Box<Carried>, dst: Buf) -> Request {
            self.$back(carried, Buf::empty(), dst)
        }

        fn now(&self, packet: &mut Packet, dst: &mut [u8]) {
            self.at_once(Op::$op, packet, None, dst).unwrap();
        }

        fn pieces(&self, iv: &[u8]) -> Box<dyn Running> {
            self.start(Op::$op, iv).unwrap()
        }
    })* };
}
session! {
    lookaside::CipherSession, Encrypt, encrypt, decrypt;
    lookaside::DigestSession, Digest, digest, verify;
    lookaside::AeadSession, Seal, seal, open;
    lookaside::ChainSession, Seal, seal, open;
    lookaside::TlsCbcSession, Seal, seal, open;
}

/// Bytes of text of a packet.
pub const TEXT: usize = 1024;
/// Room behind it: a tag, or what a TLS record grows by.
pub const ROOM: usize = TEXT + 128;

/// A session, the length of its IV, and whether texts in pieces are served.
pub struct Sym(pub Box<dyn Session>, usize, bool);

pub fn symmetric(runtime: &Runtime) -> Vec<Sym> {
    let mut all: Vec<Sym> = Vec::new();
    for (cipher, name, iv) in [
        (Cipher::AesCbc, "AES-CBC", 16),
        (Cipher::AesCbc, "AES-128-CBC", 16),
        (Cipher::AesCbc, "AES-192-CBC", 16),
        (Cipher::AesCtr, "AES-CTR", 16),
        (Cipher::AesCtr, "AES-256-CTR", 16),
        (Cipher::AesEcb, "AES-ECB", 0),
        (Cipher::AesEcb, "AES-256-ECB", 0),
        (Cipher::AesXts, "AES-XTS", 16),
        (Cipher::AesXts, "AES-128-XTS", 16),
        (Cipher::TripleDesCbc, "triple DES", 8),
        (Cipher::TripleDesEcb, "triple DES, ECB", 0),
        (Cipher::TripleDesCtr, "triple DES, CTR", 8),
        (Cipher::DesCbc, "DES", 8),
        (Cipher::DesEcb, "DES, ECB", 0),
        (Cipher::Sm4Cbc, "SM4", 16),
        (Cipher::Sm4Ecb, "SM4, ECB", 0),
        (Cipher::Sm4Ctr, "SM4, CTR", 16),
        (Cipher::ChaCha20, "ChaCha20", 16),
        (Cipher::Arc4, "ARC4", 0),
        (Cipher::KasumiF8, "KASUMI F8", 8),
        (Cipher::Snow3gUea2, "SNOW 3G UEA2", 16),
        (Cipher::ZucEea3, "ZUC EEA3", 16),
    ] {
        let key = bytes(name);
        let session = runtime.cipher(cipher, &key.0).unwrap();
        all.push(Sym(Box::new(session), iv, cipher != Cipher::AesXts));
    }
    for (auth, name, iv, tag) in [
        (Auth::Hmac(Hash::Sha256), "HMAC-SHA-256", 0, 32),
        (Auth::Hmac(Hash::Sha512), "HMAC-SHA-512", 0, 64),
        (Auth::Hmac(Hash::Sha1), "HMAC-SHA-1 of a long key", 0, 20),
        (Auth::Hmac(Hash::Sm3), "HMAC-SM3", 0, 32),
        (Auth::Hmac(Hash::Md5), "HMAC-MD5", 0, 16),
        (Auth::Hmac(Hash::Sha3_256), "HMAC-SHA3-256", 0, 32),
        (Auth::AesCmac, "CMAC", 0, 16),
        (Auth::AesCmac, "CMAC, 256 bits", 0, 16),
        (Auth::AesXcbc, "XCBC", 0, 12),
        (Auth::AesCbcMac, "CBC-MAC", 0, 16),
        (Auth::AesCbcMac, "CBC-MAC, 128 bits", 0, 16),
        (Auth::AesGmac, "GMAC", 12, 16),
        (Auth::AesGmac, "GMAC, 256 bits", 12, 16),
        (Auth::KasumiF9, "KASUMI F9", 9, 4),
        (Auth::Snow3gUia2, "SNOW 3G UIA2", 16, 4),
        (Auth::ZucEia3, "ZUC EIA3", 16, 4),
        (Auth::Poly1305, "Poly1305", 0, 16),
    ] {
        let key = bytes(name);
        let session = runtime.digest(auth, &key.0, tag).unwrap();
        all.push(Sym(Box::new(session), iv, true));
    }
    for (aead, name, iv) in [
        (Aead::AesGcm, "AES-128-GCM", 12),
        (Aead::AesGcm, "AES-192-GCM", 12),
        (Aead::AesGcm, "AES-256-GCM", 12),
        (Aead::AesCcm, "AES-CCM", 12),
        (Aead::AesCcm, "AES-256-CCM", 12),
        (Aead::ChaCha20Poly1305, "ChaCha20-Poly1305", 12),
    ] {
        let key = bytes(name);
        let session = runtime.aead(aead, &key.0, 16).unwrap();
        all.push(Sym(Box::new(session), iv, true));
    }
    let (first, last) = (ChainOrder::CipherThenAuth, ChainOrder::AuthThenCipher);
    for (cipher, name, iv, auth, auth_name, order) in [
        (Cipher::AesCbc, "chain: AES-CBC", 16, Auth::Hmac(Hash::Sha256), "chain: HMAC", first),
        (Cipher::AesCtr, "chain: AES-CTR", 16, Auth::Hmac(Hash::Sha1), "chain: HMAC-SHA-1", last),
        (
            Cipher::TripleDesCbc,
            "chain: triple DES",
            8,
            Auth::Hmac(Hash::Sha512),
            "chain: HMAC-SHA-512",
            first,
        ),
        (Cipher::Sm4Ctr, "chain: SM4", 16, Auth::AesCmac, "chain: CMAC", first),
    ] {
        let (key, auth_key) = (bytes(name), bytes(auth_name));
        let chain = runtime.chain((cipher, &key.0), (auth, &auth_key.0), 16, order).unwrap();
        all.push(Sym(Box::new(chain), iv, false));
    }
    let (key, auth_key) = (bytes("TLS record: AES-CBC"), bytes("TLS record: HMAC"));
    let tls = runtime.tls_cbc(&key.0, Hash::Sha256, &auth_key.0).unwrap();
    all.push(Sym(Box::new(tls), 16, false));
    all
}

pub fn packet(Sym(session, iv, _): &Sym) -> Packet {
    let text = Span::new(0, TEXT as u32);
    let tls = session.ops() == Op::Seal && *iv == 16;
    let aad = if tls { Span::new(TEXT as u32 + 100, 13) } else { Span::default() };
    let bytes = [1; 16];
    let iv = lookaside::Iv::new(&bytes[..*iv]).unwrap();
    let tag = if session.ops() == Op::Digest { 0 } else { TEXT as u32 };
    Packet { iv, aad, cipher: text, auth: text, tag, ..Packet::default() }
}

fn use_symmetric(runtime: &Runtime, all: &[Sym]) {
    for sym in all {
        let Sym(session, iv, pieces) = sym;
        for n in [1, 4, 32] {
            let request = |_| session.request(packet(sym).into(), Buf::zeroed(ROOM));
            run(runtime, (0..n).map(request).collect());
        }
        let burst = Packet { ..packet(sym) };
        run(runtime, vec![session.request(vec![burst].into(), Buf::zeroed(ROOM))]);
        let mut text = vec![0; ROOM];
        for len in [16, 64, 256, TEXT as u32] {
            let mut one = packet(sym);
            (one.cipher.len, one.auth.len) = (len, len);
            session.now(&mut one, &mut text);
        }
        clean();
        if *pieces {
            let iv = [1; 16].split_at(*iv).0.to_vec();
            let mut running = session.pieces(&iv);
            running.lengths(0, TEXT).unwrap();
            let mut copy = running.duplicate();
            for piece in text[..TEXT].chunks_mut(256) {
                running.update_in_place(piece).unwrap();
            }
            running.finish(&mut [0; 64]).unwrap();
            copy.update_in_place(&mut text[..32]).unwrap();
            clean();
            // As a request, dropped with its response.
            let carried = Box::<Carried>::from(copy);
            run(runtime, vec![session.request(carried, Buf::zeroed(64))]);
        }
    }
}

/// A request's source: overwritten when the request is dropped.
fn src(parts: &[&[u8]]) -> Buf {
    Buf::secret(parts.concat())
}

fn rsa(runtime: &Runtime, blinded: bool) -> RsaPrivate {
    let part = |name: &str| lookaside::Secret::new(&number(name).0);
    let crt =
        RsaCrt { p: part("p"), q: part("q"), dp: part("dp"), dq: part("dq"), qinv: part("qinv") };
    let n = number("n").0.clone();
    let key = RsaPrivateKey { n, e: vec![1, 0, 1], d: part("d"), crt: Some(crt) };
    match blinded {
        true => runtime.rsa_private_blinded(key).unwrap(),
        false => runtime.rsa_private(key).unwrap(),
    }
}

fn use_public_key(runtime: &Runtime, rsa: &[RsaPrivate]) {
    let secret = |name: &str| -> Wiped { bytes(name) };
    let dst = |len| Buf::zeroed(len);
    for n in [1, 8] {
        for (curve, name) in [(XdhCurve::X25519, "X25519"), (XdhCurve::X448, "X448")] {
            let (xdh, key, len) = (runtime.xdh(curve).unwrap(), secret(name), curve.key_len());
            let public = (0..n).map(|_| xdh.public(src(&[&key.0]), dst(len))).collect();
            let public = run(runtime, public).remove(0);
            let derive = |_| xdh.derive(src(&[&key.0, &public]), dst(len));
            run(runtime, (0..n).map(derive).collect());
        }
        for (curve, name) in [(EdCurve::Ed25519, "Ed25519"), (EdCurve::Ed448, "Ed448")] {
            let (ed, key) = (runtime.eddsa(curve).unwrap(), secret(name));
            let public = (0..n).map(|_| ed.public(src(&[&key.0]), dst(curve.key_len())));
            let public = run(runtime, public.collect()).remove(0);
            let sign =
                |_| ed.sign(src(&[&key.0, &public, b"a message"]), dst(curve.signature_len()));
            run(runtime, (0..n).map(sign).collect());
        }
        for (curve, name) in [(Curve::P256, "P-256"), (Curve::P384, "P-384")] {
            let (ec, key) = (runtime.ec(curve).unwrap(), secret(name));
            let public = (0..n).map(|_| ec.public(src(&[&key.0]), dst(curve.point_len())));
            let public = run(runtime, public.collect()).remove(0);
            let derive = |_| ec.derive(false, src(&[&key.0, &public]), dst(curve.field_len()));
            run(runtime, (0..n).map(derive).collect());
            for nonce in [Nonce::Hedged, Nonce::Deterministic(Hash::Sha256)] {
                let sign = |_| ec.sign(nonce, src(&[&key.0, &[3; 32]]), dst(2 * curve.order_len()));
                run(runtime, (0..n).map(sign).collect());
            }
        }
        let (sm2, key) = (runtime.sm2().unwrap(), secret("SM2"));
        run(runtime, (0..n).map(|_| sm2.sign(src(&[&key.0, &[3; 32]]), dst(64))).collect());
        let (dh, key) = (group(runtime), secret("DH"));
        let public = (0..n).map(|_| dh.public(src(&[&key.0]), dst(256))).collect();
        let public = run(runtime, public).remove(0);
        run(runtime, (0..n).map(|_| dh.derive(src(&[&key.0, &public]), dst(256))).collect());
        let (prf, key) = (runtime.tls_prf(Hash::Sha256).unwrap(), secret("TLS PRF"));
        let derive = |_| prf.derive(48, src(&[&key.0, b"label and seed"]), dst(104));
        run(runtime, (0..n).map(derive).collect());
        for session in rsa {
            let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
            let sign = |_| session.run(scheme, Buf::from(vec![7; 32]), dst(256));
            run(runtime, (0..n).map(sign).collect());
        }
    }
}

fn group(runtime: &Runtime) -> lookaside::Dh {
    let p = number("ffdhe2048").0.clone();
    runtime.dh(DhGroup { p, g: vec![2], q: None }).unwrap()
}

/// What a program does that has run kernels on a thread of its own: at once, or with 0 engines.
fn clean() {
    lookaside::wipe_stack(if cfg!(debug_assertions) { 768 << 10 } else { 192 << 10 });
}

/// The process: with 0 or 1 engines, symmetric or public-key sessions.
pub fn live(engines: usize, public_key: bool) {
    let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap();
    if public_key {
        let rsa = [rsa(&runtime, false), rsa(&runtime, true)];
        stage("alive");
        use_public_key(&runtime, &rsa);
        stage("used");
    } else {
        let all = symmetric(&runtime);
        stage("alive");
        use_symmetric(&runtime, &all);
        stage("used");
    }
    stage("sessions gone");
    drop(runtime);
    stage("all gone");
}
