//! Which kernels a session has, and how they are prepared. Which of them serves a packet is a row of
//! the tables in `choice/`.
//!
//! | session | own | intel-ipsec-mb |
//! |---|---|---|
//! | AES-GCM | a message at a time | a message at a time |
//! | AES-GMAC | a message at a time | a message at a time |
//! | AES-CTR, AES-ECB, CRC-32, CRC-64, NULL | a message at a time | |
//! | AES-CBC | encryption in lanes | lanes |
//! | AES-CCM, CMAC, XCBC, SNOW 3G, ZUC | lanes | lanes |
//! | DES-CBC, triple DES-CBC | lanes | lanes |
//! | other modes of DES, CBC-MAC, hashes, HMAC, SM4, ChaCha20, ChaCha20-Poly1305, Poly1305, KASUMI, ARC4 | lanes | |
//! | chains | both parts in lanes, ours where there are | likewise, the library's where there are |
//!
//! What a kernel has no lanes for on this CPU is no candidate; without one, `single` serves.

use arrayvec::ArrayVec;
use lookaside_cipher_kernel as kernel;
use lookaside_secure::SecureBox;
use lookaside_simd::{Cpu, Tier};

use super::cbc_mac::{self, MacKey};
use super::hash::{HashKey, HashLane};
use super::own::{OwnCipher, OwnKey, copied};
use super::{Limits, MOST};
use crate::choice::{self, ANY, By, Class, MOST_CLASSES};
use crate::library::ipsec_mb::{Functions, Gcm, Schedule};
use crate::library::ipsec_mb_steps::{Algorithm, CipherStep, MacStep, Mode};
use crate::single::served_by;
use crate::{Aead, Auth, ChainOrder, Cipher, Direction, Hash, Parts, Sym};

/// Lanes for a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherLane {
    IpsecMb(CipherStep),
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

/// What serves packets side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// An AEAD.
    Aead(AeadLane),
    /// A cipher, a MAC, or a chain of them.
    Steps {
        cipher: Option<CipherLane>,
        mac: Option<MacLane>,
        /// What sealing begins with.
        order: ChainOrder,
    },
}

/// What serves a packet at a time and gains nothing by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Gcm,
    Gmac,
    Ctr,
    Ecb,
    Crc32,
    Crc64,
    Null,
}

impl Kernel {
    /// A number that no other kernel has: quicker to compare than the whole.
    fn code(self) -> u64 {
        let step = |step: CipherStep| u64::from(step.key_len) << 8 | step.mode as u64;
        let cipher = |lane: CipherLane| match lane {
            CipherLane::IpsecMb(lane) => step(lane),
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
            Kernel::Aead(AeadLane::Ccm(lane)) => 3 | step(lane) << 8,
            Kernel::Aead(AeadLane::ChaCha20Poly1305) => 3 | 1 << 30,
            Kernel::Aead(AeadLane::OwnCcm) => 3 | 1 << 31,
            Kernel::Steps { cipher: first, mac: second, order } => {
                let order = u64::from(order == ChainOrder::AuthThenCipher);
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
                matches!(cipher, Some(CipherLane::IpsecMb(_)))
                    || matches!(mac, Some(MacLane::IpsecMb(_)))
            }
        }
    }

    /// Whether it has lanes of ours.
    fn own(self) -> bool {
        match self {
            Kernel::Aead(lane) => !matches!(lane, AeadLane::Ccm(_)),
            Kernel::Steps { cipher, mac, .. } => {
                matches!(cipher, Some(CipherLane::Own(_)))
                    || matches!(mac, Some(mac) if !matches!(mac, MacLane::IpsecMb(_)))
            }
        }
    }
}

/// A kernel for packets side by side, and what they must be like.
pub(crate) struct SideBySide {
    pub kernel: Kernel,
    /// Equal for equal kernels only.
    pub code: u64,
    pub limits: Limits,
}

/// Who serves a session's packets, and the keys that are prepared for them.
pub(crate) struct Plan {
    /// One after the other; then there is nothing side by side.
    pub turn: Option<Turn>,
    /// Of [`turn`](Plan::turn).
    pub limits: Limits,
    /// Side by side: ours, and the library's.
    own: Option<SideBySide>,
    ipsec_mb: Option<SideBySide>,
    /// Of both: equal plans differ in their keys, and in who serves which length.
    form: Form,
    /// Who serves which length: sealing, opening.
    classes: [Classes; 2],
    /// Whether a packet's length is that of its authenticated region.
    by_auth: bool,
    pub tag_len: usize,
    pub schedule: Option<SecureBox<Schedule>>,
    pub gcm: Option<Gcm>,
    pub hash: Option<SecureBox<HashKey>>,
    pub mac: Option<SecureBox<MacKey>>,
    /// Of Poly1305.
    pub one_time: Option<SecureBox<[u8; 32]>>,
    pub own_key: Option<OwnKey>,
}

/// What packets of two sessions must have in common to go side by side whoever serves: the kernels, and
/// the length of the tag.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Form([u64; 2]);

/// The classes of one direction: none at all, and `single` serves.
type Classes = ArrayVec<Class, MOST_CLASSES>;

impl Plan {
    pub(crate) fn new(spec: &Sym, cpu: &Cpu) -> Plan {
        Plan::of_classes(spec, cpu, choice::classes(spec, cpu))
    }

    fn of_classes(spec: &Sym, cpu: &Cpu, classes: [&[Class]; 2]) -> Plan {
        let mut plan = Plan::without_kernels(spec);
        // Loops, not closures over arrays: unoptimised, those take more of a job's stack than the keys.
        for (direction, classes) in classes.into_iter().enumerate() {
            for &Class(most, by, floor) in classes {
                let by = plan.available(spec, cpu, by);
                let resolved = &mut plan.classes[direction];
                match resolved.last_mut() {
                    Some(last) if (last.1, last.2) == (by, floor) => last.0 = most,
                    _ => resolved.push(Class(most, by, floor)),
                }
            }
        }
        plan.set_form();
        plan
    }

    fn set_form(&mut self) {
        let tag = (self.tag_len as u64) << 56;
        let form = |side: &Option<SideBySide>| side.as_ref().map_or(0, |side| side.code | tag);
        self.form = Form([form(&self.own), form(&self.ipsec_mb)]);
    }

    #[inline(always)]
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// With one candidate for packets of all lengths and any number of them. None where the session
    /// lacks it.
    pub(crate) fn only(spec: &Sym, cpu: &Cpu, by: By) -> Option<Plan> {
        let mut plan = Plan::without_kernels(spec);
        if by != By::Single {
            plan.prepare(spec, cpu, by).then_some(())?;
        }
        plan.classes = [(); 2].map(|()| [Class(ANY, by, 1)].into_iter().collect());
        plan.set_form();
        Some(plan)
    }

    fn without_kernels(spec: &Sym) -> Plan {
        let tag_len = tag_len(spec);
        // These have one kernel on every CPU.
        let turn = match spec {
            Sym::Auth { auth: Auth::Crc32, .. } => Some(Turn::Crc32),
            Sym::Auth { auth: Auth::Crc64, .. } => Some(Turn::Crc64),
            Sym::Cipher { cipher: Cipher::Null, .. } => Some(Turn::Null),
            _ => None,
        };
        Plan {
            turn,
            limits: Limits::of_tag(tag_len),
            own: None,
            ipsec_mb: None,
            form: Form::default(),
            classes: [Classes::new(), Classes::new()],
            by_auth: matches!(spec, Sym::Auth { .. }),
            tag_len,
            schedule: None,
            gcm: None,
            hash: None,
            mac: None,
            one_time: None,
            own_key: None,
        }
    }

    /// Prepares a candidate or, where there is none of it, the next best.
    fn available(&mut self, spec: &Sym, cpu: &Cpu, by: By) -> By {
        let order = match by {
            By::Single => return By::Single,
            By::Own => [By::Own, By::IpsecMb],
            By::IpsecMb => [By::IpsecMb, By::Own],
        };
        for by in order {
            if self.prepare(spec, cpu, by) {
                return by;
            }
        }
        By::Single
    }

    /// Prepares a candidate's kernel and keys; `false`: there is none.
    fn prepare(&mut self, spec: &Sym, cpu: &Cpu, by: By) -> bool {
        let own = by == By::Own;
        match spec {
            Sym::Aead { aead: Aead::AesGcm, key, .. } => {
                (self.turn, self.limits) = (Some(Turn::Gcm), Limits::gcm());
                self.prepare_gcm(cpu, key, own, |cpu, key| {
                    OwnKey::gcm_burst(cpu, key).or_else(|| OwnKey::gcm(cpu, key))
                })
            }
            Sym::Auth { auth: Auth::AesGmac, key, .. } => {
                (self.turn, self.limits) = (Some(Turn::Gmac), Limits::gmac());
                self.prepare_gcm(cpu, key, own, OwnKey::gcm)
            }
            Sym::Cipher { cipher: cipher @ (Cipher::AesCtr | Cipher::AesEcb), key } => {
                let turn = if *cipher == Cipher::AesCtr { Turn::Ctr } else { Turn::Ecb };
                if own && self.own_key.is_none() {
                    self.own_key = OwnKey::new(cpu, *cipher, key);
                }
                self.turn = self.own_key.as_ref().map(|_| turn);
                own && self.own_key.is_some()
            }
            _ => {
                let prepared = if own { &self.own } else { &self.ipsec_mb };
                if prepared.is_some() {
                    return true;
                }
                let made = self.side_by_side_by(spec, cpu, by);
                let found = made.is_some();
                *if own { &mut self.own } else { &mut self.ipsec_mb } = made;
                found
            }
        }
    }

    /// The key of AES-GCM or GMAC for a candidate; `false`: there is none.
    fn prepare_gcm(
        &mut self,
        cpu: &Cpu,
        key: &[u8],
        own: bool,
        own_key: impl FnOnce(&Cpu, &[u8]) -> Option<OwnKey>,
    ) -> bool {
        self.limits.tag_len = self.tag_len as u32;
        if own {
            self.own_key = self.own_key.take().or_else(|| own_key(cpu, key));
            self.own_key.is_some()
        } else {
            self.gcm = self.gcm.take().or_else(|| Gcm::new(cpu, key));
            self.gcm.is_some()
        }
    }

    /// A candidate's kernel for packets side by side, with its keys prepared.
    fn side_by_side_by(&mut self, spec: &Sym, cpu: &Cpu, by: By) -> Option<SideBySide> {
        let mut limits = Limits::default();
        let kernel = match spec {
            Sym::Aead { aead, key, .. } => {
                let lane = self.aead_lane(*aead, key, cpu, by)?;
                limits = Limits::aead(lane);
                Kernel::Aead(lane)
            }
            Sym::Cipher { cipher, key } => {
                let lane = self.cipher_lane(*cipher, key, cpu, by)?;
                limits.set_cipher(lane);
                Kernel::Steps { cipher: Some(lane), mac: None, order: ChainOrder::CipherThenAuth }
            }
            Sym::Auth { auth, key, .. } => {
                let lane = self.mac_lane(*auth, key, cpu, by)?;
                limits.set_mac(lane);
                Kernel::Steps { cipher: None, mac: Some(lane), order: ChainOrder::CipherThenAuth }
            }
            Sym::Chain { cipher, cipher_key, auth, auth_key, order, .. } => {
                // Each part by the candidate if there are such lanes, by the other if not.
                let other = if by == By::Own { By::IpsecMb } else { By::Own };
                let mac = [by, other]
                    .into_iter()
                    .find_map(|by| self.mac_lane(*auth, auth_key, cpu, by))?;
                let cipher = [by, other]
                    .into_iter()
                    .find_map(|by| self.cipher_lane(*cipher, cipher_key, cpu, by))?;
                limits.set_cipher(cipher);
                limits.set_mac(mac);
                Kernel::Steps { cipher: Some(cipher), mac: Some(mac), order: *order }
            }
            Sym::TlsCbc { .. } => return None,
        };
        limits.tag_len = self.tag_len as u32;
        let is_candidate = if by == By::Own { kernel.own() } else { kernel.ipsec_mb() };
        is_candidate.then_some(SideBySide { kernel, code: kernel.code(), limits })
    }

    /// Whether several packets at once are quicker than one after the other.
    #[inline(always)]
    pub(crate) fn side_by_side(&self) -> bool {
        self.own.is_some() || self.ipsec_mb.is_some()
    }

    /// How many packets at once are worth waiting for: what the lanes of the widest kernel take.
    pub(crate) fn best_batch(&self) -> usize {
        match self.own.as_ref().map(|own| own.kernel) {
            Some(
                Kernel::Steps {
                    cipher: Some(CipherLane::Own(OwnCipher(Cipher::KasumiF8))), ..
                }
                | Kernel::Steps { mac: Some(MacLane::KasumiF9), .. },
            ) => MOST,
            _ if self.side_by_side() => 32,
            _ => 1,
        }
    }

    /// The class of a packet.
    #[inline(always)]
    fn class(&self, direction: Direction, len: u32) -> Option<&Class> {
        self.classes[direction as usize].iter().find(|class| len <= class.0)
    }

    /// Who serves a text of so many bytes.
    #[inline(always)]
    pub(crate) fn by(&self, direction: Direction, len: u32) -> By {
        self.class(direction, len).map_or(By::Single, |class| class.1)
    }

    /// The lanes for a packet, and the fewest packets that go there together; none: it is `single`'s.
    #[inline(always)]
    pub(crate) fn lanes(&self, direction: Direction, parts: &Parts) -> Option<(&SideBySide, u8)> {
        let len = if self.by_auth { parts.auth.len } else { parts.cipher.len };
        let class = self.class(direction, len)?;
        let lanes = match class.1 {
            By::Single => None,
            By::Own => self.own.as_ref(),
            By::IpsecMb => self.ipsec_mb.as_ref(),
        };
        Some((lanes?, class.2))
    }

    /// Who it is, for people to read; `single` is who serves what is in no lanes.
    pub(crate) fn served_by(&self, tier: Tier, single: &'static str) -> &'static str {
        let (mut own, mut library, mut alone) = (false, false, false);
        for Class(_, by, _) in self.classes.iter().flatten() {
            let kernel = match by {
                By::Single => None,
                By::Own => self.own.as_ref(),
                By::IpsecMb => self.ipsec_mb.as_ref(),
            };
            alone |= *by == By::Single;
            own |= kernel.map_or(*by == By::Own, |side| side.kernel.own());
            library |= kernel.map_or(*by == By::IpsecMb, |side| side.kernel.ipsec_mb());
        }
        served_by::name(own, library, alone, tier, single)
    }

    /// The schedule for intel-ipsec-mb, which a session in its lanes has.
    fn schedule(&mut self) -> &mut Schedule {
        self.schedule.get_or_insert_with(Schedule::new)
    }

    fn aead_lane(&mut self, aead: Aead, key: &[u8], cpu: &Cpu, by: By) -> Option<AeadLane> {
        match (aead, by) {
            (Aead::ChaCha20Poly1305, By::Own) => {
                // The portable kernel has no lanes.
                cpu.avx2()?;
                self.own_key = OwnKey::new(cpu, Cipher::ChaCha20, key);
                self.own_key.as_ref().map(|_| AeadLane::ChaCha20Poly1305)
            }
            (Aead::AesCcm, By::Own) => {
                cbc_mac::has_lanes(cpu).then_some(())?;
                self.own_key = Some(OwnKey::aes(cpu, key)?);
                Some(AeadLane::OwnCcm)
            }
            (Aead::AesCcm, By::IpsecMb) => {
                // The library has no CCM with keys of 24 bytes.
                let functions = Functions::of(cpu).filter(|_| key.len() != 24)?;
                self.schedule().set_aes(functions, key)?;
                Some(AeadLane::Ccm(CipherStep { mode: Mode::Ccm, key_len: key.len() as u8 }))
            }
            _ => None,
        }
    }

    fn cipher_lane(&mut self, cipher: Cipher, key: &[u8], cpu: &Cpu, by: By) -> Option<CipherLane> {
        if by == By::Own {
            own_cipher(cipher, cpu).then_some(())?;
            self.own_key = Some(OwnKey::new(cpu, cipher, key)?);
            return Some(CipherLane::Own(OwnCipher(cipher)));
        }
        let mode = match cipher {
            Cipher::AesCbc => Mode::Cbc,
            // The lanes of 2.0 give other bytes for a group of DES packets: seen by `tests/lanes.rs`.
            Cipher::DesCbc | Cipher::TripleDesCbc if cfg!(ipsec_mb_2) => return None,
            Cipher::DesCbc => Mode::Des,
            Cipher::TripleDesCbc => Mode::Des3,
            Cipher::Snow3gUea2 => Mode::Snow3gUea2,
            Cipher::ZucEea3 => Mode::ZucEea3,
            _ => return None,
        };
        let functions = Functions::of(cpu)?;
        let schedule = self.schedule();
        match mode {
            Mode::Des | Mode::Des3 => schedule.set_des(functions, key)?,
            Mode::Snow3gUea2 => schedule.set_snow3g(functions, key, false)?,
            Mode::ZucEea3 => schedule.set_plain(key, false)?,
            _ => schedule.set_aes(functions, key)?,
        }
        Some(CipherLane::IpsecMb(CipherStep { mode, key_len: key.len() as u8 }))
    }

    fn mac_lane(&mut self, auth: Auth, key: &[u8], cpu: &Cpu, by: By) -> Option<MacLane> {
        if by == By::Own { self.own_mac(auth, key, cpu) } else { self.library_mac(auth, key, cpu) }
    }

    fn own_mac(&mut self, auth: Auth, key: &[u8], cpu: &Cpu) -> Option<MacLane> {
        if let Some(lane) = own_hash(auth, cpu) {
            self.hash = SecureBox::try_make(|| HashKey::new(cpu, lane, key));
            return self.hash.as_ref().map(|_| MacLane::Hash(lane));
        }
        match auth {
            Auth::KasumiF9 if kernel::kasumi::lanes(cpu) > 1 => {
                self.own_key = Some(OwnKey::kasumi(key)?);
                Some(MacLane::KasumiF9)
            }
            Auth::Poly1305 if cpu.avx2().is_some() => {
                self.one_time = Some(copied(key)?);
                Some(MacLane::Poly1305)
            }
            Auth::Snow3gUia2 | Auth::ZucEia3 if cpu.avx512().is_some() => {
                self.own_key = Some(OwnKey::stream(key)?);
                let snow3g = auth == Auth::Snow3gUia2;
                Some(if snow3g { MacLane::Snow3gUia2 } else { MacLane::ZucEia3 })
            }
            _ => {
                self.mac = Some(MacKey::new(cpu, auth, key)?);
                Some(MacLane::CbcMac { whole_blocks: auth == Auth::AesCbcMac })
            }
        }
    }

    fn library_mac(&mut self, auth: Auth, key: &[u8], cpu: &Cpu) -> Option<MacLane> {
        let (algorithm, len) = match auth {
            // RFC 3566's length: the library gives no more.
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

/// Ciphers that our kernels have lanes for.
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
        Cipher::AesCbc => cbc_mac::has_lanes(cpu),
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
        Hash::Md5Sha1 | Hash::Ripemd160 | Hash::Sha512_224 | Hash::Sha512_256 => return None,
    };
    (kernel::hash::lanes(cpu, algorithm) > 1).then_some(HashLane { hash, hmac })
}

/// The length of a session's tags; 0 when it makes none.
fn tag_len(spec: &Sym) -> usize {
    match spec {
        Sym::Auth { tag_len, .. } | Sym::Aead { tag_len, .. } | Sym::Chain { tag_len, .. } => {
            *tag_len
        }
        Sym::Cipher { .. } | Sym::TlsCbc { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    fn lanes(plan: &Plan, direction: Direction, len: u32) -> Option<(bool, u8)> {
        let parts = Parts { auth: Span { offset: 0, len }, ..Parts::default() };
        plan.lanes(direction, &parts).map(|(side, floor)| (side.kernel.ipsec_mb(), floor))
    }

    #[test]
    fn a_plan_follows_its_classes() {
        let cpu = Cpu::host();
        let spec = Sym::Auth { auth: Auth::AesCmac, key: vec![1; 16].into(), tag_len: 16 };
        let seal = [Class(64, By::Single, 1), Class(128, By::Own, 4), Class(ANY, By::IpsecMb, 3)];
        let open = [Class(ANY, By::Own, 2)];
        let plan = Plan::of_classes(&spec, cpu, [&seal, &open]);
        let has = |by| Plan::only(&spec, cpu, by).is_some();
        let (own, library) = (has(By::Own), has(By::IpsecMb));
        for (direction, len, expected) in [
            (Direction::Seal, 0, None),
            (Direction::Seal, 64, None),
            (Direction::Seal, 65, (own || library).then_some((!own, 4))),
            (Direction::Seal, 128, (own || library).then_some((!own, 4))),
            (Direction::Seal, 129, (own || library).then_some((library, 3))),
            (Direction::Seal, ANY, (own || library).then_some((library, 3))),
            (Direction::Open, 0, (own || library).then_some((!own, 2))),
        ] {
            assert_eq!(lanes(&plan, direction, len), expected, "{direction:?} {len}");
        }
    }

    #[test]
    fn a_candidate_that_a_session_lacks_is_none() {
        let cpu = Cpu::with_cap(Tier::Generic);
        let spec = Sym::Cipher { cipher: Cipher::AesCbc, key: vec![1; 16].into() };
        assert!(Plan::only(&spec, &cpu, By::Own).is_none());
        assert!(Plan::only(&spec, &cpu, By::IpsecMb).is_none());
        let single = Plan::only(&spec, &cpu, By::Single).unwrap();
        assert!(!single.side_by_side() && single.turn.is_none());
        // What a table names and the session lacks, `single` serves.
        let plan = Plan::of_classes(&spec, &cpu, [&[Class(ANY, By::IpsecMb, 3)]; 2]);
        assert_eq!(plan.by(Direction::Seal, 16), By::Single);
        assert!(!plan.side_by_side());
    }
}
