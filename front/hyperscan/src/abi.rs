//! Types and constants of Hyperscan's interface.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// Done.
pub const HS_SUCCESS: c_int = 0;
/// A parameter is invalid.
pub const HS_INVALID: c_int = -1;
/// An allocator had no memory.
pub const HS_NOMEM: c_int = -2;
/// A callback ended the scan.
pub const HS_SCAN_TERMINATED: c_int = -3;
/// A pattern was refused: the compile error says why.
pub const HS_COMPILER_ERROR: c_int = -4;
/// The database is another version's, or another library's.
pub const HS_DB_VERSION_ERROR: c_int = -5;
/// The database is for another platform.
pub const HS_DB_PLATFORM_ERROR: c_int = -6;
/// The database was compiled for another mode.
pub const HS_DB_MODE_ERROR: c_int = -7;
/// A pointer is not aligned.
pub const HS_BAD_ALIGN: c_int = -8;
/// An allocator gave memory that is not aligned.
pub const HS_BAD_ALLOC: c_int = -9;
/// Another call uses the scratch.
pub const HS_SCRATCH_IN_USE: c_int = -10;
/// The CPU is not supported: never returned here.
pub const HS_ARCH_ERROR: c_int = -11;
/// A buffer is too small.
pub const HS_INSUFFICIENT_SPACE: c_int = -12;
/// A defect of the library.
pub const HS_UNKNOWN_ERROR: c_int = -13;

/// Mode: whole texts.
pub const HS_MODE_BLOCK: c_uint = 1;
/// Mode: texts that arrive in pieces.
pub const HS_MODE_STREAM: c_uint = 2;
/// Mode: texts that lie in several places.
pub const HS_MODE_VECTORED: c_uint = 4;
/// Starts of matches in streams are exact.
pub const HS_MODE_SOM_HORIZON_LARGE: c_uint = 1 << 24;
/// Starts of matches in streams are exact within 2^32 bytes.
pub const HS_MODE_SOM_HORIZON_MEDIUM: c_uint = 1 << 25;
/// Starts of matches in streams are exact within 2^16 bytes.
pub const HS_MODE_SOM_HORIZON_SMALL: c_uint = 1 << 26;

/// All flags of expressions: [`lookaside_scan::Flags`] has their bits.
pub const HS_FLAG_ALL: c_uint = (1 << 11) - 1;
/// The flag for starts of matches.
pub const HS_FLAG_SOM_LEFTMOST: c_uint = 1 << 8;
/// The flag for prefilters.
pub const HS_FLAG_PREFILTER: c_uint = 1 << 7;
/// The flag for a single match.
pub const HS_FLAG_SINGLEMATCH: c_uint = 1 << 3;
/// The flag for case-insensitive matching.
pub const HS_FLAG_CASELESS: c_uint = 1;
/// The flag for logical combinations.
pub const HS_FLAG_COMBINATION: c_uint = 1 << 9;
/// The flag for patterns without reports.
pub const HS_FLAG_QUIET: c_uint = 1 << 10;

/// `min_offset` is given.
pub const HS_EXT_FLAG_MIN_OFFSET: c_ulonglong = 1;
/// `max_offset` is given.
pub const HS_EXT_FLAG_MAX_OFFSET: c_ulonglong = 2;
/// `min_length` is given.
pub const HS_EXT_FLAG_MIN_LENGTH: c_ulonglong = 4;
/// `edit_distance` is given.
pub const HS_EXT_FLAG_EDIT_DISTANCE: c_ulonglong = 8;
/// `hamming_distance` is given.
pub const HS_EXT_FLAG_HAMMING_DISTANCE: c_ulonglong = 16;

/// AVX2.
pub const HS_CPU_FEATURES_AVX2: c_ulonglong = 1 << 2;
/// AVX-512 BW.
pub const HS_CPU_FEATURES_AVX512: c_ulonglong = 1 << 3;
/// AVX-512 VBMI.
pub const HS_CPU_FEATURES_AVX512VBMI: c_ulonglong = 1 << 4;
/// Servers of the Skylake family.
pub const HS_TUNE_FAMILY_SKX: c_uint = 7;
/// The highest number of a family to tune for.
pub const HS_TUNE_FAMILY_ICX: c_uint = 10;
/// No family to tune for.
pub const HS_TUNE_FAMILY_GENERIC: c_uint = 0;

/// The start of a match that lies further back than the mode's horizon.
pub const HS_OFFSET_PAST_HORIZON: c_ulonglong = !0;

/// Receives a match: id, start, end, flags (0), the caller's pointer. Returns 0 to go on.
pub type OnMatch =
    unsafe extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, *mut c_void) -> c_int;
/// Allocates.
pub type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;
/// Frees.
pub type Free = unsafe extern "C" fn(*mut c_void);

/// Why a compilation failed.
#[repr(C)]
#[derive(Debug)]
pub struct CompileError {
    /// What is wrong.
    pub message: *mut c_char,
    /// The expression's place in the call, or less than 0.
    pub expression: c_int,
}

/// The platform that a database is for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PlatformInfo {
    /// A CPU family.
    pub tune: c_uint,
    /// Features of the CPU.
    pub cpu_features: c_ulonglong,
    /// Not used.
    pub reserved1: c_ulonglong,
    /// Not used.
    pub reserved2: c_ulonglong,
}

/// What can be said of an expression's matches.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpressionInfo {
    /// The length of the shortest.
    pub min_width: c_uint,
    /// The length of the longest; `UINT_MAX`: no bound.
    pub max_width: c_uint,
    /// Whether they may be reported out of order.
    pub unordered_matches: c_char,
    /// Whether they may be reported at the end of the data.
    pub matches_at_eod: c_char,
    /// Whether they are reported only there.
    pub matches_only_at_eod: c_char,
}

/// Conditions on the matches of an expression.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ExpressionExtended {
    /// Which of the following are given.
    pub flags: c_ulonglong,
    /// The least end.
    pub min_offset: c_ulonglong,
    /// The largest end.
    pub max_offset: c_ulonglong,
    /// The least length.
    pub min_length: c_ulonglong,
    /// A Levenshtein distance.
    pub edit_distance: c_uint,
    /// A Hamming distance.
    pub hamming_distance: c_uint,
}
