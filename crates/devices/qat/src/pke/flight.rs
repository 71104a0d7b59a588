//! One public-key request at the card: its structures and numbers, which stay where they are until it has answered.
#![allow(unsafe_code)]

use core::{ffi::c_void, mem::ManuallyDrop, ptr};

use lookaside_quickassist::*;
use zeroize::Zeroize;

use crate::{
    call::{Call, answer},
    card::Card,
    crypto::CyLent,
    memory::Memory,
};

/// The most numbers of a request: those of a signature, and its two halves.
const NUMBERS: usize = 11;

/// What an operation's structure is.
union Data {
    rsa: ManuallyDrop<CpaCyRsaDecryptOpData>,
    sign: ManuallyDrop<CpaCyEcdsaSignRSOpData>,
    multiply: ManuallyDrop<CpaCyEcPointMultiplyOpData>,
}

/// What the library has pointers to.
struct Structures {
    /// What synchronous calls would write to.
    unused: CpaBoolean,
    key: CpaCyRsaPrivateKey,
    data: Data,
    out: [CpaFlatBuffer; 2],
}

unsafe extern "C" fn one_number(
    tag: *mut c_void,
    status: CpaStatus,
    _data: *mut c_void,
    _out: *mut CpaFlatBuffer,
) {
    // SAFETY: of a request of ours.
    unsafe { answer::<Structures>(tag, status, true) };
}

unsafe extern "C" fn two_numbers(
    tag: *mut c_void,
    status: CpaStatus,
    _data: *mut c_void,
    valid: CpaBoolean,
    _first: *mut CpaFlatBuffer,
    _second: *mut CpaFlatBuffer,
) {
    // SAFETY: of a request of ours.
    unsafe { answer::<Structures>(tag, status, valid == CPA_TRUE) };
}

/// What the card is to do. Numbers are big-endian; behind them come the results' lengths.
pub(crate) enum Ask<'a> {
    /// The power of a number: p, q, d mod p - 1, d mod q - 1, 1/q mod p, the number.
    Rsa { numbers: [&'a [u8]; 6], len: usize },
    /// A signature: the generator, the order, the prime, two coefficients, nonce, digest, key.
    Sign { numbers: [&'a [u8]; 9], len: usize },
    /// A product: scalar, point, two coefficients, the prime, the cofactor.
    Multiply { numbers: [&'a [u8]; 7], len: usize },
}

impl<'a> Ask<'a> {
    fn numbers(&self) -> (&[&'a [u8]], [usize; 2]) {
        match self {
            Ask::Rsa { numbers, len } => (numbers, [*len, 0]),
            Ask::Sign { numbers, len } => (numbers, [*len; 2]),
            Ask::Multiply { numbers, len } => (numbers, [*len; 2]),
        }
    }
}

/// Where a request lies that is at the card, or will be.
pub(crate) struct Flight {
    call: Call<Structures>,
    data: Memory,
    used: usize,
    /// Where the results are.
    out: [core::ops::Range<usize>; 2],
}

impl Flight {
    /// `None` where there is no memory.
    pub(crate) fn new(card: &Card, lent: &CyLent) -> Option<Flight> {
        let data = Memory::new(card, lent.node, 64)?;
        // SAFETY: integers and pointers that may be null: zeros are values.
        let call = unsafe { Call::zeroed() };
        Some(Flight { call, data, used: 0, out: [0..0, 0..0] })
    }

    /// Gives it to the card. It flies if the answer is success.
    pub(crate) fn submit(&mut self, card: &Card, lent: &CyLent, ask: &Ask<'_>) -> CpaStatus {
        let Some(cy) = &card.library.cy else { return CPA_STATUS_UNSUPPORTED };
        let (numbers, outs) = ask.numbers();
        let place = |len: usize| len.next_multiple_of(64);
        let all = numbers.iter().map(|n| n.len()).chain(outs).map(place).sum();
        if self.data.len() < all {
            match Memory::new(card, lent.node, all) {
                Some(more) => self.data = more,
                None => return CPA_STATUS_RESOURCE,
            }
        }
        self.used = all;
        let memory = self.data.bytes_mut();
        let empty = CpaFlatBuffer { dataLenInBytes: 0, pData: ptr::null_mut() };
        let (mut flat, mut at) = ([empty; NUMBERS], 0);
        let lens = numbers.iter().map(|n| n.len()).chain(outs);
        for (i, (flat, len)) in flat.iter_mut().zip(lens).enumerate() {
            if let Some(number) = numbers.get(i) {
                memory[at..at + len].copy_from_slice(number);
            } else {
                memory[at..at + len].fill(0);
                self.out[i - numbers.len()] = at..at + len;
            }
            let start = memory[at..].as_mut_ptr();
            *flat = CpaFlatBuffer { dataLenInBytes: len as u32, pData: start };
            at += place(len);
        }
        let n = |i: usize| flat[i];
        let call = self.call.structures();
        // SAFETY: the call is ours as long as it does not fly. What the library is given stays until it has answered: the
        // memory is this flight's, and a flight that flies is never freed.
        unsafe {
            (*call).out = [n(numbers.len()), n(numbers.len() + 1)];
            let (tag, unused) = (self.call.tag(), &raw mut (*call).unused);
            let first = (&raw mut (*call).out).cast::<CpaFlatBuffer>();
            let status = match ask {
                Ask::Rsa { .. } => {
                    (*call).key = CpaCyRsaPrivateKey {
                        version: CPA_CY_RSA_VERSION_TWO_PRIME,
                        privateKeyRepType: CPA_CY_RSA_PRIVATE_KEY_REP_TYPE_2,
                        privateKeyRep1: CpaCyRsaPrivateKeyRep1 {
                            modulusN: empty,
                            privateExponentD: empty,
                        },
                        privateKeyRep2: CpaCyRsaPrivateKeyRep2 {
                            prime1P: n(0),
                            prime2Q: n(1),
                            exponent1Dp: n(2),
                            exponent2Dq: n(3),
                            coefficientQInv: n(4),
                        },
                    };
                    (*call).data.rsa = ManuallyDrop::new(CpaCyRsaDecryptOpData {
                        pRecipientPrivateKey: &raw mut (*call).key,
                        inputData: n(5),
                    });
                    let data = (&raw const (*call).data.rsa).cast();
                    (cy.cpaCyRsaDecrypt)(lent.handle, Some(one_number), tag, data, first)
                }
                Ask::Sign { .. } => {
                    (*call).data.sign = ManuallyDrop::new(CpaCyEcdsaSignRSOpData {
                        xg: n(0),
                        yg: n(1),
                        n: n(2),
                        q: n(3),
                        a: n(4),
                        b: n(5),
                        k: n(6),
                        m: n(7),
                        d: n(8),
                        fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
                    });
                    let data = (&raw const (*call).data.sign).cast();
                    let (callback, second) = (Some(two_numbers as _), first.add(1));
                    (cy.cpaCyEcdsaSignRS)(lent.handle, callback, tag, data, unused, first, second)
                }
                Ask::Multiply { .. } => {
                    (*call).data.multiply = ManuallyDrop::new(CpaCyEcPointMultiplyOpData {
                        k: n(0),
                        xg: n(1),
                        yg: n(2),
                        a: n(3),
                        b: n(4),
                        q: n(5),
                        h: n(6),
                        fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
                    });
                    let data = (&raw const (*call).data.multiply).cast();
                    let (callback, second) = (Some(two_numbers as _), first.add(1));
                    (cy.cpaCyEcPointMultiply)(
                        lent.handle,
                        callback,
                        tag,
                        data,
                        unused,
                        first,
                        second,
                    )
                }
            };
            self.call.submitted(status)
        }
    }

    /// The status of its answer, once there is one.
    pub(crate) fn landed(&mut self) -> Option<CpaStatus> {
        self.call.landed()
    }

    /// Whether there is a result: a product that is a point, a signature without zeros. Once the card has answered.
    pub(crate) fn is_valid(&self) -> bool {
        self.call.is_good()
    }

    /// The results: as long as was asked for, zeros in front. Not while it flies.
    pub(crate) fn results(&self) -> [&[u8]; 2] {
        let data = self.data.bytes();
        [&data[self.out[0].clone()], &data[self.out[1].clone()]]
    }

    /// How many bytes of them the card says it has written.
    pub(crate) fn result_lens(&self) -> [usize; 2] {
        // SAFETY: the library has written them before its callback.
        unsafe { (*self.call.structures()).out }.map(|flat| flat.dataLenInBytes as usize)
    }

    /// Overwrites what it holds. Not while it flies.
    pub(crate) fn wipe(&mut self) {
        let used = core::mem::take(&mut self.used);
        self.data.bytes_mut()[..used].zeroize();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.call.is_flying() {
            self.wipe();
        }
    }
}
