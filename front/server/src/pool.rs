//! Memory of the server's own for the bytes of requests.

/// Buffers that are used again. What is in them belongs to one client.
#[derive(Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
    bytes: usize,
}

impl Pool {
    /// A buffer of so many bytes: zeros, or what the same client had in it.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.free.pop().unwrap_or_default();
        self.bytes -= buffer.capacity();
        buffer.resize(len, 0);
        buffer
    }

    /// Takes a buffer back, as long as all of them together have at most `most` bytes.
    pub(crate) fn give_back(&mut self, buffer: Vec<u8>, most: usize) {
        if self.bytes + buffer.capacity() <= most {
            self.bytes += buffer.capacity();
            self.free.push(buffer);
        }
    }

    /// Whether it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// Frees all.
    pub(crate) fn clear(&mut self) {
        *self = Pool::default();
    }
}
