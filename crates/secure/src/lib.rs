//! Memory for keys: left out of core dumps, locked where the system allows, overwritten when freed.
//!
//! [`SecureBox`] and [`SecureBytes`] are a `Box` and a boxed slice in it. [`wipe_stack`] overwrites what a
//! function that handled keys has left on the stack. While there is a [`NoFork`], forks wait; a [`ForkMutex`] is for what they need not
//! wait for. [`secure_variable`] reads the
//! environment where its user may decide; [`plain_message`] is what is said of an error.
//!
//! What moves leaves a copy behind: a `SecureBox` is made of an empty value and filled where it lies.
//!
//! ```
//! use lookaside_secure::SecureBox;
//!
//! let mut key = SecureBox::new([0; 32]);
//! key.copy_from_slice(&[7; 32]);
//! assert_eq!(key[31], 7);
//! ```
#![deny(unsafe_code)]

mod boxed;
mod bytes;
mod environment;
mod fork;
#[cfg_attr(miri, path = "heap_std.rs")]
mod heap;
mod lock;
mod message;
mod stack;

pub use boxed::SecureBox;
pub use bytes::SecureBytes;
pub use environment::secure_variable;
pub use fork::NoFork;
pub use lock::ForkMutex;
pub use message::plain_message;
pub use stack::wipe_stack;
