//! `struct CfParams`.

use core::ffi::c_int;

use parcomp::{Format, Params};

/// As in `cf.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CfParams {
    pub(crate) level: c_int,
    pub(crate) deflate_window_size: c_int,
    pub(crate) b_static: c_int,
    pub(crate) chunk_size: c_int,
    pub(crate) max_jobs_outstanding: c_int,
    pub(crate) b_debug: c_int,
    pub(crate) num_threads: c_int,
    pub(crate) core_affinity: c_int,
}

impl CfParams {
    /// The framework's parameters; `None` when one is outside its limits.
    pub(crate) fn to_params(self) -> Option<Params> {
        let affinity = self.core_affinity.cast_unsigned();
        let params = Params {
            level: u8::try_from(self.level).ok()?,
            window_bits: Params::window_bits_of(self.deflate_window_size.into())?,
            static_huffman: self.b_static != 0,
            chunk_size: usize::try_from(self.chunk_size).ok()?,
            max_jobs_outstanding: usize::try_from(self.max_jobs_outstanding).ok()?,
            debug: self.b_debug != 0,
            num_threads: usize::try_from(self.num_threads).ok()?,
            core_affinity: (affinity != 0).then_some(affinity.into()),
            format: Format::Cf,
            ..Params::default()
        };
        params.validate().ok().map(|()| params)
    }

    /// And back, for a registered provider.
    pub(crate) fn of(p: &Params) -> CfParams {
        let int = |n: usize| c_int::try_from(n).unwrap_or(c_int::MAX);
        CfParams {
            level: p.level.into(),
            deflate_window_size: p.window_bits.into(),
            b_static: p.static_huffman.into(),
            chunk_size: int(p.chunk_size),
            max_jobs_outstanding: int(p.max_jobs_outstanding),
            b_debug: p.debug.into(),
            num_threads: int(p.num_threads),
            core_affinity: p.core_affinity.map_or(0, |mask| (mask as u32).cast_signed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let p = Params {
            level: 9,
            window_bits: 12,
            static_huffman: true,
            chunk_size: 12345,
            max_jobs_outstanding: 7,
            debug: true,
            num_threads: 3,
            core_affinity: Some(0x8000_0001),
            format: Format::Cf,
            ..Params::default()
        };
        assert_eq!(CfParams::of(&p).to_params(), Some(p));
    }

    #[test]
    fn outside_limits() {
        let good = CfParams::of(&Params::default());
        assert!(good.to_params().is_some());
        let bad = [
            CfParams { level: -1, ..good },
            CfParams { level: 13, ..good },
            CfParams { deflate_window_size: 6, ..good },
            CfParams { deflate_window_size: -1, ..good },
            CfParams { chunk_size: 0, ..good },
            CfParams { chunk_size: -5, ..good },
            CfParams { max_jobs_outstanding: 257, ..good },
            CfParams { max_jobs_outstanding: -1, ..good },
            CfParams { num_threads: -1, ..good },
        ];
        for p in bad {
            assert!(p.to_params().is_none(), "{p:?}");
        }
    }
}
