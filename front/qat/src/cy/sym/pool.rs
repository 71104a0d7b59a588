//! Memory of requests, kept by each thread: no allocation for a usual request.

use core::cell::RefCell;

use lookaside::{Buf, Carried, Packet, Response};

/// How many of each a thread keeps: as many as a ring has requests.
const MOST: usize = 512;

/// The longest digest.
const DIGEST: usize = 64;

struct Pool {
    // Requests carry boxes: these are not allocated anew.
    #[allow(clippy::vec_box)]
    packets: Vec<Box<Carried>>,
    digests: Vec<Vec<u8>>,
    texts: Vec<Vec<u8>>,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { packets: Vec::new(), digests: Vec::new(), texts: Vec::new() })
    };
}

/// A box with a packet of whatever content.
#[inline]
pub fn packet() -> Box<Carried> {
    let kept = POOL.try_with(|pool| pool.borrow_mut().packets.pop()).ok().flatten();
    kept.unwrap_or_else(|| Packet::default().into())
}

/// Memory for a digest.
#[inline]
pub fn digest() -> Buf {
    let kept = POOL.try_with(|pool| pool.borrow_mut().digests.pop()).ok().flatten();
    Buf::from(kept.unwrap_or_else(|| vec![0; DIGEST]))
}

/// Memory for a text, empty.
pub fn text() -> Vec<u8> {
    POOL.try_with(|pool| pool.borrow_mut().texts.pop()).ok().flatten().unwrap_or_default()
}

/// Overwrites and keeps a text's memory.
pub fn keep_text(buf: Buf) {
    let mut text = buf.into_vec();
    text.fill(0);
    text.clear();
    let _ = POOL.try_with(|pool| {
        let texts = &mut pool.borrow_mut().texts;
        if texts.len() < MOST {
            texts.push(text);
        }
    });
}

/// Keeps what an answer has of it.
#[inline]
pub fn recycle(response: &mut Response) {
    let Response { dst, carried, .. } = response;
    let _ = POOL.try_with(|pool| {
        let pool = &mut *pool.borrow_mut();
        if let Some(mut carried) = carried.take() {
            if !matches!(*carried, Carried::Packet(_)) {
                empty(pool, &mut carried);
            }
            if pool.packets.len() < MOST {
                pool.packets.push(carried);
            }
        }
        if dst.len() == DIGEST && !dst.is_lent() {
            keep(&mut pool.digests, core::mem::take(dst));
        }
    });
}

/// Makes a box with something else one with a packet.
fn empty(pool: &mut Pool, carried: &mut Carried) {
    if let Carried::Aside(aside) = carried {
        keep(&mut pool.digests, core::mem::take(&mut aside.tag));
    }
    *carried = Carried::Packet(Packet::default());
}

/// Keeps what a request would have carried.
pub fn discard(carried: Box<Carried>) {
    let (result, none) = (Err(lookaside::OpError::Cancelled), Buf::empty);
    recycle(&mut Response { tag: 0, result, src: none(), dst: none(), carried: Some(carried) });
}

#[inline]
fn keep(digests: &mut Vec<Vec<u8>>, buf: Buf) {
    if !buf.is_lent() && buf.len() == DIGEST && digests.len() < MOST {
        // Owned, so this moves.
        digests.push(buf.into_vec());
    }
}
