//! AES-GCM, also as records of TLS 1.2 (RFC 5288).

use lookaside::{AeadSession, Buf, Op, Packet, Span};
use zeroize::Zeroize;

use super::{
    aead::{self, TAG, TLS_AAD},
    list::{Kind, Spec},
    offload,
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

/// The longest IV that OpenSSL takes.
const MAX_IV: usize = 128;
/// SP 800-38D section 8.2: IVs with a counter have 96 bits at least, 64 of them the counter; TLS
/// sends those 64 with each record.
const DEFAULT_IV: usize = 12;
const COUNTER: usize = 8;
const FIXED: usize = DEFAULT_IV - COUNTER;

#[derive(Clone, Copy, PartialEq, Eq)]
enum IvState {
    None,
    /// Given, and the text not started with it.
    Given,
    /// The text runs.
    Running,
    /// Used up.
    Used,
}

/// A text.
#[derive(Clone)]
pub struct Gcm {
    spec: &'static Spec,
    key: Option<Keyed<AeadSession>>,
    encrypt: bool,
    iv: [u8; MAX_IV],
    iv_len: usize,
    iv_state: IvState,
    /// The IV's last 8 bytes count.
    counts: bool,
    tag: [u8; TAG],
    tag_len: Option<usize>,
    /// What the next call, a TLS record, is authenticated with.
    record: Option<[u8; TLS_AAD]>,
    tls_pad: usize,
    /// How many records were sealed with this key.
    records: u64,
    count: Count,
}

impl Gcm {
    fn op(&self) -> Op {
        if self.encrypt { Op::Seal } else { Op::Open }
    }

    fn restart(&mut self) -> Result<()> {
        let op = self.op();
        let key = self.key.as_mut().ok_or(Reason::NotInitialised)?;
        key.restart(op, &self.iv[..self.iv_len])?;
        self.iv_state = IvState::Running;
        Ok(())
    }

    /// SP 800-38D section 8.2.2: a random IV, for callers who give none and ask for it later.
    fn random_iv(&mut self, provider: &Provider) -> Result<()> {
        if !self.encrypt || self.iv_len < DEFAULT_IV {
            return Err(aead::no_iv());
        }
        library::random(provider, &mut self.iv[..self.iv_len])?;
        self.iv_state = IvState::Given;
        Ok(())
    }

    /// Makes sure that a text runs.
    #[inline]
    fn ready(&mut self, provider: &Provider) -> Result<()> {
        if self.key.is_none() {
            return Err(Reason::NotInitialised.into());
        }
        match self.iv_state {
            IvState::Running => return Ok(()),
            IvState::Used => return Err(aead::no_iv()),
            IvState::None => self.random_iv(provider)?,
            IvState::Given => {}
        }
        self.restart()
    }

    /// Starts a text with the IV as it counts; the last bytes of it go to `out`.
    fn next_iv(&mut self, out: &mut [u8]) -> Result<()> {
        if !self.counts {
            return Err(aead::no_iv());
        }
        self.restart()?;
        let iv = &mut self.iv[..self.iv_len];
        let n = out.len().min(iv.len());
        out[..n].copy_from_slice(&iv[iv.len() - n..]);
        let mut counter = [0; COUNTER];
        let place = iv.len() - COUNTER;
        counter.copy_from_slice(&iv[place..]);
        let counter = u64::from_be_bytes(counter).wrapping_add(1);
        iv[place..].copy_from_slice(&counter.to_be_bytes());
        Ok(())
    }

    /// Starts a text to open with the last bytes of the IV as they came.
    fn sent_iv(&mut self, last: &[u8]) -> Result<()> {
        if !self.counts || self.encrypt || last.len() > self.iv_len {
            return Err(aead::no_iv());
        }
        self.iv[self.iv_len - last.len()..self.iv_len].copy_from_slice(last);
        self.restart()
    }

    /// The IV, where it is as long as TLS has it.
    fn nonce(&self) -> Option<[u8; DEFAULT_IV]> {
        self.iv[..self.iv_len].try_into().ok()
    }

    /// A TLS record in place: 8 bytes of the IV, the text, the tag.
    fn tls(&mut self, provider: &Provider, text: &mut Text, aad: [u8; TLS_AAD]) -> Result<usize> {
        let len = text.len();
        if self.key.is_none() || !text.is_in_place() || len < COUNTER + TAG {
            return Err(Error::new(Reason::BadInput, "TLS record"));
        }
        let Pieces::InPlace(record) = text.open(len)? else { return Err(Reason::Internal.into()) };
        let (iv, record) = record.split_at_mut(COUNTER);
        let (text, tag) = record.split_at_mut(len - COUNTER - TAG);
        let mut nonce = self.nonce();
        if self.encrypt {
            // SP 800-38D section 8: no IV twice, which the counter sees to for 2^64 records.
            self.records = self.records.checked_add(1).ok_or(Reason::NotInitialised)?;
            self.next_iv(iv)?;
        } else {
            self.sent_iv(iv)?;
            nonce = self.nonce();
        }
        let encrypt = self.encrypt;
        let session = &self.key.as_ref().ok_or(Reason::NotInitialised)?.session;
        if let Some(nonce) = nonce
            && offload::goes_elsewhere(provider, session, text.len())
            && elsewhere(provider, session, (self.op(), nonce, aad), text, tag)?
        {
            return Ok(if encrypt { len } else { len - COUNTER - TAG });
        }
        let running = self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?;
        running.aad(&aad)?;
        running.update_in_place(text)?;
        if encrypt {
            running.finish(tag)?;
            return Ok(len);
        }
        if let Err(e) = running.verify_prefix(tag) {
            text.zeroize();
            return Err(e.into());
        }
        Ok(len - COUNTER - TAG)
    }

    fn end(&mut self, provider: &Provider) -> Result<usize> {
        self.ready(provider)?;
        let encrypt = self.encrypt;
        let running = self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?;
        if encrypt {
            running.finish(&mut self.tag)?;
            self.tag_len = Some(TAG);
        } else {
            let len = self.tag_len.ok_or(Error::new(Reason::MissingParameter, "tag"))?;
            running.verify_prefix(&self.tag[..len])?;
        }
        self.iv_state = IvState::Used;
        Ok(0)
    }

    #[inline]
    fn more(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if let Some(aad) = self.record.take() {
            self.count.add(provider, self.spec, text.len());
            let done = self.tls(provider, text, aad);
            self.iv_state = IvState::Used;
            return done;
        }
        self.ready(provider)?;
        let len = text.len();
        let running = self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?;
        if text.has_destination() {
            self.count.add(provider, self.spec, len);
            aead::update(running, text.open(len)?)?;
        } else {
            running.aad(text.source())?;
        }
        Ok(len)
    }
}

/// Has another device seal or open a record, in a copy. `false`: nothing was done.
fn elsewhere(
    provider: &Provider,
    session: &AeadSession,
    (op, nonce, aad): (Op, [u8; DEFAULT_IV], [u8; TLS_AAD]),
    text: &mut [u8],
    tag: &mut [u8],
) -> Result<bool> {
    let (from, to) = (TLS_AAD, TLS_AAD + text.len());
    let mut memory = offload::memory(to + TAG);
    memory[..from].copy_from_slice(&aad);
    memory[from..to].copy_from_slice(text);
    memory[to..].copy_from_slice(tag);
    let packet = Packet {
        iv: nonce.into(),
        aad: Span::new(0, TLS_AAD as u32),
        cipher: Span::new(from as u32, text.len() as u32),
        tag: to as u32,
        ..Packet::default()
    };
    let request = match op {
        Op::Seal => session.seal(packet, Buf::empty(), Buf::from(memory)),
        _ => session.open(packet, Buf::empty(), Buf::from(memory)),
    };
    let done = offload::run(provider, request, 1, |memory| {
        text.copy_from_slice(&memory[from..to]);
        if op == Op::Seal {
            tag.copy_from_slice(&memory[to..]);
        }
    });
    if done.is_err() {
        text.zeroize();
    }
    done
}

impl SymCipher for Gcm {
    const GETTABLE: &'static [Param] = aead::GETTABLE;
    const SETTABLE: &'static [Param] = aead::SETTABLE;

    fn new(spec: &'static Spec) -> Gcm {
        Gcm {
            spec,
            key: None,
            encrypt: true,
            iv: [0; MAX_IV],
            iv_len: DEFAULT_IV,
            iv_state: IvState::None,
            counts: false,
            tag: [0; TAG],
            tag_len: None,
            record: None,
            tls_pad: 0,
            records: 0,
            count: Count::default(),
        }
    }

    fn duplicate(&self) -> Result<Gcm> {
        Ok(Gcm { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, provider: &Provider, start: Start) -> Result<()> {
        self.encrypt = start.encrypt;
        if let Some(iv) = start.iv {
            if iv.is_empty() || iv.len() > MAX_IV {
                return Err(Error::new(Reason::InvalidLength, "IV"));
            }
            self.iv[..iv.len()].copy_from_slice(iv);
            self.iv_len = iv.len();
            self.iv_state = IvState::Given;
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
            self.records = 0;
            if self.iv_state == IvState::Running {
                self.iv_state = IvState::Given;
            }
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if text.len() == 0 { Ok(0) } else { self.more(provider, text) }
    }

    #[inline(always)]
    fn flows(&self, _: &Provider, _: usize) -> bool {
        self.iv_state == IvState::Running && self.record.is_none()
    }

    #[inline(always)]
    fn flow(&mut self, provider: &Provider, pieces: Pieces) -> Result<()> {
        let (Pieces::Apart(_, dst) | Pieces::InPlace(dst)) = &pieces;
        self.count.add(provider, self.spec, dst.len());
        aead::update(self.key.as_mut().ok_or(Reason::NotInitialised)?.running()?, pieces)
    }

    fn finish(&mut self, provider: &Provider, _: &mut Text) -> Result<usize> {
        if self.record.take().is_some() {
            self.iv_state = IvState::Used;
            return Err(Error::new(Reason::BadInput, "TLS record"));
        }
        self.end(provider)
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        if text.has_source() || self.record.is_some() {
            self.more(provider, text)
        } else {
            self.end(provider)
        }
    }

    fn answer(&mut self, provider: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", self.iv_len as i64)?;
        answers.int(c"keylen", self.spec.key_len as i64)?;
        answers.int(c"taglen", self.tag_len.unwrap_or(TAG) as i64)?;
        for key in [c"iv", c"updated-iv"] {
            if answers.wants(key) {
                if self.iv_state == IvState::None {
                    self.random_iv(provider)?;
                }
                answers.lent_octets(key, &self.iv[..self.iv_len])?;
            }
        }
        answers.int(c"tlsaadpad", self.tls_pad as i64)?;
        if answers.wants(c"tag") {
            if !self.encrypt || self.tag_len.is_none() {
                return Err(Error::new(Reason::MissingParameter, "tag"));
            }
            aead::answer_tag(answers, &self.tag)?;
        }
        if let Some(room) = answers.room(c"tlsivgen") {
            let mut iv = [0; MAX_IV];
            let len = if room == 0 { self.iv_len } else { room.min(self.iv_len) };
            self.next_iv(&mut iv[..len])?;
            answers.octets(c"tlsivgen", &iv[..len])?;
        }
        Ok(())
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        if let Some(tag) = params.octets(c"tag")? {
            if self.encrypt || tag.is_empty() || tag.len() > TAG {
                return Err(Error::from(Reason::InvalidParameter).about(c"tag"));
            }
            self.tag[..tag.len()].copy_from_slice(tag);
            self.tag_len = Some(tag.len());
        }
        if let Some(len) = params.uint(c"ivlen")? {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len == 0 || len > MAX_IV {
                return Err(Error::from(Reason::InvalidParameter).about(c"ivlen"));
            }
            if len != self.iv_len && self.iv_state != IvState::None {
                self.iv_state = IvState::Used;
            }
            self.iv_len = len;
        }
        if let Some((aad, said)) = aead::tls_aad(params)? {
            // The length that is authenticated is the text's alone.
            let more = if self.encrypt { COUNTER } else { COUNTER + TAG };
            let len = said.checked_sub(more).ok_or(Reason::InvalidLength)?;
            self.record = Some(aead::with_len(aad, len));
            self.tls_pad = TAG;
        }
        match params.size(c"tlsivfixed") {
            None => {}
            // The size -1 (EVP_EncryptInit(3)): the whole IV.
            Some(usize::MAX) => {
                if let Some(iv) = params.first(c"tlsivfixed", self.iv_len)? {
                    self.iv[..iv.len()].copy_from_slice(iv);
                    self.counts = true;
                    self.iv_state = IvState::Given;
                }
            }
            Some(len) => {
                let fixed = params.first(c"tlsivfixed", len)?.unwrap_or_default();
                self.set_fixed(provider, fixed)?;
            }
        }
        if let Some(last) = params.octets(c"tlsivinv")? {
            self.sent_iv(last)?;
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}

impl Gcm {
    /// The start of the IV, which stays; the rest counts from a random number on.
    fn set_fixed(&mut self, provider: &Provider, fixed: &[u8]) -> Result<()> {
        let len = fixed.len();
        if len < FIXED || len + COUNTER > self.iv_len {
            return Err(Error::from(Reason::InvalidParameter).about(c"tlsivfixed"));
        }
        self.iv[..len].copy_from_slice(fixed);
        if self.encrypt {
            library::random(provider, &mut self.iv[len..self.iv_len])?;
        }
        self.counts = true;
        self.iv_state = IvState::Given;
        Ok(())
    }
}
