//! Sessions of the symmetric service, and the running state that is kept for a key.

use core::hint::black_box;

use lookaside::{Op, OpError, Running, Secret};

use crate::error::{Reason, Result};

/// What starts a text.
pub trait Starts: Clone {
    /// Starts a text in pieces.
    fn begin(&self, op: Op, iv: &[u8]) -> core::result::Result<Box<dyn Running>, OpError>;
}

macro_rules! starts {
    ($($session:ident)*) => { $(impl Starts for lookaside::$session {
        #[inline]
        fn begin(&self, op: Op, iv: &[u8]) -> core::result::Result<Box<dyn Running>, OpError> {
            self.start(op, iv)
        }
    })* };
}
starts!(CipherSession AeadSession DigestSession ChainSession);

/// A session with the state of a text: made for a key, restarted for each text.
pub struct Keyed<S> {
    /// The session.
    pub session: S,
    key: Secret,
    running: Option<Box<dyn Running>>,
}

impl<S: Starts> Keyed<S> {
    /// A session for this key, no text yet.
    pub fn new(session: S, key: &[u8]) -> Keyed<S> {
        Keyed { session, key: Secret::new(key), running: None }
    }

    /// Whether it is the session for this key: programs start texts with the key that is there
    /// already (`openssl speed` does), and a session takes longer to make than a short text.
    pub fn is_for(&self, key: &[u8]) -> bool {
        let differ = self.key.iter().zip(key).fold(0, |all, (a, b)| all | (a ^ b));
        self.key.len() == key.len() && black_box(differ) == 0
    }

    /// Starts a text.
    #[inline]
    pub fn restart(&mut self, op: Op, iv: &[u8]) -> Result<&mut dyn Running> {
        match &mut self.running {
            Some(running) => running.restart(op, iv)?,
            none => *none = Some(self.session.begin(op, iv)?),
        }
        self.running()
    }

    /// The text that was started.
    #[inline]
    pub fn running(&mut self) -> Result<&mut dyn Running> {
        match &mut self.running {
            Some(running) => Ok(&mut **running),
            None => Err(Reason::NotInitialised.into()),
        }
    }
}

impl<S: Clone> Clone for Keyed<S> {
    fn clone(&self) -> Keyed<S> {
        let running = self.running.as_ref().map(|running| running.duplicate());
        Keyed { session: self.session.clone(), key: self.key.clone(), running }
    }
}
