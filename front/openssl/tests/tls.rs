//! libssl over our ciphers: every kind of suite, each side and both, against OpenSSL's own provider.
#![allow(clippy::undocumented_unsafe_blocks, missing_docs, non_snake_case)]

mod libcrypto;

use libcrypto::{cipher::Random, *};
use std::{
    ffi::{c_char, c_int, c_long},
    process::Command,
    ptr::{null, null_mut},
};

#[link(name = "ssl")]
unsafe extern "C" {
    fn TLS_method() -> Ptr;
    fn SSL_CTX_new_ex(lib: Ptr, propq: *const c_char, method: Ptr) -> Ptr;
    fn SSL_CTX_free(ctx: Ptr);
    fn SSL_CTX_ctrl(ctx: Ptr, what: c_int, n: c_long, p: Ptr) -> c_long;
    fn SSL_CTX_set_options(ctx: Ptr, options: u64) -> u64;
    fn SSL_CTX_set_cipher_list(ctx: Ptr, list: *const c_char) -> c_int;
    fn SSL_CTX_set_ciphersuites(ctx: Ptr, list: *const c_char) -> c_int;
    fn SSL_CTX_set_security_level(ctx: Ptr, level: c_int);
    fn SSL_CTX_use_certificate_file(ctx: Ptr, file: *const c_char, kind: c_int) -> c_int;
    fn SSL_CTX_use_PrivateKey_file(ctx: Ptr, file: *const c_char, kind: c_int) -> c_int;
    fn SSL_new(ctx: Ptr) -> Ptr;
    fn SSL_free(ssl: Ptr);
    fn SSL_set_bio(ssl: Ptr, read: Ptr, write: Ptr);
    fn SSL_set_accept_state(ssl: Ptr);
    fn SSL_set_connect_state(ssl: Ptr);
    fn SSL_do_handshake(ssl: Ptr) -> c_int;
    fn SSL_read_ex(ssl: Ptr, to: *mut u8, n: usize, got: *mut usize) -> c_int;
    fn SSL_write_ex(ssl: Ptr, from: *const u8, n: usize, put: *mut usize) -> c_int;
    fn SSL_get_error(ssl: Ptr, result: c_int) -> c_int;
    fn SSL_key_update(ssl: Ptr, kind: c_int) -> c_int;
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn BIO_new_bio_pair(a: *mut Ptr, n: usize, b: *mut Ptr, m: usize) -> c_int;
}

const MIN_VERSION: c_int = 123;
const MAX_VERSION: c_int = 124;
const NO_ENCRYPT_THEN_MAC: u64 = 1 << 19;
const TLS_1_0: c_long = 0x301;
const TLS_1_1: c_long = 0x302;
const TLS_1_2: c_long = 0x303;
const TLS_1_3: c_long = 0x304;

struct Ssl(Ptr);

impl Drop for Ssl {
    fn drop(&mut self) {
        unsafe { SSL_free(self.0) };
    }
}

/// A suite, a version, and whether the MAC is of the ciphertext.
struct Case(&'static str, c_long, bool);

impl Case {
    fn side(&self, lib: &Lib, files: Option<&[std::ffi::CString; 2]>) -> Ssl {
        unsafe {
            let ctx = SSL_CTX_new_ex(lib.0, null(), TLS_method());
            SSL_CTX_set_security_level(ctx, 0);
            SSL_CTX_ctrl(ctx, MIN_VERSION, self.1, null_mut());
            SSL_CTX_ctrl(ctx, MAX_VERSION, self.1, null_mut());
            if !self.2 {
                SSL_CTX_set_options(ctx, NO_ENCRYPT_THEN_MAC);
            }
            let list = c(self.0);
            let set = match self.1 {
                TLS_1_3 => SSL_CTX_set_ciphersuites(ctx, list.as_ptr()),
                _ => SSL_CTX_set_cipher_list(ctx, list.as_ptr()),
            };
            assert_eq!(set, 1, "{}", errors());
            if let Some([certificate, key]) = files {
                assert_eq!(SSL_CTX_use_certificate_file(ctx, certificate.as_ptr(), 1), 1);
                assert_eq!(SSL_CTX_use_PrivateKey_file(ctx, key.as_ptr(), 1), 1);
            }
            let ssl = SSL_new(ctx);
            SSL_CTX_free(ctx);
            match files {
                Some(_) => SSL_set_accept_state(ssl),
                None => SSL_set_connect_state(ssl),
            }
            Ssl(ssl)
        }
    }
}

fn wants(ssl: &Ssl, result: c_int) {
    let error = unsafe { SSL_get_error(ssl.0, result) };
    assert!(matches!(error, 2 | 3), "{error}: {}", errors());
}

/// Moves a text, written in pieces of this length.
fn moved(from: &Ssl, to: &Ssl, text: &[u8], piece: usize) {
    let (mut sent, mut got) = (0, vec![0; text.len()]);
    let mut read = 0;
    while read < text.len() {
        let mut n = 0;
        if sent < text.len() {
            let len = piece.min(text.len() - sent);
            match unsafe { SSL_write_ex(from.0, text[sent..].as_ptr(), len, &mut n) } {
                1 => sent += n,
                other => wants(from, other),
            }
        }
        while read < text.len() {
            let room = &mut got[read..];
            match unsafe { SSL_read_ex(to.0, room.as_mut_ptr(), room.len(), &mut n) } {
                1 => read += n,
                other => {
                    wants(to, other);
                    break;
                }
            }
        }
    }
    assert!(got == text);
}

#[test]
fn every_kind_of_suite() {
    let folder = std::env::temp_dir().join(format!("lookaside-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [certificate, key] = ["c.pem", "k.pem"].map(|name| folder.join(name));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test"])
        .args([std::ffi::OsStr::new("-keyout"), key.as_os_str()])
        .args([std::ffi::OsStr::new("-out"), certificate.as_os_str()])
        .output()
        .expect("Debian's package openssl");
    assert!(made.status.success());
    let files = [&certificate, &key].map(|file| c(file.to_str().unwrap()));
    let (ours, plain) = (Lib::ours(&[]), Lib::plain());
    let text = Random(31).bytes(200_000);
    for case in [
        Case("AES128-SHA", TLS_1_0, false),
        Case("AES128-SHA", TLS_1_1, false),
        Case("AES128-SHA", TLS_1_2, true),
        Case("AES128-SHA", TLS_1_2, false),
        Case("AES256-SHA", TLS_1_2, false),
        Case("AES128-SHA256", TLS_1_2, false),
        Case("AES256-SHA256", TLS_1_2, true),
        Case("ECDHE-RSA-AES256-SHA384", TLS_1_2, false),
        Case("AES128-GCM-SHA256", TLS_1_2, true),
        Case("ECDHE-RSA-CHACHA20-POLY1305", TLS_1_2, true),
        Case("AES128-CCM", TLS_1_2, true),
        Case("AES256-CCM8", TLS_1_2, true),
        Case("NULL-SHA256", TLS_1_2, true),
        Case("TLS_AES_128_GCM_SHA256", TLS_1_3, true),
        Case("TLS_AES_256_GCM_SHA384", TLS_1_3, true),
        Case("TLS_CHACHA20_POLY1305_SHA256", TLS_1_3, true),
        Case("TLS_AES_128_CCM_8_SHA256", TLS_1_3, true),
    ] {
        for (server, client) in [(&ours, &plain), (&plain, &ours), (&ours, &ours)] {
            let server = case.side(server, Some(&files));
            let client = case.side(client, None);
            let (mut a, mut b) = (null_mut(), null_mut());
            unsafe {
                assert_eq!(BIO_new_bio_pair(&mut a, 300_000, &mut b, 300_000), 1);
                SSL_set_bio(server.0, a, a);
                SSL_set_bio(client.0, b, b);
            }
            let shaken = (0..20).any(|_| {
                let client = unsafe { SSL_do_handshake(client.0) };
                client == 1 && unsafe { SSL_do_handshake(server.0) } == 1 || {
                    unsafe { SSL_do_handshake(server.0) };
                    false
                }
            });
            assert!(shaken, "{} {:x}: {}", case.0, case.1, errors());
            // Writes of many records at once, of one, and of parts.
            for (piece, len) in
                [(200_000, 200_000), (70_000, 140_000), (16_384, 50_000), (700, 5000)]
            {
                moved(&server, &client, &text[..len], piece);
                moved(&client, &server, &text[..len], piece);
            }
            if case.1 == TLS_1_3 {
                assert_eq!(unsafe { SSL_key_update(server.0, 1) }, 1);
                moved(&server, &client, &text, 10_000);
                moved(&client, &server, &text, 10_000);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
