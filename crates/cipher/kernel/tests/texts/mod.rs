//! Texts for tests.

use lookaside_cipher_kernel::Text;

/// Every other text in place, the others to their destination in `apart`.
pub fn in_turn<'a>(
    in_place: &'a mut [Vec<u8>],
    apart: &'a mut [Vec<u8>],
) -> impl Iterator<Item = Text<'a>> {
    in_place.iter_mut().zip(apart).enumerate().map(|(i, (bytes, dst))| match i % 2 {
        0 => Text::InPlace(bytes),
        _ => Text::Apart { src: bytes, dst },
    })
}
