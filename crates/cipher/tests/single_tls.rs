//! TLS records against OpenSSL's AES-CBC and HMAC, at every tier that the CPU has, alone and in an engine.

mod single_common;

use lookaside_cipher::{Direction, Hash, OpError, Parts, Sym};
use single_common::*;

type Run = fn(&Prepared, &Sample<'_>) -> (Result<usize, OpError>, Vec<u8>);

struct Record {
    hash: Hash,
    key: Vec<u8>,
    auth_key: Vec<u8>,
    iv: Vec<u8>,
    header: [u8; 13],
}

impl Record {
    fn new(random: &mut Random, hash: Hash, key_len: usize) -> Record {
        let mut header = [0; 13];
        header.copy_from_slice(&random.bytes(13));
        Record {
            hash,
            key: random.bytes(key_len),
            auth_key: random.bytes(hash.len()),
            iv: random.bytes(16),
            header,
        }
    }

    fn spec(&self) -> Sym {
        let (key, auth_key) = (secret(&self.key), secret(&self.auth_key));
        Sym::TlsCbc { key, hash: self.hash, auth_key }
    }

    fn mac(&self, payload: &[u8]) -> Vec<u8> {
        let len = (payload.len() as u16).to_be_bytes();
        let text = [&self.header[..11], &len, payload].concat();
        openssl_hmac(self.hash, &self.auth_key, &text)
    }

    fn encrypt(&self, text: &[u8]) -> Vec<u8> {
        let name = format!("AES-{}-CBC", 8 * self.key.len());
        openssl_cipher(&name, &self.key, &self.iv, true, text)
    }

    /// The ciphertext of a payload with `blocks` blocks of padding more than it needs.
    fn sealed(&self, payload: &[u8], blocks: usize) -> Vec<u8> {
        let mut text = [payload, &self.mac(payload)].concat();
        let padding = 16 - text.len() % 16 + 16 * blocks;
        text.extend(vec![(padding - 1) as u8; padding]);
        self.encrypt(&text)
    }

    /// Opens in place and apart, alone and in an engine.
    fn open(&self, prepared: &Prepared, sealed: &[u8]) -> Result<Vec<u8>, OpError> {
        self.open_by(Prepared::check, prepared, sealed)
    }

    fn open_by(&self, run: Run, prepared: &Prepared, sealed: &[u8]) -> Result<Vec<u8>, OpError> {
        let src = [&self.header[..], sealed].concat();
        let parts = Parts { aad: span(0, 13), cipher: span(13, sealed.len()), ..Parts::default() };
        let (direction, before) = (Direction::Open, vec![0xee; src.len()]);
        let sample = Sample { direction, iv: &self.iv, parts, src: &src, dst: None };
        let (result, bytes) = run(prepared, &sample);
        let (apart, dst) = run(prepared, &Sample { dst: Some(&before), ..sample });
        assert_eq!(apart, result);
        match result {
            Ok(len) => {
                assert_eq!(dst[13..13 + len], bytes[13..13 + len]);
                Ok(bytes[13..13 + len].to_vec())
            }
            Err(error) => {
                if error == OpError::AuthFailed {
                    assert!(dst[13..].iter().chain(&bytes[13..]).all(|byte| *byte == 0), "wiped");
                }
                Err(error)
            }
        }
    }
}

const SUITES: [(Hash, usize); 5] = [
    (Hash::Sha1, 16),
    (Hash::Sha1, 32),
    (Hash::Sha256, 16),
    (Hash::Sha256, 32),
    (Hash::Sha384, 32),
];

#[test]
fn records_agree_with_openssl() {
    let mut random = Random(31);
    for (hash, key_len) in SUITES {
        let record = Record::new(&mut random, hash, key_len);
        let tiers = prepare_all(&record.spec()).unwrap();
        for len in (0..150).chain([255, 256, 257, 300, 1000, 1408, 16384]) {
            let payload = random.bytes(len);
            for prepared in &tiers {
                sealed_and_opened(&record, prepared, &payload);
            }
        }
    }
}

fn sealed_and_opened(record: &Record, prepared: &Prepared, payload: &[u8]) {
    let len = payload.len();
    let what = format!("{:?} {len}", record.hash);
    let expected = record.sealed(payload, 0);
    // Sealed in place, where there is room for more behind the payload.
    let src = [&record.header[..], payload, &[0; 80]].concat();
    let parts = Parts { aad: span(0, 13), cipher: span(13, len), ..Parts::default() };
    let direction = Direction::Seal;
    let sample = Sample { direction, iv: &record.iv, parts, src: &src, dst: None };
    let (result, bytes) = prepared.check(&sample);
    let sealed_len = result.unwrap();
    assert_eq!(bytes[13..13 + sealed_len], expected, "{what}");
    let before = vec![0xee; src.len()];
    let (apart, dst) = prepared.check(&Sample { dst: Some(&before), ..sample });
    assert_eq!(apart, Ok(sealed_len));
    assert_eq!(dst[13..13 + sealed_len], expected, "{what}");
    assert!(dst[13 + sealed_len..].iter().all(|byte| *byte == 0xee));
    let before = vec![0; 12 + sealed_len];
    let (result, _) = prepared.check(&Sample { dst: Some(&before), ..sample });
    assert_eq!(result, Err(OpError::DstTooSmall));

    for blocks in [0, 1, 15 - usize::from((len + record.hash.len()).is_multiple_of(16))] {
        let sealed = record.sealed(payload, blocks);
        let opened = record.open(prepared, &sealed);
        assert_eq!(opened.as_deref(), Ok(payload), "{what} {blocks}");
    }
}

#[test]
fn forged_records_are_refused() {
    let mut random = Random(32);
    for (hash, key_len) in SUITES {
        let record = Record::new(&mut random, hash, key_len);
        for prepared in prepare_all(&record.spec()).unwrap() {
            forged(&record, &prepared, &mut random);
        }
    }
}

fn forged(record: &Record, prepared: &Prepared, random: &mut Random) {
    let hash = record.hash;
    for len in [0, 1, 11, 12, 20, 60, 200, 300] {
        let payload = random.bytes(len);
        let mac = record.mac(&payload);
        let least = 16 - (len + mac.len()) % 16;
        for padding in (least..=256).step_by(16) {
            let good = [&payload[..], &mac, &vec![(padding - 1) as u8; padding]].concat();
            let sealed = record.encrypt(&good);
            assert_eq!(record.open(prepared, &sealed).as_ref(), Ok(&payload));
            // Any byte of the padding, the MAC or the payload.
            for at in (0..good.len()).filter(|at| at % 7 == 0 || *at + 1 == good.len()) {
                let mut bad = good.clone();
                bad[at] ^= 1 << random.below(8);
                // An engine takes long to say the same without optimisation.
                let run = if at % 49 == 0 { Prepared::check } else { Prepared::run_alone };
                let result = record.open_by(run, prepared, &record.encrypt(&bad));
                assert_eq!(result, Err(OpError::AuthFailed), "{hash:?} {len} {padding} {at}");
            }
        }
    }
    // Padding longer than the record, though every byte of it says so.
    let text = vec![0xff; 64];
    assert_eq!(record.open(prepared, &record.encrypt(&text)), Err(OpError::AuthFailed));
    for len in [0, 16, 31, hash.len() / 16 * 16] {
        let result = record.open(prepared, &vec![0; len]);
        assert!(matches!(result, Err(OpError::BadInput(_))), "{hash:?} {len}");
    }
}
