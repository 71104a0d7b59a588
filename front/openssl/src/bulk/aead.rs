//! What the AEADs have in common.

use lookaside::Running;

use crate::{
    dispatch::symcipher::Pieces,
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
};

/// The longest tag.
pub const TAG: usize = 16;
/// What a TLS record is authenticated with: sequence number, type, version, length (RFC 5246 section
/// 6.2.3.3).
pub const TLS_AAD: usize = 13;

/// The parameters that AES-GCM and AES-CCM answer.
pub const GETTABLE: &[Param] = &[
    Param::size(c"keylen"),
    Param::size(c"ivlen"),
    Param::size(c"taglen"),
    Param::octets(c"iv"),
    Param::octets(c"updated-iv"),
    Param::octets(c"tag"),
    Param::size(c"tlsaadpad"),
    Param::octets(c"tlsivgen"),
    Param::END,
];
/// Those that they take.
pub const SETTABLE: &[Param] = &[
    Param::size(c"ivlen"),
    Param::octets(c"tag"),
    Param::octets(c"tlsaad"),
    Param::octets(c"tlsivfixed"),
    Param::octets(c"tlsivinv"),
    Param::END,
];

/// More of a text.
#[inline(always)]
pub fn update(running: &mut dyn Running, pieces: Pieces) -> Result<()> {
    match pieces {
        Pieces::Apart(src, dst) => running.update(src, dst)?,
        Pieces::InPlace(text) => running.update_in_place(text)?,
    };
    Ok(())
}

/// The AAD of a TLS record, and the length that it says.
pub fn tls_aad(params: Params) -> Result<Option<([u8; TLS_AAD], usize)>> {
    let Some(aad) = params.octets(c"tlsaad")? else { return Ok(None) };
    let aad: [u8; TLS_AAD] =
        aad.try_into().map_err(|_| Error::from(Reason::InvalidParameter).about(c"tlsaad"))?;
    let len = usize::from(u16::from_be_bytes([aad[11], aad[12]]));
    Ok(Some((aad, len)))
}

/// The same AAD with another length.
pub fn with_len(mut aad: [u8; TLS_AAD], len: usize) -> [u8; TLS_AAD] {
    aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
    aad
}

/// Answers with as much of the tag as there is room for.
pub fn answer_tag(answers: &mut Answers, tag: &[u8; TAG]) -> Result<()> {
    match answers.room(c"tag") {
        None => Ok(()),
        Some(n @ 1..=TAG) => answers.octets(c"tag", &tag[..n]),
        Some(_) => Err(Error::from(Reason::InvalidParameter).about(c"tag")),
    }
}

/// The error of a text whose IV is used up or was never given.
pub fn no_iv() -> Error {
    Error::new(Reason::NotInitialised, "no IV")
}
