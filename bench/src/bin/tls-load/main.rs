//! A cheap and strict TLS client load, for measuring servers: one thread, many connections.
//!
//! Every handshake is checked to be a full one in the version asked for, with the server's
//! signature verified, and every connection has to end with the whole answer to one HTTP request.
//! `--cut` cuts some connections in mid-handshake instead. `tls-load --help` tells the options.
#![deny(unsafe_code)]

mod connection;
mod options;
mod report;

use std::{process::ExitCode, sync::Arc};

use connection::{Connection, Cut, Progress};
use lookaside_bench::{cpu_ns, wall_ns};
use options::Options;
use report::Report;
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    fd::OwnedFd,
};
use rustls::ClientConfig;

/// The connections under way.
struct Load {
    options: Options,
    config: Arc<ClientConfig>,
    epoll: OwnedFd,
    /// A place for each, the epoll data being its number.
    places: Vec<Option<Connection>>,
    started: u64,
    /// Of a generator of pseudo-random numbers, for the times of the cuts.
    seed: u64,
    report: Report,
}

impl Load {
    /// What happens to the next connection: of those to be cut, each way in turn.
    fn plan(&mut self) -> Option<Cut> {
        self.started += 1;
        let nth = self.started.checked_div(self.options.cut)?;
        if !self.started.is_multiple_of(self.options.cut) {
            return None;
        }
        // xorshift64.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let (after_flight, reset) = (nth % 2 == 0, nth % 4 < 2);
        // A quarter of them at once; the others while the server works on them, or has them
        // waiting: within the time that a handshake took last.
        let took_ns = self.report.handshake_ns.last().copied().unwrap_or(3_000_000).max(1);
        let delay_ns = if nth % 16 < 4 { 0 } else { self.seed % took_ns };
        Some(Cut { after_flight, reset, delay_ns })
    }

    fn start(&mut self, place: usize) -> std::io::Result<()> {
        let cut = self.plan();
        let connection = Connection::start(self.options.address, &self.config, cut)?;
        // Edge-triggered: `drive` goes on until the socket would block.
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(place as u64);
        epoll::add(&self.epoll, &connection.stream, data, flags)?;
        self.places[place] = Some(connection);
        Ok(())
    }

    /// Drives the connection there; frees the place when it is over.
    fn drive(&mut self, place: usize, now: u64) {
        // An event may come for one that ended in the same turn.
        let Some(connection) = &mut self.places[place] else { return };
        match connection.drive(self.options.version) {
            Progress::Waiting => {
                if connection.cut_ns.is_some_and(|at| at <= now) {
                    self.cut(place);
                }
            }
            Progress::Answered => {
                let end = wall_ns();
                let began = connection.began_ns;
                self.report.agreed(&connection.tls);
                self.report.handshake_ns.push(connection.handshake_ns.unwrap_or(end) - began);
                self.report.answer_ns.push(end - began);
                self.places[place] = None;
            }
            Progress::Failed(why) => {
                self.report.failed(why);
                self.places[place] = None;
            }
        }
    }

    fn cut(&mut self, place: usize) {
        if let Some(connection) = self.places[place].take() {
            self.report.cut += 1;
            self.report.reset_at_work += u64::from(connection.cut());
        }
    }

    /// Cuts those whose time has come, fails those that take too long, and says when to look again.
    fn timers(&mut self, now: u64) -> u64 {
        let mut next = now + 100_000_000;
        for place in 0..self.places.len() {
            let Some(connection) = &self.places[place] else { continue };
            match connection.cut_ns {
                Some(at) if at <= now => self.cut(place),
                Some(at) => next = next.min(at),
                None if now - connection.began_ns > self.options.limit_ns => {
                    self.report.failed("no answer in time".to_owned());
                    self.places[place] = None;
                }
                None => {}
            }
        }
        next
    }

    fn run(&mut self) -> std::io::Result<()> {
        let end = wall_ns() + (self.options.seconds * 1e9) as u64;
        let mut events = Vec::with_capacity(1024);
        loop {
            let now = wall_ns();
            let next = self.timers(now);
            if now < end {
                for place in 0..self.places.len() {
                    // A server that refuses at once would keep this busy for ever: once per turn.
                    if self.places[place].is_none() {
                        match self.start(place) {
                            Ok(()) => self.drive(place, now),
                            Err(error) => self.report.failed(error.to_string()),
                        }
                    }
                }
            } else if self.places.iter().all(Option::is_none) {
                return Ok(());
            }
            let wait_ns = if self.places.iter().any(Option::is_none) && now < end {
                0
            } else {
                (next - now).cast_signed()
            };
            let wait = Timespec { tv_sec: 0, tv_nsec: wait_ns };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let now = wall_ns();
            for event in &events {
                self.drive(event.data.u64() as usize, now);
            }
        }
    }
}

fn main() -> ExitCode {
    let run = || -> Result<Report, String> {
        let options = Options::read()?;
        let config = Arc::new(options.client()?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| e.to_string())?;
        let places = (0..options.connections).map(|_| None).collect();
        let (started, seed) = (0, 0x9e37_79b9_7f4a_7c15);
        let report = Report::default();
        let mut load = Load { options, config, epoll, places, started, seed, report };
        load.run().map_err(|error| error.to_string())?;
        Ok(load.report)
    };
    let (wall, cpu) = (wall_ns(), cpu_ns());
    match run() {
        Ok(report) => {
            println!(
                "{}",
                report.json((wall_ns() - wall) as f64 / 1e9, (cpu_ns() - cpu) as f64 / 1e9)
            );
            ExitCode::from(u8::from(report.errors > 0))
        }
        Err(why) => {
            eprintln!("tls-load: {why}");
            ExitCode::from(2)
        }
    }
}
