//! Ciphers that take any length: counter modes, ChaCha20, RC4.

use lookaside::{Cipher, CipherSession, Op};

use super::{
    aead,
    list::{CTR, Kind, Spec},
    record::MAX_MAC,
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

const IV: usize = 16;

/// A text.
#[derive(Clone)]
pub struct Stream {
    spec: &'static Spec,
    key: Option<Keyed<CipherSession>>,
    key_len: usize,
    encrypt: bool,
    first_iv: [u8; IV],
    /// The IV where the running state was started, and how many bytes it has come since.
    base: [u8; IV],
    bytes: u64,
    stale: bool,
    /// Whether all pieces flow (see [`SymCipher::flows`]).
    direct: bool,
    /// Of TLS records, whose MAC follows the text.
    tls: bool,
    mac_len: usize,
    mac: [u8; MAX_MAC],
    count: Count,
}

impl Stream {
    /// How many bytes one step of the counter makes.
    fn step(&self) -> u64 {
        match self.spec.kind {
            Kind::Cipher(Cipher::ChaCha20) => 64,
            _ => 16,
        }
    }

    /// The IV as OpenSSL counts it: after the last block begun in counter modes, before it in
    /// ChaCha20.
    fn next_iv(&self) -> [u8; IV] {
        if self.spec.mode == CTR {
            let blocks = self.bytes.div_ceil(self.step());
            return u128::from_be_bytes(self.base).wrapping_add(blocks.into()).to_be_bytes();
        }
        // Its counter has 64 bits there.
        let mut iv = self.base;
        let mut counter = [0; 8];
        counter.copy_from_slice(&iv[..8]);
        let counter = u64::from_le_bytes(counter).wrapping_add(self.bytes / self.step());
        iv[..8].copy_from_slice(&counter.to_le_bytes());
        iv
    }

    /// How much of its last block counter mode has used.
    fn num(&self) -> u64 {
        if self.spec.mode == CTR { self.bytes % self.step() } else { 0 }
    }

    /// Goes to this IV, and so many bytes into its block.
    fn go_to(&mut self, iv: [u8; IV]) {
        self.base = iv;
        self.bytes = 0;
        (self.stale, self.direct) = (true, false);
    }

    #[inline]
    fn crypt(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let len = text.len();
        let op = if self.encrypt { Op::Encrypt } else { Op::Decrypt };
        let key = self.key.as_mut().ok_or(Reason::NotInitialised)?;
        let pieces = text.open(len)?;
        self.count.add(provider, self.spec, len);
        let running = match self.stale {
            true => {
                self.stale = false;
                key.restart(op, &self.base[..self.spec.iv_len])?
            }
            false => key.running()?,
        };
        let run = || match pieces {
            Pieces::Apart(src, dst) => running.update(src, dst),
            Pieces::InPlace(text) => running.update_in_place(text),
        };
        match self.spec.is_deep() {
            true => provider.lanes.with_deep_stack(run)??,
            false => run()?,
        };
        self.bytes += len as u64;
        self.direct = !self.tls && !self.spec.is_deep();
        Ok(len)
    }
}

impl SymCipher for Stream {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::uint(c"padding"),
        Param::uint(c"num"),
        Param::octets(c"iv"),
        Param::octets(c"updated-iv"),
        Param::octets_pointer(c"tls-mac"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::uint(c"padding"),
        Param::uint(c"num"),
        Param::uint(c"use-bits"),
        Param::uint(c"tls-version"),
        Param::size(c"tls-mac-size"),
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::END,
    ];

    fn new(spec: &'static Spec) -> Stream {
        Stream {
            spec,
            key: None,
            key_len: spec.key_len,
            encrypt: true,
            first_iv: [0; IV],
            base: [0; IV],
            bytes: 0,
            stale: true,
            direct: false,
            tls: false,
            mac_len: 0,
            mac: [0; MAX_MAC],
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<Stream> {
        Ok(Stream { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, provider: &Provider, start: Start) -> Result<()> {
        // Without a new IV, the counter goes on with the next block.
        let next = self.next_iv();
        let turned = self.encrypt != start.encrypt;
        (self.encrypt, self.direct) = (start.encrypt, false);
        if self.spec.iv_len > 0 {
            match start.iv {
                Some(iv) if iv.len() != self.spec.iv_len => {
                    return Err(Error::new(Reason::InvalidLength, "IV"));
                }
                Some(iv) => {
                    self.first_iv.copy_from_slice(iv);
                    self.go_to(self.first_iv);
                }
                None if self.spec.mode == CTR => self.go_to(next),
                None => self.stale |= turned && self.bytes == 0,
            }
        }
        if let Some(key) = start.key {
            if key.len() != self.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            if self.key.as_ref().is_none_or(|old| !old.is_for(key)) {
                let Kind::Cipher(cipher) = self.spec.kind else {
                    return Err(Reason::Internal.into());
                };
                let session = provider.prepare(|runtime| runtime.cipher(cipher, key))?;
                self.key = Some(Keyed::new(session, key));
            }
            self.go_to(next);
            if start.iv.is_some() {
                self.go_to(self.first_iv);
            }
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if text.len() == 0 {
            return match self.key {
                Some(_) => Ok(0),
                None => Err(Reason::NotInitialised.into()),
            };
        }
        let len = self.crypt(provider, text)?;
        if self.encrypt || !self.tls || self.mac_len == 0 {
            return Ok(len);
        }
        let payload = len.checked_sub(self.mac_len).ok_or(Reason::InvalidLength)?;
        let (Pieces::Apart(_, text) | Pieces::InPlace(text)) = text.open(len)?;
        self.mac[..self.mac_len].copy_from_slice(&text[payload..len]);
        Ok(payload)
    }

    #[inline(always)]
    fn flows(&self, _: &Provider, _: usize) -> bool {
        self.direct
    }

    #[inline(always)]
    fn flow(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let (Pieces::Apart(_, dst) | Pieces::InPlace(dst)) = &pieces;
        let len = dst.len();
        self.count.add(provider, self.spec, len);
        aead::update(self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?, pieces)?;
        self.bytes += len as u64;
        Ok(())
    }

    fn finish(&mut self, _: &Provider, _: &mut Text) -> Result<usize> {
        if self.key.is_some() { Ok(0) } else { Err(Reason::NotInitialised.into()) }
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if text.len() == 0 { Ok(0) } else { self.crypt(provider, text) }
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", self.spec.iv_len as i64)?;
        answers.int(c"padding", 1)?;
        answers.lent_octets(c"iv", &self.first_iv[..self.spec.iv_len])?;
        answers.octets(c"updated-iv", &self.next_iv()[..self.spec.iv_len])?;
        answers.int(c"num", self.num() as i64)?;
        answers.int(c"keylen", self.key_len as i64)?;
        answers.lent_octets(c"tls-mac", &self.mac[..self.mac_len])
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        self.direct = false;
        if let Some(len) = params.uint(c"tls-mac-size")? {
            self.mac_len = (len as usize).min(MAX_MAC);
        }
        if let Some(version) = params.uint(c"tls-version")? {
            self.tls = version != 0;
        }
        if params.uint(c"num")? == Some(0) && self.num() > 0 {
            // The rest of the block is dropped.
            self.go_to(self.next_iv());
        }
        if params.uint(c"ivlen")?.is_some_and(|len| len != self.spec.iv_len as u64) {
            return Err(Error::from(Reason::InvalidParameter).about(c"ivlen"));
        }
        if let Some(len) = params.uint(c"keylen")? {
            let varies = self.spec.kind == Kind::Cipher(Cipher::Arc4);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len != self.key_len && !(varies && (1..=256).contains(&len)) {
                return Err(Error::from(Reason::InvalidParameter).about(c"keylen"));
            }
            if len != self.key_len {
                self.key_len = len;
                self.key = None;
            }
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
