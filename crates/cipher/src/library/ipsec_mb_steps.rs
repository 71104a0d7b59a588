//! What the lanes of intel-ipsec-mb are asked for, by the numbers it has for them.

/// A cipher or an AEAD: `IMB_CIPHER_MODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Mode {
    Cbc = 1,
    Null = 3,
    Des = 7,
    Ccm = 9,
    Des3 = 10,
    ZucEea3 = 14,
    Snow3gUea2 = 15,
}

/// A MAC: `IMB_HASH_ALG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Algorithm {
    Xcbc = 6,
    Null = 8,
    Ccm = 11,
    Cmac = 12,
    ZucEia3 = 20,
    Snow3gUia2 = 22,
    Cmac256 = 27,
}

/// A cipher in the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CipherStep {
    pub mode: Mode,
    /// Of the key.
    pub key_len: u8,
}

/// A MAC in the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MacStep {
    pub algorithm: Algorithm,
    /// Of the whole tag.
    pub len: u8,
}
