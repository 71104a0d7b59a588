//! The route table: which devices execute an operation, in order. Resolved once, at start.

use std::sync::Arc;

use lookaside_core::{Device, Op, Prepared, Session, SetupError, Work};

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

/// The largest batch, whatever a device calls best.
const MOST_LANES: usize = 1024;

/// What the scheduler looks up.
pub(crate) struct Routes {
    table: Vec<Vec<(u16, usize)>>,
    best_batch: Vec<Vec<usize>>,
    /// The same, for people.
    pub(crate) printable: Vec<Route>,
}

impl Routes {
    /// The given routes; for the other operations, every capable device in the order given.
    pub(crate) fn resolve(
        devices: &[Arc<dyn Device>],
        given: &[Route],
    ) -> Result<Routes, SetupError> {
        let mut routes =
            Routes { table: Vec::new(), best_batch: Vec::new(), printable: Vec::new() };
        for device in devices {
            let best = |op: Op| device.best_batch(op).min(MOST_LANES);
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

    /// The device for a request of this size.
    pub(crate) fn first(&self, op: Op, session: &Session, src_len: usize) -> Option<u16> {
        let row = &self.table[op.index()];
        let able = |d: u16| matches!(session.prepared.get(usize::from(d)), Some(Some(_)));
        let fits = row.iter().find(|&&(d, min)| src_len >= min && able(d));
        // Below every threshold, the last resort is the last that can do it at all.
        fits.or_else(|| row.iter().rev().find(|&&(d, _)| able(d))).map(|&(d, _)| d)
    }

    /// The device to turn to when `failed` did not do it.
    pub(crate) fn next(&self, op: Op, session: &Session, failed: u16) -> Option<u16> {
        let row = &self.table[op.index()];
        // Behind its last entry: a device may have two (small sources and large ones), and a
        // request that all have failed must come to an end.
        let behind = row.iter().rposition(|&(d, _)| d == failed)? + 1;
        let able = |d: u16| matches!(session.prepared.get(usize::from(d)), Some(Some(_)));
        row[behind..].iter().find(|&&(d, _)| able(d)).map(|&(d, _)| d)
    }

    /// How many requests like this one side by side suit the device.
    pub(crate) fn best_batch(&self, device: u16, work: &Work) -> usize {
        let device = usize::from(device);
        let request = work.request();
        let own = request.session.prepared.get(device).and_then(Option::as_ref);
        let own = own.and_then(Prepared::own_best_batch).map(|n| n.min(MOST_LANES));
        own.unwrap_or(self.best_batch[device][request.op.index()]).max(1)
    }
}
