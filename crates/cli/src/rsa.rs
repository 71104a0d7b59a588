//! The public-key unit of paper 4 section 4.1.2: RSA private operations with the Chinese remainder
//! theorem, 2048 bits, per second.

use std::time::{Duration, Instant};

use lookaside::{
    Buf, InstanceConfig, Op, RsaCrt, RsaPrivate, RsaPrivateKey, RsaPublicKey, RsaScheme, Runtime,
};

use crate::load::Failure;

const BITS: usize = 2048;
const K: usize = BITS / 8;
const HALF: usize = K / 2;

/// Requests outstanding for each engine: two full batches, so that one is collected while the
/// other is executed.
const PER_ENGINE: usize = 16;

/// A key, and one answer that is known to be right.
pub struct Known {
    key: RsaPrivateKey,
    ciphertext: Vec<u8>,
    plaintext: Vec<u8>,
}

/// What one measurement saw.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Operations per second of wall clock.
    pub per_s: f64,
    /// Requests that the device counted, and its batches.
    pub requests: u64,
    /// Batches.
    pub batches: u64,
}

fn one(runtime: &Runtime, request: lookaside::Request) -> Result<Vec<u8>, Failure> {
    let op = request.op;
    let response = runtime.handle().call(request).wait();
    let done = response.result.map_err(|e| Failure::Answer(op, 0, e))?;
    let mut bytes = response.dst.into_vec();
    bytes.truncate(done.produced);
    Ok(bytes)
}

impl Known {
    /// Makes a key, and a ciphertext with its public half.
    pub fn new(runtime: &Runtime) -> Result<Known, Failure> {
        let e = vec![1, 0, 1];
        let generate = runtime.rsa_generate(BITS as u32).map_err(Failure::Setup)?;
        let made = one(runtime, generate.generate(Buf::from(&e[..]), Buf::zeroed(8 * K)))?;
        let half = |i: usize| made[2 * K + i * HALF..][..HALF].to_vec().into();
        let crt = RsaCrt { p: half(0), q: half(1), dp: half(2), dq: half(3), qinv: half(4) };
        let (n, d) = (made[..K].to_vec(), made[K..2 * K].to_vec());
        let public = RsaPublicKey { n: n.clone(), e: e.clone() };
        let key = RsaPrivateKey { n, e, d: d.into(), crt: Some(crt) };
        // Below any modulus of this length.
        let plaintext: Vec<u8> = (0..K).map(|i| (i * 7 % 128) as u8).collect();
        let public = runtime.rsa_public(public).map_err(Failure::Setup)?;
        let request = public.run(RsaScheme::Raw, Buf::from(&plaintext[..]), Buf::zeroed(K));
        let ciphertext = one(runtime, request)?;
        Ok(Known { key, ciphertext, plaintext })
    }

    /// A session with the key.
    pub fn session(&self, runtime: &Runtime) -> Result<RsaPrivate, Failure> {
        runtime.rsa_private(self.key.clone()).map_err(Failure::Setup)
    }

    /// Keeps the device busy for `time`. Every answer is checked.
    pub fn measure(&self, runtime: &Runtime, time: Duration) -> Result<Rate, Failure> {
        let session = self.session(runtime)?;
        self.run(runtime, &session, PER_ENGINE, Duration::ZERO)?;
        let counted = || {
            let counters = runtime.counters();
            counters.row("cpu", Op::RsaPrivate).map_or((0, 0), |r| (r.requests, r.batches))
        };
        let before = counted();
        let start = Instant::now();
        let answers = self.run(runtime, &session, runtime.engines().max(1) * PER_ENGINE, time)?;
        let seconds = start.elapsed().as_secs_f64();
        let after = counted();
        Ok(Rate {
            per_s: answers as f64 / seconds,
            requests: after.0 - before.0,
            batches: after.1 - before.1,
        })
    }

    fn run(
        &self,
        runtime: &Runtime,
        session: &RsaPrivate,
        depth: usize,
        time: Duration,
    ) -> Result<usize, Failure> {
        let config = InstanceConfig { depth, ..InstanceConfig::default() };
        let mut instance = runtime.instance(config).map_err(Failure::Setup)?;
        let request = |src| session.run(RsaScheme::Raw, src, Buf::zeroed(K));
        let start = Instant::now();
        let mut answers = 0;
        let mut spare: Vec<Buf> = (0..depth).map(|_| Buf::from(&self.ciphertext[..])).collect();
        let mut first = true;
        loop {
            // At least one round, however short the time.
            while first || start.elapsed() < time {
                let Some(src) = spare.pop() else { break };
                if instance.push(request(src)).is_err() {
                    unreachable!("there are as many sources as the ring is deep");
                }
            }
            first = false;
            instance.doorbell();
            if instance.outstanding() == 0 {
                return Ok(answers);
            }
            instance.wait_many(depth / 2, Duration::from_secs(1));
            for response in instance.poll() {
                response.result.map_err(|e| Failure::Answer(Op::RsaPrivate, answers, e))?;
                if response.dst.as_slice() != Some(&self.plaintext[..]) {
                    return Err(Failure::Wrong(Op::RsaPrivate, answers));
                }
                answers += 1;
                spare.push(response.src);
            }
        }
    }
}
