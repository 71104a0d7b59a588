//! Services and operations.

use core::fmt;

/// A family of operations. The short names are those of the field (`dc` is what QuickAssist calls
/// data compression).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Service {
    /// Data compression: DEFLATE, zlib, gzip.
    Dc,
    /// Data mover: copies between buffers.
    Mv,
}

impl Service {
    /// The service's short name: `dc`, `mv`.
    pub fn name(self) -> &'static str {
        match self {
            Service::Dc => "dc",
            Service::Mv => "mv",
        }
    }
}

/// One operation that a device can execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Copy the source to the destination (service `mv`).
    Copy,
    /// Compress (service `dc`).
    Compress,
    /// Decompress (service `dc`).
    Decompress,
}

impl Op {
    /// Every operation, in the order of [`Op::index`].
    pub const ALL: [Op; 3] = [Op::Copy, Op::Compress, Op::Decompress];

    /// Position in [`Op::ALL`]; for tables with a row per operation.
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The operation's name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Op::Copy => "copy",
            Op::Compress => "compress",
            Op::Decompress => "decompress",
        }
    }

    /// The service that the operation belongs to.
    pub fn service(self) -> Service {
        match self {
            Op::Copy => Service::Mv,
            Op::Compress | Op::Decompress => Service::Dc,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.service().name(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(op.index(), i);
        }
    }
}
