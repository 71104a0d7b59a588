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

    /// At most so many, which have the CPUs of all others too; 0 for all.
    pub fn at_most(mut self, most: usize) -> Nodes {
        if (1..self.0.len()).contains(&most) {
            for (n, node) in self.0.split_off(most).into_iter().enumerate() {
                self.0[n % most].cpus.extend(node.cpus);
            }
        }
        self
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
    fn fewer_packages_have_all_cpus() {
        let node = |number: u16| Node { number, cpus: vec![u32::from(number)] };
        let nodes = Nodes(vec![node(0), node(1), node(2)]);
        let two = nodes.clone().at_most(2);
        assert_eq!(two.all().len(), 2);
        assert_eq!((&two.all()[0].cpus[..], &two.all()[1].cpus[..]), (&[0, 2][..], &[1][..]));
        assert_eq!((two.of(1), two.of(2)), (1, 0));
        assert_eq!((nodes.clone().at_most(0), nodes.clone().at_most(9)), (nodes.clone(), nodes));
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-2,5,7-8"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(cpu_list(""), [0; 0]);
        assert!(!Nodes::of_system().all()[0].cpus.is_empty());
    }
}
