//! A database works where another one was copied to, whoever made it: other processes map it.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};

use lookaside_hs::abi::{HS_INVALID, HS_MODE_BLOCK, HS_SUCCESS};
use lookaside_hs::compile::hs_compile;
use lookaside_hs::database::{
    Database, hs_database_size, hs_deserialize_database_at, hs_free_database, hs_serialize_database,
};
use lookaside_hs::scan::hs_scan;
use lookaside_hs::scratch::{Scratch, hs_alloc_scratch, hs_free_scratch};

unsafe extern "C" fn count(
    _: c_uint,
    _: c_ulonglong,
    _: c_ulonglong,
    _: c_uint,
    counter: *mut c_void,
) -> c_int {
    // SAFETY: the counter of `matches`.
    unsafe { *counter.cast::<u32>() += 1 };
    0
}

fn compile(expression: &std::ffi::CStr) -> *mut Database {
    let (mut db, mut error) = (null_mut(), null_mut());
    // SAFETY: pointers to what is here.
    let done =
        unsafe { hs_compile(expression.as_ptr(), 0, HS_MODE_BLOCK, null(), &mut db, &mut error) };
    assert_eq!(done, HS_SUCCESS);
    db
}

fn matches(db: *const Database, scratch: *mut Scratch, text: &[u8]) -> u32 {
    let mut found = 0_u32;
    let data = text.as_ptr().cast::<c_char>();
    let pointer = (&raw mut found).cast();
    // SAFETY: pointers to what is here.
    let done = unsafe { hs_scan(db, data, text.len() as u32, 0, scratch, Some(count), pointer) };
    assert_eq!(done, HS_SUCCESS);
    found
}

/// Memory as a page has it.
#[repr(C, align(64))]
struct Page([u8; 4096]);

#[test]
fn a_copy_is_a_database_and_outlives_the_original() {
    let texts = [(c"abc+", &b"abccc abc"[..], 4), (c"x[0-9]y", b"x1y x2y xay", 2)];
    let mut page = Box::new(Page([0; 4096]));
    let place = (&raw mut *page).cast::<Database>();
    let mut scratch = null_mut();
    // Another database in the same place is not taken for the one before.
    for (expression, text, expected) in texts {
        let db = compile(expression);
        let mut size = 0;
        // SAFETY: databases of this library; the page is larger than they are.
        unsafe {
            assert_eq!(hs_database_size(db, &mut size), HS_SUCCESS);
            // The body is where alignment wants it, so a copy lies as its original does.
            let shift = db.addr() % 64;
            let copy = place.byte_add(shift);
            std::ptr::copy_nonoverlapping(db.cast::<u8>(), copy.cast::<u8>(), size);
            assert_eq!(hs_alloc_scratch(copy, &mut scratch), HS_SUCCESS);
            assert_eq!(matches(db, scratch, text), expected);
            assert_eq!(hs_free_database(db), HS_SUCCESS);
            for _ in 0..3 {
                assert_eq!(matches(copy, scratch, text), expected);
            }
        }
    }
    // SAFETY: the scratch from above.
    assert_eq!(unsafe { hs_free_scratch(scratch) }, HS_SUCCESS);
}

#[test]
fn a_database_that_was_changed_gets_no_scratch() {
    let db = compile(c"abc+");
    let (mut bytes, mut length, mut size) = (null_mut(), 0, 0);
    let mut page = Box::new(Page([0; 4096]));
    let place = (&raw mut *page).cast::<Database>();
    // SAFETY: as above.
    unsafe {
        assert_eq!(hs_serialize_database(db, &mut bytes, &mut length), HS_SUCCESS);
        assert_eq!(hs_database_size(db, &mut size), HS_SUCCESS);
        assert_eq!(hs_deserialize_database_at(bytes, length, place), HS_SUCCESS);
        let mut scratch = null_mut();
        assert_eq!(hs_alloc_scratch(place, &mut scratch), HS_SUCCESS);
        // The mode, a length, the patterns: whatever the checksum covers.
        for at in [104, 112, 120, 130, size / 2] {
            *place.cast::<u8>().add(at) ^= 1;
            assert_eq!(hs_alloc_scratch(place, &mut scratch), HS_INVALID, "byte {at}");
            *place.cast::<u8>().add(at) ^= 1;
        }
        assert_eq!(matches(place, scratch, b"abcc"), 2);
        hs_free_scratch(scratch);
        hs_free_database(db);
        libc::free(bytes.cast());
    }
}
