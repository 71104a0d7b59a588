//! `OSSL_PARAM` arrays: reading what a caller sets, answering what a caller asks, and handing out
//! what is exported. Safe to use; the constructors, which take pointers, are not.
#![allow(unsafe_code)]

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr, slice,
};
use std::{borrow::Cow, ffi::CString};

use zeroize::Zeroize;

use crate::{
    error::{Error, Reason, Result},
    ffi::{
        Callback, INTEGER, OCTET_PTR, OCTET_STRING, Param, UNSIGNED_INTEGER, UTF8_PTR, UTF8_STRING,
    },
};

/// The rows of an array up to its end.
///
/// # Safety
/// `first` is null or an array that ends with a null key and lives as long as `'a`.
unsafe fn rows<'a>(first: *const Param) -> &'a [Param] {
    if first.is_null() {
        return &[];
    }
    let mut n = 0;
    // SAFETY: the array goes on until a null key.
    while !unsafe { (*first.add(n)).key }.is_null() {
        n += 1;
    }
    // SAFETY: `n` rows were just read.
    unsafe { slice::from_raw_parts(first, n) }
}

/// Whether a row has this name: most differ in the first letters.
///
/// # Safety
/// `p.key` is a string.
#[inline]
unsafe fn is(p: &Param, key: &CStr) -> bool {
    let same = |(i, &b): (usize, &u8)| {
        // SAFETY: all bytes before this one were those of `key`, and so not the end.
        unsafe { *p.key.add(i) as u8 == b }
    };
    key.to_bytes_with_nul().iter().enumerate().all(same)
}

/// What a caller sets.
#[derive(Clone, Copy)]
pub struct Params<'a>(&'a [Param]);

impl<'a> Params<'a> {
    /// No parameters.
    pub const NONE: Params<'static> = Params(&[]);

    /// The array that a caller passed.
    ///
    /// # Safety
    /// `first` is null or an array ended by a null key, whose values are as their types and sizes
    /// say; both live as long as `'a`.
    pub unsafe fn new(first: *const Param) -> Params<'a> {
        // SAFETY: as required here.
        Params(unsafe { rows(first) })
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The array, with its end, as the caller passed it; null for none.
    pub fn as_ptr(self) -> *const Param {
        if self.0.is_empty() { ptr::null() } else { self.0.as_ptr() }
    }

    /// The value of this name.
    pub fn find(self, key: &CStr) -> Option<Value<'a>> {
        // SAFETY: keys are strings.
        self.0.iter().find(|p| unsafe { is(p, key) }).map(Value)
    }

    /// All values of this name, in their order.
    pub fn all(self, key: &CStr) -> impl Iterator<Item = Value<'a>> {
        // SAFETY: keys are strings.
        self.0.iter().filter(move |p| unsafe { is(p, key) }).map(Value)
    }

    /// The text of this name.
    pub fn text(self, key: &CStr) -> Result<Option<&'a str>> {
        self.find(key).map(Value::text).transpose()
    }

    /// The bytes of this name.
    pub fn octets(self, key: &CStr) -> Result<Option<&'a [u8]>> {
        self.find(key).map(Value::octets).transpose()
    }

    /// The first `n` bytes of this name: for values whose size says something else (TLS multi-block;
    /// the size -1 for "all of it").
    pub fn first(self, key: &CStr, n: usize) -> Result<Option<&'a [u8]>> {
        let Some(Value(p)) = self.find(key) else { return Ok(None) };
        if p.data_type != OCTET_STRING || p.data.is_null() || p.data_size < n {
            return Err(Value(p).wrong());
        }
        // SAFETY: the caller says that there are at least so many bytes.
        Ok(Some(unsafe { slice::from_raw_parts(p.data.cast(), n) }))
    }

    /// The bytes of this name, if they are given, not just their number.
    pub fn octets_if_any(self, key: &CStr) -> Result<Option<&'a [u8]>> {
        self.find(key).filter(|value| !value.0.data.is_null()).map(Value::octets).transpose()
    }

    /// The size that a value says it has.
    pub fn size(self, key: &CStr) -> Option<usize> {
        self.find(key).map(|value| value.0.data_size)
    }

    /// Where two values of bytes lie, and their sizes, if both are there.
    pub(crate) fn both(self, a: &CStr, b: &CStr) -> Option<[(*const u8, usize); 2]> {
        let of = |key| self.find(key).filter(|v| v.0.data_type == OCTET_STRING);
        let place = |v: Value| (v.0.data.cast_const().cast(), v.0.data_size);
        Some([place(of(a)?), place(of(b)?)])
    }

    /// The integer of this name.
    pub fn int(self, key: &CStr) -> Result<Option<i64>> {
        self.find(key).map(Value::int).transpose()
    }

    /// The unsigned integer of this name.
    pub fn uint(self, key: &CStr) -> Result<Option<u64>> {
        let value = self.int(key)?.map(u64::try_from).transpose();
        value.map_err(|_| Error::from(Reason::InvalidParameter).about(key))
    }

    /// The number of this name, big-endian without leading zeros.
    pub fn number(self, key: &CStr) -> Result<Option<Vec<u8>>> {
        self.find(key).map(Value::number).transpose()
    }
}

/// One value that a caller sets.
#[derive(Clone, Copy)]
pub struct Value<'a>(&'a Param);

impl<'a> Value<'a> {
    fn wrong(self) -> Error {
        // SAFETY: keys are strings.
        Error::from(Reason::InvalidParameter).about(unsafe { CStr::from_ptr(self.0.key) })
    }

    /// Whether it is text rather than a number.
    pub fn is_text(self) -> bool {
        matches!(self.0.data_type, UTF8_STRING | UTF8_PTR)
    }

    fn bytes(self, in_place: u32, pointer: u32) -> Result<&'a [u8]> {
        let p = self.0;
        let data: *const u8 = match p.data_type {
            t if t == in_place => p.data.cast(),
            // SAFETY: a value of this type is a pointer.
            t if t == pointer && !p.data.is_null() => unsafe { *p.data.cast::<*const u8>() },
            _ => return Err(self.wrong()),
        };
        if data.is_null() {
            return if p.data_size == 0 { Ok(&[]) } else { Err(self.wrong()) };
        }
        // SAFETY: the caller says that there are so many bytes.
        Ok(unsafe { slice::from_raw_parts(data, p.data_size) })
    }

    /// As text. `data_size` may count the NUL at the end or not.
    pub fn text(self) -> Result<&'a str> {
        let bytes = self.bytes(UTF8_STRING, UTF8_PTR)?;
        let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        core::str::from_utf8(&bytes[..len]).map_err(|_| self.wrong())
    }

    /// As bytes.
    pub fn octets(self) -> Result<&'a [u8]> {
        self.bytes(OCTET_STRING, OCTET_PTR)
    }

    /// The bytes of a native integer, least significant first.
    fn little(self) -> Result<Vec<u8>> {
        let p = self.0;
        if !matches!(p.data_type, INTEGER | UNSIGNED_INTEGER) || p.data.is_null() {
            return Err(self.wrong());
        }
        // SAFETY: the caller says that the integer has so many bytes.
        let mut bytes = unsafe { slice::from_raw_parts(p.data.cast::<u8>(), p.data_size) }.to_vec();
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// As an integer.
    pub fn int(self) -> Result<i64> {
        // SAFETY: integers of these sizes.
        let quick = unsafe {
            match (self.0.data_type, self.0.data_size) {
                _ if self.0.data.is_null() => None,
                (UNSIGNED_INTEGER, 4) => Some(self.0.data.cast::<u32>().read_unaligned().into()),
                (UNSIGNED_INTEGER, 8) => self.0.data.cast::<u64>().read_unaligned().try_into().ok(),
                (INTEGER, 4) => Some(self.0.data.cast::<i32>().read_unaligned().into()),
                (INTEGER, 8) => Some(self.0.data.cast::<i64>().read_unaligned()),
                _ => None,
            }
        };
        if let Some(value) = quick {
            return Ok(value);
        }
        let little = self.little()?;
        let negative = self.0.data_type == INTEGER && little.last().is_some_and(|b| b >> 7 == 1);
        let fill = if negative { 0xff } else { 0 };
        let byte = |i: usize| little.get(i).copied().unwrap_or(fill);
        let value = i64::from_le_bytes(core::array::from_fn(byte));
        let fits = little.iter().skip(8).all(|&b| b == fill) && (value < 0) == negative;
        if fits { Ok(value) } else { Err(self.wrong()) }
    }

    /// As a number, big-endian without leading zeros.
    pub fn number(self) -> Result<Vec<u8>> {
        let mut bytes = self.little()?;
        if self.0.data_type == INTEGER && bytes.last().is_some_and(|b| b >> 7 == 1) {
            return Err(self.wrong());
        }
        let len = bytes.len() - bytes.iter().rev().take_while(|&&b| b == 0).count();
        let number = bytes[..len].iter().rev().copied().collect();
        bytes.zeroize();
        Ok(number)
    }
}

/// What a caller asks for.
pub struct Answers<'a>(&'a mut [Param]);

impl<'a> Answers<'a> {
    /// The array that a caller passed.
    ///
    /// # Safety
    /// As [`Params::new`]; the values are room to write to, or null.
    pub unsafe fn new(first: *mut Param) -> Answers<'a> {
        // SAFETY: as required here.
        let n = unsafe { rows(first) }.len();
        if n == 0 {
            return Answers(&mut []);
        }
        // SAFETY: `n` rows were counted, and the caller lends them for writing.
        Answers(unsafe { slice::from_raw_parts_mut(first, n) })
    }

    /// The array, with its end, as the caller passed it; null for none.
    pub fn as_mut_ptr(&mut self) -> *mut Param {
        if self.0.is_empty() { ptr::null_mut() } else { self.0.as_mut_ptr() }
    }

    fn find(&mut self, key: &CStr) -> Option<&mut Param> {
        // SAFETY: keys are strings.
        self.0.iter_mut().find(|p| unsafe { is(p, key) })
    }

    /// Whether this is asked for.
    pub fn wants(&self, key: &CStr) -> bool {
        // SAFETY: keys are strings.
        self.0.iter().any(|p| unsafe { is(p, key) })
    }

    /// Whether this is asked for as a number.
    pub fn is_number(&mut self, key: &CStr) -> bool {
        self.find(key).is_some_and(|p| matches!(p.data_type, INTEGER | UNSIGNED_INTEGER))
    }

    /// How much room there is for the bytes of this name, if they are asked for.
    pub fn room(&mut self, key: &CStr) -> Option<usize> {
        self.find(key).map(|p| p.data_size)
    }

    /// Answers with an integer, if asked.
    pub fn int(&mut self, key: &CStr, value: i64) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        if matches!(p.data_type, INTEGER | UNSIGNED_INTEGER) && !p.data.is_null() && value >= 0 {
            match (p.data_size, i32::try_from(value)) {
                (8, _) => {
                    // SAFETY: room for an integer of this size.
                    unsafe { p.data.cast::<i64>().write_unaligned(value) };
                    p.return_size = 8;
                    return Ok(());
                }
                (4, Ok(value)) => {
                    // SAFETY: as above.
                    unsafe { p.data.cast::<i32>().write_unaligned(value) };
                    p.return_size = 4;
                    return Ok(());
                }
                _ => {}
            }
        }
        if p.data_type == INTEGER || value >= 0 {
            let fill = if value < 0 { 0xff } else { 0 };
            let signed = p.data_type == INTEGER;
            return write_little(p, key, &value.to_le_bytes(), fill, signed, 4);
        }
        Err(Error::from(Reason::InvalidParameter).about(key))
    }

    /// Answers with a `size_t`, if asked.
    pub fn size(&mut self, key: &CStr, value: usize) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        let signed = p.data_type == INTEGER;
        write_little(p, key, &value.to_le_bytes(), 0, signed, size_of::<usize>())
    }

    /// Answers with a number given big-endian, if asked.
    pub fn number(&mut self, key: &CStr, big: &[u8]) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        let mut little: Vec<u8> = big.iter().rev().copied().collect();
        let signed = p.data_type == INTEGER;
        let written = write_little(p, key, &little, 0, signed, 1);
        little.zeroize();
        written
    }

    /// Answers with text, if asked.
    pub fn text(&mut self, key: &CStr, value: &'static CStr) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        if p.data_type == UTF8_PTR {
            p.return_size = value.count_bytes();
            if !p.data.is_null() {
                // SAFETY: a value of this type is room for a pointer; the text is static.
                unsafe { *p.data.cast::<*const c_char>() = value.as_ptr() };
            }
            return Ok(());
        }
        write(p, key, UTF8_STRING, value.to_bytes())?;
        if !p.data.is_null() && p.data_size > value.count_bytes() {
            // SAFETY: there is room for one byte more.
            unsafe { *p.data.cast::<u8>().add(value.count_bytes()) = 0 };
        }
        Ok(())
    }

    /// Answers with text that does not live on; only into room of the caller's.
    pub fn passing_text(&mut self, key: &CStr, value: &str) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        write(p, key, UTF8_STRING, value.as_bytes())?;
        if !p.data.is_null() && p.data_size > value.len() {
            // SAFETY: there is room for one byte more.
            unsafe { *p.data.cast::<u8>().add(value.len()) = 0 };
        }
        Ok(())
    }

    /// Answers with bytes, if asked, into room of the caller's: they need not live on.
    pub fn octets(&mut self, key: &CStr, value: &[u8]) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        write(p, key, OCTET_STRING, value)
    }

    /// Answers with a new key, if asked. The caller passes no size: the room is as long as the cipher's
    /// keys are (`EVP_CIPHER_CTX_rand_key`).
    pub fn new_key(&mut self, key: &CStr, value: &[u8]) -> Result<()> {
        let Some(p) = self.find(key).filter(|p| !p.data.is_null()) else { return Ok(()) };
        p.return_size = value.len();
        // SAFETY: see above.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), p.data.cast(), value.len()) };
        Ok(())
    }

    /// Answers with bytes of an operation, if asked, also by pointer: OpenSSL's manual pages say of
    /// these parameters how long the bytes stay, which is until they are set anew.
    pub fn lent_octets(&mut self, key: &CStr, value: &[u8]) -> Result<()> {
        let Some(p) = self.find(key) else { return Ok(()) };
        if p.data_type == OCTET_PTR {
            p.return_size = value.len();
            if !p.data.is_null() {
                // SAFETY: a value of this type is room for a pointer.
                unsafe { *p.data.cast::<*const u8>() = value.as_ptr() };
            }
            return Ok(());
        }
        write(p, key, OCTET_STRING, value)
    }
}

fn write(p: &mut Param, key: &CStr, data_type: u32, value: &[u8]) -> Result<()> {
    if p.data_type != data_type {
        return Err(Error::from(Reason::InvalidParameter).about(key));
    }
    p.return_size = value.len();
    if p.data.is_null() {
        return Ok(());
    }
    if p.data_size < value.len() {
        return Err(Error::from(Reason::OutputTooSmall).about(key));
    }
    // SAFETY: the caller says that there is room for `data_size` bytes.
    unsafe { ptr::copy_nonoverlapping(value.as_ptr(), p.data.cast(), value.len()) };
    Ok(())
}

/// Writes an integer given least significant byte first into all of the room, filled up with
/// `fill`. Asked for its size alone, the integer says `least` bytes or as many as it needs.
fn write_little(
    p: &mut Param,
    key: &CStr,
    little: &[u8],
    fill: u8,
    signed: bool,
    least: usize,
) -> Result<()> {
    if !matches!(p.data_type, INTEGER | UNSIGNED_INTEGER) {
        return Err(Error::from(Reason::InvalidParameter).about(key));
    }
    let mut need = little.len() - little.iter().rev().take_while(|&&b| b == fill).count();
    // A signed integer keeps a bit for its sign.
    let top = need.checked_sub(1).map_or(fill, |last| little[last]);
    if signed && top >> 7 != fill >> 7 {
        need += 1;
    }
    if p.data.is_null() {
        p.return_size = need.max(least);
        return Ok(());
    }
    if p.data_size < need {
        p.return_size = need;
        return Err(Error::from(Reason::OutputTooSmall).about(key));
    }
    p.return_size = p.data_size;
    // SAFETY: the caller says that there is room for `data_size` bytes.
    let room = unsafe { slice::from_raw_parts_mut(p.data.cast::<u8>(), p.data_size) };
    for (i, byte) in room.iter_mut().enumerate() {
        *byte = little.get(i).copied().unwrap_or(fill);
    }
    if cfg!(target_endian = "big") {
        room.reverse();
    }
    Ok(())
}

/// What an object hands out: an array built from copies, overwritten when dropped.
#[derive(Default)]
pub struct Export(Vec<(Cow<'static, CStr>, u32, Vec<u8>)>);

impl Export {
    /// Adds a number given big-endian; it stays as long as it is, leading zeros and all.
    pub fn number(&mut self, key: &'static CStr, big: &[u8]) {
        let mut bytes: Vec<u8> = big.to_vec();
        if bytes.is_empty() {
            bytes.push(0);
        }
        if cfg!(target_endian = "little") {
            bytes.reverse();
        }
        self.0.push((key.into(), UNSIGNED_INTEGER, bytes));
    }

    /// Adds an `int`.
    pub fn int(&mut self, key: &'static CStr, value: c_int) {
        self.0.push((key.into(), INTEGER, value.to_ne_bytes().to_vec()));
    }

    /// Adds an `unsigned int`.
    pub fn uint(&mut self, key: &'static CStr, value: u32) {
        self.0.push((key.into(), UNSIGNED_INTEGER, value.to_ne_bytes().to_vec()));
    }

    /// Adds text.
    pub fn text(&mut self, key: &'static CStr, value: &CStr) {
        self.0.push((key.into(), UTF8_STRING, value.to_bytes_with_nul().to_vec()));
    }

    /// Adds bytes.
    pub fn octets(&mut self, key: &'static CStr, value: &[u8]) {
        self.0.push((key.into(), OCTET_STRING, value.to_vec()));
    }

    /// Adds copies of all values that a caller passed, in the place of those of the same name. Texts
    /// and bytes by pointer become such in place.
    pub fn copy(&mut self, from: Params) {
        for p in from.0 {
            // SAFETY: keys are strings.
            let key = unsafe { CStr::from_ptr(p.key) }.to_owned();
            self.put(Cow::Owned(key), p);
        }
    }

    /// The same of an array that was exported to us. Who gets it next may keep the pointers to its
    /// names: `OSSL_PARAM_dup` does.
    ///
    /// # Safety
    /// The names are static.
    pub unsafe fn pass_on(&mut self, from: Params) {
        for p in from.0 {
            // SAFETY: as required here.
            let key: &'static CStr = unsafe { CStr::from_ptr(p.key) };
            self.put(Cow::Borrowed(key), p);
        }
    }

    fn put(&mut self, key: Cow<'static, CStr>, p: &Param) {
        let value = Value(p);
        let copied = match p.data_type {
            INTEGER | UNSIGNED_INTEGER if !p.data.is_null() => {
                // SAFETY: the caller says that the integer has so many bytes.
                let bytes = unsafe { slice::from_raw_parts(p.data.cast::<u8>(), p.data_size) };
                Ok((p.data_type, bytes.to_vec()))
            }
            UTF8_STRING | UTF8_PTR => {
                value.text().map(|text| (UTF8_STRING, [text.as_bytes(), &[0]].concat()))
            }
            OCTET_STRING | OCTET_PTR => value.octets().map(|bytes| (OCTET_STRING, bytes.to_vec())),
            _ => Err(value.wrong()),
        };
        if let Ok((data_type, bytes)) = copied {
            self.0.retain(|row| row.0 != key);
            self.0.push((key, data_type, bytes));
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the array to the caller's function.
    ///
    /// # Safety
    /// `callback` may be called with `arg`.
    pub unsafe fn deliver(&mut self, callback: Callback, arg: *mut c_void) -> bool {
        // SAFETY: the caller allows the call; the array and its values live through it.
        self.lend(|array| unsafe { callback(array, arg) }) == 1
    }

    /// Lends the values to a function, as a caller's.
    pub fn lend_params<R>(&mut self, f: impl FnOnce(Params) -> R) -> R {
        // SAFETY: the array lives through the call.
        self.lend(|array| f(unsafe { Params::new(array) }))
    }

    /// Lends the array to a function.
    pub fn lend<R>(&mut self, f: impl FnOnce(*const Param) -> R) -> R {
        let row = |(key, data_type, value): &mut (Cow<'static, CStr>, u32, Vec<u8>)| Param {
            key: key.as_ptr(),
            data_type: *data_type,
            data: value.as_mut_ptr().cast(),
            // Text has a NUL that its size does not count.
            data_size: value.len() - usize::from(*data_type == UTF8_STRING),
            return_size: 0,
        };
        let mut array: Vec<Param> = self.0.iter_mut().map(row).collect();
        array.push(Param::END);
        f(array.as_ptr())
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|(_, _, value)| value.zeroize());
    }
}

/// Asks somebody for texts by name: what the core knows of a provider.
///
/// `get` is given an array of requests for pointers to text and fills it in; the result has a text
/// for each key that was answered.
pub fn ask_texts(keys: &[CString], get: impl FnOnce(*mut Param) -> c_int) -> Vec<Option<String>> {
    let mut texts: Vec<*const c_char> = vec![ptr::null(); keys.len()];
    let mut array: Vec<Param> = keys
        .iter()
        .zip(&mut texts)
        .map(|(key, text)| Param {
            key: key.as_ptr(),
            data_type: UTF8_PTR,
            data: ptr::from_mut(text).cast(),
            data_size: 0,
            return_size: usize::MAX,
        })
        .collect();
    array.push(Param::END);
    if get(array.as_mut_ptr()) != 1 {
        return vec![None; keys.len()];
    }
    let text = |p: &*const c_char| {
        // SAFETY: what was answered is a string of the core's.
        (!p.is_null()).then(|| unsafe { CStr::from_ptr(*p) }.to_string_lossy().into_owned())
    };
    texts.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_by_pointer_only_where_they_stay() {
        let mut pointer: *const u8 = ptr::null();
        let row = Param {
            data_type: OCTET_PTR,
            data: ptr::from_mut(&mut pointer).cast(),
            ..Param::octets_pointer(c"bytes")
        };
        let mut array = [row, Param::END];
        // SAFETY: an array with its end; the value is room for a pointer.
        let mut answers = unsafe { Answers::new(array.as_mut_ptr()) };
        assert!(answers.octets(c"bytes", &[1, 2]).is_err());
        let kept = [3, 4, 5];
        answers.lent_octets(c"bytes", &kept).unwrap();
        assert_eq!((pointer, array[0].return_size), (kept.as_ptr(), 3));
    }
}
