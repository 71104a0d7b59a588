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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models() {
        let text = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some  CPU @ 2GHz\n";
        assert_eq!(model(text).as_deref(), Some("Some CPU @ 2GHz"));
        assert_eq!(model("processor : 0\n"), None);
    }
}
