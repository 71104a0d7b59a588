//! CPU features: detection, its override, and the tokens that prove them.
//!
//! A kernel that needs AVX-512 takes an [`Avx512`]; the only way to one is a [`Cpu`] whose tier
//! in force is [`Tier::Avx512`]. So a safe function can call `#[target_feature]` code, and one
//! environment variable lowers every kernel of the process at once:
//!
//! ```sh
//! LOOKASIDE_CPU=generic|avx2|avx512bw|avx512
//! ```
//!
//! The variable caps: the tier in force is the lower of what the CPU has and what the variable
//! says. A value that is none of these caps nothing, and [`Cpu::unknown_cap`] hands it to
//! whoever prints warnings.
//!
//! ```
//! use lookaside_simd::{Cpu, Tier};
//!
//! let cpu = Cpu::with_cap(Tier::Generic);
//! assert_eq!(cpu.tier(), Tier::Generic);
//! assert!(cpu.avx2().is_none());
//! assert!(Cpu::host().tier() <= Cpu::host().detected_tier());
//! ```
#![deny(unsafe_code)]
#![deny(missing_docs)]

use std::fmt;
use std::ptr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The environment variable that caps the tier of [`Cpu::host`].
pub const CAP_VARIABLE: &str = "LOOKASIDE_CPU";

/// How much SIMD a kernel may use. Ordered: a higher tier includes the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// What every CPU of the architecture has.
    Generic,
    /// AVX2, BMI1, BMI2, FMA, LZCNT, POPCNT, PCLMULQDQ, AES-NI: Haswell, Zen 1 and later.
    Avx2,
    /// AVX-512 F, BW, CD, DQ, VL: Skylake-SP, Cascade Lake, Cooper Lake. What the psABI calls x86-64-v4.
    /// Their clock is lower while vectors of 512 bits are in use, so that only kernels gain that do
    /// nearly all of their work in them (hashes, ChaCha20); elsewhere they are as [`Tier::Avx2`].
    Avx512Bw,
    /// IFMA, VBMI, VBMI2, VNNI with VAES, VPCLMULQDQ and GFNI besides: Ice Lake, Zen 4 and later.
    Avx512,
}

impl Tier {
    /// Every tier, lowest first.
    pub const ALL: [Tier; 4] = [Tier::Generic, Tier::Avx2, Tier::Avx512Bw, Tier::Avx512];

    /// Those up to the one in force here, lowest first: for tests that run every one.
    pub fn here() -> impl Iterator<Item = Tier> + Clone {
        let highest = Cpu::host().tier();
        Tier::ALL.into_iter().filter(move |tier| *tier <= highest)
    }

    /// The name that [`CAP_VARIABLE`] takes and `lookaside info` prints.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Generic => "generic",
            Tier::Avx2 => "avx2",
            Tier::Avx512Bw => "avx512bw",
            Tier::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A group of CPUs for which one implementation is the fastest for each algorithm and length: the key
/// of the tables of measured choices. Ordered as their tiers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// [`Tier::Generic`].
    Generic,
    /// [`Tier::Avx2`] without SHA-NI, or without ADX: Haswell, Broadwell, Skylake's desktops.
    Avx2,
    /// [`Tier::Avx2`] with SHA-NI and ADX: Zen 1, Zen 2.
    Avx2Sha,
    /// [`Tier::Avx2`] with SHA-NI, ADX, and VAES and VPCLMULQDQ of 256 bits: Zen 3, Alder Lake.
    Avx2Vaes,
    /// [`Tier::Avx512Bw`]: Skylake-SP, Cascade Lake.
    Avx512Bw,
    /// [`Tier::Avx512`]: Ice Lake, Sapphire Rapids, Zen 4.
    Avx512,
    /// [`Tier::Avx512`] where [`Cpu::wide`] is true: Zen 5.
    Avx512Wide,
}

impl Family {
    /// Every family, in their order.
    pub const ALL: [Family; 7] = [
        Family::Generic,
        Family::Avx2,
        Family::Avx2Sha,
        Family::Avx2Vaes,
        Family::Avx512Bw,
        Family::Avx512,
        Family::Avx512Wide,
    ];

    /// The name that `lookaside info` prints and that tables of choices are filed under.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Generic => "generic",
            Family::Avx2 => "avx2",
            Family::Avx2Sha => "avx2-sha",
            Family::Avx2Vaes => "avx2-vaes",
            Family::Avx512Bw => "avx512bw",
            Family::Avx512 => "avx512",
            Family::Avx512Wide => "avx512-wide",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the [`Tier::name`] of any tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownTier;

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown CPU tier (generic, avx2, avx512bw and avx512 are known)")
    }
}

impl std::error::Error for UnknownTier {}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Tier, UnknownTier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == text).ok_or(UnknownTier)
    }
}

/// Proof that the features of [`Tier::Avx2`] are there and allowed. Zero-size.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// Proof that the features of [`Tier::Avx2`], and VAES and VPCLMULQDQ on vectors of 256 bits, are there
/// and allowed. Zero-size.
#[derive(Clone, Copy, Debug)]
pub struct Vaes(());

/// Proof that the features of [`Tier::Avx2`] and SHA-NI (SHA-1, SHA-256) are there and allowed.
/// Zero-size.
#[derive(Clone, Copy, Debug)]
pub struct Sha(());

/// Proof that the features of [`Tier::Avx512Bw`] are there and allowed. Zero-size.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Bw(());

/// Proof that the features of [`Tier::Avx512`] are there and allowed. Zero-size.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl From<Vaes> for Avx2 {
    fn from(_: Vaes) -> Avx2 {
        Avx2(())
    }
}

impl From<Avx512Bw> for Avx2 {
    fn from(_: Avx512Bw) -> Avx2 {
        Avx2(())
    }
}

impl From<Avx512> for Avx512Bw {
    fn from(_: Avx512) -> Avx512Bw {
        Avx512Bw(())
    }
}

impl From<Avx512> for Vaes {
    fn from(_: Avx512) -> Vaes {
        Vaes(())
    }
}

impl From<Avx512> for Avx2 {
    fn from(_: Avx512) -> Avx2 {
        Avx2(())
    }
}

/// What was detected, and the cap in force. Cheap to clone: each session has one.
#[derive(Clone, Debug)]
pub struct Cpu {
    detected: Tier,
    cap: Option<Tier>,
    unknown_cap: Option<Arc<str>>,
    features: Arc<[&'static str]>,
    vaes: bool,
    sha: bool,
    adx: bool,
    wide: bool,
}

impl Cpu {
    /// This machine under the cap of [`CAP_VARIABLE`]. Detected and read once per process.
    ///
    /// Never waits, not even in a child of a `fork` in the middle of another thread's first call:
    /// threads here at once all detect, and one answer counts.
    #[allow(unsafe_code)]
    pub fn host() -> &'static Cpu {
        static HOST: AtomicPtr<Cpu> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: null, or out of a box that is never freed and nobody writes to.
        if let Some(host) = unsafe { HOST.load(Ordering::Acquire).as_ref() } {
            return host;
        }
        let host = Box::new(match std::env::var_os(CAP_VARIABLE) {
            None => Cpu::detect(None, None),
            Some(text) => Cpu::under(&text.to_string_lossy()),
        });
        let host = Box::into_raw(host);
        let (set, seen) = (Ordering::AcqRel, Ordering::Acquire);
        match HOST.compare_exchange(ptr::null_mut(), host, set, seen) {
            // SAFETY: just leaked; shared from here on.
            Ok(_) => unsafe { &*host },
            Err(first) => {
                // SAFETY: made above and shown to nobody.
                drop(unsafe { Box::from_raw(host) });
                // SAFETY: as above.
                unsafe { &*first }
            }
        }
    }

    /// This machine with `cap` in place of the environment's: for tests that run every tier.
    pub fn with_cap(cap: Tier) -> Cpu {
        Cpu::detect(Some(cap), None)
    }

    /// This machine under a cap spelled as [`CAP_VARIABLE`] spells it. An empty text is no cap.
    fn under(text: &str) -> Cpu {
        match text.parse() {
            Ok(cap) => Cpu::detect(Some(cap), None),
            Err(_) if text.is_empty() => Cpu::detect(None, None),
            Err(_) => Cpu::detect(None, Some(text.into())),
        }
    }

    fn detect(cap: Option<Tier>, unknown_cap: Option<Arc<str>>) -> Cpu {
        let features = detected_features();
        let detected = tier_of(&features);
        let has = |feature| features.contains(&feature);
        Cpu {
            detected,
            cap,
            unknown_cap,
            vaes: has("vaes") && has("vpclmulqdq"),
            sha: has("sha"),
            adx: has("adx"),
            wide: detected_wide(),
            features: features.into(),
        }
    }

    /// The tier in force: the lower of [`detected_tier`](Cpu::detected_tier) and
    /// [`cap`](Cpu::cap).
    pub fn tier(&self) -> Tier {
        self.cap.map_or(self.detected, |cap| cap.min(self.detected))
    }

    /// The tier of the hardware, whatever the cap.
    pub fn detected_tier(&self) -> Tier {
        self.detected
    }

    /// The cap, if there is one.
    pub fn cap(&self) -> Option<Tier> {
        self.cap
    }

    /// A value of [`CAP_VARIABLE`] that names no tier, and so caps nothing: print a warning.
    pub fn unknown_cap(&self) -> Option<&str> {
        self.unknown_cap.as_deref()
    }

    /// The features of the hardware that matter here, by the names Rust gives them, whatever the
    /// cap.
    pub fn features(&self) -> &[&'static str] {
        &self.features
    }

    /// Whether more than two instructions on vectors of 512 bits can begin in a cycle, and the tier in
    /// force is [`Tier::Avx512`]: one vector's chain of instructions then leaves room for another's.
    /// True of AMD's family 1Ah (Zen 5).
    pub fn wide(&self) -> bool {
        self.wide && self.tier() == Tier::Avx512
    }

    /// The AVX2 token, when the tier in force is [`Tier::Avx2`] or higher.
    pub fn avx2(&self) -> Option<Avx2> {
        (self.tier() >= Tier::Avx2).then_some(Avx2(()))
    }

    /// The VAES token, when the tier in force is [`Tier::Avx2`] or higher and the CPU has VAES and
    /// VPCLMULQDQ.
    pub fn vaes(&self) -> Option<Vaes> {
        (self.vaes && self.tier() >= Tier::Avx2).then_some(Vaes(()))
    }

    /// The SHA-NI token, when the tier in force is [`Tier::Avx2`] or higher and the CPU has SHA-NI.
    pub fn sha(&self) -> Option<Sha> {
        (self.sha && self.tier() >= Tier::Avx2).then_some(Sha(()))
    }

    /// The family of this CPU under the cap in force.
    pub fn family(&self) -> Family {
        match self.tier() {
            Tier::Generic => Family::Generic,
            Tier::Avx512 if self.wide => Family::Avx512Wide,
            Tier::Avx512 => Family::Avx512,
            Tier::Avx512Bw => Family::Avx512Bw,
            Tier::Avx2 if !(self.sha && self.adx) => Family::Avx2,
            Tier::Avx2 if !self.vaes => Family::Avx2Sha,
            Tier::Avx2 => Family::Avx2Vaes,
        }
    }

    /// The token of AVX-512 as Skylake-SP has it, when the tier in force is [`Tier::Avx512Bw`] or higher.
    pub fn avx512bw(&self) -> Option<Avx512Bw> {
        (self.tier() >= Tier::Avx512Bw).then_some(Avx512Bw(()))
    }

    /// The AVX-512 token, when the tier in force is [`Tier::Avx512`].
    pub fn avx512(&self) -> Option<Avx512> {
        (self.tier() >= Tier::Avx512).then_some(Avx512(()))
    }
}

const AVX2: &[&str] = &["avx2", "bmi1", "bmi2", "fma", "lzcnt", "popcnt", "pclmulqdq", "aes"];

const AVX512BW: &[&str] = &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];

const AVX512: &[&str] =
    &["avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni", "vaes", "vpclmulqdq", "gfni"];

fn tier_of(features: &[&str]) -> Tier {
    let all = |wanted: &[&str]| wanted.iter().all(|feature| features.contains(feature));
    match (all(AVX2), all(AVX512BW), all(AVX512)) {
        (true, true, true) => Tier::Avx512,
        (true, true, false) => Tier::Avx512Bw,
        (true, false, _) => Tier::Avx2,
        (false, ..) => Tier::Generic,
    }
}

#[cfg(target_arch = "x86_64")]
fn detected_features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! look_for {
        ($($name:tt)*) => { $( if std::arch::is_x86_feature_detected!($name) { found.push($name) } )* };
    }
    look_for! {
        "ssse3" "sse4.1" "sse4.2" "popcnt" "lzcnt" "movbe" "aes" "pclmulqdq" "sha" "rdrand" "rdseed"
        "avx" "avx2" "fma" "bmi1" "bmi2" "adx"
        "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi"
        "avx512vbmi2" "avx512vnni" "avx512bitalg" "avx512vpopcntdq" "vaes" "vpclmulqdq" "gfni"
    }
    found
}

/// The vendor's name, and the family: leaves 0 and 1 of CPUID.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, unused_unsafe)]
fn detected_wide() -> bool {
    use std::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 has the instruction and these leaves.
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    // The extended family counts where the family is the largest number there is.
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    name.as_flattened() == b"AuthenticAMD" && version >> 8 & 0xf == 0xf && family >= 0x1a
}

#[cfg(not(target_arch = "x86_64"))]
fn detected_wide() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn detected_features() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_only_lowers() {
        for cap in Tier::ALL {
            let cpu = Cpu::with_cap(cap);
            assert_eq!(cpu.tier(), cap.min(cpu.detected_tier()));
            assert_eq!(cpu.cap(), Some(cap));
            assert_eq!(cpu.avx2().is_some(), cpu.tier() >= Tier::Avx2);
            assert_eq!(cpu.avx512bw().is_some(), cpu.tier() >= Tier::Avx512Bw);
            assert_eq!(cpu.avx512().is_some(), cpu.tier() >= Tier::Avx512);
            assert!(!cpu.wide() || cpu.avx512().is_some());
            assert!(cpu.vaes().is_none() || cpu.avx2().is_some());
            assert!(cpu.sha().is_none() || cpu.avx2().is_some());
            assert_eq!(cpu.family() >= Family::Avx512, cpu.avx512().is_some());
            assert_eq!(cpu.family() >= Family::Avx512Bw, cpu.avx512bw().is_some());
            assert_eq!(cpu.family() == Family::Generic, cpu.tier() == Tier::Generic);
        }
    }

    #[test]
    fn names_round_trip() {
        for tier in Tier::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
        }
        assert_eq!("AVX2".parse::<Tier>(), Err(UnknownTier));
    }

    #[test]
    fn an_unknown_cap_is_kept_and_caps_nothing() {
        let cpu = Cpu::under("avx1024");
        assert_eq!(cpu.unknown_cap(), Some("avx1024"));
        assert_eq!(cpu.cap(), None);
        assert_eq!(cpu.tier(), cpu.detected_tier());
        assert_eq!(Cpu::under("").unknown_cap(), None);
        assert_eq!(Cpu::under("generic").tier(), Tier::Generic);
    }

    #[test]
    fn a_tier_needs_all_of_its_features() {
        let all: Vec<&str> = AVX2.iter().chain(AVX512BW).chain(AVX512).copied().collect();
        assert_eq!(tier_of(&all), Tier::Avx512);
        assert_eq!(tier_of(&all[..AVX2.len() + AVX512BW.len()]), Tier::Avx512Bw);
        assert_eq!(tier_of(AVX2), Tier::Avx2);
        assert_eq!(tier_of(AVX512), Tier::Generic);
        for missing in AVX2 {
            let rest: Vec<&str> = all.iter().filter(|f| *f != missing).copied().collect();
            assert_eq!(tier_of(&rest), Tier::Generic, "without {missing}");
        }
        for missing in AVX512BW {
            let rest: Vec<&str> = all.iter().filter(|f| *f != missing).copied().collect();
            assert_eq!(tier_of(&rest), Tier::Avx2, "without {missing}");
        }
        for missing in AVX512 {
            let rest: Vec<&str> = all.iter().filter(|f| *f != missing).copied().collect();
            assert_eq!(tier_of(&rest), Tier::Avx512Bw, "without {missing}");
        }
    }
}
