//! Thousands of regular expressions at once, in blocks and in streams that arrive in pieces.
//!
//! ```
//! use std::ops::ControlFlow;
//! use lookaside_scan::{Expression, Match, Mode, Patterns, Scratch, Set};
//! use lookaside_simd::Cpu;
//!
//! let pattern = |id, text: &str| Expression { id, text: text.into(), ..Expression::default() };
//! let expressions = [pattern(1, "GET /[a-z]+"), pattern(2, "secret.*key")].into();
//! let set = Set::compile(&Patterns { expressions, mode: Mode::Stream }, Cpu::host()).unwrap();
//!
//! let mut scratch = Scratch::new(); // one for each thread
//! let mut state = vec![0; set.state_len()]; // one for each stream: plain bytes
//! set.begin(&mut state);
//! let mut found = vec![];
//! for piece in ["a secret is no k", "ey"] {
//!     set.scan_piece(&mut scratch, &mut state, piece.as_bytes(), &mut |one| {
//!         found.push(one);
//!         ControlFlow::Continue(())
//!     });
//! }
//! assert_eq!(found, [Match { end: 18, id: 2, start: 0 }]);
//! ```
//!
//! All matches are reported, as Hyperscan does: each end of a match once for a pattern, ordered by the ends. The syntax is
//! that of Hyperscan ([`syntax`]). Patterns are matched over bytes.
//!
//! The crate knows nothing of rings, devices or threads. Who wants one pattern matched, or groups captured, is better
//! served by the crate `regex`.
//!
//! # How it works
//!
//! - [`syntax`]: an expression with its flags becomes a [`Node`].
//! - `plan`, `strings`: a pattern is divided at its unbounded gaps (`.*`, `[^"]*`) into segments of bounded width; in each,
//!   a string is chosen that must occur. A pattern that has no such form goes to the fallback automaton.
//! - `literal`: finds the strings of all segments, by the filters that are expected to cost the least.
//! - `window`, `sieve`, `tail`, `stretch`: around each string that was found, the rest of its segment is checked; segments of a
//!   pattern are joined, if nothing but bytes of the gap lies between. This is the result processor of the PowerEN's engine
//!   (section 5.2 of its paper).
//! - `required`: strings of other patterns. `fallback`: automata, around these strings, or over all bytes.
//! - `report`, `combinations`: what is told of what was found: single matches, offsets, combinations.
//! - `counters`: what scans did, of each pattern.
//!
//! A stream keeps the last bytes of its past (as many as the widest pattern's segments), a bit for each gap (whether it is
//! open), and the automaton's state. Of everything else, the next piece finds out again from the past's bytes.
//!
//! The module [`mod@reference`] says what a pattern means, slowly; tests and fuzz targets compare with it.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod bitwise;
mod combinations;
mod conditions;
mod counters;
mod fallback;
#[doc(hidden)]
pub mod generate;
mod input;
mod isa;
mod literal;
mod node;
mod openers;
mod plan;
mod program;
pub mod reference;
mod report;
mod required;
mod save;
mod set;
mod shorten;
mod sieve;
mod starts;
mod stretch;
mod strings;
pub mod syntax;
mod tail;
mod window;
mod words;

pub use counters::Counter;
pub use lookaside_spec::scan::{
    BadPattern, Counters, Expression, Extended, Flags, Match, Mode, PatternCounters, Patterns,
};
pub use node::{Assertion, ByteSet, Node};
pub use save::LoadError;
pub use set::{Scratch, Set};
