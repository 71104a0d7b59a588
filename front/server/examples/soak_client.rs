//! A client of the soak (`front/server/tests/soak.py`): requests of all services that a server offers, by the device
//! that the environment names, and each one's input and output as a line of hexadecimal fields for who checks them.
//!
//! `soak_client SEED REQUESTS ENGINES`. In the middle it forks: the child goes on with the parent's runtime, and the
//! parent when the child has ended. Exit status 1: a request failed that may not
//! (with `LOOKASIDE_DEVICE_POLICY=fail` all may).

use std::io::Write;

use lookaside::{
    Auth, Buf, Cipher, CipherSession, CompressSession, Compression, DigestSession, Format, Hash,
    Hkdf, HkdfMode, Instance, InstanceConfig, Iv, Mover, Packet, Random, Request, Response, RsaCrt,
    RsaPrivate, RsaPrivateKey, RsaScheme, Runtime, Span,
};
use lookaside_shared::SharedDevice;

/// Requests outstanding at most.
const OUTSTANDING: usize = 6;

/// Numbers of a seed (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, n: u64) -> usize {
        (self.next() % n) as usize
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// A request that has no answer yet: what it is, and its input, for the line.
struct Asked {
    what: String,
    input: Vec<u8>,
    /// Bytes of the destination where the result does not say.
    len: Option<usize>,
}

struct Client {
    instance: Instance,
    gzip: CompressSession,
    hash: DigestSession,
    hmac: DigestSession,
    cbc: CipherSession,
    hkdf: Hkdf,
    mover: Mover,
    random: Random,
    rsa: RsaPrivate,
    numbers: Numbers,
    asked: Vec<Option<Asked>>,
    may_fail: bool,
    /// What is to be said.
    lines: Vec<String>,
}

const HMAC_KEY: [u8; 32] = [0x5a; 32];
const CBC_KEY: [u8; 16] = [0x21; 16];

/// An RSA-2048 key, made by the CPU.
fn rsa_key() -> RsaPrivateKey {
    const K: usize = 256;
    let cpu =
        Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().expect("a runtime");
    let generate = cpu.rsa_generate(8 * K as u32).expect("a session");
    let request = generate.generate(vec![1, 0, 1].into(), Buf::zeroed(9 * K / 2));
    let parts = cpu.handle().call(request).wait().dst.into_vec();
    let (n, rest) = parts.split_at(K);
    let (d, rest) = rest.split_at(K);
    let part = |i: usize| rest[i * K / 2..][..K / 2].to_vec().into();
    let crt = RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) };
    RsaPrivateKey { n: n.to_vec(), e: vec![1, 0, 1], d: d.to_vec().into(), crt: Some(crt) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Client {
    fn new(runtime: &Runtime, seed: u64) -> Client {
        let key = rsa_key();
        let lines = vec![format!("key {}", hex(&key.n))];
        Client {
            instance: runtime.instance(InstanceConfig::default()).expect("an instance"),
            gzip: runtime.compression(Compression::new(Format::Gzip)).expect("compression"),
            hash: runtime.digest(Auth::Plain(Hash::Sha256), &[], 32).expect("a hash"),
            hmac: runtime.digest(Auth::Hmac(Hash::Sha256), &HMAC_KEY, 32).expect("a MAC"),
            cbc: runtime.cipher(Cipher::AesCbc, &CBC_KEY).expect("a cipher"),
            hkdf: runtime.hkdf(Hash::Sha256).expect("key derivation"),
            mover: runtime.mover().expect("copies"),
            random: runtime.random().expect("random numbers"),
            rsa: runtime.rsa_private(key).expect("a key"),
            numbers: Numbers(seed | 1),
            asked: (0..OUTSTANDING).map(|_| None).collect(),
            may_fail: std::env::var("LOOKASIDE_DEVICE_POLICY").is_ok_and(|policy| policy == "fail"),
            lines,
        }
    }

    /// A request, and what it is.
    fn request(&mut self) -> (Request, Asked) {
        let kind = self.numbers.below(8);
        let len = match self.numbers.below(4) {
            0 => self.numbers.below(200_000),
            1 => self.numbers.below(20_000),
            _ => self.numbers.below(2_000),
        };
        let input = lookaside_testkit::mixed(self.numbers.next(), len);
        let whole = |iv: &[u8], len: usize| Packet {
            iv: Iv::new(iv).expect("an IV"),
            cipher: Span::new(0, len as u32),
            ..Packet::default()
        };
        let authenticated = Packet { auth: Span::new(0, len as u32), ..Packet::default() };
        let (request, what, input, len) = match kind {
            0 => {
                let dst = Buf::zeroed(self.gzip.bound(len));
                (self.gzip.compress(Buf::from(&*input), dst), "gzip".into(), input, None)
            }
            1 => {
                let request = self.hash.digest(authenticated, Buf::from(&*input), Buf::zeroed(32));
                (request, "sha256".into(), input, Some(32))
            }
            2 => {
                let request = self.hmac.digest(authenticated, Buf::from(&*input), Buf::zeroed(32));
                (request, format!("hmac:{}", hex(&HMAC_KEY)), input, Some(32))
            }
            3 => {
                let (iv, len) = (self.numbers.bytes(16), len.next_multiple_of(16).max(16));
                let mut input = input;
                input.resize(len, 7);
                let dst = Buf::zeroed(len);
                let request = self.cbc.encrypt(whole(&iv, len), Buf::from(&*input), dst);
                (request, format!("cbc:{}:{}", hex(&CBC_KEY), hex(&iv)), input, Some(len))
            }
            4 => {
                // Key, salt, info: 32, 16 and 8 bytes.
                let input = self.numbers.bytes(56);
                let dst = Buf::zeroed(80);
                let mode = HkdfMode::ExtractAndExpand;
                let request = self.hkdf.derive(mode, 32, 16, Buf::from(&*input), dst);
                (request, "hkdf".into(), input, Some(80))
            }
            5 => {
                let request = self.mover.copy(Buf::from(&*input), Buf::zeroed(len));
                (request, "copy".into(), input, Some(len))
            }
            6 => {
                let len = len % 4096 + 32;
                (self.random.fill(Buf::zeroed(len)), "random".into(), vec![], Some(len))
            }
            _ => {
                let digest = self.numbers.bytes(32);
                let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
                let request = self.rsa.run(scheme, Buf::from(&*digest), Buf::zeroed(256));
                (request, "rsa".into(), digest, Some(256))
            }
        };
        (request, Asked { what, input, len })
    }

    /// So many requests, and the line of each answer.
    fn run(&mut self, requests: usize) {
        let mut left = requests;
        while left > 0 || self.instance.outstanding() > 0 {
            while left > 0
                && let Some(place) = self.asked.iter().position(Option::is_none)
            {
                let (request, asked) = self.request();
                self.instance.push(request.tag(place as u64)).expect("room");
                self.asked[place] = Some(asked);
                left -= 1;
            }
            assert!(self.instance.wait(std::time::Duration::from_secs(120)), "each is answered");
            let answers: Vec<Response> = self.instance.poll().collect();
            for answer in answers {
                self.answer(&answer);
            }
        }
    }

    fn answer(&mut self, answer: &Response) {
        let asked = self.asked[answer.tag as usize].take().expect("an answer to a request");
        let done = match answer.result {
            Ok(done) => done,
            Err(_) if self.may_fail => return,
            Err(e) => panic!("{}: {e}", asked.what),
        };
        let output = answer.dst.as_slice().expect("one piece");
        let output = &output[..asked.len.unwrap_or(done.produced)];
        self.lines.push(format!("{} {} {}", asked.what, hex(&asked.input), hex(output)));
    }

    fn say(&mut self) {
        let mut out = std::io::stdout().lock();
        for line in self.lines.drain(..) {
            writeln!(out, "{line}").expect("who reads is there");
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let mut arg = |what: &str| -> u64 { args.next().expect(what) };
    let (seed, requests, engines) =
        (arg("a seed"), arg("a number of requests") as usize, arg("a number of engines") as usize);
    let builder = match SharedDevice::of_environment() {
        Ok(Some(shared)) => Runtime::builder().device(shared),
        // The server is not there now: without it, as every front end.
        Ok(None) | Err(_) => Runtime::builder(),
    };
    let runtime = builder.device(lookaside_cpu::cpu()).engines(engines).start().expect("a runtime");
    let mut client = Client::new(&runtime, seed);
    client.run(requests / 3);
    client.say();
    // SAFETY: nothing is outstanding, and the child's runtime makes itself anew.
    let child = unsafe { libc::fork() };
    // The child has other numbers than its parent.
    client.numbers.0 ^= u64::from(child == 0) << 20;
    client.run(requests / 3);
    if child == 0 {
        client.say();
        // SAFETY: ends the child; it has nothing else to do, and standard output keeps no whole line back.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: a child of this process.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && status == 0, "the child ended with {status}");
    // Behind the child's: lines are whole.
    client.say();
    client.run(requests / 3);
    client.lines.push("end".into());
    client.say();
}
