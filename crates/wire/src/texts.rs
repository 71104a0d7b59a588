//! Texts of errors from another process, for errors that hold static ones.

use lookaside_core::ForkMutex;

/// How many texts are kept: more than there are in the source.
const MOST: usize = 512;

static KNOWN: ForkMutex<Vec<&'static str>> = ForkMutex::of_any(Vec::new());

/// The same text for the life of the process. Each text is kept once; from 512 different ones on it is a general
/// one.
pub fn intern(text: &str) -> &'static str {
    const GENERAL: &str = "the shared device refused it";
    let Some(mut known) = KNOWN.lock() else { return GENERAL };
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
