//! What an operation answers, and how that is stored.

use crate::{BadReason, Lost, OpError, xml::Rule};

/// How far a successful operation came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// The whole source was consumed, and everything that was asked for is in the destination.
    #[default]
    Complete,
    /// Streams only: the destination is full and more would come. Resumable: submit the
    /// unconsumed rest of the source (which may be empty) again with the same flush.
    Overflow,
    /// The stream (zlib), member (gzip) or last block (raw) ended. A decompressor may have consumed
    /// less than the whole source: the rest belongs to whatever follows.
    End,
}

/// The success part of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Bytes of the source that were consumed. Symmetric packets: the longer one of their cipher
    /// region and authenticated region.
    pub consumed: usize,
    /// Bytes at the start of the destination that were written. Symmetric packets lie at their
    /// offsets: the sum of their results.
    pub produced: usize,
    /// The checksum of the uncompressed bytes (of a stream: of all so far) that the session asked
    /// for, or of the bytes copied; 0 when none was asked for.
    pub checksum: u64,
    /// How far the operation came.
    pub status: Status,
}

/// What [`store_result`] stores: plain numbers.
pub trait Outcome: Copy + 'static {
    /// Any value.
    const ANY: &'static Result<Self, OpError>;
}

impl Outcome for u32 {
    const ANY: &'static Result<u32, OpError> = &Ok(0);
}

impl Outcome for Done {
    const ANY: &'static Result<Done, OpError> =
        &Ok(Done { consumed: 0, produced: 0, checksum: 0, status: Status::Complete });
}

/// `*place = result`, for a place that outlives the operation.
///
/// An assignment may copy all bytes of the value, also those that its variant does not use: what was on the
/// stack before, which after an operation may be a piece of a key. Here a constant is copied, and then what
/// the variant has.
#[inline]
pub fn store_result<T: Outcome>(place: &mut Result<T, OpError>, result: Result<T, OpError>) {
    match result {
        Ok(done) => {
            *place = *T::ANY;
            if let Ok(place) = place {
                *place = done;
            }
        }
        Err(error) => store_error(place, error),
    }
}

#[cold]
fn store_error<T: Outcome>(place: &mut Result<T, OpError>, error: OpError) {
    macro_rules! constant {
        ($error:expr) => {
            *place = *const { &Err($error) }
        };
    }
    match error {
        OpError::DstTooSmall => constant!(OpError::DstTooSmall),
        OpError::BadData { offset, reason } => {
            constant!(OpError::BadData { offset: 0, reason: BadReason::Block });
            if let Err(OpError::BadData { offset: o, reason: r }) = place {
                (*o, *r) = (offset, reason);
            }
        }
        OpError::BadDocument { offset, rule } => {
            constant!(OpError::BadDocument { offset: 0, rule: Rule::Document });
            if let Err(OpError::BadDocument { offset: o, rule: r }) = place {
                (*o, *r) = (offset, rule);
            }
        }
        OpError::AuthFailed => constant!(OpError::AuthFailed),
        OpError::BadInput(what) => {
            constant!(OpError::BadInput(""));
            if let Err(OpError::BadInput(place)) = place {
                *place = what;
            }
        }
        OpError::Fault => constant!(OpError::Fault),
        OpError::Unsupported => constant!(OpError::Unsupported),
        OpError::StreamEnded => constant!(OpError::StreamEnded),
        OpError::Library(what) => {
            constant!(OpError::Library(""));
            if let Err(OpError::Library(place)) = place {
                *place = what;
            }
        }
        OpError::NoMemory => constant!(OpError::NoMemory),
        OpError::DeviceLost(Lost::Untouched) => constant!(OpError::DeviceLost(Lost::Untouched)),
        OpError::DeviceLost(Lost::Touched) => constant!(OpError::DeviceLost(Lost::Touched)),
        OpError::Cancelled => constant!(OpError::Cancelled),
        OpError::Expired => constant!(OpError::Expired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_the_result() {
        let done = Done { consumed: 1, produced: 2, checksum: 3, status: Status::Overflow };
        let errors = [
            OpError::DstTooSmall,
            BadReason::Dictionary.at(7),
            OpError::BadDocument { offset: 9, rule: Rule::StartTag },
            OpError::AuthFailed,
            OpError::BadInput("this"),
            OpError::Fault,
            OpError::Unsupported,
            OpError::StreamEnded,
            OpError::Library("that"),
            OpError::NoMemory,
            OpError::DeviceLost(Lost::Untouched),
            OpError::DeviceLost(Lost::Touched),
            OpError::Cancelled,
            OpError::Expired,
        ];
        for result in errors.map(Err).into_iter().chain([Ok(done)]) {
            let mut place = *Done::ANY;
            store_result(&mut place, result);
            assert_eq!(place, result);
            let mut place = Err(OpError::BadInput("before"));
            store_result(&mut place, result.map(|done| done.produced as u32));
            assert_eq!(place, result.map(|_| 2));
        }
    }
}
