//! The route table: which devices execute an operation, in order. Resolved once, at start.

use std::sync::Arc;

use lookaside_core::{Device, Limits, Op, Prepared, Reach, Request, SetupError, Work};

/// One way for an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The device's name.
    pub device: String,
    /// Smaller sources go to a later entry: they are not worth the way to this device.
    pub min_bytes: usize,
    /// Why this entry is here, for people.
    pub why: String,
}

/// The entries of one operation, in order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The operation.
    pub op: Op,
    /// Its entries. A request goes to the first whose threshold it reaches and whose device
    /// supports its session; when that device fails, to the next one that supports it.
    pub entries: Vec<RouteEntry>,
}

/// What the scheduler looks up.
pub(crate) struct Routes {
    table: Vec<Vec<(u16, usize)>>,
    best_batch: Vec<Vec<usize>>,
    limits: Vec<Limits>,
    /// Whether some device does not reach all memory.
    short: bool,
    batch_deadline_ns: u64,
    /// The same, for people.
    pub(crate) printable: Vec<Route>,
}

impl Routes {
    /// The given routes; for the other operations, every capable device in the order given.
    pub(crate) fn resolve(
        devices: &[Arc<dyn Device>],
        given: &[Route],
        batch_deadline_ns: u64,
    ) -> Result<Routes, SetupError> {
        let mut routes = Routes {
            table: Vec::new(),
            best_batch: Vec::new(),
            limits: devices.iter().map(|d| d.limits()).collect(),
            short: devices.iter().any(|d| d.limits().reach != Reach::Process),
            batch_deadline_ns,
            printable: Vec::new(),
        };
        for (device, limits) in devices.iter().zip(&routes.limits) {
            let best = |op: Op| device.best_batch(op).min(limits.max_batch);
            routes.best_batch.push(Op::ALL.into_iter().map(best).collect());
        }
        for op in Op::ALL {
            let entries = match given.iter().rev().find(|r| r.op == op) {
                Some(route) => route.entries.clone(),
                None => routes.capable(devices, op),
            };
            let mut row = Vec::new();
            for e in &entries {
                let position = devices.iter().position(|d| d.name() == e.device);
                let Some(device) = position else {
                    return Err(SetupError::Unknown { what: "device", name: e.device.clone() });
                };
                if routes.best_batch[device][op.index()] == 0 {
                    let device = e.device.clone();
                    let what = "the device does not have this operation";
                    return Err(SetupError::Unsupported { device, op, what });
                }
                row.push((device as u16, e.min_bytes));
            }
            routes.table.push(row);
            if !entries.is_empty() {
                routes.printable.push(Route { op, entries });
            }
        }
        Ok(routes)
    }

    fn capable(&self, devices: &[Arc<dyn Device>], op: Op) -> Vec<RouteEntry> {
        let able = devices.iter().zip(&self.best_batch).filter(|(_, b)| b[op.index()] > 0);
        able.enumerate()
            .map(|(i, (d, _))| RouteEntry {
                device: d.name().to_owned(),
                min_bytes: 0,
                why: match i {
                    0 => "default: the first device given that has the operation".to_owned(),
                    _ => "default: takes over when the ones before fail".to_owned(),
                },
            })
            .collect()
    }

    /// What the runtime must heed in its dealings with a device.
    pub(crate) fn limits(&self, device: usize) -> Limits {
        self.limits[device]
    }

    /// How long a request waits for others to fill a batch for this device.
    pub(crate) fn batch_deadline_ns(&self, device: u16) -> u64 {
        self.limits[usize::from(device)].batch_deadline_ns.unwrap_or(self.batch_deadline_ns)
    }

    /// The device for a request; `None` where no device can execute it.
    #[inline(always)]
    pub(crate) fn first(&self, request: &Request) -> Option<u16> {
        let session = &*request.session;
        if !session.ops.contains(&request.op) {
            return None;
        }
        if request.is_bound() {
            return self.bound(request);
        }
        // As a rule the first one, without a threshold.
        match self.table[request.op.index()][..] {
            [(d, 0), ..] if !self.short && is_prepared(request, d) => Some(d),
            _ => self.search(request),
        }
    }

    fn search(&self, request: &Request) -> Option<u16> {
        let (row, src_len) = (&self.table[request.op.index()], request.size());
        let able = |d: u16| is_prepared(request, d) && self.reaches(d, request);
        let fits = row.iter().find(|&&(d, min)| src_len >= min && able(d));
        // Below every threshold, the last resort is the last that can do it at all.
        fits.or_else(|| row.iter().rev().find(|&&(d, _)| able(d))).map(|&(d, _)| d)
    }

    /// The one device that holds the request's state, whatever the size of this piece: the first of
    /// the route, for a stream; for a message in pieces, the one that began it.
    #[cold]
    fn bound(&self, request: &Request) -> Option<u16> {
        let prepared = &request.session.prepared;
        if request.session.order.is_none() {
            let began = |p: &Option<Prepared>| p.as_ref().is_some_and(|p| p.immediate().is_some());
            return prepared.iter().position(began).map(|d| d as u16);
        }
        self.table[request.op.index()].iter().map(|&(d, _)| d).find(|&d| is_prepared(request, d))
    }

    /// Whether a device reaches the memory of a request.
    fn reaches(&self, device: u16, request: &Request) -> bool {
        match self.limits[usize::from(device)].reach {
            Reach::Process => true,
            Reach::Regions => request.is_in_regions(),
        }
    }

    /// The device to turn to when `failed` did not do it.
    pub(crate) fn next(&self, request: &Request, failed: u16) -> Option<u16> {
        let row = &self.table[request.op.index()];
        // Behind its last entry: a device may have two (small sources and large ones), and a
        // request that all have failed must come to an end.
        let behind = row.iter().rposition(|&(d, _)| d == failed)? + 1;
        let able = |d: u16| is_prepared(request, d) && self.reaches(d, request);
        row[behind..].iter().find(|&&(d, _)| able(d)).map(|&(d, _)| d)
    }

    /// How many requests like this one side by side suit the device.
    pub(crate) fn best_batch(&self, device: u16, work: &Work) -> usize {
        let device = usize::from(device);
        let request = work.request();
        let own = request.session.prepared.get(device).and_then(Option::as_ref);
        let own = own.and_then(Prepared::own_best_batch);
        let own = own.map(|n| n.min(self.limits[device].max_batch));
        own.unwrap_or(self.best_batch[device][request.op.index()]).max(1)
    }
}

/// Whether a device has prepared the request's session.
#[inline]
fn is_prepared(request: &Request, device: u16) -> bool {
    matches!(request.session.prepared.get(usize::from(device)), Some(Some(_)))
}
