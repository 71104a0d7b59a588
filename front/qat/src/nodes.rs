//! The NUMA nodes of the machine: programs group instances by package, and each node is one.

use std::{fs, thread};

/// A node and its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The system's number.
    pub number: u16,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// All nodes that have CPUs: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes(Vec<Node>);

impl Nodes {
    /// The machine's; where the system does not say, all CPUs are on one.
    pub fn of_system() -> Nodes {
        let mut nodes = Vec::new();
        for entry in fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(number) = name.strip_prefix("node").and_then(|n| n.parse().ok()) else {
                continue;
            };
            let cpus = fs::read_to_string(entry.path().join("cpulist")).unwrap_or_default();
            let cpus = cpu_list(cpus.trim());
            if !cpus.is_empty() {
                nodes.push(Node { number, cpus });
            }
        }
        nodes.sort_by_key(|node| node.number);
        if nodes.is_empty() {
            let cpus = thread::available_parallelism().map_or(1, usize::from) as u32;
            nodes.push(Node { number: 0, cpus: (0..cpus).collect() });
        }
        Nodes(nodes)
    }

    /// The node of an instance: neighbours in turn, so that a program which takes the first few has all nodes.
    pub fn of(&self, instance: usize) -> u16 {
        (instance % self.0.len()) as u16
    }

    /// All of them; a package's number is the place.
    pub fn all(&self) -> &[Node] {
        &self.0
    }
}

/// `0-3,8,10-11`.
fn cpu_list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-2,5,7-8"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(cpu_list(""), [0; 0]);
        assert!(!Nodes::of_system().all()[0].cpus.is_empty());
    }
}
