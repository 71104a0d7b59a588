//! ChaCha20-Poly1305 (RFC 8439), also as records of TLS 1.2 (RFC 7905).

use lookaside::{AeadSession, Op};
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

const NONCE: usize = 12;

/// A text.
#[derive(Clone)]
pub struct ChaCha20Poly1305 {
    spec: &'static Spec,
    key: Option<Keyed<AeadSession>>,
    encrypt: bool,
    /// As given, and as the sequence number of a TLS record makes it.
    iv: [u8; NONCE],
    nonce: [u8; NONCE],
    /// Whether a text runs.
    runs: bool,
    tag: [u8; TAG],
    tag_len: usize,
    /// What the next call, a TLS record, is authenticated with, and its text's length.
    record: Option<([u8; TLS_AAD], usize)>,
    tls_pad: usize,
    count: Count,
}

impl ChaCha20Poly1305 {
    /// The running state, with a text.
    #[inline]
    fn ready(&mut self) -> Result<&mut dyn lookaside::Running> {
        let key = self.key.as_mut().ok_or(Reason::NotInitialised)?;
        if self.runs {
            return key.running();
        }
        self.runs = true;
        key.restart(if self.encrypt { Op::Seal } else { Op::Open }, &self.nonce)
    }

    fn forget(&mut self) {
        self.runs = false;
        self.record = None;
    }

    /// A TLS record: the text and its tag.
    fn tls(&mut self, text: &mut Text, aad: [u8; TLS_AAD], payload: usize) -> Result<usize> {
        let (len, encrypt) = (text.len(), self.encrypt);
        if len != payload + TAG {
            return Err(Error::new(Reason::InvalidLength, "TLS record"));
        }
        self.runs = false;
        let mut tag = [0; TAG];
        if !encrypt {
            tag.copy_from_slice(&text.source()[payload..]);
        }
        let pieces = text.open(if encrypt { len } else { payload })?;
        let running = self.ready()?;
        running.aad(&aad)?;
        let text = match pieces {
            Pieces::Apart(src, dst) => {
                running.update(&src[..payload], &mut dst[..payload])?;
                dst
            }
            Pieces::InPlace(text) => {
                running.update_in_place(&mut text[..payload])?;
                text
            }
        };
        let done = match encrypt {
            true => running.finish(&mut tag).map(|_| text[payload..].copy_from_slice(&tag)),
            false => running.verify_prefix(&tag).inspect_err(|_| text[..payload].zeroize()),
        };
        self.runs = false;
        done?;
        if encrypt {
            self.tag = tag;
        }
        Ok(if encrypt { len } else { payload })
    }

    #[inline]
    fn any(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let len = text.len();
        if len == 0 {
            return Ok(0);
        }
        if text.has_destination()
            && let Some((aad, payload)) = self.record.take()
        {
            self.count.add(provider, self.spec, payload);
            return self.tls(text, aad, payload);
        }
        let running = self.ready()?;
        if text.has_destination() {
            aead::update(running, text.open(len)?)?;
            self.count.add(provider, self.spec, len);
        } else {
            running.aad(text.source())?;
        }
        Ok(len)
    }
}

impl SymCipher for ChaCha20Poly1305 {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::size(c"taglen"),
        Param::octets(c"tag"),
        Param::size(c"tlsaadpad"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::octets(c"tag"),
        Param::octets(c"tlsaad"),
        Param::octets(c"tlsivfixed"),
        Param::END,
    ];

    fn new(spec: &'static Spec) -> ChaCha20Poly1305 {
        ChaCha20Poly1305 {
            spec,
            key: None,
            encrypt: true,
            iv: [0; NONCE],
            nonce: [0; NONCE],
            runs: false,
            tag: [0; TAG],
            tag_len: 0,
            record: None,
            tls_pad: 0,
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<ChaCha20Poly1305> {
        Ok(ChaCha20Poly1305 { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, provider: &Provider, start: Start) -> Result<()> {
        if self.encrypt != start.encrypt {
            self.encrypt = start.encrypt;
            self.runs = false;
        }
        if let Some(iv) = start.iv {
            let iv = iv.try_into().map_err(|_| Error::new(Reason::InvalidLength, "IV"))?;
            (self.iv, self.nonce) = (iv, iv);
            self.forget();
        }
        if let Some(key) = start.key {
            if key.len() != self.spec.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            if self.key.as_ref().is_none_or(|old| !old.is_for(key)) {
                let Kind::Aead(aead) = self.spec.kind else { return Err(Reason::Internal.into()) };
                let session = provider.prepare(|runtime| runtime.aead(aead, key, TAG))?;
                self.key = Some(Keyed::new(session, key));
            }
            self.forget();
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    #[inline(always)]
    fn flows(&self, _: &Provider, _: usize) -> bool {
        self.runs && self.record.is_none()
    }

    #[inline(always)]
    fn flow(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let (Pieces::Apart(_, dst) | Pieces::InPlace(dst)) = &pieces;
        self.count.add(provider, self.spec, dst.len());
        aead::update(self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?, pieces)
    }

    fn finish(&mut self, _: &Provider, _: &mut Text) -> Result<usize> {
        let (encrypt, given, len) = (self.encrypt, self.tag, self.tag_len);
        let mut tag = [0; TAG];
        let running = self.ready()?;
        let done = match encrypt {
            true => running.finish(&mut tag).map(drop).map_err(Error::from),
            // OpenSSL compares as much as it was given, were it nothing.
            false if len == 0 => Ok(()),
            false => running.verify_prefix(&given[..len]).map_err(Error::from),
        };
        self.runs = false;
        done?;
        if encrypt {
            self.tag = tag;
        }
        Ok(0)
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", NONCE as i64)?;
        answers.int(c"keylen", self.spec.key_len as i64)?;
        answers.int(c"taglen", self.tag_len as i64)?;
        answers.int(c"tlsaadpad", self.tls_pad as i64)?;
        if answers.wants(c"tag") {
            if !self.encrypt {
                return Err(Error::new(Reason::MissingParameter, "tag"));
            }
            aead::answer_tag(answers, &self.tag)?;
        }
        Ok(())
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        for (key, right) in [(c"keylen", self.spec.key_len), (c"ivlen", NONCE)] {
            if params.uint(key)?.is_some_and(|len| len != right as u64) {
                return Err(Error::from(Reason::InvalidParameter).about(key));
            }
        }
        if let Some(len) = params.size(c"tag") {
            if !(1..=TAG).contains(&len) {
                return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
            }
            if let Some(tag) = params.octets_if_any(c"tag")? {
                if self.encrypt {
                    return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
                }
                self.tag[..len].copy_from_slice(tag);
            }
            self.tag_len = len;
        }
        if let Some((aad, said)) = aead::tls_aad(params)? {
            let more = if self.encrypt { 0 } else { TAG };
            let len = said.checked_sub(more).ok_or(Reason::InvalidLength)?;
            self.record = Some((aead::with_len(aad, len), len));
            self.tls_pad = TAG;
            // RFC 7905 section 2: the nonce is the IV with the sequence number added.
            self.nonce = self.iv;
            self.nonce[4..].iter_mut().zip(aad).for_each(|(byte, number)| *byte ^= number);
            self.runs = false;
        }
        if let Some(fixed) = params.octets(c"tlsivfixed")? {
            let wrong = |_| Error::from(Reason::InvalidParameter).about(c"tlsivfixed");
            self.iv = fixed.try_into().map_err(wrong)?;
            self.nonce = self.iv;
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
