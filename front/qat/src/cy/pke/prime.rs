//! Tests of primality: `cpa_cy_prime.h`.
//!
//! Whichever tests are asked for, the number has to pass the runtime's, which no composite number passes but with a
//! probability below 2^-80: a number that only fools Fermat's test is no prime here.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Buf, Prime, Response};

use super::{
    cache::Cache,
    counters::Work,
    number::number,
    request::{Callback, Caller, Outcome, run},
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const CANDIDATE: &str = "no candidate, or one of more than 8192 bits";
const RANDOM: &str =
    "the rounds of Miller and Rabin's test have no random input as long as the candidate each";

/// The most rounds that the interface allows.
const MOST_ROUNDS: u32 = 50;

/// The session for primes.
pub(super) fn session(process: &'static Process) -> Result<Prime, Refusal> {
    static KEPT: Cache<Prime> = Cache::new();
    KEPT.get(&[], || Ok(process.runtime().prime()?))
}

/// Whether the number that was tested is a prime.
pub(super) fn passed(response: &Response) -> Outcome {
    response.result.map(drop).into()
}

crate::api! {
    fn cpaCyPrimeTest(
        handle: CpaInstanceHandle,
        callback: CpaCyPrimeTestCbFunc,
        tag: *mut c_void,
        op: *const CpaCyPrimeTestOpData,
        passed_all: *mut CpaBoolean,
    ) {
        let callback = callback.map(Callback::Flag);
        let caller = Caller::new(handle, Work::Prime, callback, tag, op).says(passed_all);
        run(&caller, |process| {
            let op = given(op, NO_OP)?;
            let candidate = number(&op.primeCandidate, CANDIDATE)?;
            if candidate.len() > 1024 {
                return Err(Refusal::invalid(CANDIDATE));
            }
            let rounds = op.numMillerRabinRounds;
            let asked = [op.performGcdTest, op.performFermatTest, op.performLucasTest];
            if rounds == 0 && asked.iter().all(|test| *test == CPA_FALSE) {
                return Err(Refusal::invalid("no test is asked for"));
            }
            if rounds > MOST_ROUNDS {
                return Err(Refusal::invalid("more than 50 rounds of Miller and Rabin's test"));
            }
            let random = &op.millerRabinRandomInput;
            let wanted = u64::from(rounds) * candidate.len() as u64;
            if rounds > 0 && (random.pData.is_null() || u64::from(random.dataLenInBytes) < wanted) {
                return Err(Refusal::invalid(RANDOM));
            }
            let request = session(process)?.check(Buf::secret(candidate.to_vec()));
            Ok((request, |response: Response| passed(&response)))
        })
    }
}
