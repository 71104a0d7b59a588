//! Which session is served by which kernel: the one place where that is decided.
//!
//! | session | kernel |
//! |---|---|
//! | AES-GCM, AES-GMAC | intel-ipsec-mb, a message at a time: it gains nothing by lanes |
//! | AES-CBC (encryption), DES-CBC, 3DES-CBC, SNOW 3G, ZUC | intel-ipsec-mb, lanes |
//! | AES-CBC (decryption), AES-CTR, AES-ECB | intel-ipsec-mb, messages in turn, no call for each |
//! | HMAC of MD5, SHA-1 and SHA-2, XCBC, CMAC, UIA2, EIA3 | intel-ipsec-mb, lanes |
//! | AES-CCM, ChaCha20-Poly1305 | intel-ipsec-mb |
//! | chains | both parts in lanes, one after the other, when both have some |
//! | anything else, and everything below AVX2 or without intel-ipsec-mb | `single` |

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use super::Limits;
use crate::library::ipsec_mb::{Functions, Gcm, Schedule};
use crate::library::ipsec_mb_steps::{Algorithm, CipherStep, MacStep, Mode};
use crate::single::hash::HashState;
use crate::{Aead, Auth, Cipher, Hash, Order, Spec};

/// Lanes for a cipher.
pub(crate) type CipherLane = CipherStep;

/// Lanes for a hash or MAC.
pub(crate) type MacLane = MacStep;

/// What serves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// `single`: one packet at a time.
    Single,
    /// AES-GCM.
    Gcm,
    /// AES-GMAC.
    Gmac,
    /// An AEAD of intel-ipsec-mb.
    Aead(CipherStep),
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
        let cipher = |step: CipherStep| u64::from(step.key_len) << 8 | step.mode as u64;
        let mac = |step: MacStep| u64::from(step.len) << 8 | step.algorithm as u64;
        match self {
            Kernel::Single => 0,
            Kernel::Gcm => 1,
            Kernel::Gmac => 2,
            Kernel::Aead(step) => 3 | cipher(step) << 8,
            Kernel::Steps { cipher: first, mac: second, order } => {
                let order = u64::from(order == Order::AuthThenCipher);
                4 | order << 3 | first.map_or(0, cipher) << 8 | second.map_or(0, mac) << 32
            }
        }
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
        };
        if let Some(kernel) = plan.choose(spec, cpu) {
            plan.kernel = kernel;
            plan.code = kernel.code();
        }
        plan
    }

    /// The kernel, with its keys prepared; none when it is to be `single`.
    fn choose(&mut self, spec: &Spec, cpu: &Cpu) -> Option<Kernel> {
        let functions = Functions::of(cpu)?;
        let mut schedule = Schedule::new();
        let kernel = match spec {
            Spec::Aead { aead: Aead::AesGcm, key, .. } => {
                self.gcm = Gcm::new(cpu, key);
                self.limits = Limits::gcm();
                self.gcm.as_ref().map(|_| Kernel::Gcm)?
            }
            Spec::Auth { auth: Auth::AesGmac, key, .. } => {
                self.gcm = Gcm::new(cpu, key);
                self.limits = Limits::gmac();
                self.gcm.as_ref().map(|_| Kernel::Gmac)?
            }
            Spec::Aead { aead, key, .. } => {
                let step = aead_step(*aead, key, functions, &mut schedule)?;
                self.limits = Limits::aead(*aead);
                Kernel::Aead(step)
            }
            Spec::Cipher { cipher, key } => {
                let lane = cipher_lane(*cipher, key, functions, &mut schedule)?;
                self.limits.set_cipher(lane);
                Kernel::Steps { cipher: Some(lane), mac: None, order: Order::CipherThenAuth }
            }
            Spec::Auth { auth, key, .. } => {
                let lane = mac_lane(*auth, key, functions, &mut schedule)?;
                self.limits.set_mac(lane);
                Kernel::Steps { cipher: None, mac: Some(lane), order: Order::CipherThenAuth }
            }
            Spec::Chain { cipher, cipher_key, auth, auth_key, order, .. } => {
                let mac = mac_lane(*auth, auth_key, functions, &mut schedule)?;
                let cipher = cipher_lane(*cipher, cipher_key, functions, &mut schedule)?;
                self.limits.set_cipher(cipher);
                self.limits.set_mac(mac);
                Kernel::Steps { cipher: Some(cipher), mac: Some(mac), order: *order }
            }
            Spec::TlsCbc { .. } => return None,
        };
        if let Kernel::Steps { mac: Some(mac), .. } = kernel
            && self.tag_len > usize::from(mac.len)
        {
            return None;
        }
        if !matches!(kernel, Kernel::Gcm | Kernel::Gmac) {
            self.schedule = Some(schedule);
        }
        self.limits.tag_len = self.tag_len as u32;
        Some(kernel)
    }

    /// Whether several packets at once are quicker than one after the other.
    pub(crate) fn side_by_side(&self) -> bool {
        !matches!(self.kernel, Kernel::Single | Kernel::Gcm | Kernel::Gmac)
    }

    /// Whether two plans' packets may go together.
    #[inline(always)]
    pub(crate) fn same(&self, other: &Plan) -> bool {
        self.code == other.code
    }
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

fn aead_step(
    aead: Aead,
    key: &[u8],
    functions: &Functions,
    schedule: &mut Schedule,
) -> Option<CipherStep> {
    let mode = match aead {
        // Version 1.3 has no CCM with keys of 24 bytes.
        Aead::AesCcm if key.len() == 24 => return None,
        Aead::AesCcm => {
            schedule.set_aes(functions, key)?;
            Mode::Ccm
        }
        Aead::ChaCha20Poly1305 => {
            schedule.set_plain(key, false)?;
            Mode::ChaCha20Poly1305
        }
        Aead::AesGcm => return None,
    };
    Some(CipherStep { mode, key_len: key.len() as u8 })
}

fn cipher_lane(
    cipher: Cipher,
    key: &[u8],
    functions: &Functions,
    schedule: &mut Schedule,
) -> Option<CipherLane> {
    let mode = match cipher {
        Cipher::AesCbc => Mode::Cbc,
        Cipher::AesCtr => Mode::Ctr,
        Cipher::AesEcb => Mode::Ecb,
        Cipher::DesCbc => Mode::Des,
        Cipher::TripleDesCbc => Mode::Des3,
        Cipher::Snow3gUea2 => Mode::Snow3gUea2,
        Cipher::ZucEea3 => Mode::ZucEea3,
        _ => return None,
    };
    match mode {
        Mode::Des | Mode::Des3 => schedule.set_des(functions, key)?,
        Mode::Snow3gUea2 => schedule.set_snow3g(functions, key, false)?,
        Mode::ZucEea3 => schedule.set_plain(key, false)?,
        _ => schedule.set_aes(functions, key)?,
    }
    Some(CipherStep { mode, key_len: key.len() as u8 })
}

fn mac_lane(
    auth: Auth,
    key: &[u8],
    functions: &Functions,
    schedule: &mut Schedule,
) -> Option<MacLane> {
    let (algorithm, len) = match auth {
        Auth::Hmac(hash) => (hmac(hash)?, hash.len()),
        // RFC 3566's length: version 1.3 gives no more.
        Auth::AesXcbc => (Algorithm::Xcbc, 12),
        Auth::AesCmac if key.len() == 16 => (Algorithm::Cmac, 16),
        Auth::AesCmac if key.len() == 32 => (Algorithm::Cmac256, 16),
        Auth::Snow3gUia2 => (Algorithm::Snow3gUia2, 4),
        Auth::ZucEia3 => (Algorithm::ZucEia3, 4),
        _ => return None,
    };
    match auth {
        Auth::Hmac(hash) if key.len() > hash.block_len() => {
            let mut short = Zeroizing::new([0; 64]);
            let short = &mut short[..hash.len()];
            let mut state = HashState::new(hash);
            state.update(Cpu::host(), key);
            state.finish(Cpu::host(), short);
            schedule.set_hmac(functions, hash, short)?;
        }
        Auth::Hmac(hash) => schedule.set_hmac(functions, hash, key)?,
        Auth::AesXcbc => schedule.set_xcbc(functions, key)?,
        Auth::AesCmac => schedule.set_cmac(functions, key)?,
        Auth::Snow3gUia2 => schedule.set_snow3g(functions, key, true)?,
        _ => schedule.set_plain(key, true)?,
    }
    Some(MacStep { algorithm, len: len as u8 })
}

fn hmac(hash: Hash) -> Option<Algorithm> {
    Some(match hash {
        Hash::Md5 => Algorithm::HmacMd5,
        Hash::Sha1 => Algorithm::HmacSha1,
        Hash::Sha224 => Algorithm::HmacSha224,
        Hash::Sha256 => Algorithm::HmacSha256,
        Hash::Sha384 => Algorithm::HmacSha384,
        Hash::Sha512 => Algorithm::HmacSha512,
        _ => return None,
    })
}
