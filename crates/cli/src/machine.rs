//! What the reports say of the machine.

use std::{fs, thread};

use serde_json::{Value, json};

/// The machine that a report is about.
pub struct Machine {
    /// The CPU's own name, where the system tells it.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: usize,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu_model = model(&text).unwrap_or_else(|| "unknown CPU".into());
        Machine { cpu_model, cpus: thread::available_parallelism().map_or(1, |n| n.get()) }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        json!({
            "cpu_model": self.cpu_model,
            "architecture": std::env::consts::ARCH,
            "cpus": self.cpus,
        })
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = if self.cpus == 1 { "" } else { "s" };
        write!(f, "{} ({}), {} CPU{s}", self.cpu_model, std::env::consts::ARCH, self.cpus)
    }
}

/// The model in the text of /proc/cpuinfo; some architectures have none.
fn model(cpuinfo: &str) -> Option<String> {
    let mut lines = cpuinfo.lines().filter_map(|l| l.split_once(':'));
    let (_, name) = lines.find(|(key, _)| matches!(key.trim(), "model name" | "Model"))?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|n| !n.is_empty())
}

/// How much the CPUs of the machine have worked, and this process: in ticks of the system.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Of all CPUs together, with what a hypervisor gave to others; and idle ticks too.
    busy: u64,
    all: u64,
    own: u64,
}

impl Usage {
    /// Until now; `None` where the system does not say.
    pub fn now() -> Option<Usage> {
        let read = |path| fs::read_to_string(path).ok();
        Usage::of(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    /// Of the texts of /proc/stat and /proc/self/stat.
    fn of(machine: &str, process: &str) -> Option<Usage> {
        let numbers = |text: &str| -> Vec<u64> {
            text.split_whitespace().filter_map(|n| n.parse().ok()).collect()
        };
        // user nice system idle iowait irq softirq steal; what follows is contained in the first two.
        let ticks = numbers(machine.lines().next()?.strip_prefix("cpu ")?);
        let ticks = ticks.get(..8)?;
        let idle = ticks[3] + ticks[4];
        let all = ticks.iter().sum::<u64>();
        // Behind the name, which may contain anything: utime and stime are the fields 14 and 15.
        let fields: Vec<&str> = process.rsplit_once(')')?.1.split_whitespace().collect();
        let own = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Usage { busy: all - idle, all, own })
    }

    /// What to say where others than this process used more than a twentieth of the CPUs since.
    pub fn busy(self) -> Option<String> {
        self.busy_until(Usage::now()?)
    }

    fn busy_until(self, now: Usage) -> Option<String> {
        let all = now.all.saturating_sub(self.all).max(1);
        let (busy, own) = (now.busy.saturating_sub(self.busy), now.own.saturating_sub(self.own));
        let part = busy.saturating_sub(own) as f64 / all as f64;
        let said = format!("other programs used {:.0} % of the CPUs meanwhile", 100.0 * part);
        (part > 0.05).then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models() {
        let text = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some  CPU @ 2GHz\n";
        assert_eq!(model(text).as_deref(), Some("Some CPU @ 2GHz"));
        assert_eq!(model("processor : 0\n"), None);
    }

    #[test]
    fn others_at_work() {
        let at = |busy: u64, idle: u64, own: u64| {
            let machine = format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2\n");
            Usage::of(&machine, &format!("1 (a) b)) R {} {own} 0 0", "0 ".repeat(10))).unwrap()
        };
        let before = at(100, 1000, 7);
        assert_eq!(before.busy_until(at(200, 1100, 105)), None);
        let said = before.busy_until(at(200, 1100, 57)).unwrap();
        assert!(said.contains("used 25 % of"), "{said}");
        assert!(Usage::now().is_some());
        assert!(Usage::of("cpu 1 2", "1 (a) R").is_none());
    }
}
