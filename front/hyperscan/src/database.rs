//! Databases: in the memory of the caller's allocator a header, which is Hyperscan's, then a [`Body`], then the set as
//! [`Set::save`] writes it, then a [`Tail`].
//!
//! The compiled tables lie behind a pointer in the tail. It is theirs alone who wrote it: the tail says in which process
//! and at which address, so that a database that was copied, or lies in memory that processes share, is known for one.
//! The tables of such a one, and of one that [`hs_deserialize_database_at`] made, are compiled of the saved patterns once
//! for equal contents and stay as long as the process, since nobody says when the memory is given up.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::mem::offset_of;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use lookaside::NoFork;
use lookaside_scan::{LoadError, Mode, Set};
use lookaside_simd::Cpu;

use crate::abi::{
    HS_BAD_ALIGN, HS_DB_PLATFORM_ERROR, HS_DB_VERSION_ERROR, HS_INVALID, HS_MODE_BLOCK,
    HS_MODE_STREAM, HS_MODE_VECTORED, HS_NOMEM, HS_SUCCESS,
};
use crate::guard;
use crate::memory::{DATABASE, MISC};
use crate::stats::{self, Kind};

/// The first number of a database, as Hyperscan's has it.
const MAGIC: u32 = 0xdbdb_dbdb;
/// 5.4.0 in the upper bytes, which programs print; the lowest is 0 in Hyperscan's databases, whose contents we do not
/// know.
const VERSION: u32 = 5 << 24 | 4 << 16 | b'L' as u32;
/// Bits of the platform: what a database must do without.
const NO_AVX2: u64 = 4 << 13;
const NO_AVX512: u64 = 8 << 13;
const NO_AVX512VBMI: u64 = 16 << 13;
/// Each is a lower one than the one before. A database of ours runs on all.
pub(crate) const PLATFORMS: [(u64, &str); 4] = [
    (0, "AVX512VBMI"),
    (NO_AVX512VBMI, "AVX512"),
    (NO_AVX512VBMI | NO_AVX512, "AVX2"),
    (NO_AVX512VBMI | NO_AVX512 | NO_AVX2, ""),
];

/// What a caller's pointer to a database points to.
#[repr(C)]
pub struct Database {
    magic: u32,
    version: u32,
    /// Bytes of the body with the saved set.
    length: u32,
    platform: u64,
    checksum: u32,
    reserved: [u32; 2],
    /// Where the body is, from the start.
    body: u32,
    padding: [u32; 16],
}

/// Bytes of the header: the body is at the last multiple of 64 in it or at its end.
const HEADER: usize = size_of::<Database>();
/// Bytes of the header of a serialised database, which has no `body`, and no padding before `platform`.
const SERIALISED_HEADER: usize = 32;

/// Before the saved set.
#[repr(C)]
#[derive(Clone, Copy)]
struct Body {
    /// `HS_MODE_BLOCK`, `HS_MODE_STREAM` or `HS_MODE_VECTORED`.
    mode: u64,
    /// How far back the start of a match is told.
    horizon: u64,
    saved_len: u64,
}

/// After the saved set, at the next multiple of 8: what is not the same in every process.
#[repr(C)]
#[derive(Clone, Copy)]
struct Tail {
    /// The process that has set `tables`; 0: none.
    owner: u64,
    /// The database's address then.
    home: usize,
    tables: *const Tables,
    /// 0: the tables are this database's; 1: they stay as long as the process.
    interned: u64,
}

/// A compiled set, and what its mode says of it.
pub(crate) struct Tables {
    pub(crate) set: Set,
    pub(crate) mode: c_uint,
    pub(crate) horizon: u64,
    /// The ids, in order, whose matches have a start; not known where all starts are told.
    starts: Vec<u32>,
}

// Threads scan with one database at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Tables>();
};

impl Tables {
    pub(crate) fn new(set: Set, mode: c_uint, horizon: u64) -> Tables {
        let mut starts = Vec::new();
        if horizon != u64::MAX {
            let with_start = set.patterns().expressions.iter().filter(|one| one.flags.som_leftmost);
            starts.extend(with_start.map(|one| one.id));
            starts.sort_unstable();
        }
        Tables { set: stats::counted(set), mode, horizon, starts }
    }

    /// Whether matches with this id have a start. For sets with a horizon.
    pub(crate) fn has_start(&self, id: u32) -> bool {
        self.starts.binary_search(&id).is_ok()
    }
}

impl Body {
    fn of(tables: &Tables, saved: &[u8]) -> Body {
        Body { mode: tables.mode.into(), horizon: tables.horizon, saved_len: saved.len() as u64 }
    }

    fn to_bytes(self) -> [u8; size_of::<Body>()] {
        let numbers = [self.mode, self.horizon, self.saved_len].map(u64::to_ne_bytes);
        let mut bytes = [0; size_of::<Body>()];
        bytes.as_chunks_mut().0.copy_from_slice(&numbers);
        bytes
    }

    /// Bytes from the body to the tail.
    fn contents(&self) -> usize {
        size_of::<Body>() + (self.saved_len as usize).next_multiple_of(8)
    }

    /// All bytes that a header counts.
    fn length(&self) -> usize {
        self.contents() + size_of::<Tail>()
    }
}

/// A number that other processes do not have, but those that were forked from this one, whose memory is a copy of its.
#[inline]
fn this_process() -> u64 {
    static PROCESS: AtomicU64 = AtomicU64::new(0);
    match PROCESS.load(Relaxed) {
        0 => {
            let mut random = 0_u64;
            // SAFETY: eight bytes to fill; where there is no randomness, the address space's and the process's must do.
            unsafe { libc::getrandom((&raw mut random).cast(), 8, libc::GRND_NONBLOCK) };
            let pid = u64::from(std::process::id()) << 40;
            let ours = (random ^ pid ^ (&raw const PROCESS).addr() as u64) | 1;
            match PROCESS.compare_exchange(0, ours, Relaxed, Relaxed) {
                Ok(_) => ours,
                Err(first) => first,
            }
        }
        known => known,
    }
}

/// Where the body of a database at `address` is, from its start: aligned to 64 bytes.
fn body_offset(address: usize) -> usize {
    HEADER - ((address + HEADER) & 63)
}

/// A number from the first bytes of a database, wherever it lies.
///
/// # Safety
/// A database is there.
unsafe fn field(db: *const Database, offset: usize) -> u32 {
    // SAFETY: as the caller promises; it may not be aligned.
    unsafe { db.byte_add(offset).cast::<u32>().read_unaligned() }
}

/// The checks of each call: whether it is a database, of this version.
#[inline]
unsafe fn check(db: *const Database) -> Result<(), c_int> {
    // SAFETY: null, or the caller's pointer to a database.
    unsafe {
        if db.is_null() || field(db, offset_of!(Database, magic)) != MAGIC {
            return Err(HS_INVALID);
        }
        if field(db, offset_of!(Database, version)) != VERSION {
            return Err(HS_DB_VERSION_ERROR);
        }
    }
    Ok(())
}

/// The body of a database that was checked.
#[inline]
unsafe fn body(db: *const Database) -> Result<*const Body, c_int> {
    let offset = body_offset(db.addr());
    // SAFETY: a database, as the caller promises.
    if unsafe { field(db, offset_of!(Database, body)) } as usize != offset {
        return Err(HS_INVALID);
    }
    // SAFETY: within the memory of the database.
    let body = unsafe { db.byte_add(offset) }.cast::<Body>();
    if !body.is_aligned() {
        return Err(HS_INVALID);
    }
    Ok(body)
}

/// The tail of a database whose body was found.
#[inline]
unsafe fn tail(db: *const Database, body: *const Body) -> *const Tail {
    // SAFETY: the caller's database; the header counts the body, the saved set and the tail.
    unsafe {
        let length = field(db, offset_of!(Database, length)) as usize;
        body.byte_add(length).cast::<Tail>().sub(1)
    }
}

/// The tables of a database, after all checks. They live as long as the caller leaves it alone.
#[inline(always)]
pub(crate) unsafe fn tables<'a>(db: *const Database) -> Result<&'a Tables, c_int> {
    // SAFETY: null, or the caller's pointer to a database; the tables are there if they were set here.
    unsafe {
        check(db)?;
        let body = body(db)?;
        let tail = tail(db, body);
        if (*tail).home == db.addr() && (*tail).owner == this_process() {
            return Ok(&*(*tail).tables);
        }
        tables_from_elsewhere(db, body, tail)
    }
}

/// Of a database that was not written where it lies, by this process.
///
/// # Safety
/// A database that was checked, with its body and tail.
#[cold]
unsafe fn tables_from_elsewhere(
    db: *const Database,
    body: *const Body,
    tail: *const Tail,
) -> Result<&'static Tables, c_int> {
    // SAFETY: as the caller promises.
    unsafe {
        let key = Key {
            address: db.addr(),
            owner: (*tail).owner,
            home: (*tail).home,
            tables: (*tail).tables.addr(),
            checksum: field(db, offset_of!(Database, checksum)),
            length: field(db, offset_of!(Database, length)),
        };
        mapped(key, || intern(&*body, saved(body)))
    }
}

/// What tells one database that another process, or this one elsewhere, has written from all others.
#[derive(Clone, Copy, PartialEq)]
struct Key {
    address: usize,
    owner: u64,
    home: usize,
    tables: usize,
    checksum: u32,
    length: u32,
}

/// The tables of such a database: rspamd maps those of another process from files. What was found is kept for the thread's
/// next calls, which would have to look for equal contents again.
#[inline(never)]
fn mapped(
    key: Key,
    find: impl FnOnce() -> Result<&'static Tables, c_int>,
) -> Result<&'static Tables, c_int> {
    const KEPT: usize = 256;
    type Kept = Vec<Option<(Key, &'static Tables)>>;
    thread_local! {
        static LAST: RefCell<Kept> = const { RefCell::new(Vec::new()) };
    }
    // Databases lie on pages of their own, or close to each other.
    let place = (key.address >> 12 ^ key.address >> 6) % KEPT;
    let kept = LAST.try_with(|last| last.borrow().get(place).copied().flatten());
    if let Some((_, tables)) = kept.ok().flatten().filter(|(known, _)| *known == key) {
        return Ok(tables);
    }
    let tables = find()?;
    let _ = LAST.try_with(|last| {
        let mut last = last.borrow_mut();
        last.resize(KEPT, None);
        last[place] = Some((key, tables));
    });
    Ok(tables)
}

/// The saved set after a body.
unsafe fn saved<'a>(body: *const Body) -> &'a [u8] {
    // SAFETY: a body with what follows it, as the caller promises.
    unsafe {
        let start = body.add(1).cast::<u8>();
        std::slice::from_raw_parts(start, (*body).saved_len as usize)
    }
}

/// The tables of these contents, that stay.
fn intern(body: &Body, saved: &[u8]) -> Result<&'static Tables, c_int> {
    static ALL: Mutex<Option<HashMap<Vec<u8>, &'static Tables>>> = Mutex::new(None);
    let key = [&body.to_bytes(), saved].concat();
    // A child of a fork would find it locked.
    let _no_fork = NoFork::begin();
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(tables) = all.get(&key) {
        return Ok(tables);
    }
    let tables: &'static Tables = Box::leak(load(body, saved)?);
    stats::count(Kind::Loaded, [1, tables.set.memory() as u64, 0]);
    all.insert(key, tables);
    Ok(tables)
}

/// Compiles a saved set.
fn load(body: &Body, saved: &[u8]) -> Result<Box<Tables>, c_int> {
    let set = Set::load(saved, Cpu::host()).map_err(|e| match e {
        LoadError::Version(_) | LoadError::Patterns(_) => HS_DB_VERSION_ERROR,
        _ => HS_INVALID,
    })?;
    let mode = body.mode as c_uint;
    if (set.mode() == Mode::Block) != (mode == HS_MODE_BLOCK) {
        return Err(HS_INVALID);
    }
    Ok(Box::new(Tables::new(set, mode, body.horizon)))
}

/// A table for CRC-32C, RFC 3720: the checksums of all bytes.
const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// What the header's checksum covers: the body and the saved set.
fn checksum(body: &Body, saved: &[u8]) -> u32 {
    let all = body.to_bytes();
    let bytes = all.iter().chain(saved);
    !bytes.fold(!0, |crc: u32, &byte| crc >> 8 ^ CRC[(crc as u8 ^ byte) as usize])
}

/// Makes a database of compiled tables, in memory of the database allocator.
pub(crate) fn new(tables: Box<Tables>, platform: u64) -> Result<*mut Database, c_int> {
    let saved = tables.set.save();
    let body = Body::of(&tables, &saved);
    if u32::try_from(body.length()).is_err() {
        return Err(HS_NOMEM);
    }
    let db = DATABASE.alloc(HEADER + body.length())?.cast::<Database>().as_ptr();
    // SAFETY: fresh memory of this size.
    unsafe { write(db, platform, body, &saved, Box::into_raw(tables), false) };
    Ok(db)
}

/// # Safety
/// At `db` there are as many bytes as the header, the body, the saved set and the tail have.
unsafe fn write(
    db: *mut Database,
    platform: u64,
    body: Body,
    saved: &[u8],
    tables: *const Tables,
    interned: bool,
) {
    let offset = body_offset(db.addr());
    let tail =
        Tail { owner: this_process(), home: db.addr(), tables, interned: u64::from(interned) };
    // SAFETY: as the caller promises; all are aligned to 8 bytes, as allocators and `hs_deserialize_database_at` check.
    unsafe {
        db.cast::<u8>().write_bytes(0, HEADER + body.length());
        db.write(Database {
            magic: MAGIC,
            version: VERSION,
            length: body.length() as u32,
            platform,
            checksum: checksum(&body, saved),
            reserved: [0; 2],
            body: offset as u32,
            padding: [0; 16],
        });
        let place = db.byte_add(offset).cast::<Body>();
        place.write(body);
        ptr::copy_nonoverlapping(saved.as_ptr(), place.add(1).cast::<u8>(), saved.len());
        place.byte_add(body.contents()).cast::<Tail>().write(tail);
    }
}

/// A serialised database, its header checked.
struct Serialised<'a> {
    length: u32,
    platform: u64,
    checksum: u32,
    body: Body,
    saved: &'a [u8],
}

impl<'a> Serialised<'a> {
    /// # Safety
    /// `bytes` is null or points to `length` bytes.
    unsafe fn read(bytes: *const c_char, length: usize) -> Result<Serialised<'a>, c_int> {
        if bytes.is_null() || length < HEADER {
            return Err(HS_INVALID);
        }
        // SAFETY: as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
        let short = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|n| bytes[at + n]));
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        if short(0) != MAGIC {
            return Err(HS_INVALID);
        }
        if short(4) != VERSION {
            return Err(HS_DB_VERSION_ERROR);
        }
        let contents = short(8);
        let least = size_of::<Body>() + size_of::<Tail>();
        if length != HEADER + contents as usize || (contents as usize) < least {
            return Err(HS_INVALID);
        }
        let at = SERIALISED_HEADER;
        let [mode, horizon, saved_len] = [0, 8, 16].map(|field| long(at + field));
        let body = Body { mode, horizon, saved_len };
        let modes = [HS_MODE_BLOCK, HS_MODE_STREAM, HS_MODE_VECTORED].map(u64::from);
        if saved_len > length as u64 || body.length() != contents as usize || !modes.contains(&mode)
        {
            return Err(HS_INVALID);
        }
        let saved = &bytes[at + size_of::<Body>()..][..saved_len as usize];
        Ok(Serialised { length: contents, platform: long(12), checksum: short(20), body, saved })
    }

    fn check(&self) -> Result<(), c_int> {
        check_platform(self.platform)?;
        match self.checksum == checksum(&self.body, self.saved) {
            true => Ok(()),
            false => Err(HS_INVALID),
        }
    }
}

fn check_platform(platform: u64) -> Result<(), c_int> {
    match PLATFORMS.iter().any(|(known, _)| *known == platform) {
        true => Ok(()),
        false => Err(HS_DB_PLATFORM_ERROR),
    }
}

/// Frees a database. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_free_database(db: *mut Database) -> c_int {
    guard(|| {
        if db.is_null() {
            return HS_SUCCESS;
        }
        // SAFETY: the caller's pointer to a database, which nobody uses any more.
        unsafe {
            if field(db, offset_of!(Database, magic)) != MAGIC {
                return HS_INVALID;
            }
            let offset = body_offset(db.addr());
            let length = field(db, offset_of!(Database, length)) as usize;
            let tail = db.byte_add(offset + length).cast::<Tail>().sub(1);
            let ours = field(db, offset_of!(Database, version)) >> 8 == VERSION >> 8
                && tail.is_aligned()
                && (*tail).home == db.addr()
                && (*tail).owner == this_process();
            if ours && (*tail).interned == 0 {
                (*tail).home = 0;
                drop(Box::from_raw((*tail).tables.cast_mut()));
            }
            DATABASE.free(db.cast());
        }
        HS_SUCCESS
    })
}

/// Allocates a database's bytes, for another process or for later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_serialize_database(
    db: *const Database,
    bytes: *mut *mut c_char,
    length: *mut usize,
) -> c_int {
    guard(|| {
        if db.is_null() || bytes.is_null() || length.is_null() {
            return HS_INVALID;
        }
        if !db.is_aligned() {
            return HS_BAD_ALIGN;
        }
        // SAFETY: the caller's pointers.
        let done = unsafe {
            check(db).and_then(|()| body(db)).and_then(|body| {
                let saved = saved(body);
                let len = HEADER + (*body).length();
                let memory = MISC.alloc(len)?.as_ptr();
                memory.write_bytes(0, len);
                let out = std::slice::from_raw_parts_mut(memory, len);
                for (place, number) in [MAGIC, VERSION, (*db).length].into_iter().enumerate() {
                    out[4 * place..][..4].copy_from_slice(&number.to_ne_bytes());
                }
                out[12..20].copy_from_slice(&(*db).platform.to_ne_bytes());
                out[20..24].copy_from_slice(&(*db).checksum.to_ne_bytes());
                let (body, rest) = ((*body).to_bytes(), &mut out[SERIALISED_HEADER..]);
                rest[..body.len()].copy_from_slice(&body);
                rest[body.len()..][..saved.len()].copy_from_slice(saved);
                *bytes = memory.cast();
                *length = len;
                Ok(())
            })
        };
        done.err().unwrap_or(HS_SUCCESS)
    })
}

/// Makes a database of serialised bytes: compiles their patterns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_deserialize_database(
    bytes: *const c_char,
    length: usize,
    db: *mut *mut Database,
) -> c_int {
    guard(|| {
        if bytes.is_null() || db.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *db = null_mut();
            let read = Serialised::read(bytes, length).and_then(|from| {
                from.check()?;
                // As in the original, an allocator's error comes before what the contents show.
                let memory = DATABASE.alloc(length)?;
                let free = |e| {
                    DATABASE.free(memory.as_ptr().cast());
                    e
                };
                let tables = load(&from.body, from.saved).map_err(free)?;
                stats::count(Kind::Loaded, [1, tables.set.memory() as u64, 0]);
                let tables = Box::into_raw(tables);
                let made = memory.cast::<Database>().as_ptr();
                write(made, from.platform, from.body, from.saved, tables, false);
                Ok(made)
            });
            match read {
                Ok(made) => *db = made,
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Makes a database of serialised bytes in memory of the caller, who frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_deserialize_database_at(
    bytes: *const c_char,
    length: usize,
    db: *mut Database,
) -> c_int {
    guard(|| {
        if bytes.is_null() || db.is_null() {
            return HS_INVALID;
        }
        if !db.is_aligned() {
            return HS_BAD_ALIGN;
        }
        // SAFETY: the caller's pointers; at `db` there is room for the database.
        unsafe {
            let read = Serialised::read(bytes, length).and_then(|from| {
                from.check()?;
                let tables = intern(&from.body, from.saved)?;
                write(db, from.platform, from.body, from.saved, tables, true);
                Ok(())
            });
            read.err().unwrap_or(HS_SUCCESS)
        }
    })
}

/// Tells the size of a database in the memory of its allocator. (Its tables, which are not there, come on top.)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_database_size(db: *const Database, size: *mut usize) -> c_int {
    guard(|| {
        if size.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            if let Err(e) = check(db) {
                return e;
            }
            *size = HEADER + field(db, offset_of!(Database, length)) as usize;
        }
        HS_SUCCESS
    })
}

/// Tells the size of the database that serialised bytes become.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_serialized_database_size(
    bytes: *const c_char,
    length: usize,
    size: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's pointers.
        match unsafe { Serialised::read(bytes, length) } {
            Err(e) => e,
            Ok(_) if size.is_null() => HS_INVALID,
            Ok(from) => {
                // SAFETY: not null.
                unsafe { *size = HEADER + from.length as usize };
                HS_SUCCESS
            }
        }
    })
}

/// Allocates a line on a database, in the form of Hyperscan's.
unsafe fn describe(version: u32, platform: u64, mode: c_uint, info: *mut *mut c_char) -> c_int {
    let [major, minor, patch, _] = version.to_be_bytes();
    let features =
        PLATFORMS.iter().find(|(bits, _)| *bits == platform).map_or("", |(_, name)| name);
    let mode = match mode {
        HS_MODE_STREAM => "STREAM",
        HS_MODE_VECTORED => "VECTORED",
        _ => "BLOCK",
    };
    let text = format!("Version: {major}.{minor}.{patch} Features: {features} Mode: {mode}");
    let text = CString::new(text).unwrap_or_default();
    match MISC.copy(text.as_bytes_with_nul()) {
        Ok(memory) => {
            // SAFETY: the caller's pointer.
            unsafe { *info = memory.as_ptr().cast() };
            HS_SUCCESS
        }
        Err(e) => e,
    }
}

/// Allocates a line on serialised bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_serialized_database_info(
    bytes: *const c_char,
    length: usize,
    info: *mut *mut c_char,
) -> c_int {
    guard(|| {
        if info.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *info = null_mut();
            match Serialised::read(bytes, length) {
                Ok(from) => describe(VERSION, from.platform, from.body.mode as c_uint, info),
                Err(e) => e,
            }
        }
    })
}

/// Allocates a line on a database.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_database_info(db: *const Database, info: *mut *mut c_char) -> c_int {
    guard(|| {
        if info.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            *info = null_mut();
            if db.is_null() || !db.is_aligned() || (*db).magic != MAGIC {
                return HS_INVALID;
            }
            match body(db) {
                Ok(body) => describe((*db).version, (*db).platform, (*body).mode as c_uint, info),
                Err(e) => e,
            }
        }
    })
}

/// The checks of a database that a scratch is allocated for: of what may have been mapped from anywhere.
pub(crate) unsafe fn check_all(db: *const Database) -> Result<(), c_int> {
    // SAFETY: null, or the caller's pointer to a database.
    unsafe {
        check(db)?;
        let platform = [0, 4].map(|half| field(db, offset_of!(Database, platform) + half));
        check_platform(u64::from(platform[0]) | u64::from(platform[1]) << 32)?;
        let body = body(db)?;
        let expected = field(db, offset_of!(Database, checksum));
        let length = field(db, offset_of!(Database, length)) as usize;
        if (*body).saved_len > length as u64
            || (*body).length() != length
            || checksum(&*body, saved(body)) != expected
        {
            return Err(HS_INVALID);
        }
        tables(db).map(|_| ())
    }
}
