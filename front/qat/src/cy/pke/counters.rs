//! What an instance has done with public keys. Every operation has the same five counters; the interface's
//! structures of statistics are made of them.

use core::sync::atomic::{AtomicU64, Ordering};

macro_rules! work {
    ($($name:ident $text:literal;)*) => {
        /// The operations that are counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Work {
            $(#[doc = $text] $name,)*
        }

        impl Work {
            /// All of them, in their order.
            pub const ALL: &[Work] = &[$(Work::$name),*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Work::$name => $text,)*
                }
            }
        }
    };
}

work! {
    RsaKeyGen "RSA keys";
    RsaEncrypt "RSA public operations";
    RsaDecrypt "RSA private operations";
    DhPhase1 "Diffie-Hellman public values";
    DhPhase2 "Diffie-Hellman secrets";
    DsaP "DSA P";
    DsaG "DSA G";
    DsaY "DSA Y";
    DsaSignR "DSA r";
    DsaSignS "DSA s";
    DsaSignRs "DSA signatures";
    DsaVerify "DSA verifications";
    EcMultiply "EC multiplications";
    EcVerify "EC points verified";
    Ecdh "ECDH multiplications";
    EcdsaSignR "ECDSA r";
    EcdsaSignS "ECDSA s";
    EcdsaSignRs "ECDSA signatures";
    EcdsaVerify "ECDSA verifications";
    Sm2Multiply "SM2 multiplications";
    Sm2Generator "SM2 generator multiplications";
    Sm2PointVerify "SM2 points verified";
    Sm2Sign "SM2 signatures";
    Sm2Verify "SM2 verifications";
    Sm2Encrypt "SM2 encryptions";
    Sm2Decrypt "SM2 decryptions";
    Sm2KeyExchange1 "SM2 key exchanges, phase 1";
    Sm2KeyExchange2 "SM2 key exchanges, phase 2";
    KeySsl "SSL keys";
    KeyTls "TLS keys";
    KeyMgf "masks";
    ModExp "modular powers";
    ModInv "modular inverses";
    Prime "numbers tested for primality";
}

/// What is counted of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was accepted.
    Request,
    /// A request was refused.
    Refused,
    /// It was completed.
    Completed,
    /// It failed.
    Failed,
    /// It was completed, and its output is not valid: a signature is wrong, a point infinite.
    Invalid,
}

/// All events.
pub const EVENTS: usize = 5;

/// The counters of an instance.
pub struct PkeCounters([[AtomicU64; EVENTS]; Work::ALL.len()]);

impl PkeCounters {
    /// All 0.
    pub const fn new() -> PkeCounters {
        PkeCounters([const { [const { AtomicU64::new(0) }; EVENTS] }; Work::ALL.len()])
    }

    /// Counts one.
    #[inline]
    pub fn count(&self, work: Work, event: Event) {
        self.0[work as usize][event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted, in the order of [`Event`].
    pub fn read(&self, work: Work) -> [u64; EVENTS] {
        self.0[work as usize].each_ref().map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Sets all to 0.
    pub fn clear(&self) {
        self.0.iter().flatten().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

impl Default for PkeCounters {
    fn default() -> PkeCounters {
        PkeCounters::new()
    }
}
