//! In place of `gcm.rs` where the CPU is no x86-64: the same key, of which there are no values.

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use crate::Text;

/// A key that is never there.
#[derive(Clone, Debug)]
pub enum Key {}

/// A message under way.
#[derive(Clone, Debug)]
pub struct Message(());

#[expect(missing_docs, reason = "never called")]
impl Key {
    pub fn boxed(_: &Cpu, _: &[u8]) -> Option<SecureBox<Key>> {
        None
    }

    pub fn seal(&self, _: &[u8], _: &[u8], _: Text<'_>) -> [u8; 16] {
        match *self {}
    }

    pub fn open(&self, _: &[u8], _: &[u8], _: Text<'_>) -> [u8; 16] {
        match *self {}
    }

    pub fn mac(&self, _: &[u8], _: &[u8]) -> [u8; 16] {
        match *self {}
    }

    pub fn start(&self, _: &[u8]) -> Message {
        match *self {}
    }

    pub fn restart(&self, _: &mut Message, _: &[u8]) {
        match *self {}
    }

    pub fn aad(&self, _: &mut Message, _: &[u8]) {
        match *self {}
    }

    pub fn encrypt(&self, _: &mut Message, _: Text<'_>) {
        match *self {}
    }

    pub fn decrypt(&self, _: &mut Message, _: Text<'_>) {
        match *self {}
    }

    pub fn tag(&self, _: &mut Message) -> [u8; 16] {
        match *self {}
    }
}
