//! One engine's way to the server and back.

use core::{cell::Cell, mem, ops::Range};
use std::{
    collections::VecDeque,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use lookaside_core::{
    Batch, Buf, Carried, Channel, Completed, Done, Lost, Op, OpError, Service, SetupError, Wake,
    Work,
    probes::{self, Declined},
};
use lookaside_wire::{
    Answer, Area, Entry, Malformed, Patience, Piece,
    passing::{self, Heard},
};
use rustix::{event::epoll, io::Errno};

use crate::{
    Inner, Policy,
    connection::{Failure, REST_NS},
    link::Link,
    session::SharedSession,
};

/// A request at the server.
struct Flight {
    work: Work,
    number: u64,
    /// Its piece of the arena.
    piece: Range<usize>,
    src: Range<usize>,
    dst: Range<usize>,
    since_ns: u64,
}

/// Why a request was not sent.
enum Unsent {
    /// There is no room at the moment.
    Room,
    /// It is not for this device.
    Unfit,
    /// There is no server.
    Server,
    /// It never can be executed.
    Wrong(OpError),
}

/// Where a request is alone at the server, it stays in its process; now and then one goes all the same, so that the
/// server learns of it.
struct Home {
    /// When the next one goes.
    next_ns: u64,
    /// How long after that the one behind it.
    rest_ns: u64,
}

impl Home {
    const FIRST_NS: u64 = 10_000_000;
    const LAST_NS: u64 = 320_000_000;

    fn new() -> Home {
        Home { next_ns: 0, rest_ns: Home::FIRST_NS }
    }

    /// Whether a request stays, which would be alone.
    fn keeps(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return true;
        }
        self.next_ns = now_ns.saturating_add(self.rest_ns);
        self.rest_ns = (2 * self.rest_ns).min(Home::LAST_NS);
        false
    }
}

/// A channel.
pub(crate) struct SharedChannel {
    device: Arc<Inner>,
    link: Option<Link>,
    /// Readable when the link's socket is: the same one whatever the link is.
    event: OwnedFd,
    /// By the lower half of a request's number.
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    flying: usize,
    /// The upper half of the next number.
    next: u32,
    /// What has its result.
    done: VecDeque<Work>,
    /// Taken, and there was no room.
    waiting: Option<Work>,
    /// What waits for a server.
    parked: VecDeque<Work>,
    /// When a server is looked for again.
    retry_ns: u64,
    now_ns: u64,
    /// When something last came or went.
    moved_ns: u64,
    patience: Patience,
    home: Home,
    /// The server was told that this side sleeps.
    announced: Cell<bool>,
}

fn refused(e: Errno) -> SetupError {
    SetupError::Os { what: "channel to the shared device", errno: e.raw_os_error() }
}

impl SharedChannel {
    pub(crate) fn new(device: Arc<Inner>) -> Result<SharedChannel, SetupError> {
        let event = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(refused)?;
        // It connects with the first request: many channels never have one.
        Ok(SharedChannel {
            device,
            link: None,
            event,
            flights: Vec::new(),
            free: Vec::new(),
            flying: 0,
            next: 0,
            done: VecDeque::with_capacity(64),
            waiting: None,
            parked: VecDeque::new(),
            retry_ns: 0,
            now_ns: 0,
            moved_ns: 0,
            patience: Patience::new(),
            home: Home::new(),
            announced: Cell::new(false),
        })
    }

    /// Connects, if it is time to.
    #[cold]
    fn connect(&mut self) -> Result<(), Failure> {
        if self.now_ns < self.retry_ns {
            return Err(Failure::Absent);
        }
        self.retry_ns = self.now_ns + REST_NS;
        let connection = self.device.connection()?;
        let link = Link::open(&self.device.settings, connection, &*self.device.world).inspect_err(
            |e| {
                // It ends with its server.
                if let Failure::Os(_) = e
                    && let Some(connection) = self.device.known_connection()
                {
                    connection.lose();
                }
            },
        )?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.event, &link.socket, data, epoll::EventFlags::IN)?;
        let depth = link.area.shape().depth;
        self.flights.clear();
        self.flights.resize_with(depth as usize, || None);
        self.free = (0..depth).rev().collect();
        self.link = Some(link);
        self.announced.set(false);
        Ok(())
    }

    /// The server has gone, or says what makes no sense. Nothing of the requests was touched: results are
    /// copied out of the arena last.
    #[cold]
    fn lose_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        link.connection.lose();
        // Not by its end alone: a child of a fork may have the socket too.
        let _ = epoll::delete(&self.event, &link.socket);
        self.retry_ns = self.now_ns;
        self.flying = 0;
        for flight in mem::take(&mut self.flights).into_iter().flatten() {
            self.without_server(flight.work);
        }
    }

    /// What becomes of a request that has no server.
    #[cold]
    fn without_server(&mut self, mut work: Work) {
        match self.device.settings.policy {
            Policy::Wait => self.parked.push_back(work),
            Policy::Fallback => self.hand_on(work, Declined::Server),
            Policy::Fail => {
                work.finish(Err(OpError::Library("the server of the shared device is gone")));
                work.fail_packets();
                self.done.push_back(work);
            }
        }
    }

    /// The request as it was, for the next device.
    #[cold]
    fn hand_on(&mut self, mut work: Work, why: Declined) {
        probes::shared_declined(&work, why);
        work.lose(Lost::Untouched);
        self.done.push_back(work);
    }

    /// Whether a request would gain nothing at the server.
    fn stays(&mut self, op: Op) -> bool {
        if !self.device.keeps_lone || !self.device.gaining.contains(&op) {
            return false;
        }
        let Some(link) = &self.link else { return false };
        if link.area.has_company() {
            self.home = Home::new();
            return false;
        }
        self.home.keeps(self.now_ns)
    }

    /// Sends it, or puts it where it goes on from.
    fn accept(&mut self, work: Work) {
        if self.stays(work.request().op) {
            return self.hand_on(work, Declined::Alone);
        }
        let unsent = match self.send(work) {
            Ok(()) => return,
            Err((work, Unsent::Room)) => return self.waiting = Some(work),
            Err((work, Unsent::Unfit)) => return self.hand_on(work, Declined::Unfit),
            Err((work, Unsent::Server)) => work,
            Err((mut work, Unsent::Wrong(e))) => {
                work.finish(Err(e));
                work.fail_packets();
                return self.done.push_back(work);
            }
        };
        self.lose_link();
        self.without_server(unsent);
    }

    fn send(&mut self, work: Work) -> Result<(), (Work, Unsent)> {
        match self.try_send(&work) {
            Ok((slot, number, piece, src, dst)) => {
                probes::shared_sent(&work, number);
                let since_ns = self.now_ns;
                let flight = Flight { work, number, piece, src, dst, since_ns };
                self.flights[slot as usize] = Some(flight);
                self.flying += 1;
                self.moved_ns = self.now_ns;
                Ok(())
            }
            Err(unsent) => Err((work, unsent)),
        }
    }

    /// Puts the request's record into the ring and its bytes into the arena.
    #[allow(clippy::type_complexity, reason = "the parts of a flight, for its one caller")]
    fn try_send(
        &mut self,
        work: &Work,
    ) -> Result<(u32, u64, Range<usize>, Range<usize>, Range<usize>), Unsent> {
        if self.link.is_none() {
            self.connect().map_err(|_| Unsent::Server)?;
        }
        let link = self.link.as_mut().ok_or(Unsent::Server)?;
        let request = work.request();
        let session = work.prepared::<SharedSession>().ok_or(Unsent::Unfit)?;
        let packet = match request.carried.as_deref() {
            None => None,
            Some(Carried::Packet(packet)) if request.op.service() == Service::Sym => Some(*packet),
            Some(_) => return Err(Unsent::Unfit),
        };
        if request.op != Op::Compare && !request.dst.is_writable() {
            return Err(Unsent::Wrong(OpError::Unsupported));
        }
        let (src_len, dst_len) = (request.src.len(), request.dst.len());
        let dst_at = src_len.next_multiple_of(64);
        let bytes = dst_at.saturating_add(dst_len);
        if bytes > link.arena.len() {
            return Err(Unsent::Unfit);
        }
        let session = match session.known(&link.connection) {
            Some(number) => number,
            None => session.open(&link.connection).map_err(|e| match e {
                // Keys were good when the session was made; a limit may be reached.
                Failure::Refused(..) => Unsent::Unfit,
                _ => Unsent::Server,
            })?,
        };
        let slot = *self.free.last().ok_or(Unsent::Room)?;
        if link.arena.is_empty() && !link.hold_arena() {
            return Err(Unsent::Server);
        }
        let piece = link.arena.take(bytes).ok_or(Unsent::Room)?;
        let src = piece.start..piece.start + src_len;
        let dst = piece.start + dst_at..piece.start + bytes;
        let number = u64::from(self.next) << 32 | u64::from(slot);
        let at = |range: &Range<usize>| Piece {
            offset: range.start as u64,
            // An arena is smaller than 4 GiB.
            len: range.len() as u32,
        };
        let entry = Entry {
            number,
            session,
            op: request.op,
            args: request.args,
            src: at(&src),
            dst: at(&dst),
            packet,
        };
        let sent = entry.encode().map_err(|_| Unsent::Unfit).and_then(|record| {
            gather(&link.area, src.start, &request.src);
            if reads_destination(request.op) {
                gather(&link.area, dst.start, &request.dst);
            }
            match link.requests.push(&record) {
                Ok(true) => Ok(()),
                Ok(false) => Err(Unsent::Room),
                Err(_) => Err(Unsent::Server),
            }
        });
        if let Err(unsent) = sent {
            link.give_back(piece);
            return Err(unsent);
        }
        self.free.pop();
        self.next = self.next.wrapping_add(1);
        Ok((slot, number, piece, src, dst))
    }

    /// Takes the answers that are there.
    fn collect(&mut self) {
        loop {
            let Some(link) = &mut self.link else { return };
            let taken = match link.answers.pop() {
                Ok(None) => break link.answers.release(),
                Ok(Some(record)) => Answer::decode(&record),
                Err(e) => Err(e),
            };
            if taken.and_then(|answer| self.finish(&answer)).is_err() {
                return self.lose_link();
            }
        }
    }

    /// Writes an answer's bytes where the request wants them.
    fn finish(&mut self, answer: &Answer) -> Result<(), Malformed> {
        const NONE: Malformed = Malformed::Number("request");
        let Some(link) = &mut self.link else { return Err(NONE) };
        let slot = answer.number as u32;
        let place = self.flights.get_mut(slot as usize).ok_or(NONE)?;
        let known = place.as_ref().is_some_and(|flight| flight.number == answer.number);
        let flight = place.as_mut().filter(|_| known).ok_or(NONE)?;
        let (src_len, dst_len) = (flight.src.len(), flight.dst.len());
        let request = flight.work.request_mut();
        let symmetric = request.op.service() == Service::Sym;
        let written = match answer.result {
            _ if symmetric => dst_len,
            Ok(_) if request.op == Op::Compare => 0,
            Ok(Done { produced, .. }) => produced,
            Err(_) => 0,
        };
        let consumed = answer.result.map_or(0, |done| done.consumed);
        if written > dst_len || consumed > src_len.max(dst_len) {
            return Err(Malformed::Number("length of a result"));
        }
        // Programs take a packet's length on trust, and one that failed is none of 0 bytes.
        let packet = matches!(request.carried.as_deref(), Some(Carried::Packet(_)));
        let fits = |len: u32| len as usize <= src_len.max(dst_len);
        if packet && answer.result.is_ok() && !answer.packet.is_some_and(fits) {
            return Err(Malformed::Number("length of a packet"));
        }
        scatter(&link.area, flight.dst.start, written, &mut request.dst);
        if is_secret(request.op) {
            link.area.clear(flight.src.clone());
            link.area.clear(flight.dst.clone());
        }
        if let (Ok(_), Some(Carried::Packet(packet))) =
            (&answer.result, request.carried.as_deref_mut())
        {
            packet.result = Ok(answer.packet.unwrap_or(0));
        }
        flight.work.finish(answer.result);
        if answer.result.is_err() {
            flight.work.fail_packets();
        }
        let Some(flight) = place.take() else { return Err(NONE) };
        probes::shared_received(&flight.work, flight.number);
        link.give_back(flight.piece);
        self.free.push(slot);
        self.flying -= 1;
        self.moved_ns = self.now_ns;
        self.patience.found(self.now_ns.saturating_sub(flight.since_ns));
        self.done.push_back(flight.work);
        Ok(())
    }

    /// After a sleep: whether the bell was rung, or the server has gone.
    fn listen(&mut self) {
        if !self.announced.replace(false) {
            return;
        }
        let Some(link) = &self.link else { return };
        link.client.stay_awake();
        if passing::hear(&link.socket) == Heard::End {
            // What it had answered is good.
            self.collect();
            self.lose_link();
        }
    }

    /// What had no room, or no server, may have now.
    fn retry(&mut self) {
        if let Some(work) = self.waiting.take() {
            self.accept(work);
        }
        if !self.parked.is_empty() && self.now_ns >= self.retry_ns {
            for _ in 0..self.parked.len() {
                if self.waiting.is_some() || (self.link.is_none() && self.now_ns < self.retry_ns) {
                    break;
                }
                let Some(work) = self.parked.pop_front() else { break };
                self.accept(work);
            }
        }
    }

    fn wake_server(&mut self) {
        if let Some(link) = &mut self.link {
            link.wake_server();
        }
    }
}

impl Channel for SharedChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        self.now_ns = now_ns;
        self.retry();
        let mut taken = 0;
        while self.waiting.is_none()
            && let Some(work) = batch.take()
        {
            taken += 1;
            self.accept(work);
        }
        self.wake_server();
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.now_ns = now_ns;
        self.listen();
        self.collect();
        if self.waiting.is_some() || !self.parked.is_empty() {
            self.retry();
            self.wake_server();
        }
        let n = self.done.len();
        done.append(&mut self.done);
        n
    }

    fn in_flight(&self) -> usize {
        self.flying + self.done.len() + self.parked.len() + usize::from(self.waiting.is_some())
    }

    fn wake(&self) -> Wake {
        if !self.done.is_empty() {
            return Wake::Now;
        }
        match &self.link {
            Some(link) if self.flying > 0 => {
                if self.now_ns.saturating_sub(self.moved_ns) < self.patience.look_ns() {
                    return Wake::Now;
                }
                self.announced.set(true);
                link.client.announce();
                if link.answers.looks_ready() { Wake::Now } else { Wake::Event }
            }
            _ if !self.parked.is_empty() => Wake::At(self.retry_ns),
            _ => Wake::Never,
        }
    }

    fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.event.as_fd())
    }

    fn reset(&mut self, done: &mut Completed) {
        self.collect();
        self.lose_link();
        let left = self.waiting.take().into_iter().chain(mem::take(&mut self.parked));
        for work in left.collect::<Vec<_>>() {
            self.hand_on(work, Declined::Reset);
        }
        done.append(&mut self.done);
    }
}

/// Whether the server gets what is in the destination: an operation that reads it, or leaves parts of it as
/// they are.
fn reads_destination(op: Op) -> bool {
    op == Op::Compare || op.service() == Service::Sym
}

/// Whether the bytes of a request are overwritten in the arena when it is done.
fn is_secret(op: Op) -> bool {
    matches!(op.service(), Service::Pke | Service::Kdf | Service::Sym | Service::Rng)
}

/// Copies all of a buffer into the arena.
fn gather(area: &Area, mut at: usize, from: &Buf) {
    for segment in from.segments() {
        let bytes = segment.as_slice().unwrap_or_default();
        area.write(at..at + bytes.len(), bytes);
        at += bytes.len();
    }
}

/// Copies so many bytes of the arena to the beginning of a buffer.
fn scatter(area: &Area, mut at: usize, mut bytes: usize, to: &mut Buf) {
    for segment in to.segments_mut() {
        let Some(segment) = segment.as_mut_slice() else { continue };
        let n = segment.len().min(bytes);
        area.read(at..at + n, &mut segment[..n]);
        (at, bytes) = (at + n, bytes - n);
    }
}
