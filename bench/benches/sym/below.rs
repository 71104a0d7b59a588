//! What is slower than the better rival: the end of the table.

use std::fmt;

/// What every row should have at least, of the better rival's speed.
const BAR: f64 = 0.95;

/// The rows below 1.0, and how many there were.
#[derive(Default)]
pub(crate) struct Below {
    rows: Vec<(&'static str, usize, f64, &'static str)>,
    compared: usize,
}

impl Below {
    /// Counts a row. `ratio`: our speed by the `better` rival's; none where there is no rival.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        bytes: usize,
        ratio: Option<f64>,
        better: &'static str,
    ) {
        let Some(ratio) = ratio else { return };
        self.compared += 1;
        if ratio < 1.0 {
            self.rows.push((name, bytes, ratio, better));
        }
    }
}

impl fmt::Display for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.2.total_cmp(&b.2));
        let missed = rows.iter().filter(|row| row.2 < BAR).count();
        write!(
            f,
            "Below 1.0 x of the better rival: {} of {} rows, {missed} of them below {BAR}",
            rows.len(),
            self.compared
        )?;
        for (name, bytes, ratio, better) in rows {
            let bar = if ratio < BAR { "below the bar" } else { "" };
            write!(f, "\n  {ratio:.2}  {name:26} {bytes:>7}  {better:14} {bar}")?;
        }
        Ok(())
    }
}
