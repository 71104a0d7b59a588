//! Equal input and equal options make equal output: whatever the kernel's memory served before,
//! where the input lies and what stands behind it. (Where the memory itself lies: `kernel/place.rs`.)
//! `LOOKASIDE_REPEAT="FILE..."` adds files.

mod common;

use common::{CONTENTS, Rng, content, kernels};
use lookaside_compress::{Format, Scratch};

/// Inputs of the test: every content, in lengths of one chunk and less.
fn inputs() -> Vec<Vec<u8>> {
    let mut rng = Rng::new(5);
    let mut all: Vec<Vec<u8>> = CONTENTS
        .into_iter()
        .flat_map(|kind| [64 << 10, 64 << 10, 4_000 + rng.below(9_000)].map(|len| (kind, len)))
        .enumerate()
        .map(|(seed, (kind, len))| content(kind, len, seed as u64))
        .collect();
    for name in std::env::var("LOOKASIDE_REPEAT").unwrap_or_default().split_whitespace() {
        all.extend(std::fs::read(name).expect(name).chunks(64 << 10).map(<[u8]>::to_vec));
    }
    all
}

#[test]
fn equal_input_makes_equal_output() {
    let inputs = inputs();
    let mut rng = Rng::new(6);
    let mut differ = Vec::new();
    for (kernel, codec) in kernels(Format::Raw) {
        // The slowest of libdeflate take minutes, by the same code as its level 9.
        if kernel.name().ends_with("-10")
            || kernel.name().ends_with("-11")
            || kernel.name().ends_with("-12")
        {
            continue;
        }
        let mut used = Scratch::new();
        for (n, input) in inputs.iter().enumerate() {
            let mut dst = vec![0; codec.bound(input.len())];
            let produced = codec.compress(&mut Scratch::new(), input, &mut dst).expect("fits");
            let first = dst[..produced.produced].to_vec();
            for _ in 0..3 {
                let at = rng.below(64);
                let mut memory = vec![rng.next() as u8; at + input.len() + 300];
                memory[at..at + input.len()].copy_from_slice(input);
                let mut dst = vec![0x5a; codec.bound(input.len())];
                let src = &memory[at..at + input.len()];
                let done = codec.compress(&mut used, src, &mut dst).expect("fits");
                if dst[..done.produced] != first {
                    differ.push(format!(
                        "{}, input {n} of {} bytes: {} and {} bytes",
                        kernel.name(),
                        input.len(),
                        first.len(),
                        done.produced
                    ));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}
