//! Sessions in memory of the caller.
//!
//! There lies only a head: a mark, and the address of the session itself, which is on our heap. The mark is made of
//! both addresses and the session's kind, so what is no session, was removed or was copied is refused.
#![allow(unsafe_code)]

use core::ffi::c_void;

use crate::{
    flights::{Flight, Flights},
    refusal::Refusal,
};

/// How many bytes a session takes in the caller's memory, at any alignment.
pub const SIZE: u32 = 64;

/// What lies there. Written unaligned: interfaces ask for 8 or 64 bytes, programs give what `malloc` gives.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    mark: u64,
    session: *mut c_void,
}

const _: () = assert!(size_of::<Head>() <= SIZE as usize);

/// A kind of session.
pub trait Kind: Send + Sync + 'static {
    /// A number of its own.
    const MARK: u64;
    /// Said of a handle that is none: which function makes one.
    const FOREIGN: &'static str;
}

/// A session: what its kind keeps, and how many requests of it are in flight.
pub struct Session<T> {
    flights: Flights,
    value: T,
}

impl<T> core::ops::Deref for Session<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

fn mark<T: Kind>(handle: *mut c_void, session: *mut c_void) -> u64 {
    T::MARK ^ (handle.addr() as u64).rotate_left(20) ^ (session.addr() as u64).rotate_right(20)
}

impl<T: Kind> Session<T> {
    /// Begins a session in memory of the caller.
    ///
    /// # Errors
    /// For a null handle.
    ///
    /// # Safety
    /// `handle` is null or has [`SIZE`] bytes to write.
    pub unsafe fn begin(handle: *mut c_void, value: T) -> Result<(), Refusal> {
        if handle.is_null() {
            return Err(Refusal::invalid("no memory for the session"));
        }
        let session = Box::new(Session { flights: Flights::new(), value });
        let session = Box::into_raw(session).cast();
        let head = Head { mark: mark::<T>(handle, session), session };
        // SAFETY: the caller's promise.
        unsafe { handle.cast::<Head>().write_unaligned(head) };
        Ok(())
    }

    #[inline]
    unsafe fn find(handle: *mut c_void) -> Result<*mut Session<T>, Refusal> {
        if handle.is_null() {
            return Err(Refusal::invalid(T::FOREIGN));
        }
        // SAFETY: the caller's promise.
        let head = unsafe { handle.cast::<Head>().read_unaligned() };
        match head.mark == mark::<T>(handle, head.session) && !head.session.is_null() {
            true => Ok(head.session.cast()),
            false => Err(Refusal::invalid(T::FOREIGN)),
        }
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// For what is no session of this kind.
    ///
    /// # Safety
    /// `handle` is null or has [`SIZE`] bytes to read. No other thread removes the session meanwhile.
    #[inline]
    pub unsafe fn get<'a>(handle: *mut c_void) -> Result<&'a Session<T>, Refusal> {
        // SAFETY: the caller's promise; the mark says that `begin` has made it and nobody has ended it.
        Ok(unsafe { &*Self::find(handle)? })
    }

    /// Ends a session.
    ///
    /// # Errors
    /// `RETRY` while requests of it are in flight; for what is no session of this kind.
    ///
    /// # Safety
    /// As [`Session::get`]; no other thread uses it.
    pub unsafe fn end(handle: *mut c_void) -> Result<(), Refusal> {
        // SAFETY: the caller's promise.
        let session = unsafe { Self::find(handle) }?;
        // SAFETY: as in `get`.
        if unsafe { &*session }.in_flight() > 0 {
            return Err(Refusal::RETRY);
        }
        let none = Head { mark: 0, session: core::ptr::null_mut() };
        // SAFETY: `find` has read it there.
        unsafe { handle.cast::<Head>().write_unaligned(none) };
        // SAFETY: made by `Box::into_raw` in `begin`; nobody finds it any more, and no request keeps it.
        drop(unsafe { Box::from_raw(session) });
        Ok(())
    }

    /// How many requests of it are in flight in this process.
    pub fn in_flight(&self) -> u32 {
        self.flights.count()
    }

    /// What counts its requests in flight. While it counts one, the session is not ended.
    #[inline]
    pub fn flights(&self) -> &Flights {
        &self.flights
    }

    /// One more request in flight, until the value is dropped. The session is not ended before.
    #[inline]
    pub fn fly(&self) -> Flight {
        self.flights.begin();
        // SAFETY: the session lives as long as the flight: `Session::end` refuses meanwhile.
        unsafe { self.flights.flight() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(u8);
    struct Pear;
    impl Kind for Apple {
        const MARK: u64 = 1;
        const FOREIGN: &'static str = "no apple";
    }
    impl Kind for Pear {
        const MARK: u64 = 2;
        const FOREIGN: &'static str = "no pear";
    }

    #[test]
    fn only_live_sessions_are_found() {
        let mut memory = [0_u64; 20];
        let place = memory.as_mut_ptr().cast::<c_void>();
        for offset in 0..9 {
            let handle = place.wrapping_byte_add(offset);
            // SAFETY: memory of the test's, longer than a session; used by this thread alone.
            unsafe {
                assert!(Session::<Apple>::get(handle).is_err());
                assert!(Session::<Apple>::begin(handle, Apple(7)).is_ok());
                let apple = Session::<Apple>::get(handle).ok().unwrap();
                assert_eq!((apple.0, apple.in_flight()), (7, 0));
                assert!(Session::<Pear>::get(handle).is_err());
                let copy = place.wrapping_byte_add(80);
                core::ptr::copy(handle, copy, SIZE as usize);
                assert!(Session::<Apple>::get(copy).is_err());
                let flight = apple.fly();
                assert_eq!(Session::<Apple>::end(handle).unwrap_err().status(), -2);
                drop(flight);
                assert!(Session::<Apple>::end(handle).is_ok());
                assert!(Session::<Apple>::end(handle).is_err());
            }
        }
        // SAFETY: null, so refused.
        assert!(unsafe { Session::<Apple>::begin(core::ptr::null_mut(), Apple(1)) }.is_err());
    }
}
