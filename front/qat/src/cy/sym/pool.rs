//! Memory of requests, kept by each thread: no allocation for a usual request.

use core::cell::RefCell;

use lookaside::{Buf, Carried, Packet, Response};

/// How many of each a thread keeps: as many as a ring has requests.
const MOST: usize = 512;

/// The longest digest.
const DIGEST: usize = 64;

#[derive(Default)]
struct Pool {
    carried: Vec<Box<Carried>>,
    digests: Vec<Vec<u8>>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// A box of these.
#[inline]
pub fn carried(value: Carried) -> Box<Carried> {
    let kept = POOL.try_with(|pool| pool.borrow_mut().carried.pop()).ok().flatten();
    match kept {
        Some(mut carried) => {
            *carried = value;
            carried
        }
        None => Box::new(value),
    }
}

/// Memory for a digest.
#[inline]
pub fn digest() -> Buf {
    let kept = POOL.try_with(|pool| pool.borrow_mut().digests.pop()).ok().flatten();
    Buf::from(kept.unwrap_or_else(|| vec![0; DIGEST]))
}

/// Keeps what an answer has of it.
#[inline]
pub fn recycle(response: Response) {
    let Response { dst, carried, .. } = response;
    let _ = POOL.try_with(|pool| {
        let pool = &mut *pool.borrow_mut();
        if let Some(mut carried) = carried {
            if let Carried::Aside(aside) = &mut *carried {
                keep(&mut pool.digests, core::mem::take(&mut aside.tag));
                // Associated data of the caller's, or a copy of it.
                *carried = Carried::Packet(Packet::default());
            }
            if pool.carried.len() < MOST {
                pool.carried.push(carried);
            }
        }
        keep(&mut pool.digests, dst);
    });
}

/// Keeps memory of [`digest`].
pub fn keep_digest(buf: Buf) {
    let _ = POOL.try_with(|pool| keep(&mut pool.borrow_mut().digests, buf));
}

#[inline]
fn keep(digests: &mut Vec<Vec<u8>>, buf: Buf) {
    if !buf.is_lent() && buf.len() == DIGEST && digests.len() < MOST {
        // Owned, so this moves.
        digests.push(buf.into_vec());
    }
}
