//! Where and when: the machine, the date.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

/// What every figure names.
pub struct Machine {
    /// The CPU's model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cores: usize,
    /// The kernel.
    pub system: String,
    /// Programs that wanted to run when the measurement started, a minute's average.
    pub load: Option<String>,
    /// The date in UTC, as YYYY-MM-DD HH:MM.
    pub date: String,
}

impl Machine {
    pub fn here() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':'));
        let cpu = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
        let release = read("/proc/sys/kernel/osrelease");
        let load = read("/proc/loadavg");
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Machine {
            cpu: cpu.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            system: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
            load: load.split_whitespace().next().map(str::to_owned),
            date: date(since.as_secs()),
        }
    }
}

/// Seconds since 1970 as a date in UTC (the civil-from-days algorithm of H. Hinnant: years start
/// in March, so that the leap day is their last).
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hours:02}:{minutes:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_428_000_000), "2015-04-02 18:40 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
