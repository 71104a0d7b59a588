//! What a chain's results say.
#![allow(unsafe_code)]

use lookaside::{Buf, Done, OpError, Response};

use crate::{abi::*, counters::Counter, process::Process, refusal::status_of};

use super::{
    super::{
        answer::{adler32_of, bad, crc32_of, crc64_of_first},
        setup::{Sum, Way},
        verify,
    },
    Chain, ChainRequest, ChainSession, Results,
};

/// What a step came to, with its buffers.
type Step = (Result<Done, OpError>, Buf, Buf);

/// What a chain came to.
#[derive(Default)]
struct Outcome {
    dc: i32,
    cy: CpaStatus,
    verified: bool,
    produced: usize,
    consumed: usize,
    crc32: u32,
    adler32: u32,
    crc64: (u64, u64),
}

impl ChainRequest {
    pub(super) fn session(&self) -> Option<&ChainSession> {
        match self.flight {
            // SAFETY: a session that is not removed before the flight ends.
            Some(_) => unsafe { self.session.as_ref() }.map(|session| &**session),
            None => None,
        }
    }

    pub(super) fn finish(&self, process: &'static Process, response: Response) -> CpaStatus {
        let Some(session) = self.session() else { return CPA_STATUS_FATAL };
        let outcome = self.outcome(process, session, response);
        let counters = &self.instance.counters;
        let (done, failed) = match session.chain.way() {
            Way::Compress => (Counter::DcCompressed, Counter::DcCompressFailed),
            Way::Decompress => (Counter::DcDecompressed, Counter::DcDecompressFailed),
        };
        let good = outcome.cy == CPA_STATUS_SUCCESS && outcome.dc == CPA_DC_OK.0;
        counters.count(if good { done } else { failed });
        let status = if good { CPA_STATUS_SUCCESS } else { CPA_STATUS_FAIL };
        let first = CpaDcChainRqResults {
            dcStatus: CpaDcReqStatus(outcome.dc),
            cyStatus: outcome.cy,
            verifyResult: if outcome.verified { CPA_TRUE } else { CPA_FALSE },
            produced: outcome.produced as u32,
            consumed: outcome.consumed as u32,
            crc32: outcome.crc32,
            adler32: outcome.adler32,
        };
        // SAFETY: checked at the submission; the caller keeps it until the answer.
        unsafe {
            match self.results {
                Results::First(place) => place.write(first),
                Results::More(place) => place.write(CpaDcChainRqVResults {
                    chainRqResults: first,
                    ctxCrc64: 0,
                    iDcCrc64: outcome.crc64.0,
                    oDcCrc64: outcome.crc64.1,
                    storedCrc64: 0,
                    reserved1: CPA_FALSE,
                    chainStatus: status,
                }),
            }
        }
        status
    }

    /// Verifies what was compressed, and replaces it where that is asked for.
    ///
    /// # Errors
    /// The service's status, where the result is wrong.
    fn check(
        &self,
        process: &Process,
        session: &ChainSession,
        result: &mut Result<Done, OpError>,
        plain: &Buf,
        dst: &mut Buf,
    ) -> Result<(), CpaDcReqStatus> {
        let (Ok(done), spec) = (result, &session.setup.spec) else { return Ok(()) };
        let counters = &self.instance.counters;
        counters.count(Counter::DcVerified);
        let compressed = first_bytes(dst, done.produced);
        if !self.fails && verify::is_right(process, spec, plain, compressed, self.last) {
            return Ok(());
        }
        if !self.recover {
            return Err(CPA_DC_VERIFY_ERROR);
        }
        let verify::Stored { consumed, produced, whole } =
            verify::store(spec, plain, dst, self.last);
        if !whole {
            return Err(CPA_DC_OVERFLOW);
        }
        counters.count(Counter::DcRecovered);
        // The checksum is of the same bytes.
        (done.consumed, done.produced) = (consumed, produced);
        Ok(())
    }

    fn outcome(
        &self,
        process: &'static Process,
        session: &ChainSession,
        mut response: Response,
    ) -> Outcome {
        let Some(chain) = response.take_chain() else {
            return Outcome { dc: CPA_DC_FATALERR.0, cy: CPA_STATUS_FAIL, ..Outcome::default() };
        };
        let both = chain.done() == 1;
        let Some(other) = chain.into_steps().into_iter().next() else {
            return Outcome { dc: CPA_DC_FATALERR.0, cy: CPA_STATUS_FAIL, ..Outcome::default() };
        };
        // The steps in their order, with their buffers: the second one, or what is left of it, is `later`.
        let last: Step = (response.result, response.src, response.dst);
        let other: Step = (other.result, other.request.src, other.request.dst);
        let (mut earlier, mut later) = if both { (other, last) } else { (last, other) };
        let outcome = self.judge(process, session, &mut earlier, &mut later);
        if self.own {
            verify::keep_spare(earlier.2.into_vec());
        }
        outcome
    }

    fn judge(
        &self,
        process: &'static Process,
        session: &ChainSession,
        earlier: &mut Step,
        later: &mut Step,
    ) -> Outcome {
        if self.verify {
            let refused = match session.chain {
                Chain::HashThenCompress => {
                    self.check(process, session, &mut later.0, &earlier.1, &mut later.2)
                }
                _ => self.check(process, session, &mut earlier.0, &earlier.1, &mut earlier.2),
            };
            if let Err(status) = refused {
                return Outcome { dc: status.0, ..Outcome::default() };
            }
        }
        let (cy, dc) = match session.chain.crypto_is_first() {
            true => (&*earlier, &*later),
            false => (&*later, &*earlier),
        };
        let mut outcome = Outcome::default();
        match cy.0 {
            Ok(_) => outcome.verified = true,
            Err(OpError::Cancelled) => outcome.cy = CPA_STATUS_FAIL,
            // A digest that does not match is an answer, not an error of the call.
            Err(OpError::AuthFailed) => outcome.cy = CPA_STATUS_FAIL,
            Err(error) => outcome.cy = status_of(error),
        }
        // The source of a step that was fed by the one before is that one's.
        let plain_src = match session.chain {
            Chain::HashThenCompress => &earlier.1,
            _ => &dc.1,
        };
        let done = match dc.0 {
            Ok(done) => done,
            Err(error) => {
                outcome.dc = match error {
                    OpError::DstTooSmall => CPA_DC_OVERFLOW,
                    OpError::BadData { offset, .. } => bad(&dc.1, offset),
                    // It did not run: the first step failed.
                    OpError::Cancelled => CPA_DC_OK,
                    _ => CPA_DC_FATALERR,
                }
                .0;
                return outcome;
            }
        };
        (outcome.consumed, outcome.produced) = (done.consumed, done.produced);
        let way = session.chain.way();
        let (plain, len) = match way {
            Way::Compress => (plain_src, done.consumed),
            Way::Decompress => (&dc.2, done.produced),
        };
        match session.setup.sum {
            // xxHash is not of DEFLATE.
            Sum::None | Sum::Xxh32 | Sum::Xxh64 => {}
            Sum::Crc32 => outcome.crc32 = done.checksum as u32,
            Sum::Adler32 => outcome.adler32 = done.checksum as u32,
            Sum::Both => {
                (outcome.crc32, outcome.adler32) = (done.checksum as u32, adler32_of(plain, len));
            }
        }
        // What lies on the other side of the compression.
        let (packed, packed_len) = match way {
            Way::Compress => (&dc.2, done.produced),
            Way::Decompress => (&cy.2, done.consumed),
        };
        if self.crcs || self.crc.is_some() {
            let crc64 = *session.crc64.lock();
            let plain_crc = crc64_of_first(&crc64, plain, len);
            let (i, o) = match way {
                Way::Compress => (plain_crc, crc64_of_first(&crc64, packed, packed_len)),
                Way::Decompress => {
                    // The deciphered text begins where the ciphertext did.
                    let text = first_bytes(packed, self.offset + packed_len);
                    (crc64.of([text.get(self.offset..).unwrap_or_default()]), plain_crc)
                }
            };
            outcome.crc64 = (i, o);
        }
        if let Some(crc) = self.crc {
            crc.put(CpaCrcData {
                crc32: crc32_of(plain, len),
                adler32: adler32_of(plain, len),
                integrityCrc: CpaIntegrityCrc { iCrc: 0, oCrc: 0 },
                integrityCrc64b: CpaIntegrityCrc64b {
                    iCrc: outcome.crc64.0,
                    oCrc: outcome.crc64.1,
                },
            });
        }
        if session.chain == Chain::AeadThenDecompress {
            outcome.consumed = earlier.0.map_or(0, |done| done.consumed);
        }
        outcome
    }
}

fn first_bytes(buf: &Buf, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(buf.len());
    buf.gather(&mut bytes);
    bytes.truncate(len);
    bytes
}
