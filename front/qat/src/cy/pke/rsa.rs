//! RSA: `cpa_cy_rsa.h`.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{
    Arithmetic, Buf, Response, RsaCrt, RsaPrivate, RsaPrivateKey, RsaPublic, RsaPublicKey,
    RsaScheme,
};

use super::{
    cache::Cache,
    counters::Work,
    number::{Out, Whole, bits, is_below, is_odd, number, padded, stripped},
    request::{Callback, Caller, Outcome, place, refuse, run, written},
    steps::Residues,
};
use crate::{
    abi::*,
    process::Process,
    refusal::{Refusal, given},
};

const NO_OP: &str = "no operation data";
const NO_KEY: &str = "no key";
const INPUT: &str = "the input is not above 0 and below the modulus";
const OUTPUT: &str = "no output, or one shorter than the modulus";
const MODULUS: &str = "no modulus";
const EXPONENT: &str = "no exponent";
const PART: &str = "a part of the private key is missing";
const KIND: &str = "a private key of neither representation, or of more than two primes";
const NO_KEY_AT_ALL: &str = "the parts of the private key belong to no key";

/// Writes the number that a request answers.
///
/// # Safety
/// The output stays as it is until then.
pub(super) unsafe fn to(out: Out) -> impl FnOnce(Response) -> Outcome + use<> {
    move |response| match written(&response) {
        // SAFETY: the caller's promise.
        Ok(number) => Outcome::when(unsafe { out.put(number) }),
        Err(error) => Outcome::of(error),
    }
}

fn public_key(process: &'static Process, n: &[u8], e: &[u8]) -> Result<RsaPublic, Refusal> {
    static KEPT: Cache<RsaPublic> = Cache::new();
    KEPT.get(&[n, e], || {
        let key = RsaPublicKey { n: n.to_vec(), e: e.to_vec() };
        Ok(process.runtime().rsa_public(key)?)
    })
}

/// Of a private key: p, q, d mod p - 1, d mod q - 1, 1/q mod p.
type Parts<'a> = [&'a [u8]; 5];

static KEPT: Cache<(RsaPrivate, usize)> = Cache::new();
static BLINDED: Cache<(RsaPrivate, usize)> = Cache::new();

/// Forgets all private keys, and what a program may have put together of one with calculations of its own.
pub fn forget_private_keys() {
    KEPT.clear();
    BLINDED.clear();
    super::steps::forget_moduli();
}

/// How many private keys are kept.
pub fn private_keys() -> usize {
    KEPT.len() + BLINDED.len()
}

fn private_key(
    process: &'static Process,
    parts: Parts<'_>,
    blinded: bool,
) -> Result<(RsaPrivate, usize), Refusal> {
    let kept = if blinded { &BLINDED } else { &KEPT };
    kept.get(&parts, || {
        let key = import(process, parts);
        lookaside::wipe_stack(IMPORT);
        let key = key?;
        let len = key.n.len();
        let runtime = process.runtime();
        let session = match blinded {
            true => runtime.rsa_private_blinded(key),
            false => runtime.rsa_private(key),
        };
        Ok((session?, len))
    })
}

/// Bytes of stack that are overwritten when a key has been put together.
const IMPORT: usize = 4 << 10;

/// Public exponents that are looked for first.
const USUAL: [u64; 8] = [65_537, 3, 17, 5, 257, 7, 35, 37];

/// The key of parts without modulus, public and private exponent: the runtime checks results with them.
fn import(process: &'static Process, parts: Parts<'_>) -> Result<RsaPrivateKey, Refusal> {
    let [p, q, dp, dq, qinv] = parts;
    if !is_odd(p) || !is_odd(q) || p.len() < 2 || q.len() < 2 || p.len() + q.len() > 1025 {
        return Err(Refusal::invalid(NO_KEY_AT_ALL));
    }
    let (p_less, q_less) =
        (Whole::new(p).minus(&Whole::small(1)), Whole::new(q).minus(&Whole::small(1)));
    let fits = |e: &Whole| {
        let one = |d: &[u8], less: &Whole| Whole::new(d).times(e).divide(less).1.is(1);
        one(dp, &p_less) && one(dq, &q_less)
    };
    let usual = USUAL.into_iter().map(Whole::small).find(|e| fits(e));
    let e = match usual {
        Some(e) => e,
        None => {
            let refused = |_| Refusal::invalid(NO_KEY_AT_ALL);
            let modulus = Residues::new(process, &p_less.bytes())?;
            let dp = modulus.reduce(dp).map_err(refused)?;
            let e = Whole::new(&modulus.inverse(&dp).map_err(refused)?);
            if !fits(&e) {
                return Err(Refusal::invalid(NO_KEY_AT_ALL));
            }
            e
        }
    };
    let n = Whole::new(p).times(&Whole::new(q));
    let d = private_exponent(process, &p_less.times(&q_less), &e)?;
    let secret = |bytes: &[u8]| lookaside::Secret::new(bytes);
    Ok(RsaPrivateKey {
        n: stripped(&n.bytes()).to_vec(),
        e: stripped(&e.bytes()).to_vec(),
        d: secret(stripped(&d.bytes())),
        crt: Some(RsaCrt {
            p: secret(p),
            q: secret(q),
            dp: secret(dp),
            dq: secret(dq),
            qinv: secret(qinv),
        }),
    })
}

/// 1/e modulo phi.
fn private_exponent(process: &'static Process, phi: &Whole, e: &Whole) -> Result<Whole, Refusal> {
    const NONE: &str = "the public exponent has a factor of p - 1 or q - 1";
    let bytes = e.bytes();
    let short = stripped(&bytes);
    if bits(short) <= 32 {
        let word = short.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        // d = (k phi + 1) / e with k = -1/phi modulo e.
        let k = inverse(phi.modulo(word.max(1)), word).ok_or(Refusal::invalid(NONE))?;
        let (d, rest) = phi.times(&Whole::small(word - k)).plus(1).divide(&Whole::small(word));
        debug_assert!(rest.is_zero());
        return Ok(d);
    }
    let modulus = Residues::new(process, &phi.bytes())?;
    let refused = |_| Refusal::invalid(NONE);
    let e = modulus.reduce(short).map_err(refused)?;
    Ok(Whole::new(&modulus.inverse(&e).map_err(refused)?))
}

/// 1/a modulo a public word above 1.
fn inverse(a: u64, modulus: u64) -> Option<u64> {
    let (mut r, mut s) = ((i128::from(modulus), i128::from(a)), (0_i128, 1_i128));
    while r.1 != 0 {
        let quotient = r.0 / r.1;
        r = (r.1, r.0 - quotient * r.1);
        s = (s.1, s.0 - quotient * s.1);
    }
    (r.0 == 1 && modulus > 1).then(|| s.0.rem_euclid(i128::from(modulus)) as u64)
}

/// n, d, d mod p - 1, d mod q - 1 and q mod p of a new key.
fn derive(process: &'static Process, p: &[u8], q: &[u8], e: &[u8]) -> Result<[Whole; 5], Refusal> {
    let (p, q) = (Whole::new(p), Whole::new(q));
    let (p_less, q_less) = (p.minus(&Whole::small(1)), q.minus(&Whole::small(1)));
    let d = private_exponent(process, &p_less.times(&q_less), &Whole::new(e))?;
    let (dp, dq) = (d.divide(&p_less).1, d.divide(&q_less).1);
    let q_less_p = q.divide(&p).1;
    Ok([p.times(&q), d, dp, dq, q_less_p])
}

unsafe fn encrypt(
    caller: &Caller,
    op: *const CpaCyRsaEncryptOpData,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let key = given(op.pPublicKey, NO_KEY)?;
            let n = number(&key.modulusN, MODULUS)?;
            let e = number(&key.publicExponentE, EXPONENT)?;
            let input = number(&op.inputData, INPUT)?;
            if !is_below(input, n) {
                return Err(Refusal::invalid(INPUT));
            }
            let out = Out::new(out, n.len(), OUTPUT)?;
            let mut src = padded(input, n.len(), INPUT)?;
            let src = Buf::secret(core::mem::take(&mut *src));
            let session = public_key(process, n, e)?;
            Ok((session.run(RsaScheme::Raw, src, place(n.len())), to(out)))
        })
    }
}

unsafe fn decrypt(
    caller: &Caller,
    op: *const CpaCyRsaDecryptOpData,
    hardened: Option<*const CpaCyRsaDpaOpData>,
    out: *mut CpaFlatBuffer,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let key = given(op.pRecipientPrivateKey, NO_KEY)?;
            if key.version != CPA_CY_RSA_VERSION_TWO_PRIME {
                return Err(Refusal::invalid(KIND));
            }
            let input = number(&op.inputData, INPUT)?;
            let prepared = |session: &RsaPrivate, len: usize| {
                let out = Out::new(out, len, OUTPUT)?;
                let mut src = padded(input, len, INPUT)?;
                let src = Buf::secret(core::mem::take(&mut *src));
                Ok((session.run(RsaScheme::Raw, src, place(len)), to(out)))
            };
            match key.privateKeyRepType {
                CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1 => {
                    let key = &key.privateKeyRep1;
                    let n = number(&key.modulusN, MODULUS)?;
                    let d = number(&key.privateExponentD, EXPONENT)?;
                    if !is_odd(n) || d.is_empty() {
                        return Err(Refusal::invalid(NO_KEY_AT_ALL));
                    }
                    if !is_below(input, n) {
                        return Err(Refusal::invalid(INPUT));
                    }
                    if let Some(dpa) = hardened {
                        let (session, len) = hardened_key(process, dpa, n)?;
                        return prepared(&session, len);
                    }
                    let out = Out::new(out, n.len(), OUTPUT)?;
                    let modulus = Residues::kept(process, n)?;
                    let input = padded(input, n.len(), INPUT)?;
                    // Two results of different types: through the same function.
                    let d = padded(d, n.len(), EXPONENT)?;
                    Ok((modulus.request(Arithmetic::Power, &[&input, &d]), to(out)))
                }
                CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2 => {
                    let key = &key.privateKeyRep2;
                    let parts = [
                        number(&key.prime1P, PART)?,
                        number(&key.prime2Q, PART)?,
                        number(&key.exponent1Dp, PART)?,
                        number(&key.exponent2Dq, PART)?,
                        number(&key.coefficientQInv, PART)?,
                    ];
                    let (session, len) = private_key(process, parts, hardened.is_some())?;
                    if stripped(input).is_empty() {
                        return Err(Refusal::invalid(INPUT));
                    }
                    prepared(&session, len)
                }
                _ => Err(Refusal::invalid(KIND)),
            }
        })
    }
}

/// The session of a key of representation 1 whose primes come beside it.
unsafe fn hardened_key(
    process: &'static Process,
    dpa: *const CpaCyRsaDpaOpData,
    n: &[u8],
) -> Result<(RsaPrivate, usize), Refusal> {
    const LACKING: &str = "primes or public exponent of the key are missing";
    // SAFETY: the exported function's caller promises what the interface asks for.
    let [p, q, e] = unsafe {
        let dpa = given(dpa, LACKING)?;
        let part = |flat: *mut CpaFlatBuffer| number(given(flat, LACKING)?, LACKING);
        [part(dpa.pRsaPrimeP)?, part(dpa.pRsaPrimeQ)?, part(dpa.pRsaPublicE)?]
    };
    let refused = |_| Refusal::invalid(NO_KEY_AT_ALL);
    if !is_odd(p) || !is_odd(q) || p.len() < 2 || q.len() < 2 {
        return Err(Refusal::invalid(NO_KEY_AT_ALL));
    }
    let [product, _, dp, dq, q_less_p] = derive(process, p, q, e)?;
    if stripped(&product.bytes()) != n {
        return Err(Refusal::invalid(NO_KEY_AT_ALL));
    }
    let modulus = Residues::new(process, p)?;
    let q_less_p = modulus.reduce(&q_less_p.bytes()).map_err(refused)?;
    let qinv = modulus.inverse(&q_less_p).map_err(refused)?;
    let (dp, dq) = (dp.bytes(), dq.bytes());
    private_key(process, [p, q, stripped(&dp), stripped(&dq), stripped(&qinv)], true)
}

unsafe fn generate(
    caller: &Caller,
    op: *const CpaCyRsaKeyGenOpData,
    private: *mut CpaCyRsaPrivateKey,
    public: *mut CpaCyRsaPublicKey,
) -> Result<CpaStatus, Refusal> {
    const PRIMES: &str = "the primes are missing, even, or not each half as long as the modulus";
    // SAFETY: the exported function's caller promises what the interface asks for.
    unsafe {
        run(caller, |process| {
            let op = given(op, NO_OP)?;
            let (key, public) = (given(private, NO_KEY)?, given(public, NO_KEY)?);
            let (p, q) = (number(&op.prime1P, PRIMES)?, number(&op.prime2Q, PRIMES)?);
            let len = op.modulusLenInBytes as usize;
            let half = |prime: &[u8]| {
                is_odd(prime) && 2 * prime.len() == len && prime[0] >= 0x80 && prime.len() >= 32
            };
            if !half(p) || !half(q) || p == q {
                return Err(Refusal::invalid(PRIMES));
            }
            let e = number(&op.publicExponentE, EXPONENT)?;
            if !is_odd(e) || bits(e) < 2 || e.len() > len {
                return Err(Refusal::invalid("the public exponent is even, or below 3"));
            }
            if op.version != CPA_CY_RSA_VERSION_TWO_PRIME
                || key.version != op.version
                || key.privateKeyRepType != op.privateKeyRepType
            {
                return Err(Refusal::invalid(KIND));
            }
            let at = |flat: &CpaFlatBuffer, least| {
                Out::new(core::ptr::from_ref(flat).cast_mut(), least, OUTPUT)
            };
            // A buffer that may be left out.
            let perhaps = |flat: &CpaFlatBuffer, least| match flat.pData.is_null() {
                true => Ok(None),
                false => at(flat, least).map(Some),
            };
            let mut outs = vec![
                (Some(at(&public.modulusN, len)?), 0),
                (Some(at(&key.privateKeyRep1.modulusN, len)?), 0),
                (Some(at(&key.privateKeyRep1.privateExponentD, len)?), 1),
                (perhaps(&public.publicExponentE, e.len())?, 2),
            ];
            match op.privateKeyRepType {
                CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_1 => {}
                CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2 => {
                    let key = &key.privateKeyRep2;
                    outs.extend([
                        (perhaps(&key.prime1P, len / 2)?, 3),
                        (perhaps(&key.prime2Q, len / 2)?, 4),
                        (Some(at(&key.exponent1Dp, len / 2)?), 5),
                        (Some(at(&key.exponent2Dq, len / 2)?), 6),
                        (Some(at(&key.coefficientQInv, len / 2)?), 7),
                    ]);
                }
                _ => return Err(Refusal::invalid(KIND)),
            }
            let [n, d, dp, dq, q_less_p] = derive(process, p, q, e)?;
            let modulus = Residues::new(process, p)?;
            let q_less_p = modulus.reduce(&q_less_p.bytes());
            let q_less_p = q_less_p.map_err(|_| Refusal::invalid(PRIMES))?;
            let given = |bytes: &[u8]| super::number::Secret::new(bytes.to_vec());
            let numbers =
                [n.bytes(), d.bytes(), given(e), given(p), given(q), dp.bytes(), dq.bytes()];
            let made = Box::new((outs, numbers));
            let finish = move |response: Response| {
                let qinv = match written(&response) {
                    Ok(qinv) => qinv,
                    Err(error) => return Outcome::of(error),
                };
                let (outs, numbers) = *made;
                let put = |(out, index): (Option<Out>, usize)| {
                    let number = numbers.get(index).map_or(qinv, |number| stripped(number));
                    out.is_none_or(|out| out.put(number))
                };
                // All of them are written, whichever fails.
                Outcome::when(outs.into_iter().map(put).fold(true, |all, one| all & one))
            };
            Ok((modulus.request(Arithmetic::Invert, &[&q_less_p]), finish))
        })
    }
}

crate::api! {
    fn cpaCyRsaGenKey(
        handle: CpaInstanceHandle,
        callback: CpaCyRsaKeyGenCbFunc,
        tag: *mut c_void,
        op: *const CpaCyRsaKeyGenOpData,
        private: *mut CpaCyRsaPrivateKey,
        public: *mut CpaCyRsaPublicKey,
    ) {
        let callback = callback.map(|call| Callback::Keys(call, private, public));
        let caller = Caller::new(handle, Work::RsaKeyGen, callback, tag, op);
        generate(&caller, op, private, public)
    }

    fn cpaCyRsaEncrypt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyRsaEncryptOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        encrypt(&Caller::new(handle, Work::RsaEncrypt, callback, tag, op), op, out)
    }

    fn cpaCyRsaDecrypt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyRsaDecryptOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        decrypt(&Caller::new(handle, Work::RsaDecrypt, callback, tag, op), op, None, out)
    }

    fn cpaCyRsaDpaDecrypt(
        handle: CpaInstanceHandle,
        callback: CpaCyGenFlatBufCbFunc,
        tag: *mut c_void,
        op: *const CpaCyRsaDecryptOpData,
        dpa: *const CpaCyRsaDpaOpData,
        out: *mut CpaFlatBuffer,
    ) {
        let callback = callback.map(|call| Callback::Flat(call, out));
        let caller = Caller::new(handle, Work::RsaDecrypt, callback, tag, op);
        if dpa.is_null() {
            return refuse(&caller, Refusal::invalid("no data for the hardening"));
        }
        decrypt(&caller, op, Some(dpa), out)
    }
}
