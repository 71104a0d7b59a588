//! intel-ipsec-mb 1.3 and 2.0, declared by hand from their headers: what is used of them. A test compiles
//! a C program against the header that is there and compares every size, offset and number. 2.0 adds to
//! the ends: two numbers to a request, room to a GCM key, functions behind those that are used here.

use std::ffi::{c_int, c_void};

/// The length of a manager's ring of requests.
pub(crate) const RING: usize = 256;

/// `IMB_CIPHER_DIRECTION`.
pub(crate) const ENCRYPT: u32 = 1;
pub(crate) const DECRYPT: u32 = 2;

/// `IMB_CHAIN_ORDER`.
pub(crate) const CIPHER_HASH: u32 = 1;
pub(crate) const HASH_CIPHER: u32 = 2;

/// `IMB_JOB`: one request. All of it is plain data: zeros are valid.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Entry {
    pub enc_keys: *const c_void,
    pub dec_keys: *const c_void,
    pub key_len: u64,
    pub src: *const u8,
    pub dst: *mut u8,
    /// In bits for SNOW 3G.
    pub cipher_offset: u64,
    /// In bits for SNOW 3G.
    pub cipher_len: u64,
    pub hash_offset: u64,
    /// In bits for SNOW 3G and ZUC.
    pub hash_len: u64,
    pub iv: *const u8,
    pub iv_len: u64,
    pub tag: *mut u8,
    pub tag_len: u64,
    /// The union of what the hash algorithms want: three pointers, or a pointer and a length.
    pub auth: [*const c_void; 3],
    pub status: u32,
    pub mode: u32,
    pub direction: u32,
    pub algorithm: u32,
    pub order: u32,
    pub user_data: *mut c_void,
    pub user_data2: *mut c_void,
    pub cipher_func: *const c_void,
    pub hash_func: *const c_void,
    pub sgl_state: u32,
    pub next_iv: *mut c_void,
    /// Written by the library.
    #[cfg(ipsec_mb_2)]
    suite_id: [u32; 2],
    /// Of requests that are prepared once for many: none here.
    #[cfg(ipsec_mb_2)]
    session_id: u32,
}

/// The length of a GCM key of the library's, with what its alignment adds.
pub(crate) const GCM_KEY_LEN: usize = if cfg!(ipsec_mb_2) { 1280 } else { 1024 };

/// `struct gcm_key_data`.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct GcmKey {
    pub bytes: [u8; GCM_KEY_LEN],
}

/// `struct gcm_context_data`.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub(crate) struct GcmState {
    pub aad_hash: [u8; 16],
    pub aad_length: u64,
    pub in_length: u64,
    pub partial_block_enc_key: [u8; 16],
    pub orig_iv: [u8; 16],
    pub current_counter: [u8; 16],
    pub partial_block_length: u64,
}

type Next = unsafe extern "C" fn(*mut State) -> *mut Entry;
type KeyExpand = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);
type XcbcExpand = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void, *mut c_void);
type DesSchedule = unsafe extern "C" fn(*mut u64, *const c_void) -> c_int;
type OneBlock = unsafe extern "C" fn(*const c_void, *mut c_void);
type Snow3gSchedule = unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int;
pub(crate) type CipherBurst =
    unsafe extern "C" fn(*mut State, *mut Entry, u32, u32, u32, u32) -> u32;

/// Eight keys, IVs, sources, destinations, lengths.
pub(crate) type Uea2Eight = unsafe extern "C" fn(
    *const *const c_void,
    *const *const u8,
    *const *const u8,
    *mut *mut u8,
    *const u32,
);
/// Keys, IVs, sources, destinations, lengths, and how many there are of each.
pub(crate) type ZucTexts = unsafe extern "C" fn(
    *const *const c_void,
    *const *const u8,
    *const *const u8,
    *mut *mut u8,
    *const u32,
    u32,
);
/// Keys, IVs, sources, lengths in bits, tags, and how many there are of each.
pub(crate) type ZucTags = unsafe extern "C" fn(
    *const *const c_void,
    *const *const u8,
    *const *const u8,
    *const u32,
    *mut *mut u32,
    u32,
);

/// Key, state, destination, source, length, IV of 12 bytes, associated data and its length, tag and
/// its length.
pub(crate) type GcmWhole = unsafe extern "C" fn(
    *const GcmKey,
    *mut GcmState,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);
/// Key, state, IV and its length, associated data and its length.
pub(crate) type GcmBegin =
    unsafe extern "C" fn(*const GcmKey, *mut GcmState, *const u8, u64, *const u8, u64);
/// Key, state, destination, source, length.
pub(crate) type GcmUpdate =
    unsafe extern "C" fn(*const GcmKey, *mut GcmState, *mut u8, *const u8, u64);
/// Key, state, tag and its length.
pub(crate) type GcmEnd = unsafe extern "C" fn(*const GcmKey, *mut GcmState, *mut u8, u64);
/// Key, and what is made of it.
pub(crate) type GcmPrepare = unsafe extern "C" fn(*const c_void, *mut GcmKey);

type Unused = Option<unsafe extern "C" fn()>;

/// The beginning of `IMB_MGR`: what comes before its ring, but for what 2.0 adds there. Arrays of three go by key length: 128,
/// 192, 256 bits.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct State {
    pub flags: u64,
    pub features: u64,
    reserved: [u64; 5],
    pub used_arch: u32,
    pub errno: c_int,
    pub get_next: Option<Next>,
    submit: Unused,
    pub submit_nocheck: Option<Next>,
    get_completed: Unused,
    pub flush: Option<Next>,
    queue_size: Unused,
    pub key_expand: [Option<KeyExpand>; 3],
    pub cmac_subkeys_128: Option<KeyExpand>,
    pub xcbc_expand: Option<XcbcExpand>,
    pub des_schedule: Option<DesSchedule>,
    /// SHA-1, SHA-224, SHA-256, SHA-384, SHA-512, MD5.
    pub one_block: [Option<OneBlock>; 6],
    hashes: [Unused; 5],
    aes128_cfb_one: Unused,
    pub gcm_enc: [Option<GcmWhole>; 3],
    pub gcm_dec: [Option<GcmWhole>; 3],
    gcm_init: [Unused; 3],
    pub gcm_enc_update: [Option<GcmUpdate>; 3],
    pub gcm_dec_update: [Option<GcmUpdate>; 3],
    pub gcm_enc_end: [Option<GcmEnd>; 3],
    pub gcm_dec_end: [Option<GcmEnd>; 3],
    gcm_precomp: [Unused; 3],
    pub gcm_prepare: [Option<GcmPrepare>; 3],
    eea3_1_and_4: [Unused; 2],
    pub eea3: Option<ZucTexts>,
    eia3_1: Unused,
    kasumi: [Unused; 11],
    snow3g_f8: [Unused; 6],
    pub uea2_eight: Option<Uea2Eight>,
    snow3g_f8_n_f9: [Unused; 2],
    pub snow3g_schedule: Option<Snow3gSchedule>,
    snow3g_schedule_len: Unused,
    ghash: Unused,
    pub eia3: Option<ZucTags>,
    pub gcm_begin: [Option<GcmBegin>; 3],
    gmac: [Unused; 9],
    hec: [Unused; 2],
    pub cmac_subkeys_256: Option<KeyExpand>,
    ghash_pre: Unused,
    crc: [Unused; 12],
    chacha20_poly1305: [Unused; 4],
    bursts: [Unused; 4],
    submit_cipher_burst: Unused,
    pub cipher_burst_nocheck: Option<CipherBurst>,
    submit_hash_burst: Unused,
    hash_burst_nocheck: Unused,
}

/// `IMB_FLAG_GFNI_OFF`: instructions of Galois fields count as missing.
pub(crate) const GFNI_OFF: u64 = 1 << 2;

unsafe extern "C" {
    #[link_name = "alloc_mb_mgr"]
    pub(crate) fn allocate(flags: u64) -> *mut State;
    #[link_name = "free_mb_mgr"]
    pub(crate) fn free(state: *mut State);
    #[link_name = "init_mb_mgr_avx2"]
    pub(crate) fn init_avx2(state: *mut State);
    #[link_name = "init_mb_mgr_avx512"]
    pub(crate) fn init_avx512(state: *mut State);
}
