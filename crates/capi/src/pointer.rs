//! Pointers across the border, by who owns what they point at.
//!
//! | type | C | who owns it |
//! |---|---|---|
//! | [`Owned<T>`] | `la_x *` of a function that ends it; `la_x **` of one that makes it | passes to the other side |
//! | [`Lent<T>`] | `la_x *`, `const la_x *` | the caller; ours for the time of the call |
//! | [`In<T>`] | `const struct *` | the caller; read during the call |
//! | [`Out<T>`] | `struct *`, `la_x **` | the caller; written during the call |
//!
//! All are plain pointers to C. Reading one checks what can be checked: null, alignment, and for
//! objects a mark that tells their kinds apart.
#![allow(unsafe_code)]

use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
    ptr, slice,
    sync::atomic::{AtomicU32, Ordering},
};

use lookaside::fork_generation;

use crate::status::Refusal;

/// A type that C holds pointers to without seeing inside.
pub trait Kind: Send + Sync {
    /// Tells pointers to this type from pointers to the others; its name in C, for messages.
    const MARK: (u32, &'static str);
}

/// What an object pointer points at: a marked value on the heap. The mark comes first in every kind.
#[repr(C)]
pub struct Object<T> {
    mark: AtomicU32,
    value: T,
}

fn check<T>(p: *const T) -> Result<(), Refusal> {
    match p.is_null() || !p.is_aligned() {
        true => Err(Refusal::Invalid("a null or misaligned pointer")),
        false => Ok(()),
    }
}

/// A pointer whose object belongs to whoever holds it: C, until it calls the function that ends it.
#[repr(transparent)]
pub struct Owned<T>(*mut Object<T>);

/// A pointer to an object that the caller keeps.
#[repr(transparent)]
pub struct Lent<T>(*const Object<T>);

/// A pointer to plain values that the caller has filled in.
#[repr(transparent)]
pub struct In<T>(*const T);

/// A pointer to where the caller wants plain values.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T: Kind> Owned<T> {
    /// No object.
    pub const NULL: Owned<T> = Owned(ptr::null_mut());

    pub(crate) fn new(value: T) -> Owned<T> {
        Owned(Box::into_raw(Box::new(Object { mark: AtomicU32::new(T::MARK.0), value })))
    }

    /// The object lent out; from Rust.
    pub fn lend(&self) -> Lent<T> {
        Lent(self.0)
    }

    /// The same pointer, as C has as many copies as it likes.
    #[must_use]
    pub fn again(&self) -> Owned<T> {
        Owned(self.0)
    }

    /// Takes the object back.
    ///
    /// # Safety
    /// The pointer is null, or one that [`Owned::new`] made, not taken back yet and in use by
    /// nobody else.
    pub(crate) unsafe fn take(self) -> Result<Box<impl Deref<Target = T>>, Refusal> {
        let lent = self.lend();
        // SAFETY: the caller's promise covers `lent`'s.
        unsafe { lent.lent() }?;
        // SAFETY: made by `Box::into_raw` in `new`; the mark says that its type is this one.
        let object = unsafe { Box::from_raw(self.0) };
        // A second `take` is a defect of the caller's; this tells most of them.
        object.mark.store(0, Ordering::Relaxed);
        Ok(object)
    }

    /// Ends the object without dropping its value, whose memory stays allocated.
    ///
    /// # Safety
    /// As [`Owned::take`].
    pub(crate) unsafe fn leave(self) {
        let lent = self.lend();
        // SAFETY: the caller's promise covers this.
        if unsafe { lent.lent() }.is_ok() {
            // SAFETY: the mark says that it is an object of this type.
            unsafe { &(*self.0).mark }.store(0, Ordering::Relaxed);
        }
    }
}

impl<T> Deref for Object<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Kind> Lent<T> {
    /// No object.
    pub const NULL: Lent<T> = Lent(ptr::null());

    /// Whether there is no object.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The object, for as long as the argument lives: until the function returns.
    ///
    /// # Safety
    /// The pointer is null or misaligned, or points at an [`Object`] of any kind that is not taken
    /// back before the borrow ends.
    pub(crate) unsafe fn lent(&self) -> Result<&T, Refusal> {
        check(self.0)?;
        // SAFETY: points at an `Object`, whose mark is at the same place in every kind (below).
        let mark = unsafe { &*self.0.cast::<AtomicU32>() };
        if mark.load(Ordering::Relaxed) != T::MARK.0 {
            return Err(Refusal::NotA(T::MARK.1));
        }
        // SAFETY: the mark says that it is an `Object<T>`; the caller keeps it alive.
        Ok(unsafe { &(*self.0).value })
    }
}

impl<T> In<T> {
    /// No values.
    pub const NULL: In<T> = In(ptr::null());

    /// These values; from Rust.
    pub fn new(values: &[T]) -> In<T> {
        In(values.as_ptr())
    }

    /// This pointer; from Rust.
    pub const fn raw(pointer: *const T) -> In<T> {
        In(pointer)
    }

    pub(crate) fn pointer(&self) -> *const T {
        self.0
    }

    /// The value.
    ///
    /// # Safety
    /// The pointer is null, misaligned, or valid for reading one `T` until the function returns.
    pub(crate) unsafe fn one(&self) -> Result<&T, Refusal> {
        check(self.0)?;
        // SAFETY: neither null nor misaligned, so valid.
        Ok(unsafe { &*self.0 })
    }

    /// `n` values; with 0, the pointer may be anything.
    ///
    /// # Safety
    /// The pointer is null, misaligned, or valid for reading `n` times `T` until the function
    /// returns.
    pub(crate) unsafe fn many(&self, n: usize) -> Result<&[T], Refusal> {
        if n == 0 {
            return Ok(&[]);
        }
        check(self.0)?;
        check_extent(self.0, n)?;
        // SAFETY: neither null nor misaligned, so valid; the extent fits into the address space.
        Ok(unsafe { slice::from_raw_parts(self.0, n) })
    }
}

/// Whether `n` values from `p` on are something that memory can hold.
pub(crate) fn check_extent<T>(p: *const T, n: usize) -> Result<(), Refusal> {
    let bytes = n.checked_mul(size_of::<T>()).filter(|&b| b <= isize::MAX.cast_unsigned());
    match bytes.and_then(|b| p.addr().checked_add(b)) {
        Some(_) => Ok(()),
        None => Err(Refusal::Invalid("a length that reaches beyond the address space")),
    }
}

impl<T> Out<T> {
    /// Nowhere.
    pub const NULL: Out<T> = Out(ptr::null_mut());

    /// This pointer.
    pub const fn raw(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    /// Here; from Rust.
    pub fn new(place: &mut T) -> Out<T> {
        Out(place)
    }

    /// These places, from the first on; from Rust.
    pub fn many(places: &mut [T]) -> Out<T> {
        Out(places.as_mut_ptr())
    }

    /// Whether the caller does not want the value.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Refuses a place that nothing can be written to.
    pub(crate) fn check(&self, n: usize) -> Result<(), Refusal> {
        if n == 0 {
            return Ok(());
        }
        check(self.0)?;
        check_extent(self.0, n)
    }

    /// Writes the value of place `i`.
    ///
    /// # Safety
    /// [`Out::check`] was passed with more than `i`, and the pointer is valid for that many values.
    pub(crate) unsafe fn write(&self, i: usize, value: T) {
        // SAFETY: what the caller says. What was there is plain or uninitialised: not dropped.
        unsafe { self.0.add(i).write(value) }
    }
}

/// Lets one thread in at a time, and turns the others away instead of blocking them. Costs one locked
/// instruction.
///
/// A thread that panics inside leaves it broken: the value may be half changed. So may it be in a
/// child process, where a thread of the parent was inside at the `fork`; the child can replace it.
pub(crate) struct Exclusive<T> {
    /// `FREE`, `BROKEN`, or the [`fork_generation`] of the process whose thread is inside.
    state: AtomicU32,
    value: UnsafeCell<T>,
}

const FREE: u32 = 0;
const BROKEN: u32 = u32::MAX;

/// Why [`Exclusive::enter`] lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shut {
    /// Another thread is inside.
    Busy,
    /// A panic has left the value half changed.
    Broken,
    /// A thread of a parent process was inside when this process was forked.
    Orphaned,
}

impl From<Shut> for Refusal {
    fn from(shut: Shut) -> Refusal {
        match shut {
            Shut::Broken => Refusal::Broken,
            Shut::Busy | Shut::Orphaned => Refusal::Busy,
        }
    }
}

// SAFETY: `enter` gives the value to one thread at a time, with acquire and release between them.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Exclusive<T> {
        Exclusive { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    pub(crate) fn enter(&self) -> Result<Entered<'_, T>, Shut> {
        let here = fork_generation();
        match self.state.compare_exchange(FREE, here, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Entered(self)),
            Err(BROKEN) => Err(Shut::Broken),
            Err(holder) if holder == here => Err(Shut::Busy),
            Err(_) => Err(Shut::Orphaned),
        }
    }

    /// As [`Exclusive::enter`]; replaces an orphaned value by what `fresh` makes. The old one is not
    /// dropped: it may be half changed.
    ///
    /// # Safety
    /// `fresh` may use only parts of the value that never change.
    pub(crate) unsafe fn enter_or(
        &self,
        fresh: impl FnOnce(&T) -> Result<T, Refusal>,
    ) -> Result<Entered<'_, T>, Refusal> {
        match self.enter() {
            Err(Shut::Orphaned) => {}
            entered => return Ok(entered?),
        }
        let (here, there) = (fork_generation(), self.state.load(Ordering::Relaxed));
        let orphaned = ![FREE, BROKEN, here].contains(&there);
        let take = |from, to| {
            self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        if !orphaned || !take(there, here) {
            // Another thread of this process was faster.
            return Err(Refusal::Busy);
        }
        // SAFETY: the holder does not exist in this process, and `state` keeps all others out.
        match fresh(unsafe { &*self.value.get() }) {
            Ok(value) => {
                // SAFETY: as above; what was there is not dropped.
                unsafe { self.value.get().write(value) };
                Ok(Entered(self))
            }
            Err(refusal) => {
                self.state.store(there, Ordering::Release);
                Err(refusal)
            }
        }
    }
}

/// The one thread inside.
pub(crate) struct Entered<'a, T>(&'a Exclusive<T>);

impl<T> Deref for Entered<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `state` is held by this guard, so nobody else has a reference.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Entered<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this the only reference from this guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        let state = if std::thread::panicking() { BROKEN } else { FREE };
        self.0.state.store(state, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(u8);
    struct Pear;
    impl Kind for Apple {
        const MARK: (u32, &'static str) = (1, "apple");
    }
    impl Kind for Pear {
        const MARK: (u32, &'static str) = (2, "pear");
    }

    #[test]
    fn kinds_are_told_apart() {
        let apple = Owned::new(Apple(7));
        let lent = apple.lend();
        // SAFETY: points at an object that is taken back below.
        assert_eq!(unsafe { lent.lent() }.map(|a| a.0).ok(), Some(7));
        let pear: Lent<Pear> = Lent(lent.0.cast());
        // SAFETY: as above, of another kind.
        assert!(matches!(unsafe { pear.lent() }, Err(Refusal::NotA("pear"))));
        let crooked: Lent<Apple> = Lent(lent.0.wrapping_byte_add(1));
        // SAFETY: misaligned, so refused.
        assert!(unsafe { crooked.lent() }.is_err());
        // SAFETY: made above, in use by nobody.
        assert!(unsafe { apple.take() }.is_ok());
        // SAFETY: null, so refused.
        assert!(unsafe { Owned::<Pear>::NULL.take() }.is_err());
    }

    #[test]
    fn extents_stay_within_the_address_space() {
        assert!(check_extent(ptr::dangling::<u8>(), isize::MAX.cast_unsigned()).is_ok());
        assert!(check_extent(ptr::dangling::<u8>(), usize::MAX).is_err());
        assert!(check_extent(ptr::dangling::<u64>(), usize::MAX / 8).is_err());
        assert!(check_extent(ptr::without_provenance::<u8>(usize::MAX - 9), 11).is_err());
    }

    #[test]
    fn one_thread_at_a_time_and_none_after_a_panic() {
        let cell = Exclusive::new(1);
        let mut inside = cell.enter().ok().unwrap();
        *inside += 1;
        assert_eq!(cell.enter().err(), Some(Shut::Busy));
        // SAFETY: the value is not used.
        assert!(matches!(unsafe { cell.enter_or(|_| Ok(9)) }, Err(Refusal::Busy)));
        drop(inside);
        assert_eq!(*cell.enter().ok().unwrap(), 2);
        let _ = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            let _inside = cell.enter();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert_eq!(cell.enter().err(), Some(Shut::Broken));
    }

    #[test]
    fn a_child_replaces_what_a_thread_of_its_parent_was_inside_of() {
        struct Bomb(u8);
        impl Drop for Bomb {
            fn drop(&mut self) {
                assert_ne!(self.0, 1, "half changed");
            }
        }
        let cell = Exclusive::new(Bomb(1));
        // As after a fork.
        cell.state.store(fork_generation() + 1, Ordering::Relaxed);
        assert_eq!(cell.enter().err(), Some(Shut::Orphaned));
        // SAFETY: the value never changes.
        let fails = unsafe { cell.enter_or(|_| Err(Refusal::Full)) };
        assert!(matches!(fails, Err(Refusal::Full)));
        // SAFETY: as above.
        let inside = unsafe { cell.enter_or(|old| Ok(Bomb(old.0 + 1))) };
        assert_eq!((*inside.ok().unwrap()).0, 2);
        assert!(cell.enter().is_ok());
    }
}
