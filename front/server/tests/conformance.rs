//! The shared device does what every device must; what it does not offer the CPU device behind it does.

mod common;

use common::{Folder, alone, answered, backed, client, compresses, config, rsa_key, server, signs};
use lookaside::{Op, Service, SetupError};
use lookaside_server::{FunctionConfig, Server};
use lookaside_shared::Policy;

#[test]
fn compression_conforms() {
    let folder = Folder::new();
    let server = server(&folder);
    let device = || client(&server, "all", Policy::Fallback);
    let served = lookaside_testkit::conformance_before(device, lookaside_cpu::cpu);
    // Streams are the CPU device's.
    assert!(served["shared"] > 100 && served["cpu"] > 0, "{served:?}");
}

#[test]
fn symmetric_operations_conform() {
    let folder = Folder::new();
    let server = server(&folder);
    let device = || client(&server, "all", Policy::Fallback);
    let served = lookaside_testkit::symmetric_before(device, lookaside_cpu::cpu);
    assert!(served["shared"] > 10, "{served:?}");
}

#[test]
fn what_is_offered_alone_conforms() {
    let folder = Folder::new();
    let services = vec![Service::Mv, Service::Rng];
    let function = FunctionConfig { services, ..FunctionConfig::new("few") };
    let server = Server::start(&config(&folder.0, vec![function])).unwrap();
    lookaside_testkit::conformance(|| client(&server, "few", Policy::Fallback));
    let runtime = alone(client(&server, "few", Policy::Fallback), 0);
    let refused = runtime.compression(lookaside::Compression::default()).map(|_| ());
    assert!(matches!(refused, Err(SetupError::Unsupported { .. })), "{refused:?}");
}

#[test]
fn keys_sign_at_the_server_and_bad_ones_are_refused() {
    let folder = Folder::new();
    let server = server(&folder);
    let key = rsa_key();
    for engines in [0, 1] {
        let runtime = backed(client(&server, "all", Policy::Fallback), engines);
        for n in 0..5 {
            signs(&runtime, &key, [n; 32]).unwrap();
        }
        compresses(&runtime, 1, 100_000).unwrap();
        assert_eq!(answered(&runtime, "shared", Op::RsaPrivate), 5);
        assert_eq!(answered(&runtime, "cpu", Op::RsaPrivate), 0);
    }
    let runtime = alone(client(&server, "all", Policy::Fallback), 0);
    let mut bad = key;
    bad.n[255] ^= 1;
    assert!(matches!(runtime.rsa_private(bad), Err(SetupError::Key { .. })));
}

#[test]
fn nobody_gets_more_than_the_function_has() {
    let folder = Folder::new();
    let mut function = FunctionConfig::new("small");
    function.arena = 1 << 20;
    function.memory = 5 << 20;
    function.sessions = 3;
    let server = Server::start(&config(&folder.0, vec![function])).unwrap();
    let device = client(&server, "small", Policy::Fallback);
    let runtime = backed(device.clone(), 0);
    // Two rings of 2 MB have room; the third instance's requests are the CPU's.
    let session = runtime.mover().unwrap();
    let mut instances: Vec<_> =
        (0..3).map(|_| runtime.instance(lookaside::InstanceConfig::default()).unwrap()).collect();
    for instance in &mut instances {
        let copy = session.copy(lookaside::Buf::zeroed(9), lookaside::Buf::zeroed(9));
        instance.push(copy).unwrap();
        assert!(instance.wait(std::time::Duration::from_secs(60)));
        assert!(instance.poll().next().unwrap().result.is_ok());
    }
    assert_eq!(
        (answered(&runtime, "shared", Op::Copy), answered(&runtime, "cpu", Op::Copy)),
        (2, 1)
    );
    // Of sessions, one is open already.
    let alone = alone(device, 0);
    let kept: Vec<_> = (0..4).map(|_| alone.mover()).collect();
    assert_eq!(kept.iter().filter(|made| made.is_ok()).count(), 2, "{kept:?}");
    drop(kept);
    assert!(alone.mover().is_ok(), "closed sessions make room");
    // A request larger than the arena goes to the next device.
    instances.clear();
    compresses(&runtime, 2, 3 << 20).unwrap();
    assert_eq!(answered(&runtime, "cpu", Op::Compress), 1);
}
