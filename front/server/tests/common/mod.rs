//! A server in a folder of its own, and what several tests ask of it.
#![allow(dead_code, reason = "each test uses some of it")]

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use lookaside::{
    Buf, Compression, Format, Hash, InstanceConfig, Memory, OpError, Request, Response, RsaCrt,
    RsaPrivate, RsaPrivateKey, RsaPublicKey, RsaScheme, Runtime,
};
use lookaside_server::{Config, FunctionConfig, Server};
use lookaside_shared::{Policy, Settings, SharedDevice};
use lookaside_wire::Area;

/// A folder that goes with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lookaside-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A configuration with these functions, and two engines.
pub fn config(folder: &Path, functions: Vec<FunctionConfig>) -> Config {
    let mut config = Config::new(folder);
    config.engines = Some(2);
    config.functions = functions;
    config
}

/// A server with one function, `all`.
pub fn server(folder: &Folder) -> Server {
    Server::start(&config(&folder.0, vec![FunctionConfig::new("all")])).expect("a server")
}

pub fn settings(server: &Server, name: &str) -> Settings {
    Settings::new(server.socket(name).expect("the function"))
}

pub fn client(server: &Server, name: &str, policy: Policy) -> SharedDevice {
    SharedDevice::new(Settings { policy, ..settings(server, name) }).expect("a client")
}

/// A runtime with the shared device and nothing behind it.
pub fn alone(device: SharedDevice, engines: usize) -> Runtime {
    Runtime::builder().device(device).engines(engines).start().expect("a runtime")
}

/// A runtime with the CPU device behind the shared one.
pub fn backed(device: SharedDevice, engines: usize) -> Runtime {
    let builder = Runtime::builder().device(device).device(lookaside_cpu::cpu());
    builder.engines(engines).start().expect("a runtime")
}

pub fn call(runtime: &Runtime, request: Request) -> Response {
    let mut instance = runtime.instance(InstanceConfig::default()).expect("an instance");
    instance.push(request).expect("room for one");
    assert!(instance.wait(Duration::from_secs(120)), "an answer");
    instance.poll().next().expect("the answer")
}

/// Compresses by `runtime`, and decompresses by the CPU alone.
pub fn compresses(runtime: &Runtime, seed: u64, len: usize) -> Result<(), OpError> {
    let data = lookaside_testkit::mixed(seed, len);
    let spec = Compression::new(Format::Gzip);
    let session = runtime.compression(spec.clone()).expect("a session");
    let request = session.compress(Buf::from(&*data), Buf::zeroed(session.bound(len)));
    let response = call(runtime, request);
    let n = response.result?.produced;
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let packed = Buf::from(&response.dst.as_slice().unwrap()[..n]);
    let back = call(&cpu, cpu.compression(spec).unwrap().decompress(packed, Buf::zeroed(len)));
    assert_eq!(back.result.expect("what was compressed").produced, len);
    assert!(back.dst.as_slice() == Some(&*data), "other bytes than were compressed");
    Ok(())
}

/// An RSA-2048 key.
pub fn rsa_key() -> RsaPrivateKey {
    const K: usize = 256;
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let generate = cpu.rsa_generate(8 * K as u32).unwrap();
    let made = call(&cpu, generate.generate(vec![1, 0, 1].into(), Buf::zeroed(9 * K / 2)));
    made.result.expect("a key");
    let parts = made.dst.into_vec();
    let (n, rest) = parts.split_at(K);
    let (d, rest) = rest.split_at(K);
    let part = |i: usize| rest[i * K / 2..][..K / 2].to_vec().into();
    let crt = RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) };
    RsaPrivateKey { n: n.to_vec(), e: vec![1, 0, 1], d: d.to_vec().into(), crt: Some(crt) }
}

/// A signature of these 32 bytes.
pub fn sign(key: &RsaPrivate, digest: [u8; 32]) -> Request {
    let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
    key.run(scheme, Buf::from(&digest[..]), Buf::zeroed(256))
}

/// Signs by `runtime`, and verifies by the CPU alone.
pub fn signs(runtime: &Runtime, key: &RsaPrivateKey, digest: [u8; 32]) -> Result<(), OpError> {
    let session = runtime.rsa_private(key.clone()).expect("a session");
    let response = call(runtime, sign(&session, digest));
    assert_eq!(response.result?.produced, 256);
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let public = RsaPublicKey { n: key.n.clone(), e: key.e.clone() };
    let signed = [response.dst.as_slice().unwrap(), &digest].concat();
    let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
    let verify = cpu.rsa_public(public).unwrap().run(scheme, signed.into(), Buf::empty());
    call(&cpu, verify).result.expect("a good signature");
    Ok(())
}

/// How many requests of an operation a runtime's device has answered.
pub fn answered(runtime: &Runtime, device: &str, op: lookaside::Op) -> u64 {
    let rows = runtime.counters().ops;
    let row = rows.iter().find(|row| row.device == device && row.op == op.to_string());
    row.map_or(0, |row| row.requests)
}

/// Writes a word of the shared memory as no good client or server does.
pub fn scribble(area: &Area, at: usize, word: u64) {
    assert!(at + 8 <= area.memory().len() && at.is_multiple_of(8));
    // SAFETY: within the memory; aligned.
    unsafe { std::ptr::write_volatile(area.memory().base().as_ptr().add(at).cast::<u64>(), word) }
}
