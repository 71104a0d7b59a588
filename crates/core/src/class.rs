//! Which sessions may share a batch.

use crate::{Aead, Auth, ChainOrder, Cipher, Hash, Pke, SessionSpec, Sym};

/// Requests of sessions with equal classes may share a batch: the specification without what
/// differs from one session to the next (a stream's dictionary, a key).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionClass(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Spec(SessionSpec),
    Size(Size),
    Sym(Algorithms),
}

/// The kind and size of a keyed public-key session, without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Size {
    RsaPrivate { bytes: usize, crt: bool },
    RsaPublic { bytes: usize },
    Dh { bytes: usize },
    Dsa { bytes: usize, order: usize },
    Modular { bytes: usize, odd: bool },
}

/// The algorithms and lengths of a [`Sym`], without its keys. Key lengths tell AES-128 from AES-256:
/// rows of their own in the batcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Algorithms {
    Cipher { cipher: Cipher, key_len: usize },
    Auth { auth: Auth, key_len: usize, tag_len: usize },
    Aead { aead: Aead, key_len: usize, tag_len: usize },
    Chain { cipher: Cipher, key_len: usize, auth: Auth, tag_len: usize, order: ChainOrder },
    TlsCbc { key_len: usize, hash: Hash },
}

impl SessionSpec {
    /// Its class.
    pub fn class(&self) -> SessionClass {
        SessionClass(match self {
            SessionSpec::CompressStream { spec, .. } => {
                Kind::Spec(SessionSpec::CompressStream { spec: spec.clone(), dictionary: None })
            }
            SessionSpec::DecompressStream { format, .. } => {
                Kind::Spec(SessionSpec::DecompressStream { format: *format, dictionary: None })
            }
            SessionSpec::Pke(pke) => match size(pke) {
                Some(size) => Kind::Size(size),
                None => Kind::Spec(self.clone()),
            },
            SessionSpec::Sym(sym) => Kind::Sym(algorithms(sym)),
            other => Kind::Spec(other.clone()),
        })
    }
}

fn algorithms(sym: &Sym) -> Algorithms {
    match *sym {
        Sym::Cipher { cipher, ref key } => Algorithms::Cipher { cipher, key_len: key.len() },
        Sym::Auth { auth, ref key, tag_len } => {
            Algorithms::Auth { auth, key_len: key.len(), tag_len }
        }
        Sym::Aead { aead, ref key, tag_len } => {
            Algorithms::Aead { aead, key_len: key.len(), tag_len }
        }
        Sym::Chain { cipher, ref cipher_key, auth, tag_len, order, .. } => {
            Algorithms::Chain { cipher, key_len: cipher_key.len(), auth, tag_len, order }
        }
        Sym::TlsCbc { ref key, hash, .. } => Algorithms::TlsCbc { key_len: key.len(), hash },
    }
}

fn size(pke: &Pke) -> Option<Size> {
    Some(match pke {
        Pke::RsaPrivate(k) | Pke::RsaPrivateBlinded(k) => {
            Size::RsaPrivate { bytes: significant(&k.n), crt: k.crt.is_some() }
        }
        Pke::RsaPublic(k) => Size::RsaPublic { bytes: significant(&k.n) },
        Pke::Dh(g) => Size::Dh { bytes: significant(&g.p) },
        Pke::Dsa(d) => Size::Dsa { bytes: significant(&d.p), order: significant(&d.q) },
        Pke::Modular(n) => {
            Size::Modular { bytes: significant(n), odd: n.last().is_some_and(|b| b & 1 == 1) }
        }
        _ => return None,
    })
}

/// The length without leading zeros.
fn significant(number: &[u8]) -> usize {
    number.iter().position(|&b| b != 0).map_or(0, |zeros| number.len() - zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RsaPublicKey;

    #[test]
    fn keys_of_one_size_share_a_class() {
        let key = |n: &[u8]| {
            SessionSpec::Pke(Pke::RsaPublic(RsaPublicKey { n: n.to_vec(), e: vec![3] }.into()))
        };
        assert_eq!(key(&[0, 7, 1]).class(), key(&[9, 3]).class());
        assert_ne!(key(&[7, 1]).class(), key(&[9, 3, 5]).class());
    }
}
