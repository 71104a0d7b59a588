//! AES-CBC with HMAC in one: TLS records of CBC suites (RFC 5246 section 6.2.3.2), MAC first.
//!
//! As OpenSSL has it, the text of a record of TLS 1.1 and later begins with a block of random bytes,
//! which goes through the cipher as well: what comes out is the explicit IV. The MAC is over the
//! rest. Whole records, 13 bytes of associated data before each, are sealed and opened in place.
//!
//! Without associated data, as `openssl speed -evp` runs it, text is encrypted and hashed, and no MAC
//! comes out; what is decrypted so is decrypted alone.

use lookaside::{
    Auth, Buf, ChainOrder, ChainSession, Cipher, CipherSession, Hash, Iv, Op, Packet, Request,
    Secret, Span, TlsCbcSession,
};
use zeroize::Zeroizing;

use super::{
    aead::{self, TLS_AAD},
    list::{Kind, Spec},
    multiblock::Multiblock,
    offload,
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

/// The block of AES.
pub const BLOCK: usize = 16;
/// As libssl and OpenSSL's tests number it: versions from here on have explicit IVs.
const TLS_1_1: u16 = 0x0302;
/// The keys, in the sessions that were needed so far.
#[derive(Clone, Default)]
struct Sessions {
    records: Option<TlsCbcSession>,
    /// HMAC, then encryption: side by side, or text without associated data.
    chain: Option<Keyed<ChainSession>>,
    cbc: Option<Keyed<CipherSession>>,
}

/// A text.
#[derive(Clone)]
pub struct CbcHmac {
    spec: &'static Spec,
    hash: Hash,
    key: Option<Secret>,
    mac_key: Secret,
    sessions: Sessions,
    encrypt: bool,
    first_iv: [u8; BLOCK],
    iv: [u8; BLOCK],
    iv_set: bool,
    /// Whether the chain's running state has the text without associated data, up to here.
    flows: bool,
    /// What the next call, a record, is authenticated with; sealing, the length of its text.
    record: Option<([u8; TLS_AAD], usize)>,
    tls_pad: usize,
    /// Whether libssl has told its version: it wants payloads alone.
    tls: bool,
    multiblock: Multiblock,
    count: Count,
}

impl CbcHmac {
    /// The MAC's length.
    pub fn mac_len(&self) -> usize {
        match self.hash {
            Hash::Sha1 => 20,
            _ => 32,
        }
    }

    /// How long a record's payload is with MAC and padding.
    pub fn sealed_len(&self, payload: usize) -> usize {
        (payload + self.mac_len() + BLOCK) & !(BLOCK - 1)
    }

    /// The session for records, one at a time.
    fn records(&mut self, provider: &Provider) -> Result<&TlsCbcSession> {
        if self.sessions.records.is_none() {
            let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
            let session = provider.prepare(|r| r.tls_cbc(key, self.hash, &self.mac_key))?;
            self.sessions.records = Some(session);
        }
        self.sessions.records.as_ref().ok_or_else(|| Reason::Internal.into())
    }

    /// The session for records side by side: HMAC of header and payload, and the encryption of the
    /// payload's whole blocks. What is behind them is encrypted when the MAC is known.
    pub fn chain_session(&mut self, provider: &Provider) -> Result<&ChainSession> {
        if self.sessions.chain.is_none() {
            let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
            let auth = (Auth::Hmac(self.hash), &*self.mac_key);
            let (len, order) = (self.mac_len(), ChainOrder::AuthThenCipher);
            let session = provider.prepare(|r| r.chain((Cipher::AesCbc, key), auth, len, order))?;
            self.sessions.chain = Some(Keyed::new(session, key));
        }
        let chain = self.sessions.chain.as_ref().ok_or(Reason::Internal)?;
        Ok(&chain.session)
    }

    /// The packet of such a request: the record's payload lies at `place`, its header before it.
    pub fn chain_packet(iv: &[u8; BLOCK], place: usize, header: usize, payload: usize) -> Packet {
        Packet {
            iv: Iv::from(*iv),
            cipher: Span::new(place as u32, (payload & !(BLOCK - 1)) as u32),
            auth: Span::new((place - header) as u32, (header + payload) as u32),
            tag: (place + payload) as u32,
            ..Packet::default()
        }
    }

    /// The end of such a record: `record` is payload and MAC, with room for the padding; all whole
    /// blocks of the payload are encrypted.
    pub fn seal_end(
        &mut self,
        provider: &Provider,
        record: &mut [u8],
        iv: &[u8; BLOCK],
        payload: usize,
    ) -> Result<()> {
        let padding = record.len() - payload - self.mac_len();
        record[payload + self.mac_len()..].fill((padding - 1) as u8);
        let (sealed, end) = record.split_at_mut(payload & !(BLOCK - 1));
        self.stand(*sealed.last_chunk().unwrap_or(iv));
        self.cbc(provider, Op::Encrypt)?.update_in_place(end)?;
        self.chain(end);
        Ok(())
    }

    /// AES-CBC alone.
    fn cbc(&mut self, provider: &Provider, op: Op) -> Result<&mut dyn lookaside::Running> {
        if self.sessions.cbc.is_none() {
            let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
            let session = provider.prepare(|r| r.cipher(Cipher::AesCbc, key))?;
            self.sessions.cbc = Some(Keyed::new(session, key));
        }
        let cbc = self.sessions.cbc.as_mut().ok_or(Reason::Internal)?;
        cbc.restart(op, &self.iv)
    }

    /// Sets the next text's IV, which is not where the chain's running state stands.
    fn stand(&mut self, iv: [u8; BLOCK]) {
        (self.iv, self.flows) = (iv, false);
    }

    /// Keeps the last block as the next text's IV.
    fn chain(&mut self, ciphertext: &[u8]) {
        if let Some(last) = ciphertext.last_chunk() {
            self.stand(*last);
        }
    }

    /// Text without associated data, for the running state.
    #[inline(always)]
    fn go_on(&mut self, text: &mut [u8]) -> Result<()> {
        let chain = self.sessions.chain.as_mut().ok_or(Reason::Internal)?;
        let done = chain.running()?.update_in_place(text);
        self.flows = done.is_ok();
        done?;
        if let Some(last) = text.last_chunk() {
            self.iv = *last;
        }
        Ok(())
    }

    /// Whether a text of this length is to pause its job.
    fn pays(&mut self, provider: &Provider, len: usize) -> Result<bool> {
        if !self.encrypt || !offload::pays(provider, Op::Seal, len, offload::LEAST_RECORD) {
            return Ok(false);
        }
        let session = self.chain_session(provider)?;
        let gains = session.has_other_device() || session.side_by_side();
        Ok(offload::gains(provider, gains))
    }

    /// Executes such a request while the job pauses, on a copy. `false`: it is to run at once.
    fn aside(
        &mut self,
        provider: &Provider,
        packet: Packet,
        memory: Vec<u8>,
        take: impl FnOnce(&[u8]),
    ) -> Result<bool> {
        // The lanes take so many times as long as one text does alone, in which hash and cipher run
        // stitched: measured with 16 KB, AVX-512.
        let fewest = if self.hash == Hash::Sha1 { 5 } else { 12 };
        let session = self.chain_session(provider)?;
        let fewest = if session.has_other_device() { 1 } else { fewest };
        let request: Request = session.seal(packet, Buf::empty(), Buf::from(memory));
        let done = offload::run(provider, request, fewest, take)?;
        if done {
            self.count.pause();
        }
        Ok(done)
    }

    /// Seals or opens a record in place: a block that is free for the associated data, then the
    /// payload with room behind it, or the ciphertext. Returns the length of what comes out.
    pub fn run(
        &mut self,
        provider: &Provider,
        record: &mut [u8],
        (iv, aad): (&[u8; BLOCK], &[u8; TLS_AAD]),
        len: usize,
    ) -> Result<usize> {
        self.count.add(provider, self.spec, len);
        if self.pays(provider, len)? {
            let sealed = self.sealed_len(len);
            let mut memory = offload::memory(BLOCK + sealed);
            let header = BLOCK - TLS_AAD;
            memory[header..BLOCK].copy_from_slice(&aead::with_len(*aad, len));
            memory[BLOCK..BLOCK + len].copy_from_slice(&record[BLOCK..BLOCK + len]);
            let packet = CbcHmac::chain_packet(iv, BLOCK, TLS_AAD, len);
            let record = &mut record[BLOCK..BLOCK + sealed];
            let take = |memory: &[u8]| record.copy_from_slice(&memory[BLOCK..]);
            if self.aside(provider, packet, memory, take)? {
                self.seal_end(provider, record, iv, len)?;
                return Ok(sealed);
            }
        }
        self.at_once(provider, record, (iv, aad), len)
    }

    /// The same at once.
    fn at_once(
        &mut self,
        provider: &Provider,
        record: &mut [u8],
        (iv, aad): (&[u8; BLOCK], &[u8; TLS_AAD]),
        len: usize,
    ) -> Result<usize> {
        let op = if self.encrypt { Op::Seal } else { Op::Open };
        let mut packet = Packet {
            iv: Iv::from(*iv),
            aad: Span::new(0, TLS_AAD as u32),
            cipher: Span::new(BLOCK as u32, len as u32),
            ..Packet::default()
        };
        let kept: [u8; TLS_AAD] = *record.first_chunk().ok_or(Reason::InvalidLength)?;
        record[..TLS_AAD].copy_from_slice(aad);
        let done = self.records(provider)?.at_once(op, &mut packet, None, record);
        record[..TLS_AAD].copy_from_slice(&kept);
        done?;
        Ok(packet.result? as usize)
    }

    /// Seals a record of which the text (`len` bytes, with the block that becomes the IV) is there.
    fn seal(
        &mut self,
        provider: &Provider,
        record: &mut [u8],
        aad: &[u8; TLS_AAD],
        len: usize,
    ) -> Result<()> {
        if u16::from_be_bytes([aad[9], aad[10]]) < TLS_1_1 {
            // The IV is the last block of the record before: none of it is sent.
            let mut whole = Zeroizing::new(vec![0; BLOCK + record.len()]);
            whole[BLOCK..].copy_from_slice(record);
            let iv = self.iv;
            self.run(provider, &mut whole, (&iv, aad), len)?;
            record.copy_from_slice(&whole[BLOCK..]);
        } else {
            let first = record.get_mut(..BLOCK).ok_or(Reason::InvalidLength)?;
            self.cbc(provider, Op::Encrypt)?.update_in_place(first)?;
            let iv = *record.first_chunk().ok_or(Reason::Internal)?;
            self.run(provider, record, (&iv, aad), len - BLOCK)?;
        }
        self.chain(record);
        Ok(())
    }

    /// Opens a record: the length that goes to the caller.
    fn open(
        &mut self,
        provider: &Provider,
        record: &mut [u8],
        aad: &[u8; TLS_AAD],
    ) -> Result<usize> {
        let explicit = u16::from_be_bytes([aad[9], aad[10]]) >= TLS_1_1;
        let before = if explicit { BLOCK } else { 0 };
        if record.len() < before + self.mac_len() + 1 {
            return Err(Error::new(Reason::InvalidLength, "TLS record"));
        }
        let last = *record.last_chunk().ok_or(Reason::InvalidLength)?;
        let payload = if explicit {
            let iv = *record.first_chunk().ok_or(Reason::Internal)?;
            if self.hash == Hash::Sha256 {
                // OpenSSL decrypts this block with SHA-256, and leaves it as it is with SHA-1.
                self.cbc(provider, Op::Decrypt)?.update_in_place(&mut record[..BLOCK])?;
            }
            // The next record goes on from here even if this one is wrong.
            self.stand(last);
            let len = record.len() - BLOCK;
            self.run(provider, record, (&iv, aad), len)?
        } else {
            let mut whole = Zeroizing::new(vec![0; BLOCK + record.len()]);
            whole[BLOCK..].copy_from_slice(record);
            let iv = self.iv;
            self.stand(last);
            let payload = self.run(provider, &mut whole, (&iv, aad), record.len())?;
            record.copy_from_slice(&whole[BLOCK..]);
            payload
        };
        if self.tls {
            return Ok(payload);
        }
        // Others find the payload by its padding, as it was.
        let padding = record.len() - before - payload - self.mac_len();
        let start = record.len() - padding;
        record[start..].fill((padding - 1) as u8);
        Ok(record.len())
    }

    /// Without associated data.
    fn plain(&mut self, provider: &Provider, text: &mut [u8]) -> Result<()> {
        let len = text.len();
        if !self.encrypt {
            let last = *text.last_chunk().ok_or(Reason::InvalidLength)?;
            self.count.add(provider, self.spec, len);
            self.cbc(provider, Op::Decrypt)?.update_in_place(text)?;
            self.stand(last);
            return Ok(());
        }
        self.count.add(provider, self.spec, len);
        if self.pays(provider, len)? {
            let mut memory = offload::memory(len + self.mac_len());
            memory[..len].copy_from_slice(text);
            let packet = CbcHmac::chain_packet(&self.iv, 0, 0, len);
            let take = |memory: &[u8]| text.copy_from_slice(&memory[..len]);
            if self.aside(provider, packet, memory, take)? {
                self.chain(text);
                return Ok(());
            }
        }
        if !self.flows {
            self.chain_session(provider)?;
            let chain = self.sessions.chain.as_mut().ok_or(Reason::Internal)?;
            chain.restart(Op::Seal, &self.iv)?;
        }
        self.go_on(text)
    }

    fn any(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let len = text.len();
        let record = self.record.take();
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        if len == 0 {
            return Ok(0);
        }
        if !len.is_multiple_of(BLOCK) {
            return Err(Reason::InvalidLength.into());
        }
        let text = match text.open(len)? {
            Pieces::InPlace(text) => text,
            Pieces::Apart(src, dst) => {
                dst.copy_from_slice(src);
                dst
            }
        };
        match record {
            None => self.plain(provider, text).map(|()| len),
            Some((aad, _)) if !self.encrypt => self.open(provider, text, &aad),
            Some((_, payload)) if len != self.sealed_len(payload) => {
                Err(Reason::InvalidLength.into())
            }
            Some((aad, payload)) => self.seal(provider, text, &aad, payload).map(|()| len),
        }
    }
}

impl SymCipher for CbcHmac {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"tls1multi_maxbufsz"),
        Param::uint(c"tls1multi_interleave"),
        Param::uint(c"tls1multi_aadpacklen"),
        Param::size(c"tls1multi_enclen"),
        Param::size(c"tlsaadpad"),
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::octets(c"iv"),
        Param::octets(c"updated-iv"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::octets(c"mackey"),
        Param::octets(c"tlsaad"),
        Param::size(c"tls1multi_maxsndfrag"),
        Param::size(c"tls1multi_aad"),
        Param::uint(c"tls1multi_interleave"),
        Param::octets(c"tls1multi_enc"),
        Param::octets(c"tls1multi_encin"),
        Param::size(c"keylen"),
        Param::END,
    ];

    fn new(spec: &'static Spec) -> CbcHmac {
        let hash = match spec.kind {
            Kind::TlsCbc(hash) => hash,
            _ => Hash::Sha1,
        };
        CbcHmac {
            spec,
            hash,
            key: None,
            mac_key: Secret::new(&[]),
            sessions: Sessions::default(),
            encrypt: true,
            first_iv: [0; BLOCK],
            iv: [0; BLOCK],
            iv_set: false,
            flows: false,
            record: None,
            tls_pad: 0,
            tls: false,
            multiblock: Multiblock::default(),
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<CbcHmac> {
        Ok(CbcHmac { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, _: &Provider, start: Start) -> Result<()> {
        self.encrypt = start.encrypt;
        if let Some(iv) = start.iv {
            self.first_iv = iv.try_into().map_err(|_| Error::new(Reason::InvalidLength, "IV"))?;
            self.iv_set = true;
        }
        if self.iv_set {
            self.stand(self.first_iv);
        }
        if let Some(key) = start.key {
            if key.len() != self.spec.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            if self.sessions.cbc.as_ref().is_none_or(|old| !old.is_for(key)) {
                self.key = Some(Secret::new(key));
                self.sessions = Sessions::default();
            }
            self.flows = false;
            self.record = None;
        }
        Ok(())
    }

    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    #[inline(always)]
    fn flows(&self, provider: &Provider, len: usize) -> bool {
        self.encrypt
            && self.flows
            && self.record.is_none()
            && len.is_multiple_of(BLOCK)
            && !offload::pays(provider, Op::Seal, len, offload::LEAST_RECORD)
    }

    #[inline(always)]
    fn flow(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let text = match pieces {
            Pieces::InPlace(text) => text,
            Pieces::Apart(src, dst) => {
                dst.copy_from_slice(src);
                dst
            }
        };
        self.count.add(provider, self.spec, text.len());
        self.go_on(text)
    }

    fn finish(&mut self, _: &Provider, _: &mut Text) -> Result<usize> {
        if self.key.is_some() { Ok(0) } else { Err(Reason::NotInitialised.into()) }
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.any(provider, text)
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        if answers.wants(c"tls1multi_maxbufsz") {
            let len = self.multiblock.most(self).ok_or(Reason::MissingParameter)?;
            answers.int(c"tls1multi_maxbufsz", len as i64)?;
        }
        answers.int(c"tls1multi_interleave", self.multiblock.interleave as i64)?;
        answers.int(c"tls1multi_aadpacklen", self.multiblock.packed as i64)?;
        answers.int(c"tls1multi_enclen", self.multiblock.written as i64)?;
        answers.int(c"tlsaadpad", self.tls_pad as i64)?;
        answers.int(c"keylen", self.spec.key_len as i64)?;
        answers.int(c"ivlen", BLOCK as i64)?;
        answers.lent_octets(c"iv", &self.first_iv)?;
        answers.lent_octets(c"updated-iv", &self.iv)
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        if let Some(key) = params.octets(c"mackey")? {
            self.mac_key = Secret::new(key);
            (self.sessions.records, self.sessions.chain) = (None, None);
            self.flows = false;
        }
        if let Some(len) = params.uint(c"tls1multi_maxsndfrag")? {
            self.multiblock.fragment = len as usize;
        }
        if let Some(aad) = params.first(c"tls1multi_aad", TLS_AAD)? {
            let len = params.size(c"tls1multi_aad").unwrap_or_default();
            let interleave = params.uint(c"tls1multi_interleave")?;
            let plan = Multiblock::plan(self, aad, len, interleave.unwrap_or_default() as usize)?;
            self.multiblock = plan;
        }
        if let Some((aad, said)) = aead::tls_aad(params)? {
            // Sealing, the length that is said has the explicit IV, but neither MAC nor padding.
            let mut len = said;
            if self.encrypt && u16::from_be_bytes([aad[9], aad[10]]) >= TLS_1_1 {
                len = len.checked_sub(BLOCK).ok_or(Reason::InvalidLength)?;
            }
            self.tls_pad = match self.encrypt {
                true => self.sealed_len(len) - len,
                false => self.mac_len(),
            };
            self.record = Some((aad, said));
        }
        if params.uint(c"keylen")?.is_some_and(|len| len != self.spec.key_len as u64) {
            return Err(Error::from(Reason::InvalidParameter).about(c"keylen"));
        }
        if let Some(version) = params.uint(c"tls-version")? {
            self.tls = version != 0;
        }
        Ok(())
    }

    fn seal_many(&mut self, provider: &Provider, text: &mut Text, interleave: u64) -> Result<()> {
        let iv = self.iv;
        self.multiblock.written = Multiblock::seal(self, provider, text, interleave as usize)?;
        self.stand(iv);
        self.count.add(provider, self.spec, text.len());
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}

impl CbcHmac {
    /// Whether it seals.
    pub fn seals(&self) -> bool {
        self.encrypt
    }

    /// What multi-block was told.
    pub fn multiblock(&self) -> &Multiblock {
        &self.multiblock
    }
}
