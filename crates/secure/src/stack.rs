//! [`wipe_stack`].
#![allow(unsafe_code)]

/// Bytes that are overwritten at a time.
const PAGE: usize = 4096;

/// Overwrites `bytes` of the stack below the caller, up to a multiple of 4 KiB, and the vector registers:
/// what functions that have returned have left there. For use after operations with keys, which
/// compilers and libraries copy to the stack. As many bytes must be left of the stack, or the process
/// ends as by an overflow. Costs about as much as to clear so much memory, 10 to 20 ns per KiB.
#[inline(never)]
pub fn wipe_stack(bytes: usize) {
    wipe(bytes.div_ceil(PAGE));
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn wipe(pages: usize) {
    use core::arch::asm;
    // In one piece from the stack pointer on: the frames of functions that call each other leave gaps
    // between what they write.
    // SAFETY: nothing lies below the stack pointer where a block of assembly may use the stack. It
    // is where it was in the end; every page is written before the one below is, as a guard page wants it.
    unsafe {
        asm!(
            "mov {saved}, rsp",
            "test {pages}, {pages}",
            "jz 3f",
            "2:",
            "sub rsp, 4096",
            "mov rdi, rsp",
            "mov ecx, 512",
            "rep stosq",
            "sub {pages}, 1",
            "jnz 2b",
            "3:",
            "mov rsp, {saved}",
            saved = out(reg) _,
            pages = inout(reg) pages => _,
            in("rax") 0,
            out("rdi") _,
            out("rcx") _,
        );
    }
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the CPU has them; functions of C may change all of these registers.
        unsafe {
            asm!(
                "vzeroall",
                "vpxord zmm16, zmm16, zmm16",
                "vpxord zmm17, zmm17, zmm17",
                "vpxord zmm18, zmm18, zmm18",
                "vpxord zmm19, zmm19, zmm19",
                "vpxord zmm20, zmm20, zmm20",
                "vpxord zmm21, zmm21, zmm21",
                "vpxord zmm22, zmm22, zmm22",
                "vpxord zmm23, zmm23, zmm23",
                "vpxord zmm24, zmm24, zmm24",
                "vpxord zmm25, zmm25, zmm25",
                "vpxord zmm26, zmm26, zmm26",
                "vpxord zmm27, zmm27, zmm27",
                "vpxord zmm28, zmm28, zmm28",
                "vpxord zmm29, zmm29, zmm29",
                "vpxord zmm30, zmm30, zmm30",
                "vpxord zmm31, zmm31, zmm31",
                clobber_abi("C"),
                options(nomem, nostack),
            );
        }
    } else if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: as above.
        unsafe { asm!("vzeroall", clobber_abi("C"), options(nomem, nostack)) };
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(never)]
fn wipe(pages: usize) {
    let mut room = core::mem::MaybeUninit::<[u8; PAGE]>::uninit();
    // SAFETY: its own bytes.
    unsafe { room.as_mut_ptr().write_bytes(0, 1) };
    // Which the compiler has to believe to be read.
    core::hint::black_box(&mut room);
    if pages > 1 {
        wipe(pages - 1);
        // Not the last thing that the function does: each call has a frame of its own.
        core::hint::black_box(&mut room);
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    const PATTERN: u64 = 0x5a17_0c55_3b2e_91d4;

    /// Leaves the pattern all over its frame.
    #[inline(never)]
    fn stain() -> usize {
        let mut room = [PATTERN; 1000];
        core::hint::black_box(&mut room);
        room.as_ptr().addr()
    }

    #[test]
    fn nothing_is_left_where_a_function_was() {
        let stained = stain();
        wipe_stack(32 << 10);
        let word: *const u64 = core::ptr::with_exposed_provenance(stained);
        let here = 0u8;
        assert!((&raw const here).addr() > stained + 8000, "not below this frame");
        // SAFETY: the stack below this frame, which is mapped.
        let left = (0..1000).filter(|i| unsafe { word.add(*i).read_volatile() } == PATTERN);
        assert_eq!(left.count(), 0);
    }
}
