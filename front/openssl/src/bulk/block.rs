//! Ciphers that take whole blocks: ECB and CBC, with padding, and as TLS records of CBC suites.

use lookaside::{Buf, Cipher, CipherSession, Op, Packet, Span};
use zeroize::{Zeroize, Zeroizing};

use super::{
    list::{CBC, Kind, Spec},
    offload,
    record::{self, MAX_MAC, Version},
    session::Keyed,
};
use crate::{
    dispatch::symcipher::{Pieces, Start, SymCipher, Text},
    error::{Error, Reason, Result},
    ffi::Param,
    library,
    param::{Answers, Params},
    provider::Provider,
    statistics::Count,
};

const MAX_BLOCK: usize = 16;

/// Records of TLS, whose padding and MAC are taken off here.
#[derive(Clone)]
struct Records {
    version: Version,
    mac_len: usize,
    /// The MAC of the last record.
    mac: [u8; MAX_MAC],
    /// What stands for the MAC of a record with bad padding.
    otherwise: [u8; MAX_MAC],
}

/// A text.
pub struct Block {
    spec: &'static Spec,
    key: Option<Keyed<CipherSession>>,
    encrypt: bool,
    pad: bool,
    /// The IV of the text, and the one for its next block.
    first_iv: [u8; MAX_BLOCK],
    iv: [u8; MAX_BLOCK],
    iv_set: bool,
    /// The running state does not stand at `iv`.
    stale: bool,
    /// What came and is not processed: up to a block.
    buffer: [u8; MAX_BLOCK],
    held: usize,
    mac_len: usize,
    records: Option<Box<Records>>,
    /// The longest piece that flows (see [`SymCipher::flows`]); 0: none does.
    most: usize,
    count: Count,
}

impl Block {
    fn op(&self) -> Op {
        if self.encrypt { Op::Encrypt } else { Op::Decrypt }
    }

    /// The IV for sessions.
    fn next_iv(&self) -> &[u8] {
        &self.iv[..self.spec.iv_len]
    }

    /// The smallest piece that pauses.
    fn least(&self) -> usize {
        match self.spec.kind {
            Kind::Cipher(Cipher::Sm4Cbc) => offload::LEAST_SM4,
            Kind::Cipher(Cipher::AesCbc) => offload::LEAST,
            _ => offload::LEAST_DES,
        }
    }

    fn chains(&self) -> bool {
        self.spec.mode == CBC
    }

    /// Whole blocks. `run` gets the state that stands at the right place.
    #[inline]
    fn crypt(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let len = match &pieces {
            Pieces::Apart(src, _) => src.len(),
            Pieces::InPlace(text) => text.len(),
        };
        if len == 0 {
            return Ok(());
        }
        self.count.add(provider, self.spec, len);
        if self.encrypt
            && self.chains()
            && offload::pays(provider, Op::Encrypt, len, self.least())
            // Last: to find out, the key is prepared for lanes.
            && self.key.as_ref().is_some_and(|Keyed { session, .. }| {
                let elsewhere = session.has_other_device();
                offload::gains(provider, elsewhere || session.side_by_side())
            })
        {
            let Some(rest) = self.crypt_aside(provider, pieces)? else { return Ok(()) };
            return self.crypt_here(provider, rest);
        }
        self.crypt_here(provider, pieces)
    }

    /// At once.
    #[inline]
    fn crypt_here(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let len = match &pieces {
            Pieces::Apart(src, _) => src.len(),
            Pieces::InPlace(text) => text.len(),
        };
        let block = self.spec.block_len;
        let op = self.op();
        let chains = self.chains();
        let key = self.key.as_mut().ok_or(Reason::NotInitialised)?;
        let running = match self.stale {
            true => {
                self.stale = false;
                key.restart(op, &self.iv[..self.spec.iv_len])?
            }
            false => key.running()?,
        };
        let source = match &pieces {
            Pieces::Apart(src, _) => src,
            Pieces::InPlace(text) => &**text,
        };
        let mut last = if chains && !self.encrypt { last_block(source, block) } else { self.iv };
        let run = || match pieces {
            Pieces::Apart(src, dst) => running.update(src, dst).map(|_| dst),
            Pieces::InPlace(text) => running.update_in_place(text).map(|_| text),
        };
        let dst = match self.spec.is_deep() {
            true => provider.lanes.with_deep_stack(run)??,
            false => run()?,
        };
        if chains && self.encrypt {
            last = last_block(&dst[..len], block);
        }
        self.iv = last;
        Ok(())
    }

    /// Finds out which pieces flow, after one that went another way: nothing is held back, the state
    /// stands at the right place, and no piece is one that may pause its job.
    fn clear(&mut self, provider: &Provider) {
        // The last block of what is decrypted may be padding, which is held back.
        let direct = !self.stale && self.held == 0 && (self.encrypt || !self.pad);
        self.most = if !direct || self.records.is_some() || self.spec.is_deep() {
            0
        } else if self.encrypt {
            provider.settings.async_bytes.unwrap_or(self.least()).saturating_sub(1)
        } else {
            usize::MAX
        };
    }

    /// While the job pauses. Returns what is to be done at once instead.
    fn crypt_aside<'a>(
        &mut self,
        provider: &Provider,
        mut pieces: Pieces<'a>,
    ) -> Result<Option<Pieces<'a>>> {
        let block = self.spec.block_len;
        let src = match &pieces {
            Pieces::Apart(src, _) => src,
            Pieces::InPlace(text) => &**text,
        };
        let len = src.len();
        let mut memory = offload::memory(len);
        memory.copy_from_slice(src);
        let iv = lookaside::Iv::new(self.next_iv()).unwrap_or_default();
        let packet = Packet { iv, cipher: Span::new(0, len as u32), ..Packet::default() };
        let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
        let request = key.session.encrypt(packet, Buf::empty(), Buf::from(memory));
        let (Pieces::Apart(_, dst) | Pieces::InPlace(dst)) = &mut pieces;
        let alone = key.session.has_other_device();
        let fewest = if alone { 1 } else { offload::FEWEST_CBC };
        let done = offload::run(provider, request, fewest, |memory| {
            dst[..len].copy_from_slice(memory);
        })?;
        if !done {
            return Ok(Some(pieces));
        }
        self.count.pause();
        self.iv = last_block(&dst[..len], block);
        (self.stale, self.most) = (true, 0);
        Ok(None)
    }

    /// One block of the buffer.
    fn crypt_buffer(&mut self, provider: &Provider) -> Result<Zeroizing<[u8; MAX_BLOCK]>> {
        let mut buffer = Zeroizing::new(self.buffer);
        self.crypt(provider, Pieces::InPlace(&mut buffer[..self.spec.block_len]))?;
        Ok(buffer)
    }

    #[inline]
    fn hold(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.buffer[self.held..self.held + bytes.len()].copy_from_slice(bytes);
        self.held += bytes.len();
    }

    /// A TLS record, in place.
    fn record(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let block = self.spec.block_len;
        let len = text.len();
        let bad = || Error::new(Reason::BadInput, "a TLS record works in place, with padding");
        if !text.is_in_place() || !text.has_source() || !self.pad {
            return Err(bad());
        }
        if self.encrypt {
            let padding = block - len % block;
            let Pieces::InPlace(text) = text.open(len + padding)? else { return Err(bad()) };
            let all = text.len();
            text[len..].fill(match &self.records {
                Some(records) if records.version.is_ssl3() => 0,
                _ => padding as u8 - 1,
            });
            text[all - 1] = padding as u8 - 1;
            self.crypt(provider, Pieces::InPlace(text))?;
            return Ok(all);
        }
        if !len.is_multiple_of(block) {
            return Err(Reason::InvalidLength.into());
        }
        let Pieces::InPlace(text) = text.open(len)? else { return Err(bad()) };
        self.crypt(provider, Pieces::InPlace(text))?;
        let records = self.records.as_mut().ok_or(Reason::Internal)?;
        let skip = if records.version.explicit_iv { block } else { 0 };
        let invalid = || Error::new(Reason::BadInput, "TLS record");
        let text = text.get(skip..).ok_or_else(invalid)?;
        let mac = &mut records.mac[..records.mac_len];
        record::open(records.version, text, block, mac, &records.otherwise).ok_or_else(invalid)
    }

    fn settle_padding(&self, buffer: &[u8]) -> Result<usize> {
        let block = self.spec.block_len;
        // Whoever decrypts unauthenticated text learns the padding from the answer itself.
        let padding = usize::from(buffer[block - 1]);
        let good = (1..=block).contains(&padding)
            && buffer[block - padding..block].iter().all(|&b| usize::from(b) == padding);
        if good { Ok(block - padding) } else { Err(Error::new(Reason::BadInput, "bad decrypt")) }
    }
}

/// The last block of a text of whole blocks, of 8 or 16 bytes.
#[inline]
fn last_block(text: &[u8], block: usize) -> [u8; MAX_BLOCK] {
    if block == MAX_BLOCK {
        return text.last_chunk().copied().unwrap_or_default();
    }
    let mut last = [0; MAX_BLOCK];
    if let Some(short) = text.last_chunk::<8>() {
        last[..8].copy_from_slice(short);
    }
    last
}

impl Drop for Block {
    fn drop(&mut self) {
        self.buffer.zeroize();
    }
}

impl SymCipher for Block {
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
        Param::END,
    ];

    fn new(spec: &'static Spec) -> Block {
        Block {
            spec,
            key: None,
            encrypt: true,
            pad: true,
            first_iv: [0; MAX_BLOCK],
            iv: [0; MAX_BLOCK],
            iv_set: false,
            stale: true,
            buffer: [0; MAX_BLOCK],
            held: 0,
            mac_len: 0,
            records: None,
            most: 0,
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<Block> {
        let key = self.key.clone();
        let records = self.records.clone();
        Ok(Block { key, records, count: Count::default(), ..*self })
    }

    fn start(&mut self, provider: &Provider, start: Start) -> Result<()> {
        (self.held, self.most) = (0, 0);
        self.encrypt = start.encrypt;
        self.stale = true;
        if self.spec.iv_len > 0 {
            if let Some(iv) = start.iv {
                if iv.len() != self.spec.iv_len {
                    return Err(Error::new(Reason::InvalidLength, "IV"));
                }
                self.first_iv[..iv.len()].copy_from_slice(iv);
                self.iv_set = true;
            }
            if self.iv_set {
                self.iv = self.first_iv;
            }
        }
        if let Some(key) = start.key {
            if key.len() != self.spec.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            if self.key.as_ref().is_some_and(|old| old.is_for(key)) {
                return Ok(());
            }
            let Kind::Cipher(cipher) = self.spec.kind else { return Err(Reason::Internal.into()) };
            let session = provider.prepare(|runtime| runtime.cipher(cipher, key))?;
            self.key = Some(Keyed::new(session, key));
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        if self.records.is_some() {
            return self.record(provider, text);
        }
        let (block, held, len) = (self.spec.block_len, self.held, text.len());
        if len == 0 {
            return Ok(0);
        }
        // The last block of what is decrypted may be padding: it waits for the end.
        let waits = usize::from(!self.encrypt && self.pad);
        let write = (held + len - waits) & !(block - 1);
        if held == 0 {
            match text.open(write)? {
                Pieces::Apart(src, dst) => {
                    let (now, later) = src.split_at(write);
                    self.hold(later);
                    self.crypt(provider, Pieces::Apart(now, dst))?;
                }
                Pieces::InPlace(text) => {
                    let (now, later) = text.split_at_mut(write);
                    self.hold(later);
                    self.crypt(provider, Pieces::InPlace(now))?;
                }
            }
            self.clear(provider);
            return Ok(write);
        }
        let (src, dst) = text.apart(write)?;
        if write == 0 {
            self.hold(src);
            return Ok(0);
        }
        let (first, rest) = src.split_at(block - held);
        self.hold(first);
        let buffer = self.crypt_buffer(provider)?;
        let (start, dst) = dst.split_at_mut(block);
        start.copy_from_slice(&buffer[..block]);
        self.held = 0;
        let (now, later) = rest.split_at(write - block);
        self.hold(later);
        self.crypt(provider, Pieces::Apart(now, dst))?;
        self.clear(provider);
        Ok(write)
    }

    #[inline(always)]
    fn flows(&self, _: &Provider, len: usize) -> bool {
        len <= self.most && len & (self.spec.block_len - 1) == 0
    }

    #[inline(always)]
    fn flow(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let (block, chains) = (self.spec.block_len, self.chains());
        let src = match &pieces {
            Pieces::Apart(src, _) => src,
            Pieces::InPlace(text) => &**text,
        };
        self.count.add(provider, self.spec, src.len());
        let running = self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?;
        if !chains {
            return super::aead::update(running, pieces);
        }
        if !self.encrypt {
            let last = last_block(src, block);
            super::aead::update(running, pieces)?;
            self.iv = last;
            return Ok(());
        }
        match pieces {
            Pieces::InPlace(text) => {
                running.update_in_place(text)?;
                self.iv = last_block(text, block);
            }
            Pieces::Apart(src, dst) => {
                running.update(src, dst)?;
                self.iv = last_block(dst, block);
            }
        }
        Ok(())
    }

    fn finish(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        if self.records.is_some() {
            return Err(Error::new(Reason::BadInput, "TLS records end with each call"));
        }
        self.most = 0;
        let block = self.spec.block_len;
        if self.encrypt && self.pad {
            let padding = block - self.held;
            self.buffer[self.held..block].fill(padding as u8);
        } else if self.held == 0 && !self.pad {
            return Ok(0);
        } else if self.held != block {
            return Err(Error::new(Reason::InvalidLength, "wrong final block length"));
        }
        if self.encrypt {
            // Checked before the text goes on.
            text.apart(block)?;
        }
        let buffer = self.crypt_buffer(provider)?;
        let write = match !self.encrypt && self.pad {
            true => self.settle_padding(&*buffer)?,
            false => block,
        };
        let (_, dst) = text.apart(write)?;
        dst.copy_from_slice(&buffer[..write]);
        self.held = 0;
        Ok(write)
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let len = text.len();
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        if !len.is_multiple_of(self.spec.block_len) {
            return Err(Reason::InvalidLength.into());
        }
        let pieces = text.open(len)?;
        self.crypt(provider, pieces)?;
        Ok(len)
    }

    fn answer(&mut self, provider: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", self.spec.iv_len as i64)?;
        answers.int(c"padding", i64::from(self.pad))?;
        answers.lent_octets(c"iv", &self.first_iv[..self.spec.iv_len])?;
        answers.lent_octets(c"updated-iv", &self.iv[..self.spec.iv_len])?;
        answers.int(c"num", 0)?;
        answers.int(c"keylen", self.spec.key_len as i64)?;
        if let Some(records) = &self.records {
            answers.lent_octets(c"tls-mac", &records.mac[..records.mac_len])?;
        }
        if self.spec.flags.random_key && answers.wants(c"randkey") {
            let mut key = Zeroizing::new(vec![0; self.spec.key_len]);
            library::random(provider, &mut key)?;
            // DES keys have odd parity (FIPS 46-3).
            key.iter_mut().for_each(|b| *b ^= u8::from(b.count_ones() % 2 == 0));
            answers.new_key(c"randkey", &key)?;
        }
        Ok(())
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        self.most = 0;
        if let Some(pad) = params.uint(c"padding")? {
            self.pad = pad != 0;
        }
        if let Some(len) = params.uint(c"tls-mac-size")? {
            self.mac_len = len as usize;
            if let Some(records) = &mut self.records {
                records.mac_len = self.mac_len.min(MAX_MAC);
            }
        }
        if let Some(number) = params.uint(c"tls-version")? {
            self.records = match number {
                0 => None,
                number => {
                    let wrong = || Error::from(Reason::InvalidParameter).about(c"tls-version");
                    let version = Version::new(number).ok_or_else(wrong)?;
                    let mut otherwise = [0; MAX_MAC];
                    library::random(provider, &mut otherwise)?;
                    let mac_len = self.mac_len.min(MAX_MAC);
                    Some(Box::new(Records { version, mac_len, mac: [0; MAX_MAC], otherwise }))
                }
            };
        }
        if params.uint(c"num")?.is_some_and(|num| num >= self.spec.block_len as u64) {
            return Err(Error::from(Reason::InvalidParameter).about(c"num"));
        }
        if params.uint(c"keylen")?.is_some_and(|len| len != self.spec.key_len as u64) {
            return Err(Error::from(Reason::InvalidParameter).about(c"keylen"));
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
