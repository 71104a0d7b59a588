//! Throughput of a modelled device on a virtual clock.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside::{
    Arithmetic, Auth, Buf, ChainOrder, Cipher, Clock, Compression, Engine, Hash, Instance,
    InstanceConfig, Op, OpError, Packet, Request, RsaPrivateKey, RsaScheme, Runtime,
};
use lookaside_model::{Idle, Model, Section, Spec};

/// Time that passes when nothing else is left to do.
#[derive(Clone, Default)]
struct Virtual(Arc<AtomicU64>);

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep_ns(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

/// What makes the requests of one operation.
type Make = Box<dyn Fn() -> Request>;

/// The operation that stands for a section: of those that share engines, all take the same time.
pub fn operation(section: &Section) -> Option<Op> {
    const KNOWN: [Op; 8] = [
        Op::Compress,
        Op::Decompress,
        Op::Copy,
        Op::Encrypt,
        Op::Digest,
        Op::Seal,
        Op::RsaPrivate,
        Op::Modular,
    ];
    section.ops.iter().copied().find(|op| KNOWN.contains(op))
}

/// Requests of the operation with so many bytes. Nothing executes them, so that keys may be anything.
fn requests(runtime: &Runtime, op: Op, size: usize) -> Result<Make, Box<dyn Error>> {
    let text = Arc::new(vec![0u8; size]);
    let src = move || Buf::shared(text.clone(), 0..size);
    let dst = move || Buf::zeroed(size);
    let packet = Packet::default();
    Ok(match op {
        Op::Compress => {
            let session = runtime.compression(Compression::default())?;
            Box::new(move || session.compress(src(), dst()))
        }
        Op::Decompress => {
            let session = runtime.compression(Compression::default())?;
            Box::new(move || session.decompress(Buf::zeroed(1), dst()))
        }
        Op::Copy => {
            let session = runtime.mover()?;
            Box::new(move || session.copy(src(), dst()))
        }
        Op::Encrypt => {
            let session = runtime.cipher(Cipher::AesEcb, &[0; 16])?;
            Box::new(move || session.encrypt(packet, src(), dst()))
        }
        Op::Digest => {
            let session = runtime.digest(Auth::Hmac(Hash::Sha1), &[0; 20], 20)?;
            Box::new(move || session.digest(packet, src(), dst()))
        }
        Op::Seal => {
            let (cipher, auth) = ((Cipher::AesCbc, &[0; 16][..]), Auth::Hmac(Hash::Sha1));
            let session =
                runtime.chain(cipher, (auth, &[0; 20]), 20, ChainOrder::CipherThenAuth)?;
            Box::new(move || session.seal(packet, src(), dst()))
        }
        Op::RsaPrivate => {
            let (n, d) = (vec![0xff; size], vec![0; size].into());
            let key = RsaPrivateKey { n, e: vec![1, 0, 1], d, crt: None };
            let session = runtime.rsa_private(key)?;
            Box::new(move || session.run(RsaScheme::Raw, src(), dst()))
        }
        Op::Modular => {
            let session = runtime.modular(&vec![0xff; size])?;
            Box::new(move || session.arithmetic(Arithmetic::Power, src(), dst()))
        }
        _ => return Err(format!("{op} is not run").into()),
    })
}

/// Operations per second of virtual time, with so many requests outstanding.
pub fn rate(spec: &Spec, op: Op, size: usize, outstanding: usize) -> Result<f64, Box<dyn Error>> {
    let clock = Virtual::default();
    let builder = Runtime::builder().device(Model::new(Idle::new(), spec.clone())?);
    let (runtime, mut engines) =
        builder.engines(1).clock(Arc::new(clock.clone())).start_stepped()?;
    let make = requests(&runtime, op, size)?;
    let config = InstanceConfig { depth: outstanding, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config)?;
    // The first ones fill the engines, and do not count. Requests are answered in rounds, of those outstanding or of
    // the engines: whole rounds of either count.
    let engines_of_op = spec.section(op).map_or(1, |section| section.engines);
    let round = (1..=engines_of_op).map(|n| n * outstanding).find(|n| n % engines_of_op == 0);
    let first = 2 * outstanding;
    let all = first + 240usize.next_multiple_of(round.unwrap_or(outstanding));
    let (mut pushed, mut answered, mut begin) = (0, 0, 0);
    let mut failed = None;
    while answered < pushed || pushed < all && failed.is_none() {
        while failed.is_none() && pushed < all && instance.outstanding() < outstanding {
            instance.push(make()).map_err(|full| full.to_string())?;
            pushed += 1;
        }
        instance.doorbell();
        step(&mut engines, &clock, &mut instance, |result| {
            answered += 1;
            if answered == first {
                begin = clock.now_ns();
            }
            failed = failed.or(result.err());
        });
    }
    match failed {
        Some(e) => Err(format!("{op}: {e}").into()),
        None => Ok((all - first) as f64 * 1e9 / (clock.now_ns() - begin) as f64),
    }
}

/// Steps the engines until they wait, takes the answers, and if there was none lets time pass.
fn step(
    engines: &mut [Engine],
    clock: &Virtual,
    instance: &mut Instance,
    mut answer: impl FnMut(Result<(), OpError>),
) {
    let now = clock.now_ns();
    let mut next = u64::MAX;
    for engine in engines {
        let idle = loop {
            let step = engine.step(now);
            if !step.progress {
                break step;
            }
        };
        next = next.min(idle.until_ns.unwrap_or(u64::MAX));
    }
    let mut answers = 0;
    for response in instance.poll() {
        answers += 1;
        answer(response.result.map(drop));
    }
    if answers == 0 && next < u64::MAX {
        clock.sleep_ns(next.saturating_sub(now).max(1));
    }
}
