//! Messages on the socket.
//!
//! A client's first connection begins with [`ToServer::Hello`]; the answer names what is offered, and a token.
//! It then opens and closes sessions there. Each ring has a connection of its own, which begins with
//! [`ToServer::Ring`] and the token; the answer has the descriptor of the shared memory beside it. From then on
//! the socket is a bell: a message of one byte wakes the other side. Either side ends a connection by closing it.

use lookaside_core::{Capability, Op};
use zeroize::Zeroizing;

use crate::{
    Malformed, Shape,
    bytes::{Reader, Writer},
    numbers,
};

/// Says to which client a ring belongs. Nobody else knows it.
pub type Token = [u8; 16];

/// From a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToServer<'a> {
    /// The first message of a client.
    Hello {
        /// [`crate::VERSION`].
        version: u32,
        /// How many operations it knows.
        ops: u32,
    },
    /// The first message of another connection of the same client: a ring is wanted.
    Ring {
        /// The client's.
        token: Token,
    },
    /// A session with this number; answered.
    Open {
        /// The client's choice; not in use.
        number: u32,
        /// Its specification: [`crate::session`].
        spec: &'a [u8],
    },
    /// The session is not used again; not answered.
    Close {
        /// Its number.
        number: u32,
    },
}

/// From the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// To [`ToServer::Hello`].
    Welcome {
        /// For the client's rings.
        token: Token,
        /// The virtual function's name.
        name: String,
        /// What may be asked for, with the server's batches.
        capabilities: Vec<Capability>,
    },
    /// To [`ToServer::Ring`], with the memory's descriptor.
    Ring(Shape),
    /// To [`ToServer::Open`].
    Opened,
    /// To any of these: why not.
    Refused {
        /// Whether a key or a domain parameter is wrong; else it is not offered, or a limit is reached.
        key: bool,
        /// In words.
        what: String,
    },
}

/// The most rows of a [`ToClient::Welcome`].
const ROWS: u32 = 1024;

impl ToServer<'_> {
    /// The message. It may contain a key.
    ///
    /// # Errors
    /// [`Malformed::Unsendable`] for a specification that is too long.
    pub fn encode(&self) -> Result<Zeroizing<Vec<u8>>, Malformed> {
        let mut to = Writer::new();
        match self {
            ToServer::Hello { version, ops } => {
                to.u8(0)?;
                to.u32(*version)?;
                to.u32(*ops)?;
            }
            ToServer::Ring { token } => {
                to.u8(1)?;
                to.raw(token)?;
            }
            ToServer::Open { number, spec } => {
                to.u8(2)?;
                to.u32(*number)?;
                to.raw(spec)?;
            }
            ToServer::Close { number } => {
                to.u8(3)?;
                to.u32(*number)?;
            }
        }
        Ok(to.finish())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// For bytes that are none.
    pub fn decode(bytes: &[u8]) -> Result<ToServer<'_>, Malformed> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => ToServer::Hello { version: from.u32()?, ops: from.u32()? },
            1 => ToServer::Ring { token: token(&mut from)? },
            2 => ToServer::Open { number: from.u32()?, spec: from.rest() },
            3 => ToServer::Close { number: from.u32()? },
            _ => return Err(Malformed::Number("message")),
        };
        from.end()?;
        Ok(message)
    }
}

fn token(from: &mut Reader<'_>) -> Result<Token, Malformed> {
    let mut token = Token::default();
    token.copy_from_slice(from.raw(size_of::<Token>())?);
    Ok(token)
}

impl ToClient {
    /// The message.
    ///
    /// # Errors
    /// [`Malformed::Unsendable`] for too many or too long capabilities.
    pub fn encode(&self) -> Result<Zeroizing<Vec<u8>>, Malformed> {
        let mut to = Writer::new();
        match self {
            ToClient::Welcome { token, name, capabilities } => {
                to.u8(0)?;
                to.raw(token)?;
                to.text(name)?;
                to.u32(capabilities.len() as u32)?;
                for row in capabilities {
                    to.u8(row.op.index() as u8)?;
                    to.text(&row.algorithm)?;
                    to.text(&row.served_by)?;
                    to.u32(u32::try_from(row.best_batch).unwrap_or(u32::MAX))?;
                    to.u64(row.max_src as u64)?;
                }
            }
            ToClient::Ring(shape) => {
                to.u8(1)?;
                to.u32(shape.depth)?;
                to.u32(shape.arena)?;
            }
            ToClient::Opened => to.u8(2)?,
            ToClient::Refused { key, what } => {
                to.u8(3)?;
                to.u8((*key).into())?;
                to.text(what)?;
            }
        }
        Ok(to.finish())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// For bytes that are none.
    pub fn decode(bytes: &[u8]) -> Result<ToClient, Malformed> {
        let mut from = Reader::new(bytes);
        let message = match from.u8()? {
            0 => {
                let (token, name) = (token(&mut from)?, from.text()?.to_owned());
                let rows = from.u32()?;
                if rows > ROWS {
                    return Err(Malformed::Number("number of rows"));
                }
                let capabilities =
                    (0..rows).map(|_| capability(&mut from)).collect::<Result<_, _>>()?;
                ToClient::Welcome { token, name, capabilities }
            }
            1 => ToClient::Ring(Shape::new(from.u32()?, from.u32()?)?),
            2 => ToClient::Opened,
            3 => ToClient::Refused { key: from.bool()?, what: from.text()?.to_owned() },
            _ => return Err(Malformed::Number("message")),
        };
        from.end()?;
        Ok(message)
    }
}

fn capability(from: &mut Reader<'_>) -> Result<Capability, Malformed> {
    Ok(Capability {
        op: op(from)?,
        algorithm: from.text()?.to_owned(),
        served_by: from.text()?.to_owned(),
        best_batch: from.u32()? as usize,
        max_src: usize::try_from(from.u64()?).unwrap_or(usize::MAX),
    })
}

fn op(from: &mut Reader<'_>) -> Result<Op, Malformed> {
    numbers::op(from.u8()?)
}
