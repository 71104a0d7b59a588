//! Random bytes.

use crate::{OpError, library};

/// Fills `out` with bytes that nobody can foretell: from a DRBG per thread that the kernel seeds
/// and that a fork or a resumed virtual machine reseeds. About a microsecond for short ones.
pub fn fill(out: &mut [u8]) -> Result<(), OpError> {
    if library::random::fill(out) { Ok(()) } else { Err(OpError::Library("the random generator")) }
}

/// `N` bytes of [`fill`].
pub fn bytes<const N: usize>() -> Result<[u8; N], OpError> {
    let mut out = [0; N];
    fill(&mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_byte_is_drawn() {
        // A position that is never written keeps its zero in all 16 draws: 2^-128 by chance.
        let mut seen = [0u8; 100];
        for _ in 0..16 {
            let drawn: [u8; 100] = super::bytes().unwrap();
            seen.iter_mut().zip(drawn).for_each(|(seen, drawn)| *seen |= drawn);
        }
        assert!(seen.iter().all(|&byte| byte != 0));
    }
}
