//! provider-cipher(7): symmetric ciphers.

use core::{
    ffi::{c_int, c_void},
    marker::PhantomData,
    slice,
};

use zeroize::Zeroizing;

use super::{Object, bytes, guard, raise, wall};
use crate::{
    bulk::list::{SPECS, Spec},
    error::{Error, Reason, Result},
    ffi::{Dispatch, Param},
    param::{Answers, Params},
    provider::Provider,
};

/// One kind of cipher; a value is one text in progress, with its key.
pub trait SymCipher: Send + Sized + 'static {
    /// What [`SymCipher::answer`] knows.
    const GETTABLE: &'static [Param];
    /// What [`SymCipher::set`] takes.
    const SETTABLE: &'static [Param];

    /// A text without key.
    fn new(spec: &'static Spec) -> Self;

    /// A copy that goes its own way.
    fn duplicate(&self) -> Result<Self>;

    /// Starts a text; without key or IV, those from before stay.
    fn start(&mut self, provider: &Provider, start: Start) -> Result<()>;

    /// More of the text. Returns how much was written.
    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize>;

    /// Whether a piece of this length, not 0, is only to be given to the state of the text under way:
    /// as long as it was written, at once, with nothing held back before or after it.
    #[inline(always)]
    fn flows(&self, _: &Provider, _len: usize) -> bool {
        false
    }

    /// A piece of which [`SymCipher::flows`] says so. Inlined, with nothing but the one call of what
    /// executes it: all else on the way to AES takes longer than AES takes for a short piece.
    #[inline(always)]
    fn flow(&mut self, _: &Provider, _: Pieces) -> Result<()> {
        Err(Reason::Internal.into())
    }

    /// The end of the text, which has no source. Returns how much was written.
    fn finish(&mut self, provider: &Provider, text: &mut Text) -> Result<usize>;

    /// What `EVP_Cipher` does: neither buffers nor pads.
    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize>;

    /// Answers about the text.
    fn answer(&mut self, provider: &Provider, answers: &mut Answers) -> Result<()>;

    /// Takes parameters.
    fn set(&mut self, provider: &Provider, params: Params) -> Result<()>;

    /// Seals many TLS records at once, into the destination: `interleave` of them.
    fn seal_many(&mut self, _: &Provider, _text: &mut Text, _interleave: u64) -> Result<()> {
        Err(Reason::NotSupported.into())
    }

    /// Counts what was counted in the value alone.
    fn settle(&mut self, provider: &Provider);
}

/// What a text starts with.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Which way.
    pub encrypt: bool,
    /// A new key.
    pub key: Option<&'a [u8]>,
    /// A new IV.
    pub iv: Option<&'a [u8]>,
}

/// What a call works on: memory of the caller's, which may be the same for source and destination.
pub struct Text<'a> {
    src: *const u8,
    len: usize,
    dst: *mut u8,
    room: usize,
    copy: Option<Zeroizing<Vec<u8>>>,
    life: PhantomData<&'a mut [u8]>,
}

/// Source and destination.
pub enum Pieces<'a> {
    /// Apart.
    Apart(&'a [u8], &'a mut [u8]),
    /// The same: as long as the longer one.
    InPlace(&'a mut [u8]),
}

impl Text<'_> {
    /// # Safety
    /// The source is null or `len` bytes, the destination null or room for what the function of
    /// provider-cipher(7) writes, at most `room`; both stay while the value does, and are nobody
    /// else's.
    #[inline]
    unsafe fn new(src: *const u8, len: usize, dst: *mut u8, room: usize) -> Self {
        let len = if src.is_null() { 0 } else { len };
        Text { src, len, dst, room, copy: None, life: PhantomData }
    }

    /// The source's length; CCM is told the length of its text without a source.
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is a source, even an empty one.
    #[inline]
    pub fn has_source(&self) -> bool {
        !self.src.is_null()
    }

    /// Whether there is a destination.
    #[inline]
    pub fn has_destination(&self) -> bool {
        !self.dst.is_null()
    }

    /// How much room the caller says there is.
    #[inline]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Whether source and destination are the same memory.
    #[inline]
    pub fn is_in_place(&self) -> bool {
        core::ptr::eq(self.src, self.dst)
    }

    /// The source alone.
    #[inline]
    pub fn source(&self) -> &[u8] {
        if self.len == 0 || self.src.is_null() {
            return &[];
        }
        // SAFETY: see `new`; while the slice lives, no piece of the destination does.
        unsafe { slice::from_raw_parts(self.src, self.len) }
    }

    #[inline]
    fn check(&self, write: usize) -> Result<()> {
        if write > self.room {
            return Err(Reason::OutputTooSmall.into());
        }
        if self.dst.is_null() && write > 0 {
            return Err(Error::new(Reason::BadInput, "no destination"));
        }
        Ok(())
    }

    /// Source and destination, of which `write` bytes are to be written.
    #[inline]
    pub fn open(&mut self, write: usize) -> Result<Pieces<'_>> {
        self.check(write)?;
        if self.is_in_place() && self.has_source() {
            let len = self.len.max(write);
            // SAFETY: see `new`: the caller has room for what it gives and for what is written.
            return Ok(Pieces::InPlace(unsafe { slice::from_raw_parts_mut(self.dst, len) }));
        }
        let (src, dst) = self.apart(write)?;
        Ok(Pieces::Apart(src, dst))
    }

    /// The same, where the work is out of step: with a copy of the source, if they overlap.
    pub fn apart(&mut self, write: usize) -> Result<(&[u8], &mut [u8])> {
        self.check(write)?;
        let dst = match write {
            0 => &mut [][..],
            // SAFETY: see `new`.
            _ => unsafe { slice::from_raw_parts_mut(self.dst, write) },
        };
        if self.len == 0 || self.src.is_null() {
            return Ok((&[], dst));
        }
        let (s, d) = (self.src.addr(), self.dst.addr());
        if s < d + write && d < s + self.len {
            // SAFETY: see `new`. The destination's slice is not used meanwhile.
            let copy = unsafe { slice::from_raw_parts(self.src, self.len) }.to_vec();
            return Ok((self.copy.insert(Zeroizing::new(copy)), dst));
        }
        // SAFETY: see `new`; they do not overlap.
        Ok((unsafe { slice::from_raw_parts(self.src, self.len) }, dst))
    }
}

/// The functions of one algorithm: a kind, and its place in the list.
pub struct Table<T, const SPEC: usize>(PhantomData<T>);

impl<T: SymCipher, const SPEC: usize> Table<T, SPEC> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, newctx::<T, SPEC> as *const ()),
        Dispatch::new(2, encrypt_init::<T> as *const ()),
        Dispatch::new(3, decrypt_init::<T> as *const ()),
        Dispatch::new(4, update::<T> as *const ()),
        Dispatch::new(5, finish::<T> as *const ()),
        Dispatch::new(6, cipher::<T> as *const ()),
        Dispatch::new(7, freectx::<T> as *const ()),
        Dispatch::new(8, dupctx::<T> as *const ()),
        Dispatch::new(9, get_params::<SPEC> as *const ()),
        Dispatch::new(10, get_ctx_params::<T> as *const ()),
        Dispatch::new(11, set_ctx_params::<T> as *const ()),
        Dispatch::new(12, gettable_params as *const ()),
        Dispatch::new(13, gettable_ctx_params::<T> as *const ()),
        Dispatch::new(14, settable_ctx_params::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-cipher(7) promises them: `object` is of `newctx`,
// buffers as long as said, arrays end with a null key.

unsafe extern "C" fn newctx<T: SymCipher, const SPEC: usize>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Object::make(provctx, |_| Ok(T::new(&SPECS[SPEC]))) }
}

unsafe extern "C" fn freectx<T: SymCipher>(object: *mut c_void) {
    if object.is_null() {
        return;
    }
    // SAFETY: see above; freed once.
    unsafe {
        let Object { provider, value } = Object::<T>::at(object);
        wall(|| value.settle(provider));
        Object::<T>::free(object);
    }
}

unsafe extern "C" fn dupctx<T: SymCipher>(object: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    match guard(&object.provider, || object.value.duplicate()) {
        Some(value) => {
            Box::into_raw(Box::new(Object { provider: object.provider.clone(), value })).cast()
        }
        None => core::ptr::null_mut(),
    }
}

/// # Safety
/// As the functions that use it.
unsafe fn start<T: SymCipher>(
    object: *mut c_void,
    (key, key_len): (*const u8, usize),
    (iv, iv_len): (*const u8, usize),
    params: *const Param,
    encrypt: bool,
) -> c_int {
    // SAFETY: see above: null, or so many bytes.
    let given = |data: *const u8, len| (!data.is_null()).then(|| unsafe { bytes(data, len) });
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|cipher, provider| {
        let start = Start { encrypt, key: given(key, key_len), iv: given(iv, iv_len) };
        cipher.start(provider, start)?;
        if params.is_empty() { Ok(()) } else { cipher.set(provider, params) }
    })
}

unsafe extern "C" fn encrypt_init<T: SymCipher>(
    object: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, (key, key_len), (iv, iv_len), params, true) }
}

unsafe extern "C" fn decrypt_init<T: SymCipher>(
    object: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    unsafe { start::<T>(object, (key, key_len), (iv, iv_len), params, false) }
}

/// Runs a function over a text, and reports how much it wrote.
///
/// # Safety
/// As the functions that use it.
#[inline]
unsafe fn over<T: SymCipher>(
    object: *mut c_void,
    out_len: *mut usize,
    mut text: Text,
    f: impl FnOnce(&mut T, &Provider, &mut Text) -> Result<usize>,
) -> c_int {
    // SAFETY: see above.
    let object = unsafe { Object::<T>::at(object) };
    object.run(|cipher, provider| {
        let written = f(cipher, provider, &mut text)?;
        if !out_len.is_null() {
            // SAFETY: room for a length.
            unsafe { *out_len = written };
        }
        Ok(())
    })
}

/// A piece that flows, in place or apart. Inlined: there is another one for either.
///
/// Without the wall, which takes a tenth of the time of a block of AES-CBC: what flows calls one function of
/// the running state, and a panic in that ends the process here, as in every `extern "C"` function.
///
/// # Safety
/// As the function that uses it; `len` bytes at `src` and at `dst`, which are the same or do not
/// overlap.
#[inline(always)]
unsafe fn flow<T: SymCipher, const IN_PLACE: bool>(
    object: &mut Object<T>,
    out_len: *mut usize,
    (src, len, dst): (*const u8, usize, *mut u8),
) -> c_int {
    let Object { provider, value: cipher } = object;
    // SAFETY: the caller's.
    let dst = unsafe { slice::from_raw_parts_mut(dst, len) };
    let done = if IN_PLACE {
        cipher.flow(provider, Pieces::InPlace(dst))
    } else {
        // SAFETY: the caller's.
        let src = unsafe { slice::from_raw_parts(src, len) };
        cipher.flow(provider, Pieces::Apart(src, dst))
    };
    match done {
        Ok(()) => {
            // SAFETY: room for a length.
            unsafe { *out_len = len };
            1
        }
        Err(e) => {
            raise(provider, Some(e));
            0
        }
    }
}

unsafe extern "C" fn update<T: SymCipher>(
    object: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    room: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    if len > 0 && len <= room && !input.is_null() && !out.is_null() && !out_len.is_null() {
        // SAFETY: see above.
        let object = unsafe { Object::<T>::at(object) };
        if object.value.flows(&object.provider, len) {
            if core::ptr::eq(input, out) {
                // SAFETY: see above.
                return unsafe { flow::<T, true>(object, out_len, (input, len, out)) };
            }
            if input.addr().abs_diff(out.addr()) >= len {
                // SAFETY: see above; they do not overlap.
                return unsafe { flow::<T, false>(object, out_len, (input, len, out)) };
            }
        }
    }
    // CCM is told the length of its text by a call with neither source nor destination.
    if input.is_null() && out.is_null() && len > 0 {
        // SAFETY: see above; no byte is touched.
        let mut text = unsafe { Text::new(input, 0, out, room) };
        text.len = len;
        // SAFETY: see above.
        return unsafe { over::<T>(object, out_len, text, T::update) };
    }
    // SAFETY: see above.
    unsafe { over::<T>(object, out_len, Text::new(input, len, out, room), T::update) }
}

unsafe extern "C" fn finish<T: SymCipher>(
    object: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    room: usize,
) -> c_int {
    // SAFETY: see above.
    unsafe { over::<T>(object, out_len, Text::new(core::ptr::null(), 0, out, room), T::finish) }
}

unsafe extern "C" fn cipher<T: SymCipher>(
    object: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    room: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    // SAFETY: see above.
    unsafe { over::<T>(object, out_len, Text::new(input, len, out, room), T::whole) }
}

unsafe extern "C" fn get_params<const SPEC: usize>(params: *mut Param) -> c_int {
    // SAFETY: see above.
    let mut answers = unsafe { Answers::new(params) };
    let answered = wall(|| -> Result<()> {
        let spec = &SPECS[SPEC];
        answers.int(c"mode", i64::from(spec.mode))?;
        answers.int(c"keylen", spec.key_len as i64)?;
        answers.int(c"ivlen", spec.iv_len as i64)?;
        answers.int(c"blocksize", spec.block_len as i64)?;
        answers.int(c"aead", i64::from(spec.flags.aead))?;
        answers.int(c"custom-iv", i64::from(spec.flags.custom_iv))?;
        answers.int(c"cts", 0)?;
        answers.int(c"tls-multi", i64::from(spec.flags.multiblock))?;
        answers.int(c"has-randkey", i64::from(spec.flags.random_key))
    });
    c_int::from(matches!(answered, Some(Ok(()))))
}

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    static GETTABLE: [Param; 10] = [
        Param::uint(c"mode"),
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::size(c"blocksize"),
        Param::int(c"aead"),
        Param::int(c"custom-iv"),
        Param::int(c"cts"),
        Param::int(c"tls-multi"),
        Param::int(c"has-randkey"),
        Param::END,
    ];
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get_ctx_params<T: SymCipher>(
    object: *mut c_void,
    params: *mut Param,
) -> c_int {
    // SAFETY: see above.
    let (object, mut answers) = unsafe { (Object::<T>::at(object), Answers::new(params)) };
    object.run(|cipher, provider| cipher.answer(provider, &mut answers))
}

unsafe extern "C" fn gettable_ctx_params<T: SymCipher>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_ctx_params<T: SymCipher>(
    object: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (object, params) = unsafe { (Object::<T>::at(object), Params::new(params)) };
    object.run(|cipher, provider| {
        cipher.set(provider, params)?;
        let Some([out, input]) = params.both(c"tls1multi_enc", c"tls1multi_encin") else {
            return Ok(());
        };
        let interleave = params.uint(c"tls1multi_interleave")?.ok_or(Reason::MissingParameter)?;
        // SAFETY: the room is as long as the answer `tls1multi_aadpacklen` was (EVP_EncryptInit(3)),
        // and that is what the function writes; the size that comes with it is the source's.
        let mut text = unsafe { Text::new(input.0, input.1, out.0.cast_mut(), usize::MAX) };
        cipher.seal_many(provider, &mut text, interleave)
    })
}

unsafe extern "C" fn settable_ctx_params<T: SymCipher>(
    _object: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::SETTABLE.as_ptr()
}
