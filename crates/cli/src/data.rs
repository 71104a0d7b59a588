//! What is measured with: packets of 64 KB, from a folder of files or from a generator.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The packet size of the capacity units.
pub const PACKET: usize = 65_536;

/// At most this much of a corpus is used.
const MOST: usize = 64 << 20;

/// Generated: enough that the packets do not stay in a core's private caches.
const GENERATED: usize = 8 << 20;
const SEED: u64 = 2019;

/// Packets, and where they come from.
pub struct Data {
    /// For the report.
    pub name: String,
    /// How many bytes there were before they were cut into packets.
    pub source_bytes: usize,
    /// The packets, one after the other; a whole number of them.
    pub bytes: Arc<Vec<u8>>,
}

impl Data {
    /// How many packets there are.
    pub fn packets(&self) -> usize {
        self.bytes.len() / PACKET
    }

    /// Packet `i`.
    pub fn packet(&self, i: usize) -> &[u8] {
        &self.bytes[i * PACKET..][..PACKET]
    }

    /// The regular files of a folder, in the order of their names, one after the other; what does
    /// not fill the last packet is left out, or filled up from the start if it is the only one.
    pub fn corpus(dir: &Path) -> Result<Data, String> {
        let fail = |e: io::Error| format!("{}: {e}", dir.display());
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(dir).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        let mut bytes = Vec::new();
        for file in &files {
            let more = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            bytes.extend_from_slice(&more);
            if bytes.len() >= MOST {
                break;
            }
        }
        let source_bytes = bytes.len();
        if source_bytes == 0 {
            return Err(format!("{}: no files with data", dir.display()));
        }
        while bytes.len() < PACKET {
            bytes.extend_from_within(..source_bytes.min(PACKET - bytes.len()));
        }
        bytes.truncate(bytes.len().min(MOST) / PACKET * PACKET);
        let name = format!("{} files of {}", files.len(), dir.display());
        Ok(Data { name, source_bytes, bytes: Arc::new(bytes) })
    }

    /// Prose, program text, records and binary tables, mixed as in the Calgary corpus; the same on
    /// every machine.
    pub fn generated() -> Data {
        let mut bytes = Vec::with_capacity(GENERATED + PACKET);
        let mut writer = Writer::new(SEED);
        while bytes.len() < GENERATED {
            let end = bytes.len() + PACKET;
            match (bytes.len() / PACKET) % 8 {
                0 | 2 | 4 | 7 => writer.prose(&mut bytes, end),
                1 | 5 => writer.program(&mut bytes, end),
                3 => writer.records(&mut bytes, end),
                _ => writer.table(&mut bytes, end),
            }
            bytes.truncate(end);
        }
        let source_bytes = bytes.len();
        let name = format!("generated: text, program text, records, tables (seed {SEED})");
        Data { name, source_bytes, bytes: Arc::new(bytes) }
    }
}

/// Writes data that resembles what people keep in files. Its vocabulary follows Zipf's law, which
/// is what makes natural text compress as it does.
struct Writer {
    state: u64,
    words: Vec<String>,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        const SYLLABLES: [&str; 32] = [
            "the", "an", "in", "er", "on", "re", "ti", "es", "or", "te", "of", "ed", "is", "it",
            "al", "ar", "st", "to", "nt", "ng", "se", "ha", "as", "ou", "io", "le", "ve", "co",
            "me", "de", "hi", "ri",
        ];
        let mut writer = Writer { state: seed, words: Vec::new() };
        for rank in 0..6000 {
            // Frequent words are short.
            let syllables = 1 + usize::from(rank > 20) + usize::from(rank > 300) + writer.below(2);
            let word = (0..syllables).map(|_| SYLLABLES[writer.below(32)]).collect();
            writer.words.push(word);
        }
        writer
    }

    /// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A word whose rank is drawn by Zipf's law: its logarithm is uniform.
    fn word(&mut self) -> String {
        let u = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (self.words.len() as f64).powf(u) as usize - 1;
        self.words[rank.min(self.words.len() - 1)].clone()
    }

    fn prose(&mut self, out: &mut Vec<u8>, end: usize) {
        let (start, mut column) = (out.len(), 0);
        while out.len() < end {
            if out.len() > start + 2048 && self.below(14) == 0 {
                // A phrase comes again.
                let back = 100 + self.below(out.len() - start - 100);
                let from = out.len() - back;
                out.extend_from_within(from..from + 10 + self.below(40));
            }
            let word = self.word();
            column += word.len() + 1;
            out.extend_from_slice(word.as_bytes());
            match self.below(60) {
                0..=3 => out.extend_from_slice(b". "),
                4..=8 => out.extend_from_slice(b", "),
                9 => out.extend_from_slice(format!(" {} ", self.below(2000)).as_bytes()),
                _ if column > 64 => {
                    out.push(b'\n');
                    column = 0;
                }
                _ => out.push(b' '),
            }
        }
    }

    fn program(&mut self, out: &mut Vec<u8>, end: usize) {
        while out.len() < end {
            let depth = 1 + self.below(3);
            let (a, b, c, n) = (self.word(), self.word(), self.word(), self.below(100));
            let line = match self.below(8) {
                0 => format!("\nstatic int\n{a}_{b}({c})\n\tstruct {c} *{c};\n{{\n"),
                1 => format!("if ({a}->{b} == NULL) {{\n"),
                2 => format!("for (i = 0; i < {n}; i++)\n"),
                3 => format!("/* {a} {b} the {c} */\n"),
                4 => format!("return ({a});\n}}\n"),
                _ => format!("{a} = {b}({c}, {n});\n"),
            };
            out.extend(std::iter::repeat_n(b'\t', depth));
            out.extend_from_slice(line.as_bytes());
        }
    }

    fn records(&mut self, out: &mut Vec<u8>, end: usize) {
        let mut time = 1_400_000_000u64;
        while out.len() < end {
            time += self.next() % 90;
            let (who, what, size) = (self.below(400), self.word(), self.next() % 100_000);
            let code = [200, 200, 200, 304, 404][self.below(5)];
            let line = format!("{time} host-{who} GET /{what}.html {code} {size}\n");
            out.extend_from_slice(line.as_bytes());
        }
    }

    fn table(&mut self, out: &mut Vec<u8>, end: usize) {
        let mut position = 0u32;
        while out.len() < end {
            position = position.wrapping_add(self.below(300) as u32);
            out.extend_from_slice(&position.to_le_bytes());
            out.extend_from_slice(&(self.below(1 << 7) as u16).to_le_bytes());
            out.extend_from_slice(&[0, self.below(6) as u8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_data_is_the_same_every_time_and_whole_packets() {
        let (a, b) = (Data::generated(), Data::generated());
        assert_eq!(a.bytes, b.bytes);
        assert_eq!(a.bytes.len(), GENERATED);
        assert_eq!(a.packets() * PACKET, GENERATED);
        assert_eq!(a.packet(3).len(), PACKET);
    }
}
