//! Our own `libqat.so.4` as the card, and wrappers of it that fail.
#![allow(dead_code)]

use lookaside::{Buf, RsaCrt, RsaPrivateKey, Runtime, Secret};
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

fn built(name: &str) -> PathBuf {
    let exe = env::current_exe().unwrap();
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{name} is not near {}", exe.display()))
}

/// A fresh folder.
fn folder(name: &str) -> PathBuf {
    let dir =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("card-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// Our own library, with its libusdm beside it.
pub fn loop_back(name: &str) -> PathBuf {
    let dir = folder(name);
    symlink(built("liblookaside_qat.so"), dir.join("libqat.so.4")).unwrap();
    symlink(built("liblookaside_usdm.so"), dir.join("libusdm.so.0")).unwrap();
    dir.join("libqat.so.4")
}

/// A wrapper of it with these faults, as `FLIP=10`.
pub fn faulty(name: &str, faults: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = folder(name);
    let library = dir.join("libqat.so.4");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-g", "-Wall", "-Wextra", "-Werror", "-I"]);
    cc.arg(here.join("../../../front/qat/include"));
    cc.arg(format!("-DREAL=\"{}\"", built("liblookaside_qat.so").display()));
    cc.args(faults.iter().map(|fault| format!("-D{fault}")));
    cc.arg(here.join("tests/faults.c")).arg("-o").arg(&library);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    library
}

/// An RSA key, made by the CPU.
pub fn rsa_key(runtime: &Runtime) -> RsaPrivateKey {
    let (bits, k) = (2048, 256);
    let request = runtime
        .rsa_generate(bits)
        .unwrap()
        .generate(vec![1, 0, 1].into(), Buf::zeroed(2 * k + 5 * k / 2));
    let response = runtime.handle().call(request).wait();
    assert!(response.result.is_ok());
    let made = response.dst.into_vec();
    let part = |i: usize| Secret::new(&made[2 * k + i * k / 2..][..k / 2]);
    RsaPrivateKey {
        n: made[..k].to_vec(),
        e: vec![1, 0, 1],
        d: Secret::new(&made[k..2 * k]),
        crt: Some(RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) }),
    }
}
