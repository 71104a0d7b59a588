//! Which session is served by which kernel: the one place where that is decided.
//!
//! | session | kernel |
//! |---|---|
//! | AES-GCM | own and intel-ipsec-mb, a message at a time: it gains nothing by lanes |
//! | AES-GMAC | intel-ipsec-mb, a message at a time |
//! | AES-CBC (encryption) | own, lanes; below AVX-512 intel-ipsec-mb's |
//! | AES-CTR, AES-ECB | own, messages in turn |
//! | AES-CBC (decryption) | intel-ipsec-mb, messages in turn |
//! | CMAC, XCBC, CBC-MAC, AES-CCM | own, lanes; below AVX-512 intel-ipsec-mb's (but CBC-MAC) |
//! | SNOW 3G, ZUC | own, lanes; below AVX-512 intel-ipsec-mb's |
//! | hashes and HMACs | own, lanes |
//! | DES, triple DES | own, lanes; below AVX-512 the CBC modes are intel-ipsec-mb's |
//! | SM4, ChaCha20, ChaCha20-Poly1305, Poly1305 | own, lanes |
//! | KASUMI F8, ARC4 | own, lanes, on every CPU |
//! | chains | both parts in lanes, one after the other, when both have some |
//! | anything else, what a CPU has no lanes of ours for, and intel-ipsec-mb's part without it | `single` |

use lookaside_cipher_kernel as kernel;
use lookaside_simd::{Cpu, Tier};
use zeroize::Zeroizing;

use super::cbc_mac::MacKey;
use super::hash::{HashKey, HashLane};
use super::own::{OwnCipher, OwnKey};
use super::{Limits, MOST};
use crate::library::ipsec_mb::{Functions, Gcm, Schedule};
use crate::library::ipsec_mb_steps::{Algorithm, CipherStep, MacStep, Mode};
use crate::{Aead, Auth, Cipher, Hash, Order, Spec};

/// Lanes for a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherLane {
    IpsecMb(CipherStep),
    /// Our kernel encrypts; intel-ipsec-mb decrypts, where it is there.
    AesCbc(CipherStep, bool),
    Own(OwnCipher),
}

/// Lanes for a hash or MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacLane {
    IpsecMb(MacStep),
    Hash(HashLane),
    /// CMAC, XCBC, and CBC-MAC, whose blocks are whole.
    CbcMac {
        whole_blocks: bool,
    },
    Poly1305,
    KasumiF9,
    Snow3gUia2,
    ZucEia3,
}

/// Lanes for an AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AeadLane {
    Ccm(CipherStep),
    OwnCcm,
    ChaCha20Poly1305,
}

/// What serves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `single`: one packet at a time.
    Single,
    /// AES-GCM.
    Gcm,
    /// AES-GMAC.
    Gmac,
    /// AES-CTR: in lanes or not is the same.
    Ctr,
    /// AES-ECB, likewise.
    Ecb,
    /// An AEAD.
    Aead(AeadLane),
    /// A cipher, a MAC, or a chain of them.
    Steps {
        cipher: Option<CipherLane>,
        mac: Option<MacLane>,
        /// What sealing begins with.
        order: Order,
    },
}

impl Kernel {
    /// A number that no other kernel has: quicker to compare than the whole.
    fn code(self) -> u64 {
        let step = |step: CipherStep| u64::from(step.key_len) << 8 | step.mode as u64;
        let cipher = |lane: CipherLane| match lane {
            CipherLane::IpsecMb(lane) => step(lane),
            CipherLane::AesCbc(lane, library) => (2 + u64::from(library)) << 16 | step(lane),
            CipherLane::Own(OwnCipher(cipher)) => 1 << 16 | cipher as u64,
        };
        let mac = |lane: MacLane| match lane {
            MacLane::IpsecMb(step) => u64::from(step.len) << 8 | step.algorithm as u64,
            MacLane::Hash(lane) => 1 << 16 | u64::from(lane.hmac) << 8 | lane.hash as u64,
            MacLane::KasumiF9 => 2 << 16,
            MacLane::Poly1305 => 4 << 16,
            MacLane::Snow3gUia2 => 5 << 16,
            MacLane::ZucEia3 => 6 << 16,
            MacLane::CbcMac { whole_blocks } => 3 << 16 | u64::from(whole_blocks),
        };
        match self {
            Kernel::Single => 0,
            Kernel::Gcm => 1,
            Kernel::Gmac => 2,
            Kernel::Aead(AeadLane::Ccm(lane)) => 3 | step(lane) << 8,
            Kernel::Aead(AeadLane::ChaCha20Poly1305) => 3 | 1 << 30,
            Kernel::Aead(AeadLane::OwnCcm) => 3 | 1 << 31,
            Kernel::Ctr => 5,
            Kernel::Ecb => 6,
            Kernel::Steps { cipher: first, mac: second, order } => {
                let order = u64::from(order == Order::AuthThenCipher);
                4 | order << 3 | first.map_or(0, cipher) << 8 | second.map_or(0, mac) << 32
            }
        }
    }

    /// Whether it needs the lanes of intel-ipsec-mb.
    #[inline(always)]
    pub(crate) fn ipsec_mb(self) -> bool {
        match self {
            Kernel::Aead(lane) => matches!(lane, AeadLane::Ccm(_)),
            Kernel::Steps { cipher, mac, .. } => {
                matches!(cipher, Some(CipherLane::IpsecMb(_) | CipherLane::AesCbc(_, true)))
                    || matches!(mac, Some(MacLane::IpsecMb(_)))
            }
            Kernel::Single | Kernel::Gcm | Kernel::Gmac | Kernel::Ctr | Kernel::Ecb => false,
        }
    }

    /// The fewest packets that go side by side; fewer are quicker one by one. Measured by
    /// `benches/lanes.rs`: on Sapphire Rapids, and what has a floor of 2 or 4 on Zen 5.
    pub(crate) fn floor(self) -> usize {
        match self {
            Kernel::Steps { cipher: Some(CipherLane::IpsecMb(step)), .. } => match step.mode {
                // It clears what is left in its lanes at the cost of many packets.
                Mode::Snow3gUea2 => 14,
                _ => 3,
            },
            Kernel::Steps { mac: Some(MacLane::IpsecMb(_)), .. } => 3,
            Kernel::Steps {
                cipher: Some(CipherLane::Own(OwnCipher(Cipher::ChaCha20))), ..
            } => 3,
            Kernel::Aead(AeadLane::Ccm(_) | AeadLane::ChaCha20Poly1305) => 3,
            Kernel::Aead(AeadLane::OwnCcm) => 2,
            Kernel::Steps { cipher: None, mac: Some(MacLane::Poly1305), .. } => 4,
            Kernel::Steps { cipher: None, mac: Some(MacLane::CbcMac { .. }), .. } => 2,
            Kernel::Steps { cipher: Some(CipherLane::AesCbc(..)), mac: None, .. } => 2,
            Kernel::Steps {
                cipher: Some(CipherLane::Own(OwnCipher(Cipher::Snow3gUea2 | Cipher::ZucEea3))),
                mac: None,
                ..
            } => 2,
            _ => 1,
        }
    }

    /// Who it is, for people to read; none for `single`.
    pub(crate) fn name(self, tier: Tier) -> Option<&'static str> {
        let own = match self {
            Kernel::Single => return None,
            Kernel::Steps { cipher, mac, .. } => {
                matches!(cipher, Some(CipherLane::Own(_) | CipherLane::AesCbc(..)))
                    || matches!(mac, Some(mac) if !matches!(mac, MacLane::IpsecMb(_)))
            }
            Kernel::Aead(lane) => !matches!(lane, AeadLane::Ccm(_)),
            Kernel::Ctr | Kernel::Ecb => true,
            Kernel::Gcm => tier == Tier::Avx512,
            Kernel::Gmac => false,
        };
        let library = self.ipsec_mb() || !own || self == Kernel::Gcm;
        Some(match (library, own, tier) {
            (true, false, Tier::Avx512) => "intel-ipsec-mb 1.3, AVX-512",
            (true, false, _) => "intel-ipsec-mb 1.3, AVX2",
            (true, true, Tier::Avx512) => "kernels and intel-ipsec-mb 1.3, AVX-512",
            (true, true, _) => "kernels and intel-ipsec-mb 1.3, AVX2",
            (false, _, Tier::Avx512) => "kernels, AVX-512",
            (false, _, Tier::Avx2) => "kernels, AVX2",
            (false, _, Tier::Generic) => "kernels, portable",
        })
    }
}

/// A session's kernel and the keys that are prepared for it.
pub(crate) struct Plan {
    pub kernel: Kernel,
    /// Equal for equal kernels only.
    pub code: u64,
    pub limits: Limits,
    pub tag_len: usize,
    pub schedule: Option<Box<Schedule>>,
    pub gcm: Option<Gcm>,
    pub hash: Option<Box<HashKey>>,
    pub mac: Option<Box<MacKey>>,
    /// Of Poly1305.
    pub one_time: Option<Box<Zeroizing<[u8; 32]>>>,
    pub own: Option<OwnKey>,
}

impl Plan {
    pub(crate) fn new(spec: &Spec, cpu: &Cpu) -> Plan {
        let mut plan = Plan {
            kernel: Kernel::Single,
            code: 0,
            limits: Limits::default(),
            tag_len: tag_len(spec),
            schedule: None,
            gcm: None,
            hash: None,
            mac: None,
            one_time: None,
            own: None,
        };
        if let Some(kernel) = plan.choose(spec, cpu) {
            plan.limits.tag_len = plan.tag_len as u32;
            plan.kernel = kernel;
            plan.code = kernel.code();
        }
        plan
    }

    /// The kernel, with its keys prepared; none when it is to be `single`.
    fn choose(&mut self, spec: &Spec, cpu: &Cpu) -> Option<Kernel> {
        let steps = |cipher, mac, order| Some(Kernel::Steps { cipher, mac, order });
        match spec {
            Spec::Aead { aead: Aead::AesGcm, key, .. } => {
                self.gcm = Gcm::new(cpu, key);
                self.own = OwnKey::gcm(cpu, key);
                self.limits = Limits::gcm();
                (self.gcm.is_some() || self.own.is_some()).then_some(Kernel::Gcm)
            }
            Spec::Auth { auth: Auth::AesGmac, key, .. } => {
                self.gcm = Gcm::new(cpu, key);
                self.limits = Limits::gmac();
                self.gcm.as_ref().map(|_| Kernel::Gmac)
            }
            Spec::Aead { aead, key, .. } => {
                let lane = self.aead_lane(*aead, key, cpu)?;
                self.limits = Limits::aead(lane);
                Some(Kernel::Aead(lane))
            }
            Spec::Cipher { cipher, key } => {
                let lane = self.cipher_lane(*cipher, key, cpu)?;
                self.limits.set_cipher(lane);
                match lane {
                    CipherLane::Own(OwnCipher(Cipher::AesCtr)) => Some(Kernel::Ctr),
                    CipherLane::Own(OwnCipher(Cipher::AesEcb)) => Some(Kernel::Ecb),
                    _ => steps(Some(lane), None, Order::CipherThenAuth),
                }
            }
            Spec::Auth { auth, key, .. } => {
                let lane = self.mac_lane(*auth, key, cpu)?;
                self.limits.set_mac(lane);
                steps(None, Some(lane), Order::CipherThenAuth)
            }
            Spec::Chain { cipher, cipher_key, auth, auth_key, order, .. } => {
                let mac = self.mac_lane(*auth, auth_key, cpu)?;
                let cipher = self.cipher_lane(*cipher, cipher_key, cpu)?;
                self.limits.set_cipher(cipher);
                self.limits.set_mac(mac);
                steps(Some(cipher), Some(mac), *order)
            }
            Spec::TlsCbc { .. } => None,
        }
    }

    /// Whether several packets at once are quicker than one after the other.
    #[inline(always)]
    pub(crate) fn side_by_side(&self) -> bool {
        match self.kernel {
            Kernel::Single | Kernel::Gcm | Kernel::Gmac | Kernel::Ctr | Kernel::Ecb => false,
            Kernel::Aead(_) | Kernel::Steps { .. } => true,
        }
    }

    /// How many packets at once are worth waiting for: what the lanes of the widest kernel take.
    pub(crate) fn best_batch(&self) -> usize {
        match self.kernel {
            Kernel::Steps {
                cipher: Some(CipherLane::Own(OwnCipher(Cipher::KasumiF8))), ..
            }
            | Kernel::Steps { mac: Some(MacLane::KasumiF9), .. } => MOST,
            _ if self.side_by_side() => 32,
            _ => 1,
        }
    }

    /// Whether two plans' packets may go together.
    #[inline(always)]
    pub(crate) fn same(&self, other: &Plan) -> bool {
        self.code == other.code
    }

    /// The schedule for intel-ipsec-mb, which a session in its lanes has.
    fn schedule(&mut self) -> &mut Schedule {
        self.schedule.get_or_insert_with(Schedule::new)
    }

    fn aead_lane(&mut self, aead: Aead, key: &[u8], cpu: &Cpu) -> Option<AeadLane> {
        if aead == Aead::ChaCha20Poly1305 {
            // The portable kernel has no lanes.
            cpu.avx2()?;
            self.own = OwnKey::new(cpu, Cipher::ChaCha20, key);
            return self.own.as_ref().map(|_| AeadLane::ChaCha20Poly1305);
        }
        if cpu.avx512().is_some() {
            self.own = Some(OwnKey::aes(cpu, key)?);
            return Some(AeadLane::OwnCcm);
        }
        // Version 1.3 has no CCM with keys of 24 bytes.
        let functions = Functions::of(cpu).filter(|_| key.len() != 24)?;
        self.schedule().set_aes(functions, key)?;
        Some(AeadLane::Ccm(CipherStep { mode: Mode::Ccm, key_len: key.len() as u8 }))
    }

    fn cipher_lane(&mut self, cipher: Cipher, key: &[u8], cpu: &Cpu) -> Option<CipherLane> {
        if own_cipher(cipher, cpu) {
            self.own = OwnKey::new(cpu, cipher, key);
            return self.own.as_ref().map(|_| CipherLane::Own(OwnCipher(cipher)));
        }
        let functions = Functions::of(cpu);
        if cipher == Cipher::AesCbc && cpu.avx512().is_some() {
            self.own = Some(OwnKey::aes(cpu, key)?);
            if let Some(functions) = functions {
                self.schedule().set_aes(functions, key)?;
            }
            let step = CipherStep { mode: Mode::Cbc, key_len: key.len() as u8 };
            return Some(CipherLane::AesCbc(step, functions.is_some()));
        }
        let functions = functions?;
        let mode = match cipher {
            Cipher::AesCbc => Mode::Cbc,
            Cipher::DesCbc => Mode::Des,
            Cipher::TripleDesCbc => Mode::Des3,
            Cipher::Snow3gUea2 => Mode::Snow3gUea2,
            Cipher::ZucEea3 => Mode::ZucEea3,
            _ => return None,
        };
        let schedule = self.schedule();
        match mode {
            Mode::Des | Mode::Des3 => schedule.set_des(functions, key)?,
            Mode::Snow3gUea2 => schedule.set_snow3g(functions, key, false)?,
            Mode::ZucEea3 => schedule.set_plain(key, false)?,
            _ => schedule.set_aes(functions, key)?,
        }
        Some(CipherLane::IpsecMb(CipherStep { mode, key_len: key.len() as u8 }))
    }

    fn mac_lane(&mut self, auth: Auth, key: &[u8], cpu: &Cpu) -> Option<MacLane> {
        if let Some(lane) = own_hash(auth, cpu) {
            self.hash = HashKey::new(cpu, lane, key).map(Box::new);
            return self.hash.as_ref().map(|_| MacLane::Hash(lane));
        }
        if auth == Auth::KasumiF9 && kernel::kasumi::lanes(cpu) > 1 {
            self.own = OwnKey::kasumi(key);
            return self.own.as_ref().map(|_| MacLane::KasumiF9);
        }
        self.mac = MacKey::new(cpu, auth, key);
        if self.mac.is_some() {
            return Some(MacLane::CbcMac { whole_blocks: auth == Auth::AesCbcMac });
        }
        if auth == Auth::Poly1305 && cpu.avx512().is_some() {
            self.one_time = Some(Box::new(Zeroizing::new(key.try_into().ok()?)));
            return Some(MacLane::Poly1305);
        }
        let stream = match auth {
            Auth::Snow3gUia2 => Some(MacLane::Snow3gUia2),
            Auth::ZucEia3 => Some(MacLane::ZucEia3),
            _ => None,
        };
        if stream.is_some() && cpu.avx512().is_some() {
            self.own = OwnKey::stream(key);
            return stream.filter(|_| self.own.is_some());
        }
        let (algorithm, len) = match auth {
            // RFC 3566's length: version 1.3 gives no more.
            Auth::AesXcbc => (Algorithm::Xcbc, 12),
            Auth::AesCmac if key.len() == 16 => (Algorithm::Cmac, 16),
            Auth::AesCmac if key.len() == 32 => (Algorithm::Cmac256, 16),
            Auth::Snow3gUia2 => (Algorithm::Snow3gUia2, 4),
            Auth::ZucEia3 => (Algorithm::ZucEia3, 4),
            _ => return None,
        };
        let functions = Functions::of(cpu).filter(|_| self.tag_len <= usize::from(len))?;
        let schedule = self.schedule();
        match auth {
            Auth::AesXcbc => schedule.set_xcbc(functions, key)?,
            Auth::AesCmac => schedule.set_cmac(functions, key)?,
            Auth::Snow3gUia2 => schedule.set_snow3g(functions, key, true)?,
            _ => schedule.set_plain(key, true)?,
        }
        Some(MacLane::IpsecMb(MacStep { algorithm, len }))
    }
}

/// Ciphers that our kernels have lanes for, where these are quicker than one packet at a time.
fn own_cipher(cipher: Cipher, cpu: &Cpu) -> bool {
    match cipher {
        Cipher::DesEcb
        | Cipher::DesCbc
        | Cipher::TripleDesEcb
        | Cipher::TripleDesCbc
        | Cipher::TripleDesCtr => kernel::des::lanes(cpu) > 1,
        Cipher::Sm4Ecb | Cipher::Sm4Cbc | Cipher::Sm4Ctr => kernel::sm4::lanes(cpu) > 1,
        Cipher::KasumiF8 => true,
        Cipher::Snow3gUea2 | Cipher::ZucEea3 => cpu.avx512().is_some(),
        Cipher::Arc4 => true,
        Cipher::ChaCha20 | Cipher::AesCtr | Cipher::AesEcb => cpu.avx2().is_some(),
        _ => false,
    }
}

/// Hashes and HMACs that our kernels have lanes for.
fn own_hash(auth: Auth, cpu: &Cpu) -> Option<HashLane> {
    use kernel::hash::Algorithm;
    let (hash, hmac) = match auth {
        Auth::Plain(hash) => (hash, false),
        Auth::Hmac(hash) => (hash, true),
        _ => return None,
    };
    let algorithm = match hash {
        Hash::Md5 => Algorithm::Md5,
        Hash::Sha1 => Algorithm::Sha1,
        Hash::Sha224 | Hash::Sha256 => Algorithm::Sha256,
        Hash::Sha384 | Hash::Sha512 => Algorithm::Sha512,
        Hash::Sm3 => Algorithm::Sm3,
        Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => Algorithm::Keccak,
        Hash::Crc32 | Hash::Crc64 => return None,
    };
    (kernel::hash::lanes(cpu, algorithm) > 1).then_some(HashLane { hash, hmac })
}

/// The length of a session's tags; 0 when it makes none.
fn tag_len(spec: &Spec) -> usize {
    match spec {
        Spec::Auth { tag_len, .. } | Spec::Aead { tag_len, .. } | Spec::Chain { tag_len, .. } => {
            *tag_len
        }
        Spec::Cipher { .. } | Spec::TlsCbc { .. } => 0,
    }
}
