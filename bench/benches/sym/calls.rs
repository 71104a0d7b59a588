//! One request for cipher and MAC against two requests, one for each (paper 5 section 6.2.1: one
//! call against two).

use std::{fmt::Write, time::Duration};

use lookaside::{
    Auth, Buf, ChainOrder, Cipher, Hash, Instance, InstanceConfig, Packet, Response, Runtime, Span,
};

use crate::{Contender, Options, SIZES, compete, rivals::PACKETS, save};

const TAG: usize = 16;

/// Pushes one round of requests and gives the responses back in the order of their tags.
fn round(instance: &mut Instance, answers: &mut [Option<Response>]) {
    while instance.outstanding() > 0 {
        instance.wait(Duration::from_secs(10));
        for r in instance.poll() {
            r.result.expect("sealed");
            let i = r.tag as usize;
            answers[i] = Some(r);
        }
    }
}

pub fn measure(o: &Options, runtime: &Runtime) {
    let mut csv = String::from("chain,bytes,one_call_ns,two_calls_ns,two_to_one\n");
    println!("\none request for cipher and MAC, two requests: ns a packet, and the ratio");
    let chains = [
        ("AES-128-CBC+HMAC-SHA1", Cipher::AesCbc, 16, Auth::Hmac(Hash::Sha1)),
        ("AES-128-CBC+HMAC-SHA256", Cipher::AesCbc, 16, Auth::Hmac(Hash::Sha256)),
        ("AES-128-CTR+HMAC-SHA256", Cipher::AesCtr, 16, Auth::Hmac(Hash::Sha256)),
        ("3DES-CBC+HMAC-SHA1", Cipher::TripleDesCbc, 24, Auth::Hmac(Hash::Sha1)),
    ];
    for (name, cipher, key, auth) in chains {
        let (key, auth_key) = (vec![1; key], [2; 20]);
        let order = ChainOrder::CipherThenAuth;
        let chain = runtime.chain((cipher, &key), (auth, &auth_key), TAG, order).expect(name);
        let encrypt = runtime.cipher(cipher, &key).expect(name);
        let digest = runtime.digest(auth, &auth_key, TAG).expect(name);
        let iv_len = if cipher == Cipher::TripleDesCbc { 8 } else { 16 };
        for len in SIZES {
            let text = Span::new(0, len as u32);
            let packet = Packet {
                iv: lookaside::Iv::new(&[3; 16][..iv_len]).expect("short"),
                cipher: text,
                auth: text,
                tag: len as u32,
                ..Packet::default()
            };
            let unkeyed = Packet { iv: lookaside::Iv::default(), ..packet };
            let config = InstanceConfig { depth: PACKETS, ..InstanceConfig::default() };
            let open = || runtime.instance(config.clone()).expect("an instance");
            let (mut one, mut two) = (open(), open());
            let fresh = || -> Vec<Option<Buf>> {
                (0..PACKETS).map(|_| Some(Buf::zeroed(len + TAG))).collect()
            };
            let (mut one_bufs, mut two_bufs) = (fresh(), fresh());
            let run_one = |n: usize| {
                for _ in 0..n / PACKETS {
                    let mut answers: Vec<_> = (0..PACKETS).map(|_| None).collect();
                    for (i, buf) in one_bufs.iter_mut().enumerate() {
                        let dst = buf.take().expect("here");
                        let request = chain.seal(packet, Buf::empty(), dst).tag(i as u64);
                        one.push(request).expect("room");
                    }
                    round(&mut one, &mut answers);
                    for (buf, answer) in one_bufs.iter_mut().zip(answers) {
                        *buf = answer.map(|r| r.dst);
                    }
                }
            };
            let run_two = |n: usize| {
                for _ in 0..n / PACKETS {
                    for step in 0..2 {
                        let mut answers: Vec<_> = (0..PACKETS).map(|_| None).collect();
                        for (i, buf) in two_bufs.iter_mut().enumerate() {
                            let dst = buf.take().expect("here");
                            let request = match step {
                                0 => encrypt.encrypt(packet, Buf::empty(), dst),
                                _ => digest.digest(unkeyed, Buf::empty(), dst),
                            };
                            two.push(request.tag(i as u64)).expect("room");
                        }
                        round(&mut two, &mut answers);
                        for (buf, answer) in two_bufs.iter_mut().zip(answers) {
                            *buf = answer.map(|r| r.dst);
                        }
                    }
                }
            };
            let mut contenders: [Option<Contender<'_>>; 2] =
                [Some(Box::new(run_one)), Some(Box::new(run_two))];
            let ns = compete(&mut contenders, o);
            drop(contenders);
            let (a, b) = (ns[0].unwrap_or(0.0), ns[1].unwrap_or(0.0));
            println!("  {name:<24} {len:>6}  {a:>9.1}  {b:>9.1}  {:.2}", b / a);
            _ = writeln!(csv, "{name},{len},{a:.1},{b:.1},{:.3}", b / a);
        }
    }
    save(o, "calls.csv", &csv);
}
