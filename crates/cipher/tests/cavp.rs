//! NIST's vectors (CAVP), and those of RFCs in the same layout: at every tier that the CPU has, in both
//! directions, in place and apart, alone and among others in an engine. What they are a sample of, the
//! head of each file in `vectors/` says.

mod single_common;

use std::collections::HashMap;

use lookaside_cipher::{Aead, Auth, Cipher, Direction, Hash, OpError, Sym};
use single_common::*;

/// One record, and what its file and its section say of it.
struct Record {
    file: String,
    direction: Direction,
    /// Later ones hide earlier ones of the same name: names are in lower case here.
    values: HashMap<String, String>,
}

/// The records of a response file, and how many there must be: a file that is cut is noticed.
fn records(text: &str, count: usize) -> Vec<Record> {
    let (mut file, mut direction) = (String::new(), Direction::Seal);
    let (mut section, mut record) = (HashMap::new(), None);
    let mut all = Vec::new();
    for line in text.lines().chain([""]) {
        if let Some(name) = line.strip_prefix("# File: ") {
            (file, direction, section) = (name.to_owned(), Direction::Seal, HashMap::new());
        }
        if line.is_empty() {
            all.extend(record.take());
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let first = line.split([' ', '=']).next().unwrap().to_ascii_lowercase();
        if ["count", "len"].contains(&first.as_str()) {
            let values = section.clone();
            all.extend(record.replace(Record { file: file.clone(), direction, values }));
        }
        // Pairs of a section are in brackets, some with commas between them.
        for pair in line.trim_matches(['[', ']']).split(',') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            match name.as_str() {
                "encrypt" => direction = Direction::Seal,
                "decrypt" => direction = Direction::Open,
                _ => {
                    let values = record.as_mut().map_or(&mut section, |r| &mut r.values);
                    values.insert(name, value);
                }
            }
        }
    }
    assert_eq!(all.len(), count);
    all
}

impl Record {
    fn text(&self, name: &str) -> &str {
        self.values.get(name).unwrap_or_else(|| panic!("{self}: no {name}"))
    }

    fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let text = self.text(name);
        assert!(
            text.len().is_multiple_of(2) && text.bytes().all(|c| c.is_ascii_hexdigit()),
            "{self}"
        );
        hex(text)
    }

    fn number(&self, name: &str) -> usize {
        self.text(name).parse().unwrap()
    }

    /// The first bytes: what is empty is written as one byte in some of the files.
    fn prefix(&self, name: &str, len: usize) -> Vec<u8> {
        let mut bytes = self.bytes(name);
        assert!(bytes.len() == len || (len == 0 && bytes == [0]), "{self}: {name}");
        bytes.truncate(len);
        bytes
    }

    fn tiers(&self, spec: &Sym) -> Vec<Prepared> {
        prepare_all(spec).unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// Text and ciphertext of a cipher, both ways.
    fn check_cipher(&self, cipher: Cipher, key: &[u8], iv: &[u8], plain: &[u8], sealed: &[u8]) {
        assert!(!plain.is_empty(), "{self}");
        for prepared in self.tiers(&cipher_spec(cipher, key)) {
            let done = prepared.cipher(Direction::Seal, iv, plain);
            assert_eq!(done.as_deref(), Ok(sealed), "{self}");
            let done = prepared.cipher(Direction::Open, iv, sealed);
            assert_eq!(done.as_deref(), Ok(plain), "{self}");
        }
    }

    fn check_tag(&self, auth: Auth, key: &[u8], text: &[u8], tag: &[u8]) {
        for prepared in self.tiers(&auth_spec(auth, key, tag.len())) {
            assert_eq!(prepared.tag(&[], text).as_deref(), Ok(tag), "{self}");
            assert_eq!(prepared.compare(&[], text, tag), Ok(tag.len()), "{self}");
            let mut wrong = tag.to_vec();
            wrong[text.len() % tag.len()] ^= 1;
            assert_eq!(prepared.compare(&[], text, &wrong), Err(OpError::AuthFailed), "{self}");
        }
    }

    /// Of an AEAD; without a text, the tag does not match.
    fn check_aead(
        &self,
        aead: Aead,
        (iv, aad): (&[u8], &[u8]),
        plain: Option<&[u8]>,
        (sealed, tag): (&[u8], &[u8]),
    ) {
        for prepared in self.tiers(&aead_spec(aead, &self.bytes("key"), tag.len())) {
            let opened = prepared.aead_opened(iv, aad, sealed, tag);
            assert_eq!(opened.as_deref(), plain.ok_or(&OpError::AuthFailed), "{self}");
            if let Some(plain) = plain {
                let both = prepared.aead(Direction::Seal, iv, aad, plain, &[]);
                assert_eq!(both, Ok([sealed, tag].concat()), "{self}");
            }
        }
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.values.get("count").or(self.values.get("len"));
        write!(f, "{} {:?} {number:?}", self.file, self.direction)
    }
}

fn block_cipher(record: &Record, cipher: Cipher, key: &[u8]) {
    let iv = if record.has("iv") { record.bytes("iv") } else { Vec::new() };
    let (plain, sealed) = (record.bytes("plaintext"), record.bytes("ciphertext"));
    record.check_cipher(cipher, key, &iv, &plain, &sealed);
}

#[test]
fn aes_ecb() {
    for record in records(include_str!("vectors/aes_ecb.txt"), 224) {
        block_cipher(&record, Cipher::AesEcb, &record.bytes("key"));
    }
}

#[test]
fn aes_cbc() {
    for record in records(include_str!("vectors/aes_cbc.txt"), 224) {
        block_cipher(&record, Cipher::AesCbc, &record.bytes("key"));
    }
}

#[test]
fn aes_ctr() {
    for record in records(include_str!("vectors/aes_ctr.txt"), 9) {
        block_cipher(&record, Cipher::AesCtr, &record.bytes("key"));
    }
}

#[test]
fn triple_des() {
    let ecb = records(include_str!("vectors/tdes_ecb.txt"), 100);
    let cbc = records(include_str!("vectors/tdes_cbc.txt"), 100);
    for (records, cipher) in [(ecb, Cipher::TripleDesEcb), (cbc, Cipher::TripleDesCbc)] {
        for record in records {
            let key = match record.has("keys") {
                true => record.bytes("keys").repeat(3),
                false => ["key1", "key2", "key3"].map(|key| record.bytes(key)).concat(),
            };
            block_cipher(&record, cipher, &key);
        }
    }
}

#[test]
fn sm4() {
    for record in records(include_str!("vectors/sm4.txt"), 8) {
        let cipher = match record.file.rsplit('-').next().unwrap() {
            "ecb.txt" => Cipher::Sm4Ecb,
            "cbc.txt" => Cipher::Sm4Cbc,
            "ctr.txt" => Cipher::Sm4Ctr,
            other => panic!("{other}"),
        };
        block_cipher(&record, cipher, &record.bytes("key"));
    }
}

#[test]
fn aes_xts() {
    for record in records(include_str!("vectors/aes_xts.txt"), 100) {
        let iv = match record.has("i") {
            true => record.bytes("i"),
            false => (record.number("dataunitseqnumber") as u128).to_le_bytes().to_vec(),
        };
        let (key, plain, sealed) = (record.bytes("key"), record.bytes("pt"), record.bytes("ct"));
        assert_eq!(8 * plain.len(), record.number("dataunitlen"), "{record}");
        record.check_cipher(Cipher::AesXts, &key, &iv, &plain, &sealed);
    }
}

#[test]
fn chacha20_and_poly1305() {
    for record in records(include_str!("vectors/rfc7539.txt"), 14) {
        let key = record.bytes("key");
        if record.file.starts_with("poly1305") {
            record.check_tag(Auth::Poly1305, &key, &record.bytes("msg"), &record.bytes("tag"));
            continue;
        }
        let counter = record.number("initial_block_counter") as u32;
        let iv = [&counter.to_le_bytes()[..], &record.bytes("nonce")].concat();
        let (plain, sealed) = (record.bytes("plaintext"), record.bytes("ciphertext"));
        record.check_cipher(Cipher::ChaCha20, &key, &iv, &plain, &sealed);
    }
}

#[test]
fn aes_gcm() {
    let mut failed = 0;
    for record in records(include_str!("vectors/aes_gcm.txt"), 216) {
        let [iv, aad, sealed, tag] = ["iv", "aad", "ct", "tag"].map(|name| record.bytes(name));
        for (bytes, name) in
            [(&iv, "ivlen"), (&aad, "aadlen"), (&sealed, "ptlen"), (&tag, "taglen")]
        {
            assert_eq!(8 * bytes.len(), record.number(name), "{record}");
        }
        let plain = (!record.has("fail")).then(|| record.bytes("pt"));
        failed += usize::from(plain.is_none());
        record.check_aead(Aead::AesGcm, (&iv, &aad), plain.as_deref(), (&sealed, &tag));
    }
    assert_eq!(failed, 54);
}

#[test]
fn aes_ccm() {
    let mut failed = 0;
    for record in records(include_str!("vectors/aes_ccm.txt"), 204) {
        let [aad_len, len, tag_len] = ["alen", "plen", "tlen"].map(|name| record.number(name));
        let (iv, aad) =
            (record.prefix("nonce", record.number("nlen")), record.prefix("adata", aad_len));
        let sealed = record.bytes("ct");
        assert_eq!(sealed.len(), len + tag_len, "{record}");
        let passes = !record.has("result") || record.text("result") == "Pass";
        let plain = passes.then(|| record.prefix("payload", len));
        failed += usize::from(!passes);
        record.check_aead(Aead::AesCcm, (&iv, &aad), plain.as_deref(), sealed.split_at(len));
    }
    assert_eq!(failed, 48);
}

/// The hash whose name a file's begins with.
fn hash_of(file: &str) -> Hash {
    [
        ("SHA1", Hash::Sha1),
        ("SHA224", Hash::Sha224),
        ("SHA256", Hash::Sha256),
        ("SHA384", Hash::Sha384),
        ("SHA512", Hash::Sha512),
        ("SHA3_224", Hash::Sha3_224),
        ("SHA3_256", Hash::Sha3_256),
        ("SHA3_384", Hash::Sha3_384),
        ("SHA3_512", Hash::Sha3_512),
        ("rfc-1321", Hash::Md5),
        ("oscca", Hash::Sm3),
        ("rfc-2202-md5", Hash::Md5),
        ("rfc-2202-sha1", Hash::Sha1),
        ("rfc-4231-sha224", Hash::Sha224),
        ("rfc-4231-sha256", Hash::Sha256),
        ("rfc-4231-sha384", Hash::Sha384),
        ("rfc-4231-sha512", Hash::Sha512),
    ]
    .into_iter()
    .find_map(|(name, hash)| file.starts_with(name).then_some(hash))
    .unwrap_or_else(|| panic!("no hash for {file}"))
}

#[test]
fn hashes() {
    let (sha, sha3) = (include_str!("vectors/sha.txt"), include_str!("vectors/sha3.txt"));
    let others = include_str!("vectors/digests.txt");
    for (text, count) in [(sha, 90), (sha3, 66), (others, 13)] {
        for record in records(text, count) {
            let (hash, len) = (hash_of(&record.file), record.number("len") / 8);
            let (text, digest) = (record.prefix("msg", len), record.bytes("md"));
            assert_eq!(digest.len(), hash.len(), "{record}");
            record.check_tag(Auth::Plain(hash), &[], &text, &digest);
        }
    }
}

#[test]
fn hmac() {
    for record in records(include_str!("vectors/hmac.txt"), 38) {
        let (hash, len) = (hash_of(&record.file), record.number("len") / 8);
        let (key, text) = (record.bytes("key"), record.prefix("msg", len));
        record.check_tag(Auth::Hmac(hash), &key, &text, &record.bytes("md"));
    }
}

#[test]
fn cmac() {
    for record in records(include_str!("vectors/cmac.txt"), 12) {
        let (key, text) = (record.bytes("key"), record.bytes("message"));
        record.check_tag(Auth::AesCmac, &key, &text, &record.bytes("output"));
    }
}
