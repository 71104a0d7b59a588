//! What gains by company alone: how many requests of a kind were executed together lately, and so
//! whether the next one is worth a pause.
//!
//! A hash of one text is as fast here as anywhere; SHA-256 gains from some twelve texts on, MD5 from
//! three. So a lane remembers of each kind whether its last executions had as many as it needs. If
//! not, operations run at once, and one of many is submitted all the same, to see who else is there:
//! while it waits, the others submit too, so that it meets all there are. The interval of these
//! probes doubles as long as they find too few.

/// So many kinds there may be.
const KINDS: usize = 32;

/// So many executions in a row with too few requests mean that there are no more.
const FEW_AFTER: u32 = 4;

/// Of so many operations one is a probe, at first and at last.
const PROBE: core::ops::RangeInclusive<u32> = 16..=1024;

/// Requests that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    index: u8,
    needs: u8,
}

impl Kind {
    /// The kind of this number, which gains when there are at least `needs` of it.
    pub const fn new(index: usize, needs: u8) -> Kind {
        assert!(index < KINDS);
        Kind { index: index as u8, needs }
    }
}

#[derive(Clone, Copy, Default)]
struct Company {
    /// Submitted and not executed.
    pending: u32,
    /// Executed in the execution under way.
    now: u32,
    /// How many executions in a row had too few.
    few: u32,
    /// Whether the execution under way has enough.
    enough: bool,
    /// How many operations were not submitted since the last that was.
    skipped: u32,
    /// The interval of probes.
    interval: u32,
}

/// All kinds of a lane.
#[derive(Default)]
pub(super) struct Companies([Company; KINDS]);

impl Companies {
    fn of(&mut self, kind: Kind) -> &mut Company {
        &mut self.0[usize::from(kind.index)]
    }

    /// Whether the next operation of this kind is to run at once. If so, it is counted.
    pub(super) fn skips(&mut self, kind: Kind) -> bool {
        let company = self.of(kind);
        let skips = company.pending == 0
            && company.few >= FEW_AFTER
            && company.skipped + 1 < company.interval.clamp(*PROBE.start(), *PROBE.end());
        company.skipped += u32::from(skips);
        skips
    }

    /// One was submitted.
    pub(super) fn submitted(&mut self, kind: Kind) {
        let company = self.of(kind);
        company.pending += 1;
        company.skipped = 0;
    }

    /// One was executed.
    pub(super) fn executed(&mut self, kind: Kind) {
        let company = self.of(kind);
        company.pending = company.pending.saturating_sub(1);
        company.now += 1;
        company.enough |= company.now >= u32::from(kind.needs);
    }

    /// An execution is over.
    pub(super) fn end(&mut self) {
        for company in self.0.iter_mut().filter(|company| company.now > 0) {
            if company.enough {
                (company.few, company.interval) = (0, *PROBE.start());
            } else {
                company.few = company.few.saturating_add(1);
            }
            if company.few > FEW_AFTER {
                company.interval = company.interval.max(*PROBE.start()) * 2;
                company.interval = company.interval.min(*PROBE.end());
            }
            (company.now, company.enough) = (0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind::new(3, 4);

    fn round(companies: &mut Companies, n: usize) {
        (0..n).for_each(|_| companies.submitted(KIND));
        (0..n).for_each(|_| companies.executed(KIND));
        companies.end();
    }

    #[test]
    fn too_few_are_asked_ever_more_rarely() {
        let mut companies = Companies::default();
        let mut at_once = Vec::new();
        for _ in 0..20 {
            let mut skipped = 0;
            while companies.skips(KIND) {
                skipped += 1;
            }
            at_once.push(skipped);
            round(&mut companies, 3);
        }
        assert_eq!(at_once[..6], [0, 0, 0, 0, 15, 31]);
        assert_eq!(at_once[19], 1023);
        // The probe meets enough of them: nobody runs at once any more.
        for _ in 0..9 {
            round(&mut companies, 4);
            assert!(!companies.skips(KIND));
        }
    }

    #[test]
    fn whoever_meets_a_probe_joins_it() {
        let mut companies = Companies::default();
        (0..FEW_AFTER).for_each(|_| round(&mut companies, 1));
        assert!(companies.skips(KIND));
        companies.submitted(KIND);
        assert!(!companies.skips(KIND));
    }
}
