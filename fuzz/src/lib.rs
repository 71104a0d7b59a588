//! Fuzz targets: [`fuzz_target!`] is the body of each, built in one of two ways.
//!
//! With `--cfg fuzzing` (`scripts/fuzz smoke`, `run`) it is libFuzzer's, which looks for inputs that reach new code. In
//! the ordinary build it is a program that takes no more to build than any other, and runs the committed corpus and a
//! known sequence of its mutations: what `make test` runs.
#![deny(unsafe_code)]

#[cfg(not(fuzzing))]
mod mutate;
#[cfg(not(fuzzing))]
mod replay;

#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;
#[cfg(not(fuzzing))]
pub use replay::replay;

/// The target's program: `fuzz_target!(|input: &[u8]| { ... });`, where a panic is a find.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: &[u8]| $body:block) => {
        fn main() -> std::process::ExitCode {
            $crate::replay(env!("CARGO_BIN_NAME").trim_start_matches("fuzz-"), |$input: &[u8]| {
                $body
            })
        }
    };
}
