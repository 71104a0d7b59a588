//! Where the card's library is, and how it is used.

use std::{env, path::PathBuf, time::Duration};

use crate::Refusal;

/// The variable that names the card's library; without it there is no card.
pub const LIBRARY_VARIABLE: &str = "LOOKASIDE_CARD_LIBRARY";
const SECTION_VARIABLE: &str = "LOOKASIDE_CARD_SECTION";
const TIMEOUT_VARIABLE: &str = "LOOKASIDE_CARD_TIMEOUT_MS";
const VERIFY_VARIABLE: &str = "LOOKASIDE_CARD_VERIFY";

/// Who verifies what the card has compressed, before anybody has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// We do: it is decompressed by the CPU and compared. The card also does, if it can.
    #[default]
    Software,
    /// The card alone (compress-and-verify). A card that does not have it is refused.
    Card,
}

/// How a card is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its library: a `libqat.so.4`.
    pub library: PathBuf,
    /// The section of the driver's configuration whose instances are used.
    pub section: String,
    /// After how long without an answer requests go to the next device.
    pub timeout: Duration,
    /// Who verifies.
    pub verify: Verify,
}

impl Settings {
    /// The defaults, with this library: section `SSL`, one second, verified by software.
    pub fn new(library: impl Into<PathBuf>) -> Settings {
        Settings {
            library: library.into(),
            section: "SSL".to_owned(),
            timeout: Duration::from_secs(1),
            verify: Verify::Software,
        }
    }

    /// These with what the environment says of everything but the library.
    ///
    /// # Errors
    /// For a value that is none, in one line.
    pub fn with_environment(mut self) -> Result<Settings, Refusal> {
        let value = |name| env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(section) = value(SECTION_VARIABLE) {
            self.section = section;
        }
        if let Some(text) = value(TIMEOUT_VARIABLE) {
            let ms = text.parse().ok().filter(|ms| (1..=600_000).contains(ms));
            let ms = ms.ok_or_else(|| {
                let why = format!("{TIMEOUT_VARIABLE} is {text}, not 1 to 600000");
                Refusal::new(&self.library, why)
            })?;
            self.timeout = Duration::from_millis(ms);
        }
        if let Some(text) = value(VERIFY_VARIABLE) {
            self.verify = match &*text {
                "software" => Verify::Software,
                "card" => Verify::Card,
                _ => {
                    let why = format!("{VERIFY_VARIABLE} is {text}, not software or card");
                    return Err(Refusal::new(&self.library, why));
                }
            };
        }
        Ok(self)
    }

    /// What the environment says; `None` where it names no library.
    ///
    /// # Errors
    /// For a value that is none, in one line.
    pub fn of_environment() -> Result<Option<Settings>, Refusal> {
        match env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => Settings::new(path).with_environment().map(Some),
            None => Ok(None),
        }
    }
}
