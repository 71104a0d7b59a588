//! Keys: their parts, and how other providers' keys come in and ours go out.

pub mod dh;
pub mod dsa;
pub mod ec;
pub mod ed;
pub mod ffc;
pub mod group;
pub mod groups;
pub mod other;
pub mod rsa;
pub mod sm2;
pub mod xdh;
