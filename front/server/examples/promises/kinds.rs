//! What clients ask for.

use lookaside::{
    Auth, Buf, Carried, ChainOrder, Cipher, Compression, Hash, Op, Packet, Request, Response,
    RsaCrt, RsaPrivateKey, RsaScheme, Runtime, Span,
};
use lookaside_shares::Measure;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rsa,
    Deflate,
    Chained,
    Inflate,
}

pub const KINDS: [Kind; 4] = [Kind::Rsa, Kind::Deflate, Kind::Chained, Kind::Inflate];

/// Makes the next request, in the buffers of an answer where there is one.
pub type Requests = Box<dyn Fn(Option<Response>) -> Request + Send>;

const DEFLATE: usize = 65_536;
const PACKET: usize = 16_384;

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rsa => "RSA-2048, private",
            Kind::Deflate => "DEFLATE level 1, 64 KB",
            Kind::Chained => "AES-128-CBC-HMAC-SHA256, 16 KB",
            Kind::Inflate => "decompression, 64 KB",
        }
    }

    pub fn measure(self) -> Measure {
        match self {
            Kind::Rsa => Measure::Rsa,
            Kind::Chained => Measure::Chained,
            Kind::Deflate | Kind::Inflate => Measure::Deflate,
        }
    }

    /// Operations or bits of a request in its measure, if it is like the reference.
    pub fn reference_units(self) -> Option<f64> {
        match self {
            Kind::Rsa => Some(1.0),
            Kind::Deflate => Some(8.0 * DEFLATE as f64),
            Kind::Chained => Some(8.0 * PACKET as f64),
            Kind::Inflate => None,
        }
    }

    /// Requests of one batch: how many private keys run side by side depends on the CPU.
    pub fn batch(self, runtime: &Runtime) -> f64 {
        let rows = runtime.capabilities().flat_map(|(_, rows)| rows);
        let best = rows.filter(|row| row.op == Op::RsaPrivate).map(|row| row.best_batch).max();
        if self == Kind::Rsa { best.unwrap_or(1).max(1) as f64 } else { 1.0 }
    }

    /// Requests outstanding: some milliseconds of an engine.
    pub fn depth(self) -> u32 {
        match self {
            Kind::Rsa | Kind::Deflate => 64,
            Kind::Chained | Kind::Inflate => 256,
        }
    }

    pub fn requests(self, runtime: &Runtime) -> Requests {
        match self {
            Kind::Rsa => rsa(runtime),
            Kind::Deflate => deflate(runtime),
            Kind::Chained => chained(runtime),
            Kind::Inflate => inflate(runtime),
        }
    }
}

fn rsa(runtime: &Runtime) -> Requests {
    let session = runtime.rsa_private(key()).expect("a key");
    Box::new(move |_| {
        session.run(RsaScheme::Pkcs1Sign(Some(Hash::Sha256)), Buf::zeroed(32), Buf::zeroed(256))
    })
}

fn key() -> RsaPrivateKey {
    const K: usize = 256;
    let cpu =
        Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().expect("a runtime");
    let request = cpu.rsa_generate(2048).expect("a session");
    let request = request.generate(vec![1, 0, 1].into(), Buf::zeroed(1152));
    let parts = cpu.handle().call(request).wait().dst.into_vec();
    let (n, rest) = parts.split_at(K);
    let (d, rest) = rest.split_at(K);
    let part = |i: usize| rest[i * K / 2..][..K / 2].to_vec().into();
    let crt = RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) };
    RsaPrivateKey { n: n.to_vec(), e: vec![1, 0, 1], d: d.to_vec().into(), crt: Some(crt) }
}

fn deflate(runtime: &Runtime) -> Requests {
    let session = runtime.compression(Compression::default()).expect("a session");
    let data = lookaside_testkit::mixed(1, DEFLATE);
    Box::new(move |before| {
        let fresh = || (Buf::from(&*data), Buf::zeroed(session.bound(DEFLATE)));
        let (src, dst) = before.map_or_else(fresh, |r| (r.src, r.dst));
        session.compress(src, dst)
    })
}

fn inflate(runtime: &Runtime) -> Requests {
    let session = runtime.compression(Compression::default()).expect("a session");
    let cpu =
        Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().expect("a runtime");
    let data = lookaside_testkit::mixed(2, DEFLATE);
    let local = cpu.compression(Compression::default()).expect("a session");
    let request = local.compress(Buf::from(data), Buf::zeroed(local.bound(DEFLATE)));
    let response = cpu.handle().call(request).wait();
    let n = response.result.expect("it is compressed").produced;
    let packed = response.dst.into_vec()[..n].to_vec();
    Box::new(move |before| {
        let fresh = || (Buf::from(&*packed), Buf::zeroed(DEFLATE));
        let (src, dst) = before.map_or_else(fresh, |r| (r.src, r.dst));
        session.decompress(src, dst)
    })
}

fn chained(runtime: &Runtime) -> Requests {
    let order = ChainOrder::CipherThenAuth;
    let session = runtime
        .chain((Cipher::AesCbc, &[7; 16]), (Auth::Hmac(Hash::Sha256), &[9; 32]), 16, order)
        .expect("a session");
    Box::new(move |before| {
        let fresh = || {
            let text = Span::new(0, PACKET as u32);
            let tag = text.offset + text.len;
            let packet =
                Packet { iv: [1; 16].into(), cipher: text, auth: text, tag, ..Packet::default() };
            (Box::new(Carried::Packet(packet)), Buf::zeroed(PACKET + 16))
        };
        let (packet, dst) = match before {
            Some(Response { carried: Some(carried), dst, .. }) => (carried, dst),
            _ => fresh(),
        };
        session.seal(packet, Buf::empty(), dst)
    })
}
