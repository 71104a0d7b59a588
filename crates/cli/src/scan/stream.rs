//! A text that is scanned in pieces, one request after the other.

use std::{collections::VecDeque, sync::Arc};

use lookaside::{Buf, Done, Instance, Match, OpError, Response, Scanner, Status};

use super::report::Report;

/// Matches that a request has room for.
const ROOM: usize = 4096;

/// What requests need.
pub(crate) struct Device<'a> {
    /// The patterns.
    pub scanner: &'a Scanner,
    /// The rings.
    pub instance: Instance,
    /// Memory for matches that no request has.
    pub records: Vec<Vec<u8>>,
}

/// A piece of a text.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Its bytes.
    pub data: Vec<u8>,
    /// It is the stream's last piece.
    pub last: bool,
}

/// A text that is scanned.
pub(crate) struct Stream {
    /// What is printed.
    pub report: Report,
    /// Pieces that wait.
    pub pieces: VecDeque<Piece>,
    /// Where texts begin that follow the one which ends: bytes are missing before.
    pub beginnings: VecDeque<u64>,
    /// The state; `None` before the stream begins, and while a request has it.
    flow: Option<Vec<u8>>,
    /// The piece that is scanned.
    current: Option<(Arc<Vec<u8>>, bool)>,
    /// How much of it is done.
    done: usize,
    /// Offset of the piece in its text.
    base: u64,
    /// Offset of the text's first byte: added to what is printed.
    first: u64,
    in_flight: bool,
    /// Why there is no result.
    pub failed: Option<String>,
}

impl Stream {
    pub(crate) fn new(report: Report) -> Stream {
        Stream {
            report,
            pieces: VecDeque::new(),
            beginnings: VecDeque::new(),
            flow: None,
            current: None,
            done: 0,
            base: 0,
            first: 0,
            in_flight: false,
            failed: None,
        }
    }

    /// Whether a request is at the device.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// Whether there is something to submit.
    pub(crate) fn is_ready(&self) -> bool {
        !self.in_flight && (self.current.is_some() || !self.pieces.is_empty())
    }

    /// Forgets what waits.
    pub(crate) fn stop(&mut self) {
        self.pieces.clear();
        self.current = None;
        self.flow = None;
    }

    /// Submits the next request, if there is one and room for it. Whether it did.
    pub(crate) fn submit(&mut self, device: &mut Device<'_>, tag: u64) -> bool {
        let Device { scanner, instance, records } = device;
        if !self.is_ready() || instance.free() == 0 {
            return false;
        }
        if self.current.is_none() {
            let Some(Piece { data, last }) = self.pieces.pop_front() else { return false };
            self.current = Some((Arc::new(data), last));
            self.done = 0;
        }
        let Some((data, last)) = &self.current else { return false };
        let flow = match self.flow.take().map_or_else(|| scanner.flow(), Ok) {
            Ok(flow) => flow,
            Err(e) => {
                self.failed = Some(e.to_string());
                return false;
            }
        };
        let src = Buf::shared(data.clone(), self.done..data.len());
        let dst = records.pop().unwrap_or_else(|| vec![0; ROOM * Match::RECORD]).into();
        let pushed = instance.push(scanner.scan_piece(flow, src, dst, *last).tag(tag));
        self.in_flight = pushed.is_ok();
        if let Err(full) = pushed {
            self.failed = Some(full.to_string());
        }
        self.in_flight
    }

    /// Takes an answer.
    pub(crate) fn answer(
        &mut self,
        device: &mut Device<'_>,
        mut response: Response,
        out: &mut Vec<u8>,
    ) {
        self.in_flight = false;
        self.flow = response.take_flow();
        let records = std::mem::take(&mut response.dst).into_vec();
        drop(response.src);
        self.take(response.result, &records, out);
        device.records.push(records);
    }

    fn take(&mut self, result: Result<Done, OpError>, records: &[u8], out: &mut Vec<u8>) {
        let Some((data, last)) = &self.current else { return };
        let Done { consumed, produced, status, .. } = match result {
            Ok(done) => done,
            Err(e) => {
                self.failed = Some(e.to_string());
                return self.stop();
            }
        };
        // What the text is without the bytes before it.
        let base = self.first + self.base;
        for mut found in Match::of_records(&records[..produced]) {
            found.end += self.first;
            found.start += self.first;
            self.report.found(found, data, base, out);
        }
        self.done += consumed;
        if status == Status::Overflow {
            return;
        }
        self.report.end_of_piece(data, base, *last, out);
        self.base += data.len() as u64;
        if *last {
            self.flow = None;
            self.base = 0;
            self.report.cut(out);
            self.first = self.beginnings.pop_front().unwrap_or(0);
        }
        self.current = None;
    }
}
