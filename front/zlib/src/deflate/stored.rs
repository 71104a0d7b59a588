//! Level 0: stored blocks, and the flushes between them.

use std::ffi::c_int;

use libz_rs_sys::z_stream;

use super::{
    body::{Ask, Reach},
    content::Content,
    state::{State, Status},
};

impl State {
    /// Level 0: stored blocks, which refer to nothing, end at a byte and need no state.
    pub(crate) fn stored(&mut self, strm: &mut z_stream, ask: Ask) -> Result<Reach, c_int> {
        loop {
            self.absorb(strm);
            if strm.avail_in == 0 && ask == Ask::Finish {
                if self.outbox.bit_count() > 0 {
                    self.outbox.put_empty_stored(self.input.waiting().is_empty());
                    if self.input.waiting().is_empty() {
                        self.status = Status::Finish;
                        self.ended = true;
                        self.drain(strm);
                        return Ok(Reach::Done);
                    }
                }
                // Nothing that is stored is done otherwise.
                return Ok(self.whole(strm)?.unwrap_or(Reach::Blocked));
            }
            if self.input.waiting().is_empty() || (strm.avail_in == 0 && ask == Ask::Nothing) {
                break;
            }
            // Without memory for the piece, the bits that wait are still there for the next call.
            self.piece(strm, Content::Text)?;
            self.outbox.share_byte();
            if !self.drain(strm) && strm.avail_in > 0 {
                return Ok(Reach::Blocked);
            }
        }
        match ask {
            Ask::Partial | Ask::Sync | Ask::Full if self.is_full(strm) => {
                return Ok(Reach::Blocked);
            }
            // As stock's: deflateBound has room for no more. The block ends within a byte.
            Ask::Partial => {
                self.align();
                self.outbox.put_bits(0b010, 10);
            }
            Ask::Sync => self.outbox.put_empty_stored(false),
            Ask::Full => {
                self.outbox.put_empty_stored(false);
                self.forget();
            }
            Ask::Nothing | Ask::Block | Ask::Settle | Ask::Finish => {}
        }
        self.drain(strm);
        Ok(Reach::Done)
    }
}
