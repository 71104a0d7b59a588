//! A client: a process with its sessions.

use std::{cell::RefCell, collections::HashMap, os::fd::OwnedFd, rc::Rc, sync::Arc};

use lookaside::{Runtime, Service, Session, SetupError};
use lookaside_wire::{
    Malformed,
    control::{ToClient, ToServer, Token},
    passing, session,
};
use rustix::io::Errno;

/// Why a client is cut off.
#[derive(Debug)]
pub(crate) enum End {
    /// It has gone.
    Gone,
    /// It sent what is no message or record.
    Malformed(Malformed),
    /// It broke a rule.
    Wrong(&'static str),
}

impl From<Malformed> for End {
    fn from(e: Malformed) -> End {
        End::Malformed(e)
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Done,
    /// It asked for a session, and there is none for it.
    Refused,
}

/// The sessions of a client, by its numbers. Its rings look here.
pub(crate) type Sessions = Rc<RefCell<HashMap<u32, Arc<Session>>>>;

/// A process that said hello.
pub(crate) struct Client {
    pub(crate) socket: OwnedFd,
    pub(crate) token: Token,
    pub(crate) sessions: Sessions,
    /// Readable when it has ended; in the function's epoll for as long as it is held here.
    pub(crate) _process: Option<OwnedFd>,
}

impl Client {
    /// Deals with a message. `room`: how many sessions the virtual function has left.
    pub(crate) fn message(
        &mut self,
        message: &[u8],
        runtime: &Runtime,
        services: &[Service],
        room: usize,
    ) -> Result<Heard, End> {
        match ToServer::decode(message)? {
            ToServer::Open { number, spec } => {
                let spec = session::decode(spec)?;
                if self.sessions.borrow().contains_key(&number) {
                    return Err(End::Wrong("a session with a number that is in use"));
                }
                let offered = |service| services.contains(&service);
                let refused = |key, what: String| ToClient::Refused { key, what };
                let answer = if spec.ordered() || !spec.ops().iter().all(|op| offered(op.service()))
                {
                    refused(false, "the virtual function does not offer it".into())
                } else if room == 0 {
                    refused(false, "the virtual function has as many sessions as it may".into())
                } else {
                    match runtime.session(spec) {
                        Ok(session) => {
                            self.sessions.borrow_mut().insert(number, session);
                            ToClient::Opened
                        }
                        Err(SetupError::Key { what }) => refused(true, what.into()),
                        Err(SetupError::Unsupported { what, .. }) => refused(false, what.into()),
                        Err(e) => refused(false, e.to_string()),
                    }
                };
                answer_with(&self.socket, &answer)?;
                Ok(if answer == ToClient::Opened { Heard::Done } else { Heard::Refused })
            }
            ToServer::Close { number } => match self.sessions.borrow_mut().remove(&number) {
                Some(_) => Ok(Heard::Done),
                None => Err(End::Wrong("a session that is not open")),
            },
            ToServer::Hello { .. } | ToServer::Ring { .. } => {
                Err(End::Wrong("a greeting in the middle"))
            }
        }
    }
}

/// Sends an answer. Who does not read them is cut off.
pub(crate) fn answer_with(socket: &OwnedFd, answer: &ToClient) -> Result<(), End> {
    passing::send(socket, &answer.encode()?, &[]).map_err(|e| match e {
        Errno::AGAIN => End::Wrong("answers that it does not read"),
        _ => End::Gone,
    })
}
