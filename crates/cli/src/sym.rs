//! The symmetric units: the chain of paper 4 section 4.1.2 (AES-128-CBC and HMAC-SHA256, packets of
//! 1 KB), and the maker's unit of today (AES-128-GCM, packets of 4 KB).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lookaside::{
    Aead, Auth, Buf, Carried, ChainOrder, Cipher, Hash, InstanceConfig, Op, Packet, Request,
    Response, Runtime, Span,
};

use crate::load::Failure;

/// One of the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// AES-128-CBC and HMAC-SHA256 over packets of 1 KB.
    Chain,
    /// AES-128-GCM over packets of 4 KB.
    Gcm,
}

impl Unit {
    /// The bytes of a packet that are encrypted.
    const fn packet(self) -> usize {
        match self {
            Unit::Chain => 1024,
            Unit::Gcm => 4096,
        }
    }

    /// What it is, for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Unit::Chain => "AES-128-CBC+HMAC-SHA256, 1 KB",
            Unit::Gcm => "AES-128-GCM, 4 KB",
        }
    }
}

/// Packets in one burst, and bursts outstanding for each engine.
const BURST: usize = 32;
const PER_ENGINE: usize = 4;
const TAG: usize = 16;

/// What one measurement saw.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Bytes encrypted and authenticated per second of wall clock.
    pub bytes_per_s: f64,
    /// Packets.
    pub packets: u64,
    /// Requests that the device counted: bursts.
    pub requests: u64,
}

/// Makes requests, each a burst that is sealed or opened.
struct Requests(Box<dyn Fn(Op, Box<Carried>, Buf, Buf) -> Request>);

impl Requests {
    fn new(runtime: &Runtime, unit: Unit) -> Result<Requests, Failure> {
        let (key, auth_key) = ([7; 16], [9; 32]);
        Ok(Requests(match unit {
            Unit::Chain => {
                let order = ChainOrder::CipherThenAuth;
                let (cipher, auth) = (Cipher::AesCbc, Auth::Hmac(Hash::Sha256));
                let session = runtime
                    .chain((cipher, &key), (auth, &auth_key), TAG, order)
                    .map_err(Failure::Setup)?;
                Box::new(move |op, packets, src, dst| match op {
                    Op::Seal => session.seal(packets, src, dst),
                    _ => session.open(packets, src, dst),
                })
            }
            Unit::Gcm => {
                let session = runtime.aead(Aead::AesGcm, &key, TAG).map_err(Failure::Setup)?;
                Box::new(move |op, packets, src, dst| match op {
                    Op::Seal => session.seal(packets, src, dst),
                    _ => session.open(packets, src, dst),
                })
            }
        }))
    }
}

/// The packets of a burst, one behind the other, each with its tag behind it.
fn packets(unit: Unit) -> Vec<Packet> {
    let len = unit.packet();
    let packet = |i: usize| {
        let text = Span::new((i * (len + TAG)) as u32, len as u32);
        let iv = match unit {
            Unit::Chain => [i as u8; 16].into(),
            Unit::Gcm => [i as u8; 12].into(),
        };
        let tag = text.offset + text.len;
        Packet { iv, cipher: text, auth: text, tag, ..Packet::default() }
    };
    (0..BURST).map(packet).collect()
}

/// Keeps the device busy for `time` with sealing. Every packet's result is looked at; the bytes of
/// one burst in 16 are compared with those of the first, which was opened again.
pub fn measure(runtime: &Runtime, unit: Unit, time: Duration) -> Result<Rate, Failure> {
    let requests = Requests::new(runtime, unit)?;
    let len = BURST * (unit.packet() + TAG);
    let plain: Arc<Vec<u8>> = Arc::new((0..len).map(|i| ((i * 31) >> 3) as u8).collect());
    let source = || Buf::shared(plain.clone(), 0..len);
    let one = |op, src| {
        let response = runtime
            .handle()
            .call((requests.0)(op, packets(unit).into(), src, Buf::zeroed(len)))
            .wait();
        response.result.map_err(|e| Failure::Answer(op, 0, e))?;
        Ok::<_, Failure>(response.dst.into_vec())
    };
    let sealed = one(Op::Seal, source())?;
    let opened = one(Op::Open, Buf::from(&sealed[..]))?;
    for p in packets(unit) {
        let range = p.cipher.offset as usize..(p.cipher.offset + p.cipher.len) as usize;
        if opened[range.clone()] != plain[range] {
            return Err(Failure::Wrong(Op::Open, 0));
        }
    }

    let depth = runtime.engines().max(1) * PER_ENGINE;
    let config = InstanceConfig { depth, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).map_err(Failure::Setup)?;
    let counted =
        || runtime.counters().row("cpu", Op::Seal).map_or(0, |counters| counters.requests);
    let before = counted();
    let mut spare: Vec<(Box<Carried>, Buf)> =
        (0..depth).map(|_| (packets(unit).into(), Buf::zeroed(len))).collect();
    let mut answers = 0;
    let start = Instant::now();
    let mut check = |response: Response| {
        response.result.map_err(|e| Failure::Answer(Op::Seal, answers, e))?;
        if answers.is_multiple_of(16) && response.dst.as_slice() != Some(&sealed[..]) {
            return Err(Failure::Wrong(Op::Seal, answers));
        }
        answers += 1;
        let packets = response.carried.ok_or(Failure::Wrong(Op::Seal, answers))?;
        Ok((packets, response.dst))
    };
    let mut first = true;
    loop {
        // At least one round, however short the time.
        while first || start.elapsed() < time {
            let Some((packets, dst)) = spare.pop() else { break };
            if instance.push((requests.0)(Op::Seal, packets, source(), dst)).is_err() {
                unreachable!("there are as many destinations as the ring is deep");
            }
        }
        first = false;
        instance.doorbell();
        if instance.outstanding() == 0 {
            break;
        }
        instance.wait_many(depth / 2, Duration::from_secs(1));
        for response in instance.poll() {
            spare.push(check(response)?);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let packets = (answers * BURST) as u64;
    let bytes_per_s = packets as f64 * unit.packet() as f64 / seconds;
    Ok(Rate { bytes_per_s, packets, requests: counted() - before })
}
