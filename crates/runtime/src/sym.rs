//! Typed sessions of the symmetric service (`sym`).
//!
//! A request names the parts of its packet by their offsets ([`Packet`]); they are the same in source
//! and destination. With an empty source it works in place, on the destination. It may carry
//! * one [`Packet`];
//! * a burst, `Vec<Packet>`: one request for many packets that lie in one piece of memory, or in
//!   the segments of a list. The least overhead for each; every packet comes back with its own
//!   result, and the request's is the first that failed, if any. Its packets may be of different
//!   sessions ([`Runtime::set`]);
//! * a [`Running`] state: the source is the next piece of a text.
//!
//! A wrong tag answers `AuthFailed`, and nothing of the plaintext is released: the cipher region
//! of the destination is zeros, or was never touched. Offsets, lengths and IVs out of their range
//! answer `BadInput`; a destination without room, `DstTooSmall`.

use std::sync::Arc;

use lookaside_core::{
    Aead, Args, Auth, Buf, Carried, ChainOrder, Cipher, Done, Hash, Immediate, Op, OpError, Packet,
    Request, Running, Secret, Session, SessionSpec, SetupError, Sym,
};

use crate::{Random, Runtime};

/// A kind of session of which sets can be made: [`Runtime::set`].
pub trait Set: Sized {
    #[doc(hidden)]
    fn session(&self) -> &Arc<Session>;
    #[doc(hidden)]
    fn of(session: Arc<Session>) -> Self;
}

/// Declares typed sessions: a newtype around the session, with a method for each of its operations.
macro_rules! sessions {
    ($($(#[$doc:meta])* $name:ident { $($(#[$op_doc:meta])* $method:ident $op:ident)* })*) => {
        $($(#[$doc])* #[derive(Clone, Debug)] pub struct $name(Arc<Session>);

        impl Set for $name {
            fn session(&self) -> &Arc<Session> {
                &self.0
            }

            fn of(session: Arc<Session>) -> $name {
                $name(session)
            }
        }

        impl $name {
            $($(#[$op_doc])*
            #[inline]
            pub fn $method(&self, carried: impl Into<Box<Carried>>, src: Buf, dst: Buf) -> Request {
                // In one piece: a request that is changed afterwards is moved once more.
                let (op, session, args) = (Op::$op, self.0.clone(), Args::default());
                let carried = Some(carried.into());
                Request { tag: 0, op, args, session, src, dst, carried }
            })*

            /// Executes one operation at once, on the caller's thread, without an instance: for
            /// texts so short that a ring costs more than the work. Without a source, in place. The
            /// runtime's counters do not see it.
            ///
            /// # Errors
            /// As a request for it; `Unsupported` where no device of this session can.
            #[inline]
            pub fn at_once(
                &self,
                op: Op,
                packet: &mut Packet,
                src: Option<&[u8]>,
                dst: &mut [u8],
            ) -> Result<Done, OpError> {
                immediate(&self.0).ok_or(OpError::Unsupported)?.run(op, packet, src, dst)
            }

            /// Starts a text in pieces.
            ///
            /// # Errors
            /// `BadInput` for an IV of the wrong length; `Unsupported` for an operation of
            /// another session, or where no device can.
            pub fn start(&self, op: Op, iv: &[u8]) -> Result<Box<dyn Running>, OpError> {
                immediate(&self.0).ok_or(OpError::Unsupported)?.start(op, iv)
            }

            /// Whether many requests at once are quicker than one after the other: worth the wait
            /// of a caller who could have one done [at once](Self::at_once).
            pub fn side_by_side(&self) -> bool {
                self.0.prepared.iter().flatten().any(lookaside_core::Prepared::is_side_by_side)
            }

            /// Whether another device comes before the one that runs [at once](Self::at_once): then requests are
            /// served by it, and what runs at once is not.
            pub fn has_other_device(&self) -> bool {
                let first = self.0.prepared.iter().flatten().next();
                first.is_some_and(|prepared| prepared.immediate().is_none())
            }

            /// How many of its requests side by side serve its device best.
            pub fn best_batch(&self) -> usize {
                let own = |p: &lookaside_core::Prepared| p.own_best_batch();
                self.0.prepared.iter().flatten().find_map(own).unwrap_or(1)
            }
        })*
    };
}

fn immediate(session: &Session) -> Option<&dyn Immediate> {
    session.prepared.iter().flatten().find_map(|p| p.immediate()).map(|i| &**i)
}

sessions! {
    /// A cipher with one key.
    CipherSession {
        /// Encrypts the cipher region.
        encrypt Encrypt
        /// Decrypts the cipher region.
        decrypt Decrypt
    }
    /// A hash, or a MAC with one key.
    DigestSession {
        /// Makes the tag of the authenticated region, at [`Packet::tag`] in the destination.
        digest Digest
        /// Compares the tag at [`Packet::tag`] in the source with that of the authenticated region.
        verify Verify
    }
    /// An AEAD with one key.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{Aead, Buf, OpError, Packet, Runtime, Span};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
    /// let session = runtime.aead(Aead::AesGcm, &[7; 16], 16)?;
    ///
    /// // Two packets in one piece of memory: 8 bytes of header, 100 of text, room for the tag.
    /// let packet = |at: u32, nonce: u8| Packet {
    ///     iv: [nonce; 12].into(),
    ///     aad: Span::new(at, 8),
    ///     cipher: Span::new(at + 8, 100),
    ///     tag: at + 108,
    ///     ..Packet::default()
    /// };
    /// let burst = vec![packet(0, 1), packet(124, 2)];
    /// let memory = Buf::zeroed(248);
    ///
    /// // In place, as the source is empty.
    /// let sealed = runtime.handle().call(session.seal(burst.clone(), Buf::empty(), memory)).wait();
    /// sealed.result?;
    /// let mut memory = sealed.dst.into_vec();
    /// memory[124 + 3] ^= 1; // the second packet's header is damaged on its way
    ///
    /// let opened = runtime.handle().call(session.open(burst, Buf::empty(), memory.into())).wait();
    /// assert_eq!(opened.result, Err(OpError::AuthFailed));
    /// assert_eq!(opened.packets()[0].result, Ok(100));
    /// assert_eq!(opened.packets()[1].result, Err(OpError::AuthFailed));
    /// # Ok(())
    /// # }
    /// ```
    AeadSession {
        /// Encrypts the cipher region, and puts the tag of it and the associated data into the
        /// destination.
        seal Seal
        /// Verifies the tag in the source, and decrypts.
        open Open
    }
    /// A cipher and a hash or MAC in one request.
    ChainSession {
        /// Encrypts the cipher region, and puts the tag of the authenticated region into the
        /// destination. Of that region, what lies outside the cipher's is copied to a destination
        /// that lies apart.
        seal Seal
        /// Verifies the tag in the source, and decrypts.
        open Open
    }
    /// Records of TLS 1.1 and 1.2 with an AES-CBC suite: the MAC before the encryption.
    TlsCbcSession {
        /// Makes MAC and padding, and encrypts: [`Packet::result`] is the length of the ciphertext,
        /// which begins where the payload did; the destination needs room for it.
        seal Seal
        /// Decrypts, and verifies padding and MAC, in a time that depends on public lengths alone;
        /// [`Packet::result`] is the length of the payload.
        open Open
    }
}

/// Sessions of the symmetric and random services. All of these allocate; each answers an error when
/// a key's or a tag's length is not one that the algorithm has, or no device supports it.
#[allow(clippy::missing_errors_doc)]
impl Runtime {
    fn sym(&self, sym: Sym) -> Result<Arc<Session>, SetupError> {
        self.0.session(SessionSpec::Sym(sym))
    }

    /// A session for a cipher.
    pub fn cipher(&self, cipher: Cipher, key: &[u8]) -> Result<CipherSession, SetupError> {
        Ok(CipherSession(self.sym(Sym::Cipher { cipher, key: Secret::new(key) })?))
    }

    /// A session for a hash or MAC; `key` is empty for a plain hash, `tag_len` at most the
    /// algorithm's length.
    pub fn digest(
        &self,
        auth: Auth,
        key: &[u8],
        tag_len: usize,
    ) -> Result<DigestSession, SetupError> {
        Ok(DigestSession(self.sym(Sym::Auth { auth, key: Secret::new(key), tag_len })?))
    }

    /// A session for authenticated encryption.
    pub fn aead(&self, aead: Aead, key: &[u8], tag_len: usize) -> Result<AeadSession, SetupError> {
        Ok(AeadSession(self.sym(Sym::Aead { aead, key: Secret::new(key), tag_len })?))
    }

    /// A session for a chain of a cipher and a hash or MAC.
    pub fn chain(
        &self,
        (cipher, cipher_key): (Cipher, &[u8]),
        (auth, auth_key): (Auth, &[u8]),
        tag_len: usize,
        order: ChainOrder,
    ) -> Result<ChainSession, SetupError> {
        let (cipher_key, auth_key) = (Secret::new(cipher_key), Secret::new(auth_key));
        let chain = Sym::Chain { cipher, cipher_key, auth, auth_key, tag_len, order };
        Ok(ChainSession(self.sym(chain)?))
    }

    /// A session for TLS records of AES-CBC suites, of one direction of one connection.
    pub fn tls_cbc(
        &self,
        key: &[u8],
        hash: Hash,
        auth_key: &[u8],
    ) -> Result<TlsCbcSession, SetupError> {
        let (key, auth_key) = (Secret::new(key), Secret::new(auth_key));
        Ok(TlsCbcSession(self.sym(Sym::TlsCbc { key, hash, auth_key })?))
    }

    /// A session for packets of many sessions: each names its own by its place in `sessions`
    /// ([`Packet::session`]), so that one burst carries packets of as many keys as it likes, as those of
    /// an IPsec gateway are. All must be of one algorithm, key length and tag length, and of this
    /// runtime. The set keeps their keys; to add or remove one, make another set: that costs a pointer
    /// for each session. It has no messages in pieces.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{Aead, Buf, Packet, Runtime, Span};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start()?;
    /// let one = runtime.aead(Aead::AesGcm, &[1; 16], 16)?;
    /// let other = runtime.aead(Aead::AesGcm, &[2; 16], 16)?;
    /// let both = runtime.set(&[one, other])?;
    ///
    /// // 100 bytes and a tag for each.
    /// let packet = |at: u32, session: u32| Packet {
    ///     session,
    ///     iv: [9; 12].into(),
    ///     cipher: Span::new(at, 100),
    ///     tag: at + 100,
    ///     ..Packet::default()
    /// };
    /// let burst = vec![packet(0, 0), packet(116, 1)];
    /// let sealed = runtime.handle().call(both.seal(burst, Buf::empty(), Buf::zeroed(232))).wait();
    /// sealed.result?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set<S: Set>(&self, sessions: &[S]) -> Result<S, SetupError> {
        let sessions: Vec<_> = sessions.iter().map(Set::session).collect();
        Ok(S::of(self.0.session_set(&sessions)?))
    }

    /// A session for random numbers.
    pub fn random(&self) -> Result<Random, SetupError> {
        Ok(Random(self.0.session(SessionSpec::Rng)?))
    }
}
