//! Where a file stands: seek, tell, offset, rewind.

use std::ffi::c_int;

use libz_rs_sys::{z_off_t, z_off64_t};

use super::{gzFile, head, reader};

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzrewind(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { reader(file) }) else { return -1 };
    if !reader.head.has_failed() && reader.rewind() { 0 } else { -1 }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzseek64(file: gzFile, offset: z_off64_t, whence: c_int) -> z_off64_t {
    // SAFETY: the caller guarantees a file, or null.
    let Some(head) = (unsafe { head(file) }) else { return -1 };
    if head.has_failed() {
        return -1;
    }
    // From here on relative to the position. Sums wrap: a nonsensical distance is the caller's.
    let mut distance = match whence {
        libc::SEEK_SET => offset.wrapping_sub(head.pos),
        libc::SEEK_CUR => offset.wrapping_add(head.skip.unwrap_or(0)),
        _ => return -1,
    };
    head.skip = None;
    let pos = head.pos;
    // SAFETY: as above; `head` is not used any more.
    let Some(reader) = (unsafe { reader(file) }) else {
        // Nothing that is written is taken back.
        if distance < 0 {
            return -1;
        }
        // SAFETY: as above.
        if let (Some(head), true) = (unsafe { super::head(file) }, distance > 0) {
            head.skip = Some(distance);
        }
        return pos.wrapping_add(distance);
    };
    if reader.is_copying() && pos.wrapping_add(distance) >= 0 {
        return if reader.move_copy(distance) { reader.head.pos } else { -1 };
    }
    if distance < 0 {
        distance = distance.wrapping_add(pos);
        if distance < 0 || !reader.rewind() {
            return -1;
        }
    }
    distance -= reader.drop_waiting(distance);
    if distance > 0 {
        reader.head.skip = Some(distance);
    }
    reader.head.pos.wrapping_add(distance)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzseek(file: gzFile, offset: z_off_t, whence: c_int) -> z_off_t {
    // SAFETY: the same function: the two types of offsets are one here.
    unsafe { gzseek64(file, offset, whence) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gztell64(file: gzFile) -> z_off64_t {
    // SAFETY: the caller guarantees a file, or null.
    unsafe { head(file) }.map_or(-1, |head| head.pos.wrapping_add(head.skip.unwrap_or(0)))
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gztell(file: gzFile) -> z_off_t {
    // SAFETY: the same function.
    unsafe { gztell64(file) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzoffset64(file: gzFile) -> z_off64_t {
    // SAFETY: the caller guarantees a file, or null; lseek involves no memory.
    unsafe {
        let Some(head) = head(file) else { return -1 };
        match libc::lseek64(head.fd, 0, libc::SEEK_CUR) {
            -1 => -1,
            offset => offset - reader(file).map_or(0, |reader| reader.read_ahead()),
        }
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzoffset(file: gzFile) -> z_off_t {
    // SAFETY: the same function.
    unsafe { gzoffset64(file) }
}
