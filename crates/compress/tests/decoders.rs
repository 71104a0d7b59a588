//! What our own compressor makes, read by the decoders of libdeflate and ISA-L. (zlib and ours read
//! it in `roundtrip`.)
#![cfg(target_arch = "x86_64")]

mod common;

use common::{CONTENTS, Rng, content, corpora};
use isal_sys::igzip_lib as isal;
use lookaside_compress::{Codec, Compression, Kernel, Scratch};
use lookaside_simd::Cpu;

fn by_libdeflate(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut back = vec![0; len];
    let mut actual = 0;
    // SAFETY: an own decompressor, freed once; slices valid for their lengths.
    let result = unsafe {
        let decompressor = libdeflate_sys::libdeflate_alloc_decompressor();
        let result = libdeflate_sys::libdeflate_deflate_decompress(
            decompressor,
            packed.as_ptr().cast(),
            packed.len(),
            back.as_mut_ptr().cast(),
            len,
            &mut actual,
        );
        libdeflate_sys::libdeflate_free_decompressor(decompressor);
        result
    };
    (result == libdeflate_sys::libdeflate_result_LIBDEFLATE_SUCCESS && actual == len)
        .then_some(back)
}

fn by_isal(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut back = vec![0; len];
    // SAFETY: zeros are a valid state, which the library's init makes a fresh one; slices are valid
    // for their lengths, and the library only reads the first.
    let (result, left) = unsafe {
        let state = std::mem::MaybeUninit::<isal::inflate_state>::zeroed();
        let mut state = Box::new(state.assume_init());
        isal::isal_inflate_init(&mut *state);
        state.next_in = packed.as_ptr().cast_mut();
        state.avail_in = packed.len() as u32;
        state.next_out = back.as_mut_ptr();
        state.avail_out = len as u32;
        (isal::isal_inflate_stateless(&mut *state), state.avail_out)
    };
    (result == 0 && left == 0).then_some(back)
}

fn check(codec: &Codec, scratch: &mut Scratch, src: &[u8], what: &str) {
    let mut packed = vec![0; codec.bound(src.len())];
    let len = codec.compress(scratch, src, &mut packed).expect("fits").produced;
    let packed = &packed[..len];
    assert!(by_libdeflate(packed, src.len()).as_deref() == Some(src), "libdeflate: {what}");
    assert!(by_isal(packed, src.len()).as_deref() == Some(src), "ISA-L: {what}");
}

fn ours() -> Vec<(Kernel, Codec)> {
    let codec = |kernel| Codec::with_kernel(&Compression::default(), Cpu::host(), kernel).ok();
    let all = [1, 2, 3, 4].map(Kernel::Own).into_iter().chain([3, 4, 5].map(Kernel::Chains));
    let there: Vec<_> = all.filter_map(|kernel| Some((kernel, codec(kernel)?))).collect();
    if there.len() < 5 {
        eprintln!("SKIPPED: no AVX-512, without which lookaside-1 to -4 are not there");
    }
    there
}

#[test]
fn contents_of_every_length() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(3);
    for (kernel, codec) in ours() {
        for kind in CONTENTS {
            for round in 0..120 {
                let most = rng.pick(&[100, 5000, 66_000, 200_000]);
                let len = 1 + rng.below(most);
                let what = format!("{} {kind:?} {len}", kernel.name());
                check(&codec, &mut scratch, &content(kind, len, round), &what);
            }
        }
    }
}

#[test]
fn every_file() {
    let mut scratch = Scratch::new();
    for (kernel, codec) in ours() {
        for (_, files) in corpora() {
            for (name, data) in files {
                let what = format!("{} {name}", kernel.name());
                check(&codec, &mut scratch, &data, &what);
                for chunk in data.chunks(4096) {
                    check(&codec, &mut scratch, chunk, &what);
                }
            }
        }
    }
}
