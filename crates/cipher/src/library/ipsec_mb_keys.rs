//! Keys as intel-ipsec-mb wants them: expanded once per session.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock};

use lookaside_secure::{NoFork, SecureBox};
use lookaside_simd::{Cpu, Tier};
use zeroize::Zeroize;

use super::ffi::{self, State};

/// Where the parts of a [`Schedule`] lie in it.
const DECRYPT: usize = 256;
const AUTH: usize = 512;
const AUTH_PARTS: [usize; 3] = [AUTH, AUTH + 256, AUTH + 320];

/// The library's functions for one tier. They need no lanes of their own: key expansion, GCM.
pub(crate) struct Functions(pub(super) State);

impl Functions {
    /// Those for a CPU; none below AVX2, where the library is not used, and none without memory.
    pub(crate) fn of(cpu: &Cpu) -> Option<&'static Functions> {
        static AVX2: OnceLock<Option<Functions>> = OnceLock::new();
        static AVX512BW: OnceLock<Option<Functions>> = OnceLock::new();
        static AVX512: OnceLock<Option<Functions>> = OnceLock::new();
        let of_tier = match cpu.tier() {
            Tier::Generic => return None,
            Tier::Avx2 => &AVX2,
            Tier::Avx512Bw => &AVX512BW,
            Tier::Avx512 => &AVX512,
        };
        NoFork::once(of_tier, || Some(Functions(Owned::new(cpu)?.copy()))).as_ref()
    }
}

/// A state of the library's own memory: function pointers, and the lanes.
pub(super) struct Owned(*mut State);

// SAFETY: the state is memory of its own that no thread is bound to.
unsafe impl Send for Owned {}

impl Owned {
    /// Half a millisecond: it includes a self-test. `None` below AVX2 and without memory.
    pub(super) fn new(cpu: &Cpu) -> Option<Owned> {
        // Whether two states may be set up at once is said nowhere.
        static SETTING_UP: Mutex<()> = Mutex::new(());
        let _no_fork = NoFork::begin();
        let _guard = SETTING_UP.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (init, flags): (unsafe extern "C" fn(*mut State), _) = match cpu.tier() {
            Tier::Generic => return None,
            Tier::Avx2 => (ffi::init_avx2, 0),
            // Without GFNI it takes the kernels that do without VAES too: those for Skylake-SP.
            Tier::Avx512Bw => (ffi::init_avx512, ffi::GFNI_OFF),
            Tier::Avx512 => (ffi::init_avx512, 0),
        };
        // SAFETY: a null pointer is looked for below.
        let state = unsafe { ffi::allocate(flags) };
        if state.is_null() {
            return None;
        }
        let owned = Owned(state);
        // SAFETY: the state was allocated for this, and the CPU has the tier's features.
        unsafe { init(state) };
        // A self-test that failed, or a feature that is missing after all.
        (owned.copy().errno == 0).then_some(owned)
    }

    pub(super) fn pointer(&mut self) -> *mut State {
        self.0
    }

    fn copy(&self) -> State {
        // SAFETY: it is a valid `State` from `allocate` on, which clears it.
        unsafe { *self.0 }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it came from `allocate`, and nobody else has it.
        unsafe { ffi::free(self.0) }
    }
}

/// What the lanes read of a session: the expanded keys of its cipher and of its hash or MAC.
/// Cleared when dropped.
#[repr(C, align(64))]
pub(crate) struct Schedule {
    bytes: [u8; AUTH + 384],
}

impl Schedule {
    pub(crate) fn new() -> SecureBox<Schedule> {
        SecureBox::new(Schedule { bytes: [0; AUTH + 384] })
    }

    /// For encryption: expanded AES keys, three DES schedules, or the key itself.
    #[inline(always)]
    pub(super) fn encrypt(&self) -> *const c_void {
        self.bytes.as_ptr().cast()
    }

    /// For decryption by AES.
    #[inline(always)]
    pub(super) fn decrypt(&self) -> *const c_void {
        self.bytes.as_ptr().wrapping_add(DECRYPT).cast()
    }

    /// One of three DES schedules.
    pub(super) fn des(&self, which: usize) -> *const c_void {
        self.bytes.as_ptr().wrapping_add(128 * which).cast()
    }

    /// The three parts of a MAC's key.
    #[inline(always)]
    pub(super) fn auth(&self) -> [*const c_void; 3] {
        AUTH_PARTS.map(|part| self.bytes.as_ptr().wrapping_add(part).cast())
    }

    fn at(&mut self, offset: usize) -> *mut c_void {
        self.bytes[offset..].as_mut_ptr().cast()
    }

    /// AES for encryption and decryption, of any mode but GCM. The key has 16, 24 or 32 bytes.
    pub(crate) fn set_aes(&mut self, functions: &Functions, key: &[u8]) -> Option<()> {
        let expand = functions.0.key_expand[by_key_len(key)?]?;
        let (encrypt, decrypt) = (self.at(0), self.at(DECRYPT));
        // SAFETY: the key's length was looked at; each schedule is at most 240 bytes, has room for
        // 256 and lies at a multiple of 16.
        unsafe { expand(key.as_ptr().cast(), encrypt, decrypt) };
        Some(())
    }

    /// DES (8 bytes, used three times) or triple DES (24 bytes).
    pub(crate) fn set_des(&mut self, functions: &Functions, key: &[u8]) -> Option<()> {
        let make = functions.0.des_schedule?;
        for which in 0..3 {
            let part = if key.len() == 8 { key } else { key.get(8 * which..8 * which + 8)? };
            // SAFETY: 8 bytes of key, 128 of schedule.
            let failed = unsafe { make(self.at(128 * which).cast(), part.as_ptr().cast()) };
            if failed != 0 {
                return None;
            }
        }
        Some(())
    }

    /// SNOW 3G; the cipher's key and the MAC's are the same here.
    pub(crate) fn set_snow3g(
        &mut self,
        functions: &Functions,
        key: &[u8],
        mac: bool,
    ) -> Option<()> {
        let make = functions.0.snow3g_schedule.filter(|_| key.len() == 16)?;
        let part = self.at(if mac { AUTH } else { 0 });
        // SAFETY: 16 bytes of key, and as many of schedule.
        (unsafe { make(key.as_ptr().cast(), part) } == 0).then_some(())
    }

    /// A key that is used as it is, of up to 32 bytes.
    pub(crate) fn set_plain(&mut self, key: &[u8], mac: bool) -> Option<()> {
        let part = if mac { AUTH } else { 0 };
        self.bytes[part..part + 32].get_mut(..key.len())?.copy_from_slice(key);
        Some(())
    }

    /// AES-XCBC-MAC, keys of 16 bytes.
    pub(crate) fn set_xcbc(&mut self, functions: &Functions, key: &[u8]) -> Option<()> {
        let expand = functions.0.xcbc_expand.filter(|_| key.len() == 16)?;
        let [k1, k2, k3] = AUTH_PARTS.map(|part| self.at(part));
        // SAFETY: 16 bytes of key; an expanded key of 176 bytes and two of 16, all aligned to 16.
        unsafe { expand(key.as_ptr().cast(), k1, k2, k3) };
        Some(())
    }

    /// AES-CMAC, keys of 16 or 32 bytes.
    pub(crate) fn set_cmac(&mut self, functions: &Functions, key: &[u8]) -> Option<()> {
        let subkeys = match key.len() {
            16 => functions.0.cmac_subkeys_128?,
            32 => functions.0.cmac_subkeys_256?,
            _ => return None,
        };
        let expand = functions.0.key_expand[by_key_len(key)?]?;
        let [expanded, first, second] = AUTH_PARTS.map(|part| self.at(part));
        let mut unwanted = Schedule::new();
        // SAFETY: as `set_aes`; the subkeys have 16 bytes each and are made of the expanded key.
        unsafe {
            expand(key.as_ptr().cast(), expanded, unwanted.at(DECRYPT));
            subkeys(expanded, first, second);
        }
        Some(())
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// The place of a key's length in the library's lists of three.
pub(super) fn by_key_len(key: &[u8]) -> Option<usize> {
    match key.len() {
        16 => Some(0),
        24 => Some(1),
        32 => Some(2),
        _ => None,
    }
}

/// No pointer: what a request of a single algorithm leaves out.
pub(super) const NONE: *mut c_void = null_mut();
