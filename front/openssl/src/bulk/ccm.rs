//! AES-CCM, also as records of TLS 1.2 (RFC 6655). It wants a text's length first, and so a text is
//! one call.

use lookaside::{AeadSession, Op, Secret};
use zeroize::Zeroize;

use super::{
    aead::{self, TAG, TLS_AAD},
    list::{Kind, Spec},
    session::Keyed,
};
use crate::{
    dispatch::symcipher::{Pieces, Start, SymCipher, Text},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
    statistics::Count,
};

/// RFC 6655 section 3: 4 bytes of the nonce are agreed on, 8 are sent.
const FIXED: usize = 4;
const EXPLICIT: usize = 8;

/// A text.
#[derive(Clone)]
pub struct Ccm {
    spec: &'static Spec,
    key: Option<Secret>,
    /// The session for tags of this length: made when the text comes.
    keyed: Option<(usize, Keyed<AeadSession>)>,
    encrypt: bool,
    iv: [u8; 16],
    iv_len: usize,
    iv_set: bool,
    /// The text's length as told before.
    len: Option<usize>,
    aad: Option<Vec<u8>>,
    tag: [u8; TAG],
    tag_len: usize,
    tag_set: bool,
    record: Option<[u8; TLS_AAD]>,
    tls_pad: usize,
    count: Count,
}

impl Ccm {
    /// Encrypts, and makes the tag, or verifies it and decrypts.
    fn crypt(&mut self, provider: &Provider, aad: &[u8], len: usize, pieces: Pieces) -> Result<()> {
        let Kind::Aead(aead) = self.spec.kind else { return Err(Reason::Internal.into()) };
        let tag_len = self.tag_len;
        if self.keyed.as_ref().is_none_or(|(n, _)| *n != tag_len) {
            let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
            let session = provider.prepare(|runtime| runtime.aead(aead, key, tag_len))?;
            self.keyed = Some((tag_len, Keyed::new(session, key)));
        }
        let (_, keyed) = self.keyed.as_mut().ok_or(Reason::Internal)?;
        self.count.add(provider, self.spec, len);
        let op = if self.encrypt { Op::Seal } else { Op::Open };
        let running = keyed.restart(op, &self.iv[..self.iv_len])?;
        running.lengths(aad.len(), len)?;
        if !aad.is_empty() {
            running.aad(aad)?;
        }
        let text = match pieces {
            Pieces::Apart(src, dst) => {
                running.update(src, dst)?;
                dst
            }
            Pieces::InPlace(text) => {
                running.update_in_place(text)?;
                text
            }
        };
        if self.encrypt {
            running.finish(&mut self.tag)?;
        } else if let Err(e) = running.verify_prefix(&self.tag[..tag_len]) {
            text.zeroize();
            return Err(e.into());
        }
        Ok(())
    }

    /// A TLS record in place: 8 bytes of the nonce, the text, the tag.
    fn tls(&mut self, provider: &Provider, text: &mut Text, aad: [u8; TLS_AAD]) -> Result<usize> {
        let (len, tag_len) = (text.len(), self.tag_len);
        if !text.is_in_place() || !text.has_source() || len < EXPLICIT + tag_len {
            return Err(Error::new(Reason::BadInput, "TLS record"));
        }
        let Pieces::InPlace(record) = text.open(len)? else { return Err(Reason::Internal.into()) };
        let (iv, record) = record.split_at_mut(EXPLICIT);
        let (text, tag) = record.split_at_mut(len - EXPLICIT - tag_len);
        if self.encrypt {
            // The sequence number, which no two records of a key share.
            iv.copy_from_slice(&aad[..EXPLICIT]);
        } else {
            self.tag[..tag_len].copy_from_slice(tag);
        }
        self.iv[FIXED..FIXED + EXPLICIT].copy_from_slice(iv);
        let payload = text.len();
        self.crypt(provider, &aad, payload, Pieces::InPlace(text))?;
        if self.encrypt {
            tag.copy_from_slice(&self.tag[..tag_len]);
            return Ok(len);
        }
        Ok(payload)
    }

    fn any(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        // It stays for the records to come, whose AAD is set anew.
        if let Some(aad) = self.record {
            return self.tls(provider, text, aad);
        }
        let len = text.len();
        if !text.has_source() && text.has_destination() {
            // The end, which writes nothing.
            return Ok(0);
        }
        if !self.iv_set {
            return Err(aead::no_iv());
        }
        if !text.has_destination() {
            if !text.has_source() {
                self.len = Some(len);
            } else {
                if self.len.is_none() && len > 0 {
                    return Err(Error::new(Reason::MissingParameter, "the message's length"));
                }
                if self.aad.is_some() {
                    return Err(Error::new(Reason::BadInput, "associated data in two pieces"));
                }
                self.aad = Some(text.source().to_vec());
            }
            return Ok(len);
        }
        if self.len.is_some_and(|told| told != len) {
            return Err(Error::new(Reason::InvalidLength, "another length was told before"));
        }
        if !self.encrypt && !self.tag_set {
            return Err(Error::new(Reason::MissingParameter, "tag"));
        }
        let aad = self.aad.take().unwrap_or_default();
        let pieces = text.open(len)?;
        self.crypt(provider, &aad, len, pieces)?;
        if self.encrypt {
            self.tag_set = true;
        } else {
            (self.iv_set, self.tag_set, self.len) = (false, false, None);
        }
        Ok(len)
    }
}

impl SymCipher for Ccm {
    const GETTABLE: &'static [Param] = aead::GETTABLE;
    const SETTABLE: &'static [Param] = aead::SETTABLE;

    fn new(spec: &'static Spec) -> Ccm {
        Ccm {
            spec,
            key: None,
            keyed: None,
            encrypt: true,
            iv: [0; 16],
            // OpenSSL's defaults: 8 bytes for the length, and tags of 12.
            iv_len: 7,
            iv_set: false,
            len: None,
            aad: None,
            tag: [0; TAG],
            tag_len: 12,
            tag_set: false,
            record: None,
            tls_pad: 0,
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<Ccm> {
        Ok(Ccm { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, _: &Provider, start: Start) -> Result<()> {
        self.encrypt = start.encrypt;
        if let Some(iv) = start.iv {
            if iv.len() != self.iv_len {
                return Err(Error::new(Reason::InvalidLength, "IV"));
            }
            self.iv[..iv.len()].copy_from_slice(iv);
            self.iv_set = true;
            self.aad = None;
        }
        if let Some(key) = start.key {
            if key.len() != self.spec.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            if self.keyed.as_ref().is_none_or(|(_, old)| !old.is_for(key)) {
                self.keyed = None;
            }
            self.key = Some(Secret::new(key));
        }
        Ok(())
    }

    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    fn finish(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        match self.record {
            Some(aad) => self.tls(provider, text, aad),
            None => Ok(0),
        }
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", self.iv_len as i64)?;
        answers.int(c"taglen", self.tag_len as i64)?;
        for key in [c"iv", c"updated-iv"] {
            // The caller's room is filled, if it has more than the IV.
            if let Some(room) = answers.room(key) {
                let len = room.clamp(self.iv_len, self.iv.len());
                answers.lent_octets(key, &self.iv[..len])?;
            }
        }
        answers.int(c"keylen", self.spec.key_len as i64)?;
        answers.int(c"tlsaadpad", self.tls_pad as i64)?;
        if answers.wants(c"tag") {
            if !self.encrypt || !self.tag_set {
                return Err(Error::new(Reason::MissingParameter, "tag"));
            }
            if answers.room(c"tag") != Some(self.tag_len) {
                return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
            }
            answers.octets(c"tag", &self.tag[..self.tag_len])?;
            (self.iv_set, self.tag_set, self.len) = (false, false, None);
        }
        Ok(())
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        if let Some(len) = params.size(c"tag") {
            if len % 2 != 0 || !(4..=TAG).contains(&len) {
                return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
            }
            // Without bytes, only the length is set.
            if let Some(tag) = params.octets_if_any(c"tag")? {
                if self.encrypt {
                    return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
                }
                self.tag[..len].copy_from_slice(tag);
                self.tag_set = true;
            }
            self.tag_len = len;
        }
        if let Some(len) = params.uint(c"ivlen")? {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if !(7..=13).contains(&len) {
                return Err(Error::from(Reason::InvalidParameter).about(c"ivlen"));
            }
            if self.iv_len != len {
                self.iv_len = len;
                self.iv_set = false;
            }
        }
        if let Some((aad, said)) = aead::tls_aad(params)? {
            // The length that is authenticated is the text's alone.
            let more = if self.encrypt { EXPLICIT } else { EXPLICIT + self.tag_len };
            let len = said.checked_sub(more).ok_or(Reason::InvalidLength)?;
            self.record = Some(aead::with_len(aad, len));
            self.tls_pad = self.tag_len;
        }
        if let Some(fixed) = params.octets(c"tlsivfixed")? {
            if fixed.len() != FIXED {
                return Err(Error::from(Reason::InvalidParameter).about(c"tlsivfixed"));
            }
            self.iv[..FIXED].copy_from_slice(fixed);
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
