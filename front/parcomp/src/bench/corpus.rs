//! What is compressed: a corpus from a directory, or one made on the spot.

use std::{fs, io};

/// The data of the measurements.
pub struct Corpus {
    /// Short, for labels and file names.
    pub name: String,
    /// Where it comes from, for the page.
    pub origin: String,
    /// One copy.
    pub data: Vec<u8>,
}

/// Where corpora are looked for when none is given.
const USUAL: [&str; 4] =
    ["../shared/data/calgary", "../shared/data/canterbury", "data/calgary", "data/canterbury"];
const SEED: u64 = 2015;
/// The size of a generated copy; the Calgary corpus has 3.25 MB.
const GENERATED: usize = 3_250_000;

impl Corpus {
    /// The corpora of the directories given; of the usual ones when none is; generated when those
    /// are not there.
    ///
    /// # Errors
    /// A directory that was given cannot be read or holds no data.
    pub fn find(given: &[String]) -> Result<Vec<Corpus>, String> {
        if !given.is_empty() {
            let mut all: Vec<Corpus> = Vec::new();
            for dir in given {
                let mut corpus = Corpus::read(dir)?;
                // Files are named by it.
                if all.iter().any(|c| c.label() == corpus.label()) {
                    corpus.name = format!("{} {}", corpus.name, all.len() + 1);
                }
                all.push(corpus);
            }
            return Ok(all);
        }
        let found: Vec<_> = USUAL.iter().filter_map(|dir| Corpus::read(dir).ok()).collect();
        Ok(if found.is_empty() { vec![Corpus::generated(SEED)] } else { found })
    }

    /// All regular files of a directory, one after the other in the order of their names: what
    /// `cat *` gives.
    fn read(dir: &str) -> Result<Corpus, String> {
        let fail = |e: io::Error| format!("corpus {dir}: {e}");
        let mut files = Vec::new();
        for entry in fs::read_dir(dir).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
            if path.is_file() && !hidden {
                files.push(path);
            }
        }
        files.sort();
        let mut data = Vec::new();
        for file in &files {
            data.extend(fs::read(file).map_err(|e| format!("corpus {}: {e}", file.display()))?);
        }
        if data.is_empty() {
            return Err(format!("corpus {dir}: no data there"));
        }
        let absolute = fs::canonicalize(dir).map_err(fail)?;
        let name = absolute.file_name().unwrap_or(absolute.as_os_str());
        Ok(Corpus {
            name: name.to_string_lossy().into_owned(),
            origin: format!("{} files of {dir}, {} bytes", files.len(), data.len()),
            data,
        })
    }

    /// Text, records and structured data from a seeded generator. zlib at level 1 makes about
    /// 40 % of it, as of the Calgary corpus.
    fn generated(seed: u64) -> Corpus {
        let data = Generator::new(seed).corpus(GENERATED);
        let origin = format!("generated corpus, seed {seed}, {} bytes", data.len());
        Corpus { name: "generated".into(), origin, data }
    }

    /// Whether it was made on the spot.
    pub fn is_generated(&self) -> bool {
        self.origin.starts_with("generated")
    }

    /// How many whole copies come nearest to `size` bytes: a part of one would change the ratio.
    /// `None`: the corpus is larger than that, and is cut.
    fn copies(&self, size: usize) -> Option<usize> {
        let n = (size + self.data.len() / 2) / self.data.len();
        (self.data.len() <= size).then_some(n)
    }

    /// The corpus over and over, about `size` bytes.
    pub fn repeated(&self, size: usize) -> Vec<u8> {
        match self.copies(size) {
            Some(n) => self.data.repeat(n),
            None => self.data[..size].to_vec(),
        }
    }

    /// What [`Corpus::repeated`] gives, in words.
    pub fn amount(&self, size: usize) -> String {
        let name = match self.is_generated() {
            true => "generated corpus".to_owned(),
            false => format!("{} corpus", self.name),
        };
        let megabytes = |n: usize| format!("{:.1} MB", n as f64 / 1e6);
        match self.copies(size) {
            Some(1) => format!("{name}, {}", megabytes(self.data.len())),
            Some(n) => format!("{name} {n} times, {}", megabytes(n * self.data.len())),
            None => format!("first {} of the {name}", megabytes(size)),
        }
    }

    /// The name as part of a file name.
    pub fn label(&self) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        self.name.chars().map(safe).collect()
    }
}

/// A sequence of pseudo-random numbers (splitmix64: Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `n - 1`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n.max(1) as u128) >> 64) as usize
    }
}

struct Generator {
    random: Random,
    words: Vec<String>,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        const SYLLABLES: [&str; 24] = [
            "an", "be", "cor", "di", "en", "for", "ga", "ha", "in", "jo", "ka", "le", "mi", "no",
            "or", "pa", "qui", "re", "sta", "ti", "un", "ve", "wo", "yl",
        ];
        let mut random = Random::new(seed);
        let mut word = |i: usize| {
            // Frequent words are short, as in any language.
            let syllables = 1 + random.below(2 + usize::from(i > 40) + usize::from(i > 800));
            (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect()
        };
        let words = (0..9000).map(&mut word).collect();
        Generator { random, words }
    }

    /// Sections of each kind in turn, about as the Calgary corpus has them: mostly text.
    fn corpus(mut self, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len + 1000);
        while out.len() < len {
            let end = out.len() + 20_000 + self.random.below(60_000);
            match self.random.below(10) {
                0..=5 => self.text(&mut out, end),
                6 | 7 => self.records(&mut out, end),
                _ => self.structured(&mut out, end),
            }
        }
        out.truncate(len);
        out
    }

    /// A word by Zipf's law: the n-th most frequent appears about 1/n as often as the first.
    fn word(&mut self) -> &str {
        let uniform = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (self.words.len() as f64).powf(uniform) - 1.0;
        &self.words[rank as usize]
    }

    fn text(&mut self, out: &mut Vec<u8>, end: usize) {
        let mut column = 0;
        while out.len() < end {
            let word = self.word().to_owned();
            out.extend_from_slice(word.as_bytes());
            column += word.len() + 1;
            let stop = self.random.below(12);
            out.extend_from_slice(match stop {
                0 => b".".as_slice(),
                1 => b",",
                _ => b"",
            });
            let line_is_full = column > 68;
            out.push(if line_is_full { b'\n' } else { b' ' });
            if line_is_full {
                column = 0;
            }
        }
    }

    /// Binary records: a counter, a slowly moving value, a few noisy bytes, zeros.
    fn records(&mut self, out: &mut Vec<u8>, end: usize) {
        let (mut counter, mut value) = (self.random.below(1 << 20) as u32, 1i32 << 16);
        while out.len() < end {
            counter += 1 + self.random.below(3) as u32;
            value += self.random.below(2001) as i32 - 1000;
            out.extend_from_slice(&counter.to_le_bytes());
            out.extend_from_slice(&value.to_le_bytes());
            out.extend_from_slice(&(self.random.below(1 << 12) as u32).to_le_bytes());
            out.extend_from_slice(&[self.random.below(8) as u8, 0, 0, 0]);
        }
    }

    /// Lines as of a log or a table.
    fn structured(&mut self, out: &mut Vec<u8>, end: usize) {
        let mut time = 1_400_000_000 + self.random.below(100_000_000);
        while out.len() < end {
            time += self.random.below(90);
            let (id, bytes) = (self.random.below(1 << 24), self.random.below(1 << 18));
            let status = [200, 200, 200, 304, 404, 500][self.random.below(6)];
            let (host, page) = (self.word().to_owned(), self.word().to_owned());
            let line = format!(
                "{{\"time\":{time},\"id\":\"{id:06x}\",\"host\":\"{host}.example\",\
                 \"path\":\"/{page}\",\"status\":{status},\"bytes\":{bytes}}}\n"
            );
            out.extend_from_slice(line.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Corpus, SEED};

    #[test]
    fn generated_corpus_is_the_same_for_the_same_seed() {
        assert_eq!(Corpus::generated(1).data, Corpus::generated(1).data);
        assert_ne!(Corpus::generated(1).data, Corpus::generated(2).data);
    }

    #[test]
    fn generated_corpus_compresses_about_as_calgary_does() {
        let corpus = Corpus::generated(SEED);
        let zlib = parcomp::provider("zlib").unwrap();
        let params = parcomp::Params::default();
        let mut packed = vec![0; parcomp::bound(&*zlib, &params, corpus.data.len())];
        let n = parcomp::compress_buffer(&*zlib, &params, &corpus.data, &mut packed).unwrap();
        let percent = 100 * n / corpus.data.len();
        assert!((35..=45).contains(&percent), "zlib -1 leaves {percent} %");
    }

    #[test]
    fn repeated_in_whole_copies_unless_it_is_too_large() {
        let corpus = Corpus { name: "x".into(), origin: String::new(), data: vec![1, 2, 3] };
        assert_eq!(corpus.repeated(7), [1, 2, 3, 1, 2, 3]);
        assert_eq!(corpus.repeated(8), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        assert_eq!(corpus.repeated(2), [1, 2]);
        assert_eq!(corpus.amount(7), "x corpus 2 times, 0.0 MB");
    }
}
