//! One packet at a time, on the caller's thread, of any session: what is not worth running side by
//! side, and what everything else is tested against.

use lookaside_simd::Cpu;

use crate::{Auth, ChainOrder, Direction, Hash, OpError, Packet, Span, Sym, Text};

pub(crate) mod aead;
mod aes;
pub(crate) mod auth;
mod blocks;
pub(crate) mod cbc_mac;
mod ccm;
mod chain;
pub(crate) mod check;
pub(crate) mod cipher;
pub(crate) mod elsewhere;
mod gcm;
pub(crate) mod hash;
pub(crate) mod regions;
pub(crate) mod served_by;
mod tls;

use check::Limits;
use regions::{apart, read, region, tag_done, wipe, write};

/// The keys of a session, checked and expanded once.
pub struct Keys {
    limits: Limits,
    tag_len: usize,
    served_by: &'static str,
    pub(crate) kind: Kind,
}

/// What the keys are for.
pub(crate) enum Kind {
    /// A cipher alone.
    Cipher(cipher::Key),
    /// A hash or MAC alone.
    Auth(auth::Key),
    /// An AEAD.
    Aead(aead::Key),
    /// A cipher and a hash or MAC.
    Chain {
        /// The cipher.
        cipher: cipher::Key,
        /// The hash or MAC.
        auth: auth::Key,
        /// Which comes first.
        order: ChainOrder,
    },
    /// A TLS record.
    Tls(tls::Key),
}

impl Keys {
    /// Checks the specification and expands its keys.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a key, a tag length or a combination that there is not;
    /// [`OpError::Unsupported`] for a hash that has no kernel here.
    pub fn new(spec: &Sym, cpu: &Cpu) -> Result<Keys, OpError> {
        let (kind, tag_len) = match spec {
            Sym::Cipher { cipher, key } => (Kind::Cipher(cipher::Key::new(cpu, *cipher, key)?), 0),
            Sym::Auth { auth, key, tag_len } => {
                (Kind::Auth(auth::Key::new(cpu, *auth, key, *tag_len)?), *tag_len)
            }
            Sym::Aead { aead, key, tag_len } => {
                (Kind::Aead(aead::Key::new(cpu, *aead, key, *tag_len)?), *tag_len)
            }
            Sym::Chain { cipher, cipher_key, auth, auth_key, tag_len, order } => {
                if check::needs_iv(*auth) {
                    return Err(OpError::BadInput(
                        "a chain with a MAC that needs an IV of its own",
                    ));
                }
                let cipher = cipher::Key::new(cpu, *cipher, cipher_key)?;
                let auth = auth::Key::new(cpu, *auth, auth_key, *tag_len)?;
                (Kind::Chain { cipher, auth, order: *order }, *tag_len)
            }
            Sym::TlsCbc { key, hash, auth_key } => {
                if !matches!(hash, Hash::Sha1 | Hash::Sha256 | Hash::Sha384) {
                    return Err(OpError::BadInput("no suite of TLS has this hash"));
                }
                let auth = auth::Key::new(cpu, Auth::Hmac(*hash), auth_key, hash.len())?;
                let cipher = cipher::Key::new(cpu, crate::Cipher::AesCbc, key)?;
                (Kind::Tls(tls::Key { cipher, auth }), 0)
            }
        };
        let served_by = served_by::served_by(spec, cpu);
        Ok(Keys { limits: Limits::new(spec), tag_len, served_by, kind })
    }

    /// The length of a tag; 0 where there is none of its own.
    #[inline]
    pub fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// What serves it, for people to read.
    pub fn served_by(&self) -> &'static str {
        self.served_by
    }

    /// What a packet must look like.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks a packet: its IV, and where its parts lie.
    ///
    /// # Errors
    /// [`OpError::BadInput`], or [`OpError::DstTooSmall`].
    #[inline]
    pub(crate) fn check(&self, packet: &Packet<'_>) -> Result<(), OpError> {
        let (src_len, dst_len) = match &packet.text {
            Text::InPlace(bytes) => (bytes.len(), bytes.len()),
            Text::Apart { src, dst } => (src.len(), dst.len()),
        };
        self.limits.packet(packet.direction, packet.iv, &packet.parts, src_len, dst_len)
    }
}

/// Runs one packet. The keys are those of its session's specification.
pub fn run(keys: &Keys, packet: &mut Packet<'_>) {
    packet.result = keys.check(packet).and_then(|()| run_checked(keys, packet));
}

/// Runs one packet that [`Keys::check`] has passed.
pub(crate) fn run_checked(keys: &Keys, packet: &mut Packet<'_>) -> Result<usize, OpError> {
    let Packet { direction, iv, parts, text, .. } = packet;
    let tag = Span { offset: parts.tag, len: keys.tag_len as u32 };
    let len = parts.cipher.len as usize;
    match &keys.kind {
        Kind::Cipher(key) => {
            key.whole(iv, *direction, &mut region(text, parts.cipher), parts.spare_bits);
            Ok(len)
        }
        Kind::Auth(key) => {
            let mut bytes = [0; hash::MAX_DIGEST];
            let computed = &mut bytes[..keys.tag_len];
            key.whole(iv, read(text, parts.auth), parts.spare_bits, computed)?;
            tag_done(*direction, text, tag, computed)?;
            Ok(keys.tag_len)
        }
        Kind::Aead(key) => aead_packet(key, *direction, iv, text, (parts.aad, parts.cipher, tag)),
        Kind::Chain { cipher, auth, order } => {
            let chain = chain::Chain { cipher, auth, order: *order };
            let result = match direction {
                Direction::Seal => chain.seal(iv, text, parts, tag),
                Direction::Open => chain.open(iv, text, parts, tag),
            };
            if result.is_err() {
                wipe(text, parts.cipher);
            }
            result.map(|()| len)
        }
        Kind::Tls(key) => tls::record(key, *direction, iv, text, parts.aad, parts.cipher),
    }
}

fn aead_packet(
    key: &aead::Key,
    direction: Direction,
    iv: &[u8],
    text: &mut Text<'_>,
    (aad, cipher, tag): (Span, Span, Span),
) -> Result<usize, OpError> {
    if direction == Direction::Seal {
        let copied;
        let full = match apart(text, aad, cipher) {
            Some((aad, mut text)) => key.seal(iv, aad, &mut text)?,
            None => {
                copied = read(text, aad).to_vec();
                key.seal(iv, &copied, &mut region(text, cipher))?
            }
        };
        write(text, tag).copy_from_slice(&full[..tag.len as usize]);
        return Ok(cipher.len as usize);
    }
    let mut bytes = [0; 16];
    let expected = &mut bytes[..tag.len as usize];
    expected.copy_from_slice(read(text, tag));
    let copied;
    let result = match apart(text, aad, cipher) {
        Some((aad, mut text)) => key.open(iv, aad, &mut text, expected),
        None => {
            copied = read(text, aad).to_vec();
            key.open(iv, &copied, &mut region(text, cipher), expected)
        }
    };
    if result.is_err() {
        wipe(text, cipher);
    }
    result.map(|()| cipher.len as usize)
}
