//! Counters of a process in a file that it maps.
//!
//! Who counts asks for the page of its process ([`Page::of_process`]), and for a [`Bank`] of words there; where
//! `LOOKASIDE_COUNTERS` asks for no page, the same words lie in memory of their own. Counting is the same in both: the page
//! costs nothing once it is there, and what was counted stays when the process is killed. A [`Reader`] trusts nothing
//! that a page says.
//!
//! # The setting
//!
//! `LOOKASIDE_COUNTERS=1` puts pages into the user's folder: `$XDG_RUNTIME_DIR/lookaside`, or `/run/lookaside` for root, or
//! `/tmp/lookaside-UID`. A path names another folder, which is made if it is not there. The folder belongs to the user and is
//! closed to others, or it is not used. A process that ends by `exit` removes its page; with `keep:PATH` it stays. Every library
//! of Lookaside in a process has a page of its own; so has a child of `fork`.
//!
//! # The file
//!
//! Its name is `PID-START-N`. All numbers are `u64` in the machine's byte order, texts are padded with zeros. Everything
//! begins at a multiple of 4096 bytes: the head, then sections. Space between them is zeros: a section is being made there.
//!
//! ```text
//! head     0  "lookaside page 1"             section    0  "section1", written last
//!         16  0x0102030405060708                        8  its length, a multiple of 4096
//!         24  process                                  16  kind: 1 operations of devices, 2 calls of a library
//!         32  when that started: clock ticks           24  rows
//!             since boot, as /proc/PID/stat            32  words of a row
//!         40  changes; odd while counts move           40  words behind all rows
//!         48  banks that found no room                 48  where the rows begin
//!         56  seconds since 1970                       56  0
//!         64  the inode of its PID namespace           64  whose rows, 16 bytes
//!        128  the program, 64 bytes                    80  what is counted, 3 x 16 bytes (kind 2)
//!                                                     128  a name for each row: 16 bytes of the device, 48 of the row
//! ```
//!
//! A row of kind 1 has the words of [`operation`], and the two words behind all rows are requests that reached no device, and
//! resets of channels. A row of kind 2 has three words. Several sections may have the same rows, one for each thread that
//! counts: the sum is what was counted. Rows and words that a later version adds come last.
#![deny(unsafe_code)]

mod folder;
mod layout;
mod memory;
mod page;
mod process;
pub mod read;
mod reader;

pub use folder::{Fault, Folder};
pub use layout::{BUCKETS, LONG as LONGEST_NAME, MOST_BYTES, Shape, operation};
pub use memory::{Forever, Words, at_exit};
pub use page::{Bank, Page, VARIABLE};
pub use process::{Identity, State};
pub use reader::{Found, Reader};
