//! A ring of one's own at the server.

use core::ops::Range;
use std::{
    os::fd::OwnedFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lookaside_core::SharedMemory;
use lookaside_wire::{
    Area, Bell, Consumer, Malformed, Producer,
    control::{ToClient, ToServer},
    passing,
};

use crate::{
    Settings, World,
    arena::Arena,
    connection::{Connection, Failure, ask},
};

/// A server that takes longer for a ring is not waited for: an engine waits here.
const MOST: Duration = Duration::from_secs(1);

pub(crate) struct Link {
    pub(crate) connection: Arc<Connection>,
    /// The bell, and what ends when the server does.
    pub(crate) socket: OwnedFd,
    pub(crate) area: Arc<Area>,
    pub(crate) requests: Producer,
    pub(crate) answers: Consumer,
    pub(crate) server: Bell,
    pub(crate) client: Bell,
    pub(crate) arena: Arena,
}

impl Link {
    pub(crate) fn open(
        settings: &Settings,
        connection: Arc<Connection>,
        world: &dyn World,
    ) -> Result<Link, Failure> {
        let socket = passing::connect(&settings.path, settings.timeout.min(MOST))?;
        let message = ToServer::Ring { token: connection.token }.encode()?;
        let (ToClient::Ring(shape), fds) = ask(&socket, &message, world)? else {
            return Err(Malformed::Number("message").into());
        };
        let [memory] = <[OwnedFd; 1]>::try_from(fds).map_err(|_| Malformed::Short)?;
        let memory = SharedMemory::map(memory).map_err(|_| Malformed::Number("shared memory"))?;
        let area =
            Area::new(memory, shape).map_err(|_| Malformed::Number("shape of shared memory"))?;
        Ok(Link {
            connection,
            socket,
            requests: area.requests_to(),
            answers: area.answers_from(),
            server: area.server_bell(),
            client: area.client_bell(),
            arena: Arena::new(shape.arena as usize),
            area,
        })
    }

    /// Before the arena is used, of which nothing is in use: whether the server leaves it, which it does unless it frees its
    /// pages at this moment.
    #[inline]
    pub(crate) fn hold_arena(&self) -> bool {
        self.area.hold() || self.wait_for_arena()
    }

    #[cold]
    fn wait_for_arena(&self) -> bool {
        let began = Instant::now();
        while began.elapsed() < MOST {
            thread::yield_now();
            if self.area.hold() {
                return true;
            }
        }
        false
    }

    /// A request is done with its piece of the arena.
    #[inline]
    pub(crate) fn give_back(&mut self, piece: Range<usize>) {
        self.arena.give_back(piece);
        if self.arena.is_empty() {
            self.area.let_go();
        }
    }

    /// Where requests were put in: wakes the server if it sleeps.
    pub(crate) fn wake_server(&mut self) {
        if self.requests.publish() && self.server.wants_ring() {
            passing::ring(&self.socket);
        }
    }
}
