//! Texts of errors from another process, for errors that hold static ones.

use std::sync::Mutex;

/// How many texts are kept: more than there are in the source.
const MOST: usize = 512;

static KNOWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The same text for the life of the process. Each text is kept once; from 512 different ones on it is a general
/// one.
pub fn intern(text: &str) -> &'static str {
    const GENERAL: &str = "the shared device refused it";
    // Held for some instructions, unless the thread that held it has stayed behind in a fork.
    let held = (0..10_000).find_map(|_| {
        let known = KNOWN.try_lock().ok();
        if known.is_none() {
            std::thread::yield_now();
        }
        known
    });
    let Some(mut known) = held else { return GENERAL };
    if let Some(text) = known.iter().find(|known| **known == text) {
        return text;
    }
    if known.len() >= MOST {
        return GENERAL;
    }
    let text: &'static str = Box::leak(text.into());
    known.push(text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_texts_are_bounded() {
        let first = intern("a text of a test");
        assert!(core::ptr::eq(first, intern(&String::from("a text of a test"))));
        for n in 0..2 * MOST {
            intern(&n.to_string());
        }
        assert!(KNOWN.lock().unwrap().len() <= MOST);
    }
}
