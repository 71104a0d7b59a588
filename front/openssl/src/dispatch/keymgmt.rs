//! provider-keymgmt(7).

use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Object, guard};
use crate::{
    entry,
    error::{Error, Reason, Result},
    ffi::{Callback, Dispatch, Param},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// Which parts of a key.
#[derive(Clone, Copy, Debug)]
pub struct Selection(c_int);

impl Selection {
    /// Both halves of the pair and all parameters.
    pub const ALL: Selection = Selection(0x87);

    /// These parts: private key, public key, domain parameters, other parameters.
    pub fn of(private: bool, public: bool, domain: bool, other: bool) -> Selection {
        let bits = [(private, 0x01), (public, 0x02), (domain, 0x04), (other, 0x80)];
        Selection(bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum())
    }

    /// OpenSSL's number.
    pub fn bits(self) -> c_int {
        self.0
    }

    /// The private key.
    pub fn private(self) -> bool {
        self.0 & 0x01 != 0
    }

    /// The public key.
    pub fn public(self) -> bool {
        self.0 & 0x02 != 0
    }

    /// Either half.
    pub fn pair(self) -> bool {
        self.0 & 0x03 != 0
    }

    /// The domain parameters: the group.
    pub fn domain(self) -> bool {
        self.0 & 0x04 != 0
    }

    /// Other parameters.
    pub fn other(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// One type of keys. A value is one state of a key: operations keep the state that they were
/// started with, whatever is set later.
pub trait Keymgmt: Clone + Send + Sync + 'static {
    /// How keys of this type are made.
    type Generation: Generation<Key = Self>;

    /// What [`Keymgmt::answer`] knows.
    const GETTABLE: &'static [Param];
    /// What [`Keymgmt::set`] takes.
    const SETTABLE: &'static [Param] = &[Param::END];

    /// A key without content, of the variant of [`Table`].
    fn new(variant: u8) -> Self;

    /// Whether all selected parts are there that this type has.
    fn has(&self, selection: Selection) -> bool;

    /// Whether the selected parts are equal.
    fn matches(&self, other: &Self, selection: Selection) -> bool;

    /// Whether the selected parts are valid.
    fn validate(&self, provider: &Provider, selection: Selection, quick: bool) -> Result<()>;

    /// What [`Keymgmt::import`] and [`Keymgmt::export`] move.
    fn types(selection: Selection) -> &'static [Param];

    /// Takes over the content that another provider's key has.
    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()>;

    /// Gives the content to another provider.
    fn export(&self, provider: &Provider, selection: Selection, to: &mut Export) -> Result<()>;

    /// A copy with the selected parts.
    #[must_use]
    fn select(&self, selection: Selection) -> Self;

    /// Answers about the key.
    fn answer(&self, provider: &Provider, answers: &mut Answers) -> Result<()>;

    /// Changes the key.
    fn set(&mut self, _provider: &Provider, _params: Params) -> Result<()> {
        Err(Error::new(Reason::InvalidParameter, "a key of this type has nothing to set"))
    }

    /// Under which name an operation (`OSSL_OP_...`) is found for keys of this type; `None` for
    /// the type's own name.
    fn operation_name(_variant: u8, _operation: c_int) -> Option<&'static CStr> {
        None
    }
}

/// The making of keys of one type.
pub trait Generation: Sized {
    /// The type.
    type Key;

    /// What [`Generation::set`] takes.
    const SETTABLE: &'static [Param];

    /// What is to be made: a key of the variant of [`Table`].
    fn new(provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<Self>;

    /// Takes parameters from a key.
    fn template(&mut self, key: &Self::Key) -> Result<()>;

    /// Takes parameters.
    fn set(&mut self, params: Params) -> Result<()>;

    /// Makes a key.
    fn run(&mut self, provider: &Provider) -> Result<Self::Key>;
}

/// What OpenSSL calls key data: the current state of one key.
pub struct KeyCell<T> {
    provider: Arc<Provider>,
    state: Mutex<Arc<T>>,
}

impl<T: Keymgmt> KeyCell<T> {
    fn make(provider: Arc<Provider>, key: T) -> *mut c_void {
        Box::into_raw(Box::new(KeyCell { provider, state: Mutex::new(Arc::new(key)) })).cast()
    }

    /// # Safety
    /// `key` is null or was made by this table and is not freed yet.
    unsafe fn at<'a>(key: *const c_void) -> Option<&'a KeyCell<T>> {
        // SAFETY: as required here.
        unsafe { key.cast::<KeyCell<T>>().as_ref() }
    }

    fn state(&self) -> Arc<T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, f: impl FnOnce(&mut T, &Provider) -> Result<()>) -> c_int {
        let done = guard(&self.provider, || {
            let mut next = (*self.state()).clone();
            f(&mut next, &self.provider)?;
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
            Ok(())
        });
        c_int::from(done.is_some())
    }
}

/// The state of the key that an operation is started with.
///
/// # Safety
/// `key` is null or was made by the table of `T` and is not freed yet.
pub(super) unsafe fn state<T: Keymgmt>(key: *const c_void) -> Option<Arc<T>> {
    // SAFETY: as required here.
    unsafe { KeyCell::<T>::at(key) }.map(KeyCell::state)
}

/// The functions of one type. Names that share a type (RSA and RSA-PSS, X25519 and X448) are
/// variants of it: implementations of operations take keys of all of them.
pub struct Table<T, const V: u8 = 0>(core::marker::PhantomData<T>);

impl<T: Keymgmt, const V: u8> Table<T, V> {
    /// The dispatch table.
    pub const FUNCTIONS: &'static [Dispatch] = &[
        Dispatch::new(1, new::<T, V> as *const ()),
        Dispatch::new(2, gen_init::<T, V> as *const ()),
        Dispatch::new(3, gen_set_template::<T> as *const ()),
        Dispatch::new(4, gen_set_params::<T> as *const ()),
        Dispatch::new(5, gen_settable_params::<T> as *const ()),
        Dispatch::new(6, generate::<T> as *const ()),
        Dispatch::new(7, gen_cleanup::<T> as *const ()),
        Dispatch::new(10, free::<T> as *const ()),
        Dispatch::new(11, get_params::<T> as *const ()),
        Dispatch::new(12, gettable_params::<T> as *const ()),
        Dispatch::new(13, set_params::<T> as *const ()),
        Dispatch::new(14, settable_params::<T> as *const ()),
        Dispatch::new(20, query_operation_name::<T, V> as *const ()),
        Dispatch::new(21, has::<T> as *const ()),
        Dispatch::new(22, validate::<T> as *const ()),
        Dispatch::new(23, matches::<T> as *const ()),
        Dispatch::new(40, import::<T> as *const ()),
        Dispatch::new(41, types::<T> as *const ()),
        Dispatch::new(42, export::<T> as *const ()),
        Dispatch::new(43, types::<T> as *const ()),
        Dispatch::new(44, dup::<T> as *const ()),
        Dispatch::END,
    ];
}

// Every function here has arguments as provider-keymgmt(7) promises them: `key` is this table's,
// `provctx` the provider's, arrays end with a null key, callbacks may be called.

unsafe extern "C" fn new<T: Keymgmt, const V: u8>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: see above.
    let provider = unsafe { entry::keep(provctx) };
    let key = guard(&provider, || Ok(T::new(V)));
    key.map_or(ptr::null_mut(), |key| KeyCell::make(provider, key))
}

unsafe extern "C" fn free<T: Keymgmt>(key: *mut c_void) {
    if !key.is_null() {
        // SAFETY: see above; OpenSSL frees a key once.
        let key = unsafe { Box::from_raw(key.cast::<KeyCell<T>>()) };
        super::wall(|| drop(key));
    }
}

unsafe extern "C" fn dup<T: Keymgmt>(key: *const c_void, selection: c_int) -> *mut c_void {
    // SAFETY: see above.
    let Some(cell) = (unsafe { KeyCell::<T>::at(key) }) else { return ptr::null_mut() };
    let copy = guard(&cell.provider, || Ok(cell.state().select(Selection(selection))));
    copy.map_or(ptr::null_mut(), |copy| KeyCell::make(cell.provider.clone(), copy))
}

unsafe extern "C" fn has<T: Keymgmt>(key: *const c_void, selection: c_int) -> c_int {
    // SAFETY: see above.
    let Some(cell) = (unsafe { KeyCell::<T>::at(key) }) else { return 0 };
    let has = guard(&cell.provider, || Ok(cell.state().has(Selection(selection))));
    c_int::from(has == Some(true))
}

unsafe extern "C" fn matches<T: Keymgmt>(
    a: *const c_void,
    b: *const c_void,
    selection: c_int,
) -> c_int {
    // SAFETY: see above.
    let (Some(a), Some(b)) = (unsafe { (KeyCell::<T>::at(a), KeyCell::<T>::at(b)) }) else {
        return 0;
    };
    let equal = guard(&a.provider, || Ok(a.state().matches(&b.state(), Selection(selection))));
    c_int::from(equal == Some(true))
}

unsafe extern "C" fn validate<T: Keymgmt>(
    key: *const c_void,
    selection: c_int,
    check: c_int,
) -> c_int {
    // SAFETY: see above.
    let Some(cell) = (unsafe { KeyCell::<T>::at(key) }) else { return 0 };
    let provider = &cell.provider;
    let valid =
        guard(provider, || cell.state().validate(provider, Selection(selection), check == 1));
    c_int::from(valid.is_some())
}

unsafe extern "C" fn import<T: Keymgmt>(
    key: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> c_int {
    // SAFETY: see above.
    let (cell, params) = unsafe { (KeyCell::<T>::at(key), Params::new(params)) };
    let Some(cell) = cell else { return 0 };
    cell.change(|key, provider| key.import(provider, Selection(selection), params))
}

unsafe extern "C" fn export<T: Keymgmt>(
    key: *const c_void,
    selection: c_int,
    callback: Option<Callback>,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let (Some(cell), Some(callback)) = (unsafe { KeyCell::<T>::at(key) }, callback) else {
        return 0;
    };
    let mut export = Export::default();
    let filled = guard(&cell.provider, || {
        cell.state().export(&cell.provider, Selection(selection), &mut export)
    });
    // SAFETY: see above.
    c_int::from(filled.is_some() && unsafe { export.deliver(callback, arg) })
}

unsafe extern "C" fn types<T: Keymgmt>(selection: c_int) -> *const Param {
    T::types(Selection(selection)).as_ptr()
}

unsafe extern "C" fn get_params<T: Keymgmt>(key: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: see above.
    let (cell, mut answers) = unsafe { (KeyCell::<T>::at(key), Answers::new(params)) };
    let Some(cell) = cell else { return 0 };
    let answered = guard(&cell.provider, || cell.state().answer(&cell.provider, &mut answers));
    c_int::from(answered.is_some())
}

unsafe extern "C" fn gettable_params<T: Keymgmt>(_provctx: *mut c_void) -> *const Param {
    T::GETTABLE.as_ptr()
}

unsafe extern "C" fn set_params<T: Keymgmt>(key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: see above.
    let (cell, params) = unsafe { (KeyCell::<T>::at(key), Params::new(params)) };
    let Some(cell) = cell else { return 0 };
    if params.is_empty() {
        return 1;
    }
    cell.change(|key, provider| key.set(provider, params))
}

unsafe extern "C" fn settable_params<T: Keymgmt>(_provctx: *mut c_void) -> *const Param {
    T::SETTABLE.as_ptr()
}

unsafe extern "C" fn query_operation_name<T: Keymgmt, const V: u8>(
    operation: c_int,
) -> *const c_char {
    T::operation_name(V, operation).map_or(ptr::null(), CStr::as_ptr)
}

unsafe extern "C" fn gen_init<T: Keymgmt, const V: u8>(
    provctx: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    // SAFETY: see above.
    unsafe {
        let params = Params::new(params);
        Object::make(provctx, |provider| {
            let mut generation = T::Generation::new(provider, V, Selection(selection))?;
            generation.set(params)?;
            Ok(generation)
        })
    }
}

unsafe extern "C" fn gen_set_template<T: Keymgmt>(
    generation: *mut c_void,
    key: *mut c_void,
) -> c_int {
    // SAFETY: see above; the generation is one of `gen_init`.
    let (object, key) = unsafe { (Object::<T::Generation>::at(generation), state::<T>(key)) };
    object.run(|generation, _| generation.template(&*key.ok_or(Reason::MissingKey)?))
}

unsafe extern "C" fn gen_set_params<T: Keymgmt>(
    generation: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: see above; the generation is one of `gen_init`.
    let (object, params) =
        unsafe { (Object::<T::Generation>::at(generation), Params::new(params)) };
    object.run(|generation, _| generation.set(params))
}

unsafe extern "C" fn gen_settable_params<T: Keymgmt>(
    _generation: *mut c_void,
    _provctx: *mut c_void,
) -> *const Param {
    T::Generation::SETTABLE.as_ptr()
}

unsafe extern "C" fn generate<T: Keymgmt>(
    generation: *mut c_void,
    _callback: Option<Callback>,
    _arg: *mut c_void,
) -> *mut c_void {
    // SAFETY: see above; the generation is one of `gen_init`.
    let Object { provider, value } = unsafe { Object::<T::Generation>::at(generation) };
    let key = guard(provider, || value.run(provider));
    key.map_or(ptr::null_mut(), |key| KeyCell::make(provider.clone(), key))
}

unsafe extern "C" fn gen_cleanup<T: Keymgmt>(generation: *mut c_void) {
    // SAFETY: see above; the generation is one of `gen_init`, freed once.
    unsafe { Object::<T::Generation>::free(generation) };
}
