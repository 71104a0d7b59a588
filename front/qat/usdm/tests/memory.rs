//! Memory, and pointers that are none of it.

use std::{ffi::c_void, ptr};

use lookaside_usdm::memory::*;

#[test]
fn blocks_are_aligned_and_writable() {
    for align in [0, 1, 8, 64, 4096, 1 << 21] {
        for size in [1, 63, 64, 4096, 1 << 20] {
            for node in [-1, 0, 7] {
                let mut block = qaeMemAllocNUMA(size, node, align);
                assert!(!block.is_null() && block.addr().is_multiple_of(align.max(64)));
                assert_eq!(qaePhysToVirtNUMA(qaeVirtToPhysNUMA(block)), block);
                // SAFETY: a block of this size, freed once.
                unsafe {
                    block.cast::<u8>().write_bytes(0xab, size);
                    qaeMemFreeNUMA(&raw mut block);
                }
                assert!(block.is_null());
            }
        }
    }
    for free in [qaeMemFree, qaeMemFreeNonZeroNUMA, qaeMemFreeNUMA] {
        for size in [0, 100] {
            let mut block = qaeMemAlloc(size);
            assert!(!block.is_null());
            // SAFETY: a block of the library's; then null.
            unsafe {
                free(&raw mut block);
                free(&raw mut block);
            }
            assert!(block.is_null());
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(qaeMemAllocNUMA(0, 0, 64).is_null());
    assert!(qaeMemAlloc(usize::MAX).is_null());
    assert!(qaeMemAllocNUMA(100, 0, 48).is_null());
    assert!(qaeMemAllocNUMA(100, 0, 1 << 40).is_null());
    assert!(qaeMemAllocNUMA(usize::MAX - 100, 0, 4096).is_null());
    #[repr(align(64))]
    struct Own([u8; 192]);
    let mut own = Own([5; 192]);
    let inside: *mut c_void = (&raw mut own).wrapping_byte_add(64).cast();
    let odd = inside.wrapping_byte_add(1);
    for foreign in [inside, odd, ptr::null_mut()] {
        let mut pointer = foreign;
        // SAFETY: memory of this test's around it: no block, so it is left alone.
        unsafe { qaeMemFreeNUMA(&raw mut pointer) };
        assert_eq!(pointer, foreign);
    }
    // SAFETY: null.
    unsafe { qaeMemFree(ptr::null_mut()) };
    assert!(own.0.iter().all(|byte| *byte == 5));
}

#[test]
fn there_is_no_device_to_attach() {
    assert_eq!((qaeRegisterDevice(3), qaeUnregisterDevice(3)), (-1, -1));
    let mut memory = [0_u8; 100];
    let start: *mut c_void = memory.as_mut_ptr().cast();
    assert_eq!(qaeMemMapContiguousIova(start, 100), start.addr() as u64);
    assert_eq!(qaeMemUnmapContiguousIova(start, 100), 0);
    assert_eq!(qaeMemUnmapContiguousIova(ptr::null_mut(), 100), -1);
    assert_eq!(qaeMemInit(), 0);
    qaeAtFork();
    qaeMemDestroy();
}
