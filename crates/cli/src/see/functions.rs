//! The virtual functions of a server in `lookaside top`.

use std::{fmt::Write as _, path::PathBuf};

use lookaside_server::{Listed, Served, Stat};
use serde_json::Value;

use super::screen::{cut, number};
use crate::{
    stat::{self, Rates},
    vf,
};

/// A server that is asked whenever the processes are read.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    before: Option<Stat>,
    now: Result<Stat, String>,
}

const NAME: usize = 16;

impl Server {
    /// The server whose sockets lie in `folder`; it was not asked yet.
    pub(crate) fn new(folder: PathBuf) -> Server {
        Server { folder, before: None, now: Err(String::new()) }
    }

    /// Asks it. That nobody answers is said by the rows: one may come later.
    pub(crate) fn read(&mut self) {
        let now = lookaside_server::stat(&self.folder).map_err(|e| e.to_string());
        let before = std::mem::replace(&mut self.now, now).ok();
        // One that was started again has begun anew.
        let same = |before: &Stat| self.now.as_ref().is_ok_and(|now| now.process == before.process);
        self.before = before.filter(same);
    }

    fn rates<'s>(&'s self, now: &Stat) -> Option<Rates<'s>> {
        self.before.as_ref().map(|before| Rates::new(before, now))
    }

    /// As of `lookaside stat --json`; null if nobody answers.
    pub(crate) fn json(&self) -> Value {
        let Ok(now) = &self.now else { return Value::Null };
        let rates = self.rates(now);
        now.functions.iter().map(|one| stat::function(one, rates.as_ref())).collect()
    }

    /// The line of heads, and the rows, each with whether it tells of errors. A
    /// function has a row for each service that it had requests of, or one if it had none.
    pub(crate) fn rows(&self) -> (String, Vec<(String, bool)>) {
        let now = match &self.now {
            Ok(now) => now,
            Err(why) => return ("virtual functions".into(), vec![(why.clone(), true)]),
        };
        let rates = self.rates(now);
        let per = if rates.is_some() { "/s" } else { "" };
        let heads = ["REQ", "IN", "OUT"].map(|head| format!("{:>6}", format!("{head}{per}")));
        let heads = heads.join(" ");
        let head = format!(
            "{:NAME$} SVC  {heads}  QUEUE CLIENT    ERR REFUSE PROMISED",
            "VIRTUAL FUNCTION"
        );
        let rows = now.functions.iter().flat_map(|one| of_function(one, rates.as_ref()));
        (head, rows.collect())
    }
}

fn of_function(one: &Listed, rates: Option<&Rates<'_>>) -> Vec<(String, bool)> {
    let mut served: Vec<_> = one.served.iter().filter(|it| it.1.requests > 0).collect();
    if served.is_empty() {
        served.extend(one.served.first());
    }
    let mut rows = Vec::new();
    for (n, (service, all)) in served.into_iter().enumerate() {
        let Served { requests, errors, src_bytes, dst_bytes } = *all;
        let sums = [(0, requests), (2, src_bytes), (3, dst_bytes)];
        let values = sums.map(|(row, sum)| match rates {
            Some(rates) => rates.of(one, service.name(), row),
            None => sum as f64,
        });
        let name = if n == 0 { one.config.name.as_str() } else { "" };
        let mut text = format!("{} {:<4}", cut(name, NAME), service.name());
        for value in values {
            let _ = write!(text, " {:>6}", number(value));
        }
        let errors = number(errors as f64);
        if n == 0 {
            let held = one.held;
            let [queue, clients] = [held.queue, held.clients].map(|n| number(n as f64));
            let refused = number((held.refused + held.cut_off) as f64);
            let _ =
                write!(text, " {queue:>6} {clients:>6} {errors:>6} {refused:>6} {}", promised(one));
        } else {
            let _ = write!(text, " {:>6} {:>6} {errors:>6}", "", "");
        }
        rows.push((text, all.errors > 0));
    }
    rows
}

/// `5000 RSA/s, at most 8000 RSA/s`; without rates its weight.
fn promised(one: &Listed) -> String {
    match (&*vf::listed(&one.config.committed), &*vf::listed(&one.config.peak)) {
        ("", "") => format!("weight {}", one.config.weight),
        (committed, "") => committed.to_owned(),
        ("", peak) => format!("at most {peak}"),
        (committed, peak) => format!("{committed}, at most {peak}"),
    }
}
