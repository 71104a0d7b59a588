//! [`Text`]: where a cipher kernel reads and writes.

/// What a cipher works on: bytes in place, or a source and a destination of equal length.
pub enum Text<'a> {
    /// The result replaces the source.
    InPlace(&'a mut [u8]),
    /// The result goes elsewhere. A destination longer than the source is left alone beyond it.
    Apart {
        /// The source.
        src: &'a [u8],
        /// The destination, at least as long.
        dst: &'a mut [u8],
    },
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The bytes may be secret.
        write!(f, "Text({} bytes)", self.len())
    }
}

impl Text<'_> {
    /// The length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Text::InPlace(bytes) => bytes.len(),
            Text::Apart { src, .. } => src.len(),
        }
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is read.
    #[inline(always)]
    pub fn source(&self) -> &[u8] {
        match self {
            Text::InPlace(bytes) => bytes,
            Text::Apart { src, .. } => src,
        }
    }

    /// The destination, all of it.
    #[inline(always)]
    pub fn destination(&mut self) -> &mut [u8] {
        match self {
            Text::InPlace(bytes) => bytes,
            Text::Apart { dst, .. } => dst,
        }
    }

    /// What a cipher has written: as much as there is to read.
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    #[inline(always)]
    pub fn written(&self) -> &[u8] {
        match self {
            Text::InPlace(bytes) => bytes,
            Text::Apart { src, dst } => &dst[..src.len()],
        }
    }

    /// The same text, lent.
    #[inline(always)]
    pub fn reborrow(&mut self) -> Text<'_> {
        match self {
            Text::InPlace(bytes) => Text::InPlace(bytes),
            Text::Apart { src, dst } => Text::Apart { src, dst },
        }
    }

    /// Where to read, where to write, and how many bytes: equal pointers, or two pieces of memory
    /// that do not overlap.
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    #[inline]
    pub fn pointers(&mut self) -> (*const u8, *mut u8, usize) {
        match self {
            Text::InPlace(bytes) => {
                let dst = bytes.as_mut_ptr();
                (dst.cast_const(), dst, bytes.len())
            }
            Text::Apart { src, dst } => {
                assert!(dst.len() >= src.len(), "the destination is shorter than the source");
                (src.as_ptr(), dst.as_mut_ptr(), src.len())
            }
        }
    }
}
