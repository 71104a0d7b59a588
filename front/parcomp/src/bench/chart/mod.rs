//! Line and bar charts as SVG, by hand.
//!
//! A chart carries its message as its title, names what each axis measures, and labels lines and
//! bars where they are, so that it can be read alone. Colour is never the only sign: elapsed time
//! is solid, CPU time dashed or pale.

mod axis;
mod bars;
mod line;
mod svg;

pub use axis::{Scale, number};
pub use bars::{Bar, Bars, Row};
pub use line::{Line, Mark, Series};
pub use svg::{Tone, escape, tie};

/// How a line or bar is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A full line with filled points; a full bar.
    Solid,
    /// A dashed line with hollow points; a pale bar.
    Pale,
}
