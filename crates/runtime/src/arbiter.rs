//! Which tenant is served next: commitments first, then weighted round robin among all whose peak rates
//! allow it; background tenants behind them.
//!
//! Commitments are served by the earliest deadline: the time at which the committed rate would have
//! served the request, had it no others beside it (virtual clock, L. Zhang, 1990). While all commitments
//! together fit the engines, a request of a tenant within its promise waits for what its own rate takes
//! and for one request that runs already, whatever the others send.
//!
//! Weighted round robin is deficit round robin (M. Shreedhar and G. Varghese, 1995): a tenant on its turn
//! earns its weight in device time and is served while it can pay, so weights hold for any mix of
//! services, sizes and contents. A request is paid for by its estimate ([`lookaside_core::Costs`]); once
//! it has run, the difference to the time that it took is settled ([`Share::settle`]): a tenant may go
//! into debt. The instances of a tenant have turns, one request each.
//!
//! A tenant whose ring runs dry for a moment, since the system runs its client's thread late, is no guest who has left:
//! what it would have earned meanwhile are its arrears, and it earns twice as much until it has caught up. In round robin
//! without that, tenants with short requests lose what their weights say to those with long ones, whose rings hold more
//! device time. Nobody is overtaken by more than its weight says, and who stays away has no arrears.

use std::sync::Arc;

use crate::sla::{Cost, Due, LEAST_NS, MOST_NS, Priority, Terms};

/// What weight 1 earns in one turn, in nanoseconds: the least that a request costs. So even the largest
/// weight's turn, 64 us, is over before a rate-limited tenant has lost tokens. Rounds in which nobody
/// can pay are skipped, so long requests cost no extra time here.
const QUANTUM: i64 = LEAST_NS;

/// For how long a tenant without a request is one whose client is late; after that it has left.
const LATE_NS: u64 = 200_000_000;

/// The most device time that a tenant catches up with.
const MOST_ARREARS: i64 = 100_000_000;

/// Commitments have so many times the device time of those behind them, and these so many times that of
/// background tenants, as long as all have requests: those behind are slowed down, but nobody starves.
const RUN: i64 = 16;

/// The device time that is left to those in front before those behind have a turn. Picks are not counted:
/// a request behind may take a thousand times as long as one in front.
struct Lead(i64);

impl Default for Lead {
    /// Those in front begin.
    fn default() -> Lead {
        Lead(1)
    }
}

impl Lead {
    fn is_in_front(&self) -> bool {
        self.0 > 0
    }

    /// Those in front were given so many nanoseconds.
    fn front(&mut self, ns: i64) {
        self.0 = self.0.saturating_sub(ns);
    }

    /// Those behind were.
    fn behind(&mut self, ns: i64) {
        let earned = RUN * ns.min(MOST_NS);
        self.0 =
            if self.is_in_front() { self.0.max(earned) } else { self.0.saturating_add(earned) };
    }
}

/// The arbiter's view of one tenant.
pub(crate) struct Share {
    pub(crate) terms: Arc<Terms>,
    /// What it may spend, in nanoseconds; below 0, what it owes.
    deficit: i64,
    /// What it did not earn while its ring was dry.
    arrears: i64,
    /// Since when it has had no request; `None`: it has one.
    dry_ns: Option<u64>,
    /// Its instances, and whose turn it is among them.
    lanes: Vec<usize>,
    turn: usize,
}

/// Where requests wait: the lanes of instances.
pub(crate) trait Lanes {
    /// The next request of a lane, if it has one.
    fn head(&mut self, lane: usize, now: u64) -> Option<Head>;
}

/// The next request of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) cost: Cost,
    /// It will not run: its instance is closing, it was cancelled or came too late. It is let out
    /// whatever the rates.
    pub(crate) over: bool,
    /// When that will be so at the latest.
    pub(crate) until_ns: u64,
    /// When it was pushed.
    pub(crate) pushed_ns: u64,
}

impl Share {
    pub(crate) fn new(terms: Arc<Terms>) -> Share {
        let (deficit, arrears, dry_ns) = (0, 0, None);
        Share { terms, deficit, arrears, dry_ns, lanes: Vec::new(), turn: 0 }
    }

    /// An instance of this tenant opens.
    pub(crate) fn add(&mut self, lane: usize) {
        self.lanes.push(lane);
    }

    /// An instance of this tenant has gone. Returns whether it was the last.
    pub(crate) fn remove(&mut self, lane: usize) -> bool {
        self.lanes.retain(|&l| l != lane);
        self.lanes.is_empty()
    }

    /// What it earns in one turn.
    fn earns(&self) -> i64 {
        i64::from(self.terms.weight) * QUANTUM
    }

    /// It has a request that may be served, and earns in so many turns.
    fn earn(&mut self, turns: i64) {
        self.dry_ns = None;
        let earned = turns.saturating_mul(self.earns());
        let caught_up = earned.min(self.arrears);
        self.arrears -= caught_up;
        self.deficit = self.deficit.saturating_add(earned).saturating_add(caught_up);
    }

    /// How many turns it takes to earn so much.
    fn turns(&self, ns: i64) -> i64 {
        let up =
            |ns: i64, each: i64| ns.cast_unsigned().div_ceil(each.cast_unsigned()).cast_signed();
        let twice = up(ns, 2 * self.earns());
        match twice.saturating_mul(self.earns()) <= self.arrears {
            true => twice,
            false => up((ns - self.arrears).max(0), self.earns()).max(twice),
        }
    }

    /// It has nothing that may be served in so many turns. It saves nothing up, and pays off what it owes; but what it
    /// would have earned is kept where its client is late.
    fn pass(&mut self, turns: i64, now: u64, lanes: &mut impl Lanes) {
        let earned = self.deficit.saturating_add(turns.saturating_mul(self.earns()));
        self.deficit = earned.min(0);
        // Who is held back by its peak rate is not late.
        if self.terms.has_peak() && self.lanes.iter().any(|&lane| lanes.head(lane, now).is_some()) {
            return;
        }
        let since = *self.dry_ns.get_or_insert(now);
        self.arrears = match now.saturating_sub(since) < LATE_NS {
            true => self.arrears.saturating_add(earned.max(0)).min(MOST_ARREARS),
            false => 0,
        };
    }

    /// A request that was charged less than it took, or more: the difference in nanoseconds.
    pub(crate) fn settle(&mut self, more_ns: i64) {
        self.deficit = self.deficit.saturating_sub(more_ns).clamp(-MOST_NS, MOST_NS);
    }

    /// Charges a request that goes in a batch with one that was picked; the share and its commitment may go
    /// into debt: one at a time, requests of a batched class would take several times the device time.
    /// Returns whether it may go: a peak rate that counts operations or bytes may be against it.
    pub(crate) fn credit(&mut self, now: u64, cost: &Cost, committed: bool) -> bool {
        let may_go = self.terms.lets_along(cost, now);
        match committed {
            _ if !may_go => {}
            true => self.terms.pay_ahead(cost, now),
            false => self.charge(now, cost),
        }
        may_go
    }

    /// Charges a request, whatever it has; the share may go into debt.
    pub(crate) fn charge(&mut self, now: u64, cost: &Cost) {
        self.settle(cost.ns);
        self.terms.pay(cost, now);
    }

    /// The first request, from the lane on whose turn it is, that may be served now.
    fn allowed(&mut self, now: u64, lanes: &mut impl Lanes) -> Option<(usize, Head)> {
        self.find(now, lanes, |head, terms| terms.allows(&head.cost, now))
    }

    fn find(
        &mut self,
        now: u64,
        lanes: &mut impl Lanes,
        mut may: impl FnMut(&Head, &Terms) -> bool,
    ) -> Option<(usize, Head)> {
        let n = self.lanes.len();
        (0..n).find_map(|k| {
            let at = (self.turn + k) % n;
            let head = lanes.head(self.lanes[at], now)?;
            (head.over || may(&head, &self.terms)).then(|| {
                self.turn = at;
                (self.lanes[at], head)
            })
        })
    }

    /// A request of the lane on whose turn it was is served.
    fn pass_on(&mut self) {
        self.turn = (self.turn + 1) % self.lanes.len().max(1);
    }
}

/// A row of tenants that are served in turn.
#[derive(Default)]
struct Round {
    turn: usize,
    /// The one whose turn it is has earned its weight in this turn.
    earned: bool,
}

/// Picks by commitment and weight.
#[derive(Default)]
pub(crate) struct Arbiter {
    /// How many shares have a commitment, and how many are in the background; none is the usual case.
    commitments: usize,
    backgrounds: usize,
    committed_turn: usize,
    normal: Round,
    background: Round,
    /// Of commitments before all others, and of these before background tenants.
    committed_lead: Lead,
    normal_lead: Lead,
}

type Shares = [Option<Share>];

impl Arbiter {
    /// A share comes.
    pub(crate) fn enter(&mut self, terms: &Terms) {
        self.commitments += usize::from(terms.is_committed());
        self.backgrounds += usize::from(terms.priority == Priority::Background);
    }

    /// A share has gone.
    pub(crate) fn leave(&mut self, terms: &Terms) {
        self.commitments -= usize::from(terms.is_committed());
        self.backgrounds -= usize::from(terms.priority == Priority::Background);
    }

    /// The request that is to be served next.
    pub(crate) fn pick(
        &mut self,
        now: u64,
        shares: &mut Shares,
        lanes: &mut impl Lanes,
    ) -> Option<Pick> {
        if self.commitments > 0
            && self.committed_lead.is_in_front()
            && let Some(pick) = self.pick_committed(now, shares, lanes)
        {
            return Some(pick);
        }
        if self.backgrounds == 0 {
            let pick = self.normal.pick(now, shares, lanes, false)?;
            self.account(&pick, pick.charged_ns, false);
            return Some(pick);
        }
        let background_first = !self.normal_lead.is_in_front();
        [background_first, !background_first].into_iter().find_map(|background| {
            let round = if background { &mut self.background } else { &mut self.normal };
            let pick = round.pick(now, shares, lanes, background)?;
            self.account(&pick, pick.charged_ns, background);
            Some(pick)
        })
    }

    /// Device time was given to who was picked, in the `background` or not.
    pub(crate) fn account(&mut self, pick: &Pick, ns: u64, background: bool) {
        let ns = ns.min(MOST_NS.cast_unsigned()).cast_signed();
        if pick.committed {
            return self.committed_lead.front(ns);
        }
        self.committed_lead.behind(ns);
        match background {
            true => self.normal_lead.behind(ns),
            false => self.normal_lead.front(ns),
        }
    }

    /// When a request that is held back by its peak rate may be served.
    pub(crate) fn next_allowed_ns(
        now: u64,
        shares: &mut Shares,
        lanes: &mut impl Lanes,
    ) -> Option<u64> {
        next_ns(now, shares, lanes, |terms, cost| terms.allows_at(cost))
    }

    /// When a request of a tenant with a commitment may be served by that.
    pub(crate) fn next_committed_ns(
        now: u64,
        shares: &mut Shares,
        lanes: &mut impl Lanes,
    ) -> Option<u64> {
        next_ns(now, shares, lanes, |terms, cost| terms.commits_at(cost))
    }

    /// The request that is to be served next by a commitment.
    pub(crate) fn pick_committed(
        &mut self,
        now: u64,
        shares: &mut Shares,
        lanes: &mut impl Lanes,
    ) -> Option<Pick> {
        let n = shares.len();
        let mut first: Option<(Due, usize, usize, Cost)> = None;
        for i in (0..n).map(|k| (self.committed_turn + k) % n) {
            let Some(share) = shares[i].as_mut().filter(|s| s.terms.is_committed()) else {
                continue;
            };
            let mut due = Due::At(0);
            let found = share.find(now, lanes, |head, terms| {
                let at = terms.due(&head.cost, head.pushed_ns, now);
                at.inspect(|&at| due = at).is_some()
            });
            // What is over is let out at once; of equals, the one whose turn it is.
            if let Some((lane, Head { cost, over, .. })) = found
                && (over || first.is_none_or(|(before, ..)| due < before))
            {
                first = Some((due, i, lane, cost));
                if over {
                    share.pass_on();
                    return Some(Pick { share: i, lane, charged_ns: 0, committed: true });
                }
            }
        }
        let (due, i, lane, cost) = first?;
        if let Some(share) = shares[i].as_mut() {
            share.terms.pay_due(&cost, due, now);
            share.pass_on();
        }
        self.committed_turn = (i + 1) % n;
        let charged_ns = cost.ns.cast_unsigned();
        let pick = Pick { share: i, lane, charged_ns, committed: true };
        self.account(&pick, charged_ns, false);
        Some(pick)
    }
}

fn next_ns(
    now: u64,
    shares: &mut Shares,
    lanes: &mut impl Lanes,
    at: impl Fn(&Terms, &Cost) -> Option<u64>,
) -> Option<u64> {
    let limited = shares.iter().flatten().filter(|s| s.terms.has_rates() || s.terms.is_committed());
    let heads = limited.flat_map(|s| s.lanes.iter().map(move |&lane| (&s.terms, lane)));
    let time = |(terms, lane): (&Arc<Terms>, usize)| {
        let head = lanes.head(lane, now)?;
        Some(at(terms, &head.cost)?.min(head.until_ns))
    };
    heads.filter_map(time).min()
}

impl Round {
    fn pick(
        &mut self,
        now: u64,
        shares: &mut Shares,
        lanes: &mut impl Lanes,
        background: bool,
    ) -> Option<Pick> {
        let n = shares.len();
        let is_here = |s: &Share| (s.terms.priority == Priority::Background) == background;
        loop {
            // Once around; in the end, how many more rounds the first one that can pay needs.
            let mut rounds = i64::MAX;
            for _ in 0..n {
                let i = self.turn % n;
                if let Some(share) = shares[i].as_mut().filter(|s| is_here(s)) {
                    let allowed = share.allowed(now, lanes);
                    let turns = i64::from(!core::mem::replace(&mut self.earned, true));
                    match allowed {
                        Some(_) => share.earn(turns),
                        None => share.pass(turns, now, lanes),
                    }
                    match allowed {
                        Some((lane, Head { over: true, .. })) => {
                            share.pass_on();
                            return Some(Pick { share: i, lane, charged_ns: 0, committed: false });
                        }
                        Some((lane, Head { cost, .. })) if share.deficit >= cost.ns => {
                            share.charge(now, &cost);
                            share.pass_on();
                            let charged_ns = cost.ns.cast_unsigned();
                            return Some(Pick { share: i, lane, charged_ns, committed: false });
                        }
                        Some((_, Head { cost, .. })) => {
                            rounds = rounds.min(share.turns(cost.ns - share.deficit));
                        }
                        None => {}
                    }
                }
                self.turn = (i + 1) % n;
                self.earned = false;
            }
            if rounds == i64::MAX {
                return None;
            }
            // Nobody can pay before `rounds` more: let them pass at once.
            for share in shares.iter_mut().flatten().filter(|s| is_here(s)) {
                // One who arrived meanwhile was not reckoned with: it saves up for its next request,
                // and no more.
                match share.allowed(now, lanes) {
                    Some((_, head)) => {
                        share.earn(rounds - 1);
                        share.deficit = share.deficit.min(head.cost.ns);
                    }
                    None => share.pass(rounds - 1, now, lanes),
                }
            }
        }
    }
}

/// What [`Arbiter::pick`] chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    /// The tenant's place among the shares.
    pub(crate) share: usize,
    /// Whose next request it is.
    pub(crate) lane: usize,
    /// What it is expected to cost, in nanoseconds; 0 where it is not charged.
    pub(crate) charged_ns: u64,
    /// Whether it is served by a commitment.
    pub(crate) committed: bool,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use lookaside_core::Service;

    use super::*;
    use crate::{InstanceConfig, Sla, Unit};

    /// Lanes that never run dry: the size of their requests, and what was served.
    #[derive(Default)]
    struct Endless(Vec<(Service, Option<usize>, u64)>);

    impl Lanes for Endless {
        fn head(&mut self, lane: usize, _now: u64) -> Option<Head> {
            let (service, size, _) = self.0[lane];
            let cost = Cost::new(service, size? as u64, size?, 1);
            Some(Head { cost, over: false, until_ns: u64::MAX, pushed_ns: 0 })
        }
    }

    #[derive(Default)]
    struct Setting {
        arbiter: Arbiter,
        shares: Vec<Option<Share>>,
        lanes: Endless,
    }

    impl Setting {
        /// A tenant with one instance for each of these sizes.
        fn tenant(mut self, weight: u32, slas: &[Sla], sizes: &[usize]) -> Setting {
            self.add(weight, slas, Priority::Normal, Service::Dc, sizes);
            self
        }

        fn add(&mut self, weight: u32, slas: &[Sla], p: Priority, of: Service, sizes: &[usize]) {
            let slas = slas.to_vec();
            let config = InstanceConfig { weight, priority: p, slas, ..InstanceConfig::default() };
            let mut share = Share::new(Terms::new(&config, 0));
            self.arbiter.enter(&share.terms);
            for &size in sizes {
                share.add(self.lanes.0.len());
                self.lanes.0.push((of, Some(size), 0));
            }
            self.shares.push(Some(share));
        }

        fn pick(&mut self, now: u64) -> Option<Pick> {
            self.arbiter.pick(now, &mut self.shares, &mut self.lanes)
        }

        /// Serves for `seconds` at `rate` bytes/s and returns what each lane got, in bytes.
        fn serve(mut self, rate: u64, seconds: u64) -> Vec<u64> {
            let mut now = 0u64;
            while now < seconds * 1_000_000_000 {
                match self.pick(now) {
                    Some(Pick { lane, .. }) => {
                        let (_, size, got) = &mut self.lanes.0[lane];
                        let size = size.unwrap() as u64;
                        *got += size;
                        now += size * 1_000_000_000 / rate;
                    }
                    None => {
                        let next = Arbiter::next_allowed_ns(now, &mut self.shares, &mut self.lanes);
                        now = next.unwrap().max(now + 1);
                    }
                }
            }
            self.lanes.0.iter().map(|l| l.2).collect()
        }
    }

    fn shares_of(got: &[u64]) -> Vec<f64> {
        let all = got.iter().sum::<u64>() as f64;
        got.iter().map(|&g| g as f64 / all).collect()
    }

    #[test]
    fn weights_hold_for_any_mix_of_sizes() {
        let all = Setting::default().tenant(1, &[], &[100]).tenant(3, &[], &[65_536]).tenant(
            2,
            &[],
            &[9_000_000],
        );
        let got = all.serve(1_000_000_000, 2);
        for (share, w) in shares_of(&got).iter().zip([1.0, 3.0, 2.0]) {
            assert!((share / (w / 6.0) - 1.0).abs() < 0.05, "{got:?}");
        }
    }

    /// Instances of one tenant share its weight and its rates.
    #[test]
    fn a_tenant_gains_nothing_by_more_instances() {
        let all = Setting::default().tenant(1, &[], &[1000; 7]).tenant(1, &[], &[1000]);
        let got = all.serve(1_000_000_000, 1);
        assert!((shares_of(&got)[7] / 0.5 - 1.0).abs() < 0.01, "{got:?}");
        for one in &got[..7] {
            assert!((*one as f64 / (got[7] as f64 / 7.0) - 1.0).abs() < 0.01, "{got:?}");
        }
        let peak = [Sla::new(0, 50_000_000, 65_536)];
        let all = Setting::default().tenant(1, &peak, &[65_536; 5]).tenant(1, &[], &[65_536]);
        let got = all.serve(1_000_000_000, 2);
        let limited = got[..5].iter().sum::<u64>() as f64;
        assert!(limited <= 100e6 + 200e3 && limited > 0.97 * 100e6, "{got:?}");
    }

    #[test]
    fn a_commitment_is_kept_against_any_weight_and_a_peak_is_never_passed() {
        let all = Setting::default()
            .tenant(1, &[Sla::new(300_000_000, 0, 65_536)], &[65_536])
            .tenant(1000, &[], &[65_536])
            .tenant(1000, &[Sla::new(0, 50_000_000, 65_536)], &[65_536]);
        let got = all.serve(1_000_000_000, 2);
        assert!(got[0] as f64 > 0.98 * 600e6, "{got:?}");
        assert!(got[2] as f64 <= 100e6 + 200e3 && got[2] as f64 > 0.97 * 100e6, "{got:?}");
    }

    /// Rates in operations, and of one service; another service's requests of the same tenant go on.
    #[test]
    fn a_rate_has_its_own_unit_and_service() {
        let signatures = Sla::of(Unit::Operations, 0, 1000, 1).for_service(Service::Pke);
        let mut all = Setting::default();
        all.add(1, &[signatures], Priority::Normal, Service::Pke, &[100_000]);
        all.lanes.0.push((Service::Dc, Some(4096), 0));
        all.shares[0].as_mut().unwrap().add(1);
        let got = all.serve(1_000_000_000, 2);
        let operations = got[0] / 100_000;
        assert!((1990..=2003).contains(&operations), "{operations}");
        assert!(got[1] as f64 > 0.98 * 1.8e9, "{got:?}");
    }

    #[test]
    fn priorities_come_before_weights_and_starve_nobody() {
        let mut all = Setting::default();
        all.add(1, &[], Priority::High, Service::Dc, &[4096]);
        all.add(1000, &[], Priority::Normal, Service::Dc, &[4096]);
        all.add(1000, &[], Priority::Background, Service::Dc, &[4096]);
        let shares = shares_of(&all.serve(1_000_000_000, 1));
        assert!((shares[0] - 16.0 / 17.0).abs() < 0.01, "{shares:?}");
        assert!((shares[2] * 17.0 * 17.0 - 1.0).abs() < 0.05, "{shares:?}");
        // Who is alone gets all of it.
        let mut idle = Setting::default();
        idle.add(1, &[], Priority::Normal, Service::Dc, &[4096]);
        idle.add(1, &[], Priority::Background, Service::Dc, &[4096]);
        idle.lanes.0[0].1 = None;
        assert_eq!(shares_of(&idle.serve(1_000_000_000, 1))[1], 1.0);
    }

    #[test]
    fn too_many_commitments_starve_nobody() {
        let sla = [Sla::new(1_000_000_000, 0, 65_536)];
        let all = Setting::default().tenant(1, &sla, &[65_536]).tenant(1, &sla, &[65_536]).tenant(
            1,
            &[],
            &[65_536],
        );
        let got = all.serve(500_000_000, 2);
        // A 17th goes by weight, and a third of that to the one without a commitment.
        assert!(got[2] > 1_000_000_000 / 17 / 3 * 9 / 10, "{got:?}");
        assert!((got[0] as f64 / got[1] as f64 - 1.0).abs() < 0.1, "{got:?}");
    }

    /// What is left to others is a part of the time, not of the picks.
    #[test]
    fn small_requests_keep_a_promise_beside_large_ones() {
        let all = Setting::default()
            .tenant(1, &[Sla::new(1_000_000_000, 0, 65_536)], &[100])
            .tenant(1000, &[], &[1_000_000]);
        let shares = shares_of(&all.serve(500_000_000, 2));
        assert!((shares[0] - 16.0 / 17.0).abs() < 0.02, "{shares:?}");
    }

    /// Of two that are within their promises, the one with the higher rate is served first: its deadline is
    /// the earlier one. One who has had what is committed to it comes behind.
    #[test]
    fn commitments_are_served_by_their_deadlines() {
        let mut all = Setting::default()
            .tenant(1, &[Sla::new(1_000_000, 0, 10_000)], &[1000])
            .tenant(1, &[Sla::new(100_000_000, 0, 10_000)], &[1000]);
        let Setting { arbiter, shares, lanes } = &mut all;
        let mut pick = |_| arbiter.pick_committed(0, shares, lanes);
        let lanes: Vec<usize> = (0..200).filter_map(&mut pick).map(|p| p.lane).collect();
        // 10 us each against 1 ms: the second one goes first until it has none left.
        assert_eq!(lanes[..99], [1; 99], "{lanes:?}");
        assert!(lanes.contains(&0), "{lanes:?}");
    }

    /// Twelve at random, of which some are without a request for up to 20 ms now and then: each gets what its weight says.
    #[test]
    fn a_ring_that_is_dry_for_a_moment_loses_nothing() {
        lookaside_testkit::each_seed(50, |seed| {
            let mut rng = lookaside_testkit::Rng::new(seed);
            let mut all = Setting::default();
            let mut terms = Vec::new();
            for i in 0..12 {
                let (weight, size) = (1 + rng.below(8) as u32, 8000 << rng.below(6));
                all = all.tenant(weight, &[], &[size]);
                // The last ones are never late: they have what others leave.
                terms.push((weight, size, i < 8));
            }
            let (mut now, mut got) = (0_u64, [0_u64; 12]);
            // Until when its ring is dry, and from when on it is again.
            let mut dry = [(0_u64, 0_u64); 12];
            while now < 2_000_000_000 {
                for (i, (until, next)) in dry.iter_mut().enumerate() {
                    let (_, size, late) = terms[i];
                    if now >= *next {
                        *until = now + rng.below(20_000_000);
                        *next = *until + 1 + rng.below(40_000_000);
                    }
                    all.lanes.0[i].1 = (!late || now >= *until).then_some(size);
                }
                let Some(Pick { share, .. }) = all.pick(now) else {
                    unreachable!("some are always here")
                };
                got[share] += terms[share].1 as u64;
                now += terms[share].1 as u64;
            }
            let weights: u32 = terms.iter().map(|t| t.0).sum();
            for (&(weight, size, _), &got) in terms.iter().zip(&got) {
                let fair = now as f64 * f64::from(weight) / f64::from(weights);
                let most = 0.05 * fair + size as f64;
                assert!((got as f64 - fair).abs() < most, "{}: {terms:?}", got as f64 / fair);
            }
        });
    }

    /// Who stays away longer than a client is late has what comes then, and nothing of before.
    #[test]
    fn who_has_left_catches_up_with_nothing() {
        let mut all = Setting::default().tenant(1, &[], &[10_000]).tenant(1, &[], &[10_000]);
        all.lanes.0[1].1 = None;
        let mut now = 0;
        let mut serve = |all: &mut Setting, ns: u64| {
            let (end, mut got) = (now + ns, [0.0; 2]);
            while now < end {
                got[all.pick(now).unwrap().share] += 10_000.0 / ns as f64;
                now += 10_000;
            }
            got
        };
        serve(&mut all, 1_000_000_000);
        all.lanes.0[1].1 = Some(10_000);
        let got = serve(&mut all, 10_000_000);
        assert!((got[1] - 0.5).abs() < 0.01, "{got:?}");
        // Away for 20 ms: it has two thirds until it has caught up.
        all.lanes.0[1].1 = None;
        serve(&mut all, 20_000_000);
        all.lanes.0[1].1 = Some(10_000);
        let got = serve(&mut all, 30_000_000);
        assert!((got[1] - 2.0 / 3.0).abs() < 0.01, "{got:?}");
        // 20 ms behind, and a third of the time less: another 30 ms, then half.
        let got = serve(&mut all, 60_000_000);
        assert!((got[1] - (20.0 + 15.0) / 60.0).abs() < 0.01, "{got:?}");
    }

    #[test]
    fn turns_are_as_many_as_are_needed() {
        for (weight, arrears, ns) in
            [(1, 0, 1), (1, 0, 6400), (3, 100, 5000), (3, 5000, 5000), (7, 50, 10), (2, 700, 1300)]
        {
            let mut setting = Setting::default().tenant(weight, &[], &[1]);
            let share = setting.shares[0].as_mut().unwrap();
            share.arrears = arrears;
            let turns = share.turns(ns);
            share.earn(turns - 1);
            assert!(share.deficit < ns, "{weight} {arrears} {ns}: {turns}");
            share.earn(1);
            assert!(share.deficit >= ns, "{weight} {arrears} {ns}: {turns}");
        }
    }

    #[test]
    fn nobody_to_serve() {
        assert_eq!(Setting::default().pick(0), None);
        let mut idle = Setting::default().tenant(1, &[], &[1]);
        idle.lanes.0[0].1 = None;
        idle.shares.push(None);
        assert_eq!(idle.pick(0), None);
        assert_eq!(Arbiter::next_allowed_ns(0, &mut idle.shares, &mut idle.lanes), None);
    }
}
